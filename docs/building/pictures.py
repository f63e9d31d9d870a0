"""Examples of the pages run while these are built, and pictures drawn from them.

`{picture} NAME` runs the examples above it (as doctest finds them, one namespace for a page) and
draws what NAME is bound to. Those below the last picture run when the page has been read. An
example that fails is a warning, with `-W` an error; what they print is compared by `make test`.
"""

from __future__ import annotations

import doctest
import io
import sys
from contextlib import redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import matplotlib.pyplot as plt
import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from mercer import pictures

logger = logging.getLogger(__name__)
FOLDER = "_pictures"
RAN: dict[str, int] = {}
"""How many examples of each page that was read ran."""


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


def state_of(env: Any) -> tuple[dict[str, Any], set[int]]:
    """Return the names of the page that is read, and the lines of the examples that ran."""
    state: tuple[dict[str, Any], set[int]] = env.temp_data.setdefault(
        FOLDER, ({"__name__": "__main__"}, set())
    )
    return state


def run_the_rest(app: Any, _: Any) -> None:
    """Run what no picture of the page that was read has asked for."""
    page = Path(app.env.doc2path(app.env.docname))
    space, done = state_of(app.env)
    try:
        run_examples(page.read_text(encoding="utf-8"), sys.maxsize, space, done)
    except Exception as error:
        line = max(done) + 1
        logger.warning("example in line %d: %r", line, error, location=app.env.docname)
    plt.close("all")
    RAN[app.env.docname] = len(done)


def tell(_app: Any, error: Exception | None) -> None:
    """Say how many examples ran, which a quiet build says too."""
    if error is None:
        pages = sum(count > 0 for count in RAN.values())
        sys.stdout.write(f"{sum(RAN.values())} examples of {pages} pages ran\n")


class Picture(SphinxDirective):
    """One picture: the value of a name on the page."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = {"alt": directives.unchanged, "width": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        page = Path(self.env.doc2path(self.env.docname))
        state = state_of(self.env)
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


def setup(app: Any) -> dict[str, bool]:
    """Offer the directives to Sphinx."""
    app.add_directive("picture", Picture)
    app.connect("doctree-read", run_the_rest)
    app.connect("build-finished", tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
