"""Links between pages lead to a file and, after a #, to one of its headings, both on GitHub and on the site."""

from __future__ import annotations

import re
from pathlib import Path

import pages
import pytest

LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
# The levels of headings that get anchors in docs/site/conf.py.
HEADING = re.compile(r"^#{1,3} +(.+?) *$", re.MULTILINE)


def broken(page: Path) -> list[str]:
    return [
        f"{target}#{anchor}" if anchor else target
        for target, anchor in LINK.findall(pages.FENCE.sub("", page.read_text()))
        if not leads_somewhere(page, target, anchor)
    ]


def leads_somewhere(page: Path, target: str, anchor: str) -> bool:
    there = page.parent / target if target else page
    if not there.exists():
        return False
    return not anchor or (there.suffix == ".md" and anchor in anchors(there))


def anchors(page: Path) -> set[str]:
    """Returns the headings' anchors: lower case, hyphens for spaces, no other signs; -1 after a second equal one."""
    found: set[str] = set()
    for heading in HEADING.findall(pages.FENCE.sub("", page.read_text())):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = unique = re.sub(r"[^\w -]", "", words.lower()).replace(" ", "-")
        times = 0
        while unique in found:
            times += 1
            unique = f"{name}-{times}"
        found.add(unique)
    return found


LINKING = sorted({*pages.pages(), pages.ROOT / "CHANGELOG.md", *pages.ROOT.glob("examples/*/README.md")})


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.relative_to(pages.ROOT).as_posix())
def test_links_of_page_are_valid(page):
    assert broken(page) == []


def test_there_are_links_to_headings():
    with_anchor = [link for page in LINKING for link in LINK.findall(page.read_text()) if link[1]]
    assert len(with_anchor) > 20


FENCE = "`" * 3
OTHER = f"# Other\n\n## Who holds `it`, and why?\n\n## Twice\n\n## Twice\n\n{FENCE}sh\n# no heading\n{FENCE}\n"


@pytest.mark.parametrize("link", ["other.md", "other.md#who-holds-it-and-why", "#here", "other.md#twice-1", "./", ""])
def test_valid_link_is_accepted(link, tmp_path):
    assert broken(planted(link, tmp_path)) == []


BROKEN = ["no_such_page.md", "./#here", "#there", *(f"other.md#{name}" for name in ("who", "twice-2", "no-heading"))]


@pytest.mark.parametrize("link", BROKEN)
def test_broken_link_is_reported(link, tmp_path):
    assert broken(planted(link, tmp_path)) == [link]


def planted(link: str, folder: Path) -> Path:
    (folder / "other.md").write_text(OTHER)
    page = folder / "page.md"
    page.write_text(f"# Page\n\n## Here\n\nSee [this]({link}), [that](https://example.org/#x).\n")
    return page
