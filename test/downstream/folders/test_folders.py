"""Modules that are added in another folder than find_package() was called in."""

import importlib

import memarray
import pytest


@pytest.mark.parametrize(
    "name", ["in_the_same_folder", "in_another_folder", "found_again", "of_nanobind", "found_again_of_nanobind"]
)
def test_the_module_works(name):
    assert importlib.import_module(name).size(memarray.MemArray([2, 3], float)) == 6
