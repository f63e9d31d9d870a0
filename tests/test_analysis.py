"""The analysis that fits a table when nobody says."""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.analysis import analyse, propose
from mercer.check import Array
from mercer.cli import main
from mercer.data.table import Table
from mercer.errors import Misleading
from tests.references import reference

RNG = np.random.default_rng(0)


def counts() -> pd.DataFrame:
    about = reference("ca_children")
    return pd.DataFrame(
        np.array(about["N"])[:14, :5].astype(int), about["rows"][:14], about["columns"][:5]
    )


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
    "iris": (lambda: mercer.datasets.iris(), "pca", "4 numbers and 1 factor"),
    "decathlon": (lambda: mercer.datasets.decathlon(), "pca", "10 numbers and 1 factor"),
    "swiss": (lambda: mercer.datasets.swiss(), "pca", "6 numbers"),
    "eurodist": (lambda: mercer.datasets.eurodist(), "mds", "distances of 21 individuals"),
    "poison": (lambda: poison("Nausea", "Vomiting", "Fever", "Fish"), "mca", "4 factors"),
    "mixed poison": (lambda: poison(), "famd", "2 numbers and 13 factors"),
    "wine": (lambda: wine(), "pca", "10 numbers and 2 factors"),
    "crabs": (crabs, "pca", "4 numbers and 2 factors"),
    "identifiers": (identified, "pca", "2 numbers"),
    "counts": (counts, "pca", "5 numbers"),
    "distances": (distances, "mds", "distances of 12 individuals"),
    "similarities": (lambda: np.corrcoef(RNG.normal(size=(6, 30))), "kpca", "similarities of 6"),
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
    assert (found.curved is not None) == (analysis in ("pca", "mca", "famd"))
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


def test_counts_are_offered_a_correspondence_analysis_and_measurements_are_not() -> None:
    found = propose(counts())
    assert "method='ca' reads the columns as counts" in found.sentence
    assert propose(counts(), method="CA").analysis == "ca"
    assert "counts" not in propose(counts() + 0.5).sentence


def test_years_are_doubted_and_heights_between_1900_and_2100_are_not() -> None:
    table = pd.DataFrame({"year": RNG.integers(2007, 2010, 40), "a": RNG.normal(size=40)})
    doubts = [doubt for doubt in propose(table).doubts if doubt.kind == "time"]
    assert [doubt.where for doubt in doubts] == ["year"]
    assert analyse(table, supplementary=["year"]).active == ("a",)
    assert not propose(table.rename(columns={"year": "height"})).doubts


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
    with pytest.warns(Misleading, match="row 8 alone makes"):
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
    assert "--method famd makes the factors active, --no-scale keeps units" in said
    x = crabs()
    x.loc[3, ["FL", "RW"]] = [300.0, -200.0]
    x.to_csv(file, index=False)
    assert "--sup-rows '4' shows the others" in told("fit", file)[2]
