"""The evaluation of kernels that nobody vouches for: what fails where, and what is chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from mercer.check import Array, Points, as_numpy, finite, how_many, part_of, rows_of
from mercer.errors import InvalidInput, MercerError
from mercer.kernels.base import Kernel
from mercer.kernels.limits import Limits
from mercer.kernels.pairs import AllPairs

REORDERING = 10.0
"""Threads may add in another order: two calls differ by less than this times n·u·max|K|."""


def unit_roundoff(a: Array) -> float:
    """Return u of an array's precision, that of double precision for whole numbers.

    >>> unit_roundoff(np.ones(1)) == 2.0**-53, unit_roundoff(np.ones(1, np.float32)) == 2.0**-24
    (True, True)
    """
    double = float(np.finfo(np.float64).eps) / 2.0
    return max(double, float(np.finfo(a.dtype).eps) / 2.0) if a.dtype.kind in "fc" else double


def take(x: Points, chosen: Array) -> Points:
    """Return some of the points; all of them, in order, are the points themselves."""
    if np.array_equal(chosen, np.arange(how_many(x))):
        return x
    if hasattr(x, "iloc"):  # some rows of a data frame are one, and its columns have their names
        frame: Points = x.iloc[chosen]
        return frame
    if hasattr(x, "picked"):
        part: Points = x.picked(chosen)
        return part
    rows = rows_of(x)
    if is_array_api_obj(rows):
        xp = array_namespace(rows)
        some: Points = xp.take(rows, xp.asarray(chosen, device=device(rows)), axis=0)
        return some
    return [rows[int(i)] for i in chosen]


def values_at(points: Points, rows: Array) -> tuple[Any, ...]:
    """Return some points as values to compare and print: rows of numbers as tuples."""
    points = rows_of(points)
    if not is_array_api_obj(points):
        return tuple(points[int(i)] for i in rows)
    chosen = as_numpy(points)[rows].tolist()
    return tuple(tuple(p) if isinstance(p, list) else p for p in chosen)


def part_of_points(x: Points, start: int, stop: int) -> Points:
    """Return the points from one number to another, or to the last."""
    return part_of(x, slice(start, min(stop, how_many(x))))


def is_probed(n: int) -> bool:
    """Whether so many points are too many to look at all of them."""
    return n > Limits.direct_points


def subsets_of(n: int, count: int, generator: np.random.Generator) -> Iterator[Array]:
    """Yield the numbers of the points to look at: all, or random subsets of too many."""
    if not is_probed(n):
        yield np.arange(n)
        return
    for _ in range(count):
        size = int(generator.integers(Limits.fewest_probed, Limits.direct_points, endpoint=True))
        yield np.sort(generator.choice(n, size, replace=False))


def gram_matrix(kernel: Kernel, x: Points, numbers: Array | None = None) -> Array:
    """Return k(x) as finite numbers, or say for which points, by their numbers, it failed."""
    try:
        K = _both_ways(kernel, x) if kernel.is_costly else as_numpy(kernel(x))
    except MercerError:
        raise
    except Exception as error:
        where = _where(kernel, x, numbers)
        raise InvalidInput(
            f"{kernel} raised {type(error).__name__}{where}: {error}. A kernel must give a number "
            "for every pair of points"
        ) from error
    n = how_many(x)
    if K.shape != (n, n) or K.dtype.kind not in "biufc":
        raise InvalidInput(
            f"{kernel} gave an array of shape {K.shape} and type {K.dtype} for {n} points; "
            "expected one number for each pair"
        )
    return finite(K, f"the kernel {kernel}")


def _both_ways(kernel: Kernel, x: Points) -> Array:
    """Return k(x) with the values of (x, y) and (y, x) each asked for, which may differ."""
    pairs = AllPairs(x)
    pairs.same = False
    return as_numpy(kernel.evaluate(pairs))


def _where(kernel: Kernel, x: Points, numbers: Array | None) -> str:
    pair = failing_pair(kernel, x)
    if pair is None:
        return ""
    i, j = pair if numbers is None else (int(numbers[i]) for i in pair)
    return f" for points {i} and {j}"


def failing_pair(kernel: Kernel, x: Points) -> tuple[int, int] | None:
    """Return a pair for which a kernel raises, by halving; None if it then raises no more."""

    def fails(rows: range, columns: range) -> bool:
        try:
            kernel(
                part_of_points(x, rows.start, rows.stop),
                part_of_points(x, columns.start, columns.stop),
            )
        except Exception:
            return True
        return False

    rows, columns = range(how_many(x)), range(how_many(x))
    while len(rows) > 1:
        first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        rows = first if fails(first, columns) else second
    while len(columns) > 1:
        first, second = columns[: len(columns) // 2], columns[len(columns) // 2 :]
        columns = first if fails(rows, first) else second
    return (rows.start, columns.start) if fails(rows, columns) else None


def chance(kernel: Kernel, x: Points) -> str:
    """Return where two evaluations on the same points differ beyond rounding; empty if nowhere."""
    some = part_of_points(x, 0, Limits.repeated_points)
    first, second = gram_matrix(kernel, some), gram_matrix(kernel, some)
    if first.size == 0:
        return ""
    gap = np.abs(first - second)
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    allowed = REORDERING * len(first) * unit_roundoff(first) * float(np.max(np.abs(first)))
    if gap[i, j] <= allowed:
        return ""
    return f"the value for points {i} and {j} was {first[i, j]:.6g}, then {second[i, j]:.6g}"


STEP = 1e-4
"""Steps of differences, as a part of what is moved: errors of 1e-10 in the values become 1e-6."""

DERIVATIVE = 1e-5
"""Ten times that, relative to the largest derivative and to the largest value per unit moved."""

KINK = 0.1
"""Where two sides or two step lengths differ by more than this part of the derivative, there is a
kink or a jump, and nothing to compare."""

Moved: TypeAlias = Callable[[float], Array]
"""The kernel's matrix after a step in a parameter or a coordinate."""

CENTRAL = ((-1.0, -0.5), (1.0, 0.5))
FORWARD = ((0.0, -1.5), (1.0, 2.0), (2.0, -0.5))
BACKWARD = ((0.0, 1.5), (-1.0, -2.0), (-2.0, 0.5))
"""Steps and weights of differences of second order; the one-sided are for edges of a domain."""


class Disagreement(Exception):
    """A stated derivative is not what differences say."""


class NoRoom(Exception):
    """A parameter or a coordinate cannot be moved within its domain."""


def compare_slope(given: Array, moved: Moved, scale: float, what: str) -> float:
    """Compare a derivative with differences, as exactly as two step lengths agree on them."""
    # A power of two, so that a point plus a step is exact even far from the origin.
    step = float(2.0 ** np.round(np.log2(STEP * scale)))
    here = moved(0.0)
    slope, doubt, bend = _difference(moved, here, step, what)
    if given.shape != slope.shape:
        raise Disagreement(f"the derivative in {what} has shape {given.shape}, not {slope.shape}")
    size = float(np.max(np.abs(slope), initial=0.0) + np.max(np.abs(here), initial=0.0) / scale)
    is_kink = bend > KINK * size
    is_jump = doubt > np.maximum(KINK * np.abs(slope), DERIVATIVE * size)
    gap = np.where(is_kink | is_jump, 0.0, np.abs(given - slope))
    excess = gap - doubt
    if np.any(~(excess <= DERIVATIVE * size)):
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
        raise Disagreement(
            f"the derivative in {what} at {place} is given as {given[place]:.6g}, differences say "
            f"{slope[place]:.6g}"
        )
    return float(np.max(gap, initial=0.0))


def _difference(moved: Moved, here: Array, step: float, what: str) -> tuple[Array, Array, Array]:
    """Return a derivative, by how much two step lengths disagree, and two sides of a point."""
    for stencil in (CENTRAL, FORWARD, BACKWARD):
        try:
            near, far = (
                sum((w * moved(o * h) for o, w in stencil), start=0.0 * here) / h
                for h in (step, 2.0 * step)
            )
            bend = moved(step) + moved(-step) - 2.0 * here if stencil is CENTRAL else 0.0 * here
        except MercerError:  # the step leaves the domain
            continue
        return near, np.abs(near - far), np.abs(bend) / step
    raise NoRoom(f"{what} cannot be moved within its domain")
