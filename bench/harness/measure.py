"""Candidates, interleaved rounds, and the ratio of memarray to the fastest peer."""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

TOLERANCE = 0.03


@dataclass(frozen=True)
class Candidate:
    """One formulation. ``cost`` takes one sample: the seconds that one operation took."""

    name: str
    cost: Callable[[], float]


@dataclass(frozen=True)
class Comparison:
    """A comparison of memarray with the fastest of ``peers``. ``shown`` are printed but do not affect the goal."""

    title: str
    goal: float
    ours: Candidate
    peers: Sequence[Candidate]
    shown: Sequence[Candidate] = ()
    at_least: bool = False
    """True if the goal is a lower bound of the peer's cost divided by memarray's."""
    tolerance: float = TOLERANCE
    counted: str = ""
    """The unit of costs, if it is not seconds."""
    note: str = ""


@dataclass(frozen=True)
class Value:
    """A figure that is compared with a limit and not with a peer."""

    title: str
    limit: float
    unit: str
    samples: Sequence[float]
    note: str = ""


@dataclass
class Result:
    row: str
    title: str
    threads: int
    against: str
    goal: str
    median: float
    minimum: float
    met: bool
    unit: str = ""
    note: str = ""
    counted: str = ""
    costs: dict[str, float] = field(default_factory=dict)
    """Median cost of every candidate, memarray's first."""
    ratios: dict[str, float] = field(default_factory=dict)
    """Median of memarray's cost divided by each of the others, or the inverse for an ``at_least`` row."""


def timed(name: str, statement: str, seconds: float = 0.003, /, **names) -> Candidate:
    """Returns a candidate for a short statement. A sample is the mean of a batch of about ``seconds``.

    The clock is the thread's own, which stops while another process has the core.
    """
    timer = timeit.Timer(statement, timer=time.thread_time, globals=names)
    timer.timeit(1)  # the first run includes work that is done once
    number, taken = 1, timer.timeit(1)
    while taken < seconds / 4:
        number *= 4
        taken = timer.timeit(number)
    number = max(1, round(number * seconds / max(taken, 1e-9)))
    return Candidate(name, lambda: timer.timeit(number) / number)


def timed_call(
    name: str,
    call: Callable[[], object],
    *,
    before: Callable[[], object] = lambda: None,
    per: int = 1,
    clock: Callable[[], float] = time.process_time,
) -> Candidate:
    """Returns a candidate for a call that is long enough to be timed alone.

    Neither ``before`` nor dropping the result of ``call`` is timed. The process's own clock stops while another process
    has the core. Calls that use several threads need the wall clock.
    """

    def cost() -> float:
        before()
        start = clock()
        kept = call()
        taken = clock() - start
        del kept
        return taken / per

    return Candidate(name, cost)


def compare(row: str, comparison: Comparison, threads: int, rounds: int) -> Result:
    """Runs every candidate once a round, in a changing order. The median is that of the ratios within rounds."""
    candidates = [comparison.ours, *comparison.peers, *comparison.shown]
    order = list(range(len(candidates)))
    shuffler = random.Random(20)
    for candidate in candidates:
        candidate.cost()
    samples: list[list[float]] = [[] for _ in candidates]
    for _ in range(rounds):
        shuffler.shuffle(order)
        for index in order:
            samples[index].append(candidates[index].cost())

    def ratios(index: int) -> list[float]:
        pairs = zip(samples[0], samples[index], strict=True)
        return [theirs / ours if comparison.at_least else ours / theirs for ours, theirs in pairs]

    medians = [statistics.median(values) for values in samples]
    best = min(range(1, 1 + len(comparison.peers)), key=lambda index: medians[index])
    against = ratios(best)
    median = statistics.median(against)
    goal, slack = comparison.goal, comparison.tolerance
    return Result(
        row=row,
        title=comparison.title,
        threads=threads,
        against=candidates[best].name,
        goal=f"{'≥' if comparison.at_least else '≤'} {goal:g}",
        median=median,
        minimum=min(against),
        met=median >= goal - slack if comparison.at_least else median <= goal + slack,
        note=comparison.note,
        counted=comparison.counted,
        costs={candidate.name: value for candidate, value in zip(candidates, medians, strict=True)},
        ratios={candidates[i].name: statistics.median(ratios(i)) for i in range(1, len(candidates))},
    )


def judge(row: str, value: Value, threads: int) -> Result:
    median = statistics.median(value.samples)
    return Result(
        row=row,
        title=value.title,
        threads=threads,
        against="a limit",
        goal=f"≤ {value.limit:g} {value.unit}".rstrip(),
        median=median,
        minimum=min(value.samples),
        met=median <= value.limit,
        unit=value.unit,
        note=value.note,
    )
