"""Views of device memory lent to others and taken from them: DLPack, __cuda_array_interface__, their streams."""

import gc

import memarray
import numpy as np
import pytest
from memarray import BufferView
from memarray.dlpack import kDLCPU, kDLExtDev
from memarray.testing import Consumer
from test_view_devices import DELAY, SHAPE, fetched, on_device

pytestmark = pytest.mark.sanitize


@pytest.fixture
def as_cuda():
    with memarray.testing.simulated_devices(lend_as_cuda=True) as devices:
        yield devices


def test_dlpack_says_where_it_is(simulated_devices):
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
    """A consumer's wish for memory of the host."""

    def __init__(self, view):
        self.view = view

    def __dlpack_device__(self):
        return (kDLCPU, 0)

    def __dlpack__(self, **_):
        return self.view.__dlpack__(max_version=(1, 0), dl_device=(kDLCPU, 0), copy=True)


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_a_consumer_comes_after_the_view(simulated_devices, copy, named):
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


def test_a_copy_for_no_stream_is_over(simulated_devices):
    view, _ = on_device()
    simulated_devices.delay(DELAY)
    view.fill(8)
    copied = memarray.from_dlpack(view[::2].__dlpack__(max_version=(1, 0), stream=-1, copy=True))
    simulated_devices.delay(0)
    np.testing.assert_array_equal(fetched(copied), np.full((3, 5), 8.0))


def test_cuda_array_interface_both_ways(as_cuda):
    view, values = on_device(dtype="float32")
    part = view[::2, 1:]
    interface = part.__cuda_array_interface__
    assert interface["shape"] == (3, 4) and interface["strides"] == (40, 4) and interface["version"] == 3
    assert interface["data"] == (part.data_ptr, False) and interface["stream"] == 1
    taken = BufferView(CudaObject(interface, part))
    assert (str(taken.device), taken.data_ptr, taken.strides) == ("cuda:0", part.data_ptr, (40, 4))
    np.testing.assert_array_equal(fetched(taken), values[::2, 1:])
    # It has no release: the view itself keeps the memory.
    part.close()
    view.close()
    np.testing.assert_array_equal(fetched(taken), values[::2, 1:])
    assert not hasattr(part, "__cuda_array_interface__")
    assert not hasattr(BufferView.from_numpy(values), "__cuda_array_interface__")


class CudaObject:
    """Anything that shows CUDA memory, for as long as it lives."""

    def __init__(self, interface, owner, **changed):
        self.__cuda_array_interface__ = {**interface, **changed}
        self.owner = owner


def test_an_import_comes_after_the_producers_stream(as_cuda):
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
def test_cuda_array_interfaces_that_lie_are_refused(as_cuda, changed):
    view, values = on_device()
    with pytest.raises(BufferError):
        BufferView(CudaObject(view.__cuda_array_interface__, view, **changed))
    np.testing.assert_array_equal(fetched(view), values)


def test_host_memory_that_says_cuda_is_refused(as_cuda):
    x = np.ones(4)
    with pytest.raises(BufferError, match="no device of this process has memory"):
        BufferView(CudaObject({**x.__array_interface__, "stream": None}, x))


def test_simulated_memory_is_not_cuda(simulated_devices):
    view, _ = on_device()
    assert not hasattr(view, "__cuda_array_interface__")


def test_foreign_memory_is_let_go_of_when_nothing_uses_it(as_cuda):
    view, _ = on_device()
    owner = CudaObject(view.__cuda_array_interface__, view)
    references = gc.get_referrers(owner)
    taken = BufferView(owner)
    as_cuda.delay(0.05)
    copied = taken.copy()
    taken.close()
    assert len(gc.get_referrers(owner)) >= len(references)
    as_cuda.delay(0)
    assert copied.sum() == fetched(view).sum()
    memarray.synchronize()
    memarray.trim()
