"""Random points and random kernel expressions, for the laws of the algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer as mc
from mercer.check import Array
from mercer.kernels.scikit_learn import PerCoordinate

EXAMPLES = 200
"""Examples of a law in every run, over all of its parametrisations."""


def examples(count: int) -> settings:
    """Try a law on fewer examples in every run, and on as many times more where all are more.

    For laws whose examples cost a fit, or are nothing but seeds.
    """
    every = settings().max_examples
    return settings(
        max_examples=min(count, every) if every <= EXAMPLES else count * every // EXAMPLES
    )


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


def forms() -> st.SearchStrategy[mc.kernels.Bilinear]:
    """Positive semidefinite forms of the plane, as Gram matrices of two vectors."""
    return hnp.arrays(np.float64, (2, 2), elements=st.integers(-3, 3).map(float)).map(
        lambda a: mc.kernels.Bilinear((a @ a.T).tolist())
    )


def bounded_atoms() -> st.SearchStrategy[mc.Kernel]:
    """Differentiable kernels of modulus at most one."""
    return st.one_of(
        st.builds(mc.Gaussian, bandwidths),
        st.builds(mc.Laplacian, bandwidths, st.sampled_from([1.0, 1.5, 2.0])),
        st.builds(mc.Matern, st.sampled_from([0.5, 0.8, 1.5, 2.5, 3.3, 30.0, np.inf]), bandwidths),
        st.builds(mc.kernels.RationalQuadratic, positive, bandwidths),
        st.builds(mc.kernels.Periodic, positive, positive),
        st.builds(mc.kernels.Sinc, bandwidths),
        st.builds(mc.kernels.Bessel, st.sampled_from([0.0, 0.5, 1.0, 7.3]), bandwidths),
        st.builds(mc.kernels.Waves, st.sampled_from([[[1.0, -0.5], [0.3, 2.0]], [[0.0, 1.0]]])),
        st.builds(mc.kernels.Sobolev, st.sampled_from([1.5, 2.0, 3.0]), bandwidths),
        st.builds(
            mc.kernels.Characteristic,
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
        st.builds(PerCoordinate, st.sampled_from(["rbf", "laplacian"])),
        st.builds(PerCoordinate, st.just("poly"), st.integers(0, 3), weights),
        st.builds(mc.kernels.Constant, weights),
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
        st.builds(lambda k, s: k.stretched(s) if k.reads_vectors else k, smaller, bandwidths),
        st.builds(lambda k, b: k.gaussian(b), smaller, positive),
        st.builds(lambda k: k.centred([[0.0, 1.0], [1.0, -0.5]]), smaller),
    )


def bump(x: Array) -> Array:
    """A function of points, of both signs, for `weighted`."""
    return np.asarray(np.cos(x[:, 0]) - 0.3 * x[:, 1])


def bump_slope(x: Array) -> Array:
    return np.column_stack([-np.sin(x[:, 0]), np.full(len(x), -0.3)])


def wave(x: Array) -> Array:
    """A complex function of points."""
    return np.asarray(np.exp(1j * x[:, 0]) * (1.0 + 0.5 * x[:, 1] ** 2))


def wave_slope(x: Array) -> Array:
    return np.column_stack([1j * wave(x), np.exp(1j * x[:, 0]) * x[:, 1]])


def bend(x: Array) -> Array:
    """A map of the plane into itself, for `on`."""
    return np.column_stack([x[:, 0] + 0.2 * x[:, 1] ** 2, np.sin(x[:, 1])])


def bend_jacobian(x: Array) -> Array:
    one, zero = np.ones(len(x)), np.zeros(len(x))
    rows = [[one, 0.4 * x[:, 1]], [zero, np.cos(x[:, 1])]]
    return np.moveaxis(np.array(rows), -1, 0)


def first(x: Array) -> Array:
    return np.asarray(x[:, 0])


def one(x: Array) -> Array:
    return np.ones(len(x))


def functional_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Differentiable expressions that hold Python functions."""
    return st.one_of(
        st.builds(lambda k: k.weighted(bump, bump_slope), smooth_kernels()),
        st.builds(lambda k: k.on(bend, bend_jacobian), smooth_kernels()),
        st.builds(
            lambda a, b: a.weighted(bump, bump_slope) * b.on(bend, bend_jacobian) + a,
            smooth_atoms(),
            smooth_atoms(),
        ),
    )


def undifferentiable_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Kernels from functions of points, mixed with others."""
    atoms = st.one_of(
        st.just(mc.kernels.FeatureMap(bend)),
        st.builds(lambda a, b: mc.kernels.Series([one, first], [a, b]), positive, positive),
        st.just(mc.FromFunction(lambda a, b: float(a @ b))),
    )
    return st.builds(lambda a, b: a * b + a, atoms, smooth_atoms())


def complex_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Hermitian expressions with complex values."""
    return st.one_of(
        st.builds(lambda k: k.weighted(wave, wave_slope), smooth_atoms()),
        st.builds(lambda a, b: a.weighted(wave, wave_slope) * b, smooth_atoms(), smooth_atoms()),
        st.builds(lambda k, b: k.weighted(wave, wave_slope).gaussian(b), bounded_atoms(), positive),
        st.builds(lambda k: k.weighted(wave, wave_slope).normalised(), bounded_atoms()),
        st.builds(
            lambda k: k.weighted(wave, wave_slope).centred([[0.0, 1.0], [1.0, 0.5]]),
            bounded_atoms(),
        ),
    )


def conditional_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Conditionally positive definite sums."""
    return st.builds(
        lambda exponent, c, k: mc.kernels.NegativeDistance(exponent) + c * k,
        st.sampled_from([0.5, 1.0, 1.7, 2.0]),
        weights,
        smooth_atoms(),
    )


def smooth_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Differentiable expressions of a few operations."""
    return st.recursive(smooth_atoms(), _grown, max_leaves=4)


def kernels() -> st.SearchStrategy[mc.Kernel]:
    """Expressions on the plane, differentiable or not."""
    atoms = st.one_of(smooth_atoms(), st.just(mc.kernels.Delta()), st.just(mc.kernels.Tanimoto()))
    return st.recursive(atoms, _grown, max_leaves=5)


def sets_of_letters() -> st.SearchStrategy[list[frozenset[str]]]:
    """Data sets whose points are sets."""
    return st.lists(st.frozensets(st.sampled_from(sorted(UNIVERSE))), min_size=1, max_size=6)


def set_kernels() -> st.SearchStrategy[mc.Kernel]:
    """Expressions on sets of letters."""
    atoms = st.one_of(
        st.builds(mc.kernels.Intersection, st.just(UNIVERSE)),
        st.builds(mc.kernels.UnionComplement, st.just(UNIVERSE)),
        st.builds(mc.kernels.Agreement, st.just(UNIVERSE)),
        st.builds(mc.kernels.AllSubsets, st.just(UNIVERSE)),
        st.builds(mc.kernels.Jaccard, st.just(UNIVERSE)),
        st.just(mc.kernels.Delta()),
        st.builds(mc.kernels.Constant, weights),
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
