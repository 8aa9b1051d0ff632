"""Snapshots of an array: escaped views, and nothing else."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memarray import MemArray

    from .analysis import Array


class Frames:
    """Plain NumPy views of an array that continues to change, with a proof that the views do not.

    A view that outlives its lease is a snapshot: the next writer of the array continues in other memory.
    """

    def __init__(self) -> None:
        self._views: list[Array] = []
        self._checksums: list[str] = []

    def keep(self, array: MemArray) -> None:
        with array.read(device="cpu") as lease:
            view = np.from_dlpack(lease)
            self._checksums.append(self.checksum(view))
        self._views.append(view)

    def unchanged(self) -> bool:
        return [self.checksum(view) for view in self._views] == self._checksums

    def some(self, count: int) -> Iterator[Array]:
        """Returns about `count` of the views, evenly spread."""
        yield from self._views[:: max(1, len(self) // count)]

    @property
    def nbytes(self) -> int:
        return sum(view.nbytes for view in self._views)

    @property
    def places(self) -> int:
        """The number of different addresses of the views."""
        return len({view.__array_interface__["data"][0] for view in self._views})

    def __len__(self) -> int:
        return len(self._views)

    def __getitem__(self, index: int) -> Array:
        return self._views[index]

    @staticmethod
    def checksum(view: Array) -> str:
        return hashlib.blake2b(np.ascontiguousarray(view).data, digest_size=16).hexdigest()
