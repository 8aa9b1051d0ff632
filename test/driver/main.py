"""The command line of ./test/run, and its report."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import parts
from .commands import WORK, Absent, Part, PartFailed

PASSED, FAILED, ABSENT = "passed", "FAILED", "absent"


@dataclass
class Outcome:
    name: str
    status: str
    minutes: float
    detail: str
    repeat: str


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="test/run",
        description="Builds memarray and tests it, in environments that it makes under build/test: without options "
        "what a contributor runs, in minutes; --all runs everything that a change must pass. Parts whose inputs this "
        "tree or machine lacks are reported as absent.",
        epilog="The parts: " + ", ".join(parts.PARTS) + ". --list describes each.",
    )
    parser.add_argument("--only", metavar="PART[,PART]", help="run these parts alone")
    tier = parser.add_mutually_exclusive_group()
    tier.add_argument("--all", action="store_true", help="run all parts, as CI does")
    tier.add_argument(
        "--nightly",
        action="store_true",
        help="run all parts at full length, which takes hours: mutants, every Python, all architectures",
    )
    parser.add_argument("--list", action="store_true", help="list the parts and exit")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="compile N files at a time (2)")
    parser.add_argument(
        "--minutes", type=float, default=10, metavar="M", help="run each fuzzer of the part fuzz for M minutes (10)"
    )
    parser.add_argument(
        "--mutants", default="*", metavar="NAMES", help="try only the mutants whose names match this pattern ('*')"
    )
    parser.add_argument("--fresh", action="store_true", help="delete earlier builds and environments first")
    return parser.parse_args(argv)


def run_part(part: Part, check: Callable[[Part], None]) -> Outcome:
    name = part.name
    print(f"\n== {name}: {(check.__doc__ or '').strip()}", flush=True)
    part.log.unlink(missing_ok=True)
    started = time.monotonic()
    status, detail, repeat = PASSED, "", ""
    try:
        check(part)
        detail = part.notes[-1] if part.notes else ""
    except Absent as absent:
        status, detail = ABSENT, str(absent)
    except PartFailed as failed:
        status, detail, repeat = FAILED, str(failed), failed.repeat or part.again
    minutes = (time.monotonic() - started) / 60
    print(f"== {name}: {status} in {minutes:.1f} min" + (f": {detail}" if status != PASSED else ""), flush=True)
    if repeat:
        print(f"   again: {repeat}", flush=True)
    return Outcome(name, status, minutes, detail, repeat)


def report(outcomes: list[Outcome]) -> int:
    """Prints the table and the closing line; returns the exit status."""
    print(f"\n{'part':14}{'result':10}{'minutes':>8}  detail")
    for outcome in outcomes:
        print(f"{outcome.name:14}{outcome.status:10}{outcome.minutes:8.1f}  {outcome.detail}")
    print(f"{'all':24}{sum(outcome.minutes for outcome in outcomes):8.1f}")
    for outcome in outcomes:
        if outcome.repeat:
            print(f"{outcome.name} again: {outcome.repeat}")
    passed = sum(outcome.status == PASSED for outcome in outcomes)
    failed = sum(outcome.status == FAILED for outcome in outcomes)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def main(argv: list[str] | None = None, table: dict[str, Callable[[Part], None]] | None = None) -> int:
    # A shell starts background jobs with Ctrl-C ignored, and the tests inherit that. Some tests send SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = arguments(argv)
    table = parts.PARTS if table is None else table
    if options.list:
        for name, check in table.items():
            print(f"{name:14}{(check.__doc__ or '').strip()}")
        return 0
    is_quick = not (options.all or options.nightly)
    names = options.only.split(",") if options.only else parts.in_order(list(table))
    if is_quick and not options.only and table is parts.PARTS:
        names = parts.in_order(parts.QUICK)
        left_out = ", ".join(name for name in table if name not in names)
        print(f"The contributor's run. Left out: {left_out}, and long tests of the other parts. --all runs them.")
    unknown = [name for name in names if name not in table]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(table)}", file=sys.stderr)
        return 2
    if options.fresh:
        shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = [Part(name, options.jobs, options.nightly, options.minutes, is_quick, options.mutants) for name in names]
    return report([run_part(part, table[part.name]) for part in chosen])
