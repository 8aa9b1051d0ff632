"""The callback at the end of another module's import."""

import importlib
import sys

import pytest
from memarray._when_imported import when_imported


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Returns a function that writes an importable module, whose first line is the given one."""
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)

    def write(line):
        (tmp_path / "imported_late.py").write_text(f"{line}\nready = True\n")
        importlib.invalidate_caches()

    yield write
    sys.modules.pop("imported_late", None)
    assert sys.meta_path == finders


def test_callback_runs_at_once_for_imported_module():
    calls = []
    when_imported("sys", lambda: calls.append(1))
    assert calls == [1]


def test_callback_runs_once_after_module_is_executed(library):
    library("")
    calls = []
    when_imported("imported_late", lambda: calls.append(sys.modules["imported_late"].ready))
    assert calls == []
    import json.tool  # noqa: F401  another module

    assert calls == []
    import imported_late

    assert calls == [True]
    importlib.reload(imported_late)
    assert calls == [True]


def test_callback_waits_for_a_successful_import(library, tmp_path):
    library("raise RuntimeError('not yet')")
    calls = []
    when_imported("imported_late", lambda: calls.append(1))
    with pytest.raises(RuntimeError, match="not yet"):
        importlib.import_module("imported_late")
    assert calls == []
    library("later = 1")
    importlib.import_module("imported_late")
    assert calls == [1]


def test_import_of_missing_module_still_fails(library):
    when_imported("imported_late", lambda: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("imported_late")
    library("")
    importlib.import_module("imported_late")
