"""The look of all pictures: colours that any reader can tell apart, and how much is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput

PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#8C6D1F",
    "#000000",
)
"""The colours of Okabe and Ito (2008); their yellow, too faint on white, is darkened."""

MARKERS = ("circle", "square", "triangle", "diamond", "cross")
"""Groups beyond the eighth repeat colours with another marker."""

BLUE, ORANGE, GREEN, RED = PALETTE[:4]
VIOLET = "#7A4FBF"
"""Of variables and columns among individuals: no group has it."""

INK = "#1C2330"
GREY = "#8A8A8A"
PALE = "#D4D4D4"

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
"""The font of every picture of a page, as of its text."""

QUIET, FRAME, GRID, ZERO = "#566072", "#D9DEE6", "#EEF1F5", "#9AA5B4"
"""Of ticks and secondary words, of frames, of lines at ticks, and of lines through the origin."""

MISSING = "missing"

SEQUENTIAL = (
    "#00224E",
    "#123570",
    "#3B496C",
    "#575D6D",
    "#707173",
    "#8A8678",
    "#A59C74",
    "#C3B369",
    "#E1CC55",
    "#FEE838",
)
"""Stops of cividis (Nuñez, Anderton and Renslow, 2018), alike for all readers."""

DIVERGING = ("#7F3B08", "#C8730F", "#F4B665", "#F7F4F0", "#B2ABD2", "#7566A8", "#2D004B")
"""Brown to purple through white, as in ColorBrewer's PuOr."""

GREYS = ("#FFFFFF", "#CCCCCC", "#888888", "#444444", "#000000")

DENSITY = ("#FFFFFF", "#E4E4E4", "#C4C4C4", "#9A9A9A", "#6E6E6E", "#444444")

STOPS = {
    "sequential": SEQUENTIAL,
    "diverging": DIVERGING,
    "greys": GREYS,
    "density": DENSITY,
}


@dataclass(frozen=True, eq=False)
class Scale:
    """Numbers that colours stand for; a diverging scale is white at zero."""

    values: Array
    title: str = ""
    kind: Literal["sequential", "diverging", "greys", "density"] = "sequential"

    @property
    def limits(self) -> tuple[float, float]:
        """The numbers at both ends of the scale."""
        known = self.values[np.isfinite(self.values)]
        if known.size == 0:
            return 0.0, 1.0
        low, high = float(known.min()), float(known.max())
        if self.kind == "diverging":
            high = max(abs(low), abs(high))
            low = -high
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    @property
    def stops(self) -> tuple[str, ...]:
        return STOPS[self.kind]


class FactorLevel(NamedTuple):
    """The rows of one level of a factor, and how it is drawn."""

    name: str
    rows: Array
    colour: str
    marker: str


class Coloured(NamedTuple):
    """Rows coloured by a number, or put into groups; ``title`` names what it is."""

    title: str
    numbers: Array | None
    groups: tuple[FactorLevel, ...]


def hexes(scale: Scale) -> tuple[str, ...]:
    """Return the colour of every number, grey where one is missing.

    >>> hexes(Scale(np.array([0.0, 1.0, np.nan])))
    ('#00224e', '#fee838', '#8a8a8a')
    """
    found = rgb_of(scale, np.ravel(scale.values))
    return tuple(f"#{r:02x}{g:02x}{b:02x}" for r, g, b in found.tolist())


def rgb_of(scale: Scale, values: Array) -> Array:
    """Return red, green and blue of some numbers of a scale, grey where one is missing.

    >>> rgb_of(Scale(np.array([0.0, 1.0])), np.array([0.0])).tolist()
    [[0, 34, 78]]
    """
    low, high = scale.limits
    stops = np.array([[int(s[i : i + 2], 16) for i in (1, 3, 5)] for s in scale.stops], float)
    place = np.clip((values - low) / (high - low), 0.0, 1.0) * (len(stops) - 1)
    known = np.isfinite(place)
    rgb = [np.interp(np.where(known, place, 0.0), np.arange(len(stops)), c) for c in stops.T]
    found: Array = np.round(np.stack(rgb, axis=-1)).astype(int)
    found[~known] = [int(GREY[i : i + 2], 16) for i in (1, 3, 5)]
    return found


def legible(colour: str) -> str:
    """Return a colour as words can wear it: pale ones would not be read on white.

    >>> legible("#0072B2"), legible("#E69F00")
    ('#0072B2', '#986900')
    """
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    light = (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]) / 255.0
    if light < 0.45:
        return colour
    return "#" + "".join(f"{round(c * 0.42 / light):02x}" for c in rgb)


def colouring_of(colour: Any, count: int) -> Coloured:
    """Return how rows are coloured by a column: numbers by a scale, labels by groups.

    A column with a name, such as `mercer.data.table.Column` or a series, gives its title.

    >>> colouring_of(["b", "a", None], 3).groups[0].name
    'a'
    >>> [g.name for g in colouring_of(["b", "a", None], 3).groups]
    ['a', 'b', 'missing']
    """
    if colour is None:
        return Coloured("", None, (FactorLevel("", np.arange(count), BLUE, "circle"),))
    title = str(getattr(colour, "name", None) or "")
    values = np.asarray(getattr(colour, "values", colour))
    if values.shape != (count,):
        raise InvalidInput(
            f"colour must have one entry for each of the {count} rows, found shape {values.shape}"
        )
    if values.dtype.kind in "iuf":
        return Coloured(title, values.astype(np.float64), ())
    return Coloured(title, None, _groups(values))


def _groups(values: Array) -> tuple[FactorLevel, ...]:
    texts = np.array([MISSING if _is_missing(v) else str(v) for v in values.tolist()], object)
    is_missing = np.array([_is_missing(v) for v in values.tolist()], bool)
    levels = sorted({str(t) for t in texts[~is_missing]})
    groups = [
        FactorLevel(
            level,
            np.flatnonzero((texts == level) & ~is_missing),
            PALETTE[i % len(PALETTE)],
            MARKERS[(i // len(PALETTE)) % len(MARKERS)],
        )
        for i, level in enumerate(levels)
    ]
    if is_missing.any():
        groups.append(FactorLevel(MISSING, np.flatnonzero(is_missing), GREY, "cross"))
    return tuple(groups)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))
