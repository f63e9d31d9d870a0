"""An analysis made: its models, what became of the columns, what to doubt, what a kernel adds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from mercer.analysis.choice import NAMES
from mercer.analysis.colour import coloured_best
from mercer.analysis.columns import CUT, Fate
from mercer.analysis.doubts import (
    Doubt,
    curved_briefs,
    doubts_of,
    even_rows,
    of_bandwidth,
    of_columns,
    of_ellipses,
    of_rare_levels,
    of_size,
)
from mercer.analysis.evidence import SPACE, Evidence, evidence_of
from mercer.analysis.proposal import Proposal, propose
from mercer.analysis.separation import PLANE, parted_elsewhere
from mercer.check import Array
from mercer.data.matrices import SquareMatrix
from mercer.data.missing import MISSING_LEVEL
from mercer.data.table import Column, Role, Table, as_labels
from mercer.display import Shown, warn
from mercer.errors import Advice, ExchangeableAxes, MercerError, Misleading, ReadingWarning
from mercer.estimator import as_kernel
from mercer.kernels.base import Kernel
from mercer.pca import KernelPCA
from mercer.points import take
from mercer.progress import Progress, follow_work
from mercer.reading.links import Scores
from mercer.settings import RandomState, is_yes, seed_of, spelled
from mercer.spectrum import Limits

NAMED, WIDTH = 3, 280
"""Columns and doubts that are shown, and letters of a line."""

LANDMARKS = 300
"""Landmarks of the curved map of more individuals than a matrix is stored of."""


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Shown):
    """What was done with a table, why, and what to think of it.

    ``model`` is the map that is read, ``curved`` the kernel's of the same individuals, None where
    one of the two was asked for alone or there is no other. ``sentence`` says the rule, the choice
    and the parameter that changes it; ``adds`` what the kernel adds, and ``parted`` which axes
    part known groups far better than those of the first map, if any do.

    >>> import mercer as mc
    >>> found = mc.analyse(mc.datasets.iris(), random_state=0)
    >>> found.model, found.curved.individuals_.coordinates.shape
    (PCA(n_components=4, standardize=True), (150, 4))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "sentence": "",
        "parted": "",
        "adds": "",
        "active": "columns that make the axes",
        "supplementary": "columns placed on them",
        "ignored": "columns left out",
        "doubts": "what may mislead",
    }

    analysis: str
    model: Any
    curved: KernelPCA | None
    scaled: bool
    active: tuple[str, ...]
    supplementary: tuple[str, ...]
    ignored: tuple[str, ...]
    named_by: str | None
    fates: tuple[Fate, ...]
    doubts: tuple[Doubt, ...]
    evidence: Evidence | None
    sentence: str
    adds: str
    table: Any
    advice: tuple[Advice, ...] = ()
    parted: str = ""
    weighted_by: str | None = None
    counted: int | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)

    def _title(self) -> str:
        scaled = ", standardised" if self.scaled else ""
        return f"Analysis: {NAMES[self.analysis]}{scaled}, of {len(self.table)} {self._people}"

    @property
    def _people(self) -> str:
        """What the rows are called: those of a table of counts are no individuals."""
        if self.analysis == "ca" or self.counted is not None:
            return "rows"
        return "points" if isinstance(self.table, SquareMatrix) else "individuals"

    def __repr__(self) -> str:
        beside = [fate for fate in self.fates if fate.use in ("name", "ignored")]
        lines = [self._title(), self.sentence, *filter(None, (self.parted, self.adds))]
        lines += [f"{fate.name}: {fate.use}, {fate.reason}" for fate in beside[:NAMED]]
        lines += [f"Doubt: {doubt.text}." for doubt in self.doubts[:NAMED]]
        more = len(self.doubts) - NAMED
        lines += [f"{more} more doubts" if more > 1 else "1 more doubt"] if more > 0 else []
        return "\n  ".join(
            line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines
        )


@spelled
def analyse(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    data: Any,
    *,
    method: str | None = None,
    kernel: Kernel | str | None = None,
    scale: bool | None = None,
    n_components: int | None = None,
    active: Iterable[str] = (),
    supplementary: Iterable[str] = (),
    curved: Kernel | str | None = None,
    exact: bool = False,
    missing: Any = "error",
    sample_weight: Any = None,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> Analysis:
    """Analyse a table as its columns ask for, and say what was done and what to doubt.

    Numbers are standardised and get a principal component analysis, factors a multiple
    correspondence analysis, both a factor analysis of mixed data; few factors beside more numbers
    are placed on the axes of these and colour the individuals. Counts that cross categories get a
    correspondence analysis. Matrices of distances are mapped, similarities have their axes. Whole
    numbers that count the rows become their names. Beside the straight map stands that of the
    Gaussian of its distances, with the evidence of what it adds.

    Parameters
    ----------
    data : Table, data frame, array, SquareMatrix or Sequences
        What `mercer.read` returns or reads.
    method : str, optional
        pca, mca, famd, ca, kpca, mds or stress, which is then made alone.
    kernel : Kernel or str, optional
        The kernel of a kernel PCA, which is then made alone.
    scale : bool, optional
        Whether columns of numbers are standardised: they are unless this is False.
    n_components : int, optional
        How many axes; up to 10 by default, 2 for maps of distances.
    active : names
        Columns of numbers that are variables even where they look like numbers of rows, parts of
        a date, codes of groups or counts of rows.
    supplementary : names
        Columns to be placed on the axes that others make.
    curved : Kernel or str, optional
        The kernel of the curved map, of columns in the units of the straight one; then it is made
        whatever ``method`` is. By default a Gaussian with the median distance as bandwidth. The
        map of factors and counts takes a Gaussian, of the distance that their analysis measures.
    exact : bool
        Whether the curved map of more than 3 000 individuals is computed from all of them; by
        default it is made on landmarks, which takes seconds.
    missing : str or mapping
        What to do with missing values, as in `mercer.read`: "drop", "mean", "pca", …
    sample_weight : array, optional
        The weights of the individuals; by default those of a column that says how often each
        combination of categories was seen.
    random_state : int or generator, optional
        The seed of permutations and landmarks.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the parts done and the parts there
        are in each pass; work stops with what it raises.

    Examples
    --------
    >>> import mercer as mc
    >>> found = mc.analyse(mc.datasets.iris(), random_state=0)
    >>> found.analysis, found.scaled, found.supplementary
    ('pca', True, ('Species',))
    >>> print(found.sentence)
    The table holds 4 columns of numbers and 1 factor: principal component analysis of the
    standardised columns, with the factor as colour; method='famd' lets the factor shape the axes
    too, scale=False keeps the original units.
    """
    weights = None if sample_weight is None else np.asarray(sample_weight, float)
    proposal = propose(
        data,
        method=method,
        kernel=kernel,
        scale=scale,
        active=active,
        supplementary=supplementary,
        missing=missing,
        weights=weights,
    )
    weights = proposal.weights if weights is None else weights
    seed = seed_of(random_state)
    options = {"random_state": seed} if proposal.analysis in ("kpca", "mds", "stress") else {}
    model = proposal.model(n_components, **options)
    fit = {} if weights is None else {"sample_weight": weights}
    other = None if curved is None else as_kernel(curved)
    with follow_work(progress, "parts") as tell:
        told = {"progress": tell} if tell and "progress" in signature(model.fit).parameters else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Misleading)  # the doubts below say it
            model.fit(proposal.points, **fit, **told)
        found = complete_analysis(
            proposal,
            model,
            weights=weights,
            random_state=seed,
            kernel=other,
            is_exact=is_yes(exact, "exact"),
            tell=tell,
        )
    _warn_of(found, is_kernel_asked=other is not None)
    return found


def _warn_of(found: Analysis, *, is_kernel_asked: bool) -> None:
    """Warn of what misleads, on the curved map beside the straight one in one sentence.

    Axes that could be exchanged are both on the map where there are no more than two; those of the
    curved map, which are read beside others, are told where it is shown.
    """
    there: list[Doubt] = []
    has_more = len(getattr(found.model, "inertias_", ())) > PLANE
    for doubt in found.doubts:
        is_beside = doubt.map == "curved" and found.curved is not None
        if doubt.kind == "axes" and (is_beside or not has_more):
            continue
        if is_beside and not (is_kernel_asked and doubt.kind == "bandwidth"):
            there.append(doubt)
        elif doubt.is_misleading or doubt.kind == "axes":
            advice = () if doubt.advice is None else (doubt.advice,)
            kind = ExchangeableAxes if doubt.kind == "axes" else Misleading
            warn(doubt.text, kind, *advice)
    if there:
        warn(curved_briefs(there), Misleading)


def complete_analysis(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    proposal: Proposal,
    model: Any,
    *,
    random_state: int,
    weights: Array | None = None,
    kernel: Kernel | None = None,
    is_exact: bool = False,
    curved: KernelPCA | None = None,
    tell: Progress | None = None,
) -> Analysis:
    """Return the analysis whose straight model is fitted: the curved one, the evidence, doubts.

    ``kernel`` is that of the curved map, where it is not the usual one; ``curved`` is that map,
    where it is known already.
    """
    weights = proposal.weights if weights is None else weights
    table = proposal.points if isinstance(proposal.points, Table) else None
    table = (
        None
        if table is None
        else coloured_best(
            table, proposal.active, replace(Scores.of(model), counted=proposal.counted)
        )
    )
    factors = _factors(table)
    if curved is None:
        curved = curved_model(
            proposal,
            model,
            weights=weights,
            random_state=random_state,
            kernel=kernel,
            is_exact=is_exact,
            tell=tell,
        )
    evidence = None
    # Classes of an active number part wherever it does, and tell nothing of the maps.
    known = {*proposal.active, *(f.name for f in proposal.fates if f.reason.startswith(CUT))}
    beside = [c for c in factors if c.name not in known]
    if curved is not None:
        groups = [*beside]
        colour = None if table is None or table.colour is None else table.colour.name
        groups.sort(key=lambda c: c.name != colour)  # that of the map comes first
        evidence = evidence_of(
            model,
            curved,
            groups,
            random_state=random_state,
            counted=proposal.counted,
            seeks_clusters=proposal.analysis == "pca",  # a few categories always make some
        )
    fates = proposal.fates
    return Analysis(
        analysis=proposal.analysis,
        model=model,
        curved=curved,
        scaled=proposal.scaled,
        active=proposal.active,
        supplementary=tuple(f.name for f in fates if f.use == "supplementary"),
        ignored=tuple(f.name for f in fates if f.use == "ignored"),
        named_by=next((f.name for f in fates if f.use == "name"), None),
        fates=fates,
        doubts=(*proposal.doubts, *_doubts(proposal, model, curved, table)),
        evidence=evidence,
        sentence=proposal.sentence,
        adds="" if evidence is None else evidence.adds,
        table=proposal.points if table is None else table,
        advice=proposal.advice,
        parted="" if proposal.analysis == "ca" else parted_elsewhere(Scores.of(model), beside),
        weighted_by=proposal.weighted_by,
        counted=proposal.counted,
        asked={**_asked(proposal, model, kernel), "random_state": random_state},
    )


def _asked(proposal: Proposal, model: Any, kernel: Kernel | None) -> dict[str, Any]:
    """Return the arguments of `analyse` that make the same analysis, the usual ones left out."""
    found: dict[str, Any] = {**proposal.asked}
    if kernel is not None:
        found["curved"] = kernel
    axes = getattr(model, "n_components", None)
    if axes is not None and axes != proposal.usual_axes:
        found["n_components"] = axes
    return found


def _factors(table: Table | None) -> list[Column]:
    return [] if table is None else [c for c in table.columns() if c.role is Role.FACTOR]


def curved_model(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    proposal: Proposal,
    model: Any,
    *,
    random_state: int,
    weights: Array | None = None,
    kernel: Kernel | None = None,
    is_exact: bool = False,
    tell: Progress | None = None,
) -> KernelPCA | None:
    """Return the kernel's map of the same individuals, weighted as the straight model does."""
    axes = len(getattr(model, "inertias_", ()))
    used = proposal.curved_kernel(model, weights, kernel) if axes else None
    if used is None:
        return None
    n = len(proposal.points)
    is_large = n > Limits.stored and not is_exact
    fewest = SPACE if axes == proposal.usual_axes else PLANE
    found = KernelPCA(
        min(max(axes, fewest), n - 1 or 1),
        kernel=used,
        method="nystrom" if is_large else "auto",
        landmarks=LANDMARKS if is_large else None,
        random_state=random_state,
    )
    given = model.weights_ if proposal.analysis == "ca" else weights
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadingWarning)
            found.fit(_points(proposal), sample_weight=given, progress=tell)
    except MercerError:  # all individuals coincide, or are too far apart to be squared
        if kernel is not None:
            raise
        return None
    return found if found.n_components else None


def _points(proposal: Proposal) -> Any:
    """Return the individuals as the kernel of the curved map reads them."""
    points = proposal.points
    if proposal.analysis in ("mca", "famd"):  # which make a level of what is missing
        labels = {
            name: as_labels(MISSING_LEVEL if v is None else v for v in values.tolist())
            if name in proposal.active
            else values
            for name, values in points.labels.items()
        }
        return replace(points, labels=labels)
    return points


def _doubts(
    proposal: Proposal, model: Any, curved: KernelPCA | None, table: Table | None
) -> list[Doubt]:
    found: list[Doubt] = []
    are_pairs = isinstance(proposal.points, SquareMatrix)
    names = proposal.points.names if are_pairs else proposal.points.row_names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        sees_columns = getattr(model, "metric", "euclidean") == "euclidean"
        if table is not None and sees_columns and proposal.analysis != "ca":
            used = set(proposal.active)
            active = [c for c in table.columns() if c.name in used]
            is_map = proposal.analysis in ("mds", "stress")
            remedy = Advice("method", "pca") if is_map else Advice("scale", True)
            found += of_columns(active, remedy, scaled=proposal.scaled)
            if proposal.analysis == "pca":
                found += of_size(Scores.of(model), active)
            if proposal.analysis in ("mca", "famd") and any(c.role is Role.FACTOR for c in active):
                found += of_rare_levels(model.categories_, proposal.counted)
        is_kernel = proposal.analysis == "kpca"
        seen = proposal.weights  # how often, where a column says so
        counted = None if seen is None else float(seen.sum())
        counted = _counted(table) if table and proposal.analysis == "ca" else counted
        which = "straight" if curved is not None else ""
        found += doubts_of(model, names, which=which, counted=counted)
        if curved is not None:
            found += doubts_of(curved, names, which="curved", counted=counted)
        kernel_model = model if is_kernel and table is not None else curved
        if kernel_model is not None:
            found += of_bandwidth(kernel_model.kernel_, _some(kernel_model))
        found += of_ellipses(None if table is None else table.colour)
    if proposal.weighted_by is not None:  # a row is many individuals, and may well make an axis
        found = [doubt for doubt in found if doubt.kind != "individual"]
    return found


def _counted(table: Table) -> float | None:
    """Return the total of a table of counts; shares are of a total that is not known."""
    cells = table.matrix()
    return float(cells.sum()) if np.array_equal(cells, np.round(cells)) else None


def _some(model: KernelPCA) -> Any:
    """Return some individuals of a fit, as its kernel reads them."""
    return take(model.X_fit_, even_rows(len(model.X_fit_)))
