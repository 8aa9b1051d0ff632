"""Shared memory that holds no array, or that other code overwrites."""

import contextlib
import gc
import os
import random
import struct
import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory

import memarray
import numpy as np
import pytest
from memarray import shared_memory
from shared_segments import (
    HEADER,
    SLOT_BYTES,
    WORD,
    get,
    look,
    mapped,
    put,
)
from support import SEED

#: Offset in a header, bytes to write there, and a part of the error message.
HOSTILE = [
    (0, b"\0" * 8, "not ready yet"),
    (0, b"x" * 8, "other bytes"),
    (8, struct.pack("<I", 9), "version 9"),
    (12, struct.pack("<I", 2**32 - 1), "room for"),
    (16, b"\0" * 8, "no identity"),
    (32, struct.pack("<Q", 1), "contradict"),
    (40, struct.pack("<Q", 2**64 - 64), "contradict"),
    (48, struct.pack("<Q", 7), "takes 96 bytes"),
    (120, struct.pack("<I", 0), "no bytes"),
    (120, struct.pack("<I", 4), "takes 48 bytes"),
    (128, struct.pack("<I", 17), "rank is 17"),
    (136, struct.pack("<q", -4), "impossible"),
    (136, struct.pack("<qq", 2**62, 2**62), "impossible"),
    (136, struct.pack("<q", 1 << 20), "takes"),
]


@pytest.mark.parametrize(("at", "what", "words"), HOSTILE)
def test_invalid_header_is_refused(make_shared, at, what, words):
    a = make_shared()
    with mapped(a.shared_memory) as memory:
        before = memory[at : at + len(what)]
        memory[at : at + len(what)] = what
        with pytest.raises(ValueError, match=f"does not hold an array: .*{words}"):
            shared_memory.attach(a.shared_memory)
        # An attached process continues with the values that it read before.
        a.fill(3)
        assert (a.shape, look(a).max()) == ((4, 3), 3)
        memory[at : at + len(what)] = before
    shared_memory.attach(a.shared_memory).fill(4)


def test_other_dtypes_and_namespaces_are_refused(make_shared):
    a = make_shared()
    with mapped(a.shared_memory) as memory:
        memory[56:64] = b"particle"
        with pytest.raises(memarray.UnsupportedTypeError, match="particle"):
            shared_memory.attach(a.shared_memory)
        memory[56:64] = b"\xff\xfe\xfd64\0\0\0"
        with pytest.raises((memarray.UnsupportedTypeError, UnicodeDecodeError)):
            shared_memory.attach(a.shared_memory)
        memory[56:64] = b"int64\0\0\0"
        with pytest.raises(TypeError, match="holds an array of int64"):
            shared_memory.attach(a.shared_memory)
        memory[56:64] = b"float64\0"
        put(memory, 24, get(memory, 24) + 1)
        with pytest.raises(memarray.Error, match="namespace"):
            shared_memory.attach(a.shared_memory)


@pytest.mark.parametrize("size", [0, 1, 4096, HEADER, HEADER + 95])
def test_truncated_file_is_refused(size):
    name = f"memarray-cut-{os.getpid()}"
    a = shared_memory.create([4, 3], float, name)
    del a
    gc.collect()
    try:
        os.truncate(f"/dev/shm/{name}", size)
        with pytest.raises(ValueError, match="does not hold an array"):
            shared_memory.attach(name)
    finally:
        os.truncate(f"/dev/shm/{name}", HEADER)
        shared_memory.unlink(name)


def test_memory_in_use_or_too_small_is_refused():
    memory = SharedMemory(create=True, size=HEADER + 96)
    try:
        with pytest.raises(ValueError, match="does not hold an array"):
            shared_memory.attach(memory)
        with pytest.raises(ValueError, match="bytes of shared memory"):
            shared_memory.create([1000], float, memory)
        a = shared_memory.create([4, 3], float, memory)
        a.fill(5)
        with pytest.raises(ValueError, match="in use"):
            shared_memory.create([2], float, memory)
        assert look(shared_memory.attach(memory)).max() == 5
        del a
        gc.collect()
        again = shared_memory.create([6], "int32", memory)
        assert look(again).tolist() == [0] * 6
        del again
        gc.collect()
    finally:
        memory.close()
        memory.unlink()


def test_corrupted_lock_state_causes_no_crash(make_shared):
    a = make_shared()
    chance = random.Random(SEED)
    with mapped(a.shared_memory) as memory:
        for _ in range(300):
            before = memory[WORD:HEADER]
            for _ in range(30):
                memory[WORD + chance.randrange(SLOT_BYTES * 4)] = chance.randrange(256)
            for use in (lambda: look_now(a), lambda: a.fill(1), a.recover, lambda: a.lock_id):
                with contextlib.suppress(memarray.LockError):
                    use()
            memory[WORD:HEADER] = before
    a.fill(2)
    assert look(a).max() == 2


def look_now(array):
    with array.read() as lease:
        return np.from_dlpack(lease).sum()


@pytest.mark.parametrize("name", ["größe", "a/b", "", "/", "x" * 255, "x" * 100_000, "a\0b"], ids=ascii)
def test_impossible_names_are_refused_and_leave_nothing(name):
    before = set(os.listdir("/dev/shm"))
    for call in (
        lambda: shared_memory.create([4], where=name),
        lambda: shared_memory.attach(name),
        lambda: shared_memory.unlink(name),
    ):
        with pytest.raises(ValueError, match="name") as raised:
            call()
        assert len(str(raised.value)) < 300
    # Free names begin so, also those of other processes.
    assert not [name for name in set(os.listdir("/dev/shm")) - before if not name.startswith("psm_")]


def test_unlink_takes_arrays_and_names_alone():
    for wrong in (5, None, b"name"):
        with pytest.raises(TypeError, match="array or a name"):
            shared_memory.unlink(wrong)


def test_name_with_a_slash_is_created_and_unlinked_without_warnings():
    program = (
        "import os\n"
        "from memarray import shared_memory\n"
        "name = f'/memarray-{os.getpid()}'\n"
        "array = shared_memory.create(2, where=name)\n"
        "assert shared_memory.attach(name).shape == (2,)\n"
        "shared_memory.unlink(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_memory_beyond_the_limits_is_an_error_with_sizes():
    program = (
        "import resource\n"
        "from memarray import shared_memory\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, -1))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "try:\n"
        "    shared_memory.create([1 << 20])\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert f"{(8 << 20) + 16384:,} bytes" in done.stdout, done


def test_unlink_keeps_the_name_of_another_array():
    name = f"memarray-{os.getpid()}-again"
    old = shared_memory.create([4], "int32", name)
    shared_memory.unlink(name)
    with pytest.raises(FileNotFoundError):
        shared_memory.unlink(old)
    new = shared_memory.create([5], "float32", name)
    with pytest.raises(FileNotFoundError):
        shared_memory.unlink(old)
    assert shared_memory.attach(name).shape == (5,)
    shared_memory.unlink(new)
    with pytest.raises(FileNotFoundError):
        shared_memory.attach(name)
