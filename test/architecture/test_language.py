"""The check of comments finds the habits that it is there to find, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lint import language

from driver import parts

HABITS = [
    ("a.hpp", "/// Of a context that is kept.\nint a;\n", "Of"),
    ("a.hpp", "int a;  ///< what somebody waits for\n", "somebody"),
    ("a.cpp", "// It ends. Whether it did is not known.\n", "Whether"),
    ("a.cpp", "// Released by\n// whoever comes next.\n", "whoever"),
    ("a.cpp", "  f();  // What follows waits.\n", "What"),
    ("a.cpp", "// In someone's own stream.\n", "someone"),
    ("a.py", '"""What a view becomes."""\n', "What"),
    ("a.py", 'def f():\n    """Returns it.\n\n    Of an array the lease.\n    """\n', "Of"),
    ("a.py", "#: Those of this process.\nA = 1\n", "Those"),
    ("a.py", "x = 1\n# he reads it\n", "he"),
    ("a.cuh", "// It waits. That is safe.\n", "That"),
    ("a.cmake", "# As if it were built alone.\n", "As"),
    ("a.hpp", "/// Where a digit is in a key.\nint a;\n", "Where"),
    ("a.py", '"""Why nothing is measured."""\n', "Why"),
    ("a.cpp", "// It runs. How is not specified.\n", "How"),
    ("a.cpp", "// It runs; Which one is random.\n", "Which"),
    ("a.cmake.in", "# Where it is installed.\n", "Where"),
    ("a.hpp", "/// Memory that is lent to a consumer.\n", "lent"),
    ("a.pxd", "cdef void f()\n# lends the memory\n", "lends"),
    ("a.c", "/* What a program sees. */\nint a;\n", "What"),
    ("a.c", "int a; /* whoever calls */\n", "whoever"),
    ("a.h", "/**\n * Returns it.\n *\n * Of an array the lease.\n */\nint a;\n", "Of"),
    ("a.h", "/* Returns the size. Whether\n   it is known matters to nobody. */\n", "nobody"),
]
PLAIN = [
    ("a.hpp", "/// Returns the size\n/// Of the array, in bytes.\n"),
    ("a.hpp", '/// Throws `LockError` ("Of" is a word). The part `What` is code.\nint a;\n'),
    ("a.cpp", 'char const* a = "// What";\nint who;\n'),
    ("a.hpp", "}  // namespace lent\n// The part that is blended. So that rule stays.\n"),
    ("a.py", "# Waits until a reader releases the lock.\nwho = 'somebody'\n"),
    ("a.c", "/* Returns the size\n   Of the array. */\nint who = f(/*who=*/1);\n"),
    ("a.cmake", 'file(GLOB sources "src/*.cpp")\nset(who 1)\n'),
]


@pytest.mark.parametrize(("name", "text", "habit"), HABITS)
def test_dialect_habit_is_found(name, text, habit, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    assert language.main([str(tmp_path / name)]) == 1
    assert repr(habit) in capsys.readouterr().out


@pytest.mark.parametrize(("name", "text"), PLAIN)
def test_plain_comments_pass(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    assert language.main([str(tmp_path / name)]) == 0


def test_lint_reads_the_comments_of_every_folder():
    names = {path.relative_to(parts.ROOT) for path in parts.sources(*parts.COMMENTED)}
    seen = {(name.parts[0], name.suffix) for name in names}
    for folder in ("bench", "examples", "python", "test"):
        assert {(folder, ".py"), (folder, ".cpp")} <= seen
    assert {("include", ".cuh"), ("src", ".cu"), ("python", ".pxd"), ("examples", ".pyx"), ("cmake", ".cmake")} <= seen
    assert ("cmake", ".in") in seen
    assert {("bench", ".c"), ("bench", ".cu"), ("docs", ".py"), ("test", ".c")} <= seen
