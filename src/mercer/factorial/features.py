"""Principal components of the features of a kernel that has finitely many."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer.check import Array, Points
from mercer.errors import InvalidInput, NotAvailable
from mercer.estimator import all_or_nothing, weights_of
from mercer.kernels.base import Kernel
from mercer.operators import shares
from mercer.pca import PCA
from mercer.progress import Progress


class FeaturePCA(PCA):
    r"""The kernel PCA of a kernel with features φ, found from their inner products.

    .. math:: k(x, y) = \langle \varphi(x), \varphi(y) \rangle, \quad
        \sum_i w_i\, (\varphi(x_i) - \mu)(\varphi(x_i) - \mu)^\top = V \Lambda V^\top

    A model says which kernel it takes and how the individuals weigh; all that is read of a PCA is
    read of it.
    """

    kernel_: Kernel
    standardize: bool = False  # the kernel has done so
    column_weight = None
    constant_columns: str = "exclude"
    equivalents: ClassVar[Any] = {}

    def __init__(self, n_components: float | None = None) -> None:
        self.n_components = n_components

    def _points(self, X: Any, *, reset: bool) -> Points:
        """Return the data as the kernel reads them, their columns noted or compared."""
        raise NotImplementedError

    def _stated_kernel(self, points: Any, weights: Array) -> Kernel:
        """Return the kernel of the analysis, its parameters found from the weighted points."""
        raise NotImplementedError

    def _individual_weights(self, points: Any, given: Array) -> Array:
        """Return how much individuals weigh, given how often each is counted."""
        return given

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,
    ) -> Any:
        """Find the axes of the individuals X; ``progress`` is that of `PCA.fit`."""
        with all_or_nothing(self):
            points = self._points(X, reset=True)
            weights = self._individual_weights(points, weights_of(sample_weight, len(points)))
            self.kernel_ = self._stated_kernel(points, shares(weights, len(points)))
            self._given = points
            super().fit(X, sample_weight=weights, progress=progress)
        return self

    def _read(self, X: Any, *, reset: bool) -> Array:
        if reset:
            return self._fitted_features()
        return np.asarray(self.kernel_.features(self._points(X, reset=False)))

    def _fitted_features(self) -> Array:
        """Return the features of the individuals of the fit."""
        return np.asarray(self.kernel_.features(self._given))

    @cached_property
    def feature_rank(self) -> int:
        """How many axes there can be: of q factors with m levels in all, m - q."""
        features, w = self._fitted_features(), self.weights_
        R = np.linalg.qr(np.sqrt(w)[:, None] * (features - w @ features), "r")
        return int(np.linalg.matrix_rank(R))

    @property
    def X_fit_(self) -> Any:  # noqa: N802  (scikit-learn's name)
        """The individuals of the fit."""
        return self._given

    @cached_property
    def _loadings(self) -> Array:
        """The axes in the features, one column for each axis."""
        return self.components_.T

    def _refit(self, weights: Array) -> Any:
        model = clone(self)
        model.fit(self._given, sample_weight=self.sample_weights(weights))
        self._name_alike(model)
        return model

    def inverse_transform(self, X: Any) -> Array:
        """Refuse: the features that coordinates stand for are those of no individual."""
        raise InvalidInput(
            f"{type(self).__name__} has no inverse: the features that coordinates stand for are "
            "those of no individual"
        )

    def slopes_at(self, points: Any, count: int) -> tuple[Any, Array]:
        """Refuse: the axes are straight in the features, not in the data."""
        raise NotAvailable(
            f"the axes of {type(self).__name__} are straight in the features of its kernel, not in "
            "the data: KernelPCA(kernel=model.kernel_) has the slopes of kernels with derivatives"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.transformer_tags.preserves_dtype = []
        return tags
