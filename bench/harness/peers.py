"""Peers that may be absent, and thread counts set alike for all that are present."""

from __future__ import annotations

import importlib
from types import ModuleType


def peer(name: str) -> ModuleType | None:
    """Returns the module, or None if it could not be installed or built."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def set_threads(threads: int) -> None:
    """Sets the thread counts of memarray and its peers. bench/run sets OpenMP's and JAX's by the environment."""
    import memarray

    memarray.options.threads = threads
    if (torch := peer("torch")) is not None:
        torch.set_num_threads(threads)
    if (numba := peer("numba")) is not None:
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
