"""The public names of headers, found by their layout, for checks of what other tools make of the headers."""

from __future__ import annotations

import re
from pathlib import Path

#: The word before `(`, or after the keyword of a type.
NAME = re.compile(
    r"#define (\w+)|^typedef .*\b(\w+)$|"
    r"\b(?:class|struct|enum class|enum|using|concept)\b(?: MEMARRAY_API)? (\w+)|\b(\w+)\(|\b(\w+) ="
)
#: Parentheses, with up to two nested levels.
PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
INTERNAL = r"(?:\w+::)*(?:detail|bridging)(?:::\w+)*"
#: The declaration after a comment at the left margin: members are indented.
DOCUMENTED = re.compile(r"^///.*\n(?!///|\n)([^;{]+)", re.MULTILINE)


def without_internals(text: str) -> str:
    """Returns the text of a header without internal namespaces and private parts."""
    # clang-format names a namespace at its end, unless it has one line.
    text = re.sub(rf"^namespace ({INTERNAL}) \{{\n.*?^\}}  // namespace \1$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(rf"^namespace {INTERNAL} \{{\n[^\n]*\n\}}$", "", text, flags=re.MULTILINE)
    return re.sub(r"^ private:.*?^\};", "};", text, flags=re.MULTILINE | re.DOTALL)


def public_text(text: str) -> str:
    """Returns the text of a header without internal namespaces, comments and private parts."""
    return re.sub(r"//[^\n]*", "", without_internals(text))


def documented_names(path: Path) -> set[str]:
    """Returns the public names of a header that have a comment, without members and namespaces."""
    declarations = DOCUMENTED.findall(without_internals(path.read_text(encoding="utf-8")))
    return {name_of(declaration) for declaration in declarations if not declaration.startswith("namespace ")}


#: A declaration at the left margin: no forward declaration, specialisation, member or call of a macro.
DECLARED = re.compile(
    r"^(?!(?:inline )?namespace |using namespace |extern |static_assert|template <>|(?:class|struct) \w+;|\w+\()"
    r"(?:template <.*>\n(?:  .*\n)*)?(?!template)(?=[\w\[])(?!.*\boperator\b)(?!.*::\w+\(\) )([^;{\n]+)[;{\n]",
    re.MULTILINE,
)
#: Macros that no user writes: parts of others, ownership words of signatures, and guards.
HIDDEN = re.compile(r"MEMARRAY_DETAIL_|__|\w+_H$")


def names_without_comment(text: str) -> set[str]:
    """Returns the public names that a header declares in paragraphs without any comment."""
    # The comment of the file is also that of its first part.
    text = re.sub(r"^(///.*\n)\n", r"\1", without_internals(text), flags=re.MULTILINE)
    parts = [part for part in re.split(r"\n\s*\n", text) if "//" not in part and not part.startswith((" ", "}"))]
    macros = {name for part in parts for name in re.findall(r"^#define (\w+)", part, re.MULTILINE)}
    names = {name for name in macros if f"#undef {name}" not in text and not HIDDEN.match(name)}
    return names | {name_of(declaration) for part in parts for declaration in DECLARED.findall(part)}


def name_of(declaration: str) -> str:
    text = re.sub(r"\s+", " ", declaration)
    previous = ""
    while previous != text:
        previous, text = text, re.sub(r"(?<!operator)<[^<>]*>", "", text)
    # Removes a constraint before the declaration, but not the body of a concept.
    text = re.sub(rf"(?<!= )\brequires ?(?:{PARENTHESES}|[\w:]+)(?: && {PARENTHESES})*", "", text)
    return next(filter(None, NAME.search(text).groups()))
