"""The states of the explorer as a reader sees them: waiting, refused, closed, crowded."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.explorer.limits import Limits
from mercer.explorer.sessions import House
from mercer.explorer.source import Source, of_example, of_file
from tests.browser import PATIENCE
from tests.explorer.visits import SIZE, change, served, visit

pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def numerals() -> Iterator[str]:
    with served(of_example("numerals")) as it:
        yield it


@pytest.fixture(scope="module")
def decathlon() -> Iterator[str]:
    with served(of_example("decathlon")) as it:
        yield it


def test_whoever_waits_sees_the_columns_and_places_for_the_maps_and_may_cancel(
    browser: Any, decathlon: str
) -> None:
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    held: list[Any] = []
    page.route("**/api/analysis", lambda route: held.append(route))
    page.goto(decathlon)
    page.wait_for_selector("#progress:not([hidden])", timeout=PATIENCE)
    assert page.locator("[data-use=active] .column").count() == 10
    assert page.locator("#family option").count() > 3
    assert page.locator("#maps").bounding_box()["height"] > 200
    assert page.locator("#said").bounding_box()["height"] > 40
    page.set_viewport_size({"width": SIZE["width"] - 40, "height": SIZE["height"]})
    page.wait_for_timeout(100)
    assert page.locator("#doubts").is_hidden()
    assert page.locator("#more-doubts").is_hidden()
    held.pop().fulfill(status=204)  # as the server answers whoever cancels
    page.wait_for_selector("body[data-state=refused]", timeout=PATIENCE)
    page.unroute("**/api/analysis")
    page.get_by_role("button", name="Compute it").click()
    page.wait_for_selector("body[data-state=ready]", timeout=PATIENCE)
    # Of the data before nothing is shown while others are read.
    page.route("**/api/analysis", lambda route: held.append(route))
    page.click("#other")
    page.click("[data-example=eurodist]")
    page.wait_for_selector("#progress:not([hidden])", timeout=PATIENCE)
    assert page.locator("#maps figure, #side figure, #table table").count() == 0
    assert page.locator("#kernel-part").is_hidden()
    page.unroute_all(behavior="ignoreErrors")
    context.close()


def test_a_door_that_is_closed_can_be_read(browser: Any, decathlon: str) -> None:
    page = browser.new_page()
    page.goto(decathlon.replace("token=token", "token=other"))
    title = page.locator("h1").bounding_box()
    assert title["width"] > 300
    assert title["height"] < 60
    page.close()


def test_a_file_that_is_too_long_is_not_sent_and_the_page_says_what_to_do(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(House, "limits", Limits(upload_bytes=2**20))
    path = tmp_path / "survey.csv"
    path.write_text("a,b\n" + "1,2\n" * 400_000)
    with served(None) as address, visit(browser, address, "empty") as seen:
        seen.page.set_input_files("#pick", path)
        told = seen.page.locator("#elsewhere")
        told.wait_for()
        assert "survey.csv was not read" in told.inner_text()
        said = told.inner_text().replace("\u00a0", " ")
        assert "It has 2 MB, and a page takes 1 MB at most: start mercer serve survey.csv" in said
        assert not [url for url in seen.requests if "upload" in url]


NAMES = """() => [...document.querySelectorAll("#figure-plane-1-2 .labels text")]
    .filter((it) => it.closest("[display=none]") === null)
    .map((it) => [it.textContent, it.getBoundingClientRect()])
    .map(([name, b]) => [name, b.left, b.top, b.right, b.bottom])"""


DIAMONDS = """() => {
    const { svg, frames: [frame] } = mercer.pictures["plane-1-2"];
    const { left, top } = svg.getBoundingClientRect();
    return frame.hits.filter(({ mark }) => mark.of !== "individuals" && mark.mark === "markers")
        .map(({ u, v }) => [left + u, top + v]);
}"""


def test_names_of_the_selected_stand_beside_each_other_and_no_map_moves(
    browser: Any, decathlon: str
) -> None:
    with visit(browser, decathlon) as seen:
        page = seen.page
        before = page.locator("#figure-plane-1-2 .ground").bounding_box()
        # Fifteen, most of them near the middle.
        page.evaluate("mercer.page.select([...Array(41).keys()].filter((i) => i % 3 === 1))")
        assert page.locator("#figure-plane-1-2 .ground").bounding_box() == before
        shown = page.evaluate(NAMES)
        chosen = set(page.evaluate("mercer.page.selected.map((i) => mercer.page.people.names[i])"))
        names = [one for one in shown if one[0] in chosen]
        assert len(names) >= 8
        # Glyphs are lower than the boxes of their lines.
        upon = [
            (a[0], b[0])
            for k, a in enumerate(names)
            for b in shown
            if b[0] != a[0] and b not in names[: k + 1]
            and min(a[3], b[3]) - max(a[1], b[1]) > 1
            and min(a[4], b[4]) - max(a[2], b[2]) > 4
        ]  # fmt: skip
        assert upon == []
        diamonds = page.evaluate(DIAMONDS)
        assert len(diamonds) == 2
        assert not [
            name
            for name, left, top, right, low in names
            for u, v in diamonds
            if left < u < right and top < v < low
        ]
        assert page.locator("#selection").bounding_box()["height"] < 34


def test_classes_have_the_marks_of_the_map_in_either_theme(browser: Any, numerals: str) -> None:
    with visit(browser, numerals) as seen:
        page = seen.page
        levels = """mercer.page.people.colours.find((c) => c.name === "class").levels"""
        page.get_by_label("How many classes").select_option(label="10 classes")
        change(seen)
        count = page.locator(".classes tr[data-class]").count()
        assert count == 10  # more than there are colours
        assert seen.ask(levels) == [f"class {k + 1}" for k in range(count)]
        marks = """[...document.querySelectorAll(".classes .swatch path")]
            .map((path) => path.getAttribute("fill") + path.getAttribute("d"))"""
        light = seen.ask(marks)
        assert len(set(light)) == count
        page.click("#theme")
        dark = seen.ask(marks)
        assert len(set(dark)) == count
        assert dark != light


UPON = """() => {
    const boxes = (css) => [...document.querySelectorAll(`#figure-scree ${css}`)]
        .map((node) => node.getBoundingClientRect());
    const isUpon = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right
        && a.top + 4 < b.bottom && b.top < a.bottom - 4;
    const bars = boxes(".bars rect");
    return boxes(".marks > text").filter((a) => bars.some((b) => isUpon(a, b))).length;
}"""

LINES = """() => [...document.querySelectorAll("#side figure h3")]
    .map((title) => [title.textContent, Math.round(title.getBoundingClientRect().height / 20)])"""


def test_titles_beside_the_maps_have_a_line_and_numbers_stand_on_their_own_bars(
    browser: Any, numerals: str, decathlon: str
) -> None:
    with visit(browser, numerals) as seen:
        assert seen.page.evaluate(UPON) == 0
    with visit(browser, decathlon) as seen:
        seen.page.wait_for_selector("#figure-function svg image", timeout=PATIENCE)
        long = [name for name, lines in seen.page.evaluate(LINES) if lines > 1]
        assert [name for name in long if not name.startswith("Dim 1 over")] == []
        assert "Contributions to Dim 1" in seen.texts("#side h3")
        seen.page.keyboard.press("3")
        assert "Contributions to Dim 3" in seen.texts("#side h3")
        # One number on a side would tell no unit.
        assert seen.ask("mercer.pictures.function.frames[0].x.ticks.length") > 1


def test_members_of_a_class_are_seen_on_the_maps_and_selected(browser: Any, decathlon: str) -> None:
    with visit(browser, decathlon) as seen:
        page = seen.page
        lines = page.locator(".classes tr.members")
        assert lines.count() == page.locator(".classes tr[data-class]").count() > 1
        typical = lines.first.locator("div", has_text="most typical").get_by_role("button")
        name = typical.first.inner_text()
        assert name in seen.ask("mercer.page.people.names")
        typical.first.hover()
        assert seen.ask("mercer.page.people.names[mercer.page.pointed]") == name
        page.wait_for_selector(f"#card:has-text('{name}')", timeout=PATIENCE)
        typical.first.click()
        assert seen.ask("mercer.page.selected.map((i) => mercer.page.people.names[i])") == [name]
        assert page.locator("#table tbody tr").all_inner_texts()[0].startswith(name)
        # They are of the class whose line stands above; Ctrl takes another beside the first.
        typical.nth(1).click(modifiers=["Control"])
        label = page.locator(".classes tr[data-class]").first.get_attribute("data-class")
        cells = "mercer.sheets.individuals.columns.find((c) => c.name === 'class').of"
        found = seen.ask(f"mercer.page.selected.map((i) => {cells}(i))")
        assert found == [f"class {label}"] * 2


def test_members_of_small_classes_are_all_named_and_of_others_some(browser: Any) -> None:
    with served(of_example("eurodist")) as it, visit(browser, it) as seen:
        page = seen.page
        sizes = [int(text) for text in seen.texts(".classes tr[data-class] td.number")]
        assert min(sizes) <= 3 < max(sizes)
        for k, size in enumerate(sizes):
            line = page.locator(".classes tr.members").nth(k)
            told = [text.split(" ")[0] for text in line.locator("div").all_text_contents()]
            assert told == (["members"] if size <= 3 else ["most", "farthest"])
            named = set(line.get_by_role("button").all_text_contents())
            assert len(named) == size if size <= 3 else len(named) >= 3


def test_a_bug_is_called_one_and_the_state_before_is_offered(browser: Any, decathlon: str) -> None:
    with visit(browser, decathlon) as seen:
        said = "this is a bug in mercer, not a mistake of yours (KeyError)"
        answer = json.dumps({"error": said})
        seen.page.route("**/api/analysis", lambda route: route.fulfill(status=422, body=answer))
        seen.page.select_option("#family", label="Laplacian")
        seen.page.wait_for_selector("body[data-state=refused]", timeout=PATIENCE)
        assert seen.page.inner_text("#refused h2") == "Something broke"
        assert seen.page.locator("#refused").get_by_role("button", name="Undo").is_visible()


def test_a_browser_without_webgl_is_told_of_it_where_all_doubts_stand(browser: Any) -> None:
    x = np.random.default_rng(0).normal(size=(1_600, 3))
    with (
        served(Source(mc.read(x), "x.npy", "x")) as address,
        visit(browser, address) as seen,
    ):
        seen.ask("mercer.isWithoutWebGL = true; mercer.canvases.clear(); mercer.change({})")
        change(seen)
        assert "no WebGL" in seen.page.text_content("#doubts")


def test_a_column_that_is_left_out_says_why(browser: Any) -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 20))
    numbers = {"plot": np.arange(1.0, 21.0), "sheet": np.arange(31.0, 51.0)}
    table = mc.Table.of({**numbers, "x": x, "y": y, "same": [7.0] * 20})
    with served(Source(table, "x.csv", "x")) as address, visit(browser, address) as seen:
        assert seen.texts("[data-use=ignored] .why") == ["row numbers", "one value"]
        assert ",:" not in seen.page.inner_text("#said")


def test_how_far_a_refinement_is_has_room_for_its_bar(browser: Any, decathlon: str) -> None:
    with visit(browser, decathlon) as seen:
        seen.ask(
            """(() => { const place = mercer.byId("progress"); place.hidden = false;
            place.children[1].textContent =
                "Making the curved map exact: residual 1e-3 → 5e-5 → 3e-7 → 5e-9, 13 s"; })()"""
        )
        assert seen.page.locator("#progress > div").bounding_box()["width"] > 100
        assert seen.page.locator("#progress").bounding_box()["height"] < 60


def test_the_contents_of_a_frozen_page_lead_to_their_places_in_any_frame(
    browser: Any, tmp_path: Path
) -> None:
    shown = mc.explore(mc.PCA(2).fit(mc.datasets.iris()), live=False)
    text = shown.save(tmp_path / "page.html").read_text(encoding="utf-8")
    inside = f'sandbox="allow-scripts" height="600" width="900" srcdoc="{html.escape(text)}"'
    for frame in (shown._repr_html_(), f"<iframe {inside}></iframe>"):
        page = browser.new_page()
        page.set_content(f"<!doctype html><body style='background: #111'>{frame}</body>")
        within = page.frame_locator("iframe")
        within.locator("body[data-state=ready]").wait_for(timeout=PATIENCE)
        link = within.locator("nav a").last
        link.click()
        place = link.evaluate("(it) => document.getElementById(it.hash.slice(1)) !== null")
        assert place
        top = link.evaluate(
            "(it) => document.getElementById(it.hash.slice(1)).getBoundingClientRect().top"
        )
        assert 0 <= top < 600
        page.close()


def test_among_many_points_groups_can_be_told_apart(browser: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60_000, 2)) * [3, 1]
    with served(Source(mc.read(x), "x.npy", "x")) as it, visit(browser, it) as seen:
        seen.ask("mercer.refine = () => {}")
        faint = seen.ask("mercer.pictures['plane-1-2'].frames[0].crowd.opacity")
        assert 0.12 <= faint < 0.4
        assert seen.ask("mercer.opacity(2_000, 5.5, [0, 0, 400, 400])") > 0.5
        assert seen.ask("mercer.opacity(10 ** 6, 2, [0, 0, 400, 400])") == 0.12


def test_doubts_take_one_line_and_unfold_over_the_maps_which_stay(
    browser: Any, tmp_path: Path
) -> None:
    rows = (f"w{i},{'' if i % 6 == 2 else i % 5},{i * i % 7},{i * 3 % 11}" for i in range(25))
    path = tmp_path / "gaps.csv"
    path.write_text("who,x,y,z\n" + "\n".join(rows))
    with served(of_file(str(path))) as it, visit(browser, it) as seen:
        place, more = seen.page.locator("#doubts"), seen.page.locator("#more-doubts")
        count = place.locator("li").count()
        assert count > 2
        assert place.locator("li:visible").count() == 1
        assert place.get_by_role("button", name="Leave out rows").is_visible()
        assert more.inner_text() == f"{count - 1} more"
        low, top = place.bounding_box()["height"], seen.page.locator("#maps").bounding_box()["y"]
        more.click()
        assert place.locator("li:visible").count() == count
        assert place.bounding_box()["height"] > low
        assert seen.page.locator("#maps").bounding_box()["y"] == top
        seen.page.keyboard.press("Escape")
        assert place.bounding_box()["height"] == low
        more.click()
        seen.page.mouse.click(*(seen.page.viewport_size[side] - 20 for side in ("width", "height")))
        assert place.bounding_box()["height"] == low
        seen.page.set_viewport_size({"width": 960, "height": 900})
        hint = seen.page.locator("#selection").bounding_box()
        title = seen.page.locator("#figure-plane-1-2 h3").bounding_box()
        assert hint["y"] + hint["height"] <= title["y"]
        inside = "(it) => it.scrollHeight <= it.clientHeight"
        assert seen.page.locator("#selection").evaluate(inside)


def test_where_there_is_no_doubt_the_maps_stand_where_they_do_with_one(browser: Any) -> None:
    x = np.random.default_rng(0).normal(size=(9, 3)) * [1.0, 2.0, 4.0]
    with served(Source(mc.read(x), "x.npy", "x")) as it, visit(browser, it) as seen:
        top = seen.page.locator("#maps").bounding_box()["y"]
        seen.ask("mercer.doubts([])")
        assert (
            seen.page.locator("#doubts").inner_text() == "The checks found nothing that misleads."
        )
        assert seen.page.locator("#more-doubts").is_hidden()
        assert seen.page.locator("#maps").bounding_box()["y"] == top


def test_a_long_list_of_names_in_a_doubt_unfolds(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    rows = (f"person {i % 7},{('red', 'blue', 'green')[i % 3]},town {i % 4}" for i in range(14))
    path.write_text("who,team,town\n" + "\n".join(rows))
    with served(of_file(str(path))) as it, visit(browser, it) as seen:
        told = seen.page.locator("#doubts li", has_text="too few for an ellipse")
        said = '"person 0", "person 1", "person 2" and 4 more of "who" have fewer than 3'
        assert told.text_content().startswith(said)
        seen.page.click("#more-doubts")
        told.get_by_role("button", name="and 4 more").click()
        every = ", ".join(f'"person {i}"' for i in range(6)) + ' and "person 6" of "who" have'
        assert told.inner_text().startswith(every)
        assert told.bounding_box()["height"] > 30


TOOLS = """() => [...document.querySelectorAll("#maps .toolbar")]
    .map((bar) => bar.getBoundingClientRect())
    .map(({ top, height }) => [Math.round(top), Math.round(height)])"""

COVERED = """() => {
    const box = (node) => node.getBoundingClientRect();
    const bars = [...document.querySelectorAll("#side .toolbar")].map(box);
    const isUpon = (a, b) => a.left < b.right && b.left < a.right
        && a.top < b.bottom && b.top < a.bottom;
    return [...document.querySelectorAll("#side select, #side .choices button")]
        .filter((node) => bars.some((bar) => isUpon(box(node), bar))).length;
}"""


def test_tools_of_maps_of_one_axis_and_of_two_stand_in_one_row(
    browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "bent.csv"
    path.write_text("x,same\n" + "".join(f"{i * i % 7},3\n" for i in range(14)))
    with served(of_file(str(path))) as it, visit(browser, it) as seen:
        assert seen.page.locator("#maps .toolbar").count() == 2
        first, second = seen.page.evaluate(TOOLS)
        assert first == second
        assert first[1] < 40


@pytest.mark.parametrize("width", [1400, 1024])
def test_no_tools_cover_what_is_chosen_beside_the_maps(browser: Any, width: int) -> None:
    rng = np.random.default_rng(0)
    table = mc.Table.of({name: rng.normal(size=12) for name in ("fish", "wine", "milk")})
    with served(Source(table, "x.csv", "x")) as it, visit(browser, it) as seen:
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.page.wait_for_selector("#figure-function svg image", timeout=PATIENCE)
        assert seen.page.locator("#side select").count() == 4
        assert seen.page.evaluate(COVERED) == 0


def test_the_columns_of_what_has_no_map_stand_where_they_would_be_used(
    browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "one.csv"
    path.write_text("who,x,y\nAda,1,2\n")
    with served(of_file(str(path))) as it, visit(browser, it, "refused") as seen:
        assert seen.texts("[data-use=active] .column .name") == ["x", "y"]
        assert seen.page.get_by_role("button", name="Open another file").count() == 1


FOCUSED = """() => {
    const it = document.activeElement;
    const style = getComputedStyle(it);
    const box = it.getBoundingClientRect();
    const isSeen = box.width > 0 && box.bottom > 0 && box.top < innerHeight;
    const isMarked = style.outlineStyle !== "none" || style.boxShadow !== "none";
    const places = { desk: "#desk", rail: ".rail", maps: "#maps", side: "#side", table: "#table" };
    const within = Object.keys(places).filter((name) => it.closest(places[name])).at(-1) ?? "bar";
    return [within, it === document.body || (isSeen && isMarked)];
}"""


def test_the_keyboard_goes_through_all_parts_and_is_seen_wherever_it_is(
    browser: Any, decathlon: str
) -> None:
    with visit(browser, decathlon) as seen:
        page = seen.page
        page.wait_for_selector("#figure-function svg image", timeout=PATIENCE)
        page.click(".brand")
        steps = []
        for _ in range(140):
            page.keyboard.press("Tab")
            steps.append(page.evaluate(FOCUSED))
        assert [step for step in steps if not step[1]] == []
        parts = list(dict.fromkeys(name for name, _ in steps))
        assert parts == ["bar", "rail", "desk", "maps", "table", "side"]
        # A long text opens and closes by a key.
        said = page.locator("#said")
        said.focus()
        low = said.bounding_box()["height"]
        page.keyboard.press("Enter")
        assert said.bounding_box()["height"] > low


def test_outlines_of_another_colour_have_room_in_the_map(browser: Any, numerals: str) -> None:
    with visit(browser, numerals) as seen:
        seen.page.get_by_label("How many classes").select_option("2")
        change(seen)
        frame = "mercer.pictures['plane-1-2'].frames[0]"
        before = seen.ask(f"{frame}.limits")
        seen.page.click("#paint-classes")
        drawn = seen.ask(
            f"""{frame}.page.outlines({frame}.axes, {frame}.space).map((m) =>
                [Math.min(...m.x), Math.max(...m.x), Math.min(...m.y), Math.max(...m.y)])"""
        )
        assert len(drawn) == 2
        (left, right), (low, high) = seen.ask(f"{frame}.limits")
        assert all(left < a and b < right and low < c and d < high for a, b, c, d in drawn)
        assert [left, right] != before[0] or [low, high] != before[1]


def test_who_cancels_a_refinement_keeps_the_preview_and_may_compute_it_later(browser: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3_100, 3))
    with served(Source(mc.read(x), "x.npy", "x")) as it:
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        page.route("**/api/refine", lambda route: route.fulfill(status=204))  # as if cancelled
        page.goto(it)
        page.wait_for_selector("#toast:has-text('The preview stays')", timeout=PATIENCE)
        assert page.evaluate("mercer.explorer.state.exact") is False
        page.unroute("**/api/refine")
        with page.expect_response("**/api/refine") as refined:
            page.get_by_role("button", name="Compute exactly").click()
        assert refined.value.json()["residuals"]
        page.wait_for_selector("#doubts:not(:has-text('landmarks'))", state="attached")
        page.wait_for_selector("body[data-state=ready]", timeout=PATIENCE)
        assert page.evaluate("mercer.explorer.state.exact") is True
        context.close()


STARTS = """() => [...document.querySelectorAll("#figure-plane-1-2 .legend")].flatMap((legend) => {
    const first = new Map();
    for (const one of legend.children) {
        const [, x, y] = /translate\\(([\\d.-]+) ([\\d.-]+)\\)/.exec(one.getAttribute("transform"));
        if (!first.has(y)) first.set(y, x);
    }
    return [...first.values()];
})"""


def test_the_lines_of_a_legend_begin_at_one_place(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    teams, sides = ("red team", "blue team", "green team"), ("north", "south")
    rows = (f"{i % 8},{teams[i % 3]},{sides[i % 2]}" for i in range(24))
    path.write_text("who,team,side\n" + "".join(f"person {row}\n" for row in rows))
    with served(of_file(str(path))) as it, visit(browser, it) as seen:
        starts = seen.ask(STARTS)
        assert len(starts) > 2
        assert len(set(starts)) == 1
