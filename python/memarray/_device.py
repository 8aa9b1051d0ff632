"""The devices on which memory is."""

from __future__ import annotations

from . import _core

# Like typing.TYPE_CHECKING, without importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex

    from ._enums import DeviceType


class Device:
    """A device that has memory: ``Device("cpu")``, ``Device("cuda:0")``, ``Device("cuda", 0)``.

    `name` is such a word, another Device, or a `DeviceType` (``DeviceType.CUDA``). `index` is the number of the device
    within its kind, unless `name` contains it. Equal devices compare equal and hash alike. The constructor does not
    check that the device exists. Raises ValueError for other words and numbers, and TypeError for an index that is no
    integer.
    """

    __slots__ = ("_index", "_type")

    _type: str
    _index: int

    def __init__(self, name: str | Device | int = "cpu", index: SupportsIndex | None = None) -> None:
        if isinstance(name, int) and not isinstance(name, bool):
            name = _KINDS.get(name, name)
        if index is not None:
            name = _with_index(str(name), index)
        self._type, self._index = _core.device_parts(str(name))

    @property
    def type(self) -> str:
        """'cpu' or 'cuda'."""
        return self._type

    @property
    def index(self) -> int:
        """The number of the device within its kind, from 0 on."""
        return self._index

    @property
    def device_type(self) -> DeviceType:
        """The kind as a `DeviceType`."""
        from ._enums import DeviceType

        return DeviceType.CPU if self.is_cpu() else DeviceType.CUDA

    def is_cpu(self) -> bool:
        """True if this is the host."""
        return self._type == "cpu"

    def is_cuda(self) -> bool:
        """True if this is a CUDA device."""
        return self._type == "cuda"

    def __str__(self) -> str:
        return self.type if self.type == "cpu" else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return type(self), (str(self),)


#: DLPack's codes of the devices on which memarray allocates.
_KINDS = {1: "cpu", 2: "cuda"}


def _with_index(kind: str, index: SupportsIndex) -> str:
    if not _core.is_integer(index):
        raise TypeError(f"index must be an integer, not {_core.shown(index)}")
    number = index.__index__()
    if ":" in kind:
        raise ValueError(
            f"the device is given twice, by {_core.shown(kind)} and by index={_core.shown(number)}: leave one out"
        )
    if number < 0 or (kind == "cpu" and number != 0):
        words = f"there is no device {_core.shown(number)} of the kind {_core.shown(kind)}"
        raise ValueError(f"{words}; indices start at 0, and the CPU has one")
    return kind if kind == "cpu" else f"{kind}:{number}"


CPU = Device("cpu")
