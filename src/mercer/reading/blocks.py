"""Which columns of a table make an axis: the inertia of an axis, divided among kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.tidy import Tidy
from mercer.errors import InvalidInput
from mercer.estimator import require_fit
from mercer.gram import Gram


def column_contributions(model: Any) -> Tidy:
    r"""Return the share of each axis that each column, or group of columns, of a table makes.

    .. math:: \frac{w_b\, u^\top W^{1/2} H K_b H^\top W^{1/2} u}{\lambda}

    The kernel of a table is a sum, so that shares of an axis sum to 1. The model is a `KernelPCA`
    with the kernel `Columns`.

    >>> import mercer as mc
    >>> table = {"x": [0.0, 1.0, 0.0, 1.0], "y": [0.0, 0.0, 2.0, 2.0]}
    >>> model = mc.KernelPCA(2, kernel=mc.Columns({"x": mc.Linear(), "y": mc.Linear()})).fit(table)
    >>> shares = column_contributions(model)
    >>> shares["column"].tolist(), shares["dim1"].round(12).tolist()
    (['x', 'y'], [0.0, 1.0])
    """
    require_fit(model)
    kernel = getattr(model, "kernel_", None)
    if kernel is None or not kernel.is_sum_of_columns:
        raise InvalidInput(
            "columns contribute to the axes of a KernelPCA whose kernel is a sum, Columns({...}); "
            f"this one has {kernel}"
        )
    vectors = np.asarray(model.eigenvectors_)
    shares = [
        weight * _on_axes(Gram(k, kernel.seen_by(name, model.X_fit_)), model, vectors)
        for (name, k), weight in zip(kernel.children().items(), kernel.numbers, strict=True)
    ]
    table = np.vstack(shares) / model.inertias_
    columns: dict[str, Array] = {"column": np.array(list(kernel.children()), dtype=object)}
    columns |= {f"dim{axis + 1}": table[:, axis] for axis in range(table.shape[1])}
    return Tidy(columns)


def _on_axes(gram: Gram, model: Any, vectors: Array) -> Array:
    """Return the inertia that one kernel has along each axis."""
    images = gram.centred(model.weights_) @ vectors
    along: Array = np.real(np.sum(vectors.conj() * images, axis=0))
    return np.maximum(along, 0.0)
