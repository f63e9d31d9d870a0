"""The room of a panel for labels: which places are free, and whose a reader would take them for."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from mercer.check import Array

GAP = 4.5
"""Typographic points between a point and its label."""

CLEARLY = 1.5
"""How many times as far as its own end all others are from a name without a line."""

APART = 2.0
"""How many gaps a name at the end of a line keeps from the ends of others."""

CROSSED = 4.0
"""How many gaps longer a line may be to cross the stem of one arrow less."""

PASSES = 1.0
"""How many gaps the line to a name keeps from them; ends closer than that are one for a reader."""

SAME = 0.5
"""Points closer than this, in typographic points, are one for a reader."""


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
    text: str = ""


def rectangle_of(place: Placed) -> Rectangle:
    """Return the room that a label takes."""
    return (
        place.x - place.width / 2,
        place.y - place.height / 2,
        place.x + place.width / 2,
        place.y + place.height / 2,
    )


class Tried(NamedTuple):
    """Places for one label, best first: their centres, its point, and whether lines lead there."""

    centres: Array
    width: float
    height: float
    anchor: Array
    is_led: bool = False

    @property
    def rectangles(self) -> Array:
        half = np.array([self.width / 2, self.height / 2])
        return np.hstack([self.centres - half, self.centres + half])

    @property
    def lines(self) -> Array:
        """The lines from the point to the nearest place of the edge of each label."""
        low, high = np.split(self.rectangles, 2, axis=1)
        begins = np.broadcast_to(self.anchor, low.shape)
        return np.hstack([begins, np.clip(begins, low, high)])

    def first(self, number: int, is_fit: Array, cost: Array | None = None) -> Placed | None:
        """Return the first place of those that fit, or the first that costs least."""
        if not is_fit.any():
            return None
        best = int(np.argmax(is_fit) if cost is None else np.argmin(np.where(is_fit, cost, np.inf)))
        x, y = self.centres[best].tolist()
        line = tuple(self.lines[best].tolist()) if self.is_led else None
        return Placed(number, x, y, self.width, self.height, line)


class Room(NamedTuple):
    """The places that a panel has taken: labels, points and lines, asked for all at once."""

    box: tuple[float, float]
    taken: list[Placed]
    obstacles: Array
    stems: Array
    rivals: Array

    def is_apart(self, tried: Tried) -> Array:
        """Whether a label is in the box, and away from all others and their lines."""
        r = tried.rectangles
        others = np.array([rectangle_of(other) for other in self.taken]).reshape(-1, 4)
        led = [other.line for other in self.taken if other.line is not None]
        lines = np.array(led).reshape(-1, 4)
        is_outside = (r[:, :2] < 0).any(axis=1) | (r[:, 2:] > np.array(self.box)).any(axis=1)
        low, high = r[:, None, :2], r[:, None, 2:]
        overlaps: Array = np.all((low < others[:, 2:]) & (others[:, :2] < high), axis=2)
        is_over = overlaps.any(axis=1) | meets(lines, r).any(axis=1)
        apart: Array = np.logical_not(is_outside | is_over)
        if tried.is_led:
            own = tried.lines
            apart &= ~meets(own, others).any(axis=0)
            apart &= ~cross(own[:, None], lines[None]).any(axis=1)
        return apart

    def is_clear(self, tried: Tried) -> Array:
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

    def is_free(self, tried: Tried) -> Array:
        """Whether a label is away from all others, all points and stems."""
        free: Array = self.is_apart(tried) & self.is_clear(tried) & self.is_off_stems(tried)
        return free

    def is_off_stems(self, tried: Tried) -> Array:
        return np.logical_not(meets(self.stems, tried.rectangles).any(axis=1))

    def cost(self, tried: Tried) -> Array:
        """Return how many gaps long a line is, and more for each stem of others that it meets."""
        others = self.stems[gaps(self.stems[:, 2:], tried.anchor[None])[:, 0] > SAME]
        crossed = cross(tried.lines[:, None], others[None]).sum(axis=1)
        length = np.hypot(*(tried.lines[:, 2:] - tried.lines[:, :2]).T) / GAP
        cost: Array = np.round(length + CROSSED * crossed, 6)
        return cost

    def others_than(self, anchor: Array) -> tuple[Array, Array]:
        """Return the points that a name could be taken for, and how far they are from its own."""
        away = np.hypot(*(self.rivals - anchor).T)
        return self.rivals[away > SAME], away[away > SAME]

    def is_nearest(self, tried: Tried) -> Array:
        """Whether a label is clearly nearer to its own point than to any other."""
        others, _ = self.others_than(tried.anchor)
        own = gaps(tried.rectangles, tried.anchor[None])
        nearest: Array = np.all(gaps(tried.rectangles, others) > CLEARLY * own, axis=1)
        return nearest

    def is_alone(self, tried: Tried) -> Array:
        """Whether a label that a line leads to, and the line, are away from all other points."""
        others, away = self.others_than(tried.anchor)
        is_beside: Array = np.all(gaps(tried.rectangles, others) > APART * GAP, axis=1)
        parted = others[away > PASSES * GAP]
        return is_beside & (passes(tried.lines, parted) > PASSES * GAP).all(axis=1)


def gaps(rectangles: Array, points: Array) -> Array:
    """Return how far points, in columns, are from rectangles, or from points, in rows.

    >>> gaps(np.array([[0.0, 0.0, 2.0, 1.0]]), np.array([[1.0, 0.5], [5.0, 5.0]])).tolist()
    [[0.0, 5.0]]
    """
    low, high = rectangles[:, None, :2], rectangles[:, None, -2:]
    away: Array = np.hypot(*np.moveaxis(points - np.clip(points, low, high), -1, 0))
    return away


def passes(lines: Array, points: Array) -> Array:
    """Return how near segments, in rows, pass points, in columns.

    >>> passes(np.array([[0.0, 0.0, 4.0, 0.0]]), np.array([[2.0, 1.0], [7.0, 4.0]])).tolist()
    [[1.0, 5.0]]
    """
    begins, ways = lines[:, None, :2], (lines[:, 2:] - lines[:, :2])[:, None]
    squares = np.maximum((ways**2).sum(axis=-1), 1e-12)
    at = np.clip(((points - begins) * ways).sum(axis=-1) / squares, 0.0, 1.0)
    away: Array = np.hypot(*np.moveaxis(points - begins - at[..., None] * ways, -1, 0))
    return away


def meets(lines: Array, rectangles: Array) -> Array:
    """Whether segments, in columns, meet rectangles, in rows (Liang and Barsky).

    >>> two = np.array([[1.0, 0.0, 2.0, 1.5], [3.0, 0.0, 4.0, 1.0]])
    >>> meets(np.array([[0.0, 0.0, 4.0, 4.0]]), two).tolist()
    [[True], [False]]
    """
    begins, ways = lines[:, :2], lines[:, 2:] - lines[:, :2]
    low, high = rectangles[:, None, :2], rectangles[:, None, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (low - begins) / ways, (high - begins) / ways
    still, inside = ways == 0, (begins > low) & (begins < high)
    first = np.where(still, np.where(inside, -np.inf, np.inf), np.minimum(one, other))
    last = np.where(still, np.where(inside, np.inf, -np.inf), np.maximum(one, other))
    is_met: Array = np.maximum(first.max(axis=2), 0.0) < np.minimum(last.min(axis=2), 1.0)
    return is_met


def cross(one: Array, other: Array) -> Array:
    """Whether two segments cross, pair by pair; those that lead from one point do not.

    >>> flat, rising = np.array([0.0, 2.0, 2.0, 0.0]), np.array([0.0, 0.0, 2.0, 2.0])
    >>> bool(cross(rising, flat)), bool(cross(rising, np.array([0.0, 0.0, 2.0, 0.0])))
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
