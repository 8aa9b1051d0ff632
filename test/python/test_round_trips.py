"""Our views through every library and back: the same memory in every dtype and layout, and let go of once."""

import gc
import itertools
import threading

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from exchange_libraries import CONSUMERS, address, is_available, load
from memarray import BufferView
from support import DTYPES, numpy_dtype, pattern

pytestmark = pytest.mark.sweep
LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "negative strides": lambda x: x[::-1, ::-2],
    "zero strides": lambda x: np.broadcast_to(x[:1], (3, *x.shape)),
    "offset": lambda x: x[2:, 1:],
    "empty": lambda x: x[:0],
    "no dimension": lambda x: x[1, 2:3].reshape(()),
    "rank 8": lambda x: x.reshape(2, 1, 2, 1, 3, 1, 2, 1).transpose(7, 4, 0, 6, 2, 1, 3, 5),
}
#: Those that keep every layout, by the buffer protocol.
BY_BUFFER = ("np.asarray", "memoryview", "array_api_strict.asarray")
LIBRARIES = ("np.from_dlpack", "torch.from_dlpack", "jax.dlpack.from_dlpack", "tvm_ffi.from_dlpack", *BY_BUFFER)


def refusals(library, dtype, layout):
    """What a library may say instead."""
    if dtype == "bfloat16" and library in ("np.from_dlpack", "memoryview", "array_api_strict.asarray"):
        return (Exception,)
    if dtype == "float16" and library == "array_api_strict.asarray":
        return (TypeError,)  # no dtype of the standard's
    if library in BY_BUFFER:
        return ()
    if layout == "negative strides":
        return (BufferError,)
    if library == "jax.dlpack.from_dlpack":
        # It asks for the struct that cannot say read-only, and takes dense memory alone.
        return (BufferError,) if layout == "zero strides" else (load("jax").errors.JaxRuntimeError,)
    return ()


def may_copy(library, layout):
    return library == "jax.dlpack.from_dlpack" and layout in ("offset", "empty", "no dimension", "rank 8", "C", "F")


def there(library):
    if not is_available(CONSUMERS[library][0]):
        pytest.skip(f"{CONSUMERS[library][0]} is not installed")
    return CONSUMERS[library][1]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_layout(library, dtype):
    consume = there(library)
    if library == "jax.dlpack.from_dlpack" and dtype.endswith(("64", "128")) and dtype != "complex64":
        pytest.skip("JAX halves 64-bit numbers")
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    shared = 0
    for layout, change in LAYOUTS.items():
        x = change(pattern((4, 6), dtype))
        view = BufferView.from_numpy(x)
        try:
            theirs = consume(view, x.ndim)
        except Exception as error:
            assert isinstance(error, refusals(library, dtype, layout)), (layout, error)
            continue
        back = BufferView.from_numpy(theirs) if isinstance(theirs, np.ndarray) else BufferView(theirs)
        assert (back.shape, back.dtype) == (x.shape, numpy_dtype(dtype)), layout
        np.testing.assert_array_equal(np.asarray(back), x, err_msg=layout)
        if x.size and (not may_copy(library, layout) or back.data_ptr == view.data_ptr):
            assert back.data_ptr == view.data_ptr == x.ctypes.data, layout
            steps = [(a, b) for a, b, n in zip(back.strides, x.strides, x.shape, strict=True) if n > 1]
            assert all(a == b for a, b in steps), layout
            shared += 1
    assert shared >= (0 if refusals(library, dtype, "C") else 5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_go_there_and_back(dtype):
    """Theirs to us: torch's own tensors, adopted as arrays and lent on to torch."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    t = torch.arange(24).reshape(4, 6).to(getattr(torch, dtype))
    for part in (t, t.T, t[:, ::2], t[1:, 1:], t[:0], t[0, 1], t[:1].expand(3, 6)):
        view = memarray.from_dlpack(part)
        again = torch.from_dlpack(view)
        assert again.shape == part.shape
        assert again.data_ptr() == part.data_ptr() or part.numel() == 0
        assert torch.equal(again, part)
    a = memarray.MemArray.from_dlpack(t)
    assert a.is_foreign
    with a.get_dlpack() as lease:
        assert torch.from_dlpack(lease).data_ptr() == t.data_ptr()


def float_producer():
    producer = Producer()
    producer.managed.tensor.dtype.code = 2
    return producer


def chain(producer):
    """Every step holds the one before, and nothing else does."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    tensor = torch.utils.dlpack.from_dlpack(producer.capsule())
    view = memarray.from_dlpack(tensor)
    x = np.from_dlpack(view)
    array = memarray.MemArray.from_dlpack(x)
    with array.get_dlpack() as lease:
        last = jax.dlpack.from_dlpack(lease)
    last.block_until_ready()
    return [tensor, view, x, array, last]


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::10], ids=str)
def test_a_chain_lets_go_once_whatever_goes_first(order):
    producer = float_producer()
    links = chain(producer)
    where = address(links[0])
    assert address(links[1]) == address(links[2]) == where
    for i in order[:-1]:
        links[i] = None
        gc.collect()
    # JAX makes a copy of memory that is not aligned to 64 bytes; then it holds nobody.
    if order[-1] != 4 or address(links[4]) == where:
        assert producer.deleted == 0
    links.clear()
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.sanitize
def test_a_chain_is_dropped_on_another_thread():
    producer = Producer()
    view = memarray.from_dlpack(producer.capsule())
    links = [view, np.from_dlpack(view[:, 1:]), memarray.MemArray.from_dlpack(view)]
    links.append(links[-1].view())
    del view
    assert producer.deleted == 0
    thread = threading.Thread(target=links.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert producer.deleted == 1
