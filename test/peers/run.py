"""A runner of other projects' own test suites with memarray's objects in them: ``python test/peers/run.py FOLDER``.

Each suite is taken from its installed package or from its source distribution, which is downloaded and, where it has
extension modules, built below FOLDER. A suite that is not available is listed as absent. memarray must be importable;
pip, CMake and a compiler must be installed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: The parts of a source distribution to build: CMake options, the target, and the folder below the build.
EXTENSIONS = {
    "nanobind": (("-DNB_TEST=ON", "-DNB_TEST_STABLE_ABI=OFF"), "test_ndarray_ext", "tests"),
    "pybind11": (
        ("-DPYBIND11_TEST=ON", "-DPYBIND11_TEST_OVERRIDE=test_buffers.cpp;test_numpy_array.cpp", "-DBUILD_TESTING=ON"),
        "pybind11_tests",
        "tests",
    ),
}
SUITES = {
    "NumPy's DLPack tests": ("test_numpy_dlpack.py", None),
    "CPython's test_memoryview": ("test_cpython_memoryview.py", None),
    "CPython's test_buffer": ("test_cpython_buffer.py", None),
    "mpi4py's message tests": ("test_mpi4py_messages.py", "mpi4py"),
    "nanobind's nd-array tests": ("test_nanobind_ndarray.py", "nanobind"),
    "pybind11's array tests": ("test_pybind11_arrays.py", "pybind11"),
}
#: Suites of the interpreter: some distributions package it without its tests.
WITH_PYTHON = {"CPython's test_memoryview": "test.test_memoryview", "CPython's test_buffer": "test.test_buffer"}
ABSENT = {"PyTorch's DLPack tests": "its wheel has no tests, and there is no source distribution"}


def quiet(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def download(project: str, folder: Path) -> Path:
    """Returns the unpacked source distribution of the installed version of a project."""
    version = importlib.metadata.version(project)
    target = folder / f"{project}-{version}"
    if not (target / "PKG-INFO").exists():
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation")
        quiet(*pip, "--no-binary", ":all:", "-d", folder, f"{project}=={version}")
        with tarfile.open(next(folder.glob(f"{project}-{version}.tar.*"))) as archive:
            archive.extractall(folder, filter="data")
    return target


def build(project: str, source: Path, folder: Path) -> None:
    """Builds the extension modules of a suite, and links to the folder that they are in as ``build-PROJECT``."""
    options, target, below = EXTENSIONS[project]
    where = folder / f"cmake-{project}"
    cmake = Path(sys.executable).parent / "cmake"
    quiet(
        cmake,
        "-S",
        source,
        "-B",
        where,
        "-G",
        "Ninja",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DPYTHON_EXECUTABLE={sys.executable}",
        "-DCMAKE_BUILD_TYPE=Release",
        *options,
    )
    quiet(cmake, "--build", where, "--target", target, "-j", "2")
    link = folder / f"build-{project}"
    link.unlink(missing_ok=True)
    link.symlink_to(where / below)


def run(folder: Path) -> int:
    failed = 0
    rows = [(name, "absent", why) for name, why in ABSENT.items()]
    for name, (file, project) in SUITES.items():
        if name in WITH_PYTHON and importlib.util.find_spec(WITH_PYTHON[name]) is None:
            rows.append((name, "absent", "this Python comes without its tests"))
            continue
        try:
            source = download(project, folder) if project else folder
        except (subprocess.CalledProcessError, ImportError, StopIteration) as error:
            rows.append((name, "absent", f"{type(error).__name__}: {error}"))
            continue
        try:
            if project in EXTENSIONS:
                build(project, source, folder)
        except subprocess.CalledProcessError as error:
            failed += 1
            rows.append((name, "FAILED", f"its extension modules cannot be built: {error}"))
            continue
        # One process for each: some suites change global state that others read.
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore"]
        ran = subprocess.run(
            [*command, f"--rootdir={HERE}", "-c", os.devnull, HERE / file],
            env={**os.environ, "MEMARRAY_PEERS": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
        )
        closing = ran.stdout.strip().splitlines()[-1] if ran.stdout.strip() else ran.stderr[-200:]
        if ran.returncode:
            failed += 1
            print(ran.stdout[-20000:], ran.stderr[-4000:])
        rows.append((name, "FAILED" if ran.returncode else "passed", closing.strip("= ")))
    for name, status, line in rows:
        print(f"{name}: {status}: {line}")
    print(f"{sum(status == 'passed' for _, status, _ in rows)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve()
    target.mkdir(parents=True, exist_ok=True)
    sys.exit(run(target))
