"""Every id of test/traps.toml is carried by a test, and test/traps.toml has every id that a test carries."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CPP = re.compile(r'RecordProperty\(\s*"trap"\s*,\s*"([^"]*)"\s*\)')
TABLE = re.compile(r"^\[(.+)\]\n((?:(?!\[).*\n?)*)", re.MULTILINE)
ENTRY = re.compile(r'^(\w+) = (?:"((?:[^"\\]|\\.)*)"|(true|false))$', re.MULTILINE)


def load(path: Path) -> dict[str, dict]:
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib.loads(path.read_text())
    # Python 3.10 has no tomllib. The file uses only the part of TOML parsed here.
    tables = TABLE.findall(path.read_text())
    return {name: {key: text or word == "true" for key, text, word in ENTRY.findall(body)} for name, body in tables}


def carried_by_python(source: str) -> set[str]:
    """Returns the ids in ``pytest.mark.trap("…")`` on a test or a class, or in a module's `pytestmark`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        if is_test or (isinstance(node, ast.ClassDef) and node.name.startswith("Test")):
            marks = node.decorator_list
        elif isinstance(node, ast.Assign) and any(ast.unparse(target) == "pytestmark" for target in node.targets):
            marks = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
        else:
            continue
        for mark in marks:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) in ("pytest.mark.trap", "mark.trap"):
                found.update(ast.literal_eval(argument) for argument in mark.args)
    return found


def carried(root: Path) -> dict[str, set[str]]:
    """Returns the names of the test files that carry each id."""
    carriers: dict[str, set[str]] = {}
    for path in sorted((root / "test").rglob("test_*.py")):
        for trap in carried_by_python(path.read_text()):
            carriers.setdefault(trap, set()).add(path.name)
    for path in sorted((root / "test").rglob("*.cpp")):
        # Ids in comments do not count.
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for trap in CPP.findall(text):
            carriers.setdefault(trap, set()).add(path.name)
    return carriers


def wrong(root: Path) -> list[str]:
    traps, carriers = load(root / "test" / "traps.toml"), carried(root)
    problems = [
        f"{name}: {where} carry it, but traps.toml has no such id"
        for name, where in carriers.items()
        if name not in traps
    ]
    for name, trap in traps.items():
        if not trap.get("mistake", "").endswith("."):
            problems.append(f"{name}: says in no sentence which mistake it is")
        if trap.get("later") and not trap.get("reason"):
            problems.append(f"{name}: is for later without a reason")
        if not trap.get("later") and name not in carriers:
            problems.append(
                f'{name}: no test carries it, as @pytest.mark.trap("{name}") or RecordProperty("trap", "{name}")'
            )
    return problems


def test_list_of_traps_is_consistent():
    assert wrong(ROOT) == []
    assert len(load(ROOT / "test" / "traps.toml")) >= 30


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "traps.toml").write_text('[T01]\nmistake = "One."\n')
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_a.py", '@pytest.mark.trap("T01")\ndef test_it():\n    pass\n'),
        ("test_a.py", 'pytestmark = [pytest.mark.slow, pytest.mark.trap("T00", "T01")]\n'),
        ("test_a.py", '@pytest.mark.trap("T01")\nclass TestIt:\n    pass\n'),
        ("test_a.cpp", 'TEST(A, B) { RecordProperty("trap", "T01"); }\n'),
    ],
)
def test_id_carried_by_test_is_recognized(tree, name, text):
    (tree / "test" / name).write_text(text)
    assert not any(problem.startswith("T01:") for problem in wrong(tree))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_a.py", '# @pytest.mark.trap("T01")\ndef test_it():\n    pass\n'),
        ("test_a.py", '@pytest.mark.trap("T01")\ndef helper():\n    pass\n'),
        ("helper.py", '@pytest.mark.trap("T01")\ndef test_it():\n    pass\n'),
        ("test_a.py", '@pytest.mark.trap("T02")\ndef test_it():\n    pass\n'),
        ("test_a.cpp", '// RecordProperty("trap", "T01");\n'),
        ("test_a.cpp", '/* RecordProperty("trap", "T01");\n */\n'),
    ],
)
def test_id_outside_a_test_is_not_recognized(tree, name, text):
    (tree / "test" / name).write_text(text)
    assert any(problem.startswith("T01:") for problem in wrong(tree))


def test_unknown_ids_and_missing_reasons_are_reported(tree):
    (tree / "test" / "test_a.py").write_text('@pytest.mark.trap("T09")\ndef test_it():\n    pass\n')
    (tree / "test" / "traps.toml").write_text('[T01]\nmistake = "One."\nlater = true\n')
    assert [problem.split(":")[0] for problem in wrong(tree)] == ["T09", "T01"]


SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh", ".in"}
CODE = [
    path
    for folder in ("include", "src", "python", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in SUFFIXES and "build" not in path.parts
]


def uses(pattern: str, paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        found += [f"{path}: {match}" for match in re.findall(pattern, text)]
    return found


#: Forbidden code: a pattern, and lines that it must find.
FORBIDDEN = {
    "T08": (r"thrust::async|thrust/async", "auto event = thrust::async::copy(a, b, c);"),
    "T10": (
        r"static\s+(?:const\s+)?(?:PyObject\b|py::|pybind11::|auto\b[^;=]*=\s*(?:py::|pybind11::|Py[A-Z]\w*\())[^;=(]*[={(]",
        'static py::object const module = py::module_::import("numpy");',
        "static auto module = py::module_::import(name);",
        "static PyObject const* name = PyUnicode_FromString(word);",
        "static const PyObject* name = nullptr;",
    ),
    "P05": (r"gil_scoped_\w+|call_guard", "py::gil_scoped_release release;"),
}


@pytest.mark.trap("T08")
@pytest.mark.trap("T10")
@pytest.mark.trap("P05")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden_construct_is_not_used(name, tmp_path):
    pattern, *examples = FORBIDDEN[name]
    for example in examples:
        (tmp_path / "a.cu").write_text(f"// {example}\n{example}\n")
        assert len(uses(pattern, [tmp_path / "a.cu"])) == 1, example
    assert {path.suffix for path in CODE} == SUFFIXES
    assert uses(pattern, CODE) == []
