"""The consumer that other tests use: it does its work and does not help its producer."""

import memarray
import numpy as np
import pytest
from dlpack_structs import name_of, struct_of
from dtype_values import assert_same_values
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer, simulated_devices
from support import DTYPES, NUMPY_DTYPES, filled, look, numpy_dtype, run_python

pytestmark = pytest.mark.sanitize


def on_device(shape=(4, 3), name="float64", device=0):
    array, values = filled(shape, name)
    array.move_memory(kDLCUDA, device_id=device)
    return array, values


def fetched(array):
    array.move_memory(kDLCPU)
    return look(array)


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "bfloat16"])
def test_consumer_reads_and_writes_device_memory(simulated_devices, name):
    array, values = on_device(name=name)
    consumer = Consumer()
    with array.write() as lease, consumer.take(lease) as view:
        assert (view.shape, view.dtype, view.device) == ((4, 3), np.dtype(name), (12, 0))
        assert view.versioned and not view.read_only and not view.is_copy
        before = view.read()
        view.add(1)
        between = view.read()
        view.write(values[::-1])
    assert_same_values(before.result(), values)
    assert_same_values(between.result(), (values + np.asarray(1, name)).astype(name))
    assert_same_values(fetched(array), values[::-1])


@pytest.mark.parametrize("name", ["int32", "complex64"])
def test_consumer_reads_and_writes_host_memory(name):
    array, values = filled((3, 5), name)
    with array.write() as lease, Consumer("cpu").take(lease) as view:
        reading = view.read()
        assert reading.is_over
        view.add(2)
        view.add(-1)
    assert_same_values(reading.result(), values)
    assert_same_values(look(array), values + 1)
    with array.write() as lease, Consumer().take(lease, versioned=False) as view:
        assert not view.versioned
        view.write(5)
    assert_same_values(look(array), np.full((3, 5), 5, name))


def test_consumer_accepts_only_c_order_numpy_arrays():
    view = Consumer().take(np.arange(6.0).reshape(2, 3))
    assert np.array_equal(view.read().result(), np.arange(6.0).reshape(2, 3))
    with pytest.raises(BufferError, match="C order"):
        Consumer().take(np.arange(6.0).reshape(2, 3).T)
    with pytest.raises(BufferError, match="C order"):
        Consumer().take(np.arange(6.0)[::2])


def test_refusals_of_a_consumer_name_what_they_got():
    with pytest.raises(BufferError, match="dimension 1 must have a stride of 1; it has 3"):
        Consumer().take(np.arange(6.0).reshape(2, 3).T)
    vectors = np.arange(3.0).__dlpack__()
    struct_of(vectors).tensor.dtype.lanes = 4
    producer = Producer(np.arange(3.0))
    with pytest.raises(BufferError, match="type code 2 with 64 bits and 4 lanes"):
        Consumer().take(type("Vectors", (Producer,), {"__dlpack__": lambda self, **_: vectors})(np.arange(3.0)))
    Consumer().take(producer)
    used = producer.capsule
    with pytest.raises(ValueError, match='got <capsule object "used_dltensor'):
        Consumer().take(type("Used", (Producer,), {"__dlpack__": lambda self, **_: used})(np.arange(3.0)))


class Producer:
    """A producer that records the requests and exports another object's memory."""

    def __init__(self, producer):
        self.producer = producer
        self.asked = []

    def __dlpack_device__(self):
        return self.producer.__dlpack_device__()

    def __dlpack__(self, **arguments):
        self.asked.append(arguments)
        self.capsule = self.producer.__dlpack__(**arguments)
        return self.capsule


def test_consumer_requests_match_its_configuration(simulated_devices):
    array, _ = on_device()
    with array.write() as lease:
        producer = Producer(lease)
        own = Consumer()
        with own.take(producer):
            assert producer.asked.pop() == {"max_version": (1, 2), "stream": own.stream().handle}
            assert name_of(producer.capsule) == "used_dltensor_versioned"
        with own.take(producer, versioned=False):
            assert producer.asked.pop() == {"stream": own.stream().handle}
            assert name_of(producer.capsule) == "used_dltensor"
        with own.take(producer, copy=True) as view:
            assert producer.asked.pop()["copy"] is True
            assert view.is_copy
        others = [Consumer(stream=stream) for stream in (None, -1, 1, 2)]
        for consumer, stream in zip(others, (None, -1, 1, 2), strict=True):
            with consumer.take(producer):
                assert producer.asked.pop()["stream"] is stream
        assert isinstance(Consumer(stream=-1).stream(), memarray.Stream), "it works in a stream of its own all the same"
        stream = memarray.Stream()
        for given in (stream, stream.handle):
            with Consumer(stream=given).take(producer):
                assert producer.asked.pop()["stream"] is given
        # A stream named by a number must live as long as the lease, so `others` keeps its consumer.
        others += [Consumer("cuda:0")]
        with others[-1].take(producer):
            assert "dl_device" not in producer.asked.pop()
        with pytest.raises(BufferError, match="move_memory"):
            Consumer("cpu").take(producer)
        assert producer.asked.pop()["dl_device"] == (kDLCPU, 0)
        with pytest.raises(BufferError, match="move_memory"):
            Consumer("cuda:1").take(producer)
        assert producer.asked.pop()["dl_device"] == (12, 1)
        with Consumer("cpu").take(producer, copy=True) as view:
            assert view.is_copy and view.device == (kDLCPU, 0)
    with filled((3,))[0].read() as lease:
        producer = Producer(lease)
        with Consumer().take(producer):
            assert producer.asked == [{"max_version": (1, 2)}], "the host has no streams"
    with pytest.raises(ValueError, match="stream"):
        Consumer(stream="theirs")
    del producer, view


def test_consumer_reads_device_memory_exported_as_cuda():
    with simulated_devices(lend_as_cuda=True):
        array, values = on_device(device=1)
        with array.read() as lease, Consumer("cuda:1").take(lease) as view:
            assert view.device == (kDLCUDA, 1)
            assert_same_values(view.read().result(), values)
        del lease, array


def test_consumer_refuses_to_write_read_only_memory(simulated_devices):
    for array, _ in (on_device(), filled((3,))):
        with array.read() as lease, Consumer().take(lease) as view:
            assert view.read_only
            for write in (view.write, view.add):
                with pytest.raises(ValueError, match="read-only"):
                    write(1)
            with pytest.raises(BufferError):
                Consumer().take(lease, versioned=False)


def test_consumer_makes_no_waits_and_records_no_events(simulated_devices):
    array, values = on_device()
    consumer = Consumer()
    with array.read() as lease:
        view = consumer.take(lease)
    waits, records = simulated_devices.waits(), simulated_devices.calls("cuEventRecord")
    simulated_devices.delay(0.05)
    reading = view.read()
    assert not reading.is_over, "it is still to come"
    view.drop()
    assert view.dropped and not reading.is_over, "dropped with work queued"
    simulated_devices.delay(0)
    assert_same_values(reading.result(), values)
    assert reading.is_over
    assert simulated_devices.waits() == waits
    assert simulated_devices.calls("cuEventRecord") == records
    for use in (view.read, lambda: view.write(0), lambda: view.add(0)):
        with pytest.raises(ValueError, match="dropped"):
            use()
    view.drop()


def test_consumer_view_keeps_its_memory_alive(simulated_devices):
    array, values = on_device()
    blocks = memarray.stats()["live_blocks"]
    consumer = Consumer()
    view = consumer.take(array)  # a read lease that closes at once
    array.fill(0)
    assert memarray.stats()["live_blocks"] == blocks + 1
    assert_same_values(view.read().result(), values)
    del view
    assert memarray.stats()["live_blocks"] == blocks


def test_drop_in_stream_releases_memory_after_pending_work(simulated_devices):
    array, values = on_device()
    blocks = memarray.stats()["live_blocks"]
    consumer = Consumer()
    view = consumer.take(array)
    array.fill(0)
    simulated_devices.delay(0.01)
    reading = view.read()
    view.drop(in_stream=True)
    assert view.dropped
    assert memarray.stats()["live_blocks"] == blocks + 1, "not yet"
    consumer.stream().synchronize()
    assert memarray.stats()["live_blocks"] == blocks
    assert_same_values(reading.result(), values)


def test_read_completes_after_its_stream_is_destroyed(simulated_devices):
    array, values = on_device()
    stream = memarray.Stream()
    consumer = Consumer(stream=stream.handle)
    simulated_devices.delay(0.02)
    with array.read() as lease:
        reading = consumer.take(lease).read()
    del stream
    assert_same_values(reading.result(), values)


def test_destroyed_consumer_waits_before_freeing_its_memory(simulated_devices):
    array, _ = on_device()
    simulated_devices.delay(0.02)
    consumer = Consumer()
    with array.read() as lease:
        consumer.take(lease).read()
    del consumer  # its result is not used, but its memory must stay until the read completes
    assert simulated_devices.live()["pinned_memory"] <= 1, "that of the library's own copy"


def test_consumer_synchronize_waits_for_its_work(simulated_devices):
    array, _ = on_device()
    consumer = Consumer()
    simulated_devices.delay(0.02)
    with array.read() as lease:
        reading = consumer.take(lease).read()
    assert not reading.is_over
    consumer.synchronize()
    assert reading.is_over


def test_driver_failures_raise_in_consumer(simulated_devices):
    array, values = on_device()
    consumer = Consumer()
    with array.write() as lease, consumer.take(lease) as view:
        for function in ("cuMemHostAlloc", "cuMemcpyDtoHAsync", "cuLaunchHostFunc"):
            simulated_devices.fail(function, code=2)
            with pytest.raises(memarray.OutOfMemoryError):
                view.read()
            with pytest.raises(memarray.OutOfMemoryError):
                view.add(0)
            simulated_devices.clear()
        simulated_devices.fail("cuLaunchHostFunc")
        with pytest.raises(memarray.OutOfMemoryError):
            view.drop(in_stream=True)
        simulated_devices.clear()
        assert not view.dropped
        assert_same_values(view.read().result(), values)


class Offers:
    """A producer of any given capsule."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return (kDLCPU, 0)

    def __dlpack__(self, **_):
        return self.capsule


def test_bad_capsules_are_refused():
    array, _ = filled((3,))
    with array.read() as lease:
        producer = Producer(lease)
        with Consumer().take(producer):
            for capsule, error in ((None, TypeError), (5, TypeError), (producer.capsule, ValueError)):
                with pytest.raises(error):
                    Consumer().take(Offers(capsule))


@pytest.mark.parametrize("ndim", [1, 2, 6])
@pytest.mark.parametrize("empty", [False, True])
def test_consumer_preserves_shapes_and_values(simulated_devices, ndim, empty):
    shape = (0 if empty else 2, 1, 3, 1, 2, 2)[:ndim]
    array, values = on_device(shape, "int16")
    consumer = Consumer()
    with array.write() as lease, consumer.take(lease) as view:
        view.add(3)
        assert_same_values(view.read().result(), values + 3)
        assert view.read().result().shape == shape


def test_consumer_reads_bfloat16():
    assert set(NUMPY_DTYPES) | {"bfloat16"} == set(DTYPES)
    pytest.importorskip("ml_dtypes")
    array, values = filled((3,), "bfloat16")
    with array.read() as lease, Consumer().take(lease) as view:
        assert view.dtype == numpy_dtype("bfloat16")
        assert view.read().result().tobytes() == values.tobytes()


HOST_TOUCH = """
    import ctypes
    import numpy as np
    import memarray
    from memarray.testing import Consumer, simulated_devices

    with simulated_devices():
        a = memarray.MemArray([5, 2], "int32")
        a.move_memory(memarray.dlpack.kDLCUDA)  # line 9
        with a.read() as lease, Consumer().take(lease) as view:
            print(hex(view.address), flush=True)
            ctypes.string_at(view.address + 8, 4)
"""


def test_host_access_to_device_memory_is_reported(tmp_path):
    program = tmp_path / "misuse.py"
    program.write_text("\n".join(line[4:] for line in HOST_TOUCH.strip("\n").split("\n")))
    done = run_python("import runpy, sys; runpy.run_path(sys.argv[1])", program, check=False)
    assert done.returncode != 0
    address = int(done.stdout.strip(), 16)
    assert f"host touch of simulated device memory: read of {address + 8:#x} on device 0" in done.stderr, done.stderr
    assert "8 bytes into 40 allocated at" in done.stderr
    assert "MemArray<int32, 2> of shape (5, 2)" in done.stderr, "which array"
    assert "misuse.py:8 (<module>)" in done.stderr, "and the line that brought it there"


def test_work_on_freed_memory_raises_violation():
    """Drops the library's waits, which prevent the violation."""
    with pytest.raises(memarray.testing.Violation, match=r"cuMemcpyDtoHAsync: use after free|in use|work used it"):
        with simulated_devices() as sim:
            array, _ = on_device()
            consumers = [Consumer(stream=memarray.Stream()) for _ in range(2)]
            with array.read() as lease:
                views = [consumer.take(lease) for consumer in consumers]
            del array, lease
            sim.delay(0.02)
            readings = [view.read() for view in views[:1]]
            sim.drop("cuStreamWaitEvent", times=1000)
            del views
            sim.live()  # completes pending frees
            for reading in readings:
                reading.result()


@pytest.mark.parametrize("operation", ["write", "add"])
@pytest.mark.parametrize("place", ["host", "device"])
def test_value_that_drops_the_view_is_refused(simulated_devices, operation, place):
    class Dropping:
        def __array__(self, dtype=None, copy=None):
            view.drop()
            return np.asarray(1.0)

    array, _ = on_device() if place == "device" else filled((4, 3))
    with array.write() as lease:
        view = Consumer().take(lease)
    with pytest.raises(ValueError, match="dropped"):
        getattr(view, operation)(Dropping())
    assert view.dropped
