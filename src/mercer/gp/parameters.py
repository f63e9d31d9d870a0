"""The parameters of a process as one vector of logarithms, with bounds, priors and noise."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.check import Array, Points, real_array
from mercer.errors import InvalidParameter, MercerError, NotDifferentiable
from mercer.kernels.base import Kernel, with_parameters
from mercer.settings import number, numbers

NOISE = "noise_variance"

SPAN = 1e5
"""Factor around its start within which a parameter is sought, unless bounds are given."""

LEAST_NOISE = 1e-10
"""Below this share of the outputs' variance noise cannot be told from none."""

STEP = 1e-5
"""Of the differences that give the slope of a prior: right to about its square."""

EDGE = 60
"""Halvings that find the edge of a parameter's domain to double precision."""


TOL = 1e-10
"""Residuals of the systems, as shares of their right sides; intervals have their effect."""


def each_noise(given: Any, n: int) -> Array | None:
    """Return the noise variances of n observations, or None where one number is for all.

    >>> each_noise([0.1, 0.2], 2), each_noise(0.1, 2)
    (array([0.1, 0.2]), None)
    >>> each_noise([0.1, -0.2], 2)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: noise_variance[1] must be >= 0, found -0.2
    """
    if np.ndim(given) == 0:
        return None
    values = real_array(given, NOISE)
    if values.shape != (n,):
        raise InvalidParameter(
            f"noise_variance must be a number, or one for each of {n} observations; found shape "
            f"{values.shape}"
        )
    if np.any(values < 0.0):
        row = int(np.argmin(values))
        raise InvalidParameter(f"noise_variance[{row}] must be >= 0, found {values[row]:g}")
    return values.copy()


class Prior(Protocol):
    """A law of a parameter, such as any frozen distribution of scipy.stats."""

    def logpdf(self, x: Any, /) -> Any: ...


@dataclass(frozen=True)
class Tuned:
    """Those parameters of a kernel and a noise variance that are fitted, all of them positive.

    >>> from mercer import Gaussian
    >>> tuned = Tuned.of(2.0 * Gaussian((1.0, 3.0)), 0.5, [[0.0, 0.0]], True)
    >>> tuned.names
    ('weight', 'kernel__bandwidth[0]', 'kernel__bandwidth[1]', 'noise_variance')
    >>> kernel, noise = tuned.at(np.log([4.0, 5.0, 6.0, 7.0]))
    >>> [round(v, 9) for v in (kernel.weight, *kernel.kernel.bandwidth, noise)]
    [4.0, 5.0, 6.0, 7.0]
    """

    kernel: Kernel
    noise_variance: float
    entries: tuple[tuple[str, int | None], ...]

    @staticmethod
    def of(
        kernel: Kernel, noise_variance: float, points: Points, which: bool | Collection[str]
    ) -> Tuned:
        """Choose the parameters; zero ones have no logarithm and stay what they are.

        They are in the order of the kernel, in whichever they are named.
        """
        if which is False:
            return Tuned(kernel, noise_variance, ())
        known = _values(kernel, noise_variance, points, which)
        chosen = list(known) if which is True else which
        wrong = [name for name in chosen if name not in known]
        if wrong:
            raise InvalidParameter(
                f"{wrong[0]!r} cannot be fitted; what can is {', '.join(map(repr, known))}"
            )
        entries: list[tuple[str, int | None]] = []
        for name, value in known.items():
            if name not in chosen:
                continue
            if isinstance(value, tuple):
                entries += [(name, i) for i, v in enumerate(value) if v > 0]
            elif value > 0:
                entries.append((name, None))
        return Tuned(kernel, noise_variance, tuple(entries))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters by name, with a number for the members of a sequence."""
        return tuple(name if i is None else f"{name}[{i}]" for name, i in self.entries)

    @property
    def _first(self) -> list[float]:
        """The values the search begins with."""
        known = {**self.kernel.parameters(), NOISE: self.noise_variance}
        return [float(known[name] if i is None else known[name][i]) for name, i in self.entries]

    @property
    def start(self) -> Array:
        """The logarithms of the values the search begins with."""
        return np.asarray(np.log(np.array(self._first, dtype=float)))

    def scaled(self, factor: float) -> Array:
        """Return the start with the weights of kernels multiplied by a factor."""
        is_weight = [name.rpartition("__")[2] == "weight" for name, _ in self.entries]
        return self.start + np.where(is_weight, np.log(factor), 0.0)

    def at(self, logs: Array) -> tuple[Kernel, float]:
        """Return the kernel and the noise variance of some logarithms."""
        known = {**self.kernel.parameters(), NOISE: self.noise_variance}
        changed: dict[str, Any] = {}
        for (name, i), value in zip(self.entries, np.exp(logs).tolist(), strict=True):
            if i is None:
                changed[name] = _unmoved(value, known[name])
            else:
                members = list(changed.get(name, known[name]))
                members[i] = _unmoved(value, known[name][i])
                changed[name] = tuple(members)
        noise = float(changed.pop(NOISE, self.noise_variance))
        return with_parameters(self.kernel, changed), noise

    def slopes(self, logs: Array, gradient: Mapping[str, float | Array]) -> Array:
        """Return derivatives in the logarithms from those in the values."""
        return np.asarray(np.exp(logs) * np.array(self.each(gradient), dtype=float))

    def each(self, values: Mapping[str, Any]) -> list[Any]:
        """Return what belongs to each parameter, by its name and its number in a sequence."""
        return [
            values[name] if i is None else np.asarray(values[name])[i] for name, i in self.entries
        ]

    def bounds(self, given: Mapping[str, tuple[float, float]], variance: float) -> Array:
        """Return the least and the largest logarithm of each parameter.

        The values of both are within the bounds, whichever way logarithms are rounded.
        """
        wrong = set(given) - {name for name, _ in self.entries}
        if wrong:
            raise InvalidParameter(f"bounds of {sorted(wrong)[0]!r}, which is not fitted")
        rows = []
        for index, (name, _) in enumerate(self.entries):
            centre = self._first[index]
            low, high = centre / SPAN, centre * SPAN
            if name.rpartition("__")[2] == "weight":
                low, high = min(low, variance / SPAN), max(high, SPAN * variance)
            if name == NOISE:
                low, high = min(low, LEAST_NOISE * variance), max(high, SPAN * variance)
            if name in given:
                low, high = _pair(given[name], f"bounds of {name}")
                if not low <= centre <= high:
                    raise InvalidParameter(
                        f"{name} starts at {centre:g}, outside its bounds {low:g} and {high:g}"
                    )
            rows.append([self._inside(index, end) for end in _logarithms(low, high)])
        return np.array(rows).reshape(-1, 2)

    def _inside(self, index: int, end: float) -> float:
        """Return an end, or the edge of the parameter's domain if that comes first."""
        logs = self.start

        def is_allowed(value: float) -> bool:
            logs[index] = value
            try:
                self.at(logs)
            except MercerError:
                return False
            return True

        inner, outer = float(logs[index]), float(end)
        if is_allowed(outer):
            return outer
        for _ in range(EDGE):
            middle = 0.5 * (inner + outer)
            inner, outer = (middle, outer) if is_allowed(middle) else (inner, middle)
        return inner

    def log_prior(self, logs: Array, priors: Mapping[str, Prior]) -> tuple[float, Array]:
        """Return the log density of the priors at the parameters' values, and its slopes.

        Where one has no density this is refused, as are parameters outside of their domain.
        """
        total, slopes = 0.0, np.zeros_like(logs)
        for index, (name, _) in enumerate(self.entries):
            if name not in priors:
                continue
            law, here = priors[name], float(logs[index])
            below, at, above = (float(law.logpdf(np.exp(here + h))) for h in (-STEP, 0.0, STEP))
            if not np.all(np.isfinite([below, at, above])):
                raise InvalidParameter(
                    f"the prior of {name} has no finite log density about {np.exp(here):g}: start "
                    "the parameter where it has one"
                )
            total += at
            slopes[index] = (above - below) / (2.0 * STEP)
        return total, slopes


def _unmoved(value: float, start: float) -> float:
    """Return a value, or its start where their logarithms are one.

    >>> _unmoved(np.exp(np.log(0.3)), 0.3)
    0.3
    """
    return float(start) if value == np.exp(np.log(start)) else value


def _logarithms(low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest logarithm of a value between two ends.

    >>> low, high = _logarithms(0.3, 0.7)
    >>> bool(0.3 <= np.exp(low) and np.exp(high) <= 0.7)
    True
    """
    first, last = float(np.log(low)), float(np.log(high))
    while np.exp(first) < low and first < last:
        first = float(np.nextafter(first, np.inf))
    while np.exp(last) > high and first < last:
        last = float(np.nextafter(last, -np.inf))
    return first, last


def _pair(ends: Any, name: str) -> tuple[float, float]:
    """Return two positive ends."""
    found = numbers(ends, name, lambda end, which: number(end, which, above=0.0))
    if len(found) != 2:
        raise InvalidParameter(f"{name} must be a pair (low, high), found {ends!r}")
    return found[0], found[1]


def _values(
    kernel: Kernel, noise_variance: float, points: Points, which: Any
) -> dict[str, float | tuple[float, ...]]:
    """Return what can be fitted: the parameters in which the kernel has derivatives."""
    known = kernel.parameters()
    try:
        names = list(kernel.partials(points[:1]))
    except NotDifferentiable as error:
        if which is True:
            raise NotDifferentiable(
                f"{error}. Give optimise=('noise_variance',) to fit the noise alone, or False"
            ) from None
        names = []
    return {**{name: known[name] for name in names}, NOISE: noise_variance}
