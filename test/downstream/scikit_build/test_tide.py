"""A module that pip has installed, found where it is installed and nowhere else."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import memarray
import pytest
import tide


def test_module_shares_the_installed_core():
    assert Path(tide.__file__).parent == Path(sysconfig.get_path("platlib"))
    levels = tide.levels(3)
    assert type(levels) is memarray.MemArray
    assert levels.view().sum() == 1.5


@pytest.mark.parametrize("name", ["tide", "coast.harbour.tide"])
def test_module_finds_core_before_memarray_is_imported(name, tmp_path):
    code = f"import sys, {name} as tide; assert 'memarray' not in sys.modules; print(tide.levels(3).view().sum())"
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1.5\n", "")
