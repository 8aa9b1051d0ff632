"""Sums, means, minima and maxima of views: exactness, order, and overflow, NaN and empty input as in NumPy."""

import math

import memarray
import numpy as np
import pytest
from memarray import BufferView
from support import INTEGERS, SEED, numpy_dtype

pytestmark = pytest.mark.sanitize


def view_of(x):
    return BufferView.from_numpy(x)


@pytest.mark.trap("P20")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_float_sums_are_correctly_rounded(axis):
    x = np.random.default_rng(SEED).random((1000, 1000), dtype="float32")
    if axis is None:
        got, exact = [view_of(x).sum()], [math.fsum(x.ravel().tolist())]
    else:
        got = np.asarray(view_of(x).sum(axis=axis)).tolist()
        exact = [math.fsum(line.tolist()) for line in (x.T if axis == 0 else x)]
    for value, right in zip(got, exact, strict=True):
        assert value == np.float32(right)


def test_double_sums_have_small_error():
    x = np.random.default_rng(SEED).standard_normal(300_001) * 10.0 ** np.arange(300_001).clip(0, 8)
    x[1] = 1e17
    exact = math.fsum(x.tolist())
    assert abs(view_of(x).sum() - exact) <= 1e-14 * np.abs(x).sum()
    assert abs(view_of(x)[::-1].mean() * x.size - exact) <= 2e-14 * np.abs(x).sum()


@pytest.mark.parametrize("layout", ["C", "transposed", "flipped", "strided"])
def test_results_do_not_depend_on_thread_count(layout, request):
    x = np.random.default_rng(SEED).random((1500, 1400), dtype="float32")
    x = {"C": x, "transposed": x.T, "flipped": x[::-1, ::-1], "strided": x[:, ::3]}[layout]
    results = []
    before = memarray.options.threads
    request.addfinalizer(lambda: setattr(memarray.options, "threads", before))
    for threads in (1, 2, 5):
        memarray.options.threads = threads
        view = view_of(x)
        results.append(
            [view.sum(), view.mean(), np.asarray(view.sum(axis=0)).tobytes(), np.asarray(view.copy()).tobytes()]
        )
    assert results[0] == results[1] == results[2]


@pytest.mark.trap("P22")
def test_broadcast_dimensions_are_reduced_without_visiting_repeats():
    x = np.arange(5, dtype="float32")
    view = view_of(x).broadcast_to(2**20, 2**20, 5)
    assert view.sum() == 10.0 * 2**40
    assert (view.min(), view.max()) == (0, 4)
    assert view.mean() == 2
    assert np.asarray(view.sum(axis=(0, 1))).tolist() == [i * 2.0**40 for i in range(5)]


@pytest.mark.trap("P21")
@pytest.mark.parametrize("operation", ["min", "max", "sum"])
def test_reduction_walks_memory_in_storage_order(operation):
    x = np.zeros((300, 200, 100), "float32")
    as_it_lies = view_of(x).plan(operation)
    for turned in (x.T, x.transpose(1, 2, 0), x.reshape(-1, 20, 1, 10)):
        assert view_of(turned).plan(operation) == as_it_lies
    assert "(+" in view_of(x[::-1, ::2]).plan(operation)
    assert "-" not in view_of(x[::-1, ::2]).plan(operation).split(" from ")[0].split(";")[0]


@pytest.mark.trap("P19")
@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_negative_strides_are_refused_over_dlpack(version):
    view = view_of(np.arange(12.0).reshape(3, 4))
    for flipped in (view[::-1], view[:, ::-2], view.T[::-1]):
        with pytest.raises(BufferError, match=r"negative strides.*copy\(\)"):
            flipped.__dlpack__(max_version=version)
        assert np.asarray(flipped).size == flipped.size
        assert np.from_dlpack(flipped.copy()).shape == flipped.shape
    # The stride of a single element does not matter.
    assert np.from_dlpack(view[::-1][:1]).strides[0] >= 0


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_sums_wrap_only_at_64_bits(dtype):
    x = np.full((3, 1000), np.iinfo(dtype).max, dtype)
    view = view_of(x)
    assert view.sum() == int(x.sum())
    assert view.sum(axis=0).dtype == x.sum(axis=0).dtype
    np.testing.assert_array_equal(np.asarray(view.sum(axis=1)), x.sum(axis=1))
    assert view.mean() == pytest.approx(float(np.iinfo(dtype).max))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("operation", ["sum", "mean", "min", "max"])
def test_nan_propagates_through_reductions(dtype, operation):
    x = np.ones((4, 50), numpy_dtype(dtype))
    x[2, 33] = np.nan
    view = view_of(x)
    assert np.isnan(getattr(view, operation)())
    assert np.isnan(np.asarray(getattr(view, operation)(axis=1))).tolist() == [False, False, True, False]
    assert np.isnan(np.asarray(getattr(view.T, operation)(axis=0))).tolist() == [False, False, True, False]


def test_empty_view_has_zero_sum_and_no_minimum():
    empty = view_of(np.zeros((0, 3), "float32"))
    assert empty.sum() == 0
    assert np.asarray(empty.sum(axis=0)).tolist() == [0, 0, 0]
    assert empty.sum(axis=1).shape == (0,)
    assert math.isnan(empty.mean())
    assert np.isnan(np.asarray(empty.mean(axis=0))).all()
    assert empty.min(axis=1).shape == (0,)
    for call in (empty.min, empty.max, lambda: empty.min(axis=0)):
        with pytest.raises(ValueError, match="empty view has no value"):
            call()


def test_float_sums_overflow_to_infinity():
    assert view_of(np.full(10, 3e38, "float32")).sum() == math.inf
    assert view_of(np.full(10, 3e38, "float32")).mean() == np.float32(3e38)
    assert view_of(np.full(100, 60000, "float16")).sum() == math.inf
