"""``mercer report``: everything on one page, of data or of a stored model."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from mercer.analysis import Analysis
from mercer.cli.errors import OK, Misused, in_flags
from mercer.cli.fits import (
    Asked,
    analyse_data,
    analysis_value,
    begin_fit,
    choices_of,
    fit_model,
    reason_of,
)
from mercer.cli.inputs import as_written, local, refuse_folder
from mercer.cli.output import Talk, refuse_existing
from mercer.cli.pages import command_line, page_beside, page_writer, show_page
from mercer.cli.plans import seconds_beside, seconds_of_page, tell_plan
from mercer.cli.progress import carry_out
from mercer.cli.studies import refuse_studies, sections_of
from mercer.data.raw_files import kind_of, regular
from mercer.datasets.examples import is_example
from mercer.dimension.choose import affordable_permutations
from mercer.progress import Line
from mercer.resampling import PERMUTATIONS_UNASKED
from mercer.settings import memory_bytes
from mercer.store import about, load


def run(args: Namespace, talk: Talk) -> int:
    """Write the page, and answer with its name."""
    out = args.out or page_beside(args.data)
    refuse_existing(args, talk, page=out)
    page = None if args.dry_run else page_writer()
    refuse_folder(args.data)
    is_file = args.data != "-" and not is_example(args.data)
    is_model = is_file and kind_of(regular(args.data)) == "model"
    if is_model:
        return _of_model(args, talk, page, out)
    found = begin_fit(args, talk)
    data, model = found.data, found.model
    refuse_studies(args, model)
    if args.dry_run:
        later = seconds_beside(found, is_exact=args.curved_exact) + seconds_of_page(
            found, args.permutations
        )
        return tell_plan(talk, model, data, later=later)
    is_analysed, is_rank_asked = found.proposal is not None, args.rank is not None
    result = fit_model(model, data, talk, is_rank_asked=is_rank_asked, is_analysed=is_analysed)
    whole = analyse_data(found, args, talk)
    for said in () if whole is None else filter(None, (whole.parted, whole.adds)):
        talk.say(said)
    write_page(args, talk, page, whole or model, out, found)
    return result.code


def write_page(  # noqa: PLR0913  (what is written, where, and how it is told)
    args: Namespace, talk: Talk, page: Any, shown: Any, out: str, found: Asked | None = None
) -> dict[str, Any]:
    """Write the page of an analysis or a fitted model and answer with its place and size.

    ``found`` is what was asked for, None for a stored model, which knows its table.
    """
    model = shown.model if isinstance(shown, Analysis) else shown
    data = None if found is None else found.data
    table = getattr(model, "table_", None) if data is None else data.points
    table = None if isinstance(table, tuple) else table
    has_axes = hasattr(model, "inertias_")
    choices = (
        choices_of(model, args, talk, permutations_of(args, model, talk)) if has_axes else None
    )
    where = "model.table_" if data is None else "data"
    sections = sections_of(args, model, table, talk, where=where)
    written = Path(
        carry_out(
            lambda: page(
                in_words(shown),
                out,
                table=table,
                title=args.title,
                choices=choices,
                command=command_line(args, out),
                source=None if args.data == "-" or is_example(args.data) else args.data,
                reading=None if found is None else reading(args, found),
                supplementary=None if data is None else data.passive,
                most_bytes=int(1e6 * args.max_mb),
                sections=sections,
                clusters=args.clusters or None,
            ),
            talk,
            Line("writing"),
        )
    )
    value = {"command": "report", "page": str(written), "bytes": written.stat().st_size}
    if found is not None:
        whole = shown if isinstance(shown, Analysis) else None
        value |= {"model": type(model).__name__, **analysis_value(found, whole)}
    talk.answer(value, str(written))
    if args.open:
        show_page(written)
    return value


def in_words(shown: Any) -> Any:
    """Return an analysis that speaks of flags, as who reads the page has a command line."""
    if not isinstance(shown, Analysis):
        return shown
    doubts = tuple(
        replace(d, text=in_flags(d.text, () if d.advice is None else (d.advice,)))
        for d in shown.doubts
    )
    fates = tuple(fate._replace(reason=reason_of(fate)) for fate in shown.fates)
    sentence = in_flags(shown.sentence, shown.advice)
    return replace(shown, sentence=sentence, doubts=doubts, fates=fates)


def reading(args: Namespace, found: Asked) -> Any:
    """Return how the data came from their file, for the code of the page."""
    from mercer.page import Reading

    return Reading(as_read(args, found), found.data.passive_rows, args.weights)


def as_read(args: Namespace, found: Asked) -> dict[str, Any]:
    """Return how the file was read, in the words of `mercer.read`, what is usual left out."""
    given: dict[str, Any] = {} if args.form == "auto" else {"what": args.form}
    written = as_written(args)
    given |= {k: v for k, v in written.items() if v and k not in ("roles", "missing")}
    if written["roles"]:
        given["roles"] = {name: role.value for name, role in written["roles"].items()}
    if written["missing"] != "error":
        given["missing"] = written["missing"]
    table, proposal = found.data.table, found.proposal
    names = () if table is None else table.names
    fates = () if proposal is None else proposal.fates
    dropped = [fate.name for fate in fates if fate.name not in names]
    taken_out = [] if table is None else [n for n in names if n in table.supplementary]
    supplementary = [*args.drop, *dropped, *taken_out]
    if proposal is not None and proposal.identifiers:
        given["roles"] = given.get("roles", {}) | dict.fromkeys(proposal.identifiers, "identifier")
    if proposal is not None and proposal.codes:
        given["roles"] = given.get("roles", {}) | dict.fromkeys(proposal.codes, "factor")
    if supplementary:
        given["supplementary"] = supplementary
    if args.memory:
        given["memory"] = memory_bytes(args.memory)
    return given


def permutations_of(args: Namespace, model: Any, talk: Talk) -> int:
    """Return how many permutations Horn's test takes: as asked, or where they are quick."""
    if args.permutations is not None:
        return int(args.permutations)
    count, seconds = affordable_permutations(model, getattr(args, "counted", None))
    if count == 0:
        usual = PERMUTATIONS_UNASKED
        talk.warn(
            f"Horn's test is left out: {usual} permutations of {len(model.individuals_)} "
            f"individuals take about {seconds:.0f} s. --permutations {usual} asks for them"
        )
    return count


def _of_model(args: Namespace, talk: Talk, page: Any, out: str) -> int:
    flags = (
        "method",
        "kernel",
        "curved",
        "curved_exact",
        "active",
        "rank",
        "scale",
        "nystrom",
        "sup_rows",
    )
    given = next((f.replace("_", "-") for f in flags if getattr(args, f)), "")
    if given:
        raise Misused(f"--{given} is for data, and {args.data} is a model that is fitted already")
    with local(args.data, talk) as path:
        if args.dry_run:
            talk.answer(
                {"plan": "report", **about(path)}, f"the page of {args.data}: {about(path)}"
            )
            return OK
        model = load(path)
    refuse_studies(args, model)
    write_page(args, talk, page, model, out)
    return OK
