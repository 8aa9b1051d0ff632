"""The benchmarks' own environment under build/bench: virtual environment, memarray's wheel, native peers."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PEERS = {
    "numpy": "numpy",
    "torch": "torch==2.13.0",
    "numba": "numba",
    "nanobind": "nanobind",
    "jax": "jax",
    "tvm_ffi": "apache-tvm-ffi",
    "pybind11": "pybind11",
}
NATIVE_PEERS = {"TBB": "tbb-devel"}
TOOLS = ("cmake", "ninja")
SOURCES = ("CMakeLists.txt", "pyproject.toml", "cmake", "include", "src", "python", "third_party", "examples")


@dataclass(frozen=True)
class Environment:
    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "build" / "bench"

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def native(self) -> Path:
        return self.folder / "native"

    @property
    def wheels(self) -> Path:
        return self.folder / "wheel"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._make_venv()
        self._install_peers()
        self._install_memarray()
        self._build_native()

    def absent(self) -> list[str]:
        """Returns the peers that cannot be imported, and the libraries that CMake did not find, with the reason."""
        found = self.native / "absent.txt"
        return [*self._absent_modules(), *(found.read_text().splitlines() if found.exists() else [])]

    def _absent_modules(self) -> list[str]:
        probe = f"import importlib.util as u; print(*(n for n in {list(PEERS)!r} if u.find_spec(n) is None))"
        return self._output(str(self.python), "-c", probe).split()

    def variables(self, threads: int) -> dict[str, str]:
        """Returns the environment of a row's process, with the thread counts that peers read at their start."""
        paths = [str(self.root / "bench"), str(self.native)]
        counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")}
        return {**os.environ, **counts, "PYTHONPATH": os.pathsep.join(paths), "JAX_PLATFORMS": "cpu"}

    def _make_venv(self) -> None:
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.folder / "venv")], check=True)

    def _pip(self, *arguments: str) -> bool:
        command = [str(self.python), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
        return subprocess.run(command, check=False).returncode == 0

    def _install_peers(self) -> None:
        # One at a time: a peer that cannot be installed must not take the others with it.
        missing = self._absent_modules()
        for name in missing:
            if not self._pip("install", PEERS[name]):
                print(f"bench: {PEERS[name]} cannot be installed; rows go on without it", file=sys.stderr)
        for name, package in NATIVE_PEERS.items():
            if not any((self.folder / "venv" / "lib" / "cmake").glob(f"{name.lower()}/*")):
                self._pip("install", package)  # if it fails, CMake looks for the system's
        for tool in TOOLS:
            if not (self.python.parent / tool).exists() and not self._pip("install", tool):
                raise SystemExit(f"bench: {tool} cannot be installed")

    def _install_build_requirements(self) -> None:
        """Installs the build requirements into the environment itself. pip's isolated folder changes with each build,
        and a build could not continue an earlier one."""
        text = (self.root / "pyproject.toml").read_text()
        requires = re.search(r"^requires = (\[.*?\])", text, re.MULTILINE | re.DOTALL)[1]
        if not self._pip("install", *ast.literal_eval(requires)):
            raise SystemExit("bench: the build requirements of memarray cannot be installed")

    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for source in SOURCES:
            path = self.root / source
            files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
            for file in files:
                if "__pycache__" not in file.parts:
                    digest.update(str(file.relative_to(self.root)).encode() + file.read_bytes())
        return digest.hexdigest()

    def _install_memarray(self) -> None:
        """Builds the wheel as users get it, without kernels, and installs it, if the sources have changed."""
        stamp = self.folder / "installed"
        fingerprint = self._fingerprint()
        if stamp.exists() and stamp.read_text() == fingerprint and any(self.wheels.glob("memarray-*.whl")):
            return
        self._install_build_requirements()
        shutil.rmtree(self.wheels, ignore_errors=True)
        options = [
            "--no-build-isolation",
            "-C",
            "cmake.define.MEMARRAY_CUDA=OFF",
            "-C",
            f"build-dir={self.folder / 'wheel-build'}",
        ]
        if not self._pip("wheel", str(self.root), "--no-deps", "--wheel-dir", str(self.wheels), *options):
            raise SystemExit("bench: memarray's wheel does not build")
        wheel = next(self.wheels.glob("memarray-*.whl"))
        if not self._pip("install", "--no-deps", "--force-reinstall", str(wheel)):
            raise SystemExit("bench: memarray's wheel does not install")
        stamp.write_text(fingerprint)

    def _build_native(self) -> None:
        cmake = str(self.python.parent / "cmake")
        configure = [
            cmake, "-S", str(self.root / "bench" / "native"), "-B", str(self.native), "-G", "Ninja",
            f"-DCMAKE_MAKE_PROGRAM={self.python.parent / 'ninja'}",
            f"-DPython_EXECUTABLE={self.python}",
            f"-Dmemarray_DIR={self._output(str(self.python), '-m', 'memarray', '--cmakedir')}",
        ]  # fmt: skip
        configure += [f"-D{name}_ROOT={self.folder / 'venv'}" for name in NATIVE_PEERS]
        for package, flag in (("nanobind", "--cmake_dir"), ("pybind11", "--cmakedir")):
            if package not in self._absent_modules():
                folder = self._output(str(self.python), "-m", package, flag)
                configure.append(f"-D{package}_DIR={folder}")
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([cmake, "--build", str(self.native)], check=True, stdout=subprocess.DEVNULL)

    def _output(self, *command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
