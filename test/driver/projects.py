"""Projects that use memarray: built and tested against the installed wheel, or against a build of the tree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from . import builds, environment, fuzz, kernels, wheels
from .commands import PYTEST, ROOT, WORK, Absent, Part, PartFailed

DOWNSTREAM = ROOT / "test" / "downstream"
#: Packages with the headers that a build of memarray itself needs, as in test/downstream/subdirectory.
BUILD_HEADERS = ("nvidia-cuda-cccl>=13.0",)
#: The oldest nanobind release that memarray's type casters support.
OLDEST_NANOBIND = "2.12"
#: Projects that take long to compile, and test packaging alone; nightly only.
LONG_PROJECTS = {"folders", "other_abi", "subdirectory"}
#: Projects that pip builds and installs.
PACKAGES = {"scikit_build"}
#: Projects whose tests import memory of torch and JAX. The tools' environment provides both where it can.
USE_PEERS = {"arguments", "nanobind"}
#: The projects whose modules use type casters: pybind11's, then nanobind's. Both run the tests in `arguments`.
CASTERS = ("arguments", "nanobind")
#: Projects that every installed Python builds and tests: casters, C, a package that pip builds, and Cython (waves).
FOR_EVERY_PYTHON = (
    *(DOWNSTREAM / name for name in ("arguments", "nanobind", "c_api", "scikit_build")),
    ROOT / "examples/waves",
)
#: The projects with CUDA kernels of their own, which nvcc compiles.
WITH_KERNELS = (DOWNSTREAM / "kernels", DOWNSTREAM / "module", ROOT / "examples/hydro")


def downstream(part: Part) -> None:
    """Builds and tests examples/* and test/downstream/* with the installed wheel; quick: one, with the host build."""
    if part.quick:
        return one_project(part)
    folder = wheels.installed(part)
    projects = sorted(
        {
            path.parent
            for pattern in ("examples/*", "test/downstream/*")
            for path in (*ROOT.glob(f"{pattern}/CMakeLists.txt"), *ROOT.glob(f"{pattern}/test_*.py"))
            if part.nightly or path.parent.name not in LONG_PROJECTS
        }
    )
    if not projects:
        raise Absent("there is no examples/* nor test/downstream/* project yet")
    if "gfortran" in environment.missing_for_fortran():
        part.note("gfortran is not available here: examples/fortran is left out")
    if part.nightly:
        fuzz.find_clang()  # test/downstream/strict uses it
    if not fuzz.clangs():
        part.note("there is no clang++ here: test/downstream/strict checks the headers with g++ alone")
    environment.pip_install(part, folder, "pybind11>=3.1", "pytest>=8", *(BUILD_HEADERS if part.nightly else ()))
    build_projects(part, folder, projects)
    if part.nightly:
        with_oldest_nanobind(part)
        in_isolation(part)
    if part.nightly and builds.toolkit():
        with_cuda = wheels.installed(part, "cuda")
        environment.pip_install(part, with_cuda, "pybind11>=3.1", "pytest>=8")
        build_projects(part, with_cuda, WITH_KERNELS, *with_nvcc(part))
        # The tests of other_abi expect an import error for modules of the other flavour, here of the host flavour. This
        # project has no kernels and needs no nvcc.
        build_projects(part, with_cuda, [DOWNSTREAM / "other_abi"])


def one_project(part: Part) -> None:
    """Compiles one project against the files that the host build installs, and runs its tests."""
    build = builds.host(part)
    project = DOWNSTREAM / "module"
    test_against(part, build, project, build_against(part, build, project, build_type(part)))


def with_oldest_nanobind(part: Part) -> None:
    folder = environment.create(part, "venv-oldest-nanobind")
    packages = (wheels.built(part, "host"), f"nanobind=={OLDEST_NANOBIND}.0", "pybind11>=3.1", "pytest>=8", "ml_dtypes")
    environment.pip_install(part, folder, *packages)
    build_projects(part, folder, [DOWNSTREAM / "nanobind"])


def in_isolation(part: Part) -> None:
    """Builds the package with pip's build isolation, and tests it. The memarray in pip's temporary environment is
    gone when the package runs."""
    wheel = wheels.built(part, "host")
    output = WORK / "dist" / "isolated"
    shutil.rmtree(output, ignore_errors=True)
    builder, folder = (environment.create(part, name) for name in ("venv-isolated-build", "venv-isolated"))
    command = [builder / "bin" / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", output]
    part.run([*command, DOWNSTREAM / "scikit_build"], env={"PIP_FIND_LINKS": str(wheel.parent)})
    environment.pip_install(part, folder, wheel, next(output.glob("tide-*.whl")), "pytest>=8")
    for module in environment.packages(folder).rglob("tide.*.so"):
        wheels.check_run_path(part, module)
    part.run([folder / "bin" / "python", *PYTEST, DOWNSTREAM / "scikit_build"])


def build_and_test(part: Part, interpreter: Path) -> None:
    """Builds and tests the wheel with another Python, then the projects that compile against it."""
    folder = wheels.build_and_test(part, interpreter)
    environment.pip_install(part, folder, "pybind11>=3.1")
    build_projects(part, folder, FOR_EVERY_PYTHON)


def build_projects(part: Part, folder: Path, projects: Sequence[Path], *options: str) -> None:
    """Builds and tests projects with one installation, `part.jobs` at a time: many have one source or long tests."""
    for project in projects:
        install_requirements(part, folder, project)
    builds.at_once(part.jobs, lambda project: build_project(part, folder, project, *options), projects)


def install_requirements(part: Part, folder: Path, project: Path) -> None:
    if (project / "requirements.txt").exists():
        environment.pip_install(part, folder, "-r", project / "requirements.txt")


def build_project(part: Part, folder: Path, project: Path, *options: str) -> None:
    """Builds one project, and runs its ctest and pytest tests. A project without a CMakeLists.txt is only tested. With
    `options`, checks the device code of the module."""
    python = folder / "bin" / "python"
    build = WORK / "downstream" / folder.name / project.name
    env = {**environment.path(environment.tools(part)), "PYTHONPATH": str(build)}
    if project.name in PACKAGES:
        environment.pip_install(part, folder, "--no-build-isolation", "--no-deps", project, env=env)
    elif (project / "CMakeLists.txt").exists():
        config = part.run([python, "-m", "memarray", "--cmakedir"], cwd=WORK).stdout.strip()
        settings = [build_type(part), f"-Dmemarray_DIR={config}", f"-DPython_EXECUTABLE={python}", *options]
        compile_project(part, project, build, settings, env)
        if options:
            check_kernels(part, build)
        if project.name in USE_PEERS and of_one_python(folder, environment.tools(part)):
            env.update(with_peers(part, build))
        ctest = environment.tool(part, "ctest")
        part.run([ctest, "--test-dir", build, "--output-on-failure", "--no-tests=ignore"], env=env)
    if any(project.glob("test_*.py")):
        part.run([python, *PYTEST, project], env=env)


def build_type(part: Part) -> str:
    """Returns the option to compile without optimisation, in half the time; nightly with it."""
    return f"-DCMAKE_BUILD_TYPE={'Release' if part.nightly else 'None'}"


def compile_project(part: Part, project: Path, build: Path, options: list[str], env: dict[str, str]) -> None:
    cmake = environment.tool(part, "cmake")
    part.run([cmake, "-S", project, "-B", build, "-G", "Ninja", *options], env=env)
    part.run([cmake, "--build", build, "-j", str(part.jobs)], env=env)


def of_one_python(folder: Path, other: Path) -> bool:
    """True if two environments are of the same Python version, so that one can import the packages of the other."""
    return environment.packages(folder).parent.name == environment.packages(other).parent.name


def with_peers(part: Part, build: Path) -> dict[str, str]:
    """Returns variables that make the tools' torch and JAX importable and forbid their tests to be skipped."""
    packages = environment.packages(environment.tools(part))
    there = " ".join(name for name in ("torch", "jax") if (packages / name).exists())
    return {"PYTHONPATH": f"{build}{os.pathsep}{packages}", "MEMARRAY_TEST_PEERS": there}


def build_against(part: Part, build: builds.Build, project: Path, *options: str) -> Path:
    """Compiles a project against the files that `build` installs; returns the folder of its modules."""
    stage = build.folder / "stage"
    cmake = environment.tool(part, "cmake")
    part.run([cmake, "--install", build.folder, "--prefix", stage, "--component", "devel"])
    target = build.folder / "downstream" / project.name
    options = (
        f"-Dmemarray_DIR={stage / 'memarray' / 'lib' / 'cmake' / 'memarray'}",
        f"-DPython_EXECUTABLE={build.interpreter or environment.python(part)}",
        # The module must load the libmemarray of the tested package, not the installed copy.
        f"-DMEMARRAY_RPATH={build.python_path / 'memarray' / 'lib'}",
        *options,
    )
    compile_project(part, project, target, list(options), build.environment(part))
    return target


def test_against(part: Part, build: builds.Build, project: Path, target: Path) -> None:
    """Runs a project's Python tests with its modules from `target` and memarray from `build`."""
    env = {"PYTHONPATH": f"{target}{os.pathsep}{build.python_path}", "PYTHONDONTWRITEBYTECODE": "1"}
    part.run([environment.python(part), *PYTEST, project], env=env)


def build_with_nvcc(part: Part, build: builds.Build) -> None:
    """Compiles the projects with kernels against the files that `build` installs. Tests them on the host and on
    simulated devices."""
    for project in WITH_KERNELS:
        target = build_against(part, build, project, build_type(part), *with_nvcc(part))
        check_kernels(part, target)
        test_against(part, build, project, target)


def with_nvcc(part: Part) -> tuple[str, ...]:
    """Returns the options to compile kernels for one architecture; nightly for all major ones."""
    architectures = "all-major" if part.nightly else "90"
    return (f"-DCMAKE_CUDA_ARCHITECTURES={architectures}", f"-DCMAKE_CUDA_COMPILER={builds.toolkit()}")


def check_kernels(part: Part, modules: Path) -> None:
    """Checks that a module has code for sm_90 and, nightly, for every major architecture."""
    found = kernels.architectures(part, next(modules.glob("*.so")))
    majors = {architecture // 10 for architecture in found[kernels.CUBIN]}
    if 90 not in found[kernels.CUBIN] or (part.nightly and len(majors) < 5):
        raise PartFailed(f"{modules.name}: its module lacks kernels: {found}")


def casters(part: Part, build: builds.Build) -> list[Path]:
    """Compiles the modules with casters against `build`, with its sanitizers, if any. Returns their folders."""
    flags = builds.SANITIZERS.get(build.preset)
    options = [f"-DCMAKE_CXX_FLAGS=-O1 -g1 {flags}", f"-DCMAKE_MODULE_LINKER_FLAGS={flags}"] if flags else []
    return [build_against(part, build, DOWNSTREAM / name, *options) for name in CASTERS]
