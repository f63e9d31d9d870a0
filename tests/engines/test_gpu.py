"""The engine of GPUs, run by torch on the processor: the same code, on another device."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import mercer as mc
from mercer.engines.cpu import Threads
from mercer.engines.gpu import TERMS, Gpu
from mercer.engines.held import Held, to_host
from mercer.engines.limits import Limits
from mercer.engines.tiles import Block, Tiles
from mercer.solve.system import solve

torch = pytest.importorskip("torch")

N = 700
RNG = np.random.default_rng(0)
X, V = 1.0 + RNG.standard_normal((N, 4)), RNG.standard_normal((N, 3))
KERNELS = {
    "gaussian": mc.Gaussian(1.5),
    "a bandwidth each": mc.Gaussian((1.0, 2.0, 0.5, 3.0)),
    "small bandwidth": mc.Gaussian(1e-3),
    "matern 1/2": mc.Matern(0.5, 2.0),
    "matern 3/2": mc.Matern(1.5, 2.0),
    "matern 5/2": mc.Matern(2.5, 2.0),
    "laplacian": mc.Laplacian(2.0, norm=2),
    "rational quadratic": mc.kernels.RationalQuadratic(1.0, 1.0),
    "polynomial": mc.Polynomial(3, 1.0, 0.2),
    "negative distance": mc.kernels.NegativeDistance(1.0),
    "sigmoid": mc.kernels.Sigmoid(),
    "sum and product": mc.Gaussian(1.0) * mc.Linear() + 0.5 * mc.Matern(0.5, 2.0),
    "not of products": mc.kernels.Periodic(1.0, 1.0),
    "of coordinates": mc.Laplacian(2.0, norm=1),
    "of other values": mc.Polynomial(2, 1.0, 0.2).normalised().gaussian(0.5) + mc.Gaussian(1.0),
}


def refuse(*_: Any, **__: Any) -> Any:
    raise TypeError("an array was copied to the host")


@pytest.fixture
def engine() -> Gpu:
    return Gpu("cpu", tile=Limits.smallest_tile)


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("name", KERNELS)
def test_products_are_those_of_the_processor(name: str, single: bool, engine: Gpu) -> None:
    for y in (None, X[:600]):
        vectors = V if y is None else V[:600]
        exact = mc.Gram(KERNELS[name], X, y, engine=Threads(1)).product(vectors)
        gram = mc.Gram(KERNELS[name], X, y, engine=engine)
        found = gram.product(vectors, single=single)
        if gram.cut().prepared is not None:
            bound = gram.entry_rounding(single=single).product + gram.entry_rounding().product
            assert np.all(np.abs(found - exact) <= bound * np.abs(vectors).sum(axis=0))
        size = np.abs(exact).max()
        np.testing.assert_allclose(found, exact, rtol=0, atol=size * (1e-5 if single else 1e-11))


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Matern(1.7, 2.0),
        mc.kernels.Delta(),
        mc.FromFunction(lambda a, b: float(a @ b)),
        mc.kernels.FeatureMap(lambda x: np.column_stack([np.sin(x[:, 0]), x[:, 1]])),
    ],
    ids=["Bessel functions", "labels", "pairs", "features"],
)
def test_what_needs_more_than_arrays_is_computed_by_the_processor_which_is_said(
    kernel: mc.Kernel, engine: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    x, v = X[:50], V[:50]
    with pytest.warns(mc.errors.OnProcessor, match="the processor computes the kernel"):
        found = mc.Gram(kernel, x, engine=engine).product(v)
    np.testing.assert_allclose(found, kernel(x) @ v, rtol=1e-12)


def test_squares_and_tiles_are_those_of_the_processor(engine: Gpu) -> None:
    weights = RNG.dirichlet(np.ones(N))
    ours, theirs = (
        mc.Gram(mc.Gaussian(1.0), X, engine=e).product_and_squares(V, weights)
        for e in (engine, Threads(1))
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12, atol=1e-13)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-12)
    K = mc.Gram(mc.Gaussian(1.0), X, engine=engine).dense()
    np.testing.assert_allclose(K, mc.Gaussian(1.0)(X), rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", ["exact", "dense", "nystrom"])
def test_axes_and_their_proofs_are_those_of_the_processor(method: str, engine: Gpu) -> None:
    kernel, x = mc.Gaussian(5.0), X * [4.0, 2.0, 1.0, 0.5]  # axes that differ
    ours, theirs = (
        mc.KernelPCA(3, kernel=kernel, method=method, engine=e, random_state=0).fit(x)
        for e in (engine, "auto")
    )
    allowed = np.asarray(ours.spectrum_.errors) + np.asarray(theirs.spectrum_.errors)
    if method != "nystrom":
        truth = np.linalg.eigvalsh(_centred(kernel(x)))[::-1][:3]
        assert np.all(np.abs(ours.spectrum_.values - truth) <= ours.spectrum_.errors)
    assert np.all(np.abs(ours.spectrum_.values - theirs.spectrum_.values) <= allowed + 1e-15)
    np.testing.assert_allclose(ours.transform(x[:9]), theirs.transform(x[:9]), rtol=0, atol=1e-7)
    again = pickle.loads(pickle.dumps(clone(ours)))
    assert again.engine.device == "cpu"


def _centred(K: Any) -> Any:
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H / len(K)


@pytest.mark.parametrize(
    "name", ["gaussian", "a bandwidth each", "matern 3/2", "polynomial", "sigmoid"]
)
def test_a_tile_is_made_where_the_points_are(name: str, engine: Gpu) -> None:
    """A tensor of the device "meta" has no values: whoever copied one to the host would fail."""
    engine.device = "meta"
    tiles = Tiles(KERNELS[name], X[:20])
    for block in (Block(slice(0, 9), slice(0, 9)), Block(slice(0, 9), slice(9, 20))):
        tile = engine._tile(tiles, block)
        assert tile.device.type == "meta"
        assert tile.shape == (9, block.columns.stop - block.columns.start)


def short_of_memory(engine: Gpu, rows: int, asked: list[int]) -> Callable[..., Any]:
    made = engine._tile

    def tile(tiles: Tiles, block: Block) -> Any:
        asked.append(block.rows.stop - block.rows.start)
        if asked[-1] > rows:
            raise torch.OutOfMemoryError("out of memory")
        return made(tiles, block)

    return tile


def test_a_full_device_gets_smaller_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, asked = Gpu("cpu", tile=8 * Limits.smallest_tile), list[int]()  # half of it for doubles
    x = RNG.standard_normal((3_000, 2))
    vectors = np.ones((3_000, 1))
    exact = mc.Gram(mc.Gaussian(1.0), x, engine=Threads(1)).product(vectors)
    monkeypatch.setattr(engine, "_tile", short_of_memory(engine, 600, asked))
    found = mc.Gram(mc.Gaussian(1.0), x, engine=engine).product(vectors)
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert asked[:3] == [2048, 1024, 512]
    monkeypatch.setattr(engine, "_tile", short_of_memory(engine, 100, asked))
    with pytest.raises(mc.errors.NotEnoughMemory, match="too small for tiles of 512 rows"):
        mc.Gram(mc.Gaussian(1.0), x, engine=engine).product(vectors)


def test_products_stay_in_single_precision_whatever_the_program_asked_for(
    engine: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, seen = engine._tile, list[str]()

    def tile(tiles: Tiles, block: Block) -> Any:
        seen.append(torch.backends.cuda.matmul.fp32_precision)
        return made(tiles, block)

    monkeypatch.setattr(engine, "_tile", tile)
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        mc.Gram(mc.Gaussian(1.0), X, engine=engine).product(V, single=True)
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
    assert set(seen) == {"ieee"}


def test_overlapping_computations_leave_the_setting_of_the_program(engine: Gpu) -> None:
    products = torch.backends.cuda.matmul
    before, products.fp32_precision = products.fp32_precision, "tf32"
    try:
        first, second = engine._exact_products(), engine._exact_products()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert products.fp32_precision == "ieee"
        second.__exit__(None, None, None)
        assert products.fp32_precision == "tf32"
    finally:
        products.fp32_precision = before


def test_long_sums_are_cut(engine: Gpu) -> None:
    """In one sum of n terms the error of single precision would grow with n."""
    wide = Gpu("cpu", tile=8192)
    gram = mc.Gram(mc.Gaussian(1.0), X, engine=wide)
    assert gram.cut(single=True).terms == TERMS
    assert mc.Gram(mc.Gaussian(1.0), X, engine=engine).cut().terms == Limits.smallest_tile


def test_without_a_gpu_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(mc.errors.InvalidParameter, match=r"torch finds none here: leave\s+engine"):
        mc.KernelPCA(2, engine="gpu").fit(X)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(mc.errors.MissingExtra, match=r'pip install "mercer\[gpu\]" brings it'):
        mc.KernelPCA(2, engine="gpu").fit(X)
    with pytest.raises(mc.errors.InvalidParameter, match="'auto', 'gpu', 'dask', .* or an engine"):
        mc.KernelPCA(2, engine="tpu").fit(X)


def test_progress_counts_tiles() -> None:
    told = list[tuple[int, int]]()
    engine = Gpu(
        "cpu", tile=Limits.smallest_tile, progress=lambda done, total: told.append((done, total))
    )
    mc.Gram(mc.Gaussian(1.0), X, engine=engine).product(V)
    assert told == [(1, 3), (2, 3), (3, 3)]


LOST = "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be ..."


def losing(*_: Any, **__: Any) -> Any:
    raise RuntimeError(LOST)


def without_room(*_: Any, **__: Any) -> Any:
    raise torch.OutOfMemoryError("out of memory")


def test_a_lost_device_is_named_in_the_middle_of_products(
    engine: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    gram = mc.Gram(mc.Gaussian(1.0), X, engine=engine)
    monkeypatch.setattr(engine, "_tile", losing)
    with pytest.raises(
        mc.errors.DeviceLost, match=r"cpu was lost .*illegal memory access.*Restart"
    ):
        gram.product(V)


@pytest.mark.parametrize("place", ["row_squares", "centres", "adjoint_times"])
def test_a_device_lost_in_the_small_algebra_is_named(
    place: str, engine: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Held, place, losing)
    model = mc.KernelPCA(3, kernel=mc.Gaussian(2.0), method="exact", engine=engine)
    with pytest.raises(mc.errors.DeviceLost, match="checkpoint="):
        model.fit(X)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (LOST, mc.errors.DeviceLost),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling", mc.errors.NotEnoughMemory),
        ("CUDA error: out of memory\nCUDA kernel errors ...", mc.errors.NotEnoughMemory),
    ],
    ids=["lost", "a library without workspace", "full"],
)
@pytest.mark.parametrize("place", ["first_not_finite", "firsts_of_largest"])
def test_faults_are_named_where_tensors_are_read(
    place: str, message: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the iteration and after it: where a tensor is examined, and where signs are chosen."""

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError(message)

    monkeypatch.setattr(Held, place, failing)
    model = mc.KernelPCA(2, kernel=mc.Gaussian("scale"), method="exact", random_state=0)
    with pytest.raises(kind, match="of the GPU|the device cpu was lost"):
        model.fit(torch.as_tensor(X))


def test_a_device_lost_before_a_fit_is_not_one_without_double_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch, "zeros", losing)
    with pytest.raises(mc.errors.DeviceLost, match="illegal memory access"):
        Gpu("cpu")


def test_points_that_do_not_fit_are_named(engine: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_some", without_room)
    with pytest.raises(mc.errors.NotEnoughMemory, match="fewer points"):
        mc.KernelPCA(2, kernel=mc.Gaussian(2.0), method="exact", engine=engine).fit(X)


def test_other_errors_keep_their_name(engine: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(engine, "_tile", wrong)
    with pytest.raises(RuntimeError, match="shapes") as found:
        mc.Gram(mc.Gaussian(1.0), X, engine=engine).product(V)
    assert not isinstance(found.value, mc.errors.MercerError)


def test_memory_that_is_short_beside_tiles_is_named(
    engine: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Held, "adjoint_times", without_room)
    model = mc.KernelPCA(3, kernel=mc.Gaussian(2.0), method="exact", engine=engine)
    with pytest.raises(mc.errors.NotEnoughMemory, match="fewer axes"):
        model.fit(X)


def test_a_factor_is_filled_in_smaller_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, asked = Gpu("cpu", tile=4 * Limits.smallest_tile), list[int]()
    x = RNG.standard_normal((3_000, 2))
    tiles = mc.Gram(mc.Gaussian(1.0), x, x[:9], engine=engine).cut()
    whole = engine.factor(tiles, np.eye(9))
    monkeypatch.setattr(engine, "_tile", short_of_memory(engine, 600, asked))
    np.testing.assert_allclose(engine.factor(tiles, np.eye(9)), whole, rtol=1e-13)
    assert asked[:3] == [2048, 1024, 512]


def test_a_device_without_double_precision_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(*_: Any, **__: Any) -> Any:
        raise TypeError("Cannot convert a MPS Tensor to float64 dtype")

    monkeypatch.setattr(torch, "zeros", zeros)
    with pytest.raises(mc.errors.InvalidParameter, match="'mps' cannot be used, .*double prec"):
        Gpu("mps")


def test_points_on_two_devices_are_refused(engine: Gpu) -> None:
    here, there = Held(torch.zeros(4, 2)), Held(torch.zeros(4, 2, device="meta"))
    with pytest.raises(mc.errors.InvalidInput, match="lie on cpu and meta"):
        mc.Gram(mc.Gaussian(1.0), here, there)
    with pytest.raises(mc.errors.InvalidInput, match="on meta and the engine computes on cpu"):
        mc.Gram(mc.Gaussian(1.0), there, engine=engine)
    assert mc.Gram(mc.Gaussian(1.0), here, engine=engine).engine is engine
    assert Gpu.is_on(SimpleNamespace(device="cuda"), "cuda:0")  # type: ignore[arg-type]


def test_several_blocks_are_multiplied_by_the_same_tiles(
    engine: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiles = mc.Gram(mc.Gaussian(1.5), X, engine=engine).cut()
    made, asked = engine._tile, list[Block]()
    one, other = engine.product(tiles, V), engine.product(tiles, V[:, :1])

    def tile(tiles: Tiles, block: Block) -> Any:
        asked.append(block)
        return made(tiles, block)

    monkeypatch.setattr(engine, "_tile", tile)
    blocks: list[Any] = [V, Held(torch.as_tensor(V[:, :1]))]
    found = engine.products(tiles, blocks)
    np.testing.assert_allclose(found[0], one, rtol=0, atol=1e-12)
    np.testing.assert_allclose(to_host(found[1]), other, rtol=0, atol=1e-12)
    assert len(asked) == len(tiles.blocks(engine._size(tiles)))
    for block, image in zip(Threads(1).products(tiles, [V, V[:, :1]]), (one, other), strict=True):
        np.testing.assert_allclose(block, image, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", [1e-2, 1e-5])
def test_systems_are_solved_by_quick_steps_and_exact_residuals(
    shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where single precision is quick, steps are made of it; where it does not help, they end."""
    engine = Gpu("cpu")
    engine.single_gain = 10.0
    gram, y = mc.Gram(mc.Gaussian(2.0), X, engine=engine), np.sin(X[:, 0])
    made, passes = engine.product, list[bool]()

    def product(tiles: Tiles, vectors: Any, progress: Any = None) -> Any:
        passes.append(tiles.single)
        return made(tiles, vectors, progress)

    monkeypatch.setattr(engine, "product", product)
    exact = np.linalg.solve(mc.Gaussian(2.0)(X) + shift * np.eye(N), y)
    solution = solve(gram, y, shift, tol=1e-8, method="iterative", random_state=0)
    residual = mc.Gaussian(2.0)(X) @ solution.weights + shift * solution.weights - y
    assert np.linalg.norm(residual) <= 1.1e-8 * np.linalg.norm(y)
    if shift == 1e-2:
        np.testing.assert_allclose(solution.weights, exact, rtol=0, atol=1e-6 * np.abs(exact).max())
        assert passes.count(True) > 2
        assert passes.count(False) <= 5


def test_landmarks_are_as_many_as_pay_and_fit(engine: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [engine.landmarks(n) for n in (10**5, 3 * 10**5, 10**6)] == [300, 400, 600]
    assert engine.landmarks(10**7) == 60
    monkeypatch.setattr(engine, "device", "cuda")
    for gib, count in ((139, 600), (16, 107), (1, 60)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, gib=gib: (gib * 2**30, 2**40))
        assert engine.landmarks(10**7) == count
