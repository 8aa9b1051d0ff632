"""Every snippet of README.md and docs/ runs and does what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import execution
import pages
import pytest
import shell


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.relative_to(pages.ROOT).as_posix())
def test_snippets_of_page_run(page, empty_folder):
    # A fresh interpreter, like a user's: counters begin at zero.
    command = [sys.executable, "-W", "error", Path(execution.__file__), page]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pages_for_users_have_snippets():
    guides = [page for page in pages.pages() if page.parent.name == "guide"]
    assert len(guides) >= 4
    for page in [pages.ROOT / "README.md", *guides]:
        executed = [block for block in pages.blocks(page.read_text()) if not (block.excuse or block.needed)]
        assert len(executed) >= 2, page


def test_readme_of_new_project_is_executed_in_its_project(empty_folder):
    readme = pages.NEW_PROJECT / "README.md"
    assert readme in pages.pages()
    assert [block.excuse for block in pages.blocks(readme.read_text()) if block.language == "python"] == [None]
    execution.bring_project(readme, empty_folder)
    assert (empty_folder / "CMakePresets.json").exists() and not (empty_folder / "build").exists()
    execution.bring_project(pages.ROOT / "README.md", empty_folder / "other")
    assert not (empty_folder / "other").exists()


FENCE = "`" * 3


def page_of(language: str, body: str, before: str = "") -> str:
    return f"Some words.\n\n{before}{FENCE}{language}\n{body}\n{FENCE}\n"


PROJECT = page_of("cmake", "# file: CMakeLists.txt\ncmake_minimum_required(VERSION 3.26)\nproject(tide LANGUAGES NONE)")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (page_of("python", "assert 1 == 2, 'sums'"), "sums"),
        (page_of("python", "a = 1") + page_of("python", "assert a == 2, 'not shared'"), "not shared"),
        (page_of("pycon", ">>> 1 + 1\n3"), r"Expected:\s+3\s+Got:\s+2"),
        (page_of("pycon", ">>> a = 1") + page_of("python", "assert a == 2, 'shared'"), "shared"),
        (page_of("pycon", ">>> raise ValueError('yes')\nTraceback (most recent call last):\nValueError: no"), "yes"),
        (page_of("pycon", "no prompt"), "begins with >>>"),
        (page_of("cpp", "int wrong = memarray::no_such_thing;"), "no_such_thing.*not a member"),
        (page_of("cpp", "memarray::MemArray<double, 1> a({2}); (void)a({5});"), "index 5 of dimension 0 is outside"),
        (page_of("cpp", "int main() { return 1; }"), "int main"),
        (page_of("cpp", "#include <gtest/gtest.h>\nTEST(Page, Fails) { FAIL(); }"), "FAILED  . Page.Fails"),
        (page_of("sh", "python -m memarray --no-such-option"), "usage: python -m memarray"),
        (page_of("sh", "curl something"), "nothing tries this: curl something"),
        (page_of("sh", "cmake -S nowhere -B build"), "nowhere"),
        (page_of("sh", "cmake --build build"), "build"),
        (PROJECT + page_of("sh", "cmake -S . -B build -Dmemarry_DIR=/"), "not used by the project:.*memarry_DIR"),
        (PROJECT + page_of("sh", "cmake -S . -B build -Da=$(python -m memarray --cmake)"), "usage: python -m memarray"),
        (page_of("", "no language"), "says its language"),
        (page_of("text", "nobody looks at this"), "say why this is not executed"),
        (page_of("text", "no words", "<!-- not executed: -->\n"), "say why this is not executed"),
        (page_of("cmake", "message(STATUS a)"), "names its file in its first line"),
        (page_of("c", "int a;"), "c names its file in its first line"),
        (page_of("cython", "cdef int a"), "cython names its file in its first line"),
        (page_of("fortran", "end"), "fortran names its file in its first line"),
        (page_of("cmake", "# file: CMakeLists.txt\nmessage(FATAL_ERROR no_such_project)"), "no_such_project"),
    ],
)
def test_wrong_snippet_fails(text, complaint, empty_folder):
    with pytest.raises(AssertionError, match=re.compile(complaint, re.DOTALL)):
        execution.run_page(text, empty_folder)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("cmake --preset hots", "no hots among the configurePresets"),
        ("cmake --preset host && cmake --build --preset hots -j2", "no hots among the buildPresets"),
        ("ctest --preset hots", "no hots among the testPresets"),
        ("cmake --workflow --preset host", "no host among the workflowPresets"),
        ("PYTHONPATH=build/hots/python python -m pytest test/python", "no build makes PYTHONPATH=build/hots/python"),
        ("python -m pytest test/pyhton", "no tests in test/pyhton"),
        ("python -m pytest -m gpus test/python", "no marker gpus"),
        ("python -m memarray dmo", "usage: python -m memarray"),
        ("pip install '.[dmo]'", "no extra dmo"),
        ("pip install -r requirement.txt", "no requirement.txt"),
        ("pip install cmake nanobinds", "no package nanobinds"),
        ("pip install cmak", "no package cmak"),
        ("./test/run --only host,lints", "run knows no host,lints"),
        ("./test/run --lst", "run has no --lst"),
        ("./test/runs", "nothing tries this"),
        ("bench/run --row sessions", "run knows no sessions"),
        ("bench/run --quik", "run has no --quik"),
        ("python bench/gpu.py --simulate", "gpu.py has no --simulate"),
        ("python bench/cpu.py", "nothing tries this"),
    ],
)
def test_shell_line_with_unknown_name_fails(line, complaint, empty_folder):
    with pytest.raises(AssertionError, match=complaint):
        shell.run_line(line, empty_folder)


def test_project_is_built_with_the_commands_of_its_page(empty_folder):
    words = 'file(WRITE "${CMAKE_BINARY_DIR}/said.py" "word = \\"${WORD}\\"\\n")'
    page = PROJECT + page_of("cmake", f"# more of: CMakeLists.txt\n{words}")
    page += page_of("sh", "cmake -S . -B build -DWORD=$(echo yes)  # as here\ncmake --build build")
    execution.run_page(page + page_of("python", "from said import word\nassert word == 'yes'"), empty_folder)


def test_comment_excuses_only_the_next_block(empty_folder):
    shown = page_of("python", "assert False", "<!-- not executed: it needs a GPU -->\n")
    other = page_of("python", "assert False, 'tried'", "<!-- end -->\n")
    with pytest.raises(AssertionError, match="tried"):
        execution.run_page(shown + other, empty_folder)


def test_excused_block_is_not_executed(empty_folder):
    shown = page_of("python", "assert False", "<!-- not executed: it needs a GPU -->\n")
    assert execution.run_page(shown, empty_folder) == 0
    assert execution.run_page(shown + page_of("pycon", ">>> 1 + 1\n2"), empty_folder) == 1


def test_block_runs_only_if_all_that_it_needs_is_there(empty_folder):
    wrong = page_of("python", "assert False, 'tried'", "<!-- executed where there is: {} -->\n")
    for missing in ("no_such_module", "no/such/header.h", "json, no_such_program", "no_such_program, json"):
        assert execution.run_page(wrong.format(missing), empty_folder) == 0
    for there in ("json", "cmake", "stdio.h", "json, sh", "sys/types.h, json"):
        with pytest.raises(AssertionError, match="tried"):
            execution.run_page(wrong.format(there), empty_folder)
