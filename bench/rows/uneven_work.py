"""Loops whose indices cost unevenly, which only threads that take further work can share well."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison
from harness.programs import absent, sampled
from harness.registry import Setting, row

GOAL = 1.05


@row("uneven-work", "loops over indices of uneven cost, from C++", threads=(2,))
def uneven_work(setting: Setting) -> Iterator[Comparison]:
    names, candidate = sampled("uneven_work", setting.threads, setting.rounds + 1)
    loops: dict[str, list[str]] = {}
    for name in names:
        loop, _, way = name.partition(" | ")
        loops.setdefault(loop, []).append(way)
    for loop, ways in loops.items():
        made = {way: candidate(f"{loop} | {way}", way) for way in ways}
        # A static schedule and a plain loop show what sharing gains; the latter is the peer where OpenMP is absent.
        peers = [way for way in ways if way.endswith("(dynamic)")] or ["plain loop, one thread"]
        shown = [way for way in ways if way not in ("memarray", *peers)]
        yield Comparison(
            f"uneven work: {loop}",
            GOAL,
            made["memarray"],
            [made[way] for way in peers],
            [made[way] for way in shown],
            note=absent("OpenMP"),
        )
