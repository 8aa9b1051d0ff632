"""Memory that C++ owns and Python borrows, with no copy: it cannot dangle, tear or race.

>>> import memarray
>>> import numpy as np
>>> a = memarray.MemArray([2, 4, 7], float)
>>> with a.read() as lease:
...     x = np.from_dlpack(lease)  # or torch, jax, …
"""

from . import (
    _main_interpreter,  # noqa: F401  # first: in a sub-interpreter the next imports would never return
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

# Like typing.TYPE_CHECKING, without importing typing.
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
    """Returns how memarray was built: version, flavour (``host`` or ``cuda``), compilers, versions of CCCL and
    DLPack."""
    return _build_info()


def stats() -> dict[str, int]:
    """Returns the counters of this process.

    ``copies`` and ``copied_bytes`` count implicit copies, all copies of views (also ``copy``, ``cast`` and
    ``copy=True``), and all copies between host and devices. The bytes of the last are also in ``to_device_bytes``,
    ``to_host_bytes`` and ``between_devices_bytes``. ``waits`` counts implicit waits that blocked. ``versions`` counts
    how often an array continued in fresh memory under escaped views. ``live_blocks`` and ``live_bytes`` measure live
    memory, exactly if no other thread allocates or frees meanwhile. ``pool_…`` describes the pool of host memory: what
    it keeps, and how often it served a request.
    """
    return _stats()


def trim() -> int:
    """Releases unused memory of the pool to the system. Returns the number of bytes."""
    return _trim()


def synchronize() -> None:
    """Waits for all work that was submitted to devices. Work on the host completes before its call returns."""
    _synchronize()


def __getattr__(name: str) -> object:
    # Imported on first use: programs do not need the first, and few need the others.
    if name == "testing":
        from importlib import import_module

        return import_module("memarray.testing")
    if name in ("DeviceType", "MemoryType"):
        from . import _enums

        globals()["DeviceType"] = _enums.DeviceType
        globals()["MemoryType"] = _enums.MemoryType
        return globals()[name]
    raise AttributeError(f"module 'memarray' has no attribute {name!r}")


def _register_with_dask() -> None:
    from contextlib import suppress

    # If the version of Dask is too old, it pickles arrays like any object.
    with suppress(ImportError):
        from . import dask  # noqa: F401


# A process that only receives arrays needs the registration, too.
_when_imported("distributed.protocol.serialize", _register_with_dask)
