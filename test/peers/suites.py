"""Paths of the test suites of other projects, and a loader of their sources with memarray's objects in them."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

#: Modules that are emptied at the end, so that extension modules that look for leaks then find none.
loaded: list[ModuleType] = []


def sdist(project: str) -> Path:
    """Returns the unpacked source distribution of a project, below the folder that ``run.py`` names."""
    found = sorted(Path(os.environ["MEMARRAY_PEERS"]).glob(f"{project}-*/PKG-INFO"))
    if not found:
        raise LookupError(f"no source distribution of {project} was downloaded")
    return found[-1].parent


def load(path: Path, name: str, replace: dict[str, str] | None = None, **names: object) -> ModuleType:
    """Loads the module at `path`, with some of its text replaced and some names defined before its first line runs."""
    source = path.read_text()
    for old, new in (replace or {}).items():
        if old not in source:
            raise LookupError(f"{path.name} no longer has the line {old!r}")
        source = source.replace(old, new)
    specification = importlib.util.spec_from_loader(name, loader=None, origin=str(path))
    module = importlib.util.module_from_spec(specification)
    module.__file__ = str(path)
    vars(module).update(names)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), vars(module))
    loaded.append(module)
    return module


class Shim(ModuleType):
    """A module that has some names of its own and takes all others from another module."""

    def __init__(self, original: ModuleType, **names: object) -> None:
        super().__init__(original.__name__)
        self._original = original
        vars(self).update(names)
        loaded.append(self)

    def __getattr__(self, name: str) -> object:
        return getattr(self._original, name)


def built(project: str) -> Path:
    """Returns the folder of the extension modules that ``run.py`` built from a project's source distribution."""
    return Path(os.environ["MEMARRAY_PEERS"]) / f"build-{project}"


def as_exports(
    module: ModuleType, export: Callable[[np.ndarray], object], takes: Callable[[Callable[..., object]], bool]
) -> Shim:
    """Returns a shim of the module. Its functions for which `takes` is true get exports in place of arrays.

    An array that memarray has no dtype for is passed unchanged.
    """

    def exported(argument: object) -> object:
        if type(argument) is not np.ndarray:
            return argument
        try:
            return export(argument)
        except BufferError as error:
            if "no dtype" not in str(error):
                raise
            return argument

    def exporting(function: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(function, updated=())
        def call(*args: object, **keywords: object) -> object:
            return function(*(exported(argument) for argument in args), **keywords)

        return call

    functions = {
        name: exporting(found)
        for name, found in vars(module).items()
        if callable(found) and not isinstance(found, type) and takes(found)
    }
    return Shim(module, **functions)
