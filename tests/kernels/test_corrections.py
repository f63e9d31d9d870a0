"""Corrections of indefinite similarities: the laws of each, what they change, and new rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.kernels.corrections import CORRECTIONS

SEEDS = st.integers(0, 10**6)


def similarities(seed: int, n: int = 9) -> Array:
    noise = np.random.default_rng(seed).normal(size=(n, n))
    return np.asarray(noise + noise.T + 3.0 * np.eye(n))


@settings(max_examples=25)
@given(SEEDS)
def test_each_correction_is_its_function_of_the_eigenvalues(seed: int) -> None:
    K = similarities(seed)
    before = np.linalg.eigvalsh(K)
    expected = {
        "clip": np.maximum(before, 0.0),
        "flip": np.sort(np.abs(before)),
        "shift": before - min(before[0], 0.0),
    }
    for name in CORRECTIONS:
        found = mc.kernels.correct_similarities(K, name)
        np.testing.assert_allclose(np.linalg.eigvalsh(found.matrix), expected[name], atol=1e-9)
        assert mc.positive_definite(found.matrix)
        negative = np.abs(before[before < 0]).sum() / np.abs(before).sum()
        assert found.negative_mass == pytest.approx(negative, abs=1e-12)
        change = np.linalg.norm(found.matrix - K) / np.linalg.norm(K)
        assert found.change == pytest.approx(change, rel=1e-9, abs=1e-12)
    shifted = mc.kernels.correct_similarities(K, "shift")
    np.testing.assert_allclose(shifted.matrix - K, shifted.shift * np.eye(9), atol=1e-12)


@settings(max_examples=25)
@given(SEEDS)
def test_clipping_is_the_nearest_gram_matrix(seed: int) -> None:
    K = similarities(seed)
    nearest = np.linalg.norm(mc.kernels.correct_similarities(K, "clip").matrix - K)
    others = np.random.default_rng(seed).normal(size=(5, 9, 9))
    clipped = mc.kernels.correct_similarities(K).matrix
    for B in others:
        for size in (0.01, 1.0):
            other = clipped + size * B @ B.T
            assert np.linalg.norm(other - K) >= nearest * (1 - 1e-12)
    for name in ("flip", "shift"):
        assert np.linalg.norm(mc.kernels.correct_similarities(K, name).matrix - K) >= nearest


@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_gram_matrix_stays_and_new_rows_go_with_the_old(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(9, 3))
    kept = mc.kernels.correct_similarities(x @ x.T, name)
    assert kept.change == kept.negative_mass == kept.shift == 0.0
    np.testing.assert_array_equal(kept.transform(x[:2] @ x.T), x[:2] @ x.T)
    K = similarities(4)
    found = mc.kernels.correct_similarities(K, name)
    expected = found.matrix[:3] if name != "shift" else K[:3]
    np.testing.assert_allclose(found.transform(K[:3]), expected, atol=1e-9)


def test_a_model_takes_corrected_similarities_and_says_how_to_correct_others() -> None:
    K = similarities(5)
    with pytest.raises(NotPositiveDefinite, match="correct_similarities"):
        mc.KernelPCA(2, kernel="precomputed").fit(K)
    found = mc.kernels.correct_similarities(K, "clip")
    model = mc.KernelPCA(2, kernel="precomputed").fit(found)
    np.testing.assert_allclose(
        model.transform(found.transform(K)), model.individuals_.coordinates, atol=1e-8
    )


@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_model_corrects_by_itself_also_new_rows_and_once_stored(
    name: str, tmp_path: Path
) -> None:
    K = similarities(6)
    found = mc.kernels.correct_similarities(K, name)
    by_hand = mc.KernelPCA(2, kernel="precomputed").fit(found)
    model = mc.KernelPCA(2, kernel="precomputed", correction=name).fit(K)
    np.testing.assert_allclose(
        model.individuals_.coordinates, by_hand.individuals_.coordinates, atol=1e-9
    )
    assert model.negative_mass_ == found.negative_mass > 0.0
    assert model.correction_change_ == found.change > 0.0
    model.save(tmp_path / "model.mercer")
    for one in (model, mc.load(tmp_path / "model.mercer")):
        np.testing.assert_allclose(
            one.transform(K[:3]), by_hand.transform(found.transform(K[:3])), atol=1e-9
        )
    with pytest.raises(InvalidParameter, match="precomputed"):
        mc.KernelPCA(2, kernel=mc.Gaussian(1.0), correction=name).fit(K)
    with pytest.raises(InvalidParameter, match="correction must be"):
        mc.KernelPCA(2, kernel="precomputed", correction="lingoes").fit(K)


def test_what_is_no_similarity_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"entry \(0, 1\)"):
        mc.kernels.correct_similarities([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(InvalidParameter, match="clip, flip, shift"):
        mc.kernels.correct_similarities(np.eye(2), "lingoes")
    with pytest.raises(InvalidInput, match="shape"):
        mc.kernels.correct_similarities(np.eye(3)).transform(np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="row 0"):
        mc.kernels.correct_similarities([[np.nan, 0.0], [0.0, 1.0]])
