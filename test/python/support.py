"""Helpers for several test files."""

import os
import random
import subprocess
import sys
import textwrap

import memarray
import numpy as np
from dtype_values import edges, numpy_dtype

#: The seed of the random tests, printed at the end of each run. Processes that share a run share the seed.
if not os.environ.get("MEMARRAY_SEED"):
    os.environ["MEMARRAY_SEED"] = str(random.randrange(2**32))
SEED = int(os.environ["MEMARRAY_SEED"])
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEXES)
#: The dtypes that NumPy itself has.
NUMPY_DTYPES = tuple(name for name in DTYPES if name != "bfloat16")
RANKS = (1, 2, 3, 4, 5, 6)
EXTENTS = (4, 3, 2, 5, 1, 3)


class TestedDevice:
    """The value of the fixture ``device``: ``simulated`` counts and delays calls; it is None on a real device."""

    __test__ = False

    def __init__(self, simulated):
        self.simulated = simulated

    def delay(self, seconds):
        """Delays device work on a simulated device, so that a missing wait shows."""
        if self.simulated:
            self.simulated.delay(seconds)


def no_gpu():
    """Returns why tests of a real device cannot run here; empty if they can."""
    if not memarray.cuda.is_available():
        return "no CUDA device on this machine"
    if memarray.build_info()["flavour"] != "cuda":
        return "this memarray was built without nvcc, so it has no kernels for the device that is here"
    return ""


def shape_of(ndim):
    return EXTENTS[:ndim]


def small_numbers(shape, name="float64", start=0):
    """Returns numbers from 0 to 30 that every dtype holds exactly, each different from its neighbours."""
    numbers = (np.arange(np.prod(shape, dtype=int)) * 7 + start) % 31
    return (numbers % 2 if name == "bool" else numbers).reshape(shape).astype(numpy_dtype(name))


def pattern(shape, name="float64", start=0):
    """Returns `small_numbers` with an edge value of the dtype at every second element, another one for each `start`."""
    values, all_edges = small_numbers(shape, name, start), edges(name)
    at_edges = values.reshape(-1)[1::2]
    # The step has no divisor in common with any number of edges, so that all of them are taken.
    at_edges[...] = all_edges[(17 * np.arange(start, start + at_edges.size)) % all_edges.size]
    return values


def filled(shape, name="float64", start=0, *, values_of=pattern):
    """Returns an array filled with `pattern`, or by `values_of`, and its values."""
    values = values_of(shape, name, start)
    array = memarray.MemArray(shape, name)
    array.read_numpy_array(values)
    return array, values


def look(array):
    """Returns a private copy of the contents, so that no view escapes."""
    with array.read() as lease:
        return np.array(lease, copy=True)


def index_sums(shape, name):
    """Returns the numbers that add_index_tuple adds, converted to the dtype."""
    sums = sum(np.indices(shape)) if shape else 0
    return np.asarray(sums).astype(numpy_dtype(name))


def run_python(code, *arguments, check=True, limit=120, env=None):
    """Runs a program in an interpreter of its own; returns the finished process."""
    code = textwrap.dedent(code)
    if "libasan" in os.environ.get("LD_PRELOAD", "") and "numpy" in code:
        code = f"import ignore_import_leaks\n{code}"
    finished = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=limit,
        env={**os.environ, **(env or {})},
        check=False,
    )
    if check:
        assert finished.returncode == 0, f"exit status {finished.returncode}\n{finished.stdout}\n{finished.stderr}"
    return finished
