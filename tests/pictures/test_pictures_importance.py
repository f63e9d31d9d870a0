"""Pictures, page and command line of importance and slopes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import pictures
from mercer.cli import main
from mercer.datasets.examples import FOLDER
from mercer.importance import Importance
from mercer.page.study_sections import importance_section
from mercer.pictures.scene import Bars, Labels, Lines, Panel


@pytest.fixture(scope="module")
def irises() -> Any:
    return mc.KernelPCA(3, kernel=mc.Gaussian("median")).fit(mc.datasets.iris())


def one(panel: Panel, kind: Any) -> Any:
    """Return the only mark of a kind."""
    (mark,) = panel.of_kind(kind)
    return mark


def found_by_hand() -> Importance:
    shares = np.array([[0.50, 0.52], [0.60, 0.62], [0.30, 0.34]])
    p_values = np.array([0.04, 0.7, 0.01])
    return Importance(("a", "b", "c"), 2, 0.6, shares, np.zeros((3, 2)), p_values, 0)


def test_bars_end_at_importances_and_whiskers_at_two_errors() -> None:
    found = found_by_hand()
    panel = pictures.importance.describe(found)
    bars, whiskers = one(panel, Bars), one(panel, Lines)
    np.testing.assert_allclose(bars.lengths, [0.28, 0.09, -0.01], atol=1e-12)
    ends = np.reshape(whiskers.x, (3, 3))[:, :2]
    np.testing.assert_allclose(np.diff(ends).ravel(), 2 * 1.96 * found.errors[found.order])
    assert [text for _, text in panel.y.ticks or ()] == [
        "c  (p = 0.01)",
        "a  (p = 0.04)",
        "b  (p = 0.7)",
    ]
    assert bars.colours[0] == bars.colours[1] != bars.colours[2]
    assert "1 of 3" in pictures.importance.describe(found, most=1).notes[-1]


def test_arrows_start_at_individuals_and_follow_slopes(irises: Any) -> None:
    slopes = mc.axis_slopes(irises, standardize=True)
    panel = pictures.slopes.describe(irises.individuals_, slopes, axes=(1, 3), most=2, places=5)
    lines: Any = panel.of_kind(Lines)
    order = np.argsort(-np.hypot(*slopes.arrows[:, :, [0, 2]].T).mean(axis=1))
    assert [line.name for line in lines] == [slopes.names[j] for j in order[:2]]
    factor = float(panel.notes[0].split("times ")[1].split(".  ")[0].rstrip(".").split(". ")[0])
    F = irises.individuals_.coordinates[:, [0, 2]]
    for line, j in zip(lines, order, strict=False):
        path = np.stack([line.x, line.y], axis=1).reshape(5, 6, 2)
        rows = [int(np.argmin(np.abs(F - start).sum(axis=1))) for start in path[:, 0]]
        np.testing.assert_allclose(path[:, 0], F[rows])
        steps = path[:, 1] - path[:, 0]
        np.testing.assert_allclose(steps, factor * slopes.arrows[rows][:, j][:, [0, 2]], rtol=0.01)
    assert one(panel, Labels).texts == tuple(line.name for line in lines)


def test_both_libraries_draw_them(irises: Any) -> None:
    slopes = mc.axis_slopes(irises, standardize=True)
    assert pictures.slopes(irises.individuals_, slopes).get_xlabel() == "Dim 1"
    assert len(pictures.slopes.plotly(irises.individuals_, slopes).data) > 4
    assert pictures.importance(found_by_hand()).get_xlabel() == "importance"
    assert pictures.importance.plotly(found_by_hand()).data
    with pytest.raises(mc.errors.InvalidInput, match="do not belong"):
        pictures.slopes.describe(irises.individuals_.take(np.arange(3)), slopes)


def test_a_page_has_the_section_with_bars_arrows_and_a_table(irises: Any, tmp_path: Path) -> None:
    found = mc.permutation_importance(irises, permutations=9, random_state=0)
    section = importance_section(found, irises)
    page = mc.report(irises, tmp_path / "page.html", choices={}, sections=[section])
    text = page.read_text(encoding="utf-8")
    assert "Which variables make the axes?" in text
    assert "Where individuals move when a variable rises" in text
    assert "Importance, 9 permutations of each" in text
    assert "How to read this" in text


def test_the_command_line_tells_importances(capsys: pytest.CaptureFixture[str]) -> None:
    data = str(FOLDER / "iris.csv")
    assert main(["fit", data, "--method", "pca", "--importance", "19", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)["importance"]
    model = mc.PCA(standardize=True).fit(mc.datasets.iris())
    expected = mc.permutation_importance(model, permutations=19, random_state=0)
    assert value["permutations"] == 19
    names = [row["variable"] for row in value["variables"]]
    assert names == expected.table()["variable"].tolist()
    sizes = [row["importance"] for row in value["variables"]]
    np.testing.assert_allclose(sizes, expected.importances[expected.order], rtol=1e-9)
    assert main(["fit", data, "--method", "pca", "--importance"]) == 0
    assert "99 permutations" in capsys.readouterr().out


def test_importance_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    distances = str(FOLDER / "eurodist.csv")
    assert main(["fit", distances, "--importance"]) == 2
    assert "distances have none" in capsys.readouterr().err
    assert main(["fit", str(FOLDER / "iris.csv"), "--importance", "0"]) == 2
    assert "--importance must be" in capsys.readouterr().err
