"""Multidimensional scaling by minimising a loss: metric, Sammon's, and ordinal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from mercer.check import Array, finite, real_array
from mercer.data.frames import library_of
from mercer.display import Shown, kept, warn
from mercer.errors import Advice, Advised, InvalidInput, Row
from mercer.estimator import Model, in_dtype_of, one_of
from mercer.kernels.dissimilarities import distances_between, distances_within
from mercer.mds.descent import End, Placement, WeightedPairs, descend, place_individuals, start_maps
from mercer.mds.distances import (
    METRICS,
    distances_of,
    names_of,
    read_cross,
    read_named,
    read_points,
    read_square,
    unit_of,
)
from mercer.mds.losses import LOSSES, TIES, loss_of
from mercer.progress import Progress, follow_work
from mercer.reading.contributions_and_v_tests import Individuals
from mercer.reading.model import remark_axes
from mercer.settings import RandomState, number, seed_of, whole
from mercer.spectrum import around, clusters, signs

MANY_STARTS = 4
FEW_POINTS = 300
"""Points up to which several starts cost next to nothing, and find more than one does."""


class StressNotConverged(Advised, ConvergenceWarning):
    """A map whose loss could still be lowered when the iterations were used up."""


@dataclass(frozen=True, eq=False, repr=False)
class Shepard(Shown):
    """The values of a Shepard diagram, one of each for every known pair i < j, row after row."""

    facts: ClassVar[Mapping[str, str]] = {
        "dissimilarities": "as they were given",
        "distances": "on the map",
        "disparities": "between both, in the order of the dissimilarities",
    }

    dissimilarities: Array
    distances: Array
    disparities: Array

    def __iter__(self) -> Iterator[Array]:
        return iter((self.dissimilarities, self.distances, self.disparities))


class StressMDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):
    r"""A map whose distances d come as near as they can to dissimilarities δ, or to their order.

    .. math:: \sqrt{1 - \frac{(\sum d\,\delta)^2}{\sum d^2 \sum \delta^2}}, \quad
        \sum (d^2 - \delta^2)^2, \quad
        \frac{1}{\sum\delta} \sum \frac{(d - \delta)^2}{\delta}, \qquad \text{over } i < j

    are the losses "stress" (Kruskal's stress-1), "sstress" and "sammon"; "ordinal" is stress-1
    with δ replaced by the disparities that fit best among those in the order of δ. L-BFGS runs
    from the classical solution and from random maps, and the best end is kept. The map is
    centred, on its principal axes, in the unit of the dissimilarities.

    Parameters
    ----------
    n_components : int
        The dimension of the map.
    metric : {"precomputed", "euclidean", "bray-curtis", "chi-square", ...}
        Whether dissimilarities are given, NaN for a missing one, or rows whose distances have a
        name (`kernels.distances` lists them).
    loss : {"stress", "sstress", "sammon", "ordinal"}
        What is minimised.
    ties : {"primary", "secondary"}
        Whether equal dissimilarities may have different disparities (ordinal only).
    n_starts : int or None
        The classical solution first, the others random; None takes 4 up to 300 points, else 1.
    max_iter : int
        Iterations allowed to each start.
    tol : float
        The largest derivative in a coordinate that counts as zero, in units in which the loss
        has about unit curvature and the dissimilarities the root mean square 1.
    random_state : int, generator or None
        The seed of the random maps.

    Attributes
    ----------
    embedding_ : the map, individuals in rows
    stress_ : the loss of ``embedding_``, by the formulas above
    shepard_ : dissimilarities, distances and disparities of the known pairs
    individuals_ : the map with the names of the individuals, where the data had some
    has_converged_, n_iter_ : of the start that was kept
    stresses_ : the loss reached from each start
    dissimilarity_matrix_ : the dissimilarities that were fitted

    Examples
    --------
    >>> import mercer as mc
    >>> ring = np.array([[0.0, 1, 3, 2], [1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]])
    >>> model = mc.StressMDS(2, random_state=0).fit(ring)
    >>> bool(model.has_converged_), model.stress_ < 0.2
    (True, True)
    >>> mc.StressMDS(2, loss="ordinal", random_state=0).fit(ring).stress_ < 1e-6
    True

    Yao, (4), for ``"sstress"``.
    """

    equivalents: ClassVar[Mapping[str, str]] = {
        "dissimilarity": "metric",
        "n_init": "n_starts",
        "progress": "an argument of fit",
        "eps": "tol",
    }

    def __init__(  # noqa: PLR0913  (the settings of a model, all but one by name)
        self,
        n_components: int = 2,
        *,
        metric: str = "precomputed",
        loss: str = "stress",
        ties: str = "primary",
        n_starts: int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.loss = loss
        self.ties = ties
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self,
        D: Any,
        y: Any = None,
        *,
        pair_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> StressMDS:
        """Find the map; ``pair_weight`` is a symmetric matrix of nonnegative weights of pairs.

        ``progress`` counts the iterations made, of those that all starts may make.
        """
        with follow_work(progress, "steps") as tell:
            return self._fit(D, pair_weight, tell)

    def _fit(self, D: Any, pair_weight: Any, tell: Progress | None) -> StressMDS:
        count = self._check_parameters()
        self._forget()
        delta = self._read(D)
        self._names, self._library = names_of(D), library_of(D)
        if self.loss == "sammon":
            _refuse_zeros(delta)
        pairs = WeightedPairs(delta, _pair_weights(pair_weight, delta))
        self._has_pair_weights = pair_weight is not None
        loss = loss_of(self.loss, pairs.target, pairs.weights, self.ties)
        starts = self._starts(len(delta))
        rng = np.random.default_rng(self.seed_)
        with threadpool_limits(1, user_api="blas"):  # two columns leave more threads nothing to do
            ends = [
                descend(pairs, loss, start, self.max_iter, self.tol, self._watch(tell, i, starts))
                for i, start in enumerate(start_maps(pairs, count, starts, rng))
            ]
        best = min(ends, key=lambda end: end.value)
        final = best.coordinates * loss.scale(pairs.distances(best.coordinates))
        turned, sizes = _on_principal_axes(final)
        self.embedding_ = in_dtype_of(D, pairs.unit * turned)
        self.dissimilarity_matrix_ = delta
        self.has_converged_, self.n_iter_ = best.has_converged, best.iterations
        self._report(pairs, ends)
        self._n_features_out = count
        largest = float(np.max(sizes))
        kept = int(np.sum(sizes > self.tol * largest))  # a map is known up to its tolerance
        squares = sizes[:kept] ** 2
        alike = clusters(squares, *around(squares, self.tol * largest**2, kept))
        remark_axes(alike, kept, count, len(delta))
        return self

    def _check_parameters(self) -> int:
        one_of(self.metric, "metric", METRICS)
        one_of(self.loss, "loss", LOSSES)
        one_of(self.ties, "ties", TIES)
        self.seed_ = seed_of(self.random_state)
        whole(self.max_iter, "max_iter", least=1)
        number(self.tol, "tol", above=0.0)
        return whole(self.n_components, "n_components", least=1)

    def _read(self, D: Any) -> Array:
        self._points: Array | None = None
        if self.metric == "precomputed":
            return read_square(self, D, missing=True)
        if self.metric == "euclidean":
            self._points = read_points(self, D, reset=True)
            return distances_of(self._points)
        self._points = x = read_named(self, D, self.metric, reset=True)
        return distances_within(self.metric, x)

    def _starts(self, n: int) -> int:
        if self.n_starts is None:
            return MANY_STARTS if n <= FEW_POINTS else 1
        return whole(self.n_starts, "n_starts", least=1)

    def _watch(self, tell: Progress | None, start: int, starts: int) -> Callable[[int], None]:
        def made(iteration: int) -> None:
            if tell is not None:
                tell(start * self.max_iter + iteration, starts * self.max_iter)

        return made

    def _report(self, pairs: WeightedPairs, ends: list[End]) -> None:
        """Keep what the returned coordinates say, and warn if they could be better."""
        unit = unit_of(pairs.unit)  # a power of two: distances are those of the map to the bit
        size = pairs.unit / unit
        d = pdist(self.embedding_ / unit)[pairs.known]
        loss = loss_of(self.loss, size * pairs.target, pairs.weights, self.ties)
        self.shepard_ = Shepard(pairs.unit * pairs.target, unit * d, unit * loss.disparities(d))
        reached = [size * pairs.distances(end.coordinates) for end in ends]
        losses = [loss.reported(d), *(loss.reported(loss.scale(d) * d) for d in reached)]
        if self.loss == "sstress":  # the only one that has a unit
            losses = [_in_fourth_powers(value, unit) for value in losses]
        self.stress_, self.stresses_ = losses[0], np.array(losses[1:])
        if not self.has_converged_:
            more = f"raise max_iter = {self.max_iter} or tol = {self.tol:g}"
            warn(
                f"after {self.n_iter_} iterations the loss still falls (it is "
                f"{self.stress_:.6g}); {more}",
                StressNotConverged,
                Advice("max_iter", 2 * self.max_iter, more),
            )

    @kept
    def individuals_(self) -> Individuals:
        """The individuals on the map, by name: coordinates, and shares in the spread of it."""
        check_is_fitted(self)
        F = np.asarray(self.embedding_, dtype=np.float64)
        unit = unit_of(float(np.max(np.abs(F), initial=0.0)))
        weights = np.full(len(F), 1.0 / len(F))
        inertias = weights @ (F / unit) ** 2
        return Individuals(F, None, weights, inertias, self._names, self._library, unit)

    def transform(self, D: Any) -> Array:
        """Return the places of new individuals, given their dissimilarities to the fitted ones.

        Each is put where its own loss against the map is least, which stays as it is; NaN stands
        for a missing dissimilarity. Of ``loss="ordinal"`` targets are the disparities of the fitted
        pairs divided by 1 - stress², between them by straight lines, beyond them in proportion. Of
        points (``metric="euclidean"``) it takes the points. A fitted individual returns to its
        place, unless it has a better one, as it may on a map that is not at its optimum.

        >>> corners = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
        >>> model = StressMDS(2, random_state=0).fit(corners)
        >>> half_way = model.transform([[2.5, 2.5, 2.5]])
        >>> np.linalg.norm(half_way - model.embedding_, axis=1).round(5)
        array([2.5, 2.5, 2.5])
        """
        check_is_fitted(self)
        if self._points is not None:
            delta = self._to_fitted(D, self._points)
        else:
            delta = read_cross(self, D, missing=True)
        known = np.isfinite(delta)
        if not np.all(known.any(axis=1)):
            row = int(np.argmin(known.any(axis=1)))
            raise InvalidInput(
                f"D, {Row(row)}: no dissimilarity to a fitted individual is known", Row(row)
            )
        fixed = np.asarray(self.embedding_, dtype=np.float64)
        largest = max(float(np.max(np.abs(fixed), initial=0.0)), float(np.max(delta[known])))
        unit = unit_of(largest)
        targets = self._targets(np.where(known, delta, 0.0)) / unit
        weights = known.astype(np.float64)
        if self.loss == "sammon":
            # An individual at no distance from a fitted one is that one, as far as D can tell.
            least = np.min(targets[known], initial=1.0, where=targets[known] > 0.0)
            weights /= np.maximum(targets, 1e-3 * least)
        is_squared = self.loss == "sstress"
        places = place_individuals(fixed / unit, Placement(targets, weights, is_squared))
        return in_dtype_of(D, unit * places)

    def _to_fitted(self, X: Any, fitted: Array) -> Array:
        """Return the distances of new rows to those of the fit."""
        if self.metric != "euclidean":
            x = read_named(self, X, self.metric, reset=False)
            return distances_between(self.metric, x, fitted, fitted)
        with np.errstate(over="ignore"):
            return finite(cdist(read_points(self, X, reset=False), fitted), "a distance of X")

    def _targets(self, delta: Array) -> Array:
        """Return the distances that dissimilarities ask for: themselves, or their disparities."""
        if self.loss != "ordinal":
            return delta
        given, _, disparities = self.shepard_
        levels, level = np.unique(given, return_inverse=True)
        means = np.bincount(level, weights=disparities) / np.bincount(level)
        if not len(levels) or levels[-1] == 0.0:
            return delta
        known = np.concatenate([[0.0], levels]) if levels[0] > 0.0 else levels
        asked = np.concatenate([[0.0], means]) if levels[0] > 0.0 else means
        beyond = np.maximum(delta / levels[-1], 1.0)
        # At the optimum of s² = Σ(d - d̂)²/Σd², d is stationary for the targets d̂/(1 - s²).
        targets: Array = np.interp(delta, known, asked) * beyond / (1.0 - self.stress_**2)
        return targets

    def fit_transform(
        self,
        D: Any,
        y: Any = None,
        *,
        pair_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> Array:
        """Fit, and return the map."""
        return self.fit(D, y, pair_weight=pair_weight, progress=progress).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _in_fourth_powers(loss: float, unit: float) -> float:
    """Return a loss in the unit of the dissimilarities, or say that no double is."""
    with np.errstate(over="ignore", under="ignore"):
        result = float(np.float64(loss) * unit * unit * unit * unit)
    if not np.isfinite(result) or (result == 0.0 and loss > 0.0):
        raise InvalidInput(
            f"fourth powers of dissimilarities of size {unit:.0e} leave the range of double "
            "precision: divide the dissimilarities by their maximum, or choose another loss"
        )
    return result


def _refuse_zeros(delta: Array) -> None:
    """Refuse a dissimilarity of 0, by which Sammon's error divides, unless there are no others."""
    zeros = np.argwhere(np.triu(delta == 0.0, 1))
    if len(zeros) and np.nansum(delta) > 0.0:
        i, j = zeros[0].tolist()
        raise InvalidInput(
            f"D, {Row(i)}, {Row(j, 'column')}: Sammon's error divides by the dissimilarities, and "
            "this one is 0; leave out repeated points or choose loss='stress'",
            *(Row(i), Row(j, "column")),
        )


def _pair_weights(pair_weight: Any, delta: Array) -> Array | None:
    if pair_weight is None:
        return None
    weights = real_array(pair_weight, "pair_weight")
    if weights.shape != delta.shape or not np.array_equal(weights, weights.T):
        raise InvalidInput(
            f"pair_weight must be a symmetric matrix of shape {delta.shape}, found shape "
            f"{weights.shape}"
        )
    if np.any(weights < 0):
        i, j = (int(k) for k in np.argwhere(weights < 0)[0])
        raise InvalidInput(f"pair_weight, row {i}, column {j}: a weight is not negative")
    return weights


def _on_principal_axes(x: Array) -> tuple[Array, Array]:
    """Return a map centred and turned to its principal axes, and the norms of its columns.

    The signs are those of every model.
    """
    centred = x - x.mean(axis=0)
    is_wide = x.shape[0] < x.shape[1]
    _, sizes, axes = np.linalg.svd(centred, full_matrices=is_wide)
    turned = centred @ axes.T
    oriented: Array = turned * signs(turned)
    return oriented, sizes
