"""How many replicates are enough: estimators without bias, a verified answer, honest failures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.check import Array
from mercer.cli import main
from mercer.networks import draws
from mercer.networks.draws import PermutedReplicates, residuals
from mercer.networks.expression import as_expression
from mercer.networks.moments import (
    Influences,
    NetworkGrams,
    NetworkMoments,
    distances,
    on_vectors,
    pool,
)
from mercer.networks.needed_replicates import (
    MOST_REPLICATES,
    Needed,
    continue_line,
    crossing,
    decide,
    fit_line,
)
from mercer.page.documents import replicates_page
from mercer.pictures import replicates as drawn
from mercer.pictures.scene import Band, draw, plotly
from mercer.resampling import Resampling
from tests.browser import started, visit
from tests.hostile import HOSTILE

SOFT = mc.networks.Inference(power=2.0)
MODEL = {"genes": 40, "hubs": 4, "effect": 0.8, "strength": 0.95}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Let tests do with as few permutations as can reject."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draws, "PERMUTATIONS_UNASKED", 39)
        yield


@pytest.fixture(scope="module")
def study() -> mc.networks.ReplicateStudy:
    model = mc.networks.simulate_expression(16, 4, effect=0.8, strength=0.95, random_state=1)
    table = model.table(8, np.random.default_rng(1))
    return mc.replicate_study(table, "condition", infer=SOFT, draws=12, samples=60, random_state=0)


def linear_draws(rng: np.random.Generator, runs: int, m: int, means: Array) -> Array:
    """Gram matrices of features that are means of m normal vectors, two sets per condition."""
    C, d = means.shape
    noise = rng.standard_normal((runs, 2 * C, d)) / np.sqrt(m)
    features = np.tile(means, (2, 1)) + noise
    return np.asarray(features @ np.swapaxes(features, 1, 2))


def test_moments_have_no_bias() -> None:
    rng = np.random.default_rng(0)
    means = rng.standard_normal((3, 6))
    found = NetworkMoments.of(linear_draws(rng, 20_000, 4, means), 3)
    true = np.sum((means[:, None] - means[None]) ** 2, axis=2)
    np.testing.assert_allclose(found.scatter, 6 / 4, rtol=0.03)
    np.testing.assert_allclose(found.separations, true, atol=0.15)
    within, between = pool(found.scatter, found.separations)
    assert within == pytest.approx(1.5, rel=0.02)
    assert between == pytest.approx(true.sum() / 6, rel=0.02)


def test_sets_that_share_replicates_would_be_biased() -> None:
    """The reason for disjoint sets: half of the replicates in common halves the scatter seen."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 6, 5))
    shared = np.stack([x[:, :4].mean(axis=1), x[:, 2:].mean(axis=1)], axis=1)
    apart = np.stack([x[:, :3].mean(axis=1), x[:, 3:].mean(axis=1)], axis=1)
    grams = [f @ np.swapaxes(f, 1, 2) for f in (shared, apart)]
    assert NetworkMoments.of(grams[0], 1).scatter[0] == pytest.approx(5 / 8, rel=0.05)  # not 5/4
    assert NetworkMoments.of(grams[1], 1).scatter[0] == pytest.approx(5 / 3, rel=0.05)


def test_influences_of_linear_features_are_the_replicates() -> None:
    rng = np.random.default_rng(1)
    x = [rng.standard_normal((4, 3)), rng.standard_normal((5, 3))]
    networks = [
        np.vstack([one.mean(axis=0), *(np.delete(one, i, 0).mean(axis=0) for i in range(len(one)))])
        for one in x
    ]
    F = np.vstack(networks)
    found = Influences.of(F @ F.T, (4, 5))
    every = np.vstack(x)
    np.testing.assert_allclose(found.products, every @ every.T, atol=1e-12)
    means = found.means(np.ones((1, 9)))[0]
    assert means[0, 1] == pytest.approx(x[0].mean(axis=0) @ x[1].mean(axis=0))
    off = x[0] @ x[0].T - np.diag(np.sum(x[0] ** 2, axis=1))
    assert means[0, 0] == pytest.approx(off.sum() / 12)


@pytest.mark.parametrize("distance", [0.0, 1.0, 4.0])
def test_bootstrap_varies_as_the_separation_does(distance: float) -> None:
    rng = np.random.default_rng(2)
    M, d, runs = 10, 30, 200
    found, said = [], []
    for _ in range(runs):
        x = rng.standard_normal((2, M, d))
        x[1, :, 0] += distance
        every = x.reshape(2 * M, d)
        influences = Influences(every @ every.T, (M, M))
        means = influences.means(np.ones((1, 2 * M)))
        found.append(separation(means)[0])
        w = 1.0 + influences.tempering() * (influences.drawn(60, rng) - 1.0)
        said.append(separation(influences.means(w)).var())
    # Without tempering it is 1.7 times too wide where nothing separates the conditions.
    assert 0.9 <= np.sqrt(np.mean(said)) / np.std(found) <= 1.45


def test_bootstrap_varies_as_the_distance_to_the_full_network_does() -> None:
    """Of means its square is the variance of the replicates: its error must be that of studies."""
    rng = np.random.default_rng(4)
    M, d, runs = 12, 5, 400
    found, said = [], []
    for _ in range(runs):
        x = rng.standard_normal((M, d))
        influences = Influences(x @ x.T, (M,))
        found.append(influences.variances(np.ones((1, M)))[0, 0])
        assert found[-1] == pytest.approx(x.var(axis=0, ddof=1).sum())
        said.append(influences.variances(influences.drawn(60, rng)).std() / found[-1])
    assert 0.8 <= np.mean(said) / (np.std(found) / np.mean(found)) <= 1.1


def separation(means: Array) -> Array:
    result: Array = means[:, 0, 0] + means[:, 1, 1] - 2.0 * means[:, 0, 1]
    return result


def test_lines_continue_what_was_observed() -> None:
    sizes = np.array([2, 3, 4])
    ratios = 0.25 * (sizes - 1.0)
    assert fit_line(sizes, ratios) == pytest.approx((-0.25, 0.25))
    np.testing.assert_allclose(continue_line(sizes, ratios, np.array([3.5, 9.0])), [0.625, 2.0])
    assert crossing(sizes, ratios) == 5.0
    assert crossing(sizes[:1], ratios[:1]) == 5.0


@pytest.mark.parametrize(
    ("ratios", "number"),
    [
        ([1.2, 1.5, 2.0], 2.0),
        ([0.5, 1.0, 2.0], 4.0),
        ([1.2, 0.9, 2.0], 5.0),  # it must stay, not be reached once
        ([0.3, 0.2, 0.1], np.inf),
        ([0.1, 0.1, 0.1001], np.inf),
    ],
)
def test_numbers_are_those_from_which_the_ratio_stays(ratios: list[float], number: float) -> None:
    assert crossing(np.array([2, 4, 6]), np.array(ratios)) == number


def test_intervals_may_be_open() -> None:
    sizes = np.array([2, 3])
    samples = np.array([[0.5, 1.5], [0.1, 0.05], [0.4, 1.2]])
    answer = decide(sizes, np.array([0.4, 0.9]), samples, 0.95)
    assert (answer.number, answer.low, answer.high) == (4, 3, None)
    assert answer.is_extrapolated
    assert str(Needed(None, None, None, 0.9, True)).endswith(f"more than {MOST_REPLICATES})")


def test_intervals_are_open_where_no_difference_is_shown() -> None:
    sizes, samples = np.array([2, 3]), np.array([[0.5, 1.5], [0.6, 1.4], [0.4, 1.2]])
    ratios = np.array([0.5, 1.4])
    assert decide(sizes, ratios, samples, 0.95, 0.025).high == 3
    answer = decide(sizes, ratios, samples, 0.95, 0.03)
    assert (answer.number, answer.high, answer.is_shown) == (3, None, False)


def p_values(counts: tuple[int, ...], effect: float, seed: int, shift: float = 0.0) -> list[float]:
    """The p-values of pairs of correlated genes, whose signs an effect changes in one condition."""
    rng = np.random.default_rng(seed)
    parts = []
    for c, count in enumerate(counts):
        x = rng.standard_normal((count, 6))
        x[:, 3:] = (1.0 - effect * c) * x[:, :3] + 0.5 * x[:, 3:]
        parts.append(x + shift * rng.standard_normal(6))
    labels = np.repeat(np.arange(len(counts)), counts)
    data = as_expression(np.concatenate(parts), labels.tolist())
    compare = NetworkGrams(mc.kernels.AlignedEdges(), data.genes)
    test = PermutedReplicates(residuals(data), mc.networks.Inference(), compare, seed)
    return list(
        test.run(
            test.tasks(39, 39 if len(counts) > 2 else 0), Resampling(1, seed, threads=1)
        ).values()
    )


def test_permutations_reject_what_differs_and_nothing_else() -> None:
    assert p_values((8, 8), 2.0, 0) == [1 / 40]
    null = [p_values((5, 7), 0.0, seed, shift=5.0)[0] for seed in range(60)]
    assert np.mean(np.array(null) <= 0.1) <= 0.2
    assert 0.35 <= np.mean(null) <= 0.65  # other means are no other network
    three = p_values((8, 8, 8), 0.0, 1)
    assert len(three) == 4  # all, and three pairs


def test_without_centring_other_means_would_look_like_networks() -> None:
    """The reason for residuals: permuted rows with other means have correlations of their own."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 4)) + np.repeat([[0.0] * 4, [9.0] * 4], 8, axis=0)
    data = as_expression(x, ["a"] * 8 + ["b"] * 8)
    mixed = mc.networks.Inference()(rng.permutation(x)[:8])
    assert np.abs(mixed[0, 1:]).min() > 0.7
    centred = mc.networks.Inference()(rng.permutation(np.concatenate(residuals(data)))[:8])
    assert np.abs(centred[0, 1:]).min() < 0.5


def test_a_constant_gene_stays_constant_when_centred() -> None:
    data = as_expression(np.column_stack([np.full(9, 0.1), np.arange(9.0)]), list("aaaabbbbb"))
    for part in residuals(data):
        assert not part[:, 0].any()
        assert part[:, 1].any()


def test_studies_without_a_difference_name_no_end() -> None:
    x, labels = small((6, 6, 6))
    found = mc.replicate_study(x, labels, draws=6, samples=60, random_state=0)
    assert found.answer.p_value > 0.025
    assert found.answer.high is None
    assert "show no difference" in found.sentences[0]
    assert "By themselves these conditions are not told apart" in str(found)


def edges(model: mc.networks.Simulation, condition: int, m: int, rng: np.random.Generator) -> Array:
    """The correlations of a hundred networks of m fresh replicates each, by numpy alone."""
    x = model.draw(condition, 100 * m, rng).reshape(100, m, model.genes)
    z = x - x.mean(axis=1, keepdims=True)
    z /= np.sqrt(np.sum(z**2, axis=1, keepdims=True))
    i, j = np.triu_indices(model.genes, 1)
    r: Array = (np.swapaxes(z, 1, 2) @ z)[:, i, j]
    return r


def truth(model: mc.networks.Simulation, rng: np.random.Generator) -> int:
    """The number that the known networks need, from the definition."""
    for m in range(2, 20):
        a, b = ([edges(model, c, m, rng) for c in range(4)] for _ in range(2))
        scatter = np.mean([0.5 * np.sum((u - v) ** 2, axis=1) for u, v in zip(a, b, strict=True)])
        pairs = [(c, d) for c in range(4) for d in range(c)]
        gaps = [np.sum((a[c] - a[d]) * (b[c] - b[d]), axis=1) for c, d in pairs]
        if scatter <= np.mean(gaps):
            return m
    raise AssertionError("the effect is too weak for this test")


def test_the_number_is_right_within_one() -> None:
    """Six studies of known networks; benchmarks/replicates.py has fifty in nine regimes."""
    model = mc.networks.simulate_expression(**MODEL, random_state=3)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    true = truth(model, rng)
    said = []
    for seed in range(6):
        found = mc.replicate_study(
            model.table(12, rng),
            "condition",
            sizes=[2, 3, 4, 5, 6],
            draws=20,
            samples=60,
            permutations=39,
            random_state=seed,
        )
        said.append(np.inf if found.answer.number is None else found.answer.number)
        assert found.answer.low is not None
        assert found.answer.low <= true
    assert len(said) == 6
    assert np.sum(np.abs(np.array(said) - true) <= 1.0) >= 5, (true, said)
    assert abs(float(np.median(said)) - true) <= 0.5, (true, said)


def test_no_effect_is_never_taken_for_one() -> None:
    """A regime in which the answer cannot be known: the interval says so."""
    model = mc.networks.simulate_expression(**(MODEL | {"effect": 0.0}), random_state=0)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    for seed in range(4):
        found = mc.replicate_study(
            model.table(6, rng), "condition", sizes=[2, 3], draws=15, random_state=seed
        )
        assert found.answer.high is None
        assert not found.answer.is_shown
        assert "show no difference" in found.sentences[0]


def test_a_weak_effect_takes_more_than_one_has() -> None:
    model = mc.networks.simulate_expression(20, 4, effect=0.1, strength=0.95, random_state=0)
    table = model.table(40, np.random.default_rng(0))
    found = mc.replicate_study(table, "condition", sizes=[3, 5, 8], draws=20, random_state=0)
    assert found.answer.number is not None
    assert found.answer.number > 8
    assert found.answer.is_extrapolated
    assert "continues a line" in str(found)
    low, middle, high = (found.curve.at([found.answer.number])[k][0] for k in (1, 0, 2))
    assert low <= middle <= high
    assert middle >= 1.0 - 1e-9


def test_a_seed_decides_everything_and_threads_nothing(study: mc.networks.ReplicateStudy) -> None:
    model = mc.networks.simulate_expression(16, 4, effect=0.8, strength=0.95, random_state=1)
    table = model.table(8, np.random.default_rng(1))
    calls: list[tuple[int, int]] = []
    again = mc.replicate_study(
        table,
        "condition",
        infer=SOFT,
        draws=12,
        samples=60,
        threads=2,
        progress=lambda done, total: calls.append((done, total)),
        random_state=0,
    )
    np.testing.assert_array_equal(again.curve.samples, study.curve.samples)
    np.testing.assert_array_equal(again.map.coordinates, study.map.coordinates)
    assert again.answer == study.answer
    assert again.pairs == study.pairs
    np.testing.assert_array_equal(again.curve.to_full_band, study.curve.to_full_band)
    assert calls[-1][0] == calls[-1][1] == len(calls)
    other = mc.replicate_study(table, "condition", infer=SOFT, draws=12, random_state=5)
    assert not np.array_equal(other.curve.ratio, study.curve.ratio)


def test_rows_may_come_in_any_order(study: mc.networks.ReplicateStudy) -> None:
    model = mc.networks.simulate_expression(16, 4, effect=0.8, strength=0.95, random_state=1)
    table = model.table(8, np.random.default_rng(1))
    labels = table.column("condition").values
    order = np.argsort(np.arange(32) % 8, kind="stable")  # conditions in turn
    found = mc.replicate_study(
        table.matrix()[order], labels[order], infer=SOFT, draws=12, random_state=0
    )
    np.testing.assert_allclose(found.curve.scatter, study.curve.scatter)


def test_distances_to_the_full_network_fall_to_nothing(study: mc.networks.ReplicateStudy) -> None:
    assert study.curve.every.tolist() == list(range(2, 9))
    assert study.curve.sizes.tolist() == [2, 3, 4]
    assert np.all(np.diff(study.curve.to_full.mean(axis=1)) < 0)
    assert not study.curve.to_full[-1].any()
    mean, (low, high) = study.curve.to_full.mean(axis=1), study.curve.to_full_band
    assert np.all((low[:-1] < mean[:-1]) & (mean[:-1] < high[:-1]))
    assert not study.curve.to_full_band[:, -1].any()
    np.testing.assert_array_equal(study.curve.table()["to_full_low"], low)
    curve, columns = study.curve, study.curve.table()
    known = np.isfinite(np.asarray(columns["ratio"]))
    within, between, ratio = (np.asarray(columns[c])[known] for c in ("within", "between", "ratio"))
    np.testing.assert_allclose(within**2, curve.scatter)
    np.testing.assert_allclose(between**2, np.maximum(curve.separation, 0.0), atol=1e-12)
    np.testing.assert_allclose(ratio, np.maximum(curve.separation, 0.0) / curve.scatter)
    assert "of the separation to the scatter" in str(curve)
    np.testing.assert_array_equal(study.curve.table()["to_full_high"], high)
    grams = np.array([[[1.0, 1.0], [1.0, 1.0 + 1e-15]]])
    assert distances(grams, slice(0, 1), slice(1, 2)).tolist() == [[0.0]]


def test_kernels_on_vectors_are_kernels_on_graphs() -> None:
    rng = np.random.default_rng(0)
    W = rng.standard_normal((5, 6, 6))
    W = (W + np.swapaxes(W, 1, 2)) * (rng.random((6, 6)) < 0.5) * (1 - np.eye(6))
    W = (W + np.swapaxes(W, 1, 2)) / 2.0
    names = tuple("abcdef")
    for kernel in (
        mc.kernels.AlignedEdges(),
        mc.kernels.AlignedEdges().normalised(),
        (0.5 * mc.kernels.AlignedEdges() + mc.kernels.AlignedEdges() ** 2),
        mc.kernels.AlignedEdges().gaussian(2.0),
    ):
        assert on_vectors(kernel) is not None
        graphs = [mc.Graph.from_adjacency(w, names) for w in W]
        np.testing.assert_allclose(NetworkGrams(kernel, names).gram(W), kernel(graphs), atol=1e-10)
    assert on_vectors(mc.kernels.AlignedLaplacian()) is None
    assert on_vectors(mc.kernels.AlignedEdges() + mc.kernels.AlignedLaplacian()) is None


@pytest.mark.parametrize(
    "kernel",
    [
        mc.kernels.AlignedHeat(0.1),
        mc.kernels.AlignedLaplacian(),
        "aligned_edges().gaussian('median')",
    ],
)
def test_any_kernel_between_networks_will_do(kernel: Any) -> None:
    model = mc.networks.simulate_expression(10, 2, effect=0.8, random_state=0)
    table = model.table(6, np.random.default_rng(0))
    how = mc.networks.Inference(is_signed=False)
    found = mc.replicate_study(
        table,
        "condition",
        kernel=kernel,
        infer=how,
        sizes=[3],
        draws=4,
        confidence=0.8,
        permutations=9,
        random_state=0,
    )
    assert np.all(found.curve.scatter > 0)
    assert "'median'" not in repr(found.kernel)


def test_inference_may_be_a_function() -> None:
    model = mc.networks.simulate_expression(10, 2, effect=0.8, random_state=0)
    table = model.table(6, np.random.default_rng(0))
    own = mc.replicate_study(
        table, "condition", infer=lambda x: mc.networks.Inference()(x), draws=4, random_state=0
    )
    named = mc.replicate_study(table, "condition", draws=4, random_state=0)
    np.testing.assert_array_equal(own.curve.ratio, named.curve.ratio)
    assert own.networks["00"].low is None
    with pytest.raises(mc.errors.InvalidInput, match="symmetric"):
        mc.replicate_study(
            table,
            "condition",
            infer=lambda x: np.triu(mc.networks.Inference()(x)),
            draws=4,
            random_state=0,
        )
    with pytest.raises(mc.errors.InvalidInput, match="shape"):
        mc.replicate_study(table, "condition", infer=lambda x: np.eye(3), draws=4, random_state=0)


def test_the_lasso_can_be_studied_too() -> None:
    model = mc.networks.simulate_expression(8, 2, effect=0.8, strength=0.9, random_state=0)
    x = model.table(12, np.random.default_rng(0)).matrix()[:24]
    labels = np.repeat(["00", "01"], 12)
    how = mc.networks.Inference("glasso", penalty=0.6, subsamples=3)
    found = mc.replicate_study(
        x, labels, infer=how, sizes=[6], draws=2, confidence=0.8, permutations=9, random_state=0
    )
    assert found.networks["00"].frequencies is not None
    assert np.all(np.isfinite(found.curve.ratio))


def test_networks_and_pairs_are_those_of_the_conditions(study: mc.networks.ReplicateStudy) -> None:
    assert list(study.networks) == list(study.conditions) == ["00", "01", "10", "11"]
    assert study.networks["10"].replicates == 8
    assert len(study.pairs) == 6
    assert study.networks["00"].graph.n == 16
    sizes, places = study.map.trajectory(0)
    assert sizes.tolist() == [*range(2, 9), 0]
    assert places.shape == (8, 2)


def test_long_numbers_stay_different_conditions() -> None:
    table = mc.Table.of({"day": [20261115.0, 20261116.0] * 2, "a": [1.0] * 4, "b": [2.0] * 4})
    assert as_expression(table, "day").conditions == ("20261115", "20261116")


def small(counts: tuple[int, ...]) -> tuple[Array, list[str]]:
    labels = [name for name, count in zip("abc", counts, strict=False) for _ in range(count)]
    return np.random.default_rng(0).standard_normal((sum(counts), 5)), labels


@pytest.mark.parametrize(
    ("counts", "options", "error", "message"),
    [
        ((6,), {}, mc.errors.InvalidInput, "at least 2 conditions"),
        ((6, 3), {}, mc.errors.InvalidInput, "condition 'b'.*at least 4"),
        (
            (6, 5),
            {"infer": mc.networks.Inference(is_signed=False)},
            mc.errors.InvalidInput,
            "at least 6",
        ),
        ((6, 5), {"infer": "partial"}, mc.errors.InvalidInput, "at least 6"),
        ((6, 6), {"sizes": [2, 7]}, mc.errors.InvalidParameter, "between 2 and 6"),
        ((6, 6), {"sizes": [4]}, mc.errors.InvalidParameter, "at most 3"),
        ((6, 6), {"sizes": [1, 2]}, mc.errors.InvalidParameter, "sizes"),
        ((6, 6), {"draws": 0}, mc.errors.InvalidParameter, "draws"),
        ((6, 6), {"confidence": 1.0}, mc.errors.InvalidParameter, "confidence"),
        ((6, 6), {"confidence": 0.99999}, mc.errors.InvalidParameter, "lower it"),
        ((6, 6), {"permutations": 38}, mc.errors.InvalidParameter, "permutations"),
        ((6, 6), {"infer": 3}, mc.errors.InvalidParameter, "infer"),
        ((6, 6), {"infer": "magic"}, mc.errors.InvalidParameter, "method"),
    ],
)
def test_refusals_say_what_and_why(
    counts: tuple[int, ...], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    x, labels = small(counts)
    with pytest.raises(error, match=message):
        mc.replicate_study(x, labels, **options)


def test_conditions_may_have_unequal_numbers_of_replicates() -> None:
    x, labels = small((4, 6, 7))
    found = mc.replicate_study(x, labels, draws=4, random_state=0)
    assert found.replicates == (4, 6, 7)
    assert found.curve.sizes.tolist() == [2]
    assert found.curve.every.tolist() == [2, 3, 4]


def test_sparse_counts_are_remarked() -> None:
    x = np.random.default_rng(0).poisson(0.5, (12, 8)).astype(float)
    found = mc.replicate_study(x, ["a"] * 6 + ["b"] * 6, draws=3, random_state=0)
    assert "repeat one value" in str(found)
    smooth = mc.replicate_study(small((6, 6))[0], small((6, 6))[1], draws=3, random_state=0)
    assert smooth.repeated == 0.0
    assert "repeat one value" not in str(smooth)


def test_networks_that_never_differ_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="all alike"):
        mc.replicate_study(np.ones((12, 4)), ["a"] * 6 + ["b"] * 6, draws=3, random_state=0)
    two_genes = mc.replicate_study(
        small((4, 4))[0][:, :2], small((4, 4))[1], draws=3, random_state=0
    )
    assert not two_genes.map.coordinates[:, 1].any()  # one edge makes one axis


def test_conditions_are_labels_or_columns() -> None:
    x, labels = small((4, 5))
    with pytest.raises(
        mc.errors.InvalidInput, match="row 2 has no condition; .* leave the row out"
    ):
        mc.replicate_study(x, [*labels[:2], None, *labels[3:]], random_state=0)
    with pytest.raises(mc.errors.InvalidInput, match="8 conditions were given for 9"):
        mc.replicate_study(x, labels[:8], random_state=0)
    with pytest.raises(mc.errors.InvalidParameter, match="names a column"):
        mc.replicate_study(x, "condition", random_state=0)
    columns = {"t": [20.0, 20.0, 25.0, 25.0] * 4, "c": ["lo", "hi"] * 8}
    genes = np.random.default_rng(0).standard_normal((16, 3))
    table = mc.Table.of(columns | {f"g{j}": genes[:, j] for j in range(3)})
    found = mc.replicate_study(table, ["t", "c"], draws=3, random_state=0)
    assert found.conditions == ("20 × hi", "20 × lo", "25 × hi", "25 × lo")
    assert found.genes == ("g0", "g1", "g2")
    with pytest.raises(mc.errors.InvalidParameter, match="no column"):
        mc.replicate_study(table, ["t", "d"], random_state=0)


@pytest.mark.parametrize(
    "picture",
    [
        drawn.replicate_curve,
        drawn.replicate_map,
        drawn.replicate_pairs,
        drawn.replicate_networks,
    ],
)
def test_pictures_are_drawn_by_both_libraries(
    picture: Any, study: mc.networks.ReplicateStudy
) -> None:
    described = picture.describe(study)
    axes = np.ravel(draw(described))
    axes[0].figure.clear()
    assert len(plotly(described).data) > 0


def test_the_curve_marks_the_answer(study: mc.networks.ReplicateStudy) -> None:
    panel = drawn.replicate_curve.describe(study)
    names = [getattr(mark, "name", None) for mark in panel.marks]
    assert f"enough: {study.answer.number}" in names
    assert "to the own condition" in names
    assert "to the network of all replicates, of which these are a part" in names
    assert sum(isinstance(mark, Band) for mark in panel.marks) == 2


def test_the_page_begins_with_the_answer(study: mc.networks.ReplicateStudy, tmp_path: Path) -> None:
    page = replicates_page(tmp_path / "p.html", study, command="mercer replicates x.csv")
    text = page.read_text(encoding="utf-8")
    assert f'<p class="result">{study.sentences[0][:12]}' in text
    assert '<p class="choice">The study has ' in text  # below the answer
    assert "mercer replicates x.csv" in text
    assert text.count("<svg") >= 4
    assert page.stat().st_size < 10_000_000


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = mc.networks.simulate_expression(12, 3, effect=0.8, strength=0.95, random_state=1)
    table = model.table(6, np.random.default_rng(1))
    rows = zip(*(c.values.tolist() for c in table.columns()), strict=True)
    lines = [",".join(table.names), *(",".join(map(str, row)) for row in rows)]
    path = tmp_path_factory.mktemp("study") / "expression.csv"
    path.write_text("\n".join(lines))
    return path


def test_the_command_answers_in_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replicates", str(file), "--condition", "condition", "--draws", "6", "--no-page"]
    assert main([*words, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["conditions"] == {"00": 6, "01": 6, "10": 6, "11": 6}
    known = {
        "number",
        "low",
        "high",
        "confidence",
        "is_extrapolated",
        "p_value",
        "is_difference_shown",
    }
    assert set(value["answer"]) == known
    assert len(value["curve"]["to_full_low"]) == 5
    assert value["curve"]["replicates"] == [2, 3, 4, 5, 6]
    assert len(value["pairs"]) == 6
    assert main([*words, "-q"]) == 0
    out = capsys.readouterr()
    assert value["sentence"] in out.out
    assert out.err == ""


def test_the_command_writes_what_is_asked(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, curve, edges = (str(tmp_path / n) for n in ("p.html", "curve.csv", "edges.csv"))
    words = ["replicates", str(file), "--condition", "condition", "--draws", "4", "--power", "2"]
    assert main([*words, "--page", page, "--out", curve, "--edges", edges, "-q"]) == 0
    assert Path(curve).read_text().startswith("replicates,within,between,ratio")
    assert Path(edges).read_text().startswith("condition,gene,with,weight")
    text = Path(page).read_text(encoding="utf-8")
    assert "--power 2.0" in text
    assert "Inference(method=" in text
    capsys.readouterr()
    Path(page).write_text("<p>mine</p>")
    assert main([*words, "--page", page]) == 2
    assert "--force" in capsys.readouterr().err
    assert Path(page).read_text() == "<p>mine</p>"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--condition", "nothing"], 2, "no column"),
        (["--condition", "condition", "--sizes", "two"], 2, "--sizes"),
        (["--condition", "condition", "--infer", "partial", "--sizes", "2,3"], 2, "sizes"),
        (["--condition", "condition", "--kernel", "aligned_heat()"], 3, "weight"),
        (["--condition", "condition", "--kernel", "magic()"], 2, "--kernel"),
        (["--condition", "gene 1"], 3, "condition"),
    ],
)
def test_the_command_refuses_with_its_codes(
    file: Path, words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replicates", str(file), *words, "--no-page", "--draws", "3"]) == code
    assert message in capsys.readouterr().err


def test_a_plan_computes_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replicates", str(file), "--condition", "condition", "--dry-run", "--json"]
    assert main(words) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["sizes"] == [2, 3, 4, 5, 6]
    assert value["networks"] == 100 * (2 * 8 + 3 * 4) + 24 + 4 + 4 * 39 + 12 * 39
    assert not list(file.parent.glob("*.html"))


def test_the_page_lives_in_a_browser_and_runs_no_name_of_a_gene(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    genes = {name: rng.standard_normal(10) for name in HOSTILE}
    table = mc.Table.of({"kind": [f"{HOSTILE[0]} {c}" for c in "aaaaabbbbb"], **genes})
    found = mc.replicate_study(table, "kind", draws=3, samples=20, permutations=39, random_state=0)
    page = replicates_page(tmp_path / "p.html", found, title=HOSTILE[1])
    with started() as browser, visit(browser, page) as seen:
        assert seen.messages == []
        assert [url for url in seen.requests if not url.startswith("data:")] == [page.as_uri()]
        assert seen.ask("window.hacked ?? 'nothing'") == "nothing"
        assert seen.page.locator("iframe, img, object, embed, [onload], [onerror]").count() == 0
        assert seen.page.locator("figure").count() >= 4
        words = " ".join(seen.texts("body"))
        assert found.sentences[0] in words
        assert HOSTILE[0] in words
        assert "to the network of all replicates" in words
