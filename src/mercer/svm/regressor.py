"""Regression with a tube in which errors cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.check import Array, in_dtype_of, nonnegative, number
from mercer.engines.engine import Engine
from mercer.estimator import OF_KERNELS
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.progress import Progress
from mercer.svm.machine import Machine
from mercer.svm.tube import tube_through
from mercer.targets import read_targets


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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        progress: bool | Progress | None = None,
    ) -> SVR:
        """Find the tube; weights multiply the cost of each point; ``progress`` counts tiles."""
        with self._at_work(progress):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> SVR:
        points = self._read(X, reset=True)
        targets = column_or_1d(read_targets(y, len(points), type(self).__name__), warn=True)
        weights = self._positive_weights(sample_weight, len(targets))
        costs = number(self.C, "C", above=0.0) * weights
        epsilon = nonnegative(self.epsilon, "epsilon")
        K = self._matrix(points)
        found = tube_through(K, targets[self._used], costs, epsilon, self._entry)
        self._keep([(np.arange(len(K)), found)])
        self.slacks_ = self.slacks_[0]
        return self

    def predict(self, X: Any) -> Array:
        """Return h + b at points."""
        check_is_fitted(self)
        return in_dtype_of(X, self._values(X)[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
