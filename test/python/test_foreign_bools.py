"""Bools of other libraries that are neither 0 nor 1: True wherever Python reads them, and 1 in memarray's memory."""

import memarray
import numpy as np
import pytest
from memarray import BufferView, MemArray

pytestmark = pytest.mark.sanitize


def invalid(shape=(2, 3)):
    """Returns bools whose bytes are 0 to 255; NumPy reads all but 0 as True."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype="u1") * 51).reshape(shape).view(bool)


def stored(x):
    return np.asarray(x).view("u1")


LAYOUTS = {
    "dense": lambda: invalid(),
    "fortran": lambda: np.asfortranarray(invalid()),
    "strided": lambda: invalid((4, 6))[::2, ::-2],
    "large": lambda: invalid((300, 1001)),
    "read-only": lambda: np.frombuffer(invalid().tobytes(), bool),
}
every_layout = pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)


@every_layout
def test_copies_of_invalid_bools_are_valid(make):
    x = make()
    expected = (x.view("u1") != 0).astype("u1")
    view = BufferView(x)
    for copied in (view.copy(), BufferView(x, copy=True), view.copy()[...].ensure_contiguous(), view.cast(bool)):
        np.testing.assert_array_equal(stored(copied), expected)
    np.testing.assert_array_equal(np.asarray(view.cast("int32")), expected)
    assert view.sum() == expected.sum()


@every_layout
def test_arrays_made_from_invalid_bools_are_valid(make):
    x = make()
    expected = (x.view("u1") != 0).astype("u1")
    read = MemArray(x.shape, bool)
    read.read_numpy_array(x)
    for array in (MemArray.from_numpy(x), MemArray.from_dlpack(x), MemArray.from_dlpack(x, copy=True), read):
        np.testing.assert_array_equal(stored(array), expected)
        assert not array.is_foreign


def test_invalid_bools_are_copied_not_adopted(copies):
    x = invalid()
    with pytest.raises(BufferError, match="bools that are neither 0 nor 1"):
        MemArray.from_dlpack(x, copy=False)
    assert copies() == 0
    MemArray.from_dlpack(x)
    assert copies() == 1
    valid = x != 0
    assert MemArray.from_dlpack(valid, copy=False).is_foreign
    assert copies() == 0


def test_fill_with_invalid_bool_stores_valid_bool():
    a = MemArray([2], bool)
    for value in (invalid((3,))[2:].reshape(()), invalid((3,))[2], True, np.True_):
        a.fill(False)
        a.fill(value)
        assert stored(a).tolist() == [1, 1]
    a.fill(invalid((1,)).reshape(()))
    assert stored(a).tolist() == [0, 0]


def test_views_of_invalid_bools_share_their_memory(copies):
    x = invalid()
    view = memarray.from_dlpack(x)
    assert view.data_ptr == x.ctypes.data and copies() == 0
    assert view.tolist() == x.tolist()


@every_layout
def test_bytes_of_invalid_bools_are_valid(make):
    x = make()
    for order in "CF":
        assert BufferView(x).tobytes(order) == (x.view("u1") != 0).tobytes(order)
    # Python has one object for each text of one byte.
    one = bytes([255])
    assert BufferView(np.array([255], "u1").view(bool)).tobytes() == b"\1" and one[0] == 255
