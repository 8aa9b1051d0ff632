"""Spots and stripes that grow where two substances spread and react."""

# [cython]
from ._analysis import count_above  # noqa: F401

# [/cython]
from ._core import Simulation  # noqa: F401
