"""DLPack's device types, as `move_memory` and `get_dlpack` take them."""

from __future__ import annotations

from enum import IntEnum


class DLDeviceType(IntEnum):
    """DLPack's ``DLDeviceType``; memarray's memory is on ``kDLCPU`` or ``kDLCUDA``."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14


kDLCPU = DLDeviceType.kDLCPU
kDLCUDA = DLDeviceType.kDLCUDA
kDLCUDAHost = DLDeviceType.kDLCUDAHost
kDLExtDev = DLDeviceType.kDLExtDev
kDLCUDAManaged = DLDeviceType.kDLCUDAManaged
