"""A browser for tests of pages: one start, no network, and everything it says is written down."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

IDLE = (
    *("AimEnabled", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    *("MediaRouter", "OptimizationHints", "HttpsUpgrades", "PaintHolding"),
)
"""Parts of Chromium that no page needs. Each window loads the list below its address bar as a page
of its own, which takes longer than ours. Chromium heeds the last such flag: not Playwright's."""

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-gpu-compositing",
    f"--disable-features={','.join(IDLE)}",
)
"""Drawing without a graphics card, pages put together by the processor without WebGL, which takes
half the time, and nothing asked behind our back."""

OF_THE_DRIVER = "GPU stall due to ReadPixels"
"""What is said of a canvas of WebGL by the driver where the processor puts pages together."""

DESKTOP, PHONE = (1280, 900), (390, 844)

PATIENCE = 60_000
"""Milliseconds until a page must be alive, on a machine that does other things too."""


@contextmanager
def started() -> Iterator[Any]:
    """Start Chromium, or skip the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A page that was opened: its requests, its messages, and how many answers were awaited."""

    page: Any
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    asked: int = 0

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.page.evaluate(expression)

    def note(self, message: Any) -> None:
        """Note what a page says."""
        if OF_THE_DRIVER not in message.text:
            self.messages.append(f"{message.type}: {message.text}")

    def dismiss(self, dialog: Any) -> None:
        """Note a dialog, which no page of ours opens, and close it."""
        self.messages.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def unfold(self) -> None:
        """Open all details, and wait until what they hold is drawn."""
        self.page.evaluate(
            """async () => {
                for (const one of document.querySelectorAll("details")) one.open = true;
                const isFolded = (picture) => !(picture.width > 0);
                const frame = () => new Promise(requestAnimationFrame);
                while (Object.values(mercer.pictures).some(isFolded)) await frame();
            }"""
        )

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.page.locator(selector).all_text_contents()
        return found


def heard(page: Any) -> Visit:
    """Write down all that a page asks, says and opens from now on."""
    seen = Visit(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", seen.note)
    page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
    page.on("dialog", seen.dismiss)
    return seen


TOOLBARS = """[...document.querySelectorAll(".live .toolbar")].map((bar) =>
    [...bar.querySelectorAll("button")].map((button) => button.title))"""
"""The titles of the buttons of each picture of a page."""

SAVING = {"Reset the view", "Save as PNG", "Save as SVG", "Save as PDF"}
VIEWING = SAVING | {"Zoom by dragging", "Move by dragging", "Zoom in", "Zoom out"}
SELECTING = VIEWING | {"Select by dragging", "Lasso by dragging"}

PLOTLY_TOOLBARS = """[...document.querySelectorAll(".js-plotly-plot")].map((place) =>
    [...place.querySelectorAll(".modebar-btn")].map((button) => button.dataset.title))"""
"""The titles of the buttons of each figure of a notebook, as plotly.js has drawn them."""

FLAT = {
    *("Download plot as a PNG", "Zoom", "Pan", "Box Select", "Lasso Select"),
    *("Zoom in", "Zoom out", "Reset axes"),
}
DEEP = {
    *("Download plot as a PNG", "Zoom", "Pan"),
    *("Orbital rotation", "Turntable rotation", "Reset camera to default"),
}


@contextmanager
def visit(
    browser: Any,
    path: Path,
    *,
    size: tuple[int, int] = DESKTOP,
    scripts: bool = True,
    is_alive: bool = True,
) -> Iterator[Visit]:
    """Open a page from disk and wait until it is alive."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        java_script_enabled=scripts,
        has_touch=size == PHONE,
        is_mobile=size == PHONE,
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    seen = heard(page)
    try:
        page.goto(path.as_uri())
        if scripts and is_alive:
            page.wait_for_selector("body[data-state=ready]", timeout=PATIENCE)
        yield seen
    finally:
        context.close()
