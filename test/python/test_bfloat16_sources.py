"""Every way to write elements of bfloat16 converts numbers, and refuses all else."""

import memarray
import numpy as np
import pytest
from memarray import MemArray, shared_memory

ml_dtypes = pytest.importorskip("ml_dtypes")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def own(count):
    return MemArray([count], "bfloat16")


def shared(count):
    array = shared_memory.create([count], "bfloat16")
    shared_memory.unlink(array)
    return array


@pytest.mark.parametrize("make", [own, shared])
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "i8", "u8", "f2", "f4", "f8", ">f4", ">i2"])
def test_numbers_are_converted(make, dtype):
    values = np.array([0, 1, 1, 0], dtype) if dtype == "?" else np.array([1, 2, 0, 100], dtype)
    for source in (values, np.repeat(values, 2)[::2], values[::-1]):
        array = make(4)
        array.read_numpy_array(source)
        assert array.view().tolist() == source.tolist()


@pytest.mark.parametrize("make", [own, shared])
def test_lists_and_floats_beyond_its_precision_are_rounded_once(make):
    array = make(3)
    array.read_numpy_array([1.0, -0.5, 3])
    assert array.view().tolist() == [1.0, -0.5, 3.0]
    wide = np.array([1 + 2**-8, 1e30, -np.inf])
    array.read_numpy_array(wide)
    assert array.view().tolist() == wide.astype(BFLOAT16).astype("f8").tolist()
    array.read_numpy_array(np.array([1.5, np.nan, -0.0], BFLOAT16))
    assert np.isnan(array.view()[1]) and np.signbit(array.view()[2])


def test_conversions_are_reported(copies):
    array = own(3)
    copies()
    array.read_numpy_array(np.ones(3, BFLOAT16))
    assert copies() == 0
    array.read_numpy_array(np.ones(3))
    assert copies() == 1


@pytest.mark.parametrize(
    "wrong",
    [np.ones(2, "c8"), np.ones(2, "c16"), np.array(["a", "b"]), np.zeros(2, "M8[s]"), np.zeros(2, "V2")],
    ids=str,
)
def test_other_kinds_are_refused(wrong):
    array = own(2)
    array.fill(3)
    for call in (
        lambda: array.read_numpy_array(wrong),
        lambda: array.fill(wrong[0]),
        lambda: array.view().fill(wrong[0]),
    ):
        with pytest.raises((TypeError, BufferError)):
            call()
    with pytest.raises(TypeError):
        array.fill(1 + 2j)
    assert array.view().tolist() == [3, 3]


def test_arrays_are_made_from_numpy():
    values = np.array([1.5, -2], BFLOAT16)
    assert MemArray.from_numpy(values).view().tolist() == [1.5, -2]
    assert memarray.BufferView(values).cast("float32").tolist() == [1.5, -2]
