"""CUDA devices that this process can use.

Functions with a ``device_id`` raise CudaError if the device does not exist.
"""

from __future__ import annotations

from . import _core


def device_count() -> int:
    """Returns the number of CUDA devices that the driver offers; 0 without a driver."""
    return _core.device_count()


def is_available() -> bool:
    """True if arrays can be moved to a CUDA device."""
    return device_count() > 0


def device_name(device_id: int = 0) -> str:
    """Returns the driver's name for the device."""
    return _core.device_name(device_id)


def memory_info(device_id: int = 0) -> tuple[int, int]:
    """Returns the free and total bytes of the device's memory. Memory that the library's pool keeps is not free."""
    return _core.device_memory_info(device_id)


def pool_stats(device_id: int = 0) -> dict[str, int]:
    """Returns the bytes of device memory that the pool of the library's arrays has reserved and uses, now and at most.
    All are 0 for a device without pools."""
    return _core.device_pool_stats(device_id)


def trim(device_id: int = 0) -> None:
    """Releases device memory that no array uses to the device, and pinned memory for copies to the system."""
    _core.trim_device(device_id)


def synchronize(device_id: int = 0) -> None:
    """Waits, without the GIL, for all work that was submitted to the device."""
    _core.synchronize_device(device_id)
