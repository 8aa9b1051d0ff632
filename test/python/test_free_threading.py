"""One object used by many threads at once: with the GIL they take turns, without it they run in parallel."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading

import memarray
import numpy as np
import pytest

pytestmark = pytest.mark.threads

THREADS = 8
ROUNDS = 200
is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def at_once(*works, threads=THREADS):
    """Runs each of the works on several threads, started at the same moment; returns their exceptions."""
    start = threading.Barrier(threads)
    raised = []

    def run(work):
        start.wait()
        try:
            work()
        except BaseException as error:
            raised.append(error)

    running = [threading.Thread(target=run, args=(works[i % len(works)],)) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return raised


@pytest.mark.skipif(not is_free_threaded, reason="this Python has its GIL")
@pytest.mark.parametrize("module", ["memarray", "memarray.testing", "memarray._core"])
def test_importing_memarray_does_not_enable_the_gil(module):
    check = f"import sys, {module}; assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error", "-c", check], check=True)


LOOKS = {
    "sum": lambda view: view.sum(),
    "array": lambda view: np.asarray(view).sum(),
    "memoryview": lambda view: memoryview(view)[0],
    "dlpack": lambda view: np.from_dlpack(view).sum(),
    "part": lambda view: view[1:].T.sum(),
    "copy": lambda view: view.copy().sum(),
    "cast": lambda view: view.cast("float64").sum(),
    "again": lambda view: memarray.BufferView(view).sum(),
    "interface": lambda view: view.__array_interface__["data"],
    "address": lambda view: view.data_ptr,
    "owner": lambda view: view.owner,
    "words": repr,
}


@pytest.mark.parametrize("look", LOOKS)
def test_view_can_be_closed_during_concurrent_use(look):
    for _ in range(ROUNDS):
        view = memarray.BufferView.from_numpy(np.ones(1000, np.float32))

        def looks(view=view):
            for _ in range(4):
                LOOKS[look](view)

        refused = at_once(looks, looks, looks, view.close)
        assert view.closed and view.owner is None
        assert all(type(error) in (ValueError, BufferError, AttributeError) for error in refused), refused
        assert all("closed" in str(error) for error in refused), refused


def test_buffer_keeps_memory_when_view_is_closed_concurrently():
    for _ in range(ROUNDS):
        view = memarray.BufferView.from_numpy(np.arange(100.0))
        found = []

        def look(view=view, found=found):
            with memoryview(view) as buffer:
                found.append(buffer.tolist())

        refused = at_once(look, look, look, view.close)
        assert all(numbers == list(range(100)) for numbers in found)
        assert len(found) + len(refused) == THREADS - THREADS // 4


def test_owner_is_released_after_concurrent_close():
    dropped = []

    class Owner(np.ndarray):
        def __del__(self):
            dropped.append(1)

    for _ in range(ROUNDS):
        view = memarray.BufferView(np.ones(10).view(Owner))
        at_once(view.close, lambda view=view: view[2:].sum(), view.close)
        del view
    assert len(dropped) >= ROUNDS


def test_shared_lease_is_entered_by_one_thread_only():
    a = memarray.MemArray([10])
    for _ in range(ROUNDS):
        lease = a.write()
        entered = at_once(lease.__enter__)
        assert len(entered) == THREADS - 1
        assert all(isinstance(error, memarray.LockError) for error in entered)
        assert at_once(lease.close) == []
        assert a.lock_id == -1


def test_lease_can_be_closed_during_concurrent_exports():
    a = memarray.MemArray([1000], dtype="float32")
    for _ in range(ROUNDS):
        lease = a.read().__enter__()
        refused = at_once(
            lambda lease=lease: np.asarray(lease).sum(), lambda lease=lease: lease.view().sum(), lease.close
        )
        assert all(isinstance(error, (memarray.LockError, AttributeError)) for error in refused), refused
        with a.write():
            pass


def test_concurrent_threads_lose_no_writes_to_shared_array():
    shared = memarray.MemArray([100], dtype="int64")

    def work():
        for i in range(ROUNDS // 4):
            own = memarray.MemArray([50], dtype="float64")
            own.add_index_tuple()
            assert own.view().sum() == 50 * 49 / 2
            with shared.write(timeout=None) as lease:
                np.asarray(lease)[:] += 1
            assert own.copy().resize([i + 1]) is None

    assert at_once(work) == []
    assert (np.asarray(shared.view()) == THREADS * (ROUNDS // 4)).all()


def test_concurrent_first_imports_of_numpy_arrays_succeed():
    """Imports the first array, which looks up NumPy's type, on many threads of a new process."""
    script = """
import threading, numpy as np, memarray
start = threading.Barrier(8)
def run():
    start.wait()
    assert memarray.BufferView.from_numpy(np.ones(5)).sum() == 5
threads = [threading.Thread(target=run) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    subprocess.run([sys.executable, "-c", script], check=True)
