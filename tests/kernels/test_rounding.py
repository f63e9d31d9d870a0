from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.check import Array
from mercer.engines.tiles import Tiles, rounding
from mercer.gram import Gram
from mercer.kernels import radial, statements
from mercer.kernels.statements import Bound
from mercer.spectrum import leading

RNG = np.random.default_rng(8)

LEAVES = [
    mc.Gaussian(1.3),
    mc.Laplacian(0.7, norm=2.0),
    mc.Matern(nu=0.5, bandwidth=2.0),
    mc.Matern(nu=2.5, bandwidth=1.0),
    mc.kernels.RationalQuadratic(shape=1.5, bandwidth=1.0),
    mc.Linear(),
    mc.Polynomial(degree=3, offset=0.5, scale=0.2),
    mc.kernels.NegativeDistance(exponent=1.0),
]
EXPRESSIONS = [
    mc.Gaussian(1.0) + 0.3 * mc.Linear(),
    mc.Gaussian(2.0) * mc.Polynomial(degree=2),
    (0.1 * mc.Linear()).exp(),
    mc.Gaussian(0.5) ** 3,
    mc.Linear().polynomial([1.0, 0.0, 2.0]),
]


def exact(kernel: mc.Kernel, x: Array) -> Array:
    """The kernel on points in extended precision, by its formula in the general path."""
    return np.asarray(kernel(x)).astype(np.longdouble)


def tile(kernel: mc.Kernel, x: Array, *, single: bool) -> tuple[Tiles, Array]:
    tiles = Tiles(kernel, x, single=single)
    return tiles, np.array(tiles.tile(tiles.blocks()[0]), np.longdouble)


def bounds_of(kernel: mc.Kernel, tiles: Tiles) -> Bound:
    assert tiles.prepared is not None
    found = kernel.bounds(tiles.prepared.arithmetic)
    assert found is not None
    return found


@pytest.mark.parametrize("kernel", LEAVES + EXPRESSIONS, ids=str)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-3, 1.0, 30.0]))
def test_entries_of_single_precision_are_within_their_bound(
    kernel: mc.Kernel, seed: int, scale: float
) -> None:
    x = scale * np.random.default_rng(seed).standard_normal((30, 4))
    tiles, values = tile(kernel, x, single=True)
    limits = bounds_of(kernel, tiles)
    if limits.value < 1e30:
        truth = exact(kernel, x)
        assert np.max(np.abs(values - truth)) <= limits.error
        assert np.max(np.abs(truth)) <= limits.value * (1.0 + 1e-12)


def test_values_beyond_single_precision_are_left_to_double() -> None:
    kernel = (0.1 * mc.Linear()).exp()
    x = RNG.standard_normal((1200, 3))
    x *= np.sqrt(1000.0 / np.max(np.sum(x**2, axis=1)))  # the largest value is e^100
    gram = Gram(kernel, x)
    assert gram.rounding(single=True) == np.inf
    spectrum = leading(gram, 2, method="exact", tol=1e-6, random_state=0)
    assert spectrum.how.single_passes == 0
    assert np.all(np.isfinite(spectrum.values))


@pytest.mark.parametrize("kernel", LEAVES + EXPRESSIONS, ids=str)
@pytest.mark.parametrize("single", [True, False])
def test_products_are_within_their_bound(kernel: mc.Kernel, single: bool) -> None:
    x = RNG.standard_normal((700, 5))
    gram = Gram(kernel, x)
    v = RNG.standard_normal((700, 3))
    truth = exact(kernel, x) @ v.astype(np.longdouble)
    error = np.linalg.norm(gram.product(v, single=single) - truth, axis=0)
    assert np.all(error <= gram.rounding(single=single) * np.linalg.norm(v, axis=0))


def test_bounds_are_not_idle() -> None:
    """The bound of the entries is within four decimal digits of what was seen."""
    x = RNG.standard_normal((500, 4))
    tiles, values = tile(mc.Gaussian(1.0), x, single=True)
    seen = float(np.max(np.abs(values - exact(mc.Gaussian(1.0), x))))
    assert seen <= bounds_of(mc.Gaussian(1.0), tiles).error <= 1e4 * seen


def test_a_bound_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: with a hundredth of the unit the bound fails."""
    monkeypatch.setattr(statements, "gamma", lambda terms, unit: 1e-2 * unit)
    monkeypatch.setattr(radial, "FUNCTION", 0.0)
    x = RNG.standard_normal((500, 4))
    tiles, values = tile(mc.Gaussian(1.0), x, single=True)
    seen = float(np.max(np.abs(values - exact(mc.Gaussian(1.0), x))))
    assert seen > bounds_of(mc.Gaussian(1.0), tiles).error


def test_kernels_without_a_bound_say_that_theirs_is_an_estimate() -> None:
    tiles = Tiles(mc.kernels.Intersection(), [{1}, {1, 2}, {3}])
    assert not rounding(tiles, 2.0).is_proved
    assert rounding(Tiles(mc.Gaussian(1.0), RNG.standard_normal((9, 2))), 1.0).is_proved
