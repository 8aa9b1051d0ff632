"""The modules of python/memarray import each other without a circle, imports inside functions included."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parents[2] / "python"


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes of a module, without those that only type checkers see."""
    if isinstance(node, ast.If) and ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from statements(child)


def imported(node: ast.AST, package: list[str]) -> list[str]:
    """Returns the dotted names that a statement in a module of `package` imports, or may import."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        start = package[: len(package) + 1 - node.level] if node.level else []
        source = ".".join([*start, *([node.module] if node.module else [])])
        return [f"{source}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module":
        return [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
    return []


def graph(root: Path) -> dict[str, set[str]]:
    """Returns the modules that each module of the packages in `root` imports."""
    files = {}
    # A stub without a source beside it is that of a compiled module, which comes first.
    for path in [*root.rglob("*.pyi"), *root.rglob("*.py")]:
        parts = path.relative_to(root).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    result: dict[str, set[str]] = {}
    for module, path in files.items():
        package = module.split(".")[: None if path.stem == "__init__" else -1]
        result[module] = set()
        for node in () if path.suffix == ".pyi" else statements(ast.parse(path.read_text(encoding="utf-8"))):
            for name in imported(node, package):
                # The name of a module, or of an object in one.
                found = next((one for one in (name, name.rpartition(".")[0]) if one in files), module)
                result[module] |= {found} - {module}
    return result


def circle(root: Path) -> list[str]:
    """Returns the modules of a circle; an empty list if there is none."""
    try:
        graphlib.TopologicalSorter(graph(root)).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_modules_import_each_other_without_a_circle():
    assert circle(PYTHON) == []


def test_graph_has_the_imports_of_the_package():
    edges = graph(PYTHON)
    assert len(edges) > 20
    assert {"memarray._array", "memarray.cuda", "memarray.dask", "memarray.testing"} <= edges["memarray"]
    assert "memarray._numpy" in edges["memarray._array"]  # inside a method
    assert edges["memarray._dtypes"] == {"memarray._core"} and edges["memarray._core"] == set()
    assert "memarray" in edges["memarray.lennard_jones"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from . import b\n", "from .a import x\n"),
        ("from .b import y\n", "def f():\n    from .a import x\n"),
        ("import p.b\n", "class C:\n    def f(self):\n        from p import a\n"),
        ("from .b import y\n", "from importlib import import_module\nimport_module('p.a')\n"),
        ("from . import NAME\n", ""),
    ],
)
def test_circle_is_found(first, second, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "__init__.py").write_text("from .a import x\n")
    (tmp_path / "p" / "a.py").write_text(first)
    (tmp_path / "p" / "b.py").write_text(second)
    assert len(circle(tmp_path)) > 2
    (tmp_path / "p" / "a.py").write_text(f"if TYPE_CHECKING:\n    {first}")
    assert circle(tmp_path) == []
