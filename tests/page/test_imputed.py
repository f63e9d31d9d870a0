"""The crosses on individuals with missing numbers say how far plausible numbers move them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.check import Array
from mercer.data.missing import plausible_values, settled
from mercer.data.table import Table
from mercer.page.data import describe
from mercer.page.subject import Subject, subject_of
from mercer.pictures.scene import Lines, Panel
from tests.browser import visit


def with_gaps(noise: float) -> Table:
    """Return three columns along one line, with gaps in five rows and nothing in a sixth."""
    rng = np.random.default_rng(0)
    x = np.outer(rng.standard_normal(60), [1.0, 2.0, -1.0]) + noise * rng.standard_normal((60, 3))
    x[:5, 1] = np.nan
    return settled(Table.of(dict(zip("abc", x.T, strict=True))), "mean")


def subject_with(table: Table) -> Subject:
    return subject_of(mc.PCA(3, standardize=True).fit(table.matrix()), table)


def test_plausible_tables_differ_where_numbers_were_missing_and_nowhere_else() -> None:
    x = with_gaps(0.5).matrix().copy()
    x[:5, 1] = np.nan
    x[7] = np.nan
    table = settled(Table.of(dict(zip("abc", x.T, strict=True))), "mean")
    drawn = plausible_values(table)
    assert drawn is not None
    gaps = np.isnan(x)
    assert np.all(drawn[:, ~gaps] == x[~gaps])
    assert np.all(drawn.std(axis=0)[gaps] > 0.0)
    known = x[~gaps.any(axis=1)]
    is_of_one = [(np.delete(one, 7, axis=0) == one[7]).all(axis=1).any() for one in drawn]
    assert all(is_of_one)  # of a row that is lost, another one whole
    assert len(known) == 54
    assert plausible_values(Table.of({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})) is None


def test_moves_are_those_of_the_model_over_plausible_tables() -> None:
    table = with_gaps(0.5)
    subject = subject_with(table)
    found, drawn = subject.doubtful, plausible_values(table)
    assert found is not None
    assert drawn is not None
    assert found.rows.tolist() == [0, 1, 2, 3, 4]
    at = np.array([subject.model.transform(one)[:5] for one in drawn])
    shown = subject.model.individuals_.coordinates[:5]
    expected = np.sqrt(at.var(axis=0) + (at.mean(axis=0) - shown) ** 2)
    np.testing.assert_allclose(found.moves, expected, rtol=1e-9)


def test_who_is_known_from_the_other_columns_hardly_moves() -> None:
    exact = subject_with(settled(with_holes(with_gaps(0.05)), "pca")).doubtful
    vague = subject_with(settled(with_holes(with_gaps(1.0)), "pca")).doubtful
    assert exact is not None
    assert vague is not None
    assert np.all(exact.moves[:, 0] < 0.1)
    assert np.all(vague.moves[:, 0] > 0.2)


def with_holes(table: Table) -> Table:
    """Return the table as it was read, before numbers were put in."""
    numbers = table.numbers.copy()
    numbers[table.imputed["b"], 1] = np.nan
    return replace(table, numbers=numbers, imputed={}, notes=())


def crosses_of(panel: Panel) -> list[Lines]:
    return [m for m in panel.marks if isinstance(m, Lines) and m.ids and m.ids.of == "imputed"]


def test_a_map_has_a_cross_on_each_and_says_so() -> None:
    subject = subject_with(with_gaps(0.5))
    found = subject.doubtful
    assert found is not None
    made = describe(subject.model, table=subject.table, choices={})
    panel = made["panels"]["plane-1-2"]
    (crosses,) = crosses_of(panel)
    arms = np.asarray(crosses.x).reshape(5, 6)
    np.testing.assert_allclose(arms[:, 1] - arms[:, 0], 2.0 * found.moves[:, 0])
    np.testing.assert_allclose(arms[:, 3], subject.coordinates[:5, 0])
    assert np.isnan(arms[:, [2, 5]]).all()
    assert np.nanmin(crosses.y) >= panel.y.limits[0]
    assert np.nanmax(crosses.y) <= panel.y.limits[1]
    assert any("Crosses are on 5 individuals with missing numbers" in note for note in panel.notes)
    whole = Table.of(dict(zip("abc", with_gaps(0.5).matrix().T, strict=True)))
    known = describe(subject.model, table=whole, choices={})
    assert crosses_of(known["panels"]["plane-1-2"]) == []
    assert known["individuals"]["imputed"] is None


def test_crosses_follow_the_axes_and_are_hidden_with_their_individuals(
    browser: Any, tmp_path: Path
) -> None:
    subject = subject_with(with_gaps(0.5))
    found = subject.doubtful
    assert found is not None
    path = mc.report(subject.model, tmp_path / "gaps.html", table=subject.table, choices={})
    with visit(browser, path) as seen:
        frame = "mercer.pictures['plane-1-2'].frames[0]"

        def arms() -> Array:
            ends = seen.ask(
                f"""[...document.querySelectorAll("#figure-plane-1-2 .live .crosses path")]
                .map((one) => one.getAttribute("d").split("M")[1].split("L").map((at) =>
                    {frame}.x.back(Number(at.split(" ")[0]))))"""
            )
            return np.asarray(ends)

        np.testing.assert_allclose(np.ptp(arms(), axis=1), 2 * found.moves[:, 0], atol=0.02)
        seen.ask("mercer.page.choose(2, 0)")
        np.testing.assert_allclose(np.ptp(arms(), axis=1), 2 * found.moves[:, 2], atol=0.02)
        seen.ask("mercer.page.select([0, 30])")
        faint = "#figure-plane-1-2 .live .crosses path[opacity='0.12']"
        assert seen.page.locator(faint).count() == 4
        assert seen.messages == []


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@pytest.mark.parametrize("method", ["famd", "kpca"])
def test_models_of_tables_and_kernels_have_crosses_too(method: str) -> None:
    table = with_gaps(0.5)
    labels = np.array(list("uvw"), object)[np.digitize(table.matrix()[:, 0], [-0.5, 0.5])]
    columns = {**dict(zip("abc", with_holes(table).numbers.T, strict=True)), "kind": labels}
    made = mc.analyse(settled(Table.of(columns), "mean"), method=method, random_state=0)
    value = describe(made, choices={})
    for panel in (name for name in ("plane-1-2", "curved") if name in value["panels"]):
        assert len(crosses_of(value["panels"][panel])) == 1
