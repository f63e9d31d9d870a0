"""The iteration on matrices whose spectrum is known, and on products that are off as announced."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import iteration, woodbury
from mercer.certificate import Complement, certify
from mercer.check import Array
from mercer.davidson import SHORT, Limits, _restarted, davidson, orthonormal
from mercer.engines.cpu import Threads
from mercer.iteration import Iteration, Noise, Step, cheapest_step
from mercer.woodbury import LowRankInverse

SIZE, ENGINE = 90, Threads(1)


def axes(seed: int, n: int = SIZE, *, is_complex: bool = False) -> Array:
    """A random orthonormal basis."""
    rng = np.random.default_rng(seed)
    block = rng.standard_normal((n, n))
    return np.linalg.qr(block + 1j * rng.standard_normal((n, n)) if is_complex else block)[0]


def hermitian(values: Array, basis: Array) -> Array:
    K: Array = (basis * values) @ basis.conj().T
    return (K + K.conj().T) / 2


def padded(values: list[float], last: float = 0.3) -> Array:
    """Leading values, and others that decay from ``last``."""
    return np.append(values, last * 0.9 ** np.arange(SIZE - len(values)))


@dataclass
class Wrong:
    """A matrix whose products are off by vectors of exactly the announced length."""

    matrix: Array
    single: float = 0.0
    double: float = 0.0
    towards: Array | None = None
    columns: list[tuple[bool, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def product(self, vectors: Array, *, single: bool = False) -> Array:
        self.columns.append((single, vectors.shape[1]))
        size = (self.single if single else self.double) * np.linalg.norm(vectors, axis=0)
        error = self.rng.standard_normal(vectors.shape)
        if self.towards is not None:  # an axis whose value is to look larger than it is
            error = self.towards[:, None] * (self.towards.conj() @ vectors)
        lengths = np.maximum(np.linalg.norm(error, axis=0), 1e-300)
        return np.asarray(self.matrix @ vectors + size * error / lengths)


def rough(values: Array, basis: Array, rank: int, seed: int = 0, dtype: type = float) -> Array:
    """The factor of an approximation that is off by a per cent."""
    rng = np.random.default_rng(seed)
    turned = basis[:, :rank] + 0.01 * rng.standard_normal((len(basis), rank)) / np.sqrt(rank)
    factor = turned * np.sqrt(np.maximum(values[:rank], 0.0))
    return np.asarray(
        factor, np.result_type(dtype, np.complex64) if np.iscomplexobj(basis) else dtype
    )


def iterated(
    operator: Wrong, count: int, factor: Array, tol: float, noise: Noise, **settings: Any
) -> Iteration:
    rng = np.random.default_rng(1)
    start = rng.standard_normal((len(operator.matrix), count + 2))
    preconditioner = LowRankInverse(factor)
    leading = preconditioner.start(start.shape[1])
    start = np.hstack([leading, start[:, leading.shape[1] :]])
    return davidson(operator, count, start, preconditioner, tol=tol, noise=noise, **settings)


def residuals(K: Array, state: Iteration, count: int) -> Array:
    vectors, values = state.vectors[:, :count], state.values[:count]
    lengths: Array = np.linalg.norm(K @ vectors - vectors * values, axis=0)
    return lengths


SPECTRA = {
    "apart": padded([1.0, 0.8, 0.6, 0.5, 0.4]),
    "one value, more often than the block is wide": padded([1.0] + [0.6] * 9),
    "a cluster across the last axis": padded([1.0, 0.7, 0.6, 0.6 - 1e-9, 0.6 - 2e-9, 0.6 - 3e-9]),
    "all leading values alike": padded([1.0] * 6),
    "indefinite": np.append(padded([1.0, 0.8, 0.6])[:-20], -0.9 * 0.8 ** np.arange(20)),
    "far below zero": np.append(padded([1.0, 0.8, 0.6])[:-3], [-8.0, -4.0, -2.0]),
    "of rank 3": np.append([1.0, 0.5, 0.1], np.zeros(SIZE - 3)),
    "nothing but one axis": np.append(1.0, np.zeros(SIZE - 1)),
}


@pytest.mark.parametrize("name", list(SPECTRA))
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@given(
    st.integers(0, 1000),
    st.sampled_from([1e-4, 1e-7, 1e-10, 1e-12]),
    st.sampled_from([0, 8, 30]),
    st.booleans(),
)
@settings(max_examples=8)
def test_ritz_pairs_are_those_of_the_matrix(
    name: str, is_complex: bool, seed: int, tol: float, rank: int, is_single: bool
) -> None:
    values, basis = np.sort(SPECTRA[name])[::-1], axes(seed, is_complex=is_complex)
    K = hermitian(values, basis)
    factor = rough(values, basis, rank, seed, np.float32 if is_single else float)
    state = iterated(Wrong(K), 3, factor, tol, Noise())
    assert state.has_converged
    assert residuals(K, state, 3).max() <= 1.01 * tol + 1e-13
    np.testing.assert_allclose(state.values[:3], values[:3], rtol=0, atol=10 * tol + 1e-12)
    gram = state.vectors.conj().T @ state.vectors
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)


def test_a_basis_that_is_cut_down_remembers_where_it_came_from() -> None:
    """Ten values within 1e-6 and no preconditioner: from one block alone it takes ever longer."""
    values = np.append([1.0, *(0.5 + 1e-7 * np.arange(10)[::-1])], 0.4 * 0.97 ** np.arange(79))
    operator, empty = Wrong(hermitian(values, axes(0))), np.zeros((SIZE, 0))
    narrow = Limits(passes=40, columns=0)
    state = iterated(operator, 4, empty, 1e-9, Noise(), limits=narrow)
    assert state.has_converged
    assert max(columns for _, columns in operator.columns) == 6
    np.testing.assert_allclose(state.values[:4], values[:4], atol=1e-12)
    forgetful = replace(narrow, kept_blocks=1)
    assert not iterated(operator, 4, empty, 1e-9, Noise(), limits=forgetful).has_converged


def test_a_slow_iteration_goes_on_with_residuals_in_a_larger_space() -> None:
    """Nearly flat spectra: what is left of an approximation leads nowhere, a Krylov space does."""
    n = 400
    values = np.append(1.0 + 0.01 * np.arange(10)[::-1], np.linspace(1.0, 0.0, n - 10))
    basis = axes(3, n)
    K = hermitian(values, basis)
    wrong = np.linalg.qr(np.random.default_rng(0).standard_normal((n, 20)))[0]
    state = iterated(Wrong(K), 6, wrong, 1e-9, Noise())
    assert state.has_converged
    assert state.has_lanczos
    assert residuals(K, state, 6).max() <= 1.01e-9 * values[0]
    np.testing.assert_allclose(state.values[:6], values[:6], atol=1e-12)
    narrow = iterated(Wrong(K), 6, wrong, 1e-9, Noise(), limits=Limits(columns=0))
    assert len(narrow.history) > 1.5 * len(state.history)


def test_a_loose_bound_for_rounding_is_no_reason_to_stop() -> None:
    values, basis = SPECTRA["apart"], axes(2)
    K, factor = hermitian(values, basis), rough(values, basis, 12)
    loose = Noise(np.inf, 1e3, usual_double=1e-15)
    state = iterated(Wrong(K), 3, factor, 1e-9, loose)
    assert state.has_converged
    assert residuals(K, state, 3).max() <= 1e-9


@pytest.mark.parametrize("announced", [1e-7, 3e-9])
def test_the_iteration_ends_where_rounding_is_all_that_is_left(announced: float) -> None:
    """Also where rounding is larger than what it is said to be as a rule."""
    values, basis = SPECTRA["apart"], axes(2)
    K, factor = hermitian(values, basis), rough(values, basis, 12)
    operator = Wrong(K, double=1e-7)
    noise = Noise(np.inf, 1e-4, usual_double=announced)
    state = iterated(operator, 3, factor, 1e-12, noise)
    assert state.has_converged
    assert len(state.history) < 40
    assert 1e-12 < residuals(K, state, 3).max() <= 1e-6


def test_a_space_that_is_whole_takes_in_no_rounding() -> None:
    """Rounding far above what is said drives the basis through the whole space, and no further."""
    values, basis = SPECTRA["apart"], axes(2)
    K, factor = hermitian(values, basis), rough(values, basis, 12)
    state = iterated(
        Wrong(K, double=1e-7), 3, factor, 1e-12, Noise(np.inf, 1e-4, usual_double=1e-12)
    )
    assert not state.has_converged
    np.testing.assert_allclose(state.values[:3], values[:3], atol=1e-5)


def test_vectors_with_known_images_join_without_a_product() -> None:
    """A start blind to the largest axis, of which a witness knows."""
    values, basis = SPECTRA["apart"], axes(6)
    K = hermitian(values, basis)
    blind = basis[:, 1:6]
    witness = basis[:, :1] + 0.3 * basis[:, 40:41]
    witness /= np.linalg.norm(witness)
    empty = LowRankInverse(np.zeros((SIZE, 0)))
    asked: list[float] = []

    def known(value: float) -> tuple[Array, Array, float] | None:
        asked.append(value)
        return (witness, K @ witness, 1e-15) if len(asked) == 1 else None

    def solved(**settings: Any) -> Iteration:
        return davidson(Wrong(K), 3, blind, empty, tol=1e-9, noise=Noise(0.0, 1e-15), **settings)

    np.testing.assert_allclose(solved().values[:3], values[1:4], atol=1e-12)
    found = solved(witnesses=known)
    assert asked[0] == pytest.approx(values[3])
    np.testing.assert_allclose(found.values[:3], values[:3], atol=1e-12)
    np.testing.assert_allclose(K @ found.vectors, found.images, atol=1e-13)


def test_what_did_not_converge_says_so() -> None:
    K = hermitian(np.linspace(1.0, 0.9, SIZE), axes(0))
    start = np.random.default_rng(0).standard_normal((SIZE, 3))
    empty = LowRankInverse(np.zeros((SIZE, 0)))
    state = davidson(Wrong(K), 1, start, empty, tol=1e-10, limits=Limits(passes=3))
    assert not state.has_converged
    assert state.single_passes + state.double_passes == len(state.history) == 3
    assert state.history[-1] == pytest.approx(residuals(K, state, 1)[0] / state.values[0])


# The passes: which steps are taken, and what a restart multiplies


def steps_of(
    monkeypatch: pytest.MonkeyPatch, operator: Wrong, factor: Array, tol: float, announced: float
) -> set[Step]:
    """Return the steps an iteration takes whose rounding is smaller than its bound."""
    seen: list[Step] = []

    def watched(*arguments: object, **named: object) -> Step:
        seen.append(cheapest_step(*arguments, **named))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(iteration, "cheapest_step", watched)
    state = iterated(operator, 3, factor, tol, Noise(announced, 1e-15))
    assert state.has_converged
    assert residuals(operator.matrix, state, 3).max() <= tol
    return set(seen)


def test_every_step_is_taken_by_some_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    values, basis = SPECTRA["apart"], axes(3)
    K, good, none = hermitian(values, basis), rough(values, basis, 20), np.zeros((SIZE, 0))
    coarse = steps_of(monkeypatch, Wrong(K, 1e-9), good, 1e-6, 1e-8)
    assert coarse == {Step.SINGLE}
    fine = steps_of(monkeypatch, Wrong(K, 1e-8), good, 1e-9, 1e-4)
    assert {Step.SINGLE, Step.IMPROVE} <= fine
    exact = basis[:, :20] * np.sqrt(values[:20])
    assert steps_of(monkeypatch, Wrong(K, 1e-9), exact, 1e-6, 1e-4) == {Step.REPEAT}
    stuck = Wrong(hermitian(padded([1.0] * 3, 0.97), basis), 1e-5)
    assert {Step.RESTART, Step.DOUBLE} <= steps_of(monkeypatch, stuck, none, 1e-9, 1e-4)


def spans(block: Array, other: Array) -> bool:
    """Whether the columns of the second lie in the space of the orthonormal first."""
    left = other - block @ (block.conj().T @ other)
    return bool(np.linalg.norm(left) <= 1e-12 * np.linalg.norm(other))


@pytest.mark.parametrize("is_complex", [False, True])
def test_restarts_span_what_they_say(is_complex: bool) -> None:
    basis = axes(7, is_complex=is_complex)
    ritz, away = basis[:, :5], basis[:, 5:10]
    short = 1e-3 * away + 0.7 * ritz[:, ::-1]  # what lies along other Ritz vectors is no length

    def restarted(step: Step, corrections: Array, tol: float = 1e-4) -> Array:
        block = _restarted(step, ritz, corrections, away, 3, tol, engine=ENGINE)
        np.testing.assert_allclose(block.conj().T @ block, np.eye(block.shape[1]), atol=1e-13)
        return block

    repeated = restarted(Step.REPEAT, short)
    assert repeated.shape[1] == 5
    assert spans(repeated, ritz)
    improved = restarted(Step.IMPROVE, short)
    assert improved.shape[1] == 5
    assert spans(improved, ritz - 1e-3 * away)
    for step, corrections, tol in (
        (Step.RESTART, short, 1e-4),
        (Step.IMPROVE, short, 1e-8),  # the square of a correction is more than may be neglected
        (Step.IMPROVE, short * np.array([1, 1, 1, 1, 2e3 * SHORT]), 1e-4),
    ):
        both = restarted(step, corrections, tol)
        assert both.shape[1] == 10
        assert spans(both, np.hstack([ritz, away]))


def test_newtons_step_lowers_the_residual_and_the_other_sign_does_not() -> None:
    values, basis = SPECTRA["apart"], axes(5)
    K, b = hermitian(values, basis), 5
    noise = np.random.default_rng(0).standard_normal((SIZE, b))
    Q = orthonormal(basis[:, :b] + 1e-3 * noise, ENGINE)
    theta, y = np.linalg.eigh(Q.T @ K @ Q)
    ritz, theta = (Q @ y)[:, ::-1], theta[::-1]
    R = K @ ritz - ritz * theta
    corrections = LowRankInverse(rough(values, basis, 40)).correct(ritz, R, theta)

    def after(block: Array) -> float:
        Q = orthonormal(block, ENGINE)
        return float(np.linalg.norm(K @ Q - Q @ (Q.T @ K @ Q), 2))

    before = float(np.linalg.norm(R, 2))
    assert (
        after(_restarted(Step.IMPROVE, ritz, corrections, ritz, b, 1.0, engine=ENGINE))
        < 0.05 * before
    )
    assert after(ritz + corrections) > before


# The preconditioner


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_low_rank_inverse_is_the_inverse(is_complex: bool, dtype: type) -> None:
    values, basis = SPECTRA["apart"], axes(2, is_complex=is_complex)
    F = rough(values, basis, 12, dtype=dtype)
    inner, wide = LowRankInverse(F), F.astype(np.result_type(F, float))
    low, atol = wide @ wide.conj().T, 1e-5 if dtype is np.float32 else 1e-12
    v = axes(3, is_complex=is_complex)[:, :4]
    np.testing.assert_allclose(inner.product(v), low @ v, atol=1e-13)
    assert inner.trace == pytest.approx(np.trace(low).real, rel=1e-6)
    np.testing.assert_allclose(inner.values, np.linalg.eigvalsh(low)[::-1][:12], atol=atol)
    found = inner.start(12)
    np.testing.assert_allclose(found.conj().T @ found, np.eye(12), atol=10 * atol)
    np.testing.assert_allclose(inner.shares(v), found.conj().T @ v, atol=10 * atol)
    theta, shares = 0.55, inner.shares(v)
    woodbury = (v - found @ ((inner.values / (inner.values - theta))[:, None] * shares)) / -theta
    direct = np.linalg.solve(low - theta * np.eye(SIZE), v)
    np.testing.assert_allclose(woodbury, direct, atol=100 * atol)
    left = low - v @ (v.conj().T @ low)
    left = left - (left @ v) @ v.conj().T
    assert inner.outside(v) == pytest.approx(np.linalg.eigvalsh(left)[-1], abs=1e-12)


def ritz_of(K: Array, block: Array) -> tuple[Array, Array, Array]:
    """Return Ritz vectors, residuals and values of a block."""
    Q = orthonormal(block, ENGINE)
    theta, y = np.linalg.eigh(Q.conj().T @ K @ Q)
    ritz, theta = (Q @ y)[:, ::-1], theta[::-1]
    return ritz, K @ ritz - ritz * theta, theta


@pytest.mark.parametrize("is_complex", [False, True])
def test_corrections_solve_the_projected_equation(is_complex: bool) -> None:
    r"""(I - QQ*)(FF* - θI) c = r with Q*c = 0, against dense matrices."""
    values, basis = SPECTRA["apart"], axes(2, is_complex=is_complex)
    K, F = hermitian(values, basis), rough(values, basis, 12)
    noise = np.random.default_rng(1).standard_normal((SIZE, 4))
    ritz, R, theta = ritz_of(K, basis[:, :4] + 0.02 * noise)
    corrections = LowRankInverse(F).correct(ritz, R, theta)
    np.testing.assert_allclose(ritz.conj().T @ corrections, 0.0, atol=1e-11)
    project = np.eye(SIZE) - ritz @ ritz.conj().T
    for c, r, t in zip(corrections.T, R.T, theta, strict=True):
        image = project @ ((F @ F.conj().T - t * np.eye(SIZE)) @ c)
        np.testing.assert_allclose(image, project @ r, atol=1e-11)


def test_corrections_of_a_cluster_do_not_run_along_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values of K̂ next to θ amplify what lies along the other axes of a cluster, unless removed."""
    values, basis = padded([1.0, 0.6, 0.599]), axes(4)
    seen = np.linalg.qr(rough(np.ones(SIZE), basis, 30))[0]
    # K̂ gives the third axis the value of the second.
    inner = LowRankInverse(seen * np.sqrt([1.0, 0.601, 0.6, *values[3:30]]))
    noise = np.random.default_rng(2).standard_normal((SIZE, 5))
    ritz, R, theta = ritz_of(hermitian(values, basis), basis[:, :5] + 1e-5 * noise)
    worst = 20.0 * np.linalg.norm(R, axis=0).max()
    assert np.linalg.norm(inner.correct(ritz, R, theta), axis=0).max() <= worst
    monkeypatch.setattr(woodbury, "NEAR", 0)  # the control: orthogonal to its own Ritz vector only
    assert np.linalg.norm(inner.correct(ritz, R, theta), axis=0).max() > worst


def test_wide_blocks_are_corrected_against_their_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(woodbury, "NEAR", 2)
    values, basis = 0.9 ** np.arange(SIZE), axes(6)
    noise = np.random.default_rng(3).standard_normal((SIZE, 9))
    ritz, R, theta = ritz_of(hermitian(values, basis), basis[:, :9] + 1e-3 * noise)
    corrections = LowRankInverse(rough(values, basis, 30)).correct(ritz, R, theta)
    overlaps = np.abs(ritz.T @ corrections)
    is_near = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) <= 2
    assert overlaps[is_near].max() <= 1e-12
    assert overlaps[~is_near].max() > 1e-9


@pytest.mark.parametrize("is_complex", [False, True])
def test_corrections_of_some_pairs_are_those_of_all(
    is_complex: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(woodbury, "NEAR", 2)
    values, basis = 0.9 ** np.arange(SIZE), axes(6, is_complex=is_complex)
    noise = np.random.default_rng(3).standard_normal((SIZE, 20))
    ritz, R, theta = ritz_of(hermitian(values, basis), basis[:, :20] + 1e-3 * noise)
    inner, chosen = LowRankInverse(rough(values, basis, 30)), np.isin(np.arange(20), [0, 9, 19])
    some = inner.correct(ritz, R, theta, chosen)
    np.testing.assert_allclose(some, inner.correct(ritz, R, theta)[:, chosen], atol=1e-14)


def test_anorthonormal_block_leaves_out_what_depends() -> None:
    basis = axes(8)
    block = np.column_stack([basis[:, 0], basis[:, 1], basis[:, 0] + basis[:, 1], np.zeros(SIZE)])
    assert orthonormal(block, ENGINE).shape[1] == 2
    found = orthonormal(basis[:, :4] + 1e-6 * basis[:, 4:8], ENGINE, against=basis[:, :4])
    assert np.abs(found.T @ basis[:, :4]).max() <= 1e-14
    sines = found - basis[:, 4:8] @ (basis[:, 4:8].T @ found)
    assert np.linalg.norm(sines, 2) <= 1e-8


# Rounding


@pytest.mark.parametrize("is_aimed", [False, True], ids=["anywhere", "at an axis"])
@given(
    st.integers(0, 1000),
    st.sampled_from(["apart", "a cluster across the last axis", "far below zero"]),
    st.sampled_from([1e-6, 1e-4, 1e-2]),
    st.sampled_from([1e-14, 1e-9, 1e-5]),
    st.sampled_from([1e-5, 1e-8]),
)
@settings(max_examples=30)
def test_products_off_as_announced_break_no_certificate(
    is_aimed: bool, seed: int, name: str, single: float, double: float, tol: float
) -> None:
    values, basis = np.sort(SPECTRA[name])[::-1], axes(seed)
    K, factor = hermitian(values, basis), rough(values, basis, 12, seed, np.float32)
    operator = Wrong(K, single, double, basis[:, seed % 5] if is_aimed else None)
    state = iterated(operator, 3, factor, tol, Noise(single, double))
    every = len(state.values)
    images = np.linalg.norm(K @ state.vectors - state.images, axis=0)
    assert np.all(images <= state.noise + 1e-12)
    Q = state.vectors
    outside = K - Q @ (Q.T @ K)
    tau = float(np.linalg.eigvalsh(outside - (outside @ Q) @ Q.T)[-1])
    rounding = state.noise + 1e-13
    proof = certify(state.values, state.residuals, rounding, 3, [Complement(tau + 1e-13, "known")])
    for k in range(3):
        inside = (proof.lower[k] <= values) & (values <= proof.upper[k])
        assert inside[k] if proof.is_ordered[k] else np.any(inside)
    if state.has_converged:
        limit = max(tol * state.values[0], 2.0 * np.sqrt(every) * double) + 1e-12
        norms, noise = np.linalg.norm(state.residuals[:, :3], axis=0), state.noise[:3]
        assert max(float(norms.max()), float(noise.max())) <= limit
        assert np.all(residuals(K, state, 3) <= norms + noise + 1e-12)


def test_errors_that_were_not_announced_break_it() -> None:
    """The control: the same products, taken for exact."""
    values, basis = SPECTRA["apart"], axes(1)
    operator = Wrong(hermitian(values, basis), 1e-3, 1e-3, basis[:, 0])
    state = iterated(operator, 3, rough(values, basis, 12), 1e-8, Noise())
    tau = Complement(float(values[5]), "known")
    proof = certify(state.values, state.residuals, state.noise, 3, [tau])
    assert values[0] < proof.lower[0]
