"""Shared memory on a full file system: creating the array is refused, and nothing is left behind."""

import errno
import os
import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory

import pytest
from memarray import shared_memory

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
# Another process may use what was free a moment ago.
check, shared_memory._check_free = shared_memory._check_free, lambda size: None
words = refused([1 << 20], "float64")
assert "unlink segments" in words and f"{(8 << 20) + 16384:,} bytes" in words, words
assert os.listdir("/dev/shm") == []
shared_memory._check_free = check

# An array that fits is reserved completely; the next one gets the rest.
a = shared_memory.create([512 << 10], "uint8")
a.fill(7)
words = refused([512 << 10], "uint8")
assert len(os.listdir("/dev/shm")) == 1
shared_memory.create([256 << 10], "uint8", "small").fill(9)
shared_memory.unlink("small")

# Memory of the user's own, which its class does not reserve.
mine = SharedMemory(create=True, size=4 << 20)
words = refused([2 << 20], "uint8", mine)
assert "SIGBUS" not in words and "of 1048576 bytes free" in words, words
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


def file_system(free, total):
    """Returns an `os.statvfs` of a file system with pages of 4 KiB."""
    return lambda path: os.statvfs_result((4096, 4096, total, free, free, 1, 1, 1, 0, 255))


def test_array_too_large_for_the_file_system_makes_no_segment(monkeypatch):
    """Reserving it would first allocate all memory that is free."""
    before = os.listdir("/dev/shm")
    monkeypatch.setattr(SharedMemory, "__init__", lambda *args, **keywords: pytest.fail("a segment was made"))
    monkeypatch.setattr(os, "statvfs", file_system(4, 16))
    with pytest.raises(OSError, match=r"takes 16,385 bytes .*16,384 of 65,536 bytes free") as caught:
        shared_memory.create(1, "uint8")
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir("/dev/shm") == before


@pytest.mark.parametrize("system", [file_system(5, 5), file_system(0, 0)], ids=["fits", "no limit"])
def test_array_that_fits_the_file_system_is_made(monkeypatch, system):
    monkeypatch.setattr(os, "statvfs", system)
    shared_memory.unlink(shared_memory.create(4096, "uint8"))


def test_array_larger_than_all_shared_memory_leaves_no_traceback():
    """The resource tracker wrote one, about a name that it did not know."""
    program = (
        "from memarray import shared_memory\n"
        "try:\n"
        "    shared_memory.create([2**50])\n"
        "except OSError as error:\n"
        "    print(error.errno)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{errno.ENOSPC}\n", "")


def test_creation_in_truncated_mapping_raises_enospc(tmp_path):
    # The file of this mapping is truncated: a write would raise SIGBUS.
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


OUT_OF_DESCRIPTORS = """
import errno, os, resource, sys
import memarray
from memarray import shared_memory
if len(sys.argv) > 2:
    shared_memory.unlink(shared_memory.create([4]))  # the tracker of names runs

def open_files():
    return {int(name) for name in os.listdir("/proc/self/fd")}

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

def limit(free):
    "Limits the free file descriptors to this number."
    used, number = open_files(), 0
    while number - len([one for one in used if one < number]) < free:
        number += 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))

name = sys.argv[1]
made = 0
for more in range(12):
    for where in (name, None):
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        before = set(os.listdir("/dev/shm"))
        limit(more)
        try:
            array = shared_memory.create([4], "float64", where)
        except OSError as error:
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
            assert error.errno == errno.EMFILE, error
            left = set(os.listdir("/dev/shm")) - before
            left = {one for one in left if one.startswith("psm_") or one == name}
            assert not left, (more, left)
        else:
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
            shared_memory.unlink(array)
            del array
            made += 1
assert made
"""


@pytest.mark.parametrize("arguments", [[], ["tracked"]], ids=["first use", "later"])
def test_no_segment_is_left_when_file_descriptors_run_out(arguments):
    name = f"memarray-descriptors-{len(arguments)}"
    command = [sys.executable, "-c", OUT_OF_DESCRIPTORS, name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
