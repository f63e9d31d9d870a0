"""``mercer demo``: the whole path, from a file to a page, on data that come with mercer.

It writes the data to a folder and runs the very commands it prints.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from mercer import datasets
from mercer.analysis import analyse
from mercer.cli import command
from mercer.cli.commands import parser
from mercer.cli.errors import OK
from mercer.cli.output import Talk, csv_bytes, write
from mercer.data.matrices import SquareMatrix
from mercer.data.table import Table
from mercer.display import percent
from mercer.errors import InvalidInput, MissingExtra, NotSaved


class Demo(NamedTuple):
    """Data, the flags of their fit, and new individuals to project if others than themselves.

    One with a ``story`` has no flags, as most people begin, and its page is that of its data.
    """

    data: Callable[[], Table | SquareMatrix]
    flags: str = ""
    new: Callable[[], Table] | None = None
    story: Callable[[Table], tuple[str, ...]] | None = None


def planets_told(table: Table) -> tuple[str, ...]:
    """Return what the straight and the curved map make of the planets, with what was measured."""
    found = analyse(table, random_state=0)
    if found.evidence is None:
        raise InvalidInput("the planets were not compared on two maps")
    parted = found.evidence.separations[0]
    return (
        f"Here are {len(table)} places of Mercury, Venus, Earth, Mars and Jupiter, seen from "
        "above: forty days of the year of each, by NASA's elements of their orbits.",
        "A straight map, principal component analysis, can only rotate this view: each orbit lies "
        "around the inner ones, so no straight axis separates the planets.",
        "A kernel compares places by how near they are, and its axes may curve: the first one is "
        "the distance from the Sun, which nobody told it, and the planets come apart.",
        f"Of a perfect separation the straight axes reach {percent(parted.straight)} and the "
        f"curved ones {percent(parted.curved)} (p = {parted.p_value:.3g}).",
        "The page shows both maps and says what to doubt; `mercer data.csv` writes the same page "
        "for a table of your own.",
    )


GAUSSIAN = "--kernel 'gaussian(bandwidth=1)' --no-scale"

DEMOS = {
    "planets": Demo(datasets.planets, story=planets_told),
    "decathlon": Demo(datasets.decathlon, "--method pca --scale --sup-cols Rank,Points"),
    "iris": Demo(datasets.iris, "--scale"),
    "swiss": Demo(datasets.swiss, "--method pca --scale"),
    "us_cities": Demo(datasets.us_cities, "--method mds"),
    "eurodist": Demo(datasets.eurodist, "--method mds --correction lingoes"),
    "circles": Demo(
        datasets.circles, f"{GAUSSIAN} --factor radius", lambda: datasets.circles((1.5, 2.5), 12)
    ),
    "disc_and_ring": Demo(datasets.disc_and_ring, GAUSSIAN),
    "plants": Demo(datasets.plants, "--kernel 'linear()' --no-scale"),
}


def run(args: Namespace, talk: Talk) -> int:
    """Run every step in a folder, and answer with what each found."""
    demo = DEMOS[args.name]
    found = demo.data()
    steps = commands(args.name, demo, is_table=isinstance(found, Table))
    if args.dry_run:
        lines = [shlex.join(["mercer", *step]) for step in steps]
        talk.answer({"command": "demo", "steps": lines}, "\n".join(lines))
        return OK
    story = () if demo.story is None or not isinstance(found, Table) else demo.story(found)
    folder = _folder(args.out)
    write(str(folder / f"{args.name}.csv"), as_csv(found))
    if demo.new is not None:
        write(str(folder / f"{args.name}_new.csv"), as_csv(demo.new()))
    for sentence in story[:-1]:
        talk.say(sentence)
    done = [_step(step, folder, args, talk) for step in steps]
    for sentence in story[-1:]:
        talk.say(sentence)
    value = {"command": "demo", "name": args.name, "folder": str(folder), "steps": done}
    page = folder / f"{args.name}.html"
    place = f"the page is {page}; data, model and coordinates are beside it"
    text = place if "page" in done[-1] else f"data, model and coordinates are in {folder}"
    talk.answer(value | {"story": list(story)}, text)
    return OK


def commands(name: str, demo: Demo, *, is_table: bool) -> list[list[str]]:
    """Return the commands of a demonstration, which are run as they stand."""
    file, model, page = f"{name}.csv", f"{name}.mercer", f"{name}.html"
    fit = ["fit", file, *shlex.split(demo.flags), "--out", model, "--force"]
    new = file if demo.new is None else f"{name}_new.csv"
    project = ["project", model, new, "--out", f"{name}_coordinates.csv", "--force"]
    dim = ["dim", file, *shlex.split(demo.flags), "--permutations", "199"]
    if demo.story is not None:
        return [fit, project, ["report", file, "--out", page, "--force"]]
    report = ["report", model, "--out", page, "--force"]
    return [fit, *([dim] if is_table else []), project, report]


def as_csv(found: Table | SquareMatrix) -> bytes:
    """Return a table, or a matrix with its names, as the file it would have come from."""
    if isinstance(found, SquareMatrix):
        columns: dict[str, Any] = {"": list(found.names)}
        columns |= {name: found.values[:, j] for j, name in enumerate(found.names)}
        return csv_bytes(columns, is_raw=True)
    columns = {column.name: column.values for column in found.columns()}
    named = any(role.value == "identifier" for role in found.roles)
    if found.row_names is not None and not named:
        columns = {"": list(found.row_names), **columns}
    return csv_bytes(columns, is_raw=True)


def _folder(given: str | None) -> Path:
    if given is None:
        return Path(mkdtemp(prefix="mercer-demo-"))
    folder = Path(given)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotSaved(f"the folder {given} could not be made: {error}") from error
    return folder


def _step(step: list[str], folder: Path, args: Namespace, talk: Talk) -> dict[str, Any]:
    """Run one command in the folder; a page that cannot be made is told, and no failure."""
    talk.say(f"$ {shlex.join(['mercer', *step])}")
    given = parser().parse_args(step)
    given.quiet, given.verbose, given.json = args.quiet, args.verbose, args.json
    if step[0] == "report":
        given.open = not args.no_open and sys.stdout is not None and sys.stdout.isatty()
    inner = talk.within()
    inner.is_answer_shown = step[0] != "report"  # whose page is told at the end, with its folder
    before = Path.cwd()
    os.chdir(folder)  # so that the commands that are printed are those that are run
    try:
        command(given, inner)
    except MissingExtra as error:
        talk.warn(str(error))
        return {"command": step[0], "skipped": str(error)}
    finally:
        os.chdir(before)
    return inner.results[-1] if inner.results else {"command": step[0]}
