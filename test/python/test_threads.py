"""Python threads, and waits that are interrupted."""

import contextlib
import hashlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import memarray
import numpy as np
import pytest
from support import run_python

pytestmark = pytest.mark.threads


@pytest.fixture(autouse=True)
def threads_switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_all(*works):
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


@pytest.mark.trap("T07")
@pytest.mark.parametrize("policy", ["snapshot", "alias"])
def test_readers_never_see_half_a_write(policy):
    """Writers fill 64 KiB in two halves with a pause between; readers check that they see one writer's work."""
    array = memarray.MemArray([8192], "int64")
    array.escaped_views = policy
    tally = {"read": [0, 0], "write": [0, 0]}
    lock = threading.Lock()
    stop = time.monotonic() + 60

    def enough():
        return all(count >= 1000 for counts in tally.values() for count in counts) or time.monotonic() > stop

    def count(kind, granted):
        with lock:
            tally[kind][0 if granted else 1] += 1

    def write(number):
        while not enough():
            try:
                with array.write() as lease:
                    view = np.asarray(lease)
                    view[:4096] = number
                    time.sleep(0)
                    view[4096:] = number
                    del view
                count("write", True)
            except memarray.LockError:
                count("write", False)
            time.sleep(0)

    def read():
        while not enough():
            try:
                with array.read() as lease:
                    view = np.asarray(lease)
                    first = hashlib.sha1(view[:4096]).digest()
                    time.sleep(0)
                    assert first == hashlib.sha1(view[4096:]).digest(), "a torn read"
                    del view
                count("read", True)
            except memarray.LockError:
                count("read", False)
            time.sleep(0)

    run_all(*(lambda n=n: write(n) for n in range(1, 4)), *[read] * 4)
    assert min(tally["read"] + tally["write"]) >= 1000, tally


def test_every_waiting_writer_gets_its_turn():
    array = memarray.MemArray([16], "int64")

    def add():
        for _ in range(500):
            with array.write(timeout=None) as lease:
                view = np.asarray(lease)
                view += 1
                del view

    def read():
        for _ in range(500):
            with array.read(timeout=120) as lease:
                view = np.asarray(lease)
                assert (view == view[0]).all()
                del view

    run_all(*[add] * 4, *[read] * 4)
    assert np.asarray(array).tolist() == [2000] * 16


def test_a_lease_is_opened_here_and_closed_there():
    array = memarray.MemArray([4])
    lease = array.write()
    run_all(lease.__enter__)
    assert lease.is_open and array.lock_id == lease.lock_id
    run_all(lambda: np.asarray(lease).fill(3))
    run_all(lease.close)
    assert np.asarray(array).tolist() == [3] * 4


def test_one_lease_is_entered_by_one_of_many():
    for _ in range(200):
        array = memarray.MemArray([4])
        lease = array.read()
        outcomes = []

        def enter(lease=lease, outcomes=outcomes):
            try:
                lease.__enter__()
                outcomes.append(True)
            except memarray.LockError:
                outcomes.append(False)

        run_all(*[enter] * 3)
        assert sorted(outcomes) == [False, False, True]
        lease.close()
        array.fill(1)


def test_exports_race_with_the_close_of_their_lease():
    """Whoever got an export keeps a snapshot; whoever came late is refused; the array is never written under a view."""
    array = memarray.MemArray([512], "int64")
    for step in range(100):
        array.fill(step)
        lease = array.read()
        lease.__enter__()
        views = []

        def export(lease=lease, views=views):
            with contextlib.suppress(memarray.LockError):
                while len(views) < 2000:
                    views.append(np.from_dlpack(lease))

        def close(lease=lease):
            time.sleep(0)
            lease.close()
            array.fill(-1)

        run_all(export, close)
        assert all((view == step).all() for view in views)
        views.clear()


def test_shapes_are_of_one_moment():
    array = memarray.MemArray([2, 8])
    shapes = {(2, 8), (8, 2)}
    stop = threading.Event()

    def resize():
        for _ in range(2000):
            for shape in shapes:
                with contextlib.suppress(memarray.LockError):
                    array.resize(shape)
        stop.set()

    def look_at_shapes():
        while not stop.is_set():
            assert array.shape in shapes
            assert array.nbytes == 128

    run_all(resize, look_at_shapes, look_at_shapes)


def test_large_operations_let_other_threads_run():
    array = memarray.MemArray([2**25], "int8")
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0)

    ticker = threading.Thread(target=tick)
    ticker.start()
    during = 0
    for value in range(1, 40):
        before = len(ticks)
        array.fill(value)
        array.copy()
        during += len(ticks) - before
    stop.set()
    ticker.join()
    assert during > 0
    del array
    memarray.trim()


INTERRUPTED = """
    import sys, threading, memarray
    a = memarray.MemArray([4])
    b = memarray.MemArray([4])
    held = a.write()
    held.__enter__()
    wait = {
        "read": lambda: a.read(timeout=None).__enter__(),
        "write": lambda: a.write(timeout=None).__enter__(),
        "long": lambda: a.write(timeout=1000).__enter__(),
        "leases": lambda: memarray.leases(b.write(), a.read(), timeout=None).__enter__(),
    }[sys.argv[1]]
    print("waiting", flush=True)
    try:
        wait()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    b.fill(1)
    held.close()
    a.fill(1)
    with a.read(timeout=1), b.write(timeout=1):
        print("done", flush=True)
"""


@pytest.mark.parametrize("wait", ["read", "write", "long", "leases"])
def test_ctrl_c_ends_a_wait(wait):
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), wait], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.2)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().split() == ["interrupted", "done"]
        assert process.wait(60) == 0
        assert time.monotonic() - start < 30


def test_a_signal_handler_that_returns_does_not_end_a_wait():
    run_python(
        """
        import signal, time, memarray
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
        a = memarray.MemArray([4])
        with a.write():
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            start = time.monotonic()
            try:
                a.read(timeout=0.5).__enter__()
                raise SystemExit("granted under a writer")
            except memarray.LockError:
                assert time.monotonic() - start >= 0.45
            assert len(seen) == 1 and seen[0] - start < 0.4
        """
    )
