"""Tests of the plate against NumPy and between numbers of ranks; run with the build folder on PYTHONPATH."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
ROWS, COLUMNS, STEPS = 61, 48, 100  # four ranks have 16, 15, 15, 15 rows


def mpiexec(ranks, *arguments):
    beside = Path(sys.executable).with_name("mpiexec")
    command = [beside if beside.exists() else shutil.which("mpiexec"), "-n", str(ranks), sys.executable]
    command += ["-m", "mpi4py", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Returns a function that runs each plate once, on several ranks whose rows C++ or Python exchanges."""
    folder = tmp_path_factory.mktemp("plates")

    def plate(ranks, halo, rows=ROWS, columns=COLUMNS):
        out = folder / f"{halo}-{ranks}-{rows}-{columns}"
        if not out.with_suffix(".npy").exists():
            options = ["--rows", rows, "--columns", columns, "--steps", STEPS, "--halo", halo, "--out", out]
            finished = mpiexec(ranks, HERE / "run_heat.py", *options)
            assert finished.returncode == 0, finished.stdout + finished.stderr
        return np.load(out.with_suffix(".npy")), json.loads(out.with_suffix(".json").read_text())

    return plate


def in_numpy(rows=ROWS, columns=COLUMNS):
    """Returns the plate, computed in the same order of operations by one process without memarray."""
    row, column = np.indices((rows, columns))
    x = np.where((row * 7 + column * 13) % 41 < 5, 0.5 + 0.001 * ((row + column) % 97), 0.0)
    x[:, 0] = 1.0
    for _ in range(STEPS):
        here = x[1:-1, 1:-1]
        sides = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        x[1:-1, 1:-1] = here + 0.2 * (sides - 4.0 * here)
    return x


@pytest.mark.parametrize("halo", ["cpp", "python"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_any_number_of_ranks_gives_the_same_bits(run, ranks, halo):
    plate, report = run(ranks, halo)
    one, _ = run(1, "cpp")
    assert report["ranks"] == ranks
    assert plate.tobytes() == one.tobytes()


def test_one_rank_computes_what_numpy_does(run):
    one, _ = run(1, "cpp")
    assert one.tobytes() == in_numpy().tobytes()
    assert one.std() > 0.05


@pytest.mark.parametrize("halo", ["cpp", "python"])
@pytest.mark.parametrize(("rows", "columns"), [(4, 48), (6, 7), (11, 2), (9, 1)])
def test_ranks_without_an_interior_compute_what_numpy_does(run, rows, columns, halo):
    plate, report = run(4, halo, rows, columns)  # at least one rank has one or two rows
    assert report["ranks"] == 4
    assert plate.tobytes() == in_numpy(rows, columns).tobytes()


@pytest.mark.parametrize("halo", ["cpp", "python"])
def test_nothing_was_copied_and_a_kept_frame_stayed(run, halo):
    _, report = run(4, halo)
    assert report["copies"] == 0
    assert report["unchanged"] is True


HELD = """
import memarray
import numpy as np
from heat import Plate
from mpi4py import MPI

plate, undisturbed = (Plate(8, 4, comm=MPI.COMM_SELF.py2f()) for _ in range(2))
before = np.array(plate.field)
for held, call in ((plate.above, plate.step), (plate.field, plate.sweep_border), (plate.field, plate.step)):
    with held.read():
        try:
            call()
        except memarray.LockError:
            continue
    raise AssertionError("it went on under a lease")
assert np.array_equal(np.asarray(plate.field), before)
for each in (plate, undisturbed):
    each.step(3)
assert np.asarray(plate.field).tobytes() == np.asarray(undisturbed.field).tobytes() != before.tobytes()
try:
    Plate(0, 4, comm=MPI.COMM_SELF.py2f())
except ValueError:
    print("refused")
"""


def test_step_is_refused_under_a_lease_and_changes_nothing():
    finished = mpiexec(1, "-c", HELD)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "refused" in finished.stdout


TRAVELLING = """
import memarray
import numpy as np
from halo import exchange
from heat import Plate
from mpi4py import MPI

comm = MPI.COMM_WORLD
plate = Plate(16, 4, comm=comm.py2f())
if comm.rank == 0:
    comm.recv(source=1, tag=2)             # the other rank has computed its interior, and has no row of this rank
with exchange(plate, comm):
    plate.sweep_interior()
    for array in (plate.above, plate.below, plate.field):
        try:
            array.fill(0)
        except memarray.LockError:
            continue
        raise AssertionError("MPI has the address of an array that is not leased")
    if comm.rank == 1:
        comm.send("ready", dest=0, tag=2)
plate.sweep_border()
print("computed" if np.asarray(plate.above if comm.rank else plate.below).any() else "no row")
"""


def test_interior_is_computed_while_rows_travel():
    finished = mpiexec(2, "-c", TRAVELLING)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    # The lines of two processes may run into each other.
    assert finished.stdout.count("computed") == 2
