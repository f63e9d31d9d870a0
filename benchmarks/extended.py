"""Kernel matrices and their eigenvalues in extended precision, by formulas of their own.

What certificates claim is compared with these. Nothing of mercer's arithmetic is used: an
expression is walked here, its leaves are evaluated from differences and products of long doubles.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

import mercer as mc

LONG = np.longdouble
Array = Any


def matrix(kernel: Any, x: Array) -> Array:
    """Return the Gram matrix of an expression on vectors, in long doubles."""
    x = np.asarray(x).astype(LONG)
    name, parts = type(kernel).__name__, [matrix(k, x) for k in kernel.children().values()]
    if name == "Sum":
        return sum(parts[1:], start=parts[0])
    if name == "Product":
        return np.prod(np.stack(parts), axis=0)
    if name == "Scaled":
        return LONG(kernel.weight) * parts[0]
    if name == "Power":
        return parts[0] ** kernel.power
    if name == "Exponential":
        return np.exp(parts[0])
    if name == "Constant":
        return np.full((len(x), len(x)), LONG(kernel.constant))
    if name in ("Linear", "Polynomial"):
        inner = (x[:, None, :] * x[None, :, :]).sum(axis=-1)
        if name == "Linear":
            return inner
        return (LONG(kernel.scale) * inner + LONG(kernel.offset)) ** kernel.degree
    return _of_distance(kernel, name, x)


def _of_distance(kernel: Any, name: str, x: Array) -> Array:
    gaps = (x[:, None, :] - x[None, :, :]) / np.asarray(kernel.bandwidth).astype(LONG)
    r = np.sqrt((gaps**2).sum(axis=-1))
    if name == "Gaussian":
        return np.exp(-(r**2) / 2)
    if name == "RationalQuadratic":
        return (1 + r**2 / (2 * LONG(kernel.shape))) ** (-LONG(kernel.shape))
    if name == "Laplacian":
        return np.exp(-(r if kernel.norm == 2.0 else np.abs(gaps).sum(axis=-1)))
    if name == "NegativeDistance":
        return -(r ** LONG(kernel.exponent))
    if name == "Matern":
        p = int(kernel.nu - 0.5)
        z = np.sqrt(LONG(2 * p + 1)) * r
        terms = [
            LONG(factorial(p + i)) / (factorial(i) * factorial(p - i)) * (2 * z) ** (p - i)
            for i in range(p + 1)
        ]
        return np.exp(-z) * LONG(factorial(p)) / LONG(factorial(2 * p)) * sum(terms)
    raise NotImplementedError(f"no formula in extended precision for {name}")


def centred(K: Array, weights: Array) -> Array:
    """Return W^½ H K Hᵀ W^½ for weights that are divided by their sum."""
    w = np.asarray(weights).astype(LONG)
    w = w / w.sum()
    H = np.eye(len(w), dtype=LONG) - w[None, :]
    roots = np.sqrt(w)
    return roots[:, None] * (H @ K @ H.T) * roots[None, :]


def eigenpairs(A: Array) -> tuple[Array, Array]:
    """Return eigenvalues, largest first, and vectors of a symmetric matrix, by Jacobi's rotations.

    Double precision leaves off-diagonal entries of 1e-15 of the norm; two sweeps of rotations
    that are made in long doubles leave none.
    """
    size = np.abs(A).max()
    if size == 0:
        return np.zeros(len(A), LONG), np.eye(len(A), dtype=LONG)
    B = A / size
    V = np.linalg.eigh(B.astype(float))[1].astype(LONG)
    for _ in range(2):  # orthonormal in long doubles
        V = V @ (LONG(3) * np.eye(len(A), dtype=LONG) - V.T @ V) / 2
    B = V.T @ B @ V
    B = (B + B.T) / 2
    for _ in range(2):
        _sweep(B, V)
    order = np.argsort(-np.diag(B))
    return np.diag(B)[order] * size, V[:, order]


def _sweep(B: Array, V: Array) -> None:
    """Rotate every pair of axes so that its entry becomes 0; V collects the rotations."""
    n = len(B)
    for i in range(n - 1):
        for j in range(i + 1, n):
            if B[i, j] == 0:
                continue
            angle = (B[j, j] - B[i, i]) / (2 * B[i, j])
            t = (1 if angle >= 0 else -1) / (np.abs(angle) + np.sqrt(angle**2 + 1))
            c = 1 / np.sqrt(t**2 + 1)
            s = t * c
            for M in (B.T, B, V):
                first, second = M[:, i].copy(), M[:, j].copy()
                M[:, i], M[:, j] = c * first - s * second, s * first + c * second


def kernels(rng: np.random.Generator) -> mc.Kernel:
    """Return a random expression that `matrix` knows."""
    h = float(10.0 ** rng.uniform(-1.5, 1.5))
    leaves = [
        mc.Gaussian(h),
        mc.Laplacian(h, norm=2.0),
        mc.Laplacian(h, norm=1.0),
        mc.Matern(nu=float(rng.choice([0.5, 1.5, 2.5, 3.5])), bandwidth=h),
        mc.RationalQuadratic(shape=float(rng.choice([0.5, 1.0, 3.0])), bandwidth=h),
        mc.Linear(),
        mc.Polynomial(int(rng.integers(1, 4)), float(rng.choice([0.0, 1.0])), h),
        mc.NegativeDistance(float(rng.choice([0.5, 1.0, 1.5])), bandwidth=h),
    ]
    leaf = leaves[rng.integers(len(leaves))]
    how = rng.integers(6)
    if how == 0:
        return leaf + leaves[rng.integers(len(leaves))]
    if leaf.kind.name == "CONDITIONAL":
        return leaf.exp() if how == 1 else leaf
    if how == 1:
        return leaf * leaves[rng.integers(len(leaves) - 1)]
    if how == 2:
        return float(10.0 ** rng.uniform(-3, 3)) * leaf
    if how == 3:
        return leaf ** int(rng.integers(2, 4))
    return leaf


def points(rng: np.random.Generator, n: int) -> Array:
    """Return random points: clusters, duplicates, symmetries, outliers, offsets and scales."""
    d = int(rng.integers(1, 6))
    x = rng.standard_normal((n, d))
    shape = rng.integers(7)
    if shape == 0:
        x[n // 2 :] = x[: n - n // 2]  # each point twice
    elif shape == 1:
        x[n // 2 :] = -x[: n - n // 2]
    elif shape == 2:
        x = np.round(x)
    elif shape == 3:
        x += 10.0 * rng.integers(0, 3, (n, 1))
    elif shape == 4:
        x[: max(1, n // 10)] *= 50.0
    x *= 10.0 ** float(rng.choice([-3, -1, 0, 0, 0, 1, 2]))
    return x + float(rng.choice([0.0, 0.0, 1.0, 1e2, 1e4, 1e6, 1e8]))
