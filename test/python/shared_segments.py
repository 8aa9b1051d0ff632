"""What tests of shared memory share: segments as they lie in memory, and what children do to them."""

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

#: Where things lie in a segment; docs/design.md has the table.
WORD, SLOTS, SLOT_BYTES, HEADER = 320, 384, 64, 16384
OWNER, READERS, EXPORTS = 0, 8, 16
START_BITS = 42

#: How processes are started.
METHODS = ["fork", "spawn"]


def start(*children):
    """Starts processes, forked ones too, though tests before may have left threads in this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for child in children:
            child.start()


@contextlib.contextmanager
def mapped(name):
    """The bytes of shared memory, as anybody may write them."""
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


# What children do.


def hold(array, kind, ready, holds=None):
    """Holds the array in some way until it is killed."""
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
    """A child that holds the array so; killed in the end, if it was not before."""
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
    # Not waited for: it counts as dead before that.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def die_somewhere(array, seed):
    """Reads, writes and keeps views until it is killed."""
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
