"""Compiling files of kernels: the compiler's time and memory, and the size of the code that it makes."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.kernel_sources import include, kernels
from harness.measure import Candidate, Comparison, Value
from harness.programs import absent, built
from harness.registry import Setting, row

COUNT = 40
COMPILATIONS = 3
BUILDS = {"optimized": ("-O3", "-DNDEBUG"), "debug": ("-O0", "-g")}

# Compiled beside ours if MEMARRAY_EARLIER names the folder of its package.
EARLIER = "earlier memarray"
# Limits of the time, the memory and the size. Before this row, 39 kernels took 15.2 s and 814 MB, and the header alone
# 1.15 s and 278 MB, where OpenMP took 1.04 s. Goals are a third and a half: times as ratios to OpenMP, memory in MB.
GOALS = {"OpenMP": (4.9, None, 5), "Kokkos": (1, 1, 1), EARLIER: (1 / 3, 1 / 3)}
KERNELS_IN_OPENMP = f"{COUNT} kernels in OpenMP"
INCLUDE_GOALS = {KERNELS_IN_OPENMP: (0.55,), "Kokkos": (1, 1), EARLIER: (1 / 2, 1 / 2)}
MEMORY, INCLUDE_MEMORY = 271, 139
# Before these rows, the kernels of `bandwidth` took 4.6 s where OpenMP took 0.4 s. The goal is a third.
BANDWIDTH = {"memarray": "memarray", "OpenMP": "openmp", "Kokkos": "kokkos", "TBB": "algorithms"}
BANDWIDTH_GOALS = {"OpenMP": (3.8,), "Kokkos": (1, 1, 1), "TBB": (1, 1, 1)}
INCLUDE = "`#include <memarray/memarray.hpp>`"


@dataclass(frozen=True)
class Compilation:
    seconds: float
    megabytes: float
    kilobytes: float


def command(model: str) -> list[str]:
    """Returns the compiler and the options of the program ``bandwidth``, without the optimization."""
    entries = json.loads(built("compile_commands.json").read_text())
    words = shlex.split(next(e["command"] for e in entries if Path(e["file"]).name == "bandwidth.cpp"))
    words = words[: words.index("-o")]
    if Path(words[0]).name == "ccache":
        words = words[1:]
    if model == EARLIER:
        earlier = os.environ["MEMARRAY_EARLIER"]
        if not Path(earlier, "include/memarray/memarray.hpp").exists():
            raise AssertionError(f"MEMARRAY_EARLIER={earlier} is no folder of memarray's package")
        words = [re.sub(r"/.*/memarray(?=/include)", earlier, word) for word in words]
    return [word for word in words if not re.match(r"-O|-g|-march|-DNDEBUG|-DWITH_", word)]


def compiled(model: str, source: str, options: tuple[str, ...]) -> Compilation:
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "kernels.cpp", Path(folder) / "kernels.o"
        file.write_text(source)
        process = subprocess.Popen([*command(model), *options, "-c", str(file), "-o", str(result)])
        _, status, usage = os.wait4(process.pid, 0)  # the usage of the compiler and its child processes alone
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise AssertionError(f"the kernels of {model} do not compile")
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


def sources(text: Callable[[str], str]) -> dict[str, str]:
    """Returns ``text(model)`` for memarray and each peer that is present."""
    made = {model: text(model) for model in ("memarray", "OpenMP", "Kokkos") if not absent(model)}
    return made | ({EARLIER: text("memarray")} if "MEMARRAY_EARLIER" in os.environ else {})


def absent_models() -> str:
    note = absent("OpenMP", "Kokkos")
    if "MEMARRAY_EARLIER" in os.environ:
        return note
    return f"{note or 'absent:'}{', ' if note else ' '}{EARLIER} (MEMARRAY_EARLIER names the folder of its package)"


def candidate(name: str, compilations: list[Compilation], figure: Figure) -> Candidate:
    """Returns a candidate that repeats a few compilations: they take seconds, and processor time varies little."""
    figures = itertools.cycle([figure.of(each) for each in compilations])
    return Candidate(name, lambda: next(figures))


def compare_compilations(
    title: str, made: dict[str, list[Compilation]], goals: dict[str, tuple[float | None, ...]], megabytes: float = 0
) -> Iterator[Comparison | Value]:
    """Yields the comparisons with ``goals``. ``megabytes``: the limit of the memory; 0 for no limit."""
    if megabytes:
        yield Value(f"{title}: peak memory", megabytes, "MB", [each.megabytes for each in made["memarray"]])
    for model in [model for model in goals if model in made]:
        for figure, goal in zip(FIGURES, goals[model], strict=False):
            if goal is None:
                continue
            yield Comparison(
                f"{title}: {figure.name}, {model}",
                goal,
                candidate("memarray", made["memarray"], figure),
                [candidate(model, made[model], figure)],
                counted=figure.counted,
                note=absent_models(),
            )


def in_turns(files: dict[str, str], options: tuple[str, ...], times: int) -> dict[str, list[Compilation]]:
    made: dict[str, list[Compilation]] = {model: [] for model in files}
    for _ in range(times):
        for model, source in files.items():
            made[model].append(compiled(model, source, options))
    return made


@row("compile-kernels", f"compiling a file of {COUNT} kernels over six arrays")
def compile_kernels(setting: Setting) -> Iterator[Comparison | Value]:
    count, times = (4, 1) if setting.quick else (COUNT, COMPILATIONS)
    for build, options in BUILDS.items():
        made = in_turns(sources(lambda model: kernels(model, count)), options, times)
        yield from compare_compilations(f"compiling {COUNT} kernels, {build}", made, GOALS, MEMORY)


@row("compile-include", "compiling a file that only includes memarray")
def compile_include(setting: Setting) -> Iterator[Comparison | Value]:
    times = 1 if setting.quick else setting.rounds
    files = sources(include)
    # `<omp.h>` compiles in almost no time, so the peer is a file of loops.
    if files.pop("OpenMP", None):
        files[KERNELS_IN_OPENMP] = kernels("OpenMP", COUNT)
    yield from compare_compilations(INCLUDE, in_turns(files, BUILDS["optimized"], times), INCLUDE_GOALS, INCLUDE_MEMORY)


@row("compile-bandwidth", "compiling the kernels of the row `bandwidth`, a file for each model")
def compile_bandwidth(setting: Setting) -> Iterator[Comparison | Value]:
    folder = Path(__file__).resolve().parents[1] / "native"
    present = {
        model: file for model, file in BANDWIDTH.items() if not absent(model.replace("standard algorithms", "TBB"))
    }
    files = {model: f'#include "{folder}/bandwidth_{file}.cpp"\n' for model, file in present.items()}
    for build, options in BUILDS.items():
        made = in_turns(files, options, 1 if setting.quick else COMPILATIONS)
        yield from compare_compilations(f"compiling the kernels of `bandwidth`, {build}", made, BANDWIDTH_GOALS)
