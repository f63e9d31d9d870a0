"""What a flag may ask of the axes of a fit, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import Namespace
from typing import Any, ClassVar, Generic, TypeVar

from mercer.cli.parser import Misused
from mercer.estimator import as_kernel
from mercer.pca import PCA, KernelPCA
from mercer.progress import Line

T = TypeVar("T")


class Study(ABC, Generic[T]):
    """A question about fitted axes: when it has no answer, the answer, and how it is told.

    ``flag`` names it on the command line and in the object of ``--json``, ``counted`` is what its
    progress line counts, and ``unfit`` says why a model without axes of individuals has no answer.
    """

    flag: ClassVar[str]
    counted: ClassVar[str]
    unfit: ClassVar[str]

    def asked(self, args: Namespace) -> Any:
        """Return what the flag was given, None where it was not."""
        given = getattr(args, self.flag, None)
        return None if given is False else given

    def refuse(self, args: Namespace, model: Any) -> None:
        """Refuse what has no meaning, before the model is fitted."""
        if not isinstance(model, PCA | KernelPCA):
            raise Misused(f"--{self.flag} {self.unfit}")

    @abstractmethod
    def answer(self, args: Namespace, model: Any, progress: Line) -> T:
        """Compute it for a fitted model."""

    def text(self, found: T) -> str:
        """Return the answer as a person reads it."""
        return str(found)

    @abstractmethod
    def value(self, found: T) -> dict[str, Any]:
        """Return the answer as an object of JSON."""

    @abstractmethod
    def section(self, found: T, model: Any, colour: Any) -> Any:
        """Return the answer as a section of a page."""

    @abstractmethod
    def code(self, args: Namespace, model: Any, colour: str) -> str:
        """Return the Python expression of that section; ``colour`` is the code of the colours."""


def reads_columns(model: Any) -> bool:
    """Whether the individuals of a model, fitted or not, are rows of numbers."""
    return isinstance(model, PCA) or as_kernel(model.kernel).reads_vectors


def records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns as one object for each row.

    >>> import numpy as np
    >>> records({"axis": np.array([1, 2]), "share": np.array([0.5, 0.25])})
    [{'axis': 1, 'share': 0.5}, {'axis': 2, 'share': 0.25}]
    """
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
