from __future__ import annotations

from dataclasses import replace
from math import comb, sqrt

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array, as_numpy
from tests.oracles import (
    LIBRARIES,
    assert_derivatives,
    assert_near,
    assert_positive,
    assert_same_in,
    exact_gaps,
    foreign,
    smallest_eigenvalue,
    untouched,
    worst_relative_error,
)

RNG = np.random.default_rng(10)
X, Y = RNG.normal(size=(5, 2)), RNG.normal(size=(4, 2))
B = ((2.0, 0.5), (0.5, 1.0))

DIFFERENTIABLE = [
    mc.Linear(),
    mc.Polynomial(3, 0.7, 1.3),
    mc.Polynomial(2, 0.0, 1.0),
    mc.Polynomial(1, 0.5, 2.0),
    mc.Polynomial(0, 0.5, 2.0),
    mc.Polynomial(7, 1.2, 0.4),
    mc.kernels.Sigmoid(0.6, -0.3),
    mc.kernels.Bilinear(B),
]
ALL = [*DIFFERENTIABLE, mc.kernels.Bilinear([[1.0, 1j], [-1j, 1.0]])]


def test_linear_is_the_inner_product() -> None:
    np.testing.assert_allclose(mc.Linear()(X, Y), np.einsum("ij,kj->ik", X, Y), rtol=1e-14)
    assert mc.Linear()([[1, 2]], [[3, 4]]).tolist() == [[11.0]]


def test_functions_of_the_linear_kernel_are_linear() -> None:
    f = mc.Linear()(Y, X) @ np.arange(5.0)
    combined = mc.Linear()(2.0 * Y[:1] - 3.0 * Y[1:2], X) @ np.arange(5.0)
    np.testing.assert_allclose(combined[0], 2.0 * f[0] - 3.0 * f[1], rtol=1e-13)


def test_linear_conjugates_its_second_argument() -> None:
    x, y = np.array([[1 + 2j, 3j]]), np.array([[2 - 1j, 1 + 1j]])
    assert mc.Linear()(x, y)[0, 0] == (1 + 2j) * (2 + 1j) + 3j * (1 - 1j)
    assert mc.Linear()(x, y)[0, 0] == mc.Linear()(y, x)[0, 0].conjugate()
    assert mc.Linear().diag(x).dtype == np.float64
    assert mc.Linear().diag(x).tolist() == [14.0]


def test_the_squared_polynomial_has_the_six_features_of_the_text() -> None:
    x1, x2 = X.T
    root = sqrt(2.0)
    phi = np.stack([np.ones(5), root * x1, root * x2, root * x1 * x2, x1**2, x2**2], axis=1)
    k = mc.Polynomial(degree=2, offset=1.0)
    np.testing.assert_allclose(k(X), phi @ phi.T, rtol=1e-13)
    ours = k.features(X)
    assert ours.shape == (5, 6)
    np.testing.assert_allclose(ours @ ours.T, k(X), rtol=1e-13)
    np.testing.assert_allclose(
        np.sort(np.abs(ours), axis=1), np.sort(np.abs(phi), axis=1), rtol=1e-13, atol=1e-15
    )


@pytest.mark.parametrize("degree", [0, 1, 3, 5])
@pytest.mark.parametrize("offset", [0.0, 0.8])
def test_features_of_a_power_are_its_monomials(degree: int, offset: float) -> None:
    k = mc.Polynomial(degree, offset, 0.6)
    phi = k.features(X)
    assert phi.shape == (5, comb(3 + degree - 1, degree))
    assert_near(phi @ phi.T, k(X), 1e-14)


@given(st.integers(0, 6), st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_a_polynomial_is_what_its_formula_says(degree: int, offset: float, scale: float) -> None:
    expected = (scale * (X @ Y.T) + offset) ** degree
    assert_near(mc.Polynomial(degree, offset, scale)(X, Y), expected, 1e-13)


def test_polynomials_of_complex_points_are_hermitian_and_have_features() -> None:
    z = X + 1j * X[::-1]
    k = mc.Polynomial(3, 0.5, 0.7)
    K = k(z)
    assert_near(K, K.conj().T, 1e-14)
    assert_positive(K)
    phi = k.features(z)
    assert_near(phi @ phi.conj().T, K, 1e-13)


@pytest.mark.parametrize("degree", [2.5, -1, "2", float("nan"), float("inf"), True, None])
def test_a_degree_that_is_not_a_whole_number_is_refused(degree: object) -> None:
    with pytest.raises(
        mc.errors.InvalidParameter, match="degree must be a whole number >= 0, found"
    ):
        mc.Polynomial(degree=degree)  # type: ignore[arg-type]


def test_a_degree_written_as_a_float_is_a_degree() -> None:
    assert mc.Polynomial(degree=2.0) == mc.Polynomial(degree=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["offset", "scale"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "1", None, 1j])
def test_offsets_and_scales_that_leave_the_cone_are_refused(name: str, value: object) -> None:
    with pytest.raises(
        mc.errors.InvalidParameter, match=f"{name} must be a number > 0 or equal to 0"
    ):
        mc.Polynomial(**{name: value})  # type: ignore[arg-type]


def test_a_negative_offset_would_not_be_positive_definite() -> None:
    assert smallest_eigenvalue((X @ X.T - 1.0) ** 3) < -0.1


def test_the_sigmoid_is_a_similarity_and_says_so() -> None:
    k = mc.kernels.Sigmoid(scale=1.0, offset=-1.0)
    np.testing.assert_allclose(k(X, Y), np.tanh(X @ Y.T - 1.0), rtol=1e-13)
    assert k.kind is mc.kernels.Kind.SIMILARITY
    assert k.proof == ""
    assert smallest_eigenvalue(k(X)) < -0.5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0", None])
def test_parameters_of_the_sigmoid_are_numbers(value: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="offset must be a number, found"):
        mc.kernels.Sigmoid(offset=value)  # type: ignore[arg-type]


def test_a_bilinear_kernel_is_its_form() -> None:
    k = mc.kernels.Bilinear(B)
    np.testing.assert_allclose(k(X, Y), X @ np.array(B) @ Y.T, rtol=1e-13)
    phi = k.features(X)
    np.testing.assert_allclose(phi @ phi.T, k(X), rtol=1e-12)
    assert k == mc.kernels.Bilinear(np.array(B))
    assert hash(k) == hash(mc.kernels.Bilinear(list(B)))


def test_a_complex_form_is_hermitian_and_has_features() -> None:
    H = np.array([[2.0, 1j], [-1j, 2.0]])
    k = mc.kernels.Bilinear(H)
    z = X + 1j * X[::-1]
    for points in (X, z):
        K = k(points)
        assert_near(K, points @ H @ points.conj().T, 1e-14)
        assert_positive(K)
        phi = k.features(points)
        assert_near(phi @ phi.conj().T, K, 1e-14)


def test_a_singular_form_is_accepted_however_it_was_rounded() -> None:
    for seed in range(50):
        v = np.random.default_rng(seed).normal(size=(3, 1)) * 10.0 ** (seed - 25)
        mc.kernels.Bilinear((v @ v.T).tolist())
    assert mc.kernels.Bilinear([[0.0]])([[3.0]]).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("form", "error", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], mc.errors.NotPositiveDefinite, "negative eigenvalue -1"),
        (
            [[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]],
            mc.errors.NotPositiveDefinite,
            "eigenvalue -1e-09",
        ),
        ([[-1e-300]], mc.errors.NotPositiveDefinite, "negative eigenvalue -1e-300"),
        (
            [[1.0, 2.0], [2.5, 9.0]],
            mc.errors.NotPositiveDefinite,
            r"must be symmetric .*\(0, 1\) and \(1, 0\) differ",
        ),
        ([[1.0, 2.0]], mc.errors.InvalidInput, r"square matrix, found shape \(1, 2\)"),
        ([[1.0, 2.0], [2.0]], mc.errors.InvalidInput, "same number in every row"),
        ([[float("nan")]], mc.errors.InvalidInput, "row 0, column 0 holds NaN"),
    ],
)
def test_forms_that_are_not_positive_semidefinite_are_refused(
    form: list[list[float]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        mc.kernels.Bilinear(form)


def test_a_form_of_the_wrong_size_is_named() -> None:
    with pytest.raises(
        mc.errors.InvalidParameter, match="B is 2 x 2 but the points have 3 coordinates"
    ):
        mc.kernels.Bilinear(B)([[1.0, 2.0, 3.0]])


INSIDE = [k for k in DIFFERENTIABLE if 0.0 not in mc.kernels.parameters(k).values()]


@pytest.mark.parametrize("k", INSIDE, ids=repr)
def test_partials_and_slopes_agree_with_differences(k: mc.Kernel) -> None:
    assert_derivatives(k, X, Y)


@pytest.mark.parametrize("k", DIFFERENTIABLE, ids=repr)
def test_slopes_agree_with_complex_steps(k: mc.Kernel) -> None:
    h = 1e-150
    steps = [k(X + 1j * h * np.eye(2)[j], Y).imag / h for j in range(2)]
    np.testing.assert_allclose(k.slopes(X, Y), np.stack(steps, axis=-1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [k for k in DIFFERENTIABLE if mc.kernels.parameters(k)], ids=repr)
def test_partials_agree_with_complex_steps(k: mc.Kernel) -> None:
    h = 1e-150
    for name, partial in k.partials(X, Y).items():
        moved = replace(k)  # type: ignore[type-var]
        for other in ("scale", "offset"):
            step = 1j * h if other == name else 0j
            object.__setattr__(moved, other, getattr(k, other) + step)
        expected = moved(X, Y).imag / h
        np.testing.assert_allclose(partial, expected, rtol=0, atol=1e-12)


def test_structural_parameters_have_no_partials() -> None:
    assert set(mc.Polynomial().partials(X)) == {"offset", "scale"}
    assert mc.kernels.Bilinear(B).partials(X) == {}


@pytest.mark.parametrize("k", DIFFERENTIABLE, ids=repr)
def test_slopes_of_complex_points_are_refused(k: mc.Kernel) -> None:
    for x, y in ((X + 1j, X + 1j), (X + 1j, X), (X, X + 1j)):
        with pytest.raises(mc.errors.NotDifferentiable, match="real vectors only"):
            k.slopes(x, y)


def test_kernels_without_finite_features_say_so() -> None:
    with pytest.raises(mc.errors.NoFeatureMap, match="Sigmoid has no finite feature map"):
        mc.kernels.Sigmoid().features(X)
    with pytest.raises(mc.errors.NoFeatureMap, match="columns, more than 100000"):
        mc.Polynomial(degree=40).features(RNG.normal(size=(2, 30)))


@pytest.mark.parametrize("power", [200, 307])
@pytest.mark.parametrize("k", [mc.Linear(), mc.Polynomial(2), mc.kernels.Bilinear(B)], ids=repr)
def test_overflow_is_refused_by_name(k: mc.Kernel, power: int) -> None:
    with pytest.raises(
        mc.errors.InvalidInput, match=r"not a finite number at \(0, 0\).*[Rr]escale"
    ):
        k(10.0**power * np.abs(X))
    with pytest.raises(mc.errors.InvalidInput, match=r"not a finite number at \(0,\)"):
        k.diag(10.0**power * np.abs(X))


def test_tiny_data_underflow_to_zero_without_a_warning() -> None:
    assert np.all(mc.Linear()(1e-200 * X) == 0.0)
    np.testing.assert_array_equal(mc.Polynomial(2, 3.0)(1e-200 * X), np.full((5, 5), 9.0))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_linear_kernel_is_equivariant_under_units(scale: float) -> None:
    np.testing.assert_allclose(mc.Linear()(scale * X), scale**2 * mc.Linear()(X), rtol=1e-14)


def test_inner_products_far_from_the_origin_are_accurate() -> None:
    x = 1e8 + RNG.normal(size=(6, 3))
    with mpmath.workdps(30):
        gaps = exact_gaps(x, np.zeros((1, 3)))
        exact = [[sum(a * b for a, b in zip(p[0], q[0], strict=True)) for q in gaps] for p in gaps]
    assert worst_relative_error(mc.Linear()(x), exact) < 1e-15


@pytest.mark.parametrize("k", DIFFERENTIABLE, ids=repr)
def test_single_precision_is_computed_in_double_and_returned_single(k: mc.Kernel) -> None:
    x, y = X.astype(np.float32), Y.astype(np.float32)
    exact = k(x.astype(np.float64), y.astype(np.float64))
    found = k(x, y)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    assert k.diag(x).dtype == np.float32
    assert k(x, Y).dtype == np.float64


def test_single_precision_that_overflows_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="not a finite number"):
        mc.Linear()(np.array([[1e30]], dtype=np.float32))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, object])
def test_numbers_of_any_type_are_read_as_doubles(dtype: type) -> None:
    x: Array = np.array([[1, 0], [1, 1]]).astype(dtype)
    assert mc.Linear()(x).dtype == np.float64
    assert mc.Linear()(x).tolist() == [[1.0, 1.0], [1.0, 2.0]]
    assert mc.Polynomial(2)(x).tolist() == [[4.0, 4.0], [4.0, 9.0]]


def test_small_integers_do_not_wrap_around() -> None:
    assert mc.Linear()(np.array([[100, 100]], dtype=np.int8)).tolist() == [[20000.0]]
    assert mc.Linear()(np.array([[200]], dtype=np.uint8)).tolist() == [[40000.0]]


def views() -> dict[str, Array]:
    wide = np.repeat(X, 2, axis=1)
    return {"fortran": np.asfortranarray(X), "strided": wide[:, ::2], "reversed": X[::-1][::-1]}


@pytest.mark.parametrize("layout", views())
@pytest.mark.parametrize("k", ALL, ids=repr)
def test_the_layout_of_an_array_does_not_matter(k: mc.Kernel, layout: str) -> None:
    np.testing.assert_allclose(k(views()[layout], Y), k(X, Y), rtol=1e-14)


@pytest.mark.parametrize("k", ALL, ids=repr)
def test_arguments_are_left_alone(k: mc.Kernel) -> None:
    x, y = X.copy(), Y.copy()
    with untouched(x, y):
        k(x), k(x, y), k.diag(x), k.partials(x, y)
        if k in DIFFERENTIABLE:
            k.slopes(x, y)
        if not isinstance(k, mc.kernels.Sigmoid):
            k.features(x)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", DIFFERENTIABLE, ids=repr)
def test_no_point_one_point_and_two_points(k: mc.Kernel, n: int) -> None:
    assert k(X[:n]).shape == (n, n)
    assert k(X[:n], Y).shape == (n, 4)
    assert k(Y, X[:n]).shape == (4, n)
    assert k.diag(X[:n]).shape == (n,)
    assert k.slopes(X[:n], Y).shape == (n, 4, 2)
    assert all(d.shape == (n, 4) for d in k.partials(X[:n], Y).values())
    np.testing.assert_allclose(k(X[:n], Y), k(X, Y)[:n], rtol=1e-14)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("k", DIFFERENTIABLE, ids=repr)
def test_other_array_libraries_get_the_same_numbers_in_kind(k: mc.Kernel, library: str) -> None:
    assert_same_in(library, k, X, Y)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "k", [mc.Linear(), mc.Polynomial(2, 0.5, 0.7), mc.kernels.Bilinear(B)], ids=repr
)
def test_features_stay_in_their_array_library(k: mc.Kernel, library: str) -> None:
    x = foreign(library, X)
    phi = k.features(x)
    assert type(phi) is type(x)
    assert_near(as_numpy(phi), k.features(X), 1e-14)


def test_tanimoto_of_indicators_is_jaccard_of_sets() -> None:
    rows = RNG.integers(0, 2, size=(12, 6)) * (RNG.uniform(size=(12, 1)) > 0.2)
    sets = [set(np.flatnonzero(row).tolist()) for row in rows]
    assert not all(sets)
    assert mc.kernels.Tanimoto()(rows).tolist() == mc.kernels.Jaccard()(sets).tolist()
    assert (
        mc.kernels.Tanimoto()(rows, rows[:3]).tolist()
        == mc.kernels.Jaccard()(sets, sets[:3]).tolist()
    )


@given(st.integers(0, 10**6))
def test_tanimoto_is_positive_definite_on_vectors_of_any_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(9, 3)) * 10.0 ** rng.uniform(-4, 4, size=(9, 1))
    x[0] = 0.0
    K = mc.kernels.Tanimoto()(x)
    assert_positive(K)
    assert K.diagonal().tolist() == [1.0] * 9
    assert np.all((K >= -1 / 3 - 1e-15) & (K <= 1.0))
    assert_positive(mc.kernels.Tanimoto()(x + 1j * rng.normal(size=(9, 3))))
    s = x @ x.T
    norms = np.diag(s)
    expected = s[1:] / (norms[1:, None] + norms - s[1:])
    assert_near(K[1:], expected, 1e-13)


def test_the_slopes_of_tanimoto_are_its_differences() -> None:
    assert_derivatives(mc.kernels.Tanimoto(), X, Y)
    assert mc.kernels.Tanimoto().slopes([[0.0, 0.0]]).tolist() == [[[0.0, 0.0]]]


def test_tanimoto_distances_of_near_points_keep_their_digits() -> None:
    x = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + 1e-9]])
    k = mc.kernels.Tanimoto().gaussian(1e-9)
    gap = float(x[1, 2] - 3.0)
    square = 4 * gap**2 / (np.sum(x**2) + gap**2)
    assert_near(k(x)[0, 1], np.exp(-square / 2e-18), 1e-12)


def test_tanimoto_refuses_what_underflows_and_overflows() -> None:
    for small_or_large in (1e-200, 1.2e154, 1e200):
        with pytest.raises(mc.errors.InvalidInput, match="point 1 .* leaves the range of double"):
            mc.kernels.Tanimoto()([[1.0, 2.0], [small_or_large, 0.0]])
