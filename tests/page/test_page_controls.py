"""The controls of a page move everything: checked in a real browser on the page of an analysis."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.analysis import Analysis
from mercer.data.table import Table
from mercer.datasets import decathlon, iris
from mercer.pictures.clouds import ellipse, hull, is_elliptic
from mercer.pictures.labels import cut
from tests.browser import Visit, visit

PLACES = """(name) => mercer.pictures[name].frames[0].hits
    .filter((h) => h.mark.of === "individuals" && h.mark.painted)
    .map((h) => [h.mark.ids[h.i], h.u])"""
"""Whom a map shows, and where across it."""


@pytest.fixture(scope="module")
def made() -> Analysis:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.ReadingWarning)
        return mc.analyse(decathlon(), random_state=0)


@pytest.fixture(scope="module")
def opened(browser: Any, made: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = mc.report(made, tmp_path_factory.mktemp("controls") / "page.html", choices={})
    with visit(browser, path) as seen:
        seen.unfold()
        yield seen


@pytest.fixture
def seen(opened: Visit) -> Visit:
    opened.ask("mercer.page.filter(0)")
    opened.ask("mercer.page.move([0, 1])")
    opened.ask("mercer.page.paint(mercer.page.firstColour)")
    opened.ask("mercer.page.select([])")
    return opened


def test_the_axes_move_both_maps(seen: Visit, made: Analysis) -> None:
    assert made.curved is not None
    seen.page.get_by_label("Across").select_option("2")
    for name, model in (("plane-1-2", made.model), ("curved", made.curved)):
        share = model.explained_variance_ratio_[2]
        assert seen.texts(f"#figure-{name} .x-title") == [f"Dim 3 ({100 * share:.1f} %)"]
        ids, across = np.transpose(seen.page.evaluate(f"({PLACES})('{name}')"))
        F = model.individuals_.coordinates[ids.astype(int), 2]
        assert np.corrcoef(across, F)[0, 1] == pytest.approx(1.0, abs=1e-6)
    assert seen.messages == []


def test_an_axis_that_is_chosen_twice_changes_places_with_the_other(seen: Visit) -> None:
    for label, other in (("Across", 1), ("Up", 0)):
        before = seen.ask("mercer.page.axes")
        seen.page.get_by_label(label).select_option(str(before[other]))
        after = seen.ask("mercer.page.axes")
        assert after == before[::-1]
        menus = [seen.page.get_by_label(name).input_value() for name in ("Across", "Up")]
        assert menus == [str(axis) for axis in after]


def test_a_selection_shows_on_both_maps_and_takes_labels_with_it(seen: Visit) -> None:
    def kept() -> list[list[int]]:
        found: list[list[int]] = seen.ask(
            """["plane-1-2", "curved"].map((name) => mercer.pictures[name].frames[0].linked
                .filter((l) => l.isText && l.mark.of === "individuals")
                .flatMap((l) => l.nodes.flatMap((n, i) =>
                    n && n.getAttribute("display") !== "none" ? [l.mark.ids[i]] : [])))"""
        )
        return found

    before = kept()
    assert min(map(len, before)) > 5
    chosen = before[0][:2]
    seen.ask(f"mercer.page.select({chosen})")
    for named in kept():
        assert set(named) <= set(chosen)  # a label does not outlive its point
    bright = """[...document.querySelectorAll("#figure-curved .painted path[data-id]")]
        .filter((p) => Number(p.getAttribute("opacity")) > 0.2).map((p) => Number(p.dataset.id))"""
    assert sorted(seen.ask(bright)) == sorted(chosen)


def test_the_axes_move_contributions_headings_and_tables(seen: Visit, made: Analysis) -> None:
    seen.page.get_by_label("Across").select_option("2")
    share = made.model.explained_variance_ratio_[2]
    title = f"Contributions of variables to Dim 3 ({100 * share:.1f} %)"
    assert seen.texts("#figure-contributions-1 h3") == [title]
    assert seen.texts("#figure-contributions-2 h3")[0].startswith(
        "Contributions of variables to Dim 2"
    )
    shares = made.model.variables_.contributions[:, 2]
    best = made.model.variables_.names[int(np.argmax(shares))]
    frame = "mercer.pictures['contributions-1'].frames[0]"
    names, lengths = seen.ask(
        f"[{frame}.panel.y.ticks.map((t) => t[1]), {frame}.panel.marks[0].lengths]"
    )
    assert names[0] == best
    np.testing.assert_allclose(lengths, np.sort(shares)[::-1][: len(lengths)], rtol=1e-5)
    heads = seen.texts("[data-sheet=variables] th")
    assert heads[1:4] == ["correlation 3", "correlation 2", "correlation 1"]
    assert "Dim 3" in seen.texts("[data-sheet=individuals] th")
    first = seen.page.locator("[data-sheet=variables] tbody td").first.text_content()
    worth = made.model.variables_.cos2[:, [1, 2]].sum(axis=1)
    assert first == made.model.variables_.names[int(np.argmax(worth))]


def test_the_axes_move_what_they_mean(seen: Visit) -> None:
    def told() -> list[str]:
        return [title.split(" (")[0] for title in seen.texts("#meaning dt")]

    def folded() -> list[str]:
        return [title.split(" (")[0] for title in seen.texts("#further-meaning dt")]

    before = told(), folded()
    assert before[0][:2] == ["Dim 1", "Dim 2"]
    third = next(t for t in seen.texts("#axes dt") if t.startswith("Dim 3"))
    words = seen.ask(
        "[...document.querySelectorAll('#axes dt')].find((t) => "
        f"t.textContent === {third!r}).nextElementSibling.textContent"
    )
    seen.page.get_by_label("Across").select_option("2")
    assert told()[:2] == ["Dim 3", "Dim 2"]
    assert seen.texts("#meaning dd")[0] == words
    assert sorted([*told(), *folded()]) == sorted([*before[0], *before[1]])
    assert folded()[-1] == "How to read this"
    seen.page.get_by_label("Up").select_option("7")  # beyond those that are described
    assert told()[:2] == ["Dim 3", "Dim 8"]
    assert "describe_axes(model, axes=8)" in seen.texts("#meaning dd")[1]
    seen.ask("mercer.page.move([0, 1])")
    assert (told(), folded()) == before


def test_supplementary_elements_stand_in_tables(seen: Visit) -> None:
    numbers = seen.texts("[data-sheet='supplementary variables'] tbody td:first-child")
    assert "Rank" in numbers
    levels = seen.texts("[data-sheet='supplementary categories'] tbody td:first-child")
    assert set(levels) == {"Decastar", "OlympicG"}


def test_a_filter_acts_on_maps_circle_tables_and_captions(seen: Visit, made: Analysis) -> None:
    seen.page.get_by_label("cos2 below").fill("0.5")
    cos2 = made.model.individuals_.cos2[:, :2].sum(axis=1)
    hidden = int(np.sum(cos2 < 0.5))
    assert (
        f"{hidden} of 41 individuals have a cos2 below 0.5"
        in seen.texts("#figure-plane-1-2 figcaption")[0]
    )
    assert "left out by the filter" in seen.texts("[data-sheet=individuals] caption")[0]
    assert seen.page.locator("[data-sheet=individuals] tbody tr").count() == 41 - hidden
    weak = int(np.sum(made.model.variables_.cos2[:, :2].sum(axis=1) < 0.5))
    faint = """[...document.querySelectorAll("#figure-circle .arrow")]
        .filter((a) => Number(a.getAttribute("opacity")) < 0.1).length"""
    assert seen.ask(faint) >= weak > 0
    seen.page.get_by_label("cos2 below").fill("0")
    assert seen.ask(faint) == 0


def test_every_column_colours_and_classes_too(seen: Visit) -> None:
    control = seen.page.get_by_label("Colour by")
    offered = control.locator("option").all_text_contents()
    assert set(decathlon().active) | {"Rank", "Points", "Competition", "class"} <= set(offered)
    control.select_option(label="class")
    for name in ("plane-1-2", "curved"):
        assert seen.texts(f"#figure-{name} .legend .key") == ["class"]
    caption = seen.texts("#figure-plane-1-2 figcaption")[0]
    assert "Ellipses" in caption or "Dashed outlines" in caption
    control.select_option(label="100m")
    assert "Ellipses" not in seen.texts("#figure-plane-1-2 figcaption")[0]
    assert "100m" in seen.texts("[data-sheet=individuals] th")


def test_outlines_of_scripts_are_those_of_python(seen: Visit) -> None:
    rng = np.random.default_rng(0)
    t = np.linspace(-1.0, 1.0, 60)
    clouds = {
        "normal": rng.standard_normal((60, 2)) @ np.array([[2.0, 0.3], [0.0, 0.5]]),
        "horseshoe": np.column_stack([t, t**2]) + 0.01 * rng.standard_normal((60, 2)),
        "few": rng.standard_normal((5, 2)),
        "two": rng.standard_normal((60, 2)) + 12.0 * (t > 0)[:, None],
    }
    for name, points in clouds.items():
        found = seen.page.evaluate(
            "([xs, ys]) => mercer.outline([xs, ys], xs.map(() => 1), mercer.page.value.look)",
            points.T.tolist(),
        )
        assert is_elliptic(points) == (name == "normal") == (found["dash"] == "solid")
        at = np.column_stack([found["x"], found["y"]])
        if name == "normal":
            line = ellipse(points).line
            assert line is not None
            inverse = np.linalg.inv(np.cov(points.T))
            gaps = at - points.mean(axis=0)
            np.testing.assert_allclose(np.einsum("ij,jk,ik->i", gaps, inverse, gaps), 5.9914645)
        else:
            np.testing.assert_allclose(at, hull(points))


def test_a_picture_is_saved_as_a_page_of_paper(seen: Visit, tmp_path: Path) -> None:
    imread = pytest.importorskip("matplotlib.image").imread

    def saved(kind: str) -> bytes:
        with seen.page.expect_download() as waiting:
            button = seen.page.locator("#figure-curved").get_by_label(f"Save as {kind}")
            button.click(force=True)
        return Path(waiting.value.path()).read_bytes()

    paper = saved("PDF")
    assert paper.startswith(b"%PDF-1.4")
    start = int(paper.rsplit(b"startxref\n", 1)[1].split(b"\n")[0])
    assert paper[start : start + 4] == b"xref"
    # It holds the pixels of the picture, one for one, each of its parts where the table says.
    image = np.round(255 * imread(io.BytesIO(saved("PNG")), format="png")).astype(np.uint8)[..., :3]
    head, _, rest = paper.partition(b"/Subtype /Image")[2].partition(b"stream\n")
    length = int(re.search(rb"/Length (\d+)", head).group(1))  # type: ignore[union-attr]
    pixels = np.frombuffer(zlib.decompress(rest[:length]), np.uint8)
    np.testing.assert_array_equal(pixels.reshape(image.shape), image)
    assert np.ptp(image.reshape(-1, 3).astype(int), axis=0).min() > 100  # something is drawn
    for k, line in enumerate(paper[start:].split(b"\n")[3:8], 1):
        assert paper[int(line.split()[0]) :].startswith(b"%d 0 obj" % k)
    if shutil.which("pdftoppm") is None:
        return
    made = tmp_path / "made.pdf"
    made.write_bytes(paper)
    fine = image.shape[1] / float(re.search(rb"/MediaBox \[0 0 ([\d.]+)", paper).group(1))  # type: ignore[union-attr]
    command = ["pdftoppm", "-r", f"{72 * fine:.0f}", "-png", "-singlefile"]
    subprocess.run([*command, str(made), str(tmp_path / "made")], check=True)
    drawn = np.round(255 * imread(str(tmp_path / "made.png"))).astype(int)[..., :3]
    assert drawn.shape == image.shape
    away = (drawn - image)[: len(image) // 8 * 8, : image.shape[1] // 8 * 8]  # edges are smoothed
    blocks = away.reshape(len(away) // 8, 8, -1, 8, 3).mean(axis=(1, 3))
    assert np.abs(blocks).mean() < 1.0
    assert np.abs(blocks).max() < 64.0


def test_a_standard_page_is_short_dark_where_the_reader_is_and_saved_light(
    browser: Any, tmp_path: Path
) -> None:
    made = mc.analyse(iris(), random_state=0)
    path = mc.report(made, tmp_path / "iris.html")
    assert path.stat().st_size < 1_000_000
    with visit(browser, path) as seen:
        assert seen.ask("document.documentElement.scrollHeight") < 4_000
        ground = "document.querySelector('#figure-curved .ground').getAttribute('fill')"
        assert seen.ask(ground) == "#ffffff"
        seen.page.emulate_media(color_scheme="dark")
        seen.page.wait_for_selector("#figure-curved .ground[fill='#151a21']")
        assert seen.ask(ground) == "#151a21"
        words = "getComputedStyle(document.querySelector('.result')).color"
        assert seen.ask(words) == "rgb(228, 232, 238)"
        with seen.page.expect_download() as waiting:
            seen.page.locator("#figure-curved").get_by_label("Save as SVG").click(force=True)
        saved = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert "#151a21" not in saved
        assert "Species" in saved  # the legend
        assert "Curved map" in saved  # the title
        named = seen.texts("#figure-circle .labels text")
        assert set(named) == set(iris().active)  # all arrows are long, and all are named
        assert seen.ask(ground) == "#151a21"
        assert seen.messages == []


def test_a_map_opens_on_the_axis_that_parts_groups_and_a_column_may_be_called_class(
    browser: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    t, group = rng.uniform(0.0, 2.0 * np.pi, 90), np.arange(90) % 2
    radius = np.where(group == 0, 1.0, 0.4) + 0.04 * rng.normal(size=90)
    columns = {"x": radius * np.cos(t), "y": radius * np.sin(t)}
    table = Table.of({**columns, "Class": np.array(["out", "in"], object)[group]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.ReadingWarning)
        made = mc.analyse(table, random_state=0)
    with visit(browser, mc.report(made, tmp_path / "page.html", choices={})) as seen:
        control = seen.page.get_by_label("Colour by")
        assert control.locator("option:checked").text_content() == "Class"
        assert control.locator("option").last.text_content() == "found class"
        assert "Colour the maps by “found class”" in seen.texts("#groups")[0]
        assert seen.texts("#figure-curved .y-title")[0].startswith("Dim 3")
        control.select_option(label="found class")
        assert seen.texts("#figure-curved .y-title")[0].startswith("Dim 3")
        assert seen.texts("#figure-curved .legend .key") == ["found class"]
        seen.ask("mercer.page.move([1, 0])")
        assert seen.texts("#figure-curved .x-title")[0].startswith("Dim 2")
        seen.ask("mercer.page.move([0, 1])")
        assert seen.texts("#figure-curved .y-title")[0].startswith("Dim 2")
        assert seen.messages == []


def test_names_are_cut_alike_on_paper_and_on_the_page(seen: Visit) -> None:
    names = ["creatinine_umol_L (p = 0.01)", "treatment_at_the_second_visit=low", "a = b", "x" * 40]
    names += ["= a formula that begins with its sign", "one = two and no bracket before the sign"]
    assert [seen.ask(f"mercer.cut({name!r}, 24)") for name in names] == [cut(n, 24) for n in names]
