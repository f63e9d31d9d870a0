"""Is it a kernel? Verdicts on matrices and kernels, each with its margin and a witness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from mercer.check import (
    ASYMMETRY,
    Array,
    Points,
    chunks,
    how_many,
    number_array,
    plain_array,
    power_of_two,
    square_matrix,
    worst_asymmetry,
)
from mercer.display import Shown
from mercer.errors import InvalidInput, NotPositiveDefinite
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.limits import Limits
from mercer.kernels.probing import (
    chance,
    gram_matrix,
    is_probed,
    subsets_of,
    take,
    unit_roundoff,
    values_at,
)
from mercer.points import as_points
from mercer.progress import Progress, follow_work
from mercer.settings import RandomState, seed_of, spelled, whole

EIGENVALUE_ROUNDING = 10.0
"""Error of a computed eigenvalue, in units of n·u·‖K‖₂ (Weyl; 0.06 is usual)."""

SINGLE_ASYMMETRY = 10.0
"""A matrix in single precision may differ from its conjugate by this many roundings."""

LARGEST_MATRIX = 32_766
"""LAPACK counts the workspace 1 + 6n + 2n² in 32 bits, which overflows beyond this n."""


@dataclass(frozen=True, repr=False)
class Witness(Shown):
    """Points and coefficients c for which a quadratic form has the sign it must not have.

    The coefficients have unit norm; ``value`` is the form of c, computed from the matrix itself
    and not read off an eigenvalue; ``points`` is None when only a matrix was given.

    >>> from mercer import positive_definite
    >>> positive_definite([[1.0, 2.0], [2.0, 1.0]]).witness
    Witness
      indices       0, 1             of the points
      coefficients  0.7071, -0.7071  c, of unit norm
      value         -1               c*Kc
    """

    facts: ClassVar[Mapping[str, str]] = {
        "indices": "of the points",
        "coefficients": "c, of unit norm",
        "value": "c*Kc",
        "points": "themselves",
    }

    indices: tuple[int, ...]
    coefficients: tuple[complex, ...]
    value: float
    points: tuple[Any, ...] | None = None


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """An answer that is true or false, with the numbers it rests on.

    ``smallest`` is the smallest eigenvalue of the whole matrix, even where the witness has only
    one or two points; beyond a thousand points, which one or two of them refuse, it is theirs
    (None where nothing was computed). ``tolerance`` is what rounding may have done to it,
    ``proof`` the rules by which a kernel expression is of its kind.

    >>> verdict = positive_definite([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(verdict), verdict.smallest, verdict.witness.indices
    (False, -1.0, (0, 1))
    >>> print(verdict)
    not positive definite: c*Kc = -1 for the witness c; points 0 and 1 break |K_ij|² <= K_ii K_jj
    """

    facts: ClassVar[Mapping[str, str]] = {
        "smallest": "the smallest eigenvalue",
        "tolerance": "what rounding may have done to it",
        "witness": "points that refute it",
        "proof": "the rules by which it holds",
    }

    holds: bool
    reason: str
    smallest: float | None = None
    tolerance: float = 0.0
    witness: Witness | None = None
    proof: str = ""
    seed: int | None = None

    def _title(self) -> str:
        return f"{'Yes' if self.holds else 'No'}, {self.reason}"

    @property
    def margin(self) -> float | None:
        """The smallest eigenvalue plus the tolerance: at least 0 exactly when the test holds."""
        return None if self.smallest is None else self.smallest + self.tolerance

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.reason


@spelled
def positive_definite(
    kernel_or_matrix: Any,
    x: Points | None = None,
    *,
    subsets: int = 20,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> Verdict:
    r"""Tell whether a matrix, or a kernel, is positive (semi)definite.

    .. math:: \sum_{ij} \overline{c_i}\, K_{ij}\, c_j \ge 0 \quad \text{for all } c

    A matrix is decomposed, after the cheap necessary conditions :math:`K_{ii} \ge 0` and
    :math:`|K_{ij}|^2 \le K_{ii} K_{jj}`. An eigenvalue above :math:`-10\,n\,u\,\|K\|_2`, with u
    the unit roundoff of the matrix's precision, is not called negative. A kernel, or its text,
    is judged without points by the rules it was made with; with points, by its Gram matrix on
    them, or on random ``subsets`` of them when there are more than a thousand, which ``progress``
    counts. The decomposition of a matrix has no parts to count.

    >>> uniform = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.5], [0.0, 0.5, 0.5]]
    >>> positive_definite(uniform).smallest
    -0.20710678
    >>> from mercer import Linear
    >>> print(positive_definite(Linear()))
    positive definite by rule: Linear: an inner product is positive definite

    Kroese et al., Definition 6.1 and Example 6.8; Gallier and Quaintance, Definition 53.3 and
    Proposition 53.4.
    """
    if isinstance(kernel_or_matrix, Kernel | str):
        from mercer.kernels.text import kernel as read  # which knows those that ask here

        kernel = read(kernel_or_matrix)
        if x is None:
            return _by_rule(kernel)
        count = whole(subsets, "subsets", least=1)
        seed, points = seed_of(random_state), as_points(x, "x")
        with follow_work(progress, "subsets") as tell:
            found = _on_points(kernel, points, count, np.random.default_rng(seed), tell)
        return replace(found, seed=seed if is_probed(how_many(points)) else None)
    if callable(kernel_or_matrix):
        raise InvalidInput(
            f"{kernel_or_matrix!r} is neither a matrix nor a kernel; a function of two points "
            "becomes a kernel through FromFunction"
        )
    matrix, roundoff = checked_matrix(kernel_or_matrix, "the matrix")
    if x is not None and how_many(x) != len(matrix):
        raise InvalidInput(f"the matrix has {len(matrix)} rows but there are {how_many(x)} points")
    return _Subject(matrix, roundoff, np.arange(len(matrix)), x).verdict()


def form(matrix: Any, v: Any, w: Any = None) -> complex:
    r"""Return the form of a matrix at two vectors; at one vector twice if the second is left out.

    .. math:: \langle v, w \rangle_K = v^* K w

    It is bilinear and symmetric for a real symmetric K, definite or not.

    >>> form([[0.0, 1.0], [1.0, 0.0]], [1.0, -1.0])
    -2.0

    Beeny, Definition 3.10.
    """
    K, left = number_array(matrix, "the matrix"), number_array(v, "v")
    right = left if w is None else number_array(w, "w")
    if K.ndim != 2 or (left.shape, right.shape) != (K.shape[:1], K.shape[1:]):
        raise InvalidInput(
            "a form needs a matrix and one number for each of its rows and columns, found shapes "
            f"{K.shape}, {left.shape} and {right.shape}"
        )
    result: complex = (left.conj() @ K @ right).item()
    return result


def factor(gram: Any) -> Array:
    r"""Return B with as few rows as the matrix has rank, whose columns have this Gram matrix.

    .. math:: G = B^* B

    >>> B = factor([[4.0, 2.0], [2.0, 1.0]])
    >>> B.shape, B.T @ B
    ((1, 2), array([[4., 2.],
           [2., 1.]]))

    Beeny, Theorem 3.9.
    """
    matrix, roundoff = checked_matrix(gram, "the Gram matrix")
    verdict = _Subject(matrix, roundoff, np.arange(len(matrix))).verdict()
    if not verdict:
        raise NotPositiveDefinite(f"there is no factor, the matrix is {verdict.reason}")
    if matrix.size == 0:
        return matrix
    values, axes = eigh(_hermitian_part(matrix), driver="evd", check_finite=False)
    kept = values > len(matrix) * roundoff * np.max(np.abs(values))
    B: Array = np.sqrt(values[kept])[:, None] * axes[:, kept].conj().T
    return B


def checked_matrix(values: Any, name: str) -> tuple[Array, float]:
    """Return a square finite matrix in double precision, and the unit roundoff it came with."""
    given = plain_array(values, name)
    if given.ndim == 2 and len(given) > LARGEST_MATRIX:
        raise InvalidInput(
            f"{name} has {len(given)} rows, too many to decompose (at most {LARGEST_MATRIX}); "
            "give the kernel and the points, of which random subsets are probed"
        )
    return square_matrix(given, name), unit_roundoff(given)


def not_symmetric(matrix: Array, roundoff: float, numbers: Array | None = None) -> str:
    """Return what breaks Hermitian symmetry beyond rounding; empty if nothing does."""
    gap, (i, j) = worst_asymmetry(matrix / power_of_two(matrix))
    if gap <= max(ASYMMETRY, SINGLE_ASYMMETRY * roundoff):
        return ""
    word = "Hermitian" if np.iscomplexobj(matrix) else "symmetric"
    a, b = (i, j) if numbers is None else (numbers[i], numbers[j])
    return (
        f"not {word}: entry ({a}, {b}) is {matrix[i, j]:.6g} and entry ({b}, {a}) is "
        f"{matrix[j, i]:.6g}"
    )


def outcome(name: str, smallest: float, tolerance: float) -> str:
    """Return the sentence that says how a test was passed: clearly, or up to rounding."""
    if smallest > tolerance:
        return (
            f"{name}: the smallest eigenvalue {smallest:.6g} exceeds the rounding allowance "
            f"{tolerance:.3g}"
        )
    return (
        f"{name} up to rounding: the smallest eigenvalue {smallest:.6g} is within the rounding "
        f"allowance {tolerance:.3g} of zero"
    )


def eigenvalues(matrix: Array) -> Array:
    """Return the eigenvalues of a Hermitian matrix, in increasing order."""
    # scipy's default driver can lose eigenvalues of degenerate spectra (scipy issue 22737).
    return np.asarray(eigh(matrix, eigvals_only=True, driver="evd", check_finite=False))


def lowest_axis(matrix: Array) -> Array:
    """Return the unit eigenvector of the smallest eigenvalue, its largest entry positive."""
    vector = np.asarray(eigh(matrix, driver="evd", check_finite=False)[1])[:, 0]
    largest = vector[np.argmax(np.abs(vector))]
    turned: Array = vector * (np.conj(largest) / np.abs(largest))
    return turned


def _hermitian_part(matrix: Array) -> Array:
    return 0.5 * matrix + 0.5 * matrix.conj().T


@dataclass(frozen=True, eq=False)
class _Subject:
    """A matrix to be judged, with the points its rows stand for and their numbers in the data."""

    matrix: Array
    roundoff: float
    numbers: Array
    points: Points | None = None
    is_kernel: bool = False

    def verdict(self) -> Verdict:
        if len(self.matrix) == 0:
            return Verdict(True, "positive definite: an empty matrix leaves nothing to test")
        broken = not_symmetric(self.matrix, self.roundoff, self.numbers)
        if broken:
            return Verdict(False, f"not positive definite: {broken}")
        unit = power_of_two(self.matrix)
        return self._tested(_hermitian_part(self.matrix / unit), unit)

    def _tested(self, K: Array, unit: float) -> Verdict:
        # A kernel's entries are off by a few u·max K_ii each, which moves an eigenvalue by at most
        # n times that; finding the eigenvalue moves it by n·u·‖K‖₂.
        evaluation = float(np.max(np.abs(np.diag(K)))) if self.is_kernel else 0.0
        allowance = EIGENVALUE_ROUNDING * len(K) * self.roundoff
        smallest, rows, why = _cheap_test(K, self.numbers)
        # ‖K‖_F >= ‖K‖₂, so what is refused here would be refused by its eigenvalues too.
        tolerance = allowance * (float(np.linalg.norm(K)) + evaluation)
        if smallest >= -tolerance:
            rows, why = np.arange(len(K)), ""
        if smallest >= -tolerance or len(K) <= Limits.direct_points:
            values = eigenvalues(K)
            smallest = float(values[0])
            tolerance = allowance * (float(np.max(np.abs(values))) + evaluation)
        if smallest >= -tolerance:
            reason = outcome("positive definite", smallest * unit, tolerance * unit)
            return Verdict(True, reason, smallest * unit, tolerance * unit)
        witness = self._witness(K[np.ix_(rows, rows)], unit, rows)
        reason = f"not positive definite: c*Kc = {witness.value:.6g} for the witness c{why}"
        return Verdict(False, reason, smallest * unit, tolerance * unit, witness)

    def _witness(self, part: Array, unit: float, rows: Array) -> Witness:
        c = lowest_axis(part)
        value = float(np.real(form(part, c))) * unit
        points = None if self.points is None else values_at(self.points, rows)
        return Witness(tuple(self.numbers[rows].tolist()), tuple(c.tolist()), value, points)


def _cheap_test(K: Array, numbers: Array) -> tuple[float, Array, str]:
    """Return the smallest eigenvalue of the principal submatrices of order 1 or 2, and of which.

    That of [[a, b], [b*, d]] is negative exactly when |b|² > ad, for a, d >= 0.
    """
    d = np.real(np.diag(K))
    lowest = int(np.argmin(d))
    worst, rows, why = float(d[lowest]), np.array([lowest]), ""
    if worst < 0:
        return worst, rows, f"; the diagonal entry of point {numbers[lowest]} is negative"
    for part in chunks(len(K), 256):
        middle, half_gap = (0.5 * (d[part, None] + s * d[None, :]) for s in (1.0, -1.0))
        least = middle - np.hypot(half_gap, np.abs(K[part]))
        np.fill_diagonal(least[:, part], np.inf)
        i, j = np.unravel_index(int(np.argmin(least)), least.shape)
        if least[i, j] < worst:
            worst, rows = float(least[i, j]), np.array([int(i) + part.start, int(j)])
            why = f"; points {numbers[rows[0]]} and {numbers[j]} break |K_ij|² <= K_ii K_jj"
    return worst, rows, why


CONDITIONAL = (
    "the kernel is conditionally positive definite: valid where coefficients sum to zero (kernel "
    "PCA, multidimensional scaling, systems whose null space holds the constants), and made "
    "positive definite by k.centred(x) and by k.exp()"
)
"""What to say of a kernel that is a kernel in some places only."""


def _by_rule(kernel: Kernel) -> Verdict:
    if kernel.kind is Kind.POSITIVE and kernel.proof:
        reason = f"positive definite by rule: {kernel.proof}"
        return Verdict(True, reason, proof=kernel.proof)
    is_conditional = kernel.kind is Kind.CONDITIONAL
    if is_conditional and kernel.refutation:
        reason = f"not positive definite: {kernel.refutation}; {CONDITIONAL}"
        return Verdict(False, reason, proof=kernel.proof)
    what = "is a similarity" if kernel.kind is Kind.SIMILARITY else "has no proof by rule"
    raise InvalidInput(
        f"{kernel} {what}, so only a test on points can tell: call positive_definite(k, x)"
        f"{f'; {CONDITIONAL}' if is_conditional else ''}"
    )


def _on_points(
    kernel: Kernel,
    x: Points,
    count: int,
    generator: np.random.Generator,
    tell: Progress | None,
) -> Verdict:
    kernel = kernel.resolve(x)
    found = chance(kernel, x)
    if found:
        raise InvalidInput(
            f"{kernel} is not deterministic: {found}. A kernel is a function of two points; fix "
            "what is random outside of it"
        )
    verdicts: list[Verdict] = []
    for chosen in subsets_of(how_many(x), count, generator):
        points = take(x, chosen)
        K = gram_matrix(kernel, points, chosen)
        matrix, roundoff = checked_matrix(K, f"the Gram matrix of {kernel}")
        verdicts.append(_Subject(matrix, roundoff, chosen, points, is_kernel=True).verdict())
        if tell is not None:
            tell(len(verdicts), count if is_probed(how_many(x)) else 1)
        if not verdicts[-1]:
            break
    worst = min(verdicts, key=lambda v: (v.holds, 0.0 if v.margin is None else v.margin))
    reason = f"{worst.reason} ({_scope(how_many(x), len(verdicts))}){_standing(worst, kernel)}"
    return replace(worst, reason=reason, proof=kernel.proof)


def _scope(n: int, probed: int) -> str:
    if n <= Limits.direct_points:
        return f"on all {n} points"
    what = "random subset" if probed == 1 else "random subsets"
    return (
        f"on {probed} {what} of {Limits.fewest_probed} to {Limits.direct_points} of the {n} points"
    )


def _standing(verdict: Verdict, kernel: Kernel) -> str:
    """Return what the rules add to a test on points."""
    if kernel.kind is Kind.CONDITIONAL:
        return f"; {CONDITIONAL}"
    is_proved = kernel.kind is Kind.POSITIVE and kernel.proof
    if verdict:
        return f"; by rule: {kernel.proof}" if is_proved else "; a test, no proof"
    if not is_proved:
        return ""
    return "; the rules say otherwise, so a rule is broken or the values have lost their accuracy"
