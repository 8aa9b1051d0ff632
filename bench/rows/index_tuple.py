"""add_index_tuple: a kernel bound by memory where arrays are large and by call costs where they are small."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.measure import Candidate, Comparison, timed, timed_call
from harness.peers import set_threads
from harness.registry import Setting, row


def native_folder() -> Path:
    """Returns the folder where bench/run built the native peers. bench/run puts it on the path."""
    return next(Path(p) for p in sys.path if (Path(p) / "native_loops.so").exists())


def numpy_view(array):
    import numpy as np

    with array.write() as lease:
        return np.from_dlpack(lease)


def clock(setting: Setting) -> Callable[[], float]:
    return time.process_time if setting.threads == 1 else time.perf_counter


def checked_ours(shape: tuple[int, ...], dtype: str, setting: Setting) -> tuple[object, Candidate]:
    import memarray
    import numpy as np
    from harness import ramps

    array = memarray.MemArray(list(shape), dtype)
    array.add_index_tuple()
    if not np.allclose(numpy_view(array), ramps.ramp(shape, dtype), rtol=1e-6):
        raise AssertionError("memarray does not add the sum of the indices")
    return array, timed_call("memarray: a.add_index_tuple()", array.add_index_tuple, clock=clock(setting))


def candidates(x, formulations, setting: Setting) -> list[Candidate]:
    from harness import ramps

    made = []
    for name, run in formulations:
        if not name.startswith("jax"):
            ramps.check(name, x, run)
        made.append(timed_call(name, run, clock=clock(setting)))
    return made


@row("index-3d", "add_index_tuple, 256×512×512 float32", threads=(1, 2))
def index_3d(setting: Setting) -> Iterator[Comparison]:
    import numpy as np
    from harness import ramps

    set_threads(setting.threads)
    shape = (32, 512, 512) if setting.quick else (256, 512, 512)
    array, ours = checked_ours(shape, "float32", setting)
    x = np.zeros(shape, np.float32)
    native = candidates(x, ramps.native_ways(x, setting.threads, native_folder()), setting)
    yield Comparison("add_index_tuple, 256×512×512 float32, native loop", 1.05, ours, native)
    numpy_ = candidates(x, ramps.numpy_ways(x, setting.threads), setting)
    others = candidates(x, [*ramps.torch_ways(x), *ramps.numba_ways(x), *ramps.jax_ways(x)], setting)
    yield Comparison("add_index_tuple, 256×512×512 float32, NumPy", 0.75, ours, numpy_, others)
    del array


def without_kept_ramp(made: list[Candidate]) -> list[Candidate]:
    """Returns the ways that start from ``x`` alone, as memarray does. A kept ramp has the sums already."""
    return [candidate for candidate in made if "kept ramp" not in candidate.name]


def against_numpy_and_numba(title: str, shape: tuple[int, ...], dtype: str, setting: Setting) -> Iterator[Comparison]:
    import numpy as np
    from harness import ramps

    set_threads(setting.threads)
    _, ours = checked_ours(shape, dtype, setting)
    x = np.zeros(shape, dtype)
    numpy_ = candidates(x, ramps.numpy_ways(x, setting.threads), setting)
    yield Comparison(f"{title}, NumPy", 0.25, ours, numpy_)
    yield Comparison(f"{title}, NumPy with no ramp kept", 0.25, ours, without_kept_ramp(numpy_))
    numba = candidates(x, ramps.numba_ways(x), setting)
    native = candidates(x, ramps.native_ways(x, setting.threads, native_folder()), setting)
    others = candidates(x, [*ramps.torch_ways(x), *ramps.jax_ways(x)], setting)
    if numba:
        yield Comparison(f"{title}, numba", 0.9, ours, numba, native + others)


@row("index-1d", "add_index_tuple, 64 Mi float32 in one dimension", threads=(1, 2))
def index_1d(setting: Setting) -> Iterator[Comparison]:
    size = (4 if setting.quick else 64) << 20
    yield from against_numpy_and_numba("add_index_tuple, 64 Mi float32", (size,), "float32", setting)


@row("index-rows-of-3", "add_index_tuple, 8 Mi × 3 float64", threads=(1, 2))
def index_rows_of_3(setting: Setting) -> Iterator[Comparison]:
    rows = (1 if setting.quick else 8) << 20
    yield from against_numpy_and_numba("add_index_tuple, 8 Mi × 3 float64", (rows, 3), "float64", setting)


@row("index-small", "add_index_tuple, 32×32×32 float32: the whole call from Python")
def index_small(setting: Setting) -> Iterator[Comparison]:
    import numpy as np
    from harness import ramps

    set_threads(setting.threads)
    shape = (32, 32, 32)
    array, _ = checked_ours(shape, "float32", setting)
    x = np.zeros(shape, np.float32)

    def short(formulations) -> list[Candidate]:
        made = []
        for name, run in formulations:
            ramps.check(name, x, run)
            made.append(timed(name, "run()", run=run))
        return made

    ours = timed("memarray: a.add_index_tuple()", "run()", run=array.add_index_tuple)
    others = [*ramps.numpy_ways(x, 1), *ramps.numba_ways(x), *ramps.native_ways(x, 1, native_folder())]
    torch = short(ramps.torch_ways(x))
    if torch:
        yield Comparison("add_index_tuple, 32³ float32, torch", 0.25, ours, torch, short(others))
        computing = without_kept_ramp(torch)
        yield Comparison("add_index_tuple, 32³ float32, torch with no ramp kept", 0.25, ours, computing)


@row("index-versions", "add_index_tuple, 256×512×512 float32, with 10 versions kept", threads=(1, 2))
def index_versions(setting: Setting) -> Iterator[Comparison]:
    import memarray
    import numpy as np
    from harness import ramps

    set_threads(setting.threads)
    shape, versions = ((32, 512, 512) if setting.quick else (256, 512, 512)), 10
    memarray.options.pool_limit = 4 << 30
    array = memarray.MemArray(list(shape), "float32")
    kept: list = []

    def ours():
        for _ in range(versions):
            with array.read() as lease:
                kept.append(np.from_dlpack(lease))
            array.add_index_tuple()

    full, grid = ramps.ramp(shape, np.float32), ramps.open_grid(shape, np.float32)
    buffers = [np.zeros(shape, np.float32) for _ in range(versions + 1)]

    def fresh(addend):
        x = buffers[0]
        for _ in range(versions):
            kept.append(x)
            x = x + addend

    def preallocated():
        for old, new in itertools.pairwise(buffers):
            kept.append(old)
            np.add(old, full, out=new)

    def preallocated_by_pieces():
        for old, new in itertools.pairwise(buffers):
            kept.append(old)
            np.add(old, plane, out=new)
            np.add(new, grid[0], out=new)

    plane = grid[1] + grid[2]

    def fresh_by_pieces():
        x = buffers[0]
        for _ in range(versions):
            kept.append(x)
            x = x + plane
            np.add(x, grid[0], out=x)

    def candidate(name: str, run) -> Candidate:
        return timed_call(name, run, before=kept.clear, per=versions, clock=clock(setting))

    mine = candidate("memarray: keep a view, add_index_tuple()", ours)
    made_new = [
        candidate("numpy: x = x + kept ramp", lambda: fresh(full)),
        candidate("numpy: x = x + plane, += index", fresh_by_pieces),
    ]
    made_before = [
        candidate("numpy: np.add(x, kept ramp, out=warm buffer)", preallocated),
        candidate("numpy: np.add(x, plane, out=warm buffer), += index", preallocated_by_pieces),
    ]
    title = "add_index_tuple, 256×512×512 float32, 10 versions kept"
    yield Comparison(f"{title}, NumPy's `x + ramp`", 0.5, mine, made_new)
    yield Comparison(f"{title}, NumPy into 10 buffers made before", 0.5, mine, made_before)
