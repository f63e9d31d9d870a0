"""Ridge regression in the space of a kernel under scikit-learn's signature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import kernel_ridge
from sklearn.base import _fit_context
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from mercer.check import Array
from mercer.errors import SingularSystem
from mercer.gram import Gram
from mercer.kernels.functions import Precomputed
from mercer.sklearn.kernels import PairwiseKernels
from mercer.solve import solve


class KernelRidge(PairwiseKernels, kernel_ridge.KernelRidge):
    r"""scikit-learn's `KernelRidge`, and without the kernel matrix if it is large.

    .. math:: c = (K + \alpha W^{-1})^{-1} y, \quad f = \sum_i c_i\, k(x_i, \cdot)

    `mercer.KernelRegression` minimises the mean of the squared errors plus penalty · ‖f‖², so that
    alpha = n · penalty for n points of weight 1. What differs from scikit-learn:

    - Beyond 3 000 points the system is solved by conjugate gradients, to a residual of 1e-10 of
      the targets, and no matrix is stored; so are predictions, tile by tile. With weights of
      points, as for Python functions, the matrix is stored.
    - ``kernel`` may be a kernel of mercer.

    Examples
    --------
    >>> import mercer as mc
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.5])
    >>> ours = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(x, y)
    >>> same = mc.KernelRegression(mc.Gaussian(1.0), penalty=0.3 / 3).fit(x, y)
    >>> bool(np.allclose(ours.predict(x), same.predict(x), rtol=1e-12))
    True
    """

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Find the weights of the rows of X."""
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), multi_output=True, y_numeric=True
        )
        if sample_weight is not None and not isinstance(sample_weight, float):
            sample_weight = _check_sample_weight(sample_weight, X)
        self.gamma_ = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        self._kernel = self._tiled()
        if issparse(X) and self._kernel is not None and not self._kernel.reads_sparse:
            self._kernel = None
        gram = self._gram(X)
        self._kernel = None if self._kernel is None else gram.kernel
        targets = np.asarray(y, np.float64).reshape(len(y), -1)
        weights = None if sample_weight is None else np.broadcast_to(sample_weight, len(y))
        self.dual_coef_ = self._solved(gram, targets, weights).reshape(np.shape(y))
        self.X_fit_ = X
        return self

    def _solved(self, gram: Gram, y: Array, weights: Array | None) -> Array:
        """Return (K + αW⁻¹)⁻¹ y, with a penalty for each column of y if there are several."""
        alphas = np.atleast_1d(np.asarray(self.alpha, np.float64))
        if len(alphas) not in (1, y.shape[1]):
            raise ValueError(
                "The number of targets does not match the number of penalties: "
                f"{y.shape[1]} and {len(alphas)}"
            )
        roots = np.ones(len(y)) if weights is None else np.sqrt(weights)
        if weights is not None:
            matrix = np.outer(roots, roots) * gram.dense()
            gram = Gram(Precomputed(matrix), np.arange(len(y)))
        b = roots[:, None] * y
        if len(alphas) == 1:
            return np.asarray(roots[:, None] * _solution(gram, b, float(alphas[0])))
        columns = [_solution(gram, c[:, None], a) for c, a in zip(b.T, alphas, strict=True)]
        return np.asarray(roots[:, None] * np.hstack(columns))

    def predict(self, X: Any) -> Array:
        """Return the values of the function at the rows of X."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
        if self._is("precomputed"):
            return np.asarray(X @ self.dual_coef_)
        block = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        values = self._product(X, self.X_fit_, block)
        return values.reshape(len(values), *self.dual_coef_.shape[1:])


def _solution(gram: Gram, b: Array, alpha: float) -> Array:
    try:
        return np.asarray(solve(gram, b, alpha).weights)
    except SingularSystem:  # as scikit-learn does where no penalty makes the solution one
        K = gram.dense()
        return np.asarray(np.linalg.lstsq(K + alpha * np.eye(len(K)), b)[0])
