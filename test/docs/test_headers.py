"""Tests of the header parser of the reference pages."""

import re
import sys

import pages
import pytest

sys.path.insert(0, str(pages.ROOT / "docs" / "site"))
sys.path.append(str(pages.ROOT / "test" / "python"))
from c_api_headers import PARTS, declarations

headers = pytest.importorskip("headers")

SAMPLE = """#pragma once

// What this is for.

#include <memory>

namespace mine {

struct Loose;

/// A point.
///
/// - of two numbers
struct Point {
  /// Across.
  double x = 0;
  double y = 0;  ///< up

  /// The distance from `other`,
  /// never below zero.
  [[nodiscard]] double distance(
      Point const& other) const {
    if (x == other.x) { return 0; }
    return 1;
  }
};

/// Owns it.
class Owner final : public Base {
  /// Nobody's business.
  int _secret;

 public:
  /// Makes one.
  explicit Owner(int number) : _secret(number) {}

 private:
  /// Neither.
  void hide();
};

namespace detail {
/// Not for users.
void inner();
}  // namespace detail

/// Adds.
template <class T>
  requires(sizeof(T) > 1)
T add(T left, T right);

}  // namespace mine
"""


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "sample.hpp"
    path.write_text(SAMPLE)
    return headers.read(path)


def test_public_declarations_are_read_with_comments(sample):
    words = [line for entry in sample.entries for line in entry.comment]
    assert not {"Nobody's business.", "Neither.", "Not for users."} & set(words)
    assert {"A point.", "Across.", "Owns it.", "Makes one.", "Adds."} <= set(words)
    scopes = {entry.declaration.split("(")[0].split()[-1]: entry.scope for entry in sample.entries}
    assert (scopes["distance"], scopes["Owner"], scopes["Point"]) == ("Point", "Owner", "")
    assert [line for line in sample.about if line] == ["// What this is for."]


def test_function_bodies_are_left_out(sample):
    distance = next(entry for entry in sample.entries if "distance" in entry.declaration)
    assert "return" not in distance.declaration and distance.declaration.endswith("const")
    assert "\n" in distance.declaration, "as it is written"
    inner = headers.shown(["  Target target() noexcept { return {_parts, _strides.data()}; }"])
    assert inner == "Target target() noexcept"


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("array/mem_array.hpp", ("class MemArray", "move_memory", "resize", "get_dlpack_tensor")),
        ("view/buffer_view.hpp", ("class BasicBufferView", "reshape", "to_device", "sum")),
        ("state/lease.hpp", ("struct LeaseOptions", "class ReadLease", "class WriteLease")),
        ("base/errors.hpp", ("class MEMARRAY_API LockError", "class MEMARRAY_API CudaError")),
        ("interop/c_api.h", ("create_stream", "get_primary_context", "hold_object", "drop_object", "raise_last_error")),
        ("interop/c_api.h", ("enum MemArrayErrorCode", "memarray_import", "memarray_c_api", r"const\* memarray_api")),
        ("interop/c_arrays.h", ("create_array", "write_array", "lease_data")),
        ("interop/py_resource.h", ("PyResource_Close", "MemArray_AsPointerRes")),
        ("base/dtype.hpp", ("define MEMARRAY_DTYPE",)),
        ("python/nanobind.hpp", ("initialize", "bind_mem_array")),
    ],
)
def test_public_names_are_found_in_header(header, names):
    declared = "\n".join(entry.declaration for entry in headers.read(headers.INCLUDE / header).entries)
    for name in names:
        assert re.search(rf"\b{name}\b", declared), (name, declared)


def missing(path, struct):
    """Returns the entries of a table of the C API that the reference lacks."""
    shown = "\n".join(entry.declaration for entry in headers.read(path).entries if entry.scope == struct)
    names = [name for _, name, _ in declarations(path.read_text(), struct)]
    return [name for name in names if not re.search(rf"\(\*{name}\)\(|\* {name}$", shown, re.MULTILINE)]


@pytest.mark.parametrize(("file", "struct"), [("c_api.h", "MemArrayAPI"), *PARTS.values()])
def test_every_table_entry_is_documented(file, struct, tmp_path):
    header = headers.INCLUDE / "interop" / file
    assert missing(header, struct) == []
    silent = tmp_path / file
    silent.write_text(re.sub(r"( *///[^\n]*\n)+(?=[^\n]*\(\*retain_)", "\n", header.read_text()))
    retain = re.findall(r"\(\*(retain_\w+)", header.read_text())
    assert missing(silent, struct) == retain != []


HEADERS = sorted(headers.INCLUDE.rglob("*.h*"))


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.relative_to(headers.INCLUDE).as_posix())
def test_every_header_is_parsed_completely(path):
    assert headers.read(path).left == []


@pytest.mark.parametrize("last", ["B  ///< the last; no comma", "B  // it }; is", "B = '}'  ///< '"])
def test_the_last_enumerator_needs_no_comma(last, tmp_path):
    path = tmp_path / "sample.h"
    enumeration = f"enum Which {{\n  A,  ///< the first\n  {last}\n}};"
    path.write_text(f"// About.\n\n/// Which.\n{enumeration}\n\n/// Adds.\nint add(void);\n")
    header = headers.read(path)
    assert ([entry.declaration for entry in header.entries], header.left) == (["enum Which", "int add(void)"], [])


def test_unterminated_declaration_is_reported(tmp_path):
    path = tmp_path / "sample.h"
    path.write_text("struct Open {\n  int a;\n  int b\n")
    assert headers.read(path).left == ["  int b", "Open"]


def test_declarations_are_complete():
    """Parentheses close, and declarations have no private members."""
    for path in HEADERS:
        for entry in headers.read(path).entries:
            assert entry.declaration.count("(") == entry.declaration.count(")"), (path, entry.declaration)
            assert len(entry.declaration.splitlines()) < 14, (path, entry.declaration)
            assert not re.search(r"\b_[a-z]\w*;", entry.declaration), (path, entry.declaration)
