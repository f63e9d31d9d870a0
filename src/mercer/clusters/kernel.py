"""Classes in the whole space of a kernel: products with its Gram matrix, which is never stored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans

from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.gram import Gram
from mercer.kernels.tensor import tensor_product
from mercer.kernels.vectors import Linear
from mercer.points import Paired
from mercer.spectrum import leading

ROUNDS = 100
"""Rounds in which individuals move to the nearest centre, at most."""

ROUNDING = 1e-12
"""Nobody moves for less than this share of the largest distance."""

STARTS = 10
"""Starts of the k-means of spectral coordinates."""

TOL = 1e-6
"""Residual of the spectral coordinates."""


def kernel_means(
    images: Callable[[Array], Array], weights: Array, labels: Array, count: int
) -> Array:
    r"""Return classes in which everyone is nearest to the mean of its own, from given ones.

    .. math:: \|\varphi_i - \mu_c\|^2 = k_{ii} - 2 \sum_j z_{jc} k_{ij}
        + \sum_{jl} z_{jc} z_{lc} k_{jl}, \quad z_{jc} = \frac{w_j 1_{j \in c}}{w_c}

    ``images`` multiplies the Gram matrix with columns: one product in each round, and memory for
    one number of each individual and class. A class keeps the member that is nearest to it.

    >>> x = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> kernel_means(lambda v: x @ (x.T @ v), np.full(4, 0.25), np.array([0, 1, 1, 1]), 2)
    array([0, 0, 1, 1])

    Dhillon, Guan & Kulis, KDD 2004, 551-556.
    """
    everyone = np.arange(len(labels))
    for _ in range(ROUNDS):
        shares = np.zeros((len(labels), count))
        shares[everyone, labels] = weights
        shares /= shares.sum(axis=0)
        products = images(shares)
        far = np.sum(shares * products, axis=0) - 2.0 * products
        nearest = np.argmin(far, axis=1)
        gain = far[everyone, labels] - far[everyone, nearest]
        moved = np.where(gain > ROUNDING * float(np.max(np.abs(far))), nearest, labels)
        while len(lost := np.setdiff1d(labels, moved)):  # which may empty another class in turn
            own = np.flatnonzero(labels == lost[0])
            moved[own[np.argmin(far[own, lost[0]])]] = lost[0]
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels


def spectral_classes(gram: Gram, weights: Array, count: int | None, most: int, seed: int) -> Array:
    r"""Return classes that cut the least of the similarities, relaxed to eigenvectors.

    .. math:: D^{-1/2} K D^{-1/2} = U \Lambda U^\top, \quad d = K w

    with weights of the individuals on both sides. The rows of the first eigenvectors, one for each
    class, have unit length and are gathered by k-means. Without a ``count`` they are as many, from
    2 to ``most``, as eigenvalues miss the first, 1, by least beside the next.

    Ng, Jordan & Weiss, NIPS 14 (2001) 849-856.
    """
    degrees = gram.product(weights[:, None])[:, 0]
    if np.min(degrees) <= 0.0:
        raise InvalidInput(
            f"individual {int(np.argmin(degrees))} has similarities that sum to "
            f"{float(np.min(degrees)):.3g}: spectral classes take a kernel of similarities, which "
            "are not negative, such as the Gaussian"
        )
    # Similarities times a number of either point: a kernel again, with all that kernels can do.
    scaled = Paired(gram.x, np.sqrt(weights / degrees)[:, None])
    similar = Gram(tensor_product(gram.kernel, Linear()), scaled, engine=gram.engine)
    asked = min(most if count is None else count, len(weights) - 1) + 1
    found = leading(similar, asked, tol=TOL, random_state=seed)
    if count is None:
        missing = np.maximum(1.0 - found.values / found.values[0], TOL)
        grows = missing[2:] / missing[1:-1]
        count = 2 + int(np.argmax(grows)) if len(grows) else 1
    rows = found.vectors[:, :count]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0.0, lengths, 1.0)
    means = KMeans(count, n_init=STARTS, random_state=seed).fit(rows, sample_weight=weights)
    return np.asarray(means.labels_)
