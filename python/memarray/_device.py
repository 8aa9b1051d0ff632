"""Where memory is."""

from __future__ import annotations

from . import _core


class Device:
    """A place where memory lives: ``Device("cpu")``, ``Device("cuda:0")``. Equal devices are equal and hash alike."""

    __slots__ = ("_index", "_type")

    _type: str
    _index: int

    def __init__(self, name: str | Device = "cpu") -> None:
        kind, _, number = str(name).partition(":")
        if kind == "cpu" and not number and ":" not in str(name):
            self._type, self._index = "cpu", 0
        elif kind == "cuda" and ((number.isascii() and number.isdigit()) or str(name) == "cuda"):
            # Few digits first: Python refuses to read thousands.
            if len(number.lstrip("0")) > 10 or int(number or 0) >= 2**31:
                raise ValueError(f"there is no device {_core.shown(name)}: no device's number is above 2147483647")
            self._type, self._index = "cuda", int(number or 0)
        else:
            raise ValueError(f"a device is written 'cpu', 'cuda' or 'cuda:<number>', not {_core.shown(name)}")

    @property
    def type(self) -> str:
        """'cpu' or 'cuda'."""
        return self._type

    @property
    def index(self) -> int:
        """Which device of its kind, from 0 on."""
        return self._index

    def __str__(self) -> str:
        return self.type if self.type == "cpu" else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = Device("cpu")
