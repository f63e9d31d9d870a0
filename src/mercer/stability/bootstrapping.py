"""The bootstrap of individuals: how far coordinates, inertias and axes would move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event
from typing import Any, ClassVar

import numpy as np
from scipy.special import fdtrc, fdtri

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, in_ranges
from mercer.engines.parallel import in_order
from mercer.errors import InvalidParameter
from mercer.progress import Progress, follow_work
from mercer.reading.procrustes import match_axes, rotation
from mercer.resampling import Resampling
from mercer.settings import CONFIDENCE, RandomState, confidence_of, first_axes, spelled
from mercer.stability.reweighted import Replicate, ReplicateSource, source_of

FEWEST = 20
"""Replicates below this number say nothing of the ends of an interval."""

VANISHED = 1e-8
"""Standard error of a logarithm that is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Shown):
    r"""What resampling individuals does to the first axes of a model.

    The ellipse of individual i is

    .. math:: \{f : (f - F_i)^\top \Sigma_i^{-1} (f - F_i) \le r^2\}, \quad
        r^2 = \frac{d (R - 1)}{R - d} F_{d, R - d}(q)

    where :math:`\Sigma_i` is the covariance of its positions in R replicates, each turned onto the
    model as a whole, times n/(n-1): the variance of a resampled mean is (n-1)/n of the unbiased
    one. It is made to cover, with the probability q, the coordinates that the same individual has
    on the axes of the population, seen from its mean and turned onto the model in the same way.

    Attributes
    ----------
    coordinates : those of the model, n x d
    means, covariances : of the aligned replicates, n x d and n x d x d
    inertias, intervals : of the axes, and their symmetric studentised intervals, d x 2
    cos2 : mean squared cosine of each axis with the axis of the replicate that matches it
    kept : share of the replicates in which the match has the same rank
    spaces : mean squared cosine of the space of the first 1, 2, … axes
    ties : p-value of the equality of each inertia and the next, NaN where there is none
    replicates, confidence, seed : how many, the rate q, and the seed that repeats them

    >>> import mercer as mc
    >>> found = mc.bootstrap(mc.PCA(2), mc.datasets.iris(), random_state=0)
    >>> found.inertias.round(2), found.intervals.shape
    (array([4.2 , 0.24]), (2, 2))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "inertias": "of the axes",
        "intervals": "of the inertias",
        "cos2": "of the axes with those of replicates",
        "kept": "share of replicates in which an axis has its rank",
        "spaces": "cos2 of the first axes together",
        "ties": "p-values of equal inertias",
        "planes": "axes that only mean something together",
        "confidence": "of intervals and ellipses",
    }

    coordinates: Array
    means: Array
    covariances: Array
    inertias: Array
    intervals: Array
    cos2: Array
    kept: Array
    spaces: Array
    ties: Array
    replicates: int
    confidence: float
    seed: int
    names: tuple[str, ...] | None = field(default=None, repr=False)
    library: str | None = field(default=None, repr=False)

    def _title(self) -> str:
        return f"Bootstrap of {len(self)} individuals, {self.replicates} replicates"

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.names or tuple(str(i) for i in range(len(self)))

    def radius2(self, dimension: int = 2) -> float:
        """Return the squared radius r² of the ellipses in so many dimensions."""
        R = self.replicates
        quantile = float(fdtri(dimension, R - dimension, self.confidence))
        return dimension * (R - 1) / (R - dimension) * quantile

    def covers(self, points: Array) -> Array:
        """Return whether the ellipse of each individual holds a point, one for each."""
        gaps = np.asarray(points) - self.coordinates
        solved = np.linalg.solve(self.covariances, gaps[..., None])[..., 0]
        inside: Array = np.sum(gaps * solved, axis=1) <= self.radius2(gaps.shape[1])
        return inside

    @property
    def planes(self) -> tuple[tuple[int, ...], ...]:
        """Axes, counted from 1, that only mean something together: their inertias may be equal."""
        groups: list[list[int]] = [[1]]
        for k in range(1, len(self.inertias)):
            if self.ties[k - 1] > 1.0 - self.confidence:
                groups[-1].append(k + 1)
            else:
                groups.append([k + 1])
        return tuple(tuple(g) for g in groups if len(g) > 1)

    def table(self, library: str | None = None) -> Any:
        """Return one row for each individual: coordinates and standard errors on each axis."""
        errors = np.sqrt(np.einsum("ikk->ik", self.covariances))
        columns: dict[str, Array] = {"individual": np.array(self.labels, dtype=object)}
        for k in range(self.coordinates.shape[1]):
            columns[f"dim{k + 1}"] = self.coordinates[:, k]
            columns[f"error{k + 1}"] = errors[:, k]
        return as_frame(columns, library or self.library)

    def axes_table(self, library: str | None = None) -> Any:
        """Return one row for each axis: its inertia and interval, and how stable it is."""
        return as_frame(
            {
                "axis": np.arange(1, len(self.inertias) + 1),
                "inertia": self.inertias,
                "lower": self.intervals[:, 0],
                "upper": self.intervals[:, 1],
                "cos2": self.cos2,
                "kept": self.kept,
                "space_cos2": self.spaces,
                "tie_p": self.ties,
            },
            library or self.library,
        )

    def __str__(self) -> str:
        together = {k: group for group in self.planes for k in group}
        lines = [f"{self.replicates} replicates of {len(self)} individuals"]
        for k in range(1, len(self.inertias) + 1):
            group = together.get(k)
            if group is None:
                lines.append(self._axis(k))
            elif group[0] == k:
                lines.append(self._plane(group))
        if self.ties[-1] > 1.0 - self.confidence:
            q = len(self.inertias)
            lines.append(
                f"the inertias of axes {q} and {q + 1} may be equal (p = {self.ties[-1]:.2f}): "
                f"where the space of the first {q} axes ends is not certain"
            )
        return "\n".join(lines)

    def _axis(self, k: int) -> str:
        low, high = self.intervals[k - 1]
        return (
            f"axis {k}: inertia {self.inertias[k - 1]:.4g}, {100 * self.confidence:g} % interval "
            f"{low:.4g} to {high:.4g}; it turns by {_degrees(self.cos2[k - 1]):.0f}° on average"
        )

    def _plane(self, group: tuple[int, ...]) -> str:
        first, last = group[0] - 1, group[-1]
        p = float(np.max(self.ties[first : last - 1]))
        listed = in_ranges(group)
        what = "plane" if len(group) == 2 else "space"
        return (
            f"axes {listed}: their inertias may be equal (p = {p:.2f}), so that only the {what} "
            f"they span means something; the first {last} axes together turn by "
            f"{_degrees(self.spaces[last - 1]):.0f}° on average"
        )


def _degrees(cos2: float) -> float:
    return float(np.degrees(np.arccos(np.sqrt(min(max(cos2, 0.0), 1.0)))))


@spelled
def bootstrap(  # noqa: PLR0913  (settings, none of which implies another)
    model: Any,
    X: Any = None,
    replicates: int = 200,
    *,
    axes: int | Sequence[int] | None = None,
    confidence: float = CONFIDENCE,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Bootstrap:
    r"""Draw the individuals again, with replacement, and tell how far the first axes move.

    Each replicate weighs the individuals by how often they were drawn; its axes are found from the
    inner products that the model has already, all individuals are projected on them, and the
    configuration is turned onto that of the model (`mercer.reading.procrustes.rotation`). The
    kernel, with its parameters as the model resolved them, stays the same.

    Two inertias :math:`\lambda_k, \lambda_l` are tested for equality by the covariances C* of the
    replicates between the two axes: if they are equal in the population,
    :math:`(\lambda_k - \lambda_l, 0)` is one draw of
    :math:`(C_{kk} - C_{ll},\, 2 C_{kl})`, whose mean is 0 and whose covariance is that of the
    replicates, times n/(n-1). Its squared Mahalanobis distance from 0 has then Hotelling's law in
    2 dimensions, with ν = 1/(1/(n-1) + 1/(R-1)) degrees of freedom. Axes that fail the test are
    reported as a plane. Of 4 000 normal samples of 50 individuals and 10 variables, two inertias of
    3 and eight of 0.3, the test at 5 % told the equal ones apart in 4 %.

    The interval of an inertia is the symmetric studentised one of its logarithm,

    .. math:: \lambda_k \exp(\pm t_k s_k), \quad
        s_k = \frac{1}{\lambda_k} \Big(\sum_i w_i^2 (F_{ik}^2 - \lambda_k)^2\Big)^{1/2}

    with s the standard error of log λ and t the quantile of
    :math:`|\log \lambda_k^* - \log \lambda_k| / s_k^*` over the replicates (Hall, *The Bootstrap
    and Edgeworth Expansion*, 1992, section 3.6). Of 400 normal samples with inertias 6 and 3 those
    of 95 % held the first in 94 to 95 %, the second in 91 % of samples of 50 and 93 % of 100
    individuals; with 10 variables, eight of variance 0.3, both in 94 % of 1 000 samples of 50, where
    percentiles held the second in 86 %. Where two inertias are equal, they hold them in 85 to 90 %.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted, or to be fitted to X. Kernel models of more than 3 000 individuals are fitted again
        for each replicate.
    X : data, optional
        What to fit the model to; None takes the fit as it is.
    replicates : int
        How many times to draw.
    axes : int or sequence, optional
        How many of the first axes are aligned and judged together; 2 by default.
    confidence : float
        That of ellipses and intervals; inertias are tested for equality at the level
        1 - confidence.
    random_state : int or generator, optional
        The seed.
    threads : int, optional
        How many threads to use, by default one for each core. The result is the same.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the replicates done and all.

    Examples
    --------
    >>> import mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((100, 4)) * [3.0, 2.0, 0.5, 0.5]
    >>> found = mc.bootstrap(mc.PCA(2), x, random_state=0)
    >>> found.planes, found.cos2.round(1)
    ((), array([1., 1.]))
    >>> print(mc.bootstrap(mc.PCA(2), x * [1.0, 1.5, 1.0, 1.0], random_state=0))
    200 replicates of 100 individuals
    axes 1 and 2: their inertias may be equal (p = 0.70), so that only the plane they span means something; the first 2 axes together turn by 2° on average
    """  # noqa: E501  (a doctest shows the sentence as the user sees it, on one line)
    rate = confidence_of(confidence)
    with follow_work(progress, "replicates") as tell:
        draws = Resampling.of(
            replicates,
            random_state,
            name="replicates",
            least=FEWEST,
            threads=threads,
            progress=tell,
        )
        return _resampled(model, X, axes, rate, draws)


def _resampled(
    model: Any, X: Any, axes: int | Sequence[int] | None, confidence: float, draws: Resampling
) -> Bootstrap:
    R = draws.count
    source = source_of(model, X, None if axes is None else first_axes(axes))
    if source.count > R // 2:
        raise InvalidParameter(f"{R} replicates are too few for {source.count} axes")
    sums = Sums(source)
    rng = np.random.default_rng(draws.seed)
    samples = (
        draw_individuals(source, rng) for _ in range(R)
    )  # one after the other, whoever works on them

    def work(sample: tuple[Array, Array], stop: Event) -> tuple[Replicate, Array]:
        weights, shares = sample
        return source.at(weights), weights * shares

    threads = 1 if source.has_threads else draws.threads
    with closing(in_order(work, samples, threads)) as found:
        for done, (replicate, squares) in enumerate(found, 1):
            sums.add(replicate, squares)
            if draws.progress is not None:
                draws.progress(done, R)
    return sums.bootstrap(confidence, draws.seed)


def draw_individuals(source: ReplicateSource, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the weights of individuals drawn again, and the weight that each has when drawn once.

    Those without a weight are never drawn.
    """
    active = np.flatnonzero(source.weights > 0)
    for _ in range(1_000):
        counts = rng.multinomial(len(active), np.full(len(active), 1.0 / len(active)))
        if np.sum(counts > 0) > source.count:  # else there are no such axes
            break
    weights = np.zeros(len(source.weights))
    weights[active] = counts * source.weights[active]
    total = weights.sum()
    return weights / total, source.weights / total


class Sums:
    """Sums over replicates, so that memory does not grow with their number."""

    def __init__(self, source: ReplicateSource) -> None:
        n, q = source.scores.shape
        self.source, self.done = source, 0
        self.first, self.second = np.zeros((n, q)), np.zeros((n, q, q))
        self.inertias: list[Array] = []
        self.errors: list[Array] = []
        self.cosines: list[Array] = []
        self.covariances: list[Array] = []

    def add(self, found: Replicate, squares: Array | None = None) -> Array:
        """Take a replicate, and return its scores turned onto those of the model.

        ``squares`` are, where errors are asked for, the sums of squared weights of each individual.
        """
        source = self.source
        aligned: Array = found.scores @ rotation(found.scores, source.scores, source.weights)
        # Sums of differences from the model's own scores do not cancel.
        gaps = aligned - source.scores
        self.first += gaps
        self.second += gaps[:, :, None] * gaps[:, None, :]
        self.inertias.append(found.inertias)
        if squares is not None:
            self.errors.append(log_errors(found.scores, found.inertias, squares))
        self.cosines.append(found.cosines)
        self.covariances.append(found.covariances)
        self.done += 1
        return aligned

    def spread(self) -> tuple[Array, Array]:
        """Return the mean differences from the model's scores, and the sums of squares around."""
        mean = self.first / self.done
        around = self.second - self.done * mean[:, :, None] * mean[:, None, :]
        return mean, around

    def bootstrap(self, confidence: float, seed: int) -> Bootstrap:
        source, R = self.source, self.done
        n = int(np.sum(source.weights > 0))
        mean, around = self.spread()
        error = log_errors(source.scores, source.inertias, source.weights**2)
        errors, replicated = np.array(self.errors), np.array(self.inertias)
        cosines = np.array(self.cosines)
        pairs = [match_axes(c)[0] for c in self.cosines]
        order = np.arange(source.count)
        chosen = np.array([c[order, p] for c, p in zip(self.cosines, pairs, strict=True)])
        leading = [_space(cosines[:, :k, :k]) for k in order + 1]
        fit = source.model.individuals_
        return Bootstrap(
            coordinates=source.scores,
            means=source.scores + mean,
            covariances=n / (n - 1.0) * around / (R - 1.0),
            inertias=source.inertias,
            intervals=studentised(source.inertias, error, replicated, errors, confidence),
            cos2=np.mean(chosen**2, axis=0),
            kept=np.mean(np.array(pairs) == order, axis=0),
            spaces=np.array(leading),
            ties=ties(source.inertias, np.array(self.covariances), 1.0 / np.sum(source.weights**2)),
            replicates=R,
            confidence=confidence,
            seed=seed,
            names=fit.names,
            library=fit.library,
        )


def _space(cosines: Array) -> float:
    """Return the mean squared cosine between two spaces of the same dimension."""
    return float(np.mean(np.sum(cosines**2, axis=(1, 2)) / cosines.shape[1]))


def log_errors(scores: Array, inertias: Array, squares: Array) -> Array:
    r"""Return the standard errors of log λ: the root of :math:`\sum_i w_i^2 (F_i^2/\lambda - 1)^2`.

    ``squares`` are the :math:`w_i^2`, of an individual drawn c times c times that of one draw.

    >>> log_errors(np.array([[2.0], [0.0], [-2.0], [0.0]]), np.array([2.0]), np.full(4, 1 / 16))
    array([0.5])
    """
    known = np.where(inertias > 0.0, inertias, 1.0)
    return np.asarray(np.sqrt(squares @ ((scores / np.sqrt(known)) ** 2 - 1.0) ** 2))


def studentised(
    inertias: Array, error: Array, replicated: Array, errors: Array, confidence: float
) -> Array:
    """Return the symmetric studentised intervals of inertias on the scale of logarithms.

    Where standard errors vanish, as of individuals that are all as far out, logarithms are taken
    as they are. See `bootstrap`.

    >>> studentised(np.ones(1), np.ones(1), np.array([[0.5], [1.0], [2.0]]), np.ones((3, 1)), 0.5)
    array([[0.5, 2. ]])
    """
    gaps = np.abs(np.log(np.maximum(replicated / inertias, np.finfo(float).tiny)))
    is_known = (error > VANISHED) & np.all(errors > VANISHED, axis=0)
    error, errors = np.where(is_known, error, 1.0), np.where(is_known, errors, 1.0)
    reach = error * np.quantile(gaps / errors, confidence, axis=0)
    return np.asarray(inertias[:, None] * np.exp(np.column_stack([-reach, reach])))


def ties(inertias: Array, covariances: Array, individuals: float) -> Array:
    """Return the p-value of the equality of each inertia and the next; see `bootstrap`."""
    found = np.full(len(inertias), np.nan)
    R = len(covariances)
    freedom = 1.0 / (1.0 / (individuals - 1.0) + 1.0 / (R - 1.0))
    centre = covariances.mean(axis=0)
    for k in range(min(len(inertias), covariances.shape[1] - 1)):
        parts = covariances[:, k, k] - covariances[:, k + 1, k + 1], 2.0 * covariances[:, k, k + 1]
        spread = individuals / (individuals - 1.0) * np.cov(np.array(parts))
        gap = inertias[k] - (inertias[k + 1] if k + 1 < len(inertias) else centre[k + 1, k + 1])
        if np.linalg.matrix_rank(spread, hermitian=True) == 2:
            distance = np.array([gap, 0.0]) @ np.linalg.solve(spread, [gap, 0.0])
            found[k] = fdtrc(2, freedom - 1.0, distance * (freedom - 1.0) / (2.0 * freedom))
    return found
