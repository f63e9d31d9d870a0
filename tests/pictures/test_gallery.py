"""The figures of the canon: each is drawn, from values that are checked against their source."""

from __future__ import annotations

import inspect
import re
import warnings
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import mercer as mc
from mercer import datasets, pictures
from mercer.page.safe_text import embedded
from mercer.pictures.scene import Axis, Bars, Field, Lines, Panel, Points, Sheet, Surface
from mercer.pictures.with_plotly import as_data
from mercer.pictures.with_scripts import Linking, as_value
from mercer.pictures.with_svg import svg_of
from tests.examples import ROOT, example

gallery = example("gallery")


def panels_of(picture: Panel | Sheet) -> tuple[Panel, ...]:
    return picture.panels if isinstance(picture, Sheet) else (picture,)


def points_of(panel: Panel) -> Any:
    found: list[Any] = [m for m in panel.marks if isinstance(m, Points)]
    return found


@cache
def picture(name: str) -> Any:
    """Return a picture of the gallery; each is computed once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.DegenerateAxes)
        return getattr(gallery, name)()


NAMES = [make.__name__ for make in gallery.GALLERY]


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_drawn_by_both_libraries(name: str) -> None:
    found = picture(name)
    axes = np.ravel(pictures.draw(found))
    assert len(axes) == len(panels_of(found))
    assert as_data(found)["data"]
    for panel in panels_of(found):
        assert panel.marks
        for mark in panel.marks:
            if isinstance(mark, Points | Lines):
                assert np.any(np.isfinite(mark.x))
                assert np.any(np.isfinite(mark.y))


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_can_stand_on_a_page(name: str) -> None:
    found = picture(name)
    drawn = svg_of(found, name, name)
    assert "<style" not in drawn  # it would hold for the whole page
    for node in ElementTree.fromstring(drawn).iter():
        sizes = [v for k, v in node.attrib.items() if k in ("x", "y", "cx", "cy", "r")]
        assert np.all(np.isfinite(np.array(sizes, float)))
        assert float(node.get("width", 1.0)) >= 0
        assert float(node.get("height", 1.0)) >= 0
    value = as_value(found, Linking({}))
    assert len(value["panels"]) == len(panels_of(found))
    text = embedded(value)
    for panel in panels_of(found):
        for _, word in panel.y.ticks or ():
            assert embedded(word) in text


def test_a_page_of_documentation_shows_every_picture_once() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = " ".join(re.findall(r"```\{gallery\}\n(.*?)```", page, flags=re.DOTALL)).split()
    assert sorted(shown) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_of_the_gallery_is_short_and_says_what_it_shows(name: str) -> None:
    make = getattr(gallery, name)
    assert len(inspect.getsource(make).splitlines()) < 30
    assert str(make.__doc__).endswith(".")


def test_two_axes_rebuild_a_column_that_depends_on_the_others() -> None:
    found = picture("reconstruction")
    flat = panels_of(found)[1]
    data, rebuilt = points_of(flat)
    assert np.max(np.abs(data.x - rebuilt.x)) < np.ptp(data.x)
    assert len(data.x) == len(rebuilt.x) == 60
    assert panels_of(found)[0].z is not None


def test_the_map_of_the_kernel_keeps_its_values() -> None:
    plane, space = panels_of(picture("kernel_map"))
    x = np.concatenate([np.column_stack([p.x, p.y]) for p in points_of(plane)])
    phi = np.concatenate([np.column_stack([p.x, p.y, p.z]) for p in points_of(space)])
    np.testing.assert_allclose(phi @ phi.T, (x @ x.T) ** 2, rtol=1e-9, atol=1e-9)


def test_the_first_axis_tells_the_circles_apart() -> None:
    _, flat, *_ = panels_of(picture("circles"))
    means = sorted(float(p.x.mean()) for p in points_of(flat))
    np.testing.assert_allclose(np.abs(means), np.abs([-0.11491, 0.01189, 0.32096]), atol=2e-5)
    assert all(np.ptp(p.x) < 1e-4 for p in points_of(flat))


def test_a_fish_is_seen_on_the_plane_of_most_inertia() -> None:
    most, least = panels_of(picture("fish"))
    assert float(most.x.title.split("(")[1].split(" ")[0]) > 80
    assert float(least.y.title.split("(")[1].split(" ")[0]) < 5


def test_genes_on_the_graph_are_those_beyond_the_threshold() -> None:
    panel = picture("genes")
    data = datasets.plants(effect=8.0)
    r = mc.PCA(standardize=True).fit(data).variables_.correlations[:, :2]
    expected = int(np.sum(np.max(np.abs(r), axis=1) >= 0.85))
    assert 0 < expected < 40
    assert f"{expected} of 200 variables" in panel.notes[0]


@pytest.mark.parametrize("name", ["plants", "plants_by_kernel"])
def test_plants_are_coloured_by_their_four_conditions(name: str) -> None:
    found = {p.name: len(p.x) for p in points_of(picture(name))}
    assert found == {"T0 C0": 6, "T0 C1": 6, "T1 C0": 6, "T1 C1": 6}


def test_images_of_digits_are_their_values() -> None:
    first = panels_of(picture("digits_rebuilt"))[0]
    (image,) = (m for m in first.marks if isinstance(m, Field))
    np.testing.assert_array_equal(
        np.sort(np.ravel(image.scale.values)), np.sort(gallery._threes()[0])
    )
    assert len(panels_of(picture("digits_axes"))) == 24
    scree = picture("digits_scree")
    assert scree.x.is_log
    assert scree.y.is_log


def test_the_cities_are_those_of_the_course() -> None:
    (table,) = (m for m in picture("cities_table").marks if isinstance(m, Field))
    assert np.max(table.scale.values) == 3273.0
    heights = np.concatenate([p.y for p in points_of(picture("cities_eigenvalues"))])
    np.testing.assert_allclose(np.max(heights), 13_949_791, rtol=1e-6)
    np.testing.assert_allclose(np.min(heights), -323_707, rtol=1e-5)
    (city,) = points_of(picture("cities_map"))
    np.testing.assert_allclose(np.abs([city.x[0], city.y[0]]), [1348.67, 462.40], atol=0.01)


def test_peaks_and_their_interpolation_agree_at_the_points() -> None:
    surface, contours = panels_of(picture("peaks"))
    (heights,) = (m for m in surface.marks if isinstance(m, Surface))
    np.testing.assert_allclose(np.max(heights.scale.values), 8.1, atol=0.1)
    (places,) = points_of(contours)
    assert len(places.x) == 20


def test_splines_of_the_course_pass_where_it_says() -> None:
    lines = {m.name: m for m in picture("splines").marks if isinstance(m, Lines)}
    almost = lines["r = 0.999999"]
    np.testing.assert_allclose(np.interp(0.35, almost.x, almost.y), 0.348533, atol=2e-3)


def test_nine_eigenfunctions_are_drawn_over_the_plane() -> None:
    panels = panels_of(picture("eigenfunctions"))
    assert len(panels) == 9
    assert all(any(isinstance(m, Field) for m in p.marks) for p in panels)
    assert all(panel.title.startswith("Dim ") for panel in panels)


def test_axes_are_titled_with_their_shares() -> None:
    for name in ("plants", "decathletes", "events", "biplot"):
        panel = picture(name)
        for side, number in ((panel.x, 1), (panel.y, 2)):
            assert isinstance(side, Axis)
            assert side.title.startswith(f"Dim {number} (")
            assert side.title.endswith(" %)")


def test_bars_beyond_the_uniform_share_stand_out() -> None:
    (bars,) = (m for m in picture("contributions").marks if isinstance(m, Bars))
    dark = np.array(bars.colours) == bars.colours[0]
    np.testing.assert_array_equal(dark, bars.lengths >= 1 / 41)


def test_the_picture_of_the_readme_has_the_same_individuals_on_both_maps() -> None:
    left, right = panels_of(example("two_maps").two_maps())
    straight, curved = points_of(left), points_of(right)
    assert [mark.name for mark in straight] == [mark.name for mark in curved]
    assert [len(mark.x) for mark in straight] == [len(mark.x) for mark in curved] == [40] * 5
    names = {mark.name: mark for mark in curved}
    others = np.concatenate([mark.x for name, mark in names.items() if name != "Jupiter"])
    jupiter = names["Jupiter"].x
    assert jupiter.min() > others.max() or jupiter.max() < others.min()
    assert (ROOT / "docs" / "two-maps.png").stat().st_size < 60_000
