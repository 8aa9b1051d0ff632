"""The part that builds and tests memarray for a Python without the GIL, with its thread sanitizer if it has one."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

from . import builds, environment, new_project, projects, wheels
from .commands import PYTEST, ROOT, WORK, Absent, Part, PartFailed

#: The variable that names the interpreters, separated as on the PATH.
VARIABLE = "PYTHON_FT"
USUAL = tuple(f"python3.{minor}t" for minor in range(20, 12, -1))
ABOUT = (
    "import json, sysconfig; "
    "print(json.dumps([sysconfig.get_config_var(name) for name in ('Py_GIL_DISABLED', 'CONFIG_ARGS')]))"
)
#: The extension module, and the libraries that its tests load.
TARGETS = (
    *("_core", "memarray", "contention", "kernels", "memory_arguments", "memory_orders", "py_resources", "structs"),
    "fake_driver",
)
PACKAGES = ("numpy", *wheels.FOR_TESTS)
HAS_NO_GIL = "import sys, memarray, numpy; assert not sys._is_gil_enabled(); print(memarray.build_info())"


def free_threaded(part: Part) -> None:
    """Tests memarray with a Python without the GIL, which PYTHON_FT names, under TSan if it is built so (nightly)."""
    if not part.nightly:
        raise Absent("nightly only")
    interpreters = found()
    if not interpreters:
        raise Absent(f"{VARIABLE} names no free-threaded Python; docs/guide/free_threading.md says how to get one")
    builds.at_once(1, lambda interpreter: build_and_test(part, interpreter), interpreters)


def found() -> list[Path]:
    """Returns the interpreters that the variable names, or else the newest on the PATH."""
    named = [Path(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    if named:
        return named
    return [Path(path) for path in map(shutil.which, USUAL) if path][:1]


def build_and_test(part: Part, interpreter: Path) -> None:
    about = json.loads(part.run([interpreter, "-c", ABOUT], env=builds.QUIET).stdout.splitlines()[-1])
    if not about[0]:
        raise PartFailed(f"{VARIABLE}: {interpreter} has its GIL")
    watched = "--with-thread-sanitizer" in (about[1] or "")
    preset = "tsan" if watched else "host"
    # The interpreter's own pip knows which wheels fit. Few packages build from source for every Python.
    folder = environment.create(part, f"venv-{preset}-free-threaded", str(interpreter), env=builds.QUIET)
    environment.pip_install(part, folder, "--only-binary=:all:", *PACKAGES, env=builds.QUIET)
    python = folder / "bin" / "python"
    build = replace(builds.of(preset), folder=WORK / f"{preset}-free-threaded", interpreter=python)
    build.make(part, "-DMEMARRAY_BUILD_DEMO=OFF", "-DMEMARRAY_TEST_EVERY_KERNEL=ON", targets=TARGETS)
    env = {
        **build.run_options(),
        "PYTHONPATH": str(build.python_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    part.run([python, "-W", "error", "-c", HAS_NO_GIL], env=env)
    markers = f"{'threads and ' if watched else ''}not slow and not gpu"
    # Keeps the sanitizer's reports in the output.
    command = [python, *PYTEST, *(("-p", "no:faulthandler", "--capture=sys") if watched else ())]
    # The tests' own extension modules do not declare that they run without the GIL: PYTHON_GIL=0 keeps it off.
    part.run([*command, "-m", markers, ROOT / "test" / "python"], env={**env, "PYTHON_GIL": "0"}, limit=3600)
    folder_of_tests = projects.DOWNSTREAM / "arguments"
    tests = sorted(folder_of_tests.glob("test_*holds.py")) if watched else [folder_of_tests]
    for modules in projects.casters(part, build):
        env["PYTHONPATH"] = f"{modules}{os.pathsep}{build.python_path}"
        part.run([python, "-W", "error", "-c", f"import arguments; {HAS_NO_GIL}"], env=env)
        part.run([*command, *tests], env=env, limit=900)
    if not watched:
        try_new_project(part, build, folder, env)


def try_new_project(part: Part, build: builds.Build, folder: Path, env: dict[str, str]) -> None:
    """Checks that the modules of `new --cython`, one of them Cython's, leave the GIL off and pass their tests."""
    place = build.folder / "new"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    env = {**env, "PYTHONPATH": str(build.python_path)}
    project = new_project.write(part, folder, place, ["--cython"], env)
    modules = projects.build_against(part, build, project)
    env["PYTHONPATH"] = f"{modules / 'python'}{os.pathsep}{build.python_path}"
    python = folder / "bin" / "python"
    part.run([python, "-W", "error", "-c", f"import {project.name}._analysis; {HAS_NO_GIL}"], env=env)
    part.run([python, *PYTEST, "-p", "memarray.pytest_plugin", "tests"], cwd=project, env=env)
