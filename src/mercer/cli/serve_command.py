"""``mercer serve``: the explorer, on this machine alone unless it is told otherwise."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module
from pathlib import Path
from typing import Any

from mercer.cli.errors import OK
from mercer.cli.output import Talk
from mercer.cli.progress import server_signals


def run(args: Namespace, talk: Talk) -> int:
    """Serve until Ctrl-C, and answer with the address."""
    running = import_module("mercer.explorer.running")

    def read() -> Any:
        return import_module("mercer.explorer.source").of_file(args.data)

    # A file that is there, or what may be an example, is read while the first page is handed out.
    is_soon = args.data is not None and (Path(args.data).exists() or Path(args.data).suffix == "")
    explored = None if args.data is None or (is_soon and not args.dry_run) else read()
    name = None if args.data is None else Path(args.data).name
    if args.dry_run:
        talk.answer(
            {"plan": "serve", "data": name, "host": args.host, "port": args.port},
            f"the explorer of {name or 'a file that its page asks for'} on {args.host}",
        )
        return OK
    if not running.is_local(args.host):
        talk.warn(
            f"other machines can reach {args.host}: whoever knows the address with its token sees "
            "these data, and the connection is not encrypted. --host 127.0.0.1 restricts it to "
            "this machine"
        )

    def tell(address: str) -> None:
        talk.answer(
            {"command": "serve", "address": address, "data": name},
            f"{address}\nThe explorer runs until Ctrl-C.",
        )
        talk.flush()

    with server_signals():
        running.run(
            explored,
            host=args.host,
            port=args.port,
            is_shown=not args.no_open,
            tell=tell,
            read=read if is_soon else None,
        )
    return OK
