"""What every model shares: its kernel in any form, its parameters, and how it reads data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from mercer.check import Array, InvalidInput, InvalidParameter, Points, as_points
from mercer.kernels.base import Kernel
from mercer.kernels.functions import FromFunction
from mercer.kernels.parameters import parameters, with_parameters
from mercer.kernels.text import kernel as parsed

PRECOMPUTED = "precomputed"


def as_kernel(kernel: Kernel | str | Callable[[Any, Any], Any]) -> Kernel:
    """Return a kernel from itself, its written form, or a Python function of two points.

    >>> as_kernel("gaussian(bandwidth=2.0)")
    Gaussian(bandwidth=2.0)
    """
    if isinstance(kernel, Kernel | str):
        return parsed(kernel)
    if callable(kernel):
        return FromFunction(kernel)
    raise InvalidParameter(
        "kernel must be a kernel, its written form, a function of two points or 'precomputed', "
        f"found {kernel!r}"
    )


class KernelModel(BaseEstimator):
    """A scikit-learn estimator with a kernel, whose parameters are named ``kernel__…``."""

    kernel: Kernel | str | Callable[[Any, Any], Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.kernel, Kernel):
            params.update({f"kernel__{n}": v for n, v in parameters(self.kernel).items()})
        return params

    def set_params(self, **params: Any) -> KernelModel:
        inner = {n[8:]: params.pop(n) for n in list(params) if n.startswith("kernel__")}
        super().set_params(**params)
        if inner:
            self.kernel = with_parameters(as_kernel(self.kernel), inner)
        return self

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _read(self, X: Any, *, reset: bool) -> Points:
        """Return the data a kernel can read: rows of numbers, or the objects as they are."""
        if not self._is_precomputed and not as_kernel(self.kernel).reads_vectors:
            points = as_points(X, "X")
            if len(points) == 0:
                raise InvalidInput("X holds no points")
            return points
        rows: Array = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=1
        )
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        is_vectors = self._is_precomputed or _reads_vectors(self.kernel)
        tags.input_tags.two_d_array = is_vectors
        return tags


def _reads_vectors(kernel: Any) -> bool:
    try:
        return as_kernel(kernel).reads_vectors
    except InvalidParameter:
        return True  # `fit` will say what is wrong
