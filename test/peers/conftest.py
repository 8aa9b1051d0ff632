"""Markers for the tests of a peer's suite that fail by design: a module's DIFFERENCES have their names by the reason.

A reason that begins with "sometimes" belongs to a test with random input, which may pass.
"""

from fnmatch import fnmatchcase

import pytest
from suites import loaded


def differences(module):
    """Returns the pattern of each name, with the reason."""
    found = getattr(module, "DIFFERENCES", {})
    return [(pattern, reason) for reason, patterns in found.items() for pattern in patterns]


def pytest_collection_modifyitems(items):
    used = set()
    for item in items:
        for pattern, reason in differences(item.module):
            if fnmatchcase(f"{item.parent.name}.{item.name}", pattern):
                used.add((item.module.__name__, pattern))
                item.add_marker(pytest.mark.xfail(reason=reason, strict=not reason.startswith("sometimes")))
    for module in {item.module for item in items}:
        for pattern, _ in differences(module):
            if (module.__name__, pattern) not in used:
                raise pytest.UsageError(f"{module.__name__}: no test is named {pattern}")


def pytest_unconfigure():
    for module in loaded:
        vars(module).clear()
