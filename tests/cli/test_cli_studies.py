"""Flags that ask more of the axes: who moves them, what happens along a parameter, points there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.cli.errors import Misused
from mercer.cli.path_range import COUNT, range_of
from mercer.cli.studies import STUDIES
from mercer.datasets.examples import FOLDER
from mercer.stability.bootstrapping import FEWEST

IRIS = str(FOLDER / "iris.csv")
DECATHLON = str(FOLDER / "decathlon.csv")
EURODIST = str(FOLDER / "eurodist.csv")


def value_of(page: Path) -> Any:
    """Return what a page holds for its scripts."""
    text = page.read_text(encoding="utf-8")
    (found,) = re.findall(r"<script[^>]*application/json[^>]*>(.*?)</script>", text, re.DOTALL)
    return json.loads(found)


def test_the_jackknife_is_that_of_the_library(run: Any) -> None:
    code, out, _ = run("fit", IRIS, "--method", "pca", "--no-scale", "--jackknife", "--json")
    assert code == 0
    value = json.loads(out)["jackknife"]
    found = mc.jackknife(mc.PCA(4).fit(mc.datasets.iris()))
    assert [one["individual"] for one in value["individuals"]] == [str(i) for i in found.order]
    first, i = value["individuals"][0], found.order[0]
    assert first["influence"] == pytest.approx(found.influences[i])
    assert first["degrees2"] == pytest.approx(found.angles[i, 1])
    assert value["axes"][1]["error"] == pytest.approx(found.errors[1])
    _, out, _ = run("fit", IRIS, "--method", "pca", "--no-scale", "--jackknife", "-q")
    assert str(found) in out


def test_a_path_is_that_of_the_library(run: Any) -> None:
    asked = ["fit", IRIS, "--no-scale", "--rank", 3, "--path", "bandwidth=0.3:2:12"]
    code, out, _ = run(*asked, "--json")
    assert code == 0
    value = json.loads(out)["path"]
    model = mc.KernelPCA(3, kernel=mc.Gaussian("median")).fit(mc.datasets.iris())
    values = [float(f"{v:.6g}") for v in np.geomspace(0.3, 2.0, 12)]
    found = mc.parameter_path(model, None, "kernel__bandwidth", values)
    assert value["parameter"] == "bandwidth"
    assert value["own"] == pytest.approx(model.kernel_.bandwidth)  # type: ignore[attr-defined]
    assert [c["axes"] for c in value["crossings"]] == [[2, 3], [2, 4]]
    assert value["crossings"][0]["at"] == pytest.approx(found.crossings[0].at)
    assert len(value["values"]) == 36
    np.testing.assert_allclose([row["share"] for row in value["values"]], found.shares.ravel())
    assert str(found) in run(*asked, "-q")[1]


def test_scaled_columns_stay_scaled_along_a_path(run: Any) -> None:
    asked = [DECATHLON, "--sup-cols", "Rank,Points", "--scale", "--rank", 2]
    code, out, _ = run("fit", *asked, "--path", "bandwidth=0.5:2:3", "--json")
    assert code == 0
    value = json.loads(out)
    assert value["path"]["is_factor"]
    own = [row["inertia"] for row in value["path"]["values"] if row["value"] == 1.0]
    np.testing.assert_allclose(sorted(own)[::-1], [axis["inertia"] for axis in value["axes"]])


def test_points_along_axes_are_told_in_the_units_of_the_columns(run: Any) -> None:
    asked = ["fit", IRIS, "--method", "kpca", "--no-scale", "--rank", 3, "--preimages"]
    code, out, _ = run(*asked, "--json")
    assert code == 0
    value = json.loads(out)["preimages"]
    model = mc.KernelPCA(3, kernel=mc.Gaussian("median")).fit(mc.datasets.iris())
    found, back = mc.axis_points(model), mc.rebuilt(model, random_state=0)
    assert [axis["axis"] for axis in value["axes"]] == [1, 2]
    end = value["axes"][1]["points"][-1]
    assert end["place"] == "high end"
    np.testing.assert_allclose(list(end["values"].values()), found.points[1, -1], rtol=1e-6)
    assert list(end["values"]) == list(found.names)
    assert end["error"] == pytest.approx(found.errors[1, -1])
    shares = {row["variable"]: row["share"] for row in value["rebuilt"]["variables"]}
    np.testing.assert_allclose([shares[n] for n in back.names], back.shares, rtol=1e-6)
    assert len(json.loads(run(*asked, 3, "--json")[1])["preimages"]["axes"]) == 3
    assert "axis 1 leads from individual 104" in run(*asked, "-q")[1]


FLAGS = ["--bootstrap", 20, "--jackknife", "--importance", 9, "--preimages"]


@pytest.mark.parametrize(
    ("fit", "path", "is_stored"),
    [
        (["--no-scale"], "bandwidth", False),
        (["--method", "kpca"], "bandwidth=1:2:3", True),
    ],
    ids=["data", "scaled and stored"],
)
def test_the_code_of_a_page_writes_its_sections_again(
    run: Any, tmp_path: Path, fit: list[str], path: str, is_stored: bool
) -> None:
    for extra in ("jinja2", "matplotlib"):
        pytest.importorskip(extra)
    data, page = tmp_path / "iris.csv", tmp_path / "page.html"
    lines = Path(IRIS).read_text(encoding="utf-8").splitlines()
    data.write_text("\n".join([lines[0], *lines[1::5]]))
    model = tmp_path / "m.mercer"
    if is_stored:
        assert run("fit", data, *fit, "--rank", 3, "--out", model)[0] == 0
        asked: list[object] = [model]
    else:
        asked = [data, *fit, "--rank", 3]
    flags = [*FLAGS, "--path", path, "--permutations", 0, "--out", page]
    code, _, err = run("report", *asked, *flags)
    assert code == 0, err
    value = value_of(page)
    assert [section["title"] for section in value["sections"]] == [
        "Would the axes be there again?",
        "Who moves the axes?",
        "What if the bandwidth were another?",
        "Which variables make the axes?",
        "What would a point there look like?",
    ]
    again = tmp_path / "again.html"
    written = value["reproduce"]["code"].replace("'page.html'", repr(str(again)))
    exec(written, {})
    second = value_of(again)
    assert second["sections"] == value["sections"]
    for section in value["sections"]:
        for name in section["sheets"]:
            assert second["sheets"][name] == value["sheets"][name]
        for name in section["panels"]:
            assert second["panels"][name] == value["panels"][name]


OF_AXES = [study for study in STUDIES if study.flag != "clusters"]
"""Studies that need columns or a kernel; classes need individuals on axes only."""


@pytest.mark.parametrize("study", OF_AXES, ids=lambda study: study.flag)
def test_maps_of_distances_have_no_answer_and_say_why(run: Any, study: Any) -> None:
    needed: dict[str, list[object]] = {"bootstrap": [20], "path": ["bandwidth"]}
    given = needed.get(study.flag, [])
    code, out, err = run("fit", EURODIST, f"--{study.flag}", *given)
    assert (code, out) == (2, "")
    assert f"--{study.flag} {study.unfit}" in err
    code, _, err = run("report", EURODIST, f"--{study.flag}", *given, "--dry-run")
    assert code == 2


def test_a_stored_map_is_refused_before_its_page_is_begun(run: Any, tmp_path: Path) -> None:
    model = tmp_path / "map.mercer"
    assert run("fit", EURODIST, "--out", model)[0] == 0
    code, _, err = run("report", model, "--jackknife", "--out", tmp_path / "p.html")
    assert code == 2
    assert "distances have no axes to turn" in err
    assert not (tmp_path / "p.html").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--path", "width"], "has no parameter 'width'; it has bandwidth"),
        (["--path", "bandwidth=1"], "write NAME=FROM:TO or NAME=FROM:TO:COUNT"),
        (["--path", "bandwidth=2:2"], "two different ends"),
        (["--path", "bandwidth=1:2:1"], "at least 2 values"),
        (["--path", "bandwidth", "--method", "pca"], "--method pca has no kernel"),
        (["--path", "bandwidth", "--kernel", "linear()"], "it has none that is a number"),
        (
            ["--path", "bandwidth", "--kernel", "gaussian(1.0) + gaussian(2.0)"],
            "may mean 0__bandwidth, 1__bandwidth: name one of them",
        ),
        (
            ["--path", "offset", "--kernel", "polynomial(degree=2, offset=0.0)"],
            "--path offset=FROM:TO",
        ),
        (["--path", "bandwidth=-1:1"], "bandwidth must be"),
        (["--preimages", "0"], "--preimages must be a whole number >= 1"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(run: Any, flags: list[str], said: str) -> None:
    code, out, err = run("fit", IRIS, "--no-scale", *flags)
    assert (code, out) == (2, "")
    *_, line = err.splitlines()
    assert said.replace("--path offset=", "offset=") in line


def test_texts_have_a_path_and_no_pre_images(run: Any, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("aabbab\nabbaaa\nbbabba\nbabbab\naaabbb\n")
    asked = ["fit", words, "--kernel", "string_spectrum(2)"]
    code, _, err = run(*asked, "--preimages")
    assert code == 2
    assert "string_spectrum(length=2" in err
    assert "Kernels on columns of numbers have pre-images" in err
    code, out, err = run(*asked, "--path", "length=1:3", "--json")
    assert code == 0, err
    values = [row["value"] for row in json.loads(out)["path"]["values"]]
    assert sorted(set(values)) == [1.0, 2.0, 3.0]


def test_a_matrix_of_similarities_has_individuals_but_no_columns(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "gram.npy"
    np.save(file, mc.Gaussian(1.0)(mc.datasets.iris().matrix()[:20]))
    assert run("fit", file, "--as", "matrix", "--jackknife", "-q")[0] == 0
    for flag in (["--preimages"], ["--path", "bandwidth"]):
        code, _, err = run("fit", file, "--as", "matrix", *flag)
        assert code == 2
        assert "a matrix of similarities" in err


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(2, 60), st.sampled_from(["", "0__"]))
def test_a_range_has_its_ends_its_count_and_equal_ratios(
    low: float, high: float, count: int, place: str
) -> None:
    kernel = mc.Gaussian(1.0) + 0.5 * mc.Linear()
    if abs(np.log(high / low)) < 0.1:
        with pytest.raises(Misused):
            range_of(f"bandwidth={low!r}:{low!r}:{count}", kernel)
        return
    found = range_of(f"{place}bandwidth={low!r}:{high!r}:{count}", kernel)
    assert found.parameter == "kernel__0__bandwidth"
    assert len(found.values) == count
    np.testing.assert_allclose(found.values[[0, -1]], [low, high], rtol=1e-5)
    np.testing.assert_allclose(np.diff(np.log(found.values), 2), 0.0, atol=5e-5)


def test_where_no_range_is_given_it_is_around_the_model() -> None:
    found = range_of("bandwidth", mc.Gaussian(3.0)).values
    assert len(found) == COUNT
    assert found[COUNT // 2] == 3.0
    np.testing.assert_allclose(found[[0, -1]], [0.75, 12.0])
    columns = range_of("bandwidth", mc.Gaussian((3.0, 5.0))).values
    np.testing.assert_allclose(columns[[0, COUNT // 2, -1]], [0.25, 1.0, 4.0])
    assert range_of("degree", mc.Polynomial(degree=3)).values.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert range_of("offset=0:2:3", mc.Polynomial(degree=3)).values.tolist() == [0.0, 1.0, 2.0]


def test_classes_that_were_asked_for_are_those_of_the_page(run: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["--permutations", 0, "--clusters", 4, "--out", page, "-q"]
    assert run("report", IRIS, "--method", "pca", *words).code == 0
    value = value_of(page)
    assert value["sections"] == []
    assert len(value["sheets"]["classes"]["rows"]) == 4
    assert "cut as asked; it suggests" in value["groups"]["sentences"][0]
    assert "clusters=4" in value["reproduce"]["code"]
    assert "--clusters 4" in value["reproduce"]["command"]


@pytest.mark.parametrize(
    "flags", [[], ["--rank", "2"], ["--seed", "3"], ["--permutations", "0"]], ids=" ".join
)
def test_classes_are_the_same_in_a_fit_and_on_the_page(
    flags: list[str], run: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)  # two axes, and six columns of which the rest is noise
    plane = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6))
    rows = plane + rng.normal(size=(60, 6))
    data, page = tmp_path / "data.csv", tmp_path / "page.html"
    np.savetxt(data, rows, delimiter=",", header=",".join("abcdef"), comments="")
    words = [data, "--method", "pca", "--clusters", *flags]
    found = run("fit", *words, "--json").value["clusters"]
    axes = 5 if "--permutations" in flags else 2  # without the test, as many as R keeps
    assert found["axes"] == axes
    assert run("report", *words, "--out", page, "-q").code == 0
    value = value_of(page)
    assert [row[1] for row in value["sheets"]["classes"]["rows"]] == [
        one["size"] for one in found["classes"]
    ]
    assert value["groups"]["sentences"][0].startswith(f"On the first {axes} axes")
    said = run("fit", *words).out
    assert f"{found['count']} classes on the first {axes} axes explain " in said


def test_classes_of_rows_that_were_counted_have_sizes_in_individuals(
    run: Any, tmp_path: Path
) -> None:
    data, page = tmp_path / "seen.csv", tmp_path / "page.html"
    seen = [30, 9, 2, 70, 5, 8, 1, 40, 0, 20, 9, 3]
    cells = [f"{s},{d},{i}" for s in "fm" for d in "abc" for i in ("yes", "no")]
    rows = [f"{cell},{n}\n" for cell, n in zip(cells, seen, strict=True)]
    data.write_text("sex,dose,ill,Freq\n" + "".join(rows), encoding="utf-8")
    found = run("fit", data, "--clusters", 3, "--json").value["clusters"]
    there = [n for n in seen if n]  # nobody is in the ninth
    sizes = np.bincount(found["labels"], there)[1:].tolist()
    assert [one["size"] for one in found["classes"]] == sizes
    assert sum(one["rows"] for one in found["classes"]) == 11
    named = {name for one in found["classes"] for name in (*one["typical"], *one["distant"])}
    assert "m·b·yes" not in named
    said = run("fit", data, "--clusters", 3).out
    rows = found["classes"][0]["rows"]
    assert f"class 1: {sizes[0]:.0f} members in {rows} row{'s' if rows > 1 else ''}, such" in said
    assert run("report", data, "--clusters", 3, "--out", page, "-q").code == 0
    value = value_of(page)
    sheet = value["sheets"]["classes"]
    assert [column["name"] for column in sheet["columns"][:3]] == ["class", "individuals", "rows"]
    assert [row[1] for row in sheet["rows"]] == sizes
    assert "the 197 individuals in 11 rows form" in value["groups"]["sentences"][0]


def test_a_column_of_frequencies_named_as_weights_counts_individuals_too(
    run: Any, tmp_path: Path
) -> None:
    """With --weights Freq the tests were of 24 rows, and what 2 201 people show was chance."""
    data = tmp_path / "seen.csv"
    seen = [300, 90, 20, 700, 50, 80, 10, 400, 0, 200, 90, 30]
    cells = [f"{s},{d},{i}" for s in "fm" for d in "abc" for i in ("yes", "no")]
    rows = [f"{cell},{n}\n" for cell, n in zip(cells, seen, strict=True)]
    data.write_text("sex,dose,ill,Freq\n" + "".join(rows), encoding="utf-8")
    named = run("fit", data, "--weights", "Freq", "--clusters", 3, "--json").value
    guessed = run("fit", data, "--clusters", 3, "--json").value
    assert named["weights"] == guessed["weights"] == "Freq"
    assert named["clusters"] == guessed["clusters"]
    assert named["evidence"]["individuals"] == sum(seen)
    assert named["individuals"] == 11
    other = run("fit", data, "--weights", "Freq", "--active", "Freq", "--json").value
    assert other["individuals"] == 12  # a variable too, and so no count


def test_the_least_number_of_replicates_is_that_of_the_library(run: Any) -> None:
    (study,) = (study for study in STUDIES if study.flag == "bootstrap")
    assert study.least == FEWEST
    assert run("fit", IRIS, "--method", "pca", "--bootstrap", FEWEST - 1).code == 2
