"""What eyes need: words that stand out, names that are whole, shades that can be told apart."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.check import Array
from mercer.explorer.limits import Limits
from mercer.explorer.source import Source, of_example
from tests.browser import Visit
from tests.explorer.visits import served, visit

pytest.importorskip("uvicorn")
imread = pytest.importorskip("matplotlib.image").imread


def luminance(rgb: Array) -> Array:
    """Return the relative luminance of colours between 0 and 1, as WCAG 2 defines it."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(a: Array, b: Array) -> Array:
    """Return the contrast ratio of luminances."""
    return (np.maximum(a, b) + 0.05) / (np.minimum(a, b) + 0.05)


def seen_now(seen: Visit) -> Array:
    """Return the colours of a page as it is on the screen."""
    return np.asarray(imread(io.BytesIO(seen.page.screenshot()), format="png"), float)[..., :3]


WORDS = """() => [...document.querySelectorAll("#maps .marks text")].map((it) => {
    const { left, top, right, bottom } = it.getBoundingClientRect();
    return [it.textContent, getComputedStyle(it).fill, left, top, right, bottom]; })"""


def contrasts(seen: Visit) -> dict[str, float]:
    """Return the contrast of each word on the maps to what is under its letters and a pixel beside.

    What is under them is seen without the words, and all but the worst fiftieth of it counts.
    """
    words = seen.ask(WORDS)
    whole = seen_now(seen)
    seen.page.add_style_tag(content="#maps .marks text { fill-opacity: 0 !important }")
    bare = seen_now(seen)
    found = {}
    for text, fill, *box in words:
        left, top, right, bottom = (int(v) for v in box)
        part = np.s_[top - 1 : bottom + 2, left - 1 : right + 2]
        letters = np.max(np.abs(whole[part] - bare[part]), axis=2) > 0.1
        if not letters.any():
            continue  # below the window
        near = np.zeros_like(letters)
        for down in (-1, 0, 1):
            for across in (-1, 0, 1):
                near |= np.roll(letters, (down, across), axis=(0, 1))
        ink = luminance(np.array([float(v) / 255 for v in fill[4:-1].split(",")]))
        found[text] = float(np.quantile(contrast(luminance(bare[part][near]), ink), 0.02))
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_name_on_a_map_can_be_read_above_what_lies_under_it(browser: Any, theme: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3_000, 4))
    x[:1_000, 0] += 4.0
    for source in (of_example("decathlon"), Source(mc.read(x), "x.npy", "x")):
        with served(source) as it, visit(browser, it, color_scheme=theme) as seen:
            seen.ask("mercer.refine = () => {}")
            found = contrasts(seen)
            assert len(found) >= 4
            assert {text: value for text, value in found.items() if value < 4.5} == {}


DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits until what was asked for has been painted."""

DENSITY = """() => {
    const { DARK, rgb } = mercer;
    return [...DARK.density, DARK.ground, DARK.ink].map((hex) => rgb(hex).map((v) => v / 255)); }"""

MIDDLE = """() => { const image = document.querySelector("#figure-plane-1-2 .marks image");
    const place = Object.assign(document.createElement("canvas"), { width: 30, height: 30 });
    const flat = place.getContext("2d");
    flat.drawImage(image, 0, 0, 30, 30);
    return [...flat.getImageData(15, 15, 1, 1).data.slice(0, 3)].map((v) => v / 255); }"""


def lightness(rgb: Array) -> Array:
    """Return the lightness of OKLab (Ottosson, 2020)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.array(
        [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    )
    return np.asarray(np.cbrt(linear @ cones.T) @ np.array([0.21045, 0.79362, -0.00407]))


def test_of_very_many_the_density_is_drawn_and_said_first_in_either_theme(
    browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Limits, "points", 12_000)  # a million, which takes half a minute
    x = np.random.default_rng(0).normal(size=(15_000, 3))
    with served(Source(mc.read(x), "x.npy", "x")) as it, visit(browser, it) as seen:
        page = seen.page
        captions = seen.texts(".maps figcaption")
        assert len(captions) == 2
        said = "The shading is the density of all 15 000 individuals; the points are a sample"
        assert all(text.replace("\u00a0", " ").startswith(said) for text in captions)
        assert page.inner_text("#file").replace("\u00a0", " ").endswith("15 000 individuals")
        assert seen.ask("mercer.page.count") == 5_000
        # No edges of points hide it.
        points = page.locator("#figure-plane-1-2 .points").first
        assert points.get_attribute("stroke-width") == "0"
        densest = luminance(np.array(page.evaluate(MIDDLE)))
        assert contrast(densest, np.array(1.0)) > 4.5
        page.click("#theme")
        seen.ask(DRAWN)
        *shades, ground, ink = np.array(seen.ask(DENSITY))
        densest = luminance(np.array(page.evaluate(MIDDLE)))
        # From the ground up in even steps of one hue, and not up to the white of words.
        steps = np.diff(lightness(np.array(shades)))
        assert np.all(np.abs(shades[0] - ground) < 0.01)
        assert np.all(np.abs(steps - steps.mean()) < 0.1 * steps.mean())
        assert np.all(np.diff(luminance(np.array(shades))) > 0)
        assert all(np.argsort(shade).tolist() == [0, 1, 2] for shade in shades[1:])
        assert contrast(densest, luminance(ground)) > 4.5
        assert contrast(luminance(shades[-1]), luminance(ink)) > 2.0
        assert {t: v for t, v in contrasts(seen).items() if v < 4.5} == {}


def test_a_long_name_is_whole_where_there_is_room(browser: Any) -> None:
    long = "C8/2,2,3,3-tetramethylbutane"
    with served(of_example("alkanes")) as it, visit(browser, it) as seen:
        assert long in seen.texts("#maps .labels text")
        cell = seen.page.locator("#table td.text", has_text=long)
        assert cell.evaluate("(it) => it.scrollWidth <= it.clientWidth")
        # Where it would take most of the map, it is cut rather than left out.
        seen.ask("mercer.MOSTLY = 0.2, mercer.pictures['plane-1-2'].draw()")
        words = seen.texts("#maps .labels text")
        assert long not in words
        assert any(word.endswith("…") for word in words)
