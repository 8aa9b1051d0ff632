"""Tests of ./test/run itself: a failing part fails the run, which prints the command that reproduces it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driver import builds, commands, environment, fuzz, kernels, main, mutants, new_project, parts, projects, wheels


@pytest.fixture(autouse=True)
def logs_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "WORK", tmp_path)
    monkeypatch.setattr(main, "WORK", tmp_path)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_failing_command_fails_the_run(capsys):
    def bad(part):
        """fails"""
        part.run(python("print('3 passed, 1 failed'); raise SystemExit(3)"))

    def good(part):
        """passes"""
        part.run(python("pass"))

    assert main.main([], {"bad": bad, "good": good}) == 1
    output = capsys.readouterr().out
    assert output.splitlines()[-1] == "1 passed, 1 failed"
    assert "exit status 3" in output
    assert "bad again: " in output
    assert "SystemExit(3)" in output.split("bad again: ")[1]


def test_passing_parts_pass_the_run(capsys):
    assert main.main([], {"good": lambda part: part.run(python("pass"))}) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_run_of_only_absent_parts_fails(capsys):
    def absent(part):
        raise commands.Absent("nothing there")

    assert main.main([], {"absent": absent}) == 1
    assert "nothing there" in capsys.readouterr().out


def test_environment_requested_concurrently_is_created_once(tmp_path, monkeypatch):
    made, found = [], []

    def install(part, folder, *packages):
        time.sleep(0.2)
        made.append(folder)

    monkeypatch.setattr(environment, "WORK", tmp_path)
    monkeypatch.setattr(environment, "_made", {})
    monkeypatch.setattr(environment, "create", lambda part, name: (tmp_path / name).mkdir())
    monkeypatch.setattr(environment, "pip_install", install)
    part = commands.Part("p", jobs=4)
    builds.at_once(4, lambda _: found.append(environment.without_peers(part)), range(4))
    assert made == [tmp_path / "venv-plain"]
    assert found == made * 4


@pytest.fixture
def empty_tools(tmp_path, monkeypatch):
    """An environment of tools that is not made yet; returns the list of what pip is asked to install."""
    installed: list[tuple] = []
    monkeypatch.setattr(environment, "WORK", tmp_path)
    monkeypatch.setattr(environment, "_made", {})
    monkeypatch.setattr(environment, "TOOLS", environment.Environment("venv", (environment.REQUIREMENTS,)))
    monkeypatch.setattr(environment, "create", lambda part, name: (tmp_path / name).mkdir())
    monkeypatch.setattr(environment, "pip_install", lambda part, folder, *packages: installed.append(packages))
    return installed


def test_build_needs_not_wait_for_the_other_tools(empty_tools, monkeypatch):
    allowed = threading.Event()

    def install(part, folder, *packages):
        assert "-r" not in packages or allowed.wait(60)
        empty_tools.append(packages)

    monkeypatch.setattr(environment, "pip_install", install)
    assert parts.in_order(["lint", "host", "docs"]) == ["host", "lint", "docs"]
    folder = environment.build_tools(commands.Part("p", jobs=2))
    assert len(empty_tools) == 1 and any(package.startswith("cmake") for package in empty_tools[0])
    allowed.set()
    assert environment.tools(commands.Part("p", jobs=2)) == folder
    assert empty_tools[1:] == [("-r", environment.REQUIREMENTS)]
    assert parts.in_order(["lint", "host", "docs"]) == ["lint", "host", "docs"]


def test_every_part_hears_that_tools_are_missing(empty_tools, monkeypatch):
    def fails(part, folder, *packages):
        if "-r" in packages:
            raise commands.PartFailed("no such package")

    monkeypatch.setattr(environment, "pip_install", fails)
    for _ in range(2):
        with pytest.raises(commands.PartFailed, match="no such package"):
            environment.python(commands.Part("p", jobs=2))
    assert not environment.TOOLS.is_made()


def test_background_run_can_be_interrupted():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        show = "import signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
        assert main.main([], {"good": lambda part: part.run(python(show))}) == 0
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_unknown_part_is_refused(capsys):
    assert main.main(["--only", "nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_a_command_that_hangs_is_ended_and_fails():
    part = commands.Part("hang", 1)
    with pytest.raises(commands.PartFailed, match="over 1 s"):
        part.run(python("import time; time.sleep(60)"), limit=1)


@pytest.mark.parametrize(
    "line",
    [
        "====== 12 passed, 1 skipped in 3.21s ======",
        "[  PASSED  ] 37 tests.",
        "[  FAILED  ] 1 test, listed below:",
        "Success: no issues found in 9 source files",
        "MEMARRAY_SEED=1292539664 repeats the random tests",
    ],
)
def test_summary_lines_of_test_runners_are_noted(line):
    part = commands.Part("closing", 1)
    part.run(python(f"print('noise'); print({line!r})"))
    assert part.notes == [line]


def test_a_mutant_is_noticed_by_failed_tests_only():
    mutant = mutants.Mutant(Path("x.patch"), "something", ["python", "test_x.py"])
    assert [mutants.is_noticed(mutant, status) for status in (0, 1, 4, 5, -11)] == [False, True, False, False, True]


def test_hanging_mutant_does_not_satisfy_expected_output():
    mutant = mutants.Mutant(Path("x.patch"), "something", ["cpp", "array"], expect="torn")
    assert mutants.is_noticed(mutant, 1, "a torn value")
    assert not mutants.is_noticed(mutant, 1, "another failure")
    assert not mutants.is_noticed(mutant, commands.TIMED_OUT, "a torn value")
    assert mutants.is_noticed(mutants.Mutant(Path("x.patch"), "something", ["cpp", "array"]), commands.TIMED_OUT)


def test_only_files_with_a_mutants_suites_are_compiled():
    def files(*suite):
        return mutants.files(mutants.Mutant(Path("x.patch"), "something", list(suite)))

    assert files("cpp", "memory", "BlockTest.*") == "-DMEMARRAY_TEST_FILES=/memory/test_block[.]cpp$"
    assert files("cpp", "memory", "BlockTest.A*:DeferredTest.*").count("|") == 1
    assert files("cpp", "strided", "*StridedReduceTest.Random*").endswith("=/strided/test_strided_reduce[.]cpp$")
    assert "test_block" in files("cpp", "memory")
    assert files("python", "test/python/test_view.py") == "-DMEMARRAY_TEST_FILES="


def test_kernel_architectures_are_read_from_fat_binary():
    def entry(kind, architecture, payload):
        return struct.pack("<HHIQIIHHI", kind, 0, 32, len(payload), 0, 0, 0, 0, architecture) + payload

    entries = entry(kernels.CUBIN, 75, b"code") + entry(kernels.CUBIN, 80, b"more") + entry(kernels.PTX, 120, b"text")
    container = struct.pack("<IHHQ", kernels.CONTAINER, 1, 16, len(entries)) + entries
    assert kernels.parse(b"\0" * 8 + container + container) == {kernels.CUBIN: {75, 80}, kernels.PTX: {120}}
    assert kernels.parse(b"") == {kernels.CUBIN: set(), kernels.PTX: set()}


def test_a_mutant_without_a_suite_is_refused(tmp_path):
    patch = tmp_path / "x.patch"
    patch.write_text("# breaks: everything\n--- a/x\n")
    with pytest.raises(commands.PartFailed, match="# suite"):
        mutants.read(patch)


def test_failed_demo_summary_fails_the_part(tmp_path):
    file = tmp_path / "summary.json"
    good = {"passed": True, "copies": 0, "frames": 50, "checks": dict.fromkeys(wheels.DEMO_CHECKS, True)}

    def check(**changes):
        file.write_text(json.dumps(good | changes))
        wheels.check_demo("bare", file)

    with pytest.raises(commands.PartFailed, match="wrote no summary"):
        wheels.check_demo("bare", file)
    check()
    unshared = {"checks": good["checks"] | {"shared_memory": False}}
    for wrong in ({"passed": False}, {"copies": 1}, {"frames": 49}, {"checks": {}}, unshared):
        with pytest.raises(commands.PartFailed, match="went wrong"):
            check(**wrong)


def test_wheel_is_rebuilt_when_sources_change(tmp_path, monkeypatch):
    source = tmp_path / "tree" / "include" / "memarray" / "version.hpp"
    source.parent.mkdir(parents=True)
    source.write_text("first")
    made = []

    class Part:
        def run(self, *command, **settings):
            return subprocess.CompletedProcess(command, 0, "")

    def create(part, name):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).mkdir()
        return tmp_path / name

    def build_wheel(part, interpreter, flavour):
        made.append(source.read_text())
        wheel = wheels.place_of(interpreter, flavour) / "repaired" / "memarray-0.1.0-py3-none-any.whl"
        wheel.parent.mkdir(parents=True, exist_ok=True)
        wheel.write_text(made[-1])
        return wheel

    monkeypatch.setattr(wheels, "ROOT", tmp_path / "tree")
    monkeypatch.setattr(wheels, "WORK", tmp_path)
    monkeypatch.setattr(environment, "create", create)
    monkeypatch.setattr(environment, "pip_install", lambda *arguments: None)
    monkeypatch.setattr(wheels, "build_wheel", build_wheel)
    monkeypatch.setattr(wheels, "repaired", lambda part, wheel: wheel)
    for check in ("check_version", "check_libraries"):
        monkeypatch.setattr(wheels, check, lambda *arguments: None)

    for _ in range(2):
        assert wheels.installed(Part()) == tmp_path / wheels.INSTALLED["host"]
        assert wheels.built(Part(), "host").read_text() == "first"
    (source.parent / "__pycache__").mkdir()
    (source.parent / "__pycache__" / "x.pyc").touch()
    wheels.installed(Part())
    assert made == ["first"]
    source.write_text("again")
    wheels.installed(Part())
    assert wheels.built(Part(), "host").read_text() == "again"
    (source.parent / "new.hpp").touch()
    wheels.built(Part(), "host")
    wheels.installed(Part())
    assert made == ["first", "again", "again"]


def test_wheel_sources_contain_every_folder_used_by_cmake():
    assert all((commands.ROOT / source).exists() for source in wheels.SOURCES)
    used = "".join(path.read_text() for path in (commands.ROOT / "cmake").iterdir())
    folders = set(re.findall(r"\{PROJECT_SOURCE_DIR\}/((?:examples/)?\w+)", used))
    assert folders and folders <= set(wheels.SOURCES)


def test_wrong_version_from_command_line_is_refused():
    wheels.check_version("memarray 0.1.0 (abi 1, flavour host, cccl 3.5.0)\n", "0.1.0", "host")
    wheels.check_version("memarray 0.1.0 (flavour cuda)\n", "0.1.0", "cuda")
    for said in ("", "memarray 0.1.0\n", "memarray 0.1.1 (abi 1, flavour host)\n", "memarray 0.1.0 (flavour cuda)\n"):
        with pytest.raises(commands.PartFailed, match=r"not 0\.1\.0, host"):
            wheels.check_version(said, "0.1.0", "host")


def test_workflow_that_differs_from_readme_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "python", lambda part: Path(sys.executable))
    template = commands.ROOT / "examples" / "gray_scott"
    file = tmp_path / ".github" / "workflows" / "tests.yml"
    file.parent.mkdir(parents=True)
    shutil.copy(template / "README.md", tmp_path)
    right = (template / file.relative_to(tmp_path)).read_text()

    def check(text, flavour="host"):
        file.write_text(text)
        new_project.check_workflow(commands.Part("new", 1), tmp_path, flavour)

    check(right)
    for old, new, words in (
        ("cmake --workflow", "cmake --build", "the steps"),
        ("memarray  #", "memarray#", "exit status 1"),
        ("      - run: cmake", "      - if: false\n        run: cmake", "the steps"),
        ("run: cmake", "run: # cmake", "the steps"),
        ('"3.12"', "3.10", "3.1 is a number"),
    ):
        assert right.count(old) == 1, old
        with pytest.raises(commands.PartFailed, match=words):
            check(right.replace(old, new))
    with pytest.raises(commands.PartFailed, match="the steps"):
        check(right, "cuda")


def test_slow_new_project_fails_but_busy_machine_does_not():
    new_project.check_time(179, 250)
    new_project.check_time(1000, 170)
    with pytest.raises(commands.PartFailed, match="181 s to green tests"):
        new_project.check_time(181, 181)
    before = new_project.children_seconds()
    commands.Part("p", 1).run(python("sum(range(5_000_000))"))
    assert new_project.children_seconds() > before + 0.02


def test_required_nanobind_version_is_the_tested_one():
    asked = {
        "cmake/MemarrayAddModule.cmake": r"_memarray_at_least\(([\d.]+) nanobind",
        "include/memarray/python/nanobind.hpp": r"nanobind ([\d.]+) and later",
        "python/memarray/_new_project.py": r"nanobind>=([\d.]+)",
        "test/downstream/nanobind/requirements.txt": r"nanobind>=([\d.]+)",
        "docs/guide/cmake.md": r"nanobind ([\d.]+) or later",
        "docs/guide/arguments.md": r"nanobind ([\d.]+) or later",
    }
    for file, words in asked.items():
        assert set(re.findall(words, (commands.ROOT / file).read_text())) == {projects.OLDEST_NANOBIND}, file


def shared_library(path, *options):
    # --no-as-needed: the linker would otherwise drop libraries of which nothing is used.
    command = ["g++", "-shared", "-x", "c++", "/dev/null", "-x", "none", "-o", path, "-Wl,--no-as-needed", *options]
    subprocess.run(command, check=True)
    return path


def test_library_with_unexpected_dependency_is_refused(tmp_path):
    part = commands.Part("package", 1)
    core = shared_library(tmp_path / "libmemarray.so", "-Wl,-soname,libmemarray.so")
    driver = shared_library(tmp_path / "libcuda.so", "-Wl,-soname,libcuda.so.1")
    wheels.check_links(part, core)
    wheels.check_links(part, shared_library(tmp_path / "module.so", core))
    with pytest.raises(commands.PartFailed, match=r"module.so links libcuda\.so\.1"):
        wheels.check_links(part, shared_library(tmp_path / "module.so", core, driver))


@pytest.mark.parametrize("tag", ["--enable-new-dtags", "--disable-new-dtags"])
def test_library_with_absolute_run_path_is_refused(tag, tmp_path):
    part = commands.Part("package", 1)
    wheels.check_run_path(part, shared_library(tmp_path / "a.so"))
    wheels.check_run_path(part, shared_library(tmp_path / "a.so", f"-Wl,{tag},-rpath,$ORIGIN/lib:$ORIGIN/../lib"))
    with pytest.raises(commands.PartFailed, match=r"a.so looks for libraries in .*/nowhere"):
        wheels.check_run_path(part, shared_library(tmp_path / "a.so", f"-Wl,{tag},-rpath,$ORIGIN/lib:/nowhere"))


def test_fuzzers_run_only_nightly_and_with_libfuzzer():
    with pytest.raises(commands.Absent, match="nightly"):
        fuzz.fuzz(commands.Part("fuzz", 1))
    assert not fuzz.has_libfuzzer("false")


def test_every_fuzzer_has_a_corpus():
    assert fuzz.topics()
    assert {folder.name for folder in (fuzz.FOLDER / "corpus").iterdir() if any(folder.iterdir())} == set(fuzz.topics())


def test_failing_fuzz_input_fails_the_part(tmp_path):
    class Build:
        folder = tmp_path

        def run_options(self):
            return {}

    programs = tmp_path / "test" / "fuzz"
    programs.mkdir(parents=True)
    for topic in fuzz.topics():
        program = programs / f"fuzz_{topic}"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    with pytest.raises(commands.PartFailed, match="exit status 1"):
        fuzz.replay(commands.Part("host", 1), Build())


def test_run_without_options_selects_the_quick_parts(capsys, monkeypatch):
    seen = {}

    def note(name):
        def check(part):
            seen[name] = part.quick

        return check

    table = {name: note(name) for name in parts.PARTS}
    monkeypatch.setattr(parts, "PARTS", table)
    assert main.main([]) == 0
    assert seen == dict.fromkeys(parts.QUICK, True)
    assert "Left out: package, " in capsys.readouterr().out.splitlines()[0]
    seen.clear()
    assert main.main(["--all"]) == 0
    assert seen == dict.fromkeys(table, False)
    seen.clear()
    assert main.main(["--only", "asan"]) == 0
    assert seen == {"asan": True}
