"""Every snippet of README.md and docs/ does what the page says: it runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import memarray
import pages
import pytest

# Shell lines that other parts of ./test/run try, as they stand here or in other words.
SHELL_LINES = re.compile(
    r"^(pip install '?\.(\[\w+\])?'?( && python -m memarray demo)?"
    r"|pip install [a-z0-9 -]+"
    r"|git clone .*|cd \w+"
    r"|\./test/run( .*)?|\./bench/run( .*)?"
    r"|cmake (--preset|-S|--build|-B) .*"
    r"|MEMARRAY_CUDA=\w+ pip install .*)$"
)


def package_folder() -> Path:
    """Where the headers and libmemarray are: beside the built module."""
    return Path(memarray._core.__file__).parent


def compile_program(source: str, folder: Path, name: str) -> Path:
    path = folder / f"{name}.cpp"
    path.write_text(source)
    package = package_folder()
    command = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Wno-unused", str(path), "-o", str(folder / name)]
    command += [f"-I{package}/include", f"-I{package}/include/cccl", f"-L{package}/lib", f"-Wl,-rpath,{package}/lib"]
    command += ["-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP", "-DMEMARRAY_HAS_CUDA=0", "-lmemarray", "-pthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{source}\n{done.stderr}"
    return folder / name


def run_program(source: str, folder: Path, name: str) -> None:
    done = subprocess.run(
        [compile_program(source, folder, name)], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, f"{source}\n{done.stdout}{done.stderr}"


def build_project(folder: Path) -> None:
    """Builds what the page has written so far; what it makes can be imported afterwards."""
    build = folder / "build"
    config = package_folder() / "lib" / "cmake" / "memarray"
    for command in (
        [
            "cmake",
            "-S",
            folder,
            "-B",
            build,
            "-G",
            "Ninja",
            f"-Dmemarray_DIR={config}",
            f"-DPython_EXECUTABLE={sys.executable}",
        ],
        ["cmake", "--build", build],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(build))


def run_shell(block: pages.Block, folder: Path) -> None:
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:3] == ["python", "-m", "memarray"]:
            done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, cwd=folder, check=False)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        else:
            assert not words or SHELL_LINES.match(shlex.join(words)) or SHELL_LINES.match(line.split("#")[0].strip()), (
                f"line {block.line}: nothing tries this: {line}"
            )


def run_page(text: str, folder: Path) -> int:
    """Executes the blocks of a page in order; returns how many did something."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    statements: list[str] = []
    stale = False
    executed = 0
    for block in pages.blocks(text):
        assert block.language in pages.KNOWN, (
            f"line {block.line}: a block says its language: one of {sorted(pages.KNOWN)}"
        )
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text)
            stale = True
        elif block.language == "python":
            if stale and (folder / "CMakeLists.txt").exists():
                build_project(folder)
                stale = False
            exec(compile("\n" * (block.line - 1) + block.text, "<page>", "exec"), namespace)
        elif block.language == "cpp" and re.search(r"\bint main\(", block.text):
            run_program(block.text, folder, f"program_{block.line}")
        elif block.language == "cpp":
            statements.append(block.text)
        elif block.language == "sh":
            run_shell(block, folder)
        else:
            continue
        executed += 1
    if statements:
        run_program(pages.as_program(statements), folder, "statements")
    if stale and (folder / "CMakeLists.txt").exists():
        build_project(folder)
    return executed


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.relative_to(pages.ROOT).as_posix())
def test_page(page, empty_folder):
    run_page(page.read_text(), empty_folder)


FENCE = "`" * 3


def page_of(language: str, body: str) -> str:
    return f"Some words.\n\n{FENCE}{language}\n{body}\n{FENCE}\n"


@pytest.mark.parametrize(
    "text",
    [
        page_of("python", "assert 1 == 2"),
        page_of("python", "a = 1") + page_of("python", "assert a == 2"),
        page_of("cpp", "int wrong = memarray::no_such_thing;"),
        page_of("cpp", "memarray::MemArray<double, 1> a({2}); a({5});"),
        page_of("cpp", "int main() { return 1; }"),
        page_of("sh", "python -m memarray --no-such-option"),
        page_of("sh", "curl something"),
        page_of("", "no language"),
        page_of("cmake", "# file: CMakeLists.txt\nmessage(FATAL_ERROR no)"),
    ],
)
def test_a_wrong_snippet_is_noticed(text, empty_folder):
    with pytest.raises(BaseException):  # noqa: B017 (whatever the snippet raises)
        run_page(text, empty_folder)


def test_links_lead_somewhere():
    broken = []
    for page in [*pages.pages(), pages.ROOT / "CONTRIBUTING.md", pages.ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{os.path.relpath(page, pages.ROOT)}: {target}")
    assert broken == []
