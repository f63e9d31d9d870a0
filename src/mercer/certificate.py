"""Proved errors of eigenvalues and axes, from residuals and from what is left over.

Q holds orthonormal Ritz vectors, Θ their values, R = KQ - QΘ; ρ is the norm of R plus a bound for
the rounding of the products (`Gram.rounding`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaincinv

from mercer.check import Array
from mercer.display import Shown


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """Intervals that hold the true eigenvalues, and what proves each.

    Where ``is_ordered``, ``lower`` and ``upper`` enclose the k-th largest eigenvalue itself, so
    that none was missed; elsewhere they pair some eigenvalue with the computed one. ``sines``
    bound the angle between the space of the leading axes up to each one and the true space (1
    where nothing is proved). ``complete_above`` is σ: no more eigenvalues lie above it than axes
    were asked for, so that none above it is missing; it holds under ``completeness``.
    ``bounds`` names what proved each interval, ``assumptions`` what it
    rests on, and ``failure_probability`` is not zero where random vectors were used. Rounding is
    part of every bound; ``rounding`` says whether it was bounded or estimated.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "errors": "how far true eigenvalues can be from the computed",
        "is_ordered": "whether none can have been missed",
        "sines": "of the angle between the first axes and the true space",
        "assumptions": "what each proof rests on",
        "failure_probability": "of random vectors or points",
        "rounding": "bounded, or estimated",
    }

    lower: Array
    upper: Array
    sines: Array
    is_ordered: Array
    bounds: tuple[str, ...]
    assumptions: tuple[str, ...]
    failure_probability: float = 0.0
    rounding: str = "bounded"
    complete_above: float = np.inf
    completeness: str = "none"

    @property
    def errors(self) -> Array:
        """How far the true value can be from the computed one, which is inside the interval."""
        errors: Array = np.maximum(self.upper - self.lower, 0.0)
        return errors

    @property
    def statement(self) -> str:
        """What is proved, how surely and on what assumption, in one line.

        >>> one, two = np.array([2.0]), np.array([2.5])
        >>> Certificate(one, two, one, one > 0, ("trace",), ("none",), complete_above=1.5).statement
        '1 of 1 axes proved to be the leading ones; no eigenvalue above 1.5 is missing'
        """
        count, ordered = len(self.lower), int(np.sum(self.is_ordered))
        parts = [f"{ordered} of {count} axes proved to be the leading ones"]
        if ordered < count:
            parts.append("the others to be eigenvalues")
        if np.isfinite(self.complete_above):
            parts.append(f"no eigenvalue above {self.complete_above:.6g} is missing")
        if self.failure_probability:
            parts.append(f"all of this but with probability {self.failure_probability:g}")
        assumed = {a for text in (*self.assumptions, self.completeness) for a in text.split("; ")}
        if assumed - {"none"}:
            parts.append(f"assuming: {', '.join(sorted(assumed - {'none'}))}")
        if self.rounding != "bounded":
            parts.append(f"rounding {self.rounding}")
        return "; ".join(parts)


def block_intervals(theta: Array, rho: float) -> tuple[Array, Array]:
    r"""Return intervals that b eigenvalues of K share out among the b Ritz values.

    .. math:: |\lambda_{\pi(i)} - \theta_i| \le \|R\|_2

    >>> block_intervals(np.array([2.0, 1.0]), 0.25)
    (array([1.75, 0.75]), array([2.25, 1.25]))
    """
    return theta - rho, theta + rho


MOST_COUPLED = 200
"""Ritz pairs up to which a matrix of twice their number is decomposed to bound eigenvalues."""


def upper_bounds(H: Array, G: Array, tau: float) -> Array:
    r"""Return bounds for the leading eigenvalues of K, given a bound τ for the rest of it.

    .. math:: \lambda_i(K) \le \lambda_i \begin{pmatrix} H & S \\ S & \tau I \end{pmatrix},
        \quad S = G^{1/2}

    for H ⪰ Q*KQ and G ⪰ R*R, where R = (I - QQ*)KQ: in the basis of Q and its complement K is
    [[Q*KQ, R*], [R, C]] with C ⪯ τI, so that K is at most the same matrix with H and τI (Loewner),
    and its eigenvalues at most those (Weyl), which depend on R by R*R alone. The bound is quadratic
    in the residual, and the large residuals of the last pairs do not spoil that of the first ones.
    Of many pairs G is replaced by the sums of its rows (Gershgorin), so that pairs do not mix.

    >>> upper = upper_bounds(np.diag([1.0]), np.array([[1e-8]]), 0.5)
    >>> bool(1.0 < upper[0] < 1.0 + 2.1e-8)
    True
    """
    b = len(H)
    slack = (
        8.0 * (2 * b) * float(np.finfo(float).eps) * (_largest(H) + abs(tau) + _largest(G) ** 0.5)
    )
    if b > MOST_COUPLED:
        sums, values = np.sum(np.abs(G), axis=1), np.diag(H).real + _off_diagonal(H)
        half = (values - tau) / 2.0
        # (θ + τ)/2 + √(half² + g), formed without cancellation
        root = np.sqrt(half**2 + sums)
        excess = np.where(half > 0, sums / (np.abs(half) + root), root - half)
        return np.asarray(np.sort(values + excess)[::-1] + slack)
    values, axes = np.linalg.eigh(G)
    lost = b * float(np.finfo(float).eps) * float(values.max(initial=0.0))
    S = (axes * np.sqrt(np.maximum(values, 0.0) + lost)) @ axes.conj().T
    both = np.block([[H, S], [S.conj().T, tau * np.eye(b)]])
    return np.asarray(np.linalg.eigvalsh(both)[::-1][:b] + slack)


def _largest(A: Array) -> float:
    """Return a bound for the norm of a Hermitian matrix: its largest sum of a row."""
    return float(np.max(np.sum(np.abs(A), axis=1), initial=0.0))


def _off_diagonal(H: Array) -> Array:
    return np.asarray(np.sum(np.abs(H), axis=1) - np.abs(np.diag(H)))


@dataclass(frozen=True)
class Complement:
    """A bound τ for what the first ``pairs`` Ritz vectors leave out, all of them unless given."""

    tau: float
    name: str
    assumption: str = "none"
    failure_probability: float = 0.0
    pairs: int | None = None


@dataclass(frozen=True)
class Compression:
    """Bounds of K on Ritz vectors: Q*KQ between two matrices, and R*R below one."""

    lower: Array
    upper: Array
    squares: Array

    @staticmethod
    def of(theta: Array, residuals: Array, noise: Array, coupling: Array | None) -> Compression:
        r"""Account for the rounding of images, column by column.

        The images are KQ + E with :math:`\|e_j\| \le \eta_j`, and R = KQ + E - QΘ was computed.
        With D = Q*R the entries of Q*KQ are those of Θ + D up to :math:`\eta_j`, and, as it is
        Hermitian, those of its adjoint up to :math:`\eta_i`: the better of the two is taken, and
        a Hermitian matrix of small entries is between the diagonals of ± the sums of its rows.
        Without D the images are taken to be off by the norm of all η twice. For any t > 0

        .. math:: R_0^* R_0 \preceq (1 + t) (R^* R - D^* D) + (1 + 1/t) E^* E, \quad
            E^* E \preceq (\textstyle\sum_j \eta_j)\, \mathrm{diag}(\eta)
        """
        squares = residuals.conj().T @ residuals
        total, whole = float(np.sum(noise)), float(np.trace(squares).real)
        if coupling is None:
            H, doubt = np.diag(theta), np.full(len(theta), 2.0 * float(np.linalg.norm(noise)))
        else:
            is_better = noise[None, :] <= noise[:, None]
            D = np.where(is_better, coupling, coupling.conj().T)
            H = np.diag(theta) + np.where(np.eye(len(theta), dtype=bool), D.real, D)
            H = np.triu(H) + np.triu(H, 1).conj().T
            doubt = np.sum(np.minimum(noise[None, :], noise[:, None]), axis=1)
            across = coupling.conj().T @ coupling
            squares = squares - across
        size = float(np.trace(squares).real)
        t = np.sqrt(total**2 / size) if size > total**2 else 1.0
        lost = len(theta) * float(np.finfo(float).eps) * whole
        G = (1.0 + t) * squares + np.diag((1.0 + 1.0 / max(t, 1e-300)) * total * noise + lost)
        return Compression(H - np.diag(doubt), H + np.diag(doubt), G)

    def bounds(self, tau: float) -> tuple[Array, Array]:
        """Return lower bounds for the leading eigenvalues, and upper bounds for one more."""
        rounding = 8.0 * len(self.lower) * float(np.finfo(float).eps) * _largest(self.lower)
        low = np.linalg.eigvalsh(self.lower)[::-1] - rounding
        high = np.append(upper_bounds(self.upper, self.squares, tau), tau)
        return low, np.maximum(high, tau)


def certify(
    theta: Array,
    residuals: Array,
    noise: Array,
    count: int,
    complements: Sequence[Complement],
    coupling: Array | None = None,
) -> Certificate:
    r"""Return for each of the first ``count`` values the narrowest interval that can be proved.

    ``residuals`` holds R for all Ritz vectors Q, ``noise`` a bound for the rounding in each of its
    columns and ``coupling`` Q*R; ``complements`` bound what all of them leave out. An axis above
    such a bound has its place among the eigenvalues, by `upper_bounds` and

    .. math:: \lambda_k \ge \lambda_k(Q^*KQ), \quad
        \sin\angle \le \frac{\|KQ_k - Q_k\Theta_k\|}{\theta_k - \lambda_{k+1}}

    (Cauchy; Davis and Kahan, for the space of the first k).
    """
    parts: dict[int, Compression] = {}
    rho = prefix_norms(residuals) + np.sqrt(np.append(0.0, np.cumsum(noise**2)))
    lower, upper = block_intervals(theta[:count], float(rho[count]))
    sines, ordered = np.ones(count), np.zeros(count, bool)
    bounds, assumptions = ["block residual"] * count, ["none"] * count
    rests_on: list[Complement | None] = [None] * count
    angles_rest_on = list(rests_on)
    complete: tuple[float, Complement | None] = np.inf, None
    for left_out in complements:
        if not np.isfinite(left_out.tau):
            continue
        b = len(theta) if left_out.pairs is None else left_out.pairs
        if b not in parts:
            inner = None if coupling is None else coupling[:b, :b]
            parts[b] = Compression.of(theta[:b], residuals[:, :b], noise[:b], inner)
        low, every = parts[b].bounds(left_out.tau)
        low, high, following = low[:count], every[:count], every[1 : count + 1]
        low, high = _tightened(theta[:count], rho[1 : count + 1], following, low, high)
        worth = np.where(ordered & (left_out.assumption == NOT_HIDDEN), WORTH, 1.0)
        is_proved = low > left_out.tau
        better = is_proved & (~ordered | (high - low < worth * (upper - lower)))
        lower, upper = np.where(better, low, lower), np.where(better, high, upper)
        ordered |= better
        gaps = theta[:count] - following
        angles = rho[1 : count + 1] / np.where(gaps > 0, gaps, 1.0)
        angles = np.where(gaps > 0, np.minimum(angles, 1.0), 1.0)
        closer = angles < np.where(sines < 1.0, worth, 1.0) * sines
        sines = np.where(closer, angles, sines)
        share = WORTH if left_out.assumption == NOT_HIDDEN else 1.0
        is_first = complete[1] is None or complete[0] >= float(theta[count - 1])
        if following[-1] < (1.0 if is_first else share) * complete[0]:
            complete = float(following[-1]), left_out
        for k in np.flatnonzero(better):
            bounds[k], rests_on[k] = f"leading, {left_out.name}", left_out
        for k in np.flatnonzero(closer):
            angles_rest_on[k] = left_out
    for axis in range(count):
        used_here = {c.assumption for c in (rests_on[axis], angles_rest_on[axis]) if c is not None}
        assumptions[axis] = "; ".join(sorted(used_here - {"none"})) or "none"
    everything = [c for c in (*rests_on, *angles_rest_on, complete[1]) if c is not None]
    return Certificate(
        lower,
        upper,
        sines,
        ordered,
        tuple(bounds),
        tuple(assumptions),
        max((c.failure_probability for c in everything), default=0.0),
        complete_above=complete[0],
        completeness="none" if complete[1] is None else complete[1].assumption,
    )


def _tightened(
    theta: Array, rho: Array, following: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    r"""Narrow intervals by residuals, where these show that k eigenvalues are the leading ones.

    .. math:: \theta_k - \rho_k > \sigma_k \ge \lambda_{k+1} \implies
        |\lambda_i - \theta_i| \le \rho_k, \quad i \le k

    since k eigenvalues are within ρ of the k Ritz values, and no others are above σ.
    """
    widths = np.where(theta - rho > following, rho, np.inf)
    widths = np.minimum.accumulate(widths[::-1])[::-1]
    return np.maximum(low, theta - widths), np.minimum(high, theta + widths)


FEW = 64
"""Columns up to which the norms of all first ones are computed rather than bounded."""


def prefix_norms(residuals: Array) -> Array:
    """Return ‖R‖₂ of the first 0, 1, 2, … columns; of many columns, Frobenius' bound for it.

    >>> prefix_norms(np.diag([3.0, 4.0]))
    array([0., 3., 4.])
    """
    squares = residuals.conj().T @ residuals
    if len(squares) > FEW:
        return np.asarray(np.sqrt(np.append(0.0, np.cumsum(np.diag(squares).real))))
    largest = [np.linalg.eigvalsh(squares[:c, :c])[-1] for c in range(1, len(squares) + 1)]
    return np.sqrt(np.maximum([0.0, *largest], 0.0))


def trace_complement(trace: float, theta: Array, rounding: float, assumption: str) -> Complement:
    r"""Return what the trace leaves for any other eigenvalue of a positive semidefinite matrix.

    .. math:: \lambda_{b+1} \le \operatorname{tr} K - \sum_{i \le b} \theta_i
    """
    return Complement(max(trace - float(np.sum(theta)), 0.0) + rounding, "trace", assumption)


def frobenius_complement(
    square_sum: float, images: Array, theta: Array, noise: Array, slack: float = 0.0
) -> Complement:
    r"""Return the Frobenius norm of what the Ritz vectors leave out, without any assumption.

    .. math:: \|(I-P)K(I-P)\|_F^2 = \|K\|_F^2 - 2\|KP\|_F^2 + \|PKP\|_F^2

    The subtraction can only be trusted down to √u·‖K‖_F, which is added, as are ``slack``, a bound
    for the error of the sum of squares, and what the rounding of the images can have taken away.
    """
    known = float(np.sum(np.abs(images) ** 2))
    left = square_sum - 2.0 * known + float(np.sum(theta**2))
    rounding = 4.0 * np.sqrt(known) * float(np.linalg.norm(noise))
    tau = np.sqrt(max(left, 0.0) + rounding + slack) + np.sqrt(np.finfo(float).eps * square_sum)
    return Complement(float(tau), "Frobenius norm")


FAILURE = 1e-9
"""The probability with which a bound from random vectors may be wrong."""


NOT_HIDDEN = "rounding in single precision hides nothing from random probes"
"""What a small bound from probes rests on whose products were rounded a lot."""


WIDENED = 1.0 + 1e-9
"""What the rounding of norms and of sums of moduli is less than."""


WORTH = 0.5
"""An interval that rests on an assumption replaces one that does not only if it is so narrow."""


def probe_quantile(probes: int, failure: float, *, is_complex: bool = False) -> float:
    r"""Return what ‖u*Ω‖² exceeds but with a small probability, for a unit vector u.

    It is distributed as :math:`\chi^2_p` for p columns of standard normal numbers; of a complex u
    the real or the imaginary part has at least half the square.

    >>> bool(16.9 < probe_quantile(64, 5e-10) < 17.0)
    True
    """
    return 2.0 * float(gammaincinv(probes / 2.0, failure)) / (2.0 if is_complex else 1.0)
