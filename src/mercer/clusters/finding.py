"""How classes are found: a tree on the axes and its cut, then means, on the axes or beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from mercer.check import Array, whole
from mercer.clusters.classes import Clusters
from mercer.clusters.kernel import ROUNDS, kernel_means, spectral_classes
from mercer.clusters.tree import MOST, Tree, suggested_count, ward
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import one_of
from mercer.gram import Gram
from mercer.points import take
from mercer.progress import Progress, followed
from mercer.reading.scores import Scores
from mercer.settings import RandomState, seed_of
from mercer.spelling import spelled

CELLS = 1_000
"""Individuals of a tree; more are first gathered in so many cells."""

METHODS = ("ward", "kernel-kmeans", "spectral")


@spelled
def cluster(
    model: Any,
    count: int | None = None,
    *,
    method: str = "ward",
    axes: int | None = None,
    consolidate: bool = True,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> Clusters:
    """Return classes of the individuals of a model, near one another on its axes or in its space.

    Ward's tree of the individuals, each with its weight, is cut where it suggests or at ``count``
    classes; then individuals go to the nearest centre until none moves (k-means). More than a
    thousand individuals are first gathered in a thousand cells. Kernel k-means goes on in the whole
    space of the kernel, not only on the axes kept, and spectral classes cut as little as they can
    of the similarities; either multiplies with the Gram matrix, which is never stored.

    Parameters
    ----------
    model : fitted model with individuals on axes, or a map
    count : int or None
        How many classes; None takes from 3 to 10, as the tree suggests, or of spectral classes
        from 2 to 10, as the eigenvalues do.
    method : {"ward", "kernel-kmeans", "spectral"}
        The last is for a `KernelPCA` of similarities.
    axes : int or None
        How many of the first axes decide; None takes all of the model.
    consolidate : bool
        Whether individuals move to the nearest centre after the cut.
    random_state : int, generator or None
        The seed of the cells of many individuals, and of spectral classes.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the tiles done and the tiles of each
        pass over the Gram matrix of a `KernelPCA`.

    Examples
    --------
    >>> import mercer as mc
    >>> irises = mc.datasets.iris()
    >>> found = mc.cluster(mc.PCA(2, standardize=True).fit(irises), 3)
    >>> found.sizes, round(found.share, 3)
    (array([50, 55, 45]), 0.8)
    >>> found.describe({"Species": irises.column("Species").values})["level"][0]
    'setosa'

    Husson, Josse & Pagès, Principal component methods - hierarchical clustering - partitional
    clustering, Agrocampus technical report, 2010.
    """
    one_of(method, "method", METHODS)
    scores = Scores.of(model)
    kept = scores.coordinates.shape[1]
    if kept == 0:
        raise InvalidInput("the model has no axes: all individuals coincide, and form one class")
    used = kept if axes is None else whole(axes, "axes", least=1)
    if used > kept:
        raise InvalidParameter(f"the model has {kept} axes, not {used}")
    X, w = scores.coordinates[:, :used] / scores.unit, scores.weights
    active = np.flatnonzero(w > 0)
    if len(active) < 2:
        raise InvalidInput("classes need at least two individuals with a weight")
    is_drawn = len(active) > CELLS or method == "spectral"
    seed = seed_of(random_state) if is_drawn else None
    cells, masses, places = _cells(X[active], w[active], seed)
    tree: Tree = ward(cells, masses)
    within = tree.within + float(w[active] @ np.sum((X[active] - cells[places]) ** 2, axis=1))
    suggested = suggested_count(tree.within, len(active))
    k = suggested if count is None else whole(count, "count", least=1)
    if k > len(cells):
        raise InvalidParameter(f"{len(cells)} different individuals cannot form {k} classes")
    of_active = tree.cut(k)[places]
    with followed(progress, "tiles") as tell:
        if method == "kernel-kmeans":
            images = _Images(model, active, len(w), tell)
            of_active = kernel_means(images, w[active], of_active, k)
        elif method == "spectral":
            asked = None if count is None else k
            gram = _gram_of(model, active, tell)
            of_active = spectral_classes(gram, w[active], asked, MOST, seed or 0)
            of_active = np.unique(of_active, return_inverse=True)[1]
            k = int(of_active.max()) + 1
    centres = _means(X[active], w[active], of_active, k)
    if consolidate and method == "ward":
        rounds = KMeans(k, init=centres, n_init=1, max_iter=ROUNDS, tol=0.0)
        of_active = rounds.fit(X[active], sample_weight=w[active]).labels_
        centres = _means(X[active], w[active], of_active, k)
    order = np.argsort(centres[:, 0], kind="stable")
    centres = centres[order]
    distances = cdist(X, centres)
    labels = np.argmin(distances, axis=1)  # of those without a weight, which go to the nearest
    labels[active] = np.argsort(order)[of_active]
    own = np.take_along_axis(distances, labels[:, None], axis=1)[:, 0]
    np.put_along_axis(distances, labels[:, None], np.inf, axis=1)
    total = float(within[0])
    left = float(w @ own**2)
    return Clusters(
        labels=labels + 1,
        centres=scores.unit * centres,
        within_units=within,
        suggested=suggested,
        share=max(1.0 - left / total, 0.0) if total > 0 else 0.0,
        distances=scores.unit * own,
        remoteness=scores.unit * distances.min(axis=1) if k > 1 else np.full(len(X), np.inf),
        weights=w,
        is_consolidated=consolidate and method == "ward",
        names=getattr(getattr(model, "individuals_", None), "names", None),
        seed=seed,
        unit=scores.unit,
    )


class _Images:
    """Products of the Gram matrix of the individuals that have a weight, whatever the model."""

    def __init__(self, model: Any, active: Array, count: int, tell: Progress | None) -> None:
        self.model, self.active, self.count = model, active, count
        self.gram = _gram_of(model, active, tell) if hasattr(model, "gram") else None
        if self.gram is None and not hasattr(model, "inner_products"):
            raise InvalidParameter(
                f"{type(model).__name__} has no inner products beyond its map: take method='ward'"
            )

    def __call__(self, columns: Array) -> Array:
        if self.gram is not None:
            return self.gram.product(columns)
        every = np.zeros((self.count, columns.shape[1]))
        every[self.active] = columns
        return np.asarray(self.model.inner_products(every)[self.active])


def _gram_of(model: Any, active: Array, tell: Progress | None) -> Gram:
    """Return the Gram matrix of the individuals that have a weight."""
    if not hasattr(model, "gram"):
        raise InvalidParameter(
            f"{type(model).__name__} has no kernel of similarities: spectral classes are those of "
            "a KernelPCA"
        )
    gram: Gram = model.gram(progress=tell)
    if len(active) == gram.shape[0]:
        return gram
    return Gram(gram.kernel, take(gram.x, active), engine=gram.engine)


def _cells(points: Array, weights: Array, seed: int | None) -> tuple[Array, Array, Array]:
    """Return cells, their masses, and which cell each individual is in; equal ones share one."""
    cells, places = np.unique(points, axis=0, return_inverse=True)
    places = places.ravel()
    if seed is not None and len(cells) > CELLS:
        found = KMeans(CELLS, n_init=1, max_iter=20, random_state=seed)
        labels = found.fit(points, sample_weight=weights).labels_
        _, places = np.unique(labels, return_inverse=True)
        cells = _means(points, weights, places, int(places.max()) + 1)
    return cells, np.bincount(places, weights, minlength=len(cells)), places


def _means(points: Array, weights: Array, labels: Array, count: int) -> Array:
    """Return the barycentres of classes."""
    masses = np.bincount(labels, weights, minlength=count)
    sums = np.column_stack([np.bincount(labels, weights * x, minlength=count) for x in points.T])
    return np.asarray(sums / masses[:, None])
