"""Kernels of every dtype and rank over arrays and ranges, reductions, scans and sorts, against NumPy."""

import math

import numpy as np
import pytest
from dtype_values import assert_same_values, drawn, edges
from kernel_model import (
    OPERATIONS,
    RANKS,
    SHAPES,
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
    wide_dtype,
)
from support import DTYPES, FLOATS, INTEGERS, SEED, numpy_dtype

ORDERED = ("bool", *INTEGERS, *FLOATS)


def cases(name, ndim, place, **kinds):
    """Yields values of each shape: edge values, then small numbers with some of them."""
    rng = np.random.default_rng([SEED, ndim, *name.encode()])
    for shape in SHAPES[ndim]:
        if math.prod(shape) > 1000 and not place.threads:
            continue
        yield np.resize(edges(name, **kinds), shape)
        yield drawn(rng, shape, name, **kinds)


@every_dtype_and_rank
def test_kernel_over_range_changes_elements_like_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    for values in cases(name, ndim, place):
        for part in ranges(values.shape):
            for access in accesses(part):
                array, expected = place.array(values), values.copy()
                kernels.change(array, access, where(values.shape, part, **place.settings))
                change(expected, part, access, name)
                assert_same_values(contents(array), expected, (access, part))


@pytest.mark.parametrize("name, ndim", combinations(DTYPES, RANKS[1:]))
def test_rows_of_shape_and_range_are_overwritten_like_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    for values in cases(name, ndim, place):
        for part in ranges(values.shape):
            array, expected = place.array(values), values.copy()
            kept = array.view()
            rows = leading(part)
            kernels.overwrite_rows(array, where(values.shape[:-1], rows, **place.settings))
            expected[key(rows)] = numbers(values.shape, name)[key(rows)]
            assert_same_values(contents(array), expected, rows)
            assert_same_values(np.asarray(kept.to_device("cpu")), values, rows)


@every_dtype_and_rank
def test_launches_of_a_hold_match_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    for values in cases(name, ndim, place, huge=False, infinite=False):
        for part in ranges(values.shape):
            source, target = place.array(values[::-1]), place.array(values)
            result = place.array(np.ones(1, values.dtype))
            on = where(values.shape, part, **place.settings)
            total = kernels.hold(source, target, 2, on)
            assert kernels.hold(source, target, 0, on, result) is None
            expected = values.copy()
            with np.errstate(all="ignore"):
                for _ in range(2):
                    expected[key(part)] = expected[key(part)] + values[::-1][key(part)]
                assert_same_values(contents(target), expected, part)
                assert_sum(element(total, name), expected[key(part)])
            assert contents(result).tobytes() == total
            assert_same_values(contents(source), values[::-1])


@every_dtype_and_rank
def test_bundles_of_arrays_match_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    for values in cases(name, ndim, place, huge=False, infinite=False):
        for part in ranges(values.shape):
            first, second = place.array(values), place.array(values[::-1])
            total = element(kernels.bundle(first, second, where(values.shape, part, **place.settings)), name)
            expected = [values.copy(), values[::-1].copy()]
            with np.errstate(all="ignore"):
                expected[0][key(part)] = values[::-1][key(part)]
                expected[1][key(part)] = values[key(part)] + values[::-1][key(part)]
                assert_sum(total, expected[1][key(part)])
            for array, after in zip((first, second), expected, strict=True):
                assert_same_values(contents(array), after, part)


@every_dtype_and_rank
def test_transform_reduce_over_shape_and_range_matches_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    for values in cases(name, ndim, place, huge=False):
        array = place.array(values)
        for init in edges(name, huge=False, infinite=False)[[0, 1, -1]]:
            for part in ranges(values.shape):
                terms = values[key(part)]
                for operation in operations(name):
                    on = where(values.shape, part, **place.settings)
                    found = kernels.transform_reduce(array, operation, init.tobytes(), on)
                    check(operation, element(found, name), terms, init)
                    result = place.array(values.ravel()[:1] if values.size else np.ones(1, values.dtype))
                    kernels.transform_reduce_into(result, array, operation, init.tobytes(), on)
                    assert contents(result).tobytes() == found


def check(operation, got, terms, init):
    if operation == "plus":
        assert_sum(got, np.append(terms, init))
    elif terms.size:
        assert_value(got, reduced(operation, terms, init))
    else:
        assert_value(got, init)


@every_dtype_and_rank
def test_reductions_of_arrays_match_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    dtype = numpy_dtype(name)
    for values in cases(name, ndim, place, huge=False):
        array = place.array(values)
        init = edges(name, huge=False, infinite=False)[1]
        for operation in operations(name):
            check(operation, element(kernels.reduce(array, operation, init.tobytes()), name), values, init)
        wide = wide_dtype(name)
        assert_sum(np.frombuffer(kernels.sum(array), wide)[0], values, eps=2**-52)
        start = np.asarray(init).astype(wide)
        found = np.frombuffer(kernels.reduce_wide(array, start.tobytes()), wide)[0]
        assert_sum(found, np.append(values.astype(wide), start))
        for part in ranges(values.shape):
            found = kernels.count(array, where(values.shape, part, **place.settings))
            assert found == np.count_nonzero(values[key(part)] != 0)
        if values.size and name in ORDERED:
            wide = values.astype("f4") if name == "bfloat16" else values
            for operation in ("min", "max"):
                expected = np.asarray(getattr(wide, operation)()).astype(dtype)
                assert_value(element(kernels.extremes(array, operation), name), expected)
            both = np.frombuffer(kernels.extremes(array, "minmax"), dtype)
            assert_value(both, np.array([wide.min(), wide.max()], dtype))


@every_dtype_and_rank
def test_dot_matches_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    rng = np.random.default_rng(SEED)
    for left in cases(name, ndim, place, huge=False, infinite=numpy_dtype(name).kind != "c"):
        right = np.ones_like(left) if left.dtype.kind == "c" else drawn(rng, left.shape, name, huge=False)
        if name == "float16":
            right = np.clip(right, -3, 3)  # larger sums overflow on the way
        got = element(kernels.dot(place.array(left), place.array(right)), name)
        with np.errstate(all="ignore"):
            assert_sum(got, left * right)


@pytest.mark.parametrize("name, ndim", combinations(ORDERED))
def test_position_of_extreme_is_first_of_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    for values in cases(name, ndim, place):
        array = place.array(values)
        wide = values.astype("f4") if name == "bfloat16" else values
        for operation in ("argmin", "argmax"):
            if not values.size:
                with pytest.raises(ValueError, match="without elements"):
                    kernels.position(array, operation)
                continue
            first = np.unravel_index(getattr(wide, operation)(), values.shape)
            assert kernels.position(array, operation) == [int(i) for i in first]


@pytest.mark.parametrize("name", FLOATS)
def test_first_nan_is_the_extreme(name, place):
    kernels = kernels_of(name, 2)
    for count in (1, 2, 40):
        for seed in range(20):
            rng = np.random.default_rng([SEED, seed])
            values = drawn(rng, (60, 80), name)
            values[values != values] = 0
            places = np.sort(rng.choice(values.size, count, replace=False))
            values.flat[places] = np.nan
            array = place.array(values)
            first = [int(i) for i in np.unravel_index(places[0], values.shape)]
            assert kernels.position(array, "argmin") == kernels.position(array, "argmax") == first
            init = numpy_dtype(name).type(0).tobytes()
            for operation in ("minimum", "maximum"):
                assert np.isnan(element(kernels.reduce(array, operation, init), name))


@every_dtype_and_rank
def test_scans_match_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    init = edges(name, huge=False, infinite=False)[1]
    for values in cases(name, ndim, place, huge=False):
        for operation in operations(name):
            for start in (None, init):
                source, result = place.array(values), place.array(np.zeros_like(values))
                given = None if start is None else start.tobytes()
                total = kernels.scan(source, result, operation, given)
                found = contents(result)
                # Sums of integers, extremes, and sums from left to right, have one value.
                expected = scanned(operation, values.ravel(), start)
                assert found.shape == values.shape
                assert_value(found.ravel(), expected[: values.size])
                assert (total is None) == (start is None)
                if total is not None:
                    assert_value(element(total, name), expected[-1])
                assert_same_values(contents(source), values)


@every_dtype_and_rank
def test_scans_to_a_wider_dtype_match_numpy(name, ndim, place):
    kernels = kernels_of(name, ndim)
    for values in cases(name, ndim, place, huge=False):
        wide = values.astype(wide_dtype(name))
        for start in (None, np.ones(1, wide.dtype)):
            source, result = place.array(values), place.array(np.zeros_like(wide))
            total = kernels.scan_wide(source, result, None if start is None else start.tobytes())
            expected = scanned("plus", wide.ravel(), None if start is None else start[0])
            assert_value(contents(result).ravel(), expected[: values.size])
            if start is not None:
                assert_value(np.frombuffer(total, wide.dtype)[0], expected[-1])


def scanned(operation, x, init):
    """Returns the results of a scan in one piece, with an `init` also the total."""
    terms = x if init is None else np.concatenate([[init], x])
    if x.dtype.name == "bfloat16" and operation == "plus":
        running, found = None, np.empty_like(terms)
        with np.errstate(all="ignore"):
            for i, term in enumerate(terms):
                found[i] = running = term if running is None else running + term
        return found
    wide = terms.astype("f4") if x.dtype.name == "bfloat16" else terms
    ufunc = OPERATIONS[operation]
    if operation.startswith("logical"):
        # The first result is the first value as it is.
        return np.concatenate([terms[:1], ufunc.accumulate(terms.astype(bool))[1:].astype(x.dtype)])
    with np.errstate(all="ignore"):
        return ufunc.accumulate(wide, dtype=wide.dtype).astype(x.dtype)


@pytest.mark.parametrize("name, ndim", combinations(ORDERED))
def test_sort_by_key_is_numpys_stable_sort(name, ndim, place):
    kernels = kernels_of(name, ndim)
    rng = np.random.default_rng([SEED, ndim])
    for count in (0, 1, 2, 50, 3000):
        for row in ((), (1, 1, 1), (2, 3, 1), (3, 1, 1)):
            keys = drawn(rng, (count,), name)
            if name in FLOATS and count > 2:
                keys[::3] = rng.choice(edges(name), len(keys[::3]))
                keys[::7] = -np.nan
            values = drawn(rng, (count, *row[: ndim - 1]), name)
            if values.ndim != ndim:
                continue
            order = np.argsort(keys.astype("f4") if name == "bfloat16" else keys, kind="stable")
            sorted_keys, sorted_values = place.array(keys), place.array(values)
            kernels.sort_by_key(sorted_keys, sorted_values)
            assert contents(sorted_keys).tobytes() == keys[order].tobytes()
            assert contents(sorted_values).tobytes() == values[order].tobytes()


@pytest.mark.parametrize("name", ORDERED)
def test_array_without_elements_has_no_extreme(name, place):
    array = place.array(np.empty((3, 0), numpy_dtype(name)))
    for call in ("min", "max", "minmax"):
        with pytest.raises(ValueError, match=call):
            kernels_of(name, 2).extremes(array, call)


def test_ranges_outside_the_array_are_refused(place):
    kernels = kernels_of("int32", 2)
    values = np.arange(12, dtype="int32").reshape(3, 4)
    array, other = place.array(values), place.array(np.zeros((4, 3), "int32"))
    for part in (((0, 0), (4, 4)), ((0, 0), (3, 5)), ((-1, 0), (3, 4)), ((0, 4), (3, 5)), ((5, 5), (6, 6))):
        for access in ("update", "update, by index", "overwrite"):
            with pytest.raises(ValueError, match="not within"):
                kernels.change(array, access, where(values.shape, part))
        with pytest.raises(ValueError, match="not within"):
            kernels.hold(other, array, 1, where(values.shape, part))
    for rows in (((0,), (4,)), ((-1,), (2,)), ((3,), (4,))):
        with pytest.raises(ValueError, match="not within"):
            kernels.overwrite_rows(array, where((3,), rows))
    for shape in ((3, 3), (4, 4), (0, 4), (3, 5)):
        for access in ("update", "overwrite"):
            with pytest.raises(ValueError, match="shape"):
                kernels.change(array, access, where(shape, None))
    with pytest.raises(ValueError, match="negative"):
        kernels.change(array, "write", where((-1, 4), None))
    for call in (lambda: kernels.dot(array, other), lambda: kernels.scan(array, other, "plus")):
        with pytest.raises(ValueError, match="one shape"):
            call()
    assert array.lock_id == -1
    assert np.array_equal(contents(array), values)


def test_arrays_in_two_places_are_refused(simulated_devices):
    kernels = kernels_of("int32", 1)
    here, there, one = (array_of(np.zeros(size, "int32")) for size in (5, 5, 1))
    there.move_memory(2, device_id=0)
    for call in (
        lambda: kernels.dot(here, there),
        lambda: kernels.scan(there, here, "plus"),
        lambda: kernels.sort_by_key(here, there),
        lambda: kernels.hold(here, there, 1, where((5,), None)),
        lambda: kernels.bundle(there, here, where((5,), None)),
        lambda: kernels.transform_reduce_into(one, there, "plus", bytes(4), where((5,), None)),
    ):
        with pytest.raises(RuntimeError, match="where all its arrays are"):
            call()
