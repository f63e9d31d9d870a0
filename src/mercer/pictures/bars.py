"""Contributions to axes, beside the share that each would have if all contributed alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, whole
from mercer.pictures.circle import measured
from mercer.pictures.colours import BLUE, PALE, RED
from mercer.pictures.drawing import Drawing
from mercer.pictures.limits import LIMITS
from mercer.pictures.planes import Plane, linked
from mercer.pictures.scene import Axis, Bars, Linked, Panel, Rule
from mercer.pictures.shares import Shares, as_shares, chosen
from mercer.reading import Individuals, Variables


@Drawing
def contributions(
    values: Individuals | Variables,
    *,
    axes: Any = (1,),
    spectrum: Any = None,
    most: int = LIMITS.bars,
) -> Panel:
    """The largest contributions to an axis, or to the plane of two, and the uniform line.

    >>> from mercer import PCA, datasets
    >>> model = PCA(standardize=True).fit(datasets.decathlon())
    >>> panel = contributions.describe(model.variables_, axes=1)
    >>> panel.marks[1].at, panel.y.ticks[0][1]
    (0.1, '100m')
    """
    listed = chosen(axes, values.inertias.shape[0], how_many=None)
    shares, names, count = _contributed(values, listed)
    order = np.argsort(-shares, kind="stable")[: whole(most, "most", least=1)]
    uniform = 1.0 / max(count, 1)
    places = np.arange(len(order), 0, -1).astype(float)
    colours = tuple(BLUE if shares[i] >= uniform else PALE for i in order)
    texts = tuple(f"{names[i]}: {100 * shares[i]:.1f} %" for i in order)
    what: Linked = "individuals" if isinstance(values, Individuals) else "variables"
    ids = linked(np.array(names, object), order, what)
    bars = Bars(places, shares[order], colours, is_lying=True, names=texts, ids=ids)
    rule = Rule(uniform, is_level=False, colour=RED, name=f"all equal: {100 * uniform:.3g} %")
    high = max(float(shares[order].max(initial=0.0)), uniform)
    ticks = tuple((float(p), names[i]) for p, i in zip(places, order, strict=True))
    hidden = len(shares) - len(order)
    return Panel(
        (bars, rule),
        Axis("contribution", (0.0, 1.06 * high), ticks=percents(1.06 * high)),
        Axis("", (0.4, len(order) + 0.6), ticks=ticks),
        title=f"Contributions of {what} to {_axes(as_shares(spectrum), listed)}",
        notes=(f"The first {len(order)} of {len(shares)}.",) if hidden else (),
        size=(6.4, max(2.6, 0.24 * len(order) + 1.4)),
    )


def _contributed(
    values: Individuals | Variables, axes: tuple[int, ...]
) -> tuple[Array, tuple[str, ...], int]:
    if isinstance(values, Variables):
        return measured(values, axes, "contribution"), values.names, len(values)
    shares = Plane(values.coordinates, values, axes).contribution()
    return shares, tuple(map(str, values.labels)), int(np.sum(values.weights > 0))


def _axes(shares: Shares, axes: tuple[int, ...]) -> str:
    return " and ".join(shares.title(a) for a in axes)


def percents(high: float) -> tuple[tuple[float, str], ...]:
    """Return round ticks from 0 to a share.

    >>> [text for _, text in percents(0.21)]
    ['0 %', '5 %', '10 %', '15 %', '20 %']
    """
    steps = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]) / 10_000
    step = float(steps[np.argmax(high / steps <= 6.0)])
    return tuple((i * step, f"{100 * i * step:g} %") for i in range(int(high / step + 1e-9) + 1))
