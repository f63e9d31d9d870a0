from __future__ import annotations

import hashlib
import json
import re
import shlex
import warnings
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import mercer as mc
from mercer.data.missing import settled
from mercer.data.table import Table
from mercer.datasets import decathlon, eurodist, iris, planets
from mercer.page.data import describe
from mercer.page.reproduce import called
from mercer.page.safe_text import LONGEST, PAGE, clean, embed_text, mathml, packed
from mercer.page.sentences import dimension
from mercer.page.subject import subject_of
from mercer.page.write import render_page
from mercer.pictures.clouds import density
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Arrows, Field, Labels, Lines, Markers, Panel
from tests.hostile import HOSTILE
from tests.references import reference

Value = dict[str, Any]


def plain(value: Any) -> Any:
    """Return a value as a page reads it back: through JSON, arrays unpacked."""
    return json.loads(embed_text(value), object_hook=_unpacked)


def read_back(value: Value) -> Any:
    """Return what the scripts of a page find in it."""
    found = re.search(r'<script id="value"[^>]*>(.*?)</script>', render_page(value), flags=re.S)
    assert found is not None
    return json.loads(found[1], object_hook=_unpacked)


def marks_of(value: Value, name: str, kind: type) -> list[Any]:
    """Return the marks of one kind of a picture of a page."""
    picture = value["panels"][name]
    assert isinstance(picture, Panel)
    return [mark for mark in picture.marks if isinstance(mark, kind)]


def _unpacked(found: Value) -> Any:
    if found.keys() != {"type", "shape", "data"}:
        return found
    dtype = {"Float32": "<f4", "Float64": "<f8", "Uint8": "u1", "Int32": "<i4"}[found["type"]]
    return np.frombuffer(b64decode(found["data"]), dtype).reshape(found["shape"]).tolist()


@pytest.fixture(scope="module")
def athletes() -> tuple[mc.PCA, Table]:
    table = decathlon()
    return mc.PCA(5, standardize=True).fit(table), table


@pytest.fixture(scope="module")
def value(athletes: tuple[mc.PCA, Table]) -> Value:
    model, table = athletes
    horn = mc.parallel_analysis(model, 39, random_state=0)
    return describe(model, table=table, choices={"horn": horn})


def test_the_result_is_said_in_plain_words(value: Value) -> None:
    assert value["sentences"] == [
        "41 individuals, principal component analysis, standardised.",
        "The map of the first two axes shows 50 % of the differences between individuals.",
        "One axis is more than chance: none of 39 tables with shuffled columns had one this large "
        "(p = 0.025).",
    ]
    page = render_page(value)
    exact = re.search(r"Eigenvalues exact to .*?\de-1\d.*? of the largest\.", page)
    assert exact is not None
    assert exact.start() > page.index("<h2>Reproduce</h2>")  # numerical exactness is at the foot


def test_what_a_permutation_test_counted_is_said_exactly() -> None:
    noise = np.random.default_rng(2).standard_normal((40, 6))
    model = mc.PCA(standardize=True).fit(noise)
    horn = mc.parallel_analysis(model, 199, risk=0.001, random_state=0)
    reached, drawn = int(horn.reached[0]), int(horn.draws[0])
    assert horn.n_components == 0
    assert drawn < 199
    assert horn.p_values[0] == pytest.approx((1 + reached) / (1 + drawn))
    said = dimension(subject_of(model), {"horn": horn})[0]
    assert said.startswith(
        f"No axis is more than chance: {reached} of {drawn} tables with shuffled columns had one "
        f"this large (p = {horn.p_values[0]:.2g})."
    )


def test_an_axis_that_some_shuffled_tables_reach_is_not_said_to_exceed_them_all() -> None:
    rng = np.random.default_rng(0)
    for strength in np.linspace(0.1, 1.0, 30):
        weak = rng.standard_normal((30, 4)) + strength * rng.standard_normal((30, 1))
        model = mc.PCA(standardize=True).fit(weak)
        horn = mc.parallel_analysis(model, 199, random_state=0)
        if horn.n_components == 1 and horn.reached[0] > 0:
            break
    reached = int(horn.reached[0])
    assert 0 < reached < 10
    said = dimension(subject_of(model), {"horn": horn})[0]
    assert f": {reached} of 199 tables with shuffled columns had one this large" in said


def test_signs_that_were_drawn_are_not_called_shuffled() -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((40, 4)) + rng.standard_normal((40, 1))
    model = mc.PCA(standardize=True).fit(data, sample_weight=rng.uniform(0.5, 2.0, 40))
    horn = mc.parallel_analysis(model, 39, random_state=0)
    said = dimension(subject_of(model), {"horn": horn})[0]
    assert "of 39 tables with random signs had" in said


def test_too_few_permutations_are_said_to_decide_nothing() -> None:
    model = mc.PCA(standardize=True).fit(iris())
    horn = mc.parallel_analysis(model, 9, random_state=0)
    (said,) = dimension(subject_of(model), {"horn": horn})
    assert said.startswith("How many axes are more than chance is not known: 9 permutations")


def counted() -> Any:
    """Return the analysis of counts with both maps."""
    about = reference("ca_children")
    counts = np.array(about["N"])[:14, :5].astype(int)
    table = pd.DataFrame(counts, about["rows"][:14], about["columns"][:5])
    return mc.analyse(table, method="ca", curved="gaussian('median')", random_state=0)


@pytest.mark.parametrize(("letters", "shown"), [(200, 3), (600, 2)])
def test_a_third_axis_is_told_beside_the_circle_where_there_is_room(
    value: dict[str, Any], letters: int, shown: int
) -> None:
    told = [
        {"title": f"Dim {k}", "axes": [k - 1], "sentences": ["x" * letters]} for k in (1, 2, 3, 4)
    ]
    page = render_page({**value, "description": told})
    before, _, after = page.partition("Further axes, and how to read them")
    assert [f"<dt>Dim {k}</dt>" in before for k in (1, 2, 3, 4)].count(True) == shown
    assert after.count("<dt>Dim ") == 4 - shown


def test_the_page_of_counts_says_whether_rows_and_columns_are_related() -> None:
    cells = np.array([[20, 5, 9], [4, 30, 8], [7, 6, 12], [11, 9, 10]])
    rows, names = ["a", "b", "c", "d"], ["wife", "both", "husband"]
    for table in (cells, np.outer([4, 5, 9, 6], [10, 20, 30]) + np.eye(4, 3, dtype=int)):
        expected = chi2_contingency(table)
        frame = pd.DataFrame(table, rows, names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mc.errors.ReadingWarning)
            found = describe(mc.analyse(frame, method="ca", random_state=0), choices={})
        (sentence,) = [text for text in found["sentences"] if text.startswith("Rows and columns")]
        related = "are related" if expected.pvalue <= 0.05 else "may be unrelated"
        squares = f"χ² = {expected.statistic:.3g} with 6 degrees of freedom"
        assert sentence.startswith(f"Rows and columns {related}: {squares}")
        assert f"(p = {expected.pvalue:.2g})" in sentence


def test_the_curved_map_of_counts_names_their_columns_and_its_distance() -> None:
    made = counted()
    found = describe(made, choices={})
    names = found["linked"]["columns"]["names"]
    assert found["curved"]["linked"]["variables"]["names"] == names
    assert "high_school_diploma" in names
    panel = found["panels"]["curved"]
    assert panel.title == "Curved map: kernel PCA, Gaussian kernel"
    assert re.match(
        r"Gaussian kernel of the χ² distance between profiles of 5 columns \(bandwidth [\d.]+\)\.$",
        panel.notes[0],
    )
    assert any(note.startswith("Arrows point to larger values") for note in panel.notes)


@pytest.mark.parametrize("kind", ["counts", "iris", "landmarks"])
def test_the_curved_map_points_as_the_straight_one_and_its_model_stays(kind: str) -> None:
    made: Any = counted() if kind == "counts" else mc.analyse(iris(), random_state=0)
    if kind == "landmarks":
        kernel = made.curved.kernel_
        near = mc.KernelPCA(4, kernel=kernel, method="nystrom", landmarks=60, random_state=0)
        made = replace(made, curved=near.fit(iris()))
    curved, before = made.curved, made.curved.individuals_.coordinates.copy()
    away = curved.reflected(-np.ones(before.shape[1]))
    rows = curved.X_fit_[:3]
    np.testing.assert_allclose(away.transform(rows), -curved.transform(rows), atol=1e-12)
    np.testing.assert_allclose(away.individuals_.coordinates, -before, atol=1e-12)
    np.testing.assert_allclose(
        away.supplementary(individuals=rows).individuals.cos2,
        curved.supplementary(individuals=rows).individuals.cos2,
        atol=1e-10,
    )
    for model in (curved, away):
        found = describe(replace(made, curved=model), choices={})
        F = np.column_stack(found["individuals"]["coordinates"])
        G = np.column_stack(found["curved"]["coordinates"])
        k = min(F.shape[1], G.shape[1])
        weights = made.model.individuals_.weights
        assert np.all(weights @ (F[:, :k] * G[:, :k]) >= 0)
        np.testing.assert_allclose(np.abs(G), np.abs(before), atol=1e-12)
        first = found["panels"]["curved"].of_kind(Markers)[0]
        np.testing.assert_allclose(np.sort(first.x), np.sort(G[first.ids.rows, 0]), atol=1e-12)
    np.testing.assert_array_equal(curved.individuals_.coordinates, before)


def test_the_columns_of_a_page_say_why_they_are_used_as_they_are() -> None:
    table = pd.DataFrame(decathlon().numbers[:, :3], columns=["a", "b", "c"])
    table["index"], table["same"] = np.r_[1:21, 1:22], 1.0
    found = describe(mc.analyse(table, random_state=0), choices={})
    sheet = found["sheets"]["roles"]
    assert sheet["columns"][-1]["name"] == "why"
    rows = {row[0]: row for row in sheet["rows"]}
    assert rows["index"][-1].startswith(
        "it numbers the rows of each of 2 groups from 1 on; active="
    )
    assert rows["same"][2] == "not used"
    assert rows["same"][-1] == "all individuals have the same value"


@pytest.mark.filterwarnings("ignore::mercer.errors.Misleading")
def test_the_range_of_a_column_is_that_of_what_was_measured() -> None:
    """Axes may put a number far outside of those that were read, which nobody measured."""
    x = np.r_[np.arange(11.0), 40.0]
    rng = np.random.default_rng(0)
    columns = {
        "x": x,
        "y": np.where(x == 40.0, np.nan, x + 0.1 * rng.standard_normal(12)),
        "z": rng.standard_normal(12),
        "team": np.array(["a", "b", None] * 4, object),
    }
    table = settled(Table.of(columns), {"number": "mean", "factor": "level"})
    table = replace(table, numbers=np.where(x[:, None] == 40.0, 40.0, table.numbers))
    measured = columns["y"][:11]
    assert table.column("y").values[11] > 2 * measured.max()
    sheet = describe(mc.analyse(table, random_state=0), choices={})["sheets"]["roles"]
    rows = {row[0]: row for row in sheet["rows"]}
    ends = f"{measured.min():.3g} to {measured.max():.3g}, mean {measured.mean():.3g}"
    assert rows["y"][3] == 1
    assert rows["y"][4].startswith(ends)
    assert rows["y"][4].endswith(f"deviation {measured.std():.3g}; 1 imputed")
    assert rows["team"][3:5] == [4, '2 levels: a, b; 4 as a level "(missing)"']


def test_no_flag_is_cut_at_the_end_of_a_line() -> None:
    made = mc.analyse(iris(), random_state=0)
    spoken = replace(made, sentence="It is so; --method famd makes the factor active.")
    assert '<span class="whole">--method</span> famd' in render_page(describe(spoken, choices={}))


def test_a_page_is_ordered_by_what_a_reader_wants(value: Value) -> None:
    page = render_page(value)
    order = ("summary", "maps", "axes", "groups", "dimension", "outliers", "data", "reproduce")
    places = [page.index(f'id="{name}"') for name in order]
    assert places == sorted(places)
    assert re.findall(r'<a href="#([a-z]+)"', page) == list(order)  # the contents


def test_nobody_is_called_ringed_where_no_ring_is_drawn() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[7] = 30.0
    found = describe(mc.PCA(2).fit(x), choices={})
    assert found["outliers"].startswith("Farther out than chance allows (")
    below = [note for panel in found["panels"].values() for note in panel.notes]
    assert any(note.startswith("Ringed, farther out") for note in below)


def test_a_page_of_an_analysis_has_both_maps_and_says_what_to_doubt() -> None:
    made = mc.analyse(iris(), random_state=0)
    found = describe(made, choices={})
    assert list(found["panels"])[:2] == ["plane-1-2", "curved"]
    assert made.sentence in found["sentences"][0]
    assert made.adds in found["sentences"]
    curved = found["curved"]
    assert made.curved is not None
    F = made.curved.individuals_.coordinates
    G = np.transpose(curved["coordinates"])
    np.testing.assert_allclose(np.abs(G), np.abs(F[:, : PAGE.axes]))
    assert curved["axes"][0].startswith("Dim 1 (")
    marks = read_back(found)["panels"]["curved"]["panels"][0]["marks"]
    linked = [
        i for m in marks if m["mark"] == "markers" and m["of"] == "individuals" for i in m["ids"]
    ]
    assert sorted(linked) == list(range(150))
    alone = describe(made.model, table=iris(), choices={})
    assert "curved" not in alone["panels"]
    assert alone["curved"] is None


def test_a_doubt_is_said_where_it_is_seen() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.ReadingWarning)
        made = mc.analyse(decathlon(), random_state=0)
    found = describe(made, choices={})
    here = [d.text for d in made.doubts if d.map == "curved"]
    assert here
    caption = " ".join(found["panels"]["curved"].notes)
    assert all(text[1:40] in caption for text in here)
    assert not any(text[1:40] in remark for text in here for remark in found["remarks"])


def test_a_kernel_is_said_with_the_rule_that_found_its_bandwidth() -> None:
    table = iris()
    for kernel in (mc.Gaussian("median"), "gaussian(bandwidth='median')"):
        model = mc.KernelPCA(2, kernel=kernel).fit(table)
        said = describe(model, table=table, choices={})["sentences"][0]
        assert said == "150 individuals, Gaussian kernel (bandwidth 2.36, median rule)."


def test_the_value_is_json_and_keeps_the_numbers(value: Value, athletes: Any) -> None:
    model, _ = athletes
    found = read_back(value)
    F = model.individuals_.coordinates
    np.testing.assert_allclose(np.transpose(found["individuals"]["coordinates"]), F, rtol=1e-6)
    bars, *_ = found["panels"]["scree"]["panels"][0]["marks"]
    np.testing.assert_allclose(bars["lengths"], model.inertias_, rtol=1e-6)
    marks = found["panels"]["circle"]["panels"][0]["marks"]
    active, dashed = (mark for mark in marks if mark["mark"] == "arrows")
    r = dict(zip(active["names"], zip(active["x"], active["y"], strict=True), strict=True))
    for j, name in enumerate(model.variables_.names):
        np.testing.assert_allclose(r[name], model.variables_.correlations[j, :2], rtol=1e-6)
    assert set(dashed["names"]) == {"Rank", "Points"}


def test_marks_carry_the_individuals_and_variables_that_they_stand_for(
    value: Value, athletes: Any
) -> None:
    model, table = athletes
    found = read_back(value)
    F = model.individuals_.coordinates
    for name, picture in found["panels"].items():
        for mark in picture["panels"][0]["marks"]:
            if mark["mark"] == "markers" and mark.get("of") == "individuals" and "plane" in name:
                k = [int(c) - 1 for c in name.split("-")[1:]]
                np.testing.assert_allclose(mark["x"], F[mark["ids"], k[0]], rtol=1e-6)
                assert "names" not in mark  # the page lists them once
    bars, *_ = found["panels"]["contributions-1"]["panels"][0]["marks"]
    assert bars["of"] == "variables"
    np.testing.assert_allclose(
        bars["lengths"], model.variables_.contributions[bars["ids"], 0], rtol=1e-6
    )
    linked = found["linked"]["variables"]
    np.testing.assert_allclose(
        np.transpose(linked["coordinates"]), model.variables_.correlations, rtol=1e-5, atol=1e-7
    )


def test_individuals_of_another_model_are_not_linked(athletes: Any) -> None:
    model, table = athletes
    other = mc.PCA(2).fit(iris())
    pictures = {
        "same": mc.pictures.individuals.describe(model),
        "other": mc.pictures.individuals.describe(other),
    }
    page = describe(model, table=table, choices={})
    found = read_back({**page, "panels": pictures})
    marks = {name: picture["panels"][0]["marks"][0] for name, picture in found["panels"].items()}
    assert marks["same"]["ids"] == list(range(41))
    assert "ids" not in marks["other"]
    assert len(marks["other"]["names"]) == 150


def test_indicators_that_scripts_compute_are_those_of_the_model(
    value: Value, athletes: Any
) -> None:
    # contribution = w·(F/s)², cos2 = (F/d)²: the columns of the page suffice for both.
    people, individuals = plain(value["individuals"]), athletes[0].individuals_
    F, d = np.transpose(people["coordinates"]), np.array(people["distances"])
    np.testing.assert_allclose((F / d[:, None]) ** 2, individuals.cos2, rtol=1e-5)
    shares = np.array(people["weights"])[:, None] * (F / people["spreads"]) ** 2
    np.testing.assert_allclose(shares, individuals.contributions, rtol=1e-5)


def test_tables_hold_what_the_model_holds(value: Value, athletes: Any) -> None:
    model, _ = athletes
    sheets = value["sheets"]
    rows = {row[0]: row[1:] for row in sheets["variables"]["rows"]}
    np.testing.assert_allclose(rows["100m"][:3], model.variables_.correlations[0, :3], rtol=1e-5)
    np.testing.assert_allclose(rows["100m"][3:6], model.variables_.cos2[0, :3], rtol=1e-4)
    np.testing.assert_allclose(rows["100m"][6:], model.variables_.contributions[0, :3], rtol=1e-5)
    passive = {row[0]: row[1:] for row in sheets["supplementary variables"]["rows"]}
    assert set(passive) == {"Rank", "Points"}
    levels = {row[0]: row[1:] for row in sheets["supplementary categories"]["rows"]}
    beside = {"c": decathlon().column("Competition").values}
    categories = model.supplementary(categories=beside).categories
    at = categories.levels.index("Decastar")
    np.testing.assert_allclose(levels["Decastar"][:3], categories.coordinates[at, :3], rtol=1e-5)
    np.testing.assert_allclose(levels["Decastar"][6:], categories.v_test[at, :3], rtol=1e-5)
    first = sheets["axes"]["rows"][0]
    assert first[1] == pytest.approx(model.inertias_[0], rel=1e-5)
    assert first[2] == pytest.approx(model.explained_variance_ratio_[0], rel=1e-5)
    roles = {row[0]: row[2] for row in sheets["roles"]["rows"]}
    assert roles["name"] == "names of rows"
    assert roles["Rank"] == roles["Competition"] == "supplementary"
    assert roles["100m"] == "active"


def test_axes_are_described_by_what_follows_them(value: Value, athletes: Any) -> None:
    model, table = athletes
    said = value["description"][0]
    assert said["title"] == "Dim 1 (32.7 %)"
    text = " ".join(said["sentences"])
    r = model.supplementary(variables={"Points": table.column("Points").values}).variables
    assert f"Points (supplementary, r = {r.correlations[0, 0]:.3g})" in text
    assert "Karpov" in text
    eta2 = model.supplementary(categories={"c": table.column("Competition").values}).categories.eta2
    assert f"beyond chance: Competition ({100 * eta2[0, 0]:.2g} % of its variance)" in text


@pytest.mark.parametrize("loss", ["stress", "classical"])
def test_maps_of_distances_have_pages_too(loss: str, tmp_path: Path) -> None:
    data = eurodist()
    model = mc.StressMDS(2) if loss == "stress" else mc.ClassicalMDS(3)
    with np.errstate(all="raise"):
        page = mc.report(model.fit(data), tmp_path / "page.html", table=data)
    text = page.read_text(encoding="utf-8")
    assert "Athens" in text
    if loss == "stress":
        assert f"Stress-1 {model.stress_:.3g}" in text
    else:
        assert "No points of a flat space have exactly these distances" in text
        assert f"Dim 1 ({100 * model.shares_[0]:.1f} %)" in text
        assert "which is the sum of all eigenvalues without their signs, Σ|λ|;" in text


def test_sets_strings_and_matrices_have_pages() -> None:
    baskets = [
        {"bread", "milk"},
        {"milk"},
        {"tea", "bread", "milk"},
        {"tea", "jam"},
        {"bread", "jam", "oil"},
    ]
    of_sets = mc.KernelPCA(2, kernel=mc.kernels.Intersection()).fit(baskets)
    of_matrix = mc.KernelPCA(2, kernel="precomputed").fit(mc.kernels.Intersection()(baskets))
    for model in (of_sets, of_matrix):
        found = describe(model, choices={})
        page = render_page(found)
        assert "circle" not in found["panels"]
        assert gram(found).shape == (5, 5)
        assert 'data-panel="plane-1-2"' in page
    np.testing.assert_array_equal(
        gram(describe(of_sets, choices={})), gram(describe(of_matrix, choices={}))
    )


def gram(value: Value) -> Any:
    (field,) = marks_of(value, "gram", Field)
    return field.scale.values


def test_eigenfunctions_are_the_coordinates_of_the_points_of_their_grid() -> None:
    table = iris()
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.5)).fit(table)
    value = describe(model, table=table, choices={})
    panel, (field,) = value["panels"]["function-2"], marks_of(value, "function-2", Field)
    names = list(table.active)
    point = np.median(table.matrix(), axis=0)
    for name, at in ((panel.x.title, field.x[7]), (panel.y.title, field.y[30])):
        point[names.index(name)] = at
    height = field.scale.values[30, 7]
    assert height == pytest.approx(model.transform(point[None])[0, 1], rel=1e-12)


def test_one_axis_one_variable_and_no_inertia_have_pages() -> None:
    line = mc.KernelPCA(1, kernel=mc.Gaussian(1.0)).fit([[0.0], [1.0], [2.5]])
    found = describe(line, choices={})
    (curve,) = marks_of(found, "function-1", Lines)
    np.testing.assert_allclose(curve.y, line.transform(curve.x[:, None])[:, 0])
    assert len(marks_of(found, "plane-1", Markers)[0].x) == 3
    assert render_page(found)
    with pytest.warns(mc.errors.NoInertia):
        point = mc.PCA().fit([[1.0, 2.0], [1.0, 2.0]])
    found = describe(point)
    assert found["panels"] == {}
    assert "All individuals coincide" in render_page(found)


def test_what_the_reading_warns_of_stands_on_the_page() -> None:
    with pytest.warns(mc.errors.DegenerateAxes):
        square = mc.PCA(2).fit([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert any("are equal in size" in r for r in describe(square, choices={})["remarks"])
    centre = mc.PCA(1).fit([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    remarks = describe(centre, choices={})["remarks"]
    assert remarks[0].startswith("2 lies at the centre")  # of rows counted as the tables do
    assert not any("barycentre" in remark for remark in remarks)


def test_a_crowd_is_shown_as_a_density_and_a_sample_of_every_level(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    levels = np.array(["common"] * 59_980 + ["rare"] * 20, dtype=object)
    columns = {"x": rng.standard_normal(60_000), "y": rng.standard_normal(60_000), "kind": levels}
    table = Table.of(columns)
    model = mc.PCA().fit(table)
    found = describe(model, table=table, choices={})
    plane = found["panels"]["plane-1-2"]
    caption = " ".join(plane.notes)
    assert "density of all 60\N{NO-BREAK SPACE}000 individuals" in caption
    assert "a sample of 5\N{NO-BREAK SPACE}000, drawn within each kind" in caption
    codes = found["individuals"]["colours"][2]["codes"]
    assert np.bincount(codes).tolist() == [4998, 2]
    (shading,) = marks_of(found, "plane-1-2", Field)
    assert np.sum(10.0**shading.scale.values - 1.0) == pytest.approx(60_000)
    page = mc.report(model, tmp_path / "crowd.html", table=table, choices={})
    assert page.stat().st_size < PAGE.bytes


def test_a_page_that_would_be_too_large_shows_fewer_individuals(tmp_path: Path) -> None:
    n = 9_000
    names = [f"{i:05d} " + "long name " * 20 for i in range(n)]
    table = Table.of({"x": np.arange(n) % 97, "y": np.arange(n) % 89}, row_names=names)
    model = mc.PCA().fit(table)
    whole = mc.report(model, tmp_path / "names.html", table=table, choices={})
    assert "a sample of" not in whole.read_text(encoding="utf-8")
    limit = whole.stat().st_size - 1
    page = mc.report(model, tmp_path / "names.html", table=table, choices={}, most_bytes=limit)
    assert page.stat().st_size <= limit
    assert "a sample of 5\N{NO-BREAK SPACE}000" in page.read_text(encoding="utf-8")
    with pytest.raises(mc.errors.InvalidInput, match="more than 1,000"):
        mc.report(model, tmp_path / "no.html", table=table, choices={}, most_bytes=1_000)


def test_the_density_counts_every_point() -> None:
    x = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    counts = 10.0 ** density(np.column_stack([x, x]), ((0.0, 1.0), (0.0, 1.0))).scale.values - 1.0
    assert counts.sum() == pytest.approx(5.0)
    assert counts[0, 0] == pytest.approx(4.0)  # rows go up, as y does


def test_the_same_model_makes_the_same_bytes(tmp_path: Path) -> None:
    data = eurodist()
    pages = [
        mc.report(mc.ClassicalMDS(2).fit(data), tmp_path / "same.html", table=data).read_bytes()
        for _ in range(2)
    ]
    assert pages[0] == pages[1]


def test_a_page_can_be_reproduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "it's data.csv"
    source.write_text("name,u,v\na,0,1\nb,2,0\nc,1,5\n")
    table = mc.read(source)
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median"), random_state=3).fit(table)
    command = ["mercer", "report", str(source)]
    found = describe(model, table=table, source=source, command=command, choices={})
    facts = dict(found["reproduce"]["facts"])
    assert facts["SHA-256 of the file"] == hashlib.sha256(source.read_bytes()).hexdigest()
    numbers = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 5.0]])
    assert facts["SHA-256 of the active columns"] == hashlib.sha256(numbers.tobytes()).hexdigest()
    assert facts["random_state"] == "3"
    assert facts["numpy"] == np.__version__
    assert shlex.split(found["reproduce"]["command"]) == command
    first = mc.report(model, tmp_path / "page.html", table=table, source=source).read_bytes()
    again = tmp_path / "again"
    again.mkdir()
    monkeypatch.chdir(again)
    exec(found["reproduce"]["code"], {})
    assert (again / "page.html").read_bytes() == first


def test_the_code_of_an_analysis_makes_both_maps_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    rows = "".join(f"{a:.3f},{b:.3f},{c:.3f}\n" for a, b, c in rng.normal(size=(20, 3)))
    source.write_text(f"u,v,w\n{rows}")
    found = mc.analyse(mc.read(source), scale=False, supplementary=["w"], random_state=5)
    first = mc.report(found, tmp_path / "page.html", source=source).read_bytes()
    code = describe(found, source=source, choices={})["reproduce"]["code"]
    assert "mc.analyse(data, scale=False, supplementary=('w',), random_state=5)" in code
    again = tmp_path / "again"
    again.mkdir()
    monkeypatch.chdir(again)
    exec(code, {})
    assert (again / "page.html").read_bytes() == first


@pytest.mark.filterwarnings("ignore::mercer.errors.ExchangeableAxes")  # of noise
def test_both_kinds_of_columns_have_their_contributions_and_one_arrow_makes_no_circle() -> None:
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {"a": rng.choice(["x", "y", "z"], 30), "b": rng.choice(["u", "v"], 30)}
    table["c"] = rng.normal(size=30)
    for more in (False, True):
        if more:
            table["d"] = rng.normal(size=30)
        panels = describe(mc.analyse(pd.DataFrame(table), method="famd"), choices={})["panels"]
        kinds = {panels[name].title.split()[2] for name in ("contributions-1", "others-1")}
        assert kinds == {"variables", "categories"}
        assert ("circle" in panels) == more


def test_a_map_of_two_axes_has_its_eigenvalues_once() -> None:
    cities = np.random.default_rng(2).normal(size=(12, 3))
    distances = np.linalg.norm(cities[:, None] - cities[None], axis=2)
    value = describe(mc.ClassicalMDS().fit(distances), choices={})
    assert "scree" not in value["panels"]


def test_code_names_the_parameters_that_are_not_usual() -> None:
    assert called(mc.PCA()) == "PCA()"
    assert called(mc.PCA(3, standardize=True)) == "PCA(3, standardize=True)"
    assert called(mc.ClassicalMDS(2)) == "ClassicalMDS()"


def test_models_without_axes_and_other_tables_are_refused(tmp_path: Path) -> None:
    spline = mc.SmoothingSpline().fit(np.arange(9.0), np.arange(9.0) ** 2)
    with pytest.raises(mc.errors.InvalidInput, match="SmoothingSpline has no individuals on axes"):
        mc.report(spline, tmp_path / "no.html")
    model = mc.PCA().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    with pytest.raises(mc.errors.InvalidInput, match="41 rows and the model 3 individuals"):
        mc.report(model, tmp_path / "no.html", table=decathlon())
    with pytest.raises(mc.errors.NotSaved):
        mc.report(model, tmp_path / "no" / "such" / "folder.html", choices={})
    assert not list(tmp_path.iterdir())


# Names that come from data.


def test_every_hostile_name_is_text_in_the_page() -> None:
    n = len(HOSTILE)
    columns: dict[str, Any] = {
        f"{name} {j}": np.arange(n) ** j for j, name in enumerate(HOSTILE[:3])
    }
    columns["kind"] = np.array(HOSTILE, dtype=object)
    table = Table.of(columns, row_names=HOSTILE)
    found = describe(
        mc.PCA().fit(table), table=table, title=HOSTILE[2], command=HOSTILE[0], choices={}
    )
    page = render_page(found)
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    bare = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert bare.count("</title>") == bare.count("</style>") == 1
    assert not re.search(r"<(img|iframe|svg/|b>|a href=.?javascript)", bare)
    assert not re.search(r"<[^>]*\son\w+=", bare)
    data = re.search(r'<script id="value"[^>]*>(.*?)</script>', page, flags=re.S)
    assert data is not None
    assert not re.search("[<>&]", data[1])
    assert json.loads(data[1])["individuals"]["names"][:5] == list(HOSTILE[:5])
    pictures = re.findall(r'<svg role="img".*?</svg>', page, flags=re.S)
    assert len(pictures) == len(found["panels"])
    for picture in pictures:
        ElementTree.fromstring(picture)  # whole as XML: no name ended an element


@given(st.text(max_size=300))
def test_embedded_json_is_the_same_text_and_holds_no_mark(text: str) -> None:
    found = embed_text([text])
    assert not re.search("[<>&\u2028\u2029]", found)
    assert json.loads(found) == [text]


@given(st.text(max_size=300))
def test_a_clean_name_is_one_short_line(text: str) -> None:
    assert len(clean(text)) <= LONGEST
    assert len(f"a{clean(text)}b".splitlines()) == 1
    assert clean(clean(text)) == clean(text)


def test_the_policy_allows_exactly_the_scripts_of_the_page(value: Value) -> None:
    page = render_page(value)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].replace("&#39;", "'").split("; "))
    assert rules["default-src"] == "'none'"
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, flags=re.S)
    assert len(scripts) == 1
    assert not re.search(r"^(import|export)\b", scripts[0], flags=re.M)  # from disk none is read
    sums = [b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert rules["script-src"].split() == [f"'sha256-{total}'" for total in sums]


def test_packed_arrays_keep_numbers_that_single_precision_does_not_hold() -> None:
    assert packed(np.array([1.0, 2.5]))["type"] == "Float32"
    assert packed(np.array([1e200, 1.0]))["type"] == "Float64"
    assert packed(np.array([3, 70_000]))["type"] == "Int32"
    assert plain(np.array([1e200])) == [1e200]


# Formulas.

KERNELS = [
    mc.Linear(),
    mc.Polynomial(3, 1.0, 0.5),
    mc.Gaussian(0.5),
    mc.Gaussian((1.0, 2.0)),
    mc.Laplacian(2.0),
    mc.Matern(1.5, 2.0),
    mc.Matern(2.5, 2.0),
    mc.kernels.RationalQuadratic(0.7, 2.0),
    mc.kernels.Periodic(1.0, 2.0),
    mc.Gaussian(0.5) + 0.1 * mc.Linear(),
    (mc.Gaussian(0.5) + 1.0) * mc.Linear() ** 2,
    mc.Linear().exp(),
    mc.Linear().normalised(),
    mc.Linear().gaussian(2.0),
    mc.kernels.AllSubsets(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_formulas_are_whole_mathml(kernel: mc.Kernel) -> None:
    found = mathml(kernel)
    assert found is not None
    tree = ElementTree.fromstring(found)
    assert tree.tag == "math"
    children = {"mfrac": 2, "msup": 2, "msub": 2, "munder": 2, "msubsup": 3}
    for node in tree.iter():
        assert len(node) == children.get(node.tag, len(node)), node.tag


def test_formulas_hold_the_numbers_and_brackets_of_the_kernel() -> None:
    text = "".join(ElementTree.fromstring(mathml(0.1 * mc.Gaussian(0.35)) or "").itertext())
    assert text == "k(x,y)=0.1·exp(−‖x−y‖22·0.352)"
    text = "".join(
        ElementTree.fromstring(mathml((mc.Linear() + 1.0) * mc.Linear()) or "").itertext()
    )
    assert text == "k(x,y)=(⟨x,y⟩+1)·⟨x,y⟩"
    assert mathml(mc.FromFunction(lambda a, b: 1.0)) is None


def test_every_column_can_colour_and_so_can_the_classes(value: Value) -> None:
    names = [colour["name"] for colour in value["individuals"]["colours"]]
    assert set(decathlon().active) | {"Rank", "Points", "Competition", "class"} == set(names)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_many_categories_have_a_map_of_their_own_and_few_stand_among_individuals() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 90)
    many = {
        f"q{j}": np.array([f"{j}{k}" for k in (kind + rng.integers(0, 2, 90)) % 4])
        for j in range(9)
    }
    model = mc.MCA().fit(many)
    made = describe(model, choices={})
    count = len(model.categories_)
    assert count > LIMITS.crowded_categories
    (among,) = (m for m in marks_of(made, "plane-1-2", Markers) if m.name == "categories")
    assert len(among.x) == LIMITS.crowded_categories
    said = f"Here are the {LIMITS.crowded_categories} of {count} that the plane shows best"
    assert any(said in note for note in made["panels"]["plane-1-2"].notes)
    (alone,) = marks_of(made, "categories", Markers)
    assert len(alone.x) == count
    assert alone.ids is not None
    assert alone.ids.of == "categories"
    page = render_page(made)
    assert page.index('id="figure-categories"') < page.index('id="figure-contributions-1"')
    few = describe(mc.MCA().fit({name: many[name] for name in ("q0", "q1")}), choices={})
    assert "categories" not in few["panels"]


def people_named(panel: Panel) -> list[Labels]:
    marks = [mark for mark in panel.marks if isinstance(mark, Labels)]
    return [mark for mark in marks if mark.ids is not None and mark.ids.of == "individuals"]


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_a_map_of_many_names_the_first_two_of_each_group() -> None:
    table = planets()
    assert table.colour is not None
    assert table.row_names is not None
    made = describe(mc.analyse(table, random_state=0), choices={})
    panel = made["panels"]["plane-1-2"]
    (named,) = people_named(panel)
    assert len(named.texts) == 10
    assert [text.split()[0] for text in named.texts[:5]] == list(table.colour.levels)
    at = mc.PCA(standardize=True).fit(table.matrix()).individuals_.coordinates
    far = np.hypot(*at[:, :2].T)
    jupiter = np.flatnonzero(table.colour.values == "Jupiter")
    first = table.row_names[jupiter[np.argmax(far[jupiter])]]
    assert named.texts[1] == first
    assert any("2 of each group" in note for note in panel.notes)
    athletes = describe(mc.analyse(decathlon(), random_state=0), choices={})["panels"]["plane-1-2"]
    (names,) = people_named(athletes)
    assert names.most == LIMITS.labels


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_the_caption_of_the_curved_map_names_the_marks_that_are_there() -> None:
    rng = np.random.default_rng(0)
    common = rng.choice(4, 80, p=[0.4, 0.3, 0.2, 0.1])
    answers = pd.DataFrame(
        {name: np.array(list("wxyz"))[np.where(rng.random(80) < 0.3, 0, common)] for name in "abc"}
    )
    made = describe(mc.analyse(answers, random_state=0), choices={})
    assert "diamonds as beside" in made["panels"]["curved"].notes[0]
    flowers = describe(mc.analyse(iris(), random_state=0), choices={})
    assert "arrows and diamonds as beside" in flowers["panels"]["curved"].notes[0]


def test_classes_are_described_by_what_sets_them_apart() -> None:
    found = describe(mc.PCA(2, standardize=True).fit(iris()), table=iris(), choices={})
    rows = found["sheets"]["classes"]["rows"]
    sizes = mc.cluster(mc.PCA(2, standardize=True).fit(iris())).sizes.tolist()
    assert [row[1] for row in rows] == sizes
    assert "Species = setosa (100 % of it)" in rows[0][2]
    assert found["groups"]["sentences"][0].startswith("On the first 2 axes the individuals form")


def test_the_family_has_its_points_on_the_map_and_its_method_in_the_title(tmp_path: Path) -> None:
    answers = {
        "size": np.array(["small", "large", "large", "small", "small", "large"], object),
        "shape": np.array(["round", "long", "long", "long", "round", "round"], object),
    }
    multiple = describe(mc.MCA().fit(answers), choices={})
    assert multiple["title"] == "Multiple correspondence analysis"
    (diamonds,) = (m for m in marks_of(multiple, "plane-1-2", Markers) if m.name == "categories")
    assert set(diamonds.names) == {"small", "large", "round", "long"}
    mixed = describe(mc.FAMD().fit({**answers, "age": np.arange(6.0)}), choices={})
    assert mixed["title"] == "Factor analysis of mixed data"
    assert marks_of(mixed, "plane-1-2", Arrows)[0].names == ("age",)
    counts = describe(mc.CA().fit([[20, 0, 5], [0, 15, 5], [5, 5, 20]]), choices={})
    (triangles,) = (m for m in marks_of(counts, "plane-1-2", Markers) if m.name == "columns")
    assert len(triangles.x) == 3
    source = tmp_path / "tea.csv"
    source.write_text("a,b\nx,u\ny,v\n")
    titled = describe(mc.MCA().fit(answers), choices={}, source=source)["title"]
    assert titled == "Tea: multiple correspondence analysis"


@pytest.mark.parametrize("method", ["mca", "famd"])
def test_a_map_says_how_its_categories_are_placed(method: str) -> None:
    rng = np.random.default_rng(2)
    table: dict[str, Any] = {q: rng.choice(list("abc"), 40) for q in ("q", "r", "s")}
    table |= {"size": rng.normal(size=40), "age": rng.normal(size=40)} if method == "famd" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.ReadingWarning)
        found = mc.analyse(pd.DataFrame(table), random_state=0)
    assert found.analysis == method
    F = found.model.individuals_.coordinates
    categories = found.model.categories_
    means = F[table["q"] == categories.levels[0]].mean(axis=0)
    scales = categories.coordinates[0] / means
    notes = " ".join(describe(found, choices={})["panels"]["plane-1-2"].notes)
    if method == "mca":
        np.testing.assert_allclose(scales, 1 / np.sqrt(found.model.inertias_))
        assert "drawn out by 1/√inertia" in notes
        assert "each at the mean" not in notes
    else:
        np.testing.assert_allclose(scales, 1.0)
        assert "each at the mean of the individuals that have it" in notes


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_who_was_not_measured_at_all_is_not_called_average() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    x[3], x[7, 0] = np.nan, np.nan
    table = settled(Table.of({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}), "mean")
    said = describe(mc.analyse(table, random_state=0), choices={})["remarks"]
    why = "4 lies at the centre, as no value of what makes the axes was measured, so its cos2"
    assert any(text.startswith(why) for text in said)
    assert not any("average in all" in text for text in said)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_a_mean_that_is_nothing_beside_its_column_is_told_as_0() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[:30] += 4.0
    x = (x - x.mean(axis=0)) / x.std(axis=0) - 1.08e-6
    found = describe(mc.analyse(x, random_state=0), choices={})
    told = [row[2] for row in found["sheets"]["classes"]["rows"]]
    assert any("all 0)" in text for text in told)
    assert not any("e-0" in text for text in told)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_a_small_axis_that_separates_groups_is_not_contradicted_by_the_test_of_sizes() -> None:
    rng = np.random.default_rng(4)
    size, kind = rng.normal(size=120), np.repeat([1.0, -1.0], 60)
    x = 5.0 * size[:, None] + 0.3 * rng.normal(size=(120, 5))
    x[:, 0] += rng.normal(size=120)
    x[:, 1] += 0.6 * kind
    names = {f"x{i}": column for i, column in enumerate(x.T)}
    table = pd.DataFrame(names | {"kind": np.where(kind > 0, "u", "v")})
    made = mc.analyse(table, random_state=0)
    assert made.parted.startswith("Axis 3")
    said = describe(made)["sentences"]
    assert any(text.startswith("One axis is more than chance") for text in said)
    assert said[-1].startswith("That test is of the size of axes: a small one can separate groups")
    assert not describe(made, choices={})["sentences"][-1].startswith("That test")
