"""DLPack's device types, as `move_memory` and `get_dlpack` take them."""

from __future__ import annotations

from . import _core


class DLDeviceType(int):
    """DLPack's ``DLDeviceType``, an integer with a name; memarray's memory is on ``kDLCPU`` or ``kDLCUDA``."""

    # Not an enum.IntEnum: importing enum costs more than importing the whole package.
    name: str
    kDLCPU: DLDeviceType
    kDLCUDA: DLDeviceType
    kDLCUDAHost: DLDeviceType
    kDLExtDev: DLDeviceType
    kDLCUDAManaged: DLDeviceType

    def __new__(cls, value: int, name: str | None = None):
        if name is None:
            for known in _ALL:
                if known == value:
                    return known
            raise ValueError(
                f"{_core.shown(value)} is not a DLPack device type; expected one of {', '.join(map(repr, _ALL))}"
            )
        self = super().__new__(cls, value)
        self.name = name
        return self

    def __repr__(self) -> str:
        return f"{self.name} ({int(self)})"

    def __reduce__(self):
        return (DLDeviceType, (int(self),))


_ALL: list[DLDeviceType] = []


def _add(name: str, value: int) -> DLDeviceType:
    member = DLDeviceType(value, name)
    _ALL.append(member)
    setattr(DLDeviceType, name, member)
    return member


kDLCPU = _add("kDLCPU", 1)
kDLCUDA = _add("kDLCUDA", 2)
kDLCUDAHost = _add("kDLCUDAHost", 3)
kDLExtDev = _add("kDLExtDev", 12)
kDLCUDAManaged = _add("kDLCUDAManaged", 13)
