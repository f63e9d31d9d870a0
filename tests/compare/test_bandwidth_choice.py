"""Rules that find a bandwidth: their formulas, their units, and agreement with a factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

import mercer as mc
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.radial import DISTANCE_RULES, NEIGHBOUR

SEEDS = st.integers(0, 10**6)


def length_of(kernel: Any, x: Any) -> float:
    return float(mc.kernels.parameters(kernel.resolve(x))["bandwidth"])


@settings(max_examples=25)
@given(SEEDS)
def test_rules_are_their_formulas(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(15, 3))
    expected = {
        "median": np.median(pdist(x)),
        "neighbours": np.median(np.sort(cdist(x, x), axis=1)[:, NEIGHBOUR]),
        "quantiles": np.sum(1.0 / np.quantile(pdist(x) ** 2, [0.1, 0.9])) ** -0.5,
    }
    assert set(expected) == set(DISTANCE_RULES)
    for rule, length in expected.items():
        assert length_of(mc.Gaussian(rule), x) == pytest.approx(length, rel=1e-9)
        assert length_of(mc.Linear().gaussian(rule), x) == pytest.approx(length, rel=1e-6)
        scaled = length_of(mc.Gaussian(rule), 1e3 * x)
        assert scaled == pytest.approx(1e3 * length, rel=1e-9)


@pytest.mark.parametrize("rule", DISTANCE_RULES)
def test_rules_are_written_and_read_and_know_copies(rule: str) -> None:
    k = mc.Gaussian(rule)
    assert mc.kernel(str(k)) == k
    x = np.random.default_rng(0).normal(size=(5, 2))
    twice = np.vstack([x, x])
    assert length_of(k, twice) > 0.0
    if rule == "neighbours":  # fewer others than seven: the farthest of them
        lone = np.median(cdist(x, x).max(axis=1))
        assert length_of(k, x) == pytest.approx(lone)
    with pytest.raises(InvalidInput, match=rule):
        k.resolve(np.ones((4, 2)))
    assert mc.KernelPCA(2, kernel=k).fit(x).kernel_ == k.resolve(x)


def test_neighbours_see_clusters_where_the_median_sees_their_distance() -> None:
    rng = np.random.default_rng(0)
    x = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 50.0])
    near, far = (length_of(mc.Gaussian(rule), x) for rule in ("neighbours", "median"))
    assert near < 3.0
    assert far > 30.0


@pytest.mark.parametrize("form", [str, np.asarray])
def test_an_aligned_bandwidth_is_the_best_of_a_fine_grid(form: Any) -> None:
    rng = np.random.default_rng(1)
    angle, ring = rng.uniform(0, 2 * np.pi, 60), np.repeat([1.0, 4.0], 30)
    x = ring[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    x += 0.2 * rng.normal(size=x.shape)
    labels = ring.astype(str) if form is str else ring
    other: Any = mc.kernels.Delta() if form is str else mc.Linear()

    def agreement(k: Any) -> float:
        return mc.alignment(k, other, x, labels, permutations=0).statistic

    start = length_of(mc.Gaussian("median"), x)
    found = mc.kernels.align_bandwidth(mc.Gaussian("median"), x, labels)
    best = max(agreement(mc.Gaussian(start * 2.0**o)) for o in np.linspace(-4, 4, 161))
    assert agreement(found) >= best - 1e-5
    assert agreement(found) >= agreement(mc.Gaussian(start))


def test_what_cannot_be_aligned_is_refused() -> None:
    x = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(InvalidParameter, match="0 bandwidths"):
        mc.kernels.align_bandwidth("linear()", x, list("aabbcc"))
    with pytest.raises(InvalidParameter, match="2 bandwidths"):
        mc.kernels.align_bandwidth(mc.Gaussian(1.0) + mc.Laplacian(1.0), x, list("aabbcc"))
    with pytest.raises(InvalidInput, match="row 2"):
        mc.kernels.align_bandwidth(mc.Gaussian(1.0), x, ["a", "b", None, "a", "b", "a"])
    with pytest.raises(InvalidInput, match="shape"):
        mc.kernels.align_bandwidth(mc.Gaussian(1.0), x, ["a", "b"])
    with pytest.raises(InvalidParameter, match="neighbours"):
        mc.Gaussian("nearest")
