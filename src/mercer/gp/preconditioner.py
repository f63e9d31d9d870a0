"""A low-rank matrix near K + σ²I, its inverse, and its derivatives: what need not be sampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.check import Array, Points, as_numpy, chunks
from mercer.engines.cpu import Threads
from mercer.gp.limits import Limits
from mercer.gram import Gram, columns
from mercer.kernels.base import Kernel
from mercer.lowrank import Features, nystrom
from mercer.settings import FIXED


@dataclass(frozen=True)
class Preconditioner:
    r"""The matrix M = FFᵀ + σ²I of a Nyström approximation on landmarks z.

    .. math:: F = K_{xz} R, \quad R R^\top = K_{zz}^{-1}, \qquad
        M^{-1} = \frac{I - G F^\top}{\sigma^2}, \quad G = F (F^\top F + \sigma^2 I)^{-1}

    >>> from mercer import Gaussian
    >>> gram = Gram(Gaussian(1.0), np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]))
    >>> M = Preconditioner.of(gram, 0.5, gram.x[:1])
    >>> root = M.inverse_root(np.eye(5))
    >>> bool(np.allclose(M.product(root @ root), np.eye(5)))
    True
    """

    features: Features
    points: Points
    F: Array
    G: Array
    noise: float

    @staticmethod
    def of(gram: Gram, noise: float, landmarks: Points) -> Preconditioner:
        """Return the one of a Gram matrix with these landmarks."""
        near = nystrom(gram, len(landmarks), landmarks=landmarks, random_state=FIXED)
        F = near.factor
        small = cho_factor(F.T @ F + noise * np.eye(F.shape[1]))
        G = np.asarray(cho_solve(small, F.T)).T
        return Preconditioner(near.features, gram.x, F, G, noise)

    @property
    def kernel(self) -> Kernel:
        return self.features.kernel

    @property
    def trace(self) -> float:
        """The trace of the inverse."""
        return (len(self.F) - float(np.sum(self.F * self.G))) / self.noise

    def product(self, v: Array) -> Array:
        """Return M times columns."""
        return np.asarray(self.F @ (self.F.T @ v) + self.noise * v)

    def inverse_root(self, v: Array) -> Array:
        r"""Return :math:`M^{-1/2}` times columns.

        .. math:: M^{-1/2} = \frac{1}{\sigma} \left(I - F\, c(F^\top F)\, F^\top\right), \quad
            c(\lambda) = \frac{1}{\sigma^2 s (1 + s)}, \quad s = \sqrt{1 + \lambda / \sigma^2}
        """
        values, axes = np.linalg.eigh(self.F.T @ self.F)
        s = np.sqrt(1.0 + np.maximum(values, 0.0) / self.noise)
        inside = axes.T @ (self.F.T @ v) / (self.noise * s * (1.0 + s))[:, None]
        return np.asarray((v - self.F @ (axes @ inside)) / np.sqrt(self.noise))

    def logarithmic(self, W: Array) -> dict[str, tuple[Array, Array]]:
        r"""Return :math:`\operatorname{tr} M^{-1} \partial M` and the form of ∂M of each column.

        .. math:: \partial M = \partial K_{xz} B + B^\top \partial K_{zx}
            - B^\top \partial K_{zz} B, \qquad B = R F^\top, \quad M^{-1} B^\top = G R^\top

        for every parameter; the derivatives of n times m values of the kernel are all it takes.

        >>> from mercer import Gaussian
        >>> gram = Gram(2.0 * Gaussian(1.0), np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]))
        >>> M = Preconditioner.of(gram, 0.5, gram.x[::2])
        >>> trace, forms = M.logarithmic(M.inverse_root(np.eye(5)))["weight"]
        >>> bool(np.isclose(trace, np.sum(M.F * M.G) / 2.0)), bool(np.isclose(trace, forms.sum()))
        (True, True)
        """
        R, landmarks = self.features.root, self.features.landmarks
        right = R @ (self.F.T @ W)
        done: dict[int, dict[str, tuple[Array, Array]]] = {}

        def add(rows: slice) -> None:
            weight = 2.0 * self.G[rows] @ R.T
            partials = self.kernel.partials(self.points[rows], landmarks)
            done[rows.start] = {
                name: _contracted(as_numpy(tile), weight, 2.0 * W[rows], right)
                for name, tile in partials.items()
            }

        stripes = list(chunks(len(self.F), Limits.stripe))
        Threads().over(add, stripes)
        weight = R @ (self.F.T @ self.G) @ R.T
        within = {
            name: _contracted(as_numpy(tile), weight, right, right)
            for name, tile in self.kernel.partials(landmarks).items()
        }
        found = {}
        for name, (own, own_forms) in within.items():
            total = sum(done[rows.start][name][0] for rows in stripes)
            forms = sum(done[rows.start][name][1] for rows in stripes)
            found[name] = np.asarray(total - own), np.asarray(forms - own_forms)
        return found


def landmarks_of(gram: Gram, random_state: int | None) -> Points:
    """Return the points on which the approximation rests: centres, or pivots if none exist."""
    rank = max(1, min(Limits.rank, gram.shape[0] // 4))
    how = "kmeans" if columns(gram.x) else "pivoted"
    near = nystrom(gram, rank, landmarks=how, random_state=random_state)
    return near.features.landmarks


def _contracted(tile: Array, weight: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """Return the sum of a weight times a tile, and the forms of matching columns.

    Derivatives in a sequence of parameters have an axis for its members, the last of the tile.
    """
    image = np.moveaxis(np.tensordot(tile, right, axes=(1, 0)), 0, -2)
    return np.tensordot(weight, tile, 2), np.sum(image * left, axis=-2)
