"""Notebooks of ``examples``, run while pages are built: a page is what one printed and drew.

A page whose text is one line, ``{notebook} NAME``, is replaced by ``examples/NAME.ipynb``.
"""

from __future__ import annotations

import base64
import html
import logging
import os
import re
from pathlib import Path
from typing import Any

FOLDER = "_pictures"
LINE = re.compile(r"^\{notebook\} (\w+)\s*$")
STYLE = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 300


def executed(file: Path) -> Any:
    """Return a notebook with the outputs of running it."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(file, as_version=4)
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    quiet = ["--log-level=ERROR"]
    inline = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    client = NotebookClient(book, timeout=SECONDS, kernel_name="python3", extra_arguments=quiet)
    client.execute(env=inline)
    return book


def fenced(text: str, language: str = "text") -> list[str]:
    """Return lines as a block of code."""
    return [f"```{language}", *text.rstrip("\n").splitlines(), "```", ""]


def shown(output: Any, name: str, folder: Path) -> list[str]:
    """Return what a cell printed, returned or drew, as Markdown."""
    if output.output_type == "stream":
        return fenced(STYLE.sub("", output.text)) if output.name == "stdout" else []
    data = output.get("data", {})
    if "image/png" in data:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.png").write_bytes(base64.b64decode(data["image/png"]))
        return [f"```{{image}} /{FOLDER}/{name}.png", ":class: drawn", "```", ""]
    text = str(data.get("text/plain", ""))
    if text.startswith(("<Axes", "array([<Axes", "[<Axes", "<Figure")):
        return []  # the handle of what is drawn
    return fenced(html.unescape(text))


def pages_of(app: Any, docname: str, source: list[str]) -> None:
    """Replace the text of a page by the notebook that it names."""
    found = LINE.match(source[0])
    if not found:
        return
    file = Path(app.srcdir).parent / "examples" / f"{found[1]}.ipynb"
    app.env.note_dependency(str(file), docname=docname)
    lines: list[str] = []
    for i, cell in enumerate(executed(file).cells):
        if cell.cell_type == "markdown":
            lines += [*cell.source.splitlines(), ""]
            continue
        lines += fenced(cell.source, "python")
        for j, output in enumerate(cell.outputs):
            name = f"notebook-{found[1]}-{i}-{j}"
            lines += shown(output, name, Path(app.srcdir) / FOLDER)
    where = f"`examples/{found[1]}.ipynb`"
    lines += [f"This page is {where}, run while it was built.", ""]
    source[0] = "\n".join(lines)


def setup(app: Any) -> dict[str, bool]:
    """Run notebooks when their pages are read."""
    app.connect("source-read", pages_of)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
