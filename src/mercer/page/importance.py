"""The section of a page on what variables do to the axes: importance, and slopes as arrows."""

from __future__ import annotations

from typing import Any

from mercer.check import NotDifferentiable
from mercer.importance import Importance
from mercer.page.sections import Section
from mercer.pca.slopes import axis_slopes
from mercer.pictures.importance import importance, slopes

MOST_SLOPES = 50_000_000
"""Slopes of the kernel that are computed for a page: a second or two."""


def importance_section(found: Importance, model: Any = None) -> Section:
    """Return what permutations found as a section of a page, with the slopes of a model's axes.

    >>> import mercer as mc
    >>> model = mc.PCA(2).fit(mc.datasets.iris())
    >>> section = importance_section(mc.permutation_importance(model, random_state=0), model)
    >>> section.title, len(section.pictures), list(section.tables)
    ('Which variables make the axes?', 2, ['Importance, 99 permutations of each'])
    """
    pictures = [importance.describe(found)]
    if model is not None and len(model.inertias_) >= 2:
        n, d = len(model.individuals_), getattr(model.X_fit_, "shape", (0, len(found)))[1]
        if n * n * d <= MOST_SLOPES:
            try:
                arrows = axis_slopes(model, axes=2, standardize=True)
            except NotDifferentiable:
                pass
            else:
                spectrum = model.spectrum_
                pictures.append(slopes.describe(model.individuals_, arrows, spectrum=spectrum))
    caption = f"Importance, {found.shares.shape[1]} permutations of each"
    tables = {caption: found.columns()}
    return Section("Which variables make the axes?", found.sentences, pictures, tables)
