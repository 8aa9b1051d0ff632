"""The Sphinx directive ``headers``: what the C++ and C headers say of themselves, as reference pages.

``.. headers:: array/*.hpp`` makes a section for each header that matches under ``include/memarray``: the comment at its
top, then each declaration that a ``///`` comment stands before, with that comment. What is private, in a namespace
``detail`` or ``bridging``, or in none that has a name, is left out, as are headers that then have nothing to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

INCLUDE = Path(__file__).resolve().parents[2] / "include" / "memarray"
HIDDEN = {"detail", "bridging", ""}
NAMESPACE = re.compile(r'^(?:inline )?namespace(?: ([\w:]*))?$|^extern ""$')
TYPE = re.compile(r"\b(class|struct|enum(?: class)?|union)\b(?: \[\[[^\]]*\]\])?(?: MEMARRAY_\w+)? (\w+)")
ACCESS = re.compile(r"^(public|private|protected):$")
CONDITION = re.compile(r"^# *(if|ifdef|ifndef|elif|else|endif)\b")
ATTRIBUTE = re.compile(r"__attribute__\(\(.*\)\)\s*")
CODE = re.compile(r"`([^`]+)`")


@dataclass
class Scope:
    kind: str
    name: str = ""
    visible: bool = True


@dataclass
class Entry:
    declaration: str
    comment: list[str]
    scope: str


@dataclass
class Header:
    path: Path
    about: list[str]
    entries: list[Entry] = field(default_factory=list)
    #: What did not end: nothing, if all was understood.
    left: list[str] = field(default_factory=list)


def read(path: Path) -> Header:
    lines = path.read_text(encoding="utf-8").splitlines()
    header = Header(path, about(lines))
    scopes: list[Scope] = []
    comment: list[str] = []
    pending: list[str] = []
    continued = False
    for line in lines[len(header.about) :]:
        text = line.strip()
        if continued or text.startswith("#"):
            if comment and text.startswith("#define "):
                header.entries.append(Entry(text.rstrip("\\ "), comment, ""))
            continued = text.endswith("\\")
            # What stands before a condition is said of what follows it.
            comment = comment if CONDITION.match(text) else []
            continue
        if text.startswith("///") and not pending:
            comment.append(text.removeprefix("///").removeprefix(" "))
            continue
        if not text or text.startswith("//"):
            comment = comment if text or pending else []
            continue
        if access := ACCESS.match(text):
            scopes[-1].visible = access[1] != "private"
            comment = []
            continue
        pending.append(line.split("//")[0].rstrip() if "///<" not in line else line.rstrip())
        code = strip(pending)
        if not is_whole(code):
            continue
        if comment and all(scope.visible for scope in scopes):
            names = [scope.name for scope in scopes if scope.kind != "namespace" and scope.name]
            header.entries.append(Entry(shown(pending), comment, "::".join(names)))
        follow(scopes, code)
        comment, pending = [], []
    header.left = pending + [scope.name or scope.kind for scope in scopes]
    return header


def about(lines: list[str]) -> list[str]:
    """The comment at the top, which may follow the guard against a second inclusion."""
    first = next((at for at, line in enumerate(lines) if line.strip() and line != "#pragma once"), 0)
    last = first
    while last < len(lines) and lines[last].startswith("//"):
        last += 1
    # As long as what is skipped, so that the lines after it can be counted.
    return ["" for _ in range(first)] + lines[first:last]


def strip(lines: list[str]) -> str:
    """The lines as one, without what strings and comments say."""
    code = " ".join(line.split("///<")[0].rstrip() for line in lines)
    return re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'', '""', code)


def is_whole(code: str) -> bool:
    """Whether a declaration ends here, or what it contains begins."""
    if code.count("(") > code.count(")") or code.count("[") > code.count("]"):
        return False
    return code.rstrip().endswith((";", "{", "}", "},", ",")) or code.startswith("}")


def follow(scopes: list[Scope], code: str) -> None:
    """Opens and closes scopes as the braces of the code do."""
    start = 0
    for at, character in enumerate(code):
        if character == "{":
            scopes.append(scope_of(code[start:at].strip(), scopes))
        elif character == "}" and scopes:
            scopes.pop()
        if character in "{};":
            start = at + 1


def scope_of(text: str, scopes: list[Scope]) -> Scope:
    if found := NAMESPACE.match(text):
        name = found[1] or ("C" if text.startswith("extern") else "")
        return Scope("namespace", name, not HIDDEN & set(name.split("::")))
    found = TYPE.search(text) if "(" not in text.split(" : ")[0] else None
    if found:
        return Scope(found[1], found[2], visible=found[1] != "class")
    return Scope("body", visible=False)


def shown(lines: list[str]) -> str:
    """The declaration without a body and GCC's attributes, at the left margin."""
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    text = ATTRIBUTE.sub("", "\n".join(line[margin:] for line in lines))
    return re.sub(r"\s*(: _[^{]*)?\{(?:[^{}]|\{[^{}]*\})*\}?$", "", text).rstrip("; ,") or text


def prose(lines: list[str]) -> Iterator[nodes.Node]:
    """Paragraphs, list items and indented code of a comment."""
    paragraph: list[str] = []
    code: list[str] = []
    for line in [*lines, ""]:
        ends = not line.strip() or line.startswith(("    ", "- "))
        if paragraph and ends:
            yield paragraph_of(paragraph)
            paragraph = []
        if line.startswith("    ") or (code and not line.strip() and line is not lines[-1]):
            code.append(line.removeprefix("    "))
        elif code:
            yield nodes.literal_block("\n".join(code).rstrip(), "\n".join(code).rstrip(), language="cpp")
            code = []
        if line.strip() and not line.startswith("    "):
            paragraph.append(line.strip())
    if code:
        yield nodes.literal_block("\n".join(code).rstrip(), "\n".join(code).rstrip(), language="cpp")


def paragraph_of(lines: list[str]) -> nodes.Node:
    is_item = lines[0].startswith("- ")
    text = " ".join(lines).removeprefix("- ")
    paragraph = nodes.paragraph()
    for at, part in enumerate(CODE.split(text)):
        paragraph += nodes.literal(part, part) if at % 2 else nodes.Text(part)
    if not is_item:
        return paragraph
    return nodes.bullet_list("", nodes.list_item("", paragraph))


class Headers(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        paths = sorted({path for pattern in self.arguments[0].split() for path in INCLUDE.glob(pattern)})
        if not paths:
            raise self.error(f"no header matches {self.arguments[0]}")
        return [self.section(header) for header in map(read, paths) if header.entries]

    def section(self, header: Header) -> nodes.section:
        self.env.note_dependency(str(header.path))
        name = f"memarray/{header.path.relative_to(INCLUDE).as_posix()}"
        section = nodes.section(ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
        section += nodes.title("", "", nodes.literal(name, name))
        section.extend(prose([re.sub(r"^///? ?", "", line) for line in header.about]))
        for entry in header.entries:
            text = f"// in {entry.scope}\n{entry.declaration}" if entry.scope else entry.declaration
            section += nodes.literal_block(text, text, language="cpp")
            section += nodes.block_quote("", *prose(entry.comment))
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("headers", Headers)
    return {"parallel_read_safe": True}
