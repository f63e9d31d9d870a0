from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mercer
from mercer import PCA, datasets, pictures
from mercer.check import Array
from mercer.pictures.colours import PALETTE
from mercer.pictures.label_room import GAP, PASSES, SAME, cross, gaps, passes, rectangle_of
from mercer.pictures.labels import ALWAYS, names_left_out, place_labels, placements
from mercer.pictures.scene import Labels
from mercer.pictures.with_svg import svg_of
from mercer.reading import Variables

BOX = (300.0, 200.0)


@given(arrays(float, (12, 2), elements=st.floats(0.0, 200.0)), st.integers(1, 15))
def test_labels_overlap_neither_one_another_nor_points_nor_the_frame(at: Array, n: int) -> None:
    found = place_labels(at, ("x" * n,) * 12, at, BOX)
    boxes = np.array([(p.x, p.y, p.width / 2, p.height / 2) for p in found]).reshape(-1, 4)
    for i, (x, y, w, h) in enumerate(boxes):
        assert x - w >= 0
        assert x + w <= BOX[0]
        assert y - h >= 0
        assert y + h <= BOX[1]
        for u, v, a, b in boxes[:i]:
            assert abs(x - u) >= w + a - 1e-9 or abs(y - v) >= h + b - 1e-9
        assert not np.any((np.abs(at[:, 0] - x) < w) & (np.abs(at[:, 1] - y) < h))


def test_the_most_important_label_comes_first_and_the_same_every_time() -> None:
    crowd = np.full((50, 2), 100.0)
    texts = tuple(f"name {i}" for i in range(50))
    found = place_labels(crowd, texts, crowd, BOX)
    assert found[0].number == 0
    assert 0 < len(found) < 50
    assert found == place_labels(crowd, texts, crowd, BOX)


def test_names_of_a_dense_cloud_stand_beside_it_at_the_end_of_lines() -> None:
    rng = np.random.default_rng(0)
    crowd = np.clip(rng.normal((150.0, 100.0), (30.0, 20.0), (300, 2)), 0.0, 300.0)
    some = np.array([[140.0, 100.0], [150.0, 95.0], [160.0, 105.0]])
    cloud = np.vstack([crowd, some])
    texts = ("first level", "second level", "third level")
    many = place_labels(np.tile(some, (3, 1)), texts * 3, cloud, BOX)
    assert 0 < len(many) <= ALWAYS  # the first few alone have lines where others may not go away
    assert all(p.line is not None for p in many)
    found = place_labels(some, texts, cloud, BOX, covers=True)
    assert [p.number for p in found] == [0, 1, 2]
    lines = []
    for p in found:
        x0, y0, x1, y1 = rectangle_of(p)
        assert not np.any((cloud > (x0, y0)).all(axis=1) & (cloud < (x1, y1)).all(axis=1))
        assert p.line is not None
        np.testing.assert_array_equal(p.line[:2], some[p.number])
        lines.append(p.line)
    ends = np.array(lines)
    assert not cross(ends[:, None], ends[None]).any()
    full = np.stack(np.meshgrid(np.arange(0.0, 300.0, 5.0), np.arange(0.0, 200.0, 5.0)), -1)
    upon = place_labels(
        full.reshape(-1, 2)[:40], ("word",) * 40, full.reshape(-1, 2), BOX, covers=True
    )
    assert 0 < len(upon) <= ALWAYS


arrows_anywhere = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays(float, (n, 2), elements=st.floats(-1.0, 1.0)),
        st.lists(st.text("abc", min_size=1, max_size=12), min_size=n, max_size=n),
    )
)


@given(arrows_anywhere)
def test_a_name_is_nearer_to_its_own_arrow_than_to_any_other_or_has_a_line(
    drawn: tuple[Array, list[str]],
) -> None:
    tips, names = drawn
    numbered = tuple(f"{i} {name}" for i, name in enumerate(names))
    panel = pictures.variables.describe(Variables(tips, numbered, np.ones(2)))
    limits = (-1.12, 1.12)
    ends = (tips + 1.12) / 2.24 * np.array(BOX)
    for mark, place in placements(panel, limits, limits, BOX):
        own = numbered.index(mark.texts[place.number])
        away = np.hypot(*(ends - ends[own]).T)
        others = ends[away > SAME]
        rectangle = np.array([rectangle_of(place)])
        if place.line is None:
            assert (gaps(rectangle, others) > gaps(rectangle, ends[[own]])).all()
            continue
        np.testing.assert_allclose(place.line[:2], ends[own])
        assert (gaps(rectangle, others) > GAP).all()
        parted = ends[away > PASSES * GAP]
        assert (passes(np.array([place.line]), parted) > PASSES * GAP).all()


def test_names_of_individuals_prefer_places_that_are_clearly_theirs() -> None:
    here = np.array([[100.0, 100.0], [130.0, 100.0]])
    beside = place_labels(here[:1], ("name",), here, BOX)
    known = place_labels(here[:1], ("name",), here, BOX, rivals=here)
    assert beside[0].x > 100.0
    assert known[0].x < 100.0


def test_many_names_in_a_cloud_of_a_thousand_are_placed_in_a_moment() -> None:
    rng = np.random.default_rng(0)
    cloud = rng.normal((150.0, 100.0), (50.0, 35.0), (1000, 2))
    names = tuple(f"name {i}" for i in range(60))
    took = []
    for _ in range(3):
        start = thread_time()
        place_labels(cloud[:60], names, cloud, BOX, covers=True)
        took.append(thread_time() - start)
    assert min(took) < 0.4  # 0.09 s of CPU; one place at a time took 1.2 s


def test_labels_avoid_the_stems_of_arrows_and_those_without_room_are_counted() -> None:
    tips = np.array([[0.5, 0.01 * i] for i in range(-9, 9)])
    variables = Variables(tips, tuple(f"variable {i}" for i in range(18)), np.ones(2))
    panel = pictures.variables.describe(variables)
    limits = (-1.12, 1.12)
    found = placements(panel, limits, limits, BOX)
    said, corner = names_left_out(panel, found, limits, limits, BOX)
    assert said == f"{18 - len(found)} names have no room"
    x0, y0, x1, y1 = rectangle_of(corner)
    for _, place in found:
        other = rectangle_of(place)
        assert x1 <= other[0] or other[2] <= x0 or y1 <= other[1] or other[3] <= y0
    assert names_left_out(panel, found[:0], limits, limits, BOX)[0] == "18 names have no room"
    ax = pictures.variables(variables)
    assert any("no room" in text.get_text() for text in ax.texts)
    assert "no room" in svg_of(panel, "Variables", "circle")
    plotted: Any = pictures.variables.plotly(variables)
    assert any(word.showarrow for word in plotted.layout.annotations)
    (told,) = [word for word in plotted.layout.annotations if "no room" in word.text]
    assert told.xref == "x"
    assert not told.showarrow


def test_only_points_that_a_panel_shows_are_named_or_counted() -> None:
    tips = np.array([[np.nan, 0.5], [0.9, 0.9], [0.2, 0.1], [-0.3, 0.2]])
    panel = pictures.variables.describe(Variables(tips, ("none", "out", "u", "v"), np.ones(2)))
    (mark,) = panel.of_kind(Labels)
    assert isinstance(mark, Labels)
    panel = replace(panel, marks=(replace(mark, most=2),))
    limits = (-0.5, 0.5)
    found = placements(panel, limits, limits, BOX)
    assert {mark.texts[place.number] for mark, place in found} == {"u", "v"}
    assert names_left_out(panel, found, limits, limits, BOX)[0] == ""
    assert names_left_out(panel, [], limits, limits, BOX)[0] == "2 names have no room"


def test_a_name_covers_a_stem_rather_than_a_point() -> None:
    anchor = np.array([[60.0, 50.0]])
    # Points all around but for a gap above, and stems through that gap.
    x, y = np.meshgrid(np.arange(0.0, 120.0, 4.0), np.arange(0.0, 100.0, 4.0))
    points = np.column_stack([x.ravel(), y.ravel()])
    is_gap = (np.abs(points[:, 0] - 60.0) < 20.0) & (points[:, 1] > 50.0) & (points[:, 1] < 70.0)
    points = points[~is_gap]
    stems = np.array([[0.0, level, 120.0, level] for level in np.arange(0.0, 100.0, 3.0)])
    (place,) = place_labels(anchor, ("word",), points, (120.0, 100.0), stems=stems, covers=True)
    x0, y0, x1, y1 = rectangle_of(place)
    assert not np.any((points > (x0, y0)).all(axis=1) & (points < (x1, y1)).all(axis=1))


def test_lines_lead_from_one_point_to_several_names() -> None:
    crowd = np.random.default_rng(0).normal((150.0, 100.0), (30.0, 20.0), (300, 2))
    here = np.full((3, 2), (150.0, 100.0))
    found = place_labels(here, ("one", "two", "three"), np.vstack([crowd, here]), BOX, covers=True)
    assert [place.line is not None for place in found] == [True] * 3


def test_a_long_name_is_cut_only_where_there_is_no_room_for_all_of_it() -> None:
    name = "a hydrocarbon with many branches"
    here = np.array([[150.0, 100.0]])
    (whole,) = place_labels(here, (name,), here, BOX)
    assert whole.text == name
    narrow = place_labels(np.array([[60.0, 50.0]]), (name,), here, (130.0, 100.0))
    assert [place.text for place in narrow] == ["a hydrocarbon with many…"]
    # A longer name takes the place of no other one.
    names = tuple(f"{i}, {name}" for i in range(6))
    row = np.column_stack([np.full(6, 150.0), np.arange(40.0, 100.0, 10.0)])
    found = place_labels(row, names, row, BOX)
    assert [place.number for place in found] == [0, 1, 2, 3, 4, 5]
    ax = pictures.individuals(np.array([[-1.0, -1.0], [1.0, 1.0]]), names=names[:2])
    assert {text.get_text() for text in ax.texts} == set(names[:2])


def test_labels_at_tips_stand_outside() -> None:
    centre, tip = np.array([150.0, 100.0]), np.array([[220.0, 140.0]])
    (label,) = place_labels(tip, ("event",), tip, BOX, centre=centre)
    assert label.x > 220
    assert label.y > 140


def test_words_drawn_by_matplotlib_do_not_overlap() -> None:
    cities = datasets.eurodist()
    points = np.random.default_rng(0).random((21, 2))
    ax = pictures.individuals(points, names=cities.names)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) > 12
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_places_know_what_other_marks_took() -> None:
    panel = pictures.biplot.describe(np.eye(2), _two_variables())
    found = placements(panel, (-1.0, 1.0), (-1.0, 1.0), BOX)
    assert {mark.is_outward for mark, _ in found} == {True, False}


def _two_variables() -> Variables:
    return Variables(np.array([[1.0, 0.0], [0.6, -0.6]]), ("u", "v"), np.ones(2))


def test_a_label_has_a_halo_of_the_colour_of_its_ground() -> None:
    model = PCA(standardize=True).fit(datasets.decathlon())
    ax = pictures.variables(model)
    named = [text for text in ax.texts if text.get_text() == "Discus"]
    assert len(named) == 1
    assert named[0].get_path_effects()


def test_style_sheets_write_the_colour_of_the_palette() -> None:
    package = Path(mercer.__file__).parent
    for sheet in ("page/assets/page.css", "explorer/assets/explorer.css"):
        edges = re.findall(r"border-left: 4px solid (#\w{6})", (package / sheet).read_text())
        assert edges
        assert {edge.upper() for edge in edges} == {PALETTE[1]}
