"""The axes of the same individuals under other weights, without another look at the data.

Of a cloud without one of its points they are roots of a secular equation of its own axes.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.check import EPSILON, Array, chunks
from mercer.errors import Advice, InvalidInput, ReadingWarning
from mercer.estimator import PRECOMPUTED, require_fit
from mercer.pca import PCA, KernelPCA
from mercer.spectrum.nearby import of_rows

SMALLEST = 1e-60
"""Least coordinate of a point: a smaller one still decides which way an axis points."""

ROOT_STEPS = 60
"""Steps of an iteration that converges quadratically; it takes about 6."""


def downdated(values: Array, points: Array, count: int) -> tuple[Array, Array]:
    r"""Return the largest eigenvalues of D - zzᵀ and their vectors, for each of some points z.

    D is the diagonal matrix of ``values``, largest first; points are rows. The eigenvalue μ between
    :math:`d_{k+1}` and :math:`d_k` is where

    .. math:: f(\mu) = 1 - \sum_j \frac{z_j^2}{d_j - \mu} = 0, \quad
        v_j \propto \frac{z_j}{d_j - \mu}

    It is found from the nearer of its two neighbours, so that differences keep their digits, by
    the rational interpolation of Li (1993). Equal values are set apart, and parts that are 0 away
    from it, by rounding errors of D and of z.

    >>> values, vectors = downdated(np.array([3.0, 1.0]), np.array([[1.0, 0.0], [2.0, 1.0]]), 2)
    >>> np.round(values, 6), np.linalg.eigvalsh(np.diag([3.0, 1.0]) - np.outer([2, 1], [2, 1]))
    (array([[ 2.      ,  1.      ],
           [ 1.561553, -2.561553]]), array([-2.56155281,  1.56155281]))
    """
    unit = float(values[0])
    steps = 4.0 * EPSILON * np.arange(len(values))
    d = np.minimum.accumulate(values / unit + steps) - steps
    z = points / np.sqrt(unit)
    squares = np.sum(z**2, axis=1)
    # Below the last value is none: one far down, that no point has a part in, stands for it.
    d = np.append(d, d[-1] - 1.0 - float(squares.max(initial=0.0)))
    least = np.maximum(EPSILON * np.sqrt(squares), SMALLEST)[:, None]
    z = np.hstack([z, np.zeros((len(z), 1))])
    z = np.where(np.abs(z) < least, np.copysign(least, z), z)
    roots = np.empty((len(z), count))
    vectors = np.empty((len(z), len(values), count))
    for k in range(count):
        found = _root(d, z**2, k)
        roots[:, k] = found.value
        v = z / found.gaps
        vectors[:, :, k] = v[:, :-1] / np.linalg.norm(v, axis=1)[:, None]
    return unit * roots, vectors


class _Root(NamedTuple):
    """An eigenvalue for each point, and its differences from the values of the diagonal."""

    value: Array
    gaps: Array


def _root(d: Array, squares: Array, k: int) -> _Root:
    """Return the eigenvalues between d[k + 1] and d[k]."""
    gap = d[k] - d[k + 1]
    is_upper = 1.0 - np.sum(squares / (d - d[k] + 0.5 * gap), axis=1) >= 0.0
    origin = np.where(is_upper, d[k], d[k + 1])
    away = d - origin[:, None]
    shift = np.where(is_upper, 0.5, -0.5) * gap  # what the eigenvalue is below its origin
    for _ in range(ROOT_STEPS):
        before = shift
        shift = _interpolated(away, squares, shift, k, is_upper=is_upper)
        if np.all(np.abs(shift - before) <= 4.0 * EPSILON * np.abs(shift)):
            break
    return _Root(origin - shift, away + shift[:, None])


def _interpolated(away: Array, squares: Array, shift: Array, k: int, *, is_upper: Array) -> Array:
    r"""Return the root of :math:`c - s/\delta + t/(g - \delta)`, which has f and its slopes here.

    The first fraction stands for the poles from d[k] up, with δ the distance from d[k], the
    second for those from d[k + 1] down; g is the gap between the two.
    """
    gaps = away + shift[:, None]
    terms = squares / gaps
    slopes = terms / gaps
    upper, lower = gaps[:, k], -gaps[:, k + 1]
    gap = away[:, k] - away[:, k + 1]
    above, below = (np.sum(slopes[:, part], axis=1) for part in (slice(k + 1), slice(k + 1, None)))
    s, t = upper**2 * above, lower**2 * below
    c = 1.0 - np.sum(terms, axis=1) + upper * above - lower * below
    b = np.where(is_upper, c * gap + s + t, -c * gap + s + t)
    near, far = np.where(is_upper, s, t), np.where(is_upper, c, -c)
    root = np.sqrt(np.maximum(b**2 - 4.0 * far * near * gap, 0.0))
    is_plain = b >= 0.0  # of two ways to write a root, the one that does not cancel
    plain = 2.0 * near * gap / np.where(is_plain & (b + root > 0.0), b + root, 1.0)
    other = (b - root) / np.where(is_plain, 1.0, 2.0 * far)
    found: Array = np.where(is_plain, plain, other)
    return np.where(is_upper, found, -found)


TOGETHER = 2**20
"""Coordinates held at a time, 8 MB, on axes of the cloud without one individual each."""

NOTHING = 1e-14
"""An inertia below this share of the whole is rounding."""


class Replicate(NamedTuple):
    """The axes of a replicate.

    ``scores`` are the coordinates of all individuals on them, ``cosines`` those with the axes of
    the model (rows), ``covariances`` those of the replicate between the axes of the model.
    """

    scores: Array
    inertias: Array
    cosines: Array
    covariances: Array


class ReplicateSource(ABC):
    """A fitted model that gives the axes of the same individuals under other weights."""

    has_threads = False
    """Whether each replicate is computed in threads of its own."""

    def __init__(self, model: Any, count: int) -> None:
        self.model, self.count = model, count
        fit = model.individuals_
        self.weights: Array = fit.weights
        self.scores: Array = fit.coordinates[:, :count]
        self.inertias: Array = model.inertias_[:count]

    @abstractmethod
    def at(self, weights: Array) -> Replicate:
        """Return the axes for weights that sum to 1."""

    def without(self, individuals: Array) -> Iterator[Replicate]:
        """Yield the axes without each of some individuals."""
        for i in individuals:
            rest = self.weights.copy()
            rest[i] = 0.0
            yield self.at(rest / rest.sum())


def source_of(model: Any, X: Any, count: int | None) -> ReplicateSource:
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
    individuals = int(np.sum(model.individuals_.weights > 0))
    if individuals < 3:
        raise InvalidInput("at least 3 individuals with a weight are needed to resample them")
    most = min(kept, individuals - 2)  # as many axes are left when an individual is left out
    count = min(2, most) if count is None else count
    if count > kept:
        raise InvalidInput(f"the model has {kept} axes, fewer than the {count} asked for")
    if count > most:
        raise InvalidInput(
            f"{individuals} individuals have {most} axes when one is left out, fewer than the "
            f"{count} asked for"
        )
    if isinstance(model, KernelPCA) and model.spectrum_.is_approximate:
        exact = Advice("method", "exact")
        raise InvalidInput(
            "the model is an approximation on landmarks, whose own error replicates would mix with "
            f"that of the sample; fit it with {exact}",
            exact,
        )
    is_large = isinstance(model, KernelPCA) and len(model.X_fit_) > model.limits.stored
    return Refits(model, count) if is_large else WeightedCloud(model, count)


class WeightedCloud(ReplicateSource):
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
        self.values = self.weights @ self.points**2
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
        mean, units = weights @ self.points, self._units(weights)
        active = weights > 0
        points = self.points[active]
        points -= mean
        points *= units
        values, axes = _largest(points, weights[active], self.count)
        both = units[:, None] * np.column_stack([axes, self.axes])
        images = self.points @ both
        images -= mean @ both
        scores, images = images[:, : self.count], images[:, self.count :]
        covariances = images.T @ (weights[:, None] * images)
        return Replicate(scores, values, self.axes[:, : self.count].T @ axes, covariances)

    def without(self, individuals: Array) -> Iterator[Replicate]:
        if self.is_standardised:
            yield from super().without(individuals)
            return
        many = max(1, TOGETHER // (len(self.points) * self.count + self.points.shape[1]))
        for part in chunks(len(individuals), many):
            yield from self._downdated(individuals[part])

    def _downdated(self, individuals: Array) -> Iterator[Replicate]:
        """Yield the same from covariances less those of one individual; see `jackknife`."""
        z, w = self.points[individuals], self.weights[individuals]
        shares = w / (1.0 - w)
        values, axes = downdated(self.values, np.sqrt(shares)[:, None] * z, self.count)
        is_there = values > NOTHING * self.values.sum()
        axes = np.where(is_there[:, None, :], axes, 0.0)
        values = np.where(is_there, values, 0.0) / (1.0 - w)[:, None]
        scores = np.tensordot(self.points, axes, axes=(1, 1))
        scores += shares[:, None] * np.einsum("ij,ijk->ik", z, axes)  # from the mean of the others
        cosines = self.axes[:, : self.count].T @ axes
        whole, own = self.axes.T @ (self.values[:, None] * self.axes), z @ self.axes
        for i in range(len(individuals)):
            covariances = (whole - shares[i] * np.outer(own[i], own[i])) / (1.0 - w[i])
            yield Replicate(scores[:, i], values[i], cosines[i], covariances)

    def _units(self, weights: Array) -> Array:
        """Return what coordinates are multiplied by: deviations are those of the replicate."""
        if not self.is_standardised:
            return np.ones(self.points.shape[1])
        found = weights @ (self.points - weights @ self.points) ** 2
        units: Array = np.sqrt(
            np.where(found > 0.0, self.values, 0.0) / np.where(found > 0.0, found, 1.0)
        )
        return units


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
        whole.fit(model.X_fit_, sample_weight=model.sample_weights(model.individuals_.weights))
    coordinates: Array = whole.individuals_.coordinates
    return coordinates


def _largest(points: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of the covariances of centred points, and their axes.

    Axes without inertia have no direction: they are 0.
    """
    A = np.sqrt(weights)[:, None] * points
    values, axes = of_rows(A, count)
    is_there = values > NOTHING * float(np.einsum("ij,ij->", A, A))
    return np.where(is_there, values, 0.0), np.where(is_there, axes, 0.0)


class Refits(ReplicateSource):
    r"""A kernel PCA too large for its matrix to be stored: fitted again for each replicate.

    The axes :math:`v_l = \sum_j A_{jl}\, \varphi_j` of a replicate and those of the model have the
    cosines :math:`\sum_j A_{jl} F_{jk}`, since the columns of A sum to 0.
    """

    has_threads = True

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
