"""NumPy as a consumer: views of views, and the objects that they keep alive."""

import itertools
import weakref

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from support import NUMPY_DTYPES, filled, look, small_numbers

VIEWS = {
    "slice": lambda x: x[1:3],
    "step": lambda x: x[::2, ::-1],
    "transpose": lambda x: x.T,
    "ravel": lambda x: x.ravel(),
    "reshape": lambda x: x.reshape(2, -1),
    "diagonal": lambda x: np.diagonal(x),
    "newaxis": lambda x: x[:, None],
    "broadcast": lambda x: np.broadcast_to(x, (3, *x.shape)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)),
    "as bytes": lambda x: x.view("uint8"),
    "real": lambda x: x.real,
    "again": lambda x: np.from_dlpack(x),
    "memoryview": lambda x: np.asarray(memoryview(x)),
    "subclass": lambda x: x.view(np.matrix),
}


@pytest.mark.parametrize("derive", VIEWS.values(), ids=VIEWS)
def test_derived_numpy_view_is_a_snapshot(derive, copies):
    array, values = filled((4, 6))
    with array.read() as lease:
        derived = derive(np.from_dlpack(lease))
    del lease
    expected = np.array(derive(values), copy=True)
    array.fill(-1)
    assert_same_values(derived, expected)
    with array.write() as lease:
        np.asarray(lease)[:] = -2
    assert_same_values(derived, expected)
    assert copies() == 0


@pytest.mark.parametrize("derive", VIEWS.values(), ids=VIEWS)
def test_memory_is_freed_with_the_last_derived_view(derive):
    start = memarray.stats()["live_blocks"]
    array, values = filled((4, 6))
    with array.read() as lease:
        derived = derive(np.from_dlpack(lease))
    del array, lease
    assert memarray.stats()["live_blocks"] == start + 1
    assert_same_values(derived, derive(values))
    del derived
    assert memarray.stats()["live_blocks"] == start


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_arrays_of_read_lease_cannot_be_made_writable(name):
    array, values = filled((4, 6), name)
    with array.read() as lease:
        for view in (np.from_dlpack(lease), np.asarray(lease)):
            assert not view.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                view[0, 0] = 1
            with pytest.raises(ValueError):
                view.flags.writeable = True
    assert_same_values(look(array), values)


def test_each_of_many_escaped_views_keeps_its_contents():
    array, _ = filled((8,))
    kept = []
    start = memarray.stats()["live_blocks"]
    for step in range(500):
        array.fill(step)
        with array.read() as lease:
            kept.append(np.from_dlpack(lease))
    assert [view[3] for view in kept] == list(range(500))
    assert memarray.stats()["live_blocks"] == start + 499
    kept.clear()
    assert memarray.stats()["live_blocks"] == start


def test_arrays_with_different_policies_coexist():
    snapshot, _ = filled((4,), values_of=small_numbers)
    alias, _ = filled((4,), values_of=small_numbers)
    alias.escaped_views = "alias"
    kept = [np.asarray(snapshot), np.asarray(alias)]
    snapshot.fill(1)
    alias.fill(1)
    assert kept[0].tolist() == [0, 7, 14, 21] and kept[1].tolist() == [1] * 4


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_escaped_versions_can_be_dropped_in_any_order(order):
    array = memarray.MemArray([100])
    kept, start = {}, memarray.stats()["live_blocks"]
    for step in range(3):
        array.fill(step)
        kept[step] = np.from_dlpack(array)
    array.fill(9)
    for left, step in zip((2, 1, 0), order, strict=True):
        assert (kept.pop(step) == step).all()
        assert memarray.stats()["live_blocks"] == start + left


def test_weak_references_to_views_do_not_keep_memory():
    array, _ = filled((10,))
    view = np.from_dlpack(array)
    alive = weakref.ref(view)
    del view
    assert alive() is None
    address = np.asarray(array).ctypes.data
    array.fill(1)
    assert np.asarray(array).ctypes.data == address
