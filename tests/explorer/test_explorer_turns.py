"""Who acts before an answer has come: what was asked last is what the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mercer as mc
from mercer.explorer.source import Source
from tests.browser import PATIENCE, Visit
from tests.explorer.visits import arrive, served, visit

pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(Source(mc.datasets.decathlon(), "decathlon.csv", "mc.datasets.decathlon()")) as it:
        yield it


class Held:
    """Questions of a kind that reach the server when they are let go."""

    def __init__(self, seen: Visit, what: str) -> None:
        self.page, self.pattern = seen.page, f"**/api/{what}"
        self.routes: list[Any] = []
        self.page.route(self.pattern, lambda route: self.routes.append(route))

    def wait(self, count: int = 1) -> None:
        """Wait until so many have been asked."""
        for _ in range(PATIENCE // 20):
            if len(self.routes) >= count:
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{len(self.routes)} of {count} questions came")

    def release(self) -> None:
        """Let all go, and hold no more."""
        for route in self.routes:
            route.continue_()
        self.page.unroute(self.pattern)


USED = "gaussian(2) + 0.1 * linear()"
ASKED = "mercer.explorer.asked"


def write(seen: Visit, text: str) -> None:
    if not seen.page.locator("#written").is_visible():
        seen.page.click("#written-part summary")
    seen.page.wait_for_selector("#verdict.good", timeout=PATIENCE)
    seen.page.fill("#written", text)


def test_a_kernel_is_used_by_enter_before_it_is_judged(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        held = Held(seen, "kernel")
        seen.page.click("#written-part summary")
        held.wait()
        held.release()
        held = Held(seen, "kernel")
        write(seen, USED)
        seen.page.press("#written", "Enter")
        seen.page.wait_for_timeout(400)  # the time after which what is written is judged by itself
        held.wait()
        assert len(held.routes) == 1
        held.release()
        seen.page.wait_for_function("() => mercer.explorer.asked === 2", timeout=PATIENCE)
        arrive(seen)
        assert seen.ask("mercer.explorer.state.kernel") == USED


def test_a_kernel_that_is_used_twice_is_one_step_and_a_newer_choice_stays(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        write(seen, USED)
        page.wait_for_selector("#verdict:has-text('sum')", timeout=PATIENCE)
        held = Held(seen, "kernel")
        page.click("#use")
        page.click("#use")
        held.wait()
        held.release()
        page.wait_for_function("() => mercer.explorer.asked === 2", timeout=PATIENCE)
        arrive(seen)
        assert seen.ask("mercer.explorer.past.length") == 1
        # Who chooses another kernel while one is judged has that one.
        held = Held(seen, "kernel")
        page.fill("#written", "linear() + polynomial(degree=2)")
        page.press("#written", "Enter")
        held.wait()
        page.select_option("#family", label="Laplacian")
        page.wait_for_function("() => mercer.explorer.asked === 3", timeout=PATIENCE)
        arrive(seen)
        with page.expect_response("**/api/kernel"):
            held.release()
        page.wait_for_timeout(100)
        assert seen.ask(ASKED) == 3
        assert seen.ask("mercer.explorer.state.kernel").startswith("laplacian")


def at_rest(seen: Visit, expression: str) -> Any:
    """Return a value once it stays the same for longer than a frame: maps move to their places."""
    found = seen.ask(expression)
    for _ in range(100):
        seen.page.wait_for_timeout(200)
        before, found = found, seen.ask(expression)
        if found == before:
            return found
    raise AssertionError("it moves for ever")


def test_an_answer_of_the_slider_does_not_cover_a_newer_map(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        held = Held(seen, "slide")
        slider = page.locator("#bandwidth")
        slider.evaluate("(s) => { s.value = 40; s.dispatchEvent(new Event('input')); }")
        slider.evaluate("(s) => { s.value = 50; s.dispatchEvent(new Event('input')); }")
        held.wait()
        page.select_option("#family", label="Laplacian")
        page.wait_for_function("() => mercer.explorer.asked === 2", timeout=PATIENCE)
        arrive(seen)
        page.wait_for_function("() => !mercer.page.spaces.curved.isLive", timeout=PATIENCE)
        drawn = "mercer.page.spaces.curved.coordinates[0]"
        before = at_rest(seen, drawn)
        with page.expect_response("**/api/slide"):
            held.release()
        page.wait_for_timeout(400)  # longer than a movement
        assert seen.ask(drawn) == before
        assert not [url for url in seen.requests if url.endswith("slide")][1:]


def test_who_looks_for_another_file_before_the_answer_goes_back_to_it(
    browser: Any, address: str
) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        held = Held(seen, "analysis")
        page.select_option("#family", label="Laplacian")
        held.wait()
        page.click("#other")
        arrive(seen, "empty")
        with page.expect_response("**/api/analysis"):
            held.release()
        page.wait_for_function("() => mercer.explorer.answered.state.kernel.startsWith('lap')")
        assert seen.ask("document.body.dataset.state") == "empty"
        page.click("#back")
        arrive(seen)
        page.wait_for_selector("#figure-curved .painted path[data-id]", timeout=PATIENCE)


def test_what_is_opened_last_is_shown_whatever_is_read_last(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        page.click("#other")
        # The answer about the first is on its way while the second is opened.
        page.evaluate(
            """() => { const ask = window.fetch; window.fetch = async (url, how) => {
                const answer = await ask(url, how);
                if (String(how.body).includes("eurodist"))
                    await new Promise((done) => (window.later = done));
                return answer; }; }"""
        )
        page.click("[data-example=eurodist]")
        page.wait_for_function("() => window.later", timeout=PATIENCE)
        page.click("[data-example=iris]")
        page.wait_for_function("() => mercer.page?.count === 150", timeout=PATIENCE)
        arrive(seen)
        asked = seen.ask(ASKED)
        page.evaluate("later()")
        page.wait_for_timeout(100)
        assert seen.ask(ASKED) == asked
        assert page.inner_text("#file").startswith("iris")


def test_the_bar_belongs_to_what_was_begun_last(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        held = Held(seen, "analysis")
        page.select_option("#family", label="Laplacian")
        page.wait_for_selector("#progress:not([hidden])", timeout=PATIENCE)
        page.select_option("#family", label="Linear")
        held.wait(2)
        assert seen.ask("mercer.waits.length") == 2
        held.routes.pop(0).fulfill(status=204)  # as the server answers what was replaced
        page.wait_for_function("() => mercer.waits.length === 1", timeout=PATIENCE)
        assert page.locator("#progress").is_visible()
        held.release()
        arrive(seen)
        assert page.locator("#progress").is_hidden()


def test_a_card_that_is_pointed_at_again_names_the_nearest_once(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        held = Held(seen, "card")
        for turn in (1, 2):
            page.evaluate("mercer.page.point(-1); mercer.page.point(3, 'individuals')")
            held.wait(turn)
        for route in held.routes:
            body = '{"nearest": [{"name": "Clay", "distance": 1.5}]}'
            route.fulfill(status=200, content_type="application/json", body=body)
        page.wait_for_selector("#card .near", state="attached", timeout=PATIENCE)
        page.wait_for_timeout(100)
        assert page.locator("#card .near").count() == 1


NEAREST = "mercer.ask('card', { row: 0 }).then((a) => a.json()).then((a) => a.nearest)"


def test_a_tab_that_is_duplicated_is_a_visitor_of_its_own(browser: Any, address: str) -> None:
    with visit(browser, address) as seen:
        page = seen.page
        name = seen.ask("mercer.explorer.visitor")
        with page.expect_popup() as opened:
            page.evaluate("window.open(location.href)")  # with a copy of what this tab keeps
        other = opened.value
        other.wait_for_selector("body[data-state=ready]", timeout=PATIENCE)
        assert other.evaluate("mercer.explorer.visitor") != name
        before = seen.ask(NEAREST)
        other.select_option("#family", label="Laplacian")
        other.wait_for_selector("#figure-curved h3:has-text('Laplacian')", timeout=PATIENCE)
        assert other.evaluate(NEAREST) != before
        assert seen.ask(NEAREST) == before
        other.close()
        page.reload()  # who loads a page again is the same
        arrive(seen)
        assert seen.ask("mercer.explorer.visitor") == name
