"""The pool of host memory beside pools that are a lock and a map: by a C++ program that interleaves them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison
from harness.programs import sampled
from harness.registry import Setting, row

GOAL = 0.5


@row("pool", "a block taken from a pool and given back", threads=(1, 4))
def pool(setting: Setting) -> Iterator[Comparison]:
    milliseconds = 5 if setting.quick else 30
    names, candidate = sampled("pool_throughput", setting.threads, setting.rounds + 1, milliseconds)
    patterns: dict[str, list[str]] = {}
    for name in names:
        pattern, _, contender = name.partition(" | ")
        patterns.setdefault(pattern, []).append(contender)
    for pattern, contenders in patterns.items():
        made = {contender: candidate(f"{pattern} | {contender}", contender) for contender in contenders}
        yield Comparison(
            f"a block from a pool and back: {pattern}",
            GOAL,
            made["memarray pool"],
            [made[name] for name in made if name.startswith("std::mutex")],
            [made[name] for name in made if name.startswith("no pool")],
        )
