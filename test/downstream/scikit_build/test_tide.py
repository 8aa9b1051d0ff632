"""A module that pip has installed, found where it is installed and nowhere else."""

import sysconfig
from pathlib import Path

import memarray
import tide


def test_it_shares_the_core_that_is_installed():
    assert Path(tide.__file__).parent == Path(sysconfig.get_path("platlib"))
    levels = tide.levels(3)
    assert type(levels) is memarray.MemArray
    assert levels.view().sum() == 1.5
