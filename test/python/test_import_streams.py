"""Imports of memory that its producer still writes on a stream: the importer's work is ordered after, in every
protocol."""

import weakref

import dlpack_structs as dl
import memarray
import pytest
from dlpack_producer import ENTRANCES, Producer
from memarray import BufferView
from memarray.dlpack import kDLExtDev
from test_view_devices import DELAY, on_device

pytestmark = pytest.mark.sanitize

#: The last value that a producer writes, after all smaller ones.
LAST = 20


def by_table(view, stream):
    """Returns an object whose type exports `view` over the C exchange API, unordered, and gives `stream` as its
    stream."""
    kind, _ = dl.make_type(lambda shown, out: dl.table_of(BufferView).export(shown.view, out), stream=stream)
    shown = kind()
    shown.view = view
    return shown


class LateProducer(Producer):
    """A producer that writes late on a stream of its own, in memory unknown to memarray. `asked` records the
    requests."""

    def __init__(self, devices):
        view, _ = on_device()
        self.work, self.asked = memarray.Stream(), []
        self.late = view.to_device("cuda:0", stream=self.work)
        place = {"data": self.late.data_ptr, "device": dl.Device(*self.late.__dlpack_device__())}
        super().__init__(**place, dtype=dl.DataType(2, 64, 1), shape=(6, 5), strides=(5, 1))
        memarray.synchronize()
        devices.delay(DELAY)
        # More work than the importer has of its own.
        for value in range(1, LAST + 1):
            self.late.fill(value)

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        event = memarray.Event()
        event.record(self.work)
        event.wait(keywords.get("stream"))
        return self.capsule()

    def stream(self, *device):
        self.asked.append(device)
        return self.work.handle


@pytest.mark.parametrize("fixture", ["simulated_devices", "as_cuda"])
def test_import_passes_default_stream_to_producer(fixture, request):
    producer = LateProducer(request.getfixturevalue(fixture))
    assert memarray.from_dlpack(producer).sum() == LAST * 30
    assert producer.asked == [{"max_version": (1, 3), "stream": 1}]


def test_producer_without_max_version_receives_only_stream(simulated_devices):
    class Old(LateProducer):
        def __dlpack__(self, stream=None):
            return super().__dlpack__(stream=stream)

    producer = Old(simulated_devices)
    assert memarray.from_dlpack(producer).sum() == LAST * 30
    assert producer.asked == [{"stream": 1}]


class KnowsNoStream(LateProducer):
    """A producer like cuDF's, whose `__dlpack__` takes no keywords."""

    def __dlpack__(self):
        return super().__dlpack__()


class RefusesStreams(LateProducer):
    """A producer like TensorFlow's, which refuses streams."""

    def __dlpack__(self, *, stream=None, max_version=None):
        if stream is not None:
            raise RuntimeError("no DLPack export with a non-None stream")
        return super().__dlpack__()


@pytest.mark.parametrize("kind", [KnowsNoStream, RefusesStreams])
def test_producer_without_stream_support_is_called_without_stream(simulated_devices, kind):
    producer = kind(simulated_devices)
    assert memarray.from_dlpack(producer).sum() == LAST * 30
    assert producer.asked == [{}]


def test_persistent_producer_exception_propagates(simulated_devices):
    class Raises(LateProducer):
        def __dlpack__(self, **keywords):
            raise kind("gone")

    producer = Raises(simulated_devices)
    for kind in (RuntimeError, TypeError, OSError):
        with pytest.raises(kind, match="gone"):
            memarray.from_dlpack(producer)


def test_import_waits_for_stream_of_a_table(simulated_devices):
    producer = LateProducer(simulated_devices)
    assert ENTRANCES["the type's table"](producer).sum() == LAST * 30
    assert producer.asked == [(kDLExtDev, 0)]


@pytest.mark.parametrize("words", ["did not report", "device 1|cuda:1"])
def test_table_without_valid_stream_is_refused_and_tensor_dropped(simulated_devices, words):
    view, _ = on_device()
    exported = weakref.ref(view)
    other = memarray.Stream(1)
    said = None if words == "did not report" else other.handle
    shown = by_table(view, lambda *_: said)
    with pytest.raises(BufferError, match=words):
        memarray.from_dlpack(shown)
    before = memarray.stats()["live_blocks"]
    del view, shown
    assert exported() is None
    assert memarray.stats()["live_blocks"] == before - 1


@pytest.mark.parametrize("device_id", [0, 1])
def test_managed_memory_waits_for_its_producer(as_cuda, waits, device_id):
    """DLPack reports managed memory on device 0, whichever device its producer works on."""
    stream, busy = memarray.Stream(device_id), on_device(device=f"cuda:{device_id}")[0]
    late = busy.to_device(f"cuda:{device_id}", stream=stream)
    memarray.synchronize()
    as_cuda.delay(DELAY)
    late.fill(1)
    last = memarray.Event(device_id)
    last.record(stream)
    producer = Producer(device=dl.Device(13, 0))
    producer.stream = lambda *_: stream.handle
    waits()
    taken = ENTRANCES["the type's table"](producer)
    assert (taken.memory_type, str(taken.device), len(waits())) == ("unified", "cpu", 1)
    assert last.query()
    assert taken.sum() == 15
    # Memory unknown to the driver, of an absent device, whose work cannot be waited for.
    nowhere = Producer(device=dl.Device(13, 7))
    with pytest.raises(BufferError, match="cuda:7"):
        memarray.from_dlpack(nowhere)
    assert nowhere.deleted == 1
