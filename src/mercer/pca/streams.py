"""Rows that arrive in batches: what is kept of them, and how far each batch turns the axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Checked, Points, shares_of, weights_of
from mercer.data.frames import of_layer
from mercer.display import Shown
from mercer.engines.held import Held, to_host
from mercer.engines.lapack import eigenpairs
from mercer.errors import Advice, InvalidInput, InvalidParameter, NotAvailable, NotEnoughMemory
from mercer.estimator import KernelModel, all_or_nothing, axes_asked, on_engine
from mercer.gram import Gram, columns
from mercer.kernels.base import Kernel, Kind
from mercer.lowrank import Factored, Features, nystrom, row_squares
from mercer.operators import Barycentre
from mercer.pca.centred_tables import CentredTable, DenseTable, read_table, safe_units
from mercer.pca.feature_space import FeatureSpace
from mercer.progress import Progress
from mercer.reading import Readable
from mercer.settings import RandomState, machine_bytes, readable, seed_of
from mercer.spectrum import Spectrum
from mercer.spectrum.approximate import landmarks_for, of_covariances
from mercer.spectrum.axes_and_signs import is_real_table

COPIES = 6
"""Square matrices of the columns that a batch is taken in with."""


@dataclass(frozen=True)
class Forgotten:
    """Rows, or their weights, that were seen and not kept: what asks for them is told so."""

    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.__array__()

    def __gt__(self, other: Any) -> Any:
        return self.__array__()

    def __rmul__(self, other: Any) -> Any:
        return self.__array__()

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise NotAvailable(
            f"partial_fit does not keep its {self.shape[0]} rows: transform(X) gives the "
            "coordinates of rows you have, and fit(X) keeps all"
        )


@dataclass(frozen=True, repr=False)
class Drift(Shown):
    """How far one batch of a stream turned the axes, by principal angles in radians.

    ``turn`` has the angles between the axes before it and after it, which become small as rows
    add up; ``apart`` those between the axes before it and the batch's own, which do not. The
    largest angle is first.

    >>> import mercer as mc
    >>> x = mc.datasets.iris().matrix()
    >>> (found,) = mc.PCA(2).partial_fit(x[:75]).partial_fit(x[75:]).drift_
    >>> found.rows, found.turn.round(2)
    (75, array([0.08, 0.01]))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "rows": "of the batch",
        "turn": "angles between the axes before and after it",
        "apart": "angles between the axes before it and its own",
    }

    rows: int
    turn: Array
    apart: Array


def principal_angles(axes: Array, others: Array) -> Array:
    """Return the angles between two spaces of orthonormal columns, the largest first.

    >>> principal_angles(np.eye(3)[:, :2], np.eye(3)[:, 1:]).round(6)
    array([1.570796, 0.      ])
    """
    if not axes.shape[1] or not others.shape[1]:
        return np.empty(0)
    return np.asarray(subspace_angles(axes, others))


def drift_told(stream: Any, drift: tuple[Drift, ...]) -> tuple[Drift, ...]:
    """Return the drift of a stream, or say that there is none."""
    if stream is None:
        raise NotAvailable("drift_ exists only for rows that arrive in batches: use partial_fit")
    return drift


def drift_of(before: Any, after: Any, covariance: Array, rows: int) -> Drift:
    """Return how far a batch of such covariances turned the axes."""
    values, axes = eigenpairs(covariance)
    count = min(before.shape[1], int(np.sum(values > len(values) * 1e-15 * values[-1])))
    own = axes[:, ::-1][:, :count]
    return Drift(rows, principal_angles(before, after), principal_angles(before, own))


@dataclass(frozen=True, eq=False)
class Moments:
    r"""The weight, mean and covariances of rows, to which those of other rows can be added.

    .. math:: C = (1 - f)\, C_a + f\, C_b + f (1 - f)\, \delta\delta^\top, \quad
        \delta = \mu_b - \mu_a, \; f = w_b / (w_a + w_b)

    (Chan, Golub and LeVeque 1983). The mean is ``centre`` and ``rest``, what rounding takes from
    it, so that differences of means are right whatever the offset. All are in ``units``, powers of
    two; ``largest`` is the largest modulus of each column.
    """

    rows: int
    active: int
    total: float
    units: Array
    centre: Array
    rest: Array
    covariance: Array
    largest: Array

    @staticmethod
    def of(
        X: Any,
        weights: Array,
        *,
        by_column: bool = False,
        tell: Progress | None = None,
        columns: tuple[str, ...] | None = None,
    ) -> Moments:
        """Return those of some rows, in one walk over them or two.

        >>> Moments.of(np.array([[1e8 + 1.0], [1e8 + 3.0]]), np.ones(2)).covariance
        array([[1.]])
        """
        p = X.shape[1]
        if 8 * COPIES * p * p > machine_bytes():
            raise NotEnoughMemory(
                f"partial_fit stores the covariances of {p} columns, which take "
                f"{readable(8 * COPIES * p * p)}, more than this machine has: choose fewer columns"
            )
        table = read_table(
            X,
            shares_of(weights),
            by_column=by_column,
            has_scatter=True,
            tell=tell,
            columns=columns,
        )
        rest = getattr(table, "drift", None)
        return Moments(
            rows=X.shape[0],
            active=int(np.sum(weights > 0)),
            total=float(weights.sum()),
            units=table.units,
            centre=table.centre,
            rest=np.zeros(p) if rest is None else rest,
            covariance=table.covariance(),
            largest=table.largest,
        )

    @staticmethod
    def elsewhere(points: Any, weights: Array, *, by_column: bool) -> Moments:
        """Return those of rows on other machines, found and added up there."""

        def found(part: Any, rows: slice) -> Moments | None:
            shares = weights[rows]
            return Moments.of(part, shares, by_column=by_column) if shares.any() else None

        def both(a: Moments | None, b: Moments | None) -> Moments | None:
            return a.joined(b, by_column=by_column) if a is not None and b is not None else a or b

        made: Moments = points.summed(found, both)
        return made

    def joined(self, other: Moments, *, by_column: bool = False) -> Moments:
        """Return those of the rows of both."""
        most = np.maximum(self.largest * self.units, other.largest * other.units)
        a, b = (m._in_units(safe_units(most, by_column)) for m in (self, other))
        share = b.total / (a.total + b.total)
        gap = (b.centre - a.centre) + (b.rest - a.rest)
        step = share * gap + a.rest
        centre = a.centre + step
        return Moments(
            rows=a.rows + b.rows,
            active=a.active + b.active,
            total=a.total + b.total,
            units=a.units,
            centre=centre,
            rest=step - (centre - a.centre),
            covariance=(1.0 - share) * a.covariance
            + share * b.covariance
            + share * (1.0 - share) * np.outer(gap, gap),
            largest=np.maximum(a.largest, b.largest),
        )

    def _in_units(self, units: Array) -> Moments:
        if np.array_equal(units, self.units):
            return self
        f = self.units / units
        moved = {n: f * getattr(self, n) for n in ("centre", "rest", "largest")}
        return replace(self, units=units, covariance=f[:, None] * self.covariance * f, **moved)

    def table(self, values: Any, weights: Any) -> DenseTable:
        """Return the table of such rows, which are ``values`` wherever they are."""
        return DenseTable(
            values,
            weights,
            units=self.units,
            centre=self.centre,
            variances=np.maximum(np.diag(self.covariance), 0.0),
            largest=self.largest,
            factors=np.ones(len(self.centre)),
            drift=self.rest if self.rest.any() else None,
            scatter=self.covariance,
        )

    def scaled(self, table: CentredTable) -> Array:
        """Return the covariances with the units and the factors of a table."""
        f = table.factors
        scaled: Array = f[:, None] * self._in_units(table.units).covariance * f
        return scaled


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """The moments of Nyström features on landmarks that stay, and what the features leave out.

    ``missing`` is the mean of k(x, x) less the squared norm of the features, ``rounding`` bounds
    what rounding adds to an eigenvalue, for each root of the trace.
    """

    features: Features
    how: str
    assumption: str
    moments: Moments
    missing: float
    rounding: float

    @staticmethod
    def of(kernel: Kernel, points: Points, landmarks: Points, weights: Array) -> FeatureMoments:
        """Return those of some points, computed by the engine in use."""
        found = nystrom(Gram(kernel, points), len(landmarks), landmarks=landmarks)
        shares = shares_of(weights)
        size = float(np.sqrt(shares @ row_squares(found.factor)))
        return FeatureMoments(
            features=found.features,
            how=found.how,
            assumption=found.assumption,
            moments=Moments.of(np.asarray(found.factor), weights),
            missing=max(float(shares @ found.missing), 0.0),
            rounding=found.bounds(shares)[0] / size if size else 0.0,
        )

    def joined(self, other: FeatureMoments) -> FeatureMoments:
        """Return those of the points of both."""
        share = other.moments.total / (self.moments.total + other.moments.total)
        return replace(
            self,
            moments=self.moments.joined(other.moments),
            missing=(1.0 - share) * self.missing + share * other.missing,
            rounding=max(self.rounding, other.rounding),
        )

    def spectrum(self, count: int) -> Spectrum:
        """Return the axes of the features, with intervals that count what was left out."""
        table, kernel = self.moments.table(None, None), self.features.kernel
        mean = self.moments.centre + self.moments.rest
        covariance = table.covariance()
        below = self.rounding * float(np.sqrt(np.trace(covariance) + mean @ mean))
        above = self.missing + below
        stands_for = Factored(
            factor=np.empty((0, len(mean))),
            how=self.how,
            features=self.features,
            below=below,
            above=above,
            trace_gap=above,
            assumption=self.assumption,
            roots=np.empty((0, 1)),
            barycentre=Barycentre(mean, np.empty(0)),
        )
        is_proved = kernel.kind is not Kind.SIMILARITY and bool(kernel.proof)
        rows = self.moments.rows
        return of_covariances(covariance, stands_for, count, rows, is_proved=is_proved)


def stream_landmarks(
    kernel: Kernel, points: Points, count: int, asked: int | Points | None, seed: int
) -> Points:
    """Return the landmarks of a stream: those given, or chosen among the rows of its first batch.

    Rows of numbers give centres of k-means, anything else random pivots.
    """
    if kernel.kind is Kind.CONDITIONAL:
        raise InvalidParameter(
            f"{kernel} is conditionally positive definite, and partial_fit needs a positive "
            "definite kernel: its features have an origin that no batch moves"
        )
    if asked is not None and not isinstance(asked, int | np.integer):
        return asked
    size = landmarks_for(len(points), count, asked)
    if asked is not None and size < asked:
        raise InvalidInput(
            f"the first batch chooses the landmarks, and has {len(points)} rows for {asked} of "
            "them: give a larger one, or the points themselves as landmarks"
        )
    how = "kmeans" if is_real_table(points) else "pivoted"
    return nystrom(Gram(kernel, points), size, landmarks=how, random_state=seed).features.landmarks


class KernelStream(FeatureSpace, Readable, KernelModel):
    """A kernel PCA whose individuals may arrive in batches."""

    n_components: float | None
    method: str
    landmarks: int | Points | None
    deterministic: bool
    random_state: RandomState
    _stream: FeatureMoments | None = None
    _drift: tuple[Drift, ...] = ()

    def _check_parameters(self) -> None:
        """Refuse by name what would otherwise fail after hours, or not at all."""
        raise NotImplementedError

    def _resolved(self, points: Any) -> Kernel:
        """Return the kernel, its rules decided by the individuals that have a weight."""
        raise NotImplementedError

    def _keep_spectrum(self, spectrum: Spectrum, total: float) -> None:
        """Keep the axes, and how many of them are asked for."""
        raise NotImplementedError

    def _reads_points(self) -> bool:
        if self._is_precomputed:
            raise NotAvailable(
                "partial_fit needs points, and a precomputed matrix has none: give a kernel"
            )
        return True

    @available_if(_reads_points)  # type: ignore[untyped-decorator]
    @of_layer
    @on_engine
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> Self:
        """Take in a batch of individuals, of which only the moments of their features are kept.

        The features are Nyström's, on landmarks that stay: points given as ``landmarks``, else
        chosen in the first batch, which also decides rules such as ``bandwidth="median"``. The axes
        are those of all individuals so far: inertias agree with ``method="nystrom"`` on the same
        landmarks to 1e-10 of the largest, whatever the batches. Intervals count what the landmarks
        leave out by its trace. Signs are decided by the features, and what is told of each
        individual (`individuals_`) is not there: use `transform`. ``drift_`` says how far each
        batch turned the axes. A batch costs m³ operations for m landmarks, beside those of its
        rows. A model that was fitted goes on with the individuals of its fit as the first batch;
        `fit` begins anew.

        >>> import mercer as mc
        >>> x = np.random.default_rng(0).standard_normal((300, 2)) * [3.0, 1.0]
        >>> given = {"kernel": mc.Gaussian(4.0), "method": "nystrom", "landmarks": x[:40]}
        >>> stream = mc.KernelPCA(2, **given)
        >>> for batch in (x[:100], x[100:210], x[210:]):
        ...     stream = stream.partial_fit(batch)
        >>> whole = mc.KernelPCA(2, **given).fit(x)
        >>> np.allclose(stream.inertias_, whole.inertias_, rtol=1e-10), len(stream.drift_)
        (True, 2)
        """
        with all_or_nothing(self):
            return self._take_in(X, sample_weight)

    def _take_in(self, X: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        if self.method not in ("auto", "nystrom"):
            given = Advice("method", "nystrom")
            raise InvalidParameter(
                f"partial_fit keeps landmarks instead of individuals: use {given}", given
            )
        if self._stream is None and "spectrum_" in vars(self):  # a fit is the first batch
            rows, counted = self.X_fit_, self._total * self._weights
            del self.spectrum_
            self._take_in(rows, counted)
        earlier, known, is_first = self._stream, self._drift, self._stream is None
        X = self._held(X)
        points = self._read(X, reset=is_first)
        if isinstance(points, Held):  # of a batch nothing is kept but moments, which are small
            points = Checked.of(to_host(points), "X")
        weights = weights_of(sample_weight, len(points))
        names = None if is_first else self._columns
        self._note(X, shares_of(weights), columns(points))
        self._columns = names or self._columns
        if is_first:
            self.seed_ = seed_of(0 if self.deterministic else self.random_state)
            self._shift, self._unit, known = None, 1.0, ()
            self.kernel_ = self._resolved(points)
        asked = axes_asked(self.n_components)
        if earlier is not None:
            landmarks = earlier.features.landmarks
        else:
            few = asked if isinstance(asked, int) else 1
            landmarks = stream_landmarks(self.kernel_, points, few, self.landmarks, self.seed_)
        batch = FeatureMoments.of(self.kernel_, points, landmarks, weights)
        every = batch if earlier is None else earlier.joined(batch)
        spectrum = every.spectrum(asked if isinstance(asked, int) else len(landmarks))
        if earlier is not None:
            before, after = self.spectrum_.feature_axes, spectrum.feature_axes
            known = (*known, drift_of(before, after, batch.moments.covariance, len(points)))
        self._stream, self._drift, self._names = every, known, None
        gone: Any = Forgotten((every.moments.rows,))
        self._weights = self._squares = self.X_fit_ = gone
        self.__dict__.pop("eigenvectors_", None)  # those of a fit before it
        self._keep_spectrum(spectrum, every.moments.total)
        self._keep_feature_axes(spectrum)
        return self

    @property
    def drift_(self) -> tuple[Drift, ...]:
        """How far each batch of a stream turned the axes, from the second one on."""
        check_is_fitted(self)
        return drift_told(self._stream, self._drift)

    def _active_count(self) -> int:
        return super()._active_count() if self._stream is None else self._stream.moments.active
