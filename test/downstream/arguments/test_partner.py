"""Two extensions in one process exchange arrays, views and streams through one core."""

import subprocess
import sys

import arguments
import memarray
import numpy as np
import partner
import pytest


def test_extensions_use_different_binding_libraries_or_versions():
    """The pairs are pybind11 3 and 2, or nanobind and pybind11."""
    assert (arguments.LIBRARY, arguments.MAJOR) != (partner.LIBRARY, partner.MAJOR)


def test_extensions_exchange_arrays_and_leases():
    a = partner.make(4)
    assert arguments.read_and_call(a, lambda: None) == 8
    arguments.share(a)
    partner.fill(arguments.shared(), 3)
    assert arguments.shared_sum(a) == 12
    arguments.unshare()

    def write():
        with pytest.raises(memarray.LockError):
            partner.fill(a, 1)

    arguments.read_and_call(a, write)
    partner.keep(a)
    with pytest.raises(memarray.LockError, match="leased for reading"):
        arguments.write_without_gil(a, 1)
    partner.drop()
    arguments.write_without_gil(a, 1)


@pytest.mark.parametrize("before", ["", "import memarray; ", "import arguments; "])
def test_core_is_found_in_any_import_order(before):
    code = f"{before}import partner; a = partner.make(4); import memarray; assert type(a) is memarray.MemArray, type(a)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_extensions_exchange_views():
    x = np.arange(5.0)
    part = partner.part(arguments.pass_on(x))
    assert part.data_ptr == x.ctypes.data + 8
    assert arguments.read_and_call(part, lambda: None) == 10
    with pytest.raises(TypeError, match="read-only"):
        arguments.write_without_gil(part, 1)
    del x
    assert partner.part(part).sum() == 9


def test_extensions_exchange_streams():
    with memarray.testing.simulated_devices() as sim:
        stream = partner.make_stream()
        assert arguments.same_stream(stream) == stream
        assert partner.address(arguments.same_stream(stream)) == arguments.stream_handle(stream) == stream.handle
        del stream
        assert sim.live()["streams"] == 0


AT_EXIT = """
import arguments
import memarray


class Ends:
    def __init__(self):
        self.fail, self.write, self.errors = arguments.fail, arguments.write_without_gil, (RuntimeError, print)
        self.array = memarray.MemArray([3])
        self.lease = self.array.read()
        self.lease.__enter__()

    def __del__(self):
        error, show = self.errors
        try:
            self.fail("as asked")
        except error as caught:
            show(type(caught).__name__, caught, flush=True)
        try:
            self.write(self.array, 1)
        except error as caught:
            show(type(caught).__name__, flush=True)


ends = Ends()
"""


def test_exception_during_exit_is_raised():
    """The interpreter sets the modules to None first."""
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["RuntimeError as asked", "LockError"]), done.stderr
