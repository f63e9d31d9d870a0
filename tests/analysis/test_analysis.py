"""The analysis that fits a table when nobody says."""

from __future__ import annotations

import csv
import io
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import mercer
import mercer as mc
from mercer.analysis import analyse, propose
from mercer.analysis.doubts import doubts_of
from mercer.analysis.evidence import silhouette
from mercer.analysis.separation import correlation_ratios
from mercer.check import Array
from mercer.cli import main
from mercer.data.sequences import Sequences
from mercer.data.table import Table
from mercer.errors import ExchangeableAxes, InvalidParameter, Misleading
from mercer.page.data import describe
from tests.references import reference

# Noise, of which many of these tables are made, has no axes that another sample would keep.
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.ExchangeableAxes")

RNG = np.random.default_rng(0)


def counts() -> pd.DataFrame:
    about = reference("ca_children")
    return pd.DataFrame(
        np.array(about["N"])[:14, :5].astype(int), about["rows"][:14], about["columns"][:5]
    )


def marks() -> pd.DataFrame:
    """Whole numbers of named rows that count nothing: they do not range from few to many."""
    rows = [f"pupil {letter}" for letter in "abcdefghijklmnopqrst"]
    numbers = RNG.integers(6, 19, (20, 4))
    return pd.DataFrame(numbers, rows, ["algebra", "botany", "music", "latin"])


def poison(*names: str) -> pd.DataFrame:
    table = pd.DataFrame(reference("mca_poison")["table"])
    return table[list(names)] if names else table


def wine() -> pd.DataFrame:
    about = reference("famd_wine")
    return pd.DataFrame(about["table"], about["rows"])


def crabs() -> pd.DataFrame:
    size = RNG.normal(0.0, 1.0, 200)
    body = {name: 10 + 3 * size + RNG.normal(0, 0.3, 200) for name in ("FL", "RW", "CL", "CW")}
    kinds = {"sp": np.repeat(["B", "O"], 100), "sex": np.tile(np.repeat(["M", "F"], 50), 2)}
    return pd.DataFrame(kinds | {"index": np.tile(np.arange(1, 51), 4)} | body)


def identified() -> pd.DataFrame:
    ids = 10_000 + RNG.permutation(5_000)[:40]
    return pd.DataFrame({"id": ids, "a": RNG.normal(size=40), "b": RNG.normal(size=40)})


def distances() -> Array:
    x = RNG.normal(size=(12, 2))
    return np.asarray(np.linalg.norm(x[:, None] - x[None, :], axis=2))


CHOICES: dict[str, tuple[Any, str, str]] = {
    "iris": (lambda: mercer.datasets.iris(), "pca", "4 columns of numbers and 1 factor"),
    "decathlon": (
        lambda: mercer.datasets.decathlon(),
        "pca",
        "12 columns of numbers, 2 of them set aside, and 1 factor",
    ),
    "swiss": (lambda: mercer.datasets.swiss(), "pca", "6 columns of numbers"),
    "eurodist": (lambda: mercer.datasets.eurodist(), "mds", "distances between 21 points"),
    "poison": (lambda: poison("Nausea", "Vomiting", "Fever", "Fish"), "mca", "4 factors"),
    "mixed poison": (lambda: poison(), "famd", "2 columns of numbers and 13 factors"),
    "wine": (lambda: wine(), "pca", "10 columns of numbers and 2 factors"),
    "crabs": (crabs, "pca", "5 columns of numbers, 1 of them set aside, and 2 factors"),
    "identifiers": (identified, "pca", "2 columns of numbers"),
    "counts": (counts, "ca", "5 columns of counts"),
    "marks": (marks, "pca", "4 columns of numbers"),
    "distances": (distances, "mds", "distances between 12 points"),
    "similarities": (
        lambda: np.corrcoef(RNG.normal(size=(6, 30))),
        "kpca",
        "similarities between 6 points",
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_table_gets_the_analysis_its_columns_ask_for(name: str) -> None:
    made, analysis, held = CHOICES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = analyse(made())
    assert found.analysis == analysis
    assert f"The table holds {held}" in found.sentence
    assert found.sentence.count(". ") == 0
    assert found.sentence.endswith(".")
    assert found.scaled == (analysis in ("pca", "famd"))
    assert (found.curved is not None) == (analysis in ("pca", "mca", "famd", "ca"))
    assert (found.adds != "") == (found.curved is not None)


def test_every_column_has_a_fate_with_a_reason() -> None:
    table = crabs().assign(same=1.0, note=[f"text {i} of many" for i in range(200)])
    found = analyse(table)
    assert {fate.name for fate in found.fates} == set(table.columns)
    assert all(fate.reason for fate in found.fates)
    assert found.active == ("FL", "RW", "CL", "CW")
    assert found.supplementary == ("sp", "sex", "index")
    assert set(found.ignored) | {found.named_by} == {"same", "note"}


def test_whole_numbers_that_count_rows_name_them() -> None:
    table = identified()
    found = analyse(table)
    assert found.named_by == "id"
    assert found.table.row_names == tuple(table["id"].astype(str))
    heights = table.assign(id=RNG.permutation(40) * 3 + 150).rename(columns={"id": "height"})
    assert analyse(heights).active == ("height", "a", "b")


def test_counts_get_a_correspondence_analysis_and_measurements_do_not() -> None:
    found = propose(counts())
    assert found.analysis == "ca"
    assert "method='pca' reads them as measurements" in found.sentence
    assert [d.advice for d in found.doubts if d.kind == "counts"] == [
        mc.errors.Advice("method", "pca")
    ]
    assert "counts" not in {d.kind for d in propose(counts(), method="ca").doubts}
    assert (
        propose(counts(), scale=True).analysis == propose(counts(), scale=False).analysis == "pca"
    )
    measured = propose(counts(), method="pca")
    assert "method='ca' reads the columns as counts" in measured.sentence
    assert propose(counts() + 0.5).analysis == "pca"
    assert "counts" not in propose(counts() + 0.5).sentence


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.set_axis([*map(str, range(1901, 1915))]),  # years, or the numbers of rows
        lambda t: t.assign(area=1000 * t.sum(axis=1)),  # another unit
        lambda t: t + 60,  # scores, which no pupil lacks
        lambda t: (t > 20).astype(int),  # answers
        lambda t: t % 6,  # on a scale from 0 to 5
        lambda t: t.add_suffix("_eur"),  # money
        lambda t: t.set_axis(["income", *t.columns[1:]], axis=1),
        lambda t: pd.concat([t.add_suffix(f" {i}") for i in range(21)], axis=1),  # too many to name
    ],
)
def test_counts_that_may_be_measurements_are_offered_the_other_analysis(change: Any) -> None:
    found = propose(change(counts()))
    assert found.analysis == "pca"
    assert "counts" in {doubt.kind for doubt in found.doubts}
    assert "method='ca'" in found.sentence


def test_counts_with_missing_cells_are_offered_a_correspondence_analysis() -> None:
    table = counts().astype(float)
    table.iloc[3, 2] = table.iloc[5, 4] = table.iloc[7, 1] = np.nan
    for missing in ("mean", "pca"):
        found = propose(table, missing=missing)
        assert found.analysis == "pca"
        assert "method='ca' reads the columns as counts" in found.sentence
        (doubt,) = [doubt for doubt in found.doubts if doubt.kind == "counts"]
        assert doubt.text.startswith("all cells that were measured are whole numbers")
    asked = propose(table, missing="mean", method="ca")  # what was put in is no fault of the file
    assert "counts" not in {doubt.kind for doubt in asked.doubts}


@pytest.mark.filterwarnings("ignore::mercer.errors.Misleading")  # of few rows
def test_columns_of_counts_with_gaps_are_beside_those_without() -> None:
    table = counts().astype(float)
    name = str(table.columns[2])
    table.iloc[3, 2] = np.nan
    found = propose(table, missing="mean")
    assert (found.analysis, len(found.active)) == ("ca", 4)
    (fate,) = [f for f in found.fates if f.use == "supplementary"]
    assert (fate.name, fate.reason.startswith("some of its counts are missing")) == (name, True)
    assert propose(table, missing="mean", active=[name]).analysis == "pca"
    whole = mc.CA().fit(counts().drop(columns=name))
    (doubt,) = [doubt for doubt in found.doubts if doubt.kind == "missing"]
    assert "makes no axis, as the column is supplementary;" in doubt.text
    assert "as if measured" not in doubt.text
    made = analyse(table, missing="mean", random_state=0).model
    np.testing.assert_allclose(made.inertias_, whole.inertias_, rtol=1e-12)


def test_the_sample_of_counts_is_what_was_counted() -> None:
    model = mc.CA().fit(counts())
    few, many = (
        [d.text for d in doubts_of(model, None, which="straight", counted=n) if d.kind == "axes"]
        for n in (9, counts().to_numpy().sum())
    )
    assert "nearly equal in size: with a total of 9, another sample" in few[0]
    assert not many
    assert "axes" not in kinds(analyse(counts(), random_state=0))
    shares = counts() / counts().to_numpy().sum()  # of a total that nobody knows
    texts = [d.text for d in analyse(shares, method="ca", random_state=0).doubts]
    assert not any("a total of" in text for text in texts)


def test_the_factor_that_colours_is_the_one_that_is_judged() -> None:
    numbers = {name: RNG.normal(size=96) for name in "abcd"}
    sites = {"study": ["A"] * 96, "site": [f"site {i % 20}" for i in range(96)]}
    found = analyse(Table.of({**numbers, **sites, "sex": ["f", "m"] * 48}), random_state=0)
    assert found.evidence is not None
    assert found.evidence.separations[0].factor == "sex"
    alone = Table.of({**numbers, **sites})
    assert alone.colour is not None
    assert alone.colour.name == "site"  # of one level there is nothing to see


def test_a_factor_of_few_levels_colours_before_one_of_many() -> None:
    sites = [f"site {i % 32}" for i in range(96)]
    numbers = {name: RNG.normal(size=96) for name in "abcd"}
    table = Table.of({**numbers, "site": sites, "sex": ["f", "m"] * 48})
    assert table.colour is not None
    assert table.colour.name == "sex"
    page = describe(analyse(table, random_state=0), choices={})
    assert [one["name"] for one in page["individuals"]["colours"] if "levels" in one][0] == "sex"
    note = 'Coloured by "sex", which has 2 levels; "site" has 32.'
    assert note in page["panels"]["plane-1-2"].notes
    assert note not in page["panels"]["curved"].notes  # it was said beside
    asked = table.coloured_by("site")
    for one in (asked, asked[:50], asked.with_supplementary("a")):
        assert one.colour is not None
        assert one.colour.name == "site"
    assert not any("Coloured by" in n for n in describe_notes(asked))


def describe_notes(table: Table) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Misleading)
        found = analyse(table, random_state=0)
    return tuple(describe(found, choices={})["panels"]["plane-1-2"].notes)


def test_years_are_doubted_and_heights_between_1900_and_2100_are_not() -> None:
    table = pd.DataFrame({"year": RNG.integers(2007, 2010, 40), "a": RNG.normal(size=40)})
    doubts = [doubt for doubt in propose(table).doubts if doubt.kind == "time"]
    assert [doubt.where for doubt in doubts] == ["year"]
    assert propose(table, supplementary=["year"]).active == ("a",)
    other = propose(table.rename(columns={"year": "height"})).doubts
    assert "time" not in {doubt.kind for doubt in other}


def test_times_are_doubted_in_one_sentence() -> None:
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"a": rng.normal(size=62), "hours": np.arange(62), "time": np.arange(62)})
    (told,) = [doubt for doubt in propose(table).doubts if doubt.kind == "time"]
    assert told.text.startswith('the columns "hours" and "time" hold times')
    assert told.advice == mc.errors.Advice("supplementary", ["hours", "time"])


def test_parts_of_a_date_are_set_aside_and_doubted_in_one_sentence() -> None:
    rng = np.random.default_rng(6)
    sizes = {name: rng.normal(size=62) for name in "ab"}
    days = {"Month": np.repeat([5, 6], 31), "Day": np.tile(np.arange(1, 32), 2)}
    table = pd.DataFrame({**sizes, **days, "survey_year": np.arange(62) % 3 + 2007})
    found = propose(table)
    assert found.active == ("a", "b")
    assert found.used_as("supplementary") == ["Month", "Day", "survey_year"]
    (told,) = found.doubts
    assert told.text.startswith('the columns "Month", "Day" and "survey_year" say when a row was')
    assert told.advice == mc.errors.Advice("active", ["Month", "Day", "survey_year"])
    assert propose(table, active=["Day"]).active == ("a", "b", "Day")
    assert propose(table[["a", "Day"]]).active == ("a", "Day")  # no map of one column
    other = {"Month": [13] * 62, "Day": np.linspace(1, 31, 62), "survey_year": np.arange(62) % 9}
    odd = pd.DataFrame({**sizes, **other})
    assert propose(odd).active == ("a", "b", "Day", "survey_year")


def test_years_that_differ_name_the_rows_without_names() -> None:
    rng = np.random.default_rng(6)
    series = pd.DataFrame({"year": np.arange(1947, 1963), "gnp": rng.normal(size=16)})
    series["employed"] = rng.normal(size=16)
    found = propose(Table.of({str(name): series[name].to_numpy() for name in series}))
    assert found.points.row_names == tuple(str(year) for year in range(1947, 1963))
    assert found.used_as("supplementary") == ["year"]  # and has its arrow in the circle
    twice = propose(Table.of({str(n): np.r_[series[n], series[n]] for n in series}))
    assert twice.points.row_names is None


def test_codes_under_the_name_of_a_group_are_read_as_groups(told: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    measured = {f"m{k}": rng.normal(size=40) for k in range(3)}
    table = pd.DataFrame({**measured, "target": np.arange(40) % 3})
    found = analyse(table, random_state=0)
    assert found.active == ("m0", "m1", "m2")
    assert found.evidence is not None
    assert [s.factor for s in found.evidence.separations] == ["target"]
    assert found.doubts[0].kind == "codes"
    assert found.doubts[0].text.endswith("active=['target'] reads it as a measurement")
    assert "target" in analyse(table, active=["target"], random_state=0).active
    for other in (np.arange(40) % 3 + 2, np.arange(40), np.arange(40) % 3 + 0.5):  # no codes
        assert "target" in propose(table.assign(target=other)).active + tuple(
            propose(table.assign(target=other)).used_as("name")
        )
    file, model = tmp_path / "d.csv", tmp_path / "m.mercer"
    table.to_csv(file, index=False)
    code, out, err = told("fit", str(file), "--out", str(model), "--json")
    assert json.loads(out)["active"] == ["m0", "m1", "m2"]
    assert err.count("--active target") == 1  # told once, as a doubt
    code, out, err = told("project", str(model), str(file))
    assert code == 0, err


def test_a_total_is_doubted_and_a_copy_or_noise_is_not() -> None:
    rng = np.random.default_rng(5)
    parts = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    (told,) = [d for d in propose(parts.assign(sum=parts.sum(axis=1))).doubts if d.kind == "total"]
    assert (told.where, told.advice) == ("sum", mc.errors.Advice("supplementary", ["sum"]))
    assert "R² = 1.000" in told.text
    assert "total" not in doubts(parts)
    assert "total" not in doubts(parts.assign(twin=parts["a"] + 0.01 * rng.normal(size=60)))
    few = pd.DataFrame(rng.normal(size=(8, 7)), columns=list("abcdefg"))  # R² of chance alone
    assert "total" not in doubts(few)
    points = propose(mercer.datasets.decathlon(), active=["Points"]).doubts
    assert [d.where for d in points] == ["Points"]


def test_counts_of_combinations_weight_the_rows() -> None:
    cells = pd.MultiIndex.from_product([list("mf"), list("abc"), list("yn")])
    seen = pd.DataFrame([*cells], columns=["sex", "dose", "ill"])
    seen["Freq"] = [30, 9, 2, 70, 5, 8, 1, 40, 0, 20, 9, 3]
    found = analyse(seen, random_state=0)
    assert (found.analysis, found.weighted_by, found.ignored) == ("mca", "Freq", ("Freq",))
    whole = seen.loc[seen.index.repeat(seen["Freq"]), ["sex", "dose", "ill"]]
    np.testing.assert_allclose(
        found.model.inertias_, mc.MCA(4).fit(whole.reset_index(drop=True)).inertias_, rtol=1e-10
    )
    assert found.counted == 197
    assert len(found.table) == len(found.model.individuals_.coordinates) == 11  # nobody is in one
    assert "f·b·y" not in found.table.row_names
    (told,) = [doubt.text for doubt in found.doubts if doubt.kind == "weights"]
    assert "and 1 row that was never seen is left out" in told
    assert "from 1 to 70." in found.sentence
    assert found.sentence.startswith("The table holds 3 factors and a column of frequencies: ")
    names = found.table.row_names
    assert names is not None
    assert names[:2] == ("m·a·y", "m·a·n")  # rather than numbers of rows
    assert found.model.individuals_.names == names
    named = seen.set_index(pd.Index([f"cell {i}" for i in range(12)]))
    assert propose(named).points.row_names[0] == "cell 0"
    long = seen.assign(ill=np.where(seen["ill"] == "y", "z" * 60 + "1", "z" * 60 + "2"))
    assert propose(long).points.row_names is None  # which are the same once they are cut
    assert propose(seen.assign(ill=seen["ill"] + "z" * 60)).points.row_names[0] == (
        f"m·a·y{'z' * 18}…"
    )
    assert found.evidence is not None
    assert found.evidence.individuals == 197  # whom a test counts, and not 11 rows
    assert propose(seen, active=["Freq"]).analysis == "famd"
    heavy = seen.assign(Freq=[900, 3, 2, 4, 5, 3, 1, 4, 2, 5, 3, 400])  # of which rows are many
    assert "individual" not in {doubt.kind for doubt in analyse(heavy, random_state=0).doubts}
    assert propose(seen.assign(Freq=seen["Freq"] + 0.5)).weighted_by is None


def test_report_takes_a_data_frame_and_an_analysis(tmp_path: Any) -> None:
    table = crabs()
    page = mercer.report(table, tmp_path / "a.html", choices={})
    again = mercer.report(analyse(table, random_state=0), tmp_path / "b.html", choices={})
    assert "standardised" in page.read_text()
    assert len(page.read_bytes()) == len(again.read_bytes())


def test_numbers_are_standardised_unless_units_are_asked_for() -> None:
    table = crabs()
    assert analyse(table).model.standardize
    assert not analyse(table, scale=False).model.standardize


def test_one_individual_that_makes_an_axis_is_warned_of() -> None:
    x = RNG.normal(size=(60, 4))
    analyse(Table.of({name: x[:, j] for j, name in enumerate("abcd")}))
    x[7] = 40.0
    with pytest.warns(Misleading, match=r"row 8 \(counted from 1\) alone makes"):
        found = analyse(Table.of({name: x[:, j] for j, name in enumerate("abcd")}))
    assert "individual" in {doubt.kind for doubt in found.doubts}


# The command line does the same


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    def tell(*argv: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(word) for word in argv])
        return code, *capsys.readouterr()

    return tell


def files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Write tables of different kinds, and say which analysis each should get."""
    made = {
        "crabs": (crabs(), "pca"),
        "poison": (poison(), "famd"),
        "sick": (poison().drop(columns=["Age", "Time"]), "mca"),
        "identified": (identified(), "pca"),
    }
    found = {}
    for name, (table, analysis) in made.items():
        found[name] = (folder / f"{name}.csv", analysis)
        table.to_csv(found[name][0], index=False)
    return found


@pytest.mark.parametrize("name", ["crabs", "poison", "sick", "identified"])
def test_commands_analyse_the_same_thing_for_the_same_flags(
    told: Any, tmp_path: Path, name: str
) -> None:
    file, analysis = files(tmp_path)[name]
    fit, dim, report = (
        json.loads(told(*command, "--json")[1])
        for command in (
            ("fit", file),
            ("dim", file, "--permutations", 9),
            ("report", file, "--out", tmp_path / "p.html", "--permutations", 0),
        )
    )
    same = ("analysis", "scaled", "model", "active", "supplementary", "ignored", "sentence")
    for key in same:
        assert fit[key] == dim[key] == report[key], key
    assert fit["analysis"] == analysis
    assert fit["doubts"] == report["doubts"]
    keys = {"kind", "text", "where", "map", "advice"}
    assert all(set(doubt) == keys for doubt in fit["doubts"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = analyse(mercer.read(file), random_state=0)
    assert there.active == tuple(fit["active"])
    inertias = [axis["inertia"] for axis in fit["axes"]]
    np.testing.assert_allclose(inertias, there.model.inertias_, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "flags"), [("poison", []), ("sick", []), ("counts", ["--method", "CA"])]
)
def test_models_of_the_family_are_stored_projected_and_reported(
    told: Any, tmp_path: Path, name: str, flags: list[str]
) -> None:
    if name == "counts":
        file = tmp_path / "counts.csv"
        counts().to_csv(file)
    else:
        file = files(tmp_path)[name][0]
    model, new = tmp_path / "m.mercer", tmp_path / "new.csv"
    assert told("fit", file, *flags, "--rank", 2, "--out", model)[0] == 0
    lines = file.read_text().splitlines()
    new.write_text("\n".join(lines[:3]) + "\n")  # so few rows that labels look like names
    code, out, err = told("project", model, new)
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    found = [[float(row["dim1"]), float(row["dim2"])] for row in rows]
    expected = mercer.load(model).individuals_.coordinates[:2]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert told("report", model, "--out", tmp_path / "p.html", "--permutations", 0)[0] == 0


def test_flags_stand_where_python_has_keywords(told: Any, tmp_path: Path) -> None:
    file, _ = files(tmp_path)["crabs"]
    said = told("fit", file)[2]
    assert (
        "--method famd lets the factors shape the axes too, --no-scale keeps the original units"
        in said
    )
    x = crabs()
    x.loc[3, ["FL", "RW"]] = [300.0, -200.0]
    x.to_csv(file, index=False)
    assert "--sup-rows 4 draws the map of the others" in told("fit", file)[2]


# Doubts, where they are true and where they are not


def kinds(found: Any, map: str | None = None) -> set[str]:
    return {d.kind for d in found.doubts if map is None or d.map == map}


def table_of(x: Array) -> Table:
    return Table.of({f"{'abcdefgh'[j]} of it": x[:, j] for j in range(x.shape[1])})


def test_a_column_that_carries_most_of_the_distance_is_doubted_in_its_units_alone() -> None:
    x = np.random.default_rng(1).normal(size=(50, 3)) * [1.0, 1.0, 30.0]
    with pytest.warns(Misleading, match='"c of it" makes 100 % of the squared distances'):
        found = analyse(table_of(x), scale=False)
    assert "column" in kinds(found)
    assert "column" not in kinds(analyse(table_of(x)))


def test_an_arch_is_doubted_and_a_round_cloud_is_not() -> None:
    t = np.linspace(0.0, 1.0, 60)
    peaks = np.exp(-((t[:, None] - np.linspace(0.0, 1.0, 8)) ** 2) / 0.02)  # species on a gradient
    with pytest.warns(Misleading, match="axis 2 is an arch over axis 1"):
        found = analyse(table_of(peaks))
    assert "arch" in kinds(found, "straight")
    cloud = np.random.default_rng(2).normal(size=(60, 3))
    assert "arch" not in kinds(analyse(table_of(cloud)))


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@pytest.mark.parametrize(
    ("bandwidth", "word"), [("0.05", "so small"), ("100", "so large"), ("'median'", "")]
)
def test_a_bandwidth_without_neighbours_or_without_bends_is_doubted(
    bandwidth: str, word: str
) -> None:
    cloud = np.random.default_rng(3).normal(size=(60, 3))
    found = analyse(table_of(cloud), kernel=f"gaussian(bandwidth={bandwidth})")
    doubts = [doubt.text for doubt in found.doubts if doubt.kind == "bandwidth"]
    assert len(doubts) == bool(word)
    assert all(word in text for text in doubts)


def test_a_bandwidth_asked_for_beside_the_straight_map_is_warned_of() -> None:
    cloud = np.random.default_rng(3).normal(size=(60, 3))
    with pytest.warns(Misleading) as told:
        analyse(table_of(cloud), curved="gaussian(bandwidth=0.05)")
    bandwidth, others = (str(w.message) for w in told if w.category is Misleading)
    assert bandwidth.startswith("the bandwidth is so small")  # whole, with its remedy
    assert others.startswith("on the curved map axis 2 is an arch over axis 1; row 16")


@pytest.mark.filterwarnings("error::mercer.errors.ExchangeableAxes")
def test_axes_that_another_sample_would_exchange_are_doubted() -> None:
    rng = np.random.default_rng(4)
    with pytest.warns(ExchangeableAxes) as told:
        alike = analyse(table_of(rng.normal(size=(40, 8))))
    (straight,) = (str(w.message) for w in told)  # that of the curved map is told beside it
    assert straight.startswith("axes 1, 2 and 3 of the straight map are nearly equal in size")
    where = {doubt.where for doubt in alike.doubts if doubt.kind == "axes"}
    assert where == {"straight axes 1, 2 and 3", "curved axes 1, 2 and 3"}
    first, second = rng.normal(size=(2, 400))
    noise = rng.normal(size=(400, 6)) * 0.05
    apart = np.column_stack([first] * 4 + [second] * 2) + noise
    assert "axes" not in kinds(analyse(table_of(apart)))


def test_what_misleads_on_the_curved_map_is_told_in_one_line(told: Any, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 60)
    line = pd.DataFrame({name: t + 0.01 * RNG.normal(size=60) for name in "abc"})
    with pytest.warns(Misleading, match="on the curved map axis 2 is an arch over axis 1"):
        analyse(line, random_state=0)
    line.to_csv(tmp_path / "line.csv", index=False)
    said = told("fit", tmp_path / "line.csv")[2]
    assert said.count("doubt: on the curved map axis 2 is an arch over axis 1") == 1
    assert "a parabola explains" not in said  # which --verbose tells
    assert "a parabola explains" in told("fit", tmp_path / "line.csv", "--verbose")[2]


def test_groups_too_small_for_an_ellipse_are_named() -> None:
    x = np.random.default_rng(5).normal(size=(40, 3))
    kinds_of = np.array(["many"] * 38 + ["few"] * 2, dtype=object)
    columns = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "group": kinds_of}
    with pytest.warns(Misleading, match='"few" of "group" has fewer than 3 individuals'):
        found = analyse(Table.of(columns))
    (doubt,) = [d for d in found.doubts if d.kind == "ellipses"]
    assert '"few" of "group" has fewer than 3' in doubt.text
    for last in ("two", "(missing)"):  # what is not known is no group
        columns["group"] = np.array(["one", "two"] * 19 + ["one", last], dtype=object)
        assert "ellipses" not in kinds(analyse(Table.of(columns)))


def test_a_kernel_that_parts_groups_is_said_to_and_one_that_does_not_is_not() -> None:
    rings = mercer.datasets.planets()
    found = analyse(rings, random_state=0)
    assert found.evidence is not None
    assert found.evidence.verdict == "groups"
    assert found.adds.startswith("The kernel separates the groups of")
    (separation,) = found.evidence.separations
    assert separation.is_gain
    x = np.random.default_rng(6).normal(size=(60, 3))
    labels = np.array(["u", "v", "w"] * 20, dtype=object)  # which have nothing to do with x
    null = analyse(Table.of({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "g": labels}))
    assert null.evidence is not None
    assert null.evidence.verdict != "groups"
    assert analyse(mercer.datasets.iris()).evidence.verdict == "same"  # type: ignore[union-attr]


def test_groups_around_each_other_part_on_an_axis_that_two_columns_do_not_have() -> None:
    rng = np.random.default_rng(1)
    t, is_outer = rng.uniform(0.0, 2.0 * np.pi, 120), np.arange(120) % 2 == 0
    radius = np.where(is_outer, 1.0, 0.4) + 0.04 * rng.normal(size=120)
    ring = np.where(is_outer, "outer", "inner").astype(object)
    table = Table.of({"x": radius * np.cos(t), "y": radius * np.sin(t), "ring": ring})
    found = analyse(table)
    assert found.evidence is not None
    assert found.evidence.verdict == "groups"
    told = found.evidence.told
    assert told is not None
    assert told.axis == 3
    assert told.straight < 0.05
    assert told.curved > 0.9
    assert found.evidence.plane == (1, 3)
    value = describe(found, choices={})
    panel = value["panels"]["curved"]
    assert (panel.x.axis, panel.y.axis) == (1, 3)
    assert any("Axes 1 and 3, where it separates the groups best" in note for note in panel.notes)
    asked = analyse(table, n_components=1).curved
    assert asked is not None
    assert asked.individuals_.coordinates.shape == (120, 2)  # a plane, and no axis beyond it


def test_categories_are_coloured_by_the_factor_that_their_map_parts_best() -> None:
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 2, 60)
    flips = {"noise": 0.5, "weak": 0.25, "strong": 0.02, "also": 0.1}
    columns = {
        name: np.array(["no", "yes"], object)[np.where(rng.random(60) < flip, 1 - hidden, hidden)]
        for name, flip in flips.items()
    }
    table = Table.of(columns)
    found = analyse(table)
    assert found.analysis == "mca"
    shares = {
        name: correlation_ratios(
            found.model.individuals_.coordinates[:, :2], (values == "yes").astype(int), np.ones(60)
        )
        @ found.model.inertias_[:2]
        for name, values in columns.items()
    }
    assert found.table.colour.name == max(shares, key=shares.__getitem__) != "noise"
    assert analyse(table.coloured_by("noise")).table.colour.name == "noise"
    value = describe(found, table=table, choices={})
    assert value["individuals"]["colours"][0]["name"] == found.table.colour.name
    assert any("the factor that the map parts best" in note for note in value["data"]["notes"])


def test_individuals_are_coloured_by_the_factor_whose_groups_lie_apart() -> None:
    rng = np.random.default_rng(5)
    soil = np.repeat([*"abcd"], 15)
    numbers = rng.normal(size=(60, 6)) + 1.5 * rng.normal(size=(4, 6))[np.repeat(range(4), 15)]
    measured = {f"x{i}": column for i, column in enumerate(numbers.T)}
    label = rng.permutation(np.repeat([*"klm"], 20))
    table = pd.DataFrame({"label": label, "soil": soil, "again": soil} | measured)
    found = analyse(table, random_state=0)
    assert found.analysis == "pca"
    assert found.table.colour.name == "soil"  # not the first of the file, and of equals the first
    assert 'coloured by "soil", the factor that the map parts best' in found.table.notes[-1]
    assert found.evidence is not None
    assert found.evidence.separations[0].factor == "soil"
    asked = mc.read(table).coloured_by("label")
    assert analyse(asked, random_state=0).table.colour.name == "label"
    many = rng.permutation(np.repeat(range(12), 5)).astype(str)  # many groups are no merit
    two = pd.DataFrame({"many": many, "pair": np.where(soil < "c", "u", "v")} | measured)
    assert analyse(two, random_state=0).table.colour.name == "pair"


def test_separation_is_the_mean_squared_canonical_correlation() -> None:
    rng = np.random.default_rng(7)
    F = np.linalg.qr(rng.normal(size=(30, 4)) - rng.normal(size=(30, 4)).mean(axis=0))[0]
    F = np.linalg.qr(F - F.mean(axis=0))[0][:, :3]
    F = F - F.mean(axis=0)
    places = rng.integers(0, 3, 30)
    members = np.eye(3)[places]
    Q = np.linalg.qr(members - members.mean(axis=0))[0][:, :2]
    basis = np.linalg.qr(F)[0]
    expected = np.sum(np.linalg.svd(Q.T @ basis, compute_uv=False) ** 2)
    whitened = np.linalg.qr(F)[0]
    found = correlation_ratios(whitened, places, np.ones(30)).sum()
    assert found == pytest.approx(expected, rel=1e-9)


def test_clusters_are_told_described_and_data(told: Any, tmp_path: Path) -> None:
    file = tmp_path / "wine.csv"
    wine().to_csv(file)
    code, out, err = told("fit", file, "--clusters", 3, "--json")
    assert code == 0, err
    value = json.loads(out)["clusters"]
    assert value["count"] == 3
    assert sum(c["size"] for c in value["classes"]) == len(wine()) == len(value["labels"])
    assert value["axes"] == 2  # those that Horn's test keeps
    expected = mercer.cluster(mercer.PCA(10, standardize=True).fit(mercer.read(file)), 3, axes=2)
    assert value["labels"] == expected.labels.tolist()
    described = [row for c in value["classes"] for row in c["description"]]
    assert all(abs(row["v_test"]) >= 1.96 for row in described)
    text = told("fit", file, "--clusters", "-q")[1]
    assert "the tree suggests" in text
    assert told("fit", file, "--clusters", -1)[0] == 2
    page = tmp_path / "p.html"
    assert told("report", file, "--clusters", 3, "--out", page, "--permutations", 0)[0] == 0
    assert "cut as asked; it suggests" in page.read_text()


def test_units_in_names_do_not_make_identifiers() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "height (cm)": rng.permutation(200)[:30].astype(float),
            "weight (g)": rng.permutation(2000)[:30],
            "share %": rng.normal(size=30),
        }
    )
    assert mc.analyse(table, random_state=0).active == ("height (cm)", "weight (g)", "share %")


def test_missing_numbers_are_treated_as_the_message_says() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    x[2, 1] = np.nan
    with pytest.raises(mc.errors.InvalidInput, match="missing='drop' leaves out 1 of 30 rows"):
        mc.analyse(x)
    assert len(mc.analyse(x, missing="drop", random_state=0).model.individuals_.coordinates) == 29
    assert mc.analyse(mc.data.impute(x, 1), random_state=0).analysis == "pca"


def test_the_analysis_of_factors_leaves_numbers_beside_them() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"q{j}": rng.choice(list("abc"), 50) for j in range(3)})
    table["z"] = rng.normal(size=50)
    found = mc.analyse(table, method="mca", random_state=0)
    assert (found.analysis, found.active) == ("mca", ("q0", "q1", "q2"))


def test_a_table_without_spread_is_no_fault_of_a_bandwidth() -> None:
    with pytest.warns(mc.errors.ReadingWarning):
        found = mc.analyse(pd.DataFrame({"a": [1.0] * 10, "b": [2.0] * 10}), random_state=0)
    assert found.curved is None


def test_curved_map_takes_the_kernel_and_the_units_of_the_straight_one() -> None:
    iris = mc.datasets.iris()
    found = mc.analyse(iris, curved="gaussian(bandwidth=2.0)", random_state=0)
    deviations = np.std(iris.matrix(), axis=0)
    assert found.curved is not None
    np.testing.assert_allclose(found.curved.kernel_.parameters()["bandwidth"], 2.0 * deviations)
    median = "gaussian(bandwidth='median')"
    with pytest.warns(Misleading, match="on the curved map axis 2 is an arch over axis 1"):
        asked = mc.analyse(iris, method="famd", curved=median, random_state=0)
    assert asked.analysis == "famd"
    assert asked.curved is not None  # which a method alone does not make
    with pytest.raises(InvalidParameter, match="no Gaussian"):
        mc.analyse(iris, method="famd", curved="linear()")


def test_numbers_of_rows_are_variables_where_they_are_asked_to_be() -> None:
    rng = np.random.default_rng(0)
    table = mc.Table.of({"id": np.arange(1.0, 21.0), "x": rng.normal(size=20)})
    assert mc.analyse(table, random_state=0).named_by == "id"
    assert mc.analyse(table, active=["id"], random_state=0).active == ("id", "x")


def test_work_stops_with_what_its_progress_raises() -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        mc.analyse(RNG.normal(size=(300, 3)), progress=stop)


def doubts(table: Any, **more: Any) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = analyse(table, random_state=0, **more)
    return {doubt.kind: doubt.text for doubt in found.doubts}


def test_counts_codes_and_frequencies_taken_for_measurements_are_doubted() -> None:
    measurements = doubts(counts(), method="pca")["counts"]
    assert "if they are counts, method='ca' compares their profiles" in measurements
    assert "counts" not in doubts(counts() + 0.5)
    assert "counts" not in doubts(counts(), method="ca")
    rng = np.random.default_rng(4)
    measured = {f"m{k}": rng.normal(size=40) for k in range(3)}
    coded = pd.DataFrame({**measured, "target": np.arange(40) % 3})
    coded = coded.rename(columns={"target": "dose"})
    assert "roles={'dose': 'factor'} makes it a factor" in doubts(coded)["codes"]
    assert "codes" not in doubts(coded.assign(dose=coded["dose"] + 0.5))
    assert '"dose" holds only 0, 1 and' in doubts(coded.assign(dose=np.arange(40) % 2))["codes"]
    seen = pd.DataFrame(
        {
            "sex": list("mf") * 6,
            "dose": list("abc") * 4,
            "Freq": [3, 9, 2, 7, 5, 8, 1, 4, 6, 2, 9, 3],
        }
    ).drop_duplicates(["sex", "dose"])
    assert '"Freq" says how often it was seen' in doubts(seen)["weights"]
    assert "weights" not in doubts(seen.rename(columns={"Freq": "height"}))


def test_clusters_that_only_the_kernel_shows_are_evidence_and_those_of_noise_are_not() -> None:
    swiss = np.array(
        json.loads((Path(__file__).parents[1] / "reference" / "parallel_swiss.json").read_text())[
            "X"
        ]
    )
    found = analyse(swiss, random_state=0).evidence
    assert found is not None
    assert found.clusters is not None
    straight, curved = found.clusters
    assert found.verdict == "clusters"
    assert curved.silhouette > 0.6 > straight.silhouette + 0.1
    assert f"shows {curved.count} clusters" in found.adds
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(size=(60, 2 + seed))
        other = analyse(noise, random_state=0).evidence
        assert other is not None
        assert other.verdict != "clusters"


def test_silhouettes_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import silhouette_score

    points = np.random.default_rng(3).normal(size=(30, 2))
    labels = np.arange(30) % 4
    expected = silhouette_score(points, labels)
    assert silhouette(cdist(points, points), labels) == pytest.approx(expected, abs=1e-12)


def test_sequences_are_compared_by_their_words_unless_a_kernel_is_asked_for() -> None:
    letters = ("ACGTACGTAA", "ACGTTTGTAA", "GGGTTTAACC", "CCGTACGAAC", "GGGTTTAACA")
    pair = Sequences(letters, tuple("abcde"))
    found = analyse(pair, random_state=0)
    assert found.analysis == "kpca"
    assert found.sentence.startswith("The file holds 5 sequences: kernel principal component")
    own = mc.kernels.StringSpectrum(3).normalised()
    expected = mc.KernelPCA(4, kernel=own, random_state=0).fit(pair)
    np.testing.assert_allclose(found.model.inertias_, expected.inertias_)
    other = analyse(pair, kernel=mc.kernels.StringSpectrum(2), random_state=0)
    assert "length=2" in other.sentence
    with pytest.raises(InvalidParameter, match="these are sequences"):
        analyse(pair, method="pca")


def test_an_axis_of_size_is_told_from_one_that_opposes_columns() -> None:
    size = np.random.default_rng(7).normal(size=60)
    noise = 0.2 * np.random.default_rng(8).normal(size=(60, 4))
    body = pd.DataFrame(size[:, None] + noise, columns=list("abcd"))
    assert "shows overall size" in doubts(body)["size"]
    assert "size" not in doubts(body.assign(d=-body["d"]))
    half = 0.8 * np.outer(RNG.normal(size=80), np.ones(4)) + RNG.normal(0, 0.6, (80, 4))
    moderate = pd.DataFrame(half, columns=list("abcd"))  # whose first axis is some two thirds
    assert "shows overall size" in doubts(moderate)["size"]
    assert "size" not in doubts(moderate.assign(d=RNG.normal(size=80)))
    assert "size" not in doubts(pd.DataFrame(noise, columns=list("abcd")))


def test_rare_levels_that_make_an_axis_are_doubted_with_their_number() -> None:
    answers = pd.DataFrame({"q1": list("xy") * 20, "q2": list("uv") * 20})
    assert "rare" not in doubts(answers)
    answers.loc[0, "q2"] = "other"
    said = doubts(answers, missing="level")["rare"]
    assert said.startswith('level "other" of "q2" (1 individual) makes ')
    assert "supplementary=['q2'] keeps this column out of the axes" in said
    answers.loc[0, "q2"] = None
    assert "missing='drop' leaves out such rows" in doubts(answers, missing="level")["rare"]
    assert "rare" not in doubts(answers.iloc[1:].reset_index(drop=True))


def test_rare_levels_are_counted_in_those_who_were_seen() -> None:
    cells = pd.MultiIndex.from_product([list("mf"), list("abc"), list("yn")])
    seen = pd.DataFrame([*cells], columns=["sex", "dose", "ill"])
    seen["Freq"] = np.where(seen["dose"] == "c", [0, 0, 0, 0, 1, 0] * 2, 50)
    assert '"c" of "dose" (2 individuals)' in doubts(seen)["rare"]
    seen["Freq"] = np.where(seen["dose"] == "c", 30, 500)  # three in a hundred, and yet many
    assert "rare" not in doubts(seen)


def test_axes_that_part_known_groups_far_better_than_the_first_plane_are_named() -> None:
    rng = np.random.default_rng(5)
    size, sex, kind = rng.normal(size=120), np.repeat([0, 1], 60), np.tile([0, 1], 60)
    shape = np.outer(sex - 0.5, [1.0, -1.0, 1.0, -1.0]) * 0.5
    shape += np.outer(kind - 0.5, [1.0, 1.0, -1.0, -1.0]) * 0.3
    noise = 0.05 * rng.normal(size=(120, 4))
    body = pd.DataFrame(3 * size[:, None] + shape + noise, columns=list("abcd"))
    body["kind"] = np.array(["blue", "orange"])[kind]
    body["sex"] = np.array(["f", "m"])[sex]
    said = analyse(body, random_state=0).parted
    assert said.startswith(
        'Axis 3, which the first map does not show, separates the groups of "kind"'
    )
    assert said.endswith("Choose axes 2 and 3 to see them.")
    plane = analyse(body.drop(columns="kind"), random_state=0)  # axis 2 shows "sex"
    assert plane.parted == ""
    mixed = body.assign(kind=rng.permutation(body["kind"].to_numpy()))
    assert analyse(mixed, random_state=0).parted == ""
    assert analyse(mc.datasets.iris(), random_state=0).parted == ""


def test_numbers_of_patients_who_came_twice_are_no_measurement() -> None:
    rng = np.random.default_rng(6)
    size = {"height": rng.normal(170, 9, 60), "weight": rng.normal(70, 8, 60)}
    numbers = np.r_[rng.choice(9000, 55, replace=False), [17, 17, 4000, 4000, 4000]].astype(float)
    patients = pd.DataFrame({"ID": numbers, **size})
    found = analyse(patients, random_state=0)
    assert found.active == ("height", "weight")
    assert found.supplementary == ("ID",)
    assert "some of whom have several rows" in found.fates[0].reason
    assert "ID" in analyse(patients, active=["ID"], random_state=0).active
    dose = patients.rename(columns={"ID": "dose"})
    assert "dose" in analyse(dose, random_state=0).active
    twice = patients.assign(ID=np.repeat(np.arange(30.0), 2))  # which may be a grouping
    assert "ID" in analyse(twice, random_state=0).active


def test_codes_of_groups_and_answers_are_doubted_and_years_once() -> None:
    size = {"height": RNG.normal(170, 9, 80), "weight": RNG.normal(70, 8, 80)}
    codes = {"smoker": RNG.integers(0, 2, 80), "grade": RNG.integers(1, 6, 80)}
    (one,) = propose(pd.DataFrame({**size, "smoker": codes["smoker"]})).doubts
    assert one.kind == "codes"
    assert 'the column "smoker" holds only 0, 1 and ' in one.text
    (both,) = propose(pd.DataFrame({**size, **codes})).doubts
    held = '("smoker" only 0, 1 and "grade" only 1, 2, 3, 4, 5)'
    assert f"2 of 4 columns hold few different numbers {held} and " in both.text
    answers = pd.DataFrame({f"q{j}": RNG.integers(1, 6, 80) for j in range(9)})
    assert "9 of 9 columns" in propose(answers).doubts[0].text
    years = pd.DataFrame({**size, "year": RNG.integers(2007, 2010, 80)})
    assert [d.kind for d in propose(years).doubts] == ["time"]


def test_large_samples_are_told_with_their_thousands_apart() -> None:
    noise = np.random.default_rng(0).normal(size=(4_500, 3))
    model = mc.PCA().fit(np.linalg.qr(noise - noise.mean(axis=0))[0])
    (told,) = [d for d in doubts_of(model, None, which="straight") if d.kind == "axes"]
    assert "with 4\N{NO-BREAK SPACE}500 individuals, another" in told.text


def test_three_axes_of_one_size_are_doubted_in_one_sentence() -> None:
    found = analyse(table_of(np.random.default_rng(4).normal(size=(40, 8))), random_state=0)
    (told,) = [d for d in found.doubts if d.kind == "axes" and d.map == "straight"]
    assert told.where == "straight axes 1, 2 and 3"
    assert "are nearly equal in size" in told.text


def test_a_column_that_is_not_there_cannot_be_active() -> None:
    with pytest.raises(InvalidParameter, match="Rnk"):
        analyse(mercer.datasets.decathlon(), active=["Rnk"])


def test_columns_that_look_like_samples_are_doubted_on_the_page_too() -> None:
    rng = np.random.default_rng(0)
    levels = rng.uniform(3, 12, 300)[:, None] + 0.5 * rng.normal(size=(300, 12))
    genes = pd.DataFrame(levels, [f"g{i}" for i in range(300)], [f"s{j}" for j in range(12)])
    (told,) = [d for d in propose(genes).doubts if d.kind == "samples"]
    assert told.text.endswith("rise and fall together; transpose=True maps the columns instead")
    assert "samples" not in {d.kind for d in propose(genes.T).doubts}


def test_what_a_kernel_does_not_add_is_said_without_a_p_value_of_something_else() -> None:
    made = mc.analyse(mc.datasets.iris(), random_state=0)
    assert made.evidence is not None
    assert made.evidence.p_value is not None
    assert made.adds.startswith("A curved map, that of a kernel PCA, was drawn as a check and ")
    (groups,) = made.evidence.separations
    assert made.adds.count("p = ") == 1  # of the groups, and not of the alignment
    assert (
        f"(p = {max(groups.p_value, groups.straight_p_value):.2g}, tested on up to 5 axes)"
        in made.adds
    )
    unlinked = replace(groups, p_value=0.3, straight_p_value=0.4)
    told = replace(made.evidence, separations=(unlinked,)).adds
    assert 'neither separates the groups of "Species" more than chance would' in told
    one = replace(made.evidence, separations=(replace(groups, p_value=0.3),)).adds
    assert 'only the straight one separates the groups of "Species" more than chance' in one
    by_chance = replace(made.evidence, p_value=0.4, separations=()).adds
    assert "by chance, p = 0.4" in by_chance


def test_classes_of_a_number_are_set_aside_beside_it_and_named() -> None:
    rng = np.random.default_rng(0)
    age = rng.permutation(np.r_[18:78]).astype(float)
    names = [f"q{i}" for i in range(5)]
    answers = {name: rng.choice([*"xyz"], 60) for name in names}
    table = pd.DataFrame(answers | {"age": age, "age_Q": pd.cut(age, 4, labels=[*"abcd"])})
    table["age_Q"] = table["age_Q"].astype(str)
    found = propose(table)
    assert found.analysis == "famd"
    assert set(found.active) == {*names, "age"}
    (doubt,) = [d for d in found.doubts if d.kind == "copies"]
    assert doubt.text.startswith('the classes "age_Q" of "age" are intervals of that number')
    assert str(doubt.advice) == "active=['age_Q']"
    assert "1 column of numbers and 6 factors, 1 of them set aside" in found.sentence
    assert found.used_as("supplementary") == ["age_Q"]
    assert "age_Q" in propose(table, active=["age_Q"]).active
    assert "age_Q" in propose(table, method="mca").active  # beside which the number stands
    assert "age" not in propose(table, method="mca").active
    table.loc[table["age"].idxmin(), "age_Q"] = "d"  # no interval any more
    assert "age_Q" in propose(table).active
    assert "copies" not in {d.kind for d in propose(table).doubts}


def test_classes_are_intervals_of_what_was_measured() -> None:
    """Means that were put in for missing numbers lie in no interval of their own."""
    rng = np.random.default_rng(1)
    size = rng.permutation(np.arange(60.0))
    answers = {f"q{i}": rng.choice([*"xyz"], 60) for i in range(5)}
    table = pd.DataFrame(
        answers | {"size": size, "cut": np.array([*"abc"])[(size // 20).astype(int)]}
    )
    table.loc[[int(np.argmin(size)), int(np.argmax(size))], "size"] = np.nan
    assert "cut" not in propose(table, missing={"number": "mean", "factor": "level"}).active


def test_copies_are_doubted() -> None:
    rng = np.random.default_rng(2)
    celsius = rng.normal(20, 5, 40)
    measured = {"a": rng.normal(size=40), "c": celsius, "f": 32 + 1.8 * celsius}
    assert '"f" says the same as "c"' in doubts(pd.DataFrame(measured))["copies"]
    assert "copies" not in doubts(pd.DataFrame(measured | {"f": celsius + rng.normal(size=40)}))
    rare = {name: np.r_[np.zeros(39), 7.0] for name in ("first", "second")}  # alike by one row
    assert "copies" not in doubts(pd.DataFrame({"a": measured["a"], "c": celsius} | rare))
    answer = rng.choice([*"xyz"], 40)
    again = pd.DataFrame(
        {"en": answer, "fr": np.char.add("le ", answer), "b": rng.choice([*"uv"], 40)}
    )
    assert '"fr" says the same as "en"' in doubts(again)["copies"]


def test_a_label_beside_a_series_is_doubted_and_the_series_is_not() -> None:
    rng = np.random.default_rng(3)
    pixels = {f"pixel_{i}_{j}": rng.integers(0, 17, 80) for i in range(4) for j in range(4)}
    pixels["pixel_0_0"] = rng.integers(0, 2, 80)  # measured like the others
    table = pd.DataFrame(pixels | {"digit": rng.permutation(np.arange(80) % 10)})
    (doubt,) = [d for d in propose(table).doubts if d.kind == "codes"]
    assert doubt.text.startswith('the column "digit" holds the whole numbers 0 to 9 beside 16')
    assert str(doubt.advice) == "roles={'digit': 'factor'}"
    sizes = pd.DataFrame(pixels | {"mass": rng.normal(size=80)})
    assert "codes" not in doubts(sizes)
    answers = {f"q{i}": rng.integers(1, 6, 80) for i in range(9)}  # most of which may be codes
    (codes,) = propose(pd.DataFrame(answers | {"m": rng.normal(size=80)})).doubts
    assert codes.advice is not None
    assert codes.text.startswith("9 of 10 columns hold few different numbers")
    assert list(codes.advice.value) == list(answers)  # the flag names all that the text counts
