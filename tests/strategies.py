"""Random points and random kernel expressions, for the laws of the algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer as mc
from mercer.check import Array

COLUMNS = 2
UNIVERSE = frozenset("abcdef")

positive = st.floats(0.25, 4.0).map(lambda v: round(v, 3))
weights = st.floats(0.0, 3.0).map(lambda v: round(v, 3))
bandwidths = st.one_of(positive, st.tuples(positive, positive))


def points(least: int = 1, most: int = 6) -> st.SearchStrategy[Array]:
    """Points of the plane on a grid of steps of 1/8, with repetitions."""
    return hnp.arrays(
        np.float64,
        st.tuples(st.integers(least, most), st.just(COLUMNS)),
        elements=st.integers(-16, 16).map(lambda i: i / 8.0),
    )


def distinct_points(least: int = 2, most: int = 5) -> st.SearchStrategy[Array]:
    """Points that differ in every coordinate: where kernels with kinks have slopes."""
    column = st.lists(st.integers(-16, 16), min_size=least, max_size=most, unique=True)
    return st.tuples(column, column).map(
        lambda c: np.array(list(zip(*c, strict=False)), dtype=float).reshape(-1, COLUMNS) / 8.0
    )


def forms() -> st.SearchStrategy[mc.Bilinear]:
    """Positive semidefinite forms of the plane, as Gram matrices of two vectors."""
    return hnp.arrays(np.float64, (2, 2), elements=st.integers(-3, 3).map(float)).map(
        lambda a: mc.Bilinear((a @ a.T).tolist())
    )


def bounded_atoms() -> st.SearchStrategy[mc.Kernel]:
    """Differentiable kernels of modulus at most one."""
    return st.one_of(
        st.builds(mc.Gaussian, bandwidths),
        st.builds(mc.Laplacian, bandwidths, st.sampled_from([1.0, 1.5, 2.0])),
        st.builds(mc.Matern, st.sampled_from([0.5, 0.8, 1.5, 2.5, 3.3, 30.0, np.inf]), bandwidths),
        st.builds(mc.RationalQuadratic, positive, bandwidths),
        st.builds(mc.Periodic, positive, positive),
        st.builds(mc.Sinc, bandwidths),
        st.builds(mc.Sobolev, st.sampled_from([1.5, 2.0, 3.0]), bandwidths),
        st.builds(
            mc.Characteristic,
            st.sampled_from(["normal", "uniform", "cauchy", "laplace", "triangular", "signs"]),
            bandwidths,
        ),
    )


def smooth_atoms() -> st.SearchStrategy[mc.Kernel]:
    """Kernels on the plane that have partials and slopes."""
    return st.one_of(
        bounded_atoms(),
        st.just(mc.Linear()),
        st.builds(mc.Polynomial, st.integers(0, 3), weights, weights),
        st.builds(mc.Constant, weights),
        forms(),
    )


def _grown(smaller: st.SearchStrategy[mc.Kernel]) -> st.SearchStrategy[mc.Kernel]:
    return st.one_of(
        st.builds(lambda a, b: a + b, smaller, smaller),
        st.builds(lambda a, b: a * b, smaller, smaller),
        st.builds(lambda c, k: c * k, weights, smaller),
        st.builds(lambda k, m: k**m, smaller, st.integers(0, 2)),
        st.builds(lambda k, c: k.polynomial(c), smaller, st.lists(weights, min_size=1, max_size=3)),
        st.builds(lambda k: k.normalised().exp(), smaller),
        st.builds(lambda k: k.normalised(), smaller),
        st.builds(lambda k, b: k.gaussian(b), smaller, positive),
        st.builds(lambda k: k.centred([[0.0, 1.0], [1.0, -0.5]]), smaller),
    )


def smooth_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Differentiable expressions of a few operations."""
    return st.recursive(smooth_atoms(), _grown, max_leaves=4)


def kernels() -> st.SearchStrategy[mc.Kernel]:
    """Expressions on the plane, differentiable or not."""
    return st.recursive(st.one_of(smooth_atoms(), st.just(mc.Delta())), _grown, max_leaves=5)


def sets_of_letters() -> st.SearchStrategy[list[frozenset[str]]]:
    """Data sets whose points are sets."""
    return st.lists(st.frozensets(st.sampled_from(sorted(UNIVERSE))), min_size=1, max_size=6)


def set_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Expressions on sets of letters."""
    atoms = st.one_of(
        st.builds(mc.Intersection, st.just(UNIVERSE)),
        st.builds(mc.UnionComplement, st.just(UNIVERSE)),
        st.builds(mc.Agreement, st.just(UNIVERSE)),
        st.builds(mc.AllSubsets, st.just(UNIVERSE)),
        st.just(mc.Delta()),
        st.builds(mc.Constant, weights),
    )
    return st.recursive(
        atoms,
        lambda smaller: st.one_of(
            st.builds(lambda a, b: a + b, smaller, smaller),
            st.builds(lambda a, b: a * b, smaller, smaller),
            st.builds(lambda k: k.normalised(), smaller),
            st.builds(lambda k, b: k.gaussian(b), smaller, positive),
        ),
        max_leaves=4,
    )
