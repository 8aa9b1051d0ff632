"""Pickles of arrays and views: the functions that reduce them, and those that a pickle calls to rebuild them."""

from __future__ import annotations

import copyreg
from pickle import PickleBuffer

import numpy as np

from . import _core
from ._dtypes import struct_dtype, view_dtype_name
from ._instances import new_array
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
    raw.flags.writeable = raw.flags.writeable and view.writable
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
        given = np.frombuffer(buffer, np.uint8)
        moved = given.copy()
        moved.flags.writeable = given.flags.writeable
        _core.report_copy(moved.nbytes, "a pickled view arrived where its elements cannot be")
        view = _core.BufferView.from_buffer(moved, dtype)
    return view.reshape(shape)


def reduce_array(array, protocol):
    """Implements `MemArray.__reduce_ex__`: a snapshot of the elements, out of band in protocol 5, else in band.

    For an array in shared memory, its name instead.
    """
    state = own_state(array)
    if (segment := array._segment) and segment[0]:
        return rebuild_shared, (type(array), *segment), state
    view = array.view().to_device("cpu")
    name = view_dtype_name(view, _core.instances)
    elements = _pickled_bytes(raw_bytes(view), protocol, bytes)
    return rebuild_array, (type(array), elements, name, view.shape, array.escaped_views), state


def own_state(array):
    """Returns the state of a subclass for `pickle`: that of its `__getstate__`, else its attributes and its slots."""
    if getstate := getattr(array, "__getstate__", None):  # all objects have it from Python 3.11 on
        return getstate()
    attributes = getattr(array, "__dict__", None) or None
    names = copyreg._slotnames(type(array))
    slots = {name: getattr(array, name) for name in names if hasattr(array, name)}
    return (attributes, slots) if slots else attributes


def set_own_state(array, state):
    """Sets what `own_state` returned, as `pickle` does."""
    if state is None:
        return
    if setstate := getattr(array, "__setstate__", None):
        setstate(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        array.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(array, name, value)


def rebuild_array(cls, buffer, dtype, shape, escaped_views=None):
    """Rebuilds a pickled array: a new array with the same contents. Does not call the constructor of a subclass."""
    array = new_array(cls, shape, dtype, uninitialized=True)
    if escaped_views is not None:
        array.escaped_views = escaped_views
    with array.write(discard=True) as lease:
        raw_bytes(lease)[...] = np.frombuffer(buffer, np.uint8)
    _core.report_copy(array.nbytes, "a pickled array became a new one")
    return array


def rebuild_shared(cls, name, uid):
    """Attaches to the shared memory that a pickled array names. `memarray.Error` if it now holds another array."""
    from ._segments import attach_as

    array = attach_as(cls, name)
    if array._segment != (name, uid):
        raise _core.Error(f"the shared memory {_core.shown(name)} holds another array, not the one that was pickled")
    return array
