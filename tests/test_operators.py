"""Every source answers what the protocol of operators asks, as its matrix would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import mercer as mc
from benchmarks.adversary import eigenpairs
from mercer.check import Array
from mercer.engines.cpu import Threads, using
from mercer.gram import Gram
from mercer.mds.distances import Distances
from mercer.operators import CentredSource, Operator
from mercer.pca.centred_tables import read_table
from mercer.spectrum import leading

LONG = np.longdouble


def some_points(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((n, 3)) * [3.0, 2.0, 1.0]


def some_weights(n: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).dirichlet(np.ones(n))


def operators(n: int = 40) -> dict[str, Operator]:
    x, w = some_points(n), some_weights(n)
    d = cdist(x, x, "cityblock")
    return {
        "tiles": Gram(mc.Gaussian(2.0), x, tile=16),
        "centred tiles": Gram(mc.Gaussian(2.0), x, tile=16).centred(w),
        "distances": CentredSource(Distances(d), w),
        "distances of equal weights": CentredSource(Distances(d)),
    }


@pytest.mark.parametrize("name", operators())
def test_products_diagonals_and_sums_are_those_of_the_matrix(name: str) -> None:
    operator = operators()[name]
    V = np.random.default_rng(2).standard_normal((40, 3))
    images = operator.product(V)  # the pass that finds the sum of squares, where one does
    A = operators()[name].dense()
    size = float(np.linalg.norm(A))
    np.testing.assert_allclose(A, A.T, rtol=0, atol=1e-15 * size)
    np.testing.assert_allclose(images, A @ V, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(operator.diag(), np.diag(A), rtol=0, atol=1e-13 * size)
    assert operator.trace == pytest.approx(np.trace(A), rel=1e-12)
    assert operator.square_sum == pytest.approx(size**2, rel=1e-10)
    if operator.square_sum_is_known:
        assert 0.0 < operator.square_sum_error < 1e-9 * size**2
    assert 0.0 < operator.threshold < 1e-9 * np.linalg.norm(A, 2)
    assert operator.active is operator
    assert operator.roots.shape == (40, 1)


def centred_in_long_double(d: Array, w: Array) -> Any:
    K = -LONG(0.5) * d.astype(LONG) ** 2
    w = w.astype(LONG)
    w = w / w.sum()
    B = K - (K @ w)[:, None] - (w @ K)[None, :] + w @ K @ w
    return np.sqrt(w)[:, None] * B * np.sqrt(w)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e7])
def test_the_rounding_of_products_with_distances_is_bounded(metric: Any, scale: float) -> None:
    x, w = scale * some_points(300), some_weights(300)
    d = cdist(x, x, metric)
    operator = CentredSource(Distances(d), w)
    truth = centred_in_long_double(d, w)
    V = np.random.default_rng(5).standard_normal((300, 4))
    V /= np.linalg.norm(V, axis=0)
    errors = np.linalg.norm((operator.product(V) - truth @ V.astype(LONG)).astype(float), axis=0)
    assert np.all(errors <= operator.rounding())
    dense = np.linalg.norm((operator.dense() - truth).astype(float), 2)
    assert dense <= operator.dense_rounding()
    assert operator.rounding() <= 1e-12 * float(np.linalg.norm(truth.astype(float), 2)) * 300


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["dense", "exact"])
def test_intervals_of_classical_scaling_hold_the_truth(method: str, seed: int) -> None:
    """Against eigenvalues in extended precision, Euclidean distances and others, duplicates too."""
    rng = np.random.default_rng(seed)
    n, scale = int(rng.integers(30, 70)), 10.0 ** rng.uniform(-6, 6)
    x = scale * (rng.standard_normal((n, 4)) + 10.0 * rng.integers(0, 2))
    x[: seed + 1] = x[0]
    d = cdist(x, x, "cityblock" if seed % 2 else "euclidean")
    w = rng.dirichlet(np.ones(n))
    model = mc.ClassicalMDS(3, method=method, random_state=0).fit(d, sample_weight=w)
    spectrum, truth = model.spectrum_, eigenpairs(centred_in_long_double(d, w))[0]
    proof = spectrum.certificate
    for k in range(3):
        inside = (proof.lower[k] <= truth) & (truth <= proof.upper[k])
        assert inside[k] if proof.is_ordered[k] else inside.any()
    assert np.sum(truth > proof.complete_above) <= len(spectrum.values)
    assert spectrum.errors[:3].max() <= 1e-7 * spectrum.values[0]
    assert (proof.rounding, spectrum.smallest is None) == ("bounded", False)
    error = 1e-7 * float(truth[0])
    assert spectrum.smallest == pytest.approx(float(truth[-1]), abs=error)


def test_a_complete_proof_exists_for_distances_too() -> None:
    x = np.random.default_rng(0).standard_normal((1100, 6))
    operator = CentredSource(Distances(cdist(x, x, "cityblock")))
    usual, found = (
        leading(operator, 8, method="exact", random_state=0, proof=proof)
        for proof in ("usual", "complete")
    )
    assert not usual.certificate.is_ordered.all()
    assert found.certificate.is_ordered.all()
    assert "leading, Cholesky's factors" in found.certificate.bounds


def test_distances_keep_within_a_budget_and_landmarks_are_for_kernels() -> None:
    d = cdist(some_points(1200), some_points(1200))
    with pytest.raises(mc.errors.NotEnoughMemory, match="may be used"):
        mc.ClassicalMDS(3, method="dense", memory="20MB").fit(d)
    with pytest.raises(mc.errors.NotEnoughMemory):
        mc.ClassicalMDS(3, method="exact", memory=300_000).fit(d)
    mc.ClassicalMDS(3, memory="20MB", random_state=0).fit(d)
    with pytest.raises(mc.errors.InvalidParameter, match="landmarks"):
        leading(CentredSource(Distances(d)), 3, method="nystrom")


def test_a_distance_is_averaged_with_its_mirror_image_where_rounding_parts_them() -> None:
    x = some_points(30)
    d = cdist(x, x)
    d[3, 4] *= 1.0 + 1e-12
    model = mc.ClassicalMDS(2).fit(d)
    assert np.array_equal(model.dissimilarity_matrix_, model.dissimilarity_matrix_.T)
    assert model.dissimilarity_matrix_[3, 4] == 0.5 * d[3, 4] + 0.5 * d[4, 3]


@pytest.mark.parametrize("shape", [(30, 6), (6, 30), (300, 120), (120, 300)])
@pytest.mark.parametrize("method", ["auto", "dense", "exact"])
def test_a_table_has_the_axes_of_its_linear_kernel(shape: tuple[int, int], method: str) -> None:
    x, w = np.random.default_rng(3).standard_normal(shape), some_weights(shape[0])
    table, tiles = read_table(x, w), Gram(mc.Linear(), x).centred(w)
    found, expected = leading(table, 2, method=method), leading(tiles, 2)
    allowed = found.errors + expected.errors
    assert np.all(np.abs(found.values - expected.values) <= allowed)
    assert found.trace == pytest.approx(expected.trace, rel=1e-12)
    scores = table.image(found.vectors) / np.sqrt(found.values)  # W^½ F, as a kernel's vectors
    assert np.allclose(np.abs(scores), np.abs(expected.vectors), atol=1e-7)


def test_a_table_keeps_to_the_memory_there_is() -> None:
    x = np.random.default_rng(0).standard_normal((400, 300))
    table = read_table(x, np.full(400, 1 / 400))
    assert "covariances" in leading(table, 2).how.method
    with using(Threads(1, memory=1_000_000)):  # of 3.7 MB
        assert "Lanczos" in leading(table, 2).how.method
        with pytest.raises(mc.errors.NotEnoughMemory, match="n_components.*fifth"):
            leading(table, 200)


def test_only_points_of_a_kernel_have_landmarks() -> None:
    table = read_table(some_points(20), np.full(20, 0.05))
    stored = CentredSource(Distances(cdist(some_points(20), some_points(20))))
    for operator in (table, stored):
        with pytest.raises(mc.errors.InvalidParameter, match="points of a kernel"):
            leading(operator, 2, method="nystrom")
