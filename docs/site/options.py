"""The Sphinx directive ``options``: ``memarray.options`` and its settings, under the names that users write.

autodoc would show the class behind them, which no program imports.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import get_type_hints

import memarray
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def described(directive: str, words: str) -> list[str]:
    content = textwrap.indent(inspect.cleandoc(words), "   ")
    return [f".. {directive}", "   :module: memarray", "", *content.splitlines(), ""]


class Options(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        kind = type(memarray.options)
        self.env.note_dependency(inspect.getsourcefile(kind))
        lines = described("py:data:: options", kind.__doc__)
        for name, setting in vars(kind).items():
            if isinstance(setting, property):
                returned = get_type_hints(setting.fget)["return"].__name__
                lines += described(f"py:attribute:: options.{name}\n   :type: {returned}", setting.__doc__)
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("options", Options)
    return {"parallel_read_safe": True}
