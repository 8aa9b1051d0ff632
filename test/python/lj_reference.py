"""Lennard-Jones in plain NumPy, all pairs, nearest images: slow, short, and independent of the C++ example."""

from __future__ import annotations

import numpy as np


def pair_terms(squared, cutoff, shifted_force):
    """Returns energy and force / r of pairs at these squared distances; zero from the cutoff on."""
    r = np.sqrt(squared)

    def energy_of(r):
        return 4.0 * (r**-12 - r**-6)

    def force_of(r):
        return 4.0 * (12.0 * r**-13 - 6.0 * r**-7)

    energy, force = energy_of(r), force_of(r)
    if shifted_force:
        energy = energy - energy_of(cutoff) + (r - cutoff) * force_of(cutoff)
        force = force - force_of(cutoff)
    inside = r < cutoff
    return np.where(inside, energy, 0.0), np.where(inside, force / r, 0.0)


def forces_and_energy(x, box, cutoff=2.5, shifted_force=True):
    """Returns forces (n, 3), energies per particle (n,), virials per particle (n,). Needs box >= 2 cutoff."""
    first, second = np.triu_indices(len(x), 1)
    d = x[first] - x[second]
    d -= box * np.rint(d / box)
    squared = (d * d).sum(axis=1)
    near = squared < cutoff * cutoff
    first, second, d, squared = first[near], second[near], d[near], squared[near]
    energy, force_over_r = pair_terms(squared, cutoff, shifted_force)
    pair_force = force_over_r[:, None] * d
    forces = np.empty_like(x)
    for axis in range(3):
        forces[:, axis] = np.bincount(first, pair_force[:, axis], len(x))
        forces[:, axis] -= np.bincount(second, pair_force[:, axis], len(x))
    halves = [
        0.5 * (np.bincount(first, values, len(x)) + np.bincount(second, values, len(x)))
        for values in (energy, force_over_r * squared)
    ]
    return forces, halves[0], halves[1]


def velocity_verlet(x, v, box, time_step, steps, cutoff=2.5):
    x, v = x.copy(), v.copy()
    forces = forces_and_energy(x, box, cutoff)[0]
    for _ in range(steps):
        v += 0.5 * time_step * forces
        x += time_step * v
        forces = forces_and_energy(x, box, cutoff)[0]
        v += 0.5 * time_step * forces
    return x, v
