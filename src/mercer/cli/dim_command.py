"""``mercer dim``: how many axes to keep, by four rules, each with its evidence."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields
from typing import Any

from mercer.cli.errors import OK
from mercer.cli.fits import (
    analysis_value,
    begin_fit,
    choices_of,
    fit_model,
    heading,
    kernel_text,
    with_all_axes,
)
from mercer.cli.output import Talk, align_columns
from mercer.cli.plans import features_of, tell_plan
from mercer.dimension.choose import DECIDED, seconds_of_permutations
from mercer.dimension.rules import Choice
from mercer.resampling import PERMUTATIONS


def run(args: Namespace, talk: Talk) -> int:
    """Fit all axes, ask every rule, and answer with their choices."""
    found = begin_fit(args, talk)
    data, model = found.data, with_all_axes(args, found)
    permutations = PERMUTATIONS if args.permutations is None else args.permutations
    if args.dry_run:
        model.n_components = model.n_components or min(len(data), data.variables or len(data))
        draws = min(permutations, DECIDED)
        later = seconds_of_permutations(model, len(data), features_of(found), draws)
        return tell_plan(talk, model, data, draws=permutations, later=later)
    result = fit_model(model, data, talk)
    choices = choices_of(result.model, args, talk, permutations)
    rules = {name: described(choice) for name, choice in choices.items()}
    value = {
        "command": "dim",
        "model": type(model).__name__,
        "kernel": kernel_text(found, args),
        "individuals": len(data),
        "rules": rules,
    }
    value |= analysis_value(found, None)
    talk.answer(value, f"{heading(value)}\n{text_of(choices)}")
    return OK


def described(choice: Choice) -> dict[str, Any]:
    """Return a choice with all its numbers, the null of the permutations left out."""
    return {f.name: getattr(choice, f.name) for f in fields(choice) if f.name != "null"}


def text_of(choices: dict[str, Choice]) -> str:
    """Return the choices, one line each, and the p-values of Horn's test."""
    columns = {
        "rule": list(choices),
        "axes": [str(c.n_components) if c.is_decided else "-" for c in choices.values()],
        "evidence": [c.evidence for c in choices.values()],
    }
    text = align_columns(columns)
    p_values = getattr(choices.get("horn"), "p_values", ())
    if len(p_values):
        text += "\np-values of the axes: " + ", ".join(f"{p:.3g}" for p in p_values[:10])
    return text
