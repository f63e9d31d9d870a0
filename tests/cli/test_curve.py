from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import pictures
from mercer.cli import main
from mercer.page.curve import Fit, result, sections
from mercer.pictures.scene import Band, Field, Markers, Rule
from mercer.regression import penalty_path
from mercer.regression.spline import CRITERIA

RNG = np.random.default_rng(21)
X = np.sort(RNG.uniform(0.0, 10.0, 90))
Y = np.sin(X) + 0.1 * X + 0.2 * RNG.standard_normal(90)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "wave.csv"
    rows = zip(X.tolist(), Y.tolist(), RNG.standard_normal(90).tolist(), strict=True)
    lines = [f"{a},{b},{c},{'ab'[i % 2]}\n" for i, (a, b, c) in enumerate(rows)]
    path.write_text("time,height,other,kind\n" + "".join(lines))
    return str(path)


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["curve", *words])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.mark.parametrize("method", ["spline", "ridge", "gp"])
def test_a_curve_is_fitted_told_and_written(
    method: str,
    table: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mercer.page.curve.GRID", 5)
    page, model, fitted = (str(tmp_path / name) for name in ("p.html", "m.mercer", "f.csv"))
    words = [table, "--y", "height", "--x", "time", "--method", method, "--json", "-q"]
    code, out, err = asked(capsys, *words, "--page", page, "--out", model, "--fitted", fitted)
    assert (code, err) == (0, "")
    value = json.loads(out)
    assert value["observations"] == 90
    assert 0.8 < value["explained_from_others"] < value["explained"] < 1.0
    assert np.sqrt(value["noise_variance"]) == pytest.approx(0.2, rel=0.3)
    rows = list(csv.DictReader(io.StringIO(Path(fitted).read_text())))
    loaded: Any = mc.load(model)
    predicted = loaded.predict(X[:, None])
    np.testing.assert_allclose([float(row["fitted"]) for row in rows], predicted, rtol=1e-12)
    truth = np.sin(X) + 0.1 * X
    inside = [float(r["lower"]) < t < float(r["upper"]) for r, t in zip(rows, truth, strict=True)]
    assert np.mean(inside) > 0.8
    text = Path(page).read_text()
    for title in ("Curve", "Residuals", "Likelihood" if method == "gp" else "Penalty"):
        assert f"<h2>{title}</h2>" in text
    assert f"mercer curve {table} --page" in text
    assert "SHA-256" in text


def test_the_spline_of_the_command_is_that_of_the_library(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = asked(capsys, table, "--y", "height", "--x", "time", "--no-page", "--json")
    spline = mc.SmoothingSpline().fit(X, Y)
    value = json.loads(out)
    assert code == 0
    assert value["penalty"] == pytest.approx(spline.penalty_, rel=1e-9)
    assert value["degrees_of_freedom"] == pytest.approx(spline.degrees_of_freedom_, rel=1e-9)
    errors = []
    for i in range(90):
        rest = np.arange(90) != i
        other = mc.SmoothingSpline(spline.penalty_).fit(X[rest], Y[rest])
        errors.append(Y[i] - other.predict(X[i : i + 1])[0])
    expected = 1.0 - np.mean(np.square(errors)) / np.var(Y)
    assert value["explained_from_others"] == pytest.approx(expected, rel=1e-8)


def test_shares_of_weighted_fits_do_not_depend_on_the_unit_of_the_weights() -> None:
    w = RNG.uniform(0.5, 2.0, 90)
    labels = tuple(map(str, range(90)))
    for model in (mc.SmoothingSpline(1.0), mc.KernelRegression(mc.Gaussian(1.0), 1e-3)):
        shares = []
        for unit in (1.0, 50.0):
            weights = unit * w
            penalty = unit if isinstance(model, mc.SmoothingSpline) else 1e-3
            fitted = model.set_params(penalty=penalty).fit(X[:, None], Y, weights)
            fit = Fit(fitted, X[:, None], Y, ("x",), "y", labels, weights=weights)
            assert fit.predicted is not None
            shares.append((fit.explained, fit.predicted))
        np.testing.assert_allclose(shares[0], shares[1], rtol=1e-9)
        mean = np.average(Y, weights=w)
        spread = np.average((Y - mean) ** 2, weights=w)
        left = np.average((Y - fitted.predict(X[:, None])) ** 2, weights=w)
        assert shares[0][0] == pytest.approx(1.0 - left / spread, rel=1e-9)


def test_several_columns_are_explained_by_ridge(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = str(tmp_path / "p.html")
    code, out, _ = asked(capsys, table, "--y", "height", "--scale", "--page", page, "--json")
    value = json.loads(out)
    assert code == 0
    assert (value["model"], value["x"]) == ("KernelRegression", ["time", "other"])
    assert "<h2>Values</h2>" in Path(page).read_text()
    code, out, err = asked(capsys, table, "--y", "height", "--dry-run")
    assert code == 0
    assert "KernelRegression of 90 observations" in out + err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--y", "kind"], 3, "factor"),
        (["--y", "heights"], 2, "heights"),
        (["--y", "height", "--method", "spline"], 2, "a spline reads one column"),
        (["--y", "height", "--x", "time", "--method", "spline", "--kernel", "linear()"], 2, "own"),
        (["--y", "height", "--method", "gp", "--penalty", "1"], 2, "--penalty"),
        (["--y", "height", "--kernel", "intersection()"], 2, "does not read columns"),
        (["--y", "height", "--x", "time,kind"], 3, "'kind' holds no numbers"),
        (["--y", "height", "--x", "time", "--penalty", "-1"], 2, "penalty"),
        (["--y", "height", "--fitted", "-", "--json"], 2, "--fitted -"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    words: list[str],
    code: int,
    message: str,
    table: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, _, err = asked(capsys, table, *words, "--no-page")
    assert found == code, err
    assert message in err


def test_a_page_that_exists_is_kept(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "p.html"
    page.write_text("mine")
    words = [table, "--y", "height", "--x", "time", "--page", str(page)]
    assert asked(capsys, *words)[0] == 2
    assert page.read_text() == "mine"


def test_the_bands_on_the_page_are_those_of_the_model() -> None:
    spline = mc.SmoothingSpline().fit(X, Y)
    fit = Fit(spline, X[:, None], Y, ("x",), "y", tuple(map(str, range(90))))
    panel: Any = sections(fit)[0].pictures[0]
    wide, narrow = panel.of_kind(Band)
    lower, upper = spline.confidence_band(narrow.x)
    np.testing.assert_allclose([narrow.low, narrow.high], [lower, upper], rtol=1e-12)
    _, deviation = spline.predict(narrow.x, return_std=True)
    z = 0.5 * (upper - lower) / deviation
    half = z * np.sqrt(deviation**2 + spline.noise_variance_)
    np.testing.assert_allclose(wide.high - 0.5 * (lower + upper), half, rtol=1e-9)
    assert any("degrees of freedom" in sentence for sentence in result(fit))


def test_the_surface_of_a_process_is_its_likelihood() -> None:
    process = mc.GaussianProcess(random_state=0).fit(X[:40, None], Y[:40])
    fit = Fit(process, X[:40, None], Y[:40], ("x",), "y", tuple(map(str, range(40))))
    panel: Any = sections(fit)[2].pictures[0]
    field, mark = panel.of_kind(Field)[0], panel.of_kind(Markers)[0]
    assert field.scale.values.max() <= process.log_likelihood() + 1e-9
    assert field.scale.values.max() > process.log_likelihood() - 0.1
    i, j = 5, 17
    at = {"kernel__bandwidth": field.x[j], "noise_variance": field.y[i] ** 2}
    expected = max(process.log_likelihood(at), process.log_likelihood() - 20.0)
    assert field.scale.values[i, j] == pytest.approx(expected, rel=1e-12)
    assert mark.y[0] == pytest.approx(np.sqrt(process.noise_variance_))


def test_a_path_of_penalties_has_its_least_score_where_one_is_chosen() -> None:
    for criterion in CRITERIA:
        spline = mc.SmoothingSpline(criterion=criterion).fit(X, Y)
        path = penalty_path(spline)
        assert path.criterion == criterion
        assert spline.criterion_ is not None
        assert path.scores.min() >= spline.criterion_ - 1e-12 * abs(spline.criterion_)
        nearest = path.penalties[np.argmin(path.scores)]
        assert abs(np.log10(nearest / spline.penalty_)) < 0.5
        ridge = mc.KernelRegression(mc.Gaussian(1.0), criterion=criterion).fit(X[:, None], Y)
        path = penalty_path(ridge)
        assert ridge.criterion_ is not None
        assert path.scores.min() >= ridge.criterion_ - 1e-8 * abs(ridge.criterion_)
        assert abs(np.log10(path.penalties[np.argmin(path.scores)] / ridge.penalty_)) < 0.5
    freedoms = [mc.SmoothingSpline(p).fit(X, Y).degrees_of_freedom_ for p in (1e-3, 1.0)]
    path = penalty_path(mc.SmoothingSpline(1.0).fit(X, Y), count=200)
    between = np.interp(np.log([1e-3, 1.0]), np.log(path.penalties), path.degrees_of_freedom)
    np.testing.assert_allclose(between, freedoms, rtol=0.02)


def test_paths_that_are_not_known_are_refused() -> None:
    spline = mc.SmoothingSpline(1.0).fit(X, Y)
    with pytest.raises(mc.errors.InvalidParameter, match="gcv, loo, reml"):
        penalty_path(spline, criterion="cv")
    absolute = mc.KernelRegression(mc.Gaussian(1.0), 1e-2, loss="absolute").fit(X[:, None], Y)
    with pytest.raises(mc.errors.InvalidParameter, match="squared loss"):
        penalty_path(absolute)


def test_pictures_of_fits_show_their_values() -> None:
    panel = pictures.residuals.describe(X, Y - Y.mean(), deviation=0.5)
    assert [rule.at for rule in panel.of_kind(Rule)] == [0.0, -1.0, 1.0]  # type: ignore[union-attr]
    many = pictures.residuals.describe(np.arange(12_000.0), np.ones(12_000))
    assert many.notes == ("One point of every 3 is drawn.",)
    with pytest.raises(mc.errors.InvalidInput, match="shape"):
        pictures.residuals.describe(X, Y[1:])
    sheet = pictures.penalty_path.describe(penalty_path(mc.SmoothingSpline().fit(X, Y)))
    assert [panel.y.title for panel in sheet.panels][1] == "degrees of freedom"
    assert (
        pictures.against_observed.describe(Y, Y).x.limits
        == pictures.against_observed.describe(Y, Y).y.limits
    )


def test_what_is_missing_matters_in_the_columns_of_the_function_alone(
    run: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 6, 30))
    rows = [f"{a:.4f},{np.sin(a):.4f},{'' if i % 3 else 'f'}" for i, a in enumerate(x)]
    rows[4] = f"{x[4]:.4f},,f"
    file = tmp_path / "holes.csv"
    file.write_text("x,y,sex\n" + "\n".join(rows) + "\n")
    words = ("curve", file, "--y", "y", "--x", "x", "--no-page")
    answer = run(*words, "--drop-na")
    assert answer.code == 0
    assert f"{file}: 1 of 30 rows left out: 1 without a number" in answer.err
    assert answer.out.startswith("29 observations: y as a function of x.")
    usual = run(*words)
    assert (usual.code, usual.out) == (0, answer.out)
    assert "1 of 30 rows left out: 1 without a number. --strict refuses such files" in usual.err
    refused = run(*words, "--strict")
    assert refused.code == 3
    assert '1 number is missing, in column "y" (1)' in refused.err
    assert "--drop-na leaves out 1 of 30 rows" in refused.err


def test_what_is_explained_is_never_filled_in(run: Any, tmp_path: Path) -> None:
    """A value put there would count as an observation that nobody made."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 6, 40)
    rows = [f"{a:.4f},{np.sin(a):.4f}" for a in x]
    rows[7], rows[9] = f"{x[7]:.4f},", ",0.5"
    file, page = tmp_path / "holes.csv", tmp_path / "page.html"
    file.write_text("x,y\n" + "\n".join(rows) + "\n")
    answer = run("curve", file, "--y", "y", "--impute", "mean", "--page", page, "--json")
    assert answer.value["observations"] == 39
    assert "1 of 40 rows left out: y, which is explained, is missing there" in answer.err
    assert "1 missing number replaced by the mean of the column" in answer.err
    assert "1 of 40 rows left out: y, which is explained, is missing there." in page.read_text()


def test_a_penalty_without_bound_is_said_to_be_a_straight_line(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "line.csv"
    rng = np.random.default_rng(3)
    x = np.linspace(0.0, 1.0, 40)
    y = 2.0 * x + 0.3 * rng.standard_normal(40)
    file.write_text("x,y\n" + "\n".join(f"{a:.6f},{b:.6f}" for a, b in zip(x, y, strict=True)))
    answer = run("curve", file, "--y", "y", "--x", "x", "--no-page", "--penalty", "inf")
    said = answer.out if answer.code == 0 else ""
    assert "penalty inf" not in said
    assert "2.0 degrees of freedom; a straight line, for the penalty is without bound" in said
