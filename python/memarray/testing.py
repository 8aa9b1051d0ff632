"""Devices that are emulated on the host, for tests of code that uses devices.

>>> import memarray
>>> from memarray.testing import simulated_devices
>>> with simulated_devices(count=2) as sim:
...     stream = memarray.Stream(1)
...     stream.synchronize()
...     sim.calls("cuStreamSynchronize")
1

Leaving the block waits for all work, and raises `Violation` for what no program may do with devices.
"""

from __future__ import annotations

from ._consumer import Consumer
from ._core import ConsumerReading, ConsumerView, SimulatedDevices, Violation

__all__ = ["Consumer", "ConsumerReading", "ConsumerView", "SimulatedDevices", "Violation", "simulated_devices"]

simulated_devices = SimulatedDevices
