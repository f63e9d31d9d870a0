from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import pictures
from mercer.data.table import Table
from mercer.datasets import decathlon
from mercer.page import Section
from mercer.pictures.with_plotly import as_data
from tests.browser import (
    DEEP,
    FLAT,
    PATIENCE,
    PHONE,
    PLOTLY_TOOLBARS,
    SAVING,
    SELECTING,
    TOOLBARS,
    VIEWING,
    Visit,
    visit,
)
from tests.hostile import HOSTILE

SELECTED = """[...document.querySelectorAll("figure[data-live] .live")].map((place) => {
    const points = [...place.querySelectorAll(".painted path[data-id]")];
    const faint = points.filter((p) => Number(p.getAttribute("opacity")) < 0.2);
    const kept = points.filter((p) => !faint.includes(p)).map((p) => Number(p.dataset.id));
    return points.length ? [faint.length ? kept.sort((a, b) => a - b) : null] : [];
}).flat()"""
"""What is selected in each panel that shows individuals: those whose points are not faint."""

RINGS = """[...document.querySelectorAll("figure[data-live] .frame")]
    .filter((frame) => frame.querySelector(".painted path[data-id]"))
    .map((frame) => {
        const ring = frame.querySelector("circle.ring");
        return ring && [ring.cx.baseVal.value, ring.cy.baseVal.value];
    })"""
"""Where each of those panels rings the individual that is pointed at."""

PLACE = """(name, id) => {
    const path = document.querySelector(`#figure-${name} .painted path[data-id="${id}"]`);
    return path.getAttribute("transform").match(/[-\\d.]+/g).map(Number);
}"""
"""Where the point of an individual is drawn."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = decathlon()
    model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(table)
    choices = {
        "kaiser": mc.choose_dimension(model, rule="kaiser"),
        "horn": mc.parallel_analysis(model, 19, random_state=0),
    }
    path = tmp_path_factory.mktemp("pages") / "page.html"
    return mc.report(model, path, table=table, title="Athletes", choices=choices)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    n = len(HOSTILE)
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        f"{name} {j}": rng.standard_normal(n) for j, name in enumerate(HOSTILE)
    }
    columns["kind " + HOSTILE[0]] = np.array(HOSTILE, dtype=object)
    table = Table.of(columns, row_names=HOSTILE, notes=HOSTILE)
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "<img src=x onerror=window.hacked=0>.html"
    model = mc.PCA(4).fit(table)
    return mc.report(model, path, table=table, title=HOSTILE[1], command=HOSTILE, choices={})


@pytest.fixture(scope="module")
def opened(browser: Any, page: Path) -> Iterator[Visit]:
    with visit(browser, page) as seen:
        seen.unfold()
        yield seen


@pytest.fixture
def open_page(opened: Visit) -> Visit:
    """Return the page as it is when it is opened, without opening it again."""
    opened.page.emulate_media(media="screen")
    opened.ask("mercer.page.move([0, 1])")
    opened.ask("mercer.page.paint(mercer.page.people.colours.findIndex((c) => c.levels))")
    opened.ask("mercer.page.select([])")
    opened.ask("mercer.page.filter(0)")
    return opened


@pytest.fixture(scope="module")
def opened_hostile(browser: Any, hostile: Path) -> Iterator[Visit]:
    with visit(browser, hostile) as seen:
        seen.unfold()
        yield seen


def test_a_page_is_alive_says_nothing_and_asks_nothing(open_page: Visit, page: Path) -> None:
    assert open_page.messages == []
    assert [url for url in open_page.requests if not url.startswith("data:")] == [page.as_uri()]
    figures = open_page.page.locator("figure[data-panel]").count()
    assert figures >= 9
    assert open_page.page.locator("figure[data-live] svg.picture").count() == figures
    assert page.stat().st_size < 1_000_000
    assert "41 individuals, Gaussian kernel" in open_page.texts(".choice")[0]


def test_no_figure_has_a_button_that_we_did_not_choose(open_page: Visit) -> None:
    toolbars = open_page.ask(TOOLBARS)
    assert len(toolbars) >= 9
    kinds = [set(titles) for titles in toolbars]
    assert all(titles in (SELECTING, VIEWING) for titles in kinds)
    assert kinds.count(SELECTING) == len(open_page.ask(SELECTED))
    assert not re.search("plotly|https?://(?!www.w3.org)", open_page.page.content(), re.I)


@pytest.fixture(scope="module")
def deep() -> pictures.Panel:
    points = np.random.default_rng(0).standard_normal((20, 3))
    model = mc.PCA(3).fit(points)
    return pictures.space.describe(model.individuals_, spectrum=model.spectrum_)


def toolbars(browser: Any, path: Path) -> list[set[str]]:
    """Return the titles of the buttons of each figure in a file that is not a page of ours."""
    page = browser.new_page()
    try:
        page.goto(path.as_uri())
        page.wait_for_selector(".modebar-btn", state="attached", timeout=PATIENCE)
        return [set(titles) for titles in page.evaluate(PLOTLY_TOOLBARS)]
    finally:
        page.close()


def test_a_described_picture_on_a_page_and_in_space_has_our_buttons_alone(
    browser: Any, deep: pictures.Panel, tmp_path: Path
) -> None:
    model = mc.PCA(2).fit(np.random.default_rng(0).standard_normal((9, 2)))
    path = mc.report(model, tmp_path / "p.html", sections=[Section("Space", pictures=[deep])])
    with visit(browser, path) as seen:
        found = seen.ask(TOOLBARS)
    assert sum(set(titles) == SAVING for titles in found) == 1
    assert sum(set(titles) in (SELECTING, VIEWING) for titles in found) == len(found) - 1 > 1


def lowered(bars: list[set[str]]) -> list[set[str]]:
    """Return titles in small letters: plotly 6 saves a "png", plotly 7 a "PNG"."""
    return [{title.lower() for title in bar} for bar in bars]


def test_figures_of_a_notebook_have_our_buttons_alone(
    browser: Any, deep: pictures.Panel, tmp_path: Path
) -> None:
    import plotly.io
    from plotly.graph_objects import Figure

    model = mc.PCA(2).fit(np.random.default_rng(0).standard_normal((9, 2)))
    flat = pictures.individuals.describe(model.individuals_, spectrum=model.spectrum_)
    path = tmp_path / "figure.html"
    before = plotly.io.renderers.default
    for picture, expected in ((flat, FLAT), (deep, DEEP)):
        figure = pictures.plotly(picture)
        figure.write_html(path)
        assert lowered(toolbars(browser, path)) == lowered([expected])
        plotly.io.renderers.default = "plotly_mimetype+notebook"
        try:
            bundle = figure._repr_mimebundle_()
        finally:
            plotly.io.renderers.default = before
        assert bundle["application/vnd.plotly.v1+json"]["config"]["modeBarButtons"]
        library = f"<script>{plotly.offline.get_plotlyjs()}</script>"
        path.write_text(library + bundle["text/html"], encoding="utf-8")
        assert lowered(toolbars(browser, path)) == lowered([expected])
        plotly.io.write_html(figure, path)  # by plotly alone, which knows no toolbar of ours
        (shown,) = toolbars(browser, path)
        assert not any(re.search("share|cloud|studio|edit", title, re.I) for title in shown)
    plotly.io.write_html(Figure(as_data(flat)["data"]), path)
    assert toolbars(browser, path) != [FLAT]  # what plotly chooses by itself is something else


def test_a_box_selects_the_same_individuals_in_every_panel_and_in_the_table(
    open_page: Visit,
) -> None:
    box = open_page.page.locator("#figure-plane-1-2 .ground").bounding_box()
    mouse = open_page.page.mouse
    mouse.move(box["x"] + 2, box["y"] + 2)
    mouse.down()
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2, steps=4)
    mouse.up()
    open_page.page.wait_for_selector("#selection button")
    F = np.array(open_page.ask("mercer.page.people.coordinates"))
    left, right = open_page.ask("mercer.pictures['plane-1-2'].frames[0].x.limits")
    expected = np.flatnonzero(F[0] < (left + right) / 2).tolist()
    assert 0 < len(expected) < 41
    chosen = open_page.ask("mercer.page.selected")
    assert chosen == expected
    panels = open_page.ask(SELECTED)
    assert len(panels) >= 5
    assert all(found == chosen for found in panels)
    rows = open_page.texts("[data-sheet=individuals] tbody tr td:first-child")
    names = open_page.ask("mercer.page.selected.map((i) => mercer.page.people.names[i])")
    assert rows == names[:25]
    open_page.page.keyboard.press("Escape")
    assert open_page.ask(SELECTED) == [None] * len(panels)
    assert open_page.messages == []


def test_pointing_at_a_row_rings_the_individual_everywhere(open_page: Visit) -> None:
    open_page.page.locator("[data-sheet=individuals] tbody tr").nth(3).hover()
    open_page.page.wait_for_selector("#card:not([hidden])")
    assert open_page.texts("#card strong") == [open_page.ask("mercer.page.people.names[3]")]
    rings = open_page.ask(RINGS)
    assert len(rings) == len(open_page.ask(SELECTED))
    assert None not in rings
    assert rings[0] == pytest.approx(open_page.page.evaluate(f"({PLACE})('plane-1-2', 3)"), abs=0.1)


def test_a_level_of_the_legend_selects_its_members(open_page: Visit) -> None:
    legend = open_page.page.locator("#figure-plane-1-2")
    assert open_page.texts("#figure-plane-1-2 .legend .key") == ["Competition"]
    legend.get_by_role("button", name="OlympicG").click()
    codes = decathlon().column("Competition").values
    expected = np.flatnonzero(codes == "OlympicG").tolist()
    assert open_page.ask(SELECTED)[0] == expected


def test_the_first_plane_shows_the_axes_that_are_asked_for(open_page: Visit) -> None:
    open_page.page.get_by_label("Across").select_option("2")
    third = np.array(open_page.ask("mercer.page.people.coordinates[2]"))
    for name in ("plane-1-2", "circle"):
        assert open_page.texts(f"#figure-{name} .x-title")[0].startswith("Dim 3 (")
        assert open_page.texts(f"#figure-{name} .y-title")[0].startswith("Dim 2 (")
    at = np.array([open_page.page.evaluate(f"({PLACE})('plane-1-2', {i})") for i in range(41)])
    assert np.corrcoef(at[:, 0], third)[0, 1] == pytest.approx(1.0, abs=1e-6)
    lines = open_page.page.locator("#figure-plane-1-2 .marks > path[fill-opacity]")
    assert lines.count() == 2  # the ellipses of both meetings on these axes
    open_page.page.get_by_label("Across").select_option("1")  # the axis that is on the other side
    assert open_page.ask("mercer.page.axes") == [1, 2]
    assert open_page.page.get_by_label("Up").input_value() == "2"
    assert open_page.texts("#figure-plane-1-2 .y-title")[0].startswith("Dim 3 (")
    open_page.page.get_by_label("Colour by").select_option(label="100m")
    assert open_page.texts("#figure-plane-1-2 .entry") == ["supplementary categories"]
    assert open_page.texts("#figure-plane-1-2 .scale text")[-1] == "100m"
    assert lines.count() == 0
    assert open_page.messages == []


def test_a_filter_hides_points_with_their_labels(open_page: Visit) -> None:
    slider = open_page.page.get_by_label("cos2 below")
    slider.fill("0.3")
    cos2 = np.array(
        open_page.ask("mercer.page.people.names.map((_, i) => mercer.page.cos2([0, 1], i))")
    )
    faint = """[...document.querySelectorAll("#figure-plane-1-2 .painted path[data-id]")]
        .filter((p) => Number(p.getAttribute("opacity")) < 0.1).map((p) => Number(p.dataset.id))"""
    hidden = open_page.ask(faint)
    assert sorted(hidden) == np.flatnonzero(cos2 < 0.3).tolist() != []
    named = open_page.ask(
        """mercer.pictures["plane-1-2"].frames[0].linked
        .filter((l) => l.isText && l.mark.of === "individuals")
        .flatMap((l) => l.nodes.flatMap((n, i) => (n ? [l.mark.ids[i]] : [])))"""
    )
    assert named
    assert not set(named) & set(hidden)
    slider.fill("0")
    assert open_page.ask(faint) == []


def test_tables_sort_by_every_column(open_page: Visit) -> None:
    sheet = open_page.page.locator("[data-sheet=variables]")
    button = sheet.get_by_role("button", name="correlation 1")
    for way, sign in (("descending", -1), ("ascending", 1)):
        button.click()
        assert sheet.locator("th[aria-sort]").get_attribute("aria-sort") == way
        cells = open_page.texts("[data-sheet=variables] tbody td:nth-child(2)")
        numbers = [float(cell.replace("−", "-")) for cell in cells]
        assert numbers == sorted(numbers, reverse=sign < 0)
    sheet.get_by_role("button", name="variable").click()
    names = open_page.texts("[data-sheet=variables] tbody td:first-child")
    assert names[0] == "100m"
    assert set(names) == set(decathlon().active)


def test_a_page_is_readable_without_scripts(browser: Any, page: Path) -> None:
    with visit(browser, page, scripts=False) as seen:
        assert seen.page.locator(".result").is_visible()
        for folded in seen.page.locator("details:not(details details) > summary").all():
            folded.click()
        for name in ("plane-1-2", "scree", "circle", "function-1", "apart", "gram"):
            picture = seen.page.locator(f"#figure-{name} .static svg")
            assert picture.is_visible()
            assert picture.bounding_box()["height"] > 150
        assert seen.page.locator("[data-sheet=individuals] tbody tr").count() == 41
        assert seen.page.locator("math").is_visible()
        assert not seen.page.locator("#controls").is_visible()
        assert [url for url in seen.requests if not url.startswith("data:")] == [page.as_uri()]


def test_paper_shows_what_the_reader_sees_and_every_row(open_page: Visit) -> None:
    paper = open_page.page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 14
    rows = open_page.page.locator("[data-sheet=individuals] tbody tr")
    assert rows.count() == 25
    open_page.ask("window.dispatchEvent(new Event('beforeprint'))")
    assert rows.count() == 41
    open_page.page.emulate_media(media="print")
    assert open_page.page.locator("#figure-plane-1-2 .live").is_visible()
    assert not open_page.page.locator("nav").is_visible()
    open_page.ask("window.dispatchEvent(new Event('afterprint'))")
    assert rows.count() == 25


def test_a_phone_shows_the_page_without_scrolling_sideways(browser: Any, page: Path) -> None:
    with visit(browser, page, size=PHONE) as seen:
        assert seen.ask("document.documentElement.scrollWidth") == PHONE[0]
        assert seen.messages == []


def test_hostile_names_do_nothing_and_are_shown(opened_hostile: Visit, hostile: Path) -> None:
    seen = opened_hostile
    rows = "[data-sheet=individuals] tbody tr"
    for i in range(0, 25, 5):
        seen.page.locator(rows).nth(i).hover()
    seen.page.locator("#figure-plane-1-2 .entry").nth(1).click()
    seen.page.locator("#selection button").first.click()
    seen.page.get_by_label("Colour by").select_option("1")
    seen.page.locator("#figure-circle svg.picture").hover()
    assert seen.messages == []
    assert [url for url in seen.requests if not url.startswith("data:")] == [hostile.as_uri()]
    assert seen.ask("window.hacked ?? 'nothing'") == "nothing"
    assert seen.page.locator("script").count() == 2
    assert seen.page.locator("iframe, img, object, embed, [onload], [onerror]").count() == 0
    assert seen.page.locator("a[href^='javascript' i], svg a").count() == 0
    assert seen.texts(f"{rows}:first-child td:first-child") == [HOSTILE[0]]
    whole = seen.ask(
        """[mercer.page.people, ...Object.values(mercer.page.value.linked)]
        .flatMap((table) => table.names)
        .flatMap((name) => [24, 48].map((most) => mercer.cut(name, most)))"""
    )
    drawn = seen.texts("#figure-plane-1-2 .live .labels text")
    assert drawn
    assert set(drawn) <= set(whole)  # names were drawn as they are, marks and all
    assert any("<" in name for name in drawn)


def test_the_policy_refuses_scripts_that_are_not_of_the_page(
    browser: Any, page: Path, tmp_path: Path
) -> None:
    # Another script in the place of ours is refused too, and the pictures of paper stay.
    planted = tmp_path / "planted.html"
    first, ours, rest = page.read_text(encoding="utf-8").partition('<script type="module">')
    other = f"<script>window.hacked = 1</script>{ours}window.hacked = 2</script>"
    text = f"{first}{other}<script>{rest[rest.index('</script>') :]}"
    planted.write_text(text, encoding="utf-8")
    with visit(browser, planted, is_alive=False) as seen:
        assert seen.ask("window.hacked ?? 'nothing'") == "nothing"
        assert any("Content Security Policy" in message for message in seen.messages)
        assert seen.page.locator("figure[data-live]").count() == 0
        assert seen.page.locator("#figure-plane-1-2 .static svg").is_visible()


def test_saved_tables_hold_no_formula_unless_asked_to(opened_hostile: Visit) -> None:
    seen = opened_hostile
    seen.ask("mercer.page.select([])")
    sheet = seen.page.locator("[data-sheet=individuals]")
    saved = {}
    for is_raw in (False, True):
        if is_raw:
            sheet.get_by_label("exact text").check()
        with seen.page.expect_download() as waiting:
            sheet.get_by_role("button", name="Save as CSV").click()
        text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
        saved[is_raw] = list(csv.reader(io.StringIO(text, newline="")))
    safe, raw = saved[False], saved[True]
    assert len(safe) == len(raw) == len(HOSTILE) + 1
    words = [cell for row in safe for cell in row[:2]]
    assert not [cell for cell in words if re.match(r"[=+\-@\t\r]", cell)]
    assert {'\'=HYPERLINK("https://example.org/21")', "'-2+3", "'@SUM(A1:A9)"} <= set(words)
    assert "-2+3" in {row[0] for row in raw}
    at = safe[0].index("Dim 1")
    numbers = [float(row[at]) for row in safe[1:]]
    assert min(numbers) < 0  # a number is left alone, sign and all
    np.testing.assert_allclose(numbers, seen.ask("mercer.page.people.coordinates[0]"))


def test_a_crowd_is_drawn_as_a_sample_above_its_density(browser: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((60_000, 3))
    path = mc.report(mc.PCA(2).fit(x), tmp_path / "crowd.html", choices={})
    with visit(browser, path) as seen:
        marks = "#figure-plane-1-2 .live .marks"
        assert seen.page.locator(f"{marks} path[data-id]").count() == 5000
        assert seen.page.locator(f"{marks} > image").count() == 1
        assert seen.ask(f"document.querySelector('{marks}').firstChild.tagName") == "image"
        assert seen.ask("mercer.page.count") == 5000
        assert "density of all 60" in seen.texts("#figure-plane-1-2 figcaption")[0]
        seen.unfold()
        seen.page.locator("[data-sheet=individuals] tbody tr").first.click()
        assert seen.ask(SELECTED)[0] == [0]
        assert seen.messages == []


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with supplementary individuals, and sections of described pictures."""
    table = decathlon()
    model = mc.PCA(3, standardize=True).fit(table[5:])
    plane = mc.pictures.individuals.describe(model.individuals_, spectrum=model.spectrum_)
    space = mc.pictures.space.describe(model.individuals_)
    bars = mc.pictures.contributions.describe(model.variables_, axes=1)
    sheet = mc.pictures.sheet(plane, bars)
    words = {"Words": {"word": list(HOSTILE), "number": np.arange(float(len(HOSTILE)))}}
    sections = [Section("Study", ["Said."], [sheet, bars, space], words)]
    path = tmp_path_factory.mktemp("studied") / "page.html"
    passive = table[:5]
    return mc.report(
        model, path, table=table[5:], choices={}, supplementary=passive, sections=sections
    )


def test_sections_and_supplementary_individuals_are_alive(browser: Any, studied: Path) -> None:
    with visit(browser, studied) as seen:
        assert seen.messages == []
        assert len(seen.requests) == 1
        live = seen.ask(
            '[...document.querySelectorAll("#section-1 figure")].map((f) => f.dataset.live)'
        )
        assert live == ["yes", "yes", "yes"]
        hollow = "#figure-plane-1-2 .live .points[fill=none] path"
        assert seen.page.locator(hollow).count() == 5
        seen.page.select_option("#controls select >> nth=0", "2")
        third = np.array(seen.ask("mercer.page.value.passive.coordinates[2]"))
        moved = np.array(
            seen.ask(
                f"""[...document.querySelectorAll("{hollow}")]
                .map((p) => Number(p.getAttribute("transform").match(/[-\\d.]+/)[0]))"""
            )
        )
        assert np.corrcoef(moved, third)[0, 1] == pytest.approx(1.0, abs=1e-5)
        seen.page.click("#section-1 th button >> nth=1")
        assert seen.ask("window.hacked ?? null") is None


def test_described_pictures_are_read_on_a_phone(browser: Any, studied: Path) -> None:
    with visit(browser, studied, size=PHONE) as seen:
        live = '[...document.querySelectorAll("#section-1 figure")].map((f) => f.dataset.live)'
        assert seen.ask(live) == ["yes"] * 3
        assert seen.ask("document.documentElement.scrollWidth") == PHONE[0]
        frames = "mercer.pictures['section-1-picture-1'].frames.map((f) => f.box)"
        (left, top, *_), (other, below, *_) = seen.ask(frames)
        assert below > top + 200  # the panels of a sheet stand below each other
        assert abs(other - left) < 150
        small = """[...document.querySelectorAll("#section-1 svg.picture text")]
            .filter((t) => t.getBoundingClientRect().height < 9).length"""
        assert seen.ask(small) == 0  # words keep their size
        beyond = """[...document.querySelectorAll("svg.picture")]
            .filter((s) => s.getBoundingClientRect().right > innerWidth).length"""
        assert seen.ask(beyond) == 0
        assert seen.messages == []


def test_a_printed_page_cuts_no_table_and_no_picture(browser: Any, studied: Path) -> None:
    with visit(browser, studied) as seen:
        seen.page.set_viewport_size({"width": 672, "height": 1000})  # A4 between its margins
        seen.page.emulate_media(media="print")
        too_wide = """[...document.querySelectorAll("main table, main svg")]
            .filter((e) => e.getClientRects().length)
            .filter((e) => e.getBoundingClientRect().right > document.body.clientWidth + 1)
            .map((e) => e.tagName + " " + e.textContent.slice(0, 20))"""
        assert seen.ask(too_wide) == []
        tall = """[...document.querySelectorAll("main figure")].filter((f) => f.clientHeight)
            .map((f) => f.getBoundingClientRect().height)"""
        assert max(seen.ask(tall)) < 980  # one page of paper
