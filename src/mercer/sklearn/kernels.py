"""scikit-learn's named kernels as kernels of mercer, computed tile by tile wherever one is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import normalize

from mercer.check import Array
from mercer.engines.cpu import Threads
from mercer.estimator import in_dtype_of, pieces
from mercer.gram import Gram
from mercer.kernels import scikit_learn as named
from mercer.kernels.base import Kernel
from mercer.kernels.given import Precomputed
from mercer.kernels.vectors import Linear, Sigmoid

F = TypeVar("F", bound=Callable[..., Any])


def kernel_of(name: Any, gamma: float, degree: float, coef0: float) -> Kernel | None:
    """Return the kernel of mercer that is scikit-learn's, or None if there is none.

    >>> kernel_of("rbf", 0.5, 3, 1.0), kernel_of("rbf", 0.0, 3, 1.0)
    (Gaussian(bandwidth=1.0), None)
    """
    if isinstance(name, Kernel):
        return name
    if not isinstance(name, str):
        return None
    if name in ("linear", "cosine"):  # the latter of rows divided by their norms
        return Linear()
    if name in ("rbf", "laplacian") and gamma > 0:
        return named.NAMES[name](gamma)
    if name in ("poly", "polynomial") and gamma > 0 and coef0 >= 0 and float(degree).is_integer():
        return named.poly(int(degree), gamma, coef0)
    if name == "sigmoid":
        return Sigmoid(scale=gamma, offset=coef0)
    return None


class PairwiseKernels:
    """An estimator with scikit-learn's ``kernel``, ``gamma_``, ``degree``, ``coef0``."""

    kernel: Any
    gamma_: float
    degree: Any
    coef0: Any
    kernel_params: Any
    n_jobs: int | None = None
    _kernel: Kernel | None

    def _is(self, kernel: str) -> bool:
        return isinstance(self.kernel, str) and self.kernel == kernel

    def _tiled(self) -> Kernel | None:
        """Return the kernel of mercer, or None where scikit-learn's own must be stored."""
        return kernel_of(self.kernel, self.gamma_, self.degree, self.coef0)

    def _rows(self, X: Any, mean: Array | float = 0.0) -> Any:
        """Return points as the kernel of mercer reads them, seen from a mean."""
        is_kept = issparse(X) and np.ndim(mean) == 0
        rows = X.astype(np.float64) if is_kept else dense(X)
        rows = normalize(rows) if self._is("cosine") else rows
        return rows if is_kept else rows - mean

    def _values(self, X: Any, Y: Any = None) -> Array:
        """Return the matrix of scikit-learn's own kernel, stored."""
        if callable(self.kernel):
            params = self.kernel_params or {}
        else:
            params = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        options = {"metric": self.kernel, "filter_params": True, "n_jobs": self.n_jobs}
        return dense(pairwise_kernels(X, Y, **options, **params))

    def _threads(self) -> Threads:
        return Threads(self.n_jobs if self.n_jobs is not None and self.n_jobs > 0 else None)

    def _gram(self, X: Any, mean: Array | float = 0.0) -> Gram:
        """Return the Gram matrix of points seen from a mean."""
        if self._kernel is not None:
            return Gram(self._kernel, self._rows(X, mean), engine=self._threads())
        K = self._values(X)
        return Gram(Precomputed((K + K.T) / 2.0), np.arange(len(K)), engine=self._threads())

    def _product(self, X: Any, Y: Any, block: Array, mean: Array | float = 0.0) -> Array:
        """Return the kernel between two sets of points times a block, part by part."""
        if self._kernel is not None:
            sides = self._rows(X, mean), self._rows(Y, mean)
            return Gram(self._kernel, *sides, engine=self._threads()).product(block)
        parts = pieces((X.shape[0], Y.shape[0]))
        return np.vstack([self._values(X[rows], Y) @ block for rows in parts])


def in_precision(method: F) -> F:
    """Return a method of scikit-learn's whose values have the precision of the points given."""

    @wraps(method)
    def asked(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        found = method(self, X, *args, **named)
        if isinstance(found, tuple):
            return tuple(in_dtype_of(X, np.asarray(values)) for values in found)
        return in_dtype_of(X, np.asarray(found))

    if method.__module__.startswith("sklearn."):
        asked.__doc__ = (
            f"Return what scikit-learn's `{method.__name__}` does, in the precision of X."
        )
    return asked  # type: ignore[return-value]


def dense(matrix: Any) -> Array:
    """Return a matrix of scikit-learn's as one of numpy's in double precision."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)
