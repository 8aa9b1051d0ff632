"""Leases in C++ beside std::shared_mutex: granted per second, by a C++ program that interleaves them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.measure import Candidate, Comparison
from harness.registry import Setting, row

GOALS = {1: 1.1, 8: 3.0}


def program() -> Path:
    return next(Path(p) / "lease_throughput" for p in sys.path if (Path(p) / "lease_throughput").exists())


@row("leases", "C++ leases granted per second, blocking, 95 % reads, on 2 cores", threads=(1, 8))
def leases(setting: Setting) -> Iterator[Comparison]:
    milliseconds = 20 if setting.quick else 100
    command = [str(program()), str(setting.threads), str(setting.rounds + 1), str(milliseconds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = {name: iter(costs) for name, costs in json.loads(done.stdout).items()}

    def candidate(name: str) -> Candidate:
        return Candidate(name, lambda: next(seconds[name]))

    yield Comparison(
        "leases granted per second, blocking, 95 % reads: times as many",
        GOALS[setting.threads],
        candidate("memarray leases"),
        [candidate(name) for name in ("std::shared_mutex", "std::shared_timed_mutex, try_lock_for")],
        [candidate(name) for name in seconds if name.startswith(("std::mutex", "pthread", "floor"))],
        at_least=True,
    )
