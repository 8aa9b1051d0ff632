"""Views of device memory: operations in streams, on simulated devices, against NumPy and after delayed work."""

import gc
import os
import pickle

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, drawn
from hypothesis import example, given
from hypothesis import strategies as st
from memarray import BufferView, testing
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer
from random_runs import random_cases
from support import DTYPES, filled, look, numpy_dtype, pattern, small_numbers
from test_view_random import change, changes, outcome, reduced, same_reduction

pytestmark = pytest.mark.sanitize

EXAMPLES = 10_000 if os.environ.get("MEMARRAY_NIGHTLY") else 200
SHAPE = (6, 5)
#: Seconds that each piece of work takes. An operation that does not wait for it runs too early.
DELAY = 0.01


def contents(array):
    array.move_memory(kDLCPU)
    return look(array)


def fetched(view):
    return np.array(view.to_device("cpu"))


def on_device(shape=SHAPE, dtype="float64", device="cuda:0"):
    """Returns a view of device memory of its own, and its contents."""
    values = pattern(shape, dtype)
    return BufferView.from_numpy(values).to_device(device), values


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_round_trips_through_device(simulated_devices, dtype):
    view, values = on_device(dtype=dtype)
    assert (view.shape, view.strides, view.size) == (SHAPE, values.strides, values.size)
    assert (str(view.device), view.memory_type, view.writable, view.owner) == ("cuda:0", "device", True, None)
    back = view.to_device("cpu")
    assert (str(back.device), back.memory_type) == ("cpu", "normal")
    assert_same_values(np.asarray(back.__array__()), values)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value", "ignore:overflow")
def test_random_view_operations_match_numpy(simulated_devices):
    @random_cases(EXAMPLES)
    # Large numbers that cancel: the mean is exact but for their rounding.
    @example(shape=[4, 4, 4, 4], dtype="int64", random=1, kinds=[], operation="mean", keepdims=False)
    @given(
        shape=st.lists(st.sampled_from((0, 1, 2, 3, 4, 9)), max_size=4),
        dtype=st.sampled_from(("float32", "int64", "uint8", "float16", "complex64", "bool")),
        random=st.integers(0, 2**32),
        kinds=changes(None),
        operation=st.sampled_from(("sum", "mean", "min", "max", "copy", "cast", "fill")),
        keepdims=st.booleans(),
    )
    def run(shape, dtype, random, kinds, operation, keepdims):
        rng = np.random.default_rng(random)
        summed = operation in ("sum", "mean") and dtype in ("float32", "float16", "complex64")
        x = base = drawn(rng, shape, dtype, huge=not summed, infinite=not (summed and dtype == "complex64"))
        view = whole = BufferView.from_numpy(base).to_device("cuda:0")
        for how, number in kinds:
            x, view = change(x, view, how, number)
        assert (view.shape, view.writable) == (x.shape, x.flags.writeable)
        if operation in ("sum", "mean", "min", "max"):
            axis = tuple(int(a) for a in rng.permutation(x.ndim)[: int(rng.integers(0, x.ndim + 1))])
            got = outcome(lambda: getattr(view, operation)(axis, keepdims=keepdims))
            got = got.to_device("cpu") if isinstance(got, BufferView) else got
            expected = outcome(lambda: reduced(x, operation, axis, keepdims))
            same_reduction(got, expected, x, operation)
        elif operation == "copy":
            np.testing.assert_array_equal(fetched(view), x)
            np.testing.assert_array_equal(fetched(view.copy()), x)
        elif operation == "cast":
            np.testing.assert_array_equal(fetched(view.cast("complex128")), x.astype("complex128"))
        elif x.flags.writeable:
            x[...] = view.dtype.type(1)
            view.fill(True if dtype == "bool" else 1)
            np.testing.assert_array_equal(fetched(whole), base)

    run()


def test_a_view_of_an_array_counts_as_an_export(simulated_devices):
    a, values = filled(SHAPE)
    a.move_memory(kDLCUDA)
    view = a.view()
    assert (view.owner, view.writable, str(view.device)) == (a, False, "cuda:0")
    with pytest.raises(memarray.LockError):
        a.escaped_views = "error"
        a.fill(1)
    a.escaped_views = "snapshot"
    a.fill(1)
    assert (contents(a) == 1).all()
    assert_same_values(fetched(view), values)


def test_operations_are_ordered_after_kernels_of_other_streams(simulated_devices):
    a, values = filled(SHAPE, values_of=small_numbers)
    a.move_memory(kDLCUDA)
    first, second = memarray.Stream(), memarray.Stream()
    sums = np.indices(SHAPE).sum(0)
    memarray.synchronize()
    simulated_devices.delay(DELAY)
    a.add_index_tuple(stream=first)
    with a.read(stream=second) as lease:
        assert lease.view().sum() == (values + sums).sum()
    a.add_index_tuple(stream=first)
    assert a.view().sum() == (values + 2 * sums).sum()


def test_next_lease_is_ordered_after_operations_of_a_view(simulated_devices):
    a, values = filled(SHAPE)
    a.move_memory(kDLCUDA)
    first, second = memarray.Stream(), memarray.Stream()
    memarray.synchronize()
    simulated_devices.delay(DELAY)
    with a.write(stream=first) as lease:
        view = lease.view()
        for _ in range(5):
            view.add_index()
        copied = view.copy()
    with a.write(stream=second, discard=True) as lease:
        lease.view().fill(-1)
    sums = 5 * np.indices(SHAPE).sum(0)
    assert_same_values(fetched(copied), values + sums)
    assert_same_values(fetched(view), values + sums)
    assert (contents(a) == -1).all()


def test_two_views_of_one_block_in_two_streams_are_ordered(simulated_devices):
    view, values = on_device()
    other = view.to_device("cuda:0", stream=memarray.Stream())
    assert other is not view and other.data_ptr == view.data_ptr
    memarray.synchronize()
    simulated_devices.delay(DELAY)
    for _ in range(3):
        view.add_index()
        other.add_index()
    twice = other.cast("complex128")
    view.fill(0)
    np.testing.assert_array_equal(fetched(twice), values + 6 * np.indices(SHAPE).sum(0))
    assert view.max() == 0
    for _ in range(5):
        view.add_index()
    other[:, ::2].fill(0)
    memarray.synchronize()
    assert view[:, ::2].max() == 0, "written before what came first"


def test_escaped_view_stays_ordered_with_its_consumers(simulated_devices):
    a, _ = filled(SHAPE)
    a.move_memory(kDLCUDA)
    with a.write(stream=memarray.Stream()) as lease:
        view = lease.view()
    memarray.synchronize()
    simulated_devices.delay(DELAY)
    consumer = Consumer()
    for _ in range(3):
        view.fill(2)
    seen = consumer.take(view).read()
    for _ in range(3):
        view.fill(9)
    taken = consumer.take(view)
    taken.write(4)
    assert view.sum() == 4 * 30
    assert (seen.result() == 2).all()
    view.close()
    taken.drop()


def test_view_is_copied_between_devices(simulated_devices):
    view, values = on_device()
    by = memarray.Stream(1)
    there = view[::2].to_device("cuda:1")
    asked = view.T.to_device("cuda:1", stream=by)
    asked_here = view.T.to_device("cuda:1", stream=memarray.Stream(0))
    assert_same_values(fetched(there), values[::2])
    assert_same_values(fetched(asked), values.T)
    assert_same_values(fetched(asked_here), values.T)
    assert {str(v.device) for v in (there, asked, asked_here)} == {"cuda:1"}
    with testing.simulated_devices(peer_access=False):
        view, values = on_device()
        assert_same_values(fetched(view.to_device("cuda:1")), values)


def test_to_device_counts_only_the_copies_it_makes(simulated_devices, copies):
    view, values = on_device((4, 4), "float32")
    assert copies() == 1
    before = memarray.stats()
    assert view.to_device("cuda:0") is view and view.to_device("cuda") is view
    assert view.to_device("cuda:0", stream=None) is view
    assert copies() == 0
    view[:, :2].to_device("cpu")
    assert copies() == 2  # first into contiguous memory, then to the host
    after = memarray.stats()
    assert after["to_host_bytes"] - before["to_host_bytes"] == 32
    assert view.ensure_contiguous() is view
    host = BufferView.from_numpy(values)
    assert host.to_device("cpu") is host and host.to_device(memarray.Device("cpu")) is host


@pytest.mark.parametrize(
    ("device", "stream", "error"),
    [
        ("cuda:7", None, memarray.CudaError),
        ("gpu", None, ValueError),
        ("cuda:1", "a string", TypeError),
        ("cuda:1", -7, ValueError),
        (None, None, TypeError),
    ],
)
def test_to_device_refuses_invalid_arguments(simulated_devices, device, stream, error):
    view, values = on_device()
    with pytest.raises(error):
        view.to_device(device, stream=stream)
    assert_same_values(fetched(view), values)


def test_a_stream_of_a_third_device_is_refused():
    with testing.simulated_devices(count=3):
        view, values = on_device()
        with pytest.raises(ValueError, match="device"):
            view.to_device("cuda:1", stream=memarray.Stream(2))
        with pytest.raises(ValueError, match="device"):
            view.to_device("cuda:0", stream=memarray.Stream(2))
        assert_same_values(fetched(view), values)


@pytest.mark.parametrize(
    "reach",
    [np.asarray, memoryview, lambda v: np.frombuffer(v), lambda v: v.__array__(), np.from_dlpack],
    ids=["asarray", "memoryview", "frombuffer", "__array__", "from_dlpack"],
)
def test_host_export_of_device_view_is_refused(simulated_devices, reach):
    view, values = on_device()
    with pytest.raises((BufferError, TypeError, RuntimeError)) as caught:
        reach(view)
    if reach is not np.from_dlpack:
        assert "to_device('cpu')" in str(caught.value)
    assert not hasattr(view, "__array_interface__")
    assert_same_values(fetched(view), values)


def test_element_access_copies_from_the_device(simulated_devices):
    view, values = on_device()
    simulated_devices.delay(DELAY)
    view.add_index()
    assert view[5, 4] == values[5, 4] + 9
    assert view[2:3, 1:2].item() == values[2, 1] + 3
    with pytest.raises(IndexError):
        view[6, 0]


def test_empty_view_works_on_device(simulated_devices):
    view = BufferView.from_numpy(np.empty((0, 3))).to_device("cuda:0")
    assert fetched(view).shape == (0, 3)
    assert view.sum() == 0 and fetched(view.sum(axis=0)).tolist() == [0, 0, 0]
    view.fill(3)
    view.add_index()
    with pytest.raises(ValueError, match="empty"):
        view.min()
    assert fetched(view.to_device("cuda:1").copy()).shape == (0, 3)


def test_views_derived_from_read_only_view_are_read_only(simulated_devices):
    a, _ = filled(SHAPE)
    a.move_memory(kDLCUDA)
    view = a.view()
    for changed in (view[1:], view.T, view.to_device("cuda:0", stream=memarray.Stream())):
        assert not changed.writable
        with pytest.raises(BufferError, match="read-only"):
            changed.fill(1)
    assert memarray.from_dlpack(view.__dlpack__(max_version=(1, 3))).writable is False
    assert view.copy().writable


def test_unpickled_device_view_is_on_the_host(simulated_devices):
    view, values = on_device()
    again = pickle.loads(pickle.dumps(view.T, protocol=5))
    assert str(again.device) == "cpu"
    assert_same_values(np.asarray(again), values.T)
    a, values = filled(SHAPE)
    a.move_memory(kDLCUDA)
    assert_same_values(look(pickle.loads(pickle.dumps(a, protocol=5))), values)


def test_import_of_device_view_stays_on_device(simulated_devices):
    view, values = on_device()
    assert memarray.from_dlpack(view).data_ptr == view.data_ptr
    copied = memarray.from_dlpack(view, copy=True)
    assert copied.data_ptr != view.data_ptr and str(copied.device) == "cuda:0"
    assert_same_values(fetched(BufferView(copied)), values)


def test_dropped_views_leave_no_device_memory(simulated_devices):
    a, _ = filled(SHAPE)
    a.move_memory(kDLCUDA)
    with a.write(stream=memarray.Stream()) as lease:
        kept = [lease.view()[1:], lease.view().copy(), lease.view().sum(axis=0)]
    kept.append(kept[0].to_device("cuda:1"))
    kept.append(Consumer().take(kept[0]))
    del a, lease
    kept.clear()
    gc.collect()
    memarray.synchronize()
    memarray.trim()
    assert simulated_devices.live()["device_memory"] == 0
    assert simulated_devices.violations() == []


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_device_view_reports_numpy_dtype(simulated_devices, dtype):
    assert on_device(dtype=dtype)[0].dtype == numpy_dtype(dtype)
