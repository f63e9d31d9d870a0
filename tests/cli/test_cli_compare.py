"""``mercer compare``: answers, matched individuals, refusals, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import datasets
from mercer.cli.compare_command import match_individuals
from mercer.cli.inputs import Data
from mercer.cli.output import Talk
from mercer.data.table import Table
from mercer.datasets.examples import FOLDER

IRIS = str(FOLDER / "iris.csv")
KERNELS = ["--kernel", "linear()", "--kernel", "gaussian(bandwidth=1.0)"]


@pytest.fixture
def halves(tmp_path: Path) -> tuple[Path, Path]:
    """Two files of the same individuals, in another order and with strangers in each."""
    x = np.random.default_rng(0).normal(size=(20, 4))
    first, second = tmp_path / "genes.csv", tmp_path / "proteins.csv"
    first.write_text(
        "name,a,b\n" + "".join(f"id{i},{x[i, 0]},{x[i, 1]}\n" for i in range(18)) + "alone,1,2\n"
    )
    second.write_text(
        "name,c,d\n" + "".join(f"id{i},{x[i, 0] + x[i, 2]},{x[i, 3]}\n" for i in range(19, -1, -1))
    )
    return first, second


def test_kernels_on_one_file_are_those_of_the_library(run: Any) -> None:
    code, out, err = run("compare", IRIS, *KERNELS, "--permutations", 19, "--json", "-q")
    value = json.loads(out)
    found = mc.compare_kernels(
        ["linear()", "gaussian(bandwidth=1.0)"],
        datasets.iris().matrix(),
        permutations=19,
        random_state=0,
    )
    assert (code, err) == (0, "")
    np.testing.assert_allclose(value["alignments"], found.alignments, rtol=1e-14)
    assert value["pairs"][0]["p_value"] == found.pairs[0].p_value
    assert value["kernels"]["linear()"] == "linear()"
    assert value["seed"] == 0


def test_the_text_names_pairs_and_the_consensus(run: Any) -> None:
    code, out, _ = run(
        "compare", IRIS, *KERNELS, "--test", "pearson", "--consensus", "statis", "-q"
    )
    assert code == 0
    assert "Pearson type III" in out
    assert "consensus by statis: " in out
    text = next(line for line in out.splitlines() if line.startswith("consensus"))
    kernel = mc.kernel(text.partition(": ")[2])
    fitted = mc.KernelPCA(2, kernel=kernel).fit(datasets.iris().matrix())
    assert fitted.inertia_ > 0


def test_individuals_of_several_files_are_matched_by_name(run: Any, halves: Any) -> None:
    code, out, err = run("compare", *halves, "--kernel", "linear()", "--permutations", 19, "--json")
    value = json.loads(out)
    x = np.random.default_rng(0).normal(size=(20, 4))[:18]
    expected = mc.rv(x[:, :2], np.c_[x[:, 0] + x[:, 2], x[:, 3]], permutations=0)
    assert code == 0
    assert value["individuals"] == 18
    assert value["alignments"][0][1] == pytest.approx(expected.statistic, rel=1e-9)
    assert 'genes.csv: 1 of 19 individuals are not in all files and are left out: "alone"' in err
    assert '2 of 20 individuals are not in all files and are left out: "id19", "id18"' in err
    assert len(value["warnings"]) == 2


def test_weights_are_a_column_of_the_first_file(run: Any, halves: Any) -> None:
    lines = halves[0].read_text().splitlines()
    rows = [f"{line},{i}" for i, line in enumerate(lines[1:], 1)]
    halves[0].write_text("\n".join([f"{lines[0]},w", *rows]) + "\n")
    words = ["compare", *halves, "--kernel", "linear()", "--permutations", 0, "--json", "-q"]
    weighted = json.loads(run(*words, "--weights", "w")[1])
    x = np.random.default_rng(0).normal(size=(20, 4))[:18]
    expected = mc.rv(
        x[:, :2],
        np.c_[x[:, 0] + x[:, 2], x[:, 3]],
        sample_weight=np.arange(1.0, 19.0),
        permutations=0,
    )
    assert weighted["alignments"][0][1] == pytest.approx(expected.statistic, rel=1e-9)


def test_distances_stand_beside_tables(run: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(8, 2))
    names = [f"p{i}" for i in range(8)]
    D = np.linalg.norm(x[:, None] - x, axis=2)
    points, distances = tmp_path / "points.csv", tmp_path / "distances.csv"
    points.write_text("name,a,b\n" + "".join(f"p{i},{a},{b}\n" for i, (a, b) in enumerate(x)))
    rows = [",".join([names[i], *map(str, D[i].tolist())]) for i in range(8)]
    distances.write_text("\n".join([",".join(["", *names]), *rows]) + "\n")
    code, out, _ = run("compare", points, distances, "--kernel", "linear()", "--json", "-q")
    value = json.loads(out)
    assert code == 0
    assert value["kernels"]["distances"] == "precomputed"
    assert value["alignments"][0][1] == pytest.approx(1.0)  # they are the same individuals


def test_strings_stand_beside_tables(run: Any, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("\n".join(["abab", "abba", "bbbb", "aaab", "baba", "bbba"]) + "\n")
    again = tmp_path / "again.txt"
    again.write_text(words.read_text())
    code, out, _ = run(
        *("compare", words, again, "--as", "strings", "--permutations", 19, "--json", "-q"),
        *("--kernel", "string_spectrum(length=1)", "--kernel", "string_spectrum(length=2)"),
    )
    lines = words.read_text().split()
    one, two = mc.kernels.StringSpectrum(1), mc.kernels.StringSpectrum(2)
    expected = mc.alignment(one, two, lines, permutations=0).statistic
    assert code == 0
    assert json.loads(out)["alignments"][0][1] == pytest.approx(expected)


def test_weights_and_order_are_taken_with_the_individuals() -> None:
    first = Table.of({"a": [1.0, 2.0, 3.0, 4.0]}, row_names=["p", "q", "r", "s"])
    second = Table.of({"b": [9.0, 8.0, 7.0, 6.0]}, row_names=["s", "r", "q", "t"])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    (a, b), kept = match_individuals([Data("one", first, weights), Data("two", second)], Talk())
    assert a.points.row_names == b.points.row_names == ("q", "r", "s")
    np.testing.assert_array_equal(b.points.matrix()[:, 0], [7.0, 8.0, 9.0])
    np.testing.assert_array_equal(kept, [2.0, 3.0, 4.0])


def test_the_page_and_the_table_are_written_once(run: Any, tmp_path: Path) -> None:
    page, table = tmp_path / "p.html", tmp_path / "t.csv"
    words = ["compare", IRIS, *KERNELS, "--permutations", 9, "--page", page, "--out", table]
    code, _, err = run(*words, "--consensus", "full-umkl")
    assert code == 0
    assert "the page is" in err
    text = page.read_text()
    assert "Which kernels see alike" in text
    assert "What all see" in text
    assert "mercer compare" in text
    assert table.read_text().splitlines()[0] == "first,second,alignment,p_value,adjusted"
    code, _, err = run(*words)
    assert code == 2
    assert "exists" in err
    assert run(*words, "--force", "-q")[0] == 0


def test_the_plan_computes_nothing(run: Any) -> None:
    code, out, _ = run("compare", IRIS, *KERNELS, "--dry-run", "--json", "-q")
    value = json.loads(out)
    assert code == 0
    assert (value["individuals"], value["kernels"], value["permutations"]) == (150, 2, 999)
    assert value["memory_bytes"] > 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([IRIS, "--kernel", "linear()"], 2, "at least two kernels"),
        ([IRIS, "--kernel", "linear()", "--kernel", "linear()"], 2, "given twice"),
        ([IRIS, "--kernel", "linear()", "--kernel", "liner()"], 2, "did you mean linear"),
        ([IRIS, "--kernel", "linear()", "--kernel", "string_spectrum(length=2)"], 2, "cannot read"),
        (["-", "-", *KERNELS], 2, "read once"),
        ([IRIS, str(FOLDER / "eurodist.csv")], 3, "has no names of individuals"),
        ([str(FOLDER / "eurodist.csv"), *KERNELS], 2, "one matrix of pairs"),
        ([str(FOLDER / "swiss.csv"), str(FOLDER / "eurodist.csv")], 3, "only 0 individuals"),
        ([IRIS, IRIS], 2, '"iris" is given twice'),
        ([IRIS, "nowhere.csv"], 3, "nowhere.csv cannot be opened"),
        ([IRIS, *KERNELS, "--permutations", "-3"], 2, "permutations"),
    ],
)
def test_refusals_say_what_is_wrong(run: Any, words: list[str], code: int, message: str) -> None:
    found, out, err = run("compare", *words)
    assert found == code
    assert message in err
    assert out == ""


def test_names_that_occur_twice_cannot_be_matched(run: Any, halves: Any, tmp_path: Path) -> None:
    twice = tmp_path / "twice.csv"
    twice.write_text("name,a\nid1,1\nid1,2\nid2,3\n")
    code, _, err = run("compare", halves[0], twice, "--id", "name")
    assert code in (2, 3)
    assert "id1" in err
