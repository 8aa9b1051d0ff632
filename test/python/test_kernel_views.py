"""Kernels over memory with any strides, of memarray and of NumPy, against NumPy's slices."""

import itertools
import os

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values, drawn
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import (
    ACCESSES,
    RANKS,
    WHOLE,
    accesses,
    array_of,
    assert_sum,
    assert_value,
    change,
    combinations,
    contents,
    element,
    every_dtype_and_rank,
    kernels_of,
    key,
    leading,
    numbers,
    operations,
    ranges,
    reduced,
    where,
)
from memarray import BufferView
from memarray.dlpack import kDLCUDA
from random_runs import random_cases
from support import DTYPES, SEED, numpy_dtype

EXAMPLES = 20_000 if os.environ.get("MEMARRAY_NIGHTLY") else 100
#: Extents of the memory that views are taken of.
BASES = {1: (19,), 2: (5, 8), 3: (4, 2, 7), 4: (3, 4, 2, 5)}
#: Layouts of views of memory: `x` is a NumPy array or a `BufferView`.
LAYOUTS = {
    "dense": lambda x: x,
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[(slice(None, None, -1),) * x.ndim],
    "every second": lambda x: x[(slice(1, None, 2),) * x.ndim].T,
    "cut": lambda x: x[(..., slice(-2, 0, -1))],
    "without elements": lambda x: x[2:2],
}
every_dtype = pytest.mark.parametrize("name", DTYPES)


def drawn_base(name, ndim):
    return drawn(np.random.default_rng([SEED, ndim, *name.encode()]), BASES[ndim], name, huge=False)


def check_reductions(kernels, memory, x, name, part, settings, result=None):
    """Checks the values of reductions, and those left in `result`, an array in the same place."""
    terms = x[key(part)]
    init = numpy_dtype(name).type(1)
    for operation in operations(name):
        on = where(x.shape, part, **settings)
        value = kernels.transform_reduce(memory, operation, init.tobytes(), on)
        found = element(value, name)
        if result is not None:
            kernels.transform_reduce_into(result, memory, operation, init.tobytes(), on)
            assert result.view().copy().to_device("cpu").tobytes() == value
        if operation == "plus":
            assert_sum(found, np.append(terms, init))
        else:
            assert_value(found, reduced(operation, terms, init) if terms.size else init)


@every_dtype_and_rank
def test_kernels_change_strided_views_like_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    base = drawn_base(name, ndim)
    for layout in LAYOUTS.values():
        for part in ranges(layout(base).shape)[:4]:
            for access in accesses(part):
                expected = base.copy()
                change(layout(expected), part, access, name)
                array = place.array(base)
                with array.write() as lease:
                    view = layout(lease.view())
                    kernels.change(view, access, where(view.shape, part, **place.settings))
                    del view
                assert_same_values(contents(array), expected, (access, part))


@pytest.mark.parametrize("name, ndim", combinations(DTYPES, RANKS[1:]))
def test_rows_of_strided_views_are_overwritten_like_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    base = drawn_base(name, ndim)
    for layout in LAYOUTS.values():
        shape = layout(base).shape
        for rows in map(leading, ranges(shape)):
            expected = base.copy()
            layout(expected)[key(rows)] = numbers(shape, name)[key(rows)]
            array = place.array(base)
            with array.write() as lease:
                kernels.overwrite_rows(layout(lease.view()), where(shape[:-1], rows, **place.settings))
            assert_same_values(contents(array), expected, rows)


@every_dtype_and_rank
def test_kernels_reduce_strided_views_like_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    base = drawn_base(name, ndim)
    view, result = place.view(base), place.array(base.ravel()[:1])
    for layout in LAYOUTS.values():
        for part in ranges(layout(base).shape):
            check_reductions(kernels, layout(view), layout(base), name, part, place.settings, result)


@every_dtype_and_rank
@pytest.mark.parametrize("order", ["C", "F"])
def test_kernels_change_numpy_memory_in_place(name, ndim, order):
    kernels = kernels_of(name, ndim)
    base = np.array(drawn_base(name, ndim), order=order)
    for layout, access in itertools.product(LAYOUTS.values(), accesses(None)):
        found, expected = base.copy("K"), base.copy("K")
        change(layout(expected), None, access, name)
        wrapped = BufferView.from_numpy(found)
        kernels.change(layout(wrapped), access, where(layout(found).shape, None, threads=2, grain=1))
        assert_same_values(found, expected, access)
        # NumPy's own slice of the memory.
        part = None if access in WHOLE else ranges(layout(found).shape)[-1]
        change(layout(expected), part, access, name)
        kernels.change(layout(found), access, where(layout(found).shape, part))
        assert_same_values(found, expected, access)


@every_dtype
def test_views_that_repeat_elements_are_only_read(name):
    kernels = kernels_of(name, 3)
    x = np.broadcast_to(drawn_base(name, 2)[:, None, ::-2], (5, 3, 4))
    view = BufferView.from_numpy(x)
    for part in ranges(x.shape):
        check_reductions(kernels, view, x, name, part, {"threads": 2, "grain": 1})
    for access in accesses(None):
        with pytest.raises((TypeError, BufferError, ValueError)):
            kernels.change(view, access, where(x.shape, None))
    items = np.zeros(9, numpy_dtype(name))
    strides = tuple(items.itemsize * step for step in (0, 2, 1))
    overlapping = np.lib.stride_tricks.as_strided(items, (2, 3, 4), strides)
    before = overlapping.copy()
    for access in ("update", "overwrite", *WHOLE):
        with pytest.raises((TypeError, BufferError, ValueError)):
            kernels.change(overlapping, access, where(overlapping.shape, None))
    assert np.array_equal(overlapping, before)


@st.composite
def layouts(draw):
    """Draws a function that makes the same view of a NumPy array or of a `BufferView`."""
    ndim = draw(st.sampled_from(RANKS))
    shape = tuple(draw(st.sampled_from((0, 1, 1, 2, 3, 5, 8))) for _ in range(ndim))
    axes = draw(st.permutations(range(ndim)))
    bound = st.one_of(st.none(), st.integers(-9, 9))
    step = st.sampled_from((None, 1, 2, 3, -1, -2, -3))
    slices = tuple(slice(draw(bound), draw(bound), draw(step)) for _ in range(ndim))
    return shape, lambda x: x.transpose(*axes)[slices]


@pytest.mark.parametrize("where_from", ["array", "NumPy", "device"])
@pytest.mark.sweep
def test_kernels_over_random_ranges_of_random_views_match_numpy(where_from, request):
    if where_from == "device":
        request.getfixturevalue("simulated_devices")

    @random_cases(EXAMPLES)
    @given(
        layout=layouts(),
        name=st.sampled_from(DTYPES),
        access=st.sampled_from(ACCESSES),
        order=st.sampled_from("CF"),
        threads=st.sampled_from((1, 2, 3)),
        grain=st.integers(0, 5),
        random=st.integers(0, 2**32),
    )
    def run(layout, name, access, order, threads, grain, random):
        shape, view_of = layout
        rng = np.random.default_rng(random)
        base = np.array(drawn(rng, shape, name, huge=False), order=order if where_from == "NumPy" else "C")
        expected = base.copy("K")
        x = view_of(expected)
        bounds = [np.sort(rng.integers(0, extent + 1, 2)) for extent in x.shape]
        part = None if rng.random() < 0.2 else tuple(tuple(int(b[i]) for b in bounds) for i in range(2))
        kernels = kernels_of(name, x.ndim)
        launch = {"threads": threads, "grain": grain}
        if where_from == "NumPy":
            found = view_of(base)
            check_reductions(kernels, found, x, name, part, launch)
            kernels.change(found, access, where(x.shape, part, **launch))
        else:
            array = array_of(base)
            if where_from == "device":
                array.move_memory(kDLCUDA, device_id=0)
            with array.write() as lease:
                found = view_of(lease.view())
                check_reductions(kernels, found, x, name, part, launch)
                kernels.change(found, access, where(x.shape, part, **launch))
                found = None
            base = contents(array)
        change(x, part, access, name)
        assert_same_values(base, expected)

    run()


@pytest.mark.sweep
def test_kernels_over_random_ranges_of_arrays_match_numpy():
    @random_cases(EXAMPLES)
    @given(
        shape=st.lists(st.sampled_from((0, 1, 2, 3, 4, 5, 9, 30)), min_size=1, max_size=4),
        name=st.sampled_from(DTYPES),
        accesses=st.lists(st.sampled_from(ACCESSES), min_size=1, max_size=3),
        threads=st.sampled_from((1, 2, 3)),
        grain=st.integers(0, 5),
        kept=st.booleans(),
        random=st.integers(0, 2**32),
    )
    def run(shape, name, accesses, threads, grain, kept, random):
        # Sums of so few float16 stay below its largest value, 65504, also after three updates.
        size, small = (150, 4) if name == "float16" else (5000, 5)
        shape = tuple(extent if np.prod(shape) < size else min(extent, small) for extent in shape)
        rng = np.random.default_rng(random)
        values = drawn(rng, shape, name, huge=False)
        array, expected = array_of(values), values.copy()
        kernels = kernels_of(name, len(shape))
        versions = []
        for access in accesses:
            if kept:
                versions.append((array.view(), expected.copy()))
            bounds = [np.sort(rng.integers(0, extent + 1, 2)) for extent in shape]
            part = tuple(tuple(int(b[i]) for b in bounds) for i in range(2))
            kernels.change(array, access, where(shape, part, threads=threads, grain=grain))
            change(expected, part, access, name)
            check_reductions(kernels, array, expected, name, part, {"threads": threads, "grain": grain})
        assert_same_values(contents(array), expected)
        for view, before in versions:
            assert_same_values(np.asarray(view), before)

    run()


def test_views_of_another_dtype_or_rank_are_refused():
    kernels = kernels_of("float32", 2)
    for x in (np.zeros((2, 3)), np.zeros(6, "f4"), np.zeros((1, 2, 3), "f4"), np.zeros((2, 3), "i4"), 5, "text"):
        for call in (
            lambda x=x: kernels.change(x, "update", where((2, 3), None)),
            lambda x=x: kernels.transform_reduce(x, "plus", bytes(4), where((2, 3), None)),
        ):
            with pytest.raises((TypeError, AttributeError, memarray.Error, RuntimeError)):
                call()
