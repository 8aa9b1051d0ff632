"""Escaped views of device memory, and the later work of their holders' streams."""

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer, simulated_devices
from streams import NAMED, SHAPE, SUMS, InItsStream, WithCudaStream, contents, late, on_device
from support import filled

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("freed", [False, True])
@pytest.mark.parametrize("name", [*NAMED, "no order", "by address, destroyed"])
def test_write_or_free_waits_for_pending_read_of_dropped_view(simulated_devices, waits, name, freed):
    array, values = on_device()
    stream = memarray.Stream()
    if name == "no order":
        consumer = Consumer(stream=stream)
    else:
        consumer = Consumer(stream=stream.handle) if name == "by address, destroyed" else NAMED[name]()
    with array.read(stream=stream if name == "no order" else None) as lease:
        view = consumer.take(InItsStream(lease) if name == "no order" else lease)
    simulated_devices.delay(0.002)
    kept = late(view)
    reading = view.read()
    view.drop()
    waits()
    if name == "by address, destroyed":
        del stream
    is_known = name not in ("by address", "no order", "by address, destroyed")
    if freed:
        del array, lease
        simulated_devices.live()  # completes pending frees
        memarray.stats()
    else:
        array.fill(0)
    assert reading.is_over == (not is_known), "a stream that is known is not waited for by the host"
    reported = waits()
    assert any("unknown streams" in line for line in reported) == (not is_known), reported
    simulated_devices.delay(0)
    assert np.array_equal(reading.result(), values)
    if not freed:
        assert np.array_equal(contents(array), np.zeros(SHAPE))
    del kept


#: Uses that leave a writable view behind, and the contents of the array afterwards.
USES = {
    "look": (lambda a: a.read().__enter__().close(), lambda x: x),
    "kernel": (lambda a: a.add_index_tuple(), lambda x: x + SUMS),
    "copy": (lambda a: a.copy(), lambda x: x),
    "write lease": (lambda a: a.write().__enter__().close(), lambda x: x),
    "write lease elsewhere": (lambda a: a.write("cuda:1").__enter__().close(), lambda x: x),
    "move": (lambda a: a.move_memory(kDLCUDA, device_id=1, async_copy=True), lambda x: x),
    "move to the host": (lambda a: a.move_memory(kDLCPU, async_copy=True), lambda x: x),
    "resize": (lambda a: a.resize([5, 3]), lambda x: np.vstack([x, np.zeros((1, 3), "int64")])),
    "exchange": (lambda a: a.exchange(on_device()[0]), lambda x: filled(SHAPE, "int64")[1]),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["by object", "by address"])
def test_writes_of_escaped_view_after_next_use_do_not_reach_array(simulated_devices, name, use):
    array, _ = on_device()
    with array.write() as lease:
        view = NAMED[name]().take(lease)
    others = [filled(SHAPE, "int64")[0] for _ in range(4)]
    view.write(1)
    simulated_devices.delay(0.002)
    for other in others:  # so that the default stream is late
        other.move_memory(kDLCUDA, async_copy=True)
    call, expected = USES[use]
    call(array)
    view.write(100)
    simulated_devices.delay(0)
    assert_same_values(contents(array), expected(np.ones(SHAPE, "int64")))
    assert_same_values(view.read().result(), np.full(SHAPE, 100))


def test_host_write_of_escaped_view_does_not_reach_device_lease(waits):
    with simulated_devices() as sim:
        array, values = filled(SHAPE, "int64")
        with array.write() as lease:
            view = np.from_dlpack(lease)
        sim.delay(0.002)
        with array.write("cuda:0"):
            view[...] = 100
        sim.delay(0)
        assert_same_values(contents(array), values)
        assert any("escaped view on the host" in line for line in waits())
        del array, lease


def test_kernels_write_new_versions_without_copies(simulated_devices, copies):
    array, values = on_device()
    consumer = Consumer()
    copies()
    history = []
    for _ in range(3):
        with array.read() as lease:
            history.append(consumer.take(lease))
        array.add_index_tuple(stream=memarray.Stream())
    assert copies() == 0
    simulated_devices.delay(0.002)
    seen = [view.read() for view in history]
    array.fill(0)
    for step, reading in enumerate(seen):
        assert_same_values(reading.result(), values + step * SUMS)
    with array.read() as lease:
        kept = consumer.take(lease)
    with array.write():  # the writer may change any element, so the array is copied first
        assert copies() == 1
    with array.write(discard=True):
        assert copies() == 0
    del kept


def test_consumer_stream_waits_for_allocation_of_fresh_memory(simulated_devices):
    array, values = on_device()
    consumer, stream = Consumer(), memarray.Stream()
    kept = consumer.take(array)
    simulated_devices.delay(0.002)
    other, _ = filled(SHAPE, "int64")
    other.move_memory(kDLCUDA, stream=stream, async_copy=True)
    with array.write(stream=stream, discard=True) as lease, consumer.take(lease) as view:
        view.write(4)  # in another stream than that of the allocation
    assert_same_values(contents(array), np.full(SHAPE, 4))
    assert_same_values(kept.read().result(), values)


def test_error_policy_refuses_use_under_escaped_views(simulated_devices):
    array, values = on_device()
    array.escaped_views = "error"
    consumer = Consumer(stream=memarray.Stream())
    with array.read() as lease:
        view = consumer.take(lease)
    for use in (array.add_index_tuple, lambda: array.fill(0), array.write().__enter__):
        with pytest.raises(memarray.LockError, match=r"1 exported view\(s\)"):
            use()
    assert np.array_equal(contents(array), values), "reading goes on"
    simulated_devices.delay(0.002)
    reading = view.read()
    view.drop()
    array.fill(0)
    assert_same_values(reading.result(), values)
    with array.write() as lease:
        view = consumer.take(lease)
    with pytest.raises(memarray.LockError, match="1 writable"):
        array.copy()
    view.write(2)
    view.drop(in_stream=True)
    consumer.synchronize()
    simulated_devices.delay(0)
    consumer.stream().synchronize()
    assert_same_values(contents(array), np.full(SHAPE, 2))


def test_alias_policy_shares_memory_with_escaped_views(simulated_devices, copies):
    array, values = on_device()
    array.escaped_views = "alias"
    consumer = Consumer(stream=memarray.Stream())
    with array.write() as lease:
        view = consumer.take(lease)
    copies()
    array.add_index_tuple()
    memarray.synchronize()
    assert np.array_equal(view.read().result(), values + SUMS), "it shows the array's memory"
    simulated_devices.delay(0.002)
    kept = late(view)
    view.write(3)
    array.add_index_tuple()  # ordered after the write
    assert copies() == 0
    assert_same_values(contents(array), 3 + SUMS)
    del kept


def test_views_on_two_devices_keep_values_after_array_changes(simulated_devices, copies):
    array, values = on_device()
    consumers = [Consumer(stream=memarray.Stream(device)) for device in range(2)]
    views = []
    for device in (0, 1):
        with array.read(f"cuda:{device}", stream=memarray.Stream(device)) as lease:
            views.append(consumers[device].take(lease))
    assert [view.device for view in views] == [(12, 0), (12, 1)]
    simulated_devices.delay(0.002)
    array.fill(0)
    array.move_memory(kDLCUDA, device_id=0)
    for view in views:
        kept = late(view)
        reading = view.read()
        view.drop()
        array.add_index_tuple()
        assert_same_values(reading.result(), values)
    simulated_devices.delay(0)
    assert_same_values(contents(array), 2 * SUMS)
    del kept


@pytest.mark.parametrize("as_object", [memarray.Stream, lambda: WithCudaStream(memarray.Stream())])
def test_stream_object_is_kept_alive_while_its_stream_is_needed(simulated_devices, as_object):
    array, values = on_device()
    streams = simulated_devices.live()["streams"]
    with array.read() as lease:
        reading = Consumer(stream=as_object()).take(lease).read()
        assert simulated_devices.live()["streams"] == streams + 1
    array.fill(0)
    assert_same_values(reading.result(), values)
    array.add_index_tuple()
    del reading
    memarray.synchronize()
    assert_same_values(contents(array), SUMS)
    assert simulated_devices.live()["streams"] <= streams + 1


def test_deleter_in_host_function_makes_no_driver_call(simulated_devices):
    array, values = on_device()
    consumer = Consumer()
    with array.read() as lease:
        view = consumer.take(lease)
    array.fill(0)
    simulated_devices.delay(0.002)
    reading = view.read()
    view.drop(in_stream=True)  # the last owner of its memory
    consumer.stream().synchronize()
    assert_same_values(reading.result(), values)
    assert simulated_devices.violations() == []
