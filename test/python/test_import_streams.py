"""Memory that its producer still writes, on a stream of its own: whoever takes it comes after, however it is lent."""

import weakref

import dlpack_structs as dl
import memarray
import pytest
from dlpack_producer import ENTRANCES, Producer
from memarray import BufferView
from memarray.dlpack import kDLExtDev
from test_view_devices import DELAY, on_device

pytestmark = pytest.mark.sanitize


def by_table(view, stream):
    """An object whose type lends `view` over the C exchange API, in no order, and says `stream` for its library's."""
    kind, _ = dl.make_type(lambda shown, out: dl.table_of(BufferView).lend(shown.view, out), stream=stream)
    shown = kind()
    shown.view = view
    return shown


def without_order(view):
    """The same memory in a capsule that nobody has put in order: for a stream that has nothing to do."""
    return view.__dlpack__(max_version=(1, 0), stream=-1)


class LateProducer:
    """Lends what it writes late in a stream of its own; `asked` is what a consumer said."""

    def __init__(self, devices):
        view, _ = on_device()
        self.stream = memarray.Stream()
        self.late = view.to_device("cuda:0", stream=self.stream)
        self.asked = []
        memarray.synchronize()
        # Handed out before there is any work, so that nothing but what is said orders who takes it.
        self.capsule = without_order(self.late)
        devices.delay(DELAY)
        for value in (1, 2, 6):
            self.late.fill(value)

    def __dlpack_device__(self):
        return self.late.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        event = memarray.Event()
        event.record(self.stream)
        event.wait(keywords.get("stream"))
        return self.capsule


@pytest.mark.parametrize("fixture", ["simulated_devices", "as_cuda"])
def test_a_producer_is_asked_for_the_default_stream(fixture, request):
    producer = LateProducer(request.getfixturevalue(fixture))
    assert memarray.from_dlpack(producer).sum() == 6 * 30
    assert producer.asked == [{"max_version": (1, 3), "stream": 1}]


def test_producers_from_before_max_version_are_asked_for_the_stream_alone(simulated_devices):
    asked = []

    class Old(LateProducer):
        def __dlpack__(self, stream=None):
            asked.append(stream)
            return super().__dlpack__(stream=stream)

    assert memarray.from_dlpack(Old(simulated_devices)).sum() == 6 * 30
    assert asked == [1]


def test_the_stream_of_a_table_is_waited_for(simulated_devices):
    producer = LateProducer(simulated_devices)
    said = []

    def stream(*device):
        said.append(device)
        return producer.stream.handle

    kind, _ = dl.make_type(lambda shown, out: hand_out(producer.capsule, out), stream=stream)
    assert memarray.from_dlpack(kind()).sum() == 6 * 30
    assert said == [(kDLExtDev, 0)]


def hand_out(capsule, out):
    out[0] = dl.ManagedPointer(dl.Taken(capsule).managed)
    return 0


@pytest.mark.parametrize("words", ["did not say", "device 1|cuda:1"])
def test_a_table_without_a_good_stream_is_told_and_its_tensor_dropped(simulated_devices, words):
    view, _ = on_device()
    lent = weakref.ref(view)
    other = memarray.Stream(1)
    shown = by_table(view, lambda *_: None if words == "did not say" else other.handle)
    with pytest.raises((BufferError, ValueError), match=words):
        memarray.from_dlpack(shown)
    before = memarray.stats()["live_blocks"]
    del view, shown
    assert lent() is None
    assert memarray.stats()["live_blocks"] == before - 1


def test_managed_memory_waits_for_its_producer(as_cuda, waits):
    stream, busy = memarray.Stream(), on_device()[0]
    late = busy.to_device("cuda:0", stream=stream)
    memarray.synchronize()
    as_cuda.delay(DELAY)
    late.fill(1)
    last = memarray.Event()
    last.record(stream)
    producer = Producer(device=dl.Device(13, 0))
    producer.stream = lambda *_: stream.handle
    waits()
    taken = ENTRANCES["the type's table"](producer)
    assert (taken.memory_type, str(taken.device), len(waits())) == ("unified", "cpu", 1)
    assert last.query()
    assert taken.sum() == 15
    # Of a device that is not there, whose work nobody could wait for.
    nowhere = Producer(device=dl.Device(13, 7))
    with pytest.raises(BufferError, match="cuda:7"):
        memarray.from_dlpack(nowhere)
    assert nowhere.deleted == 1
