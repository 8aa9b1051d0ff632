"""The cost before the first array: the import, and the wheel's size."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.measure import Value
from harness.registry import Setting, row


def start_up(code: str) -> float:
    """Returns the processor seconds of an interpreter that runs ``code``, without those of other processes."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    subprocess.run([sys.executable, "-c", code], check=True)
    return spent() - before


@row("import", "`import memarray` over bare Python")
def import_time(setting: Setting) -> Iterator[Value]:
    forbidden = "import sys, memarray; print('numpy' in sys.modules or 'torch' in sys.modules)"
    probe = subprocess.run([sys.executable, "-c", forbidden], check=True, capture_output=True, text=True)
    if probe.stdout.strip() != "False":
        raise AssertionError("import memarray imports NumPy or torch")
    start_up("import memarray")
    samples = []
    for _ in range(setting.rounds):
        bare = start_up("pass")
        samples.append((start_up("import memarray") - bare) * 1e3)
    note = "NumPy is not imported with it (checked)"
    yield Value("`import memarray` over bare Python", 10, "ms", samples, note)


@row("wheel", "size of the wheel without kernels")
def wheel(setting: Setting) -> Iterator[Value]:
    folder = next(Path(p).parent / "wheel" for p in sys.path if (Path(p) / "native_loops.so").exists())
    size = next(folder.glob("memarray-*.whl")).stat().st_size / 2**20
    yield Value("wheel without kernels", 6, "MiB", [size])
