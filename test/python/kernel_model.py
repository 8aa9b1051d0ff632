"""NumPy's results for the kernels of the module ``kernels``, and memory in the places where they run."""

import importlib.util

import memarray
import numpy as np
import pytest
from memarray import BufferView
from memarray.dlpack import kDLCPU, kDLCUDA
from support import DTYPES, look, numpy_dtype

if importlib.util.find_spec("kernels") is None and "site-packages" in memarray.__file__:
    pytest.skip("the module with the kernels is not installed", allow_module_level=True)
from kernels import Kernels, Where, every_dtype

RANKS = (1, 2, 3, 4)


def combinations(names, ranks=RANKS):
    """Returns parameters ``name, ndim``: all, of which each dtype once and each rank a few times are not slow."""
    return [
        pytest.param(name, ndim, marks=[] if ndim == ranks[(DTYPES.index(name) * 3) % len(ranks)] else pytest.mark.slow)
        for name in names
        for ndim in ranks
    ]


every_dtype_and_rank = pytest.mark.parametrize("name, ndim", combinations(DTYPES))
#: Accesses by which kernels change an array.
ACCESSES = ("update", "update, by index", "write", "overwrite")
#: Forms over the whole of an array or view: the kernel takes the element first.
WHOLE = ("element first", "element first, typed")
OPERATIONS = {
    "plus": np.add,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}
SHAPES = {
    1: [(0,), (1,), (37,), (4500,)],
    2: [(0, 3), (1, 1), (7, 5), (2, 4100)],
    3: [(3, 0, 2), (1, 6, 1), (4, 3, 5), (3, 50, 31)],
    4: [(2, 1, 0, 2), (1, 1, 1, 1), (3, 2, 4, 3), (5, 9, 25, 4)],
}


def operations(name):
    return ["plus"] if numpy_dtype(name).kind == "c" else list(OPERATIONS)


def ranges(shape):
    """Returns None for the whole shape, and ranges within it."""
    n = len(shape)
    inner = tuple(max(extent - 1, 0) for extent in shape)
    found = [None, ((0,) * n, shape), (tuple(min(1, extent) for extent in shape), inner)]
    found.append((tuple(extent // 3 for extent in shape), shape))
    found.append((tuple(extent // 2 for extent in shape), tuple(extent // 2 for extent in shape)))
    if min(shape) > 0:
        found.append((inner, shape))
        found.append(((0,) * n, (*shape[:-1], 1)))
    return found


def where(shape, part, **settings):
    return Where(None, shape, **settings) if part is None else Where(*part, **settings)


def accesses(part):
    """Returns the accesses that a shape or range may have."""
    return ACCESSES + WHOLE if part is None else ACCESSES


def leading(part):
    """Returns the range of the rows that a range touches."""
    return None if part is None else tuple(bounds[:-1] for bounds in part)


def wide_dtype(name):
    """Returns the 64-bit dtype of the kind, of sums."""
    return np.dtype({"b": "u8", "u": "u8", "i": "i8", "c": "c16"}.get(numpy_dtype(name).kind, "f8"))


def key(part):
    return ... if part is None else tuple(slice(*bounds) for bounds in zip(*part, strict=True))


def numbers(shape, name):
    """Returns the number of each index: what `change` adds."""
    weighted = sum((2 * d + 1) * index for d, index in enumerate(np.indices(shape)))
    return (1 + weighted).astype(numpy_dtype(name))


def change(x, part, access, name):
    """Changes elements of `x` as the kernel does. Numbers count from the indices of `x`."""
    added = numbers(x.shape, name)[key(part)]
    with np.errstate(all="ignore"):
        x[key(part)] = added if access == "overwrite" else x[key(part)] + added


def reduced(operation, x, init):
    """Returns NumPy's reduction of `x` with `init`, of their dtype."""
    if x.dtype.name == "bfloat16":  # widened exactly
        return reduced(operation, x.astype("f4"), np.float32(init)).astype(x.dtype)
    if operation.startswith("logical"):
        return np.asarray(OPERATIONS[operation].reduce(x, axis=None, initial=bool(init))).astype(x.dtype)
    with np.errstate(all="ignore"):
        return np.asarray(OPERATIONS[operation].reduce(x, axis=None, initial=init, dtype=x.dtype))


def element(found, name):
    return np.frombuffer(found, numpy_dtype(name))[0]


def assert_value(got, expected):
    """Asserts equal elements. NaN equals NaN, and -0.0 equals 0.0: their order is not defined."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind not in "biufc":
        got, expected = got.astype("f4"), expected.astype("f4")
    np.testing.assert_array_equal(got, expected)


def assert_sum(got, terms, eps=None):
    """Asserts a sum within the error bound of additions in any order, in the precision `eps`."""
    got, terms = np.asarray(got), np.asarray(terms)
    if terms.dtype.kind in "biu":
        assert_value(got, np.add.reduce(terms, axis=None, dtype=got.dtype))
        return
    if terms.dtype.kind == "c":
        assert_sum(got.real, terms.real, eps)
        assert_sum(got.imag, terms.imag, eps)
        return
    eps = eps or {"float16": 2**-10, "bfloat16": 2**-7}.get(terms.dtype.name) or float(np.finfo(terms.dtype).eps)
    got, terms = float(got), terms.astype("f8").ravel()
    with np.errstate(all="ignore"):
        exact = float(terms.sum())
    if np.isfinite(exact):
        assert abs(got - exact) <= (terms.size + 1) * eps * np.abs(terms).sum()
    else:
        np.testing.assert_equal(got, exact)


def array_of(values):
    array = memarray.MemArray(values.shape, values.dtype.name)
    array.read_numpy_array(values)
    return array


def contents(array):
    """Moves an array to the host. Returns a copy of its contents."""
    array.move_memory(kDLCPU)
    return look(array)


class Place:
    """The place where kernels run: on host threads, or on a simulated device (0)."""

    def __init__(self, threads):
        self.threads = threads
        #: Settings of a launch that all threads share, however small it is.
        self.settings = {"threads": threads, "grain": 3} if threads else {}

    def array(self, values):
        array = array_of(values)
        if not self.threads:
            array.move_memory(kDLCUDA, device_id=0)
        return array

    def view(self, values):
        return BufferView.from_numpy(values) if self.threads else BufferView.from_numpy(values, device="cuda:0")


def kernels_of(name, ndim):
    if not every_dtype and name not in ("int32", "float64"):
        pytest.skip("this build has the kernels of two dtypes")
    return Kernels(name, ndim)
