"""What share of the inertia an axis carries, and how its title says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.check import Array, real_array, whole
from mercer.errors import InvalidInput, InvalidParameter
from mercer.pictures.scene import Axis
from mercer.spectrum import Spectrum

ROUNDING = 1e-9
"""By how much shares may exceed 1 through rounding."""


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares of the axes in the inertia, and what must be said about them.

    ``clusters`` are groups of axes, counted from 0, with one eigenvalue between them. ``notes``
    say of which total the shares are, where it is not the inertia. ``names`` are titles of their
    own, for columns that are no axes.
    """

    shares: Array
    clusters: tuple[tuple[int, ...], ...] = ()
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def title(self, axis: int) -> str:
        """Return the title of an axis, counted from 1.

        >>> Shares(np.array([0.4321])).title(1)
        'Dim 1 (43.2 %)'
        """
        if axis <= len(self.names):
            return self.names[axis - 1]
        if axis > len(self.shares) or not np.isfinite(self.shares[axis - 1]):
            return f"Dim {axis}"
        return f"Dim {axis} ({percent(self.shares[axis - 1])})"

    def remarks(self, axes: Sequence[int]) -> tuple[str, ...]:
        """Return what must be said beside a picture of some axes.

        >>> Shares(np.array([0.4, 0.4]), ((0, 1),)).remarks((1, 2))
        ('Dim 1 and 2 have one eigenvalue between them: only their common space is determined.',)
        """
        found = list(self.notes)
        for cluster in self.clusters:
            if not set(cluster) & {a - 1 for a in axes}:
                continue
            if len(cluster) == 1:
                found.append(
                    f"Dim {cluster[0] + 1} has the eigenvalue of the next axis too: "
                    "it is arbitrary within their common space."
                )
            else:
                names = " and ".join(str(k + 1) for k in cluster)
                found.append(
                    f"Dim {names} have one eigenvalue between them: "
                    "only their common space is determined."
                )
        return tuple(found)


def percent(share: float) -> str:
    """Return a share as text.

    >>> percent(0.248), percent(0.00004)
    ('24.8 %', '<0.1 %')
    """
    return "<0.1 %" if 0.0 < share < 0.0005 else f"{100.0 * share:.1f} %"


def as_shares(spectrum: Any) -> Shares:
    """Return the shares of a `Spectrum`, or given as numbers, or the names of the axes.

    >>> as_shares([0.5, 0.3]).title(2)
    'Dim 2 (30.0 %)'
    """
    if spectrum is None:
        return Shares(np.zeros(0))
    if isinstance(spectrum, Shares):
        return spectrum
    if isinstance(spectrum, Spectrum):
        return _of_spectrum(spectrum)
    if isinstance(spectrum, Sequence) and all(isinstance(name, str) for name in spectrum):
        return Shares(np.zeros(0), names=tuple(spectrum))
    shares = np.atleast_1d(real_array(spectrum, "spectrum"))
    if shares.ndim != 1 or np.any(shares < -ROUNDING) or shares.sum() > 1.0 + ROUNDING:
        raise InvalidInput(
            "spectrum must be a Spectrum or shares of the inertia, none negative, that sum to at "
            f"most 1; found numbers from {shares.min():.4g} to {shares.max():.4g} that sum to "
            f"{shares.sum():.4g}"
        )
    return Shares(shares)


def _of_spectrum(spectrum: Spectrum) -> Shares:
    r"""Divide by the trace, or by Σ|λ| = trace/(1 - 2·negative mass) where some are negative."""
    values = np.asarray(spectrum.values, dtype=np.float64)
    mass = spectrum.negative_mass or 0.0
    total = float(spectrum.trace)
    negative = mass > ROUNDING
    if negative:
        total = total / (1.0 - 2.0 * mass) if mass < 0.5 else 0.0
    if total <= 0.0 or np.maximum(values, 0.0).sum() > total * (1.0 + 1e-6):
        note = "Eigenvalues not computed are negative: shares of the axes are not known."
        return Shares(np.full(len(values), np.nan), spectrum.clusters, (note,) if total else ())
    shares = np.maximum(values, 0.0) / total
    notes = (_of_moduli(mass),) if negative else ()
    return Shares(np.minimum(shares, 1.0), spectrum.clusters, notes)


def _of_moduli(mass: float) -> str:
    return (
        f"Some eigenvalues are negative ({percent(mass)} of Σ|λ|): shares are those of Σ|λ|, "
        "which never exceed 100 %."
    )


def shares_of(values: Array, total: float | None) -> Shares:
    """Return the shares of eigenvalues in a total, or in Σ|λ| where none is given.

    >>> shares_of(np.array([3.0, 1.0]), 8.0).shares
    array([0.375, 0.125])
    >>> shares_of(np.array([3.0, -1.0]), None).shares
    array([0.75, 0.  ])
    """
    moduli = float(np.abs(values).sum())
    positive = np.maximum(values, 0.0)
    if np.any(values < -ROUNDING * np.abs(values).max(initial=0.0)):
        notes = (_of_moduli(float(-values[values < 0].sum()) / moduli),)
        return Shares(positive / moduli, (), notes)
    whole_total = moduli if total is None else float(total)
    if whole_total < positive.sum() * (1.0 - 1e-6):
        raise InvalidParameter(
            f"total is {whole_total:.6g}, less than the sum {positive.sum():.6g} of the inertias "
            "given: shares would exceed 100 %"
        )
    return Shares(positive / whole_total if whole_total > 0 else positive)


def chosen(axes: Any, count: int, *, how_many: int | None = 2) -> tuple[int, ...]:
    """Return axes counted from 1, a number being so many first ones, or say which there are.

    >>> chosen((1, 3), 5), chosen(2, 5)
    ((1, 3), (1, 2))
    """
    axes = range(1, whole(axes, "axes", least=1) + 1) if np.ndim(axes) == 0 else axes
    listed = tuple(whole(a, "axes", least=1) for a in np.asarray(axes).tolist())
    if how_many is not None and len(listed) != how_many:
        raise InvalidParameter(f"axes must name {how_many} axes, found {axes!r}")
    if max(listed, default=0) > count:
        raise InvalidParameter(f"axes are counted from 1 to {count}, found {axes!r}")
    return listed


def axis(shares: Shares, number: int, limits: tuple[float, float]) -> Axis:
    """Return the side of a panel that shows one axis."""
    return Axis(shares.title(number), limits, axis=number)
