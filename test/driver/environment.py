"""The environments that the parts run in, created on first use under build/test."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .commands import ROOT, WORK, Part

REQUIREMENTS = ROOT / "test" / "requirements.txt"
NIGHTLY_REQUIREMENTS = ROOT / "test" / "requirements-nightly.txt"
# Consumers of arrays for the Python tests, optional. torch is the CPU build only: the other needs gigabytes of CUDA
# packages.
PEERS = ("torch==2.13.0+cpu", "jax")
BUILD_PACKAGES = ("cmake", "cython", "nanobind", "ninja", "nvidia-cuda-cccl", "pybind11")


def create(part: Part, name: str, python: str = sys.executable, env: dict[str, str] | None = None) -> Path:
    """Creates a fresh virtual environment under build/test; returns its folder."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    part.run([python, "-m", "venv", folder], env=env)
    return folder


def pip_install(part: Part, folder: Path, *packages: str | Path, env: dict[str, str] | None = None) -> None:
    command = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *packages,
    ]
    part.run(command, env=env)


@dataclass(frozen=True)
class Environment:
    """A virtual environment under build/test, made again if its requirements change."""

    name: str
    packages: tuple[str | Path, ...]
    optional: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def stamp(self) -> Path:
        return self.folder / "made-of"

    def wanted(self) -> str:
        found = hashlib.sha256()
        for package in (sys.version, *self.packages, *self.optional):
            found.update(package.read_bytes() if isinstance(package, Path) else package.encode())
        return found.hexdigest()

    def is_made(self) -> bool:
        return self.stamp.exists() and self.stamp.read_text() == self.wanted()

    def install(self, part: Part) -> Path:
        """Installs the packages into the folder, a fresh environment."""
        options: list[str | Path] = []
        for package in self.packages:
            options += ["-r", package] if isinstance(package, Path) else [package]
        pip_install(part, self.folder, *options)
        for package in self.optional:
            python = self.folder / "bin" / "python"
            tried = part.run([python, "-m", "pip", "install", "--quiet", package], check=False, limit=900)
            if tried.returncode:
                part.note(f"{package} is not available here: the tests that use it are left out")
        self.stamp.write_text(self.wanted())
        return self.folder


TOOLS = Environment("venv", (REQUIREMENTS,), PEERS)
PLAIN = Environment("venv-plain", ("numpy", "pytest>=8", "hypothesis>=6", "ml_dtypes"))

_made: dict[str, Future[Path]] = {}
# A part may run several commands at once, all of which need the environment.
_making = threading.Lock()


def build_tools(part: Part) -> Path:
    """Returns the folder of `tools` once a build can use it. pip installs the rest meanwhile."""
    with _making:
        if TOOLS.name not in _made:
            if not TOOLS.is_made():
                create(part, TOOLS.name)
                pip_install(part, TOOLS.folder, *for_builds())
            _made[TOOLS.name] = ThreadPoolExecutor(1).submit(_install_tools, part)
        return TOOLS.folder


def for_builds() -> list[str]:
    """Returns the lines of REQUIREMENTS that CMake's builds need."""
    lines = REQUIREMENTS.read_text().splitlines()
    return [line for line in lines if re.split("[=>]", line)[0] in BUILD_PACKAGES]


def _install_tools(part: Part) -> Path:
    if not TOOLS.is_made():
        TOOLS.install(part)
    if part.nightly:
        # Installed on top: the next ordinary run need not start over, and tests these peers, too.
        install = [TOOLS.folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", NIGHTLY_REQUIREMENTS]
        if part.run(install, check=False, limit=900).returncode:
            part.note(
                "astropy, numba, pint and pyarrow are not all available here: the tests that use them are left out"
            )
    return TOOLS.folder


def tools(part: Part) -> Path:
    """Returns the environment with linters, build tools and test runners, and with torch and JAX if available."""
    build_tools(part)
    return _made[TOOLS.name].result()


def without_peers(part: Part) -> Path:
    """Returns an environment without torch and JAX: the sanitizers would report their threads and allocations."""
    with _making:
        if not PLAIN.is_made():
            create(part, PLAIN.name)
            PLAIN.install(part)
        return PLAIN.folder


def python(part: Part) -> Path:
    return tools(part) / "bin" / "python"


def tool(part: Part, name: str) -> Path:
    return tools(part) / "bin" / name


def path(folder: Path) -> dict[str, str]:
    """Returns the variable with which a shell finds an environment's programs before all others."""
    return {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def packages(folder: Path) -> Path:
    """Returns the folder of an environment's packages."""
    return next((folder / "lib").glob("python3*/site-packages"))


def has_ccache() -> bool:
    return shutil.which("ccache") is not None


def compiler_cache() -> dict[str, str]:
    """Returns the variables with which CMake uses ccache, if there is one, for projects in temporary folders."""
    if not has_ccache():
        return {}
    launchers = {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX")}
    return {**launchers, "CCACHE_BASEDIR": tempfile.gettempdir(), "CCACHE_NOHASHDIR": "1"}


QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}


@functools.cache
def update_debian_packages() -> None:
    subprocess.run(["apt-get", "update"], check=False, **QUIET)


def install_debian_package(*names: str) -> None:
    """Tries to install the packages, all or none. The caller checks the result: another run may install, too."""
    patient = ["-o", "DPkg::Lock::Timeout=600"]
    command = ["apt-get", "install", "-y", "--no-install-recommends", *patient, *names]
    subprocess.run(command, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, **QUIET)


@functools.cache
def has_doxygen() -> bool:
    """True if there is a doxygen, after installing it if necessary and possible."""
    if not shutil.which("doxygen") and os.geteuid() == 0 and shutil.which("apt-get"):
        update_debian_packages()
        install_debian_package("doxygen")
    return shutil.which("doxygen") is not None


@functools.cache
def missing_for_fortran() -> list[str]:
    """Returns the packages for Fortran, BLAS and Eigen that are missing, after installing them if possible."""

    def missing() -> list[str]:
        there = {
            "gfortran": shutil.which("gfortran"),
            "libblas-dev": any(Path("/usr/include").glob("*/cblas.h")),
            "libeigen3-dev": Path("/usr/include/eigen3/Eigen/Core").exists(),
        }
        return [name for name, found in there.items() if not found]

    wanted = missing()
    if wanted and os.geteuid() == 0 and shutil.which("apt-get"):
        update_debian_packages()
        install_debian_package(*wanted)
    return missing()


@functools.cache
def install_debian_packages() -> str:
    """Installs missing packages if possible. Returns an error message if GoogleTest is still missing, or "" if not."""
    wanted = {
        "libgtest-dev": Path("/usr/include/gtest/gtest.h").exists(),
        "libgmock-dev": Path("/usr/include/gmock/gmock.h").exists(),
        "ccache": has_ccache(),
    }
    missing = [name for name, there in wanted.items() if not there]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        update_debian_packages()
        for name in missing:
            install_debian_package(name)
    if not Path("/usr/include/gmock/gmock.h").exists():
        return "GoogleTest is missing: install libgtest-dev and libgmock-dev"
    return ""
