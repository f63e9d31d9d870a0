"""What only a GPU can show, skipped where there is none: its arithmetic, memory and loss."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.engines.gpu import Gpu
from mercer.engines.held import Held, to_host
from tests.engines.test_gpu import KERNELS, V, X

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

RNG = np.random.default_rng(0)
GAUSSIAN = mc.Gaussian(2.0)


@contextmanager
def at_most(megabytes: int) -> Iterator[None]:
    """Leave torch so much memory beside what it holds."""
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(0).total_memory
    room = torch.cuda.memory_reserved() + megabytes * 2**20
    torch.cuda.set_per_process_memory_fraction(room / whole)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("name", KERNELS)
def test_products_are_those_of_the_processor_within_their_bounds(name: str, single: bool) -> None:
    exact = mc.Gram(KERNELS[name], X).product(V)
    gram = mc.Gram(KERNELS[name], X, engine=Gpu())
    gap = np.abs(gram.product(V, single=single) - exact)
    rounding = gram.entry_rounding(single=single).product + gram.entry_rounding().product
    assert np.all(gap <= rounding * np.abs(V).sum(axis=0))
    assert gap.max() <= (1e-5 if single else 1e-11) * np.abs(exact).max()


@pytest.mark.parametrize("tol", [1e-5, 1e-9])
def test_intervals_hold_the_eigenvalues(tol: float) -> None:
    x = X * [4.0, 2.0, 1.0, 0.5]
    model = mc.KernelPCA(3, kernel=GAUSSIAN, method="exact", tol=tol, engine="gpu").fit(x)
    H = np.eye(len(x)) - 1.0 / len(x)
    truth = np.linalg.eigvalsh(H @ GAUSSIAN(x) @ H / len(x))[::-1][:3]
    assert np.all(np.abs(model.spectrum_.values - truth) <= model.spectrum_.errors)
    assert (model.spectrum_.how.double_passes == 0) == (tol == 1e-5)


@pytest.mark.parametrize("method", ["exact", "dense", "nystrom"])
def test_26_signs_are_those_of_the_processor_whoever_asks(method: str) -> None:
    x = X * [4.0, 2.0, 1.0, 0.5]
    settings: dict[str, Any] = {"kernel": mc.Gaussian(5.0), "method": method, "random_state": 0}
    exact = mc.KernelPCA(3, **settings).fit(x).transform(x)
    there = torch.as_tensor(x, device="cuda")
    fitted = mc.KernelPCA(3, **settings).fit(there)
    for found in (
        fitted.transform(there),
        fitted.individuals_.coordinates,
        mc.KernelPCA(3, **settings).fit_transform(there),
    ):
        assert found.device == there.device
        assert found.dtype == there.dtype
        gap = np.abs(to_host(Held(found)) - exact).max()
        assert gap <= 1e-5 * np.abs(exact).max()


def test_singles_stay_single_and_there() -> None:
    there = torch.as_tensor(X, dtype=torch.float32, device="cuda")
    model = mc.KernelPCA(2, kernel=GAUSSIAN, method="exact").fit(there)
    for found in (model.transform(there), model.individuals_.cos2):
        assert (found.dtype, found.device) == (torch.float32, there.device)


@pytest.mark.parametrize(
    "model",
    [mc.PCA(2), mc.ClassicalMDS(2, metric="euclidean"), mc.SmoothingSpline()],
    ids=lambda model: type(model).__name__,
)
def test_models_of_the_processor_say_so_and_return_tensors_there(model: Any) -> None:
    x = X[:60, 0] if isinstance(model, mc.SmoothingSpline) else X[:60]
    given = torch.as_tensor(x, dtype=torch.float32, device="cuda")
    with pytest.warns(mc.errors.OnProcessor, match="a copy of . from cuda:0"):
        model.fit(given, torch.sin(given))
    found = (model.predict if isinstance(model, mc.SmoothingSpline) else model.transform)(given)
    assert (found.dtype, found.device) == (torch.float32, given.device)


def test_a_full_device_shrinks_its_tiles() -> None:
    x, v = RNG.standard_normal((20_000, 3)), np.ones((20_000, 2))
    whole = mc.Gram(GAUSSIAN, x, engine=Gpu()).product(v)
    engine = Gpu()
    gram = mc.Gram(GAUSSIAN, x, engine=engine)
    sizes, made = set[int](), engine._tile

    def tile(tiles: Any, block: Any) -> Any:
        sizes.add(block.rows.stop - block.rows.start)
        return made(tiles, block)

    engine._tile = tile  # type: ignore[method-assign]
    with at_most(200):
        found = gram.product(v)
    assert max(sizes) == 4096
    assert 512 <= min(n for n in sizes if n & (n - 1) == 0) <= 2048
    np.testing.assert_allclose(found, whole, rtol=1e-12)


def test_memory_too_small_for_the_points_is_named_and_the_device_goes_on() -> None:
    x = RNG.standard_normal((300_000, 8))
    model = mc.KernelPCA(10, kernel=GAUSSIAN, method="exact", tol=1e-4, engine="gpu")
    for megabytes in (2, 300):  # not even for the points, and not for the landmarks' factor
        with at_most(megabytes), pytest.raises(mc.errors.NotEnoughMemory, match="of the GPU"):
            model.fit(x)
    model.fit(x[:5_000])


LOSS = """
import sys
import numpy as np, torch
import mercer as mc

x = np.random.default_rng(0).standard_normal((2_000, 3))
given = torch.as_tensor(x, device="cuda") if "tensor" in sys.argv else x
model = mc.KernelPCA(3, kernel=mc.Gaussian(2.0), method="exact", random_state=0)
model.set_params(engine="auto" if "tensor" in sys.argv else "gpu").fit(given)
zeros, beyond = torch.zeros(4, device="cuda"), torch.tensor([9], device="cuda")


def lose():
    zeros[beyond]  # which fails on the device, and leaves nothing of it


if "midway" in sys.argv:
    from mercer.engines.fused import Fused
    product = Fused.part
    Fused.part = lambda *given: (lose(), product(*given))[1]
    model.set_params(tol=1e-5)
else:
    lose()
try:
    model.fit(given)
except mc.errors.DeviceLost as error:
    print("named:", error)
    print(len(mc.KernelPCA(2, kernel=mc.Gaussian(2.0), engine="auto").fit(x).eigenvalues_))
"""


@pytest.mark.parametrize("where", ["before", "midway"])
@pytest.mark.parametrize("given", ["numpy", "tensor"])
def test_a_lost_device_is_named_and_the_processor_goes_on(given: str, where: str) -> None:
    """An index beyond its tensor is an assertion of the device, after which its context is dead."""
    found = subprocess.run(
        [sys.executable, "-c", LOSS, given, where], capture_output=True, text=True, timeout=120
    )
    assert found.stdout.startswith("named: the device cuda"), found.stderr[-2000:]
    assert found.stdout.splitlines()[-1] == "2"


def test_tf32_of_the_program_changes_no_digit_and_stays() -> None:
    products = torch.backends.cuda.matmul
    kernel, v = mc.Laplacian(2.0, norm=1) + GAUSSIAN * mc.Linear(), X[:, :3]
    exact = mc.Gram(kernel, X, engine=Gpu()).product(v, single=True)
    before, products.fp32_precision = products.fp32_precision, "tf32"
    try:
        found = mc.Gram(kernel, X, engine=Gpu()).product(v, single=True)
        assert products.fp32_precision == "tf32"
    finally:
        products.fp32_precision = before
    np.testing.assert_array_equal(found, exact)


def test_points_of_the_host_and_of_the_device_are_not_mixed() -> None:
    here, there = torch.as_tensor(X), torch.as_tensor(X, device="cuda")
    model = mc.KernelPCA(2, kernel=GAUSSIAN, method="exact").fit(there)
    with pytest.raises(mc.errors.InvalidInput, match="lie on"):
        model.transform(here)
    with pytest.raises(mc.errors.InvalidInput, match="on cpu and the engine computes on cuda"):
        mc.KernelPCA(2, kernel=GAUSSIAN, engine="gpu").fit(here)
