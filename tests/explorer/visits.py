"""The explorer served and visited in a browser, which writes down all that it says and asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mercer.explorer.running import bound
from mercer.explorer.server import application
from mercer.explorer.source import Source
from tests.browser import PATIENCE, Visit, heard

TOKEN = "token"
SIZE = {"width": 1400, "height": 900}

ASKED = "typeof mercer === 'undefined' ? 0 : (mercer.explorer?.asked ?? 0)"
"""How many analyses a page has asked for."""


@contextmanager
def served(source: Source | None, port: int = 0) -> Iterator[str]:
    """Serve the explorer on a port of this machine, a free one if none is named."""
    place = bound("127.0.0.1", port)
    app = application(source, token=TOKEN)
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}/?token={TOKEN}"
    finally:
        server.should_exit = True
        thread.join()
        place.close()


@contextmanager
def visit(browser: Any, address: str, state: str = "ready", **more: Any) -> Iterator[Visit]:
    context = browser.new_context(viewport=SIZE, accept_downloads=True, **more)
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    seen = heard(page)
    try:
        page.goto(address)
        arrive(seen, state)
        yield seen
        own = address.partition("/?")[0]
        assert [url for url in seen.requests if not url.startswith((own, "data:", "blob:"))] == []
        # Chromium tells of refusals (422).
        assert [m for m in seen.messages if "422" not in m] == []
    finally:
        context.close()


def arrive(seen: Visit, state: str = "ready") -> None:
    seen.page.wait_for_selector(f"body[data-state={state}]", timeout=PATIENCE)
    seen.asked = seen.ask(ASKED)


def change(seen: Visit) -> None:
    """Wait until a change is asked for, which a verdict may precede, and until it is answered."""
    deadline = time.monotonic() + PATIENCE / 1000
    while seen.ask(ASKED) == seen.asked:
        assert time.monotonic() < deadline, "no change was asked for"
        seen.page.wait_for_timeout(20)
    arrive(seen)
