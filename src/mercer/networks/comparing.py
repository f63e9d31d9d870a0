"""Gram matrices of many networks on the same genes, by vectors of weights where a kernel allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.estimator import as_kernel
from mercer.kernels.aligned import AlignedEdges
from mercer.kernels.base import Kernel
from mercer.kernels.vectors import Linear
from mercer.networks.inference import as_graph


def on_vectors(kernel: Kernel) -> Kernel | None:
    """Return the same kernel on vectors of weights, where all it asks of networks are edges.

    >>> on_vectors(AlignedEdges().gaussian(2.0))
    Linear().gaussian(bandwidth=2.0)
    """
    if kernel == AlignedEdges():
        return Linear()
    children = {name: on_vectors(child) for name, child in kernel.children().items()}
    known = {name: child for name, child in children.items() if child is not None}
    return kernel.with_children(known) if children and len(known) == len(children) else None


@dataclass(frozen=True, eq=False)
class Comparison:
    """A kernel between networks on named genes, given as matrices of weights."""

    kernel: Kernel
    genes: tuple[str, ...]

    @classmethod
    def of(cls, kernel: Any, genes: tuple[str, ...], networks: Array) -> Comparison:
        """Resolve what the kernel takes from data on these networks."""
        given = AlignedEdges() if kernel is None else as_kernel(kernel)
        return cls(given.resolve([as_graph(w, genes) for w in networks]), genes)

    def points(self, networks: Array) -> tuple[Any, Kernel]:
        """Return networks as points, and the kernel that compares them."""
        kernel = on_vectors(self.kernel)
        if kernel is None:
            return [as_graph(w, self.genes) for w in networks], self.kernel
        i, j = np.triu_indices(len(self.genes), 1)
        return networks[:, i, j], kernel

    def gram(self, networks: Array) -> Array:
        """Return the inner products of the features of networks."""
        points, kernel = self.points(networks)
        return kernel(points)


def checked(weights: Any, genes: int, infer: object) -> Array:
    """Return what a function inferred as a symmetric matrix of weights, or say why it is none."""
    w = np.asarray(weights, np.float64)
    if w.shape != (genes, genes):
        raise InvalidInput(f"{infer!r} returned shape {w.shape} for {genes} genes")
    if not np.all(np.isfinite(w)) or not np.array_equal(w, w.T):
        raise InvalidInput(f"{infer!r} must return a symmetric matrix of finite weights")
    return w
