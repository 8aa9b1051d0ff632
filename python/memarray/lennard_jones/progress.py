"""A progress bar: that of tqdm if installed, else a line of text."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")


def progress(items: Sequence[T], name: str) -> Iterator[T]:
    try:
        tqdm = import_module("tqdm").tqdm
    except ImportError:
        yield from _plain(items, name)
    else:
        yield from tqdm(items, desc=f"  {name:<12}", leave=False, disable=None, unit="looks")


def _plain(items: Sequence[T], name: str) -> Iterator[T]:
    if not sys.stderr.isatty():
        yield from items
        return
    for number, item in enumerate(items):
        print(f"\r  {name:<12} {100 * number // len(items):3d} %", end="", file=sys.stderr, flush=True)
        yield item
    print(f"\r{' ' * 40}\r", end="", file=sys.stderr, flush=True)
