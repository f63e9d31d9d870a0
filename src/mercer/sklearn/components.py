"""Principal components under scikit-learn's signature."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import decomposition
from sklearn.decomposition._pca import _infer_dimension
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array
from mercer.errors import ReadingWarning, SingularSystem
from mercer.pca import linear

MLE = "mle"

ROUNDOFF = 16 * float(np.finfo(float).eps)
"""Variance that axes leave, as a share of all, which may be rounding alone."""


class PCA(decomposition.PCA):
    r"""scikit-learn's `PCA` with exact axes, whatever its solver is called.

    .. math:: (X - 1\mu^\top)^\top (X - 1\mu^\top) / (n - 1) = V \Lambda V^\top

    Parameters, attributes and methods are those of scikit-learn's class, from which it inherits,
    and what scikit-learn refuses is refused in its words. What differs:

    - Axes are those of `mercer.PCA`, for every ``svd_solver``: none is drawn at random or iterated,
      so that ``tol``, ``iterated_power``, ``n_oversamples``, ``power_iteration_normalizer`` and
      ``random_state`` have no effect.
    - Covariances are computed in double precision and from the mean, and coordinates of rows from
      there too: data far from the origin lose no digits, and float32 is what goes in and comes out.
    - Axes beyond the numerical rank have the variance 0; they are some directions that complete the
      others, and ``whiten=True`` gives coordinates 0 on them. Where the axes leave no variance in
      some direction there is no precision matrix, and no likelihood: `SingularSystem` says so.
    - Data are not written to, even if ``copy=False``.
    - Arrays of other libraries than numpy and scipy are left to scikit-learn.

    Attributes
    ----------
    spectrum_ : eigenvalues of the covariances with divisor n, with their proved errors

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [4.0, 1.0]])
    >>> model = PCA(1).fit(x + 1e9)
    >>> model.explained_variance_, model.components_
    (array([5.33333333]), array([[1., 0.]]))
    >>> model.transform([[1e9 + 3.0, 1e9]])
    array([[1.]])
    """

    _centre: Array | None = None
    """The mean in double precision; None where scikit-learn found it."""

    def _fit_full(self, X: Any, n_components: Any, xp: Any, is_array_api_compliant: bool) -> Any:
        self._centre = None
        if not _is_ours(X):
            return super()._fit_full(X, n_components, xp, is_array_api_compliant)
        most = min(X.shape)
        if n_components == MLE and X.shape[0] < X.shape[1]:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        if n_components != MLE and not 0 <= n_components <= most:
            raise ValueError(
                f"n_components={n_components} must be between 0 and min(n_samples, n_features)="
                f"{most} with svd_solver={self._fit_svd_solver!r}"
            )
        return self._found(X, n_components, xp)

    def _fit_truncated(self, X: Any, n_components: Any, xp: Any) -> Any:
        self._centre = None
        if not _is_ours(X):
            return super()._fit_truncated(X, n_components, xp)
        most, solver = min(X.shape), self._fit_svd_solver
        if isinstance(n_components, str):
            raise ValueError(
                f"n_components={n_components!r} cannot be a string with svd_solver='{solver}'"
            )
        if not 1 <= n_components <= most:
            raise ValueError(
                f"n_components={n_components!r} must be between 1 and min(n_samples, n_features)="
                f"{most!r} with svd_solver='{solver}'"
            )
        if solver == "arpack" and n_components == most:
            raise ValueError(
                f"n_components={n_components!r} must be strictly less than min(n_samples, "
                f"n_features)={most!r} with svd_solver='{solver}'"
            )
        return self._found(X, n_components, xp)

    def _found(self, X: Any, asked: Any, xp: Any) -> Any:
        """Keep the axes, and return what scikit-learn's `fit_transform` goes on with."""
        (n, p), most = X.shape, min(X.shape)
        every = isinstance(asked, str) or 0 < asked < 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadingWarning)  # of axes that scikit-learn counts too
            exact = linear.PCA(None if every else max(int(asked), 1)).fit(X)
        whole = exact.inertia_ * n / max(n - 1, 1)
        variances = np.zeros(most if every else int(asked))
        kept = min(exact.n_components_, len(variances))
        variances[:kept] = exact.explained_variance_[:kept]
        count = self._count(variances, whole, asked, n)
        self.n_samples_, self.n_components_ = n, count
        self.spectrum_, self.mean_ = exact.spectrum_, exact.mean_.astype(X.dtype)
        axes = _completed(exact.components_[: min(kept, count)], count, p)
        _, axes = svd_flip(None, axes, u_based_decision=False)
        left = whole - float(variances[:count].sum())
        left = left if left > ROUNDOFF * whole else 0.0
        self._centre = np.asarray(exact.mean_, np.float64)
        self.components_ = axes.astype(X.dtype)
        self.explained_variance_ = variances[:count].astype(X.dtype)
        self.explained_variance_ratio_ = self.explained_variance_ / (whole if whole > 0 else 1.0)
        self.singular_values_ = np.sqrt(max(n - 1, 1) * self.explained_variance_)
        self.noise_variance_ = left / (most - count) if count < most else 0.0
        return None, self.singular_values_, self.components_, X, False, xp

    def _count(self, variances: Array, whole: float, asked: Any, n: int) -> int:
        if isinstance(asked, str):
            return int(_infer_dimension(variances, n))
        if 0 < asked < 1:
            shares = np.cumsum(variances) / (whole if whole > 0 else 1.0)
            return min(int(np.searchsorted(shares, asked, side="right")) + 1, len(variances))
        return int(asked)

    def _transform(self, X: Any, xp: Any, x_is_centered: bool = False) -> Any:
        """Return coordinates of rows, dense ones seen from the mean before they are multiplied."""
        is_sparse = bool(issparse(X))
        if self._centre is None or not (is_sparse or isinstance(X, np.ndarray)):
            return super()._transform(X, xp, x_is_centered)
        axes = np.asarray(self.components_, np.float64).T
        scores = X @ axes - self._centre @ axes if is_sparse else (X - self._centre) @ axes
        if self.whiten:
            scale = np.sqrt(np.asarray(self.explained_variance_, np.float64))
            scores = np.divide(scores, scale, out=np.zeros_like(scores), where=scale > 0)
        return scores.astype(X.dtype)

    def get_precision(self) -> Any:
        """Return the inverse of `get_covariance`, refused where there is none."""
        check_is_fitted(self)
        p = self.components_.shape[1]
        is_spanned = self.n_components_ == p and np.all(self.explained_variance_ > 0)
        if self._centre is not None and self.noise_variance_ == 0 and not is_spanned:
            rank = int(np.count_nonzero(self.explained_variance_ > 0))
            fewer = f"; n_components < {rank} leaves a variance for the others" if rank > 1 else ""
            where = f"{rank} direction{'s' * (rank != 1)}"
            raise SingularSystem(
                f"the {p} columns vary in {where}, so that their covariances have no "
                f"inverse and rows no likelihood{fewer}"
            )
        return super().get_precision()


def _is_ours(X: Any) -> bool:
    is_known: bool = isinstance(X, np.ndarray) or issparse(X)
    return is_known and np.shape(X)[0] > 1


def _completed(axes: Array, count: int, p: int) -> Array:
    """Return axes as rows with some that are orthogonal to them, so that there are enough.

    >>> _completed(np.array([[0.0, 1.0, 0.0]]), 2, 3).round(12) @ [0.0, 1.0, 0.0]
    array([1., 0.])
    """
    if len(axes) == count:
        return axes
    # Reflections that make an orthonormal basis of the axes make one of so many vectors, even 0.
    padded = np.vstack([axes, np.zeros((count - len(axes), p))])
    return np.vstack([axes, np.linalg.qr(padded.T)[0].T[len(axes) :]])
