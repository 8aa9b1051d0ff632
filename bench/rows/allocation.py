"""Making, touching and dropping large arrays."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

from harness.measure import Comparison, timed_call
from harness.peers import peer
from harness.registry import Setting, row

PAGE = 4096


def sizes(setting: Setting) -> tuple[int, ...]:
    return (16,) if setting.quick else (64, 256)


def with_view(array, lease_of, use) -> None:
    import numpy as np

    with lease_of(array) as lease:
        use(np.from_dlpack(lease))


def write_pages(view) -> None:
    view[::PAGE] = 1


def read_all(view):
    return view.max()


@row("allocate-uninitialized", "make uninitialized, write one byte per 4 KiB, drop")
def uninitialized(setting: Setting) -> Iterator[Comparison]:
    import memarray

    memarray.options.pool_limit = 1 << 30
    for mebibytes in sizes(setting):
        yield from uninitialized_of(mebibytes << 20, f"{mebibytes} MiB")


def uninitialized_of(size: int, spelled: str) -> Iterator[Comparison]:
    import memarray
    import numpy as np

    def ours():
        array = memarray.MemArray([size], "uint8", uninitialized=True)
        with_view(array, memarray.MemArray.write, write_pages)

    peers = [
        timed_call("np.empty(n, uint8)", lambda: write_pages(np.empty(size, np.uint8))),
        timed_call("np.empty(n / 8) as bytes", lambda: write_pages(np.empty(size // 8).view(np.uint8))),
    ]
    shown = []
    if (torch := peer("torch")) is not None:
        make = torch.empty
        shown = [timed_call("torch.empty(n)", lambda: write_pages(make(size, dtype=torch.uint8).numpy()))]
    title = f"make uninitialized, write a byte per 4 KiB, drop: {spelled}"
    warm = timed_call("memarray, pool warm", ours)
    cold = timed_call("memarray, pool trimmed", ours, before=memarray.trim)
    yield Comparison(f"{title}, pool warm", 0.1, warm, peers, shown)
    yield Comparison(f"{title}, cold", 1.0, cold, peers, shown)


@row("allocate-zeroed", "make zeroed, read, drop")
def zeroed(setting: Setting) -> Iterator[Comparison]:
    import memarray

    memarray.options.pool_limit = 1 << 30
    for mebibytes in sizes(setting):
        yield from zeroed_of(mebibytes << 20, f"{mebibytes} MiB")


def zeroed_of(size: int, spelled: str) -> Iterator[Comparison]:
    import memarray
    import numpy as np

    def ours():
        with_view(memarray.MemArray([size], "uint8"), memarray.MemArray.read, read_all)

    peers = [
        timed_call("np.zeros(n, uint8)", lambda: read_all(np.zeros(size, np.uint8))),
        timed_call("np.zeros(n / 8) as bytes", lambda: read_all(np.zeros(size // 8).view(np.uint8))),
    ]

    def mapped():
        # The cost of the system calls alone: anonymous memory on huge pages, read and unmapped.
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
        view = np.frombuffer(memory, np.uint8)
        read_all(view)
        del view
        memory.close()

    title = f"make zeroed, read all, drop: {spelled}"
    warm = timed_call("memarray, pool warm", ours)
    cold = timed_call("memarray, pool trimmed", ours, before=memarray.trim)
    shown = [timed_call("floor: mmap, read, munmap", mapped)]
    yield Comparison(f"{title}, pool warm", 1.0, warm, peers, shown)
    yield Comparison(f"{title}, cold", 1.0, cold, peers, shown)
