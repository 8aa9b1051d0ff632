"""Every wait for a device lets other Python threads run."""

import threading
import time

import memarray
import pytest
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer
from support import filled

DELAY = 0.1


class Work:
    """A slow kernel, and ways to wait for it."""

    def __init__(self, sim):
        self.stream, self.event = memarray.Stream(), memarray.Event()
        self.array, _ = filled((50,))
        self.array.move_memory(kDLCUDA, stream=self.stream)
        with self.array.read() as lease:
            self.view = Consumer(stream=self.stream).take(lease)
        memarray.synchronize()
        sim.delay(DELAY)

    def begin(self):
        self.reading = self.view.read()
        self.array.add_index_tuple(stream=self.stream)
        self.event.record(self.stream)


def on_the_host_later(work):
    work.array.move_memory(kDLCPU, stream=work.stream, async_copy=True)
    work.array.fill(1)


WAITS = {
    "Stream.synchronize": lambda work: work.stream.synchronize(),
    "Event.synchronize": lambda work: work.event.synchronize(),
    "memarray.synchronize": lambda work: memarray.synchronize(),
    "memarray.cuda.synchronize": lambda work: memarray.cuda.synchronize(0),
    "move_memory to the host": lambda work: work.array.move_memory(kDLCPU),
    "read on the host": lambda work: work.array.read("cpu").__enter__().close(),
    "write on the host": lambda work: work.array.write("cpu").__enter__().close(),
    "leases on the host": lambda work: memarray.leases(work.array.read("cpu")).__enter__()[0].close(),
    "a use after a move to the host": on_the_host_later,
    "a copy exported to the host": lambda work: work.array.__dlpack__(dl_device=(kDLCPU, 0), copy=True),
    "ConsumerReading.result": lambda work: work.reading.result(),
}


@pytest.mark.parametrize("wait", WAITS)
def test_other_python_threads_run_during_device_waits(simulated_devices, wait):
    work = Work(simulated_devices)
    count, over = 0, False

    def counts():
        nonlocal count
        while not over:
            count += 1
            time.sleep(0.001)

    counting = threading.Thread(target=counts)
    counting.start()
    try:
        work.begin()
        began, before = time.monotonic(), count
        WAITS[wait](work)
        took, counted = time.monotonic() - began, count - before
    finally:
        over = True
        counting.join()
    assert took >= DELAY / 2, "it did not wait"
    assert counted >= 5, "the other thread stood still"
