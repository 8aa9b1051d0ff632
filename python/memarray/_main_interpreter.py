"""A check that is imported first: in a sub-interpreter the extension module would wait for ever for a lock."""

from importlib import import_module


def _is_main() -> bool:
    # CPython's own module, by its names in 3.13 and in earlier versions.
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
