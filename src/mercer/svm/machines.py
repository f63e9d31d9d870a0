"""What all support vector machines share, and those of one program: a tube, and one class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points, in_dtype_of, namespace, shares_of
from mercer.display import warn
from mercer.engines.engine import Engine
from mercer.engines.held import given_back, move_beside
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import OF_KERNELS, KernelModel, as_kernel, on_engine, weights_of
from mercer.gram import Gram
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.given import Precomputed
from mercer.kernels.radial import Gaussian
from mercer.points import take
from mercer.progress import Progress
from mercer.settings import nonnegative, number
from mercer.svm.margins import fit_tube, margin_from_origin
from mercer.svm.quadratic import GRADIENT_ROUNDING, Expansion, is_definite, scale_of
from mercer.targets import Origin, check_size, one_each, read_targets

STORED_POINTS = 10_000
"""Points up to which the matrix (0.8 GB) is stored."""

MOST_GAP = 1e-8
"""Duality gap, as a share of the objective, above which a fit warns."""

LOST_GAP = 1.0
"""Rounding, as a share of the objective, above which the objective is not known."""

E = TypeVar("E", bound=Expansion)


class Machine(KernelModel):
    """A model of functions f = Σ βᵢ k(xᵢ, ·) + b whose weights solve a quadratic program."""

    _used: Array

    def _positive_weights(self, sample_weight: Any, count: int) -> Array:
        """Return the weights that are positive, and note whose they are."""
        if count > STORED_POINTS:
            raise InvalidParameter(
                f"the matrix of at most {STORED_POINTS} points is stored, found {count}: use a "
                "sample of the points"
            )
        weights = weights_of(sample_weight, count)
        check_size(weights, "sample_weight")
        self._count, self._used = count, np.flatnonzero(weights > 0)
        self.weights_ = shares_of(weights)
        return np.asarray(weights[self._used])

    def _matrix(self, points: Points, *, has_constant: bool = True) -> Array:
        """Return the matrix of the points that have a weight.

        With a free constant weights sum to zero. A conditionally positive definite kernel is then
        enough, and points are seen from their mean where that keeps digits.
        """
        if self._is_precomputed:
            self.X_fit_, self._origin = None, Origin()
            gram = Gram(Precomputed(np.asarray(points)), self._used)
        else:
            used = take(points, self._used)
            kernel = as_kernel(self.kernel).resolve(used)
            self.X_fit_ = used
            self._origin = Origin.of(kernel, used, "constant" if has_constant else None)
            gram = Gram(kernel, self._origin.points(used))
        K = gram.dense()
        if np.iscomplexobj(K):
            raise InvalidInput(
                f"{type(self).__name__} needs a real kernel, and {gram.kernel} is complex"
            )
        self.kernel_, self._points = gram.kernel, gram.x
        self._entry = gram.entry_rounding().entry
        is_proved = bool(gram.kernel.proof) and (
            has_constant or gram.kernel.kind is not Kind.CONDITIONAL
        )
        self._is_convex = is_proved or is_definite(K, is_centred=has_constant)
        return K

    def _keep(self, found: Sequence[tuple[Array, E]]) -> list[E]:
        """Keep the solutions on parts of the points, and return them for points as they came."""
        rows = [self._used[inside] for inside, _ in found]
        self.dual_coef_ = np.zeros((len(found), self._count))
        self.slacks_ = np.full((len(found), self._count), np.nan)
        for k, (_, solution) in enumerate(found):
            self.dual_coef_[k, rows[k]] = solution.weights
            self.slacks_[k, rows[k]] = solution.slacks
        self._weights = self.dual_coef_[:, self._used]
        self._intercepts = np.array([s.intercept for _, s in found])
        none = np.zeros((1, len(found)))
        moved = self._origin.null_weights(none, self.kernel_, self._weights.T, self._points)[0]
        solutions = [
            (s if self._is_convex else replace(s, gap=np.inf)).moved(float(b))
            for (_, s), b in zip(found, moved, strict=True)
        ]
        self.support_ = np.flatnonzero(np.any(self.dual_coef_ != 0, axis=0))
        self.intercept_ = np.array([s.intercept for s in solutions])
        self.intercept_intervals_ = np.array([s.interval for s in solutions])
        self.objective_ = float(sum(s.objective for s in solutions))
        self.gap_ = float(sum(s.gap for s in solutions))
        self.rounding_ = float(sum(s.rounding for s in solutions))
        self.n_iter_ = max(s.steps for s in solutions)
        doubt = self._doubt(solutions)
        if doubt:
            warn(doubt, ConvergenceWarning)
        return solutions

    def _give_back(self, X: Any) -> None:
        """Turn weights and slacks of points into arrays like these."""
        self.dual_coef_ = given_back(self.dual_coef_, X)
        self.slacks_ = given_back(self.slacks_, X)

    def _doubt(self, solutions: Sequence[Expansion]) -> str:
        """Return why the optimum is not known well, empty if it is."""
        if any(s.rounding > LOST_GAP * abs(s.objective) for s in solutions) and self._is_convex:
            return (
                "rounding of the kernel's values can change the objective "
                f"{self.objective_:.6g} by {self.gap_:.2g}: centre the points, or use a smaller "
                "C"
            )
        # Both sides of a gap are known up to rounding, which a smaller difference says nothing of.
        if not any(s.gap > MOST_GAP * abs(s.objective) + 2.0 * s.rounding for s in solutions):
            return ""
        if self._is_convex:
            return (
                f"the optimum is proved only to within {self.gap_:.2g} of {self.objective_:.6g}; "
                "C is too large for the condition of the kernel"
            )
        return (
            "the kernel is not positive definite on these points: the conditions of an optimum "
            "hold, and other separators may be better"
        )

    @on_engine
    def _values(self, X: Any) -> Any:
        """Return f at points, a column for each solution, as an array like what was given."""
        points = self._read(X, reset=False, stays=self._origin.point is None)
        if self._is_precomputed:
            product = np.asarray(points)[:, self._used] @ self._weights.T
        else:
            seen = self._origin.points(points)
            weights = move_beside(self._weights.T, seen)
            product = Gram(self.kernel_, seen, self._points).product(weights)
        return given_back(product + self._intercepts, X)

    @property
    def support_vectors_(self) -> Points:
        """The points that carry weight; a model of a precomputed matrix has none."""
        points: Points | None = vars(self).get("X_fit_")
        if points is None:
            raise AttributeError(
                f"{type(self).__name__} has support_vectors_ once it is fitted to points; of a "
                "precomputed matrix support_ gives their rows"
            )
        return take(points, np.searchsorted(self._used, self.support_))


def read_share(nu: Any) -> float:
    """Return ν, a share of the points."""
    value = number(nu, "nu", above=0.0)
    if value > 1.0:
        raise InvalidParameter(f"nu is a share of the points, at most 1; found {nu!r}")
    return value


class SVR(RegressorMixin, Machine):
    r"""The flattest function whose errors exceed ε at a cost only.

    .. math:: \min_{h \in H,\, b}\; \tfrac{1}{2} \|h\|^2 +
        C \sum_i \max(0, |y_i - h(x_i) - b| - \varepsilon)

    Predictions are those of the optimum for the matrix in double precision: libsvm, whose matrix
    is in single precision, gives the start, and the optimality conditions are then solved on the
    points on the rim of the tube. With ε = 0 it is the regression of the median,
    ``KernelRegression(loss="absolute", null_space="constant")`` with penalty = 1/(2nC).

    Parameters
    ----------
    kernel : Kernel, str or function
        A kernel, its written form, a Python function of two points, or ``"precomputed"``.
    C : float
        The cost of a point outside the tube, for each unit of distance.
    epsilon : float
        Half the width of the tube, in the units of y.
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.

    Attributes
    ----------
    dual_coef_ : the weights of all points, |βᵢ| ≤ C, as a row
    support_, support_vectors_ : the rows that carry weight, and their points
    slacks_ : how far each y lies outside the tube, NaN for points without weight
    intercept_, intercept_intervals_ : b, and all that are as good
    gap_ : the duality gap, infinite for a matrix that is not positive definite
    rounding_ : what of the gap is owed to rounding, of the kernel's values too
    objective_ : the objective

    Examples
    --------
    >>> model = SVR("linear", C=10.0, epsilon=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[0.0], [2.0]]), model.support_
    (array([0.5, 1.5]), array([0, 2]))

    References
    ----------
    Smola and Schölkopf (2004).
    """

    equivalents: ClassVar[Mapping[str, str]] = OF_KERNELS

    def __init__(
        self,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Gaussian("median"),  # noqa: B008
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
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
    ) -> SVR:
        """Find the tube; weights multiply the cost of each point; ``progress`` counts tiles."""
        points = self._read(X, reset=True)
        kind = type(self).__name__
        targets = one_each(read_targets(y, len(points), kind), kind)
        weights = self._positive_weights(sample_weight, len(targets))
        costs = number(self.C, "C", above=0.0) * weights
        epsilon = nonnegative(self.epsilon, "epsilon")
        K = self._matrix(points)
        found = fit_tube(K, targets[self._used], costs, epsilon, self._entry)
        self._keep([(np.arange(len(K)), found)])
        self.slacks_ = self.slacks_[0]
        self._give_back(X)
        return self

    def predict(self, X: Any) -> Array:
        """Return h + b at points."""
        check_is_fitted(self)
        return in_dtype_of(X, self._values(X)[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class OneClassSVM(OutlierMixin, Machine):
    r"""The region that holds all points but a share ν, as the side of a plane in H.

    .. math:: \min_{h \in H,\, \rho}\; \tfrac{1}{2} \|h\|^2 - \nu n \rho +
        \sum_i \max(0, \rho - h(x_i))

    At most the share ν of the points has h(x) < ρ, and at least that share are support vectors.
    For kernels of constant diagonal, such as the Gaussian, it is the smallest ball around them.
    Decisions are those of the optimum for the matrix in double precision, as `SVC`'s are.

    Parameters
    ----------
    kernel : Kernel, str or function
        A positive definite kernel, its written form, a Python function of two points, or
        ``"precomputed"``.
    nu : float
        The share, between 0 and 1.
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.

    Attributes
    ----------
    dual_coef_ : the weights of all points, which sum to νn, as a row
    support_, support_vectors_ : the rows that carry weight, and their points
    offset_ : ρ; decisions are `score_samples` minus it
    slacks_ : how far below ρ each point lies, NaN for points without weight
    intercept_, intercept_intervals_ : -ρ, and all that are as good
    gap_ : the duality gap, infinite for a matrix that is not positive definite
    rounding_ : what of the gap is owed to rounding, of the kernel's values too
    objective_ : the objective

    Examples
    --------
    >>> model = OneClassSVM(Gaussian(1.0), nu=0.5).fit([[0.0], [0.1], [-0.1], [0.2], [5.0]])
    >>> model.predict([[0.05], [5.0]])
    array([ 1, -1])

    References
    ----------
    Schölkopf et al. (2001).
    """

    def __init__(
        self,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Gaussian("median"),  # noqa: B008
        *,
        nu: float = 0.5,
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.engine = engine
        self.threads = threads
        self.memory = memory

    @on_engine
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> OneClassSVM:
        """Find the region; weights multiply the cost of each point; ``progress`` counts tiles."""
        points = self._read(X, reset=True)
        weights = self._positive_weights(sample_weight, len(points))
        nu = read_share(self.nu)
        K = self._matrix(points, has_constant=False)
        found = margin_from_origin(K, weights, nu, self._entry)
        self._keep([(np.arange(len(K)), found)])
        self.slacks_ = self.slacks_[0]
        self.offset_ = -float(self.intercept_[0])
        self._rounding = GRADIENT_ROUNDING * scale_of(K) * float(np.sum(weights)) * nu
        self._give_back(X)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return h - ρ at points: negative for those unlike the others, 0 up to rounding on ρ."""
        check_is_fitted(self)
        values = self._values(X)[:, 0]
        xp: Any = namespace(values)
        return in_dtype_of(X, xp.where(xp.abs(values) <= self._rounding, 0.0 * values, values))

    def score_samples(self, X: Any) -> Array:
        """Return h at points."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for points like the others, -1 for those that are not."""
        values = self.decision_function(X)
        xp: Any = namespace(values)
        signs: Array = 2 * xp.astype(values >= 0.0, xp.int64) - 1
        return signs
