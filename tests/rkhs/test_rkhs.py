from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import array_api_strict
import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array, Points
from mercer.rkhs.feature_distances import distance
from mercer.rkhs.functions import Function, orientation_of_columns, principal_functions
from mercer.rkhs.limits import Limits
from tests.strategies import examples, kernels, points, set_kernels, sets_of_letters
from tests.test_check import FRAME, ROWS

ROUNDING = 1e-11
LARGEST = 1e6
"""Kernels whose values exceed this compare rounding errors, not laws."""


def waves(x: Points) -> Array:
    """Complex features of points of the plane."""
    phases: Array = np.asarray(x, dtype=float) @ np.array([[1.0, -2.0, 0.5], [0.3, 1.0, 2.0]])
    return np.asarray(np.exp(1j * phases) * [1.0, 0.5, 2.0])


WAVES = mc.kernels.FeatureMap(waves)
coefficients = st.integers(-8, 8).map(lambda i: i / 4.0)


@st.composite
def functions(draw: st.DrawFn, k: mc.Kernel, is_complex: bool = False) -> Function:
    x = draw(points(1, 4))
    part = st.lists(coefficients, min_size=len(x), max_size=len(x)).map(np.array)
    return Function(k, x, draw(part) + 1j * draw(part) if is_complex else draw(part))


@st.composite
def families(draw: st.DrawFn, count: int) -> tuple[Function, ...]:
    """Functions of one space, half of the time a complex one."""
    if draw(st.booleans()):
        return tuple(draw(functions(WAVES, True)) for _ in range(count))
    k = draw(kernels())
    found = tuple(draw(functions(k)) for _ in range(count))
    try:
        assume(all(np.max(k.diag(np.asarray(f.points))) < LARGEST for f in found))
    except mc.errors.InvalidInput:
        assume(False)
    return found


def size(f: Function) -> float:
    """An upper bound of the norm that does not cancel: Σ|α|√k(x, x)."""
    own = np.maximum(f.kernel.diag(f.points), 0.0)
    return float(np.sum(np.abs(f.weights) * np.sqrt(own)))


@given(families(1), points())
def test_the_inner_product_with_a_section_is_the_value(fs: tuple[Function], x: Array) -> None:
    (f,) = fs
    values = f(x)
    for value, point in zip(values, x, strict=True):
        section = Function.at(f.kernel, point)
        assert abs(f.inner(section) - value) <= ROUNDING * (size(f) * size(section) + 1e-30)


@examples(100)
@given(families(3), coefficients, coefficients)
def test_the_inner_product_is_linear_and_hermitian(
    fs: tuple[Function, ...], a: float, b: float
) -> None:
    f, g, h = fs
    scale = ROUNDING * ((abs(a) * size(f) + abs(b) * size(g)) * size(h) + 1e-30)
    assert abs((a * f + b * g).inner(h) - a * f.inner(h) - b * g.inner(h)) <= scale
    assert abs(f.inner(g) - np.conj(g.inner(f))) <= ROUNDING * (size(f) * size(g) + 1e-30)
    assert abs(np.imag(f.inner(f))) <= ROUNDING * size(f) ** 2


@given(families(2))
def test_cauchy_schwarz_and_the_triangle_inequality(fs: tuple[Function, ...]) -> None:
    f, g = fs
    # A norm is the root of a difference of sums: it is right to the root of their rounding.
    slack = np.sqrt(ROUNDING) * (size(f) + size(g) + 1e-30)
    assert abs(f.inner(g)) <= (f.norm + slack) * (g.norm + slack)
    assert (f + g).norm <= f.norm + g.norm + slack
    assert abs((-2.0 * f).norm - 2.0 * f.norm) <= slack
    assert abs(f.distance(g) ** 2 + (f + g).norm ** 2 - 2 * f.norm**2 - 2 * g.norm**2) <= slack**2


@examples(100)
@given(families(1), points(2, 5))
def test_norms_bound_values_and_differences(fs: tuple[Function], x: Array) -> None:
    (f,) = fs
    values, slack = f(x), np.sqrt(ROUNDING) * size(f)
    own = np.sqrt(np.max(f.kernel.diag(x)))
    assert np.all(np.abs(values) <= f.bound(x) + slack * own)
    steps = np.abs(values[:, None] - values[None, :])
    assert np.all(steps <= f.norm * distance(f.kernel, x) + slack * own)


@given(set_kernels(), sets_of_letters(), sets_of_letters())
def test_functions_of_sets(k: mc.Kernel, x: list[frozenset[str]], y: list[frozenset[str]]) -> None:
    f, g = Function(k, x, np.ones(len(x))), Function(k, y, -np.ones(len(y)))
    K = k(x + y)
    n = len(x)
    scale = ROUNDING * np.sum(np.abs(K))
    np.testing.assert_allclose((f + g)(x), K[:n, :n].sum(1) - K[:n, n:].sum(1), atol=scale)
    assert abs(f.inner(g) + K[:n, n:].sum()) <= scale
    assert len((f + g).points) == len(x) + len(y)


def test_a_complex_function_written_out() -> None:
    x, y = np.array([[0.0, 1.0], [2.0, 0.5]]), np.array([[1.0, 1.0]])
    f = Function(WAVES, x, [1.0 + 2.0j, -1.0j])
    g = Function(WAVES, y, [0.5 - 1.0j])
    features = f.weights @ waves(x).conj(), g.weights @ waves(y).conj()
    # k(x, y) = Σ φ(x) conj φ(y), so that f = Σ αᵢ k(·, xᵢ) has the features Σ αᵢ conj φ(xᵢ).
    assert f.inner(g) == pytest.approx(np.vdot(features[1], features[0]))
    np.testing.assert_allclose(f(y), waves(y) @ features[0])
    assert f.norm == pytest.approx(np.linalg.norm(features[0]))


def test_sums_over_the_same_points_merge_and_cancel() -> None:
    x = np.linspace(0.0, 1.0, 5)
    f = Function(mc.Gaussian(), x, np.arange(5.0))
    g = Function(mc.Gaussian(), x.copy(), np.ones(5))
    assert len((f + g).points) == 5
    assert f.distance(f) == 0.0
    assert (f - 1.0 * f)(x).tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.array([0.0, 1.0]), np.array([[2.0]])),
        (np.array([[0.0], [1.0]]), [2.0]),
        ((0.0, 1.0), np.array([2.0], dtype=np.float32)),
    ],
)
def test_points_of_the_line_join_however_they_are_given(x: Points, y: Points) -> None:
    f = Function(mc.Gaussian(), x, [1.0, 2.0]) + Function(mc.Gaussian(), y, [3.0])
    expected = Function(mc.Gaussian(), [0.0, 1.0, 2.0], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(f([0.3]), expected([0.3]), rtol=1e-15)


def test_points_of_products_strings_and_row_numbers() -> None:
    k = mc.kernels.tensor_product(mc.Linear(), mc.kernels.Delta())
    f = Function(k, mc.data.Paired(np.array([[1.0], [2.0]]), ["a", "b"]), [1.0, 1.0])
    g = Function(k, mc.data.Paired(np.array([[3.0]]), ["b"]), [1.0])
    assert f.inner(g) == 6.0
    assert (f + g).norm ** 2 == pytest.approx(1 + 4 + 9 + 12)
    h = Function(mc.Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]])), np.array([0, 1]), [1.0, -1.0])
    assert h.norm == pytest.approx(np.sqrt(3.0))
    section = Function.at(mc.FromFunction(min), 0.5)
    assert section([0.2, 0.7]).tolist() == [0.2, 0.5]


def test_functions_cannot_be_changed_from_outside() -> None:
    x, weights = np.array([[0.0], [1.0]]), np.array([1.0, 2.0])
    f = Function(mc.Gaussian(), x, weights)
    x[:], weights[:] = 7.0, 7.0
    assert f.points[1] == 1.0
    assert f.weights.tolist() == [1.0, 2.0]
    with pytest.raises(AttributeError):
        f.weights = weights  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        f.weights[0] = 1.0
    assert repr(f).startswith("Function: Gaussian(bandwidth=1.0) at 2 points\n")
    assert pickle.loads(pickle.dumps(f))([0.5]) == f([0.5])


def test_evaluation_in_tiles_and_on_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0.0, 3.0, 23)
    f = Function(mc.Laplacian(), x, np.cos(x))
    values, norm = f(x), f.norm
    monkeypatch.setattr(Limits, "entries", 60)
    np.testing.assert_allclose(f(x), values, rtol=1e-14)
    assert f.norm == pytest.approx(norm, rel=1e-14)
    assert f(np.zeros((0, 1))).shape == (0,)


def test_functions_of_different_kernels_do_not_mix() -> None:
    f, g = Function.at(mc.Gaussian(1.0), 0.0), Function.at(mc.Gaussian(2.0), 0.0)
    for operation in (lambda: f + g, lambda: f.inner(g), lambda: f.distance(g)):
        with pytest.raises(mc.errors.InvalidParameter, match=r"=1.0\) and one of gaussian\(b"):
            operation()
    with pytest.raises(TypeError):
        f + 1.0  # type: ignore[operator]
    with pytest.raises(TypeError):
        f * f  # type: ignore[operator]


@pytest.mark.parametrize(
    ("points", "weights", "message"),
    [
        ([[0.0]], [1.0, 2.0], "one weight for each"),
        ([], [], "at least one point"),
        ([[0.0]], [np.nan], "weights, row 0, column 0 holds NaN"),
        (3.0, [1.0], "sequence of points"),
    ],
)
def test_functions_refuse_what_is_none(points: Points, weights: list[float], message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        Function(mc.Gaussian(), points, weights)
    with pytest.raises(mc.errors.InvalidParameter, match="expected a kernel"):
        Function(min, [[0.0]], [1.0])  # type: ignore[arg-type]


def test_conditional_kernels_have_inner_products_of_balanced_weights_only() -> None:
    k, x = mc.kernels.NegativeDistance(), np.array([[0.0], [1.0], [3.0]])
    f = Function(k, x, [1.0, -3.0, 2.0])
    # ‖f‖² = Σ αᵢαⱼ(-|xᵢ - xⱼ|), the variance of a Brownian motion's combination, twice.
    assert f.norm**2 == pytest.approx(2 * (1.0 * 1.0**2 + 2.0 * 2.0**2))
    values = f(x)
    steps = np.abs(values[:, None] - values)
    assert np.all(steps <= f.norm * distance(k, x) * (1 + 1e-12))
    unbalanced = Function(k, x, [1.0, 0.0, 2.0])
    assert unbalanced([[0.0]]) == -6.0
    with pytest.raises(mc.errors.NotPositiveDefinite, match="sum to 3"):
        _ = unbalanced.norm
    with pytest.raises(mc.errors.NotPositiveDefinite, match="sum to 3"):
        f.inner(unbalanced)
    with pytest.raises(mc.errors.NotPositiveDefinite, match="sum to 1e-09"):
        _ = Function(k, x, [1.0, -3.0, 2.0 + 1e-9]).norm
    with pytest.raises(mc.errors.NotPositiveDefinite, match="nothing bounds"):
        f.bound(x)


def test_a_norm_below_zero_is_refused_and_rounding_is_not() -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match=r"squared norm -1 < 0"):
        _ = Function(mc.FromFunction(lambda x, y: -x * y), [1.0], [1.0]).norm
    near = 1.0 + 1e-9 * np.arange(40.0)
    weights = np.where(np.arange(40) % 2, 1.0, -1.0)
    assert 0.0 <= Function(mc.Polynomial(8), near, weights).norm < 1e-4


@given(kernels(), points(3, 6))
def test_principal_functions_are_orthonormal_and_centred(k: mc.Kernel, x: Array) -> None:
    try:
        K = k(x)
    except mc.errors.InvalidInput:
        assume(False)
    axes = principal_functions(k, x, 2)
    assert axes.values.shape == (2,)
    assert axes.values[0] >= axes.values[1] >= 0.0
    for i, (value, f) in enumerate(zip(axes.values, axes.functions, strict=False)):
        slack = 100 * 2.3e-16 * len(x) * np.linalg.norm(K) / value
        assert abs(f.norm - 1.0) <= slack
        assert abs(np.sum(f.weights)) <= 1e-13 * np.sum(np.abs(f.weights))
        assert all(abs(f.inner(g)) <= slack for g in axes.functions[:i])


def test_principal_functions_solve_the_eigenvalue_problem() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    k = mc.Gaussian(bandwidth="median").resolve(x)
    axes = principal_functions(mc.Gaussian(bandwidth="median"), x, 4)
    scores = np.stack([f(x) for f in axes.functions], axis=1)
    centred = scores - scores.mean(axis=0)
    np.testing.assert_allclose(centred.T @ centred / 30, np.diag(axes.values), atol=1e-15)
    # Γa = λa at new points, with the features centred.
    new = np.array([[0.1, -0.4], [2.0, 1.0]])
    images = (k(new, x) - k(new, x).mean(axis=1)[:, None]) @ centred / 30
    shift = images[0] - images[1]
    values = np.stack([f(new) for f in axes.functions], axis=1)
    np.testing.assert_allclose(shift, axes.values * (values[0] - values[1]), atol=1e-14)
    assert np.all(centred[np.argmax(np.abs(centred), axis=0), range(4)] > 0)


def test_principal_functions_of_the_plane_are_its_axes() -> None:
    x = np.array([[2.0, 1.0], [-2.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    axes = principal_functions(mc.Linear(), x, 3)
    np.testing.assert_allclose(axes.values, [2.0, 0.5, 0.0])
    assert len(axes.functions) == 2
    np.testing.assert_allclose(
        [f([[1.0, 0.0], [0.0, 1.0]]) for f in axes.functions], np.eye(2), atol=1e-15
    )


def test_principal_functions_of_conditional_and_complex_kernels() -> None:
    x = np.random.default_rng(1).normal(size=(12, 2))
    for k in (mc.kernels.NegativeDistance(), WAVES):
        axes = principal_functions(k, x, 2)
        products = [[f.inner(g) for f in axes.functions] for g in axes.functions]
        np.testing.assert_allclose(products, np.eye(2), atol=1e-12)


def test_principal_functions_stay_centred_beside_a_large_constant() -> None:
    x = np.random.default_rng(2).normal(size=(12, 2))
    for f in principal_functions(1e8 + mc.Gaussian(), x, 6).functions:
        assert abs(np.sum(f.weights)) <= 1e-13 * np.sum(np.abs(f.weights))


def test_principal_functions_refuse() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="2 points have at most 2 axes"):
        principal_functions(mc.Linear(), [[0.0], [1.0]], 3)
    with pytest.raises(mc.errors.NotPositiveDefinite, match="eigenvalue"):
        principal_functions(mc.FromFunction(lambda x, y: -x * y), [0.0, 1.0, 3.0], 1)


def test_signs_do_not_depend_on_rounding() -> None:
    tied = np.array([[-1.0], [1.0 + 1e-10], [0.5]])
    assert orientation_of_columns(tied) == [-1.0]
    assert orientation_of_columns(np.array([[0.5j], [-2.0j]])) == [1j]


def test_gaussian_functions_come_near_a_continuous_one_on_a_compact_set() -> None:
    grid = np.linspace(0.0, 1.0, 201)
    target = np.abs(grid - 0.5)
    errors = []
    for bandwidth in (0.2, 0.05, 0.0125):
        k = mc.Gaussian(bandwidth)
        x = np.linspace(-0.2, 1.2, int(1.4 / (0.5 * bandwidth)))
        weights = np.linalg.lstsq(k(grid, x), target, rcond=1e-12)[0]
        errors.append(np.max(np.abs(Function(k, x, weights)(grid) - target)))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-3


def smoothest_norm_of_one(n: int) -> float:
    """The norm of the Gaussian kernel's function of least norm that is 1 at n points of [0, 1]."""
    with mpmath.workdps(150):
        x = [mpmath.mpf(i) / (n - 1) for i in range(n)]
        K = mpmath.matrix([[mpmath.exp(-((s - t) ** 2) / 2) for s in x] for t in x])
        return float(mpmath.sqrt(sum(mpmath.lu_solve(K, mpmath.ones(n, 1)))))


def test_constants_are_not_functions_of_the_gaussian_kernel() -> None:
    x = np.linspace(0.0, 1.0, 5)
    f = Function(mc.Gaussian(), x, np.linalg.solve(mc.Gaussian()(x), np.ones(5)))
    np.testing.assert_allclose(f(x), 1.0, rtol=1e-7)
    assert f.norm == pytest.approx(smoothest_norm_of_one(5), rel=1e-7)
    norms = [smoothest_norm_of_one(n) for n in (4, 8, 16, 32)]
    # Each doubling multiplies the norm by about 2^¼: it has no bound.
    assert all(b > 1.15 * a for a, b in zip(norms, norms[1:], strict=False))


def test_functions_on_data_frames_and_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [1.0, -2.0, 0.5]
    expected = Function(mc.Gaussian(2.0), ROWS, weights)
    monkeypatch.setattr(Limits, "entries", 3)
    for f in (
        Function(mc.Gaussian(2.0), FRAME, weights),
        Function("gaussian(bandwidth=2)", ROWS, weights),
    ):
        assert f.norm == pytest.approx(expected.norm, rel=1e-14)
        np.testing.assert_allclose(f(FRAME), expected(ROWS), rtol=1e-14)
    assert Function.at("linear()", [2.0]).norm == 2.0
    found = [principal_functions(k, x, 2) for k, x in (("linear()", FRAME), (mc.Linear(), ROWS))]
    np.testing.assert_array_equal(found[0].values, found[1].values)
    with pytest.raises(
        mc.errors.InvalidParameter, match="expected a kernel or its text, found int"
    ):
        principal_functions(3, ROWS, 2)  # type: ignore[arg-type]


def test_functions_do_not_change_with_the_points_they_were_given() -> None:
    rows, words, arrays = [[1.0], [2.0]], [{"a"}, {"a", "b"}], [np.ones(1), np.ones(1)]
    standard = array_api_strict.asarray([[1.0], [2.0]])
    objects = np.array(words, dtype=object)
    given: list[tuple[mc.Kernel, Any]] = [
        *((mc.Linear(), rows), (mc.kernels.Intersection(), words)),
        *((mc.Linear(), arrays), (mc.Linear(), standard), (mc.kernels.Intersection(), objects)),
    ]
    functions = [Function(k, x, [1.0, 1.0]) for k, x in given]
    norms = [f.norm for f in functions]
    rows[0][0] = 9.0
    words[0].add("c")
    arrays[0][0] = 9.0
    standard[0, 0] = 9.0
    assert [f.norm for f in functions] == norms
    assert (functions[3] + functions[3]).weights.tolist() == [2.0, 2.0]


def test_named_tuples_keep_their_names() -> None:
    k = mc.FromFunction(lambda p, q: p.height * q.height)
    assert Function(k, [Sized(height=2.0)], [1.0]).norm == 2.0


class Sized(NamedTuple):
    height: float


@pytest.mark.parametrize(
    "compute",
    [
        lambda f: f.norm,
        lambda f: f.inner(f),
        lambda f: f([[1e150]]),
        lambda f: f.bound([[1e150]]),
        lambda f: f * 1e300,
        lambda f: f / 1e-300,
        lambda f: Function(mc.Linear(), [[1.0]], [1.7e308]) * 2.0,
        lambda f: sum([Function(mc.Linear(), np.ones((1, 1)), [1.7e308])] * 2),
    ],
)
def test_overflow_is_named_not_warned_of(compute: Callable[[Function], object]) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="holds inf|not a finite number"):
        compute(Function(mc.Linear(), [[1e100]], [1e100]))


def test_functions_are_summed_and_divided() -> None:
    f, g = Function(mc.Linear(), [[1.0]], [3.0]), Function(mc.Linear(), [[2.0]], [1.0])
    assert sum([f, g])([[1.0]]) == 5.0  # type: ignore[operator]
    assert (f / 2)([[1.0]]) == 1.5
    assert (f / 2j).weights[0] == -1.5j
    with pytest.raises(mc.errors.InvalidParameter, match="divided by 0"):
        f / 0
    with pytest.raises(TypeError):
        1 + f
    with pytest.raises(TypeError):
        f / g  # type: ignore[operator]


def test_inner_products_and_distances_need_functions() -> None:
    f = Function.at(mc.Linear(), [1.0])
    for compute in (f.inner, f.distance):
        with pytest.raises(mc.errors.InvalidParameter, match="expected a Function, found int"):
            compute(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", [mc.Gaussian(1.3), mc.Matern(2.5, 0.8) * mc.Linear() + 0.5])
def test_slopes_of_a_function_are_its_differences_and_inner_products(kernel: Any) -> None:
    rng = np.random.default_rng(5)
    f = Function(kernel, rng.standard_normal((7, 3)), rng.standard_normal(7))
    x, step = rng.standard_normal((4, 3)), 1e-5
    found = f.slopes(x)
    for j, move in enumerate(step * np.eye(3)):
        np.testing.assert_allclose(
            found[:, j], (f(x + move) - f(x - move)) / (2 * step), rtol=1e-6, atol=1e-8
        )
        # Differentiation at a point is the limit of inner products with differences of sections.
        ahead, behind = (Function.at(kernel, x[0] + sign * move) for sign in (1, -1))
        assert f.inner((ahead - behind) / (2 * step)) == pytest.approx(found[0, j], abs=1e-5)
    assert f.slopes(x[:0]).shape == (0, 3)
    with pytest.raises(mc.errors.NotDifferentiable):
        Function(mc.kernels.Intersection(), [{1}, {2}], [1.0, 2.0]).slopes([{1}])
