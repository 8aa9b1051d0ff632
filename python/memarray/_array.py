"""The Python class MemArray."""

from __future__ import annotations

from . import _core
from ._device import CPU, Device
from ._dtypes import dtype_name, numpy_dtype, view_dtype_name
from ._instances import find_instance, shape_of

# As typing has it, without importing it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal, NoReturn, SupportsIndex

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from ._enums import MemoryType


class MemArray(_core.ArrayBase):
    """An n-dimensional array that C++ owns and Python borrows, without a copy.

    ``MemArray(shape, dtype=None, device_id=0)`` makes host memory of zeros: `shape` is a sequence of integers, or
    one; `dtype` anything that ``np.dtype`` takes (float64 by default). Its elements are reached through leases::

        with a.read() as lease:
            x = np.from_dlpack(lease)

    A view that outlives its lease stays valid and never changes (see `escaped_views`). Arrays that C++ shows are of
    this class too. ``uninitialized=True`` leaves the memory as it comes.

    `memory_type` (a word or a `MemoryType`) says which memory: ``"normal"``, pooled host memory; ``"pinned"``, host
    memory that is page-locked, so that copies to and from devices need no detour and no wait; ``"unified"``, which the
    host and the device `device_id` both use, without a copy through `BufferView.to_device`; ``"device"``, memory of the
    device itself, filled in its default stream. What follows an array later (`resize`, `copy`, writes under kept
    views) is of the same type on the host. CudaError where there is no such device, OutOfMemoryError.
    """

    __slots__ = ()

    #: (dtype name, ndim) -> what makes such arrays. Other extension modules add to it with ``bind_mem_array<T, ndim>``.
    _TYPE_INSTANCE_MAP = _core.instances

    def __new__(
        cls,
        shape: SupportsIndex | Iterable[SupportsIndex],
        dtype: npt.DTypeLike | None = None,
        device_id: SupportsIndex = 0,
        *,
        uninitialized: bool = False,
        memory_type: MemoryType | Literal["normal", "pinned", "unified", "device"] = "normal",
    ) -> Self:
        extents = shape_of(shape)
        instance = find_instance(cls, dtype_name(dtype, cls._TYPE_INSTANCE_MAP, len(extents)), len(extents))
        if isinstance(device_id, bool) or not hasattr(device_id, "__index__"):
            raise TypeError(f"device_id must be an integer, not {_core.shown(device_id)}")
        device_id = device_id.__index__()
        if not 0 <= device_id < 2**31:
            above = ", and none is above 2147483647" if device_id > 0 else ""
            raise ValueError(f"device_id is {_core.shown(device_id)}; device ids start at 0{above}")
        if not isinstance(uninitialized, bool):
            raise TypeError(f"uninitialized must be True or False, not {_core.shown(uninitialized)}")
        if memory_type == "normal":
            return instance(cls, extents, device_id, uninitialized)
        return instance(cls, extents, device_id, uninitialized, _memory_code(memory_type))

    @classmethod
    def from_numpy(
        cls, array: npt.ArrayLike, device_id: SupportsIndex = 0, *, device: Device | str | None = None
    ) -> Self:
        """A new array with the shape, dtype and contents of a NumPy array; one copy, which you asked for.

        `device` (``"cuda:0"``): moves the array there at once, in the device's default stream: a second copy, counted
        and logged like every copy between host and devices. CudaError where there is no such device,
        OutOfMemoryError; ValueError if `device_id` names another one; BufferError for what carries a mask or a unit.
        """
        from ._numpy import numpy_array

        source = numpy_array(array)
        place = CPU if device is None else Device(device)
        if place.is_cuda():
            if device_id.__index__() not in (0, place.index):
                raise ValueError(
                    f"the device is given twice: device={str(place)!r} and device_id={_core.shown(device_id)}"
                )
            device_id = place.index
        made = cls(source.shape, source.dtype.newbyteorder("="), device_id, uninitialized=True)
        made.read_numpy_array(source)
        if place.is_cuda():
            made.move_memory(2, place.index)
        return made

    @classmethod
    def from_dlpack(cls, obj: Any, copy: bool | None = None) -> Self:
        """An array over another library's memory, without a copy: of an object with `__dlpack__`, or a capsule.

        That memory has other owners, who may use it at any time: the lock is not theirs, `is_foreign` says so. The
        array goes on in memory of its own when it is resized, or written under kept views. Memory of a device is
        asked for in its default stream and becomes the array's device side. Memory that is read-only or not dense in
        C order, or has bools that are neither 0 nor 1, is copied, which is reported; ``copy=False`` makes that a
        BufferError, ``copy=True`` copies always. A copy has no other owner.
        """
        view = _core.BufferView.from_dlpack(obj, copy=False if copy is False else None)
        find_instance(cls, view_dtype_name(view, cls._TYPE_INSTANCE_MAP), view.ndim)
        return _core.adopt(cls, view, copy)

    @property
    def dtype(self) -> np.dtype[Any] | str:
        """The element type, an ``np.dtype``; for bfloat16 that of ml_dtypes where installed, else the name."""
        return numpy_dtype(self._dtype_name, self._typestr)

    @property
    def device(self) -> Device:
        """Where the current memory is; prints as ``cpu`` or ``cuda:0``."""
        kind, index = self._device
        return CPU if kind == "cpu" else Device(f"{kind}:{index}")

    @property
    def memory_type(self) -> MemoryType:
        """Who can reach the current memory; equals 'normal', 'pinned', 'unified' or 'device'."""
        from ._enums import MemoryType

        return MemoryType(self._memory_type)

    @property
    def shared_memory(self) -> str | None:
        """The name of the shared memory that the array is in; None for the memory of one process."""
        segment = self._segment
        return segment and segment[0]

    def read_numpy_array(self, array: npt.ArrayLike) -> None:
        """Replaces all contents by those of `array`: the same shape, any strides, any dtype of the same kind.

        Integers that do not fit wrap around, floats are rounded, as by `astype(..., casting="same_kind")`. ValueError
        for another shape, TypeError for another kind, BufferError for what carries a mask or a unit, LockError while
        the array is held. Views that were kept keep the old contents.
        """
        from ._numpy import read_numpy_array

        read_numpy_array(self, array)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """A read-only NumPy view, through a read lease that closes at once: a snapshot, under the default policy."""
        import numpy as np

        from ._numpy import convert

        with self.read() as lease:
            return convert(np.asarray(lease), dtype, copy)

    def __copy__(self) -> Self:
        """A deep copy of the contents; a subclass's own attributes are shared, as copy.copy does."""
        twin = self.copy()
        if attributes := getattr(self, "__dict__", None):
            twin.__dict__.update(attributes)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A deep copy, also of a subclass's own attributes."""
        twin = memo[id(self)] = self.copy()
        if attributes := getattr(self, "__dict__", None):
            from copy import deepcopy

            twin.__dict__.update(deepcopy(attributes, memo))
        return twin

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickles a snapshot of the contents: out of band, without a copy, where protocol 5's buffer_callback takes it.

        What is on a device is copied to the host first, which is reported. Unpickling makes a new array on the host,
        a copy that is reported too. Older protocols carry the contents in band. Of an array in shared memory only the
        name is pickled, by any protocol: unpickling attaches to it, on the same host.
        """
        from ._pickle import reduce_array

        return reduce_array(self, protocol.__index__())

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"MemArray([{shape}], dtype={self._dtype_name}, device={self.device})"

    def __getitem__(self, key: Any) -> NoReturn:
        raise TypeError(_NO_INDEXING)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(_NO_INDEXING)

    def __iter__(self) -> NoReturn:
        raise TypeError(_NO_INDEXING)

    def __bool__(self) -> NoReturn:
        raise TypeError("the truth of an array is not defined; ask for a.size, or lease it and use np.any or np.all")


_NO_INDEXING = (
    "a MemArray is not indexed itself: take a lease and index a view, "
    "'with a.read() as lease: x = np.from_dlpack(lease)' (a.write() to change elements)"
)


#: As C++ numbers them.
_MEMORY_CODES = {"normal": 0, "pinned": 1, "unified": 2, "device": 3}


def _memory_code(memory_type: object) -> int:
    if not isinstance(memory_type, str):
        raise TypeError(f"memory_type must be a string or a MemoryType, not {type(memory_type).__name__}")
    code = _MEMORY_CODES.get(memory_type)
    if code is None:
        raise ValueError(f"memory_type is one of {', '.join(map(repr, _MEMORY_CODES))}, not {_core.shown(memory_type)}")
    return code


_core.set_array_class(MemArray)
