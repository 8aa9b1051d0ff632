"""Views that outlive their lease: they never change under their holder, whose late writes never reach the array."""

import ctypes

import memarray
import numpy as np
import pytest
from support import filled, look

SHAPE = (6, 5)


class Interface:
    """A consumer that knows the array interface alone."""

    def __init__(self, lease):
        self.lease = lease
        self.__array_interface__ = lease.__array_interface__


#: How a lease's memory is kept, as something that np.asarray reads.
KEEPERS = {
    "np.from_dlpack": np.from_dlpack,
    "np.asarray": np.asarray,
    "slice": lambda lease: np.from_dlpack(lease)[1:4, ::2],
    "transposed": lambda lease: np.from_dlpack(lease).T,
    "memoryview": memoryview,
    "memoryview slice": lambda lease: memoryview(lease)[2:],
    "array interface": lambda lease: np.asarray(Interface(lease)),
}
every_keeper = pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)


def write_part(array):
    with array.write() as lease:
        np.asarray(lease)[0, 0] += 1


def write_all(array):
    with array.write(discard=True) as lease:
        np.asarray(lease)[:] = 9


def write_by_get_dlpack(array):
    with array.get_dlpack() as lease:
        np.from_dlpack(lease)[-1] = 9


def exchange(array):
    other = memarray.MemArray(SHAPE)
    array.exchange(other)
    other.fill(5)
    array.fill(6)


#: What then happens to the array, and how many copies it may make.
USES = {
    "fill": (lambda a: a.fill(9), 0),
    "add_index_tuple": (lambda a: a.add_index_tuple(), 0),
    "read_numpy_array": (lambda a: a.read_numpy_array(np.full(SHAPE, 9.0)), 0),
    "discard": (write_all, 0),
    "resize": (lambda a: a.resize([2, 2]), 0),
    "exchange": (exchange, 0),
    "move to where it is": (lambda a: (a.move_memory(memarray.dlpack.kDLCPU), a.fill(9)), 0),
    "write lease": (write_part, 1),
    "get_dlpack": (write_by_get_dlpack, 1),
}
every_use = pytest.mark.parametrize("use", USES)


@pytest.mark.sanitize
@every_use
@every_keeper
def test_a_kept_view_never_changes(keep, use, copies):
    array, _ = filled(SHAPE)
    with array.read() as lease:
        kept = keep(lease)
    del lease
    before = np.array(kept, copy=True)
    perform, expected = USES[use]
    for _ in range(3):
        perform(array) if array.shape == SHAPE else array.fill(1)
        np.testing.assert_array_equal(np.asarray(kept), before)
    assert copies() == expected
    del array
    np.testing.assert_array_equal(np.asarray(kept), before)


@every_keeper
def test_reading_on_under_kept_views_copies_nothing(keep, copies):
    array, values = filled(SHAPE)
    with array.read() as lease:
        kept = keep(lease)
    address = np.from_dlpack(array).ctypes.data
    for _ in range(3):
        with array.read() as lease:
            assert np.from_dlpack(lease).ctypes.data == address
        array.copy()
    assert copies() == 0
    del kept
    array.fill(1)
    assert np.from_dlpack(array).ctypes.data == address
    assert values is not None


def writable(lease, keep):
    view = keep(lease)
    return np.asarray(view)


@pytest.mark.sanitize
@every_use
@every_keeper
def test_a_late_write_never_reaches_the_array(keep, use, copies):
    array, values = filled(SHAPE)
    with array.write() as lease:
        kept = writable(lease, keep)
        kept.flat[0] = -1.0
    del lease
    expected = look(array)
    assert expected.min() == -1.0 and copies() == 1
    kept[...] = -5.0
    np.testing.assert_array_equal(look(array), expected)
    USES[use][0](array)
    after = look(array)
    kept[...] = -7.0
    np.testing.assert_array_equal(look(array), after)
    assert (kept == -7.0).all()
    assert values.shape == SHAPE


def test_what_was_written_before_the_next_use_is_the_arrays():
    array, _ = filled((4,))
    with array.write() as lease:
        kept = np.asarray(lease)
    kept[0] = 50.0
    assert look(array)[0] == 50.0
    kept[0] = 60.0
    assert look(array)[0] == 50.0


@pytest.mark.parametrize(
    "use",
    [
        lambda a: a.read().__enter__().close(),
        lambda a: a.write().__enter__().close(),
        lambda a: a.copy(),
        lambda a: np.asarray(a),
        lambda a: np.from_dlpack(a),
        lambda a: a.move_memory(memarray.dlpack.kDLCPU),
    ],
    ids=["read", "write", "copy", "asarray", "from_dlpack", "move"],
)
def test_a_writable_view_is_left_behind_by_the_next_use_of_any_kind(use, copies):
    array, values = filled((4,))
    with array.write() as lease:
        kept = np.asarray(lease)
    use(array)
    assert copies() == 1
    kept[:] = -1
    np.testing.assert_array_equal(look(array), values)
    assert copies() == 0


def test_a_use_that_replaces_everything_leaves_a_writable_view_without_a_copy(copies):
    for replace in (lambda a: a.fill(3), lambda a: a.read_numpy_array(np.full((4,), 3.0)), write_all):
        array, _ = filled((4,))
        with array.write() as lease:
            kept = np.asarray(lease)
        replace(array)
        expected = look(array)
        kept[:] = -1
        np.testing.assert_array_equal(look(array), expected)
    assert copies() == 0


def test_a_chain_of_versions_keeps_each_of_them(copies):
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


def test_an_exchange_does_not_show_a_kept_view_to_a_policy_that_writes_in_place():
    array, values = filled((4,))
    other = memarray.MemArray([4])
    other.escaped_views = "alias"
    with array.read() as lease:
        kept = np.from_dlpack(lease)
    array.exchange(other)
    other.fill(-1)
    array.fill(-1)
    np.testing.assert_array_equal(kept, values)


@every_keeper
def test_policy_error_refuses_until_the_last_view_is_gone(keep):
    array, _ = filled(SHAPE)
    array.escaped_views = "error"
    with array.read() as lease:
        kept = keep(lease)
    del lease
    for perform, _ in USES.values():
        before = look_under_readers(array)
        with pytest.raises(memarray.LockError, match=r"1 exported view\(s\) of it are still alive .*'error'"):
            perform(array)
        np.testing.assert_array_equal(look_under_readers(array), before)
    del kept
    array.fill(1)


def look_under_readers(array):
    with array.read() as lease:
        view = np.from_dlpack(lease)
        copied = view.copy()
        del view
    return copied


def test_policy_error_under_a_writable_view_refuses_reading_too():
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


@every_keeper
def test_policy_alias_goes_on_showing_the_arrays_memory(keep, copies):
    array, _ = filled(SHAPE)
    array.escaped_views = "alias"
    with array.write() as lease:
        kept = np.asarray(keep(lease))
    address = np.from_dlpack(array).ctypes.data
    array.fill(9)
    assert (kept == 9).all()
    array.add_index_tuple()
    write_part(array)
    kept[...] = 4
    assert (look(array) == 4).any()
    assert np.from_dlpack(array).ctypes.data == address
    assert copies() == 0


def test_policies_are_words_and_each_arrays_own():
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
def test_views_keep_their_memory_when_all_else_is_gone():
    array, values = filled(SHAPE)
    with array.read() as lease:
        kept = {name: keep(lease) for name, keep in KEEPERS.items() if "interface" not in name}
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
