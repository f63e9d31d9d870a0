"""Kernels on abundances, counts and compositions: what ecologists and omics compare samples by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array, Points, array_like, as_numpy, finite, namespace, vectors
from mercer.errors import InvalidInput, InvalidParameter, Row
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.pairs import Pairs, is_complex
from mercer.kernels.variables import OBSERVED
from mercer.settings import number, numbers


@value
class BrayCurtis(Kernel):
    r"""The Bray–Curtis similarity of abundances, which are not negative.

    .. math:: k(x, y) = \frac{2 \sum_j \min(x_j, y_j)}{\sum_j (x_j + y_j)}

    It is the product of two kernels: min, and 1/(a + b) of totals
    (:math:`\int_0^\infty e^{-ta} e^{-tb}\, dt`). Samples without any abundance share one unit
    vector of their own: 1 among themselves, 0 with all others.

    Points are vectors of real numbers ≥ 0.

    >>> BrayCurtis()([[2.0, 0.0, 4.0]], [[1.0, 1.0, 0.0], [2.0, 0.0, 4.0]])
    array([[0.25, 1.  ]])

    Bray and Curtis, An ordination of the upland forest communities of southern Wisconsin, 1957.
    """

    is_vectorial: ClassVar[bool] = True
    theorem: ClassVar[str] = "the product of the kernels min and 1/(a + b) of totals"
    formula: ClassVar[str] = "2 * sum(j, min(x[j], y[j])) / sum(j, x[j] + y[j])"

    def evaluate(self, pairs: Pairs) -> Array:
        a, b = pairs.vectors
        xp = pairs.xp
        shared = pairs.full(0.0)
        left, right = (xp.zeros(v.shape[0], dtype=xp.float64, **pairs.place) for v in (a, b))
        _refuse_below(a, "x", "negative", 0.0)
        _refuse_below(b, "y", "negative", 0.0)
        # Totals are added up in the order of the minima, so that k(x, x) is exactly 1.
        for j in range(pairs.columns):
            shared = shared + xp.minimum(pairs.of_x(a[:, j]), pairs.of_y(b[:, j]))
            left, right = left + a[:, j], right + b[:, j]
        totals = finite(pairs.of_x(left) + pairs.of_y(right), "the total of two samples")
        return xp.where(totals > 0, 2.0 * shared / xp.where(totals > 0, totals, 1.0), 1.0)


def _refuse_below(a: Array, name: str, what: str, least: float, *, equal: bool = False) -> None:
    if is_complex(a):
        raise InvalidInput(f"{name} must hold real numbers, found complex ones")
    wrong = a <= least if equal else a < least
    if bool(namespace(a).any(wrong)):
        i, j = (int(v) for v in np.argwhere(as_numpy(wrong))[0])
        row, column = Row(i), Row(j, "column")
        value = f"{as_numpy(a)[i, j]:g}"
        raise InvalidInput(
            f"{name} has a value that is {what} at {row}, {column}: {value}", row, column
        )


def centred_log_ratio(x: Points) -> Array:
    r"""Return the logarithms of positive parts minus their mean over each row.

    .. math:: \operatorname{clr}(x)_j = \ln x_j - \frac{1}{p} \sum_i \ln x_i

    >>> centred_log_ratio([[1.0, np.e ** 2]])
    array([[-1.,  1.]])
    """
    rows = vectors(x, "x")
    _refuse_below(
        rows,
        "x",
        "not positive (replace zeros by a small part before taking logarithms)",
        0.0,
        equal=True,
    )
    xp = namespace(rows)
    logs = xp.log(rows)
    ratios: Array = logs - xp.sum(logs, axis=1, keepdims=True) / rows.shape[1]
    return ratios


@value
class Aitchison(Kernel):
    r"""The inner product of compositions, of which only the ratios of parts matter.

    .. math:: k(x, y) = \langle \operatorname{clr}(x), \operatorname{clr}(y) \rangle, \quad
        \operatorname{clr}(x)_j = \ln x_j - \tfrac{1}{p} \textstyle\sum_i \ln x_i

    It is the linear kernel on centred log-ratios, ``Linear().on(centred_log_ratio)``; any kernel
    on vectors may stand in its place.

    Points are vectors of real numbers > 0.

    >>> k = Aitchison()
    >>> bool(np.isclose(k([[1.0, 2.0]], [[1.0, 8.0]])[0, 0], 1.5 * np.log(2.0) ** 2))
    True
    >>> bool(np.isclose(k([[1.0, 2.0]], [[5.0, 40.0]])[0, 0], k([[1.0, 2.0]], [[1.0, 8.0]])[0, 0]))
    True

    Aitchison, The statistical analysis of compositional data, 1986.
    """

    is_vectorial: ClassVar[bool] = True
    theorem: ClassVar[str] = "the inner product of centred log-ratios"

    def evaluate(self, pairs: Pairs) -> Array:
        return pairs.mapped(centred_log_ratio).inner()

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return pairs.mapped(centred_log_ratio).squared_distance()

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        # The log-ratios of y sum to 0, so that the mean of those of x does not matter.
        ratios = pairs.mapped(centred_log_ratio).vectors[1]
        slopes: Array = pairs.of_y(ratios) / pairs.of_x(pairs.vectors[0])
        return slopes

    def features(self, x: Points) -> Array:
        return centred_log_ratio(x)


@dataclass(frozen=True)
class Profile:
    r"""The map of counts to their shares of the row, in units of the roots of margins.

    >>> Profile((0.25, 0.75))([[1.0, 3.0]])
    array([[0.5       , 0.8660254]])
    """

    margins: tuple[float, ...]

    def __call__(self, x: Points) -> Array:
        rows = vectors(x, "x")
        if rows.shape[1] != len(self.margins):
            raise InvalidInput(
                f"the kernel has {len(self.margins)} margins but the counts {rows.shape[1]} columns"
            )
        totals = _totals(rows)
        roots = array_like(np.sqrt(self.margins), rows)
        profiles: Array = rows / totals[:, None] / roots
        return profiles


def _totals(rows: Array) -> Array:
    """Return the totals of rows of counts, each of which must hold something."""
    _refuse_below(rows, "x", "negative", 0.0)
    totals: Array = namespace(rows).sum(rows, axis=1)
    if bool(namespace(rows).any(totals <= 0.0)):
        row = Row(int(np.argmax(as_numpy(totals) <= 0.0)))
        raise InvalidInput(f"{row} holds no counts, and has no profile; leave it out", row)
    return finite(totals, "the total of a row")


def _margins(v: Any, name: str) -> tuple[float, ...] | str:
    if isinstance(v, str) and v == OBSERVED:
        return OBSERVED
    return numbers(v, name, partial(number, above=0.0))


@value
class ChiSquare(Kernel):
    r"""The inner product of the profiles of counts, whose distance is that of χ².

    .. math:: k(x, y) = \sum_j \frac{1}{c_j} \frac{x_j}{x_+} \frac{y_j}{y_+}, \quad
        d^2(x, y) = \sum_j \frac{1}{c_j} \Big(\frac{x_j}{x_+} - \frac{y_j}{y_+}\Big)^2

    with the totals :math:`x_+` of rows and the ``margins`` c, the shares of the columns in all
    counts, found from the data where they are ``"observed"``. Its kernel principal components,
    rows weighted by their totals, are correspondence analysis: `mercer.CA`.
    ``ChiSquare().gaussian("median")`` is a Gaussian kernel of the χ² distance.

    Points are vectors of real numbers ≥ 0, each with a total > 0; ``margins`` > 0, one for each
    column, or ``"observed"``.

    >>> ChiSquare(margins=[0.5, 0.5])([[1.0, 3.0]], [[2.0, 2.0], [0.0, 4.0]])
    array([[1. , 1.5]])
    >>> ChiSquare().resolve([[1.0, 3.0], [3.0, 9.0]])
    ChiSquare(margins=[0.25, 0.75])

    Benzécri, L'analyse des données, 1973; Greenacre, Correspondence analysis in practice, 2017.
    """

    margins: Sequence[float] | str = OBSERVED
    domain: ClassVar[Domain] = {"margins": _margins}
    is_vectorial: ClassVar[bool] = True
    theorem: ClassVar[str] = "the inner product of profiles in units of the roots of margins"
    distance_phrase: ClassVar[str] = "the χ² distance between profiles of {margins}"
    reads_profiles: ClassVar[bool] = True

    def resolve_own(self, x: Points) -> Kernel:
        if self.margins != OBSERVED:
            return self
        rows = as_numpy(vectors(x, "x"))
        _totals(rows)
        totals = rows.sum(axis=0)
        if np.any(totals <= 0.0):
            raise InvalidInput(
                f"column {int(np.argmin(totals))} holds no counts, and has no margin; leave it out"
            )
        return replace(self, margins=tuple((totals / totals.sum()).tolist()))

    @property
    def _map(self) -> Profile:
        if isinstance(self.margins, str):
            raise InvalidParameter("the margins depend on data: call k.resolve(x) first")
        return Profile(tuple(self.margins))

    def evaluate(self, pairs: Pairs) -> Array:
        return pairs.mapped(self._map).inner()

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return pairs.mapped(self._map).squared_distance()

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        profiles = pairs.mapped(self._map)
        x, y = profiles.vectors
        margins = profiles.array(self._map.margins)
        return {"margins": -pairs.of_x(x) * pairs.of_y(y) / margins}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        profiles = pairs.mapped(self._map)
        roots = profiles.array(np.sqrt(self._map.margins))
        totals = _totals(pairs.vectors[0])
        slopes: Array = pairs.of_y(profiles.vectors[1] / roots) - profiles.inner()[..., None]
        return slopes / pairs.of_x(totals)[..., None]

    def features(self, x: Points) -> Array:
        return self._map(x)
