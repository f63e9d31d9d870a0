"""Scripts of ``examples/gallery``, run while pages are built: each with the picture that it wrote.

A line ``{scripts} FAMILY`` becomes every script of that folder with its picture, under a heading of
its own; ``{thumbnails} FAMILY`` becomes small pictures that lead there.
"""

from __future__ import annotations

import re
import runpy
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LINE = re.compile(r"^\{(scripts|thumbnails)\} (\w+)$", flags=re.MULTILINE)
FOLDER = "_pictures"
WIDE = 420.0
"""Pixels across a thumbnail."""

SOURCE = Path(__file__).parents[2] / "src" / "mercer"
"""What draws the pictures."""


@cache
def sources(folder: Path) -> list[Path]:
    """Return the files of a folder that people write."""
    return [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"]


def title_of(script: Path) -> str:
    """Return the name of a script as a heading."""
    return script.stem.replace("_", " ").capitalize()


def said_by(script: Path) -> tuple[str, str]:
    """Return what a script says of itself, and its code."""
    said, _, code = script.read_text(encoding="utf-8").removeprefix('"""').partition('"""')
    return " ".join(said.split()), code.strip()


def drawn(script: Path, folder: Path) -> str:
    """Run a script unless its picture is newer than it and than the library.

    Returns
    -------
    str
        How the files of the picture begin.
    """
    name = f"gallery-{script.stem}"
    large, small = folder / f"{name}.png", folder / f"{name}-small.png"
    newest = max(file.stat().st_mtime for file in (script, *sources(SOURCE)))
    if small.exists() and small.stat().st_mtime >= newest:
        return name
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place, chdir(place):
        space = runpy.run_path(str(script), run_name="__main__")
        (written,) = Path(place).iterdir()
        large.write_bytes(written.read_bytes())
    picture = space["picture"]
    inches = getattr(picture, "inches", None) or picture.size
    picture.save(small, dpi=WIDE / inches[0])
    return name


def scripts(found: list[Path], folder: Path) -> list[str]:
    """Return pictures with the code that draws them."""
    lines = list[str]()
    for script in found:
        name, (said, code) = drawn(script, folder), said_by(script)
        where = f"`examples/gallery/{script.parent.name}/{script.name}`"
        lines += [f"## {title_of(script)}", "", said, ""]
        lines += [f"```{{image}} /{FOLDER}/{name}.png", f":alt: {said}", ":class: drawn", "```", ""]
        lines += ["```python", *code.splitlines(), "```", "", where, ""]
    return lines


def thumbnails(found: list[Path], folder: Path) -> list[str]:
    """Return small pictures, each a link to the large one."""
    lines = ["::::{container} cards"]
    for script in found:
        name, (said, _) = drawn(script, folder), said_by(script)
        to = f"/gallery/{script.parent.name}.md#{script.stem.replace('_', '-')}"
        picture = f"[![{said}](/{FOLDER}/{name}-small.png)]({to})"
        lines += [":::{container} card drawn", picture, "", f"[{title_of(script)}]({to})", ":::"]
    return [*lines, "::::", ""]


def pages_of(app: Any, docname: str, source: list[str]) -> None:
    """Put scripts and pictures where a page of the gallery asks for them."""
    if not docname.startswith("gallery"):
        return
    root, folder = Path(app.srcdir).parent / "examples" / "gallery", Path(app.srcdir) / FOLDER

    def asked(line: re.Match[str]) -> str:
        found = sorted((root / line[2]).glob("*.py"))
        for file in (*found, *sources(SOURCE)):
            app.env.note_dependency(str(file), docname=docname)
        return "\n".join((scripts if line[1] == "scripts" else thumbnails)(found, folder))

    source[0] = LINE.sub(asked, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Run scripts when pages of the gallery are read."""
    app.connect("source-read", pages_of)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
