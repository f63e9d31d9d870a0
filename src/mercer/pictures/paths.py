"""Axes along a range of a parameter, with the places where they change their order."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.pictures.bars import percents
from mercer.pictures.colours import GREY, INK, PALETTE
from mercer.pictures.curves import DASHES
from mercer.pictures.drawing import Drawing
from mercer.pictures.scene import Axis, Lines, Mark, Panel, Points, Rule, logarithmic, spanned
from mercer.stability import ParameterPath

CROSS, OWN = "axes change places", "the model"

WIDE = 5.0
"""Positive values whose ratio is larger stand on a logarithmic scale."""


@Drawing
def parameter_path(path: ParameterPath, *, title: str = "") -> Panel:
    """The share of each axis along a parameter, followed from its first value, and crossings.

    >>> import mercer as mc
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0], [8.0]])
    >>> path = mc.parameter_path(mc.KernelPCA(2, kernel=mc.Gaussian(1.0)), x, "kernel__bandwidth",
    ...                          [2.0, 4.0, 8.0])
    >>> panel = parameter_path.describe(path)
    >>> panel.x.title, [mark.name for mark in panel.marks]
    ('bandwidth', ['axis 1', None, 'axis 2', None])
    >>> [text for _, text in panel.y.ticks][:2]
    ['0 %', '20 %']
    """
    shares = path.shares
    marks: list[Mark] = []
    for k in range(shares.shape[1]):
        colour, dash = PALETTE[k % len(PALETTE)], DASHES[(k // len(PALETTE)) % 3]
        marks.append(
            Lines(path.values, shares[:, k], colour=colour, dash=dash, name=f"axis {k + 1}")
        )
        marks.append(Points(path.values, shares[:, k], colour=colour, size=3.0))
    low, high = float(path.values.min()), float(path.values.max())
    if path.own is not None and low <= path.own <= high:
        marks.append(Rule(path.own, is_level=False, colour=GREY, dash="dotted", name=OWN))
    marks += _crossings(path, shares)
    is_log = low > 0.0 and high > WIDE * low
    name = spoken(path.parameter)
    title = title or f"Axes along {name}"
    name += ", times that of the model" if path.is_factor else ""
    ends = spanned(path.values, margin=0.02, is_log=is_log)
    x = logarithmic(name, ends) if is_log else Axis(name, ends)
    most = min(1.02, 1.1 * float(shares.max()) or 1.0)
    y = Axis("share of the inertia", (0.0, most), ticks=percents(most))
    doubts = tuple(
        f"Between {a:.3g} and {b:.3g} an axis could not be followed." for a, b in path.unclear[:3]
    )
    return Panel(
        tuple(marks),
        x,
        y,
        title=title,
        notes=("Axes are numbered as at the first value.", *doubts),
        size=(4.8, 3.6),
    )


def spoken(parameter: str) -> str:
    """Return the name of a parameter as a picture shows it.

    >>> spoken("kernel__0__bandwidth"), spoken("kernel__nu")
    ('bandwidth of part 0', 'nu')
    """
    *places, name = parameter.removeprefix("kernel__").split("__")
    numbers = [p for p in places if p.isdigit()]
    return f"{name} of part {'.'.join(numbers)}" if numbers else name


def _crossings(path: ParameterPath, shares: Array) -> list[Mark]:
    """Return a ring where two of the lines change their order."""
    shown = [c for c in path.crossings if max(c.axes) <= shares.shape[1]]
    if not shown:
        return []
    order = np.argsort(path.values)
    at = np.array([c.at for c in shown])
    heights = [np.interp(c.at, path.values[order], shares[order, c.axes[0] - 1]) for c in shown]
    names = tuple(str(c) for c in shown)
    ring = Points(
        at, np.array(heights), colour=INK, size=9.0, is_hollow=True, name=CROSS, names=names
    )
    return [ring]
