"""The page of a model in the output of a notebook's cell."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from mercer.display import Shown
from mercer.errors import ReadingWarning
from mercer.page.write import report
from mercer.settings import number

HEIGHT = 760
"""Pixels that the page takes in a notebook."""


class Explored(Shown):
    """The page of a model, which a notebook shows in a frame of its own.

    The frame holds the whole page and asks nobody for anything: it works where no server may run,
    and stays in the notebook when it is saved.
    """

    facts: ClassVar[Mapping[str, str]] = {"bytes": "of the page"}

    def __init__(self, page: bytes, title: str, height: int) -> None:
        self._page, self._name, self._height = page, title, height

    @property
    def bytes(self) -> int:
        return len(self._page)

    def _title(self) -> str:
        return f"Explored: {self._name}, a page of {len(self._page):,} bytes for a notebook"

    def save(self, path: Any) -> Path:
        """Write the page to a file, and return its path."""
        target = Path(path)
        target.write_bytes(self._page)
        return target

    def _repr_html_(self) -> str:
        data = base64.b64encode(self._page).decode()
        return (
            f'<iframe src="data:text/html;base64,{data}" width="100%" height="{self._height}" '
            'sandbox="allow-scripts allow-downloads" style="border: 1px solid #d9dee6" '
            'title="mercer"></iframe>'
        )


def explore(model: Any, *, table: Any = None, height: int = HEIGHT) -> Explored:
    """Show the page of a model in a notebook: maps, panels and tables that respond to the reader.

    Parameters
    ----------
    model
        A fitted model, what `analyse` returned, or a table, a data frame or a file's name, which
        is then analysed; as for `mercer.report`.
    table : Table, data frame or SquareMatrix, optional
        What the model was fitted on, with its factors and supplementary columns.
    height : int
        Pixels that the page takes.

    Examples
    --------
    >>> import mercer as mc
    >>> model = mc.PCA(2).fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> mc.explore(model)._repr_html_()[:30]
    '<iframe src="data:text/html;ba'
    """
    number(height, "height", above=0.0)
    with TemporaryDirectory(prefix="mercer-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)  # the page says it
        page = report(model, Path(folder, "page.html"), table=table).read_bytes()
    return Explored(page, type(model).__name__, int(height))
