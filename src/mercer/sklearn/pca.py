"""Kernel principal components under scikit-learn's signature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import decomposition
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_psd_eigenvalues, check_is_fitted, validate_data

from mercer.check import Array
from mercer.errors import NotConverged
from mercer.estimator import PRECOMPUTED, in_dtype_of
from mercer.gram import Centred
from mercer.kernels.vectors import Linear
from mercer.sklearn.kernels import PairwiseKernels, dense
from mercer.solve import solve
from mercer.spectrum import STORED, Spectrum, leading

TIGHTEST = 1e-11
"""The residual asked for, as a share of λ₁, where ``tol`` is smaller: for 0, as good as can be."""

FEW, MANY = 10, 200
"""Fewer axes of more rows than these are iterated, by scikit-learn's own rule."""

SMALL, LARGE = 1e-18, 1e18
"""Between these entries may be squared in single precision, as the iteration does."""


class KernelPCA(PairwiseKernels, decomposition.KernelPCA):
    r"""scikit-learn's `KernelPCA` with proved errors, and without the kernel matrix if it is large.

    .. math:: H K H = U \Lambda U^\top, \quad F = U \Lambda^{1/2}, \quad H = I - 1 1^\top / n

    Parameters, attributes and methods are those of scikit-learn's class, from which it inherits,
    and what scikit-learn refuses is refused in its words. What differs:

    - ``eigen_solver="dense"`` decomposes the stored matrix. The other names leave the choice to
      `mercer.leading`, which iterates without it where few axes of many rows are asked for. The
      axes are exact either way: ``max_iter`` and ``iterated_power`` have no effect, and ``tol`` is
      the residual allowed, as a share of the largest eigenvalue.
    - ``"randomized"`` takes the largest eigenvalues of an indefinite matrix, as the others do.
      scikit-learn looks for the largest moduli, and refuses what it finds.
    - Without ``random_state`` the result is the same every time.
    - Kernels are computed in double precision, and linear ones from the mean of the points, so
      that data far from the origin lose no digits.
    - Of a precomputed matrix that is not symmetric the symmetric part counts, for every solver. It
      is not written to, even if ``copy_X=False``.
    - The inverse transform may be learnt from sparse rows, which become dense for it.
    - ``kernel`` may be a kernel of mercer.
    - ``n_jobs`` is the number of threads; None and negative numbers mean all.

    As in scikit-learn the matrix is stored for Python functions, for the inverse transform, and for
    parameters with which a kernel is none: ``gamma=0``, a negative ``coef0``, a fractional
    ``degree``; for sparse rows it is not. The sign of an axis makes its entry of largest modulus
    positive, the first of those that are equal up to rounding.

    Attributes
    ----------
    spectrum_ : eigenpairs of HKH/n with their proved errors, and how they were found

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [4.0, 1.0]])
    >>> model = KernelPCA(2, kernel="linear").fit(x)
    >>> model.eigenvalues_
    array([16.,  1.])
    >>> np.abs(model.transform([[3.0, 0.5]]))
    array([[1., 0.]])
    """

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the axes of the rows of X."""
        if self.fit_inverse_transform and self._is(PRECOMPUTED):
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        X = validate_data(self, X, accept_sparse="csr", copy=self.copy_X)
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        self._kernel = self._tiled()
        if issparse(X) and self._kernel is not None and not self._kernel.reads_sparse:
            self._kernel = None
        # Sparse rows stay where they are: seen from their mean they would be full.
        is_moved = self._kernel == Linear() and not issparse(X)
        self._mean = self._rows(X).mean(axis=0) if is_moved else 0.0
        gram = self._gram(X, self._mean)
        centred = gram.centred()
        self._kernel = None if self._kernel is None else gram.kernel
        self._keep(self._leading(centred), centred, in_single=X.dtype == np.float32)
        if self.fit_inverse_transform:
            self.X_transformed_fit_ = self._scores()
            gram = self._gram(self.X_transformed_fit_)
            self.dual_coef_ = solve(gram, dense(X), self.alpha, method="direct").weights
        self.X_fit_ = X
        return self

    def _leading(self, centred: Centred) -> Spectrum:
        """Return the axes, by the whole matrix where an iteration does not settle."""
        n = centred.shape[0]
        count = n if self.n_components is None else min(self.n_components, n)
        method, tol = self._method(centred, count), max(self.tol, TIGHTEST)
        try:
            return leading(centred, count, tol=tol, method=method, random_state=self._seed())
        except NotConverged:
            return leading(centred, count, method="dense")

    def _method(self, centred: Centred, count: int) -> str:
        n = centred.shape[0]
        is_usual = SMALL < float(np.max(np.abs(centred.gram.diag()))) < LARGE
        if self.eigen_solver == "dense" or (n <= STORED and not is_usual):
            return "dense"
        return "exact" if n > MANY and count < FEW else "auto"

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _keep(self, spectrum: Spectrum, centred: Centred, *, in_single: bool) -> None:
        """Keep the axes, and what new points are multiplied with."""
        dtype = np.float32 if in_single else np.float64
        eigenvalues = (len(spectrum.vectors) * spectrum.values).astype(dtype)
        eigenvalues = _check_psd_eigenvalues(eigenvalues, enable_warnings=False)
        is_kept = eigenvalues > 0
        if self.n_components is not None and not self.remove_zero_eig:
            is_kept[:] = True
        self.spectrum_ = spectrum
        self.eigenvalues_ = eigenvalues[is_kept]
        self.eigenvectors_ = spectrum.vectors[:, is_kept].astype(dtype)
        roots = np.sqrt(self.eigenvalues_, dtype=np.float64)
        axes = spectrum.vectors[:, is_kept] / np.where(roots > 0, roots, np.inf)
        # (κ - κ̄1)A = κ(A - 1Ā): the means of new rows need not be subtracted from them.
        self._axes = axes - axes.mean(axis=0)
        self._image_of_mean = centred.mean_rows @ self._axes

    def _scores(self) -> Array:
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)  # type: ignore[no-any-return]

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Array:
        """Fit, and return the coordinates of the same rows."""
        self.fit(X, **params)
        return self._scores()

    def transform(self, X: Any) -> Array:
        """Return the coordinates of rows, centred with the means of the training ones."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        images = self._product(X, self.X_fit_, self._axes, self._mean)
        return in_dtype_of(X, images - self._image_of_mean)

    def inverse_transform(self, X: Any) -> Array:
        r"""Return points of the input space for coordinates, by ridge regression on the scores.

        .. math:: \hat X = k(F', F)\,(k(F, F) + \alpha I)^{-1} X
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and "
                "hence the inverse transform is not available."
            )
        check_is_fitted(self, "dual_coef_")
        X = check_array(X, accept_sparse="csr")
        return in_dtype_of(X, self._product(dense(X), self.X_transformed_fit_, self.dual_coef_))
