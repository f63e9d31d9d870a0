"""Which matrices hold distances between points of a Euclidean space, and their inner products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from scipy import optimize

from mercer.check import ASYMMETRY, Array, Points, finite, plain_array, power_of_two, real_array
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Kernel
from mercer.kernels.definite import (
    EIGENVALUE_ROUNDING,
    Verdict,
    Witness,
    checked_matrix,
    eigenvalues,
    form,
    lowest_axis,
    not_symmetric,
    outcome,
    positive_definite,
)
from mercer.kernels.limits import Limits
from mercer.kernels.measures import Measure, transform_of
from mercer.kernels.pairs import SAFE_SQUARE
from mercer.kernels.text import kernel as read
from mercer.points import as_points
from mercer.settings import number, numbers, spelled

CENTRE_SUM = 1e-8
"""How far from 1 the sum of a centre's weights may be, which rounding in 10⁷ terms explains."""

CANCELLATION = 16.0
"""K_ii + K_jj - 2K_ij is known to within this many roundings of |K_ii| + |K_jj|."""

TRIANGLE_ROUNDING = 8.0
"""Roundings of the longest side by which a triangle inequality may fail and still hold."""

Transform = Callable[[Array, float], Array]

FINEST_POWER = 1e-14
"""No power is known more exactly: rounding moves the eigenvalue whose sign decides by some u."""

TRANSFORMS: dict[str, tuple[Transform, str]] = {
    "identity": (lambda t, _: t + 0.0, ""),
    "exponential": (lambda t, a: -np.expm1(-a * t) / a, "a"),
    "logarithm": (lambda t, a: np.log1p(t / a), "a"),
    "rational": (lambda t, a: (t / a) / (1.0 + t / a) / a, "a"),
    "power": (lambda t, p: t**p, "p"),
}
"""The transforms by name, each with the letter of its parameter."""


@spelled
def negative_definite(
    squared_distances: Any, *, centre: Sequence[float] | Array | None = None
) -> Verdict:
    r"""Tell whether a symmetric matrix is conditionally negative definite.

    .. math:: \sum_{ij} c_i D_{ij} c_j \le 0 \;\text{ whenever } \sum_i c_i = 0
        \quad\Longleftrightarrow\quad -\tfrac{1}{2} H_\alpha D H_\alpha^\top \succeq 0,
        \quad H_\alpha = I - 1\alpha^\top

    for any one ``centre`` α, signed or not, that sums to 1 (uniform unless given): the answer is
    the same for all, only the rounding allowance grows with
    :math:`\|H_\alpha\|_2^2 = n\|\alpha\|^2`. The direction α itself, where the centred matrix is
    always zero, is left out. The witness has coefficients that sum to zero and
    :math:`c^\top D c > 0`, its ``value``.

    >>> line = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    >>> bool(negative_definite(line)), bool(negative_definite(np.square(line)))
    (True, True)
    >>> verdict = negative_definite(np.power(line, 3))
    >>> bool(verdict), verdict.smallest, verdict.witness.value
    (False, -0.66666667, 1.33333333)

    Yao, lemma of Young, Householder and Schoenberg; the witness is checked from D itself.
    """
    D, roundoff = real_matrix(squared_distances, "the matrix of squared distances")
    alpha = centre_of(centre, len(D))
    broken = not_symmetric(D, roundoff)
    if broken:
        return Verdict(False, f"not conditionally negative definite: {broken}")
    return conditional_verdict(
        0.5 * D + 0.5 * D.T, alpha, roundoff, "conditionally negative definite"
    )


def euclidean(distances: Any) -> Verdict:
    r"""Tell whether distances are those of points in a Euclidean space.

    .. math:: d_{ij} = \|y_i - y_j\| \;\text{ for some points } y_i
        \quad\Longleftrightarrow\quad (d_{ij}^2) \text{ is conditionally negative definite}

    The reason of a refusal says whether a triangle is to blame; the triangle inequality is
    necessary, not sufficient.

    >>> square = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
    >>> print(euclidean(square))
    not Euclidean: the squared distances have c'Dc = 2 > 0 for the witness c with sum 0, although every triangle inequality holds

    Yao, lemma of Young, Householder and Schoenberg.
    """  # noqa: E501  (a doctest shows the reason as the user sees it, on one line)
    d, roundoff = real_matrix(distances, "the matrix of distances")
    broken = not_distances(d, roundoff)
    if broken:
        return Verdict(False, f"not Euclidean: {broken}")
    squares = 0.5 * squares_of(d) + 0.5 * squares_of(d.T)
    verdict = conditional_verdict(squares, centre_of(None, len(d)), roundoff, "Euclidean")
    if verdict or verdict.witness is None:
        return verdict
    reason = (
        f"not Euclidean: the squared distances have c'Dc = {verdict.witness.value:.6g} > 0 for the "
        f"witness c with sum 0, {_triangles(d, roundoff)}"
    )
    return Verdict(False, reason, verdict.smallest, verdict.tolerance, verdict.witness)


def gram_of(squared_distances: Any, centre: Sequence[float] | Array | None = None) -> Array:
    r"""Return the inner products of points with given squared distances, seen from a centre.

    .. math:: B = -\tfrac{1}{2} H_\alpha D H_\alpha^\top, \quad H_\alpha = I - 1\alpha^\top

    The origin is the barycentre with weights α, which may be signed and must sum to 1.

    >>> gram_of([[0.0, 4.0], [4.0, 0.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> gram_of([[0.0, 4.0], [4.0, 0.0]], centre=[1.0, 0.0])
    array([[0., 0.],
           [0., 4.]])

    Yao, classical multidimensional scaling.
    """
    D, roundoff = real_matrix(squared_distances, "the matrix of squared distances")
    broken = not_symmetric(D, roundoff)
    if broken:
        raise InvalidInput(f"the matrix of squared distances is {broken}")
    return double_centre(0.5 * D + 0.5 * D.T, centre_of(centre, len(D)))


def squared_distances_of(gram: Any) -> Array:
    r"""Return the squared distances that a Gram matrix, real or complex, defines.

    .. math:: d_{ij}^2 = K_{ii} + K_{jj} - 2\,\Re K_{ij}

    They are never negative and exactly 0 on the diagonal; what is within rounding of 0 is 0.

    >>> squared_distances_of([[2.0, 1.0], [1.0, 3.0]])
    array([[0., 3.],
           [3., 0.]])

    Martin, Proposition 7.
    """
    K, roundoff = checked_matrix(gram, "the Gram matrix")
    broken = not_symmetric(K, roundoff)
    if broken:
        raise InvalidInput(f"the Gram matrix is {broken}")
    d = np.real(np.diag(K))
    cross = np.real(K)
    squares = (d[:, None] - cross) + (d[None, :] - cross.T)
    noise = CANCELLATION * roundoff * (np.abs(d)[:, None] + np.abs(d)[None, :])
    if np.any(squares < -noise):
        i, j = np.unravel_index(int(np.argmin(squares)), squares.shape)
        raise NotPositiveDefinite(
            f"points {i} and {j} would have the squared distance {squares[i, j]:.6g}: the matrix "
            "is not positive definite, not even conditionally"
        )
    return np.where(squares > noise, squares, 0.0)


def not_distances(d: Array, roundoff: float) -> str:
    """Return what keeps a matrix from holding distances, with the entry; empty if nothing does."""
    largest = np.max(np.abs(d), initial=0.0)
    for i in np.flatnonzero(np.abs(np.diag(d)) > ASYMMETRY * largest):
        return f"the diagonal entry ({i}, {i}) is {d[i, i]:.6g} and must be 0"
    for i, j in np.argwhere(d < -ASYMMETRY * largest):
        return f"the entry ({i}, {j}) is {d[i, j]:.6g}, and distances are not negative"
    return not_symmetric(d, roundoff)


def real_matrix(values: Any, name: str) -> tuple[Array, float]:
    """Return a square matrix of real numbers, and the unit roundoff it came with."""
    matrix, roundoff = checked_matrix(values, name)
    if np.iscomplexobj(matrix):
        raise InvalidInput(f"{name} is complex, and distances are real numbers")
    return matrix, roundoff


def squares_of(d: Array) -> Array:
    """Return the squares of distances with an exact zero diagonal, if they can be represented."""
    largest = float(np.max(np.abs(d), initial=0.0))
    if largest > SAFE_SQUARE or 0.0 < largest < 1.0 / SAFE_SQUARE:
        raise InvalidInput(
            f"the largest distance is {largest:.3g}, whose square is out of the range of double "
            "precision; divide the distances by it first"
        )
    squares: Array = np.maximum(d, 0.0) ** 2
    np.fill_diagonal(squares, 0.0)
    return squares


def centre_of(centre: Sequence[float] | Array | None, n: int) -> Array:
    """Return weights that sum to 1 as exactly as they can."""
    if centre is None:
        return np.full(n, 1.0 / max(n, 1))
    alpha = np.array(numbers(plain_array(centre, "centre").reshape(-1).tolist(), "centre"))
    if len(alpha) != n:
        raise InvalidParameter(f"centre has {len(alpha)} weights for {n} points")
    total = float(np.sum(alpha))
    if abs(total - 1.0) > CENTRE_SUM:
        raise InvalidParameter(f"the weights of the centre must sum to 1, found {total!r}")
    return alpha / total


def double_centre(D: Array, alpha: Array) -> Array:
    """Return -½ H D H' for H = I - 1α'."""
    means = D @ alpha
    B: Array = -0.5 * ((D - means[:, None]) - (means[None, :] - alpha @ means))
    return B


def _reflector(alpha: Array) -> Array:
    """Return v such that the reflection I - 2vv' takes α to a multiple of the first axis."""
    v = alpha / np.linalg.norm(alpha)
    v[0] += 1.0 if v[0] >= 0 else -1.0
    unit: Array = v / np.linalg.norm(v)
    return unit


def across(B: Array, alpha: Array) -> Array:
    """Return a matrix on the directions orthogonal to α, one row and one column less."""
    v = _reflector(alpha)
    Bv = B @ v
    reflected = B - 2.0 * np.outer(v, Bv) - 2.0 * np.outer(Bv - 2.0 * v * (v @ Bv), v)
    part = reflected[1:, 1:]
    return 0.5 * part + 0.5 * part.T


def conditional_verdict(D: Array, alpha: Array, roundoff: float, name: str) -> Verdict:
    """Judge a symmetric matrix by -½HDH' on the directions orthogonal to α."""
    n = len(D)
    if n < 2:
        return Verdict(True, f"{name}: {n} point{'s'[n:]} leave nothing to test")
    unit = power_of_two(D)
    scaled = D / unit
    M = across(double_centre(scaled, alpha), alpha)
    smallest = float(eigenvalues(M)[0])
    # ‖H_α‖₂² = n‖α‖² multiplies the rounding of D; ½ is that of -½HDH'.
    growth = 0.5 * n * float(alpha @ alpha)
    tolerance = EIGENVALUE_ROUNDING * n * roundoff * growth * float(np.linalg.norm(scaled))
    if smallest >= -tolerance:
        reason = outcome(name, smallest * unit, tolerance * unit)
        return Verdict(True, reason, smallest * unit, tolerance * unit)
    c = _sum_zero(lowest_axis(M), alpha)
    value = float(np.real(form(scaled, c))) * unit
    witness = Witness(tuple(range(n)), tuple(c.tolist()), value)
    reason = f"not {name}: c'Dc = {value:.6g} > 0 for the witness c, whose coefficients sum to 0"
    return Verdict(False, reason, smallest * unit, tolerance * unit, witness)


def _sum_zero(axis: Array, alpha: Array) -> Array:
    """Return H'c, of unit norm and sum zero, for the c orthogonal to α that an axis stands for."""
    v = _reflector(alpha)
    c = np.concatenate([[0.0], axis])
    c -= 2.0 * v * (v @ c)
    c -= alpha * np.sum(c)
    c -= np.mean(c)
    unit: Array = c / np.linalg.norm(c)
    return unit


def _triangles(d: Array, roundoff: float) -> str:
    """Return the worst broken triangle inequality, or that there is none."""
    n = len(d)
    most = Limits.triangle_points
    if n > most:
        return f"and the triangle inequalities of more than {most} points are not tried"
    worst, triple = 0.0, (0, 0, 0)
    for k in range(n):
        excess = d - d[:, k, None] - d[None, k, :]
        i, j = (int(index) for index in np.unravel_index(int(np.argmax(excess)), excess.shape))
        if excess[i, j] > max(worst, TRIANGLE_ROUNDING * roundoff * d[i, j]):
            worst, triple = float(excess[i, j]), (i, j, k)
    if worst == 0.0:
        return "although every triangle inequality holds"
    i, j, k = triple
    return (
        f"and the triangle inequality fails: d({i}, {j}) = {d[i, j]:.6g} > d({i}, {k}) + "
        f"d({k}, {j}) = {d[i, k] + d[k, j]:.6g}"
    )


def schoenberg(
    squared_distances: Any,
    transform: str | Measure = "power",
    parameter: float = 0.5,
    *,
    points: Sequence[float] | Array | None = None,
    support: Sequence[float] | None = None,
) -> Array:
    r"""Return a transform of squared distances that keeps Euclidean ones Euclidean.

    .. math:: t, \quad \frac{1 - e^{-at}}{a}, \quad \ln\left(1 + \frac{t}{a}\right), \quad
        \frac{t}{a(a + t)}, \quad t^p, \qquad a > 0,\; 0 < p \le 1

    named ``"identity"``, ``"exponential"``, ``"logarithm"``, ``"rational"`` and ``"power"``. Each
    is a Bernstein function Φ with Φ(0) = 0: Φ is nonnegative and its derivative is completely
    monotone (Φ itself is not), so that

    .. math:: \Phi(t) = \int_0^\infty \frac{1 - e^{-\lambda t}}{\lambda}\, g(\lambda)\, d\lambda,
        \quad g \ge 0, \quad \int_0^1 g\, d\lambda < \infty, \quad
        \int_1^\infty \frac{g}{\lambda}\, d\lambda < \infty

    with a point mass in place of g dλ for the first two. These Φ are the functions that keep
    *every* matrix of squared distances, in every dimension, one; for a single given matrix
    others may do too. The entries are transformed one by one, so that the array may be
    rectangular. In place of a name, ``transform`` may be the measure itself: a density g, a
    function of an array of λ, or masses by their place, ``{0.0: 1.0}`` for t and ``{a: 1.0}`` for
    the exponential. `completely_monotone` tells whether a function is such a Φ.

    A density is looked at from λ = 1e-260 to 1e260, in steps of 0.02 % of λ near 1 and of 1 % far
    off; between its ``support``, two numbers, if it is given, and closely around ``points`` where
    it jumps or has a narrow peak. What lies between those steps cannot be seen: a density that is
    0 at all of them is refused. The integral is refined until its error, estimated by the rules of
    Clenshaw and Curtis, is below 1e-11 of every Φ(t); one that does not settle to 1e-9 is refused.

    >>> schoenberg([[0.0, 2.0]], "rational", 1.0)
    array([[0.        , 0.66666667]])
    >>> schoenberg([[0.0, 2.0]], lambda a: a * np.exp(-a)), schoenberg([[0.0, 2.0]], {0.0: 3.0})
    (array([[0.        , 0.66666667]]), array([[0., 6.]]))
    >>> schoenberg([[0.0, 2.0]], lambda a: (a > 7.0) & (a < 7.5)) * 2.0  # near (1 - exp(-2a))/a
    array([[0.        , 0.13798567]])

    Schoenberg (1938); Yao, Schoenberg transforms, with the conditions on g and Φ put right.
    """
    if isinstance(transform, str) and transform not in TRANSFORMS:
        raise InvalidParameter(
            f"transform must be one of {', '.join(TRANSFORMS)}, or a measure; found {transform!r}"
        )
    if not isinstance(transform, str):
        t = _squares(squared_distances)
        return finite(transform_of(transform, t, points=points, support=support), "the transform")
    if points is not None or support is not None:
        raise InvalidParameter(f"points and support are for a density, and {transform!r} has none")
    function, letter = TRANSFORMS[transform]
    p = number(parameter, f"the parameter {letter} of {transform}", above=0.0) if letter else 1.0
    if letter == "p" and p > 1.0:
        raise InvalidParameter(
            f"the parameter p of power must be a number in (0, 1], found {parameter!r}: powers "
            "greater than 1 do not keep distances Euclidean"
        )
    t = _squares(squared_distances)
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(function(t, p), f"the transform {transform} of the squared distances")


def _squares(squared_distances: Any) -> Array:
    t = real_array(squared_distances, "the array of squared distances")
    if np.any(t < 0):
        place = tuple(int(i) for i in np.argwhere(t < 0)[0])
        raise InvalidInput(
            f"a squared distance cannot be negative, found {t[place]:.6g} at {place}"
        )
    return t


def largest_euclidean_power(distances: Any, tol: float = 1e-10) -> float:
    r"""Return the largest p in (0, 1] for which the distances to the power p are Euclidean.

    .. math:: p^* = \max\,\{p \le 1 : (d_{ij}^{2p}) \text{ is conditionally negative definite}\}

    The powers that do form an interval (0, p*], because powers below 1 keep squared distances
    what they are (`schoenberg`), and small ones bring distinct points near the corners of a
    simplex. The result is right to ``tol``, or to 1e-14 if that is more, from below. Points at
    distance 0 must have equal rows: no power could make them Euclidean otherwise.

    >>> square = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    >>> largest_euclidean_power(square)
    0.5

    The two squared diagonals of that square, 2·4^p, may not exceed its four squared sides.
    """
    d, roundoff = real_matrix(distances, "the matrix of distances")
    tol = max(number(tol, "tol", above=0.0), FINEST_POWER)
    broken = not_distances(d, roundoff)
    if broken:
        raise InvalidInput(f"these are not distances: {broken}")
    squares = squares_of(_without_copies(0.5 * d + 0.5 * d.T))
    alpha = centre_of(None, len(squares))
    if conditional_verdict(squares, alpha, roundoff, "Euclidean"):
        return 1.0
    t = squares / np.max(squares)

    def smallest(p: float) -> float:
        return float(eigenvalues(across(double_centre(t**p, alpha), alpha))[0])

    low = 0.5
    while smallest(low) <= 0.0:
        low /= 2.0
    p = float(optimize.brentq(smallest, low, 1.0, xtol=tol, rtol=FINEST_POWER))
    step = max(tol, float(np.spacing(p)))
    while p > low and smallest(p) < 0.0:
        p -= step
        step *= 2.0  # few steps lead out of what rounding made negative
    return max(p, low)


def _without_copies(d: Array) -> Array:
    """Return the distances between distinct points, refusing distance 0 between others."""
    if len(d) == 0:
        return d
    first = np.argmax(d + np.diag(np.full(len(d), -np.inf)) <= 0.0, axis=1)
    gaps = np.max(np.abs(d - d[first]), axis=1, initial=0.0)
    for i in np.flatnonzero(gaps > ASYMMETRY * np.max(d, initial=0.0)):
        raise InvalidInput(
            f"points {first[i]} and {i} are at distance 0 but their distances to others differ: "
            "no power makes these distances Euclidean"
        )
    kept = np.flatnonzero(first == np.arange(len(d)))
    return d[np.ix_(kept, kept)]


Definiteness = Literal[
    "strictly positive definite",
    "positive semidefinite",
    "conditionally positive definite",
    "negative semidefinite",
    "indefinite",
]


@spelled
def definiteness(kernel_or_matrix: Any, x: Points | None = None) -> Definiteness:
    r"""Name what a matrix is, or the Gram matrix of a kernel at points.

    .. math:: c^* K c > 0 \;\;(c \ne 0), \qquad c^* K c \ge 0, \qquad
        c^* K c \ge 0 \;\text{ whenever } \textstyle\sum_i c_i = 0

    are strict, plain and conditional definiteness, each of which implies the next; the first that
    holds is the answer. An eigenvalue counts as zero within what rounding may have done to it, so
    that what is called strict has none there. A matrix that is not symmetric is indefinite.

    >>> definiteness([[2.0, 1.0], [1.0, 2.0]]), definiteness([[1.0, 1.0], [1.0, 1.0]])
    ('strictly positive definite', 'positive semidefinite')
    >>> definiteness([[0.0, -1.0], [-1.0, 0.0]]), definiteness([[1.0, 2.0], [2.0, 0.0]])
    ('conditionally positive definite', 'indefinite')
    >>> from mercer import Gaussian
    >>> definiteness(Gaussian(1.0), [[0.0], [1.0], [0.0]])
    'positive semidefinite'

    Gallier and Quaintance, Definition 53.3; Yao, on conditionally negative definite matrices.
    """
    given = kernel_or_matrix
    if isinstance(given, Kernel | str):
        if x is None:
            raise InvalidInput(
                "the definiteness of a kernel is that of its matrix at points: give x"
            )
        given = read(given)(as_points(x, "x"))
    verdict = positive_definite(given)
    if verdict:
        smallest = verdict.smallest
        is_strict = smallest is not None and smallest > verdict.tolerance
        return "strictly positive definite" if is_strict else "positive semidefinite"
    matrix, _ = checked_matrix(given, "the matrix")
    if not np.iscomplexobj(matrix) and negative_definite(-matrix):
        return "conditionally positive definite"
    return "negative semidefinite" if positive_definite(-matrix) else "indefinite"
