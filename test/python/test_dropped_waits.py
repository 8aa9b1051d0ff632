"""Each wait of the library is needed: if it is lost, a scenario here sees it.

docs/dropped_waits.md lists them with the scenarios that see each; MEMARRAY_WRITE_LIST=1 writes it anew.
"""

import collections
import functools
import os
import re
from pathlib import Path

import pytest
from memarray.testing import simulated_devices
from wait_scenarios import (
    SCENARIOS,
    World,
    a_kernel_then_a_fill,
    a_view_written_late_where_nobody_knows,
    writers_one_after_another,
)

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "docs" / "dropped_waits.md"
#: What each piece of work takes longer, so that what waits for nothing comes first.
DELAY = 0.01

#: Waits that no scenario here can miss, and why they are made all the same.
EXPLAINED = {
    "a lease's streams, after its kernel": "kernels under a lease's id are launched from C++: test_device_arrays.cpp",
    "an access from the host, after work on streams": "`ptr` and element access are C++'s: test_device_arrays.cpp",
    "a write from the host, after work on streams": "`ptr` and element access are C++'s: test_device_arrays.cpp",
    "a kernel that has a result": "sums and scans are C++'s: test_device_arrays.cpp",
    "reading an element": "element access is C++'s: test_device_arrays.cpp",
    "reading an element, after the array's writer": "element access is C++'s: test_device_arrays.cpp",
    "writing an element": "element access is C++'s: test_device_arrays.cpp",
    "writing an element, after the array's users": "element access is C++'s: test_device_arrays.cpp",
    "lending for any stream, after all users": "`get_dlpack_tensor` under a lock id is C++'s: test_device_arrays.cpp",
    "memory that goes back without a pool": (
        "arrays give memory back when its work is over; this is for who uses `DriverResource` alone: "
        "test_driver_resource.cpp"
    ),
    "memory that its last handle gives back": "for who uses `DevicePtrHandle`: test_device_ptr_handle.cpp",
    "memory that goes, after its last use": "made when the driver fails: test_device_memory.py, test_fault_sweep.py",
    "work whose end was not known": "made when the driver fails: test_fault_sweep.py",
}

#: What a wait says that names no place in the library: one that a program asks for by itself.
NOWHERE = "elsewhere"
#: How many of them there are: those of the scenario's own, and waits for work that reads what a kept view may write
#: where its holder's streams are not known, which name no place yet.
WITHOUT_PLACE = {a_kernel_then_a_fill: 1, writers_one_after_another: 1, a_view_written_late_where_nobody_knows: 1}


def run(scenario, lost=None):
    """The waits that a scenario makes, as (driver function, where); ``lost`` is the function and number of one to lose.
    Raises what the scenario sees."""
    with simulated_devices(**SCENARIOS[scenario]) as sim:
        world = World()
        before = len(sim.waits())
        sim.delay(DELAY)
        if lost:
            sim.drop(*lost)
        scenario(world)
        return [tuple(wait.split(": ", 1)) for wait in sim.waits()[before:]]


@functools.cache
def waits_of(scenario):
    """The places of the waits that a scenario makes, in their order, and of those whose loss it sees."""
    counts = collections.Counter()
    made, seen = [], set()
    for function, site in run(scenario):
        counts[function] += 1
        made.append(site)
        try:
            run(scenario, (function, counts[function]))
        except Exception:
            seen.add(site)
    return made, seen


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_losing_a_wait_is_seen(scenario):
    assert waits_of(scenario)[1], "no wait of this scenario matters to it"


def sites_in_the_sources():
    """What names a place where something is waited for: the last argument of the functions that wait."""
    waits = re.compile(
        r'(?<!report_)\b(?:order|synchronize|wait|wait_for|wait_for_now|hold_back|site)\((?:(?!report_wait)[^;{}"]|"[^"]*"(?=\s*:))*?"([^"]+)"'
    )
    either = re.compile(r'Use::read\s*\?\s*"([^"]+)"\s*:\s*"([^"]+)"')
    sites = set()
    for folder in ("memory", "array", "resource"):
        for path in sorted((ROOT / "src" / folder).rglob("*.cpp")):
            text = path.read_text()
            if "simulated/" not in path.as_posix():
                sites.update(waits.findall(text), *either.findall(text))
    return sites


def as_markdown(seen):
    lines = [
        "# Waits that were lost",
        "",
        "For people who change what memarray waits for. Each place in the library where a stream or the host waits,",
        "and the scenarios of `test/python/wait_scenarios.py` that see when that wait is lost; written by",
        "`test_dropped_waits.py` beside them.",
        "",
        "| where | seen by |",
        "|---|---|",
    ]
    for site in sorted(set(seen) | set(EXPLAINED)):
        lines.append(f"| {site} | {', '.join(sorted(seen.get(site, ()))) or EXPLAINED[site]} |")
    return "\n".join(lines) + "\n"


def test_every_wait_is_in_the_list():
    seen = collections.defaultdict(set)
    for scenario in SCENARIOS:
        for site in waits_of(scenario)[1] - {NOWHERE}:
            seen[site].add(scenario.__name__)
    if os.environ.get("MEMARRAY_WRITE_LIST"):
        LIST.write_text(as_markdown(seen))
    missed = sites_in_the_sources() - set(seen) - set(EXPLAINED)
    assert not missed, "no scenario misses these waits: remove them from the library, or explain them"
    assert not set(EXPLAINED) & set(seen), "these are explained, and seen"
    assert set(EXPLAINED) <= sites_in_the_sources(), "these are explained, and in no source"
    listed = dict(re.findall(r"^\| (.+?) \| (.+) \|$", LIST.read_text(), re.MULTILINE))
    assert set(listed) - {"where", "---"} == set(seen) | set(EXPLAINED), "MEMARRAY_WRITE_LIST=1 writes the list anew"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_every_wait_that_is_made_says_where(scenario):
    listed = set(EXPLAINED).union(*(waits_of(each)[1] for each in SCENARIOS)) - {NOWHERE}
    made = collections.Counter(waits_of(scenario)[0])
    assert made.pop(NOWHERE, 0) <= WITHOUT_PLACE.get(scenario, 0), "no scenario asks for a wait of its own"
    assert set(made) <= listed, "no scenario misses these waits"
