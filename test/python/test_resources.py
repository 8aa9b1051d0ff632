"""Streams, events and memory pools on simulated devices, and the errors without a device."""

import gc

import memarray
import pytest

pytestmark = pytest.mark.sanitize


def test_creating_resource_without_device_raises_cuda_error():
    if memarray.cuda.is_available():
        pytest.skip("this machine has a device")
    for make in (memarray.Stream, memarray.Event, memarray.MemoryPool):
        with pytest.raises(memarray.CudaError, match=r"cuda:0 failed: .*driver") as caught:
            make()
        assert caught.value.code != 0
    memarray.synchronize()


def test_stream_reports_its_device_and_handle(simulated_devices):
    stream = memarray.Stream(1, priority=-1)
    assert str(stream.device) == "cuda:1"
    assert stream.handle > 2
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert repr(stream) == f"<memarray.Stream {stream.handle} on cuda:1>"
    stream.synchronize()
    assert simulated_devices.calls("cuStreamSynchronize") == 1
    other = memarray.Stream(1)
    assert stream == stream and stream != other and len({stream, other, stream}) == 2
    assert stream != 1


@pytest.mark.parametrize("device", [-1, 2, 1000])
@pytest.mark.parametrize("kind", ["Stream", "Event", "MemoryPool"])
def test_resource_on_missing_device_is_refused(simulated_devices, kind, device):
    expected = ValueError if device < 0 else memarray.CudaError
    with pytest.raises(expected, match=str(device)):
        getattr(memarray, kind)(device)
    for wrong in ("cuda:0", 1.5, None):
        with pytest.raises(TypeError):
            getattr(memarray, kind)(wrong)


def test_event_completes_after_recorded_work(simulated_devices):
    stream = memarray.Stream()
    event = memarray.Event()
    assert event.query(), "never recorded: there is nothing to wait for"
    event.record(stream)
    event.synchronize()
    assert event.query()
    assert not event.timing
    another = stream.record()
    assert isinstance(another, memarray.Event)
    memarray.Stream().wait(another)
    assert simulated_devices.calls("cuStreamWaitEvent") == 1
    memarray.synchronize()
    assert another.query()


def test_elapsed_time_is_in_seconds(simulated_devices):
    stream = memarray.Stream()
    start, end = memarray.Event(timing=True), memarray.Event(timing=True)
    start.record(stream)
    end.record(stream)
    end.synchronize()
    assert 0 <= start.elapsed(end) < 10
    with pytest.raises(memarray.CudaError, match="time between two events"):
        start.elapsed(memarray.Event())


class Stream:
    """A stream of another library."""

    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


def test_streams_of_other_libraries_are_accepted(simulated_devices):
    mine = memarray.Stream()
    event = memarray.Event()
    for stream in (mine.handle, Stream((0, mine.handle)), 0, 1, 2, None):
        event.record(stream)
        event.wait(stream)
        event.synchronize()
    gc.collect()
    for stream in ("0", 1.5, True, Stream(7)):
        with pytest.raises(TypeError):
            event.record(stream)
    with pytest.raises(ValueError):
        event.record(-5)
    with pytest.raises(OverflowError):
        event.record(2**64)
    for answer in ((0, "x"), (0, None), ("0", mine.handle), (0, 1, 2)):
        with pytest.raises(TypeError):
            event.record(Stream(answer))


def test_memory_pool_reports_statistics(simulated_devices):
    pool = memarray.MemoryPool(release_threshold=1 << 20)
    assert pool.stats() == dict.fromkeys(pool.stats(), 0)
    assert set(pool.stats()) == {"reserved_bytes", "reserved_bytes_high", "used_bytes", "used_bytes_high"}
    pool.trim()
    assert str(pool.device) == "cuda:0"
    assert repr(pool).endswith("on cuda:0>")


@pytest.mark.simulated_devices(count=1, pools=False)
def test_memory_pool_is_refused_on_device_without_pools(simulated_devices):
    with pytest.raises(memarray.CudaError, match="making a memory pool") as caught:
        memarray.MemoryPool()
    assert caught.value.code == 801


@pytest.mark.parametrize("code", [2, 719])
@pytest.mark.parametrize(
    ("function", "use"),
    [
        ("cuStreamCreateWithPriority", lambda stream, event: memarray.Stream()),
        ("cuEventCreate", lambda stream, event: memarray.Event()),
        ("cuEventCreate", lambda stream, event: stream.record()),
        ("cuMemPoolCreate", lambda stream, event: memarray.MemoryPool()),
        ("cuEventRecord", lambda stream, event: event.record(stream)),
        ("cuStreamWaitEvent", lambda stream, event: stream.wait(event)),
        ("cuStreamSynchronize", lambda stream, event: stream.synchronize()),
        ("cuEventSynchronize", lambda stream, event: event.synchronize()),
        ("cuEventQuery", lambda stream, event: event.query()),
        ("cuCtxSynchronize", lambda stream, event: memarray.synchronize()),
    ],
)
def test_driver_error_is_raised_and_leaks_nothing(simulated_devices, function, use, code):
    stream, event = memarray.Stream(), memarray.Event()
    before = simulated_devices.live()
    simulated_devices.fail(function, code=code)
    with pytest.raises(memarray.OutOfMemoryError if code == 2 else memarray.CudaError) as caught:
        use(stream, event)
    assert caught.value.code == code
    assert simulated_devices.live() == before
    simulated_devices.clear()
    use(stream, event)


def test_resources_may_be_destroyed_in_any_order(simulated_devices):
    import itertools

    for order in itertools.permutations(range(3)):
        made = [memarray.Stream(), memarray.Event(), memarray.MemoryPool()]
        made[1].record(made[0])
        for index in order:
            made[index] = None
    assert simulated_devices.live() == dict.fromkeys(simulated_devices.live(), 0)
