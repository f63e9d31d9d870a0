"""The leading eigenpairs of a Gram operator, with proved errors and the story of how."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from scipy.linalg import eigh

from mercer.certificate import (
    Certificate,
    NormProbe,
    certify,
    frobenius_complement,
    trace_complement,
)
from mercer.check import Array, InvalidInput, InvalidParameter, MercerError, whole
from mercer.davidson import Iteration, LowRankInverse, Noise, davidson
from mercer.gram import Centred, Gram, columns
from mercer.kernels.base import Kind
from mercer.lowrank import LowRank, nystrom

DENSE = 1_000
"""Up to this size the whole matrix is decomposed at once."""

STORED = 3_000
"""Up to this size all axes may be asked for, which takes the whole matrix."""

MOST_DENSE = 32_766
"""LAPACK's work size for a larger matrix overflows 32 bits (numpy issue 25564)."""

MOST_LANDMARKS = 1_000
POINTS_PER_LANDMARK = 40
"""One landmark for so many points: more cost more than the passes they save."""

PROBE_STEPS = 4
"""Passes that carry the probes along: later ones would sharpen the bound by little."""

ILL_SOLVED = 60.0
"""LAPACK's own test threshold for residual and orthogonality, in units of n·u·norm."""

DEGENERATE = 1e-8
"""Eigenvalues closer than this share of the largest are one cluster, whatever the errors say."""


Operator = Gram | Centred


class NotConverged(MercerError, RuntimeError):
    """An iteration or a decomposition whose residual is larger than was asked for."""


@dataclass(frozen=True)
class How:
    """How a spectrum was computed."""

    method: str
    single_passes: int = 0
    double_passes: int = 0
    seconds: float = 0.0
    random_state: int | None = None
    history: tuple[float, ...] = ()


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenvalues and unit eigenvectors of a Hermitian operator, and how far to trust them.

    ``errors`` bounds the distance of each true eigenvalue from the computed one. ``clusters``
    lists the axes, counted from 0, that only mean something together. ``trace`` is that of the
    whole operator. ``rank`` counts the eigenvalues above ``threshold`` and ``negative_mass`` is the
    share of negative ones in Σ|λ|; both are known only when all eigenvalues were computed.
    """

    values: Array
    vectors: Array
    certificate: Certificate
    trace: float
    threshold: float
    rank: int | None
    negative_mass: float | None
    psd: str
    how: How
    clusters: tuple[tuple[int, ...], ...] = field(default=())

    @property
    def errors(self) -> Array:
        return self.certificate.errors


def leading(
    operator: Operator,
    count: int,
    *,
    tol: float = 1e-9,
    method: str = "auto",
    random_state: int | None = 0,
) -> Spectrum:
    """Return the ``count`` largest eigenvalues with their vectors, residuals within tol of λ₁.

    ``method`` is ``"dense"`` (n² memory), ``"exact"`` (no matrix) or ``"auto"``, which chooses by
    size.

    >>> from mercer import Gaussian
    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> spectrum = leading(Gram(Gaussian(bandwidth=0.3), x).centred(), 3)
    >>> bool(np.all(spectrum.errors < 1e-12))
    True
    """
    n = operator.shape[0]
    count = min(whole(count, "count", least=1), n)
    if method not in ("auto", "dense", "exact"):
        raise InvalidParameter(f"method must be auto, dense or exact, found {method!r}")
    if method == "auto":
        method = "dense" if n <= DENSE or 5 * count > n else "exact"
    if method == "dense":
        return _dense(operator, count)
    return _exact(operator, count, tol, random_state)


def _dense(operator: Operator, count: int) -> Spectrum:
    """Decompose the whole matrix, and check what came back."""
    n = operator.shape[0]
    if n > MOST_DENSE:
        raise InvalidParameter(
            f"a dense decomposition of {n} points would overflow LAPACK's work size (more than "
            f"{MOST_DENSE}) and take {8e-9 * n * n:.0f} GB; use method='exact'"
        )
    begun = perf_counter()
    K = operator.dense()
    if n == 0:
        empty = np.zeros(0)
        proof = Certificate(empty, empty, empty, empty.astype(bool), (), ())
        return Spectrum(empty, np.zeros((0, 0)), proof, 0.0, 0.0, 0, 0.0, "verified", How("dense"))
    values, vectors = eigh(K, driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    norm = float(np.max(np.abs(values)))
    scale = n * np.finfo(float).eps * norm
    orthogonality = norm_bound(vectors.conj().T @ vectors - np.eye(n))
    rho = norm_bound(K @ vectors - vectors * values)
    if (
        rho > ILL_SOLVED * max(scale, np.finfo(float).tiny)
        or orthogonality > ILL_SOLVED * n * 2e-16
    ):
        raise NotConverged(
            f"the dense eigensolver returned residual {rho:.3g} for a matrix of norm {norm:.3g}; "
            "this is a fault of the linear algebra library: use method='exact'"
        )
    rounding, threshold = rho + scale, _rank_threshold(operator)
    proof = Certificate(
        values[:count] - rounding,
        values[:count] + rounding,
        _dense_sines(values, rounding)[:count],
        np.ones(count, bool),
        ("block residual of all axes",) * count,
        ("none",) * count,
    )
    negative = float(np.sum(np.abs(values[values < -scale])) / max(np.sum(np.abs(values)), 1e-300))
    return Spectrum(
        values=values[:count],
        vectors=_oriented(vectors[:, :count], operator),
        certificate=proof,
        trace=float(np.trace(K).real),
        threshold=threshold,
        rank=int(np.sum(values > threshold)),
        negative_mass=negative,
        psd="verified" if negative == 0.0 else "not positive semidefinite",
        how=How("dense", seconds=perf_counter() - begun),
        clusters=_clusters(values, rounding, count),
    )


def norm_bound(A: Array) -> float:
    r"""Return an upper bound for the spectral norm: :math:`\sqrt{\|A\|_1 \|A\|_\infty}`.

    >>> norm_bound(np.array([[3.0, 0.0], [0.0, -4.0]]))
    4.0
    """
    return float(np.sqrt(np.linalg.norm(A, 1)) * np.sqrt(np.linalg.norm(A, np.inf)))


def _dense_sines(values: Array, rho: float) -> Array:
    gaps = values - np.append(values[1:], -np.inf) - rho
    sines: Array = np.where(gaps > rho, rho / np.where(gaps > rho, gaps, 1.0), 1.0)
    return sines


def _rank_threshold(operator: Operator) -> float:
    """Return n·u·‖K‖ with K before centring, below which an eigenvalue counts as zero."""
    n = operator.shape[0]
    norm = float(np.sum(np.abs(operator.base.diag()))) * float(np.max(operator.roots) ** 2)
    return n * float(np.finfo(float).eps) * norm


def _exact(operator: Operator, count: int, tol: float, random_state: int | None) -> Spectrum:
    """Iterate on the operator; nothing larger than the low-rank factor is stored."""
    begun = perf_counter()
    with operator.base.engine.session():
        state, probe, approximation = _iterated(operator, count, tol, random_state)
        proof = _certified(operator, state, count, probe)
    kernel = operator.base.kernel
    is_proved = kernel.kind is Kind.POSITIVE and bool(kernel.proof)
    return Spectrum(
        values=state.values[:count],
        vectors=_oriented(state.vectors[:, :count], operator),
        certificate=proof,
        trace=operator.trace,
        threshold=_rank_threshold(operator),
        rank=None,
        negative_mass=None,
        psd="by construction" if is_proved else "not verified",
        how=How(
            f"block Davidson on tiles, {approximation}",
            state.single_passes,
            state.double_passes,
            perf_counter() - begun,
            random_state,
            tuple(state.history),
        ),
        clusters=_clusters(state.values, float(proof.errors.max()), count),
    )


def _iterated(
    operator: Operator, count: int, tol: float, random_state: int | None
) -> tuple[Iteration, NormProbe, str]:
    """Return converged Ritz pairs, the probes that rode along, and what the start was."""
    n, engine = operator.shape[0], operator.base.engine
    block = min(count + max(2, -(-count // 5)), n)
    rank = min(max(n // POINTS_PER_LANDMARK, 4 * block), MOST_LANDMARKS, n)
    approximation = _approximation(operator, rank, random_state)
    preconditioner = LowRankInverse(operator.project(approximation.factor), engine.over_rows)
    probe = NormProbe(preconditioner, n, random_state)
    start = _filled(preconditioner.start(block), block, random_state)
    noise = Noise(operator.rounding(single=True), operator.rounding())
    state = davidson(Probed(operator, probe), count, start, preconditioner, tol=tol, noise=noise)
    if not state.has_converged:
        raise NotConverged(
            f"the iteration stopped at residual {state.history[-1]:.3g} of the largest eigenvalue, "
            f"above tol = {tol:g}. Ask for fewer axes or a larger tol; a very small bandwidth "
            "makes all eigenvalues alike, and then there are no leading axes"
        )
    return state, probe, approximation.how


def _approximation(operator: Operator, rank: int, random_state: int | None) -> LowRank:
    """Return a low-rank approximation of the operator's Gram matrix, of rank 0 if there is none."""
    base = operator.base
    if base.kernel.kind is Kind.CONDITIONAL and isinstance(operator, Centred):
        # Features seen from one of the points: positive definite, and the same once centred.
        base = Gram(base.kernel.centred(base.x[:1]), base.x, engine=base.engine)
    try:
        return nystrom(
            base,
            rank,
            landmarks="kmeans" if columns(base.x) else "pivoted",
            random_state=random_state,
            single=True,
        )
    except InvalidInput:  # not positive definite: the iteration works without
        trace = base.trace
        empty = np.zeros((base.shape[0], 0), np.float32)
        return LowRank(empty, trace, trace, "no approximation: the kernel is indefinite")


def _filled(start: Array, block: int, random_state: int | None) -> Array:
    """Return a starting block of full width, random where the approximation has no more axes."""
    missing = block - start.shape[1]
    if missing <= 0:
        return start
    rng = np.random.default_rng(random_state)
    return np.hstack([start, rng.standard_normal((len(start), missing))])


class Probed:
    """An operator whose passes in single precision carry the probes of the certificate along."""

    def __init__(self, operator: Operator, probe: NormProbe) -> None:
        self.operator, self.probe = operator, probe
        self.shape = operator.shape

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        if self.probe.steps >= PROBE_STEPS or not single:
            return self.operator.product(vectors, single=single)
        both = self.operator.product(np.hstack([vectors, self.probe.vectors]), single=single)
        self.probe.advance(both[:, vectors.shape[1] :])
        return both[:, : vectors.shape[1]]


def _certified(operator: Operator, state: Iteration, count: int, probe: NormProbe) -> Certificate:
    """Prove what can be proved of the Ritz values, by every bound on what they leave out."""
    kernel = operator.base.kernel
    complements = []
    if operator.square_sum_is_known:
        complements.append(
            frobenius_complement(operator.square_sum, state.images, state.values, state.noise)
        )
    if kernel.kind is Kind.POSITIVE:
        proved = "by construction" if kernel.proof else "assumed"
        assumption = f"positive semidefinite {proved}"
        rounding = float(state.noise.sum()) + operator.rounding(single=operator.means_are_single)
        complements.append(trace_complement(operator.trace, state.values, rounding, assumption))
    if probe.steps:
        complements.append(probe.complement(state.vectors, operator.rounding(single=True)))
    return certify(state.values, state.residuals, state.noise, count, complements)


def _clusters(values: Array, error: float, count: int) -> tuple[tuple[int, ...], ...]:
    """Return groups of axes whose eigenvalues cannot be told apart, the next one after included."""
    width = max(2.0 * error, DEGENERATE * float(np.max(np.abs(values), initial=0.0)))
    groups: list[list[int]] = [[0]]
    for i in range(1, min(count + 1, len(values))):
        if values[i - 1] - values[i] <= width:
            groups[-1].append(i)
        else:
            groups.append([i])
    kept = [tuple(i for i in g if i < count) for g in groups if len(g) > 1]
    return tuple(g for g in kept if g)


def _oriented(vectors: Array, operator: Operator) -> Array:
    """Give each axis the sign that makes its largest score positive."""
    active = operator.roots[:, 0] > 0
    oriented: Array = vectors * signs(vectors[active] / operator.roots[active])
    return oriented


def signs(scores: Array) -> Array:
    """Return the factors that make the score of largest modulus on each axis real and positive.

    Moduli within 1e-8 of the largest are tied, and the first of them decides.

    >>> signs(np.array([[1.0, -2.0], [-3.0, 2.0]]))
    array([-1., -1.])
    """
    sizes = np.abs(scores)
    tied = sizes >= (1.0 - 1e-8) * sizes.max(axis=0, initial=0.0)
    first = np.argmax(tied, axis=0)
    chosen = scores[first, np.arange(scores.shape[1])] if scores.size else np.ones(scores.shape[1])
    moduli = np.where(np.abs(chosen) > 0, np.abs(chosen), 1.0)
    return np.where(np.abs(chosen) > 0, np.conj(chosen) / moduli, 1.0)
