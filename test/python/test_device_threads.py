"""Threads that share arrays, devices, streams and consumers: the final contents show every granted change."""

import random
import sys
import threading

import memarray
import numpy as np
import pytest
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer
from support import SEED, look

pytestmark = pytest.mark.threads

THREADS = 8
STEPS = 60
LENGTH = 500
INDICES = np.arange(LENGTH)


@pytest.fixture(autouse=True)
def threads_switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


class Shared:
    """An array whose element i is `adds` + i * `kernels`."""

    def __init__(self):
        self.array = memarray.MemArray([LENGTH], "int64")
        self.counting = threading.Lock()
        self.kernels = self.adds = 0

    def count(self, kernels=0, adds=0):
        with self.counting:
            self.kernels += kernels
            self.adds += adds


def check_whole(seen):
    assert np.array_equal(seen, seen[0] + (seen[1] - seen[0]) * INDICES), "torn"


class Worker:
    def __init__(self, sim, streams, shared, seed):
        self.sim, self.streams, self.shared = sim, streams, shared
        self.random = random.Random(seed)
        # By object, by address, and the default streams.
        self.consumers = [Consumer(stream=streams[0]), Consumer(stream=streams[2]), Consumer(), Consumer(stream=2)]
        self.kept = []
        self.granted = self.refused = 0
        self.failure = None

    def run(self):
        try:
            for _ in range(STEPS):
                try:
                    self.act(self.random.choice(self.shared))
                    self.granted += 1
                except memarray.LockError:
                    self.refused += 1
                except ValueError as error:  # the array moved to a device that is not the stream's
                    assert "name a stream of that device" in str(error)
                    self.refused += 1
        except BaseException as error:
            self.failure = error
        finally:
            self.kept.clear()
            self.consumers.clear()

    def place(self):
        device = self.random.randrange(2)
        return f"cuda:{device}", self.random.choice(self.streams[2 * device : 2 * device + 2])

    def consumer_on(self, lease):
        chosen = self.random.randrange(3)
        return self.consumers[lease.__dlpack_device__()[1] if chosen == 0 else chosen + 1]

    def act(self, shared):
        array = shared.array
        timeout = self.random.choice([0, 0.05])
        action = self.random.randrange(7)
        device, stream = self.place()
        if action == 0:
            array.add_index_tuple(stream=self.random.choice([*self.streams, None]))
            shared.count(kernels=1)
        elif action == 1:
            with array.write(device, stream, timeout) as lease:
                view = self.consumer_on(lease).take(lease)
                view.add(1)
                shared.count(adds=1)
                self.keep_or_drop(view)
        elif action == 2:
            with array.read(device, stream, timeout) as lease:
                view = self.consumer_on(lease).take(lease)
            reading = view.read()
            self.keep_or_drop(view)
            check_whole(reading.result())
        elif action == 3:
            with array.read("cpu", timeout=timeout) as lease:
                check_whole(np.array(lease))
        elif action == 4:
            kind = self.random.choice([kDLCPU, kDLCUDA, kDLCUDA])
            array.move_memory(kind, self.random.randrange(2) if kind == kDLCUDA else 0, async_copy=timeout == 0)
        elif action == 5:
            twin = array.copy()
            twin.move_memory(kDLCPU)
            check_whole(look(twin))
        else:
            self.sim.delay(self.random.choice([0, 0, 0.0002]))

    def keep_or_drop(self, view):
        if self.random.random() < 0.5:
            view.drop(in_stream=self.random.random() < 0.5)
        else:
            self.kept.append(view)
            if len(self.kept) > 3:
                self.kept.pop(0).drop()


def test_eight_threads_on_four_streams_lose_no_change(simulated_devices):
    streams = [memarray.Stream(device) for device in (0, 0, 1, 1)]
    shared = [Shared() for _ in range(3)]
    workers = [Worker(simulated_devices, streams, shared, SEED + number) for number in range(THREADS)]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    simulated_devices.clear()
    for failure in (worker.failure for worker in workers):
        if failure:
            raise failure
    memarray.synchronize()
    for each in shared:
        each.array.move_memory(kDLCPU)
        assert np.array_equal(look(each.array), each.adds + each.kernels * INDICES)
    assert sum(worker.granted for worker in workers) > THREADS * STEPS / 4
    assert sum(worker.refused for worker in workers) > 0
