"""Two kernels on the same individuals: centred alignment, RV and HSIC, tested by permutation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.check import EPSILON, Array, Points
from mercer.compare.products import (
    FeatureProducts,
    Products,
    Stored,
    Tiled,
    moments,
    multiplied_moments,
    products_of,
)
from mercer.compare.sides import Centring, centring, noise, same_individuals, scale_gram, side
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.gram import Gram
from mercer.kernels.vectors import Linear
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.resampling import PERMUTATIONS, Resampling
from mercer.settings import RandomState, spelled, whole

TESTS = ("permutation", "multiplier", "pearson")
ESTIMATORS = ("biased", "unbiased")


@dataclass(frozen=True, eq=False, repr=False)
class Dependence(Shown):
    """How alike two kernels see the same individuals, and how often chance makes them as alike.

    ``p_value`` is None where nothing was tested. ``null`` holds the statistic of each of the
    ``permutations``, or draws of multipliers, that were made with ``seed``; ``test`` is which of
    them, and ``how`` says how the p-value was found, and whether it is an approximation.

    >>> import mercer as mc
    >>> x = mc.datasets.iris().matrix()
    >>> mc.hsic("linear()", "linear()", x[:, :2], x[:, 2:], random_state=0)
    HSIC 1.987, p = 0.001 (150 individuals, 999 permutations)
    """

    measure: str
    statistic: float
    p_value: float | None
    null: Array
    permutations: int
    seed: int | None
    individuals: int
    how: str
    test: str = "permutation"

    def _title(self) -> str:
        p = "" if self.p_value is None else f", p = {self.p_value:.3g}"
        return (
            f"{self.measure} {self.statistic:.4g}{p} ({self.individuals} individuals, {self.how})"
        )


@dataclass(frozen=True)
class DependenceTest:
    """The question put to a test: the law, the features, and how chance is asked."""

    law: str | None
    rank: int | None
    is_counted: bool
    draws: Resampling

    @classmethod
    def of(
        cls, law: str | None, permutations: int | None, rank: int | None, **more: Any
    ) -> DependenceTest:
        """Return what the arguments of a measure ask for."""
        if law is not None and law not in TESTS:
            raise InvalidParameter(f"test must be one of {', '.join(TESTS)}, found {law!r}")
        is_counted = permutations is not None
        draws = Resampling.of(permutations if is_counted else PERMUTATIONS, least=0, **more)
        return cls(law, None if rank is None else whole(rank, "rank", least=1), is_counted, draws)

    def resampling(self, products: Products, how: Centring) -> Resampling:
        """Return how chance is asked: not by default where each draw is a pass of its own."""
        is_tiled = isinstance(products, Tiled)
        if is_tiled and self.rank is None and not self.is_counted:
            return replace(self.draws, count=0)
        # Tiles have threads of their own, and few entries are permuted before threads begin.
        entries = len(how.weights) ** 2 * self.draws.count
        is_single = is_tiled or entries < how.limits.entries
        return replace(self.draws, threads=1) if is_single else self.draws


@spelled
def alignment(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    k1: Any,
    k2: Any,
    x: Points | None = None,
    y: Points | None = None,
    *,
    sample_weight: Any = None,
    permutations: int | None = None,
    test: str | None = None,
    rank: int | None = None,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Dependence:
    r"""The centred alignment of two kernels: the cosine of the angle between their matrices.

    .. math:: \frac{\langle HKH^\top, HLH^\top \rangle}{\|HKH^\top\| \, \|HLH^\top\|}, \quad
        \langle K, L \rangle = \sum_{ij} w_i w_j k_{ij} l_{ij}, \quad H = I - 1 w^\top

    It is 1 where both see the same up to a scale, and near 0 where neither says anything of the
    other. Under independence it is positive all the same, the more so the smaller n: the p-value
    says how often chance gives as much.

    Parameters
    ----------
    k1, k2 : Kernel, str, function, pair of a kernel and its points, Gram, or square matrix
    x, y : points, optional
        Those of both kernels, or ``y`` those of the second. The i-th is the same individual.
    sample_weight : array, optional
        The weight of each individual; equal by default. Norms remain those that were observed,
        whatever is permuted. Individuals of weight 0 are left out.
    permutations : int, optional
        How many permutations, or multipliers, to draw; 0 tests nothing. By default 999 where
        matrices are in memory (up to 3 000 individuals) or kernels linear, and none beyond, where
        each takes a pass over all pairs.
    test : {"permutation", "multiplier", "pearson"}, optional
        ``"permutation"``, the default where weights are equal, is exact then. With unequal weights
        it leaves these in place, and is exact only where they have nothing to do with the second
        side: weights that depend on both make it reject far too often. ``"multiplier"``, the
        default where weights are unequal, multiplies each individual by a normal number,

        .. math:: T_r = \sum_{ij} \frac{\varepsilon_i\, \varepsilon_j\, w_i w_j}{(1 - w_i)(1 - w_j)}
            \tilde k_{ij}\, \tilde l_{ij}, \quad \varepsilon_i \sim \mathcal N(0, 1),

        which has the limit law of the statistic where the two are independent in the population
        that the weights stand for, whatever these depend on; 1 - w is what centring leaves of an
        individual. Of independent normal samples of 60 under seven kinds of weights it rejected
        1 to 4 % at the level 5 % with Gaussian kernels and 2 to 7 % with linear ones, where
        permutations rejected 4 to 15 % and 4 to 27 %. It is careful where few individuals have
        most of the weight: of 50 with the weight (xy)², which count as much as 10 of equal weight,
        it rejected 0.5 % of 200 independent samples, and saw a correlation of 0.6 in 26 % (10 of
        equal weight are seen in 30 % by permutations); of 200, which count as 25, it rejected 4 %
        and saw it in 87 %.
        ``"pearson"`` takes the Pearson type III law with the exact mean, variance and skewness of
        all permutations, or multipliers, instead of drawing any: fast, close, and an
        approximation.
    rank : int, optional
        Permute features of so many dimensions instead of the matrices, an approximation.
    stop_after : int, optional
        Stop after so many permutations that reach the observed value (Besag and Clifford, 1991).
    random_state : int or generator, optional
        The seed; the r-th permutation depends on nothing else but r.
    threads : int, optional
        How many threads to use, by default one for each core. The result is the same.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the permutations done and asked.

    Examples
    --------
    >>> from mercer import datasets
    >>> flowers = datasets.iris().numbers
    >>> alignment("gaussian(bandwidth='median')", "linear()", flowers, random_state=0)
    alignment 0.9309, p = 0.001 (150 individuals, 999 permutations)

    Cortes, Mohri and Rostamizadeh (2012), Journal of Machine Learning Research 13, 795-828. For
    multipliers: Leucht and Neumann (2013), Journal of Multivariate Analysis 117, 257-280.
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
        sides = _both(k1, k2, x, y, sample_weight)
        return _measured("alignment", sides, sample_weight, asked)


@spelled
def rv(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    x: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    permutations: int | None = None,
    test: str | None = None,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Dependence:
    r"""The RV coefficient of two tables with the same rows: the alignment of linear kernels.

    .. math:: \mathrm{RV} = \frac{\|X^\top W Y\|^2}{\|X^\top W X\| \, \|Y^\top W Y\|},
        \quad \text{columns of X and Y centred}

    Of two single columns it is their squared correlation. Arguments are those of `alignment`.

    >>> rv([[1.0], [2.0], [4.0]], [[1.0], [3.0], [2.0]], permutations=0).statistic
    0.10714286
    >>> float(np.corrcoef([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])[0, 1] ** 2)
    0.10714286

    Escoufier (1973), Biometrics 29; Josse, Pagès and Husson (2008), Computational Statistics &
    Data Analysis 53, for the test.
    """
    with follow_work(progress, "permutations") as tell:
        asked = DependenceTest.of(
            test,
            permutations,
            None,
            random_state=random_state,
            stop_after=stop_after,
            threads=threads,
            progress=tell,
        )
        sides = _both((Linear(), x), (Linear(), y), None, None, sample_weight)
        return _measured("RV", sides, sample_weight, asked)


@spelled
def hsic(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    k1: Any,
    k2: Any,
    x: Points | None = None,
    y: Points | None = None,
    *,
    estimator: str = "biased",
    sample_weight: Any = None,
    permutations: int | None = None,
    test: str | None = None,
    rank: int | None = None,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Dependence:
    r"""The Hilbert–Schmidt independence criterion of two kernels, and a test of independence.

    .. math:: \mathrm{HSIC}_b = \sum_{ij} w_i w_j\, (HKH^\top)_{ij} (HLH^\top)_{ij}
        = \frac{1}{n^2} \operatorname{tr}(KHLH), \quad w_i = \tfrac1n

    With characteristic kernels, such as the Gaussian, its limit is zero only for independent
    variables. ``estimator="unbiased"`` leaves out what pairs a point with itself:

    .. math:: \mathrm{HSIC}_u = \frac{1}{n(n-3)} \Big( \operatorname{tr}(\hat K \hat L)
        + \frac{1^\top \hat K 1\, 1^\top \hat L 1}{(n-1)(n-2)}
        - \frac{2}{n-2} 1^\top \hat K \hat L 1 \Big), \quad
        \hat K = K - \mathrm{diag}(K)

    With minus the distance on both sides, ``negative_distance()``, it is the squared distance
    covariance. Other arguments are those of `alignment`.

    >>> x = np.linspace(-1.0, 1.0, 60)
    >>> hsic("gaussian(bandwidth=0.5)", "gaussian(bandwidth=0.5)", x, x**2, random_state=0)
    HSIC 0.02962, p = 0.001 (60 individuals, 999 permutations)
    >>> rv(x, x**2, random_state=0).p_value  # no correlation sees it
    1.0

    Gretton et al. (2008), Advances in Neural Information Processing Systems 20; Song et al.
    (2012), Journal of Machine Learning Research 13, Theorem 2.
    """
    if estimator not in ESTIMATORS:
        raise InvalidParameter(
            f"estimator must be one of {', '.join(ESTIMATORS)}, found {estimator!r}"
        )
    is_unbiased = estimator == "unbiased"
    if is_unbiased and rank is not None:
        raise InvalidParameter("rank approximates the biased estimator; leave one of them out")
    name = "unbiased HSIC" if is_unbiased else "HSIC"
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
        sides = _both(k1, k2, x, y, sample_weight)
        return _measured(name, sides, sample_weight, asked, is_unbiased=is_unbiased)


def _both(
    k1: Any, k2: Any, x: Points | None, y: Points | None, sample_weight: Any
) -> dict[str, Gram]:
    found = {
        "the first": side(k1, x, "the first", sample_weight),
        "the second": side(k2, x if y is None else y, "the second", sample_weight),
    }
    same_individuals(found)
    return found


def _measured(
    measure: str,
    sides: dict[str, Gram],
    sample_weight: Any,
    asked: DependenceTest,
    *,
    is_unbiased: bool = False,
) -> Dependence:
    is_cosine = not measure.endswith("HSIC")
    grams = [scale_gram(gram) if is_cosine else gram for gram in sides.values()]
    n = grams[0].shape[0]
    how = centring(sample_weight, n, is_unbiased=is_unbiased)
    products = products_of(grams, how)
    G = products.matrix()
    if is_cosine:
        refuse_constant(list(sides), grams, G)
    unit = float(np.sqrt(G[0, 0] * G[1, 1])) if is_cosine else 1.0
    statistic = float(G[0, 1]) / unit
    if is_cosine:
        statistic = min(max(statistic, -1.0), 1.0)
    return test_dependence(
        measure, statistic, (0, 1), ComparedPair(products, grams, how, G, unit), asked
    )


def is_constant(gram: Gram, square: float) -> bool:
    """Whether the squared norm of a centred matrix is what rounding makes of zero."""
    return square <= noise(gram) ** 2


def refuse_constant(names: list[str], grams: list[Gram], G: Array) -> None:
    """Refuse a kernel under which all individuals are alike: it has no angle with another."""
    for i, (name, gram) in enumerate(zip(names, grams, strict=True)):
        if is_constant(gram, float(G[i, i])):
            raise InvalidInput(
                f"all individuals are alike under {name}, {gram.kernel}: its centred matrix is "
                "zero to rounding, and its alignment with another undefined"
            )


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """Several matrices of which two are tested, and the unit their statistic is divided by."""

    products: Products
    grams: list[Gram]
    how: Centring
    G: Array
    unit: float


def test_dependence(
    measure: str, statistic: float, at: tuple[int, int], pair: ComparedPair, asked: DependenceTest
) -> Dependence:
    """Return a statistic with its test: individuals of the second permuted, or both multiplied."""
    n = len(pair.how.weights)
    a, b = at
    nothing = read_only(np.zeros(0))
    if any(is_constant(pair.grams[i], float(pair.G[i, i])) for i in at):
        text = "all individuals are alike under one of them: chance cannot give less"
        return Dependence(measure, statistic, 1.0, nothing, 0, None, n, text)
    law = asked.law or ("permutation" if pair.how.is_equal else "multiplier")
    if law == "pearson":
        p, text = _by_moments(pair, a, b), "Pearson type III with three exact moments"
        return Dependence(measure, statistic, p, nothing, 0, None, n, text, law)
    products = pair.products
    if asked.rank is not None:
        products = products_of([pair.grams[a], pair.grams[b]], pair.how, asked.rank)
        a, b = 0, 1
    draws = asked.resampling(pair.products if asked.rank is None else products, pair.how)
    count = draws.count
    if count == 0:
        return Dependence(measure, statistic, None, nothing, 0, None, n, "not tested", law)
    G = pair.G if asked.rank is None else products.matrix()
    slack = n * EPSILON * float(np.sqrt(G[a, a] * G[b, b]))
    is_permuted = law == "permutation"
    of = products.permuted(a, b) if is_permuted else products.multiplied(a, b)
    left = 1.0 - pair.how.weights  # what centring leaves of each individual

    def value(r: int) -> float:
        rng = draws.generator(r)
        return of(rng.permutation(n) if is_permuted else rng.standard_normal(n) / left)

    size = 1 if draws.threads == 1 else pair.how.limits.batch
    null = draws.null(draws.batches(value, size), float(G[a, b]) - slack)
    made = len(null.values)
    text = f"{made} " + ("permutations" if is_permuted else "draws of multipliers")
    text += f" of {count}" if made < count else ""
    if isinstance(products, FeatureProducts) and products.rank is not None:
        held = f"{100 * products.held:.4g} % of the trace"
        text += f" of features of rank {asked.rank}, an approximation that holds {held}"
    if is_permuted and not pair.how.is_equal:
        text += ", exact where weights have nothing to do with the second"
    values, p = read_only(null.values[:, 0] / pair.unit), float(null.p_values[0])
    return Dependence(measure, statistic, p, values, made, draws.seed, n, text, law)


def _by_moments(pair: ComparedPair, a: int, b: int) -> float:
    """Return the p-value of the law with the moments of all permutations, or multipliers."""
    w = pair.how.weights
    most = pair.how.limits.stored
    if len(w) > most:
        raise InvalidInput(
            "test='pearson' needs the product of a matrix with itself, which is held up to "
            f"{most:,} individuals: ".replace(",", " ")
            + "draw permutations, or those of features with rank="
        )
    if isinstance(pair.products, Stored):
        left, right = pair.products.matrices[a], pair.products.matrices[b]
    else:
        left, right = (pair.how.dense(pair.grams[i]) for i in (a, b))
    if np.iscomplexobj(left) or np.iscomplexobj(right):
        raise InvalidInput("test='pearson' needs real matrices: use permutations")
    left = left / (len(w) * (len(w) - 3)) if pair.how.is_unbiased else left * np.outer(w, w)
    if not pair.how.is_equal:
        left = left / np.outer(1.0 - w, 1.0 - w)
        return multiplied_moments(left * right).p_value(float(pair.G[a, b]))
    return moments(left, right).p_value(float(pair.G[a, b]))
