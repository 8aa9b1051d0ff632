"""Arrays and views as frames of Dask's distributed scheduler, without and with a cluster of processes."""

import functools
import os
import subprocess
import sys
import weakref
from pathlib import Path

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray import BufferView, MemArray
from support import DTYPES, filled, look, numpy_dtype, pattern, run_python

pytest.importorskip("distributed", reason="distributed of test/requirements.txt is not installed")

from dask.base import tokenize
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
from distributed.protocol.serialize import deserialize_bytes, serialize_bytes

pytestmark = pytest.mark.sweep


def address(buffer):
    return np.frombuffer(buffer, np.uint8).ctypes.data


def arrived(frames):
    """Returns frames as a message delivers them: writable memory of another owner."""
    return [memoryview(bytearray(frame)) for frame in frames]


def sent(obj):
    header, frames = serialize(obj, on_error="raise")
    assert header["serializer"] == "dask"
    return header, frames


@pytest.mark.parametrize("first", ["memarray", "distributed"])
def test_dask_serializes_arrays_whichever_is_imported_first(first):
    other = {"memarray": "distributed", "distributed": "memarray"}[first]
    run_python(
        f"""
        import sys
        import {first}
        assert "{other}" not in sys.modules
        import {other}
        from distributed.protocol import serialize
        header, frames = serialize(memarray.MemArray([4]))
        assert header["serializer"] == "dask", header
        assert [type(finder) for finder in sys.meta_path if "memarray" in type(finder).__module__] == []
        """
    )


def test_importing_memarray_imports_neither_dask_nor_numpy():
    run_python(
        """
        import sys
        import memarray
        assert not {"dask", "distributed", "numpy", "memarray.dask"} & set(sys.modules)
        """
    )


@pytest.mark.parametrize("policy", ["snapshot", "error", "alias"])
def test_sent_arrays_keep_their_policy_for_escaped_views(policy):
    a, values = filled((4, 2))
    a.escaped_views = policy
    header, frames = sent(a)
    for memory in (bytearray(frames[-1]), bytes(frames[-1])):
        again = deserialize(header, [frames[0], memoryview(memory)])
        assert again.escaped_views == policy
        assert look(again).tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_are_sent_without_a_copy_and_adopted(dtype, copies):
    a, values = filled((3, 5), dtype)
    header, frames = sent(a)
    assert address(frames[-1]) == a.view().data_ptr
    assert memoryview(frames[-1]).readonly
    frames = arrived(frames)
    again = deserialize(header, frames)
    assert copies() == 0
    assert again.is_foreign
    assert (again.shape, again.dtype) == (a.shape, a.dtype)
    assert again.view().data_ptr == address(frames[-1])
    assert look(again).tobytes() == values.tobytes()
    again.fill(a.dtype.type(1))
    assert copies() == 0
    assert look(a).tobytes() == values.tobytes()


def test_sent_frames_are_a_snapshot(copies):
    a, values = filled((1000,))
    header, frames = sent(a)
    there = address(frames[-1])
    a.fill(9)
    assert copies() == 0  # all elements were written, so nothing was copied
    assert address(frames[-1]) == there
    assert look(deserialize(header, arrived(frames))).tobytes() == values.tobytes()
    with a.write() as lease:
        np.asarray(lease)[0] = 1
    assert copies() == 0
    header, frames = sent(a)
    with a.write() as lease:
        np.asarray(lease)[0] = 2
    assert copies() == 1
    assert look(deserialize(header, arrived(frames)))[0] == 1
    a.escaped_views = "error"
    header, frames = sent(a)
    with pytest.raises(memarray.LockError):
        a.fill(0)
    del frames
    a.fill(0)


def test_read_only_or_misaligned_frames_are_copied():
    a, values = filled((4, 2))
    header, frames = sent(a)
    misaligned = memoryview(bytearray(b"x" + bytes(frames[-1])))[1:]
    for memory in (frames[-1], bytes(frames[-1]), memoryview(bytes(frames[-1])), misaligned):
        again = deserialize(header, [frames[0], memory])
        assert not again.is_foreign
        again.fill(1)
        assert look(a).tobytes() == values.tobytes()
    assert bytes(misaligned) == values.tobytes()


def test_array_under_write_lease_is_not_sent():
    a = MemArray([4])
    with a.write():
        header, frames = serialize(a)
        assert header["serializer"] == "error"
        with pytest.raises(TypeError, match="LockError"):
            deserialize(header, frames)
    with a.read():
        sent(a)


def test_arrays_on_devices_are_sent_only_if_configured(simulated_devices, copies):
    import dask

    a = MemArray([6])
    a.move_memory(memarray.dlpack.kDLCUDA)
    a.fill(3)
    memarray.synchronize()
    copies()
    header, frames = serialize(a)
    with pytest.raises(TypeError, match=r"move_memory\(memarray.dlpack.kDLCPU\)"):
        deserialize(header, frames)
    assert copies() == 0
    assert a.device.type != "cpu"
    with dask.config.set({"memarray.move-to-host": True}):
        header, frames = sent(a)
    assert copies() == 1
    assert look(deserialize(header, arrived(frames))).tolist() == [3] * 6


class Named(MemArray):
    """A subclass with an attribute, which pickle finds by name."""


def test_subclasses_and_objects_holding_arrays_round_trip(copies):
    a = Named([3])
    a.name = "x"
    header, frames = serialize(a)
    assert header["serializer"] == "pickle"
    again = deserialize(header, frames)
    assert (type(again), again.name) == (Named, "x")

    class Local:
        pass

    held, values = filled((1000,))
    holder = Local()
    holder.a, holder.f = held, lambda: 3
    header, frames = serialize(holder)
    assert address(frames[-1]) == held.view().data_ptr
    again = deserialize(header, frames)
    assert again.f() == 3
    assert look(again.a).tobytes() == values.tobytes()
    assert copies() == 2  # each pickled array became a new one
    for collection in ([held, held], (held, 1), {"a": held}):
        header, frames = serialize(collection)
        again = deserialize(header, arrived(frames))
        assert type(again) is type(collection)
        first = again["a"] if isinstance(again, dict) else again[0]
        assert look(first).tobytes() == values.tobytes()


LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "flipped": lambda x: x[::-1],
    "flipped columns": lambda x: x[:, ::-1],
    "turned": lambda x: x.T[::-1, ::-1],
    "rows": lambda x: x[1:3],
    "a row": lambda x: x[2],
    "an element": lambda x: x[1, 1:2].reshape(()),
    "broadcast": lambda x: np.broadcast_to(x[:1], (7, x.shape[1])),
    "broadcast columns": lambda x: np.broadcast_to(x[:, None, :], (x.shape[0], 5, x.shape[1])).transpose(2, 0, 1),
    "empty": lambda x: x[:, :0],
    "one row": lambda x: x[None, :1],
}
GATHERED = {
    "columns": lambda x: x[:, ::2],
    "a corner": lambda x: x[1:, 1:],
    "every other, turned": lambda x: x.T[::-2],
}


@pytest.mark.parametrize("dtype", ["float64", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("layout", [*LAYOUTS, *GATHERED])
@pytest.mark.parametrize("writable", [True, False])
def test_views_of_any_layout_round_trip(layout, writable, dtype, copies):
    x = pattern((4, 6), dtype)
    x.flags.writeable = writable
    y = {**LAYOUTS, **GATHERED}[layout](x)
    view = BufferView.from_numpy(y)
    copies()
    header, frames = sent(view)
    assert copies() == (layout in GATHERED)
    assert frames[-1].readonly
    assert len(frames[-1]) <= x.nbytes
    if layout in LAYOUTS and y.size:
        assert x.ctypes.data <= address(frames[-1]) < x.ctypes.data + x.nbytes
    misaligned = memoryview(bytearray(b"x" + bytes(frames[-1])))[1:]
    for received in (arrived(frames)[-1], bytes(frames[-1]), misaligned):
        again = deserialize(header, [frames[0], received])
        assert again.shape == y.shape
        assert again.writable == view.writable
        assert np.asarray(again).view(numpy_dtype(dtype)).tobytes() == y.tobytes()
    if layout in LAYOUTS:
        copies()
        frames = arrived(frames)
        again = deserialize(header, frames)
        assert copies() == 0
        if y.size:
            assert address(frames[-1]) <= again.data_ptr < address(frames[-1]) + x.nbytes


def test_received_buffer_lives_until_last_export_is_dropped():
    header, frames = sent(filled((8,))[0])
    buffer = np.frombuffer(bytes(frames[-1]), np.uint8).copy()
    gone = weakref.ref(buffer)
    array = deserialize(header, [frames[0], memoryview(buffer)])
    assert array.is_foreign
    del buffer
    with array.read() as lease:
        kept = np.from_dlpack(lease)
    expected = kept.copy()
    del lease, array
    assert gone() is not None
    assert_same_values(kept, expected)
    del kept
    assert gone() is None


def test_sizeof_counts_distinct_elements_only():
    a = MemArray([1000, 100])
    assert 800_000 <= sizeof(a) < 801_000
    view = a.view()
    assert 800_000 <= sizeof(view) < 801_000
    assert sizeof(view[:1].broadcast_to(1_000_000, 100)) < 2000


def test_tokens_are_equal_only_for_equal_arrays(copies):
    a, _ = filled((50,))
    assert tokenize(a) == tokenize(a.copy())
    before = tokenize(a)
    assert copies() == 0
    a.fill(0)
    assert tokenize(a) != before
    view = BufferView.from_numpy(np.arange(6.0).reshape(2, 3))
    assert tokenize(view) == tokenize(view.copy()) != tokenize(view.T)
    tokens = {tokenize(x) for x in (MemArray([6]), MemArray([6], "int64"), MemArray([2, 3]), MemArray([6]).view())}
    assert len(tokens) == 4
    named, other = Named([3]), Named([3])
    named.name, other.name = "x", "y"
    assert len({tokenize(named), tokenize(other), tokenize(MemArray([3]))}) == 3
    alike = [type("Alike", (MemArray,), {"__module__": module})([3]) for module in ("one", "two")]
    assert len(set(map(tokenize, alike))) == 2
    with a.write(), pytest.raises(memarray.LockError):
        tokenize(a)


@pytest.mark.parametrize("dtype", ["?", [("a", "u1"), ("b", "?")]], ids=["bool", "struct"])
def test_tokens_of_equal_bools_are_equal(dtype):
    """True of another library may be any byte but 0. A token of that byte differed."""
    valid = np.ones(4, dtype)
    given = valid.copy()
    (given if dtype == "?" else given["b"]).view("u1")[:] = [1, 2, 3, 255]
    assert np.array_equal(given, valid)
    for step in (1, -1):
        assert tokenize(BufferView(given[::step])) == tokenize(BufferView(valid))
    assert tokenize(BufferView(given)) != tokenize(BufferView(np.zeros(4, dtype)))


def test_arrays_and_views_round_trip_through_bytes():
    a, values = filled((300, 50))
    again = deserialize_bytes(serialize_bytes({"a": a, "view": a.view().T}))
    assert look(again["a"]).tobytes() == values.tobytes()
    assert_same_values(again["view"], values.T)
    again["a"].fill(0)


PROGRAM = Path(__file__).with_name("dask_scenarios.py")


@functools.cache
def cluster():
    """Returns the exit status and the output of the scenarios, run on one cluster of two processes."""
    finished = subprocess.run(
        [sys.executable, PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{PROGRAM.parent}"},
    )
    return finished.returncode, finished.stdout


@pytest.mark.parametrize(
    "scenario",
    [
        "results_are_adopted",
        "workers_give_each_other_arrays",
        "nothing_is_copied_on_the_workers",
        "an_array_under_a_write_lease_is_not_gathered",
        "arrays_are_scattered",
        "views_are_results",
    ],
)
def test_cluster_scenario_passes(scenario):
    assert f"{scenario}: passed" in cluster()[1], cluster()[1]


def test_cluster_run_reports_failures_and_exits_cleanly():
    status, output = cluster()
    assert status == 0, output
    assert "unhappy: failed" in output  # a failure would be reported
