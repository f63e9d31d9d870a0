from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from scipy.linalg import logm

import mercer as mc
from mercer import determinant
from mercer.determinant import _plain, _quadratures, _scaled, log_determinant
from mercer.gram import Gram
from mercer.lowrank import nystrom

RNG = np.random.default_rng(2)
X = RNG.standard_normal((400, 3))


def gaussian_log_determinant(
    x: np.ndarray[tuple[int, int], np.dtype[np.float64]], shift: float
) -> float:
    """Return log det(K + γI) of the Gaussian of bandwidth 1, computed with 60 digits."""
    with mpmath.workdps(60):
        points = [[mpmath.mpf(float(a)) for a in row] for row in x]
        A = mpmath.matrix(len(x), len(x))
        for i, p in enumerate(points):
            for j, q in enumerate(points):
                squares = sum((a - b) ** 2 for a, b in zip(p, q, strict=True))
                A[i, j] = mpmath.exp(-squares / 2) + (mpmath.mpf(shift) if i == j else 0)
        L = mpmath.cholesky(A)
        return float(2 * sum(mpmath.log(L[i, i]) for i in range(len(x))))


LINE = np.linspace(0.0, 1.0, 25)[:, None]


@pytest.mark.parametrize("shift", [1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-6, 1.0])
def test_the_interval_of_a_factored_determinant_holds_what_rounding_does(shift: float) -> None:
    found = log_determinant(Gram(mc.Gaussian(1.0), LINE), shift)
    assert found.lower <= gaussian_log_determinant(LINE, shift) <= found.upper
    assert found.lower <= found.value <= found.upper
    assert found.confidence == 1.0
    assert ("rounding reaches" in found.method) == (shift <= 1e-13)
    if shift >= 1e-10:
        # Twice a bound for tr(A⁻¹) times the rounding of n entries and of the factor.
        assert found.upper - found.lower <= 2e-11 / shift


def test_a_determinant_without_a_shift_is_enclosed() -> None:
    x = np.linspace(0.0, 30.0, 20)[:, None]
    found = log_determinant(Gram(mc.Gaussian(1.0), x), 0.0)
    assert found.lower <= gaussian_log_determinant(x, 0.0) <= found.upper
    assert found.upper - found.lower <= 1e-8


def test_a_determinant_lost_to_rounding_has_no_lower_bound_without_a_shift() -> None:
    x = np.linspace(0.0, 1.0, 9)[:, None]
    found = log_determinant(Gram(mc.Gaussian(1.0), x), 0.0)
    assert "rounding reaches" in found.method
    assert found.lower == -np.inf
    assert found.value <= found.upper <= 0.0  # Hadamard: the diagonal is 1
    assert gaussian_log_determinant(x, 0.0) <= found.upper


def test_determinants_of_hermitian_matrices_and_of_none() -> None:
    assert log_determinant(Gram(mc.Gaussian(1.0), LINE[:0]), 1.0).value == 0.0
    z = X[:50, :2] + 1j * X[50:100, :2]
    gram = Gram(mc.Linear(), z)
    truth = np.linalg.slogdet(gram.dense() + 0.5 * np.eye(50))[1]
    found = log_determinant(gram, 0.5)
    assert found.lower <= truth <= found.upper
    sampled = log_determinant(gram, 0.5, method="lanczos", random_state=0)
    rounding = 1e-13 * abs(truth)  # which a sampled interval leaves out, and the truth has too
    assert sampled.lower - rounding <= truth <= sampled.upper + rounding


def test_determinants_are_enclosed_as_often_as_stated() -> None:
    gram = Gram(mc.Gaussian(1.5), X[:100])
    truth = log_determinant(gram, 0.5).value
    assert truth == pytest.approx(np.linalg.slogdet(gram.dense() + 0.5 * np.eye(100))[1], rel=1e-12)
    hits = 0
    for seed in range(40):
        interval = log_determinant(gram, 0.5, method="lanczos", steps=12, random_state=seed)
        hits += interval.lower <= truth <= interval.upper
    # 95 % intervals: fewer than 32 of 40 would happen once in ten thousand times.
    assert hits >= 32


@pytest.mark.parametrize("steps", [1, 2, 5, 10, 40])
@pytest.mark.parametrize("shift", [1.0, 1e-4])
def test_two_rules_enclose_each_quadratic_form_of_the_logarithm(shift: float, steps: int) -> None:
    gram = Gram(mc.Gaussian(1.5), X[:60])
    signs = RNG.choice([-1.0, 1.0], (60, 3)) / np.sqrt(60)
    logarithm = logm(gram.dense() + shift * np.eye(60))
    forms = np.einsum("ij,ij->j", signs, logarithm @ signs)
    _, node, multiply = _plain(gram, shift)
    below, above = _quadratures(multiply, node, signs, steps)
    assert np.all(below <= forms + 1e-8)
    assert np.all(forms <= above + 1e-8)
    if steps == 40 and shift == 1.0:
        np.testing.assert_allclose(below, above, rtol=1e-8)


def test_steps_end_where_more_of_them_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval is hardly longer than that of all steps, for fewer products."""
    gram = Gram(mc.Gaussian(1.5), X[:150])
    factor, counts, widths = nystrom(gram, 50, random_state=0).factor, [], []
    product = Gram.product
    for share in (0.0, determinant.ENOUGH):
        made: list[int] = []

        def counted(self: Gram, *given: Any, made: list[int] = made, **more: Any) -> Any:
            made.append(1)
            return product(self, *given, **more)

        monkeypatch.setattr(determinant, "ENOUGH", share)
        monkeypatch.setattr(Gram, "product", counted)
        found = log_determinant(gram, 0.1, method="lanczos", factor=factor, random_state=0)
        counts.append(len(made))
        widths.append(found.upper - found.lower)
    assert counts[1] < 0.5 * counts[0]
    assert widths[0] <= widths[1] <= 1.02 * widths[0]


@pytest.mark.parametrize("weight", [1e-20, 1e-100, 1e20])
def test_the_unit_of_the_kernel_does_not_change_what_is_sampled(weight: float) -> None:
    """A multiple c of the matrix has n log c more, and as wide an interval."""
    usual = log_determinant(Gram(mc.Gaussian(1.5), X), 1.0, method="lanczos", random_state=0)
    found = log_determinant(
        Gram(weight * mc.Gaussian(1.5), X), weight, method="lanczos", random_state=0
    )
    moved = 400 * np.log(weight)
    assert found.value - moved == pytest.approx(usual.value, abs=1e-6)
    assert found.lower - moved == pytest.approx(usual.lower, abs=1e-6)
    exact = log_determinant(Gram(weight * mc.Gaussian(1.5), X), weight)
    assert found.lower <= exact.lower <= exact.upper <= found.upper


def test_a_sampled_determinant_without_a_shift_is_bounded_above_only() -> None:
    gram = Gram(mc.Gaussian(0.1), X)
    found = log_determinant(gram, 0.0, method="lanczos", random_state=0)
    assert found.lower == -np.inf
    assert log_determinant(gram, 0.0).value <= found.upper


def test_methods_and_numbers_are_checked() -> None:
    gram = Gram(mc.Gaussian(1.0), X)
    with pytest.raises(mc.errors.InvalidParameter, match="auto, direct, lanczos, found 'cholesky'"):
        log_determinant(gram, 0.1, method="cholesky")
    with pytest.raises(mc.errors.InvalidParameter, match="probes"):
        log_determinant(gram, 0.1, method="lanczos", probes=1, random_state=0)
    with pytest.raises(mc.errors.InvalidParameter, match="steps"):
        log_determinant(gram, 0.1, method="lanczos", steps=0, random_state=0)


@pytest.mark.parametrize("shift", [1e-3, 0.1])
def test_a_factor_shortens_the_interval_and_keeps_its_promise(shift: float) -> None:
    gram = Gram(mc.Gaussian(1.5), X[:150])
    truth = log_determinant(gram, shift, method="direct").value
    F = nystrom(gram, 50, random_state=0).factor
    known, node, multiply = _scaled(gram, shift, F)
    M = F @ F.T + shift * np.eye(150)
    assert known == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-9)
    eigenvalues = np.linalg.eigvalsh(multiply(np.eye(150)))
    assert eigenvalues[0] >= node - 1e-9
    assert known + np.sum(np.log(eigenvalues)) == pytest.approx(truth, rel=1e-9)
    hits, widths = 0, []
    for seed in range(12):
        found = log_determinant(gram, shift, method="lanczos", factor=F, random_state=seed)
        hits += found.lower <= truth <= found.upper
        widths.append(found.upper - found.lower)
    assert hits >= 8  # 95 % intervals: fewer would happen about once in 5000 times
    plain = log_determinant(gram, shift, method="lanczos", random_state=0)
    assert np.median(widths) < 0.3 * (plain.upper - plain.lower)
    assert "preconditioned" in found.method
    with pytest.raises(mc.errors.InvalidParameter, match="shift > 0"):
        log_determinant(gram, 0.0, method="lanczos", factor=F, random_state=0)
