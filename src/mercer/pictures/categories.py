"""Categories on a plane by themselves, where among the individuals they would crowd."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.errors import InvalidInput
from mercer.pictures.colours import INK
from mercer.pictures.limits import LIMITS
from mercer.pictures.models import (
    Elements,
    as_shares,
    axis,
    choose_axes,
    elements_of,
    is_model,
    of_categories,
    shares_of_model,
)
from mercer.pictures.planes import ids_of
from mercer.pictures.scene import Drawing, Labels, Markers, Panel, span_of
from mercer.reading import Categories
from mercer.settings import whole


@Drawing
def categories(
    values: Any,
    *,
    axes: Any = (1, 2),
    spectrum: Any = None,
    most: int = LIMITS.arrows,
    title: str = "Categories",
) -> Panel:
    """The categories of factors on a plane of two axes, in equal units, without the individuals.

    Where they crowd, a name is clearly nearest to its own point, or a line leads there.

    Parameters
    ----------
    values : model, Categories or Elements
        A fitted model with categories, such as `MCA` or `FAMD`, or ``model.categories_``.
    most : int
        At most so many, those of highest cos2 on the plane.

    Examples
    --------
    >>> from mercer import MCA
    >>> model = MCA().fit({"a": ["x", "x", "y", "y"], "b": ["u", "u", "u", "v"]})
    >>> panel = categories.describe(model, most=3)
    >>> panel.notes, panel.marks[1].texts
    (('The 3 of highest cos2 on the plane, of 4.',), ('x', 'y', 'u'))
    """
    if is_model(values):
        spectrum = shares_of_model(values) if spectrum is None else spectrum
        found = [e for e in elements_of(values) if e.of == "categories"]
        if not found:
            raise InvalidInput(f"{type(values).__name__} has no categories on its axes")
        values = found[0]
    elements = of_categories(values) if isinstance(values, Categories) else values
    if not isinstance(elements, Elements):
        raise InvalidInput(
            "categories are those of a fitted model, or model.categories_; found "
            f"{type(elements).__name__}"
        )
    axes = choose_axes(axes, elements.coordinates.shape[1])
    shares, k = as_shares(spectrum), tuple(a - 1 for a in axes)
    rows = elements.rank(k, whole(most, "most", least=1))
    x, y = elements.coordinates[rows][:, k].T
    ids = ids_of(np.array(elements.names, object), rows, elements.of)
    notes = []
    if len(rows) < len(elements):
        notes.append(f"The {len(rows)} of highest cos2 on the plane, of {len(elements)}.")
    named = Labels(x, y, ids.names, (INK,) * len(rows), size=8.0, ids=ids, covers=True)
    return Panel(
        (Markers(x, y, colour=INK, marker="diamond", size=5.0, names=ids.names, ids=ids), named),
        axis(shares, axes[0], span_of(x)),
        axis(shares, axes[1], span_of(y)),
        title=title,
        notes=(*notes, *shares.remarks(axes)),
        is_equal=True,
        has_origin=True,
        size=(6.4, 5.6),
    )
