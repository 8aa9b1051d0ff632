"""The Sphinx directive ``headers``: reference pages of C++ and C headers, made by Doxygen and Breathe.

``.. headers:: array/*.hpp`` makes a section for each header that matches under ``include/memarray``.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "memarray"


def run_doxygen(app: Sphinx) -> None:
    """Writes Doxygen's XML of the headers to a folder of the build, where Breathe reads it."""
    folder = Path(app.doctreedir) / "doxygen"
    folder.mkdir(parents=True, exist_ok=True)
    settings = (ROOT / "docs" / "site" / "Doxyfile").read_text(encoding="utf-8")
    settings += f'OUTPUT_DIRECTORY = "{folder}"\n'
    try:
        done = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ExtensionError("doxygen is missing: install the package of this name") from None
    if done.returncode:
        raise ExtensionError(done.stderr)
    for path in (folder / "xml").glob("*.xml"):
        tree = ElementTree.parse(path)
        adapt(tree)
        tree.write(path, encoding="utf-8")
    app.config.breathe_projects = {"memarray": str(folder / "xml")}


def adapt(tree: ElementTree.ElementTree) -> None:
    """Drops private members, and shows constraints: Breathe would show the former and ignore the latter."""
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.get("prot") == "private":
                parent.remove(child)
        constraint, arguments = parent.find("requiresclause"), parent.find("argsstring")
        if constraint is not None and arguments is not None:
            arguments.text += f" requires {constraint.text.strip()}"


class Headers(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        paths = sorted({path for pattern in self.arguments[0].split() for path in INCLUDE.glob(pattern)})
        if not paths:
            raise self.error(f"no header matches {self.arguments[0]}")
        lines = []
        for path in paths:
            self.env.note_dependency(str(path))
            title = f"``{path.relative_to(INCLUDE.parent).as_posix()}``"
            lines += [title, "~" * len(title), "", f".. doxygenfile:: {path.name}", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", run_doxygen)
    app.add_directive("headers", Headers)
    return {"parallel_read_safe": True}
