"""Every mutant and every addition still applies to the tree. ./test/run --nightly runs their suites."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driver import commands, mutants

ROOT = Path(__file__).resolve().parents[2]
PATCHES = sorted((ROOT / "test").glob("mutants/*.patch")) + sorted((ROOT / "test").glob("additions/*.patch"))


def applies(patch: Path) -> bool:
    command = ["git", "apply", "--check", str(patch)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_applies_to_the_tree(patch):
    assert applies(patch), "write it anew for the code as it is"


def test_stale_patch_does_not_apply(tmp_path):
    stale = tmp_path / "stale.patch"
    stale.write_text(PATCHES[0].read_text().replace("\n-", "\n-what no file has: "))
    assert not applies(stale)
    assert len(PATCHES) > 30


def suites_without_a_test(patch: str) -> set[str]:
    """Returns the suites that an addition names and does not contain. GoogleTest passes a filter that matches none."""
    layer, filters = re.search(r"^# suite: cpp (\w+) (\S+)$", patch, re.MULTILINE).groups()
    named = {part.split(".")[0] for part in filters.split(":")}
    added: set[str] = set()
    for section in re.split(r"^(?=--- )", patch, flags=re.MULTILINE):
        if re.search(rf"^\+\+\+ b/test/cpp/{layer}/test_\w+\.cpp$", section, re.MULTILINE):
            added.update(re.findall(r"^\+(?:TYPED_)?TEST(?:_F|_P)?\((\w+),", section, re.MULTILINE))
    return named - added


ADDITIONS = [patch for patch in PATCHES if patch.parent.name == "additions"]


@pytest.mark.parametrize("patch", ADDITIONS, ids=lambda patch: patch.stem)
def test_addition_contains_the_suite_that_it_names(patch):
    assert suites_without_a_test(patch.read_text()) == set()


def test_addition_without_its_suite_is_found():
    addition = ADDITIONS[0].read_text()
    suites = {part.split(".")[0] for part in addition.splitlines()[1].split()[4].split(":")}
    assert suites_without_a_test(addition[: addition.rindex("--- /dev/null")]) == suites
    assert suites_without_a_test(addition.replace("+TEST", "+// TEST")) == suites
    assert suites_without_a_test(addition.replace("b/test/cpp/view/", "b/test/cpp/base/")) == suites


def test_pattern_chooses_the_mutants(monkeypatch):
    tried = []

    def survivors(part, build, group):
        tried.extend(mutant.patch.stem for mutant in group)
        return {}

    monkeypatch.setattr(mutants, "copy_tree", lambda: None)
    monkeypatch.setattr(mutants, "survivors", survivors)
    mutants.mutants(commands.Part("mutants", jobs=1, nightly=True, mutants="sort-*"))
    assert tried == [patch.stem for patch in PATCHES if patch.stem.startswith("sort-")]
    with pytest.raises(commands.Absent, match=r"no mutant is named sort$"):
        mutants.mutants(commands.Part("mutants", jobs=1, nightly=True, mutants="sort"))


def test_a_failure_is_repeated_by_its_name(monkeypatch):
    def survivors(part, build, group):
        if build == "tsan":
            raise commands.PartFailed("it does not compile")
        return {mutant.patch.stem: "noticed only 0 times of 1" for mutant in group if "int32" in mutant.patch.stem}

    monkeypatch.setattr(mutants, "copy_tree", lambda: None)
    monkeypatch.setattr(mutants, "survivors", survivors)
    for pattern, named in (("in*", " --mutants int32-elements-read-as-unsigned"), ("*", "")):
        with pytest.raises(commands.PartFailed, match="int32-elements-read-as-unsigned: noticed only 0") as failed:
            mutants.mutants(commands.Part("mutants", jobs=1, nightly=True, mutants=pattern))
        assert failed.value.repeat == f"./test/run --nightly --only mutants{named}"
    assert "build tsan: it does not compile" in str(failed.value)
    assert commands.Part("mutants", jobs=1, nightly=True, mutants="i*").again.endswith(" --mutants 'i*'")
