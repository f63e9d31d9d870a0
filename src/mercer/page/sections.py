"""Parts of a page that any study can add: words, described pictures, tables.

`mercer.report(model, path, sections=[...])` puts them behind what the model says of itself;
`mercer.page.document` makes a page of nothing else. Neither needs a line of template or script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer.page.tables import sheet_of
from mercer.page.text import clean
from mercer.pictures.scene import Panel, Sheet

Picture = Panel | Sheet
Value = dict[str, Any]

FORMAT = 3
"""The version of the value, for whoever reads it from a page."""


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: a title, sentences, pictures as `describe` returns them, and tables.

    A table is a mapping from column names to columns of equal length, numbers or texts; its key is
    its caption. Notes of a picture become its caption. ``code`` is the Python expression that makes
    the section again from ``model``, ``data``, ``mc`` (mercer) and ``page`` (mercer.page); the code
    of the page then makes it too.

    >>> Section("Stability", ("Two axes are stable.",)).title
    'Stability'
    """

    title: str
    sentences: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    code: str = ""


def blank(title: str, sentences: Sequence[str], reproduce: Value) -> Value:
    """Return the value of a page that has no model."""
    people: Value = {"count": 0, "rows": None, "names": [], "has_names": False, "coordinates": []}
    people |= {"spreads": [], "weights": [], "distances": None, "colours": []}
    return {
        "format": FORMAT,
        "title": clean(title),
        "sentences": [clean(text, 1_000) for text in sentences],
        "remarks": [],
        "axes": [],
        "individuals": people,
        "passive": None,
        "linked": {},
        "curved": None,
        "panels": {},
        "sheets": {},
        "data": None,
        "dimension": [],
        "rules": [],
        "description": [],
        "groups": None,
        "outliers": None,
        "kernel": None,
        "exactness": "",
        "reproduce": reproduce,
        "sections": [],
    }


def with_sections(value: Value, sections: Sequence[Section]) -> Value:
    """Return the value of a page with its sections, their pictures among those of the page."""
    panels, sheets = dict(value["panels"]), dict(value["sheets"])
    listed = []
    for number, section in enumerate(sections, 1):
        here, below = [], []
        for k, picture in enumerate(section.pictures, 1):
            here.append(f"section-{number}-picture-{k}")
            panels[here[-1]] = picture
        for k, (caption, columns) in enumerate(section.tables.items(), 1):
            below.append(f"section-{number}-table-{k}")
            sheets[below[-1]] = sheet_of(below[-1], caption, columns)
        listed.append(
            {
                "id": f"section-{number}",
                "title": clean(section.title),
                "sentences": [clean(text, 2_000) for text in section.sentences],
                "panels": here,
                "sheets": below,
            }
        )
    return {**value, "panels": panels, "sheets": sheets, "sections": listed}
