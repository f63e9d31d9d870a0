"""One resampling: the same draws, p-values, early stops, threads and progress in every test."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.dimension import choose
from mercer.resampling import PERMUTATIONS_UNASKED, Resampling, is_decided

X = np.random.default_rng(0).standard_normal((30, 3)) * [3.0, 2.0, 1.0]
SETS = ["a", "b"] * 15


def _uniform(draws: Resampling) -> Callable[[int], float]:
    return lambda r: float(draws.generator(r).random())


@pytest.mark.parametrize("threads", [1, 3])
def test_a_draw_depends_on_its_number_and_the_seed_alone(threads: int) -> None:
    few, many = Resampling(10, 5), Resampling(40, 5, threads=threads)
    first = few.null(few.batches(_uniform(few), 3), 2.0).values
    second = many.null(many.batches(_uniform(many), 7), 2.0).values
    np.testing.assert_array_equal(second[:10], first)
    assert len(np.unique(second)) == 40


def test_the_p_value_counts_the_observed_one_and_all_that_reach_it() -> None:
    draws = Resampling(99, 1)
    found = draws.null(draws.batches(_uniform(draws), 10), 0.25)
    assert found.p_values[0] == (1 + np.sum(found.values >= 0.25)) / 100
    assert found.draws.tolist() == [99]


def test_sampling_stops_when_every_statistic_was_reached_often_enough() -> None:
    draws = Resampling(10_000, 1, stop_after=5)
    found = draws.null(draws.batches(lambda r: draws.generator(r).random(2), 16), [0.5, 0.9])
    assert len(found.values) == found.draws.max() < 1_000
    for k, level in enumerate((0.5, 0.9)):
        reached = np.flatnonzero(found.values[:, k] >= level)
        assert found.draws[k] == reached[4] + 1
        assert found.p_values[k] == 5 / found.draws[k]


def test_none_drawn_is_no_evidence() -> None:
    draws = Resampling(0, 1)
    found = draws.null(draws.batches(_uniform(draws), 4), 0.5)
    assert found.p_values.tolist() == [1.0]
    assert found.values.shape == (0, 1)


def test_p_values_of_exchangeable_draws_are_uniform() -> None:
    p = []
    for seed in range(300):
        draws = Resampling(19, seed)
        observed = float(draws.generator(19).random())
        p.append(draws.null(draws.batches(_uniform(draws), 19), observed).p_values[0])
    counts = np.bincount(np.round(20 * np.array(p)).astype(int), minlength=21)[1:]
    assert np.sum((counts - 15) ** 2 / 15) < 43.8  # χ² of 19 degrees of freedom, p = 0.001


TESTS: dict[str, Callable[..., Any]] = {
    "parallel_analysis": lambda **more: mc.parallel_analysis(X, 40, **more).null,
    "hsic": lambda **more: (
        mc.hsic(
            "gaussian(bandwidth=1.0)", "linear()", X[:, :1], X[:, 1:], permutations=40, **more
        ).null
    ),
    "rv": lambda **more: mc.rv(X[:, :1], X[:, 1:], permutations=40, **more).null,
    "alignment": lambda **more: (
        mc.alignment(
            "gaussian(bandwidth=1.0)", "linear()", X[:, :1], X[:, 1:], permutations=40, **more
        ).null
    ),
    "compare_kernels": lambda **more: (
        mc.compare_kernels(["gaussian(bandwidth=1.0)", "linear()"], X, permutations=40, **more)
        .pairs[0]
        .null
    ),
    "mean_discrepancy": lambda **more: (
        mc.mean_discrepancy(mc.Linear(), X[:9], X[9:], permutations=40, **more).null
    ),
    "permutation_importance": lambda **more: (
        mc.permutation_importance(mc.PCA(2).fit(X), permutations=40, **more).shares
    ),
    "bootstrap": lambda **more: mc.bootstrap(mc.PCA(2), X, 40, **more).means,
    "replicate_study": lambda **more: (
        mc.replicate_study(X, SETS, sizes=[2, 4], draws=4, samples=20, **more).curve.samples
    ),
}


@pytest.mark.parametrize("name", sorted(TESTS))
def test_threads_change_nothing_and_progress_ends_at_its_total(name: str) -> None:
    told: list[tuple[int, int]] = []
    alone = TESTS[name](random_state=7, threads=1)
    shared = TESTS[name](
        random_state=7, threads=3, progress=lambda done, total: told.append((done, total))
    )
    np.testing.assert_array_equal(alone, shared)
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    for wrong in ({"threads": 0}, {"threads": "two"}, {"progress": 7}):
        with pytest.raises(mc.errors.InvalidParameter, match="threads|progress"):
            TESTS[name](random_state=7, **wrong)


@pytest.mark.parametrize(
    "name", ["parallel_analysis", "hsic", "rv", "alignment", "compare_kernels", "mean_discrepancy"]
)
def test_early_stops_leave_the_first_draws_as_they_are(name: str) -> None:
    whole, part = (TESTS[name](random_state=7, **more) for more in ({}, {"stop_after": 1}))
    np.testing.assert_array_equal(whole[: len(part)], part)


def test_the_command_line_and_the_page_make_as_many_permutations_unasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = mc.PCA(2).fit(X)
    assert choose.affordable_permutations(model)[0] == PERMUTATIONS_UNASKED == 199
    count, seconds = choose.affordable_permutations(mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(X))
    assert (count, seconds < choose.PATIENCE) == (199, True)
    monkeypatch.setattr(choose, "PATIENCE", 0.0)
    assert choose.affordable_permutations(model)[0] == 0


def test_a_resampling_is_a_value() -> None:
    draws = Resampling.of(9, 3, threads=2)
    assert replace(draws, threads=None) == Resampling(9, 3)
    with pytest.raises(mc.errors.InvalidParameter, match="replicates"):
        Resampling.of(3, 0, name="replicates", least=20)


@pytest.mark.parametrize("level", [0.05, 0.3])
def test_whoever_looks_after_every_draw_is_wrong_as_rarely_as_promised(level: float) -> None:
    risk, paths, longest = 0.1, 400, 400
    reached = np.cumsum(np.random.default_rng(0).random((longest, paths)) < level, axis=0)
    ever = np.zeros(paths, bool)
    for drawn in range(1, longest + 1):
        ever |= is_decided(reached[drawn - 1], drawn, level, risk)
    assert 0 < ever.mean() <= risk
    clear = np.cumsum(np.random.default_rng(1).random((longest, paths)) < 0.6, axis=0)
    assert is_decided(clear[39], 40, level, risk).mean() > 0.5
