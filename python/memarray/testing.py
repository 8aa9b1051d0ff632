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

import functools
from types import TracebackType

from . import _core
from ._consumer import Consumer, ConsumerReading, ConsumerView

__all__ = ["Consumer", "ConsumerReading", "ConsumerView", "SimulatedDevices", "Violation", "simulated_devices"]


class Violation(AssertionError):
    """An error that no program may make with devices, seen while they were simulated; one line for each."""


class SimulatedDevices:
    """Simulated devices for the length of a ``with`` block, where this process uses them instead of a real driver.

    Each stream is a thread, so work without a wait is really concurrent. Device memory faults if the host accesses it
    outside a simulated copy or kernel. The access is printed with its address and allocation site. It ends the process,
    or is a violation with ``continue_after_touch``. Resources made in the block stay valid after it, and the counters
    can still be read. Leaving the block waits for all work. It raises `Violation` if there were any, unless another
    exception is propagating.

    Parameters
    ----------
    count : number of devices.
    memory : bytes of each device.
    peer_access : whether devices reach each other's memory.
    pools : whether devices have stream-ordered memory pools.
    lend_as_cuda : export their memory over DLPack as CUDA's instead of as an extension device's.
    continue_after_touch : a host access to device memory opens that memory to the host instead of ending the process.
    late_copies : an asynchronous copy from or to pageable host memory accesses that memory when its stream reaches the
        copy, as CUDA's documents allow. Otherwise it does so before the call returns, as most drivers do.
    """

    def __init__(
        self,
        count: int = 2,
        *,
        memory: int = 256 << 20,
        peer_access: bool = True,
        pools: bool = True,
        lend_as_cuda: bool = False,
        continue_after_touch: bool = False,
        late_copies: bool = False,
    ) -> None:
        self._make = functools.partial(
            _core.SimulatedDevices,
            count=count,
            memory=memory,
            peer_access=peer_access,
            pools=pools,
            lend_as_cuda=lend_as_cuda,
            continue_after_touch=continue_after_touch,
            late_copies=late_copies,
        )
        self._driver: _core.SimulatedDevices | None = None

    def __enter__(self) -> SimulatedDevices:
        if self._driver is not None:
            raise RuntimeError("these simulated devices were entered already; make new ones for another block")
        self._driver = self._make()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        driver = self._opened()
        driver.end()
        if exc_type is None and (violations := driver.violations()):
            raise Violation("\n".join(violations))

    def _opened(self) -> _core.SimulatedDevices:
        if self._driver is None:
            raise RuntimeError("these simulated devices are not open: enter their 'with' block first")
        return self._driver

    def fail(self, function: str, nth: int = 1, code: int = 2, times: int | None = None) -> None:
        """Makes the ``nth`` call from now of a driver function fail with ``code`` (2: out of memory). Each later call
        fails too, or ``times`` calls in all. `function` is the name without suffix. ValueError for an unknown name."""
        self._opened().fail(function, nth, code, -1 if times is None else times)

    def drop(self, function: str, nth: int = 1, times: int = 1) -> None:
        """Makes the ``nth`` call from now report success and do nothing, for ``times`` calls in all. ValueError for a
        function that returns a result to its caller."""
        self._opened().drop(function, nth, times)

    def delay(self, seconds: float) -> None:
        """Delays each piece of work on a stream by that time."""
        self._opened().delay(seconds)

    def clear(self) -> None:
        """Ends the effects of ``fail``, ``drop`` and ``delay``."""
        self._opened().clear()

    def calls(self, function: str = "") -> int:
        """Returns the number of calls of a driver function; without a name, of all functions."""
        return self._opened().calls(function)

    def live(self) -> dict[str, int]:
        """Returns the number of live resources of each kind."""
        return self._opened().live()

    def live_resources(self) -> list[str]:
        """Describes each live resource, with the line of Python that made it, if Python did."""
        return self._opened().live_resources()

    def waits(self) -> list[str]:
        """Returns each wait for work so far, also those dropped by ``drop``, as ``"cuStreamWaitEvent: <where in the
        library>"``. The blocking waits (cuEventSynchronize, cuStreamSynchronize, cuCtxSynchronize) are included."""
        return self._opened().waits()

    def violations(self) -> list[str]:
        """Describes the violations in the order in which they happened: calls on destroyed resources, resources
        destroyed before their dependants, memory freed while work used it, host accesses to device memory."""
        return self._opened().violations()


simulated_devices = SimulatedDevices
