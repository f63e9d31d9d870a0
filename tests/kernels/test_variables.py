from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer.check import is_missing
from tests import laws

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 3)) * [1.0, 100.0, 0.01] + [0.0, 1e4, 5.0]
LETTERS = ["a", "b", "a", "c", "b", "a"]


def test_standardised_principal_components_are_those_of_standardised_variables() -> None:
    found = mc.KernelPCA(3, kernel=mc.kernels.Standardised()).fit(X)
    expected = mc.PCA(3, standardize=True).fit(X)
    np.testing.assert_allclose(found.inertias_, expected.inertias_, rtol=1e-12)
    np.testing.assert_allclose(
        np.abs(found.transform(X[:2])), np.abs(expected.transform(X[:2])), atol=1e-10
    )


def test_standardised_knows_no_units() -> None:
    k = mc.kernels.Standardised().gaussian("median")
    moved = X * [3.0, 0.1, 7.0] + [5.0, -2.0, 1.0]
    np.testing.assert_allclose(k.resolve(X)(X), k.resolve(moved)(moved), atol=1e-12)


def test_standardised_keeps_the_contract() -> None:
    assert mc.check_kernel(mc.kernels.Standardised(), X)
    assert mc.check_kernel(mc.kernels.Standardised().gaussian("median"), X)


def test_standardised_refuses_what_has_no_spread_and_other_coordinates() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="coordinate 1 is constant"):
        mc.kernels.Standardised().resolve([[1.0, 0.1], [2.0, 0.1], [5.0, 0.1]])
    with pytest.raises(mc.errors.InvalidInput, match="2 coordinates, and 1 were"):
        mc.kernels.Standardised([0.0], [1.0])([[1.0, 2.0]])
    with pytest.raises(mc.errors.InvalidParameter, match="depends on data"):
        mc.kernels.Standardised()(X)
    with pytest.raises(mc.errors.InvalidParameter, match="2 centres and 1 scales"):
        mc.kernels.Standardised([0.0, 1.0], [1.0])
    assert mc.kernels.Standardised().resolve([[1e200], [3e200]]).parameters()["scale"] == (1e200,)


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=7))
def test_categories_keep_the_laws(labels: list[str | None]) -> None:
    for k in (
        mc.kernels.Category(missing="level"),
        mc.kernels.Category(shares="observed", missing="level"),
    ):
        kernel = k.resolve(labels)
        laws.matrix_is_positive(kernel, labels)
        laws.slices_are_blocks(kernel, labels)
        laws.written_form_returns(kernel)
        assert np.array_equal(kernel(labels) > 0, [[a == b for b in labels] for a in labels])


def test_categories_with_shares_have_the_chi_square_distance_of_correspondence_analysis() -> None:
    k = mc.kernels.Category(shares="observed").resolve(LETTERS)
    share = {"a": 3 / 6, "b": 2 / 6, "c": 1 / 6}
    K = k(LETTERS)
    for i, a in enumerate(LETTERS):
        for j, b in enumerate(LETTERS):
            square = 0.0 if a == b else 1.0 / share[a] + 1.0 / share[b]
            assert K[i, i] + K[j, j] - 2.0 * K[i, j] == pytest.approx(square)
    # The inertia of a variable with m levels is m - 1 (Greenacre).
    assert mc.KernelPCA(kernel=k).fit(LETTERS).inertia_ == pytest.approx(2.0)
    assert mc.check_kernel(k, LETTERS)


def test_categories_refuse_what_is_missing_strange_or_without_share() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="row 1 has no category"):
        mc.kernels.Category()(["a", None])
    with pytest.raises(mc.errors.InvalidInput, match="row 0 is 'z', which is none of the levels"):
        mc.kernels.Category(levels=["a", "b"])(["z"])
    with pytest.raises(mc.errors.InvalidInput, match="'q' does not occur"):
        mc.kernels.Category(levels=["a", "q"], shares="observed").resolve(["a"])
    with pytest.raises(mc.errors.InvalidParameter, match="resolve"):
        mc.kernels.Category(shares="observed")(["a"])
    with pytest.raises(mc.errors.InvalidParameter, match="1 shares of 2 levels"):
        mc.kernels.Category(["a", "b"], [0.5])
    mistakes: list[dict[str, Any]] = [
        {"missing": "ignore"},
        {"shares": "guessed"},
        {"levels": "ab"},
        {"levels": []},
    ]
    for wrong in mistakes:
        with pytest.raises(mc.errors.InvalidParameter):
            mc.kernels.Category(**wrong)


def test_categories_have_features_where_the_levels_are_known() -> None:
    k = mc.kernels.Category(["a", "b", "c"], [0.5, 0.3, 0.2])
    phi = k.features(LETTERS)
    np.testing.assert_allclose(phi @ phi.T, k(LETTERS))
    with pytest.raises(mc.errors.NoFeatureMap):
        mc.kernels.Category().features(LETTERS)


def test_the_squared_distance_of_ordinals_counts_steps() -> None:
    k = mc.kernels.Ordinal(["low", "middle", "high"])
    K = k(["low", "middle", "high", "high"])
    squares = np.diag(K)[:, None] + np.diag(K) - 2 * K
    assert squares.tolist() == [[0, 1, 2, 2], [1, 0, 1, 1], [2, 1, 0, 0], [2, 1, 0, 0]]
    assert mc.check_kernel(k, ["low", "high", "middle", "low"])
    assert mc.check_kernel(mc.kernels.Ordinal(), [3.0, 1.0, 2.5, 1.0])


def test_ordinals_of_numbers_take_their_levels_from_the_data() -> None:
    k = mc.kernels.Ordinal().resolve([10.0, 2.0, 10.0, 5.0])
    assert k == mc.kernels.Ordinal([2.0, 5.0, 10.0])
    assert k([2.0], [5.0, 10.0]).tolist() == [[1.0, 1.0]]
    with pytest.raises(mc.errors.InvalidInput, match="row 0 is 3.0"):
        k([3.0])
    with pytest.raises(mc.errors.InvalidParameter, match="depend on data"):
        mc.kernels.Ordinal()([1.0])
    with pytest.raises(mc.errors.InvalidInput):
        mc.kernels.Ordinal().resolve(["low", "high"])


def test_what_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    holes: list[Any] = [None, float("nan"), np.float32("nan"), pandas.NA, pandas.NaT]
    assert all(map(is_missing, holes))
    assert not any(map(is_missing, ["", 0, False, "nan", [], 0.0]))


def test_a_category_without_a_share_has_the_feature_0() -> None:
    """As a supplementary row of a level that no active one has, in correspondence analysis."""
    k = mc.kernels.Category(shares="observed").resolve(["a", "b", "b"])
    new = ["a", "q", "b", "q"]
    np.testing.assert_allclose(k(new), np.diag([3.0, 0.0, 1.5, 0.0]), rtol=1e-15)
    np.testing.assert_allclose(k.features(new) @ k.features(new).T, k(new), rtol=1e-15)
    np.testing.assert_allclose(k(new, ["b"])[:, 0], [0.0, 0.0, 1.5, 0.0], rtol=1e-15)


def test_levels_of_weight_0_and_new_ones_do_not_stop_a_model_of_a_table() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "a": rng.normal(size=12),
        "b": list("xxyyzzxxyyzz"),
        "c": rng.normal(size=12),
    }
    weights = np.where(np.array(columns["b"]) == "z", 0.0, 1.0)
    model = mc.KernelPCA(2, kernel=mc.kernels.Columns()).fit(columns, sample_weight=weights)
    with pytest.warns(mc.errors.ReadingWarning, match="without weight"):
        famd = mc.FAMD(2).fit(columns, sample_weight=weights)
    np.testing.assert_allclose(model.inertias_, famd.inertias_, rtol=1e-10)
    new = {"a": [0.0], "b": ["q"], "c": [1.0]}
    assert np.all(np.isfinite(model.transform(new)))
    some = {name: column[:4] for name, column in columns.items()}
    support = mc.SVC(kernel=mc.kernels.Columns()).fit(some, [0, 0, 1, 1])
    assert support.predict(new).shape == (1,)
