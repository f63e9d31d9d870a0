"""Several kernels on the same individuals: which agree, which do not, and a map of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.compare.dependence import (
    ComparedPair,
    Dependence,
    DependenceTest,
    refuse_constant,
    test_dependence,
)
from mercer.compare.products import Tiled, products_of
from mercer.compare.sides import centring, named_sides, scale_gram
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.gram import Gram
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.resampling import adjusted_p_values
from mercer.settings import RandomState, spelled


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """The alignments of several kernels, tested, and a map in which near ones see alike.

    ``alignments`` is their matrix. ``pairs`` holds what was found of every two kernels, in the
    order of ``itertools.combinations(names, 2)``, and ``adjusted`` their p-values by Holm, which
    hold for all pairs together; it is None where nothing was tested. ``coordinates`` are those of
    the kernels on the axes of the matrix of alignments (the interstructure of STATIS), whose
    shares are ``shares``: on the first all kernels lie on the side of what they have in common.

    >>> import mercer as mc
    >>> x = mc.datasets.iris().matrix()
    >>> mc.compare_kernels({"straight": "linear()", "curved": "gaussian(1.0)"}, x, permutations=0)
    2 kernels on 150 individuals: not tested
      straight – curved  0.7354
    """

    names: tuple[str, ...]
    individuals: int
    alignments: Array
    pairs: tuple[Dependence, ...]
    adjusted: Array | None
    coordinates: Array
    shares: Array

    def _title(self) -> str:
        return f"{len(self.names)} kernels on {self.individuals} individuals: {self.pairs[0].how}"

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for k, (i, j) in enumerate(self.places):
            p = "" if self.adjusted is None else f"p = {self.adjusted[k]:.3g}"
            yield f"{self.names[i]} – {self.names[j]}", f"{self.alignments[i, j]:.4f}", p

    @property
    def seed(self) -> int | None:
        """The seed that repeats the permutations, None where there were none."""
        return self.pairs[0].seed

    @property
    def places(self) -> list[tuple[int, int]]:
        """The numbers of the two kernels of each pair."""
        return list(combinations(range(len(self.names)), 2))

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each pair of kernels."""
        first, second = np.array(self.places).T
        names = np.array(self.names)
        columns: dict[str, Array] = {
            "first": names[first],
            "second": names[second],
            "alignment": np.array([pair.statistic for pair in self.pairs]),
        }
        if self.adjusted is not None:
            columns["p_value"] = np.array([pair.p_value for pair in self.pairs])
            columns["adjusted"] = self.adjusted
        return as_frame(columns, library)


@spelled
def compare_kernels(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    kernels: Any,
    points: Any = None,
    *,
    sample_weight: Any = None,
    permutations: int | None = None,
    test: str | None = None,
    rank: int | None = None,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Comparison:
    r"""The centred alignments of every two kernels, with p-values and a map of the kernels.

    .. math:: C_{ml} = \frac{\langle HK_mH^\top, HK_lH^\top \rangle}
        {\|HK_mH^\top\| \, \|HK_lH^\top\|} = \sum_k \lambda_k u_{mk} u_{lk}, \quad
        \text{coordinates } \sqrt{\lambda_k}\, u_{mk}

    All kernels are computed in one pass over the pairs of individuals.

    Parameters
    ----------
    kernels : mapping from names, or sequence
        Kernels, their written forms, pairs of a kernel and its points, or Gram matrices.
    points : points, or mapping from the same names to points
        Those that all kernels share, or those of each; row i is the same individual in all.
    sample_weight, permutations, test, rank, stop_after, random_state, threads, progress
        See `alignment`. All pairs see the same permutations.

    Examples
    --------
    >>> from mercer import datasets
    >>> flowers = datasets.iris().numbers
    >>> parts = {"petals": flowers[:, 2:], "sepals": flowers[:, :2]}
    >>> kernels = {"petals": "linear()", "sepals": "linear()"}
    >>> compare_kernels(kernels, parts, permutations=99, random_state=0)
    2 kernels on 150 individuals: 99 permutations
      petals – sepals  0.7703  p = 0.01

    Lavit, Escoufier, Sabatier and Traissac (1994), Computational Statistics & Data Analysis 18.
    """
    with follow_work(progress, "permutations") as tell:
        asked = DependenceTest.of(
            test,
            permutations,
            rank,
            random_state=random_state,
            stop_after=stop_after,
            threads=threads,
            progress=tell,
        )
        return _compared(named_sides(kernels, points, sample_weight), sample_weight, asked)


def _compared(sides: dict[str, Gram], sample_weight: Any, asked: DependenceTest) -> Comparison:
    names, grams = list(sides), [scale_gram(gram) for gram in sides.values()]
    n = grams[0].shape[0]
    how = centring(sample_weight, n)
    products = products_of(grams, how)
    G = products.matrix()
    refuse_constant(names, grams, G)
    norms = np.sqrt(np.diag(G))
    C = np.clip(G / np.outer(norms, norms), -1.0, 1.0)
    places = list(combinations(range(len(names)), 2))
    found = []
    for k, (i, j) in enumerate(places):
        at, both, part, here = (i, j), grams, G, products
        if isinstance(products, Tiled):  # where all matrices have no room together, two may
            at, both, part = (0, 1), [grams[i], grams[j]], G[np.ix_([i, j], [i, j])]
            here = products_of(both, how)
        told = _shared(asked.draws.progress, k, len(places))
        mine = replace(asked, draws=replace(asked.draws, progress=told))
        pair = ComparedPair(here, both, how, part, float(norms[i] * norms[j]))
        found.append(test_dependence("alignment", float(C[i, j]), at, pair, mine))
    coordinates, shares = map(read_only, interstructure(C))
    adjusted = _adjusted(found)
    return Comparison(tuple(names), n, read_only(C), tuple(found), adjusted, coordinates, shares)


def _shared(progress: Progress | None, k: int, count: int) -> Progress | None:
    """Return the progress of one pair as part of that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(k * total + done, count * total)


def interstructure(C: Array) -> tuple[Array, Array]:
    """Return the coordinates of kernels on the axes of their alignments, and the axes' shares.

    >>> coordinates, shares = interstructure(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> shares, np.abs(coordinates @ coordinates.T)
    (array([0.75, 0.25]), array([[1. , 0.5], [0.5, 1. ]]))
    """
    values, vectors = np.linalg.eigh(C)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    coordinates = vectors * np.sqrt(values)
    largest = np.argmax(np.abs(coordinates), axis=0)
    signs = np.sign(coordinates[largest, np.arange(len(C))])
    return coordinates * np.where(signs == 0.0, 1.0, signs), values / values.sum()


def _adjusted(found: Sequence[Dependence]) -> Array | None:
    p_values = [pair.p_value for pair in found]
    given = [p for p in p_values if p is not None]
    return (
        read_only(adjusted_p_values(np.array(given), "holm"))
        if len(given) == len(p_values)
        else None
    )
