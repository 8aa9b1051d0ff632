"""The ownership words of the C API: every reference and every resource has one, and clang's syntax tree has them."""

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
INTEROP = INCLUDE / "memarray" / "interop"
TABLES = ("c_api.h", "c_arrays.h", "c_views.h")

CLANG = next(filter(None, map(shutil.which, ("clang", *(f"clang-{n}" for n in range(22, 13, -1))))), None)
needs_clang = pytest.mark.skipif(CLANG is None, reason="no clang on the PATH")
RETURNS_REF = re.compile(r"FieldDecl .* (\w+) '(MemArray\w+Ref) \(\*\)")

#: Entry of a table, or function of py_resource.h: result type, name and parameters.
ENTRY = re.compile(r"^  ([^\n;({}]+?) ?\(\*(\w+)\)\(([^;()]*)\);", re.MULTILINE)
FUNCTION = re.compile(r"^static inline ([\w* ]+?)(\w+)\(([^)]*)\) \{", re.MULTILINE)
#: Types with an owner. `drop_object` takes an owned object.
OWNED = re.compile(r"\bMemArray\w+Ref\b|\bvoid\* (?:object|owner)$|\bPyObject\*|\b(?:Py|MemArray)Resource\*")
TAKES = re.compile(r"release_\w+|drop_object|PyResource_Close|memarray_keep_|hold_object")


def owned(text: str, declaration: re.Pattern[str] = ENTRY) -> Iterator[tuple[str, str]]:
    """Yields each owned result and parameter, with the name of its function."""
    for returns, name, parameters in declaration.findall(re.sub(r"//[^\n]*", "", text)):
        for part in (returns, *parameters.split(",")):
            if OWNED.search(part.strip()):
                yield name, " ".join(part.split())


def without_a_word(found: Iterator[tuple[str, str]]) -> list[str]:
    return [f"{name}: {part}" for name, part in found if not re.match(r"__memarray_(give|take|keep) ", part)]


@pytest.mark.parametrize("file", [*TABLES, "py_resource.h"])
def test_every_owned_reference_has_an_ownership_word(file):
    found = list(owned((INTEROP / file).read_text(), FUNCTION if file == "py_resource.h" else ENTRY))
    assert len(found) > 15
    assert without_a_word(found) == []
    released = [(name, part) for name, part in found if name.startswith("release_") or name == "PyResource_Close"]
    assert released and all(part.startswith("__memarray_take ") for _, part in released)


def test_missing_ownership_word_is_found():
    entry = "  MemArrayViewRef (*copy)(__memarray_keep MemArrayViewRef view,\n   MemArrayStreamRef stream);\n"
    assert without_a_word(owned(entry)) == ["copy: MemArrayViewRef", "copy: MemArrayStreamRef stream"]
    function = "static inline void* f(PyObject* op, __memarray_give PyResource* res) {\n"
    assert without_a_word(owned(function, FUNCTION)) == ["f: PyObject* op"]


def syntax_tree(source: str, language: str, *options: str) -> list[str]:
    command = [CLANG, "-x", language, *options, f"-I{INCLUDE}", "-fsyntax-only", "-Xclang", "-ast-dump", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout.splitlines()


@needs_clang
def test_every_reference_that_is_returned_is_annotated():
    tree = syntax_tree("\n".join(f"#include <memarray/interop/{header}>" for header in TABLES), "c")
    found = [(match[1], tree[i + 1]) for i, line in enumerate(tree) if (match := RETURNS_REF.search(line))]
    assert len(found) > 30
    assert [name for name, attribute in found if '"memarray_give"' not in attribute] == []


def parameters(tree: list[str], function: str) -> Iterator[tuple[str, str, str]]:
    """Yields (function, type of the parameter, annotation of the parameter)."""
    name = ""
    for line, after in zip(tree, [*tree[1:], ""], strict=True):
        if match := re.search(rf"{function} .* (\w+) '", line):
            name = match[1]
        if match := re.search(r"ParmVarDecl .* '([^']*)'", line):
            word = re.search(r'AnnotateAttr .* "memarray_(\w+)"', after)
            yield name, match[1], word[1] if word else ""


def expected(kind: str, name: str) -> str:
    if "Resource *" in kind:
        return "take" if name == "PyResource_Close" else "give"
    return "take" if kind == "MemArrayOwner" or TAKES.fullmatch(name) else "keep"


@needs_clang
def test_every_parameter_of_the_tables_is_annotated(tmp_path):
    """clang drops annotations in pointers to functions, so its input is C++ structs with member functions instead."""
    for file in TABLES:
        text = (INTEROP / file).read_text().replace("void* owner", "MemArrayOwner owner")
        text = text.replace("typedef struct", "typedef void* MemArrayOwner;\ntypedef struct", 1)
        (tmp_path / "memarray" / "interop").mkdir(parents=True, exist_ok=True)
        (tmp_path / "memarray" / "interop" / file).write_text(re.sub(r"\(\*(\w+)\)\(", r"\1(", text))
    tree = syntax_tree("\n".join(f"#include <memarray/interop/{file}>" for file in TABLES), "c++", f"-I{tmp_path}")
    found = [
        (name, kind, word)
        for name, kind, word in parameters(tree, "CXXMethodDecl")
        if re.search(r"Ref$|Owner$|Resource \*", kind)
    ]
    assert len(found) > 90
    assert {word for _, _, word in found} == {"give", "take", "keep"}
    assert [at for at in found if at[2] != expected(at[1], at[0])] == []


@needs_clang
def test_every_parameter_of_py_resource_is_annotated():
    source = "#include <Python.h>\n#include <memarray/interop/py_resource.h>\n"
    tree = syntax_tree(source, "c", f"-I{sysconfig.get_path('include')}")
    found = [
        (name, kind, word)
        for name, kind, word in parameters(tree, "FunctionDecl")
        if re.fullmatch(r"\w+Res|PyResource_Close|memarray_keep_", name) and re.match(r"Py(Object|Resource) \*", kind)
    ]
    assert len(found) > 15
    assert [at for at in found if at[2] != expected(at[1], at[0])] == []
