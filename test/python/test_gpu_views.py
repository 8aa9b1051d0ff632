"""Views of device memory against NumPy: with a GPU's own kernels, or with the simulated ones on the host."""

import gc

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray import BufferView
from support import DTYPES, numpy_dtype, pattern, small_numbers

#: Views of three dimensions, made alike from a device's view and from a NumPy array.
LAYOUTS = {
    "C": lambda x: x,
    "transposed": lambda x: x.transpose(2, 0, 1),
    "backwards": lambda x: x[::-1, :, ::-1],
    "every second": lambda x: x[:, ::2, 1:],
    "one of each": lambda x: x[2],
    "empty": lambda x: x[:, :0],
}
REDUCTIONS = ("sum", "mean", "min", "max")
AXES = (None, 0, 1, -1, (0, 1), ())


@pytest.fixture(params=[(7, 12, 10), pytest.param((33, 64, 130), marks=pytest.mark.slow)], ids=str)
def shape(request, device):
    """Returns a shape of few elements, and one of more elements than a device runs at once."""
    return request.param if device.simulated else tuple(3 * extent for extent in request.param)


def there(values):
    return BufferView.from_numpy(values).to_device("cuda:0")


def here(view):
    return np.array(view.to_device("cpu"))


def sames(got, expected, dtype):
    got, expected = (np.asarray(x).astype("c16" if dtype == "complex64" else "f8") for x in (got, expected))
    rounded = 2e-3 if dtype == "float16" else 1e-6
    np.testing.assert_allclose(got, expected, rtol=rounded, atol=rounded)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool", "complex64", "float16"])
def test_reductions_match_numpy(device, shape, dtype, layout):
    values = small_numbers(shape, dtype)
    view, x = LAYOUTS[layout](there(values)), LAYOUTS[layout](values)
    ordered = x.size and dtype != "complex64"  # empty arrays and complex numbers have no minimum
    for name in REDUCTIONS if ordered else ("sum",):
        for axis in AXES:
            got = getattr(view, name)(axis)
            expected = getattr(x.astype("f8") if x.dtype.kind == "f" else x, name)(axis=axis)
            if dtype == "float16":  # a sum that is too large is infinite
                with np.errstate(over="ignore"):
                    expected = np.asarray(expected).astype(dtype)
            sames(here(got) if isinstance(got, BufferView) else got, expected, dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_fills_and_casts_match_numpy(device, shape, dtype, layout):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    values = pattern(shape, dtype)
    base = there(values)
    view, x = LAYOUTS[layout](base), LAYOUTS[layout](values)
    copied = view.copy()
    assert (base.dtype, str(base.device)) == (numpy_dtype(dtype), "cuda:0")
    assert copied.is_contiguous()
    assert_same_values(here(copied), x)
    if dtype in ("int32", "float32"):
        assert_same_values(here(view.cast("float64")), x.astype("float64"))
    if dtype in ("int32", "int64", "float32", "float64"):
        view.add_index()
        x += np.indices(x.shape).sum(axis=0).astype(x.dtype)
        assert_same_values(here(base), values)
    view.fill(True)
    x[...] = True
    assert_same_values(here(base), values)  # no other element changed


def test_sum_of_broadcast_view_counts_repeated_elements(device):
    values = small_numbers((1, 50), "float32")
    view = there(values).broadcast_to(1000, 50)
    assert view.sum() == pytest.approx(float(values.sum()) * 1000)
    np.testing.assert_allclose(here(view.sum(axis=1)), np.full(1000, values.sum()), rtol=1e-6)


def test_view_operations_run_in_order_on_their_stream(device):
    streams = [memarray.Stream() for _ in range(3)]
    views = [BufferView.from_numpy(small_numbers((200, 300), "float64")).to_device("cuda:0", stream=s) for s in streams]
    for step in range(10):
        for view in views:
            view.fill(step)
            view.add_index()
    expected = 9 + np.indices((200, 300)).sum(axis=0)
    for view in views:
        np.testing.assert_array_equal(here(view), expected)


def test_moves_are_ordered_on_the_given_stream(device):
    stream = memarray.Stream()
    x = pattern((100, 200), "float32")
    view = BufferView.from_numpy(x).to_device("cuda:0", stream=stream)
    view.fill(4)
    back = view.to_device("cpu", stream=stream)
    view.fill(5)  # after the copy was made
    assert np.asarray(back).min() == np.asarray(back).max() == 4
    assert here(view).min() == 5
    assert_same_values(x, pattern((100, 200), "float32"))


@pytest.mark.gpu
def test_torch_and_views_share_device_memory(device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if device.simulated or not torch.cuda.is_available():
        pytest.skip("takes a real GPU and a PyTorch that was built with CUDA")
    for name in ("float32", "int64", "complex64", "bfloat16"):
        if name == "bfloat16":
            pytest.importorskip("ml_dtypes")
        tensor = torch.from_numpy(pattern((6, 6), name).view("uint8")).view(getattr(torch, name)).to("cuda")
        for part in (tensor, tensor.T, tensor[:, ::2], tensor[1:, 1:]):
            view = memarray.from_dlpack(part)
            assert view.data_ptr == part.data_ptr()
            again = torch.from_dlpack(view)
            assert again.data_ptr() == part.data_ptr()
            assert torch.equal(*(each.contiguous().reshape(-1).view(torch.uint8) for each in (again, part)))
            assert BufferView(part).data_ptr == part.data_ptr()
    view.close()
    del tensor, part, again, view
    gc.collect()
