"""Classical multidimensional scaling: coordinates of points from the distances between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, chunks, finite
from mercer.data.frames import library_of
from mercer.display import costly, kept
from mercer.engines.engine import Engine
from mercer.errors import NotAvailable
from mercer.estimator import Computing, in_dtype_of, on_engine, one_of, weights_of
from mercer.gram import refuse_beyond
from mercer.kernels.definite import LARGEST_MATRIX, eigenvalues
from mercer.kernels.dissimilarities import distances_between, distances_within
from mercer.mds.distances import (
    METRICS,
    Distances,
    distances_of,
    names_of,
    read_cross,
    read_named,
    read_points,
    read_square,
    unit_of,
)
from mercer.mds.euclidean_correction import (
    CORRECTIONS,
    constant_of,
    corrected_cross,
    corrected_square,
)
from mercer.mds.limits import Limits
from mercer.mds.scaling_of_points import PointAxes
from mercer.operators import CentredSource
from mercer.progress import Progress
from mercer.reading.contributions_and_v_tests import Individuals
from mercer.reading.model import remark_axes
from mercer.settings import RandomState, memory_bytes, number, seed_of, whole
from mercer.spectrum import Spectrum, leading
from mercer.spectrum.leading import chosen_method

METHODS = ("auto", "dense", "exact")


class Goodness(NamedTuple):
    """The share of the kept axes in all eigenvalues, by two denominators.

    ``absolute`` divides by Σ|λ| and ``positive`` by Σ max(λ, 0). Both are between 0 and 1; they
    are equal exactly when no eigenvalue is negative.
    """

    absolute: float
    positive: float


@dataclass(frozen=True)
class DistanceAxes:
    """Axes found from distances, and where a point with given distances lies on them."""

    spectrum: Spectrum
    projection: Array
    origin: Array
    unit: float

    def coordinates(self, distances: Array) -> Array:
        r"""Return Gower's coordinates of points with given distances to the fitted ones.

        .. math:: f(x) = \tfrac{1}{2} \Lambda^{-1/2} U^\top W^{1/2}
            \left( b - d^2_x \right), \quad b = D^2 w - \tfrac{1}{2} w^\top D^2 w

        with D² the squared distances of the fitted points and w their weights.
        """
        d = distances / self.unit
        on_axes: Array = (-0.5 * d * d) @ self.projection - self.origin
        return self.unit * on_axes


class ClassicalMDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Computing):
    r"""Coordinates whose inner products come nearest to those that the distances define.

    .. math:: B = -\tfrac{1}{2} H (d_{ij}^2) H^\top, \quad H = I - 1w^\top, \quad
        W^{1/2} B W^{1/2} = U \Lambda U^\top, \quad F = B W^{1/2} U \Lambda^{-1/2}

    with weights w that sum to 1; without weights F = √λ·u for the eigenpairs of B. D holds
    distances, not their squares. Axes exist for positive eigenvalues only: distances that are not
    Euclidean have negative ones too, which ``eigenvalues_``, ``negative_mass_`` and ``goodness_``
    keep in view and ``correction`` removes.

    Parameters
    ----------
    n_components : int or None
        How many axes; None keeps all of positive eigenvalues, and more than these warns
        (`FewerAxes`).
    metric : {"precomputed", "euclidean", "bray-curtis", "chi-square", ...}
        Whether distances are given, or points, whose Euclidean distances are never formed, or rows
        whose distances have a name (`kernels.distances` lists them).
    correction : {None, "lingoes", "cailliez", "power", "clip"}
        What makes the distances Euclidean: √(d² + 2c), d + c or d^p with the smallest c or the
        largest p that will do, found on the whole matrix. "clip" sets negative eigenvalues to 0.
        Copies of a point, at distance 0 from it, remain copies.
    method : {"auto", "dense", "exact"}
        Whether to decompose the whole matrix (up to 1 000 points) or to find only the leading
        axes by products with it.
    tol : float
        The residual ‖B·u - λ·u‖ allowed to an iteration, as a share of the largest eigenvalue.
    engine, threads, memory
        Where the matrix of points is computed, by how many threads, within which budget; see
        `KernelPCA`.
    random_state : int, generator or None
        The seed of the iteration's first vectors.

    Attributes
    ----------
    embedding_ : the coordinates, individuals in rows
    eigenvalues_ : all n eigenvalues of B, decreasing, before correction; with weights s those of
        Σs·W^½BW^½. After an iteration they are computed when first read, by a decomposition of the
        whole matrix that takes n³ operations; ``spectrum_`` holds what is known without
    corrected_eigenvalues_ : the same after correction
    correction_constant_ : c of Lingoes or Cailliez, the exponent of "power", else 0
    individuals_ : coordinates, cos2 and contributions, with the names that the data had
    shares_ : the share of each axis in Σ|λ|, the eigenvalues by modulus, after a correction that
        changes distances; pages and the command line show these
    goodness_ : `Goodness` of the axes, after the same correction
    negative_mass_ : the share of negative eigenvalues in Σ|λ|, before correction
    smallest_eigenvalue_ : of the distances the axes are made from; after an iteration the
        smallest is at most this, which is known without all the others
    spectrum_ : the leading eigenvalues divided by Σs, with proved errors; of distances beyond
        1e±70 in a unit in which the largest is near 1
    dissimilarity_matrix_ : the distances, as they were given

    Examples
    --------
    >>> import mercer as mc
    >>> ring = np.array([[0.0, 1, 3, 2], [1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]])
    >>> model = mc.ClassicalMDS(2).fit(ring)
    >>> np.abs(model.eigenvalues_.round(9)) * np.sign(model.eigenvalues_.round(9))
    array([ 6.,  3.,  0., -2.])
    >>> model.goodness_
    Goodness(absolute=0.8181818, positive=1.0)
    >>> model = mc.ClassicalMDS(2, correction="lingoes").fit(ring)
    >>> np.abs(model.corrected_eigenvalues_.round(9))
    array([8., 5., 0., 0.])

    Yao, lecture 1; for the corrections Lingoes (1971), Cailliez (1983).
    """

    limits: ClassVar[Limits] = Limits()

    equivalents: ClassVar[Mapping[str, str]] = {"dissimilarity": "metric"}

    def __init__(  # noqa: PLR0913  (the settings of a model, all but one by name)
        self,
        n_components: int | None = 2,
        *,
        metric: str = "precomputed",
        correction: str | None = None,
        method: str = "auto",
        tol: float = 1e-9,
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.correction = correction
        self.method = method
        self.tol = tol
        self.engine = engine
        self.threads = threads
        self.memory = memory
        self.random_state = random_state

    @on_engine
    def fit(
        self,
        D: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> ClassicalMDS:
        """Find the axes of the individuals whose distances, or coordinates, are given.

        ``progress`` counts tiles of the matrix of points, of which distances have none.
        """
        self._check_parameters()
        is_square = self.metric != "euclidean"
        self._points: Array | None = None
        if self.metric == "precomputed":
            rows = read_square(self, D)
        elif is_square:
            self._points = x = read_named(self, D, self.metric, reset=True)
            what = f"the matrix of {len(x)} x {len(x)} distances"
            refuse_beyond(memory_bytes(self.memory), what, 8 * len(x) ** 2)
            rows = distances_within(self.metric, x)
        else:
            rows = read_points(self, D, reset=True)
        n = len(rows)
        s = weights_of(sample_weight, n)
        self._weights = s / s.sum()
        self._total = float(s.sum())
        self._forget()
        self._all: dict[str, Array] = {}
        self._rows = rows
        self._names, self._library = names_of(D), library_of(D)
        scores = self._fit_distances(rows) if is_square else self._fit_points(rows)
        self.embedding_ = in_dtype_of(D, scores)
        self._n_features_out = self.n_components_ = self.embedding_.shape[1]
        remark_axes(self.spectrum_.clusters, self.n_components_, self.n_components, n)
        return self

    @property
    def weights_(self) -> Array:
        """The weights of the individuals, which sum to 1."""
        check_is_fitted(self)
        weights: Array = self._weights
        return weights

    def _check_parameters(self) -> None:
        one_of(self.metric, "metric", METRICS)
        one_of(self.method, "method", METHODS)
        one_of(self.correction, "correction", (None, "clip", *CORRECTIONS))
        number(self.tol, "tol", above=0.0)
        self.seed_ = seed_of(self.random_state)
        if self.n_components is not None:
            whole(self.n_components, "n_components", least=1)

    def _fit_distances(self, d: Array) -> Array:
        self.correction_constant_, moved = 0.0, d
        if self.correction in CORRECTIONS:
            active = np.flatnonzero(self._weights > 0)
            self.correction_constant_ = constant_of(d[np.ix_(active, active)], self.correction)
            moved = corrected_square(d, self.correction, self.correction_constant_)
        operator = CentredSource(Distances(moved), self._weights)
        spectrum = self._spectrum(operator, "after")
        self._axes: DistanceAxes | PointAxes = _axes_of(operator, spectrum, self.n_components)
        self.spectrum_ = spectrum
        self._trace = operator.trace
        if not np.all(self._weights > 0):  # individuals without weight are supplementary
            return self._axes.coordinates(moved)
        kept = self._axes.projection.shape[1]
        scores: Array = spectrum.vectors[:, :kept] * np.sqrt(spectrum.values[:kept])
        return self._axes.unit * scores / operator.roots

    def _fit_points(self, x: Array) -> Array:
        count = min(len(x), x.shape[1]) if self.n_components is None else self.n_components
        self._axes = PointAxes.of(x, self._weights, count, self.tol, self.seed_)
        self.spectrum_ = self._axes.spectrum
        self.correction_constant_ = 1.0 if self.correction == "power" else 0.0
        self._smallest = 0.0
        return self._axes.coordinates(x)

    def _spectrum(self, operator: CentredSource[Distances], when: str) -> Spectrum:
        """Return the eigenpairs, all of them or the leading ones, and keep what was found out."""
        n = operator.shape[0]
        count = n if self.n_components is None else min(self.n_components, n)
        is_whole = chosen_method(n, count, self.method, self.limits) == "dense"  # which finds all
        spectrum = leading(
            operator,
            n if is_whole else count,
            tol=self.tol,
            method=self.method,
            random_state=self.seed_,
            limits=self.limits,
        )
        if len(spectrum.values) == n:
            self._all[when] = spectrum.values
        assert spectrum.smallest is not None
        self._smallest = spectrum.smallest
        return spectrum

    def _in_units(self, values: Any, unit: float) -> Any:
        """Return eigenvalues of the operator as those of B, in squared units of the distances."""
        with np.errstate(over="ignore", under="ignore"):
            scaled = self._total * values * unit * unit
        largest = float(np.max(np.abs(scaled)))
        is_lost = largest < float(np.finfo(float).tiny) and bool(np.any(values))
        if is_lost or not np.isfinite(largest):
            raise NotAvailable(
                f"the eigenvalues are squares of distances too {'small' if is_lost else 'large'} "
                "for double precision; divide the distances by their maximum to read them. "
                "embedding_, goodness_ and negative_mass_ are right"
            )
        return scaled

    @kept
    def eigenvalues_(self) -> Array:
        check_is_fitted(self)
        return self._values(self._first)

    @kept
    def corrected_eigenvalues_(self) -> Array:
        check_is_fitted(self)
        values = self._values("after")
        return np.maximum(values, 0.0) if self.correction == "clip" else values

    @property
    def smallest_eigenvalue_(self) -> float:
        check_is_fitted(self)
        both = np.array([self.spectrum_.values[0], self._smallest])
        return float(self._in_units(both, self._axes.unit)[1])

    @property
    def _first(self) -> str:
        """When the eigenvalues are those of the distances as they were given."""
        return "before" if self.correction in CORRECTIONS else "after"

    def _values(self, when: str) -> Array:
        """Return all n eigenvalues before or after correction."""
        unit = self._axes.unit
        if when == "before" and isinstance(self._axes, DistanceAxes):
            unit = unit_of(float(np.max(self._rows)))
        values: Array = self._in_units(self._without_unit(when), unit)
        return values

    def _without_unit(self, when: str) -> Array:
        """Return the same in units in which they are doubles, computed now if they must be."""
        if when not in self._all:
            if isinstance(self._axes, PointAxes):
                self._all[when] = self._axes.all_values(self._rows, self._weights)
            else:
                self._all[when] = eigenvalues(self._dense(when))[::-1]
        return self._all[when]

    @on_engine
    def _dense(self, when: str) -> Array:
        """Return the whole centred matrix of the distances, if they are still the same."""
        n = len(self._rows)
        if n > LARGEST_MATRIX:
            raise NotAvailable(
                f"all eigenvalues of {n} points would take {8e-9 * n * n:.0f} GB; spectrum_ holds "
                "the leading ones, and smallest_eigenvalue_ the smallest"
            )
        d = self._rows
        if when == "after" and self.correction in CORRECTIONS:
            d = corrected_square(d, self.correction, self.correction_constant_)
        operator = CentredSource(Distances(d), self._weights)
        if when == "after" and not np.isclose(operator.trace, self._trace, rtol=1e-12, atol=0):
            raise NotAvailable(
                "the distances have been written to since `fit`, so that their eigenvalues are "
                "not those of the axes; fit again"
            )
        return operator.dense()

    @kept
    def goodness_(self) -> Goodness:
        check_is_fitted(self)
        values = self._without_unit("after")
        kept, positive = (np.sum(values[: self.n_components_]), np.sum(np.maximum(values, 0.0)))
        share = min(float(kept / positive), 1.0) if positive > 0 else 0.0
        return Goodness(min(float(np.sum(self.shares_)), 1.0), share)

    @kept
    def shares_(self) -> Array:
        r"""The share of each axis, :math:`\lambda_k / \sum_l |\lambda_l|`; see `goodness_`.

        >>> import mercer as mc
        >>> ring = np.array([[0.0, 1, 3, 2], [1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]])
        >>> mc.ClassicalMDS(2).fit(ring).shares_ * 11  # of 6, 3, 0 and -2
        array([6., 3.])
        """
        check_is_fitted(self)
        values = self._without_unit("after")
        total = float(np.sum(np.abs(values)))
        kept = np.maximum(values[: self.n_components_], 0.0)
        return np.asarray(kept / total if total > 0 else kept)

    @kept
    def individuals_(self) -> Individuals:
        """The individuals on the axes, by name: coordinates, cos2, contributions, distances."""
        check_is_fitted(self)
        unit, w = self._axes.unit, self._weights
        if isinstance(self._axes, PointAxes):
            x = (self._rows - w @ self._rows) / unit
            squares = np.einsum("ij,ij->i", x, x)
        else:
            d = self._rows
            if self.correction in CORRECTIONS:
                d = corrected_square(d, self.correction, self.correction_constant_)
            parts = chunks(len(d), self.limits.tile)
            means = np.concatenate([(d[rows] / unit) ** 2 @ w for rows in parts])
            squares = means - 0.5 * float(w @ means)
        F = np.asarray(self.embedding_, dtype=np.float64)
        inertias = self.spectrum_.values[: self.n_components_]
        return Individuals(F, squares, w, inertias, self._names, self._library, unit)

    def inner_products(self, vectors: Array) -> Array:
        """Return B V for the inner products that the distances define, corrected if they were.

        They are in the square of ``individuals_.unit``; those of individuals without weight, which
        are not part of B, are 0.
        """
        check_is_fitted(self)
        w = self._weights
        if isinstance(self._axes, PointAxes):
            x = (self._rows - w @ self._rows) / self._axes.unit
            return np.asarray(x @ (x.T @ vectors))
        d = self._rows
        if self.correction in CORRECTIONS:
            d = corrected_square(d, self.correction, self.correction_constant_)
        roots = np.sqrt(np.where(w > 0, w, 1.0))[:, None]
        return CentredSource(Distances(d), w).product(vectors / roots) / roots

    @kept
    def negative_mass_(self) -> float:
        check_is_fitted(self)
        values = self._without_unit(self._first)
        rounding = len(values) * float(np.finfo(float).eps) * float(np.max(np.abs(values)))
        negative = float(np.sum(np.abs(values[values < -rounding])))
        return negative / float(np.sum(np.abs(values))) if negative > 0 else 0.0

    @costly
    def dissimilarity_matrix_(self) -> Array:
        check_is_fitted(self)
        is_points = isinstance(self._axes, PointAxes)
        return distances_of(self._rows) if is_points else self._rows

    def transform(self, D: Any) -> Array:
        """Return coordinates of new individuals, given their distances to the fitted ones.

        Of rows (``metric="euclidean"`` or another name) it takes rows. New distances are corrected
        as the fitted ones were; one that is exactly 0 says that the individual is a fitted one.
        """
        check_is_fitted(self)
        if isinstance(self._axes, PointAxes):
            rows = read_points(self, D, reset=False)
        else:
            fitted = getattr(self, "_points", None)
            if fitted is None:
                rows = read_cross(self, D)
            else:
                x = read_named(self, D, self.metric, reset=False)
                rows = distances_between(self.metric, x, fitted, fitted)
            if self.correction in CORRECTIONS:
                rows = corrected_cross(rows, self._rows, self.correction, self.correction_constant_)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
            scores = finite(self._axes.coordinates(rows), "a coordinate of the new individuals")
        return in_dtype_of(D, scores)

    def fit_transform(
        self,
        D: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> Array:
        """Fit, and return the coordinates of the same individuals."""
        return self.fit(D, y, sample_weight=sample_weight, progress=progress).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _axes_of(
    operator: CentredSource[Distances], spectrum: Spectrum, most: int | None
) -> DistanceAxes:
    """Return the axes of positive eigenvalues, ready for distances that are not centred."""
    kept = int(np.sum(spectrum.values[:most] > spectrum.threshold))
    axes = operator.roots * spectrum.vectors[:, :kept] / np.sqrt(spectrum.values[:kept])
    # What is left of the centring of a row once D²w is subtracted: A - w(1'A).
    projection = axes - operator.weights[:, None] * axes.sum(axis=0)
    return DistanceAxes(spectrum, projection, operator.mean_rows @ projection, operator.base.unit)
