# What the extension module holds. The package shows what is public of it; the rest is the package's own.
from collections.abc import Sequence
from types import TracebackType
from typing import Any, ClassVar, Generic, Literal, NoReturn, Protocol, SupportsFloat, SupportsIndex, TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType, Self, TypeVarTuple, Unpack

from ._array import MemArray
from ._device import Device

class _HasCudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

_Stream: TypeAlias = int | _HasCudaStream | None
_DeviceLike: TypeAlias = Device | str | None
_Timeout: TypeAlias = SupportsFloat | SupportsIndex | None
_EscapedViews: TypeAlias = Literal["snapshot", "error", "alias"]
_Axis: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | None
_Leases = TypeVarTuple("_Leases")

class Error(RuntimeError):
    """Whatever memarray refuses for a reason of its own."""

class LockError(Error, BufferError):
    """Somebody else holds the array, or a lease is used outside its life; nothing was changed."""

class UnsupportedTypeError(Error, TypeError):
    """No instance of MemArray is registered for this dtype and rank."""

class CudaError(Error):
    """A CUDA driver call failed: `code` is its CUresult, `name` that code's spelling."""

    code: int
    name: str

class OutOfMemoryError(CudaError, MemoryError):
    """Memory that could not be had, after the pools were trimmed."""

@final
class Lease:
    """A hold of an array for the length of a 'with' block; lends its memory without a copy."""

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = ...,
        exc_value: BaseException | None = ...,
        traceback: TracebackType | None = ...,
        /,
    ) -> None: ...
    def close(self) -> None: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def view(self) -> BufferView:
        """A BufferView of the leased memory, writable under a write lease."""

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __del__(self) -> None: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn: ...
    @property
    def lock_id(self) -> int: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def writable(self) -> bool: ...
    @property
    def array(self) -> MemArray: ...

@final
class leases(Generic[Unpack[_Leases]]):
    """Opens several leases in one 'with' statement, or none. If one is refused, an array whose lease has a device= may
    stay where it was moved for it; no contents change."""

    def __new__(cls, *leases: Unpack[_Leases], timeout: _Timeout = 0) -> leases[Unpack[_Leases]]: ...
    def __enter__(self) -> tuple[Unpack[_Leases]]: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = ...,
        exc_value: BaseException | None = ...,
        traceback: TracebackType | None = ...,
        /,
    ) -> None: ...

@final
class BufferView:
    """Strided memory of whoever owns it, without a copy; it is kept alive, indexed, reshaped and computed with."""

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]

    def __new__(cls, obj: Any, *, copy: bool | None = None) -> Self: ...
    @staticmethod
    def from_numpy(array: npt.NDArray[Any], /) -> BufferView:
        """A view of a NumPy array, whatever its strides."""

    @staticmethod
    def from_buffer(obj: Any, dtype: npt.DTypeLike | None = None) -> BufferView:
        """A view of what offers the buffer protocol."""

    @staticmethod
    def from_dlpack(obj: Any, /, *, copy: bool | None = None) -> BufferView:
        """A view of another library's memory, over DLPack."""

    def close(self) -> None:
        """Lets go of the memory; views and tensors made of it keep it."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = ...,
        exc_value: BaseException | None = ...,
        traceback: TracebackType | None = ...,
        /,
    ) -> None: ...
    def is_contiguous(self) -> bool:
        """Whether the elements follow one another in C order."""

    def ensure_contiguous(self) -> BufferView:
        """The view itself if it is contiguous, else a copy, which is reported."""

    def copy(self) -> BufferView:
        """Dense, writable memory of its own with the same elements."""

    def to_device(self, device: Device | str, /, stream: Any = None) -> BufferView:
        """The same elements on "cpu" or "cuda:0": the view itself if they are there, else a copy, which is reported."""

    def cast(self, dtype: npt.DTypeLike, /) -> BufferView:
        """A copy with another dtype of the same kind of number."""

    def transpose(self, *axes: Any) -> BufferView:
        """A view with the dimensions in another order; without axes: reversed."""

    def reshape(self, *shape: Any) -> BufferView:
        """A view with another shape; ValueError where that would take a copy."""

    def broadcast_to(self, *shape: Any) -> BufferView:
        """A read-only view in which dimensions of one element are repeated."""

    def sum(self, axis: _Axis = None, *, keepdims: bool = False) -> Any:
        """The sum over all or some axes."""

    def mean(self, axis: _Axis = None, *, keepdims: bool = False) -> Any:
        """The mean over all or some axes."""

    def min(self, axis: _Axis = None, *, keepdims: bool = False) -> Any:
        """The least element over all or some axes."""

    def max(self, axis: _Axis = None, *, keepdims: bool = False) -> Any:
        """The greatest element over all or some axes."""

    def plan(self, operation: str, /, axis: _Axis = None) -> str:
        """The loops that an operation would run, in words."""

    def fill(self, value: Any, /) -> None:
        """Sets every element."""

    def add_index(self) -> None:
        """Adds to each element the sum of its indices."""

    def item(self) -> Any:
        """The only element, as a Python number."""

    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> NoReturn: ...
    def __delitem__(self, key: Any, /) -> NoReturn: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> NoReturn: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Any: ...
    @property
    def data_ptr(self) -> int:
        """The address of the element whose indices are all 0."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next, for each dimension."""

    @property
    def ndim(self) -> int:
        """The number of dimensions, at most 16."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, were they dense."""

    @property
    def dtype(self) -> np.dtype[Any] | str:
        """The element type; for bfloat16 that of ml_dtypes where installed, else the name."""

    @property
    def device(self) -> Device:
        """Where the memory is."""

    @property
    def memory_type(self) -> Literal["normal", "pinned", "unified", "device"]:
        """Who can reach the memory."""

    @property
    def owner(self) -> Any:
        """The object whose memory is viewed; None for memory of the view's own."""

    @property
    def writable(self) -> bool:
        """Whether the memory may be written."""

    @property
    def closed(self) -> bool:
        """Whether the view was closed."""

    @property
    def T(self) -> BufferView:
        """A view with the dimensions reversed."""

    @property
    def _dtype_name(self) -> str: ...
    @property
    def _typestr(self) -> str | tuple[int, tuple[Any, ...]]: ...

class ArrayBase:
    """What memarray.MemArray is made of."""

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]

    def read(self, device: _DeviceLike = None, stream: _Stream = None, timeout: _Timeout = 0) -> Lease:
        """A read lease for a 'with' statement: others may read too, nobody changes the array."""

    def write(
        self, device: _DeviceLike = None, stream: _Stream = None, timeout: _Timeout = 0, *, discard: bool = False
    ) -> Lease:
        """A write lease for a 'with' statement: nobody else reads or changes the array."""

    def get_dlpack(self, device_type: int | None = None, device_id: int | None = None, stream: _Stream = 0) -> Lease:
        """A write lease on that device (None: where the array is), to hand to np.from_dlpack and its like."""

    def move_memory(
        self, device_type: int, device_id: int | None = None, stream: _Stream = 0, async_copy: bool = False
    ) -> None:
        """Makes the copy of the array on that device current."""

    def add_index_tuple(self, stream: _Stream = 0) -> None:
        """Adds to each element the sum of its indices, where the array is."""

    def fill(self, value: Any, /) -> None:
        """Sets every element."""

    def resize(self, shape: Sequence[SupportsIndex], /) -> None:
        """Fresh memory of another shape of the same rank: the leading elements stay, the others are zero."""

    def exchange(self, other: ArrayBase, /) -> None:
        """Swaps contents with another array of the same dtype and rank, copying nothing."""

    def view(self) -> BufferView:
        """A read-only BufferView, through a read lease that closes at once: a snapshot, under the default policy."""

    def copy(self) -> Self:
        """A deep copy, born unlocked."""

    def recover(self) -> list[tuple[int, str]]:
        """Of an array in shared memory: gives back what processes that have died held of it, and returns that."""

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def lock_id(self) -> int: ...
    @property
    def is_foreign(self) -> bool: ...
    @property
    def escaped_views(self) -> _EscapedViews: ...
    @escaped_views.setter
    def escaped_views(self, policy: _EscapedViews) -> None: ...
    @property
    def _dtype_name(self) -> str: ...
    @property
    def _typestr(self) -> str | tuple[int, tuple[Any, ...]]: ...
    @property
    def _device(self) -> tuple[str, int]: ...
    @property
    def _segment(self) -> tuple[str, int] | None: ...

@final
class Instance:
    """Makes arrays of one dtype and rank: MemArray<T, ndim> as C++ knows it."""

    def __call__(
        self, cls: type[Any], shape: Sequence[SupportsIndex], device_id: int, uninitialized: bool, /
    ) -> Any: ...
    def add_index_tuple(self, array: ArrayBase, stream: int, /) -> None: ...
    def shared_bytes(self, shape: Sequence[SupportsIndex], /) -> int: ...
    def create_shared(
        self,
        cls: type[Any],
        view: BufferView,
        keep: Any,
        name: str,
        shape: Sequence[SupportsIndex],
        is_zero: bool,
        /,
    ) -> Any: ...
    def attach_shared(self, cls: type[Any], view: BufferView, keep: Any, name: str, /) -> Any: ...
    @property
    def _typestr(self) -> str | tuple[int, tuple[Any, ...]]: ...

instances: dict[tuple[str, int], Instance]

def stats() -> dict[str, int]: ...
def build_info() -> dict[str, str]: ...
def trim(keep: SupportsIndex = 0) -> int: ...
def device_count() -> int: ...
def device_name(arg0: SupportsIndex, /) -> str: ...
def device_memory_info(arg0: SupportsIndex, /) -> tuple[int, int]: ...
def device_pool_stats(arg0: SupportsIndex, /) -> dict[str, int]: ...
def trim_device(arg0: SupportsIndex, /) -> None: ...
def synchronize_device(arg0: SupportsIndex, /) -> None: ...
def report_copy(arg0: SupportsIndex, arg1: str, /) -> None: ...
def raw_interface(arg0: Lease | BufferView, /) -> dict[str, Any]: ...
def adopt(type: type[ArrayBase], view: BufferView, copy: bool | None, /) -> Any: ...
def shared_layout(view: BufferView, /) -> tuple[str, tuple[int, ...]]: ...
def set_array_class(arg0: type[ArrayBase], /) -> None: ...
def get_threads() -> int: ...
def threads_in_use() -> int: ...
def set_threads(arg0: SupportsIndex, /) -> None: ...
def get_pool_limit() -> int: ...
def set_pool_limit(arg0: SupportsIndex, /) -> None: ...
def get_escaped_views() -> str: ...
def set_escaped_views(arg0: str, /) -> None: ...
def get_trace_leases() -> bool: ...
def set_trace_leases(arg0: bool, /) -> None: ...
def get_trace_resources() -> bool: ...
def set_trace_resources(arg0: bool, /) -> None: ...
def open_resources() -> list[str]: ...

class Stream:
    """A queue of work on a CUDA device: what is submitted to it runs in order."""

    def __init__(self, device_id: SupportsIndex = 0, priority: SupportsIndex = 0, nonblocking: bool = True) -> None: ...
    @property
    def handle(self) -> int: ...
    @property
    def device(self) -> Device | None: ...
    def synchronize(self) -> None: ...
    def wait(self, event: Event) -> None: ...
    def record(self, event: Event | None = None) -> Event: ...
    def __cuda_stream__(self) -> tuple[int, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Event:
    """A point in a stream that others can wait for."""

    def __init__(self, device_id: SupportsIndex = 0, timing: bool = False) -> None: ...
    @property
    def handle(self) -> int: ...
    @property
    def device(self) -> Device | None: ...
    @property
    def timing(self) -> bool: ...
    def record(self, stream: int | _HasCudaStream | None) -> None: ...
    def wait(self, stream: int | _HasCudaStream | None = None) -> None: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed(self, end: Event) -> float: ...

class MemoryPool:
    """A pool of a device's memory, given and taken back in the order of streams."""

    def __init__(
        self, device_id: SupportsIndex = 0, release_threshold: SupportsIndex | None = None, max_size: SupportsIndex = 0
    ) -> None: ...
    @property
    def handle(self) -> int: ...
    @property
    def device(self) -> Device | None: ...
    def stats(self) -> dict[str, int]: ...
    def trim(self, keep: SupportsIndex = 0) -> None: ...

class SimulatedDevices:
    def __init__(
        self,
        *,
        count: SupportsIndex,
        memory: SupportsIndex,
        peer_access: bool,
        pools: bool,
        lend_as_cuda: bool,
        continue_after_touch: bool,
    ) -> None: ...
    def end(self) -> None: ...
    def fail(self, function: str, nth: int, code: int, times: int, /) -> None: ...
    def drop(self, function: str, nth: int, times: int, /) -> None: ...
    def delay(self, seconds: float, /) -> None: ...
    def clear(self) -> None: ...
    def calls(self, function: str, /) -> int: ...
    def live(self) -> dict[str, int]: ...
    def live_resources(self) -> list[str]: ...
    def waits(self) -> list[str]: ...
    def violations(self) -> list[str]: ...

class ConsumerReading:
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    @property
    def is_over(self) -> bool: ...
    def result(self) -> bytes: ...

class ConsumerTensor:
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype_name(self) -> str: ...
    @property
    def typestr(self) -> str: ...
    @property
    def device(self) -> tuple[int, int]: ...
    @property
    def address(self) -> int: ...
    @property
    def versioned(self) -> bool: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def is_copy(self) -> bool: ...
    @property
    def dropped(self) -> bool: ...
    def read(self) -> ConsumerReading: ...
    def write(self, arg0: str | bytes, /) -> None: ...
    def add(self, arg0: str | bytes, /) -> None: ...
    def drop(self) -> None: ...
    def drop_in_stream(self) -> None: ...

class ConsumerBacklog:
    def __init__(self) -> None: ...
    def take(self, arg0: CapsuleType, arg1: object, /) -> ConsumerTensor: ...
    def wait(self) -> None: ...

def synchronize() -> None: ...
