"""The site of docs/ builds with warnings as errors, and its reference pages are complete."""

from __future__ import annotations

import html
import inspect
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import memarray.dask
import memarray.testing
import pages
import pytest

sys.path.append(str(pages.ROOT / "docs" / "site"))
sys.path.append(str(pages.ROOT / "test" / "architecture"))
sys.path.append(str(pages.ROOT / "test" / "python"))
import headers
from public_names import documented_names, without_internals
from sphinx.errors import ExtensionError
from test_import import OBJECTS

# One process builds the site once for all of these tests.
pytestmark = pytest.mark.xdist_group("site")
if not shutil.which("doxygen"):
    pytest.skip("doxygen is missing", allow_module_level=True)

DOCS = pages.ROOT / "docs"
INCLUDE = pages.ROOT / "include" / "memarray"
#: The public headers without the two that only include others.
HEADERS = sorted(
    {path for path in INCLUDE.rglob("*.h*") if "detail" not in path.parts}
    - {INCLUDE / "memarray.hpp", INCLUDE / "c_api.h"}
)


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


@pytest.fixture(scope="module")
def shown(site) -> str:
    """Returns the letters and digits of the reference pages of headers."""
    read = "".join((site / "reference" / f"{name}.html").read_text() for name in ("c", "cpp"))
    return letters(html.unescape(re.sub(r"<[^>]+>", "", read)))


def letters(text: str) -> str:
    """Returns a text without the signs that differ between a comment and its page: line ends, quotes, Markdown."""
    return re.sub(r"\W+", "", text)


def comments(header: Path) -> list[str]:
    """Returns the comments of a header's public parts; a comment's lines follow each other."""
    text = re.sub(
        r"^ *(?:///)? ?@file\n", "", without_internals(header.read_text(encoding="utf-8")), flags=re.MULTILINE
    )
    blocks = re.findall(r"^ *///(?!<).*\n(?: *///.*\n)*", text, re.MULTILINE)
    return [block.replace("///", "") for block in blocks] + re.findall(r"///<(.*)", text)


def missing(header: Path, shown: str) -> list[str]:
    return [comment for comment in comments(header) if letters(comment) not in shown]


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.relative_to(INCLUDE).as_posix())
def test_every_comment_of_a_public_header_is_in_the_reference(header, shown):
    assert missing(header, shown) == []


def test_comment_that_the_reference_lacks_is_found(shown):
    header = INCLUDE / "array" / "mem_array.hpp"
    every = comments(header)
    assert len(every) > 20
    for comment in every[0], every[-1]:
        assert missing(header, shown.replace(letters(comment), "")) == [comment]


def objects(site: Path) -> set[str]:
    """Returns the C and C++ names that the site's index has, with their namespaces."""
    lines = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    return {line.rsplit(" ", 4)[0] for line in lines if re.search(r" (c|cpp):(?!\w+Param )\w+ ", line)}


def without_entry(there: set[str]) -> set[str]:
    documented = {name for path in HEADERS if path.suffix == ".hpp" for name in documented_names(path)}
    return documented - {re.sub(r"^(?:[a-z]\w*::)+", "", name) for name in there}


def test_every_name_of_a_public_header_is_in_the_reference(site):
    there = objects(site)
    assert without_entry(there) == set()
    assert {
        "MemArrayAPI::create_stream",
        "MemArrayArrayAPI::lease_data",
        "memarray_import",
        "PyResource_Close",
    } <= there
    for name in ("memarray::MemArray", "memarray::IsMemoryResource", "memarray::exclusive_scan", "MEMARRAY_DTYPE"):
        assert without_entry(there - {name}) == {name.split("::")[-1]}, "a missing one is noticed"


def internal(there: set[str]) -> list[str]:
    return [name for name in there if re.search(r"\b(detail|bridging)\b|::_[a-z]|_DETAIL_", name)]


def test_names_of_detail_are_not_in_the_reference(site):
    assert internal(objects(site)) == []
    assert len(internal({"memarray::detail::State", "memarray::MemArray::_state", "MEMARRAY_DETAIL_EACH"})) == 3


def test_constraints_are_in_the_reference(shown):
    assert letters("requires (is_writable && Element<T>)") in shown


def test_doxygen_warning_ends_the_build(tmp_path, monkeypatch):
    (tmp_path / "docs" / "site").mkdir(parents=True)
    shutil.copy(DOCS / "site" / "Doxyfile", tmp_path / "docs" / "site")
    header = tmp_path / "include" / "memarray" / "base" / "planted.hpp"
    header.parent.mkdir(parents=True)
    monkeypatch.setattr(headers, "ROOT", tmp_path)
    app = SimpleNamespace(doctreedir=tmp_path / "build", config=SimpleNamespace())
    header.write_text("namespace memarray {\n/// Adds.\nint add();\n}\n")
    headers.run_doxygen(app)
    header.write_text("namespace memarray {\n/// Adds, unlike \\ref subtract.\nint add();\n}\n")
    with pytest.raises(ExtensionError, match="subtract"):
        headers.run_doxygen(app)
