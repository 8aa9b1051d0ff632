"""Arrays, leases and views in MPI messages, through mpi4py: each scenario on two and on four ranks."""

import ast
import functools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="mpi4py and mpich of test/requirements.txt are not installed")
pytestmark = pytest.mark.sweep
PROGRAM = Path(__file__).with_name("mpi_scenarios.py")
# The test process must not initialize MPI, so the scenarios are parsed, not imported.
FUNCTIONS = {node.name: node for node in ast.parse(PROGRAM.read_text()).body if isinstance(node, ast.FunctionDef)}
ENDS_BADLY = ("device_memory_passed_to_mpi", "one_rank_fails")
SCENARIOS = [name for name, node in FUNCTIONS.items() if not node.args.args and name not in ENDS_BADLY]


def mpiexec(ranks, *arguments, limit=120):
    """Runs a program under mpiexec; returns the finished process with the output of all ranks."""
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = beside if beside.exists() else shutil.which("mpiexec")
    assert launcher, "mpi4py is here, but no mpiexec: install mpich"
    command = [launcher, "-n", str(ranks), sys.executable, "-m", "mpi4py", PROGRAM, *arguments]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit, check=False
    )


@functools.cache
def all_of(ranks):
    """Returns the output of all scenarios, run one after the other by one set of processes."""
    return mpiexec(ranks, *SCENARIOS).stdout


def succeeded(scenario, ranks, output):
    return all(f"{scenario}: rank {rank} of {ranks} succeeded" in output for rank in range(ranks))


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario_succeeds_on_all_ranks(scenario, ranks):
    if succeeded(scenario, ranks, all_of(ranks)):
        return
    # The scenario failed, or one before it did.
    alone = mpiexec(ranks, scenario)
    assert alone.returncode == 0, alone.stdout
    assert succeeded(scenario, ranks, alone.stdout), alone.stdout


def test_all_scenarios_succeed_in_one_run():
    assert len(SCENARIOS) >= 13
    for ranks in (2, 4):
        assert succeeded(SCENARIOS[-1], ranks, all_of(ranks)), all_of(ranks)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [3, 8])
def test_messages_in_any_order_on_more_ranks(ranks):
    finished = mpiexec(ranks, "messages_in_any_order", limit=900)
    assert succeeded("messages_in_any_order", ranks, finished.stdout), finished.stdout


def test_failing_rank_ends_all_ranks():
    finished = mpiexec(4, "one_rank_fails")
    assert finished.returncode != 0
    assert "this rank fails" in finished.stdout
    assert "of 4 succeeded" not in finished.stdout


def test_mpi_access_to_simulated_device_memory_is_an_error():
    finished = mpiexec(2, "device_memory_passed_to_mpi")
    assert finished.returncode != 0
    assert "host touch of simulated device memory" in finished.stdout
