"""``python -m memarray new NAME``: writes a new project, a copy of one that memarray's tests build and run."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
from collections.abc import Iterator
from pathlib import Path

from . import _core

TEMPLATE = "gray_scott"
#: Files that building and testing the example produces.
MADE = {"__pycache__", ".pytest_cache", "build"}
#: The edits of an option: (file, old text, which occurs once, new text).
Edit = tuple[str, str, str]
NANOBIND: tuple[Edit, ...] = (
    ("src/bindings.cpp", "<memarray/python/memarray.hpp>", "<memarray/python/nanobind.hpp>"),
    ("src/bindings.cpp", "namespace py = pybind11;", "namespace py = nanobind;"),
    ("src/bindings.cpp", "PYBIND11_MODULE(_core, module, py::mod_gil_not_used())", "NB_MODULE(_core, module)"),
    ("src/bindings.cpp", ".def_readonly(", ".def_ro("),
    ("CMakeLists.txt", "memarray_add_module(_core ", "memarray_add_module(_core NANOBIND FREE_THREADED "),
    ("requirements.txt", "pybind11>=3.1", "nanobind>=2.12"),
    ("pyproject.toml", "pybind11>=3.1", "nanobind>=2.12"),
)
#: All packages have one version, as the parts of nvcc must match.
TOOLKIT = " ".join(
    f'"nvidia-{part}==13.0.*"' for part in ("cuda-nvcc", "cuda-crt", "nvvm", "cuda-runtime", "cuda-cccl")
)
CUDA: tuple[Edit, ...] = (
    (
        "CMakeLists.txt",
        "find_package(memarray 0.1 CONFIG REQUIRED)",
        "find_package(memarray 0.1 CONFIG REQUIRED COMPONENTS CUDA)",
    ),
    ("CMakeLists.txt", "src/bindings.cpp src/simulation.cpp)", "src/bindings.cpp src/simulation.cu CUDA)"),
    ("CMakeLists.txt", "tests/test_simulation.cpp src/simulation.cpp)", "tests/test_simulation.cpp src/simulation.cu)"),
    ("README.md", "`src/simulation.cpp`", "`src/simulation.cu`"),
    # The workflow has nvcc but no GPU: nvcc compiles both memarray and the project.
    (
        ".github/workflows/tests.yml",
        "      - run: pip install memarray  # or from where yours comes: a wheel, a clone\n",
        f"      - run: pip install --target toolkit {TOOLKIT}\n"
        "      - run: ln -s lib toolkit/nvidia/cu13/lib64  # where nvcc looks\n"
        '      - run: echo "CUDACXX=$PWD/toolkit/nvidia/cu13/bin/nvcc" >> "$GITHUB_ENV"\n'
        "      # Not a wheel without CUDA; or from where yours comes: a wheel with it, a clone\n"
        "      - run: MEMARRAY_CUDA=ON pip install --no-binary memarray memarray\n",
    ),
)
NO_CYTHON: tuple[Edit, ...] = (
    ("requirements.txt", "cython>=3.1\n", ""),
    ("pyproject.toml", '"cython>=3.1", ', ""),
    ("README.md", "| `src/analysis.pyx` | loops in Cython over memory of any library |\n", ""),
)
CYTHON_FILES = ("src/analysis.pyx", "tests/test_analysis.py")
CYTHON_SECTION = re.compile(r"^ *# \[cython\]\n.*?^ *# \[/cython\]\n", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"^ *# \[/?cython\]\n", re.MULTILINE)


def template() -> Path:
    """Returns the project's folder in the package. The dot hides it from searches for modules."""
    return Path(_core.__file__).resolve().parent / ".project"


def files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not MADE & set(path.relative_to(folder).parts):
            yield path.relative_to(folder).as_posix()


def project(name: str, *, cuda: bool = False, cython: bool = False, nanobind: bool = False) -> dict[str, str]:
    """Returns the files of a project with that name: path, text."""
    source = template()
    made = {file: (source / file).read_text(encoding="utf-8") for file in files(source)}
    edits = (*(CUDA if cuda else ()), *(NANOBIND if nanobind else ()), *(() if cython else NO_CYTHON))
    for file, old, new in edits:
        if made[file].count(old) != 1:
            raise AssertionError(f"the project's {file} has {made[file].count(old)} times {old!r}")
        made[file] = made[file].replace(old, new)
    if not cython:
        for file in CYTHON_FILES:
            del made[file]
    marks = MARKER if cython else CYTHON_SECTION
    if cuda:
        made["src/simulation.cu"] = made.pop("src/simulation.cpp")
    return {file.replace(TEMPLATE, name): marks.sub("", text).replace(TEMPLATE, name) for file, text in made.items()}


def complaint(name: str, folder: Path) -> str | None:
    """Returns the reason why there cannot be a project with that name there, or None."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name.endswith("_") or "__" in name:
        return f"{name!r} is not a valid module name: use small letters, digits and single underscores, a letter first"
    if keyword.iskeyword(name):
        return f"{name!r} is a keyword of Python: choose another name"
    if importlib.util.find_spec(name) is not None and not folder.exists():
        return f"there is a Python module {name!r} already, which would hide the new one: choose another name"
    if folder.exists():
        return f"{folder} exists already: choose another name, or another folder with --into"
    return None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m memarray new",
        description="Write a project that owns its arrays in C++ and shows them to Python: source, bindings, tests in "
        "C++ and Python, and the files that build them. It builds and passes its tests as it is.",
    )
    parser.add_argument("name", help="name of the project and its Python module, such as my_simulation")
    parser.add_argument(
        "--cuda", action="store_true", help="compile the simulation with nvcc; memarray needs CUDA, too"
    )
    parser.add_argument("--cython", action="store_true", help="with a module in Cython, too")
    parser.add_argument("--nanobind", action="store_true", help="bind with nanobind instead of pybind11")
    parser.add_argument("--into", type=Path, default=Path(), metavar="FOLDER", help="where to put it (here)")
    options = parser.parse_args(arguments)
    folder = options.into / options.name
    if wrong := complaint(options.name, folder):
        parser.error(wrong)
    if options.cuda and _core.build_info()["flavour"] != "cuda":
        parser.error(
            "--cuda: this memarray was built without CUDA; install it again where nvcc is, with MEMARRAY_CUDA=ON"
        )
    made = project(options.name, cuda=options.cuda, cython=options.cython, nanobind=options.nanobind)
    for file, text in made.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    commands = re.search(r"^```sh\n(.*?)^```", made["README.md"], re.MULTILINE | re.DOTALL)
    assert commands
    print(f"{folder}: {len(made)} files. Next:\n\n  cd {folder}")
    print("".join(f"  {line}\n" for line in commands[1].splitlines()), end="")
    return 0
