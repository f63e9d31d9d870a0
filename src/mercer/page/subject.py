"""What the page reads of a model, whatever its class: positions, shares, distances, variables."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.files import read
from mercer.data.matrices import SquareMatrix
from mercer.data.missing import MISSING_LEVEL
from mercer.data.sequences import Sequences
from mercer.data.table import Role, Table, as_labels
from mercer.errors import (
    AtBarycentre,
    InvalidInput,
    InvalidParameter,
    NotAvailable,
    NotPositiveDefinite,
    ReadingWarning,
)
from mercer.estimator import require_fit
from mercer.factorial import CA
from mercer.kernels.tables import columns_read
from mercer.page.imputed import Doubtful, doubtful_individuals
from mercer.page.safe_text import PAGE
from mercer.pictures.models import Elements, elements_of, of_categories, of_variables
from mercer.points import lies_on_disk
from mercer.reading import Variables
from mercer.spectrum import Limits, Spectrum


@dataclass(frozen=True)
class Passive:
    """Individuals that are placed on the axes without having made them."""

    names: tuple[str, ...]
    coordinates: Array
    cos2: Array | None


@dataclass(frozen=True)
class Subject:
    """A fitted model as a page sees it.

    ``coordinates`` has one row for each individual; ``shares`` are of the total inertia, None
    where a model has none; ``distances`` and ``rests`` are those to the barycentre and to the
    space of the axes. ``counted`` is how many individuals stand in the rows, where weights say so.
    """

    model: Any
    coordinates: Array
    shares: Array | None
    inertias: Array | None
    weights: Array
    names: tuple[str, ...]
    table: Table | None = None
    distances: Array | None = None
    rests: Array | None = None
    spectrum: Spectrum | None = None
    variables: Variables | None = None
    has_names: bool = False
    passive: Passive | None = None
    counted: int | None = None

    def __len__(self) -> int:
        return len(self.coordinates)

    @cached_property
    def elements(self) -> tuple[Elements, ...]:
        """What stands on the axes beside the individuals, supplementary columns among it."""
        if self.axes == 0:
            return ()
        numbers, labels = self.columns(self.used, is_active=False)
        found = list(elements_of(self.model, numbers, labels, self.counted))
        known = {e.of for e in found}
        if self.table is None or not hasattr(self.model, "supplementary"):
            return tuple(found)
        # A kernel of a whole table reads its columns, and says nothing of each by itself.
        numbers, labels = self.columns(self.used, is_active=True)
        inner = {} if self.kernel is None else self.kernel.children()
        is_of_profiles = any(kernel.reads_profiles for kernel in inner.values())
        if numbers and is_of_profiles:
            shares = self.model.supplementary(variables=self.profiles(numbers)).variables
            found = [of_variables(shares) if e.of == "variables" else e for e in found]
        numbers = {} if known & {"variables", "columns"} else numbers
        labels = {} if "categories" in known else labels
        if numbers:
            found.append(of_variables(self.model.supplementary(variables=numbers).variables))
        if labels:
            found.append(of_categories(self.model.supplementary(categories=labels).categories))
        return tuple(e for e in found if len(e) <= PAGE.linked)

    def columns(
        self, used: tuple[str, ...], *, is_active: bool
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return columns of numbers without gaps, and of labels, that are active or are not."""
        columns = [] if self.table is None else self.table.columns()
        active = frozenset(used)
        some = [c for c in columns if (c.name in active) == is_active]
        numbers = {c.name: np.asarray(c.values, float) for c in some if c.role is Role.NUMBER}
        whole = {n: v for n, v in numbers.items() if np.all(np.isfinite(v)) and np.ptp(v)}
        factors = {c.name: labels_of(c.values) for c in some if c.role is Role.FACTOR}
        return whole, {n: v for n, v in factors.items() if len(set(v.tolist())) <= PAGE.levels}

    def profiles(self, numbers: dict[str, Array]) -> dict[str, Array]:
        """Return columns of counts as shares of the totals of rows over all active columns.

        The counts of a row are low in every column where its total is; its shares need not be.
        """
        active = frozenset(self.used)
        columns = () if self.table is None else self.table.columns()
        counts = [c.values for c in columns if c.role is Role.NUMBER and c.name in active]
        totals = np.sum(np.asarray(counts, float), axis=0)
        return {name: x / np.where(totals > 0, totals, 1.0) for name, x in numbers.items()}

    @property
    def one(self) -> str:
        """What an individual is called: a row of a table of counts, a point of a matrix."""
        if isinstance(self.model, CA):
            return "row"
        is_of_pairs = getattr(self.model, "metric", None) == "precomputed"
        return "point" if is_of_pairs or self.is_precomputed else "individual"

    @cached_property
    def doubtful(self) -> Doubtful | None:
        """The individuals whose numbers were put in, and how far they could move."""
        return doubtful_individuals(self.model, self.table, self.used)

    @property
    def axes(self) -> int:
        return int(self.coordinates.shape[1])

    @property
    def spreads(self) -> Array:
        """The standard deviations of the coordinates: the roots of the inertias of the axes."""
        size = float(np.max(np.abs(self.coordinates), initial=0.0)) or 1.0
        spreads: Array = size * np.sqrt(self.weights @ (self.coordinates / size) ** 2)
        return spreads

    @property
    def kernel(self) -> Any:
        """The kernel with the parameters that were used, None for a model without one."""
        return getattr(self.model, "kernel_", None)

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of the table by which individuals were compared; none where it is beside."""
        is_map_of_pairs = getattr(self.model, "metric", None) == "precomputed"
        if self.table is None or self.is_precomputed or is_map_of_pairs:
            return ()
        if self.kernel is not None and not self.kernel.reads_vectors:
            return columns_read(self.kernel)
        return self.table.active

    @property
    def is_precomputed(self) -> bool:
        return getattr(self.model, "kernel", None) == "precomputed"

    def axis(self, k: int) -> str:
        """Return the title of an axis, counted from 0.

        >>> from mercer import PCA
        >>> subject_of(PCA().fit([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])).axis(0)
        'Dim 1 (90.0 %)'
        """
        share = "" if self.shares is None else f" ({100 * self.shares[k]:.1f} %)"
        return f"Dim {k + 1}{share}"

    def cos2(self, *axes: int) -> Array:
        """Return how well some axes show each individual; all alike where distances are unknown."""
        if self.distances is None:
            return np.ones(len(self))
        away = self.distances > 0
        shown = self.coordinates[:, axes] / np.where(away, self.distances, 1.0)[:, None]
        return np.where(away, np.minimum(np.sum(shown**2, axis=1), 1.0), 0.0)

    def contributions(self, k: int) -> Array:
        """Return the share of each individual in the inertia of an axis."""
        spread = self.spreads[k]
        if not spread > 0:
            return np.zeros(len(self))
        shares: Array = self.weights * (self.coordinates[:, k] / spread) ** 2
        return shares


def face_axes(curved: Any, straight: Any) -> Any:
    """Return a second model of the same individuals whose axes point as those of the first do.

    Axis k has the sign of its correlation with axis k of the straight model; the order of axes
    stays, and so do the models themselves.
    """
    F, G = (np.asarray(m.individuals_.coordinates) for m in (straight, curved))
    if len(F) != len(G) or np.iscomplexobj(F) or np.iscomplexobj(G):
        return curved
    k = min(F.shape[1], G.shape[1])
    w = np.asarray(straight.individuals_.weights, float)
    links = [float(w @ (f / _size(f) * g / _size(g))) for f, g in zip(F.T[:k], G.T, strict=False)]
    signs = np.append(np.where(np.array(links) < 0, -1.0, 1.0), np.ones(G.shape[1] - k))
    return curved if np.all(signs > 0) else curved.reflected(signs)


def _size(column: Array) -> float:
    return float(np.max(np.abs(column), initial=0.0)) or 1.0


def subject_of(model: Any, table: Any = None, supplementary: Any = None) -> Subject:
    """Return what a page says of a fitted model with axes, and of the table it was fitted on."""
    if hasattr(model, "embedding_"):
        found = _of_embedding(model)
    elif hasattr(model, "individuals_"):
        found = _of_readable(model)
    else:
        require_fit(model)
        raise InvalidInput(
            f"{type(model).__name__} has no individuals on axes to show: pass a fitted PCA, "
            "KernelPCA, ClassicalMDS or StressMDS"
        )
    coordinates = found["coordinates"]
    if np.iscomplexobj(coordinates):
        raise InvalidInput(
            "the coordinates are complex, and a page draws real ones: give the real part of the "
            "kernel, which is a kernel too"
        )
    data = _table_of(model, table, len(coordinates))
    names = found.pop("names") or (data.row_names if isinstance(data, Table) else None)
    names = table.names if isinstance(table, SquareMatrix) else names
    names = table.row_names if isinstance(table, Sequences) else names
    return Subject(
        model=model,
        table=data,
        names=names or tuple(map(str, range(1, len(coordinates) + 1))),
        has_names=names is not None,
        passive=None if supplementary is None else _passive_of(model, supplementary),
        **found,
    )


def _passive_of(model: Any, supplementary: Any) -> Passive:
    table = supplementary if isinstance(supplementary, Table) else read(supplementary, "table")
    names = table.row_names or tuple(f"sup {i}" for i in range(1, len(table) + 1))
    reads_rows = getattr(getattr(model, "kernel_", None), "reads_rows", False)
    points = table if reads_rows else table.matrix()
    if not hasattr(model, "supplementary"):
        return Passive(names, np.asarray(model.transform(points), float), None)
    found = model.supplementary(individuals=points).individuals
    try:
        return Passive(names, found.coordinates, found.cos2)
    except (InvalidParameter, NotPositiveDefinite):
        return Passive(names, found.coordinates, None)


@contextmanager
def collect_remarks() -> Iterator[list[str]]:
    """Collect what a reading warns of, for the page to say; other warnings go their way."""
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield remarks
    for found in caught:
        if issubclass(found.category, AtBarycentre) and "individuals" in str(found.message):
            continue  # the page names them itself, as its tables do
        if issubclass(found.category, ReadingWarning):
            remarks.append(str(found.message))
        else:
            warnings.warn_explicit(found.message, found.category, found.filename, found.lineno)


def _of_readable(model: Any) -> dict[str, Any]:
    individuals = model.individuals_
    try:
        distances, rests = individuals.distances, individuals.plane_distances
        individuals.cos2  # noqa: B018  (its warning is part of the page)
    except (InvalidParameter, NotPositiveDefinite):
        distances = rests = None
    try:
        variables = model.variables_
    except NotAvailable:  # the individuals are not rows of variables
        variables = None
    return {
        "coordinates": individuals.coordinates,
        "shares": np.asarray(model.explained_variance_ratio_),
        "inertias": model.inertias_,
        "weights": individuals.weights,
        "names": individuals.names,
        "distances": distances,
        "rests": rests,
        "spectrum": model.spectrum_,
        "variables": variables,
    }


def _of_embedding(model: Any) -> dict[str, Any]:
    F = np.asarray(model.embedding_, float)
    spectrum = getattr(model, "spectrum_", None)
    weights = getattr(model, "_weights", np.full(len(F), 1.0 / len(F)))
    names = getattr(model, "_names", None)
    found = {"coordinates": F, "weights": weights, "names": names, "spectrum": spectrum}
    if spectrum is None:
        return {**found, "shares": None, "inertias": None}
    # Above this size all eigenvalues, and so Σ|λ|, would take longer than the page.
    shares = model.shares_ if len(F) <= Limits.stored else None
    return {**found, "shares": shares, "inertias": np.sum(weights[:, None] * F**2, axis=0)}


def _table_of(model: Any, table: Any, count: int) -> Table | None:
    if table is None:
        return _table_of_fit(model)
    if isinstance(table, Sequences):
        found = table.about
    elif isinstance(table, SquareMatrix):
        found = None
    else:
        found = table if isinstance(table, Table) else read(table, "table")
    rows = len(table)
    if rows != count:
        raise InvalidInput(
            f"the table has {rows} rows and the model {count} individuals: give the table that the "
            "model was fitted on"
        )
    return found


def _table_of_fit(model: Any) -> Table | None:
    """Return the data a model keeps as a table of numbers, None where they are something else."""
    points = getattr(model, "X_fit_", None)
    is_matrix = getattr(model, "kernel", None) == "precomputed"
    if not isinstance(points, np.ndarray) or is_matrix or lies_on_disk(points):
        return None
    if points.ndim != 2 or points.dtype.kind not in "fiu":
        return None
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(points.shape[1])])
    return Table(
        names=tuple(map(str, names)),
        roles=(Role.NUMBER,) * points.shape[1],
        numbers=np.asarray(points, float),
        labels={},
    )


def labels_of(values: Array) -> Array:
    """Return the labels of a factor as text, those that are missing as a level of their own."""
    known = as_labels(values.tolist())
    # numpy's texts end at a NUL, so that two such labels could be one.
    words = [MISSING_LEVEL if v is None else v.replace("\0", " ") for v in known]
    return np.array(words, dtype=object)
