"""Small and uneven loops, whose launches cost as much as their work, beside OpenMP."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison, Value
from harness.programs import comparisons, sampled
from harness.registry import Setting, row


def milliseconds(setting: Setting) -> int:
    return 1 if setting.quick else 5


# In nanoseconds, on a machine where the loop in OpenMP takes 210.
LIMITS = {"one array": 40, "six arrays": 150}
OPENMP = 210


@row("launches", "for_each_index over 8 elements of one, two and six arrays, from C++")
def launches(setting: Setting) -> Iterator[Comparison | Value]:
    program = sampled("launches", setting.rounds + 1, milliseconds(setting))
    goals = {loop: round(limit / OPENMP, 2) for loop, limit in LIMITS.items()}
    yield from comparisons(
        program,
        "a launch over 8 elements, {}".format,
        {"one array": goals["one array"], "two arrays": 1.0, "six arrays": goals["six arrays"]},
        peers=("OpenMP",),
        tolerance=0,
    )
    for loop, limit in LIMITS.items():
        ours = program[1](f"{loop} | memarray", "")
        nanoseconds = [1e9 * ours.cost() for _ in range(setting.rounds + 1)]
        note = f"the limit holds where OpenMP takes {OPENMP} ns"
        yield Value(f"a launch over 8 elements, {loop}: time", limit, "ns", nanoseconds, note)


@row("uneven-work", "loops over indices of uneven cost, from C++", threads=(2,))
def uneven_work(setting: Setting) -> Iterator[Comparison]:
    loops = ("64 indices of 20,000 sines, the first of one", "256 indices, index i of 50·i sines")
    yield from comparisons(
        sampled("uneven_work", setting.threads, setting.rounds + 1),
        "uneven work: {}".format,
        dict.fromkeys(loops, 1.05),
        peers=("OpenMP, schedule(dynamic)",),
    )


@row("cells", "particles sorted into cells as in the demo, by sort_by_key and by atomics, from C++", threads=(1, 2))
def cells(setting: Setting) -> Iterator[Comparison]:
    yield from comparisons(
        sampled("cells", setting.threads, setting.rounds + 1, milliseconds(setting)),
        "{} sorted into cells by `sort_by_key`".format,
        dict.fromkeys(("864 particles", "32,000 particles"), 1.0),
        peers=("memarray: slots by atomics",),
        libraries=(),
    )


@row("stencil", "a step of heat on a plate of 100×100, and an interior beside a whole array, from C++")
def stencil(setting: Setting) -> Iterator[Comparison]:
    yield from comparisons(
        sampled("stencil", setting.rounds + 1, milliseconds(setting)),
        str,
        {"a step of heat, 100×100": 1.0, "a launch over 98×98 elements, the interior of 100×100": 1.05},
        peers=("OpenMP", "memarray: whole arrays"),
    )


@row("indices", "types of the index, and a short launch that names large arrays, from C++")
def indices(setting: Setting) -> Iterator[Comparison]:
    loops = ("4,096 doubles by a 64-bit index", "16 indices of arrays of 128 MiB, two threads permitted")
    yield from comparisons(
        sampled("indices", setting.rounds + 1, milliseconds(setting)),
        "a launch over {}".format,
        dict.fromkeys(loops, 1.05),
        peers=("memarray: ",),
        libraries=(),
    )


@row("proxy", "a step of 40 launches under one hold, over 1,000 and 27,000 elements, from C++")
def proxy(setting: Setting) -> Iterator[Comparison]:
    loops = ("1,000 elements", "27,000 elements")
    yield from comparisons(
        sampled("proxy", setting.rounds + 1, milliseconds(setting)),
        "a step of 40 launches over {}".format,
        dict.fromkeys(loops, 1.0),
        peers=("OpenMP",),
    )
