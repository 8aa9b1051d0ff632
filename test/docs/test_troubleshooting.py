"""Every message in the tables of two pages, troubleshooting and kernels, is one that memarray still has."""

from __future__ import annotations

import functools
import re

import pages
import pytest

PAGES = [pages.ROOT / "docs" / "guide" / f"{name}.md" for name in ("troubleshooting", "kernels")]
SOURCES = ("src", "include", "python", "cmake")
ENDINGS = {".cpp", ".cu", ".h", ".hpp", ".in", ".py", ".cmake"}
TITLES = ("message", "words")
#: Parts before, between or after which the sources put other parts of messages.
JOINTS = ("waited: ", " is refused on", "a kernel")
#: Messages that the sources join from several parts, each as a tuple of its parts.
JOINED = (
    ("launching a kernel", " failed:"),
    ("is outside ", "MemArray<"),
    ("failed: ", "the driver refused it", " (", "CUDA_ERROR_"),
    ("holds it for reading (", "1", " lease)", "; pass a timeout to wait for it"),
    ("continued in fresh memory, because ", "an escaped view is alive and the write may be partial"),
    ("as ", "a writable escaped view is alive"),
    ("exited while it held the array in shared memory ", "'"),
)
#: Messages of other programs.
ELSEWHERE = {
    "libmemarray.so: cannot open shared object file": "the dynamic linker",
    "memarray_import is not declared": "the compiler",
}


def messages(page: str) -> list[str]:
    """Returns the cells under `message` or `words` of all tables."""
    found: list[str] = []
    column = None
    for line in pages.FENCE.sub("", page).splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]] if line.startswith("|") else []
        titles = [cells.index(title) for title in TITLES if title in cells]
        if not cells or titles:
            column = titles[0] if titles else None
        elif column is not None and set(line) - set("|-"):
            found.append(cells[column].replace("`", ""))
    return found


def pieces(message: str) -> list[str]:
    """Returns the text between the names and numbers of one message or several."""
    return [piece for part in message.split("…") if (piece := part.strip(" ;"))]


@functools.cache
def written() -> str:
    """Returns the text of all sources, with adjacent string literals joined."""
    paths = [path for folder in SOURCES for path in (pages.ROOT / folder).rglob("*") if path.suffix in ENDINGS]
    text = "\n".join(path.read_text() for path in [*paths, pages.ROOT / "CMakeLists.txt"])
    return re.sub(r'"\s*\n\s*f?"', "", text)


def is_said(piece: str) -> bool:
    if piece in written() or piece in ELSEWHERE:
        return True
    if any("".join(parts) == piece for parts in JOINED):
        return True
    joint = next((joint for joint in JOINTS if joint in piece and joint != piece), "; ")
    return joint in piece and all(is_said(part) for part in piece.split(joint) if part)


def unknown(message: str) -> list[str]:
    return [piece for piece in pieces(message) if not is_said(piece)]


MESSAGES = [message for page in PAGES for message in messages(page.read_text())]


@pytest.mark.parametrize("message", MESSAGES)
def test_the_message_is_in_the_sources(message):
    assert unknown(message) == []


@pytest.mark.parametrize("parts", [*JOINED, *((joint,) for joint in JOINTS)], ids="".join)
def test_parts_of_joined_message_are_in_the_sources(parts):
    assert [part for part in parts if part not in written()] == []


def test_no_entry_is_unused():
    used = {piece for message in MESSAGES for piece in pieces(message)}
    used |= {part for piece in used for part in piece.split("; ")}
    assert {*ELSEWHERE, *("".join(parts) for parts in JOINED)} <= used
    assert all(any(joint in piece for piece in used) for joint in JOINTS)


def test_all_tables_are_read():
    assert len(MESSAGES) > 50
    assert {"an operation of memarray is using it", "… or later is needed, not …"} <= set(MESSAGES)
    assert "… went from … to …" in MESSAGES, "in the second column"


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("this MemArray was moved from", []),
        ("this MemArray was moved to", ["this MemArray was moved to"]),
        ("process … slept; pass a timeout to wait for it", ["slept; pass a timeout to wait for it"]),
        ("resize is refused on …, which is in dispute", [", which is in dispute"]),
    ],
)
def test_message_missing_from_sources_is_reported(message, wrong):
    assert unknown(message) == wrong
