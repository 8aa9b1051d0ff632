"""Sphinx's settings: `sphinx-build -W -c docs/site docs FOLDER`, where memarray can be imported."""

import re
import sys
from pathlib import Path

import memarray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))

project = "memarray"
author = "the authors of memarray"
version = release = memarray.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "breathe", "headers", "options"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["site"]
root_doc = "index"
html_theme = "furo"
html_title = f"memarray {version}"
html_copy_source = False

myst_heading_anchors = 3
# Transcripts have lines that no lexer knows. Each header declares the namespace again, and the headers for pybind11 and
# for nanobind declare the same functions.
suppress_warnings = ["misc.highlighting_failure", "duplicate_declaration.cpp"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# MemArray's methods are those of a class written in C; members of Python's own bases are left out.
PYTHONS_OWN = "object,int,str,Enum,BaseException"
autodoc_default_options = {"members": True, "inherited-members": PYTHONS_OWN}
napoleon_google_docstring = False
breathe_default_project = "memarray"
breathe_show_include = False

FROM_THE_TOP = ("changelog", "contributing")
#: Links to files outside of docs/ become their names.
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?:examples|bench|test|include|src|python)[^)#]*)[^)]*\)")
TOP = re.compile(r"\]\((?:\.\./)+(CHANGELOG|CONTRIBUTING|README)\.md(#[^)]*)?\)")


def point_inside(app, name, source):
    if name in FROM_THE_TOP:
        # The site shows these as pages of docs/, so links lose that prefix.
        source[0] = (ROOT / f"{name.upper()}.md").read_text(encoding="utf-8").replace("](docs/", "](")
    text = OUTSIDE.sub(
        lambda found: f"{found[1]} (`{found[2]}`)" if found[1] != found[2] else f"`{found[2]}`", source[0]
    )
    up = "../" * name.count("/")
    source[0] = TOP.sub(lambda found: f"]({up}{found[1].lower()}.md{found[2] or ''})", text)


def setup(app):
    app.connect("source-read", point_inside)
