"""What is said to need no matrix holds none: peak memory far below that of n² numbers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.determinant import log_determinant
from mercer.fourier import random_fourier
from mercer.gram import Gram
from mercer.lowrank import nystrom, pivoted_cholesky
from mercer.solve import solve
from mercer.spectrum import leading

N = 6_000
MATRIX = 4 * N * N
"""Bytes of the whole matrix in single precision, the smallest form it could be stored in."""

RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 3))
Y = RNG.standard_normal(N)
V = RNG.standard_normal((N, 4))
WORDS = ["".join(letters) for letters in RNG.choice(list("acgt"), (N, 12))]
KERNEL = mc.Gaussian(2.0)


def kernel_pca(**settings: Any) -> mc.KernelPCA:
    return mc.KernelPCA(2, kernel=KERNEL, random_state=0, **settings).fit(X)


MATRIX_FREE: dict[str, Callable[[], Any]] = {
    "a product": lambda: Gram(KERNEL, X) @ V,
    "a product in single precision": lambda: Gram(KERNEL, X).product(V, single=True),
    "a product of an expression": lambda: Gram(KERNEL * mc.Linear() + mc.Matern(1.5, 2.0), X) @ V,
    "a product of strings": lambda: Gram(mc.kernels.StringSpectrum(3).normalised(), WORDS) @ V,
    "a product between two data sets": lambda: Gram(KERNEL, X, X[::-1]) @ V,
    "centring": lambda: Gram(KERNEL, X).centred(np.arange(1.0, N + 1.0)) @ V,
    "means and the sum of squares": lambda: Gram(KERNEL, X).centred().square_sum,
    "tiles one by one": lambda: sum(t.sum() for _, t in Gram(KERNEL, X).tiles()),
    "an exact spectrum": lambda: leading(
        Gram(KERNEL, X).centred(), 3, method="exact", random_state=0
    ),
    "the Nyström spectrum": lambda: leading(
        Gram(KERNEL, X).centred(), 3, method="nystrom", random_state=0
    ),
    "Nyström's factor": lambda: nystrom(Gram(KERNEL, X), 100, landmarks="kmeans"),
    "pivoted Cholesky": lambda: pivoted_cholesky(Gram(KERNEL, X), 100),
    "random Fourier features": lambda: random_fourier(Gram(KERNEL, X), 100) @ V,
    "a system": lambda: solve(Gram(KERNEL, X), Y, 1.0, method="iterative"),
    "a saddle system": lambda: solve(
        Gram(KERNEL, X), Y, 1.0, null_space=np.ones((N, 1)), method="iterative"
    ),
    "a log-determinant": lambda: log_determinant(
        Gram(KERNEL, X), 1.0, method="lanczos", probes=4, steps=8
    ),
    "kernel PCA": lambda: kernel_pca().transform(X[:2000]),
    "reading kernel PCA": lambda: kernel_pca().individuals_.cos2,
    "the distance to a set": lambda: mc.distance_to_set(KERNEL, X[:500], X),
}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """What is loaded and compiled once is not the cost of what asks for it first."""
    Gram(KERNEL, X).product(V, single=True)


@pytest.mark.parametrize("name", list(MATRIX_FREE))
def test_it_is_matrix_free(name: str) -> None:
    tracemalloc.start()
    try:
        MATRIX_FREE[name]()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MATRIX / 2


def test_the_measure_sees_a_matrix() -> None:
    tracemalloc.start()
    Gram(KERNEL, X[:3000]).dense()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak > 8 * 3000**2
