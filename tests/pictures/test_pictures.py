from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import mercer as mc
from mercer import datasets, pictures
from mercer.errors import InvalidInput, InvalidParameter, MissingExtra
from mercer.pictures.colours import PALETTE
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import Elements
from mercer.pictures.scene import Arrows, Bars, Field, Labels, Lines, Markers, Panel, Rule, Texts
from mercer.pictures.with_plotly import as_data
from tests.fitted import MODELS, fitted

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def decathlon() -> tuple[Any, Any]:
    data = datasets.decathlon()
    return data, mc.PCA(standardize=True).fit(data)


def every_text(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from every_text(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from every_text(part)


def test_categories_by_themselves_are_those_of_highest_cos2_and_refused_where_there_are_none(
    decathlon: Any,
) -> None:
    answers = {"a": list("xxyyzz"), "b": list("uvuvuv"), "c": list("ppqqqp")}
    model = mc.MCA().fit(answers)
    panel = pictures.categories.describe(model, most=4)
    (points,) = panel.of_kind(Markers)
    assert isinstance(points, Markers)
    found = model.categories_
    best = np.argsort(-found.cos2[:, :2].sum(axis=1), kind="stable")[:4]
    np.testing.assert_allclose(np.column_stack([points.x, points.y]), found.coordinates[best, :2])
    assert points.names == tuple(found.levels[i] for i in best)
    assert pictures.categories.describe(found, most=4).marks[1].texts == points.names  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="PCA has no categories"):
        pictures.categories.describe(decathlon[1])
    with pytest.raises(InvalidInput, match="model.categories_; found Individuals"):
        pictures.categories.describe(decathlon[1].individuals_)


def test_individuals_are_drawn_at_their_coordinates_in_both_libraries(decathlon: Any) -> None:
    data, model = decathlon
    options: dict[str, Any] = {
        "spectrum": model.spectrum_,
        "colour": data.colour,
        "axes": (2, 3),
    }
    ax = pictures.individuals(model.individuals_, **options)
    F = model.individuals_.coordinates[:, [1, 2]]
    drawn = np.vstack([c.get_offsets() for c in ax.collections])
    order = np.argsort(data.colour.values != "Decastar", kind="stable")
    np.testing.assert_allclose(drawn, F[order], rtol=1e-15)
    assert ax.get_xlabel() == "Dim 2 (17.4 %)"
    assert ax.get_aspect() == 1.0
    figure = pictures.individuals.plotly(model.individuals_, **options)
    traced = np.vstack([np.c_[t.x, t.y] for t in figure.data if t.mode == "markers"])
    np.testing.assert_allclose(traced, drawn, rtol=1e-15)
    assert figure.layout.xaxis.title.text == "Dim 2 (17.4 %)"
    assert figure.layout.yaxis.scaleanchor == "x"
    assert [t.name for t in figure.data[:2]] == ["Decastar", "OlympicG"]
    assert ax.get_legend().get_title().get_text() == "Competition"


@pytest.mark.filterwarnings("ignore:.*log-scaled")
def test_axes_keep_the_format_and_the_scale_that_they_were_given() -> None:
    ax, logarithmic = Figure().subplots(1, 2)
    ax.xaxis.set_major_formatter("{x:.1f} m")
    logarithmic.set_xscale("log")
    for one in (ax, logarithmic):
        pictures.individuals([[1.0, 2.0], [2.0, 1.0], [4.0, 3.0]], ax=one)
    assert ax.xaxis.get_major_formatter()(2.0) == "2.0 m"
    assert logarithmic.get_xscale() == "log"


def test_the_axes_given_are_drawn_on_and_no_window_is_opened(decathlon: Any) -> None:
    _, model = decathlon
    ax = Figure().add_subplot()
    assert pictures.individuals(model.individuals_, ax=ax, labels=0) is ax
    pyplot = sys.modules.get("matplotlib.pyplot")  # another test may have loaded it
    assert pyplot is None or pyplot.get_fignums() == []
    with pytest.raises(InvalidParameter, match="several panels"):
        pictures.images(np.eye(4), (2, 2), ax=ax)


def test_pictures_are_described_without_any_drawing_library() -> None:
    code = (
        "import sys; from mercer import pictures; "
        "pictures.scree.describe([2.0, 1.0]); pictures.individuals.describe([[0.0, 1.0]]); "
        "assert not {'matplotlib', 'plotly'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("library", ["matplotlib", "plotly"])
def test_a_missing_library_is_named_with_the_extra_that_brings_it(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == library]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    draw = pictures.scree if library == "matplotlib" else pictures.scree.plotly
    with pytest.raises(MissingExtra, match=rf'{library}.*pip install "mercer\[plot\]"'):
        draw([1.0])


def test_labels_name_those_first_who_make_most_of_the_plane(decathlon: Any) -> None:
    _, model = decathlon
    panel = pictures.individuals.describe(model.individuals_, labels=5)
    squares = np.sum(model.individuals_.coordinates[:, :2] ** 2, axis=1)
    best = model.individuals_.labels[np.argsort(-squares)[:5]]
    (labels,) = panel.of_kind(Labels)
    assert isinstance(labels, Labels)
    assert labels.most == 5
    assert labels.texts[:5] == tuple(best)
    assert set(labels.texts) == set(model.individuals_.labels)  # a reader who zooms finds others
    ax = pictures.individuals(model.individuals_, labels=5)
    assert {text.get_text() for text in ax.texts} <= set(best)


def test_colours_by_cos2_and_contribution_are_those_of_the_plane(decathlon: Any) -> None:
    _, model = decathlon
    ax = pictures.individuals(model.individuals_, colour="cos2", labels=0)
    expected = model.individuals_.cos2[:, :2].sum(axis=1)
    np.testing.assert_allclose(ax.collections[0].get_array(), expected)
    ax = pictures.individuals(model.individuals_, colour="contribution", labels=0)
    shares = np.asarray(ax.collections[0].get_array())
    assert shares.sum() == pytest.approx(1.0)
    with pytest.raises(InvalidParameter, match="cos2"):
        pictures.individuals(model.individuals_, colour="kos2")


def test_supplementary_elements_are_hollow_and_categories_stand_at_barycentres(
    decathlon: Any,
) -> None:
    data, model = decathlon
    passive = model.supplementary(
        individuals=data.matrix()[:2], categories={"meeting": data.colour.values}
    )
    panel = pictures.individuals.describe(model.individuals_, supplementary=passive)
    hollow = [m for m in panel.marks if isinstance(m, Markers) and m.is_hollow]
    np.testing.assert_allclose(hollow[0].x, model.individuals_.coordinates[:2, 0])
    squares = [m for m in panel.marks if isinstance(m, Markers) and m.marker == "square"]
    np.testing.assert_allclose(squares[0].x, passive.categories.coordinates[:, 0])


def test_a_group_of_one_has_no_ellipse_and_the_picture_says_so(decathlon: Any) -> None:
    _, model = decathlon
    groups = np.array(["alone"] + ["others"] * 40, object)
    panel = pictures.individuals.describe(
        model.individuals_, colour=groups, ellipses="concentration"
    )
    assert len(panel.of_kind(Lines)) == 1
    assert "No ellipse for alone (1 individual)." in panel.notes


def test_an_ellipse_of_concentration_holds_its_share() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((4000, 2)) @ [[2.0, 0.0], [1.0, 0.5]]
    panel = pictures.individuals.describe(points, ellipses="concentration", labels=0)
    (line,) = panel.of_kind(Lines)
    assert isinstance(line, Lines)
    S = np.cov(points.T)
    gaps = np.c_[line.x, line.y] - points.mean(axis=0)
    radii = np.einsum("ij,jk,ik->i", gaps, np.linalg.inv(S), gaps)
    np.testing.assert_allclose(radii, -2.0 * np.log(0.05), rtol=1e-9)
    around = points - points.mean(axis=0)
    inside = np.einsum("ij,jk,ik->i", around, np.linalg.inv(S), around) < radii[0]
    assert inside.mean() == pytest.approx(0.95, abs=0.012)


def test_variables_stand_at_their_correlations_inside_a_round_circle(decathlon: Any) -> None:
    _, model = decathlon
    ax = pictures.variables(model.variables_, spectrum=model.spectrum_)
    tips = [text.xy for text in ax.texts if text.get_text() == "" and text.arrow_patch]
    expected = model.variables_.correlations[:, :2]
    np.testing.assert_allclose(sorted(map(tuple, tips)), sorted(map(tuple, expected)))
    x, y = ax.lines[2].get_data()  # after the two lines through the origin
    np.testing.assert_allclose(np.hypot(x, y), 1.0)
    assert ax.get_aspect() == 1.0
    assert ax.get_xlim() == ax.get_ylim()


@pytest.mark.parametrize("by", ["correlation", "cos2", "contribution"])
def test_filters_keep_what_their_name_says(decathlon: Any, by: str) -> None:
    _, model = decathlon
    v = model.variables_
    inertias = model.inertias_[:2]
    measure = {
        "correlation": np.abs(v.correlations[:, :2]).max(axis=1),
        "cos2": v.cos2[:, :2].sum(axis=1),
        "contribution": v.contributions[:, :2] @ inertias / inertias.sum(),
    }[by]
    least = float(np.sort(measure)[6])
    panel = pictures.variables.describe(v, least={by: least})
    (arrows,) = panel.of_kind(Arrows)
    assert isinstance(arrows, Arrows)
    assert set(arrows.names or ()) == {v.names[j] for j in np.flatnonzero(measure >= least)}
    assert by in panel.notes[0]


def test_arrows_of_a_biplot_are_correlations_times_the_number_it_states(decathlon: Any) -> None:
    _, model = decathlon
    panel = pictures.biplot.describe(model.individuals_, model.variables_)
    (arrows,) = panel.of_kind(Arrows)
    assert isinstance(arrows, Arrows)
    factor = float(panel.notes[0].split()[-1].rstrip("."))
    r = dict(zip(model.variables_.names, model.variables_.correlations[:, 0], strict=True))
    expected = [factor * r[name] for name in arrows.names or ()]
    np.testing.assert_allclose(arrows.x, expected, rtol=0.01)


def test_contributions_are_sorted_beside_the_uniform_line(decathlon: Any) -> None:
    _, model = decathlon
    ax = pictures.contributions(model.individuals_, axes=(2,), most=41)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, np.sort(model.individuals_.contributions[:, 1])[::-1])
    assert ax.lines[0].get_xdata()[0] == pytest.approx(1 / 41)


def test_contributions_to_an_axis_of_which_numbers_make_nothing_have_a_scale() -> None:
    nothing = Elements("variables", ("a", "b"), np.zeros((2, 1)), {"contrib": np.zeros((2, 1))})
    panel = pictures.contributions.describe(nothing, axes=1)
    low, high = panel.x.limits
    assert np.isfinite(high)
    assert low < high


def test_numbers_that_make_a_part_of_an_axis_say_which_part(decathlon: Any) -> None:
    shares = np.array([[0.08], [0.04]])
    part = Elements("variables", ("a", "b"), np.ones((2, 1)), {"contrib": shares})
    assert pictures.contributions.describe(part, axes=1).notes == (
        "All 2 together make 12 % of this axis.",
    )
    assert not pictures.contributions.describe(decathlon[1].variables_, axes=1).notes


def test_no_line_runs_through_the_numbers_of_a_scree(decathlon: Any) -> None:
    _, model = decathlon
    horn = mc.parallel_analysis(model, 39, random_state=0)
    panel = pictures.scree.describe(model.inertias_, horn=horn, kaiser=1.0)
    (texts,) = (layer for layer in panel.of_kind(Texts) if isinstance(layer, Texts))
    height = 0.015 * (panel.y.limits[1] - panel.y.limits[0])
    line = horn.quantiles(0.95)
    at = np.interp(texts.x, np.arange(1, len(line) + 1), line)
    assert np.all(np.abs(texts.y - at) > height)
    assert np.all(np.abs(texts.y - 1.0) > height)
    assert np.all(texts.y > model.inertias_[: len(texts.y)])


def test_the_scree_has_horns_band_kaisers_line_and_p_values(decathlon: Any) -> None:
    _, model = decathlon
    horn = mc.parallel_analysis(model, 49, random_state=0)
    ax = pictures.scree(model.inertias_, total=model.inertia_, horn=horn, kaiser=1.0)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, model.inertias_)
    dashed, kaiser = ax.lines
    np.testing.assert_allclose(dashed.get_ydata(), horn.quantiles(0.95))
    assert kaiser.get_ydata()[0] == 1.0
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert ticks[0] == f"1\n{horn.p_values[0]:.3f}"
    assert "32.7 %" in {text.get_text() for text in ax.texts}


def test_shares_are_of_the_true_inertia_and_never_exceed_it() -> None:
    data = datasets.circles()
    with pytest.warns(mc.errors.DegenerateAxes):
        model = mc.KernelPCA(3, kernel=mc.Gaussian(8**-0.5)).fit(data)
    panel = pictures.individuals.describe(model.individuals_, axes=(2, 3), spectrum=model.spectrum_)
    assert panel.x.title == f"Dim 2 ({100 * 2.14166 / 87.8235:.1f} %)"
    assert "Dim 2 and 3 are equal in size" in panel.notes[0]
    with pytest.raises(InvalidParameter, match="exceed 100 %"):
        pictures.scree([3.0, 2.0], total=4.0)
    with pytest.raises(InvalidInput, match="sum to at most 1"):
        pictures.individuals(np.eye(2), spectrum=[0.8, 0.4])


def test_negative_eigenvalues_are_shown_and_shares_are_those_of_the_moduli() -> None:
    model = mc.ClassicalMDS().fit(datasets.us_cities().values)
    values = model.eigenvalues_
    panel = pictures.individuals.describe(model.embedding_, spectrum=model.spectrum_)
    share = values[0] / np.abs(values).sum()
    assert panel.x.title == f"Dim 1 ({100 * share:.1f} %)" == "Dim 1 (83.2 %)"
    assert "negative" in panel.notes[0]
    ax = pictures.eigenvalues(values)
    drawn = np.vstack([c.get_offsets() for c in ax.collections])
    np.testing.assert_allclose(drawn[np.argsort(drawn[:, 0]), 1], values)
    assert np.sum(drawn[:, 1] < -1) == len(ax.collections[1].get_offsets()) == 3


def test_eigenfunctions_are_the_transform_on_the_grid_others_at_their_medians() -> None:
    x = np.random.default_rng(1).standard_normal((30, 3))
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(x)
    page = pictures.eigenfunctions.describe(model.transform, x, on=(2, 0), grid=5)
    field = page.panels[1].marks[0]
    assert isinstance(field, Field)
    place = [[field.y[3], np.median(x[:, 1]), field.x[4]]]
    assert field.scale.values[3, 4] == pytest.approx(model.transform(place)[0, 1])
    assert len(pictures.eigenfunctions(model.transform, x, grid=5)) == 2


@pytest.mark.parametrize("kernel", [mc.kernels.ChiSquare(), mc.kernels.Aitchison()])
def test_eigenfunctions_begin_with_the_data_where_there_is_nothing_below(kernel: mc.Kernel) -> None:
    x = np.random.default_rng(1).exponential(3.0, (20, 3)) + 0.01
    model = mc.KernelPCA(2, kernel=kernel).fit(x)
    (panel, _) = pictures.eigenfunctions.describe(model, on=(0, 2), grid=5).panels
    field = panel.marks[0]
    assert isinstance(field, Field)
    assert (field.x[0], field.y[0]) == (x[:, 0].min(), x[:, 2].min())
    assert panel.x.limits[0] < field.x[0]  # the points at the edge are drawn whole
    assert panel.x.limits[1] == field.x[-1] > x[:, 0].max()
    place = [[field.x[4], np.median(x[:, 1]), field.y[3]]]
    assert field.scale.values[3, 4] == pytest.approx(model.transform(place)[0, 0])


def test_four_panels_show_space_and_its_planes() -> None:
    x = np.random.default_rng(1).standard_normal((10, 3))
    axes = pictures.four_panels({"data": x, "moved": x + 1.0})
    np.testing.assert_allclose(axes[3].collections[1].get_offsets(), x[:, 1:] + 1.0)
    assert axes[0].name == "3d"


def test_the_shepard_diagram_holds_the_values_of_the_map() -> None:
    model = mc.StressMDS(2, loss="ordinal", n_starts=1).fit(datasets.us_cities().values)
    ax = pictures.shepard(model.shepard_)
    dots = ax.collections[0].get_offsets()
    order = np.argsort(model.shepard_.dissimilarities, kind="stable")
    np.testing.assert_allclose(dots[:, 0], model.shepard_.dissimilarities[order])
    assert np.all(np.diff(ax.lines[0].get_ydata()) >= -1e-9)


def test_a_heat_map_is_the_matrix_in_the_order_of_its_ticks() -> None:
    cities = datasets.us_cities()
    panel = pictures.heat_map.describe(cities.values, names=cities.names, order="distance")
    field = panel.marks[0]
    assert isinstance(field, Field)
    rows = [cities.names.index(text) for _, text in panel.y.ticks or ()]
    np.testing.assert_array_equal(field.scale.values, cities.values[np.ix_(rows, rows)])
    first = mc.ClassicalMDS(1).fit(cities.values).embedding_[rows, 0]
    assert np.all(np.diff(first) > 0) or np.all(np.diff(first) < 0)


def test_groups_stand_together_in_a_heat_map_and_large_ones_are_averaged() -> None:
    n = 900
    K = np.eye(n)
    groups = np.array(["a", "b", "c"], object)[np.arange(n) % 3]
    panel = pictures.heat_map.describe(K, groups=groups)
    field = panel.marks[0]
    assert isinstance(field, Field)
    assert field.scale.values.shape == (300, 300)
    assert field.scale.values.sum() * 9 == pytest.approx(n)
    assert sorted(r.at for r in panel.marks if isinstance(r, Rule) and r.is_level) == [299.5, 599.5]


def test_images_keep_their_pixels() -> None:
    axes = pictures.images(np.arange(12.0).reshape(2, 6), (2, 3), titles=["a", "b"])
    np.testing.assert_array_equal(axes[1].collections[0].get_array(), [[6, 7, 8], [9, 10, 11]])
    assert axes[0].yaxis_inverted()
    assert axes[1].get_title(loc="left") == "b"


def test_a_bandwidth_path_holds_shares() -> None:
    ax = pictures.bandwidth_path([0.1, 1.0, 10.0], [[1, 1], [2, 1], [3, 0.5]], [4, 4, 4])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.25, 0.5, 0.75])
    assert ax.get_xscale() == "log"


def test_curves_and_bands_are_drawn_where_they_are() -> None:
    ax = pictures.curves([0, 1], {"g": [1, 2]}, points=[[0.5, 1.4]], bands={"b": ([0, 1], [2, 3])})
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1, 2])
    np.testing.assert_allclose(ax.collections[1].get_offsets(), [[0.5, 1.4]])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["b", "g"]


def test_contours_and_surfaces_take_a_grid() -> None:
    x, y = np.linspace(0, 1, 4), np.linspace(0, 2, 5)
    with pytest.raises(InvalidInput, match="shape"):
        pictures.contours(x, y, np.zeros((4, 5)))
    assert pictures.contours(x, y, np.add.outer(y, x)).get_xlim() == (0.0, 1.0)
    assert pictures.surface(x, y, np.add.outer(y, x)).get_zlim() == (0.0, 3.0)


def test_points_stand_on_a_surface_at_their_heights() -> None:
    side, places = np.linspace(0, 1, 4), np.array([[0.2, 0.4, 0.6], [0.9, 0.1, 1.0]])
    panel = pictures.surface.describe(side, side, np.add.outer(side, side), points=places)
    (mark,) = panel.of_kind(Markers)
    assert isinstance(mark, Markers)
    assert mark.z is not None
    np.testing.assert_array_equal([mark.x, mark.y, mark.z], places.T)
    _, above = pictures.draw(panel).collections
    assert above.get_zorder() > 1
    with pytest.raises(InvalidInput, match="a height each"):
        pictures.surface(side, side, np.eye(4), points=places[:, :2])


def test_bootstrap_ellipses_lie_around_the_means_of_replicates() -> None:
    rng = np.random.default_rng(3)
    at = np.array([[0.0, 0.0], [5.0, 1.0]])
    replicates = at + 0.1 * rng.standard_normal((100, 2, 2))
    panel = pictures.bootstrap.describe(at, replicates, labels=0)
    for i, line in enumerate(panel.of_kind(Lines)):
        assert isinstance(line, Lines)
        centre = np.mean([line.x[:-1], line.y[:-1]], axis=1)
        np.testing.assert_allclose(centre, replicates[:, i].mean(axis=0), atol=1e-12)
    with pytest.raises(InvalidInput, match="R x 2 x axes"):
        pictures.bootstrap(at, replicates[:, :1])


def test_a_crowd_is_shown_by_its_density_and_a_sample_of_every_group() -> None:
    n = LIMITS.points + 1
    rng = np.random.default_rng(0)
    points = rng.standard_normal((n, 2))
    groups = np.array(["common"] * (n - 3) + ["rare"] * 3, object)
    panel = pictures.individuals.describe(points, colour=groups, labels=0)
    field = panel.marks[0]
    assert isinstance(field, Field)
    assert np.sum(10.0**field.scale.values - 1.0) == pytest.approx(n)
    sizes = {m.name: len(m.x) for m in panel.marks if isinstance(m, Markers)}
    assert sizes["rare"] == 1
    assert 4_000 < sizes["common"] <= 5_000
    assert "density" in panel.notes[0]
    assert "10\u00a0001" in panel.notes[0]


def test_hostile_labels_reach_neither_a_browser_nor_a_formula_parser() -> None:
    names = [HOSTILE, r"$\frac{$", "_hidden", "\\href{javascript:x}"]
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    colour = np.array(names, object)
    options: dict[str, Any] = {"names": names, "colour": colour, "title": HOSTILE}
    figure = pictures.individuals.plotly(points, **options)
    texts = list(every_text(json.loads(figure.to_json())))
    assert any("&lt;script&gt;" in text for text in texts)
    assert not any("<script" in text or "$" in text for text in texts)
    ax = pictures.individuals(points, **options)
    ax.figure.canvas.draw()
    assert "_hidden" in " ".join(t.get_text() for t in ax.get_legend().get_texts())


def test_both_libraries_can_draw_every_kind_of_mark() -> None:
    grid = np.linspace(0.0, 1.0, 4)
    panels = (
        pictures.scree.describe([2.0, 1.0, -0.5], kaiser=1.0),
        pictures.surface.describe(grid, grid, np.outer(grid, grid)),
        pictures.contours.describe(grid, grid, np.outer(grid, grid), is_signed=True),
        pictures.heat_map.describe(np.eye(3)),
    )
    page = pictures.sheet(*panels)
    assert len(pictures.draw(page)) == 4
    kinds = {trace["type"] for trace in as_data(page)["data"]}
    assert kinds == {"bar", "scatter", "surface", "contour", "heatmap"}
    assert len(pictures.plotly(page).data) == len(as_data(page)["data"])


def test_groups_beyond_the_palette_take_another_marker() -> None:
    groups = np.array([f"g{i:02d}" for i in range(12)], object)
    panel = pictures.individuals.describe(np.random.default_rng(0).random((12, 2)), colour=groups)
    looks = {(m.colour, m.marker) for m in panel.marks if isinstance(m, Markers)}
    assert len(looks) == 12
    assert {colour for colour, _ in looks} == set(PALETTE)


@pytest.mark.parametrize("values", [np.zeros((1, 2)), np.zeros((3, 2)), np.full((2, 2), 1e200)])
def test_degenerate_points_still_make_a_picture(values: Any) -> None:
    panel = pictures.individuals.describe(values)
    assert isinstance(panel, Panel)
    assert panel.x.limits[0] < panel.x.limits[1]
    ax = pictures.individuals(values, ellipses="concentration")
    ax.figure.canvas.draw()


def test_bars_are_plain_data() -> None:
    (bars,) = pictures.scree.describe([3.0, 1.0]).of_kind(Bars)
    assert isinstance(bars, Bars)
    np.testing.assert_array_equal(bars.lengths, [3.0, 1.0])


@pytest.mark.parametrize(
    "name", ["PCA of a data frame", "linear KernelPCA", "KernelPCA of strings"]
)
def test_pictures_take_models(name: str) -> None:
    model = fitted(name)
    plane = pictures.individuals.describe(model)
    expected = pictures.individuals.describe(model.individuals_, spectrum=model.spectrum_)
    assert (plane.x.title, plane.y.title) == (expected.x.title, expected.y.title)
    assert "%" in plane.x.title
    bars = pictures.scree.describe(model).marks[0]
    assert np.array_equal(bars.lengths, model.inertias_)  # type: ignore[union-attr]
    if not hasattr(model, "variables_"):
        with pytest.raises(AttributeError, match="not rows of variables"):
            pictures.variables.describe(model)
        return
    circle = pictures.variables.describe(model)
    assert circle.x.title == plane.x.title
    both = pictures.biplot.describe(model)
    assert len(both.marks) == len(
        pictures.biplot.describe(model.individuals_, model.variables_).marks
    )


def test_every_model_has_its_first_picture_or_says_that_it_has_none() -> None:
    drawn = set()
    for name in MODELS:
        model = fitted(name)
        if hasattr(model, "individuals_") or isinstance(model, mc.SmoothingSpline):
            assert model.plot()._repr_png_().startswith(b"\x89PNG")
            drawn.add(type(model).__name__)
        elif hasattr(model, "plot"):  # not under scikit-learn's own signatures
            with pytest.raises(InvalidParameter, match="no default picture"):
                model.plot()
    axes = {"PCA", "KernelPCA", "CA", "MCA", "FAMD", "MFA", "ClassicalMDS", "StressMDS"}
    assert drawn == axes | {"SmoothingSpline"}


def test_a_curve_of_one_variable_has_its_band() -> None:
    x = np.linspace(0.0, 1.0, 20)
    for model in (mc.GaussianProcess(random_state=0), mc.KernelRegression(penalty=1e-3)):
        ax = model.fit(x[:, None], np.sin(5.0 * x)).plot()
        assert "95 % band" in [t.get_text() for t in ax.get_legend().get_texts()]


def test_a_described_picture_is_seen_and_named() -> None:
    panel = pictures.scree.describe([2.0, 1.0])
    assert repr(panel) == "<Panel: Inertia of the axes>"
    image = panel._repr_png_()
    assert image is not None
    assert image.startswith(b"\x89PNG")
    two = pictures.sheet(panel, panel, title="Two")
    assert repr(two) == "<Sheet: Two>"
    assert two._repr_png_() is not None


@pytest.mark.parametrize(
    ("picture", "said"),
    [("variables", "knows distances and no variables"), ("scree", "have no inertias")],
)
def test_what_a_map_of_distances_has_not_is_said(picture: str, said: str) -> None:
    model = mc.StressMDS(2, n_starts=1, random_state=0).fit(datasets.us_cities().values)
    with pytest.raises(mc.errors.InvalidInput, match=said):
        getattr(mc.pictures, picture)(model)


def test_a_group_on_a_line_has_no_ellipse(tmp_path: Path) -> None:
    """Two places of each group made the inverse of a singular matrix."""
    i = np.arange(40)
    table = pd.DataFrame({"x": i % 4, "y": (i % 4) ** 2, "g": np.array(["a", "b"])[i % 2]})
    with pytest.warns(mc.errors.Misleading, match="an arch"):
        mc.report(table, tmp_path / "page.html")


def test_names_that_are_given_stand_in_the_place_of_those_of_a_model() -> None:
    model = mc.PCA(2).fit(np.random.default_rng(0).standard_normal((4, 3)))
    panel = pictures.individuals.describe(model, names=["a", "b", "c", "d"])
    (points,) = (mark for mark in panel.marks if isinstance(mark, Markers))
    assert points.ids is not None
    assert points.ids.names == ("a", "b", "c", "d")
    with pytest.raises(InvalidInput, match="3 names were given for 4 individuals"):
        pictures.individuals.describe(model, names=["a", "b", "c"])


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "PNG"])
def test_a_described_picture_is_saved_in_the_format_of_its_ending(
    ending: str, tmp_path: Path
) -> None:
    panel = pictures.scree.describe([2.0, 1.0], total=3.5)
    both = pictures.sheet(panel, panel)
    for picture in (panel, both):
        picture.save(tmp_path / f"one.{ending}")
        begins = (tmp_path / f"one.{ending}").read_bytes()[:5]
        signs = {"png": b"\x89PNG\r", "svg": b"<?xml", "pdf": b"%PDF-"}
        assert begins == signs[ending.lower()]
    with pytest.raises(InvalidParameter, match="choose one of .png, .svg, .pdf"):
        panel.save(tmp_path / "one.bmp")


def test_a_bar_of_colours_is_never_higher_than_its_panel() -> None:
    model = mc.PCA(standardize=True).fit(mc.datasets.decathlon())
    ax = pictures.variables(model, colour="contribution")
    ax.figure.draw_without_rendering()
    (bar,) = ax.child_axes
    assert bar.get_window_extent().height < ax.get_window_extent().height


def test_ticks_of_large_numbers_have_no_factor_beside_the_title() -> None:
    ax = pictures.eigenvalues([13_949_791.0, 2_124_813.0, -323_707.0])
    ax.figure.draw_without_rendering()
    assert ax.yaxis.get_offset_text().get_text() == ""
    assert "10000000" in {tick.get_text() for tick in ax.get_yticklabels()}
