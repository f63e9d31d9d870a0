"""Rows in batches: the axes are those of all of them, however they arrive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import mercer as mc
from mercer.errors import InvalidInput, InvalidParameter, NotAvailable
from mercer.kernels import StringSpectrum
from mercer.pca.streams import Moments

RNG = np.random.default_rng(0)
X = RNG.standard_normal((240, 4)) @ RNG.standard_normal((4, 4)) * [3.0, 2.0, 1.0, 0.5] + 5.0
KERNEL = mc.Gaussian(12.0)
LANDMARKS = X[::3]
CUTS = st.sets(st.integers(1, len(X) - 1), max_size=8).map(sorted)


def batches(cuts: list[int], data: Any = X) -> list[Any]:
    bounds = [0, *cuts, data.shape[0]]
    return [data[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


def streamed(model: Any, parts: list[Any], weights: list[Any] | None = None) -> Any:
    for i, part in enumerate(parts):
        model.partial_fit(part, sample_weight=None if weights is None else weights[i])
    return model


def assert_same(one: Any, other: Any, data: Any = X, tol: float = 1e-10) -> None:
    """Inertias to 1e-10 of the largest, and coordinates once signs are those of the other."""
    largest = other.inertias_[0]
    np.testing.assert_allclose(one.inertias_, other.inertias_, rtol=0, atol=tol * largest)
    assert one.spectrum_.trace == pytest.approx(other.spectrum_.trace, rel=tol)
    there, here = one.transform(data), other.transform(data)
    turned = there * np.sign(np.sum(there * here, axis=0))
    np.testing.assert_allclose(turned, here, rtol=0, atol=1e-7 * np.abs(here).max())


@settings(max_examples=20, deadline=None)
@given(CUTS, st.booleans(), st.sampled_from([0.0, 1e6]), st.booleans())
def test_any_batches_give_the_axes_of_all_rows(
    cuts: list[int], standardize: bool, offset: float, has_weights: bool
) -> None:
    data = X + offset
    weights = np.arange(1.0, len(X) + 1.0) if has_weights else None
    whole = mc.PCA(3, standardize=standardize).fit(data, sample_weight=weights)
    parts = None if weights is None else batches(cuts, weights)
    stream = streamed(mc.PCA(3, standardize=standardize), batches(cuts, data), parts)
    assert_same(stream, whole, data)
    np.testing.assert_allclose(stream.mean_, whole.mean_, rtol=1e-14)
    assert len(stream.drift_) == len(cuts)
    correlations = stream.variables_.correlations
    np.testing.assert_allclose(
        np.abs(correlations), np.abs(whole.variables_.correlations), atol=1e-9
    )
    np.testing.assert_allclose(
        stream.explained_variance_, whole.explained_variance_, rtol=0, atol=1e-9 * whole.inertia_
    )


def test_rows_one_by_one_and_before_there_are_as_many_as_columns() -> None:
    stream = streamed(mc.PCA(3), list(X[:, None, :]))
    assert_same(stream, mc.PCA(3).fit(X))
    few = streamed(mc.PCA(), [X[:2], X[2:3]])
    assert few.n_components_ == 2
    assert_same(few, mc.PCA().fit(X[:3]))


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_sizes_whose_squares_are_no_doubles(size: float) -> None:
    stream = streamed(mc.PCA(2, standardize=True), [X[:9], X[9:] * size])
    whole = mc.PCA(2, standardize=True).fit(np.vstack([X[:9], X[9:] * size]))
    np.testing.assert_allclose(stream.inertias_, whole.inertias_, rtol=1e-10)


def test_sparse_rows_and_what_was_fitted_before() -> None:
    whole = mc.PCA(2).fit(X)
    assert_same(streamed(mc.PCA(2), batches([100], sparse.csr_array(X))), whole)
    continued = mc.PCA(2).fit(X[:100]).partial_fit(X[100:])
    assert_same(continued, whole)
    assert len(continued.drift_) == 1
    assert continued.fit(X[:50])._stream is None  # begun anew
    with pytest.raises(NotAvailable, match="partial_fit"):
        _ = continued.drift_


@settings(max_examples=6, deadline=None)
@given(CUTS.map(lambda cuts: cuts[:3]), st.booleans())
def test_any_batches_give_the_axes_on_the_same_landmarks(cuts: list[int], weighted: bool) -> None:
    weights = np.arange(1.0, len(X) + 1.0) if weighted else None
    model = mc.KernelPCA(2, kernel=KERNEL, method="nystrom", landmarks=LANDMARKS)
    whole = clone(model).fit(X, sample_weight=weights)
    parts = None if weights is None else batches(cuts, weights)
    stream = streamed(clone(model), batches(cuts), parts)
    assert_same(stream, whole)
    exact = mc.KernelPCA(2, kernel=KERNEL).fit(X, sample_weight=weights).inertias_
    proof = stream.spectrum_.certificate
    assert np.all(proof.lower <= exact + 1e-12)
    assert np.all(exact <= proof.upper + 1e-12)
    assert stream.spectrum_.trace_error == pytest.approx(whole.spectrum_.trace_error, rel=1e-2)


def test_landmarks_are_chosen_in_the_first_batch() -> None:
    stream = mc.KernelPCA(2, kernel=mc.Gaussian("median"), landmarks=30, random_state=0)
    streamed(stream, batches([100, 170]))
    features: Any = stream.spectrum_.features
    landmarks = features.landmarks
    assert len(landmarks) == 30
    given = mc.KernelPCA(2, kernel=stream.kernel_, method="nystrom", landmarks=landmarks)
    assert_same(stream, given.fit(X))
    going = clone(given).fit(X[:100]).partial_fit(X[100:])
    assert_same(going, given.fit(X))
    assert len(going.drift_) == 1
    share = streamed(mc.KernelPCA(0.9, kernel=KERNEL, landmarks=LANDMARKS, method="nystrom"), [X])
    assert share.explained_variance_ratio_.sum() >= 0.9
    words = ["".join(RNG.choice(list("abc"), 12)) for _ in range(60)]
    of_words = streamed(
        mc.KernelPCA(2, kernel=StringSpectrum(2), landmarks=20), [words[:30], words[30:]]
    )
    assert of_words.transform(words[:5]).shape == (5, 2)


def test_drift_tells_a_turn_from_more_of_the_same() -> None:
    rng = np.random.default_rng(1)
    flat = rng.standard_normal((400, 3)) * [3.0, 1.0, 0.1]
    turned = flat[:, [2, 1, 0]]
    stream = streamed(mc.PCA(1), [flat[:100], flat[100:200], turned[:100]])
    same, other = stream.drift_
    assert same.rows == 100
    assert same.apart.max() < 0.1
    assert other.apart.max() > 1.4
    assert same.turn.max() < same.apart.max()
    assert "angles" in repr(other)
    kernel = mc.KernelPCA(1, kernel=mc.Gaussian(3.0), landmarks=40, random_state=0)
    one, two = streamed(kernel, [flat[:200], flat[200:], turned[:200]]).drift_
    assert two.apart.max() > 3 * one.apart.max()


def test_what_a_stream_does_not_keep_is_said(tmp_path: Path) -> None:
    for model in (mc.PCA(2), mc.KernelPCA(2, kernel=KERNEL, landmarks=20)):
        stream = streamed(model, batches([100]))
        asked: list[Callable[[Any], Any]] = [
            lambda m: m.individuals_,
            lambda m: m.weights_,
            lambda m: m.without(0),
            lambda m: m.outliers(),
            lambda m: m.supplementary(categories=["a"] * len(X)),
        ]
        for ask in asked:
            with pytest.raises(NotAvailable, match="does not keep"):
                ask(stream)
        stream.save(tmp_path / "stream")
        again = mc.load(tmp_path / "stream").partial_fit(X[:10])
        assert_same(again, stream.partial_fit(X[:10]))


def test_batches_that_do_not_fit_are_refused_and_change_nothing() -> None:
    stream = streamed(mc.PCA(2), [X[:50]])
    before = stream.inertias_
    bad = X[:5].copy()
    bad[3, 1] = np.nan
    with pytest.raises(InvalidInput, match="row 3, column 1"):
        stream.partial_fit(bad)
    with pytest.raises(ValueError, match="4 features"):
        stream.partial_fit(X[:, :3])
    np.testing.assert_array_equal(stream.inertias_, before)
    with pytest.raises(InvalidInput, match="first batch chooses"):
        mc.KernelPCA(2, kernel=KERNEL, landmarks=30).partial_fit(X[:10])
    with pytest.raises(InvalidParameter, match="landmarks"):
        mc.KernelPCA(2, kernel=KERNEL, method="exact").partial_fit(X)
    with pytest.raises(InvalidParameter, match="conditionally"):
        mc.KernelPCA(2, kernel=mc.kernels.NegativeDistance()).partial_fit(X)
    with pytest.raises(InvalidParameter, match="nystrom"):
        mc.KernelPCA(2, kernel=KERNEL, landmarks=LANDMARKS).fit(X)


def test_moments_of_two_sets_are_those_of_their_union() -> None:
    a, b = Moments.of(X[:70], np.ones(70)), Moments.of(X[70:], np.ones(170))
    every = Moments.of(X, np.ones(240))
    for joined in (a.joined(b), b.joined(a)):
        np.testing.assert_allclose(joined.covariance, every.covariance, rtol=1e-12)
        np.testing.assert_allclose(joined.centre, every.centre, rtol=1e-15)


def test_axes_of_batches_are_reflected_and_go_on() -> None:
    model = streamed(
        mc.KernelPCA(2, kernel=KERNEL, method="nystrom", landmarks=LANDMARKS),
        batches([100], X[:200]),
    )
    before = model.transform(X)
    other = model.reflected([1, -1])
    np.testing.assert_array_equal(other.transform(X), before * [1, -1])
    other.partial_fit(X[200:])
    np.testing.assert_array_equal(model.transform(X), before)
    assert_same(
        other, streamed(mc.KernelPCA(2, kernel=KERNEL, method="nystrom", landmarks=LANDMARKS), [X])
    )
