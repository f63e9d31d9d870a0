r"""Gram matrices on a GPU, by torch: products in one pass, or tile by tile.

Points go to the device once. Products that may be in single precision are those of
`mercer.engines.fused`, with tiles in registers, wherever the kernel is of their form. Other tiles
are one matrix product and the kernel's formula on it, or the formula of any kernel that computes
with arrays on the points themselves, multiplied where they lie, in IEEE single or double precision
as on the CPU. Vectors that lie on the device stay there; others come from the host and return to
it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from mercer.check import Array, Points, chunks
from mercer.display import warn
from mercer.engines.cpu import Threads
from mercer.engines.device import (
    TRIED_ON,
    DeviceTable,
    PointsThere,
    computes_there,
    faults_named,
    ieee_products,
    tell_device_loss,
    torch_library,
)
from mercer.engines.fused import Fused, has_triton
from mercer.engines.held import Held, to_host, writable
from mercer.engines.limits import Limits
from mercer.engines.tiles import Block, Prepared, Rounding, Side, Tiles
from mercer.errors import DeviceLost, InvalidParameter, NotEnoughMemory, OnProcessor
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import INNER, AllPairs
from mercer.points import lies_on_disk
from mercer.progress import Progress

T = TypeVar("T")

FUSED_ENOUGH = 1e-5
"""From this ``tol`` on, products of split halves are enough."""

FUSED_GAIN = 10.0
"""At the least so many times as fast are they as tiles in double precision (14 on an H200)."""

SAMPLES, SAMPLE, COORDINATES = 4, 128, 8
"""Runs of rows, rows of each and columns of points that rounding is first estimated on."""

CHECKED_ROWS = 8192
"""Rows on which the images of axes are computed again: one tile high, a hundredth of a pass."""

POINTS_PER_LANDMARK, FEWEST_LANDMARKS, MOST_LANDMARKS = 750, 300, 600
"""Passes over few points cost less than landmarks that save one; of a million more do not fit in
4 GiB with all the rest."""

FACTOR, FREE_SHARE = 600 * 10**6, 4
"""Numbers that their factor may have, or the share of free memory that it may take, if larger."""

KEPT_SIDE = 2**23
"""Numbers that prepared points may have to be kept; of more, those of a tile are made for it."""

MARGIN = 3.0
"""By how much the rounding of other vectors may exceed that estimate."""

TERMS = 1024
"""Terms of a product that are added in the precision of the tiles."""


class Gpu(Threads):
    """An engine that computes tiles on a GPU, and what is not made of tiles in threads.

    ``device`` is one of torch's, such as ``"cuda"`` or ``"cuda:1"``; ``"cpu"`` runs the same code
    without a GPU, for trying it. ``memory`` and ``progress`` mean what they mean for threads.
    Kernels whose formula needs more than arrays (sets, strings, Python's functions) are computed in
    threads, with a warning.
    """

    def __init__(
        self,
        device: str = "cuda",
        *,
        memory: Any = None,
        tile: int = Limits.gpu_tile,
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
        self._refuse_no_doubles()
        self._told: set[Kernel] = set()
        self._tried: dict[tuple[Kernel, int], bool] = {}
        self._sides: WeakKeyDictionary[Side, dict[Any, Any]] = WeakKeyDictionary()
        self._points: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self._products: WeakKeyDictionary[Tiles, Fused | None] = WeakKeyDictionary()
        self.is_fused = device.startswith("cuda") and has_triton()
        if self.is_fused:
            self.single_enough, self.checked_rows = FUSED_ENOUGH, CHECKED_ROWS
            self.single_name = f"images of the axes, measured on {CHECKED_ROWS} rows"
            self.single_gain = FUSED_GAIN

    def _refuse_no_doubles(self) -> None:
        """Refuse a device without double precision, in which results are proved."""
        try:
            with faults_named(self.device):
                self.torch.zeros(1, dtype=self.torch.float64, device=self.device)
        except (DeviceLost, NotEnoughMemory):
            raise
        except (RuntimeError, TypeError) as error:
            raise InvalidParameter(
                f"the device {self.device!r} cannot be used, because it does not support double "
                f"precision ({str(error).splitlines()[0]}): leave engine='auto', which uses the "
                "processor"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.device, self.memory, self.tile)

    def product(self, tiles: Tiles, vectors: Array, progress: Progress | None = None) -> Any:
        if not self._computes(tiles, vectors):
            return super().product(tiles, vectors, progress)
        fused = self._fused(tiles)
        if fused is None:
            return self.product_and_squares(tiles, vectors, None, progress)[0]
        try:
            with tell_device_loss(self.device), self.torch.inference_mode():
                images = fused.product(self._operand(vectors), progress or self.progress)
        except self.torch.OutOfMemoryError:
            self._products[tiles] = None  # tiles one by one take less
            self._release()
            return self.product_and_squares(tiles, vectors, None, progress)[0]
        return self._result(images, vectors)

    def _operand(self, vectors: Any) -> Any:
        """Return vectors as doubles on the device."""
        return vectors.tensor if isinstance(vectors, Held) else self._some(vectors)

    def _result(self, images: Any, vectors: Any) -> Any:
        """Return images where the vectors came from."""
        return Held(images) if isinstance(vectors, Held) else to_host(Held(images))

    def factor(
        self,
        tiles: Tiles,
        root: Array,
        *,
        is_held: bool = False,
        place: Callable[..., Array] = np.empty,
    ) -> Any:
        if not self._computes(tiles, root):
            return super().factor(tiles, root, place=place)
        n, m = tiles.shape

        def fill(size: int) -> Any:
            right = self.torch.as_tensor(root, device=self.device)
            result = right.new_empty((n, right.shape[1]))
            for rows in chunks(n, size):
                tile = self._tile(tiles, Block(rows, slice(0, m)))
                self.torch.matmul(tile.to(right.dtype), right, out=result[rows])
            return result

        result = Held(self._in_room(fill, self.tile, n))
        return result if is_held else to_host(result)

    @contextmanager
    def session(self) -> Iterator[None]:
        try:
            with faults_named(self.device), super().session(), self._exact_products():
                yield
        except NotEnoughMemory:
            self._release()
            raise

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
            split = fused.split(V)
            for start in rng.integers(0, max(n - SAMPLE, 0) + 1, SAMPLES).tolist():
                rows = slice(start, min(start + SAMPLE, n))
                exact = sum(
                    self._tile(double, Block(rows, columns)) @ V[columns]
                    for columns in chunks(m, self.tile**2 // SAMPLE)
                )
                gap = fused.part(split, rows) - exact
                total = total + (gap * gap).mean(dim=0)
        return MARGIN * float((total.max() / SAMPLES).sqrt())

    def landmarks(self, n: int) -> int:
        usual = min(max(n // POINTS_PER_LANDMARK, FEWEST_LANDMARKS), MOST_LANDMARKS)
        room = FACTOR
        if n * usual > room and self.device.startswith("cuda"):
            free, _ = self.torch.cuda.mem_get_info(self.device)
            room = max(room, free // (4 * FREE_SHARE))  # bytes of single precision
        return min(usual, max(room // max(n, 1), 1))

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

    def is_on(self, device: str) -> bool:
        """Whether this is the engine of a device, whose number may be left out."""
        whole = device if ":" in device or device == "cpu" else f"{device}:0"
        mine = self.device if ":" in self.device or self.device == "cpu" else f"{self.device}:0"
        return whole == mine

    def place(self, kernel: Kernel, points: Points) -> Points:
        """Return points on the device, where they are rows of numbers that it computes with."""
        is_ours = isinstance(points, np.ndarray) and _are_rows(points) and not kernel.is_costly
        if not is_ours or not (
            kernel.asks(1) is not None or self._computes_formula(kernel, points)
        ):
            return points
        with faults_named(self.device):
            return Held(self._copy(points))

    def _computes_formula(self, kernel: Kernel, points: Points) -> bool:
        """Whether the device evaluates a kernel on rows as they are, which is tried once."""
        if not _are_rows(points):
            return False
        key = kernel, points.shape[1]
        if key not in self._tried:
            few = points if isinstance(points, Held) else Held(self._some(points[:TRIED_ON]))
            self._tried[key] = computes_there(kernel, few)
        return self._tried[key]

    def _some(self, points: Any) -> Any:
        """Return rows of the host on the device, as doubles."""
        double = self.torch.float64
        return self.torch.as_tensor(writable(points), dtype=double, device=self.device)

    def points(self, side: Side) -> Any:
        """Return the points of a side in memory on the device, as doubles."""
        points = side.points
        if isinstance(points, Held):
            return points.tensor
        return self._copy(points)

    def _copy(self, points: Any) -> Any:
        """Return the copy of an array on the device, made once."""
        kept = self._points.get(id(points))
        if kept is None or kept[0]() is not points:
            kept = weakref.ref(points, partial(self._forget, id(points))), self._some(points)
            self._points[id(points)] = kept
        return kept[1]

    def _forget(self, key: int, _: Any) -> None:
        self._points.pop(key, None)

    def product_and_squares(
        self, tiles: Tiles, vectors: Array, weights: Array | None, progress: Progress | None = None
    ) -> tuple[Array, float]:
        if not self._computes(tiles, vectors):
            return super().product_and_squares(tiles, vectors, weights, progress)
        tell = progress or self.progress

        def make(size: int) -> tuple[Array, float]:
            images, squares = self._pass(tiles, [vectors], weights, size, tell)
            return self._result(images, vectors), squares

        return self._in_room(make, self._size(tiles), len(vectors))

    def products(self, tiles: Tiles, blocks: Sequence[Array]) -> list[Array]:
        if not all(self._computes(tiles, vectors) for vectors in blocks):
            return super().products(tiles, blocks)

        def make(size: int) -> list[Array]:
            images, _ = self._pass(tiles, blocks, None, size, self.progress)
            parts = images.split([vectors.shape[1] for vectors in blocks], dim=1)
            return [self._result(part, of) for part, of in zip(parts, blocks, strict=True)]

        return self._in_room(make, self._size(tiles), tiles.shape[1])

    def _size(self, tiles: Tiles) -> int:
        """Return the side of a tile, which has as many bytes in either precision.

        Formulas on points as they are compute with doubles.
        """
        is_single = tiles.single and tiles.prepared is not None
        return tiles.size if is_single else max(tiles.size // 2, Limits.smallest_tile)

    def _in_room(self, work: Callable[[int], T], size: int, n: int) -> T:
        """Return what work makes of tiles of so many rows, of fewer where memory is short."""
        while True:
            try:
                with self._exact_products():
                    return work(size)
            except self.torch.OutOfMemoryError as error:
                self._release()
                if size <= Limits.smallest_tile:
                    raise NotEnoughMemory(
                        f"the memory of the GPU is too small for tiles of {size} rows beside {n} "
                        "points: give fewer points, or engine='auto' for the processor"
                    ) from error
                size //= 2

    def each(self, tiles: Tiles) -> Iterator[tuple[Block, Array]]:
        if not self._computes(tiles, None):
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
        vectors: Sequence[Array],
        weights: Array | None,
        size: int,
        progress: Progress | None,
    ) -> tuple[Any, float]:
        """Return K V on the device for blocks of vectors side by side, and the sum of squares."""
        torch, n = self.torch, tiles.shape[0]
        dtype = torch.float32 if tiles.single else torch.float64
        operands = [self._operand(block).to(dtype) for block in vectors]
        width = sum(operand.shape[1] for operand in operands)
        total = torch.zeros((n, width), dtype=torch.float64, device=self.device)
        shares = None if weights is None else torch.as_tensor(weights, device=self.device)
        squares = torch.zeros((), dtype=torch.float64, device=self.device)
        blocks = tiles.blocks(size) if tiles.is_symmetric else _wide_blocks(tiles.shape, size)
        for done, block in enumerate(blocks, 1):
            tile = self._tile(tiles, block)
            is_used_twice = tiles.is_symmetric and not block.is_diagonal
            right = torch.cat([operand[block.columns] for operand in operands], dim=1)
            self._add_product(total[block.rows], tile, right)
            if is_used_twice:
                left = torch.cat([operand[block.rows] for operand in operands], dim=1)
                self._add_product(total[block.columns], tile.T, left)
            if shares is not None:
                tile *= tile
                term = shares[block.rows] @ tile.to(torch.float64) @ shares[block.columns]
                squares += (2.0 if is_used_twice else 1.0) * term
            if progress is not None:
                progress(done, len(blocks))
        return total, float(squares)

    def _add_product(self, total: Any, tile: Any, operand: Any) -> None:
        """Add a product to a total, in sums of a few terms: rounding grows with their number."""
        few = len(operand) if tile.dtype == self.torch.float64 else self.terms
        for terms in chunks(len(operand), few):
            total += tile[:, terms] @ operand[terms]

    def _tile(self, tiles: Tiles, block: Block) -> Any:
        """Return a tile in the memory of the device, which belongs to the caller."""
        if tiles.prepared is None:
            table: AllPairs = self._points_there(tiles, block)
        else:
            table = DeviceTable(self, tiles.prepared, block, tiles.is_symmetric)
        values: Any = tiles.kernel.evaluate(table)
        dtype = self.torch.float32 if tiles.single else self.torch.float64
        return self.torch.as_tensor(values, dtype=dtype, device=self.device)

    def _points_there(self, tiles: Tiles, block: Block) -> PointsThere:
        """Return all pairs of a block as rows on the device, for a formula that computes there."""
        x, y = (
            points.tensor if isinstance(points, Held) else self._copy(points)
            for points in tiles.there
        )
        is_one = tiles.is_symmetric and block.is_diagonal
        left = x[block.rows].to(self.torch.float64)
        return PointsThere(left, None if is_one else y[block.columns].to(self.torch.float64))

    def side(self, prepared: Prepared, rows: slice, statistic: Any, *, is_right: bool) -> Any:
        """Return what rows of prepared points contribute, on the device; those in memory stay."""
        side = prepared.y if is_right else prepared.x
        if not side.is_held:
            return self.torch.as_tensor(side.part(rows, statistic), device=self.device)
        if self.points(side).numel() > KEPT_SIDE:
            return self._made(side, statistic, rows)
        kept = self._sides.setdefault(side, {})
        if statistic not in kept:
            kept[statistic] = self._made(side, statistic, slice(None))
        return kept[statistic][rows]

    def _made(self, side: Side, statistic: Any, rows: slice) -> Any:
        """Return what `Side` makes of points, made on the device."""
        dtype = self.torch.float32 if side.dtype == np.float32 else self.torch.float64
        points = self.points(side)[rows]
        if statistic == INNER:
            return points.to(dtype)
        centre, lengths = self._units(side, statistic)
        a = (points - centre) / lengths
        norms = (a * a).sum(dim=1, keepdim=True)
        one = self.torch.ones_like(norms)
        sides = (-2.0 * a, one, norms) if side.is_right else (a, norms, one)
        return self.torch.cat(sides, dim=1).to(dtype)

    def _units(self, side: Side, statistic: Any) -> tuple[Any, Any]:
        """Return where points are seen from and in which lengths, on the device."""
        kept = self._sides.setdefault(side, {})
        key = "units", statistic
        if key not in kept:
            place = {"dtype": self.torch.float64, "device": self.device}
            kept[key] = tuple(self.torch.as_tensor(v, **place) for v in (side.centre, statistic))
        centre, lengths = kept[key]
        return centre, lengths

    def _computes(self, tiles: Tiles, vectors: Array | None) -> bool:
        """Return whether the GPU computes such tiles; what the processor does is said once."""
        if self._is_here(tiles, vectors):
            return True
        if tiles.kernel not in self._told:
            self._told.add(tiles.kernel)
            warn(
                f"the processor computes the kernel {tiles.kernel} on these points, or its product "
                "with these vectors: the GPU supports real vectors, and kernels whose formulas "
                "compute with arrays of numbers",
                OnProcessor,
            )
        return False

    def _is_here(self, tiles: Tiles, vectors: Array | None) -> bool:
        """Return whether the device computes such tiles, and multiplies such vectors by them."""
        if (vectors is not None and np.iscomplexobj(vectors)) or tiles.kernel.is_costly:
            return False
        if 0 in tiles.shape:
            return tiles.prepared is not None
        are_rows = tiles.prepared is not None or all(_are_rows(side) for side in tiles.there)
        return are_rows and self._computes_formula(tiles.kernel, tiles.there[0])

    @contextmanager
    def _exact_products(self) -> Iterator[None]:
        """Keep matrix products in IEEE single precision, whatever the program has asked for."""
        with tell_device_loss(self.device), ieee_products(self.torch), self.torch.inference_mode():
            yield

    def _release(self) -> None:
        if self.device.startswith("cuda"):
            self.torch.cuda.empty_cache()


def _made(device: str, memory: int | None, tile: int) -> Gpu:
    return Gpu(device, memory=memory, tile=tile)


def _wide_blocks(shape: tuple[int, int], size: int) -> list[Block]:
    """Cut a matrix between two data sets: of few rows all are taken, and as many more columns."""
    n, m = shape
    height = max(1, min(n, 2 * size))
    return [
        Block(rows, columns)
        for rows in chunks(n, height)
        for columns in chunks(m, size * size // height)
    ]


def _are_rows(points: Points) -> TypeGuard[Array | Held]:
    """Return whether points are rows of real numbers in memory, of the host or of a device."""
    if not isinstance(points, np.ndarray | Held) or lies_on_disk(points):
        return False
    return points.ndim == 2 and points.dtype.kind == "f"
