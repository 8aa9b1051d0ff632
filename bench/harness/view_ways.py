"""Formulations of reductions, copies and casts of strided float memory in each peer's own API.

All take the same selection of the same memory, by a function that works on NumPy arrays and torch tensors alike.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from harness.measure import Candidate, timed_call
from harness.peers import peer
from harness.programs import built
from harness.registry import Setting

Ways = Iterator[tuple[str, Callable[[], object]]]
Select = Callable[[object], object]


def parts_of(array: np.ndarray, threads: int, axis: int | None) -> list[np.ndarray]:
    """Returns pieces along ``axis``, or the longest dimension if it is None, as a user with a thread pool would cut."""
    along = int(np.argmax(array.shape)) if axis is None else axis
    cuts = [array.shape[along] * t // threads for t in range(threads + 1)]
    index = (slice(None),) * along
    return [array[(*index, slice(a, b))] for a, b in itertools.pairwise(cuts)]


def reductions(x: np.ndarray, select: Select, name: str, axis: int | None, threads: int) -> Ways:
    """Yields the peers' reductions. ``name``: sum, min or max."""
    chosen = select(x)
    ufunc = {"sum": np.add, "min": np.minimum, "max": np.maximum}[name]
    method = getattr(chosen, name)
    yield f"numpy: x.{name}({'' if axis is None else axis})", lambda: method(axis=axis)
    if threads > 1:
        executor = ThreadPoolExecutor(threads)
        parts = parts_of(chosen, threads, axis)

        def on_pool():
            made = list(executor.map(lambda part: ufunc.reduce(part, axis=axis), parts))
            return ufunc(made[0], made[1]) if len(made) == 2 else ufunc.reduce(made)

        yield f"numpy: x.{name}({'' if axis is None else axis}) on a thread pool", on_pool
    yield from torch_reductions(x, select, name, axis)
    if axis is None and name == "sum":
        ones = np.ones(chosen.size, chosen.dtype) if chosen.flags.c_contiguous else None
        if ones is not None:
            flat = chosen.reshape(-1)
            yield "numpy: np.dot(x, ones)", lambda: np.dot(flat, ones)
        yield "numpy: np.einsum to a scalar", lambda: np.einsum(chosen, list(range(chosen.ndim)), [])


def torch_reductions(x: np.ndarray, select: Select, name: str, axis: int | None) -> Ways:
    torch = peer("torch")
    if torch is None:
        return
    base = torch.from_numpy(x)
    try:
        tensor = select(base)
        made = "t"
    except ValueError:
        # torch has no negative strides: flip() copies.
        flipped = [d for d, stride in enumerate(select(x).strides) if stride < 0]
        reduce_flipped = {"sum": lambda: base.flip(flipped).sum()}.get(name)
        if reduce_flipped is not None and axis is None:
            yield f"torch: t.flip({flipped}).sum()", reduce_flipped
        return
    if name == "sum":
        yield f"torch: {made}.sum()", lambda: tensor.sum() if axis is None else tensor.sum(axis)
        return
    extreme = torch.amin if name == "min" else torch.amax
    yield f"torch: a{name}", lambda: extreme(tensor) if axis is None else extreme(tensor, axis)
    if axis is None:
        yield f"torch: {made}.{name}()", getattr(tensor, name)


def copies(x: np.ndarray, select: Select, dtype: str, threads: int) -> Ways:
    """Yields the peers' dense copies with a dtype, into new memory and into existing memory."""
    chosen = select(x)
    kept = np.empty(chosen.shape, dtype)
    kept.fill(0)
    if chosen.dtype == kept.dtype:
        yield "numpy: np.ascontiguousarray(x)", lambda: np.ascontiguousarray(chosen)
    else:
        yield "numpy: x.astype(dtype, order='C')", lambda: chosen.astype(dtype, order="C")

    def copy_to_kept():
        np.copyto(kept, chosen, casting="unsafe")
        return kept

    yield "numpy: np.copyto(warm buffer, x)", copy_to_kept
    if threads > 1:
        executor = ThreadPoolExecutor(threads)
        sources, targets = parts_of(chosen, threads, 0), parts_of(kept, threads, 0)

        def on_pool():
            list(executor.map(lambda pair: np.copyto(*pair, casting="unsafe"), zip(targets, sources, strict=True)))
            return kept

        yield "numpy: np.copyto(warm buffer, x) on a thread pool", on_pool
    yield from torch_copies(x, select, dtype)


def torch_copies(x: np.ndarray, select: Select, dtype: str) -> Ways:
    torch = peer("torch")
    if torch is None:
        return
    try:
        tensor = select(torch.from_numpy(x))
    except ValueError:
        flipped = [d for d, stride in enumerate(select(x).strides) if stride < 0]
        base = torch.from_numpy(x)
        yield f"torch: t.flip({flipped})", lambda: base.flip(flipped)
        return
    wanted = getattr(torch, dtype)
    out = torch.zeros(tuple(tensor.shape), dtype=wanted)
    dense = torch.contiguous_format
    if tensor.dtype == wanted:
        yield "torch: t.contiguous()", lambda: tensor.clone(memory_format=dense)
    else:
        yield "torch: t.to(dtype)", lambda: tensor.to(wanted, memory_format=dense, copy=True)
    yield "torch: warm.copy_(t)", lambda: out.copy_(tensor)


def candidates(ways: Ways, expected: np.ndarray, setting: Setting, *, rtol: float = 1e-3) -> list[Candidate]:
    """Returns the candidates, each checked before it is timed. ``rtol`` allows for naive sums of many floats."""
    clock = time.process_time if setting.threads == 1 else time.perf_counter
    made = []
    for name, run in ways:
        if not close(run(), expected, rtol):
            raise AssertionError(f"{name} computes something else")
        made.append(timed_call(name, run, clock=clock))
    return made


def close(result: object, expected: np.ndarray, rtol: float) -> bool:
    found = np.asarray(result)
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=rtol))


def lines_of(view: np.ndarray) -> tuple[int, int, int, int, int]:
    """Returns planes, their distance, rows, their distance, and columns (in elements): the lines that must be read."""
    line, part = 64 // view.itemsize, 1024
    steps = sorted((abs(stride) // view.itemsize, n) for n, stride in zip(view.shape, view.strides, strict=True))
    columns = 1
    # Merges dimensions that continue at the end of the elements before them, or in the next line.
    while steps and steps[0][0] <= max(columns, line):
        step, n = steps.pop(0)
        columns += step * (n - 1)
    pitch, rows = steps.pop(0) if steps else (columns, 1)
    plane, planes = steps.pop(0) if steps else (0, 1)
    if rows == 1 and columns >= part:
        rows, pitch, columns = columns // part, part, part
    return planes, plane, rows, pitch, columns


def floors_of_reading(view: np.ndarray, setting: Setting) -> list[Candidate]:
    """Returns loops that read the memory of a view once: in order, and eight rows at a time with prefetches."""
    library = ctypes.CDLL(str(built("native_loops.so")))
    library.read_once.restype = ctypes.c_float
    upwards = view[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in view.strides)]
    passed = [ctypes.c_void_p(upwards.ctypes.data), *map(ctypes.c_int64, lines_of(view))]
    clock = time.process_time if setting.threads == 1 else time.perf_counter
    ways = ((1, "in order"), (0, "in eight places"))
    return [
        timed_call(
            f"floor: every line read once, {name}, g++ -march=native",
            lambda in_order=in_order: library.read_once(*passed, in_order, setting.threads),
            clock=clock,
        )
        for in_order, name in ways
    ]


def floors_of_copying(chosen: np.ndarray, dtype: str, setting: Setting) -> Ways:
    """Yields loops compiled for the types and the step in a row, into warm memory; none for a transposed view."""
    library = ctypes.CDLL(str(built("copy_loops.so")))
    copy = getattr(library, f"copy_{chosen.dtype}_{dtype}")
    kept = np.zeros(chosen.shape, dtype)
    planes, rows, columns = (1,) * (3 - chosen.ndim) + chosen.shape
    plane, pitch, step = (0,) * (3 - chosen.ndim) + tuple(stride // chosen.itemsize for stride in chosen.strides)
    if step not in (1, 2, 4, -1):
        return
    counts = [ctypes.c_int64(n) for n in (planes, plane, rows, pitch, columns, step)]
    for name, nontemporal in (("", 0), (", past the caches", 1)):

        def copied(nontemporal=nontemporal):
            to, source = ctypes.c_void_p(kept.ctypes.data), ctypes.c_void_p(chosen.ctypes.data)
            if not copy(to, source, *counts, nontemporal, setting.threads):
                raise AssertionError(f"copy_loops.cpp has no loop of the step {step}")
            return kept

        yield f"floor: loop into a warm buffer{name}, g++ -march=native", copied
