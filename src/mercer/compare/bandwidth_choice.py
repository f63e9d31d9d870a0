"""A bandwidth chosen by what is known of the individuals: a factor, or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from mercer.check import Points, is_missing
from mercer.compare.dependence import alignment
from mercer.compare.sides import present
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.base import Kernel, parameters, with_parameters
from mercer.kernels.given import Delta
from mercer.kernels.text import kernel as read
from mercer.kernels.vectors import Linear
from mercer.points import as_points
from mercer.progress import Progress, follow_work

OCTAVES = np.arange(-4.0, 4.5, 0.5)
"""Powers of two around the resolved bandwidth that are tried first."""

TOLERANCE = 1e-3
"""Of the power of two, to which the best is then found."""


def align_bandwidth(
    kernel: Kernel | str,
    points: Points,
    target: Any,
    *,
    sample_weight: Any = None,
    progress: bool | Progress | None = None,
) -> Kernel:
    r"""Return a kernel with the bandwidth at which it agrees best with a factor or a number.

    .. math:: \sigma^* = \arg\max_\sigma
        \frac{\langle H K_\sigma H^\top, H L H^\top \rangle}{\|H K_\sigma H^\top\| \|H L H^\top\|}

    with L the equality of the labels of a factor, or the products of a number: the centred
    alignment of `mercer.alignment`. Bandwidths from a sixteenth to sixteen times that of the
    kernel, a rule resolved first, are tried. What is chosen with the target must not be tested
    with it: p-values of groups in this kernel are too small. ``progress`` counts bandwidths.

    >>> from mercer import datasets
    >>> irises = datasets.iris()
    >>> species = irises.column("Species").values
    >>> k = align_bandwidth("gaussian(bandwidth='median')", irises.numbers, species)
    >>> round(float(k.bandwidth), 2)
    1.27

    Cortes, Mohri & Rostamizadeh, Journal of Machine Learning Research 13 (2012) 795-828.
    """
    x = present(as_points(points, "points"), sample_weight)
    k = read(kernel).resolve(x)
    names = [name for name in parameters(k) if name.split("__")[-1] == "bandwidth"]
    if len(names) != 1 or not np.isscalar(parameters(k)[names[0]]):
        raise InvalidParameter(
            f"{k} has {len(names)} bandwidths that are one number; exactly one can be aligned"
        )
    (name,) = names
    start = float(parameters(k)[name])
    labels = _target(target, len(as_points(points, "points")))
    other = Linear() if labels.dtype.kind == "f" else Delta()

    def disagreement(octave: float) -> float:
        tried = with_parameters(k, **{name: start * 2.0**octave})
        found = alignment(tried, other, points, labels, sample_weight=sample_weight, permutations=0)
        return -found.statistic

    with follow_work(progress, "bandwidths") as tell:
        tried = []
        for octave in OCTAVES:
            tried.append(disagreement(octave))
            if tell is not None:
                tell(len(tried), len(OCTAVES))
        best = int(np.argmin(tried))
        low, high = OCTAVES[max(best - 1, 0)], OCTAVES[min(best + 1, len(OCTAVES) - 1)]
        found = optimize.minimize_scalar(
            disagreement, bounds=(low, high), method="bounded", options={"xatol": TOLERANCE}
        )
    octave = float(found.x) if float(found.fun) < tried[best] else float(OCTAVES[best])
    return with_parameters(k, **{name: start * 2.0**octave})


def _target(target: Any, count: int) -> Any:
    """Return labels as numbers of their levels, or a column of numbers."""
    values = np.asarray(getattr(target, "values", target))
    if values.shape != (count,):
        raise InvalidInput(f"target has shape {values.shape} for {count} points")
    for row, value in enumerate(values.tolist()):
        if is_missing(value):
            raise InvalidInput(f"target has no value in row {row}; leave the point out")
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    return np.unique(values.astype(str), return_inverse=True)[1]
