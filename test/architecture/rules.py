"""The rules of the tree. Each is a function from the tree's root to descriptions of the violations."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

#: The layers, lowest first. A layer may include itself and those before it.
LAYERS = (
    *("base", "driver", "memory", "launch", "strided", "state", "view", "array", "kernel"),
    *("interop", "python"),
)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
PYTHON_HEADERS = re.compile(r"^(Python|structmember|frameobject|datetime)\.h$|^(numpy|cpython)/")
# The two places outside the python layer that may include Python.h.
MAY_SEE_PYTHON = re.compile(
    r"^(include/memarray(/detail)?|src)/(python/|interop/(c_api|py_resource)\.)|^python/bindings/"
)
MAY_SEE_PYBIND11 = re.compile(r"^(include/memarray(/detail)?|src)/python/|^python/bindings/")
ABOVE_THE_LAYERS = (
    *("memarray/memarray.hpp", "memarray/thrust.hpp", "memarray/cuda_mr.hpp", "memarray/gtest.hpp"),
    "memarray/c_api.h",
)
# Headers of CCCL that need the CUDA runtime's headers.
NEEDS_THE_RUNTIME = re.compile(r"^cuda/(memory_resource|stream_ref|stream|buffer|devices|event_ref)$")
#: The device code of reductions and scans, which nvcc alone compiles.
REDUCTIONS = r"^include/memarray/detail/kernel/(reduce|scan)_device\.cuh$"
MAY_SEE_THRUST = re.compile(rf"^src/memory/|^include/memarray/thrust\.hpp$|{REDUCTIONS}")
TOOLKIT_HEADERS = re.compile(r"^(cuda|cuda_runtime|cuda_runtime_api|cudaTypedefs|driver_types)\.h$")
# The sources, and the one header that only nvcc compiles.
MAY_SEE_THE_TOOLKIT = re.compile(r"^src/|^include/memarray/detail/launch/launch_device\.hpp$")
SET_UP = ["pip install '.[demo]' && python -m memarray demo", "./test/run"]
# Work that belongs in a kernel; the examples show how to avoid it.
BY_HAND = re.compile(r"(?:\.|->)ptr\(|\bmem(?:cpy|move|set)\(|\bstd::copy(?:_n)?\(")
# Public headers without a test of the same stem, and the file that tests them.
TESTED_IN = {
    "array/access": "kernel/test_for_each_index.cpp",  # arguments of kernels: read(a), write(a), …
    "base/build_info": "base/test_options.cpp",  # tested through Python
    "base/config": "base/test_dtype.cpp",  # macros
    "base/cuda_complex": "base/test_dtype.cpp",  # names of types
    "interop/py_resource": "python/py_resource.cpp",  # a module for test/python/test_py_resource.py
    "memory/memory_type": "memory/test_resource.cpp",
    "state/array_options": "array/test_host_resources.cpp",
}
# Waits outside the allowed files would not be counted, and tests could not drop them.
ORDERING_CALL = re.compile(
    r"(?:->|\.)\s*(cu(?:StreamWaitEvent|EventSynchronize|StreamSynchronize|CtxSynchronize|EventRecord))\b"
)
MAY_ORDER = re.compile(r"^src/driver/(stream_order\.cpp$|simulated/)")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
LINE_LIMIT = 400

#: `derived` makes a view for every slice: nothing in it throws, and a PyRef would check the GIL.
HOLDS_BY_HAND = ("python/bindings/view/view_object.hpp",)


def code(root: Path) -> Iterator[tuple[str, Path]]:
    """Yields the C++ and CUDA files of the library, as (path relative to the root, path)."""
    for top in ("include", "src", "python/bindings"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in {".hpp", ".h", ".cpp", ".cu", ".cuh", ".in"}:
                yield path.relative_to(root).as_posix(), path


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


def layer_of(name: str) -> str | None:
    """Returns the layer of a file or an included header; None for headers above the layers."""
    if name.startswith("python/bindings/"):
        return "python"
    parts = re.sub(r"^(include/memarray|src|memarray)/(detail/)?", "", name).split("/")
    return parts[0] if len(parts) > 1 and parts[0] in LAYERS else None


def includes_only_go_up(root: Path) -> list[str]:
    wrong = []
    for name, path in code(root):
        layer = layer_of(name)
        for included in includes(path):
            other = layer_of(included)
            if layer and other and LAYERS.index(other) > LAYERS.index(layer):
                wrong.append(f"{name}: {layer} includes {included}")
            if layer and included in ABOVE_THE_LAYERS and layer != "python":
                wrong.append(f"{name}: includes {included}, which stands above the layers")
    return wrong


def _only_in(root: Path, headers: re.Pattern[str], allowed: re.Pattern[str]) -> list[str]:
    return [
        f"{name}: includes {included}"
        for name, path in code(root)
        if not allowed.search(name)
        for included in includes(path)
        if headers.search(included)
    ]


def python_only_where_allowed(root: Path) -> list[str]:
    return _only_in(root, PYTHON_HEADERS, MAY_SEE_PYTHON)


def pybind11_only_where_allowed(root: Path) -> list[str]:
    return _only_in(root, re.compile(r"^pybind11/"), MAY_SEE_PYBIND11)


def thrust_only_where_allowed(root: Path) -> list[str]:
    return _only_in(root, re.compile(r"^thrust/"), MAY_SEE_THRUST)


def cub_only_in_device_code(root: Path) -> list[str]:
    return _only_in(root, re.compile(r"^cub/"), re.compile(rf"^src/.*\.cuh?$|{REDUCTIONS}"))


def toolkit_headers_not_in_public_headers(root: Path) -> list[str]:
    return _only_in(root, TOOLKIT_HEADERS, MAY_SEE_THE_TOOLKIT)


def the_runtime_only_by_choice(root: Path) -> list[str]:
    return _only_in(root, NEEDS_THE_RUNTIME, re.compile(r"^include/memarray/cuda_mr\.hpp$"))


def reached_from(root: Path, header: str) -> dict[str, str]:
    """Returns every header that a public header includes, directly or not, and the file that includes it."""
    seen: dict[str, str] = {}
    waiting = [header]
    while waiting:
        name = waiting.pop()
        path = root / "include" / name
        for included in includes(path) if path.is_file() else ():
            if included not in seen:
                seen[included] = name
                waiting.append(included)
    return seen


def one_include_brings_no_thrust(root: Path) -> list[str]:
    """The headers that all users include must compile in little more time than pybind11 itself. nvcc alone compiles a
    .cuh."""
    return [
        f"{header} brings {included} (by {by})"
        for header in ("memarray/memarray.hpp", "memarray/python/memarray.hpp")
        for included, by in reached_from(root, header).items()
        if re.match(r"(thrust|cub)/", included) and not by.endswith(".cuh")
    ]


def c_headers_stand_alone(root: Path) -> list[str]:
    """Headers for C include only other such headers. Code that needs Python.h includes it first."""
    return [
        f"{name}: includes {included}"
        for name, path in code(root)
        if name.startswith("include/") and path.suffix == ".h"
        for included in includes(path)
        if included not in ("stddef.h", "stdint.h") and not re.fullmatch(r"memarray/interop/\w+\.h", included)
    ]


def streams_are_ordered_in_one_place(root: Path) -> list[str]:
    return [
        f"{name}: {found}"
        for name, path in code(root)
        if not MAY_ORDER.search(name)
        for found in ORDERING_CALL.findall(path.read_text())
    ]


def sources_have_their_header(root: Path) -> list[str]:
    wrong = []
    for name, path in code(root):
        if name.startswith("src/") and path.suffix == ".cpp":
            inside = path.relative_to(root / "src")
            public, detail = root / "include/memarray" / inside, root / "include/memarray/detail" / inside
            headers = (
                *(public.with_suffix(end) for end in (".hpp", ".h")),
                *(it.with_suffix(".hpp") for it in (detail, path)),
            )
            if not any(header.exists() for header in headers):
                wrong.append(f"{name}: no header has its stem")
    return wrong


def headers_have_their_test(root: Path) -> list[str]:
    wrong = []
    for name, path in code(root):
        layer = layer_of(name)
        if layer in (None, "python") or not name.startswith("include/memarray/") or "/detail/" in name:
            continue
        stem = f"{layer}/{path.stem}"
        test = TESTED_IN.get(stem, f"{layer}/test_{path.stem}.cpp")
        if not (root / "test" / "cpp" / test).exists():
            wrong.append(f"{name}: test/cpp/{test} is missing")
    return wrong


def tracked_files(root: Path) -> Iterator[tuple[str, str | None]]:
    """Yields name and text (None: not UTF-8) of every file that is committed or would be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    for name in sorted(filter(None, listed.split("\0"))):
        path = root / name
        if path.is_file():
            try:
                text = path.read_bytes().decode()
            except UnicodeDecodeError:
                text = None
            yield name, text


def tracked(root: Path) -> Iterator[tuple[str, str]]:
    """Yields name and text of every text file that is committed or would be."""
    return ((name, text) for name, text in tracked_files(root) if text is not None)


def files_are_text(root: Path) -> list[str]:
    """Only the inputs of the fuzz programs may be binary; downloads and build products are not committed."""
    return [
        name
        for name, text in tracked_files(root)
        if (text is None or "\0" in text) and not name.startswith("test/fuzz/corpus/")
    ]


def readme_has_two_set_up_commands(root: Path) -> list[str]:
    path = root / "README.md"
    blocks = re.findall(r"^```sh\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL) if path.exists() else []
    found = blocks[0].splitlines() if blocks else SET_UP
    return [] if found == SET_UP else [f"README.md: sets up by {found}, not by {SET_UP}"]


def new_references_are_held(root: Path) -> list[str]:
    """A local variable with a new reference is a PyRef, so that nothing leaks if a later line throws."""
    wrong = []
    for name, path in code(root):
        function = ""
        is_checked = name.startswith("python/bindings/") and name not in HOLDS_BY_HAND
        for line in path.read_text().splitlines() if is_checked else ():
            function = "" if line.startswith("}") else function + line + "\n"
            for dropped in re.findall(r"\bPy_(?:X?DECREF|CLEAR)\((\w+)\)", line):
                if re.search(rf"\* *(?:const )?{dropped} = (?!Py_TYPE\(|nullptr)", function):
                    wrong.append(f"{name}: {line.strip()}")
    return wrong


def examples_leave_loops_to_kernels(root: Path) -> list[str]:
    return [
        f"{name}: {found}"
        for name, text in tracked(root)
        if name.startswith("examples/") and name.endswith((".hpp", ".cpp", ".cu"))
        for found in BY_HAND.findall(text)
    ]


def no_unfinished_work(root: Path) -> list[str]:
    ours = ("include/", "src/", "python/", "examples/")
    return [
        f"{name}: {found}"
        for name, text in tracked(root)
        if name.startswith(ours)
        for found in UNFINISHED.findall(text)
    ]


def files_are_short(root: Path) -> list[str]:
    suffixes = (".hpp", ".h", ".cpp", ".cu", ".cuh", ".py", ".pyx", ".cmake")
    return [
        f"{name}: {text.count(chr(10))} lines, over {LINE_LIMIT}"
        for name, text in tracked(root)
        if name.endswith(suffixes) and not name.startswith("third_party/") and text.count("\n") > LINE_LIMIT
    ]


RULES = (
    includes_only_go_up,
    python_only_where_allowed,
    pybind11_only_where_allowed,
    thrust_only_where_allowed,
    cub_only_in_device_code,
    toolkit_headers_not_in_public_headers,
    the_runtime_only_by_choice,
    one_include_brings_no_thrust,
    c_headers_stand_alone,
    streams_are_ordered_in_one_place,
    sources_have_their_header,
    headers_have_their_test,
    readme_has_two_set_up_commands,
    new_references_are_held,
    examples_leave_loops_to_kernels,
    no_unfinished_work,
    files_are_short,
    files_are_text,
)
