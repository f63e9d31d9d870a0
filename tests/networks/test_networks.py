"""Networks of few replicates: coefficients against their definitions, values, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from sklearn.covariance import graphical_lasso

import mercer as mc
from mercer.check import Array
from mercer.networks import expression
from mercer.networks.inference import FEWEST, METHODS, fisher


def table(n: int = 12, p: int = 5, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x: Array = rng.standard_normal((n, p))
    x[:, 1] += 2.0 * x[:, 0]
    x[:, 2] += 2.0 * x[:, 1]
    return x


def test_correlations_are_those_of_scipy() -> None:
    x = table()
    assert expression.correlations(x)[0, 3] == pytest.approx(pearsonr(x[:, 0], x[:, 3])[0])
    assert expression.rank_correlations(x)[0, 3] == pytest.approx(spearmanr(x[:, 0], x[:, 3])[0])


def test_ties_have_mean_ranks() -> None:
    x = np.array([[1.0, 5.0], [1.0, 3.0], [2.0, 4.0], [3.0, 4.0]])
    assert expression.rank_correlations(x)[0, 1] == pytest.approx(spearmanr(x)[0])


def shrinkage_by_its_sums(x: Array) -> float:
    """Schäfer and Strimmer's formula term by term."""
    n, p = x.shape
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    variances = squares = 0.0
    for j in range(p):
        for k in range(p):
            if j != k:
                w = z[:, j] * z[:, k]
                variances += n / (n - 1) ** 3 * float(np.sum((w - w.mean()) ** 2))
                squares += (n / (n - 1) * float(w.mean())) ** 2
    return min(1.0, variances / squares)


@pytest.mark.parametrize("seed", range(4))
def test_shrinkage_is_the_published_sum(seed: int) -> None:
    x = table(6, 7, seed)
    assert expression.shrinkage(x) == pytest.approx(shrinkage_by_its_sums(x))


@pytest.mark.parametrize(("n", "p"), [(4, 9), (20, 5)])
def test_partial_correlations_are_those_of_the_inverse(n: int, p: int) -> None:
    x = table(n, p)
    s = expression.shrinkage(x)
    R = (1.0 - s) * np.corrcoef(x.T) + s * np.eye(p)
    omega = np.linalg.inv(R)
    d = np.sqrt(np.diag(omega))
    expected = -omega / np.outer(d, d)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(expression.partial_correlations(x), expected, atol=1e-12)


def test_partial_correlations_find_what_is_mediated() -> None:
    x = table(400, 3)  # 0 -> 1 -> 2
    found = np.abs(expression.partial_correlations(x))
    assert np.abs(expression.correlations(x))[0, 2] > 0.8
    assert found[0, 2] < 0.15 < found[0, 1]


def test_the_lasso_finds_a_chain_and_nothing_else() -> None:
    x = table(200, 6)
    network = mc.networks.infer_network(x, "glasso", penalty=0.2, random_state=0)
    assert {(0, 1), (1, 2)} <= set(map(tuple, network.graph.edges.tolist()))
    assert network.frequencies is not None
    assert network.frequencies[0, 1] == 1.0
    assert network.frequencies[3, 5] < 0.5
    assert network.low is None


@pytest.mark.parametrize(("n", "p", "penalty"), [(12, 40, 0.3), (20, 40, 0.43), (15, 60, 0.5)])
def test_the_lasso_is_at_the_optimum_of_its_problem(n: int, p: int, penalty: float) -> None:
    x = np.random.default_rng(0).standard_normal((n, p)) @ (np.eye(p) + 0.3 * np.eye(p, k=1))
    R = np.corrcoef(x.T)
    _, precision = graphical_lasso(R, penalty, tol=1e-11 * p, enet_tol=1e-12, max_iter=1_000)
    W = np.linalg.inv(precision)  # W - R is α times a subgradient of the sum of moduli
    off = ~np.eye(p, dtype=bool)
    edge = off & (precision != 0.0)
    np.testing.assert_allclose((W - R)[edge], penalty * np.sign(precision[edge]), atol=1e-6)
    assert np.all(np.abs((W - R)[off & ~edge]) <= penalty + 1e-9)
    d = np.sqrt(np.diag(precision))
    found = expression.lasso(x, penalty)
    expected = np.where(off, -precision / np.outer(d, d), 0.0)
    np.testing.assert_allclose(found, expected, atol=2e-6)  # a gap of 1e-3 left up to 5e-3


def test_intervals_cover_at_their_level() -> None:
    rng = np.random.default_rng(3)
    rho, n, runs = 0.6, 12, 2_000
    x = rng.standard_normal((runs, n))
    y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((runs, n))
    xc, yc = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    r = np.sum(xc * yc, 1) / np.sqrt(np.sum(xc**2, 1) * np.sum(yc**2, 1))
    low, high = fisher(r, n, 0.9)
    assert np.mean((low <= rho) & (rho <= high)) == pytest.approx(0.9, abs=0.025)


def test_intervals_know_nothing_of_three_replicates() -> None:
    network = mc.networks.infer_network(table(3), random_state=0)
    assert network.low is not None
    assert network.high is not None
    assert np.all(network.low == -1.0)
    assert np.all(network.high == 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_makes_a_graph_for_the_kernels(method: str) -> None:
    networks = [
        mc.networks.infer_network(table(10, 6, seed), method, is_signed=False, random_state=0)
        for seed in (0, 1)
    ]
    graphs = [network.graph for network in networks]
    for kernel in (
        mc.kernels.AlignedEdges(),
        mc.kernels.AlignedLaplacian(),
        mc.kernels.AlignedHeat(0.5),
    ):
        K = kernel(graphs)
        assert np.all(np.isfinite(K))
        assert np.all(np.linalg.eigvalsh(K) >= -1e-9)
    assert graphs[0].labels == networks[0].names
    np.testing.assert_array_equal(networks[0].weights, networks[0].weights.T)
    assert not networks[0].weights.flags.writeable


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(["correlation", "spearman", "partial"]))
def test_networks_do_not_depend_on_units_or_order(seed: int, method: str) -> None:
    x = table(8, 5, seed)
    rng = np.random.default_rng(seed)
    how = mc.networks.Inference(method)
    moved = x[rng.permutation(8)] * rng.uniform(0.1, 100.0, 5) + rng.normal(0.0, 10.0, 5)
    np.testing.assert_allclose(how(moved), how(x), atol=1e-7)
    genes = rng.permutation(5)
    np.testing.assert_allclose(how(x[:, genes]), how(x)[np.ix_(genes, genes)], atol=1e-9)


@pytest.mark.filterwarnings("ignore:graphical_lasso")
def test_a_constant_gene_has_no_edges() -> None:
    x = table()
    x[:, 4] = 7.3
    for method in METHODS:
        weights = mc.networks.Inference(method)(x)
        assert np.all(np.isfinite(weights))
        assert not weights[4].any()


def test_thresholds_are_hard_and_powers_soft() -> None:
    x = table()
    r = expression.correlations(x)
    hard = mc.networks.Inference(threshold=0.5)(x)
    np.testing.assert_array_equal(hard, np.where(np.abs(r) >= 0.5, r, 0.0))
    soft = mc.networks.Inference(power=6.0)(x)
    np.testing.assert_allclose(soft, np.sign(r) * np.abs(r) ** 6)
    np.testing.assert_allclose(mc.networks.Inference(power=6.0, is_signed=False)(x), np.abs(soft))


def test_data_frames_and_tables_give_names() -> None:
    plants = mc.Table.of({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 1.5], "kind": ["x", "y", "x"]})
    assert mc.networks.infer_network(plants, random_state=0).names == ("a", "b")
    assert mc.networks.infer_network(plants.frame("polars"), random_state=0).names == ("a", "b")
    both = mc.networks.infer_networks(
        mc.Table.of({"a": [1.0, 2.0, 0.0, 1.0], "b": [1.0, 2.0, 3.0, 4.0], "k": list("uuvv")}),
        "k",
        random_state=0,
    )
    assert both["u"].weights[0, 1] == pytest.approx(1.0)
    assert both["v"].names == ("a", "b")


def test_edges_come_heaviest_first() -> None:
    edges = mc.networks.infer_network(table(), threshold=0.3, random_state=0).table()
    assert list(edges) == ["gene", "with", "weight", "estimate", "low", "high"]
    assert np.all(np.diff(np.abs(edges["weight"])) <= 0)
    frame = mc.networks.infer_network(table(), random_state=0).table("pandas")
    assert len(frame) == 10


def test_the_caller_keeps_the_data() -> None:
    x = table()
    before = x.copy()
    for method in METHODS:
        mc.networks.infer_network(x, method, random_state=0)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"power": 0.0}, "power"),
        ({"threshold": 1.5}, "between 0 and 1"),
        ({"penalty": 0.5}, "penalty is of the lasso"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_parameters_are_refused_by_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        mc.networks.infer_network(table(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_too_few_replicates_are_refused(method: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=f"at least {FEWEST[method]} replicates"):
        mc.networks.infer_network(table(FEWEST[method] - 1), method, random_state=0)


def test_missing_numbers_and_single_genes_are_refused() -> None:
    x = table()
    x[2, 1] = np.nan
    with pytest.raises(mc.errors.InvalidInput, match="row 2, column 1"):
        mc.networks.infer_network(x, random_state=0)
    with pytest.raises(mc.errors.InvalidInput, match="at least 2 genes"):
        mc.networks.infer_network(x[:, :1], random_state=0)


def test_simulated_precision_matrices_are_those_of_the_data() -> None:
    model = mc.networks.simulate_expression(12, 3, effect=0.5, strength=0.8, random_state=2)
    x = model.draw(3, 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.inv(np.cov(x.T)), model.precision(3), atol=0.12)
    off = model.precision(3) - np.diag(np.diag(model.precision(3)))
    u, v = model.network(3).edges.T
    assert np.count_nonzero(off) == 2 * len(u)
    assert np.all(off[u, v] != 0.0)


def test_effects_are_shares_of_genes_that_change_their_hub() -> None:
    model = mc.networks.simulate_expression(44, 4, effect=0.25, random_state=0)
    base, second, first, both = model.regulators
    assert np.sum(first != base) == np.sum(second != base) == 10
    assert np.all(both[second != base] == second[second != base])
    still = mc.networks.simulate_expression(44, 4, effect=0.0, random_state=0)
    assert np.all(still.regulators == still.regulators[0])
