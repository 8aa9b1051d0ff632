"""One member of the ensemble, computed alike by a worker and by a serial program."""

from __future__ import annotations

from dataclasses import dataclass

from memarray import MemArray
from memarray.lennard_jones import Simulation


@dataclass(frozen=True)
class Member:
    """A liquid that begins from its own random velocities."""

    seed: int
    temperature: float = 1.44
    cells: int = 4
    steps: int = 200


def simulate(member: Member) -> MemArray:
    """Returns the positions after the last step: the C++ simulation's own array, which is sent without a copy.

    The positions depend on the member alone, not on the threads or the process that compute them.
    """
    simulation = Simulation(cells=member.cells, temperature=member.temperature, seed=member.seed)
    simulation.step(member.steps)
    return simulation.positions
