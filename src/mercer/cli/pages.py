"""Pages as commands write them: by whom, where, and the command that writes them again."""

from __future__ import annotations

import shlex
import webbrowser
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from mercer.cli.commands import commands_of, parser
from mercer.cli.output import Talk
from mercer.cli.progress import carry_out
from mercer.errors import MissingExtra
from mercer.progress import Line

UNSHOWN = frozenset({"help", "json", "dry_run", "quiet", "verbose", "no_color", "debug", "open"})
"""Flags that say how a command talks, and nothing of the page."""


def page_writer(module: str = "mercer.page", name: str = "report", *, without: str = "") -> Any:
    """Return a function that writes pages, or say what is not installed and what does ``without``.

    >>> page_writer().__name__
    'report'
    """
    try:
        return getattr(import_module(module), name)
    except MissingExtra:
        raise
    except ImportError as error:
        raise MissingExtra(
            f'a page needs {error.name}, which is not installed; pip install "mercer[report]" '
            f"brings it{f', and {without} does without' if without else ''}"
        ) from error


def page_beside(data: str, what: str = "") -> str:
    """Return the name of the page of a file.

    >>> page_beside("data/wine.csv.gz"), page_beside("-", "curve")
    ('wine.html', 'stdin-curve.html')
    """
    path = Path(data)
    stem = path.resolve().name if path.is_dir() else path.name.partition(".")[0]
    return f"{'stdin' if data == '-' else stem}{what and f'-{what}'}.html"


def own_page(args: Namespace, what: str) -> str | None:
    """Return where a command that writes a page unless told not to writes it, None for nowhere."""
    return None if args.no_page else args.page or page_beside(args.data, what)


def write_page(out: str, work: Callable[[], object], talk: Talk) -> None:
    """Write a page by some work that can be interrupted, and tell where it is."""
    carry_out(work, talk, Line("writing"))
    talk.say(f"the page is {out}")


def show_page(page: str | Path) -> None:
    """Show a page in the browser."""
    webbrowser.open(Path(page).resolve().as_uri())


def command_line(args: Namespace, out: str | None = None, flag: str = "out") -> str:
    """Return the command that writes this page again; ``flag`` is the one that names the page.

    >>> command_line(Namespace(command="report", data="my data.csv", scale=True, rank=3), "p.html")
    "mercer report 'my data.csv' --out p.html --rank 3 --scale"
    >>> given = {"files": ["a.csv"], "kernel": ["linear()", "delta()"], "seed": 0}
    >>> command_line(Namespace(command="compare", **given), "p.html", "page")
    "mercer compare a.csv --page p.html --kernel 'linear()' --kernel 'delta()'"
    """
    actions = commands_of(parser())[args.command].actions
    places = [getattr(args, a.dest, None) for a in actions if not a.option_strings]
    words = [
        "mercer",
        args.command,
        *(w for p in places for w in (p if isinstance(p, list) else [p])),
    ]
    words += [] if out is None else [f"--{flag}", out]
    for action in sorted(actions, key=lambda a: a.dest):
        value = getattr(args, action.dest, None)
        is_left_out = (
            value is None or value == action.default or action.dest in (*UNSHOWN, flag, "force")
        )
        if not action.option_strings or is_left_out:
            continue
        if isinstance(action, BooleanOptionalAction):
            words.append(action.option_strings[0 if value else 1])
            continue
        name = next(o for o in action.option_strings if o.startswith("--"))
        for entry in value if isinstance(value, list) else [value]:
            words.extend([name] if entry is True else [name, str(entry)])
    return shlex.join(words)
