"""Support for Dask's distributed scheduler, which sends arrays and views as frames of their own memory.

No call is needed: every process that imports both memarray and `distributed` has this support, whichever comes first. A
sent array is exported for as long as its frame lives: a snapshot, and no copy. The receiver gets an object over the
memory into which the message was received: a MemArray that `is_foreign`, or a BufferView.

An array that is held for writing is not sent; the error names the holder. An array on a device is not sent either,
unless Dask's configuration has ``memarray.move-to-host: true``. It is then copied to the host first, which is reported.
"""

from __future__ import annotations

from dask.base import normalize_token
from dask.sizeof import sizeof
from distributed.protocol.serialize import dask_deserialize, dask_serialize


def register() -> None:
    """Registers MemArray and BufferView with Dask; calling it again has no effect. The code is loaded on first use."""
    for table in (dask_serialize, dask_deserialize, sizeof, normalize_token):
        table.register_lazy("memarray", _register_now)


def _register_now() -> None:
    from . import _dask_frames as frames
    from ._array import MemArray
    from ._core import BufferView

    dask_serialize.register(MemArray, frames.array_to_frames)
    dask_deserialize.register(MemArray, frames.array_of_frames)
    dask_serialize.register(BufferView, frames.view_to_frames)
    dask_deserialize.register(BufferView, frames.view_of_frames)
    sizeof.register(MemArray, frames.size_of_array)
    sizeof.register(BufferView, frames.size_of_view)
    normalize_token.register(MemArray, frames.token_of_array)
    normalize_token.register(BufferView, frames.token_of_view)


register()
