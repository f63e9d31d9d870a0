"""The way back from coordinates on kernel axes to points of the input space."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points
from mercer.errors import InvalidInput
from mercer.estimator import in_dtype_of
from mercer.gram import columns
from mercer.kernels.base import Kernel
from mercer.points import (
    lies_on_disk,
    readings,
)
from mercer.preimages import Sections, preimage
from mercer.progress import Progress
from mercer.spectrum import Spectrum


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
