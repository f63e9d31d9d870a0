"""Approximate feature maps under scikit-learn's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn import kernel_approximation
from sklearn.utils import check_random_state

from mercer.check import Array
from mercer.errors import MercerError
from mercer.fourier import fourier_features
from mercer.gram import Gram
from mercer.kernels.radial import Gaussian
from mercer.lowrank import pivoted_cholesky
from mercer.sklearn.kernels import kernel_of

LARGEST_SEED = 2**31 - 1


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
