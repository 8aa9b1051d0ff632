"""Arrays that several processes of one host use at once, over `multiprocessing.shared_memory`.

>>> from memarray import shared_memory
>>> a = shared_memory.create([1000], float)  # pass it, or a.shared_memory, to other processes
>>> b = shared_memory.attach(a.shared_memory)  # in another process
>>> shared_memory.unlink(a)  # once, when no more process attaches

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

# Like typing.TYPE_CHECKING, without importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.shared_memory import SharedMemory
    from typing import Any, SupportsIndex, TypeVar

    import numpy.typing as npt

    _Array = TypeVar("_Array", bound=MemArray)

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
        where = _checked(where)
    elif where is not None:
        return instance.create_shared(MemArray, *_given(where), extents, False)
    size = instance.shared_bytes(extents)
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
        return instance.create_shared(MemArray, *_given(memory), extents, True)
    except BaseException:
        memory.unlink()
        raise


def _reserve(memory: SharedMemory, size: int) -> None:
    """Reserves all memory of a new segment now. Otherwise a write to a page that cannot be allocated raises SIGBUS."""
    file = memory._fd  # type: ignore[attr-defined]
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        system = os.fstatvfs(file)
        raise OSError(
            error.errno,
            f"shared memory for this array takes {size:,} bytes with its header, and the file system of shared memory "
            f"(/dev/shm) has {system.f_bavail * system.f_frsize:,} of {system.f_blocks * system.f_frsize:,} bytes free "
            f"({os.strerror(error.errno or 0)}): unlink segments that are no longer used, enlarge it "
            "(mount -o remount,size=…, docker run --shm-size=…), or make a smaller array",
        ) from None


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

    Raises FileNotFoundError if the name is already gone, and ValueError for an array without named shared memory.
    """
    from _posixshmem import shm_unlink  # type: ignore[import-not-found]
    from multiprocessing import resource_tracker

    if not isinstance(which, (str, MemArray)):
        raise TypeError(f"shared memory is given as an array or a name, not {_core.shown(which)}")
    name = which if isinstance(which, str) else which.shared_memory
    if not name:
        raise ValueError(f"{_core.shown(which)} is in no shared memory that has a name")
    name = _checked(name)
    try:
        shm_unlink(f"/{name}")
    except FileNotFoundError:
        raise _gone(name) from None
    # Only the tracker of the process that made the memory knows the name.
    resource_tracker.register(f"/{name}", "shared_memory")
    resource_tracker.unregister(f"/{name}", "shared_memory")


def attach_as(cls: type[_Array], where: str | SharedMemory) -> _Array:
    view, keep, name = _named(where) if isinstance(where, str) else _given(where)
    dtype, shape = _core.shared_layout(view)
    return find_instance(cls, dtype, len(shape)).attach_shared(cls, view, keep, name)


def _given(memory: SharedMemory) -> tuple[_core.BufferView, Any, str]:
    """Returns a view of the bytes, the object that keeps them alive, and the name."""
    from multiprocessing.shared_memory import SharedMemory

    if not isinstance(memory, SharedMemory):
        raise TypeError(f"shared memory is given as a name or a SharedMemory object, not {_core.shown(memory)}")
    return _core.BufferView.from_buffer(memory.buf, "uint8"), memory, memory.name


def _named(name: str) -> tuple[_core.BufferView, Any, str]:
    # Does not use SharedMemory, which before Python 3.13 unlinks the name when an attached process ends. The view keeps
    # the mapping alive.
    import mmap
    from _posixshmem import shm_open  # type: ignore[import-not-found]

    name = _checked(name)
    try:
        file = shm_open(f"/{name}", os.O_RDWR, mode=0o600)
    except FileNotFoundError:
        raise _gone(name) from None
    try:
        size = os.fstat(file).st_size
        if size == 0:
            raise ValueError(
                f"the shared memory {_core.shown(name)} does not hold an array: it is empty, or not ready yet"
            )
        mapping = mmap.mmap(file, size)
    finally:
        os.close(file)
    return _core.BufferView.from_buffer(mapping, "uint8"), None, name


def _checked(name: str) -> str:
    """Returns the name without a slash. Raises ValueError for a name that no shared memory can have."""
    name = name.removeprefix("/")
    # Python's resource tracker takes ASCII alone, and file systems 255 bytes.
    if not name or len(name) > 254 or "/" in name or "\0" in name or not name.isascii():
        words = "has 1 to 254 ASCII characters, without a slash"
        raise ValueError(f"the name of shared memory {words}, not {_core.shown(name)}")
    return name


def _gone(name: str) -> FileNotFoundError:
    words = "there is no shared memory of that name: it was unlinked, or is on another host"
    return FileNotFoundError(errno.ENOENT, words, name)
