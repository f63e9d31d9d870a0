from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import certificate
from mercer.certificate import (
    NOT_HIDDEN,
    Complement,
    certify,
    frobenius_complement,
    trace_complement,
    upper_bounds,
)
from mercer.check import Array
from mercer.spectrum import probes
from mercer.spectrum.probes import NormProbe, _largest_root
from mercer.woodbury import LowRankInverse


def problem(seed: int, n: int, b: int, noise: float, *, definite: bool) -> tuple[Array, ...]:
    """A matrix with a known spectrum and Ritz pairs of a space near its leading axes."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.uniform(0.0 if definite else -1.0, 1.0, n) ** 3)[::-1]
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (axes * values) @ axes.T
    A = (A + A.T) / 2
    Q = np.linalg.qr(axes[:, :b] + noise * rng.standard_normal((n, b)))[0]
    theta, y = np.linalg.eigh(Q.T @ A @ Q)
    Q = Q @ y[:, ::-1]
    return A, values, theta[::-1], Q


@given(
    st.integers(0, 10_000),
    st.integers(6, 30),
    st.integers(1, 5),
    st.sampled_from([0.0, 1e-6, 1e-3, 0.1, 0.5]),
    st.booleans(),
)
def test_rigorous_certificates_are_always_true(
    seed: int, n: int, count: int, noise: float, definite: bool
) -> None:
    A, values, theta, Q = problem(seed, n, min(count + 2, n), noise, definite=definite)
    images = A @ Q
    rounding = np.full(len(theta), 1e-13)
    complements = [frobenius_complement(float(np.sum(A**2)), images, theta, rounding)]
    if definite:
        complements.append(trace_complement(float(np.trace(A)), theta, 1e-13, "definite"))
    residuals = images - Q * theta
    proof = certify(theta, residuals, rounding, count, complements, Q.T @ residuals)
    assert np.sum(values > proof.complete_above) <= count
    for k in range(count):
        if proof.is_ordered[k]:
            assert proof.lower[k] <= values[k] <= proof.upper[k]
        else:
            assert np.any((proof.lower[k] <= values) & (values <= proof.upper[k]))
    true_axes = np.linalg.eigh(A)[1][:, ::-1]
    for k in range(count):
        if proof.sines[k] < 1.0:
            outside = Q[:, : k + 1] - true_axes[:, : k + 1] @ (
                true_axes[:, : k + 1].T @ Q[:, : k + 1]
            )
            assert np.linalg.norm(outside, 2) <= proof.sines[k] + 1e-9


def test_the_quadratic_bound_beats_the_block_bound_where_there_is_a_gap() -> None:
    theta, residuals = np.array([1.0, 0.9]), np.array([[1e-4, 0.0], [0.0, 1e-4]])
    proof = certify(theta, residuals, np.zeros(2), 2, [Complement(0.1, "given")])
    assert np.all(proof.errors < 1.3e-8)
    assert np.all(proof.is_ordered)
    assert proof.bounds == ("leading, given",) * 2
    assert proof.complete_above == pytest.approx(0.1)
    blind = certify(theta, residuals, np.zeros(2), 2, [Complement(2.0, "too large")])
    assert np.all(blind.errors == pytest.approx(2e-4))
    assert not np.any(blind.is_ordered)
    assert blind.bounds == ("block residual",) * 2


def test_a_planted_residual_that_is_too_small_is_noticed() -> None:
    """The negative control: with half of the residual the intervals miss the truth."""
    A, values, theta, Q = problem(4, 20, 4, 0.3, definite=True)
    R = A @ Q - Q * theta
    honest = certify(theta, R, np.full(4, 1e-13), 3, [])
    cheated = certify(theta, 1e-3 * R, np.full(4, 1e-13), 3, [])

    def covers(proof: object) -> bool:
        low, high = proof.lower, proof.upper  # type: ignore[attr-defined]
        return all(np.any((low[k] <= values) & (values <= high[k])) for k in range(3))

    assert covers(honest)
    assert not covers(cheated)


def test_the_norm_probe_bounds_the_norm_in_every_trial() -> None:
    rng = np.random.default_rng(0)
    tight = []
    for seed in range(200):
        factor = rng.standard_normal((60, 5))
        rest = rng.standard_normal((60, 60))
        E = rest @ rest.T / 60
        probe = NormProbe(LowRankInverse(factor), 60, seed)
        for _ in range(4):
            probe.advance((factor @ factor.T + E) @ probe.vectors)
        tight.append(probe.largest() / np.linalg.norm(E, 2))
    assert min(tight) >= 1.0
    assert np.median(tight) < 2.2  # it is 3.2 by powers alone


def test_the_polynomial_of_the_probes_beats_their_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a spectrum that falls slowly, as that of what a low-rank factor leaves out."""
    scales = 1.0 / np.arange(1.0, 401.0)
    found = {}
    for polynomials in (0, 8):
        monkeypatch.setattr(probes, "POLYNOMIALS", polynomials)
        probe = NormProbe(LowRankInverse(np.zeros((400, 1))), 400, 0)
        for _ in range(3):
            probe.advance(scales[:, None] * probe.vectors)
        found[polynomials] = probe.largest()
    assert 1.0 <= found[8] < 0.7 * found[0]


def test_a_bound_by_a_root_is_never_below_it_where_roots_lie_close_together() -> None:
    """Of two roots nearly alike `numpy.roots` is wrong by the square root of rounding."""
    rng, below = np.random.default_rng(0), 0
    for _ in range(200):
        roots = 1.0 + 1e-8 * rng.standard_normal(2)
        coefficients = np.poly(roots)[::-1].copy()
        found = _largest_root(np.append(0.0, coefficients[1:]), np.zeros(2), -coefficients[0])
        assert roots.max() <= found < 1.001
        below += int((1.0 + 1e-9) * np.roots(coefficients[::-1]).real.max() < roots.max())
    assert below > 0  # so that the proof has something to do


def test_only_the_largest_eigenvalue_of_the_rest_counts_not_the_smallest() -> None:
    """Of -I and one axis of 0.3 the norm is 1, and what axes can be missing is 0.3."""
    scales = np.append(0.3, np.full(99, -1.0))
    probe = NormProbe(LowRankInverse(np.zeros((100, 1))), 100, 0)
    for _ in range(4):
        probe.advance(scales[:, None] * probe.vectors)
    assert 0.3 <= probe.largest() < 0.6


@pytest.mark.parametrize("is_complex", [False, True])
def test_the_norm_probe_fails_as_often_as_it_may(
    is_complex: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one axis, where nothing else helps: with a law of 20 % about that many bounds fail."""
    monkeypatch.setattr(probes, "FAILURE", 0.2)
    n, failures, trials = 20, 0, 1000
    axis = np.full(n, 1.0 / np.sqrt(n)) * (np.exp(1j * np.arange(n)) if is_complex else 1.0)
    A = np.outer(axis, axis.conj())
    for seed in range(trials):
        probe = NormProbe(LowRankInverse(np.zeros((n, 1))), n, seed)
        probe.advance(A @ probe.vectors)
        failures += probe.largest() < 1.0
    if is_complex:  # twice as many degrees of freedom, of which half are not counted on
        assert failures <= 0.2 * trials
    else:
        assert 0.15 * trials < failures < 0.25 * trials


def test_errors_that_hide_an_axis_from_the_probes_are_allowed_for() -> None:
    noise, scales = 0.4, np.append(1.0, np.full(59, 1e-3))
    probe = NormProbe(LowRankInverse(np.zeros((60, 1))), 60, 0)
    for _ in range(4):
        images = scales[:, None] * probe.vectors
        images[0] -= np.clip(images[0], -noise, noise)  # the worst error of that size
        probe.advance(images)
    assert probe.largest(noise) >= 1.0
    assert probe.largest() + noise < 1.0  # which therefore needs its assumption
    sure, assumed = probe.complements(np.eye(60)[:, 1:3], noise)
    assert (sure.assumption, assumed.assumption) == ("none", NOT_HIDDEN)
    assert sure.tau >= 1.0


def test_an_interval_without_assumption_is_kept_unless_a_much_narrower_one_is_found() -> None:
    sure, assumed = Complement(0.5, "probes"), Complement(0.4, "probes", NOT_HIDDEN)
    residuals = np.full((9, 2), 1e-6)
    proof = certify(np.array([1.0, 0.45]), residuals, np.zeros(2), 2, [sure, assumed])
    assert proof.is_ordered.all()
    assert proof.assumptions == ("none", NOT_HIDDEN)


def test_the_complement_of_a_probe_bounds_what_is_left_out() -> None:
    A, values, theta, Q = problem(11, 40, 5, 1e-4, definite=True)
    approximation = np.linalg.eigh(A)
    factor = approximation[1][:, -8:] * np.sqrt(approximation[0][-8:])
    probe = NormProbe(LowRankInverse(factor), 40, 0)
    for _ in range(5):
        probe.advance(A @ probe.vectors)
    left = A - Q @ (Q.T @ A)
    left = left - (left @ Q) @ Q.T
    for complement in probe.complements(Q, 0.0):
        assert complement.tau >= np.linalg.eigvalsh((left + left.T) / 2)[-1]
        assert values[5] <= complement.tau
    assert len(theta) == 5


def test_noise_in_one_image_widens_every_interval() -> None:
    """K = diag(.9, 1, 0) is within the noise of these Ritz pairs, so its λ₂ must be inside."""
    proof = certify(
        np.ones(2), np.zeros((3, 2)), np.array([0.1, 1e-12]), 2, [Complement(0.0, "given")]
    )
    assert np.all(proof.lower <= [1.0, 0.9])


def test_an_angle_from_a_probe_says_so() -> None:
    probe = Complement(0.5, "probe", "none", 1e-9)
    proof = certify(np.array([1.0, 0.1]), np.zeros((3, 2)), np.full(2, 1e-6), 1, [probe])
    assert proof.sines[0] == 1.0 or proof.failure_probability == 1e-9


def test_rounding_larger_than_the_residual_does_not_hide_the_order() -> None:
    values = np.array([5.0, 4.0, 3.0])
    left_out = [Complement(1.0, "trace")]
    proof = certify(values, np.zeros((6, 3)), np.full(3, 1e-3), 3, left_out)
    assert proof.is_ordered.all()
    assert np.all(proof.errors <= 2.0 * np.sqrt(3.0) * 1e-3 * (1.0 + 1e-12))


@pytest.mark.parametrize("many", [False, True])
@given(st.integers(0, 10_000))
def test_no_matrix_with_these_residuals_has_larger_eigenvalues(many: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, b = 12, int(rng.integers(1, 6))
    A = rng.standard_normal((n, n))
    K = A + A.T
    Q = np.linalg.qr(rng.standard_normal((n, b)))[0]
    outside = np.linalg.qr(Q, mode="complete")[0][:, b:]
    tau = float(np.linalg.eigvalsh(outside.T @ K @ outside)[-1])
    H, R = Q.T @ K @ Q, outside.T @ K @ Q
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "MOST_COUPLED", 0 if many else 200)
        upper = upper_bounds(H, R.T @ R, tau)
    truth = np.linalg.eigvalsh(K)[::-1]
    assert np.all(truth[:b] <= np.maximum(upper, tau))


def test_the_bound_is_reached_by_some_matrix() -> None:
    """Of the rest only τ is known: a rest of τ everywhere has these very eigenvalues."""
    H, S, tau = np.diag([2.0, 1.5]), np.array([[0.3, 0.1], [0.1, 0.2]]), 0.5
    K = np.block([[H, S], [S, tau * np.eye(2)]])
    np.testing.assert_allclose(
        upper_bounds(H, S @ S, tau), np.linalg.eigvalsh(K)[::-1][:2], rtol=1e-12
    )


def test_large_residuals_of_the_last_pairs_do_not_spoil_the_first() -> None:
    residuals = np.zeros((9, 3))
    residuals[3, 0], residuals[4, 2] = 1e-6, 0.2
    theta = np.array([3.0, 2.0, 0.6])
    proof = certify(theta, residuals, np.zeros(3), 2, [Complement(0.7, "given")])
    assert proof.is_ordered.all()
    assert proof.errors.max() <= 1e-11
    assert 0.7 < proof.complete_above < 0.9
    blunt = certify(theta, residuals + 0.2, np.zeros(3), 2, [Complement(0.7, "given")])
    assert blunt.errors.max() > 0.01


def test_the_statement_says_what_is_proved_how_surely_and_on_what() -> None:
    theta, residuals = np.array([1.0, 0.45]), np.full((9, 2), 1e-6)
    probes = Complement(0.4, "probes", NOT_HIDDEN, 1e-9)
    proof = certify(theta, residuals, np.zeros(2), 2, [probes])
    assert proof.statement == (
        "2 of 2 axes proved to be the leading ones; no eigenvalue above 0.4 is missing; all of "
        f"this but with probability 1e-09; assuming: {NOT_HIDDEN}"
    )
    less = certify(theta, residuals, np.zeros(2), 2, [])
    assert less.statement == (
        "0 of 2 axes proved to be the leading ones; the others to be eigenvalues"
    )


@given(st.integers(0, 2000), st.sampled_from([1e-12, 1e-4, 0.05]))
def test_rounding_of_each_image_is_allowed_for(seed: int, noise: float) -> None:
    """Images off by vectors of the announced lengths, those of the last pairs by much more."""
    A, values, theta, Q = problem(seed, 15, 4, 0.1, definite=False)
    rng = np.random.default_rng(seed + 1)
    sizes = noise * np.array([1e-3, 1e-2, 0.1, 1.0])
    errors = rng.standard_normal(Q.shape)
    images = A @ Q + sizes * errors / np.linalg.norm(errors, axis=0)
    residuals = images - Q * theta
    outside = np.eye(15) - Q @ Q.T
    tau = float(np.linalg.eigvalsh(outside @ A @ outside)[-1]) + 1e-12
    proof = certify(theta, residuals, sizes, 3, [Complement(tau, "known")], Q.T @ residuals)
    for k in np.flatnonzero(proof.is_ordered):
        assert proof.lower[k] - 1e-13 <= values[k] <= proof.upper[k] + 1e-13
    assert np.sum(values > proof.complete_above + 1e-13) <= 3
