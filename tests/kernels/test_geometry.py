from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer as mc
from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.kernels import definiteness
from mercer.kernels.definite import Verdict
from mercer.kernels.geometry import (
    euclidean,
    gram_of,
    negative_definite,
    squared_distances_of,
)
from mercer.kernels.laplacian_matern import NegativeDistance
from mercer.kernels.limits import Limits
from mercer.kernels.radial import Gaussian
from mercer.kernels.vectors import Linear
from tests.kernels.test_definite import assert_consistent, reference
from tests.strategies import points

LINGOES = 323_706.77
CAILLIEZ = 372.472
SQUARE = np.array([[0.0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])


def cities() -> Array:
    return np.array(reference("mds_us_cities.json")["D"], dtype=float)


def between(x: Array) -> Array:
    """Return squared distances between rows."""
    squares: Array = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    return squares


grids = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 7), st.integers(1, 4)),
    elements=st.integers(-8, 8).map(lambda i: i / 4),
)


@st.composite
def centres(draw: st.DrawFn, n: int) -> Array:
    """Signed weights of moderate size that sum to 1."""
    raw = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float)
    assume(raw.sum() != 0)
    weights: Array = raw / raw.sum()
    return weights


def assert_true_witness(verdict: Verdict, D: Array) -> None:
    assert verdict.witness is not None
    c = np.array(verdict.witness.coefficients)
    assert abs(np.sum(c)) < 1e-14 * len(c)
    value = float(np.real(c @ D @ c))
    assert value == pytest.approx(verdict.witness.value, rel=1e-6)
    assert value > 0


def test_the_cities_are_negative_definite_and_their_squares_are_not() -> None:
    D = cities()
    verdict = negative_definite(D)
    assert_consistent(verdict)
    assert verdict
    refused = negative_definite(D**2)
    assert_consistent(refused)
    assert not refused
    expected = min(reference("mds_us_cities.json")["eig"])
    assert refused.smallest == pytest.approx(expected, rel=1e-12)
    assert_true_witness(refused, D**2)
    assert euclidean(np.sqrt(D))


def test_the_cities_are_not_euclidean_although_their_triangles_are_right() -> None:
    D = cities()
    verdict = euclidean(D)
    assert not verdict
    assert "although every triangle inequality holds" in verdict.reason
    assert verdict.smallest == pytest.approx(-323_707, abs=1)
    assert_true_witness(verdict, D**2)


def test_additive_constants_make_the_cities_euclidean_and_smaller_ones_do_not() -> None:
    D = cities()
    off = 1.0 - np.eye(9)
    assert euclidean(np.sqrt(D**2 + 2 * (LINGOES + 0.01) * off))
    assert not euclidean(np.sqrt(D**2 + 2 * (LINGOES - 1.0) * off))
    assert euclidean(D + (CAILLIEZ + 0.001) * off)
    assert not euclidean(D + (CAILLIEZ - 0.001) * off)


@given(st.data(), grids)
def test_the_verdict_is_the_same_for_every_centre(data: st.DataObject, x: Array) -> None:
    n = len(x)
    points_mass = np.eye(n)[data.draw(st.integers(0, n - 1))]
    chosen = [None, points_mass, data.draw(centres(n))]
    for D in (between(x), between(x) ** 2, np.sqrt(between(x))):
        verdicts = [negative_definite(D, centre=centre) for centre in chosen]
        for verdict in verdicts:
            assert_consistent(verdict)
            if not verdict:
                assert_true_witness(verdict, D)
        assert len({v.holds for v in verdicts}) == 1


@given(st.data())
def test_the_cities_have_one_verdict_for_every_centre(data: st.DataObject) -> None:
    centre = data.draw(centres(9))
    assert negative_definite(cities(), centre=centre)
    refused = negative_definite(cities() ** 2, centre=centre)
    assert not refused
    assert_true_witness(refused, cities() ** 2)


def test_the_tolerance_grows_with_the_norm_of_the_centring() -> None:
    D = cities()
    centre = np.array([5.0, -4.0, *np.zeros(7)])
    H = np.eye(9) - np.outer(np.ones(9), centre)
    ratio = negative_definite(D, centre=centre).tolerance / negative_definite(D).tolerance
    assert ratio == pytest.approx(np.linalg.norm(H, 2) ** 2)


@given(grids)
def test_distances_between_points_are_euclidean(x: Array) -> None:
    D = between(x)
    assert negative_definite(D)
    assert euclidean(np.sqrt(D))
    assert euclidean(1e-140 * np.sqrt(D))
    assert euclidean(1e140 * np.sqrt(D))


@given(st.data(), grids)
def test_inner_products_come_back_from_squared_distances(data: st.DataObject, x: Array) -> None:
    centre = data.draw(centres(len(x)))
    moved = x - centre @ x
    B = gram_of(between(x), centre)
    np.testing.assert_allclose(B, moved @ moved.T, atol=1e-9 * (1.0 + np.max(moved**2)))
    np.testing.assert_allclose(
        squared_distances_of(B), between(x), atol=1e-9 * (1.0 + np.max(moved**2))
    )


def test_the_uniform_centre_is_double_centring() -> None:
    content = reference("mds_us_cities.json")
    expected = -0.5 * np.array(content["double_centred_D2_equals_minus_2B"])
    np.testing.assert_allclose(gram_of(cities() ** 2), expected, rtol=1e-11)


def test_kernels_define_squared_distances() -> None:
    x = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_allclose(squared_distances_of(Linear()(x)), between(x), atol=1e-13)
    gaussian = squared_distances_of(Gaussian(0.7)(x))
    np.testing.assert_allclose(
        np.sqrt(gaussian), np.sqrt(2 * (1 - np.exp(-between(x) / (2 * 0.49)))), atol=1e-7
    )
    distances = squared_distances_of(NegativeDistance(1.0)(x))
    np.testing.assert_allclose(distances, 2 * np.sqrt(between(x)), atol=1e-12)


def test_complex_gram_matrices_define_squared_distances() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(5, 3)) + 1j * rng.normal(size=(5, 3))
    expected = np.sum(np.abs(z[:, None] - z[None]) ** 2, axis=-1)
    found = squared_distances_of(z @ z.conj().T)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert np.array_equal(np.diag(found), np.zeros(5))


def test_equal_points_have_distance_exactly_zero() -> None:
    x = np.repeat(1e4 + np.random.default_rng(0).normal(size=(3, 7)), 2, axis=0)
    D = squared_distances_of(Linear()(x))
    assert np.all(D >= 0)
    assert D[0, 1] == 0


def test_what_defines_no_distances_is_refused() -> None:
    with pytest.raises(NotPositiveDefinite, match="points 0 and 1 would have the squared distance"):
        squared_distances_of([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InvalidInput, match="the Gram matrix is not symmetric"):
        squared_distances_of([[1.0, 2.0], [0.0, 1.0]])


BROKEN = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("d", "expected"),
    [
        (BROKEN, "the triangle inequality fails: d(0, 2) = 5 > d(0, 1) + d(1, 2) = 2"),
        (SQUARE, "although every triangle inequality holds"),
        (SQUARE + np.eye(4), "the diagonal entry (0, 0) is 1 and must be 0"),
        (-SQUARE, "the entry (0, 1) is -1, and distances are not negative"),
        (np.triu(SQUARE), "not symmetric: entry (0, 2) is 2 and entry (2, 0) is 0"),
    ],
)
def test_refusals_name_the_entries(d: Array, expected: str) -> None:
    verdict = euclidean(d)
    assert_consistent(verdict)
    assert not verdict
    assert verdict.reason.startswith("not Euclidean: ")
    assert expected in verdict.reason


def test_triangles_of_very_many_points_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "triangle_points", 3)
    verdict = euclidean(SQUARE)
    assert not verdict
    assert "more than 3 points are not tried" in verdict.reason


@pytest.mark.parametrize("n", [0, 1])
def test_few_points_are_always_euclidean(n: int) -> None:
    assert euclidean(np.zeros((n, n)))
    assert negative_definite(np.zeros((n, n)))
    assert gram_of(np.zeros((n, n))).shape == (n, n)


def test_an_asymmetric_matrix_is_not_negative_definite() -> None:
    verdict = negative_definite([[0.0, 1.0], [2.0, 0.0]])
    assert not verdict
    assert "entry (0, 1) is 1 and entry (1, 0) is 2" in verdict.reason
    with pytest.raises(InvalidInput, match="not symmetric"):
        gram_of([[0.0, 1.0], [2.0, 0.0]])


@given(st.lists(st.integers(-8, 8), min_size=4, max_size=4))
def test_a_constant_for_each_point_changes_nothing(diagonal: list[int]) -> None:
    f = np.array(diagonal, dtype=float)
    shift = f[:, None] + f[None, :]
    assert negative_definite(between(np.eye(4)) + shift)
    assert not negative_definite(SQUARE**2 + shift)
    np.testing.assert_allclose(gram_of(SQUARE + shift), gram_of(SQUARE), atol=1e-13)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: euclidean([[0.0, 1j], [1j, 0.0]]), "complex"),
        (lambda: euclidean(1e200 * SQUARE), "divide the distances by it"),
        (lambda: euclidean(1e-200 * SQUARE), "divide the distances by it"),
        (lambda: euclidean(SQUARE[:2]), "square matrix"),
        (lambda: negative_definite(np.full((2, 2), np.nan)), "row 0, column 0 holds NaN"),
    ],
)
def test_what_are_no_distances_is_refused(call: Any, expected: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        call()
    assert expected in str(refusal.value)


@pytest.mark.parametrize(
    ("centre", "expected"),
    [
        ([0.5, 0.5], "2 weights for 4 points"),
        ([0.5, 0.5, 0.5, 0.5], "must sum to 1, found 2.0"),
        ([np.nan, 1.0, 0.0, 0.0], "must be a number"),
    ],
)
def test_centres_that_are_none_are_refused(centre: list[float], expected: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        negative_definite(SQUARE, centre=centre)
    assert expected in str(refusal.value)


def test_ragged_distances_and_centres_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="row 1 of the matrix of distances has 2 coordinates"):
        euclidean([[0.0], [1.0, 0.0]])
    with pytest.raises(InvalidInput, match="row 1 of centre has 2 coordinates"):
        negative_definite(np.zeros((2, 2)), centre=[[0.5], [0.5, 0.0]])  # type: ignore[list-item]


@given(points(), st.integers(0, 1000))
def test_a_general_diagonal_is_subtracted_by_halves(x: Array, seed: int) -> None:
    """C = D - ½d1ᵀ - ½1dᵀ holds the squared distances of any conditionally negative definite D."""
    distances = between(x)
    a = np.random.default_rng(seed).uniform(-1.0, 1.0, len(x))
    D = distances + a[:, None] + a[None, :]
    assert negative_definite(D)
    size = 1.0 + np.max(distances)
    np.testing.assert_allclose(squared_distances_of(-D / 2.0), distances, atol=1e-12 * size)


RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((6, 9))
LINE = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))


@pytest.mark.parametrize(
    ("matrix", "name"),
    [
        (TALL @ TALL.T, "strictly positive definite"),
        (TALL.T @ TALL, "positive semidefinite"),
        (np.zeros((3, 3)), "positive semidefinite"),
        (-LINE, "conditionally positive definite"),
        (-TALL @ TALL.T, "negative semidefinite"),
        (LINE, "indefinite"),
        ([[1.0, 2.0], [0.0, 1.0]], "indefinite"),
        (np.array([[2.0, 1j], [-1j, 2.0]]), "strictly positive definite"),
        (np.array([[1.0, 2j], [-2j, 1.0]]), "indefinite"),
    ],
)
def test_every_kind_has_its_name(matrix: Any, name: str) -> None:
    assert definiteness(matrix) == name


def test_kernels_are_named_at_points() -> None:
    x = RNG.standard_normal((8, 2))
    assert definiteness(mc.Gaussian(1.0), x) == "strictly positive definite"
    assert definiteness("linear()", x) == "positive semidefinite"
    assert definiteness(mc.kernels.NegativeDistance(), x) == "conditionally positive definite"
    with pytest.raises(mc.errors.InvalidInput, match="give x"):
        definiteness(mc.Gaussian(1.0))


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10.0))
def test_adding_to_the_diagonal_makes_strict_and_constants_keep_conditional(
    seed: int, shift: float
) -> None:
    a = np.random.default_rng(seed).standard_normal((5, 3))
    assert definiteness(a @ a.T) == "positive semidefinite"
    assert definiteness(a @ a.T + shift * np.eye(5)) == "strictly positive definite"
    squared = np.sum((a[:, None] - a) ** 2, axis=2)
    assert definiteness(-squared - shift) == "conditionally positive definite"
