"""Fails on comments that do not name things ("the caller", "a reader") or begin badly: language.py FILE..."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PRONOUN = re.compile(
    r"\b(?:some|no|any|every)(?:body|one)\b|\bwho(?:ever)?\b|\b(?:he|she|his|him)\b|\blets? go of\b|\blen(?:ds?|t)\b",
    re.IGNORECASE,
)
#: At the start of a comment, of a docstring or of a sentence.
CLAUSE = re.compile(r"(?:^|[.;:] +)(?:Of|What|Whether|That|Those|Whose|As|Where|How|Which|Why) ")
CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|\bnamespace \S+")
PYTHON = (".py", ".pyi", ".pyx", ".pxd")
#: The marks around a docstring, a C comment, and a line of either.
EDGE = re.compile(r'^(?:"""|/?\*+(?!/))\s*|\s*(?:"""|\*/)$')


def comments(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line number, text, and whether the text begins a comment or goes on with the line before."""
    lines = path.read_text(encoding="utf-8").splitlines()
    is_python = path.suffix in PYTHON
    marker = r"#:?" if is_python or path.suffix in (".cmake", ".in", ".txt") else r"//[/!]?<?"
    quoted = goes_on = False
    for number, line in enumerate(lines, 1):
        opened = re.search('"""' if is_python else r"(?:^|(?<=\s))/\*+(?=\s|$)", line)
        if quoted or opened:
            text = line if quoted or is_python else line[opened.start() :]
            yield number, EDGE.sub("", text.strip()), not quoted or not lines[number - 2].strip(" *")
            quoted = quoted ^ (line.count('"""') == 1) if is_python else "*/" not in line
            continue
        found = re.search(rf"(^|\s){marker}(?=\s|$)(.*)", line)
        if found:
            yield number, found[2].strip(), not goes_on or bool(line[: found.start()].strip())
        goes_on = bool(found and found[2].strip())


def habits(text: str, begins: bool) -> list[str]:
    plain = CODE.sub("x", text)
    found = [match[0] for match in PRONOUN.finditer(plain)]
    return found + [match[0].strip(".;: ") for match in CLAUSE.finditer(plain if begins else f"x {plain}")]


def main(names: list[str]) -> int:
    found = [
        f"{name}:{number}: {habit!r}: {text}"
        for name in names
        for number, text, begins in comments(Path(name))
        for habit in habits(text, begins)
    ]
    if found:
        print(*found, f"Found {len(found)} errors: name what is meant, and begin with a verb or a noun", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
