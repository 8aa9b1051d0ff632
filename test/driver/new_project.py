"""The part that builds and tests the output of `python -m memarray new` by the commands of its own README."""

from __future__ import annotations

import itertools
import json
import re
import resource
import shutil
import tempfile
import time
from pathlib import Path

from . import builds, environment, wheels
from .commands import Part, PartFailed, shell_commands

OPTIONS = ("--cython", "--nanobind")
NAME = "sample_project"
#: Limit from the command to green tests, without options, on 2 cores.
SECONDS = 180
#: Another command that the project's README shows.
ASAN = "cmake --workflow --preset asan"
#: Steps of the project's continuous integration before the commands of its README.
FIRST_STEPS = (r"actions/checkout@v\d+", r"actions/setup-python@v\d+", r"sudo apt-get update && .* libgtest-dev")
STEPS = {
    "host": (*FIRST_STEPS, "pip install memarray"),
    "cuda": (
        *FIRST_STEPS,
        r'pip install --target toolkit( "nvidia-[a-z-]+==[\d.*]+"){5}',
        r"ln -s lib toolkit/nvidia/cu\d+/lib64",
        r'echo "CUDACXX=\$PWD/toolkit/nvidia/cu\d+/bin/nvcc" >> "\$GITHUB_ENV"',
        "MEMARRAY_CUDA=ON pip install --no-binary memarray memarray",
    ),
}
#: Runs in the environment of the tools, which has PyYAML; the driver's own Python may not.
READ_WORKFLOW = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))['jobs']))"


def new(part: Part) -> None:
    """Runs `python -m memarray new` and the project's tests with the wheel; nightly every variant, and with nvcc."""
    variants = list(itertools.product((False, True), repeat=len(OPTIONS))) if part.nightly else [(False, False)]
    try_all(part, "host", variants, {})
    if part.nightly and builds.toolkit():
        try_all(part, "cuda", variants, {"CUDACXX": str(builds.toolkit()), "CUDAARCHS": "90"})


def try_all(part: Part, flavour: str, variants: list[tuple[bool, ...]], env: dict[str, str]) -> None:
    """Tries each variant in an environment with nothing but the wheel of that flavour."""
    folder = environment.create(part, f"venv-new-{flavour}")
    environment.pip_install(part, folder, wheels.built(part, flavour))
    for chosen in variants:
        options = [option for option, wanted in zip(OPTIONS, chosen, strict=True) if wanted]
        options += ["--cuda"] if flavour == "cuda" else []
        started, computed = time.monotonic(), children_seconds()
        with tempfile.TemporaryDirectory() as elsewhere:
            project = write(part, folder, Path(elsewhere), options)
            check_workflow(part, project, flavour)
            for line in shell_commands(project / "README.md"):
                part.run(["sh", "-ec", line], cwd=project, env={**environment.path(folder), **env})
            took = time.monotonic() - started, children_seconds() - computed
            if part.nightly and not options:
                part.run(["sh", "-ec", ASAN], cwd=project, env={**environment.path(folder), **env})
        part.note(f"new {' '.join(options)}: {took[0] / 60:.1f} min to green tests")
        if not options:
            check_time(*took)
        # The project's module is the first import here, so it loads libmemarray itself.
        part.run([folder / "bin" / "python", "-c", f"import {NAME}"], cwd=folder)
        part.run([folder / "bin" / "python", "-m", "pip", "uninstall", "--quiet", "-y", NAME])
    shutil.rmtree(folder)


def check_workflow(part: Part, project: Path, flavour: str) -> None:
    """Checks that the project's CI, parsed as YAML, installs memarray and then runs the README's commands."""
    file = project / ".github" / "workflows" / "tests.yml"
    (job,) = json.loads(part.run([environment.python(part), "-c", READ_WORKFLOW, file]).stdout).values()
    steps = [step["run"] if list(step) == ["run"] else step.get("uses", step) for step in job["steps"]]
    wanted = [*STEPS[flavour], *map(re.escape, shell_commands(project / "README.md"))]
    if len(steps) != len(wanted) or not all(map(re.fullmatch, wanted, map(str, steps))):
        raise PartFailed(f"{file.name}: the steps {steps} are not {wanted}")
    if not isinstance(version := job["steps"][1]["with"]["python-version"], str):
        raise PartFailed(f"{file.name}: the Python {version} is a number, of which 3.10 is 3.1")


def children_seconds() -> float:
    """Returns the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_time(passed: float, computed: float) -> None:
    """Fails only if both times exceed the limit: a busy machine or network does not lengthen CPU time."""
    if min(passed, computed) > SECONDS:
        raise PartFailed(f"{passed:.0f} s to green tests, {computed:.0f} s of computing: over {SECONDS}")


def write(part: Part, folder: Path, elsewhere: Path, options: list[str], env: dict[str, str] | None = None) -> Path:
    part.run([folder / "bin" / "python", "-m", "memarray", "new", NAME, *options], cwd=elsewhere, env=env)
    return elsewhere / NAME
