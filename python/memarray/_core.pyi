# What the extension module holds. The package shows what is public of it; the rest is the package's own.
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Generic, Literal, NoReturn, Protocol, SupportsFloat, SupportsIndex, TypeAlias, final

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
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
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
    """Opens several leases in one 'with' statement, or none."""

    def __new__(cls, *leases: Unpack[_Leases], timeout: _Timeout = 0) -> leases[Unpack[_Leases]]: ...
    def __enter__(self) -> tuple[Unpack[_Leases]]: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = ...,
        exc_value: BaseException | None = ...,
        traceback: TracebackType | None = ...,
        /,
    ) -> None: ...

class ArrayBase:
    """What memarray.MemArray is made of."""

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

    def copy(self) -> Self:
        """A deep copy, born unlocked."""

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
    def _typestr(self) -> str: ...
    @property
    def _device(self) -> tuple[str, int]: ...

@final
class Instance:
    """Makes arrays of one dtype and rank: MemArray<T, ndim> as C++ knows it."""

    def __call__(
        self, cls: type[Any], shape: Sequence[SupportsIndex], device_id: int, uninitialized: bool, /
    ) -> Any: ...
    def add_index_tuple(self, array: ArrayBase, stream: int, /) -> None: ...

instances: dict[tuple[str, int], Instance]

def stats() -> dict[str, int]: ...
def build_info() -> dict[str, str]: ...
def trim(keep: SupportsIndex = 0) -> int: ...
def device_count() -> int: ...
def report_copy(arg0: SupportsIndex, arg1: str, /) -> None: ...
def raw_interface(arg0: Lease, /) -> dict[str, Any]: ...
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
