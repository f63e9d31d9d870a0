"""Kernels on the rows of a table: one kernel for each column, or group of columns, of any type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any, ClassVar, TypeAlias

import numpy as np
from array_api_compat import is_array_api_obj

from mercer.check import Array, Points, as_numpy, is_missing, members, namespace
from mercer.display import first_names, warn
from mercer.errors import Advice, DataWarning, InvalidInput, InvalidParameter, Row
from mercer.kernels.algebra import Composite, Product, refuse_conditional, times
from mercer.kernels.base import ATOM, ZERO_SQUARE, Domain, Kernel, Kind, Name, literal, value
from mercer.kernels.features import dense, how_wide, join, outer_rows, places
from mercer.kernels.pairs import AllPairs, Pairs
from mercer.kernels.radial import sample_points, sample_weights
from mercer.kernels.roles import guessed_kernels
from mercer.kernels.variables import missing_word
from mercer.points import (
    Paired,
    Rows,
    as_points,
)
from mercer.settings import nonnegative, numbers

Key: TypeAlias = str | tuple[str, ...]
"""A column, or the columns of a group."""

BALANCED, MIXED = "balanced", "mixed"
"""The rules that weigh kernels: each has inertia 1, or what it has in analysis of mixed data."""


def as_rows(points: Any) -> Points:
    """Return points whose parts have names: rows of a table, or a sequence of mappings."""
    given = as_points(points, "x")
    if not isinstance(given, Rows) and not isinstance(next(iter(members(given)), {}), Mapping):
        raise InvalidInput(
            "a kernel on tables reads a mapping from names to columns, or a sequence of mappings; "
            f"found {type(points).__name__} (of a data frame: mercer.data.rows(frame))"
        )
    return given


@dataclass(frozen=True)
class ColumnsOf:
    """The map that takes rows of a table to what they hold in a column or a group of columns.

    The columns of a group are put together as one array where all are numbers, and as tuples
    elsewhere.
    """

    key: Key

    def __call__(self, points: Any) -> Points:
        rows = as_rows(points)
        if isinstance(self.key, str):
            return self._column(rows, self.key)
        parts = [self._column(rows, name) for name in self.key]
        try:
            return np.column_stack([_numbers(part) for part in parts])
        except (TypeError, ValueError):
            return Paired(*parts)

    def _column(self, rows: Points, name: str) -> Points:
        if isinstance(rows, Rows):
            return rows.column(name)
        try:
            return [row[name] for row in members(rows)]
        except KeyError:
            raise InvalidInput(f"a row has no column {name!r}") from None


def _numbers(part: Points) -> Array:
    column = as_numpy(part)
    if column.dtype.kind not in "biuf":
        raise TypeError("not numbers")
    return column


def name_of(key: Key) -> str:
    """Return the name of a block: its column, or its columns with commas."""
    return key if isinstance(key, str) else ",".join(key)


def _blocks(v: Any, name: str) -> tuple[tuple[Key, Kernel], ...] | None:
    if v is None:
        return None
    if not isinstance(v, Mapping | tuple):
        raise InvalidParameter(f"{name} must map columns to kernels, found {v!r}")
    pairs = tuple((_key(k), kernel) for k, kernel in (v.items() if isinstance(v, Mapping) else v))
    wrong = next((k for k, kernel in pairs if not isinstance(kernel, Kernel)), None)
    if not pairs or wrong is not None:
        what = "nothing" if wrong is None else f"none for {wrong!r}"
        raise InvalidParameter(f"{name} must map columns to kernels, found {what}")
    names = [f"{name_of(key)}__" for key, _ in pairs]
    for i, one in enumerate(names):  # a parameter's path must say whose it is
        if any(other.startswith(one) for j, other in enumerate(names) if i != j):
            raise InvalidParameter(f"{one[:-2]!r} begins the name of another column too; rename it")
    return pairs


def _key(key: Any) -> Key:
    if isinstance(key, str):
        return key
    columns = tuple(key) if isinstance(key, tuple | list) else ()
    if not columns or not all(isinstance(c, str) for c in columns):
        raise InvalidParameter(f"a kernel belongs to a column or a tuple of columns, found {key!r}")
    return columns[0] if len(columns) == 1 else columns


def _weights(v: Any, name: str) -> tuple[float, ...] | str | None:
    if v is None or (isinstance(v, str) and v in (BALANCED, MIXED)):
        return v
    if isinstance(v, str):
        raise InvalidParameter(f"{name} are numbers, {MIXED!r} or {BALANCED!r}, found {v!r}")
    return numbers(v, name, nonnegative)


@contextmanager
def in_column(name: str) -> Iterator[None]:
    """Say in which column something was refused."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"column {name!r}: {error}") from error


@value
class Columns(Composite):
    r"""A kernel on the rows of a table: the sum, or the product, of kernels on its columns.

    .. math:: k(x, y) = \sum_b w_b\, k_b(x_b, y_b) \quad\text{or}\quad \prod_b k_b(x_b, y_b)

    Points are the rows of a mapping from names to columns, which may be arrays, strings, graphs or
    sets; models also take data frames. What is missing is refused by row and column, unless
    ``missing="level"`` makes it a level.

    Parameters
    ----------
    columns : mapping from a column, or a tuple of columns, to its kernel
        By default all columns are used, each with the kernel of its type and ``"mixed"``: numbers
        and time stamps standardised, categories by :math:`1_{a = b}/p_a`, which is the factor
        analysis of mixed data (`FAMD`; of numbers alone standardised PCA, of Q categories Q times
        `MCA`); strings by the triples of letters they share, graphs by Weisfeiler–Lehman, sets by
        their intersection.
    weights : one number for each kernel, "mixed" or "balanced"
        1 each by default. ``"balanced"`` divides each kernel by its inertia on the data, as the
        standardisation of variables does: see `inertia`. ``"mixed"`` leaves standardised numbers
        and categories over their shares as they are (by what the data say of both, their inertia is
        1 and the levels less 1), and divides the others by theirs, so that each counts as one
        number.
    product : whether kernels are multiplied
    missing : {"error", "level"}
        ``"level"`` makes every `Category` take what is missing for one more category: its feature
        is one more vector, orthogonal to those of the others, so that the kernel stays an inner
        product. To leave out a column of a pair in which one of two lacks it, and to divide by the
        columns that are left, as Gower's similarity does, is no inner product: let b have both of
        two columns and a and c one each, equal to b's. Then a and b, and b and c, are alike to 1,
        a and c have nothing in common, and with 0 for them the form of (1, −1, 1)/√3 is −1/3. A
        missing number has no such place and is refused: `mercer.read` imputes it.

    Examples
    --------
    >>> from mercer.kernels import Category
    >>> from mercer import Columns, Gaussian
    >>> table = {"height": [1.6, 1.8], "team": ["red", "blue"]}
    >>> Columns({"height": Gaussian(0.2), "team": Category()})(table)
    array([[2.        , 0.60653066],
           [0.60653066, 2.        ]])
    >>> Columns({"team": Category()}, missing="level")({"team": ["red", None, None]})
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    >>> Columns().resolve({"height": [1.5, 2.0], "team": ["red", "blue"]})
    Columns({"height": Standardised(centre=[1.75], scale=[0.25]), "team": Category(levels=["blue", "red"], shares=[0.5, 0.5], missing="error", unknown="zero")}, weights=[1.0, 1.0])

    Kroese et al., Theorem 6.5.5.
    """  # noqa: E501  (a doctest shows the kernel on one line)

    columns: Mapping[Any, Kernel] | tuple[tuple[Key, Kernel], ...] | None = None
    weights: Mapping[Any, float] | Sequence[float] | str | None = None
    product: bool = False
    missing: str = "error"
    has_parts: ClassVar[bool] = True
    domain: ClassVar[Domain] = {"columns": _blocks, "missing": missing_word}
    theorem: ClassVar[str] = "a tensor sum or product of {kind} kernels is one"

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        if self.missing == "level" and self.blocks:
            levelled = tuple((key, kernel.with_missing_level()) for key, kernel in self.blocks)
            object.__setattr__(self, "columns", levelled)
        blocks = self.blocks
        given = self.weights
        if isinstance(given, Mapping):
            keys = {name_of(_key(key)): w for key, w in given.items()}
            if keys.keys() != self.children().keys():
                raise InvalidParameter(f"weights are given for {sorted(keys)}, not for each column")
            given = [keys[name] for name in self.children()]
        weights = _weights(given, "weights")
        object.__setattr__(self, "weights", weights)
        if isinstance(weights, tuple) and len(weights) != len(blocks):
            raise InvalidParameter(f"there are {len(weights)} weights of {len(blocks)} columns")
        if self.product and weights is not None:
            raise InvalidParameter("a product of kernels has no weights: they would be one factor")
        if self.product:
            kernels = [kernel for _, kernel in blocks]
            refuse_conditional(kernels, "a product with a conditionally positive definite kernel")

    @property
    def blocks(self) -> tuple[tuple[Key, Kernel], ...]:
        """The columns and their kernels; none where they are yet to be guessed."""
        return self.columns if isinstance(self.columns, tuple) else ()

    @staticmethod
    def guess(table: Any) -> Columns:
        """Return the kernels that are taken where none are given, before they see the data."""
        rows = as_rows(table)
        if not isinstance(rows, Rows):
            names = dict.fromkeys(name for row in members(rows) for name in row)
            rows = Rows({name: ColumnsOf(name)(rows) for name in names})
        return Columns(guessed_kernels(rows), weights=MIXED)

    @property
    def reads_vectors(self) -> bool:
        return False

    @property
    def reads_rows(self) -> bool:
        return True

    def children(self) -> dict[str, Kernel]:
        return {name_of(key): kernel for key, kernel in self.blocks}

    def with_children(self, children: Mapping[str, Kernel]) -> Kernel:
        blocks = tuple((key, children[name_of(key)]) for key, _ in self.blocks)
        return replace(self, columns=blocks or None)

    def own_parameters(self) -> dict[str, Any]:
        weights = {} if self.weights is None else {"weights": self.weights}
        return {**weights, "product": self.product, "missing": self.missing}

    def _field(self, child: str) -> ColumnsOf:
        return ColumnsOf(next(key for key, _ in self.blocks if name_of(key) == child))

    def seen_by(self, child: str, x: Points) -> Points:
        return self._field(child)(x)

    def pairs_of(self, child: str, pairs: Pairs) -> Pairs:
        return pairs.mapped(self._field(child))

    def resolve(self, x: Points, weights: Array | None = None) -> Kernel:
        if self.columns is None:
            guessed = Columns.guess(x)
            kept = MIXED if self.weights is None and not self.product else self.weights
            found = replace(guessed, weights=kept, product=self.product, missing=self.missing)
            return found.resolve(x, weights)
        rows = as_rows(x)
        children = {}
        for name, kernel in self.children().items():
            column = self.seen_by(name, rows)
            with in_column(name):
                if not kernel.takes_missing:
                    refuse_missing(column, self.missing)
                children[name] = kernel.resolve(column, weights)
        return self.with_children(children).resolve_rules(rows, weights)

    def resolve_rules(self, x: Points, weights: Array | None) -> Kernel:
        if not isinstance(self.weights, str):
            return self
        keeps_inertia = self.weights == MIXED
        inertias = {
            name: 1.0
            if keeps_inertia and kernel.is_of_mixed_data
            else inertia(kernel, self.seen_by(name, x), weights)
            for name, kernel in self.children().items()
        }
        constant = [name for name, size in inertias.items() if size == 0.0]
        if constant:
            warn(
                f"column {first_names(list(map(repr, constant)))} is the same in all rows for its "
                "kernel, and counts for nothing",
                DataWarning,
            )
        return replace(self, weights=tuple(1.0 / v if v > 0.0 else 0.0 for v in inertias.values()))

    @property
    def numbers(self) -> Sequence[float]:
        """The weights as numbers, one for each kernel."""
        if not self.blocks:
            raise InvalidParameter("the kernels of columns depend on data: call k.resolve(x) first")
        if isinstance(self.weights, str):
            raise InvalidParameter(
                f"the weights {self.weights!r} depend on data: call k.resolve(x) first"
            )
        return self.weights if isinstance(self.weights, tuple) else (1.0,) * len(self.blocks)

    def values(self, pairs: Pairs) -> list[Array]:
        self.numbers  # noqa: B018  (refuses a kernel that was not resolved)
        found = []
        for name, kernel in self.children().items():
            with in_column(name):
                found.append(kernel.evaluate(self.pairs_of(name, pairs)))
        return found

    def combine(self, values: Sequence[Array]) -> Array:
        if self.product:
            return prod(values[1:], start=values[0])
        terms = [w * v for w, v in zip(self.numbers, values, strict=True)]
        return sum(terms[1:], start=terms[0])

    def local_slopes(self, values: Sequence[Array]) -> Sequence[Array | float]:
        if self.product:
            return Product(tuple(kernel for _, kernel in self.blocks)).local_slopes(values)
        return self.numbers

    def local_partials(self, values: Sequence[Array]) -> dict[str, Array]:
        if not isinstance(self.weights, tuple):
            return {}
        return {"weights": namespace(*values).stack(list(values), axis=-1)}

    def evaluate_squares(self, pairs: Pairs) -> Array:
        if self.product:
            return Composite.evaluate_squares(self, pairs)
        squares = []
        for name, kernel in self.children().items():
            with in_column(name):
                squares.append(kernel.evaluate_squares(self.pairs_of(name, pairs)))
        return self.combine(squares)

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        """Return the gradient in the numbers of the table; what is no number has no direction."""
        at = places(pairs.x)
        total = np.zeros((*pairs.shape, how_wide(pairs.x)))
        local = self.local_slopes(self.values(pairs))
        for (key, kernel), slope in zip(self.blocks, local, strict=True):
            names = [key] if isinstance(key, str) else [name for name in key if name in at]
            if not any(name in at for name in names):
                continue
            inner = kernel.evaluate_slopes(self.pairs_of(name_of(key), pairs))
            columns = np.concatenate([np.arange(at[name].start, at[name].stop) for name in names])
            total[..., columns] += times(slope, inner)
        return total

    def features(self, x: Points) -> Array:
        weights, parts = self.numbers, []
        for name, k in self.children().items():
            column = self.seen_by(name, x)
            with in_column(name):
                parts.append(dense(k.features(column)))
        if not self.product:
            return join([sqrt(w) * phi for w, phi in zip(weights, parts, strict=True)])
        first, *others = parts
        for phi in others:
            first = outer_rows(first, phi)
        return first

    @property
    def is_sum_of_columns(self) -> bool:
        return not self.product and bool(self.blocks)

    @property
    def has_factors(self) -> bool:
        return self.is_sum_of_columns and all(k.has_factors for _, k in self.blocks)

    def sparse_factors(self, pairs: Any) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        for (name, child), w in zip(self.children().items(), self.numbers, strict=True):
            with in_column(name):
                inside = child.sparse_factors(self.pairs_of(name, pairs))
            found.extend((w * a, b) for a, b in inside)
        return found

    def text(self, name: Name) -> tuple[str, int]:
        inside = ", ".join(f"{_spelt(key, name)}: {k.text(name)[0]}" for key, k in self.blocks)
        arguments = [f"{{{inside}}}"] if self.blocks else []
        if self.weights is not None:
            arguments.append(f"weights={literal(self.weights, name)}")
        if self.product:
            arguments.append("product=True")
        if self.missing != "error":
            arguments.append(f"missing={literal(self.missing, name)}")
        return f"{name('Columns')}({', '.join(arguments)})", ATOM


def columns_read(kernel: Kernel, table: Any = None) -> tuple[str, ...]:
    """Return the columns that a kernel on tables looks at; those yet to be guessed need the table.

    >>> from mercer import Linear
    >>> columns_read(2.0 * Columns({"age": Linear(), ("x", "y"): Linear()}))
    ('age', 'x', 'y')
    >>> columns_read(Linear())
    ()
    """
    if not kernel.reads_rows:
        return ()
    blocks = kernel.blocks
    if not blocks and not kernel.children():
        blocks = () if table is None else Columns.guess(table).blocks
    names = [name for key, _ in blocks for name in ((key,) if isinstance(key, str) else key)]
    if not blocks:
        names = [n for k in kernel.children().values() for n in columns_read(k, table)]
    return tuple(dict.fromkeys(names))


def _spelt(key: Key, name: Name) -> str:
    if isinstance(key, str):
        return literal(key, name)
    return f"({', '.join(literal(column, name) for column in key)})"


def refuse_missing(column: Points, asked: str) -> None:
    """Refuse a column in which something is missing, by its first row.

    Where a level was asked for, its kernel is one that has none.
    """
    parts = column.parts if isinstance(column, Paired) else [column]
    for part in parts:
        if is_array_api_obj(part) and as_numpy(part).dtype.kind not in "fOc":
            continue
        holes = _holes(part)
        if np.any(holes):
            count, first = int(np.sum(holes)), int(np.argmax(holes))
            level = Advice("missing", "level", "Columns(missing='level')")
            remedy = f"make a level of missing categories: {level}"
            if asked == "level":
                remedy = "read categories by the kernel Category(), which alone has levels"
            raise InvalidInput(
                f"{count} of {len(holes)} values {'is' if count == 1 else 'are'} missing, the "
                f"first in {Row(first)}; leave such rows out, impute numbers, or {remedy}",
                level,
                Row(first),
            )


def _holes(part: Points) -> Array:
    """Return which rows have nothing, or lack a coordinate."""
    if is_array_api_obj(part) and as_numpy(part).dtype.kind in "fc":
        holes = np.isnan(as_numpy(part))
        return np.asarray(holes.reshape(len(holes), -1).any(axis=1))
    return np.array([is_missing(v) for v in members(part)], bool)


def inertia(kernel: Kernel, x: Points, weights: Array | None = None) -> float:
    r"""Return the mean squared distance of points to their mean in the space of a kernel.

    .. math:: \sum_i w_i \|\varphi_i - \bar\varphi\|^2 = \frac{1}{2} \sum_{ij} w_i w_j\, d^2_{ij}

    with weights w that sum to 1, equal ones by default. Of kernels that are not linear, and more
    than a thousand points, a thousand decide.

    >>> from mercer import Linear
    >>> inertia(Linear(), [[1.0], [3.0]])
    1.0
    >>> inertia(Linear(), [[1.0], [3.0]], np.array([1.0, 3.0]))
    0.75
    """
    if kernel.is_affine and kernel.kind is Kind.POSITIVE:
        features = as_numpy(kernel.features(x))
        away = features - np.average(features, axis=0, weights=weights)
        return float(np.average(away**2, axis=0, weights=weights).sum())
    few = sample_points(x)
    squares = as_numpy(kernel.evaluate_squares(AllPairs(few)))
    w = None if weights is None else sample_weights(weights)
    half = float(np.average(np.average(squares, axis=0, weights=w), weights=w)) / 2.0
    return half if half > ZERO_SQUARE * float(np.max(np.abs(squares), initial=0.0)) else 0.0
