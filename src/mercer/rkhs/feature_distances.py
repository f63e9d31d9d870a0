"""The geometry a kernel gives to points: distances, to each other, to sets, between samples.

Everything is computed in double precision and returned as numpy arrays.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import (
    UNIT,
    Array,
    Points,
    as_numpy,
    chunks,
    finite,
    how_many,
    is_foreign,
    members,
    namespace,
    part_of,
    rows_of,
    vectors,
)
from mercer.display import Shown
from mercer.engines.held import given_back
from mercer.errors import InvalidInput, NotPositiveDefinite
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import AllPairs, Pairs
from mercer.kernels.text import kernel as read
from mercer.operators import shares
from mercer.points import (
    Paired,
    SparseRows,
    as_points,
)
from mercer.points import join_points as join_sparse
from mercer.progress import Progress, follow_work
from mercer.resampling import PERMUTATIONS, Resampling
from mercer.rkhs.limits import Limits
from mercer.settings import RandomState, spelled

KERNEL_ROUNDING = 1000 * UNIT
"""How far a kernel's value may be off, relative to the largest: an exponential multiplies the
rounding of its argument by the argument, which is below 710 in double precision."""


def kernel_values(kernel: Kernel, pairs: Pairs) -> Array:
    """Return a kernel's values in double precision as a numpy array, or name the overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = as_numpy(kernel.evaluate(pairs))
    return finite(values, f"the kernel {kernel}")


def join_points(x: Points, y: Points) -> Points:
    """Return the points of x followed by those of y, in x's type where y shares it.

    >>> join_points(["a"], ["b"]), join_points(np.array([1.0]), [[2.0]])
    (('a', 'b'), array([[1.],
           [2.]]))
    """
    if isinstance(x, Paired) and isinstance(y, Paired) and len(x.parts) == len(y.parts):
        return Paired(*(join_points(a, b) for a, b in zip(x.parts, y.parts, strict=True)))
    if isinstance(x, SparseRows) or isinstance(y, SparseRows):
        return join_sparse(x, y)
    x, y = rows_of(x), rows_of(y)
    if not (is_array_api_obj(x) or is_array_api_obj(y)):
        return (*members(x), *members(y))
    if getattr(x, "ndim", 0) != getattr(y, "ndim", 0):
        x, y = vectors(x, "x"), vectors(y, "y")
    return namespace(x, y).concat([x, y], axis=0)


def distance(kernel: Kernel | str, x: Points, y: Points | None = None) -> Array:
    r"""The distances between points in the Hilbert space of a kernel.

    .. math:: d(x, y) = \sqrt{k(x, x) + k(y, y) - 2\,\Re k(x, y)}

    The difference is off by about u·k(x, x), so a distance of less than √u·√k(x, x), about
    1e-8·√k(x, x), has no correct digit, and what cannot be told from zero is zero. The linear,
    Gaussian, Laplacian and rational quadratic kernels, their sums and multiples, and those of
    mapped or centred points, are computed without the difference and keep their digits.

    >>> from mercer import Gaussian
    >>> distance(Gaussian(bandwidth=2.0), [[0.0]], [[1.0]])
    array([[0.48477438]])
    >>> float(np.sqrt(2 * (1 - np.exp(-1 / 8))))
    0.48477438
    >>> distance(Gaussian(), [[0.0], [1e-12]])
    array([[0.e+00, 1.e-12],
           [1.e-12, 0.e+00]])

    Martin, Proposition 7.
    """
    return np.sqrt(squared_distance(read(kernel), AllPairs(x, y)))


def squared_distance(kernel: Kernel, pairs: Pairs) -> Array:
    """Return d² on each pair, never negative."""
    return as_numpy(_squares(kernel, pairs))


def _squares(kernel: Kernel, pairs: Pairs) -> Any:
    """Return the same as an array of the library, and on the device, of the points."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares: Any = kernel.evaluate_squares(pairs)
    xp: Any = namespace(squares)
    finite(squares, f"a squared distance of {kernel}")
    least = float(xp.min(squares)) if 0 not in squares.shape else 0.0
    if least < 0.0:
        sizes = [np.abs(kernel_values(kernel, p)) for p in (pairs.left(), pairs.right())]
        size = sum(float(np.max(values, initial=0.0)) for values in sizes)
        if least < -2.0 * KERNEL_ROUNDING * size:
            raise NotPositiveDefinite(
                f"{kernel} gives two points the squared distance {least:.6g} < 0, so it is not a "
                "positive definite kernel and has no Hilbert space"
            )
    return xp.clip(squares, 0.0)


@spelled
def distance_to_set(
    kernel: Kernel | str,
    x: Points,
    points: Points,
    weights: Sequence[float] | Array | None = None,
    *,
    progress: bool | Progress | None = None,
) -> Array:
    r"""The distances of points to the barycentre of a set, whose members have weights s ≥ 0.

    .. math:: \|\varphi(x) - \mu\|^2 = \sum_i w_i\, d^2(x, p_i)
        - \tfrac12 \sum_{ij} w_i w_j\, d^2(p_i, p_j),
        \quad \mu = \sum_i w_i\, \varphi(p_i), \; w = s / \textstyle\sum_i s_i

    It equals k(x, x) - 2 Re Σ wᵢ k(x, pᵢ) + Σ wᵢwⱼ k(pᵢ, pⱼ), whose terms cancel where the set is
    far from the origin of H. ``progress`` counts the points whose distances to the set are summed,
    those of the set first.

    >>> from mercer import Linear
    >>> distance_to_set(Linear(), [[4.0]], [[0.0], [2.0]])
    array([3.])

    Martin, §2, Example 2.
    """
    kernel, x, points = read(kernel), as_points(x, "x"), as_points(points, "points")
    w = shares(weights, how_many(points))
    with follow_work(progress, "points") as tell:
        spread = w @ _mean_squares(kernel, points, points, w, tell)
        squares = _mean_squares(kernel, x, points, w, tell)
    return np.sqrt(np.maximum(squares - 0.5 * spread, 0.0))


def _mean_squares(
    kernel: Kernel, x: Points, points: Points, w: Array, tell: Progress | None = None
) -> Array:
    parts = []
    for rows in chunks(how_many(x), max(1, Limits.entries // len(w))):
        parts.append(squared_distance(kernel, AllPairs(part_of(x, rows), points)) @ w)
        if tell is not None:
            tell(rows.stop, how_many(x))
    return np.concatenate(parts) if parts else np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Discrepancy(Shown):
    """How far apart the means of two samples are in H, and how often chance takes them as far.

    >>> import mercer as mc
    >>> found = mc.mean_discrepancy(mc.Linear(), [[0.0], [2.0]], [[4.0], [6.0]], random_state=0)
    >>> found.distance, found.unbiased
    (4.0, 14.0)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "distance": "of the means in H",
        "squared": "the same, squared",
        "unbiased": "without the pairs of a point with itself",
        "p_value": "of one law",
        "null": "squared distances by chance",
    }

    squared: float
    """The squared distance of the means: each point is paired with itself too (V-statistic)."""
    unbiased: float
    """The same without those pairs (U-statistic): unbiased for two laws, and possibly < 0."""
    p_value: float
    null: Array
    """The squared distances after random permutations of the pooled sample."""
    seed: int
    """The seed that repeats them."""

    @property
    def distance(self) -> float:
        """The distance of the means."""
        return float(np.sqrt(self.squared))


@spelled
def mean_discrepancy(
    kernel: Kernel | str,
    x: Points,
    y: Points,
    *,
    permutations: int = PERMUTATIONS,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Discrepancy:
    r"""The distance between the means of two samples in H, with a permutation test.

    .. math:: \Big\| \frac1n \sum_i \varphi(x_i) - \frac1m \sum_j \varphi(y_j) \Big\|^2
        = \frac{1}{nm} \sum_{ij} d^2(x_i, y_j) - \frac{1}{2n^2} \sum_{ij} d^2(x_i, x_j)
        - \frac{1}{2m^2} \sum_{ij} d^2(y_i, y_j)

    The p-value (1 + #{null ≥ observed})/(R + 1) tests that both samples come from one law. A
    bandwidth that is a rule is resolved on the pooled sample. With the kernel -‖x - y‖ it is the
    energy distance. One matrix of (n + m)² numbers is held and never recomputed, of tensors on
    their device, where permutations multiply it. With ``stop_after`` permutations end after so many
    that reach the observed value; ``random_state``, ``threads`` and ``progress`` are those of
    `hsic`.

    >>> from mercer import Linear
    >>> value = mean_discrepancy(Linear(), [[0.0], [2.0]], [[4.0], [6.0]], permutations=99)
    >>> value.squared, value.unbiased, value.distance
    (16.0, 14.0, 4.0)

    Gretton et al. (2012), Journal of Machine Learning Research 13, §2.2 and Lemma 6.
    """
    kernel, x, y = read(kernel), as_points(x, "x"), as_points(y, "y")
    n, m = how_many(x), how_many(y)
    if min(n, m) < 2:
        raise InvalidInput(f"two samples of at least 2 points are needed, found {n} and {m}")
    pooled = join_points(x, y)
    D = _squares(kernel.resolve(pooled), AllPairs(pooled))
    xp: Any = namespace(D)
    signs = np.repeat([1.0 / n, -1.0 / m], [n, m])
    observed = float(_squared_norms(signs[None, :], D)[0])
    # Without the pairs of a point with itself the divisor n² is n(n - 1).
    within = float(xp.sum(D[:n, :n])) / (n * n * (n - 1))
    within += float(xp.sum(D[n:, n:])) / (m * m * (m - 1))
    # Permutations that split the sample alike must tie with the observed split despite rounding.
    ties = (n + m) * UNIT * float(xp.max(D))
    with follow_work(progress, "permutations") as tell:
        draws = Resampling.of(
            permutations,
            random_state,
            least=0,
            stop_after=stop_after,
            threads=threads,
            progress=tell,
        )
        found = draws.null(_permuted(signs, D, draws), observed - ties)
    null = found.values[:, 0].copy()
    null.flags.writeable = False
    return Discrepancy(
        squared=max(observed, 0.0),
        unbiased=observed - 0.5 * within,
        p_value=float(found.p_values[0]),
        null=null,
        seed=draws.seed,
    )


def _squared_norms(signs: Array, D: Any) -> Array:
    """Return ‖Σ aᵢφ(xᵢ)‖² = -½ Σ aᵢaⱼd²(xᵢ, xⱼ) for each row a, whose entries sum to zero."""
    if is_foreign(D):
        there = given_back(signs, D)
        return -0.5 * as_numpy(namespace(D).sum((there @ D) * there, axis=1))
    norms: Array = np.einsum("ri,ri->r", signs @ D, signs)
    return -0.5 * norms


def _permuted(signs: Array, D: Any, draws: Resampling) -> Generator[Array, None, None]:
    """Return the squared distances after permutations of the pooled sample, some at a time."""

    def work(part: slice, stop: Event) -> Array:
        numbers = [r for r in range(part.start, part.stop) if not stop.is_set()]
        moved = [signs[draws.generator(r).permutation(len(signs))] for r in numbers]
        return _squared_norms(np.reshape(moved, (len(numbers), len(signs))), D)

    size = max(1, min(Limits.batch, Limits.entries // len(signs)))
    return draws.in_order(work, chunks(draws.count, size))
