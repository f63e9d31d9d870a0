"""What a command says: results on the standard output, everything else on the standard error."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from argparse import Namespace

RED, YELLOW, PLAIN = "\033[31m", "\033[33m", "\033[0m"


def printable(text: str) -> str:
    r"""Return text whose names cannot command a terminal: control characters are written out.

    >>> print(printable("\033[2Jcolumn"))
    \x1b[2Jcolumn
    """
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


class Talk:
    """The two voices of a command.

    ``results`` holds what was answered, one object for each command. With ``--json`` exactly one
    object is printed, the answer or the error.
    """

    def __init__(self, parent: Talk | None = None) -> None:
        self.is_quiet = self.is_verbose = self.is_json = self.is_debug = False
        self.has_colour = True
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
        if not self.is_json:
            self.output(text if text.endswith("\n") else f"{text}\n")
        elif self.parent is None:
            from mercer.cli.tables import as_json

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
                from json import dumps

                self.output(dumps({"error": message, "exit_code": code}, ensure_ascii=False) + "\n")
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
