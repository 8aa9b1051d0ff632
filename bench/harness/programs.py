"""The C++ programs of ``native/``: each prints, for every name, the seconds that one operation took in each round."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness.measure import Candidate


def built(name: str) -> Path:
    """What the benchmark's environment has built."""
    return next(Path(p) / name for p in sys.path if (Path(p) / name).exists())


def absent(*libraries: str) -> str:
    """A note of these libraries that CMake did not find, with the reasons; empty if there is none."""
    lines = [line for line in built("absent.txt").read_text().splitlines() if line.split()[0] in libraries]
    return f"absent: {', '.join(lines)}" if lines else ""


def sampled(name: str, *arguments: object, **variables: str) -> tuple[list[str], Callable[[str], Candidate]]:
    """Runs the program, which interleaves its contenders; their names, and what makes a candidate of one."""
    command = [str(built(name)), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **variables})
    seconds = {contender: iter(costs) for contender, costs in json.loads(done.stdout).items()}

    def candidate(contender: str, title: str = "") -> Candidate:
        return Candidate(title or contender, lambda: next(seconds[contender]))

    return list(seconds), candidate
