"""The architectures that a library has kernels for, read from nvcc's section `.nv_fatbin`."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from .commands import Part

CONTAINER = 0xBA55ED50
PTX, CUBIN = 1, 2


def architectures(part: Part, library: Path) -> dict[int, set[int]]:
    """Returns the architectures, such as 90, for PTX and for CUBIN."""
    with tempfile.TemporaryDirectory() as folder:
        section = Path(folder) / "fatbin"
        part.run(["objcopy", "-O", "binary", "--only-section=.nv_fatbin", library, section])
        return parse(section.read_bytes() if section.exists() else b"")


def parse(section: bytes) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {PTX: set(), CUBIN: set()}
    start = 0
    while (start := section.find(struct.pack("<I", CONTAINER), start)) >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", section, start)
        entry, end = start + header, start + header + size
        while entry < end:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", section, entry)
            (architecture,) = struct.unpack_from("<I", section, entry + 28)
            found.setdefault(kind, set()).add(architecture)
            entry += entry_header + entry_size
        start = end
    return found
