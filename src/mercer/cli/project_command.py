"""``mercer project``: where new individuals lie on the axes of a stored model, and how well."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.cli.errors import OK, Misused
from mercer.cli.inputs import USUAL, Data, data_of, local, missing_of, refuse_other_levels
from mercer.cli.output import Talk, align_columns, csv_bytes, refuse_existing, write
from mercer.cli.plans import tell_cost
from mercer.cli.progress import carry_out
from mercer.data.assembly import with_roles
from mercer.data.missing import Policies, policies, settled
from mercer.data.table import Column, Role, Table, quote_names
from mercer.errors import CorruptFile, InvalidInput
from mercer.kernels.tables import columns_read
from mercer.planning import flops
from mercer.points import read_only
from mercer.progress import Line
from mercer.reading import Readable
from mercer.store import load


def run(args: Namespace, talk: Talk) -> int:
    """Read the model and the data, and answer with the coordinates."""
    if args.model == args.data == "-":
        raise Misused("the model and the data cannot both come on the standard input")
    refuse_existing(args, talk, args.out)
    with local(args.model, talk) as path:
        model = load(path)
    if not hasattr(model, "transform"):
        raise Misused(f"{args.model} holds a {type(model).__name__}, on which nothing is projected")
    data = new_data(args, model, talk)
    if args.dry_run:
        return _plan(talk, model, data)
    columns = carry_out(lambda: place_individuals(model, data), talk, Line("projecting"))
    table = csv_bytes(columns, is_raw=args.raw)
    if args.out:
        write(args.out, table)
        talk.say(f"the coordinates of {len(data)} individuals are in {args.out}")
    value = {"command": "project", "model": type(model).__name__, "individuals": len(data)}
    if args.json or not args.out:
        talk.answer(value | {"columns": columns}, table.decode())
        if not args.json:
            sys.stdout.flush()
    return OK


def new_data(args: Namespace, model: Any, talk: Talk) -> Data:
    """Read new individuals; of a table the columns of the model, whatever else there is."""
    names = names_of(model)
    policy, asked = policies(missing_of(args)), args.form
    is_usual = missing_of(args) == USUAL
    args.form = "table" if names is not None and asked == "auto" else asked
    is_named = names is not None and args.form == "table"
    if is_named:  # a number that is missing where the model does not look is no matter
        args.drop_na, args.missing = False, "keep"
    args.reads_rows = reads_rows(model)
    args.factor = factors_of(model)  # of few rows, labels would be guessed to be names or texts
    data = data_of(args, talk)
    if data.table is None:
        return data
    table = with_fitted_roles(data.table, model, names or ())
    if policy.number == "pca":
        raise Misused("--impute pca is for a fit; new individuals take --impute mean, of the fit")
    if args.reads_rows:
        if policy.factor == "mode":
            raise Misused(
                "--impute mode is for a fit; leave such rows out with --drop-na, or make a level "
                "of missing categories with --impute level"
            )
        known = fitted_columns(model)
        if not known:
            return Data(args.data, settled(table, policies("level") if is_usual else policy))
        refuse_other_columns(table, {n: c.role for n, c in known.items()}, args.data)
        chosen = replace(table.with_columns(known), supplementary=frozenset())
        is_filled = policy.number == "mean"
        chosen = settled(chosen, policy._replace(number="keep") if is_filled else policy)
        refuse_other_levels(chosen, known, args.data, "leave the row out")
        return Data(args.data, filled(chosen, known, args.data, talk if is_usual else None))
    if is_named and names is not None:
        is_filled = policy.number == "mean"
        table = match_columns(table, names, "keep" if is_filled else policy, args.data)
        table = filled(table, table_columns(model), args.data, talk if is_usual else None)
    elif len(table.active) != model.n_features_in_:
        raise InvalidInput(
            f"{args.data} has {len(table.active)} columns of numbers, and the model was fitted "
            f"with {model.n_features_in_}"
        )
    return Data(args.data, table)


def with_fitted_roles(table: Table, model: Any, names: Sequence[str]) -> Table:
    """Return a table whose empty columns hold numbers, and labels name no rows, as in the fit.

    Of one row, or of few, nothing in the file says what is missing there.
    """
    fitted = {n: Role.NUMBER for n in names}
    fitted |= {n: column.role for n, column in table_columns(model).items()}
    found: dict[str, Role] = {}
    for column in table.columns():
        role = fitted.get(column.name)
        is_empty = all(value is None for value in column.values.tolist())
        if role is Role.NUMBER and column.role in (Role.FACTOR, Role.TEXT) and is_empty:
            found[column.name] = role
        elif role is Role.FACTOR and column.role is Role.IDENTIFIER:
            found[column.name] = role
            table = replace(table, row_names=None)
    return with_roles(table, found) if found else table


def filled(table: Table, known: Mapping[str, Column], file: str, talk: Talk | None) -> Table:
    """Put the means of the fit where a number is missing: an individual is alone, or in company.

    Who did not ask for it is told by ``talk``.
    """
    holes = np.isnan(table.numbers)
    if not holes.any():
        return table
    names = [n for n, role in zip(table.names, table.roles, strict=True) if role is Role.NUMBER]
    if not known:
        raise Misused("--impute mean takes the means of the fit, which this model does not know")
    means = np.array([known[name].values.mean() for name in names])
    lost = int(holes.sum())
    if talk is not None:
        talk.warn(
            f"{file}: {lost} missing number{'s were' if lost > 1 else ' was'} replaced by the "
            "means of the fit. --strict refuses such files, --drop-na leaves out such rows"
        )
    return replace(table, numbers=read_only(np.where(holes, means, table.numbers)))


def table_columns(model: Any) -> dict[str, Column]:
    """Return the columns that a model was fitted on, by name; none if it does not know them."""
    table = getattr(model, "table_", None)
    return {c.name: c for c in table.columns()} if isinstance(table, Table) else {}


def fitted_columns(model: Any) -> dict[str, Column]:
    """Return those columns that a model of rows looks at."""
    read = columns_read(model.kernel_)
    return {name: column for name, column in table_columns(model).items() if name in read}


def reads_rows(model: Any) -> bool:
    """Whether a model looks at columns of any type, by their names."""
    kernel = getattr(model, "kernel_", None)
    return kernel is not None and bool(kernel.reads_rows)


def factors_of(model: Any) -> list[str]:
    """Return the columns of labels that a model reads."""
    known = fitted_columns(model) if reads_rows(model) else {}
    return [name for name, column in known.items() if column.role is Role.FACTOR]


def names_of(model: Any) -> tuple[str, ...] | None:
    """Return the columns a model was fitted with, if it knows their names."""
    table = getattr(model, "table_", None)
    names = getattr(model, "feature_names_in_", None) if table is None else None
    if isinstance(table, Table):
        names = table.active
    elif table is not None:
        names = table.names
    return None if names is None else tuple(str(name) for name in names)


def place_individuals(model: Any, data: Data) -> dict[str, Any]:
    r"""Return coordinates, Hotelling's T² and the squared distance Q to the space of the axes.

    .. math:: T^2 = \sum_k f_k^2 / \lambda_k, \quad Q = \|\varphi(x) - \mu\|^2 - \sum_k f_k^2

    T² says how far out an individual lies within the axes, Q what they do not show of it.
    """
    is_matrix = data.table is not None and not reads_rows(model)
    points = data.points.matrix() if is_matrix else data.points
    if isinstance(model, Readable):
        individuals = model.supplementary(individuals=points).individuals
        if individuals is None:
            raise CorruptFile("the model has no axes")
        scores = individuals.coordinates
        more: dict[str, Any] = {"T2": np.sum(scores**2 / model.inertias_, axis=1)}
        if individuals.squared_distances is not None:
            more["Q"] = individuals.plane_distances**2
    else:
        scores, more = model.transform(points), {}
    axes = {f"dim{k + 1}": scores[:, k] for k in range(scores.shape[1])}
    return {"individual": data.labels, **axes, **more}


def _plan(talk: Talk, model: Any, data: Data) -> int:
    fitted = len(getattr(model, "X_fit_", ())) or data.variables
    axes = len(model.get_feature_names_out())
    seconds = 2.0 * len(data) * fitted * (data.variables + axes + 10.0) / flops()
    memory = 8 * len(data) * (axes + 3)
    value = {
        "plan": "project",
        "individuals": len(data),
        "fitted_individuals": fitted,
        "memory_bytes": memory,
        "seconds": seconds,
        "error": "rounding",
    }
    rows = {"new": str(len(data)), "fitted": str(fitted), "axes": str(axes)}
    return tell_cost(talk, value, align_columns({name: [cell] for name, cell in rows.items()}))


def match_columns(table: Table, names: Sequence[str], policy: str | Policies, file: str) -> Table:
    """Return the columns of new data that a model was fitted with, in its order."""
    refuse_other_columns(table, dict.fromkeys(names, Role.NUMBER), file)
    return settled(replace(table.with_columns(names), supplementary=frozenset()), policy)


def refuse_other_columns(table: Table, fitted: Mapping[str, Role], file: str) -> None:
    """Refuse new data that lack a column of the fit, or hold no numbers where it had some."""
    absent = [name for name in fitted if name not in table.names]
    if absent:
        raise InvalidInput(
            f"{file} has no column {quote_names(absent)}, with which the model was fitted; its "
            f"columns are {quote_names(table.names)}"
        )
    roles = dict(zip(table.names, table.roles, strict=True))
    for name, role in fitted.items():
        if role is Role.NUMBER and roles[name] is not Role.NUMBER:
            raise InvalidInput(
                f'{file}, column "{name}" does not hold numbers but is a {roles[name].value}; the '
                "model was fitted with numbers"
            )
