"""``--bootstrap``: how far the axes of a fit would move with other individuals."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from mercer.cli.parser import Misused
from mercer.cli.running import Progress, finished
from mercer.cli.talk import Talk
from mercer.pca import PCA, KernelPCA
from mercer.stability import Bootstrap, bootstrap


def refuse_unfit(args: Namespace, model: Any) -> None:
    """Refuse replicates of a model that has none, before it is fitted."""
    if getattr(args, "bootstrap", None) is not None and not isinstance(model, PCA | KernelPCA):
        raise Misused(
            "--bootstrap draws the individuals of a table again; distances have no such replicates"
        )


def replicated(args: Namespace, model: Any, talk: Talk) -> Bootstrap | None:
    """Return the bootstrap of a fitted model, None where none is asked for."""
    refuse_unfit(args, model)
    if getattr(args, "bootstrap", None) is None:
        return None
    progress = Progress("replicates")
    return finished(
        lambda: bootstrap(
            model, replicates=args.bootstrap, random_state=args.seed, progress=progress
        ),
        talk,
        progress,
    )


def as_value(found: Bootstrap) -> dict[str, Any]:
    """Return a bootstrap as an object of JSON."""
    axes = [
        {
            "axis": k + 1,
            "lower": float(found.intervals[k, 0]),
            "upper": float(found.intervals[k, 1]),
            "cos2": float(found.cos2[k]),
            "space_cos2": float(found.spaces[k]),
            "tie_p": float(found.ties[k]) if np.isfinite(found.ties[k]) else None,
        }
        for k in range(len(found.inertias))
    ]
    return {"replicates": found.replicates, "planes": found.planes, "axes": axes}


def studies(args: Namespace, model: Any, table: Any, talk: Talk) -> list[Any]:
    """Return the sections of a page that the flags ask for."""
    found = replicated(args, model, talk)
    if found is None:
        return []
    from mercer.page.stability import stability_section

    colour = getattr(table, "colour", None)
    return [stability_section(found, colour=colour, spectrum=model.spectrum_)]
