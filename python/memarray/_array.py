"""The Python class MemArray."""

from __future__ import annotations

from operator import index

from . import _core
from ._device import CPU, Device
from ._dtypes import numpy_dtype, view_dtype_name
from ._instances import find_instance, new_array

# Like typing.TYPE_CHECKING, without importing typing.
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

    ``MemArray(shape, dtype=None, device_id=0)`` makes host memory of zeros. `shape` is a sequence of integers, or one
    integer. `dtype` is anything that ``np.dtype`` takes, float64 by default. Leases give access to the elements::

        with a.read() as lease:
            x = np.from_dlpack(lease)

    By default, a view that outlives its lease stays valid and keeps its contents (see `escaped_views`). Arrays that C++
    code exposes have this class too. ``uninitialized=True`` does not initialize the memory.

    `memory_type`, a word or a `MemoryType`, chooses the memory. ``"normal"`` is pooled host memory. ``"pinned"`` is
    page-locked host memory: copies to and from devices need no staging memory and no wait. ``"unified"`` memory is used
    by the host and by the device `device_id`, without a copy in `BufferView.to_device`. ``"device"`` is memory of the
    device itself, which is filled in its default stream. Later host memory of the array (after `resize`, `copy`, and
    writes under escaped views) has the same type. Raises CudaError if the device does not exist, and OutOfMemoryError.
    """

    __slots__ = ()

    #: (dtype name, ndim) -> the factory of such arrays. ``bind_mem_array<T, ndim>`` adds to it from other extension
    #: modules.
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
        return new_array(cls, shape, dtype, device_id, uninitialized=uninitialized, memory_type=memory_type)

    @classmethod
    def from_numpy(
        cls, array: npt.ArrayLike, device_id: SupportsIndex = 0, *, device: Device | str | None = None
    ) -> Self:
        """Returns a new array with the shape, dtype and contents of a NumPy array. Makes one copy.

        `device` (``"cuda:0"``) moves the array there at once, in the device's default stream. This second copy is
        counted and logged like every copy between host and devices. Raises BufferError if the source has a mask or a
        physical unit, or is a tensor that NumPy cannot read. Raises ValueError if `device_id` names another device,
        CudaError if the device does not exist, and OutOfMemoryError.
        """
        from ._numpy import numpy_array

        source = numpy_array(array)
        place = CPU if device is None else Device(*_core.device_parts(device))
        if place.is_cuda():
            if index(device_id) not in (0, place.index):
                raise ValueError(
                    f"the device is given twice: device={str(place)!r} and device_id={_core.shown(device_id)}"
                )
            device_id = place.index
        dtype = source.dtype if source.dtype.isnative else source.dtype.newbyteorder("=")
        made = cls(source.shape, dtype, device_id, uninitialized=True)
        made.read_numpy_array(source)
        if place.is_cuda():
            made.move_memory(2, place.index)
        return made

    @classmethod
    def from_dlpack(cls, obj: Any, copy: bool | None = None) -> Self:
        """Returns an array over the memory of another library's object with `__dlpack__`, or of a capsule.

        The memory has other owners, which may use it at any time: the lock does not bind them, and `is_foreign` is
        True. When the array is resized, or written under escaped views, it continues in its own memory. Memory on a
        device is requested in the device's default stream and becomes the array's device side. Memory is copied, and
        the copy reported, if it is read-only, is not dense in C order, or has bools that are neither 0 nor 1. With
        ``copy=False`` that is a BufferError; ``copy=True`` always copies. A copy has no other owner.
        """
        view = _core.BufferView.from_dlpack(obj, copy=False if copy is False else None)
        find_instance(cls, view_dtype_name(view, cls._TYPE_INSTANCE_MAP), view.ndim)
        return _core.adopt(cls, view, copy)

    @property
    def dtype(self) -> np.dtype[Any] | str:
        """The element type, an ``np.dtype``. For bfloat16 it is that of ml_dtypes if installed, else the name."""
        return numpy_dtype(self._dtype_name, self._typestr)

    @property
    def device(self) -> Device:
        """The device of the current memory; prints as ``cpu`` or ``cuda:0``."""
        kind, index = self._device
        return CPU if kind == "cpu" else Device(f"{kind}:{index}")

    @property
    def memory_type(self) -> MemoryType:
        """The kind of the current memory: whether the host and devices can reach it. Equals 'normal', 'pinned',
        'unified' or 'device'."""
        from ._enums import MemoryType

        return MemoryType(self._memory_type)

    @property
    def shared_memory(self) -> str | None:
        """The name of the shared memory that holds the array; None for the memory of one process."""
        segment = self._segment
        return segment and segment[0]

    def read_numpy_array(self, array: npt.ArrayLike) -> None:
        """Replaces all contents with those of `array`: the same shape, any strides, any dtype of the same kind.

        Integers that do not fit wrap around and floats are rounded, as in `astype(..., casting="same_kind")`. By
        default, escaped views keep the old contents. Raises BufferError if the source has a mask or a physical unit,
        or is a tensor that NumPy cannot read. Raises ValueError for another shape, TypeError for another kind, and
        LockError while the array is held.
        """
        from ._numpy import read_numpy_array

        read_numpy_array(self, array)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Returns a read-only NumPy view, through a read lease that closes at once: a snapshot, under the default
        policy."""
        import numpy as np

        from ._numpy import convert

        with self.read() as lease:
            return convert(np.asarray(lease), dtype, copy)

    def __copy__(self) -> Self:
        """Returns a deep copy of the contents. A subclass's own attributes are shared, as in copy.copy."""
        from ._pickle import own_state, set_own_state

        twin = self.copy()
        set_own_state(twin, own_state(self))
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Returns a deep copy, also of a subclass's own attributes."""
        from copy import deepcopy

        from ._pickle import own_state, set_own_state

        twin = memo[id(self)] = self.copy()
        set_own_state(twin, deepcopy(own_state(self), memo))
        return twin

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickles a snapshot of the contents: out of band, without a copy, if protocol 5's buffer_callback takes it.

        Contents on a device are copied to the host first, which is reported. Unpickling makes a new array in normal
        host memory; that copy is reported too. Older protocols carry the contents in band. For an array in shared
        memory every protocol pickles only the name: unpickling attaches to that memory, on the same host. The
        constructor of a subclass is not called: its attributes and slots, or what its `__getstate__` returns, are
        pickled. The `__reduce__` of a subclass is used instead.
        """
        if type(self).__reduce__ is not object.__reduce__:
            return self.__reduce__()  # type: ignore[return-value]
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


_core.set_array_class(MemArray)
