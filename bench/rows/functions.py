"""The cost of binding a function that takes or returns memory: to call, to return, to compile."""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.measure import Candidate, Comparison, timed
from harness.peers import peer
from harness.registry import Setting, row

SIZE = 1000
COMPILATIONS = 5


def modules(*names: str) -> dict[str, object]:
    return {name: module for name in names if (module := peer(name)) is not None}


@row("arguments", "a C++ function called with a NumPy array")
def arguments(setting: Setting) -> Iterator[Comparison]:
    import numpy as np

    x = np.ones(SIZE, np.float32)
    for library, theirs, goal in (("pybind11", "py::array_t", 0.8), ("nanobind", "nb::ndarray", 1.0)):
        found = modules(f"{library}_views", f"{library}_functions")
        if len(found) < 2:
            continue
        ours, peers = (timed(name, "f(x)", f=module.look, x=x) for name, module in zip(
            (f"ArrayView, {library}", theirs), found.values(), strict=True))  # fmt: skip
        yield Comparison(f"f(NumPy array) by {library}", goal, ours, [peers])


@row("results", "an array of 1,000 floats made and returned by value, dropped")
def results(setting: Setting) -> Iterator[Comparison]:
    nanobind = peer("nanobind_functions")
    if nanobind is None:
        return
    shown = [timed("nanobind: as a NumPy array", "f()", f=nanobind.make_numpy)]
    if (pybind11 := peer("pybind11_functions")) is not None:
        shown.append(timed("pybind11: py::array_t", "f()", f=pybind11.make))
    for library in ("pybind11", "nanobind"):
        found = modules(f"{library}_views", f"{library}_functions")
        if len(found) < 2:
            continue
        ours, plain = found.values()
        mine = timed(f"MemArray, {library}", "f()", f=ours.make)
        theirs = timed("nanobind: owning nd-array", "f()", f=nanobind.make)
        floors = [
            timed(f"floor: the memory in a capsule, {library}", "f()", f=plain.make_capsule),
            timed(f"the memory in an object of a class bound by {library}", "f()", f=plain.make_owner),
        ]
        yield Comparison(f"an array returned by value, by {library}", 1.0, mine, [theirs], [*shown, *floors])


def compilation(source: str) -> list[str]:
    """Returns the command that compiled a source, with its object file discarded."""
    folder = next(Path(p) for p in sys.path if (Path(p) / "compile_commands.json").exists())
    commands = json.loads((folder / "compile_commands.json").read_text())
    entry = next(entry for entry in commands if Path(entry["file"]).name == source)
    command = shlex.split(entry["command"])
    command[command.index("-o") + 1] = "/dev/null"
    return [*command, "-DONE_FUNCTION"]


def compiled(name: str, source: str) -> Candidate:
    """Returns a candidate for the compiler's processor seconds. A run takes seconds, so a few serve all rounds."""
    command = compilation(source)
    taken: list[float] = []

    def cost() -> float:
        if len(taken) < COMPILATIONS:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return sorted(taken)[len(taken) // 2]

    return Candidate(name, cost)


@row("compile", "compiling a module with one function that takes memory")
def compile_time(setting: Setting) -> Iterator[Comparison]:
    found = modules("pybind11_functions", "pybind11_views", "nanobind_functions", "nanobind_views")
    if "pybind11_functions" not in found:
        return
    shown = [compiled("nb::ndarray", "nanobind_functions.cpp")] if "nanobind_functions" in found else []
    for library in ("pybind11", "nanobind"):
        if f"{library}_views" in found:
            ours = compiled(f"ArrayView, {library}", f"{library}_views.cpp")
            theirs = compiled("py::array_t", "pybind11_functions.cpp")
            yield Comparison(f"compiling a module of {library}", 1.3, ours, [theirs], shown)
