"""Arrows of variables on the curved map: where individuals move when one of them rises."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.errors import InvalidParameter, NotDifferentiable
from mercer.page.panels import rows_to_show
from mercer.page.safe_text import PAGE, clean
from mercer.page.subject import Subject
from mercer.page.write import picture_value
from mercer.pca.slopes import axis_slopes
from mercer.pictures.importance import slopes
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Ids, Labels, Mark, Markers


def gradients(made: Subject, axes: Sequence[int]) -> dict[str, Any]:
    """Return arrows at some individuals: where each moves on two axes when a variable rises.

    Where there are none, as of a kernel with kinks or of too many individuals, ``why`` says so.

    >>> from mercer import Gaussian, KernelPCA, datasets
    >>> from mercer.page.subject import subject_of
    >>> model = KernelPCA(2, kernel=Gaussian(2.0)).fit(datasets.iris())
    >>> found = gradients(subject_of(model), (1, 2))
    >>> found["notes"][0][:46]
    'Arrows: the move when a variable rises by its '
    """
    model = made.model
    points = getattr(model, "X_fit_", None)
    if not all(1 <= k <= made.axes for k in axes) or axes[0] == axes[1]:
        raise InvalidParameter(f"axes must be two of 1 to {made.axes}, found {list(axes)}")
    if made.kernel is None or made.variables is None or points is None or made.is_precomputed:
        return {"panel": None, "why": "the axes of this map are no functions of variables"}
    n, d = len(made), len(made.variables.names)
    if n * n * d > PAGE.slopes:
        why = f"the slopes of {d} variables at {n} individuals would take too long"
        return {"panel": None, "why": why}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            arrows = axis_slopes(model, axes=max(axes), standardize=True)
        except NotDifferentiable as error:
            return {"panel": None, "why": clean(error, 300)}
        panel = slopes.describe(
            model.individuals_, arrows, axes=tuple(axes), spectrum=model.spectrum_
        )
    # The legend names the variables: beside the maps there is no room for names upon arrows.
    panel = replace(
        panel, marks=tuple(_linked(made, m) for m in panel.marks if not isinstance(m, Labels))
    )
    listed = rows_to_show(made, LIMITS.points)
    return {
        "panel": picture_value(panel, [clean(made.names[i]) for i in listed], listed),
        "axes": list(axes),
        "notes": [clean(note, 300) for note in panel.notes],
    }


def _linked(made: Subject, mark: Mark) -> Mark:
    """Return a mark that a page links to the individuals, where it stands for all of them."""
    if not isinstance(mark, Markers) or len(mark.x) != len(made):
        return mark
    return replace(mark, ids=Ids(np.arange(len(made)), tuple(map(str, made.names))))
