#!/usr/bin/env python3
"""Benchmarks of memarray on a CUDA device against the driver's own copies and launches, and against torch and CuPy.

    python bench/gpu.py               # on cuda:0; needs a memarray that was built with nvcc
    python bench/gpu.py --simulated   # a test of the same rows on simulated devices, with small sizes

It builds its native part (bench/native/gpu) against the memarray that this Python imports. Figures of simulated devices
mean nothing. See bench/README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True

from harness.measure import Candidate, Comparison, Result, compare  # noqa: E402
from harness.peers import peer  # noqa: E402
from harness.table import formulations, progress, summary  # noqa: E402

CUDA, CPU = 2, 1


def build_floors(folder: Path, simulated: bool) -> None:
    """Compiles the native part into ``folder`` and makes it importable."""
    cmakedir = [sys.executable, "-m", "memarray", "--cmakedir"]
    config = subprocess.run(cmakedir, capture_output=True, text=True, check=True).stdout.strip()
    source = ROOT / "bench" / "native" / "gpu"
    options = [f"-Dmemarray_DIR={config}", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
    options.append("-DCMAKE_CUDA_ARCHITECTURES=native")
    subprocess.run(
        ["cmake", "-S", source, "-B", folder, "-G", "Ninja", *options], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run(["cmake", "--build", folder], check=True, stdout=subprocess.DEVNULL)
    sys.path.insert(0, str(folder))


class Gpu:
    """The device that rows run on, and how large they are."""

    def __init__(self, simulated: bool) -> None:
        import gpu_floors

        self.simulated = simulated
        self.floors = gpu_floors
        self.lane = gpu_floors.Lane()

    def cut(self, real: int, simulated: int) -> int:
        return simulated if self.simulated else real

    def timed(
        self,
        name: str,
        submit: Callable[[], object],
        *,
        per: int = 1,
        before: Callable[[], object] = lambda: None,
        wait: Callable[[], object] | None = None,
    ) -> Candidate:
        """Returns a candidate for the wall time from the first submission until the device has completed all work."""
        wait = wait or self.lane.synchronize

        def cost() -> float:
            before()
            wait()
            start = time.perf_counter()
            submit()
            wait()
            return (time.perf_counter() - start) / per

        return Candidate(name, cost)


class Torch:
    """torch on the device. On simulated devices torch on the CPU replaces it, so that each line below runs."""

    def __init__(self, gpu: Gpu, torch) -> None:
        self.torch = torch
        self.simulated = gpu.simulated
        self.name = "torch" + (" (on the CPU)" if gpu.simulated else "")
        self.device = "cpu" if gpu.simulated else "cuda:0"

    def wait(self) -> None:
        if not self.simulated:
            self.torch.cuda.synchronize()

    def formulations(self, n: int) -> Iterator[tuple[str, Callable[[], object]]]:
        torch = self.torch
        x = torch.zeros(n, n, n, dtype=torch.float32, device=self.device)
        along = torch.arange(n, dtype=torch.float32, device=self.device)
        plane = along[:, None] + along
        yield "x.add_(plane).add_(i)", lambda: x.add_(plane).add_(along[:, None, None])
        if not self.simulated:
            fused = torch.compile(lambda x: x.add_(along[:, None, None] + along[:, None] + along))
            fused(x)
            yield "torch.compile(x.add_(i + j + k))", lambda: fused(x)
        ramp = along[:, None, None] + plane
        yield "x.add_(kept ramp)", lambda: x.add_(ramp)

    def take_and_give(self, size: int) -> None:
        del_me = self.torch.empty(size, dtype=self.torch.uint8, device=self.device)
        del del_me


class CuPy:
    """CuPy on the device. On simulated devices NumPy replaces it."""

    def __init__(self, gpu: Gpu, module) -> None:
        self.xp = module
        self.simulated = gpu.simulated
        self.name = "NumPy for CuPy" if gpu.simulated else "CuPy"

    def wait(self) -> None:
        if not self.simulated:
            self.xp.cuda.get_current_stream().synchronize()

    def formulations(self, n: int) -> Iterator[tuple[str, Callable[[], object]]]:
        xp = self.xp
        x = xp.zeros((n, n, n), xp.float32)
        along = xp.arange(n, dtype=xp.float32)
        plane = along[:, None] + along

        def add():
            xp.add(x, plane, out=x)
            xp.add(x, along[:, None, None], out=x)

        yield "x += plane; x += i", add
        if not self.simulated:
            kernel = xp.ElementwiseKernel(
                "int64 n", "float32 x", "x += (i / (n * n)) + (i / n % n) + (i % n)", "add_index"
            )
            yield "ElementwiseKernel", lambda: kernel(n, x)

    def take_and_give(self, size: int) -> None:
        self.xp.empty(size, self.xp.uint8)


def peers(gpu: Gpu) -> list[Torch | CuPy]:
    found: list[Torch | CuPy] = []
    if (torch := peer("torch")) is not None and (gpu.simulated or torch.cuda.is_available()):
        found.append(Torch(gpu, torch))
    if (module := peer("numpy" if gpu.simulated else "cupy")) is not None:
        found.append(CuPy(gpu, module))
    return found


def on_device(shape: list[int]):
    import memarray

    array = memarray.MemArray(shape, "float32")
    array.move_memory(CUDA)
    return array


def add_index_tuple(gpu: Gpu) -> Iterator[Comparison]:
    n = gpu.cut(1024, 32)
    times = gpu.cut(10, 2)
    array = on_device([n, n, n])
    copies = gpu.floors.Copies(gpu.lane, 4 * n**3)

    def repeat(call: Callable[[], object]) -> Callable[[], None]:
        def submit() -> None:
            for _ in range(times):
                call()

        return submit

    ours = gpu.timed("memarray", lambda: gpu.lane.add_index(array, times), per=times)
    copy = gpu.timed("the driver's copy on the device", repeat(copies.on_device), per=times)
    title = f"add_index_tuple, float32, {n}³"
    yield Comparison(f"{title}, beside a copy of as many bytes", 1 / 0.97, ours, [copy], tolerance=0)
    for other in peers(gpu):
        theirs = [
            gpu.timed(f"{other.name}: {name}", repeat(call), per=times, wait=other.wait)
            for name, call in other.formulations(n)
        ]
        yield Comparison(f"{title}, beside {other.name}", 1.0, ours, theirs)


def small_arrays(gpu: Gpu) -> Iterator[Comparison]:
    times = gpu.cut(1000, 20)
    for n in (1, 32):
        array = on_device([n, n, n])
        ours = gpu.timed("memarray", lambda array=array: gpu.lane.add_index(array, times), per=times)
        floor = gpu.timed("empty launch", lambda: gpu.lane.launch_empty(times), per=times)
        yield Comparison(f"add_index_tuple, float32, {n}³, beside an empty launch", 1.1, ours, [floor], tolerance=0)


def moves(gpu: Gpu) -> Iterator[Comparison]:
    """Yields moves from a side that has just been overwritten, so that all of it is copied."""
    import memarray

    n = gpu.cut(512, 16)
    copies = gpu.floors.Copies(gpu.lane, 4 * n**3)
    pinned, pageable = gpu.floors.pinned_field(n, n, n), memarray.MemArray([n, n, n], "float32")

    def give_up(array, place: str) -> Callable[[], None]:
        def write() -> None:
            with array.write(device=place, discard=True):
                pass

        return write

    def move(array, kind: int) -> Callable[[], None]:
        return lambda: array.move_memory(kind, stream=gpu.lane.handle, async_copy=True)

    sides = (("in", "cpu", CUDA), ("out", "cuda:0", CPU))
    rows = ((pinned, "pinned", 1 / 0.95, "cuMemcpyAsync"), (pageable, "pageable", 1.0, "cudaMemcpy"))
    for array, kind, goal, name in rows:
        for way, source, target in sides:
            ours = gpu.timed("memarray", move(array, target), before=give_up(array, source), wait=memarray.synchronize)
            floor = gpu.timed(name, getattr(copies, f"{kind}_{way}"))
            title = f"a move {way} of {kind} memory, {4 * n**3 / 2**20:.3g} MiB"
            yield Comparison(title, goal, ours, [floor], tolerance=0)


def pools(gpu: Gpu) -> Iterator[Comparison]:
    times = gpu.cut(1000, 20)
    memory = gpu.floors.Memory(gpu.lane)

    def repeat(call: Callable[[int], object], size: int) -> Callable[[], None]:
        def submit() -> None:
            for _ in range(times):
                call(size)

        return submit

    for size in (1 << 10, gpu.cut(64 << 20, 1 << 20)):
        ours = gpu.timed("memarray's pool", repeat(memory.take_and_give, size), per=times)
        theirs = [
            gpu.timed(other.name, repeat(other.take_and_give, size), per=times, wait=other.wait) for other in peers(gpu)
        ]
        if theirs:
            yield Comparison(f"memory of a device taken and given back, {size >> 10} KiB", 1.0, ours, theirs)


ROWS = {
    "add-index-tuple": add_index_tuple,
    "small-arrays": small_arrays,
    "moves": moves,
    "pools": pools,
}


def measure(gpu: Gpu, rows: list[str], rounds: int) -> Iterator[Result]:
    for name in rows:
        for comparison in ROWS[name](gpu):
            result = compare(name, comparison, 1, rounds)
            print(progress(result), flush=True)
            yield result


def refusal(simulated: bool) -> str:
    """Returns the reason why nothing can be measured here; empty if it can."""
    import memarray

    if simulated:
        return ""
    if not memarray.cuda.is_available():
        return "there is no CUDA device; --simulated runs the same rows without one"
    if memarray.build_info()["flavour"] != "cuda":
        return "this memarray was built without nvcc: it has no kernels for the device"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/gpu.py", description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--simulated", action="store_true", help="test the rows on simulated devices, with small sizes")
    add("--row", action="append", choices=sorted(ROWS), help="measure this row only (repeatable)")
    add("--rounds", type=int, help="interleaved rounds for each comparison (default 21; simulated 2)")
    add("--out", type=Path, default=ROOT / "build" / "bench" / "gpu", help="folder for the tables and the native part")
    options = parser.parse_args()
    if why := refusal(options.simulated):
        print(f"bench/gpu.py: {why}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    build_floors(options.out / "native", options.simulated)
    from memarray.testing import simulated_devices

    rounds = options.rounds or (2 if options.simulated else 21)
    with simulated_devices(1) if options.simulated else contextlib.nullcontext():
        results = list(measure(Gpu(options.simulated), options.row or list(ROWS), rounds))
    if not options.simulated:
        (options.out / "table.md").write_text(summary(results) + "\n\n" + formulations(results) + "\n")
        (options.out / "table.json").write_text(json.dumps([vars(each) for each in results], indent=1))
    missed = sum(not result.met for result in results)
    said = "simulated: the figures mean nothing" if options.simulated else f"{missed} missed"
    print(f"{len(results)} comparisons, {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
