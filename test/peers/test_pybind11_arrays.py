"""pybind11's own tests of buffers and arrays: its functions are called with memarray's views in place of arrays."""

import builtins
import sys

import memarray
import numpy as np
import pytest
from suites import Shim, as_exports, built, load, sdist

FOLDER = sdist("pybind11") / "tests"
sys.path[:0] = [str(FOLDER), str(built("pybind11"))]
import pybind11_tests  # noqa: E402

conftest = load(FOLDER / "conftest.py", "pybind11_conftest")
pytest.gc_collect = conftest.gc_collect
capture, doc, msg = conftest.capture, conftest.doc, conftest.msg
backport_typehints = conftest.backport_typehints


def export_view(array):
    return memarray.BufferView(array)


def through_a_view(function):
    """Returns the function with a view in place of a first argument that exports a buffer."""

    def call(obj, *args, **keywords):
        try:
            builtins.memoryview(obj).release()
        except (TypeError, BufferError):
            return function(obj, *args, **keywords)
        return function(memarray.BufferView(obj), *args, **keywords)

    return call


def takes_exports(function):
    """True if the function converts other objects to arrays. Others refuse all but numpy.ndarray."""
    return "numpy.ndarray" not in (function.__doc__ or "") and not function.__name__.endswith("noconvert")


def suite(file, topic, name, **names):
    """Returns a class with the test functions and fixtures of a file, which see these names in place of their own."""
    lines = {f"from pybind11_tests import {topic} as m\n": "", 'np = pytest.importorskip("numpy")\n': ""}
    module = load(FOLDER / file, name, lines, **names)
    found = {test: staticmethod(f) for test, f in vars(module).items() if test.startswith("test_")}
    if hasattr(module, "arr"):
        found["arr"] = pytest.fixture(lambda self: np.array([[1, 2, 3], [4, 5, 6]], "=u2"))
    return type(name, (), found)


def as_views(module):
    return as_exports(module, export_view, takes_exports)


TestArrays = suite("test_numpy_array.py", "numpy_array", "arrays", np=np, m=as_views(pybind11_tests.numpy_array))
TestBufferArguments = suite("test_buffers.py", "buffers", "arguments", np=np, m=as_views(pybind11_tests.buffers))
TestBuffers = suite(
    "test_buffers.py",
    "buffers",
    "buffers",
    np=Shim(np, array=through_a_view(np.array), asarray=through_a_view(np.asarray)),
    m=pybind11_tests.buffers,
    memoryview=through_a_view(memoryview),
)


@pytest.fixture(autouse=True)
def forget_earlier_objects():
    """Forgets earlier objects: the suite counts the objects that it makes, and runs twice in one process."""
    pytest.gc_collect()
    pybind11_tests.ConstructorStats.get(pybind11_tests.buffers.Matrix).values()


DIFFERENCES = {
    "tells arrays from other objects, such as views": ["TestArrays.test_isinstance"],
    "asks for an array without a conversion": [
        "TestArrays.test_array_unchecked_dyn_dims",
        "TestArrays.test_array_unchecked_fixed_dims",
    ],
    "prefers the overload that an array needs no conversion for": ["TestArrays.test_overload_resolution"],
    "PyBUF_SIMPLE gives one dimension, as memoryview does": [
        "TestBufferArguments.test_c_contiguous_to_pybuffer*numpy*"
    ],
    "changes the shape of the array itself": ["TestArrays.test_array_resize"],
}
