"""Leases in C++ beside std::shared_mutex: granted per second, by a C++ program that interleaves them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison
from harness.programs import sampled
from harness.registry import Setting, row

GOALS = {1: 1.1, 8: 3.0}


@row("leases", "C++ leases granted per second, blocking, 95 % reads, on 2 cores", threads=(1, 8))
def leases(setting: Setting) -> Iterator[Comparison]:
    milliseconds = 20 if setting.quick else 100
    names, candidate = sampled("lease_throughput", setting.threads, setting.rounds + 1, milliseconds)
    yield Comparison(
        "leases granted per second, blocking, 95 % reads: times as many",
        GOALS[setting.threads],
        candidate("memarray leases"),
        [candidate(name) for name in ("std::shared_mutex", "std::shared_timed_mutex, try_lock_for")],
        [candidate(name) for name in names if name.startswith(("std::mutex", "pthread", "floor"))],
        at_least=True,
    )
