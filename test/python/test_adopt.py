"""Arrays over other libraries' memory, and arrays and views through pickle."""

import copy
import gc
import pickle

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from dtype_values import assert_same_values, edge_rows
from memarray import BufferView, MemArray
from support import DTYPES

pytestmark = pytest.mark.sanitize


def test_from_dlpack_adopts_memory_without_copy(copies):
    x = np.arange(6.0).reshape(2, 3)
    a = MemArray.from_dlpack(x)
    assert copies() == 0
    assert a.is_foreign
    assert (a.shape, a.dtype) == ((2, 3), np.float64)
    a.fill(7)
    assert x.min() == 7
    x[1, 2] = 8  # another owner may write at any time
    with a.read() as lease:
        y = np.asarray(lease)
    assert y[1, 2] == 8
    assert y.ctypes.data == x.ctypes.data


def test_producer_deleter_runs_once_after_last_export():
    producer = Producer()
    a = MemArray.from_dlpack(producer)
    with a.read() as lease:
        kept = np.asarray(lease)
    del a, lease
    gc.collect()
    assert producer.deleted == 0
    assert kept.sum() == 15
    del kept
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("policy", ["snapshot", "error", "alias"])
def test_escaped_views_of_adopted_array_follow_policy(policy, copies):
    x = np.arange(4.0)
    a = MemArray.from_dlpack(x)
    a.escaped_views = policy
    with a.read() as lease:
        kept = np.from_dlpack(lease)
    if policy == "error":
        with pytest.raises(memarray.LockError):
            a.fill(1)
        assert x.max() == 3
        return
    with a.write() as lease:
        np.asarray(lease)[0] = 9
    if policy == "alias":
        assert a.is_foreign
        assert kept[0] == x[0] == 9
    else:
        assert copies() == 1
        assert not a.is_foreign
        assert kept[0] == x[0] == 0
        assert a.view()[0] == 9


def test_resize_copies_adopted_memory_and_reports_it(copies):
    x = np.arange(4.0)
    a = MemArray.from_dlpack(x)
    a.resize([6])
    assert copies() == 1
    assert not a.is_foreign
    a.fill(1)
    assert x.max() == 3


@pytest.mark.parametrize("make", [lambda x: x[::2], lambda x: x[::-1], lambda x: x.reshape(2, 4).T, "read-only"])
def test_unadoptable_memory_is_copied_or_refused_with_copy_false(make, copies):
    x = np.arange(8.0)
    if make == "read-only":
        x.flags.writeable = False
        source = x
    else:
        source = make(x)
    a = MemArray.from_dlpack(source)
    assert copies() == 1
    assert not np.shares_memory(np.asarray(a), x)
    np.testing.assert_array_equal(np.asarray(a), source)
    with pytest.raises(BufferError, match=r"copy\(\)"):
        MemArray.from_dlpack(source, copy=False)
    with pytest.raises(TypeError, match="copy"):
        MemArray.from_dlpack(source, copy="yes")
    copies()
    b = MemArray.from_dlpack(x, copy=True)
    assert copies() == 1
    assert not np.shares_memory(np.asarray(b), x)


def test_unsupported_ranks_and_non_producers_are_refused():
    with pytest.raises(memarray.UnsupportedTypeError, match="MemArray<float64, 7>"):
        MemArray.from_dlpack(np.zeros((1,) * 7))
    with pytest.raises(memarray.UnsupportedTypeError):
        MemArray.from_dlpack(np.zeros(()))
    with pytest.raises(TypeError):
        MemArray.from_dlpack([1, 2])


def test_from_dlpack_on_subclass_returns_subclass():
    class Mine(MemArray):
        pass

    assert type(Mine.from_dlpack(np.zeros(3))) is Mine


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("out_of_band", [False, True])
def test_arrays_are_pickled(dtype, out_of_band):
    a = MemArray.from_numpy(edge_rows(dtype, 3))
    buffers = []
    data = pickle.dumps(a, protocol=5, buffer_callback=buffers.append if out_of_band else None)
    assert len(buffers) == out_of_band
    again = pickle.loads(data, buffers=buffers)
    assert (again.shape, again.dtype) == (a.shape, a.dtype)
    assert_same_values(np.asarray(again), edge_rows(dtype, 3))
    again.fill(a.dtype.type(1))


class Named(MemArray):
    """A subclass with an attribute, which pickle finds by name."""


def test_pickled_subclass_keeps_its_attributes():
    a = Named([3])
    a.name = "x"
    again = pickle.loads(pickle.dumps(a, protocol=5))
    assert type(again) is Named
    assert again.name == "x"


def test_out_of_band_pickle_is_snapshot_without_copy(copies):
    a = MemArray([1000])
    buffers = []
    data = pickle.dumps(a, protocol=5, buffer_callback=buffers.append)
    assert copies() == 0
    assert buffers[0].raw().nbytes == 8000
    a.fill(5)
    assert np.asarray(pickle.loads(data, buffers=buffers)).max() == 0
    with a.write(), pytest.raises(memarray.LockError):
        pickle.dumps(a, protocol=5)
    assert copy.deepcopy(a).view().sum() == 5000


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_are_pickled(dtype, copies):
    x = edge_rows(dtype, 3)
    view = BufferView.from_numpy(x)
    buffers = []
    data = pickle.dumps(view, protocol=5, buffer_callback=buffers.append)
    again = pickle.loads(data, buffers=buffers)
    assert copies() == 0
    assert again.data_ptr == view.data_ptr
    assert again.writable
    in_band = pickle.loads(pickle.dumps(view[:, ::2], protocol=5))
    assert copies() == 1  # to make it dense
    assert_same_values(np.asarray(in_band), x[:, ::2])
    x.flags.writeable = False
    assert not pickle.loads(pickle.dumps(BufferView.from_numpy(x), protocol=5)).writable
    scalar = pickle.loads(pickle.dumps(view[0, 1:2].reshape(()), protocol=5))
    assert_same_values(np.asarray(scalar), x[0, 1])


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("dtype", DTYPES)
def test_older_pickle_protocols_carry_views_in_band(dtype, protocol):
    x = edge_rows(dtype, 3)
    for source in (x, x[::-1, ::2], x[:0], x[0, 1:2].reshape(())):
        again = pickle.loads(pickle.dumps(BufferView.from_numpy(source), protocol))
        assert_same_values(np.asarray(again), source)
        assert again.writable
    x.flags.writeable = False
    assert not pickle.loads(pickle.dumps(BufferView.from_numpy(x), protocol)).writable


def test_misaligned_out_of_band_buffers_can_be_unpickled():
    view = BufferView.from_numpy(np.arange(5.0))
    buffers = []
    data = pickle.dumps(view, protocol=5, buffer_callback=buffers.append)
    moved = memoryview(b"x" + bytes(buffers[0].raw()))[1:]
    assert pickle.loads(data, buffers=[moved]).sum() == 10


def test_copied_array_is_sole_owner_of_its_memory(copies):
    x = np.arange(6.0).reshape(2, 3)
    for source, keywords in (
        (x, {"copy": True}),
        (x.T, {}),
        (x[:, ::2], {}),
        (memarray.BufferView(x).broadcast_to(2, 3), {}),
    ):
        a = MemArray.from_dlpack(source, **keywords)
        assert copies() == 1
        assert not a.is_foreign
        np.testing.assert_array_equal(np.asarray(a), np.asarray(source))
        copies()
        a.resize([1, 1])
        assert copies() == 0, "nothing is moved out of memory of another owner"
    lease = a.write().__enter__()
    view = lease.view()
    lease.close()
    assert MemArray.from_dlpack(view).is_foreign, "the other array has that memory, too"
    assert MemArray.from_dlpack(x).is_foreign
