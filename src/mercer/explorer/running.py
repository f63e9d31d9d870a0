"""The explorer started: a port of this machine, the address with its token, and a browser."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from secrets import token_urlsafe
from threading import Thread, Timer
from typing import TYPE_CHECKING, Any

from mercer.errors import InvalidParameter, extra
from mercer.explorer.guard import LOCAL
from mercer.explorer.server import application
from mercer.explorer.sessions import House

if TYPE_CHECKING:
    from mercer.explorer.source import Source

GRACE = 1.0
"""Seconds in which a page hears that there is nothing to explore."""

FAREWELL = 10
"""Seconds in which a server that ends says so to whom it still answers, at the most."""

BACKLOG = 128
"""Connections that may wait to be heard."""


def is_local(host: str) -> bool:
    """Whether only this machine reaches a host.

    >>> is_local("127.0.0.1"), is_local("::1"), is_local("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any that is free."""
    if not 0 <= port <= 65_535:
        raise InvalidParameter(f"port must be from 0 to 65535, found {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise InvalidParameter(
            f"{host}, port {port} cannot be listened to ({error.strerror}): give another --port, "
            "or 0 for any that is free"
        ) from error
    return found


def run(
    explored: Source | None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    is_shown: bool = True,
    tell: Callable[[str], None] = lambda address: None,
    read: Callable[[], Source] | None = None,
) -> None:
    """Serve until Ctrl-C; ``tell`` hears the address once it answers.

    ``read`` returns what is explored and is called while the first page is handed out; where it
    fails, the page says why and the server ends with the error.
    """
    uvicorn = extra("uvicorn", "serve", "the explorer")
    place = bound(host, port)
    token = token_urlsafe(16)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{place.getsockname()[1]}/?token={token}"
    hosts = LOCAL if is_local(host) else (*LOCAL, *_names(host))
    house = House(explored, read=read)
    app = application(token=token, hosts=hosts, house=house)
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, backlog=BACKLOG, timeout_keep_alive=30,
        server_header=False, timeout_graceful_shutdown=FAREWELL,
    )  # fmt: skip
    server = uvicorn.Server(settings)
    house.is_ending = lambda: bool(server.should_exit)
    Thread(target=_warm, daemon=True).start()
    reading = house.reading
    if reading is not None:
        reading.add_done_callback(partial(_end_if_failed, server))
    tell(address)
    if is_shown:
        Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    try:
        server.run(sockets=[place])
    finally:
        place.close()
    if reading is not None and reading.done() and not reading.cancelled():
        reading.result()  # raises why there is nothing to explore


def _end_if_failed(server: Any, reading: Any) -> None:
    """End a server whose data cannot be read, once its page has heard why."""
    if reading.exception() is None:
        return
    stop = Timer(GRACE, setattr, (server, "should_exit", True))
    stop.daemon = True
    stop.start()


def _names(host: str) -> tuple[str, ...]:
    """Return the names by which other machines ask for this one."""
    own = {socket.gethostname(), socket.getfqdn(), host}
    with suppress(OSError):
        own |= {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)}
    return tuple(f"[{n}]" if ":" in n else n for n in own)


def _warm() -> Any:
    """Import what the first analysis needs while the browser opens."""
    import mercer.explorer.answers  # noqa: F401
