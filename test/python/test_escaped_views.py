"""Escaped views never change for their holder, and late writes through them never reach the array."""

import ctypes
import gc

import memarray
import numpy as np
import pytest
from operations import KEEPERS, READERS_ONLY, READS, USES, WRITERS_ONLY, name_of
from support import filled, look

SHAPE = (6, 5)


every_keep_alive = pytest.mark.parametrize("keep", KEEPERS)
every_writer = pytest.mark.parametrize("keep", [keep for keep in KEEPERS if keep not in READERS_ONLY])
every_use = pytest.mark.parametrize("use", USES)


def lend(array, keep, writable=False):
    """Returns an escaped view of the array's memory, and True if it is writable."""
    writable = writable or keep in WRITERS_ONLY
    with array.write() if writable else array.read() as lease:
        return KEEPERS[keep](lease), writable


@pytest.mark.sanitize
@every_use
@every_keep_alive
def test_escaped_view_never_changes_under_snapshot_policy(keep, use, copies):
    array, _ = filled(SHAPE, "float32")
    kept, writable = lend(array, keep)
    before = np.asarray(kept).copy()
    perform, *expected = USES[use]
    perform(array)
    np.testing.assert_array_equal(np.asarray(kept), before)
    assert copies() == expected[writable]
    for _ in range(2):
        perform(array) if array.shape == SHAPE else array.fill(1)
        np.testing.assert_array_equal(np.asarray(kept), before)
    assert copies() == 0
    del array
    np.testing.assert_array_equal(np.asarray(kept), before)


@every_keep_alive
def test_repeated_reads_beside_escaped_view_copy_nothing(keep, copies):
    array, _ = filled(SHAPE, "float32")
    kept, writable = lend(array, keep)
    before = np.asarray(kept).copy()
    look(array)
    assert copies() == writable
    address = np.from_dlpack(array).ctypes.data
    for read in READS.values():
        read(array)
        assert np.from_dlpack(array).ctypes.data == address
    assert copies() == 0
    np.testing.assert_array_equal(np.asarray(kept), before)
    del kept
    array.fill(1)
    assert np.from_dlpack(array).ctypes.data == address


@pytest.mark.sanitize
@every_use
@every_writer
def test_late_write_through_escaped_view_never_reaches_array(keep, use, copies):
    array, _ = filled(SHAPE, "float32")
    kept = np.asarray(lend(array, keep, writable=True)[0])
    kept.flat[0] = -1.0
    expected = look(array)
    assert expected.min() == -1.0 and copies() == 1
    kept[...] = -5.0
    np.testing.assert_array_equal(look(array), expected)
    USES[use][0](array)
    after = look(array)
    kept[...] = -7.0
    np.testing.assert_array_equal(look(array), after)
    assert (kept == -7.0).all()
    assert copies() == 0


@every_use
@every_keep_alive
def test_array_use_detaches_writable_escaped_view(keep, use, copies):
    array, _ = filled(SHAPE, "float32")
    kept, _ = lend(array, keep, writable=True)
    USES[use][0](array)
    assert copies() == USES[use][2]
    after = look(array)
    if keep not in READERS_ONLY:
        np.asarray(kept)[...] = -7.0
    np.testing.assert_array_equal(look(array), after)
    assert copies() == 0


def test_write_through_escaped_view_before_next_use_reaches_array():
    array, _ = filled((4,))
    with array.write() as lease:
        kept = np.asarray(lease)
    kept[0] = 50.0
    assert look(array)[0] == 50.0
    kept[0] = 60.0
    assert look(array)[0] == 50.0


@pytest.mark.parametrize("use", READS)
def test_array_read_detaches_writable_escaped_view(use, copies):
    array, values = filled((4,))
    kept, _ = lend(array, "np.asarray", writable=True)
    READS[use](array)
    # A use that is itself a copy makes one more, which is requested and not reported.
    assert copies() == 1
    kept[:] = -1
    np.testing.assert_array_equal(look(array), values)
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
        kept = np.from_dlpack(lease)
    array.exchange(other)
    other.fill(-1)
    array.fill(-1)
    np.testing.assert_array_equal(kept, values)


@every_keep_alive
def test_error_policy_refuses_uses_until_last_view_is_dropped(keep):
    array, _ = filled(SHAPE, "float32")
    array.escaped_views = "error"
    kept, writable = lend(array, keep)
    before = np.asarray(kept).copy()
    words = r"[12] exported view\(s\)( \(1 writable\))? of it are still alive .*'error'"
    for use, (perform, *_) in USES.items():
        with pytest.raises(memarray.LockError, match=words):
            perform(array)
        assert array.lock_id == -1 and array.shape == SHAPE, use
        np.testing.assert_array_equal(np.asarray(kept), before)
    for read in READS.values():
        if writable:
            with pytest.raises(memarray.LockError, match=words):
                read(array)
        else:
            read(array)
    del kept
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
                    kept = np.asarray(other)
            else:
                kept = memarray.testing.Consumer().take(lease)
        if here == "cpu":
            array.move_memory(memarray.dlpack.kDLCPU)
        array.escaped_views = "error"
        assert str(array.device) == here
        with pytest.raises(memarray.LockError, match=r"1 exported view\(s\) of it are still alive .*'error'"):
            perform(array)
        assert (array.lock_id, str(array.device), array.shape) == (-1, here, (4,))
        with array.read():
            pass
        del kept
        gc.collect()
        perform(array)


def test_error_policy_refuses_reads_beside_writable_view():
    array = memarray.MemArray([4])
    array.escaped_views = "error"
    with array.write() as lease:
        kept = np.asarray(lease)
    for use in (array.read, array.write):
        with pytest.raises(memarray.LockError, match=r"\(1 writable\)"):
            use().__enter__()
    for use in (array.copy, array.add_index_tuple, lambda: np.asarray(array)):
        with pytest.raises(memarray.LockError):
            use()
    assert array.lock_id == -1
    del kept
    with array.read():
        pass


@every_keep_alive
def test_alias_policy_view_keeps_sharing_array_memory(keep, copies):
    array, _ = filled(SHAPE, "float32")
    array.escaped_views = "alias"
    kept, _ = lend(array, keep, writable=True)
    address = np.from_dlpack(array).ctypes.data
    array.fill(9)
    assert (np.asarray(kept) == 9).all()
    for use, (perform, *_) in USES.items():
        if name_of(use) not in ("resize", "exchange"):
            perform(array)
            assert np.from_dlpack(array).ctypes.data == address, use
    if keep not in READERS_ONLY:
        np.asarray(kept)[...] = 4
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
        names = [name for name in KEEPERS if not name.startswith(("array interface", "torch", "JAX"))]
        kept = {name: KEEPERS[name](lease) for name in names}
        pointer = np.from_dlpack(lease).ctypes.data
    blocks = memarray.stats()["live_blocks"]
    del array, lease
    assert memarray.stats()["live_blocks"] == blocks
    np.testing.assert_array_equal(np.asarray(kept["np.asarray"]), values)
    assert ctypes.string_at(pointer, values.nbytes) == values.tobytes()
    while kept:
        assert memarray.stats()["live_blocks"] == blocks
        kept.popitem()
    assert memarray.stats()["live_blocks"] == blocks - 1
