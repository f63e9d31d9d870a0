"""Random frequencies of kernels of differences, drawn from the law of which they are transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.kernels.pairs import Scale


class Frequencies(NamedTuple):
    r"""Waves :math:`\omega_j` with amplitudes, whose cosines of differences average to a kernel.

    .. math:: E \sum_j a_j^2 \cos \omega_j^\top (x - y) = k(x, y)
    """

    waves: Array
    amplitudes: Array


Mixing: TypeAlias = Callable[[int, np.random.Generator], Array]


def mixed_frequencies(
    dimension: int, count: int, rng: np.random.Generator, mixing: Mixing
) -> Array:
    """Return frequencies of a mixture of Gaussians, from draws of their inverse bandwidths.

    They are orthogonal to each other in blocks of as many as there are coordinates, which lowers
    the variance (Yu et al., 2016).
    """
    directions = orthogonal_directions(dimension, count, rng)
    radii = np.sqrt(rng.chisquare(dimension, count)) * mixing(count, rng)
    frequencies: Array = directions * radii[:, None]
    return frequencies


def lengths_of(scale: Scale, dimension: int) -> Array:
    """Return one length for each coordinate."""
    lengths = np.asarray(scale, np.float64)
    if lengths.size not in (1, dimension):
        raise InvalidInput(f"there are {lengths.size} bandwidths for {dimension} coordinates")
    return np.broadcast_to(lengths, (dimension,))


def orthogonal_directions(dimension: int, count: int, rng: np.random.Generator) -> Array:
    """Return unit vectors, each block of ``dimension`` of them orthonormal and uniform."""
    blocks = []
    for _ in range(-(-count // dimension)):
        q, r = np.linalg.qr(rng.standard_normal((dimension, dimension)))
        blocks.append((q * np.sign(np.diag(r))).T)
    return np.vstack(blocks)[:count]
