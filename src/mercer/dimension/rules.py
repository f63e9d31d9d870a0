"""Rules that read the number of axes off the inertias alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer.check import Array
from mercer.display import Shown, precise_percent

ROUNDING = 1e-10
"""Differences below this share of the largest inertia are what rounding leaves of zero."""

COMPLETE = 1e-8
"""The share of the inertia that axes below the numerical rank may leave out."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Shown):
    """How many axes a rule keeps, and why, in words.

    When the axes that were computed do not suffice to decide, ``is_decided`` is false and
    ``n_components`` is the least number that the rule can still arrive at.

    >>> import mercer as mc
    >>> model = mc.PCA(standardize=True).fit(mc.datasets.decathlon())
    >>> found = mc.choose_dimension(model, "kaiser")
    >>> found.n_components, found.is_decided
    (4, True)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "n_components": "axes to keep",
        "is_decided": "whether the axes computed suffice",
    }

    rule: str
    n_components: int
    evidence: str
    is_decided: bool

    def _title(self) -> str:
        return f"{self.rule}: {self.evidence}"

    def __str__(self) -> str:
        return self.evidence


@dataclass(frozen=True, eq=False, repr=False)
class ShareChoice(Choice):
    """A choice by the share of the inertia; ``cumulated`` holds the share of the first k axes."""

    share: float
    cumulated: Array


@dataclass(frozen=True, eq=False, repr=False)
class KaiserChoice(Choice):
    """A choice by Kaiser's rule; ``mean`` is the inertia an axis must exceed."""

    mean: float


@dataclass(frozen=True, eq=False, repr=False)
class ScreeChoice(Choice):
    """A choice by the scree test, with the differences it is made of."""

    first_differences: Array
    second_differences: Array


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidationChoice(Choice):
    """A choice by cross-validation; ``errors`` are those of 0, 1, 2, … axes."""

    errors: Array


def by_share(inertias: Array, total: float, share: float = 0.95) -> ShareChoice:
    r"""Keep the fewest axes that carry a share q of the inertia.

    .. math:: \min \Bigl\{k : \sum_{j \le k} \lambda_j \ge q \, I \Bigr\}

    When the axes computed carry less, no later axis carries more than the last one, so that at
    least :math:`m + \lceil (qI - \sum_{j \le m} \lambda_j) / \lambda_m \rceil` are needed.

    >>> print(by_share(np.array([6.0, 3.0, 1.0]), 10.0, 0.9))
    2 axes carry 90 % of the inertia, at least the 90 % asked for
    >>> print(by_share(np.array([5.0, 2.0]), 10.0, 0.95))
    at least 4 axes: the 2 axes computed reach only 70 % of the inertia, less than the 95 % asked for
    """  # noqa: E501  (a doctest shows the sentence as the user sees it, on one line)
    cumulated = np.cumsum(inertias) / total if total > 0 else np.zeros(len(inertias))
    m = len(inertias)
    carried = float(cumulated[-1]) if m else 0.0
    asked = f"the {100 * share:.3g} % asked for"
    if carried >= share - ROUNDING:
        k = int(np.argmax(cumulated >= share - ROUNDING)) + 1
        verb = "carries" if k == 1 else "carry"
        evidence = (
            f"{axes(k)} {verb} {precise_percent(cumulated[k - 1])} of the inertia, at least {asked}"
        )
        return ShareChoice("inertia", k, evidence, True, share, cumulated)
    if is_complete(inertias, total):
        evidence = f"all {axes(m)} are needed for {asked}" if m else "there is no inertia"
        return ShareChoice("inertia", m, evidence, True, share, cumulated)
    rest = (share - ROUNDING - carried) * total
    least = m + (int(np.ceil(rest / inertias[-1])) if m else 1)
    only = f"the {axes(m)} computed reach only {precise_percent(carried)} of the inertia"
    evidence = f"at least {axes(least)}: {only}, less than {asked}"
    return ShareChoice("inertia", least, evidence, False, share, cumulated)


def by_kaiser(inertias: Array, total: float, count: int) -> KaiserChoice:
    r"""Keep the axes whose inertia exceeds the mean over all ``count`` axes there can be.

    .. math:: \#\{j : \lambda_j > I / c\}

    c is the number of columns for PCA, so that the mean is 1 when they are standardised, and
    n - 1 for the n individuals of a kernel PCA.

    >>> choice = by_kaiser(np.array([1.7, 1.0, 0.3]), 3.0, 3)
    >>> choice.n_components, choice.mean
    (1, 1.0)
    """
    mean = total / count if count > 0 else 0.0
    largest = float(inertias[0]) if len(inertias) else 0.0
    kept = int(np.sum(inertias > mean + ROUNDING * largest))
    is_decided = kept < len(inertias) or kept >= count or is_complete(inertias, total)
    mean_text = f"{mean:.4g}, the mean over {count}"
    if not is_decided:
        evidence = f"at least {axes(kept)}: all that were computed exceed {mean_text}"
    elif kept == 0:
        evidence = f"no axis exceeds {mean_text}"
    else:
        verb = "exceeds" if kept == 1 else "exceed"
        evidence = f"{axes(kept)} {verb} {mean_text}: the last kept has {inertias[kept - 1]:.4g}"
        evidence += f", the next {inertias[kept]:.4g}" if kept < len(inertias) else ""
    return KaiserChoice("kaiser", kept, evidence, is_decided, mean)


def by_scree(inertias: Array, total: float) -> ScreeChoice:
    r"""Keep axes while the scree bends outwards: Cattell's test in its analytic form.

    .. math:: \varepsilon_k = \lambda_k - \lambda_{k+1}, \quad
        \delta_k = \varepsilon_k - \varepsilon_{k+1}

    The axes 1 to k + 1 are kept, where :math:`\delta_1, \dots, \delta_k` are the positive ones
    before the first that is not; later positive ones do not count.

    >>> choice = by_scree(np.array([10.0, 6.0, 3.0, 2.5, 1.0]), 22.5)
    >>> choice.first_differences, choice.second_differences, choice.n_components
    (array([4. , 3. , 0.5, 1.5]), array([ 1. ,  2.5, -1. ]), 3)
    """
    first = -np.diff(inertias)
    second = -np.diff(first)
    m = len(inertias)
    fails = np.flatnonzero(~(second > ROUNDING * inertias[0])) if m else np.zeros(0, int)
    if len(fails):
        k = int(fails[0])
        is_flat = abs(second[k]) <= ROUNDING * inertias[0]
        steps = f"up to axis {k + 1} each step down is smaller than the one before, and the step"
        evidence = (
            f"{axes(k + 1)}: {steps if k else 'the step'} from axis {k + 2} to {k + 3} is "
            f"{'as large as' if is_flat else 'larger than'} that from {k + 1} to {k + 2}; a bend "
            "further on is not looked for"
        )
        return ScreeChoice("scree", k + 1, evidence, True, first, second)
    kept = min(m, max(m - 1, 1))
    is_decided = is_complete(inertias, total)
    found = "each step down from axis to axis is smaller than the one before"
    found = "the second step down is smaller than the first" if len(second) == 1 else found
    found = found if len(second) else "steps down that could be compared take three axes"
    rest = "" if is_decided else ", and no more axes were computed"
    evidence = f"{'' if is_decided else 'at least '}{axes(kept)}: {found}{rest}"
    return ScreeChoice("scree", kept, evidence, is_decided, first, second)


def by_cross_validation(inertias: Array, total: float, n: int, p: int) -> CrossValidationChoice:
    r"""Keep the axes that would best bring back a cell of the table that is held out.

    .. math:: \mathrm{GCV}(q) = \frac{np \cdot n \sum_{k > q} \lambda_k}
        {\big((n - 1 - q)(p - q)\big)^2}

    is the mean squared error of cells left out one at a time, each with the mean influence of all
    on its own fit (Craven and Wahba): what q axes leave of the np cells of n individuals and p
    columns, and (n - 1 - q)(p - q) cells that neither means nor axes account for. The q with the
    least is kept, 0 among them. Unlike a share of the inertia it does not fall for ever.

    >>> choice = by_cross_validation(np.array([6.0, 1.0, 0.9, 0.8]), 8.7, 20, 4)
    >>> choice.n_components, choice.errors.round(3)
    (1, array([2.41 , 1.481, 2.353, 5.   ]))

    Josse & Husson, Computational Statistics & Data Analysis 56 (2012) 1869-1879.
    """
    most = min(n - 2, p - 1, len(inertias))
    counts = np.arange(most + 1)
    left = np.maximum(total - np.concatenate([[0.0], np.cumsum(inertias[:most])]), 0.0)
    free = (n - 1.0 - counts) * (p - counts)
    errors = n * p * (n * left) / free**2
    floor = ROUNDING * float(errors[0]) if len(errors) else 0.0
    kept = int(np.argmax(errors <= float(np.min(errors)) + floor)) if len(errors) else 0
    is_last = kept == most and most < min(n - 2, p - 1)
    is_decided = not is_last or is_complete(inertias, total)
    named = axes(kept) if kept else "no axis"
    if is_decided:
        verb = "brings" if kept == 1 else "bring"
        evidence = f"{named} {verb} back a cell held out with the least error, {errors[kept]:.4g}"
        evidence += f" (none: {errors[0]:.4g})" if kept else ""
    else:
        evidence = f"at least {named}: the error still falls with the last axis computed"
    return CrossValidationChoice("cross-validation", kept, evidence, is_decided, errors)


def is_complete(inertias: Array, total: float) -> bool:
    """Return whether the axes carry all of the inertia, up to rounding."""
    return bool(np.sum(inertias) >= (1.0 - COMPLETE) * total)


def axes(count: int) -> str:
    """Return so many axes in words."""
    return f"{count} {'axis' if count == 1 else 'axes'}"
