"""nanobind's own tests of nd-arrays: its functions are called with memarray's views in place of arrays."""

import sys

import memarray
import numpy as np
from suites import Shim, as_exports, built, load, sdist

FOLDER = sdist("nanobind") / "tests"
sys.path[:0] = [str(FOLDER), str(built("nanobind"))]
import test_ndarray_ext  # noqa: E402


def export_view(array):
    return memarray.BufferView(array)


def import_by_memarray(x, /, **keywords):
    return np.asarray(memarray.from_dlpack(x, **keywords))


def suite(name, numpy=np, extension=test_ndarray_ext):
    """Returns a class with the suite's test functions, which see those two modules in place of their own."""
    lines = {"import test_ndarray_ext as t\n": "", "    import numpy as np\n": ""}
    module = load(FOLDER / "test_ndarray.py", name, lines, np=numpy, t=extension)
    return type(name, (), {test: staticmethod(f) for test, f in vars(module).items() if test.startswith("test")})


def takes_exports(function):
    """True for every function of the extension: all accept objects with __dlpack__."""
    return True


TestViewsAsArguments = suite("views", extension=as_exports(test_ndarray_ext, export_view, takes_exports))
TestImports = suite("imports", numpy=Shim(np, from_dlpack=import_by_memarray))

DIFFERENCES = {
    "nanobind converts the arrays of the libraries that it knows only": [
        "TestViewsAsArguments.test10_implicit_conversion",
        "TestViewsAsArguments.test46_implicit_conversion_contiguous_complex",
    ],
    "the function returns the very object that it was given, which is a view of the array here": [
        "TestViewsAsArguments.test15_passthrough_numpy",
        "TestViewsAsArguments.test31_rv_policy",
        "TestViewsAsArguments.test33_force_contig_numpy",
    ],
    "memarray makes the copy that this producer refuses to make": ["TestImports.test20_return_array_api"],
}
