"""The range of a path: ``bandwidth``, ``bandwidth=0.5:8`` or ``bandwidth=0.5:8:25``."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from mercer.check import Array
from mercer.cli.errors import Misused
from mercer.kernels.base import Kernel

COUNT, REACH = 25, 4.0
"""How many values a path has, and how many times smaller and larger than the model's they are."""


class Range(NamedTuple):
    """A parameter as models name it, and the values it takes."""

    parameter: str
    values: Array


def range_of(text: str, kernel: Kernel) -> Range:
    """Return the parameter and the values that a text asks for, or say what the kernel has.

    Values lie at equal ratios if they are positive, else at equal distances, to six digits. Where
    no range is given they reach from a quarter of what the kernel has to four times that. A rule
    such as "median" is a number only in a kernel that was fitted: before, there are no values yet.

    >>> from mercer import Gaussian, Linear
    >>> range_of("bandwidth=1:4:3", Gaussian(1.0) + 0.5 * Linear())
    Range(parameter='kernel__0__bandwidth', values=array([1., 2., 4.]))
    >>> range_of("bandwidth", Gaussian(2.0)).values[[0, 12, 24]]
    array([0.5, 2. , 8. ])
    """
    word, _, asked = text.partition("=")
    name = _name(word.strip(), kernel)
    now = kernel.parameters()[name]
    values = _between(text, asked) if asked else _around(text, now)
    if isinstance(now, Integral):
        values = np.unique(np.rint(values))
        if len(values) < 2:
            raise Misused(f"--path {text}: {word} is a whole number, and the range holds only one")
    return Range(f"kernel__{name}", np.array([float(f"{v:.6g}") for v in values.tolist()]))


def _name(word: str, kernel: Kernel) -> str:
    """Return the parameter of a kernel that a word names, alone or with its place."""
    known = [name for name, value in kernel.parameters().items() if _is_number(value)]
    word = word if word in known else word.removeprefix("kernel__")
    found = [word] if word in known else [n for n in known if n.split("__")[-1] == word]
    if len(found) == 1:
        return found[0]
    if found:
        raise Misused(f"--path {word} may mean {', '.join(found)}: name one of them")
    has = f"it has {', '.join(known)}" if known else "it has none that is a number"
    raise Misused(f"--path: {kernel} has no parameter {word!r}; {has}")


def _is_number(value: Any) -> bool:
    """Whether a path can go along a parameter: a number, one for each column, or a rule for it."""
    if isinstance(value, tuple):
        return all(isinstance(v, Real) for v in value) and bool(value)
    return isinstance(value, Real | str) and not isinstance(value, bool)


def _between(text: str, asked: str) -> Array:
    number = r"([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)"
    match = re.fullmatch(rf"\s*{number}:{number}(?::(\d+))?\s*", asked)
    if match is None:
        raise Misused(
            f"--path {text}: write NAME=FROM:TO or NAME=FROM:TO:COUNT, such as bandwidth=0.5:8:25"
        )
    low, high, count = float(match[1]), float(match[2]), int(match[3] or COUNT)
    if low == high or count < 2:
        raise Misused(f"--path {text}: a path needs two different ends and at least 2 values")
    is_positive = low > 0.0 and high > 0.0
    return np.geomspace(low, high, count) if is_positive else np.linspace(low, high, count)


def _around(text: str, now: Any) -> Array:
    if isinstance(now, tuple):  # each is multiplied
        return np.geomspace(1.0 / REACH, REACH, COUNT)
    if isinstance(now, str):  # a rule, before the fit
        return np.zeros(0)
    if now <= 0:
        raise Misused(f"--path {text}: it is {now:g}; say from where to where: {text}=FROM:TO")
    if isinstance(now, Integral):
        return np.arange(1.0, 2.0 * int(now) + 2.0)
    return np.geomspace(now / REACH, now * REACH, COUNT)
