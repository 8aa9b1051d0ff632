"""Fixtures for all tests. Every test must free the memory that it allocated."""

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
# A background job of a shell ignores SIGINT, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"MEMARRAY_SEED={SEED} repeats the random tests")


#: Free-threaded CPython 3.13 keeps every class, and the objects that its methods refer to, once a second thread ran.
KEEPS_CLASSES = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14)


@pytest.fixture(autouse=True, scope="module")
def collections_skip_older_objects():
    """Leaves all older objects, mostly of imported packages, out of collections: with them each takes 100 ms."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_memory_left_behind(request):
    before = memarray.stats()["live_blocks"]
    yield
    # Drop the values of other fixtures, which pytest keeps a little longer.
    request.node.funcargs.clear()
    if memarray.stats()["live_blocks"] > before:
        gc.collect()
        memarray.synchronize()  # memory that pending work of a device uses is freed after it
    left = memarray.stats()["live_blocks"] - before
    assert left <= 0 or KEEPS_CLASSES, f"{left} blocks of memory are still alive after the test"


@pytest.fixture(params=["simulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request):
    """Yields cuda:0 as a `TestedDevice`: simulated and, under the marker ``gpu``, real."""
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
    """Yields simulated devices that export their memory as CUDA's, for consumers that accept no other."""
    with memarray.testing.simulated_devices(lend_as_cuda=True) as devices:
        yield devices


@pytest.fixture
def copies():
    """Returns ``copies()``, the number of copies reported since its last call."""
    seen = memarray.stats()["copies"]

    def since_last_call():
        nonlocal seen
        before, seen = seen, memarray.stats()["copies"]
        return seen - before

    return since_last_call


def log_all():
    """Makes a call that logs, so that it also logs what calls without logging reported."""
    memarray.MemArray([1]).fill(0)


@pytest.fixture
def waits(caplog):
    """Returns ``waits()``, the messages of the waits reported since its last call."""
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


@pytest.fixture(params=[1, 2, 0], ids=["one_thread", "two_threads", "simulated"])
def place(request):
    """Yields a `kernel_model.Place`: the host with that many threads, or a simulated device."""
    from kernel_model import Place

    if request.param == 0:
        request.getfixturevalue("simulated_devices")
    before = memarray.options.threads
    memarray.options.threads = request.param or 1
    yield Place(request.param)
    memarray.options.threads = before


@pytest.fixture
def make_shared():
    """Yields a function that makes arrays in shared memory. Their names are unlinked at the end."""
    names = []

    def create(shape=(4, 3), dtype=float):
        array = shared_memory.create(shape, dtype)
        names.append(array.shared_memory)
        return array

    yield create
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            shared_memory.unlink(name)
