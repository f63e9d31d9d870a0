"""Classification by soft margins, two classes at a time, and probabilities of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points, as_numpy, in_dtype_of, namespace
from mercer.data.frames import of_layer
from mercer.display import Shown
from mercer.engines.engine import Engine
from mercer.engines.held import given_back
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import is_yes, on_engine, one_of
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.progress import Progress
from mercer.settings import number
from mercer.svm.machines import Machine, read_share
from mercer.svm.margins import Separator, separate_by_cost, separate_by_share
from mercer.targets import one_each, read_labels
from mercer.tensors import like_given

FOLDS = 5
"""Parts of the points, each of which is decided from the others for probabilities."""

LEAST = 1e-7
"""Probabilities of pairs keep this far from 0 and 1, so that they can be coupled."""

MOST_STEPS = 100
"""More Newton steps than any sigmoid took: the problem is convex in two parameters."""

RIDGE = 1e-12
"""Added to the second derivatives, which vanish where decisions are all equal."""

PRECISION = 1e-10
"""The derivative allowed at the end, for one observation."""


class SVC(ClassifierMixin, Machine):
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
        The cost of a point inside the margin, for each unit of depth; infinite for a hard margin,
        which no point may be inside of.
    nu : float or None
        At most this share of the points errs or lies inside the margin, and at least this share
        are support vectors.
    class_weight : mapping, "balanced" or None
        What the costs of a class are multiplied with, 1 for classes not named. ``"balanced"`` is
        w/(m·w_c) for class c of m, w being the sum of the weights of the points and w_c its part.
    probability : bool
        Whether to fit `predict_proba`: sigmoids of decisions on points held out, in five parts,
        one for each pair of classes. It takes six fits in place of one.
    decision_function_shape : {"ovr", "ovo"}
        One value for each class (votes and, between equal votes, sums of decisions), or for
        each pair of classes, positive for the first of the pair.
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.

    Attributes
    ----------
    classes_ : the labels in order
    class_weight_ : what the costs of each class were multiplied with
    separators_ : a `Separator` for each pair of classes, positive for the second of two classes
        and, as in scikit-learn, for the first of a pair where there are more
    support_, support_vectors_ : the rows that carry weight in any of them, and their points
    n_support_ : how many of them each class has
    dual_coef_ : the weights of all points, one row for each pair
    slacks_ : how deep inside the margin each point lies, one row for each pair; NaN for points
        of other classes or without weight
    intercept_, intercept_intervals_ : for each pair, and all intercepts that are as good
    sigmoids_ : a `DecisionSigmoid` for each pair of classes, if ``probability`` was asked for
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

    def __init__(  # noqa: PLR0913  (the settings of a model, most of them by name)
        self,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Gaussian("median"),  # noqa: B008
        C: float = 1.0,
        *,
        nu: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        probability: bool = False,
        decision_function_shape: str = "ovr",
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.nu = nu
        self.class_weight = class_weight
        self.probability = probability
        self.decision_function_shape = decision_function_shape
        self.engine = engine
        self.threads = threads
        self.memory = memory

    @on_engine
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> SVC:
        """Find the margins; weights multiply the cost of each point; ``progress`` counts tiles."""
        points = self._read(X, reset=True)
        codes = self._codes(points, y)
        weights = self._positive_weights(sample_weight, len(codes))
        used = codes[self._used]
        self._refuse_empty(used)
        self.class_weight_ = self._class_weights(used, weights)
        weights = weights * self.class_weight_[used]
        K = self._matrix(points)
        pairs = list(combinations(range(len(self.classes_)), 2))
        positive = 1 if len(pairs) == 1 else 0
        problems = [_between(used, weights, pair, pair[positive]) for pair in pairs]
        self.separators_ = self._keep([(p.rows, self._separated(K, p)) for p in problems])
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))
        if is_yes(self.probability, "probability"):
            self.sigmoids_ = [self._sigmoid(K, p) for p in problems]
        self._give_back(X)
        return self

    def _codes(self, points: Points, y: Any) -> Array:
        kind = type(self).__name__
        labels = one_each(read_labels(y, len(points), kind), kind)
        try:
            check_classification_targets(labels)
        except ValueError as error:
            raise InvalidInput(str(error)) from None
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput("y holds one class: a margin lies between at least two")
        return np.asarray(codes)

    def _refuse_empty(self, used: Array) -> None:
        empty = np.setdiff1d(np.arange(len(self.classes_)), used)
        if empty.size:
            raise InvalidInput(
                f"class number {int(empty[0])} has no point of positive weight: all its weights "
                "are zero"
            )

    def _class_weights(self, used: Array, weights: Array) -> Array:
        """Return what multiplies the costs of each class."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if isinstance(self.class_weight, Mapping):
            return self._named_weights(self.class_weight)
        one_of(self.class_weight, "class_weight", ("balanced", None))
        sums = np.bincount(used, weights)
        return np.asarray(weights.sum() / (len(sums) * sums))

    def _named_weights(self, named: Mapping[Any, float]) -> Array:
        strangers = [label for label in named if label not in self.classes_.tolist()]
        if strangers:
            raise InvalidParameter(
                f"class_weight names {strangers[0]!r}, which is none of the classes: "
                f"{', '.join(map(repr, self.classes_.tolist()[:10]))}"
            )
        given = [named.get(label, 1.0) for label in self.classes_.tolist()]
        return np.array([number(w, "class_weight", above=0.0) for w in given])

    def _separated(self, K: Array, problem: TwoClasses) -> Separator:
        """Return what separates two classes."""
        rows, y, weights = problem.rows, problem.y, problem.weights
        matrix = K[np.ix_(rows, rows)]
        if self.nu is None:
            cost = number(self.C, "C", above=0.0, allowed=np.inf)
            return separate_by_cost(matrix, y, cost * weights, self._entry)
        return separate_by_share(matrix, y, weights, read_share(self.nu), self._entry)

    def _sigmoid(self, K: Array, problem: TwoClasses) -> DecisionSigmoid:
        """Return the probability of the second class, from decisions on points held out."""
        fold = problem.folds()
        decisions = np.empty(len(problem.y))
        for k in range(int(fold.max()) + 1):
            part = problem.part(fold != k)
            of = self._separated(K, part)
            held_out = problem.rows[fold == k]
            decisions[fold == k] = K[np.ix_(held_out, part.rows)] @ of.weights + of.intercept
        return fit_sigmoid(decisions, problem.y, problem.weights)

    def decision_function(self, X: Any) -> Array:
        """Return h + b at points: positive for the second of two classes.

        For more classes there is a value for each class, or for each pair: positive for the
        first class of the pair, as in scikit-learn.
        """
        check_is_fitted(self)
        one_of(self.decision_function_shape, "decision_function_shape", ("ovr", "ovo"))
        values = self._values(X)
        if len(self.classes_) == 2:
            return in_dtype_of(X, values[:, 0])
        is_of_pairs = self.decision_function_shape == "ovo"
        return in_dtype_of(X, values if is_of_pairs else self._per_class(values))

    def _per_class(self, values: Any) -> Any:
        """Return votes, plus sums of decisions that stay below half a vote."""
        first, second = np.array(list(combinations(range(len(self.classes_)), 2))).T
        one = np.eye(len(self.classes_))
        xp: Any = namespace(values)
        signs = given_back(one[first] - one[second], values)
        lost = given_back(one[second].sum(axis=0), values)  # where no first one wins
        votes = lost + xp.astype(values >= 0.0, values.dtype) @ signs
        sums = values @ signs
        return votes + sums / (3.0 * (xp.abs(sums) + 1.0))

    def predict(self, X: Any) -> Array:
        """Return the label of each point."""
        check_is_fitted(self)
        values = self._values(X)
        xp: Any = namespace(values)
        if len(self.classes_) == 2:
            codes = xp.astype(values[:, 0] > 0.0, xp.int64)
        else:
            codes = xp.argmax(self._per_class(values), axis=1)
        if self.classes_.dtype.kind not in "biuf":  # words are numpy's alone
            return np.asarray(self.classes_[as_numpy(codes)])
        labels: Array = xp.take(given_back(self.classes_, values), codes)
        return labels

    @available_if(lambda self: _has_probabilities(self))  # type: ignore[untyped-decorator]
    @of_layer
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, if ``probability`` was asked for.

        It is Platt's for two classes. For more, those of the pairs are coupled (Wu, Lin and Weng,
        2004). `predict` reads margins and not these: near to ½ they may differ.
        """
        check_is_fitted(self)
        values = as_numpy(self._values(X))
        count = len(self.classes_)
        r = np.zeros((len(values), count, count))
        pairs = combinations(range(count), 2)
        for column, sigmoid, (i, j) in zip(values.T, self.sigmoids_, pairs, strict=True):
            positive, other = (i, j) if count > 2 else (j, i)
            r[:, positive, other] = np.clip(sigmoid(column), LEAST, 1.0 - LEAST)
            r[:, other, positive] = 1.0 - r[:, positive, other]
        shares = couple_probabilities(r) if count > 2 else np.column_stack([r[:, 0, 1], r[:, 1, 0]])
        return like_given(shares, X)  # type: ignore[no-any-return]

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
class TwoClasses:
    """The rows of two classes, with labels y = ±1 and weights."""

    rows: Array
    y: Array
    weights: Array

    def part(self, inside: Array) -> TwoClasses:
        """Return some of the points."""
        return TwoClasses(self.rows[inside], self.y[inside], self.weights[inside])

    def folds(self) -> Array:
        """Return the part of each point, each class spread evenly over up to five parts.

        >>> TwoClasses(np.arange(4), np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)).folds().tolist()
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


def _between(codes: Array, weights: Array, pair: tuple[int, int], positive: int) -> TwoClasses:
    """Return the problem of two classes, one of which is positive."""
    rows = np.flatnonzero((codes == pair[0]) | (codes == pair[1]))
    return TwoClasses(rows, np.where(codes[rows] == positive, 1.0, -1.0), weights[rows])


@dataclass(frozen=True, repr=False)
class DecisionSigmoid(Shown):
    r"""The probability of the positive class given a decision f.

    .. math:: p(f) = \frac{1}{1 + e^{-(a f + b)}}

    >>> DecisionSigmoid(2.0, 0.0)(np.array([0.0]))
    array([0.5])
    """

    facts: ClassVar[Mapping[str, str]] = {
        "slope": "a",
        "offset": "b",
    }

    slope: float
    offset: float

    def __call__(self, decisions: Array) -> Array:
        return np.asarray(expit(self.slope * decisions + self.offset))


def fit_sigmoid(decisions: Array, y: Array, weights: Array) -> DecisionSigmoid:
    r"""Return the sigmoid of the largest likelihood of labels y = ±1 that decisions did not see.

    Labels are moved towards ½ as if one more observation of each class had been seen,

    .. math:: t_+ = \frac{n_+ + 1}{n_+ + 2}, \qquad t_- = \frac{1}{n_- + 2}

    so that there is a maximum also where decisions separate the classes (Platt, 1999; the Newton
    method is that of Lin, Lin and Weng, 2007).

    >>> decisions = np.array([-1.0, 1.0, -1.0, 1.0])
    >>> of = fit_sigmoid(decisions, np.sign(decisions), np.ones(4))
    >>> np.round(of(np.array([-1.0, 1.0])), 6)
    array([0.25, 0.75])
    """
    above, below = float(weights[y > 0].sum()), float(weights[y < 0].sum())
    t = np.where(y > 0, (above + 1.0) / (above + 2.0), 1.0 / (below + 2.0))
    scale = float(np.max(np.abs(decisions), initial=0.0)) or 1.0
    X = np.column_stack([decisions / scale, np.ones_like(decisions)])
    at = np.array([0.0, np.log((above + 1.0) / (below + 1.0))])

    def loss(v: Array) -> float:
        f = X @ v
        return float(weights @ (np.logaddexp(0.0, f) - t * f))

    for _ in range(MOST_STEPS):
        p = expit(X @ at)
        gradient = X.T @ (weights * (p - t))
        if float(np.max(np.abs(gradient))) <= PRECISION * float(weights.sum()):
            break
        H = X.T @ ((weights * p * (1.0 - p))[:, None] * X) + RIDGE * np.eye(2)
        step = -np.linalg.solve(H, gradient)
        length, now = 1.0, loss(at)
        while length > PRECISION and loss(at + length * step) > now + 1e-4 * length * float(
            gradient @ step
        ):
            length *= 0.5
        at = at + length * step
    return DecisionSigmoid(float(at[0]) / scale, float(at[1]))


def couple_probabilities(pairwise: Array) -> Array:
    r"""Return probabilities of classes from those of pairs, r_ij being that of i among i and j.

    .. math:: \min_p\; \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2, \qquad \sum_i p_i = 1

    (Wu, Lin and Weng, 2004, their second method). The solution is positive for 0 < r < 1.

    >>> r = np.array([[[0.0, 0.5, 0.8], [0.5, 0.0, 0.8], [0.2, 0.2, 0.0]]])
    >>> np.round(couple_probabilities(r), 6)
    array([[0.444444, 0.444444, 0.111111]])
    """
    count = pairwise.shape[1]
    other = np.swapaxes(pairwise, 1, 2)
    Q = -other * pairwise
    Q[:, np.arange(count), np.arange(count)] = np.sum(other**2, axis=2) - np.einsum(
        "nii->ni", other**2
    )
    border = np.zeros((len(Q), count + 1, count + 1))
    border[:, :count, :count] = Q
    border[:, count, :count] = border[:, :count, count] = 1.0
    right = np.zeros((count + 1, 1))
    right[count] = 1.0
    p = np.linalg.solve(border, np.broadcast_to(right, (len(Q), count + 1, 1)))[:, :count, 0]
    p = np.maximum(p, 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
