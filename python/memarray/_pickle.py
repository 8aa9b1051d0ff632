"""Pickles of arrays and views: the functions that reduce them, and those that a pickle calls to rebuild them."""

from __future__ import annotations

from pickle import PickleBuffer

import numpy as np

from . import _core
from ._dtypes import struct_dtype, view_dtype_name
from ._numpy import ArrayInterface


def portable_dtype(view):
    """Returns a view's dtype in a form for other processes: its name, or the description of a struct's fields."""
    if isinstance(view._typestr, tuple):
        return view._typestr
    if view._typestr.startswith("|V"):
        raise TypeError(
            f"a view of {view._dtype_name} cannot be pickled, as its fields are not known: name them in C++ with "
            "MEMARRAY_FIELDS, or pickle the MemArray"
        )
    return view._dtype_name


def carried_dtype(portable):
    """Returns the dtype that `from_buffer` takes for the result of `portable_dtype`."""
    return portable if isinstance(portable, str) else struct_dtype(portable)


def raw_bytes(view):
    """Returns the bytes of a dense view or an open lease, of any dtype, as a flat NumPy array that shares them."""
    return np.asarray(ArrayInterface(view)).reshape(-1).view(np.uint8)


def reduce_view(view, protocol):
    """Implements `BufferView.__reduce_ex__`: the elements in C order, out of band in protocol 5.

    Older protocols carry the elements in band. The elements of a writable view are a bytearray, so that the new view is
    writable.
    """
    name = portable_dtype(view)
    raw = raw_bytes(view.ensure_contiguous().to_device("cpu"))
    return rebuild_view, (_pickled_bytes(raw, protocol, bytearray if view.writable else bytes), name, view.shape)


def _pickled_bytes(raw, protocol, kind):
    return PickleBuffer(raw) if protocol >= 5 else kind(raw)


def rebuild_view(buffer, dtype, shape):
    """Rebuilds a pickled view: a view of the bytes that came with it, read-only if they are."""
    dtype = carried_dtype(dtype)
    try:
        view = _core.BufferView.from_buffer(buffer, dtype)
    except BufferError:
        # The transport put the bytes at an address where elements of this dtype cannot be.
        moved = np.array(np.frombuffer(buffer, np.uint8))
        _core.report_copy(moved.nbytes, "a pickled view arrived where its elements cannot be")
        view = _core.BufferView.from_buffer(moved, dtype)
    return view.reshape(shape)


def reduce_array(array, protocol):
    """Implements `MemArray.__reduce_ex__`: a snapshot of the elements, out of band in protocol 5, else in band.

    For an array in shared memory, its name instead.
    """
    attributes = getattr(array, "__dict__", None) or None
    if (segment := array._segment) and segment[0]:
        return rebuild_shared, (type(array), *segment), attributes
    view = array.view().to_device("cpu")
    name = view_dtype_name(view, _core.instances)
    arguments = (type(array), _pickled_bytes(raw_bytes(view), protocol, bytes), name, view.shape)
    return rebuild_array, arguments, attributes


def rebuild_array(cls, buffer, dtype, shape):
    """Rebuilds a pickled array: a new array with the same contents."""
    array = cls(shape, dtype, uninitialized=True)
    with array.write(discard=True) as lease:
        raw_bytes(lease)[...] = np.frombuffer(buffer, np.uint8)
    _core.report_copy(array.nbytes, "a pickled array became a new one")
    return array


def rebuild_shared(cls, name, uid):
    """Attaches to the shared memory that a pickled array names. `memarray.Error` if it now holds another array."""
    from .shared_memory import attach_as

    array = attach_as(cls, name)
    if array._segment != (name, uid):
        raise _core.Error(
            f"the shared memory {_core.shown(name)} holds another array than the one that was pickled, which is gone"
        )
    return array
