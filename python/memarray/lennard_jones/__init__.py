"""Lennard-Jones molecular dynamics: a C++ simulation whose arrays Python borrows without copying.

The C++ side is the example project `examples/lennard_jones`. `python -m memarray demo` runs it. Your own program
controls it like this:

    from memarray.lennard_jones import Simulation

    simulation = Simulation(cells=6, temperature=1.44)
    simulation.step(100)
    with simulation.positions.read() as lease:
        x = np.from_dlpack(lease)  # the C++ member's memory; keep x, and it stays as it is now

Escaped views cost memory, never a copy.
"""

import memarray  # noqa: F401  the arrays' Python types

from ._lennard_jones import Simulation
from .checkpoint import load_checkpoint, save_checkpoint

__all__ = ["Simulation", "load_checkpoint", "save_checkpoint"]
