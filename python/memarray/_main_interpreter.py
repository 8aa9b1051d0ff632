"""Imported first: in a sub-interpreter the extension module would wait for the main one's lock for ever."""

from importlib import import_module


def _is_main() -> bool:
    # CPython's own module, as 3.13 and those before it call it.
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() == interpreters.get_main())
    return True


if not _is_main():
    raise ImportError(
        "memarray works in the main interpreter alone: its arrays belong to the process, and any thread may drop them. "
        "Import it there, or use threads or processes instead of sub-interpreters"
    )
