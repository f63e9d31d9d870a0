from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array, Points
from mercer.rkhs.feature_distances import (
    distance,
    distance_to_set,
    join_points,
    mean_discrepancy,
)
from mercer.rkhs.limits import Limits
from tests.strategies import kernels, points, set_kernels, sets_of_letters
from tests.test_check import FRAME, ROWS

WAVES = mc.kernels.FeatureMap(
    lambda x: np.exp(1j * np.asarray(x) @ np.array([[1.0, -2.0], [0.3, 1.0]]))
)
TINY = [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 30.0]


def largest(k: mc.Kernel, *samples: Points) -> float:
    try:
        value = max(float(np.max(np.abs(k.diag(x)))) for x in samples)
    except mc.errors.InvalidInput:
        assume(False)
    assume(value < 1e6)
    return value


@given(st.one_of(kernels(), st.just(WAVES)), points(), points())
def test_the_distance_is_the_kernel_trick(k: mc.Kernel, x: Array, y: Array) -> None:
    size = largest(k, x, y)
    squares = k.diag(x)[:, None] + k.diag(y)[None, :] - 2 * np.real(k(x, y))
    np.testing.assert_allclose(distance(k, x, y) ** 2, squares, rtol=0, atol=1e-11 * size + 1e-300)


@given(st.one_of(kernels(), st.just(WAVES)), points(3, 6))
def test_distances_are_a_metric(k: mc.Kernel, x: Array) -> None:
    size = largest(k, x)
    D = distance(k, x)
    assert np.array_equal(np.diag(D), np.zeros(len(x)))
    np.testing.assert_allclose(D, D.T, atol=1e-7 * np.sqrt(size) + 1e-150)
    through = np.min(D[:, :, None] + D[None, :, :], axis=1)
    assert np.all(through + 1e-6 * np.sqrt(size) + 1e-150 >= D)


@given(set_kernels(), sets_of_letters())
def test_distances_of_sets(k: mc.Kernel, x: list[frozenset[str]]) -> None:
    D = distance(k, [*x, x[0]])
    assert D[0, -1] == 0.0
    assert not np.any(np.isnan(D))


@pytest.mark.parametrize("step", TINY)
def test_small_distances_keep_their_digits(step: float) -> None:
    x, y = np.array([[0.0]]), np.array([[step]])

    def agrees(k: mc.Kernel, expected: float) -> None:
        np.testing.assert_allclose(distance(k, x, y), [[expected]], rtol=1e-13)

    gaussian = np.sqrt(-2 * np.expm1(-(step**2) / 8))
    agrees(mc.Gaussian(2.0), gaussian)
    agrees(4.0 * mc.Gaussian(2.0) + mc.Linear(), np.hypot(2.0 * gaussian, step))
    agrees(mc.Laplacian(2.0), np.sqrt(-2 * np.expm1(-step / 2)))
    agrees(mc.kernels.RationalQuadratic(1.0, 1.0), np.sqrt(2.0) * step / np.sqrt(2.0 + step**2))
    agrees(mc.Gaussian(2.0).on(lambda p: np.asarray(p)), gaussian)
    agrees(mc.Gaussian(2.0).centred([[5.0]]), gaussian)
    agrees(mc.kernels.NegativeDistance(1.0), np.sqrt(2 * step))


def test_distances_of_points_far_from_the_origin() -> None:
    x = 1e8 + np.array([[0.0], [0.5]])
    assert distance(mc.Linear(), x)[0, 1] == 0.5
    assert distance_to_set(mc.Linear(), x, x).tolist() == [0.25, 0.25]


def test_other_kernels_are_right_to_the_root_of_rounding() -> None:
    x = np.array([[1.0], [1.0 + 1e-5], [1.0 + 1e-12]])
    D = distance(mc.Matern(2.5), x)
    slope = np.sqrt(5.0 / 3.0)
    assert D[0, 1] == pytest.approx(slope * 1e-5, rel=1e-4)
    assert D[0, 2] <= 1e-7


def test_a_point_is_at_distance_zero_from_itself_whatever_its_rounding() -> None:
    x = 4.0 * np.random.default_rng(0).normal(size=(30, 8))
    assert np.array_equal(np.diag(distance(mc.Linear().exp(), x)), np.zeros(30))


def test_single_precision_is_computed_in_double() -> None:
    x = np.array([[0.0], [1e-3]], dtype=np.float32)
    assert distance(mc.Gaussian(), x)[0, 1] == pytest.approx(float(x[1, 0]), rel=1e-6)
    assert distance(mc.Matern(1.5), x)[0, 1] == pytest.approx(np.sqrt(3) * 1e-3, rel=1e-3)


def test_what_is_not_a_kernel_has_no_distances() -> None:
    with pytest.raises(mc.errors.NotPositiveDefinite, match="squared distance -1 < 0"):
        distance(mc.FromFunction(lambda x, y: -x * y), [0.0, 1.0])
    # -xy alone is no kernel, but 2xy - xy is one.
    mixed = mc.FromFunction(lambda x, y: -x * y) + 2.0 * mc.Linear()
    assert distance(mixed, np.array([0.0, 3.0]))[0, 1] == 3.0
    with pytest.raises(mc.errors.InvalidInput, match="not a finite number"):
        distance(mc.Linear(), [[0.0], [1e200]])


@given(kernels(), points(), points(1, 5), st.data())
def test_the_distance_to_a_set_is_that_to_its_mean(
    k: mc.Kernel, x: Array, members: Array, data: st.DataObject
) -> None:
    size = largest(k, x, members)
    n = len(members)
    s = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=float)
    assume(s.sum() > 0)
    w = s / s.sum()
    squares = k.diag(x) - 2 * k(x, members) @ w + w @ k(members) @ w
    found = distance_to_set(k, x, members, s)
    np.testing.assert_allclose(found**2, squares, rtol=0, atol=1e-11 * size + 1e-300)


def test_the_distance_to_a_set_in_tiles_of_sets_and_of_complex_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    whole = distance_to_set(WAVES, x, x)
    phi = WAVES.features(x)
    np.testing.assert_allclose(whole, np.linalg.norm(phi - phi.mean(axis=0), axis=1))
    monkeypatch.setattr(Limits, "entries", 50)
    np.testing.assert_allclose(distance_to_set(WAVES, x, x), whole, rtol=1e-13)
    words = [{"a"}, {"b"}]
    np.testing.assert_allclose(
        distance_to_set(mc.kernels.Intersection(), words, words), np.sqrt(0.5)
    )
    assert distance_to_set(WAVES, np.zeros((0, 2)), x).shape == (0,)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        *(([1.0], r"the shape \(1,\) for 2"), ([1.0, -1.0], "nonnegative")),
        *(([0.0, 0.0], "not all zero"), ([1e308, 1e308], "have a finite sum")),
        *(([1.0, np.nan], "row 1 holds NaN"), (["a", "b"], "'a' is no weight")),
    ],
)
def test_barycentres_refuse_their_weights(weights: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        distance_to_set(mc.Linear(), [[0.0]], [[0.0], [1.0]], weights)


def test_the_mean_discrepancy_written_out() -> None:
    rng = np.random.default_rng(3)
    x, y, k = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)) + 1.0, mc.Matern(1.5)
    found = mean_discrepancy(k, x, y, permutations=19, random_state=0)
    squared = k(x).mean() + k(y).mean() - 2 * k(x, y).mean()
    within = [(k(z).sum() - np.trace(k(z))) / (len(z) * (len(z) - 1)) for z in (x, y)]
    assert found.squared == pytest.approx(squared, rel=1e-12)
    assert found.distance == pytest.approx(np.sqrt(squared), rel=1e-12)
    assert found.unbiased == pytest.approx(sum(within) - 2 * k(x, y).mean(), rel=1e-12)
    assert found.null.shape == (19,)
    assert found.p_value == (1 + np.sum(found.null >= found.squared)) / 20


def test_the_permutation_test_counts_ties() -> None:
    x, y = np.array([0.0, 0.1, 0.2]), np.array([5.0, 5.1, 5.2])
    found = mean_discrepancy(mc.Gaussian(), x, y, permutations=4000, random_state=0)
    # Of the 20 ways to split six points the observed one and its mirror image are extreme.
    assert found.p_value == pytest.approx(0.1, abs=0.02)
    pooled = np.concatenate([x, y])
    splits = [
        mean_discrepancy(
            mc.Gaussian(), pooled[list(s)], np.delete(pooled, s), permutations=0, random_state=0
        )
        for s in combinations(range(6), 3)
    ]
    assert {round(s.squared, 9) for s in splits} == {round(v, 9) for v in found.null.tolist()}
    assert splits[0].p_value == 1.0


def test_the_permutation_test_holds_its_level_and_has_power() -> None:
    rng = np.random.default_rng(5)
    p_values = [
        mean_discrepancy(
            mc.Gaussian("median"), *rng.normal(size=(2, 15)), permutations=39, random_state=rng
        ).p_value
        for _ in range(200)
    ]
    # 10 of 200 are expected; 22 is four standard deviations more.
    assert np.sum(np.array(p_values) <= 0.05) <= 22
    found = mean_discrepancy(
        mc.Gaussian("median"), rng.normal(size=40), 2 + rng.normal(size=40), random_state=0
    )
    assert found.p_value == 1 / 1000


def test_the_discrepancy_of_minus_the_distance_is_the_energy_distance() -> None:
    x, y = np.array([0.0, 1.0]), np.array([2.0, 5.0])
    found = mean_discrepancy(mc.kernels.NegativeDistance(), x, y, permutations=0, random_state=0)
    assert found.squared == pytest.approx(2 * 3.0 - 0.5 - 1.5)


def test_discrepancies_of_sets_repeat_with_the_seed() -> None:
    x, y = [{"a"}, {"a", "b"}, {"b"}], [{"c"}, {"c", "d"}]
    first = mean_discrepancy(mc.kernels.Intersection(), x, y, permutations=50, random_state=7)
    again = mean_discrepancy(mc.kernels.Intersection(), x, y, permutations=50, random_state=7)
    assert np.array_equal(first.null, again.null)
    assert not first.null.flags.writeable
    with pytest.raises(mc.errors.InvalidInput, match="at least 2 points"):
        mean_discrepancy(mc.kernels.Intersection(), x, y[:1], random_state=0)
    with pytest.raises(mc.errors.InvalidParameter, match="permutations"):
        mean_discrepancy(mc.kernels.Intersection(), x, y, permutations=-1, random_state=0)


def test_permutations_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.arange(5.0), np.arange(4.0) + 2
    whole = mean_discrepancy(mc.Linear(), x, y, permutations=30, random_state=0)
    monkeypatch.setattr(Limits, "entries", 70)
    np.testing.assert_allclose(
        mean_discrepancy(mc.Linear(), x, y, permutations=30, random_state=0).null, whole.null
    )


def test_joined_points_keep_their_type() -> None:
    assert join_points(["12"], ["3"]) == ("12", "3")
    assert isinstance(join_points(np.array([1]), np.array([2])), np.ndarray)
    both = join_points(mc.data.Paired([[0.0]], ["a"]), mc.data.Paired([[1.0]], ["b"]))
    assert isinstance(both, mc.data.Paired)
    assert both[1] == ([1.0], "b")


def test_data_frames_are_measured_by_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    k = mc.Gaussian()
    np.testing.assert_array_equal(distance(k, FRAME), distance(k, ROWS))
    monkeypatch.setattr(Limits, "entries", 3)
    np.testing.assert_array_equal(distance_to_set(k, FRAME, FRAME), distance_to_set(k, ROWS, ROWS))
    np.testing.assert_array_equal(join_points(FRAME, FRAME), join_points(ROWS, ROWS))
    np.testing.assert_array_equal(join_points(FRAME, ROWS), join_points(ROWS, ROWS))
    found = mean_discrepancy(k, FRAME, ROWS + 1.0, permutations=9, random_state=0)
    assert (
        found.squared
        == mean_discrepancy(k, ROWS, ROWS + 1.0, permutations=9, random_state=0).squared
    )


def test_texts_measure_as_the_kernels_they_describe() -> None:
    text, k = "gaussian(bandwidth=2)", mc.Gaussian(2.0)
    np.testing.assert_array_equal(distance(text, ROWS), distance(k, ROWS))
    np.testing.assert_array_equal(distance_to_set(text, ROWS, ROWS), distance_to_set(k, ROWS, ROWS))
    found = mean_discrepancy(text, ROWS, ROWS + 1.0, permutations=9, random_state=0)
    assert (
        found.squared
        == mean_discrepancy(k, ROWS, ROWS + 1.0, permutations=9, random_state=0).squared
    )
    for measure in (distance, distance_to_set, mean_discrepancy):
        with pytest.raises(
            mc.errors.InvalidParameter, match="expected a kernel or its text, found int"
        ):
            measure(3, ROWS, ROWS)  # type: ignore[arg-type]
