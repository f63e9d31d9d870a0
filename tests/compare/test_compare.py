"""Kernels against kernels: direct formulas, exact permutation laws, calibration, and inputs."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import replace
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array
from mercer.compare import sides
from mercer.compare.products import Stored, Tiled, moments
from mercer.compare.sides import Limits, centring
from mercer.resampling import Resampling

GAUSS = mc.Gaussian(bandwidth=1.0)
OTHER = mc.Laplacian(bandwidth=2.0)


def data(seed: int, n: int = 30, p: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    return x, 0.5 * x[:, :2] + rng.normal(size=(n, 2))


def direct(K: Array, L: Array, w: Array) -> float:
    """Σ wᵢwⱼ (HKHᵀ)ᵢⱼ (HLHᵀ)ᵢⱼ as it is written."""
    H = np.eye(len(w)) - np.outer(np.ones(len(w)), w)
    return float(np.sum(np.outer(w, w) * (H @ K @ H.T) * (H @ L @ H.T).conj()).real)


def uniform(n: int) -> Array:
    return np.full(n, 1.0 / n)


# -- the formulas


@pytest.mark.parametrize("is_weighted", [False, True])
def test_alignment_and_hsic_are_their_formulas(is_weighted: bool) -> None:
    x, y = data(0)
    s = np.random.default_rng(1).random(30) if is_weighted else None
    w = uniform(30) if s is None else s / s.sum()
    K, L = GAUSS(x), OTHER(y)
    product = direct(K, L, w)
    cosine = product / np.sqrt(direct(K, K, w) * direct(L, L, w))
    said: dict[str, Any] = {"permutations": 0, "sample_weight": s}
    assert mc.hsic(GAUSS, OTHER, x, y, **said).statistic == pytest.approx(product, rel=1e-12)
    assert mc.alignment(GAUSS, OTHER, x, y, **said).statistic == pytest.approx(cosine, rel=1e-12)


def test_the_biased_criterion_is_the_trace_over_n_squared() -> None:
    x, y = data(2, 12)
    K, L = GAUSS(x), OTHER(y)
    H = np.eye(12) - 1.0 / 12
    expected = np.trace(K @ H @ L @ H) / 144
    assert mc.hsic(GAUSS, OTHER, x, y, permutations=0).statistic == pytest.approx(expected)


def test_the_unbiased_criterion_is_the_mean_over_all_quadruples() -> None:
    x, y = data(3, 7)
    K, L = GAUSS(x), OTHER(y)
    terms = [
        K[i, j] * (L[i, j] + L[q, r] - 2.0 * L[i, q])
        for i, j, q, r in itertools.permutations(range(7), 4)
    ]
    found = mc.hsic(GAUSS, OTHER, x, y, estimator="unbiased", permutations=0)
    assert found.statistic == pytest.approx(np.sum(terms) * factorial(3) / factorial(7))
    assert found.measure == "unbiased HSIC"


def test_hsic_of_distances_is_the_distance_covariance() -> None:
    x, y = data(4)
    A, B = (np.linalg.norm(z[:, None] - z, axis=2) for z in (x, y))
    A, B = (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean() for D in (A, B))
    k = mc.kernels.NegativeDistance(exponent=1.0)
    assert mc.hsic(k, k, x, y, permutations=0).statistic == pytest.approx(np.mean(A * B))


@pytest.mark.parametrize("columns", [2, 50])
def test_rv_is_its_formula_on_either_side(columns: int) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(40, columns)), rng.normal(size=(40, 3))
    s = rng.random(40)
    w = s / s.sum()
    X, Y = x - w @ x, y - w @ y
    S = [a.T @ (w[:, None] * b) for a, b in ((X, Y), (X, X), (Y, Y))]
    expected = np.sum(S[0] ** 2) / np.sqrt(np.sum(S[1] ** 2) * np.sum(S[2] ** 2))
    found = mc.rv(x, y, sample_weight=s, permutations=0)
    assert found.statistic == pytest.approx(expected, rel=1e-12)


def test_rv_of_tables_far_from_zero_keeps_its_digits() -> None:
    x, y = data(6, 200)
    expected = mc.rv(x, y, permutations=0).statistic
    # The data themselves lose seven digits of sixteen there.
    assert mc.rv(x + 1e7, y - 1e7, permutations=0).statistic == pytest.approx(expected, abs=1e-8)
    mixed = mc.alignment("linear()", GAUSS, x, y, permutations=0).statistic
    far = mc.alignment("linear()", GAUSS, x + 1e7, y, permutations=0).statistic
    assert far == pytest.approx(mixed, abs=1e-8)


@pytest.mark.parametrize("is_unbiased", [False, True])
def test_tiles_matrices_and_features_give_the_same(is_unbiased: bool) -> None:
    x, y = data(7, 150)
    how = centring(None, 150, is_unbiased=is_unbiased)
    grams = [
        mc.Gram(GAUSS, x, tile=16),
        mc.Gram(OTHER, y, tile=16),
        mc.Gram(mc.Linear(), x, tile=16),
    ]
    stored, tiled = Stored([how.dense(g) for g in grams], how), Tiled([how.of(g) for g in grams])
    np.testing.assert_allclose(tiled.matrix(), stored.matrix(), rtol=1e-12)
    move = Resampling(1, 0).generator(0).permutation(150)
    assert tiled.permuted(0, 1)(move) == pytest.approx(stored.permuted(0, 1)(move), rel=1e-11)


def test_complex_kernels_have_real_alignments() -> None:
    rng = np.random.default_rng(8)
    F = rng.normal(size=(9, 2)) + 1j * rng.normal(size=(9, 2))
    K, L = F @ F.conj().T, np.asarray(GAUSS(rng.normal(size=(9, 1))))
    w = uniform(9)
    expected = direct(K, L, w) / np.sqrt(direct(K, K, w) * direct(L, L, w))
    assert mc.alignment(K, L, permutations=0).statistic == pytest.approx(expected)
    with pytest.raises(mc.errors.InvalidInput, match="real matrices"):
        mc.alignment(K, L, test="pearson")


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-6, 1e6))
def test_an_alignment_is_a_cosine(seed: int, scale: float) -> None:
    x, y = data(seed, 8)
    here = mc.alignment(GAUSS, OTHER, x, y, permutations=0).statistic
    assert -1e-12 <= here <= 1.0 + 1e-12
    assert mc.alignment(OTHER, GAUSS, y, x, permutations=0).statistic == pytest.approx(here)
    assert mc.alignment(GAUSS, OTHER * scale, x, y, permutations=0).statistic == pytest.approx(here)
    assert mc.alignment(GAUSS, GAUSS, x, permutations=0).statistic == pytest.approx(1.0)
    rows = np.random.default_rng(seed).permutation(8)
    moved = mc.alignment(GAUSS, OTHER, x[rows], y[rows], permutations=0).statistic
    assert moved == pytest.approx(here, rel=1e-9)


def test_a_weight_of_two_is_a_row_repeated() -> None:
    x, y = data(9, 10)
    rows = np.r_[0, 0, np.arange(1, 10)]
    s = np.r_[2.0, np.ones(9)]
    for measure in (mc.alignment, mc.hsic):
        weighted = measure(GAUSS, OTHER, x, y, sample_weight=s, permutations=0).statistic
        repeated = measure(GAUSS, OTHER, x[rows], y[rows], permutations=0).statistic
        assert weighted == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e-90, 1e90, 1e150])
def test_angles_have_no_unit(unit: float) -> None:
    x, y = data(9, 20)
    for measure in (mc.rv, lambda a, b, **said: mc.alignment("linear()", GAUSS, a, b, **said)):
        expected = measure(x, y, permutations=19, random_state=0)
        found = measure(unit * x, y, permutations=19, random_state=0)
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert found.p_value == expected.p_value
    both = mc.compare_kernels({"a": ("linear()", unit * x), "b": (GAUSS, y)}, permutations=0)
    expected = mc.alignment("linear()", GAUSS, x, y, permutations=0)
    assert both.alignments[0, 1] == pytest.approx(expected.statistic, rel=1e-9)


# -- permutations


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_null_is_the_statistic_of_permuted_points(is_weighted: bool) -> None:
    x, y = data(10, 150)  # more rows than are permuted at a time
    s = np.random.default_rng(0).random(150) if is_weighted else None
    said: dict[str, Any] = {"permutations": 20, "random_state": 3, "test": "permutation"}
    found = mc.hsic(GAUSS, OTHER, x, y, sample_weight=s, **said)
    orders = [Resampling(20, 3).generator(r).permutation(150) for r in range(20)]
    again = [
        mc.hsic(GAUSS, OTHER, x, y[order], sample_weight=s, permutations=0).statistic
        for order in orders
    ]
    np.testing.assert_allclose(found.null, again, rtol=1e-10)
    assert found.p_value == (1 + np.sum(found.null >= found.statistic)) / 21
    assert (found.permutations, found.seed) == (20, 3)


def test_multipliers_are_the_weighted_sum_with_a_normal_number_for_each() -> None:
    x, y = data(10, 150)
    w = np.random.default_rng(0).random(150)
    w /= w.sum()
    H = np.eye(150) - np.outer(np.ones(150), w)
    K, L = (H @ k(z) @ H.T for k, z in ((GAUSS, x), (OTHER, y)))
    found = mc.hsic(GAUSS, OTHER, x, y, sample_weight=w, permutations=20, random_state=3)
    for r in range(20):
        e = w * Resampling(20, 3).generator(r).standard_normal(150) / (1.0 - w)
        assert found.null[r] == pytest.approx(e @ (K * L) @ e, rel=1e-10)
    assert (found.test, found.how) == ("multiplier", "20 draws of multipliers")
    asked = mc.hsic(GAUSS, OTHER, x, y, sample_weight=w, permutations=5, test="permutation")
    assert "exact where weights have nothing to do with the second" in asked.how


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_tiles_multiply_as_matrices_in_memory(estimator: str) -> None:
    x, y = data(10, 90)
    how = centring(None, 90, is_unbiased=estimator == "unbiased")
    grams = [mc.Gram(GAUSS, x, tile=32), mc.Gram(OTHER, y, tile=32)]
    tiled, stored = Tiled([how.of(g) for g in grams]), Stored([how.dense(g) for g in grams], how)
    e = np.random.default_rng(1).normal(size=90)
    assert tiled.multiplied(0, 1)(e) == pytest.approx(stored.multiplied(0, 1)(e), rel=1e-10)


def test_features_multiply_as_the_matrices_they_stand_for() -> None:
    x, y = data(10, 90)
    w = np.random.default_rng(0).random(90)
    said: dict[str, Any] = {"sample_weight": w, "permutations": 9, "random_state": 0}
    found = mc.alignment("linear()", "linear()", x, y, **said)  # features
    dense = mc.alignment(x @ x.T, y @ y.T, **said)
    np.testing.assert_allclose(found.null, dense.null, rtol=1e-9)


def on_both(x: Array, y: Array) -> Array:
    return (x * y) ** 2 + 1e-3


@pytest.mark.parametrize("weights", [on_both, lambda x, y: np.exp(y), lambda x, y: np.exp(x)])
@pytest.mark.parametrize("measure", ["hsic", "alignment", "rv", "compare"])
def test_weights_that_depend_on_the_points_do_not_make_them_dependent(
    weights: Any, measure: str
) -> None:
    # Products of a function of x and one of y: independent as the weights see them, too.
    p = []
    for seed in range(150):
        x, y = np.random.default_rng([7, seed]).normal(size=(2, 50))
        k = mc.Linear() if measure == "rv" else mc.Gaussian(1.0)
        said: dict[str, Any] = {"sample_weight": weights(x, y), "test": "pearson"}
        if measure == "compare":
            p.append(mc.compare_kernels({"a": (k, x), "b": (k, y)}, **said).pairs[0].p_value)
        elif measure == "rv":
            p.append(mc.rv(x, y, **said).p_value)
        else:
            p.append(getattr(mc, measure)(k, k, x, y, **said).p_value)
    assert np.mean(np.array(p) <= 0.05) <= 0.10


def test_permutations_that_leave_weights_of_both_sides_in_place_reject_too_often() -> None:
    p = []
    for seed in range(150):
        x, y = np.random.default_rng([7, seed]).normal(size=(2, 50))
        k, w = mc.Gaussian(1.0), on_both(x, y)
        said: dict[str, Any] = {"test": "permutation", "permutations": 39, "random_state": seed}
        p.append(mc.hsic(k, k, x, y, sample_weight=w, **said).p_value)
    assert np.mean(np.array(p) <= 0.05) > 0.15  # what the default must not do


def drawn_p_values(n: int, correlation: float, samples: int) -> Array:
    """Return p-values of the default test under weights that depend on both sides."""
    p = []
    for seed in range(samples):
        x, e = np.random.default_rng([9, seed]).normal(size=(2, n))
        y = correlation * x + np.sqrt(1.0 - correlation**2) * e
        k, w = mc.Gaussian(1.0), on_both(x, y)
        found = mc.hsic(k, k, x, y, sample_weight=w, permutations=99, random_state=seed)
        assert found.test == "multiplier"
        p.append(found.p_value)
    return np.array(p)


def test_multipliers_under_weights_of_both_sides_keep_their_level_and_see_dependence() -> None:
    # Few count: of 50 as many as 10, where 0.5 to 1 % are rejected; of 200 as many as 25.
    assert np.mean(drawn_p_values(50, 0.0, 150) <= 0.05) <= 0.04
    assert 0.0 < np.mean(drawn_p_values(200, 0.0, 150) <= 0.05) <= 0.09
    assert np.mean(drawn_p_values(50, 0.6, 100) <= 0.05) > 0.15
    assert np.mean(drawn_p_values(200, 0.6, 60) <= 0.05) > 0.75


def test_weighted_dependence_is_seen() -> None:
    p = []
    for seed in range(40):
        rng = np.random.default_rng([8, seed])
        x = rng.normal(size=60)
        y = x**2 + 0.5 * rng.normal(size=60)
        said: dict[str, Any] = {"sample_weight": rng.uniform(0.5, 2.0, 60), "random_state": seed}
        p.append(mc.hsic(mc.Gaussian(1.0), mc.Gaussian(1.0), x, y, permutations=99, **said).p_value)
    assert np.mean(np.array(p) <= 0.05) > 0.9


def test_the_null_of_the_unbiased_criterion_has_mean_zero() -> None:
    x, y = data(11, 6)
    how = centring(None, 6, is_unbiased=True)
    both = Stored([how.dense(mc.Gram(GAUSS, x)), how.dense(mc.Gram(OTHER, y))], how)
    statistic = both.permuted(0, 1)
    values = [statistic(np.array(p)) for p in itertools.permutations(range(6))]
    assert np.mean(values) == pytest.approx(0.0, abs=1e-15)
    assert np.std(values) > 1e-3


def test_individuals_without_weight_are_not_permuted() -> None:
    x, y = data(10, 24)
    s = np.r_[np.ones(20), np.zeros(4)]
    said: dict[str, Any] = {"permutations": 49, "random_state": 0}
    forms: list[tuple[Any, ...]] = [
        (GAUSS, OTHER, x, y),
        (GAUSS(x), mc.Gram(OTHER, y)),
        (mc.Gaussian("median"), "linear()", x, y),
    ]
    for k1, k2, *both in forms:
        found = mc.alignment(k1, k2, *both, sample_weight=s, **said)
        a, b = both or (x, y)
        first, second = (k1, k2) if both else (GAUSS, OTHER)
        expected = mc.alignment(first, second, a[:20], b[:20], **said)
        assert (found.statistic, found.p_value) == pytest.approx(
            (expected.statistic, expected.p_value), rel=1e-9
        )
        assert found.individuals == 20
    with pytest.raises(mc.errors.InvalidInput, match="at least two individuals"):
        mc.rv(x, y, sample_weight=np.r_[1.0, np.zeros(23)])


def test_permutations_that_change_nothing_tie_with_what_was_observed() -> None:
    # Two groups of alike points: one permutation in ten only exchanges alike ones.
    x = np.repeat([0.1, 0.7], 3)[:, None]
    y = np.repeat([[0.3, 1.9], [0.2, 0.4]], 3, axis=0)
    found = mc.hsic(GAUSS, OTHER, x, y, permutations=499, random_state=0)
    ties = found.null >= found.statistic * (1.0 - 1e-9)
    assert np.any(found.null[ties] < found.statistic)  # which rounding would have lost
    assert found.p_value == (1 + ties.sum()) / 500
    assert 0.07 < ties.mean() < 0.13


def test_early_stopping_gives_h_over_l_on_the_same_draws() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = np.random.default_rng(1).normal(size=(30, 2))
    full = mc.hsic(GAUSS, GAUSS, x, y, permutations=999, random_state=0)
    short = mc.hsic(GAUSS, GAUSS, x, y, permutations=999, random_state=0, stop_after=10)
    made = int(np.flatnonzero(np.cumsum(full.null >= full.statistic) == 10)[0]) + 1
    assert short.permutations == made < 999
    assert short.p_value == 10 / made
    np.testing.assert_array_equal(short.null, full.null[:made])
    assert short.how == f"{made} permutations of 999"


@pytest.mark.parametrize("n", [6, 7])
def test_three_moments_are_those_of_all_permutations(n: int) -> None:
    rng = np.random.default_rng(n)
    H = np.eye(n) - 1.0 / n
    A, B = (H @ (M + M.T) @ H for M in rng.normal(size=(2, n, n)))
    every = [list(p) for p in itertools.permutations(range(n))]
    values = np.array([np.sum(A * B[np.ix_(p, p)]) for p in every])
    found = moments(A, B)
    assert found.mean == pytest.approx(values.mean())
    assert found.deviation == pytest.approx(values.std())
    third = np.mean((values - values.mean()) ** 3) / values.std() ** 3
    assert found.skewness == pytest.approx(third, abs=1e-9)


@pytest.mark.parametrize(
    "said", [{}, {"sample_weight": np.arange(1.0, 41.0)}, {"estimator": "unbiased"}]
)
def test_the_pearson_law_is_near_that_of_permutations(said: dict[str, Any]) -> None:
    rng = np.random.default_rng(12)
    x = rng.normal(size=(40, 2))
    y = 0.25 * x + rng.normal(size=(40, 2))
    drawn = mc.hsic(GAUSS, GAUSS, x, y, permutations=1_999, random_state=0, **said)
    law = mc.hsic(GAUSS, GAUSS, x, y, test="pearson", **said)
    assert drawn.p_value is not None
    assert law.p_value == pytest.approx(drawn.p_value, abs=0.03)
    assert law.statistic == drawn.statistic
    assert "Pearson" in law.how


def p_values(measure: Any, make: Any, count: int) -> Array:
    found = [measure(*make(np.random.default_rng([99, seed]))) for seed in range(count)]
    return np.array([each.p_value for each in found])


def independent(rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.normal(size=(20, 2)), rng.exponential(size=(20, 1))


def circle(rng: np.random.Generator) -> tuple[Array, Array]:
    angle = rng.uniform(0.0, 2.0 * np.pi, 90)
    noise = 0.15 * rng.normal(size=(2, 90))
    return (np.cos(angle) + noise[0])[:, None], (np.sin(angle) + noise[1])[:, None]


def by_hsic(x: Array, y: Array) -> mc.results.Dependence:
    k = mc.Gaussian(bandwidth=0.5)
    return mc.hsic(k, k, x, y, permutations=39, random_state=5)


def by_rv(x: Array, y: Array) -> mc.results.Dependence:
    return mc.rv(x, y, permutations=39, random_state=5)


def by_moments(x: Array, y: Array) -> mc.results.Dependence:
    k = mc.Gaussian(bandwidth=1.0)
    return mc.hsic(k, k, x, y, estimator="unbiased", test="pearson")


@pytest.mark.parametrize("measure", [by_hsic, by_rv, by_moments])
def test_p_values_are_uniform_under_independence(measure: Any) -> None:
    count = 200
    found = np.sort(p_values(measure, independent, count))
    grid = np.arange(1, 41) / 40.0
    distance = np.max(np.abs(np.searchsorted(found, grid + 1e-9) / count - grid))
    assert distance < 1.63 / np.sqrt(count)  # Kolmogorov and Smirnov, level 0.01
    assert abs(np.mean(found <= 0.05) - 0.05) < 3.0 * np.sqrt(0.05 * 0.95 / count)


def test_hsic_finds_a_circle_that_no_correlation_sees() -> None:
    assert np.mean(p_values(by_hsic, circle, 30) <= 0.05) > 0.9
    assert np.mean(p_values(by_rv, circle, 30) <= 0.05) < 0.3


def test_permuted_features_are_labelled_and_exact_at_full_rank() -> None:
    x, y = data(13, 30)
    exact = mc.hsic(GAUSS, OTHER, x, y, permutations=50, random_state=0)
    full = mc.hsic(GAUSS, OTHER, x, y, permutations=50, random_state=0, rank=30)
    np.testing.assert_allclose(full.null, exact.null, rtol=1e-6)
    few = mc.hsic(GAUSS, OTHER, x, y, permutations=50, random_state=0, rank=3)
    assert few.statistic == exact.statistic
    assert "rank 3, an approximation that holds" in few.how


def test_many_individuals_take_memory_that_grows_with_their_number() -> None:
    n = 3_600
    x = np.random.default_rng(0).normal(size=(n, 2))
    tracemalloc.start()
    found = mc.hsic(GAUSS, mc.Gaussian(bandwidth=2.0), x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n  # of which two matrices alone would take twice as much
    assert found.p_value is None
    assert "not tested" in repr(found)
    with pytest.raises(mc.errors.InvalidInput, match="3 000"):
        mc.rv(x, x, test="pearson")


# -- several kernels


def three() -> tuple[dict[str, Any], dict[str, Any]]:
    x, y = data(14, 40)
    words = ["".join(np.random.default_rng(i).choice(list("ab"), 6)) for i in range(40)]
    kernels = {"x": GAUSS, "y": "linear()", "words": mc.kernels.StringSpectrum(2)}
    return kernels, {"x": x, "y": y, "words": words}


def test_several_kernels_are_compared_two_by_two() -> None:
    kernels, points = three()
    found = mc.compare_kernels(kernels, points, permutations=99, random_state=0)
    table = found.table()
    assert list(table) == ["first", "second", "alignment", "p_value", "adjusted"]
    for k, (a, b) in enumerate(itertools.combinations(kernels, 2)):
        one = mc.alignment(
            kernels[a], kernels[b], points[a], points[b], permutations=99, random_state=0
        )
        assert (table["first"][k], table["second"][k]) == (a, b)
        assert table["alignment"][k] == pytest.approx(one.statistic, rel=1e-12)
        assert table["p_value"][k] == one.p_value
    assert table["adjusted"][0] == pytest.approx(min(1.0, 3 * table["p_value"][0]))
    np.testing.assert_allclose(
        found.coordinates @ found.coordinates.T, found.alignments, atol=1e-12
    )
    assert np.all(found.coordinates[:, 0] > 0)
    assert found.shares.sum() == pytest.approx(1.0)
    assert "x – y" in repr(found)
    assert pd.DataFrame(table).shape == (3, 5)


def test_comparisons_without_room_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, points = three()
    said: dict[str, Any] = {"permutations": 19, "random_state": 1}
    stored = mc.compare_kernels(kernels, points, **said)
    limits = Limits(room=2 * 40**2)  # two matrices fit, three do not
    monkeypatch.setattr(sides, "LIMITS", limits)
    paired = mc.compare_kernels(kernels, points, **said)
    monkeypatch.setattr(sides, "LIMITS", replace(limits, stored=10))
    tiled = mc.compare_kernels(kernels, points, **said)
    with pytest.raises(mc.errors.InvalidInput, match="held up to 10 individuals"):
        mc.rv(np.eye(20), np.eye(20), test="pearson")
    for other in (paired, tiled):
        np.testing.assert_allclose(other.alignments, stored.alignments, rtol=1e-12)
        np.testing.assert_array_equal(other.table()["p_value"], stored.table()["p_value"])
        np.testing.assert_allclose(other.pairs[0].null, stored.pairs[0].null, rtol=1e-9)


def test_one_fresh_seed_serves_all_pairs() -> None:
    kernels, points = three()
    found = mc.compare_kernels(kernels, points, permutations=9)
    assert len({pair.seed for pair in found.pairs}) == 1
    again = mc.compare_kernels(kernels, points, permutations=9, random_state=found.pairs[0].seed)
    np.testing.assert_array_equal(again.pairs[2].null, found.pairs[2].null)


# -- what may be given


def test_kernels_come_in_many_forms() -> None:
    x, y = data(15, 20)
    expected = mc.alignment(GAUSS, OTHER, x, y, permutations=0).statistic
    forms: list[tuple[Any, ...]] = [
        (str(GAUSS), str(OTHER), x, y),
        ((GAUSS, x), (OTHER, y)),
        (GAUSS(x), OTHER(y)),
        (mc.Gram(GAUSS, x), mc.Gram(OTHER, y)),
        (GAUSS, OTHER, pd.DataFrame(x), y.tolist()),
        (lambda a, b: float(np.exp(-0.5 * np.sum((a - b) ** 2))), OTHER, x, y),
    ]
    for form in forms:
        assert mc.alignment(*form, permutations=0).statistic == pytest.approx(expected, rel=1e-9)


def test_a_rule_for_the_bandwidth_is_resolved_on_each_own_points() -> None:
    x, y = data(16)
    k = mc.Gaussian(bandwidth="median")
    by_hand = mc.alignment(k.resolve(x), k.resolve(y), x, y, permutations=0).statistic
    assert mc.alignment(k, k, x, y, permutations=0).statistic == pytest.approx(by_hand)


def test_results_cannot_be_changed() -> None:
    x, y = data(19)
    found = mc.compare_kernels([GAUSS, OTHER], x, permutations=3)
    for array in (found.alignments, found.coordinates, found.pairs[0].null):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_nothing_given_is_changed() -> None:
    x, y = data(17)
    before = x.copy(), y.copy()
    mc.rv(x, y, permutations=9)
    mc.alignment(GAUSS, "linear()", x, y, permutations=9)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: mc.alignment(GAUSS, GAUSS, x, x[:5]),
            "the first has 30 individuals and the sec",
        ),
        (lambda x: mc.alignment(GAUSS, GAUSS), "has no points"),
        (lambda x: mc.alignment(GAUSS, x, x), "Gram matrix, found ndarray of shape"),
        (
            lambda x: mc.alignment(GAUSS, mc.kernels.Constant(2.0), x),
            "all individuals are alike under the s",
        ),
        (lambda x: mc.rv(x, np.full((30, 2), 1e6)), "all individuals are alike"),
        (lambda x: mc.hsic(GAUSS, GAUSS, x[:3], estimator="unbiased"), "at least 4"),
        (lambda x: mc.hsic(GAUSS, GAUSS, x[:1]), "at least two"),
        (lambda x: mc.hsic(GAUSS, GAUSS, x[:5], test="pearson"), "at least 6"),
        (lambda x: mc.rv(x, x, sample_weight=-np.ones(30)), "nonnegative"),
        (lambda x: mc.rv(x, x, sample_weight=["a"] * 30), "sample_weight"),
        (
            lambda x: mc.hsic(mc.kernels.NegativeDistance(), GAUSS, x, rank=3),
            "only once it is centred",
        ),
        (lambda x: mc.rv(np.zeros((3_001, 1)) + x[0, 0], np.arange(3_001.0)), "are alike"),
        (lambda x: mc.compare_kernels({"a": GAUSS, "b": GAUSS}, {"a": x}), "no entry 'b'"),
        (lambda x: mc.rv(x, np.where(np.eye(30, 3) > 0, np.nan, x)), "row 0, column 0"),
    ],
)
def test_what_cannot_be_compared_is_named(call: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        call(data(18)[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: mc.hsic(GAUSS, GAUSS, x, estimator="best"), "biased, unbiased"),
        (lambda x: mc.hsic(GAUSS, GAUSS, x, test="t"), "permutation, multiplier, pearson"),
        (lambda x: mc.hsic(GAUSS, GAUSS, x, permutations=-1), "permutations"),
        (
            lambda x: mc.hsic(GAUSS, GAUSS, x, estimator="unbiased", sample_weight=np.ones(30)),
            "needs equal weights",
        ),
        (lambda x: mc.hsic(GAUSS, GAUSS, x, estimator="unbiased", rank=3), "rank"),
        (lambda x: mc.compare_kernels([GAUSS], x), "at least two kernels"),
        (lambda x: mc.compare_kernels([GAUSS, GAUSS], x), "the same"),
        (lambda x: mc.compare_kernels("linear()", x), "mapping from names"),
    ],
)
def test_questions_that_make_no_sense_are_refused(call: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        call(data(18)[0])


@pytest.mark.parametrize("test", ["permutation", "pearson"])
@pytest.mark.parametrize("k", [mc.Linear(), GAUSS, mc.Polynomial(2)], ids=repr)
def test_rounding_is_no_dependence(k: mc.Kernel, test: str) -> None:
    x, _ = data(19)
    found = mc.hsic(k, GAUSS, np.full((30, 3), 0.1), x, test=test)
    assert found.statistic == pytest.approx(0.0, abs=1e-15)
    assert found.p_value == 1.0
    assert "alike" in found.how


def test_kernels_on_tables_may_be_written() -> None:
    x, _ = data(20)
    table = {"u": x[:, 0], "v": x[:, 1]}
    texts = {"first": "columns({'u': linear()})", "second": "columns({'v': linear()})"}
    found = mc.compare_kernels(texts, table, permutations=0)
    expected = mc.rv(x[:, 0], x[:, 1], permutations=0).statistic
    assert found.alignments[0, 1] == pytest.approx(expected, rel=1e-12)
    agreed = mc.consensus(texts, table)
    assert mc.KernelPCA(1, kernel=agreed.kernel).fit(table).transform(table).shape == (30, 1)
