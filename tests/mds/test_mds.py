from __future__ import annotations

import importlib
import json
import pickle
from threading import Barrier, Lock
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.check import Array
from mercer.davidson import orthonormal
from mercer.engines.cpu import Threads
from mercer.errors import NotConverged
from mercer.mds import limits
from mercer.mds.distances import Distances
from mercer.mds.euclidean_correction import cailliez_constant, constant_of, copies, corrected_square
from mercer.mds.losses import kruskal_stress
from mercer.operators import CentredSource
from mercer.page.subject import subject_of
from mercer.spectrum import Limits, signs
from tests.oracles import LINE, untouched
from tests.references import FOLDER
from tests.strategies import points as grid_points

REFERENCE = FOLDER
CHANGING = ["lingoes", "cailliez", "power"]
RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 3))
NEW = RNG.standard_normal((7, 3))


def reference(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((REFERENCE / f"{name}.json").read_text())
    return values


CITIES = reference("mds_us_cities")
EURODIST = reference("mds_eurodist")
US = np.array(CITIES["D"], dtype=float)
krylov = importlib.import_module("mercer.spectrum.krylov")

EUROPE = np.array(EURODIST["D"], dtype=float)
PAIRS = np.triu_indices(9, 1)


def cityblock(n: int, p: int = 4, seed: int = 0) -> Array:
    """Distances of the L1 norm: a metric that is not Euclidean."""
    x = np.random.default_rng(seed).standard_normal((n, p))
    return np.asarray(cdist(x, x, "cityblock"))


def random_distances(n: int, seed: int) -> Array:
    upper = np.triu(np.random.default_rng(seed).uniform(0.5, 2.0, (n, n)), 1)
    return np.asarray(upper + upper.T)


def scores_of(B: Array, count: int) -> Array:
    """Coordinates by numpy alone, with the rule of the signs: the oracle of this file."""
    values, vectors = np.linalg.eigh(B)
    scores = vectors[:, ::-1][:, :count] * np.sqrt(values[::-1][:count])
    return np.asarray(scores * signs(scores))


def up_to_sign(found: Array, expected: Array, atol: float) -> None:
    expected = np.asarray(expected)
    turned = expected * np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found, turned, rtol=0, atol=atol)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        mc.ClassicalMDS(2),
        mc.ClassicalMDS(2, correction="cailliez"),
        mc.ClassicalMDS(2, metric="euclidean"),
        mc.ClassicalMDS(None, metric="euclidean"),
    ],
    expected_failed_checks=lambda model: LINE if model.metric == "euclidean" else {},
    xfail_strict=True,
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("file", [CITIES, EURODIST], ids=["cities", "eurodist"])
def test_cmdscale_is_reproduced(file: dict[str, Any]) -> None:
    D = np.array(file["D"], dtype=float)
    model = mc.ClassicalMDS(file["k"]).fit(D)
    np.testing.assert_allclose(model.eigenvalues_, file["eig"], rtol=1e-12, atol=1e-6)
    np.testing.assert_allclose(model.goodness_, file["GOF"], rtol=1e-12)
    up_to_sign(model.embedding_, file["points"], atol=1e-8)
    np.testing.assert_allclose(
        -2 * mc.kernels.gram_of(D**2), file["double_centred_D2_equals_minus_2B"], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("file", [CITIES, EURODIST], ids=["cities", "eurodist"])
def test_cmdscale_with_the_additive_constant_is_reproduced(file: dict[str, Any]) -> None:
    D = np.array(file["D"], dtype=float)
    model = mc.ClassicalMDS(file["k"], correction="cailliez").fit(D)
    assert model.correction_constant_ == pytest.approx(file["add_constant"], rel=1e-12)
    np.testing.assert_allclose(model.corrected_eigenvalues_, file["add_eig"], rtol=1e-9, atol=1e-5)
    np.testing.assert_allclose(model.eigenvalues_, file["eig"], rtol=1e-12, atol=1e-6)
    np.testing.assert_allclose(model.goodness_, file["add_GOF"], rtol=1e-10)
    up_to_sign(model.embedding_, file["add_points"], atol=1e-7)


def test_the_cities_of_the_lecture() -> None:
    model = mc.ClassicalMDS(2).fit(US)
    expected = [13949791, 2124813, 183009, 90601, 37353, 0, -412, -62312, -323707]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=0, atol=0.51)
    boston, seattle = model.embedding_[0], model.embedding_[5]
    np.testing.assert_allclose(np.abs(boston), [1348.67, 462.40], atol=0.005)
    np.testing.assert_allclose(np.abs(seattle), [1596.16, 639.31], atol=0.005)
    assert np.sign(boston[0]) == -np.sign(seattle[0])
    assert np.sign(boston[1]) == np.sign(seattle[1])  # (1348.67, 462.40) and -(1596.16, -639.31)
    assert model.goodness_.absolute == pytest.approx(0.95842, abs=5e-6)
    assert model.goodness_.positive == pytest.approx(0.98102, abs=5e-6)
    assert model.negative_mass_ == pytest.approx(386431.4 / 16771999.4, rel=1e-5)


def test_the_map_of_the_cities_is_off_by_what_the_text_does_not_say() -> None:
    d, delta = pdist(mc.ClassicalMDS(2).fit_transform(US)), US[PAIRS]
    assert np.max(np.abs(d - delta)) == pytest.approx(109.2, abs=0.05)
    assert kruskal_stress(d, delta) == pytest.approx(0.019578, abs=5e-7)
    gaps = np.sum((d - delta) ** 2)
    assert np.sqrt(gaps / np.sum(d**2)) == pytest.approx(0.019696, abs=5e-7)
    assert np.sqrt(gaps / np.sum(delta**2)) == pytest.approx(0.019743, abs=5e-7)


@pytest.mark.parametrize(
    ("correction", "constant", "digits"),
    [("lingoes", 323706.77, 0.005), ("cailliez", 372.472, 5e-4), ("power", 0.80197, 5e-6)],
)
def test_the_cities_are_corrected(correction: str, constant: float, digits: float) -> None:
    assert not mc.euclidean(US)
    assert "every triangle inequality holds" in mc.euclidean(US).reason
    model = mc.ClassicalMDS(None, correction=correction).fit(US)
    assert model.correction_constant_ == pytest.approx(constant, abs=digits)
    moved = corrected_square(US, correction, model.correction_constant_)
    assert mc.euclidean(moved)
    less = model.correction_constant_ * (1.01 if correction == "power" else 0.99)
    assert not mc.euclidean(corrected_square(US, correction, less))
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), moved, atol=1e-3)


def test_clipping_changes_the_eigenvalues_and_not_the_map() -> None:
    clipped, plain = mc.ClassicalMDS(3, correction="clip").fit(US), mc.ClassicalMDS(3).fit(US)
    np.testing.assert_array_equal(clipped.embedding_, plain.embedding_)
    np.testing.assert_array_equal(
        clipped.corrected_eigenvalues_, np.maximum(plain.eigenvalues_, 0.0)
    )
    np.testing.assert_array_equal(clipped.eigenvalues_, plain.eigenvalues_)
    assert clipped.goodness_ == plain.goodness_  # what was clipped stays in view
    assert clipped.correction_constant_ == 0.0


def test_axes_that_do_not_exist_are_left_out() -> None:
    """A square root of all eigenvalues, as scikit-learn takes it, has NaN columns here."""
    with pytest.warns(mc.errors.FewerAxes, match="there are 11 axes, fewer than the 15"):
        model = mc.ClassicalMDS(15).fit(EUROPE)
    positive = int(np.sum(np.array(EURODIST["eig"]) > 1e-3))
    assert model.embedding_.shape == (21, positive) == (21, 11)
    assert np.all(np.isfinite(model.embedding_))
    assert model.n_components_ == 11
    assert len(model.get_feature_names_out()) == 11
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.sqrt(model.eigenvalues_[:15])).sum() == 4  # the planted mistake


@pytest.mark.filterwarnings(
    "ignore::mercer.errors.FewerAxes", "ignore::mercer.errors.DegenerateAxes"
)
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("correction", [None, "clip", *CHANGING])
def test_shares_are_shares(count: int, correction: str | None) -> None:
    """A negative eigenvalue larger than all others made 230 % of a share in other programs."""
    D = np.array([[0, 1, 1, 9.0], [1, 0, 9, 1], [1, 9, 0, 1], [9, 1, 1, 0]])
    model = mc.ClassicalMDS(count, correction=correction).fit(D)
    assert 0.0 <= model.goodness_.absolute <= model.goodness_.positive <= 1.0 + 1e-15
    assert 0.0 <= model.negative_mass_ < 1.0
    naive = np.sum(model.eigenvalues_[:2]) / np.sum(model.eigenvalues_)
    assert naive > 1.9  # the planted mistake: dividing by the trace


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")  # grids are symmetric, flat
@settings(max_examples=60)
@given(grid_points(2, 7), st.integers(1, 3))
def test_scaling_distances_is_principal_components_is_kernel_pca(x: Array, count: int) -> None:
    centred = x - x.mean(axis=0)
    values = np.sort(np.linalg.eigvalsh(centred @ centred.T))[::-1]
    by_points = mc.ClassicalMDS(count, metric="euclidean").fit(x)
    by_distances = mc.ClassicalMDS(count).fit(cdist(x, x))
    scale = max(float(values[0]), 1.0)
    for model in (by_points, by_distances):
        np.testing.assert_allclose(model.eigenvalues_, values, rtol=0, atol=1e-12 * scale)
        distances = pdist(model.embedding_) if model.n_components_ else 0.0
        if count >= 2:
            np.testing.assert_allclose(distances, pdist(x), rtol=0, atol=1e-6 * scale)
    by_kernel = mc.KernelPCA(count, kernel=mc.Linear()).fit(x).eigenvalues_[:count]
    by_columns = mc.PCA(count).fit(x).singular_values_ ** 2
    for kept in (by_kernel, by_columns):
        np.testing.assert_allclose(kept, values[: len(kept)], rtol=0, atol=1e-11 * scale)


def test_a_krylov_basis_stays_orthonormal_where_a_block_adds_little() -> None:
    """Of five columns three add a direction, and two what rounding has made of them."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        basis = np.linalg.qr(rng.standard_normal((40, 12)))[0]
        new = rng.standard_normal((40, 3))
        block = basis @ rng.standard_normal((12, 5)) + new @ rng.standard_normal((3, 5))
        whole = np.hstack([basis, orthonormal(block, Threads(1), basis, krylov.NOTHING)])
        assert whole.shape[1] == 15
        np.testing.assert_allclose(whole.T @ whole, np.eye(15), rtol=0, atol=1e-12)


def test_an_operator_of_few_dimensions_has_its_axes_whatever_the_start() -> None:
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((40, 3))
        expected = scores_of((x - x.mean(axis=0)) @ (x - x.mean(axis=0)).T, 3)
        model = mc.ClassicalMDS(3, method="exact", random_state=seed)
        found = model.fit_transform(cdist(x, x))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_scores_are_those_of_numpy_with_the_rule_of_signs() -> None:
    expected = scores_of((X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, 3)
    D = cdist(X, X)
    for model in (mc.ClassicalMDS(3, metric="euclidean"), mc.ClassicalMDS(3)):
        found = model.fit_transform(X if model.metric == "euclidean" else D)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    for method in ("dense", "exact"):
        found = mc.ClassicalMDS(3, method=method, random_state=0).fit_transform(D)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    up_to_sign(mc.KernelPCA(3, kernel=mc.Linear()).fit_transform(X), expected, 1e-11)


@pytest.mark.parametrize("kernel", [mc.Gaussian(1.5), mc.Polynomial(2), mc.Laplacian(2.0)], ids=str)
def test_distances_of_features_are_scaled_to_the_scores_of_kernel_pca(kernel: mc.Kernel) -> None:
    D = np.sqrt(mc.kernels.squared_distances_of(kernel(X)))
    scaled, components = mc.ClassicalMDS(3).fit(D), mc.KernelPCA(3, kernel=kernel).fit(X)
    np.testing.assert_allclose(scaled.embedding_, components.fit_transform(X), atol=1e-9)
    np.testing.assert_allclose(scaled.eigenvalues_[:3], components.eigenvalues_, rtol=1e-10)
    new = np.sqrt(mc.distance(kernel, NEW, X) ** 2)
    np.testing.assert_allclose(scaled.transform(new), components.transform(NEW), atol=1e-9)


@pytest.mark.parametrize("correction", [None, "clip", *CHANGING])
@pytest.mark.parametrize("D", [US, EUROPE, cityblock(30)], ids=["cities", "europe", "cityblock"])
def test_fitted_individuals_transform_to_where_they_are(D: Array, correction: str | None) -> None:
    model = mc.ClassicalMDS(4, correction=correction).fit(D)
    size = np.max(np.abs(model.embedding_))
    np.testing.assert_allclose(model.transform(D), model.embedding_, rtol=0, atol=1e-8 * size)
    alone = np.vstack([model.transform(D[i : i + 1]) for i in range(len(D))])
    np.testing.assert_allclose(alone, model.transform(D), rtol=0, atol=1e-12 * size)


def test_new_points_are_projected() -> None:
    D = cdist(X, X)
    by_distances = mc.ClassicalMDS(3).fit(D)
    by_points = mc.ClassicalMDS(3, metric="euclidean").fit(X)
    found = by_distances.transform(cdist(NEW, X))
    np.testing.assert_allclose(found, by_points.transform(NEW), rtol=0, atol=1e-11)
    np.testing.assert_allclose(cdist(found, by_distances.embedding_), cdist(NEW, X), atol=1e-11)
    # The planted mistake: centring new distances with their own mean.
    squares = cdist(NEW, X) ** 2
    wrong = -0.5 * (squares - squares.mean(axis=0)) @ by_distances._axes.projection
    assert np.max(np.abs(wrong - found)) > 0.1


def test_small_axes_survive_the_centring_of_new_individuals() -> None:
    """Without centring the axes themselves, an outlier drowns a small axis in rounding."""
    x = np.random.default_rng(0).standard_normal((60, 2)) * [1.0, 1e-4]
    x[0, 0] = 1e3
    D = cdist(x, x)
    with pytest.warns(
        mc.errors.DegenerateAxes, match="degenerate axes: 2"
    ):  # 1e-12 of the first, next to none
        model = mc.ClassicalMDS(2).fit(D)
    first, second = model.spectrum_.values[:2]
    size = np.max(np.abs(model.embedding_))
    allowed = max(1e-8, 600 * float(np.finfo(float).eps) * np.sqrt(first / second)) * size
    assert np.max(np.abs(model.transform(D) - model.embedding_)) <= allowed
    axes = model.spectrum_.vectors[:, 1] / np.sqrt(60 * second)
    short = -0.5 * (D**2 - (D**2).mean(axis=0)) @ axes  # the planted mistake
    assert np.max(np.abs(short - model.embedding_[:, 1])) > size


@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
def test_a_new_individual_at_distance_zero_is_a_fitted_one(correction: str) -> None:
    model = mc.ClassicalMDS(2, correction=correction).fit(EUROPE)
    near = EUROPE[3:4].copy()
    np.testing.assert_allclose(model.transform(near)[0], model.embedding_[3], atol=1e-8)
    near[0, 3] = 1e-9  # not exactly zero: corrected like any other distance
    assert np.max(np.abs(model.transform(near)[0] - model.embedding_[3])) > 1.0


def test_a_point_near_several_others_is_the_one_whose_distances_it_shares() -> None:
    D = random_distances(8, 2)
    D[2, 5] = D[5, 2] = 0.0  # at distance 0 but with other distances: two points, not one
    model = mc.ClassicalMDS(3, correction="lingoes").fit(D)
    np.testing.assert_allclose(model.transform(D), model.embedding_, atol=1e-10)


@pytest.mark.parametrize("correction", [None, *CHANGING])
def test_weight_two_is_a_row_repeated_and_weight_zero_supplementary(
    correction: str | None,
) -> None:
    D = cityblock(25)
    weights = np.ones(25)
    weights[3], weights[7] = 2.0, 0.0
    rows = np.repeat(np.arange(25), weights.astype(int))
    weighted = mc.ClassicalMDS(3, correction=correction).fit(D, sample_weight=weights)
    repeated = mc.ClassicalMDS(3, correction=correction).fit(D[np.ix_(rows, rows)])
    assert weighted.correction_constant_ == pytest.approx(repeated.correction_constant_, rel=1e-10)
    for which in ("eigenvalues_", "corrected_eigenvalues_"):
        found, expected = getattr(weighted, which), getattr(repeated, which)
        for part in (slice(0, 10), slice(-5, None)):
            np.testing.assert_allclose(found[part], expected[part], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.embedding_[rows], repeated.embedding_, atol=1e-8)
    expected = repeated.transform(D[7:8, rows])[0]
    np.testing.assert_allclose(weighted.embedding_[7], expected, atol=1e-8)


def test_weighted_points_agree_with_weighted_distances() -> None:
    weights = np.random.default_rng(0).uniform(0.0, 2.0, 40)
    weights[4] = 0.0
    by_points = mc.ClassicalMDS(3, metric="euclidean").fit(X, sample_weight=weights)
    by_distances = mc.ClassicalMDS(3).fit(cdist(X, X), sample_weight=weights)
    np.testing.assert_allclose(by_points.embedding_, by_distances.embedding_, atol=1e-11)
    np.testing.assert_allclose(
        by_points.eigenvalues_, by_distances.eigenvalues_, rtol=0, atol=1e-11
    )
    np.testing.assert_allclose(weights @ by_points.embedding_, 0.0, atol=1e-11)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from(["lingoes", "cailliez", "power"]))
def test_corrected_distances_are_euclidean(seed: int, correction: str) -> None:
    D = random_distances(7, seed)
    constant = constant_of(D, correction)
    moved = corrected_square(D, correction, constant)
    assert mc.euclidean(moved)
    model = mc.ClassicalMDS(None, correction=correction).fit(D)
    np.testing.assert_allclose(pdist(model.embedding_), moved[np.triu_indices(7, 1)], atol=1e-6)
    assert model.corrected_eigenvalues_[-1] >= -1e-12


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(3, 9))
def test_the_additive_constant_is_the_largest_eigenvalue_of_cailliez(seed: int, n: int) -> None:
    D = random_distances(n, seed) ** 3
    first, second = mc.kernels.gram_of(D**2), mc.kernels.gram_of(D)
    companion = np.block([[np.zeros((n, n)), 2.0 * first], [-np.eye(n), -4.0 * second]])
    values = np.linalg.eigvals(companion)
    largest = float(np.max(values.real[np.abs(values.imag) < 1e-6]))
    assert cailliez_constant(D) == pytest.approx(largest, rel=1e-6, abs=1e-6)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.permutations(range(8)))
def test_the_order_of_individuals_does_not_matter(seed: int, order: list[int]) -> None:
    D = random_distances(8, seed)
    model = mc.ClassicalMDS(2).fit(D)
    turned = mc.ClassicalMDS(2).fit(D[np.ix_(order, order)])
    np.testing.assert_allclose(turned.eigenvalues_, model.eigenvalues_, atol=1e-12)
    gaps = np.diff(model.eigenvalues_[:3])
    if np.min(np.abs(gaps)) > 1e-3:
        np.testing.assert_allclose(turned.embedding_, model.embedding_[order], atol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1.0, 1e100])
def test_units_change_nothing_but_the_unit(scale: float) -> None:
    model, scaled = mc.ClassicalMDS(3).fit(EUROPE), mc.ClassicalMDS(3).fit(EUROPE * scale)
    np.testing.assert_allclose(scaled.embedding_ / scale, model.embedding_, rtol=1e-9)
    np.testing.assert_allclose(scaled.transform(EUROPE * scale), scaled.embedding_, rtol=1e-6)
    if scale >= 1e-100:
        np.testing.assert_allclose(scaled.eigenvalues_[:9] / scale**2, model.eigenvalues_[:9])
        np.testing.assert_allclose(scaled.goodness_, model.goodness_, rtol=1e-12)


def test_eigenvalues_too_large_for_a_double_are_refused_when_they_are_read() -> None:
    model = mc.ClassicalMDS(2)
    scores = model.fit_transform(EUROPE * 1e200)
    np.testing.assert_allclose(scores / 1e200, mc.ClassicalMDS(2).fit_transform(EUROPE), rtol=1e-9)
    with pytest.raises(mc.errors.InvalidInput, match="too large"):
        model.eigenvalues_  # noqa: B018  (reading it is the test)
    far = mc.ClassicalMDS(2, metric="euclidean").fit(X * 1e200)
    near = mc.ClassicalMDS(2, metric="euclidean").fit(X)
    np.testing.assert_allclose(far.embedding_ / 1e200, near.embedding_, rtol=1e-9)


@pytest.mark.parametrize("n", [400, 1001])
def test_the_iteration_finds_what_the_decomposition_finds(n: int) -> None:
    D = cityblock(n)
    exact = mc.ClassicalMDS(4, method="exact", tol=1e-11, random_state=0).fit(D)
    K = mc.kernels.gram_of(D**2)
    values = np.linalg.eigvalsh(K)[::-1]
    spectrum = exact.spectrum_
    assert np.all(np.abs(n * spectrum.values - values[:4]) <= n * spectrum.errors + 1e-9)
    assert exact.smallest_eigenvalue_ == pytest.approx(values[-1], rel=1e-3)
    assert spectrum.psd == "not positive semidefinite"
    assert spectrum.trace == pytest.approx(np.trace(K) / n, rel=1e-12)
    np.testing.assert_allclose(exact.embedding_, scores_of(K, 4), atol=1e-7)
    np.testing.assert_allclose(exact.transform(D), exact.embedding_, atol=1e-7)
    np.testing.assert_allclose(exact.eigenvalues_, values, rtol=0, atol=1e-9 * float(values[0]))
    assert exact.goodness_.absolute == pytest.approx(values[:4].sum() / np.abs(values).sum())
    assert exact.negative_mass_ == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())


def test_many_points_are_iterated_on_unless_all_axes_are_asked_for() -> None:
    D = cityblock(1001)
    assert mc.ClassicalMDS(2, random_state=0).fit(D).spectrum_.how.method == "block Krylov steps"
    assert mc.ClassicalMDS(2, method="dense").fit(D).spectrum_.how.method == "dense"


def test_an_iteration_that_does_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mc.ClassicalMDS, "limits", Limits(dense=100, krylov_vectors=12))
    D = random_distances(200, 0)
    with pytest.raises(NotConverged, match="method='dense'"):
        mc.ClassicalMDS(3, method="exact", random_state=0).fit(D)
    assert mc.ClassicalMDS(3, random_state=0).fit(D).spectrum_.how.method.startswith("dense, for")


def test_distances_that_are_all_alike_leave_the_iteration_nothing_to_find() -> None:
    D = 1.0 - np.eye(300)
    with pytest.warns(mc.errors.DegenerateAxes, match="1 to 3"):
        model = mc.ClassicalMDS(3, method="exact", random_state=0).fit(D)
    np.testing.assert_allclose(300 * model.spectrum_.values, 0.5, rtol=1e-12)


def test_the_panels_of_an_operator_are_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.Limits, "panel", 50)
    w = np.random.default_rng(0).dirichlet(np.ones(21))
    operator = CentredSource(Distances(EUROPE), w)
    dense = np.sqrt(np.outer(w, w)) * mc.kernels.gram_of(EUROPE**2, centre=w)
    V = np.random.default_rng(1).standard_normal((21, 3))
    size = float(np.linalg.norm(dense))
    np.testing.assert_allclose(operator.product(V), dense @ V, rtol=0, atol=1e-12 * size)
    assert operator.trace == pytest.approx(np.trace(dense), rel=1e-12)
    assert operator.square_sum == pytest.approx(size**2, rel=1e-10)


def test_eigenvalues_are_not_read_off_distances_that_were_changed() -> None:
    D = cityblock(1001)
    model = mc.ClassicalMDS(2).fit(D)
    D[3, 4] = D[4, 3] = 2.0 * D[3, 4]
    with pytest.raises(mc.errors.InvalidInput, match="fit again"):
        model.eigenvalues_  # noqa: B018  (reading it is the test)


def test_points_need_no_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Array:
        raise AssertionError("n² distances were formed")

    monkeypatch.setattr("mercer.mds.classical.distances_of", refuse)
    x = np.random.default_rng(0).standard_normal((20_000, 3)) * [3.0, 2.0, 1.0]
    model = mc.ClassicalMDS(2, metric="euclidean").fit(x)
    expected = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(model.eigenvalues_[:3], expected, rtol=1e-12)
    assert model.eigenvalues_.shape == (20_000,)
    assert not np.any(model.eigenvalues_[3:])
    assert model.goodness_.positive == pytest.approx(expected[:2].sum() / expected.sum())


def test_points_with_many_coordinates_take_the_products(monkeypatch: pytest.MonkeyPatch) -> None:
    direct = mc.ClassicalMDS(2, metric="euclidean").fit(X)
    monkeypatch.setattr(limits.Limits, "whole", 2)
    by_products = mc.ClassicalMDS(2, metric="euclidean").fit(X)
    np.testing.assert_allclose(by_products.embedding_, direct.embedding_, atol=1e-9)
    np.testing.assert_allclose(by_products.eigenvalues_, direct.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(by_products.transform(NEW), direct.transform(NEW), atol=1e-9)
    with pytest.warns(mc.errors.FewerAxes, match="there is 1 axis, fewer than the 2"):
        wide = mc.ClassicalMDS(2, metric="euclidean").fit(X[:2])
    assert wide.embedding_.shape == (2, 1)


@pytest.mark.parametrize("metric", ["precomputed", "euclidean"])
@pytest.mark.parametrize("correction", [None, "clip", *CHANGING])
def test_small_and_trivial_data(metric: str, correction: str | None) -> None:
    model = mc.ClassicalMDS(2, metric=metric, correction=correction)
    with pytest.warns(mc.errors.NoInertia, match="one individual"):
        one = model.fit_transform([[0.0]])
    assert one.shape == (1, 0)
    assert model.goodness_ == (0.0, 0.0)
    with pytest.warns(mc.errors.FewerAxes, match="there is 1 axis, fewer than the 2"):
        two = model.fit_transform([[0.0, 3.0], [3.0, 0.0]])
    if metric == "precomputed":
        np.testing.assert_allclose(np.abs(two), [[1.5], [1.5]])
        assert two[0, 0] > 0  # tied moduli: the first is positive
    with pytest.warns(mc.errors.NoInertia, match="all 4 individuals coincide"):
        same = model.fit_transform(np.zeros((4, 4)))
    assert same.shape == (4, 0)
    assert model.negative_mass_ == 0.0
    assert model.transform(np.zeros((2, 4))).shape == (2, 0)


BAD: list[tuple[Any, str]] = [
    (np.zeros((3, 2)), "square"),
    (np.zeros(4), "a row for each individual"),
    (np.zeros((0, 0)), "0 sample"),
    (np.array([[0.0, 1.0], [2.0, 0.0]]), r"\(0, 1\) is 1 and entry \(1, 0\) is 2"),
    (np.array([[0.0, -1.0], [-1.0, 0.0]]), "row 0, column 1.*-1. Negative"),
    (np.array([[0.0, 1.0], [1.0, 0.5]]), "row 1, column 1.*0.5"),
    (np.array([[0.0, np.nan], [np.nan, 0.0]]), "row 0, column 1.*NaN"),
    (np.array([[0.0, 1.0], [np.inf, 0.0]]), "row 1, column 0.*inf"),
    (np.array([[0.0, 1j], [1j, 0.0]]), "Complex"),
    ([[0.0, 1.0], [1.0]], "row 1"),
    ([[0.0, "near"], ["near", 0.0]], "'near' is not a number"),
    (np.ma.masked_array(np.zeros((2, 2)), mask=np.eye(2) == 0), "masked"),
    (mc.Gaussian(1.0)(X), "Similarities"),
]


@pytest.mark.parametrize(("D", "message"), BAD, ids=[message for _, message in BAD])
def test_what_are_no_distances_is_refused_by_its_place(D: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.ClassicalMDS(2).fit(D)


def test_asymmetry_by_rounding_is_accepted_and_more_is_not() -> None:
    D = US.copy()
    D[2, 7] *= 1 + 1e-9
    mc.ClassicalMDS(2).fit(D)
    D[2, 7] *= 1 + 1e-6
    with pytest.raises(mc.errors.InvalidInput, match=r"\(2, 7\)"):
        mc.ClassicalMDS(2).fit(D)
    large = cityblock(600)
    large[30, 550] += 1e-3
    with pytest.raises(mc.errors.InvalidInput, match=r"\(30, 550\)"):
        mc.ClassicalMDS(2).fit(large)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 0},
        {"n_components": 2.5},
        {"metric": "minkowski"},
        {"correction": "shift"},
        {"method": "fast"},
    ],
    ids=str,
)
def test_parameters_outside_their_domain_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=next(iter(settings))):
        mc.ClassicalMDS(**settings).fit(US)


@pytest.mark.parametrize("weights", [[1.0] * 8, [-1.0] + [1.0] * 8, [0.0] * 9, [np.nan] * 9])
def test_weights_are_checked(weights: list[float]) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="sample_weight"):
        mc.ClassicalMDS(2).fit(US, sample_weight=weights)


def test_new_distances_are_checked() -> None:
    model = mc.ClassicalMDS(2).fit(US)
    with pytest.raises(ValueError, match="9 features"):
        model.transform(US[:, :5])
    with pytest.raises(mc.errors.InvalidInput, match="row 1, column 2"):
        model.transform(np.where(np.arange(18).reshape(2, 9) == 11, -1.0, 1.0))
    with pytest.raises(mc.errors.InvalidInput, match="row 0, column 3"):
        model.transform(np.where(np.arange(9)[None, :] == 3, np.nan, 1.0))


@pytest.mark.parametrize("correction", [None, "clip", *CHANGING])
@pytest.mark.parametrize("method", ["dense", "exact"])
def test_the_distances_are_left_alone(correction: str | None, method: str) -> None:
    D, new = EUROPE.copy(), EUROPE[:3].copy()
    with untouched(D, new):
        model = mc.ClassicalMDS(2, correction=correction, method=method, random_state=0).fit(D)
        model.transform(new)
        assert model.eigenvalues_.shape == (21,)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.int64])
def test_distances_of_other_types(dtype: Any, order: Any) -> None:
    D = np.array(EUROPE, dtype=dtype, order=order)
    model = mc.ClassicalMDS(2)
    found = model.fit_transform(D)
    assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_allclose(found, mc.ClassicalMDS(2).fit_transform(EUROPE), rtol=1e-4)
    assert model.transform(D[:2]).dtype == found.dtype


def test_frames_keep_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(EUROPE, index=EURODIST["labels"], columns=EURODIST["labels"])
    model = mc.ClassicalMDS(2).set_output(transform="pandas")
    table = model.fit_transform(frame)
    assert list(table.columns) == ["classicalmds0", "classicalmds1"]
    assert list(table.index) == EURODIST["labels"]
    assert model.n_features_in_ == 21
    assert list(model.feature_names_in_) == EURODIST["labels"]
    np.testing.assert_array_equal(model.dissimilarity_matrix_, EUROPE)


def test_models_are_cloned_and_pickled() -> None:
    model = clone(mc.ClassicalMDS(3, correction="lingoes")).fit(EUROPE)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(EUROPE), model.transform(EUROPE))
    assert again.goodness_ == model.goodness_


def test_new_distances_too_large_to_square_are_refused() -> None:
    model = mc.ClassicalMDS(2).fit(US)
    with pytest.raises(mc.errors.InvalidInput, match="rescale"):
        model.transform(np.full((1, 9), 1e200))


def test_degenerate_axes_are_named_by_either_method() -> None:
    ring = np.exp(2j * np.pi * np.arange(60) / 60)
    D = np.abs(np.subtract.outer(ring, ring))
    for method in ("dense", "exact"):
        with pytest.warns(mc.errors.DegenerateAxes, match="1 and 2"):
            model = mc.ClassicalMDS(2, method=method, random_state=0).fit(D)
        assert model.spectrum_.clusters[0] == (0, 1)


def test_copies_are_found() -> None:
    D = random_distances(6, 1)
    rows = [0, 1, 1, 2, 0, 3, 4, 5]
    assert copies(D[np.ix_(rows, rows)]).tolist() == [0, 1, 1, 3, 0, 5, 6, 7]


@pytest.mark.parametrize("transform", ["exponential", "logarithm", "rational", "power"])
def test_transforms_of_schoenberg_increase_and_their_slopes_are_completely_monotone(
    transform: str,
) -> None:
    """Φ is a Bernstein function; a completely monotone Φ, as the text has it, would decrease."""
    t = np.linspace(0.5, 3.0, 11)
    values = mc.kernels.schoenberg(t, transform, 0.5)
    assert np.all(values > 0)
    for order in range(1, 6):
        assert np.all((-1) ** (order - 1) * np.diff(values, order) > 0)
    assert np.all(mc.kernels.schoenberg([0.0], transform, 0.5) == 0.0)


def test_one_matrix_proves_nothing_of_a_transform() -> None:
    """d⁴ for d² keeps a simplex Euclidean and no line: the theorem speaks of every matrix."""
    simplex, line = 1.0 - np.eye(4), np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    model = mc.ClassicalMDS(None)
    assert model.fit(simplex**2).negative_mass_ == 0.0
    assert model.fit(line).negative_mass_ == 0.0
    assert model.fit(line**2).negative_mass_ > 0.1
    assert model.fit(np.sqrt(line)).negative_mass_ == 0.0


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("metric", ["precomputed", "euclidean"])
def test_shares_have_no_unit_and_eigenvalues_beyond_doubles_are_refused(
    scale: float, metric: str
) -> None:
    x = np.random.default_rng(3).standard_normal((15, 3))
    given = x if metric == "euclidean" else cdist(x, x)
    expected = mc.ClassicalMDS(2, metric=metric).fit(given)
    model = mc.ClassicalMDS(2, metric=metric).fit(scale * given)
    np.testing.assert_allclose(model.embedding_ / scale, expected.embedding_, atol=1e-12)
    np.testing.assert_allclose(model.goodness_, expected.goodness_, rtol=1e-12)
    assert model.negative_mass_ == pytest.approx(expected.negative_mass_, abs=1e-12)
    matrix = model.dissimilarity_matrix_ / scale
    np.testing.assert_allclose(matrix, expected.dissimilarity_matrix_, rtol=1e-12)
    for name in ("eigenvalues_", "smallest_eigenvalue_"):
        with pytest.raises(mc.errors.InvalidInput, match="divide the distances by their maximum"):
            getattr(model, name)


def test_the_spectrum_of_points_is_in_their_own_unit() -> None:
    x = np.random.default_rng(3).standard_normal((15, 3))
    model = mc.ClassicalMDS(2, metric="euclidean").fit(8.0 * x)
    np.testing.assert_allclose(15 * model.spectrum_.values, model.eigenvalues_[:2], rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "given"), [("euclidean", np.full((6, 3), 0.1)), ("precomputed", np.zeros((6, 6)))]
)
def test_points_that_coincide_have_no_axes(metric: str, given: Array) -> None:
    with pytest.warns(mc.errors.NoInertia, match="all 6 individuals coincide"):
        model = mc.ClassicalMDS(2, metric=metric).fit(given)
    assert model.embedding_.shape == (6, 0)


def test_axes_that_are_arbitrary_or_missing_are_told() -> None:
    square = np.array([[0.0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    with pytest.warns(mc.errors.DegenerateAxes, match="1 and 2"):
        mc.ClassicalMDS(2).fit(square)
    x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    with pytest.warns(mc.errors.FewerAxes, match="there are 2 axes, fewer than the 3"):
        mc.ClassicalMDS(3, metric="euclidean").fit(x)


def test_an_asymmetry_too_small_to_be_printed_is_told_as_a_difference() -> None:
    x = np.random.default_rng(3).standard_normal((15, 3))
    D = cdist(x, x)
    D[2, 7] += 1e-6
    with pytest.raises(mc.errors.InvalidInput, match="which differ by 1e-06"):
        mc.ClassicalMDS(2).fit(D)


@pytest.mark.parametrize("far", [1e6, 1e20, 1e60])
def test_a_point_without_weight_changes_nothing_however_far_it_is(far: float) -> None:
    moved, weights = X.copy(), np.ones(len(X))
    moved[0, 1], weights[0] = far, 0.0
    expected = mc.ClassicalMDS(3, metric="euclidean").fit_transform(X[1:])
    for metric, data in (("euclidean", moved), ("precomputed", cdist(moved, moved))):
        model = mc.ClassicalMDS(3, metric=metric).fit(data, sample_weight=weights)
        np.testing.assert_allclose(model.embedding_[1:], expected, rtol=0, atol=1e-9)


# -- names, shares and what is read of individuals


def test_individuals_have_the_names_of_labelled_distances_and_of_data_frames() -> None:
    data = mc.datasets.eurodist()
    frame = pd.DataFrame(data.values, index=data.names, columns=data.names)
    for labelled in (data, frame):
        model = mc.ClassicalMDS(2).fit(labelled)
        assert tuple(model.individuals_.labels) == data.names
        np.testing.assert_array_equal(model.individuals_.coordinates, model.embedding_)
    rows = pd.DataFrame(X, index=[f"i{k}" for k in range(40)])
    named = mc.ClassicalMDS(2, metric="euclidean").fit(rows)
    assert named.individuals_.names == tuple(rows.index)
    assert mc.ClassicalMDS(2).fit(data.values).individuals_.names is None
    again = pickle.loads(pickle.dumps(model))
    assert tuple(again.individuals_.labels) == data.names


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("metric", ["precomputed", "euclidean"])
def test_individuals_are_read_as_those_of_pca(metric: str, is_weighted: bool) -> None:
    weights = RNG.uniform(0.5, 2.0, 40) if is_weighted else None
    given = X if metric == "euclidean" else cdist(X, X)
    found = mc.ClassicalMDS(2, metric=metric).fit(given, sample_weight=weights).individuals_
    expected = mc.PCA(2).fit(X, sample_weight=weights).individuals_
    for name in ("cos2", "contributions", "distances", "plane_distances"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9)


def test_individuals_of_distances_that_no_space_holds_say_so() -> None:
    far = mc.ClassicalMDS(2).fit([[0.0, 1, 1, 9], [1, 0, 1, 1], [1, 1, 0, 1], [9, 1, 1, 0]])
    with pytest.raises(mc.errors.NotPositiveDefinite, match="individual 1"):
        far.individuals_.cos2  # noqa: B018


@pytest.mark.parametrize("correction", [None, "clip", *CHANGING])
def test_shares_are_of_the_moduli_and_sum_to_the_goodness(correction: str | None) -> None:
    model = mc.ClassicalMDS(3, correction=correction).fit(EUROPE)
    values = model.eigenvalues_ if correction in (None, "clip") else model.corrected_eigenvalues_
    np.testing.assert_allclose(model.shares_, values[:3] / np.abs(values).sum(), rtol=1e-9)
    assert model.shares_.sum() == pytest.approx(model.goodness_.absolute, rel=1e-12)
    assert np.all(model.shares_ > 0)
    subject = subject_of(model)  # what a page shows
    np.testing.assert_array_equal(subject.shares, model.shares_)


@pytest.mark.parametrize("count", [1, 3])
def test_distances_are_multiplied_by_as_many_threads_as_were_asked_for(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three parts, three threads do all at once and one does one after the other."""
    inside, most, lock, together = [0], [0], Lock(), Barrier(count, timeout=30.0)
    usual = Distances._panels

    def watched(self: Distances, part: slice) -> Any:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        together.wait()
        yield from usual(self, part)
        with lock:
            inside[0] -= 1

    monkeypatch.setattr(Distances, "_panels", watched)
    d = cityblock(2001)
    found = mc.ClassicalMDS(2, method="exact", threads=count, random_state=0).fit(d)
    assert most[0] == count
    assert found.spectrum_.values[0] > 0.0
