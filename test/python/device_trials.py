"""The arrays, in every state, on which operations that call the driver are tried."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import memarray
import numpy as np
from dlpack_structs import Lent
from memarray.dlpack import kDLCPU, kDLCUDA
from support import filled, look

SHAPE = (6, 5)
#: More elements than one copy of a fill's pattern covers.
LARGE = (3, 1 << 13)


class World:
    """Arrays with known contents, streams, and the objects that a trial keeps."""

    def __init__(self, shape=SHAPE):
        self.a, _ = filled(shape)
        self.b, _ = filled(shape, start=3)
        self.first, self.second = memarray.Stream(), memarray.Stream()
        self.elsewhere = memarray.Stream(1)
        self.event = memarray.Event()
        self.kept = []

    def keep(self, thing):
        self.kept.append(thing)

    def lend(self, lease, **request):
        self.keep(lease.__dlpack__(max_version=(1, 0), **request))

    def lend_over_table(self, lender):
        self.keep(Lent(lender))

    def open(self, lease):
        self.lease = lease.__enter__()
        self.keep(self.lease)

    def look(self):
        """Returns everything visible of the arrays. The copies that its moves make show which sides were valid."""
        for thing in self.kept:
            if isinstance(thing, memarray.Lease):
                thing.close()
        return [self._look_at(array) for array in (self.a, self.b)]

    def _look_at(self, array):
        seen = {"shape": array.shape, "lock": array.lock_id, "place": [array.device]}
        copies = memarray.stats()["copies"]
        array.move_memory(kDLCPU)
        seen["place"].append(memarray.stats()["copies"] > copies)
        seen["contents"] = look(array).tolist()
        for device_id in (0, 1):
            copies = memarray.stats()["copies"]
            with array.read(f"cuda:{device_id}"):
                pass
            seen["place"].append(memarray.stats()["copies"] > copies)
        return seen


class Trial(NamedTuple):
    prepare: Callable[[World], Any]
    call: Callable[[World], Any]
    options: Mapping[str, Any] = MappingProxyType({})
    shape: tuple[int, ...] = SHAPE
    #: The changes that a failure may make: "place" of one of several arrays, or "contents" that the call discards.
    may_change: str = ""


def on_host(_):
    pass


def on_device(w):
    w.a.move_memory(kDLCUDA)


def after_kernel(w):
    on_device(w)
    w.a.add_index_tuple(stream=w.first)


def on_second(w):
    w.a.move_memory(kDLCUDA, device_id=1)
    w.a.add_index_tuple(stream=w.elsewhere)


def stale_on_device(w):
    on_device(w)
    w.a.fill(4)
    w.a.move_memory(kDLCPU)
    w.a.fill(5)


def moving_back(w):
    after_kernel(w)
    w.a.move_memory(kDLCPU, stream=w.second, async_copy=True)


def viewed(w):
    after_kernel(w)
    with w.a.read(stream=w.second) as lease:
        w.lend(lease, stream=w.first.handle)


def viewed_for_writing(w):
    after_kernel(w)
    with w.a.write(stream=w.second) as lease:
        w.lend(lease, stream=w.first.handle)


def viewed_anywhere(w):
    after_kernel(w)
    with w.a.write(stream=w.second) as lease:
        w.lend(lease, stream=-1)


def view_dropped(w):
    viewed(w)
    w.kept.clear()


def view_dropped_anywhere(w):
    viewed_anywhere(w)
    w.kept.clear()


def leased(w):
    after_kernel(w)
    w.open(w.a.read(stream=w.second))


def leased_for_writing(w):
    after_kernel(w)
    w.open(w.a.write(stream=w.second))


def lent_twice(w):
    leased_for_writing(w)
    w.lend(w.lease, stream=w.first.handle)
    w.lend(w.lease, stream=1)


def recorded(w):
    after_kernel(w)
    w.event.record(w.first)


def exhausted(w):
    """Fills the device's memory with blocks that its pool keeps."""
    on_device(w)
    filler = memarray.MemArray([3 << 16])
    filler.move_memory(kDLCUDA)


def open_and_close(lease):
    lease.__enter__().close()


def close_all(leases):
    for lease in leases:
        lease.close()


def drop(w):
    w.kept.clear()
    memarray.MemArray([1])  # an ordinary call: it does the work that destructors must not do


def numpy_on_host(w):
    w.keep(np.asarray(w.a))


PEERLESS = {"peer_access": False}
POOLLESS = {"pools": False}
TIMING = {"timing": True}
