"""A callback for the import of another library, whichever of the two a program imports first."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def when_imported(name: str, call: Callable[[], object]) -> None:
    """Calls `call` once the module `name` has been imported: now if it already was, else at the end of its import."""
    if name in sys.modules:
        call()
    else:
        sys.meta_path.insert(0, _Finder(name, call))


class _Finder:
    """A finder that finds nothing itself. It makes the loader of one module call back, and removes itself."""

    def __init__(self, name: str, call: Callable[[], object]) -> None:
        self.name = name
        self.call = call

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self.follow(spec.loader)
                return spec
        return None

    def follow(self, loader: Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.call()

        loader.exec_module = exec_module  # type: ignore[method-assign]
