"""How classes are found: a tree and its cut, means on the axes, or the whole space of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from mercer.check import Array
from mercer.clusters.classes import ROUNDING, Clusters
from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import one_of
from mercer.gram import Gram
from mercer.kernels.tensor import tensor_product
from mercer.kernels.vectors import Linear
from mercer.points import Paired, take
from mercer.progress import Progress, follow_work
from mercer.reading.links import Scores, seen_in
from mercer.settings import RandomState, seed_of, spelled, whole
from mercer.spectrum import leading

LEAST, MOST = 3, 10
"""Classes among which a number is suggested: two are seldom news, more are hard to tell."""

FEWEST_AXES, UNTESTED_AXES = 2, 5
"""Axes that decide at least, and those that do where no test tells chance from structure."""


@dataclass(frozen=True)
class Tree:
    """Merges of cells, two at a time, by the inertia that is lost: the least first."""

    merges: Array
    losses: Array

    def cut(self, count: int) -> Array:
        """Return the class of each cell, from 0, once all but the last merges were made."""
        size = len(self.merges) + 1
        made = self.merges[: size - count].T
        links = csr_array((np.ones(made.shape[1]), tuple(made)), shape=(size, size))
        return connected_components(links, directed=False)[1].astype(np.intp)

    @property
    def within(self) -> Array:
        """The inertia within 1, 2, … classes."""
        return np.cumsum(np.r_[0.0, self.losses])[::-1]


def ward(points: Array, weights: Array) -> Tree:
    r"""Return the tree of Ward, which loses the least inertia at each merge.

    .. math:: \Delta(a, b) = \frac{w_a w_b}{w_a + w_b} \|\mu_a - \mu_b\|^2

    Chains of nearest neighbours find it in time n² and memory n: two clusters that are nearest to
    each other are merged in any order, since no merge brings a cluster nearer to a third one.

    >>> tree = ward(np.array([[0.0], [1.0], [9.0]]), np.full(3, 1 / 3))
    >>> tree.losses.round(4), tree.cut(2)
    (array([ 0.1667, 16.0556]), array([0, 0, 1]))

    Murtagh, The Computer Journal 26 (1983) 354-359.
    """
    n = len(points)
    centres, masses = points.astype(np.float64).copy(), weights.astype(np.float64).copy()
    lives = np.ones(n, dtype=bool)
    chain: list[int] = []
    merges, losses = np.empty((n - 1, 2), dtype=int), np.empty(n - 1)
    for step in range(n - 1):
        if not chain:
            chain.append(int(np.argmax(lives)))
        while True:
            a = chain[-1]
            lost = masses[a] * masses / (masses[a] + masses)
            lost = np.where(lives, lost * np.sum((centres - centres[a]) ** 2, axis=1), np.inf)
            lost[a] = np.inf
            b = chain[-2] if len(chain) > 1 else -1
            nearest = int(np.argmin(lost))
            if b >= 0 and lost[b] <= lost[nearest]:
                break
            chain.append(nearest)
        del chain[-2:]
        merges[step], losses[step] = (a, b), lost[b]
        centres[b] = (masses[a] * centres[a] + masses[b] * centres[b]) / (masses[a] + masses[b])
        masses[b] += masses[a]
        lives[a] = False
    order = np.argsort(losses, kind="stable")
    return Tree(merges[order], losses[order])


def suggested_count(within: Array, individuals: int) -> int:
    """Return the number of classes that leaves the least share of what one class fewer left.

    It is from 3 to 10, at most half of the individuals, and not more than are needed to leave
    nothing within classes; of two or three individuals it is one class fewer.

    >>> suggested_count(np.array([10.0, 8.0, 7.0, 2.0, 1.8]), 50)
    4
    """
    least_left = ROUNDING * within[0]
    needed = int(np.sum(within > least_left)) + 1
    half = max(LEAST, round(individuals / 2))
    most = min(MOST, half, individuals - 1, needed, len(within))
    if most < LEAST:
        return max(1, most)
    left = np.maximum(within, least_left)
    shares = left[LEAST - 1 : most] / left[LEAST - 2 : most - 1]
    return LEAST + int(np.argmin(shares))


ROUNDS = 100
"""Rounds in which individuals move to the nearest centre, at most."""

UNMOVED = 1e-12
"""Nobody moves for less than this share of the largest distance."""

STARTS = 10
"""Starts of the k-means of spectral coordinates."""

TOL = 1e-6
"""Residual of the spectral coordinates."""


def kernel_means(
    images: Callable[[Array], Array], weights: Array, labels: Array, count: int
) -> Array:
    r"""Return classes in which everyone is nearest to the mean of its own, from given ones.

    .. math:: \|\varphi_i - \mu_c\|^2 = k_{ii} - 2 \sum_j z_{jc} k_{ij}
        + \sum_{jl} z_{jc} z_{lc} k_{jl}, \quad z_{jc} = \frac{w_j 1_{j \in c}}{w_c}

    ``images`` multiplies the Gram matrix with columns: one product in each round, and memory for
    one number of each individual and class. A class keeps the member that is nearest to it.

    >>> x = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> kernel_means(lambda v: x @ (x.T @ v), np.full(4, 0.25), np.array([0, 1, 1, 1]), 2)
    array([0, 0, 1, 1])

    Dhillon, Guan & Kulis, KDD 2004, 551-556.
    """
    everyone = np.arange(len(labels))
    for _ in range(ROUNDS):
        shares = np.zeros((len(labels), count))
        shares[everyone, labels] = weights
        shares /= shares.sum(axis=0)
        products = images(shares)
        far = np.sum(shares * products, axis=0) - 2.0 * products
        nearest = np.argmin(far, axis=1)
        gain = far[everyone, labels] - far[everyone, nearest]
        moved = np.where(gain > UNMOVED * float(np.max(np.abs(far))), nearest, labels)
        while len(lost := np.setdiff1d(labels, moved)):  # which may empty another class in turn
            own = np.flatnonzero(labels == lost[0])
            moved[own[np.argmin(far[own, lost[0]])]] = lost[0]
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels


def spectral_classes(gram: Gram, weights: Array, count: int | None, most: int, seed: int) -> Array:
    r"""Return classes that cut the least of the similarities, relaxed to eigenvectors.

    .. math:: D^{-1/2} K D^{-1/2} = U \Lambda U^\top, \quad d = K w

    with weights of the individuals on both sides. The rows of the first eigenvectors, one for each
    class, have unit length and are gathered by k-means. Without a ``count`` they are as many, from
    2 to ``most``, as eigenvalues miss the first, 1, by least beside the next.

    Ng, Jordan & Weiss, NIPS 14 (2001) 849-856.
    """
    degrees = gram.product(weights[:, None])[:, 0]
    if np.min(degrees) <= 0.0:
        raise InvalidInput(
            f"individual {int(np.argmin(degrees))} has similarities that sum to "
            f"{float(np.min(degrees)):.3g}: spectral classes take a kernel of similarities, which "
            "are not negative, such as the Gaussian"
        )
    # Similarities times a number of either point: a kernel again, with all that kernels can do.
    scaled = Paired(gram.x, np.sqrt(weights / degrees)[:, None])
    similar = Gram(tensor_product(gram.kernel, Linear()), scaled, engine=gram.engine)
    asked = min(most if count is None else count, len(weights) - 1) + 1
    found = leading(similar, asked, tol=TOL, random_state=seed)
    if count is None:
        missing = np.maximum(1.0 - found.values / found.values[0], TOL)
        grows = missing[2:] / missing[1:-1]
        count = 2 + int(np.argmax(grows)) if len(grows) else 1
    rows = found.vectors[:, :count]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0.0, lengths, 1.0)
    from sklearn.cluster import KMeans  # only now: it loads for half a second

    means = KMeans(count, n_init=STARTS, random_state=seed).fit(rows, sample_weight=weights)
    return np.asarray(means.labels_)


CELLS = 1_000
"""Individuals of a tree; more are first gathered in so many cells."""

METHODS = ("ward", "kernel-kmeans", "spectral")


@spelled
def cluster(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    model: Any,
    count: int | None = None,
    *,
    method: str = "ward",
    axes: int | None = None,
    consolidate: bool = True,
    counted: int | None = None,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> Clusters:
    r"""Return classes of the individuals of a model, near one another on its axes or in its space.

    .. math:: \Delta(a, b) = \frac{w_a w_b}{w_a + w_b} \|g_a - g_b\|^2

    is the inertia lost where classes of weights w and centres g are joined, the least at each step.
    So Ward's tree of the individuals, each with its weight, is made, and cut where it suggests or
    at ``count`` classes; then individuals go to the nearest centre until none moves (k-means). More
    than a thousand individuals are first gathered in a thousand cells. Kernel k-means goes on in
    the whole space of the kernel, not only on the axes kept, and spectral classes cut as little as
    they can of the similarities; either multiplies with the Gram matrix, which is never stored.

    Parameters
    ----------
    model : fitted model with individuals on axes, or a map
    count : int or None
        How many classes; None takes from 3 to 10, as the tree suggests, or of spectral classes
        from 2 to 10, as the eigenvalues do.
    method : {"ward", "kernel-kmeans", "spectral"}
        The last is for a `KernelPCA` of similarities.
    axes : int or None
        How many of the first axes decide; None takes all of the model, as its ``n_components``
        says. Pages and ``mercer fit --clusters`` take those that are more than chance by Horn's
        test, at least two, or the first five where it decides nothing.
    consolidate : bool
        Whether individuals move to the nearest centre after the cut.
    counted : int, optional
        Where the weights of the fit say how often each row was seen, the total that was counted:
        sizes of classes and what sets them apart are then of individuals, and not of rows.
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
    N = None if counted is None else whole(counted, "counted", least=1)
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
    if not np.all(seen_in(w[active], N)):
        raise InvalidParameter(f"counted={N} leaves nobody in a row that has a weight")
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
    with follow_work(progress, "tiles") as tell:
        if method == "kernel-kmeans":
            images = _GramProducts(model, active, len(w), tell)
            of_active = kernel_means(images, w[active], of_active, k)
        elif method == "spectral":
            asked = None if count is None else k
            gram = _gram_of(model, active, tell)
            of_active = spectral_classes(gram, w[active], asked, MOST, seed or 0)
            of_active = np.unique(of_active, return_inverse=True)[1]
            k = int(of_active.max()) + 1
    centres = _means(X[active], w[active], of_active, k)
    if consolidate and method == "ward":
        apart = X[active] - w[active] @ X[active] / w[active].sum()
        of_active = kernel_means(lambda v: apart @ (apart.T @ v), w[active], of_active, k)
        centres = _means(X[active], w[active], of_active, k)
    order = np.argsort(centres[:, 0], kind="stable")
    centres = centres[order]
    labels, own, others = _placed(X, centres, active, np.argsort(order)[of_active])
    total = float(within[0])
    left = float(w @ own**2)
    return Clusters(
        labels=labels + 1,
        centres=scores.unit * centres,
        within_units=within,
        suggested=suggested,
        share=max(1.0 - left / total, 0.0) if total > 0 else 0.0,
        distances=scores.unit * own,
        remoteness=scores.unit * others,
        weights=w,
        is_consolidated=consolidate and method == "ward",
        names=getattr(getattr(model, "individuals_", None), "names", None),
        seed=seed,
        unit=scores.unit,
        counted=N,
    )


def _placed(X: Array, centres: Array, active: Array, of_active: Array) -> tuple[Array, ...]:
    """Return the classes of all, and their distances to their own centre and to the next.

    Those without a weight, which are not ``active``, go to the nearest.
    """
    distances = cdist(X, centres)
    labels = np.argmin(distances, axis=1)
    labels[active] = of_active
    own = np.take_along_axis(distances, labels[:, None], axis=1)[:, 0]
    np.put_along_axis(distances, labels[:, None], np.inf, axis=1)
    return labels, own, distances.min(axis=1)


class _GramProducts:
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
        from sklearn.cluster import KMeans  # only now: it loads for half a second

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


def deciding_axes(choices: Mapping[str, Choice], computed: int) -> int:
    """Return how many of the axes computed are more than chance by Horn's test, at least two.

    Further axes carry noise, and on all of them Ward's tree is that of the raw columns: what the
    analysis told apart would come back as distance. Where the test was left out or decides
    nothing, the first five count, as many as the factor analyses of R keep by themselves.

    >>> deciding_axes({}, 9), deciding_axes({}, 3)
    (5, 3)
    """
    horn = choices.get("horn")
    if not isinstance(horn, ParallelAnalysis) or not (horn.is_decided or horn.n_components):
        return min(UNTESTED_AXES, computed)
    return min(max(horn.n_components, FEWEST_AXES), computed)
