"""The C exchange API, both ways: the library uses foreign tables, and its own is called as by a C program."""

import ctypes

import memarray
import numpy as np
import pytest
from dlpack_structs import (
    READ_ONLY,
    DataType,
    Deleter,
    Device,
    ExportedTensor,
    ManagedPointer,
    SetError,
    Tensor,
    make_type,
    table_of,
    view_through_table,
)
from memarray import BufferView

pytestmark = pytest.mark.sanitize

VIEWS, LEASES, ARRAYS = (table_of(kind) for kind in (BufferView, memarray.Lease, memarray.MemArray))


def test_view_round_trips_through_exchange_table():
    x = np.arange(12.0).reshape(3, 4)
    view = BufferView.from_numpy(x)[:, ::2]
    managed = ManagedPointer()
    assert VIEWS.version.major == 1
    assert VIEWS.export(view, managed) == 0
    tensor = managed.contents.tensor
    assert tensor.data == view.data_ptr
    assert [tensor.shape[d] for d in range(2)] == [3, 2]
    assert [tensor.strides[d] for d in range(2)] == [4, 2]
    assert managed.contents.flags == 0
    made = ctypes.py_object()
    assert VIEWS.make(managed, made) == 0
    back = made.value
    ctypes.pythonapi.Py_DecRef(made)  # ctypes acquired a reference of its own
    del made
    assert back.data_ptr == view.data_ptr
    assert back.owner is None
    np.testing.assert_array_equal(np.asarray(back), x[:, ::2])


def test_only_open_lease_is_exported_by_exchange_table():
    a = memarray.MemArray([3])
    managed = ManagedPointer()
    with a.read() as lease:
        assert LEASES.export(lease, managed) == 0
    assert managed.contents.flags == 1
    assert managed.contents.tensor.shape[0] == 3
    assert not LEASES.look
    Deleter(managed.contents.deleter)(ctypes.addressof(managed.contents))
    with pytest.raises(memarray.LockError):
        LEASES.export(lease, managed)


class Mine(memarray.MemArray):
    """A subclass, which inherits the table."""


@pytest.mark.parametrize("kind", [memarray.MemArray, Mine])
def test_array_is_exported_as_read_only_snapshot(kind, copies):
    a = kind([2, 3])
    a.fill(1)
    start = memarray.stats()["live_blocks"]
    exported = ExportedTensor(a)
    managed = exported.managed.contents
    assert (managed.version.major, managed.flags) == (1, READ_ONLY)
    assert managed.tensor.data == a.view().data_ptr
    assert [managed.tensor.shape[d] for d in range(2)] == [2, 3]
    assert [managed.tensor.strides[d] for d in range(2)] == [3, 1]
    assert a.lock_id == -1
    with a.read():  # the array is unlocked
        pass
    a.fill(2)  # in fresh memory, because the consumer keeps its own
    assert copies() == 0
    assert ctypes.cast(managed.tensor.data, ctypes.POINTER(ctypes.c_double))[5] == 1
    del a
    assert memarray.stats()["live_blocks"] == start
    exported.drop()
    assert memarray.stats()["live_blocks"] == start - 1


def test_array_table_offers_no_unowned_dltensor():
    """A DLTensor has no read-only flag and keeps no memory alive."""
    assert not ARRAYS.look


def test_array_export_obeys_leases_and_policy():
    a = memarray.MemArray([3])
    with a.write():
        managed = ManagedPointer()
        with pytest.raises(memarray.LockError):
            ARRAYS.export(a, managed)
        assert not managed
    with a.read():
        ExportedTensor(a)
    a.escaped_views = "error"
    exported = ExportedTensor(a)
    with pytest.raises(memarray.LockError):
        a.fill(1)
    exported.drop()
    a.fill(1)


def test_array_round_trips_to_read_only_view():
    a = memarray.MemArray([3], "int16")
    a.fill(5)
    view = view_through_table(a, BufferView)
    assert (view.data_ptr, view.writable, view.sum()) == (a.view().data_ptr, False, 15)


def test_view_is_described_by_unowned_dltensor():
    x = np.arange(12, dtype="int16").reshape(3, 4)
    view = BufferView.from_numpy(x)[1:, ::2]
    tensor = Tensor()
    for _ in range(2):
        assert VIEWS.look(view, tensor) == 0
        assert (tensor.data, tensor.ndim, tensor.byte_offset) == (view.data_ptr, 2, 0)
        assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (0, 16, 1)
        assert [tensor.strides[d] for d in range(2)] == [4, 2]
    with pytest.raises(BufferError, match="read-only"):
        VIEWS.look(view.broadcast_to(2, 2, 2), tensor)
    with pytest.raises(BufferError, match="negative"):
        VIEWS.look(view[::-1], tensor)
    stream = ctypes.c_void_p(5)
    assert VIEWS.stream(1, 0, stream) == 0
    assert stream.value is None
    view.close()
    with pytest.raises(ValueError, match="closed"):
        VIEWS.look(view, tensor)
    with pytest.raises(ValueError, match="closed"):
        VIEWS.export(view, ManagedPointer())


def test_table_allocates_tensors_and_reports_bad_prototypes():
    shape = (ctypes.c_int64 * 2)(3, 4)
    prototype = Tensor(ndim=2, dtype=DataType(2, 32, 1), device=Device(1, 0), shape=shape)
    heard = []
    set_error = SetError(lambda _, kind, words: heard.append((kind, words)))
    managed = ManagedPointer()
    assert VIEWS.allocate(prototype, managed, None, set_error) == 0
    made = ctypes.py_object()
    assert VIEWS.make(managed, made) == 0
    view = made.value
    ctypes.pythonapi.Py_DecRef(made)
    del made
    assert (view.shape, view.dtype, view.writable) == ((3, 4), np.float32, True)
    view.fill(1)
    for wrong in (
        {"device": Device(2, 0)}, {"dtype": DataType(2, 31, 1)}, {"dtype": DataType(2, 32, 4)}, {"ndim": -1},
        {"ndim": 17}, {"shape": None},
    ):  # fmt: skip
        fields = {"ndim": 2, "dtype": DataType(2, 32, 1), "device": Device(1, 0), "shape": shape, **wrong}
        assert VIEWS.allocate(Tensor(**fields), managed, None, set_error) == -1
        assert heard.pop()[0] == b"BufferError"
    shape[0] = -1
    assert VIEWS.allocate(prototype, managed, None, set_error) == -1
    assert heard.pop()[0] == b"ValueError"
    assert not heard


def foreign(kind):
    made = kind()
    made.view = BufferView.from_numpy(np.arange(3.0))
    return made


def test_import_uses_exchange_table_of_producer_type():
    calls = []

    def export(object, out):
        calls.append(object)
        return VIEWS.export(object.view, out)

    kind, table = make_type(export)
    producer = foreign(kind)
    view = memarray.from_dlpack(producer)
    assert calls == [producer]
    assert view.owner is producer
    assert view.sum() == 3
    # A table of a newer version: its older table is used, else __dlpack__.
    newer, _ = make_type(lambda *_: 1 / 0, version=(2, 0), older=table)
    assert memarray.from_dlpack(foreign(newer)).sum() == 3
    assert len(calls) == 2
    for other in (
        make_type(lambda *_: 1 / 0, version=(2, 0)),
        make_type(lambda *_: 1 / 0, version=(0, 9)),
        make_type(None),
        make_type(lambda *_: 1 / 0, name=b"another name"),
    ):
        assert memarray.from_dlpack(foreign(other[0])).sum() == 3


def test_table_that_returns_no_tensor_is_refused():
    with pytest.raises(BufferError, match="returned no tensor and no error"):
        memarray.from_dlpack(foreign(make_type(lambda *_: -1)[0]))
    with pytest.raises(BufferError, match="returned no tensor and no error"):
        memarray.from_dlpack(foreign(make_type(lambda *_: 0)[0]))


def test_torch_tensors_with_gradient_or_lazy_bits_are_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    t = torch.arange(12.0).reshape(3, 4)[:, ::2]
    view = memarray.from_dlpack(t)
    assert (view.data_ptr, view.strides) == (t.data_ptr(), (16, 8))
    with pytest.raises(BufferError, match="gradient"):
        memarray.from_dlpack(torch.ones(3, requires_grad=True))
    with pytest.raises(BufferError, match="conj"):
        memarray.from_dlpack(torch.ones(3, dtype=torch.complex64).conj())
    # np.from_dlpack itself gets the opposite numbers of these.
    with pytest.raises(BufferError, match="resolve_neg"):
        memarray.from_dlpack(torch._neg_view(torch.ones(3)))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_torch_lazy_bits_are_checked_for_each_dtype(dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    t = torch.zeros(3, dtype=getattr(torch, dtype))
    assert memarray.from_dlpack(t).data_ptr == t.data_ptr()
    # Tensors of every dtype can have the negative bit.
    with pytest.raises(BufferError, match="resolve_neg"):
        memarray.from_dlpack(torch._neg_view(t))
    if t.is_floating_point() or t.is_complex():
        with pytest.raises(BufferError, match="gradient"):
            memarray.from_dlpack(t.clone().requires_grad_())
    if t.is_complex():
        with pytest.raises(BufferError, match="conj"):
            memarray.from_dlpack(t.conj())
        with pytest.raises(BufferError, match="resolve_neg"):
            memarray.from_dlpack(torch._neg_view(t).imag)


@pytest.mark.parametrize(
    ("dtype", "lazy", "words"),
    [
        ("float32", {"is_neg": lambda self: True}, "resolve_neg"),
        ("float32", {"is_neg": lambda self: False, "requires_grad": True}, None),
        ("int32", {"is_neg": lambda self: False, "requires_grad": True}, ""),
        ("complex64", {"is_conj": lambda self: True}, None),
        ("float32", {"is_conj": lambda self: True, "is_neg": property(lambda self: True)}, "resolve_neg"),
    ],
)
def test_rejected_table_tensor_is_deleted(dtype, lazy, words):
    """Covers a second request over `__dlpack__` (words None), a refusal (words), and an import (no words)."""
    a = memarray.MemArray([3], dtype)
    a.escaped_views = "error"
    exports = []
    kind, _ = make_type(lambda producer, out: exports.append(1) or VIEWS.export(producer.view, out))
    kind.__dlpack__ = lambda self, **_: exports.append(2) or self.view.__dlpack__(max_version=(1, 0))
    for name, value in lazy.items():
        setattr(kind, name, value)
    producer = kind()
    producer.view = a.view()
    if words:
        with pytest.raises(BufferError, match=words):
            memarray.from_dlpack(producer)
    else:
        memarray.from_dlpack(producer).close()
    assert exports == ([1] if words is not None else [1, 2])
    producer.view.close()
    a.fill(1)  # no consumer is left


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SystemExit])
def test_errors_of_lazy_state_queries_are_not_swallowed(error):
    def is_neg(self):
        raise error

    a = memarray.MemArray([3], "float32")
    a.escaped_views = "error"
    kind, _ = make_type(lambda producer, out: VIEWS.export(producer.view, out))
    kind.is_neg = is_neg
    producer = kind()
    producer.view = a.view()
    with pytest.raises(error):
        memarray.from_dlpack(producer)
    producer.view.close()
    a.fill(1)  # no consumer is left


def test_tensors_round_trip_through_tvm_ffi():
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
    view = BufferView.from_numpy(np.arange(6.0, dtype="float32").reshape(2, 3))
    tensor = tvm_ffi.from_dlpack(view.T)
    assert tensor.shape == (3, 2)
    back = memarray.from_dlpack(tensor)
    assert (back.data_ptr, back.strides) == (view.data_ptr, (4, 12))
    a = memarray.MemArray([3])
    assert memarray.from_dlpack(tvm_ffi.from_dlpack(a)).data_ptr == a.view().data_ptr
