"""Reductions of strided views: bound by memory wherever the elements do not fit into the caches."""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.measure import Comparison, Value, timed
from harness.peers import peer, set_threads
from harness.programs import sampled
from harness.registry import Setting, row


def numbers(setting: Setting, *shape: int):
    """Returns random float32 in [0, 1); a quarter of the rows in a quick run."""
    import numpy as np

    rows = shape[0] // 4 if setting.quick else shape[0]
    return np.random.default_rng(6).random((rows, *shape[1:]), dtype=np.float32)


def reduced(
    title: str, goals: tuple[float, float], x, select, setting: Setting, *, name: str = "sum", axis: int | None = None
) -> Iterator[Comparison]:
    import memarray
    import numpy as np
    from harness import view_ways

    chosen = select(x)
    method = getattr(memarray.BufferView.from_numpy(chosen), name)
    wide = chosen.astype(np.float64)
    expected = np.asarray(getattr(wide, name)(axis=axis))
    del wide

    def ours():
        return method() if axis is None else method(axis)

    mine = view_ways.candidates(iter([("memarray", ours)]), expected, setting, rtol=1e-6)[0]
    peers = view_ways.candidates(view_ways.reductions(x, select, name, axis, setting.threads), expected, setting)
    yield Comparison(title, goals[setting.threads - 1], mine, peers, view_ways.floors_of_reading(chosen, setting))


@row("view-broadcast", "sum of broadcast views", threads=(1, 2))
def broadcast(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    row_of, column_of = numbers(setting, 4, 4096)[0], numbers(setting, 16384, 1)[:4096]
    for kind, x in (("row", row_of), ("column", column_of)):

        def select(array, rows=4096, columns=4096):
            return array.expand(rows, columns) if hasattr(array, "expand") else spread(array, rows, columns)

        yield from reduced(f"sum of a {kind} broadcast to 4096²", (0.05, 0.05), x, select, setting)


def spread(array, rows: int, columns: int):
    import numpy as np

    return np.broadcast_to(array, (rows, columns))


@row("view-strided", "sum of general strided 3-D views of 256³ float32", threads=(1, 2))
def strided(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    x = numbers(setting, 256, 256, 256)
    selections = {
        "x[1:-1, 1:-1, 1:-1]": lambda a: a[1:-1, 1:-1, 1:-1],
        "x[::2, ::2, ::2]": lambda a: a[::2, ::2, ::2],
        "x[::2, ::3, ::4]": lambda a: a[::2, ::3, ::4],
        "x[:, 1::2, ::3].swapaxes(0, 2)": lambda a: a[:, 1::2, ::3].swapaxes(0, 2),
    }
    for name, select in selections.items():
        yield from reduced(f"sum of `{name}` of 256³", (0.8, 0.45), x, select, setting)


@row("view-axis-0", "sum along axis 0 of 64 MiB", threads=(1, 2))
def axis_0(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    for shape in ((4096, 4096), (256, 256, 256)):
        x = numbers(setting, *shape)
        yield from reduced(
            f"sum along axis 0 of {'×'.join(map(str, shape))}", (0.4, 0.25), x, lambda a: a, setting, axis=0
        )


@row("view-columns", "sum of some columns of 64 MiB", threads=(1, 2))
def columns(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    wide, narrow = numbers(setting, 4096, 4096), numbers(setting, 1 << 20, 16)
    for title, x, select in (
        ("x[:, 1024:2048]` of 4096²", wide, lambda a: a[:, 1024:2048]),
        ("x[:, 100:200]` of 4096²", wide, lambda a: a[:, 100:200]),
        ("x[:, 4:8]` of 1 Mi × 16", narrow, lambda a: a[:, 4:8]),
        ("x[:, 5]` of 1 Mi × 16", narrow, lambda a: a[:, 5]),
    ):
        yield from reduced(f"sum of `{title}", (0.45, 0.2), x, select, setting)


@row("view-flipped", "sum of flipped views of 64 MiB", threads=(1, 2))
def flipped(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    x = numbers(setting, 4096, 4096)
    for name, select in (
        ("x[::-1]", lambda a: a[::-1]),
        ("x[:, ::-1]", lambda a: a[:, ::-1]),
        ("x[::-1, ::-1]", lambda a: a[::-1, ::-1]),
    ):
        yield from reduced(f"sum of `{name}` of 4096²", (0.6, 0.5), x, select, setting)


@row("view-contiguous", "sum of 64 MiB beside plain read loops of the same program")
def contiguous(setting: Setting) -> Iterator[Comparison]:
    names, candidate = sampled("read_loops", setting.rounds + 1, (1 if setting.quick else 16) << 20)
    made = {name: candidate(name) for name in names}
    loops = [made[name] for name in names if name.startswith("loop")]
    yield Comparison("sum of 16 Mi float32 in order", 1.05, made["memarray"], loops, [made["floor"]], tolerance=0)


@row("view-extremes", "min and max of a transposed 4096² float32", threads=(1, 2))
def extremes(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    x = numbers(setting, 4096, 4096)
    goals = (0.8, 0.6)

    def transposed(a):
        return a.T

    for name in ("min", "max"):
        yield from reduced(f"{name} of `x.T`, 4096²", goals, x, transposed, setting, name=name)
        yield from reduced(f"{name} of `x.T` along axis 0", goals, x, transposed, setting, name=name, axis=0)
    yield from reduced("min of `x.T` along axis 1", goals, x, transposed, setting, name="min", axis=1)


@row("view-small", "sums of 10 to 1,000 elements: the whole call from Python")
def small(setting: Setting) -> Iterator[Comparison]:
    import memarray
    import numpy as np

    torch = peer("torch")
    for size in (10, 100, 1000):
        for title, x in (("", np.ones(size, np.float32)), (", every second", np.ones(2 * size, np.float32)[::2])):
            view = memarray.BufferView.from_numpy(x)
            peers = [
                timed("numpy: x.sum()", "x.sum()", x=x),
                timed("numpy: np.add.reduce(x)", "add(x)", x=x, add=np.add.reduce),
            ]
            others = [timed("torch: t.sum()", "x.sum()", x=torch.from_numpy(x))] if torch else []
            yield Comparison(
                f"`view.sum()` of {size} float32{title}", 0.3, timed("memarray", "x.sum()", x=view), peers, others
            )


def cancelled(x, axis: int):
    """Returns ``x`` with one more element along the axis, which cancels nearly all of the sum. Rounding the rest then
    loses nothing that is visible beside the sum."""
    import numpy as np

    kept = -x.sum(axis=axis, dtype=np.float64, keepdims=True)
    return np.concatenate([x, kept.astype(np.float32)], axis=axis)


@row("view-accuracy", "relative error of sums of 10⁷ float32 in [0, 1), before the last rounding")
def accuracy(setting: Setting) -> Iterator[Value]:
    import memarray
    import numpy as np

    shapes = [(10_000_000,), (1000, 10_000), (10_000, 1000), (100, 1000, 100), (3_333_333, 3), (3, 3_333_333)]
    for shape in shapes[:2] if setting.quick else shapes:
        x = np.random.default_rng(7).random(shape, dtype=np.float32)
        for axis in range(x.ndim):
            whole = cancelled(x, axis)
            lines = np.moveaxis(whole, axis, -1).reshape(-1, whole.shape[axis])
            found = np.asarray(memarray.BufferView.from_numpy(whole).sum(axis), np.float64).reshape(-1)
            plain = np.asarray(whole.sum(axis), np.float64).reshape(-1)
            some = range(0, len(lines), max(1, len(lines) // 300))
            exact = {i: (math.fsum(lines[i]), math.fsum(lines[i][:-1])) for i in some}
            errors = [
                max(abs(float(sums[i]) - rest) / total for i, (rest, total) in exact.items()) for sums in (found, plain)
            ]
            title = f"relative error of sums along axis {axis} of {'×'.join(map(str, shape))}"
            yield Value(title, 1e-7, "", [errors[0]], f"NumPy: {errors[1]:.1e}")
