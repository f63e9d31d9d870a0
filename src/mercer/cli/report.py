"""``mercer report``: everything on one page, of data or of a stored model."""

from __future__ import annotations

import shlex
import webbrowser
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from typing import Any

from mercer.check import MissingExtra
from mercer.cli.codes import OK
from mercer.cli.dim import chosen
from mercer.cli.models import asked, fitted, tell_plan
from mercer.cli.parser import Misused
from mercer.cli.running import Progress, finished
from mercer.cli.sources import data_of, local
from mercer.cli.tables import refuse_existing
from mercer.cli.talk import Talk
from mercer.data.source import kind_of, regular
from mercer.store import about, load


def run(args: Namespace, talk: Talk) -> int:
    """Write the page, and answer with its name."""
    out = args.out or _beside(args.data)
    refuse_existing([out], is_forced=args.force)
    page = None if args.dry_run else writer()
    is_model = args.data != "-" and kind_of(regular(args.data)) == "model"
    if is_model:
        return _of_model(args, talk, page, out)
    data = data_of(args, talk)
    model = asked(args, data)
    if args.dry_run:
        return tell_plan(talk, model, data)
    talk.say(f"{args.data}: {data}")
    result = fitted(model, data, talk, is_rank_asked=args.rank is not None)
    table = None if isinstance(data.points, tuple) else data.points
    write_page(args, talk, page, result.model, table, out)
    return result.code


def writer() -> Any:
    """Return the function that writes pages, or say what is not installed."""
    try:
        return import_module("mercer.page").report
    except MissingExtra:
        raise
    except ImportError as error:
        raise MissingExtra(
            f'a report needs {error.name}, which is not installed; pip install "mercer[report]" '
            "brings it"
        ) from error


def write_page(
    args: Namespace, talk: Talk, page: Any, model: Any, table: Any, out: str
) -> dict[str, Any]:
    """Write the page of a fitted model and answer with its place and size."""
    has_axes = hasattr(model, "inertias_")
    choices = chosen(model, args, talk) if has_axes else None
    written = Path(
        finished(
            lambda: page(
                model,
                out,
                table=table,
                title=args.title,
                choices=choices,
                command=command_line(args, out),
                source=None if args.data == "-" else args.data,
            ),
            talk,
            Progress("writing"),
        )
    )
    value = {"command": "report", "page": str(written), "bytes": written.stat().st_size}
    talk.answer(value, str(written))
    if args.open:
        webbrowser.open(written.resolve().as_uri())
    return value


def _of_model(args: Namespace, talk: Talk, page: Any, out: str) -> int:
    given = next(
        (f for f in ("method", "kernel", "rank", "scale", "nystrom") if getattr(args, f)), ""
    )
    if given:
        raise Misused(f"--{given} is for data, and {args.data} is a model that is fitted already")
    with local(args.data, talk) as path:
        if args.dry_run:
            talk.answer(
                {"plan": "report", **about(path)}, f"the page of {args.data}: {about(path)}"
            )
            return OK
        model = load(path)
    write_page(args, talk, page, model, getattr(model, "table_", None), out)
    return OK


def _beside(data: str) -> str:
    return "stdin.html" if data == "-" else f"{Path(data).name.partition('.')[0]}.html"


def command_line(args: Namespace, out: str) -> str:
    """Return the command that writes this page again.

    >>> command_line(Namespace(command="report", data="my data.csv", scale=True, rank=3), "p.html")
    "mercer report 'my data.csv' --out p.html --rank 3 --scale"
    """
    words = ["mercer", "report", args.data, "--out", out]
    skipped = {"command", "data", "out", "json", "quiet", "verbose", "debug", "open", "force"}
    defaults = {"form": "auto", "permutations": 199, "seed": 0}
    names = {"form": "as"}
    for name, value in sorted(vars(args).items()):
        if name in skipped or value in (None, False, []) or defaults.get(name) == value:
            continue
        flag = f"--{names.get(name, name).replace('_', '-')}"
        for entry in value if isinstance(value, list) else [value]:
            words.extend([flag] if entry is True else [flag, str(entry)])
    return shlex.join(words)
