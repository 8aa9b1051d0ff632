"""Names of element types, without importing NumPy for the common ones."""

from __future__ import annotations

import sys

from . import _core

_BUILTIN = {float: "float64", int: "int64", bool: "bool", complex: "complex128", None: "float64"}
#: Classes of NumPy's dtypes of numbers -> names, which NumPy composes anew each time.
_NAMES: dict[type, str] = {}


def dtype_name(dtype, instances, ndim: int = 1) -> str:
    """Returns the name to look up in `instances`, which has the keys (name, rank), for anything that `np.dtype` takes.

    Does not import NumPy for registered names and Python's own types. For a structured dtype returns the name of a
    registered struct with these fields, if possible one of rank `ndim`. Returns a text for the error message if no
    dtype or struct is found. Raises TypeError for a foreign byte order, and for fields that are not in memory order.
    """
    if isinstance(dtype, str):
        if (dtype, ndim) in instances or any(name == dtype for name, _ in instances):
            return dtype
    elif (dtype is None or isinstance(dtype, type)) and dtype in _BUILTIN:
        return _BUILTIN[dtype]
    elif type(dtype) in _NAMES and dtype.isnative:
        return _NAMES[type(dtype)]
    described = native_dtype(dtype)
    if described is None:
        return _core.shown(dtype)
    if described.names is not None:
        return registered_struct(describe_dtype(described), instances, ndim) or brief(described)
    if described is dtype and described.kind in "biufc":
        _NAMES[type(dtype)] = described.name
    return described.name


def any_dtype(dtype):
    """Returns the `np.dtype` of anything that `np.dtype` takes. Raises TypeError if NumPy refuses it."""
    import numpy as np

    try:
        return np.dtype(dtype)
    except Exception:
        raise TypeError(f"NumPy has no dtype {_core.shown(dtype)}") from None


def native_dtype(dtype):
    """Returns the `np.dtype` of anything that `np.dtype` takes; None if NumPy refuses it. Raises TypeError for a
    foreign byte order."""
    import numpy as np

    try:
        described = np.dtype(dtype)
    except Exception:
        # `np.dtype` raises many types of exceptions. Callers name the dtype in errors of their own.
        return None
    if not described.isnative:
        raise TypeError(
            f"elements are in native byte order, not {_core.shown(dtype)}; convert with .astype({described.name!r})"
        )
    return described


def brief(words) -> str:
    """Returns a dtype or names for messages, with at most 80 characters."""
    text = str(words)
    return text if len(text) <= 80 else text[:77] + "..."


def registered_struct(description: tuple, instances, ndim: int) -> str | None:
    """Returns the name of a struct in `instances` with these fields, if possible one of rank `ndim`; None without
    one."""
    found = None
    for (name, rank), instance in tuple(instances.items()):
        if instance._typestr == description:
            if rank == ndim:
                return name
            found = found or name
    return found


def view_dtype_name(view, instances) -> str:
    """Returns the name of a view's dtype. For a struct that is not registered under its own name, returns the name of
    a registered struct with the same fields, if there is one."""
    name, description = view._dtype_name, view._typestr
    if isinstance(description, tuple) and (name, view.ndim) not in instances:
        return registered_struct(description, instances, view.ndim) or name
    return name


def describe_dtype(dtype):
    """Returns the name of an `np.dtype`, or for a dtype with fields the description (itemsize, fields).

    Each field is (name, offset, typestr or nested description, shape). Raises TypeError if the fields, which values
    list in this order, are not ordered by offset.
    """
    if dtype.names is None:
        return dtype.name
    fields = [(name, *dtype.fields[name][:2]) for name in dtype.names]
    if fields != sorted(fields, key=lambda field: field[2]):
        raise TypeError(
            f"the fields of a struct are in memory order, not {brief(dtype.names)}: name them in the order of their "
            "offsets, or copy with numpy.lib.recfunctions.repack_fields(x, recurse=True)"
        )
    return dtype.itemsize, tuple(_describe_field(*field) for field in fields)


def _describe_field(name, dtype, offset):
    base, shape = dtype.subdtype or (dtype, ())
    if base.names is not None:
        return name, offset, describe_dtype(base), shape
    # The typestrs of ml_dtypes' dtypes are those of plain bytes, such as "|V2". The extension module accepts that for
    # bfloat16. For the others the description has the name, which the extension module refuses.
    if base.kind == "V":
        known = base.name == "bfloat16" or base.name.startswith("void")
        return name, offset, f"|V{base.itemsize}" if known else base.name, shape
    return name, offset, base.str, shape


def struct_dtype(description: tuple):
    """Returns the `np.dtype` of a description that `describe_dtype` made."""
    import numpy as np

    itemsize, fields = description
    formats = []
    for _, _, typestr, shape in fields:
        base = struct_dtype(typestr) if isinstance(typestr, tuple) else np.dtype(typestr)
        formats.append((base, tuple(shape)) if shape else base)
    names, offsets = [field[0] for field in fields], [field[1] for field in fields]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize})


def numpy_dtype(name: str, typestr: str | tuple):
    """Returns the `np.dtype` of a dtype's name and its typestr or description. For bfloat16 returns the dtype of
    ml_dtypes, or the name if ml_dtypes is not installed."""
    if isinstance(typestr, tuple):
        return struct_dtype(typestr)
    if name == "bfloat16":
        ml_dtypes = import_ml_dtypes()
        if ml_dtypes is None:
            return name
        import numpy as np

        return np.dtype(ml_dtypes.bfloat16)
    import numpy as np

    return np.dtype(typestr)


def import_ml_dtypes():
    """Returns the module ml_dtypes, or None."""
    if "ml_dtypes" in sys.modules:
        return sys.modules["ml_dtypes"]
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes
