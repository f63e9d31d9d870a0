"""A spectrum: its axes with their signs, proved errors, and the story of how they were found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from mercer.certificate import Certificate
from mercer.check import TINY, Array, Points, power_of_two
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.engines.held import Held
from mercer.errors import InvalidInput
from mercer.gram import Centred, Gram, columns
from mercer.lowrank import Factored
from mercer.operators import Barycentre
from mercer.operators import Operator as Operator
from mercer.points import take

TIED = 1.0 - 1e-8
"""The share of the largest score from which on another decides the sign as well."""

DEGENERATE = 1e-8
"""Eigenvalues closer than this share of the largest are one cluster, whatever the errors say."""

KernelOperator = Gram | Centred


@dataclass(frozen=True, repr=False)
class How(Shown):
    """How a spectrum was computed.

    ``memory`` is the number of bytes planned for it beside the data, ``history`` the largest
    residual after each pass, relative to the largest eigenvalue.
    """

    facts: ClassVar[Mapping[str, str]] = {
        "single_passes": "in single precision",
        "double_passes": "in double precision",
        "seconds": "that it took",
        "random_state": "the seed",
        "history": "residuals after each pass",
        "memory": "bytes that were planned",
    }

    method: str
    single_passes: int = 0
    double_passes: int = 0
    seconds: float = 0.0
    random_state: int | None = None
    history: tuple[float, ...] = ()
    memory: int = 0

    def _title(self) -> str:
        return (
            f"{self.method}, {self.single_passes + self.double_passes} passes, {self.seconds:.2g} s"
        )


@dataclass(frozen=True, repr=False)
class Spectrum(Shown):
    """Leading eigenvalues and unit eigenvectors of a Hermitian operator, and how far to trust them.

    ``errors`` bounds the distance of each true eigenvalue from the computed one. ``clusters``
    lists the axes, counted from 0, that only mean something together. ``trace`` is that of the
    whole operator; of an approximation it may be ``trace_error`` below the truth.
    ``rank`` counts the eigenvalues above ``threshold`` and ``negative_mass`` is the share of
    negative ones in Σ|λ|; both are known only when all eigenvalues were computed. ``features``
    are those of the approximation that was decomposed in the operator's place, if one was, and
    ``feature_axes`` the unit axes in their space, which has ``barycentre`` as its origin.
    ``images`` holds the operator times the vectors, where they differ from values times vectors.
    ``smallest`` is a value that the smallest eigenvalue does not exceed, where one was sought.

    >>> import mercer as mc
    >>> found = mc.PCA(2, standardize=True).fit(mc.datasets.decathlon()).spectrum_
    >>> found.values.round(3), found.rank, bool(found.errors.max() < 1e-10)
    (array([3.272, 1.737]), 10, True)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "values": "eigenvalues",
        "errors": "that are proved",
        "vectors": "individuals by axes",
        "trace": "of the operator",
        "rank": "numerical",
        "negative_mass": "share of negative eigenvalues",
        "psd": "is it positive?",
        "clusters": "axes that cannot be told apart",
        "how": "it was computed",
    }

    values: Array
    vectors: Array
    certificate: Certificate
    trace: float
    threshold: float
    rank: int | None
    negative_mass: float | None
    psd: str
    how: How
    clusters: tuple[tuple[int, ...], ...] = field(default=())
    images: Array | None = None
    smallest: float | None = None
    trace_error: float = 0.0
    features: Callable[[Points], Array] | None = None
    feature_axes: Array | None = None
    barycentre: Barycentre | None = None

    def _title(self) -> str:
        of = f"of {len(self.vectors)} individuals" if len(self.vectors) else "of a stream"
        return f"Spectrum of {len(self.values)} axes {of}"

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each axis, with its share of the trace."""
        shares = self.values / self.trace if self.trace > 0 else 0.0 * self.values
        columns = {
            "axis": np.arange(1, len(self.values) + 1),
            "value": self.values,
            "error": self.errors,
            "share": shares,
            "cumulated": np.cumsum(shares),
        }
        return as_frame(columns, library)

    @property
    def errors(self) -> Array:
        return self.certificate.errors

    @property
    def is_approximate(self) -> bool:
        """Whether another operator was decomposed in place of the one asked for."""
        return self.features is not None


def is_real_table(points: Points) -> bool:
    """Whether points are rows of real numbers, of which there are means."""
    kind = getattr(getattr(points, "dtype", None), "kind", "f")
    return columns(points) > 0 and kind != "c"


def positive_base(operator: KernelOperator) -> Gram:
    """Return a positive definite Gram matrix that is the operator's own once it is centred."""
    base = operator.base
    return base.positive(operator.weights) if isinstance(operator, Centred) else base


EXTREME = 1e15
"""Kernel values beyond this, or below its inverse, are computed with in a unit of their own.

Their squares leave the range of single precision.
"""


def unit_of(operator: KernelOperator) -> float:
    """Return a power of two in which the kernel's values are near one, 1 for usual sizes."""
    base = operator.base
    size = float(np.max(np.abs(base.diag()), initial=0.0))
    if size == 0.0 and base.shape[0]:
        size = float(np.max(np.abs(base.rows(0))))
    usual = size == 0.0 or 1.0 / EXTREME < size < EXTREME
    return 1.0 if usual else power_of_two(np.array(max(size, TINY)))  # 1 / unit is a double too


def scale_operator(operator: KernelOperator, weight: float) -> KernelOperator:
    """Return the operator of a multiple of the kernel."""
    base = operator.base
    kernel, progress = weight * base.kernel, base.progress
    gram = Gram(kernel, base.x, engine=base.engine, tile=base.tile, progress=progress)
    return gram.centred(operator.weights) if isinstance(operator, Centred) else gram


def in_units(spectrum: Spectrum, operator: Operator, unit: float) -> Spectrum:
    """Return the spectrum of an operator in whose place a multiple of it was decomposed."""
    proof, images, smallest = spectrum.certificate, spectrum.images, spectrum.smallest
    with np.errstate(over="ignore"):
        found = replace(
            spectrum,
            values=unit * spectrum.values,
            images=None if images is None else unit * images,
            smallest=None if smallest is None else unit * smallest,
            certificate=replace(
                proof,
                lower=unit * proof.lower,
                upper=unit * proof.upper,
                complete_above=unit * proof.complete_above,
            ),
            trace=unit * spectrum.trace,
            trace_error=unit * spectrum.trace_error,
            threshold=unit * spectrum.threshold,
        )
    refuse_too_large(operator, found.trace, found.trace_error, *found.certificate.upper)
    return found


def of_all(spectrum: Spectrum, operator: Any, count: int) -> Spectrum:
    """Return a spectrum of the points that have a weight as one of all points.

    Each of the others has an axis of its own, whose eigenvalue is 0; they are there if so many
    axes are asked for.
    """
    active, others = np.flatnonzero(operator.weights), np.flatnonzero(operator.weights == 0)
    images, seen = spectrum.images, spectrum.barycentre
    if seen is not None and spectrum.features is not None:
        products = _spread(seen.products, active, operator.shape[0])
        products[others] = np.real(spectrum.features(take(operator.base.x, others)) @ seen.mean)
        seen = Barycentre(seen.mean, products)
    found = replace(
        spectrum,
        vectors=_spread(spectrum.vectors, active, operator.shape[0]),
        images=None if images is None else _spread(images, active, operator.shape[0]),
        barycentre=seen,
        certificate=_beside_zeros(spectrum.certificate),
    )
    missing = 0 if spectrum.is_approximate else count - len(spectrum.values)
    if missing < len(others):  # one of them is an axis that was not asked for
        proof = replace(
            found.certificate, complete_above=max(0.0, found.certificate.complete_above)
        )
        found = replace(found, certificate=proof)
    return _with_zeros(found, others[:missing]) if missing > 0 else found


def _beside_zeros(proof: Certificate) -> Certificate:
    """Return what is proved where 0 is an eigenvalue too, of other axes.

    The space of the first axes is what it was while their eigenvalues are above 0, and any that
    may be below 0 may have one of the others before it.
    """
    return replace(
        proof,
        sines=np.where(proof.lower > 0.0, proof.sines, 1.0),
        upper=np.where(proof.lower < 0.0, np.maximum(proof.upper, 0.0), proof.upper),
    )


def _spread(rows: Array, active: Array, n: int) -> Array:
    """Return rows of some points as rows of n points, zeros elsewhere."""
    result = np.zeros((n, *rows.shape[1:]), rows.dtype)
    result[active] = rows
    return result


def _with_zeros(spectrum: Spectrum, points: Array) -> Spectrum:
    """Return a spectrum with axes of eigenvalue 0, each along one of the points."""
    proof, zeros = spectrum.certificate, np.zeros(len(points))
    values = np.append(spectrum.values, zeros)
    order = np.argsort(-values, kind="stable")
    own = np.zeros((len(spectrum.vectors), len(points)))
    own[points, np.arange(len(points))] = 1.0
    lower, upper = np.append(proof.lower, zeros)[order], np.append(proof.upper, zeros)[order]
    if np.all(proof.is_ordered):  # the k-th largest of all is between those of the bounds
        lower, upper = np.sort(lower)[::-1], np.sort(upper)[::-1]
    known = replace(
        proof,
        lower=lower,
        upper=upper,
        sines=np.append(proof.sines, zeros + 1.0)[order],
        is_ordered=np.append(proof.is_ordered, zeros == 0.0)[order],
        bounds=tuple(np.append(proof.bounds, ["no weight"] * len(points))[order]),
        assumptions=tuple(np.append(proof.assumptions, ["none"] * len(points))[order]),
    )
    images = spectrum.images
    return replace(
        spectrum,
        values=values[order],
        vectors=np.hstack([spectrum.vectors, own])[:, order],
        images=None if images is None else np.hstack([images, 0.0 * own])[:, order],
        certificate=known,
    )


def rounding_standing(operator: Operator, *, is_single: bool = False) -> str:
    """Say what the bounds for rounding rest on."""
    if not operator.base.entry_rounding().is_proved:
        return "estimated: the kernel has no bound of its own"
    return f"estimated: {operator.base.engine.single_name}" if is_single else "bounded"


def refuse_too_large(operator: Operator, *sums: float) -> None:
    """Refuse an operator of which sums, or what bounds them, are no doubles.

    >>> from mercer import Linear
    >>> refuse_too_large(Gram(Linear(), [[1.0]]), 1.0, np.inf)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: the values of linear() can be so large that sums of them leave the range of doubles: rescale the data or the kernel's parameters
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if not np.all(np.isfinite(sums)):
        raise InvalidInput(
            f"the values of {getattr(operator.base, 'kernel', 'the matrix')} can be so large that "
            "sums of them leave the range of doubles: rescale the data or the kernel's parameters"
        )


def clusters(values: Array, lower: Array, upper: Array) -> tuple[tuple[int, ...], ...]:
    """Return groups of axes whose eigenvalues cannot be told apart, the next one after included.

    Two that follow each other are apart if the larger one is above all that the next may be, from
    ``lower`` to ``upper``, and if they differ by more than rounding does to the axes. ``upper`` has
    an entry for the next one too, if there is one.

    >>> one, none = np.array([3.0, 2.0, 1.9, 1.0]), np.zeros(3)
    >>> clusters(one, one[:3] - 0.1, one + 0.1), clusters(one, one[:3], one)
    (((1, 2),), ())
    """
    count = len(lower)
    least = DEGENERATE * float(np.max(np.abs(values), initial=0.0))
    groups: list[list[int]] = [[0]]
    for i in range(1, min(count + 1, len(values))):
        if lower[i - 1] <= upper[i] or values[i - 1] - values[i] <= least:
            groups[-1].append(i)
        else:
            groups.append([i])
    kept = [tuple(i for i in g if i < count) for g in groups if len(g) > 1]
    return tuple(g for g in kept if g)


def around(values: Array, errors: Array | float, count: int) -> tuple[Array, Array]:
    """Return the ends of intervals for `clusters`: the next one's error is the largest of all.

    >>> around(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.5]), 2)
    (array([2.9, 1.5]), array([3.1, 2.5, 1.5]))
    """
    given = np.broadcast_to(errors, (count,))
    sizes = np.append(given, given.max(initial=0.0))[: len(values)]
    return values[:count] - given, values[: len(sizes)] + sizes


def orient_axes(vectors: Array, operator: Operator | Factored) -> Array:
    """Give each axis the sign that makes its largest score positive."""
    result: Array = vectors * orientation(vectors, operator)
    return result


def orientation(vectors: Array, operator: Operator | Factored) -> Array:
    """Return the factors of `orient_axes`."""
    active = operator.roots[:, 0] > 0
    if np.all(active):
        return signs(vectors / operator.roots)
    return signs(vectors[active] / operator.roots[active])


def signs(scores: Array) -> Array:
    """Return the factors that make the score of largest modulus on each axis real and positive.

    Moduli within 1e-8 of the largest are tied, and the first of them decides.

    >>> signs(np.array([[1.0, -2.0], [-3.0, 2.0]]))
    array([-1., -1.])
    """
    if not scores.size:
        return np.ones(scores.shape[1])
    chosen = _firsts_of_largest(scores)
    moduli = np.where(np.abs(chosen) > 0, np.abs(chosen), 1.0)
    return np.where(np.abs(chosen) > 0, np.conj(chosen) / moduli, 1.0)


def _firsts_of_largest(scores: Array) -> Array:
    """Return of each column the first of the scores whose moduli are tied with the largest."""
    if isinstance(scores, Held):
        return scores.firsts_of_largest(TIED)
    sizes = np.abs(scores)
    first = np.argmax(sizes >= TIED * sizes.max(axis=0), axis=0)
    chosen: Array = scores[first, np.arange(scores.shape[1])]
    return chosen


def ranks(values: Array) -> Array:
    """Return the place of each value in their order, by which random numbers are dealt out.

    What is dealt by an individual's own distances does not depend on the order of the rows.

    >>> ranks(np.array([30.0, 10.0, 20.0]))
    array([2, 0, 1])
    """
    places = np.empty(len(values), dtype=np.intp)
    places[np.argsort(values, kind="stable")] = np.arange(len(values))
    return places


def sine_bounds(theta: Array, rho: float, tau: float, rounding: float = 0.0) -> Array:
    r"""Return bounds for the angle between the space of the first k axes and the true one.

    .. math:: \sin\angle \le \frac{\|R\|_2}{\theta_k - \tau_k}

    where :math:`\tau_k` bounds what lies outside the first k: the next Ritz value or τ, widened by
    the residual (Davis and Kahan). ``rounding`` bounds the error of the Ritz values themselves.
    """
    following = np.append(theta[1:], -np.inf)
    outside = np.maximum(following, tau) + rho + rounding
    gaps = theta - rounding - outside
    return np.where(gaps > 0, np.minimum(rho / np.where(gaps > 0, gaps, 1.0), 1.0), 1.0)
