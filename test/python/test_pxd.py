"""`memarray/__init__.pxd` declares for Cython what the headers declare for C."""

import re
from pathlib import Path

import memarray
import pytest
from c_api_headers import PARTS, body_of, declarations, header

PXD = Path(memarray.__file__).parent / "__init__.pxd"
STRUCTS = [("c_api.h", "MemArrayAPI"), *PARTS.values()]
MEMBER = re.compile(r"^ {8}(?P<result>.+?) ?\(\*(?P<name>\w+)\)\((?P<parameters>.*)\) (?P<ends>noexcept.*|except .*)$")
POINTER = re.compile(r"^ {8}const (?P<struct>\w+)\* (?P<name>\w+)$")


def as_c(cython_type):
    """Returns the type as the headers write it: `const char*` is `char const*` there."""
    return re.sub(r"^const ([\w ]+?)\*", r"\1 const*", cython_type)


def members(struct):
    """Returns the members of a struct of functions in the headers' form, each with its exception and GIL clauses."""
    text = PXD.read_text().split(f"    ctypedef struct {struct}:\n")[1].split("        size_t size\n")[1]
    found = []
    for line in text.split("\n\n")[0].split("\n"):
        if pointer := POINTER.match(line):
            found.append((("part", pointer["name"], (pointer["struct"],)), ""))
            continue
        member = MEMBER.match(line)
        assert member, f"not understood: {line}"
        parameters = member["parameters"].split(", ") if member["parameters"] else []
        types = tuple(as_c(re.sub(r"\s*\b\w+$", "", parameter)) for parameter in parameters)
        found.append(((as_c(member["result"]), member["name"], types), member["ends"]))
    return found


@pytest.mark.parametrize(("file", "struct"), STRUCTS)
def test_struct_members_match_the_header(file, struct):
    assert [member for member, _ in members(struct)] == declarations(header(file), struct)


def need_the_gil(file, struct):
    """Returns the functions whose comment contains "With the GIL"."""
    found, comment = set(), ""
    for line in map(str.strip, body_of(header(file), struct).split("\n")):
        if line.startswith("///"):
            comment += line
        elif function := re.search(r"\(\*(\w+)\)", line):
            if "With the GIL" in comment:
                found.add(function[1])
            comment = ""
    return found


def test_gil_requirements_match_the_header():
    every = [member for _, struct in STRUCTS for member in members(struct)]
    needed = {name for (_, name, _), ends in every if ends and "nogil" not in ends}
    assert needed == set().union(*(need_the_gil(file, struct) for file, struct in STRUCTS))
    assert {"raise_last_error", "hold_object", "array_as_pointer", "array_to_object", "view_from_object"} <= needed


def test_every_type_and_error_code_is_declared():
    text = PXD.read_text()
    for found in re.findall(r"\bMemArray\w+Ref\b|\bMEMARRAY_\w+_ERROR\b|\bMEMARRAY_INTERRUPTED\b", header()):
        assert re.search(rf"\b{found}\b", text), found
    resource = header("py_resource.h")
    for function in re.findall(r"^static inline .*?\b(\w+(?:Res|_Close))\(", resource, re.MULTILINE):
        assert f" {function}(" in text, function
