"""The analysis that fits a table when nobody says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.analysis import Misleading, analyse, propose
from mercer.check import Array
from mercer.data.table import Table
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
    with pytest.warns(Misleading, match='"7" alone makes'):
        found = analyse(Table.of({name: x[:, j] for j, name in enumerate("abcd")}))
    assert "individual" in {doubt.kind for doubt in found.doubts}
