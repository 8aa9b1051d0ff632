"""Enumerations of memory, imported on first use: `enum` takes longer to import than the rest of the package."""

from __future__ import annotations

from enum import Enum, IntEnum


class DeviceType(IntEnum):
    """Kinds of devices, with DLPack's codes, as ``__dlpack_device__`` returns and ``move_memory`` takes them.

    memarray's own memory is on `CPU` or `CUDA`. The other codes name devices of other libraries' exports. A member is
    an integer: ``DeviceType.CUDA == memarray.dlpack.kDLCUDA == 2``.
    """

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    VPI = 9
    ROCM = 10
    ROCM_HOST = 11
    EXT_DEV = 12
    CUDA_MANAGED = 13
    ONEAPI = 14
    WEBGPU = 15
    HEXAGON = 16
    MAIA = 17
    TRN = 18


class MemoryType(str, Enum):
    """Kinds of memory, which differ in what can reach it. Each member equals its string: ``MemoryType.PINNED ==
    "pinned"``."""

    NORMAL = "normal"
    """The host; pageable."""
    PINNED = "pinned"
    """The host; page-locked, so that a device copies it without a detour and without a wait."""
    UNIFIED = "unified"
    """The host and devices; the driver moves it."""
    DEVICE = "device"
    """One device."""

    __str__ = str.__str__
    __format__ = str.__format__  # type: ignore[assignment]
