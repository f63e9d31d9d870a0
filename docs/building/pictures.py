"""Pictures drawn while pages are built, from the very examples that stand on the page.

`{picture} NAME` runs the examples above it (as doctest finds them, one namespace for a page) and
draws what NAME is bound to. `{gallery}` draws functions of ``examples/gallery.py`` and their code.
"""

from __future__ import annotations

import doctest
import inspect
import io
import re
from contextlib import redirect_stdout
from functools import cache
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, ClassVar

import matplotlib.pyplot as plt
import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from mercer import pictures

logger = logging.getLogger(__name__)
FOLDER = "_pictures"


def figure_of(found: Any) -> Any:
    """Return the matplotlib figure of Axes, of several, of a figure, or of a described picture."""
    if isinstance(found, pictures.Panel | pictures.Sheet):
        found = pictures.draw(found)
    first = np.ravel(np.asarray(found, object))[0]
    return getattr(first, "figure", None) or first


def save(found: Any, file: Path, dpi: int) -> None:
    """Write a picture as PNG, and close its figure."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure = figure_of(found)
    figure.savefig(file, dpi=dpi, facecolor="white", metadata={"Software": None})
    plt.close("all")


def run_examples(text: str, before: int, space: dict[str, Any], done: set[int]) -> None:
    """Run the examples of a page that stand above a line and were not run yet."""
    for example in doctest.DocTestParser().get_examples(text):
        if example.lineno >= before or example.lineno in done:
            continue
        done.add(example.lineno)
        if example.options.get(doctest.SKIP):
            continue
        try:
            with redirect_stdout(io.StringIO()):
                exec(compile(example.source, f"line {example.lineno + 1}", "single"), space)
        except Exception:
            if example.exc_msg is None:
                raise


class Picture(SphinxDirective):
    """One picture: the value of a name on the page."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = {"alt": directives.unchanged, "width": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        page = Path(self.env.doc2path(self.env.docname))
        state = self.env.temp_data.setdefault(FOLDER, ({"__name__": "__main__"}, set()))
        try:
            run_examples(page.read_text(encoding="utf-8"), self.lineno - 1, *state)
            found = eval(self.arguments[0], state[0])
        except Exception as error:
            logger.warning("picture %s: %r", self.arguments[0], error, location=self.get_location())
            return []
        key = sha256(f"{self.env.docname} {self.lineno}".encode()).hexdigest()[:8]
        name = f"{page.stem}-{key}.png"
        save(found, Path(self.env.srcdir) / FOLDER / name, 130)
        caption = " ".join(self.content)
        alt = self.options.get("alt", caption or self.arguments[0])
        return figure_nodes(self, name, caption, alt, self.options.get("width"))


def figure_nodes(
    directive: SphinxDirective, name: str, caption: str, alt: str, width: str | None
) -> list[nodes.Node]:
    """Return a figure with its caption, which may hold markup."""
    image = nodes.image(uri=f"/{FOLDER}/{name}", alt=alt, candidates={"?": ""})
    image["uri"] = f"/{FOLDER}/{name}"
    if width:
        image["width"] = width
    figure = nodes.figure("", image, classes=["drawn"])
    if caption:
        parts, messages = directive.state.inline_text(caption, directive.lineno)
        figure += nodes.caption(caption, "", *parts)
        return [figure, *messages]
    return [figure]


class Gallery(SphinxDirective):
    """Functions of ``examples/gallery.py``: thumbnails, then each picture with its code."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        file = Path(self.env.srcdir).parent / "examples" / "gallery.py"
        self.env.note_dependency(str(file))
        gallery = module_of(file)
        source = file.stat().st_mtime
        cards, lines = ["::::{container} cards"], list[str]()
        for name in " ".join(self.content).split():
            make = getattr(gallery, name)
            target = Path(self.env.srcdir) / FOLDER / f"gallery-{name}.png"
            if not target.exists() or target.stat().st_mtime < source:
                save(make(), target, 120)
            said, title = str(make.__doc__), name.replace("_", " ").capitalize()
            shown = [f"```{{image}} /{FOLDER}/{target.name}", f":alt: {said}", ":class: drawn"]
            thumbnail = f"[![{said}](/{FOLDER}/{target.name})](#{name})"
            cards += [":::{container} card drawn", thumbnail, "", f"[{title}](#{name})", ":::"]
            lines += [f"({name})=", f"```{{rubric}} {title}", "```", said, "", *shown, "```", ""]
            lines += ["```python", *code_of(gallery, make).splitlines(), "```", ""]
        node = nodes.container()
        node.document = self.state.document
        content = StringList([*cards, "::::", "", *lines], "gallery")
        self.state.nested_parse(content, 0, node)
        return node.children


@cache
def module_of(file: Path) -> Any:
    """Return a script as a module."""
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def code_of(module: Any, make: Any) -> str:
    """Return the source of a function of a script, after that of the helpers it calls."""
    source = inspect.getsource(make)
    helpers = [getattr(module, name) for name in dict.fromkeys(re.findall(r"\b_[a-z]\w*", source))]
    return "\n\n".join([*(inspect.getsource(helper) for helper in helpers), source])


def setup(app: Any) -> dict[str, bool]:
    """Offer the directives to Sphinx."""
    app.add_directive("picture", Picture)
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
