"""A DLPack consumer with which producers are tested."""

from __future__ import annotations

from types import TracebackType

from . import _core
from ._device import Device
from ._dtypes import numpy_dtype
from .dlpack import kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged, kDLExtDev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

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
        self._backlog = _core.ConsumerBacklog()

    def stream(self, device_id: int = 0) -> Any:
        """Returns the stream in which it works on a device: a `memarray.Stream`, or the `stream` that it was made
        with."""
        if not self._has_own:
            return self._stream
        if device_id not in self._own:
            self._own[device_id] = _core.Stream(device_id)
        return self._own[device_id]

    def take(self, source: Any, *, versioned: bool = True, copy: bool | None = None) -> ConsumerView:
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
        return ConsumerView(self._backlog.take(source.__dlpack__(**arguments), works_in))

    def synchronize(self) -> None:
        """Waits until all work that it queued has completed."""
        self._backlog.wait()


class ConsumerView:
    """A tensor that a `Consumer` took. It is kept until ``drop()``, the end of a ``with`` block, or its collection."""

    def __init__(self, tensor: _core.ConsumerTensor) -> None:
        self._tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor."""
        return self._tensor.shape

    @property
    def dtype(self) -> np.dtype[Any] | str:
        """The element type, an ``np.dtype``; the name if NumPy has none."""
        return numpy_dtype(self._tensor.dtype_name, self._tensor.typestr)

    @property
    def device(self) -> tuple[int, int]:
        """(DLPack device type, device id)."""
        return self._tensor.device

    @property
    def address(self) -> int:
        """The address of the elements. The host must not touch an address on a device."""
        return self._tensor.address

    @property
    def versioned(self) -> bool:
        """True if the tensor came in DLPack's newer struct."""
        return self._tensor.versioned

    @property
    def read_only(self) -> bool:
        """True if the producer marked the tensor read-only."""
        return self._tensor.read_only

    @property
    def is_copy(self) -> bool:
        """True if the producer marked the tensor as a copy."""
        return self._tensor.is_copy

    @property
    def dropped(self) -> bool:
        """True if the tensor was given back."""
        return self._tensor.dropped

    def read(self) -> ConsumerReading:
        """Queues a copy into the consumer's own memory. On the host the copy is made at once."""
        return ConsumerReading(self._tensor.read(), self.shape, self.dtype)

    def write(self, value: npt.ArrayLike) -> None:
        """Queues a write of all elements: `value`, as NumPy broadcasts it. ValueError if the tensor is read-only."""
        import numpy as np

        contents = np.empty(self.shape, self.dtype)
        contents[...] = value
        self._tensor.write(contents.tobytes())

    def add(self, value: Any) -> None:
        """Queues the addition of a number to each element: a read, a sum, a write. ValueError if the tensor is
        read-only."""
        import numpy as np

        self._tensor.add(np.asarray(value).astype(self.dtype).tobytes())

    def drop(self, *, in_stream: bool = False) -> None:
        """Gives the tensor back now, even if work on it is still queued. A second call has no effect.

        ``in_stream``: in a host function behind that work, on a thread that does not belong to Python.
        """
        if self.dropped:
            return
        if in_stream:
            self._tensor.drop_in_stream()
        else:
            self._tensor.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.drop()


class ConsumerReading:
    """The result of a read by a `ConsumerView`."""

    def __init__(self, reading: _core.ConsumerReading, shape: tuple[int, ...], dtype: np.dtype[Any] | str) -> None:
        self._reading = reading
        self._shape = shape
        self._dtype = dtype

    @property
    def is_over(self) -> bool:
        """True if the read has completed."""
        return self._reading.is_over

    def result(self) -> npt.NDArray[Any]:
        """Waits, without the GIL, and returns the elements as a new NumPy array."""
        import numpy as np

        return np.frombuffer(self._reading.result(), self._dtype).reshape(self._shape).copy()


for _class in (Consumer, ConsumerView, ConsumerReading):
    _class.__module__ = "memarray.testing"
