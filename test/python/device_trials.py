"""What operations are tried on where they reach the driver: arrays in all the states that there are."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import memarray
import numpy as np
from dlpack_structs import Lent
from memarray.dlpack import kDLCPU, kDLCUDA
from support import filled, look

SHAPE = (6, 5)
#: More than what one copy of a fill's pattern reaches.
LARGE = (3, 1 << 13)


class World:
    """Arrays with known contents, streams, and whatever a trial keeps."""

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
        """All that can be seen of the arrays; the copies that moves then take say which sides were valid."""
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
    #: What a failure may change: the "place" of one of several arrays, or "contents" that were to be given up.
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
    """The device is full of what its pool keeps."""
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
    memarray.MemArray([1])  # an ordinary call, which does what droppers may not


def numpy_on_host(w):
    w.keep(np.asarray(w.a))


PEERLESS = {"peer_access": False}
POOLLESS = {"pools": False}
TIMING = {"timing": True}
