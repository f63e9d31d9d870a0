"""Points unlike the others: one class against the origin of the space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, in_dtype_of
from mercer.engines.engine import Engine
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.progress import Progress
from mercer.svm.expansion import scale_of
from mercer.svm.machine import Machine, share
from mercer.svm.one_class import margin_from_origin
from mercer.svm.quadratic import ROUNDING


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

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        progress: bool | Progress | None = None,
    ) -> OneClassSVM:
        """Find the region; weights multiply the cost of each point; ``progress`` counts tiles."""
        with self._at_work(progress):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> OneClassSVM:
        points = self._read(X, reset=True)
        weights = self._positive_weights(sample_weight, len(points))
        nu = share(self.nu)
        K = self._matrix(points, has_constant=False)
        found = margin_from_origin(K, weights, nu, self._entry)
        self._keep([(np.arange(len(K)), found)])
        self.slacks_ = self.slacks_[0]
        self.offset_ = -float(self.intercept_[0])
        self._rounding = ROUNDING * scale_of(K) * float(np.sum(weights)) * nu
        return self

    def decision_function(self, X: Any) -> Array:
        """Return h - ρ at points: negative for those unlike the others, 0 up to rounding on ρ."""
        check_is_fitted(self)
        values = self._values(X)[:, 0]
        return in_dtype_of(X, np.where(np.abs(values) <= self._rounding, 0.0, values))

    def score_samples(self, X: Any) -> Array:
        """Return h at points."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for points like the others, -1 for those that are not."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
