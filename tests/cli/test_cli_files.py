"""Files as people have them, given to the command line with no flag, or with few."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.cli.commands import with_command
from mercer.cli.errors import in_flags
from mercer.data import Table
from mercer.errors import Advice
from tests.data.test_data_files import PEOPLE, workbook

DECATHLON = Path(mc.datasets.__file__).parent / "decathlon.csv"


@pytest.fixture
def holes(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [
        f"p{i},{a:.3f},{b:.3f},{'xy'[i % 2]}" for i, (a, b) in enumerate(rng.normal(size=(9, 2)))
    ]
    rows[3] = "p3,,0.5,x"
    rows[5] = "p5,,,"
    path = tmp_path / "holes.csv"
    path.write_text("\n".join(["name,a,b,kind", *rows]) + "\n")
    return path


def test_the_first_command_works_where_values_are_missing(run: Any, holes: Path) -> None:
    answer = run("fit", holes, "--json")
    assert answer.code == 0
    (told,) = [note for note in answer.value["warnings"] if "missing" in note]
    assert '3 missing numbers were replaced by the means of their columns: "a" (2), "b" (1)' in told
    assert '1 missing category was replaced by the level "(missing)": "kind" (1)' in told
    assert "--strict refuses" in told
    asked = run("fit", holes, "--impute", "mean", "--json")
    assert asked.value["axes"] == answer.value["axes"]
    assert not any("missing" in note for note in asked.value["warnings"])
    refused = run("fit", holes, "--strict")
    assert refused.code == 3
    assert '3 numbers are missing, in columns "a" (2), "b" (1), the first in row 4 ("p3")' in (
        refused.err
    )


def test_replicates_that_lack_a_value_are_left_out_and_the_code_leaves_them_out_too(
    run: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    file, page = tmp_path / "genes.csv", tmp_path / "page.html"
    cells = [[f"{v:.4f}" for v in row] for row in rng.standard_normal((20, 3))]
    cells[2][1] = ""
    batches = ["" if i == 5 else "one" for i in range(20)]  # no matter: nothing reads them
    rows = [
        ",".join([*row, "ab"[i % 2], b])
        for i, (row, b) in enumerate(zip(cells, batches, strict=True))
    ]
    file.write_text("g1,g2,g3,dose,batch\n" + "\n".join(rows) + "\n")
    words = ("replicates", file, "--condition", "dose", "--sizes", "4-4", "--draws", "5")
    answer = run(*words, "--page", page, "--json")
    assert answer.value["conditions"] == {"a": 9, "b": 10}
    assert any("1 of 20 rows left out" in note for note in answer.value["warnings"])
    assert run(*words, "--no-page", "--strict").code == 3
    found = re.search(r'"code":("(?:[^"\\]|\\.)*")', page.read_text())
    code = json.loads(found[1]) if found else ""
    (line,) = [line for line in code.splitlines() if line.startswith("table = ")]
    assert len(eval(line.removeprefix("table = "), {"mc": mc})) == 19


def test_a_table_says_where_values_were_put(run: Any, holes: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.mercer"
    assert run("fit", holes, "--out", model, "-q").code == 0
    table = mc.load(model).table_
    assert isinstance(table, Table)
    assert {name: np.flatnonzero(mask).tolist() for name, mask in table.imputed.items()} == {
        "a": [3, 5],
        "b": [5],
        "kind": [5],
    }
    assert table[4:].imputed["a"].tolist() == [False, True, False, False, False]
    assert table.picked([5, 0]).imputed["b"].tolist() == [True, False]
    assert mc.read(holes, missing="drop").imputed == {}
    with pytest.raises(mc.errors.InvalidInput, match="3 numbers are missing"):
        mc.read(holes)


def test_a_response_is_never_imputed(run: Any, holes: Path) -> None:
    words = ("curve", holes, "--y", "a", "--x", "b", "--no-page")
    for ways in ((), ("--impute", "mean")):
        assert run(*words, *ways).out.startswith("7 observations: a as a function of b")
    refused = run(*words, "--strict")
    assert refused.code == 3
    assert "3 numbers are missing" in refused.err


def test_the_code_of_a_page_names_what_was_done_and_nothing_else(
    run: Any, holes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mercer.cli import report_command

    seen: dict[str, Any] = {}

    def page(model: Any, out: str, **named: Any) -> str:
        seen.update(named)
        Path(out).write_text("page")
        return out

    monkeypatch.setattr(report_command, "page_writer", lambda: page)
    out = tmp_path / "p.html"
    assert run("report", holes, "--out", out, "--permutations", 0).code == 0
    assert seen["reading"].options["missing"] == {"number": "mean", "factor": "level"}
    assert "--missing" not in seen["command"]
    flags = ["--header", "--no-transpose", "--colour", "Competition", "--permutations", 0]
    assert run("report", DECATHLON, "--out", out, "--force", *flags).code == 0
    options = seen["reading"].options
    assert "missing" not in options
    assert mc.read(DECATHLON, **options).colour.name == "Competition"
    assert "--missing" not in seen["command"]
    assert "--no-transpose" in seen["command"]


def test_a_file_alone_is_reported_on(run: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain").write_text("a,b\n1,2\n3,5\n4,4\n")
    answer = run("plain", "--dry-run", "--json")
    assert answer.code == 0
    assert answer.value["individuals"] == 3
    assert "there is no such file" in run("nothing.csv").err
    assert "did you mean report?" in run("rport", "data.csv").err
    assert with_command(["fit"]) == ["fit"]


def test_a_column_that_is_set_aside_is_told_with_its_reason_and_what_makes_it_active(
    run: Any,
) -> None:
    answer = run("fit", DECATHLON)
    reason = "it numbers the rows of each of 2 groups from 1 on; --active Rank makes it a variable"
    assert f'"Rank" is set aside: {reason}' in answer.err
    assert (
        "The table holds 12 columns of numbers, 1 of them set aside, and 1 factor: " in answer.err
    )
    fates = {c["name"]: c for c in run("fit", DECATHLON, "--json").value["columns"]}
    assert fates["Rank"] == {"name": "Rank", "use": "supplementary", "reason": reason}


@pytest.mark.parametrize("command", ["fit", "report", "dim"])
def test_a_column_is_made_active_by_every_command_that_fits(
    run: Any, tmp_path: Path, monkeypatch: Any, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    few = {"fit": (), "report": ("--permutations", 0), "dim": ("--permutations", 9)}[command]
    answer = run(command, DECATHLON, "--active", "Rank", "--json", *few)
    assert "Rank" in answer.value["active"]
    assert "The table holds 12 columns of numbers and 1 factor" in answer.value["sentence"]
    unknown = run(command, DECATHLON, "--active", "Rnk", *few)
    assert unknown.code == 2
    assert "Rnk" in unknown.err
    assert "Rank" in unknown.err
    labels = run(command, DECATHLON, "--active", "Competition", *few)
    assert labels.code == 2
    assert "'Competition' is a factor; --method famd makes factors active" in labels.err


def test_a_page_is_announced_by_what_the_kernel_adds(
    run: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run("fit", DECATHLON).out.splitlines()
    (verdict,) = (line for line in said if line.startswith("A curved map, "))
    answer = run("report", DECATHLON, "--permutations", 0)
    assert verdict in answer.err.splitlines()
    assert answer.out == "decathlon.html\n"


def test_a_model_is_not_written_under_the_name_of_a_page(run: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = run("fit", DECATHLON, "--out", page)
    assert answer.code == 2
    assert f"mercer report {DECATHLON} --out {page} writes the page" in answer.err
    curve = run("curve", DECATHLON, "--y", "Points", "--x", "100m", "--out", page)
    assert f"--page {page} writes the page" in curve.err
    assert not page.exists()


def test_sheets_sequences_and_samples_are_taken_with_one_flag_or_none(
    run: Any, tmp_path: Path
) -> None:
    book = tmp_path / "people.xlsx"
    book.write_bytes(workbook([["x", "y"], [1, 2], [3, 5], [4, 4]], PEOPLE))
    assert run("fit", book, "--json").value["individuals"] == 3
    assert "--sheet names another" in run("fit", book).err
    assert "height" in run("fit", book, "--sheet", "page 2", "--json").value["active"]
    missing = run("fit", book, "--sheet", "other")
    assert missing.code == 2
    assert '2 "page 2"' in missing.err
    proteins = tmp_path / "seqs.fasta"
    proteins.write_text(">a\nACGTACGA\n>b\nACGTTACG\n>c\nGGGTACGT\n>d\nTTTACG\n")
    model = tmp_path / "seqs.mercer"
    answer = run("fit", proteins, "--coords", "-", "--out", model)
    assert answer.code == 0
    assert "string_spectrum(length=3).normalised(); --kernel names another" in answer.err
    assert [line.split(",")[0] for line in answer.out.splitlines()[1:]] == ["a", "b", "c", "d"]
    assert run("project", model, proteins).code == 0
    assert run(proteins, "--out", tmp_path / "seqs.html").code == 0
    genes = tmp_path / "genes.csv"
    genes.write_text("gene,s1,s2,s3\nA,1,2,4\nB,3,1,0\n")
    assert run("fit", genes, "--transpose", "--json").value["individuals"] == 3


def test_titles_are_told_in_flags(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "title.csv"
    path.write_text("A title\nx,y,z\n1,2,3\n4,5,7\n6,5,4\n")
    answer = run("fit", path, "--json")
    assert answer.value["individuals"] == 3
    assert any('"A title"; --skip 0 keeps them' in note for note in answer.value["warnings"])
    assert run("fit", path, "--skip", 2, "--no-header", "--json").value["individuals"] == 3
    assert run("fit", path, "--skip", "-1").code == 2


def test_columns_and_rows_are_counted_from_1_as_in_r(run: Any, tmp_path: Path) -> None:
    flags = ["--method", "PCA", "--scale", "--json"]
    by_name = run("fit", DECATHLON, *flags, "--sup-cols", "Rank,Points").value
    coloured = run("fit", DECATHLON, *flags, "--sup-cols", "11,12", "--colour", "Competition")
    assert coloured.value["supplementary"] == by_name["supplementary"]
    for given in ("11,12", "11-12", "11:12", "Rank,12"):
        assert run("fit", DECATHLON, *flags, "--sup-cols", given).value == by_name | {
            "seconds": pytest.approx(by_name["seconds"], abs=60)
        }
    refused = run("fit", DECATHLON, *flags, "--sup-cols", "14")
    assert refused.code == 2
    assert "columns are 1 to 13" in refused.err
    path = tmp_path / "plain.csv"
    path.write_text("a,b\n1,2\n3,5\n4,4\n0,1\n")
    coords = run("fit", path, "--coords", "-").out.splitlines()
    assert [line.split(",")[0] for line in coords[1:]] == ["1", "2", "3", "4"]
    passive = run("fit", path, "--sup-rows", "1,3", "--coords", "-").out.splitlines()
    assert [line.split(",")[0] for line in passive[1:]] == ["2", "4", "1", "3"]
    for rows in ("0", "5", "3-1"):
        assert "rows are 1 to 4" in run("fit", path, "--sup-rows", rows).err


@pytest.mark.parametrize(
    ("flags", "meant"),
    [
        (["--sup-cols", "Point"], "did you mean Points?"),
        (["--colour", "competition"], "did you mean Competition?"),
        (["--drop", "rank"], "did you mean Rank?"),
        (["--sup-rows", "Sebrl"], "did you mean Sebrle?"),
        (["--method", "Pac"], "did you mean pca?"),
        (["--color", "Competition"], "did you mean --colour?"),
    ],
)
def test_near_names_are_proposed(run: Any, flags: list[str], meant: str) -> None:
    answer = run("fit", DECATHLON, *flags)
    assert answer.code in (2, 3)
    assert meant in answer.err


def test_the_colour_is_the_factor_that_was_named(run: Any, tmp_path: Path) -> None:
    path, model = tmp_path / "two.csv", tmp_path / "two.mercer"
    path.write_text("x,first,year\n" + "".join(f"{i},{'ab'[i % 2]},{i % 3}\n" for i in range(9)))
    assert run("fit", path, "--colour", "year", "--out", model).code == 0
    table = mc.load(model).table_
    assert table.colour.name == "year"
    assert table.active == ("x",)
    assert mc.read(path, colour="first").colour.name == "first"
    with pytest.raises(mc.errors.InvalidParameter, match="coloured by labels that repeat"):
        mc.read(path, colour="x")


def test_graphs_name_what_they_skip(run: Any, tmp_path: Path) -> None:
    for name in ("a.edges", "b.edges", "notes.txt"):
        (tmp_path / name).write_text("u v\nv w\n")
    answer = run("graphs", tmp_path, "--no-page")
    assert answer.code == 0
    assert (
        '1 of 3 files are not named *.graphml, *.edges, *.edgelist and were skipped: "notes.txt"'
        in (answer.err)
    )
    (tmp_path / "b.edges").unlink()
    assert 'it also holds "notes.txt"' in run("graphs", tmp_path, "--no-page").err


def test_a_page_counts_what_was_imputed_and_does_not_say_that_nothing_was_missing(
    run: Any, holes: Path, tmp_path: Path
) -> None:
    pytest.importorskip("jinja2")
    page = tmp_path / "page.html"
    assert run("report", holes, "--out", page, "--permutations", 0).code == 0
    text = page.read_text(encoding="utf-8")
    assert "3 missing values were imputed, in " in text
    assert re.search(r"1 missing category, in \S+ \(1\), became a level \S*\(missing\)", text)
    assert "missing values imputed" not in text  # told once
    assert "; 2 imputed" in text
    assert "no number missing" not in text
    whole = tmp_path / "whole.html"
    assert run("report", DECATHLON, "--out", whole, "--permutations", 0).code == 0
    assert "no number missing" in whole.read_text(encoding="utf-8")


def test_strings_are_named_by_themselves_on_the_page_and_in_every_file(
    run: Any, tmp_path: Path
) -> None:
    pytest.importorskip("jinja2")
    words, page, model = (tmp_path / name for name in ("words.txt", "words.html", "words.mercer"))
    long = "a sentence of more than twenty-four letters"
    words.write_text("\n".join(["apple", "apples", "apple", long, "pear", ""]) + "\n\n")
    flags = ["--as", "strings", "--kernel", "string_spectrum(length=2)", "--permutations", 0]
    assert run("report", words, *flags, "--out", page).code == 0
    text = page.read_text(encoding="utf-8")
    for name in ("apples", "apple (2)", "a sentence of more than…", "pear", "(empty)"):
        assert name in text
    assert long not in text
    answer = run("fit", words, *flags[:4], "--coords", "-", "--out", model)
    names = [line.split(",")[0] for line in answer.out.splitlines()[1:7]]
    assert names[:3] == ["apple", "apples", "apple (2)"]
    assert len(set(names)) == 6
    assert run("report", model, "--permutations", 0, "--out", page).code == 0
    assert "apple (2)" in page.read_text(encoding="utf-8")


def test_a_page_of_our_own_is_written_anew_and_no_other_file_is(
    run: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    data, page = Path("data.csv"), Path("data.html")
    data.write_text("a,b\n1,2\n3,5\n4,4\n0,1\n")
    first = run(data, "--permutations", 0)
    assert first.code == 0
    assert "overwritten" not in first.err
    page.write_bytes(page.read_bytes().replace(b"<body", b"<body data-old", 1))
    assert "is overwritten" not in run(data, "--dry-run").err
    assert b"data-old" in page.read_bytes()
    again = run(data, "--permutations", 0)
    assert again.code == 0
    assert "data.html is overwritten, a page that mercer wrote before" in again.err
    assert b"data-old" not in page.read_bytes()
    for _ in range(2):  # an example is there, although no file has its name
        assert run("report", "numerals", "--permutations", 0).code == 0
    for mine in ("<!doctype html><title>mine</title>", "x" * 5000 + '<meta name="generator">'):
        page.write_text(mine)
        refused = run(data, "--permutations", 0)
        assert refused.code == 2
        assert "data.html exists" in refused.err
        assert page.read_text() == mine
    model = Path("m.mercer")
    assert run("fit", data, "--out", model).code == 0
    assert "m.mercer exists" in run("fit", data, "--out", model).err


def test_a_file_that_is_not_there_is_told_before_a_page_that_is(
    run: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a,b\n1,2\n3,5\n")
    Path("data.html").write_text("mine")
    for words in (["data.cvs"], ["fit", "data.cvs", "--out", "data.html"]):
        answer = run(*words)
        assert answer.code == 3
        assert "data.cvs cannot be opened: there is no such file; did you mean data.csv?" in (
            answer.err
        )
        assert "exists" not in answer.err


def test_imputed_values_are_doubted_at_the_top_of_the_page_and_told_once(
    run: Any, holes: Path, tmp_path: Path
) -> None:
    answer = run("fit", holes, "--impute", "pca", "--impute", "mode", "--json")
    doubt = answer.value["doubts"][0]
    assert (doubt["kind"], doubt["where"], doubt["advice"]) == ("missing", "table", "--drop-na")
    assert doubt["text"].startswith("4 missing values were imputed, in ")
    assert "--drop-na leaves out 2 rows" in doubt["text"]
    assert "doubt: 4 missing values were imputed" in answer.err
    unasked = run("fit", holes)  # whose file was told of as it was read
    assert "3 missing numbers were replaced" in unasked.err
    assert "missing values were imputed" not in unasked.err
    assert unasked.code == 0
    dropped = run("fit", holes, "--drop-na", "--json").value["doubts"]
    assert all(doubt["kind"] != "missing" for doubt in dropped)
    pytest.importorskip("jinja2")
    page = tmp_path / "page.html"
    assert run("report", holes, "--out", page, "--permutations", 0).code == 0
    assert "3 missing values were imputed, in " in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "gaussian(bandwidth='median')"),
        ("kernel", "weights({\"a\": 1}, 'b')"),
        ("supplementary", ["Long jump", "it's", "$HOME", "`ls`", "-x"]),
        ("na", ["*"]),
        ("n_components", 3),
    ],
)
def test_advice_is_read_by_a_shell_as_it_is_meant(name: str, value: Any) -> None:
    words = value if isinstance(value, list) else [str(value)]
    told = in_flags(Advice(name, value), [Advice(name, value)])
    shell = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {told}"], capture_output=True, text=True, check=True
    )
    flag, *found = shell.stdout.splitlines()
    if any(word.startswith("-") for word in words):
        assert [flag, *found] == [f"--sup-cols={word}" for word in words]
    else:
        assert flag.startswith("--")
        assert found == words


MIXED = """name,a,b,kind,shape
r1,1.0,2.0,x,o
r2,2.0,1.0,y,o
r3,0.5,3.1,x,p
r4,2.5,0.2,z,q
r5,1.5,1.2,y,p
r6,3.5,1.0,z,q
r7,2.2,2.7,x,p
r8,0.1,1.9,y,o
"""


@pytest.fixture
def mixed_model(run: Any, tmp_path: Path) -> Path:
    data, model = tmp_path / "mixed.csv", tmp_path / "mixed.mercer"
    data.write_text(MIXED)
    assert run("fit", data, "--method", "famd", "--out", model, "-q").code == 0
    return model


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("name,a,kind,shape\nn1,1.0,x,o\n", 'has no column "b", with which the model was fitted'),
        ("name,a,b,kind,shape\nn1,1.0,abc,x,o\n", 'column "b" does not hold numbers'),
        (
            "name,a,b,kind,shape\nn1,1.0,2.0,x,o\nn2,1.0,2.0,w,o\n",
            'row 2 ("n2"), column "kind": "w" is none of the levels of the fit, which are "x", "y"',
        ),
        ("name,a,b,kind,shape\nn1,1.0,2.0,,o\n", 'row 1 ("n1"), column "kind": the category is'),
    ],
)
def test_new_individuals_that_a_mixed_model_cannot_read_are_named(
    rows: str, message: str, run: Any, mixed_model: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new.csv"
    new.write_text(rows)
    answer = run("project", mixed_model, new)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert message in answer.err


def test_numbers_that_a_mixed_model_misses_are_the_means_of_its_fit(
    run: Any, mixed_model: Path, tmp_path: Path
) -> None:
    new, whole = tmp_path / "new.csv", tmp_path / "whole.csv"
    new.write_text("name,other,a,b,kind,shape\nn1,,1.0,,x,o\nn2,7,2.0,1.0,y,p\n")
    mean = (2.0 + 1.0 + 3.1 + 0.2 + 1.2 + 1.0 + 2.7 + 1.9) / 8
    whole.write_text(f"name,a,b,kind,shape\nn1,1.0,{mean},x,o\nn2,2.0,1.0,y,p\n")
    answer = run("project", mixed_model, new)
    assert answer.code == 0
    assert "1 missing number was replaced by the means of the fit" in answer.err
    expected = run("project", mixed_model, whole)
    for row, other in zip(answer.rows, expected.rows, strict=True):
        assert float(row["dim1"]) == pytest.approx(float(other["dim1"]), abs=1e-12)
    assert [row["individual"] for row in run("project", mixed_model, new, "--drop-na").rows] == [
        "n2"
    ]
    assert run("project", mixed_model, new, "--strict").code == 3


def test_a_file_whose_name_is_nearly_right_is_proposed(run: Any, tmp_path: Path) -> None:
    (tmp_path / "wines.csv").write_text("a,b\n1,2\n3,5\n")
    answer = run("fit", tmp_path / "wine.csv")
    assert answer.code == 3
    assert answer.err.endswith("there is no such file; did you mean wines.csv?\n")
    other = run("fit", tmp_path / "zzzz")
    assert other.err.endswith("there is no such file. Check the name\n")


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("n,a,b\nx,1,2\ny,0,0\nz,3,1\n", ["--method", "ca"], 'row 2 ("y") holds no counts'),
        (
            "n,a,b\nx,1,2\ny,0,0\nz,3,1\nw,2,2\n",
            ["--method", "ca", "--sup-rows", "x"],
            'row 2 ("y") holds no counts',
        ),
        ("a,b\n1,2\n0,0\n3,1\n", ["--distance", "chi-square"], "the table, row 2: all entries"),
        (
            ",x,y,z\nx,0,1,2\ny,1,0,0\nz,2,0,0\n",
            ["--method", "stress", "--loss", "sammon"],
            'D, row 2 ("y"), column 3 ("z"): Sammon',
        ),
        ("n,a,b\nx,1,2\ny,4,-1\nz,3,1\n", ["--weights", "b"], 'is negative in row 2 ("y").'),
        (
            "n,a,b\nx,1,u\ny,2,v\nz,3,u\nw,4,v\ns,1,t\nr,5,u\n",
            ["--sup-rows", "s", "--method", "famd"],
            'row 5 ("s"), column "b": "t" is none of the levels of the fit, which are "u", "v"',
        ),
    ],
)
def test_rows_are_counted_from_one_and_named(
    text: str, words: list[str], message: str, run: Any, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    for command in ("fit", "report"):
        answer = run(command, path, *words)
        assert (answer.code, message in answer.err) == (3, True), answer.err


def test_check_names_the_points_that_break_a_matrix(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "k.csv"
    path.write_text(",x,y,z\nx,1,0,0\ny,0,1,3\nz,0,3,1\n")
    answer = run("check", path)
    assert (answer.code, "points y and z break" in answer.out) == (4, True), answer.out


@pytest.mark.parametrize(
    "text",
    [
        "ACGTA\nACGAC\nTTGA\nTTGGC\n",
        "the cat sat\non the mat\na dog ran\nthe cat ran\n",
        "the cat sat there\non the mat\na dog\nthe cat ran, and ran\n",
    ],
)
def test_lines_of_text_are_strings_and_have_a_kernel(text: str, run: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text(text)
    answer = run("fit", path, "--json")
    assert answer.code == 0, answer.err
    assert "strings are compared by string_spectrum(length=3).normalised()" in answer.err
    assert json.loads(answer.out)["individuals"] == 4
    assert run("report", path, "--out", tmp_path / "page.html").code == 0


def test_a_table_with_a_short_row_is_no_list_of_strings(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,c\nx,y,z\nx,y\nu,v,w\n")
    answer = run("fit", path)
    assert (answer.code, "line 3 has 2 cells" in answer.err) == (3, True)


def test_what_titles_say_of_sequences_colours_their_page(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path, page = tmp_path / "seqs.fasta", tmp_path / "page.html"
    with path.open("w") as file:
        for i in range(12):
            letters = "".join(rng.choice(list("ACGT" if i % 2 else "AAAT"), 40))
            file.write(f">s{i} organism={'fly' if i % 2 else 'yeast'}\n{letters}\n")
    answer = run("report", path, "--out", page)
    assert answer.code == 0
    assert '12 sequences; supplementary "organism"' in answer.err
    text = page.read_text(encoding="utf-8")
    assert "organism accounts for" in text
    assert "normalised string spectrum kernel (length 3). Sequences are alike that" in text
    assert '"name":"organism","levels":["fly","yeast"]' in text


def test_missing_values_are_told_once_and_rows_left_out_always(run: Any, holes: Path) -> None:
    told = run("fit", holes, "-v").err
    assert told.count("missing number") == 1
    assert "imputed" not in told
    assert f"{holes}: 2 of 9 rows left out: " in run("fit", holes, "--drop-na").err


def test_units_are_told_once(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "units.csv"
    rows = [f"{a},{1000 * b}" for a, b in rng.standard_normal((20, 2)).round(4)]
    file.write_text("metres,grams\n" + "\n".join(rows))
    answer = run("fit", file, "--no-scale", "--method", "kpca", "--json")
    assert sum("grams" in note for note in answer.value["warnings"]) == 1


def test_the_number_of_axes_of_counts_is_not_asked_of_a_test_that_cannot_say(
    run: Any, tmp_path: Path
) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("task,wife,both,husband\na,156,14,2\nb,124,20,5\nc,10,51,75\nd,0,3,160\n")
    answer = run("dim", file, "--method", "ca", "--json")
    assert "CA weighs rows by their totals" in answer.out


def test_years_behind_words_are_a_header(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "fertility.csv"
    years = ",".join(map(str, range(1960, 1966)))
    rows = [
        f"{name},{name[:3].upper()},births,"
        + ",".join(f"{4.5 - 0.3 * i - 0.11 * j:.2f}" for j in range(6))
        for i, name in enumerate(["Aruba", "Benin", "Chile", "Denmark", "Egypt"])
    ]
    path.write_text("\n".join([f"Country,Code,Indicator,{years}", *rows]))
    value = run("fit", path, "--json").value
    assert value["individuals"] == 5
    assert value["active"] == [str(year) for year in range(1960, 1966)]
    one = tmp_path / "one.csv"  # a first row like the others is none
    one.write_text("\n".join(f"w{i},{i},{i + 1},{2 * i + 1}.5" for i in range(1, 7)))
    assert run("fit", one, "--json").value["individuals"] == 6


def test_texts_are_not_told_as_supplementary_and_columns_stand_in_their_order(
    run: Any, tmp_path: Path
) -> None:
    file = tmp_path / "cars.csv"
    kinds = ["van", "car", "bus"]
    rows = [f"{i % 7}.5,{kinds[i % 3]},{kinds[i % 2]},model {i},make of {i}" for i in range(30)]
    file.write_text("\n".join(["size,shape,kind,model,make", *rows]) + "\n")
    told = run("fit", file).err.splitlines()[0]
    assert '3 variables: "size", "shape", "kind"; ' in told
    assert told.endswith('dates and texts not used: "make"')
    assert "supplementary" not in told


def test_the_columns_that_are_chosen_make_the_axes_and_no_others(run: Any, tmp_path: Path) -> None:
    """Columns are chosen as R's ``decathlon[, 1:10]`` is, and FactoMineR's inertias follow."""
    found = run("fit", DECATHLON, "--cols", "1-10", "--json").value
    assert found["active"] == list(mc.datasets.decathlon().names[1:11])
    assert {"Rank", "Points", "Competition"} <= set(found["supplementary"])
    assert found["axes"][0]["inertia"] == pytest.approx(3.2719055, abs=1e-7)
    named = run("fit", DECATHLON, "--cols", "Points,Rank", "--json").value
    assert set(named["active"]) == {"Rank", "Points"}  # though one looks like row numbers
    page = tmp_path / "page.html"
    assert run("report", DECATHLON, "--cols", "Points,Rank", "--out", page, "-q").code == 0
    assert "--active" not in page.read_text().partition('"command":')[2][:300]
    wrong = run("fit", DECATHLON, "--cols", "1-90")
    assert (wrong.code, "--cols: there is no column 1-90" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("flags", "ending", "starts"),
    [
        ([], "pdf", b"%PDF"),
        (["--sup-rows", "38-41"], "png", b"\x89PNG"),
        (["--method", "famd"], "svg", b"<?xml"),
        (["--method", "stress"], "png", b"\x89PNG"),
        (["--kernel", "gaussian(bandwidth='median')"], "png", b"\x89PNG"),
    ],
)
def test_the_map_is_a_file_in_the_format_of_its_ending(
    flags: list[str], ending: str, starts: bytes, run: Any, tmp_path: Path
) -> None:
    picture = tmp_path / f"map.{ending}"
    assert run("fit", DECATHLON, *flags, "--picture", picture).code == 0
    assert picture.read_bytes().startswith(starts)


def test_a_picture_is_drawn_by_its_flag_alone(run: Any, tmp_path: Path) -> None:
    """A model under the name of a picture would open in no program."""
    for words in (("fit", "--out"), ("fit", "--coords"), ("report", "--out")):
        picture = tmp_path / "map.pdf"
        answer = run(words[0], DECATHLON, words[1], picture)
        assert answer.code == 2
        assert f"--picture {picture} draws the map" in answer.err
        assert not picture.exists()
    refused = run("fit", DECATHLON, "--picture", tmp_path / "map.gif")
    assert (refused.code, "a picture ends in .pdf, .svg, .png" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("--pdf", "--picture"), ("--plot", "--picture"), ("--habillage", "--colour")]
    + [("--csv", "--coords"), ("--columns", "--cols")],
)
def test_words_of_r_are_answered_with_ours(word: str, meant: str, run: Any) -> None:
    answer = run("fit", DECATHLON, word, "x")
    assert (answer.code, f"did you mean {meant}?" in answer.err) == (2, True)
