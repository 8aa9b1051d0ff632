"""Escaped views never change for their holder, and late writes through them never reach the array."""

import ctypes
import gc

import memarray
import numpy as np
import pytest
from consumers import CONSUMERS, READERS_ONLY, WRITERS_ONLY
from dtype_values import assert_same_values
from operations import READS, WRITES
from support import filled, look, small_numbers

SHAPE = (6, 5)


every_consumer = pytest.mark.parametrize("consumer", CONSUMERS)
every_writer = pytest.mark.parametrize("consumer", [name for name in CONSUMERS if name not in READERS_ONLY])
every_use = pytest.mark.parametrize("use", WRITES)


def escape(array, consumer, writable=False):
    """Returns an escaped view of the array's memory, and True if it is writable."""
    writable = writable or consumer in WRITERS_ONLY
    with array.write() if writable else array.read() as lease:
        return CONSUMERS[consumer](lease), writable


@pytest.mark.sanitize
@every_use
@every_consumer
def test_escaped_view_never_changes_under_snapshot_policy(consumer, use, copies):
    array, _ = filled(SHAPE, "float32")
    escaped, writable = escape(array, consumer)
    before = np.asarray(escaped).copy()
    WRITES[use].use(array)
    assert_same_values(np.asarray(escaped), before)
    assert copies() == WRITES[use].copies[writable]
    for _ in range(2):
        WRITES[use].use(array) if array.shape == SHAPE else array.fill(1)
        assert_same_values(np.asarray(escaped), before)
    assert copies() == 0
    del array
    assert_same_values(np.asarray(escaped), before)


@every_consumer
def test_repeated_reads_beside_escaped_view_copy_nothing(consumer, copies):
    array, _ = filled(SHAPE, "float32")
    escaped, writable = escape(array, consumer)
    before = np.asarray(escaped).copy()
    look(array)
    assert copies() == writable
    address = np.from_dlpack(array).ctypes.data
    for read in READS.values():
        read.call(array)
        assert np.from_dlpack(array).ctypes.data == address
    assert copies() == 0
    assert_same_values(np.asarray(escaped), before)
    del escaped
    array.fill(1)
    assert np.from_dlpack(array).ctypes.data == address


@pytest.mark.sanitize
@every_use
@every_writer
def test_late_write_through_escaped_view_never_reaches_array(consumer, use, copies):
    array, _ = filled(SHAPE, "float32", values_of=small_numbers)
    escaped = np.asarray(escape(array, consumer, writable=True)[0])
    escaped.flat[0] = -1.0
    expected = look(array)
    assert expected.min() == -1.0 and copies() == 1
    escaped[...] = -5.0
    np.testing.assert_array_equal(look(array), expected)
    WRITES[use].use(array)
    after = look(array)
    escaped[...] = -7.0
    np.testing.assert_array_equal(look(array), after)
    assert (escaped == -7.0).all()
    assert copies() == 0


@every_use
@every_consumer
def test_array_use_detaches_writable_escaped_view(consumer, use, copies):
    array, _ = filled(SHAPE, "float32")
    escaped, _ = escape(array, consumer, writable=True)
    WRITES[use].use(array)
    assert copies() == WRITES[use].copies[1]
    after = look(array)
    if consumer not in READERS_ONLY:
        np.asarray(escaped)[...] = -7.0
    assert_same_values(look(array), after)
    assert copies() == 0


def test_write_through_escaped_view_before_next_use_reaches_array():
    array, _ = filled((4,))
    with array.write() as lease:
        escaped = np.asarray(lease)
    escaped[0] = 50.0
    assert look(array)[0] == 50.0
    escaped[0] = 60.0
    assert look(array)[0] == 50.0


@pytest.mark.parametrize("use", READS)
def test_array_read_detaches_writable_escaped_view(use, copies):
    array, values = filled((4,))
    escaped, _ = escape(array, "np.asarray", writable=True)
    READS[use].call(array)
    # A use that is itself a copy makes one more, which is requested and not reported.
    assert copies() == 1
    escaped[:] = -1
    assert_same_values(look(array), values)
    assert copies() == 0


def test_each_escaped_view_keeps_its_own_version(copies):
    array = memarray.MemArray([64])
    frames = []
    before = memarray.stats()["versions"]
    for _ in range(20):
        array.add_index_tuple()
        with array.read() as lease:
            frames.append(np.from_dlpack(lease))
    for step, frame in enumerate(frames, start=1):
        np.testing.assert_array_equal(frame, step * np.arange(64.0))
    assert len({frame.ctypes.data for frame in frames}) == 20
    assert memarray.stats()["versions"] - before == 19
    assert copies() == 0


def test_exchange_with_alias_array_leaves_escaped_view_unchanged():
    array, values = filled((4,))
    other = memarray.MemArray([4])
    other.escaped_views = "alias"
    with array.read() as lease:
        escaped = np.from_dlpack(lease)
    array.exchange(other)
    other.fill(-1)
    array.fill(-1)
    assert_same_values(escaped, values)


@every_consumer
def test_error_policy_refuses_uses_until_last_view_is_dropped(consumer):
    array, _ = filled(SHAPE, "float32")
    array.escaped_views = "error"
    escaped, writable = escape(array, consumer)
    before = np.asarray(escaped).copy()
    words = r"[12] exported view\(s\)( \(1 writable\))? of it are still alive .*'error'"
    for use, write in WRITES.items():
        with pytest.raises(memarray.LockError, match=words):
            write.use(array)
        assert array.lock_id == -1 and array.shape == SHAPE, use
        assert_same_values(np.asarray(escaped), before)
    for read in READS.values():
        if writable:
            with pytest.raises(memarray.LockError, match=words):
                read.call(array)
        else:
            read.call(array)
    del escaped
    gc.collect()
    array.fill(1)


def lease_several(array):
    with memarray.leases(array.write()):
        pass


WRITES_ON_ANY_DEVICE = {
    "fill": lambda a: a.fill(2),
    "kernel": lambda a: a.add_index_tuple(),
    "write lease": lambda a: a.write().__enter__().close(),
    "several leases": lease_several,
    "resize": lambda a: a.resize([6]),
    "move": lambda a: a.move_memory(memarray.dlpack.kDLCPU),
}


@pytest.mark.sanitize
@pytest.mark.parametrize("use", WRITES_ON_ANY_DEVICE)
@pytest.mark.parametrize("here", ["cuda:0", "cpu"])
def test_error_policy_counts_views_of_side_that_goes_stale(here, use):
    perform = WRITES_ON_ANY_DEVICE[use]
    with memarray.testing.simulated_devices():
        array = memarray.MemArray([4])
        with array.read(device="cuda:0") as lease:
            if here == "cuda:0":
                with array.read(device="cpu") as other:
                    escaped = np.asarray(other)
            else:
                escaped = memarray.testing.Consumer().take(lease)
        if here == "cpu":
            array.move_memory(memarray.dlpack.kDLCPU)
        array.escaped_views = "error"
        assert str(array.device) == here
        with pytest.raises(memarray.LockError, match=r"1 exported view\(s\) of it are still alive .*'error'"):
            perform(array)
        assert (array.lock_id, str(array.device), array.shape) == (-1, here, (4,))
        with array.read():
            pass
        del escaped
        gc.collect()
        perform(array)


def test_error_policy_refuses_reads_beside_writable_view():
    array = memarray.MemArray([4])
    array.escaped_views = "error"
    with array.write() as lease:
        escaped = np.asarray(lease)
    for use in (array.read, array.write):
        with pytest.raises(memarray.LockError, match=r"\(1 writable\)"):
            use().__enter__()
    for use in (array.copy, array.add_index_tuple, lambda: np.asarray(array)):
        with pytest.raises(memarray.LockError):
            use()
    assert array.lock_id == -1
    del escaped
    with array.read():
        pass


@every_consumer
def test_alias_policy_view_keeps_sharing_array_memory(consumer, copies):
    array, _ = filled(SHAPE, "float32")
    array.escaped_views = "alias"
    escaped, _ = escape(array, consumer, writable=True)
    address = np.from_dlpack(array).ctypes.data
    array.fill(9)
    assert (np.asarray(escaped) == 9).all()
    for use, write in WRITES.items():
        if not use.startswith(("resize", "exchange")):
            write.use(array)
            assert np.from_dlpack(array).ctypes.data == address, use
    if consumer not in READERS_ONLY:
        np.asarray(escaped)[...] = 4
        assert (look(array) == 4).any()
    assert copies() == 0


def test_escaped_view_policy_is_set_per_array_by_name():
    assert memarray.MemArray([1]).escaped_views == "snapshot"
    memarray.options.escaped_views = "error"
    array = memarray.MemArray([1])
    memarray.options.escaped_views = "alias"
    assert array.escaped_views == "error"
    assert memarray.MemArray([1]).escaped_views == "alias"
    assert array.copy().escaped_views == "error"
    for wrong, error in (("view", ValueError), (None, TypeError), (1, TypeError)):
        with pytest.raises(error, match="'snapshot', 'error' or 'alias'"):
            array.escaped_views = wrong
        with pytest.raises(error, match="'snapshot', 'error' or 'alias'"):
            memarray.options.escaped_views = wrong
    assert array.escaped_views == "error"
    with pytest.raises((TypeError, AttributeError)):
        del array.escaped_views


@pytest.mark.sanitize
@pytest.mark.trap("T02")
def test_views_keep_memory_alive_without_array_and_lease():
    array, values = filled(SHAPE)
    with array.read() as lease:
        names = [name for name in CONSUMERS if not name.startswith(("array interface", "torch", "JAX"))]
        escaped = {name: CONSUMERS[name](lease) for name in names}
        pointer = np.from_dlpack(lease).ctypes.data
    blocks = memarray.stats()["live_blocks"]
    del array, lease
    assert memarray.stats()["live_blocks"] == blocks
    assert_same_values(np.asarray(escaped["np.asarray"]), values)
    assert ctypes.string_at(pointer, values.nbytes) == values.tobytes()
    while escaped:
        assert memarray.stats()["live_blocks"] == blocks
        escaped.popitem()
    assert memarray.stats()["live_blocks"] == blocks - 1
