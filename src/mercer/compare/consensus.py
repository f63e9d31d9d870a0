"""One kernel for what several say: STATIS and unsupervised multiple kernel learning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, sparse

from mercer.check import Array, chunks
from mercer.compare.dependence import refuse_constant
from mercer.compare.products import products_of
from mercer.compare.sides import (
    VALUE_ROUNDING,
    CentredSide,
    Centring,
    centring,
    named_sides,
    reads_rows,
)
from mercer.data.frames import as_frame
from mercer.display import Shown
from mercer.engines.cpu import Threads, using
from mercer.engines.tiles import Block
from mercer.errors import InvalidInput, InvalidParameter
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.tables import Columns
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.settings import number as real_number
from mercer.settings import spelled, whole

METHODS = ("statis", "full-umkl", "sparse-umkl")

NEGLIGIBLE = 1e-12
"""Weight, as a share of all, that is rounding: its kernel is left out."""

SAME_VALUE = 1e-9
"""Eigenvalues that are closer, relative to the largest, are one."""


@dataclass(frozen=True, eq=False, repr=False)
class Consensus(Shown):
    r"""A kernel made of several, for `KernelPCA` and every other model.

    .. math:: k = \sum_m \frac{\beta_m}{\|HK_mH^\top\|}\, k_m, \quad \beta_m \ge 0,\;
        \textstyle\sum_m \beta_m = 1

    ``kernel`` takes the points that all kernels share; where they have points of their own it takes
    a mapping from the names of those with a weight to their points. ``weights`` are the β,
    ``norms`` what each kernel is divided by, ``alignments`` those of every two kernels and
    ``agreement`` that of each with the consensus. ``value`` is what the method makes large
    (STATIS: the share of the first eigenvalue) or small (UMKL), ``gap`` a bound for how far it is
    from the least there is.

    >>> import mercer as mc
    >>> x = mc.datasets.iris().matrix()
    >>> mc.consensus({"straight": "linear()", "curved": "gaussian(1.0)"}, x)
    Consensus of 2 kernels by statis
      straight  0.500  agreement 0.932
      curved    0.500  agreement 0.932
    """

    method: str
    names: tuple[str, ...]
    kernel: Kernel
    weights: Array
    norms: Array
    alignments: Array
    agreement: Array
    value: float
    gap: float

    def _title(self) -> str:
        return f"Consensus of {len(self.names)} kernels by {self.method}"

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for name, weight, agreement in zip(self.names, self.weights, self.agreement, strict=True):
            yield name, f"{weight:.3f}", f"agreement {agreement:.3f}"

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each kernel, with its weight and agreement."""
        columns = {
            "kernel": np.array(self.names),
            "weight": self.weights,
            "agreement": self.agreement,
        }
        return as_frame(columns, library)


@spelled
def consensus(
    kernels: Any,
    points: Any = None,
    *,
    method: str = "statis",
    neighbours: int = 5,
    penalty: float = 1.0,
    sample_weight: Any = None,
    progress: bool | Progress | None = None,
) -> Consensus:
    r"""The kernel on which several agree, as a kernel: new individuals can be projected.

    Each kernel is divided by the norm of its centred matrix; with C the matrix of their alignments:

    - ``"statis"``: β is the first eigenvector of C, which makes the sum of squared alignments with
      the consensus largest. It has no negative entries.
    - ``"sparse-umkl"``: β makes :math:`\beta^\top S \beta` least, where S measures how far
      neighbours are taken apart (see below). Many weights are zero.
    - ``"full-umkl"``: β makes :math:`\beta^\top S \beta + \rho \|\beta\|^2` least, so that all
      kernels keep some weight.

    .. math:: S_{ml} \propto \sum_{ij} W_{ij}\, \langle \Delta^m_i - \Delta^m_j,
        \Delta^l_i - \Delta^l_j \rangle, \quad \operatorname{tr} S = M

    :math:`\Delta^m_i` is row i of the m-th centred matrix and :math:`W_{ij}` the number of kernels
    for which i and j are neighbours.

    Parameters
    ----------
    kernels : mapping from names, or sequence
        Kernels, their written forms, pairs of a kernel and its points, or Gram matrices, which
        know of no individuals but their own.
    points : points, or mapping from the same names to points
        Those that all kernels share, or those of each; row i is the same individual in all.
    neighbours : int
        How many nearest ones a kernel joins with each individual, for UMKL.
    penalty : float
        The ρ of full UMKL: at 0 it is sparse UMKL, and for large ones weights are equal.
    sample_weight : array, optional
        Weights of individuals, for STATIS.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the parts done and the parts of each
        pass over the matrices: tiles, or rows.

    Notes
    -----
    Full UMKL is printed as the least of :math:`\beta^\top S \beta` over β ≥ 0 with
    :math:`\|\beta\|_2 = 1`. Where no entry of S is negative, as is the rule, that is one kernel
    alone, the one with the least :math:`S_{mm}`, since

    .. math:: \beta^\top S \beta \ge \sum_m S_{mm} \beta_m^2 \ge \min_m S_{mm}

    and not the combination it is meant to be. The penalty here makes the problem convex; its
    solution is where the published algorithm's first step leads from equal weights (the algorithm's
    parameter, 20, is twice ρ).

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> flowers = datasets.iris().numbers
    >>> both = {"petals": ("linear()", flowers[:, 2:]), "sepals": ("linear()", flowers[:, :2])}
    >>> found = consensus(both)
    >>> found
    Consensus of 2 kernels by statis
      petals  0.500  agreement 0.941
      sepals  0.500  agreement 0.941
    >>> model = KernelPCA(2, kernel=found.kernel)
    >>> model = model.fit({"petals": flowers[:, 2:], "sepals": flowers[:, :2]})
    >>> model.transform({"petals": [[4.0, 1.3]], "sepals": [[6.0, 3.0]]}).shape
    (1, 2)

    L'Hermier des Plantes (1976), and Lavit et al. (1994), Computational Statistics & Data Analysis
    18, for STATIS; Mariette and Villa-Vialaneix (2018), Bioinformatics 34, §2, for UMKL.
    """
    if method not in METHODS:
        raise InvalidParameter(f"method must be one of {', '.join(METHODS)}, found {method!r}")
    with follow_work(progress, "parts") as tell, using(Threads(progress=tell)):
        return _found(kernels, points, method, neighbours, penalty, sample_weight, tell)


def _found(  # noqa: PLR0913, PLR0917  (what `consensus` was asked, in its order)
    kernels: Any,
    points: Any,
    method: str,
    neighbours: int,
    penalty: float,
    sample_weight: Any,
    tell: Progress | None,
) -> Consensus:
    sides = named_sides(kernels, points, sample_weight)
    names, grams = list(sides), list(sides.values())
    n = grams[0].shape[0]
    how = centring(sample_weight, n)
    G = products_of(grams, how).matrix(tell)
    refuse_constant(names, grams, G)
    norms = np.sqrt(np.diag(G))
    C = G / np.outer(norms, norms)
    if method == "statis":
        weights, value, gap = statis_weights(C)
    else:
        if sample_weight is not None:
            raise InvalidParameter("UMKL does not support weights: leave sample_weight out")
        count = whole(neighbours, "neighbours", least=1)
        if count >= n:
            raise InvalidInput(f"{n} individuals have at most {n - 1} neighbours, not {count}")
        rho = real_number(penalty, "penalty", above=0.0, allowed=0.0)
        S = _scaled(grams, how, norms, count, tell)
        Q = S if method == "sparse-umkl" else S + rho * np.eye(len(S))
        weights, gap = least_on_simplex(Q)
        value = float(weights @ Q @ weights)
    weights = np.where(weights > NEGLIGIBLE, weights, 0.0)
    weights = weights / weights.sum()
    image = C @ weights
    return Consensus(
        method=method,
        names=tuple(names),
        kernel=_combined(sides, weights / norms, is_shared=_is_shared(kernels, points)),
        weights=read_only(weights),
        norms=read_only(norms),
        alignments=read_only(C),
        agreement=read_only(image / np.sqrt(weights @ image)),
        value=value,
        gap=gap,
    )


def statis_weights(C: Array) -> tuple[Array, float, float]:
    r"""Return the first eigenvector of a matrix of alignments, its share, and its residual.

    By Perron and Frobenius it has no negative entry where C has none. Where the first eigenvalue
    is multiple, it is the projection of equal weights onto its space.

    >>> statis_weights(np.array([[1.0, 0.6], [0.6, 1.0]]))[:2]
    (array([0.5, 0.5]), 0.8)
    """
    values, vectors = np.linalg.eigh(C)
    if C.min() < -SAME_VALUE:
        i, j = np.unravel_index(int(np.argmin(C)), C.shape)
        raise InvalidInput(
            f"the alignment of kernels {i + 1} and {j + 1} is negative, {C[i, j]:.3g}: one of them "
            "is not positive definite, and there is no consensus of nonnegative weights"
        )
    top = vectors[:, values > values[-1] * (1.0 - SAME_VALUE)]
    u = np.maximum(top @ (top.T @ np.ones(len(C))), 0.0)
    u = u / u.sum()
    residual = float(np.linalg.norm(C @ u - values[-1] * u))
    return u, float(values[-1] / len(C)), residual


def _scaled(
    grams: list[Gram], how: Centring, norms: Array, count: int, tell: Progress | None
) -> Array:
    """Return S of kernels that are divided by their norms, with the mean of its diagonal 1."""
    S = tear_matrix([how.of(gram) for gram in grams], count, tell) / np.outer(norms, norms)
    mean = float(np.mean(np.diag(S)))
    return np.asarray(S / mean if mean > 0.0 else S)


def _is_shared(kernels: Any, points: Any) -> bool:
    given = list(kernels.values() if isinstance(kernels, Mapping) else kernels)
    if any(isinstance(k, tuple) for k in given):
        return False
    if any(isinstance(k, Gram) for k in given):
        sources = [k.x if isinstance(k, Gram) else points for k in given]
        return all(_are_same(source, sources[0]) for source in sources)
    return not isinstance(points, Mapping) or any(reads_rows(k) for k in given)


def _are_same(points: Any, others: Any) -> bool:
    """Whether two are one sequence of points, or views of one array."""
    if isinstance(points, np.ndarray) and isinstance(others, np.ndarray):
        views = [(a.__array_interface__["data"], a.shape, a.strides) for a in (points, others)]
        return views[0] == views[1]
    return points is others


def _combined(sides: Mapping[str, Gram], factors: Array, *, is_shared: bool) -> Kernel:
    """Return Σ cₘkₘ, on points that are shared or on rows that hold those of each kernel."""
    kept = {
        name: (float(c), gram.kernel)
        for (name, gram), c in zip(sides.items(), factors, strict=True)
        if c > 0.0
    }
    if not is_shared:
        weights = {name: c for name, (c, _) in kept.items()}
        return Columns({name: kernel for name, (_, kernel) in kept.items()}, weights=weights)
    first, *others = [c * kernel for c, kernel in kept.values()]
    return sum(others, start=first)


class Least(NamedTuple):
    """The minimiser, and a bound for how far its value is above the minimum."""

    weights: Array
    gap: float


def least_on_simplex(Q: Array) -> Least:
    r"""Return the minimiser of a convex quadratic form over the simplex.

    .. math:: \min_\beta\; \beta^\top Q \beta, \quad \beta \ge 0,\; \textstyle\sum_m \beta_m = 1

    With Q = RᵀR it is the point of least norm in the hull of R's columns. Nonnegative least squares
    finds it by an active set: min ‖Ry‖² + (Σy - 1)² over y ≥ 0 has y = tβ, since for a given sum t
    the value is t²·βᵀQβ + (t - 1)². Convexity bounds what is left:

    .. math:: \beta^\top Q \beta - \min \le 2 \Big( \beta^\top Q \beta - \min_m (Q\beta)_m \Big)

    which is zero exactly where the conditions of Karush, Kuhn and Tucker hold.

    >>> least = least_on_simplex(np.array([[1.0, 0.5], [0.5, 2.0]]))
    >>> least.weights, least.gap < 1e-12
    (array([0.75, 0.25]), True)
    """
    unit = float(np.max(np.diag(Q), initial=0.0))
    if unit <= 0.0:
        return Least(np.full(len(Q), 1.0 / len(Q)), 0.0)
    values, vectors = np.linalg.eigh(0.5 * (Q + Q.T) / unit)
    if values[0] < -1e-10 * values[-1]:
        raise InvalidInput(
            f"the quadratic form has the negative eigenvalue {unit * values[0]:.3g}: it is not "
            "convex, and its least value is not found by one descent"
        )
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    target = np.zeros(len(Q) + 1)
    target[-1] = 1.0
    y, _ = optimize.nnls(np.vstack([root, np.ones(len(Q))]), target)
    weights: Array = y / y.sum()
    image = Q @ weights
    return Least(weights, 2.0 * float(weights @ image - image.min()))


def neighbours(side: CentredSide, count: int) -> sparse.csr_array:
    r"""Return the graph that joins each individual with its nearest in the space of a kernel.

    .. math:: d^2(i, j) = k_{ii} + k_{jj} - 2\, \Re k_{ij}

    Two are joined if either is among the ``count`` nearest of the other; of those that are equally
    near some are taken.
    """
    n = side.n
    diagonal = side.gram.diag()
    found: list[Array] = []
    for rows in chunks(n, side.how.limits.strip):
        here = np.arange(rows.start, rows.stop)
        squares = diagonal - 2.0 * side.gram.rows(here).real
        squares[np.arange(len(here)), here] = np.inf
        found.append(np.argpartition(squares, count - 1, axis=1)[:, :count])
    columns = np.vstack(found).ravel()
    of = np.repeat(np.arange(n), count)
    directed = sparse.csr_array((np.ones(len(of)), (of, columns)), shape=(n, n))
    return directed.maximum(directed.T)


def tear_matrix(sides: Sequence[CentredSide], count: int, tell: Progress | None = None) -> Array:
    r"""Return how far combinations of kernels take apart the neighbours of all of them.

    .. math:: S_{ml} = \sum_{ij} W_{ij}\, \langle \Delta^m_i - \Delta^m_j,
        \Delta^l_i - \Delta^l_j \rangle = 2 \operatorname{tr}(K_m L K_l)

    where :math:`\Delta^m_i` is the i-th row of the centred matrix of kernel m, :math:`W_{ij}`
    counts the kernels under which i and j are neighbours, and L is the Laplacian of W. What cannot
    be told from rounding, as where all neighbours are copies, is zero. ``tell`` hears of the rows.
    """
    graph = sum((neighbours(side, count) for side in sides[1:]), neighbours(sides[0], count))
    degrees = graph.sum(axis=1)
    laplacian = sparse.diags_array(degrees) - graph
    n = sides[0].n
    total, sizes = np.zeros((len(sides), len(sides))), np.zeros(len(sides))
    for rows in chunks(n, sides[0].how.limits.strip):
        block = Block(rows, slice(0, n))
        here = np.arange(rows.start, rows.stop)
        strips = [side.centred(side.gram.rows(here), block) for side in sides]
        flat = np.stack([strip.ravel() for strip in strips])
        images = np.stack([(laplacian @ strip.T).T.ravel() for strip in strips])
        total += (flat @ images.conj().T).real
        sizes += [float(np.sum(np.abs(strip) ** 2 @ degrees)) for strip in strips]
        if tell is not None:
            tell(rows.stop, n)
    largest = np.array([np.max(np.abs(side.gram.diag())) for side in sides])
    rounding = VALUE_ROUNDING * sizes + degrees.sum() * n * (VALUE_ROUNDING * largest) ** 2
    is_torn = np.diag(total) > rounding
    return (total + total.T) * np.outer(is_torn, is_torn)
