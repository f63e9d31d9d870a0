"""Spline kernels on the half line, with the null space that their penalty does not see."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from mercer.check import Array, Points, namespace, vectors
from mercer.errors import InvalidInput
from mercer.kernels.base import Kernel, value
from mercer.kernels.pairs import Pairs, is_complex


def half_line(x: Points, name: str = "x") -> Array:
    """Return points of the half line as one column, refusing negative ones by their row."""
    rows = vectors(x, name)
    if is_complex(rows):
        raise InvalidInput(f"a spline kernel reads real numbers, and {name} holds complex ones")
    if rows.shape[1] != 1:
        raise InvalidInput(
            f"a spline kernel reads points of the line, and {name} has {rows.shape[1]} "
            "coordinates; take one kernel for each coordinate and combine them"
        )
    column = rows[:, 0]
    xp = namespace(column)
    if column.shape[0] and bool(xp.any(column < 0)):
        row = int(xp.argmin(column))
        raise InvalidInput(
            f"a spline kernel needs inputs >= 0, and {name} has {float(column[row])!r} at row "
            f"{row}; shift the data so that they begin at 0"
        )
    return column


class SplineKernel(Kernel):
    """A function of the smaller and the larger of two numbers."""

    __slots__ = ()
    is_vectorial: ClassVar[bool] = True

    @abstractmethod
    def of_ends(self, least: Array, most: Array) -> Array:
        """Return the kernel from min(x, y) and max(x, y)."""

    @abstractmethod
    def slope(self, x: Array, y: Array, least: Array) -> Array:
        """Return the derivative in x."""

    def sides(self, pairs: Pairs) -> tuple[Array, Array]:
        left = half_line(pairs.x, "x")
        right = left if pairs.same else half_line(pairs.y, "y")
        return pairs.of_x(left), pairs.of_y(right)

    def evaluate(self, pairs: Pairs) -> Array:
        x, y = self.sides(pairs)
        xp = namespace(x)
        return self.of_ends(xp.minimum(x, y), xp.maximum(x, y))

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        x, y = self.sides(pairs)
        return self.slope(x, y, namespace(x).minimum(x, y))[..., None]


@value
class Brownian(SplineKernel):
    r"""The covariance of Brownian motion, whose functions start at 0 and have f' in L².

    .. math:: k(x, y) = \min(x, y), \quad x, y \ge 0

    Points are real numbers ≥ 0.

    >>> Brownian()([2.0], [3.0])
    array([[2.]])

    Its slope at x = y does not exist; 1/2, the mean of both sides, is returned there.

    Rasmussen and Williams, Gaussian processes for machine learning, 2006, on the Wiener process.
    """

    theorem: ClassVar[str] = "the inner product of the indicators of [0, x] and [0, y]"
    formula: ClassVar[str] = "min(x, y)"

    def of_ends(self, least: Array, most: Array) -> Array:
        return least

    def slope(self, x: Array, y: Array, least: Array) -> Array:
        xp = namespace(x)
        return 0.5 * (1.0 - xp.sign(x - y))

    def null_space(self, x: Points) -> Array:
        """Return the functions that the penalty ∫g'² does not see: the constants."""
        return 0.0 * half_line(x)[:, None] + 1.0


@value
class CubicSpline(SplineKernel):
    r"""The kernel of cubic smoothing splines: functions with f(0) = f'(0) = 0 and f'' in L².

    .. math:: k(x, y) = \tfrac{1}{2} \max(x, y) \min(x, y)^2 - \tfrac{1}{6} \min(x, y)^3,
        \quad x, y \ge 0

    Points are real numbers ≥ 0.

    >>> CubicSpline()([0.5], [1.0])
    array([[0.10416667]])

    Kroese et al., §6.6.
    """

    theorem: ClassVar[str] = "the inner product in L² of (x - t)₊ and (y - t)₊"
    formula: ClassVar[str] = "max(x, y) * min(x, y)**2 / 2 - min(x, y)**3 / 6"

    def of_ends(self, least: Array, most: Array) -> Array:
        return least * least * (most / 2.0 - least / 6.0)

    def slope(self, x: Array, y: Array, least: Array) -> Array:
        # For x <= y: xy - x²/2; for x > y: y²/2; both are min·(y - min/2).
        return least * (y - least / 2.0)

    def null_space(self, x: Points) -> Array:
        """Return the functions that the penalty ∫g''² does not see: 1 and x."""
        column = half_line(x)
        return namespace(column).stack([0.0 * column + 1.0, column], axis=1)
