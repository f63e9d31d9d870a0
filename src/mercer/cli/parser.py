"""The parser of the command line: what it refuses, it refuses in words and with a guess."""

from __future__ import annotations

import re
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from mercer import __version__
from mercer.cli import EXAMPLES
from mercer.cli.commands import CODES, COMMANDS, SHOWN

RENAMED = {"--level": "--confidence", "--jobs": "--threads"}
"""Options by the words that a command had for them, where it has the others."""


class Misused(Exception):
    """Arguments that make no sense; the message says which."""


class Parser(ArgumentParser):
    """A parser that raises what it has to say, so that it is told like every other error."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            holder: Any = next((a for a in self._actions if a.dest == "command"), None)
            made = holder.choices[found.command] if holder else self
            made.refuse(unknown[0])
        return found

    def refuse(self, word: str) -> NoReturn:
        """Refuse an argument that this command does not have."""
        known = [option for action in self._actions for option in action.option_strings]
        what = "option" if word.startswith("-") else "place for"
        self.error(f"there is no {what} {word!r}{_meant(word.partition('=')[0], known)}")

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice:
            message += _meant(choice[1], re.findall(r"[\w-]+", choice[2]))
        stop = "" if message.endswith("?") else "."
        raise Misused(f"{message}{stop} See: {self.prog} --help")


def _meant(word: str, known: Sequence[str]) -> str:
    """Return a question for the known word that is nearest to one that is not.

    >>> _meant("--rnk", ["--rank", "--scale"])
    '; did you mean --rank?'
    """
    from difflib import get_close_matches

    if RENAMED.get(word) in known:
        return f"; did you mean {RENAMED[word]}?"
    close = get_close_matches(word, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def with_command(argv: Sequence[str]) -> list[str]:
    """Return the arguments with a command: a file alone is one to report on.

    >>> with_command(["data.csv", "--open"]), with_command(["fit", "data.csv"])
    (['report', 'data.csv', '--open'], ['fit', 'data.csv'])
    """
    first = argv[0]
    is_command = first in SHOWN or first.startswith("-")
    is_file = Path(first).is_file() or bool(Path(first).suffix)
    return ["report", *argv] if is_file and not is_command else list(argv)


def parser() -> Parser:
    """Return the parser of the whole command line."""
    whole = Parser(
        prog="mercer",
        description="Kernel methods for exploratory analysis.",
        epilog=f"examples:\n{EXAMPLES}\n{CODES}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"mercer {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return whole
