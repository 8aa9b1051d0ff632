"""The checks of clang-tidy that are off are few, and each has its reason."""

from __future__ import annotations

import re
from pathlib import Path

CONFIGURATION = (Path(__file__).resolve().parents[2] / ".clang-tidy").read_text(encoding="utf-8")


def test_disabled_checks_are_at_most_eight_and_explained():
    disabled = re.findall(r"^  -([\w.-]+),?$", CONFIGURATION, re.MULTILINE)
    explained = re.findall(r"^#   ([\w.-]+) +\S+ ", CONFIGURATION, re.MULTILINE)
    assert 0 < len(disabled) <= 8
    assert explained == disabled
