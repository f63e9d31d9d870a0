"""``mercer compare``: whether several kernels, or files, see the same individuals alike."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.cli.errors import OK, Misused
from mercer.cli.fits import kernel_of
from mercer.cli.inputs import Data, data_of
from mercer.cli.output import Talk, align_columns, csv_bytes, refuse_existing, write
from mercer.cli.pages import command_line, page_writer, write_page
from mercer.cli.plans import tell_cost
from mercer.cli.progress import carry_out
from mercer.compare.consensus import Consensus, consensus
from mercer.compare.several import Comparison, compare_kernels
from mercer.compare.sides import LIMITS
from mercer.data.matrices import SquareMatrix
from mercer.data.table import quote_names
from mercer.errors import InvalidInput
from mercer.kernels.base import Kernel
from mercer.kernels.given import Precomputed
from mercer.planning import flops
from mercer.progress import Line
from mercer.resampling import PERMUTATIONS

FEWEST = 3
"""Individuals that a comparison takes at least: two are alike under every kernel."""

PER_ENTRY = 4.0
"""About how many operations it takes to permute and multiply one entry of a matrix."""


@dataclass(frozen=True, eq=False)
class NamedKernel:
    """A kernel, or a matrix of pairs, and the points of its file."""

    name: str
    kernel: Kernel
    points: Any


def run(args: Namespace, talk: Talk) -> int:
    """Compare, write what is to be written, and answer with the alignments."""
    refuse_existing(args, talk, args.out, page=args.page)
    writer = partial(page_writer, "mercer.page.documents", "comparison_page")
    page = writer() if args.page and not args.dry_run else None
    sources, weights = match_individuals(_read(args, talk), talk)
    parts = parts_of(args, sources)
    if args.dry_run:
        return _plan(talk, args, len(sources[0]), len(parts))
    kernels = {part.name: (part.kernel, part.points) for part in parts}
    is_shared = (
        len(sources) == 1
        and not isinstance(sources[0].points, SquareMatrix)
        and len({part.kernel.reads_rows for part in parts}) == 1
    )
    names = {part.name: part.kernel for part in parts}
    given: tuple[Any, Any] = (names, parts[0].points) if is_shared else (kernels, None)
    progress = Line("permutations")

    def work() -> tuple[Comparison, Consensus | None]:
        found = compare_kernels(
            *given,
            sample_weight=weights,
            permutations=args.permutations,
            test=args.test,
            random_state=args.seed,
            progress=progress,
        )
        if args.consensus is None:
            return found, None
        umkl = args.consensus != "statis"
        return found, consensus(
            *given,
            method=args.consensus,
            neighbours=args.neighbours,
            sample_weight=None if umkl else weights,
        )

    found, agreed = carry_out(work, talk, progress)
    if args.out:
        write(args.out, csv_bytes(found.table(), is_raw=args.raw))
        talk.say(f"the alignments are in {args.out}")
    if page is not None:
        source = None if args.data == "-" else args.data
        command = command_line(args, args.page, "page")
        made = partial(page, args.page, found, agreed, command=command, source=source)
        write_page(args.page, made, talk)
    talk.answer(summary(found, agreed, parts), text_of(found, agreed))
    return OK


def _read(args: Namespace, talk: Talk) -> list[Data]:
    """Return what every file holds, chosen in each alike; weights are a column of the first."""
    if args.files.count("-") > 1:
        raise Misused("- is the standard input, which can be read once")
    found: list[Data] = []
    for name in args.files:
        args.data = name  # which a refusal names
        one = copy(args)
        one.weights = None if found else args.weights
        found.append(data_of(one, talk))
        talk.say(f"{name}: {found[-1]}")
    args.data = args.files[0] if len(args.files) == 1 else None
    return found


def match_individuals(sources: list[Data], talk: Talk) -> tuple[list[Data], Array | None]:
    """Return the individuals that are in all files, in the order of the first, and their weights.

    They are matched by their names; files without names must have equally many rows.
    """
    weights = next((data.weights for data in sources if data.weights is not None), None)
    if len(sources) == 1:
        return sources, weights
    names = [_names(data) for data in sources]
    if all(one is None for one in names):
        counts = {data.name: len(data) for data in sources}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{name} has {count} rows" for name, count in counts.items())
            raise InvalidInput(f"{said}. Name the column that identifies individuals with --id")
        return sources, weights
    nameless = [data.name for data, one in zip(sources, names, strict=True) if one is None]
    if nameless:
        raise InvalidInput(
            f"{quote_names(nameless)} has no names of individuals, and other files have: name the "
            "column that identifies them with --id"
        )
    known = [one for one in names if one is not None]
    common = [name for name in known[0] if all(name in other for other in map(set, known[1:]))]
    for data, one in zip(sources, known, strict=True):
        absent = [name for name in one if name not in set(common)]
        if absent:
            talk.warn(
                f"{data.name}: {len(absent)} of {len(one)} individuals are not in all files and "
                f"are left out: {quote_names(absent)}"
            )
    if len(common) < FEWEST:
        raise InvalidInput(
            f"only {len(common)} individuals are in all files, and {FEWEST} are needed; the first "
            f"names in {sources[0].name} are {quote_names(known[0][:3])} and in {sources[1].name} "
            f"{quote_names(known[1][:3])}"
        )
    chosen = [
        _taken(data, np.array([one.index(name) for name in common]))
        for data, one in zip(sources, known, strict=True)
    ]
    return chosen, next((data.weights for data in chosen if data.weights is not None), None)


def _names(data: Data) -> list[str] | None:
    """Return the names of individuals, which must differ, or None where there are none."""
    is_square = isinstance(data.points, SquareMatrix)
    names = data.points.names if is_square else getattr(data.points, "row_names", None)
    if names is None:
        return None
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(
            f"{data.name}: {quote_names(twice)} names more than one individual; names must differ "
            "where files are matched"
        )
    return list(names)


def _taken(data: Data, rows: Array) -> Data:
    points = data.points
    if isinstance(points, SquareMatrix):
        kept = tuple(points.names[i] for i in rows)
        points = SquareMatrix(points.values[np.ix_(rows, rows)], kept, points.notes)
    elif data.table is not None:
        points = data.table.picked(rows)
    else:
        points = tuple(points[i] for i in rows)
    weights = None if data.weights is None else data.weights[rows]
    return replace(data, points=points, weights=weights)


def parts_of(args: Namespace, sources: Sequence[Data]) -> list[NamedKernel]:
    """Return what is compared: kernels on one file, or each file by its kernel."""
    texts: list[str | None] = list(args.kernel)
    if len(sources) == 1:
        if isinstance(sources[0].points, SquareMatrix):
            raise Misused(f"{sources[0].name} is one matrix of pairs: give another file beside it")
        if len(texts) < 2:
            raise Misused("one file needs at least two kernels to compare: give --kernel twice")
        return _distinct([_part(args, sources[0], text, str(text)) for text in texts])
    readers = [data for data in sources if not isinstance(data.points, SquareMatrix)]
    if len(texts) > 1 and len(texts) != len(readers):
        raise Misused(
            f"there are {len(texts)} kernels for {len(readers)} files that need one: give one for "
            "all of them, or one for each in their order"
        )
    texts = texts * len(readers) if len(texts) == 1 else texts or [None] * len(readers)
    own = iter(texts)
    return _distinct([_of_file(args, data, own) for data in sources])


def _of_file(args: Namespace, data: Data, texts: Any) -> NamedKernel:
    name = Path(data.name).name.partition(".")[0] if data.name != "-" else "standard input"
    if isinstance(data.points, SquareMatrix):
        # Distances give the matrix of inner products that they are distances of, once centred.
        values = data.points.values
        gram = -0.5 * values**2 if data.points.is_distance else values
        return NamedKernel(name, Precomputed(gram), np.arange(len(data)))
    return _part(args, data, next(texts), name)


def _part(args: Namespace, data: Data, text: str | None, name: str) -> NamedKernel:
    one = copy(args)
    one.kernel = text
    kernel = kernel_of(one, data)
    return NamedKernel(name, kernel, data.seen_by(kernel))


def _distinct(parts: list[NamedKernel]) -> list[NamedKernel]:
    twice = [name for name, count in Counter(part.name for part in parts).items() if count > 1]
    if twice:
        raise Misused(f"{quote_names(twice)} is given twice")
    return parts


def _plan(talk: Talk, args: Namespace, n: int, count: int) -> int:
    """Answer with what the comparison will take."""
    pairs = count * (count - 1) // 2
    is_stored = n <= LIMITS.stored
    draws = args.permutations if args.permutations is not None else PERMUTATIONS if is_stored else 0
    draws = 0 if args.test == "pearson" else draws
    memory = 8 * n * n * (count + 1) if is_stored else 8 * 512 * 512 * count * 4
    entries = float(n) * n * (count + pairs * draws * (1.0 if is_stored else 10.0))
    value = {
        "plan": "stored" if is_stored else "tiles",
        "kernels": count,
        "individuals": n,
        "permutations": draws,
        "memory_bytes": memory,
        "seconds": PER_ENTRY * entries / flops(),
        "error": "rounding; p-values of permutations have a standard error of √(p(1-p)/R)",
    }
    how = "matrices in memory" if is_stored else "tiles, computed anew for every permutation"
    head = f"{count} kernels on {n} individuals, {draws} permutations of each of {pairs} pairs"
    return tell_cost(talk, value, f"{head}\n{how}")


def summary(
    found: Comparison, agreed: Consensus | None, parts: list[NamedKernel]
) -> dict[str, Any]:
    """Return the comparison as one object."""
    value: dict[str, Any] = {
        "command": "compare",
        "individuals": found.individuals,
        "kernels": {
            part.name: "precomputed" if part.kernel.reads_places else str(part.kernel)
            for part in parts
        },
        "alignments": found.alignments,
        "pairs": [
            dict(zip(found.table(), row, strict=True))
            for row in zip(*found.table().values(), strict=True)
        ],
        "how": found.pairs[0].how,
        "seed": found.pairs[0].seed,
        "map": {"coordinates": found.coordinates, "shares": found.shares},
    }
    if agreed is not None:
        value["consensus"] = {
            "method": agreed.method,
            "weights": dict(zip(agreed.names, agreed.weights, strict=True)),
            "agreement": dict(zip(agreed.names, agreed.agreement, strict=True)),
            "kernel": str(agreed.kernel),
            "gap": agreed.gap,
        }
    return value


def text_of(found: Comparison, agreed: Consensus | None) -> str:
    """Return the comparison as a person reads it."""
    table = found.table()
    columns = {
        "first": [_cut(name) for name in table["first"].tolist()],
        "second": [_cut(name) for name in table["second"].tolist()],
        "alignment": [f"{v:.4f}" for v in table["alignment"].tolist()],
    }
    if found.adjusted is not None:
        columns["p"] = [f"{p:.3g}" for p in table["p_value"].tolist()]
        columns["p, all pairs"] = [f"{p:.3g}" for p in table["adjusted"].tolist()]
    lines = [
        f"{len(found.names)} kernels on {found.individuals} individuals: {found.pairs[0].how}",
        align_columns(columns),
    ]
    if agreed is not None:
        weights = {
            "kernel": [_cut(name) for name in agreed.names],
            "weight": [f"{w:.4f}" for w in agreed.weights.tolist()],
            "agreement": [f"{a:.4f}" for a in agreed.agreement.tolist()],
        }
        lines += [f"consensus by {agreed.method}: {agreed.kernel}", align_columns(weights)]
    return "\n".join(lines)


def _cut(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:37]}..."
