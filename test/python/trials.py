"""Kinds of calls that try an operation, and helpers of the table in operations.py."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import memarray
import numpy as np
from device_world import SHAPE, World

#: In place of trials: memory on a device is refused, or another operation first moves it to the host.
HOST_ONLY = "host only"


class Read(NamedTuple):
    """A call that reads a host array, and is admitted beside readers."""

    variant: str
    call: Callable[[memarray.MemArray], Any]


class Write(NamedTuple):
    """A call that writes an array of any dtype or a view, or returns leases for writing an array.

    Any other lease, or a view that is read-only, refuses it.
    """

    variant: str
    call: Callable[[Any], Any]
    #: The numbers of copies that `use` reports beside a read-only and beside a writable escaped view.
    copies: tuple[int, int] = (0, 0)
    #: Writes the memory of the lease that the call returned.
    change: Callable[[np.ndarray], None] | None = None
    #: True if the call waits for other leases to close, in place of a refusal.
    waits: bool = False

    def enter(self, array):
        """Makes the call. Returns the leases that it opened."""
        opened = self.call(array)
        return leases_in(opened.__enter__()) if self.change else ()

    def use(self, array):
        """Makes the call, and writes through its lease if it opened one."""
        leases = self.enter(array)
        for lease in leases:
            if lease.writable:
                self.change(np.from_dlpack(lease))
            lease.close()


class Export(NamedTuple):
    """A call that exports the memory of an open lease on the host."""

    variant: str
    call: Callable[[memarray.Lease], Any]


class Trial(NamedTuple):
    """A call on simulated devices, in a state of their `World`. Operations without trials call no driver function."""

    variant: str
    #: The name of a method of `World`, or a function.
    state: str | Callable[[World], Any]
    call: Callable[[World], Any]
    options: Mapping[str, Any] = MappingProxyType({})
    shape: tuple[int, ...] = SHAPE
    #: The changes that a failure may make: "place" of one of several arrays, or "contents" that the call discards.
    may_change: str = ""
    calls_driver: bool = True

    def prepare(self, world):
        if isinstance(self.state, str):
            getattr(world, self.state)()
        else:
            self.state(world)


def calls_of(operations, kind, owners=None):
    """Returns the calls of a kind by name: like "fill" of the owners, else like "MemArray.fill with a pattern"."""
    found = {}
    for name, calls in operations.items():
        owner, _, attribute = name.rpartition(".")
        if owners is None or owner in owners:
            prefix = name if owners is None else attribute
            found.update({f"{prefix} {call.variant}".rstrip(): call for call in calls if isinstance(call, kind)})
    return found


def leases_in(opened):
    return opened if isinstance(opened, tuple) else (opened,)


def acquire(lease):
    """Opens a lease, or several, and closes it."""
    for opened in leases_in(lease.__enter__()):
        opened.close()


def change_one(view):
    view.flat[-1] += 1


def change_all(view):
    view[...] = 9


def exchange(array):
    other = memarray.MemArray(array.shape, array.dtype)
    array.exchange(other)
    other.fill(5)
    array.fill(6)


def exchange_as_other(array):
    other = memarray.MemArray(array.shape, array.dtype)
    other.exchange(array)
    other.add_index_tuple()
    array.add_index_tuple()
