"""The parser, which refuses in words and with a guess, and arguments that several commands take."""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser, BooleanOptionalAction
from collections.abc import Sequence
from typing import Any, NoReturn

from mercer.cli.errors import Misused

METHODS = ("pca", "kpca", "mca", "famd", "ca", "mds", "stress")
RENAMED = {
    "--level": "--confidence",
    "--jobs": "--threads",
    "--page": "--out",
    "--ncp": "--rank",
    "--n-components": "--rank",
    "--axes": "--rank",
    "--hcpc": "--clusters",
    "--nb-clust": "--clusters",
    "--row.w": "--weights",
    "--ind.sup": "--sup-rows",
    **dict.fromkeys(("--plot", "--graph", "--figure", "--pdf", "--png", "--svg"), "--picture"),
    **dict.fromkeys(("--columns", "--vars", "--variables", "--select"), "--cols"),
    **dict.fromkeys(("--habillage", "--color", "--col.ind", "--hue"), "--colour"),
    "--csv": "--coords",
    "--quanti.sup": "--sup-cols",
    "--quali.sup": "--sup-cols",
    "--scale.unit": "--scale",
}
"""Options by the words that R or another command has for them, where a command has these."""

DONE_BY = {
    **{name: f"mercer fit FILE --method {name}" for name in METHODS},
    **dict.fromkeys(("cluster", "clusters", "hcpc"), "mercer fit FILE --clusters"),
    "bootstrap": "mercer fit FILE --bootstrap 200",
    "jackknife": "mercer fit FILE --jackknife",
    "importance": "mercer fit FILE --importance",
    "preimages": "mercer fit FILE --preimages",
    "cmdscale": "mercer fit FILE --method mds",
    "isomds": "mercer fit FILE --method stress --loss ordinal",
    "transform": "mercer project MODEL FILE",
    "predict": "mercer project MODEL FILE",
}
"""Analyses that are no command of their own, and what makes them."""

PAGE_OF_FIT = "mercer report FILE --out page.html"


class Parser(ArgumentParser):
    """A parser that raises what it has to say, so that it is told like every other error."""

    @property
    def actions(self) -> Sequence[Action]:
        """The arguments that it knows, in their order."""
        return self._actions

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            holder: Any = next((a for a in self.actions if a.dest == "command"), None)
            made = holder.choices[found.command] if holder else self
            made.refuse(unknown[0])
        return found

    def refuse(self, word: str) -> NoReturn:
        """Refuse an argument that this command does not have."""
        known = [option for action in self.actions for option in action.option_strings]
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

    if word == "--page" and "--coords" in known:  # of a fit, whose --out is the model
        return f"; did you mean `{PAGE_OF_FIT}`?"
    if RENAMED.get(word) in known:
        return f"; did you mean {RENAMED[word]}?"
    if word in DONE_BY and "fit" in known:
        return f"; did you mean `{DONE_BY[word]}`?"
    if word == "hcpc":
        return "; did you mean --clusters?"
    close = get_close_matches(word, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


DISTANCES = (
    *("euclidean", "manhattan", "bray-curtis", "ruzicka", "jaccard", "chi-square", "hellinger"),
    *("chord", "aitchison", "gower"),
)
"""Those of `mercer.kernels.dissimilarities`, which is not loaded to understand a command."""
FORMS = ("auto", "table", "matrix", "fasta", "strings", "sets")


def add_manners(made: Parser, *, plan: str) -> None:
    """How a command talks; every command has these."""
    group = made.add_argument_group("manners")
    group.add_argument("--json", action="store_true", help="print one JSON object")
    group.add_argument("--dry-run", action="store_true", help=plan)
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="report all guesses")
    group.add_argument(
        "--no-color", action="store_true", help="print without colours (also: NO_COLOR)"
    )
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_own_page(group: Any, default: str) -> None:
    """The page of a command that writes one unless it is told not to."""
    group.add_argument("--page", metavar="FILE", help=f"the page (default: {default})")
    group.add_argument("--no-page", action="store_true", help="write no page")
    group.add_argument("--title", metavar="TEXT", help="title of the page")
    group.add_argument("--open", action="store_true", help="open the page in the browser")


def add_studies(made: Parser) -> None:
    """Flags of the studies of fitted axes; see ``cli/studies.py``."""
    group = made.add_argument_group("studies of the axes")
    group.add_argument(
        "--bootstrap",
        type=int,
        metavar="R",
        help="show how far the axes move in R bootstrap samples, such as 200",
    )
    group.add_argument(
        "--jackknife",
        action="store_true",
        help="show how far the axes turn without each individual",
    )
    group.add_argument(
        "--path",
        metavar="NAME[=FROM:TO[:COUNT]]",
        help="follow the axes along a parameter of the kernel, such as bandwidth=0.5:8:25",
    )
    group.add_argument(
        "--importance",
        type=int,
        nargs="?",
        const=99,
        metavar="R",
        help="show what the first two axes lose when a variable is permuted, R times (99)",
    )
    group.add_argument(
        "--preimages",
        type=int,
        nargs="?",
        const=2,
        metavar="K",
        help="show what points along the first K axes (2) look like, in units of the columns",
    )
    group.add_argument(
        "--clusters",
        type=int,
        nargs="?",
        const=0,
        metavar="K",
        help="find K classes of individuals (default: as many as their tree suggests)",
    )


def add_writing(group: Any) -> None:
    """How files are written."""
    group.add_argument("--force", action="store_true", help="overwrite files that exist")
    group.add_argument(
        "--raw",
        action="store_true",
        help="write names that look like spreadsheet formulas without a quote",
    )


def add_model(made: Parser) -> None:
    """Which model, and how it is computed."""
    group = made.add_argument_group("model")
    group.add_argument(
        "--method",
        type=str.lower,
        choices=METHODS,
        help="one analysis alone: PCA, kernel PCA, (multiple) correspondence analysis, mixed "
        "analysis, classical or stress scaling (default: chosen by the columns)",
    )
    group.add_argument(
        "--kernel",
        metavar="TEXT",
        help="kernel of a kernel PCA, such as \"gaussian(bandwidth='median') + 0.1*linear()\"",
    )
    group.add_argument(
        "--distance",
        choices=DISTANCES,
        help="distance between rows, for mds or stress (default: euclidean)",
    )
    group.add_argument("--rank", type=int, metavar="K", help="axes (default: up to 10)")
    group.add_argument(
        "--scale",
        action=BooleanOptionalAction,
        help="divide columns of numbers by their standard deviations (default: yes)",
    )
    group.add_argument(
        "--active",
        metavar="COL",
        action="append",
        default=[],
        help="use this column as a variable, though it looks like row numbers, dates or codes",
    )
    how = group.add_mutually_exclusive_group()
    how.add_argument("--exact", action="store_true", help="iterate without storing the matrix")
    how.add_argument("--nystrom", type=int, metavar="M", help="approximate on M landmarks")
    group.add_argument("--tol", type=float, metavar="T", help="tolerance of the residual")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    group.add_argument(
        "--correction",
        choices=("lingoes", "cailliez", "power", "clip"),
        help="correction that makes distances Euclidean (mds)",
    )
    group.add_argument(
        "--loss",
        choices=("stress", "sstress", "sammon", "ordinal"),
        help="loss to minimise (stress)",
    )


def add_reading(made: Parser, *, has_roles: bool = True, imputes: bool = True) -> None:
    """How a file is read, and what its columns and rows are.

    A command that does not impute leaves out rows that lack a value, where nothing else is asked.
    """
    group = made.add_argument_group("reading")
    group.add_argument("--as", dest="form", choices=FORMS, default="auto", help="kind of file")
    group.add_argument("--id", metavar="COL", help="the column that names the rows")
    group.add_argument(
        "--drop", metavar="COL", action="append", default=[], help="leave out this column"
    )
    if has_roles:
        group.add_argument(
            "--factor",
            metavar="COL",
            action="append",
            default=[],
            help="read this column as labels",
        )
        group.add_argument(
            "--colour",
            metavar="COL",
            help="the factor that colours individuals (default: what the map separates best)",
        )
        group.add_argument(
            "--cols",
            metavar="COLS",
            action="append",
            default=[],
            help="the columns that make the axes, all others being supplementary: names, or "
            "numbers from 1 such as 1-10",
        )
        group.add_argument(
            "--sup-cols",
            metavar="COLS",
            action="append",
            default=[],
            help="supplementary columns: names, or numbers from 1 such as 11,12 or 3-5",
        )
        group.add_argument(
            "--sup-rows",
            metavar="ROWS",
            action="append",
            default=[],
            help="supplementary rows: names, or numbers from 1 such as 3,10-12",
        )
        group.add_argument("--weights", metavar="COL", help="the weights of rows")
    else:
        made.set_defaults(factor=[], colour=None, cols=[], sup_cols=[], sup_rows=[], weights=None)
    _missing(group, imputes=imputes)
    made.set_defaults(unasked=None if imputes else "drop")
    _writing_of_files(group)


def _missing(group: Any, *, imputes: bool) -> None:
    """What is done where values are missing."""
    missing = group.add_mutually_exclusive_group()
    missing.add_argument(
        "--strict",
        action="store_true",
        help="refuse missing values (default: "
        + ("fill in means for numbers and a level for categories)" if imputes else "--drop-na)"),
    )
    missing.add_argument(
        "--drop-na", action="store_true", help="leave out rows that lack a number or a category"
    )
    missing.add_argument(
        "--impute",
        choices=("mean", "pca", "mode", "level"),
        action="append",
        default=[],
        help="fill in missing numbers by the mean or from two principal axes (pca), missing "
        "categories by the most frequent one (mode) or a level of their own",
    )
    group.add_argument(
        "--na", metavar="WORD", action="append", default=[], help="another word for a missing value"
    )


def _writing_of_files(group: Any) -> None:
    """How cells are written, where the table stands, and what it may take."""
    group.add_argument("--delimiter", metavar="C", help="separator of cells")
    group.add_argument("--decimal", choices=(".", ","), help="the decimal mark")
    group.add_argument("--encoding", metavar="NAME", help="encoding of a text file")
    group.add_argument(
        "--header",
        action=BooleanOptionalAction,
        help="whether the first line names the columns (default: guessed)",
    )
    group.add_argument(
        "--skip", type=int, metavar="N", help="number of lines above the header (default: guessed)"
    )
    group.add_argument("--sheet", metavar="NAME", help="sheet of a spreadsheet, by name or number")
    group.add_argument(
        "--transpose",
        action=BooleanOptionalAction,
        help="whether columns are the individuals, as in genes x samples",
    )
    group.add_argument("--memory", metavar="SIZE", help="memory budget, such as 4GB")
