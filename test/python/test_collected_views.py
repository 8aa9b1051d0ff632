"""Garbage collection of views: cycles through a view are freed, and memory in use is not."""

import array
import functools
import gc
import weakref

import memarray
import numpy as np
import pytest
from memarray import BufferView

pytestmark = pytest.mark.sanitize


class Named(memarray.MemArray):
    """An array with attributes."""


class NamedArray(np.ndarray):
    """A NumPy array with attributes."""


class ByInterface:
    """An exporter of memory by its address."""

    def __init__(self, size=64):
        self.memory = np.arange(float(size))

    @property
    def __array_interface__(self):
        return self.memory.__array_interface__


class ByBufferInInterface(ByInterface):
    """An exporter of memory as a buffer of another object with attributes."""

    @property
    def __array_interface__(self):
        interface = self.memory.__array_interface__
        return {**interface, "data": memoryview(self.memory).cast("B"), "offset": 0}


class ByDLPack(ByInterface):
    """An exporter of memory by a capsule."""

    __array_interface__ = property()

    def __dlpack__(self, **kwargs):
        return self.memory.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()


class Bytes(bytearray):
    """A buffer with attributes."""


class Numbers(array.array):
    """Another buffer with attributes."""


def bytes_holder():
    return Bytes(512)


def numbers_holder():
    return Numbers("d", [0.0] * 64)


def numpy_holder():
    return np.arange(64.0).view(NamedArray)


def record_holder():
    return np.arange(64.0).view(np.recarray)


HOLDERS = {
    "array": lambda: Named([64]),
    "numpy": numpy_holder,
    "recarray": record_holder,
    "interface": ByInterface,
    "buffer in interface": ByBufferInInterface,
    "dlpack": ByDLPack,
    "bytearray": bytes_holder,
    "array.array": numbers_holder,
}


def view_of(holder):
    return holder.view() if isinstance(holder, memarray.MemArray) else BufferView(holder)


def keep_view(holder, view):
    holder.seen = view


def keep_parts(holder, view):
    holder.seen = [view[:4], view[4:], view.reshape(8, view.size // 8).T, iter(view)]


def keep_in_partial(holder, view):
    holder.seen = functools.partial(print, view, part=view[1:])


def keep_memoryview(holder, view):
    holder.seen = memoryview(view)


def keep_closed_under_a_buffer(holder, view):
    holder.seen = memoryview(view)
    holder.closed = view
    view.close()


def keep_pinned(holder, view):
    holder.seen = view
    holder.interface = view.__array_interface__


def keep_traceback(holder, view):
    try:
        view.reshape(7)
    except ValueError as error:
        holder.seen = error, view


KEEPERS = {
    function.__name__: function
    for function in (
        keep_view,
        keep_parts,
        keep_in_partial,
        keep_memoryview,
        keep_closed_under_a_buffer,
        keep_pinned,
        keep_traceback,
    )
}


def collected(reference, blocks):
    gc.collect()
    return reference() is None and memarray.stats()["live_blocks"] == blocks


@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)
@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_owner_that_refers_to_its_own_view_is_freed(make, keep):
    gc.collect()
    blocks = memarray.stats()["live_blocks"]
    holder = make()
    view = view_of(holder)
    gone = weakref.ref(holder)
    keep(holder, view)
    del view
    gc.collect()
    assert gone() is holder
    del holder
    assert collected(gone, blocks)


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_exports_keep_owner_in_cycle_alive(make):
    blocks = memarray.stats()["live_blocks"]
    holder = make()
    holder.seen = view_of(holder)
    gone = weakref.ref(holder)
    expected = bytes(memoryview(holder.seen[1:]))
    for use in (
        lambda view: view[1:],
        lambda view: np.asarray(view[1:]),
        lambda view: np.from_dlpack(view[1:]),
        lambda view: memoryview(view[1:]),
        lambda view: memarray.MemArray.from_dlpack(view[1:], copy=False) if view.writable else view[1:],
        lambda view: np.asarray(BufferView(view[1:].__dlpack__(max_version=(1, 0)))),
    ):
        kept = use(holder.seen)
        gc.collect()
        assert gone() is holder
        assert not holder.seen.closed
        assert bytes(memoryview(kept if not isinstance(kept, memarray.MemArray) else kept.view())) == expected
    del holder
    gc.collect()
    assert bytes(memoryview(kept)) == expected
    del kept
    assert collected(gone, blocks)


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_an_export_outlives_the_cycle_that_it_came_from(make):
    holder = make()
    holder.seen = view_of(holder)
    expected = np.asarray(holder.seen).copy()
    exported = np.from_dlpack(holder.seen)
    gone = weakref.ref(holder)
    del holder
    for _ in range(3):
        gc.collect()
        again = [np.full(64, 7.0) for _ in range(8)]  # would reuse freed memory
        np.testing.assert_array_equal(exported, expected)
    del exported, again
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_finalizers_see_open_and_valid_views(make):
    class Finalized:
        def __del__(self):
            seen.append((self.view.closed, np.asarray(self.view).copy()))

    seen = []
    holder = make()
    holder.seen = view_of(holder)
    expected = np.asarray(holder.seen).copy()
    holder.last = Finalized()
    holder.last.view = holder.seen
    del holder
    gc.collect()
    [(closed, contents)] = seen
    assert not closed
    np.testing.assert_array_equal(contents, expected)


def test_view_resurrected_by_finalizer_is_valid():
    class Finalized:
        def __del__(self):
            brought_back.append(self.view)

    brought_back = []
    holder = ByInterface()
    holder.seen = BufferView(holder)
    holder.last = Finalized()
    holder.last.view = holder.seen
    del holder
    gc.collect()
    [view] = brought_back
    gone = weakref.ref(view.owner)
    assert isinstance(view.owner, ByInterface)
    assert view.owner.seen is view
    assert view.sum() == 63 * 32
    brought_back.clear()
    del view
    gc.collect()
    assert gone() is None


def test_leases_in_cycle_with_their_array_are_freed():
    blocks = memarray.stats()["live_blocks"]
    holder = Named([64])
    holder.lease = holder.write()
    with holder.lease as lease:
        holder.seen = lease.view(), np.asarray(lease), memoryview(lease)
    holder.leases = memarray.leases(holder.read(), memarray.MemArray([2]).write())
    gone = weakref.ref(holder)
    del holder, lease
    assert collected(gone, blocks)


def test_owners_with_views_of_each_other_are_freed():
    blocks = memarray.stats()["live_blocks"]
    first, second = ByInterface(), numpy_holder()
    first.other, second.other = BufferView(second), BufferView(first)
    first.others = [BufferView(first.other), BufferView(second.other[::2])]
    gone = weakref.ref(first)
    del first, second
    assert collected(gone, blocks)


def test_views_of_views_are_freed():
    blocks = memarray.stats()["live_blocks"]
    holder = ByInterface()
    holder.seen = BufferView(BufferView(holder))
    holder.again = memarray.from_dlpack(holder.seen)
    gone = weakref.ref(holder)
    del holder
    assert collected(gone, blocks)


def test_a_cycle_of_closed_views_is_freed():
    holder = numpy_holder()
    holder.seen = BufferView(holder)
    part = holder.seen[1:]
    holder.seen.close()
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is not None
    assert part.sum() == 63 * 32
    del part
    gc.collect()
    assert gone() is None


def test_only_views_that_can_form_cycles_are_gc_tracked():
    untracked = {
        "an array": memarray.MemArray([2]).view(),
        "a NumPy array": BufferView(np.zeros(2)),
        "part of one": BufferView(np.zeros(2))[1:],
        "bytes": BufferView(b"ab"),
        "a copy": BufferView(numpy_holder(), copy=True),
    }
    assert [name for name, view in untracked.items() if gc.is_tracked(view)] == []
    assert all(gc.is_tracked(view_of(make())) for make in HOLDERS.values())


def test_buffer_stays_valid_when_collector_clears_its_view():
    """The collector clears a view as close() does: its buffers stay valid."""
    holder = {}
    view = BufferView(ByInterface())
    holder["view"], holder["itself"] = view, holder
    kept = np.asarray(view)
    expected = kept.copy()
    gone = weakref.ref(view)
    del view, holder
    gc.collect()
    np.testing.assert_array_equal(kept, expected)
    assert gone() is not None, "the buffer keeps its view"
    del kept
    gc.collect()
    assert gone() is None


def test_torch_tensor_that_refers_to_its_own_view_is_freed():
    torch = pytest.importorskip("torch")
    blocks = memarray.stats()["live_blocks"]
    tensor = torch.zeros(64)
    tensor.seen = BufferView(tensor)
    gone = weakref.ref(tensor)
    del tensor
    assert collected(gone, blocks)


def test_views_stay_valid_under_continuous_garbage_collection():
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        holder = ByInterface()
        for _ in range(200):
            holder.seen = [BufferView(holder)[i:] for i in range(4)]
            holder.kept = [memoryview(view) for view in holder.seen]
            holder.seen.pop().close()
            assert np.asarray(holder.seen[0]).sum() == 63 * 32
    finally:
        gc.set_threshold(*threshold)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None
