"""A module that was compiled for another ABI or flavour is refused in words, before anything goes wrong."""

import importlib

import memarray
import pytest

ABI = int(memarray.build_info()["abi"])
FLAVOUR = memarray.build_info()["flavour"]
OTHER_FLAVOUR = "host" if FLAVOUR == "cuda" else "cuda"
WORDS = (
    r"compiled against memarray with ABI {abi}, flavour {flavour}, but the memarray installed here "
    rf"\({memarray.__version__}.*\) has ABI {ABI}, flavour {FLAVOUR}: build the module again against it"
)


DEBUG_WORDS = (
    r"compiled with libstdc\+\+ with _GLIBCXX_DEBUG, but the memarray installed here .* with libstdc\+\+, "
    "whose containers or strings have another layout: build the module again"
)


@pytest.mark.parametrize("name", ["same", "checked_containers"])
def test_module_for_this_abi_is_imported(name):
    assert importlib.import_module(name).size(memarray.MemArray([2, 3], float)) == 6


@pytest.mark.parametrize("name", ["debug_containers", "nanobind_debug_containers"])
def test_module_with_debug_containers_is_refused_at_import(name):
    for _ in range(2):
        with pytest.raises(ImportError, match=DEBUG_WORDS):
            importlib.import_module(name)


@pytest.mark.parametrize("name", ["binds", "initializes", "nanobind_binds"])
def test_module_for_another_abi_is_refused_at_import(name):
    for _ in range(2):
        with pytest.raises(ImportError, match=WORDS.format(abi=ABI + 1, flavour=FLAVOUR)):
            importlib.import_module(name)


def test_module_for_another_flavour_is_refused_at_import():
    with pytest.raises(ImportError, match=WORDS.format(abi=ABI, flavour=OTHER_FLAVOUR)):
        importlib.import_module("other_flavour")


@pytest.mark.parametrize("name", ["has_casters_alone", "nanobind_has_casters_alone"])
def test_module_with_only_casters_refuses_its_first_array(name):
    module = importlib.import_module(name)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=WORDS.format(abi=ABI + 1, flavour=FLAVOUR)):
            module.size(memarray.MemArray([2, 3], float))
