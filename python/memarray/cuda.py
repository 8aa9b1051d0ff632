"""CUDA devices that this process can use."""

from __future__ import annotations

from . import _core


def device_count() -> int:
    """How many CUDA devices the driver offers; 0 without a driver."""
    return _core.device_count()


def is_available() -> bool:
    """Whether arrays can be moved to a CUDA device."""
    return device_count() > 0
