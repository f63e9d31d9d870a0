"""Numbers put in by principal axes: exact tables come back, noise is not fitted, spread holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array
from mercer.data import Table
from mercer.data.missing import imputed_spread, settled
from mercer.errors import DataWarning, InvalidInput, InvalidParameter

SEEDS = st.integers(0, 10**6)


def planted(seed: int, rank: int = 2, noise: float = 0.0, n: int = 40, p: int = 6) -> Array:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) * 3.0
    return np.asarray(scores + noise * rng.normal(size=(n, p)) + 5.0)


def holed(x: Array, seed: int, share: float = 0.1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    holes = rng.random(x.shape) < share
    holes[:, 0] &= ~holes.all(axis=1)
    holes[0] = False
    return np.where(holes, np.nan, x), holes


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_a_table_of_so_many_axes_comes_back(seed: int) -> None:
    x = planted(seed)
    given_, holes = holed(x, seed, 0.05)
    for standardize in (False, True):
        found = mc.data.impute(given_, 2, standardize=standardize, regularised=False, tol=1e-11)
        np.testing.assert_allclose(found.values, x, atol=1e-5 * np.abs(x).max())
        assert (found.is_missing == holes).all()


@settings(max_examples=15)
@given(SEEDS)
def test_without_axes_numbers_are_means_and_what_is_known_stays(seed: int) -> None:
    given_, holes = holed(planted(seed, noise=1.0), seed)
    found = mc.data.impute(given_, 0)
    means = np.nanmean(given_, axis=0)
    np.testing.assert_allclose(found.values[holes], np.broadcast_to(means, holes.shape)[holes])
    again = mc.data.impute(given_, 2)
    np.testing.assert_array_equal(again.values[~holes], given_[~holes])


def test_what_is_put_in_lies_on_the_axes_of_the_whole_table() -> None:
    given_, holes = holed(planted(1, noise=0.5), 1)
    found = mc.data.impute(given_, 2, regularised=False, tol=1e-12)
    model = mc.PCA(2, standardize=True).fit(found.values)
    back = model.inverse_transform(model.transform(found.values))
    np.testing.assert_allclose(back[holes], found.values[holes], atol=1e-6)


def test_the_units_of_columns_do_not_matter_once_they_are_standardised() -> None:
    given_, _ = holed(planted(2, noise=0.5), 2)
    units = np.array([1.0, 1e3, 1e-3, 1.0, 7.0, 1.0])
    found, other = mc.data.impute(given_, 2), mc.data.impute(given_ * units, 2)
    np.testing.assert_allclose(other.values, found.values * units, rtol=1e-6)


def test_regularised_numbers_are_nearer_where_much_is_missing() -> None:
    def error(seed: int, regularised: bool) -> float:
        x = planted(seed, noise=2.0, n=30)
        given_, holes = holed(x, seed, 0.25)
        with np.errstate(all="ignore"):
            found = mc.data.impute(given_, 2, regularised=regularised, tol=1e-4)
        return float(np.mean((found.values - x)[holes] ** 2))

    errors = np.array([[error(seed, True), error(seed, False)] for seed in range(12)])
    by_mean = [
        np.mean((mc.data.impute(g, 0).values - planted(s, noise=2.0, n=30))[h] ** 2)
        for s in range(12)
        for g, h in [holed(planted(s, noise=2.0, n=30), s, 0.25)]
    ]
    assert errors[:, 0].mean() < errors[:, 1].mean()
    assert errors[:, 0].mean() < np.mean(by_mean)


def test_intervals_of_the_spread_hold_what_was_taken_out() -> None:
    inside, count = 0, 0
    for seed in range(8):
        x = planted(seed, noise=1.0, n=50)
        given_, holes = holed(x, seed)
        found = mc.data.impute(given_, 2, tables=60, random_state=seed)
        assert found.tables is not None
        assert found.spread is not None
        low, high = np.quantile(found.tables, [0.025, 0.975], axis=0)
        inside += int(np.sum(((x >= low) & (x <= high))[holes]))
        count += int(holes.sum())
        assert (found.spread[~holes] == 0.0).all()
        assert (found.spread[holes] > 0.0).all()
    assert 0.85 <= inside / count <= 0.99


def test_the_spread_grows_with_the_noise_and_seeds_repeat_it() -> None:
    def spread(noise: float, seed: int = 0) -> Array:
        given_, holes = holed(planted(5, noise=noise), 5)
        found = mc.data.impute(given_, 2, tables=20, random_state=seed)
        assert found.seed == seed
        assert found.spread is not None
        return np.asarray(found.spread[holes])

    assert spread(0.1).mean() < spread(1.0).mean() < spread(3.0).mean()
    np.testing.assert_array_equal(spread(1.0), spread(1.0))
    assert mc.data.impute(holed(planted(5), 5)[0]).spread is None
    seen: list[tuple[int, int]] = []
    mc.data.impute(holed(planted(5), 5)[0], tables=3, progress=lambda a, b: seen.append((a, b)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_file_is_read_with_numbers_put_in(tmp_path: Path) -> None:
    x = planted(6)
    given_, holes = holed(x, 6, 0.05)
    file = tmp_path / "holes.csv"
    lines = [",".join("abcdef")]
    lines += [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in given_]
    file.write_text("\n".join(lines))
    table = mc.read(file, missing="pca")
    expected = mc.data.impute(given_).values
    np.testing.assert_allclose(table.matrix(), expected, rtol=1e-9)
    assert any(f"{int(holes.sum())} missing numbers" in note for note in table.notes)
    both = mc.read(file, missing={"number": "pca", "factor": "level"})
    np.testing.assert_array_equal(both.matrix(), table.matrix())


@pytest.mark.parametrize(
    ("table", "more", "words"),
    [
        ([[1.0, np.nan], [2.0, np.nan]], {}, "column 1 of the table has no number"),
        ([[1.0, 2.0], [np.nan, np.nan]], {}, "row 1 of the table has no number"),
        ([[1.0, np.inf], [1.0, 2.0]], {}, "row 0, column 1"),
        ([["a", 1.0]], {}, "must hold numbers"),
        ([1.0, 2.0], {}, "rows and columns"),
        (np.ones((5, 3)), {"axes": 3}, "at most 2"),
        (np.ones((5, 3)), {"tables": -1}, "tables"),
    ],
)
def test_what_cannot_be_put_in_is_refused_by_its_place(
    table: Any, more: dict[str, Any], words: str
) -> None:
    with pytest.raises((InvalidInput, InvalidParameter), match=words):
        mc.data.impute(table, **more)


def test_constant_columns_and_whole_tables_stay() -> None:
    x = planted(7)
    assert mc.data.impute(x).count == 0
    np.testing.assert_array_equal(mc.data.impute(x).values, x)
    flat = np.column_stack([np.full(40, 7.0), holed(x, 7)[0]])
    flat[3, 0] = np.nan
    assert mc.data.impute(flat).values[3, 0] == pytest.approx(7.0)


def test_an_iteration_that_does_not_settle_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.data.imputation.STEPS", 1)
    with pytest.warns(DataWarning, match="still move"):
        assert not mc.data.impute(holed(planted(8, noise=1.0), 8)[0]).has_converged


@pytest.mark.filterwarnings("ignore::mercer.errors.Misleading")  # of the curved map
def test_doubts_say_how_far_numbers_that_were_put_in_vary() -> None:
    rng = np.random.default_rng(0)
    axis = rng.standard_normal(60)
    spreads = []
    for noise in (0.05, 1.0):  # columns that say much of each other, and little
        x = axis[:, None] + noise * rng.standard_normal((60, 4))
        x[::7, 0] = np.nan
        table = settled(Table.of({name: x[:, j] for j, name in enumerate("abcd")}), "pca")
        found = imputed_spread(table)
        assert found is not None
        spreads.append(found)
        said = [doubt.text for doubt in mc.analyse(table).doubts if doubt.kind == "missing"]
        assert f"plausible values vary by {found:.2f} standard deviations" in said[0]
    assert spreads[0] < 0.15
    assert 0.5 < spreads[1] < 1.2
    few = settled(Table.of({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 4.0]}), "mean")
    assert imputed_spread(few) is None


def test_numbers_of_rows_without_any_vary_as_the_column_does() -> None:
    x = np.random.default_rng(1).standard_normal((40, 3))
    x[[3, 9]] = np.nan
    table = settled(Table.of({name: x[:, j] for j, name in enumerate("abc")}), "mean")
    assert imputed_spread(table) == 1.0
