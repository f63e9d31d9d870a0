"""The words of the command line; argparse alone, so that help costs next to nothing."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Any, NoReturn

from mercer import __version__
from mercer.cli import EXAMPLES

if TYPE_CHECKING:
    from argparse import _SubParsersAction

METHODS = ("kpca", "pca", "mds", "stress")
FORMS = ("auto", "table", "matrix", "strings", "sets")
DEMOS = (
    "decathlon",
    "iris",
    "swiss",
    "us_cities",
    "eurodist",
    "circles",
    "disc_and_ring",
    "plants",
)
CODES = """\
exit codes: 0 done, 1 a bug, 2 usage, 3 input unreadable or invalid, 4 mathematical refusal,
5 not converged, 6 out of memory or something is not installed, 130 interrupted"""


class Misused(Exception):
    """Arguments that make no sense; the message says which."""


class Parser(ArgumentParser):
    """A parser that raises what it has to say, so that it is told like every other error."""

    def error(self, message: str) -> NoReturn:
        raise Misused(f"{message}. See: {self.prog} --help")


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
    _fit(commands)
    _report(commands)
    _project(commands)
    _check(commands)
    _dim(commands)
    _demo(commands)
    _doctor(commands)
    return whole


def _command(commands: _SubParsersAction[Parser], name: str, what: str, *, plan: str) -> Parser:
    made = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=CODES,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    group = made.add_argument_group("manners")
    group.add_argument("--json", action="store_true", help="print one JSON object")
    group.add_argument("--dry-run", action="store_true", help=plan)
    group.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    group.add_argument("-v", "--verbose", action="store_true", help="say what was guessed")
    group.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR)")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return made


PLAN = "print the plan (size, method, memory, seconds, error) and do nothing"


def _fit(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "fit", "find the axes of a table, or a map of distances", plan=PLAN)
    made.add_argument("data", metavar="DATA", help="a file, or - for the standard input")
    group = made.add_argument_group("results")
    group.add_argument("--out", metavar="FILE", help="write the model")
    group.add_argument("--coords", metavar="FILE", help="write the coordinates as CSV; - prints")
    _writing(group)
    _model(made)
    _reading(made)


def _report(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "report", "write everything on one HTML page", plan=PLAN)
    made.add_argument("data", metavar="DATA|MODEL", help="a file of data or a stored model")
    group = made.add_argument_group("results")
    group.add_argument("--out", metavar="FILE", help="the page (default: DATA.html)")
    group.add_argument("--title", metavar="TEXT", help="its title")
    group.add_argument("--open", action="store_true", help="show it in the browser")
    group.add_argument("--permutations", type=int, default=199, metavar="R", help="for Horn's test")
    group.add_argument("--force", action="store_true", help="overwrite a page that exists")
    _model(made)
    _reading(made)


def _project(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "project", "place new individuals on the axes of a model", plan=PLAN)
    made.add_argument("model", metavar="MODEL", help="a file that `mercer fit --out` wrote")
    made.add_argument("data", metavar="NEW", help="new individuals, or - for the standard input")
    group = made.add_argument_group("results")
    group.add_argument("--out", metavar="FILE", help="write the CSV to a file")
    _writing(group)
    _reading(made, has_roles=False)


def _check(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "check", "tell whether a matrix or a kernel is one", plan=PLAN)
    made.add_argument("data", metavar="DATA|MATRIX", help="a square matrix, or data for a kernel")
    made.add_argument("--kernel", metavar="TEXT", help="put this kernel through the contract")
    made.add_argument(
        "--of",
        choices=("gram", "distances", "squares"),
        help="what the matrix holds (default: distances if its diagonal is 0, else gram)",
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn")
    _reading(made)


def _dim(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "dim", "tell how many axes to keep", plan=PLAN)
    made.add_argument("data", metavar="DATA", help="a file, or - for the standard input")
    group = made.add_argument_group("rules")
    group.add_argument("--permutations", type=int, default=999, metavar="R", help="for Horn's test")
    group.add_argument("--level", type=float, default=0.05, help="of Horn's test")
    group.add_argument("--share", type=float, default=0.95, help="of the inertia to carry")
    _model(made)
    _reading(made)


def _demo(commands: _SubParsersAction[Parser]) -> None:
    made = _command(
        commands, "demo", "run a whole analysis of embedded data", plan="print the commands only"
    )
    made.add_argument("name", nargs="?", choices=DEMOS, default="decathlon", metavar="NAME")
    made.add_argument("--out", metavar="FOLDER", help="where files go (default: a new folder)")
    made.add_argument("--no-open", action="store_true", help="do not show the page")
    made.description = f"Run a whole analysis of embedded data: {', '.join(DEMOS)}."


def _doctor(commands: _SubParsersAction[Parser]) -> None:
    made = _command(
        commands, "doctor", "tell what this machine has and does", plan="measure nothing"
    )
    made.add_argument("--individuals", type=int, metavar="N", help="plan for so many individuals")
    made.add_argument("--variables", type=int, default=20, metavar="P", help="of so many variables")
    made.add_argument("--rank", type=int, default=10, metavar="K", help="and so many axes")


def _writing(group: Any) -> None:
    group.add_argument("--force", action="store_true", help="overwrite files that exist")
    group.add_argument(
        "--raw", action="store_true", help="names in CSV as they are, formulas of spreadsheets too"
    )


def _model(made: Parser) -> None:
    group = made.add_argument_group("model")
    group.add_argument(
        "--method",
        choices=METHODS,
        help="kernel PCA, PCA, classical or stress scaling (default: mds for distances, else kpca)",
    )
    group.add_argument(
        "--kernel",
        metavar="TEXT",
        help="such as \"gaussian(bandwidth='median') + 0.1*linear()\" (default: that Gaussian)",
    )
    group.add_argument("--rank", type=int, metavar="K", help="how many axes (default: up to 10)")
    group.add_argument(
        "--scale",
        action=BooleanOptionalAction,
        help="divide columns by their standard deviations",
    )
    how = group.add_mutually_exclusive_group()
    how.add_argument("--exact", action="store_true", help="iterate without storing the matrix")
    how.add_argument("--nystrom", type=int, metavar="M", help="approximate on M landmarks")
    group.add_argument("--tol", type=float, metavar="T", help="residual allowed to an iteration")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is drawn")
    group.add_argument(
        "--correction",
        choices=("lingoes", "cailliez", "power", "clip"),
        help="what makes distances Euclidean (mds)",
    )
    group.add_argument(
        "--loss",
        choices=("stress", "sstress", "sammon", "ordinal"),
        help="what is minimised (stress)",
    )


def _reading(made: Parser, *, has_roles: bool = True) -> None:
    group = made.add_argument_group("reading")
    group.add_argument("--as", dest="form", choices=FORMS, default="auto", help="what the file is")
    group.add_argument("--id", metavar="COL", help="the column that names the rows")
    group.add_argument("--drop", metavar="COL", action="append", default=[], help="leave it out")
    if has_roles:
        group.add_argument(
            "--factor", metavar="COL", action="append", default=[], help="labels, not numbers"
        )
        group.add_argument(
            "--sup-cols", metavar="COLS", action="append", default=[], help="supplementary columns"
        )
        group.add_argument(
            "--sup-rows",
            metavar="ROWS",
            action="append",
            default=[],
            help="supplementary rows: names, or numbers from 0 such as 3,10-12",
        )
        group.add_argument("--weights", metavar="COL", help="the weights of rows")
    else:
        made.set_defaults(factor=[], sup_cols=[], sup_rows=[], weights=None)
    missing = group.add_mutually_exclusive_group()
    missing.add_argument(
        "--drop-na", action="store_true", help="leave out rows with a missing number"
    )
    missing.add_argument("--impute", choices=("mean",), help="put something in its place")
    group.add_argument(
        "--na", metavar="WORD", action="append", default=[], help="also means missing"
    )
    group.add_argument("--delimiter", metavar="C", help="between the cells of a line")
    group.add_argument("--decimal", choices=(".", ","), help="the decimal mark")
    group.add_argument("--encoding", metavar="NAME", help="of a text file")
    group.add_argument("--no-header", action="store_true", help="the first line is data")
    group.add_argument("--memory", metavar="SIZE", help="a budget such as 4GB")
