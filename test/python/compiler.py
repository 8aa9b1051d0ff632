"""Runs g++ on programs that include memarray."""

import os
import shutil
import subprocess

import pytest
from c_api_headers import folder


def run_compiler(program, *options):
    """Returns the finished g++, which read the program from its input. Skips the test if there is no g++."""
    compiler = shutil.which("g++")
    if not compiler:
        pytest.skip("no g++ on the PATH")
    includes = [f"-I{folder()}", "-isystem", folder() / "cccl"]
    settings = ["-DMEMARRAY_HAS_CUDA=0", "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP"]
    command = [compiler, "-std=c++20", *settings, *options, *includes, "-x", "c++", "-"]
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, input=program, capture_output=True, text=True, env=env, check=False)
