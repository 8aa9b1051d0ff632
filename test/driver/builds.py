"""CMake builds of the tree, each in a folder of its own under build/test."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from . import environment
from .commands import ROOT, WORK, Absent, Part, PartFailed

T = TypeVar("T")

RUN_OPTIONS = {
    "asan": {
        # Without the last option, the leak check stops at the thread-local variables of a library that Python loaded.
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_init_order=1:intercept_tls_get_addr=0",
        "LSAN_OPTIONS": "print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0"},
}
#: Compiler and linker flags of the presets with these names.
SANITIZERS = {
    "asan": "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer",
    "tsan": "-fsanitize=thread -ftls-model=initial-exec",
}
# Silences reports about code of Python itself.
QUIET = {"TSAN_OPTIONS": "report_bugs=0"}
# Run-time library that an uninstrumented Python must load first.
PRELOADS = {"asan": "libasan.so", "tsan": "libtsan.so"}

# Presets in which g++ warns about its own instrumentation.
FALSE_WARNINGS = ("asan", "tsan", "coverage")


# Prefixes that cmake/MemarrayCuda.cmake searches when no variable names a toolkit.
CUDA_PREFIXES = ("/usr/local/cuda", "/opt/cuda", "/usr/local", "/usr")


@dataclass(frozen=True)
class Build:
    """A configured and built tree. `preset` is one of CMakePresets.json."""

    preset: str
    folder: Path
    source: Path = ROOT
    #: Python to build for, if not the one of the tools.
    interpreter: Path | None = None

    @property
    def python_path(self) -> Path:
        return self.folder / "python"

    def make(self, part: Part, *options: str, targets: tuple[str, ...] = ()) -> Build:
        """Configures and builds the targets. A second call builds only what changed."""
        self.configure(part, *options)
        build = [environment.build_tools(part) / "bin" / "cmake", "--build", self.folder, "-j", str(part.jobs)]
        if targets:
            build += ["--target", *targets]
        part.run(build, env=self.environment(part), cwd=self.source)
        return self

    def configure(self, part: Part, *options: str) -> Build:
        """Configures, and builds nothing."""
        missing = environment.install_debian_packages()
        if missing:
            raise PartFailed(missing)
        tools = environment.build_tools(part) / "bin"
        strict = "OFF" if self.preset in FALSE_WARNINGS else "ON"
        configure = [
            *(tools / "cmake", "--preset", self.preset, "-B", self.folder),
            f"-DPython_EXECUTABLE={self.interpreter or tools / 'python'}",
            f"-DMEMARRAY_WARNINGS_AS_ERRORS={strict}",
            *options,
        ]
        if environment.has_ccache():
            configure += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", "-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache"]
        part.run(configure, env=self.environment(part), cwd=self.source)
        return self

    def environment(self, part: Part) -> dict[str, str]:
        return {
            **environment.path(environment.build_tools(part)),
            # ccache then finds in a copy of the tree the objects compiled in the tree itself.
            "CCACHE_BASEDIR": str(self.source),
            "CCACHE_NOHASHDIR": "1",
            **(self.other_python(part) if self.interpreter else {}),
        }

    def other_python(self, part: Part) -> dict[str, str]:
        """Returns the variables with which another Python finds the packaged headers and Cython's declarations.
        The headers are among the tools, the declarations in the build. If that Python is itself built with a sanitizer,
        its reports are off during the build."""
        packages = environment.packages(environment.build_tools(part))
        return {"PYTHONPATH": f"{self.python_path}{os.pathsep}{packages}", **QUIET}

    def cpp_programs(self) -> list[Path]:
        """Returns the test program of each layer in this build. Options of CMake leave out files and whole layers."""
        folder = self.folder / "test" / "cpp"
        return [folder / name for name in (folder / "programs.txt").read_text().split()]

    def run_cpp(self, part: Part, *, filters: str = "", limit: float = 900) -> None:
        programs = self.cpp_programs()
        if not programs:
            raise Absent("test/cpp has no tests yet")
        arguments = ["--gtest_brief=1"] + ([f"--gtest_filter={filters}"] if filters else [])

        def run(program: Path) -> None:
            part.run([program, *arguments], env=self.run_options(), limit=limit)

        at_once(part.jobs, run, programs)

    def run_options(self) -> dict[str, str]:
        return dict(RUN_OPTIONS.get(self.preset, {}))

    def python_environment(self) -> dict[str, str]:
        """Returns the variables with which a plain interpreter loads the sanitizer's library and imports this build."""
        env = {"PYTHONPATH": str(self.python_path), "PYTHONDONTWRITEBYTECODE": "1", **self.run_options()}
        if self.preset in PRELOADS:
            # Without libstdc++ in the list every C++ exception aborts: __cxa_throw is looked up at the start.
            env["LD_PRELOAD"] = " ".join(library(name) for name in (PRELOADS[self.preset], "libstdc++.so"))
            env["PYTHONMALLOC"] = "malloc"
        return env


def library(name: str) -> str:
    """Returns the compiler's own copy of a run-time library."""
    found = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return str(Path(found.stdout.strip()).resolve())


def at_once(jobs: int, work: Callable[[T], None], items: Iterable[T]) -> None:
    """Does the work on each item, `jobs` at a time. Raises the first failure after all items are done."""

    def failure_of(item: T) -> PartFailed | None:
        try:
            work(item)
        except PartFailed as failure:
            return failure
        return None

    if jobs == 1:
        # In the main thread, so that Ctrl-C ends the command.
        outcomes = [failure_of(item) for item in items]
    else:
        with ThreadPoolExecutor(jobs) as pool:
            outcomes = list(pool.map(failure_of, items))
    failures = [failure for failure in outcomes if failure]
    if failures:
        rest = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise PartFailed(f"{failures[0]}{rest}", failures[0].repeat)


def of(preset: str) -> Build:
    return Build(preset, WORK / preset)


def host(part: Part, *targets: str) -> Build:
    """Builds without CUDA. The quick run has no demo, no loops for AVX, kernels of two dtypes and few optimisations.
    The nightly run tests all dtypes and ranks in C++, and optimises the tests and the bindings. It compiles each source
    alone and without precompiled headers, which finds missing includes."""
    every, precompiled = ("ON", "OFF") if part.nightly else ("OFF", "ON")
    more, joined = ("OFF" if part.quick else "ON"), ("OFF" if part.nightly else "ON")
    return of("host").make(
        part,
        f"-DCMAKE_CXX_FLAGS_RELEASE={'-O1' if part.quick else '-O3'} -DNDEBUG",
        f"-DMEMARRAY_BUILD_DEMO={more}",
        f"-DMEMARRAY_SIMD_TARGETS={more}",
        f"-DMEMARRAY_JOIN_SOURCES={joined}",
        f"-DMEMARRAY_TEST_EVERY_KERNEL={more}",
        f"-DMEMARRAY_TEST_EVERY_INSTANCE={every}",
        f"-DMEMARRAY_TEST_OPTIMIZED={every}",
        f"-DMEMARRAY_TEST_PRECOMPILED={precompiled}",
        targets=targets,
    )


def toolkit() -> Path | None:
    """Returns the nvcc that CMake would find, on the PATH or off it; None if there is none."""
    usual = os.environ.get("MEMARRAY_CUDA_PREFIXES", ":".join(CUDA_PREFIXES)).split(":")
    folders = [*(os.environ.get(name, "") for name in ("CUDA_PATH", "CUDA_HOME")), *usual]
    candidates = [
        os.environ.get("CUDACXX"),
        shutil.which("nvcc"),
        *(f"{folder}/bin/nvcc" for folder in folders if folder),
    ]
    return next((Path(candidate) for candidate in candidates if candidate and Path(candidate).exists()), None)
