"""Device resources are released in any order, at process exit, in child processes, and without devices."""

import itertools
import os
import random
from pathlib import Path

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer, simulated_devices
from support import SEED, filled, look, run_python, small_numbers

THINGS = ("stream", "pool", "event", "array", "copy", "lease", "view", "consumer")
ORDERS = list(itertools.permutations(THINGS))
#: A sample of the orders, different in each run, or all orders.
TRIED = ORDERS if os.environ.get("MEMARRAY_NIGHTLY") else random.Random(SEED).sample(ORDERS, 100)


def things_at_work():
    """Returns one object of each kind that belongs to devices, with work in flight on all, and the array's values."""
    stream, pool, event = memarray.Stream(), memarray.MemoryPool(), memarray.Event()
    consumer = Consumer(stream=memarray.Stream())  # an object, which the lease keeps alive
    array, values = filled((50, 4))
    array.move_memory(kDLCUDA, stream=stream, async_copy=True)
    array.add_index_tuple(stream=stream)
    copy = array.copy()
    copy.move_memory(kDLCUDA, device_id=1)
    copy.move_memory(kDLCPU, async_copy=True)
    lease = array.write(stream=stream).__enter__()
    view = consumer.take(lease)
    view.add(1)
    event.record(stream)
    made = (stream, pool, event, array, copy, lease, view, consumer)
    return dict(zip(THINGS, made, strict=True)), values


@pytest.mark.filterwarnings("ignore:a write lease was collected:ResourceWarning")
@pytest.mark.parametrize("block", ["inside the block", "after the block"])
def test_device_objects_can_be_released_in_any_order(block):
    for order in TRIED:
        blocks = memarray.stats()["live_blocks"]
        with simulated_devices() as sim:
            things, _ = things_at_work()
            if block == "inside the block":
                for name in order:
                    del things[name]
        for name in order:
            things.pop(name, None)
        assert not any(sim.live().values()), (order, sim.live_resources())
        assert not sim.violations(), order
        assert memarray.stats()["live_blocks"] == blocks, order


@pytest.mark.filterwarnings("ignore:a write lease was collected:ResourceWarning")
@pytest.mark.parametrize("first", THINGS)
def test_other_device_objects_stay_valid_after_one_is_released(first, simulated_devices):
    simulated_devices.delay(0.001)
    things, values = things_at_work()
    del things[first]
    if (lease := things.pop("lease", None)) is not None:
        lease.close()
    if (array := things.get("array")) is not None:
        array.add_index_tuple()
        array.move_memory(kDLCPU)
        assert_same_values(look(array), values + 2 * sum(np.indices(values.shape)) + 1)
    if (copy := things.get("copy")) is not None:
        assert_same_values(look(copy), values + sum(np.indices(values.shape)))
    if (event := things.get("event")) is not None:
        event.synchronize()
        assert event.query()
    if (stream := things.get("stream")) is not None:
        stream.synchronize()
    if (pool := things.get("pool")) is not None:
        assert pool.stats()["used_bytes"] == 0


AT_WORK = """
import atexit, os, sys, threading, time, warnings
import numpy as np
import memarray
from memarray.dlpack import kDLCPU, kDLCUDA
from memarray.testing import Consumer, simulated_devices
warnings.simplefilter("ignore", ResourceWarning)
devices = simulated_devices()
sim = devices.__enter__()
stream = memarray.Stream()
a = memarray.MemArray([5000])
a.move_memory(kDLCUDA, stream=stream, async_copy=True)
sim.delay(0.02)
for _ in range(5):
    a.add_index_tuple(stream=stream)
"""
ENDINGS = {
    "kernels in flight": "",
    "a copy to the host in flight": "a.move_memory(kDLCPU, stream=stream, async_copy=True)",
    "the block left": "devices.__exit__(None, None, None)",
    "an open lease": "lease = a.write(stream=stream); lease.__enter__()",
    "an exported lease": "c = Consumer(); lease = a.write(); lease.__enter__(); v = c.take(lease); v.add(1)",
    "an escaped view": "c = Consumer()\nwith a.read() as lease: v = c.take(lease)\nlate = v.read()",
    "an escaped view, dropped late": "c = Consumer()\nwith a.write() as l: v = c.take(l)\nv.drop(in_stream=True)",
    "a view in a cycle": "c = Consumer()\nwith a.read() as l: v = c.take(l)\nx = [v]; x.append(x)",
    "everything in builtins": "import builtins; builtins.kept = [a, stream, sim, memarray.Event(), a.copy()]",
    "a daemon thread that runs kernels": (
        "run = lambda: [a.add_index_tuple(stream=stream) for _ in range(10**6)];"
        "threading.Thread(target=run, daemon=True).start(); time.sleep(0.05)"
    ),
    "work that would take minutes": "sim.delay(2)\nfor _ in range(100): a.add_index_tuple(stream=stream)",
    "a daemon thread that waits": "threading.Thread(target=stream.synchronize, daemon=True).start(); time.sleep(0.01)",
    "something to do at exit": "atexit.register(lambda: (a.fill(1), a.copy(), a.move_memory(kDLCPU)))",
}


@pytest.mark.parametrize("what", ENDINGS)
def test_interpreter_exits_cleanly_with_device_work(what):
    finished = run_python(f"{AT_WORK}\nexec(sys.argv[1])", ENDINGS[what], limit=60)
    assert finished.stderr == ""


FORKED = (
    AT_WORK
    + """
def refused(call):
    try:
        call()
    except memarray.CudaError as error:
        assert error.code == 3 and "forked" in str(error), error
    else:
        raise AssertionError("not refused")

host = memarray.MemArray([1000], "int64")
host.add_index_tuple()
kept = np.from_dlpack(host)
event = memarray.Event()
pool = memarray.MemoryPool()
"""
)
CHILDREN = {
    "host arrays, views and threads work": """
host.add_index_tuple()
assert np.asarray(host)[-1] == 2 * 999 and kept[-1] == 999
done = []
thread = threading.Thread(target=lambda: (host.fill(3), done.append(1)))
thread.start()
thread.join()
assert done and (np.asarray(host) == 3).all()
""",
    "arrays on devices are refused": """
refused(a.add_index_tuple)
refused(lambda: a.fill(1))
refused(lambda: a.move_memory(kDLCPU))
refused(a.copy)
refused(lambda: a.read("cpu").__enter__())
assert a.lock_id == -1 and str(a.device) == "cuda:0"
""",
    "new ones are refused": """
for call in (memarray.Stream, memarray.Event, memarray.MemoryPool, lambda: host.move_memory(kDLCUDA)):
    refused(call)
assert str(host.device) == "cpu" and memarray.cuda.device_count() == 0
""",
    "known ones are refused": """
for call in (stream.synchronize, lambda: event.record(stream), event.synchronize, pool.trim):
    refused(call)
""",
    "things are dropped": """
del a, stream, event, pool
host.fill(2)
assert sim.violations() == []
""",
    "the child ends in the ordinary way": "sys.exit(0)",
}


@pytest.mark.threads
@pytest.mark.parametrize("what", CHILDREN)
def test_fork_disables_devices_in_child_only(what):
    finished = run_python(
        FORKED
        + """
pid = os.fork()
if pid == 0:
    exec(sys.argv[1])
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
# The parent goes on.
a.add_index_tuple(stream=stream)
a.move_memory(kDLCPU)
assert (np.asarray(a) == 6 * np.arange(5000)).all()
stream.synchronize()
devices.__exit__(None, None, None)
""",
        CHILDREN[what],
        # Python 3.12 and later warn about forks beside threads, which these programs make.
        env={"PYTHONWARNINGS": "ignore:This process:DeprecationWarning"},
    )
    assert finished.stderr == ""


def test_device_memory_is_usable_again_after_exhaustion():
    with simulated_devices(1, memory=4 << 20) as sim:
        arrays = []
        with pytest.raises(memarray.OutOfMemoryError, match=r"524288 bytes of device memory on cuda:0, where \d+ of"):
            for _ in range(10):
                arrays.append(filled((1 << 16,), values_of=small_numbers)[0])
                arrays[-1].move_memory(kDLCUDA)
                arrays[-1].add_index_tuple()
        assert len(arrays) == 9
        full = arrays.pop()
        assert str(full.device) == "cpu"
        with pytest.raises(memarray.OutOfMemoryError):
            arrays[0].copy()
        with pytest.raises(memarray.OutOfMemoryError):
            arrays[0].resize([1 << 17])
        values = filled((1 << 16,), values_of=small_numbers)[1]
        del arrays[1:]
        full.move_memory(kDLCUDA)
        for array, steps in ((full, 0), (arrays[0], 1)):
            array.move_memory(kDLCPU)
            assert np.array_equal(look(array), values + steps * np.arange(1 << 16))
        del arrays, full, array
    assert not any(sim.live().values())


WITHOUT = """
import memarray, numpy as np
from memarray.dlpack import kDLCPU, kDLCUDA
a = memarray.MemArray([3])
calls = [
    lambda: a.move_memory(kDLCUDA),
    lambda: a.read("cuda:0").__enter__(),
    lambda: a.write("cuda:0", discard=True).__enter__(),
    lambda: a.get_dlpack(kDLCUDA).__enter__(),
    memarray.Stream,
    memarray.Event,
    memarray.MemoryPool,
]
for call in calls:
    try:
        call()
    except memarray.CudaError as error:
        print(error.code, error)
    else:
        raise AssertionError("not refused")
assert memarray.cuda.device_count() == 0 and not memarray.cuda.is_available()
memarray.synchronize()
a.fill(2)
a.move_memory(kDLCPU)
a.add_index_tuple(stream=0)
assert np.asarray(a).tolist() == [2, 3, 4] and a.lock_id == -1
"""
#: Unusable drivers: the settings, the error code of calls, and the messages of calls that need an array on a device and
#: of calls that create something there.
DRIVERS = {
    "lacks a function": ({"FAKE_DRIVER_LACKS": "cuMemAllocFromPoolAsync"}, "500", ("update it", "update it")),
    "does not start": ({"FAKE_DRIVER_INIT": "999"}, "999", ("does not start: cuInit", "does not start: cuInit")),
    "has no devices": ({"FAKE_DRIVER_DEVICES": "0"}, "10", ("device", "")),
}


def said_without(**settings):
    lines = run_python(WITHOUT, env=settings).stdout.splitlines()
    assert len(lines) == 7
    return lines[:4], lines[4:]


def fake_driver():
    """Returns the folder of the C++ tests' fake driver; None for an installed package."""
    package = Path(memarray._core.__file__).resolve().parent
    for folder in package.parents[1:3]:
        for found in folder.glob("**/fake_driver/libcuda.so.1"):
            return found.parent
    assert package.parent.name in ("site-packages", "dist-packages"), "build the C++ tests, whose driver this uses"
    return None


@pytest.mark.parametrize("what", DRIVERS)
def test_unusable_driver_is_reported(what):
    folder = fake_driver()
    if folder is None:
        pytest.skip("an installed package has no C++ tests, whose driver this uses")
    settings, code, words = DRIVERS[what]
    for lines, said in zip(said_without(LD_LIBRARY_PATH=str(folder), **settings), words, strict=True):
        for line in lines:
            assert line.startswith(code), line
            assert said in line, line


@pytest.mark.skipif(memarray.cuda.is_available(), reason="there is a driver")
def test_missing_driver_is_reported():
    on_arrays, making = said_without()
    for line in (*on_arrays, *making):
        assert line.startswith("100 "), line
    assert all("no such CUDA device" in line and "stays on the host" in line for line in on_arrays)
    assert all("no CUDA driver (libcuda.so.1) is installed" in line for line in making)
