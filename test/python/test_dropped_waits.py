"""Each wait of the library is needed: if it is dropped, a scenario here fails.

docs/dropped_waits.md lists the waits with the scenarios that detect each. MEMARRAY_WRITE_LIST=1 rewrites it.
"""

import collections
import functools
import itertools
import os
import re
from pathlib import Path

import pytest
from device_world import World
from memarray.testing import simulated_devices
from wait_scenarios import SCENARIOS, a_kernel_then_a_fill, writers_one_after_another

pytestmark = pytest.mark.sweep

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "docs" / "dropped_waits.md"
#: The added duration of each piece of work, so that work that does not wait runs first.
DELAY = 0.01
#: Each run has new contents, because reused memory may still hold those of the last.
STARTS = itertools.count()

#: Waits that no scenario here detects, and the reason for each.
EXPLAINED = {
    "reading an element": "the driver waits itself: a copy to ordinary memory is over when its call returns",
    "freeing memory, after its last use": "made when the driver fails: test_device_memory.py, test_fault_sweep.py",
    "work without an event to wait for": "made when the driver fails: test_fault_sweep.py",
    "checking for a lost context": "asked when a kernel or a call failed: test_throwing_kernels.cpp, test_last_use.cpp",
    "work that could not be recorded": "made when the host has no memory left",
    "work whose end was not known": "made when the driver fails: test_fault_sweep.py",
}

#: The site of a wait that names no place in the library, because the program requested it.
NOWHERE = "elsewhere"
#: The number of such waits that each scenario makes itself.
WITHOUT_PLACE = {a_kernel_then_a_fill: 1, writers_one_after_another: 1}
#: The factors on the delay: a busy machine needs the larger one to show a dropped wait.
PATIENCE = (1, 5)


def run(scenario, lost=None, patience=1):
    """Runs a scenario and returns its waits, as (driver function, site).

    ``lost`` is the function and number of a wait to drop. Raises the exception of the scenario.
    """
    with simulated_devices(**SCENARIOS[scenario]) as sim:
        world = World(start=next(STARTS))
        world.prepare_delays()
        before = len(sim.waits())
        sim.delay(DELAY * patience)
        if lost:
            sim.drop(*lost)
        scenario(world)
        return [tuple(wait.split(": ", 1)) for wait in sim.waits()[before:]]


@functools.cache
def waits_of(scenario, patience=1):
    """Returns the sites of the waits of a scenario, in order, and the sites whose dropped wait it detects."""
    counts = collections.Counter()
    made, seen = [], set()
    for function, site in run(scenario):
        counts[function] += 1
        made.append(site)
        try:
            run(scenario, (function, counts[function]), patience)
        except Exception:
            seen.add(site)
    return made, seen


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_every_scenario_detects_a_dropped_wait(scenario):
    assert any(waits_of(scenario, patience)[1] for patience in PATIENCE), "no wait of this scenario matters to it"


def sites_in_the_sources():
    """Returns all wait sites: the last arguments of the functions that wait."""
    waits = re.compile(
        r'(?<!report_)\b(?:order|synchronize|wait|wait_for|wait_for_now|wait_here|hold_back|site)\((?:(?!report_wait)[^;{}"]|"[^"]*"(?=\s*:))*?"([^"]+)"'
    )
    either = re.compile(r'Use::read\s*\?\s*"([^"]+)"\s*:\s*"([^"]+)"')
    named = re.compile(r'constexpr char const\* (?:no_event|not_recorded|freeing_memory) = "([^"]+)"')
    sites = set()
    for folder in (
        "src/memory",
        "src/launch",
        "src/strided",
        "src/state",
        "src/view",
        "src/kernel",
        "src/driver",
        "include/memarray/detail/memory",
    ):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            text = path.read_text()
            if "simulated/" not in path.as_posix():
                sites.update(waits.findall(text), named.findall(text), *either.findall(text))
    return sites


def seen_in_cpp():
    """Returns, for each site whose dropped wait a C++ program detects, the names of the programs."""
    programs = collections.defaultdict(set)
    table = (ROOT / "test/cpp/array/test_dropped_waits.cpp").read_text()
    for site, program in re.findall(r'^    \{"([^"]+)",\s+"([^"]+)"', table, re.MULTILINE):
        programs[site].add(f"C++: {program}")
    return programs


def as_markdown(seen):
    lines = [
        "# Dropped waits",
        "",
        "For people who change what memarray waits for. The table lists each place in the library where a stream or",
        "the host waits. Beside it are the scenarios of `test/python/wait_scenarios.py`, or programs of",
        "`test/cpp/array/test_dropped_waits.cpp`, that fail if that wait is dropped. Written by",
        "`test/python/test_dropped_waits.py`.",
        "",
        "| where | detected by |",
        "|---|---|",
    ]
    for site in sorted(set(seen) | set(EXPLAINED)):
        lines.append(f"| {site} | {', '.join(sorted(seen.get(site, ()))) or EXPLAINED[site]} |")
    return "\n".join(lines) + "\n"


def test_every_wait_site_is_listed_or_explained():
    seen = seen_in_cpp()
    for patience in PATIENCE:
        for scenario in SCENARIOS:
            for site in waits_of(scenario, patience)[1] - {NOWHERE}:
                seen[site].add(scenario.__name__)
        missed = sites_in_the_sources() - set(seen) - set(EXPLAINED)
        if not missed:
            break
    assert not missed, "no scenario detects that these waits are dropped: remove or explain them"
    assert not set(EXPLAINED) & set(seen), "these are explained, and detected"
    assert set(EXPLAINED) <= sites_in_the_sources(), "these are explained, and in no source"
    if os.environ.get("MEMARRAY_WRITE_LIST"):
        LIST.write_text(as_markdown(seen))
    listed = dict(re.findall(r"^\| (.+?) \| (.+) \|$", LIST.read_text(), re.MULTILINE))
    assert set(listed) - {"where", "---"} == set(seen) | set(EXPLAINED), "MEMARRAY_WRITE_LIST=1 writes the list anew"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_every_executed_wait_names_a_listed_site(scenario):
    listed = set(re.findall(r"^\| (.+?) \| .+ \|$", LIST.read_text(), re.MULTILINE))
    made = collections.Counter(waits_of(scenario)[0])
    assert made.pop(NOWHERE, 0) <= WITHOUT_PLACE.get(scenario, 0), "no scenario asks for a wait of its own"
    assert set(made) <= listed, "no scenario detects that these waits are dropped"
