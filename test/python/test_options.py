"""Process-wide settings, the pool, and what was built."""

import os

import memarray
import numpy as np
import pytest
from support import look, run_python

MIB = 2**20


def test_thread_count_can_be_read_and_set():
    before = memarray.options.threads
    assert before >= 1
    results = []
    for count in (1, 2, 3):
        memarray.options.threads = count
        assert memarray.options.threads == count
        array = memarray.MemArray([3, MIB], "float32")
        array.add_index_tuple()
        results.append(look(array))
    memarray.options.threads = 0
    assert memarray.options.threads >= 1
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    memarray.options.threads = before
    del array
    memarray.trim()


@pytest.mark.parametrize(("value", "used"), [("3", 3), ("0", None), ("two", None), ("4 ", None), ("", None)])
def test_environment_chooses_threads_unless_the_option_does(value, used):
    program = (
        "import memarray\n"
        "print(memarray.options.threads)\n"
        "memarray.options.threads = 2\n"
        "print(memarray.options.threads)\n"
    )
    run = run_python(program, env={"MEMARRAY_THREADS": value})
    first, second = map(int, run.stdout.split())
    assert second == 2
    if used is None:
        assert first == len(os.sched_getaffinity(0))
        assert f"MEMARRAY_THREADS={value} is ignored" in run.stderr
    else:
        assert first == used


def test_pool_reuses_freed_memory_within_its_limit():
    memarray.trim()
    memarray.options.pool_limit = 64 * MIB
    array = memarray.MemArray([8 * MIB], "int8", uninitialized=True)
    del array
    kept = memarray.stats()
    assert kept["pool_bytes"] >= 8 * MIB
    array = memarray.MemArray([8 * MIB], "int8", uninitialized=True)
    assert memarray.stats()["pool_hits"] == kept["pool_hits"] + 1
    del array
    memarray.options.pool_limit = MIB
    assert memarray.stats()["pool_bytes"] <= MIB
    array = memarray.MemArray([8 * MIB], "int8", uninitialized=True)
    del array
    assert memarray.stats()["pool_bytes"] <= MIB
    memarray.options.pool_limit = 0
    assert memarray.stats()["pool_bytes"] == 0


def test_trim_frees_the_pool_and_returns_its_size():
    memarray.options.pool_limit = 64 * MIB
    array = memarray.MemArray([8 * MIB], "int8", uninitialized=True)
    del array
    kept = memarray.stats()["pool_bytes"]
    assert kept >= 8 * MIB
    assert memarray.trim() == kept
    assert memarray.stats()["pool_bytes"] == 0
    assert memarray.trim() == 0


def test_memory_reused_from_pool_is_zeroed():
    array = memarray.MemArray([MIB], "int8", uninitialized=True)
    array.fill(7)
    del array
    assert not look(memarray.MemArray([MIB], "int8")).any()


@pytest.mark.parametrize("name", ["threads", "pool_limit"])
def test_invalid_numeric_options_are_refused(name):
    before = getattr(memarray.options, name)
    for wrong, error in ((-1, ValueError), (2**70, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError)):
        with pytest.raises(error, match=name):
            setattr(memarray.options, name, wrong)
    assert getattr(memarray.options, name) == before


def test_trace_leases_must_be_a_bool():
    with pytest.raises(TypeError, match="trace_leases must be True or False"):
        memarray.options.trace_leases = 1
    assert memarray.options.trace_leases is False


def test_unknown_option_is_refused():
    with pytest.raises(AttributeError):
        memarray.options.thread = 1
    text = repr(memarray.options)
    assert all(name in text for name in ("threads", "pool_limit", "escaped_views", "trace_leases", "trace_resources"))


def test_build_info_says_what_was_built():
    info = memarray.build_info()
    assert info["flavour"] in ("host", "cuda")
    assert info["version"] == memarray.__version__
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in info.items())


def test_devices_compare_by_value():
    device = memarray.Device("cuda:1")
    assert (device.type, device.index, str(device), repr(device)) == ("cuda", 1, "cuda:1", "Device('cuda:1')")
    assert device == memarray.Device(device) and hash(device) == hash(memarray.Device("cuda:1"))
    assert memarray.Device("cuda") == memarray.Device("cuda:0")
    assert memarray.Device() == memarray.Device("cpu")
    assert device != memarray.Device("cpu") and device != "cuda:1"
    assert isinstance(memarray.cuda.device_count(), int)
    assert memarray.cuda.is_available() == (memarray.cuda.device_count() > 0)


def test_synchronize_can_always_be_called():
    assert memarray.synchronize() is None


def test_thread_count_can_change_during_work():
    run_python(
        """
        import threading, memarray
        array = memarray.MemArray([2**20])
        stop = threading.Event()
        def work():
            while not stop.is_set():
                array.copy().add_index_tuple()
        worker = threading.Thread(target=work)
        worker.start()
        for count in list(range(1, 9)) * 10:
            memarray.options.threads = count
            memarray.MemArray([2**20]).add_index_tuple()
        stop.set()
        worker.join()
        """
    )
