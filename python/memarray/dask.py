"""How Dask's distributed scheduler sends arrays and views: as frames of their own memory.

Nothing needs to be called: this is registered in every process that imports both memarray and `distributed`, whichever
comes first. An array that is sent is lent for as long as its frame lives: a snapshot, and no copy. What arrives is over
the memory that the message was received in: a MemArray that `is_foreign`, a BufferView.

An array that somebody holds for writing is not sent; the error says who holds it. Nor is one on a device, unless Dask's
configuration has ``memarray.move-to-host: true``; then it is copied to the host first, which is reported.
"""

from __future__ import annotations

from dask.base import normalize_token
from dask.sizeof import sizeof
from distributed.protocol.serialize import dask_deserialize, dask_serialize


def register() -> None:
    """Tells Dask of MemArray and BufferView; calling it again changes nothing. What it needs is loaded at first use."""
    for table in (dask_serialize, dask_deserialize, sizeof, normalize_token):
        table.register_lazy("memarray", _register_now)


def _register_now() -> None:
    from . import BufferView, MemArray
    from . import _dask_frames as frames

    dask_serialize.register(MemArray, frames.array_to_frames)
    dask_deserialize.register(MemArray, frames.array_of_frames)
    dask_serialize.register(BufferView, frames.view_to_frames)
    dask_deserialize.register(BufferView, frames.view_of_frames)
    sizeof.register(MemArray, frames.size_of_array)
    sizeof.register(BufferView, frames.size_of_view)
    normalize_token.register(MemArray, frames.token_of_array)
    normalize_token.register(BufferView, frames.token_of_view)


register()
