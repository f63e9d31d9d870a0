"""Pictures of who turns the axes, of points along them and of what comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import mercer as mc
from mercer import page, pictures
from mercer.page.sections import with_sections
from mercer.pictures.importance import DRAWN, LOW
from mercer.pictures.scene import Bars, Labels, Lines, Markers, Panel, Rule, Sheet, Texts
from mercer.pictures.spectra import OWN


@pytest.fixture(scope="module")
def events() -> Any:
    return mc.PCA(3, standardize=True).fit(mc.datasets.decathlon())


def dots(panel: Panel) -> list[Markers]:
    return [cast(Markers, mark) for mark in panel.of_kind(Markers)]


def test_every_individual_stands_at_its_angle_once_on_each_axis(events: Any) -> None:
    found = mc.jackknife(events, axes=2)
    panel = pictures.jackknife.describe(found, spectrum=events.spectrum_, named=2)
    where: dict[tuple[str, int], float] = {}
    for mark in dots(panel):
        assert mark.names is not None
        for name, x, y in zip(mark.names, mark.x, mark.y, strict=True):
            axis = 2 - round(float(y)) + 1
            assert (name, axis) not in where
            where[name, axis] = float(x)
    assert len(where) == 2 * 41
    for k in (1, 2):
        drawn = [where[name, k] for name in found.labels]
        np.testing.assert_array_equal(drawn, found.angles[:, k - 1])
    (labels,) = panel.of_kind(Labels)
    most = {found.labels[i] for k in (0, 1) for i in np.argsort(-found.angles[:, k])[:2]}
    assert set(cast(Labels, labels).texts) == most
    medians = [cast(Lines, line).x[0] for line in panel.of_kind(Lines)]
    np.testing.assert_allclose(medians, np.median(found.angles, axis=0))
    assert [text for _, text in panel.y.ticks or ()] == ["Dim 1 (32.7 %)", "Dim 2 (17.4 %)"]
    low, high = panel.x.limits
    assert low < found.angles.min()
    assert found.angles.max() < high


def test_individuals_without_a_weight_turn_nothing(events: Any) -> None:
    w = np.r_[0.0, 0.0, np.ones(39)]
    model = mc.PCA(2, standardize=True).fit(mc.datasets.decathlon(), sample_weight=w)
    found = mc.jackknife(model)
    panel = pictures.jackknife.describe(found, named=0)
    assert sum(len(mark.x) for mark in dots(panel)) == 2 * 39
    assert "one of 39 individuals" in panel.notes[0]
    assert not panel.of_kind(Labels)


def test_variables_stand_where_the_points_are(events: Any) -> None:
    found = mc.axis_points(events)
    sheet = pictures.axis_points.describe(found, spectrum=events.spectrum_, most=4)
    for k, panel in enumerate(sheet.panels):
        order = found.order(k + 1)[:4]
        assert [text for _, text in panel.y.ticks or ()] == [found.names[j] for j in order]
        for mark, place in zip(dots(panel), DRAWN, strict=True):
            np.testing.assert_allclose(mark.x, found.standardised[k, place, order])
        (texts,) = panel.of_kind(Texts)
        (low, *_) = dots(panel)
        written = cast(Texts, texts)
        assert float(written.texts[0]) == pytest.approx(found.points[k, LOW, order[0]], rel=5e-3)
        gaps = written.x[:4] - low.x  # the number stands away from the line to the other end
        assert np.all(np.sign(gaps) == np.sign(low.x - dots(panel)[2].x))
    assert "The 4 of 10 variables that change most." in sheet.notes[0]
    assert "exactly" in sheet.notes[0]


def test_what_kernel_points_miss_is_said() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(mc.datasets.iris())
    found = mc.axis_points(model)
    (note,) = pictures.axis_points.describe(found).notes
    assert note.endswith("axis 1: 18 %, 66 %, 13 %; axis 2: 23 %, 66 %, 85 %.")


def test_bars_are_what_comes_back(events: Any) -> None:
    found = mc.rebuilt(events, random_state=0)
    panel = pictures.rebuilt.describe(found, most=3)
    (bars,) = panel.of_kind(Bars)
    np.testing.assert_allclose(cast(Bars, bars).lengths, np.sort(found.shares)[::-1][:3])
    assert "3 of 10 variables." in panel.notes
    worse = replace(found, shares=found.shares - 0.5)
    panel = pictures.rebuilt.describe(worse)
    assert panel.x.limits[0] < worse.shares.min() < 0.0
    assert any("the mean of the variable is nearer" in note for note in panel.notes)


def test_the_value_of_the_model_is_marked_on_a_path() -> None:
    x = mc.datasets.iris().matrix()
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(x)
    path = mc.parameter_path(model, None, "kernel__bandwidth", [1.0, 2.0, 4.0])
    (rule,) = pictures.parameter_path.describe(path).of_kind(Rule)
    assert cast(Rule, rule).name == OWN
    assert cast(Rule, rule).at == path.own
    outside = mc.parameter_path(model, None, "kernel__bandwidth", [3.0, 4.0])
    assert not pictures.parameter_path.describe(outside).of_kind(Rule)
    factors = replace(path, is_factor=True)
    assert pictures.parameter_path.describe(factors).x.title.endswith("times that of the model")


def test_sections_hold_the_numbers_and_say_what_they_are(events: Any) -> None:
    jack = mc.jackknife(events)
    points, back = mc.axis_points(events), mc.rebuilt(events, random_state=0)
    sections = [
        page.jackknife_section(jack, spectrum=events.spectrum_),
        page.preimage_section(points, back, spectrum=events.spectrum_),
    ]
    value = with_sections({"panels": {}, "sheets": {}}, sections)
    first, second = value["sections"]
    assert first["sentences"][1].startswith("41 individuals, each left out once")
    assert len(second["panels"]) == 2
    assert isinstance(value["panels"][second["panels"][0]], Sheet)
    assert isinstance(value["panels"][first["panels"][0]], Panel)
    tables = {sheet["title"]: sheet for sheet in value["sheets"].values()}
    rows = tables["Individuals, the most influential first"]["rows"]
    assert rows[0][0] == "Casarsa"
    assert rows[0][3] == pytest.approx(jack.angles[jack.order[0], 1], rel=1e-5)
    high = dict((row[0], row[5]) for row in tables["Axis 1, in the units of the columns"]["rows"])
    for name, number in zip(points.names, points.points[0, 4], strict=True):
        assert high[name] == pytest.approx(number, rel=1e-5)
    near = tables["How near the points come"]["rows"]
    assert [row[:2] for row in near][4:6] == [[1, "high end"], [2, "low end"]]
    assert len(tables["Variables rebuilt"]["rows"]) == 10
    alone = page.preimage_section(points)
    assert len(alone.pictures) == 1
