"""Dense copies of strided views, with and without another dtype."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Comparison
from harness.peers import set_threads
from harness.registry import Setting, row

from rows.view_reductions import numbers


def copied(title: str, goals: tuple[float, float], x, select, dtype: str, setting: Setting) -> Iterator[Comparison]:
    import memarray
    from harness import view_ways

    chosen = select(x)
    view = memarray.BufferView.from_numpy(chosen)
    expected = chosen.astype(dtype)

    def ours():
        return view.copy() if dtype == x.dtype else view.cast(dtype)

    mine = view_ways.candidates(iter([("memarray", ours)]), expected, setting)[0]
    peers = view_ways.candidates(view_ways.copies(x, select, dtype, setting.threads), expected, setting)
    shown = view_ways.candidates(view_ways.floors_of_copying(chosen, dtype, setting), expected, setting)
    yield Comparison(title, goals[setting.threads - 1], mine, peers, shown)


@row("view-transposed", "copy of a transposed 4096² float32", threads=(1, 2))
def transposed(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    x = numbers(setting, 4096, 4096)
    yield from copied("copy of a transposed 4096² float32", (0.5, 0.35), x, lambda a: a.T, "float32", setting)


@row("view-copies", "copies of strided 64 MiB to dense memory", threads=(1, 2))
def copies(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    plane, cube = numbers(setting, 4096, 4096), numbers(setting, 256, 256, 256)
    for name, x, select in (
        ("x[:, ::2]` of 4096²", plane, lambda a: a[:, ::2]),
        ("x[::-1, ::-1]` of 4096²", plane, lambda a: a[::-1, ::-1]),
        ("x[1:-1, 1:-1, 1:-1]` of 256³", cube, lambda a: a[1:-1, 1:-1, 1:-1]),
        ("x[::2, ::3, ::4]` of 256³", cube, lambda a: a[::2, ::3, ::4]),
    ):
        yield from copied(f"copy of `{name} float32", (0.9, 0.8), x, select, "float32", setting)


@row("view-casts", "casts of strided 64 MiB to dense memory", threads=(1, 2))
def casts(setting: Setting) -> Iterator[Comparison]:
    set_threads(setting.threads)
    plane = numbers(setting, 4096, 4096)
    for name, select in (("x", lambda a: a), ("x[:, ::2]", lambda a: a[:, ::2]), ("x.T", lambda a: a.T)):
        for dtype in ("float64", "float16"):
            yield from copied(f"`{name}` of 4096² float32 as {dtype}", (0.9, 0.8), plane, select, dtype, setting)
    whole = (plane * 1000).astype("int32")
    yield from copied(
        "`x[:, ::2]` of 4096² int32 as float32", (0.9, 0.8), whole, lambda a: a[:, ::2], "float32", setting
    )
