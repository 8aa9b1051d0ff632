"""What arrays hold when all that was submitted has ended, as NumPy has it: the model of the sweep of orders."""

from dataclasses import dataclass, field

import memarray
import numpy as np
from memarray.testing import ConsumerView


@dataclass(eq=False)
class Memory:
    """One block: what it holds when all that was submitted has ended, and who uses it in which stream."""

    data: np.ndarray
    writable: int = 0  # views that may be written
    uses: list = field(default_factory=list)  # (stream, whether it writes)
    known: dict = field(default_factory=dict)  # stream: how many of the uses came before its work

    def asked(self, stream):
        self.known[stream] = len(self.uses)

    def may(self, stream, writes):
        """Whether work in the stream comes after all that it must come after."""
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
    stream: object  # as the lease was asked for
    writable: bool
    memory: Memory
    streams: set = field(default_factory=set)  # of consumers that it was lent to


@dataclass(eq=False)
class Model:
    real: memarray.MemArray
    memory: Memory
    leases: list = field(default_factory=list)

    @property
    def data(self):
        return self.memory.data

    def becomes(self, data):
        """New contents, which no view that was kept sees."""
        self.memory = Memory(data)

    def is_used(self):
        """Views that may be written are left behind by any use."""
        if self.memory.writable:
            self.becomes(self.data.copy())
