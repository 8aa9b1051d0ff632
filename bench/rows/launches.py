"""The cost of a launch: loops over eight elements, whose call takes longer than their work."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison
from harness.programs import absent, sampled
from harness.registry import Setting, row

GOAL = 1.0


@row("launches", "for_each_index over 8 elements of one, two and six arrays, from C++")
def launches(setting: Setting) -> Iterator[Comparison]:
    names, candidate = sampled("launches", setting.rounds + 1, 1 if setting.quick else 5)
    for arrays in ("one array", "two arrays", "six arrays"):
        found = [name.partition(" | ")[2] for name in names if name.startswith(arrays)]
        made = {name: candidate(f"{arrays} | {name}", name) for name in found}
        # A loop without a call is no launch. It is the peer only where OpenMP is absent.
        peers = [name for name in made if name.startswith("OpenMP")] or ["plain loop"]
        shown = [name for name in made if name not in ("memarray", *peers)]
        yield Comparison(
            f"a launch over 8 elements, {arrays}",
            GOAL,
            made["memarray"],
            [made[name] for name in peers],
            [made[name] for name in shown],
            note=absent("OpenMP"),
        )
