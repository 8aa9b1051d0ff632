"""Arrays of C++ structs in NumPy, memoryview and pickle."""

import pickle

import memarray
import numpy as np
import pytest
import structs

POINT = np.dtype([("x", "<f4"), ("id", "<i4")])
BODY = np.dtype(
    {
        "names": ["state", "position", "origin", "label", "alive"],
        "formats": ["S1", ("<f8", (3,)), POINT, "S5", "?"],
        "offsets": [0, 8, 32, 40, 45],
        "itemsize": 48,
    }
)
VALUES = [(0.5, 10), (1.5, 11), (2.5, 12), (3.5, 13)]


def points():
    return memarray.MemArray.from_numpy(np.array(VALUES, POINT))


def test_dtype_has_fields_and_padding_of_the_struct():
    assert points().dtype == POINT
    body = memarray.MemArray([2], "structs::Body")
    assert body.dtype == BODY
    with body.read() as lease:
        assert np.asarray(lease).dtype == BODY
        assert np.asarray(lease.view()).dtype == BODY
    assert memarray.MemArray([2], BODY).dtype == BODY
    assert memarray.MemArray([2, 3], POINT).shape == (2, 3)


def test_copies_and_slices_have_equal_contents():
    a = points()
    x = np.asarray(a)
    assert np.array(a).tolist() == x.copy().tolist() == VALUES
    assert x[::2].copy().tolist() == VALUES[::2]
    assert np.asarray(a.view()[::2].copy()).tolist() == VALUES[::2]
    other = points()
    assert np.array_equal(x, np.asarray(other))
    other.fill((9, 9))
    assert not np.array_equal(x, np.asarray(other))


def test_numpy_assignment_and_copyto_write_structs():
    a = memarray.MemArray([4], "structs::Point")
    with a.write() as lease:
        np.asarray(lease)[:] = np.array(VALUES, POINT)
    assert np.asarray(a).tolist() == VALUES
    with a.write() as lease:
        np.copyto(np.asarray(lease), np.array((7, 8), POINT))
    assert np.asarray(a).tolist() == [(7, 8)] * 4
    a.read_numpy_array(np.array(VALUES, POINT))
    assert structs.sum_of_ids(a) == 46


def test_elements_read_as_tuples():
    body = memarray.MemArray([1], "structs::Body")
    value = (b"s", [1.0, 2.0, 3.0], (4.0, 5), b"ab", True)
    body.fill(value)
    assert body.view()[0] == value


def test_fields_in_another_order_are_refused():
    swapped = np.zeros(4, [("id", "<i4"), ("x", "<f4")])
    a = points()
    with pytest.raises(TypeError, match="fields"):
        a.read_numpy_array(swapped)
    assert np.asarray(a).tolist() == VALUES


@pytest.mark.parametrize("make", [points, lambda: points().view()])
def test_pickle_keeps_struct_values(make):
    assert np.asarray(pickle.loads(pickle.dumps(make(), protocol=5))).tolist() == VALUES


def test_memoryview_has_struct_format():
    with points().read() as lease:
        shown = memoryview(lease)
        assert shown.format == "T{=f:x:=i:id:}"
        assert shown.tobytes() == np.array(VALUES, POINT).tobytes()


class Interface:
    def __init__(self, array):
        self.kept = array
        self.__array_interface__ = array.__array_interface__


@pytest.mark.parametrize("wrap", [lambda x: x, memoryview, Interface])
def test_structured_arrays_are_imported(wrap):
    source = np.array(VALUES, POINT)
    assert structs.sum_of_ids(wrap(source)) == 46
    view = memarray.BufferView(wrap(source))
    assert view.dtype == POINT
    assert view[1] == VALUES[1]
    bodies = memarray.BufferView(wrap(np.zeros(2, BODY)))
    assert bodies.dtype == BODY


def test_mismatched_structured_arrays_are_refused():
    with pytest.raises(TypeError):
        structs.sum_of_ids(np.zeros(2, [("y", "<f4"), ("id", "<i4")]))
    moved = np.zeros(17, np.uint8)[1:].view(POINT)
    with pytest.raises(TypeError, match="aligned"):
        structs.sum_of_ids(moved)
    with pytest.raises(BufferError):
        memarray.BufferView(np.zeros(2, [("x", ">f4")]))


def test_a_struct_without_fields_is_copied_whole():
    a = memarray.MemArray([4], "structs::Opaque")
    assert a.dtype == np.dtype("V8")
    source = np.array(VALUES, POINT).view("V8")
    with a.write() as lease:
        np.asarray(lease)[:] = source
        with pytest.raises(BufferError, match="MEMARRAY_FIELDS"):
            memoryview(lease)
    assert np.array(a).view(POINT).tolist() == VALUES
    assert np.asarray(a)[::2].copy().view(POINT).tolist() == VALUES[::2]
    assert np.asarray(pickle.loads(pickle.dumps(a, protocol=5))).view(POINT).tolist() == VALUES
    with pytest.raises(TypeError, match="MEMARRAY_FIELDS"):
        pickle.dumps(a.view(), protocol=5)


def test_strided_structs_are_read_without_a_hidden_copy(copies):
    a = memarray.MemArray([3], "structs::Opaque")
    whole = np.arange(12, dtype="i4").view("V8")
    for source in (whole[::2], whole[4::-2], whole[:3]):
        copies()
        a.read_numpy_array(source)
        assert copies() == 0
        assert np.asarray(a).tobytes() == source.tobytes()
