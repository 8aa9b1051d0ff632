"""The part that proves that the sanitized builds report faults."""

from __future__ import annotations

import re
from pathlib import Path

from . import builds, environment
from .commands import ROOT, Part, PartFailed


def planted(part: Part) -> None:
    """Runs planted faults in a C++ program and in Python, which the sanitized builds must report."""
    missed = []
    for source in sorted((ROOT / "test" / "planted").glob("fault_*.cpp")):
        words = dict(re.findall(r"^// (sanitizer|expect): (.*)$", source.read_text(), re.MULTILINE))
        build = builds.of(words["sanitizer"]).make(part, targets=("run_fault", source.stem))
        folder = build.folder / "test" / "planted"
        library = folder / f"lib{source.stem}.so"
        load = f"import ctypes; ctypes.CDLL({str(library)!r}).fault()"
        interpreter = environment.without_peers(part) / "bin" / "python"
        runs: list[tuple[list[str | Path], dict[str, str]]] = [
            ([folder / "run_fault", library], build.run_options()),
            ([interpreter, "-c", load], build.python_environment()),
        ]
        if words["sanitizer"] == "asan":
            # The Python tests run with leaks of other packages' imports ignored.
            env = build.python_environment()
            env["PYTHONPATH"] += f":{ROOT / 'test' / 'sanitized'}"
            runs.append(([interpreter, "-c", f"import ignore_import_leaks; {load}"], env))
        for command, env in runs:
            if not reported(part, command, env, words["expect"]):
                missed.append(f"{source.stem} in {Path(command[0]).name}")
    if missed:
        raise PartFailed(f"the sanitizers did not report: {', '.join(missed)}")


def reported(part: Part, command: list[str | Path], env: dict[str, str], words: str) -> bool:
    """True if the output has the words and the program failed."""
    finished = part.run(command, env=env, check=False, limit=120)
    seen = finished.returncode != 0 and words in finished.stdout
    verdict = "reported" if seen else "MISSED"
    part.note(f"{Path(command[0]).name} {Path(command[-1]).stem[:40]}: {verdict} {words}")
    return seen
