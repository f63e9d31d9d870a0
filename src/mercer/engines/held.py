"""Tall matrices that lie on a device, points among them, and answer numpy's functions there.

The iteration for axes is written once, for numpy. `Held` follows numpy's protocols for arrays of
others (NEP 13 and 18), so that the same lines compute on the device: what is as long as the points
stays there, and what is small (sums over points, products of one tall matrix with another) comes to
the host, where the small algebra is done. Nothing else does: `np.asarray` of such a matrix raises,
and only `to_host` copies it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace
from array_api_compat import device as array_device
from numpy.lib.mixins import NDArrayOperatorsMixin

from mercer.check import Array, chunks, is_foreign, is_lazy
from mercer.engines.lapack import eigenpairs

NUMBERS = 2**24
"""Numbers of a tall matrix in single precision that are made double at a time."""

DECOMPOSED = 256
"""Rows from which on a matrix is decomposed on a device."""

Seed: TypeAlias = int | list[int] | None
"""What a random generator starts from."""


def to_host(a: Any) -> Array:
    """Return an array on the host: a copy of one that is on a device, any other as it is."""
    if isinstance(a, Held):
        copied: Array = a.tensor.cpu().numpy()
        return copied
    return np.asarray(a)


def move_beside(a: Array, other: Any) -> Any:
    """Return an array of the host where another one lies: on its device, or as it is."""
    return Held(_operand(a, other.tensor)) if isinstance(other, Held) else a


def writable(a: Any) -> Array:
    """Return an array as torch takes it: rows one after the other, in memory that may be written.

    >>> writable(np.broadcast_to(1.0, (2, 2))).flags.writeable
    True
    """
    rows: Array = np.ascontiguousarray(a)
    return rows if rows.flags.writeable else rows.copy()


def hold(array: Any) -> Held | None:
    """Return an array of another library than numpy where it lies, None where torch is not there.

    Arrays of torch, CuPy, JAX and whoever follows the standard share their memory (DLPack).
    """
    if find_spec("torch") is None:
        return None
    is_ours = type(array).__module__.partition(".")[0] == "torch"
    tensor = array.detach() if is_ours else _torch().from_dlpack(array)
    return Held(tensor)


def held_or_given(values: Any) -> Any:
    """Return an array of another library as engines read it, any other as it is.

    >>> held_or_given([1.0])
    [1.0]
    """
    return hold(values) if is_foreign(values) else values


def given_back(values: Any, like: Any) -> Any:
    """Return what was computed as an array of the library, and on the device, of another array.

    Of numpy's own, of what is no array, and of a collection of Dask, which would have it computed
    once more, it is one of the host.
    """
    if not is_foreign(like) or is_lazy(like):
        return to_host(values)
    xp: Any = array_namespace(like)
    if not isinstance(values, Held):  # of a small problem, which the host has solved
        place = {} if find_spec("torch") is None else {"device": array_device(like)}
        return xp.asarray(writable(values), **place)
    is_ours = type(like).__module__.partition(".")[0] == "torch"
    return values.tensor if is_ours else xp.from_dlpack(values.tensor)


class Held(NDArrayOperatorsMixin):
    """A matrix with a row for each point, in the memory of a device; or its transpose."""

    def __init__(self, tensor: Any, *, is_wide: bool = False) -> None:
        self.tensor, self.is_wide = tensor, is_wide

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise TypeError("a matrix on a device is copied by to_host, and by nothing else")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return int(self.tensor.ndim)

    @property
    def size(self) -> int:
        return int(self.tensor.numel())

    @property
    def dtype(self) -> Any:
        return np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    @property
    def T(self) -> Held:  # noqa: N802  (numpy's name)
        return Held(self.tensor.T, is_wide=not self.is_wide)

    @property
    def real(self) -> Held:
        return self

    def __len__(self) -> int:
        return len(self.tensor)

    def conj(self) -> Held:
        return self

    def copy(self) -> Held:
        return self._like(self.tensor.clone())

    def on_host(self) -> Array:
        """Return a copy on the host."""
        return to_host(self)

    def astype(self, dtype: Any, copy: bool = True) -> Held:
        wanted = _dtype(self.tensor, dtype)
        return self._like(self.tensor.to(wanted, copy=copy))

    def sum(self, axis: int | None = None) -> Any:
        return _sum(self, axis)

    def _like(self, tensor: Any) -> Held:
        return Held(tensor, is_wide=self.is_wide)

    def __getitem__(self, key: Any) -> Any:
        return self._like(self.tensor[_index(key, self.tensor)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[_index(key, self.tensor)] = _operand(value, self.tensor)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduceat" and ufunc is np.add:
            return Held(self.tensor.sum(dim=0, keepdim=True, dtype=_dtype(self.tensor, float)))
        if method != "__call__" or set(kwargs) - {"out"} or ufunc.__name__ not in UFUNCS:
            return NotImplemented
        if ufunc is np.matmul:
            return _product(*inputs)
        like = next(i.tensor for i in inputs if isinstance(i, Held))
        operands = [_operand(i, like) for i in inputs]
        (out,) = kwargs.get("out", (None,))
        if out is None:
            return self._like(UFUNCS[ufunc.__name__](*operands))
        if not isinstance(out, Held):
            return NotImplemented
        if out is inputs[0]:
            getattr(out.tensor, f"{ufunc.__name__}_")(*operands[1:])
        else:
            out.tensor.copy_(UFUNCS[ufunc.__name__](*operands))
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in FUNCTIONS:
            return NotImplemented
        return FUNCTIONS[function](*args, **kwargs)

    def _parts(self) -> list[slice]:
        """Return rows that are made double at a time."""
        return list(chunks(len(self), max(1, NUMBERS * len(self) // max(self.size, 1))))

    def normal(self, count: int, seed: Seed) -> Held:
        """Return standard normal vectors, as long as this matrix."""
        torch, device = _torch(), self.tensor.device
        state = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        generator = torch.Generator(device).manual_seed(int(state >> np.uint64(1)))
        shape = len(self), count
        return Held(torch.randn(shape, dtype=torch.float64, device=device, generator=generator))

    def largest_square(self, centre: Array, lengths: Any) -> float:
        """Return the largest squared norm of a row about a centre, in units of some lengths."""
        torch = _torch()
        middle, units = _operand(centre, self.tensor), _operand(np.asarray(lengths), self.tensor)
        found = []
        for rows in self._parts():
            part = (self.tensor[rows].double() - middle) / units
            squares = part.square().sum(dim=1).amax()
            found.append(torch.stack([squares, part.abs().amax()]))
        largest, size = torch.stack(found).amax(dim=0).tolist()
        # A square that underflows is the smallest number there is, not 0.
        return float(largest if largest > 0.0 or size == 0.0 else np.nextafter(0.0, 1.0))

    def firsts_of_largest(self, tied: float) -> Array:
        """Return of each column the first entry whose modulus is near the largest of all."""
        torch, a = _torch(), self.tensor
        sizes = a.abs()
        number = torch.arange(len(a), device=a.device)[:, None]
        is_large = sizes >= tied * sizes.amax(dim=0)
        first = torch.where(is_large, number, len(a) - 1).amin(dim=0)
        return to_host(Held(a.gather(0, first[None])[0]))

    def centres(self, first: Array, steps: int) -> Array:
        """Return centres of the rows on the host, by some of Lloyd's steps from a few rows.

        An empty cluster keeps its old centre. Distances are only compared, in a unit in which
        their squares are numbers.
        """
        torch, x = _torch(), self.tensor.double()
        unit = 2.0 ** float(torch.frexp(x.abs().amax())[1]) or 1.0
        x = x / unit
        centres = x[_index(first, x)]
        for _ in range(steps):
            near = (0.5 * centres.square().sum(dim=1) - x @ centres.T).argmin(dim=1)
            sums = torch.zeros_like(centres).index_add_(0, near, x)
            count = torch.bincount(near, minlength=len(centres))[:, None]
            centres = torch.where(count > 0, sums / count.clamp(min=1), centres)
        return to_host(Held(unit * centres))

    def outside(self, A: Held) -> Held:
        """Return what orthonormal columns leave of this one: (I - AA*) B."""
        a, b = A.tensor, self.tensor
        return Held(b - a @ (a.T @ b))

    def largest(self) -> float:
        """Return the largest modulus of an entry."""
        return float(self.tensor.abs().amax())

    def deviation(self) -> float:
        """Return the standard deviation of all entries."""
        a = self.tensor.double()
        unit = float(a.abs().amax()) or 1.0  # in which no square overflows
        return unit * float((a / unit).std(correction=0))

    def first_not_finite(self) -> tuple[int, int, float] | None:
        """Return the place of the first entry that is missing or infinite, and the entry."""
        if bool(self.tensor.isfinite().all()):
            return None
        row, column = (~self.tensor.isfinite()).nonzero()[0].tolist()
        return row, column, float(self.tensor[row, column])

    def row_squares(self) -> Held:
        """Return the squared norm of each row, as doubles."""
        parts = [self.tensor[rows].double().square().sum(dim=1) for rows in self._parts()]
        return Held(_torch().cat(parts))

    def eigenpairs(self, small: Array) -> tuple[Array, Array]:
        """Return the eigenvalues of a small symmetric matrix, smallest first, and its vectors.

        One of many rows is decomposed on the device of this one, others on the host.
        """
        if len(small) < DECOMPOSED or self.tensor.device.type == "cpu":
            return eigenpairs(small)
        values, vectors = _torch().linalg.eigh(_operand(small, self.tensor))
        return to_host(Held(values)), to_host(Held(vectors))

    def inverse_of_root(self, small: Array, shift: float) -> tuple[Array, float] | None:
        """Return the inverse X of Cholesky's factor L of a shifted matrix, and a bound of ‖XL - I‖.

        None where the host does it: of few rows, and of a matrix that is not positive definite.
        """
        if len(small) < DECOMPOSED or self.tensor.device.type == "cpu":
            return None
        return inverse_of_root(_operand(small, self.tensor), shift)

    def eigenvalues(self, small: Array) -> Array:
        """Return the eigenvalues alone, smallest first."""
        if len(small) < DECOMPOSED or self.tensor.device.type == "cpu":
            return np.linalg.eigvalsh(small)
        return to_host(Held(_torch().linalg.eigvalsh(_operand(small, self.tensor))))

    def adjoint_times(self, vectors: Any, *, is_double: bool = False) -> Array:
        """Return F* V on the host, the products in the precision of F unless told."""
        if not is_double:
            right = _operand(vectors, self.tensor).to(self.tensor.dtype)
            return to_host(Held((self.tensor.T @ right).to(_dtype(right, float))))
        other = vectors.tensor
        total: Any = 0.0
        for rows in self._parts():
            part = self.tensor[rows].double()
            total = total + part.T @ (part if vectors is self else other[rows].double())
        return to_host(Held(total))

    def times(self, small: Array, *, is_double: bool = False) -> Held:
        """Return F times a small matrix as doubles, the products in F's precision unless told."""
        double = _dtype(self.tensor, float)
        right = _operand(small, self.tensor)
        if not is_double:
            return Held((self.tensor @ right.to(self.tensor.dtype)).to(double))
        result = self.tensor.new_empty((len(self), right.shape[1]), dtype=double)
        for rows in self._parts():
            result[rows] = self.tensor[rows].to(double) @ right.to(double)
        return Held(result)


def inverse_of_root(small: Any, shift: float) -> tuple[Array, float] | None:
    """Return what `Held.inverse_of_root` does, of a tensor.

    >>> import torch
    >>> inverse, gap = inverse_of_root(torch.diag(torch.tensor([3.0, 8.0]).double()), 1.0)
    >>> inverse.round(6).tolist(), gap < 1e-14
    ([[0.5, 0.0], [0.0, 0.333333]], True)
    """
    torch, m = _torch(), len(small)
    if small.dtype != torch.float64:
        return None
    unit = torch.eye(m, dtype=small.dtype, device=small.device)
    lower, failed = torch.linalg.cholesky_ex(small + shift * unit)
    inverse = torch.linalg.solve_triangular(lower, unit, upper=False)
    gap = torch.linalg.vector_norm(inverse @ lower - unit)
    size = torch.linalg.vector_norm(inverse.abs() @ lower.abs())  # of what this product rounds
    bound = float(gap + m * torch.finfo(small.dtype).eps * size)
    return None if int(failed) else (to_host(Held(inverse)), bound)


def _dtype(tensor: Any, dtype: Any) -> Any:
    """Return torch's name of a type of numpy."""
    return getattr(_torch(), np.dtype(dtype).name)


def _torch() -> Any:
    import torch

    return torch


def _operand(value: Any, like: Any) -> Any:
    """Return what meets a tensor: another one, a number, or an array that is copied to it."""
    if isinstance(value, Held):
        return value.tensor
    if np.ndim(value) == 0:
        return float(value)
    return _torch().as_tensor(writable(value), device=like.device)


def _index(key: Any, tensor: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    found = tuple(
        _torch().as_tensor(p, device=tensor.device) if isinstance(p, np.ndarray) else p
        for p in parts
    )
    return found if isinstance(key, tuple) else found[0]


def _product(a: Any, b: Any) -> Any:
    """Return a matrix product: on the host where the points are summed over, else on the device."""
    like = a.tensor if isinstance(a, Held) else b.tensor
    left, right = _operand(a, like), _operand(b, like)
    wide = _torch().promote_types(left.dtype, right.dtype)
    found = left.to(wide) @ right.to(wide)
    is_summed = (isinstance(a, Held) and (a.is_wide or a.ndim == 1)) or (
        isinstance(b, Held) and not b.is_wide
    )
    if is_summed:
        return to_host(Held(found))
    return Held(found, is_wide=isinstance(b, Held) and b.is_wide)


def _norm(a: Held, axis: int | None = None) -> Any:
    double = _dtype(a.tensor, float)
    if axis is None and a.tensor.dtype != double:  # of which no copy in double precision is made
        return float(np.sqrt(a.row_squares().sum()))
    if axis is None:
        return float(_torch().linalg.vector_norm(a.tensor))
    return to_host(Held(_torch().linalg.vector_norm(a.tensor, dim=axis, dtype=double)))


def _sum(a: Held, axis: int | None = None) -> Any:
    if axis is None:
        return float(a.tensor.sum(dtype=_dtype(a.tensor, float)))
    found = a.tensor.sum(dim=axis, dtype=_dtype(a.tensor, float))
    return to_host(Held(found)) if axis == 0 else Held(found)


def _stack(arrays: Any) -> Held:
    like = next(a.tensor for a in arrays if isinstance(a, Held))
    columns = [_operand(a, like) for a in arrays]
    columns = [c if c.ndim == 2 else c[:, None] for c in columns]
    return Held(_torch().cat([c.to(like.dtype) for c in columns], dim=1))


def _einsum(formula: str, *arrays: Any) -> Held:
    return Held(_torch().einsum(formula, *(a.tensor for a in arrays)))


def _like(value: float) -> Callable[..., Held]:
    def filled(prototype: Held, dtype: Any = None, shape: Any = None) -> Held:
        kind = prototype.tensor.dtype if dtype is None else _dtype(prototype.tensor, dtype)
        wanted = prototype.shape if shape is None else shape
        return Held(prototype.tensor.new_full(wanted, value, dtype=kind))

    return filled


def _all(a: Held) -> bool:
    return bool(a.tensor.all())


def _result_type(*arrays: Any) -> Any:
    return np.result_type(*(a.dtype if isinstance(a, Held) else a for a in arrays))


UFUNCS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negative": lambda a: -a,
    "square": lambda a: a.square(),
    "power": lambda a, b: a**b,
    "absolute": lambda a: a.abs(),
    "conjugate": lambda a: a,
    "isfinite": lambda a: a.isfinite(),
    "matmul": lambda a, b: a @ b,
}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.linalg.norm: _norm,
    np.sum: _sum,
    np.all: _all,
    np.hstack: _stack,
    np.column_stack: _stack,
    np.einsum: _einsum,
    np.zeros_like: _like(0.0),
    np.empty_like: _like(0.0),
    np.iscomplexobj: lambda a: False,
    np.real: lambda a: a,
    np.result_type: _result_type,
}
