"""BufferView: the memory that it views, slices and reshapes, and its lifetime."""

import gc
import sys
import threading
import weakref

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, edge_rows
from memarray import BufferView
from support import DTYPES, NUMPY_DTYPES

pytestmark = pytest.mark.sanitize


def counted(shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def test_view_describes_its_numpy_array():
    x = counted((3, 4))[::-1, ::2]
    view = BufferView.from_numpy(x)
    assert view.data_ptr == x.__array_interface__["data"][0]
    assert (view.shape, view.strides, view.dtype) == (x.shape, x.strides, x.dtype)
    assert (view.ndim, view.size, view.itemsize, view.nbytes, len(view)) == (2, 6, 4, 24, 3)
    assert str(view.device) == "cpu"
    assert view.memory_type == "normal"
    assert view.owner is x
    assert view.writable
    assert not view.is_contiguous()
    assert repr(view) == "<writable view of float32, shape (3, 2)>"
    np.testing.assert_array_equal(np.asarray(view), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_round_trips_through_numpy(dtype):
    x = edge_rows(dtype, 3)
    view = BufferView.from_numpy(x)
    assert view.dtype == x.dtype
    back = np.asarray(view[::-1, 1:])
    assert back.dtype == x.dtype
    assert back.__array_interface__["data"][0] == x[::-1, 1:].__array_interface__["data"][0]
    assert_same_values(back, x[::-1, 1:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_viewed_in_every_layout(dtype):
    x = edge_rows(dtype, 4)
    repeated = np.broadcast_to(x, (2, *x.shape))
    for part in (x, x.T, x[::-1], x[:, ::-2], x[1:, 1:], x[:0], x[0, 0:1].reshape(()), repeated):
        view = BufferView.from_numpy(part)
        assert view.writable == part.flags.writeable
        assert_same_values(np.asarray(view), part)
        if dtype in NUMPY_DTYPES:
            again = BufferView.from_buffer(part)
            assert (again.shape, again.strides, again.dtype) == (part.shape, part.strides, part.dtype)


KEYS = [
    slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2),
    slice(10, 20), slice(-100, 100), slice(2, 2), slice(None, None, sys.maxsize), slice(None, None, -sys.maxsize),
    ..., None, (), 1, -1, np.int64(2),
    (0,), (slice(1), slice(2, 3)), (..., 0), (0, ...), (None, 0), (slice(None), None, 1), (..., None), (1, ..., 2),
    (slice(None), slice(None), 1), (0, slice(None, None, -1), slice(None, None, 2)), (1, 2),
    (..., slice(None, None, -2)),
    (None, None, ..., None),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_matches_numpy(key):
    x = counted((4, 3, 5))
    view = BufferView.from_numpy(x)[key]
    expected = x[key]
    assert (view.shape, view.size) == (expected.shape, expected.size)
    if expected.size:
        assert view.data_ptr == expected.__array_interface__["data"][0]
    np.testing.assert_array_equal(np.asarray(view), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_full_index_returns_an_element(dtype):
    x = edge_rows(dtype, 2)
    view = BufferView.from_numpy(x)
    for row in range(len(x)):
        element, expected = view[row, -1], x[row, -1].item()
        assert type(element) is (float if dtype == "bfloat16" else type(expected))
        assert_same_values(x.dtype.type(element), x[row, -1])


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (4, IndexError, "index 4 is outside dimension 0"),
        ((0, -6), IndexError, "outside"),
        ((0, 0, 0), IndexError, "of 2 dimensions is indexed by 3"),
        ((..., ...), IndexError, "one '...'"),
        (1.0, TypeError, "np.asarray"),
        (True, TypeError, "np.asarray"),
        ([0, 1], TypeError, "np.asarray"),
        (slice(None, None, 0), ValueError, "zero|0"),
        (slice(1.5), TypeError, "slice indices"),
        (2**70, IndexError, "cannot fit"),
        ((None,) * 15, ValueError, "at most 16"),
    ],
    ids=str,
)
def test_wrong_indices_are_refused(key, error, words):
    view = BufferView.from_numpy(counted((4, 5)))
    with pytest.raises(error, match=words):
        view[key]


def test_element_assignment_and_truth_value_are_refused():
    view = BufferView.from_numpy(counted((4,)))
    with pytest.raises(TypeError, match="fill"):
        view[0] = 1
    with pytest.raises(TypeError, match="fill"):
        del view[0]
    with pytest.raises(TypeError, match="one element"):
        bool(view)


def test_transposes_reshapes_and_broadcasts_match_numpy():
    x = counted((2, 3, 4))
    view = BufferView.from_numpy(x)
    for got, expected in [
        (view.T, x.T),
        (view.transpose(), x.T),
        (view.transpose(None), x.T),
        (view.transpose(1, 2, 0), x.transpose(1, 2, 0)),
        (view.transpose((0, -1, 1)), x.transpose(0, -1, 1)),
        (view.reshape(6, -1), x.reshape(6, -1)),
        (view.reshape([24]), x.reshape([24])),
        (view.reshape(4, 3, 2, 1), x.reshape(4, 3, 2, 1)),
        (view.broadcast_to(5, 2, 3, 4), np.broadcast_to(x, (5, 2, 3, 4))),
        (view[:, :1].broadcast_to((2, 6, 4)), np.broadcast_to(x[:, :1], (2, 6, 4))),
    ]:
        assert (got.shape, got.strides) == (expected.shape, expected.strides)
        assert got.data_ptr == view.data_ptr
        assert got.owner is x
        np.testing.assert_array_equal(np.asarray(got), expected)
    assert not view.broadcast_to(5, 2, 3, 4).writable


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda v: v.T.reshape(12), ValueError, "without a copy"),
        (lambda v: v.reshape(13), ValueError, "12 elements"),
        (lambda v: v.reshape(-1, -1), ValueError, "one extent"),
        (lambda v: v.reshape("12"), TypeError, "shape"),
        (lambda v: v.transpose(0), ValueError, "each of the 2 dimensions"),
        (lambda v: v.transpose(()), ValueError, "each of the 2 dimensions"),
        (lambda v: v.transpose(0, 2**40), ValueError, "each of the 2 dimensions"),
        (lambda v: v.broadcast_to(3, 5), ValueError, "cannot be broadcast"),
        (lambda v: v.broadcast_to(4), ValueError, "cannot be broadcast"),
        (lambda v: v.cast("int8"), TypeError, "same_kind"),
        (lambda v: v.cast("no such type"), TypeError, None),
        (lambda v: v.cast(">f4"), TypeError, "byte order"),
        (lambda v: v.cast("U4"), TypeError, "no dtype"),
        (lambda v: v.sum(axis=2), IndexError, "axis 2"),
        (lambda v: v.sum(axis=-3), IndexError, "axis -3"),
        (lambda v: v.sum(axis=(0, -2)), ValueError, "twice"),
        (lambda v: v.sum(axis=1.0), TypeError, "axis"),
        (lambda v: v.sum(axis=2**70), IndexError, "axis"),
        (lambda v: v.sum(1, 2), TypeError, "positional"),
        (lambda v: v.sum(keepdims=1), TypeError, "keepdims"),
        (lambda v: v[:0].min(), ValueError, None),
        (lambda v: v[:0].max(axis=0), ValueError, None),
        (lambda v: v.item(), ValueError, "one element"),
        (lambda v: v.plan("juggle"), ValueError, "sum"),
        (lambda v: v.plan(3), TypeError, "name of an operation"),
        (lambda v: v.fill("x"), TypeError, None),
        (lambda v: v.broadcast_to(2, 3, 4).fill(1), BufferError, "read-only"),
    ],
)
def test_invalid_operation_is_refused_and_changes_nothing(call, error, words):
    x = counted((3, 4))
    view = BufferView.from_numpy(x)
    with pytest.raises(error, match=words):
        call(view)
    np.testing.assert_array_equal(x, counted((3, 4)))
    np.testing.assert_array_equal(np.asarray(view), x)


def test_view_of_array_is_a_snapshot():
    a = memarray.MemArray([4], "int32")
    a.fill(3)
    view = a.view()
    assert not view.writable
    assert view.owner is a
    a.fill(4)
    assert view.sum() == 12
    assert a.view().sum() == 16
    with pytest.raises(BufferError, match="read-only"):
        view.fill(5)


def test_view_of_write_lease_is_writable():
    a = memarray.MemArray([4, 3])
    with a.write() as lease:
        view = lease.view()
        assert view.writable
        view[1:, ::2].fill(2)
    np.testing.assert_array_equal(np.asarray(a.view()), [[0, 0, 0], [2, 0, 2], [2, 0, 2], [2, 0, 2]])
    view.fill(9)  # an escaped view: its writes no longer change the array
    assert a.view().max() == 2
    with a.read() as lease:
        assert not lease.view().writable
    with pytest.raises(memarray.LockError):
        lease.view()


@pytest.mark.parametrize("policy", ["error", "alias"])
def test_view_of_array_follows_its_escaped_views_policy(policy):
    a = memarray.MemArray([4])
    a.escaped_views = policy
    view = a.view()
    if policy == "error":
        with pytest.raises(memarray.LockError, match="view"):
            a.fill(1)
        view.close()
        a.fill(1)
    else:
        a.fill(1)
        assert view.sum() == 4


def test_derived_views_are_counted_separately():
    a = memarray.MemArray([4])
    a.escaped_views = "error"
    view = a.view()
    part = view[1:]
    view.close()
    with pytest.raises(memarray.LockError):
        a.fill(1)
    part.close()
    a.fill(1)


def test_closed_view_refuses_use():
    x = counted((4,))
    with BufferView.from_numpy(x) as view:
        part = view[1:3]
        y = np.asarray(view)
    assert view.closed
    assert view.owner is None
    assert repr(view).startswith("<closed view")
    view.close()
    for use in (
        lambda: view[0], lambda: view[:], lambda: view.sum(), lambda: view.copy(), lambda: view.ensure_contiguous(),
        lambda: view.fill(1), lambda: view.add_index(), lambda: memoryview(view), lambda: view.__dlpack__(),
        lambda: view.T, lambda: view.reshape(2, 2), lambda: view.broadcast_to(2, 4), lambda: view.cast("float64"),
        lambda: view.data_ptr, lambda: view.__enter__(), lambda: view.device, lambda: view.memory_type,
        lambda: BufferView(view), lambda: view.__dlpack_device__(), lambda: view.item(), lambda: view.transpose(),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"closed|one element"):
            use()
    assert not hasattr(view, "__array_interface__")
    assert (view.shape, view.writable) == ((4,), False)
    # Views made from it stay open.
    assert part.sum() == 3
    assert y[3] == 3


def test_view_keeps_its_array_alive():
    x = counted((1000,))
    expected = x.sum()
    gone = weakref.ref(x)
    view = BufferView.from_numpy(x)[::2]
    del x
    gc.collect()
    assert gone() is not None
    kept = np.asarray(view)
    del view
    gc.collect()
    assert gone() is not None
    assert kept.sum() < expected
    del kept
    gc.collect()
    assert gone() is None


def test_array_interface_outlives_close():
    a = memarray.MemArray([4])
    a.fill(7)
    view = a.view()
    before = memarray.stats()["live_blocks"]
    interface = view.__array_interface__
    assert interface["data"] == (view.data_ptr, True)

    class Kept:
        __array_interface__ = interface
        owner = view

    x = np.asarray(Kept())
    view.close()
    a.fill(8)
    del a
    gc.collect()
    assert x.tolist() == [7] * 4
    assert memarray.stats()["live_blocks"] == before


def test_only_explicit_copies_are_made_and_counted(copies):
    x = counted((3, 4))
    view = BufferView.from_numpy(x)
    assert view.ensure_contiguous() is view
    assert copies() == 0
    dense = view.T.ensure_contiguous()
    assert copies() == 1
    assert dense.is_contiguous()
    assert dense.writable
    assert dense.owner is None
    np.testing.assert_array_equal(np.asarray(dense), x.T)
    again = view[::-1].copy()
    assert copies() == 1
    np.testing.assert_array_equal(np.asarray(again), x[::-1])
    assert view.cast("float64").dtype == np.float64
    assert copies() == 1
    np.from_dlpack(view[1:])
    np.asarray(view.T)
    view.sum(axis=0)
    assert copies() == 0
    mine = BufferView(view, copy=True)
    assert copies() == 1
    mine.fill(0)
    assert x.max() == 11


def test_fill_and_add_index_work_in_place():
    x = np.zeros((3, 4), np.int32)
    view = BufferView.from_numpy(x)
    view[:, ::-2].fill(5)
    np.testing.assert_array_equal(x, [[0, 5, 0, 5]] * 3)
    view.fill(0)
    view.T.add_index()
    np.testing.assert_array_equal(x, np.add.outer(np.arange(3), np.arange(4)))
    overlapping = BufferView.from_numpy(np.lib.stride_tricks.as_strided(x, (3, 3), (4, 4)))
    with pytest.raises(ValueError, match="several indices"):
        overlapping.add_index()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_add_index_gives_numpy_signs_of_zero(dtype):
    for select in (np.s_[0, 0, ...], np.s_[:1, :1], np.s_[...], np.s_[:, ::2], np.s_[::-1], np.s_[0]):
        x = np.full((2, 3), -0.0, dtype) if dtype[0] == "f" else np.full((2, 3), complex(-0.0, -0.0), dtype)
        expected = x[select] + np.indices(x[select].shape).sum(axis=0).astype(dtype)
        BufferView.from_numpy(x[select]).add_index()
        assert_same_values(x[select], np.asarray(expected), select)


def test_reductions_return_numbers_or_views():
    x = counted((3, 4, 5), "int16")[::-1, :, ::2]
    view = BufferView.from_numpy(x)
    assert view.sum() == x.sum()
    assert type(view.sum()) is int
    assert view.mean() == x.mean()
    assert view.max() == x.max()
    for axis in (0, 1, 2, -1, (0, 1), (0, 2), (), (2, 0)):
        for keepdims in (False, True):
            got = view.sum(axis, keepdims=keepdims)
            expected = x.sum(axis=axis, keepdims=keepdims)
            assert got.dtype == expected.dtype
            assert got.writable
            np.testing.assert_array_equal(np.asarray(got), expected)
    assert view.sum(axis=(0, 1, 2)) == x.sum()
    assert view.sum(keepdims=True).shape == (1, 1, 1)


def test_sum_racing_with_close_completes_or_is_refused():
    x = np.ones(1 << 22, np.float32)
    for _ in range(5):
        view = BufferView.from_numpy(x)
        closer = threading.Thread(target=view.close)
        closer.start()
        try:
            assert view.sum() == 1 << 22
        except ValueError as error:
            assert "closed" in str(error)
        closer.join()


def test_views_support_weak_references():
    view = BufferView.from_numpy(counted((3,)))
    gone = weakref.ref(view)
    del view
    assert gone() is None


def test_rank_above_sixteen_is_refused():
    x = np.zeros((1,) * 15 + (3,))
    assert BufferView.from_numpy(x).shape == x.shape
    with pytest.raises(BufferError, match="at most 16 dimensions"):
        BufferView.from_numpy(x[None])
