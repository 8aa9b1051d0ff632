"""Every example in a docstring prints what it shows, and imports everything that it needs."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import execution
import pages
import pytest

PACKAGE = pages.ROOT / "python" / "memarray"
WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def examples(path: Path) -> list[pages.Block]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        text = ast.get_docstring(node) if isinstance(node, WITH_DOCSTRINGS) else None
        if text and ">>> " in text:
            found.append(pages.Block("pycon", text, node.body[0].lineno))
    return found


def execute(block: pages.Block) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    execution.run_transcript(block, {"__name__": "__page__"}, runner)


SOURCES = sorted(path for path in PACKAGE.rglob("*.py*") if path.suffix in {".py", ".pyi"})
EXAMPLES = [(path.relative_to(PACKAGE).as_posix(), block) for path in SOURCES for block in examples(path)]


@pytest.mark.parametrize("block", [block for _, block in EXAMPLES], ids=[f"{name}:{b.line}" for name, b in EXAMPLES])
def test_docstring_example_prints_what_it_shows(block):
    execute(block)


def test_documented_modules_have_examples():
    assert {name for name, _ in EXAMPLES} >= {"__init__.py", "_consumer.py", "shared_memory.py", "testing.py"}


@pytest.mark.parametrize(
    ("shown", "complaint"),
    [
        ("2", None),
        ("3", r"Expected:\s+3\s+Got:\s+2"),
        ("2\n>>> memarray", "name 'memarray' is not defined"),
    ],
)
def test_wrong_example_fails(shown, complaint, tmp_path):
    source = tmp_path / "module.py"
    lines = "\n".join(f"        {line}" for line in ["Adds.", "", ">>> 1 + 1", *shown.split("\n")])
    source.write_text(f'class Sum:\n    def add(self):\n        """{lines.lstrip()}\n        """\n')
    (block,) = examples(source)
    if complaint is None:
        execute(block)
    else:
        with pytest.raises(AssertionError, match=complaint):
            execute(block)
