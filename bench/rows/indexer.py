"""ArrayIndexer and ArrayView beside pointers and strides written by hand: instructions, counted by callgrind."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.measure import Candidate, Comparison
from harness.programs import built
from harness.registry import Setting, row

# Title, elements, the raw loop of the goal, and one shown beside it.
LOOPS = {
    "nested": ("three nested loops, `*a.get(a({i, j, k}))`", 2000 * 64 * 48, "raw", None),
    "gather": ("down the columns, `*a.get(a({i, j}))`", 2000 * 64, "raw", None),
    "view": ("three nested loops, `view(i, j, k)`", 2000 * 64 * 48, "raw", None),
    "dense": ("three nested loops, `view(i, j, k)`, C order", 2000 * 64 * 48, "raw", None),
    # get_indices saves cycles, not instructions: it is compared with the same arithmetic by hand.
    "linear": ("one loop, `a.get_indices(linear)`", 2000 * 64, "narrow", "raw"),
}
VIEWS = ("view", "dense")
ROWS = 2000


#: The functions of the loops whose functions have other names.
FUNCTIONS = {
    "view_raw": "nested_strides",
    "view_indexer": "nested_view",
    "dense_raw": "nested_raw",
    "dense_indexer": "nested_view",
}


def instructions(program: Path, which: str) -> float:
    function = FUNCTIONS.get(which, which)
    options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect=*{function}*"]
    command = ["valgrind", *options, str(program), which, str(ROWS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(re.search(r"Collected\s*:\s*(\d+)", done.stderr)[1])


@row("indexer", "ArrayIndexer and ArrayView in a loop, instructions per element")
def indexer(setting: Setting) -> Iterator[Comparison]:
    if shutil.which("valgrind") is None:
        print("bench: valgrind is absent, the indexer row is left out")
        return
    program = built("indexer_loops")
    names = {"raw": "raw loop", "narrow": "raw loop, 32-bit division where it fits"}

    def counted(loop: str, kind: str, elements: int) -> Candidate:
        # The count is exact: one run serves every round.
        count = instructions(program, f"{loop}_{kind}") / elements
        ours = "ArrayView" if loop in VIEWS else "ArrayIndexer"
        return Candidate(names.get(kind, ours), lambda: count)

    for loop, (title, elements, raw, beside) in LOOPS.items():
        yield Comparison(
            f"{'ArrayView' if loop in VIEWS else 'ArrayIndexer'}, {title}: instructions per element",
            1.01,
            counted(loop, "indexer", elements),
            [counted(loop, raw, elements)],
            [counted(loop, beside, elements)] if beside else [],
            tolerance=0.0,
            counted="instructions",
        )
