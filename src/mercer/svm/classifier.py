"""Classification by soft margins, two classes at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.check import (
    Array,
    InvalidInput,
    InvalidParameter,
    Points,
    in_dtype_of,
    number,
)
from mercer.display import warn
from mercer.estimator import KernelModel, as_kernel, is_yes, one_of, weights_of
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.functions import Precomputed
from mercer.kernels.radial import Gaussian
from mercer.null_space import Origin
from mercer.points import take
from mercer.svm.margin import Separator, is_definite, separated_by_cost, separated_by_share
from mercer.svm.probability import Sigmoid, coupled, platt
from mercer.targets import check_size, read_labels

STORED = 10_000
"""Up to this size (0.8 GB) the matrix is stored."""

MOST_GAP = 1e-8
"""A duality gap above this share of the objective is worth a warning."""

LOST = 1.0
"""An objective that rounding may have changed by a larger share of it is not known."""

FOLDS = 5
"""Parts of the points, each of which is decided from the others for probabilities."""

LEAST = 1e-7
"""Probabilities of pairs keep this far from 0 and 1, so that they can be coupled."""


class SVC(ClassifierMixin, KernelModel):
    r"""The widest margin between classes, some points being allowed inside at a cost.

    .. math:: \min_{h \in H,\, b}\; \tfrac{1}{2} \|h\|^2 +
        C \sum_i \max(0, 1 - y_i (h(x_i) + b))

    Decisions are those of the optimum for the matrix in double precision: libsvm, whose matrix is
    in single precision, gives the start, and the optimality conditions are then solved on the
    points at the margins. With ``nu`` it is the share of points that may lie inside a margin
    that is given in place of C. More than two classes are compared pair by pair.

    Parameters
    ----------
    kernel : Kernel, str or function
        A kernel, its written form, a Python function of two points, or ``"precomputed"``.
    C : float
        The cost of a point inside the margin, for each unit of depth.
    nu : float or None
        At most this share of the points errs or lies inside the margin, and at least this share
        are support vectors.
    probability : bool
        Whether to fit `predict_proba`: sigmoids of decisions on points held out, in five parts,
        one for each pair of classes. It takes six fits in place of one.
    decision_function_shape : {"ovr", "ovo"}
        One value for each class (votes and, between equal votes, sums of decisions), or for
        each pair of classes.

    Attributes
    ----------
    classes_ : the labels in order
    separators_ : a `Separator` for each pair of classes
    support_ : the rows that carry weight in any of them
    dual_coef_ : the weights of all points, one row for each pair
    intercept_, intercept_intervals_ : for each pair, and all intercepts that are as good
    sigmoids_ : a `Sigmoid` for each pair of classes, if ``probability`` was asked for
    gap_ : the sum of the duality gaps, infinite for a matrix that is not positive definite
    rounding_ : what of the gap is owed to rounding, of the kernel's values too
    objective_ : the sum of the objectives

    Examples
    --------
    >>> model = SVC(Gaussian(1.0), C=10.0).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [4.5]])
    array(['a', 'b'], dtype='<U1')
    >>> model.gap_ <= 1e-11 * model.objective_
    True

    References
    ----------
    Gallier and Quaintance, chapter 54; Schölkopf et al. (2000) for ν.
    """

    def __init__(
        self,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Gaussian("median"),  # noqa: B008
        C: float = 1.0,
        *,
        nu: float | None = None,
        probability: bool = False,
        decision_function_shape: str = "ovr",
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.nu = nu
        self.probability = probability
        self.decision_function_shape = decision_function_shape

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Find the margins; weights multiply the cost of each point."""
        points = self._read(X, reset=True)
        codes = self._codes(points, y)
        weights = weights_of(sample_weight, len(codes))
        check_size(weights, "sample_weight")
        self._used = _positive(weights, codes)
        gram = self._gram(points)
        K = gram.dense()
        if np.iscomplexobj(K):
            raise InvalidInput(f"margins are of real kernels, and {gram.kernel} is complex")
        self.kernel_, self._points = gram.kernel, gram.x
        self._entry = gram.entry_rounding().entry
        pairs = list(combinations(range(len(self.classes_)), 2))
        problems = [_between(codes[self._used], weights[self._used], pair) for pair in pairs]
        found = [(p.rows, self._separated(K, p)) for p in problems]
        self._keep(found, is_convex=bool(gram.kernel.proof) or is_definite(K))
        if is_yes(self.probability, "probability"):
            self.sigmoids_ = [self._sigmoid(K, p) for p in problems]
        return self

    def _codes(self, points: Points, y: Any) -> Array:
        labels = column_or_1d(read_labels(y, len(points), type(self).__name__), warn=True)
        try:
            check_classification_targets(labels)
        except ValueError as error:
            raise InvalidInput(str(error)) from None
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput("y holds one class: a margin lies between at least two")
        if len(codes) > STORED:
            raise InvalidParameter(
                f"the matrix of {len(codes)} points is not stored, {STORED} are the most; take a "
                "part of the points"
            )
        return np.asarray(codes)

    def _gram(self, points: Points) -> Gram:
        if self._is_precomputed:
            self.X_fit_, self._origin = None, Origin()
            return Gram(Precomputed(np.asarray(points)), self._used)
        used = take(points, self._used)
        kernel = as_kernel(self.kernel).resolve(used)
        # Points are seen from their mean where the intercept makes up for it.
        self.X_fit_, self._origin = used, Origin.of(kernel, used, "constant")
        return Gram(kernel, self._origin.points(used))

    def _separated(self, K: Array, problem: Problem) -> Separator:
        """Return what separates two classes."""
        rows, y, weights = problem.rows, problem.y, problem.weights
        matrix = K[np.ix_(rows, rows)]
        if self.nu is None:
            costs = number(self.C, "C", above=0.0) * weights
            return separated_by_cost(matrix, y, costs, self._entry)
        nu = number(self.nu, "nu", above=0.0)
        if nu > 1.0:
            raise InvalidParameter(f"nu is a share of the points, at most 1; found {self.nu!r}")
        return separated_by_share(matrix, y, weights, nu, self._entry)

    def _sigmoid(self, K: Array, problem: Problem) -> Sigmoid:
        """Return the probability of the second class, from decisions on points held out."""
        fold = problem.folds()
        decisions = np.empty(len(problem.y))
        for k in range(int(fold.max()) + 1):
            part = problem.part(fold != k)
            of = self._separated(K, part)
            held_out = problem.rows[fold == k]
            decisions[fold == k] = K[np.ix_(held_out, part.rows)] @ of.weights + of.intercept
        return platt(decisions, problem.y, problem.weights)

    def _keep(self, found: list[tuple[Array, Separator]], *, is_convex: bool) -> None:
        self._weights = np.zeros((len(found), len(self._used)))
        for row, (inside, separator) in zip(self._weights, found, strict=True):
            row[inside] = separator.weights
        self._intercepts = np.array([s.intercept for _, s in found])
        separators = [s if is_convex else replace(s, gap=np.inf) for _, s in found]
        self.separators_ = [s.moved(b) for s, b in zip(separators, self._moved(), strict=True)]
        self.dual_coef_ = self._weights
        self.support_ = self._used[np.any(self._weights != 0, axis=0)]
        self.intercept_ = np.array([s.intercept for s in self.separators_])
        self.intercept_intervals_ = np.array([s.interval for s in self.separators_])
        self.objective_ = float(sum(s.objective for s in self.separators_))
        self.gap_ = float(sum(s.gap for s in self.separators_))
        self.rounding_ = float(sum(s.rounding for s in self.separators_))
        self.n_iter_ = max(s.steps for s in self.separators_)
        if any(s.rounding > LOST * abs(s.objective) for s in self.separators_) and is_convex:
            warn(
                "rounding of the kernel's values can have changed the objective "
                f"{self.objective_:.6g} by {self.gap_:.2g}: give points nearer to the origin, or a "
                "smaller C",
                ConvergenceWarning,
            )
        elif any(s.gap - s.rounding > MOST_GAP * abs(s.objective) for s in self.separators_):
            reason = (
                f"the optimum is proved only to within {self.gap_:.2g} of {self.objective_:.6g}; "
                "C is too large for the condition of the kernel"
                if is_convex
                else "the kernel is not positive definite on these points: the conditions of an "
                "optimum hold, and other separators may be better"
            )
            warn(reason, ConvergenceWarning)

    def _moved(self) -> list[float]:
        """Return what intercepts for points as they came have beyond those for points as seen."""
        none = np.zeros((1, len(self._weights)))
        moved = self._origin.null_weights(none, self.kernel_, self._weights.T, self._points)[0]
        return [float(b) for b in moved]

    def decision_function(self, X: Any) -> Array:
        """Return h + b at points: positive for the second of two classes.

        For more classes there is a value for each class, or for each pair: positive for the
        second class of the pair.
        """
        check_is_fitted(self)
        one_of(self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"))
        values = self._pairwise(X)
        if len(self.classes_) == 2:
            return in_dtype_of(X, values[:, 0])
        is_of_pairs = self.decision_function_shape == "ovo"
        return in_dtype_of(X, values if is_of_pairs else self._per_class(values))

    def _pairwise(self, X: Any) -> Array:
        points = self._read(X, reset=False)
        if self._is_precomputed:
            product = np.asarray(points)[:, self._used] @ self._weights.T
        else:
            seen = self._origin.points(points)
            product = Gram(self.kernel_, seen, self._points).product(self._weights.T)
        return np.asarray(product + self._intercepts)

    def _per_class(self, values: Array) -> Array:
        """Return votes, plus sums of decisions that stay below half a vote."""
        votes = np.zeros((len(values), len(self.classes_)))
        sums = np.zeros_like(votes)
        pairs = combinations(range(len(self.classes_)), 2)
        for value, (first, second) in zip(values.T, pairs, strict=True):
            votes[:, second] += value > 0
            votes[:, first] += value <= 0
            sums[:, second] += value
            sums[:, first] -= value
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))

    def predict(self, X: Any) -> Array:
        """Return the label of each point."""
        check_is_fitted(self)
        values = self._pairwise(X)
        if len(self.classes_) == 2:
            return np.asarray(self.classes_[(values[:, 0] > 0).astype(np.intp)])
        return np.asarray(self.classes_[np.argmax(self._per_class(values), axis=1)])

    @available_if(lambda self: _has_probabilities(self))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, if ``probability`` was asked for.

        It is Platt's for two classes. For more, those of the pairs are coupled (Wu, Lin and Weng,
        2004). `predict` reads margins and not these: near to ½ they may differ.
        """
        check_is_fitted(self)
        values = self._pairwise(X)
        count = len(self.classes_)
        r = np.zeros((len(values), count, count))
        pairs = combinations(range(count), 2)
        for column, sigmoid, (i, j) in zip(values.T, self.sigmoids_, pairs, strict=True):
            r[:, j, i] = np.clip(sigmoid(column), LEAST, 1.0 - LEAST)
            r[:, i, j] = 1.0 - r[:, j, i]
        shares = coupled(r) if count > 2 else np.column_stack([r[:, 0, 1], r[:, 1, 0]])
        return in_dtype_of(X, shares)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _has_probabilities(model: SVC) -> bool:
    if model.probability:
        return True
    raise AttributeError(
        "predict_proba needs SVC(probability=True), which fits sigmoids to decisions on points "
        "held out"
    )


@dataclass(frozen=True)
class Problem:
    """The rows of two classes, with labels y = ±1 and weights."""

    rows: Array
    y: Array
    weights: Array

    def part(self, inside: Array) -> Problem:
        """Return some of the points."""
        return Problem(self.rows[inside], self.y[inside], self.weights[inside])

    def folds(self) -> Array:
        """Return the part of each point, each class spread evenly over up to five parts.

        >>> Problem(np.arange(4), np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)).folds().tolist()
        [0, 1, 0, 1]
        """
        classes = [np.flatnonzero(self.y == sign) for sign in (1.0, -1.0)]
        count = min(FOLDS, *map(len, classes))
        if count < 2:
            raise InvalidInput(
                "probabilities are fitted to points held out, and a class has one point alone: "
                "give probability=False"
            )
        fold = np.empty(len(self.y), np.intp)
        rng = np.random.default_rng(0)
        for inside in classes:
            fold[rng.permutation(inside)] = np.arange(len(inside)) % count
        return fold


def _between(codes: Array, weights: Array, pair: tuple[int, int]) -> Problem:
    """Return the problem of two classes, the second of which is positive."""
    rows = np.flatnonzero((codes == pair[0]) | (codes == pair[1]))
    return Problem(rows, np.where(codes[rows] == pair[1], 1.0, -1.0), weights[rows])


def _positive(weights: Array, codes: Array) -> Array:
    """Return the rows of positive weight, of which every class must have one."""
    if weights.shape != codes.shape:
        raise InvalidInput(f"there are weights of shape {weights.shape} for {len(codes)} points")
    if np.any(weights < 0):
        raise InvalidInput(
            f"weights must be nonnegative; the smallest is {weights.min():g} at row "
            f"{int(weights.argmin())}"
        )
    used = np.flatnonzero(weights > 0)
    empty = np.setdiff1d(codes, codes[used])
    if empty.size:
        raise InvalidInput(
            f"class number {int(empty[0])} has no point of positive weight: all its weights are "
            "zero"
        )
    return used
