"""Names of element types, without importing NumPy for the common ones."""

from __future__ import annotations

import sys

_BUILTIN = {float: "float64", int: "int64", bool: "bool", complex: "complex128", None: "float64"}


def dtype_name(dtype, instances) -> str:
    """The name of anything that `np.dtype` takes. Registered names and Python's own types need no NumPy."""
    if isinstance(dtype, str):
        if any((dtype, rank) in instances for rank in range(1, 9)):
            return dtype
    elif (dtype is None or isinstance(dtype, type)) and dtype in _BUILTIN:
        return _BUILTIN[dtype]
    import numpy as np

    described = np.dtype(dtype)
    if not described.isnative:
        raise TypeError(f"arrays are in native byte order, not {dtype!r}; convert with .astype({described.name!r})")
    return described.name


def numpy_dtype(name: str, typestr: str):
    """The `np.dtype` of an array; for bfloat16 that of ml_dtypes where installed, else the name."""
    if name == "bfloat16":
        ml_dtypes = import_ml_dtypes()
        if ml_dtypes is None:
            return name
        import numpy as np

        return np.dtype(ml_dtypes.bfloat16)
    import numpy as np

    return np.dtype(typestr)


def import_ml_dtypes():
    """The module ml_dtypes, or None."""
    if "ml_dtypes" in sys.modules:
        return sys.modules["ml_dtypes"]
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes
