"""Mutants: patches that break one promise each. The suite that a patch names must fail with it.

A file of test/mutants begins with lines of the form `# key: value`, followed by the diff:

    # breaks: what is broken, in words
    # suite: cpp array LeaseTest.*            test_<layer> with a --gtest_filter, or
    # suite: python test/python/test_x.py -k torn     arguments of pytest
    # build: host                             or asan, tsan (default: host)
    # runs: 5                                 how often in a row it must be noticed (default 1)
    # limit: 10                               seconds for each run (default 120)
    # expect: torn                            what its output must say; running into the limit is then no success
    # when: normal                            also in the normal run, not only nightly

A file of test/additions begins with `# adds:` in place of `# breaks:`. It adds something, with a test of its own. The
suite that it names must pass with it.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from . import builds, environment
from .commands import PYTEST, ROOT, TIMED_OUT, WORK, Absent, Part, PartFailed

TREE = WORK / "mutants" / "tree"
# Options for fast builds: each mutant recompiles its files. A mutant may leave variables unused.
QUICK = (
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
    "-DMEMARRAY_WARNINGS_AS_ERRORS=OFF",
    "-DMEMARRAY_BUILD_DEMO=OFF",
    "-DMEMARRAY_SIMD_TARGETS=OFF",
    "-DMEMARRAY_TEST_PRECOMPILED=ON",
    "-DMEMARRAY_TEST_EVERY_INSTANCE=OFF",
    "-DMEMARRAY_TEST_EVERY_KERNEL=OFF",
    "-DMEMARRAY_TEST_OPTIMIZED=OFF",
)
#: Extension modules of test/cpp/python that tests import.
TEST_MODULES = ("contention", "kernels", "memory_arguments", "memory_orders", "py_resources", "structs")


@dataclass(frozen=True)
class Mutant:
    patch: Path
    breaks: str
    suite: list[str]
    build: str = "host"
    runs: int = 1
    limit: float = 120
    expect: str = ""
    when: str = "nightly"
    adds: bool = False


def read(patch: Path) -> Mutant:
    header = dict(
        re.findall(r"^# (breaks|adds|suite|build|runs|limit|expect|when): *(.*?) *$", patch.read_text(), re.MULTILINE)
    )
    adds = patch.parent.name == "additions"
    what = "adds" if adds else "breaks"
    for key in (what, "suite"):
        if key not in header:
            raise PartFailed(f"{patch.name} has no line '# {key}: ...'")
    return Mutant(
        patch,
        header[what],
        shlex.split(header["suite"]),
        header.get("build", "host"),
        int(header.get("runs", "1")),
        float(header.get("limit", "120")),
        header.get("expect", ""),
        header.get("when", "nightly"),
        adds,
    )


def mutants(part: Part) -> None:
    """Applies the patches of test/mutants: the suite that each names must fail with it (nightly: all patches)."""
    folders = [ROOT / "test" / kind for kind in ("mutants", "additions")]
    every = [read(patch) for folder in folders for patch in sorted(folder.glob(f"{part.mutants}.patch"))]
    chosen = [mutant for mutant in every if part.nightly or mutant.when == "normal"]
    if not chosen:
        raise Absent(
            f"none of {len(every)} mutants are for the normal run" if every else f"no mutant is named {part.mutants}"
        )
    copy_tree()
    failures: dict[str, str] = {}
    # One build after the other: each mutant then recompiles only the files of its patch.
    for build in sorted({mutant.build for mutant in chosen}):
        group = [mutant for mutant in chosen if mutant.build == build]
        try:
            failures |= survivors(part, build, group)
        except PartFailed as failure:
            failures[f"build {build}"] = str(failure)
    if failures:
        by_name = failures.keys() <= {mutant.patch.stem for mutant in chosen}
        again = "; ".join(replace(part, mutants=name).again for name in failures) if by_name else part.again
        raise PartFailed("; ".join(f"{name}: {problem}" for name, problem in failures.items()), again)
    part.note(f"{len(chosen)} passed: mutants noticed")


def survivors(part: Part, build_name: str, group: list[Mutant]) -> dict[str, str]:
    """Returns problems by mutant: not noticed, a patch that does not apply, a suite that fails without the mutant."""
    build = builds.Build(build_name, TREE / "build" / "test" / build_name, TREE)
    wrong = {}
    for mutant in group:
        name = mutant.patch.stem
        make = functools.partial(build.make, part, *QUICK, files(mutant), targets=targets(mutant))
        if not mutant.adds:
            make()
            clean = run_suite(part, build, mutant).returncode
            if clean != 0:
                wrong[name] = f"its suite fails without it ({clean})"
                continue
        if apply(mutant.patch, "--check"):
            wrong[name] = "the patch does not apply"
            continue
        apply(mutant.patch)
        try:
            make()
            runs = [run_suite(part, build, mutant) for _ in range(mutant.runs)]
        except PartFailed as failure:
            wrong[name] = f"does not compile ({failure})"
            continue
        finally:
            apply(mutant.patch, "--reverse")
        if mutant.adds:
            statuses = [run.returncode for run in runs]
            part.note(f"addition {name}: {mutant.breaks}")
            if any(statuses):
                wrong[name] = f"its suite fails with it ({statuses})"
            continue
        noticed = sum(is_noticed(mutant, run.returncode, run.stdout) for run in runs)
        part.note(f"mutant {name}: noticed {noticed} of {mutant.runs}: {mutant.breaks}")
        if noticed < mutant.runs:
            statuses = [run.returncode for run in runs]
            wrong[name] = f"noticed only {noticed} times of {mutant.runs} (exit statuses {statuses})"
    return wrong


def targets(mutant: Mutant) -> tuple[str, ...]:
    """Returns the targets of the mutant's suite, so that nothing else is compiled."""
    kind, first, *_ = mutant.suite
    if kind == "cpp":
        return (f"test_{first}",)
    text = (ROOT / first).read_text()
    helpers = [(ROOT / first).parent / f"{name}.py" for name in re.findall(r"^from (\w+) import", text, re.MULTILINE)]
    texts = [text, *(helper.read_text() for helper in helpers if helper.exists())]
    imports = rf"^ *(?:import|from) ({'|'.join(TEST_MODULES)})\b"
    imported = sorted(set(re.findall(imports, "\n".join(texts), re.MULTILINE)))
    return ("_core", *imported)


def files(mutant: Mutant) -> str:
    """Returns the CMake option for the test files with the mutant's suites: a patched header recompiles all of them."""
    kind, layer, *filters = mutant.suite
    if mutant.adds:
        added = re.findall(rf"^\+\+\+ b/test/cpp/({layer}/test_\w+)[.]cpp$", mutant.patch.read_text(), re.MULTILINE)
        return f"-DMEMARRAY_TEST_FILES={'|'.join(f'/{path}[.]cpp$' for path in added)}"
    patterns = [text.split(".")[0] for one in filters for text in one.split(":")]
    found = []
    for path in sorted((ROOT / "test" / "cpp" / layer).glob("test_*.cpp")) if kind == "cpp" else ():
        suites = re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),", path.read_text(), re.MULTILINE)
        # GoogleTest extends the name of a suite with parameters or types.
        names = [name for suite in suites for name in (suite, f"p/{suite}", f"{suite}/0")]
        if not patterns or any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns):
            found.append(f"/{layer}/{path.stem}[.]cpp$")
    return f"-DMEMARRAY_TEST_FILES={'|'.join(found)}"


def run_suite(part: Part, build: builds.Build, mutant: Mutant) -> subprocess.CompletedProcess[str]:
    kind, *rest = mutant.suite
    if kind == "cpp":
        layer, *filters = rest
        command = [build.folder / "test" / "cpp" / f"test_{layer}", "--gtest_brief=1", "--gtest_fail_fast"]
        command += [f"--gtest_filter={':'.join(filters)}"] if filters else []
        env = build.run_options()
        # A filter that matches nothing passes, and is then reported as a mutant that is not noticed.
    elif kind == "python":
        make_env = environment.tools if mutant.build == "host" else environment.without_peers
        interpreter = make_env(part) / "bin" / "python"
        command = [interpreter, *PYTEST, "-x", *rest]
        env = build.python_environment()
    else:
        raise PartFailed(f"{mutant.patch.name}: a suite is 'cpp LAYER [FILTER]' or 'python PYTEST-ARGUMENTS'")
    return part.run(command, env=env, cwd=TREE, limit=mutant.limit, check=False)


def is_noticed(mutant: Mutant, status: int, output: str = "") -> bool:
    """True if a test failed, crashed, hung or got a sanitizer's report; False if pytest could not run (2 to 5)."""
    if mutant.expect and (status == TIMED_OUT or mutant.expect not in output):
        return False
    if mutant.suite[0] == "python" and mutant.build == "host":
        return status in (1, TIMED_OUT) or status < 0
    return status != 0


def copy_tree() -> None:
    """Copies all files that git does not ignore into the mutants' tree, whose build folders stay."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    wanted = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for old in TREE.rglob("*") if TREE.exists() else ():
        name = old.relative_to(TREE).as_posix()
        if old.is_file() and not name.startswith("build/") and name not in wanted:
            old.unlink()
    for name in wanted:
        source, target = ROOT / name, TREE / name
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def apply(patch: Path, *options: str) -> int:
    """Runs `git apply` in the copy, as if outside any repository: in an ignored folder of one it does nothing."""
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(TREE.parent)}
    command = ["git", "apply", *options, str(patch)]
    return subprocess.run(command, cwd=TREE, env=env, capture_output=True, check=False).returncode
