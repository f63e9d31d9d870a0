"""Words beside points without overlap: greedy, most important first, the same every time."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple, TypeAlias

import numpy as np

from mercer.check import Array
from mercer.pictures.colours import LIMITS
from mercer.pictures.scene import Arrows, Labels, Panel, Points

WIDTH = {"small": 0.6, "capital": 0.75, "wide": 1.1}
"""The widths of letters in sizes of their font; a little more than DejaVu's, to be safe."""

HEIGHT = 1.2
"""The height of a line in sizes of its font."""

GAP = 4.5
"""Typographic points between a point and its label."""

REACH = (1.0, 2.2, 3.6)
"""How many gaps away a label may stand, nearest first."""

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Right, left, above, below, then the corners."""


Rectangle: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right, top."""


class Placed(NamedTuple):
    """A label that found a place: its number, and its centre in points from the lower left."""

    number: int
    x: float
    y: float
    width: float
    height: float


FEWEST_LETTERS = 4
"""Letters of the name of a factor that are left before its level, with the mark of the cut."""


def cut(name: str, longest: int = LIMITS.letters) -> str:
    """Return a name that fits beside a point; of a category the level stays, which tells most.

    >>> cut("an individual of a long name, 24")
    'an individual of a long…'
    >>> cut("treatment_at_the_second_visit=low")
    'treatment_at_the_se…=low'
    """
    if len(name) <= longest:
        return name
    level = name[name.rfind("=") :] if "=" in name else ""
    room = longest - len(level)
    if level and room >= FEWEST_LETTERS:
        return f"{name[: room - 1]}…{level}"
    return f"{name[: longest - 1]}…"


BOLD = 1.12
"""How much wider bold letters are."""


def width_of(text: str, size: float, *, is_bold: bool = False) -> float:
    """Return about how wide a text is, in points.

    >>> width_of("abcd", 10.0)
    24.0
    """
    return size * (BOLD if is_bold else 1.0) * sum(WIDTH[_kind(letter)] for letter in text)


def _kind(letter: str) -> str:
    if unicodedata.east_asian_width(letter) in "WF":
        return "wide"
    return "capital" if letter.isupper() else "small"


def placed(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    anchors: Array,
    texts: tuple[str, ...],
    obstacles: Array,
    box: tuple[float, float],
    *,
    size: float = 8.0,
    is_bold: bool = False,
    centre: Array | None = None,
    taken: tuple[Placed, ...] = (),
    covers: bool = False,
) -> tuple[Placed, ...]:
    """Return the labels that fit into a box without covering a point or one another.

    Parameters
    ----------
    anchors, obstacles : arrays with two columns
        The points to name, most important first, and all points, in points from the lower left.
    box : pair of float
        The width and height of the panel.
    centre : array, optional
        Labels stand on the side of their point away from here, as at the tips of arrows.
    taken : tuple of Placed
        Labels that are there already.
    covers : bool
        Whether a label may stand upon points where there is no other place.

    Examples
    --------
    >>> here = np.array([[50.0, 50.0], [50.0, 50.0]])
    >>> [p.number for p in placed(here, ("first", "second"), here, (100.0, 100.0))]
    [0, 1]
    """
    rectangles = [_rectangle(p.x, p.y, p.width, p.height) for p in taken]
    found = []
    for i, text in enumerate(texts):
        w, h = width_of(text, size, is_bold=is_bold), HEIGHT * size
        places = _candidates(anchors[i], w, h, centre)
        for busy in (obstacles, NOWHERE) if covers else (obstacles,):
            place = _first_free(places, (w, h), box, rectangles, busy)
            if place is not None:
                rectangles.append(_rectangle(*place, w, h))
                found.append(Placed(i, *place, w, h))
                break
    return tuple(found)


NOWHERE = np.zeros((0, 2))
"""No points at all."""


def _first_free(
    places: Array,
    size: tuple[float, float],
    box: tuple[float, float],
    taken: list[Rectangle],
    obstacles: Array,
) -> tuple[float, float] | None:
    for x, y in places.tolist():
        rectangle = _rectangle(x, y, *size)
        if _fits(rectangle, box) and _is_free(rectangle, taken, obstacles):
            return x, y
    return None


def _rectangle(x: float, y: float, w: float, h: float) -> Rectangle:
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def _candidates(anchor: Array, w: float, h: float, centre: Array | None) -> Array:
    """Return places for the centre of a label, best first."""
    places = np.array(
        [
            (
                anchor[0] + s * (w / 2 + reach * GAP * (1 if t == 0 else 0.5)) * (s != 0),
                anchor[1] + t * (h / 2 + reach * GAP * (1 if s == 0 else 0.5)) * (t != 0),
            )
            for reach in REACH
            for s, t in SIDES
        ]
    )
    if centre is None:
        return places
    outward = anchor - centre
    length = float(np.hypot(*outward))
    if length == 0.0:
        return places
    direction = outward / length
    beyond = np.array(
        [anchor + direction * reach * GAP + direction * np.array([w / 2, h / 2]) for reach in REACH]
    )
    side = (places - anchor) @ direction
    order = np.argsort(-np.sign(np.round(side, 9)), kind="stable")  # outward, beside, inward
    return np.vstack([beyond, places[order]])


def _fits(r: Rectangle, box: tuple[float, float]) -> bool:
    return r[0] >= 0 and r[1] >= 0 and r[2] <= box[0] and r[3] <= box[1]


def _is_free(
    r: Rectangle,
    taken: list[Rectangle],
    obstacles: Array,
) -> bool:
    for t in taken:
        if r[0] < t[2] and t[0] < r[2] and r[1] < t[3] and t[1] < r[3]:
            return False
    x, y = obstacles[:, 0], obstacles[:, 1]
    edge = 2.0  # half a marker
    covered = (x > r[0] - edge) & (x < r[2] + edge) & (y > r[1] - edge) & (y < r[3] + edge)
    return not bool(covered.any())


def placements(
    panel: Panel, x: tuple[float, float], y: tuple[float, float], box: tuple[float, float]
) -> list[tuple[Labels, Placed]]:
    """Return the labels of a panel with their places, in points from its lower left corner."""
    low, span = np.array([x[0], y[0]]), np.array([x[1] - x[0], y[1] - y[0]])

    def at(px: Array, py: Array) -> Array:
        places: Array = (np.column_stack([px, py]) - low) / span * np.array(box)
        return places

    marks = [mark for mark in panel.marks if isinstance(mark, Labels)]
    solid = [at(m.x, m.y) for m in panel.marks if isinstance(m, Points | Arrows)]
    busy = np.vstack([*solid, np.zeros((0, 2))])
    origin = at(np.zeros(1), np.zeros(1))[0]
    found: list[tuple[Labels, Placed]] = []
    taken: list[Placed] = []
    for mark in marks:
        here = placed(
            at(mark.x, mark.y),
            tuple(cut(text) for text in mark.texts[: mark.most]),
            busy,
            box,
            size=mark.size,
            is_bold=mark.is_bold,
            centre=origin if mark.is_outward else None,
            taken=tuple(taken),
            covers=mark.covers,
        )
        taken += here
        found += [(mark, p) for p in here]
    return found
