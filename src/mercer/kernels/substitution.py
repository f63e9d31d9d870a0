"""Scores of letters that stand for each other in biological sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array, square_matrix
from mercer.errors import InvalidParameter, NotPositiveDefinite
from mercer.kernels.frozen import FrozenArray
from mercer.kernels.strings import ALPHABETS

BLOSUM62 = """
4
0 9
-2 -3 6
-1 -4 2 5
-2 -2 -3 -3 6
0 -3 -1 -2 -3 6
-2 -3 -1 0 -1 -2 8
-1 -1 -3 -3 0 -4 -3 4
-1 -3 -1 1 -3 -2 -1 -3 5
-1 -1 -4 -3 0 -4 -3 2 -2 4
-1 -1 -3 -2 0 -3 -2 1 -1 2 5
-2 -3 1 0 -3 0 1 -3 0 -3 -2 6
-1 -3 -1 -1 -4 -2 -2 -3 -1 -3 -2 -2 7
-1 -3 0 2 -3 -2 0 -3 1 -2 0 0 -1 5
-1 -3 -2 0 -3 -2 0 -3 2 -2 -1 0 -2 1 5
1 -1 0 0 -2 0 -1 -2 0 -2 -1 1 -1 0 -1 4
0 -1 -1 -1 -2 -2 -2 -1 -1 -1 -1 0 -1 -1 -1 1 5
0 -1 -3 -2 -1 -3 -3 3 -2 1 1 -3 -2 -2 -3 -2 0 4
-3 -2 -4 -3 1 -2 -2 -3 -3 -2 -1 -4 -4 -2 -3 -3 -2 -3 11
-2 -2 -3 -2 3 -3 2 -1 -2 -1 -1 -2 -3 -1 -2 -2 -2 -1 2 7
"""
"""Half bits, amino acids in the order of `ALPHABETS`: Henikoff and Henikoff, 1992."""

NAMED = {"blosum62": (BLOSUM62, ALPHABETS["protein"])}
"""Matrices by name, and their alphabets."""


def scores_or_none(v: Any, name: str) -> FrozenArray | str | None:
    """Return scores: a symmetric matrix, the name of one, or None."""
    if v is None or isinstance(v, FrozenArray):
        return v
    if isinstance(v, str):
        if v not in NAMED:
            raise InvalidParameter(f"{name} knows {', '.join(NAMED)}, found {v!r}")
        return v
    matrix = np.real(square_matrix(v, name))
    if not np.array_equal(matrix, matrix.T):
        raise InvalidParameter(f"{name} must be symmetric: letters stand for each other")
    return FrozenArray(matrix)


def matrix_of(scores: FrozenArray | str, alphabet: str) -> Array:
    """Return scores as a matrix, those that have a name in the order of the alphabet.

    >>> matrix_of("blosum62", "CA").tolist()  # cysteine and alanine
    [[9.0, 0.0], [0.0, 4.0]]
    """
    if isinstance(scores, FrozenArray):
        return scores.array
    text, letters = NAMED[scores]
    strange = next((letter for letter in alphabet if letter not in letters), None)
    if strange is not None:
        raise InvalidParameter(
            f"{scores} has no score of {strange!r}, which is in the alphabet: its letters are "
            f"{letters}"
        )
    rows = [line.split() for line in text.strip().splitlines()]
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, : i + 1] = matrix[: i + 1, i] = np.array(row, np.float64)
    places = [letters.index(letter) for letter in alphabet]
    return matrix[np.ix_(places, places)]


def exponentials(scores: FrozenArray | str, scale: float, alphabet: str) -> Array:
    """Return exp(βS), which must be a kernel of letters."""
    with np.errstate(over="ignore"):
        table = np.exp(scale * matrix_of(scores, alphabet))
    if not np.all(np.isfinite(table)):
        raise InvalidParameter(f"scores times scale = {scale:g} are too large to be exponents")
    values = np.linalg.eigvalsh(table)
    if values[0] < -len(table) * np.finfo(float).eps * values[-1]:
        raise NotPositiveDefinite(
            f"the exponential of {scale:g} times these scores has the negative eigenvalue "
            f"{values[0]:.3g}: it is no kernel of letters. A letter must score more with itself "
            "than two different ones do with each other; a larger scale then helps"
        )
    result: Array = table
    return result
