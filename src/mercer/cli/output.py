"""What a command says: results on the standard output, everything else on the standard error."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mercer.cli.errors import Misused

if TYPE_CHECKING:
    from argparse import Namespace


RED, YELLOW, PLAIN = "\033[31m", "\033[33m", "\033[0m"


def printable(text: str) -> str:
    r"""Return text whose names cannot command a terminal: control characters are written out.

    >>> print(printable("\033[2Jcolumn"))
    \x1b[2Jcolumn
    """
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


PICTURES = (".pdf", ".svg", ".png")
"""How the names of pictures end."""


class Talk:
    """The two voices of a command.

    ``results`` holds what was answered, one object for each command. With ``--json`` exactly one
    object is printed, the answer or the error.
    """

    def __init__(self, parent: Talk | None = None) -> None:
        self.is_quiet = self.is_verbose = self.is_json = self.is_debug = False
        self.has_colour = self.is_answer_shown = True
        self.parent = parent
        self.results: list[dict[str, Any]] = []
        self.notes: list[str] = []
        for stream in (sys.stdout, sys.stderr):  # a name that it cannot write is no bug
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")

    def expect(self, argv: list[str]) -> None:
        """Heed what must be known even where the arguments cannot be parsed."""
        self.is_json, self.is_debug = "--json" in argv, "--debug" in argv
        self.has_colour = "--no-color" not in argv

    def heed(self, args: Namespace) -> None:
        """Speak as the arguments ask."""
        self.is_quiet, self.is_verbose = args.quiet, args.verbose
        self.is_json, self.is_debug = args.json, args.debug
        self.has_colour = not args.no_color

    def within(self) -> Talk:
        """Return a talk of the same manners whose results are collected, not printed as JSON."""
        inner = Talk(self)
        inner.is_quiet, inner.is_verbose = self.is_quiet, self.is_verbose
        inner.is_json, inner.is_debug = self.is_json, self.is_debug
        inner.has_colour = self.has_colour
        return inner

    def answer(self, value: dict[str, Any], text: str) -> None:
        """Give the result: as one JSON object with all that was warned of, or as text."""
        value = value | {"warnings": list(self.notes)}
        self.results.append(value)
        if not self.is_json and self.is_answer_shown:
            self.output(text if text.endswith("\n") else f"{text}\n")
        if self.is_json and self.parent is None:
            self.output(as_json(value) + "\n")

    def output(self, text: str) -> None:
        """Write to the standard output, which may be closed."""
        if sys.stdout is not None:
            sys.stdout.write(text)

    def flush(self) -> None:
        """Hand over what was written, while an error can still be told."""
        if sys.stdout is not None:
            sys.stdout.flush()

    def forget_output(self) -> None:
        """Let the interpreter flush into nothing: nobody reads any more."""
        _forget(sys.stdout)

    def say(self, text: str) -> None:
        """Tell how it goes, unless asked to be quiet."""
        if not self.is_quiet:
            self._err(printable(text))

    def detail(self, text: str) -> None:
        """Tell what only the curious want to know."""
        if self.is_verbose and not self.is_quiet:
            self._err(printable(text))

    def warn(self, text: str) -> None:
        """Tell what the user should know of a result that is right."""
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.is_quiet:
            self._err(f"{self._in(YELLOW, 'mercer: note:')} {printable(text)}")

    def failed(self, message: str, code: int, error: BaseException | None = None) -> None:
        """Tell in one line why there is no result; with ``--json`` also as the one object."""
        if error is not None and self.is_debug:
            self._err("".join(traceback.format_exception(error)).rstrip())
        self._err(f"{self._in(RED, 'mercer:')} {printable(message)}")
        try:
            if self.is_json and self.parent is None:
                self.output(
                    json.dumps({"error": message, "exit_code": code}, ensure_ascii=False) + "\n"
                )
            self.flush()
        except OSError:  # a closed pipe, or a full disk: the code has said it
            self.forget_output()

    @property
    def is_terminal(self) -> bool:
        """Whether somebody watches the standard error."""
        return sys.stderr is not None and sys.stderr.isatty()

    def _in(self, colour: str, text: str) -> str:
        is_plain = not self.has_colour or bool(os.environ.get("NO_COLOR"))
        if is_plain or not self.is_terminal or os.environ.get("TERM") == "dumb":
            return text
        return f"{colour}{text}{PLAIN}"

    def _err(self, text: str) -> None:
        if sys.stderr is not None:
            start = "\r\033[K" if self.is_terminal else ""  # over a progress line
            try:
                sys.stderr.write(f"{start}{text}\n")
                sys.stderr.flush()
            except OSError:  # talk that nobody can hear is no reason to stop, or to end in 120
                _forget(sys.stderr)


def _forget(stream: TextIO) -> None:
    """Send to nowhere what a stream still holds, which the interpreter flushes as it ends."""
    with suppress(OSError, ValueError):  # a stream of a notebook or a test has no number
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula, which it would run."""


def align_columns(columns: Mapping[str, Sequence[str]]) -> str:
    """Return columns of text under their names, to the right; the last to the left if it is prose.

    >>> print(align_columns({"axis": ["1", "2"], "share": ["81 %", "7 %"]}))
    axis  share
       1   81 %
       2    7 %
    """
    texts = [[printable(cell) for cell in (name, *cells)] for name, cells in columns.items()]
    widths = [max(map(len, column)) for column in texts]
    is_prose = [any(len(cell) > 24 for cell in column) for column in texts]
    rows = zip(*texts, strict=True)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if prose else cell.rjust(width)
            for cell, width, prose in zip(row, widths, is_prose, strict=True)
        ).rstrip()
        for row in rows
    )


def csv_bytes(columns: Mapping[str, Any], *, is_raw: bool = False) -> bytes:
    """Return columns as CSV; numbers keep all digits, names that look like formulas get a quote.

    >>> csv_bytes({"name": ["=1+1", "Ada"], "x": [0.1, -2.0]}).decode().splitlines()
    ['name,x', "'=1+1,0.1", 'Ada,-2.0']
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(name, is_raw) for name in columns])
    lists = [
        values.tolist() if hasattr(values, "tolist") else values for values in columns.values()
    ]
    writer.writerows([_cell(v, is_raw) for v in row] for row in zip(*lists, strict=True))
    return file.getvalue().encode()


def _cell(value: Any, is_raw: bool) -> Any:
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, str) and not is_raw and value.startswith(FORMULA):
        return f"'{value}"
    return repr(value) if isinstance(value, float) else value


def as_json(value: Any) -> str:
    """Return one JSON object; a number that JSON has not is null.

    >>> import numpy as np
    >>> as_json({"a": np.array([1.0, np.nan]), "b": np.int64(2)})
    '{"a": [1.0, null], "b": 2}'
    """
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as JSON knows values."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, Mapping):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value if isinstance(value, str | int | None) else str(value)


PAGE = b'<meta name="generator" content="mercer">'
"""What stands at the head of every page that mercer writes."""

HEAD = 2**12
"""Bytes of a page in which its head stands."""


def refuse_existing(
    args: Namespace, talk: Talk, *files: str | None, page: str | None = None
) -> None:
    """Refuse to overwrite files, before anything is computed, if what is to be read is there.

    A page that mercer wrote can be written again, and is overwritten; that is told. A model or a
    table is not written under the name of a page.
    """
    _refuse_page_names(args, files)
    _refuse_picture_names(args, (page, *files))
    for path in (page, *files):
        if not path or path == "-" or args.force or not Path(path).exists():
            continue
        _refuse_absent(args)
        if path != page or not _is_own_page(Path(path)):
            raise Misused(f"{path} exists; give another name, or --force to overwrite it")
        if not args.dry_run:
            talk.say(f"{path} is overwritten, a page that mercer wrote before")


def _refuse_page_names(args: Namespace, files: Sequence[str | None]) -> None:
    """Refuse the name of a page for a model or a table, and say what writes the page."""
    for path in files:
        if not path or Path(path).suffix.lower() not in (".html", ".htm"):
            continue
        _refuse_absent(args)
        other = "give another name"
        if hasattr(args, "page"):
            other = f"--page {path} writes the page"
        elif args.command == "fit":
            other = f"mercer report {args.data} --out {path} writes the page"
        raise Misused(f"{path} is the name of a page, and no page would be in it: {other}")


def _refuse_picture_names(args: Namespace, files: Sequence[str | None]) -> None:
    """Refuse the name of a picture for anything else, and say what draws one."""
    picture = getattr(args, "picture", None)
    if picture is not None and Path(picture).suffix.lower() not in PICTURES:
        raise Misused(f"--picture {picture}: a picture ends in {', '.join(PICTURES)}")
    for path in files:
        if path and path != picture and Path(path).suffix.lower() in PICTURES:
            _refuse_absent(args)
            data = getattr(args, "data", None) or "FILE"
            raise Misused(
                f"{path} is the name of a picture, and no picture would be in it: "
                f"mercer fit {data} --picture {path} draws the map"
            )


def _refuse_absent(args: Namespace) -> None:
    """Refuse names of data that are not there; what is wrong with one is told as it is read."""
    from mercer.data.raw_files import regular  # only now: they are not needed to show help
    from mercer.datasets.examples import EXAMPLES, NETWORKS

    for name in [args.data] if hasattr(args, "data") else args.files:
        if name not in ("-", *EXAMPLES, *NETWORKS) and not Path(name).exists():
            regular(name)


def _is_own_page(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return PAGE in file.read(HEAD)
    except OSError:  # a folder, or a file that is not ours to read
        return False


def write(path: str, content: bytes) -> None:
    """Write a file, whole or not at all."""
    from mercer.store import write_whole  # only now: it loads numpy

    write_whole(path, [content])
