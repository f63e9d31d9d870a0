"""Arrays of other libraries than numpy: where they lie, when they are copied, what goes back.

Models with kernels compute with them where they lie. Others are computed by the processor: what
they read is copied there, of a GPU with a warning, and what their methods return goes back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from array_api_compat import device as array_device

from mercer.check import (
    as_numpy,
    in_dtype_of,
    is_foreign,
    is_lazy,
    namespace,
    not_finite,
    refuse_lazy,
)
from mercer.display import warn
from mercer.engines.device import computes_there
from mercer.engines.held import Held, given_back, hold
from mercer.errors import OnProcessor
from mercer.kernels.base import Kernel, Kind

F = TypeVar("F", bound=Callable[..., Any])


def gpu_of(array: Any) -> str | None:
    """Return the name of the GPU on which an array lies, None for memory of the host.

    >>> gpu_of([1.0]) is None
    True
    """
    place = str(array_device(array)) if is_foreign(array) else ""
    return place if "cuda" in place.lower() else None


def device_among(given: Iterable[Any]) -> str:
    """Return the name of the device of the first array of another library.

    >>> device_among([None, [1.0]])
    'of the points'
    """
    places = (str(array_device(values)) for values in given if is_foreign(values))
    return next(places, "of the points")


def say_copied(array: Any, name: str, model: str) -> None:
    """Say that the processor reads a copy of an array on a GPU."""
    if (place := gpu_of(array)) is not None:
        warn(
            f"the processor reads a copy of {name} from {place}: {model} does not read it there",
            OnProcessor,
        )


def held_points(X: Any, kernel: Kernel) -> Held | None:
    """Return points where they lie, examined; None where the host computes with them.

    That is where torch is not installed, numbers are no real floating ones, or the kernel is not
    positive definite or needs more than arrays. Of points on a GPU it is said.
    """
    refuse_lazy(X, "X")
    is_real = namespace(X).isdtype(X.dtype, "real floating") and X.ndim == 2 and 0 not in X.shape
    held = hold(X) if is_real and kernel.kind is Kind.POSITIVE and not kernel.is_costly else None
    if held is None or not computes_there(kernel, held):
        if (place := gpu_of(X)) is not None:
            warn(
                f"the processor computes with a copy of X from {place}: the GPU supports real "
                "numbers and positive definite kernels whose formulas compute with arrays, found "
                f"{X.dtype} and the kernel {kernel}",
                OnProcessor,
            )
        return None
    wrong = held.first_not_finite()
    if wrong is not None:
        row, column, value = wrong
        raise not_finite(value, "X", (row, column))
    return held


def like_given(values: Any, X: Any) -> Any:
    """Return results for data as an array of its library, on its device and in its precision."""
    return in_dtype_of(X, given_back(values, X))


def through_host(method: F) -> F:
    """Return a method of a model that the processor computes, for arrays of any library.

    It reads a copy of its first argument, and returns arrays like that one. A collection that is
    still to be computed is no copy's concern: the method reads it, or refuses it, itself.
    """
    first = [*inspect.signature(method).parameters, ""][1]

    @wraps(method)
    def run(self: Any, *args: Any, **named: Any) -> Any:
        given = args[0] if args else named.get(first)
        if not is_foreign(given) or is_lazy(given):
            return method(self, *args, **named)
        say_copied(given, first, type(self).__name__)
        copied = as_numpy(given)
        args, named = ((copied, *args[1:]), named) if args else ((), {**named, first: copied})
        return _like(method(self, *args, **named), given)

    return run  # type: ignore[return-value]


def _like(found: Any, given: Any) -> Any:
    """Return arrays, or a tuple of them, as arrays like those that were given."""
    if isinstance(found, tuple):
        return tuple(_like(part, given) for part in found)
    return given_back(found, given) if isinstance(found, np.ndarray) else found
