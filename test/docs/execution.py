"""Execution of the blocks of a page; `python execution.py PAGE` runs one page in the current folder."""

from __future__ import annotations

import doctest
import functools
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import shell

MAIN = re.compile(r"\bint main\(")
GOOGLETESTS = re.compile(r"^TEST(_F|_P)?\(", re.MULTILINE)


def package_folder() -> Path:
    """Returns the folder with the headers and libmemarray: that of the built module."""
    import memarray

    return Path(memarray._core.__file__).parent


@functools.cache
def is_there(name: str) -> bool:
    """True if the name is that of a Python module, a program, or a header that g++ finds, such as `cblas.h`."""
    if re.fullmatch(r"\w+", name):
        return bool(importlib.util.find_spec(name) or shutil.which(name))
    command = ["g++", "-fsyntax-only", "-x", "c++", "-include", name, "/dev/null"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(command: list, shown: str, folder: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, f"{shown}\n{done.stdout}{done.stderr}"


def run_program(source: str, folder: Path, name: str) -> None:
    (folder / f"{name}.cpp").write_text(source)
    package = package_folder()
    # With relative paths and a separate link step, ccache recognizes the program in the next run's folder.
    command = [*compiler(), "-std=c++20", "-Wall", "-Wextra", "-Wno-unused", "-c", f"{name}.cpp"]
    command += [f"-I{package}/include", f"-I{package}/include/cccl"]
    command += ["-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP", "-DMEMARRAY_HAS_CUDA=0", "-pthread"]
    run(command, source, folder)
    command = ["g++", f"{name}.o", "-o", name, f"-L{package}/lib", f"-Wl,-rpath,{package}/lib"]
    command += ["-lmemarray", "-pthread"]
    if GOOGLETESTS.search(source):
        command += ["-lgtest_main", "-lgtest"]
    run(command, source, folder)
    run([folder / name], source, folder)


def compiler() -> list[str]:
    """Returns the command of the compiler, with ccache where there is one."""
    return ["ccache", "g++"] if shutil.which("ccache") else ["g++"]


def build_project(folder: Path) -> None:
    """Builds the page's project as written so far, and makes its modules importable."""
    build = folder / "build"
    config = package_folder() / "lib" / "cmake" / "memarray"
    options = [f"-Dmemarray_DIR={config}", f"-DPython_EXECUTABLE={sys.executable}"]
    if (folder / "CMakePresets.json").exists():
        run(["cmake", "--preset", "test", *options], "cmake --preset test", folder)
        run(["cmake", "--build", "--preset", "test"], "cmake --build --preset test", folder)
        sys.path.insert(0, str(build / "test" / "python"))
        return
    run(["cmake", "-S", folder, "-B", build, "-G", "Ninja", *options], "cmake -S . -B build", folder)
    run(["cmake", "--build", build], "cmake --build build", folder)
    sys.path.insert(0, str(build))


def run_shell(block: pages.Block, folder: Path) -> bool:
    """Runs the lines of the block. Returns True if they built the page's project."""
    built = [shell.run_line(line, folder) for line in block.text.splitlines()]
    # Makes the modules of those builds importable.
    sys.path[:0] = [str(build) for build in built if build]
    return any(built)


def run_transcript(block: pages.Block, namespace: dict[str, object], runner: doctest.DocTestRunner) -> None:
    parsed = doctest.DocTestParser().get_doctest(block.text, namespace, "page", "<page>", block.line - 1)
    assert parsed.examples, f"line {block.line}: a transcript without a line that begins with >>>"
    complaints: list[str] = []
    failed = runner.run(parsed, out=complaints.append, clear_globs=False).failed
    assert failed == 0, "".join(complaints)
    namespace.update(parsed.globs)


def run_page(text: str, folder: Path) -> int:
    """Executes the blocks of a page in order; returns how many were executed."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    # One runner for the page: log handlers keep the standard output that it installs.
    transcripts = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    statements: list[str] = []
    stale = (folder / "CMakeLists.txt").exists()
    executed = 0
    for block in pages.blocks(text):
        assert block.language in pages.KNOWN, (
            f"line {block.line}: a block says its language: one of {sorted(pages.KNOWN)}"
        )
        if block.excuse is not None:
            assert len(block.excuse.split()) > 2, f"line {block.line}: say why this is not executed"
            continue
        assert block.language != "text", f"line {block.line}: say why this is not executed, in <!-- not executed: … -->"
        if missing := [name for name in block.needed if not is_there(name)]:
            print(f"line {block.line}: left out, as there is no {missing[0]}")
            continue
        executed += 1
        if block.language in {"python", "pycon"} and stale and (folder / "CMakeLists.txt").exists():
            build_project(folder)
            stale = False
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            with (folder / block.file).open("a" if block.continues else "w") as file:
                file.write(block.text)
            stale = True
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.text, "<page>", "exec"), namespace)
        elif block.language == "pycon":
            run_transcript(block, namespace, transcripts)
        elif block.language == "cpp" and (MAIN.search(block.text) or GOOGLETESTS.search(block.text)):
            run_program(block.text, folder, f"program_{block.line}")
        elif block.language == "cpp":
            statements.append(block.text)
        else:
            assert block.language == "sh", f"line {block.line}: {block.language} names its file in its first line"
            stale = not run_shell(block, folder) and stale
    if statements:
        run_program(pages.as_program(statements), folder, "statements")
    if stale and (folder / "CMakeLists.txt").exists():
        build_project(folder)
    return executed


def bring_project(page: Path, folder: Path) -> None:
    """Copies the project into the folder of a new project's README. Other pages start in an empty folder."""
    if page.parent == pages.NEW_PROJECT:
        shutil.copytree(page.parent, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build"))


if __name__ == "__main__":
    bring_project(Path(sys.argv[1]), Path.cwd())
    run_page(Path(sys.argv[1]).read_text(), Path.cwd())
