"""On how many axes classes are sought where nobody says: one rule for commands and pages."""

from __future__ import annotations

from collections.abc import Mapping

from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice

FEWEST, UNTESTED = 2, 5
"""Axes that decide at least, and those that do where no test tells chance from structure."""


def deciding_axes(choices: Mapping[str, Choice], computed: int) -> int:
    """Return how many of the axes computed are more than chance by Horn's test, at least two.

    Further axes carry noise, and on all of them Ward's tree is that of the raw columns: what the
    analysis told apart would come back as distance. Where the test was left out or decides
    nothing, the first five count, as many as the factor analyses of R keep by themselves.

    >>> deciding_axes({}, 9), deciding_axes({}, 3)
    (5, 3)
    """
    horn = choices.get("horn")
    if not isinstance(horn, ParallelAnalysis) or not (horn.is_decided or horn.n_components):
        return min(UNTESTED, computed)
    return min(max(horn.n_components, FEWEST), computed)
