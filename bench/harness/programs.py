"""The C++ programs of ``native/``: each prints, for every name, the seconds that one operation took in each round."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from harness.measure import TOLERANCE, Candidate, Comparison

Sampled = tuple[list[str], Callable[[str, str], Candidate]]


def built(name: str) -> Path:
    """Returns the path of a file that the benchmark's environment has built."""
    return next(Path(p) / name for p in sys.path if (Path(p) / name).exists())


def absent(*libraries: str) -> str:
    """Returns a note of those libraries that CMake did not find, with the reasons; empty if there is none."""
    lines = [line for line in built("absent.txt").read_text().splitlines() if line.split()[0] in libraries]
    return f"absent: {', '.join(lines)}" if lines else ""


def sampled(name: str, *arguments: object, **variables: str) -> Sampled:
    """Runs the program, which interleaves its contenders. Returns their names and a function that makes candidates."""
    command = [str(built(name)), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **variables})
    seconds = json.loads(done.stdout)

    def candidate(contender: str, title: str = "") -> Candidate:
        costs = iter(seconds[contender])
        return Candidate(title or contender, lambda: next(costs))

    return list(seconds), candidate


def comparisons(
    program: Sampled,
    title: Callable[[str], str],
    goals: Mapping[str, float],
    peers: tuple[str, ...],
    libraries: tuple[str, ...] = ("OpenMP",),
    tolerance: float = TOLERANCE,
) -> Iterator[Comparison]:
    """Yields a comparison for each loop of ``goals``. The peers are the contenders whose names begin with one of
    ``peers``, or a plain loop if these are absent. The others are shown."""
    names, candidate = program
    for loop, goal in goals.items():
        made = {
            name: candidate(f"{loop} | {name}", name)
            for each, _, name in (n.partition(" | ") for n in names)
            if each == loop
        }
        beside = [name for name in made if name.startswith(peers)]
        beside = beside or [name for name in made if name.startswith("plain loop")]
        yield Comparison(
            title(loop),
            goal,
            made["memarray"],
            [made[name] for name in beside],
            [made[name] for name in made if name not in ("memarray", *beside)],
            tolerance=tolerance,
            note=absent(*libraries),
        )
