"""Arrays that several processes use, each process a real one."""

import copy
import errno
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.shared_memory import SharedMemory

import memarray
import numpy as np
import pytest
from dtype_values import assert_same_values
from memarray import shared_memory
from shared_segments import (
    EXPORTS,
    HEADER,
    METHODS,
    SLOT_BYTES,
    SLOTS,
    count_up,
    double,
    get,
    holding,
    look,
    mapped,
    return_sum,
    set_to,
    start,
)
from support import pattern, run_python


@pytest.mark.parametrize("method", [*METHODS, "forkserver"])
def test_child_process_writes_the_same_elements(make_shared, method):
    a = make_shared()
    child = multiprocessing.get_context(method).Process(target=set_to, args=(a, 5))
    start(child)
    child.join(60)
    assert child.exitcode == 0
    assert look(a).tolist() == [[5.0] * 3] * 4


@pytest.mark.parametrize("method", METHODS)
def test_queues_transfer_arrays_by_name(make_shared, method):
    a = make_shared()
    a.fill(2)
    context = multiprocessing.get_context(method)
    tasks, results = context.Queue(), context.Queue()
    child = context.Process(target=return_sum, args=(tasks, results))
    start(child)
    for _ in range(3):
        tasks.put(a)
    assert [results.get(timeout=60) for _ in range(3)] == [(24.0, a.shared_memory)] * 3
    tasks.put(None)
    child.join(60)
    assert child.exitcode == 0
    assert a.recover() == []


def test_process_pool_returns_shared_array(make_shared):
    a = make_shared()
    a.fill(3)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        back = pool.apply(double, (a,))
    assert back.shared_memory == a.shared_memory
    assert look(back).max() == 6
    set_to(back, 1)
    assert look(a).max() == 1


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_contains_only_the_name(make_shared, protocol):
    a = make_shared((1000, 1000))
    pickled = pickle.dumps(a, protocol)
    assert len(pickled) < 300
    b = pickle.loads(pickled)
    assert b.shared_memory == a.shared_memory
    set_to(b, 4)
    assert look(a).min() == 4


def test_pickle_is_refused_when_name_is_unlinked_or_reused(make_shared):
    a = make_shared()
    pickled = pickle.dumps(a)
    name = a.shared_memory
    shared_memory.unlink(name)
    with pytest.raises(FileNotFoundError, match="unlinked"):
        pickle.loads(pickled)
    b = shared_memory.create([4, 3], float, name)
    try:
        with pytest.raises(memarray.Error, match="another array"):
            pickle.loads(pickled)
    finally:
        shared_memory.unlink(b)


def test_names_with_a_slash_are_unlinked_without_a_warning():
    code = """
        from memarray import shared_memory
        name = shared_memory.create([4]).shared_memory
        shared_memory.attach("/" + name)
        shared_memory.unlink("/" + name)
        try:
            shared_memory.attach(name)
        except FileNotFoundError:
            print("gone")
    """
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("gone\n", "")


def test_copies_are_private_to_the_process(make_shared):
    a = make_shared()
    a.fill(7)
    for twin in (a.copy(), copy.copy(a), copy.deepcopy(a)):
        assert twin.shared_memory is None
        assert not twin.is_foreign
        twin.resize([2, 2])
        assert look(twin).tolist() == [[7, 7], [7, 7]]
    assert a.is_foreign


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(3,), (2, 0, 4), (1, 2, 3, 1, 2, 3)])
def test_every_dtype_and_shape_can_be_attached(make_shared, dtype, shape):
    a = make_shared(shape, dtype)
    b = shared_memory.attach(a.shared_memory)
    assert (b.shape, b._dtype_name, b.nbytes) == (a.shape, dtype, a.nbytes)
    for shift, (writer, reader) in enumerate(((a, b), (b, a))):
        values = pattern(shape, dtype, shift)
        writer.read_numpy_array(values)
        with reader.read() as lease:
            assert_same_values(np.array(lease.view()), values)
    a.fill(True if dtype == "bool" else 1)
    with a.read() as one, b.read() as two:
        assert one.view().sum() == two.view().sum() == a.size


def test_leases_exclude_leases_of_other_processes(make_shared):
    a = make_shared()
    with holding(a, "read") as child:
        with pytest.raises(memarray.LockError, match=rf"process {child.pid} holds it for reading \(1 lease\)"):
            a.write().__enter__()
        for change in (lambda: a.fill(1), lambda: a.read_numpy_array(np.ones((4, 3))), a.add_index_tuple):
            with pytest.raises(memarray.LockError, match=f"process {child.pid}"):
                change()
        with a.read():
            pass
    with holding(a, "write") as child:
        for use in (a.read, a.write, a.get_dlpack):
            with pytest.raises(memarray.LockError, match=f"process {child.pid} holds it for writing"):
                use().__enter__()
        with pytest.raises(memarray.LockError, match=f"process {child.pid}"):
            np.asarray(a)
        with pytest.raises(memarray.LockError, match=f"process {child.pid}"):
            a.copy()
        assert a.lock_id >= 2**62
        assert a.recover() == []
        with pytest.raises(memarray.LockError, match=f"process {child.pid}"):
            a.write(timeout=0.05).__enter__()
    a.recover()
    set_to(a, 1)


def test_escaped_views_count_across_attached_arrays(make_shared):
    a = make_shared()
    b = shared_memory.attach(a.shared_memory)
    x = np.asarray(b)
    del b
    gc.collect()
    with pytest.raises(memarray.LockError, match=r"1 exported view\(s\) of it are still alive \(0 writable\)"):
        a.fill(1)
    with mapped(a.shared_memory) as memory:
        counts = [get(memory, SLOTS + i * SLOT_BYTES + EXPORTS) for i in range(4)]
        assert sorted(counts) == [0, 0, 0, 1]
    a.escaped_views = "alias"
    a.fill(2)
    assert x.max() == 2
    a.escaped_views = "error"
    with pytest.raises(ValueError, match="'error' or 'alias'"):
        a.escaped_views = "snapshot"
    assert a.escaped_views == "error"
    del x
    a.fill(3)


def test_default_policy_falls_back_from_snapshot_to_error(make_shared):
    before = memarray.options.escaped_views
    memarray.options.escaped_views = "alias"
    try:
        assert make_shared().escaped_views == "alias"
    finally:
        memarray.options.escaped_views = before
    assert make_shared().escaped_views == "error"


def test_unsupported_operations_are_refused(make_shared):
    a, b = make_shared(), memarray.MemArray([4, 3])
    for call in (
        lambda: a.resize([2, 2]),
        lambda: a.exchange(b),
        lambda: b.exchange(a),
        lambda: a.move_memory(memarray.dlpack.kDLCPU),
        lambda: a.move_memory(memarray.dlpack.kDLCUDA),
    ):
        with pytest.raises(memarray.Error, match=r"shared memory.*copy\(\)"):
            call()
    with memarray.testing.simulated_devices():
        for use in (a.read, a.write):
            with pytest.raises(memarray.Error, match="a lease on a device is refused"):
                use(device="cuda:0").__enter__()
    with a.write("cpu"):
        pass
    assert b.recover() == []
    assert b.shared_memory is None


def test_several_shared_arrays_are_leased_together(make_shared):
    a, b = make_shared(), make_shared()
    with memarray.leases(a.write(), b.write(), memarray.MemArray([1]).read()):
        twin = shared_memory.attach(b.shared_memory)
        with pytest.raises(memarray.LockError):
            twin.read().__enter__()
    with pytest.raises(memarray.LockError, match="twice"):
        memarray.leases(b.read(), twin.write(), timeout=None).__enter__()
    with memarray.leases(b.read(), twin.read()):
        pass


def test_concurrent_increments_of_processes_are_exact(make_shared):
    a = make_shared()
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=count_up, args=(a, 250)) for _ in range(4)]
    start(*children)
    while any(child.is_alive() for child in children):
        with a.read(timeout=None) as lease:
            assert len(np.unique(np.from_dlpack(lease))) == 1, "half a write of another process"
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert look(a).tolist() == [[1000.0] * 3] * 4
    assert a.recover() == []


def test_ctrl_c_ends_a_wait(make_shared):
    a = make_shared()
    with holding(a, "write"):
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            a.read(timeout=None).__enter__()
        timer.join()
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            a.write(timeout=None).__enter__()
        timer.join()
    a.recover()
    set_to(a, 1)


def test_mapping_stays_open_while_array_or_view_is_alive():
    memory = SharedMemory(create=True, size=HEADER + 8 * 12)
    a = shared_memory.create([4, 3], float, memory)
    x = np.asarray(a)
    with pytest.raises(BufferError):
        memory.close()
    del a
    gc.collect()
    with pytest.raises(BufferError):
        memory.close()
    assert x.sum() == 0
    del x
    gc.collect()
    memory.close()
    memory.unlink()


def test_array_keeps_its_shared_memory_object_alive(make_shared):
    name = make_shared().shared_memory
    a = shared_memory.attach(SharedMemory(name))
    gc.collect()
    a.fill(3)
    x = np.asarray(a)
    del a
    gc.collect()
    assert x.max() == 3


def test_memory_is_unmapped_with_its_last_view(make_shared):
    a = make_shared((1 << 16,))
    address = np.asarray(a).ctypes.data
    x = np.asarray(a)
    shared_memory.unlink(a)
    del a
    gc.collect()
    assert x.sum() == 0

    def is_mapped():
        with open("/proc/self/maps") as maps:
            return any(
                int(low, 16) <= address < int(high, 16)
                for low, high in (line.split()[0].split("-") for line in maps if "/dev/shm/" in line)
            )

    assert is_mapped()
    del x
    gc.collect()
    assert not is_mapped()


def test_names_are_created_attached_and_unlinked():
    name = f"memarray-test-{os.getpid()}"
    a = shared_memory.create([2], float, name)
    assert a.shared_memory == name
    assert shared_memory.attach("/" + name).shared_memory == name
    with pytest.raises(FileExistsError):
        shared_memory.create([2], float, name)
    shared_memory.unlink(a)
    for call in (
        lambda: shared_memory.attach(name),
        lambda: shared_memory.unlink(a),
        lambda: shared_memory.unlink(name),
    ):
        with pytest.raises(FileNotFoundError) as info:
            call()
        assert (info.value.errno, info.value.filename) == (errno.ENOENT, name)
    a.fill(3)
    with pytest.raises(ValueError, match="no shared memory that has a name"):
        shared_memory.unlink(memarray.MemArray([1]))
    for wrong in (None, 3, b"bytes"):
        with pytest.raises(TypeError):
            shared_memory.attach(wrong)
    with pytest.raises(memarray.UnsupportedTypeError):
        shared_memory.create([1] * 7, float)
    with pytest.raises(TypeError):
        shared_memory.create(None)
    row = shared_memory.create(3)
    assert row.shape == (3,)
    shared_memory.unlink(row)
    with pytest.raises(ValueError, match="-1"):
        shared_memory.create([-1])
    with pytest.raises(OverflowError):
        shared_memory.create([1 << 40, 1 << 40])


def test_exit_of_attached_process_keeps_the_name(make_shared):
    a = make_shared()
    program = f"from memarray import shared_memory; shared_memory.attach({a.shared_memory!r}).fill(4)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    time.sleep(0.1)
    assert look(shared_memory.attach(a.shared_memory)).max() == 4


def test_arrays_alive_at_exit_are_released(make_shared):
    a = make_shared()
    program = f"""
import memarray, numpy as np
from memarray import shared_memory
kept = shared_memory.attach({a.shared_memory!r})
view = np.asarray(kept)
made = shared_memory.create([3])
shared_memory.unlink(made)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    a.fill(1)
