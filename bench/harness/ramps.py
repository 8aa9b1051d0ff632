"""Formulations of add_index_tuple (every element += the sum of its indices) in each peer's own API.

Each function yields named candidates that work in place on the same memory ``x`` and preallocate all that they can.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from harness.peers import peer

Formulations = Iterator[tuple[str, Callable[[], object]]]


def open_grid(shape: tuple[int, ...], dtype) -> list[np.ndarray]:
    """Returns one index array for each dimension, shaped to broadcast."""
    return [index.astype(dtype) for index in np.ogrid[tuple(slice(extent) for extent in shape)]]


def ramp(shape: tuple[int, ...], dtype) -> np.ndarray:
    """Returns the sum of the indices of every element."""
    return sum(open_grid(shape, np.int64)).astype(dtype)


def numpy_ways(x: np.ndarray, threads: int) -> Formulations:
    kept = ramp(x.shape, x.dtype)
    yield "numpy: x += kept ramp", lambda: np.add(x, kept, out=x)

    grid = open_grid(x.shape, x.dtype)

    def add_grid():
        for index in grid:
            np.add(x, index, out=x)

    if x.ndim > 1:
        yield "numpy: x += each index", add_grid
    else:
        yield "numpy: x += np.arange(n)", lambda: np.add(x, np.arange(x.size, dtype=x.dtype), out=x)

    # By blocks whose ramp is the first block's plus one number: the ramp stays in the cache.
    if x.ndim == 3:
        blocks, step = x, 1
    else:
        rows = next(rows for rows in (65536, 32768, 8192, 1024, 32) if x.shape[0] % rows == 0)
        rows //= 8 if x.ndim == 2 and rows > 1024 else 1
        blocks, step = x.reshape(-1, rows, *x.shape[1:]), rows
    first = ramp(blocks.shape[1:], x.dtype)

    def add_blocks(begin: int, end: int):
        here = np.empty_like(first)
        for block in range(begin, end):
            np.add(first, x.dtype.type(block * step), out=here)
            np.add(blocks[block], here, out=blocks[block])

    yield "numpy: by blocks in cache", lambda: add_blocks(0, len(blocks))
    if threads > 1:
        executor = ThreadPoolExecutor(threads)
        cuts = [len(blocks) * t // threads for t in range(threads + 1)]
        yield "numpy: by blocks on a thread pool", lambda: list(executor.map(add_blocks, cuts[:-1], cuts[1:]))
        halves = [(slice(len(x) * t // threads, len(x) * (t + 1) // threads),) for t in range(threads)]
        yield (
            "numpy: x += kept ramp on a thread pool",
            lambda: list(executor.map(lambda part: np.add(x[part], kept[part], out=x[part]), halves)),
        )


def torch_ways(x: np.ndarray) -> Formulations:
    torch = peer("torch")
    if torch is None:
        return
    tensor, kept = torch.from_numpy(x), torch.from_numpy(ramp(x.shape, x.dtype))
    grid = [torch.from_numpy(index) for index in open_grid(x.shape, x.dtype)]
    yield "torch: x.add_(kept ramp)", lambda: tensor.add_(kept)
    yield "torch: torch.add(x, kept ramp, out=x)", lambda: torch.add(tensor, kept, out=tensor)

    def add_grid():
        for index in grid:
            tensor.add_(index)

    yield "torch: x.add_(each index)", add_grid

    def add_fresh():
        for dimension, extent in enumerate(tensor.shape):
            index = torch.arange(extent, dtype=tensor.dtype)
            tensor.add_(index.reshape([-1 if d == dimension else 1 for d in range(tensor.ndim)]))

    yield "torch: x.add_(torch.arange of each index)", add_fresh


def numba_ways(x: np.ndarray) -> Formulations:
    if peer("numba") is None:
        return
    from harness import numba_loops

    for name, loop in numba_loops.WAYS[x.ndim].items():
        yield f"numba: {name}", lambda loop=loop: loop(x)


def jax_ways(x: np.ndarray) -> Formulations:
    """Yields JAX's formulations: without in-place operations, each call donates the array to a jitted function."""
    jax = peer("jax")
    if jax is None:
        return
    jax.config.update("jax_enable_x64", True)

    def step(value):
        indices = [jax.lax.broadcasted_iota("int32", value.shape, d) for d in range(value.ndim)]
        return value + sum(indices[1:], indices[0]).astype(value.dtype)

    jitted = jax.jit(step, donate_argnums=0)
    held = [jax.numpy.zeros(x.shape, x.dtype)]

    def run():
        held[0] = jitted(held[0]).block_until_ready()

    yield "jax: jit of x + iota, donated", run


def native_ways(x: np.ndarray, threads: int, folder: Path) -> Formulations:
    """Yields the g++ -O3 -march=native loops of bench/native/native_loops.cpp."""
    library = ctypes.CDLL(str(folder / "native_loops.so"))
    pointer = ctypes.c_void_p(x.ctypes.data)
    extents = [ctypes.c_int64(extent) for extent in x.shape]
    names = {3: ["rows", "flat"], 2: ["rows_of_3"], 1: ["ramp"]}[x.ndim]
    suffix = "f32" if x.dtype == np.float32 else "f64"
    for name in names:
        for backend in ("openmp", "threads"):
            if backend == "openmp" and not library.has_openmp():
                continue
            function = getattr(library, f"{name}_{backend}_{suffix}", None)
            if function is None:
                continue
            passed = [pointer, *(extents if x.ndim != 2 else extents[:1]), ctypes.c_int(threads)]
            yield (
                f"g++ -march=native: {name.replace('_', ' ')}, {backend}",
                lambda function=function, passed=passed: function(*passed),
            )


def check(name: str, x: np.ndarray, run: Callable[[], object]) -> None:
    """Raises AssertionError unless ``run`` adds the ramp to ``x``. Rounding may differ: float32 holds 24 bits."""
    x.fill(0)
    run()
    expected = ramp(x.shape, x.dtype)
    if not np.allclose(x, expected, rtol=1e-6):
        raise AssertionError(f"{name} does not add the sum of the indices")
