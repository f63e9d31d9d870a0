"""Permutation importance: how far the axes move when a variable is made independent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np

from mercer.check import Array, chunks
from mercer.data.frames import as_frame
from mercer.display import Shown, column_name, listing, percent, short
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import require_fit
from mercer.importance.moved_axes import Covariances, Landmarks, MovedAxes, System, Whole
from mercer.importance.permuted import Column, columns_of, groups_of
from mercer.kernels.base import Kernel
from mercer.kernels.vectors import Linear
from mercer.pca.slopes import has_variables
from mercer.points import Rows, read_only, take
from mercer.progress import Progress, follow_work
from mercer.resampling import Resampling
from mercer.settings import LEVEL, RandomState, first_axes, spelled, whole

NAMED = 5
"""Variables that a sentence names before it only counts."""

LOSS_ROUNDING = 1e-9
"""Loss of explained inertia that is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Shown):
    """The share that each variable, or group of variables, has in the leading axes.

    ``shares[g, r]`` is the share of the inertia that the axes explain after the r-th permutation
    of the group g, ``share`` the one observed, and ``distances[g, r]`` how far the space of the
    axes moved, from 0 to 1. ``p_values`` are those of `permutation_importance`. ``landmarks``
    counts the individuals that kernel matrices were reduced to, None where they were not, and
    ``approximation`` is the distance of the observed axes thus found from the model's.

    >>> shares, distances = np.array([[0.5, 0.6]]), np.array([[0.2, 0.4]])
    >>> found = Importance(("x",), 2, 0.7, shares, distances, np.array([1 / 3]), 0)
    >>> found.importances.round(9), found.errors.round(9), found.movements.round(9)
    (array([0.15]), array([0.05]), array([0.3]))
    """

    names: tuple[str, ...]
    axes: int
    share: float
    shares: Array
    distances: Array
    p_values: Array
    seed: int
    landmarks: int | None = None
    approximation: float = 0.0
    library: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    def _title(self) -> str:
        groups, permutations = self.shares.shape
        return f"Importance: {groups} variables or groups, {permutations} permutations of each"

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for g in self.order:
            value, error, p = self.importances[g], self.errors[g], self.p_values[g]
            yield self.names[g], f"{value:.3g} ± {error:.1g}", f"p = {p:.3g}"

    @cached_property
    def importances(self) -> Array:
        """The mean share of the inertia that the axes lose; negative if they gain."""
        return read_only(self.share - self.shares.mean(axis=1))

    @cached_property
    def errors(self) -> Array:
        """The standard errors of the importances, over permutations."""
        return read_only(_error(self.shares))

    @cached_property
    def movements(self) -> Array:
        """The mean distance that the axes move, from 0 (not at all) to 1 (at right angles)."""
        return read_only(self.distances.mean(axis=1))

    @cached_property
    def movement_errors(self) -> Array:
        """The standard errors of the movements."""
        return read_only(_error(self.distances))

    @cached_property
    def order(self) -> Array:
        """The rows from the most to the least important."""
        return read_only(np.argsort(-self.importances, kind="stable"))

    def columns(self) -> dict[str, Array]:
        """Return the columns of `table`."""
        rows = self.order
        return {
            "variable": np.array(self.names, dtype=object)[rows],
            "importance": self.importances[rows],
            "error": self.errors[rows],
            "p_value": self.p_values[rows],
            "movement": self.movements[rows],
            "movement_error": self.movement_errors[rows],
        }

    def table(self, library: str | None = None) -> Any:
        """Return a tidy table: one row for each variable or group, the most important first."""
        return as_frame(self.columns(), library or self.library)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What a person reads of it."""
        first, it = ("The first axis explains", "it")
        if self.axes > 1:
            first, it = f"The first {self.axes} axes explain", "them"
        explained = f"{first} {percent(self.share)} of the inertia."
        found = [f"{explained} {self._on_losses(it)}", self._on_tests()]
        if self.landmarks is not None:
            found.append(
                f"Computed on {self.landmarks} individuals as landmarks, which moves the axes by "
                f"{short(self.approximation)}."
            )
        return tuple(found)

    def _on_losses(self, it: str) -> str:
        losing = [g for g in self.order if self.importances[g] > LOSS_ROUNDING]
        if not losing:
            return f"Shuffling the values of no variable costs {it} anything."
        words = [f"{column_name(self.names[g])} ({percent(self.importances[g])})" for g in losing]
        words[0] = f"{words[0][:-1]} of the inertia)"
        return f"Shuffling the values of one variable costs {it} most for {listing(words, NAMED)}."

    def _on_tests(self) -> str:
        permutations = self.shares.shape[1]
        if permutations + 1 < 1.0 / LEVEL:
            return (
                f"{permutations} permutations are too few to find links beyond chance at "
                f"p ≤ {LEVEL:g}: at least {round(1.0 / LEVEL) - 1} are needed."
            )
        linked = [column_name(self.names[g]) for g in self.order if self.p_values[g] <= LEVEL]
        return (
            f"Linked with the others beyond chance (p ≤ {LEVEL:g}, each test by itself, "
            f"{permutations} permutations): {listing(linked, NAMED) if linked else 'none'}."
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def _error(values: Array) -> Array:
    count = values.shape[1]
    if count == 1:
        return np.zeros(len(values))
    errors: Array = values.std(axis=1, ddof=1) / np.sqrt(count)
    return errors


AXES = 2
"""Axes whose space is followed unless a number is asked for: the plane that people look at."""

LANDMARKS = 80
"""Individuals that a kernel matrix is reduced to, at the least, unless a number is asked for."""

FOR_EACH_AXIS = 20
"""Landmarks for each axis, where these are more."""

STORED_SHARE = 3
"""Individuals for each landmark up to which the whole matrix makes no more work."""

TOGETHER = 16
"""Permutations that are drawn, and taken by a thread, at a time."""


@spelled
def permutation_importance(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    model: Any,
    groups: Any = None,
    permutations: int = 99,
    *,
    axes: int | Sequence[int] = AXES,
    landmarks: int | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Importance:
    r"""Say what the leading axes owe to each variable, or group of variables.

    The columns of a group are permuted together, R times, which makes them independent of the
    others and leaves them as they are among themselves. The axes are found anew each time, from
    the old ones. The first q of them explained the share S of the inertia and now explain

    .. math:: S_r = \sum_{k \le q} \lambda_k^{(r)} / \operatorname{tr}^{(r)}, \quad
        p = \frac{1 + \#\{r : S_r \ge S\}}{R + 1}

    The importance is the mean of S - S_r: what the axes lose. For linear axes of standardised
    variables it is near :math:`\sum_k \gamma_{jk} (\lambda_k - 1)` over the inertia, so that it
    orders variables as their contributions γ do.

    The hypothesis that p tests is that the group is independent of the other variables. Under it
    permuted data are as likely as the data, and p is exact: P(p ≤ a) ≤ a, whatever the kernel and
    however few the individuals. A small p says that the axes owe part of what they explain to a
    link between the group and the others. A variable linked with others only beyond the first q
    axes has no small p. Nor has one with a large variance of its own that carries an axis alone:
    noise with the same values would carry it, too. That it moves the axes is told by the distance

    .. math:: D_r = \sqrt{1 - \tfrac1q \operatorname{tr} P P_r}

    with P and P_r the projections on the eigenvectors (that of Crone and Crosby divided by √q).

    Parameters
    ----------
    model : PCA or KernelPCA
        A fitted model of individuals that are rows of numbers, or of a table. A parameter that
        the data decided, such as a median bandwidth, is kept: p is exact given its value.
    groups : mapping or sequence, optional
        Names of groups with the columns of each (names or numbers), or some columns. By default
        each variable is a group, and so is each block of a consensus kernel; the columns of a
        block "genes" are named "genes[0]", "genes[1]", ….
    permutations : int
        How many, for each group. The smallest p is 1/(R + 1).
    axes : int or sequence
        How many leading axes.
    landmarks : int, optional
        How many individuals kernel matrices are reduced to (Nyström), drawn without looking at the
        data, which keeps p exact; `Importance.approximation` says how far this moves the axes. As
        many as there are takes whole matrices. By default 80, or 20 for each axis, and whole
        matrices of up to three times as many individuals.
    random_state : int or generator, optional
        The seed; a permutation depends on nothing else but its number and its group.
    threads : int, optional
        How many threads to use, by default one for each core. The result is the same.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the permutations done and asked.

    Examples
    --------
    >>> import mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((60, 4))
    >>> x[:, 1] = x[:, 0] + 0.3 * x[:, 1]
    >>> model = mc.KernelPCA(1, kernel=mc.Gaussian(2.0)).fit(x)
    >>> found = permutation_importance(model, axes=1, permutations=19, random_state=0)
    >>> found.p_values[:2].tolist(), sorted(found.order[:2].tolist())
    ([0.05, 0.05], [0, 1])

    Crone and Crosby (1995), Technometrics 37; Mariette and Villa-Vialaneix (2018), Bioinformatics
    34 (mixKernel), with one permutation.
    """
    with follow_work(progress, "permutations") as tell:
        draws = Resampling.of(permutations, random_state, threads=threads, progress=tell)
        subject = _subject(model, first_axes(axes))
        named = groups_of(groups, subject.columns)
        drawn = _landmarks(landmarks, len(subject.X), subject.count, draws.seed)
        system = subject.system(drawn)
        moved = _moved(system, list(named.values()), len(subject.X), draws)
    distances, shares, doubts = np.moveaxis(moved, 2, 0)
    observed = system.observed
    exceeds = shares + doubts >= observed.share - observed.doubt
    return Importance(
        names=tuple(named),
        axes=subject.count,
        share=observed.share,
        shares=shares,
        distances=distances,
        p_values=draws.p_values(exceeds.T)[0],
        seed=draws.seed,
        landmarks=len(system.rows) if isinstance(system, Landmarks) else None,
        approximation=observed.distance,
        library=subject.library,
    )


def _moved(
    system: System, groups: list[list[Column]], individuals: int, draws: Resampling
) -> Array:
    """Return distances, shares and doubts: groups x permutations x 3."""
    parts = list(chunks(draws.count, TOGETHER))

    def work(piece: int, stop: Event) -> list[MovedAxes]:
        g, part = divmod(piece, len(parts))
        rng = draws.generator(g, part)
        count = parts[part].stop - parts[part].start
        orders = (rng.permutation(individuals) for _ in range(count) if not stop.is_set())
        return [system.permuted(groups[g], order) for order in orders]

    results: list[MovedAxes] = []
    with closing(draws.in_order(work, range(len(groups) * len(parts)))) as found:
        for part in found:
            results.extend(part)
            if draws.progress is not None:
                draws.progress(len(results), len(groups) * draws.count)
    return np.array(results, dtype=np.float64).reshape(len(groups), draws.count, 3)


@dataclass(frozen=True, eq=False)
class PermutedRows:
    """The individuals that are permuted, with their weights, and how axes are found for them."""

    X: Any
    columns: dict[str, list[Column]]
    weights: Array
    count: int
    kernel: Kernel | None
    vectors: Array
    is_standardised: bool
    library: str | None

    def system(self, landmarks: Array | None) -> System:
        """Return the covariances of columns if axes are linear and columns fewer than rows."""
        if self.kernel is None and len(self.columns) <= len(self.X):
            return Covariances(
                self.X, self.weights, self.count, is_standardised=self.is_standardised
            )
        kernel = Linear() if self.kernel is None else self.kernel
        if landmarks is None:
            return Whole(kernel, self.X, self.weights, self.count, self.vectors)
        return Landmarks(kernel, self.X, self.weights, self.count, landmarks, self.vectors)


def _subject(model: Any, axes: int) -> PermutedRows:
    if hasattr(model, "fit"):
        require_fit(model)
    points = getattr(model, "X_fit_", None)
    if not (has_variables(model) or isinstance(points, Rows)):
        raise InvalidParameter(
            "variables are permuted: give a PCA or a KernelPCA whose individuals are rows of "
            "numbers, or of a table"
        )
    if not getattr(model, "has_exchangeable_columns", True):
        raise InvalidParameter(
            f"the weights of the individuals of {type(model).__name__} depend on the columns, "
            "which therefore cannot be permuted alone; columns_.contributions show what each "
            "column contributes to an axis"
        )
    kernel: Kernel | None = getattr(model, "kernel_", None)
    if hasattr(points, "toarray"):
        raise InvalidInput("permutation importance does not support sparse tables: fit a dense one")
    weights = model.individuals_.weights
    active = weights > 0
    count = min(axes, len(model.individuals_.inertias))
    if count == 0:
        raise InvalidInput("the model has no axes: all individuals coincide")
    X = _rows_of(points, np.flatnonzero(active))
    F = model.individuals_.coordinates[active] / model.individuals_.unit
    if np.iscomplexobj(F):
        raise InvalidInput(
            "permutation importance does not support complex kernels: give the real part"
        )
    w = weights[active]
    is_linear = kernel is None or kernel == Linear()
    if kernel is None:
        m = np.ones(X.shape[1]) if model.column_weight is None else np.asarray(model.column_weight)
        X = X / model.scale_ * np.sqrt(m)
    if is_linear:
        X = X - w @ X
        X /= np.abs(X).max() or 1.0  # shares and distances have no unit, and squares exist
    return PermutedRows(
        X,
        columns_of(X, model.data_names.columns, kernel),
        w,
        count,
        None if is_linear else kernel,
        np.sqrt(w)[:, None] * F / np.linalg.norm(np.sqrt(w)[:, None] * F, axis=0),
        bool(getattr(model, "standardize", False)),
        model.data_names.library,
    )


def _rows_of(points: Any, chosen: Array) -> Any:
    """Return some individuals in memory, numbers in double precision."""
    if isinstance(points, Rows):
        return take(points, chosen)
    return np.asarray(points[:], dtype=np.float64)[chosen]


def _landmarks(landmarks: int | None, n: int, count: int, seed: int) -> Array | None:
    """Draw landmarks, or return None where all individuals are."""
    asked = max(LANDMARKS, FOR_EACH_AXIS * count)
    if landmarks is not None:
        asked = whole(landmarks, "landmarks", least=count + 2)
    if asked >= n or (landmarks is None and STORED_SHARE * asked >= n):
        return None
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    return np.sort(rng.choice(n, asked, replace=False))
