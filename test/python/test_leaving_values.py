"""Every export of a value from memarray, against NumPy: all dtypes at their edge values, in all layouts."""

import copy
import pickle

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, edges
from memarray import BufferView
from support import DTYPES, numpy_dtype

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


def values_of(dtype):
    values = edges(dtype)
    columns = 3
    rows = max(3, -(-values.size // columns))
    return np.resize(values, (rows, columns))


def of_numbers(x, numbers):
    """Returns an array like `x` with the numbers, which were exported one by one."""
    made = np.empty(x.shape, x.dtype)
    for index, number in zip(np.ndindex(x.shape), numbers, strict=True):
        made[index] = number
    return made


def of_parts(view, x, read):
    """Returns an array like `x` of the results of `read` on the view of each element."""
    return of_numbers(x, [read(view[(*(slice(i, i + 1) for i in at), ...)]) for at in np.ndindex(x.shape)])


def bool_of(view):
    assert int(view) in (0, 1)
    return bool(int(view))


def iterated(view):
    if view.ndim == 0:
        return [view.item()]
    return [number for row in view for number in (iterated(row) if isinstance(row, BufferView) else [row])]


def flat(nested):
    return [number for row in nested for number in flat(row)] if isinstance(nested, list) else [nested]


def parsed(view):
    dtype = numpy_dtype(view._dtype_name)
    return np.frombuffer(view.tobytes(), dtype).reshape(view.shape)


def of_buffer(view):
    # bfloat16 has no buffer format; negative strides are exported over the other protocols only.
    return np.array(memoryview(view)) if view._dtype_name != "bfloat16" else np.asarray(view)


def of_dlpack(view):
    if view._dtype_name == "bfloat16" or any(stride < 0 for stride in view.strides):
        view = view.copy()
    return np.from_dlpack(view) if view._dtype_name != "bfloat16" else np.asarray(view)


#: Functions from (view, array with its values) to an array with the exported values.
WAYS = {
    "view[index]": lambda v, x: of_numbers(x, [v[index] if index else v.item() for index in np.ndindex(x.shape)]),
    "view[i][j]": lambda v, x: of_numbers(x, iterated(v)),
    "item()": lambda v, x: of_parts(v, x, lambda part: part.item()),
    "complex()": lambda v, x: of_parts(v, x, complex if x.dtype.kind == "c" else lambda part: part.item()),
    "int() and float()": lambda v, x: of_parts(
        v, x, {"c": complex, "b": bool_of, "i": int, "u": int}.get(x.dtype.kind, float)
    ),
    "tolist()": lambda v, x: of_numbers(x, flat(v.tolist())),
    "tobytes()": lambda v, x: parsed(v),
    "tobytes('F')": lambda v, x: np.frombuffer(v.tobytes("F"), x.dtype).reshape(x.shape[::-1]).T,
    "copy()": lambda v, x: np.asarray(v.copy()),
    "copy.copy": lambda v, x: np.asarray(copy.copy(v)),
    "copy.deepcopy": lambda v, x: np.asarray(copy.deepcopy(v)),
    "cast()": lambda v, x: np.asarray(v.cast(x.dtype)),
    "np.asarray": lambda v, x: np.asarray(v),
    "np.array": lambda v, x: np.array(v),
    "__array__": lambda v, x: v.__array__(),
    "memoryview": lambda v, x: of_buffer(v),
    "np.from_dlpack": lambda v, x: of_dlpack(v),
    "np.array(list)": lambda v, x: np.array(v.tolist(), x.dtype).reshape(x.shape),
    "min()": lambda v, x: of_parts(v, x, lambda part: part.min()),
    "max()": lambda v, x: of_parts(v, x, lambda part: part.max()),
    **{
        f"pickle, protocol {protocol}": lambda v, _, p=protocol: np.asarray(pickle.loads(pickle.dumps(v, p)))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_view_exports_exact_values(dtype, way):
    for layout, change in LAYOUTS.items():
        x = change(values_of(dtype))
        assert_same_values(WAYS[way](BufferView(x), x), x, layout)


@pytest.mark.parametrize("dtype", DTYPES)
def test_array_and_leases_export_exact_values(dtype):
    x = values_of(dtype)
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
        x = change(values_of(dtype))
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
