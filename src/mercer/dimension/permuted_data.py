"""What parallel analysis permutes, of a table, of sets or of a model, and the axes made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mercer.check import Array, Points, as_numpy, chunks, is_foreign, members, vectors
from mercer.data.frames import rows as as_rows
from mercer.dimension.limits import Limits
from mercer.engines.cpu import Threads, engine_of, engine_on, engine_word
from mercer.engines.engine import Engine
from mercer.engines.held import hold
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.estimator import as_kernel
from mercer.gram import Centred, Gram
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.sets import as_sets, in_order, incidence
from mercer.kernels.vectors import Linear
from mercer.points import (
    Rows,
    as_points,
    take,
)

CONSTANT = 1e-14
"""A column that varies by less than this share of its largest entry is constant up to rounding."""

JITTER = 1e-12
"""What is added to the diagonal of the landmarks' matrix, as a share of its trace."""

NULLS = (
    "the null of parallel analysis permutes each column of a table, or each element's presences "
    "in a list of sets"
)


class PermutedColumns(Protocol):
    """Data whose columns can be permuted, and the matrix whose eigenvalues are their inertias."""

    @property
    def columns(self) -> Array:
        """The data by columns: one row for each variable, one column for each individual."""

    @property
    def rank(self) -> int:
        """How many axes there can be."""

    @property
    def side(self) -> int:
        """The size of the matrix."""

    @property
    def noise(self) -> float:
        """The total inertia that rounding alone can make."""

    def matrix(self, columns: Array) -> tuple[Array, float]:
        """Return a Hermitian matrix whose eigenvalues are the inertias, and their total."""

    def operator(self, columns: Array) -> Centred:
        """Return an operator with the same eigenvalues, of which only tiles exist."""


@dataclass(frozen=True, eq=False)
class LinearSubject:
    r"""A table of numbers, decomposed on its smaller side.

    .. math:: \tfrac{1}{n} \tilde X^\top \tilde X \quad\text{or}\quad
        \tfrac{1}{n} \tilde X \tilde X^\top

    Both have the same nonzero eigenvalues. Centring and standardising a column commute with
    permuting it, so they are done once.
    """

    columns: Array
    """Centred, and standardised if so wanted, over √n."""

    @property
    def rank(self) -> int:
        p, n = self.columns.shape
        return int(min(n - 1, p))

    @property
    def side(self) -> int:
        return int(min(self.columns.shape))

    @property
    def noise(self) -> float:
        return 0.0  # of a table that is the same for all individuals, which is refused

    def matrix(self, columns: Array) -> tuple[Array, float]:
        return smaller_side(columns)

    def operator(self, columns: Array) -> Centred:
        points = np.sqrt(columns.shape[1]) * columns.T
        return Gram(Linear(), points, engine=Threads(is_deterministic=True)).centred()


@dataclass(frozen=True, eq=False)
class KernelSubject:
    """Points with columns, seen through a kernel.

    A rule such as ``bandwidth="median"`` is applied anew to every permuted table: then the
    statistic is one function of the data, and its p-value exact.
    """

    kernel: Kernel
    columns: Array
    points: Callable[[Array], Points]
    """How permuted columns become points."""

    @property
    def rank(self) -> int:
        return self.side - 1

    @property
    def side(self) -> int:
        return int(self.columns.shape[1])

    @property
    def noise(self) -> float:
        size = np.max(np.abs(self.operator(self.columns).gram.diag()))
        return self.side * float(np.finfo(float).eps * size)

    def operator(self, columns: Array) -> Centred:
        points = self.points(columns)
        return Gram(self.kernel, points, engine=Threads(is_deterministic=True)).centred()

    def matrix(self, columns: Array) -> tuple[Array, float]:
        whole = self.operator(columns).dense()
        return whole, float(np.trace(whole).real)


@dataclass(frozen=True, eq=False)
class LandmarkSubject(KernelSubject):
    r"""Points seen through a kernel and some of them, the landmarks: Nyström's approximation.

    .. math:: L^{-1} \Bigl(\tfrac{1}{n} C^\top C - c c^\top\Bigr) L^{-\top}, \quad
        L L^\top = W + \delta I

    C holds the values at individuals and landmarks, c their means, W those at the landmarks. They
    are the same rows of every table: as exchangeable under the null as the others, so that the
    p-values are exact for the axes of the approximation. The total is the mean of the diagonal less
    that of C; a rule for the bandwidth is applied to the landmarks.
    """

    landmarks: Array
    engine: Engine | None = None
    """The GPU on which C is computed and multiplied, None for the thread of a permutation."""

    @property
    def side(self) -> int:
        return len(self.landmarks)

    @property
    def rank(self) -> int:
        return int(self.columns.shape[1]) - 1

    def matrix(self, columns: Array) -> tuple[Array, float]:
        points = as_points(self.points(columns), "X", are_vectors=self.kernel.reads_vectors)
        n, chosen = len(points), take(points, self.landmarks)
        kernel, one = self.kernel.resolve(chosen), Threads(1, is_deterministic=True)
        small = Gram(kernel, chosen, engine=one).dense()
        small[np.diag_indices_from(small)] += JITTER * np.trace(small)
        squares, means, diagonal = np.zeros_like(small), np.zeros(len(small)), 0.0
        if self.engine is not None:
            tiles = Gram(kernel, points, chosen, engine=self.engine).cut()
            values = self.engine.factor(tiles, np.eye(len(small)), is_held=True)
            squares, means = values.T @ values / n, values.sum(axis=0) / n
            diagonal = float(np.sum(kernel.diag(points))) / n
        for part in chunks(n, Limits.rows) if self.engine is None else ():
            some = take(points, np.arange(part.start, part.stop))
            values = Gram(kernel, some, chosen, engine=one).dense()
            squares += values.T @ values / n
            means += values.sum(axis=0) / n
            diagonal += float(np.sum(kernel.diag(some))) / n
        try:
            L = cholesky(small, lower=True)
        except np.linalg.LinAlgError as error:
            raise NotPositiveDefinite(
                f"{kernel} has negative eigenvalues on {len(small)} of the individuals, which "
                "landmarks cannot represent: check_kernel shows them; with landmarks= the number "
                "of individuals the whole matrix is used"
            ) from error
        half = solve_triangular(L, squares - np.outer(means, means), lower=True)
        found = solve_triangular(L, half.T, lower=True)
        return (found + found.T) / 2.0, diagonal - float(np.mean(means))


@dataclass(frozen=True, eq=False)
class FeatureSubject:
    """Columns of a table with features of their own, whose rows are permuted in their place."""

    columns: Array
    """The row from which each column takes each entry."""

    features: Array
    """Those of all columns, one row for each individual, centred, over √n."""

    parts: tuple[slice, ...]
    """The features of each column."""

    rank: int

    @property
    def side(self) -> int:
        return int(min(self.features.shape))

    @property
    def noise(self) -> float:
        return 0.0

    def permuted(self, columns: Array) -> Array:
        """Return the features of permuted columns, one row for each feature."""
        found = np.empty(self.features.shape[::-1])
        for part, places in zip(self.parts, columns, strict=True):
            found[part] = self.features[places, part].T
        return found

    def matrix(self, columns: Array) -> tuple[Array, float]:
        return smaller_side(self.permuted(columns))

    def operator(self, columns: Array) -> Centred:
        return LinearSubject(self.permuted(columns)).operator(self.permuted(columns))


@dataclass(frozen=True, eq=False)
class FlippedSubject:
    r"""Columns of a table whose rows have unequal weights: their entries change signs.

    .. math:: \tilde C_{jk} = \sum_i \frac{w_i}{(1 - w_i)^2}\,
        \varepsilon_{ij} \varepsilon_{ik}\, z_{ij} z_{ik}^\top \;(j \ne k), \quad
        \tilde C_{jj} = C_{jj}

    Values that are exchanged lose the weights they had: if weights depend on values, as those of
    surveys do, independent columns would look dependent in a fifth of all tables and more. An entry
    that keeps its row and changes its sign keeps its weight; the covariances of two columns are
    then 0 in the mean and vary as those of independent columns do, whatever their weights. The
    factor makes up for means that a heavy row has drawn to itself, as that of MacKinnon and White
    (1985) does in regression. The level is held in the limit of many rows; of 300 tables in each of
    eight regimes, of 18 to 76 rows in effect, 0.7 to 5.7 % were rejected at 5 %.
    """

    columns: Array
    """The row from which each column takes each entry; permuted, they are signs."""

    features: Array
    """Those of all columns, one row for each individual, centred, times √w."""

    weights: Array
    parts: tuple[slice, ...]
    rank: int

    @property
    def side(self) -> int:
        return int(self.features.shape[1])

    @property
    def noise(self) -> float:
        return 0.0

    @cached_property
    def covariances(self) -> Array:
        """Those of the table as it is."""
        found: Array = self.features.T @ self.features
        return found

    def matrix(self, columns: Array) -> tuple[Array, float]:
        total = float(np.trace(self.covariances))
        if columns is self.columns:
            return self.covariances, total
        half = np.where(np.arange(len(self.features)) % 2, 1.0, -1.0)
        drawn = self.features / (1.0 - self.weights)[:, None]
        for part, places in zip(self.parts, columns, strict=True):
            drawn[:, part] *= (half * half[places])[:, None]
        found = drawn.T @ drawn
        for part in self.parts:
            found[part, part] = self.covariances[part, part]
        return found, total

    def operator(self, columns: Array) -> Centred:
        raise NotImplementedError("refused where the matrix cannot be stored")


def smaller_side(columns: Array) -> tuple[Array, float]:
    """Return the smaller of the two matrices of inner products, and its trace."""
    p, n = columns.shape
    product: Array = columns @ columns.T if p <= n else columns.T @ columns
    return product, float(np.trace(product).real)


@dataclass(frozen=True, eq=False)
class Incidence:
    """Sets as columns: the presences of one element in all sets."""

    elements: tuple[Any, ...]

    def __call__(self, columns: Array) -> list[frozenset[Any]]:
        return [frozenset(self.elements[j] for j in np.flatnonzero(one)) for one in columns.T]


@dataclass(frozen=True, eq=False)
class Exchanged:
    """A table of several types as columns: the row from which each column takes each entry."""

    rows: Rows

    def __call__(self, columns: Array) -> Rows:
        named = zip(self.rows.columns.items(), columns, strict=True)
        return Rows({name: take(values, at) for (name, values), at in named}, self.rows.roles)


def linear_subject(X: Any, *, standardize: bool, drops_constant: bool = False) -> LinearSubject:
    """Return a table of numbers, centred and perhaps standardised.

    A constant column cannot be standardised; it is refused, or left out as a model did.
    """
    columns = _table(X)
    n = columns.shape[1]
    largest = np.max(np.abs(columns), axis=1, keepdims=True)
    power = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)
    unit = columns / power  # no square overflows, and no bit is lost of a column far from 0
    for _ in range(2):  # the second time removes what rounding left of the mean
        unit -= unit.mean(axis=1, keepdims=True)
    if not standardize:
        return LinearSubject(_finite_inertia(unit * power / np.sqrt(n)))
    deviations = np.sqrt(np.mean(unit**2, axis=1, keepdims=True))
    is_constant = (deviations <= CONSTANT * (largest / power))[:, 0]
    if drops_constant:
        kept = _permutable(unit[~is_constant] / deviations[~is_constant], "column")
        return LinearSubject(kept / np.sqrt(n))
    if np.any(is_constant):
        j = int(np.argmax(is_constant))
        names = getattr(X, "columns", range(len(columns)))
        raise InvalidInput(
            f"column {names[j]!r} is constant and cannot be standardised; leave it out, or pass "
            "standardize=False"
        )
    return LinearSubject(unit / deviations / np.sqrt(n))


def kernel_subject(kernel: Kernel, X: Any, *, standardize: bool) -> KernelSubject:
    """Return points with columns seen through a kernel, or say why they have no columns."""
    if kernel.reads_places:
        raise InvalidInput(
            f"a precomputed matrix has no columns to permute: {NULLS}. Give the data and their "
            "kernel instead"
        )
    if kernel.reads_rows or (not kernel.reads_vectors and _are_sets(X)):
        if standardize:
            raise InvalidParameter("these have no columns of numbers: pass standardize=False")
        return _rows_subject(kernel, as_rows(X)) if kernel.reads_rows else _sets_subject(kernel, X)
    if not kernel.reads_vectors and len(getattr(X, "shape", ())) != 2:
        kind = type(next(members(X), None)).__name__
        raise InvalidInput(
            f"points of type {kind} have no columns to permute: {NULLS}. For other data choose by "
            "'inertia', 'kaiser' or 'scree'"
        )
    if standardize:
        subject = linear_subject(X, standardize=True)
        columns = subject.columns * np.sqrt(subject.columns.shape[1])
    else:
        columns = _table(X)
    return KernelSubject(kernel, columns, np.transpose)


def _sets_subject(kernel: Kernel, X: Points) -> KernelSubject:
    sets = as_sets(X, None)
    elements = tuple(in_order(frozenset().union(*sets)))
    table = incidence(sets, {e: j for j, e in enumerate(elements)}).toarray().astype(bool).T
    return KernelSubject(kernel, _permutable(table, "element"), Incidence(elements))


def _rows_subject(kernel: Kernel, table: Rows) -> KernelSubject:
    places = np.tile(np.arange(len(table)), (len(table.columns), 1))
    return KernelSubject(kernel, _permutable(places, "column"), Exchanged(table))


def _are_sets(X: Any) -> bool:
    return not hasattr(X, "dtype") and len(X) > 0 and all(isinstance(a, Set) for a in members(X))


def _table(X: Any) -> Array:
    """Return the columns of a table of real numbers as rows, contiguous."""
    rows = as_numpy(vectors(X, "X"))
    if rows.dtype.kind == "c":
        raise InvalidInput("X must hold real numbers, found complex ones")
    return _permutable(rows.T, "column")


def _permutable(columns: Array, what: str) -> Array:
    """Return columns as contiguous rows if permuting them can change anything."""
    p, n = columns.shape
    if n < 2:
        raise InvalidInput(f"parallel analysis needs at least two individuals, found {n}")
    if p < 2:
        raise InvalidInput(
            f"parallel analysis needs at least two {what}s, found {p}: permuting one {what} "
            "changes nothing"
        )
    if np.all(columns == columns[:, :1]):
        raise InvalidInput("all individuals are equal: there is no inertia and there are no axes")
    return np.ascontiguousarray(columns)


def _finite_inertia(columns: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        total = float(np.sum(columns**2))
    if not np.finfo(float).tiny / CONSTANT < total < np.inf:
        raise InvalidInput(
            "the inertia of X is not a double precision number; rescale X, or pass standardize=True"
        )
    return columns


ROUNDED = 1e-6
"""How far, relative to it, a number of individuals may be from a whole one for rounding."""

SAME_WEIGHT = 1e-12
"""How far, relative to the largest, weights may be from each other and count as equal."""

WEIGHTED = (
    "the model's axes are not those of its data with equal weights of columns: fit without weights "
    "of columns, or pass the data themselves"
)
WEIGHTED_KERNEL = (
    "the rows have unequal weights, and a kernel sees all columns at once: values that are "
    "exchanged lose the weights they had, and signs can be drawn only for columns of their own. "
    "Choose by 'inertia', 'kaiser' or 'scree', or fit without weights"
)


class PermutedSource(NamedTuple):
    """What is permuted, whether through a kernel, and the inertias and their total of a model.

    ``engine`` is the GPU that the model was fitted on.
    """

    subject: PermutedColumns
    is_kernel: bool
    inertias: Array | None = None
    inertia: float = 0.0
    engine: Engine | None = None

    def approximated(self, landmarks: int | None, seed: int) -> PermutedSource:
        """Return the source seen through landmarks where the matrix of its kernel is large.

        ``landmarks`` is their number, None for the usual one; as many as individuals are all.
        """
        whole = self.subject
        if type(whole) is not KernelSubject or whole.kernel.kind is not Kind.POSITIVE:
            return self
        count = Limits.landmarks if landmarks is None else landmarks
        if count >= whole.side or (landmarks is None and whole.side <= Limits.whole):
            return self
        drawn = np.random.default_rng(seed).choice(whole.side, count, replace=False)
        chosen = np.sort(drawn)
        some = LandmarkSubject(whole.kernel, whole.columns, whole.points, chosen, self.engine)
        return self._replace(subject=some)


def source_of(
    data_or_model: Any, kernel: Any, standardize: Any, counted: int | None = None
) -> PermutedSource:
    """Return what is permuted: the columns of data, seen through a kernel or not, or a model's.

    ``counted`` are the individuals that stand in the rows of a model.
    """
    if not isinstance(standardize, bool | np.bool_ | None):
        raise InvalidParameter(f"standardize must be True, False or None, found {standardize!r}")
    if hasattr(data_or_model, "fit"):
        if kernel is not None or standardize is not None:
            raise InvalidParameter(
                "a fitted model has its own kernel and standardisation; pass the data to choose "
                "others"
            )
        return _of_model(data_or_model, counted)
    if counted is not None:
        raise InvalidParameter(
            "counted= is for a fitted model, whose weights say how often a row was seen"
        )
    if kernel is None:
        return PermutedSource(
            linear_subject(data_or_model, standardize=standardize is not False), False
        )
    return PermutedSource(_seen_through(as_kernel(kernel), data_or_model, bool(standardize)), True)


def _of_model(model: Any, counted: int | None) -> PermutedSource:
    name = type(model).__name__
    inertias = getattr(model, "inertias_", None)
    if inertias is None:
        raise InvalidInput(f"{name} has no inertias_: fit it first")
    if not getattr(model, "has_exchangeable_columns", True):
        raise InvalidInput(
            f"{name} weighs rows by their totals, to which every column adds: no column can be "
            "shuffled by itself. Choose by 'inertia', 'kaiser' or 'scree'"
        )
    X = getattr(model, "X_fit_", None)
    if X is None:
        raise InvalidInput(f"{name} does not keep its data as X_fit_: pass the data themselves")
    resolved = getattr(model, "kernel_", None)
    parts = getattr(model, "feature_parts", None)
    is_standardised = bool(getattr(model, "standardize", False))
    known = np.asarray(inertias), float(model.inertia_)
    weights = model.weights_ if hasattr(model, "weights_") else np.ones(len(X))
    weights = np.asarray(weights, np.float64)
    seen = _seen_rows(weights, counted)
    if seen is None:
        if parts is None and resolved not in (None, Linear()):
            raise InvalidInput(WEIGHTED_KERNEL)
        features = _table(X).T if parts is None else model.fitted_features()
        alone = None if parts is None else parts()
        subject: PermutedColumns = _flipped_subject(
            features, alone, weights, standardize=is_standardised
        )
        return PermutedSource(subject, resolved is not None, *known)
    if parts is not None:
        subject = _feature_subject(model, parts(), seen)
        return PermutedSource(subject, True, *known)
    X = _repeated(X, seen, len(weights))
    if resolved is None:
        subject = linear_subject(X, standardize=is_standardised, drops_constant=True)
    else:
        given = resolved if resolved.reads_places else getattr(model, "kernel", resolved)
        subject = _seen_through(as_kernel(given), X, False)
    return PermutedSource(subject, resolved is not None, *known, engine=_gpu_of(model))


def _gpu_of(model: Any) -> Engine | None:
    """Return the GPU that a model was fitted on, None for any other engine."""
    place = hold(model.X_fit_) if is_foreign(model.X_fit_) else None
    if place is not None:
        return engine_on([place], Threads())
    engine = getattr(model, "engine", "auto")
    is_gpu = engine == "gpu" if isinstance(engine, str) else engine_word(engine) == "gpu"
    return engine_of(engine) if is_gpu else None


def _feature_subject(model: Any, parts: Sequence[slice], seen: Array) -> FeatureSubject:
    features = np.asarray(model.fitted_features())[seen]
    n = len(features)
    columns = _permutable(np.tile(np.arange(n), (len(parts), 1)), "column")
    centred = (features - features.mean(axis=0)) / np.sqrt(n)
    return FeatureSubject(columns, centred, tuple(parts), min(n - 1, model.feature_rank))


def _flipped_subject(
    features: Array, parts: Sequence[slice] | None, weights: Array, *, standardize: bool
) -> FlippedSubject:
    """Return features of columns whose rows have unequal weights; by default each column is one."""
    rows = weights > 0
    w = weights[rows] / weights.sum()
    Z = np.asarray(features, np.float64)[rows]
    power = np.ldexp(1.0, np.frexp(np.max(np.abs(Z), axis=0, initial=0.0))[1])
    Z = (Z - w @ Z) / power
    is_varied = np.sqrt(w @ Z**2) > CONSTANT
    if parts is None:
        Z, power = Z[:, is_varied], power[is_varied]
        power = 1.0 / np.sqrt(w @ Z**2) if standardize else power
        parts = [slice(j, j + 1) for j in range(Z.shape[1])]
    if Z.shape[1] > Limits.dense:
        raise InvalidInput(
            f"the rows have unequal weights, and {Z.shape[1]} columns are more than the "
            f"{Limits.dense} whose signs are drawn. Choose by 'inertia', 'kaiser' or 'scree'"
        )
    places = _permutable(np.tile(np.arange(len(Z)), (len(parts), 1)), "column")
    F = np.sqrt(w)[:, None] * (power * Z)
    return FlippedSubject(places, F, w, tuple(parts), int(np.linalg.matrix_rank(F)))


def _seen_rows(weights: Array, counted: int | None) -> Array | None:
    """Return the rows, each as often as it was seen; None where weights differ and count nothing.

    >>> _seen_rows(np.array([0.5, 0.25, 0.25]), 4), _seen_rows(np.array([1.0, 0.0, 1.0]), None)
    (array([0, 0, 1, 2]), array([0, 2]))
    """
    share = weights / weights.sum()
    positive = share[share > 0]
    if counted is None:
        is_equal = np.ptp(positive) <= SAME_WEIGHT * np.max(positive)
        return np.flatnonzero(share) if is_equal else None
    counts = np.rint(counted * share)
    if np.any(np.abs(counts - counted * share) > ROUNDED * np.maximum(counts, 1.0)):
        raise InvalidParameter(
            f"counted={counted} individuals cannot stand in rows of these weights: some would "
            "stand for a fraction of one"
        )
    if counted > Limits.counted:
        raise InvalidInput(
            f"{counted} individuals stand in the rows, more than the {Limits.counted} that are "
            "shuffled one by one. Choose by 'inertia', 'kaiser' or 'scree'"
        )
    return np.repeat(np.arange(len(share)), counts.astype(int))


def _repeated(X: Any, seen: Array, n: int) -> Any:
    """Return the rows, of n, that were seen, each as often as it was."""
    if np.array_equal(seen, np.arange(n)):
        return X
    if isinstance(X, Rows):
        return Exchanged(X)(np.tile(seen, (len(X.columns), 1)))
    return take(X, seen)


def _seen_through(kernel: Kernel, X: Any, standardize: bool) -> PermutedColumns:
    if kernel == Linear():  # whose smaller side is known
        return linear_subject(X, standardize=standardize)
    return kernel_subject(kernel, as_points(X, "X"), standardize=standardize)
