"""What an engine of GPUs needs of a device: tables of pairs there, IEEE products, named faults.

Tables of prepared points are those of kernels made of inner products and distances; every other
formula that computes with arrays is evaluated on the points themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace

from mercer.check import Namespace, chunks, refused_copies
from mercer.engines.held import Held
from mercer.engines.limits import Limits
from mercer.engines.tiles import Block, Prepared, PreparedTable, Side
from mercer.engines.trace import traced_formula
from mercer.errors import DeviceLost, MercerError, NotEnoughMemory, extra
from mercer.kernels.base import Kernel
from mercer.kernels.pairs import INNER, AllPairs, Pairs, Scale
from mercer.kernels.statements import gamma


def torch_library() -> Any:
    """Return torch, or say which extra brings it."""
    return extra("torch", "gpu", 'engine="gpu"')


class Holder(Protocol):
    """One who has prepared points on a device: an engine."""

    torch: Any

    def side(self, prepared: Prepared, rows: slice, statistic: Any, *, is_right: bool) -> Any: ...
    def some_points(self, side: Side, rows: slice) -> Any: ...


@contextmanager
def tell_device_loss(device: str) -> Iterator[None]:
    """Name the loss of a device, after which nothing can be computed on it any more.

    Libraries that find no room for their workspace lose nothing: that is memory that is short.
    """
    try:
        yield
    except RuntimeError as error:
        name, what = type(error).__name__, str(error).strip().partition("\n")[0]
        is_loss = name == "AcceleratorError" or "CUDA error" in what
        if isinstance(error, MercerError) or name == "OutOfMemoryError" or not is_loss:
            raise
        if "ALLOC_FAILED" in what or "out of memory" in what:
            raise torch_library().OutOfMemoryError(what) from error
        raise DeviceLost(
            f"the device {device} was lost during the computation ({what}), with all its data. "
            "Restart Python; a fit with checkpoint= resumes after its last pass, and "
            "engine='auto' computes on the processor"
        ) from error


@contextmanager
def faults_named(device: str = "of the points") -> Iterator[None]:
    """Name the loss of a device, and memory of one that is short where no smaller tile helps."""
    try:
        with tell_device_loss(device):
            yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise NotEnoughMemory(
            "the memory of the GPU is too small for the vectors and the landmarks' factor of so "
            "many points: request fewer axes, give fewer points, or use engine='auto' with arrays "
            "of numpy for the processor"
        ) from error


class _Exact:
    """How many computations want IEEE products, in all threads, and what torch had before them."""

    lock = Lock()
    count = 0
    before: Any = None


@contextmanager
def ieee_products(torch: Any) -> Iterator[None]:
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


class DeviceTable(PreparedTable):
    """All pairs of a block, from prepared points on a device; results belong to the caller."""

    def __init__(
        self, engine: Holder, prepared: Prepared, block: Block, is_symmetric: bool
    ) -> None:
        super().__init__(prepared, block, is_symmetric)
        self.engine = engine

    @cached_property
    def vectors(self) -> tuple[Any, Any]:
        some, (rows, columns) = self.engine.some_points, self.block
        return some(self.prepared.x, rows), some(self.prepared.y, columns)

    @property
    def like(self) -> Any:
        return self.vectors[0]

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
        for rows in chunks(s.shape[0], Limits.smallest_tile):
            part = s[rows]
            i, j = (part < doubt * (left[rows, -2:-1] + right[:, -1])).nonzero(as_tuple=True)
            gap = (x[rows][i] - y[j]) / lengths
            part[i, j] = (gap * gap).sum(dim=1).to(s.dtype)


class PointsThere(AllPairs):
    """All pairs of rows on a device, examined before they came there, for any formula of arrays."""

    def _vectors(self) -> tuple[Any, Any]:
        return self.x, self.y

    def mapped(self, psi: Callable[[Any], Any]) -> Pairs:
        others = None if self.same else self.y
        return self._once(("mapped", psi), lambda: AllPairs(self.x, others).mapped(psi))


TRIED_ON = 32
"""Points on which is tried whether a formula computes on a device."""


def computes_there(kernel: Kernel, points: Held) -> bool:
    """Whether a formula, its rules too, computes with arrays on the device where points lie.

    It is, where it can be traced; any other is tried on a few of them. What goes by way of the
    host, such as Bessel functions, labels that are looked up and Python's functions of points,
    cannot read them, or leaves its values there.
    """
    if kernel.is_costly:
        return False
    if traced_formula(kernel) is not None:
        return True
    few = points[:TRIED_ON].astype(np.float64)
    place, kind = few.tensor.device, few.tensor.dtype
    try:
        with refused_copies():
            values: Any = kernel.resolve(few).evaluate(PointsThere(few.tensor))
    except Exception:
        return False
    return isinstance(values, type(few.tensor)) and (values.device, values.dtype) == (place, kind)
