"""Sections of a page on stability: a bootstrap, a jackknife, and a path along a parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.page.sections import Section
from mercer.pictures.jackknife import jackknife
from mercer.pictures.paths import parameter_path, spoken
from mercer.pictures.stability import bootstrap
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
    name = spoken(path.parameter)
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
