"""Classical scaling of points: their principal components, without any distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.certificate import Certificate
from mercer.check import Array
from mercer.gram import Gram
from mercer.kernels.definite import eigenvalues
from mercer.kernels.vectors import Linear
from mercer.mds.distances import unit_of
from mercer.mds.limits import Limits
from mercer.operators import ENTRY_ROUNDING
from mercer.settings import FIXED
from mercer.spectrum import How, Spectrum, around, clusters, leading, signs


@dataclass(frozen=True)
class PointAxes:
    r"""The principal axes of weighted points, on which distances are what they were.

    .. math:: W^{1/2}(X - 1\bar x^\top) = U S V^\top, \quad F = (X - 1\bar x^\top) V, \quad
        -\tfrac{1}{2} H (d_{ij}^2) H^\top = (X - 1\bar x^\top)(X - 1\bar x^\top)^\top

    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> PointAxes.of(x, np.full(4, 0.25), 2).spectrum.values
    array([1.  , 0.25])
    """

    spectrum: Spectrum
    projection: Array
    origin: Array
    drift: Array
    unit: float

    @classmethod
    def of(
        cls, x: Array, w: Array, count: int, tol: float = 1e-9, random_state: int = FIXED
    ) -> PointAxes:
        origin = w @ x
        drift = w @ (x - origin)  # what rounding left of the mean, too small to be added to it
        centred = x - origin - drift
        largest = np.max(np.abs(x[w > 0]), axis=0, initial=0.0)
        unit = unit_of(float(np.max(largest)))
        y = np.sqrt(w)[:, None] * (centred / unit)
        n, p = y.shape
        noise = float(np.sum((ENTRY_ROUNDING * largest / unit) ** 2))
        threshold = max(max(n, p) * float(np.finfo(float).eps) * float(np.sum(y * y)), noise)
        if min(n, p) <= Limits.whole:
            spectrum, axes = _whole(y, count, threshold)
        else:
            gram = Gram(Linear(), centred / unit)
            spectrum = leading(gram.centred(w), count, tol=tol, random_state=random_state)
            axes = y.T @ spectrum.vectors / np.sqrt(np.maximum(spectrum.values, threshold))
        kept = int(np.sum(spectrum.values > threshold))
        active = w > 0
        turned = axes[:, :kept] * signs((centred[active] / unit) @ axes[:, :kept])
        return cls(spectrum, turned, origin, drift, unit)

    def coordinates(self, x: Array) -> Array:
        """Return the coordinates of points on the axes."""
        on_axes: Array = (x - self.origin - self.drift) @ self.projection
        return on_axes

    def all_values(self, x: Array, w: Array) -> Array:
        """Return all n eigenvalues, of which those beyond the dimension are zero."""
        y = np.sqrt(w)[:, None] * ((x - self.origin - self.drift) / self.unit)
        n, p = y.shape
        if min(n, p) <= Limits.whole:
            values = np.linalg.svd(y, compute_uv=False) ** 2
        else:
            small = y @ y.T if n < p else y.T @ y
            values = np.maximum(eigenvalues(small)[::-1], 0.0)
        return np.concatenate([values, np.zeros(max(n - len(values), 0))])[:n]


def _whole(y: Array, count: int, threshold: float) -> tuple[Spectrum, Array]:
    """Decompose all of the points, which are orthogonal to rounding whatever their number."""
    left, sizes, right = np.linalg.svd(y, full_matrices=False)
    values, count = sizes**2, min(count, len(sizes))
    top = values[:count]
    rounding = max(y.shape) * float(np.finfo(float).eps) * float(np.max(values, initial=0.0))
    proof = Certificate(
        top - rounding,
        top + rounding,
        np.ones(count),
        np.ones(count, bool),
        ("singular values of the points",) * count,
        ("none",) * count,
    )
    spectrum = Spectrum(
        values=top,
        vectors=left[:, :count],
        certificate=proof,
        trace=float(np.sum(values)),
        threshold=threshold,
        rank=int(np.sum(values > threshold)),
        negative_mass=0.0,
        psd="by construction",
        how=How("singular values of the points"),
        clusters=clusters(values, *around(values, rounding, count)),
    )
    return spectrum, right[:count].T
