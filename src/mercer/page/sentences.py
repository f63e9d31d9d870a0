"""What the page says in words: the result, the kernel, the axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.dimension.horn import ParallelAnalysis
from mercer.dimension.rules import Choice
from mercer.kernels.base import Kernel
from mercer.kernels.parameters import parameters
from mercer.kernels.written import snake
from mercer.page.panels import supplementary_numbers
from mercer.page.subject import Subject, labels_of
from mercer.page.text import clean, count_of, listing, percent, short

CORRELATED = 0.5
"""Variables that follow an axis at least so closely describe it."""

BEYOND = 1.96
"""A v-test beyond this would be seldom seen by chance (5 % of random draws)."""

NAMED = 5
"""Variables or individuals named on each side of an axis."""

DESCRIBED = 5
"""Axes that are described."""


def result(subject: Subject, choices: dict[str, Choice]) -> list[str]:
    """Return the result in a few sentences, the first of which say what was analysed."""
    sentences = [f"{count_of(len(subject), 'individual')}, {analysis(subject)}."]
    if subject.axes == 0:
        return [*sentences, "All individuals coincide: there is no inertia and there are no axes."]
    horn = choices.get("horn")
    kept = horn.n_components if horn is not None and horn.is_decided else 0
    k = min(kept or 2, subject.axes)
    carried = ""
    if subject.shares is not None:
        verb = "dimension carries" if k == 1 else "dimensions carry"
        carried = f"{k} {verb} {percent(float(np.sum(subject.shares[:k])))} of the inertia"
    verdict = _horn(horn)
    both = "; ".join(part for part in (carried, verdict) if part)
    return [*sentences, *([f"{both}."] if both else []), *_trust(subject, k)]


def _horn(horn: Choice | None) -> str:
    if not isinstance(horn, ParallelAnalysis) or not horn.is_decided:
        return ""
    kept = horn.n_components
    p = float(np.max(horn.p_values[: max(kept, 1)]))
    return f"Horn keeps {kept or 'none'} (p = {p:.3g})"


def _trust(subject: Subject, k: int) -> list[str]:
    spectrum = subject.spectrum
    if spectrum is None:
        return [f"{_stress(subject.model)}."]
    errors, largest = spectrum.errors[:k], float(spectrum.values[0])
    relative = float(np.max(errors)) / largest if largest > 0 else 0.0
    if spectrum.is_approximate:
        return [f"Approximate: eigenvalues within {short(relative)} of the largest."]
    return [f"Eigenvalues exact to {relative:.0e} of the largest."]


def _stress(model: Any) -> str:
    name = {"sammon": "Sammon's error", "sstress": "SSTRESS"}.get(model.loss, "Stress-1")
    state = "" if model.has_converged_ else ", not yet at its minimum"
    return f"{name} {short(model.stress_)}{state}"


def analysis(subject: Subject) -> str:
    """Return what was done, in words.

    >>> from mercer import Gaussian, KernelPCA
    >>> from mercer.page.subject import subject_of
    >>> model = KernelPCA(1, kernel=Gaussian("median")).fit([[0.0], [1.0], [3.0]])
    >>> analysis(subject_of(model))
    'Gaussian kernel (bandwidth 2, median rule)'
    """
    model, kernel = subject.model, subject.kernel
    if subject.is_precomputed:
        return "kernel given as a matrix"
    if kernel is not None:
        given = getattr(model, "kernel", None)
        return in_words(kernel, given if isinstance(given, Kernel) else _read(given))
    name = type(model).__name__
    words = {
        "PCA": "principal component analysis",
        "ClassicalMDS": "classical scaling of distances",
        "StressMDS": "a map of dissimilarities",
    }.get(name, name)
    return f"{words}, standardised" if getattr(model, "standardize", False) else words


def _read(given: Any) -> Kernel | None:
    from mercer.estimator import as_kernel

    return as_kernel(given) if isinstance(given, str) else None


def in_words(kernel: Kernel, given: Kernel | None) -> str:
    """Return a kernel and its parameters in words, with the rule that found a parameter."""
    values = parameters(kernel)
    rules = {} if given is None else parameters(given)
    if kernel.children() or not values:
        name = clean(repr(kernel), 200)
        return f"{_title(kernel)} kernel" if not kernel.children() else f"kernel {name}"
    parts = []
    for name, found in values.items():
        rule = f", {rules[name]} rule" if isinstance(rules.get(name), str) else ""
        text = short(found) if isinstance(found, int | float) else clean(found, 60)
        parts.append(f"{name} {text}{rule}")
    return f"{_title(kernel)} kernel ({'; '.join(parts) if len(parts) > 1 else parts[0]})"


def _title(kernel: Kernel) -> str:
    words = snake(type(kernel).__name__).replace("_", " ")
    return words.capitalize() if words in PEOPLE else words


PEOPLE = (
    "gaussian",
    "laplacian",
    "matern",
    "weisfeiler lehman",
    "brownian",
    "sobolev",
    "aitchison",
)


def axes_in_words(subject: Subject) -> list[dict[str, Any]]:
    """Return a title and some sentences for each of the first axes."""
    factors = _factors(subject)
    return [
        {
            "title": subject.axis(k),
            "sentences": [
                s
                for s in (
                    _of_variables(subject, k),
                    *_of_factors(factors, k),
                    _of_individuals(subject, k),
                )
                if s
            ],
        }
        for k in range(min(subject.axes, DESCRIBED))
    ]


def _correlations(subject: Subject, k: int) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    if subject.variables is not None:
        r = np.asarray(subject.variables.correlations[:, k], float)
        found += zip(map(clean, subject.variables.names), r.tolist(), strict=True)
    columns = supplementary_numbers(subject)
    if columns:
        extra = subject.model.supplementary(variables=columns).variables
        names = [f"{clean(name)} (supplementary)" for name in extra.names]
        found += zip(names, np.asarray(extra.correlations[:, k], float).tolist(), strict=True)
    return sorted((pair for pair in found if np.isfinite(pair[1])), key=lambda pair: -abs(pair[1]))


def _of_variables(subject: Subject, k: int) -> str:
    found = _correlations(subject, k)
    if not found:
        return ""
    close = [pair for pair in found if abs(pair[1]) >= CORRELATED]
    if not close:
        name, r = found[0]
        return (
            f"No variable has a correlation beyond ±{CORRELATED}; the closest is {name} "
            f"(r = {short(r)})."
        )
    sides = [[(n, r) for n, r in close if r * sign > 0] for sign in (1, -1)]
    texts = []
    for side in sides:
        if side:
            more = f" and {len(side) - NAMED} more" if len(side) > NAMED else ""
            words = [f"{n} (r = {short(r)})" for n, r in side[:NAMED]]
            texts.append((", ".join(words) + more) if more else listing(words))
    if len(texts) == 2:
        return f"It rises with {texts[0]}, and falls with {texts[1]}."
    return f"It {'rises' if sides[0] else 'falls'} with {texts[0]}."


def _factors(subject: Subject) -> Any:
    """Return the categories of the table's factors on the axes, None where there are none."""
    if subject.table is None or not hasattr(subject.model, "supplementary"):
        return None
    columns = {
        c.name: labels_of(c.values) for c in subject.table.columns() if c.role.value == "factor"
    }
    return subject.model.supplementary(categories=columns).categories if columns else None


def _of_factors(categories: Any, k: int) -> list[str]:
    if categories is None:
        return []
    sentences = []
    for row, factor in enumerate(categories.variables):
        share = float(categories.eta2[row, k])
        mine = [i for i, name in enumerate(categories.variables_of) if name == factor]
        tests = sorted(
            ((float(categories.v_test[i, k]), clean(categories.levels[i])) for i in mine),
            key=lambda pair: -abs(pair[0]),
        )
        far = [f"{name} (v-test {short(v)})" for v, name in tests if abs(v) > BEYOND][:NAMED]
        sentences.append(
            f"{clean(factor)} accounts for {percent(share)} of it"
            + (
                f": {listing(far)} {'lie' if len(far) > 1 else 'lies'} far from the origin."
                if far
                else "."
            )
        )
    return sentences


def _of_individuals(subject: Subject, k: int) -> str:
    shares = subject.contributions(k)
    uniform = 1.0 / max(int(np.sum(subject.weights > 0)), 1)
    top = [i for i in np.argsort(-shares, kind="stable")[: 2 * NAMED] if shares[i] > 2.0 * uniform]
    if not top:
        return "No individual contributes more than twice its share."
    sides = [[i for i in top if subject.coordinates[i, k] * sign > 0][:NAMED] for sign in (1, -1)]
    texts = [listing([clean(subject.names[i], 40) for i in side]) for side in sides if side]
    total = percent(float(np.sum(shares[[i for side in sides for i in side]])))
    if len(texts) == 2:
        return f"It opposes {texts[0]} to {texts[1]}, which together make {total} of it."
    side = "positive" if sides[0] else "negative"
    makes = "which makes" if sum(map(len, sides)) == 1 else "which together make"
    return f"On its {side} side stand out {texts[0]}, {makes} {total} of it."
