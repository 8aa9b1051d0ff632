"""Import and export of views of device memory: DLPack, __cuda_array_interface__, and their streams."""

import weakref

import dlpack_structs as dl
import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from memarray import BufferView, MemArray
from memarray.dlpack import kDLCPU, kDLCUDA, kDLExtDev
from memarray.testing import Consumer
from test_view_devices import DELAY, SHAPE, fetched, on_device

pytestmark = pytest.mark.sanitize


def test_dlpack_reports_the_device(simulated_devices):
    view, values = on_device()
    assert view.__dlpack_device__() == (kDLExtDev, 0)
    with pytest.raises(ValueError, match="stream=0"):
        view.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="copy=True"):
        view.__dlpack__(dl_device=(kDLCPU, 0), max_version=(1, 0))
    np.testing.assert_array_equal(np.from_dlpack(Host(view)), values)
    back = memarray.from_dlpack(view.__dlpack__(max_version=(1, 0), stream=1))
    assert (str(back.device), back.data_ptr) == ("cuda:0", view.data_ptr)
    np.testing.assert_array_equal(fetched(back), values)


class Host:
    """A producer that exports a copy of the view in host memory."""

    def __init__(self, view):
        self.view = view

    def __dlpack_device__(self):
        return (kDLCPU, 0)

    def __dlpack__(self, **_):
        return self.view.__dlpack__(max_version=(1, 0), dl_device=(kDLCPU, 0), copy=True)


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_consumer_is_ordered_after_work_of_the_view(simulated_devices, copy, named):
    view, _ = on_device()
    memarray.synchronize()
    simulated_devices.delay(DELAY)
    for value in (1, 2, 3):
        view.fill(value)
    consumer = Consumer(stream=memarray.Stream() if named else "own")
    seen = consumer.take(view, copy=copy).read()
    for value in (4, 5):
        view.fill(value)
    expected = 3 if copy else {3, 4, 5}
    got = set(np.unique(seen.result()).tolist())
    assert got == {3} if copy else got <= expected
    assert view.max() == 5


def test_copy_exported_without_stream_is_complete(simulated_devices):
    view, _ = on_device()
    simulated_devices.delay(DELAY)
    view.fill(8)
    copied = memarray.from_dlpack(view[::2].__dlpack__(max_version=(1, 0), stream=-1, copy=True))
    simulated_devices.delay(0)
    np.testing.assert_array_equal(fetched(copied), np.full((3, 5), 8.0))


def test_cuda_array_interface_round_trips(as_cuda):
    view, values = on_device(dtype="float32")
    part = view[::2, 1:]
    interface = part.__cuda_array_interface__
    assert interface["shape"] == (3, 4) and interface["strides"] == (40, 4) and interface["version"] == 3
    assert interface["data"] == (part.data_ptr, False) and interface["stream"] == 1
    taken = BufferView(CudaObject(interface, part))
    assert (str(taken.device), taken.data_ptr, taken.strides) == ("cuda:0", part.data_ptr, (40, 4))
    np.testing.assert_array_equal(fetched(taken), values[::2, 1:])
    # The interface has no release call: the view itself keeps the memory alive.
    part.close()
    view.close()
    np.testing.assert_array_equal(fetched(taken), values[::2, 1:])
    assert not hasattr(part, "__cuda_array_interface__")
    assert not hasattr(BufferView.from_numpy(values), "__cuda_array_interface__")


def test_cuda_array_interface_keeps_read_only(as_cuda):
    array = MemArray([4])
    array.move_memory(kDLCUDA)
    view = array.view()
    assert view.__cuda_array_interface__["data"] == (view.data_ptr, True)
    taken = BufferView(CudaObject(view.__cuda_array_interface__, view))
    assert not taken.writable
    assert taken.__cuda_array_interface__["data"][1] is True
    assert not memarray.from_dlpack(taken.__dlpack__(max_version=(1, 0), stream=1)).writable
    with pytest.raises(BufferError, match="read-only"):
        taken.fill(1)
    with pytest.raises(BufferError, match="read-only"):
        MemArray.from_dlpack(taken, copy=False)


class CudaObject:
    """A producer of CUDA memory that keeps the owner alive."""

    def __init__(self, interface, owner, **changed):
        self.__cuda_array_interface__ = {**interface, **changed}
        self.owner = owner


def test_import_is_ordered_after_producers_stream(as_cuda):
    view, _ = on_device()
    producer = memarray.Stream()
    late = view.to_device("cuda:0", stream=producer)
    memarray.synchronize()
    as_cuda.delay(DELAY)
    for value in (1, 2, 6):
        late.fill(value)
    interface = late.__cuda_array_interface__
    assert interface["stream"] == producer.handle
    taken = BufferView(CudaObject(interface, late))
    assert taken.sum() == 6 * 30
    # Without a stream there is nothing to wait for.
    assert BufferView(CudaObject(interface, late, stream=None)).shape == SHAPE
    # The protocol's numbers of the default streams: the legacy one and the per-thread one.
    for default in (1, 2):
        assert BufferView(CudaObject(interface, late, stream=default)).sum() == 6 * 30


@pytest.mark.parametrize("way", ["another stream", "exported", "adopted"])
def test_every_use_of_import_is_ordered_after_the_producer(as_cuda, way):
    view, _ = on_device()
    late = view.to_device("cuda:0", stream=memarray.Stream())
    memarray.synchronize()
    as_cuda.delay(DELAY)
    for value in (1, 2, 6):
        late.fill(value)
    taken = BufferView(CudaObject(late.__cuda_array_interface__, late))
    elsewhere = memarray.Stream()
    if way == "another stream":
        total = taken.to_device("cuda:0", stream=elsewhere).sum()
    elif way == "exported":
        total = Consumer(stream=elsewhere).take(taken).read().result().sum()
    else:
        adopted = MemArray.from_dlpack(taken)
        adopted.add_index_tuple(stream=elsewhere)
        total = taken.sum() - sum(i + j for i in range(6) for j in range(5))
    assert total == 6 * 30


def test_array_adopts_contiguous_device_memory(simulated_devices, copies):
    view, _ = on_device()
    copies()
    array = MemArray.from_dlpack(view)
    assert copies() == 0
    assert array.is_foreign and str(array.device) == "cuda:0"
    for stream in (memarray.Stream(), memarray.Stream()):
        array.add_index_tuple(stream=stream)
        view.fill(1)
    simulated_devices.delay(DELAY)
    array.add_index_tuple(stream=memarray.Stream())
    expected = 1 + np.add.outer(np.arange(6.0), np.arange(5.0))
    np.testing.assert_array_equal(fetched(view), expected)
    with array.read("cpu") as lease:
        np.testing.assert_array_equal(np.asarray(lease), expected)
    # Not contiguous: copied on its device.
    copies()
    part = MemArray.from_dlpack(view[::2])
    assert (copies(), part.is_foreign, str(part.device)) == (1, False, "cuda:0")
    part.fill(0)
    np.testing.assert_array_equal(fetched(view), expected)
    with pytest.raises(BufferError, match="not dense"):
        MemArray.from_dlpack(view.T, copy=False)


@pytest.mark.parametrize("policy", ["snapshot", "error", "alias"])
def test_escaped_views_of_adopted_device_memory_follow_the_policy(simulated_devices, policy, copies):
    view, values = on_device()
    array = MemArray.from_dlpack(view)
    array.escaped_views = policy
    with array.read(stream=memarray.Stream()) as lease:
        kept = lease.view()
    if policy == "error":
        with pytest.raises(memarray.LockError, match="exported view"):
            array.fill(1)
    else:
        copies()
        with array.write(stream=memarray.Stream()) as lease, lease.view() as written:
            written[:1].fill(9)
        assert (copies(), array.is_foreign) == ((0, True) if policy == "alias" else (1, False))
        values[:1] = 9 if policy == "alias" else values[:1]
    np.testing.assert_array_equal(fetched(kept), values)
    np.testing.assert_array_equal(fetched(view), values)


def test_adopted_device_memory_is_released_after_pending_work(simulated_devices):
    view, _ = on_device()
    array = MemArray.from_dlpack(view)
    view.close()
    simulated_devices.delay(DELAY)
    array.add_index_tuple(stream=memarray.Stream())
    del array
    again, values = on_device()
    np.testing.assert_array_equal(fetched(again), values)


@pytest.mark.parametrize(
    "changed",
    [
        {"stream": 0},
        {"stream": -1},
        {"stream": "1"},
        {"data": (64, False)},
        {"data": (0, False)},
        {"data": "here"},
        {"shape": (-1, 5)},
        {"shape": (2**40, 2**40)},
        {"typestr": "<q9"},
        {"strides": (1, 8)},
        {"mask": 1},
    ],
    ids=str,
)
def test_invalid_cuda_array_interface_is_refused(as_cuda, changed):
    view, values = on_device()
    with pytest.raises(BufferError):
        BufferView(CudaObject(view.__cuda_array_interface__, view, **changed))
    np.testing.assert_array_equal(fetched(view), values)


def test_host_memory_declared_as_cuda_is_refused(as_cuda):
    x = np.ones(4)
    with pytest.raises(BufferError, match="no device of this process has memory"):
        BufferView(CudaObject({**x.__array_interface__, "stream": None}, x))


def test_simulated_memory_has_no_cuda_array_interface(simulated_devices):
    view, _ = on_device()
    assert not hasattr(view, "__cuda_array_interface__")


def test_foreign_memory_is_released_after_pending_work(as_cuda):
    view, values = on_device()
    owner = CudaObject(view.__cuda_array_interface__, view)
    alive = weakref.ref(owner)
    taken = BufferView(owner)
    del owner
    as_cuda.delay(0.1)
    copied = taken.copy()
    taken.close()
    memarray.MemArray([1])  # an ordinary call, which releases blocks whose work is done
    assert alive(), "the owner may use its memory for something else now, and the copy still reads it"
    memarray.synchronize()
    memarray.MemArray([1])
    assert not alive()
    np.testing.assert_array_equal(fetched(copied), values)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"device": (kDLExtDev, 1)}, "is on cuda:0"),
        ({"device": (kDLCUDA, 1)}, "is on cuda:0"),
        ({"device": (kDLExtDev, 9)}, "is on cuda:0"),
        ({"device": (kDLExtDev, -1)}, "device id"),
        ({"data": 64}, "no device of this process has memory"),
        ({"strides": (1 << 40, 1)}, "import"),
    ],
    ids=str,
)
def test_tensor_with_wrong_device_is_refused(simulated_devices, wrong, words):
    view, values = on_device()
    device = dl.Device(*wrong.get("device", (kDLExtDev, 0)))
    strides = wrong.get("strides", (5, 1))
    producer = Producer(data=wrong.get("data", view.data_ptr), device=device, shape=(6, 5), strides=strides)
    if "strides" in wrong:
        producer.managed.tensor.shape[0] = 1 << 40
    with pytest.raises(BufferError, match=words):
        memarray.from_dlpack(producer)
    assert producer.deleted == 1
    np.testing.assert_array_equal(fetched(view), values)


def test_empty_tensor_on_missing_device_is_refused(simulated_devices):
    producer = Producer(data=None, device=dl.Device(kDLExtDev, 9), shape=(0, 5))
    with pytest.raises(BufferError, match="cuda:9"):
        memarray.from_dlpack(producer)
    assert producer.deleted == 1


def test_unknown_extension_device_is_refused():
    producer = Producer(device=dl.Device(kDLExtDev, 0))
    with pytest.raises(BufferError, match="extension device"):
        memarray.from_dlpack(producer)
    assert producer.deleted == 1


def test_view_that_a_conversion_of_dl_device_closes_is_refused(simulated_devices):
    class Index:
        def __index__(self):
            view.close()
            return 1

    for wanted in ((Index(), 0), (12, Index())):
        view = memarray.BufferView(np.zeros(3)).to_device("cuda:0")
        with pytest.raises(ValueError, match="closed"):
            view.__dlpack__(max_version=(1, 0), dl_device=wanted)
