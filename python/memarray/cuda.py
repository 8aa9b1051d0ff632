"""CUDA devices that this process can use.

Functions with a ``device_id`` raise CudaError where there is no such device.
"""

from __future__ import annotations

from . import _core


def device_count() -> int:
    """How many CUDA devices the driver offers; 0 without a driver."""
    return _core.device_count()


def is_available() -> bool:
    """Whether arrays can be moved to a CUDA device."""
    return device_count() > 0


def device_name(device_id: int = 0) -> str:
    """What the driver calls the device."""
    return _core.device_name(device_id)


def memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total bytes of the device's memory. What the library's pool keeps for later is not free."""
    return _core.device_memory_info(device_id)


def pool_stats(device_id: int = 0) -> dict[str, int]:
    """Bytes that the pool of the library's arrays has of the device, and uses, now and at most; all 0 for a device
    without pools."""
    return _core.device_pool_stats(device_id)


def trim(device_id: int = 0) -> None:
    """Gives memory that no array uses back to the device, and pinned memory for copies back to the system."""
    _core.trim_device(device_id)


def synchronize(device_id: int = 0) -> None:
    """Waits, without the GIL, for all work that was submitted to the device."""
    _core.synchronize_device(device_id)
