"""``mercer replicates``: how many replicates are enough for networks to tell conditions apart."""

from __future__ import annotations

import re
from argparse import Namespace
from functools import partial
from typing import Any

import numpy as np

from mercer.cli.errors import OK, Misused
from mercer.cli.inputs import Data, as_written, data_of_columns
from mercer.cli.output import Talk, align_columns, csv_bytes, refuse_existing, write
from mercer.cli.pages import command_line, own_page, page_writer, show_page, write_page
from mercer.cli.plans import tell_cost
from mercer.cli.progress import carry_out
from mercer.data.missing import policies
from mercer.data.table import Table
from mercer.networks.draws import permutations_of, permutations_of_pairs
from mercer.networks.expression import Expression, as_expression
from mercer.networks.inference import Inference
from mercer.networks.needed_replicates import Needed
from mercer.networks.study import ReplicateStudy, replicate_study, shown_genes
from mercer.progress import Line
from mercer.settings import confidence_of

NANOSECONDS = {"correlation": 40.0, "spearman": 60.0, "partial": 200.0, "glasso": 4e5}
"""About how long a network takes on one core, for each pair of genes."""


def run(args: Namespace, talk: Talk) -> int:
    """Study the replicates, write what is to be written, and answer with the number."""
    out = own_page(args, "replicates")
    refuse_existing(args, talk, args.out, args.edges, page=out)
    writer = partial(page_writer, "mercer.page.documents", "replicates_page", without="--no-page")
    page = None if out is None or args.dry_run else writer()
    data = data_of_columns(args, talk, lambda table: {*table.active, *args.condition})
    if data.table is None:
        raise Misused(f"{args.data} holds {data}: a study reads a table, a replicate in each row")
    if data.weights is not None:
        raise Misused("--weights: the replicates of a study all count alike")
    how = inference(args)
    expression = as_expression(data.table, args.condition)
    if args.dry_run:
        return _plan(talk, args, expression, how)
    talk.say(f"{args.data}: {_counts(expression)}")
    progress = Line("draws")
    study = carry_out(lambda: _study(args, data.table, how, progress), talk, progress)
    value = summary(study)
    if args.out:
        write(args.out, csv_bytes(_curve(study), is_raw=args.raw))
        talk.say(f"the curve is in {args.out}")
    if args.edges:
        write(args.edges, csv_bytes(_edges(study), is_raw=args.raw))
        talk.say(f"the edges are in {args.edges}")
    if page is not None and out is not None:
        value["page"] = out
        write_page(out, lambda: _page(args, page, data, study, out), talk)
    talk.answer(value, text_of(study))
    if out is not None and args.open:
        show_page(out)
    return OK


def inference(args: Namespace) -> Inference:
    """Return how networks are inferred."""
    return Inference(args.infer, args.threshold, args.power, not args.unsigned, args.penalty)


def _study(args: Namespace, table: Table | None, how: Inference, progress: Any) -> ReplicateStudy:
    return replicate_study(
        table,
        args.condition,
        sizes=sizes_of(args.sizes),
        kernel=args.kernel,
        infer=how,
        draws=args.draws,
        confidence=args.confidence,
        random_state=args.seed,
        threads=args.threads,
        progress=progress,
    )


def sizes_of(text: str | None) -> list[int] | None:
    """Return numbers of replicates from a list with ranges.

    >>> sizes_of("2-4,6")
    [2, 3, 4, 6]
    """
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        if ends is None:
            raise Misused(f"--sizes {text}: write numbers and ranges such as 2-6 or 2,4,8")
        found.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return found


def _counts(expression: Expression) -> str:
    each = ", ".join(
        f"{name}: {count}"
        for name, count in zip(expression.conditions, expression.replicates, strict=True)
    )
    return f"{len(expression.genes)} genes; replicates of each condition: {each}"


def _plan(talk: Talk, args: Namespace, expression: Expression, how: Inference) -> int:
    """Answer with what the study will take."""
    genes, C = len(expression.genes), len(expression.conditions)
    most = min(expression.replicates)
    sizes = sizes_of(args.sizes) or list(range(how.fewest, most + 1))
    each = sum(2 if 2 * m <= most else 1 for m in sizes) * C
    confidence = confidence_of(args.confidence)
    permutations = permutations_of(None, confidence)
    tests = C * permutations + C * (C - 1) * permutations_of_pairs(permutations, C, confidence)
    networks = each * args.draws + sum(expression.replicates) + C + tests
    kept = shown_genes(genes, C * len(sizes)) * C * len(sizes)
    memory = 8 * genes**2 * (2 * (sum(expression.replicates) + C) + 2 * kept + 6 * C)
    seconds = 1e-9 * NANOSECONDS[how.method] * genes * genes * networks
    value = {
        "plan": str(how),
        "conditions": dict(zip(expression.conditions, expression.replicates, strict=True)),
        "genes": genes,
        "sizes": sizes,
        "networks": networks,
        "memory_bytes": memory,
        "seconds": seconds,
        "error": "an interval by bootstrap, open where a permutation test shows no difference",
    }
    head = f"{networks} networks by {how}, of {sizes[0]} to {sizes[-1]} replicates, on one core"
    return tell_cost(talk, value, f"{_counts(expression)}\n{head}")


def summary(study: ReplicateStudy) -> dict[str, Any]:
    """Return the study as one object."""
    alpha, beta = study.curve.law
    return {
        "command": "replicates",
        "answer": _plain(study.answer),
        "sentence": study.sentences[0],
        "remarks": list(study.sentences[1:]),
        "pairs": [{"conditions": list(p), **_plain(n)} for p, n in study.pairs.items()],
        "conditions": dict(zip(study.conditions, study.replicates, strict=True)),
        "genes": len(study.genes),
        "inference": str(study.inference),
        "kernel": str(study.kernel),
        "curve": _curve(study),
        "line": {"alpha": alpha, "beta": beta},
        "draws": study.draws,
        "seed": study.seed,
    }


def _plain(answer: Needed) -> dict[str, Any]:
    return {
        "number": answer.number,
        "low": answer.low,
        "high": answer.high,
        "confidence": answer.confidence,
        "is_extrapolated": answer.is_extrapolated,
        "p_value": answer.p_value,
        "is_difference_shown": answer.is_shown,
    }


def _curve(study: ReplicateStudy) -> dict[str, Any]:
    return dict(study.curve.table())


def _edges(study: ReplicateStudy) -> dict[str, list[Any]]:
    """Return the edges of all conditions, one below the other."""
    columns: dict[str, list[Any]] = {}
    for name, network in study.networks.items():
        table = network.table()
        parts = {"condition": [name] * table.rows, **{k: v.tolist() for k, v in table.items()}}
        for key, values in parts.items():
            columns.setdefault(key, []).extend(values)
    return columns


def text_of(study: ReplicateStudy) -> str:
    """Return the study as a person reads it."""
    table = study.curve.table()
    columns = {
        name: ["" if np.isnan(v) else f"{v:.4g}" for v in values.tolist()]
        for name, values in table.items()
    }
    return "\n".join([*study.sentences, align_columns(columns)])


def _page(args: Namespace, page: Any, data: Data, study: ReplicateStudy, out: str) -> None:
    more = {} if args.title is None else {"title": args.title}
    page(
        out,
        study,
        code=_code(args, data, study),
        command=command_line(args, out, "page"),
        source=None if args.data == "-" else args.data,
        **more,
    )


def _reading(args: Namespace, data: Data) -> str:
    """Return the Python that reads the genes and the conditions of the study."""
    table = data.points
    written = as_written(args)
    given = {k: v for k, v in written.items() if v and k not in ("roles", "missing")}
    given |= {"roles": {n: role.value for n, role in written["roles"].items()}}
    given |= {"supplementary": [n for n in table.names if n in table.supplementary]}
    asked = policies(written["missing"])
    said = " ".join(data.settled)
    lacks = "category" in said or "categories" in said  # else no condition was missing
    given |= {"missing": asked._replace(factor=asked.factor if lacks else "keep")._asdict()}
    if not data.settled:
        del given["missing"]
    options = "".join(f", {name}={value!r}" for name, value in given.items() if value)
    return f'mc.read({args.data!r}, "table"{options})'


def _code(args: Namespace, data: Data, study: ReplicateStudy) -> str:
    """Return the Python that makes the study again."""
    kernel = "" if args.kernel is None else f"\n    kernel={args.kernel!r},"
    sizes = sizes_of(args.sizes)
    some = "" if sizes is None else f"\n    sizes={sizes},"
    return (
        "import mercer as mc\n\n"
        f"table = {_reading(args, data)}\n"
        "study = mc.replicate_study(\n    table,\n"
        f"    {args.condition},{some}{kernel}\n"
        f"    infer=mc.{study.inference!r},\n"
        f"    draws={study.draws},\n    confidence={study.answer.confidence},\n"
        f"    random_state={study.seed},\n)\n"
        "print(study)"
    )
