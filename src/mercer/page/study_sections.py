"""Sections of a page on studies of a model: bootstrap, jackknife, paths, preimages, importance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.errors import NotDifferentiable
from mercer.page.safe_text import PAGE
from mercer.page.sections import Picture, Section
from mercer.pca.axis_points import PLACES, AxisPoints
from mercer.pca.reconstruction import Rebuilt
from mercer.pca.slopes import axis_slopes
from mercer.pictures.importance import axis_points, importance, rebuilt, slopes
from mercer.pictures.spectra import parameter_path, parameter_words
from mercer.pictures.stability import bootstrap, jackknife

if TYPE_CHECKING:  # a page of a fit has no use for these packages
    from mercer.importance import Importance
    from mercer.stability import Bootstrap, Jackknife, ParameterPath

EXPLAINED = (
    "Individuals were drawn again with replacement, the axes found anew and the whole turned onto "
    "the axes of this page. What would not be there again with other individuals shows as wide "
    "ellipses, wide intervals and large angles."
)

LEFT_OUT = (
    "Individuals were left out one at a time and the axes found anew. An axis that turns far "
    "without one individual is about that individual: look at it before anything is read into the "
    "axis."
)

FOLLOWED = (
    "The model was fitted at each value of the {name}, and its axes followed from one value to the "
    "next by what they show. Where two lines cross, axes change places: what one showed is then "
    "shown by the other. Where lines stay level and apart, the choice of a value matters little."
)

WHICH = (
    "axis",
    "inertia",
    "lower",
    "upper",
    "turns by (degrees)",
    "with those before (degrees)",
    "p of equal with next",
)


def stability_section(found: Bootstrap, *, colour: Any = None, spectrum: Any = None) -> Section:
    """Return what a bootstrap found as a section of a page.

    >>> import mercer as mc
    >>> x = np.random.default_rng(0).standard_normal((30, 3)) * [3.0, 2.0, 1.0]
    >>> section = stability_section(mc.bootstrap(mc.PCA(2), x, random_state=0))
    >>> section.title, len(section.pictures), list(section.tables)
    ('Would the axes be there again?', 1, ['Axes in 200 replicates'])
    """
    pictures = []
    if found.coordinates.shape[1] >= 2:
        pictures.append(bootstrap.describe(found, colour=colour, spectrum=spectrum))
    angles = [
        np.degrees(np.arccos(np.sqrt(np.clip(c, 0.0, 1.0)))) for c in (found.cos2, found.spaces)
    ]
    numbers = (
        np.arange(1, len(found.inertias) + 1),
        found.inertias,
        *found.intervals.T,
        *angles,
        found.ties,
    )
    table = dict(zip(WHICH, numbers, strict=True))
    sentences = (EXPLAINED, *in_sentences(found))
    caption = f"Axes in {found.replicates} replicates"
    return Section("Would the axes be there again?", sentences, pictures, {caption: table})


def jackknife_section(found: Jackknife, *, spectrum: Any = None) -> Section:
    """Return what a jackknife found as a section of a page.

    >>> import mercer as mc
    >>> model = mc.PCA(2).fit(mc.datasets.iris())
    >>> section = jackknife_section(mc.jackknife(model), spectrum=model.spectrum_)
    >>> section.title, list(section.tables)
    ('Who moves the axes?', ['Individuals, the most influential first'])
    """
    columns = {name: values[found.order] for name, values in found.columns().items()}
    table = {
        "individual": columns.pop("individual"),
        "the others move by": columns.pop("influence"),
        **{f"axis {k} turns by (degrees)": v for k, v in enumerate(columns.values(), 1)},
    }
    return Section(
        "Who moves the axes?",
        (LEFT_OUT, *in_sentences(found)),
        [jackknife.describe(found, spectrum=spectrum)],
        {"Individuals, the most influential first": table},
    )


def path_section(path: ParameterPath) -> Section:
    """Return a parameter path as a section of a page.

    >>> import mercer as mc
    >>> x = np.random.default_rng(0).standard_normal((20, 2))
    >>> path = mc.parameter_path(mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), x, "kernel__bandwidth",
    ...                          [1.0, 1.5])
    >>> path_section(path).title
    'What if the bandwidth were another?'
    """
    columns = path.columns()
    values = columns.pop(path.parameter)
    name = parameter_words(path.parameter)
    return Section(
        f"What if the {name} were another?",
        (FOLLOWED.format(name=name), *in_sentences(path)),
        [parameter_path.describe(path)],
        {"Axes at each value": {name: values, **columns}},
    )


def in_sentences(found: Any) -> tuple[str, ...]:
    """Return the lines of a text as sentences.

    >>> in_sentences("no axes change places")
    ('No axes change places.',)
    """
    return tuple(f"{line[:1].upper()}{line[1:]}." for line in str(found).split("\n"))


ALONG = (
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
    sentences = [ALONG, *in_sentences(found)]
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
        if n * n * d <= PAGE.slopes:
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
