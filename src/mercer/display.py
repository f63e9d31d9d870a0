"""How models show themselves: what costs is computed when it is asked for, never to be shown."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class costly(property):  # noqa: N801  (a decorator, in small letters as `property` is)
    """A property that costs and is not kept; one that costs and is kept is a `cached_property`.

    Plain properties are cheap: scikit-learn reads them all to show a model and to complete a name.
    """


def costly_names(kind: type) -> frozenset[str]:
    """Return the properties of a class that are computed when they are asked for.

    >>> class Model:
    ...     cheap = property(lambda self: 1)
    ...     whole_matrix = costly(lambda self: 2)
    >>> sorted(costly_names(Model))
    ['whole_matrix']
    """
    own = {name: value for c in reversed(kind.__mro__) for name, value in vars(c).items()}
    return frozenset(n for n, value in own.items() if isinstance(value, cached_property | costly))


def forget(value: Any) -> None:
    """Drop what was computed when it was asked for: a model that is fitted again has other values.

    >>> class Model:
    ...     total = cached_property(lambda self: 3)
    >>> model = Model()
    >>> model.total, "total" in vars(model), forget(model), "total" in vars(model)
    (3, True, None, False)
    """
    for name in costly_names(type(value)):
        vars(value).pop(name, None)
