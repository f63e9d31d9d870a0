"""Formulas as MathML, which every browser draws by itself: nothing to fetch, nothing to run."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import MathError, tex2mathml
from sphinx.util import logging

ALIKE = {r"\dots": r"\ldots", r"\Big": "", r"\big": "", r"\textstyle": ""}
"""What the converter does not know, and what it knows that looks nearly alike."""

logger = logging.getLogger(__name__)


def _write(translator: Any, node: Any, *, block: bool) -> None:
    try:
        known = re.sub(r"\\[A-Za-z]+", lambda m: ALIKE.get(m[0], m[0]), node.astext())
        written = tex2mathml(known, as_block=block)
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        written = f"<code>{translator.encode(node.astext())}</code>"
    translator.body.append(f'<div class="math">{written}</div>' if block else written)
    raise nodes.SkipNode


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    _write(translator, node, block=False)


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula that stands by itself."""
    _write(translator, node, block=True)


def setup(app: Any) -> dict[str, bool]:
    """Offer the formulas to Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
