"""``mercer dim``: how many axes to keep, by four rules, each with its evidence."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields
from typing import Any

from mercer.cli.codes import OK
from mercer.cli.models import all_axes, asked, fitted, kernel_text, tell_plan
from mercer.cli.running import finished
from mercer.cli.sources import Data, data_of
from mercer.cli.tables import aligned
from mercer.cli.talk import Talk
from mercer.dimension.choose import Rule, choose_dimension
from mercer.dimension.rules import Choice
from mercer.progress import Line


def run(args: Namespace, talk: Talk) -> int:
    """Fit all axes, ask every rule, and answer with their choices."""
    data = data_of(args, talk)
    model = model_of(args, data)
    if args.dry_run:
        model.n_components = model.n_components or min(len(data), data.variables or len(data))
        return tell_plan(talk, model, data, times=1 + args.permutations)
    talk.say(f"{args.data}: {data.told()}")
    result = fitted(model, data, talk)
    choices = chosen(result.model, args, talk, args.permutations)
    rules = {name: described(choice) for name, choice in choices.items()}
    value = {
        "command": "dim",
        "model": type(model).__name__,
        "kernel": kernel_text(result.model, args),
        "individuals": len(data),
        "rules": rules,
    }
    talk.answer(value, text_of(choices))
    return OK


def model_of(args: Namespace, data: Data) -> Any:
    """Return the model to ask: PCA of standardised columns, unless a kernel is named."""
    if args.method is None and args.kernel is None and data.table is not None:
        args.method = "pca"
    if args.method == "pca" and args.scale is None:
        args.scale = True
    return all_axes(args, data, asked(args, data))


def chosen(model: Any, args: Namespace, talk: Talk, permutations: int) -> dict[str, Choice]:
    """Return the choice of every rule; without permutations Horn's is left out."""
    progress = Line("permutations")
    more = {name: getattr(args, name) for name in ("level", "share") if hasattr(args, name)}
    if permutations == 0:
        quick: tuple[Rule, ...] = ("inertia", "kaiser", "scree")
        return {rule: choose_dimension(model, rule, **more) for rule in quick}
    return finished(
        lambda: choose_dimension(
            model,
            "all",
            permutations=permutations,
            random_state=args.seed,
            progress=progress,
            **more,
        ),
        talk,
        progress,
    )


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
    text = aligned(columns)
    p_values = getattr(choices.get("horn"), "p_values", ())
    if len(p_values):
        text += "\np-values of the axes: " + ", ".join(f"{p:.3g}" for p in p_values[:10])
    return text
