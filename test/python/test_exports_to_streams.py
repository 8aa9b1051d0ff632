"""Stream order between a lease of device memory, the streams of its consumers, and the next user."""

import threading

import memarray
import numpy as np
import pytest
from memarray.dlpack import kDLCUDA
from memarray.testing import Consumer, simulated_devices
from streams import NAMED, SUMS, InItsStream, contents, late, on_device

pytestmark = pytest.mark.sanitize


# Order on the device. Each scenario returns the seen and the expected contents.


def exports_under_one_lease(sim, name):
    array, values = on_device()
    first, second = NAMED[name](), Consumer()
    with array.write(stream=memarray.Stream()) as lease:
        view = first.take(lease)
        kept = late(view)
        view.write(5)
        other = second.take(lease)  # ordered after the work in the first consumer's stream
        other.add(10)
        kept += late(other)
        other.add(100)
        again = first.take(lease)  # ordered after the second consumer's work
        return again.read().result(), np.full_like(values, 115)


def the_next_owner(sim, name):
    array, _ = on_device()
    consumer = NAMED[name]()
    with array.write() as lease, consumer.take(lease) as view:
        kept = late(view)
        view.write(5)
    array.add_index_tuple(stream=memarray.Stream())
    del kept
    return contents(array), 5 + SUMS


def the_next_writer_after_a_reader(sim, name):
    array, values = on_device()
    consumer = NAMED[name]()
    with array.read() as lease, consumer.take(lease) as view:
        kept = late(view)
        reading = view.read()
    array.fill(0)
    del kept
    return reading.result(), values


def the_next_lease_and_its_consumers(sim, name):
    array, values = on_device()
    first, second = NAMED[name](), Consumer()
    with array.write() as lease, first.take(lease) as view:
        kept = late(view)
        view.write(6)
    with array.read(stream=memarray.Stream()) as lease, second.take(lease) as view:
        del kept
        return view.read().result(), np.full_like(values, 6)


def a_consumer_after_a_kernel(sim, name):
    array, values = on_device()
    stream = memarray.Stream()
    for _ in range(4):
        array.add_index_tuple(stream=stream)
    consumer = NAMED[name]()
    with array.read() as lease, consumer.take(lease) as view:
        return view.read().result(), values + 4 * SUMS


def no_order_is_that_of_the_lease(sim, name):
    array, values = on_device()
    stream = memarray.Stream()
    consumer, other = Consumer(stream=stream), NAMED[name]()
    with array.write(stream=stream) as lease:
        view = consumer.take(InItsStream(lease))
        kept = late(view)
        view.write(7)
        second = other.take(lease)
        second.add(1)
        kept += late(second)
        second.add(1)
        view.drop()
        view = consumer.take(InItsStream(lease))
        reading = view.read()
        view.add(1)
        view.drop()
        second.drop()
    array.add_index_tuple()
    seen = np.stack([reading.result(), contents(array)])
    return seen, np.stack([np.full_like(values, 9), 10 + SUMS])


def a_move_to_another_device(sim, name):
    array, values = on_device()
    consumer = NAMED[name]()
    with array.write() as lease, consumer.take(lease) as view:
        kept = late(view)
        view.write(8)
    array.move_memory(kDLCUDA, device_id=1, async_copy=True)
    del kept
    return contents(array), np.full_like(values, 8)


def an_escaped_view_that_is_written_late(sim, name):
    array, _ = on_device()
    with array.write() as lease:
        view = NAMED[name]().take(lease)
    kept = late(view)
    view.write(9)  # still the array's memory: no use since
    array.add_index_tuple()
    view.write(0)  # no longer the array's memory
    del kept
    return contents(array), 9 + SUMS


def an_escaped_view_that_is_dropped_with_reads_queued(sim, name):
    array, values = on_device()
    consumer = NAMED[name]()
    with array.read() as lease:
        view = consumer.take(lease)
    kept = late(view)
    reading = view.read()
    view.drop()
    array.fill(0)  # in place
    del kept
    return reading.result(), values


def several_leases(sim, name):
    first, values = on_device()
    second, _ = on_device()
    consumer, other = NAMED[name](), memarray.Stream()
    with memarray.leases(first.read(stream=other), second.write(stream=other)) as (source, target):
        with consumer.take(source) as read, consumer.take(target) as written:
            kept = late(read)
            reading = read.read()
            written.write(3)
    first.fill(0)
    second.add_index_tuple(stream=other)
    del kept
    return np.stack([reading.result(), contents(second)]), np.stack([values, 3 + SUMS])


def an_array_without_a_lease(sim, name):
    array, values = on_device()
    stream = memarray.Stream()
    for _ in range(4):
        array.add_index_tuple(stream=stream)
    view = NAMED[name]().take(array)
    reading = view.read()
    array.fill(0)  # in other memory
    view.drop()
    array.add_index_tuple()
    return np.stack([reading.result(), contents(array)]), np.stack([values + 4 * SUMS, SUMS])


SCENARIOS = [
    *(exports_under_one_lease, the_next_owner, the_next_writer_after_a_reader, the_next_lease_and_its_consumers),
    *(a_consumer_after_a_kernel, no_order_is_that_of_the_lease, a_move_to_another_device),
    *(an_escaped_view_that_is_written_late, an_escaped_view_that_is_dropped_with_reads_queued, several_leases),
    an_array_without_a_lease,
]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_work_of_consumers_and_owner_is_ordered(simulated_devices, scenario, name):
    simulated_devices.delay(0.002)
    seen, expected = scenario(simulated_devices, name)
    assert np.array_equal(seen, expected), seen


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_every_scenario_detects_dropped_waits(scenario):
    """Shows that the scenarios can fail: at a short delay, unless the machine is busy."""
    for delay in (0.002, 0.02, 0.1):
        sim = simulated_devices()
        try:
            with sim:
                sim.delay(delay)
                sim.drop("cuStreamWaitEvent", times=10_000)
                seen, expected = scenario(sim, "by object")
                lost = not np.array_equal(seen, expected)
        except memarray.testing.Violation:
            lost = True
        if lost:
            return
    raise AssertionError("no lost wait was seen")


# Counts and reports.


def test_lease_without_exports_makes_no_driver_calls(simulated_devices):
    array, _ = on_device()
    calls = simulated_devices.calls()
    with array.read():
        pass
    with array.write():
        pass
    assert simulated_devices.calls() == calls


def test_each_wait_and_each_event_record_is_one_driver_call(simulated_devices):
    array, _ = on_device()
    array.add_index_tuple()
    consumers = [Consumer(stream=memarray.Stream()) for _ in range(2)]

    def calls():
        return tuple(simulated_devices.calls(name) for name in ("cuStreamWaitEvent", "cuEventRecord"))

    with array.read() as lease:
        before = calls()
        with consumers[0].take(lease):
            assert calls() == (before[0] + 1, before[1]), "for the kernel"
            with consumers[1].take(lease):
                assert calls() == (before[0] + 3, before[1] + 1), "for the kernel and the other consumer"
                before = calls()
    assert calls() == (before[0], before[1] + 2), "one for each consumer"
    array.add_index_tuple()
    assert calls() == (before[0] + 2, before[1] + 3)


def test_consumer_on_lease_stream_needs_no_wait(simulated_devices):
    array, _ = on_device()
    stream = memarray.Stream()
    array.add_index_tuple(stream=stream)
    waits = simulated_devices.calls("cuStreamWaitEvent")
    with array.write(stream=stream) as lease, Consumer(stream=stream).take(lease) as view:
        view.write(1)
    array.add_index_tuple(stream=stream)
    assert simulated_devices.calls("cuStreamWaitEvent") == waits


@pytest.mark.parametrize("reads", [False, True])
def test_cuda_array_interface_export_counts_as_lease_stream(reads):
    with simulated_devices(lend_as_cuda=True) as sim:
        array, _ = on_device()
        stream = memarray.Stream()
        records = sim.calls("cuEventRecord")
        with array.read(stream=stream) as lease:
            if reads:
                assert lease.__cuda_array_interface__["stream"] == stream.handle
        assert sim.calls("cuEventRecord") == records + reads
        waits = sim.waits()
        del lease
        array.fill(0)
        assert (sim.waits() != waits) == reads, "the next owner waits for it"
        del array


@pytest.mark.parametrize("refused", [("cuEventRecord",), ("cuEventRecord", "cuCtxSynchronize"), ("cuEventCreate",)])
def test_lease_close_unlocks_even_if_driver_calls_fail(simulated_devices, waits, refused):
    array, values = on_device()
    consumer = Consumer(stream=memarray.Stream())
    simulated_devices.delay(0.002)
    lease = array.write().__enter__()
    with consumer.take(lease) as view:
        kept = late(view)
        view.write(4)
    waits()
    for function in refused:
        # Recorded events are reused.
        simulated_devices.fail(function)
    lease.close()
    assert array.lock_id == -1
    reported = waits()
    if refused[0] == "cuEventRecord":
        assert any("no event could be recorded" in line for line in reported)
    simulated_devices.clear()
    if "cuCtxSynchronize" in refused:
        memarray.synchronize()
    array.add_index_tuple()
    assert np.array_equal(contents(array), 4 + SUMS)
    del kept, values


def in_a_thread(call):
    result = []
    thread = threading.Thread(target=lambda: result.append(call()))
    thread.start()
    thread.join()
    return result.pop()


def test_per_thread_stream_of_other_thread_synchronizes_context(simulated_devices, waits):
    array, _ = on_device()
    consumer = Consumer(stream=2)
    simulated_devices.delay(0.002)
    with array.write() as lease:

        def work():
            view = consumer.take(lease)
            kept = late(view)
            view.write(5)
            return view, kept

        view, kept = in_a_thread(work)
        waits()
    assert len(waits()) == 1, "that thread's stream cannot be recorded here, so the context is synchronised"
    array.add_index_tuple()
    view.drop()
    assert np.array_equal(contents(array), 5 + SUMS)
    del kept
