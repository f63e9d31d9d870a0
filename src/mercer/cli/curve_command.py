"""``mercer curve``: one column as a function of others, with its band, residuals and penalty."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.analysis.choice import standardise_kernel
from mercer.check import Array
from mercer.cli.errors import NOT_CONVERGED, OK, Misused
from mercer.cli.inputs import Data, data_of_columns, missing_of, weights_in
from mercer.cli.output import Talk, csv_bytes, refuse_existing, write
from mercer.cli.pages import command_line, own_page, page_writer, show_page, write_page
from mercer.cli.plans import tell_cost
from mercer.cli.progress import carry_out
from mercer.data.table import Role, Table
from mercer.errors import InvalidInput
from mercer.estimator import as_kernel
from mercer.gp.process import GaussianProcess
from mercer.kernels.base import Kernel
from mercer.kernels.radial import USUAL_KERNEL
from mercer.page.curve import Fit, likelihood_of, named_variables, result, sections
from mercer.page.safe_text import count_of
from mercer.progress import Line
from mercer.regression.kernel_regression import KernelRegression
from mercer.regression.spline import SmoothingSpline
from mercer.solve import Saddle
from mercer.store import save


def run(args: Namespace, talk: Talk) -> int:
    """Fit, write what is to be written, and answer with what was found."""
    if args.fitted == "-" and args.json:
        raise Misused("--fitted - prints CSV and --json an object, both on the standard output")
    out = own_page(args, "curve")
    refuse_existing(args, talk, args.out, args.fitted, page=out)
    page = (
        None if out is None or args.dry_run else page_writer(name="document", without="--no-page")
    )
    data = read_columns(args, talk)
    x, y, names = columns_of(args, data)
    model = asked_model(args, x)
    if args.dry_run:
        memory, growth = _cost(model, len(x))
        value = {
            "plan": type(model).__name__,
            "individuals": len(x),
            "variables": x.shape[1],
            "memory_bytes": memory,
            "growth": growth,
        }
        head = f"{value['plan']} of {len(x)} observations, time as {growth}"
        return tell_cost(talk, value, head)
    if data.weights is not None and isinstance(model, GaussianProcess):
        raise Misused("--weights is for splines and ridge regression; a process has one noise")
    talk.say(f"{args.data}: {count_of(len(y), 'observation')} of {args.y} given {', '.join(names)}")
    named = {} if data.weights is None else {"sample_weight": data.weights}
    carry_out(lambda: model.fit(x, y, **named), talk, Line("fitting"))
    fit = Fit(model, x, y, names, args.y, tuple(data.labels), args.confidence, data.weights)
    value = summary(fit)
    if out is not None:
        value["page"] = out
        write_page(out, lambda: _page(args, page, fit, out, data.settled), talk)
    write_files(args, talk, fit)
    if args.fitted != "-":
        talk.answer(value, " ".join(result(fit)))
    if out is not None and args.open:
        show_page(out)
    return OK if value["has_converged"] else NOT_CONVERGED


def write_files(args: Namespace, talk: Talk, fit: Fit) -> None:
    """Write the model and the fitted values, if they were asked for."""
    if args.out:
        save(fit.model, args.out)
        talk.say(f"the model is in {args.out}")
    if not args.fitted:
        return
    table = csv_bytes(predictions(fit), is_raw=args.raw)
    if args.fitted == "-":
        talk.output(table.decode())
        sys.stdout.flush()
    else:
        write(args.fitted, table)
        talk.say(f"the fitted values are in {args.fitted}")


def read_columns(args: Namespace, talk: Talk) -> Data:
    """Read the table; what is missing matters in the columns of the function alone.

    Nothing is put where the explained value is missing: it would be evidence that nobody measured.
    """

    def used(table: Table) -> set[str]:
        explained = table.column(args.y).name
        return {explained, *_explaining(args, table.without([explained])), args.weights}

    data = data_of_columns(args, talk, used, _where_explained)
    return data if data.table is None else replace(data, weights=weights_in(data.table, args))


def _where_explained(table: Table, args: Namespace) -> Table:
    """Return the rows in which the explained value is known, where others would be filled in."""
    y = table.column(args.y)
    lacks = np.isnan(y.values) if y.role is Role.NUMBER else np.zeros(len(table), bool)
    if not lacks.any() or missing_of(args) in ("error", "drop"):
        return table
    counted = f"{lacks.sum()} of {len(table)} rows left out"
    note = f"{counted}: {args.y}, which is explained, is missing there"
    return replace(table.picked(np.flatnonzero(~lacks)), notes=(*table.notes, note))


def columns_of(args: Namespace, data: Data) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the explaining columns, the explained one, and the names of the former."""
    table = data.table
    if table is None:
        raise Misused(f"{args.data} holds {data}: mercer curve reads a table with columns")
    y = table.column(args.y)
    if y.role is not Role.NUMBER:
        raise InvalidInput(
            f"{args.data}, column {args.y!r} is a {y.role.value} and holds no numbers"
        )
    rest = table.without([args.y])
    names = _explaining(args, rest)
    x = np.column_stack([np.asarray(rest.column(name).values, float) for name in names])
    return x, np.asarray(y.values, float), names


def _explaining(args: Namespace, rest: Table) -> tuple[str, ...]:
    given = [
        name for text in args.x for name in ([text] if text in rest.names else text.split(","))
    ]
    names = tuple(given) if given else rest.active
    if not names:
        raise InvalidInput(f"{args.data} has no other column of numbers than {args.y!r}")
    for name in names:
        if rest.column(name).role is not Role.NUMBER:
            raise InvalidInput(f"{args.data}, column {name!r} holds no numbers")
    return names


def asked_model(args: Namespace, x: Array) -> Any:
    """Return the model of the arguments; by default a spline of one column, else ridge."""
    method = args.method or ("spline" if x.shape[1] == 1 and args.kernel is None else "ridge")
    if method == "spline":
        if x.shape[1] > 1:
            raise Misused(
                f"a spline reads one column and there are {x.shape[1]}: name one with --x, or give "
                "--method ridge or --method gp"
            )
        if args.kernel:
            raise Misused("a spline has its own kernel; leave --kernel out")
        return SmoothingSpline(args.penalty, df=args.df, criterion=args.criterion or "gcv")
    if args.df is not None:
        raise Misused("--df is for splines")
    kernel = _kernel(args, x)
    if method == "ridge":
        how = args.criterion or "auto"
        return KernelRegression(kernel, args.penalty, "constant", criterion=how)
    if args.penalty is not None or args.criterion is not None:
        raise Misused("--penalty and --criterion are for splines and ridge regression")
    return GaussianProcess(1.0 * kernel, mean="constant", random_state=args.seed)


def _kernel(args: Namespace, x: Array) -> Kernel:
    kernel = as_kernel(args.kernel) if args.kernel else USUAL_KERNEL
    if not kernel.reads_vectors:
        raise Misused(f"--kernel: {kernel} does not read columns of numbers")
    return standardise_kernel(kernel, x, scaled=args.scale is not False)


def _cost(model: Any, n: int) -> tuple[int, str]:
    """Return the bytes that a fit takes, and how its time grows."""
    if isinstance(model, SmoothingSpline):
        return 400 * n, "n"
    if isinstance(model, GaussianProcess):
        return (
            (24 * n * n, "n cubed")
            if n <= GaussianProcess.limits.stored
            else (30_000 * n, "n squared")
        )
    limits = Saddle.limits
    each = 24 if n <= limits.direct else 4
    growth = "n cubed" if n <= limits.single else "n squared"
    return each * min(n, limits.single) ** 2 + 8_000 * n, growth


def summary(fit: Fit) -> dict[str, Any]:
    """Return what was found as one object."""
    model = fit.model
    optimum = getattr(model, "optimum_", None)
    return {
        "command": "curve",
        "model": type(model).__name__,
        "observations": len(fit),
        "y": fit.target,
        "x": list(fit.variables),
        "kernel": str(model.kernel_) if hasattr(model, "kernel_") else None,
        "penalty": getattr(model, "penalty_", None),
        "degrees_of_freedom": fit.degrees_of_freedom,
        "noise_variance": fit.noise,
        "log_likelihood": likelihood_of(model) if isinstance(model, GaussianProcess) else None,
        "explained": fit.explained,
        "explained_from_others": fit.predicted,
        "has_converged": optimum is None or optimum.is_converged,
    }


def predictions(fit: Fit) -> dict[str, Any]:
    """Return observations with their fitted values and intervals, as columns."""
    found: dict[str, Any] = {"observation": list(fit.labels)}
    found |= {name: fit.x[:, j] for j, name in enumerate(fit.variables)}
    found |= {fit.target: fit.y, "fitted": fit.fitted, "residual": fit.residuals}
    band = fit.band(fit.x)
    if band is not None:
        found |= {"lower": band[0], "upper": band[1]}
    return found


def _page(args: Namespace, page: Any, fit: Fit, out: str, notes: Sequence[str]) -> Any:
    """Write the page of a fit."""
    return page(
        out,
        args.title or f"{fit.target} as a function of {named_variables(fit)}",
        [*result(fit), *(f"{note[0].upper()}{note[1:]}." for note in notes)],
        sections(fit),
        command=command_line(args, out, "page"),
        source=None if args.data == "-" else args.data,
    )
