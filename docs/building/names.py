"""Lists of public names: a table of one line each, and below it what their docstrings say."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from mercer import pictures

TEXTS = {
    r"\bBeeny\b(?=,)": "beeny2024",
    r"\bMartin\b(?=,)": "martin2023",
    r"\bYao\b(?=[,;.])": "yao",
    r"\bGallier and Quaintance\b": "gallier2019",
    r"\bKroese et al\.": "kroese2019",
}


def object_of(path: str) -> Any:
    """Return what a dotted name stands for."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


class Names(SphinxDirective):
    """The names given, one a line, with their documentation."""

    has_content = True
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        paths = " ".join(self.content).split()
        written = ["```{eval-rst}", ".. autosummary::", "   :nosignatures:", ""]
        written += [f"   {path}" for path in paths] + [""]
        for path in paths:
            found = object_of(path)
            if inspect.isclass(found):
                written += [f".. autoclass:: {path}", "   :members:", ""]
            elif isinstance(found, type(pictures.individuals)):
                written += [f".. py:function:: {path}{inspect.signature(found)}", ""]
                lines = (inspect.getdoc(found) or "").splitlines()
                amend(self.env.app, "function", path, found, None, lines)
                written += [*(f"   {line}" for line in lines), ""]
            elif callable(found):
                written += [f".. autofunction:: {path}", ""]
            else:
                written += [f".. autodata:: {path}", ""]
        written += ["```"]
        node = nodes.container()
        node.document = self.state.document
        self.state.nested_parse(StringList(written, "names"), 0, node)
        return node.children


def prose(line: str) -> str:
    """Escape what prose means as itself: |A|, names that end in an underscore."""
    parts = re.split(r"(`[^`]*`_?)", line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(?<!\\)\|", r"\|", parts[i])
        parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\_", parts[i])
    return "".join(parts)


def amend(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Make a docstring's prose markup, and link the texts that it names to the bibliography."""
    block, indent = "", 0
    for i, line in enumerate(lines):
        bare = line.lstrip()
        if block == "math" and bare and len(line) - len(bare) <= indent:
            block = ""
        if block == "example" and not bare:
            block = ""
        if bare.startswith(">>>"):
            block = "example"
        elif bare.startswith(".. math::"):
            block, indent = "math", len(line) - len(bare)
        elif not block:
            lines[i] = prose(line)
            for pattern, key in TEXTS.items():
                if re.match(pattern, bare):
                    lines[i] = re.sub(pattern, rf"\g<0> :cite:p:`{key}`", lines[i], count=1)


def setup(app: Any) -> dict[str, bool]:
    """Offer the directive to Sphinx."""
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", amend, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
