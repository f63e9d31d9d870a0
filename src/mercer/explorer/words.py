"""The words of the explorer: what was refused, what can be pressed, and names of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mercer.errors import Advice
from mercer.explorer.state import USUAL, State
from mercer.page.safe_text import clean

OFFERED = 5
"""Columns that are offered where none is active."""

MISSING = {
    "drop": "leave out rows",
    "mean": "put the mean",
    "pca": "put what other columns say",
}
"""What can be done where numbers are missing, in the words of the page."""

INITIALS = ("pca", "ca", "mca", "famd", "kpca", "mds")
"""Methods that are called by their initials."""

SAYS: dict[str, Any] = {
    "missing": lambda value: f"“{MISSING.get(value, value)}”",
    "scale": lambda value: f"“standardise” {'on' if value else 'off'}",
    "method": lambda value: value.upper() if value in INITIALS else f"the method {value}",
    "supplementary": lambda value: "moving it to “supplementary”",
    "active": lambda value: "moving it to “active”",
    "transpose": lambda value: "“individuals: columns”",
    "roles": lambda value: "“read as labels”",
    "kernel": lambda value: "another kernel" if value == "…" else "the usual kernel",
}
"""Parameters of an analysis in the words of the page."""


def refused_uses(columns: Sequence[dict[str, Any]], state: State) -> list[str]:
    """Return, in sentences, the uses that were asked for and could not be, and what is so instead.

    >>> columns = [{"name": "x", "use": "ignored", "kind": "number", "why": "all are the same"}]
    >>> refused_uses(columns, State(uses={"x": "active"}))
    ['“x” cannot be active and is ignored: all are the same.']
    """
    said = []
    for column in columns:
        name, use, asked = column["name"], column["use"], state.uses.get(column["name"])
        if asked == "colour" and column["kind"] == "number" and use == "colour":
            said.append(
                f"“{clean(name)}” is a number: it shades the individuals, and stands beside the "
                "axes; only labels make groups with outlines (press its # to read it as labels)."
            )
        elif asked is not None and asked != use:
            verb = {"name": "name rows", "colour": "colour"}.get(asked, f"be {asked}")
            why = f": {column['why']}" if column["why"] else ""
            now = {"name": "names the rows", "colour": "is the colour"}.get(use, f"is {use}")
            said.append(f"“{clean(name)}” cannot {verb} and {now}{why}.")
    return said


def in_words(text: str, advice: Iterable[Advice]) -> str:
    """Return a message with parameters in the words of the page.

    >>> in_words("try missing='drop'", [Advice("missing", "drop")])
    'try “leave out rows”'
    >>> in_words("method='ca' compares them", [Advice("method", "ca")])
    'CA compares them'
    """
    for one in advice:
        if one.parameter in SAYS and one.value is not ...:
            text = text.replace(str(one), SAYS[one.parameter](one.value))
    return text


def ways(advice: Sequence[Advice]) -> list[dict[str, Any]]:
    """Return what a visitor can press to follow an advice: a label and the part of the state."""
    found = []
    for one in advice:
        if one.value is ...:
            continue
        if one.parameter == "missing" and one.value in MISSING:
            label = MISSING[one.value]
            found.append({"label": label[:1].upper() + label[1:], "set": {"missing": one.value}})
        elif one.parameter == "scale" and isinstance(one.value, bool):
            label = "Standardise the columns" if one.value else "Keep the units"
            found.append({"label": label, "set": {"scale": one.value}})
        elif one.parameter == "method" and isinstance(one.value, str):
            found.append({"label": f"Use {one.value.upper()}", "set": {"method": one.value}})
        elif one.parameter == "supplementary" and isinstance(one.value, list | tuple):
            uses = dict.fromkeys(map(str, one.value), "supplementary")
            found.append({"label": "Set it beside the axes", "set": {"uses": uses}})
        elif one.parameter == "active" and isinstance(one.value, list | tuple):
            for name in map(str, one.value[:OFFERED]):
                label = f"Make “{clean(name)}” active"
                found.append({"label": label, "set": {"uses": {name: "active"}}})
        elif one.parameter == "transpose":
            found.append({"label": "Map the columns", "set": {"transposed": True}})
        elif one.parameter == "roles" and isinstance(one.value, list | tuple):
            names = list(map(str, one.value))
            found.append({"label": "Read as labels", "set": {"factors": names}})
        elif one.parameter == "kernel":
            usual = {"kernel": USUAL, "bandwidth": None}
            found.append({"label": "Take the median distance", "set": usual})
    return found
