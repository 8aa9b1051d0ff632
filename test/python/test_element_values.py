"""The values that `fill` accepts for one element."""

import memarray
import numpy as np
import pytest

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kind", [int, np.int64, np.uint64, np.array], ids=lambda kind: kind.__name__)
def test_integers_fit_or_are_refused(dtype, kind):
    limits = np.iinfo(dtype)
    array = memarray.MemArray([3], dtype)
    for value in (limits.min, limits.max, 5):
        if kind in (int, np.array) or np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            array.fill(kind(value))
            assert np.asarray(array).tolist() == [value] * 3
    for value in (limits.min - 1, limits.max + 1):
        if -(2**63) <= value < 2**63 and (kind is not np.uint64 or value >= 0):
            with pytest.raises((OverflowError, TypeError)):
                array.fill(kind(value))
    assert np.asarray(array).tolist() == [5] * 3


@pytest.mark.parametrize("value", [1.5, np.float64(2), "7", None, [1, 2], 1j])
def test_integer_array_refuses_non_integer_values(value):
    array = memarray.MemArray([3], "int32")
    with pytest.raises(TypeError):
        array.fill(value)
    assert np.asarray(array).tolist() == [0] * 3


@pytest.mark.parametrize("value", [0, 1, np.int8(1), 1.0])
def test_a_bool_array_takes_bools_only(value):
    array = memarray.MemArray([2], bool)
    with pytest.raises(TypeError, match="bool"):
        array.fill(value)
    array.fill(np.True_)
    assert np.asarray(array).all()


def test_other_dtypes_accept_bools_as_numbers():
    for dtype in ("uint8", "float32", "complex64"):
        array = memarray.MemArray([2], dtype)
        array.fill(True)
        assert np.asarray(array).tolist() == [1, 1]


def test_bfloat16_array_accepts_python_and_numpy_floats():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = memarray.MemArray([2], "bfloat16")
    for value in (1.5, np.float32(1.5), ml_dtypes.bfloat16(1.5)):
        array.fill(0)
        array.fill(value)
        assert np.asarray(array).astype(float).tolist() == [1.5, 1.5]
