"""Consensus kernels: weights by direct computation and brute force, and new individuals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array
from mercer.compare import sides
from mercer.compare.consensus import (
    METHODS,
    least_on_simplex,
    neighbours,
    statis_weights,
    tear_matrix,
)
from mercer.compare.sides import Centring, Limits, centring

KERNELS = {
    "near": mc.Gaussian(bandwidth=0.7),
    "far": mc.Gaussian(bandwidth=3.0),
    "line": mc.Linear(),
}


def points(seed: int = 0, n: int = 30) -> Array:
    return np.random.default_rng(seed).normal(size=(n, 3))


def normalised(x: Array) -> list[Array]:
    H = np.eye(len(x)) - 1.0 / len(x)
    centred = [H @ k(x) @ H / len(x) for k in KERNELS.values()]
    return [C / np.linalg.norm(C) for C in centred]


def simplex_grid(steps: int) -> Array:
    """All weights of three kernels that are multiples of 1/steps."""
    a, b = np.meshgrid(np.arange(steps + 1), np.arange(steps + 1))
    keep = a + b <= steps
    a, b = a[keep], b[keep]
    return np.column_stack([a, b, steps - a - b]) / steps


# -- STATIS


def test_statis_weights_are_the_first_eigenvector_of_the_alignments() -> None:
    x = points()
    parts = normalised(x)
    C = np.array([[np.sum(a * b) for b in parts] for a in parts])
    u = np.linalg.eigh(C)[1][:, -1]
    found = mc.consensus(KERNELS, x)
    np.testing.assert_allclose(found.alignments, C, rtol=1e-10)
    np.testing.assert_allclose(found.weights, u / u.sum(), rtol=1e-10)
    assert found.value == pytest.approx(np.linalg.eigvalsh(C)[-1] / 3)


def test_statis_makes_the_sum_of_squared_alignments_largest() -> None:
    x = points(1)
    found = mc.consensus(KERNELS, x)
    C = found.alignments
    for w in simplex_grid(40):
        agreement = C @ w / np.sqrt(w @ C @ w)
        assert np.sum(agreement**2) <= np.sum(found.agreement**2) + 1e-12


def test_agreement_is_the_alignment_with_the_consensus_kernel() -> None:
    x = points(2)
    for method in METHODS:
        found = mc.consensus(KERNELS, x, method=method)
        for name, agreement in zip(found.names, found.agreement, strict=True):
            one = mc.alignment(KERNELS[name], found.kernel, x, permutations=0).statistic
            assert agreement == pytest.approx(one, rel=1e-9)


def test_statis_of_two_unrelated_groups_takes_both() -> None:
    C = np.eye(4)
    C[:2, :2] = C[2:, 2:] = [[1.0, 0.5], [0.5, 1.0]]
    np.testing.assert_allclose(statis_weights(C)[0], 0.25)


def test_statis_heeds_weights_of_individuals() -> None:
    x = points(3, 10)
    rows = np.r_[0, 0, np.arange(1, 10)]
    weighted = mc.consensus(KERNELS, x, sample_weight=np.r_[2.0, np.ones(9)])
    np.testing.assert_allclose(weighted.weights, mc.consensus(KERNELS, x[rows]).weights)


def test_individuals_without_weight_decide_nothing() -> None:
    x = points(3, 12)
    kernels = KERNELS | {"near": mc.Gaussian("median")}
    found = mc.consensus(kernels, x, sample_weight=np.r_[np.ones(10), 0.0, 0.0])
    expected = mc.consensus(kernels, x[:10])
    assert found.kernel == expected.kernel
    grams = {name: mc.Gram(k, x) for name, k in KERNELS.items()}
    few = mc.consensus(grams, sample_weight=np.r_[np.ones(10), 0.0, 0.0])
    assert few.kernel == mc.consensus(KERNELS, x[:10]).kernel


def test_a_negative_alignment_has_no_consensus() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="negative, -1"):
        mc.consensus({"a": np.eye(4), "b": -np.eye(4)})


# -- UMKL


def test_what_is_torn_is_the_printed_sum() -> None:
    x = points(4, 15)
    how = Centring(centring(None, 15).weights, limits=Limits(strip=7))
    sides = [how.of(mc.Gram(k, x)) for k in KERNELS.values()]
    W = np.sum([neighbours(side, 3).toarray() for side in sides], axis=0)
    H = np.eye(15) - 1.0 / 15
    rows = [H @ k(x) @ H for k in KERNELS.values()]
    expected = [
        [
            sum(W[i, j] * ((a[i] - a[j]) @ (b[i] - b[j])) for i in range(15) for j in range(15))
            for b in rows
        ]
        for a in rows
    ]
    np.testing.assert_allclose(tear_matrix(sides, 3), expected, rtol=1e-10)


def test_copies_that_no_kernel_tears_apart_leave_weights_equal() -> None:
    x = np.repeat(points(5, 2), 6, axis=0)
    for method in ("sparse-umkl", "full-umkl"):
        found = mc.consensus(KERNELS, x, method=method)
        np.testing.assert_allclose(found.weights, 1.0 / 3.0)
        assert found.gap < 1e-12


@pytest.mark.parametrize("name", KERNELS)
def test_neighbours_are_the_nearest_in_the_space_of_the_kernel(name: str) -> None:
    x = points(5, 12)
    k = KERNELS[name]
    graph = neighbours(centring(None, 12).of(mc.Gram(k, x)), 2).toarray()
    D = mc.distance(k, x) + np.diag(np.full(12, np.inf))
    nearest = np.argsort(D, axis=1)[:, :2]
    expected = np.zeros((12, 12))
    expected[np.arange(12)[:, None], nearest] = 1.0
    np.testing.assert_array_equal(graph, np.maximum(expected, expected.T))


def quadratic(x: Array, count: int = 5) -> Array:
    """S of normalised kernels, scaled to a mean diagonal of 1."""
    how = centring(None, len(x))
    S = tear_matrix([how.of(mc.Gram(k, x)) for k in KERNELS.values()], count)
    norms = mc.consensus(KERNELS, x).norms
    S = S / np.outer(norms, norms)
    return np.asarray(S / np.mean(np.diag(S)))


@pytest.mark.parametrize(("method", "penalty"), [("sparse-umkl", 0.0), ("full-umkl", 0.3)])
def test_umkl_beats_every_weight_on_a_grid(method: str, penalty: float) -> None:
    x = points(6)
    Q = quadratic(x) + penalty * np.eye(3)
    found = mc.consensus(KERNELS, x, method=method, penalty=penalty)
    values = np.einsum("gi,ij,gj->g", simplex_grid(200), Q, simplex_grid(200))
    assert found.value <= values.min() + 1e-12
    assert found.value >= values.min() - 0.01 * values.min()  # a grid of 1/200 comes close
    assert found.value == pytest.approx(found.weights @ Q @ found.weights)
    assert 0.0 <= found.gap < 1e-10


def test_full_umkl_keeps_kernels_that_sparse_umkl_drops() -> None:
    x = 0.1 * points(6)
    sparse = mc.consensus(KERNELS, x, method="sparse-umkl")
    full = mc.consensus(KERNELS, x, method="full-umkl")
    assert np.sum(sparse.weights > 0) < 3
    assert np.all(full.weights > 0.05)
    nearly_equal = mc.consensus(KERNELS, x, method="full-umkl", penalty=1e9)
    np.testing.assert_allclose(nearly_equal.weights, 1.0 / 3.0, atol=1e-6)


def test_the_printed_problem_of_full_umkl_is_solved_by_one_kernel() -> None:
    S = quadratic(points(7))
    assert S.min() >= 0.0
    grid = simplex_grid(200)
    sphere = grid / np.linalg.norm(grid, axis=1)[:, None]
    values = np.einsum("gi,ij,gj->g", sphere, S, sphere)
    best = grid[int(np.argmin(values))]
    assert np.sum(best > 0) == 1
    assert best[int(np.argmin(np.diag(S)))] == 1.0


def test_full_umkl_is_the_first_step_of_the_published_algorithm() -> None:
    # x = argmin xᵀSx + (ρ/2)‖x - z‖² from equal z, then scaled; ρ is twice the penalty.
    x = points(8)
    S = quadratic(x)
    step = np.linalg.solve(S + 10.0 * np.eye(3), np.ones(3))
    found = mc.consensus(KERNELS, x, method="full-umkl", penalty=10.0)
    np.testing.assert_allclose(found.weights, step / step.sum(), rtol=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 7), rank=st.integers(1, 7))
def test_a_form_is_least_where_the_conditions_of_kkt_hold(seed: int, size: int, rank: int) -> None:
    R = np.random.default_rng(seed).normal(size=(rank, size)) + 0.5
    Q = R.T @ R
    least = least_on_simplex(Q)
    assert least.weights.sum() == pytest.approx(1.0)
    assert least.weights.min() >= 0.0
    gradient = Q @ least.weights
    value = least.weights @ gradient
    scale = np.max(np.diag(Q))
    assert gradient.min() >= value - 1e-9 * scale
    np.testing.assert_allclose(gradient[least.weights > 1e-9], value, atol=1e-9 * scale)
    assert least.gap <= 1e-8 * scale


def test_a_form_that_is_not_convex_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="negative eigenvalue"):
        least_on_simplex(np.array([[1.0, 3.0], [3.0, 1.0]]))
    assert least_on_simplex(np.zeros((2, 2))).weights.tolist() == [0.5, 0.5]


# -- the kernel, and new individuals


@pytest.mark.parametrize("method", METHODS)
def test_the_consensus_is_the_weighted_sum_of_normalised_kernels(method: str) -> None:
    x = points(9)
    found = mc.consensus(KERNELS, x, method=method)
    H = np.eye(30) - 1.0 / 30
    expected = sum(w * C for w, C in zip(found.weights, normalised(x), strict=True))
    np.testing.assert_allclose(H @ found.kernel(x) @ H / 30, expected, atol=1e-12)
    assert found.kernel.kind is mc.kernels.Kind.POSITIVE
    assert mc.kernel(repr(found.kernel)) == found.kernel


@pytest.mark.parametrize("method", METHODS)
def test_new_individuals_are_projected(method: str) -> None:
    rng = np.random.default_rng(10)
    genes = rng.normal(size=(40, 4))
    words = ["".join(np.where(row > 0, "a", "b")) + "ab" for row in genes[:, :3]]
    parts: dict[str, Any] = {"genes": genes, "words": words, "one": genes[:, :1]}
    kernels: dict[str, Any] = {
        "genes": "gaussian(bandwidth='median')",
        "words": mc.kernels.StringSpectrum(2),
        "one": "linear()",
    }
    active = {name: part[:30] for name, part in parts.items()}
    new = {name: part[30:] for name, part in parts.items()}
    found = mc.consensus(kernels, active, method=method)
    model = mc.KernelPCA(2, kernel=found.kernel).fit(active)
    np.testing.assert_allclose(model.transform(active), model.individuals_.coordinates, atol=1e-10)
    # The same axes from the matrices themselves.
    K = np.zeros((40, 40))
    for name, weight, norm in zip(found.names, found.weights, found.norms, strict=True):
        kernel = mc.kernel(kernels[name]).resolve(active[name])
        K += weight / norm * np.asarray(kernel(parts[name]))
    by_matrix = mc.KernelPCA(2, kernel="precomputed").fit(K[:30, :30])
    np.testing.assert_allclose(model.transform(new), by_matrix.transform(K[30:, :30]), atol=1e-9)


def test_kernels_without_weight_need_no_points_later() -> None:
    x = 0.1 * points(6)
    parts = {name: (kernel, x) for name, kernel in KERNELS.items()}
    found = mc.consensus(parts, method="sparse-umkl")
    kept = [name for name, w in zip(found.names, found.weights, strict=True) if w > 0]
    assert 0 < len(kept) < 3
    assert list(found.kernel.children()) == kept
    model = mc.KernelPCA(2, kernel=found.kernel).fit({name: x for name in kept})
    assert model.transform({name: x[:2] for name in kept}).shape == (2, 2)


@pytest.mark.parametrize("method", METHODS)
def test_many_individuals_have_the_same_consensus(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = points(13, 60)
    stored = mc.consensus(KERNELS, x, method=method)
    monkeypatch.setattr(sides, "LIMITS", Limits(stored=10))
    tiled = mc.consensus(KERNELS, x, method=method)
    np.testing.assert_allclose(tiled.weights, stored.weights, rtol=1e-9)


def test_gram_matrices_have_a_consensus_on_their_row_numbers() -> None:
    x = points(11)
    matrices = {name: np.asarray(k(x)) for name, k in KERNELS.items()}
    found = mc.consensus(matrices)
    np.testing.assert_allclose(found.weights, mc.consensus(KERNELS, x).weights)
    assert np.asarray(found.kernel(np.arange(30))).shape == (30, 30)


def test_the_value_reads_well() -> None:
    found = mc.consensus(KERNELS, points(12))
    assert repr(found).splitlines()[1].split()[0] == "near"
    assert list(found.table()) == ["kernel", "weight", "agreement"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"method": "mean"}, "statis, full-umkl, sparse-umkl"),
        ({"method": "full-umkl", "penalty": -1.0}, "penalty"),
        ({"method": "sparse-umkl", "sample_weight": np.ones(30)}, "does not support weights"),
        ({"method": "sparse-umkl", "neighbours": 0}, "neighbours"),
    ],
)
def test_questions_that_make_no_sense_are_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        mc.consensus(KERNELS, points(), **said)


def test_more_neighbours_than_individuals_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="at most 29 neighbours"):
        mc.consensus(KERNELS, points(), method="sparse-umkl", neighbours=30)
