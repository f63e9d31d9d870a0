r"""What is observed of points, numbers that can be squared, and functions that are not penalised.

Where constants are among those functions, weights sum to zero, and a kernel that holds an inner
product may be seen from any point c:

.. math:: \langle x - c, y - c \rangle = \langle x, y \rangle - \langle x, c \rangle
    - \langle c, y \rangle + \langle c, c \rangle

differs by functions of x alone and of y alone. Seen from their mean, points however far from the
origin keep the digits that their inner products would lose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import DataConversionWarning

from mercer.check import (
    Array,
    Checked,
    Points,
    as_numpy,
    compute_lazy,
    is_foreign,
    is_missing,
    real_array,
    refuse_non_finite,
    vectors,
)
from mercer.display import warn
from mercer.engines.held import Held
from mercer.errors import InvalidInput, InvalidParameter, Row
from mercer.kernels.base import Kernel
from mercer.points import as_table

EXTREME = 1e140
"""Numbers above this, or all below its inverse, have sums of squares that are no doubles."""


def check_size(values: Array, name: str) -> None:
    """Refuse numbers that cannot be squared.

    >>> check_size(np.array([1.0, 1e-200]), "y")
    >>> check_size(np.array([0.0, 1e-200]), "y")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: the largest modulus of y is 1e-200, whose square leaves the range of double precision: multiply y by a power of ten
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest > EXTREME or 0.0 < largest < 1.0 / EXTREME:
        raise InvalidInput(
            f"the largest modulus of {name} is {largest:g}, whose square leaves the range "
            f"of double precision: multiply {name} by a power of ten"
        )


def read_numbers(y: Any) -> Any:
    """Return targets as they are, but numbers in words as numbers; refuse what is no number.

    >>> read_numbers(["1.5", "2"])
    array([1.5, 2. ])
    >>> read_numbers(["1.5", "high"])
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y, row 1: 'high' is not a number; classes are for mercer.SVC
    >>> read_numbers([1.5, np.nan])
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y, row 1 holds NaN. Remove or impute what is missing or infinite (NaN, inf) first; rows are counted from 0
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    y = as_numpy(y) if is_foreign(y := compute_lazy(y)) else y
    values = np.asarray(y)
    if values.ndim == 0:
        return y
    if values.dtype.kind in "USO":
        y = values = _in_words(values)
    elif values.dtype.kind in "cmM":
        what = (
            "complex numbers: give their real and their imaginary parts"
            if values.dtype.kind == "c"
            else "dates or times: give numbers, such as days since the first"
        )
        raise InvalidInput(f"y holds {what}")
    refuse_non_finite(values, "y")
    return y


def _in_words(values: Array) -> Array:
    for place, value in np.ndenumerate(values):
        try:
            float(value)
        except (TypeError, ValueError):
            word = repr(str(value) if isinstance(value, str) else value)
            raise InvalidInput(
                f"y, {Row(place[0])}: {word:.40} is not a number; classes are for mercer.SVC",
                Row(place[0]),
            ) from None
    return values.astype(np.float64)


def read_targets(y: Any, count: int, model: str) -> Array:
    """Return the targets of so many points, one or several numbers for each.

    >>> read_targets([1, 2], 2, "A model")
    array([1., 2.])
    >>> read_targets([1, 2], 3, "A model")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y has 2 values for 3 points
    """
    _refuse_none(y, model)
    targets = np.asarray(read_numbers(y), dtype=np.float64)
    if targets.ndim not in (1, 2) or 0 in targets.shape[1:]:
        raise InvalidInput(
            f"y must have a number, or a row of numbers, for each point; found shape "
            f"{targets.shape}"
        )
    _refuse_length(targets, count, "values")
    check_size(targets, "y")
    return targets


def one_each(values: Array, model: str) -> Array:
    """Return what is observed of points as a line, from a column with a warning.

    >>> one_each(np.ones((2, 3)), "A model")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: A model takes one value for each point, found y of shape (2, 3)
    """
    if values.ndim == 2 and values.shape[1] == 1:
        # In scikit-learn's words, which users know.
        warn(
            "A column-vector y was passed when a 1d array was expected; pass y.ravel()",
            DataConversionWarning,
        )
        return values[:, 0]
    if values.ndim != 1:
        raise InvalidInput(
            f"{model} takes one value for each point, found y of shape {values.shape}"
        )
    return values


def read_labels(y: Any, count: int, model: str) -> Array:
    """Return the labels of so many points: numbers, words or others that have an order.

    >>> read_labels(["a", "b"], 2, "A model")
    array(['a', 'b'], dtype='<U1')
    >>> read_labels(["a", None], 2, "A model")
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidInput: y, row 1 holds None. Leave out what has no label
    """
    _refuse_none(y, model)
    labels = as_numpy(compute_lazy(y))
    if labels.ndim == 0:
        raise InvalidInput(f"y must have a label for each point, found {y!r}")
    if labels.dtype.kind == "f":
        refuse_non_finite(labels, "y")
    for row, label in enumerate(labels.flat):
        if is_missing(label):
            missing = "NaN" if isinstance(label, float | np.floating) else str(label)
            raise InvalidInput(
                f"y, {Row(row)} holds {missing}. Leave out what has no label", Row(row)
            )
    try:
        np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.flat})
        raise InvalidInput(
            f"y mixes labels of the types {', '.join(kinds)}, which have no order: give words"
        ) from None
    _refuse_length(labels, count, "labels")
    return labels


def _refuse_none(y: Any, model: str) -> None:
    if y is None:
        raise InvalidInput(f"{model} requires y to be passed, but the target y is None")


def _refuse_length(values: Array, count: int, what: str) -> None:
    if len(values) != count:
        raise InvalidInput(f"y has {len(values)} {what} for {count} points")


def keep_points(points: Points) -> Points:
    """Return points that a model can keep: of an array in memory a copy, for it may change.

    >>> x = np.zeros((2, 1))
    >>> keep_points(x) is x
    False
    """
    if isinstance(points, Checked):
        return points.copied()
    return points.copy() if type(points) is np.ndarray or isinstance(points, Held) else points


Functions: TypeAlias = str | Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None


def null_columns(null_space: Functions, points: Points, name: str = "null_space") -> Array:
    """Return the values of the functions at points, one column each; ``name`` is for messages.

    >>> null_columns("linear", np.array([[5.0], [7.0]]))
    array([[1., 5.], [1., 7.]])
    >>> null_columns([lambda x: x[:, 0] ** 2], np.array([[5.0], [7.0]]))
    array([[25.], [49.]])
    """
    n = len(points)
    if null_space is None:
        return np.zeros((n, 0))
    if isinstance(null_space, str):
        if null_space == "constant":
            return np.ones((n, 1))
        if null_space == "linear":
            return np.hstack([np.ones((n, 1)), as_numpy(vectors(points, "X"))])
    elif callable(null_space):
        return _values(null_space, points)
    elif isinstance(null_space, list | tuple) and all(callable(f) for f in null_space):
        return np.hstack([np.zeros((n, 0)), *(_values(f, points) for f in null_space)])
    raise InvalidParameter(
        f"{name} must be None, 'constant', 'linear' or functions of the points, found "
        f"{null_space!r}"
    )


@dataclass(frozen=True)
class Origin:
    """The point from which a model sees points, and the weights of its functions from there.

    ``point`` is subtracted before the kernel is computed, ``line`` before linear functions are
    where the kernel allows no other origin; None is the origin that points came with.

    >>> from mercer import Gaussian, Linear
    >>> x = np.array([[1e9], [1e9 + 1.0]])
    >>> seen = Origin.of(2.0 * Linear() + Gaussian(1.0), x, "constant")
    >>> seen.points(x)
    array([[-0.5], [ 0.5]])
    >>> seen.columns("constant", seen.points(x)).ravel()
    array([1., 1.])
    """

    point: Array | None = None
    line: Array | None = None

    @staticmethod
    def of(kernel: Kernel | None, points: Points, functions: Functions) -> Origin:
        """Return the mean of points where a kernel and functions that are not penalised allow it.

        The kernel is None where a matrix is given in its place.
        """
        is_known = isinstance(functions, str) and functions in ("constant", "linear")
        is_table = getattr(points, "ndim", 0) == 2 and getattr(points, "dtype", None) is not None
        if kernel is None or not is_known or not is_table or len(points) == 0:
            return Origin()
        weight = kernel.inner_weight
        if functions == "constant" and not weight:
            return Origin()
        mean = np.asarray(points, dtype=np.float64).mean(axis=0)
        if not np.all(np.isfinite(mean)):
            return Origin()
        return Origin(line=mean) if weight is None else Origin(mean)

    def points(self, points: Points) -> Points:
        """Return points as the kernel sees them."""
        if self.point is None:
            return points
        seen: Array = as_table(points) - self.point
        return seen

    def back(self, seen: Points) -> Points:
        """Return points as they came."""
        if self.point is None:
            return seen
        came: Array = np.asarray(seen) + self.point
        return came

    def columns(self, functions: Functions, seen: Points, name: str = "null_space") -> Array:
        """Return the values of functions at points that are seen from here, one column each."""
        if self.line is not None:
            seen = as_table(seen) - self.line
        return null_columns(functions, seen, name)

    def null_weights(self, eta: Array, kernel: Kernel, alpha: Array, seen: Points) -> Array:
        """Return the weights of functions for points as they came, from those seen from here.

        ``alpha`` are the weights of a kernel's sections at points that are seen from here.

        >>> from mercer import Linear
        >>> x = np.array([[3.0], [5.0]])
        >>> seen = Origin.of(Linear(), x, "constant")
        >>> alpha = np.array([[1.0], [-1.0]])
        >>> seen.null_weights(np.array([[7.0]]), Linear(), alpha, seen.points(x))
        array([[15.]])
        """
        centre = self.point if self.line is None else self.line
        if centre is None:
            return eta
        moved = eta.copy()
        moved[0] -= centre @ eta[1:] if len(eta) > 1 else 0.0
        if self.point is not None:
            moved[0] -= (kernel.inner_weight or 0.0) * (centre @ (np.asarray(seen).T @ alpha))
        return moved


def _values(function: Callable[[Any], Any], points: Points) -> Array:
    name = getattr(function, "__name__", repr(function))
    values = real_array(function(points), f"the function {name} of the null space")
    if values.ndim not in (1, 2) or len(values) != len(points):
        raise InvalidParameter(
            f"the function {name} of the null space must give a value, or a row of values, for "
            f"each of {len(points)} points; found shape {values.shape}"
        )
    return values.reshape(len(points), -1)
