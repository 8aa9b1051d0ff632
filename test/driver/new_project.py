"""What `python -m memarray new` writes, built and tested by the commands of its own README."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
from pathlib import Path

from . import builds, environment, wheels
from .commands import Part, shell_commands

OPTIONS = ("--cython", "--nanobind")
NAME = "sample_project"


def new(part: Part) -> None:
    """`python -m memarray new`, from the command to green tests with the wheel; nightly every variant, and with nvcc"""
    variants = list(itertools.product((False, True), repeat=len(OPTIONS))) if part.nightly else [(False, False)]
    try_all(part, "host", variants, {})
    if part.nightly and builds.toolkit():
        try_all(part, "cuda", variants, {"CUDACXX": str(builds.toolkit()), "CUDAARCHS": "90"})


def try_all(part: Part, flavour: str, variants: list[tuple[bool, ...]], env: dict[str, str]) -> None:
    """Each in turn, in an environment with nothing but that flavour's wheel."""
    folder = environment.create(part, f"venv-new-{flavour}")
    environment.pip_install(part, folder, wheels.built(part, flavour))
    for chosen in variants:
        options = [option for option, wanted in zip(OPTIONS, chosen, strict=True) if wanted]
        options += ["--cuda"] if flavour == "cuda" else []
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as elsewhere:
            project = write(part, folder, Path(elsewhere), options)
            for line in shell_commands(project / "README.md"):
                part.run(["sh", "-ec", line], cwd=project, env={**environment.path(folder), **env})
        part.note(f"new {' '.join(options)}: {(time.monotonic() - started) / 60:.1f} min to green tests")
        part.run([folder / "bin" / "python", "-m", "pip", "uninstall", "--quiet", "-y", NAME])
    shutil.rmtree(folder)


def write(part: Part, folder: Path, elsewhere: Path, options: list[str]) -> Path:
    part.run([folder / "bin" / "python", "-m", "memarray", "new", NAME, *options], cwd=elsewhere)
    return elsewhere / NAME
