"""Slopes of axes: against differences for every kernel, and the correlation circle where linear."""

from __future__ import annotations

import inspect
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import mercer as mc
from mercer.check import Array
from mercer.datasets import decathlon
from mercer.kernels.base import all_kernels
from mercer.pca import slopes as module
from mercer.pca.slopes import axis_slopes, combined_slopes
from tests import strategies
from tests.derivatives import slope_of

RNG = np.random.default_rng(11)
GRID = np.linspace(0.2, 2.0, 14)
X = np.column_stack([RNG.permutation(GRID), RNG.permutation(GRID)])
NEW = X[:5] + [0.05, 0.04]  # away from kinks, which are where a coordinate is one of X


def _falling(t: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(1.0 + t))


def _falling_slope(t: Array) -> Array:
    return np.asarray(-0.5 * (1.0 + t) ** -1.5)


KERNELS: list[mc.Kernel] = [
    mc.Linear(),
    mc.kernel("rbf"),
    mc.kernels.Tanimoto(),
    mc.Polynomial(3, 0.5, 0.7),
    mc.kernels.Bilinear([[2.0, 0.3], [0.3, 1.0]]),
    mc.Gaussian(0.8),
    mc.Gaussian((0.8, 1.4)),
    mc.Laplacian(1.1),
    mc.Laplacian(1.1, norm=1.5),
    mc.Laplacian((1.1, 0.7), norm=2.0),
    mc.Matern(0.5, 1.0),
    mc.Matern(1.5, (1.0, 2.0)),
    mc.Matern(3.3, 1.0),
    mc.kernels.RationalQuadratic(1.3, 0.9),
    mc.kernels.Periodic(2.5, 1.2),
    mc.kernels.Sinc(0.6),
    mc.kernels.Sobolev(2.0, 0.9),
    mc.kernels.Characteristic("cauchy", 0.8),
    mc.kernels.Bessel(0.5, 0.9),
    mc.kernels.Bessel(1.5, (0.8, 1.4)),
    mc.kernels.Waves([[1.0, 0.3], [-0.4, 2.0]], [1.0, 3.0]),
    mc.kernels.CompletelyMonotone(_falling, 0.9, _falling_slope),
    mc.kernels.NegativeDistance(1.3),
    mc.kernels.Aitchison(),
    mc.kernels.ChiSquare(),
    mc.kernels.Aitchison().stretched((2.0, 0.5)),
    mc.Gaussian(0.8) + 0.1 * mc.Linear(),
    mc.Gaussian(0.8) * mc.Polynomial(2, 1.0, 1.0),
    mc.Linear() ** 2,
    mc.Linear().polynomial([0.5, 1.0, 0.3]),
    (0.2 * mc.Linear()).exp(),
    mc.Polynomial(2, 1.0, 1.0).normalised(),
    mc.Linear().gaussian(0.9),
    mc.Gaussian(0.8).centred(X[:3]),
    mc.Gaussian(0.8).weighted(strategies.bump, strategies.bump_slope),
    mc.Gaussian(0.8).on(strategies.bend, strategies.bend_jacobian),
    mc.Gaussian(0.8).weighted(strategies.wave, strategies.wave_slope),
    mc.kernels.Standardised(),
    mc.kernels.Standardised().gaussian(0.9) + 2.0,
]

ON_THE_LINE: list[mc.Kernel] = [mc.kernels.Brownian(), mc.kernels.CubicSpline()]

SIMILARITIES: list[mc.Kernel] = [mc.kernels.Sigmoid(0.3, 0.2)]
"""What need not be positive definite: compared as functions, and refused as slopes of axes."""

OF_PARTS: list[mc.Kernel] = [
    mc.kernels.tensor_sum(mc.Gaussian(1.0), mc.Linear()),
    mc.kernels.tensor_product(mc.Gaussian(1.0), mc.Linear()),
]
"""Kernels of points that are no vectors."""


def differences(model: Any, x: Array) -> Array:
    """Return the slopes of `transform` by differences of fourth order."""
    columns = np.eye(x.shape[1])
    found = [slope_of(lambda h, e=e: model.transform(x + h * e)) for e in columns]  # type: ignore[misc]
    return np.stack(found, axis=1)


def assert_slopes(model: Any, x: Array, accuracy: float = 1e-7) -> None:
    arrows = axis_slopes(model, x).arrows
    expected = differences(model, x)
    assert arrows.shape == (*x.shape, len(model.inertias_))
    size = np.max(np.abs(expected)) + np.max(np.abs(model.transform(x)))
    np.testing.assert_allclose(arrows, expected, rtol=0, atol=accuracy * size)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_slopes_are_differences_for_every_differentiable_kernel(kernel: mc.Kernel) -> None:
    assert_slopes(mc.KernelPCA(2, kernel=kernel).fit(X), NEW)


def test_every_kernel_that_states_slopes_is_compared_or_refuses_them() -> None:
    tried = [*KERNELS, *ON_THE_LINE, *SIMILARITIES, *OF_PARTS, *ON_TABLES]
    stated = {
        kind
        for kind in all_kernels().values()
        if kind.__module__.startswith("mercer.")
        and kind.evaluate_slopes is not mc.Kernel.evaluate_slopes
        and not inspect.isabstract(kind)
    }
    assert stated - {type(k) for kernel in tried for k in every(kernel)} == set()


@pytest.mark.parametrize("kernel", SIMILARITIES, ids=repr)
def test_slopes_of_similarities_are_differences(kernel: mc.Kernel) -> None:
    columns = np.eye(2)
    expected = [slope_of(lambda h, e=e: kernel(NEW + h * e, X)) for e in columns]  # type: ignore[misc]
    np.testing.assert_allclose(kernel.slopes(NEW, X), np.stack(expected, axis=2), atol=1e-9)


@pytest.mark.parametrize("kernel", OF_PARTS, ids=repr)
def test_kernels_of_parts_refuse_slopes_by_name(kernel: mc.Kernel) -> None:
    points = mc.data.Paired(X, X[:, :1])
    with pytest.raises(mc.errors.NotDifferentiable, match="product space"):
        kernel.slopes(points, points)
    with pytest.raises(mc.errors.InvalidParameter, match="rows of numbers"):
        axis_slopes(mc.KernelPCA(1, kernel=kernel).fit(points))


def tables(n: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "word": [f"w{i % 3}" for i in range(n)],
        "u": rng.uniform(0.2, 2.0, n),
        "genes": rng.uniform(0.2, 2.0, (n, 2)),
        "code": rng.integers(0, 2, n),
        "v": rng.uniform(0.2, 2.0, n).tolist(),
    }


TABLE = tables(14, 4)

ON_TABLES: list[mc.Kernel] = [
    mc.Columns({"u": mc.Linear(), "v": mc.Gaussian(1.0), "genes": mc.Matern(1.5, 1.0)}),
    mc.Columns({"u": mc.Gaussian(0.8), "genes": mc.Polynomial(2), "word": mc.kernels.Category()}),
    mc.Columns(
        {("v", "u"): mc.Gaussian((0.5, 1.5)), "code": mc.kernels.Category()}, weights=[2.0, 0.5]
    ),
    mc.Columns({"u": mc.Gaussian(1.0), "genes": mc.Polynomial(2, 1.0, 1.0)}, product=True),
    mc.Columns({"word": mc.kernels.Category(), "u": mc.Gaussian(1.0)}, product=True),
    mc.Columns({"u": mc.Gaussian(1.0)}) * (1.0 + mc.Columns({"v": mc.Linear()})),
    mc.Columns({"u": mc.Linear(), "genes": mc.Linear()}).gaussian(0.9),
    mc.Columns({"v": mc.Polynomial(2), "u": mc.Gaussian(1.0)}).normalised(),
    mc.Columns({"u": mc.kernels.Standardised(), "word": mc.kernels.Category()}, weights="balanced"),
]


@pytest.mark.parametrize("kernel", ON_TABLES, ids=repr)
def test_slopes_on_tables_are_differences_in_their_numbers(kernel: mc.Kernel) -> None:
    model = mc.KernelPCA(2, kernel=kernel).fit(TABLE)
    found = axis_slopes(model, {name: column[:5] for name, column in tables(9, 5).items()})
    assert found.arrows.shape == (5, len(found.names), 2)
    for j, name in enumerate(found.names):

        def moved(h: float, name: str = name) -> Array:
            table = {n: np.array(c)[:5] for n, c in tables(9, 5).items()}
            if name.startswith("genes"):
                table["genes"][:, int(name[6])] += h
            else:
                table[name] = table[name] + h
            scores: Array = model.transform(table)
            return scores

        expected = slope_of(moved)
        np.testing.assert_allclose(found.arrows[:, j], expected, rtol=0, atol=1e-7)
    read = {"genes[0]": "genes", "genes[1]": "genes"}
    assert {read.get(name, name) for name in found.names} <= {"u", "v", "genes"}
    assert np.all(np.isfinite(found.circle))


def test_slopes_of_a_table_of_numbers_are_those_of_a_matrix() -> None:
    columns = mc.Columns({"u": mc.Gaussian(1.0), "v": mc.Gaussian(2.0)}, product=True)
    by_table = axis_slopes(mc.KernelPCA(2, kernel=columns).fit({"v": X[:, 1], "u": X[:, 0]}))
    by_matrix = axis_slopes(mc.KernelPCA(2, kernel=mc.Gaussian((1.0, 2.0))).fit(X))
    assert by_table.names == ("v", "u")
    np.testing.assert_allclose(by_table.arrows[:, ::-1], by_matrix.arrows, atol=1e-9)
    np.testing.assert_allclose(by_table.circle[::-1], by_matrix.circle, atol=1e-9)


def test_tables_without_numbers_have_no_slopes() -> None:
    kernel = mc.Columns({"word": mc.kernels.Category(), "code": mc.kernels.Category()})
    with pytest.raises(mc.errors.NotDifferentiable, match="no column of the table as numbers"):
        axis_slopes(mc.KernelPCA(1, kernel=kernel).fit(TABLE))
    with pytest.raises(mc.errors.NotDifferentiable, match="Category has no slopes"):
        kernel.resolve(TABLE).slopes(TABLE)
    with pytest.raises(mc.errors.NotDifferentiable, match="one by one"):
        mc.Columns({"u": mc.Linear()}).slopes([{"u": 1.0}, {"u": 2.0}])


def every(kernel: mc.Kernel) -> list[mc.Kernel]:
    return [kernel, *(k for child in kernel.children().values() for k in every(child))]


@pytest.mark.parametrize("kernel", ON_THE_LINE, ids=repr)
def test_slopes_of_kernels_on_the_line(kernel: mc.Kernel) -> None:
    x = np.linspace(0.1, 2.0, 9)[:, None]
    assert_slopes(mc.KernelPCA(2, kernel=kernel).fit(x), x[:-1] + 0.05)


@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
@given(strategies.smooth_kernels(), strategies.distinct_points(3, 5), strategies.distinct_points())
def test_combinations_have_the_slopes_of_their_terms(k: mc.Kernel, y: Array, x: Array) -> None:
    weights = np.column_stack([np.linspace(-1.0, 1.0, len(y)), np.ones(len(y))])
    expected = np.einsum("ijd,jk->idk", k.slopes(x, y), weights)
    size = max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(combined_slopes(k, x, y, weights), expected, atol=1e-12 * size)


@pytest.mark.parametrize("method", ["exact", "nystrom"])
def test_slopes_of_other_methods_and_weights(method: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((60, 3))
    model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0), method=method, random_state=0)
    assert_slopes(model.fit(x, sample_weight=rng.integers(0, 3, 60)), x[:7])


@pytest.mark.parametrize("standardize", [True, False])
def test_linear_arrows_are_coefficients_and_the_circle_is_that_of_correlations(
    standardize: bool,
) -> None:
    table = decathlon()
    model = mc.PCA(standardize=standardize).fit(table)
    found = axis_slopes(model)
    expected = model.components_.T / model.scale_[:, None]
    np.testing.assert_allclose(found.arrows, np.broadcast_to(expected, found.arrows.shape))
    np.testing.assert_allclose(found.circle, model.variables_.correlations, atol=1e-12)
    per_deviation = axis_slopes(model, standardize=True).means
    # √λ times the slope in one standard deviation is the coordinate of a standardised variable.
    scaled = per_deviation * np.sqrt(model.inertias_)
    if standardize:
        np.testing.assert_allclose(scaled, model.variables_.correlations, atol=1e-12)
    squares = (per_deviation if standardize else found.means) ** 2
    np.testing.assert_allclose(squares, model.variables_.contributions, atol=1e-12)


def test_linear_kernel_has_the_circle_of_pca() -> None:
    matrix = decathlon().matrix()
    model = mc.KernelPCA(4, kernel=mc.Linear()).fit(matrix)
    found = axis_slopes(model)
    np.testing.assert_allclose(found.circle, model.variables_.correlations, atol=1e-11)
    assert np.ptp(found.arrows, axis=0).max() < 1e-12
    cosines = np.sum(found.circle * model.variables_.correlations, axis=1)
    lengths = np.sum(model.variables_.correlations**2, axis=1)
    np.testing.assert_allclose(cosines, lengths, atol=1e-11)


def test_the_circle_of_normal_variables_is_near_their_correlations() -> None:
    x = np.random.default_rng(0).standard_normal((800, 3))
    model = mc.KernelPCA(3, kernel=mc.Gaussian(2.0)).fit(x)
    gap = axis_slopes(model).circle - model.variables_.correlations
    assert np.abs(gap).max() < 0.1


def test_variables_that_do_not_matter_have_no_influence() -> None:
    x = np.random.default_rng(1).standard_normal((50, 3))
    kernel = mc.Gaussian(1.0).on(
        lambda x: x[:, :2], lambda x: np.tile(np.eye(2, 3), (len(x), 1, 1))
    )
    found = axis_slopes(mc.KernelPCA(2, kernel=kernel).fit(x))
    assert found.influences[2] == 0.0
    assert np.all(found.influences[:2] > 0)


def test_summaries_by_hand() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((20, 3)) * [1.0, 10.0, 0.1]
    model = mc.KernelPCA(2, kernel=mc.Gaussian((1.0, 10.0, 0.1))).fit(x)
    plain, scaled = axis_slopes(model), axis_slopes(model, standardize=True)
    np.testing.assert_allclose(scaled.arrows, plain.arrows * x.std(axis=0)[:, None])
    np.testing.assert_allclose(plain.means, plain.arrows.mean(axis=0))
    np.testing.assert_allclose(plain.sizes**2, (plain.arrows**2).mean(axis=0))
    lengths = np.sqrt((plain.arrows**2).sum(axis=2))
    np.testing.assert_allclose(plain.influences, lengths.mean(axis=0))
    np.testing.assert_allclose(plain.circle, scaled.circle)
    table = plain.table()
    assert list(table) == ["variable", "axis", "mean_slope", "slope_size", "influence"]
    assert table.rows == 6


def test_no_more_than_a_block_of_pairs_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).standard_normal((600, 20))
    model = mc.KernelPCA(1, kernel=mc.Gaussian(4.0)).fit(x)
    expected = axis_slopes(model, x[:5]).arrows
    monkeypatch.setattr(module, "BLOCK", 20 * 50)
    np.testing.assert_allclose(axis_slopes(model, x[:5]).arrows, expected, rtol=1e-10)
    monkeypatch.undo()
    tracemalloc.start()
    axis_slopes(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * 8 * 600 * 600 * 20  # one copy of all slopes of the kernel


def test_what_has_no_slopes_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="give a PCA"):
        axis_slopes("model")
    model = mc.KernelPCA(1, kernel="precomputed").fit(np.diag([1.0, 2.0, 4.0]))
    with pytest.raises(mc.errors.InvalidParameter, match="rows of numbers"):
        axis_slopes(model)
    with pytest.raises(mc.errors.InvalidParameter, match="rows of numbers"):
        axis_slopes(mc.KernelPCA(1, kernel=mc.kernels.Intersection()).fit([{1}, {2}, {1, 2}]))
    with pytest.raises(mc.errors.NotDifferentiable):
        axis_slopes(mc.KernelPCA(1, kernel=mc.FromFunction(lambda a, b: float(a @ b))).fit(X))
    with pytest.raises(mc.errors.InvalidInput, match="GB"):
        module._refuse_large((10**6, 1000), 10)
