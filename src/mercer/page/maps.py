"""What the page of a map of distances says beside it: its eigenvalues, and how well it fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.page.sections import Section
from mercer.page.text import percent
from mercer.pictures.curves import shepard
from mercer.pictures.matrices import heat_map
from mercer.pictures.scene import Panel
from mercer.pictures.spectra import eigenvalues

SHOWN = 60
"""Individuals of the picture of a matrix of distances."""

MEASURED = 400
"""Individuals whose pairs Shepard's diagram shows."""


def map_sections(model: Any, value: dict[str, Any]) -> list[Section]:
    """Return the section of distances that a map has, and none for other models."""
    distances = getattr(model, "dissimilarity_matrix_", None)
    if distances is None or len(distances) < 2:
        return []
    D = np.asarray(distances, float)
    pictures: list[Panel] = []
    said = []
    if hasattr(model, "goodness_"):
        pictures.append(eigenvalues.describe(model.eigenvalues_, title="Eigenvalues"))
        kept, negative = percent(model.goodness_.absolute), percent(model.negative_mass_)
        said.append(
            f"The map keeps {kept} of the eigenvalues by modulus, Σ|λ|, of which the shares of its "
            f"axes are; {negative} are negative before any correction."
        )
    pictures.append(shepard.describe(_pairs(model, D)))
    if len(D) <= SHOWN and np.all(np.isfinite(D)):
        names = value["individuals"]["names"]
        pictures.append(
            heat_map.describe(D, names=names, order="distance", what="distance", title="Distances")
        )
    return [Section("Distances", said, pictures)]


def _pairs(model: Any, D: Array) -> tuple[Array, Array, Array]:
    """Return the values of Shepard's diagram, those of a stress map as the model keeps them."""
    kept = getattr(model, "shepard_", None)
    if kept is not None:
        return kept  # type: ignore[no-any-return]
    rows = np.unique(np.linspace(0, len(D) - 1, min(len(D), MEASURED)).round().astype(int))
    F = model.embedding_[rows]
    i, j = np.triu_indices(len(rows), 1)
    given = D[np.ix_(rows, rows)][i, j]
    drawn: Array = np.linalg.norm(F[i] - F[j], axis=1)
    return given, drawn, given
