"""Imported memory that C++ keeps beyond the call: its lifetime, and its single release to the owner."""

import array
import gc
import subprocess
import sys
import weakref
from pathlib import Path

import arguments
import numpy as np
import pytest
from test_arguments import peer

sys.path.append(str(Path(__file__).parents[2] / "python"))
import dlpack_structs as dl
from dlpack_producer import Producer

DROPS = pytest.mark.parametrize("drop", [arguments.drop, arguments.drop_in_a_thread])
KEEPS = pytest.mark.parametrize("keep", [arguments.keep, arguments.keep_copy])


@pytest.fixture(params=[True, False], ids=["versioned", "unversioned"])
def producer(request):
    """Makes a producer of 0, 1, 2, 3, 4 in float64."""
    made = Producer(versioned=request.param, dtype=dl.DataType(2, 64, 1), ndim=1, shape=(5,), strides=(1,))
    np.frombuffer(made.memory)[:5] = range(5)
    return made


@DROPS
@KEEPS
def test_stored_tensor_is_deleted_once_when_dropped(producer, keep, drop):
    keep(producer)
    gc.collect()
    assert (arguments.kept_sum(), producer.deleted) == (10, 0)
    np.frombuffer(producer.memory)[0] = 7
    assert (arguments.kept_sum(), producer.deleted) == (17, 0), "it is the same memory"
    drop()
    gc.collect()
    assert producer.deleted == 1
    drop()
    assert producer.deleted == 1


def test_tensor_that_is_not_stored_is_deleted_after_call(producer):
    seen = []
    assert arguments.read_and_call(producer, lambda: seen.append(producer.deleted)) == 10
    assert (seen, producer.deleted) == ([0], 1)
    with pytest.raises(ZeroDivisionError):
        arguments.write_and_call(producer, lambda: 1 / 0)
    assert producer.deleted == 2


REFUSED = """
import sys

import arguments

sys.path.append(sys.argv[1])
import dlpack_structs as dl
from dlpack_producer import Producer

for versioned in (True, False):
    producer = Producer(versioned=versioned, dtype=dl.DataType(2, 64, 1), ndim=1, shape=(5,), strides=(1,))
    try:
        arguments.look(producer, "float32", 1)
    except TypeError as refusal:
        assert "the dtype" in str(refusal), refusal
        print(producer.deleted)
"""


def test_refused_tensor_is_deleted_once():
    # nanobind ends the process where an error was set and is gone.
    program = [sys.executable, "-c", REFUSED, str(Path(dl.__file__).parent)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n1\n", "")


@DROPS
@KEEPS
def test_stored_torch_tensor_keeps_its_storage(keep, drop):
    torch = peer("torch")
    x = np.arange(5.0)
    gone = weakref.ref(x)  # only the storage of the tensor keeps it
    t = torch.from_numpy(x)
    del x
    keep(t)
    t[0] = 7
    assert arguments.kept_sum() == 17
    del t
    gc.collect()
    assert gone() is not None
    assert arguments.kept_sum() == 17
    drop()
    gc.collect()
    assert gone() is None
    # A tensor over memory that torch allocated.
    t = torch.ones(1000, dtype=torch.float64)
    arguments.keep_to_write(t)
    part = t[:3]
    del t
    gc.collect()
    arguments.write_kept(5)
    drop()
    assert part.tolist() == [5, 1, 1]


@DROPS
@KEEPS
def test_stored_torch_tensor_keeps_its_storage_after_a_swap(keep, drop):
    torch = peer("torch")
    x = np.ones(3)
    gone = weakref.ref(x)
    t = torch.from_numpy(x)
    del x
    keep(t)
    t.data = torch.zeros(3, dtype=torch.float64)
    gc.collect()
    assert gone() is not None
    assert arguments.kept_sum() == 3
    drop()
    gc.collect()
    assert gone() is None
    # A writer writes to the old storage, too.
    arguments.keep_to_write(t)
    old = t.detach()
    t.data = torch.zeros(3, dtype=torch.float64)
    arguments.write_kept(5)
    drop()
    assert (t.tolist(), old.tolist()) == ([0, 0, 0], [5, 0, 0])


@pytest.mark.parametrize("function", ["read_and_call", "span_and_call", "mdspan_and_call"])
def test_storage_that_is_swapped_during_a_call_is_still_read(function):
    torch = peer("torch")
    t = torch.ones((1, 1000) if function == "mdspan_and_call" else 1000, dtype=torch.float64)
    swapped = []

    def swap():
        t.data = torch.zeros(t.shape, dtype=torch.float64)
        gc.collect()
        swapped.append(torch.full((1000,), 7, dtype=torch.float64))  # reuses freed memory

    assert getattr(arguments, function)(t, swap) == 1000
    assert swapped and t.sum() == 0


@DROPS
@KEEPS
def test_stored_buffer_cannot_be_resized(keep, drop):
    data = array.array("d", range(5))
    gone = weakref.ref(data)
    keep(data)
    with pytest.raises(BufferError):
        data.append(5)
    del data
    gc.collect()
    assert arguments.kept_sum() == 10
    data = gone()
    with pytest.raises(BufferError):
        data.append(5)
    drop()
    data.append(5)
    assert data.tolist() == list(range(6))
    del data
    gc.collect()
    assert gone() is None


@DROPS
def test_stored_part_of_buffer_is_writable(drop):
    data = bytearray(40)
    arguments.keep_to_write(memoryview(data).cast("d")[1:])
    gc.collect()
    with pytest.raises(BufferError):
        data.clear()
    arguments.write_kept(7)
    assert np.frombuffer(data).tolist() == [0, 7, 0, 0, 0]
    drop()
    data.clear()
    assert len(data) == 0
    # Neither the call nor a refusal keeps it longer.
    row = array.array("d", range(5))
    assert arguments.read_and_call(row, lambda: None) == 10
    with pytest.raises(TypeError, match="the dtype"):
        arguments.look(row, "float32", 1)
    row.append(5)
