"""Loops that memory bounds, over several arrays, by memarray and by other models of parallel loops."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison
from harness.programs import comparisons, sampled
from harness.registry import Setting, row

# The kernels of the benchmark BabelStream, and a sum.
KERNELS = {
    "copy": "c = a",
    "mul": "b = s·c",
    "add": "c = a + b",
    "triad": "a = b + s·c",
    "dot": "Σ a·b",
    "sum": "Σ a",
    "nstream": "a += b + s·c",
}
GOALS = dict.fromkeys(KERNELS, 1.05) | {"dot": 1.0}


@row("bandwidth", "copy, mul, add, triad, dot, sum and nstream of doubles, 2^15 and 2^25", threads=(1, 2))
def bandwidth(setting: Setting) -> Iterator[Comparison]:
    milliseconds = 2 if setting.quick else 5
    # The plain loop has one thread.
    peers = ("OpenMP", "standard algorithms", "Kokkos", *["plain loop"] * (setting.threads == 1))
    for power in (15, 20 if setting.quick else 25):
        yield from comparisons(
            sampled("bandwidth", setting.threads, setting.rounds + 1, milliseconds, 1 << power),
            lambda kernel, power=power: f"`{KERNELS[kernel]}` of 2^{power} doubles ({kernel})",
            GOALS,
            peers,
            ("OpenMP", "TBB", "Kokkos"),
        )
