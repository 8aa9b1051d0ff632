"""Conversions of values and arrays for which the extension module uses NumPy."""

from __future__ import annotations

import sys

import numpy as np

from . import _core
from ._dtypes import any_dtype, brief, describe_dtype, native_dtype, numpy_dtype


def _dtype_for_numpy(array):
    dtype = numpy_dtype(array._dtype_name, array._typestr)
    if isinstance(dtype, str):
        raise TypeError("NumPy has no bfloat16 of its own: install ml_dtypes, or use torch.from_dlpack(lease)")
    return dtype


def plain_element(array, value):
    """Returns one element as bytes, or as a number for the caller to round. Converts like `read_numpy_array`, except
    that integers must fit."""
    target = _dtype_for_numpy(array)
    try:
        if target.names is not None:
            element = np.zeros((), target)
            _write_fields(element, value)
            _write_valid_bools(element)
            return element.tobytes()
        source = np.asarray(numpy_array(value))
    except (ValueError, TypeError) as error:
        raise TypeError(
            f"{_core.shown(value)} is not an element of {brief(target)}: {_core.first_line(error)}"
        ) from error
    if source.ndim != 0:
        raise TypeError(f"fill takes one element, not an array of shape {source.shape}; use read_numpy_array")
    _check_fit(source, target, value)
    if source.dtype.kind == "V":
        # Plain bytes, or a number of ml_dtypes. Casts from those to other dtypes are exact.
        return (source if target.kind == "V" else source.astype(target)).tobytes()
    if target.kind == "b":
        return b"\1" if source.view(np.uint8) else b"\0"
    number = source.item()
    if isinstance(number, (int, float, complex)):
        return number
    # A long double. ml_dtypes would round it to bfloat16 by way of float32.
    return float(number) if target.kind == "V" else source.astype(target).tobytes()


def _write_fields(element, value) -> None:
    """Writes one struct from a tuple, or from a struct with the same fields. Leaves padding as it is."""
    names = element.dtype.names
    if not isinstance(value, tuple):
        source = np.asarray(numpy_array(value))
        check_cast(source, element.dtype, "fill")
        source = source.view(_without_ml_dtypes(source.dtype))
        value = tuple(source[name] for name in names)
    if len(value) != len(names):
        raise TypeError(f"a tuple of {len(names)} fields is needed, not of {len(value)}")
    for name, item in zip(names, value, strict=True):
        _write_field(element[name], item)


def _write_field(field, value) -> None:
    if field.dtype.names is None:
        _write_values(field, value)
    elif field.ndim == 0:
        _write_fields(field, value)
    elif len(value) == len(field):
        for i in range(len(field)):
            _write_field(field[i, ...], value[i])
    else:
        raise TypeError(f"{len(field)} structs are needed, not {len(value)}")


def _write_values(field, value) -> None:
    if field.dtype.kind == "V" and isinstance(value, bytes):
        value = np.void(value)
    source = np.asarray(numpy_array(value))
    if source.dtype.kind == "O" and isinstance(value, int) and field.dtype.kind in "fc":
        source = np.asarray(float(value))
    if source.shape != field.shape:
        raise TypeError(f"a field of shape {field.shape} takes no value of shape {source.shape}")
    _check_fit(source, field.dtype, value)
    field[...] = source


def _check_fit(source, target, value) -> None:
    """Raises OverflowError for integers that do not fit, and TypeError for other kinds and longer texts."""
    if target.kind in "iu" and (source.dtype.kind in "iu" or isinstance(value, int)):
        limits = np.iinfo(target)
        if source.size and not (limits.min <= int(source.min()) and int(source.max()) <= limits.max):
            raise OverflowError(f"{_core.shown(value)} does not fit into {target}")
    elif target.kind in "SU":
        # NumPy casts numbers to texts, and cuts long ones.
        if source.dtype.kind != target.kind or source.itemsize > target.itemsize:
            raise TypeError(f"a field of {target} takes texts of at most its length, not {_core.shown(value)}")
    else:
        check_cast(source, target, "fill")


def check_unannotated(source, depth: int = 0) -> None:
    """Refuses masks and units, also in sequences, with BufferError. NumPy would drop them."""
    if type(source) in _UNANNOTATED:
        return
    if _is_sequence(source):
        # Types first: most sequences hold plain numbers. NumPy goes no deeper.
        if depth < _DEEPEST and any(kind not in _UNANNOTATED for kind in set(map(type, source))):
            for item in source:
                check_unannotated(item, depth + 1)
        return
    _core.check_unannotated(source)
    interface = getattr(source, "__array_interface__", None)
    if isinstance(interface, dict) and interface.get("mask") is not None:
        raise BufferError(f"memarray would lose the mask of this {type(source).__name__}: fill it in first")
    if depth and not isinstance(source, (np.ndarray, np.generic)) and not hasattr(type(source), "__dlpack__"):
        # In a sequence NumPy keeps only the numbers of what `__array__` returns.
        convert = getattr(source, "__array__", None)
        if callable(convert):
            check_unannotated(convert())


def _is_sequence(source) -> bool:
    """True if NumPy takes the items of `source`, which has neither memory nor a conversion of its own."""
    kind = type(source)
    if kind is list or kind is tuple:
        return True
    if not (hasattr(kind, "__getitem__") and hasattr(kind, "__len__")) or isinstance(source, (str, bytes, dict)):
        return False
    if any(hasattr(source, name) for name in ("__array__", "__array_interface__", "__array_struct__")):
        return False
    try:
        memoryview(source)
    except (TypeError, BufferError):
        return True
    return False


def numpy_array(source):
    """Returns `source` as a NumPy array, or as its subclass. BufferError for masks, units and unreadable tensors."""
    check_unannotated(source)
    try:
        array = np.asanyarray(source)
    except (ValueError, TypeError, RuntimeError):
        check_tensors(source)
        raise
    # The array that __array__ returns may have a mask, too.
    if array is not source:
        check_unannotated(array)
    return array


def check_tensors(source, depth: int = 0) -> None:
    """Refuses tensors of other libraries that NumPy cannot read, also in sequences, with BufferError of one line."""
    if _is_sequence(source):
        for item in source if depth < _DEEPEST else ():
            check_tensors(item, depth + 1)
    elif hasattr(type(source), "__dlpack__") and not isinstance(source, _OWN_TYPES):
        try:
            np.asarray(source)
        except (RecursionError, _core.Error):
            raise
        except (ValueError, TypeError, RuntimeError) as error:
            name = type(source).__name__
            # The producer's error may be a page of its own stack.
            raise BufferError(f"NumPy cannot read the memory of this {name}: {_core.first_line(error)}") from None


_OWN_TYPES = (_core.ArrayBase, _core.BufferView, _core.Lease)
_UNANNOTATED = frozenset({np.ndarray, bool, int, float, complex, str, bytes, range, type(None)})
_DEEPEST = 64  # dimensions of an array of NumPy


def check_cast(source, target, what: str) -> None:
    """Raises `TypeError` unless `source` converts to the dtype `target` within its kind. Structs need equal field
    names, and plain bytes an equal size."""
    if target.names is not None:
        # NumPy would match fields by position, whatever their names.
        if _field_names(source.dtype) != _field_names(target) or not _plain_fields_fit(source.dtype, target):
            raise TypeError(
                f"{what} takes elements with the fields {brief(target.names)} in this order, not "
                f"{brief(source.dtype)}; select and order them first, and convert with .astype({brief(target)})"
            )
        if np.can_cast(source.dtype, target, "same_kind"):
            return
    elif target.kind == "V":
        # The numbers of ml_dtypes have the kind V, but are no plain bytes. NumPy converts anything to either.
        if target.type is np.void:
            if source.dtype.type is np.void and source.dtype.itemsize == target.itemsize:
                return
        elif source.dtype == target or source.dtype.kind in "biuf":
            return
    elif np.can_cast(source.dtype, target, "same_kind"):
        return
    raise TypeError(
        f"{what} converts within a kind of number ('same_kind'), not from {brief(source.dtype)} to {brief(target)}; "
        f"convert first with .astype({brief(target) if target.names else repr(target.name)})"
    )


def _field_names(dtype):
    """Returns the names of all fields, nested like the structs; None for a dtype without fields."""
    base = dtype.base
    if base.names is None:
        return None
    return [(name, _field_names(base.fields[name][0])) for name in base.names]


def _plain_fields_fit(source, target):
    """True if fields of plain bytes, as which bfloat16 appears in structs, are filled from fields of their size."""
    source, target = source.base, target.base
    if target.names is not None:
        return all(_plain_fields_fit(source.fields[name][0], target.fields[name][0]) for name in target.names)
    return target.kind != "V" or (source.kind == "V" and source.itemsize == target.itemsize)


def _without_ml_dtypes(dtype):
    """Returns a structured dtype with plain bytes in place of the numbers of ml_dtypes, which NumPy cannot copy."""
    if dtype.subdtype:
        base, shape = dtype.subdtype
        return np.dtype((_without_ml_dtypes(base), shape))
    if dtype.names is None:
        return np.dtype(f"V{dtype.itemsize}") if dtype.kind == "V" else dtype
    formats = [_without_ml_dtypes(dtype.fields[name][0]) for name in dtype.names]
    offsets = [dtype.fields[name][1] for name in dtype.names]
    return np.dtype({"names": dtype.names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})


def _write_valid_bools(elements) -> None:
    """Writes the bools in the fields of structs as 0 and 1. In memory of other libraries they may have any byte."""
    for name in elements.dtype.names:
        field = elements[name]
        if field.dtype.names is not None:
            _write_valid_bools(field)
        elif field.dtype.kind == "b":
            np.not_equal(field.view(np.uint8), 0, out=field)


def lease_to_numpy(lease, dtype=None, copy=None):
    """Implements `Lease.__array__`. NumPy calls it if the buffer protocol has no format for the dtype."""
    target = _dtype_for_numpy(lease.array)
    array = np.asarray(ArrayInterface(lease)).view(target)
    return convert(array, dtype, copy)


def convert(array, dtype, copy):
    """Applies the arguments of `__array__` to a NumPy array that shares the memory."""
    wanted = array.dtype if dtype is None else any_dtype(dtype)
    if wanted != array.dtype:
        if copy is False:
            names = f"from {brief(array.dtype)} to {brief(wanted)}"
            raise ValueError(f"converting {names} needs a copy, and copy=False was requested")
        return array.astype(wanted)
    return array.copy() if copy else array


class ArrayInterface:
    """An object that exports a lease or view through the array interface alone, and keeps it alive."""

    def __init__(self, lease):
        self.lease = lease
        self.__array_interface__ = _core.raw_interface(lease)


def read_numpy_array(array, source) -> None:
    """Replaces all contents of `array` with those of `source`, of any strides and any dtype of the same kind."""
    # Not a subclass, whose methods would run while the array has no contents.
    source = np.asarray(numpy_array(source))
    target = _dtype_for_numpy(array)
    if source.shape != array.shape:
        raise ValueError(f"read_numpy_array takes an array of shape {array.shape}, not {source.shape}; resize first")
    check_cast(source, target, "read_numpy_array")
    # Reported after the lease has closed, because a log handler may use the array.
    copied = None
    if target.names is not None:
        source = np.asarray(source).view(_without_ml_dtypes(source.dtype))
    if target.type is np.void and target.names is None:
        # A view as another dtype of the same size takes no copy, whatever the strides.
        source = np.asarray(source).view(target)
    elif (target.kind in "fcV" or target.names is not None) and not np.can_cast(source.dtype, target):
        # NumPy may raise while it converts. The array must not be left half written.
        if target.kind == "V" and source.dtype.kind in "iuf" and source.itemsize in (4, 8):
            # ml_dtypes would round twice. `cast` reports its copy.
            native = source.astype(source.dtype.newbyteorder("="), copy=False)
            source = np.asarray(_core.BufferView(native).cast("bfloat16")).view(target)
        else:
            copied = f"read_numpy_array converted from {brief(source.dtype)} to {brief(target)} first"
            source = source.astype(target)
    # Writes the host side. A valid device side is then stale.
    opening = array.write("cpu", discard=True)
    opening._expect(source.shape)
    with opening as lease:
        destination = np.asarray(lease)
        if destination.dtype != target:
            destination = destination.view(target)
        # Under the policy "alias" an escaped view may be the source.
        if np.may_share_memory(destination, source):
            copied = "the source of read_numpy_array overlaps the array"
            source = source.copy()
        if target.kind == "b":
            # NumPy copies bools as bytes, which in other libraries may be neither 0 nor 1.
            np.not_equal(np.asarray(source).view(np.uint8), 0, out=destination)
        else:
            np.copyto(destination, source, casting="same_kind")
            if target.names is not None:
                _write_valid_bools(destination)
        del destination
    if copied:
        _core.report_copy(source.nbytes, copied)


def view_dtype(view):
    """Implements `BufferView.dtype`."""
    return numpy_dtype(view._dtype_name, view._typestr)


def view_to_numpy(view, dtype=None, copy=None):
    """Implements `BufferView.__array__`. NumPy calls it if the buffer protocol has no format for the dtype."""
    return convert(np.asarray(ArrayInterface(view)).view(_dtype_for_numpy(view)), dtype, copy)


def shipped_dtype_name(dtype):
    """Returns the name or description (`describe_dtype`) of anything that `np.dtype` takes. Raises TypeError for a
    foreign byte order, and for fields that are not in memory order. Returns a text that names no dtype if there is no
    such dtype."""
    if isinstance(dtype, str) and dtype == "bfloat16":
        return dtype
    described = native_dtype(dtype)
    return _core.shown(dtype) if described is None else describe_dtype(described)


def dtype_of_interface(owner, interface):
    """Returns the name or description (`describe_dtype`) of the dtype in an `__array_interface__`."""
    typestr = interface.get("typestr")
    if not isinstance(typestr, str):
        raise BufferError(f"'typestr' of an __array_interface__ is a string, not {_core.shown(typestr)}")
    known = getattr(owner, "dtype", None)
    if isinstance(known, np.dtype) and known.str == typestr and known.names is None and known.type is not np.void:
        # The typestr does not identify the dtypes of ml_dtypes; their names do.
        return _native(known)
    try:
        described = np.dtype(typestr)
    except TypeError as error:
        raise BufferError(f"memarray has no dtype for the typestr {_core.shown(typestr)}") from error
    descr = interface.get("descr")
    if described.kind == "V" and descr is not None and descr != [("", typestr)]:
        described = _dtype_of_descr(descr, described.itemsize)
    elif isinstance(owner, np.ndarray) and owner.dtype.names is not None:
        # NumPy has no 'descr' for fields that overlap, or are not in memory order.
        described = owner.dtype
    return _native(described)


def _dtype_of_descr(descr, itemsize):
    """Returns the dtype of 'descr' in an `__array_interface__`. Fields without names are padding."""
    try:
        described = np.lib.format.descr_to_dtype(descr)
    except Exception as error:
        raise BufferError(
            f"'descr' of this __array_interface__ is not a list of fields that NumPy reads: {_core.shown(descr)}"
        ) from error
    if described.itemsize != itemsize:
        raise BufferError(
            f"'descr' of this __array_interface__ has {described.itemsize} bytes an item, and its typestr {itemsize}"
        )
    return described


def struct_in_buffer(owner):
    """Returns the description (`describe_dtype`) of the structs in the buffer of `owner`."""
    exporter = memoryview(owner).obj
    ctypes = sys.modules.get("ctypes")
    try:
        if ctypes and isinstance(exporter, (ctypes.Structure, ctypes.Union, ctypes.Array)):
            # Their buffers have no format for packed structs and unions.
            described = np.dtype(type(exporter))
            while described.subdtype:
                described = described.base
        else:
            described = np.asarray(memoryview(owner)).dtype
    except (ValueError, TypeError, RuntimeError) as error:
        words = _core.first_line(error)
        raise BufferError(f"NumPy cannot read the format of this buffer of structs: {words}") from error
    return _native(described)


def _native(dtype):
    """Returns `describe_dtype(dtype)`. Raises BufferError for a foreign byte order, and for fields that are not in
    memory order."""
    if dtype.isnative:
        try:
            return describe_dtype(dtype)
        except TypeError as error:
            raise BufferError(str(error)) from None
    wanted = repr(dtype.name) if dtype.names is None else brief(dtype.newbyteorder("="))
    raise BufferError(f"memory in the other byte order cannot be viewed: convert with .astype({wanted})")
