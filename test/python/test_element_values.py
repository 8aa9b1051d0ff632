"""The values that `fill` accepts for one element."""

import itertools

import memarray
import numpy as np
import pytest
from memarray import BufferView, MemArray

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


def given(dtype, write):
    array = MemArray([1], dtype)
    try:
        write(array)
    except (TypeError, OverflowError):
        return None
    return np.asarray(array).tobytes()


def test_numbers_of_ml_dtypes_fill_as_they_are_read():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = MemArray([1], "int8")
    array.fill(ml_dtypes.int4(-3))
    assert array.view()[0] == -3  # the byte of an int4 is 13
    array = MemArray([1], "float32")
    array.fill(ml_dtypes.bfloat16(2))
    assert array.view()[0] == 2
    kinds = [kind for kind in vars(ml_dtypes).values() if isinstance(kind, type) and issubclass(kind, np.generic)]
    assert len(kinds) > 8
    targets = ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
    for kind, dtype in itertools.product(kinds, targets):
        for value in np.array([0, 1, -1, 2, 0.5]).astype(kind):
            read = given(dtype, lambda array, value=value: array.read_numpy_array(np.array([value])))
            assert given(dtype, lambda array, value=value: array.fill(value)) == read, (kind, dtype, value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_filled_values_are_rounded_once(dtype):
    """By way of float32, or of float64 for integers, these would become a neighbour."""
    values = [65519.99, 1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-40, -(1 + 2**-8 + 2**-40), 2**62 + 2**38 + 1]
    values += [2**62 + 2**54 + 1, -(2**62) - 2**54 - 1, 2**63 + 2**55 + 1, 3, -1, 2**24 + 1]
    for value in values:
        source = np.array([value], "u8" if value > 2**63 else None)
        if dtype == "float16" and source.dtype.kind in "iu":
            source = source.astype("f8")
        with np.errstate(over="ignore"):
            expected = BufferView(source).cast(dtype)[0]
        for given in (value, source[0], source[:1].reshape(())):
            array = MemArray([1], dtype)
            array.fill(given)
            assert array.view()[0] == expected, (value, type(given))
        with np.errstate(over="ignore"):
            array.read_numpy_array(source)
        assert array.view()[0] == expected, value


def test_integers_beyond_64_bits_are_rounded_once():
    """The halves between two numbers of float32 or bfloat16, and one more or less."""
    for dtype, bits in (("float32", 23), ("bfloat16", 7)):
        for sign in (1, -1):
            for half, up in ((1, 0), (3, 4)):
                for more, steps in ((-1, half - 1), (0, up), (1, half + 1)):
                    array = MemArray([1], dtype)
                    array.fill(sign * (2**100 + half * 2 ** (99 - bits) + more))
                    assert array.view()[0] == sign * (2.0**100 + steps / 2 * 2.0 ** (100 - bits)), (dtype, half, more)
