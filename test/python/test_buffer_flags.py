"""The buffer protocol compared with NumPy's and memoryview's, for every layout and every combination of flags."""

import contextlib
import ctypes
import hashlib
import itertools

import memarray
import numpy as np
import pytest
from exchange_libraries import extension, is_there, load
from support import filled
from test_buffer import ANY_CONTIGUOUS, C_CONTIGUOUS, F_CONTIGUOUS, FORMAT, ND, STRIDES, WRITABLE, get_buffer, release

_base = np.arange(24, dtype="int16").reshape(2, 3, 4)
LAYOUTS = {
    "0-d": np.array(7, "int16"),
    "(1,)": np.arange(1, dtype="int16"),
    "(0,)": np.arange(0, dtype="int16"),
    "(5,)": np.arange(5, dtype="int16"),
    "(4, 1)": np.arange(4, dtype="int16").reshape(4, 1),
    "(1, 4)": np.arange(4, dtype="int16").reshape(1, 4),
    "(1, 1)": np.arange(1, dtype="int16").reshape(1, 1),
    "(0, 3)": np.zeros((0, 3), "int16"),
    "(3, 0)": np.zeros((3, 0), "int16"),
    "(3, 0, 2)": np.zeros((3, 0, 2), "int16"),
    "(2, 3, 4)": _base,
    "transposed": _base.T,
    "swapped": _base.transpose(1, 0, 2),
    "every second": _base[:, :, ::2],
    "every second of one": _base[:1, ::3, ::2],
    "backwards": _base[::-1],
    "one of each row": _base[:, :, :1],
    "new dimension": _base[0, 0][None, :, None],
    "new dimension of a transposed": _base[0].T[:, None, :],
    "(1, 3, 1) in Fortran order": np.arange(3, dtype="int16").reshape(1, 3, 1).T,
    "broadcast": np.broadcast_to(_base[0, 0], (3, 4)),
}
ORDERS = [0, ND, STRIDES, C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, C_CONTIGUOUS | F_CONTIGUOUS, 0x100 | STRIDES]
FLAGS = [order | more for order, more in itertools.product(ORDERS, (0, WRITABLE, FORMAT, WRITABLE | FORMAT))]
_is_contiguous = ctypes.pythonapi.PyBuffer_IsContiguous


def _refusals(obj):
    """Returns the exception of a refusal: ValueError for NumPy, BufferError for memarray and memoryview."""
    return ValueError if isinstance(obj, np.ndarray) else BufferError


def fields(obj, flags):
    """Returns all fields of a buffer except the object; None if it is refused."""
    try:
        buffer = get_buffer(obj, flags)
    except _refusals(obj):
        return None
    ndim = buffer.ndim
    orders = tuple(_is_contiguous(ctypes.byref(buffer), ctypes.c_char(order)) for order in b"CFA")
    result = {
        "address": buffer.buf if buffer.len else None,
        "len": buffer.len,
        "itemsize": buffer.itemsize,
        "readonly": buffer.readonly,
        "ndim": ndim,
        "format": buffer.format,
        "shape": tuple(buffer.shape[:ndim]) if buffer.shape else None,
        "strides": tuple(buffer.strides[:ndim]) if buffer.strides else None,
        "suboffsets": bool(buffer.suboffsets),
        "orders": orders,
    }
    release(buffer)
    return result


def expected(x, flags):
    """Returns NumPy's fields if the flags request a shape, else memoryview's: NumPy then gives a rank without a
    shape."""
    return fields(x if flags & ND else memoryview(x), flags)


@pytest.mark.sanitize
@pytest.mark.parametrize("layout", LAYOUTS)
def test_view_buffer_fields_match_numpy(layout):
    x = LAYOUTS[layout]
    view = memarray.BufferView(x)
    for flags in FLAGS:
        assert fields(view, flags) == expected(x, flags), hex(flags)


@pytest.mark.sanitize
@pytest.mark.parametrize("layout", ["(1,)", "(0,)", "(5,)", "(4, 1)", "(1, 4)", "(0, 3)", "(3, 0, 2)", "(2, 3, 4)"])
def test_lease_buffer_fields_match_numpy(layout):
    x = LAYOUTS[layout]
    array = memarray.MemArray.from_numpy(x)
    for lease, readonly in ((array.read(), True), (array.write(), False)):
        with lease:
            like = np.asarray(lease)
            like.flags.writeable = not readonly
            for flags in FLAGS:
                assert fields(lease, flags) == expected(like, flags), hex(flags)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cpython_testbuffer_results_match_numpy(layout):
    _testbuffer = pytest.importorskip("_testbuffer", reason="this Python came without CPython's test modules")
    x = LAYOUTS[layout]
    sources = [memarray.BufferView(x)]
    if x.flags.c_contiguous and x.flags.writeable and x.ndim:
        lease = memarray.MemArray.from_numpy(x).write()
        lease.__enter__()
        sources.append(lease)

    def seen(obj, flags):
        try:
            buffer = _testbuffer.ndarray(obj, getbuf=flags)
        except _refusals(obj):
            return None
        names = ("nbytes", "itemsize", "readonly", "ndim", "format", "shape", "strides", "suboffsets")
        names += ("c_contiguous", "f_contiguous", "contiguous")
        described = {name: getattr(buffer, name) for name in names}
        return described, _testbuffer.py_buffer_to_contiguous(obj, "C", flags) if flags & ND else buffer.tobytes()

    for source in sources:
        for flags in FLAGS:
            assert seen(source, flags) == seen(x if flags & ND else memoryview(x), flags), hex(flags)
        for order in "CFA":
            for flags in (_testbuffer.PyBUF_READ,):
                given = _testbuffer.get_contiguous(source, flags, order)
                assert given.tobytes(order) == _testbuffer.get_contiguous(x, flags, order).tobytes(order)
        memoryview(source).release()
    if len(sources) == 2:
        lease.close()


def consumers_of_contiguous_memory(ndim):
    """Returns functions of other libraries that refuse memory that is not contiguous."""
    taken = {"NumPy": lambda obj: np.asarray(obj).flags.c_contiguous or np.asarray(obj).flags.f_contiguous}
    if is_there("memory_arguments"):
        by_pybind11 = load("memory_arguments.is_contiguous")
        taken |= {f"pybind11, {order}": lambda obj, order=order: by_pybind11(obj, order) for order in "CFA"}
    if is_there("Cython") and ndim:
        module = extension("contiguous_by_cython")
        for order in ("rows", "columns") if ndim > 1 else ("rows",):
            taken[f"Cython, {order}"] = getattr(module, f"{order}_{ndim}d")
    if is_there("pyarrow"):
        taken["PyArrow"] = load("pyarrow.py_buffer")
    return taken


def seen_by(take, obj):
    try:
        result = take(obj)
    except (ValueError, BufferError):
        return "refused"
    return result if isinstance(result, bool) else memoryview(result).tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_libraries_see_contiguous_memory_where_numpy_does(layout):
    x = LAYOUTS[layout]
    array = memarray.MemArray.from_numpy(x) if x.ndim and x.flags.c_contiguous else None
    with array.read() if array is not None else contextlib.nullcontext() as lease:
        for name, take in consumers_of_contiguous_memory(x.ndim).items():
            assert seen_by(take, memarray.BufferView(x)) == seen_by(take, x), name
            if lease is not None:
                assert seen_by(take, lease) == seen_by(take, x), name


def test_hashlib_accepts_c_contiguous_memory_only():
    x = np.arange(12, dtype="float32").reshape(3, 4)
    array = memarray.MemArray.from_numpy(x)
    with array.read() as lease:
        assert hashlib.sha256(lease).digest() == hashlib.sha256(x).digest()
    assert hashlib.sha256(memarray.BufferView(x)).digest() == hashlib.sha256(x).digest()
    assert hashlib.sha256(memarray.BufferView(np.array(7.0))).digest() == hashlib.sha256(np.array(7.0)).digest()
    with pytest.raises(BufferError, match="not C-contiguous"):
        hashlib.sha256(memarray.BufferView(x.T))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dlpack_strides_of_contiguous_memory_are_canonical(layout):
    x = LAYOUTS[layout]
    view = memarray.BufferView(x)
    if any(stride < 0 for stride in x.strides):
        pytest.skip("negative strides are not exported over DLPack")
    torch = pytest.importorskip("torch", reason="NumPy shows its own strides for dimensions of one element")
    if not x.flags.writeable:
        pytest.skip("PyTorch warns about memory that is read-only")
    seen = torch.from_dlpack(view)
    assert seen.is_contiguous() == x.flags.c_contiguous
    if x.flags.c_contiguous and x.size:
        assert tuple(step * x.itemsize for step in seen.stride()) == memoryview(x).strides


@pytest.mark.parametrize("layout", LAYOUTS)
def test_array_interface_matches_numpy(layout):
    x = LAYOUTS[layout]
    given, like = memarray.BufferView(x).__array_interface__, x.__array_interface__
    assert given["shape"] == like["shape"] and given["typestr"] == like["typestr"]
    if x.size == 0 or x.flags.c_contiguous:
        assert given["strides"] is None
    else:
        steps = [(d, stride) for d, stride in enumerate(x.strides) if x.shape[d] > 1]
        assert given["data"] == like["data"] and [(d, given["strides"][d]) for d, _ in steps] == steps


def test_cuda_array_interface_of_empty_array_has_null_address():
    with memarray.testing.simulated_devices(1, lend_as_cuda=True):
        for shape in ((0,), (3, 0), (2, 2)):
            array = memarray.MemArray(shape, "float32", 0)
            array.move_memory(2, 0)
            is_empty = 0 in shape
            with array.read() as lease:
                address = lease.__cuda_array_interface__["data"][0]
                assert (address == 0) == is_empty
                view = lease.view()
                address = view.__cuda_array_interface__["data"][0]
                assert (address == 0) == is_empty
            del view, lease, array


def test_simultaneous_buffers_have_independent_strides():
    view = memarray.BufferView(np.zeros((4, 1), "int32"))[:, :, None]
    first = get_buffer(view, C_CONTIGUOUS)
    second = get_buffer(view, F_CONTIGUOUS)
    assert tuple(first.strides[:3]) == (4, 4, 4)
    assert tuple(second.strides[:3]) == (4, 16, 16)
    release(first)
    assert tuple(second.strides[:3]) == (4, 16, 16)
    release(second)
    array, _ = filled((1, 5), "int32")
    with array.read() as lease:
        first, second = get_buffer(lease, C_CONTIGUOUS), get_buffer(lease, F_CONTIGUOUS)
        assert (tuple(first.strides[:2]), tuple(second.strides[:2])) == ((20, 4), (4, 4))
        release(second)
        assert tuple(first.strides[:2]) == (20, 4)
        release(first)
