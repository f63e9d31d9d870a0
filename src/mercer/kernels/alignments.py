"""Kernels on strings by dynamic programming: subsequences with gaps, and local alignments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np

from mercer.check import Array, Points, chunks, square_matrix
from mercer.errors import InvalidParameter, NotPositiveDefinite
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.counts import row_by_row
from mercer.kernels.limits import Limits
from mercer.kernels.pairs import Pairs
from mercer.kernels.strings import (
    ALPHABETS,
    alphabet_or_none,
    as_strings,
    code_points,
    letters_of,
    positive_length,
)
from mercer.points import FrozenArray
from mercer.settings import nonnegative, number

NO_LETTER = -1
"""Stands behind the end of a string that is shorter than others, and equals no letter."""

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


class PairedStrings(Kernel):
    """A kernel of two strings, of which one is compared with many at a time."""

    __slots__ = ()
    alphabet: str | None

    @abstractmethod
    def fill(self, s: Array, block: Array) -> Array:
        """Return the kernel on pairs of one string with many, padded to one length.

        Letters are numbers: ``block`` holds the letter j of string m at (j, m).
        """

    def evaluate(self, pairs: Pairs) -> Array:
        left = self._strings(pairs.x)
        right = left if pairs.same else self._strings(pairs.y)
        return pairs.array(row_by_row(pairs, left, right, self._row))

    def _strings(self, points: Points) -> list[Array]:
        letters_of(points, self.alphabet)  # refuses what is no string over the alphabet
        return [code_points(s) for s in as_strings(points)]

    def _row(self, s: Array, others: Sequence[Array]) -> Array:
        values = np.empty(len(others))
        lengths = [len(t) for t in others]
        order = np.argsort(lengths, kind="stable")
        size = max(1, Limits.alignment_cells // max(len(s) * max(lengths, default=0), 1))
        for part in chunks(len(others), size):
            chosen = order[part]
            block = np.full((len(chosen), lengths[chosen[-1]]), NO_LETTER)
            for row, i in zip(block, chosen, strict=True):
                row[: lengths[i]] = others[i]
            values[chosen] = self.fill(s, block.T)
        return values


@value
class Subsequence(PairedStrings):
    r"""The number of subsequences two strings share, discounted by the letters they span.

    .. math:: k(s, t) = \sum_{|u| = \ell} \sum_{i : s[i] = u} \sum_{j : t[j] = u}
        \lambda^{(i_\ell - i_1 + 1) + (j_\ell - j_1 + 1)}, \quad 0 < \lambda \le 1

    Common subsequences that end at letters i and j are prolonged by one letter at a time, for all
    i and j at once; it takes ℓ·|s|·|t| operations and a few tables of |s|·|t| numbers.

    Points are strings; ``length`` ℓ ≥ 1 is a whole number, ``decay`` λ in (0, 1], ``alphabet`` a
    text of different letters or a name.

    >>> Subsequence(2, decay=0.5)(["cat"], ["cart"])
    array([[0.1015625]])

    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text classification using string
    kernels, 2002.
    """

    length: int
    decay: float = 0.5
    alphabet: str | None = None
    domain: ClassVar[Domain] = {
        "length": positive_length,
        "decay": lambda v, name: _at_most_one(number(v, name, above=0.0), name),
        "alphabet": alphabet_or_none,
    }
    theorem: ClassVar[str] = "the inner product of discounted counts of subsequences"

    def fill(self, s: Array, block: Array) -> Array:
        equal = s[:, None, None] == block
        ends = equal * self.decay**2
        for _ in range(self.length - 1):
            ends = equal * (self.decay**2 * _before(_before(ends, self.decay, 0), self.decay, 1))
        total: Array = ends.sum(axis=(0, 1))
        return total


def _at_most_one(v: float, name: str) -> float:
    if v > 1.0:
        raise InvalidParameter(f"{name} must be at most 1, found {v!r}")
    return v


def _before(table: Array, decay: float, axis: int) -> Array:
    """Return at each place the sum over earlier ones, each step back discounted once more."""
    sums = np.zeros_like(table)
    into, given = np.moveaxis(sums, axis, 0), np.moveaxis(table, axis, 0)
    for i in range(1, len(into)):
        np.multiply(into[i - 1], decay, out=into[i])
        into[i] += given[i - 1]
    return sums


@value
class LocalAlignment(PairedStrings):
    r"""The sum over all local alignments of two strings of the exponential of their score.

    .. math:: k(s, t) = \sum_\pi e^{\beta S(\pi)}, \quad S(\pi) = \sum_{(i, j) \in \pi} S(s_i, t_j)
        - \text{gaps}, \quad \text{a gap of } n \text{ letters costs } d + e (n - 1)

    It is the convolution kernel of which the Smith–Waterman score is the limit
    :math:`\log k / \beta` for large β; the score itself, and the logarithm for finite β, are not
    positive definite. Letters score ``match`` when equal and ``mismatch`` else, which must not be
    more; or as ``scores`` say, a matrix in the order of the alphabet, or ``"blosum62"``, of which
    the alphabet may choose letters. Its exponential must be positive definite: that of BLOSUM62 is
    so for every β, as its scores are conditionally positive definite. The values grow exponentially
    with the strings: see `normalised`. It takes |s|·|t|² operations, as matrix products.

    Points are strings; ``match`` ≥ ``mismatch``, ``opening`` d ≥ 0, ``extension`` e ≥ 0, ``scale``
    β > 0, ``alphabet`` a text of different letters or a name.

    >>> k = LocalAlignment(match=1.0, mismatch=0.0, opening=1.0, extension=1.0, scale=1.0)
    >>> bool(np.isclose(k(["ab"], ["a"])[0, 0], 1 + np.e + 1))  # nothing, a with a, b with a
    True
    >>> protein = LocalAlignment(opening=11.0, extension=1.0, scale=0.1, scores="blosum62")
    >>> protein.normalised()(["HEAGAWGHEE"], ["PAWHEAE", "HEAGAWGHEE"]).round(3)
    array([[0.338, 1.   ]])

    Saigo, Vert, Ueda and Akutsu, Protein homology detection using string alignment kernels, 2004.
    """

    match: float = 1.0
    mismatch: float = -1.0
    opening: float = 2.0
    extension: float = 0.5
    scale: float = 0.5
    alphabet: str | None = None
    scores: FrozenArray | Array | Sequence[Sequence[float]] | str | None = None
    domain: ClassVar[Domain] = {
        "match": number,
        "mismatch": number,
        "opening": nonnegative,
        "extension": nonnegative,
        "scale": lambda v, name: number(v, name, above=0.0),
        "alphabet": alphabet_or_none,
        "scores": scores_or_none,
    }
    theorem: ClassVar[str] = "a convolution of positive definite kernels of letters and gaps"

    def __post_init__(self) -> None:
        PairedStrings.__post_init__(self)
        if self.match < self.mismatch:
            raise NotPositiveDefinite(
                f"match = {self.match} is less than mismatch = {self.mismatch}: the exponential of "
                "such scores is no kernel of letters"
            )
        if isinstance(self.scores, str) and self.alphabet is None:
            object.__setattr__(self, "alphabet", NAMED[self.scores][1])
        letters = self._letters()
        if letters is not None and len(letters) - 1 != len(self.alphabet or ""):
            raise InvalidParameter(
                f"scores are of {len(letters) - 1} letters and the alphabet has "
                f"{len(self.alphabet or '')}: give the alphabet in the order of the scores"
            )

    def _letters(self) -> Array | None:
        """Return exp(βS) of letters, with nothing where there is no letter; None without scores."""
        if self.scores is None:
            return None
        scores = cast(FrozenArray | str, self.scores)
        return np.pad(exponentials(scores, self.scale, self.alphabet or ""), (0, 1))

    def _strings(self, points: Points) -> list[Array]:
        if self.scores is None:
            return PairedStrings._strings(self, points)
        numbers = letters_of(points, self.alphabet).numbers
        return np.split(numbers, np.cumsum([len(s) for s in as_strings(points)]))[:-1]

    def own_parameters(self) -> dict[str, Any]:
        return {n: v for n, v in PairedStrings.own_parameters(self).items() if n != "scores"}

    def fill(self, s: Array, block: Array) -> Array:
        r"""Return 1 + ΣM with the recursion of alignments that end with letters i and j.

        .. math:: M_{ij} = e^{\beta S_{ij}} \Big(1 + \sum_{i' < i,\, j' < j}
            g_{i - i' - 1}\, g_{j - j' - 1}\, M_{i'j'}\Big), \quad
            g_0 = 1,\; g_n = e^{-\beta (d + e (n - 1))}
        """
        columns, count = block.shape
        letters, inside = self._letters(), block != NO_LETTER
        matched, mismatched = np.exp(self.scale * np.array([self.match, self.mismatch]))
        opened, longer = np.exp(-self.scale * np.array([self.opening, self.extension]))
        skipped = _gaps(columns, opened, longer)
        total, adjacent, gapped = (np.zeros((columns, count)) for _ in range(3))
        for letter in s:
            # adjacent and gapped: what ended at the letter before, and at all letters before that.
            plain = np.where(block == letter, matched, inside * mismatched)
            scores = plain if letters is None else letters[letter][block]
            ends = scores * (1.0 + skipped @ (adjacent + gapped))
            total += ends
            adjacent, gapped = ends, longer * gapped + opened * adjacent
        result: Array = 1.0 + total.sum(axis=0)
        return result


def _gaps(n: int, opened: float, longer: float) -> Array:
    """Return the strictly lower triangular matrix of the weights of gaps between letters."""
    steps = np.arange(n)[:, None] - np.arange(n)[None, :] - 1
    weights = opened * longer ** np.maximum(steps - 1, 0)
    return np.where(steps > 0, weights, np.where(steps == 0, 1.0, 0.0))
