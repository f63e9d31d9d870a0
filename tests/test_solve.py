from __future__ import annotations

import json
from pathlib import Path

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from scipy.linalg import logm

import mercer as mc
from mercer.gram import Gram
from mercer.solve import (
    SingularSystem,
    ToleranceNotMet,
    _images_and_norm,
    _quadratures,
    log_determinant,
    solve,
)

RNG = np.random.default_rng(2)
X = RNG.standard_normal((400, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
ONES = np.ones((400, 1))


@pytest.mark.parametrize("method", ["direct", "iterative"])
@pytest.mark.parametrize("null_space", [None, ONES, np.hstack([ONES, X])], ids=["0", "1", "4"])
def test_a_solution_satisfies_the_saddle_system(
    method: str, null_space: np.ndarray[tuple[int, int], np.dtype[np.float64]] | None
) -> None:
    gram = Gram(mc.Gaussian(1.5), X)
    solution = solve(gram, Y, 0.05, null_space=null_space, method=method, tol=1e-12)
    left = gram.dense() @ solution.weights + 0.05 * solution.weights
    if null_space is not None:
        left = left + null_space @ solution.null_weights
        assert np.abs(null_space.T @ solution.weights).max() <= 1e-9
    np.testing.assert_allclose(left, Y, atol=1e-9)
    assert solution.backward_error <= 1e-12
    assert (solution.iterations > 0) == (method == "iterative")


def test_kroeses_smoothing_splines() -> None:
    path = Path(__file__).parent / "reference" / "kroese_ex6_15_spline.json"
    file = json.loads(path.read_text())
    x, y = np.array(file["x"]), np.array(file["y"])
    kernel = mc.CubicSpline()
    for curve in file["curves"]:
        solution = solve(Gram(kernel, x), y, curve["n_gamma"], null_space=kernel.null_space(x))
        np.testing.assert_allclose(solution.weights, curve["alpha"], rtol=1e-8)
    eta = solve(Gram(kernel, x), y, 0.25, null_space=kernel.null_space(x)).null_weights
    np.testing.assert_allclose(eta, [0.224848, 0.691888], atol=5e-7)


def test_several_right_sides_are_solved_at_once() -> None:
    gram = Gram(mc.Laplacian(2.0), X)
    both = solve(gram, np.column_stack([Y, Y**2]), 0.1)
    np.testing.assert_allclose(both.weights[:, 1], solve(gram, Y**2, 0.1).weights, rtol=1e-9)


def test_a_conditionally_positive_kernel_needs_its_null_space() -> None:
    gram = Gram(mc.NegativeDistance(1.0), X)
    with pytest.raises(SingularSystem, match="null space"):
        solve(gram, Y)
    solution = solve(gram, Y, null_space=ONES)
    left = gram.dense() @ solution.weights + ONES @ solution.null_weights
    np.testing.assert_allclose(left, Y, atol=1e-10)
    with pytest.raises(SingularSystem, match="constants"):
        solve(gram, Y, null_space=X)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("null_space", [ONES, np.hstack([ONES, X])], ids=["1", "4"])
def test_a_conditionally_positive_kernel_is_solved_iteratively(
    exponent: float, null_space: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> None:
    gram = Gram(mc.NegativeDistance(exponent), X)
    found = solve(gram, Y, 1.0, null_space=null_space, method="iterative", tol=1e-11)
    direct = solve(gram, Y, 1.0, null_space=null_space, method="direct")
    np.testing.assert_allclose(found.weights, direct.weights, atol=1e-8)
    np.testing.assert_allclose(found.null_weights, direct.null_weights, atol=1e-8)
    assert found.iterations <= 40


def test_points_without_coordinates_are_solved_iteratively() -> None:
    gram = Gram(mc.NegativeDistance(1.0), X[:7, 0])
    found = solve(gram, Y[:7], 0.5, null_space=ONES[:7], method="iterative")
    direct = solve(gram, Y[:7], 0.5, null_space=ONES[:7])
    np.testing.assert_allclose(found.weights, direct.weights, atol=1e-8)


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.05), mc.Gaussian(10.0), mc.NegativeDistance(1.0), mc.Linear()], ids=str
)
def test_the_backward_error_takes_no_norm_larger_than_the_matrix_has(kernel: mc.Kernel) -> None:
    """The trace is n times the norm for a Gaussian of small bandwidth, and 0 for a distance."""
    gram = Gram(kernel, X)
    block = np.column_stack([Y, np.zeros(400)])
    images, norm = _images_and_norm(gram, block)
    truth = np.linalg.norm(gram.dense(), 2)
    assert truth / 10 <= norm <= truth * (1 + 1e-12)
    np.testing.assert_allclose(images, gram.dense() @ block, rtol=1e-10, atol=1e-10)


def test_the_backward_error_is_that_of_the_formula() -> None:
    gram = Gram(mc.Gaussian(0.05), X)
    found = solve(gram, Y, 0.1, method="iterative", tol=1e-3)
    K = gram.dense()
    residual = np.linalg.norm(Y - K @ found.weights - 0.1 * found.weights)
    size = (np.linalg.norm(K, 2) + 0.1) * np.linalg.norm(found.weights) + np.linalg.norm(Y)
    assert residual > 0
    assert residual / size <= found.backward_error * (1 + 1e-9)
    assert found.backward_error <= 2 * residual / size


def test_an_iteration_says_that_rounding_keeps_it_from_its_tolerance() -> None:
    """The recurrence of conjugate gradients goes to zero, the true residual does not."""
    gram = Gram(mc.Gaussian(1.5), X[:100])
    with pytest.warns(ToleranceNotMet, match="above tol = 1e-15"):
        found = solve(gram, Y[:100], 1e-3, method="iterative", tol=1e-15)
    assert found.backward_error <= 1e-14


def test_an_iteration_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.solve.MOST_ITERATIONS", 3)
    with pytest.raises(SingularSystem, match="3 iterations left a residual"):
        solve(Gram(mc.Laplacian(1.0), X), Y, 1e-3, method="iterative")


def test_an_iteration_reaches_its_tolerance_in_the_true_residual() -> None:
    gram = Gram(mc.Gaussian(1.5), X[:100])
    found = solve(gram, Y[:100], 1e-3, method="iterative", tol=1e-11)
    left = Y[:100] - gram.dense() @ found.weights - 1e-3 * found.weights
    assert np.linalg.norm(left) <= 1.01e-11 * np.linalg.norm(Y[:100])


def test_methods_and_numbers_are_checked() -> None:
    gram = Gram(mc.Gaussian(1.0), X)
    with pytest.raises(mc.InvalidParameter, match="auto, direct, iterative, found 'drect'"):
        solve(gram, Y, 0.1, method="drect")
    with pytest.raises(mc.InvalidParameter, match="auto, direct, lanczos, found 'cholesky'"):
        log_determinant(gram, 0.1, method="cholesky")
    with pytest.raises(mc.InvalidParameter, match="tol"):
        solve(gram, Y, 0.1, tol=0.0)
    with pytest.raises(mc.InvalidParameter, match="probes"):
        log_determinant(gram, 0.1, method="lanczos", probes=1)
    with pytest.raises(mc.InvalidParameter, match="steps"):
        log_determinant(gram, 0.1, method="lanczos", steps=0)


def test_systems_without_a_solution_say_why() -> None:
    twice = np.vstack([X[:20], X[:20]])
    with pytest.raises(SingularSystem, match="shift of at least"):
        solve(Gram(mc.Gaussian(1.0), twice), np.ones(40))
    with pytest.raises(SingularSystem, match="dependent"):
        solve(Gram(mc.Gaussian(1.0), X), Y, 0.1, null_space=np.hstack([ONES, 2 * ONES]))
    with pytest.raises(SingularSystem, match="shift > 0"):
        solve(Gram(mc.Gaussian(1.0), X), Y, method="iterative")
    with pytest.raises(mc.InvalidInput, match="rows"):
        solve(Gram(mc.Gaussian(1.0), X), Y[:-1], 0.1)


def test_the_squared_system_of_the_text_loses_what_the_saddle_form_keeps() -> None:
    """Kroese et al., (6.23): KK + nγK has the square of the condition number."""
    x = np.array([0.05, 0.2, 0.5, 0.75, 1.0])
    Q, K = mc.CubicSpline().null_space(x), mc.CubicSpline()(x)
    gamma = (1 - 0.999999) / 0.999999
    squared = np.block([[K @ K + gamma * K, K @ Q], [Q.T @ K, Q.T @ Q]])
    saddle = np.block([[K + gamma * np.eye(5), Q], [Q.T, np.zeros((2, 2))]])
    assert np.linalg.cond(squared) > 1e6 * np.linalg.cond(saddle)


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
    sampled = log_determinant(gram, 0.5, method="lanczos")
    assert sampled.lower <= truth <= sampled.upper


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
    below, above = _quadratures(gram, shift, signs, steps)
    assert np.all(below <= forms + 1e-8)
    assert np.all(forms <= above + 1e-8)
    if steps == 40 and shift == 1.0:
        np.testing.assert_allclose(below, above, rtol=1e-8)


@pytest.mark.parametrize("weight", [1e-20, 1e-100, 1e20])
def test_the_unit_of_the_kernel_does_not_change_what_is_sampled(weight: float) -> None:
    """A multiple c of the matrix has n log c more, and as wide an interval."""
    usual = log_determinant(Gram(mc.Gaussian(1.5), X), 1.0, method="lanczos")
    found = log_determinant(Gram(weight * mc.Gaussian(1.5), X), weight, method="lanczos")
    moved = 400 * np.log(weight)
    assert found.value - moved == pytest.approx(usual.value, abs=1e-6)
    assert found.lower - moved == pytest.approx(usual.lower, abs=1e-6)
    exact = log_determinant(Gram(weight * mc.Gaussian(1.5), X), weight)
    assert found.lower <= exact.lower <= exact.upper <= found.upper


def test_a_sampled_determinant_without_a_shift_is_bounded_above_only() -> None:
    gram = Gram(mc.Gaussian(0.1), X)
    found = log_determinant(gram, 0.0, method="lanczos")
    assert found.lower == -np.inf
    assert log_determinant(gram, 0.0).value <= found.upper
