from __future__ import annotations

import tracemalloc

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.gram import Gram
from mercer.lowrank import inverse_root, nystrom, pivoted_cholesky
from tests.strategies import kernels, points

RNG = np.random.default_rng(3)
X = RNG.standard_normal((300, 4))
GRAM = Gram(mc.Gaussian(2.0), X)
K = GRAM.dense()


@pytest.mark.parametrize("landmarks", ["pivoted", "kmeans", "uniform", X[::10]], ids=str)
@pytest.mark.parametrize("single", [False, True])
def test_the_trace_error_is_the_trace_norm_of_what_is_missing(
    landmarks: object, single: bool
) -> None:
    approximation = nystrom(GRAM, 30, landmarks=landmarks, single=single, random_state=0)  # type: ignore[arg-type]
    missing = K - approximation.dense()
    rounding = 1e-3 if single else 1e-9
    assert np.linalg.eigvalsh(missing)[0] >= -rounding
    assert approximation.trace_error == pytest.approx(np.trace(missing), abs=rounding)
    assert approximation.trace == pytest.approx(300.0)
    v = RNG.standard_normal((300, 2))
    np.testing.assert_allclose(approximation @ v, approximation.dense() @ v, atol=10 * rounding)
    np.testing.assert_allclose(
        approximation.diag(), np.diag(approximation.dense()), atol=rounding, rtol=1e-6
    )


def test_pivots_find_more_than_uniform_points_do_on_clustered_data() -> None:
    x = np.vstack([0.01 * RNG.standard_normal((280, 3)), 5.0 + RNG.standard_normal((20, 3))])
    gram = Gram(mc.Gaussian(1.0), x)
    errors = {
        how: np.mean(
            [nystrom(gram, 10, landmarks=how, random_state=seed).trace_error for seed in range(10)]
        )
        for how in ("pivoted", "uniform")
    }
    assert errors["pivoted"] < 0.6 * errors["uniform"]


def test_repeated_landmarks_and_ranks_beyond_the_data_are_harmless() -> None:
    repeated = nystrom(GRAM, 20, landmarks=np.repeat(X[:5], 4, axis=0), random_state=0)
    once = nystrom(GRAM, 5, landmarks=X[:5], random_state=0)
    assert repeated.trace_error == pytest.approx(once.trace_error, rel=1e-8)
    assert np.all(np.isfinite(repeated.factor))
    full = nystrom(Gram(mc.Linear(), X), 300, random_state=0)
    assert full.rank <= 5
    assert full.trace_error <= 1e-8 * full.trace


@pytest.mark.parametrize(("single", "most"), [(True, 1.8), (False, 1.4)])
def test_pivots_take_little_more_memory_than_their_factor(single: bool, most: float) -> None:
    """It is made in its own precision, and rows of the matrix a few at a time."""
    n, rank = 20_000, 400
    gram = Gram(mc.Gaussian(2.0), np.random.default_rng(0).standard_normal((n, 8)))
    pivoted_cholesky(gram, 2, random_state=0, single=single)  # what is made once is not its cost
    tracemalloc.start()
    try:
        found = pivoted_cholesky(gram, rank, random_state=0, single=single)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.rank == rank
    assert found.factor.itemsize == (4 if single else 8)
    assert peak < most * found.factor.nbytes


@pytest.mark.parametrize("single", [True, False])
def test_pivots_end_where_nothing_but_rounding_is_left(single: bool) -> None:
    gram = Gram(mc.Gaussian(20.0), X)
    found = pivoted_cholesky(gram, 300, random_state=0, single=single)
    rounding = 1e-5 if single else 1e-12
    assert found.rank < 120
    assert found.factor.flags.c_contiguous
    assert found.trace_error < rounding * found.trace
    assert np.linalg.eigvalsh(gram.dense() - found.dense())[0] > -rounding * found.trace
    np.testing.assert_allclose(
        found.features(X) @ found.features(X).T, gram.dense(), rtol=0, atol=1e3 * rounding
    )


def test_a_kernel_that_is_not_positive_definite_has_no_approximation() -> None:
    indefinite = K - 3.0 * np.eye(300)
    with pytest.raises(mc.errors.InvalidInput, match="negative"):
        nystrom(
            Gram(mc.Precomputed(indefinite), np.arange(300)),
            20,
            landmarks="uniform",
            random_state=0,
        )
    sigmoid = Gram(mc.kernels.Sigmoid(1.0, -1.0), X)
    with pytest.raises(mc.errors.InvalidInput, match="negative"):
        nystrom(sigmoid, 40, landmarks="uniform", random_state=0)


def test_objects_are_approximated_like_vectors() -> None:
    sets = [set(RNG.choice(9, size, replace=False).tolist()) for size in RNG.integers(1, 9, 80)]
    gram = Gram(mc.kernels.Intersection(), sets)
    approximation = nystrom(gram, 9, random_state=0)
    assert approximation.trace_error <= 1e-9 * approximation.trace


def test_the_same_seed_gives_the_same_factor_and_another_one_another() -> None:
    first, again, other = (nystrom(GRAM, 15, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.factor, again.factor)
    assert not np.array_equal(first.factor, other.factor)


def test_unknown_landmarks_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="landmarks"):
        nystrom(GRAM, 5, landmarks="best", random_state=0)


@given(kernels(), points(2, 6), st.integers(1, 6))
def test_an_approximation_never_exceeds_the_matrix(
    k: mc.Kernel, x: np.ndarray[tuple[int, int], np.dtype[np.float64]], rank: int
) -> None:
    try:
        matrix = k(x)
    except mc.errors.InvalidInput:
        return
    approximation = pivoted_cholesky(Gram(k, x), rank, random_state=0)
    missing = matrix - approximation.dense()
    size = max(1.0, float(np.max(np.abs(matrix))))
    assert np.linalg.eigvalsh((missing + missing.T) / 2)[0] >= -1e-7 * size


@pytest.mark.parametrize("bandwidth", [0.5, 5.0, 50.0])
def test_the_inverse_root_is_too_large_by_no_more_than_it_says(bandwidth: float) -> None:
    x = np.random.default_rng(3).standard_normal((40, 2))
    kernel = mc.Gaussian(bandwidth)
    root, excess = inverse_root(kernel, x)
    with mpmath.workdps(50):
        R, K = mpmath.matrix(root.tolist()), mpmath.matrix(kernel(x).tolist())
        values = mpmath.eigsy(R.T * K * R, eigvals_only=True)
    assert float(max(values)) - 1.0 <= excess < 1e-4


def test_the_root_of_many_landmarks_is_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).standard_normal((30, 3))
    kernel = mc.Gaussian(0.7) + 0.5 * mc.Linear()
    whole, excess = inverse_root(kernel, x)
    monkeypatch.setattr("mercer.lowrank.ROWS", 7)
    root, gap = inverse_root(kernel, x)
    np.testing.assert_allclose(root, whole, atol=1e-12 * np.abs(whole).max())
    np.testing.assert_allclose(root @ root.T @ kernel(x), np.eye(30), atol=1e-8)
    assert 0.0 < gap < 1e-8
    assert 0.0 < excess < 1e-8


@pytest.mark.parametrize("landmarks", ["pivoted", "uniform"])
def test_the_error_of_many_landmarks_is_bounded_from_above(
    landmarks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = nystrom(GRAM, 30, landmarks=landmarks, random_state=0)
    monkeypatch.setattr("mercer.lowrank.LARGE", 10)
    many = nystrom(GRAM, 30, landmarks=landmarks, random_state=0)
    assert few.below < many.below <= 30 * few.below  # the norm's bound is at most √m too large
    assert few.above < many.above
    assert np.linalg.eigvalsh(K - many.dense())[0] >= -many.below


def test_centring_copies_the_factor_unless_told_to_take_it() -> None:
    approximation = nystrom(GRAM, 30, random_state=0)
    before = approximation.factor.copy()
    centred = approximation.centred()
    assert np.array_equal(approximation.factor, before)
    taken = approximation.centred(copy=False)
    assert np.array_equal(taken.factor, centred.factor)
    assert taken.factor is approximation.factor


@pytest.mark.parametrize("tol", [0.0, 0.05])
def test_a_factor_that_ends_early_has_no_more_columns_than_pivots(tol: float) -> None:
    x = np.repeat(X[:20], 5, axis=0)
    found = pivoted_cholesky(Gram(mc.Gaussian(2.0), x), 60, tol=tol, random_state=0)
    assert found.rank == len(found.features.landmarks) <= 20
    assert found.factor.flags.c_contiguous
    assert found.trace_error <= max(tol, 1e-9) * 100.0
    np.testing.assert_allclose(found.features(x), found.factor, atol=1e-6)


@pytest.mark.parametrize("landmarks", ["pivoted", "kmeans", "uniform"])
@pytest.mark.parametrize("kernel", [mc.Gaussian(1.0), mc.Linear(), mc.Polynomial(2)], ids=str)
def test_what_single_precision_does_to_a_factor_is_counted(
    kernel: mc.Kernel, landmarks: str
) -> None:
    """The factor of pivots is rounded at last: K - FF* had eigenvalues 400 bounds below zero."""
    x = np.random.default_rng(3).standard_normal((40, 3))
    gram = Gram(kernel, x)
    found = nystrom(gram, 20, landmarks=landmarks, single=True, random_state=0)
    F = found.factor.astype(float)
    left = np.linalg.eigvalsh(gram.dense() - F @ F.T)
    assert left[0] >= -found.below
    assert left[-1] <= found.above
