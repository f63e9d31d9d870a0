"""The card of an individual: who is nearest in feature space, its letters or its network."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.data.sequences import Sequences
from mercer.errors import InvalidParameter
from mercer.explorer.networks import Networks, drawing
from mercer.page.safe_text import clean
from mercer.page.subject import Subject
from mercer.points import take

NEAREST = 5
"""Neighbours that the card of an individual names."""

LETTERS = 240
"""Letters of a sequence that its card shows."""


def card(made: Subject, row: int, data: Any = None) -> dict[str, Any]:
    """Return who stands nearest to an individual in the distance of the map's features.

    Of a sequence its letters are told too, of a network where to draw its nodes.
    """
    n = len(made)
    if not 0 <= row < n:
        raise InvalidParameter(f"there is no individual {row}: they are counted from 0 to {n - 1}")
    distances = feature_distances(made, row)
    order = np.argsort(distances, kind="stable")
    near = [int(i) for i in order if i != row][:NEAREST]
    found: dict[str, Any] = {
        "row": row,
        "nearest": [
            {"row": i, "name": clean(made.names[i]), "distance": float(distances[i])} for i in near
        ],
    }
    if isinstance(data, Sequences):
        letters = data.letters[row]
        found["letters"] = clean(letters, LETTERS)
        found["length"] = len(letters)
    elif isinstance(data, Networks):
        found["network"] = drawing(data.graphs[row], data.nodes[row] if data.nodes else ())
    return found


def feature_distances(made: Subject, row: int) -> Array:
    """Return the distances of all individuals to one: given ones, else those in feature space.

    >>> from mercer import KernelPCA, Gaussian
    >>> from mercer.page.subject import subject_of
    >>> model = KernelPCA(1, kernel=Gaussian(1.0)).fit([[0.0], [1.0], [5.0]])
    >>> bool(np.isclose(feature_distances(subject_of(model), 0)[1] ** 2, 2 - 2 * np.exp(-0.5)))
    True
    """
    given = getattr(made.model, "dissimilarity_matrix_", None)
    if given is not None:
        return np.asarray(given[row], float)
    points, kernel = getattr(made.model, "X_fit_", None), made.kernel
    if kernel is None or points is None or made.is_precomputed:
        found: Array = np.linalg.norm(made.coordinates - made.coordinates[row], axis=1)
        return found
    one = take(points, np.array([row]))
    cross = np.real(np.asarray(kernel(one, points)))[0]
    own = np.real(np.asarray(kernel.diag(points)))
    squares: Array = own + own[row] - 2.0 * cross
    return np.sqrt(np.maximum(squares, 0.0))
