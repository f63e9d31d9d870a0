"""Panels and sheets as plain data for the scripts of a page, which draw any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from mercer.pictures.clouds import ELLIPTIC, FEWEST, radius2
from mercer.pictures.colours import (
    FONT,
    FRAME,
    GRID,
    INK,
    MARKERS,
    PALE,
    PALETTE,
    QUIET,
    SEQUENTIAL,
    ZERO,
    Scale,
)
from mercer.pictures.label_room import APART, CLEARLY, CROSSED, GAP, PASSES
from mercer.pictures.labels import ALWAYS, FAR, LONG, REACH, SIDES, WAYS
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import INCH, PIXELS, Axis, Field, Ids, Labels, Panel, Sheet, Surface
from mercer.settings import CONFIDENCE

LOOK: dict[str, Any] = {
    "palette": PALETTE,
    "markers": MARKERS,
    "stops": SEQUENTIAL,
    "gap": GAP * PIXELS / INCH,
    "reach": REACH,
    "sides": SIDES,
    "far": FAR,
    "ways": WAYS,
    "always": ALWAYS,
    "clearly": CLEARLY,
    "apart": APART,
    "passes": PASSES,
    "crossed": CROSSED,
    "long": LONG,
    "letters": LIMITS.letters,
    "long_letters": LIMITS.long_letters,
    "legend": LIMITS.legend,
    "outlined": LIMITS.outlined,
    "elliptic": ELLIPTIC,
    "fewest": FEWEST,
    "radius2": radius2("concentration", CONFIDENCE, np.inf),
    "font": FONT,
    "ink": INK,
    "quiet": QUIET,
    "frame": FRAME,
    "grid": GRID,
    "zero": ZERO,
    "pale": PALE,
}
"""What scripts draw with that no picture says by itself."""


FEW = 1_000
"""Names up to which each is cleaned, also where they are numbers of rows."""


class Linking:
    """The elements that a page lists: the names of individuals or variables, and their rows.

    >>> import numpy as np
    >>> page = Linking({"individuals": (("a", "c"), [0, 2])})
    >>> page.places(Ids(np.array([2, 0]), ("c", "a"))), page.places(Ids(np.array([1]), ("b",)))
    ([1, 0], None)
    """

    def __init__(self, listed: Mapping[str, tuple[Sequence[str], Iterable[int]]]) -> None:
        self.listed = {
            of: {int(row): (k, name) for k, (row, name) in enumerate(zip(rows, names, strict=True))}
            for of, (names, rows) in listed.items()
        }

    def places(self, ids: Ids | None) -> list[int] | None:
        """Return where a page lists the elements of a mark; None where it does not list them."""
        if ids is None or ids.of not in self.listed:
            return None
        here = self.listed[ids.of]
        found = [here.get(row, (-1, "")) for row in ids.rows.tolist()]
        is_here = all(k >= 0 and a == b for (k, a), b in zip(found, ids.names, strict=True))
        return [k for k, _ in found] if is_here else None


def as_value(picture: Panel | Sheet, linking: Linking) -> dict[str, Any]:
    """Return a described picture as data that JSON can hold, its arrays as they are.

    >>> from mercer.pictures.scene import Axis, Rule
    >>> value = as_value(Panel((Rule(0.5),), Axis("time"), Axis()), Linking({}))
    >>> value["panels"][0]["marks"][0]["mark"], value["panels"][0]["x"]["title"]
    ('rule', 'time')
    """
    if isinstance(picture, Panel):
        return {"columns": 1, "cell": picture.size, "panels": [_panel(picture, linking)]}
    width, height = picture.inches
    return {
        "columns": picture.columns,
        "cell": (width / picture.columns, height / picture.rows),
        "panels": [_panel(panel, linking) for panel in picture.panels],
    }


def _panel(panel: Panel, linking: Linking) -> dict[str, Any]:
    return {
        "title": panel.title,
        "marks": [_mark(mark, linking) for mark in panel.marks],
        "x": _side(panel.x),
        "y": _side(panel.y),
        "z": None if panel.z is None else _side(panel.z),
        "equal": panel.is_equal,
        "keeps": panel.is_equal and panel.keeps_limits,
        "origin": panel.has_origin,
    }


def _side(side: Axis) -> dict[str, Any]:
    return {
        "title": side.title,
        "limits": side.limits,
        "log": side.is_log,
        "ticks": side.ticks,
        "shown": side.is_shown,
        "axis": side.axis,
    }


def _mark(mark: Any, linking: Linking) -> dict[str, Any]:
    """Return the fields of a mark, without what a page knows by the ids of its elements."""
    found: dict[str, Any] = {"mark": type(mark).__name__.lower()}
    for field in fields(mark):
        value = getattr(mark, field.name)
        if value is not None and value is not False:
            found[field.name.removeprefix("is_").removeprefix("has_")] = value
    ids = found.pop("ids", None)
    places = linking.places(ids)
    if ids is not None and places is not None:
        many = np.asarray(places, np.int32) if len(places) > FEW else places
        found |= {"ids": many, "of": ids.of}
        for words in ("names", "texts"):
            if ids.of == "individuals" and found.get(words) == ids.names:
                del found[words]  # the page lists them
    if isinstance(found.get("colour"), Scale):
        found["scale"] = _scale(found.pop("colour"))
    if isinstance(mark, Field):
        found |= _scale(found.pop("scale"))
    elif isinstance(mark, Surface):
        found["scale"] = _scale(mark.scale)
    if isinstance(mark, Labels) and len(set(mark.colours)) == 1:
        found["colours"] = mark.colours[:1]
    return found


def _scale(scale: Scale) -> dict[str, Any]:
    return {
        "values": scale.values,
        "limits": scale.limits,
        "stops": scale.stops,
        "title": scale.title,
    }


def with_words(picture: Any, clean: Callable[[str], str], *, keeps_lines: bool = False) -> Any:
    r"""Return a described picture with every text of it made harmless; ticks may have two lines.

    >>> with_words(Axis("a\x00b"), lambda text: text.replace("\x00", " ")).title
    'a b'
    """
    if isinstance(picture, str):
        lines = picture.split("\n") if keeps_lines else [picture]
        return "\n".join(map(clean, lines))
    if isinstance(picture, tuple):
        if len(picture) > FEW and all(type(p) is str and p.isdecimal() for p in picture):
            return picture  # numbers of many rows, in which nothing is to be cleaned
        return tuple(with_words(part, clean, keeps_lines=keeps_lines) for part in picture)
    if not is_dataclass(picture) or isinstance(picture, type):
        return picture
    changed = {}
    for field in fields(picture):
        value = getattr(picture, field.name)
        if isinstance(value, str | tuple) or is_dataclass(value):
            changed[field.name] = with_words(value, clean, keeps_lines=field.name == "ticks")
    return replace(picture, **changed)
