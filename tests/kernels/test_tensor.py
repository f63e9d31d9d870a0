from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import Gaussian, Kernel, Linear, Polynomial
from mercer.check import Array, Points, as_numpy
from mercer.data import Paired
from mercer.errors import (
    InvalidInput,
    InvalidParameter,
    NoFeatureMap,
    NotDifferentiable,
    NotPositiveDefinite,
)
from mercer.kernels import (
    Delta,
    FeatureMap,
    Intersection,
    Kind,
    NegativeDistance,
    parameters,
    tensor_product,
    tensor_sum,
)
from mercer.kernels.tensor import Projection, TensorProduct, TensorSum
from tests.derivatives import differences_in

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
NAMES = ["a", "b", "a", "c", "b", "a"]
SETS = [{1}, {1, 2}, set(), {3}, {2, 3}, {1, 2, 3}]

TUPLES = list(zip(X, Y, NAMES, strict=True))
FORMS: dict[str, Points] = {
    "paired": Paired(X, Y, NAMES),
    "tuples": TUPLES,
    "lists": [list(point) for point in TUPLES],
    "paired lists": Paired(X.tolist(), Y.tolist(), tuple(NAMES)),
    "nested plain tuples": [(tuple(a), tuple(b), c) for a, b, c in TUPLES],
}
PARTS = (Gaussian(1.3), Linear(), Delta())
K = [Gaussian(1.3)(X), Linear()(Y), Delta()(NAMES)]


def is_positive(matrix: Array) -> bool:
    return bool(np.linalg.eigvalsh(matrix)[0] > -1e-13 * np.max(np.abs(matrix)))


@pytest.mark.parametrize("form", FORMS)
def test_tensor_kernels_combine_one_kernel_for_each_part(form: str) -> None:
    points = FORMS[form]
    for kernel, expected in (
        (tensor_sum(*PARTS), K[0] + K[1] + K[2]),
        (tensor_product(*PARTS), K[0] * K[1] * K[2]),
    ):
        np.testing.assert_allclose(kernel(points), expected, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(kernel(points[:2], points), expected[:2], rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(kernel(points, points[3:]), expected[:, 3:], atol=1e-14)
        np.testing.assert_allclose(kernel.diag(points), np.diag(expected), rtol=1e-14)
        assert is_positive(kernel(points))
        assert kernel.kind is Kind.POSITIVE


def test_tensor_kernels_nest() -> None:
    kernel = tensor_product(tensor_sum(Linear(), Delta()), Gaussian(2.0) + 1.0)
    points = [((x, name), y) for x, name, y in zip(X, NAMES, Y, strict=True)]
    expected = (Linear()(X) + Delta()(NAMES)) * (Gaussian(2.0)(Y) + 1.0)
    np.testing.assert_allclose(kernel(points), expected, rtol=1e-14, atol=1e-14)
    paired = Paired(Paired(X, NAMES), Y)
    np.testing.assert_allclose(kernel(paired), expected, rtol=1e-14, atol=1e-14)


def test_tensor_kernels_take_part_in_the_algebra() -> None:
    kernel = 0.5 * tensor_sum(*PARTS) ** 2 + tensor_product(*PARTS).exp().normalised()
    product = np.exp(K[0] * K[1] * K[2])
    own = np.sqrt(np.diag(product))
    expected = 0.5 * (K[0] + K[1] + K[2]) ** 2 + product / own[:, None] / own[None, :]
    np.testing.assert_allclose(kernel(Paired(X, Y, NAMES)), expected, rtol=1e-13)


def test_rows_of_an_array_have_their_numbers_as_parts() -> None:
    kernel = tensor_sum(Linear(), 2.0 * Linear())
    np.testing.assert_allclose(
        kernel(Y), np.outer(Y[:, 0], Y[:, 0]) + 2 * np.outer(Y[:, 1], Y[:, 1])
    )


@pytest.mark.parametrize("make", [tensor_sum, tensor_product])
def test_one_part_alone_is_its_kernel(make: Any) -> None:
    np.testing.assert_array_equal(make(Gaussian())(Paired(X)), Gaussian()(X))
    np.testing.assert_array_equal(make(Gaussian())([(x,) for x in X]), Gaussian()(X))


@given(seed=st.integers(0, 10_000), weights=st.tuples(*[st.floats(0.0, 5.0)] * 2))
def test_products_of_parts_are_positive_definite(seed: int, weights: tuple[float, float]) -> None:
    rng = np.random.default_rng(seed)
    points = Paired(rng.normal(size=(5, 2)), rng.integers(0, 3, size=5).tolist())
    left, right = weights[0] * Linear() + 1.0, Delta() + weights[1]
    matrix = tensor_product(left, right)(points)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * np.max(np.abs(matrix))
    np.testing.assert_allclose(matrix, left(points.parts[0]) * right(points.parts[1]), rtol=1e-13)


@pytest.mark.parametrize(
    ("points", "missing"),
    [
        (Paired(X, Y), 2),
        ([(1.0, 2.0)], 2),
        ([1.0, 2.0], 0),
        ([{"x": 1.0}], 0),
        ([()], 0),
        ([None], 0),
    ],
    ids=["paired", "tuples", "numbers", "mappings", "empty", "None"],
)
def test_a_missing_part_is_named(points: Points, missing: int) -> None:
    for kernel in (tensor_sum(*PARTS), tensor_product(*PARTS)):
        with pytest.raises(InvalidInput, match=rf"part {missing} is missing; .*data\.Paired"):
            kernel(points)
        with pytest.raises(InvalidInput, match=f"part {missing} is missing"):
            kernel.resolve(points)


def test_an_error_inside_a_part_is_that_parts_own() -> None:
    bad = X.copy()
    bad[2, 1] = np.nan
    with pytest.raises(InvalidInput, match="row 2, column 1 holds NaN"):
        tensor_sum(Linear(), Delta())(Paired(bad, NAMES))


@pytest.mark.parametrize("make", [tensor_sum, tensor_product])
@pytest.mark.parametrize("kernels", [(), (2.0,), (Linear(), "linear()"), ([Linear()],)], ids=str)
def test_a_tensor_kernel_is_made_of_kernels(make: Any, kernels: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidParameter, match="at least one kernel, and kernels only"):
        make(*kernels)


def test_conditional_parts_may_be_added_but_not_multiplied() -> None:
    kernel = tensor_sum(NegativeDistance(), Linear())
    assert kernel.kind is Kind.CONDITIONAL
    H = np.eye(6) - 1.0 / 6.0
    assert np.linalg.eigvalsh(H @ kernel(Paired(X, Y)) @ H)[0] > -1e-13
    with pytest.raises(NotPositiveDefinite, match="tensor product with a conditionally positive"):
        tensor_product(NegativeDistance(), Linear())
    assert kernel.exp().kind is Kind.POSITIVE
    assert is_positive(kernel.exp()(Paired(X, Y)))


FEATURES: list[tuple[Kernel, int]] = [
    (tensor_sum(Linear(), Polynomial(2)), 3 + 6),
    (tensor_product(Linear(), Polynomial(2)), 3 * 6),
    (tensor_product(Linear(), Linear()) + tensor_sum(Linear(), Linear()), 6 + 5),
    (tensor_product(Linear() ** 2, Linear()), 12),
]


@pytest.mark.parametrize(("kernel", "columns"), FEATURES, ids=[str(f[0]) for f in FEATURES])
def test_features_of_tensor_kernels_give_them(kernel: Kernel, columns: int) -> None:
    for points in (Paired(X, Y), list(zip(X, Y, strict=True)), Paired(X + 1j * X[::-1], Y)):
        phi = kernel.features(points)
        assert phi.shape == (6, columns)
        np.testing.assert_allclose(phi @ phi.conj().T, kernel(points), rtol=1e-12, atol=1e-12)


def test_features_need_every_part_to_have_them() -> None:
    with pytest.raises(NoFeatureMap, match="Gaussian"):
        tensor_sum(Linear(), Gaussian()).features(Paired(X, Y))
    wide = FeatureMap(lambda x: np.ones((len(x), 400)))
    with pytest.raises(NoFeatureMap, match="160000 columns"):
        tensor_product(wide, wide).features(Paired(X, Y))


@pytest.mark.parametrize("make", [tensor_sum, tensor_product])
def test_partials_of_tensor_kernels_are_those_of_differences(make: Any) -> None:
    kernel = make(Gaussian((0.8, 1.1, 1.9)), 2.0 * Polynomial(2), Delta() + 0.5)
    points: Any = Paired(X, Y, NAMES)
    partials = kernel.partials(points)
    assert set(partials) == {
        *("0__bandwidth", "1__weight", "1__kernel__offset", "1__kernel__scale", "2__1__constant")
    }
    for name, partial in partials.items():
        expected = differences_in(kernel, name, points, points)
        np.testing.assert_allclose(
            partial, expected, atol=1e-9 * max(1.0, np.max(np.abs(expected)))
        )


def test_points_of_a_product_space_have_no_slopes() -> None:
    with pytest.raises(NotDifferentiable, match="points of a product space"):
        tensor_sum(Linear(), Linear()).slopes(Paired(X, Y))


def test_parameters_of_parts_are_numbered() -> None:
    kernel = tensor_sum(Gaussian(2.0), tensor_product(Delta(), 3.0 * Linear()))
    assert parameters(kernel) == {"0__bandwidth": 2.0, "1__1__weight": 3.0}


def test_classes_and_functions_make_the_same_value() -> None:
    assert tensor_sum(Linear(), Delta()) == TensorSum((Linear(), Delta()))
    assert tensor_product(Linear(), Delta()) == TensorProduct((Linear(), Delta()))
    assert tensor_sum(Linear(), Delta()) != tensor_sum(Delta(), Linear())
    assert Projection(1) == Projection(1)
    assert Projection(1) != Projection(0)


def test_a_kernel_on_sets_beside_one_on_vectors_sees_its_own_part() -> None:
    kernel = tensor_product(Gaussian(), Intersection())
    np.testing.assert_allclose(
        kernel(Paired(X, SETS)), Gaussian()(X) * Intersection()(SETS), atol=1e-15
    )


def test_standard_arrays_stay_in_their_library() -> None:
    theirs: Any = Paired(*(strict.asarray(v) for v in (X, Y)))  # type: ignore[arg-type]
    for kernel in (tensor_sum(Gaussian(), Linear()), tensor_product(Gaussian(), Linear())):
        values = kernel(theirs)
        assert isinstance(values, type(theirs.parts[0]))
        np.testing.assert_allclose(as_numpy(values), kernel(Paired(X, Y)), rtol=1e-13)
