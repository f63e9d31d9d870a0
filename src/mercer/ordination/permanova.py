"""Permutational analysis of variance: how much of the spread of individuals groups account for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from mercer.check import Array, chunks
from mercer.data.frames import Tidy, as_frame
from mercer.display import Shown
from mercer.errors import InvalidInput, NotAvailable
from mercer.estimator import one_of
from mercer.ordination.designs import ORDERS, Basis, Cloud, Terms, exchange_rows, strata_of
from mercer.points import read_only
from mercer.progress import Progress, follow_work
from mercer.resampling import PERMUTATIONS, Resampling
from mercer.settings import RandomState, spelled

NUMBERS = 2**21
"""Of permuted columns that are multiplied at a time: 16 MB."""

TIES = 1e-9
"""A share of F within which a permutation ties with the observed one: sums of other roundings."""


@dataclass(frozen=True, eq=False, repr=False)
class Permanova(Shown):
    """How much of the spread of individuals each term accounts for, and what chance would do.

    ``terms`` are tested ``by`` "terms", each after those before it, or by "margin", each after all
    others. ``r2`` are their shares of the total sum of squares, ``f`` their pseudo-F; the last of
    ``degrees`` is that of the residual. ``null`` has the F of each permutation in a row; without
    permutations ``p_values`` is None.

    >>> import mercer as mc
    >>> irises = mc.datasets.iris()
    >>> apart = mc.distance("linear()", irises.matrix(), irises.matrix())
    >>> mc.permanova(apart, irises.column("Species").values, random_state=0)
    Permanova: 150 individuals, by terms, 999 permutations
      groups  R² = 0.8689  F = 487.3, p = 0.001
    """

    terms: tuple[str, ...]
    degrees: tuple[int, ...]
    r2: Array
    f: Array
    p_values: Array | None
    by: str
    individuals: int
    permutations: int
    seed: int | None
    null: Array
    sums_in_units: Array
    total_in_units: float
    unit: float = 1.0

    def _title(self) -> str:
        return (
            f"Permanova: {self.individuals} individuals, by {self.by}, "
            f"{self.permutations} permutations"
        )

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for k, (name, r2, f) in enumerate(zip(self.terms, self.r2, self.f, strict=True)):
            p = "" if self.p_values is None else f", p = {self.p_values[k]:.3g}"
            yield name, f"R² = {r2:.4g}", f"F = {f:.4g}{p}"

    @property
    def residual_r2(self) -> float:
        """The share of the total that no term accounts for."""
        return float(self.sums_in_units[-1] / self.total_in_units)

    @property
    def sums_of_squares(self) -> Array:
        """Those of the terms, and that of the residual."""
        return self._in_units(self.sums_in_units)

    @property
    def total(self) -> float:
        """The sum of squared distances of the individuals to their barycentre."""
        return float(self._in_units(np.array([self.total_in_units]))[0])

    def _in_units(self, values: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            found = values * self.unit * self.unit
        if self.unit != 1.0 and not np.all(np.isfinite(found) & ((found != 0) | (values == 0))):
            raise NotAvailable(
                f"the squares of data of size {self.unit:.0e} are no double precision numbers; "
                "r2, f and p_values are right: rescale the data for the rest"
            )
        return read_only(found)

    def table(self, library: str | None = None) -> Tidy | Any:
        """Return a tidy table: one row for each term, for the residual and for the total."""
        sums = np.append(self.sums_of_squares, self.total)
        unknown = np.array([np.nan, np.nan])
        columns = {
            "term": np.array([*self.terms, "residual", "total"], dtype=object),
            "degrees": np.array([*self.degrees, self.individuals - 1]),
            "sum_of_squares": sums,
            "r2": np.append(self.r2, [self.residual_r2, 1.0]),
            "f": np.append(self.f, unknown),
        }
        if self.p_values is not None:
            columns["p_value"] = np.append(self.p_values, unknown)
        return as_frame(columns, library)


@spelled
def permanova(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    individuals: Any,
    groups: Any,
    *,
    covariates: Any = None,
    by: str = "terms",
    strata: Any = None,
    metric: str | None = None,
    axes: int | None = None,
    permutations: int = PERMUTATIONS,
    stop_after: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Permanova:
    r"""Test whether groups differ in their means, by distances or in the space of any kernel.

    .. math:: SS_t = \operatorname{tr}(P_t B), \quad SS_{\text{total}} = \operatorname{tr} B, \quad
        F_t = \frac{SS_t / q_t}{SS_{\text{residual}} / (n - 1 - \sum q)}, \quad
        R^2_t = \frac{SS_t}{SS_{\text{total}}}

    with B the inner products of the individuals about their barycentre (:math:`-\tfrac12 H(d^2)H`
    for distances d, HKH for a kernel) and :math:`P_t` the projection on the columns of term t.
    With Euclidean distances and one column of data F is that of the analysis of variance. B is
    only multiplied: of a `PCA`, `CA`, `MCA`, `FAMD` or `MFA` by the columns of the table, of a
    kernel in tiles, so that memory grows with n and not with n².

    Individuals are exchanged as a whole against the design, within ``strata`` if there are any:
    an exact test for one factor, and an approximate one of a factor beside others. It is a test
    of means that also answers to groups of unequal spread: see `dispersion`.

    Parameters
    ----------
    individuals : fitted model, distances, Gram matrix, `Gram`, pair of kernel and points, or rows
        Of a model its whole space, or its first ``axes`` (all of them where it is approximate); a
        symmetric matrix with zeros on its diagonal holds distances, another one inner products;
        rows have Euclidean distances.
    groups : labels, or a mapping or data frame of several factors
        A further factor whose labels combine two others is, after these, their interaction.
    covariates : numbers, or a mapping or data frame of them
        They come before the factors, with one degree of freedom each.
    by : {"terms", "margin"}
        Whether a term is tested after those before it, or after all others.
    strata : labels
        Blocks, such as sites, within which individuals are exchanged.
    metric : str or None
        Of rows, the name of their distance, such as "bray-curtis": see `kernels.distances`.
    axes : int or None
        Of a fitted model, take its coordinates on so many axes instead of its whole space.
    permutations, stop_after, random_state, threads, progress
        See `hsic`.

    Examples
    --------
    >>> import mercer as mc
    >>> irises = mc.datasets.iris()
    >>> species = irises.column("Species").values
    >>> found = mc.permanova(mc.PCA(2).fit(irises), species, random_state=0)
    >>> found
    Permanova: 150 individuals, by terms, 999 permutations
      groups  R² = 0.8689  F = 487.3, p = 0.001
    >>> x = irises.numbers[:, :1]
    >>> means = [x[species == level].mean() for level in ("setosa", "versicolor", "virginica")]
    >>> between = 50 * float(np.sum((np.array(means) - x.mean()) ** 2))
    >>> bool(np.isclose(mc.permanova(x, species, permutations=0).sums_of_squares[0], between))
    True

    Anderson, Austral Ecology 26 (2001) 32-46; McArdle & Anderson, Ecology 82 (2001) 290-297.
    """
    one_of(by, "by", ORDERS)
    cloud = Cloud.of(individuals, axes, metric)
    if not cloud.total > 0:
        raise InvalidInput("all individuals coincide: there is no spread that groups could explain")
    terms = Terms.of(cloud, groups, covariates)
    masses = cloud.masses
    basis = terms.basis(masses, by)
    degrees = _degrees(terms, basis, len(cloud))
    analysis = SumsOfSquares(cloud, terms, by, basis)
    blocks = strata_of(strata, cloud)
    with follow_work(progress, "permutations") as tell:
        draws = Resampling.of(
            permutations,
            random_state,
            least=0,
            stop_after=stop_after,
            threads=threads,
            progress=tell,
        )
        observed = analysis.sums(analysis.columns(None))[0]
        f = analysis.ratios(observed[None])[0]
        found = draws.null(_permuted(analysis, blocks, draws), f - TIES * np.abs(_finite(f)))
    sums = np.append(observed[1:], cloud.total - observed[0])
    return Permanova(
        terms.names,
        (*degrees, len(cloud) - 1 - basis.full.shape[1]),
        read_only(observed[1:] / cloud.total),
        read_only(f),
        read_only(found.p_values) if draws.count else None,
        by,
        len(cloud),
        draws.count,
        draws.seed if draws.count else None,
        read_only(found.values),
        sums,
        cloud.total,
        cloud.unit,
    )


def _finite(values: Array) -> Array:
    """Return values with those that are infinite, of groups without spread, as 0."""
    return np.where(np.isfinite(values), values, 0.0)


def _degrees(terms: Terms, basis: Basis, n: int) -> tuple[int, ...]:
    degrees = tuple(basis.sizes[1:].tolist())
    for name, count in zip(terms.names, degrees, strict=True):
        if count == 0:
            raise InvalidInput(
                f"{name!r} adds nothing to the terms it is tested after: their columns hold it "
                "already. Leave it out"
            )
    if n - 1 - basis.full.shape[1] < 1:
        raise InvalidInput(
            f"the terms have {basis.full.shape[1]} degrees of freedom for {n} individuals: none "
            "is left for the residual"
        )
    return degrees


@dataclass(frozen=True, eq=False)
class SumsOfSquares:
    """The sums of squares of a design, for individuals in any order."""

    cloud: Cloud
    terms: Terms
    by: str
    basis: Basis

    def columns(self, order: Array | None) -> Array:
        """Return the columns of the design, its rows exchanged against the individuals.

        Where individuals weigh alike the columns are moved; else they are made anew, since a
        weight stays with its individual.
        """
        if order is None:
            return self.basis.columns
        masses = self.cloud.masses
        if np.ptp(masses) <= TIES * float(np.max(masses)):
            return self.basis.columns[order]
        moved = Terms(self.terms.names, tuple(part[order] for part in self.terms.columns))
        return moved.basis(masses, self.by).columns

    def sums(self, *columns: Array) -> Array:
        """Return the sums of squares of all terms together and of each, a row for each design."""
        roots = np.sqrt(self.cloud.masses)[:, None]
        Q = roots * np.hstack(columns)
        squares = np.einsum("ij,ij->j", Q, self.cloud.product(Q)).reshape(len(columns), -1)
        edges = np.concatenate([[0], np.cumsum(self.basis.sizes)[:-1]])
        return np.asarray(np.add.reduceat(squares, edges, axis=1))

    def ratios(self, sums: Array) -> Array:
        """Return the pseudo-F of each term, a row for each design."""
        free = len(self.cloud) - 1 - self.basis.full.shape[1]
        total = self.cloud.total
        residual = total - sums[:, :1]
        noise = len(self.cloud) * float(np.finfo(float).eps) * abs(total)
        residual = np.where(np.abs(residual) <= noise, 0.0, residual) / free
        means = sums[:, 1:] / self.basis.sizes[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = means / residual
        return np.where(residual == 0.0, np.where(means > noise, np.inf, 0.0), found)


def _permuted(analysis: SumsOfSquares, blocks: list[Array], draws: Resampling) -> Any:
    """Return the pseudo-F of permutations, as many at a time as one product takes."""
    width = int(analysis.basis.sizes.sum())
    size = max(1, NUMBERS // max(1, len(analysis.cloud) * width))

    def work(part: slice, stop: Event) -> Array:
        numbers = [r for r in range(part.start, part.stop) if not stop.is_set()]
        if not numbers:
            return np.zeros((0, len(analysis.terms.names)))
        orders = (exchange_rows(blocks, draws.generator(r)) for r in numbers)
        return analysis.ratios(analysis.sums(*(analysis.columns(order) for order in orders)))

    return draws.in_order(work, chunks(draws.count, size))
