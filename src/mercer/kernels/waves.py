"""Characteristic functions of laws on R^p: uniform on a sphere or in a ball, and of finite laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, jv

from mercer.check import Array, Points, array_like, as_numpy, namespace, shares_of, vectors
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.pairs import Pairs, Scale, Statistic, is_complex
from mercer.kernels.radial import Bandwidth, Metric, checked_bandwidth
from mercer.kernels.statements import (
    Arithmetic,
    Bound,
    Frequencies,
    lengths_of,
    orthogonal_directions,
)
from mercer.settings import number, numbers

BESSEL = 1e-12
"""Error allowed to the profile beside its argument's; 2e-14 was the worst seen."""

LARGEST_ORDER = 150
"""J of higher orders is no double where the profile is one; R^302 is reached."""

SERIES_TERMS = 20
"""Where r²/4 is at most ν + 1, the k-th term of the series is at most 1/k!."""


def wave_profile(order: float, s: Array) -> Array:
    r"""Return the mean of a plane wave over a sphere, at squared distance s.

    .. math:: \Omega_\nu(r) = \Gamma(\nu + 1) \left(\frac{2}{r}\right)^\nu J_\nu(r)
        = \sum_k \frac{(-r^2/4)^k}{k!\, (\nu + 1)_k}

    >>> wave_profile(0.5, np.array([0.0, 1.0]))
    array([1.        , 0.84147098])
    """
    z = 0.25 * np.asarray(s, np.float64)
    is_near = z < order + 1.0
    near, far = np.where(is_near, z, 0.0), np.where(is_near, order + 1.0, z)
    total = term = np.ones_like(near)
    for k in range(1, SERIES_TERMS):
        term = -term * near / (k * (order + k))
        total = total + term
    r = 2.0 * np.sqrt(far)
    log = gammaln(order + 1.0) - 0.5 * order * np.log(far)
    return np.where(is_near, total, np.exp(log) * jv(order, r))


def _order(v: Any, name: str) -> float:
    order = number(v, name, above=-0.5, allowed=-0.5)
    if order > LARGEST_ORDER:
        raise InvalidParameter(
            f"{name} must be at most {LARGEST_ORDER}, found {v!r}: beyond, take the Gaussian, "
            "which it tends to"
        )
    return order


@value
class Bessel(Metric):
    r"""The characteristic function of the uniform law on a sphere, or in a ball, of R^p.

    .. math:: k(x, y) = \Gamma(\nu + 1) \left(\frac{2}{r}\right)^\nu J_\nu(r), \quad
        r = \frac{\|x - y\|}{\sigma}, \quad p \le 2\nu + 2

    Of order ν = p/2 - 1 it is that of the unit sphere of R^p, of order ν = p/2 that of the unit
    ball. It is positive definite on R^p for p ≤ 2ν + 2 and in no higher dimension: every radial
    positive definite function of R^p is a mixture of those of order p/2 - 1 (Schoenberg). Of order
    -1/2 it is the cosine, of order 1/2 sin(r)/r, which is radial up to R³ where `Sinc` is a product.

    Points are vectors, real or complex; ``order`` ν ≥ -1/2, at least p/2 - 1 for p real
    coordinates; ``bandwidth`` > 0, one number or one for each coordinate, or a rule.

    >>> Bessel(order=0.5)([[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]])
    array([[0.84147098]])
    >>> Bessel(order=0.0)([[0.0, 0.0, 0.0]])
    Traceback (most recent call last):
    ...
    mercer.errors.NotPositiveDefinite: bessel(order=0.0, bandwidth=1.0) is positive definite on at most 2 real coordinates, and the points have 3; take order >= 0.5

    Kroese et al., Theorem 6.3 (Bochner) in several dimensions.
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)

    order: float = 0.5
    bandwidth: Bandwidth = 1.0
    domain: ClassVar[Domain] = {"order": _order, "bandwidth": checked_bandwidth}
    theorem: ClassVar[str] = "the characteristic function of a uniform law on a sphere (Bochner)"
    formula: ClassVar[str] = "Gamma(order + 1) * (2 / r)**order * J[order](r)"

    def _refuse_dimensions(self, columns: int) -> None:
        if columns > 2.0 * self.order + 2.0:
            raise NotPositiveDefinite(
                f"{self} is positive definite on at most {int(2.0 * self.order + 2.0)} real "
                f"coordinates, and the points have {columns}; take order >= {columns / 2.0 - 1.0:g}"
            )

    def asks(self, columns: int) -> tuple[Statistic, ...] | None:
        return (self.unit,) if columns <= 2.0 * self.order + 2.0 else None

    @property
    def is_steep(self) -> bool:
        return False

    @property
    def is_smooth(self) -> bool:
        return True  # the series has values for s < 0 too

    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        # |Ω| ≤ 1, and its derivative in s is -Ω/(4ν + 4) of the next order.
        slope = 0.25 / (self.order + 1.0)
        return Bound(1.0, slope * arithmetic.squares_error(self.unit) + BESSEL + arithmetic.unit)

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        self._refuse_dimensions(dimension)
        directions = orthogonal_directions(dimension, count, rng)
        # The sphere of R^q, q = 2ν + 2, seen on p coordinates: its squared length has a beta law.
        rest = self.order + 1.0 - 0.5 * dimension
        lengths = np.sqrt(rng.beta(0.5 * dimension, rest, count)) if rest > 0 else np.ones(count)
        waves = directions * lengths[:, None] / lengths_of(self.length, dimension)
        return Frequencies(waves, np.full(count, count**-0.5))

    def _profile(self, pairs: Pairs, order: float) -> Array:
        columns = pairs.columns * (2 if is_complex(pairs.rows[0]) else 1)
        self._refuse_dimensions(columns)
        s = pairs.squared_distance(self.length)
        return array_like(wave_profile(order, as_numpy(s)), s)

    def evaluate(self, pairs: Pairs) -> Array:
        return self._profile(pairs, self.order)

    def _slope(self, pairs: Pairs) -> Array:
        """Return the derivative in s."""
        return -0.25 / (self.order + 1.0) * self._profile(pairs, self.order + 1.0)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        slope = self._slope(pairs)
        if isinstance(self.length, tuple):
            gaps = pairs.difference(self.length)
            lengths = pairs.array(self.length)
            return {"bandwidth": slope[..., None] * gaps * gaps * -2.0 / lengths}
        return {"bandwidth": slope * pairs.squared_distance(self.length) * -2.0 / self.length}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        lengths = pairs.array(self.length)
        return self._slope(pairs)[..., None] * pairs.difference(self.length) * 2.0 / lengths


def _frequencies(v: Any, name: str) -> tuple[tuple[float, ...], ...]:
    rows = as_numpy(vectors(v, name))
    if rows.size == 0 or is_complex(rows):
        raise InvalidParameter(f"{name} must be rows of real numbers, at least one of them")
    return tuple(tuple(row) for row in rows.astype(np.float64).tolist())


def _masses(v: Any, name: str) -> tuple[float, ...] | None:
    return None if v is None else numbers(v, name, lambda m, n: number(m, n, above=0.0))


@value
class Waves(Kernel):
    r"""The characteristic function of a law on R^p with finitely many frequencies.

    .. math:: k(x, y) = \sum_j m_j \cos\langle \omega_j, x - y \rangle, \quad
        m_j > 0,\; \textstyle\sum_j m_j = 1

    Each frequency stands for itself and its opposite, so that the law is symmetric. Masses are
    equal unless given, and divided by their sum. Draws of any law on R^p as frequencies give what
    its characteristic function is estimated by; its features are cosines and sines.

    Points are real vectors; ``waves`` are as many coordinates long, ``masses`` > 0, one for each.

    >>> k = Waves([[1.0, 0.0], [0.0, 2.0]])
    >>> k([[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    array([[0.77015115, 0.29192658]])
    >>> phi = k.features([[0.3, 1.0]])
    >>> phi.shape, phi @ phi.T
    ((1, 4), array([[1.]]))

    Kroese et al., Theorem 6.3 (Bochner) in several dimensions.
    """

    waves: Sequence[Sequence[float]] | Array
    masses: Sequence[float] | None = None
    domain: ClassVar[Domain] = {"waves": _frequencies, "masses": _masses}
    theorem: ClassVar[str] = (
        "the characteristic function of a law on finitely many points (Bochner)"
    )
    is_vectorial: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if self.masses is not None and len(self.masses) != len(self.waves):
            raise InvalidParameter(
                f"there are {len(self.masses)} masses for {len(self.waves)} frequencies"
            )

    @property
    def inner_weight(self) -> float | None:
        return 0.0

    def own_parameters(self) -> dict[str, Any]:
        return {}

    def stretch(self, scale: Scale) -> Kernel:
        waves, scales = np.asarray(self.waves), np.asarray(scale, np.float64)
        if scales.ndim and scales.shape != waves.shape[1:]:
            raise InvalidInput(
                f"the frequencies have {waves.shape[1]} coordinates, and cannot be divided by "
                f"{scales.size} lengths, one for each"
            )
        return Waves((waves / scales).tolist(), self.masses)

    @property
    def shares(self) -> Array:
        """The masses divided by their sum."""
        return shares_of(np.ones(len(self.waves)) if self.masses is None else np.array(self.masses))

    def frequencies(self, dimension: int, count: int, rng: np.random.Generator) -> Frequencies:
        waves = np.asarray(self.waves)
        self._refuse_coordinates(dimension)
        chosen = rng.choice(len(waves), count, p=self.shares)
        return Frequencies(waves[chosen], np.full(count, count**-0.5))

    def _refuse_coordinates(self, count: int, kind: str = "") -> None:
        own = len(self.waves[0])
        if kind or count != own:
            raise InvalidInput(
                f"the frequencies have {own} real coordinates, and the points {count}"
                f"{', ' if kind else ''}{kind}"
            )

    def _phases(self, rows: Array) -> Array:
        """Return ⟨ω, x⟩ for every point and frequency."""
        xp = namespace(rows)
        waves = array_like(self.waves, rows)
        self._refuse_coordinates(rows.shape[1], "complex" if is_complex(rows) else "")
        return xp.astype(rows, xp.float64) @ waves.T

    def _features(self, rows: Array) -> Array:
        xp, phases = namespace(rows), self._phases(rows)
        root = array_like(np.sqrt(self.shares), rows)
        return xp.concat([root * xp.cos(phases), root * xp.sin(phases)], axis=1)

    def features(self, x: Points) -> Array:
        return self._features(vectors(x))

    def evaluate(self, pairs: Pairs) -> Array:
        left = self._features(pairs.vectors[0])
        return pairs.dot(left, left if pairs.same else self._features(pairs.vectors[1]))

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        xp = pairs.xp
        left, right = (self._phases(side) for side in pairs.vectors)
        weights = pairs.array(-self.shares[:, None] * np.asarray(self.waves))
        return xp.sin(pairs.of_x(left) - pairs.of_y(right)) @ weights
