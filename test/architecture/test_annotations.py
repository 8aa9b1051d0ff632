"""What clang's syntax tree says of the C API's ownership words."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"

CLANG = next(filter(None, map(shutil.which, ("clang", *(f"clang-{n}" for n in range(22, 13, -1))))), None)
RETURNS_REF = re.compile(r"FieldDecl .* (\w+) '(MemArray\w+Ref) \(\*\)")


@pytest.mark.skipif(CLANG is None, reason="no clang on the PATH")
def test_every_reference_that_is_returned_is_annotated():
    headers = sorted((INCLUDE / "memarray" / "interop").glob("c_*.h"))
    source = "\n".join(f"#include <memarray/interop/{header.name}>" for header in headers)
    command = [CLANG, "-x", "c", f"-I{INCLUDE}", "-fsyntax-only", "-Xclang", "-ast-dump", "-"]
    tree = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [(match[1], tree[i + 1]) for i, line in enumerate(tree) if (match := RETURNS_REF.search(line))]
    assert len(found) > 30
    assert [name for name, attribute in found if '"memarray_give"' not in attribute] == []
