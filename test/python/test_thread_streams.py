"""Per-thread default streams: each thread has its own, which no other thread can name, not even a later one."""

import threading

import memarray
import numpy as np
import pytest
from memarray.dlpack import kDLCPU
from memarray.testing import Consumer
from support import look

PER_THREAD = 2
SIZE = 1000


def contents(array):
    array.move_memory(kDLCPU)
    return look(array)


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_next_thread_waits_for_the_stream_of_an_ended_thread(simulated_devices):
    array = memarray.MemArray([SIZE], "int64", memory_type="device")
    simulated_devices.delay(0.05)
    for _ in range(4):
        in_a_thread(lambda: array.add_index_tuple(stream=PER_THREAD))
    memarray.synchronize()
    assert np.array_equal(contents(array), 4 * np.arange(SIZE))
    assert not simulated_devices.violations()


def test_view_used_by_another_thread_waits_for_its_streams_thread(simulated_devices, waits):
    array = memarray.MemArray([SIZE], "int64")
    with array.write(device="cuda:0", stream=PER_THREAD) as lease:
        view = lease.view()
        simulated_devices.delay(0.1)
        view.fill(1)
        waits()
        in_a_thread(lambda: view.fill(2))
        assert waits()[0] == "waited: filling, after the target's users"
    memarray.synchronize()
    assert np.array_equal(contents(array), np.full(SIZE, 2))


def test_export_by_another_thread_waits_for_its_streams_thread(simulated_devices):
    array = memarray.MemArray([SIZE], "int64")
    with array.write(device="cuda:0", stream=PER_THREAD) as lease:
        simulated_devices.delay(0.1)
        lease.view().fill(1)
        taken = []
        consumer = Consumer(stream=memarray.Stream())
        in_a_thread(lambda: taken.append(consumer.take(lease)))
        taken[0].write(3)
        taken.pop().drop()
    memarray.synchronize()
    assert np.array_equal(contents(array), np.full(SIZE, 3))


@pytest.mark.parametrize("wait", [0, 0.05])
def test_reads_of_ended_threads_delay_the_next_writer(simulated_devices, wait):
    array = memarray.MemArray([SIZE], "int64", memory_type="device")
    sums = []
    simulated_devices.delay(wait)
    for _ in range(3):
        array.fill(5)
        in_a_thread(lambda: sums.append(array.view().to_device("cuda:0", stream=PER_THREAD).copy()))
    array.fill(6)
    simulated_devices.delay(0)
    assert [int(copy.sum()) for copy in sums] == [5 * SIZE] * 3
    sums.clear()
