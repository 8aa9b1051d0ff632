"""Pickles of arrays and views: what reduces them, and what a pickle calls to rebuild them."""

from __future__ import annotations

from pickle import PickleBuffer

import numpy as np

from . import _core
from ._dtypes import struct_dtype, view_dtype_name
from ._numpy import ArrayInterface


def portable_dtype(view):
    """What says a view's dtype in another process: the name, or the description of a struct's fields."""
    if isinstance(view._typestr, tuple):
        return view._typestr
    if view._typestr.startswith("|V"):
        raise TypeError(
            f"a view of {view._dtype_name} cannot be pickled, as its fields are not known: name them in C++ with "
            "MEMARRAY_FIELDS, or pickle the MemArray"
        )
    return view._dtype_name


def carried_dtype(portable):
    """What `from_buffer` takes for that."""
    return portable if isinstance(portable, str) else struct_dtype(portable)


def raw_bytes(view):
    """The bytes of a dense view or an open lease, as a flat NumPy array that shares them, of any dtype."""
    return np.asarray(ArrayInterface(view)).reshape(-1).view(np.uint8)


def reduce_view(view, protocol):
    """`BufferView.__reduce_ex__`: the elements in C order, which protocol 5 can hand over out of band.

    Older protocols get them in band: as a bytearray where the view is writable, which is then writable again.
    """
    name = portable_dtype(view)
    raw = raw_bytes(view.ensure_contiguous().to_device("cpu"))
    return rebuild_view, (_pickled_bytes(raw, protocol, bytearray if view.writable else bytes), name, view.shape)


def _pickled_bytes(raw, protocol, kind):
    return PickleBuffer(raw) if protocol >= 5 else kind(raw)


def rebuild_view(buffer, dtype, shape):
    """What a pickled view becomes: a view of the bytes that came with it, read-only where they are."""
    dtype = carried_dtype(dtype)
    try:
        view = _core.BufferView.from_buffer(buffer, dtype)
    except BufferError:
        # Whoever carried them has put them where elements of this dtype cannot be.
        moved = np.array(np.frombuffer(buffer, np.uint8))
        _core.report_copy(moved.nbytes, "a pickled view arrived where its elements cannot be")
        view = _core.BufferView.from_buffer(moved, dtype)
    return view.reshape(shape)


def reduce_array(array, protocol):
    """`MemArray.__reduce_ex__`: a snapshot of the elements, out of band where protocol 5 can, else in band.

    Of an array in shared memory, its name.
    """
    attributes = getattr(array, "__dict__", None) or None
    if (segment := array._segment) and segment[0]:
        return rebuild_shared, (type(array), *segment), attributes
    view = array.view().to_device("cpu")
    name = view_dtype_name(view, _core.instances)
    arguments = (type(array), _pickled_bytes(raw_bytes(view), protocol, bytes), name, view.shape)
    return rebuild_array, arguments, attributes


def rebuild_array(cls, buffer, dtype, shape):
    """What a pickled array becomes: a new one with the same contents."""
    array = cls(shape, dtype, uninitialized=True)
    with array.write(discard=True) as lease:
        raw_bytes(lease)[...] = np.frombuffer(buffer, np.uint8)
    _core.report_copy(array.nbytes, "a pickled array became a new one")
    return array


def rebuild_shared(cls, name, uid):
    """Attaches to the shared memory that a pickled array names. `memarray.Error` if it holds another array now."""
    from .shared_memory import attach_as

    array = attach_as(cls, name)
    if array._segment != (name, uid):
        raise _core.Error(
            f"the shared memory {_core.shown(name)} holds another array than the one that was pickled, which is gone"
        )
    return array
