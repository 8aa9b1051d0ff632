"""The workflows publish the files that ./test/run makes for a release."""

from __future__ import annotations

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driver import wheels

ROOT = Path(__file__).resolve().parents[2]


def uploaded() -> list[str]:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    return re.findall(r"^ +(build/test/\S+)$", text, re.MULTILINE)


def test_uploads_are_the_repaired_wheel_and_the_sdist():
    place = wheels.place_of(Path("/usr/bin/python3.12"), "host").relative_to(ROOT)
    made = {
        "sdist": place / "memarray-0.1.0.tar.gz",
        "built": place / "memarray-0.1.0-cp312-cp312-linux_x86_64.whl",
        "repaired": place / "repaired" / "memarray-0.1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    }
    patterns = uploaded()
    assert len(patterns) == 2
    # A star of the action stays within a folder.
    found = {
        name
        for name, path in made.items()
        for pattern in patterns
        if len(path.parts) == len(Path(pattern).parts) and fnmatch(path.as_posix(), pattern)
    }
    assert found == {"sdist", "repaired"}


def test_schema_check_refuses_an_invalid_workflow(tmp_path):
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    wrong = workflow.replace("runs-on:", "run-on:", 1)
    assert wrong != workflow
    check = Path(sys.executable).parent / "check-jsonschema"
    for text, fails in ((workflow, False), (wrong, True)):
        path = tmp_path / "ci.yml"
        path.write_text(text)
        done = subprocess.run(
            [check, "--builtin-schema", "vendor.github-workflows", path], capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == fails, done.stdout
