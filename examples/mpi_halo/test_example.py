"""What this project promises; run with the build folder on PYTHONPATH."""

import json
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
    return subprocess.run(
        [*command, "-m", "mpi4py", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """The plate after the steps, by so many ranks whose rows C++ or Python exchanges; each is run once."""
    folder = tmp_path_factory.mktemp("plates")

    def plate(ranks, halo):
        out = folder / f"{halo}-{ranks}"
        if not out.with_suffix(".npy").exists():
            options = ["--rows", ROWS, "--columns", COLUMNS, "--steps", STEPS, "--halo", halo, "--out", out]
            finished = mpiexec(ranks, HERE / "run_heat.py", *options)
            assert finished.returncode == 0, finished.stdout + finished.stderr
        return np.load(out.with_suffix(".npy")), json.loads(out.with_suffix(".json").read_text())

    return plate


def in_numpy():
    """The same numbers in the same order, by one process that knows nothing of memarray."""
    row, column = np.indices((ROWS, COLUMNS))
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
def test_nothing_was_copied_and_a_kept_frame_stayed(run, halo):
    _, report = run(4, halo)
    assert report["copies"] == 0
    assert report["unchanged"] is True


HELD = """
import memarray
from heat import Plate
from mpi4py import MPI

plate = Plate(8, 4, comm=MPI.COMM_SELF.py2f())
for held, call in ((plate.above, plate.exchange), (plate.field, plate.sweep), (plate.field, plate.step)):
    with held.read():
        try:
            call()
        except memarray.LockError:
            continue
    raise AssertionError("it went on under a lease")
plate.step()
try:
    Plate(0, 4, comm=MPI.COMM_SELF.py2f())
except ValueError:
    print("refused")
"""


def test_a_lease_stops_it_at_once():
    finished = mpiexec(1, "-c", HELD)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "refused" in finished.stdout
