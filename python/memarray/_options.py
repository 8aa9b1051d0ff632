"""Process-wide settings."""

from __future__ import annotations

from . import _core


class Options:
    """``memarray.options``: settings of this process, read at each use."""

    __slots__ = ()

    @property
    def threads(self) -> int:
        """Number of host threads of a parallel loop. Set 0 for the number in the environment variable
        ``MEMARRAY_THREADS``, or without it for one thread per CPU of the process."""
        return _core.threads_in_use()

    @threads.setter
    def threads(self, count: int) -> None:
        _core.set_threads(_integer("threads", count, 2**16))

    @property
    def pool_limit(self) -> int:
        """Bytes of freed host memory that the pool may keep for new arrays."""
        return _core.get_pool_limit()

    @pool_limit.setter
    def pool_limit(self, count: int) -> None:
        _core.set_pool_limit(_integer("pool_limit", count, 2**63))

    @property
    def escaped_views(self) -> str:
        """The policy of new arrays for views that outlive their lease: ``'snapshot'``, ``'error'`` or ``'alias'``."""
        return _core.get_escaped_views()

    @escaped_views.setter
    def escaped_views(self, policy: str) -> None:
        _core.set_escaped_views(policy)

    @property
    def trace_leases(self) -> bool:
        """True if each lease records where it was opened, so that a LockError can name the place."""
        return _core.get_trace_leases()

    @trace_leases.setter
    def trace_leases(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise TypeError(f"trace_leases must be True or False, not {_core.shown(on)}")
        _core.set_trace_leases(on)

    @property
    def trace_resources(self) -> bool:
        """True if each resource that C code opens (``PyResource``) is recorded until it is closed. At its end the
        process lists on stderr the resources that were never closed."""
        return _core.get_trace_resources()

    @trace_resources.setter
    def trace_resources(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise TypeError(f"trace_resources must be True or False, not {_core.shown(on)}")
        _core.set_trace_resources(on)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in _NAMES)
        return f"<memarray.options: {values}>"


_NAMES = ("threads", "pool_limit", "escaped_views", "trace_leases", "trace_resources")


def _integer(name: str, value, limit: int) -> int:
    if not _core.is_integer(value):
        raise TypeError(f"{name} must be an integer, not {_core.shown(value)}")
    number = value.__index__()
    if not 0 <= number < limit:
        raise ValueError(f"{name} must be 0 or more, and less than {limit}; {_core.shown(number)} was given")
    return number


options = Options()
