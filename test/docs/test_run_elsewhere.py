"""Examples that pages show unexecuted because ./test/run covers them agree with the files that ./test/run uses."""

from __future__ import annotations

import pages
import pytest

DOWNSTREAM = pages.ROOT / "test" / "downstream"
CMAKE_PAGE = pages.ROOT / "docs" / "guide" / "cmake.md"


def code(text: str) -> list[str]:
    """Returns the lines without comments and empty lines."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "//"))]


def shown(page, why: str) -> list[str]:
    (block,) = [block for block in pages.blocks(page.read_text()) if why in (block.excuse or "")]
    return code(block.text)


@pytest.mark.parametrize("name", ["CMakeLists.txt", "pyproject.toml"])
def test_pip_package_on_page_matches_the_tested_one(name):
    """The part `downstream` installs it."""
    (block,) = [block for block in pages.blocks(CMAKE_PAGE.read_text()) if block.file == f"package/{name}"]
    assert code(block.text) == code((DOWNSTREAM / "scikit_build" / name).read_text())


def test_subdirectory_example_matches_the_built_project():
    """The part `downstream` builds it in the nightly run."""
    built = code((DOWNSTREAM / "subdirectory" / "CMakeLists.txt").read_text())
    lines = shown(CMAKE_PAGE, "a project like this one")
    assert [line.split("(")[0] for line in lines] == [line.split("(")[0] for line in built[: len(lines)]]
    assert {line for line in lines if line.startswith(("set(", "cmake_"))} <= set(built)


def test_commands_of_new_project_match_its_readme():
    """The part `new` runs them."""
    readme = (pages.ROOT / "examples" / "gray_scott" / "README.md").read_text()
    (commands,) = [code(block.text) for block in pages.blocks(readme) if block.language == "sh"]
    assert shown(pages.ROOT / "docs" / "guide" / "own_project.md", "in an environment of its own") == [
        "cd reef",
        *commands,
    ]
