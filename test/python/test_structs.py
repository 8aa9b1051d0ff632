"""Arrays of C++ structs in NumPy, memoryview and pickle."""

import ctypes
import importlib.util
import pickle

import memarray
import numpy as np
import pytest
from numpy.lib import recfunctions

if importlib.util.find_spec("structs") is None and "site-packages" in memarray.__file__:
    pytest.skip("an installed package has no extension modules of tests", allow_module_level=True)
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


@pytest.mark.parametrize("dtype", [POINT, BODY], ids=["packed", "padded"])
def test_array_interface_of_structs_equals_that_of_numpy(dtype):
    source = np.zeros(4, dtype)
    field = source if dtype == POINT else source["origin"]
    field["x"], field["id"] = zip(*VALUES, strict=True)
    array = memarray.MemArray.from_numpy(source)
    with array.read() as lease:
        for exporter in (lease, lease.view(), array.view(), memarray.BufferView(source)):
            for given, expected in ((exporter, source), (memarray.BufferView(exporter)[::-2], source[::-2])):
                interface = given.__array_interface__
                assert np.lib.format.descr_to_dtype(interface["descr"]) == dtype
                assert memarray.BufferView(Interface(given)).dtype == dtype
                # NumPy gives names to the padding, also in its own arrays.
                taken, numpys = np.asarray(Interface(given)), np.asarray(Interface(expected))
                assert taken.dtype == numpys.dtype
                assert taken.ctypes.data == interface["data"][0]
                for name in dtype.names:
                    np.testing.assert_array_equal(taken[name], expected[name])


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


SWAPPED = np.dtype({"names": ["id", "x"], "formats": ["<i4", "<f4"], "offsets": [4, 0], "itemsize": 8})
NESTED = np.dtype([("k", "<i4"), ("n", SWAPPED)])


@pytest.mark.parametrize("dtype", [SWAPPED, NESTED], ids=["plain", "nested"])
def test_dtypes_out_of_memory_order_are_refused(dtype):
    """Their values were those of the fields sorted by offset: (x, id) instead of (id, x)."""
    raw = np.zeros(2, dtype)
    packed = memarray.BufferView(np.zeros(2, POINT))
    for make in (
        lambda: memarray.BufferView.from_buffer(raw.tobytes(), dtype),
        lambda: packed.astype(dtype),
        lambda: packed.cast(dtype),
        lambda: memarray.MemArray(2, dtype),
        lambda: memarray.MemArray.from_numpy(raw),
        lambda: memarray.shared_memory.create(2, dtype),
    ):
        with pytest.raises(TypeError, match=r"memory order, not \('id', 'x'\)"):
            make()
    for view in (memarray.BufferView, memarray.BufferView.from_buffer):
        with pytest.raises(BufferError, match=r"memory order, not \('id', 'x'\).*repack_fields"):
            view(raw)
    ordered = recfunctions.repack_fields(raw, recurse=True)
    assert memarray.BufferView(ordered).dtype == ordered.dtype


@pytest.mark.parametrize("view", [memarray.BufferView, memarray.BufferView.from_buffer])
def test_records_with_dates_are_refused_by_their_field(view):
    with pytest.raises(BufferError, match=r"no dtype for this struct: field day is of '<M8\[s\]'"):
        view(np.zeros(3, [("id", "<i4"), ("day", "<M8[s]")]))


def test_fields_selected_out_of_memory_order_are_refused():
    source = np.array([(1, 2, 3.5)], [("a", "<i4"), ("b", "<i2"), ("c", "<f4")])
    assert memarray.BufferView(source[["a", "c"]]).tolist() == [(1, 3.5)]
    with pytest.raises(BufferError, match=r"memory order, not \('c', 'a'\)"):
        memarray.BufferView(source[["c", "a"]])
    assert memarray.BufferView(recfunctions.repack_fields(source[["c", "a"]])).tolist() == [(3.5, 1)]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("make", [points, lambda: points().view(), lambda: points().view()[::-1]])
def test_pickle_keeps_struct_values(make, protocol):
    again = pickle.loads(pickle.dumps(make(), protocol))
    assert again.dtype == POINT
    assert np.asarray(again).tolist() == np.asarray(make()).tolist()


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


@pytest.mark.parametrize(("name", "dtype"), [("structs::Opaque", "V8"), ("structs::Point", POINT)])
def test_strided_structs_are_read_without_a_hidden_copy(name, dtype, copies):
    a = memarray.MemArray([3], name)
    whole = np.arange(12, dtype="i4").view(dtype)
    for source in (whole[::2], whole[4::-2], whole[:3]):
        copies()
        a.read_numpy_array(source)
        assert copies() == 0
        assert np.asarray(a).tobytes() == source.tobytes()


def test_bools_in_fields_are_valid_in_own_memory():
    raw = np.zeros(4, memarray.MemArray([4], "structs::Mixed").dtype)
    raw["valid"].view("u1")[:] = [2, 255, 0, 1]
    for make in (
        lambda: memarray.MemArray.from_numpy(raw),
        lambda: pickle.loads(pickle.dumps(memarray.MemArray.from_numpy(raw))),
        lambda: filled("structs::Mixed", 4, lambda a: a.read_numpy_array(raw)),
    ):
        made = make()
        assert structs.count_valid(made) == 3
        assert np.asarray(made)["valid"].view("u1").tolist() == [1, 1, 0, 1]
    assert structs.count_valid(filled("structs::Mixed", 2, lambda a: a.fill(raw[1]))) == 2


def filled(dtype, count, fill):
    array = memarray.MemArray([count], dtype)
    fill(array)
    return array


def test_fields_of_bfloat16_take_no_other_numbers():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = memarray.MemArray([2], "structs::Mixed")
    offsets = {"names": ["value", "valid"], "offsets": [0, 2], "itemsize": 4}
    for wrong in ("i2", "u2", "f2", "f4", "S2"):
        formats = [wrong, "?"]
        source = np.ones(2, {**offsets, "formats": formats, "itemsize": 8, "offsets": [0, 4]})
        with pytest.raises(TypeError, match="fields"):
            a.read_numpy_array(source)
        with pytest.raises(TypeError):
            a.fill(source[0])
    source = np.zeros(2, {**offsets, "formats": [ml_dtypes.bfloat16, "?"]})
    source["value"] = [1.5, -2]
    for make in (
        lambda: filled("structs::Mixed", 2, lambda a: a.read_numpy_array(source)),
        lambda: memarray.MemArray.from_numpy(source),
    ):
        values = np.asarray(make())["value"].copy().view(ml_dtypes.bfloat16)
        assert values.tolist() == [1.5, -2]
    one = filled("structs::Mixed", 2, lambda a: a.fill(source[1]))
    assert np.asarray(one)["value"].copy().view(ml_dtypes.bfloat16).tolist() == [-2, -2]


def test_a_struct_without_fields_takes_bytes_of_its_size_alone():
    a = memarray.MemArray([2], "structs::Opaque")
    a.read_numpy_array(np.array([b"abcdefgh", b"ijklmnop"], "V8"))
    before = np.asarray(a).tobytes()
    for wrong in (
        np.array([1.0, 2.0]),
        np.array([1, 2]),
        np.array(["ab", "cd"]),
        np.array([b"abcdefgh", b"ijklmnop"]),
        np.ones(2, "c8"),
        np.zeros(2, "V16"),
    ):
        with pytest.raises(TypeError):
            a.read_numpy_array(wrong)
        with pytest.raises(TypeError):
            a.fill(wrong[0])
    assert np.asarray(a).tobytes() == before


class Packed(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("a", ctypes.c_int16), ("b", ctypes.c_int16), ("c", ctypes.c_float))


class Number(ctypes.Union):
    _fields_ = (("real", ctypes.c_double), ("whole", ctypes.c_int))


@pytest.mark.parametrize("wrap", [lambda x: x, memoryview])
def test_packed_ctypes_structs_have_their_fields(wrap):
    """ctypes describes them as bytes of the size of the struct."""
    one = Packed(-1, 2, 3.5)
    for view in (memarray.BufferView(wrap(one)), memarray.BufferView.from_buffer(wrap(one))):
        assert view.dtype == np.dtype([("a", "<i2"), ("b", "<i2"), ("c", "<f4")])
        assert view.item() == (-1, 2, 3.5)
    table = ((Packed * 2) * 3)()
    table[2][1].a = -7
    view = memarray.BufferView(wrap(table))
    assert view.shape == (3, 2) and view[2, 1] == (-7, 0, 0.0)
    with pytest.raises(BufferError):
        memarray.BufferView(wrap(Number(1.5)))
    assert memarray.BufferView.from_buffer(wrap(Number(1.5)), "float64").tolist() == [1.5]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ((1.7, 2, True, b"a", [0, 0]), TypeError),
        (("5", 2, True, b"a", [0, 0]), TypeError),
        ((1, "2.5", True, b"a", [0, 0]), TypeError),
        ((1, 2, 1, b"a", [0, 0]), TypeError),
        ((1, 2, True, b"abc", [0, 0]), TypeError),
        ((1, 2, True, "ab", [0, 0]), TypeError),
        ((1, 2, True, 12, [0, 0]), TypeError),
        ((1, 2, True, b"a", [0, 0.5]), TypeError),
        ((1, 2, True, b"a", [0]), TypeError),
        ((1, 2, True, b"a"), TypeError),
        ((300, 2, True, b"a", [0, 0]), OverflowError),
        ((2**70, 2, True, b"a", [0, 0]), OverflowError),
        ((1, 2, True, b"a", [0, 2**15]), OverflowError),
    ],
    ids=str,
)
def test_fields_are_filled_within_their_kind(value, error):
    dtype = np.dtype([("a", "i1"), ("b", "f4"), ("c", "?"), ("d", "S2"), ("e", "i2", 2)])
    memory = np.zeros(2, [("x", dtype), ("y", dtype, 2)])
    memory["x"]["a"] = 9
    before = memory.tobytes()
    view = memarray.BufferView(memory)
    right = (-128, 2**70, True, b"ab", [1, -(2**15)])
    for wrong in ((value, [right, right]), (right, [right, value])):
        with pytest.raises(error):
            view.fill(wrong)
    assert memory.tobytes() == before
    view.fill((right, [right, right]))
    assert memory[1]["y"][1].item()[:4] == (-128, 2.0**70, True, b"ab")
    assert memory[1]["x"]["e"].tolist() == [1, -(2**15)]


def test_integers_of_other_structs_must_fit():
    memory = np.zeros(2, [("a", "i1"), ("b", "f4")])
    view = memarray.BufferView(memory)
    wide = np.array([(-128, 0.5), (128, 0.5)], [("a", "i8"), ("b", "f8")])
    view.fill(wide[0])
    with pytest.raises(OverflowError, match="int8"):
        view.fill(wide[1])
    assert memory.tolist() == [(-128, 0.5)] * 2


def test_deeply_nested_structs_are_imported():
    dtype = np.dtype("f8")
    for _ in range(60):
        dtype = np.dtype([("a", dtype)])
    assert memarray.BufferView(np.zeros(1, dtype)).dtype == dtype
