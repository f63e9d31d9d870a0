"""``mercer fit``: the axes of data, their inertia, the model and the coordinates in files."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

import numpy as np

from mercer.analysis import Analysis
from mercer.check import Array
from mercer.cli.errors import Misused
from mercer.cli.fits import (
    Asked,
    Fitted,
    analyse_data,
    analysis_value,
    begin_fit,
    fit_model,
    heading,
    kernel_text,
)
from mercer.cli.inputs import Data
from mercer.cli.output import Talk, align_columns, csv_bytes, refuse_existing, write
from mercer.cli.plans import seconds_beside, tell_plan
from mercer.cli.progress import carry_out
from mercer.cli.studies import answers_of, refuse_studies
from mercer.display import precise_percent
from mercer.mds import ClassicalMDS, StressMDS
from mercer.pca import PCA
from mercer.progress import Line
from mercer.store import save


def run(args: Namespace, talk: Talk) -> int:
    """Fit, write what is to be written, and answer with the axes."""
    if args.coords == "-" and args.json:
        raise Misused("--coords - prints CSV and --json an object, both on the standard output")
    refuse_existing(args, talk, args.out, args.coords, args.picture)
    found = begin_fit(args, talk)
    data, model = found.data, found.model
    refuse_studies(args, model)
    if args.dry_run:
        return tell_plan(talk, model, data, later=seconds_beside(found))
    result = fit_model(
        model,
        data,
        talk,
        is_rank_asked=args.rank is not None,
        is_analysed=found.proposal is not None,
        checkpoint=args.checkpoint,
    )
    whole = analyse_data(found, args, talk)
    value = summary(result, found, args, whole)
    answers = answers_of(args, result.model, talk)
    value |= {answer.study.flag: answer.value for answer in answers}
    if args.out:
        save(result.model, args.out)
        talk.say(f"the model is in {args.out}")
    if args.picture:
        picture = carry_out(lambda: map_of(result.model, data), talk, Line("drawing"))
        picture.save(args.picture)
        talk.say(f"the map is in {args.picture}")
    if args.coords and args.coords != "-":
        write(args.coords, csv_bytes(coordinates(result.model, data), is_raw=args.raw))
        talk.say(f"the coordinates are in {args.coords}")
    if args.coords == "-":
        talk.say(text_of(value))
        table = csv_bytes(coordinates(result.model, data), is_raw=args.raw)
        talk.output(table.decode())
        sys.stdout.flush()
    else:
        talk.answer(value, "\n".join([text_of(value), *(answer.text for answer in answers)]))
    return result.code


def map_of(model: Any, data: Data) -> Any:
    """Return the map of the first two axes; beside that of a table's numbers their circle."""
    from mercer import pictures  # only now: few fits draw

    colour = None if data.table is None else data.table.colour
    passive = None if data.passive is None else data.passive
    shown: dict[str, Any] = {"colour": colour}
    if not hasattr(model, "individuals_"):
        return pictures.individuals.describe(scores_of(model), names=data.labels, **shown)
    if passive is not None:
        shown["supplementary"] = model.supplementary(individuals=passive)
    if hasattr(type(model), "categories_") or hasattr(type(model), "columns_"):
        return pictures.biplot.describe(model, **shown)
    individuals = pictures.individuals.describe(model, **shown)
    if not isinstance(model, PCA):
        return individuals
    return pictures.sheet(individuals, pictures.variables.describe(model), cell=(6.4, 5.6))


def coordinates(model: Any, data: Data) -> dict[str, Any]:
    """Return the coordinates as columns: individuals of the fit, then supplementary ones."""
    labels = data.labels
    scores = scores_of(model)
    is_passive = np.zeros(len(scores), bool)
    if data.passive is not None:
        passive = data.passive
        labels = labels + list(passive.row_names or (f"sup {i}" for i in range(len(passive))))
        scores = np.vstack([scores, model.transform(passive)])
        is_passive = np.arange(len(scores)) >= len(data)
    axes = {f"dim{k + 1}": scores[:, k] for k in range(scores.shape[1])}
    columns: dict[str, Any] = {"individual": labels, **axes}
    if data.passive is not None:
        columns["supplementary"] = is_passive.astype(int)
    return columns


def scores_of(model: Any) -> Array:
    """Return the coordinates of the individuals of the fit."""
    scores: Array = (
        model.embedding_ if hasattr(model, "embedding_") else model.individuals_.coordinates
    )
    return scores


def summary(
    result: Fitted, found: Asked, args: Namespace, whole: Analysis | None = None
) -> dict[str, Any]:
    """Return the result of a fit as one object, with the whole analysis where there is one."""
    model, data = result.model, found.data
    value: dict[str, Any] = {
        "command": "fit",
        "model": type(model).__name__,
        "individuals": len(data),
        "variables": data.variables,
        "kernel": kernel_text(found, args),
        "has_converged": result.code == 0,
        **analysis_value(found, whole),
    }
    if isinstance(model, StressMDS):
        return value | {
            "loss": model.loss,
            "stress": model.stress_,
            "iterations": model.n_iter_,
            "dimension": model.n_components,
        }
    if isinstance(model, ClassicalMDS):
        kept = model.n_components_
        return value | {
            "axes": _axes(model.spectrum_, model.corrected_eigenvalues_[:kept], model),
            "goodness": model.goodness_._asdict(),
            "negative_mass": model.negative_mass_,
            "correction_constant": model.correction_constant_,
        }
    return value | {
        "inertia": model.inertia_,
        "axes": _axes(model.spectrum_, model.inertias_, model),
        "psd": model.spectrum_.psd,
        "method": model.spectrum_.how.method,
        "seconds": model.spectrum_.how.seconds,
    }


def _axes(spectrum: Any, values: Array, model: Any) -> list[dict[str, float]]:
    """Return each axis with its inertia, share and proved error, relative to the first."""
    is_map = isinstance(model, ClassicalMDS)
    shares = model.shares_ if is_map else model.explained_variance_ratio_
    largest = float(spectrum.values[0]) if len(spectrum.values) else 0.0
    errors = spectrum.errors[: len(values)] / (largest if largest > 0 else 1.0)
    name = "eigenvalue" if is_map else "inertia"
    return [
        {"axis": k + 1, name: value, "share": share, "cumulated": cumulated, "error": error}
        for k, (value, share, cumulated, error) in enumerate(
            zip(
                values.tolist(),
                shares.tolist(),
                np.cumsum(shares).tolist(),
                errors.tolist(),
                strict=True,
            )
        )
    ]


def text_of(value: dict[str, Any]) -> str:
    """Return the result of a fit as a person reads it."""
    lines = [heading(value)]
    if "stress" in value:
        lines.append(f"{value['loss']} {value['stress']:.6g} in {value['dimension']} dimensions")
        return "\n".join(lines)
    if "goodness" in value:
        shown = precise_percent(value["goodness"]["absolute"])
        mass = precise_percent(value["negative_mass"])
        lines.append(
            f"the map shows {shown} of what the distances hold (the sum of all eigenvalues without "
            f"their signs); {mass} of it is negative and makes no axis"
        )
    else:
        lines.append(f"total inertia {value['inertia']:.6g}")
    axes = value["axes"]
    size = "eigenvalue" if "goodness" in value else "inertia"
    columns = {
        "axis": [str(axis["axis"]) for axis in axes],
        size: [f"{axis[size]:.6g}" for axis in axes],
        "share": [precise_percent(axis["share"]) for axis in axes],
        "cumulated": [precise_percent(axis["cumulated"]) for axis in axes],
        "relative error": [f"{axis['error']:.1e}" for axis in axes],
    }
    evidence = value.get("evidence")
    adds = [] if not value.get("parted") else [value["parted"]]
    adds += [] if evidence is None else [evidence["adds"]]
    # The matrix of a table's own columns is positive semidefinite: nobody asks.
    is_open = "goodness" not in value and value["kernel"]
    exactness = [f"positive semidefinite: {value['psd']}"] if is_open else []
    return "\n".join([*lines, align_columns(columns), *adds, *exactness])
