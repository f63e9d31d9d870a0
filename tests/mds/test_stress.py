from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.check import Array
from mercer.mds.descent import WeightedPairs
from mercer.mds.losses import LOSSES, OrdinalStress, SStress, kruskal_stress, loss_of
from tests.oracles import LINE, untouched
from tests.references import FOLDER

REFERENCE = FOLDER
SWISS = json.loads((REFERENCE / "stressmds_swiss.json").read_text())
CITIES = json.loads((REFERENCE / "mds_us_cities.json").read_text())
US = np.array(CITIES["D"], dtype=float)
PAIRS = np.triu_indices(9, 1)
PLANE = np.random.default_rng(3).standard_normal((30, 2))


def swiss() -> Array:
    X = np.array(SWISS["X"])
    assert X.shape == (47, 5)
    return np.asarray(cdist(X, X))


def noisy(n: int, seed: int = 0, p: int = 5) -> Array:
    """Distances that no plane holds."""
    x = np.random.default_rng(seed).standard_normal((n, p))
    return np.asarray(cdist(x, x))


def reported(loss: str, d: Array, delta: Array) -> float:
    """The definitions, written out once more without the code under test."""
    if loss == "sstress":
        return float(np.sum((d**2 - delta**2) ** 2))
    if loss == "sammon":
        return float(np.sum((d - delta) ** 2 / delta) / np.sum(delta))
    if loss == "ordinal":
        order = np.lexsort((d, delta))
        fitted = np.empty_like(d)
        fitted[order] = IsotonicRegression().fit_transform(np.arange(len(d)), d[order])
        delta = fitted
    gaps = d - delta * (d @ delta) / (delta @ delta)  # which, unlike 1 - cos², does not cancel
    return float(np.linalg.norm(gaps) / np.linalg.norm(d))


EXPECTED = {
    "check_estimators_pickle": "puts NaN into one triangle of D: missing in both or in neither",
}


def expected_failures(estimator: Any) -> dict[str, str]:
    return EXPECTED if estimator.metric == "precomputed" else LINE


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        mc.StressMDS(2, random_state=0),
        mc.StressMDS(2, metric="euclidean", random_state=0),
        mc.StressMDS(2, metric="euclidean", loss="ordinal", random_state=0),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
@pytest.mark.filterwarnings("ignore::mercer.mds.StressNotConverged")
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("starts", [1, None])
def test_isomds_is_not_lower(starts: int | None) -> None:
    model = mc.StressMDS(2, loss="ordinal", n_starts=starts, random_state=0).fit(swiss())
    theirs = SWISS["iso_stress_percent"] / 100.0
    assert model.stress_ <= theirs * (1.0 + 1e-6)
    d, delta = pdist(np.array(SWISS["iso_points"])), swiss()[np.triu_indices(47, 1)]
    assert reported("ordinal", d, delta) == pytest.approx(theirs, rel=1e-4)  # the same definition


@pytest.mark.parametrize("starts", [1, None])
def test_sammon_of_r_is_not_lower(starts: int | None) -> None:
    model = mc.StressMDS(2, loss="sammon", n_starts=starts, random_state=0).fit(swiss())
    assert model.stress_ <= SWISS["sammon_stress"] * (1.0 + 1e-9)
    d, delta = pdist(np.array(SWISS["sammon_points"])), swiss()[np.triu_indices(47, 1)]
    assert reported("sammon", d, delta) == pytest.approx(SWISS["sammon_stress"], rel=1e-9)


def test_the_squares_of_the_cities() -> None:
    delta = US[PAIRS]
    start = pdist(mc.ClassicalMDS(2).fit_transform(US))
    assert SStress(delta, np.ones(36)).reported(start) == pytest.approx(4.4046e11, rel=1.2e-5)
    model = mc.StressMDS(2, loss="sstress", n_starts=1).fit(US)
    assert model.stress_ == pytest.approx(3.6991e11, rel=1.4e-5)
    # The planted mistake: a sum over all ordered pairs, as the lecture has it, is twice as much.
    assert np.sum((cdist(model.embedding_, model.embedding_) ** 2 - US**2) ** 2) == pytest.approx(
        2.0 * model.stress_, rel=1e-9
    )


def test_the_lecture_calls_nonmetric_what_is_metric() -> None:
    """Only the ordinal loss sees no more than the order of the dissimilarities."""
    D = noisy(15)
    maps = {
        loss: [mc.StressMDS(2, loss=loss, n_starts=1).fit(d) for d in (D, D**1.5)]
        for loss in ("ordinal", "sstress")
    }
    plain, bent = (m.embedding_ for m in maps["sstress"])
    size = np.max(pdist(plain)) / np.max(pdist(bent))
    assert np.max(np.abs(pdist(plain) - size * pdist(bent))) > 0.05 * np.max(pdist(plain))
    for model in maps["ordinal"]:
        d, order = model.shepard_.distances, D[np.triu_indices(15, 1)]
        assert reported("ordinal", d, order) == pytest.approx(model.stress_, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("D", [US, swiss(), noisy(20)], ids=["cities", "swiss", "noise"])
def test_the_stress_is_that_of_the_returned_coordinates(loss: str, D: Array) -> None:
    model = mc.StressMDS(2, loss=loss, random_state=0).fit(D)
    d, delta = pdist(model.embedding_), D[np.triu_indices(len(D), 1)]
    assert model.stress_ == pytest.approx(reported(loss, d, delta), rel=1e-12, abs=1e-12)
    np.testing.assert_array_equal(model.shepard_.distances, d)
    np.testing.assert_allclose(model.shepard_.dissimilarities, delta, rtol=1e-14)
    assert model.stresses_.min() == pytest.approx(model.stress_, rel=1e-9)
    assert model.has_converged_


@pytest.mark.parametrize("loss", LOSSES)
def test_the_map_cannot_be_improved_nearby(loss: str) -> None:
    D = noisy(12)
    model = mc.StressMDS(2, loss=loss, random_state=0).fit(D)
    delta, rng = D[np.triu_indices(12, 1)], np.random.default_rng(0)
    for _ in range(200):
        moved = model.embedding_ + 10.0 ** rng.uniform(-4, -1) * rng.standard_normal((12, 2))
        assert reported(loss, pdist(moved), delta) >= model.stress_ * (1.0 - 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_are_differences(loss: str) -> None:
    rng = np.random.default_rng(1)
    delta, d, weights = rng.uniform(0.5, 2.0, (3, 20))
    f = loss_of(loss, delta, weights, "primary")
    slopes, step = f(d)[1].copy(), 1e-6  # the next call writes over them
    for i in range(20):
        e = step * np.eye(20)[i]
        assert (f(d + e)[0] - f(d - e)[0]) / (2 * step) == pytest.approx(slopes[i], abs=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_is_the_best_one(loss: str) -> None:
    rng = np.random.default_rng(1)
    delta, d = rng.uniform(0.5, 2.0, (2, 20))
    f = loss_of(loss, delta, np.ones(20), "primary")
    best = f.scale(d)
    if loss == "ordinal":  # the order has no scale
        assert np.sum((best * d) ** 2) == pytest.approx(20.0)
        return
    assert f(best * d)[0] < min(f(0.999 * best * d)[0], f(1.001 * best * d)[0])


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.floats(0.1, 10.0))
def test_both_forms_of_stress_agree_and_have_no_scale(seed: int, scale: float) -> None:
    d, delta = np.random.default_rng(seed).uniform(0.1, 2.0, (2, 15))
    expected = np.sqrt(1.0 - (d @ delta) ** 2 / ((d @ d) * (delta @ delta)))
    assert kruskal_stress(d, delta) == pytest.approx(expected, rel=1e-9)
    assert kruskal_stress(scale * d, delta) == pytest.approx(kruskal_stress(d, delta), rel=1e-12)
    assert 0.0 <= kruskal_stress(d, delta) <= 1.0
    assert kruskal_stress(d, d * scale) < 1e-15


def test_a_map_that_exists_is_found() -> None:
    D = cdist(PLANE, PLANE)
    for loss in LOSSES:
        model = mc.StressMDS(2, loss=loss, n_starts=1).fit(D)
        if loss == "ordinal":
            assert model.stress_ < 1e-6
            continue
        np.testing.assert_allclose(pdist(model.embedding_), pdist(PLANE), rtol=1e-6)


def test_the_map_lies_on_its_principal_axes() -> None:
    Y = mc.StressMDS(3, random_state=0).fit_transform(swiss())
    np.testing.assert_allclose(Y.mean(axis=0), 0.0, atol=1e-10)
    covariance = Y.T @ Y
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-7)
    assert np.all(np.diff(np.diag(covariance)) < 0)
    assert np.all(Y[np.argmax(np.abs(Y), axis=0), range(3)] > 0)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_disparities_are_the_nearest_in_order(ties: str) -> None:
    rng = np.random.default_rng(2)
    delta, d = np.round(rng.uniform(0.0, 5.0, 60)), rng.uniform(0.5, 2.0, 60)
    weights = rng.uniform(0.5, 2.0, 60)
    found = OrdinalStress(delta, weights, ties).disparities(d)
    keys = delta + (1e-6 * d if ties == "primary" else 0.0)
    expected = IsotonicRegression().fit(keys, d, sample_weight=weights).predict(keys)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    for low in np.unique(delta)[:-1]:
        assert np.max(found[delta == low]) <= np.min(found[delta > low]) + 1e-12
    if ties == "secondary":
        assert all(np.ptp(found[delta == level]) < 1e-12 for level in np.unique(delta))


def test_ties_that_may_be_broken_fit_better() -> None:
    D = np.round(noisy(20))
    primary, secondary = (
        mc.StressMDS(2, loss="ordinal", ties=ties, n_starts=1).fit(D)
        for ties in ("primary", "secondary")
    )
    assert primary.stress_ < secondary.stress_
    np.testing.assert_allclose(
        np.sum(primary.shepard_.distances**2), np.sum(primary.shepard_.dissimilarities**2)
    )


def test_missing_distances_are_left_out_and_found() -> None:
    D = cdist(PLANE, PLANE)
    hidden = np.triu(np.random.default_rng(0).random((30, 30)) < 0.5, 1)
    given_distances = np.where(hidden | hidden.T, np.nan, D)
    model = mc.StressMDS(2, random_state=0).fit(given_distances)
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), D, atol=1e-4)
    assert len(model.shepard_.distances) == 435 - hidden.sum()
    weights = np.where(np.isnan(given_distances), 0.0, 1.0)
    by_weights = mc.StressMDS(2, random_state=0).fit(
        np.where(weights > 0, D, 77.0 - 77.0 * np.eye(30)), pair_weight=weights
    )
    np.testing.assert_allclose(by_weights.embedding_, model.embedding_, atol=1e-12)


def test_a_copy_may_be_the_only_neighbour_that_is_known() -> None:
    D = cdist(PLANE[:6], PLANE[:6])
    rows = [0, 1, 2, 3, 4, 5, 5]
    D = D[np.ix_(rows, rows)]
    D[6, :5] = D[:5, 6] = np.nan  # known only to be where the point before it is
    model = mc.StressMDS(2, random_state=0).fit(D)
    np.testing.assert_allclose(pdist(model.embedding_[:6]), pdist(PLANE[:6]), atol=1e-4)
    assert np.linalg.norm(model.embedding_[5] - model.embedding_[6]) < 1e-4


def test_the_first_map_measures_missing_distances_along_known_ones() -> None:
    line = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    pairs = WeightedPairs(np.where(line <= 1.0, line, np.nan), None)
    np.testing.assert_allclose(pairs.unit * pairs.filled(), line, atol=1e-12)


def test_groups_between_which_nothing_is_known_are_named() -> None:
    D = cdist(PLANE[:7], PLANE[:7])
    apart = np.array([0, 0, 1, 0, 1, 2, 0])
    D[apart[:, None] != apart[None, :]] = np.nan
    with pytest.raises(
        mc.errors.InvalidInput, match=r"3 separate groups .* 0, 1, 3, 6 \| 2, 4 \| 5"
    ):
        mc.StressMDS(2).fit(D)


def test_a_missing_distance_hides_no_wrong_one_elsewhere() -> None:
    D = noisy(1100)
    D[0, 1] = D[1, 0] = np.nan
    D[600, 900] = D[900, 600] = -1.0
    with pytest.raises(mc.errors.InvalidInput, match="row 600, column 900"):
        mc.StressMDS(2).fit(D)


def test_pairs_that_weigh_more_fit_better() -> None:
    D = noisy(12)
    weights = np.ones((12, 12))
    weights[0, :], weights[:, 0] = 100.0, 100.0
    plain, heavy = (mc.StressMDS(2, random_state=0).fit(D, pair_weight=w) for w in (None, weights))
    gaps = [np.sum((cdist(m.embedding_, m.embedding_)[0] - D[0]) ** 2) for m in (plain, heavy)]
    assert gaps[1] < 0.2 * gaps[0]
    double = mc.StressMDS(2, random_state=0).fit(D, pair_weight=2.0 * np.ones((12, 12)))
    np.testing.assert_allclose(double.embedding_, plain.embedding_, atol=1e-5)


def test_starts_are_repeated_by_their_seed_and_more_are_not_worse() -> None:
    D = noisy(25)
    first, again, more = (
        mc.StressMDS(2, loss="sammon", n_starts=count, random_state=1).fit(D) for count in (3, 3, 8)
    )
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    assert len(first.stresses_) == 3
    assert more.stress_ <= first.stress_ * (1.0 + 1e-12)
    assert len(mc.StressMDS(2).fit(D).stresses_) == 4
    assert len(mc.StressMDS(2, max_iter=3000).fit(noisy(301)).stresses_) == 1


@settings(max_examples=20)
@given(st.permutations(range(9)), st.sampled_from(LOSSES))
def test_the_order_of_individuals_does_not_matter(order: list[int], loss: str) -> None:
    model = mc.StressMDS(2, loss=loss, n_starts=1, tol=1e-9).fit(US)
    turned = mc.StressMDS(2, loss=loss, n_starts=1, tol=1e-9).fit(US[np.ix_(order, order)])
    assert turned.stress_ == pytest.approx(model.stress_, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [1e-100, 1e50, 1e150])
def test_units_change_nothing_but_the_unit(loss: str, scale: float) -> None:
    model = mc.StressMDS(2, loss=loss, n_starts=1).fit(US)
    if loss == "sstress" and scale != 1e50:
        with pytest.raises(
            mc.errors.InvalidInput, match="fourth powers of dissimilarities of size"
        ):
            mc.StressMDS(2, loss=loss, n_starts=1).fit(US * scale)
        return
    scaled = mc.StressMDS(2, loss=loss, n_starts=1).fit(US * scale)
    np.testing.assert_allclose(scaled.embedding_ / scale, model.embedding_, rtol=1e-4, atol=0.1)
    if loss != "sstress":
        assert scaled.stress_ == pytest.approx(model.stress_, rel=1e-6)


def test_a_map_that_could_be_better_says_so() -> None:
    model = mc.StressMDS(2, loss="sammon", n_starts=1, max_iter=2)
    with pytest.warns(mc.mds.StressNotConverged, match="raise max_iter = 2"):
        model.fit(swiss())
    assert not model.has_converged_
    assert model.n_iter_ == 2


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    model = mc.StressMDS(2, n_starts=2, max_iter=50, random_state=0)
    model.fit(US, progress=lambda i, n: told.append((i, n)))
    assert told
    assert all(total == 100 for _, total in told)
    assert [i for i, _ in told] == sorted({i for i, _ in told})


@pytest.mark.parametrize("loss", LOSSES)
def test_small_and_trivial_data(loss: str) -> None:
    model = mc.StressMDS(2, loss=loss, random_state=0)
    with pytest.warns(mc.errors.NoInertia, match="one individual"):
        assert np.array_equal(model.fit_transform([[0.0]]), [[0.0, 0.0]])
    with pytest.warns(mc.errors.FewerAxes, match="there is 1 axis, fewer than the 2"):
        two = model.fit_transform([[0.0, 3.0], [3.0, 0.0]])
    assert pdist(two)[0] == pytest.approx(3.0, rel=1e-6)
    assert model.stress_ == pytest.approx(0.0, abs=1e-6)
    with pytest.warns(mc.errors.NoInertia, match="all 4 individuals coincide"):
        same = model.fit_transform(np.zeros((4, 4)))
    assert np.array_equal(same, np.zeros((4, 2)))
    assert model.stress_ == 0.0
    line = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    with pytest.warns(mc.errors.FewerAxes, match="fewer than the 5"):
        wide = mc.StressMDS(5, loss=loss, random_state=0).fit(line)
    assert wide.embedding_.shape == (3, 5)
    assert wide.stress_ < 1e-5


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateAxes")
def test_a_start_with_points_on_top_of_each_other_is_left() -> None:
    """Six points at equal distances: on two of their five equal axes some may lie together.

    Any two axes will do as a start, so rounding decides which; where the descent ends with an
    axis of rotation, the axes found are arbitrary too, and said to be.
    """
    D = 1.0 - np.eye(6)
    model = mc.StressMDS(2, n_starts=1).fit(D)
    assert np.min(pdist(model.embedding_)) > 0.1
    assert np.all(np.isfinite(model.embedding_))


def test_copies_of_a_point_stay_together() -> None:
    rows = [0, 1, 2, 2, 3, 4, 5, 5]
    D = noisy(6)[np.ix_(rows, rows)]
    model = mc.StressMDS(2, random_state=0).fit(D)
    gaps = cdist(model.embedding_, model.embedding_)
    assert gaps[2, 3] < 1e-3
    assert gaps[6, 7] < 1e-3
    with pytest.raises(
        mc.errors.InvalidInput, match="row 2, column 3: .*divides by the dissimilarities"
    ):
        mc.StressMDS(2, loss="sammon").fit(D)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (np.zeros((3, 2)), "square"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), r"\(0, 1\)"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "row 0, column 1"),
        (np.array([[0.0, np.nan], [1.0, 0.0]]), "row 0, column 1: missing"),
        (np.array([[0.0, np.inf], [np.inf, 0.0]]), "row 0, column 1.*inf"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "row 0, column 0"),
        ([[0.0, "far"], ["far", 0.0]], "'far'"),
    ],
    ids=str,
)
def test_what_are_no_distances_is_refused(D: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.StressMDS(2).fit(D)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "strain"},
        {"ties": "tertiary"},
        {"metric": "cosine"},
        {"n_components": 0},
        {"n_starts": 0},
        {"max_iter": 0},
        {"tol": 0.0},
    ],
    ids=str,
)
def test_parameters_outside_their_domain_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=next(iter(settings))):
        mc.StressMDS(**settings).fit(US)


@pytest.mark.parametrize(
    "weights", [np.ones((3, 3)), np.triu(np.ones((9, 9))), -np.ones((9, 9))], ids=str
)
def test_weights_of_pairs_are_checked(weights: Array) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="pair_weight"):
        mc.StressMDS(2).fit(US, pair_weight=weights)


def test_points_may_be_given_instead_of_distances() -> None:
    X = np.array(SWISS["X"])
    by_points = mc.StressMDS(2, metric="euclidean", random_state=0).fit(X)
    by_distances = mc.StressMDS(2, random_state=0).fit(swiss())
    np.testing.assert_array_equal(by_points.embedding_, by_distances.embedding_)
    np.testing.assert_array_equal(by_points.dissimilarity_matrix_, swiss())


def test_data_are_left_alone_and_types_kept() -> None:
    D = US.copy()
    weights = np.ones((9, 9))
    with untouched(D, weights):
        model = mc.StressMDS(2, random_state=0).fit(D, pair_weight=weights)
    assert model.get_feature_names_out().tolist() == ["stressmds0", "stressmds1"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    single = mc.StressMDS(2, random_state=0).fit(US.astype(np.float32))
    assert single.embedding_.dtype == np.float32
    d = pdist(single.embedding_)
    assert single.stress_ == pytest.approx(reported("stress", d, US[PAIRS]), rel=1e-12)
    assert np.array_equal(squareform(single.shepard_.dissimilarities).shape, (9, 9))


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("loss", ["stress", "sammon", "ordinal"])
def test_very_large_and_small_points_have_the_same_map(loss: str, scale: float) -> None:
    x = np.random.default_rng(3).standard_normal((12, 3))
    expected = mc.StressMDS(2, metric="euclidean", loss=loss, random_state=0).fit(x)
    model = mc.StressMDS(2, metric="euclidean", loss=loss, random_state=0).fit(scale * x)
    assert model.stress_ == pytest.approx(expected.stress_, rel=1e-6)
    np.testing.assert_allclose(model.embedding_ / scale, expected.embedding_, atol=1e-3)
    with pytest.raises(mc.errors.InvalidInput, match="fourth powers"):
        mc.StressMDS(2, metric="euclidean", loss="sstress", random_state=0).fit(scale * x)


def test_a_map_without_distances_and_one_with_equal_axes_are_told() -> None:
    with pytest.warns(mc.errors.NoInertia, match="all 6 individuals coincide"):
        mc.StressMDS(2).fit(np.zeros((6, 6)))
    square = np.array([[0.0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    with pytest.warns(mc.errors.DegenerateAxes, match="1 and 2"):
        mc.StressMDS(2, random_state=0).fit(square)


@pytest.mark.parametrize("loss", LOSSES)
def test_random_starts_are_dealt_to_individuals_and_not_to_rows(loss: str) -> None:
    D = noisy(25)
    order = np.random.default_rng(2).permutation(25)
    model = mc.StressMDS(2, loss=loss, random_state=0)
    expected, found = model.fit_transform(D)[order], model.fit_transform(D[np.ix_(order, order)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.max(np.abs(expected)))


# -- new individuals on a map


@pytest.mark.parametrize("loss", LOSSES)
def test_fitted_individuals_return_to_their_places(loss: str) -> None:
    D = noisy(25, 4)
    model = mc.StressMDS(2, loss=loss, random_state=0, tol=1e-9, max_iter=20_000).fit(D)
    found = model.transform(D)
    size = np.linalg.norm(model.embedding_) / 5.0
    moved = np.linalg.norm(found - model.embedding_, axis=1) / size
    assert np.max(moved) < 1e-5


@pytest.mark.parametrize("loss", LOSSES)
def test_new_individuals_of_a_plane_are_put_where_they_are(loss: str) -> None:
    new = np.random.default_rng(4).standard_normal((12, 2))
    model = mc.StressMDS(2, loss=loss, random_state=0, tol=1e-10).fit(cdist(PLANE, PLANE))
    found = model.transform(cdist(new, PLANE))
    expected = cdist(new, PLANE)
    if loss == "ordinal":  # whose map has an arbitrary size, and knows distances by their order
        scale = np.sum(cdist(found, model.embedding_) * expected) / np.sum(expected**2)
        gaps = cdist(found, model.embedding_) / scale - expected
        assert np.sqrt(np.mean(gaps**2)) < 0.05
    else:
        np.testing.assert_allclose(cdist(found, model.embedding_), expected, atol=1e-5)


def own_loss(loss: str, z: Array, fixed: Array, delta: Array) -> float:
    d = np.linalg.norm(z - fixed, axis=1)
    if loss == "sstress":
        return float(np.sum((d**2 - delta**2) ** 2))
    return float(np.sum((d - delta) ** 2 / (delta if loss == "sammon" else 1.0)))


@pytest.mark.parametrize("loss", ["stress", "sstress", "sammon"])
def test_no_place_of_a_grid_is_better_than_that_of_a_new_individual(loss: str) -> None:
    X = np.random.default_rng(0).standard_normal((20, 5))
    new = np.random.default_rng(1).standard_normal((8, 5))
    model = mc.StressMDS(2, loss=loss, random_state=0).fit(cdist(X, X))
    delta = cdist(new, X)
    ticks = np.linspace(-5.0, 5.0, 81)
    for z, row in zip(model.transform(delta), delta, strict=True):
        grid = [
            own_loss(loss, np.array([a, b]), model.embedding_, row) for a in ticks for b in ticks
        ]
        assert own_loss(loss, z, model.embedding_, row) <= min(grid)


def test_each_new_individual_is_placed_alone_and_missing_ones_are_left_out() -> None:
    X, new = PLANE, np.random.default_rng(4).standard_normal((5, 2))
    model = mc.StressMDS(2, random_state=0, tol=1e-10).fit(cdist(X, X))
    delta = cdist(new, X)
    alone = np.vstack([model.transform(row[None]) for row in delta])
    np.testing.assert_allclose(alone, model.transform(delta), atol=1e-9)
    holed = np.where(np.random.default_rng(0).random(delta.shape) < 0.5, np.nan, delta)
    np.testing.assert_allclose(model.transform(holed), alone, atol=1e-5)
    with pytest.raises(mc.errors.InvalidInput, match="row 1: no dissimilarity to a fitted"):
        model.transform([delta[0], np.full(30, np.nan)])
    with pytest.raises(mc.errors.InvalidInput, match="row 0, column 3"):
        model.transform([np.r_[delta[0, :3], -1.0, delta[0, 4:]]])
    with pytest.raises(mc.errors.InvalidInput, match="row 0, column 3"):
        model.transform([np.r_[delta[0, :3], np.inf, delta[0, 4:]]])


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_points_and_any_unit_are_placed_alike(unit: float) -> None:
    new = unit * np.random.default_rng(4).standard_normal((5, 2))
    by_points = mc.StressMDS(2, metric="euclidean", random_state=0, tol=1e-10).fit(unit * PLANE)
    D = cdist(unit * PLANE, unit * PLANE)
    by_distances = mc.StressMDS(2, random_state=0, tol=1e-10).fit(D)
    found = by_points.transform(new)
    np.testing.assert_allclose(found, by_distances.transform(cdist(new, unit * PLANE)), atol=1e-9)
    assert np.all(
        np.abs(cdist(found, by_points.embedding_) - cdist(new, unit * PLANE)) < 1e-5 * unit
    )


def test_a_map_knows_its_individuals_by_name_and_keeps_placing_them_once_stored(
    tmp_path: Path,
) -> None:
    data = mc.datasets.eurodist()
    model = mc.StressMDS(2, random_state=0).fit(data)
    assert tuple(model.individuals_.labels) == data.names
    frame = pd.DataFrame(data.values, index=data.names, columns=data.names)
    named = mc.StressMDS(2, random_state=0).fit(frame)
    assert tuple(named.individuals_.table()["individual"][::2]) == data.names
    model.save(tmp_path / "map.mercer")
    again = mc.load(tmp_path / "map.mercer")
    np.testing.assert_array_equal(again.transform(data.values), model.transform(data.values))
    assert tuple(again.individuals_.labels) == data.names
    assert mc.StressMDS(2, random_state=0).fit(data.values).individuals_.names is None
