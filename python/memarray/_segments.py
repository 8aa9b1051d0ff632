"""Attaches arrays to shared memory by its name, for `memarray.shared_memory` and for pickles."""

from __future__ import annotations

import errno
import os

from . import _core
from ._instances import find_instance

# Like typing.TYPE_CHECKING, without importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from multiprocessing.shared_memory import SharedMemory
    from typing import Any, TypeVar

    _Array = TypeVar("_Array", bound=_core.ArrayBase)


def attach_as(cls: type[_Array], where: str | SharedMemory) -> _Array:
    """Returns the array in shared memory, as an object of `cls`. Does not call the constructor of a subclass."""
    view, keep, name = _named(where) if isinstance(where, str) else bytes_of(where)
    dtype, shape, _ = _core.shared_layout(view)
    return find_instance(cls, dtype, len(shape)).attach_shared(cls, view, keep, name)


def bytes_of(memory: SharedMemory) -> tuple[_core.BufferView, Any, str]:
    """Returns a view of the bytes, the object that keeps them alive, and the name."""
    from multiprocessing.shared_memory import SharedMemory

    if not isinstance(memory, SharedMemory):
        raise TypeError(f"shared memory is given as a name or a SharedMemory object, not {_core.shown(memory)}")
    return _core.BufferView.from_buffer(memory.buf, "uint8"), memory, memory.name


def holds(name: str, uid: int) -> bool:
    """True if the shared memory of that name holds the array with this id. Raises FileNotFoundError without any."""
    try:
        view, _, _ = _named(name)
        return _core.shared_layout(view)[2] == uid
    except ValueError:
        return False


def _named(name: str) -> tuple[_core.BufferView, Any, str]:
    # Does not use SharedMemory, which before Python 3.13 unlinks the name when an attached process ends. The view keeps
    # the mapping alive.
    import mmap
    from _posixshmem import shm_open  # type: ignore[import-not-found]

    name = checked_name(name)
    try:
        file = shm_open(f"/{name}", os.O_RDWR, mode=0o600)
    except FileNotFoundError:
        raise missing(name) from None
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


def checked_name(name: str) -> str:
    """Returns the name without a slash. Raises ValueError for a name that no shared memory can have."""
    name = name.removeprefix("/")
    # Python's resource tracker takes ASCII alone, and file systems 255 bytes.
    if not name or len(name) > 254 or "/" in name or "\0" in name or not name.isascii():
        words = "has 1 to 254 ASCII characters, without a slash"
        raise ValueError(f"the name of shared memory {words}, not {_core.shown(name)}")
    return name


def missing(name: str) -> FileNotFoundError:
    words = "there is no shared memory of that name: it was unlinked, or is on another host"
    return FileNotFoundError(errno.ENOENT, words, name)
