"""Compiling files of kernels: the compiler's time and memory, and the size of the code that it makes."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.kernel_sources import include, kernels
from harness.measure import Candidate, Comparison, Value
from harness.programs import absent, built
from harness.registry import Setting, row

COUNT = 40
COMPILATIONS = 3
BUILDS = {"optimized": ("-O3", "-DNDEBUG"), "debug": ("-O0", "-g")}

GOALS = {"OpenMP": 5, "Kokkos": 1}
INCLUDE = "`#include <memarray/memarray.hpp>`"


@dataclass(frozen=True)
class Compilation:
    seconds: float
    megabytes: float
    kilobytes: float


def command() -> list[str]:
    """The compiler and the options of the program ``bandwidth``, without the optimization."""
    entries = json.loads(built("compile_commands.json").read_text())
    words = shlex.split(next(e["command"] for e in entries if Path(e["file"]).name == "bandwidth.cpp"))
    words = words[: words.index("-o")]
    if Path(words[0]).name == "ccache":
        words = words[1:]
    return [word for word in words if not re.match(r"-O|-g|-march|-DNDEBUG|-DWITH_", word)]


def compiled(source: str, options: tuple[str, ...]) -> Compilation:
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "kernels.cpp", Path(folder) / "kernels.o"
        file.write_text(source)
        process = subprocess.Popen([*command(), *options, "-c", str(file), "-o", str(result)])
        _, status, usage = os.wait4(process.pid, 0)  # of the compiler alone, with what it started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise AssertionError("the kernels do not compile")
        sizes = subprocess.run(["size", str(result)], check=True, capture_output=True, text=True).stdout
        text = int(sizes.splitlines()[1].split()[0])
        return Compilation(usage.ru_utime, usage.ru_maxrss / 1e3, text / 1e3)


@dataclass(frozen=True)
class Figure:
    name: str
    of: Callable[[Compilation], float]
    counted: str = ""


FIGURES = (
    Figure("user time", lambda compilation: compilation.seconds),
    Figure("peak memory", lambda compilation: compilation.megabytes, "MB"),
    Figure("size of the code", lambda compilation: compilation.kilobytes, "kB"),
)


def peers() -> list[str]:
    return [model for model in GOALS if not absent(model)]


def candidate(name: str, compilations: list[Compilation], figure: Figure) -> Candidate:
    """A few compilations serve all rounds: they take seconds, and processor time varies little."""
    figures = itertools.cycle([figure.of(each) for each in compilations])
    return Candidate(name, lambda: next(figures))


def compare_compilations(
    title: str, made: dict[str, list[Compilation]], figures: Sequence[Figure]
) -> Iterator[Comparison]:
    for figure in figures:
        for model in [model for model in made if model != "memarray"]:
            yield Comparison(
                f"{title}: {figure.name}, {model}",
                GOALS[model],
                candidate("memarray", made["memarray"], figure),
                [candidate(model, made[model], figure)],
                counted=figure.counted,
                note=absent(*GOALS),
            )


def in_turns(sources: dict[str, str], options: tuple[str, ...], times: int) -> dict[str, list[Compilation]]:
    made: dict[str, list[Compilation]] = {model: [] for model in sources}
    for _ in range(times):
        for model, source in sources.items():
            made[model].append(compiled(source, options))
    return made


@row("compile-kernels", f"compiling a file of {COUNT} kernels over six arrays")
def compile_kernels(setting: Setting) -> Iterator[Comparison]:
    count, times = (4, 1) if setting.quick else (COUNT, COMPILATIONS)
    for build, options in BUILDS.items():
        made = in_turns({model: kernels(model, count) for model in ("memarray", *peers())}, options, times)
        yield from compare_compilations(f"compiling {COUNT} kernels, {build}", made, FIGURES)


@row("compile-include", "compiling a file that only includes memarray")
def compile_include(setting: Setting) -> Iterator[Comparison | Value]:
    times = 1 if setting.quick else setting.rounds
    made = in_turns({model: include(model) for model in ("memarray", *peers())}, BUILDS["optimized"], times)
    time, memory = FIGURES[:2]
    if "OpenMP" in made:
        # `<omp.h>` takes next to nothing, so the difference has a limit, as that of the import in Python has.
        pairs = list(zip(made["memarray"], made.pop("OpenMP"), strict=True))
        for figure, limit, unit in ((time, 1, "s"), (memory, 150, "MB")):
            ratio = statistics.median(figure.of(ours) / figure.of(theirs) for ours, theirs in pairs)
            over = [figure.of(ours) - figure.of(theirs) for ours, theirs in pairs]
            yield Value(f"{INCLUDE} over `<omp.h>`: {figure.name}", limit, unit, over, f"`<omp.h>`: {ratio:.3g}")
    yield from compare_compilations(INCLUDE, made, (time, memory))
