"""Points of the input space for coordinates on the axes of a kernel PCA, found or learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, real_array
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter, NotDifferentiable
from mercer.estimator import as_kernel, one_of, require_fit
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import Aligned
from mercer.kernels.radial import USUAL_KERNEL
from mercer.preimages.feature_targets import Sections, Targets
from mercer.preimages.fixed_point import (
    Attempt,
    DistanceProfile,
    by_distances,
    fixed_point,
    profile_of,
)
from mercer.preimages.quasi_newton import descend
from mercer.progress import Progress, follow_work
from mercer.settings import nonnegative, number, spelled, whole

METHODS = ("auto", "exact", "fixed_point", "distances", "descent", "ridge")

MOST_STEPS = 200
"""Steps after which a search gives up."""

TOL = 1e-8
"""A step below this share of the spread of the individuals ends a search."""

MOST_INDIVIDUALS = 3_000
"""Individuals from which a map is learned; of more, as many spread over them all."""

PENALTIES = np.logspace(-14.0, 0.0, 29)
"""Penalties that are tried, as shares of the largest eigenvalue."""


@dataclass(frozen=True, eq=False, repr=False)
class PreImages(Shown):
    r"""Points whose features come near to points of H, and how near they come.

    ``errors`` are the distances :math:`\|\varphi(\hat x) - P\|`; ``rounding`` is what an error may
    be where double precision cannot tell it from 0. ``converged`` tells for each point whether the
    search came to its end, and ``method`` how it was done.

    >>> import mercer as mc
    >>> model = mc.KernelPCA(2).fit(mc.datasets.iris())
    >>> found = mc.preimage(model, model.individuals_.coordinates[:2])
    >>> found.points.shape, found.converged
    ((2, 4), array([ True,  True]))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "points": "whose features come near",
        "errors": "distances in the space of features",
        "converged": "whether each search ended",
        "rounding": "of the errors",
    }

    points: Array
    errors: Array
    converged: Array
    method: str
    rounding: Array

    def _title(self) -> str:
        return f"PreImages of {len(self.points)} points by {self.method}"

    def __len__(self) -> int:
        return len(self.points)


@spelled
def preimage(  # noqa: PLR0913  (settings of the methods, none of which implies another)
    model: Any,
    scores: Any,
    method: str = "auto",
    *,
    starts: int = 3,
    neighbours: int = 10,
    penalty: float | None = None,
    kernel: Kernel | str | None = None,
    steps: int = MOST_STEPS,
    tol: float = TOL,
    progress: bool | Progress | None = None,
) -> PreImages:
    r"""Return points whose features are as near as can be to points of H on the axes of a model.

    .. math:: \hat x = \arg\min_x \|\varphi(x) - P\|, \quad P = \mu + \sum_k f_k v_k

    Most points of H are the feature of no point, and the minimum need not be unique: the errors
    tell what was reached.

    Parameters
    ----------
    model : KernelPCA
        A fitted model of rows of numbers.
    scores : array
        Coordinates on its axes, as `transform` returns them, one row for each point.
    method : {"auto", "exact", "fixed_point", "distances", "descent", "ridge"}
        ``"exact"`` for kernels whose features are affine functions of the coordinates, as those of
        the linear kernel. For kernels that are functions of a Euclidean distance the fixed point
        of Mika et al., or the distances of Kwok and Tsang. For differentiable kernels a descent.
        For any other kernel a ridge regression of points on scores. ``"auto"`` takes the first of
        exact, fixed point, descent and ridge that there is; what a fixed point leaves unfinished
        is descended from.
    starts : int
        How many of the individuals nearest in H a search begins from; the best end is kept.
    neighbours : int
        How many individuals the distances are taken to.
    penalty : float, optional
        That of the ridge regression; by default the best on individuals left out one at a time.
    kernel : Kernel or str, optional
        That of the ridge regression, on scores; by default a Gaussian with the median distance.
    steps : int
        Steps after which a search gives up.
    tol : float
        The last step of a search, as a share of the spread of the individuals.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the starts done and all.

    Examples
    --------
    >>> import mercer as mc
    >>> t = np.linspace(0.0, 6.0, 40)
    >>> x = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = mc.KernelPCA(8, kernel=mc.Gaussian(1.0)).fit(x)
    >>> found = mc.preimage(model, model.transform(1.1 * x[:3]))
    >>> found.method, np.linalg.norm(found.points, axis=1).round(2)
    ('fixed_point', array([1.1, 1.1, 1.1]))

    Mika et al. (1998); Kwok and Tsang (2004); Bakır, Weston and Schölkopf (2004).
    """
    one_of(method, "method", METHODS)
    model = model.on_host() if hasattr(model, "sections") else model
    search = _Search(
        sections_of(model),
        whole(starts, "starts", least=1),
        whole(neighbours, "neighbours", least=2),
        whole(steps, "steps", least=1),
        number(tol, "tol", above=0.0),
    )
    with follow_work(progress, "starts") as tell:
        return _found(model, scores, method, replace(search, tell=tell), kernel, penalty)


def _found(  # noqa: PLR0913  (what a search needs, and a regression)
    model: Any,
    scores: Any,
    method: str,
    search: _Search,
    kernel: Kernel | str | None,
    penalty: float | None,
) -> PreImages:
    targets = Targets(search.sections, _scores(scores, search.sections.axes.shape[1]))

    def learned() -> Array:
        rule = USUAL_KERNEL if kernel is None else as_kernel(kernel)
        points = np.asarray(model.X_fit_, dtype=np.float64) - search.sections.origin
        fit = model.individuals_
        return Learned(rule, fit.coordinates, points, fit.weights, penalty)(targets.scores)

    if method == "auto":
        method = search.best_method()
    if method == "exact":
        found = search.exact(targets)
    elif method == "fixed_point":
        found = search.fixed_point(targets)
    elif method == "distances":
        found = by_distances(targets, search.profile, search.neighbours)
    elif method == "descent":
        found = search.descent(targets, learned())
    else:
        points = learned()
        found = Attempt(points, np.ones(len(points), dtype=bool))
    squares = targets.squares(found.points)
    return PreImages(
        found.points + search.sections.origin,
        np.sqrt(squares.values),
        found.converged,
        method,
        np.sqrt(squares.rounding),
    )


def sections_of(model: Any) -> Sections:
    """Return the axes of a model as sums of sections, or say why it has no pre-images."""
    if not hasattr(model, "sections"):
        has_own = hasattr(model, "inverse_transform")
        raise InvalidInput(
            f"{type(model).__name__} has no axes in the space of a kernel; give a fitted KernelPCA"
            + (", or call its own inverse_transform" if has_own else "")
        )
    require_fit(model)
    found: Sections = model.sections()
    return found


def _scores(scores: Any, count: int) -> Array:
    table = real_array(scores, "scores")
    if table.ndim != 2 or table.shape[1] != count:
        raise InvalidInput(
            f"scores must have one row for each point and {count} columns, one for each axis of "
            f"the model; found shape {table.shape}"
        )
    return table


@dataclass(frozen=True)
class _Search:
    """The axes of a model, and how hard to look."""

    sections: Sections
    starts: int
    neighbours: int
    steps: int
    tol: float
    tell: Progress | None = None

    @property
    def kernel(self) -> Kernel:
        return self.sections.kernel

    @property
    def profile(self) -> DistanceProfile:
        profile = profile_of(self.kernel, self.sections.points.shape[1])
        if profile is None:
            raise InvalidInput(
                f"{self.kernel} is no function of a Euclidean distance: its pre-images are found "
                "by method='descent' where it is differentiable, else by method='ridge'"
            )
        return profile

    def best_method(self) -> str:
        if self.kernel.is_affine:
            return "exact"
        if profile_of(self.kernel, self.sections.points.shape[1]) is not None:
            return "fixed_point"
        return "descent" if self._is_differentiable() else "ridge"

    def _is_differentiable(self) -> bool:
        try:
            self.kernel.evaluate_slopes(Aligned(self.sections.points[:1]))
        except NotDifferentiable:
            return False
        return True

    def exact(self, targets: Targets) -> Attempt:
        """Return the sum of the points in place of the sum of their features."""
        if not self.kernel.is_affine:
            raise InvalidInput(
                f"the features of {self.kernel} are no affine function of the coordinates, so that "
                "pre-images are not exact; use method='auto'"
            )
        parts = np.column_stack([self.sections.barycentre, self.sections.axes])
        images = parts.T @ self.sections.points
        return Attempt(images[0] + targets.scores @ images[1:], np.ones(len(targets), dtype=bool))

    def fixed_point(self, targets: Targets) -> Attempt:
        profile = self.profile
        near = targets.points[targets.nearest(self.starts)]
        starts = [near[:, j] for j in range(near.shape[1])]
        starts.append(by_distances(targets, profile, self.neighbours).points)
        ends = [
            fixed_point(targets, profile, s, steps=self.steps, tol=self.tol)
            for s in self._told(starts)
        ]
        found = nearest_of(targets, ends)
        late = np.flatnonzero(~found.converged)
        if late.size:
            rest = Targets(self.sections, targets.scores[late])
            end = descend(rest, found.points[late], steps=self.steps, tol=self.tol)
            found.points[late], found.converged[late] = end
        return found

    def _told(self, starts: list[Array]) -> Iterator[Array]:
        """Yield starts, and tell of each that was searched from."""
        for done, start in enumerate(starts, 1):
            yield start
            if self.tell is not None:
                self.tell(done, len(starts))

    def descent(self, targets: Targets, learned: Array) -> Attempt:
        near = targets.points[targets.nearest(self.starts)]
        starts = [learned, *(near[:, j] for j in range(near.shape[1]))]
        ends = [descend(targets, s, steps=self.steps, tol=self.tol) for s in self._told(starts)]
        return nearest_of(targets, ends)


def nearest_of(targets: Targets, candidates: list[Attempt]) -> Attempt:
    """Return for each target the candidate whose feature is nearest to it."""
    squares = np.array([targets.squares(c.points).values for c in candidates])
    best, at = np.argmin(squares, axis=0), np.arange(len(targets))
    points = np.array([c.points for c in candidates])[best, at]
    return Attempt(points, np.array([c.converged for c in candidates])[best, at])


class Learned:
    r"""A map from coordinates to points, fitted by kernel ridge regression.

    .. math:: \min_g \sum_i w_i \|x_i - \bar x - g(F_i)\|^2 + \gamma \|g\|^2, \quad
        g(f) = k(f, F)\, W^{1/2} (W^{1/2} K W^{1/2} + \gamma I)^{-1} W^{1/2} (X - 1\bar x^\top)

    Without a penalty γ, the one whose error on individuals left out one at a time is smallest is
    taken; scikit-learn's ``alpha`` is nγ.

    >>> from mercer import Gaussian
    >>> f = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> curve = Learned(Gaussian(0.5), f, np.column_stack([f, f**2]), np.full(20, 0.05))
    >>> np.allclose(curve(np.array([[0.3]])), [[0.3, 0.09]], atol=1e-3)
    True

    Bakır, Weston and Schölkopf (2004).
    """

    def __init__(
        self, kernel: Kernel, F: Array, X: Array, weights: Array, penalty: float | None = None
    ) -> None:
        chosen = spread(np.flatnonzero(weights > 0))
        w = weights[chosen] / weights[chosen].sum()
        self.F, self.centre = F[chosen], w @ X[chosen]
        gram = Gram(kernel, self.F)
        self.kernel, roots = gram.kernel, np.sqrt(w)[:, None]
        values, vectors = np.linalg.eigh(roots * gram.dense() * roots.T)
        values = np.maximum(values, 0.0)
        images = vectors.T @ (roots * (X[chosen] - self.centre))
        if penalty is None:
            self.penalty = _best_penalty(values, vectors, images)
        else:
            self.penalty = nonnegative(penalty, "penalty")
        if values[0] + self.penalty <= 0.0:
            raise InvalidParameter("penalty must be > 0: the kernel of the coordinates is singular")
        self.weights = roots * (vectors @ (images / (values + self.penalty)[:, None]))

    def __call__(self, f: Array) -> Array:
        points = Gram(self.kernel, f, self.F).product(self.weights)
        points += self.centre
        return points


def _best_penalty(values: Array, vectors: Array, images: Array) -> float:
    """Return the penalty with the smallest error on individuals left out one at a time.

    With the hat matrix S, the residual of an individual left out is r/(1 - S_ii) (Allen's PRESS).
    """
    best, smallest = np.inf, np.inf
    for penalty in (float(values[-1]) or 1.0) * PENALTIES:
        left = penalty / (values + penalty)
        residuals = vectors @ (left[:, None] * images)
        freedom = np.maximum((vectors**2) @ left, np.finfo(float).eps)
        error = float(np.sum((residuals / freedom[:, None]) ** 2))
        if error < smallest:
            best, smallest = float(penalty), error
    return best


def spread(rows: Array) -> Array:
    """Return at most `MOST_INDIVIDUALS` of some rows, evenly spread over them.

    >>> len(spread(np.arange(10_000))), spread(np.arange(3))
    (3000, array([0, 1, 2]))
    """
    if len(rows) <= MOST_INDIVIDUALS:
        return rows
    chosen: Array = rows[np.linspace(0, len(rows) - 1, MOST_INDIVIDUALS).round().astype(int)]
    return chosen
