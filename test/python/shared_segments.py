"""Helpers for the tests of shared memory: the layout of segments, and the work of child processes."""

import contextlib
import mmap
import multiprocessing
import os
import random
import signal
import struct
import time
import warnings

import memarray
import numpy as np

#: Offsets in a segment; docs/design.md has the table.
WORD, SLOTS, SLOT_BYTES, HEADER = 320, 384, 64, 16384
OWNER, READERS, EXPORTS = 0, 8, 16
START_BITS = 42

#: The start methods of processes.
METHODS = ["fork", "spawn"]


def start(*children):
    """Starts processes, also by fork although earlier tests may have left threads in this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for child in children:
            child.start()


@contextlib.contextmanager
def mapped(name):
    """Yields the bytes of a shared memory segment, writable without any lock."""
    file = os.open(f"/dev/shm/{name}", os.O_RDWR)
    with mmap.mmap(file, 0) as memory:
        os.close(file)
        yield memory


def get(memory, at):
    return struct.unpack_from("<Q", memory, at)[0]


def put(memory, at, value):
    struct.pack_into("<Q", memory, at, value)


def set_to(array, value):
    with array.write(timeout=60) as lease:
        np.from_dlpack(lease)[...] = value


def look(array):
    with array.read(timeout=60) as lease:
        return np.from_dlpack(lease).copy()


# The work of child processes.


def hold(array, kind, ready, holds=None):
    """Holds the array in the given way until the process is killed."""
    if kind == "views":
        kept = np.asarray(array)
    elif kind == "writable views":
        with array.write() as lease:
            kept = np.from_dlpack(lease)
    else:
        kept = getattr(array, kind)()
        kept.__enter__()
        if kind == "write":
            np.from_dlpack(kept)[0] = 13
    ready.set()
    if holds is not None:
        holds.wait(60)
        return
    time.sleep(600)
    del kept


def count_up(array, rounds):
    for _ in range(rounds):
        with array.write(timeout=None) as lease:
            elements = np.from_dlpack(lease)
            value = elements[0, 0] + 1
            elements[...] = value
            del elements


def return_sum(tasks, results):
    for array in iter(tasks.get, None):
        results.put((look(array).sum(), array.shared_memory))


def double(array):
    set_to(array, look(array) * 2)
    return array


@contextlib.contextmanager
def holding(array, kind, method="fork"):
    """Yields a child process that holds the array in the given way, and kills it at the end."""
    context = multiprocessing.get_context(method)
    ready = context.Event()
    child = context.Process(target=hold, args=(array, kind, ready), daemon=True)
    start(child)
    assert ready.wait(60)
    try:
        yield child
    finally:
        child.kill()
        child.join()


def kill(child):
    os.kill(child.pid, signal.SIGKILL)
    # Returns before the child is reaped: its holds count as abandoned from its exit on.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def die_somewhere(array, seed):
    """Reads, writes and keeps views until the process is killed."""
    chance = random.Random(seed)
    kept = []
    while True:
        with contextlib.suppress(memarray.LockError):
            if chance.random() < 0.5:
                with array.write(timeout=0.01) as lease:
                    elements = np.from_dlpack(lease)
                    elements[...] = elements[0, 0] + 1
                    del elements
            else:
                with array.read(timeout=0.01) as lease:
                    elements = np.from_dlpack(lease)
                    assert len(np.unique(elements)) == 1
                    if chance.random() < 0.1:
                        kept = [elements]
                    del elements
            if chance.random() < 0.3:
                kept.clear()
