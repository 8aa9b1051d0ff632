"""New arrays, by the registered factories: one for each pair of dtype and rank."""

from __future__ import annotations

from . import _core
from ._dtypes import dtype_name

# Like typing.TYPE_CHECKING, without importing typing.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The values of MemoryType in C++.
_MEMORY_CODES = {"normal": 0, "pinned": 1, "unified": 2, "device": 3}


def new_array(
    cls: type[Any], shape, dtype=None, device_id=0, *, uninitialized: bool = False, memory_type: object = "normal"
) -> Any:
    """Implements `MemArray.__new__` for `cls`, without calling the constructor of a subclass."""
    extents = shape_of(shape)
    instance = find_instance(cls, dtype_name(dtype, cls._TYPE_INSTANCE_MAP, len(extents)), len(extents))
    if not isinstance(uninitialized, bool):
        raise TypeError(f"uninitialized must be True or False, not {_core.shown(uninitialized)}")
    if memory_type == "normal":
        return instance(cls, extents, device_id, uninitialized)
    return instance(cls, extents, device_id, uninitialized, _memory_code(memory_type))


def _memory_code(memory_type: object) -> int:
    if not isinstance(memory_type, str):
        raise TypeError(f"memory_type must be a string or a MemoryType, not {type(memory_type).__name__}")
    code = _MEMORY_CODES.get(memory_type)
    if code is None:
        raise ValueError(f"memory_type is one of {', '.join(map(repr, _MEMORY_CODES))}, not {_core.shown(memory_type)}")
    return code


def find_instance(cls: type[Any], name: str, ndim: int) -> _core.Instance:
    """Returns the factory of arrays of a dtype and a rank. Raises UnsupportedTypeError if there is none."""
    instance = cls._TYPE_INSTANCE_MAP.get((name, ndim))
    if instance is None:
        raise _core.UnsupportedTypeError(_unsupported(name, ndim, cls._TYPE_INSTANCE_MAP))
    return instance


def _unsupported(name: str, ndim: int, instances) -> str:
    ranks: dict[str, list[int]] = {}
    for known, rank in instances:
        ranks.setdefault(known, []).append(rank)
    alike: dict[str, list[str]] = {}
    for known, of in sorted(ranks.items()):
        alike.setdefault(_listed(sorted(of)), []).append(known)
    listed = "; ".join(f"{', '.join(names)} with ndim {of}" for of, names in alike.items())
    return (
        f"no MemArray<{name}, {ndim}> is registered. There are: {listed}. "
        "To add one, call bind_mem_array<T, ndim>(module) from <memarray/python/memarray.hpp> in an extension module; "
        "the fields of a struct are named with MEMARRAY_FIELDS"
    )


def _listed(ranks: list[int]) -> str:
    """Returns 1, 2, 3 as "1 to 3", and 1, 3 as "1, 3"."""
    together = len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1
    return f"{ranks[0]} to {ranks[-1]}" if together else ", ".join(map(str, ranks))


def shape_of(shape) -> list[Any]:
    """Returns the extents of a shape, which is an integer or a sequence of integers. TypeError for anything else."""
    if isinstance(shape, int) and not isinstance(shape, bool):
        return [shape]
    try:
        # Iterable, but refused as in `resize`: the items have no order, or are no extents.
        if isinstance(shape, (set, frozenset, dict, bytes)):
            raise TypeError
        extents = iter(shape)
    except TypeError:
        # NumPy's integers and 0-d arrays are not iterable.
        if _core.is_integer(shape):
            return [shape]
        words = _core.shown(shape)
        raise TypeError(f"shape must be an integer or a sequence of integers, such as [2, 4, 7], not {words}") from None
    return list(extents)
