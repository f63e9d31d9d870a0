"""What a reading warns of, each by its own name, so that it can be filtered by it."""

from __future__ import annotations

from mercer.display import in_ranges, warn
from mercer.errors import Advice, DegenerateAxes, FewerAxes, NoInertia

NAMED = 5
"""Individuals or columns that a warning names before it only counts."""


def remark_axes(
    clusters: tuple[tuple[int, ...], ...],
    kept: int,
    asked: int | None,
    individuals: int,
    *,
    is_approximate: bool = False,
) -> None:
    """Warn of axes that do not exist or are arbitrary.

    ``clusters`` are those of `mercer.spectrum.Spectrum`; ``kept`` counts the axes above rounding.
    """
    if kept == 0:
        why = f"all {individuals} individuals coincide" if individuals > 1 else "one individual"
        warn(f"{why}: the inertia is 0 and there are no axes", NoInertia)
        return
    if asked is None:
        return
    if kept < asked:
        there = "there is 1 axis" if kept == 1 else f"there are {kept} axes"
        warn(
            f"{there}, fewer than the {asked} asked for: what lies beyond is rounding, or not "
            "positive",
            FewerAxes,
        )
    shared = [[k + 1 for k in cluster if k < kept] for cluster in clusters]
    if any(shared):
        axes = "; ".join(in_ranges(cluster) for cluster in shared if cluster)
        exact = Advice("method", "exact")
        way_out = f", or take more landmarks or {exact}" if is_approximate else ""
        doubt = "cannot be told apart" + (" by the approximation" if is_approximate else "")
        warn(
            f"degenerate axes: {axes}. Their eigenvalues {doubt}, so that any rotation of them is "
            "as good (an axis alone has its partner beyond those asked for). Read sums "
            f"over degenerate axes, not each of them{way_out}",
            DegenerateAxes,
            exact,
        )


def named(labels: list[str]) -> str:
    """Return a few labels and how many more there are.

    >>> named(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d, e and 1 more'
    """
    more = len(labels) - NAMED
    return ", ".join(labels[:NAMED]) + (f" and {more} more" if more > 0 else "")
