"""Classes of the individuals on the axes, as a section of the page and as a colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.clusters import Clusters, cluster
from mercer.errors import MercerError
from mercer.page.limits import PAGE
from mercer.page.subject import Subject
from mercer.page.text import clean, count_of, listing, percent, short
from mercer.settings import LEVEL

Value = dict[str, Any]

CLASS = "class"
"""The name of the colour by classes."""

FEATURES, MEMBERS = 4, 3
"""What is said of a class: so many variables or categories, and so many of its members."""


def classes_of(subject: Subject, axes: int | None) -> Clusters | None:
    """Return classes of the individuals on the first axes, None for too few or too many."""
    if subject.axes == 0 or not PAGE.fewest_clustered <= len(subject) <= PAGE.clustered:
        return None
    try:
        return cluster(subject.model, axes=axes, random_state=0)
    except MercerError:  # all individuals coincide
        return None


def groups_value(subject: Subject, found: Clusters) -> Value:
    """Return what the page says of classes: sentences, and a table with a row for each."""
    axes = found.centres.shape[1]
    said = (
        f"On the first {count_of(axes, 'axis')} individuals form "
        f"{count_of(found.count, 'class')}, which hold {percent(found.share)} of the differences "
        "between individuals there (Ward's tree, cut where it suggests, then k-means)."
    )
    told = _told(subject, found)
    rows = [
        [
            str(c),
            int(found.sizes[c - 1]),
            told[c],
            _names(subject, found.members(c)),
            _names(subject, found.remote(c)),
        ]
        for c in range(1, found.count + 1)
    ]
    columns = ("class", "individuals", "what sets it apart", "most typical", "farthest out")
    kinds = ("text", "number", "text", "text", "text")
    named = [{"name": n, "kind": k} for n, k in zip(columns, kinds, strict=True)]
    if not any(told.values()):  # distances have no columns by which classes could differ
        named, rows = named[:2] + named[3:], [row[:2] + row[3:] for row in rows]
    return {
        "sentences": [said, "Classes were made from the axes: v-tests say how, not whether."],
        "sheet": {
            "id": "classes",
            "title": "Classes",
            "columns": named,
            "rows": rows,
        },
    }


def labels_of_classes(found: Clusters) -> Array:
    """Return the class of each individual as a level of a factor."""
    return np.array([f"{CLASS} {c}" for c in found.labels.tolist()], object)


def _names(subject: Subject, rows: Array) -> str:
    return listing([clean(subject.names[i], 30) for i in rows[:MEMBERS].tolist()])


def _told(subject: Subject, found: Clusters) -> dict[int, str]:
    """Return what sets each class apart: numbers that are high or low, frequent categories."""
    numbers, labels = subject.columns(subject.used, is_active=True)
    more, others = subject.columns(subject.used, is_active=False)
    data: Mapping[str, Array] = {**numbers, **labels, **more, **others}
    told: dict[int, list[str]] = {c: [] for c in range(1, found.count + 1)}
    if not data:
        return dict.fromkeys(told, "")
    table = found.describe(data)
    names = ("class", "column", "level", "v_test", "p_value", "in_class", "overall")
    for row in zip(*(table[name].tolist() for name in names), strict=True):
        label, column, level, v, p, inside, overall = row
        said = told[label]
        if p > LEVEL or len(said) >= FEATURES or (level and v < 0):
            continue
        name = clean(column, 40)
        if level:
            said.append(f"{name} = {clean(level, 30)} ({percent(inside)} of it)")
        else:
            way = "high" if v > 0 else "low"
            said.append(f"{name} {way} ({short(inside)}; all {short(overall)})")
    return {c: "; ".join(said) or "nothing beyond chance" for c, said in told.items()}
