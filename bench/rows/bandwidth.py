"""Loops that memory bounds, over several arrays, in the words of memarray and of other models of parallel loops."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison
from harness.programs import absent, sampled
from harness.registry import Setting, row

# The kernels of the benchmark BabelStream.
KERNELS = {
    "copy": "c = a",
    "mul": "b = s·c",
    "add": "c = a + b",
    "triad": "a = b + s·c",
    "dot": "Σ a·b",
    "nstream": "a += b + s·c",
}
GOAL = 1.05


@row("bandwidth", "copy, mul, add, triad, dot and nstream of doubles, 2^15 and 2^25", threads=(1, 2))
def bandwidth(setting: Setting) -> Iterator[Comparison]:
    milliseconds = 2 if setting.quick else 5
    for power in (15, 20 if setting.quick else 25):
        names, candidate = sampled("bandwidth", setting.threads, setting.rounds + 1, milliseconds, 1 << power)
        for kernel, formula in KERNELS.items():
            models = [name.partition(" | ")[2] for name in names if name.startswith(f"{kernel} | ")]
            made = {model: candidate(f"{kernel} | {model}", model) for model in models}
            # The plain loop has one thread.
            shown = [name for name in made if name.startswith("memarray: ")]
            shown += ["plain loop"] if setting.threads > 1 and len(made) > 2 else []
            peers = [made[name] for name in made if name not in ("memarray", *shown)]
            yield Comparison(
                f"`{formula}` of 2^{power} doubles ({kernel})",
                GOAL,
                made["memarray"],
                peers,
                [made[name] for name in shown],
                note=absent("OpenMP", "TBB", "Kokkos"),
            )
