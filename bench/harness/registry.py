"""The rows: a function with a decorator each, found by importing every module of ``rows``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.measure import Comparison, Value


@dataclass(frozen=True)
class Setting:
    """The settings of a run, as its rows see them."""

    threads: int
    rounds: int
    quick: bool


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    threads: tuple[int, ...]
    run: Callable[[Setting], Iterator[Comparison | Value]]


_rows: dict[str, Row] = {}


def row(name: str, title: str, *, threads: tuple[int, ...] = (1,)):
    """Registers a generator of comparisons, run once in a process of its own for each count of threads."""

    def register(function):
        if name in _rows:
            raise ValueError(f"two rows are called {name}")
        _rows[name] = Row(name, title, threads, function)
        return function

    return register


def all_rows() -> dict[str, Row]:
    import rows

    for module in pkgutil.iter_modules(rows.__path__):
        importlib.import_module(f"rows.{module.name}")
    return dict(_rows)
