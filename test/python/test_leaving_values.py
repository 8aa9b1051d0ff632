"""Every export of a value from memarray, against NumPy: all dtypes at their edge values, in all layouts."""

import pickle

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, edge_rows
from memarray import BufferView
from support import DTYPES
from value_exports import WAYS, of_numbers

LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "strided": lambda x: x[::2, 1::2],
    "negative strides": lambda x: x[::-1, ::-2],
    "zero strides": lambda x: np.broadcast_to(x[:1], (3, *x.shape)),
    "one dimension": lambda x: x[:, 1],
    "one dimension, backwards": lambda x: x[::-1, 0],
    "one element": lambda x: x[1:2, 2:3],
    "no dimension": lambda x: x[1, 2:3].reshape(()),
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_view_exports_exact_values(dtype, way):
    for layout, change in LAYOUTS.items():
        x = change(edge_rows(dtype, 3))
        assert_same_values(WAYS[way](BufferView(x), x), x, layout)


@pytest.mark.parametrize("dtype", DTYPES)
def test_array_and_leases_export_exact_values(dtype):
    x = edge_rows(dtype, 3)
    array = memarray.MemArray.from_numpy(x)
    for way in WAYS:
        assert_same_values(WAYS[way](array.view(), x), x, way)
        with array.read() as lease:
            assert_same_values(WAYS[way](lease.view(), x), x, way)
    with array.read() as lease:
        assert_same_values(of_numbers(x, [number for row in lease for number in row]), x)
        assert_same_values(np.asarray(lease), x)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert_same_values(np.asarray(pickle.loads(pickle.dumps(array, protocol))), x)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_of_edge_values_match_numpy(dtype):
    for layout, change in LAYOUTS.items():
        x = change(edge_rows(dtype, 3))
        view = BufferView(x)
        if not x.size:
            continue
        for name in ("min", "max"):
            expected = x if dtype != "bfloat16" else x.astype("f4")
            got, expected = getattr(view, name)(), getattr(expected, name)()
            if dtype.startswith("complex") and np.isnan(expected):
                assert np.isnan(got), (layout, name)  # the choice among several NaN is unspecified
            else:
                # The choice between two zeros as the minimum is unspecified.
                assert got == expected.item() or (np.isnan(got) and np.isnan(expected)), (layout, name)
        if x.dtype.kind in "biu":
            assert view.sum() == x.sum().item(), layout
            exact = sum(int(number) for number in x.ravel()) / x.size
            # Means are computed in double, like NumPy's.
            assert view.mean() == pytest.approx(exact, abs=1e-15 * float(np.abs(x.astype("f8")).max())), layout


def test_negative_int32_elements_are_negative():
    view = BufferView(np.array([-5, 3], "i4"))
    assert (view[0], view[:1].item(), view.min(), view.max(), list(view)) == (-5, -5, -5, 3, [-5, 3])
