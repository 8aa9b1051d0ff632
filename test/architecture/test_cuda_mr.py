"""Errors of <memarray/cuda_mr.hpp> where it cannot be compiled. Elsewhere test/cpp/cuda_mr tests it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")


@pytest.fixture
def preprocess(tmp_path):
    """Preprocesses the header with a CCCL that has nothing but a version, and with no other headers."""

    def run(cccl: int, *, toolkit: bool) -> str:
        (tmp_path / "cuda").mkdir(exist_ok=True)
        (tmp_path / "cuda" / "version").write_text(f"#define CCCL_VERSION {cccl}\n")
        if toolkit:
            (tmp_path / "cuda_runtime_api.h").touch()
        file = tmp_path / "a.cpp"
        file.write_text("#include <memarray/cuda_mr.hpp>\n")
        command = [*str(COMPILER).split(), "-E", "-std=c++20", "-nostdinc", f"-I{tmp_path}", f"-I{INCLUDE}", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    return run


def test_old_cccl_is_refused_with_required_version(preprocess):
    assert "needs CCCL 3.1" in preprocess(3000001, toolkit=True)


def test_missing_toolkit_is_reported(preprocess):
    assert "needs the headers of a CUDA toolkit" in preprocess(3001000, toolkit=False)


def test_new_cccl_with_toolkit_is_accepted(preprocess):
    assert "#error" not in preprocess(3001000, toolkit=True)
