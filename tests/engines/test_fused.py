"""Products in the registers of a GPU: formulas, halves and bounds, without the GPU."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.engines.fused import CUT, SPLIT, Fused, Layout, Split, halves, laid_out, lines_of
from mercer.engines.gpu import Gpu
from mercer.engines.tiles import Tiles
from mercer.engines.trace import FUNCTIONS, traced_formula
from mercer.kernels.radial import Bandwidth, checked_bandwidth

torch = pytest.importorskip("torch")

N = 300
RNG = np.random.default_rng(0)


@mc.kernels.value
class Lorentzian(mc.kernels.Radial):
    """The kernel of CONTRIBUTING, as somebody else would write it."""

    bandwidth: Bandwidth = 1.0
    domain = {"bandwidth": checked_bandwidth}
    theorem = "a mixture of Gaussians with nonnegative weights"

    def profile(self, s: Any) -> Any:
        return 1.0 / (1.0 + s)

    def profile_slope(self, s: Any) -> Any:
        return -1.0 / (1.0 + s) ** 2


KERNELS = {
    "gaussian": mc.Gaussian(1.5),
    "a bandwidth each": mc.Gaussian((1.0, 2.0, 0.5, 3.0)),
    "matern 1/2": mc.Matern(0.5, 2.0),
    "matern 3/2": mc.Matern(1.5, 2.0),
    "matern 5/2": mc.Matern(2.5, 2.0),
    "laplacian": mc.Laplacian(2.0, norm=2),
    "rational quadratic": mc.kernels.RationalQuadratic(1.3, 1.0),
    "polynomial": mc.Polynomial(3, 1.0, 0.2),
    "negative distance": mc.kernels.NegativeDistance(1.5),
    "sigmoid": mc.kernels.Sigmoid(0.1, 0.2),
    "exponential of a kernel": (0.1 * mc.Linear()).exp(),
    "sum and product": mc.Gaussian(1.0) * mc.Linear() + 0.5 * mc.Matern(0.5, 2.0) + 2.0,
    "somebody else's": Lorentzian(2.0) * mc.Linear(),
}
OTHERS = [
    mc.Laplacian(2.0),  # of another norm
    mc.kernels.Periodic(1.0, 1.0),  # of differences
    mc.Matern(1.7, 2.0),  # of a Bessel function
    mc.Gaussian((1.0, 2.0, 0.5, 3.0)) * mc.Linear(),  # of two matrix products
]


def evaluate(fused: Fused, rows: slice) -> Any:
    """Return values of the kernel as the GPU computes them, in the arithmetic of torch."""
    (X, xn, xo), (Y, yn, yo) = fused.left, fused.right
    names: dict[str, Any] = {name: getattr(torch, name) for name in FUNCTIONS}
    names["maximum"] = lambda a, b: torch.clamp(a, min=b)
    text = "def formula(sums, x_norm, y_norm, x_offset, y_offset, is_same):\n"
    settings = {"is_steep": fused.is_steep, "has_differences": fused.layout.parts == 0}
    lines = lines_of(fused.formula, fused.unit, fused._value_unit, **settings)
    exec(text + "".join(f"    {line}\n" for line in lines), names)
    numbers = torch.arange(len(Y))
    return names["formula"](
        sums_of(X[rows], Y, fused), xn[rows][:, None], yn[None], xo[rows][:, None], yo[None],
        numbers[rows][:, None] == numbers[None],
    )  # fmt: skip


def sums_of(x: Any, y: Any, fused: Fused) -> Any:
    """Return inner products of points, or squared differences, whose terms are cut off."""
    layout, count = fused.layout, fused.count
    if layout.parts > 0:
        sides = (_all_parts(s, layout, count, s is y) for s in (x, y))
        left, right = (side.to(torch.float32) for side in sides)
        return left @ right.T
    total: Any = 0.0
    for first in range(0, layout.width, layout.held):
        (x_high, x_low), (y_high, y_low) = (
            s[:, first + 2 : first + 4].double().T[:, :, None] for s in (x, y)
        )
        gap = _cut_off([x_high, x_low, -y_high.T, -y_low.T])
        total = total + (gap * gap).to(torch.float32)
    return total


def _cut_off(terms: list[Any]) -> Any:
    """Return a sum of terms, each cut off where the largest ends, as tensor cores add them."""
    terms = list(torch.broadcast_tensors(*terms))
    unit = CUT * torch.stack([t.abs() for t in terms]).amax(dim=0).clamp(min=1e-30)
    return sum(torch.trunc(t / unit) * unit for t in terms)


def multiply(self: Fused, split: Split, rows: slice) -> Any:
    """Stand in for the kernel: halves of values times halves of vectors."""
    (V, units), count = split, self.shape[1]
    both = V[:count].reshape(count, 2, -1)[:, :, : len(units)]
    high, low = both[:, 0], both[:, 1]
    values = evaluate(self, rows)[:, :count]
    assert float(values.abs().max()) <= 2.0**15
    v_high, v_low = halves(torch, values.double())
    product = v_high.double() @ (high.double() + low.double()) + v_low.double() @ high.double()
    return product / units


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    monkeypatch.setattr(Fused, "part", multiply)
    engine = Gpu("cpu")
    engine.is_fused, engine.single_enough = True, 1e-5
    return engine


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("is_symmetric", [True, False], ids=["symmetric", "two sides"])
def test_a_kernel_is_multiplied_within_its_bound(
    name: str, is_symmetric: bool, engine: Gpu
) -> None:
    x = 1.0 + RNG.standard_normal((N, 4))
    y = None if is_symmetric else x[:200] + 0.1
    v = RNG.standard_normal((N if y is None else 200, 40)) * 10.0 ** RNG.integers(-9, 9, 40)
    gram = mc.Gram(KERNELS[name], x, y, engine=engine)
    assert engine._fused(gram.cut(single=True)) is not None
    found, exact = gram.product(v, single=True), mc.Gram(KERNELS[name], x, y).product(v)
    bound = gram.entry_rounding(single=True).product * np.abs(v).sum(axis=0)
    assert np.all(np.abs(found - exact) <= bound)
    size = np.linalg.norm(exact, axis=0)
    assert np.all(np.linalg.norm(found - exact, axis=0) <= 5e-6 * size + 1e-3 * bound)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel",
    [
        mc.Laplacian(0.3, norm=2),
        mc.Gaussian(0.1),
        mc.Matern(1.5, 0.1),
        mc.Gaussian(0.3) * mc.Linear() + mc.Matern(0.5, 0.2),
        mc.kernels.NegativeDistance(1.0),
    ],
    ids=str,
)
def test_close_points_of_few_coordinates_are_not_cancelled(
    kernel: mc.Kernel, columns: int, engine: Gpu
) -> None:
    """By norms and inner products a Laplacian lost 3e-5 on the line, and 3e-6 in the plane."""
    x, v = 1.0 + RNG.standard_normal((N, columns)), RNG.standard_normal((N, 3))
    gram, exact = mc.Gram(kernel, x, engine=engine), mc.Gram(kernel, x).product(v)
    gap, rounding = gram.product(v, single=True) - exact, gram.entry_rounding(single=True)
    assert np.linalg.norm(gap) <= 1e-6 * np.linalg.norm(exact)
    assert np.all(np.abs(gap) <= rounding.product * np.abs(v).sum(axis=0))
    is_of_distances = isinstance(kernel, mc.Laplacian | mc.kernels.NegativeDistance)
    assert not is_of_distances or rounding.entry <= 3e-4 * rounding.value  # it was 0.06 and 2e-3


def test_points_in_a_layout_of_differences_meet_their_partners() -> None:
    """The kernel reads one side as it lies, and the other with halves before ones."""
    x, y = (torch.as_tensor(RNG.standard_normal((3, 2))) for _ in range(2))
    layout = Layout.of(2, has_distances=True)
    left, right = (laid_out(torch, *halves(torch, a), layout).double() for a in (x, y))
    for k, piece in enumerate(range(0, layout.width, layout.held)):
        here = left[:, piece : piece + layout.held]
        there = right[:, piece : piece + layout.held]
        swapped = torch.cat((here[:, 2:4], -here[:, :2], here[:, 4:]), dim=1)
        gaps = x[:, None, k] - y[None, :, k]
        assert bool(torch.all((swapped @ there.T - gaps).abs() <= 4 * SPLIT * x.abs().max() + 1e-7))


@pytest.mark.filterwarnings("ignore::mercer.errors.OnProcessor")
@pytest.mark.parametrize("kernel", OTHERS, ids=str)
def test_other_kernels_are_computed_tile_by_tile(kernel: mc.Kernel, engine: Gpu) -> None:
    x, v = RNG.standard_normal((N, 4)), RNG.standard_normal((N, 2))
    gram = mc.Gram(kernel, x, engine=engine)
    assert engine._fused(gram.cut(single=True)) is None
    exact = mc.Gram(kernel, x).product(v)
    np.testing.assert_allclose(
        gram.product(v, single=True), exact, rtol=0, atol=1e-5 * np.abs(exact).max()
    )


@given(columns=st.integers(1, 300))
def test_halves_of_points_meet_their_partners(columns: int) -> None:
    layout = Layout.of(columns)
    x, y = (torch.as_tensor(RNG.standard_normal((3, columns))) for _ in range(2))
    sides = []
    for a, is_right in ((x, False), (y, True)):
        high, low = halves(torch, a)
        assert float((high.double() + low.double() - a).abs().max()) <= SPLIT * float(a.abs().max())
        laid = laid_out(torch, high, low, layout)
        assert laid.shape == (3, layout.width)
        sides.append(_all_parts(laid, layout, columns, is_right))
    product = sides[0].double() @ sides[1].double().T
    sizes = x.abs() @ y.abs().T
    assert bool(torch.all((product - x @ y.T).abs() <= 4 * SPLIT * sizes + 1e-7))


def _all_parts(side: Any, layout: Layout, count: int, is_right: bool) -> Any:
    """Return a side for one matrix product: low with high, high with low, high with high."""
    if layout.parts == 1:
        high, low, rest = side[:, :count], side[:, count : 2 * count], side[:, 2 * count :]
        return side if is_right else torch.cat([low, high, rest], dim=1)
    parts = side.reshape(len(side), -1, 2, layout.held)
    high, low = parts[:, :, 0], parts[:, :, 1]
    order = (high, low, high) if is_right else (low, high, high)
    return torch.cat(order, dim=2).reshape(len(side), -1)


def test_a_formula_that_asks_for_more_is_not_traced() -> None:
    for kernel in OTHERS[:3]:
        assert traced_formula(kernel) is None
    assert traced_formula(mc.Polynomial(2).normalised()) is None  # which asks for diagonals
    assert (
        traced_formula(1e60 * mc.Gaussian(1.0)) is None
    )  # which single precision has no number for


def test_an_axis_is_found_without_a_pass_in_double_precision(engine: Gpu) -> None:
    x, kernel = RNG.standard_normal((700, 3)) * [4.0, 2.0, 1.0], mc.Gaussian(5.0)
    model = mc.KernelPCA(3, kernel=kernel, method="exact", tol=1e-5, engine=engine).fit(x)
    spectrum = model.spectrum_
    assert spectrum.how.double_passes == 0
    assert spectrum.certificate.rounding.startswith("estimated")
    H = np.eye(700) - 1.0 / 700
    truth = np.linalg.eigvalsh(H @ kernel(x) @ H / 700)[::-1][:3]
    assert np.all(np.abs(spectrum.values - truth) <= spectrum.errors)
    fine = mc.KernelPCA(3, kernel=kernel, method="exact", tol=1e-9, engine=engine).fit(x)
    assert fine.spectrum_.how.double_passes > 0
    assert fine.spectrum_.certificate.rounding == "bounded"
    assert np.all(np.abs(fine.spectrum_.values - truth) <= fine.spectrum_.errors)


def test_an_estimate_that_is_too_small_is_found_out(
    engine: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors on the rows of largest values alone: intervals widen, or a pass is made in double."""
    x, kernel = RNG.standard_normal((900, 2)), mc.Polynomial(2, 1.0, 0.2)
    x[100:105] *= 10.0
    engine.checked_rows = 300
    monkeypatch.setattr(engine, "usual_rounding", lambda *_, **__: 1e-12)
    H = np.eye(900) - 1.0 / 900
    truth = np.linalg.eigvalsh(H @ kernel(x) @ H / 900)[::-1][:3]
    for error, doubles in ((3e-6, 0), (1e-4, 1)):

        def spoilt(self: Fused, vectors: Any, rows: slice, error: float = error) -> Any:
            images = multiply(self, vectors, rows)
            images[np.arange(100, 105)] *= 1.0 + error
            return images

        monkeypatch.setattr(Fused, "part", spoilt)
        model = mc.KernelPCA(3, kernel=kernel, method="exact", tol=1e-5, engine=engine).fit(x)
        spectrum = model.spectrum_
        assert min(spectrum.how.double_passes, 1) == doubles
        assert spectrum.certificate.rounding.startswith("bounded" if doubles else "estimated")
        assert np.all(np.abs(spectrum.values - truth) <= spectrum.errors)
        if not doubles:
            assert abs(spectrum.values[0] - truth[0]) > 1e-7 * truth[0]


def test_the_rounding_that_is_measured_is_that_of_products(engine: Gpu) -> None:
    x = RNG.standard_normal((600, 3))
    gram = mc.Gram(mc.Gaussian(2.0), x, engine=engine)
    usual = gram.usual_rounding(is_centred=True)
    v = x / np.linalg.norm(x, axis=0)
    gap = gram.product(v, single=True) - mc.Gram(mc.Gaussian(2.0), x).product(v)
    assert np.linalg.norm(gap, axis=0).max() / 600 <= usual <= gram.entry_rounding().value * 1e-6
    assert usual <= gram.entry_rounding(single=True).product


def test_a_full_device_goes_on_with_tiles(engine: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x, v = RNG.standard_normal((N, 2)), np.ones((N, 1))
    gram = mc.Gram(mc.Gaussian(1.0), x, engine=engine)

    def full(self: Fused, vectors: Any, progress: Any = None) -> Any:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(Fused, "product", full)
    found = gram.product(v, single=True)
    np.testing.assert_allclose(found, mc.Gaussian(1.0)(x) @ v, rtol=1e-5)
    assert engine._fused(gram.cut(single=True)) is None


def test_products_are_forgotten_with_their_matrix(engine: Gpu) -> None:
    x = RNG.standard_normal((N, 2))
    mc.Gram(mc.Gaussian(1.0), x, engine=engine).product(np.ones((N, 1)), single=True)
    gc.collect()
    assert len(engine._products) == 0
    tiles = Tiles(mc.Gaussian(1.0), x, single=True)
    assert engine._fused(tiles) is engine._fused(tiles)
