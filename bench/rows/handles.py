"""Handles of streams and events beside the smallest owner of one, on a driver of empty functions."""

from __future__ import annotations

import os
from collections.abc import Iterator

from harness.measure import Comparison
from harness.programs import built, sampled
from harness.registry import Setting, row

GOAL = 1.25


@row("handles", "a handle of a stream or an event created and dropped, on a driver of empty functions")
def handles(setting: Setting) -> Iterator[Comparison]:
    milliseconds = 2 if setting.quick else 20
    folders = [str(built("empty_driver")), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    variables = {"LD_LIBRARY_PATH": os.pathsep.join(folders)}
    _, candidate = sampled("handle_costs", setting.rounds + 1, milliseconds, **variables)
    for kind in ("stream", "event"):
        yield Comparison(
            f"a handle of {'a' if kind == 'stream' else 'an'} {kind}, created and dropped, empty driver",
            GOAL,
            candidate(f"memarray {kind}"),
            [candidate(f"make_shared and two calls, {kind}")],
        )
