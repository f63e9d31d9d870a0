"""Support vector machines under scikit-learn's signatures, at their exact optima."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import svm
from sklearn.metrics.pairwise import pairwise_kernels

from mercer.check import Array
from mercer.sklearn.kernels import dense, in_precision, kernel_of
from mercer.svm.machines import STORED_POINTS
from mercer.svm.margins import fit_tube, margin_from_origin, separate_by_cost
from mercer.svm.quadratic import Expansion, is_definite


class Polished:
    """A machine of libsvm's whose solution is replaced by the exact one."""

    support_: Array
    gap_: float

    def _dense_fit(self, X: Any, y: Array, sample_weight: Array, *rest: Any, **named: Any) -> None:
        model: Any = super()
        model._dense_fit(X, y, sample_weight, *rest, **named)
        self._polish(X, y, sample_weight)

    def _sparse_fit(self, X: Any, y: Array, sample_weight: Array, *rest: Any, **named: Any) -> None:
        model: Any = super()
        model._sparse_fit(X, y, sample_weight, *rest, **named)
        self._polish(X, y, sample_weight)

    def _polish(self, X: Any, y: Array, sample_weight: Array) -> None:
        """Replace what libsvm found wherever the exact optimum can be proved."""
        model: Any = self
        self.gap_ = np.inf
        if len(y) > STORED_POINTS or model.max_iter != -1 or _has_probabilities(model):
            return
        K = self._matrix(X)
        if K.shape != (len(y), len(y)) or not np.all(np.isfinite(K)):
            return
        weights = sample_weight if len(sample_weight) else np.ones(len(y))
        if is_definite(K, is_centred=not isinstance(self, svm.OneClassSVM)):
            used = np.flatnonzero(weights > 0)  # libsvm leaves the others out too
            self._solve(K[np.ix_(used, used)], y[used], weights[used], used, X)

    def _matrix(self, X: Any) -> Array:
        model: Any = self
        if callable(model.kernel) or model.kernel == "precomputed":
            return dense(model._compute_kernel(X))
        kernel = kernel_of(model.kernel, model._gamma, model.degree, model.coef0)
        if kernel is not None and not sparse.issparse(X):
            return np.asarray(kernel(X))
        options = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
        return dense(pairwise_kernels(X, metric=model.kernel, filter_params=True, **options))

    def _solve(self, K: Array, y: Array, weights: Array, used: Array, X: Any) -> None:
        raise NotImplementedError

    def _keep(self, rows: Array, coefficients: Array, found: list[Expansion], X: Any) -> None:
        """Put the exact solutions where libsvm's were, in its order."""
        model: Any = self
        model.support_ = rows.astype(np.int32)
        if not callable(model.kernel) and model.kernel != "precomputed":
            model.support_vectors_ = X[rows]
        of_libsvm = type(model.dual_coef_)
        model.dual_coef_ = np.ascontiguousarray(coefficients)
        if model._sparse:  # libsvm reads all entries, zeros too
            count, width = coefficients.shape
            ends = width * np.arange(count + 1)
            entries = coefficients.ravel(), np.tile(np.arange(width), count), ends
            model.dual_coef_ = of_libsvm(entries, coefficients.shape)
        model.intercept_ = np.array([of.intercept for of in found])
        model.gap_ = float(sum(of.gap for of in found))


def _has_probabilities(model: Any) -> bool:
    """Whether libsvm was asked for probabilities, which scikit-learn 1.9 notes elsewhere."""
    return bool(getattr(model, "_effective_probability", getattr(model, "probability", False)))


class SVC(Polished, svm.SVC):
    r"""scikit-learn's `SVC` at the optimum for the matrix in double precision.

    Parameters, attributes, methods and refusals are those of scikit-learn's class, from which it
    inherits. libsvm, whose matrix is in single precision and which stops at ``tol``, gives the
    start; the optimality conditions are then solved in double precision, and ``gap_`` is the
    duality gap that is left. The start itself is kept, and ``gap_`` is infinite, for kernels that
    are not positive definite on the points, for more than 10 000 points, where ``max_iter`` is
    given, and where ``probability`` is, which is fitted to the start. ``kernel`` may be a kernel of
    mercer, as any function of two tables.

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    >>> model = SVC(kernel="linear", C=10.0).fit(x, y)
    >>> model.coef_, model.intercept_, model.gap_ < 1e-12
    (array([[0.66666667]]), array([-1.66666667]), True)
    """

    decision_function = in_precision(svm.SVC.decision_function)

    def _solve(self, K: Array, y: Array, weights: Array, used: Array, X: Any) -> None:
        codes, count = y.astype(np.intp), len(self.classes_)
        costs = self.C * weights * self.class_weight_[codes]
        all_weights = np.zeros((count, count, len(y)))
        found: list[Expansion] = []
        for i, j in combinations(range(count), 2):
            rows = np.flatnonzero((codes == i) | (codes == j))
            sign = np.where(codes[rows] == i, 1.0, -1.0)
            of = separate_by_cost(K[np.ix_(rows, rows)], sign, costs[rows])
            all_weights[i, j, rows] = all_weights[j, i, rows] = of.weights
            found.append(of)
        is_support = np.any(all_weights != 0, axis=(0, 1))
        rows = np.concatenate([np.flatnonzero(is_support & (codes == c)) for c in range(count)])
        # A support vector of class c has the weights of its pairs, those with c left out.
        others = [[d for d in range(count) if d != codes[row]] for row in rows]
        columns = [all_weights[codes[r], d, r] for r, d in zip(rows, others, strict=True)]
        self._n_support = np.bincount(codes[rows], minlength=count).astype(np.int32)
        self._keep(used[rows], np.array(columns).reshape(len(rows), count - 1).T, found, X)


class SVR(Polished, svm.SVR):
    """scikit-learn's `SVR` at the optimum for the matrix in double precision, as `SVC` is.

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), [0.0, 1.0, 2.0]
    >>> model = SVR(kernel="linear", C=10.0, epsilon=0.5).fit(x, y)
    >>> model.predict(x), model.support_
    (array([0.5, 1. , 1.5]), array([0, 2], dtype=int32))
    """

    predict = in_precision(svm.SVR.predict)

    def _solve(self, K: Array, y: Array, weights: Array, used: Array, X: Any) -> None:
        of = fit_tube(K, y, self.C * weights, self.epsilon)
        rows = np.flatnonzero(of.weights)
        self._n_support = np.array([len(rows), 0], dtype=np.int32)
        self._keep(used[rows], of.weights[None, rows], [of], X)


class OneClassSVM(Polished, svm.OneClassSVM):
    """scikit-learn's `OneClassSVM` at the optimum for the matrix in double precision, as `SVC` is.

    Examples
    --------
    >>> x = np.array([[0.0], [0.1], [-0.1], [0.2], [5.0]])
    >>> OneClassSVM(gamma=0.5, nu=0.5).fit(x).predict([[0.05], [5.0]])
    array([ 1, -1])
    """

    decision_function = in_precision(svm.OneClassSVM.decision_function)
    score_samples = in_precision(svm.OneClassSVM.score_samples)

    def _solve(self, K: Array, y: Array, weights: Array, used: Array, X: Any) -> None:
        of = margin_from_origin(K, weights, self.nu)
        rows = np.flatnonzero(of.weights)
        self._n_support = np.array([len(rows), 0], dtype=np.int32)
        self._keep(used[rows], of.weights[None, rows], [of], X)

    def predict(self, X: Any) -> Array:
        """Return 1 where the decision is not negative, -1 elsewhere."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
