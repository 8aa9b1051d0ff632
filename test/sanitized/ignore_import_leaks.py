"""A pytest plugin for the build with the leak sanitizer: what other packages leak at their import is not ours."""

import contextlib
import ctypes
import importlib

process = ctypes.CDLL(None)
process.__lsan_disable()
try:
    for package in ("numpy", "ml_dtypes"):
        with contextlib.suppress(ImportError):
            importlib.import_module(package)
finally:
    process.__lsan_enable()
