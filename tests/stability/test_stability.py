"""Replicates against refits, ellipses against the truth, crossings against planted ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest
from sklearn.base import clone

import mercer as mc
from mercer import pictures
from mercer.check import Array
from mercer.cli import main
from mercer.page.study_sections import path_section
from mercer.pictures.scene import Lines
from mercer.pictures.scene import Markers as Marks
from mercer.pictures.spectra import CROSS
from mercer.reading.procrustes import match_axes, rotation
from mercer.spectrum import Limits, nearby
from mercer.stability import paths
from mercer.stability.bootstrapping import ties
from mercer.stability.reweighted import Refits, ReplicateSource, downdated, source_of


def sample(n: int, inertias: tuple[float, ...], p: int = 6, seed: int = 0) -> Array:
    deviations = np.sqrt(np.r_[inertias, np.full(p - len(inertias), 0.3)])
    drawn = np.random.default_rng(seed).standard_normal((n, p))
    drawn *= deviations
    return drawn


MODELS: list[Any] = [
    mc.PCA(2),
    mc.PCA(2, standardize=True),
    mc.PCA(2, standardize=True, column_weight=[1.0, 2.0, 0.5, 1.0, 1.0, 3.0]),
    mc.KernelPCA(2, kernel=mc.Gaussian(2.0)),
    mc.KernelPCA(2, kernel=mc.Laplacian("median")),
]


def refitted(model: Any, X: Array, weights: Array) -> Any:
    kernel = {"kernel": model.kernel_} if hasattr(model, "kernel_") else {}
    return type(model)(**{**model.get_params(deep=False), **kernel}).fit(X, sample_weight=weights)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_replicate_is_the_model_fitted_with_the_weights(model: Any) -> None:
    X = sample(25, (6.0, 3.0))
    given_weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    given_weights[4] = 0.0
    fit = refitted(model, X, given_weights) if not hasattr(model, "kernel") else None
    fit = fit or type(model)(**model.get_params(deep=False)).fit(X, sample_weight=given_weights)
    weights = np.random.default_rng(2).multinomial(25, np.full(25, 0.04)) * given_weights
    found = source_of(fit, None, 2).at(weights / weights.sum())
    expected = refitted(fit, X, weights)
    np.testing.assert_allclose(found.inertias, expected.inertias_, rtol=1e-9)
    scores = expected.transform(X)
    signs = np.sign(np.sum(found.scores * scores, axis=0))
    np.testing.assert_allclose(found.scores * signs, scores, atol=1e-7)
    # An axis has a cosine of at most 1 with another, and here of nearly 1 with its match.
    assert np.all(np.abs(found.cosines) <= 1.0 + 1e-9)


def test_a_replicate_with_the_weights_of_the_model_is_the_model() -> None:
    for model in MODELS:
        source = source_of(model, sample(20, (6.0, 3.0)), 2)
        found = source.at(source.weights)
        np.testing.assert_allclose(np.abs(found.cosines), np.eye(2), atol=1e-7)
        np.testing.assert_allclose(found.covariances[:2, :2], np.diag(source.inertias), atol=1e-9)


def test_a_constant_column_stays_out_of_a_standardised_cloud() -> None:
    X = sample(20, (6.0, 3.0))
    with_constant = np.column_stack([X, np.full(20, 0.1)])
    one = mc.bootstrap(mc.PCA(2, standardize=True), X, 20, random_state=0)
    with pytest.warns(mc.errors.ConstantColumns):
        two = mc.bootstrap(mc.PCA(2, standardize=True), with_constant, 20, random_state=0)
    np.testing.assert_allclose(two.covariances, one.covariances, atol=1e-9)


def test_large_models_are_refitted_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sample(40, (6.0, 3.0))
    model = mc.KernelPCA(3, kernel=mc.Gaussian(2.0)).fit(X)
    small = mc.bootstrap(model, replicates=20, random_state=0)
    monkeypatch.setattr(mc.KernelPCA, "limits", Limits(stored=10))
    assert isinstance(source_of(model, None, 2), Refits)
    large = mc.bootstrap(model, replicates=20, random_state=0)
    for name in ("covariances", "intervals", "cos2", "spaces", "means"):
        np.testing.assert_allclose(getattr(large, name), getattr(small, name), atol=1e-7)
    np.testing.assert_allclose(large.ties[0], small.ties[0], atol=1e-6)


def test_a_precomputed_matrix_is_resampled_as_its_kernel_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = sample(30, (6.0, 3.0))
    k = mc.Gaussian(2.0)
    expected = mc.bootstrap(mc.KernelPCA(2, kernel=k), X, 20, random_state=0)
    for stored in (3_000, 10):
        monkeypatch.setattr(mc.KernelPCA, "limits", Limits(stored=stored))
        found = mc.bootstrap(mc.KernelPCA(2, kernel="precomputed"), k(X), 20, random_state=0)
        np.testing.assert_allclose(found.covariances, expected.covariances, atol=1e-8)


def test_lanczos_steps_find_what_a_whole_decomposition_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = source_of(mc.KernelPCA(2, kernel=mc.Laplacian(2.0)), sample(60, (6.0, 3.0)), 2)
    weights = np.random.default_rng(0).multinomial(60, np.full(60, 1 / 60)) / 60
    whole = source.at(weights)
    monkeypatch.setattr(nearby, "DENSE", 1)
    steps = source.at(weights)
    np.testing.assert_allclose(steps.inertias, whole.inertias, rtol=1e-10)
    np.testing.assert_allclose(np.abs(steps.cosines), np.abs(whole.cosines), atol=1e-7)


@given(st.integers(0, 2**31), st.integers(1, 4))
def test_a_turned_configuration_is_turned_back(seed: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    F, w = rng.standard_normal((8, q)), rng.uniform(0.1, 1.0, 8)
    turn = np.linalg.qr(rng.standard_normal((q, q)))[0]
    np.testing.assert_allclose(rotation(F @ turn, F, w), turn.T, atol=1e-9)
    columns, signs = match_axes(turn)
    assert sorted(columns.tolist()) == list(range(q))
    assert np.all(signs * turn[np.arange(q), columns] >= 0.0)


def test_moments_are_those_of_the_replicates_drawn() -> None:
    X = sample(20, (6.0, 3.0))
    found = mc.bootstrap(mc.PCA(2), X, 30, random_state=5)
    source, rng = source_of(mc.PCA(2), X, 2), np.random.default_rng(5)
    aligned, ratios = [], []

    def error(scores: Array, inertias: Array, weights: Array) -> Array:
        spread: Array = weights @ (scores**2 - inertias) ** 2 / 20.0
        return np.sqrt(spread) / inertias

    for _ in range(30):
        weights = rng.multinomial(20, np.full(20, 0.05)) / 20.0
        one = mc.PCA(2).fit(X, sample_weight=weights)
        scores = one.transform(X)
        aligned.append(scores @ rotation(scores, source.scores, source.weights))
        gap = np.log(one.inertias_ / source.inertias)
        ratios.append(np.abs(gap) / error(scores, one.inertias_, weights))
    cloud = np.array(aligned)
    np.testing.assert_allclose(found.means, cloud.mean(axis=0), atol=1e-10)
    expected = np.array([np.cov(cloud[:, i].T) for i in range(20)]) * 20 / 19
    np.testing.assert_allclose(found.covariances, expected, atol=1e-10)
    reach = np.quantile(ratios, 0.95, axis=0) * error(
        source.scores, source.inertias, source.weights
    )
    ends = source.inertias * np.exp([-reach, reach])
    np.testing.assert_allclose(found.intervals, ends.T, atol=1e-10)


def test_intervals_of_inertias_hold_the_truth_nearly_at_the_stated_rate() -> None:
    # Percentile intervals of the second inertia hold it in 87 % of such samples.
    samples, hits = 200, np.zeros(2)
    for seed in range(samples):
        found = mc.bootstrap(mc.PCA(2), sample(50, (6.0, 3.0), seed=seed), 60, random_state=seed)
        low, high = found.intervals.T
        hits += (low <= [6.0, 3.0]) & (high >= [6.0, 3.0])
    for count in hits:  # 92 to 95 % in 1 000 samples
        assert binomtest(int(count), samples, 0.92).pvalue > 0.001 or count > 0.92 * samples


def test_inertias_of_individuals_that_are_all_as_far_out_have_an_interval() -> None:
    x = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 15, axis=0)
    found = mc.bootstrap(mc.PCA(1), x, 40, axes=1, random_state=0)
    assert np.all(np.isfinite(found.intervals))
    assert found.intervals[0, 0] < 1.0 < found.intervals[0, 1]


def test_ellipses_hold_the_truth_at_the_stated_rate() -> None:
    # One individual of each sample: the answers are independent, and their number binomial.
    samples, hits, naive = 150, 0, 0
    for seed in range(samples):
        X = sample(60, (6.0, 3.0), seed=seed)
        found = mc.bootstrap(mc.PCA(2), X, 60, random_state=seed)
        truth = X[:, :2]
        turned = truth @ rotation(truth, found.coordinates, np.full(60, 1 / 60))
        hits += int(found.covers(turned)[0])
        naive += int(found.covers(found.coordinates + 0.6 * (turned - found.coordinates))[0])
    interval = binomtest(hits, samples).proportion_ci(0.999, method="wilson")
    assert interval.low <= 0.95 <= interval.high, hits / samples
    assert naive > hits  # shorter distances are covered more often: the count is not constant


def test_a_degenerate_pair_is_reported_as_a_plane() -> None:
    together = sum(
        (1, 2) in mc.bootstrap(mc.PCA(2), sample(80, (3.0, 3.0), seed=s), 60, random_state=s).planes
        for s in range(40)
    )
    apart = sum(
        (1, 2) in mc.bootstrap(mc.PCA(2), sample(80, (9.0, 3.0), seed=s), 60, random_state=s).planes
        for s in range(20)
    )
    assert together >= 33  # at the level 0.95, 38 are expected and fewer than 33 have p < 0.005
    assert apart <= 1
    found = mc.bootstrap(mc.PCA(2), sample(80, (3.0, 3.0), seed=1), 60, random_state=1)
    text = str(found)
    assert "only the plane they span means something" in text
    assert "axis 1:" not in text


def test_the_test_of_a_tie_is_calibrated() -> None:
    # (C_kk - C_ll, 2 C_kl) is normal around 0: the p-value of the gap is uniform.
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(400):
        a, b = rng.standard_normal(2)
        gap = np.hypot(a, b)
        draws = rng.standard_normal((200, 2))
        C = np.zeros((200, 2, 2))
        C[:, 0, 0], C[:, 0, 1] = draws[:, 0], 0.5 * draws[:, 1]
        p_values.append(ties(np.array([gap, 0.0]), C, 1e6)[0])
    shares = [np.mean(np.array(p_values) < q) for q in (0.05, 0.25, 0.5)]
    np.testing.assert_allclose(shares, [0.05, 0.25, 0.5], atol=0.06)


def test_an_end_of_the_space_that_is_not_certain_is_said() -> None:
    found = mc.bootstrap(mc.PCA(2), sample(80, (9.0, 3.0, 3.0)), 60, random_state=0)
    assert "where the space of the first 2 axes ends is not certain" in str(found)


def test_the_same_seed_draws_the_same_and_tables_have_the_numbers() -> None:
    X = sample(30, (6.0, 3.0))
    one, two = (mc.bootstrap(mc.PCA(3), X, 40, axes=3, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(one.covariances, two.covariances)
    rows, axes = one.table(), one.axes_table()
    assert rows.rows == 30
    np.testing.assert_allclose(rows["error2"] ** 2, one.covariances[:, 1, 1])
    assert axes["axis"].tolist() == [1, 2, 3]
    assert np.all(axes["lower"] < axes["inertia"] * 1.5)
    assert np.all(np.diff(one.intervals, axis=1) > 0)


def test_intervals_and_cosines_shrink_with_n() -> None:
    few, many = (
        mc.bootstrap(mc.PCA(2), sample(n, (6.0, 3.0)), 60, random_state=0) for n in (30, 1000)
    )
    assert np.all(np.diff(many.intervals) < 0.5 * np.diff(few.intervals))
    assert np.all(many.cos2 > few.cos2)
    assert np.all(many.cos2 > 0.98)


def test_the_jackknife_is_the_model_without_each_individual() -> None:
    X = np.vstack([sample(15, (6.0, 2.0)), [[0.0, 12.0, 0.0, 0.0, 0.0, 0.0]]])
    for model in (mc.PCA(2), mc.KernelPCA(2, kernel=mc.Gaussian(3.0))):
        found = mc.jackknife(model, X)
        fit = type(model)(**model.get_params(deep=False)).fit(X)
        for i in (0, 15):
            expected = fit.without([i])
            np.testing.assert_allclose(found.inertias[i], expected.inertias_, rtol=1e-9)
        each = found.inertias
        errors = np.sqrt(15 / 16 * np.sum((each - each.mean(axis=0)) ** 2, axis=0))
        np.testing.assert_allclose(found.errors, errors)
    assert int(mc.jackknife(mc.PCA(2), X).order[0]) == 15
    assert mc.jackknife(mc.PCA(2), X).table().rows == 16


def test_the_jackknife_of_a_mean_is_its_variance() -> None:
    # One variable: a coordinate is x - mean, and the jackknife covariance is exactly var/n.
    x = np.random.default_rng(0).standard_normal((12, 1)) + 3.0
    found = mc.jackknife(mc.PCA(1), x)
    np.testing.assert_allclose(found.covariances[:, 0, 0], np.var(x, ddof=1) / 12, rtol=1e-9)


def test_a_jackknife_is_told_by_who_turns_each_axis_most() -> None:
    X = np.vstack([sample(30, (6.0, 3.0), p=3), [[0.0, 20.0, 20.0]]])
    names = [f"row{i}" for i in range(31)]
    found = replace(mc.jackknife(mc.PCA(2), X), names=tuple(names))
    first, *lines = str(found).split("\n")
    assert first.startswith("31 individuals, each left out once: without row30")
    for k, line in enumerate(lines):
        most = int(np.argmax(found.angles[:, k]))
        assert line.startswith(f"axis {k + 1}: inertia ")
        assert line.endswith(f"{found.angles[most, k]:.2g}°, without row{most}")
    assert "without individual 30" in str(replace(found, names=None))
    np.testing.assert_allclose(found.model_inertias, mc.PCA(2).fit(X).inertias_)


def test_individuals_without_a_weight_are_projected_and_never_drawn() -> None:
    X = sample(20, (6.0, 3.0))
    w = np.ones(20)
    w[3] = 0.0
    model = mc.PCA(2).fit(X, sample_weight=w)
    found = mc.jackknife(model)
    assert np.isnan(found.influences[3])
    assert np.all(np.isfinite(np.delete(found.influences, 3)))
    assert np.all(np.isfinite(mc.bootstrap(model, replicates=20, random_state=0).covariances))


def two_lines(n: int = 30) -> tuple[Array, mc.Kernel]:
    """Two uncorrelated centred variables, and the sum of their kernels, the second weighted."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, n))
    a -= a.mean()
    b -= b.mean()
    b -= a * (a @ b) / (a @ a)
    X = np.column_stack([2.0 * a / a.std(), b / b.std()])  # variances 4 and 1
    first, second = mc.kernels.FeatureMap(first_column), mc.kernels.FeatureMap(second_column)
    return X, first + 1.0 * second


def first_column(x: Any) -> Array:
    return np.asarray(x)[:, :1]


def second_column(x: Any) -> Array:
    return np.asarray(x)[:, 1:]


@pytest.mark.parametrize("order", [1, -1])
def test_a_planted_crossing_is_found_where_it_is(order: int) -> None:
    X, kernel = two_lines()
    weights = [1.0, 2.0, 3.0, 3.9, 4.2, 6.0, 9.0][::order]
    path = mc.parameter_path(mc.KernelPCA(2, kernel=kernel), X, "kernel__1__weight", weights)
    (crossing,) = path.crossings  # 4 = 1·weight
    assert crossing.axes == (1, 2)
    assert sorted(crossing.between) == [3.9, 4.2]
    assert crossing.at == pytest.approx(4.0, abs=2e-2)
    assert crossing.is_clear
    assert str(path).endswith("axes 1 and 2 change places near 4.002")
    of_first = 0 if order == 1 else 1
    np.testing.assert_allclose(path.inertias[:, of_first], 4.0)  # the axis is followed
    np.testing.assert_allclose(path.inertias[:, 1 - of_first], weights)
    np.testing.assert_array_equal(path.ranks[0], [1, 2])
    np.testing.assert_array_equal(path.ranks[-1], [2, 1])
    # The coordinates on a followed axis keep their signs and do not jump.
    np.testing.assert_allclose(
        path.coordinates[:, :, of_first], np.tile(path.coordinates[0, :, of_first], (7, 1))
    )
    assert path.unclear == ()


def test_a_path_without_a_crossing_flags_none() -> None:
    X, kernel = two_lines()
    path = mc.parameter_path(
        mc.KernelPCA(2, kernel=kernel), X, "kernel__1__weight", [0.5, 1.0, 2.0, 3.5]
    )
    assert path.crossings == ()
    assert str(path).endswith("no axes change places")
    np.testing.assert_allclose(path.totals, [4.5, 5.0, 6.0, 7.5])


def test_a_crossing_at_a_value_of_the_path_is_found_once() -> None:
    inertias = np.array([[4.0, 2.0], [3.0, 3.0], [2.0, 4.0]])
    found = paths._crossings(np.array([0.0, 1.0, 2.0]), inertias, np.ones((3, 2)))
    assert [(c.axes, c.at) for c in found] == [((1, 2), 1.0)]


def test_an_axis_that_enters_from_beyond_is_a_crossing_too() -> None:
    X, kernel = two_lines()
    path = mc.parameter_path(
        mc.KernelPCA(1, kernel=kernel), X, "kernel__1__weight", [2.0, 3.0, 5.0, 6.0]
    )
    assert [c.axes for c in path.crossings] == [(1, 2)]
    assert path.inertias.shape == (4, 1)
    np.testing.assert_allclose(path.inertias[:, 0], 4.0)


def test_steps_too_long_to_follow_are_said() -> None:
    X = sample(40, (1.0, 1.0), p=2)
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0))
    path = mc.parameter_path(model, X, "kernel__bandwidth", [0.02, 5.0])
    assert path.unclear == ((0.02, 5.0),)
    assert "take smaller steps" in str(path)


def test_a_path_is_aligned_as_a_whole_and_tabulated() -> None:
    X = sample(30, (2.0, 1.0), p=3)
    model = mc.KernelPCA(3, kernel="gaussian(bandwidth=1.0)")
    path = mc.parameter_path(model, X, "kernel__bandwidth", np.geomspace(0.5, 4.0, 8))
    turned = path.aligned()
    jumps = np.linalg.norm(np.diff(turned, axis=0), axis=(1, 2))
    assert np.all(jumps <= np.linalg.norm(np.diff(path.coordinates, axis=0), axis=(1, 2)) + 1e-9)
    for i in range(8):  # a rotation keeps distances to the barycentre
        np.testing.assert_allclose(
            np.sum(turned[i] ** 2, axis=1), np.sum(path.coordinates[i] ** 2, axis=1)
        )
    table = path.table()
    assert table.rows == 24
    assert table["kernel__bandwidth"][0] == 0.5
    one = mc.KernelPCA(5, kernel=mc.Gaussian(float(path.values[3]))).fit(X)
    np.testing.assert_allclose(path.inertias[3], one.inertias_[path.ranks[3] - 1], rtol=1e-8)


def test_a_fitted_model_brings_its_individuals_and_weights() -> None:
    X, w = sample(30, (2.0, 1.0), p=3), np.arange(1.0, 31.0)
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(X, sample_weight=w)
    values = [0.5, 1.0, 2.0]
    path = mc.parameter_path(model, None, "kernel__bandwidth", values)
    given = mc.parameter_path(model, X, "kernel__bandwidth", values, sample_weight=w)
    np.testing.assert_allclose(path.inertias, given.inertias, rtol=1e-12)
    plain = mc.parameter_path(model, X, "kernel__bandwidth", values)
    assert not np.allclose(path.inertias, plain.inertias, rtol=1e-3)
    assert path.own == model.kernel_.bandwidth  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="not fitted"):
        mc.parameter_path(
            mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), None, "kernel__bandwidth", values
        )


def test_bandwidths_of_columns_are_multiplied() -> None:
    X = sample(30, (2.0, 1.0), p=3)
    units = np.array([0.5, 2.0, 1.0])
    scaled = mc.KernelPCA(2, kernel=mc.Gaussian(tuple(1.5 * units)))
    path = mc.parameter_path(scaled, X, "kernel__bandwidth", [0.5, 1.0, 4.0])
    plain = mc.KernelPCA(2, kernel=mc.Gaussian(1.0))
    same = mc.parameter_path(plain, X / units, "kernel__bandwidth", [0.75, 1.5, 6.0])
    np.testing.assert_allclose(path.inertias, same.inertias, rtol=1e-9)
    assert path.is_factor
    assert path.own == 1.0
    assert not same.is_factor
    assert str(path).startswith("bandwidth from 0.5 to 4 times that of the model in 3 values")


def test_pictures_draw_what_was_found() -> None:
    X = sample(60, (6.0, 3.0))
    found = mc.bootstrap(mc.PCA(2), X, 40, random_state=0)
    panel = pictures.bootstrap.describe(found, labels=0)
    ellipses = [mark for mark in panel.marks if isinstance(mark, Lines)]
    assert len(ellipses) == 24  # of 60 individuals
    line = np.column_stack([ellipses[0].x, ellipses[0].y])
    centre = line[:-1].mean(axis=0)
    i = int(np.argmin(np.linalg.norm(found.coordinates - centre, axis=1)))
    gaps = line - found.coordinates[i]
    sizes = np.sum(gaps * np.linalg.solve(found.covariances[i], gaps.T).T, axis=1)
    np.testing.assert_allclose(sizes, found.radius2(2))
    flat = replace(found, ties=np.array([0.5, 0.0]))
    assert any(
        "may have equal inertias" in note for note in pictures.bootstrap.describe(flat).notes
    )
    X, kernel = two_lines()
    path = mc.parameter_path(
        mc.KernelPCA(2, kernel=kernel), X, "kernel__1__weight", [2.0, 3.0, 5.0, 9.0]
    )
    drawn = pictures.parameter_path.describe(path).marks
    (ring,) = [m for m in drawn if isinstance(m, Marks) and m.name == CROSS]
    assert ring.x[0] == path.crossings[0].at
    assert 0.4 < ring.y[0] < 0.6
    assert path_section(path).sentences[-1].startswith("Axes 1 and 2 change places")


def test_the_command_line_draws_replicates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "people.csv"
    rows = [",".join(f"{v:.4f}" for v in row) for row in sample(30, (6.0, 3.0), p=3)]
    file.write_text("\n".join(["a,b,c", *rows]))
    asked = [str(file), "--method", "pca", "--no-scale", "--bootstrap", "30"]
    assert main(["fit", *asked, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)["bootstrap"]
    assert value["replicates"] == 30
    first = value["axes"][0]
    assert first["lower"] < first["upper"]
    assert main(["fit", *asked]) == 0
    assert "axis 1: inertia" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", *asked, "--out", str(page), "--permutations", "0"]) == 0
    assert "Would the axes be there again?" in page.read_text()
    assert main(["fit", str(file), "--bootstrap", "3"]) == 2
    assert "--bootstrap must be a whole number" in capsys.readouterr().err
    distances = tmp_path / "distances.csv"
    distances.write_text("0,1,2\n1,0,1\n2,1,0\n")
    assert main(["fit", str(distances), "--no-header", "--method", "mds", "--bootstrap", "30"]) == 2
    assert "distances have no such replicates" in capsys.readouterr().err


def test_wrong_arguments_are_named() -> None:
    X = sample(20, (6.0, 3.0))
    with pytest.raises(mc.errors.InvalidParameter, match="replicates"):
        mc.bootstrap(mc.PCA(2), X, 5)
    with pytest.raises(mc.errors.InvalidParameter, match="confidence"):
        mc.bootstrap(mc.PCA(2), X, confidence=1.0)
    with pytest.raises(mc.errors.InvalidInput, match="2 axes, fewer than the 3"):
        mc.bootstrap(mc.PCA(2), X, axes=3)
    with pytest.raises(mc.errors.InvalidInput, match="PCA or a KernelPCA"):
        mc.bootstrap(mc.ClassicalMDS(), X)
    with pytest.raises(mc.errors.InvalidInput, match="at least 3"):
        mc.jackknife(mc.PCA(1), X[:2])
    with pytest.raises(ValueError, match="not fitted"):
        mc.bootstrap(mc.PCA(2))
    model = mc.KernelPCA(1, kernel=mc.Gaussian(5.0), method="nystrom", landmarks=18)
    with pytest.raises(mc.errors.InvalidInput, match="approximation on landmarks"):
        mc.bootstrap(model, X)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.0))
    with pytest.raises(
        mc.errors.InvalidParameter, match="those of its kernel are kernel__bandwidth"
    ):
        mc.parameter_path(model, X, "kernel__width", [1.0, 2.0])
    with pytest.raises(mc.errors.InvalidParameter, match="at least 2 values"):
        mc.parameter_path(model, X, "kernel__bandwidth", [1.0])


def _clouds() -> dict[str, tuple[Any, int]]:
    """Return fitted models, and how many of their axes to follow."""
    rng = np.random.default_rng(7)
    X, w = rng.standard_normal((24, 5)), rng.random(24)
    w[::5] = 0.0
    square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] * 4)
    alone = np.column_stack([X, np.r_[9.0, np.zeros(23)]])  # an axis that one individual makes
    kernel = mc.KernelPCA(3, kernel=mc.Gaussian(2.0))
    return {
        "table": (mc.PCA().fit(X), 5),
        "weights": (mc.PCA().fit(X, sample_weight=w), 3),
        "kernel": (clone(kernel).fit(X, sample_weight=w), 3),
        "repeated": (clone(kernel).fit(np.repeat(X[:8], 3, axis=0)), 2),
        "alone": (mc.PCA().fit(alone), 3),
        "square": (mc.PCA().fit(square), 2),
        "few": (mc.PCA().fit(X[:5]), 3),
    }


@pytest.mark.parametrize("name", list(_clouds()))
def test_axes_without_an_individual_are_those_of_a_decomposition_anew(name: str) -> None:
    model, axes = _clouds()[name]
    source = source_of(model, None, axes)
    active = np.flatnonzero(source.weights > 0)
    whole, size = source.inertias.sum(), np.abs(source.scores).max()
    for ours, anew in zip(
        source.without(active), ReplicateSource.without(source, active), strict=True
    ):
        np.testing.assert_allclose(ours.inertias, anew.inertias, atol=1e-13 * whole)
        np.testing.assert_allclose(ours.covariances, anew.covariances, atol=1e-13 * whole)
        np.testing.assert_allclose(np.abs(ours.cosines), np.abs(anew.cosines), atol=1e-11)
        first, second = (
            r.scores @ rotation(r.scores, source.scores, source.weights) for r in (ours, anew)
        )
        np.testing.assert_allclose(first, second, atol=1e-11 * size)


@given(
    arrays(np.float64, 5, elements=st.floats(0.0, 1.0)),
    arrays(np.float64, (2, 5), elements=st.floats(-1.0, 1.0)),
)
def test_downdates_solve_the_eigenvalue_problem(values: Array, points: Array) -> None:
    d = np.sort(values)[::-1] + 0.1
    found, vectors = downdated(d, points, 5)
    for z, mu, v in zip(points, found, vectors, strict=True):
        matrix = np.diag(d) - np.outer(z, z)
        np.testing.assert_allclose(mu, np.linalg.eigvalsh(matrix)[::-1], atol=1e-13 * (1 + z @ z))
        np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1.0, atol=1e-12)
        np.testing.assert_allclose(matrix @ v, v * mu, atol=1e-11 * (1 + z @ z))


def test_an_axis_that_one_individual_makes_is_gone_without_it() -> None:
    others = np.random.default_rng(3).standard_normal((20, 3))
    x = np.zeros((21, 4))
    x[0, 3], x[1:, :3] = 12.0, others - others.mean(axis=0)
    found = mc.jackknife(mc.PCA(2), x)
    assert found.order[0] == 0
    assert np.max(found.angles[0]) == pytest.approx(90.0)


def test_three_individuals_have_one_axis_to_judge() -> None:
    x = np.array([[0.0, 0.0], [3.0, 1.0], [4.0, 5.0]])
    assert mc.jackknife(mc.PCA(), x).angles.shape == (3, 1)
    assert len(mc.bootstrap(mc.PCA(), x, 20, random_state=0).inertias) == 1
    for resample in (mc.jackknife, mc.bootstrap):
        with pytest.raises(mc.errors.InvalidInput, match="when one is left out"):
            resample(mc.PCA(), x, axes=2)


def test_the_number_of_axes_has_no_path() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="n_components"):
        mc.parameter_path(mc.KernelPCA(2), np.eye(4), "n_components", [1, 2])
