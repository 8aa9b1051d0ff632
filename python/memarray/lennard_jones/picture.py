"""The demo's picture: energies, g(r) and the particles."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from .analysis import Array, Sample


def draw(
    path: Path, samples: list[Sample], distribution: tuple[Array, Array], positions: Array, speeds: Array, box: float
) -> None:
    """Writes a PNG. Raises ImportError if matplotlib is not installed."""
    figure = import_module("matplotlib.figure").Figure(figsize=(15, 4.6), layout="constrained")
    particles = len(positions)

    energies = figure.add_subplot(1, 3, 1)
    steps = [each.step for each in samples]
    energies.plot(steps, [each.kinetic / particles for each in samples], label="kinetic", color="tab:red")
    energies.plot(steps, [each.potential / particles for each in samples], label="potential", color="tab:blue")
    energies.plot(steps, [each.total / particles for each in samples], label="total", color="black")
    energies.set(title="Energy per particle", xlabel="step", ylabel="energy / ε")
    energies.legend(loc="center right", frameon=False)

    radial = figure.add_subplot(1, 3, 2)
    radial.axhline(1.0, color="0.8", linewidth=1)
    radial.plot(*distribution, color="tab:purple")
    radial.set(title="Radial distribution", xlabel="r / σ", ylabel="g(r)", xlim=(0, distribution[0][-1]))

    cloud = figure.add_subplot(1, 3, 3, projection="3d")
    wrapped = positions - box * np.floor(positions / box)
    drawn = cloud.scatter(*wrapped.T, c=speeds, s=12, cmap="plasma", alpha=0.8, linewidths=0)
    cloud.set(title=f"{particles:,} particles", xlim=(0, box), ylim=(0, box), zlim=(0, box))
    cloud.set_box_aspect((1, 1, 1))
    figure.colorbar(drawn, ax=cloud, label="speed", shrink=0.7, pad=0.1)

    figure.savefig(path, dpi=120)
