"""The environments that the parts run in, created on first use under build/test."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from .commands import ROOT, WORK, Part

REQUIREMENTS = ROOT / "test" / "requirements.txt"
NIGHTLY_REQUIREMENTS = ROOT / "test" / "requirements-nightly.txt"
# Consumers of arrays for the Python tests, optional. torch is the CPU build only: the other needs gigabytes of CUDA
# packages.
PEERS = ("torch==2.13.0+cpu", "jax")


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


def _install_once(part: Part, name: str, *packages: str | Path, optional: tuple[str, ...] = ()) -> Path:
    """Returns the environment `name` with these packages. Recreates it only if its requirements change."""
    folder = WORK / name
    wanted = hashlib.sha256()
    for package in (sys.version, *packages, *optional):
        wanted.update(package.read_bytes() if isinstance(package, Path) else package.encode())
    stamp = folder / "made-of"
    if stamp.exists() and stamp.read_text() == wanted.hexdigest():
        return folder
    create(part, name)
    options: list[str | Path] = []
    for package in packages:
        options += ["-r", package] if isinstance(package, Path) else [package]
    pip_install(part, folder, *options)
    for package in optional:
        python = folder / "bin" / "python"
        tried = part.run([python, "-m", "pip", "install", "--quiet", package], check=False, limit=900)
        if tried.returncode:
            part.note(f"{package} is not to be had here: the tests that use it are left out")
    stamp.write_text(wanted.hexdigest())
    return folder


_made: dict[str, Path] = {}
# A part may run several commands at once, all of which need the environment.
_making = threading.Lock()


def tools(part: Part) -> Path:
    """Returns the environment with linters, build tools and test runners, and with torch and JAX if available."""
    with _making:
        if "tools" not in _made:
            folder = _install_once(part, "venv", REQUIREMENTS, optional=PEERS)
            if part.nightly:
                # Installed on top: the next ordinary run need not start over, and tests these peers, too.
                install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", NIGHTLY_REQUIREMENTS]
                if part.run(install, check=False, limit=900).returncode:
                    part.note("numba and pyarrow are not to be had here: the tests that use them are left out")
            _made["tools"] = folder
        return _made["tools"]


def without_peers(part: Part) -> Path:
    """Returns an environment without torch and JAX: the sanitizers would report their threads and allocations."""
    with _making:
        if "plain" not in _made:
            _made["plain"] = _install_once(part, "venv-plain", "numpy", "pytest>=8", "hypothesis>=6", "ml_dtypes")
        return _made["plain"]


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
