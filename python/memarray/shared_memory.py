"""Arrays that several processes of one host use at once, over `multiprocessing.shared_memory`.

>>> from memarray import shared_memory
>>> a = shared_memory.create([1000], float)  # pass it, or a.shared_memory, to other processes
>>> b = shared_memory.attach(a.shared_memory)  # in another process
>>> shared_memory.unlink(a)  # once, after the last process has attached

Leases exclude each other across all processes. docs/guide/shared_memory.md lists the differences from arrays of one
process.
"""

from __future__ import annotations

import errno
import os

from . import _core
from ._array import MemArray
from ._dtypes import dtype_name
from ._instances import find_instance, shape_of
from ._segments import attach_as, bytes_of, checked_name, holds, missing

# Like typing.TYPE_CHECKING, without importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.shared_memory import SharedMemory
    from typing import SupportsIndex

    import numpy.typing as npt

__all__ = ["attach", "create", "unlink"]


def create(
    shape: SupportsIndex | Iterable[SupportsIndex],
    dtype: npt.DTypeLike | None = None,
    where: str | SharedMemory | None = None,
) -> MemArray:
    """Returns a new array of zeros in shared memory, to which other processes can attach.

    `where` is the name of new shared memory, a `SharedMemory` object that is large enough, or None for new memory under
    a free name. Leases exclude each other across all processes, and the exports of all processes are counted. The lock
    is in a header of 16 KiB in that memory, so the array cannot move to other memory. Its `escaped_views` policy is
    'error' or, if set, 'alias'; resize, exchange and move_memory raise `memarray.Error`.

    The memory exists as long as arrays, or views of them, use it; its name exists until `unlink`. While the memory is
    in use, `close()` of a `SharedMemory` object raises BufferError. All memory is reserved here. Raises FileExistsError
    for a name that is taken, and ValueError for memory that is too small or holds an array in use. Raises OSError with
    ENOSPC if the file system of shared memory is too full, and with EMFILE without enough file descriptors; no segment
    is left then.
    """
    from multiprocessing import resource_tracker
    from multiprocessing.shared_memory import SharedMemory

    extents = shape_of(shape)
    instance = find_instance(MemArray, dtype_name(dtype, MemArray._TYPE_INSTANCE_MAP, len(extents)), len(extents))
    if isinstance(where, str):
        where = checked_name(where)
    elif where is not None:
        return instance.create_shared(MemArray, *bytes_of(where), extents, False)
    size = instance.shared_bytes(extents)
    _check_free(size)
    # SharedMemory leaves its segment behind if the resource tracker cannot be started. If it gets only one of its two
    # file descriptors, it unregisters a name that the tracker does not know. Both are tried first.
    resource_tracker.ensure_running()
    for end in os.pipe():
        os.close(end)
    try:
        memory = SharedMemory(where, create=True, size=size)
    except OSError as error:
        if error.errno in (errno.ENOMEM, errno.EFBIG):
            words = f"shared memory for this array takes {size:,} bytes with its header: {os.strerror(error.errno)}"
            raise OSError(error.errno, words) from None
        raise
    try:
        _reserve(memory, size)
        return instance.create_shared(MemArray, *bytes_of(memory), extents, True)
    except BaseException:
        memory.unlink()
        raise


def _check_free(size: int) -> None:
    """Raises OSError if the file system is too full. `_reserve` would first allocate all memory that is free."""
    try:
        system = os.statvfs("/dev/shm")
    except OSError:
        return
    # A file system without a limit has no blocks.
    if system.f_blocks and size > system.f_bavail * system.f_frsize:
        raise _too_full(errno.ENOSPC, size, system)


def _reserve(memory: SharedMemory, size: int) -> None:
    """Reserves all memory of a new segment now. Otherwise a write to a page that cannot be allocated raises SIGBUS."""
    file = memory._fd  # type: ignore[attr-defined]
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        raise _too_full(error.errno or 0, size, os.fstatvfs(file)) from None


def _too_full(code: int, size: int, system: os.statvfs_result) -> OSError:
    return OSError(
        code,
        f"shared memory for this array takes {size:,} bytes with its header, and the file system of shared memory "
        f"(/dev/shm) has {system.f_bavail * system.f_frsize:,} of {system.f_blocks * system.f_frsize:,} bytes free "
        f"({os.strerror(code)}): unlink segments that are no longer used, enlarge it "
        "(mount -o remount,size=…, docker run --shm-size=…), or make a smaller array",
    )


def attach(where: str | SharedMemory) -> MemArray:
    """Returns the array that `create` made in shared memory, in any process. `where` is the memory or its name.

    Raises FileNotFoundError for a name that does not exist (any more), and ValueError with a reason for memory that
    holds no array. Raises `memarray.Error` if its processes are invisible here (another pid or time namespace), and for
    the 251st attachment. Attaching does not make this process responsible for the name: the process that made the array
    unlinks it.
    """
    return attach_as(MemArray, where)


def unlink(which: MemArray | str) -> None:
    """Removes the name of an array's shared memory. The memory is freed once no array or view uses it.

    Raises FileNotFoundError if the name is already gone, also if another array's memory has it by now, and ValueError
    for an array without named shared memory.
    """
    from _posixshmem import shm_unlink  # type: ignore[import-not-found]
    from multiprocessing import resource_tracker

    if not isinstance(which, (str, MemArray)):
        raise TypeError(f"shared memory is given as an array or a name, not {_core.shown(which)}")
    name = which if isinstance(which, str) else which.shared_memory
    if not name:
        raise ValueError(f"{_core.shown(which)} is in no shared memory that has a name")
    name = checked_name(name)
    segment = None if isinstance(which, str) else which._segment
    if segment and not holds(name, segment[1]):
        raise missing(name)
    try:
        shm_unlink(f"/{name}")
    except FileNotFoundError:
        raise missing(name) from None
    # Only the tracker of the process that made the memory knows the name.
    resource_tracker.register(f"/{name}", "shared_memory")
    resource_tracker.unregister(f"/{name}", "shared_memory")
