from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mercer as mc
from mercer.kernels.waves import BESSEL, wave_profile

RNG = np.random.default_rng(8)
X = RNG.normal(size=(9, 3))


@pytest.mark.parametrize("order", [-0.5, 0.0, 0.5, 1.0, 2.7, 30.0, 150.0])
def test_the_profile_has_its_digits(order: float) -> None:
    r = np.concatenate([[0.0], np.geomspace(1e-3, 300.0, 40)])
    with mpmath.workdps(60):
        expected = [float(mpmath.hyp0f1(order + 1, -(mpmath.mpf(v) ** 2) / 4)) for v in r]
    assert np.max(np.abs(wave_profile(order, r * r) - expected)) < BESSEL / 10


@pytest.mark.parametrize(("law", "order"), [("sphere", 0.5), ("ball", 1.5)])
def test_bessel_kernels_are_means_of_waves_over_spheres_and_balls(law: str, order: float) -> None:
    # In R³ the first coordinate of the uniform law on the sphere is uniform, in the ball (1-u²)·¾.
    u, w = np.polynomial.legendre.leggauss(60)
    density = 0.5 * np.ones(60) if law == "sphere" else 0.75 * (1.0 - u * u)
    d = np.linalg.norm(X[:, None] - X[None], axis=2) / 0.7
    expected = np.sum(w * density * np.cos(d[..., None] * u), axis=-1)
    np.testing.assert_allclose(mc.kernels.Bessel(order, 0.7)(X), expected, atol=1e-13)


def test_bessel_of_order_minus_a_half_is_the_cosine_and_of_a_half_the_sinc() -> None:
    x = X[:, :1]
    gap = x - x.T
    np.testing.assert_allclose(mc.kernels.Bessel(-0.5)(x), np.cos(gap), atol=1e-14)
    np.testing.assert_allclose(mc.kernels.Bessel(0.5)(x), mc.kernels.Sinc()(x), atol=1e-14)


def test_beyond_its_dimension_the_formula_is_no_kernel_and_is_refused() -> None:
    # J₀ of distances in R³ at the corners of a simplex and their centre, where it fails.
    points = np.vstack([np.zeros(3), *(np.eye(3) * s for s in (1.0, -1.0))]) * 2.6
    squares = ((points[:, None] - points[None]) ** 2).sum(2)
    grid = RNG.uniform(-6.0, 6.0, (120, 3))
    far = ((grid[:, None] - grid[None]) ** 2).sum(2)
    smallest = min(np.linalg.eigvalsh(wave_profile(0.0, s))[0] for s in (squares, far))
    assert smallest < -1e-3
    with pytest.raises(mc.errors.NotPositiveDefinite, match="at most 2 real coordinates"):
        mc.kernels.Bessel(0.0)(points)
    assert np.linalg.eigvalsh(mc.kernels.Bessel(0.5)(grid))[0] > -1e-12


def test_random_features_of_bessel_kernels_come_near() -> None:
    for order in (0.5, 4.0):
        k = mc.kernels.Bessel(order, 0.8)
        map_ = mc.RandomFourierFeatures(8000, kernel=k, random_state=0).fit(X)
        z = map_.transform(X)
        assert np.max(np.abs(z @ z.T - k(X))) < 0.06


def test_waves_are_the_mean_of_cosines_over_their_law() -> None:
    omega, masses = RNG.normal(size=(5, 3)), [1.0, 2.0, 1.0, 3.0, 1.0]
    k = mc.kernels.Waves(omega, masses)
    gaps = X[:, None] - X[None]
    expected = np.cos(gaps @ omega.T) @ np.array(masses) / 8.0
    np.testing.assert_allclose(k(X), expected, atol=1e-14)
    np.testing.assert_allclose(k.diag(X), 1.0, atol=1e-14)
    phi = k.features(X)
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-14)
    assert mc.check_kernel(k, X)


def test_draws_of_a_law_estimate_its_characteristic_function() -> None:
    L = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 0.3]])
    k = mc.kernels.Waves(RNG.standard_normal((40_000, 3)) @ L.T)
    gaps = X[:, None] - X[None]
    expected = np.exp(-0.5 * np.einsum("ijk,kl,ijl->ij", gaps, L @ L.T, gaps))
    assert np.max(np.abs(k(X) - expected)) < 0.03


def test_a_joint_characteristic_function_is_one_of_all_coordinates() -> None:
    S = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 2.0]])
    normal = mc.kernels.Characteristic(
        lambda t: np.exp(-0.5 * np.einsum("...i,ij,...j->...", t, S, t)), 2.0, joint=True
    )
    L = np.linalg.cholesky(S)
    np.testing.assert_allclose(normal(X), mc.Gaussian(2.0)(X @ L), atol=1e-13)
    np.testing.assert_allclose(normal.diag(X), 1.0)
    assert mc.check_kernel(normal, X)
    with pytest.raises(mc.errors.InvalidParameter, match="joint=True is for a function"):
        mc.kernels.Characteristic("normal", joint=True)
    with pytest.raises(mc.errors.InvalidParameter, match="a value for each pair"):
        mc.kernels.Characteristic(lambda t: t, joint=True)(X)


def test_a_joint_law_of_lists_and_complex_points() -> None:
    def psi(t: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-0.5 * (t**2).sum(-1)))

    listed = mc.kernels.Characteristic(lambda t: psi(t).tolist(), joint=True)
    np.testing.assert_allclose(listed(X), mc.Gaussian(1.0)(X), atol=1e-14)
    np.testing.assert_allclose(listed.diag(X), 1.0)
    by_column = mc.kernels.Characteristic(lambda t: np.exp(-0.5 * t**2).tolist())
    np.testing.assert_allclose(by_column(X), mc.Gaussian(1.0)(X), atol=1e-14)
    with pytest.raises(mc.errors.InvalidInput, match="a joint law has real coordinates"):
        mc.kernels.Characteristic(psi, joint=True)(X + 1j)


def test_a_characteristic_function_is_one_at_zero() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=r"is 2\+0j at 0, and a characteristic"):
        mc.kernels.Characteristic(lambda t: 2.0 * np.exp(-np.abs(t)))(X)
    with pytest.raises(mc.errors.InvalidParameter, match="nan.* at 0"), np.errstate(all="ignore"):
        mc.kernels.Characteristic(lambda t: np.sin(t) / t)(X)
    with pytest.raises(mc.errors.InvalidParameter, match="1 there"):
        mc.kernels.Characteristic(lambda t: np.exp(-(t**2).sum(-1)) - 0.5, joint=True)(X)
    none = mc.kernels.Characteristic(lambda t: np.exp(-(t**2).sum(-1)), joint=True)
    assert none(X[:0], X).shape == (0, 9)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.7])
@pytest.mark.parametrize("bandwidth", [0.7, (0.5, 1.0, 3.0)])
def test_bessel_kernels_have_their_derivatives(order: float, bandwidth: Any) -> None:
    k, h = mc.kernels.Bessel(order, bandwidth), 1e-5
    slopes = k.slopes(X, X)
    for j in range(3):
        step = h * np.eye(3)[j]
        expected = (k(X + step, X) - k(X - step, X)) / (2.0 * h)
        np.testing.assert_allclose(slopes[..., j], expected, atol=1e-9)
    partials = k.partials(X)["bandwidth"]
    if isinstance(bandwidth, float):
        up, down = (mc.kernels.Bessel(order, bandwidth + d)(X) for d in (h, -h))
        np.testing.assert_allclose(partials, (up - down) / (2.0 * h), atol=1e-9)
        return
    for j in range(3):
        up, down = (
            mc.kernels.Bessel(order, tuple(np.asarray(bandwidth) + d * np.eye(3)[j]))(X)
            for d in (h, -h)
        )
        np.testing.assert_allclose(partials[..., j], (up - down) / (2.0 * h), atol=1e-9)


def test_stretched_waves_are_those_of_divided_points() -> None:
    k = mc.kernels.Waves(RNG.normal(size=(5, 3)), [1.0, 2.0, 1.0, 3.0, 1.0])
    for scale in (2.5, (0.5, 1.0, 4.0)):
        stretched = k.stretch(scale)
        np.testing.assert_allclose(stretched(X), k(X / np.asarray(scale)), atol=1e-14)
        np.testing.assert_allclose(stretched.diag(X), 1.0, atol=1e-14)
    with pytest.raises(mc.errors.InvalidInput, match="3 coordinates, and cannot be divided by 2"):
        k.stretch((1.0, 2.0))


def test_large_masses_are_shares() -> None:
    omega = RNG.normal(size=(2, 3))
    k = mc.kernels.Waves(omega, [1e308, 1e308])
    np.testing.assert_array_equal(k(X), mc.kernels.Waves(omega)(X))


def test_wrong_waves_are_named() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="frequencies have 2 real coordinates"):
        mc.RandomFourierFeatures(8, kernel=mc.kernels.Waves([[1.0, 2.0]]), random_state=0).fit(X)
    with pytest.raises(mc.errors.InvalidParameter, match="2 masses for 1 freq"):
        mc.kernels.Waves([[1.0, 2.0]], [1.0, 1.0])
    with pytest.raises(mc.errors.InvalidInput, match="frequencies have 2 real coordinates"):
        mc.kernels.Waves([[1.0, 2.0]])(X)
    with pytest.raises(mc.errors.InvalidParameter, match="order"):
        mc.kernels.Bessel(-0.6)
    with pytest.raises(mc.errors.InvalidParameter, match="at most 150"):
        mc.kernels.Bessel(151)
