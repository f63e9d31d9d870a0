"""Optional libraries: imported when they are needed, and named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mercer.errors import MissingExtra


def extra(module: str, name: str, purpose: str) -> Any:
    """Return an optional module, or say which extra brings it.

    >>> extra("no_such_module", "io", "reading moonbeams")
    Traceback (most recent call last):
    ...
    mercer.errors.MissingExtra: reading moonbeams needs no_such_module, which is not installed; pip install "mercer[io]" brings it
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtra(
            f"{purpose} needs {library}, which is not installed; "
            f'pip install "mercer[{name}]" brings it'
        ) from error
