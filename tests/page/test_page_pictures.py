"""The scripts of a page draw any described picture: each law is checked in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import mercer as mc
from mercer import pictures
from mercer.page import Section, document
from mercer.page.write import ASSETS
from mercer.pictures import svg_parts
from mercer.pictures.colours import Scale
from mercer.pictures.scene import (
    Arrows,
    Axis,
    Band,
    Bars,
    Field,
    Labels,
    Lines,
    Markers,
    Panel,
    Rule,
    Sheet,
    Texts,
)
from mercer.reading import Variables
from tests.browser import Visit, visit

UNIT = Axis("side", (0.0, 1.0))
TWO = np.array([0.25, 0.75])
CORNERS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 1.0))

MARKS: dict[str, tuple[Any, str, int]] = {
    "points": (Markers(TWO, np.array([0.1, 0.9]), names=("low", "high")), ".points path", 2),
    "lines": (Lines(np.array([0.0, 0.1, np.nan, 0.3]), np.arange(4) / 4), "path[stroke]", 1),
    "bars": (Bars(TWO, np.array([0.25, 0.5]), ("#000000",) * 2), ".bars rect", 2),
    "lying": (Bars(TWO, np.array([0.25, 0.5]), ("#000000",) * 2, is_lying=True), ".bars rect", 2),
    "band": (Band(np.array([0.0, 1.0]), np.zeros(2), np.ones(2), "#000000"), "path", 1),
    "rule": (Rule(0.5), "line", 1),
    "arrows": (Arrows(TWO, TWO), ".arrow", 2),
    "cells": (Field(np.arange(2.0), np.arange(2.0), Scale(np.eye(2))), "image", 1),
    "texts": (Texts(TWO, TWO, ("one", "two"), ("#000000",) * 2), "text", 2),
    "labels": (Labels(TWO, TWO, ("one", "two"), ("#000000",) * 2), ".labels text", 2),
}
"""A mark of each kind on the unit square, and the shapes that it is drawn by."""


def described() -> dict[str, Panel | Sheet]:
    """Return the pictures of the page, by name."""
    found: dict[str, Panel | Sheet] = {
        name: Panel((mark,), UNIT, UNIT, title=name) for name, (mark, *_) in MARKS.items()
    }
    found["log"] = Panel((Rule(0.5),), Axis("", (1.0, 100.0), is_log=True), UNIT, title="log")
    found["equal"] = Panel((Rule(0.5),), Axis("", (0.0, 2.0)), UNIT, title="equal", is_equal=True)
    x, y, z = np.transpose(CORNERS)
    space = Markers(x, y, z, name="a corner")
    found["space"] = Panel((space,), UNIT, UNIT, UNIT, title="space")
    grid = np.linspace(0.0, 1.0, 5)
    found["surface"] = pictures.surface.describe(grid, grid, np.outer(grid, grid), title="surface")
    found["contour"] = pictures.contours.describe(grid, grid, np.add.outer(grid, grid))
    rng = np.random.default_rng(0)
    crowd = rng.standard_normal((60, 2))
    names = [f"number {i}" for i in range(60)]
    found["crowd"] = pictures.individuals.describe(crowd, names=names)
    cloud = 0.5 + 0.1 * rng.standard_normal((300, 2)).T
    some = np.array([0.45, 0.5, 0.55])
    words = Labels(some, some, ("first level", "second level", "third level"), ("#000000",) * 3)
    marks = (Markers(*cloud), replace(words, covers=True))
    found["dense"] = Panel(marks, UNIT, UNIT, title="dense")
    full = np.stack(np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 1, 60)), -1).reshape(-1, 2)
    x, y = full[::90].T
    many = Labels(x, y, ("word",) * 40, ("#000000",) * 40, covers=True)
    found["full"] = Panel((Markers(*full.T), many), UNIT, UNIT, title="full")
    turns = np.concatenate([np.linspace(-0.7, 0.1, 12), [1.2, 1.22, 2.0, 3.0]])
    tips = (0.9 * np.column_stack([np.cos(turns), np.sin(turns)])) * rng.uniform(0.8, 1.0, (16, 1))
    called = tuple(f"a variable, number {i}" for i in range(16))
    found["bundle"] = pictures.variables.describe(Variables(tips, called, np.ones(2)))
    at = np.arange(1.0, 4.0)
    sizes = np.array([9.0, 4.0, 0.2])
    null = Band(np.arange(1.0, 4.0), np.full(3, 3.8), np.full(3, 4.8), "#e69f00")
    numbers = Texts(at, sizes, ("69 %", "30 %", "1 %"), ("#333333",) * 3)
    bars = Bars(at, sizes, ("#0072b2", "#0072b2", "#d4d4d4"))
    sides = Axis("axis", (0.4, 3.6)), Axis("inertia", (0.0, 10.0))
    found["crossed"] = Panel((bars, null, numbers), *sides, title="crossed")
    lone = np.array([[-1.0, -1.0], [1.0, 1.0]])
    long = ("an individual of a long name, 1", "another of a long name as well")
    found["long"] = pictures.individuals.describe(lone, names=long)
    return found


@pytest.fixture(scope="module")
def seen(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    path = tmp_path_factory.mktemp("marks") / "marks.html"
    document(path, "Marks", ["All of them."], [Section("Marks", (), list(described().values()))])
    with visit(browser, path) as found:
        yield found


def frame(name: str) -> str:
    """Return the frame of a picture as scripts know it."""
    number = list(described()).index(name) + 1
    return f"mercer.pictures['section-1-picture-{number}'].frames[0]"


def drawn(name: str) -> str:
    number = list(described()).index(name) + 1
    return f"#figure-section-1-picture-{number} .live .marks"


@pytest.mark.parametrize("name", MARKS)
def test_every_mark_is_drawn(seen: Visit, name: str) -> None:
    _, shapes, count = MARKS[name]
    assert seen.page.locator(f"{drawn(name)} {shapes}").count() == count
    assert seen.messages == []


def test_dashes_of_a_page_are_those_of_a_saved_picture() -> None:
    (table,) = re.findall(r"mercer\.DASHES = \{(.*?)\};", (ASSETS / "marks.js").read_text())
    dashes = dict(re.findall(r'(\w+): (?:null|"([^"]*)")', table))
    assert dashes == svg_parts.DASHES


def test_points_are_drawn_where_they_are(seen: Visit) -> None:
    left, top, width, height = seen.ask(f"{frame('points')}.box")
    hits = seen.ask(f"{frame('points')}.hits.map((h) => [h.u, h.v])")
    np.testing.assert_allclose(hits[0], [left + 0.25 * width, top + 0.9 * height], rtol=1e-5)
    np.testing.assert_allclose(hits[1], [left + 0.75 * width, top + 0.1 * height], rtol=1e-5)


def test_a_logarithmic_side_puts_decades_at_equal_distances(seen: Visit) -> None:
    at = seen.ask(f"[1, 10, 100, -1].map({frame('log')}.x.at)")
    assert at[1] - at[0] == pytest.approx(at[2] - at[1])
    assert np.isnan(at[3])


def test_an_equal_unit_is_as_long_on_both_sides(seen: Visit) -> None:
    across = seen.ask(f"{frame('equal')}.x.at(1) - {frame('equal')}.x.at(0)")
    down = seen.ask(f"{frame('equal')}.y.at(0) - {frame('equal')}.y.at(1)")
    assert across == pytest.approx(down)
    assert across > 50.0


@pytest.mark.parametrize(("name", "side"), [("bars", "height"), ("lying", "width")])
def test_bars_are_as_long_as_their_values(seen: Visit, name: str, side: str) -> None:
    rects = seen.page.locator(f"{drawn(name)} .bars rect")
    short, long = (float(rects.nth(i).get_attribute(side)) for i in (0, 1))
    assert long == pytest.approx(2.0 * short)


def test_a_line_is_broken_where_a_value_is_missing(seen: Visit) -> None:
    path = seen.page.locator(f"{drawn('lines')} path").get_attribute("d")
    assert path.count("M") == 2
    assert path.count("L") == 1


def test_what_is_near_in_space_is_drawn_last(seen: Visit) -> None:
    space = frame("space")
    depth = seen.ask(f"{[list(c) for c in CORNERS]}.map((c) => {space}.seen(...c)[2])")
    order = seen.ask(
        f"""[...document.querySelector("{drawn("space")} .points").children]
        .map((node) => {space}.linked[0].nodes.indexOf(node))"""
    )
    assert order == np.argsort(depth, kind="stable").tolist()
    before = seen.ask(f"{space}.hits[0].u")
    mouse = seen.page.mouse
    ground = seen.page.locator(f"{drawn('space').removesuffix(' .marks')} .ground")
    ground.scroll_into_view_if_needed()
    box = ground.bounding_box()
    mouse.move(box["x"] + 40, box["y"] + 40)
    mouse.down()
    mouse.move(box["x"] + 140, box["y"] + 40, steps=3)
    mouse.up()
    assert abs(seen.ask(f"{space}.hits[0].u") - before) > 5.0  # it was turned
    assert seen.page.locator(f"{drawn('surface')} path").count() == 16


def test_level_lines_pass_where_the_function_has_their_level(seen: Visit) -> None:
    # x + y on the unit square: level lines run along the other diagonal.
    lines = seen.page.locator(f"{drawn('contour')} > path").get_attribute("d")
    pieces = [piece.split("L") for piece in lines.split("M")[1:]]
    ends = np.array([[[float(v) for v in end.split()] for end in piece] for piece in pieces])
    at = f"(u, v) => [{frame('contour')}.x.back(u), {frame('contour')}.y.back(v)]"
    values = np.array(seen.ask(f"{ends.reshape(-1, 2).tolist()}.map(([u, v]) => ({at})(u, v))"))
    sums = values.sum(axis=1).reshape(-1, 2)
    np.testing.assert_allclose(sums[:, 0], sums[:, 1], atol=0.01)
    assert len({round(s * 7.0) for s in sums[:, 0].tolist()}) == 13


def test_labels_cover_neither_points_nor_each_other(seen: Visit) -> None:
    taken = np.array(seen.ask(f"{frame('crowd')}.taken"))
    points = np.array(seen.ask(f"{frame('crowd')}.hits.map((h) => [h.u, h.v])"))
    assert len(taken) >= 10
    for i, (left, top, right, bottom) in enumerate(taken):
        inside = (points > [left, top]) & (points < [right, bottom])
        assert not inside.all(axis=1).any()
        for other in taken[i + 1 :]:
            is_beside = right <= other[0] or other[2] <= left
            assert is_beside or bottom <= other[1] or other[3] <= top


def test_names_in_a_dense_cloud_stand_beside_it_at_the_end_of_lines(seen: Visit) -> None:
    taken = np.array(seen.ask(f"{frame('dense')}.taken"))
    points = np.array(seen.ask(f"{frame('dense')}.hits.map((h) => [h.u, h.v])"))
    assert len(taken) == 3
    for left, top, right, bottom in taken:
        assert not ((points > [left, top]) & (points < [right, bottom])).all(axis=1).any()
    assert seen.page.locator(f"{drawn('dense')} .labels line").count() == 3
    assert seen.texts(f"{drawn('dense')} .unnamed") == []


def test_a_name_is_nearest_to_its_own_arrow_or_at_the_end_of_a_line(seen: Visit) -> None:
    words = seen.ask(
        f"""[...document.querySelectorAll("{drawn("bundle")} .labels > g")].map((one) => [
            one.textContent, one.room, Boolean(one.querySelector("line"))])"""
    )
    bundle = frame("bundle")
    tips = np.array(seen.ask(f"{bundle}.hits.map((h) => [h.u, h.v])"))
    called = seen.ask(f"{bundle}.hits.map((h) => {bundle}.nameOf(h.mark, h.i))")
    assert len(words) >= 10
    assert {is_led for *_, is_led in words} == {True, False}
    for name, (left, top, right, bottom), is_led in words:
        gaps = np.hypot(*(tips - np.clip(tips, [left, top], [right, bottom])).T)
        own = called.index(name)
        others = np.delete(gaps, own)
        assert others.min() > (6.0 if is_led else gaps[own])


def test_a_number_stands_at_its_bar_and_in_it_where_a_band_would_cross_it(seen: Visit) -> None:
    tops, words = (
        seen.ask(
            f"""[...document.querySelectorAll("{drawn("crossed")} {shape}")]
            .map((one) => [{read}, one.getAttribute("fill")])"""
        )
        for shape, read in (
            (".bars rect", "Number(one.getAttribute('y'))"),
            ("> text", "Number(one.getAttribute('y'))"),
        )
    )
    heights = seen.ask(f"[3.8, 4.8, 0].map({frame('crossed')}.y.at)")
    (high, _), (middle, _), (low, _) = tops
    (first, _), (second, ink), (third, _) = words
    assert 0.0 < high - first < 14.0  # over its bar
    assert middle < heights[0] < second < heights[2]  # in its bar, below the band
    assert ink == "#ffffff"
    assert 0.0 < low - third < 14.0


def test_a_long_name_is_whole_where_there_is_room(seen: Visit) -> None:
    whole = {"an individual of a long name, 1", "another of a long name as well"}
    assert set(seen.texts(f"{drawn('long')} .labels text")) == whole
    found = set(seen.texts(f"{drawn('bundle')} .labels text"))
    assert found & {"a variable, number 0", "a variable, number 1"}


def test_names_without_room_are_counted(seen: Visit) -> None:
    count = len(seen.texts(f"{drawn('full')} .labels text"))
    assert 0 < count < 40
    assert seen.texts(f"{drawn('full')} .unnamed") == [f"{40 - count} names have no room"]


def test_numbers_of_a_column_are_told_apart_by_three_digits_of_their_spread(seen: Visit) -> None:
    shown = "[[50.14, 6.4], [0.0123, 6.4], [-7672, 1500], [7672.5, 2], [12, Infinity]]"
    asked = f"{shown}.map(([value, spread]) => mercer.shown(value, 'number', spread))"
    assert seen.ask(asked) == ["50.14", "0.0123", "\N{MINUS SIGN}7672", "7672.5", "12"]
    large = "[[1234567, 2], [1234567, Infinity], [-98765432.4, 3], [999999.4, Infinity]]"
    asked = asked.replace(shown, large)
    assert seen.ask(asked) == ["1234567", "1234567", "\N{MINUS SIGN}98765432", "999999"]


def test_lines_from_one_point_do_not_cross(seen: Visit) -> None:
    assert seen.ask("mercer.crosses([0, 0, 2, 2], [0, 2, 2, 0])") is True
    assert seen.ask("mercer.crosses([0, 0, 2, 2], [0, 0, 2, 0])") is False


def test_zooming_names_others_and_resetting_brings_all_back(seen: Visit) -> None:
    number = list(described()).index("crowd") + 1
    figure = f"#figure-section-1-picture-{number}"
    before = seen.ask(f"{frame('crowd')}.x.limits")
    named = set(seen.texts(f"{drawn('crowd')} .labels text"))
    seen.page.locator(f"{figure} svg.picture").focus()
    for _ in range(5):
        seen.page.keyboard.press("+")
    low, high = seen.ask(f"{frame('crowd')}.x.limits")
    assert high - low < 0.5 * (before[1] - before[0])
    assert set(seen.texts(f"{drawn('crowd')} .labels text")) - named
    seen.page.keyboard.press("ArrowRight")
    assert seen.ask(f"{frame('crowd')}.x.limits")[0] > low
    seen.page.keyboard.press("0")
    assert seen.ask(f"{frame('crowd')}.x.limits") == before
    assert set(seen.texts(f"{drawn('crowd')} .labels text")) == named


def test_pointing_at_a_mark_says_what_it_is(seen: Visit) -> None:
    number = list(described()).index("points") + 1
    picture = seen.page.locator(f"#figure-section-1-picture-{number} .live path").nth(1)
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert seen.texts("#card strong") == ["high"]
    seen.page.mouse.move(2, 2)
    assert not seen.page.locator("#card").is_visible()


def test_a_picture_is_saved_whole(seen: Visit) -> None:
    number = list(described()).index("crowd") + 1
    bar = seen.page.locator(f"#figure-section-1-picture-{number} .toolbar")
    seen.page.locator(f"#figure-section-1-picture-{number}").hover()
    with seen.page.expect_download() as waiting:
        bar.get_by_role("button", name="Save as SVG").click()
    tree = ElementTree.fromstring(Path(waiting.value.path()).read_text(encoding="utf-8"))
    words = {node.text for node in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert "Individuals" in words  # its title
    assert "Dim 1" in words
    with seen.page.expect_download() as waiting:
        bar.get_by_role("button", name="Save as PNG").click()
    image = Path(waiting.value.path()).read_bytes()
    assert image.startswith(b"\x89PNG")
    width, height = (int.from_bytes(image[i : i + 4], "big") for i in (16, 20))
    shown = seen.page.locator(f"#figure-section-1-picture-{number} svg.picture").bounding_box()
    assert width == pytest.approx(2 * shown["width"], abs=2)
    assert height > 2 * shown["height"]
    assert seen.messages == []


def test_pictures_can_be_reached_and_named_without_a_mouse(seen: Visit) -> None:
    svgs = seen.page.locator("svg.picture")
    for i in range(svgs.count()):
        assert svgs.nth(i).get_attribute("tabindex") == "0"
        assert svgs.nth(i).get_attribute("role") == "img"
        assert svgs.nth(i).get_attribute("aria-label") is not None
    assert seen.page.locator(".toolbar button:not([aria-label])").count() == 0


def test_a_variable_is_ringed_in_every_picture(browser: Any, tmp_path: Path) -> None:
    model = mc.PCA(3, standardize=True).fit(mc.datasets.decathlon())
    path = mc.report(model, tmp_path / "p.html", choices={})
    with visit(browser, path) as seen:
        seen.ask("mercer.page.point(6, 'variables')")
        rings = """["circle", "contributions-1", "contributions-2", "plane-1-2"].map((name) =>
            document.querySelectorAll(`#figure-${name} .ring`).length)"""
        assert seen.ask(rings) == [1, 1, 1, 1]
        assert seen.texts("#card strong") == [model.variables_.names[6]]
        assert seen.messages == []
