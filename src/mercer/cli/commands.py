"""The commands and their arguments, a function for each; argparse alone.

A new command ``name`` takes three things: a module ``cli/name_command.py`` with a function
``run(args, talk) -> int``, a function here that adds its parser, and a line in `COMMANDS` and in
`SHOWN`. Then the completion file is written anew (see ``cli/completion.py``) and the command has
its row and its example in ``docs/command-line.md``.
"""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, BooleanOptionalAction, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli import EXAMPLES
from mercer.cli.arguments import (
    Parser,
    add_manners,
    add_model,
    add_own_page,
    add_reading,
    add_studies,
    add_writing,
)

if TYPE_CHECKING:
    from argparse import _SubParsersAction

INFERENCES = ("correlation", "spearman", "partial", "glasso")
DEMOS = (
    "planets",
    "decathlon",
    "iris",
    "swiss",
    "us_cities",
    "eurodist",
    "circles",
    "disc_and_ring",
    "plants",
)

SHOWN = {
    "fit": "mercer fit data.csv --out model.mercer --coords coordinates.csv",
    "report": "mercer report data.csv --factor treatment --out page.html --open",
    "serve": "mercer serve data.csv",
    "project": "mercer project model.mercer new.csv --out placed.csv",
    "check": 'mercer check data.csv --kernel "gaussian(bandwidth=1) + linear()"',
    "dim": "mercer dim data.csv --permutations 999",
    "curve": "mercer curve data.csv --y yield --x dose --method spline",
    "compare": "mercer compare genes.csv metabolites.csv --consensus statis --page compared.html",
    "replicates": "mercer replicates expression.csv --condition treatment --sizes 2-6",
    "graphs": "mercer graphs networks/ --kernel 'weisfeiler_lehman(3).normalised()'",
    "demo": "mercer demo planets --out folder",
    "plan": "mercer plan --individuals 1e8 --variables 50 --workers 64 --cores 8",
    "doctor": "mercer doctor --individuals 100000",
}
"""An example of each command, for its help."""

LARGEST = 10.0
"""The largest page in megabytes, by default."""

CODES = """\
exit codes: 0 done, 1 a bug, 2 usage, 3 input unreadable or invalid, 4 mathematical refusal,
5 not converged, 6 out of memory or something is not installed, 130 interrupted"""


class Version(Action):
    """Print the version, which is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **more)

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from mercer import __version__

        sys.stdout.write(f"mercer {__version__}\n")
        parser.exit()


PLAN = "print the plan (size, method, memory, seconds, error) and do nothing"


def _command(commands: _SubParsersAction[Parser], name: str, what: str, *, plan: str) -> Parser:
    made = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=f"example: {SHOWN[name]}\n\n{CODES}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_manners(made, plan=plan)
    return made


def _fit(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "fit", "find the axes of a table, or a map of distances", plan=PLAN)
    made.add_argument("data", metavar="DATA", help="a file, or - for the standard input")
    group = made.add_argument_group("results")
    group.add_argument("--out", metavar="FILE", help="write the model")
    group.add_argument("--coords", metavar="FILE", help="write the coordinates as CSV; - prints")
    group.add_argument(
        "--picture", metavar="FILE", help="draw the map of the first two axes: pdf, svg or png"
    )
    group.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="keep the state of a long fit after each pass, and resume from it",
    )
    add_writing(group)
    add_studies(made)
    _add_horn(made)
    add_model(made)
    add_reading(made)


def _add_horn(group: Any) -> None:
    """The test that says on how many axes classes stand, the same for a page and without one."""
    group.add_argument(
        "--permutations",
        type=int,
        metavar="R",
        help="permutations of Horn's test, by whose axes classes are found; 0 omits it, and takes "
        "five axes (default: 199 if below a minute)",
    )


def _report(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "report", "write everything on one HTML page", plan=PLAN)
    made.add_argument(
        "data", metavar="DATA|MODEL", help="data, a stored model, or an example such as planets"
    )
    group = made.add_argument_group("results")
    group.add_argument("--out", metavar="FILE", help="the page (default: DATA.html)")
    group.add_argument("--title", metavar="TEXT", help="title of the page")
    group.add_argument("--open", action="store_true", help="open the page in the browser")
    _add_horn(group)
    group.add_argument(
        "--max-mb", type=float, default=LARGEST, metavar="MB", help="page size limit (default: 10)"
    )
    group.add_argument(
        "--force", action="store_true", help="overwrite a file that mercer did not write"
    )
    group.add_argument(
        "--curved",
        metavar="TEXT",
        help="kernel of the second map, also with --method (default: a Gaussian of the "
        "median distance)",
    )
    group.add_argument(
        "--curved-exact",
        action="store_true",
        help="make the second map of all individuals (default: of many, on landmarks)",
    )
    add_studies(made)
    add_model(made)
    add_reading(made)


def _serve(commands: _SubParsersAction[Parser]) -> None:
    what = "explore data in a page that responds, on this machine alone"
    made = _command(commands, "serve", what, plan="print what would be served, and do nothing")
    made.add_argument(
        "data", metavar="DATA", nargs="?", help="a file or an example (default: the page asks)"
    )
    group = made.add_argument_group("server")
    group.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    group.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1, this machine alone)",
    )
    group.add_argument("--no-open", action="store_true", help="do not show the page")


def _project(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "project", "place new individuals on the axes of a model", plan=PLAN)
    made.add_argument("model", metavar="MODEL", help="a file that `mercer fit --out` wrote")
    made.add_argument("data", metavar="NEW", help="new individuals, or - for the standard input")
    group = made.add_argument_group("results")
    group.add_argument("--out", metavar="FILE", help="write the CSV to a file")
    add_writing(group)
    add_reading(made, has_roles=False)


def _check(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "check", "test a matrix, or a kernel", plan=PLAN)
    made.add_argument("data", metavar="DATA|MATRIX", help="a square matrix, or data for a kernel")
    made.add_argument("--kernel", metavar="TEXT", help="test the contract of this kernel")
    made.add_argument(
        "--of",
        choices=("gram", "distances", "squares"),
        help="content of the matrix (default: distances if its diagonal is 0, else gram)",
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    add_reading(made)


def _dim(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "dim", "find how many axes to keep", plan=PLAN)
    made.add_argument("data", metavar="DATA", help="a file, or - for the standard input")
    group = made.add_argument_group("rules")
    group.add_argument(
        "--permutations", type=int, metavar="R", help="permutations of Horn's test (default: 999)"
    )
    group.add_argument("--level", type=float, default=0.05, help="level of Horn's test")
    group.add_argument("--share", type=float, default=0.95, help="share of inertia to keep")
    add_model(made)
    add_reading(made)


def _compare(commands: _SubParsersAction[Parser]) -> None:
    what = "test whether kernels, or files, see the same individuals alike"
    made = _command(commands, "compare", what, plan=PLAN)
    made.add_argument(
        "files", metavar="DATA", nargs="+", help="a file for several kernels, or several files"
    )
    group = made.add_argument_group("comparison")
    group.add_argument(
        "--kernel",
        metavar="TEXT",
        action="append",
        default=[],
        help="a kernel to compare, or the kernel of a file (default: a Gaussian for each table)",
    )
    group.add_argument(
        "--scale",
        action=BooleanOptionalAction,
        help="divide columns by their standard deviations",
    )
    group.add_argument(
        "--permutations",
        type=int,
        metavar="R",
        help="number of permutations (default: 999 up to 3 000 individuals, else none)",
    )
    group.add_argument(
        "--test",
        choices=("permutation", "multiplier", "pearson"),
        help="draw permutations (default), or multipliers (default with unequal weights), or take "
        "the law with their three exact moments",
    )
    group.add_argument(
        "--consensus",
        choices=("statis", "full-umkl", "sparse-umkl"),
        help="how to compute the consensus kernel",
    )
    group.add_argument(
        "--neighbours", type=int, default=5, metavar="K", help="neighbours that UMKL keeps together"
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    results = made.add_argument_group("results")
    results.add_argument("--out", metavar="FILE", help="write the pairs as CSV")
    results.add_argument("--page", metavar="FILE", help="write an HTML page")
    add_writing(results)
    add_reading(made)


def _curve(commands: _SubParsersAction[Parser]) -> None:
    what = "fit one column as a function of others, with a band and a page"
    made = _command(commands, "curve", what, plan="print size, memory and growth, and do nothing")
    made.add_argument("data", metavar="DATA", help="a table, or - for the standard input")
    group = made.add_argument_group("function")
    group.add_argument("--y", metavar="COL", required=True, help="column to explain")
    group.add_argument(
        "--x",
        metavar="COLS",
        action="append",
        default=[],
        help="explanatory columns (default: all other active ones)",
    )
    group.add_argument(
        "--method",
        choices=("spline", "ridge", "gp"),
        help="smoothing spline, kernel ridge or Gaussian process (default: spline of one column)",
    )
    group.add_argument("--kernel", metavar="TEXT", help="for ridge, gp (default: a Gaussian)")
    group.add_argument("--penalty", type=float, metavar="P", help="default: by the criterion")
    group.add_argument("--df", type=float, metavar="D", help="degrees of freedom of a spline")
    group.add_argument(
        "--criterion", choices=("gcv", "loo", "reml", "cv"), help="how to choose the penalty"
    )
    group.add_argument(
        "--scale", action=BooleanOptionalAction, help="divide columns by their standard deviations"
    )
    group.add_argument(
        "--confidence", type=float, default=0.95, help="confidence of the band (default: 0.95)"
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    results = made.add_argument_group("results")
    add_own_page(results, "DATA-curve.html")
    results.add_argument("--out", metavar="FILE", help="write the model")
    results.add_argument("--fitted", metavar="FILE", help="write fitted values as CSV; - prints")
    add_writing(results)
    add_reading(made, imputes=False)


def _replicates(commands: _SubParsersAction[Parser]) -> None:
    what = "find how many replicates networks need to distinguish conditions"
    made = _command(commands, "replicates", what, plan=PLAN)
    made.add_argument(
        "data", metavar="DATA", help="expression: replicates in rows, genes in columns"
    )
    made.add_argument(
        "--condition",
        metavar="COL",
        action="append",
        required=True,
        help="column of the conditions; several are combined",
    )
    group = made.add_argument_group("study")
    group.add_argument("--infer", choices=INFERENCES, default="correlation", help="method")
    group.add_argument("--threshold", type=float, metavar="T", help="smallest weight of an edge")
    group.add_argument("--power", type=float, default=1.0, metavar="P", help="soft threshold")
    group.add_argument("--unsigned", action="store_true", help="ignore the sign of correlations")
    group.add_argument("--penalty", type=float, metavar="A", help="penalty of the graphical lasso")
    group.add_argument(
        "--kernel", metavar="TEXT", help="kernel between networks (default: aligned_edges())"
    )
    group.add_argument("--sizes", metavar="LIST", help="numbers of replicates to try, such as 2-6")
    group.add_argument("--draws", type=int, default=100, metavar="B", help="subsets of each size")
    group.add_argument("--confidence", type=float, default=0.95, help="confidence of the interval")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    group.add_argument("--threads", type=int, metavar="N", help="default: one for each core")
    results = made.add_argument_group("results")
    add_own_page(results, "DATA-replicates.html")
    results.add_argument("--out", metavar="FILE", help="write the curve as CSV")
    results.add_argument("--edges", metavar="FILE", help="write the edges of all networks as CSV")
    add_writing(results)
    add_reading(made, imputes=False)


def _graphs(commands: _SubParsersAction[Parser]) -> None:
    what = "place the graphs of a folder on axes, with a page"
    made = _command(commands, "graphs", what, plan=PLAN)
    made.add_argument("data", metavar="FOLDER", help="a file for each graph; subfolders are groups")
    group = made.add_argument_group("comparison")
    group.add_argument(
        "--kernel", metavar="TEXT", help="kernel (default: weisfeiler_lehman(3).normalised())"
    )
    group.add_argument("--rank", type=int, metavar="K", help="axes (default: up to 10)")
    group.add_argument(
        "--labels",
        choices=("own", "names", "none"),
        default="own",
        help="node labels: those in the files, or names (default: own)",
    )
    group.add_argument("--label", metavar="NAME", help="GraphML attribute that labels nodes")
    group.add_argument("--pattern", metavar="GLOB", help="files to read, such as '*.txt'")
    group.add_argument(
        "--simplify", action="store_true", help="leave out loops, join repeated edges"
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    results = made.add_argument_group("results")
    add_own_page(results, "FOLDER-graphs.html")
    results.add_argument(
        "--clusters", type=int, metavar="K", help="classes of the page (default: as suggested)"
    )
    results.add_argument("--out", metavar="FILE", help="write the model")
    results.add_argument("--coords", metavar="FILE", help="write the coordinates as CSV")
    add_writing(results)


def _demo(commands: _SubParsersAction[Parser]) -> None:
    made = _command(
        commands, "demo", "run a whole analysis of embedded data", plan="print the commands only"
    )
    made.add_argument("name", nargs="?", choices=DEMOS, default=DEMOS[0], metavar="NAME")
    made.add_argument("--out", metavar="FOLDER", help="folder to write to (default: a new one)")
    made.add_argument("--no-open", action="store_true", help="do not show the page")
    made.description = f"Run a whole analysis of embedded data: {', '.join(DEMOS)}."


def _many(text: str) -> int:
    """Return a whole number, which may be written as 1e8."""
    number = float(text)
    if number != int(number) or number < 0:
        raise ValueError
    return int(number)


def _plan(commands: _SubParsersAction[Parser]) -> None:
    what = "predict the cost of kernel PCA, here or on a cluster"
    made = _command(commands, "plan", what, plan="the same: a plan computes no axes")
    made.add_argument("--individuals", type=_many, metavar="N", required=True, help="such as 1e8")
    made.add_argument(
        "--variables", type=_many, default=20, metavar="P", help="columns (default: 20)"
    )
    made.add_argument("--rank", type=int, default=10, metavar="K", help="axes (default: 10)")
    made.add_argument(
        "--landmarks", type=_many, metavar="M", help="landmarks (default: none, exact)"
    )
    made.add_argument("--memory", metavar="SIZE", help="memory budget of this machine, such as 4GB")
    made.add_argument("--on-disk", action="store_true", help="the individuals stay in a file")
    group = made.add_argument_group("cluster")
    group.add_argument("--workers", type=_many, metavar="W", help="number of machines of a cluster")
    group.add_argument(
        "--cores", type=_many, default=1, metavar="C", help="cores each (default: 1)"
    )
    group.add_argument("--gpus", type=_many, default=0, metavar="G", help="GPUs each (default: 0)")


def _doctor(commands: _SubParsersAction[Parser]) -> None:
    made = _command(commands, "doctor", "report the machine and its speed", plan="measure nothing")
    made.add_argument("--individuals", type=int, metavar="N", help="plan for this many individuals")
    made.add_argument("--variables", type=int, default=20, metavar="P", help="number of variables")
    made.add_argument("--rank", type=int, default=10, metavar="K", help="number of axes")


COMMANDS: tuple[Callable[[Any], None], ...] = (
    _fit,
    _report,
    _serve,
    _project,
    _check,
    _dim,
    _curve,
    _compare,
    _replicates,
    _graphs,
    _demo,
    _plan,
    _doctor,
)
"""The commands in the order of the help."""


def with_command(argv: Sequence[str]) -> list[str]:
    """Return the arguments with a command: a file alone is one to report on, a folder has graphs.

    >>> with_command(["data.csv", "--open"]), with_command(["fit", "data.csv"])
    (['report', 'data.csv', '--open'], ['fit', 'data.csv'])
    """
    first = argv[0]
    if first in SHOWN or first.startswith("-"):
        return list(argv)
    if Path(first).is_dir():
        return ["graphs", *argv]
    is_file = Path(first).is_file() or bool(Path(first).suffix)
    return ["report", *argv] if is_file else list(argv)


def parser() -> Parser:
    """Return the parser of the whole command line."""
    whole = Parser(
        prog="mercer",
        description="Kernel methods for exploratory analysis.",
        epilog=f"examples:\n{EXAMPLES}\n{CODES}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action=Version, help="show the version and exit")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return whole


def commands_of(whole: Parser) -> dict[str, Parser]:
    """Return the parser of every command."""
    holder: Any = next(a for a in whole.actions if a.dest == "command")
    return dict(holder.choices)
