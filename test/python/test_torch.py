"""PyTorch on leased memory."""

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from support import DTYPES, RANKS, filled, look, pattern, shape_of, small_numbers

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def as_bytes(tensor):
    return bytes(tensor.contiguous().flatten().view(torch.uint8).tolist())


@pytest.mark.parametrize("ndim", RANKS)
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_and_rank_is_shared_with_torch(name, ndim):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    array, values = filled(shape_of(ndim), name)
    for lease in (array.read(), array.write()):
        with lease:
            tensor = torch.from_dlpack(lease)
            assert tuple(tensor.shape) == shape_of(ndim)
            assert str(tensor.dtype) == f"torch.{name}"
            assert tensor.data_ptr() == np.asarray(lease).ctypes.data
            assert as_bytes(tensor) == values.tobytes()
            del tensor


def test_memory_is_released_with_the_last_tensor_storage():
    start = memarray.stats()["live_blocks"]
    array, values = filled((100,))
    with array.read() as lease:
        tensor = torch.from_dlpack(lease)
    storage = tensor.untyped_storage()
    view = tensor[10:20]
    del array, lease, tensor
    assert memarray.stats()["live_blocks"] == start + 1
    assert_same_values(view.numpy(), values[10:20])
    del view
    assert memarray.stats()["live_blocks"] == start + 1
    del storage
    assert memarray.stats()["live_blocks"] == start


def test_capsule_is_consumed_only_once():
    array, _ = filled((10,))
    start = memarray.stats()["live_blocks"]
    with array.write() as lease:
        for options in ({}, {"max_version": (1, 0)}):
            capsule = lease.__dlpack__(**options)
            tensor = torch.utils.dlpack.from_dlpack(capsule)
            with pytest.raises(RuntimeError):
                torch.utils.dlpack.from_dlpack(capsule)
            del tensor, capsule
    assert memarray.stats()["live_blocks"] == start


def test_copy_made_by_torch_is_independent():
    array, values = filled((10,))
    with array.read() as lease:
        copied = torch.from_dlpack(lease, copy=True)
    copied.zero_()
    assert_same_values(look(array), values)


def test_direct_export_of_array_is_a_snapshot():
    array, values = filled((10,))
    tensor = torch.from_dlpack(array)
    other = torch.asarray(array)
    array.fill(0)
    assert_same_values(tensor.numpy(), values)
    assert_same_values(other.numpy(), values)


def test_autograd_works_on_leased_memory():
    array, values = filled((10,))
    with array.read() as lease:
        x = torch.from_dlpack(lease).clone().requires_grad_()
    (x**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * values)


def test_torch_computes_into_a_write_lease():
    array, values = filled((6, 4), "float32", values_of=small_numbers)
    with array.write() as lease:
        tensor = torch.from_dlpack(lease)
        torch.mul(tensor, 2, out=tensor)
        del tensor
    np.testing.assert_array_equal(look(array), 2 * values)


def test_reexport_of_tensor_keeps_its_memory():
    array, values = filled((5,))
    with array.read() as lease:
        again = np.from_dlpack(torch.from_dlpack(lease))
    array.fill(0)
    assert_same_values(again, values)
    array.read_numpy_array(pattern((5,), start=3))
    assert_same_values(again, values)


#: Tensors that are not plain memory.
OTHER_TENSORS = {
    "sparse": lambda: torch.eye(3).to_sparse(),
    "sparse CSR": lambda: torch.eye(3).to_sparse_csr(),
    "quantized": lambda: torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8),
    "meta": lambda: torch.zeros(3, device="meta"),
    "mkldnn": lambda: torch.zeros(3).to_mkldnn(),
    "nested": lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
    "conjugated": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "negated": lambda: torch.imag(torch.ones(2, dtype=torch.complex64).conj()),
    "gradient": lambda: torch.zeros(2, requires_grad=True),
    "masked": lambda: torch.masked.masked_tensor(torch.zeros(2), torch.tensor([True, False])),
    "batched": lambda: torch.zeros(2, 3),
}


@pytest.mark.parametrize("make", OTHER_TENSORS.values(), ids=OTHER_TENSORS)
@pytest.mark.filterwarnings("ignore")
def test_unsupported_tensor_is_refused_with_one_line_error(make):
    try:
        tensor = make()
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"this PyTorch makes none: {error}")

    array = memarray.MemArray([2], "float32")
    array.fill(3)

    def check(tensor):
        for take in (
            memarray.BufferView,
            memarray.from_dlpack,
            memarray.MemArray.from_dlpack,
            memarray.MemArray.from_numpy,
            lambda tensor: memarray.MemArray.from_numpy([[1.0], (tensor, tensor)]),
            array.read_numpy_array,
            array.fill,
            memarray.BufferView(np.zeros(2)).fill,
        ):
            with pytest.raises(BufferError) as raised:
                take(tensor)
            words = str(raised.value)
            assert "\n" not in words and 20 < len(words) < 320, words
            assert raised.value.__suppress_context__ or not raised.value.__context__
        assert look(array).tolist() == [3, 3]

    if tensor.dim() == 2 and not tensor.is_sparse and tensor.layout == torch.strided:
        torch.vmap(lambda row: check(row) or row)(tensor)
    else:
        check(tensor)


class Refusing:
    """A tensor whose conversion to NumPy raises `error`."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error

    def __dlpack__(self, **_):
        raise self.error


class RefusingArray:
    """An object like `Refusing` that exports no tensor."""

    __init__, __array__ = Refusing.__init__, Refusing.__array__


def uses_of(source):
    array = memarray.MemArray([2])
    uses = (memarray.MemArray.from_numpy, array.read_numpy_array, array.fill)
    return [*((use, source) for use in uses), *((use, [source]) for use in uses)]


@pytest.mark.parametrize("error", [TypeError, ValueError, RuntimeError, NotImplementedError])
def test_tensor_that_refuses_numpy_raises_first_line_as_buffer_error(error):
    for use, source in uses_of(Refusing(error("no memory here\nand a long stack"))):
        with pytest.raises(BufferError, match=r"^NumPy cannot read the memory of this Refusing: no memory here$"):
            use(source)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, memarray.LockError, KeyError])
def test_errors_that_are_no_refusal_of_a_tensor_are_kept(error):
    for use, source in uses_of(Refusing(error("words"))):
        with pytest.raises(error, match="words") as raised:
            use(source)
        assert type(raised.value) is error


def test_errors_of_objects_that_are_no_tensors_are_kept():
    for use, source in uses_of(RefusingArray(RuntimeError("words"))):
        with pytest.raises(RuntimeError, match="words"):
            use(source)
    with pytest.raises(ValueError, match="inhomogeneous"):
        memarray.MemArray.from_numpy([[1.0, 2.0], torch.zeros(3)])
