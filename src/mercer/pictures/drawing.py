"""A picture function: described once, drawn by matplotlib when called, by plotly on request."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from mercer.pictures.scene import Panel, Sheet
from mercer.spelling import spelled

P = ParamSpec("P")
R = TypeVar("R", Panel, Sheet)


class Drawing(Generic[P, R]):
    """A function from values to a picture.

    Called, it draws with matplotlib and returns the Axes: on ``ax`` if one is given (for a picture
    of several panels ``figure``), else on a figure of its own, which is not shown. ``plotly`` takes
    the same arguments and returns a plotly Figure with the same content; ``describe`` returns that
    content as plain data, a `Panel` or a `Sheet`, and needs neither library.
    """

    def __init__(self, describe: Callable[P, R]) -> None:
        self.describe: Callable[P, R] = spelled(describe)
        update_wrapper(self, describe)
        given: inspect.Signature = inspect.signature(describe)
        where = inspect.Parameter("ax", inspect.Parameter.KEYWORD_ONLY, default=None)
        self.__signature__ = given.replace(
            parameters=[*given.parameters.values(), where], return_annotation="Axes"
        )

    def __call__(self, *args: Any, ax: Any = None, figure: Any = None, **options: Any) -> Any:
        return draw(self.describe(*args, **options), ax=ax, figure=figure)

    def plotly(self, *args: P.args, **options: P.kwargs) -> Any:
        """Return the picture as a plotly Figure."""
        return plotly(self.describe(*args, **options))

    def __repr__(self) -> str:
        return f"<picture {self.describe.__name__}>"


def draw(picture: Panel | Sheet, *, ax: Any = None, figure: Any = None) -> Any:
    """Draw a picture with matplotlib: Axes for a panel, an array of them for a sheet."""
    from mercer.pictures.with_matplotlib import drawn, png_of

    found = drawn(picture, ax=ax, figure=figure)
    if isinstance(picture, Panel) and ax is None and figure is None:
        found._repr_png_ = partial(png_of, found.figure)  # the last expression of a cell is seen
    return found


def plotly(picture: Panel | Sheet) -> Any:
    """Draw a picture with plotly."""
    from mercer.pictures.with_plotly import figure_of

    return figure_of(picture)
