"""Heat on a plate, by several ranks: ``mpiexec -n 4 python -m mpi4py run_heat.py``. Rank 0 gathers the plate."""

import argparse
import json

import memarray
import numpy as np
from halo import exchange
from heat import Plate
from mpi4py import MPI


def gather(plate, rows, columns, comm):
    """Returns the whole plate on rank 0, None elsewhere. The others' rows arrive in an array's own memory."""
    counts = comm.gather(plate.field.size)
    if comm.rank:
        with plate.field.read() as own:
            comm.Gatherv(own, None)
        return None
    whole = memarray.MemArray([rows, columns])
    with plate.field.read() as own, whole.write() as lease:
        comm.Gatherv(own, [lease, counts])
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=61)
    parser.add_argument("--columns", type=int, default=48)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--halo", choices=("cpp", "python"), default="cpp", help="the language that exchanges the rows")
    parser.add_argument("--out", help="file without its suffix: .npy for the plate, .json for the counts")
    options = parser.parse_args()

    comm = MPI.COMM_WORLD
    plate = Plate(options.rows, options.columns, comm=comm.py2f())
    with plate.field.read() as lease:
        first = np.from_dlpack(lease)  # an escaped view: it does not change, and costs no copy
    begin = first.copy()
    if options.halo == "cpp":
        plate.step(options.steps)
    else:
        for _ in range(options.steps):
            with exchange(plate, comm):
                plate.sweep_interior()
            plate.sweep_border()
    unchanged = comm.allreduce(np.array_equal(first, begin), MPI.LAND)
    copies = comm.reduce(memarray.stats()["copies"])
    whole = gather(plate, options.rows, options.columns, comm)
    if whole is None:
        return
    field = np.from_dlpack(whole)
    print(f"{comm.size} ranks, {options.steps} steps: mean {field.mean():.6f}, {copies} copies on all ranks")
    if options.out:
        np.save(options.out + ".npy", field)
        with open(options.out + ".json", "w") as file:
            json.dump({"ranks": comm.size, "copies": copies, "unchanged": bool(unchanged)}, file)


main()
