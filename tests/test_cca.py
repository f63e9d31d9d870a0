from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from sklearn.cross_decomposition import CCA

import mercer as mc
from mercer.check import Array

RNG = np.random.default_rng(41)
COMMON = RNG.standard_normal((80, 2))
X = np.hstack([COMMON, RNG.standard_normal((80, 2))]) @ RNG.standard_normal((4, 4))
Y = np.hstack([COMMON + 0.3 * RNG.standard_normal((80, 2)), RNG.standard_normal((80, 1))])
NEW = RNG.standard_normal((9, 4)), RNG.standard_normal((9, 3))


def canonical(x: Array, y: Array) -> Array:
    """The canonical correlations of columns, by orthonormal bases."""
    bases = [np.linalg.qr(a - a.mean(axis=0))[0] for a in (x, y)]
    return np.asarray(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False))


def test_linear_kernels_without_a_penalty_are_the_classical_analysis() -> None:
    model = mc.KernelCCA(3, kernels=("linear", "linear"), penalty=0.0).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, canonical(X, Y), atol=1e-9)
    np.testing.assert_allclose(model.sample_correlations_, model.correlations_, atol=1e-9)
    for scores in (model.x_scores_, model.y_scores_):
        np.testing.assert_allclose(scores.T @ scores / 80, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(
        model.x_scores_.T @ model.y_scores_ / 80, np.diag(model.correlations_), atol=1e-8
    )
    x, y = CCA(2, max_iter=5000, tol=1e-12).fit(X, Y).transform(X, Y)
    theirs = [np.corrcoef(x[:, j], y[:, j])[0, 1] for j in range(2)]
    np.testing.assert_allclose(model.correlations_[:2], theirs, atol=1e-6)
    near = mc.KernelCCA(3, penalty=1e-9).fit(X, Y)
    np.testing.assert_allclose(near.correlations_, model.correlations_, atol=1e-6)
    far = mc.KernelCCA(3, penalty=0.0).fit(X + 1e6, Y - 1e6)
    np.testing.assert_allclose(far.correlations_, model.correlations_, atol=1e-8)
    np.testing.assert_allclose(far.transform(X + 1e6), model.x_scores_, atol=1e-6)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, (0.02, 0.3)])
def test_correlations_are_those_of_the_generalised_eigenproblem(penalty: Any) -> None:
    """Bach and Jordan (2002): 0 KL; LK 0 against the squares of K + nγI and L + nγI."""
    kernels = mc.Gaussian(2.0), mc.Laplacian(3.0)
    model = mc.KernelCCA(4, kernels=kernels, penalty=penalty).fit(X, Y)
    n, H = 80, np.eye(80) - 1.0 / 80
    K, L = (H @ k(a) @ H for k, a in zip(kernels, (X, Y), strict=True))
    shifts = penalty if isinstance(penalty, tuple) else (penalty, penalty)
    A, B = (M + n * g * np.eye(n) for M, g in zip((K, L), shifts, strict=True))
    left = np.block([[np.zeros((n, n)), K @ L], [L @ K, np.zeros((n, n))]])
    right = np.block([[A @ A, np.zeros((n, n))], [np.zeros((n, n)), B @ B]])
    values = eigh(left, right, eigvals_only=True)
    np.testing.assert_allclose(model.correlations_, values[::-1][:4], atol=1e-9)
    assert np.all((model.correlations_ >= 0.0) & (model.correlations_ <= 1.0))
    norms = [
        np.linalg.norm(M @ w, axis=0) for M, w in ((A, model.x_weights_), (B, model.y_weights_))
    ]
    np.testing.assert_allclose(norms, np.sqrt(n), rtol=1e-9)
    np.testing.assert_allclose(
        np.diag(model.x_weights_.T @ K @ L @ model.y_weights_) / n, model.correlations_, atol=1e-9
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1e-6, 1e-2, 1.0]))
def test_correlations_lie_between_zero_and_one_and_fall_with_the_penalty(
    seed: int, penalty: float
) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((15, 2)), rng.standard_normal((15, 3))
    kernels = (mc.Gaussian(1.0), mc.Polynomial(2))
    one = mc.KernelCCA(3, kernels=kernels, penalty=penalty).fit(x, y).correlations_
    more = mc.KernelCCA(3, kernels=kernels, penalty=2.0 * penalty).fit(x, y).correlations_
    assert np.all((one >= 0.0) & (one <= 1.0))
    assert np.all(np.diff(one) <= 1e-12)
    assert more[0] <= one[0] + 1e-9
    swapped = mc.KernelCCA(3, kernels=kernels[::-1], penalty=penalty).fit(y, x).correlations_
    np.testing.assert_allclose(swapped, one, atol=1e-9)


def test_new_points_are_placed_as_the_old_ones() -> None:
    model = mc.KernelCCA(2, kernels=(mc.Gaussian(2.0), "linear"), penalty=0.05).fit(X, Y)
    x, y = model.transform(X, Y)
    np.testing.assert_allclose(x, model.x_scores_, atol=1e-9)
    np.testing.assert_allclose(y, model.y_scores_, atol=1e-9)
    alone = [model.transform(row[None, :])[0] for row in NEW[0]]
    np.testing.assert_allclose(model.transform(NEW[0]), alone, atol=1e-12)
    np.testing.assert_allclose(model.transform(None, NEW[1]), model.transform(*NEW)[1])
    given = mc.KernelCCA(2, kernels=("precomputed", "linear"), penalty=0.05)
    given.fit(mc.Gaussian(2.0)(X), Y)
    np.testing.assert_allclose(given.correlations_, model.correlations_, atol=1e-9)
    np.testing.assert_allclose(
        given.transform(mc.Gaussian(2.0)(NEW[0], X)), model.transform(NEW[0]), atol=1e-8
    )


def test_a_common_cause_is_found_across_kinds_of_points() -> None:
    rng = np.random.default_rng(2)
    share = rng.uniform(0.1, 0.9, 40)
    words = ["".join(rng.choice(["a", "c"], 60, p=[p, 1.0 - p])) for p in share]
    heights = np.column_stack([np.exp(share), rng.standard_normal(40)])
    kernels = (mc.kernels.StringSpectrum(1).normalised(), mc.Gaussian(1.0))
    model = mc.KernelCCA(1, kernels=kernels, penalty=1e-2).fit(words, heights)
    assert abs(np.corrcoef(model.x_scores_[:, 0], share)[0, 1]) > 0.9
    assert model.p_value(99, random_state=0) == 0.01
    assert model.transform(["aaaa", "cccc"]).shape == (2, 1)


def test_the_p_value_is_one_of_chance_where_there_is_nothing() -> None:
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((25, 2)), rng.standard_normal((25, 2))
        model = mc.KernelCCA(1, kernels=(mc.Gaussian(1.5), "linear"), penalty=0.05).fit(x, y)
        p_values.append(model.p_value(19, random_state=0))
    assert 0.3 < np.mean(p_values) < 0.7
    assert np.mean(np.array(p_values) <= 0.05) <= 0.15  # 5 % in the mean: 9 of 60 is rarer than 1 %
    again = model.p_value(19, random_state=0)
    assert again == p_values[-1]


def test_what_is_correlated_by_construction_is_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="Give penalty > 0"):
        mc.KernelCCA(1, kernels=(mc.Gaussian(1.0), "linear"), penalty=0.0).fit(X, Y)
    with pytest.raises(mc.errors.InvalidInput, match="the same for all individuals"):
        mc.KernelCCA(1).fit(np.ones((10, 2)), Y[:10])
    with pytest.raises(mc.errors.InvalidInput, match="X has 80 individuals and Y has 79"):
        mc.KernelCCA(1).fit(X, Y[:79])
    with pytest.raises(mc.errors.InvalidInput, match="give Y too"):
        mc.KernelCCA(1).fit(X, None)
    with pytest.raises(mc.errors.InvalidParameter, match="kernels must be a pair"):
        mc.KernelCCA(1, kernels="linear").fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="penalty must be a number"):
        mc.KernelCCA(1, penalty=-1.0).fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="negative eigenvalue"):
        mc.KernelCCA(1, kernels=(mc.kernels.Sigmoid(1.0, -2.0), "linear")).fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="NystromFeatures of each view"):
        mc.KernelCCA(1).fit(np.zeros((5001, 1)), np.zeros((5001, 1)))
    model = mc.KernelCCA(1).fit(X, Y)
    with pytest.raises(mc.errors.InvalidInput, match="give points of the first view"):
        model.transform(None)


def test_it_is_kept_in_files(tmp_path: Any) -> None:
    model = mc.KernelCCA(2, kernels=(mc.Gaussian(2.0), "linear"), penalty=0.05).fit(X, Y)
    model.save(tmp_path / "m.mercer")
    for again in (mc.load(tmp_path / "m.mercer"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(*NEW)[0], model.transform(*NEW)[0])
        assert again.p_value(9, random_state=0) == model.p_value(9, random_state=0)


def test_the_seed_of_a_p_value_repeats_it() -> None:
    rng = np.random.default_rng(0)
    model = mc.KernelCCA(1, kernels=("linear", "linear"))
    model.fit(rng.standard_normal((30, 2)), rng.standard_normal((30, 2)))
    first = model.p_value(19, random_state=rng)
    seed = model.p_value_seed_
    assert model.p_value(19, random_state=seed) == first
    assert model.p_value_seed_ == seed
    model.p_value(19)
    assert model.p_value_seed_ != seed


def test_scores_have_the_precision_of_their_view_and_lazy_views_are_refused_by_name() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    model = mc.KernelCCA(1, kernels=("linear", "linear")).fit(x.astype(np.float32), y)
    assert model.x_scores_.dtype == np.float32
    assert model.y_scores_.dtype == np.float64
    assert model.transform(x.astype(np.float32)).dtype == np.float32
    polars = pytest.importorskip("polars")
    with pytest.raises(mc.errors.InvalidInput, match=r"X \(polars LazyFrame\).*X\.collect"):
        model.fit(polars.DataFrame(x).lazy(), y)
    with pytest.raises(mc.errors.InvalidInput, match=r"variables \(polars LazyFrame\)"):
        mc.PCA(2).fit(x).supplementary(variables=polars.DataFrame(x).lazy())
