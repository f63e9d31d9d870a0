"""Data sets made by a formula, random ones from a seed: the same numbers every time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.check import Array, whole
from mercer.data.table import Role, Table, as_labels

DENSITY = 15
"""Points on a circle for each unit of its radius (Beeny, Example 4.1)."""

LEVELS = ("ambient", "elevated")


def circles(radii: Sequence[float] = (1.0, 2.0, 3.0), density: int = DENSITY) -> Table:
    r"""Return concentric circles, on each of which points stand at equal angles.

    .. math:: (r \cos 2\pi j/m, \; r \sin 2\pi j/m), \quad j < m = \mathrm{density} \cdot r

    With the defaults 15, 30 and 45 points, the training set of Beeny, Example 4.1; its test set is
    ``circles((1.5, 2.5), 12)``. The radius is a factor.

    >>> len(circles()), len(circles((1.5, 2.5), 12))
    (90, 48)
    >>> circles().matrix()[0]
    array([1., 0.])
    """
    counts = [max(1, round(density * radius)) for radius in radii]
    angles = np.concatenate([2.0 * np.pi * np.arange(m) / m for m in counts])
    r = np.repeat(np.asarray(radii, np.float64), counts)
    columns = {"x": r * np.cos(angles), "y": r * np.sin(angles), "radius": as_labels(r.tolist())}
    return Table.of(columns, roles={"radius": Role.FACTOR})


def disc_and_ring(n: int = 200, seed: int = 0) -> Table:
    r"""Return points uniform on a disc of radius 1 and the ring between radii 3 and 4.

    .. math:: r^2 = v + 8 \cdot 1\{v \ge 1\}, \quad v \sim U[0, 8)

    since the disc has one eighth of the area (Kroese et al., Example 6.18).

    >>> r = np.hypot(*disc_and_ring().matrix().T)
    >>> bool(np.all((r < 1) | ((3 <= r) & (r < 4))))
    True
    """
    count = whole(n, "n", least=1)
    rng = np.random.default_rng(seed)
    v, angles = rng.uniform(0.0, 8.0, count), rng.uniform(0.0, 2.0 * np.pi, count)
    r = np.sqrt(np.where(v < 1.0, v, v + 8.0))
    part = as_labels(np.where(v < 1.0, "disc", "ring").tolist())
    return Table.of({"x": r * np.cos(angles), "y": r * np.sin(angles), "part": part})


def plants(genes: int = 200, replicates: int = 6, seed: int = 0) -> Table:
    r"""Return simulated gene expression of plants under two temperatures and two levels of CO₂.

    .. math:: x_{ig} = \mu_g + a_g T_i + b_g C_i + c_g T_i C_i
        + s_{m(g)}(T_i, C_i) \, \ell_g f_{i m(g)} + \varepsilon_{ig}

    on a logarithmic scale, for plant i and gene g. Genes belong to five modules m(g); f is one
    random factor for each plant and module, by which the genes of a module vary together. The
    treatments T and C move a part of the genes (a, b, c are sparse) and loosen or tighten the
    modules (s), so that co-expression networks differ between conditions. Nothing in it is
    measured: it has the shape of an experiment with 2 x 2 conditions and six replicates.

    >>> table = plants()
    >>> len(table), len(table.active), table.row_names[0]
    (24, 200, 'T0 C0 1')
    """
    count = whole(genes, "genes", least=1)
    copies = whole(replicates, "replicates", least=1)
    rng = np.random.default_rng(seed)
    design = np.array([(t, c) for t in (0, 1) for c in (0, 1) for _ in range(copies)])
    T, C = design.T[:, :, None]
    module = np.arange(count) % 5
    mean = rng.normal(8.0, 2.0, count)
    a, b, c = (_sparse(rng, count, share) for share in (0.3, 0.2, 0.1))
    # Rows: the four conditions; columns: the five modules.
    tightness = rng.uniform(0.3, 1.5, (4, 5))[(2 * T + C)[:, 0]][:, module]
    factor = rng.standard_normal((len(design), 5))[:, module]
    loading = rng.choice((-1.0, 1.0), count) * rng.uniform(0.5, 1.0, count)
    noise = rng.normal(0.0, 0.3, (len(design), count))
    x = mean + a * T + b * C + c * T * C + tightness * loading * factor + noise
    columns: dict[str, Array] = {
        "temperature": as_labels(LEVELS[t] for t in design[:, 0]),
        "CO2": as_labels(LEVELS[c] for c in design[:, 1]),
        **{f"gene {g + 1}": x[:, g] for g in range(count)},
    }
    names = [f"T{t} C{c} {i % copies + 1}" for i, (t, c) in enumerate(design)]
    return Table.of(columns, row_names=names)


def _sparse(rng: np.random.Generator, count: int, share: float) -> Array:
    """Return normal effects of a share of the genes, zero for the others."""
    effects: Array = rng.normal(0.0, 1.0, count) * (rng.random(count) < share)
    return effects
