"""Analysis of borrowed arrays in Python: plain NumPy, in reduced units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._lennard_jones import Simulation

Array = NDArray[Any]


@dataclass(frozen=True)
class Sample:
    """A sample of a simulation; energies are totals."""

    step: int
    kinetic: float
    potential: float
    temperature: float
    pressure: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential


def sample(simulation: Simulation) -> Sample:
    """Returns energies, temperature and pressure, summed over views of the simulation's own memory."""
    with (
        simulation.velocities.read(device="cpu") as velocities_lease,
        simulation.energies.read(device="cpu") as energies_lease,
        simulation.virials.read(device="cpu") as virials_lease,
    ):
        velocities = np.from_dlpack(velocities_lease)
        kinetic = 0.5 * float(np.vdot(velocities, velocities))
        potential = float(np.from_dlpack(energies_lease).sum())
        virial = float(np.from_dlpack(virials_lease).sum())
    return Sample(
        step=simulation.steps_done,
        kinetic=kinetic,
        potential=potential,
        temperature=2.0 * kinetic / (3.0 * (simulation.particles - 1)),
        pressure=(2.0 * kinetic + virial) / (3.0 * simulation.box**3),
    )


def energy_drift(samples: list[Sample]) -> tuple[float, float]:
    """Returns the slope of the total energy times the run's length, and its largest deviation from the mean. Both are
    fractions of the mean kinetic energy."""
    kinetic = float(np.mean([each.kinetic for each in samples]))
    total = np.array([each.total for each in samples])
    steps = np.array([each.step for each in samples], dtype=float)
    span = float(steps[-1] - steps[0])
    slope = float(np.polyfit((steps - steps[0]) / span, total, 1)[0]) if span > 0 else 0.0
    return slope / kinetic, float(np.abs(total - total.mean()).max()) / kinetic


def tail_correction(density: float, cutoff: float) -> float:
    """Returns the energy per particle beyond a plain cut-off, for evenly spread particles."""
    return 8.0 / 3.0 * np.pi * density * (cutoff**-9 / 3.0 - cutoff**-3)


def radial_distribution(frames: Iterable[Array], box: float, bins: int = 200) -> tuple[Array, Array]:
    """Returns r and g(r): the probability of a particle at distance r from another, relative to an ideal gas."""
    largest = min(0.5 * box, 5.0)
    counts = np.zeros(bins)
    ideal = 0.0
    for frame in frames:
        x = np.asarray(frame)
        for first in range(0, len(x), 256):
            block = x[first : first + 256]
            squared = np.zeros((len(block), len(x) - first))
            for axis in range(3):
                difference = np.subtract.outer(block[:, axis], x[first:, axis])
                difference -= box * np.rint(difference / box)
                squared += difference * difference
            rows, columns = np.indices(squared.shape, sparse=True)
            distance = np.sqrt(squared[(columns > rows) & (squared < largest * largest)])
            counts += np.bincount((distance * (bins / largest)).astype(np.int64), minlength=bins)[:bins]
        ideal += 0.5 * len(x) * (len(x) - 1) / box**3
    edges = np.linspace(0.0, largest, bins + 1)
    shells = 4.0 / 3.0 * np.pi * np.diff(edges**3)
    return 0.5 * (edges[1:] + edges[:-1]), counts / (shells * max(ideal, 1e-300))


def mean_square_displacement(first: Array, last: Array) -> float:
    return float(((last - first) ** 2).sum(axis=1).mean())


def structure_factor(positions: Array, box: float, count: int = 64) -> Array:
    """Returns S(k) for the first `count` wave vectors along x that fit the box."""
    k = 2.0 * np.pi / box * np.arange(1, count + 1)
    phases = np.outer(k, positions[:, 0])
    return (np.cos(phases).sum(axis=1) ** 2 + np.sin(phases).sum(axis=1) ** 2) / len(positions)
