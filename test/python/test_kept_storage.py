"""Views of memory whose producer changes, swaps or frees its own handle."""

import array
import mmap

import memarray
import numpy as np
import pytest

COUNT = 1_000_000

WAYS = {
    "BufferView": memarray.BufferView,
    "BufferView.from_dlpack": memarray.BufferView.from_dlpack,
    "from_dlpack": memarray.from_dlpack,
    "MemArray.from_dlpack": lambda tensor: memarray.MemArray.from_dlpack(tensor).view(),
}


def import_torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def set_data(torch, tensor):
    tensor.data = torch.zeros(3)


SWAPS = {
    "t.data = …": set_data,
    "t.set_()": lambda torch, tensor: tensor.set_(),
    "t.set_(other)": lambda torch, tensor: tensor.set_(torch.zeros(3)),
    "t.resize_(fewer)": lambda torch, tensor: tensor.resize_(3),
    "swap_tensors": lambda torch, tensor: torch.utils.swap_tensors(tensor, torch.zeros(3)),
}


def types_of_tensors(torch):
    """Returns PyTorch's own type, a parameter, a subclass, and a tensor without the exchange table."""

    class Derived(torch.Tensor):
        pass

    class WithoutTable(torch.Tensor):
        __dlpack_c_exchange_api__ = None

    return {
        "Tensor": lambda tensor: tensor,
        "Parameter": lambda tensor: torch.nn.Parameter(tensor, requires_grad=False),
        "Derived": lambda tensor: tensor.as_subclass(Derived),
        "WithoutTable": lambda tensor: tensor.as_subclass(WithoutTable),
    }


@pytest.mark.parametrize("kind", ["Tensor", "Parameter", "Derived", "WithoutTable"])
@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("way", WAYS)
def test_view_survives_storage_swap_of_its_tensor(way, swap, kind):
    torch = import_torch()
    if swap == "swap_tensors" and kind != "Tensor":
        pytest.skip("PyTorch swaps tensors of one type")
    tensor = types_of_tensors(torch)[kind](torch.ones(COUNT))
    view = WAYS[way](tensor)
    address = tensor.data_ptr()
    SWAPS[swap](torch, tensor)
    # PyTorch reuses freed memory for these tensors.
    others = [torch.full((COUNT,), -1.0) for _ in range(4)]
    assert all(other.data_ptr() != address for other in others)
    assert view.data_ptr == address
    assert view.sum() == COUNT


def test_view_survives_the_conversion_of_its_module():
    torch = import_torch()
    module = torch.nn.Linear(1000, 1000, bias=False).requires_grad_(False)
    module.weight.fill_(1)
    view = memarray.BufferView(module.weight)
    module.double()
    assert view.sum() == COUNT


def test_storage_is_released_with_the_last_view():
    torch = import_torch()
    import weakref

    tensor = torch.ones(10)
    released = []
    weakref.finalize(tensor.untyped_storage(), released.append, True)
    view = memarray.BufferView(tensor)
    part = view[2:]
    view.close()
    tensor.data = torch.zeros(3)
    del view
    assert not released
    assert part.sum() == 8
    del part
    assert released


def test_view_of_tensor_has_layout_of_the_tensor():
    torch = import_torch()
    tensor = torch.arange(24, dtype=torch.int32).reshape(2, 3, 4).permute(2, 0, 1)[1:, :, ::2]
    view = memarray.BufferView(tensor)
    assert (view.shape, view.dtype) == (tuple(tensor.shape), np.dtype("int32"))
    np.testing.assert_array_equal(np.asarray(view), tensor.numpy())
    assert memarray.BufferView(torch.ones(())).item() == 1
    assert memarray.BufferView(torch.ones((2, 0, 3))).shape == (2, 0, 3)


def test_view_survives_deletion_and_donation_by_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.ones(COUNT, dtype="float32")
    view = memarray.BufferView(x)
    x.delete()
    others = [jax.numpy.zeros(COUNT, dtype="float32") for _ in range(4)]
    assert view.sum() == COUNT
    x = jax.numpy.ones(COUNT, dtype="float32")
    view = memarray.BufferView(x)
    donating = jax.jit(lambda value: value * 2, donate_argnums=0)
    try:
        others.append(donating(x))
    except jax.errors.JaxRuntimeError as error:  # newer versions refuse in place of a copy
        assert "external reference" in str(error)
        error.__traceback__ = None
    assert view.sum() == COUNT


def test_viewed_buffer_cannot_be_resized_or_closed():
    numbers = array.array("d", [1, 2, 3])
    text = bytearray(b"123")
    mapped = mmap.mmap(-1, 4096)
    views = [memarray.BufferView(producer) for producer in (numbers, text, mapped)]
    with pytest.raises(BufferError):
        numbers.append(4)
    with pytest.raises(BufferError):
        text.extend(b"4")
    with pytest.raises(BufferError):
        mapped.close()
    assert [view.sum() for view in views] == [6, sum(b"123"), 0]
    views.clear()
    numbers.append(4)
    text.extend(b"4")
    mapped.close()


def test_numpy_refuses_to_resize_an_array_under_a_view():
    x = np.ones(4)
    view = memarray.BufferView(x)
    with pytest.raises(ValueError, match="resize"):
        x.resize(1000)  # refcheck=False would skip this check
    assert view.sum() == 4


def test_view_survives_the_close_of_its_h5py_file(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    x = np.arange(6.0).reshape(2, 3)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", data=x)
        # h5py reads a dataset into a new NumPy array.
        view = memarray.BufferView(dataset[...])
        with pytest.raises(TypeError, match="exports memory"):
            memarray.BufferView(dataset)
        copied = memarray.MemArray.from_numpy(dataset)
        dataset[...] = 0
    assert view.tolist() == x.tolist()
    assert copied.view().tolist() == x.tolist()
