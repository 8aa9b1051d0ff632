"""Views and leases as numbers, as sequences and in comparisons, and the arguments that NumPy's functions pass."""

import copy
import dataclasses
import itertools
import multiprocessing
import operator
import pickle
import weakref

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, edges
from memarray import BufferView


@pytest.fixture
def view():
    return BufferView(np.arange(6.0).reshape(2, 3))


def leased(values):
    return memarray.MemArray.from_numpy(values).read()


@pytest.mark.parametrize("convert", [int, float, complex])
@pytest.mark.parametrize("value", [True, -5, 53, 2.5, np.int8(-7)])
def test_view_of_one_element_converts_to_a_number(convert, value):
    for shape in ((), (1,), (1, 1)):
        x = np.full(shape, value)
        assert convert(BufferView(x)) == convert(x.item())
    with leased(np.full(1, value)) as lease:
        assert convert(lease) == convert(np.asarray(lease).item())


@pytest.mark.parametrize("convert", [int, float, complex, operator.index])
def test_conversion_of_other_sizes_to_number_is_refused(convert):
    # These bytes are the digits of 123.
    for x in (np.frombuffer(b"123", "u1"), np.zeros(0), np.zeros((2, 1))):
        with pytest.raises(TypeError, match="view of"):
            convert(BufferView(x))
        if x.ndim == 1:
            with leased(x) as lease, pytest.raises(TypeError, match="view of"):
                convert(lease)


def test_only_zero_dimensional_integer_views_are_indices():
    assert operator.index(BufferView(np.array(-3))) == -3
    for x in (np.array([3]), np.array(3.0), np.array(True), np.array(3j)):
        with pytest.raises(TypeError, match="only a view of integers without dimensions"):
            operator.index(BufferView(x))
    with pytest.raises(TypeError):
        int(BufferView(np.array(1j)))


def test_iteration_yields_views_of_rows_and_numbers(view):
    assert [row.tolist() for row in view] == [[0, 1, 2], [3, 4, 5]]
    assert list(view[0]) == [0, 1, 2]
    assert all(type(number) is float for number in view[1])
    assert list(reversed(view[0])) == [2, 1, 0]
    assert sum(view[1]) == 12
    np.testing.assert_array_equal(np.array(list(view)), np.asarray(view))
    with leased(np.arange(3)) as lease:
        assert list(lease) == [0, 1, 2]
        assert len(lease) == 3
        assert 2 in lease
        assert 5 not in lease
    for closed in (iter, len):
        with pytest.raises(memarray.LockError):
            closed(lease)
    with pytest.raises(TypeError, match="without dimensions"):
        iter(BufferView(np.array(1)))


def test_in_operator_compares_elements(view):
    assert 4 in view
    assert 9 not in view
    assert np.nan not in BufferView(np.array([np.nan]))
    assert 1 not in view[:0]


def test_in_operator_refuses_sequences(view):
    for several in ([0.0, 1.0, 2.0], (1.0,), []):
        with pytest.raises(TypeError, match="one element"):
            _ = several in view


def test_iteration_raises_after_view_is_closed(view):
    for given in (view, view[0]):
        rows = iter(given)
        next(rows)
        given.close()
        with pytest.raises(ValueError, match="closed"):
            next(rows)
        with pytest.raises(ValueError, match="closed"):
            iter(given)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_elementwise_comparison_is_refused(compare, view):
    array = memarray.MemArray([2])
    for given in (view, array, array.read()):
        for other in (1, BufferView(np.zeros(2)), np.zeros(2), memarray.MemArray([2]), "text"):
            with pytest.raises(TypeError, match=r"np.array_equal\(a, b\)"):
                compare(given, other)


def test_objects_are_equal_only_to_themselves(view):
    array = memarray.MemArray([2])
    for given in (view, array, array.read()):
        same = given
        assert given == same
        assert (given != same) is False
        assert {given: 1}[given] == 1
        assert given in weakref.WeakSet([given])
    assert (np.asarray(view) == view).all()


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, np.nan, np.int8(-1), 0, True, False, 0j, 1j, np.float16(0)])
def test_truth_of_one_element_is_that_of_its_value(value):
    for shape in ((), (1,), (1, 1)):
        x = np.full(shape, value)
        assert bool(BufferView(x)) is bool(x)
    with leased(np.full(1, value)) as lease:
        assert bool(lease) is bool(value)


def test_truth_of_other_sizes_is_refused(view):
    refused = pytest.raises(TypeError, match=r"bool\(\) takes a view of one element.*view.size")
    for given in (view, view[:0], view[0]):
        with refused:
            bool(given)
    for size in (0, 2):
        with leased(np.zeros(size)) as lease, refused:
            bool(lease)
    with pytest.raises(TypeError, match="truth of an array"):
        bool(memarray.MemArray([1]))


@pytest.mark.parametrize(
    "key",
    [
        np.array([True, False]), [True, False], [0, 1], np.array([0, 1]), np.array([1]), np.True_, True, np.array(True),
        BufferView(np.array([0, 1])), BufferView(np.array([1])), 1.5, (0, [1]), (np.array([1]), 0),
    ],
    ids=repr,
)  # fmt: skip
def test_masks_and_integer_lists_are_refused_as_indices(key, view):
    with pytest.raises(TypeError, match="indexed by integers, slices"):
        view[key]
    with leased(np.ones((2, 3))) as lease, pytest.raises(TypeError, match="indexed by integers, slices"):
        lease[key]


@pytest.mark.parametrize(
    ("x", "key"),
    [
        (np.ones(()), True),
        (np.ones(()), np.array(True)),
        (np.ones(()), [0]),
        (np.ones(3), (0, [0, 1])),
        (np.ones(3), (True, 0)),
    ],
    ids=repr,
)
def test_masks_and_lists_beyond_the_rank_are_refused_in_the_same_words(x, key):
    with pytest.raises(TypeError, match="indexed by integers, slices"):
        BufferView.from_numpy(x)[key]
    if x.ndim:  # arrays have a dimension
        with leased(x) as lease, pytest.raises(TypeError, match="indexed by integers, slices"):
            lease[key]


def test_leases_are_indexed_like_their_views():
    x = np.arange(6, dtype="i4").reshape(2, 3) - 2
    with leased(x) as lease:
        assert lease[1, -1] == 3 and lease[0, 0] == -2 and type(lease[0, 0]) is int
        for key in (0, -1, slice(None, None, -1), (..., 1), (slice(1), None), ()):
            np.testing.assert_array_equal(np.asarray(lease[key]), x[key])
        with pytest.raises(IndexError):
            lease[2]
        for change in (lambda: lease.__setitem__(0, 1), lambda: lease.__delitem__(0)):
            with pytest.raises(TypeError, match=r"of a lease are not assigned to: .*np\.asarray\(lease\)"):
                change()
    with pytest.raises(memarray.LockError, match="is over"):
        lease[0]


def test_numpy_functions_reduce_views(view):
    x = np.asarray(view)
    for function in (np.sum, np.mean, np.min, np.max, np.amin, np.amax):
        assert function(view) == function(x)
        for keepdims in (False, True):
            np.testing.assert_array_equal(
                np.asarray(function(view, axis=0, keepdims=keepdims)), function(x, axis=0, keepdims=keepdims)
            )
    assert view.sum(dtype="f8", out=None, where=True, initial=None) == 15
    for words in ({"out": np.zeros(())}, {"initial": 1}, {"where": np.zeros((2, 3), bool)}):
        with pytest.raises(TypeError, match="reduction of a view"):
            view.sum(**words)


@pytest.mark.parametrize("dtype", ["i1", "u4", "f4", "f8", "?"])
@pytest.mark.parametrize("result", ["i4", "u1", "i8", "f4", "f8", "c16"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1), ()])
def test_sum_and_mean_convert_to_dtype_like_numpy(dtype, result, axis):
    small = np.array([[1, 0, 100], [120, 1, 127]]).astype(dtype)
    columns = edges(dtype)
    finite = edges(dtype, huge=False, infinite=False)
    finite = finite[np.isfinite(finite)]
    arrays = (small, np.stack([columns, np.resize(small, columns.shape)]), np.resize(finite, (2, finite.size)))
    for x, function in itertools.product(arrays, (np.sum, np.mean)):
        view = BufferView(x)
        if not np.can_cast(dtype, result, "same_kind") or (function is np.mean and np.dtype(result).kind in "iu"):
            with pytest.raises(TypeError, match="cast converts within a kind of number"):
                function(view, axis=axis, dtype=result)
        else:
            found = np.asarray(function(view, axis=axis, dtype=result))
            # NumPy's mean of complex numbers has a NaN for the imaginary part of an infinite or NaN sum.
            through = "f8" if function is np.mean and result == "c16" else result
            with np.errstate(all="ignore"):
                expected = np.asarray(function(x, axis=axis, dtype=through)).astype(result)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            assert axis in (None, (0, 1)) or found.dtype == result
    with pytest.raises(TypeError, match=r"returns \w+, not complex64: cast\(\) the result"):
        view.max(axis=axis, dtype="c8")


@pytest.mark.parametrize("dtype", ["i1", "i8", "u2", "f2", "f8", "c8", "?"])
@pytest.mark.parametrize("other", ["i4", "u1", "f4", "c16", "?"])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_astype_converts_between_kinds_of_number_like_numpy(dtype, other):
    with np.errstate(all="ignore"):
        x = np.concatenate([edges(dtype), edges(other).astype(dtype)])
        if np.dtype(dtype).kind in "fc" and np.dtype(other).kind in "iu":
            # NumPy defines no integer for NaN and for numbers out of range.
            limits, numbers = np.iinfo(other), x.real.astype("f8")
            x[~((numbers > limits.min - 1) & (numbers < limits.max + 1))] = 100
        x = np.resize(x, (2, x.size))
        expected = x.astype(other)
    for columns in (slice(None), slice(None, None, -1)):
        assert_same_values(np.asarray(BufferView(x[:, columns]).astype(other)), expected[:, columns])


def test_astype_keeps_an_equal_dtype_unless_asked_to_copy(view):
    assert view.astype(view.dtype, copy=False) is view
    assert view.astype("float64").data_ptr != view.data_ptr
    assert view.astype("float32", copy=False).dtype == np.float32
    with pytest.raises(TypeError, match=r"elements of .* cannot become float64"):
        BufferView(np.zeros(2, "i4,f8")).astype("float64")
    for wrong in (lambda: view.astype(), lambda: view.astype("f4", True), lambda: view.astype("f4", order="C")):
        with pytest.raises(TypeError, match="astype"):
            wrong()


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64", "complex64", "bool"])
@pytest.mark.parametrize("name", ["sum", "mean", "std", "var", "min", "max", "prod", "argmin", "cumsum", "any"])
def test_dask_reduces_views_like_arrays(dtype, name):
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    x = np.arange(-5, 7).reshape(3, 4).astype(dtype)
    found, expected = (getattr(da.from_array(y, chunks=2), name)(axis=0).compute() for y in (BufferView(x), x))
    np.testing.assert_array_equal(found, expected, strict=True)


def test_pandas_makes_columns_of_floats(view):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"b": [1, 2, 3]})
    frame["a"] = view[1]
    assert frame["a"].dtype == float
    assert pandas.Series(view[1]).tolist() == [3, 4, 5]


def test_pillow_makes_images_of_strided_views():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    x = np.arange(12, dtype="u1").reshape(3, 4)[:, ::-1]
    np.testing.assert_array_equal(np.asarray(image.fromarray(BufferView(x))), x)


def test_copies_of_views_have_their_own_memory(view):
    @dataclasses.dataclass
    class Holder:
        view: BufferView

    for twin in (copy.copy(view), copy.deepcopy(view), dataclasses.asdict(Holder(view))["view"]):
        assert twin.data_ptr != view.data_ptr
        assert twin.tolist() == view.tolist()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_unpickled_view_keeps_its_access(protocol, view):
    assert pickle.loads(pickle.dumps(view, protocol)).writable
    assert not pickle.loads(pickle.dumps(memarray.MemArray([2]).view(), protocol)).writable


def test_queues_and_pipes_carry_views_and_arrays(view):
    queue = multiprocessing.get_context("spawn").Queue()
    queue.put(view)
    assert queue.get(timeout=30).tolist() == view.tolist()
    queue.put(memarray.MemArray.from_numpy(np.arange(3.0)))
    assert queue.get(timeout=30).view().tolist() == [0, 1, 2]
    queue.close()
    queue.join_thread()
    receiver, sender = multiprocessing.Pipe(duplex=False)
    sender.send(view)
    assert receiver.recv().tolist() == view.tolist()


def test_view_lease_and_array_are_not_equal_to_none():
    view = memarray.BufferView(np.arange(3))
    with memarray.MemArray([3]).read() as lease:
        for thing in (view, lease, lease.array):
            assert (thing == None, thing != None, thing == None) == (False, True, False)  # noqa: E711
    assert [x.size for x in iter(iter([view, None]).__next__, None)] == [3]


def test_sum_of_bools_as_bool_tells_if_any_is_true():
    x = np.array([[True, True], [False, False]])
    assert BufferView(x).sum(dtype=bool) is True
    assert BufferView(x[1]).sum(dtype="bool") is False
    assert np.sum(BufferView(x), axis=1, dtype=bool).tolist() == [True, False]
