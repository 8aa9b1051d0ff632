"""Devices that are emulated on the host, for tests of code that uses them.

>>> import memarray
>>> from memarray.testing import simulated_devices
>>> with simulated_devices(count=2) as sim:
...     stream = memarray.Stream(1)
...     stream.synchronize()
...     sim.calls("cuStreamSynchronize")
1

Leaving the block waits for all work, and raises what no program may do with devices.
"""

from __future__ import annotations

import functools
from types import TracebackType

from . import _core
from ._consumer import Consumer, ConsumerReading, ConsumerView

__all__ = ["Consumer", "ConsumerReading", "ConsumerView", "SimulatedDevices", "Violation", "simulated_devices"]


class Violation(AssertionError):
    """Something that no program may do with devices, seen while they were simulated; one line for each."""


class SimulatedDevices:
    """Simulated devices for the length of a ``with`` block, which makes this process use them instead of a real driver.

    Each stream is a thread, so that work nobody waited for is really concurrent. Device memory faults when the host
    touches it outside a simulated copy or kernel, and the touch is printed with address and allocation site: it ends
    the process, or with ``continue_after_touch`` is a violation. Resources made inside stay good after the block, and
    the counters can still be read. Leaving the block waits for all work; it raises `Violation` if there were any,
    unless another exception is on its way.

    Parameters
    ----------
    count : how many devices.
    memory : bytes of each.
    peer_access : whether they reach each other's memory.
    pools : whether they have stream-ordered memory pools.
    lend_as_cuda : lend their memory over DLPack as CUDA's instead of as an extension device's.
    continue_after_touch : a touch of device memory by the host opens it to the host instead of ending the process.
    late_copies : an asynchronous copy from or to pageable host memory reads or writes it when its stream comes to the
        copy, as CUDA's documents allow, and not before the call returns, as drivers mostly do.
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
            raise RuntimeError("simulated devices are there inside their 'with' block, and afterwards")
        return self._driver

    def fail(self, function: str, nth: int = 1, code: int = 2, times: int | None = None) -> None:
        """The ``nth`` call from now of a driver function, by its name without suffix, fails with ``code`` (2: out of
        memory), and so does each later one, or ``times`` of them. ValueError for an unknown name."""
        self._opened().fail(function, nth, code, -1 if times is None else times)

    def drop(self, function: str, nth: int = 1, times: int = 1) -> None:
        """The ``nth`` call from now, and ``times`` in all, says that it succeeded and does nothing. ValueError for a
        function that has something to give to its caller."""
        self._opened().drop(function, nth, times)

    def delay(self, seconds: float) -> None:
        """Each piece of work on a stream takes that much longer."""
        self._opened().delay(seconds)

    def clear(self) -> None:
        """Ends what ``fail``, ``drop`` and ``delay`` began."""
        self._opened().clear()

    def calls(self, function: str = "") -> int:
        """How often a driver function was called; without a name, all of them together."""
        return self._opened().calls(function)

    def live(self) -> dict[str, int]:
        """How many resources of each kind there are."""
        return self._opened().live()

    def live_resources(self) -> list[str]:
        """Each of them in words, with the line that made it where Python made it."""
        return self._opened().live_resources()

    def waits(self) -> list[str]:
        """Each wait for work so far, dropped ones included: ``"cuStreamWaitEvent: <where in the library>"``, and the
        blocking ones (cuEventSynchronize, cuStreamSynchronize, cuCtxSynchronize) likewise."""
        return self._opened().waits()

    def violations(self) -> list[str]:
        """What no program may do, in words, in the order in which it happened: calls on destroyed resources, resources
        destroyed before what depends on them, memory freed while work used it, host touches of device memory."""
        return self._opened().violations()


simulated_devices = SimulatedDevices
