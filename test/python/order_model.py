"""The model of the order sweep: the contents of arrays, as NumPy arrays, once all submitted work has completed."""

from dataclasses import dataclass, field

import memarray
import numpy as np
from memarray.testing import ConsumerView


@dataclass(eq=False)
class Memory:
    """One block: its contents once all submitted work has completed, and its uses in each stream."""

    data: np.ndarray
    writable: int = 0  # number of writable views
    uses: list = field(default_factory=list)  # (stream, True if it writes)
    known: dict = field(default_factory=dict)  # stream -> number of uses that its work is ordered after

    def asked(self, stream):
        self.known[stream] = len(self.uses)

    def may(self, stream, writes):
        """True if work in the stream is ordered after all uses that it must follow."""
        later = self.uses[self.known[stream] :]
        return all(other == stream or not (writes or wrote) for other, wrote in later)


@dataclass(eq=False)
class View:
    seen: ConsumerView
    memory: Memory
    stream: object
    writable: bool


@dataclass(eq=False)
class Lease:
    real: object
    stream: object  # the stream argument of the lease
    writable: bool
    memory: Memory
    streams: set = field(default_factory=set)  # of the consumers of its exports


@dataclass(eq=False)
class Model:
    real: memarray.MemArray
    memory: Memory
    leases: list = field(default_factory=list)

    @property
    def data(self):
        return self.memory.data

    def becomes(self, data):
        """Gives the array new contents, which no escaped view shows."""
        self.memory = Memory(data)

    def is_used(self):
        """Leaves writable views behind, as any use does."""
        if self.memory.writable:
            self.becomes(self.data.copy())


class InItsStream:
    """A consumer that works in the lease's own stream, and asks for no ordering."""

    def __init__(self, lease):
        self.lease = lease

    def __dlpack_device__(self):
        return self.lease.__dlpack_device__()

    def __dlpack__(self, **arguments):
        return self.lease.__dlpack__(**{**arguments, "stream": -1} if "stream" in arguments else arguments)


def stream_key(asked, device):
    """Returns the name of a stream: a `Stream`, or one of the default streams of a device."""
    if asked is None or asked == 1:
        return f"default of {device}"
    return f"own of {device}" if isinstance(asked, int) else asked
