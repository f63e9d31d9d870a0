"""``mercer check``: is this matrix, or this kernel, what it should be? With a witness if not."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.cli.errors import OK, REFUSED, Misused
from mercer.cli.inputs import Data, data_of
from mercer.cli.output import Talk, align_columns
from mercer.cli.plans import tell_cost
from mercer.cli.progress import carry_out
from mercer.data.matrices import SquareMatrix
from mercer.errors import InvalidInput
from mercer.estimator import as_kernel
from mercer.kernels.contract import KernelCheck, check_kernel
from mercer.kernels.definite import Verdict, positive_definite
from mercer.kernels.geometry import euclidean, negative_definite
from mercer.kernels.limits import Limits
from mercer.planning import flops
from mercer.progress import Line

SHOWN = 8
"""Points of a witness that are printed; --json has them all."""

TESTS: dict[str, Callable[[Any], Verdict]] = {
    "gram": positive_definite,
    "distances": euclidean,
    "squares": negative_definite,
}


def run(args: Namespace, talk: Talk) -> int:
    """Answer with the verdict; its code says whether it holds."""
    data = data_of(args, talk)
    if args.kernel is None:
        return _of_matrix(args, data, talk)
    if isinstance(data.points, SquareMatrix):
        raise Misused(f"{args.data} is a matrix of pairs; --kernel needs data to look at")
    kernel = as_kernel(args.kernel)
    if args.dry_run:
        return _plan(talk, min(len(data), Limits.direct_points))
    points = data.seen_by(kernel)

    def work() -> tuple[KernelCheck, Verdict]:
        resolved = kernel.resolve(points)
        return (
            check_kernel(resolved, points, random_state=args.seed),
            positive_definite(resolved, points, random_state=args.seed),
        )

    contract, verdict = carry_out(work, talk, Line("checking"))
    lines = [{"name": c.name, "outcome": c.outcome, "detail": c.detail} for c in contract.checks]
    value = {
        "command": "check",
        "kernel": contract.kernel,
        "contract": lines,
        **_described(verdict, data.labels),
        "holds": bool(contract) and bool(verdict),
    }
    talk.answer(value, f"{contract}\n{_text(verdict, data.labels)}")
    return OK if value["holds"] else REFUSED


def _of_matrix(args: Namespace, data: Data, talk: Talk) -> int:
    values = _square(data)
    what = args.of or ("distances" if _has_distances(values) else "gram")
    if args.dry_run:
        return _plan(talk, len(values))
    verdict = carry_out(lambda: TESTS[what](values), talk, Line("checking"))
    value = {"command": "check", "of": what, "individuals": len(values)}
    talk.answer(value | _described(verdict, data.labels), _text(verdict, data.labels))
    return OK if verdict else REFUSED


def _square(data: Data) -> Array:
    if isinstance(data.points, SquareMatrix):
        return data.points.values
    if data.table is None:
        raise Misused(f"{data.name} holds {data}; name a --kernel to check on them")
    values: Array = data.table.matrix()
    if values.shape[0] != values.shape[1]:
        raise InvalidInput(
            f"{data.name} is a table of {values.shape[0]} x {values.shape[1]} numbers, no square "
            "matrix; name a --kernel to check on it"
        )
    return values


def _has_distances(values: Array) -> bool:
    return bool(np.all(np.diag(values) == 0.0) and np.all(values >= 0.0))


def _described(verdict: Verdict, labels: list[str]) -> dict[str, Any]:
    witness = verdict.witness
    return {
        "holds": bool(verdict),
        "reason": _named(verdict.reason, labels),
        "smallest_eigenvalue": verdict.smallest,
        "tolerance": verdict.tolerance,
        "witness": None
        if witness is None
        else {
            "individuals": [labels[i] for i in witness.indices],
            "coefficients": list(witness.coefficients),
            "value": witness.value,
        },
    }


def _named(reason: str, labels: list[str]) -> str:
    """Return a reason with points by their names, or counted from 1, instead of their indices.

    >>> _named("points 0 and 2 break it", ["1", "2", "3"]), _named("of point 1 is", ["a", "b"])
    ('points 1 and 3 break it', 'of point b is')
    """
    return re.sub(
        r"(\bpoints? )(\d+)(?:( and )(\d+))?",
        lambda it: "".join(labels[int(p)] if p.isdecimal() else p for p in it.groups("")),
        reason,
    )


def _text(verdict: Verdict, labels: list[str]) -> str:
    lines = [("yes: " if verdict else "no: ") + _named(verdict.reason, labels)]
    if verdict.smallest is not None:
        lines.append(
            f"smallest eigenvalue {verdict.smallest:.6g}, of which rounding may have made "
            f"{verdict.tolerance:.2g}"
        )
    witness = verdict.witness
    if witness is not None:
        order = np.argsort(-np.abs(witness.coefficients), kind="stable")[:SHOWN]
        columns = {
            "witness": [labels[witness.indices[i]] for i in order],
            "coefficient": [f"{witness.coefficients[i]:.6g}" for i in order],
        }
        lines.append(align_columns(columns))
        if len(witness.indices) > SHOWN:
            lines.append(f"... and {len(witness.indices) - SHOWN} more, which --json lists")
    return "\n".join(lines)


def _plan(talk: Talk, n: int) -> int:
    memory, seconds = 40 * n * n, 9.0 * float(n) ** 3 / flops()
    value = {
        "plan": "the whole matrix is decomposed",
        "individuals": n,
        "memory_bytes": memory,
        "seconds": seconds,
        "error": "10 n u of the largest eigenvalue",
    }
    return tell_cost(talk, value, f"{n} individuals: the whole matrix is decomposed")
