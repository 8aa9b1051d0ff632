"""A pytest plugin, in force wherever memarray is installed: the fixture and the marker ``simulated_devices``.

The fixture is a block of simulated devices around the test; the marker's arguments are those of
`memarray.testing.simulated_devices`. A test that does what no program may do fails, and so does one that leaves
resources behind: it says where they were made.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from memarray.testing import SimulatedDevices

MARKER = "simulated_devices(count=2, *, memory=…, peer_access=True, pools=True, …): what the fixture's devices are like"


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome = yield
    if call.when == "call":
        item.stash[FAILED] = outcome.get_result().failed  # type: ignore[attr-defined]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def simulated_devices(request: pytest.FixtureRequest) -> Iterator[SimulatedDevices]:
    """Simulated devices around the test: see `memarray.testing.simulated_devices`."""
    from memarray.testing import simulated_devices

    marker = request.node.get_closest_marker("simulated_devices")
    with simulated_devices(*marker.args, **marker.kwargs) if marker else simulated_devices() as sim:
        yield sim
    if request.node.stash.get(FAILED, False):
        return  # its traceback holds what it used
    if any(sim.live().values()):
        # What pytest keeps of other fixtures goes first, and what cycles hold.
        request.node.funcargs.clear()
        gc.collect()
    left = sim.live_resources()
    if left:
        pytest.fail("the test left resources of the simulated devices behind:\n  " + "\n  ".join(left), pytrace=False)
