"""Serializers of arrays and views for `distributed`: a header of plain values, and two frames.

`distributed` receives the first frame at an arbitrary address. A placeholder of one byte is therefore first, and the
frame with the memory second, in a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import dask
import numpy as np
from dask.base import normalize_token

from . import _core
from ._array import MemArray
from ._core import BufferView
from ._dtypes import view_dtype_name
from ._pickle import carried_dtype, portable_dtype, raw_bytes, rebuild_array

#: Key in Dask's configuration. If true, an array on a device is moved to the host when it is sent; else it is refused.
MOVE_TO_HOST = "memarray.move-to-host"

# Estimated bytes of the Python object itself, without its memory.
_OVERHEAD = 256


def may_move_to_host() -> bool:
    """True if the configuration of this process lets a send move an array from a device to the host."""
    return bool(dask.config.get(MOVE_TO_HOST, False))


def size_of_array(array: MemArray) -> int:
    return _OVERHEAD + array.nbytes


def size_of_view(view: BufferView) -> int:
    """Returns the size of a view in bytes. A broadcast view counts each stored element once."""
    return _OVERHEAD + view.itemsize * prod(_part(view, _once(view)).shape)


def token_of_array(array: MemArray) -> tuple[object, ...]:
    """Returns the token by which Dask recognizes equal arrays. Without it Dask would pickle and unpickle each array
    twice."""
    kind = type(array)
    return kind.__module__, kind.__qualname__, _token(array.view()), normalize_token(getattr(array, "__dict__", None))


def token_of_view(view: BufferView) -> tuple[object, ...]:
    return "BufferView", _token(view)


def _token(view: BufferView) -> tuple[object, ...]:
    if view._dtype_name == "bool" or isinstance(view._typestr, tuple):
        # tobytes makes the bools of other libraries valid.
        elements = np.frombuffer(view.to_device("cpu").tobytes(), np.uint8)
    else:
        elements = raw_bytes(view.ensure_contiguous().to_device("cpu"))
    return view._dtype_name, view._typestr, view.shape, normalize_token(elements)


def array_to_frames(array: MemArray) -> tuple[dict[str, Any], list[memoryview]]:
    if type(array) is not MemArray:
        raise NotImplementedError("pickle knows how to send a subclass with its attributes")
    if array.device.type == "cpu":
        view = array.view()
    else:
        if not may_move_to_host():
            raise BufferError(
                f"this MemArray is on {array.device}, and sending does not move it: move it to the host "
                "first, a.move_memory(memarray.dlpack.kDLCPU), or have it copied there: "
                f"dask.config.set({{{MOVE_TO_HOST!r}: True}})"
            )
        with array.read("cpu") as lease:
            view = lease.view()
    header = {
        "dtype": view_dtype_name(view, _core.instances),
        "shape": view.shape,
        "escaped_views": array.escaped_views,
    }
    return header, _frames(view)


def array_of_frames(header: dict[str, Any], frames: list[Any]) -> MemArray:
    _, frame = frames
    memory = memoryview(frame)
    # Only the receiver uses a writable frame, so the array adopts it. The memory of a read-only frame may belong to an
    # array, to `bytes` or to a file, so the array copies it.
    if not memory.readonly:
        try:
            view = BufferView.from_buffer(memory, header["dtype"])
            array = MemArray.from_dlpack(view.reshape(header["shape"]), copy=False)
            array.escaped_views = header["escaped_views"]
            return array
        except (BufferError, TypeError):
            pass  # the frame is misaligned (small frames share one buffer), or the dtype is unknown to `from_buffer`
    return rebuild_array(MemArray, memory, header["dtype"], header["shape"], header["escaped_views"])


def view_to_frames(view: BufferView) -> tuple[dict[str, Any], list[memoryview]]:
    if view.device.type != "cpu":
        raise BufferError(f"this BufferView is on {view.device}: copy it to the host first, and send that")
    # Dense memory in any order of dimensions is sent as it is. Other memory is copied, which is reported.
    once = _part(view, _once(view))
    flips = [stride < 0 for stride in once.strides]
    flipped = _part(once, _flipped(flips))
    order = sorted(range(view.ndim), key=lambda axis: -flipped.strides[axis])
    dense = flipped.transpose(*order) if view.ndim > 1 else flipped
    header = {
        "dtype": portable_dtype(view),
        "shape": view.shape,
        "sent": dense.shape,
        "order": order,
        "flips": flips,
        "writable": view.writable,
    }
    return header, _frames(dense.ensure_contiguous())


def view_of_frames(header: dict[str, Any], frames: list[Any]) -> BufferView:
    _, frame = frames
    memory = memoryview(frame)
    if not header["writable"]:
        memory = memory.toreadonly()
    elif memory.readonly:
        _core.report_copy(memory.nbytes, "a writable view arrived in memory that is read-only")
        memory = memoryview(bytearray(memory))
    dtype = carried_dtype(header["dtype"])
    try:
        dense = BufferView.from_buffer(memory, dtype)
    except BufferError:
        aligned = memoryview(BufferView.from_buffer(memory, "uint8").copy())
        dense = BufferView.from_buffer(aligned if header["writable"] else aligned.toreadonly(), dtype)
    view = dense.reshape(header["sent"])
    if view.ndim > 1:
        view = view.transpose(*(header["order"].index(axis) for axis in range(view.ndim)))
    view = _part(view, _flipped(header["flips"]))
    return view if view.shape == tuple(header["shape"]) else view.broadcast_to(*header["shape"])


def _frames(view: BufferView) -> list[memoryview]:
    # The first buffer of a message is received in one piece with the header, at any address. Later buffers get memory
    # of their own. Read-only, because receivers in this process share the memory.
    return [memoryview(bytearray(1)), memoryview(raw_bytes(view)).toreadonly()]


def _once(view: BufferView) -> tuple[slice, ...]:
    """Returns the index that selects each stored element of a broadcast view once."""
    return tuple(
        slice(0, 1) if stride == 0 and extent > 1 else slice(None)
        for stride, extent in zip(view.strides, view.shape, strict=True)
    )


def _flipped(flips: Iterable[bool]) -> tuple[slice, ...]:
    return tuple(slice(None, None, -1 if flip else 1) for flip in flips)


def _part(view: BufferView, index: tuple[slice, ...]) -> BufferView:
    # Without dimensions an index would return the element.
    return view[index] if index else view
