"""The page of a model in the output of a notebook's cell."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from mercer.display import Shown
from mercer.errors import InvalidParameter, ReadingWarning
from mercer.page.write import report
from mercer.settings import number, spelled

if TYPE_CHECKING:
    from mercer.explorer.live import Running

HEIGHT = 760
"""Pixels that the page takes in a notebook."""


class Explored(Shown):
    """The page of a model, which a notebook shows in a frame of its own.

    The frame holds the whole page and asks nobody for anything: it works where no server may run,
    and stays in the notebook when it is saved. Where the explorer runs beside it, and as long as it
    does, the frame shows that instead.

    >>> import mercer as mc
    >>> print(str(mc.explore(mc.PCA(2).fit(mc.datasets.iris())))[:13])
    Explored: PCA
    """

    facts: ClassVar[Mapping[str, str]] = {"bytes": "of the page"}

    def __init__(
        self, page: bytes, title: str, height: int, running: Running | None = None
    ) -> None:
        self._page, self._name, self._height = page, title, height
        self._running = running

    @property
    def is_live(self) -> bool:
        """Whether a server answers what a reader changes."""
        return self._running is not None and self._running.is_alive

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
        running = self._running if self.is_live else None
        name = "" if running is None else f'id="mercer-{token_hex(8)}" '
        frame = (
            f'<iframe {name}src="data:text/html;base64,{data}" width="100%" '
            f'height="{self._height}" sandbox="allow-scripts allow-downloads" '
            'style="box-sizing: border-box; display: block; '
            'border: 1px solid rgb(127 127 127 / 35%)" title="mercer"></iframe>'
        )
        return frame if running is None else frame + _turning(name, running)


def _turning(name: str, running: Running) -> str:
    """Return the script that shows the explorer in a frame, where its server answers.

    Another server may have the port when the notebook is opened again: the answer must be ours, and
    the frame stays in its sandbox. It is dark where the notebook around it is, whatever the system.
    """
    frame = json.dumps(name.partition('"')[2].rstrip('" '))
    return (
        f"<script>fetch({json.dumps(running.alive)})"
        '.then((answer) => (answer.ok ? answer.text() : "")).then((said) => {'
        f"const frame = document.getElementById({frame});"
        'if (said !== "mercer" || !frame) return;'
        "const live = frame.cloneNode();"
        'live.setAttribute("sandbox", "allow-scripts allow-same-origin allow-downloads");'
        "let theme = 'light';"
        "for (let it = frame.parentElement; it; it = it.parentElement) {"
        "const ground = getComputedStyle(it).backgroundColor.match(/[\\d.]+/g) ?? [0, 0, 0, 0];"
        "const [r, g, b, a = 1] = ground.map(Number);"
        "if (!(a > 0)) continue;"
        "if (0.3 * r + 0.59 * g + 0.11 * b < 128) theme = 'dark';"
        "break; }"
        f"live.src = {json.dumps(running.address)}.replace('#', `&theme=${{theme}}#`);"
        "frame.replaceWith(live);"
        "}).catch(() => {});</script>"
    )


@spelled
def explore(
    model: Any, *, table: Any = None, height: int = HEIGHT, live: bool | None = None
) -> Explored:
    """Show the page of a model in a notebook: maps, panels and tables that respond to the reader.

    In a notebook on this machine the page is the explorer, in which everything can be changed, as
    by ``mercer serve``; elsewhere, and when the notebook is opened again later, it is the page of
    the model with its data frozen in.

    Parameters
    ----------
    model
        A fitted model, what `analyse` returned, or a table, a data frame or a file's name, which
        is then analysed; as for `mercer.report`.
    table : Table, data frame or SquareMatrix, optional
        What the model was fitted on, with its factors and supplementary columns.
    height : int
        Pixels that the page takes.
    live : bool, optional
        Whether the explorer runs beside the page; by default in a notebook on this machine that
        has the extra ``serve``, for tables, distances, sequences, and models of them with equal
        weights and no parameters that the explorer lacks.

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
    running = _running(model, table, live)
    return Explored(page, type(model).__name__, int(height), running)


def _running(model: Any, table: Any, live: bool | None) -> Running | None:
    """Return a server of the data of a model, where one was asked for or may run."""
    if live is False:
        return None
    from mercer.explorer import live as serving

    if not (live or serving.may_serve()):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        found = serving.state_of_model(model, table)
    if found is None:
        if live:
            raise InvalidParameter(
                "live=True explores tables, distances and sequences, and PCA, KernelPCA and "
                "scaling of them with equal weights and no parameters that the explorer lacks, not "
                f"this {type(model).__name__}: leave it out for the frozen page"
            )
        return None
    running = serving.start_server(*found)
    if running is None and live:
        raise InvalidParameter(
            f"live=True, and the server did not begin in {serving.PATIENCE:g} s: run the cell "
            "again, or leave it out for the frozen page"
        )
    return running
