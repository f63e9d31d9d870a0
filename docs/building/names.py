"""Lists of public names: a table of one line each, and below it what their docstrings say."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import mercer
from mercer import pictures

BIBLIOGRAPHY = Path(__file__).parent.parent / "references.bib"
TEXTS = {
    "beeny2024": r"\bBeeny\b(?=,)",
    "martin2023": r"\bMartin\b(?=,)",
    "yao": r"\bYao\b(?=[,;.])",
    "gallier2019": r"\bGallier and Quaintance\b",
    "kroese2019": r"\bKroese et al\.",
}
"""How docstrings name the five texts, which are cited without a year."""

ATTRIBUTE = re.compile(r":obj:`(\w+) <[\w.]+>`")
"""How numpydoc links an attribute that is a property: to any class that has one of its name."""


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
                makers = makers_of(found.__name__)
                if makers:
                    written += [f"   Returned by {', '.join(f'`{name}`' for name in makers)}.", ""]
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


@cache
def public_calls() -> dict[str, str]:
    """Return what each public function and method says that it returns, by its name."""
    said: dict[str, str] = {}
    for module in (mercer, mercer.kernels, mercer.data, mercer.networks):
        for name in dir(module):
            found, path = getattr(module, name), f"{module.__name__}.{name}"
            calls = {path: found} if inspect.isfunction(found) else {}
            if inspect.isclass(found):
                own = inspect.getmembers(found, inspect.isfunction)
                calls = {f"{path}.{method}": call for method, call in own if method[0] != "_"}
            for called, call in calls.items():
                said[called] = str(getattr(call, "__annotations__", {}).get("return", ""))
    return said


def makers_of(name: str) -> list[str]:
    """Return the public calls that return a class of this name, where they are few."""
    made = [path for path, said in public_calls().items() if re.search(rf"\b{name}\b", said)]
    return made if len(made) <= 3 else []


@cache
def citations() -> dict[str, str]:
    """Return how docstrings name what the bibliography lists: the authors, and later the year."""
    found = dict(TEXTS)
    for entry in BIBLIOGRAPHY.read_text(encoding="utf-8").split("\n@")[1:]:
        key = entry[entry.index("{") + 1 : entry.index(",")]
        authors = re.search(r"author = \{(.*)\}", entry)
        year = re.search(r"year = \{(\d+)\}", entry)
        if key in TEXTS or authors is None or year is None:
            continue
        first, *others = [person.split(",")[0] for person in authors[1].split(" and ")]
        names = re.escape(first)
        if others:
            middle = "".join(rf", {re.escape(name)}" for name in others[:-1])
            names += rf"(?:{middle} (?:and|&) {re.escape(others[-1])}| et al\.)"
        found[key] = rf"(?<!and )(?<!& )\b{names}(?=[^;]{{0,140}}?\b{year[1]}\b)"
    return found


def cited(text: str) -> str:
    """Link what a paragraph cites: works by their year, the five texts where it is a list."""
    is_list = any(re.match(pattern, text.lstrip()) for pattern in citations().values())
    for key, pattern in citations().items():
        if is_list or key not in TEXTS:
            text = re.sub(pattern, rf"\g<0> :cite:p:`{key}`", text, count=1)
    return text


def amend(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Make a docstring's prose markup, and link what it cites to the bibliography."""
    lines[:] = [ATTRIBUTE.sub(r"**\1**", line) for line in lines]
    block, indent, kinds = "", 0, list[int]()  # of a line of prose its indent, of others -1
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
        is_plain = bare and not block and not re.match(r"---|[-*|] |[\w*, ]+ : ", bare)
        kinds.append(len(line) - len(bare) if is_plain else -1)
    written = list[str]()
    for kind, part in groupby(zip(kinds, lines, strict=True), lambda pair: pair[0]):
        paragraph = [line for _, line in part]
        linked = [cited(" ".join([paragraph[0], *(line.lstrip() for line in paragraph[1:])]))]
        written += linked if kind >= 0 and ":cite:p:" in linked[0] else paragraph
    lines[:] = written


def setup(app: Any) -> dict[str, bool]:
    """Offer the directive to Sphinx."""
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", amend, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
