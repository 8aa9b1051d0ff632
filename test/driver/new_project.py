"""What `python -m memarray new` writes, built and tested by the commands of its own README."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
from pathlib import Path

from . import builds, environment, wheels
from .commands import WORK, Part, shell_commands

OPTIONS = ("--cython", "--nanobind")
NAME = "sample_project"


def new(part: Part) -> None:
    """`python -m memarray new`, from the command to green tests with the wheel; nightly every variant, and with nvcc"""
    folder = environment.create(part, "venv-new")
    wheels.installed(part)
    environment.pip_install(part, folder, next((WORK / "dist").glob("*/repaired/memarray-*.whl")))
    variants = list(itertools.product((False, True), repeat=len(OPTIONS))) if part.nightly else [(False, False)]
    for chosen in variants:
        options = [option for option, wanted in zip(OPTIONS, chosen, strict=True) if wanted]
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as elsewhere:
            project = write(part, folder, Path(elsewhere), options, {})
            for line in shell_commands(project / "README.md"):
                part.run(["sh", "-ec", line], cwd=project, env=environment.path(folder))
        part.note(f"new {' '.join(options)}: {(time.monotonic() - started) / 60:.1f} min to green tests")
        part.run([folder / "bin" / "python", "-m", "pip", "uninstall", "--quiet", "-y", NAME])
    if part.nightly and builds.toolkit():
        with_nvcc(part, folder)
    shutil.rmtree(folder)


def with_nvcc(part: Part, folder: Path) -> None:
    """The memarray with kernels is the build of the part `cuda`; what is not installed cannot be depended upon."""
    library = builds.of("cuda").make(part, "-DCMAKE_CUDA_ARCHITECTURES=all-major", targets=("_core", "memarray"))
    env = {"PYTHONPATH": str(library.python_path), "CUDACXX": str(builds.toolkit()), "CUDAARCHS": "90"}
    for options in (["--cuda"], ["--cuda", *OPTIONS]):
        with tempfile.TemporaryDirectory() as elsewhere:
            project = write(part, folder, Path(elsewhere), options, env)
            environment.pip_install(part, folder, "-r", project / "requirements.txt")
            build = shell_commands(project / "README.md")[1]
            part.run(["sh", "-ec", build], cwd=project, env={**environment.path(folder), **env})
        part.note(f"new {' '.join(options)}: built and tested")


def write(part: Part, folder: Path, elsewhere: Path, options: list[str], env: dict[str, str]) -> Path:
    part.run([folder / "bin" / "python", "-m", "memarray", "new", NAME, *options], cwd=elsewhere, env=env)
    return elsewhere / NAME
