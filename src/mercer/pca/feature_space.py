"""What kernel PCA asks of the space of features: a place to see it from, new points, a way back.

The centred Gram matrix of the linear kernel, and of its sums with functions of distances, is the
same from everywhere, and from the mean no digits are lost; in a unit of the size of the data no
inner product leaves the range of doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points, power_of_two, real_array
from mercer.engines.held import Held, given_back, held_or_given, to_host
from mercer.errors import InvalidInput
from mercer.estimator import KernelModel, in_dtype_of
from mercer.gram import Centred, Gram, columns
from mercer.kernels.base import Kernel, Kind
from mercer.pca.slopes import combined_slopes
from mercer.points import (
    SparseRows,
    as_table,
    join_points,
    lies_on_disk,
    over_parts,
    readings,
)
from mercer.preimages import Sections, preimage
from mercer.progress import Progress
from mercer.spectrum import Spectrum
from mercer.spectrum.axes_and_signs import positive_base

SMALLEST, LARGEST = 1e-150, 1e150
"""Coordinates whose squares are doubles."""


class PlacedPoints:
    """Points on disk minus an origin, in a unit: what is read is placed when it is read.

    >>> seen = PlacedPoints(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 1.0]))
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


def place_points(points: Any, origin: Array, unit: float) -> Any:
    """Return points minus an origin, in a unit."""
    if hasattr(points, "moved"):  # on other machines, where they stay
        return points.moved(partial(_moved, origin=origin, unit=unit))
    if lies_on_disk(points) or isinstance(points, SparseRows):
        return PlacedPoints(points, origin, unit)
    return _moved(points, origin, unit)


def place_of(points: Any, weights: Array) -> tuple[Array, float]:
    """Return the weighted mean of points, and 1 or the power of two that is their unit.

    >>> place_of(np.array([[1e200], [3e200]]), np.array([0.5, 0.5]))[0]
    array([2.e+200])
    """

    def largest_and_sum(part: Points, rows: slice) -> tuple[float, Array]:
        active = weights[rows] > 0
        if isinstance(part, Held):
            some = part[active].astype(np.float64, copy=False)
            return some.largest(), weights[rows][active] @ some
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


CANCELLED = 8.0 * float(np.finfo(float).eps)
"""Rounding of a difference, as a share of its terms."""


class FeatureSpace(TransformerMixin, KernelModel):
    """A fitted kernel PCA seen from the space of features: new individuals, and the way back."""

    kernel_: Kernel
    spectrum_: Spectrum
    X_fit_: Any
    _anchors: Any
    _axes: Array
    _origin: Array
    _barycentre: Array
    _grand_mean: float
    _squares: Array
    _weights: Array
    _shift: Array | None
    _unit: float
    _n_features_out: int
    _placed: Callable[[Any], Any]

    def _keep_feature_axes(self, spectrum: Spectrum) -> None:
        r"""Keep the same in the features of the approximation.

        .. math:: \varphi(x) = R^* k(z, x), \quad V = \Phi^* W^{1/2} U \Lambda^{-1/2}, \quad
            F(x) = (\varphi(x) - \bar\varphi)^* V
        """
        features, barycentre = cast(Any, spectrum.features), cast(Any, spectrum.barycentre)
        V, mean = cast(Any, spectrum.feature_axes)[:, : self._n_features_out], barycentre.mean
        self._axes, self._origin = features.root @ V, mean.conj() @ V
        self._anchors, self._barycentre = features.landmarks, features.root @ mean
        self._grand_mean = float(np.real(np.vdot(mean, mean)))

    def _keep_features(self, spectrum: Spectrum, centred: Centred) -> None:
        """Keep these, and the squared distances of the individuals."""
        self._keep_feature_axes(spectrum)
        barycentre = cast(Any, spectrum.barycentre)
        diagonal = positive_base(centred).diag()
        squares = diagonal - 2.0 * barycentre.products + self._grand_mean
        self._squares = _cleared(squares, np.abs(diagonal))
        if self._is_seen_from_a_point:
            self._add_origin(centred)

    @property
    def _is_seen_from_a_point(self) -> bool:
        """Whether the features are those of a conditionally positive definite kernel."""
        return self.spectrum_.is_approximate and self.kernel_.kind is Kind.CONDITIONAL

    def _add_origin(self, centred: Centred) -> None:
        r"""Make the point o that features are seen from an anchor, for the kernel itself.

        .. math:: \sum_j a_j k_o(x, z_j) = \sum_j a_j k(x, z_j) - \Bigl(\sum_j a_j\Bigr) k(x, o)
            - \sum_j a_j \bigl(k(o, z_j) - k(o, o)\bigr)
        """
        kernel, seen = centred.gram.kernel, centred.gram.first_of(centred.weights)
        square = float(Gram(kernel, seen).diag()[0])
        offsets = Gram(kernel, seen, self._anchors).dense()[0] - square
        sums, b = self._axes.sum(axis=0), self._barycentre
        self._origin = self._origin + offsets @ self._axes
        # The squared norm of φ(x) - φ(o) has k(x, o) twice: o is a share of the barycentre.
        self._grand_mean += square + 2.0 * float(offsets @ b)
        self._axes = np.vstack([self._axes, -sums])
        self._barycentre = np.append(b, 1.0 - b.sum())
        self._anchors = join_points(self._anchors, seen)

    def transform(self, X: Any) -> Array:
        """Return the coordinates of individuals, centred with the means of the training ones."""
        check_is_fitted(self)
        scores = self._projected(self._read(X, reset=False))
        return in_dtype_of(X, given_back(scores, X))

    def _projected(self, points: Any) -> Array:
        scores: Array = self._unit * (self._against_fit(points, self._axes) - self._origin)
        return scores

    def _against_fit(self, points: Any, block: Array) -> Array:
        """Return the kernel between points and those of the fit, times a block."""
        if self._is_precomputed:
            values = np.asarray(points)
            return (values[:, self._anchors] if self.spectrum_.is_approximate else values) @ block
        anchors = self._anchors if self.spectrum_.is_approximate else self._placed(self._anchors)
        cross = Gram(self.kernel_, self._placed(points), anchors, engine=self._engine())
        return cross.product(block)

    def _passive(self, X: Any, squares: Any) -> tuple[Array, Array | None]:
        points = self._read(X, reset=False)
        block = np.column_stack([self._axes, self._barycentre])
        images = self._against_fit(points, block)
        scores = self._unit * (images[:, :-1] - self._origin)
        means = np.real(to_host(images[:, -1]))
        if not self._is_precomputed:
            squares = Gram(self.kernel_, self._placed(points)).diag()
        if squares is None:
            return scores, None
        squares = real_array(squares, "squares")
        if squares.shape != (len(points),):
            raise InvalidInput(f"squares must hold k(x, x) of {len(points)} individuals")
        distances = squares - 2.0 * means + self._grand_mean
        return scores, _cleared(distances, np.abs(squares) + np.abs(self._grand_mean))

    def _squares_of(self, shares_of: Array) -> Array:
        block = shares_of - self._weights[:, None]
        size = np.max(np.abs(self._squares[self._weights > 0])) + np.abs(self._grand_mean)
        if self.spectrum_.is_approximate:
            return _cleared(self._approximate_squares(block), size)
        images = to_host(self._against_fit(held_or_given(self.X_fit_), block))
        return _cleared(np.real(np.sum(block.conj() * images, axis=0)), size)

    def _approximate_squares(self, block: Array) -> Array:
        """Return the squared norms of combinations of the features of the approximation."""
        if self._is_precomputed:
            images = np.asarray(self.X_fit_)[self._anchors] @ block
        else:
            fitted = self._placed(held_or_given(self.X_fit_))
            cross = Gram(self.kernel_, self._anchors, fitted, engine=self._engine())
            images = cross.product(block)
        if self._is_seen_from_a_point:  # the columns of the block sum to 0
            images = images[:-1] - images[-1]
        root = cast(Any, self.spectrum_.features).root
        squares: Array = np.sum(np.abs(root.conj().T @ images) ** 2, axis=0)
        return squares

    def gram(self, *, progress: Progress | None = None) -> Gram:
        """Return the Gram matrix of the individuals, an operator that is never stored.

        ``progress`` is told the tiles of each pass over it.
        """
        check_is_fitted(self)
        n = len(self._weights)
        fitted = np.arange(n)
        if not self._is_precomputed:
            fitted = self._placed(held_or_given(self.X_fit_))
        return Gram(self.kernel_, fitted, engine=self._engine(progress))

    def inner_products(self, vectors: Array) -> Array:
        """Return B V for the centred Gram matrix B = HKHᵀ, by one pass over its tiles."""
        gram, w = self.gram(), self._weights
        images = gram.product(vectors - w[:, None] * vectors.sum(axis=0))
        return np.asarray(images - w @ images)

    def reflected(self, signs: Any) -> Any:
        """Return the model with axes that point the other way where their sign is negative.

        The signs of axes mean nothing: two maps are compared more easily where they agree. This
        model keeps its own.

        >>> import mercer as mc
        >>> model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit([[0.0], [1.0], [3.0], [7.0]])
        >>> other = model.reflected([1, -1])
        >>> np.allclose(other.transform([[2.0]]), model.transform([[2.0]]) * [1, -1])
        True
        """
        check_is_fitted(self)
        given = real_array(signs, "signs")
        if given.shape != (self._n_features_out,) or not np.all(given):
            raise InvalidInput(
                f"signs must hold a number other than 0 for each of {self._n_features_out} axes"
            )
        s, found = np.where(given < 0, -1.0, 1.0), self.spectrum_
        every = np.append(s, np.ones(len(found.values) - len(s)))  # beyond those that are kept
        parts: dict[str, Any] = {
            name: None if part is None else part * every[: part.shape[1]]
            for name in ("vectors", "images", "feature_axes")
            for part in [getattr(found, name)]
        }
        model: Any = self._anew()
        model.spectrum_ = replace(found, **parts)
        for name in vars(self).keys() & {"eigenvectors_", "_axes", "_origin"}:  # batches have two
            setattr(model, name, getattr(self, name) * s)
        return model

    def slopes_at(self, points: Any, count: int) -> tuple[Any, Array]:
        """Return points as they are read, or those of the fit, and the slopes of axes there."""
        x = self.X_fit_ if points is None else self._read(points, reset=False)
        is_approximate = self.spectrum_.is_approximate  # landmarks are placed already
        anchors = self._anchors if is_approximate else self._placed(self._anchors)
        return x, combined_slopes(self.kernel_, self._placed(x), anchors, self._axes[:, :count])

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
        return in_dtype_of(X, given_back(preimage(self, X, method, progress=progress).points, X))

    def sections(self) -> Sections:
        """Return the barycentre and the axes as sums of sections of the kernel."""
        if self._unit != 1.0:
            raise InvalidInput(
                f"pre-images of data of size {self._unit:.0e} are not searched for: divide the "
                "data by their unit first, or use PCA, which has an inverse at any size"
            )
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


def _cleared(squares: Array, size: Array | float) -> Array:
    """Return squared distances with 0 where what is left of differences is their rounding."""
    return np.where(np.abs(squares) <= CANCELLED * size, 0.0, squares)
