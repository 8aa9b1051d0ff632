"""The search for a CUDA toolkit, tested with toolkits whose nvcc is a script that prints nvcc's answer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CMAKE = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
SCRIPT = """
cmake_minimum_required(VERSION 3.26)
include("{module}")
memarray_find_cuda("${{WANTED}}")
message(STATUS "compiler=${{MEMARRAY_CUDA_COMPILER}} cccl=${{MEMARRAY_CUDA_CCCL_DIR}}")
"""
NVCC = """#!/bin/sh
echo '#$ _TARGET_DIR_=targets/some-linux' >&2
echo '#$ TOP={top}' >&2
"""


def toolkit(top: Path, *, cccl: str = "targets/some-linux/include/cccl") -> Path:
    """Creates a toolkit under `top`, older than CUDA 13 if `cccl` is empty; returns its nvcc."""
    nvcc = top / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text(NVCC.format(top=top))
    nvcc.chmod(0o755)
    if cccl:
        version = top / cccl / "cuda" / "std" / "__cccl" / "version.h"
        version.parent.mkdir(parents=True)
        version.touch()
    return nvcc


@pytest.fixture
def find(tmp_path):
    """Runs memarray_find_cuda in an environment without toolkits, unless the test adds one."""
    script = tmp_path / "find.cmake"
    script.write_text(SCRIPT.format(module=ROOT / "cmake" / "MemarrayCuda.cmake"))
    empty = tmp_path / "empty"
    empty.mkdir()

    def run(wanted: str = "AUTO", *definitions: str, **variables: str | Path) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(empty), "MEMARRAY_CUDA_PREFIXES": "", **{k: str(v) for k, v in variables.items()}}
        command = [CMAKE, f"-DWANTED={wanted}", *(f"-D{definition}" for definition in definitions), "-P", str(script)]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run


def found(done: subprocess.CompletedProcess[str], nvcc: Path) -> bool:
    cccl = nvcc.parents[1] / "targets" / "some-linux" / "include" / "cccl"
    return done.returncode == 0 and f"compiler={nvcc} cccl={cccl}\n" in done.stdout


def words(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("variable", ["CUDAToolkit_ROOT", "CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"])
def test_toolkit_named_by_variable_is_found(find, tmp_path, variable):
    nvcc = toolkit(tmp_path / "there")
    assert found(find(**{variable: tmp_path / "there"}), nvcc)
    assert found(find("ON", f"{variable}={tmp_path / 'there'}"), nvcc)


def test_toolkit_on_path_is_found(find, tmp_path):
    nvcc = toolkit(tmp_path / "there")
    assert found(find(PATH=nvcc.parent), nvcc)


def test_toolkit_in_configured_prefix_is_found(find, tmp_path):
    nvcc = toolkit(tmp_path / "there")
    assert found(find(MEMARRAY_CUDA_PREFIXES=f"{tmp_path / 'nowhere'}:{tmp_path / 'there'}"), nvcc)
    assert found(find("AUTO", f"MEMARRAY_CUDA_PREFIXES={tmp_path / 'nowhere'};{tmp_path / 'there'}"), nvcc)


def test_system_prefix_is_ignored_without_configured_prefixes(find, tmp_path):
    toolkit(tmp_path / "there")
    done = find("AUTO", f"CMAKE_SYSTEM_PREFIX_PATH={tmp_path / 'there'}")
    assert done.returncode == 0 and "compiler= cccl=\n" in done.stdout


def test_search_order_is_compiler_variable_path_prefix(find, tmp_path):
    """Named compilers and folders win over the PATH, and the PATH over the usual prefixes."""
    on_path, by_variable, by_compiler, by_prefix = (toolkit(tmp_path / name) for name in ("p", "v", "c", "u"))
    places = {"MEMARRAY_CUDA_PREFIXES": by_prefix.parents[1]}
    assert found(find(**places), by_prefix)
    places["PATH"] = on_path.parent
    assert found(find(**places), on_path)
    places["CUDA_HOME"] = by_variable.parents[1]
    assert found(find(**places), by_variable)
    places["CUDACXX"] = by_compiler
    assert found(find(**places), by_compiler)
    assert found(find("AUTO", f"CMAKE_CUDA_COMPILER={on_path}", **places), on_path)


def test_wrapper_script_of_nvcc_is_accepted(find, tmp_path):
    nvcc = toolkit(tmp_path / "there")
    wrapper = tmp_path / "bin" / "nvcc"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec "{nvcc}" "$@"\n')
    wrapper.chmod(0o755)
    done = find(PATH=wrapper.parent)
    assert f"compiler={wrapper} cccl={tmp_path / 'there' / 'targets'}" in done.stdout


def test_missing_toolkit_is_an_error_for_on_but_not_for_auto(find):
    done = find("AUTO")
    assert done.returncode == 0 and "compiler= cccl=\n" in done.stdout
    assert "no CUDA toolkit (looked at CUDACXX, CUDA_PATH, CUDA_HOME, the PATH and the usual prefixes)" in words(done)
    done = find("ON")
    assert done.returncode != 0 and "no CUDA toolkit (looked at CUDACXX" in words(done)


def test_toolkit_older_than_cuda_13_is_refused_with_reason(find, tmp_path):
    nvcc = toolkit(tmp_path / "there", cccl="")
    done = find("AUTO", PATH=nvcc.parent)
    assert done.returncode == 0 and "compiler= cccl=\n" in done.stdout
    assert "carries no CCCL 3 headers; CUDA 13.0 or newer is needed" in words(done)
    done = find("ON", PATH=nvcc.parent)
    assert done.returncode != 0 and "CUDA 13.0 or newer is needed" in words(done)


def test_program_that_is_not_nvcc_is_refused_with_reason(find, tmp_path):
    for body in ("exit 1", "echo something else"):
        fake = tmp_path / "other"
        fake.write_text(f"#!/bin/sh\n{body}\n")
        fake.chmod(0o755)
        assert "does not run as nvcc does" in words(find("AUTO", CUDACXX=fake))
        assert find("ON", CUDACXX=fake).returncode != 0
    assert find("AUTO", CUDACXX=tmp_path / "not-there").returncode == 0


@pytest.mark.parametrize("wanted", ["OFF", "off", "NO", "0"])
def test_off_does_not_search_for_toolkit(find, tmp_path, wanted):
    nvcc = toolkit(tmp_path / "there")
    done = find(wanted, PATH=nvcc.parent, CUDACXX=nvcc)
    assert done.returncode == 0 and "compiler= cccl=\n" in done.stdout


def test_unknown_value_of_memarray_cuda_is_refused(find):
    done = find("PERHAPS")
    assert done.returncode != 0
    assert "MEMARRAY_CUDA is 'PERHAPS'; it must be AUTO, ON or OFF" in words(done)
