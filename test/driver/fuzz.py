"""Fuzzers: replayed on their corpus wherever there is a compiler, and run by libFuzzer where there is clang."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from . import builds, environment
from .commands import ROOT, WORK, Absent, Part

FOLDER = ROOT / "test" / "fuzz"
#: Debian packages of clang with libFuzzer; the first that can be installed is used.
CLANGS = (("clang-19", "libclang-rt-19-dev"), ("clang", "llvm"))
#: Names of the program, in the order of preference. test/downstream/strict/CMakeLists.txt has the same.
CLANG_NAMES = ("clang++", *(f"clang++-{version}" for version in range(25, 14, -1)))
EMPTY = 'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }'


def topics() -> list[str]:
    return sorted(path.stem.removeprefix("fuzz_") for path in FOLDER.glob("fuzz_*.cpp"))


def replay(part: Part, build: builds.Build) -> None:
    """Runs every input of the corpus through the plain programs of this build."""
    for topic in topics():
        program = build.folder / "test" / "fuzz" / f"fuzz_{topic}"
        output = part.run([program, FOLDER / "corpus" / topic], env=build.run_options(), limit=300).stdout
        part.note(f"fuzz_{topic}: {output.splitlines()[-1]}")


def fuzz(part: Part) -> None:
    """Runs libFuzzer on imports and on views, with sanitizers, for --minutes each (nightly)."""
    if not part.nightly:
        raise Absent("nightly only; what was found before is replayed by the parts host and asan")
    clang = find_clang()
    if not clang:
        raise Absent("no clang++ with libFuzzer on this machine, and none could be installed")
    targets = tuple(f"fuzz_{topic}" for topic in topics())
    options = (f"-DCMAKE_CXX_COMPILER={clang}", "-DMEMARRAY_LIBFUZZER=ON", "-DMEMARRAY_BUILD_DEMO=OFF")
    build = builds.Build("asan", WORK / "fuzz").make(part, *options, targets=targets)

    builds.at_once(part.jobs, lambda topic: run_fuzzer(part, build, topic), topics())


def run_fuzzer(part: Part, build: builds.Build, topic: str) -> None:
    """Runs one fuzzer. Inputs that reach new code go into a folder of the build; the output names one that fails."""
    inputs, failures = (build.folder / name / topic for name in ("inputs", "failures"))
    for folder in (inputs, failures):
        folder.mkdir(parents=True, exist_ok=True)
    seconds = int(part.minutes * 60)
    command = [
        *(
            build.folder / "test" / "fuzz" / f"fuzz_{topic}",
            f"-max_total_time={seconds}",
            f"-artifact_prefix={failures}/",
        ),
        *("-max_len=512", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1"),
        *(inputs, FOLDER / "corpus" / topic),
    ]
    output = part.run(command, env=build.run_options(), limit=seconds + 600).stdout
    executed = re.search(r"number_of_executed_units: *(\d+)", output)
    part.note(f"fuzz_{topic}: {executed.group(1) if executed else 'no'} inputs in {seconds} s")


def find_clang() -> Path | None:
    """Returns a clang++ that links libFuzzer and the sanitizers, after installing it if necessary and possible."""
    found = installed_clang()
    for packages in CLANGS:
        if found or os.geteuid() != 0 or not shutil.which("apt-get"):
            break
        environment.update_debian_packages()
        environment.install_debian_package(*packages)
        found = installed_clang()
    return found


def installed_clang() -> Path | None:
    return next((Path(candidate) for candidate in clangs() if has_libfuzzer(candidate)), None)


def clangs() -> list[str]:
    """Returns every clang++ on the path, with libFuzzer or without."""
    return [found for found in map(shutil.which, CLANG_NAMES) if found]


def has_libfuzzer(compiler: str) -> bool:
    command = [compiler, "-x", "c++", "-std=c++20", "-fsanitize=fuzzer,address,undefined", "-", "-o", os.devnull]
    return subprocess.run(command, input=EMPTY, text=True, capture_output=True, check=False).returncode == 0
