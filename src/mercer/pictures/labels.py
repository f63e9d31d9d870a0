"""Words beside points without overlap: greedy, most important first, the same every time."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple, TypeAlias

import numpy as np

from mercer.check import Array
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Arrows, Labels, Markers, Panel

WIDTH = {"small": 0.6, "capital": 0.75, "wide": 1.1}
"""The widths of letters in sizes of their font; a little more than DejaVu's, to be safe."""

HEIGHT = 1.2
"""The height of a line in sizes of its font."""

GAP = 4.5
"""Typographic points between a point and its label."""

REACH = (1.0, 2.2, 3.6)
"""How many gaps away a label may stand, nearest first."""

FAR = (5.0, 7.0, 9.5, 12.5, 16.0, 20.0)
"""How many gaps away a label may stand at the end of a line, nearest first."""

WAYS = (0.0, 1.0, 0.5, 1.5, 0.25, 0.75, 1.25, 1.75, 0.12, 0.88, 1.12, 1.88, 0.38, 0.62, 1.38, 1.62)
"""Where such a label stands, in half turns from the right."""

ALWAYS = 5
"""Names, the most important ones, that stand upon points rather than nowhere."""

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Right, left, above, below, then the corners."""


Rectangle: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right, top."""


class Placed(NamedTuple):
    """A label that found a place: its number, and its centre in points from the lower left.

    A line leads from its point to one that stands further away: where it begins and ends.
    """

    number: int
    x: float
    y: float
    width: float
    height: float
    line: Rectangle | None = None


FEWEST_LETTERS = 4
"""Letters of the name of a factor that are left before its level, with the mark of the cut."""


def cut(name: str, longest: int = LIMITS.letters) -> str:
    """Return a name that fits beside a point; a level stays, or a number in brackets behind it.

    >>> cut("an individual of a long name, 24")
    'an individual of a long…'
    >>> cut("treatment_at_the_second_visit=low")
    'treatment_at_the_se…=low'
    >>> cut("creatinine_umol_L (p = 0.01)")
    'creatinine_u… (p = 0.01)'
    """
    if len(name) <= longest:
        return name
    at = name.rfind("=")
    if at > 0 and name[at - 1] == " ":  # of a number in brackets, (p = 0.01)
        at = name.rfind(" (", 0, at)
    end = name[at:] if at >= 0 else ""
    room = longest - len(end)
    if end and room >= FEWEST_LETTERS:
        return f"{name[: room - 1]}…{end}"
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


def place_labels(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    anchors: Array,
    texts: tuple[str, ...],
    obstacles: Array,
    box: tuple[float, float],
    *,
    size: float = 8.0,
    is_bold: bool = False,
    centre: Array | None = None,
    taken: tuple[Placed, ...] = (),
    stems: Array | None = None,
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
    stems : array with four columns, optional
        Lines that labels do not cross: where they begin, and where they end.
    covers : bool
        Whether a label may stand further away, at the end of a line, and the first few upon points
        where there is no other place.

    Examples
    --------
    >>> here = np.array([[50.0, 50.0], [50.0, 50.0]])
    >>> [p.number for p in place_labels(here, ("first", "second"), here, (100.0, 100.0))]
    [0, 1]
    """
    room = _Room(box, list(taken), obstacles, np.zeros((0, 4)) if stems is None else stems)
    found: list[Placed] = []
    for i, text in enumerate(texts):
        w, h = width_of(text, size, is_bold=is_bold), HEIGHT * size
        near = _Tried(_candidates(anchors[i], w, h, centre), w, h)
        place = near.first(i, room.is_free(near))
        if place is None and covers:
            far = _Tried(_away(anchors[i], w, h), w, h, anchors[i])
            place = far.first(i, room.is_free(far))
            if place is None and len(found) < ALWAYS:
                is_apart = room.is_apart(near)
                place = near.first(i, is_apart & room.is_clear(near)) or near.first(i, is_apart)
        if place is not None:
            room.taken.append(place)
            found.append(place)
    return tuple(found)


class _Tried(NamedTuple):
    """Places for one label, best first: their centres, and its point where lines lead to it."""

    centres: Array
    width: float
    height: float
    anchor: Array | None = None

    @property
    def rectangles(self) -> Array:
        half = np.array([self.width / 2, self.height / 2])
        return np.hstack([self.centres - half, self.centres + half])

    @property
    def lines(self) -> Array:
        """The lines from the point to the nearest place of the edge of each label."""
        if self.anchor is None:
            return np.zeros((0, 4))
        low, high = np.split(self.rectangles, 2, axis=1)
        begins = np.broadcast_to(self.anchor, low.shape)
        return np.hstack([begins, np.clip(begins, low, high)])

    def first(self, number: int, is_fit: Array) -> Placed | None:
        """Return the first place of those that fit."""
        if not is_fit.any():
            return None
        best = int(np.argmax(is_fit))
        x, y = self.centres[best].tolist()
        line = None if self.anchor is None else tuple(self.lines[best].tolist())
        return Placed(number, x, y, self.width, self.height, line)


class _Room(NamedTuple):
    """The places that a panel has taken: labels, points and lines, asked for all at once."""

    box: tuple[float, float]
    taken: list[Placed]
    obstacles: Array
    stems: Array

    def is_apart(self, tried: _Tried) -> Array:
        """Whether a label is in the box, and away from all others and their lines."""
        r = tried.rectangles
        others = np.array([rectangle_of(other) for other in self.taken]).reshape(-1, 4)
        led = [other.line for other in self.taken if other.line is not None]
        lines = np.array(led).reshape(-1, 4)
        is_outside = (r[:, :2] < 0).any(axis=1) | (r[:, 2:] > np.array(self.box)).any(axis=1)
        low, high = r[:, None, :2], r[:, None, 2:]
        overlaps: Array = np.all((low < others[:, 2:]) & (others[:, :2] < high), axis=2)
        is_over = overlaps.any(axis=1) | _meets(lines, r).any(axis=1)
        apart: Array = np.logical_not(is_outside | is_over)
        if tried.anchor is not None:
            own = tried.lines
            apart &= ~_meets(own, others).any(axis=0)
            apart &= ~_cross(own[:, None], lines[None]).any(axis=1)
        return apart

    def is_clear(self, tried: _Tried) -> Array:
        """Whether a label is away from all points."""
        edge = 2.0  # half a marker
        low, high = np.split(tried.rectangles, 2, axis=1)
        low, high = low - edge, high + edge
        at = self.obstacles
        at = at[((at > low.min(axis=0)) & (at < high.max(axis=0))).all(axis=1)]
        covered = np.ones((len(low), len(at)), bool)
        for k in range(2):
            covered &= (at[:, k] > low[:, k, None]) & (at[:, k] < high[:, k, None])
        clear: Array = np.logical_not(covered.any(axis=1))
        return clear

    def is_free(self, tried: _Tried) -> Array:
        """Whether a label is away from all others, all points and stems."""
        is_clear = self.is_apart(tried) & self.is_clear(tried)
        free: Array = is_clear & ~_meets(self.stems, tried.rectangles).any(axis=1)
        return free


def _away(anchor: Array, w: float, h: float) -> Array:
    """Return places further away from a point, all around, nearest first."""
    turns = np.pi * np.array(WAYS)
    around = np.column_stack([np.cos(turns), np.sin(turns)])
    rings = [anchor + around * (np.array([w / 2, h / 2]) + reach * GAP) for reach in FAR]
    return np.vstack(rings)


def _meets(lines: Array, rectangles: Array) -> Array:
    """Whether segments, in columns, meet rectangles, in rows (Liang and Barsky).

    >>> two = np.array([[1.0, 0.0, 2.0, 1.5], [3.0, 0.0, 4.0, 1.0]])
    >>> _meets(np.array([[0.0, 0.0, 4.0, 4.0]]), two).tolist()
    [[True], [False]]
    """
    begins, ways = lines[:, :2], lines[:, 2:] - lines[:, :2]
    low, high = rectangles[:, None, :2], rectangles[:, None, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (low - begins) / ways, (high - begins) / ways
    still, inside = ways == 0, (begins > low) & (begins < high)
    first = np.where(still, np.where(inside, -np.inf, np.inf), np.minimum(one, other))
    last = np.where(still, np.where(inside, np.inf, -np.inf), np.maximum(one, other))
    meets: Array = np.maximum(first.max(axis=2), 0.0) < np.minimum(last.min(axis=2), 1.0)
    return meets


def _cross(one: Array, other: Array) -> Array:
    """Whether two segments cross, pair by pair; those that lead from one point do not.

    >>> flat, rising = np.array([0.0, 2.0, 2.0, 0.0]), np.array([0.0, 0.0, 2.0, 2.0])
    >>> bool(_cross(rising, flat)), bool(_cross(rising, np.array([0.0, 0.0, 2.0, 0.0])))
    (True, False)
    """

    def side(line: Array, at: Array) -> Array:
        way, off = line[..., 2:] - line[..., :2], at - line[..., :2]
        turn: Array = np.sign(way[..., 0] * off[..., 1] - way[..., 1] * off[..., 0])
        return turn

    is_parted = side(one, other[..., :2]) != side(one, other[..., 2:])
    is_parting = side(other, one[..., :2]) != side(other, one[..., 2:])
    crosses: Array = is_parted & is_parting & (one[..., :2] != other[..., :2]).any(axis=-1)
    return crosses


def rectangle_of(place: Placed) -> Rectangle:
    """Return the room that a label takes."""
    return (
        place.x - place.width / 2,
        place.y - place.height / 2,
        place.x + place.width / 2,
        place.y + place.height / 2,
    )


def _candidates(anchor: Array, w: float, h: float, centre: Array | None) -> Array:
    """Return places for the centre of a label, best first."""
    sides = np.array(SIDES, float)
    shares = np.where(sides[:, ::-1] == 0, 1.0, 0.5)  # of the gap, less of it at a corner
    half = np.array([w / 2, h / 2])
    places = np.vstack([anchor + sides * (half + reach * GAP * shares) for reach in REACH])
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


def placements(
    panel: Panel, x: tuple[float, float], y: tuple[float, float], box: tuple[float, float]
) -> list[tuple[Labels, Placed]]:
    """Return the labels of a panel with their places, in points from its lower left corner."""

    def at(px: Array, py: Array) -> Array:
        return _in_box(px, py, x, y, box)

    marks = [mark for mark in panel.marks if isinstance(mark, Labels)]
    solid = [at(m.x, m.y) for m in panel.marks if isinstance(m, Markers | Arrows)]
    busy = np.vstack([*solid, np.zeros((0, 2))])
    origin = at(np.zeros(1), np.zeros(1))[0]
    tips = np.vstack(
        [*(at(m.x, m.y) for m in panel.marks if isinstance(m, Arrows)), np.zeros((0, 2))]
    )
    stems = np.column_stack([np.broadcast_to(origin, tips.shape), tips])
    found: list[tuple[Labels, Placed]] = []
    taken: list[Placed] = []
    for mark in marks:
        anchors = at(mark.x, mark.y)
        seen = _seen(anchors, box)[: mark.most]
        here = place_labels(
            anchors[seen],
            tuple(cut(mark.texts[i]) for i in seen),
            busy,
            box,
            size=mark.size,
            is_bold=mark.is_bold,
            centre=origin if mark.is_outward else None,
            taken=tuple(taken),
            stems=stems,
            covers=mark.covers,
        )
        taken += here
        found += [(mark, p._replace(number=seen[p.number])) for p in here]
    return found


def _in_box(
    px: Array, py: Array, x: tuple[float, float], y: tuple[float, float], box: tuple[float, float]
) -> Array:
    """Return places in points from the lower left corner of a panel with some limits."""
    low, span = np.array([x[0], y[0]]), np.array([x[1] - x[0], y[1] - y[0]])
    places: Array = (np.column_stack([px, py]) - low) / span * np.array(box)
    return places


def _seen(anchors: Array, box: tuple[float, float]) -> list[int]:
    """Return which points are in a panel; one that is not finite is nowhere."""
    edge = 1e-6  # of rounding
    inside = (anchors >= -edge) & (anchors <= np.array(box) + edge)
    seen: list[int] = np.flatnonzero(inside.all(axis=1)).tolist()
    return seen


SMALL = 8.0
"""The size of the letters that say how many names have no room."""


def names_left_out(
    panel: Panel,
    found: list[tuple[Labels, Placed]],
    x: tuple[float, float],
    y: tuple[float, float],
    box: tuple[float, float],
) -> tuple[str, Placed]:
    """Return how many names have no room, "" if all have, and a free corner to say it in.

    Names of individuals are not counted: a caption says that some are named. Nor are those of
    points that the panel does not show.
    """
    marks = [mark for mark in panel.marks if isinstance(mark, Labels) and mark.covers]
    seen = [_seen(_in_box(mark.x, mark.y, x, y, box), box) for mark in marks]
    count = sum(min(len(one), mark.most) for one, mark in zip(seen, marks, strict=True))
    count -= sum(mark.covers for mark, _ in found)
    said = "1 name has no room" if count == 1 else f"{count} names have no room" if count else ""
    w, h = width_of(said, SMALL) + SMALL, 1.5 * SMALL
    places = [(box[0] - w / 2, h / 2), (w / 2, h / 2), (box[0] - w / 2, box[1] - h / 2)]
    corners = _Tried(np.array(places), w, h)
    room = _Room(box, [place for _, place in found], np.zeros((0, 2)), np.zeros((0, 4)))
    return said, corners.first(0, room.is_apart(corners)) or Placed(0, *places[0], w, h)
