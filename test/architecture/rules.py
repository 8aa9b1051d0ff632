"""The rules of the tree, each a function from its root to the violations found, in words."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

LAYERS = ("base", "resource", "memory", "array", "interop", "python")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
PYTHON_HEADERS = re.compile(r"^(Python|structmember|frameobject|datetime)\.h$|^(numpy|cpython)/")
# The two places outside the python layer that may see Python.
MAY_SEE_PYTHON = re.compile(r"^(include/memarray|src)/(python/|interop/(c_api|py_resource)\.)|^python/bindings/")
MAY_SEE_PYBIND11 = re.compile(r"^(include/memarray|src)/python/|^python/bindings/")
MAY_SEE_THRUST = re.compile(r"^src/memory/|^include/memarray/(memory/thrust_\w+|thrust)\.hpp$")
TOOLKIT_HEADERS = re.compile(r"^(cuda|cuda_runtime|cuda_runtime_api|cudaTypedefs|driver_types)\.h$")
# Of the public headers only the one that nvcc alone compiles.
MAY_SEE_THE_TOOLKIT = re.compile(r"^src/|^include/memarray/array/launch_device\.hpp$")
# Folders of a particular machine; relative ones and CUDA's usual prefixes are nobody's.
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9_.$}])(/(?:work|root|tmp|home|farm)/\S*)", re.MULTILINE)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
LINE_LIMIT = 400


def code(root: Path) -> Iterator[tuple[str, Path]]:
    """The C++ and CUDA files of the library, as (path relative to the root, path)."""
    for top in ("include", "src", "python/bindings"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in {".hpp", ".h", ".cpp", ".cu", ".cuh", ".in"}:
                yield path.relative_to(root).as_posix(), path


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


def layer_of(name: str) -> str | None:
    """The layer of a file, or of what an #include names; None for what stands above the layers."""
    if name.startswith("python/bindings/"):
        return "python"
    parts = re.sub(r"^(include/memarray|src|memarray)/", "", name).split("/")
    return parts[0] if len(parts) > 1 and parts[0] in LAYERS else None


def includes_only_go_up(root: Path) -> list[str]:
    wrong = []
    for name, path in code(root):
        layer = layer_of(name)
        for included in includes(path):
            other = layer_of(included)
            if layer and other and LAYERS.index(other) > LAYERS.index(layer):
                wrong.append(f"{name}: {layer} includes {included}")
            if layer and included in ("memarray/memarray.hpp", "memarray/thrust.hpp") and layer != "python":
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
    return _only_in(root, re.compile(r"^cub/"), re.compile(r"^src/.*\.cuh?$"))


def toolkit_headers_not_in_public_headers(root: Path) -> list[str]:
    return _only_in(root, TOOLKIT_HEADERS, MAY_SEE_THE_TOOLKIT)


def reached_from(root: Path, header: str) -> dict[str, str]:
    """Every #include that a public header brings, however far away, and the file that names it."""
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
    """What everyone includes must compile in little more than pybind11 takes."""
    return [
        f"{header} brings {included} (by {by})"
        for header in ("memarray/memarray.hpp", "memarray/python/memarray.hpp")
        for included, by in reached_from(root, header).items()
        if re.match(r"(thrust|cub)/", included)
    ]


def sources_have_their_header(root: Path) -> list[str]:
    wrong = []
    for name, path in code(root):
        if name.startswith("src/") and path.suffix == ".cpp":
            public = root / "include" / "memarray" / path.relative_to(root / "src").with_suffix(".hpp")
            if not public.exists() and not path.with_suffix(".hpp").exists():
                wrong.append(f"{name}: no header has its stem")
    return wrong


def tracked(root: Path) -> Iterator[tuple[str, str]]:
    """Every text file that is or would be committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    for name in sorted(filter(None, listed.split("\0"))):
        path = root / name
        if path.is_file():
            try:
                yield name, path.read_text()
            except UnicodeDecodeError:
                continue


def no_machine_paths(root: Path) -> list[str]:
    return [
        f"{name}: {found}"
        for name, text in tracked(root)
        if not name.endswith(".in")
        for found in MACHINE_PATH.findall(text)
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
        if name.endswith(suffixes) and text.count("\n") > LINE_LIMIT
    ]


RULES = (
    includes_only_go_up,
    python_only_where_allowed,
    pybind11_only_where_allowed,
    thrust_only_where_allowed,
    cub_only_in_device_code,
    toolkit_headers_not_in_public_headers,
    one_include_brings_no_thrust,
    sources_have_their_header,
    no_machine_paths,
    no_unfinished_work,
    files_are_short,
)
