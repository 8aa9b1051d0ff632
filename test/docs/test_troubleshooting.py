"""Every message in the tables of the page about troubleshooting is one that memarray still has."""

from __future__ import annotations

import functools
import re

import pages
import pytest

PAGE = pages.ROOT / "docs" / "guide" / "troubleshooting.md"
SOURCES = ("src", "include", "python", "cmake")
ENDINGS = {".cpp", ".cu", ".h", ".hpp", ".in", ".py", ".cmake"}
TITLES = ("message", "words")
#: Pieces that stand nowhere as they are, each with why.
ELSEWHERE: dict[str, str] = {
}


def messages(page: str) -> list[str]:
    """The cells under `message` or `words` of all tables."""
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
    return [piece for part in message.split("…") if (piece := part.strip(" ;"))]


@functools.cache
def written() -> str:
    """All sources, with string literals that stand behind one another as one."""
    paths = [path for folder in SOURCES for path in (pages.ROOT / folder).rglob("*") if path.suffix in ENDINGS]
    text = "\n".join(path.read_text() for path in [*paths, pages.ROOT / "CMakeLists.txt"])
    return re.sub(r'"\s*\n\s*f?"', "", text)


def unknown(message: str) -> list[str]:
    return [piece for piece in pieces(message) if piece not in written() and piece not in ELSEWHERE]


@pytest.mark.parametrize("message", messages(PAGE.read_text()))
def test_the_message_is_in_the_sources(message):
    assert unknown(message) == []
