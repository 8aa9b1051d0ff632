"""Arrays on simulated devices and consumers on streams, for several test files."""

import memarray
from dlpack_structs import ExportedTensor
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer
from support import filled, index_sums, look

SHAPE = (4, 3)
SUMS = index_sums(SHAPE, "int64")


def on_device(device=0):
    array, values = filled(SHAPE, "int64")
    array.move_memory(kDLCUDA, device_id=device)
    return array, values


def contents(array):
    """Returns the contents of the array, from a copy, so that the array stays where it is."""
    twin = array.copy()
    twin.move_memory(kDLCPU)
    return look(twin)


def late(view):
    """Delays the view's stream: work queued later in it runs well after immediate work of other streams."""
    return [view.read() for _ in range(4)]


class InItsStream:
    """An export without ordering, for a consumer that works in the lease's own stream."""

    def __init__(self, lease):
        self.lease = lease
        self.__dlpack_device__ = lease.__dlpack_device__

    def __dlpack__(self, **arguments):
        return self.lease.__dlpack__(**{**arguments, "stream": -1})


class WithCudaStream:
    """A stream like the objects of other libraries."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return (0, self.stream.handle)


class ByTable(Consumer):
    """A consumer over the C exchange API, which names no stream: it works in the default stream."""

    def __init__(self):
        super().__init__(stream=None)

    def take(self, source):
        return super().take(OverTable(source))


class OverTable:
    def __init__(self, producer):
        self.producer = producer
        self.__dlpack_device__ = producer.__dlpack_device__

    def __dlpack__(self, **_):
        return ExportedTensor(self.producer).capsule()


#: The ways in which a consumer names its stream.
NAMED = {
    "by address": lambda: Consumer(),
    "by object": lambda: Consumer(stream=memarray.Stream()),
    "by a foreign object": lambda: Consumer(stream=WithCudaStream(memarray.Stream())),
    "the default one": lambda: Consumer(stream=None),
    "the thread's own": lambda: Consumer(stream=2),
    "by a table": ByTable,
}
