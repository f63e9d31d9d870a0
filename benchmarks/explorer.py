"""How quickly the explorer answers: its start, slider, selections, zooming, memory, many at once.

Claims: the first page is there within a second of the start; a selection of 10⁵ points is seen
within 50 ms; a step of the slider takes less than 0.3 s at 2 000 points; zooming 10⁶ points keeps
the screen's rate on a graphics card; 50 clients at once are all answered.

    python -m benchmarks.explorer            # all of it, about two minutes
    python -m benchmarks.explorer server     # without a browser

The browser draws by software here (SwiftShader), which is the slowest case there is.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

CLIENTS = 50
"""Visitors who ask at once."""

FLAGS = (
    *("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader"),
    *("--enable-unsafe-swiftshader", "--disable-background-networking"),
)


INSTALLED = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
"""Surroundings in which modules are compiled once, as those of an installed package are."""


class Served:
    """A server of its own process, asked as its page asks it."""

    def __init__(self, data: str) -> None:
        self.begun = time.perf_counter()
        command = [sys.executable, "-m", "mercer", "serve", data, "--no-open", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=INSTALLED)
        assert self.process.stdout is not None
        self.address = json.loads(self.process.stdout.readline())["address"]
        self.base, _, self.token = self.address.partition("/?token=")
        urllib.request.urlopen(self.address).read()
        self.first = time.perf_counter() - self.begun

    def ask(self, what: str, value: Any = None, visitor: str = "") -> Any:
        """Return the answer to a question as it came."""
        headers = {"mercer-token": self.token, "mercer-visitor": visitor}
        body = json.dumps({} if value is None else value).encode()
        asked = urllib.request.Request(f"{self.base}/api/{what}", body, headers)
        with urllib.request.urlopen(asked, timeout=300) as answer:
            return answer.read()

    def visit(self) -> str:
        return str(json.loads(self.ask("visit"))["visitor"])

    @property
    def megabytes(self) -> float:
        """Memory that the server holds now."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def cpu(self) -> float:
        """Seconds that the processors have worked for the server."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


@contextmanager
def served(data: str) -> Iterator[Served]:
    found = Served(data)
    try:
        yield found
    finally:
        found.close()


def seconds(call: Callable[[], Any], runs: int = 7) -> float:
    """Return the median time of a call."""
    taken = []
    for _ in range(runs):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def table(folder: str, n: int, p: int = 6) -> str:
    """Return a file of n points in three groups."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p)).astype(np.float32)
    x[: n // 3, 0] += 4.0
    x[n // 3 : 2 * n // 3, 1] += 4.0
    path = os.path.join(folder, f"points{n}.npy")
    np.save(path, x)
    return path


def start(found: dict[str, Any]) -> None:
    """Time from the command to the first page, and to the first analysis, all modules compiled."""
    with served("decathlon") as server:
        server.ask("analysis", {"state": {}}, server.visit())
    with served("decathlon") as server:
        found["first page, s"] = server.first
        found["processor time of the first page, s"] = server.cpu
        found["memory at the first page, MB"] = server.megabytes
        server.ask("analysis", {"state": {}}, server.visit())
        found["first analysis, s after the start"] = time.perf_counter() - server.begun
        found["processor time of the first analysis, s"] = server.cpu
        found["memory after an analysis, MB"] = server.megabytes


def slider(found: dict[str, Any], folder: str) -> None:
    with served(table(folder, 2_000)) as server:
        visitor = server.visit()
        server.ask("analysis", {"state": {}}, visitor)
        steps = iter(np.geomspace(0.5, 8.0, 40))
        found["slider at 2 000 points, s"] = seconds(
            lambda: server.ask("slide", {"state": {"bandwidth": float(next(steps))}}, visitor), 9
        )
        found["memory with 2 000 points, MB"] = server.megabytes


def crowd(found: dict[str, Any]) -> None:
    """Fifty clients at once, each with a page, an analysis of its own and a card."""
    with served("iris") as server:
        server.ask("analysis", {"state": {}}, server.visit())
        errors: list[str] = []

        def client(k: int) -> None:
            try:
                urllib.request.urlopen(server.address).read()
                visitor = server.visit()
                server.ask("analysis", {"state": {"bandwidth": 1.0 + k / 50, "axes": 3}}, visitor)
                server.ask("card", {"row": k}, visitor)
            except (OSError, urllib.error.HTTPError) as error:
                errors.append(str(error))

        begun = time.perf_counter()
        threads = [threading.Thread(target=client, args=(k,)) for k in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found[f"{CLIENTS} clients at once, s"] = time.perf_counter() - begun
        found[f"errors of {CLIENTS} clients"] = len(errors)
        found[f"memory with {CLIENTS} clients, MB"] = server.megabytes


SELECT = """async (count) => {
  const taken = [];
  for (let turn = 0; turn < 9; turn++) {
    const ids = Array.from({ length: count }, (_, k) => 3 * k + (turn % 3));
    const begun = performance.now();
    mercer.page.select(ids);
    taken.push(performance.now() - begun);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  mercer.page.select([]);
  return taken.sort((a, b) => a - b)[4];
}"""

ZOOM = """async (frames) => {
  const svg = document.querySelector("#figure-plane-1-2 svg.picture");
  const box = svg.getBoundingClientRect();
  const at = { clientX: box.left + 0.55 * box.width, clientY: box.top + 0.4 * box.height };
  const next = () => new Promise((done) => requestAnimationFrame(done));
  const gl = document.querySelector("#figure-plane-1-2 canvas").getContext("webgl2");
  await next();
  const begun = performance.now();
  for (let k = 0; k < frames; k++) {
    const deltaY = k < frames / 2 ? -40 : 40;
    svg.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY, cancelable: true, bubbles: true }));
    await next();
    gl?.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // until it is drawn
  }
  return (1000 * frames) / (performance.now() - begun);
}"""


REST = """async (frames) => {
  const next = () => new Promise((done) => requestAnimationFrame(done));
  await next();
  const begun = performance.now();
  for (let k = 0; k < frames; k++) await next();
  return (1000 * frames) / (performance.now() - begun);
}"""


def browser(found: dict[str, Any], folder: str) -> None:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=program, args=list(FLAGS))
        for n in (100_000, 1_000_000):
            with served(table(folder, n, 3)) as server:
                page = opened.new_page(viewport={"width": 1400, "height": 900})
                begun = time.perf_counter()
                page.goto(server.address)
                page.wait_for_selector("body[data-state=ready]", timeout=600_000)
                found[f"{n:,} points shown, s"] = time.perf_counter() - begun
                page.evaluate("mercer.refine = () => {}")
                found[f"memory with {n:,} points, MB"] = server.megabytes
                shown = page.evaluate("mercer.page.count")
                found[f"points drawn of {n:,}"] = shown
                found[f"selection at {n:,} points, ms"] = page.evaluate(SELECT, shown // 3 - 1)
                found[f"frames a second at rest, {n:,}"] = page.evaluate(REST, 30)
                found[f"frames a second zooming {n:,}"] = page.evaluate(ZOOM, 60)
                drawn = page.evaluate("mercer.pictures['plane-1-2'].frames[0].crowd.pace.some")
                found[f"points of {n:,} drawn in the last of them"] = drawn
                page.close()
        opened.close()


def main() -> None:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        start(found)
        slider(found, folder)
        crowd(found)
        if "server" not in sys.argv[1:]:
            browser(found, folder)
    for name, value in found.items():
        print(f"{name}: {value:.4g}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
