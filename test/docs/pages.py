"""The pages: their fenced blocks, and the meaning of each kind of block.

- `python`: executed. The blocks of a page share one namespace, in order, in an empty folder and a fresh interpreter.
- `pycon`: a transcript, executed by doctest in that namespace. Its output must match (`...` stands for anything).
- `cpp` that begins with `// file: NAME`, `cmake` with `# file: NAME`: written into the page's project; `more of: NAME`
  adds to it. `c`, `cython` and `fortran` (`! file: NAME`) are always such files. When a page has written a
  CMakeLists.txt, the project is built before the next python block, which can import its modules. A new project's
  README has that project in its folder.
- other `cpp`: a program of its own if it has a `main` or GoogleTest tests, else statements that follow those of
  earlier blocks. All are compiled against memarray and run.
- `sh`: `python -m memarray` and `cmake` lines are executed, in the page's project. Commands that take long are executed
  elsewhere in ./test/run; here the files, options, presets and packages that they name must exist.
- any block after the line `<!-- executed where there is: NAME, NAME -->` is executed if each name is found: a Python
  module, a program, or a header that g++ finds.
- any block, of any language, after the line `<!-- not executed: WHY -->` is shown only. `text` always needs that line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Template of `python -m memarray new`. Its README is a page.
NEW_PROJECT = ROOT / "examples" / "gray_scott"
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"\s*(?://|#|!) (file|more of): (\S+)\n")
# The comment directly before the block. One farther up belongs to another block.
NOT_EXECUTED = re.compile(r"<!-- not executed: ((?:(?!-->).)*?) *-->\s*\Z", re.DOTALL)
NEEDED = re.compile(r"<!-- executed where there is: ([^>]+?) -->\s*\Z")
KNOWN = {"python", "pycon", "cpp", "c", "cython", "fortran", "cmake", "sh", "text", "toml"}


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    #: Reason why the block is not executed; None if it is executed.
    excuse: str | None = None
    #: Modules, programs and headers without which the block is not executed.
    needed: tuple[str, ...] = ()

    @property
    def file(self) -> str | None:
        named = NAMED.match(self.text)
        return named.group(2) if named else None

    @property
    def continues(self) -> bool:
        named = NAMED.match(self.text)
        return named is not None and named.group(1) == "more of"


def pages() -> list[Path]:
    top = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "bench" / "README.md"]
    return [*top, *sorted((ROOT / "docs").rglob("*.md")), NEW_PROJECT / "README.md"]


def blocks(text: str) -> list[Block]:
    found = []
    for fence in FENCE.finditer(text):
        indent, language, body = fence.groups()
        body = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
        before = text[: fence.start()]
        excuse, needed = NOT_EXECUTED.search(before), NEEDED.search(before)
        found.append(
            Block(
                language,
                body,
                before.count("\n") + 2,
                excuse.group(1).strip() if excuse else None,
                tuple(needed.group(1).split(", ")) if needed else (),
            )
        )
    return found


def as_program(parts: list[str]) -> str:
    """Puts statements into the body of a main; #include lines, and definitions before a line `// ---`, stay outside."""
    outside, inside = ["#include <memarray/memarray.hpp>"], []
    for part in parts:
        definitions, separator, statements = part.partition("// ---\n")
        if not separator:
            definitions, statements = "", part
        outside.append(definitions)
        for line in statements.splitlines():
            (outside if line.lstrip().startswith("#include") else inside).append(line)
    return "\n".join([*outside, "int main() {", *inside, "}", ""])
