"""Canonical correlations of two views of the same individuals, each seen by its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.check import EPSILON, Array, refuse_lazy
from mercer.engines.engine import Engine
from mercer.engines.held import move_beside
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import (
    Computing,
    KernelModel,
    all_or_nothing,
    as_kernel,
    on_engine,
)
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.given import Precomputed
from mercer.progress import Progress, follow_work
from mercer.resampling import PERMUTATIONS, Resampling
from mercer.settings import RandomState, nonnegative, whole
from mercer.targets import Origin, keep_points
from mercer.tensors import like_given

STORED_INDIVIDUALS = 5_000
"""Individuals whose two matrices are decomposed, which takes a minute for the most."""

TIE = 1e-12
"""Correlations that differ by less than this share are equal."""

BATCH = 16
"""Permutations that a thread takes at a time."""

NEGATIVE = 1e-7
"""Negative eigenvalue of a given matrix, as a share of the largest, that may be rounding."""


class View(KernelModel):
    """One view: its points, the eigenvectors of its centred matrix, and images of new points."""

    kernel: Kernel | str | Any

    def __init__(self, kernel: Any = "linear") -> None:
        self.kernel = kernel

    def decompose(self, X: Any) -> None:
        """Find the eigenpairs of HKH that rounding did not make, the largest first."""
        points = self._read(X, reset=True)
        n = len(points)
        if self._is_precomputed:
            gram = Gram(Precomputed(np.asarray(points)), np.arange(n))
        else:
            kernel = as_kernel(self.kernel).resolve(points)
            self.origin_ = Origin.of(kernel, points, "constant")  # centring makes up for it
            self.points_ = keep_points(self.origin_.points(points))
            gram = Gram(kernel, self.points_)
        self.kernel_ = gram.kernel
        centred = gram.centred()
        values, vectors = np.linalg.eigh(n * np.asarray(centred.dense()))
        self.means_, self.count_ = np.asarray(centred.mean_rows), n
        if np.iscomplexobj(vectors):
            raise InvalidInput(f"KernelCCA needs real kernels, and {gram.kernel} is complex")
        rounding = n * EPSILON * max(float(values[-1]), float(np.mean(np.abs(gram.diag()))))
        self._refuse_negative(values, rounding)
        is_kept = values > rounding
        self.values_ = values[is_kept][::-1].copy()
        self.vectors_ = vectors[:, is_kept][:, ::-1].copy()

    def _refuse_negative(self, values: Array, rounding: float) -> None:
        if values[0] < -max(NEGATIVE * float(values[-1]), rounding):
            raise InvalidParameter(
                f"the centred matrix of {self.kernel_} has the negative eigenvalue "
                f"{values[0]:.3g}: choose a positive definite kernel"
            )

    def directions(self, axes: Array, shift: float) -> Array:
        """Return the weights α of functions Σ αᵢ k(xᵢ, ·) from axes in the eigenvectors."""
        return np.asarray(self.vectors_ @ (axes / (self.values_ + shift)[:, None]))

    def scores(self, X: Any, directions: Array) -> Array:
        """Return the values of functions at points, minus their means over those of the fit."""
        stays = not self._is_precomputed and self.origin_.point is None
        points = self._read(X, reset=False, stays=stays)
        # (κ - κ̄1)A = κ(A - 1Ā): the means of new rows need not be subtracted from them.
        centred = directions - directions.mean(axis=0)
        if self._is_precomputed:
            images = np.asarray(points) @ centred
        else:
            seen = self.origin_.points(points)
            images = Gram(self.kernel_, seen, self.points_).product(move_beside(centred, seen))
        found: Array = like_given(images - self.means_ @ centred, X)
        return found


class KernelCCA(Computing):
    r"""Functions of two views of the same individuals that are correlated as much as can be.

    .. math:: \rho = \max_{\alpha, \beta} \frac{\alpha^\top K L \beta}
        {\|(K + n\gamma I)\alpha\|\, \|(L + n\gamma I)\beta\|}, \qquad
        f = \sum_i \alpha_i k(x_i, \cdot), \; g = \sum_i \beta_i l(y_i, \cdot)

    K and L being the centred Gram matrices of the views. The correlations are the singular values
    of (K + nγI)⁻¹ K L (L + nγI)⁻¹, between 0 and 1, and each pair of functions is uncorrelated with
    the others in this sense. Without a penalty γ and with linear kernels they are the canonical
    correlations of the columns; where the features of both views together span all contrasts of
    the individuals every correlation would be 1, and γ > 0 is needed.

    Parameters
    ----------
    n_components : int
        The number of pairs of functions.
    kernels : pair of kernels
        Each a kernel, its written form, a Python function of two points, or ``"precomputed"``.
        The views may be of different kinds.
    penalty : float or pair of floats
        γ ≥ 0, one for both views or one for each. It is to be compared with the eigenvalues of
        K/n, which sum to the mean of k(x, x) less that of all k(x, y).
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.

    Attributes
    ----------
    correlations_ : the regularised correlations ρ, which are what is maximised
    sample_correlations_ : those of the scores of the individuals
    x_scores_, y_scores_ : f and g at the individuals, with variance 1 as γ goes to 0
    x_weights_, y_weights_ : α and β, one column for each pair
    kernels_ : the kernels with their rules resolved
    p_value_seed_ : after `p_value`, the seed that repeats it

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 40)[:, None]
    >>> y = np.column_stack([x[:, 0] ** 2, np.cos(9.0 * x[:, 0])])
    >>> model = KernelCCA(1, kernels=("poly(degree=2, gamma=1.0)", "linear")).fit(x, y)
    >>> bool(model.sample_correlations_[0] > 0.99)
    True
    >>> bool(KernelCCA(1, kernels=("linear", "linear")).fit(x, y).sample_correlations_[0] < 0.1)
    True

    References
    ----------
    Bach and Jordan (2002), §3.2; Hardoon, Szedmak and Shawe-Taylor (2004), §4.
    """

    is_of_the_host: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernels: Sequence[Any] = ("linear", "linear"),
        penalty: float | tuple[float, float] = 1e-2,
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernels = kernels
        self.penalty = penalty
        self.engine = engine
        self.threads = threads
        self.memory = memory

    @on_engine
    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
    ) -> KernelCCA:
        """Find the pairs of functions of two views, whose rows are the same individuals.

        ``progress`` counts the tiles of either matrix.
        """
        count = whole(self.n_components, "n_components", least=1)
        left, right = self._pair(self.kernels, "kernels")
        penalties = [nonnegative(p, "penalty") for p in self._penalties()]
        with all_or_nothing(self):
            self._views = View(left), View(right)
            self._check_lengths(X, Y)
            for view, data in zip(self._views, (X, Y), strict=True):
                view.decompose(data)
            n = self._views[0].count_
            if self._views[1].count_ != n:
                raise InvalidInput(f"X has {n} individuals and Y has {self._views[1].count_}")
            shifts = [n * penalty for penalty in penalties]
            scores = self._keep(self._between(shifts), count, shifts)
            self.x_scores_, self.y_scores_ = map(like_given, scores, (X, Y))
        return self

    def _check_lengths(self, X: Any, Y: Any) -> None:
        refuse_lazy(X, "X")
        refuse_lazy(Y, "Y")
        n = len(X) if not hasattr(X, "shape") else X.shape[0]
        if n > STORED_INDIVIDUALS:
            raise InvalidParameter(
                f"KernelCCA decomposes two matrices of at most {STORED_INDIVIDUALS} individuals, "
                f"found {n}: use NystromFeatures of each view, with linear kernels"
            )
        if Y is None:
            raise InvalidInput("KernelCCA needs two views: give Y too")

    @staticmethod
    def _pair(given: Any, name: str) -> tuple[Any, Any]:
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
            raise InvalidParameter(f"{name} must be a pair, one for each view; found {given!r}")
        return given[0], given[1]

    def _penalties(self) -> tuple[Any, Any]:
        if isinstance(self.penalty, Sequence):
            return self._pair(self.penalty, "penalty")
        return self.penalty, self.penalty

    def _between(self, shifts: list[float]) -> Array:
        """Return (K + nγI)⁻¹ K L (L + nγI)⁻¹ between the eigenvectors of the views."""
        ranks = [len(view.values_) for view in self._views]
        n = self._views[0].count_
        if min(ranks) == 0:
            raise InvalidInput("a view is the same for all individuals: it has no correlations")
        if 0.0 in shifts and sum(ranks) > n - 1:
            raise InvalidParameter(
                f"the views have ranks {ranks[0]} and {ranks[1]}, together more than the "
                f"{n - 1} contrasts of {n} individuals: without a penalty functions of them are "
                "correlated by construction. Give penalty > 0"
            )
        self._filters = tuple(
            view.values_ / (view.values_ + shift)
            for view, shift in zip(self._views, shifts, strict=True)
        )
        return self._crossed(self._views[1].vectors_)

    def _crossed(self, vectors: Array) -> Array:
        """Return the matrix whose singular values are the correlations, of the second's axes."""
        left, right = self._filters
        return np.asarray(left[:, None] * (self._views[0].vectors_.T @ vectors) * right)

    def _keep(self, cross: Array, count: int, shifts: list[float]) -> tuple[Array, Array]:
        """Keep the pairs of functions, and return their values at the individuals."""
        u, rho, vt = np.linalg.svd(cross, full_matrices=False)
        count = min(count, len(rho))
        n = self._views[0].count_
        self.correlations_ = np.minimum(rho[:count], 1.0)
        weights = [
            np.sqrt(n) * view.directions(axes[:, :count], shift)
            for view, axes, shift in zip(self._views, (u, vt.T), shifts, strict=True)
        ]
        largest = np.argmax(np.abs(weights[0]), axis=0)
        signs = np.sign(weights[0][largest, np.arange(count)])
        self.x_weights_, self.y_weights_ = (w * signs for w in weights)
        f, g = (
            view.vectors_ @ (view.values_[:, None] * (view.vectors_.T @ w))
            for view, w in zip(self._views, (self.x_weights_, self.y_weights_), strict=True)
        )
        sizes = np.linalg.norm(f, axis=0) * np.linalg.norm(g, axis=0)
        products = np.sum(f * g, axis=0)
        self.sample_correlations_ = products / np.where(sizes > 0, sizes, 1.0)
        self.kernels_ = tuple(view.kernel_ for view in self._views)
        return f, g

    @on_engine
    def transform(self, X: Any, Y: Any = None) -> Any:
        """Return f at points of the first view, and g at points of the second if there are any.

        For points of the second view alone give None as X.
        """
        check_is_fitted(self)
        x, y = (
            None if data is None else view.scores(data, weights)
            for view, data, weights in zip(
                self._views, (X, Y), (self.x_weights_, self.y_weights_), strict=True
            )
        )
        if x is None and y is None:
            raise InvalidInput("give points of the first view, of the second, or of both")
        if x is None or y is None:
            return y if x is None else x
        return x, y

    def fit_transform(self, X: Any, Y: Any) -> tuple[Array, Array]:
        """Fit, and return the scores of both views."""
        self.fit(X, Y)
        return self.x_scores_, self.y_scores_

    def p_value(
        self,
        permutations: int = PERMUTATIONS,
        *,
        stop_after: int | None = None,
        random_state: RandomState = None,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> float:
        r"""Return how rarely chance gives the views as large a first correlation.

        .. math:: p = \frac{1 + \#\{r : \rho_r \ge \rho\}}{R + 1}

        over R permutations of the individuals of the second view, which leave its own matrix as it
        is. The level is exact where the views are independent. ``p_value_seed_`` is the seed that
        repeats the last one.
        """
        check_is_fitted(self)
        axes = self._views[1].vectors_
        observed = float(np.linalg.norm(self._crossed(axes), 2))
        with follow_work(progress, "permutations") as tell:
            draws = Resampling.of(
                permutations,
                random_state,
                stop_after=stop_after,
                threads=threads,
                progress=tell,
            )
            self.p_value_seed_ = draws.seed

            def correlation(r: int) -> float:
                order = draws.generator(r).permutation(len(axes))
                return float(np.linalg.norm(self._crossed(axes[order]), 2))

            null = draws.null(draws.batches(correlation, BATCH), observed * (1.0 - TIE))
        return float(null.p_values[0])
