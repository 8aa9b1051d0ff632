"""Peers that may be absent, and thread counts set alike for all that are there."""

from __future__ import annotations

import importlib
from types import ModuleType


def peer(name: str) -> ModuleType | None:
    """The module, or None where it could not be installed or built."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def set_threads(threads: int) -> None:
    """OpenMP's and JAX's counts come from the environment that bench/run sets."""
    import memarray

    memarray.options.threads = threads
    if (torch := peer("torch")) is not None:
        torch.set_num_threads(threads)
    if (numba := peer("numba")) is not None:
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
