"""What the extension module leaves to NumPy: conversions of values and arrays."""

from __future__ import annotations

import numpy as np

from . import _core
from ._dtypes import numpy_dtype


def _dtype_for_numpy(array):
    dtype = numpy_dtype(array._dtype_name, array._typestr)
    if isinstance(dtype, str):
        raise TypeError("NumPy has no bfloat16 of its own: install ml_dtypes, or use torch.from_dlpack(lease)")
    return dtype


def element_bytes(array, value) -> bytes:
    """One element, converted as `read_numpy_array` converts arrays."""
    target = _dtype_for_numpy(array)
    try:
        source = (
            np.asarray(value, dtype=target) if target.kind == "V" and isinstance(value, tuple) else np.asarray(value)
        )
    except (ValueError, TypeError) as error:
        raise TypeError(f"{value!r} is no element of {target}") from error
    if source.ndim != 0:
        raise TypeError(f"fill takes one element, not an array of shape {source.shape}; use read_numpy_array")
    if source.dtype.kind in "iu" and target.kind in "iu":
        if not np.iinfo(target).min <= int(source) <= np.iinfo(target).max:
            raise OverflowError(f"{value!r} does not fit into {target}")
        return source.astype(target).tobytes()
    check_cast(source, target, "fill")
    if target.kind == "V" and source.dtype.kind == "V":
        return source.tobytes()
    return source.astype(target).tobytes()


def check_cast(source, target, what: str) -> None:
    """Raises `TypeError` unless `source` converts to `target` within its kind."""
    if target.kind == "V" and target.names is None and source.dtype.kind == "V":
        if source.dtype.itemsize == target.itemsize:
            return
    elif np.can_cast(source.dtype, target, "same_kind"):
        return
    raise TypeError(
        f"{what} converts within a kind of number ('same_kind'), not from {source.dtype} to {target}; "
        f"convert first with .astype({target.name!r})"
    )


def lease_to_numpy(lease, dtype=None, copy=None):
    """`Lease.__array__`: reached where the buffer protocol has no format for the dtype."""
    target = _dtype_for_numpy(lease.array)
    array = np.asarray(_Interface(lease)).view(target)
    return convert(array, dtype, copy)


def convert(array, dtype, copy):
    """What `__array__(dtype, copy)` asks for, of an array that shares memory."""
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is False:
            raise ValueError(
                f"converting from {array.dtype} to {np.dtype(dtype)} takes a copy, and copy=False was asked for"
            )
        return array.astype(dtype)
    return array.copy() if copy else array


class _Interface:
    """Shows a lease's memory through the array interface alone, and keeps the lease."""

    def __init__(self, lease):
        self.lease = lease
        self.__array_interface__ = _core.raw_interface(lease)


def read_numpy_array(array, source) -> None:
    """Replaces all contents of `array` by those of `source`, of any strides and any dtype of the same kind."""
    source = np.asanyarray(source)
    target = _dtype_for_numpy(array)
    if source.shape != array.shape:
        raise ValueError(f"read_numpy_array takes an array of shape {array.shape}, not {source.shape}; resize first")
    check_cast(source, target, "read_numpy_array")
    # Told when the lease is over, as a log handler may want the array.
    copied = None
    if target.kind == "V" and target.names is None:
        source = np.ascontiguousarray(source).view(target)
    elif target.kind in "fc" and not np.can_cast(source.dtype, target):
        # NumPy may raise while it converts, which must not leave half an array behind.
        copied = f"read_numpy_array converted from {source.dtype} to {target} first"
        source = source.astype(target)
    # The host side is written; that of a device, if it was current, is stale then.
    with array.write(discard=True) if array.device.type == "cpu" else array.write("cpu", discard=True) as lease:
        destination = np.asarray(lease)
        if destination.dtype != target:
            destination = destination.view(target)
        # Under the policy "alias" a kept view may be the source.
        if np.may_share_memory(destination, source):
            copied = "the source of read_numpy_array overlaps the array"
            source = source.copy()
        np.copyto(destination, source, casting="same_kind")
        del destination
    if copied:
        _core.report_copy(source.nbytes, copied)
