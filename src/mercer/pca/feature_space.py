"""What kernel PCA asks of the space of features: a place to see it from, validity, a way back.

The centred Gram matrix of the linear kernel, and of its sums with functions of distances, is the
same from everywhere, and from the mean no digits are lost; in a unit of the size of the data no
inner product leaves the range of doubles. Gram matrices of no points in any space are refused.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points, power_of_two
from mercer.errors import InvalidInput, NotPositiveDefinite
from mercer.estimator import in_dtype_of
from mercer.gram import Centred, columns
from mercer.kernels.base import Kernel
from mercer.points import (
    SparseRows,
    as_table,
    lies_on_disk,
    over_parts,
    readings,
)
from mercer.preimages import Sections, preimage
from mercer.progress import Progress
from mercer.spectrum import Spectrum

SMALLEST, LARGEST = 1e-150, 1e150
"""Coordinates whose squares are doubles."""


class Placed:
    """Points on disk minus an origin, in a unit: what is read is placed when it is read.

    >>> seen = Placed(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 1.0]))
    >>> len(seen), seen[1:]
    (2, array([[2., 4.]]))
    """

    lies_on_disk = True

    def __init__(self, points: Points, origin: Array, unit: float = 1.0) -> None:
        self.points, self.origin, self.unit = points, origin, unit
        self.shape, self.dtype = (len(points), len(origin)), np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: Any, /) -> Array:
        return _moved(as_table(self.points[index]), self.origin, self.unit)


def place_points(points: Any, origin: Array | None, unit: float) -> Any:
    """Return points minus an origin, in a unit; as they are where there is no origin."""
    if origin is None:
        return points
    if hasattr(points, "moved"):  # on other machines, where they stay
        return points.moved(partial(_moved, origin=origin, unit=unit))
    if lies_on_disk(points) or isinstance(points, SparseRows):
        return Placed(points, origin, unit)
    return _moved(points, origin, unit)


def place_of(points: Any, weights: Array) -> tuple[Array, float]:
    """Return the weighted mean of points, and 1 or the power of two that is their unit.

    >>> place_of(np.array([[1e200], [3e200]]), np.array([0.5, 0.5]))[0]
    array([2.e+200])
    """

    def largest_and_sum(part: Points, rows: slice) -> tuple[float, Array]:
        active = weights[rows] > 0
        x = np.asarray(part, dtype=np.float64)[active]
        largest = max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
        return largest, weights[rows][active] @ x

    size, mean = 0.0, np.zeros(columns(points))
    for _, (largest, total) in over_parts(points, largest_and_sum):
        size, mean = max(size, largest), mean + total
    is_usual = size == 0.0 or SMALLEST < size < LARGEST
    return mean, 1.0 if is_usual else power_of_two(np.array([size]))


def _moved(points: Array, origin: Array, unit: float) -> Array:
    moved: Array = points - origin if unit == 1.0 else points / unit - origin / unit
    return moved


MOST_NEGATIVE = 1e-8
"""The share of negative eigenvalues in Σ|λ| above which a Gram matrix is not one by rounding."""

MOST_NEGATIVE_SINGLE = 1e-5
"""The same for a Gram matrix given in single precision."""

EXCESS = 1e-6
"""The share of the largest inertia by which axes may show more of an individual than there is."""

REMEDY = (
    "Choose a positive definite kernel; from distances, raise them to "
    "mercer.kernels.largest_euclidean_power first; similarities of your own are made positive by "
    "correction='clip', or mercer.kernels.correct_similarities(K)"
)


def refuse_negative_diagonal(K: Array) -> None:
    """Refuse a matrix with a squared norm below zero, by its entry."""
    diagonal = np.diag(K).real
    if np.any(diagonal < -MOST_NEGATIVE * np.abs(K).max()):
        i = int(np.argmin(diagonal))
        raise NotPositiveDefinite(
            f"entry ({i}, {i}) of the Gram matrix is {diagonal[i]:.6g}: k(x, x) is a squared norm "
            "and not negative. From distances, give mercer.kernels.gram_of of their squares"
        )


def refuse_negative(spectrum: Spectrum, *, is_single: bool) -> None:
    """Refuse a centred matrix with more negative eigenvalues than rounding makes, by their mass."""
    mass = spectrum.negative_mass
    if mass is not None and mass > (MOST_NEGATIVE_SINGLE if is_single else MOST_NEGATIVE):
        raise NotPositiveDefinite(
            f"the centred Gram matrix is not positive semidefinite: {100 * mass:.3g} % of its "
            f"eigenvalues, by modulus, are negative. {REMEDY}"
        )


def refuse_contradiction(spectrum: Spectrum, centred: Centred, tol: float) -> None:
    r"""Refuse leading axes that show more of an individual than there is of it.

    .. math:: \sum_k \lambda_k |u_{ik}|^2 \le w_i \|\varphi_i - \mu\|^2

    wherever no eigenvalue is negative; so that some are can be known without computing them.
    """
    if spectrum.negative_mass is not None or spectrum.is_approximate:
        return
    shown = np.abs(spectrum.vectors) ** 2 @ np.maximum(spectrum.values, 0.0)
    there = centred.diag()
    i = int(np.argmax(shown - there))
    allowed = max(EXCESS, 10.0 * tol) * np.max(np.abs(there)) + spectrum.threshold
    if shown[i] - there[i] > allowed:
        raise NotPositiveDefinite(
            f"the centred Gram matrix is not positive semidefinite: the axes show {shown[i]:.3g} "
            f"of the inertia of individual {i}, which has {there[i]:.3g}. {REMEDY}"
        )


class Invertible:
    """A kernel PCA whose coordinates can be led back to points."""

    kernel_: Kernel
    spectrum_: Spectrum
    _anchors: Any
    _axes: Array
    _barycentre: Array
    _shift: Array | None
    _is_precomputed: bool

    def inverse_transform(
        self, X: Any, method: str = "auto", *, progress: bool | Progress | None = None
    ) -> Array:
        """Return points whose features are nearest to what the coordinates X stand for.

        They are those of `mercer.preimage`, which also tells how near they come; ``progress`` is
        its.

        >>> import mercer as mc
        >>> x = np.array([[0.0, 0.0], [2.0, 1.0], [4.0, 2.0]])
        >>> model = mc.KernelPCA(1, kernel=mc.Linear()).fit(x)
        >>> np.allclose(model.inverse_transform(model.transform(x)), x)
        True
        """
        check_is_fitted(self)
        return in_dtype_of(X, preimage(self, X, method, progress=progress).points)

    def sections(self) -> Sections:
        """Return the barycentre and the axes as sums of sections of the kernel."""
        if self._is_precomputed:
            raise InvalidInput(
                "a model of a precomputed Gram matrix has no pre-images: it never saw the points. "
                "Fit it with a kernel and the points"
            )
        points = self._anchors
        kind = getattr(getattr(points, "dtype", None), "kind", "")
        if columns(points) == 0 or kind not in "biuf":
            raise InvalidInput(
                f"pre-images are rows of real numbers, and the individuals of {self.kernel_} are "
                f"not: its points are given as {_described(points)}"
            )
        rows = _in_memory(points)
        origin: Array | float = 0.0 if self._shift is None else self._shift
        if not self.spectrum_.is_approximate:  # landmarks are seen from the origin already
            rows = rows - origin
        return Sections(self.kernel_, rows, self._barycentre, self._axes, origin)


def _described(points: Points) -> str:
    first = type(points[0]).__name__ if len(points) else "nothing"
    return f"a {type(points).__name__} of {first}"


def _in_memory(points: Points) -> Array:
    if not lies_on_disk(points):
        return np.asarray(points, dtype=np.float64)
    return np.vstack([np.asarray(points[rows], dtype=np.float64) for rows in readings(points)])
