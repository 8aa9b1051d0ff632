"""Every exported function that takes a handle has an entry in the sweep with null handles."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include" / "memarray").glob("**/driver/*.hpp"))
SWEEP = ROOT / "test" / "cpp" / "driver" / "test_null_handles.cpp"
DECLARATION = re.compile(
    r"\b([A-Za-z_]\w*)\(([^()]*?(?:Handle|BoundStream)\b[^()]*?)\)\s*(?:const\s*)?(?:noexcept)?\s*;"
)
PARAMETER = re.compile(r"\b(\w+Handle|BoundStream)\b")


def signatures(text: str) -> set[str]:
    """Returns name and handle parameters of each exported declaration; members of an exported class are exported."""
    text = re.sub(r"//[^\n]*", "", text)
    exported = re.findall(r"MEMARRAY_API [^;]*;", text)
    for body in re.findall(r"(?:class|struct) MEMARRAY_API \w+[^{]*\{(.*?)\n\};", text, re.DOTALL):
        exported += [line + ";" for line in body.split(";")]
    found = set()
    for declaration in exported:
        for name, parameters in DECLARATION.findall(re.sub(r"\s+", " ", declaration)):
            if f"{name}({name} const&)" in declaration:
                continue
            found.add(f"{name}({', '.join(PARAMETER.findall(parameters))})")
    return found


def test_every_function_with_a_handle_is_in_the_null_sweep():
    declared = set().union(*(signatures(path.read_text()) for path in HEADERS))
    swept = set(re.findall(r'^      \{"([^"]+)"', SWEEP.read_text(), re.MULTILINE))
    assert declared - swept == set(), f"add them to {SWEEP.name}"
    assert swept - declared == set(), "no header declares them"


def test_functions_with_handles_are_parsed_from_headers():
    text = """
    [[nodiscard]] MEMARRAY_API int device_id_of(ContextHandle const& context) noexcept;
    [[nodiscard]] MEMARRAY_API bool record(EventHandle const& event,
                                           StreamHandle stream = {}) noexcept;
    class MEMARRAY_API Scope {
     public:
      explicit Scope(ContextHandle const& context) noexcept;
    };
    [[nodiscard]] bool internal(StreamHandle const& stream) noexcept;
    [[nodiscard]] MEMARRAY_API StreamHandle default_stream() noexcept;
    """
    assert signatures(text) == {
        "device_id_of(ContextHandle)",
        "record(EventHandle, StreamHandle)",
        "Scope(ContextHandle)",
    }
