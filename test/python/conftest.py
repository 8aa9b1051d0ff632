"""Every test gives back the memory that it took."""

import contextlib
import gc
import logging
import signal
import sys
import sysconfig

import memarray
import pytest
from memarray import shared_memory
from support import SEED, TestedDevice, no_gpu

pytest_plugins = ["memarray.pytest_plugin"]
# A shell that runs it in the background has it ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"MEMARRAY_SEED={SEED} repeats the random tests")


#: CPython 3.13 without the GIL keeps every class for ever once there was a second thread, and what its methods know.
KEEPS_CLASSES = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14)


@pytest.fixture(autouse=True)
def no_memory_left_behind(request):
    before = memarray.stats()["live_blocks"]
    yield
    # pytest would keep what other fixtures made a little longer.
    request.node.funcargs.clear()
    if memarray.stats()["live_blocks"] > before:
        gc.collect()
    left = memarray.stats()["live_blocks"] - before
    assert left <= 0 or KEEPS_CLASSES, f"{left} blocks of memory are still alive after the test"


@pytest.fixture(params=["simulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    """cuda:0, simulated and, under the marker ``gpu``, real; `TestedDevice` says which."""
    if request.param == "simulated":
        yield TestedDevice(request.getfixturevalue("simulated_devices"))
        return
    if reason := no_gpu():
        pytest.skip(reason)
    yield TestedDevice(None)
    memarray.synchronize()


@pytest.fixture(autouse=True)
def options_as_they_were():
    names = ("pool_limit", "escaped_views", "trace_leases", "trace_resources")
    before = {name: getattr(memarray.options, name) for name in names}
    yield
    for name, value in before.items():
        setattr(memarray.options, name, value)


@pytest.fixture
def as_cuda():
    """Simulated devices whose memory is lent as CUDA's, for what takes no other."""
    with memarray.testing.simulated_devices(lend_as_cuda=True) as devices:
        yield devices


@pytest.fixture
def copies():
    """Counts what is reported as copied while the test runs: ``copies()`` is how many, since the last call."""
    seen = memarray.stats()["copies"]

    def since_last_call():
        nonlocal seen
        before, seen = seen, memarray.stats()["copies"]
        return seen - before

    return since_last_call


def log_all():
    """What was reported in calls that log nothing is logged by the next one that does."""
    memarray.MemArray([1]).fill(0)


@pytest.fixture
def waits(caplog):
    """The words of waits that were reported since the last call."""
    caplog.set_level(logging.INFO, "memarray.waits")
    log_all()
    caplog.clear()
    counted = memarray.stats()["waits"]

    def since_last_call():
        nonlocal counted
        log_all()
        found = [record.getMessage() for record in caplog.records if record.name == "memarray.waits"]
        caplog.clear()
        assert memarray.stats()["waits"] - counted == len(found)
        counted += len(found)
        return found

    return since_last_call


@pytest.fixture
def make_shared():
    """Makes arrays in shared memory, whose names are gone in the end."""
    names = []

    def create(shape=(4, 3), dtype=float):
        array = shared_memory.create(shape, dtype)
        names.append(array.shared_memory)
        return array

    yield create
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            shared_memory.unlink(name)
