"""Where parallel analysis takes its data from: a table, sets, or a fitted model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.dimension.null import Exchanged, Subject, kernel_subject, linear_subject
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.vectors import Linear
from mercer.points import (
    Rows,
    as_points,
    take,
)

SAME_WEIGHT = 1e-12
"""How far, relative to the largest, weights may be from each other and count as equal."""

WEIGHTED = (
    "the model's axes are not those of its data with equal weights. Values can only be exchanged "
    "among individuals and columns of equal weight: fit without weights, or pass the data "
    "themselves"
)


class Source(NamedTuple):
    """What is permuted, whether through a kernel, and the inertias and their total of a model."""

    subject: Subject
    is_kernel: bool
    inertias: Array | None = None
    inertia: float = 0.0


def source_of(data_or_model: Any, kernel: Any, standardize: Any) -> Source:
    """Return what is permuted: the columns of data, seen through a kernel or not, or a model's."""
    if not isinstance(standardize, bool | np.bool_ | None):
        raise InvalidParameter(f"standardize must be True, False or None, found {standardize!r}")
    if hasattr(data_or_model, "fit"):
        if kernel is not None or standardize is not None:
            raise InvalidParameter(
                "a fitted model has its own kernel and standardisation; pass the data to choose "
                "others"
            )
        return _of_model(data_or_model)
    if kernel is None:
        return Source(linear_subject(data_or_model, standardize=standardize is not False), False)
    return Source(_seen_through(as_kernel(kernel), data_or_model, bool(standardize)), True)


def _of_model(model: Any) -> Source:
    name = type(model).__name__
    inertias = getattr(model, "inertias_", None)
    if inertias is None:
        raise InvalidInput(f"{name} has no inertias_: fit it first")
    X = getattr(model, "X_fit_", None)
    if X is None:
        raise InvalidInput(f"{name} does not keep its data as X_fit_: pass the data themselves")
    X = _active(model, X)
    resolved = getattr(model, "kernel_", None)
    if resolved is None:
        is_standardised = bool(getattr(model, "standardize", False))
        subject: Subject = linear_subject(X, standardize=is_standardised, drops_constant=True)
    else:
        given = resolved if resolved.reads_places else getattr(model, "kernel", resolved)
        subject = _seen_through(as_kernel(given), X, False)
    return Source(subject, resolved is not None, np.asarray(inertias), float(model.inertia_))


def _active(model: Any, X: Any) -> Any:
    """Return the individuals that have a weight, refused where some have more than others."""
    weights = np.asarray(getattr(model, "weights_", 1.0))
    positive = weights[weights > 0]
    if np.ptp(positive) > SAME_WEIGHT * np.max(positive):
        raise InvalidInput(WEIGHTED)
    if np.all(weights > 0):
        return X
    active = np.flatnonzero(weights)
    if isinstance(X, Rows):
        return Exchanged(X)(np.tile(active, (len(X.columns), 1)))
    return take(X, active)


def _seen_through(kernel: Kernel, X: Any, standardize: bool) -> Subject:
    if kernel == Linear():  # whose smaller side is known
        return linear_subject(X, standardize=standardize)
    return kernel_subject(kernel, as_points(X, "X"), standardize=standardize)
