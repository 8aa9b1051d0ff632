"""The buffer protocol of leases, and the memory that buffers of closed views keep alive."""

import ctypes
import struct

import memarray
import numpy as np
import pytest
from dlpack_producer import Producer
from dtype_values import assert_same_values
from support import NUMPY_DTYPES, RANKS, filled, look, shape_of

# Flags of PyObject_GetBuffer.
SIMPLE, WRITABLE, FORMAT, ND = 0, 0x1, 0x4, 0x8
STRIDES = 0x10 | ND
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
INDIRECT = 0x100 | STRIDES
FULL_RO, FULL = INDIRECT | FORMAT, INDIRECT | FORMAT | WRITABLE


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_api = ctypes.pythonapi
_api.PyObject_GetBuffer.argtypes = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int]
_api.PyBuffer_Release.argtypes = [ctypes.POINTER(Buffer)]
_api.PyBuffer_Release.restype = None


def get_buffer(lease, flags):
    view = Buffer()
    _api.PyObject_GetBuffer(lease, ctypes.byref(view), flags)
    return view


def release(view):
    _api.PyBuffer_Release(ctypes.byref(view))


@pytest.mark.sanitize
@pytest.mark.parametrize("ndim", RANKS)
@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_a_memoryview_describes_the_array(name, ndim):
    shape = shape_of(ndim)
    array, values = filled(shape, name)
    for lease, readonly in ((array.read(), True), (array.write(), False)):
        with lease, memoryview(lease) as view:
            assert view.shape == shape and view.ndim == ndim
            assert view.strides == values.strides
            assert view.itemsize == values.itemsize and view.nbytes == values.nbytes
            assert view.readonly == readonly
            assert view.c_contiguous
            assert view.obj is lease
            assert np.dtype(np.asarray(view).dtype) == values.dtype
            assert view.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("name", "values"), [("int32", [1, -2, 3]), ("float64", [0.5, 1.5, 2.5]), ("bool", [True, False, True])]
)
def test_elements_can_be_read_and_written_without_numpy(name, values):
    array = memarray.MemArray([3], name)
    with array.write() as lease, memoryview(lease) as view:
        for i, value in enumerate(values):
            view[i] = value
    with array.read() as lease, memoryview(lease) as view:
        assert view.tolist() == values
        with pytest.raises(TypeError, match="read-only"):
            view[0] = values[1]


@pytest.mark.parametrize(
    ("flags", "shape", "strides", "format_"),
    [
        (SIMPLE, False, False, False),
        (WRITABLE, False, False, False),
        (ND, True, False, False),
        (ND | FORMAT, True, False, True),
        (STRIDES, True, True, False),
        (C_CONTIGUOUS, True, True, False),
        (ANY_CONTIGUOUS, True, True, False),
        (FULL_RO, True, True, True),
        (FULL, True, True, True),
    ],
)
def test_lease_buffer_fields_follow_requested_flags(flags, shape, strides, format_):
    array, values = filled((3, 4), "int16")
    with array.write() as lease:
        view = get_buffer(lease, flags)
        assert (bool(view.shape), bool(view.strides), bool(view.format)) == (shape, strides, format_)
        assert not view.suboffsets
        assert view.len == 24 and view.readonly == 0
        assert ctypes.string_at(view.buf, view.len) == values.tobytes()
        release(view)


#: Layout -> (view of int16, groups of flags that are accepted); all other flags are refused.
LAYOUTS_AND_FLAGS = {
    "C": (lambda view: view, {"any", "C", "no strides", "writable"}),
    "F": (lambda view: view.T, {"any", "F", "writable"}),
    "every second": (lambda view: view[:, ::2], {"any", "writable"}),
    "backwards": (lambda view: view[::-1], {"any", "writable"}),
    "one row": (lambda view: view[1], {"any", "C", "F", "no strides", "writable"}),
    "nothing": (lambda view: view[:0, ::2], {"any", "C", "F", "no strides", "writable"}),
    "broadcast": (lambda view: view.broadcast_to(2, 3, 4), {"any"}),
}
FLAGS = {
    "any": [STRIDES, INDIRECT, FULL_RO, STRIDES | FORMAT],
    "C": [C_CONTIGUOUS, C_CONTIGUOUS | FORMAT],
    "F": [F_CONTIGUOUS, F_CONTIGUOUS | FORMAT],
    "one order": [ANY_CONTIGUOUS, ANY_CONTIGUOUS | FORMAT],
    "no strides": [SIMPLE, ND, ND | FORMAT],
}


@pytest.mark.sanitize
@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS_AND_FLAGS)
def test_view_buffer_follows_requested_flags_or_is_refused(layout, writable):
    make, allowed = LAYOUTS_AND_FLAGS[layout]
    x = np.arange(12, dtype="int16").reshape(3, 4)
    x.flags.writeable = writable
    view = make(memarray.BufferView.from_numpy(x))
    expected = np.asarray(view)
    if allowed & {"C", "F"}:
        allowed = allowed | {"one order"}
    for name, several in FLAGS.items():
        for flags in several:
            for more in (0, WRITABLE):
                if name in allowed and (not more or view.writable):
                    buffer = get_buffer(view, flags | more)
                    assert buffer.len == expected.nbytes
                    assert buffer.readonly == (not view.writable)
                    assert bool(buffer.strides) == (flags & STRIDES == STRIDES)
                    assert bool(buffer.shape) == (flags & ND == ND)
                    if buffer.strides and view.size:
                        assert tuple(buffer.strides[: view.ndim]) == view.strides
                    release(buffer)
                else:
                    with pytest.raises(BufferError, match=r"copy|contiguous|read-only"):
                        get_buffer(view, flags | more)
    assert view.writable == (writable and "writable" in allowed)


@pytest.mark.sanitize
def test_refused_buffer_requests_raise_clear_errors():
    array, _ = filled((3, 4))
    with array.read() as lease:
        for flags in (WRITABLE, FULL):
            with pytest.raises(BufferError, match=r"read-only memory; take a write lease"):
                get_buffer(lease, flags)
        with pytest.raises(BufferError, match="not Fortran-contiguous"):
            get_buffer(lease, F_CONTIGUOUS)
    with pytest.raises(BufferError, match="over"):
        memoryview(lease)
    with pytest.raises(memarray.LockError, match="not open yet"):
        memoryview(array.read())
    with pytest.raises(TypeError):
        memoryview(array)
    array.fill(1)


def test_buffer_with_format_but_no_shape_is_refused():
    array, _ = filled((3, 4))
    with array.read() as lease:
        for given in (lease, lease.view()):
            with pytest.raises(BufferError, match=r"a buffer without a shape has no format.*PyBUF_ND \| PyBUF_FORMAT"):
                get_buffer(given, FORMAT)


def test_one_dimension_is_contiguous_in_both_orders():
    array, values = filled((4,))
    with array.read() as lease:
        view = get_buffer(lease, F_CONTIGUOUS)
        assert ctypes.string_at(view.buf, view.len) == values.tobytes()
        release(view)


def test_bfloat16_has_no_format():
    array = memarray.MemArray([4], "bfloat16")
    with array.write() as lease:
        with pytest.raises(BufferError, match="no format for bfloat16; use DLPack"):
            memoryview(lease)
        view = get_buffer(lease, STRIDES)
        assert view.itemsize == 2 and view.len == 8
        release(view)


@pytest.mark.sanitize
def test_released_memoryview_is_no_longer_an_export(copies):
    array, _ = filled((4,))
    with array.read() as lease:
        view = memoryview(lease)
    address = np.from_dlpack(array).ctypes.data
    view.release()
    array.fill(1)
    assert np.from_dlpack(array).ctypes.data == address
    with pytest.raises(ValueError, match="released"):
        view[0]
    assert copies() == 0


def test_files_struct_and_bytes_accept_leases(tmp_path):
    array, values = filled((5,), "float64")
    path = tmp_path / "array.bin"
    with array.read() as lease:
        path.write_bytes(lease)
        assert struct.unpack("5d", lease) == tuple(values)
        assert bytes(lease) == bytearray(lease) == values.tobytes()
    with array.write() as lease, open(path, "rb") as file:
        np.asarray(lease)[:] = 0
        assert file.readinto(lease) == 40
    assert_same_values(look(array), values)


def test_a_view_outlives_a_lease_that_was_collected():
    array, values = filled((4,))
    with array.read() as lease:
        view = memoryview(lease)
    del array, lease
    assert view.tolist() == values.tolist()
    view.release()


def test_buffers_of_a_closed_view_keep_its_memory():
    for how in (lambda view: view.close(), lambda view: view.__exit__(None, None, None)):
        producer = Producer()
        view = memarray.from_dlpack(producer)
        memoryview(view).release()
        first, second = memoryview(view), memoryview(view)
        how(view)
        view.close()
        first.release()
        assert producer.deleted == 0
        assert second.tolist() == [[0, 1, 2], [3, 4, 5]]
        with pytest.raises(ValueError, match="closed"):
            memoryview(view)
        second.release()
        assert producer.deleted == 1
        del view
        assert producer.deleted == 1
    producer = Producer()
    last = memoryview(memarray.from_dlpack(producer))
    assert producer.deleted == 0
    del last
    assert producer.deleted == 1


def test_a_buffer_of_a_closed_view_is_an_export():
    a = memarray.MemArray([3])
    a.escaped_views = "error"
    view = a.view()
    seen = memoryview(view)
    view.close()
    with pytest.raises(memarray.LockError):
        a.fill(1)
    seen.release()
    a.fill(1)
