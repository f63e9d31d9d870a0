"""The axes of the same individuals under other weights, without another look at the data."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.base import clone

from mercer.check import Array, InvalidInput
from mercer.estimator import PRECOMPUTED, require_fit
from mercer.pca import PCA, KernelPCA
from mercer.reading import ReadingWarning
from mercer.spectrum import STORED

DENSE = 200
"""Covariances of up to so many coordinates are decomposed whole, larger ones by Lanczos steps."""

FEW = 5
"""Whole decompositions are also taken where more than one axis in so many is asked for."""


class Replicate(NamedTuple):
    """The axes of a replicate.

    ``scores`` are the coordinates of all individuals on them, ``cosines`` those with the axes of
    the model (rows), ``covariances`` those of the replicate between the axes of the model.
    """

    scores: Array
    inertias: Array
    cosines: Array
    covariances: Array


class Source(ABC):
    """A fitted model that gives the axes of the same individuals under other weights."""

    def __init__(self, model: Any, count: int) -> None:
        self.model, self.count = model, count
        fit = model.individuals_
        self.weights: Array = fit.weights
        self.scores: Array = fit.coordinates[:, :count]
        self.inertias: Array = model.inertias_[:count]

    @abstractmethod
    def at(self, weights: Array) -> Replicate:
        """Return the axes for weights that sum to 1."""


def source_of(model: Any, X: Any, count: int | None) -> Source:
    """Return the source of replicates of a fitted model, or of one to be fitted to X."""
    if not isinstance(model, PCA | KernelPCA):
        raise InvalidInput(
            f"replicates are drawn of a PCA or a KernelPCA, found {type(model).__name__}"
        )
    if X is not None:
        model = clone(model).fit(X)
    require_fit(model)
    kept = len(model.inertias_)
    if kept == 0:
        raise InvalidInput("the model has no axes: all individuals coincide")
    count = min(2, kept) if count is None else count
    if count > kept:
        raise InvalidInput(f"the model has {kept} axes, fewer than the {count} asked for")
    if int(np.sum(model.individuals_.weights > 0)) < 3:
        raise InvalidInput("at least 3 individuals with a weight are needed to resample them")
    if isinstance(model, KernelPCA) and model.spectrum_.is_approximate:
        raise InvalidInput(
            "the model is an approximation on landmarks, whose own error replicates would mix with "
            "that of the sample; fit it with method='exact'"
        )
    is_large = isinstance(model, KernelPCA) and len(model.X_fit_) > STORED
    return Refits(model, count) if is_large else Cloud(model, count)


class Cloud(Source):
    r"""Individuals as points Z of a Euclidean space in which inner products are the model's.

    .. math:: C = \sum_i w_i (Z_i - m)(Z_i - m)^\top, \quad m = \sum_i w_i Z_i, \quad
        C V = V \Lambda, \quad F = (Z - 1 m^\top) V

    Z are the coordinates on all axes of the model, so that no kernel is evaluated again; of a
    standardised PCA its columns, which each replicate divides by their deviations anew.
    """

    def __init__(self, model: Any, count: int) -> None:
        super().__init__(model, count)
        self.is_standardised = bool(getattr(model, "standardize", False))
        self.points = _columns(model) if self.is_standardised else _all_coordinates(model)
        self.deviations = np.sqrt(self.weights @ self.points**2)
        axes = self.points.T @ (self.weights[:, None] * self.scores) / self.inertias
        self.axes = np.column_stack([axes, *self._next(axes)])

    def _next(self, axes: Array) -> list[Array]:
        """Return the axis after the last one asked for, if there is one."""
        if axes.shape[1] >= min(self.points.shape):
            return []
        rest = self.points - (self.points @ axes) @ axes.T
        values, following = _largest(rest, self.weights, 1)
        return [following[:, 0]] if values[0] > 0.0 else []

    def at(self, weights: Array) -> Replicate:
        mean = weights @ self.points
        points = self.points - mean
        if self.is_standardised:
            found = np.sqrt(weights @ points**2)
            points *= np.where(
                found > 0.0, self.deviations / np.where(found > 0.0, found, 1.0), 0.0
            )
        values, axes = _largest(points, weights, self.count)
        images = points @ self.axes
        covariances = images.T @ (weights[:, None] * images)
        return Replicate(points @ axes, values, self.axes[:, : self.count].T @ axes, covariances)


def _columns(model: PCA) -> Array:
    """Return the standardised columns of a table."""
    X = model.X_fit_
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X[:], dtype=np.float64)
    columns = (table - model.mean_) / model.scale_
    is_varying = model.individuals_.weights @ columns**2 > 0.5  # it is 1, or that of a constant
    roots = 1.0 if model.column_weight is None else np.sqrt(np.asarray(model.column_weight))
    return np.where(is_varying, roots * columns, 0.0)


def _kernel(model: KernelPCA) -> Any:
    """Return the kernel as the fit resolved it, so that replicates do not choose another."""
    is_given = isinstance(model.kernel, str) and model.kernel == PRECOMPUTED
    return PRECOMPUTED if is_given else model.kernel_


def _all_coordinates(model: Any) -> Array:
    """Return the coordinates of the individuals on all axes there are."""
    whole = clone(model).set_params(n_components=None)
    if isinstance(model, KernelPCA):
        whole.kernel = _kernel(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        whole.fit(model.X_fit_, sample_weight=model.individuals_.weights)
    coordinates: Array = whole.individuals_.coordinates
    return coordinates


def _largest(points: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of the covariances of centred points, and their axes."""
    active = weights > 0
    A = np.sqrt(weights[active])[:, None] * points[active]
    n, r = A.shape
    side = min(n, r)
    if side <= max(DENSE, FEW * count):
        if n < r:
            values, left = _whole(A @ A.T, count)
            sizes = np.sqrt(np.where(values > 0.0, values, np.inf))
            return values, A.T @ left / sizes
        return _whole(A.T @ A, count)
    operator = LinearOperator((r, r), matvec=lambda v: A.T @ (A @ v), dtype=np.float64)
    try:
        # The axes of the model come first among the coordinates, and are near to the answer.
        start = np.where(np.arange(r) < count, 1.0, 1.0 / r)
        values, axes = eigsh(operator, count, which="LA", v0=start)
    except ArpackNoConvergence:
        return _whole(A.T @ A, count)
    return np.maximum(values[::-1], 0.0), axes[:, ::-1]


def _whole(matrix: Array, count: int) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values[::-1][:count], 0.0), vectors[:, ::-1][:, :count]


class Refits(Source):
    r"""A kernel PCA too large for its matrix to be stored: fitted again for each replicate.

    The axes :math:`v_l = \sum_j A_{jl}\, \varphi_j` of a replicate and those of the model have the
    cosines :math:`\sum_j A_{jl} F_{jk}`, since the columns of A sum to 0.
    """

    def __init__(self, model: Any, count: int) -> None:
        super().__init__(model, count)
        self.images = model.individuals_.coordinates[:, : count + 1]

    def at(self, weights: Array) -> Replicate:
        other = clone(self.model).set_params(n_components=self.count)
        other.kernel = _kernel(self.model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadingWarning)
            other.fit(self.model.X_fit_, sample_weight=weights)
        missing = self.count - len(other.inertias_)
        if missing:
            raise InvalidInput(f"a replicate has {missing} axes fewer than {self.count}")
        A = np.sqrt(weights)[:, None] * other.eigenvectors_ / np.sqrt(other.inertias_)
        A -= weights[:, None] * A.sum(axis=0)
        images = self.images - weights @ self.images
        covariances = images.T @ (weights[:, None] * images)
        scores = other.individuals_.coordinates
        return Replicate(scores, other.inertias_, self.scores.T @ A, covariances)
