"""Floating-point results of reductions and scans, bit by bit, for any number of threads and in every run."""

import memarray
import numpy as np
import pytest
from dtype_values import edges
from kernel_model import array_of, combinations, kernels_of, where
from support import COMPLEXES, FLOATS, SEED, look, numpy_dtype

#: Several pieces of reductions and of scans.
SHAPES = {1: (200_003,), 2: (3, 70_001), 3: (67, 31, 97), 4: (5, 401, 2, 51)}
every_float_and_rank = pytest.mark.parametrize("name, ndim", combinations([*FLOATS, *COMPLEXES]))


@pytest.fixture
def with_threads():
    """Yields a function that calls another with 1, 2 and 3 threads, twice, and returns the different results."""
    before = memarray.options.threads

    def results(call):
        found = set()
        for threads in (1, 2, 3, 2, 1):
            memarray.options.threads = threads
            found.add(call(threads))
        return found

    yield results
    memarray.options.threads = before


def random_values(name, shape):
    """Returns numbers of very different sizes, whose sums depend on the order."""
    rng = np.random.default_rng([SEED, len(shape)])
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)
    if name in COMPLEXES:
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(numpy_dtype(name))


def random_choices(name, size):
    """Returns small numbers and edge values in random order."""
    numbers = np.arange(120) % (2 if name == "bool" else 120)
    return np.random.default_rng(SEED).choice(np.append(edges(name), numbers.astype(name)), size)


@every_float_and_rank
def test_reductions_are_bitwise_the_same_for_any_number_of_threads(name, ndim, with_threads):
    kernels = kernels_of(name, ndim)
    shape = SHAPES[ndim]
    values = random_values(name, shape)
    array, other = array_of(values), array_of(values[::-1].copy())
    init = numpy_dtype(name).type(1).tobytes()
    begin, end = tuple(extent // 7 for extent in shape), tuple(extent - 1 for extent in shape)
    parts = [None, (begin, end)]
    calls = {
        "reduce": lambda _: kernels.reduce(array, "plus", init),
        "sum": lambda _: kernels.sum(array),
        "dot": lambda _: kernels.dot(array, other),
    }
    for part in parts:
        for grain in (0, 1, 1000):
            calls[f"transform_reduce {part} {grain}"] = lambda threads, part=part, grain=grain: (
                kernels.transform_reduce(array, "plus", init, where(shape, part, threads=threads, grain=grain))
            )
    for what, call in calls.items():
        assert len(with_threads(call)) == 1, what
    whole = {kernels.transform_reduce(array, "plus", init, where(shape, part)) for part in (None, ((0,) * ndim, shape))}
    assert len(whole) == 1


@every_float_and_rank
def test_scans_are_bitwise_the_same_for_any_number_of_threads(name, ndim, with_threads):
    kernels = kernels_of(name, ndim)
    values = random_values(name, SHAPES[ndim])
    source, result = array_of(values), array_of(values)
    for init in (None, numpy_dtype(name).type(1).tobytes()):

        def scan(_, init=init):
            total = kernels.scan(source, result, "plus", init)
            return total, look(result).tobytes()

        assert len(with_threads(scan)) == 1


@pytest.mark.parametrize("name", ["int8", "uint32", "int64", "bool"])
@pytest.mark.parametrize("operation", ["plus", "minimum", "maximum"])
def test_scans_of_many_pieces_match_numpy(name, operation, with_threads):
    kernels = kernels_of(name, 1)
    values = random_choices(name, 400_000)
    source, result = array_of(values), array_of(values)
    ufunc = {"plus": np.add, "minimum": np.minimum, "maximum": np.maximum}[operation]
    expected = ufunc.accumulate(np.append(values[:1], values), dtype=name)

    def inclusive(_):
        kernels.scan(source, result, operation)
        return look(result).tobytes()

    def exclusive(_):
        total = kernels.scan(source, result, operation, values[:1].tobytes())
        return look(result).tobytes() + total

    assert with_threads(inclusive) == {ufunc.accumulate(values, dtype=name).tobytes()}
    assert with_threads(exclusive) == {expected.tobytes()}


@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "int64", "float32", "float64"])
def test_sort_of_many_keys_is_the_same_for_any_number_of_threads(name, with_threads):
    keys = random_choices(name, 300_000)
    values = np.arange(keys.size).astype(name)
    order = np.argsort(keys, kind="stable")

    def sort(_):
        of, with_keys = array_of(keys), array_of(values)
        kernels_of(name, 1).sort_by_key(of, with_keys)
        return look(of).tobytes() + look(with_keys).tobytes()

    assert with_threads(sort) == {keys[order].tobytes() + values[order].tobytes()}
