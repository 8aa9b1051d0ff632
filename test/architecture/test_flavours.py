"""Tests of the part `flavours`: how it reads the command, and how it hides a toolkit."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driver import builds, commands, flavours

ROOT = Path(__file__).resolve().parents[2]


def program(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_command_is_the_first_one_of_the_readme():
    assert flavours.first_command(ROOT / "README.md") == "pip install '.[demo]' && python -m memarray demo"


def test_readme_with_other_first_command_fails_the_part(tmp_path):
    readme = tmp_path / "README.md"
    for text in ("no command at all", "```sh\n./test/run\n```\n```sh\npip install .\n```\n"):
        readme.write_text(text)
        with pytest.raises(commands.PartFailed, match=r"README\.md"):
            flavours.first_command(readme)


def test_path_without_hides_only_one_program(tmp_path, monkeypatch):
    for name in ("nvcc", "g++"):
        program(tmp_path / "both", name)
    program(tmp_path / "other", "make")
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "both"), str(tmp_path / "other")]))
    path = flavours.path_without("nvcc", tmp_path / "links")
    assert shutil.which("nvcc") and not shutil.which("nvcc", path=path)
    assert shutil.which("g++", path=path) and shutil.which("make", path=path) == str(tmp_path / "other" / "make")


def test_the_driver_and_cmake_look_in_the_same_prefixes():
    listed = f"set(prefixes {' '.join(builds.CUDA_PREFIXES)})"
    assert listed in (ROOT / "cmake" / "MemarrayCuda.cmake").read_text()


def test_the_driver_finds_a_toolkit_where_cmake_would(tmp_path, monkeypatch):
    for variable in flavours.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MEMARRAY_CUDA_PREFIXES", "")
    assert builds.toolkit() is None
    (tmp_path / "there").mkdir()
    program(tmp_path / "there" / "bin", "nvcc")
    for variable in ("MEMARRAY_CUDA_PREFIXES", "CUDA_PATH", "CUDA_HOME"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(tmp_path / "there"))
            assert builds.toolkit() == tmp_path / "there" / "bin" / "nvcc"
