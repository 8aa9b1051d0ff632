"""Views through every library and back: the memory in every dtype and layout, released exactly once."""

import ctypes
import gc
import itertools
import threading
from dataclasses import dataclass
from types import SimpleNamespace

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from dlpack_structs import view_through_table
from dtype_values import assert_same_values, edges
from exchange_libraries import CONSUMERS, Jitted, address, is_available, load
from memarray import BufferView
from support import DTYPES, numpy_dtype, pattern, small_numbers

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
ALL = tuple(LAYOUTS)
FORWARD = tuple(layout for layout in ALL if layout != "negative strides")
WRITABLE = tuple(layout for layout in FORWARD if layout != "zero strides")
IN_ONE_PIECE = ("C", "F", "empty", "no dimension")


@dataclass(frozen=True)
class Takes:
    """The behaviour of a library with memarray's views, asserted for every dtype and layout."""

    #: Layouts that it accepts without a copy.
    shares: tuple[str, ...]
    #: Errors that it may raise for the others.
    says: tuple[str, ...] = ()
    #: Layouts that it may copy instead.
    copies: tuple[str, ...] = ()
    #: Dtypes that it does not support.
    without: tuple[str, ...] = ()
    #: The only dtypes, if it is compiled for some.
    dtypes: tuple[str, ...] = tuple(DTYPES)
    #: The only ranks, if it is compiled for some.
    ranks: tuple[int, ...] = tuple(range(9))
    #: True if it takes only the memory, without shape and dtype.
    flat: bool = False


LIBRARIES = {
    "np.from_dlpack": Takes(FORWARD, says=("BufferError",), without=("bfloat16",)),
    "np.asarray": Takes(ALL),
    "memoryview": Takes(ALL, without=("bfloat16",)),
    "torch.from_dlpack": Takes(FORWARD, says=("BufferError",)),
    # torch takes a buffer as a list of numbers.
    "torch.asarray": Takes(("C",), says=("RuntimeError", "ValueError"), copies=("no dimension",), flat=True),
    # JAX asks for the DLPack struct that has no read-only flag.
    "jax.dlpack.from_dlpack": Takes(
        ("C", "F", "rank 8"), says=("BufferError", "JaxRuntimeError"), copies=("empty", "no dimension", "offset")
    ),
    "jnp.asarray": Takes((), copies=ALL),
    "tvm_ffi.from_dlpack": Takes(FORWARD, says=("BufferError",)),
    "array_api_strict.asarray": Takes(ALL, without=("float16", "bfloat16")),
    "array_api_strict.from_dlpack": Takes(FORWARD, says=("BufferError",), without=("float16", "bfloat16")),
    "MPI.buffer.frombuffer": Takes(IN_ONE_PIECE, says=("BufferError",), flat=True),
    "MPI.buffer.frombuffer(…, readonly=True)": Takes(IN_ONE_PIECE, says=("BufferError",), flat=True),
    "pyarrow.py_buffer": Takes(IN_ONE_PIECE, says=("BufferError",), flat=True),
}
HALVES = ("float16", "bfloat16")
SHORT_OF_HALVES = tuple(dtype for dtype in DTYPES if dtype not in HALVES)
# Compiled for each dtype, rank and layout, some of them on first use.
COMPILED = {
    "numba.njit(f)": Takes(
        ("C", "F", "negative strides", "offset", "empty"),
        ranks=(1, 2),
        without=("bool", "float16", "bfloat16"),
        says=("NumbaValueError", "BufferError"),
    ),
    "nb::ndarray<float>": Takes(
        tuple(layout for layout in ALL if layout != "zero strides"),
        dtypes=SHORT_OF_HALVES,
        says=("BufferError", "TypeError"),
    ),
    "nb::ndarray<float const>": Takes(ALL, dtypes=SHORT_OF_HALVES),
    "Cython's float[:]": Takes(ALL, dtypes=SHORT_OF_HALVES, ranks=(1, 2)),
    "Cython's const float[:]": Takes(ALL, dtypes=SHORT_OF_HALVES, ranks=(1, 2)),
}
CASES = [
    pytest.param(library, dtype, id=f"{library}-{dtype}", marks=[pytest.mark.slow] if library in COMPILED else [])
    for library, takes in {**LIBRARIES, **COMPILED}.items()
    for dtype in takes.dtypes
]


@pytest.fixture
def wide_jax():
    """Enables JAX's 64-bit numbers."""
    if not is_available("jax"):
        yield
        return
    before = load("jax.config").jax_enable_x64
    load("jax.config").update("jax_enable_x64", True)
    yield
    load("jax.config").update("jax_enable_x64", before)


def check_lies_as(view, x, layout):
    """Checks that the view has the memory of `x`, element for element."""
    assert view.data_ptr == x.ctypes.data, layout
    steps = [(a, b) for a, b, n in zip(view.strides, x.strides, x.shape, strict=True) if n > 1]
    assert all(a == b for a, b in steps), layout


def aligned(dtype):
    """Returns memory of our own with edge values, aligned to 64 bytes as JAX needs it."""
    values, all_edges = small_numbers((4, 6), dtype), edges(dtype)
    values[:, 1::2].flat[:] = all_edges[np.linspace(0, len(all_edges) - 1, 12).astype(int)]
    return np.asarray(BufferView.from_numpy(values).copy())


def there(library):
    if not is_available(CONSUMERS[library][0]):
        pytest.skip(f"{CONSUMERS[library][0]} is not installed")
    return CONSUMERS[library][1]


@pytest.mark.parametrize(("library", "dtype"), CASES)
def test_export_to_library_keeps_every_dtype_and_layout(library, dtype, wide_jax):
    consume = there(library)
    takes = {**LIBRARIES, **COMPILED}[library]
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    for layout, change in LAYOUTS.items():
        x = change(aligned(dtype))
        if x.ndim not in takes.ranks:
            continue
        view = BufferView.from_numpy(x)
        try:
            theirs = consume(view, x.ndim)
        except Exception as error:
            assert dtype in takes.without or layout not in takes.shares, (layout, error)
            assert dtype in takes.without or type(error).__name__ in takes.says, (layout, error)
            continue
        assert dtype not in takes.without, layout
        assert layout in takes.shares or layout in takes.copies, layout
        if takes.flat:
            assert ctypes.string_at(address(theirs), x.nbytes) == x.tobytes("A"), layout
        elif isinstance(theirs, Jitted):
            np.testing.assert_array_equal(theirs.elements, x, err_msg=layout)
        else:
            back = BufferView.from_numpy(theirs) if isinstance(theirs, np.ndarray) else BufferView(theirs)
            assert (back.shape, back.dtype) == (x.shape, numpy_dtype(dtype)), layout
            assert_same_values(np.asarray(back), x, layout)
            if layout in takes.shares and x.size:
                check_lies_as(view, x, layout)
                check_lies_as(back, x, layout)
        if layout in takes.shares and x.size:
            assert address(theirs) == view.data_ptr, layout


#: Makers of a library's own object from a NumPy array, with the layouts it supports and the dtypes it lacks.
THEIRS = {
    "torch": ("torch", lambda x: load("torch").from_numpy(x), FORWARD, ("bfloat16",)),
    "tvm_ffi": ("tvm_ffi", lambda x: load("tvm_ffi").from_dlpack(x), WRITABLE, ("bfloat16",)),
    "array_api_strict": (
        "array_api_strict", lambda x: load("array_api_strict").asarray(x, copy=False), ALL, ("float16", "bfloat16")
    ),
    "jax": ("jax", lambda x: load("jax.numpy").array(x), ALL, ()),
    "memoryview": ("builtins", memoryview, ALL, ("bfloat16",)),
    "pyarrow.Tensor": (
        "pyarrow", lambda x: load("pyarrow").Tensor.from_numpy(x), FORWARD,
        ("bool", "bfloat16", "complex64", "complex128"),
    ),
    "nb::ndarray": ("nanobind", lambda x: CONSUMERS["nb::ndarray<float>"][1](x, x.ndim), WRITABLE, HALVES),
    "Cython's T[:]": (
        "Cython", lambda x: CONSUMERS["Cython's float[:]"][1](x, x.ndim),
        ("C", "F", "negative strides", "offset", "empty"), HALVES,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "library",
    [
        pytest.param(name, marks=[pytest.mark.slow] if THEIRS[name][0] in ("nanobind", "Cython") else [])
        for name in THEIRS
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_import_from_library_keeps_every_dtype_and_layout(library, dtype, wide_jax):
    module, make, layouts, without = THEIRS[library]
    if not is_available(module) or dtype in without:
        pytest.skip(f"{library} is not installed, or has no {dtype}")
    for layout in layouts:
        x = LAYOUTS[layout](aligned(dtype))
        x = x.copy() if layout == "zero strides" and library == "torch" else x  # torch warns about read-only arrays
        theirs = make(x)
        for take in (BufferView, memarray.from_dlpack) if hasattr(theirs, "__dlpack__") else (BufferView,):
            if layout == "negative strides" and take is memarray.from_dlpack and library != "jax":
                continue  # NumPy exports no negative strides, nor do libraries based on it
            view = take(theirs)
            assert (view.shape, view.dtype) == (x.shape, numpy_dtype(dtype)), layout
            assert_same_values(np.asarray(view), x, layout)
            if x.size:
                assert view.data_ptr == address(theirs), layout
                assert library == "jax" or view.data_ptr == x.ctypes.data, layout
            assert view.writable == (library != "jax" and x.flags.writeable), layout


#: Round trips by a protocol alone, without a library.
PROTOCOLS = {
    "__array_interface__": lambda view: BufferView(
        SimpleNamespace(__array_interface__=view.__array_interface__, kept=view)
    ),
    "exchange table": lambda view: view_through_table(view, BufferView),
    "capsule": lambda view: memarray.from_dlpack(view.__dlpack__(max_version=(1, 0))),
    "buffer": lambda view: BufferView.from_buffer(view),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_protocols_carry_every_dtype_and_layout(protocol, dtype):
    if dtype == "bfloat16" and protocol in ("buffer", "__array_interface__"):
        pytest.skip("bfloat16 has no name there")
    for layout in ALL if protocol in ("buffer", "__array_interface__") else FORWARD:
        x = LAYOUTS[layout](aligned(dtype))
        view = PROTOCOLS[protocol](BufferView.from_numpy(x))
        assert (view.shape, view.dtype, view.writable) == (x.shape, x.dtype, x.flags.writeable), layout
        if x.size:
            check_lies_as(view, x, layout)
        assert_same_values(np.asarray(view), x, layout)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bfloat16"])
def test_cuda_array_interface_keeps_every_dtype_and_layout(dtype):
    with memarray.testing.simulated_devices(lend_as_cuda=True):
        for layout in ALL:
            there = BufferView.from_numpy(aligned(dtype)).to_device("cuda:0")
            # Views are broadcast by their own method, not NumPy's.
            part = there[:1].broadcast_to(3, 4, 6) if layout == "zero strides" else LAYOUTS[layout](there)
            x = LAYOUTS[layout](aligned(dtype))
            taken = BufferView(SimpleNamespace(__cuda_array_interface__=part.__cuda_array_interface__, kept=part))
            assert (taken.shape, taken.dtype, str(taken.device)) == (x.shape, x.dtype, "cuda:0"), layout
            assert taken.data_ptr == part.data_ptr or not x.size, layout
            assert_same_values(np.array(taken.to_device("cpu")), x, layout)
            del there, part, taken


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_memory_round_trips_without_copy(dtype):
    """Other libraries' memory to memarray: torch's tensors, adopted as arrays and exported back to torch."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    t = torch.from_numpy(pattern((6, 6), dtype).view("uint8")).view(getattr(torch, dtype)).clone()
    for part in (t, t.T, t[:, ::2], t[1:, 1:], t[:0], t[0, 1], t[:1].expand(3, 6)):
        view = memarray.from_dlpack(part)
        again = torch.from_dlpack(view)
        assert again.shape == part.shape
        assert again.data_ptr() == part.data_ptr() or part.numel() == 0
        assert torch.equal(*(tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (again, part)))
    a = memarray.MemArray.from_dlpack(t)
    assert a.is_foreign
    with a.get_dlpack() as lease:
        assert torch.from_dlpack(lease).data_ptr() == t.data_ptr()


def float_producer():
    producer = Producer()
    producer.managed.tensor.dtype.code = 2
    return producer


def chain(producer):
    """Returns objects each of which alone holds the one before."""
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


ORDERS = [
    pytest.param(order, id=str(order), marks=[pytest.mark.slow] if i % 20 else [])
    for i, order in enumerate(itertools.permutations(range(5)))
]


@pytest.mark.parametrize("order", ORDERS)
def test_chain_of_views_releases_producer_once_in_any_order(order):
    producer = float_producer()
    links = chain(producer)
    where = address(links[0])
    assert address(links[1]) == address(links[2]) == address(links[4]) == where
    for i in order[:-1]:
        links[i] = None
        gc.collect()
        assert producer.deleted == 0
    links.clear()
    gc.collect()
    assert producer.deleted == 1


@pytest.mark.sanitize
def test_chain_of_views_may_be_dropped_on_another_thread():
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
