"""A chart of the rows, and the tables: one line a comparison, then every formulation's ratio."""

from __future__ import annotations

import math
from collections.abc import Iterable

from harness.measure import Result

#: The chart's axis: powers of two, and the columns between two of them.
LEAST, MOST, COLUMNS = -4, 4, 6


def chart(results: Iterable[Result]) -> str:
    """Returns a bar for each row, from its least to its largest median of ours ÷ the fastest peer."""
    rows: dict[str, list[float]] = {}
    for result in results:
        if not result.unit and result.against != "a limit":
            ratio = 1 / result.median if result.goal.startswith("≥") else result.median
            rows.setdefault(result.row, []).append(math.log2(ratio))
    width = max(map(len, rows), default=0)
    axis = [f"1/{2**-power}" if power < 0 else str(2**power) for power in range(LEAST, MOST + 1)]
    lines = [" " * (width + 1) + "".join(label.ljust(COLUMNS) for label in axis).rstrip()]
    for name, powers in rows.items():
        columns = [round((power - LEAST) * COLUMNS) for power in (min(powers), max(powers))]
        first, last = (min(max(column, 0), (MOST - LEAST) * COLUMNS) for column in columns)
        bar = [" "] * ((MOST - LEAST) * COLUMNS + 1)
        bar[-LEAST * COLUMNS] = "│"
        bar[first : last + 1] = "━" * (last - first + 1)
        bar[first] = "◀" if columns[0] < first else bar[first]
        bar[last] = "▶" if columns[1] > last else bar[last]
        lines.append(f"{name.ljust(width)} {''.join(bar)}".rstrip())
    return "\n".join(lines)


def summary(results: Iterable[Result]) -> str:
    lines = [
        "| row | comparison | threads | against (fastest formulation) | goal | median | minimum | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        unit = f" {result.unit}" if result.unit else ""
        lines.append(
            f"| `{result.row}` | {result.title} | {result.threads} | {result.against} | {result.goal}"
            f" | {result.median:.3g}{unit} | {result.minimum:.3g}{unit} | {'yes' if result.met else '**no**'} |"
        )
    return "\n".join(lines)


def formulations(results: Iterable[Result]) -> str:
    lines = ["| comparison | threads | formulation: median ratio |", "|---|---|---|"]
    for result in results:
        if result.ratios:
            fastest_first = sorted(result.ratios.items(), key=lambda item: -item[1])
            parts = [f"{name}: {ratio:.3g}" for name, ratio in fastest_first]
            parts += [result.note] if result.note else []
        elif result.note:
            parts = [result.note]
        else:
            continue
        lines.append(f"| {result.title} | {result.threads} | {'; '.join(parts)} |")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def progress(result: Result) -> str:
    """Returns the lines of one comparison for a terminal, with times. The tables have ratios alone."""
    mark = "met   " if result.met else "MISSED"
    unit = f" {result.unit}" if result.unit else ""
    lines = [
        f"{mark} {result.title} [{result.threads} thread(s)]: median {result.median:.3g}{unit},"
        f" minimum {result.minimum:.3g}{unit}, goal {result.goal}, against {result.against}"
    ]
    if result.note:
        lines.append(f"         {result.note}")
    for name, cost in result.costs.items():
        spelled = f"{cost:.4g} {result.counted}" if result.counted else duration(cost)
        ratio = f"  (ratio {result.ratios[name]:.3g})" if name in result.ratios else ""
        lines.append(f"         {spelled:>9}  {name}{ratio}")
    return "\n".join(lines)
