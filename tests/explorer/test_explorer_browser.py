"""The explorer in a browser: everything responds, is remembered, and asks nobody else."""

from __future__ import annotations

import csv
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import mercer as mc
from mercer.explorer.live import RUNNING
from mercer.explorer.source import Source
from tests.browser import PATIENCE, Visit
from tests.explorer.test_explorer_server import genes
from tests.explorer.visits import SIZE, arrive, change, served, visit
from tests.hostile import HOSTILE

pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(Source(mc.datasets.decathlon(), "decathlon.csv", "mc.datasets.decathlon()")) as it:
        yield it


@pytest.fixture(scope="module")
def empty() -> Iterator[str]:
    with served(None) as it:
        yield it


def column(seen: Visit, name: str) -> str:
    """Return the use under which the rail shows a column."""
    place = seen.page.locator(f'[data-column="{name}"]')
    return str(place.evaluate("(item) => item.closest('.use').dataset.use"))


def test_data_roles_kernel_and_bandwidth_change_what_is_shown(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        assert column(seen, "100m") == "active"
        assert column(seen, "Competition") == "colour"
        assert page.locator("figure[data-panel]").count() >= 6
        points = page.locator("#figure-curved .painted path[data-id]")
        assert points.count() == 41
        titles = seen.texts("#figure-plane-1-2 .x-title")
        page.locator('[data-column="100m"] select').select_option("supplementary")
        change(seen)
        assert column(seen, "100m") == "supplementary"
        assert seen.texts("#figure-plane-1-2 .x-title") != titles
        page.locator('[data-column="Discus"]').drag_to(page.locator('[data-use="ignored"]'))
        change(seen)
        assert column(seen, "Discus") == "ignored"
        page.click("#undo")
        change(seen)
        assert column(seen, "Discus") == "active"
        # A row is taken hold of anywhere but at its arrow, which stays small under the pointer.
        page.locator('[data-column="Competition"]').hover()
        held = """(item) => {
            const { left, right, top, bottom } = item.getBoundingClientRect();
            return document.elementFromPoint((left + right) / 2, (top + bottom) / 2).tagName;
        }"""
        assert page.locator('[data-column="Competition"]').evaluate(held) != "SELECT"
        page.keyboard.press("Control+z")
        change(seen)
        assert column(seen, "100m") == "active"
        assert seen.texts("#figure-plane-1-2 .x-title") == titles
        page.click("#redo")
        change(seen)
        assert column(seen, "100m") == "supplementary"
        before = seen.texts("#figure-curved .x-title")
        page.select_option("#family", label="Matérn 3/2")
        change(seen)
        assert seen.texts("#figure-curved .x-title") != before


def test_the_slider_moves_the_map_and_the_spectrum_and_no_axis_flips(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        bars = """() => [...document.querySelectorAll("#figure-curved-scree rect")]
            .map((bar) => bar.getAttribute("height"))"""
        before, old = page.evaluate(bars), seen.ask("mercer.page.spaces.curved.coordinates[0]")
        slider = page.locator("#bandwidth")
        with page.expect_response("**/api/slide"):
            slider.evaluate("(s) => { s.value = -15; s.dispatchEvent(new Event('input')); }")
        moved = """(old) => !mercer.explorer.isSliding
            && mercer.page.spaces.curved.coordinates[0][0] !== old"""
        page.wait_for_function(moved, arg=old[0], timeout=PATIENCE)
        new = seen.ask("mercer.page.spaces.curved.coordinates[0]")
        assert page.evaluate(bars) != before
        assert new != old
        assert sum(a * b for a, b in zip(new, old, strict=True)) > 0
        assert "× median" in page.inner_text("#bandwidth-shown")
        page.set_viewport_size({"width": 1024, "height": 768})
        over = """() => mercer.byId("bandwidth-shown").getBoundingClientRect().right
            - mercer.byId("bandwidth").getBoundingClientRect().right"""
        assert page.evaluate(over) < 1
        slider.evaluate("(s) => s.dispatchEvent(new Event('change'))")
        change(seen)
        assert seen.ask("mercer.explorer.state.bandwidth") > 0


def test_a_selection_is_seen_in_every_panel_and_in_the_table(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        box = page.locator("#figure-plane-1-2 .ground").bounding_box()
        page.mouse.move(box["x"] + 2, box["y"] + 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5, steps=4)
        page.mouse.up()
        chosen = seen.ask("mercer.page.selected")
        assert 0 < len(chosen) < 41
        for name in ("plane-1-2", "curved"):
            kept = page.locator(f"#figure-{name} .painted path[data-id]").evaluate_all(
                """(all) => all.filter((p) => Number(p.getAttribute("opacity")) > 0.2)
                    .map((p) => Number(p.dataset.id))"""
            )
            assert sorted(set(kept)) == chosen
        names = seen.texts("#table tbody td:first-child")
        assert (
            sorted(names)
            == sorted(seen.ask("mercer.page.selected.map((i) => mercer.page.people.names[i])"))[:25]
        )
        page.get_by_label("Colour by").select_option(label="100m")
        with page.expect_download() as saved:
            page.click("text=Save selection as CSV")
        assert saved.value.suggested_filename == "decathlon-selection.csv"
        text = Path(saved.value.path()).read_text(encoding="utf-8-sig")
        head, *lines = csv.reader(text.strip().splitlines())
        assert len(lines) == len(chosen)
        # Values are those of the file, of which the page has single precision.
        assert {line[0]: line[head.index("100m")] for line in lines}["YURKOV"] == "11.34"
        # It stays while the kernel changes, and Escape ends it.
        page.select_option("#family", label="Laplacian")
        change(seen)
        assert seen.ask("mercer.page.selected") == chosen
        page.keyboard.press("Escape")
        assert seen.ask("mercer.page.selected") == []
        page.fill("#table input[type=search]", "Clay")
        assert seen.texts("#table tbody td:first-child") == ["CLAY", "Clay"]


def test_a_bar_of_the_scree_and_a_digit_choose_an_axis(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        bar = page.locator("#figure-scree .bars rect").nth(2).bounding_box()
        page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
        assert seen.ask("mercer.page.axes") == [2, 1]
        assert seen.texts("#figure-plane-1-2 .x-title")[0].startswith("Dim 3")
        page.locator("body").press("Shift+Digit4")
        assert seen.ask("mercer.page.axes") == [2, 3]
        assert '"look":[2,3' in unquote(page.url)


def test_a_bar_of_the_curved_spectrum_chooses_an_axis_of_the_curved_map(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        bar = page.locator("#figure-curved-scree .bars rect").nth(2).bounding_box()
        page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
        assert seen.texts("#figure-curved .x-title")[0].startswith("Dim 3")
        assert seen.texts("#figure-plane-1-2 .x-title")[0].startswith("Dim 1")
        assert "curved Dim 3" in seen.texts("#table thead th")
        # It stays when the kernel changes, and axes chosen for all maps are those of all.
        page.select_option("#family", label="Laplacian")
        change(seen)
        assert seen.texts("#figure-curved .x-title")[0].startswith("Dim 3")
        # A menu that has the focus leaves the undo to the explorer.
        page.locator("#family").press("Control+z")
        change(seen)
        assert page.input_value("#family").startswith("gaussian")
        seen.ask("document.activeElement.blur()")
        page.locator("body").press("Digit4")
        assert seen.texts("#figure-curved .x-title")[0].startswith("Dim 4")
        assert seen.texts("#figure-plane-1-2 .x-title")[0].startswith("Dim 4")


@pytest.fixture(scope="module")
def factors() -> Iterator[str]:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {name: rng.normal(size=40) for name in "uvwxyz"}
    for k, name in enumerate(("species", "island", "sex")):
        columns[name] = [f"{'abc'[k]}{i}" for i in rng.integers(0, 3, 40)]
    with served(Source(mc.Table.of(columns), "some birds.csv", "data")) as it:
        yield it


CATEGORIES = """[...document.querySelectorAll("#figure-plane-1-2 .labels text")]
    .map((text) => text.textContent).filter((text) => /^[abc][0-9]$/.test(text)).sort()"""


def test_only_the_categories_of_the_colour_are_drawn_until_all_are_asked_for(
    browser: Any, factors: str
) -> None:
    with visit(browser, factors) as seen:
        diamonds = """mercer.pictures["plane-1-2"].frames[0].marks
            .find((m) => m.of === "supplementary categories" && m.mark === "markers").ids.length"""
        name = seen.ask("mercer.page.people.colours[mercer.page.colour].name")
        first = {"species": "a", "island": "b", "sex": "c"}[name]
        assert seen.ask(diamonds) == 3
        assert {text[0] for text in seen.ask(CATEGORIES)} == {first}
        seen.page.check("#all-factors")
        assert seen.ask(diamonds) == 9
        seen.page.uncheck("#all-factors")
        other = "island" if name == "species" else "species"
        seen.page.select_option("#controls select >> nth=2", label=other)
        assert {text[0] for text in seen.ask(CATEGORIES)} == {"b" if other == "island" else "a"}
        # Words of classes are no words of the table, and a search that finds nothing says so.
        seen.page.fill("#table input[type=search]", "class")
        assert "No row has" in seen.page.inner_text("#table tbody")


def test_a_saved_image_is_fine_and_named_by_its_data(browser: Any, factors: str) -> None:
    with visit(browser, factors) as seen:
        page = seen.page
        seen.ask("mercer.pictures.curved.title = 'A title of many words '.repeat(8)")
        width = seen.ask("mercer.pictures.curved.width")
        with page.expect_download() as saved:
            page.locator("#figure-curved [title='Save as PNG']").dispatch_event("click")
        assert saved.value.suggested_filename == "some-birds-curved-1-2.png"
        head = Path(saved.value.path()).read_bytes()[16:20]
        assert abs(int.from_bytes(head) - 4 * width) <= 4
        with page.expect_download() as drawn:
            page.locator("#figure-curved [title='Save as SVG']").dispatch_event("click")
        text = Path(drawn.value.path()).read_text(encoding="utf-8")
        lines = re.findall(r'font-weight="600"[^>]*>(A title[^<]*|[a-z ]*title[^<]*)<', text)
        assert len(lines) >= 2
        fits = "(all) => all.every((t) => mercer.width(t, 15, true) < mercer.pictures.curved.width)"
        assert page.evaluate(fits, lines)


OVERLAPS = """() => {
    const boxes = (css) => [...document.querySelectorAll(`#figure-scree ${css}`)]
        .map((node) => node.getBoundingClientRect());
    const bars = boxes(".bars rect");
    const numbers = [...document.querySelectorAll("#figure-scree .marks > text")]
        .map((node) => node.getBoundingClientRect());
    const isUpon = (a, b) => a.left < b.right && b.left < a.right
        && a.top + 4 < b.bottom && b.top < a.bottom - 4;
    const isIn = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top - 2
        && a.bottom <= b.bottom + 2;
    return [numbers.length,
        numbers.filter((a) => bars.some((b) => isUpon(a, b) && !isIn(a, b))).length];
}"""
"""How many numbers the scree has, and how many lie neither beside the bars nor wholly in one."""


def test_a_narrow_window_folds_what_stands_beside_and_numbers_stand_clear(
    browser: Any, factors: str
) -> None:
    with visit(browser, factors) as seen:
        page = seen.page
        assert page.evaluate(OVERLAPS) == [6, 0]
        page.set_viewport_size({"width": 1024, "height": 900})
        page.wait_for_selector("#answer > #side", state="attached", timeout=PATIENCE)
        for name in ("plane-1-2", "curved"):
            assert page.locator(f"#figure-{name}").bounding_box()["width"] > 320
            bar = page.locator(f"#figure-{name} .toolbar").bounding_box()
            figure = page.locator(f"#figure-{name}").bounding_box()
            assert bar["x"] >= figure["x"] - 1
        page.set_viewport_size(SIZE)
        page.wait_for_selector("#desk > #side", state="attached", timeout=PATIENCE)


def test_the_card_names_the_nearest(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        seen.page.locator("#figure-curved .painted path[data-id='0']").hover(force=True)
        seen.page.wait_for_selector("#card .near", timeout=PATIENCE)
        text = seen.page.inner_text("#card")
        assert "cos2" in text
        assert "contributes most: " in text
        assert len(text.partition("Nearest in feature space: ")[2].split(", ")) == 5


def test_the_address_holds_the_state(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.uncheck("#scale")
        change(seen)
        page.locator('[data-column="1500m"] select').select_option("ignored")
        change(seen)
        page.select_option("#controls select >> nth=2", label="Points")
        found = page.url
    with visit(browser, found) as again:
        assert again.ask("mercer.explorer.state.scale") is False
        assert column(again, "1500m") == "ignored"
        assert again.ask("mercer.page.people.colours[mercer.page.colour].name") == "Points"
    broken = f"{address}#%7Bnonsense"
    with visit(browser, broken) as other:
        assert other.ask("mercer.explorer.state.scale") is None


def test_code_command_and_page_leave_the_explorer(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.click("#copy-code")
        page.wait_for_selector("#toast:has-text('Python copied')", timeout=PATIENCE)
        assert "mc.analyse(data" in seen.ask("navigator.clipboard.readText()")
        page.click("#copy-command")
        page.wait_for_selector("#toast:has-text('Command copied')", timeout=PATIENCE)
        assert seen.ask("navigator.clipboard.readText()").startswith("mercer report decathlon.csv")
        with page.expect_download() as saved:
            page.click("#save")
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        assert saved.value.suggested_filename == "decathlon.html"
        assert "<!doctype html>" in text
        with page.expect_download() as picture:
            page.locator("#figure-curved [title='Save as SVG']").dispatch_event("click")
        assert "Casarsa" in Path(picture.value.path()).read_text(encoding="utf-8")


def test_a_written_kernel_is_judged_and_used(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.click("#written-part summary")
        page.fill("#written", "gaussian(1) - linear()")
        page.wait_for_selector("#verdict.bad", timeout=PATIENCE)
        assert "subtracted" in page.inner_text("#verdict")
        assert page.locator("#use").is_disabled()
        page.fill("#written", "sigmoid(offset=-3)")
        page.wait_for_selector("#verdict:has-text('individuals')", timeout=PATIENCE)
        page.fill("#written", "gaussian(2) + 0.1 * linear()")
        page.wait_for_selector("#verdict.good", timeout=PATIENCE)
        page.click("#use")
        change(seen)
        assert seen.ask("mercer.explorer.state.kernel") == "gaussian(2) + 0.1 * linear()"
        assert "× median" in page.inner_text("#bandwidth-shown")
        page.click("#usual")
        change(seen)
        assert page.inner_text("#bandwidth-shown").endswith(", the median")
        page.fill("#written", "gaussian(bandwidth=2.5)")
        page.press("#written", "Enter")
        change(seen)
        assert page.locator("#family option:checked").inner_text() == "Gaussian"
        assert page.inner_text("#bandwidth-shown").startswith("2.5,")
        page.select_option("#against", label="Laplacian")
        change(seen)
        assert seen.texts("#figure-plane-1-2 h3")[0].startswith("Map to compare")


def test_samples_in_columns_and_codes_of_groups_are_read_by_a_button(
    browser: Any, empty: str, tmp_path: Path
) -> None:
    path = tmp_path / "genes.csv"
    path.write_bytes(genes())
    with visit(browser, empty, "empty") as seen:
        page = seen.page
        page.set_input_files("#pick", path)
        change(seen)
        page.click("text=Map the columns")
        change(seen)
        assert page.inner_text("#file") == "genes.csv · 6 individuals"
        assert page.input_value("#individuals") == "columns"
        # Of more columns than a list holds, the others are found by their names.
        assert page.locator("[data-use=active] .column").count() == 200
        page.fill(".seek", "G249")
        assert seen.texts("[data-use=active] .column .name") == ["G249"]
        page.select_option("#individuals", "rows")
        change(seen)
        assert page.inner_text("#file") == "genes.csv · 250 individuals"
        coded = "a,b,arm\n" + "".join(f"{i * 7 % 31},{i * i % 37},{i % 3}\n" for i in range(60))
        path.write_text(coded)
        page.set_input_files("#pick", path)
        change(seen)
        page.locator("button.kind[aria-label^=arm]").click()
        change(seen)
        assert column(seen, "arm") == "colour"
        page.get_by_label("Use of arm").select_option("Read as numbers")
        change(seen)
        assert column(seen, "arm") == "active"


def test_an_empty_page_takes_a_file_and_examples(browser: Any, empty: str, tmp_path: Path) -> None:
    with visit(browser, empty, "empty") as seen:
        page = seen.page
        assert page.locator("#examples button").count() == 7
        page.click("[data-example=eurodist]")
        arrive(seen)
        assert seen.ask("mercer.explorer.value.explorer.analysis") == "mds"
        assert page.locator("#kernel-part").is_hidden()
        page.click("#other")
        path = tmp_path / "gaps.csv"
        path.write_text(
            "who,x,y\n" + "\n".join(f"w{i},{i % 5},{i * i % 7}" for i in range(15)) + "\nz,,2\n"
        )
        page.set_input_files("#pick", path)
        arrive(seen)
        assert seen.ask("mercer.page.count") == 16
        page.click("button:has-text('Leave out rows')")
        change(seen)
        assert seen.ask("mercer.page.count") == 15
        path.write_text("not a table")
        page.set_input_files("#pick", path)
        page.wait_for_selector("#elsewhere:not([hidden])", timeout=PATIENCE)
        assert "gaps.csv was not read" in page.inner_text("#elsewhere")


def test_crowds_are_drawn_on_a_canvas_with_webgl_or_without(browser: Any) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=1_600) for name in "xyz"}
    team = rng.choice(["a", "b"], 1_600).tolist()
    drawn = """[...document.querySelectorAll("#maps canvas.crowd")]
        .map((canvas) => [canvas.dataset.by, canvas.toDataURL()])"""
    source = Source(mc.Table.of({**columns, "team": team}), "crowd.csv", "data")
    with served(source) as address, visit(browser, address) as seen:
        page = seen.page
        before = seen.ask(drawn)
        assert [by for by, _ in before] == ["webgl", "webgl"]
        assert page.locator("#figure-curved .painted path[data-id]").count() == 0
        box = page.locator("#figure-curved .ground").bounding_box()
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(box["x"] + 2, box["y"] + 2)
        page.mouse.down()
        page.mouse.move(*middle, steps=4)
        page.mouse.up()
        assert 0 < seen.ask("mercer.page.selected.length") < 1_600
        chosen = seen.ask(drawn)
        assert all(a[1] != b[1] for a, b in zip(before, chosen, strict=True))
        page.mouse.move(*middle)
        limits = seen.ask("mercer.pictures.curved.frames[0].limits")
        page.mouse.wheel(0, -200)
        zoomed = "(old) => String(mercer.pictures.curved.frames[0].limits) !== String(old)"
        page.wait_for_function(zoomed, arg=limits, timeout=PATIENCE)
        # Without WebGL the same stands on a plain canvas.
        seen.ask("mercer.isWithoutWebGL = true; mercer.canvases.clear(); mercer.change({})")
        change(seen)
        assert [by for by, _ in seen.ask(drawn)] == ["canvas", "canvas"]
        assert len(set(seen.ask(drawn)[0][1])) > 10


def test_hostile_labels_are_text(browser: Any, empty: str, tmp_path: Path) -> None:
    cells = [t.replace('"', '""').replace("\0", " ") for t in HOSTILE]
    rows = "\n".join(f'"{t}",{i % 5},{i * i % 7},"{t}"' for i, t in enumerate(cells * 2))
    path = tmp_path / "hostile.csv"
    path.write_text(
        f'name,"<img src=x onerror=alert(1)>",y,"</script><script>alert(2)</script>"\n{rows}\n'
    )
    with visit(browser, empty, "empty") as seen:
        seen.page.set_input_files("#pick", path)
        seen.page.wait_for_selector(
            "body[data-state=ready], body[data-state=refused]", timeout=PATIENCE
        )
        assert seen.ask("document.querySelectorAll('img').length") == 0
        assert not [m for m in seen.messages if m.startswith("dialog")]


def test_a_server_that_is_gone_is_said_and_no_token_is_a_closed_door(browser: Any) -> None:
    with served(Source(mc.datasets.iris(), "iris.csv", "mc.datasets.iris()")) as address:
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        page.goto(address.replace("token=token", "token=no"))
        assert "token" in page.inner_text("main")
        page.goto(address)
        page.wait_for_selector("body[data-state=ready]", timeout=PATIENCE)
    page.select_option("#family", label="Laplacian")
    page.wait_for_selector("body[data-state=gone]", timeout=PATIENCE)
    assert "mercer serve" in page.inner_text("#gone")
    # The menu says what the map shows, and trying again loses nothing.
    assert page.input_value("#family").startswith("gaussian")
    assert page.locator("#undo").is_disabled()
    page.click("#gone button")
    page.wait_for_selector("#toast:not([hidden])", timeout=PATIENCE)
    assert page.locator("#figure-curved .painted path[data-id]").count() == 150
    port = int(re.findall(r":(\d+)/", address)[0])
    with served(Source(mc.datasets.iris(), "iris.csv", "mc.datasets.iris()"), port):
        page.click("#gone button")
        page.wait_for_selector("body[data-state=ready]", timeout=PATIENCE)
        assert page.locator("#gone").is_hidden()
    context.close()


DROP = """() => {
    const data = new DataTransfer();
    const rows = [...Array(12).keys()].map((i) => `${i % 5},${(i * i) % 7},${i % 3}`);
    data.items.add(new File([["a,b,c", ...rows].join("\\n")], "dropped.csv"));
    const how = { dataTransfer: data, bubbles: true, cancelable: true };
    const event = (name) => new DragEvent(name, how);
    const header = document.querySelector("header");
    return [!header.dispatchEvent(event("dragover")), !header.dispatchEvent(event("drop"))];
}"""


def test_files_are_read_wherever_they_fall_and_their_addresses_say_so(
    browser: Any, empty: str
) -> None:
    buttons = "['copy-code', 'copy-command', 'save'].map((id) => mercer.byId(id).disabled)"
    with visit(browser, empty, "empty") as seen:
        page = seen.page
        assert seen.ask(buttons) == [True] * 3
        assert page.locator("#back").is_hidden()
        assert page.evaluate(DROP) == [True, True]
        arrive(seen)
        assert seen.ask(buttons) == [False] * 3
        page.click("#other")
        assert seen.ask(buttons) == [True] * 3
        page.click("#back")
        assert page.locator("#figure-curved").is_visible()
        assert seen.ask(buttons) == [False] * 3
        page.uncheck("#scale")
        change(seen)
        found = page.url
        theme = seen.ask("mercer.isDark")
        page.click("#theme")
        page.reload()
        arrive(seen)
        assert seen.ask("mercer.isDark") is not theme
        assert seen.ask("mercer.explorer.state.scale") is False
    with visit(browser, found, "empty") as other:
        assert "dropped.csv" in other.page.inner_text("#elsewhere")
        other.page.evaluate(DROP)
        arrive(other)
        assert other.ask("mercer.explorer.state.scale") is False


def test_what_is_written_follows_the_slider_and_undo(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.click("#written-part summary")
        page.wait_for_selector("#verdict.good", timeout=PATIENCE)
        before = page.input_value("#written")
        slider = page.locator("#bandwidth")
        slider.evaluate("(s) => { s.value = 30; s.dispatchEvent(new Event('change')); }")
        change(seen)
        width = seen.ask("mercer.explorer.state.bandwidth")
        assert f"bandwidth={width}" in page.input_value("#written")
        slider.press("Control+z")
        change(seen)
        assert page.input_value("#written") == before
        page.fill("#written", "gaussian(1) - linear()")
        page.wait_for_selector("#verdict.bad", timeout=PATIENCE)
        page.select_option("#family", label="Laplacian")
        page.wait_for_selector("#verdict.good", timeout=PATIENCE)
        assert page.input_value("#written").startswith("laplacian")


def test_an_axis_is_drawn_over_two_variables_and_classes_are_chosen(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.wait_for_selector("#figure-function svg image")
        before = page.locator("#figure-function h3").inner_text()
        other = "Discus" if "Discus" not in before else "Javeline"
        with page.expect_response("**/api/function"):
            page.get_by_label("Variable across").select_option(other)
        page.wait_for_selector(f"#figure-function h3:has-text('over {other}')")
        with page.expect_response("**/api/function"):
            page.keyboard.press("2")  # the map goes to another axis, and the function follows
        page.wait_for_selector("#figure-function h3:has-text('Dim 2 over')")
        page.click("#paint-classes")
        assert seen.ask("mercer.page.people.colours[mercer.page.colour].name") == "class"
        page.locator(".classes tr[data-class='1']").press("Enter")
        size = int(page.locator(".classes tr[data-class='1'] td.number").inner_text())
        assert seen.ask("mercer.page.selected.length") == size
        page.get_by_label("How many classes").select_option("3")
        change(seen)
        assert page.locator(".classes tr[data-class]").count() == 3
        assert '"classes":3' in unquote(page.url)


def test_a_preview_becomes_exact_and_zooming_many_moves_them_at_once(browser: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3_100, 3))
    with served(Source(mc.read(x), "x.npy", "x")) as it, visit(browser, it) as seen:
        page = seen.page
        page.wait_for_selector("body[data-state=ready] #answer:not(.loading-stage)")
        page.wait_for_function("() => mercer.explorer.state.exact")
        arrive(seen)
        frame = "mercer.pictures['plane-1-2'].frames[0]"
        old = seen.ask(f"{frame}.x.limits")
        page.locator("#figure-plane-1-2 svg.picture").hover()
        page.mouse.wheel(0, -300)
        nearer = f"([a, b]) => {{ const [c, d] = {frame}.x.limits; return d - c < b - a; }}"
        page.wait_for_function(nearer, arg=old, timeout=PATIENCE)
        # What glides lies where it is drawn once the reader rests.
        glide = seen.ask(f"(() => {{ const c = {frame}.crowd; return [c.view, c.place(7)]; }})()")
        box = seen.ask(f"{frame}.box")
        page.wait_for_function(f"() => {frame}.crowd.view[0] === 1", timeout=PATIENCE)
        rest = seen.ask(f"{frame}.crowd.place(7)")
        (sx, sy, tx, ty), (u, v) = glide
        if sx != 1:  # it was asked while it glided
            assert abs(sx * (u - box[0]) + tx + box[0] - rest[0]) < 1
            assert abs(sy * (v - box[1]) + ty + box[1] - rest[1]) < 1


DISTANCES = ",a,b,c,d\na,0,2,5,6\nb,2,0,4,5\nc,5,4,0,3\nd,6,5,3,0\n"
GAPS = "place,rain,sun,coast\n" + "".join(
    f"p{i},{'' if i == 4 else 10 + i * 7 % 13},{i * 5 % 11},{'yes' if i % 3 else 'no'}\n"
    for i in range(24)
)
STRINGS = "".join(f">s{i}\n{'ACGTAC' * (1 + i % 3)}{'TTG' * (i % 4)}\n" for i in range(9))


def test_a_new_user_goes_from_an_empty_page_to_a_picture(
    browser: Any, empty: str, tmp_path: Path
) -> None:
    for name, text in (("weather.csv", GAPS), ("cities.csv", DISTANCES), ("genes.fasta", STRINGS)):
        with visit(browser, empty, "empty") as seen:
            page = seen.page
            path = tmp_path / name
            path.write_text(text)
            with page.expect_file_chooser() as chooser:
                page.get_by_role("button", name="choose one").click()
            chooser.value.set_files(path)
            arrive(seen)
            if name == "weather.csv":  # where means were put for what is missing
                page.get_by_label("Missing values").select_option("drop")
                change(seen)
            count = {"weather.csv": "23 of 24", "cities.csv": "4", "genes.fasta": "9"}[name]
            assert (
                page.inner_text("#file").replace("\u00a0", " ").endswith(f"· {count} individuals")
            )
            figure = page.locator("#maps figure").first
            figure.hover()
            with page.expect_download() as saved:
                figure.get_by_role("button", name="Save as PNG").click()
            assert saved.value.suggested_filename.startswith(name.partition(".")[0])
            assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


def test_the_answer_the_file_and_the_scree_follow_the_plane_which_can_be_undone(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        first = page.inner_text("#said")
        page.locator("#controls select").nth(1).select_option("2")
        assert "The map of axes 1 and 3 shows 46.8 %" in page.inner_text("#said")
        page.locator("#controls select").nth(2).select_option("0")
        shown = page.locator("#figure-scree .axis-shown")
        assert shown.count() == 2
        tall = """() => ["plane-1-2", "curved"].map((name) =>
            document.querySelector(`#figure-${name} .ground`).getAttribute("height"))"""
        page.evaluate("mercer.page.paint(2)")  # by a number
        by_number = page.evaluate(tall)
        assert by_number[0] == by_number[1]
        page.keyboard.press("Control+z")
        assert page.evaluate(tall) == by_number  # maps do not shrink for a scale
        with page.expect_download() as saved:
            page.locator("#figure-plane-1-2").get_by_role("button", name="Save as PNG").click()
        assert saved.value.suggested_filename == "decathlon-plane-1-3.png"
        page.keyboard.press("Control+z")
        page.keyboard.press("Control+z")
        assert seen.ask("mercer.page.look.slice(0, 2)") == [0, 1]
        assert page.inner_text("#said") == first
        page.click("#redo")
        assert seen.ask("mercer.page.look.slice(0, 2)") == [0, 2]
        # The card of a bar stands where the pointer is.
        bar = page.locator("#figure-scree .bars rect").nth(1).bounding_box()
        page.mouse.move(bar["x"] + 3, bar["y"] + bar["height"] - 3)
        card = page.locator("#card").bounding_box()
        assert abs(card["y"] - bar["y"] - bar["height"]) < 60


def test_a_lasso_begun_beside_the_frame_selects_and_names_the_selected(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        figure = page.locator("#figure-plane-1-2")
        figure.get_by_role("button", name="Lasso by dragging").click()
        box = figure.locator(".ground").bounding_box()
        left, top, right, low = (
            box["x"] - 8, box["y"] - 4, box["x"] + box["width"] * 0.35, box["y"] + box["height"]
        )  # fmt: skip
        page.mouse.move(left, top)
        page.mouse.down()
        for at in ((right, top), (right, low + 3), (left, low + 3)):
            page.mouse.move(*at, steps=5)
        page.mouse.up()
        chosen = seen.ask("mercer.page.selected")
        assert 0 < len(chosen) < 20
        named = """[...document.querySelectorAll("#figure-plane-1-2 .labels text")]
            .filter((it) => it.getAttribute("display") !== "none").map((it) => it.textContent)"""
        names = seen.ask("mercer.page.selected.map((i) => mercer.page.people.names[i])")
        assert set(names) <= set(seen.ask(named))
        # What is selected is told above the maps, and the tools of a map cover no title.
        page.set_viewport_size({"width": 1024, "height": 900})
        told = page.locator("#selection").bounding_box()
        title = figure.locator("h3").bounding_box()
        assert told["y"] + told["height"] <= title["y"]
        tools = figure.locator(".toolbar").bounding_box()
        assert tools["y"] >= title["y"] + title["height"]


def test_keys_draw_a_box_and_a_lasso_and_choose_the_axes_of_a_map(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        picture = page.locator("#figure-curved svg.picture")
        picture.focus()
        page.keyboard.press("b")
        for key, times in (("Shift+ArrowLeft", 4), (" ", 1), ("Shift+ArrowRight", 6)):
            for _ in range(times):
                page.keyboard.press(key)
        for _ in range(4):
            page.keyboard.press("Shift+ArrowDown")
        page.keyboard.press("Enter")
        boxed = seen.ask("mercer.page.selected")
        assert 0 < len(boxed) < 41
        page.keyboard.press("Escape")  # ends the cursor, not the selection
        assert seen.ask("mercer.page.selected") == boxed
        page.keyboard.press("l")
        for key in ("Shift+ArrowUp", " ", "Shift+ArrowRight", " ", "Shift+ArrowDown", "Enter"):
            for _ in range(1 if key in (" ", "Enter") else 3):
                page.keyboard.press(key)
        assert seen.ask("mercer.page.selected") != boxed
        page.keyboard.press("Escape")
        page.locator("#figure-curved-scree svg.picture").focus()
        page.keyboard.press("Digit3")
        assert seen.ask("mercer.page.own.curved") == [2, 1]
        assert seen.ask("mercer.page.axes") == [0, 1]
        # The arrows of variables follow the axes of the curved map.
        page.wait_for_function(
            """() => document.querySelector("#figure-gradients .x-title")
                ?.textContent.startsWith("Dim 3")"""
        )
        assert page.locator("#figure-gradients .legend .entry").count() >= 2


def test_points_and_legend_have_the_limits_of_the_plane_after_a_recomputation(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.evaluate("mercer.page.move([1, 2])")
        named = (
            "mercer.page.people.colours.findIndex((c) => c.name === 'contribution to the plane')"
        )
        page.evaluate(f"mercer.page.paint({named})")
        page.select_option("#family", label="Laplacian")
        change(seen)
        assert page.evaluate("mercer.page.axes") == [1, 2]
        drawn, told = page.evaluate("[mercer.page.shades.limits, mercer.page.scale.limits]")
        assert drawn == told


def test_any_two_kernels_are_compared(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.select_option("#against", label="Another…")
        area = page.locator("#against-written")
        area.fill("polynomial(degree=3) + gaussian(")
        page.wait_for_selector("#against-verdict.bad")
        area.fill("0.5 * polynomial(degree=3) + gaussian(3.0)")
        page.wait_for_selector("#against-verdict.good")
        page.click("#against-use")
        page.wait_for_selector("#figure-plane-1-2 h3:has-text('Map to compare')", timeout=PATIENCE)
        arrive(seen)
        assert "Inertia to compare" in seen.texts("#side h3")
        assert "polynomial" in seen.ask("mercer.explorer.state.against")
        assert page.locator("#against-part").is_visible()
        page.select_option("#against", label="straight map")
        change(seen)
        assert page.locator("#against-part").is_hidden()


def test_a_file_that_cannot_be_read_says_why_and_what_to_do(
    browser: Any, address: str, tmp_path: Path
) -> None:
    path = tmp_path / "one.graphml"
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
        '<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>'
    )
    with visit(browser, address) as seen:
        page = seen.page
        page.set_input_files("#pick", path)
        arrive(seen, "empty")
        told = page.locator("#elsewhere")
        assert "one.graphml was not read" in told.inner_text()
        assert "several files" in told.inner_text()
        with page.expect_file_chooser():
            told.get_by_role("button", name="Choose several files").click()
        page.click("#back")
        arrive(seen)


def test_dark_and_light_and_every_control_has_a_name(browser: Any, address: str) -> None:
    with visit(browser, address, color_scheme="dark") as seen:
        page = seen.page
        assert seen.ask("document.documentElement.dataset.theme") == "dark"
        page.click("#theme")
        assert seen.ask("document.documentElement.dataset.theme") == "light"
        unnamed = seen.ask(
            """[...document.querySelectorAll("button, select, input:not([hidden]), textarea")]
            .filter((it) => !(it.textContent || it.title || it.labels?.length))
            .filter((it) => !it.getAttribute("aria-label"))
            .map((it) => it.outerHTML.slice(0, 80))"""
        )
        assert unnamed == []
        assert re.search(r"decathlon\.csv", page.title())
        assert json.loads(unquote(page.url.partition("#")[2]))["look"][:2] == [0, 1]


@contextmanager
def a_notebook(html: str, host: str) -> Iterator[str]:
    """Serve a page of another port, and perhaps of another name, as a notebook does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802  (its name)
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!doctype html><body>{html}</body>".encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as place:
        thread = threading.Thread(target=place.serve_forever)
        thread.start()
        try:
            yield f"http://{host}:{place.server_port}/"
        finally:
            place.shutdown()
            thread.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_notebook_shows_the_explorer_while_its_server_runs_and_else_the_frozen_page(
    browser: Any, host: str
) -> None:
    # Of another name the frame is of another site, for which a browser keeps nothing.
    model = mc.PCA(2, standardize=True).fit(mc.datasets.iris())
    shown = mc.explore(model, live=True)
    running = RUNNING[-1]
    assert shown.is_live
    with a_notebook(shown._repr_html_(), host) as address:
        page = browser.new_page()
        page.goto(address)
        frame = page.frame_locator("iframe")
        frame.locator("body.explorer[data-state=ready]").wait_for(timeout=PATIENCE)
        assert frame.locator("#axes").input_value() == "2"
        frame.locator("#family").select_option(label="Laplacian")
        frame.locator("#undo:not([disabled])").wait_for()
        boxed = page.locator("iframe").get_attribute("sandbox")
        assert boxed == "allow-scripts allow-same-origin allow-downloads"
        with page.expect_download() as download:
            frame.locator("#save").click()
        assert download.value.suggested_filename.endswith(".html")
        running.close()
        frame.locator("#family").select_option(label="Gaussian")
        frame.locator("#gone:not([hidden])").wait_for()
        assert "Run the cell again." in frame.locator("#gone").inner_text()
        page.reload()  # as when the notebook is opened again later
        frame.locator("h1").wait_for(timeout=PATIENCE)
        assert frame.locator("body.explorer").count() == 0
        page.close()


@pytest.mark.parametrize(("ground", "theme"), [("#111", "dark"), ("rgb(250 250 250)", "light")])
def test_the_explorer_of_a_notebook_fits_its_cell_and_is_dark_where_the_notebook_is(
    browser: Any, ground: str, theme: str
) -> None:
    shown = mc.explore(mc.PCA(2).fit(mc.datasets.iris()), live=True)
    cell = f'<div style="background: {ground}"><div id="cell">{shown._repr_html_()}</div></div>'
    with a_notebook(cell, "127.0.0.1") as address:
        other = "light" if theme == "dark" else "dark"
        page = browser.new_page(color_scheme=other)  # whatever the system is
        page.goto(address)
        frame = page.frame_locator("iframe")
        frame.locator("body.explorer[data-state=ready]").wait_for(timeout=PATIENCE)
        assert frame.locator("html").get_attribute("data-theme") == theme
        fits = "(it) => it.scrollWidth <= it.clientWidth && it.scrollHeight <= it.clientHeight"
        assert page.locator("#cell").evaluate(fits)
        assert frame.locator("html").evaluate(fits)
        page.close()
    RUNNING[-1].close()
