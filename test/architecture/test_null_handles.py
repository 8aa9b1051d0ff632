"""Every function that takes a handle has an entry in the sweep with null handles.

An entry of driver/ or memory/ is an exported function, with its handles. An entry of kernels and views is a function
that users give a stream, with the parameters before it.
"""

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
STREAM = r"\b(?:StreamOrLaunch|StreamChoice|StreamHandle|On) const&"
NESTED = r"(?:[^()]|\([^()]*\))*"
WITH_STREAM = re.compile(
    rf"\b(\w+)\(({NESTED}{STREAM}{NESTED})\)(?: const)?(?: noexcept)? ?(= delete;|[:{{;]| requires)"
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


def functions_with_streams(text: str) -> set[str]:
    """Returns name and types of the parameters before the stream of each public function that takes one."""
    text = re.sub(r"namespace detail \{.*?\}  // namespace detail", "", text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"\s+", " ", re.sub(r"\n private:.*?\n\};", "", text, flags=re.DOTALL))
    found = set()
    for name, parameters, after in WITH_STREAM.findall(text):
        before = re.split(STREAM, parameters)[0]
        if after != "= delete;" and name != "StreamOrLaunch":  # the parameter's own constructor
            types = re.findall(r"(?:^|, )(?:[a-z]+::)*(\w+)", re.sub(r"<[^<>]*>", "", before))
            found.add(f"{name}({', '.join(types)})")
    return found


def test_every_function_with_a_stream_is_in_the_null_sweep():
    sweep = TESTS / "kernel" / "test_null_streams.cpp"
    swept = set(re.findall(r'^      \{"([^"]+)"', sweep.read_text(), re.MULTILINE))
    headers = [path for layer in ("array", "kernel", "state", "view") for path in INCLUDE.glob(f"{layer}/**/*.hpp")]
    declared_there = set().union(*(functions_with_streams(path.read_text()) for path in headers))
    assert swept == declared_there


def test_functions_with_streams_are_parsed_from_headers():
    text = """
    namespace detail {
    void launch(StreamOrLaunch const& on);
    }  // namespace detail

    template <std::size_t ndim, class F, class... Access>
    void visit(Index const (&shape)[ndim], std::pair<int, F> const& f, StreamOrLaunch const& on, Access... accesses) {
      if (on.stream) return;
    }
    template <class On>
    [[nodiscard]] int total(MemArray<T, ndim> const& array, On const& on, int init = int());
    Mistake total(MemArray<T, ndim> const&, StreamOrLaunch const&) = delete;
    class Held {
     public:
      Held(StreamOrLaunch const& on, Access const&... accesses) : _stream(on.stream) {}
      StreamHandle const& stream() const;
      Held with(StreamHandle const& other) const;

     private:
      void hidden(StreamHandle const& stream);
    };
    """
    assert functions_with_streams(textwrap.dedent(text)) == {
        "visit(Index, pair)",
        "total(MemArray)",
        "Held()",
        "with()",
    }


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
