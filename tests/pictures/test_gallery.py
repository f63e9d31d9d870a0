"""The figures of the canon: each is drawn, from values that are checked against their source."""

from __future__ import annotations

import ast
import os
import re
import runpy
import warnings
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import mercer as mc
from mercer import datasets, pictures
from mercer.page.safe_text import embed_text
from mercer.pictures.scene import Axis, Bars, Field, Lines, Markers, Panel, Sheet, Surface
from mercer.pictures.with_plotly import as_data
from mercer.pictures.with_scripts import Linking, as_value
from mercer.pictures.with_svg import svg_of
from tests.examples import ROOT, example

SCRIPTS = {file.stem: file for file in sorted((ROOT / "examples" / "gallery").glob("*/*.py"))}
NAMES = list(SCRIPTS)
PNG = b"\x89PNG"


def panels_of(picture: Panel | Sheet) -> tuple[Panel, ...]:
    return picture.panels if isinstance(picture, Sheet) else (picture,)


def points_of(panel: Panel) -> Any:
    found: list[Any] = [m for m in panel.marks if isinstance(m, Markers)]
    return found


@cache
def run(name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return what a script of the gallery defines and the files that it writes; each runs once."""
    with warnings.catch_warnings(), TemporaryDirectory() as place, chdir(place):
        warnings.simplefilter("ignore", mc.errors.DegenerateAxes)
        space = runpy.run_path(str(SCRIPTS[name]), run_name="__main__")
        return space, {file.name: file.read_bytes() for file in Path(place).iterdir()}


def picture(name: str) -> Any:
    return run(name)[0]["picture"]


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_short_and_its_one_picture_can_be_drawn_anywhere(name: str) -> None:
    assert_short(name)
    assert_drawn_by_both_libraries(name)
    assert_fit_for_a_page(name)


def assert_short(name: str) -> None:
    lines = SCRIPTS[name].read_text(encoding="utf-8").splitlines()
    assert len(lines) < 30
    said = str(ast.get_docstring(ast.parse("\n".join(lines))))
    assert said.endswith(".")
    assert said.count(". ") <= 1
    assert lines[-1] == f'picture.save("{name}.png")'
    assert [(file, found[:4]) for file, found in run(name)[1].items()] == [(f"{name}.png", PNG)]


def test_every_picture_of_the_library_is_in_the_gallery() -> None:
    drawn = {n for n, v in vars(pictures).items() if type(v).__name__ == "Drawing"}
    code = "\n".join(file.read_text(encoding="utf-8") for file in SCRIPTS.values())
    assert drawn <= set(re.findall(r"pictures\.(\w+)", code))


def assert_drawn_by_both_libraries(name: str) -> None:
    found = picture(name)
    axes = np.ravel(pictures.draw(found))
    assert len(axes) == len(panels_of(found))
    assert as_data(found)["data"]
    for panel in panels_of(found):
        assert panel.marks
        for mark in panel.marks:
            if isinstance(mark, Markers | Lines):
                assert np.any(np.isfinite(mark.x))
                assert np.any(np.isfinite(mark.y))


def assert_fit_for_a_page(name: str) -> None:
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
    text = embed_text(value)
    for panel in panels_of(found):
        for _, word in panel.y.ticks or ():
            assert embed_text(word) in text


def test_pictures_of_the_gallery_are_drawn_again_when_the_library_changes(tmp_path: Path) -> None:
    drawer = runpy.run_path(str(ROOT / "docs" / "building" / "gallery.py"))
    script, library = tmp_path / "one.py", tmp_path / "library"
    script.write_text(
        "from types import SimpleNamespace\n"
        "def save(file, **look):\n"
        "    with open(file, 'a') as opened:\n"
        "        opened.write('drawn ')\n"
        "picture = SimpleNamespace(size=(4.0, 3.0), save=save)\n"
        "picture.save('one.png')\n"
    )
    library.mkdir()
    (library / "marks.py").touch()
    drawer["drawn"].__globals__["SOURCE"] = library
    small = tmp_path / "gallery-one-small.png"
    for second, count in ((0, 1), (0, 1), (10, 2)):
        for file in (script, library / "marks.py"):
            os.utime(file, (second, second if file is not script else 0))
        assert drawer["drawn"](script, tmp_path) == "gallery-one"
        os.utime(small, (5, 5))
        assert small.read_text() == "drawn " * count


def test_every_family_has_its_page_and_its_thumbnails() -> None:
    families = sorted({file.parent.name for file in SCRIPTS.values()})
    pages = {page.stem: page.read_text("utf-8") for page in (ROOT / "docs/gallery").glob("*.md")}
    assert sorted(pages) == families
    assert all(f"\n{{scripts}} {name}\n" in text for name, text in pages.items())
    first = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\{thumbnails\} (\w+)$", first, flags=re.MULTILINE)) == families
    named = re.findall(rf"\b(?:{'|'.join(families)})/[\w, ]+(?=\])", first)
    for group in named:
        family, _, scripts = group.partition("/")
        for script in scripts.split(", "):
            assert SCRIPTS[script].parent.name == family


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
    assert most.x.title == "Dim 1 (91.3 %)"
    assert least.y.title == "Dim 3 (0.7 %)"


def test_genes_on_the_graph_are_those_beyond_the_threshold() -> None:
    panel = picture("genes")
    data = datasets.plants(effect=8.0)
    r = mc.PCA(standardize=True).fit(data).variables_.correlations[:, :2]
    expected = int(np.sum(np.max(np.abs(r), axis=1) >= 0.87))
    assert 0 < expected < 40
    assert f"{expected} of 200 variables" in panel.notes[0]


@pytest.mark.parametrize("name", ["plants", "plants_by_kernel"])
def test_plants_are_coloured_by_their_four_conditions(name: str) -> None:
    found = {p.name: len(p.x) for p in points_of(picture(name))}
    assert found == {"T0 C0": 6, "T0 C1": 6, "T1 C0": 6, "T1 C1": 6}


def test_images_of_digits_are_their_values() -> None:
    first = panels_of(picture("images_rebuilt"))[0]
    (image,) = (m for m in first.marks if isinstance(m, Field))
    np.testing.assert_array_equal(
        np.sort(np.ravel(image.scale.values)), np.sort(run("images_rebuilt")[0]["x"][0])
    )
    assert len(panels_of(picture("images_axes"))) == 24
    scree = picture("images_scree")
    assert scree.x.is_log
    assert scree.y.is_log


def test_the_cities_are_those_of_the_course() -> None:
    (table,) = (m for m in picture("cities_table").marks if isinstance(m, Field))
    assert np.max(table.scale.values) == 3273.0
    heights = np.concatenate([p.y for p in points_of(picture("cities_eigenvalues"))])
    np.testing.assert_allclose(np.max(heights), 13.949791, rtol=1e-6)
    np.testing.assert_allclose(np.min(heights), -0.323707, rtol=1e-5)
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
