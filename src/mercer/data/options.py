"""What users say of a file and its columns, each checked by name before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, cast

from mercer.check import whole
from mercer.data.dialect import checked_encoding
from mercer.data.table import Role
from mercer.errors import InvalidParameter

NO_DELIMITERS = frozenset('"\r\n\0')
"""Characters that mean something else in a table, or nothing."""


DELIMITED = ("delimiter", "decimal", "encoding", "header", "skip", "na")
"""What is said of a table that is written as text."""


class Options(TypedDict, total=False):
    """How a file is written, where the user knows."""

    delimiter: str | None
    decimal: str | None
    encoding: str | None
    header: bool | None
    skip: int | None
    na: tuple[str, ...]
    sheet: str | int | None
    transpose: bool | None
    colour: str | None
    layer: str
    label: str


def checked_options(given: Mapping[str, Any], *, are_sets: bool) -> Options:
    """Return the options of a file, each of its type, or say which one is wrong and why.

    >>> checked_options({"delimiter": ";", "na": "?"}, are_sets=False)
    {'delimiter': ';', 'na': ('?',)}
    >>> checked_options({"delimiter": "ab"}, are_sets=False)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: delimiter must be one character between cells, such as ',' or a tab, found 'ab'
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    unknown = sorted(given.keys() - Options.__annotations__.keys())
    if unknown:
        raise InvalidParameter(
            f"read has no option {unknown[0]!r}; it has {', '.join(Options.__annotations__)}"
        )
    found = dict(given)
    if given.get("delimiter") is not None:
        _refuse_delimiter(given["delimiter"], are_sets=are_sets)
    if given.get("decimal") not in (None, ".", ","):
        raise InvalidParameter(f"decimal must be '.' or ',', found {given['decimal']!r}")
    if given.get("decimal") is not None and given.get("decimal") == given.get("delimiter"):
        raise InvalidParameter(f"delimiter and decimal cannot both be {given['decimal']!r}")
    if given.get("encoding") is not None:
        checked_encoding(_text(given["encoding"], "encoding"))
    for name in ("header", "transpose"):
        if not isinstance(given.get(name), bool | None):
            raise InvalidParameter(f"{name} must be True, False or None, found {given[name]!r:.60}")
    if given.get("skip") is not None:
        whole(given["skip"], "skip", least=0)
    if not isinstance(given.get("sheet"), str | int | None) or given.get("sheet") is True:
        raise InvalidParameter(
            f"sheet must be a name, or a number counted from 1, found {given['sheet']!r:.60}"
        )
    if "na" in given:
        found["na"] = words(given["na"], "na")
    for name in ("colour", "layer", "label"):
        if given.get(name) is not None:
            _text(given[name], name)
    return cast(Options, found)


def _refuse_delimiter(value: Any, *, are_sets: bool) -> None:
    if are_sets and isinstance(value, str) and value:
        return
    if not isinstance(value, str) or len(value) != 1 or value in NO_DELIMITERS:
        raise InvalidParameter(
            "delimiter must be one character between cells, such as ',' or a tab, found "
            f"{value!r:.60}"
        )


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    raise InvalidParameter(f"{name} must be a text, found {value!r:.60}")


def words(value: Any, name: str) -> tuple[str, ...]:
    """Return one or several words as a tuple.

    >>> words("NA", "na"), words(["?", "-"], "na")
    (('NA',), ('?', '-'))
    """
    if isinstance(value, str):
        return (value,)
    found = tuple(value) if isinstance(value, Iterable) else (None,)
    if all(isinstance(word, str) for word in found):
        return found
    raise InvalidParameter(f"{name} must be a word or a sequence of words, found {value!r:.60}")


def checked_roles(roles: Any) -> dict[str, Role]:
    """Return the roles a user gave, by name or by word.

    >>> checked_roles({"x": "factor"})
    {'x': <Role.FACTOR: 'factor'>}
    """
    if roles is None:
        return {}
    if not isinstance(roles, Mapping) or not all(isinstance(name, str) for name in roles):
        raise InvalidParameter(f"roles must map names of columns to roles, found {roles!r:.60}")
    known = ", ".join(role.value for role in Role)
    found = {}
    for name, role in roles.items():
        try:
            found[name] = Role(role)
        except (TypeError, ValueError):
            raise InvalidParameter(
                f"roles: column {name!r:.60} cannot be {role!r:.60}; a role is one of {known}"
            ) from None
    return found
