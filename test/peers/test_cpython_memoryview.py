"""CPython's own tests of memoryview, with a BufferView between each exporter and the memoryview of it."""

import builtins

import memarray

from test import test_memoryview as suite


def through_a_view(obj):
    return builtins.memoryview(memarray.BufferView(obj))


def concerned():
    for name, case in vars(suite).items():
        if isinstance(case, type) and issubclass(case, suite.AbstractMemoryTests) and name.endswith("Test"):
            yield name, case


def made_from(case):
    """Returns the case with a `_view` that passes through memarray; slices of the result are memoryview's own."""

    class Case(case):
        def _view(self, obj):
            original = suite.__dict__.get("memoryview", builtins.memoryview)
            suite.memoryview = through_a_view
            try:
                return super()._view(obj)
            finally:
                suite.memoryview = original

    Case.__name__ = Case.__qualname__ = case.__name__
    return Case


globals().update({name: made_from(case) for name, case in list(concerned())})

DIFFERENCES = {}
