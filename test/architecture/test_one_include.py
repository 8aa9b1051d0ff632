"""`<memarray/memarray.hpp>` declares everything in docs/reference/cpp.rst from the layers below interop."""

from __future__ import annotations

import re
from pathlib import Path

from public_names import documented_names, name_of, names_without_comment, public_text

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
LAYERS = ("base", "driver", "memory", "strided", "state", "view", "array", "kernel")
USES = ROOT / "test" / "cpp" / "array" / "test_one_include.cpp"


def shown() -> dict[str, Path]:
    return {
        name: path
        for layer in LAYERS
        for path in sorted((INCLUDE / "memarray" / layer).glob("*.hpp"))
        for name in documented_names(path)
    }


def included(name: str, seen: set[str]) -> set[str]:
    if name not in seen:
        seen.add(name)
        for other in re.findall(r"#include <(memarray/[^>]+)>", (INCLUDE / name).read_text(encoding="utf-8")):
            if (INCLUDE / other).exists():
                included(other, seen)
    return seen


def test_every_header_on_the_page_is_included():
    given = included("memarray/memarray.hpp", set())
    missing = {path.relative_to(INCLUDE).as_posix() for path in shown().values()} - given
    assert missing == set(), "include them in memarray.hpp"


def test_every_name_on_the_page_is_used_through_the_one_include():
    text = USES.read_text(encoding="utf-8")
    used = set(re.findall(r"using memarray::(?:\w+::)*(\w+);|#ifndef (\w+)", text))
    assert set(shown()) - {one or other for one, other in used} == set(), f"use them in {USES.name}"
    assert re.findall(r"#include <(memarray/.*)>", text) == ["memarray/memarray.hpp"]


#: Headers that only include others.
COLLECTIONS = {"memarray.hpp", "c_api.h"}
PUBLIC_NAME = re.compile(r"#define MEMARRAY_\w+|\b(?:class|struct|enum|using|concept|typedef) \w+|\b\w+\(")


def declares_a_public_name(text: str) -> bool:
    return bool(PUBLIC_NAME.search(public_text(text)))


def test_every_header_outside_detail_declares_a_public_name():
    public = [path for path in (INCLUDE / "memarray").rglob("*.h*") if "detail" not in path.parts]
    without = {path.name for path in public if not declares_a_public_name(path.read_text(encoding="utf-8"))}
    assert len(public) > 60
    assert without == COLLECTIONS, "move them to memarray/detail/"


def test_public_headers_reach_every_header_of_detail():
    headers = {path.relative_to(INCLUDE).as_posix() for path in (INCLUDE / "memarray").rglob("*.h*")}
    internal = {name for name in headers if "/detail/" in name}
    reached: set[str] = set()
    for name in headers - internal:
        included(name, reached)
    assert len(internal) > 40
    assert internal - reached == set(), "move them to src/"


def test_every_public_header_and_name_has_a_comment():
    public = [path for path in (INCLUDE / "memarray").rglob("*.h*") if "detail" not in path.parts]
    texts = {path: path.read_text(encoding="utf-8") for path in public}
    assert [path.name for path, text in texts.items() if "//" not in text] == []
    commented = {name for path in public if path.suffix == ".hpp" for name in documented_names(path)}
    without = {name for text in texts.values() for name in names_without_comment(text)} - commented
    assert without == set(), "say what they are in a comment"


def test_names_without_a_comment_are_found():
    text = (
        "#pragma once\n\n#define MEMARRAY_X 1\n\nnamespace memarray {\n\nclass Forward;\n\n"
        "template <class T>\nstruct Plain {\n  int member();\n\n  int other();\n};\n\n"
        "/// A pair.\nstruct Pair {};\nint first();\n\nMEMARRAY_API int second(int x) noexcept;\nusing Third = int;\n\n"
        "namespace detail {\n\nint inner();\n\n}  // namespace detail\n\n}  // namespace memarray\n"
    )
    assert names_without_comment(text) == {"MEMARRAY_X", "Plain", "second", "Third"}


INTERNAL = """#pragma once
#include <array>

namespace memarray {

namespace detail {

inline int twice(int x) {
  return 2 * x;
}

class State;

}  // namespace detail

}  // namespace memarray
"""


def test_headers_without_a_public_name_are_found():
    assert not declares_a_public_name(INTERNAL)
    assert not declares_a_public_name(
        "namespace memarray::detail {\n\nclass State;\n\n}  // namespace memarray::detail\n"
    )
    assert not declares_a_public_name("namespace memarray {\nnamespace detail {\nclass State;\n}\n}\n")
    assert declares_a_public_name("namespace memarray {\n\nclass Lease {\n};\n}\n")
    assert declares_a_public_name(
        INTERNAL.replace("}  // namespace memarray", "class Lease;\n}  // namespace memarray")
    )


SPELLED = re.compile(r"\bmemarray::detail::|(?<!:)\bdetail::(?!dtype_traits)")


def test_no_program_of_a_user_spells_an_internal_name():
    programs = [*(ROOT / "examples").rglob("*.*"), *(ROOT / "test" / "downstream").rglob("*.*")]
    pages = [ROOT / "README.md", *(ROOT / "docs" / "guide").glob("*.md")]
    sources = [path for path in programs if path.suffix in {".cpp", ".hpp", ".cu", ".c"} and "build" not in path.parts]
    assert len(sources) > 20 and len(pages) > 15
    spelled = {path.name for path in [*sources, *pages] if SPELLED.search(path.read_text(encoding="utf-8"))}
    assert spelled == set(), "make what they need public"


def test_internal_names_are_found_in_programs():
    for text in ("memarray::detail::ArrayState& s", "detail::Acquisition a"):
        assert SPELLED.search(text)
    for text in ("pybind11::detail::type_caster<T>", "py::detail::x", "`detail::dtype_traits<T>` of nanobind"):
        assert not SPELLED.search(text)


def test_names_are_found_in_declarations():
    assert (
        name_of("template <class T>\n  requires Element<std::complex<T>>\nstruct dtype_traits<C<T>> : X")
        == "dtype_traits"
    )
    assert name_of("[[nodiscard]] MEMARRAY_API std::span<BuildFact const> build_info() noexcept") == "build_info"
    assert name_of("template <class R>\nconcept IsMemoryResource = requires(R& r) { r; }") == "IsMemoryResource"
    assert name_of("inline constexpr std::size_t default_alignment = 64") == "default_alignment"
    assert name_of("using Timeout = std::optional<std::chrono::nanoseconds>") == "Timeout"
    assert name_of("#define MEMARRAY_DTYPE(...)") == "MEMARRAY_DTYPE"


def test_the_page_of_moved_headers_names_headers_that_exist():
    page = (ROOT / "docs" / "moved_headers.md").read_text(encoding="utf-8")
    moved = re.findall(r"^\| `(memarray/\S+)` \| `(memarray/\S+)` \|$", page, re.MULTILINE)
    assert len(moved) > 60
    assert [old for old, _ in moved if (INCLUDE / old).exists()] == []
    assert [new for _, new in moved if not (INCLUDE / new).exists()] == []
