"""The section of a page on stability: ellipses, intervals and sentences of a bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.page.sections import Section
from mercer.pictures.paths import parameter_path
from mercer.pictures.stability import bootstrap
from mercer.stability import Bootstrap, ParameterPath

EXPLAINED = (
    "Individuals were drawn again with replacement, the axes found anew and the whole turned onto "
    "the axes of this page. What would not be there again with other individuals shows as wide "
    "ellipses, wide intervals and large angles."
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
    sentences = (EXPLAINED, *(f"{line[:1].upper()}{line[1:]}." for line in str(found).split("\n")))
    caption = f"Axes in {found.replicates} replicates"
    return Section("Would the axes be there again?", sentences, pictures, {caption: table})


def path_section(path: ParameterPath) -> Section:
    """Return a parameter path as a section of a page.

    >>> import mercer as mc
    >>> x = np.random.default_rng(0).standard_normal((20, 2))
    >>> path = mc.parameter_path(mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), x, "kernel__bandwidth",
    ...                          [1.0, 1.5])
    >>> path_section(path).title
    'Along kernel__bandwidth'
    """
    sentences = tuple(f"{line[:1].upper()}{line[1:]}." for line in str(path).split("\n"))
    return Section(
        f"Along {path.parameter}",
        sentences,
        [parameter_path.describe(path)],
        {"Axes at each value": path.columns()},
    )
