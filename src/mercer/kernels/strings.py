"""Kernels that count the words two strings share: exact, with mismatches, or with gaps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations, product
from math import comb
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer.check import Array, Points, members
from mercer.errors import InvalidInput, InvalidParameter, NoFeatureMap
from mercer.kernels.base import Domain, value
from mercer.kernels.counts import Counted, Counts, join_sparse, tally, without_empty_columns
from mercer.kernels.limits import Limits
from mercer.settings import whole

WORD = 3
"""Letters of the words that texts are compared by where nothing else is asked for."""

ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}
"""Alphabets by name; any other text is an alphabet of its own letters."""


def alphabet_or_none(v: Any, name: str) -> str | None:
    """Return the letters of an alphabet given as a text or by its name, or None."""
    return None if v is None else known_alphabet(v, name)


def known_alphabet(v: Any, name: str) -> str:
    """Return the letters of an alphabet given as a text or by its name.

    >>> known_alphabet("dna", "alphabet")
    'ACGT'
    """
    letters = ALPHABETS.get(v, v) if isinstance(v, str) else v
    if not isinstance(letters, str) or not letters or len(set(letters)) != len(letters):
        raise InvalidParameter(
            f"{name} must be a text of different letters or one of {', '.join(ALPHABETS)}, "
            f"found {v!r}"
        )
    return letters


def positive_length(v: Any, name: str) -> int:
    """Return a length of at least one letter."""
    return whole(v, name, least=1)


def as_strings(points: Points) -> list[str]:
    """Return points as strings, or name the one that is none."""
    strings = []
    for i, point in enumerate(members(points)):
        if not isinstance(point, str):
            raise InvalidInput(f"point {i} is {point!r}, not a string")
        strings.append(str(point))
    return strings


def code_points(text: str) -> Array:
    """Return the letters of a text as the numbers Unicode gives them."""
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, "<u4").astype(np.int64)


class Letters(NamedTuple):
    """All strings one after the other, their letters as numbers from 0 to size - 1."""

    numbers: Array
    owners: Array
    n: int
    size: int


def letters_of(points: Points, alphabet: str | None) -> Letters:
    """Number the letters of strings, by their places in the alphabet if there is one."""
    strings = as_strings(points)
    text = code_points("".join(strings))
    owners = np.repeat(np.arange(len(strings)), [len(s) for s in strings])
    listed = [ord(letter) for letter in alphabet or ""]
    places = np.full(1 + max(int(text.max(initial=0)), *listed, 0), -1)
    if alphabet is None:
        places[text] = 0
    present = np.flatnonzero(places == 0) if alphabet is None else np.array(listed)
    places[present] = np.arange(len(present))
    numbers = places[text]
    if np.any(numbers < 0):
        at = int(np.argmax(numbers < 0))
        i = int(owners[at])
        place = at - int(np.searchsorted(owners, i))
        raise InvalidInput(
            f"point {i} holds {strings[i][place]!r} at place {place}, which is not in the alphabet "
            f"{alphabet!r}"
        )
    return Letters(numbers, owners, len(strings), max(len(present), 1))


class Words(NamedTuple):
    """The words of one length: whose they are, where they begin, their numbers below size."""

    owners: Array
    starts: Array
    codes: Array
    size: int


def coded(columns: Sequence[Array], size: int) -> tuple[Array, int]:
    """Number words given by columns of letters: equal numbers for equal words, and only those.

    >>> coded([np.array([1, 0]), np.array([2, 1])], 3)
    (array([5, 1]), 9)
    """
    codes, total = np.zeros_like(columns[0]), 1
    for column in columns:
        if total > Limits.word_code // size:
            distinct, codes = np.unique(codes, return_inverse=True)
            total = len(distinct)
        codes = codes * size + column
        total *= size
    return codes, total


def words_of(letters: Letters, length: int) -> Words:
    """Return all words of one length, none of which reaches into the next string."""
    last = len(letters.numbers) - length + 1
    if last <= 0:
        nothing = np.zeros(0, np.int64)
        return Words(nothing, nothing, nothing, coded([nothing] * length, letters.size)[1])
    inside = letters.owners[:last] == letters.owners[length - 1 :]
    codes, size = coded([letters.numbers[j : j + last] for j in range(length)], letters.size)
    starts = np.flatnonzero(inside)
    return Words(letters.owners[starts], starts, codes[starts], size)


class StringKernel(Counted):
    """The inner product of counts of words, of which each length has its own columns."""

    __slots__ = ()
    length: int
    alphabet: str | None

    @abstractmethod
    def tables(self, letters: Letters) -> list[csr_array]:
        """Return how often each word occurs in each string, one table for each length."""

    def counts(self, points: list[Any]) -> Counts:
        return Counts.of(join_sparse(self.tables(letters_of(points, self.alphabet))))

    def features(self, x: Points) -> Any:
        """Return the counts of all words over the alphabet, one column each, as a sparse array."""
        if self.alphabet is None:
            raise NoFeatureMap(
                f"the features of {type(self).__name__} need an alphabet: "
                f'{type(self).__name__}(..., alphabet="dna")'
            )
        if len(self.alphabet) ** self.length > Limits.word_code:
            raise NoFeatureMap(
                f"there are too many words of {self.length} letters to give each a column; use the "
                "kernel itself"
            )
        return beside_all(self.tables(letters_of(x, self.alphabet)))


def beside_all(tables: Sequence[csr_array]) -> csr_array:
    """Return sparse tables side by side, with all their columns."""
    offsets = np.cumsum([0, *(t.shape[1] for t in tables)])
    parts = [t.tocoo() for t in tables]
    rows = np.concatenate([p.coords[0] for p in parts])
    columns = np.concatenate([p.coords[1] + o for p, o in zip(parts, offsets[:-1], strict=True)])
    data = np.concatenate([p.data for p in parts])
    table: csr_array = tally(rows, columns, (tables[0].shape[0], int(offsets[-1])), data)
    return table


def times(held: csr_array, table: csr_array) -> csr_array:
    """Return a product, whose cost does not depend on how many columns are empty."""
    right, columns = without_empty_columns(table)
    short = csr_array(held @ right)
    shape = held.shape[0], table.shape[1]
    return csr_array((short.data, columns[short.indices], short.indptr), shape=shape)


def spectrum(letters: Letters, length: int) -> csr_array:
    """Return how often each word of one length occurs in each string."""
    words = words_of(letters, length)
    table: csr_array = tally(words.owners, words.codes, (letters.n, words.size))
    return table


@value
class StringSpectrum(StringKernel):
    r"""The number of pairs of equal words of one length in two strings.

    .. math:: k(s, t) = \sum_{|u| = \ell} \#_u(s)\, \#_u(t)

    :math:`\#_u(s)` counts the places where s holds the word u, overlapping ones too. Strings
    shorter than the length have no words. With an alphabet (its letters, or ``"dna"``, ``"rna"``,
    ``"protein"``) other letters are refused and the features have one column for each word.

    Points are strings; ``length`` ℓ ≥ 1 is a whole number, ``alphabet`` a text of different letters
    or a name.

    >>> StringSpectrum(2)(["GATTACA"], ["ATTATTA"])
    array([[6.]])

    Leslie, Eskin and Noble, The spectrum kernel, 2002.
    """

    length: int
    alphabet: str | None = None
    domain: ClassVar[Domain] = {"length": positive_length, "alphabet": alphabet_or_none}
    theorem: ClassVar[str] = "the inner product of counts of words"
    likeness: ClassVar[str] = "Sequences are alike that share many parts of this length"

    def tables(self, letters: Letters) -> list[csr_array]:
        return [spectrum(letters, self.length)]


@value
class StringBoundedRange(StringKernel):
    r"""The number of pairs of equal words of at most a given length in two strings.

    .. math:: k(s, t) = \sum_{1 \le |u| \le \ell} \#_u(s)\, \#_u(t)

    Points are strings; ``length`` ℓ ≥ 1 is a whole number, ``alphabet`` a text of different letters
    or a name.

    >>> StringBoundedRange(2)(["GATTACA"], ["ATTATTA"])
    array([[23.]])

    Vishwanathan and Smola, Fast kernels for string and tree matching, 2003.
    """

    length: int
    alphabet: str | None = None
    domain: ClassVar[Domain] = {"length": positive_length, "alphabet": alphabet_or_none}
    theorem: ClassVar[str] = "the inner product of counts of words"

    def tables(self, letters: Letters) -> list[csr_array]:
        return [spectrum(letters, length) for length in range(1, self.length + 1)]


@value
class MismatchSpectrum(StringKernel):
    r"""The spectrum kernel in which a word also counts for all words that differ in few letters.

    .. math:: k(s, t) = \sum_{|u| = \ell} \#^m_u(s)\, \#^m_u(t), \quad
        \#^m_u(s) = \text{words } v \text{ of } s \text{ with } |\{i : u_i \ne v_i\}| \le m

    It needs the alphabet, over all of whose words the sum runs.

    Points are strings; ``length`` ℓ ≥ 1 and ``mismatches`` m from 0 to ℓ are whole numbers,
    ``alphabet`` a text of different letters or a name.

    >>> MismatchSpectrum(2, 1, "ab")(["aa"], ["ab", "bb"])
    array([[2., 2.]])

    Leslie, Eskin, Cohen, Weston and Noble, Mismatch string kernels, 2004.
    """

    length: int
    mismatches: int
    alphabet: str
    domain: ClassVar[Domain] = {
        "length": positive_length,
        "mismatches": whole,
        "alphabet": known_alphabet,
    }
    theorem: ClassVar[str] = "the inner product of counts of words"

    def __post_init__(self) -> None:
        StringKernel.__post_init__(self)
        if self.mismatches > self.length:
            raise InvalidParameter(
                f"a word of {self.length} letters cannot have mismatches = {self.mismatches}"
            )
        if len(self.alphabet) ** self.length > Limits.word_code:
            raise InvalidParameter(
                f"there are too many words of {self.length} letters out of {len(self.alphabet)}"
            )

    def tables(self, letters: Letters) -> list[csr_array]:
        words = words_of(letters, self.length)
        distinct, which = np.unique(words.codes, return_inverse=True)
        held = tally(words.owners, which, (letters.n, len(distinct)))
        return [times(held, self._neighbours(distinct))]

    def _neighbours(self, codes: Array) -> csr_array:
        """Return the 0/1 table of which words are near the given ones."""
        size, length = len(self.alphabet), self.length
        each = sum(comb(length, i) * (size - 1) ** i for i in range(self.mismatches + 1))
        if each * len(codes) > Limits.neighbours:
            raise InvalidInput(
                f"{len(codes)} words of these strings have {each} neighbours each, more than can "
                "be listed; allow fewer mismatches or take fewer strings at a time"
            )
        near = []
        for count in range(self.mismatches + 1):
            for places in combinations(range(length), count):
                for shifts in product(range(1, size), repeat=count):
                    moved = codes
                    for place, shift in zip(places, shifts, strict=True):
                        unit = size**place
                        letter = codes // unit % size
                        moved = moved + ((letter + shift) % size - letter) * unit
                    near.append(moved)
        rows = np.tile(np.arange(len(codes)), each)
        table: csr_array = tally(rows, np.concatenate(near), (len(codes), size**length))
        return table


@value
class GappySpectrum(StringKernel):
    r"""The number of words two strings share when letters of a longer window may be left out.

    .. math:: k(s, t) = \sum_{|u| = \ell} \#^g_u(s)\, \#^g_u(t), \quad
        \#^g_u(s) = \text{windows of } \ell + g \text{ letters of } s
        \text{ of which } u \text{ is a subsequence}

    Without gaps it is the spectrum kernel. Strings shorter than a window have no words.

    Points are strings; ``length`` ℓ ≥ 1 and ``gaps`` g ≥ 0 are whole numbers, ``alphabet`` a text
    of different letters or a name.

    >>> GappySpectrum(2, 1)(["abc"], ["acb"])
    array([[2.]])

    Leslie and Kuang, Fast string kernels using inexact matching for protein sequences, 2004.
    """

    length: int
    gaps: int
    alphabet: str | None = None
    domain: ClassVar[Domain] = {
        "length": positive_length,
        "gaps": whole,
        "alphabet": alphabet_or_none,
    }
    theorem: ClassVar[str] = "the inner product of counts of words"

    def tables(self, letters: Letters) -> list[csr_array]:
        windows = words_of(letters, self.length + self.gaps)
        distinct, first, which = np.unique(windows.codes, return_index=True, return_inverse=True)
        held = tally(windows.owners, which, (letters.n, len(distinct)))
        return [times(held, self._subsequences(letters, windows.starts[first]))]

    def _subsequences(self, letters: Letters, starts: Array) -> csr_array:
        """Return the 0/1 table of which words are subsequences of the windows that begin there."""
        choices = list(combinations(range(self.length + self.gaps), self.length))
        if len(choices) * len(starts) > Limits.neighbours:
            raise InvalidInput(
                f"{len(starts)} windows of these strings have {len(choices)} subsequences each, "
                "more than can be listed; allow fewer gaps or take fewer strings at a time"
            )
        places = np.array(choices)[:, :, None] + starts
        columns = [letters.numbers[places[:, j]].reshape(-1) for j in range(self.length)]
        codes, size = coded(columns, letters.size)
        table: csr_array = tally(
            np.tile(np.arange(len(starts)), len(choices)), codes, (len(starts), size)
        )
        table.data[:] = 1.0  # a window holds a word or not, in however many ways
        return table
