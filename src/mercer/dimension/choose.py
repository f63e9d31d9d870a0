"""The number of axes of a fitted model, by one rule or by all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from mercer.dimension.horn import parallel_analysis
from mercer.dimension.limits import Limits
from mercer.dimension.rules import Choice, by_cross_validation, by_kaiser, by_scree, by_share
from mercer.engines.cpu import Threads
from mercer.errors import InvalidInput, InvalidParameter
from mercer.planning import EXPONENTIAL, flops
from mercer.progress import Progress
from mercer.resampling import PERMUTATIONS, PERMUTATIONS_UNASKED
from mercer.settings import LEVEL, RandomState, number, spelled

PATIENCE = 60.0
"""Seconds that the permutations of Horn's test may take where no number is asked for."""

RISK, DECIDED = 1e-3, 256
"""The risk of another decision with which Horn's test ends early on pages and the command line, and
after how many permutations it usually does."""

EIGENVALUES, SHUFFLE = 15.0, 200.0
"""Operations of the eigenvalues and factors of a matrix, of its side cubed, and of an entry that is
permuted, each as long as one of a product of matrices."""

Rule = Literal["inertia", "kaiser", "scree", "horn", "cross-validation"]


@overload
def choose_dimension(
    model: Any,
    rule: Rule = ...,
    *,
    share: float = ...,
    level: float = ...,
    permutations: Any = ...,
    risk: float | None = ...,
    counted: int | None = ...,
    random_state: RandomState = ...,
    threads: int | None = ...,
    progress: bool | Progress | None = ...,
) -> Choice: ...


@overload
def choose_dimension(
    model: Any,
    rule: Literal["all"],
    *,
    share: float = ...,
    level: float = ...,
    permutations: Any = ...,
    risk: float | None = ...,
    counted: int | None = ...,
    random_state: RandomState = ...,
    threads: int | None = ...,
    progress: bool | Progress | None = ...,
) -> dict[str, Choice]: ...


@spelled
def choose_dimension(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    model: Any,
    rule: str = "inertia",
    *,
    share: float = 0.95,
    level: float = LEVEL,
    permutations: Any = PERMUTATIONS,
    risk: float | None = None,
    counted: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Choice | dict[str, Choice]:
    r"""Return how many axes of a fitted model to keep, with the evidence in words.

    .. math:: \min \Bigl\{k : \sum_{j \le k} \lambda_j \ge q\, I\Bigr\}
        \;\text{(inertia)}, \quad \#\{j : \lambda_j > I / c\} \;\text{(Kaiser)}

    with the inertias λ of axes, their total I, the ``share`` q, and c, how many axes there can be.

    Parameters
    ----------
    model : fitted model
        Its ``inertias_`` and ``inertia_`` are read; by Kaiser's rule ``standardize`` and
        ``n_features_in_`` too, or the number of individuals with a weight where there is a
        ``kernel_``; by Horn's what `parallel_analysis` reads.
    rule : {"inertia", "kaiser", "scree", "horn", "cross-validation", "all"}
        A share of the inertia (`by_share`), Kaiser's mean (`by_kaiser`), Cattell's scree test
        (`by_scree`), Horn's `parallel_analysis`, or a mapping of each of these names to its choice.
        "cross-validation" (`by_cross_validation`) asks how well held-out cells come back, and is
        for a `PCA`, whose table has cells; it is not among "all".
    share : float
        The share of the inertia to carry.
    level, permutations, risk, counted, random_state, threads, progress
        Those of `parallel_analysis`.

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> model = mc.KernelPCA(kernel=mc.Linear()).fit(x)
    >>> print(choose_dimension(model, share=0.75))
    1 axis carries 80 % of the inertia, at least the 75 % asked for
    """
    inertias, total = _inertias(model)
    q = number(share, "share", above=0.0)
    if q > 1.0:
        raise InvalidParameter(f"share must be a number in (0, 1], found {share!r}")

    def horn() -> Choice:
        return parallel_analysis(
            model,
            permutations,
            level=level,
            risk=risk,
            counted=counted,
            random_state=random_state,
            threads=threads,
            progress=progress,
        )

    rules: dict[str, Callable[[], Choice]] = {
        "inertia": lambda: by_share(inertias, total, q),
        "kaiser": lambda: by_kaiser(inertias, total, _axes_there_can_be(model)),
        "scree": lambda: by_scree(inertias, total),
        "horn": horn,
    }
    if rule == "cross-validation":
        return by_cross_validation(inertias, total, *_cells_of(model))
    if rule == "all":
        return {name: _or_why_not(name, choice) for name, choice in rules.items()}
    if rule not in rules:
        names = ", ".join((*rules, "cross-validation"))
        raise InvalidParameter(f"rule must be one of {names} or all, found {rule!r}")
    return rules[rule]()


def affordable_permutations(model: Any, counted: int | None = None) -> tuple[int, float]:
    """Return how many permutations are made where nobody asked for a number, and their seconds.

    They are 199 where this machine makes them within a minute, else none.

    >>> import mercer as mc
    >>> affordable_permutations(mc.PCA().fit(mc.datasets.iris().numbers))[0]
    199
    """
    seconds = seconds_of_permutations(
        model,
        counted or len(model.individuals_),
        getattr(model, "n_features_in_", 0),
        PERMUTATIONS_UNASKED,
    )
    return (PERMUTATIONS_UNASKED if seconds <= PATIENCE else 0), seconds


def seconds_of_permutations(model: Any, n: int, d: int, count: int) -> float:
    """Return about how long so many permutations of Horn's test take on this machine.

    >>> import mercer as mc
    >>> model = mc.KernelPCA(2, kernel=mc.Gaussian("median"))
    >>> one, two = (seconds_of_permutations(model, n, 4, 99) for n in (20_000, 80_000))
    >>> 2.0 < two / one < 5.0
    True
    """
    parts = getattr(model, "feature_parts", None)
    is_known = parts is not None and hasattr(model, "kernel_")
    columns = sum(part.stop - part.start for part in model.feature_parts()) if is_known else d
    if getattr(model, "kernel", None) is None:
        side = min(n, columns)
        work = 2.0 * n * columns * side
    else:
        side = n if n <= Limits.whole else Limits.landmarks
        work = n * side * (2.0 * (columns + (side if side < n else 0)) + EXPONENTIAL)
    one = work + EIGENVALUES * float(side) ** 3 + SHUFFLE * n * d
    return count * one / (flops() * Threads().count)


def _or_why_not(rule: str, choice: Callable[[], Choice]) -> Choice:
    """Return a choice, or why the data of this model do not allow the rule."""
    try:
        return choice()
    except InvalidInput as error:
        return Choice(rule, 0, f"not decided: {error}", False)


def _inertias(model: Any) -> tuple[np.ndarray[Any, Any], float]:
    inertias, total = getattr(model, "inertias_", None), getattr(model, "inertia_", None)
    if inertias is None or total is None:
        raise InvalidInput(
            f"{type(model).__name__} has no inertias_ and inertia_: pass a fitted PCA or KernelPCA"
        )
    return np.asarray(inertias, dtype=np.float64), float(total)


def _cells_of(model: Any) -> tuple[int, int]:
    """Return how many individuals with a weight and how many columns a table of cells has."""
    weights = getattr(model, "weights_", None)
    if getattr(model, "kernel_", None) is not None or weights is None:
        raise InvalidInput(
            f"cross-validation holds out cells of a table, which {type(model).__name__} has not: "
            "pass a PCA, or take rule='horn'"
        )
    n, p = int(np.sum(weights > 0)), _axes_there_can_be(model)
    if min(n - 1, p) < 2:
        raise InvalidInput(f"cross-validation needs 3 individuals and 2 columns, found {n} and {p}")
    return n, p


def _axes_there_can_be(model: Any) -> int:
    """Return over how many axes Kaiser's mean is taken: those there can be."""
    if hasattr(model, "feature_rank"):
        return int(model.feature_rank)
    if getattr(model, "kernel_", None) is not None:
        weights = getattr(model, "weights_", None)
        return (len(model.X_fit_) if weights is None else int(np.sum(weights > 0))) - 1
    if getattr(model, "standardize", False) and getattr(model, "column_weight", None) is None:
        return round(float(model.inertia_))  # 1 for each column that is not constant
    count = getattr(model, "n_features_in_", None)
    if count is None:
        raise InvalidInput(
            f"Kaiser's mean needs n_features_in_ or kernel_, of which {type(model).__name__} has "
            "neither"
        )
    return int(count)
