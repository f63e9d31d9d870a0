"""Arrays as values: read-only, equal by their contents, and hashable."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, as_numpy


class FrozenArray:
    """A read-only array that compares and hashes by its contents, so that values can hold it.

    >>> FrozenArray([[1, 0]]) == FrozenArray([[1.0, -0.0]])
    True
    """

    __slots__ = ("array",)
    array: Array

    def __init__(self, values: Any) -> None:
        array = np.array(as_numpy(values.array if isinstance(values, FrozenArray) else values))
        array.flags.writeable = False
        object.__setattr__(self, "array", array)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a FrozenArray cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a FrozenArray cannot be changed")

    def __reduce__(self) -> tuple[type[FrozenArray], tuple[Array]]:
        return FrozenArray, (self.array,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        # Adding a complex zero makes one of all number types, and of 0.0 and -0.0.
        return hash((self.array.shape, (self.array + 0j).tobytes()))

    def __repr__(self) -> str:
        return f"FrozenArray({self.array.tolist()!r})"


class FrozenRow(dict[str, Any]):
    """A row of a table that hashes by what it holds, so that kernels with a sample can.

    >>> hash(FrozenRow(a=1.0, b="x")) == hash(FrozenRow(b="x", a=1))
    True
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))
