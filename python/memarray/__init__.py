"""Memory that C++ owns and Python borrows, with no copy: it cannot dangle, tear or race.

>>> import memarray
>>> import numpy as np
>>> a = memarray.MemArray([2, 4, 7], float)
>>> with a.read() as lease:
...     x = np.from_dlpack(lease)  # or torch, jax, …
"""

from . import (
    _main_interpreter,  # noqa: F401  # first: what comes next would never return elsewhere
    cuda,
    dlpack,
    shared_memory,
)
from ._array import MemArray
from ._core import (
    BufferView,
    CudaError,
    Error,
    Event,
    Lease,
    LockError,
    MemoryPool,
    OutOfMemoryError,
    Stream,
    UnsupportedTypeError,
    leases,
)
from ._core import build_info as _build_info
from ._core import stats as _stats
from ._core import synchronize as _synchronize
from ._core import trim as _trim
from ._device import Device
from ._options import options
from ._when_imported import when_imported as _when_imported

# As typing has it, without importing it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._enums import DeviceType, MemoryType
del TYPE_CHECKING

__version__ = _build_info()["version"]

__all__ = [
    "BufferView",
    "CudaError",
    "Device",
    "DeviceType",
    "Error",
    "Event",
    "Lease",
    "LockError",
    "MemArray",
    "MemoryPool",
    "MemoryType",
    "OutOfMemoryError",
    "Stream",
    "UnsupportedTypeError",
    "__version__",
    "build_info",
    "cuda",
    "dlpack",
    "from_dlpack",
    "leases",
    "options",
    "shared_memory",
    "stats",
    "synchronize",
    "trim",
]


from_dlpack = BufferView.from_dlpack


def build_info() -> dict[str, str]:
    """What was built: version, flavour (``host`` or ``cuda``), compilers, versions of CCCL and DLPack."""
    return _build_info()


def stats() -> dict[str, int]:
    """Counters of this process.

    ``copies`` and ``copied_bytes``: what had to be copied though nobody asked for it by name, all copies of views
    (``copy``, ``cast``, ``copy=True`` too), and all between host and devices, whose bytes are also in
    ``to_device_bytes``, ``to_host_bytes`` and ``between_devices_bytes``;
    ``waits`` that blocked unasked; ``versions``: times an array went on in fresh memory under kept views;
    ``live_blocks``, ``live_bytes``: memory alive, exactly if no thread makes or frees any meanwhile; ``pool_…``: what
    the pool of host memory keeps, and how often it could serve.
    """
    return _stats()


def trim() -> int:
    """Gives the memory that the pool keeps back to the system. Returns its bytes."""
    return _trim()


def synchronize() -> None:
    """Waits for all work that was submitted to devices. On the host alone work ends before its call does."""
    _synchronize()


def __getattr__(name: str) -> object:
    # Not imported before they are wanted: programs have no use for the one, and few for the others.
    if name == "testing":
        from importlib import import_module

        return import_module("memarray.testing")
    if name in ("DeviceType", "MemoryType"):
        from . import _enums

        globals()["DeviceType"] = _enums.DeviceType
        globals()["MemoryType"] = _enums.MemoryType
        return globals()[name]
    raise AttributeError(f"module 'memarray' has no attribute {name!r}")


def _tell_dask() -> None:
    from contextlib import suppress

    # A version that is too old pickles arrays, as it does any object.
    with suppress(ImportError):
        from . import dask  # noqa: F401


# A process that only receives arrays must know them, too.
_when_imported("distributed.protocol.serialize", _tell_dask)
