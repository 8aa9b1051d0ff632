"""The parts that work on an installation: the wheel, and the demo in it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from . import builds, environment
from .commands import PYTEST, ROOT, WORK, Absent, Part, PartFailed

WHEEL_LIMIT = 6 * 2**20
#: The environment with the wheel of each flavour.
INSTALLED = {"host": "venv-installed", "cuda": "venv-installed-cuda"}
#: Packages that the Python tests need besides the wheel; with more libraries installed, more of them run.
FOR_TESTS = ("pytest>=8", "hypothesis>=6", "ml_dtypes")
#: Files and folders that decide how an installed wheel works.
SOURCES = (
    *("CMakeLists.txt", "pyproject.toml", "cmake", "include", "src", "python", "third_party"),
    *("examples/lennard_jones", "examples/gray_scott"),
)
#: Leftovers of builds and tests among the sources.
LEFT_BEHIND = {"__pycache__", ".pytest_cache", "build"}
#: File beside a wheel and in its environment with the fingerprint of its sources.
STAMP = "made-of"
#: Libraries of every system that the wheel's platform tag names.
SYSTEM = re.compile(r"libmemarray\.so|lib(stdc\+\+|gcc_s|m|c|pthread|dl|rt)\.so\.\d|ld-linux-[\w-]+\.so\.\d")
DEMO_CHECKS = ("shared_memory", "frames_unchanged", "nothing_copied", "restart_identical")
DEMO_FRAMES = 50
IN_WHEEL = (
    "memarray/lib/libmemarray.so",
    "memarray/lib/cmake/memarray/memarrayConfig.cmake",
    "memarray/include/memarray/version.hpp",
    "memarray/include/memarray/c_api.h",
    "memarray/include/memarray/interop/c_api.h",
    "memarray/.project/CMakePresets.json",
    "memarray/include/dlpack/dlpack.h",
    "memarray/include/cccl/cuda/std/array",
    "memarray/include/cccl/thrust/version.h",
    "licenses/LICENSE",
    "licenses/THIRD_PARTY_NOTICES",
)


def package(part: Part) -> None:
    """Builds the sdist, from it alone the wheel; repairs, checks, installs it (nightly CUDA's, too); collects tests."""
    if part.nightly and builds.toolkit():
        install(part, "cuda")
    folder = install(part, "host")
    check_wheel(part, built(part, "host"))
    # The tests run with an installation nightly; each file must find what it imports there.
    environment.pip_install(part, folder, *FOR_TESTS)
    part.run([folder / "bin" / "python", *PYTEST, "--collect-only", ROOT / "test" / "python"])


def install(part: Part, flavour: str) -> Path:
    """Builds the wheel of that flavour, installs it in its own environment and checks that it works there."""
    made_of = fingerprint()
    settings = {"CUDACXX": str(builds.toolkit()), "MEMARRAY_CUDA": "ON"} if flavour == "cuda" else {}
    wheel = repaired(part, build_wheel(part, Path(sys.executable), flavour, **settings))
    folder = environment.create(part, INSTALLED[flavour])
    environment.pip_install(part, folder, wheel)
    for place in (wheel.parent, folder):
        (place / STAMP).write_text(made_of)
    python = folder / "bin" / "python"
    check = f"import memarray; info = memarray.build_info(); assert info['flavour'] == {flavour!r}, info; print(info)"
    with tempfile.TemporaryDirectory() as elsewhere:
        part.run([python, "-c", check], cwd=Path(elsewhere))
        words = part.run([python, "-m", "memarray", "--version"], cwd=Path(elsewhere)).stdout
        check_version(words, wheel.name.split("-")[1], flavour)
        part.run([python, "-m", "memarray", "demo", "--steps", "200"], cwd=Path(elsewhere))
    check_libraries(part, folder)
    return folder


def fingerprint() -> str:
    """Returns a hash of the sources and the Python that a wheel built now would come from."""
    found = hashlib.sha256(sys.version.encode())
    for source in SOURCES:
        for path in sorted([ROOT / source, *(ROOT / source).rglob("*")]):
            name = path.relative_to(ROOT)
            if path.is_file() and not LEFT_BEHIND.intersection(name.parts):
                found.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return found.hexdigest()


def is_current(place: Path) -> bool:
    """True if the build or installation there comes from the current sources."""
    stamp = place / STAMP
    return stamp.exists() and stamp.read_text() == fingerprint()


def check_version(words: str, version: str, flavour: str) -> None:
    """Checks the version and the flavour that the command line prints."""
    if not re.fullmatch(rf"memarray {re.escape(version)} \((.*, )?flavour {flavour}(, .*)?\)\n", words):
        raise PartFailed(f"python -m memarray --version: not {version}, {flavour}, but {words!r}")


def place_of(interpreter: Path, flavour: str) -> Path:
    """Returns the folder in which wheels for an interpreter are built."""
    return WORK / "dist" / f"{interpreter.name}-{flavour}"


def built(part: Part, flavour: str) -> Path:
    """Returns the wheel of that flavour of this tree. Builds and installs it if the tree has changed."""
    place = place_of(Path(sys.executable), flavour) / "repaired"
    if not is_current(place):
        install(part, flavour)
    return next(place.glob("memarray-*.whl"))


def build_wheel(part: Part, interpreter: Path, flavour: str = "host", **settings: str) -> Path:
    """Builds the sdist, and the wheel from the sdist alone, as pip does for a user; returns the wheel."""
    output = place_of(interpreter, flavour)
    sdist = build_sdist(part, output)
    env = {"MEMARRAY_CUDA": "OFF", "CMAKE_BUILD_PARALLEL_LEVEL": str(part.jobs), **settings}
    part.run([interpreter, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", output, sdist], env=env)
    return next(output.glob("memarray-*.whl"))


def repaired(part: Part, wheel: Path) -> Path:
    """Returns the wheel made portable: named for the oldest system that has the libraries that it links."""
    output = wheel.parent / "repaired"
    shutil.rmtree(output, ignore_errors=True)
    env = environment.path(environment.tools(part))
    part.run([environment.tool(part, "auditwheel"), "repair", "--wheel-dir", output, wheel], env=env)
    return next(output.glob("memarray-*.whl"))


def build_sdist(part: Part, output: Path) -> Path:
    """Builds the sdist into `output`, replacing earlier files there."""
    for old in output.glob("memarray-*"):
        old.unlink()
    build = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    part.run([environment.python(part), "-c", build, output])
    return next(output.glob("memarray-*.tar.gz"))


def check_wheel(part: Part, wheel: Path) -> None:
    size = wheel.stat().st_size
    part.note(f"{wheel.name}: {size / 2**20:.2f} MiB")
    if size > WHEEL_LIMIT:
        raise PartFailed(f"{wheel.name} is {size} bytes, over {WHEEL_LIMIT}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    missing = [name for name in IN_WHEEL if not any(entry.endswith(name) for entry in names)]
    missing += [name for name in ("memarray/_core.", "memarray/py.typed") if not any(name in entry for entry in names)]
    if missing:
        raise PartFailed(f"{wheel.name} lacks {', '.join(missing)}")


def check_libraries(part: Part, folder: Path) -> None:
    """Checks the libraries of the package that is installed there."""
    for library in sorted(installed_package(folder).rglob("*.so")):
        check_run_path(part, library)
        check_links(part, library)


def check_run_path(part: Part, library: Path) -> None:
    """Checks that a shipped library does not search the folder in which it was built."""
    output = part.run(["readelf", "-d", library]).stdout
    paths = [line for line in output.splitlines() if "RPATH" in line or "RUNPATH" in line]
    for line in paths:
        entries = line.split("[", 1)[1].rstrip("]").split(":")
        if any(not entry.startswith("$ORIGIN") for entry in entries):
            raise PartFailed(f"{library.name} looks for libraries in {entries}")


def check_links(part: Part, library: Path) -> None:
    """Checks that the library links only system libraries and memarray: no driver, no CUDA runtime."""
    output = part.run(["readelf", "-d", library]).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output))
    if others := sorted(name for name in needed if not SYSTEM.fullmatch(name)):
        raise PartFailed(f"{library.name} links {', '.join(others)}")


def installed(part: Part, flavour: str = "host") -> Path:
    """Returns the environment with this tree's wheel. Creates it if the tree has changed."""
    folder = WORK / INSTALLED[flavour]
    return folder if is_current(folder) else install(part, flavour)


def installed_package(folder: Path) -> Path:
    return environment.packages(folder) / "memarray"


def demo(part: Part) -> None:
    """Runs the demo from the installed wheel, first without and then with the packages of its extra."""
    if not (ROOT / "examples" / "lennard_jones" / "CMakeLists.txt").exists():
        raise Absent("examples/lennard_jones is not there yet")
    folder = installed(part)
    python = folder / "bin" / "python"
    with tempfile.TemporaryDirectory() as elsewhere:
        run = [python, "-m", "memarray", "demo", "--steps", "200"]
        part.run([*run, "--out", Path(elsewhere) / "bare"], cwd=Path(elsewhere))
        environment.pip_install(part, folder, "matplotlib", "tqdm")
        part.run([*run, "--out", Path(elsewhere) / "full"], cwd=Path(elsewhere))
        for run_folder in ("bare", "full"):
            check_demo(run_folder, Path(elsewhere) / run_folder / "summary.json")
        if not list((Path(elsewhere) / "full").glob("*.png")):
            raise PartFailed("the demo drew no picture although matplotlib is there")


def check_demo(run: str, file: Path) -> None:
    """Checks the demo's own findings in its summary.json."""
    if not file.exists():
        raise PartFailed(f"the demo ({run}) wrote no summary.json")
    summary = json.loads(file.read_text())
    failed = [name for name in DEMO_CHECKS if summary["checks"].get(name) is not True]
    failed += [] if summary["passed"] is True else ["passed"]
    failed += [] if summary["copies"] == 0 else [f"copies: {summary['copies']}"]
    failed += [] if summary["frames"] >= DEMO_FRAMES else [f"frames: {summary['frames']}"]
    if failed:
        raise PartFailed(f"the demo ({run}) says in its summary.json that this went wrong: {', '.join(failed)}")


def build_and_test(part: Part, interpreter: Path) -> Path:
    """Builds the wheel for another Python, tests it without peers in its own environment; returns the environment."""
    wheel = repaired(part, build_wheel(part, interpreter))
    folder = environment.create(part, f"venv-{interpreter.name}", str(interpreter))
    environment.pip_install(part, folder, wheel, "pytest-xdist", *FOR_TESTS)
    check_libraries(part, folder)
    options = ["-m", "not slow and not gpu", "-n", str(part.jobs), "--dist", "loadfile"]
    part.run([folder / "bin" / "python", *PYTEST, *options, ROOT / "test" / "python"])
    return folder
