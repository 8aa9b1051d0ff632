"""The site of docs/ builds with warnings as errors, and its reference pages are complete."""

from __future__ import annotations

import html
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import memarray.dask
import memarray.testing
import pages
import pytest

sys.path.append(str(pages.ROOT / "docs" / "site"))
sys.path.append(str(pages.ROOT / "test" / "python"))
import headers
from test_import import OBJECTS

DOCS = pages.ROOT / "docs"


def build(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # -E reads all pages each time: an unchanged page would not repeat its warnings.
    options = ["-E", "-W", "--keep-going", "-q", "-b", "html", "-c", DOCS / "site"]
    command = [sys.executable, "-m", "sphinx", *options, source, folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Builds the site, under ./test/run in the folder where it keeps the site; returns the folder."""
    kept = os.environ.get("MEMARRAY_SITE")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("site")
    done = build(DOCS, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built(site):
    sources = [path for path in DOCS.rglob("*") if path.suffix in {".md", ".rst"}]
    assert len(sources) > 20
    for source in sources:
        assert (site / source.relative_to(DOCS).with_suffix(".html")).exists(), source


INDEX = "# Planted\n\n## First steps\n\nWords.\n\n```{toctree}\nother\n```\n"


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        ("See [the steps](index.md#first-steps).", None),
        ("See [the steps](index.md#last-steps).", "local id not found.*last-steps"),
        ("See [the steps](#last-steps).", "last-steps"),
        ("See [the steps](no_such_page.md).", "no_such_page"),
        ("See {ref}`no-such-label`.", "undefined label.*no-such-label"),
        ("```{eval-rst}\n.. headers:: no_such_folder/*.h\n```", "no header matches"),
        ("```{eval-rst}\n.. automodule:: memarray.no_such_module\n```", "no_such_module"),
        ("```{toctree}\nno_such_page\n```", "no_such_page"),
    ],
)
def test_site_with_broken_reference_fails_to_build(other, complaint, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "index.md").write_text(INDEX)
    (source / "other.md").write_text(f"# Other\n\n{other}\n")
    done = build(source, tmp_path / "site")
    assert (done.returncode != 0) == (complaint is not None), done.stderr
    assert complaint is None or re.search(complaint, done.stderr), done.stderr


def public_names() -> set[str]:
    """Returns the names of objects that must have docstrings, and of modules that are imported separately."""
    names = set(OBJECTS) | {f"memarray.shared_memory.{name}" for name in memarray.shared_memory.__all__}
    names |= {"memarray.testing", "memarray.dask", "memarray.pytest_plugin", "memarray.dask.register"}
    for name in memarray.testing.__all__:
        names.add(f"memarray.testing.{name}")
        value = getattr(memarray.testing, name)
        if inspect.isclass(value) and value.__name__ == name:
            names |= {f"memarray.testing.{name}.{own}" for own in vars(value) if not own.startswith("_")}
    return names


def without_anchor(page: str) -> set[str]:
    there = {name.removeprefix("module-") for name in re.findall(r'\bid="([^"]+)"', page)}
    return public_names() - there


def test_every_public_name_is_in_the_reference(site):
    page = (site / "reference" / "python.html").read_text()
    assert without_anchor(page) == set()
    for name in ("memarray.MemArray.read", "memarray.options.threads", "memarray.leases", "memarray.cuda"):
        assert name in public_names()
        anchor = re.compile(rf'\bid="(module-)?{re.escape(name)}"')
        assert without_anchor(anchor.sub("", page)) == {name}, "a missing one is noticed"


def test_reference_omits_inherited_python_names(site):
    page = (site / "reference" / "python.html").read_text()
    anchors = re.findall(r'\bid="memarray\.([^"]+)"', page)
    assert not {"with_traceback", "to_bytes", "__init__"} & {name.split(".")[-1] for name in anchors}


@pytest.mark.parametrize("name", ["c", "cpp"])
def test_the_declarations_of_headers_are_shown(name, site):
    page = (site / "reference" / f"{name}.html").read_text()
    shown = html.unescape(re.sub(r"<[^>]+>", "", page))
    found = [entry for path in headers_of(name) for entry in headers.read(path).entries]
    assert len(found) > 100
    for entry in found:
        assert entry.declaration in shown, entry.declaration


def headers_of(name: str) -> set[Path]:
    source = (DOCS / "reference" / f"{name}.rst").read_text()
    patterns = " ".join(re.findall(r"^\.\. headers:: (.*)$", source, re.MULTILINE)).split()
    return {path for pattern in patterns for path in headers.INCLUDE.glob(pattern)}


def test_every_public_header_is_in_the_reference():
    public = [path for path in headers.INCLUDE.rglob("*.h*") if "detail" not in path.parts]
    speaking = {path for path in public if headers.read(path).entries}
    assert speaking <= headers_of("c") | headers_of("cpp")
