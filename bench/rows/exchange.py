"""The cost of exporting host memory through DLPack."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measure import Candidate, Comparison, timed
from harness.peers import peer
from harness.registry import Setting, row

SIZE = 1000


def producers() -> dict[str, object]:
    """Returns producers of the same size, by formulation. Missing peers are left out."""
    found: dict[str, object] = {}
    if (module := peer("nanobind_peer")) is not None:
        array = module.CapsuleArray(SIZE)
        found["nanobind nd-array"] = array.nd_array()
        found["nanobind class, capsules by hand"] = array.__enter__()
    if (module := peer("pybind11_peer")) is not None:
        found["pybind11 class, capsules by hand"] = module.CapsuleArray(SIZE).__enter__()
    if (np := peer("numpy")) is not None:
        found["numpy array"] = np.zeros(SIZE, np.float32)
    if (torch := peer("torch")) is not None:
        found["torch tensor"] = torch.zeros(SIZE)
    if (jax := peer("jax")) is not None:
        found["jax array"] = jax.numpy.zeros(SIZE, dtype="float32").block_until_ready()
    if (tvm_ffi := peer("tvm_ffi")) is not None and np is not None:
        found["tvm-ffi tensor"] = tvm_ffi.from_dlpack(np.zeros(SIZE, np.float32))
    return found


def write_lease():
    import memarray

    # The lease keeps its array alive; a row's process leaves it open.
    return memarray.MemArray([SIZE], "float32").write().__enter__()


def floor():
    import floor_peer

    return floor_peer.Owner(SIZE)


def export(title: str, goal: float, statement: str, **names) -> Comparison:
    def candidate(name: str, producer: object) -> Candidate:
        return timed(name, statement, x=producer, **names)

    return Comparison(
        title,
        goal,
        candidate("memarray lease", write_lease()),
        [candidate(name, producer) for name, producer in producers().items()],
        [candidate("floor in C", floor())],
    )


@row("dlpack", "`__dlpack__()` of a lease")
def dlpack(setting: Setting) -> Iterator[Comparison]:
    yield export("`lease.__dlpack__()`", 1.0, "x.__dlpack__()")


@row("dlpack-versioned", "`__dlpack__(max_version=(1, 3))` of a lease")
def dlpack_versioned(setting: Setting) -> Iterator[Comparison]:
    yield export("`lease.__dlpack__(max_version=(1, 3))`", 1.0, "x.__dlpack__(max_version=(1, 3))")


@row("from-dlpack", "np.from_dlpack(lease), there and back")
def from_dlpack(setting: Setting) -> Iterator[Comparison]:
    import numpy as np

    yield export("`np.from_dlpack(lease)`, view dropped", 0.95, "from_dlpack(x)", from_dlpack=np.from_dlpack)


@row("session", "enter, export, np.from_dlpack, exit")
def session(setting: Setting) -> Iterator[Comparison]:
    import memarray
    import numpy as np

    entered = "with x as lease: from_dlpack(lease)"
    made = "with lease_of() as lease: from_dlpack(lease)"

    def use(name: str, statement: str, **names) -> Candidate:
        return timed(name, statement, from_dlpack=np.from_dlpack, **names)

    array = memarray.MemArray([SIZE], "float32")
    ours = use("memarray, write lease", made, lease_of=array.write)
    by_hand, forwarded, shown = [], [], []
    if (module := peer("nanobind_peer")) is not None:
        forwarded = [
            use("nanobind class exporting its nd-array", entered, x=module.ForwardingArray(SIZE)),
            use("nanobind lease of it", made, lease_of=module.ForwardingArray(SIZE).lease),
        ]
        by_hand = [
            use("nanobind class, capsules by hand", entered, x=module.CapsuleArray(SIZE)),
            use("nanobind lease, capsules by hand", made, lease_of=module.CapsuleArray(SIZE).lease),
        ]
        # Not equivalent: its array can be exported after the exit, without the lock.
        unguarded = module.YieldingArray(SIZE)
        shown.append(use("nanobind class whose enter gives an nd-array", entered, x=unguarded))
    if (module := peer("pybind11_peer")) is not None:
        shown.append(use("pybind11 class, capsules by hand", entered, x=module.CapsuleArray(SIZE)))
    shown.append(use("floor in C", entered, x=floor()))
    shown.append(use("memarray, read lease", made, lease_of=array.read))
    shown.append(use("np.from_dlpack alone, of a numpy array", "from_dlpack(x)", x=np.zeros(SIZE)))
    title = "`with a.write() as lease: np.from_dlpack(lease)`"
    if forwarded:
        yield Comparison(f"{title}, nanobind's nd-array", 0.4, ours, forwarded, shown)
        yield Comparison(f"{title}, nanobind in any way", 0.4, ours, forwarded + by_hand)
