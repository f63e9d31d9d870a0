"""Components, maps and approximate features under scikit-learn's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import issparse
from scipy.spatial.distance import pdist, squareform
from sklearn import decomposition, kernel_approximation, manifold
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_psd_eigenvalues, check_is_fitted, validate_data

from mercer.check import Array
from mercer.errors import MercerError, NotConverged
from mercer.estimator import PRECOMPUTED, in_dtype_of
from mercer.fourier import fourier_features
from mercer.gram import Centred, Gram
from mercer.kernels.radial import Gaussian
from mercer.kernels.vectors import Linear
from mercer.lowrank import pivoted_cholesky
from mercer.mds.descent import WeightedPairs, descend
from mercer.mds.losses import loss_of
from mercer.sklearn.kernels import PairwiseKernels, dense, kernel_of
from mercer.solve import solve
from mercer.spectrum import Limits, Spectrum, leading

TIGHTEST = 1e-11
"""The residual asked for, as a share of λ₁, where ``tol`` is smaller: for 0, as good as can be."""

FEW, MANY = 10, 200
"""Fewer axes of more rows than these are iterated, by scikit-learn's own rule."""

SMALL, LARGE = 1e-18, 1e18
"""Between these entries may be squared in single precision, as the iteration does."""

STEPS = 1000
"""Of L-BFGS, from where scikit-learn's majorisation stopped."""

TOL = 1e-6
"""The derivative at which the descent ends, as in `mercer.StressMDS`."""

LARGEST_SEED = 2**31 - 1


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
        if self.eigen_solver == "dense" or (n <= Limits.stored and not is_usual):
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


class MDS(manifold.MDS):
    r"""scikit-learn's `MDS`, whose map is a minimum of the stress and not where its steps ended.

    .. math:: \sum_{i<j} (d_{ij} - \delta_{ij})^2, \quad\text{normalised}\quad
        \sqrt{\textstyle\sum_{i<j} (d_{ij} - \delta_{ij})^2 / \sum_{i<j} \delta_{ij}^2}

    Parameters, attributes and methods are those of scikit-learn's class, from which it inherits,
    and so are starts and majorisation, which stops at ``eps``. L-BFGS then descends from the best
    map to a derivative of 1e-6, and ``stress_`` is that of the map it ends at. Ordinal maps are
    scikit-learn's; `mercer.StressMDS` has others, with weights and missing dissimilarities.

    Examples
    --------
    >>> ring = np.array([[0.0, 1, 3, 2], [1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]])
    >>> options = {"init": "random", "n_init": 1, "random_state": 0}
    >>> ours = MDS(metric="precomputed", **options).fit(ring)
    >>> theirs = manifold.MDS(metric="precomputed", **options).fit(ring)
    >>> bool(ours.stress_ < theirs.stress_)
    True
    """

    embedding_: Array
    stress_: float

    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> Array:
        """Fit, and return the map."""
        super().fit_transform(X, init=init)
        if self._is_metric() and np.any(self.dissimilarity_matrix_ > 0):
            self._descend()
        self.embedding_ = in_dtype_of(X, np.asarray(self.embedding_))
        return self.embedding_

    def _is_metric(self) -> bool:
        given = vars(self).get("metric_mds", vars(self).get("metric"))
        return given is True

    def _descend(self) -> None:
        delta = np.asarray(self.dissimilarity_matrix_, np.float64)
        delta = 0.5 * (delta + delta.T)
        pairs = WeightedPairs(delta, None)
        loss = loss_of("stress", pairs.target, pairs.weights, "primary")
        start = np.asarray(self.embedding_, np.float64) / pairs.unit
        end = descend(pairs, loss, start, STEPS, TOL, lambda _: None)
        size = loss.scale(pairs.distances(end.coordinates))
        best = pairs.unit * size * end.coordinates
        stress = 0.5 * float(np.sum((squareform(pdist(best)) - delta) ** 2))
        if self.normalized_stress is True:
            stress = float(np.sqrt(stress / (0.5 * float(np.sum(delta**2)))))
        if stress < self.stress_:
            self.embedding_, self.stress_ = best, stress


class Nystroem(kernel_approximation.Nystroem):
    r"""scikit-learn's `Nystroem` with landmarks that are chosen by what they leave unexplained.

    .. math:: \varphi(x) = k(z, z)^{-1/2}\, k(z, x)

    Parameters, attributes and methods are those of scikit-learn's class, from which it inherits.
    The landmarks z are the pivots of a randomly pivoted Cholesky factor, each drawn with
    probability proportional to the squared norm that the ones before it leave of a point, and not
    uniformly. ``trace_error_`` is the sum of what is left of all points, tr(K - K̂), exact up to
    rounding, or NaN where scikit-learn's own choice is kept: for sparse rows, Python functions, a
    precomputed matrix, and kernels that mercer does not have.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> features = Nystroem(gamma=2.0, n_components=8, random_state=0).fit(x)
    >>> features.trace_error_ < 1e-6, features.transform(x).shape
    (True, (50, 8))
    """

    trace_error_: float

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose the landmarks among the rows of X."""
        super().fit(X, y)
        self.trace_error_ = np.nan
        chosen = self._pivots(X)
        if chosen is not None:
            self._on(np.asarray(X)[chosen], chosen)
        return self

    def _pivots(self, X: Any) -> Array | None:
        """Return the rows of landmarks, None where scikit-learn's are kept."""
        params = {"gamma": None, "degree": None, "coef0": None, **self._get_kernel_params()}
        if sparse.issparse(X) or not isinstance(self.kernel, str) or not hasattr(X, "shape"):
            return None
        rows = np.asarray(X, np.float64)
        gamma = 1.0 / rows.shape[1] if params["gamma"] is None else params["gamma"]
        degree = 3 if params["degree"] is None else params["degree"]
        coef0 = 1.0 if params["coef0"] is None else params["coef0"]
        kernel = kernel_of(self.kernel, gamma, degree, coef0)
        if kernel is None or self.kernel in ("cosine", "sigmoid"):
            return None
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        count = len(self.component_indices_)
        try:
            found = pivoted_cholesky(Gram(kernel, rows), count, random_state=seed)
        except MercerError:
            return None
        self.trace_error_ = found.trace_error
        pivots = _rows_of(np.asarray(found.features.landmarks), rows)
        # Where fewer explain all, any others do for the number that was asked for.
        rest = np.setdiff1d(np.asarray(self.component_indices_), pivots)
        return np.concatenate([pivots, rest])[:count]

    def _on(self, landmarks: Array, chosen: Array) -> None:
        """Take other landmarks than scikit-learn's."""
        model = kernel_approximation.Nystroem(**{**self.get_params(), "n_components": len(chosen)})
        model.fit(landmarks)
        order = np.argsort(model.component_indices_)  # it permutes what it is given
        self.normalization_ = model.normalization_[np.ix_(order, order)]
        self.components_ = landmarks
        self.component_indices_ = chosen


def _rows_of(landmarks: Array, rows: Array) -> Array:
    """Return the number of the first row that is each landmark.

    >>> _rows_of(np.array([[2.0]]), np.array([[1.0], [2.0], [2.0]]))
    array([1])
    """
    return np.array([int(np.argmax(np.all(rows == z, axis=1))) for z in landmarks], dtype=np.intp)


class RBFSampler(kernel_approximation.RBFSampler):
    r"""scikit-learn's `RBFSampler` with frequencies that are orthogonal to each other.

    .. math:: \varphi(x) = \sqrt{2/D}\, \bigl(\cos(\omega_j^\top x + b_j)\bigr)_{j \le D}, \quad
        E\,\langle \varphi(x), \varphi(y) \rangle = e^{-\gamma \|x - y\|^2}

    Parameters, attributes and methods are those of scikit-learn's class, from which it inherits.
    In blocks of as many as there are columns the frequencies ω are orthogonal, which lowers the
    variance (Yu et al., 2016). `mercer.RandomFourierFeatures` has other kernels, and a sampled
    error.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> waves = RBFSampler(gamma=0.5, n_components=5000, random_state=0).fit_transform(x)
    >>> abs(float(waves[0] @ waves[1]) - float(np.exp(-0.5))) < 0.03
    True
    """

    random_weights_: Array

    def fit(self, X: Any, y: Any = None) -> RBFSampler:
        """Draw the frequencies for the columns of X."""
        super().fit(X, y)
        gamma = float(getattr(self, "_gamma", None) or self.gamma)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(LARGEST_SEED))
        if gamma > 0:
            columns, count = self.random_weights_.shape
            unit = fourier_features(Gaussian(1.0), columns, count, rng).frequencies.T
            self.random_weights_ = (np.sqrt(2.0 * gamma) * unit).astype(self.random_weights_.dtype)
        return self
