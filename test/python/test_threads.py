"""Python threads, and waits that are interrupted."""

import contextlib
import random
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


LENGTH = 8192  # 64 KiB of 8-byte elements


def check(view):
    assert (view == view[0]).all(), "a torn value"


def read_twice(lease):
    view = np.from_dlpack(lease)
    check(view)
    time.sleep(0)
    check(view)


def write_in_halves(lease, value):
    view = np.from_dlpack(lease)
    view[: LENGTH // 2] = value
    time.sleep(0)
    view[LENGTH // 2 :] = value


def read(array, value):
    with array.read() as lease:
        read_twice(lease)


def write(array, value):
    with array.write() as lease:
        check(np.from_dlpack(lease))
        write_in_halves(lease, value)


def discard(array, value):
    with array.write(discard=True) as lease:
        write_in_halves(lease, value)


def get_dlpack(array, value):
    with array.get_dlpack() as lease:
        check(np.from_dlpack(lease))
        write_in_halves(lease, value)


def read_by_leases(array, value):
    with memarray.leases(memarray.MemArray([1]).write(), array.read()) as (_, lease):
        read_twice(lease)


def write_by_leases(array, value):
    with memarray.leases(array.write(), memarray.MemArray([1]).read()) as (lease, _):
        check(np.from_dlpack(lease))
        write_in_halves(lease, value)


def fill(array, value):
    array.fill(value)


KINDS = (read, write, discard, get_dlpack, read_by_leases, write_by_leases, fill)


@pytest.mark.trap("T07")
@pytest.mark.parametrize("policy", ["snapshot", "alias"])
def test_concurrent_operations_are_atomic_or_refused(policy):
    """A writer fills 64 KiB in two halves with a pause between them. A reader sees the values of one writer only."""
    array = memarray.MemArray([LENGTH], "int64")
    array.escaped_views = policy
    tallies = {kind: [0, 0] for kind in KINDS}
    counting = threading.Lock()
    end = time.monotonic() + 120

    def enough():
        with counting:
            return min(map(min, tallies.values())) >= 1000 or time.monotonic() > end

    def work(number):
        choices = random.Random(number)
        value = number
        while not enough():
            value += 64
            # Kinds that were refused or granted least come first.
            with counting:
                kind = min(choices.sample(KINDS, 2), key=lambda kind: min(tallies[kind]))
            try:
                kind(array, value)
                granted = 0
            except memarray.LockError:
                granted = 1
            with counting:
                tallies[kind][granted] += 1
            time.sleep(0)

    run_all(*(lambda number=number: work(number) for number in range(6)))
    for kind, granted_and_refused in tallies.items():
        assert min(granted_and_refused) >= 1000, (kind.__name__, granted_and_refused)
    assert array.lock_id == -1


def test_waiting_writers_are_not_starved():
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


def test_lease_may_be_opened_and_closed_by_different_threads():
    array = memarray.MemArray([4])
    lease = array.write()
    run_all(lease.__enter__)
    assert lease.is_open and array.lock_id == lease.lock_id
    run_all(lambda: np.asarray(lease).fill(3))
    run_all(lease.close)
    assert np.asarray(array).tolist() == [3] * 4


def test_lease_is_entered_by_exactly_one_thread():
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


def test_exports_racing_with_close_keep_a_snapshot():
    """An export before the close keeps a snapshot, one after it is refused, and no view sees later writes."""
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


def test_shape_is_read_atomically_during_resize():
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
