"""A pytest plugin, active wherever memarray is installed: the fixture and the marker ``simulated_devices``.

The fixture is a block of simulated devices around the test. The marker takes the arguments of
`memarray.testing.simulated_devices`. A test fails if it does what no program may do, or if it leaves resources behind:
the message says where they were made. The report of a failed test lists the resources that were then alive.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from memarray.testing import SimulatedDevices

MARKER = "simulated_devices(count=2, *, memory=…, peer_access=True, pools=True, …): properties of the fixture's devices"


FAILED = pytest.StashKey[bool]()
DEVICES = pytest.StashKey["SimulatedDevices"]()
#: Number of violations in the test's report.
REPORTED = pytest.StashKey[int]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    devices = item.stash.get(DEVICES, None)
    if devices and outcome.excinfo is None and (violations := devices.violations()):
        item.stash[REPORTED] = len(violations)
        words = "the test broke rules that every program must keep:\n  " + "\n  ".join(violations)
        outcome.force_exception(pytest.fail.Exception(words, pytrace=False))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    if call.when != "call":
        return
    report = outcome.get_result()
    item.stash[FAILED] = report.failed
    devices = item.stash.get(DEVICES, None)
    if not (report.failed and devices):
        return
    violations, living = devices.violations(), devices.live_resources()
    lines = violations[item.stash.get(REPORTED, 0) :] + [f"alive: {line}" for line in living]
    item.stash[REPORTED] = len(violations)
    if lines:
        report.sections.append(("simulated devices", "\n".join(lines)))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def simulated_devices(request: pytest.FixtureRequest) -> Iterator[SimulatedDevices]:
    """Simulated devices around the test: see `memarray.testing.simulated_devices`. A host access to their memory fails
    the test and not the process, unless the marker says ``continue_after_touch=False``."""
    from memarray.testing import Violation, simulated_devices

    marker = request.node.get_closest_marker("simulated_devices")
    options = {"continue_after_touch": True, **(marker.kwargs if marker else {})}
    stash = request.node.stash
    try:
        with simulated_devices(*(marker.args if marker else ()), **options) as sim:
            stash[DEVICES] = sim
            yield sim
    except Violation:
        # The report has the violations that happened before the end of the test.
        if len(sim.violations()) > stash.get(REPORTED, 0):
            raise
    if stash.get(FAILED, False):
        return  # its traceback keeps resources alive
    if any(sim.live().values()):
        # First drop what pytest keeps of other fixtures and of the test's own object, and what cycles keep.
        request.node.funcargs.clear()
        own = vars(request.instance) if request.instance is not None else {}
        for name in [name for name in own if not name.startswith("_")]:
            del own[name]
        gc.collect()
    left = sim.live_resources()
    if left:
        pytest.fail("the test left resources of the simulated devices behind:\n  " + "\n  ".join(left), pytrace=False)
