"""Every exported function that takes a handle has an entry in the sweep with null handles."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "memarray"
TESTS = ROOT / "test" / "cpp"
DECLARATION = re.compile(
    r"\b([A-Za-z_]\w*)\(([^()]*?(?:Handle|BoundStream)\b[^()]*?)\)\s*(?:const\s*)?(?:noexcept)?\s*;"
)
PARAMETER = re.compile(r"\b(\w+Handle|BoundStream)\b")


def signatures(text: str) -> set[str]:
    """Returns name and handle parameters of each exported declaration, also of public members of exported classes."""
    text = re.sub(r"//[^\n]*", "", text)
    exported = [("", found) for found in re.findall(r"(?<!class )(?<!struct )MEMARRAY_API [^;]*;", text)]
    for name, body in re.findall(r"(?:class|struct) MEMARRAY_API (\w+)[^{]*\{(.*?)\n\};", text, re.DOTALL):
        public = re.split(r"\n (?:private|protected):", body)[0]
        exported += [(name, line + ";") for line in public.split(";")]
    found = set()
    for owner, declaration in exported:
        for name, parameters in DECLARATION.findall(re.sub(r"\s+", " ", declaration)):
            if f"{name}({name} const&)" in declaration:
                continue
            scope = f"{owner}::" if owner not in ("", name) else ""
            found.add(f"{scope}{name}({', '.join(PARAMETER.findall(parameters))})")
    return found


def declared(layer: str) -> set[str]:
    found = set().union(*(signatures(path.read_text()) for path in INCLUDE.glob(f"**/{layer}/*.hpp")))
    # `bind_stream` refuses null for the functions of memory/.
    return found if layer == "driver" else {each for each in found if "Handle" in each.partition("(")[2]}


@pytest.mark.parametrize("layer", ["driver", "memory"])
def test_every_function_with_a_handle_is_in_the_null_sweep(layer):
    sweep = TESTS / layer / "test_null_handles.cpp"
    swept = set(re.findall(r'^      \{"([^"]+)"', sweep.read_text(), re.MULTILINE))
    assert declared(layer) - swept == set(), f"add them to {sweep.relative_to(ROOT)}"
    assert swept - declared(layer) == set(), "no header declares them"
    assert swept


def test_functions_with_handles_are_parsed_from_headers():
    text = """
    [[nodiscard]] MEMARRAY_API int device_id_of(ContextHandle const& context) noexcept;
    [[nodiscard]] MEMARRAY_API bool record(EventHandle const& event,
                                           StreamHandle stream = {}) noexcept;
    class MEMARRAY_API Scope {
     public:
      explicit Scope(ContextHandle const& context) noexcept;
      void enter(StreamHandle const& stream, std::size_t bytes = 1);

     private:
      void leave(StreamHandle const& stream);
    };
    [[nodiscard]] bool internal(StreamHandle const& stream) noexcept;
    [[nodiscard]] MEMARRAY_API StreamHandle default_stream() noexcept;
    """
    assert signatures(textwrap.dedent(text)) == {
        "device_id_of(ContextHandle)",
        "record(EventHandle, StreamHandle)",
        "Scope(ContextHandle)",
        "Scope::enter(StreamHandle)",
    }
