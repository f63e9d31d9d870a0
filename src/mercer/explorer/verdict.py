"""The verdict on a written kernel: its proof, or individuals that are a witness against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.sequences import Sequences
from mercer.data.table import Table
from mercer.errors import MercerError, WrittenFormError
from mercer.explorer.answers import refuse_other_points
from mercer.explorer.networks import Networks
from mercer.explorer.source import Source
from mercer.explorer.state import kernel_of
from mercer.kernels.base import Kernel, Kind, parameters
from mercer.kernels.definite import positive_definite
from mercer.page.safe_text import clean, count_of

WITNESSES, NAMED = 60, 6
"""Individuals on which a kernel without a proof is tested, and those of a witness that are told."""


def verdict(text: str, source: Source | None) -> dict[str, Any]:
    """Return what can be said of a written kernel: its verdict and its proof, or its error.

    >>> found = verdict("gaussian(1.0) - linear()", None)
    >>> found["ok"], found["at"]
    (False, 14)
    >>> verdict("2 * gaussian(3)", None)["written"]
    '2.0 * gaussian(bandwidth=3.0)'
    """
    try:
        kernel = kernel_of(text)
    except (WrittenFormError, MercerError) as error:
        lines = str(error).splitlines() or [""]
        where = lines[-1].find("^") if len(lines) > 2 else -1
        at = max(where - 4, 0) if where >= 0 else None
        said = clean(lines[0][:1].upper() + lines[0][1:], 500)
        return {"ok": False, "said": said, "at": at, "proof": []}
    proof = [clean(rule, 300) for rule in kernel.proof.split("; ") if rule]
    found: dict[str, Any] = {"ok": True, "written": clean(str(kernel), 2_000), "proof": proof}
    found |= {"at": None, "witness": None}
    has_width = any(k.split("__")[-1] == "bandwidth" for k in parameters(kernel))
    found["has_bandwidth"] = has_width
    if kernel.kind is Kind.SIMILARITY:
        return {**found, **_witness(kernel, source)}
    if source is not None and isinstance(source.data, Sequences | Networks):
        try:
            refuse_other_points(kernel, source)
        except MercerError as error:
            return {**found, "ok": False, "said": clean(str(error)[:1].upper() + str(error)[1:])}
    said = f"{kernel.kind.value}, by rule"
    return {**found, "said": said[:1].upper() + said[1:]}


def _witness(kernel: Kernel, source: Source | None) -> dict[str, Any]:
    """Return whether some of the individuals refute that a similarity is a kernel, and which."""
    said = "A similarity, of which nothing is proved: it has no map"
    table = None if source is None else source.data
    if not isinstance(table, Table) or not table.active:
        return {"ok": False, "said": said}
    x = table.matrix()
    kept = np.flatnonzero(np.all(np.isfinite(x), axis=1))[:WITNESSES]
    spreads = np.std(x[kept], axis=0) if len(kept) else np.ones(x.shape[1])
    points = (x[kept] - x[kept].mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)
    try:
        tested = positive_definite(kernel, points)
    except MercerError as error:
        return {"ok": False, "said": f"{said}. {clean(error, 300)}"}
    found = tested.witness
    if found is None:
        said = f"{said}. No {count_of(len(kept), 'individual')} refute it, which is no proof"
        return {"ok": False, "said": said}
    names = table.row_names or tuple(str(i + 1) for i in range(len(table)))
    rows_of = [int(kept[i]) for i in found.indices]
    parts = sorted(zip(rows_of, found.coefficients, strict=True), key=lambda p: -abs(p[1]))
    witness = {
        "value": float(found.value),
        "rows": [{"name": clean(names[i]), "weight": float(c.real)} for i, c in parts[:NAMED]],
        "count": len(parts),
    }
    return {
        "ok": False,
        "said": "Not positive definite, so it has no map: weighted so, these individuals have a "
        "negative square",
        "witness": witness,
    }
