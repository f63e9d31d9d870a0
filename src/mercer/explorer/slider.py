"""The curved map that follows the slider of the bandwidth, turned to lie as the one before."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.analysis import curved_model
from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.explorer.answers import Straight
from mercer.explorer.limits import Limits
from mercer.explorer.state import State, kernel_of
from mercer.page.data import space_value
from mercer.page.panels import rows_to_show
from mercer.page.subject import subject_of
from mercer.pca import KernelPCA
from mercer.progress import Progress
from mercer.reading.procrustes import rotation


def slide(
    straight: Straight,
    state: State,
    tell: Progress | None = None,
    before: Array | None = None,
) -> tuple[dict[str, Any], Array]:
    """Return the curved map of another bandwidth: exact, or of a sample that carries the others.

    The individuals are those of `answer`; ``exact`` says whether all of them made the axes. The
    map is turned to lie as near as it can to that of ``before``, as it is drawn while the slider
    moves; its coordinates stand beside it.
    """
    proposal, points = straight.proposal, straight.proposal.points
    kernel = kernel_of(state.kernel, state.bandwidth)
    is_exact = len(points) <= KernelPCA.limits.stored
    model = curved_model(proposal, straight.model, random_state=0, kernel=kernel, tell=tell)
    if model is None:
        raise InvalidInput("the kernel sees no difference between the individuals")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject = subject_of(model, points)
        space = space_value(subject, rows_to_show(subject, Limits.points))
    turn = turned(subject.coordinates, before)
    for place in (space, space["passive"], *space["linked"].values()):
        if place is not None:
            place["coordinates"] = _turn(place["coordinates"], turn)
    shares = np.zeros(0) if subject.shares is None else subject.shares
    found = {"space": space, "shares": shares.tolist(), "exact": is_exact}
    return found, np.column_stack(_turn(list(subject.coordinates.T), turn))


def turned(now: Array, before: Array | None) -> Array:
    """Return the rotation or reflection that brings a map nearest to another.

    Axes that the other map lacks stay as they are.

    >>> turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> F = np.array([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> np.allclose(turned(F, F @ turn), turn)
    True
    """
    size = now.shape[1]
    found = np.eye(size)
    if before is not None and len(before) == len(now):
        k = min(size, before.shape[1])
        found[:k, :k] = rotation(now[:, :k], before[:, :k], np.ones(len(now)))
    return found


def _turn(columns: Sequence[Any], turn: Array) -> list[Any]:
    """Return coordinates, a list of axes, after a rotation."""
    size = len(columns)
    if size == 0:
        return list(columns)
    moved = np.column_stack([np.asarray(c, float) for c in columns]) @ turn[:size, :size]
    return list(moved.T)
