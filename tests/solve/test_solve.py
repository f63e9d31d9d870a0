from __future__ import annotations

import json

import numpy as np
import pytest

import mercer as mc
from mercer.errors import SingularSystem, ToleranceNotMet
from mercer.gram import Gram
from mercer.solve import Limits as SolveLimits
from mercer.solve import Saddle, solve
from mercer.solve.steps import conjugate_gradients
from mercer.solve.system import _norm
from tests.references import FOLDER

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
    path = FOLDER / "kroese_ex6_15_spline.json"
    file = json.loads(path.read_text())
    x, y = np.array(file["x"]), np.array(file["y"])
    kernel = mc.kernels.CubicSpline()
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
    gram = Gram(mc.kernels.NegativeDistance(1.0), X)
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
    gram = Gram(mc.kernels.NegativeDistance(exponent), X)
    found = solve(
        gram, Y, 1.0, null_space=null_space, method="iterative", tol=1e-11, random_state=0
    )
    direct = solve(gram, Y, 1.0, null_space=null_space, method="direct")
    np.testing.assert_allclose(found.weights, direct.weights, atol=1e-8)
    np.testing.assert_allclose(found.null_weights, direct.null_weights, atol=1e-8)
    assert found.iterations <= 40


def test_points_without_coordinates_are_solved_iteratively() -> None:
    gram = Gram(mc.kernels.NegativeDistance(1.0), X[:7, 0])
    found = solve(gram, Y[:7], 0.5, null_space=ONES[:7], method="iterative", random_state=0)
    direct = solve(gram, Y[:7], 0.5, null_space=ONES[:7])
    np.testing.assert_allclose(found.weights, direct.weights, atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [mc.Gaussian(0.05), mc.Gaussian(10.0), mc.kernels.NegativeDistance(1.0), mc.Linear()],
    ids=str,
)
def test_the_backward_error_takes_no_norm_larger_than_the_matrix_has(kernel: mc.Kernel) -> None:
    """The trace is n times the norm for a Gaussian of small bandwidth, and 0 for a distance."""
    gram = Gram(kernel, X)
    block = np.column_stack([Y, np.zeros(400)])
    norm = _norm(gram, block, gram.dense() @ block)
    truth = np.linalg.norm(gram.dense(), 2)
    assert truth / 10 <= norm <= truth * (1 + 1e-12)


def test_the_backward_error_is_that_of_the_formula() -> None:
    gram = Gram(mc.Gaussian(0.05), X)
    found = solve(gram, Y, 0.1, method="iterative", tol=1e-3, random_state=0)
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
        found = solve(gram, Y[:100], 1e-3, method="iterative", tol=1e-15, random_state=0)
    left = Y[:100] - gram.dense() @ found.weights - 1e-3 * found.weights
    assert np.linalg.norm(left) <= 1e-14 * np.linalg.norm(gram.dense() @ found.weights)
    assert found.backward_error <= 1e-13  # with all that rounding can do to the kernel's values


def test_an_iteration_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Saddle, "limits", SolveLimits(iterations=3))
    with pytest.raises(SingularSystem, match="3 iterations left a residual"):
        solve(Gram(mc.Laplacian(1.0), X), Y, 1e-3, method="iterative", random_state=0)


def test_an_iteration_reaches_its_tolerance_in_the_true_residual() -> None:
    gram = Gram(mc.Gaussian(1.5), X[:100])
    found = solve(gram, Y[:100], 1e-3, method="iterative", tol=1e-11, random_state=0)
    left = Y[:100] - gram.dense() @ found.weights - 1e-3 * found.weights
    assert np.linalg.norm(left) <= 1.01e-11 * np.linalg.norm(Y[:100])


def test_methods_and_numbers_are_checked() -> None:
    gram = Gram(mc.Gaussian(1.0), X)
    with pytest.raises(mc.errors.InvalidParameter, match="auto, direct, iterative, found 'drect'"):
        solve(gram, Y, 0.1, method="drect")
    with pytest.raises(mc.errors.InvalidParameter, match="tol"):
        solve(gram, Y, 0.1, tol=0.0)


def test_systems_without_a_solution_say_why() -> None:
    twice = np.vstack([X[:20], X[:20]])
    with pytest.raises(SingularSystem, match="shift of at least"):
        solve(Gram(mc.Gaussian(1.0), twice), np.ones(40))
    with pytest.raises(SingularSystem, match="dependent"):
        solve(Gram(mc.Gaussian(1.0), X), Y, 0.1, null_space=np.hstack([ONES, 2 * ONES]))
    with pytest.raises(SingularSystem, match="shift or penalty > 0"):
        solve(Gram(mc.Gaussian(1.0), X), Y, method="iterative", random_state=0)
    with pytest.raises(mc.errors.InvalidInput, match="rows"):
        solve(Gram(mc.Gaussian(1.0), X), Y[:-1], 0.1)


def test_the_squared_system_of_the_text_loses_what_the_saddle_form_keeps() -> None:
    """Kroese et al., (6.23): KK + nγK has the square of the condition number."""
    x = np.array([0.05, 0.2, 0.5, 0.75, 1.0])
    Q, K = mc.kernels.CubicSpline().null_space(x), mc.kernels.CubicSpline()(x)
    gamma = (1 - 0.999999) / 0.999999
    squared = np.block([[K @ K + gamma * K, K @ Q], [Q.T @ K, Q.T @ Q]])
    saddle = np.block([[K + gamma * np.eye(5), Q], [Q.T, np.zeros((2, 2))]])
    assert np.linalg.cond(squared) > 1e6 * np.linalg.cond(saddle)


@pytest.mark.parametrize("method", ["direct", "iterative"])
def test_hermitian_systems_are_solved_with_their_conjugates(method: str) -> None:
    z = X[:60, :2] + 1j * X[60:120, :2]
    gram = Gram(mc.Linear() + mc.kernels.Delta(), z)
    b, Q = Y[:60] + 1j * Y[60:120], np.exp(1j * X[:60, 2:])
    found = solve(gram, b, 0.3, null_space=Q, method=method, tol=1e-12)
    left = gram.dense() @ found.weights + 0.3 * found.weights + Q @ found.null_weights
    np.testing.assert_allclose(left, b, atol=1e-9)
    assert np.abs(Q.conj().T @ found.weights).max() <= 1e-10


@pytest.mark.parametrize("method", ["single", "low-rank"])
def test_a_conditional_kernel_has_a_preconditioner_of_every_kind(method: str) -> None:
    """The matrix of distances is not positive definite; seen from one point it is."""
    gram, s = Gram(mc.kernels.NegativeDistance(1.0), X), np.sqrt(RNG.uniform(0.5, 1.0, 400))
    direct = Saddle(gram, ONES, method="direct").solve(s, 0.1, Y[:, None])
    found = Saddle(gram, ONES, method=method, tol=1e-12).solve(s, 0.1, Y[:, None])
    np.testing.assert_allclose(found.weights, direct.weights, atol=1e-9)
    assert found.iterations <= (6 if method == "single" else 40)


@pytest.mark.parametrize("method", ["single", "low-rank"])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_unit_of_the_right_side_does_not_matter(method: str, scale: float) -> None:
    """Single precision holds no number below 1e-45."""
    saddle = Saddle(Gram(mc.Gaussian(1.5), X), ONES, method=method, tol=1e-11)
    found = saddle.solve(np.ones(400), 0.05, scale * Y[:, None])
    usual = saddle.solve(np.ones(400), 0.05, Y[:, None])
    assert found.residual <= 1e-11
    np.testing.assert_allclose(found.weights / scale, usual.weights, atol=1e-8)


def test_a_right_side_in_the_null_space_has_no_weights() -> None:
    saddle = Saddle(Gram(mc.Gaussian(1.5), X), ONES, method="low-rank")
    found = saddle.solve(np.ones(400), 0.05, np.column_stack([7.0 * ONES, Y]))
    assert np.abs(found.weights[:, 0]).max() <= 1e-10
    assert found.null_weights[0, 0] == pytest.approx(7.0)
    assert found.residual <= 1e-10


@pytest.mark.parametrize("functions", [0, 1])
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_a_factor_in_single_precision_serves_any_number_of_right_sides(
    columns: int, functions: int
) -> None:
    gram, b = Gram(mc.Gaussian(1.5), X), np.column_stack([Y + k * X[:, 0] for k in range(columns)])
    Q = np.ones((400, functions))
    direct = Saddle(gram, Q, method="direct").solve(np.ones(400), 0.05, b)
    found = Saddle(gram, Q, method="single", tol=1e-12).solve(np.ones(400), 0.05, b)
    np.testing.assert_allclose(found.weights, direct.weights, atol=1e-9)
    assert found.iterations <= 6


def test_the_unit_of_a_function_that_is_not_penalised_does_not_matter() -> None:
    gram, Q = Gram(mc.Gaussian(1.5), X), np.column_stack([ONES, X[:, 0]])
    usual = solve(gram, Y, 0.05, null_space=Q)
    found = solve(gram, Y, 0.05, null_space=Q * [1e-12, 1e12])
    np.testing.assert_allclose(found.weights, usual.weights, atol=1e-9)
    np.testing.assert_allclose(found.null_weights * [1e-12, 1e12], usual.null_weights, rtol=1e-9)
    with pytest.raises(SingularSystem, match="linearly dependent"):
        solve(gram, Y, 0.05, null_space=np.column_stack([Q, 3.0 * Q[:, 0]]))


@pytest.mark.parametrize(("unit", "size"), [(1e-150, 1e8), (1e153, 1e-8)])
def test_weights_that_are_no_doubles_are_refused_by_name(unit: float, size: float) -> None:
    x = unit * X[:9, :2]
    with pytest.raises(SingularSystem, match="in another unit"):
        solve(Gram(mc.Linear(), x), size * Y[:9], 1e-4 * unit**2)


def test_many_right_sides_search_together_and_need_fewer_steps() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1_000, 4))
    saddle = Saddle(Gram(mc.Gaussian(1.0), x), np.zeros((1_000, 0)), method="low-rank")
    solver = saddle.solver(np.ones(1_000), 1e-3)
    sides = Gram(mc.Gaussian(1.0), x, rng.standard_normal((60, 4))).dense()
    alone = [solver(sides[:, [j]]) for j in range(3)]
    together = solver(sides)
    assert together.iterations < 0.7 * max(answer.iterations for answer in alone)
    assert together.residual < 1e-10
    for j, answer in enumerate(alone):
        size = np.linalg.norm(answer.weights)
        assert np.linalg.norm(together.weights[:, [j]] - answer.weights) < 1e-6 * size


def test_a_right_side_at_its_goal_gives_no_more_directions() -> None:
    widths: list[int] = []
    A = np.diag(np.linspace(1.0, 100.0, 50))

    def multiply(v: np.ndarray) -> np.ndarray:
        widths.append(v.shape[1])
        return np.asarray(A @ v)

    sides = np.random.default_rng(0).standard_normal((50, 4))
    goal = np.array([1e-9, 1e9, 1e9, 1e9])
    x, steps = conjugate_gradients(multiply, lambda v: v, sides, goal)
    assert widths == [1] * steps
    np.testing.assert_allclose(A @ x[:, 0], sides[:, 0], atol=1e-8)
    assert conjugate_gradients(multiply, lambda v: v, np.zeros((50, 2)), np.ones(2))[1] == 0


def test_equal_right_sides_are_solved_as_one() -> None:
    A = np.diag(np.linspace(1.0, 9.0, 30))
    side = np.random.default_rng(0).standard_normal((30, 1))
    sides = side @ np.array([[1.0, 1.0, -2.0]])
    x, _ = conjugate_gradients(lambda v: A @ v, lambda v: v, sides, np.full(3, 1e-10))
    np.testing.assert_allclose(A @ x, sides, atol=1e-9)


def test_conjugate_gradients_refuse_a_matrix_that_is_not_positive_definite() -> None:
    with pytest.raises(SingularSystem, match="not positive definite"):
        conjugate_gradients(lambda v: -v, lambda v: v, np.ones((3, 1)), np.array([1e-9]))


def test_sums_beyond_doubles_are_refused_by_name() -> None:
    x = np.array([[1.3e154], [1.2e154], [-1.3e154], [-1.2e154]])  # whose products are doubles
    with pytest.raises(SingularSystem, match="another unit"):
        solve(Gram(mc.Linear(), x), np.arange(4.0), 1.0, null_space=np.ones((4, 1)))
