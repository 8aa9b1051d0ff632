"""The cost of exporting views and of importing other libraries' memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.measure import Candidate, Comparison, timed
from harness.peers import peer
from harness.registry import Setting, row

SIZE = 1000


def view():
    import memarray
    import numpy as np

    return memarray.BufferView.from_numpy(np.zeros(SIZE, np.float32))


def exchange_peers() -> dict[str, object]:
    """Returns objects whose type has the C exchange API."""
    import numpy as np

    found = {}
    if (torch := peer("torch")) is not None:
        found["torch tensor"] = torch.zeros(SIZE)
    if (tvm_ffi := peer("tvm_ffi")) is not None:
        found["tvm-ffi tensor"] = tvm_ffi.from_dlpack(np.zeros(SIZE, np.float32))
    return found


@row("view-exchange-api", "the C exchange API: a managed tensor made and dropped, a tensor looked at")
def exchange_api(setting: Setting) -> Iterator[Comparison]:
    import exchange_calls

    every = exchange_peers().items()
    peers = {name: producer for name, producer in every if hasattr(type(producer), "__dlpack_c_exchange_api__")}
    mine = view()
    for what, goal, call in (
        ("managed tensor made and dropped", 0.5, exchange_calls.export_tensor),
        ("tensor looked at", 0.2, exchange_calls.look),
    ):

        def candidate(name: str, producer: object, call: Callable = call) -> Candidate:
            call(producer, 1000)
            return Candidate(name, lambda: call(producer, 20_000))

        made = {name: candidate(name, producer) for name, producer in peers.items()}
        against = [made.pop("torch tensor")] if "torch tensor" in made else list(made.values())
        title = f"exchange API of a view: {what}"
        yield Comparison(title, goal, candidate("memarray view", mine), against, list(made.values()))


@row("view-import", "a view of a NumPy array or a torch tensor, made and dropped")
def imports(setting: Setting) -> Iterator[Comparison]:
    import memarray
    import numpy as np

    torch, tvm_ffi, nanobind = peer("torch"), peer("tvm_ffi"), peer("nanobind_peer")
    sources = {"a NumPy array": np.zeros(SIZE, np.float32)}
    if torch is not None:
        sources["a torch tensor"] = torch.zeros(SIZE)
    for what, source in sources.items():
        ours = timed("memarray.from_dlpack(x)", "f(x)", f=memarray.from_dlpack, x=source)
        others, shown = [], []
        if torch is not None and what != "a torch tensor":
            others += [
                timed("torch.from_dlpack(x)", "f(x)", f=torch.from_dlpack, x=source),
                timed("torch.from_numpy(x)", "f(x)", f=torch.from_numpy, x=source),
            ]
        if what != "a NumPy array":
            others += [
                timed("np.from_dlpack(x)", "f(x)", f=np.from_dlpack, x=source),
                timed("np.asarray(x)", "f(x)", f=np.asarray, x=source),
                timed("x.numpy()", "x.numpy()", x=source),
            ]
        if nanobind is not None:
            others.append(timed("nanobind: class that keeps an nd-array", "f(x)", f=nanobind.KeptArray, x=source))
            shown.append(timed("nanobind: nd-array argument, nothing kept", "f(x)", f=nanobind.look_at, x=source))
        if (floor := peer("exchange_calls")) is not None:
            shown.append(timed("in C: capsule asked for and taken", "f(x)", f=floor.take, x=source))
            if what == "a NumPy array":
                shown.append(timed("floor in C: an object that keeps it", "f(x)", f=floor.keep, x=source))
            else:
                words = "floor in C: tensor of the table taken, asked what it is"
                shown.append(timed(words, "f(x)", f=floor.take_from_table, x=source))
        shown.append(timed("memarray.BufferView(x)", "f(x)", f=memarray.BufferView, x=source))
        if tvm_ffi is not None:
            theirs = timed("tvm_ffi.from_dlpack(x)", "f(x)", f=tvm_ffi.from_dlpack, x=source)
            yield Comparison(f"a view of {what}, tvm-ffi", 1.0, ours, [theirs], shown)
        yield Comparison(f"a view of {what}, others", 0.6, ours, others, shown)


@row("view-exports", "np.asarray(view) and memoryview(view)")
def exporting(setting: Setting) -> Iterator[Comparison]:
    """Yields the comparisons. NumPy makes a memoryview of any exporter first, so that a memoryview is no peer."""
    import array

    import numpy as np

    ours = view()
    peers: dict[str, object] = {"array.array": array.array("f", bytes(4 * SIZE)), **exchange_peers()}
    if (jax := peer("jax")) is not None:
        peers["jax array"] = jax.numpy.zeros(SIZE, dtype="float32").block_until_ready()
    buffers = {"array.array": peers["array.array"], "NumPy array": np.zeros(SIZE, np.float32)}
    already = timed("a memoryview", "f(x)", f=np.asarray, x=memoryview(buffers["NumPy array"]))
    for title, function, producers, shown in (
        ("np.asarray", np.asarray, peers, [already]),
        ("memoryview", memoryview, buffers, []),
    ):
        made = []
        for name, producer in producers.items():
            try:
                function(producer)
            except (TypeError, BufferError, RuntimeError):
                continue
            made.append(timed(name, "f(x)", f=function, x=producer))
        yield Comparison(f"`{title}(view)`", 1.0, timed("memarray view", "f(x)", f=function, x=ours), made, shown)
