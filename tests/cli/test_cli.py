from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import datasets
from mercer.check import not_finite
from mercer.cli import EXAMPLES, main, pages, report_command
from mercer.cli.commands import DEMOS, SHOWN, commands_of, parser, with_command
from mercer.cli.completion import script
from mercer.cli.errors import FLAGS, WORDS, code_of, in_flags, refusal
from mercer.cli.output import csv_bytes
from mercer.data.dialect import has_nul
from mercer.datasets.examples import FOLDER
from mercer.dimension import choose
from mercer.errors import Advice
from mercer.mds import stress
from mercer.settings import invalid_parameter
from mercer.spectrum.leading import smaller
from mercer.store import save

ROOT = Path(__file__).parents[2]
DECATHLON = str(FOLDER / "decathlon.csv")
IRIS = str(FOLDER / "iris.csv")
EURODIST = str(FOLDER / "eurodist.csv")
SCALED_PCA = ["--method", "pca", "--scale", "--sup-cols", "Rank,Points"]
COMMANDS = tuple(commands_of(parser()))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table: names, three numbers, a factor, weights."""
    rng = np.random.default_rng(0)
    lines = ["name,a,b,c,kind,w"]
    for i, (a, b, c) in enumerate(rng.standard_normal((12, 3)).round(3)):
        lines.append(f"row{i},{a},{10 * b},{c},{'xy'[i % 2]},{1 + i % 3}")
    path = tmp_path / "small.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def rows_in(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


def stored(folder: Path, model: Any) -> Path:
    save(model, folder / "model.mercer")
    return folder / "model.mercer"


# Being asked nothing, or for help


def test_alone_it_prints_six_examples_and_is_content(run: Any) -> None:
    answer = run()
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == EXAMPLES
    assert len(EXAMPLES.splitlines()) == 6


def test_the_examples_name_flags_that_exist() -> None:
    for line in EXAMPLES.splitlines():
        words = line.split("  ")[0].split()
        asked = parser().parse_args(with_command(words[1:])).command
        assert asked == (words[1] if words[1] in COMMANDS else "report")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_the_common_flags(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    for flag in ("--json", "--dry-run", "--quiet", "--verbose", "--no-color", "--debug"):
        assert flag in shown
    assert "exit codes" in shown
    assert f"example: {SHOWN[command]}" in shown
    words = shlex.split(SHOWN[command])
    assert parser().parse_args(words[1:]).command == command
    guide = (ROOT / "docs" / "command-line.md").read_text()
    assert f"\n{SHOWN[command]}\n" in guide
    assert re.search(rf"^\| `mercer {command}\b", guide, re.MULTILINE)


def test_the_entry_point_is_this_function() -> None:
    target = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["mercer"]
    module, _, name = target.partition(":")
    assert getattr(import_module(module), name) is main


# fit


def test_fit_finds_the_axes_that_the_library_finds(run: Any) -> None:
    answer = run("fit", DECATHLON, *SCALED_PCA, "--json")
    model = mc.PCA(10, standardize=True).fit(datasets.decathlon())
    assert answer.code == 0
    found = [axis["inertia"] for axis in answer.value["axes"]]
    np.testing.assert_allclose(found, model.inertias_, rtol=1e-12)
    assert answer.value["inertia"] == pytest.approx(10.0)
    assert answer.value["individuals"] == 41
    assert all(axis["error"] < 1e-12 for axis in answer.value["axes"])


def test_fit_prints_a_table_on_the_output_and_talk_on_the_error(run: Any) -> None:
    answer = run("fit", DECATHLON, *SCALED_PCA)
    assert answer.out.startswith("Principal component analysis of standardised columns\n")
    assert "32.7 %" in answer.out.splitlines()[3]
    told = f'{DECATHLON}: 41 individuals, 10 variables; rows named by "name"; factor '
    assert answer.err.startswith(told)
    told, why, doubt = answer.err.splitlines()
    held = "The table holds 12 columns of numbers, 2 of them set aside, and 1 factor"
    assert why.startswith(f"{held}: as asked, principal component")
    assert doubt.startswith("doubt: axes 2 and 3 of the map are nearly equal in size")
    assert run("fit", DECATHLON, *SCALED_PCA, "-q").err == ""


def test_a_column_that_is_most_of_the_distance_is_told_where_units_are_kept(
    run: Any, tmp_path: Path
) -> None:
    file = tmp_path / "units.csv"
    rng = np.random.default_rng(0)
    rows = [f"{a},{1000 * b}" for a, b in rng.standard_normal((20, 2)).round(4)]
    file.write_text("metres,grams\n" + "\n".join(rows))
    for flags in (["--no-scale"], ["--no-scale", "--method", "kpca"]):
        said = run("fit", file, *flags, "--json").value["warnings"][0]
        assert 'the column "grams" makes 100 %' in said
        assert "--scale gives all columns the same weight" in said
    (said,) = run("dim", file, "--no-scale", "--method", "kpca", "--json").value["warnings"]
    assert 'the column "grams" makes 100 %' in said
    assert "--method pca" in run("fit", file, "--method", "mds", "--json").value["warnings"][0]
    for flags in ([], ["--scale"], ["--method", "kpca"]):
        doubts = run("fit", file, *flags, "--json").value["doubts"]
        assert "column" not in {doubt["kind"] for doubt in doubts}


def test_one_text_on_each_line_is_no_table(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("ACGT\nAACC\nGGTT\nACCA\n")
    answer = run("fit", file, "--kernel", "string_spectrum(length=2)", "--json")
    assert answer.value["individuals"] == 4
    assert "4 strings" in run("fit", file, "--kernel", "string_spectrum(length=2)").err


def test_verbose_tells_what_was_guessed(run: Any) -> None:
    assert "delimiter" in run("fit", DECATHLON, *SCALED_PCA, "-v").err


def test_fit_writes_the_model_and_the_coordinates(run: Any, tmp_path: Path) -> None:
    out, coords = tmp_path / "m.mercer", tmp_path / "c.csv"
    assert run("fit", DECATHLON, *SCALED_PCA, "--out", out, "--coords", coords).code == 0
    model = mc.load(out)
    rows = rows_in(coords)
    assert [row["individual"] for row in rows] == list(datasets.decathlon().row_names or ())
    found = np.array([[float(row[f"dim{k}"]) for k in (1, 2)] for row in rows])
    assert np.array_equal(found, model.individuals_.coordinates[:, :2])
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".part")] == []


def test_coordinates_can_go_to_the_output_and_then_the_summary_does_not(run: Any) -> None:
    answer = run("fit", IRIS, "--rank", 2, "--coords", "-")
    assert len(answer.rows) == 150
    assert "inertia" in answer.err
    assert run("fit", IRIS, "--coords", "-", "--json").code == 2


def test_files_are_not_overwritten_unless_forced(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "m.mercer"
    out.write_text("mine")
    answer = run("fit", IRIS, "--out", out)
    assert answer.code == 2
    assert "--force" in answer.err
    assert out.read_text() == "mine"
    assert run("fit", IRIS, "--out", out, "--force").code == 0
    assert type(mc.load(out)) is mc.PCA


def test_the_default_kernel_is_the_gaussian_of_standardised_columns_with_the_median_rule(
    run: Any,
) -> None:
    axes = run("fit", IRIS, "--method", "KPCA", "--json").value["axes"]
    x = datasets.iris().matrix()
    model = mc.KernelPCA(10, kernel=mc.Gaussian("median")).fit(x / x.std(axis=0))
    np.testing.assert_allclose([a["inertia"] for a in axes], model.inertias_, rtol=1e-9)
    unscaled = run("fit", IRIS, "--method", "kpca", "--no-scale", "--json").value["axes"]
    model = mc.KernelPCA(10, kernel=mc.Gaussian("median")).fit(x)
    np.testing.assert_allclose([a["inertia"] for a in unscaled], model.inertias_, rtol=1e-9)


def test_scaling_with_a_kernel_is_written_into_the_kernel(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "m.mercer"
    text = "gaussian(bandwidth='median') + 0.5*linear()"
    assert run("fit", IRIS, "--kernel", text, "--scale", "--out", out, "--rank", 2).code == 0
    x = datasets.iris().matrix()
    z = x / x.std(axis=0)
    expected = mc.KernelPCA(2, kernel=text).fit(z)
    found = mc.load(out)
    np.testing.assert_allclose(found.inertias_, expected.inertias_, rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(found.transform(x[:7])), np.abs(expected.transform(z[:7])), atol=1e-9
    )


@pytest.mark.parametrize(
    "text",
    [
        "sinc(bandwidth=2)",
        "sobolev(s=3)",
        'characteristic("cauchy")',
        "periodic(period=9)",
        "polynomial(degree=2)",
        "linear().normalised()",
    ],
)
def test_every_kernel_on_vectors_can_be_scaled(run: Any, tmp_path: Path, text: str) -> None:
    out = tmp_path / "m.mercer"
    answer = run("fit", IRIS, "--kernel", text, "--scale", "--out", out, "--rank", 2)
    assert answer.code == 0, answer.err
    x = datasets.iris().matrix()
    expected = mc.KernelPCA(2, kernel=text).fit(x / x.std(axis=0))
    np.testing.assert_allclose(mc.load(out).inertias_, expected.inertias_, rtol=1e-6)


def test_weights_columns_and_rows_are_chosen(run: Any, table: Path) -> None:
    read = mc.read(table, "table")
    x, w = read.matrix()[:, :3], read.column("w").values
    flags = ["--method", "pca", "--no-scale", "--weights", "w", "--sup-rows", "row3,1"]
    answer = run("fit", table, *flags, "--json")
    kept = [i for i in range(12) if i not in (0, 3)]
    model = mc.PCA().fit(x[kept], sample_weight=w[kept])
    assert (answer.value["individuals"], answer.value["variables"]) == (10, 3)
    assert answer.value["inertia"] == pytest.approx(model.inertia_)
    assert run("fit", table, "--drop", "c", "--drop", "w", "--json").value["variables"] == 2
    assert run("fit", table, "--sup-cols", "b,c,w", "--json").value["variables"] == 2
    assert run("fit", table, "--factor", "b", "--json").value["variables"] == 3


def test_weights_are_told_and_a_missing_one_is_never_made_up(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "weighted.csv"
    cells = [[name, i, i * i % 7, (3 * i) % 5] for i, name in enumerate("abcdefgh")]
    lines = ["n,x,y,z,w", *(",".join(map(str, [*c, 1 + i % 3])) for i, c in enumerate(cells))]
    path.write_text("\n".join(lines))
    plain = run("fit", path, "--weights", "w")
    assert plain.out.startswith(
        'Principal component analysis of standardised columns, rows weighted by "w"\n'
    )
    assert 'rows weighted by "w"' in plain.err.splitlines()[0]
    assert "supplementary" not in plain.err.splitlines()[0]
    assert "The rows have weights from 1 to 3." in plain.err
    dim = run("dim", path, "--weights", "w", "--permutations", 19)
    assert dim.out.startswith(plain.out.splitlines()[0])
    page = tmp_path / "page.html"
    words = ["--weights", "w", "--permutations", 0, "--out", page, "--json"]
    for value in (run("fit", path, "--weights", "w", "--json").value,
                  run("report", path, *words).value):  # fmt: skip
        assert value["weights"] == "w"
        uses = {column["name"]: column["reason"] for column in value["columns"]}
        assert uses["w"] == "it holds the weights of the rows"
    assert "The rows have weights from 1 to 3." in page.read_text()
    assert run("fit", path, "--json").value["weights"] is None
    for written, what in (("NA", "missing"), ("-1", "negative")):
        broken = [line if i not in (3, 5) else f"{line.rpartition(',')[0]},{written}"
                  for i, line in enumerate(lines)]  # fmt: skip
        path.write_text("\n".join(broken))
        for command in ("fit", "report", "dim"):
            answer = run(command, path, "--weights", "w")
            assert answer.code == 3
            assert f'"w": the weight is {what} in row 3 ("c"), row 5 ("e").' in answer.err
            assert "replaced by the mean" not in answer.err
        assert run("fit", path, "--weights", "w", "--sup-rows", "c,e").code == 0
        curve = run("curve", path, "--y", "y", "--x", "x", "--weights", "w", "--no-page")
        assert f"the weight is {what} in row 3" in curve.err


def test_supplementary_rows_are_projected(run: Any, table: Path) -> None:
    flags = ["--method", "pca", "--sup-cols", "w", "--sup-rows", "11-12", "--coords", "-"]
    rows = run("fit", table, *flags).rows
    x = mc.read(table, "table").matrix()[:, :3]
    assert [row["supplementary"] for row in rows] == ["0"] * 10 + ["1"] * 2
    assert rows[-1]["individual"] == "row11"
    expected = mc.PCA(3, standardize=True).fit(x[:10]).transform(x[10:])
    found = [[float(row[f"dim{k}"]) for k in (1, 2, 3)] for row in rows[10:]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_distances_are_scaled_and_similarities_decomposed(run: Any, tmp_path: Path) -> None:
    classical = run("fit", EURODIST, "--json").value
    model = mc.ClassicalMDS(2).fit(datasets.eurodist().values)
    assert classical["model"] == "ClassicalMDS"
    assert classical["goodness"]["absolute"] == pytest.approx(model.goodness_.absolute)
    assert [a["eigenvalue"] for a in classical["axes"]] == pytest.approx(model.eigenvalues_[:2])
    assert [a["share"] for a in classical["axes"]] == pytest.approx(model.shares_)
    page = tmp_path / "page.html"
    assert run("report", EURODIST, "--out", page).code == 0
    told = run("fit", EURODIST).out
    for k, share in enumerate(model.shares_):  # on the page and on the terminal alike
        assert f"Dim {k + 1} ({100 * share:.1f} %)" in page.read_text(encoding="utf-8")
        (line,) = [one for one in told.splitlines() if re.match(rf"\s*{k + 1}\s", one)]
        assert f"{100 * share:.1f}" in line
    corrected = run("fit", EURODIST, "--correction", "lingoes", "--json").value
    assert corrected["correction_constant"] > 0
    gram = tmp_path / "gram.csv"
    gram.write_text(",a,b,c\na,2,1,0\nb,1,2,1\nc,0,1,2\n")
    precomputed = run("fit", gram, "--json").value
    assert (precomputed["model"], precomputed["kernel"]) == ("KernelPCA", "precomputed")


def test_strings_and_sets_are_points_too(run: Any, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("banana\nbandana\ncabana\nananas\n")
    kernel = ["--kernel", "string_spectrum(length=2)"]
    answer = run("fit", words, "--as", "strings", *kernel, "--json")
    expected = mc.KernelPCA(3, kernel=mc.kernels.StringSpectrum(2)).fit(words.read_text().split())
    assert answer.value["inertia"] == pytest.approx(expected.inertia_)
    assert "are compared by string_spectrum" in run("fit", words, "--as", "strings").err
    assert run("fit", words, "--as", "strings", "--kernel", "linear()").code == 2


def test_a_map_that_has_not_converged_is_kept_and_marked(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "map.mercer"
    flags = ["--method", "stress", "--json", "--out", out]
    assert run("fit", EURODIST, *flags).value["has_converged"] is True
    descended = vars(stress)["descend"]

    def short(pairs: Any, loss: Any, start: Any, most: int, *more: Any) -> Any:
        return descended(pairs, loss, start, 1, *more)

    monkeypatch.setattr(stress, "descend", short)
    answer = run("fit", EURODIST, *flags, "--force")
    assert answer.code == 5
    assert answer.value["has_converged"] is False
    assert "still falls" in answer.value["warnings"][0]
    assert mc.load(out).has_converged_ is False  # written, and marked


# project


def test_project_places_new_individuals_by_column_name(run: Any, tmp_path: Path) -> None:
    model = tmp_path / "m.mercer"
    run("fit", DECATHLON, *SCALED_PCA, "--rank", 3, "--out", model, "-q")
    new = tmp_path / "new.csv"
    lines = list(csv.reader(Path(DECATHLON).read_text().splitlines()))
    turned = [[row[0], *reversed(row[1:])] for row in lines[:4]]
    with new.open("w", newline="") as file:
        csv.writer(file).writerows(turned)
    rows = run("project", model, new).rows
    fitted = mc.load(model)
    found = np.array([[float(row[f"dim{k}"]) for k in (1, 2, 3)] for row in rows])
    np.testing.assert_allclose(found, fitted.individuals_.coordinates[:3], atol=1e-12)
    individuals = fitted.individuals_
    T2 = np.sum(individuals.coordinates**2 / fitted.inertias_, axis=1)[:3]
    np.testing.assert_allclose([float(row["T2"]) for row in rows], T2, rtol=1e-9)
    Q = individuals.plane_distances[:3] ** 2
    np.testing.assert_allclose([float(row["Q"]) for row in rows], Q, rtol=1e-9)
    assert [row["individual"] for row in rows] == [line[0] for line in lines[1:4]]


def test_project_names_a_column_that_is_not_there(run: Any, table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mercer"
    run("fit", table, "--sup-cols", "w", "--out", model)
    new = tmp_path / "new.csv"
    new.write_text("a,b\n1,2\n")
    answer = run("project", model, new)
    assert answer.code == 3
    assert '"c"' in answer.err
    new.write_text("a,b,c\n1,2,x\n3,4,y\n")
    answer = run("project", model, new)
    assert (answer.code, '"c" does not hold numbers' in answer.err) == (3, True)


def test_project_asks_only_for_the_numbers_it_needs(run: Any, table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mercer"
    run("fit", table, "--sup-cols", "w", "--out", model)
    new = tmp_path / "new.csv"
    new.write_text("a,b,c,other\n1,2,3,\n4,5,6,7\n")
    assert run("project", model, new).code == 0
    new.write_text("a,b,c,other\n1,,3,1\n4,5,6,7\n")
    assert run("project", model, new, "--strict").code == 3
    assert len(run("project", model, new, "--drop-na").rows) == 1
    filled = run("project", model, new, "--impute", "mean").rows[0]
    usual = run("project", model, new)
    assert usual.rows[0] == filled
    assert "1 missing number was replaced by the means of the fit" in usual.err
    mean = mc.read(table, "table").column("b").values.mean().item()
    new.write_text(f"a,b,c\n1,{mean!r},3\n")  # alone, or in company
    alone = run("project", model, new).rows[0]
    assert float(alone["dim1"]) == pytest.approx(float(filled["dim1"]), abs=1e-13)


@pytest.mark.parametrize("method", ["pca", "famd", "kpca"])
def test_an_empty_column_is_read_as_it_was_in_the_fit(
    method: str, run: Any, tmp_path: Path
) -> None:
    table, model, new = (tmp_path / name for name in ("t.csv", "m.mercer", "new.csv"))
    table.write_text("age,sex,w\n1,m,2\n2,f,4\n3,m,1\n4,f,3.5\n5,m,2.2\n7,f,6\n")
    assert run("fit", table, "--method", method, "--out", model).code == 0
    new.write_text("age,sex,w\n,m,2\n")
    answer = run("project", model, new)
    assert "1 missing number was replaced by the means of the fit" in answer.err
    new.write_text(f"age,sex,w\n{22 / 6!r},m,2\n")
    expected = run("project", model, new).rows[0]
    assert answer.rows[0]["individual"] == expected["individual"] == "1"  # and not m
    assert float(answer.rows[0]["dim1"]) == pytest.approx(float(expected["dim1"]), abs=1e-12)


def test_project_takes_models_of_python_too(run: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((9, 2))
    fitted = mc.KernelPCA(2, kernel="gaussian()").fit(x)
    model = stored(tmp_path, fitted)
    np.save(tmp_path / "new.npy", x[:3] + 0.1)
    value = run("project", model, tmp_path / "new.npy", "--json").value
    found = np.column_stack([value["columns"]["dim1"], value["columns"]["dim2"]])
    np.testing.assert_allclose(found, fitted.transform(x[:3] + 0.1), atol=1e-12)
    np.save(tmp_path / "wide.npy", np.ones((2, 5)))
    assert run("project", model, tmp_path / "wide.npy").code == 3


def test_project_of_distances_takes_distances_to_the_fitted_ones(run: Any, tmp_path: Path) -> None:
    model, out = tmp_path / "m.mercer", tmp_path / "c.csv"
    run("fit", EURODIST, "--out", model)
    assert run("project", model, EURODIST, "--out", out).out == ""
    rows = rows_in(out)
    found = np.array([[float(row["dim1"]), float(row["dim2"])] for row in rows])
    np.testing.assert_allclose(found, mc.load(model).embedding_, atol=1e-6)


def test_a_map_of_least_stress_takes_new_individuals(run: Any, tmp_path: Path) -> None:
    model, out = tmp_path / "m.mercer", tmp_path / "c.csv"
    run("fit", EURODIST, "--method", "stress", "--out", model)
    assert run("project", model, EURODIST, "--out", out).code == 0
    found = np.array([[float(row["dim1"]), float(row["dim2"])] for row in rows_in(out)])
    fitted = mc.load(model).embedding_
    np.testing.assert_allclose(found, fitted, atol=1e-5 * np.abs(fitted).max())


# check


def test_check_refuses_with_a_witness(run: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "gram.npy", np.array([[1.0, 2.0], [2.0, 1.0]]))
    answer = run("check", tmp_path / "gram.npy", "--json")
    assert answer.code == 4
    c = np.array(answer.value["witness"]["coefficients"])
    assert c @ np.array([[1.0, 2.0], [2.0, 1.0]]) @ c == pytest.approx(-1.0)
    assert answer.value["smallest_eigenvalue"] == pytest.approx(-1.0)
    assert "witness" in run("check", tmp_path / "gram.npy").out


def test_check_knows_gram_matrices_distances_and_squares(run: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(2).standard_normal((6, 2))
    d = np.linalg.norm(x[:, None] - x[None], axis=2)
    np.save(tmp_path / "gram.npy", x @ x.T)
    np.save(tmp_path / "d.npy", d)
    assert run("check", tmp_path / "gram.npy").code == 0
    assert run("check", tmp_path / "d.npy", "--json").value["of"] == "distances"
    assert run("check", tmp_path / "d.npy", "--of", "gram").code == 4
    assert run("check", tmp_path / "d.npy", "--of", "squares").code == 0
    assert run("check", EURODIST).code == 4
    np.save(tmp_path / "skew.npy", np.array([[1.0, 0.5], [0.1, 1.0]]))
    assert run("check", tmp_path / "skew.npy").code == 4


def test_check_puts_a_kernel_through_the_contract(run: Any) -> None:
    answer = run("check", IRIS, "--kernel", "gaussian(bandwidth='median')", "--json")
    assert (answer.code, answer.value["holds"]) == (0, True)
    assert {line["outcome"] for line in answer.value["contract"]} == {"passed", "skipped"}
    assert run("check", IRIS, "--kernel", "sigmoid(scale=0.01, offset=-1)").code == 4
    assert run("check", IRIS).code == 3


# dim


def test_dim_gives_every_rule_with_its_evidence(run: Any) -> None:
    flags = ["--sup-cols", "Rank,Points", "--permutations", 99]
    answer = run("dim", DECATHLON, *flags, "--json")
    model = mc.PCA(standardize=True).fit(datasets.decathlon())
    expected = mc.choose_dimension(model, "all", permutations=99, random_state=0)
    rules = answer.value["rules"]
    assert {n: r["n_components"] for n, r in rules.items()} == {
        n: c.n_components for n, c in expected.items()
    }
    assert rules["horn"]["p_values"] == pytest.approx(list(expected["horn"].p_values))  # type: ignore[attr-defined]
    assert "p-values" in run("dim", DECATHLON, *flags).out
    assert run("dim", EURODIST).code == 2


def test_dim_reads_a_kernel_too(run: Any) -> None:
    flags = ["--kernel", "gaussian(bandwidth='median')", "--permutations", 19, "--rank", 4]
    value = run("dim", IRIS, *flags, "--json").value
    assert value["model"] == "KernelPCA"
    assert value["rules"]["horn"]["statistic"] == "share"


# demo, doctor, report


@pytest.mark.parametrize("name", DEMOS)
def test_every_demo_runs_the_commands_it_prints(run: Any, tmp_path: Path, name: str) -> None:
    before = Path.cwd()
    answer = run("demo", name, "--out", tmp_path / "d", "--json", "--no-open")
    assert answer.code == 0, answer.err
    steps = answer.value["steps"]
    assert [s["command"] for s in steps if s["command"] != "dim"] == ["fit", "project", "report"]
    assert answer.err.count("$ mercer ") == len(steps)
    assert (tmp_path / "d" / f"{name}.mercer").exists()
    assert (tmp_path / "d" / f"{name}_coordinates.csv").exists()
    assert Path.cwd() == before


def test_the_demo_needs_no_name_and_no_file(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer.cli.demo_command.mkdtemp", lambda prefix: str(tmp_path))
    answer = run("demo", "--no-open")
    assert answer.code == 0
    page = tmp_path / "planets.html"
    assert page.exists()
    assert answer.out.splitlines()[-1].startswith(f"the page is {page}; ")
    assert answer.out.count("planets.html") == 1  # with its folder
    told = re.search(r"straight axes reach (\S+ %) and the curved ones (\S+ %)", answer.err)
    assert told is not None
    adds = f"axes reach {told[2]} of a perfect separation, the straight ones {told[1]} "
    assert adds in answer.out  # one number has one rounding
    story = answer.err.splitlines()
    assert sum(line.endswith((".", ").")) and not line.startswith("$") for line in story) >= 5
    shown = run("demo", "iris", "--dry-run").out.splitlines()
    assert [line.split()[1] for line in shown] == ["fit", "dim", "project", "report"]


def test_the_data_of_a_demo_are_those_of_the_library(run: Any, tmp_path: Path) -> None:
    run("demo", "plants", "--out", tmp_path, "-q", "--no-open")
    again = mc.read(tmp_path / "plants.csv", "table")
    assert np.array_equal(again.matrix(), datasets.plants().matrix())
    assert again.row_names == datasets.plants().row_names


def test_a_plan_counts_what_a_cluster_does(run: Any) -> None:
    given = ("--individuals", "1e6", "--variables", 20, "--memory", "100GB")
    answer = run("plan", *given, "--workers", 4, "--cores", 2, "--json")
    assert answer.code in (0, 6)  # 6 where this machine is small
    value = answer.value
    assert value["plan"] == "exact"
    assert value["cluster"]["workers"]["count"] == 4
    assert value["cluster"]["tasks"] > 0
    assert "4 workers of 2 cores" in run("plan", *given, "--workers", 4, "--cores", 2).out
    on_disk = ("plan", "--individuals", "1e6", "--variables", 50, "--memory", "2GB", "--on-disk")
    assert run(*on_disk, "--json").value["disk_bytes"] == 4 * 600 * 10**6
    assert run("plan", "--individuals", "many").code == 2
    assert run("plan", "--individuals", "10", "--workers", 0).code == 2


def test_doctor_knows_the_machine_and_plans(run: Any) -> None:
    answer = run("doctor", "--json", "--dry-run", "--individuals", 50_000)
    value = answer.value
    assert value["versions"]["numpy"] == np.__version__
    assert value["plan"]["method"] == "exact"
    assert "pairs_per_second" not in value
    text = run("doctor").out
    assert "pairs of points a second" in text
    assert "mercer[report]" in text


def fake_page(model: Any, path: Any, **more: Any) -> Path:
    fake_page.seen = {"model": model, **more}  # type: ignore[attr-defined]
    Path(path).write_text("<html></html>")
    return Path(path)


def test_report_hands_over_model_table_choices_and_command(
    run: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_command, "page_writer", lambda: fake_page)
    out = tmp_path / "page.html"
    flags = ["--out", out, "--method", "pca", "--scale", "--permutations", 19]
    answer = run("report", table, *flags, "--sup-cols", "w")
    assert (answer.code, answer.out) == (0, f"{out}\n")
    seen = fake_page.seen  # type: ignore[attr-defined]
    assert type(seen["model"]) is mc.results.Analysis
    assert type(seen["model"].model) is mc.PCA
    assert seen["table"].active == ("a", "b", "c")
    assert set(seen["choices"]) == {"inertia", "kaiser", "scree", "horn"}
    again = seen["command"].split()
    parser().parse_args(again[1:])
    assert "--scale" in again
    assert run("report", table, *flags).code == 2  # the page exists
    model = tmp_path / "m.mercer"
    run("fit", table, "--sup-cols", "w", "--out", model)
    assert run("report", model, "--out", tmp_path / "of_model.html").code == 0
    assert fake_page.seen["table"].colour.name == "kind"  # type: ignore[attr-defined]
    assert run("report", model, "--rank", 2, "--out", tmp_path / "x.html").code == 2


def test_report_hands_over_rows_that_took_no_part_and_how_the_file_was_read(
    run: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_command, "page_writer", lambda: fake_page)
    flags = ["--sup-rows", "1-3", "--drop", "w", "--factor", "kind", "--max-mb", 7]
    answer = run("report", table, *flags, "--permutations", 0, "--out", tmp_path / "p.html")
    assert answer.code == 0, answer.err
    seen = fake_page.seen  # type: ignore[attr-defined]
    assert seen["supplementary"].row_names == ("row0", "row1", "row2")
    assert len(seen["table"]) == 9
    assert seen["most_bytes"] == 7_000_000
    reading = seen["reading"]
    assert reading.options == {"roles": {"w": "text", "kind": "factor"}, "supplementary": ["w"]}
    assert (reading.passive, reading.weights) == ((0, 1, 2), None)
    assert mc.read(table, **reading.options).active == ("a", "b", "c")
    assert set(seen["choices"]) == {"inertia", "kaiser", "scree"}
    again = shlex.split(seen["command"])
    assert again[again.index("--max-mb") + 1] == "7.0"
    assert parser().parse_args(again[1:]).permutations == 0


@pytest.fixture
def holed(tmp_path: Path) -> Path:
    """A table with a missing number, a factor, words, and a column that names nothing."""
    lines = ["name,a,b,kind,w,note"]
    rng = np.random.default_rng(1)
    words = ("warm and dry", "cold and dry", "warm and wet", "cold and wet")
    for i, (a, b) in enumerate(rng.standard_normal((14, 2)).round(3)):
        cell = "" if i == 4 else a
        lines.append(f"row{i},{cell},{b},{'xyz'[i % 3]},{1 + i % 4},{words[i % 4]} {i}")
    path = tmp_path / "holed.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


CHOICES = (
    ["--impute", "mean"],
    ["--impute", "mean", "--sup-rows", "row3,6-9", "--method", "pca"],
    ["--impute", "mean", "--weights", "w", "--scale"],
    ["--drop-na", "--factor", "w", "--sup-rows", "2", "--sup-cols", "b"],
    ["--drop-na", "--kernel", "columns()", "--drop", "note", "--weights", "w"],
    ["--impute", "mean", "--impute", "level", "--kernel", "columns()", "--drop", "note"],
)


def test_the_code_of_a_page_finds_the_same_axes_in_a_fresh_process(
    run: Any, holed: Path, tmp_path: Path
) -> None:
    for extra in ("jinja2", "matplotlib"):
        pytest.importorskip(extra)
    codes = []
    for number, flags in enumerate(CHOICES):
        page = tmp_path / f"page{number}.html"
        answer = run("report", holed, *flags, "--permutations", 0, "--out", page)
        assert answer.code == 0, answer.err
        codes.append(value_of(page)["reproduce"]["code"])
    asked = """
import json, sys
for code in json.load(sys.stdin):
    names = {}
    exec(code, names)
    print("axes", json.dumps(names["model"].inertias_.tolist()))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", asked],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    told = [line[5:] for line in done.stdout.splitlines() if line.startswith("axes ")]
    for flags, line in zip(CHOICES, told, strict=True):
        axes = run("fit", holed, *flags, "--json").value["axes"]
        expected = [axis["inertia"] for axis in axes]
        np.testing.assert_allclose(json.loads(line), expected, rtol=1e-9, err_msg=str(flags))


def test_a_missing_category_is_filled_or_a_level_as_asked(run: Any, tmp_path: Path) -> None:
    path, new = tmp_path / "teams.csv", tmp_path / "new.csv"
    path.write_text("x,team\n" + "".join(f"{i % 7},{'abb'[i % 3]}\n" for i in range(12)) + "3,\n")
    new.write_text("x,team\n1,a\n2,\n")
    columns = ("--kernel", "columns()")
    refused = run("fit", path, *columns, "--strict")
    assert refused.code == 3
    assert "make a level of missing categories: --impute level" in refused.err
    model = tmp_path / "model.mercer"
    assert run("fit", path, *columns, "--impute", "level", "--out", model).code == 0
    assert len(run("project", model, new, "--impute", "level").rows) == 2
    assert len(run("project", model, new).rows) == 2
    assert len(run("project", model, new, "--drop-na").rows) == 1
    assert run("project", model, new, "--impute", "mode").code == 2
    assert run("fit", path, *columns, "--impute", "mode").code == 0
    both = run("fit", path, "--impute", "mode", "--impute", "level")
    assert both.code == 2
    assert "not both" in both.err


def value_of(page: Path) -> Any:
    """Return what a page holds for its scripts."""
    text = page.read_text(encoding="utf-8")
    (found,) = re.findall(r"<script[^>]*application/json[^>]*>(.*?)</script>", text, re.DOTALL)
    return json.loads(found)


def test_columns_that_a_kernel_uses_are_said_to_be_used(
    run: Any, holed: Path, tmp_path: Path
) -> None:
    flags = ["--drop-na", "--kernel", "columns()", "--sup-cols", "b"]
    answer = run("fit", holed, *flags)
    assert answer.code == 0, answer.err
    assert '4 variables: "a", "kind", "w", "note"; rows named by "name"' in answer.err
    assert 'supplementary "b"' in answer.err
    assert "not used" not in answer.err
    assert '"note"' not in run("fit", holed, "--drop-na").err.partition("not used")[0]
    both = ["--kernel", "columns()", "--kernel", "gaussian(bandwidth='median')"]
    assert run("compare", holed, "--drop-na", *both, "--permutations", 0).code == 0
    page = tmp_path / "page.html"
    more = ["--sup-rows", "row1", "--permutations", 0, "--out", page]
    assert run("report", holed, *flags, *more).code == 0
    value = value_of(page)
    assert (
        "4 active columns (2 of numbers, 1 of categories, 1 of texts)" in value["data"]["sentence"]
    )
    used = {row[0]: row[2] for row in value["sheets"]["roles"]["rows"]}
    assert used["kind"] == used["note"] == used["a"] == "active"
    assert (used["b"], used["name"]) == ("supplementary", "names of rows")
    assert "which reads 4 columns (a, kind, w and note)" in value["sentences"][0]
    assert value["passive"]["names"] == ["row1"]


def test_a_table_of_factors_is_data_for_a_kernel_that_reads_them(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "factors.csv"
    lines = [f"{'ab'[i % 2]},{'uvw'[i % 3]}" for i in range(12)]
    path.write_text("\n".join(["first,second", *lines]) + "\n")
    assert run("fit", path, "--json").value["analysis"] == "mca"
    assert "mca reads factors" in run("fit", path, "--method", "pca").err
    answer = run("fit", path, "--kernel", "columns()", "--json")
    assert answer.code == 0, answer.err
    assert (answer.value["variables"], len(answer.value["axes"])) == (2, 3)
    assert run("check", path, "--kernel", "columns()").code == 0
    assert "leave --scale out" in run("fit", path, "--kernel", "columns()", "--scale").err
    model = tmp_path / "factors.mercer"
    run("fit", path, "--kernel", "columns()", "--out", model)
    placed = run("project", model, path)
    assert (placed.code, len(placed.rows)) == (0, 12), placed.err


def test_report_leaves_out_permutations_that_would_take_minutes(
    run: Any, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_command, "page_writer", lambda: fake_page)
    monkeypatch.setattr(choose, "PATIENCE", 0.0)
    answer = run("report", table, "--out", tmp_path / "p.html", "--scale", "--json")
    assert "horn" not in fake_page.seen["choices"]  # type: ignore[attr-defined]
    assert any("--permutations 199 asks for them" in said for said in answer.value["warnings"])


def test_report_says_which_extra_is_missing(
    run: Any, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")

    monkeypatch.setattr(pages, "import_module", missing)
    answer = run("report", table)
    assert answer.code == 6
    assert 'jinja2, which is not installed; pip install "mercer[report]"' in answer.err


@pytest.mark.skipif(find_spec("mercer.page") is None, reason="the page is not written yet")
def test_the_real_page_is_written_from_data_and_from_a_model(
    run: Any, table: Path, tmp_path: Path
) -> None:
    for extra in ("jinja2", "matplotlib"):
        pytest.importorskip(extra)
    out, model = tmp_path / "page.html", tmp_path / "m.mercer"
    flags = ["--method", "pca", "--scale", "--sup-cols", "w"]
    answer = run("report", table, *flags, "--permutations", 19, "--out", out, "--json")
    assert answer.code == 0, answer.err
    assert answer.value["bytes"] == out.stat().st_size
    assert "row11" in out.read_text(encoding="utf-8")
    run("fit", table, *flags, "--out", model)
    assert run("report", model, "--permutations", 19, "--out", tmp_path / "b.html").code == 0


# The plan


@pytest.mark.parametrize(
    "argv",
    [
        ["fit", IRIS],
        ["fit", IRIS, "--method", "pca"],
        ["fit", IRIS, "--method", "mds"],
        ["fit", IRIS, "--nystrom", "30"],
        ["fit", EURODIST, "--method", "stress"],
        ["dim", IRIS],
        ["check", IRIS, "--kernel", "linear()"],
        ["check", EURODIST],
    ],
    ids=" ".join,
)
def test_a_plan_says_size_memory_time_and_error_and_computes_nothing(
    run: Any, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    def choosing_alone(work: Any, talk: Any, line: Any) -> Any:
        assert line.what == "choosing"  # among analyses, of which none is made
        return work()

    monkeypatch.setattr("mercer.cli.fits.carry_out", choosing_alone)
    monkeypatch.setattr("mercer.cli.check_command.carry_out", None)
    answer = run(*argv, "--dry-run", "--json")
    assert answer.code == 0, answer.err
    assert {"plan", "individuals", "memory_bytes", "seconds", "error"} <= answer.value.keys()
    assert answer.value["memory_bytes"] > 0
    assert "memory" in run(*argv, "--dry-run").out


def test_a_plan_counts_the_categories_that_are_shuffled(run: Any, tmp_path: Path) -> None:
    seconds = []
    for levels in (2, 40):
        path = tmp_path / f"{levels}.csv"
        rows = [",".join(f"l{(i * k) % levels}" for k in (1, 3, 7)) for i in range(4_000)]
        path.write_text("\n".join(["a,b,c", *rows]))
        seconds.append(run("dim", path, "--dry-run", "--json").value["seconds"])
    assert seconds[1] > 1.2 * seconds[0]


def test_a_plan_beyond_the_budget_says_what_fits(run: Any) -> None:
    answer = run("fit", IRIS, "--method", "kpca", "--dry-run", "--memory", "100kB")
    assert answer.code == 6
    assert "--nystrom" in answer.out or "--exact" in answer.out
    assert run("fit", IRIS, "--method", "kpca", "--memory", "100kB").code == 6


def test_the_plan_of_a_projection_and_of_a_report(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_command, "page_writer", lambda: fake_page)
    model = tmp_path / "m.mercer"
    run("fit", IRIS, "--out", model)
    value = run("project", model, IRIS, "--dry-run", "--json").value
    assert (value["individuals"], value["fitted_individuals"]) == (150, 150)
    assert run("report", IRIS, "--dry-run", "--json").value["individuals"] == 150
    assert run("report", model, "--dry-run", "--json").value["class"] == "PCA"


# Messages and codes


@pytest.mark.parametrize(
    ("text", "flags", "code", "words"),
    [
        ("a,b\n1,2\n3,oops\n5,6\n7,8\n", ["--strict"], 3, ["bad.csv", "oops"]),
        ("a,b\n1,\n3,4\n", ["--strict"], 3, ["bad.csv", '"b"', "--drop-na", "--impute mean"]),
        ("", [], 3, ["bad.csv", "empty"]),
        ("name\nx\ny\n", ["--as", "sets"], 2, ["bad.csv", "3 sets", "--kernel"]),
        ("name,day\nx,2020-01-01\ny,2020-01-02\n", [], 3, ["bad.csv", "no column of numbers"]),
        ("source,target\nx,y\ny,z\n", [], 3, ["bad.csv", "one graph"]),
        ("a,b\n1,2\n3,4\n", ["--rnk", "1"], 2, ["--rnk", "did you mean --rank?", "fit --help"]),
        ("a,b\n1,2\n3,4\n", ["--method", "pac"], 2, ["--method", "did you mean pca?"]),
        ("a,b\n1,2\n3,4\n", ["--rank", "0.5"], 2, ["--rank"]),
        ("a,b\n1,2\n3,4\n", ["--rank", "0"], 2, ["--rank", "found 0"]),
        ("a,b\n1,2\n3,4\n", ["--method", "pca", "--nystrom", "0"], 2, ["--nystrom"]),
        ("a,b\n1,2\n3,4\n", ["--nystrom", "0"], 2, ["0"]),
        ("a,\033[2J\n1,2\n3,\n", ["--strict"], 3, ["\\x1b[2J"]),
        ("a,b\n1,2\n3,4\n", ["--kernel", "gaussian(bandwidth=-1)"], 2, ["--kernel", "bandwidth"]),
        ("a,b\n1,2\n3,4\n", ["--kernel", "__import__('os')"], 2, ["--kernel"]),
        ("a,b\n1,2\n3,4\n", ["--sup-cols", "z"], 2, ['"z"', '"a"']),
        ("a,b\n1,2\n3,4\n", ["--sup-rows", "9"], 2, ["no row 9", "1 to 2"]),
        ("a,b\n1,2\n3,4\n", ["--method", "pca", "--nystrom", "3"], 2, ["--nystrom", "kpca"]),
        ("a,b\n1,2\n3,4\n", ["--kernel", "sigmoid(scale=1,offset=-9)"], 4, ["semidefinite"]),
    ],
    ids=str,
)
def test_a_message_is_one_line_that_says_where_why_and_what_to_do(
    run: Any, tmp_path: Path, text: str, flags: list[str], code: int, words: list[str]
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(text)
    answer = run("fit", bad, "-q", *flags)
    assert answer.code == code, answer.err
    assert answer.out == ""
    (line,) = answer.err.splitlines()
    assert line.startswith("mercer: ")
    for word in words:
        assert word in line
    assert "Traceback" not in line


def test_a_file_that_is_not_there(run: Any) -> None:
    answer = run("fit", "/no/such/file.csv")
    assert answer.code == 3
    assert answer.err == (
        "mercer: /no/such/file.csv cannot be opened: there is no such file. Check the name\n"
    )


def test_files_that_are_something_else(run: Any, table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.mercer"
    run("fit", table, "--out", model)
    assert "mercer project or mercer report" in run("fit", model).err
    assert run("project", table, table).code == 3
    assert run("fit", tmp_path).code == 3
    damaged = bytearray(model.read_bytes())
    damaged[-40] ^= 1
    model.write_bytes(bytes(damaged))
    assert run("project", model, table).code == 3


def test_a_place_that_cannot_be_written(run: Any, table: Path, tmp_path: Path) -> None:
    answer = run("fit", table, "--out", tmp_path / "no" / "m.mercer")
    assert answer.code == 3
    assert "could not be written" in answer.err
    assert [p.name for p in tmp_path.iterdir()] == ["small.csv"]


def test_json_holds_the_error_too(run: Any) -> None:
    answer = run("fit", "nowhere.csv", "--json")
    assert answer.value["exit_code"] == answer.code == 3
    assert answer.value["error"] in answer.err
    assert run("fit", "--json").value["exit_code"] == 2


def test_a_bug_is_one_line_and_a_traceback_only_if_asked_for(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("mercer.cli.fits.asked_analysis", broken)
    answer = run("fit", IRIS)
    assert answer.code == 1
    (line,) = answer.err.splitlines()
    assert "bug" in line
    assert "report" in line
    assert "Traceback" not in line
    assert "Traceback" in run("fit", IRIS, "--debug").err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (mc.errors.InvalidInput("x"), 3),
        (mc.errors.UnreadableFile("x"), 3),
        (mc.errors.CorruptFile("x"), 3),
        (mc.errors.InvalidParameter("x"), 2),
        (mc.errors.WrittenFormError("x"), 2),
        (mc.errors.NotPositiveDefinite("x"), 4),
        (mc.errors.TooLarge("x"), 6),
        (mc.errors.MissingExtra("x"), 6),
        (MemoryError(), 6),
        (OSError(28, "No space left on device"), 6),
        (PermissionError(13, "Permission denied"), 3),
        (KeyError("x"), 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_every_error_has_its_code(error: Exception, code: int) -> None:
    assert code_of(error) == code
    message, told = refusal(error)
    assert told == code
    assert "\n" not in message


def test_not_converged_is_five() -> None:
    from mercer.errors import NotConverged

    assert code_of(NotConverged("x")) == 5
    full = mc.errors.NotSaved("x")
    full.__cause__ = OSError(28, "No space left on device")
    assert code_of(full) == 6


def test_the_librarys_advice_is_translated() -> None:
    option, advice = smaller(20_000, 10, 5, "exact", 20 * 10**6)
    assert option.startswith("method='nystrom' with landmarks=60 takes")
    assert in_flags(option, [advice]).startswith("--nystrom 60 takes")
    cases = [
        (has_nul("a.csv", "line 3"), "name its encoding with encoding=", "with --encoding"),
        (
            invalid_parameter("n_components", "must be 2"),
            "n_components must be 2",
            "--rank must be 2",
        ),
        (not_finite(np.nan, "sample_weight", (3,)), "sample_weight, row 3", "--weights, row 3"),
    ]
    for error, python, flag in cases:
        assert python in str(error)
        assert flag in refusal(error)[0]
        assert all(isinstance(part, Advice) for part in error.advice)


def test_advice_with_a_flag_is_one_that_the_commands_have() -> None:
    known = set(script().replace('"', " ").split())
    named = [*FLAGS.values(), *(text.split()[0] for text in WORDS.values() if "--" in text)]
    assert set(named) <= known


def test_warnings_are_told_once_and_in_the_object(run: Any, tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes("name,a,b\né,1,2\nb,3,4\nc,5,7\n".encode("latin-1"))
    answer = run("fit", latin, "--json", "--method", "pca")
    assert answer.code == 0
    (note,) = answer.value["warnings"]
    assert "--encoding" in note
    assert answer.err.count("mercer: note:") == 1


# Names that are no harm


def test_names_that_look_like_formulas_are_quoted_in_csv(run: Any, tmp_path: Path) -> None:
    evil = tmp_path / "evil.csv"
    evil.write_text("name,a,b\n=1+1,1,2\n@x,3,4\n-y,5,7\nplain,-1,0\n")
    flags = ["--method", "pca", "--coords", "-", "-q"]
    names = [row["individual"] for row in run("fit", evil, *flags).rows]
    assert names == ["'=1+1", "'@x", "'-y", "plain"]
    raw = [row["individual"] for row in run("fit", evil, *flags, "--raw").rows]
    assert raw[0] == "=1+1"
    assert b"-0.5" in csv_bytes({"x": [-0.5]})


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["report", IRIS, "--page", "x.html"], "--out"),
        (["fit", IRIS, "--page", "x.html"], "`mercer report FILE --out page.html`"),
        (["fit", IRIS, "--ncp", 5], "--rank"),
        (["fit", IRIS, "--row.w", "w"], "--weights"),
        (["fit", IRIS, "--quali.sup", "Species"], "--sup-cols"),
        (["fit", IRIS, "--method", "hcpc"], "--clusters"),
        (["cluster", IRIS], "`mercer fit FILE --clusters`"),
        (["pca", IRIS], "`mercer fit FILE --method pca`"),
        (["mca", IRIS], "`mercer fit FILE --method mca`"),
    ],
)
def test_words_of_r_are_answered_with_ours(words: list[Any], meant: str, run: Any) -> None:
    answer = run(*words)
    assert (answer.code, f"did you mean {meant}?" in answer.err) == (2, True), answer.err


# The guide


def test_the_guide_shows_what_is_printed(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("decathlon", "iris", "eurodist"):
        shutil.copy(FOLDER / f"{name}.csv", tmp_path)
    (tmp_path / "missing.csv").write_text("a,b\n1,\n3,4\n")
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "command-line.md").read_text()
    blocks = "".join(re.findall(r"^```console\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE))
    shown = re.findall(r"^\$ mercer (.*)\n((?:(?!\$ ).*\n)*)", blocks, re.MULTILINE)
    assert len(shown) == 7
    for line, expected in shown:
        answer = run(*shlex.split(line))
        assert not expected or about(answer.out + answer.err) == about(expected), line


def about(text: str) -> str:
    """Return the text without the digits that are rounding, which no two machines share."""
    return re.sub(r"\d\.\de-1\d", "rounding", text)


# Completion


def test_the_completion_file_is_that_of_the_parser() -> None:
    written = (ROOT / "completions" / "mercer.bash").read_text()
    assert written == script(), "run: python -m mercer.cli.completion > completions/mercer.bash"
    assert set(COMMANDS) == set(SHOWN)
    assert {"fit", "report", "project", "check", "dim", "demo", "doctor"} <= set(COMMANDS)
    assert {"curve", "compare", "replicates", "graphs"} <= set(COMMANDS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["d"], {"dim", "demo", "doctor"}),
        (["fit", "x.csv", "--ker"], {"--kernel"}),
        (["fit", "--method", "s"], {"stress"}),
        (["demo", "ci"], {"circles"}),
    ],
    ids=["command", "option", "value", "data set"],
)
def test_bash_completes_with_it(words: list[str], expected: set[str]) -> None:
    file = shlex.quote(str(ROOT / "completions" / "mercer.bash"))
    program = (
        f"source {file}; COMP_WORDS=({shlex.join(['mercer', *words])}); "
        f'COMP_CWORD={len(words)}; _mercer; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=True, timeout=600
    )
    assert set(done.stdout.split()) == expected
