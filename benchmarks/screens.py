"""Pictures of the explorer in all of its states, wide and narrow, light and dark, to be looked at.

    python -m benchmarks.screens FOLDER                # all of them, some minutes
    python -m benchmarks.screens FOLDER one-row gone   # those whose names begin so

Each is a file ``state-width-theme.png``. Nothing is asserted here: whoever changes the look of the
explorer opens them. A tall one (``tall-…``) shows what lies below what a window shows.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.explorer import FLAGS

SIZES = ((1400, 900), (1024, 768))
"""Width and height of the windows."""

TALL = 2_600
"""Height of a window in which all of a page stands."""

THEMES = ("light", "dark")

PATIENCE = 180_000
"""Milliseconds in which a state must be there."""

Act = Callable[[Any], Any]


@dataclass(frozen=True)
class Scene:
    """A state of the explorer: the data that it is started with, or a file, and what is done."""

    name: str
    data: Callable[[], Any] | None = None
    file: tuple[str, str] | None = None
    act: Act = lambda page: None
    state: str = "ready"
    before: Act = lambda page: None
    is_tall: bool = False
    is_without_webgl: bool = False


def example(name: str) -> Callable[[], Any]:
    """Return what opens an example."""

    def found() -> Any:
        from mercer.explorer.source import of_example

        return of_example(name)

    return found


def points(n: int, p: int = 4) -> Callable[[], Any]:
    """Return what makes points in three groups."""

    def found() -> Any:
        import mercer as mc
        from mercer.explorer.source import Source

        x = np.random.default_rng(0).normal(size=(n, p))
        x[: n // 3, 0] += 4.0
        x[n // 3 : 2 * n // 3, 1] += 4.0
        return Source(mc.read(x), "points.npy", "mc.read('points.npy')", "points.npy")

    return found


def mixed(n: int = 60) -> str:
    """Return a table of numbers and factors, with a name for each row."""
    rng = np.random.default_rng(3)
    soils, uses = ("clay", "loam", "sand"), ("meadow", "wood", "field", "fallow")
    lines = ["plot,soil,use,ph,depth,moisture,slope,yield"]
    for i in range(n):
        soil, use = int(rng.integers(3)), int(rng.integers(4))
        numbers = (5.5 + 0.4 * soil, 40 - 9 * soil, 30 - 6 * soil + 2 * use, 4 + use, 20 + 3 * use)
        shown = ",".join(f"{v + rng.normal() * (0.3 if k == 0 else 2):.2f}" for k, v in
                         enumerate(numbers))  # fmt: skip
        lines.append(f"P{i + 1:02d},{soils[soil]},{uses[use]},{shown}")
    return "\n".join(lines) + "\n"


def gaps(n: int = 30) -> str:
    """Return a table in which some values are missing."""
    lines = ["place,rain,sun,wind,coast"]
    for i in range(n):
        rain = "" if i % 9 == 4 else f"{10 + i * 7 % 13}"
        sun = "" if i % 11 == 3 else f"{i * 5 % 11}"
        lines.append(f"p{i},{rain},{sun},{i * 3 % 17},{'yes' if i % 3 else 'no'}")
    return "\n".join(lines) + "\n"


COUNTS = """dept,bread,milk,wine,fish,meat
North,120,80,20,10,60
South,60,40,110,70,50
East,90,85,40,15,75
West,70,50,45,95,40
Centre,100,95,60,20,90
Islands,30,25,40,120,15
"""

TEXTS = "who,said\n" + "".join(f"person {i},a sentence of its own number {i}\n" for i in range(12))
LABELS = "who,team,town\n" + "".join(
    f"person {i % 7},{('red', 'blue', 'green')[i % 3]},town {i % 4}\n" for i in range(14)
)
CONSTANT = "a,b\n" + "3,7\n" * 9
SOME_CONSTANT = "a,b,c,d\n" + "".join(f"3,{i},{i * i % 7},x\n" for i in range(14))


def held(page: Any) -> None:
    """Keep analyses waiting."""
    page.route("**/api/analysis", lambda route: None)


def waited(page: Any) -> None:
    page.wait_for_selector("#progress:not([hidden])", timeout=PATIENCE)


def settled(page: Any, was: int) -> None:
    """Wait until one more analysis is answered."""
    for _ in range(PATIENCE // 50):
        if page.evaluate("mercer.explorer.asked") > was:
            break
        page.wait_for_timeout(50)
    page.wait_for_selector("body[data-state=ready], body[data-state=refused]", timeout=PATIENCE)


def choosing(select: str, label: str) -> Act:
    """Return what chooses an option and waits for the answer."""

    def act(page: Any) -> None:
        was = page.evaluate("mercer.explorer.asked")
        page.select_option(select, label=label)
        settled(page, was)

    return act


def brushed(page: Any) -> None:
    """Draw a box over a quarter of the first map, and point at an individual."""
    box = page.locator("#maps .ground").first.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.55, box["y"] + box["height"] * 0.5, steps=4)
    page.mouse.up()
    page.wait_for_timeout(200)


def pointed(page: Any) -> None:
    """Rest the pointer on the individual, of those that are seen, that is farthest from others."""
    found = page.evaluate(
        """() => {
            const all = [...document.querySelectorAll("#maps figure:first-child path[data-id]")];
            const at = (path) => path.getBoundingClientRect();
            const places = all.map(at).map((b) => [b.left + b.width / 2, b.top + b.height / 2]);
            const far = (a) => Math.min(
                ...places.filter((b) => b !== a).map((b) => Math.hypot(a[0] - b[0], a[1] - b[1])),
            );
            const seen = places.filter((a, i) => all[i].closest(".painted") && a[1] < innerHeight);
            return seen.sort((a, b) => far(b) - far(a))[0];
        }"""
    )
    page.mouse.move(*found)
    page.wait_for_selector("#card .near", timeout=PATIENCE)
    page.wait_for_timeout(200)


def refuted(page: Any) -> None:
    """Write a similarity that is no kernel."""
    page.click("#written-part summary")
    page.fill("#written", "sigmoid(scale=1.0, offset=-1.0)")
    page.wait_for_selector("#verdict .witness", timeout=PATIENCE)
    page.locator("#verdict").scroll_into_view_if_needed()


def slipped(page: Any) -> None:
    """Write what leaves the cone of kernels."""
    page.click("#written-part summary")
    page.fill("#written", "gaussian(1.0) - linear()")
    page.wait_for_selector("#verdict .mark", timeout=PATIENCE)
    page.locator("#verdict").scroll_into_view_if_needed()


def gone(page: Any) -> None:
    """Ask a server that does not answer."""
    page.route("**/api/**", lambda route: route.abort())
    page.select_option("#family", label="Laplacian")
    page.wait_for_selector("body[data-state=gone]", timeout=PATIENCE)


def failed(page: Any) -> None:
    """Hear of a mistake of the server's own."""
    said = "this is a bug in mercer, not a mistake of yours (KeyError): please report it with what "
    said = json.dumps({"error": f"{said}stands where mercer serve was started"})
    page.route("**/api/analysis", lambda route: route.fulfill(status=500, body=said))
    page.select_option("#family", label="Laplacian")
    page.wait_for_selector("body[data-state=refused]", timeout=PATIENCE)


def cancelled(page: Any) -> None:
    """Cancel a change, so that the map before stays."""
    page.route("**/api/analysis", lambda route: route.fulfill(status=204))
    page.select_option("#family", label="Laplacian")
    page.wait_for_selector("#toast:not([hidden])", timeout=PATIENCE)


def never(page: Any) -> None:
    """Cancel the first analysis."""
    page.route("**/api/analysis", lambda route: route.fulfill(status=204))


def too_big(page: Any) -> None:
    """Drop a file of more bytes than a page takes."""
    page.evaluate("mercer.explorer.most = 1e6")
    page.evaluate("mercer.openFiles([new File(['a,b\\n'.repeat(8e5)], 'survey.csv')])")
    page.wait_for_selector("#elsewhere:not([hidden])", timeout=PATIENCE)


def refused(page: Any) -> None:
    """Drop a file that is no table."""
    page.evaluate("mercer.openFiles([new File(['%PDF-1.4 \\u0000 x'], 'thesis.pdf')])")
    page.wait_for_selector("#elsewhere:not([hidden])", timeout=PATIENCE)


def refining(page: Any) -> None:
    """Hold a refinement, of which the residual falls."""
    page.route("**/api/refine", lambda route: None)
    answer = '{"done": 620, "total": 1000, "residuals": [0.001, 5e-05, 3e-07, 5e-09]}'
    page.route("**/api/progress", lambda route: route.fulfill(status=200, body=answer))


def refined(page: Any) -> None:
    page.wait_for_selector("#progress:not([hidden])", timeout=PATIENCE)
    page.wait_for_timeout(1_200)


def keyed(page: Any) -> None:
    """Go to a column with the keyboard."""
    for _ in range(9):
        page.keyboard.press("Tab")


SCENES = (
    Scene("decathlon", example("decathlon"), is_tall=True),
    Scene("iris", example("iris"), is_tall=True),
    Scene("mixed", file=("plots.csv", mixed()), is_tall=True),
    Scene("distances", example("eurodist"), is_tall=True),
    Scene("graphs", example("alkanes"), is_tall=True, act=pointed),
    Scene("strings", example("numerals"), is_tall=True, act=pointed),
    Scene("counts", file=("counts.csv", COUNTS), is_tall=True),
    Scene("selected", example("decathlon"), act=brushed),
    Scene("card", example("decathlon"), act=pointed),
    Scene("two-kernels", example("decathlon"), act=choosing("#against", "Laplacian")),
    Scene("keyboard", example("decathlon"), act=keyed),
    Scene("empty", state="empty"),
    Scene("loading", example("decathlon"), before=held, act=waited, state="loading"),
    Scene("one-row", file=("one.csv", "a,b,c\n1,2,3\n"), state="refused"),
    Scene("two-rows", file=("two.csv", "a,b,c\n1,2,3\n2,5,1\n")),
    Scene("constant", file=("constant.csv", CONSTANT), state="refused"),
    Scene("some-constant", file=("some.csv", SOME_CONSTANT)),
    Scene("texts", file=("texts.csv", TEXTS), state="refused"),
    Scene("labels", file=("labels.csv", LABELS)),
    Scene("missing", file=("gaps.csv", gaps())),
    Scene("asked", file=("gaps.csv", gaps()), act=choosing("#missing", "ask")),
    Scene("witness", example("decathlon"), act=refuted),
    Scene("slip", example("decathlon"), act=slipped),
    Scene("gone", example("decathlon"), act=gone),
    Scene("no-webgl", points(3_000), is_without_webgl=True),
    Scene("too-big", state="empty", act=too_big),
    Scene("refused", state="empty", act=refused),
    Scene("cancelled", example("decathlon"), act=cancelled),
    Scene("never", example("decathlon"), before=never, state="refused"),
    Scene("error", example("decathlon"), act=failed),
    Scene("refining", points(4_500), before=refining, act=refined),
    Scene("landmarks", points(60_000)),
    Scene("density", points(1_050_000, 3)),
    Scene("closed", state="closed"),
)


@contextmanager
def served(source: Any) -> Iterator[str]:
    """Serve the explorer on a free port of this machine."""
    import uvicorn

    from mercer.explorer.running import bound
    from mercer.explorer.server import application

    place = bound("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(application(source, token="token"), log_level="warning", access_log=False)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}/?token="
    finally:
        server.should_exit = True
        thread.join()
        place.close()


def enter(page: Any, scene: Scene, address: str, folder: Path) -> None:
    """Bring a page into the state of a scene."""
    if scene.is_without_webgl:
        page.add_init_script(
            "const old = HTMLCanvasElement.prototype.getContext;"
            "HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
            "  return /webgl/.test(kind) ? null : old.call(this, kind, ...more); };"
        )
    scene.before(page)
    page.goto(address + ("other" if scene.state == "closed" else "token"))
    if scene.state == "closed":
        return
    if scene.file is not None:
        name, text = scene.file
        path = folder / name
        path.write_text(text)
        page.wait_for_selector("body[data-state=empty]", timeout=PATIENCE)
        page.set_input_files("#pick", path)
    page.wait_for_selector(f"body[data-state={scene.state}]", timeout=PATIENCE)
    scene.act(page)


def taken(browser: Any, scene: Scene, place: Path) -> None:
    """Take the pictures of a scene."""
    source = None if scene.data is None else scene.data()
    with served(source) as address, TemporaryDirectory() as folder:
        for (width, height), theme in ((s, t) for s in SIZES for t in THEMES):
            size = {"width": width, "height": height}
            context = browser.new_context(viewport=size, color_scheme=theme)
            page = context.new_page()
            enter(page, scene, address, Path(folder))
            page.wait_for_timeout(600)
            page.screenshot(path=place / f"{scene.name}-{width}-{theme}.png")
            if scene.is_tall and theme == "light":
                page.mouse.move(1, 1)
                page.set_viewport_size({"width": width, "height": TALL})
                page.wait_for_timeout(800)
                page.screenshot(path=place / f"tall-{scene.name}-{width}-{theme}.png")
            context.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    place, wanted = Path(sys.argv[1]), tuple(sys.argv[2:])
    place.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        program = shutil.which("chromium")
        browser = play.chromium.launch(executable_path=program, args=list(FLAGS))
        for scene in SCENES:
            if not wanted or scene.name.startswith(wanted):
                taken(browser, scene, place)
                print(scene.name, flush=True)
        browser.close()


if __name__ == "__main__":
    main()
