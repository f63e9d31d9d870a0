r"""Gram matrices on a GPU, by torch: products in one pass, or tile by tile.

Points go to the device once. Products that may be in single precision are those of
`mercer.engines.fused`, with tiles in registers, wherever the kernel is of their form. Other tiles
are one matrix product and the kernel's formula on it, multiplied where they lie, in IEEE single or
double precision as on the CPU. Vectors that lie on the device stay there; others come from the host
and return to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from array_api_compat import array_namespace

from mercer.check import Array, Namespace, chunks
from mercer.data.extras import extra
from mercer.engines.cpu import Threads
from mercer.engines.fused import Fused, has_triton
from mercer.engines.held import Held, to_host
from mercer.engines.tiles import SMALLEST_TILE as FEWEST
from mercer.engines.tiles import Block, Prepared, PreparedTable, Rounding, Side, Tiles
from mercer.errors import InvalidParameter, NotEnoughMemory
from mercer.kernels.pairs import INNER, Scale
from mercer.kernels.statements import gamma
from mercer.progress import Progress

GPU_TILE = 8192
"""Rows of a tile on a GPU: launching work on fewer costs more than the work."""

FUSED_ENOUGH = 1e-5
"""From this ``tol`` on, products of split halves are enough."""

SAMPLES, SAMPLE, COORDINATES = 4, 128, 8
"""Runs of rows, rows of each and columns of points that rounding is first estimated on."""

CHECKED_ROWS = 8192
"""Rows on which the images of axes are computed again: one tile high, a hundredth of a pass."""

POINTS_PER_LANDMARK, MOST_LANDMARKS = 1600, 640
"""Landmarks are cheaper than on a processor, up to what their factor takes of the memory."""

MARGIN = 3.0
"""By how much the rounding of other vectors may exceed that estimate."""

TERMS = 1024
"""Terms of a product that are added in the precision of the tiles."""


def torch_library() -> Any:
    """Return torch, or say which extra brings it."""
    return extra("torch", "gpu", 'engine="gpu"')


class Gpu(Threads):
    """An engine that computes tiles on a GPU, and what is not made of tiles in threads.

    ``device`` is one of torch's, such as ``"cuda"`` or ``"cuda:1"``; ``"cpu"`` runs the same code
    without a GPU, for trying it. ``memory`` and ``progress`` mean what they mean for threads.
    Kernels that are no functions of inner products and distances are computed in threads.
    """

    def __init__(
        self,
        device: str = "cuda",
        *,
        memory: Any = None,
        tile: int = GPU_TILE,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(memory=memory, progress=progress)
        self.torch = torch_library()
        if device.startswith("cuda") and not self.torch.cuda.is_available():
            raise InvalidParameter(
                'engine="gpu" needs a GPU that torch can use, and torch finds none here: leave '
                'engine="auto", which uses the processor, or install torch for your GPU'
            )
        self.device, self.tile, self.terms = device, tile, min(tile, TERMS)
        self._sides: WeakKeyDictionary[Prepared, dict[Any, Any]] = WeakKeyDictionary()
        self._points: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self._products: WeakKeyDictionary[Tiles, Fused | None] = WeakKeyDictionary()
        self.is_fused = device.startswith("cuda") and has_triton()
        if self.is_fused:
            self.single_enough, self.checked_rows = FUSED_ENOUGH, CHECKED_ROWS
            self.single_name = f"images of the axes, measured on {CHECKED_ROWS} rows"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.device, self.memory, self.tile)

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Any:
        if not _is_here(tiles, vectors):
            return super().product(tiles, vectors, progress)
        fused = self._fused(tiles)
        if fused is None:
            return self.product_and_squares(tiles, vectors, None, progress)[0]
        try:
            with self.torch.inference_mode():
                images = fused.product(self._operand(vectors), progress or self.progress)
        except self.torch.OutOfMemoryError:
            self._products[tiles] = None  # tiles one by one take less
            self._release()
            return self.product_and_squares(tiles, vectors, None, progress)[0]
        return self._result(images, vectors)

    def _operand(self, vectors: Any) -> Any:
        """Return vectors as doubles on the device."""
        if isinstance(vectors, Held):
            return vectors.tensor
        double = self.torch.float64
        return self.torch.as_tensor(np.ascontiguousarray(vectors), dtype=double, device=self.device)

    def _result(self, images: Any, vectors: Any) -> Any:
        """Return images where the vectors came from."""
        return Held(images) if isinstance(vectors, Held) else to_host(Held(images))

    def factor(self, tiles: Tiles, root: Array, *, is_held: bool = False) -> Any:
        if not _is_here(tiles, root):
            return super().factor(tiles, root)
        n, m = tiles.shape
        with self._exact_products():
            right = self.torch.as_tensor(root, device=self.device)
            result = right.new_empty((n, right.shape[1]))
            for rows in chunks(n, self.tile):
                tile = self._tile(tiles, Block(rows, slice(0, m)))
                self.torch.matmul(tile.to(right.dtype), right, out=result[rows])
        return Held(result) if is_held else to_host(Held(result))

    @contextmanager
    def session(self) -> Iterator[None]:
        with super().session(), self._exact_products():
            yield

    def rounding(self, tiles: Tiles, largest: float) -> Rounding:
        fused = self._fused(tiles)
        return super().rounding(tiles, largest) if fused is None else fused.rounding

    def usual_rounding(
        self, single: Tiles, double: Tiles, value: float, *, is_centred: bool
    ) -> float:
        """Return what products of split halves are off by on some rows, before axes are known.

        Of the coordinates of the points, which axes are like, of a random vector, and of one of
        ones, whose sums are the longest, where axes can be like that. No interval rests on it: rows
        of large values, and axes unlike all of these, are seen when ``checked_rows`` of the images
        are computed again.
        """
        fused = self._fused(single)
        if fused is None:
            return super().usual_rounding(single, double, value, is_centred=is_centred)
        assert single.prepared is not None
        n, m = single.shape
        torch, points, rng = self.torch, self.points(single.prepared.y), np.random.default_rng(0)
        V = Held(points).normal(COORDINATES + 2, 0).tensor
        coordinates = points[:, :COORDINATES]
        V[:, : coordinates.shape[1]] = coordinates
        V -= V.mean(dim=0)
        V[:, -1] = 0.0 if is_centred else 1.0
        V /= torch.linalg.vector_norm(V, dim=0).clamp(min=1e-300) * m**0.5
        total: Any = 0.0
        with self._exact_products():
            for start in rng.integers(0, max(n - SAMPLE, 0) + 1, SAMPLES).tolist():
                rows = slice(start, min(start + SAMPLE, n))
                exact = sum(
                    self._tile(double, Block(rows, columns)) @ V[columns]
                    for columns in chunks(m, self.tile**2 // SAMPLE)
                )
                gap = fused.part(V, rows) - exact
                total = total + (gap * gap).mean(dim=0)
        return MARGIN * float((total.max() / SAMPLES).sqrt())

    def landmarks(self, n: int) -> int:
        return min(max(super().landmarks(n), n // POINTS_PER_LANDMARK), MOST_LANDMARKS)

    def _fused(self, tiles: Tiles) -> Fused | None:
        """Return the product in registers, None for tiles that are computed one by one."""
        if not self.is_fused:
            return None
        if tiles not in self._products:
            found = Fused.of(self.torch, tiles)
            if found is not None:
                assert tiles.prepared is not None
                x, y = tiles.prepared.x, tiles.prepared.y
                found.prepare(self.points(x), self.points(y), x.centre)
            self._products[tiles] = found
        return self._products[tiles]

    def some_points(self, side: Side, rows: slice) -> Any:
        """Return some points of a side on the device, as doubles."""
        if side.is_held:
            return self.points(side)[rows]
        return self.torch.as_tensor(side.at(rows), device=self.device)

    def points(self, side: Side) -> Any:
        """Return the points of a side in memory on the device, as doubles."""
        points = side.points
        kept = self._points.get(id(points))
        if kept is None or kept[0]() is not points:
            here = self.torch.as_tensor(points, dtype=self.torch.float64, device=self.device)
            kept = weakref.ref(points, partial(self._forget, id(points))), here
            self._points[id(points)] = kept
        return kept[1]

    def _forget(self, key: int, _: Any) -> None:
        self._points.pop(key, None)

    def product_and_squares(
        self, tiles: Tiles, vectors: Array, weights: Array | None, progress: Progress | None = None
    ) -> tuple[Array, float]:
        if not _is_here(tiles, vectors):
            return super().product_and_squares(tiles, vectors, weights, progress)
        size = tiles.size
        while True:
            try:
                with self._exact_products():
                    return self._pass(tiles, vectors, weights, size, progress or self.progress)
            except self.torch.OutOfMemoryError as error:
                self._release()
                if size <= FEWEST:
                    raise NotEnoughMemory(
                        f"the GPU has no room for tiles of {size} rows beside {len(vectors)} "
                        f"points: give fewer points, or engine='auto' for the processor"
                    ) from error
                size //= 2

    def each(self, tiles: Tiles) -> Iterator[tuple[Block, Array]]:
        if not _is_here(tiles, None):
            yield from super().each(tiles)
            return
        blocks = tiles.blocks()
        for done, block in enumerate(blocks, 1):
            with self._exact_products():
                tile = self._tile(tiles, block).cpu().numpy()
            yield block, tile
            if self.progress is not None:
                self.progress(done, len(blocks))

    def _pass(
        self,
        tiles: Tiles,
        vectors: Array,
        weights: Array | None,
        size: int,
        progress: Progress | None,
    ) -> tuple[Array, float]:
        torch, n = self.torch, tiles.shape[0]
        dtype = torch.float32 if tiles.single else torch.float64
        operand = self._operand(vectors).to(dtype)
        total = torch.zeros((n, operand.shape[1]), dtype=torch.float64, device=self.device)
        shares = None if weights is None else torch.as_tensor(weights, device=self.device)
        squares = torch.zeros((), dtype=torch.float64, device=self.device)
        blocks = tiles.blocks(size)
        for done, block in enumerate(blocks, 1):
            tile = self._tile(tiles, block)
            is_used_twice = tiles.is_symmetric and not block.is_diagonal
            self._add_product(total[block.rows], tile, operand[block.columns])
            if is_used_twice:
                self._add_product(total[block.columns], tile.T, operand[block.rows])
            if shares is not None:
                tile *= tile
                term = shares[block.rows] @ tile.to(torch.float64) @ shares[block.columns]
                squares += (2.0 if is_used_twice else 1.0) * term
            if progress is not None:
                progress(done, len(blocks))
        return self._result(total, vectors), float(squares)

    def _add_product(self, total: Any, tile: Any, operand: Any) -> None:
        """Add a product to a total, in sums of a few terms: rounding grows with their number."""
        few = len(operand) if tile.dtype == self.torch.float64 else self.terms
        for terms in chunks(len(operand), few):
            total += tile[:, terms] @ operand[terms]

    def _tile(self, tiles: Tiles, block: Block) -> Any:
        """Return a tile in the memory of the device, which belongs to the caller."""
        assert tiles.prepared is not None
        table = DeviceTable(self, tiles.prepared, block, tiles.is_symmetric)
        values: Any = tiles.kernel.evaluate(table)
        dtype = self.torch.float32 if tiles.single else self.torch.float64
        return self.torch.as_tensor(values, dtype=dtype, device=self.device)

    def side(self, prepared: Prepared, rows: slice, statistic: Any, *, is_right: bool) -> Any:
        """Return what rows of prepared points contribute, on the device; those in memory stay."""
        side = prepared.y if is_right else prepared.x
        if not side.is_held:
            return self.torch.as_tensor(side.part(rows, statistic), device=self.device)
        kept = self._sides.setdefault(prepared, {})
        key = is_right, statistic
        if key not in kept:
            kept[key] = self._made(side, statistic)
        return kept[key][rows]

    def _made(self, side: Side, statistic: Any) -> Any:
        """Return what `Side` makes of points, made on the device."""
        dtype = self.torch.float32 if side.dtype == np.float32 else self.torch.float64
        points = self.points(side)
        if statistic == INNER:
            return points.to(dtype)
        place = {"dtype": self.torch.float64, "device": self.device}
        centre, lengths = (self.torch.as_tensor(v, **place) for v in (side.centre, statistic))
        a = (points - centre) / lengths
        norms = (a * a).sum(dim=1, keepdim=True)
        one = self.torch.ones_like(norms)
        sides = (-2.0 * a, one, norms) if side.is_right else (a, norms, one)
        return self.torch.cat(sides, dim=1).to(dtype)

    @contextmanager
    def _exact_products(self) -> Iterator[None]:
        """Keep matrix products in IEEE single precision, whatever the program has asked for."""
        with _ieee_products(self.torch), self.torch.inference_mode():
            yield

    def _release(self) -> None:
        if self.device.startswith("cuda"):
            self.torch.cuda.empty_cache()


class _Exact:
    """How many computations want IEEE products, in all threads, and what torch had before them."""

    lock = Lock()
    count = 0
    before: Any = None


@contextmanager
def _ieee_products(torch: Any) -> Iterator[None]:
    """Keep torch from TF32 until the last of those that asked for it has ended."""
    products = torch.backends.cuda.matmul
    setting = "fp32_precision" if hasattr(products, "fp32_precision") else "allow_tf32"
    with _Exact.lock:
        if _Exact.count == 0:
            _Exact.before = getattr(products, setting)
            setattr(products, setting, "ieee" if setting == "fp32_precision" else False)
        _Exact.count += 1
    try:
        yield
    finally:
        with _Exact.lock:
            _Exact.count -= 1
            if _Exact.count == 0:
                setattr(products, setting, _Exact.before)


def _made(device: str, memory: int | None, tile: int) -> Gpu:
    return Gpu(device, memory=memory, tile=tile)


def _is_here(tiles: Tiles, vectors: Array | None) -> bool:
    """Return whether a GPU computes such tiles: of fast expressions, on real vectors."""
    is_real = vectors is None or not np.iscomplexobj(vectors)
    return tiles.prepared is not None and is_real and not tiles.kernel.is_costly


class DeviceTable(PreparedTable):
    """All pairs of a block, from prepared points on a device; results belong to the caller."""

    def __init__(self, engine: Gpu, prepared: Prepared, block: Block, is_symmetric: bool) -> None:
        super().__init__(prepared, block, is_symmetric)
        self.engine = engine

    @cached_property
    def vectors(self) -> tuple[Any, Any]:
        some, (rows, columns) = self.engine.some_points, self.block
        return some(self.prepared.x, rows), some(self.prepared.y, columns)

    @cached_property
    def xp(self) -> Namespace:
        found: Namespace = array_namespace(self.engine.torch.empty(0))
        return found

    def _sides(self, key: Any) -> tuple[Any, Any]:
        side, block = self.engine.side, self.block
        return (
            side(self.prepared, block.rows, key, is_right=False),
            side(self.prepared, block.columns, key, is_right=True),
        )

    def _product(self, key: Any) -> Any:
        left, right = self._sides(key)
        return left @ right.T

    def inner(self) -> Any:
        return self._once(INNER, lambda: self._product(INNER))

    def squared_distance(self, scale: Scale = 1.0) -> Any:
        if scale not in self.prepared.uses:  # a formula that did not say so
            return super().squared_distance(scale)
        s = self._product(scale)
        if self.prepared.is_clipped:
            s.clamp_(min=0.0)
        if self.same:
            s.fill_diagonal_(0.0)
        if self.prepared.arithmetic.is_recomputed:
            self._recompute_small(s, scale)
        return s

    def distance(self, norm: float, scale: Scale = 1.0) -> Any:
        if norm != 2.0 or scale not in self.prepared.uses:
            return super().distance(norm, scale)
        return self.squared_distance(scale).sqrt_()

    def _recompute_small(self, s: Any, scale: Scale) -> None:
        left, right = self._sides(scale)
        unit = float(np.finfo(self.dtype).eps) / 2
        doubt = 2.0 * gamma(left.shape[1] + 6, unit) / self.prepared.arithmetic.accuracy
        x, y = self.vectors
        lengths = self.engine.torch.as_tensor(np.asarray(scale, float), device=x.device)
        for rows in chunks(s.shape[0], FEWEST):
            part = s[rows]
            i, j = (part < doubt * (left[rows, -2:-1] + right[:, -1])).nonzero(as_tuple=True)
            gap = (x[rows][i] - y[j]) / lengths
            part[i, j] = (gap * gap).sum(dim=1).to(s.dtype)
