"""How often intervals and tests of the bootstrap are right, at n = 50 individuals and p = 10.

Replicates of a table are found all at once here, from p x p covariances, so that there can be
thousands of samples; the first test says that they are those of `mercer.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

import mercer as mc
from mercer.check import Array
from mercer.stability.bootstrapping import log_errors, studentised, ties
from mercer.stability.reweighted import source_of

N, R = 50, 100
REST = (0.3,) * 8


@dataclass(frozen=True)
class Replicates:
    """A table from its mean with its first axes, and the weights of its replicates, R x n."""

    table: Array
    weights: Array
    axes: int

    @property
    def model(self) -> tuple[Array, Array]:
        """Inertias and scores of the table."""
        values, vectors = np.linalg.eigh(self.table.T @ self.table / N)
        return values[::-1][: self.axes], self.table @ vectors[:, ::-1][:, : self.axes]

    def covariances(self, columns: Array) -> Array:
        """Return those of n x k columns, in each replicate."""
        means, k = self.weights @ columns, columns.shape[1]
        products = (columns[:, :, None] * columns[:, None, :]).reshape(N, k * k)
        squares = (self.weights @ products).reshape(-1, k, k)
        return np.asarray(squares - means[:, :, None] * means[:, None, :])

    @property
    def inertias(self) -> tuple[Array, Array]:
        """Those of the replicates, and the errors of their logarithms, R x axes."""
        values, vectors = np.linalg.eigh(self.covariances(self.table))
        values = values[:, ::-1][:, : self.axes]
        around = self.table - (self.weights @ self.table)[:, None]
        scores = around @ vectors[:, :, ::-1][:, :, : self.axes]
        squares = (scores**2 / values[:, None] - 1.0) ** 2
        return values, np.sqrt(np.einsum("rn,rnk->rk", self.weights / N, squares))


def samples(inertias: tuple[float, ...], count: int, axes: int, seed: int) -> Iterator[Replicates]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        table = rng.standard_normal((N, len(inertias))) * np.sqrt(inertias)
        weights = rng.multinomial(N, np.full(N, 1 / N), size=R) / N
        yield Replicates(table - table.mean(axis=0), weights, axes)


def test_replicates_found_at_once_are_those_of_the_bootstrap() -> None:
    drawn = next(samples((6.0, 3.0, *REST), 1, 2, seed=0))
    source = source_of(mc.PCA(2), drawn.table, 2)
    scores = drawn.model[1] * np.sign(np.sum(drawn.model[1] * source.scores, axis=0))
    np.testing.assert_allclose(scores, source.scores, atol=1e-9)
    for r in range(5):
        one = source.at(drawn.weights[r])
        np.testing.assert_allclose(drawn.inertias[0][r], one.inertias, rtol=1e-9)
        errors = log_errors(one.scores, one.inertias, drawn.weights[r] / N)
        np.testing.assert_allclose(drawn.inertias[1][r], errors, rtol=1e-7)
        covariances = drawn.covariances(scores)[r]
        np.testing.assert_allclose(covariances, one.covariances[:2, :2], atol=1e-9)


def test_intervals_of_the_second_inertia_hold_it_where_percentiles_do_not() -> None:
    truth = np.array([6.0, 3.0])
    ours, percentiles = [], []
    for drawn in samples((6.0, 3.0, *REST), 600, 2, seed=1):
        inertias, scores = drawn.model
        error = log_errors(scores, inertias, np.full(N, 1 / N**2))
        low, high = studentised(inertias, error, *drawn.inertias, 0.95).T
        ours.append((low <= truth) & (truth <= high))
        low, high = np.quantile(drawn.inertias[0], [0.025, 0.975], axis=0)
        percentiles.append((low <= truth) & (truth <= high))
    assert np.all(np.mean(ours, axis=0) > 0.92)  # 94 % of both in 1 000 samples
    assert np.mean(percentiles, axis=0)[1] < 0.89  # 86 %


def test_equal_inertias_are_told_apart_at_most_at_the_stated_rate() -> None:
    told: dict[str, list[bool]] = {"Hotelling": [], "χ²": []}
    for drawn in samples((3.0, 3.0, *REST), 4000, 3, seed=1):
        inertias, scores = drawn.model
        covariances = drawn.covariances(scores)
        told["Hotelling"].append(bool(ties(inertias, covariances, float(N))[0] <= 0.05))
        parts = covariances[:, 0, 0] - covariances[:, 1, 1], 2.0 * covariances[:, 0, 1]
        gap = np.array([inertias[0] - inertias[1], 0.0])
        distance = gap @ np.linalg.solve(np.cov(np.array(parts)), gap)
        told["χ²"].append(bool(chi2.sf(distance, 2) <= 0.05))
    rates = {law: float(np.mean(found)) for law, found in told.items()}
    assert 0.03 < rates["Hotelling"] < 0.05  # 4 %
    assert rates["χ²"] > 0.055  # 6 %, with which this would fail
