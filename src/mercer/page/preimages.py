"""The section of a page on what points along the axes look like, and what axes bring back."""

from __future__ import annotations

from typing import Any

from mercer.page.sections import Picture, Section
from mercer.page.stability import in_sentences
from mercer.pca.along import PLACES, AxisPoints
from mercer.pca.rebuilt import Rebuilt
from mercer.pictures.along import axis_points, rebuilt

EXPLAINED = (
    "Points were looked for at both ends, halfway and in the middle of each axis, all other "
    "coordinates being 0: they show what a move along the axis means for all variables at once."
)

BROUGHT_BACK = (
    "Each individual was also rebuilt from its coordinates on these axes alone: what does not come "
    "back is noise, or lies on other axes."
)


def preimage_section(
    found: AxisPoints, back: Rebuilt | None = None, *, spectrum: Any = None
) -> Section:
    """Return points along the axes, and what is rebuilt from them, as a section of a page.

    >>> import mercer as mc
    >>> model = mc.PCA(2).fit(mc.datasets.iris())
    >>> section = preimage_section(mc.axis_points(model), spectrum=model.spectrum_)
    >>> section.title, list(section.tables)[0]
    ('What would a point there look like?', 'Axis 1, in the units of the columns')
    """
    tables: dict[str, dict[str, Any]] = {}
    for k, points in enumerate(found.points):
        rows = found.order(k + 1)
        tables[f"Axis {k + 1}, in the units of the columns"] = {
            "variable": [found.names[j] for j in rows],
            **{place: points[i, rows] for i, place in enumerate(PLACES)},
        }
    columns = found.columns()
    first = slice(None, None, len(found.names))  # one row for each place, not for each variable
    tables["How near the points come"] = {
        "axis": columns["axis"][first],
        "place": columns["place"][first],
        "coordinate": columns["coordinate"][first],
        "error": columns["error"][first],
        "share of the usual distance": columns["share"][first],
    }
    sentences = [EXPLAINED, *in_sentences(found)]
    pictures: list[Picture] = [axis_points.describe(found, spectrum=spectrum)]
    if back is not None:
        sentences += [BROUGHT_BACK, *in_sentences(back)]
        pictures.append(rebuilt.describe(back))
        columns = back.columns()
        tables["Variables rebuilt"] = {
            "variable": columns["variable"],
            "share of the variance": columns["share"],
        }
    return Section("What would a point there look like?", sentences, pictures, tables)
