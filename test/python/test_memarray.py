"""Arrays from Python: creation, filling, computation and reading, for every dtype and rank."""

import copy
import gc
import pickle
import weakref

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from support import COMPLEXES, DTYPES, FLOATS, INTEGERS, RANKS, filled, index_sums, look, numpy_dtype, pattern, shape_of

every_dtype = pytest.mark.parametrize("name", DTYPES)
every_rank = pytest.mark.parametrize("ndim", RANKS)


@pytest.mark.sanitize
@every_rank
@every_dtype
def test_export_of_new_array_has_its_shape_and_dtype(name, ndim):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    array = memarray.MemArray(list(shape_of(ndim)), name)
    with array.get_dlpack() as lease:
        view = np.asarray(lease) if name == "bfloat16" else np.from_dlpack(lease)
        assert view.shape == shape_of(ndim)
        assert view.dtype == numpy_dtype(name)
        assert not view.any()
        del view


@every_rank
@every_dtype
def test_read_move_and_index_sums_match_numpy(name, ndim):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    shape = shape_of(ndim)
    array = memarray.MemArray(list(shape), name)
    array.move_memory(memarray.dlpack.kDLCPU)
    values = pattern(shape, name)
    array.read_numpy_array(values)
    with array.get_dlpack(memarray.dlpack.kDLCPU) as lease:
        assert_same_values(np.asarray(lease), values)
    array.add_index_tuple()
    array.move_memory(memarray.dlpack.kDLCPU, device_id=0, stream=0, async_copy=False)
    with array.get_dlpack(memarray.dlpack.kDLCPU) as lease:
        assert_same_values(np.asarray(lease), values + index_sums(shape, name))


@every_dtype
def test_fill_sets_every_element(name):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    array = memarray.MemArray([3, 5], name)
    value = {"bool": True}.get(name, 3)
    array.fill(value)
    np.testing.assert_array_equal(look(array), np.full((3, 5), value, numpy_dtype(name)))
    if name in FLOATS or name in COMPLEXES:
        array.fill(0.5)
        assert (look(array) == 0.5).all()
    if name in COMPLEXES:
        array.fill(1 - 2j)
        assert (look(array) == 1 - 2j).all()
    array.fill(numpy_dtype(name).type(1))
    assert (look(array) == 1).all()


@pytest.mark.parametrize("name", INTEGERS)
def test_fill_accepts_integer_limits_and_refuses_overflow(name):
    array = memarray.MemArray([2], name)
    ends = np.iinfo(name)
    for value in (int(ends.min), int(ends.max)):
        array.fill(value)
        assert look(array).tolist() == [value, value]
    for value in (int(ends.min) - 1, int(ends.max) + 1, 10**30):
        with pytest.raises(OverflowError, match=f"does not fit into {name}"):
            array.fill(value)
    assert look(array).tolist() == [int(ends.max)] * 2


@every_dtype
def test_every_spelling_of_a_dtype_makes_the_same_array(name):
    spellings = [name]
    if name != "bfloat16":
        spellings += [np.dtype(name), np.dtype(name).type, np.dtype(name).str]
    else:
        spellings += [pytest.importorskip("ml_dtypes").bfloat16]
    for spelling in spellings:
        array = memarray.MemArray([2], spelling)
        assert array.dtype == numpy_dtype(name)


def test_python_types_are_accepted_as_dtypes():
    for spelling, name in (
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex128"),
        (None, "float64"),
    ):
        assert memarray.MemArray([1], spelling).dtype == name


def test_attributes_describe_the_array():
    array = memarray.MemArray([2, 4, 7], "float32")
    assert array.shape == (2, 4, 7)
    assert (array.ndim, array.size, array.itemsize, array.nbytes, len(array)) == (3, 56, 4, 224, 2)
    assert array.dtype == np.float32
    assert str(array.device) == "cpu"
    assert array.device == memarray.Device("cpu")
    assert array.lock_id == -1
    assert not array.is_foreign
    assert repr(array) == "MemArray([2, 4, 7], dtype=float32, device=cpu)"
    assert isinstance(array, memarray.MemArray)


@every_rank
def test_zero_extents_are_accepted(ndim):
    for at in range(ndim):
        shape = tuple(0 if d == at else 3 for d in range(ndim))
        array = memarray.MemArray(shape)
        array.fill(1)
        array.add_index_tuple()
        with array.read() as lease:
            assert np.from_dlpack(lease).shape == shape
            assert memoryview(lease).nbytes == 0
        assert array.size == 0 and look(array.copy()).shape == shape


@pytest.mark.trap("T05")
def test_sizes_beyond_int32_are_supported():
    array = memarray.MemArray([3, 2**30 + 1], "int8", uninitialized=True)
    assert array.nbytes == 3 * (2**30 + 1) > 2**31
    with array.write(discard=True) as lease:
        view = np.from_dlpack(lease)
        assert view.shape == (3, 2**30 + 1)
        view[2, 2**30] = 5
        assert memoryview(lease).nbytes == array.nbytes
        assert np.asarray(lease)[-1, -1] == 5
        del view
    del lease
    memarray.trim()


@every_rank
def test_resize_keeps_the_leading_elements_in_linear_order(ndim):
    shape = shape_of(ndim)
    array, values = filled(shape, "int32", start=1)
    larger = tuple(extent + 1 for extent in shape)
    array.resize(larger)
    flat = look(array).ravel()
    assert array.shape == larger
    assert_same_values(flat[: values.size], values.ravel())
    assert not flat[values.size :].any()
    smaller = (2,) + (1,) * (ndim - 1)
    array.resize(smaller)
    assert_same_values(look(array).ravel(), values.ravel()[:2])


def test_resize_takes_the_integers_that_the_constructor_takes():
    class Three:
        def __index__(self):
            return 3

    array = memarray.MemArray(2)
    for shape in (np.int64(4), np.uint8(5), Three(), [np.int16(2)], (6,), np.array([2]), range(1, 2)):
        array.resize(shape)
        assert array.shape == memarray.MemArray(shape).shape
    with pytest.raises(TypeError):
        array.resize(True)


def test_exchange_swaps_contents_and_shapes():
    left, left_values = filled((2, 3), start=1)
    right, right_values = filled((4, 1), start=5)
    left.exchange(right)
    assert left.shape == (4, 1) and right.shape == (2, 3)
    assert_same_values(look(left), right_values)
    assert_same_values(look(right), left_values)
    left.exchange(left)
    assert_same_values(look(left), right_values)


@pytest.mark.parametrize(
    "duplicate", [lambda a: a.copy(), copy.copy, copy.deepcopy], ids=["copy", "copy.copy", "deepcopy"]
)
def test_copies_are_deep_and_unlocked(duplicate, copies):
    array, values = filled((3, 2))
    array.escaped_views = "error"
    with array.read():
        twin = duplicate(array)
    assert twin.lock_id == -1
    assert twin.escaped_views == "error"
    twin.fill(0)
    assert_same_values(look(array), values)
    assert type(twin) is memarray.MemArray
    assert copies() == 0


def test_deepcopy_of_a_container_keeps_sharing_within_it():
    array, _ = filled((3,))
    twins = copy.deepcopy([array, array])
    assert twins[0] is twins[1] is not array


class Named(memarray.MemArray):
    """A subclass with an attribute of its own."""

    def __init__(self, shape, dtype=None, device_id=0, *, uninitialized=False):
        self.name = "density"


def test_copies_of_subclasses_keep_type_and_attributes():
    named = Named([2, 2], "int32")
    assert isinstance(named, memarray.MemArray)
    assert named.shape == (2, 2)
    named.notes = ["kept"]
    for twin in (copy.copy(named), copy.deepcopy(named)):
        assert type(twin) is Named
        assert twin.name == "density"
        assert twin.notes == ["kept"]
    assert copy.copy(named).notes is named.notes
    assert copy.deepcopy(named).notes is not named.notes
    assert type(named.copy()) is Named
    assert type(Named.from_numpy(np.zeros((2, 2), "int32"))) is Named


def test_a_subclass_in_a_reference_cycle_is_collected():
    named = Named([64])
    named.itself = named
    alive = weakref.ref(named)
    gc.collect()
    before = memarray.stats()["live_blocks"]
    del named
    gc.collect()
    assert alive() is None
    assert memarray.stats()["live_blocks"] == before - 1


def test_gc_tracks_subclasses_but_not_plain_arrays():
    assert memarray.MemArray.__basicsize__ == memarray.MemArray.__base__.__basicsize__
    assert not gc.is_tracked(memarray.MemArray([1]))
    assert not gc.is_tracked(memarray.MemArray([1]).copy())
    assert gc.is_tracked(Named([1]))


def test_finalizer_added_later_is_called(monkeypatch):
    class Plain(memarray.MemArray):
        __slots__ = ()

    ended = []
    monkeypatch.setattr(memarray.MemArray, "__del__", lambda self: ended.append(type(self).__name__), raising=False)
    for kind in (memarray.MemArray, Plain, Named):
        made = kind([1])
        del made
    assert ended == ["MemArray", "Plain", "Named"]


def test_class_of_array_cannot_be_reassigned():
    class Plain(memarray.MemArray):
        __slots__ = ()

    a = memarray.MemArray([1])
    for other in (Plain, Named, memarray._core.ArrayBase):
        with pytest.raises(TypeError):
            a.__class__ = other
    assert type(a.copy()) is memarray.MemArray


def test_set_array_class_refuses_unsuitable_classes():
    class Slotted(memarray.MemArray):
        __slots__ = ("name",)

    class Plain(memarray.MemArray):
        __slots__ = ()

    for wrong in (Slotted, Named, Plain, memarray._core.ArrayBase, dict, 3, None):
        with pytest.raises(TypeError, match="direct subclass of ArrayBase without instance attributes"):
            memarray._core.set_array_class(wrong)
    assert type(memarray.MemArray([1]).copy()) is memarray.MemArray
    assert gc.is_tracked(Slotted([1]))


def test_weak_reference_callbacks_run_on_deletion():
    array = memarray.MemArray([1])
    lease = array.read()
    ends = []
    alive = weakref.ref(array, lambda _: ends.append("array"))
    of_lease = weakref.ref(lease, lambda _: ends.append("lease"))
    assert alive() is array and of_lease() is lease
    del array, lease
    assert ends == ["array", "lease"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_a_lease_is_refused(protocol):
    with pytest.raises(TypeError, match="pickle a lease"):
        pickle.dumps(memarray.MemArray([2]).read(), protocol)


def test_from_numpy_takes_any_strides():
    values = pattern((4, 6))
    for source in (values, values.T, values[::-1, ::2], np.asfortranarray(values), values[:, :0]):
        array = memarray.MemArray.from_numpy(source)
        assert array.shape == source.shape
        assert_same_values(look(array), source)


def test_from_numpy_takes_the_other_byte_order():
    values = pattern((3, 2), "int32")
    array = memarray.MemArray.from_numpy(values.astype(">i4"))
    assert array.dtype == np.int32
    assert_same_values(look(array), values)


def test_read_numpy_array_casts_within_a_kind():
    array = memarray.MemArray([3], "float32")
    for source in (np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3], "int16"), [1, 2, 3], (True, False, True)):
        array.read_numpy_array(source)
        np.testing.assert_array_equal(look(array), np.asarray(source, "float32"))
    array.read_numpy_array(memarray.MemArray.from_numpy(np.array([7.0, 8.0, 9.0])))
    assert look(array).tolist() == [7, 8, 9]


def test_failed_conversion_leaves_array_unchanged():
    array, values = filled((2,), "float32")
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        array.read_numpy_array(np.array([1.0, 1e300]))
    assert_same_values(look(array), values)


@pytest.mark.parametrize("policy", ["snapshot", "alias"])
def test_a_source_that_overlaps_the_array_is_copied_first(policy):
    array, values = filled((6,), "int64")
    array.escaped_views = policy
    with array.read() as lease:
        kept = np.from_dlpack(lease)
    array.read_numpy_array(kept[::-1])
    assert_same_values(look(array), values[::-1])


def test_uninitialized_array_can_be_filled():
    array = memarray.MemArray([5], uninitialized=True)
    array.fill(2)
    assert look(array).tolist() == [2] * 5


@pytest.mark.trap("T12")
def test_device_id_of_host_array_must_not_be_negative():
    for device_id in (0, 1, 2**31 - 1):
        assert str(memarray.MemArray([1], device_id=device_id).device) == "cpu"
    with pytest.raises(ValueError, match="device ids start at 0"):
        memarray.MemArray([1], device_id=-1)


def test_struct_registered_only_for_high_rank_is_found_by_name():
    from memarray._dtypes import dtype_name

    assert dtype_name("Deep", {("Deep", 9): None}, 2) == "Deep"
