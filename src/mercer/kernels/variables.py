"""Kernels on one variable of a table: numbers in units of their spread, categories, ordinals."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer.check import (
    Array,
    Points,
    array_like,
    as_numpy,
    is_missing,
    members,
    vectors,
)
from mercer.errors import Advice, InvalidInput, InvalidParameter, Row
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.counts import Counted, Counts, Remembered, factors_of_features, tally
from mercer.kernels.pairs import Pairs
from mercer.kernels.point_pairs import as_lists, hashable
from mercer.kernels.radial import positive
from mercer.kernels.vectors import broadcast_y
from mercer.settings import number, numbers

POLICIES = ("error", "level")
"""What becomes of a missing category: refused, or a level of its own."""

OBSERVED = "observed"
"""The rule that takes shares of categories from data."""


def _numbers_or_none(v: Any, name: str) -> tuple[float, ...] | None:
    return None if v is None else numbers(v, name, number)


def _positive_or_none(v: Any, name: str) -> tuple[float, ...] | None:
    return None if v is None else numbers(v, name, positive)


@dataclass(frozen=True)
class Standardise:
    """The map x ↦ (x - centre)/scale, coordinate by coordinate."""

    centre: tuple[float, ...]
    scale: tuple[float, ...]

    def __call__(self, x: Points) -> Array:
        rows = vectors(x)
        if rows.shape[1] != len(self.centre):
            raise InvalidInput(
                f"the points have {rows.shape[1]} coordinates, and {len(self.centre)} were "
                "standardised"
            )
        centre, scale = (array_like(v, rows) for v in (self.centre, self.scale))
        standard: Array = (rows - centre) / scale
        return standard


MOST_LEVELS = 64
"""Levels of an ordinal up to which those that were reached are features."""


@value
class Standardised(Kernel):
    r"""The inner product of vectors in units of the standard deviations of their coordinates.

    .. math:: k(x, y) = \sum_j \frac{(x_j - m_j)(y_j - m_j)}{s_j^2}

    ``centre`` m and ``scale`` s are the means and standard deviations (divisor n) of the data
    where they are not given, weighted where a model weighs its individuals. Its kernel principal
    components are those of standardised variables; ``Standardised().gaussian("median")`` is a
    Gaussian kernel that no unit of measurement changes.

    Points are real vectors; ``centre`` and ``scale`` > 0 have a number for each coordinate.

    >>> Standardised(centre=[1.0, 0.0], scale=[2.0, 1.0])([[3.0, 1.0]], [[5.0, 4.0]])
    array([[6.]])
    >>> Standardised().resolve([[0.0], [4.0]])
    Standardised(centre=[2.0], scale=[2.0])

    Kroese et al., Example 6.4, of standardised vectors.
    """

    centre: Sequence[float] | None = None
    scale: Sequence[float] | None = None
    domain: ClassVar[Domain] = {"centre": _numbers_or_none, "scale": _positive_or_none}
    theorem: ClassVar[str] = "the inner product of standardised vectors"
    is_vectorial: ClassVar[bool] = True

    @property
    def is_affine(self) -> bool:
        return True

    @property
    def has_factors(self) -> bool:
        return True

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        return factors_of_features(self, pairs)

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if self.centre and self.scale and len(self.centre) != len(self.scale):
            raise InvalidParameter(
                f"there are {len(self.centre)} centres and {len(self.scale)} scales"
            )

    @property
    def is_of_mixed_data(self) -> bool:
        return self.scale is None or len(self.scale) == 1

    def resolve_rules(self, x: Points, weights: Array | None) -> Kernel:
        if self.centre is not None and self.scale is not None:
            return self
        rows = as_numpy(vectors(x))
        largest = np.max(np.abs(rows), axis=0, initial=0.0)
        unit = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))
        shares = rows / unit  # exactly, and their squares are doubles
        mean = np.average(shares, axis=0, weights=weights)
        mean += np.average(shares - mean, axis=0, weights=weights)
        spread = np.sqrt(np.average((shares - mean) ** 2, axis=0, weights=weights))
        # Rounding makes something of the deviation of equal numbers: √n u, and a bit more.
        is_constant = spread <= 4.0 * np.finfo(float).eps * np.sqrt(len(rows))
        if self.scale is None and np.any(is_constant):
            raise InvalidInput(
                f"coordinate {int(np.argmax(is_constant))} is constant and has no standard "
                "deviation; leave it out"
            )
        return replace(
            self,
            centre=tuple((unit * mean).tolist()) if self.centre is None else self.centre,
            scale=tuple((unit * spread).tolist()) if self.scale is None else self.scale,
        )

    @property
    def _map(self) -> Standardise:
        if self.centre is None or self.scale is None:
            raise InvalidParameter(
                "what standardises depends on data: call k.resolve(x) first, or give centre and "
                "scale"
            )
        return Standardise(tuple(self.centre), tuple(self.scale))

    def evaluate(self, pairs: Pairs) -> Array:
        return pairs.mapped(self._map).inner()

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return pairs.squared_distance(self._map.scale)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        standard = pairs.mapped(self._map)
        x, y = standard.vectors
        scale = standard.array(self._map.scale)
        left, right = pairs.of_x(x), pairs.of_y(y)
        return {"centre": -(left + right) / scale, "scale": -2.0 * left * right / scale}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        standard = pairs.mapped(self._map)
        scale = standard.array(self._map.scale)
        return broadcast_y(standard, standard.vectors[1] / scale)

    def features(self, x: Points) -> Array:
        return self._map(x)


def levels_or_none(v: Any, name: str) -> tuple[Hashable, ...] | None:
    """Return different levels of a category, in order, or None."""
    if v is None:
        return None
    if isinstance(v, str) or not isinstance(v, Iterable):
        raise InvalidParameter(f"{name} must be a sequence of levels, found {v!r}")
    levels = tuple(hashable(level) for level in members(as_lists(v)))
    if not levels or len(set(levels)) != len(levels):
        raise InvalidParameter(f"{name} must be different levels, at least one, found {v!r}")
    return levels


def _shares(v: Any, name: str) -> tuple[float, ...] | str | None:
    if isinstance(v, str) and v != OBSERVED:
        raise InvalidParameter(f"{name} are numbers or {OBSERVED!r}, found {v!r}")
    return v if isinstance(v, str) else _positive_or_none(v, name)


def missing_word(v: Any, name: str) -> str:
    """Return what becomes of a missing category."""
    if not isinstance(v, str) or v not in POLICIES:
        raise InvalidParameter(f"{name} must be one of {', '.join(POLICIES)}, found {v!r}")
    return str(v)


def _unknown_word(v: Any, name: str) -> str | None:
    if v not in (None, "error", "zero"):
        raise InvalidParameter(f"{name} must be 'error', 'zero' or None, found {v!r}")
    return None if v is None else str(v)


def _unknown(i: int, label: Hashable) -> InvalidInput:
    return InvalidInput(f"{Row(i)} is {label!r}, which is none of the levels", Row(i))


def labels_of(points: Points, *, missing: str = "error") -> list[Hashable]:
    """Return points as labels, None where one is missing, which must be allowed."""
    labels: list[Hashable] = []
    for i, point in enumerate(members(listed_labels(points))):
        is_hole = is_missing(point)
        if is_hole and missing == "error":
            level = Advice("missing", "level", "Category(missing='level')")
            raise InvalidInput(
                f"{Row(i)} has no category; leave the row out, or make what is missing a level of "
                f"its own: {level}",
                level,
                Row(i),
            )
        labels.append(None if is_hole else hashable(point))
    return labels


def listed_labels(points: Points) -> Points:
    """Return arrays as lists, numbers among which may be missing."""
    is_array = hasattr(points, "ndim")
    rows: Points = as_numpy(points).tolist() if is_array else points
    return rows


@value
class Category(Counted):
    r"""One for equal categories and zero for others, or one over a category's share.

    .. math:: k(a, b) = 1_{a = b} \quad\text{or}\quad k(a, b) = \frac{1_{a = b}}{p_a}

    With ``shares="observed"``, p is how often a category occurs in the data, weighted where a model
    weighs its individuals: distances are then those of multiple correspondence analysis, in which
    rare categories lie far out. Other categories than the ``levels`` are refused, or have the
    feature 0 with ``unknown="zero"``, which is the default where the levels are those of the data:
    then new points may have others, as individuals without weight. ``missing="level"`` makes one
    category of all that is missing.

    Points are labels, hashable; ``levels`` are different labels, ``shares`` > 0 one for each, or
    ``"observed"``; ``missing`` is ``"error"`` or ``"level"``, ``unknown`` ``"error"`` or
    ``"zero"``.

    >>> Category()(["a", "b"], ["b"])
    array([[0.],
           [1.]])
    >>> k = Category(shares="observed").resolve(["a", "b", "b", "b"])
    >>> k(["a", "b"])
    array([[4.        , 0.        ],
           [0.        , 1.33333333]])

    Pagès, Multiple factor analysis by example using R, 2014, chapter 3.
    """

    levels: Sequence[Hashable] | None = None
    shares: Sequence[float] | str | None = None
    missing: str = "error"
    unknown: str | None = None
    domain: ClassVar[Domain] = {
        "levels": levels_or_none,
        "shares": _shares,
        "missing": missing_word,
        "unknown": _unknown_word,
    }
    theorem: ClassVar[str] = "different categories have orthogonal features"

    @property
    def takes_missing(self) -> bool:
        return self.missing == "level"

    def with_missing_level(self) -> Kernel:
        return replace(self, missing="level")

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if isinstance(self.shares, tuple) and len(self.shares) != len(self.levels or ()):
            raise InvalidParameter(
                f"there are {len(self.shares)} shares of {len(self.levels or ())} levels"
            )

    @property
    def is_of_mixed_data(self) -> bool:
        return self.shares is not None

    def resolve_rules(self, x: Points, weights: Array | None) -> Kernel:
        if self.shares != OBSERVED:
            return self
        labels = labels_of(x, missing=self.missing)
        seen = labels if weights is None else [v for v, w in zip(labels, weights, strict=True) if w]
        levels = self.levels or tuple(sorted(set(seen), key=lambda v: (v is None, repr(v))))
        places = {level: place for place, level in enumerate(levels)}
        of_rows = np.array([places.get(label, len(levels)) for label in labels], np.intp)
        counts = np.bincount(of_rows, weights, len(levels) + 1)
        for level, count in zip(levels, counts.tolist(), strict=False):
            if count == 0:
                raise InvalidInput(f"the level {level!r} does not occur, and has no share")
        shares = tuple((counts / counts.sum())[:-1].tolist())
        unknown = self.unknown or ("zero" if self.levels is None else "error")
        return replace(self, levels=levels, shares=shares, unknown=unknown)

    def _labels(self, points: Points) -> list[Hashable]:
        """Return categories, each of them one of the levels if there are any."""
        labels = labels_of(points, missing=self.missing)
        if self.unknown == "zero":
            return labels
        known = set(labels if self.levels is None else self.levels)
        strange = next((i for i, v in enumerate(labels) if v not in known), None)
        if strange is not None:
            raise _unknown(strange, labels[strange])
        return labels

    def counts(self, points: list[Any]) -> Counts:
        labels, inverse = self._labels(points), self._inverse()
        is_open = self.levels is None or self.unknown != "zero"
        levels = [*(self.levels or ()), *(labels if is_open else ())]
        places = {v: i for i, v in enumerate(dict.fromkeys(levels))}
        rows = [i for i, v in enumerate(labels) if v in places]
        columns = np.array([places[labels[i]] for i in rows], np.int64)
        table = tally(np.array(rows, np.int64), columns, (len(labels), len(places)))
        return Counts.of(table, inverse)

    def sides(self, pairs: Pairs) -> tuple[Counts, Counts]:
        for points in (pairs.x, pairs.y):
            if not isinstance(points, Remembered):
                self._labels(points)  # names a row by its number on its own side
        return Counted.sides(self, pairs)

    def _inverse(self) -> Array | None:
        if isinstance(self.shares, str):
            raise InvalidParameter(f"the shares {self.shares!r} depend on data: resolve the kernel")
        return None if self.shares is None else 1.0 / np.array(self.shares)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        inverse = self._inverse()
        if inverse is None:
            return {}
        left, right = (self.features(points) > 0 for points in (pairs.x, pairs.y))
        return {"shares": -(inverse**2) * (pairs.of_x(left) & pairs.of_y(right))}

    def features(self, x: Points) -> Array:
        if self.levels is None:
            return Kernel.features(self, x)
        places = {level: i for i, level in enumerate(self.levels)}
        inverse = self._inverse()
        scale = np.ones(len(places)) if inverse is None else np.sqrt(inverse)
        with_nothing = np.vstack([np.diag(scale), np.zeros(len(places))])
        return with_nothing[[places.get(v, len(places)) for v in self._labels(x)]]


@value
class Ordinal(Kernel):
    r"""The number of levels that two ordered values have both reached.

    .. math:: k(a, b) = \min(r_a, r_b), \quad r \in \{1, \dots, m\}

    r is the place of a value among the ``levels``, the lowest first. The squared distance of two
    values is the number of steps between them. Without levels the values are numbers, and the
    levels those that occur in the data.

    Points are labels, or numbers, each one of the ``levels``, which are different.

    >>> Ordinal(["low", "middle", "high"])(["middle"], ["low", "high"])
    array([[1., 2.]])

    Gallier and Quaintance, chapter 53 (set kernels): the intersection of the levels reached.
    """

    levels: Sequence[Hashable] | None = None
    domain: ClassVar[Domain] = {"levels": levels_or_none}
    theorem: ClassVar[str] = "the inner product of the indicators of the levels reached"

    @property
    def has_factors(self) -> bool:
        return len(self.levels or ()) <= MOST_LEVELS

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        return factors_of_features(self, pairs)

    def resolve_own(self, x: Points) -> Kernel:
        if self.levels is not None:
            return self
        found = np.unique(as_numpy(vectors(x)))
        return replace(self, levels=tuple(found.tolist()))

    def ranks(self, points: Points) -> Array:
        """Return the places of values among the levels, from 1."""
        if self.levels is None:
            raise InvalidParameter(
                "the levels depend on data: call k.resolve(x) first, or give levels, lowest first"
            )
        places = {level: i + 1.0 for i, level in enumerate(self.levels)}
        labels = [hashable(v) for v in members(listed_labels(points))]
        for i, label in enumerate(labels):
            if label not in places:
                raise _unknown(i, label)
        return np.array([places[label] for label in labels])

    def evaluate(self, pairs: Pairs) -> Array:
        left = self.ranks(pairs.x)
        right = left if pairs.same else self.ranks(pairs.y)
        shared: Array = np.minimum(pairs.of_x(left), pairs.of_y(right))
        return pairs.array(shared)

    def features(self, x: Points) -> Array:
        ranks = self.ranks(x)
        reached: Array = ranks[:, None] > np.arange(len(self.levels or ()))
        return reached.astype(np.float64)
