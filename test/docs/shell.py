"""Execution of the lines of `sh` blocks as written. If a line takes long and a part of ./test/run covers it, only the
existence of everything that it names is checked."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pages

SETTING = re.compile(r"^(\w+)=(\S+) ")
PRESET = re.compile(r"(cmake(?: --build| --workflow)?|ctest) --preset (\w+)(?: -j\d+| -[RL] \w+)?")
KINDS = {
    "cmake": "configurePresets",
    "cmake --build": "buildPresets",
    "cmake --workflow": "workflowPresets",
    "ctest": "testPresets",
}
#: Options whose values are the first words in the output of `--list`.
LISTED = ("--only", "--row")


def run_line(line: str, folder: Path) -> Path | None:
    """Tries one line in the page's folder; returns the build that it updated, if any."""
    built = None
    for command in re.sub(r"(^|\s)#.*", "", line).split("&&"):
        if command.strip():
            built = run_command(command.strip(), folder) or built
    return built


def run_command(command: str, folder: Path) -> Path | None:
    while setting := SETTING.match(command):
        assert setting[1] == "PYTHONPATH" and setting[2] in python_paths(), f"no build makes {setting[0]}"
        command = command.removeprefix(setting[0])
    words = shlex.split(command)
    if preset := PRESET.fullmatch(command):
        look_for_preset(preset[2], KINDS[preset[1]], folder)
    elif words[0] == "cmake" and words[1] in {"-S", "--build"}:
        run_cmake(command, folder)
        return folder / words[2] if words[1] == "--build" else None
    elif words[:2] == ["pip", "install"]:
        look_for_packages(words[2:], folder)
    elif words[:3] == ["python", "-m", "pytest"]:
        look_for_tests(words[3:])
    elif words == ["python", "-m", "memarray", "demo"]:
        assert "[demo ...]" in output([sys.executable, *words[1:3], "--help"], folder)
    elif words[:3] == ["python", "-m", "memarray"]:
        output([sys.executable, *words[1:]], folder)
    else:
        script = pages.ROOT / (words[1] if words[0] == "python" else words[0])
        assert script.is_file(), f"nothing tries this: {command}"
        look_for_options(script, words[2 if words[0] == "python" else 1 :])
    return None


def run_cmake(command: str, folder: Path) -> None:
    """Runs the command with this environment's Python and CMake first on the PATH, as in a user's environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = output(["sh", "-ec", command], folder, {"PATH": path, "CMAKE_GENERATOR": "Ninja"})
    assert "Manually-specified variables were not used" not in said, f"{command}\n{said}"


def look_for_preset(name: str, kind: str, folder: Path) -> None:
    presets = json.loads(first_with("CMakePresets.json", folder).read_text())
    assert name in [preset["name"] for preset in presets.get(kind, ())], f"there is no {name} among the {kind}"


def look_for_packages(words: list[str], folder: Path) -> None:
    """Accepts a project with existing extras, existing files of requirements, and packages that the tests install."""
    known = (pages.ROOT / "test" / "requirements.txt").read_text()
    words = [word for word in words if word != "--no-build-isolation"]
    for before, word in zip(["", *words], words, strict=False):
        if before == "-r":
            first_with(word, folder)
        elif project := re.fullmatch(r"\.(?:\[(\w+)\])?", word):
            text = first_with("pyproject.toml", folder).read_text()
            assert not project[1] or re.search(rf"^{project[1]} = \[", text, re.MULTILINE), f"no extra {project[1]}"
        else:
            assert word == "-r" or re.search(rf"^{re.escape(word)}(?![\w-])", known, re.MULTILINE), f"no package {word}"


def look_for_tests(words: list[str]) -> None:
    if words[0] == "-m":
        assert f'"{words[1]}: ' in (pages.ROOT / "pyproject.toml").read_text(), f"there is no marker {words[1]}"
        words = words[2:]
    for word in words:
        path = pages.ROOT / word
        there = path.is_file() if word.endswith(".py") else any(path.glob("test_*.py"))
        assert there, f"there are no tests in {word}"


def look_for_options(script: Path, words: list[str]) -> None:
    """Checks that the script's --help has the options."""
    run = [sys.executable, script] if script.suffix == ".py" else [script]
    known = output([*run, "--help"], pages.ROOT)
    for before, word in zip(["", *words], words, strict=False):
        if before in LISTED:
            names = re.findall(r"^\S+", output([*run, "--list"], pages.ROOT), re.MULTILINE)
            assert set(word.split(",")) <= set(names), f"{script.name} knows no {word}"
        else:
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", known), f"{script.name} has no {word}"


def first_with(name: str, folder: Path) -> Path:
    """Returns the file in the page's own project, or else in this one."""
    found = next((there / name for there in (folder, pages.ROOT) if (there / name).is_file()), None)
    assert found, f"there is no {name}"
    return found


def python_paths() -> set[str]:
    """Returns the folders with a Python package in the builds of the presets."""
    presets = json.loads((pages.ROOT / "CMakePresets.json").read_text())["configurePresets"]
    (folder,) = {preset["binaryDir"] for preset in presets if "binaryDir" in preset}
    assert '"${CMAKE_CURRENT_BINARY_DIR}/python/memarray"' in (pages.ROOT / "CMakeLists.txt").read_text()
    build = folder.removeprefix("${sourceDir}/")
    return {build.replace("${presetName}", preset["name"]) + "/python" for preset in presets}


def output(command: list, folder: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**os.environ, **(env or {})}, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{shlex.join(map(str, command))}\n{said}"
    return said
