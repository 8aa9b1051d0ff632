"""Random views and operations on them, against NumPy.

MEMARRAY_NIGHTLY=1 runs many more examples; MEMARRAY_SEED=n repeats the run that printed n.
"""

import math
import os
import re

import numpy as np
import pytest
from dtype_values import assert_same_values, drawn
from hypothesis import given
from hypothesis import strategies as st
from memarray import BufferView
from random_runs import random_cases
from support import DTYPES, numpy_dtype
from value_exports import WAYS

EXAMPLES = 100_000 if os.environ.get("MEMARRAY_NIGHTLY") else 2_000

extents = st.sampled_from((0, 1, 1, 2, 3, 4, 5, 9, 17, 40))
bound = st.one_of(st.none(), st.integers(-6, 6))
steps = st.sampled_from((None, 1, 2, 3, -1, -2, -5))


@st.composite
def changes(draw, shape):
    """Draws a few changes, each the kind of view to make next and a seed for its details."""
    made = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(("slice", "slice", "transpose", "reshape", "broadcast", "select", "newaxis")))
        made.append((kind, draw(st.integers(0, 2**31))))
    return made


def change(x, view, kind, random):
    """Changes both. Returns both unchanged if NumPy refuses the change; memarray must then refuse it, too."""
    rng = np.random.default_rng(random)
    if kind == "slice" and x.ndim:
        key = tuple(
            slice(*(None if rng.random() < 0.5 else int(rng.integers(-6, 7)) for _ in range(2)),
                  int(rng.choice([1, 1, 2, 3, -1, -2, -5])))
            for _ in range(x.ndim)
        )  # fmt: skip
        return x[key], view[key]
    if kind == "transpose":
        axes = tuple(int(a) for a in rng.permutation(x.ndim))
        return x.transpose(axes), view.transpose(axes) if axes else view.transpose()
    if kind == "reshape":
        return reshape(x, view, rng)
    if kind == "broadcast" and x.ndim < 6 and x.size < 5000:
        shape = tuple(int(rng.integers(1, 4)) if e == 1 else e for e in x.shape)
        shape = (*([2] if rng.random() < 0.5 else []), *shape)
        return np.broadcast_to(x, shape), view.broadcast_to(shape)
    if kind == "select" and x.ndim and x.shape[-1]:
        at = int(rng.integers(-x.shape[-1], x.shape[-1]))
        return (x[..., at], view[..., at]) if x.ndim > 1 else (x, view)
    if kind == "newaxis" and x.ndim < 8:
        return x[None, ...], view[None, ...]
    return x, view


def reshape(x, view, rng):
    factors = [int(f) for f in rng.permutation([p for e in x.shape for p in prime_factors(e)])]
    shape = []
    while factors:
        take = int(rng.integers(1, len(factors) + 1))
        shape.append(math.prod(factors[:take]))
        factors = factors[take:]
    shape = [0, 3] if x.size == 0 else shape
    try:
        seen = np.reshape(x, shape, copy=False)
    except ValueError:
        with pytest.raises(ValueError, match="without a copy"):
            view.reshape(shape)
        return x, view
    return seen, view.reshape(shape)


def prime_factors(n):
    return [] if n <= 1 else next([p, *prime_factors(n // p)] for p in range(2, n + 1) if n % p == 0)


def outcome(call):
    """Returns the value, or the kind of error."""
    try:
        return call()
    except (ValueError, TypeError, IndexError) as error:
        return next(kind for kind in (ValueError, TypeError, IndexError) if isinstance(error, kind))


def is_same_kind(source, target):
    """Returns True if `cast` converts between the dtypes. NumPy does not know the kind of bfloat16."""
    names = ["float32" if name == "bfloat16" else name for name in (source, target)]
    return np.can_cast(names[0], names[1], "same_kind")


def equal(got, expected):
    """Checks for equal elements, NaN equal to NaN. NumPy's helpers do not recognise NaN in bfloat16."""
    if np.asarray(expected).dtype.name == "bfloat16":
        got, expected = (np.asarray(x).astype("f8") for x in (got, expected))
    np.testing.assert_array_equal(got, expected)


def same_reduction(got, expected, x, operation):
    """Checks the result of a reduction of `x` against NumPy's."""
    if isinstance(expected, type):
        assert got is expected, (got, expected)
        return
    expected = np.asarray(expected)
    if isinstance(got, BufferView):
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        got = np.asarray(got)
    if operation in ("min", "max") or expected.dtype.kind in "biu":
        equal(got, expected)
        return
    # NumPy's own sums are less exact than memarray's.
    eps = {2: 2e-2, 4: 2e-6, 8: 2e-6 if x.dtype == "complex64" else 1e-12, 16: 1e-12}[expected.dtype.itemsize]
    got, expected = np.asarray(got).astype("c16"), expected.astype("c16")
    # Large terms that cancel leave rounding errors of their own size, which depend on the order.
    largest = float(np.abs(x.astype("f8")).max(initial=0)) if operation == "mean" and x.dtype.kind in "iu" else 0.0
    scale = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)), float(x.size) ** 0.5, largest)
    np.testing.assert_allclose(got, expected, rtol=eps * 8, atol=eps * 8 * scale)


LOOP = re.compile(r"(\d+) \(([+-]?\d+)(?:, ([+-]?\d+))?\)")


def check_plan(view, operation, axis, rng):
    """The loops meet each element once, forwards. The order of a view's axes does not change the plan."""
    plan = view.plan(operation, axis) if operation in ("sum", "mean", "min", "max") else view.plan(operation)
    loops = [[int(number) for number in loop if number] for loop in LOOP.findall(plan)]
    met = math.prod(extent for extent, *_ in loops) * math.prod(int(n) for n in re.findall(r"times (\d+)", plan))
    if view.dtype.kind == "c" and operation in ("sum", "mean") and met % 2 == 0:
        met //= 2  # complex elements are added as real and imaginary parts
    repeats = any(stride == 0 for stride, extent in zip(view.strides, view.shape, strict=True) if extent > 1)
    if not view.size:
        return
    # An element that a broadcast repeats may be met once.
    assert met == view.size or (repeats and view.size % met == 0), plan
    # add_index may go backwards: it counts indices from the first element.
    assert operation == "add_index" or all(strides[0] >= 0 for _, *strides in loops), plan
    if operation in ("sum", "min", "max") and axis is None and view.ndim:
        axes = [int(a) for a in rng.permutation(view.ndim)]
        assert view.transpose(axes).plan(operation) == plan


def reduced(x, name, axis, keepdims):
    """Returns NumPy's result, added up in double precision."""
    if (name in ("sum", "mean") and x.dtype.kind in "fcV") or x.dtype.name == "bfloat16":
        wide = x.astype("c16" if x.dtype.kind == "c" else "f8")
        with np.errstate(over="ignore"):
            return np.asarray(getattr(wide, name)(axis=axis, keepdims=keepdims)).astype(x.dtype)
    return getattr(x, name)(axis=axis, keepdims=keepdims)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value", "ignore:overflow")
@pytest.mark.sweep
def test_random_view_operations_match_numpy():
    @random_cases(EXAMPLES)
    @given(
        shape=st.lists(extents, max_size=4),
        dtype=st.sampled_from(DTYPES),
        random=st.integers(0, 2**32),
        kinds=changes(None),
        operation=st.sampled_from(("sum", "mean", "min", "max", "copy", "cast", "fill", "add_index")),
        keepdims=st.booleans(),
        nan=st.booleans(),
    )
    def run(shape, dtype, random, kinds, operation, keepdims, nan):
        if math.prod(shape) > 20_000:
            shape = shape[:2]
        rng = np.random.default_rng(random)
        kind = numpy_dtype(dtype)
        # Sums of the largest doubles, and of complex infinities, depend on the order.
        summed = operation in ("sum", "mean")
        base = drawn(
            rng, shape, dtype, huge=not (summed and kind.kind in "fcV"), infinite=not (summed and kind.kind == "c")
        )
        if nan and kind.kind in "fc" and base.size:
            base.flat[int(rng.integers(base.size))] = np.nan
        x, view = base, BufferView.from_numpy(base)
        for how, number in kinds:
            x, view = change(x, view, how, number)
        assert (view.shape, view.writable) == (x.shape, x.flags.writeable)
        if x.size:
            assert [s for s, e in zip(view.strides, view.shape, strict=True) if e > 1] == [
                s for s, e in zip(x.strides, x.shape, strict=True) if e > 1
            ]
            assert view.data_ptr == x.__array_interface__["data"][0]
        assert (view.is_contiguous(), view.is_fortran_contiguous()) == (x.flags.c_contiguous, x.flags.f_contiguous)
        if operation in ("sum", "mean", "min", "max"):
            count = int(rng.integers(0, x.ndim + 1))
            axis = None if rng.random() < 0.3 else tuple(int(a) for a in rng.permutation(x.ndim)[:count])
            expected = outcome(lambda: reduced(x, operation, axis, keepdims))
            got = outcome(lambda: getattr(view, operation)(axis, keepdims=keepdims))
            same_reduction(got, expected, x, operation)
            check_plan(view, operation, axis, rng)
            # NumPy's AxisError is a ValueError and an IndexError. For a missing axis memarray raises an IndexError.
            wrong, kind = ((x.ndim, IndexError), (-x.ndim - 1, IndexError), ((0, 0), ValueError))[int(rng.integers(3))]
            if x.ndim:
                with pytest.raises(kind):
                    getattr(view, operation)(wrong)
                with pytest.raises(kind):
                    getattr(x, operation)(wrong)
        elif operation == "copy":
            check_plan(view, "copy", None, rng)
            assert_same_values(np.asarray(view.copy()), x)
            assert view.copy().is_contiguous()
        elif operation == "cast":
            check_plan(view, "cast", None, rng)
            target = DTYPES[int(rng.integers(len(DTYPES)))]
            if not is_same_kind(dtype, target):
                assert outcome(lambda: view.cast(target)) is TypeError
            elif target != "bfloat16" or np.can_cast(x.dtype, "f4"):  # ml_dtypes rounds wider numbers twice
                wide = x.astype("f4") if "bfloat16" in (dtype, target) and dtype != target else x
                assert_same_values(np.asarray(view.cast(target)), wide.astype(numpy_dtype(target)))
        elif x.flags.writeable:
            before = base.copy()
            twin = before
            expected_view, _ = twin, None
            for how, number in kinds:
                expected_view, _ = change(expected_view, BufferView.from_numpy(expected_view), how, number)
            check_plan(view, operation, None, rng)
            if operation == "fill":
                value = drawn(rng, (1,), dtype)[0]
                view.fill(value)
                expected_view[...] = value
            elif dtype not in ("bool", "bfloat16"):
                view.add_index()
                expected_view += np.indices(x.shape).sum(axis=0).astype(x.dtype) if x.ndim else 0
            else:
                return
            assert_same_values(base, before, operation)

    run()


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
@pytest.mark.sweep
def test_random_views_export_their_values_in_every_way():
    @random_cases(EXAMPLES // 10)
    @given(
        shape=st.lists(extents, max_size=4),
        dtype=st.sampled_from(DTYPES),
        random=st.integers(0, 2**32),
        kinds=changes(None),
        way=st.sampled_from(sorted(WAYS)),
    )
    def run(shape, dtype, random, kinds, way):
        while math.prod(shape) > 1000:
            shape = shape[1:]
        x = drawn(np.random.default_rng(random), shape, dtype)
        view = BufferView.from_numpy(x)
        for how, number in kinds:
            x, view = change(x, view, how, number)
        assert_same_values(WAYS[way](view, x), x, way)

    run()
