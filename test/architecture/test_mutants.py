"""Every mutant and every addition still applies to the tree. ./test/run --nightly runs their suites."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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
    stale.write_text(PATCHES[0].read_text().replace("\n-", "\n-what nobody wrote: "))
    assert not applies(stale)
    assert len(PATCHES) > 30
