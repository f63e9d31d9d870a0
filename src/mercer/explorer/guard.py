"""The guard of the explorer: who may ask (host, origin, token), and what every answer forbids."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
"""Only what this server hands out runs, and nothing else is asked."""


NOTEBOOKS = (
    *("http://localhost:*", "http://127.0.0.1:*", "https://localhost:*", "https://127.0.0.1:*"),
    "vscode-webview:",
)
"""Pages of this machine that may show the explorer of a notebook in a frame."""


HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


LOCAL = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine."""


class Guard:
    """The checks of every request (host, origin, token), and the headers of every answer."""

    def __init__(
        self, app: Any, token: str, hosts: tuple[str, ...], *, is_embedded: bool = False
    ) -> None:
        self.app, self.token, self.hosts, self.is_embedded = app, token, hosts, is_embedded
        self.headers = dict(HEADERS)
        if is_embedded:
            allowed = POLICY.replace(
                "frame-ancestors 'none'", f"frame-ancestors {' '.join(NOTEBOOKS)}"
            )
            self.headers["content-security-policy"] = allowed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}

        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(k.encode(), v.encode()) for k, v in self.headers.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        refused = self._refused(scope, headers)
        if refused is None:
            await self.app(scope, receive, marked)
        else:
            await refusal(*refused)(scope, receive, marked)

    def _refused(self, scope: Any, headers: dict[str, str]) -> tuple[int, str] | None:
        """Return the status and the reason of a request that is not heard."""
        host = headers.get("host", "")
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if name not in self.hosts:
            return 400, "this server does not answer to that name"
        origin = headers.get("origin")
        if self.is_embedded and scope["method"] == "GET" and scope["path"] == "/alive":
            # It says that it is there to those who know the token, and may show it, and no more.
            is_heard = origin is None or is_notebook(origin)
            return None if is_heard else (403, "another page asks: only a notebook's may")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "another page asks: only the explorer's own may"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            # A link from elsewhere may open the page itself, which shows nothing without the token.
            is_visit = scope["method"] == "GET" and scope["path"] == "/"
            if not is_visit:
                return 403, "another page asks: only the explorer's own may"
        if scope["path"].startswith("/api/"):
            given = headers.get("mercer-token", "")
            if not compare_digest(given.encode(), self.token.encode()):
                return 403, "the token is missing or wrong: open the address that mercer printed"
        return None


def is_notebook(origin: str) -> bool:
    """Whether pages of an origin may show the explorer of a notebook.

    >>> is_notebook("http://localhost:8888"), is_notebook("http://localhost.example:8888")
    (True, False)
    """
    scheme, _, place = origin.partition("://")
    name, _, port = place.partition(":")
    is_port = port == "" or port.isdecimal()
    return bool(place) and (
        f"{scheme}:" in NOTEBOOKS or is_port and f"{scheme}://{name}:*" in NOTEBOOKS
    )


def refusal(status: int, text: str, **more: Any) -> Any:
    """Return an answer that says in words why a question is not answered."""
    from starlette.responses import JSONResponse

    return JSONResponse({"error": text, **more}, status)
