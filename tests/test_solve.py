from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mercer as mc
from mercer.gram import Gram
from mercer.solve import SingularSystem, log_determinant, solve

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


def test_log_determinants_are_exact_for_small_and_enclosed_for_large_matrices() -> None:
    gram = Gram(mc.Gaussian(1.5), X)
    truth = np.linalg.slogdet(gram.dense() + 0.5 * np.eye(400))[1]
    exact = log_determinant(gram, 0.5)
    assert exact.value == pytest.approx(truth, rel=1e-12)
    assert exact.lower <= truth <= exact.upper
    hits = 0
    for seed in range(40):
        interval = log_determinant(gram, 0.5, method="lanczos", random_state=seed)
        hits += interval.lower <= truth <= interval.upper
    # 95 % intervals: fewer than 32 of 40 would happen once in ten thousand times.
    assert hits >= 32
