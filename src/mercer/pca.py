"""Principal component analysis in the space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, InvalidParameter, NotPositiveDefinite, whole
from mercer.engines.base import Engine
from mercer.engines.cpu import Threads
from mercer.estimator import KernelModel, as_kernel
from mercer.gram import Centred, Gram
from mercer.kernels.base import Kernel
from mercer.kernels.functions import Precomputed
from mercer.kernels.vectors import Linear
from mercer.spectrum import STORED, Spectrum, leading

MOST_NEGATIVE = 1e-8
"""The share of negative eigenvalues in Σ|λ| above which a Gram matrix is not one by rounding."""


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelModel):
    r"""Principal component analysis of the features of a kernel, by exact eigenpairs.

    .. math:: W^{1/2} H K H^\top W^{1/2} = U \Lambda U^\top, \quad
        F = H K H^\top W^{1/2} U \Lambda^{-1/2}

    with weights w that sum to 1, H = I - 1wᵀ and W = diag(w); without weights F = √λ·u. Beyond a
    thousand individuals K is not stored, unless ``method="dense"`` or more axes than a fifth of
    the individuals are asked for. Axes below the numerical rank are left out.

    Parameters
    ----------
    n_components : int or None
        How many axes; None keeps all above the numerical rank, up to 3 000 individuals.
    kernel : Kernel, str or function
        A kernel, its written form, a Python function of two points, or ``"precomputed"``.
    tol : float
        The residual ‖Ku - λu‖ allowed, as a share of the largest eigenvalue.
    method : {"auto", "dense", "exact"}
        Whether to decompose the whole matrix or to iterate without it.
    engine : Engine or "auto"
        Where tiles are computed.
    deterministic : bool
        Whether to add in the same order every time, bit for bit.
    random_state : int or None
        The seed of the landmarks and probes.

    Attributes
    ----------
    inertias_ : the inertia of each axis; weights sum to 1
    inertia_ : the total inertia, exact even when few axes were computed
    eigenvalues_, eigenvectors_ : those of the centred Gram matrix, as in scikit-learn
    spectrum_ : values, vectors, proved errors, and how they were found

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> model = mc.KernelPCA(2, kernel=mc.Linear()).fit(x)
    >>> model.inertias_, model.inertia_
    (array([1.  , 0.25]), 1.25)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Linear(),  # noqa: B008  (a value)
        tol: float = 1e-9,
        method: str = "auto",
        engine: Engine | str = "auto",
        deterministic: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.tol = tol
        self.method = method
        self.engine = engine
        self.deterministic = deterministic
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> KernelPCA:
        """Find the axes of the individuals X."""
        points = self._read(X, reset=True)
        gram = self._gram(points)
        centred = gram.centred(sample_weight)
        spectrum = leading(
            centred,
            self._count(len(points)),
            tol=self.tol,
            method=self._method(len(points)),
            random_state=self.random_state,
        )
        _refuse_negative(spectrum)
        total = len(points) if sample_weight is None else float(np.asarray(sample_weight).sum())
        self.kernel_, self.X_fit_ = gram.kernel, points
        self._keep(spectrum, centred, total)
        return self

    def _threads(self) -> Engine:
        if self.engine == "auto":
            return Threads(is_deterministic=self.deterministic)
        if isinstance(self.engine, str):
            raise InvalidParameter(f"engine must be 'auto' or an engine, found {self.engine!r}")
        return self.engine

    def _gram(self, points: Any) -> Gram:
        if not self._is_precomputed:
            return Gram(as_kernel(self.kernel), points, engine=self._threads())
        return Gram(Precomputed(points), np.arange(len(points)), engine=self._threads())

    def _count(self, n: int) -> int:
        if self.n_components is not None:
            return whole(self.n_components, "n_components", least=1)
        if n > STORED:
            raise InvalidParameter(
                f"n_components=None keeps every axis, which takes the whole matrix of {n} "
                f"individuals; beyond {STORED} give a number, for example n_components=10"
            )
        return n

    def _method(self, n: int) -> str:
        return "dense" if self.n_components is None and n <= STORED else self.method

    def _keep(self, spectrum: Spectrum, centred: Centred, total: float) -> None:
        floor = spectrum.threshold
        kept = int(np.sum(spectrum.values > floor))
        self.spectrum_ = spectrum
        self.inertias_ = spectrum.values[:kept]
        self.inertia_ = spectrum.trace
        self.eigenvalues_ = total * self.inertias_
        self.eigenvectors_ = spectrum.vectors[:, :kept]
        n = centred.shape[0]
        self.explained_variance_ = self.inertias_ * (n / (n - 1)) if n > 1 else 0.0 * self.inertias_
        self.explained_variance_ratio_ = (
            self.inertias_ / self.inertia_ if self.inertia_ > floor else 0.0 * self.inertias_
        )
        # A' = A - w(1ᵀA): what is left of the centring once K w has been subtracted.
        axes = centred.roots * self.eigenvectors_ / np.sqrt(self.inertias_)
        self._axes = axes - centred.weights[:, None] * axes.sum(axis=0)
        self._origin = centred.mean_rows.conj() @ self._axes
        self._roots = centred.roots
        self._n_features_out = kept

    def transform(self, X: Any) -> Array:
        """Return the coordinates of individuals, centred with the means of the training ones."""
        check_is_fitted(self)
        points = self._read(X, reset=False)
        if self._is_precomputed:
            scores = np.asarray(points) @ self._axes - self._origin
        else:
            cross = Gram(self.kernel_, points, self.X_fit_, engine=self._threads())
            scores = cross.product(self._axes) - self._origin
        return self._in_dtype(scores, X)

    def fit_transform(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Array:
        """Fit, and return the coordinates of the same individuals."""
        self.fit(X, y, sample_weight=sample_weight)
        if not np.all(self._roots > 0):
            return self.transform(X)  # individuals without weight are supplementary
        return self._in_dtype(self.eigenvectors_ * np.sqrt(self.inertias_) / self._roots, X)

    def _in_dtype(self, scores: Array, X: Any) -> Array:
        is_single = getattr(X, "dtype", None) == np.float32
        return scores.astype(np.float32) if is_single else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _refuse_negative(spectrum: Spectrum) -> None:
    mass = spectrum.negative_mass
    if mass is not None and mass > MOST_NEGATIVE:
        raise NotPositiveDefinite(
            f"the centred Gram matrix is not positive semidefinite: {100 * mass:.3g} % of its "
            "eigenvalues, by modulus, are negative. Choose a positive definite kernel; from "
            "distances, raise them to mercer.largest_euclidean_power first"
        )
