"""Shared memory on a file system that is full: refused when the array is made, and nothing is left behind."""

import errno
import subprocess
import sys

import pytest

PROGRAM = """
import errno, os, sys
from multiprocessing.shared_memory import SharedMemory
from memarray import shared_memory

def refused(shape, dtype, where=None):
    try:
        shared_memory.create(shape, dtype, where)
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
        return str(error)
    raise AssertionError("was made")

words = refused([1 << 20], "float64")
assert "8,405,0" not in words and f"{(8 << 20) + 16384:,} bytes" in words and "1,048,576 bytes free" in words, words
assert os.listdir("/dev/shm") == []
refused([1 << 20], "float64", "named")
assert os.listdir("/dev/shm") == []

# What fits is there whole, and the next array finds only what is left.
a = shared_memory.create([512 << 10], "uint8")
a.fill(7)
words = refused([512 << 10], "uint8")
assert len(os.listdir("/dev/shm")) == 1
shared_memory.create([256 << 10], "uint8", "small").fill(9)
shared_memory.unlink("small")

# Memory of the user's own, which its class does not reserve.
mine = SharedMemory(create=True, size=4 << 20)
words = refused([2 << 20], "uint8", mine)
assert "SIGBUS" not in words and "/dev/shm" in words, words
shared_memory.create([100 << 10], "uint8", mine).fill(3)
mine.close()
mine.unlink()
with a.read() as lease:
    assert lease.view().min() == lease.view().max() == 7
shared_memory.unlink(a)
"""


def test_full_file_system_is_an_error_when_the_array_is_made():
    mount = "mount -t tmpfs -o size=1m tmpfs /dev/shm"
    tried = subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"a file system of its own cannot be mounted here: {tried.stderr.strip()}")
    command = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh", sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_errno_is_kept_where_memory_is_shorter_than_its_mapping(tmp_path):
    # A mapping whose file was cut: a write would be a SIGBUS.
    program = (
        "import os\n"
        "from multiprocessing.shared_memory import SharedMemory\n"
        "from memarray import shared_memory\n"
        "memory = SharedMemory(create=True, size=1 << 20)\n"
        "os.ftruncate(memory._fd, 4096)\n"
        "try:\n"
        "    shared_memory.create([1000, 100], 'float32', memory)\n"
        "except OSError as error:\n"
        "    print(error.errno)\n"
        "memory.close()\n"
        "memory.unlink()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, f"{errno.ENOSPC}\n"), done.stderr
