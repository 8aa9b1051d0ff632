"""A DLPack consumer with which producers are tested."""

from __future__ import annotations

from . import _core
from ._device import Device
from .dlpack import kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged, kDLExtDev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ON_HOST = (kDLCPU, kDLCUDAHost)
_ON_DEVICE = (kDLCUDA, kDLCUDAManaged, kDLExtDev)


class Consumer:
    """A DLPack consumer with its own stream that reads, writes, keeps and drops late, on any device.

    Tests of producers need such a consumer. It asks for capsules as other libraries do, submits its work to its stream
    without waiting, and drops tensors while work on them is pending. It waits only for what the producer orders before
    its stream, so every wait that the producer forgets is an error. ``sim.delay`` of simulated devices makes that error
    certain.

    >>> import memarray
    >>> from memarray.testing import Consumer, simulated_devices
    >>> with simulated_devices():
    ...     a = memarray.MemArray([3])
    ...     a.move_memory(memarray.dlpack.kDLCUDA)
    ...     consumer = Consumer()
    ...     with a.read() as lease:
    ...         view = consumer.take(lease)
    ...         late = view.read()
    ...     view.drop()
    ...     late.result()
    array([0., 0., 0.])

    Parameters
    ----------
    device : the device on which it takes tensors, ``"cpu"`` or ``"cuda:0"``; it asks a producer with other memory for a
        transfer (``dl_device=``). None: the producer's device.
    stream : the stream in which it works, and which it passes to producers. None, 1 or 2: CUDA's default streams,
        passed as given; a `memarray.Stream`, an object with ``__cuda_stream__`` or an address: that stream; ``"own"``:
        its own nonblocking stream on each device, passed by address; -1: its own stream, but it asks the producer for
        no order. It has no meaning on the host.
    """

    def __init__(self, device: Device | str | None = None, stream: Any = "own") -> None:
        if isinstance(stream, str) and stream != "own":
            raise ValueError(f"stream is 'own', a stream or a number, not {_core.shown(stream)}")
        self._device = None if device is None else Device(device)
        self._stream = stream
        self._has_own = isinstance(stream, str) or (isinstance(stream, int) and stream == -1)
        self._own: dict[int, _core.Stream] = {}
        self._backlog = _core.make_consumer_backlog()

    def stream(self, device_id: int = 0) -> Any:
        """Returns the stream in which it works on a device: a `memarray.Stream`, or the `stream` that it was made
        with."""
        if not self._has_own:
            return self._stream
        if device_id not in self._own:
            self._own[device_id] = _core.Stream(device_id)
        return self._own[device_id]

    def take(self, source: Any, *, versioned: bool = True, copy: bool | None = None) -> _core.ConsumerView:
        """Takes a tensor from an object with ``__dlpack__``, and keeps it.

        ``versioned=False`` asks for DLPack's older struct. Errors of the producer are passed on.
        """
        kind, index = source.__dlpack_device__()
        arguments: dict[str, Any] = {}
        if self._device is not None:
            wanted = (kDLCPU, 0) if self._device.type == "cpu" else (kDLCUDA, self._device.index)
            if (kind in _ON_HOST) != (wanted[0] == kDLCPU) or index != wanted[1]:
                arguments["dl_device"] = wanted if kind not in _ON_DEVICE or wanted[0] == kDLCPU else (kind, wanted[1])
                kind, index = wanted
        if copy is not None:
            arguments["copy"] = copy
        if versioned:
            arguments["max_version"] = (1, 2)
        works_in: Any = None
        if kind not in _ON_HOST:
            works_in = self.stream(index)
            arguments["stream"] = works_in.handle if self._stream == "own" else self._stream
        return self._backlog.take(source.__dlpack__(**arguments), works_in)

    def synchronize(self) -> None:
        """Waits until all work that it queued has completed."""
        self._backlog.wait()


Consumer.__module__ = "memarray.testing"
