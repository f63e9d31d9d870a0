"""Words beside points without overlap: greedy, most important first, the same every time."""

from __future__ import annotations

import unicodedata

import numpy as np

from mercer.check import Array
from mercer.pictures.label_room import GAP, Placed, Room, Tried
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Arrows, Labels, Markers, Panel

WIDTH = {"small": 0.6, "capital": 0.75, "wide": 1.1}
"""The widths of letters in sizes of their font; a little more than DejaVu's, to be safe."""

HEIGHT = 1.2
"""The height of a line in sizes of its font."""

REACH = (1.0, 2.2, 3.6)
"""How many gaps away a label may stand, nearest first."""

FAR = (5.0, 7.0, 9.5, 12.5, 16.0, 20.0, 25.0, 31.0)
"""How many gaps away a label may stand at the end of a line, nearest first."""

WAYS = (0.0, 1.0, 0.5, 1.5, 0.25, 0.75, 1.25, 1.75, 0.12, 0.88, 1.12, 1.88, 0.38, 0.62, 1.38, 1.62)
"""Where such a label stands, in half turns from the right."""

ALWAYS = 5
"""Names, the most important ones, that stand upon points rather than nowhere."""

LONG = 21.0
"""How many gaps long, stems counted, lines of the first names are before they stand upon points."""

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Right, left, above, below, then the corners."""


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
    rivals: Array | None = None,
) -> tuple[Placed, ...]:
    """Return the labels that fit into a box without covering a point or one another.

    Long texts are cut, unless there is room for all of one where all others stand.

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
        Whether every label may stand further away, at the end of a line, as the first few may, and
        these upon points where there is no other place.
    rivals : array with two columns, optional
        Points, own ones among them, that a reader could take a name for. One that ``covers`` is
        clearly nearer to its own than to any other, or has a line; others are where they can.

    Examples
    --------
    >>> here = np.array([[50.0, 50.0], [50.0, 50.0]])
    >>> [p.number for p in place_labels(here, ("first", "second"), here, (100.0, 100.0))]
    [0, 1]
    """
    nowhere = np.zeros((0, 4))
    of_others = np.zeros((0, 2)) if rivals is None else rivals
    stems = nowhere if stems is None else stems
    room = Room(box, list(taken), obstacles, stems, of_others)
    found: list[Placed] = []
    for i, text in enumerate(map(cut, texts)):
        w, h = width_of(text, size, is_bold=is_bold), HEIGHT * size
        near = Tried(_candidates(anchors[i], w, h, centre), w, h, anchors[i])
        is_own = room.is_nearest(near)
        is_free = room.is_free(near)
        place = near.first(i, is_free & is_own)
        if place is None and not covers:
            place = near.first(i, is_free)
        if place is None and (covers or len(found) < ALWAYS):
            far = Tried(_away(anchors[i], w, h, centre), w, h, anchors[i], is_led=True)
            is_open = room.is_apart(far) & room.is_alone(far)
            is_clear = is_open & room.is_clear(far)
            cost = room.cost(far)
            is_upon = len(found) < ALWAYS
            place = far.first(i, is_clear & room.is_off_stems(far) & (cost <= LONG), cost)
        if place is None and covers:
            if is_upon:
                is_apart = room.is_apart(near) & is_own
                place = near.first(i, is_apart & room.is_clear(near)) or near.first(i, is_apart)
            place = place or far.first(i, is_clear & room.is_off_stems(far), cost)
            if place is None and is_upon:
                place = far.first(i, is_clear, cost) or far.first(i, is_open, cost)
        if place is not None:
            found.append(place._replace(text=text))
            room.taken.append(found[-1])
    for k, place in enumerate(found):
        text = cut(texts[place.number], LIMITS.long_letters)
        if len(text) <= len(place.text) or place.line is not None:
            continue
        w, at = width_of(text, size, is_bold=is_bold), anchors[place.number]
        room.taken.remove(place)
        near = Tried(_candidates(at, w, place.height, centre), w, place.height, at)
        is_free = room.is_free(near)
        longer = near.first(place.number, is_free & room.is_nearest(near))
        if longer is None and not covers:
            longer = near.first(place.number, is_free)
        found[k] = place if longer is None else longer._replace(text=text)
        room.taken.append(found[k])
    return tuple(found)


def _away(anchor: Array, w: float, h: float, centre: Array | None) -> Array:
    """Return places further away from a point, all around, nearest first, and outward first."""
    turns = np.pi * np.array(WAYS)
    around = np.column_stack([np.cos(turns), np.sin(turns)])
    if centre is not None:
        around = around[np.argsort(-np.round(around @ (anchor - centre), 9), kind="stable")]
    rings = [anchor + around * (np.array([w / 2, h / 2]) + reach * GAP) for reach in FAR]
    return np.vstack(rings)


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
    solid = [mark for mark in panel.marks if isinstance(mark, Markers | Arrows)]
    kinds = {mark.ids.of for mark in marks if mark.covers and mark.ids is not None}
    few = [m for m in solid if isinstance(m, Arrows) or (m.ids is not None and m.ids.of in kinds)]
    busy, ends = (
        np.vstack([*(at(m.x, m.y) for m in some), np.zeros((0, 2))]) for some in (solid, few)
    )
    ends = ends[np.isfinite(ends).all(axis=1)]
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
            tuple(mark.texts[i] for i in seen),
            busy,
            box,
            size=mark.size,
            is_bold=mark.is_bold,
            centre=origin if mark.is_outward else None,
            taken=tuple(taken),
            stems=stems,
            covers=mark.covers,
            rivals=ends if mark.covers else busy[np.isfinite(busy).all(axis=1)],
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
    corners = Tried(np.array(places), w, h, np.zeros(2))
    no_points = np.zeros((0, 2))
    room = Room(box, [place for _, place in found], no_points, np.zeros((0, 4)), no_points)
    return said, corners.first(0, room.is_apart(corners)) or Placed(0, *places[0], w, h)
