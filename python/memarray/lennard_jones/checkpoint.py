"""Checkpoints from which a simulation continues with bit-identical positions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ._lennard_jones import Simulation

FORMAT = "memarray.lennard_jones checkpoint"
VERSION = 1


def save_checkpoint(simulation: Simulation, path: str | os.PathLike[str]) -> None:
    """Writes positions, velocities and options to `path` (an .npz file), completely or not at all.

    Forces are not saved: they follow from the positions, to the last bit.
    """
    simulation.step(0)  # completes a step that a lease interrupted
    path = Path(path)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "steps_done": simulation.steps_done,
        "options": simulation.options,
    }
    # In the folder of its target, so that one rename replaces it: readers see the old file or the new one.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with (
            simulation.positions.read(device="cpu") as positions,
            simulation.velocities.read(device="cpu") as velocities,
        ):
            with open(unfinished, "wb") as file:
                np.savez(
                    file,
                    positions=np.from_dlpack(positions),
                    velocities=np.from_dlpack(velocities),
                    metadata=np.array(json.dumps(metadata)),
                )
                file.flush()
                os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def load_checkpoint(path: str | os.PathLike[str]) -> Simulation:
    """Returns a new simulation that continues exactly from the saved state."""
    arrays, metadata = _read(Path(path))
    simulation = Simulation(**metadata["options"])
    for name in ("positions", "velocities"):
        saved = arrays[name]
        array = getattr(simulation, name)
        if saved.dtype != np.float64 or saved.shape != tuple(array.shape) or not np.isfinite(saved).all():
            raise ValueError(f"{path}: {name} should be {tuple(array.shape)} finite float64 numbers")
        array.read_numpy_array(saved)
    simulation.steps_done = metadata["steps_done"]
    simulation.compute_forces()
    return simulation


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such checkpoint")
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("positions", "velocities")}
            metadata = json.loads(str(file["metadata"]))
        known = metadata["format"] == FORMAT and {"steps_done", "options", "version"} <= metadata.keys()
    except Exception as error:
        raise ValueError(f"{path}: not a checkpoint of this simulation, or a damaged one ({error})") from error
    if not known:
        raise ValueError(f"{path}: not a checkpoint of this simulation")
    if metadata["version"] != VERSION:
        raise ValueError(f"{path}: has format version {metadata['version']}, this program reads {VERSION}")
    return arrays, metadata
