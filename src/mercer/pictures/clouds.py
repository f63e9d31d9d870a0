"""Clouds of points: ellipses and hulls around groups, densities and samples of very many."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.display import spaced
from mercer.errors import InvalidParameter
from mercer.pictures.colours import Coloured, Scale
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Field
from mercer.settings import CONFIDENCE, confidence_of

Kind = Literal["concentration", "confidence"]

SIDES = 72
"""Corners of the polygon that stands for an ellipse."""

LINE = 1e-12
"""Of its longest variance a cloud that is a line has less across, as rounding leaves it."""

FLAT = 1e-10
"""A ratio of axes below which points lie on a line."""


ELLIPTIC = (0.15, 1.0)
"""How far distances may be from their law in an elliptic cloud: the second over √n is added."""


FEWEST = 6
"""Members from which on a cloud can be called elliptic: five points say nothing of its shape."""


class Ellipse(NamedTuple):
    """A closed line, or why there is none."""

    line: Array | None
    why_not: str = ""


def radius2(kind: Kind, confidence: float, n: float) -> float:
    r"""Return the squared Mahalanobis radius of an ellipse of n members.

    .. math:: \chi^2_{2}(q) = -2 \ln(1 - q), \qquad
        \frac{2(n-1)}{n(n-2)} F_{2,\,n-2}(q) = \frac{n-1}{n} \left((1-q)^{-2/(n-2)} - 1\right)

    The first holds a share q of a normal law, the second the mean with probability q (Hotelling).

    >>> radius2("concentration", 0.95, 10)
    5.991464547107979
    >>> from scipy.stats import f
    >>> radius2("confidence", 0.95, 10) / float(2 * 9 / (10 * 8) * f.ppf(0.95, 2, 8))
    1.0
    """
    if kind == "concentration":
        return float(-2.0 * np.log1p(-confidence))
    return float((n - 1.0) / n * np.expm1(-2.0 / (n - 2.0) * np.log1p(-confidence)))


def ellipse(
    points: Array,
    weights: Array | None = None,
    *,
    kind: Kind = "concentration",
    confidence: float = CONFIDENCE,
) -> Ellipse:
    r"""Return the ellipse of points in a plane.

    .. math:: \{x : (x - \bar x)^\top S^{-1} (x - \bar x) = r^2\}, \quad
        S = \frac{\sum_i w_i (x_i - \bar x)(x_i - \bar x)^\top}{1 - \sum_i w_i^2}

    with weights that sum to 1; equal ones give the divisor n - 1, others count as 1/Σw² members.

    >>> ellipse(np.array([[0.0, 0.0]])).why_not
    '1 individual'
    >>> square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> float(np.hypot(*ellipse(square).line[0])) ** 2 / radius2("concentration", 0.95, 4)
    1.3333333333
    """
    if kind not in ("concentration", "confidence"):
        raise InvalidParameter(f'ellipses must be "concentration" or "confidence", found {kind!r}')
    confidence = confidence_of(confidence)
    n = len(points)
    if n < 3:
        return Ellipse(None, f"{n} individual{'' if n == 1 else 's'}")
    centre, S, r2 = shape_of(points, weights, kind=kind, confidence=confidence)
    if not np.isfinite(r2):
        return Ellipse(None, "almost all weight on two individuals")
    return outline(centre, S, r2)


def shape_of(
    points: Array,
    weights: Array | None = None,
    *,
    kind: Kind = "concentration",
    confidence: float = CONFIDENCE,
) -> tuple[Array, Array, float]:
    """Return the mean, the covariance and the squared radius of the ellipse of some points.

    Points may have any number of columns: those of two axes make the ellipse on their plane. The
    radius is NaN for less than three points.
    """
    n, d = points.shape
    w = np.full(n, 1.0 / max(n, 1)) if weights is None else weights / (weights.sum() or 1.0)
    members = 1.0 / float(w @ w) if n else 0.0
    if n < 3 or members <= 2.0:
        return np.zeros(d), np.zeros((d, d)), np.nan
    centre: Array = w @ points
    gaps = points - centre
    S: Array = (gaps.T * w) @ gaps / (1.0 - w @ w)
    return centre, S, radius2(kind, confidence, members)


def outline(centre: Array, covariance: Array, radius2: float) -> Ellipse:
    """Return the points whose squared Mahalanobis distance from a centre is a squared radius.

    >>> outline(np.array([1.0, 0.0]), np.diag([4.0, 1.0]), 1.0).line[0].tolist()
    [1.0, 1.0]
    """
    values, vectors = np.linalg.eigh(covariance)
    if values[1] <= 0.0 or values[0] <= FLAT**2 * values[1]:
        return Ellipse(None, "all on one line")
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES + 1)
    circle = np.sqrt(radius2) * np.array([np.cos(angles), np.sin(angles)])
    line: Array = centre + (vectors @ (np.sqrt(values)[:, None] * circle)).T
    return Ellipse(line)


def is_elliptic(points: Array, weights: Array | None = None) -> bool:
    r"""Whether points in a plane lie roughly as a normal cloud does, so that an ellipse is true.

    The squared Mahalanobis distances of a normal cloud have the law :math:`1 - e^{-d^2/2}`; their
    greatest distance from it (Kolmogorov's) is at most 0.15 + 1/√n in a cloud that is called
    elliptic. A horseshoe and two clusters have no members near their mean, and are not; of fewer
    than six points nothing can be said.

    >>> t = np.linspace(-1.0, 1.0, 50)
    >>> is_elliptic(np.column_stack([t, t**2]))
    False
    >>> is_elliptic(np.random.default_rng(0).standard_normal((50, 2)))
    True
    """
    centre, S, radius = shape_of(points, weights)
    values = np.linalg.eigvalsh(S)
    if len(points) < FEWEST or not np.isfinite(radius) or values[0] <= LINE * values[1]:
        return False
    gaps = points - centre
    squares = np.sort(np.einsum("ij,ij->i", gaps @ np.linalg.inv(S), gaps))
    law, n = -np.expm1(-0.5 * squares), len(points)
    steps = np.arange(n + 1) / n
    away = max(float(np.max(steps[1:] - law)), float(np.max(law - steps[:-1])))
    return bool(away <= ELLIPTIC[0] + ELLIPTIC[1] / np.sqrt(n))


def hull(points: Array) -> Array:
    """Return the corners of the smallest convex region that holds points, the first one again.

    >>> hull(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.1], [1.0, 2.0]])).tolist()
    [[0.0, 0.0], [2.0, 0.0], [1.0, 2.0], [0.0, 0.0]]

    Andrew, Information Processing Letters 9 (1979) 216-219.
    """
    order = points[np.lexsort(points.T[::-1])].tolist()

    def chain(rows: list[list[float]]) -> list[list[float]]:
        found: list[list[float]] = []
        for x, y in rows:
            while len(found) > 1:
                (a, b), (c, d) = found[-2:]
                if (c - a) * (y - b) - (d - b) * (x - a) > 0:
                    break
                found.pop()
            found.append([x, y])
        return found[:-1]

    corners = chain(order) + chain(order[::-1])
    return np.array([*corners, corners[0]])


def density(xy: Array, limits: tuple[tuple[float, float], tuple[float, float]]) -> Field:
    """Return how many points lie in each cell, as log₁₀(1 + count)."""
    counts, x, y = np.histogram2d(xy[:, 0], xy[:, 1], bins=LIMITS.cells, range=limits)
    scale = Scale(np.log10(1.0 + counts.T), "individuals per cell, log₁₀(1 + n)", "density")
    return Field((x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2, scale, "density")


def sample_rows(groups: tuple[Array, ...], count: int = LIMITS.sample, seed: int = 0) -> Array:
    """Return rows drawn from each group in proportion to its size, at least one of each.

    >>> big, small = np.arange(990), np.arange(990, 1000)
    >>> rows = sample_rows((big, small), 100)
    >>> len(rows), int(np.sum(rows >= 990))
    (100, 1)
    """
    rng = np.random.default_rng(seed)
    total = sum(len(g) for g in groups)
    drawn = [
        rng.choice(g, min(len(g), max(1, round(count * len(g) / total))), replace=False)
        for g in groups
        if len(g)
    ]
    return np.sort(np.concatenate(drawn)) if drawn else np.zeros(0, int)


SHADED = "The shading is the density of all"
"""How the note of a map begins that does not draw everyone, which each such map has."""


def thin_crowd(colours: Coloured, count: int, rows: Array | None = None) -> tuple[Array, str]:
    """Return the rows of a crowd to draw, unless they are given, and the sentence that says so."""
    groups = tuple(g.rows for g in colours.groups) or (np.arange(count),)
    rows = sample_rows(groups) if rows is None else rows
    how = f"within each {colours.title or 'group'}" if len(groups) > 1 else "at random"
    return rows, (
        f"{SHADED} {spaced(count)} individuals; the points are a sample "
        f"of {spaced(len(rows))}, drawn {how}."
    )
