from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import datasets, pictures
from mercer.data.table import Table
from mercer.page import Section, document
from mercer.page.data import describe
from mercer.page.panels import map_sections
from mercer.page.sections import sheet_of, with_sections
from mercer.page.sentences import analysis
from mercer.page.subject import subject_of
from mercer.page.write import unbroken
from mercer.pictures.scene import Axis, Markers, Panel
from mercer.pictures.surfaces import variables_to_show
from tests.hostile import HOSTILE


def test_a_section_needs_no_model() -> None:
    value: dict[str, Any] = {"panels": {}, "sheets": {}}
    bend = pictures.curves.describe([0.0, 1.0], {"g": [0.0, 2.0]}, title="A rise", notes=("Said.",))
    section = Section("More", ["It rises."], [bend], {"Sizes": {"who": ["a"], "size": [1.5]}})
    found = with_sections(value, [section])
    (listed,) = found["sections"]
    (name,) = listed["panels"]
    assert found["panels"][name] is bend
    assert found["sheets"][listed["sheets"][0]]["rows"] == [["a", 1.5]]


def test_columns_of_unequal_length_are_no_table() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="'Sizes' must have equal lengths"):
        sheet_of("t", "Sizes", {"a": [1.0], "b": [1.0, 2.0]})


def test_hostile_words_of_sections_are_words(tmp_path: Path) -> None:
    def hostile(word: str) -> Section:
        points = Markers(np.array([0.5]), np.array([0.5]), name=word, names=(word,))
        picture = Panel((points,), Axis(word), Axis(word), title=word, notes=(word,))
        return Section(word, [word], [picture], {word: {word: [word]}})

    def written(name: str, words: tuple[str, ...]) -> str:
        target, said = tmp_path / name, " ".join(words)
        sections = [hostile(word) for word in words]
        page = document(target, said, words, sections, code=said, command=said)
        return page.read_text(encoding="utf-8")

    tame = written("tame.html", tuple(f"word {i}" for i in range(len(HOSTILE))))
    wild = written("wild.html", tuple(HOSTILE))
    for mark in ("<script", "</script", "<img", "<iframe", "<a ", "<svg", "<b", "<style"):
        assert wild.count(mark) == tame.count(mark), mark


def test_a_page_adds_sections_to_what_a_model_says(tmp_path: Path) -> None:
    model = mc.PCA(2).fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    section = Section("Stability", ["Two axes are stable."])
    page = mc.report(model, tmp_path / "p.html", choices={}, sections=[section])
    text = page.read_text(encoding="utf-8")
    assert "<h2>Stability</h2>" in text
    assert text.index("What the axes mean</h2>") < text.index("<h2>Stability")
    assert text.index("<h2>Stability") < text.index("<h2>Reproduce")


def test_the_page_of_a_map_shows_how_well_it_fits() -> None:
    cities = datasets.us_cities()
    model = mc.ClassicalMDS(2).fit(cities.values)
    value = describe(model, table=cities, choices={})
    (section,) = map_sections(model, value)
    eigenvalues, shepard, heat = section.pictures
    heights = np.concatenate([m.y for m in eigenvalues.of_kind(Markers)])  # type: ignore[union-attr]
    np.testing.assert_allclose(np.sort(heights), np.sort(model.eigenvalues_))
    assert isinstance(shepard, Panel)
    given, *_ = shepard.of_kind(Markers)
    assert len(given.x) == 36  # type: ignore[union-attr]
    assert "BOSTON" in [text for _, text in heat.y.ticks or ()]  # type: ignore[union-attr]
    assert map_sections(mc.PCA().fit(np.eye(3)), value) == []


def test_supplementary_individuals_are_shown_where_they_are_projected() -> None:
    table = datasets.iris()
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0)).fit(table[10:])
    passive = table[:10]
    value = describe(model, table=table[10:], choices={}, supplementary=passive)
    expected = model.transform(passive.matrix())
    np.testing.assert_allclose(np.transpose(value["passive"]["coordinates"]), expected)
    assert "Hollow: 10 supplementary individuals." in value["panels"]["plane-1-2"].notes
    assert len(value["sheets"]["passive"]["rows"]) == 10
    assert describe(model, choices={})["passive"] is None


def test_a_kernel_of_scaled_columns_is_said_in_one_number() -> None:
    x = np.random.default_rng(0).standard_normal((20, 3)) * [1.0, 10.0, 100.0]
    kernel = mc.Gaussian(tuple((2.0 * x.std(axis=0)).tolist()))
    said = analysis(subject_of(mc.KernelPCA(2, kernel=kernel).fit(x)))
    assert said == "Gaussian kernel on standardised columns (bandwidth 2)"
    other = mc.Gaussian((1.0, 2.0, 3.0))
    said = analysis(subject_of(mc.KernelPCA(2, kernel=other).fit(x)))
    assert said == "Gaussian kernel (a bandwidth for each of 3 variables)"


def test_eigenfunctions_are_shown_over_two_variables_that_differ() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 60))
    x = np.column_stack([3.0 * a, 3.0 * a + 1e-3 * b, b])  # the first two are one
    model = mc.KernelPCA(2, kernel=mc.Gaussian(3.0)).fit(x)
    chosen = variables_to_show(model.variables_, x)
    assert 2 in chosen
    assert len(set(chosen)) == 2


def test_numbers_are_not_cut_at_the_end_of_a_line() -> None:
    assert str(unbroken("1e-9 & <b>")) == '<span class="whole">1e-9</span> &amp; &lt;b&gt;'


def test_the_code_reads_the_file_as_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("aab\nabb\nbba\nbab\n")
    data = mc.read(file, "strings")
    model = mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2)).fit(data)
    value = describe(model, choices={}, source=file, name="p.html", reading={"what": "strings"})
    namespace: dict[str, Any] = {}
    exec(value["reproduce"]["code"].replace("'p.html'", repr(str(tmp_path / "p.html"))), namespace)
    np.testing.assert_array_equal(namespace["model"].eigenvalues_, model.eigenvalues_)


def test_what_was_analysed_is_summed_and_nothing_else() -> None:
    def total(model: Any, table: Any) -> str | None:
        facts = describe(model, table=table, choices={})["reproduce"]["facts"]
        return dict(facts).get("SHA-256 of the active columns")

    words = ("aab", "abb", "bba", "bab")
    beside = Table.of({"size": [1.0, 2.0, 3.0, 4.0]}, supplementary=["size"])
    of_words = mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2)).fit(words)
    assert total(of_words, beside) is None
    assert "1 column, none of them active" in describe(of_words, table=beside)["data"]["sentence"]
    columns = {"x": [1.0, 2.0, 4.0, 7.0], "kind": list("aabb"), "other": list("uvvu")}
    tables = [Table.of(columns), Table.of({**columns, "kind": list("abab")})]
    tables.append(Table.of({**columns, "other": list("uuvv")}))
    kernel = mc.Columns({"x": mc.Linear(), "kind": mc.kernels.Category()})
    sums = [total(mc.KernelPCA(2, kernel=kernel).fit(table), table) for table in tables]
    assert sums[0] == sums[2] is not None  # what the kernel does not look at does not count
    assert sums[0] != sums[1]


def test_weights_of_python_are_asked_for_in_the_code(tmp_path: Path) -> None:
    x = np.arange(8.0).reshape(4, 2) ** 2
    model = mc.PCA(2).fit(x, sample_weight=[1.0, 2.0, 1.0, 1.0])
    assert ".fit(data, sample_weight=weights)" in describe(model, choices={})["reproduce"]["code"]
    assert ".fit(data)" in describe(mc.PCA(2).fit(x), choices={})["reproduce"]["code"]


def test_a_kernel_too_long_for_the_page_is_not_cut_in_two() -> None:
    x = 0.02 * np.random.default_rng(0).standard_normal((4, 2_000))
    model = mc.KernelPCA(1, kernel=mc.Gaussian(tuple(1.0 + np.abs(x[0])))).fit(x)
    code = describe(model, choices={})["reproduce"]["code"]
    assert "too long" in code
    compile(code, "page", "exec")


def test_names_of_supplementary_individuals_touch_no_point() -> None:
    table = datasets.decathlon()
    model = mc.PCA(2, standardize=True).fit(table[8:])
    value = describe(model, table=table[8:], choices={}, supplementary=table[:8])
    ax = pictures.draw(value["panels"]["plane-1-2"])
    ax.figure.draw_without_rendering()
    points = np.vstack([ax.transData.transform(c.get_offsets()) for c in ax.collections])
    assert len(points) == 41 + 2  # and the barycentres of both meetings
    assert table.row_names is not None
    named = {text.get_text() for text in ax.texts}
    assert len(named & set(table[:8].row_names)) >= 4
    for text in (t for t in ax.texts if t.get_text() in table.row_names):
        box = text.get_window_extent()
        assert not any(box.contains(*point) for point in points), text.get_text()


def test_the_code_of_a_stored_model_loads_it(tmp_path: Path) -> None:
    file = tmp_path / "m.mercer"
    model = mc.PCA(2).fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    model.save(file)
    code = describe(model, choices={}, source=file)["reproduce"]["code"]
    assert f"mc.load({str(file)!r})" in code
    assert "mc.read" not in code


def test_axes_of_counts_are_told_by_who_makes_them() -> None:
    counts = Table.of(
        {"wife": [156, 82, 12, 1], "husband": [2, 10, 75, 40], "both": [14, 15, 4, 90]},
        row_names=["laundry", "meals", "driving", "holidays"],
    )
    value = describe(mc.analyse(counts, random_state=0, method="ca"), choices={})
    first, second = value["description"][:2]
    model = mc.CA().fit(counts)
    shares = model.columns_.contributions[:, 0]
    told = first["sentences"][0]
    for name, share in zip(model.columns_.names, shares, strict=True):
        assert (str(name) in told) == bool(share > 1.0 / 3.0)
    assert told.startswith("Columns: ")
    assert first["sentences"][1].startswith("Rows: ")
    assert not any("beyond chance" in text or "r = " in text for text in second["sentences"])


@pytest.mark.filterwarnings("ignore::mercer.errors.Misleading")  # equal axes
def test_classes_of_counts_are_told_by_the_shares_of_a_row() -> None:
    one = np.array([[80, 9, 11], [70, 16, 14], [75, 14, 11], [82, 7, 11]])
    shares = np.vstack([one, one[:, [1, 0, 2]], one[:, [2, 1, 0]]])
    totals = np.array([1, 50, 20, 40, 2, 30, 3, 60, 25, 1, 45, 2])  # says nothing of the shares
    counts = shares * totals[:, np.newaxis]
    names = [f"row {i}" for i in range(len(counts))]
    table = Table.of({c: counts[:, k] for k, c in enumerate("abc")}, row_names=names)
    made = mc.analyse(table, random_state=0, method="ca")
    found = describe(made, choices={})
    value = found["groups"]
    assert "the rows form 3 classes" in value["sentences"][0]
    assert found["sheets"]["classes"]["columns"][1]["name"] == "rows"
    told = sorted(row[2] for row in found["sheets"]["classes"]["rows"])
    assert [text.partition(" (")[0] for text in told] == ["a high", "b high", "c high"]
    assert all(" %; all " in text for text in told)


def test_arrows_of_a_curved_map_of_counts_point_to_larger_shares() -> None:
    counts = np.array([[90, 10], [9, 1], [60, 40], [600, 400], [3, 7], [30, 70], [100, 900]])
    names = [f"row {i}" for i in range(len(counts))]
    table = Table.of({"a": counts[:, 0], "b": counts[:, 1]}, row_names=names)
    kernel = mc.kernels.ChiSquare().gaussian(bandwidth="median")
    subject = subject_of(mc.KernelPCA(1, kernel=kernel).fit(table), table)
    (arrows,) = (e for e in subject.elements if e.of == "variables")
    first, second = arrows.coordinates[:, 0]
    assert abs(first + second) < 1e-9  # shares of two columns are opposite
    assert abs(first) > 0.9


def test_bars_of_a_mixed_analysis_are_judged_by_the_mean_of_their_kind() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=40)
    table = Table.of(
        {
            **{f"x{i}": x + rng.normal(size=40) for i in range(3)},
            **{
                f"f{i}": np.where(x + rng.normal(size=40) > 0, "a", "b").astype(object)
                for i in "uvwz"
            },
        }
    )
    value = describe(mc.FAMD().fit(table), table=table, choices={})
    for name in ("contributions-1", "others-1"):
        bars, rule = value["panels"][name].marks
        lengths = np.asarray(bars.lengths)
        assert rule.at == pytest.approx(lengths.mean(), rel=1e-12)
        assert {lengths.max() >= rule.at > lengths.min()} == {True}
    totals = [np.sum(value["panels"][n].marks[0].lengths) for n in ("contributions-1", "others-1")]
    assert sum(totals) == pytest.approx(1.0, abs=1e-12)
