"""An ensemble of simulations on a cluster of processes, one of which is killed on the way."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
from pathlib import Path

import memarray
import numpy as np
from distributed import Client, LocalCluster, as_completed
from ensemble import Member, simulate


def digest(positions: memarray.MemArray) -> str:
    with positions.read() as lease:
        return hashlib.sha256(np.asarray(lease).reshape(-1)).hexdigest()


def kill_owner_of(client: Client, future) -> str:
    """Ends the worker that has a result, as the system does when memory runs out. The result is lost, too."""
    (address,) = client.who_has(future)[future.key]
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)
    return address


def in_processes(members: list[Member], workers: int, kill: bool) -> tuple[list[memarray.MemArray], dict]:
    """Returns each member's positions, in the members' order, and a report of the run."""
    report: dict = {"killed": None}
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        futures = client.map(simulate, members, pure=False)
        if kill:
            first = next(iter(as_completed(futures)))
            report["killed"] = kill_owner_of(client, first)
        copies = memarray.stats()["copies"]
        positions = client.gather(futures)
        report["copies"] = memarray.stats()["copies"] - copies
        report["copies_on_workers"] = sum(client.run(lambda: memarray.stats()["copies"]).values())
        report["adopted"] = sum(array.is_foreign for array in positions)
        holders = {address for addresses in client.who_has(futures).values() for address in addresses}
        report["lost"] = report["killed"] is not None and report["killed"] not in holders
    return positions, report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-kill", action="store_true", help="kill no worker")
    parser.add_argument("--out", type=Path, help="a JSON file for the report")
    options = parser.parse_args()

    members = [Member(seed, steps=options.steps) for seed in range(options.members)]
    positions, report = in_processes(members, options.workers, kill=not options.no_kill)
    serial = [simulate(member) for member in members]
    report["equal"] = sum(digest(a) == digest(b) for a, b in zip(positions, serial, strict=True))
    report["members"] = len(members)
    report["different"] = len({digest(a) for a in serial})

    spread = np.std([np.asarray(a).std() for a in positions])
    print(f"{len(members)} members on {options.workers} processes; killed: {report['killed'] or 'none'}")
    print(f"{report['equal']} are what a serial run gives, bit for bit; their spreads differ by {spread:.2e}")
    print(f"copies: {report['copies']} here, {report['copies_on_workers']} on the workers")
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if report["equal"] == len(members) else 1


if __name__ == "__main__":
    raise SystemExit(main())
