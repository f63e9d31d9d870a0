"""``--importance``: what the axes of a fit owe to each variable."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from mercer.cli.parser import Misused
from mercer.cli.running import Progress, finished
from mercer.cli.talk import Talk
from mercer.importance import Importance, permutation_importance
from mercer.pca import PCA, KernelPCA


def refuse_importance(args: Namespace, model: Any) -> None:
    """Refuse the importance of variables of a model that has none, before it is fitted."""
    asked = getattr(args, "importance", None) is not None
    if asked and (
        not isinstance(model, PCA | KernelPCA) or getattr(model, "kernel", None) == "precomputed"
    ):
        raise Misused("--importance permutes the variables of a table; distances have none")
    if asked and args.importance < 1:
        raise Misused(f"--importance must be a whole number >= 1, found {args.importance}")


def permuted(args: Namespace, model: Any, talk: Talk) -> Importance | None:
    """Return the importance of variables, None where it is not asked for."""
    refuse_importance(args, model)
    if getattr(args, "importance", None) is None:
        return None
    progress = Progress("permutations")
    return finished(
        lambda: permutation_importance(
            model, permutations=args.importance, random_state=args.seed, progress=progress
        ),
        talk,
        progress,
    )


def importance_value(found: Importance) -> dict[str, Any]:
    """Return importances as an object of JSON, the most important variable first."""
    columns = found.columns()
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {
        "axes": found.axes,
        "share": found.share,
        "permutations": found.shares.shape[1],
        "landmarks": found.landmarks,
        "approximation": found.approximation,
        "variables": [dict(zip(columns, row, strict=True)) for row in rows],
    }


def importance_sections(args: Namespace, model: Any, talk: Talk) -> list[Any]:
    """Return the section of a page that the flag asks for."""
    found = permuted(args, model, talk)
    if found is None:
        return []
    from mercer.page.importance import importance_section

    return [importance_section(found, model)]
