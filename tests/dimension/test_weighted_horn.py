"""Horn's test of rows with unequal weights: of counts, and of what belongs to values."""

from __future__ import annotations

import numpy as np
import pytest

import mercer as mc
from mercer.check import Array

COUNTS = np.array([3, 1, 5, 2, 4, 1, 2, 6, 1, 3])


def test_rows_that_were_counted_are_shuffled_one_by_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 4))
    X[:, 1] += X[:, 0]
    seen = np.repeat(X, COUNTS, axis=0)
    for make in (lambda: mc.PCA(), lambda: mc.KernelPCA(3, kernel=mc.Gaussian(2.0))):
        few = make().fit(X, sample_weight=COUNTS)
        found = mc.parallel_analysis(few, 39, counted=int(COUNTS.sum()), random_state=0)
        whole = mc.parallel_analysis(make().fit(seen), 39, random_state=0)
        np.testing.assert_allclose(found.observed[:3], whole.observed[:3], rtol=1e-9)
        np.testing.assert_allclose(found.p_values[:3], whole.p_values[:3])


def test_answers_that_were_counted_are_shuffled_one_by_one() -> None:
    rng = np.random.default_rng(1)
    words = {name: rng.choice(list("abc"), 10).tolist() for name in ("one", "two", "three")}
    repeated = {name: np.repeat(column, COUNTS).tolist() for name, column in words.items()}
    few = mc.MCA(2).fit(words, sample_weight=COUNTS)
    found = mc.parallel_analysis(few, 39, counted=int(COUNTS.sum()), random_state=0)
    whole = mc.parallel_analysis(mc.MCA(2).fit(repeated), 39, random_state=0)
    np.testing.assert_allclose(found.observed, whole.observed, rtol=1e-9)
    np.testing.assert_allclose(found.p_values, whole.p_values)


def _of_a_survey(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Independent columns of a population, drawn with chances that its first two columns set.

    The weights undo this: under them the columns are independent, and without them they are not.
    """
    x = rng.exponential(size=(60 * n, 4)) - 1.0
    weights = np.exp(np.clip(0.7 * (x[:, 0] + x[:, 1]), -2.0, 2.0))
    drawn = np.flatnonzero(rng.uniform(size=len(x)) < np.exp(-2.0) / weights)[:n]
    assert len(drawn) == n
    return x[drawn], weights[drawn]


def test_weights_that_depend_on_the_values_do_not_make_them_dependent() -> None:
    """Permutations under these weights find an axis in a fifth of the tables."""
    rng = np.random.default_rng(2)
    tables = [_of_a_survey(rng, 60) for _ in range(150)]
    found = [
        mc.parallel_analysis(mc.PCA().fit(x, sample_weight=w), 39, axes=1, random_state=r)
        for r, (x, w) in enumerate(tables)
    ]
    kept = sum(one.n_components > 0 for one in found)
    assert kept <= 14  # of 150 at 5 %: 7.5 in the mean, more than 14 in one of a hundred such tests
    assert "of signs, not places" in found[0].evidence


def test_dependence_is_seen_under_weights() -> None:
    rng = np.random.default_rng(3)
    common = rng.standard_normal((80, 1))
    x = common + rng.standard_normal((80, 4))
    weights = rng.lognormal(0.0, 1.0, 80)
    found = mc.parallel_analysis(mc.PCA().fit(x, sample_weight=weights), 99, random_state=0)
    assert found.n_components == 1
    assert found.p_values[0] == 0.01
    more = mc.parallel_analysis(mc.PCA().fit(x, sample_weight=7 * weights), 99, random_state=0)
    np.testing.assert_allclose(more.null, found.null, rtol=1e-9)
    mixed = {"a": x[:, 0], "b": x[:, 1], "c": np.where(x[:, 2] > 0, "up", "down").tolist()}
    found = mc.parallel_analysis(mc.FAMD(2).fit(mixed, sample_weight=weights), 99, random_state=0)
    assert found.p_values[0] == 0.01


def test_individuals_without_weight_change_nothing() -> None:
    rng = np.random.default_rng(4)
    x, weights = rng.standard_normal((30, 3)), rng.uniform(0.5, 2.0, 30)
    more = np.vstack([x, 100.0 * rng.standard_normal((5, 3))])
    found = [
        mc.parallel_analysis(mc.PCA().fit(x, sample_weight=w), 19, random_state=0).p_values
        for x, w in ((x, weights), (more, np.r_[weights, np.zeros(5)]))
    ]
    np.testing.assert_allclose(found[0], found[1])


def test_a_kernel_of_all_columns_says_why_it_cannot_decide_under_weights() -> None:
    rng = np.random.default_rng(5)
    x, weights = rng.standard_normal((30, 3)), rng.uniform(0.5, 2.0, 30)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(x, sample_weight=weights)
    with pytest.raises(mc.errors.InvalidInput, match="a kernel sees all columns at once"):
        mc.parallel_analysis(model, 19)
    with pytest.raises(mc.errors.InvalidParameter, match="a fraction of one"):
        mc.parallel_analysis(model, 19, counted=37)
    with pytest.raises(mc.errors.InvalidParameter, match="is for a fitted model"):
        mc.parallel_analysis(x, 19, counted=30)
