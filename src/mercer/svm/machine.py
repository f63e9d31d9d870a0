"""What all machines share: the points that have a weight, their stored matrix, and the solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.check import Array, Points, number, shares_of
from mercer.display import warn
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import KernelModel, as_kernel, on_engine, weights_of
from mercer.gram import Gram
from mercer.kernels.base import Kind
from mercer.kernels.functions import Precomputed
from mercer.null_space import Origin
from mercer.points import take
from mercer.svm.expansion import Expansion, is_definite
from mercer.targets import check_size

STORED = 10_000
"""Up to this size (0.8 GB) the matrix is stored."""

MOST_GAP = 1e-8
"""A duality gap above this share of the objective is worth a warning."""

LOST = 1.0
"""An objective that rounding may have changed by a larger share of it is not known."""

E = TypeVar("E", bound=Expansion)


class Machine(KernelModel):
    """A model of functions f = Σ βᵢ k(xᵢ, ·) + b whose weights solve a quadratic program."""

    _used: Array

    def _positive_weights(self, sample_weight: Any, count: int) -> Array:
        """Return the weights that are positive, and note whose they are."""
        if count > STORED:
            raise InvalidParameter(
                f"the matrix of {count} points is not stored, {STORED} are the most; take a part "
                "of the points"
            )
        weights = weights_of(sample_weight, count)
        check_size(weights, "sample_weight")
        self._count, self._used = count, np.flatnonzero(weights > 0)
        self.weights_ = shares_of(weights)
        return np.asarray(weights[self._used])

    def _matrix(self, points: Points, *, has_constant: bool = True) -> Array:
        """Return the matrix of the points that have a weight.

        With a free constant weights sum to zero. A conditionally positive definite kernel is then
        enough, and points are seen from their mean where that keeps digits.
        """
        if self._is_precomputed:
            self.X_fit_, self._origin = None, Origin()
            gram = Gram(Precomputed(np.asarray(points)), self._used)
        else:
            used = take(points, self._used)
            kernel = as_kernel(self.kernel).resolve(used)
            self.X_fit_ = used
            self._origin = Origin.of(kernel, used, "constant" if has_constant else None)
            gram = Gram(kernel, self._origin.points(used))
        K = gram.dense()
        if np.iscomplexobj(K):
            raise InvalidInput(f"margins are of real kernels, and {gram.kernel} is complex")
        self.kernel_, self._points = gram.kernel, gram.x
        self._entry = gram.entry_rounding().entry
        is_proved = bool(gram.kernel.proof) and (
            has_constant or gram.kernel.kind is not Kind.CONDITIONAL
        )
        self._is_convex = is_proved or is_definite(K, is_centred=has_constant)
        return K

    def _keep(self, found: Sequence[tuple[Array, E]]) -> list[E]:
        """Keep the solutions on parts of the points, and return them for points as they came."""
        rows = [self._used[inside] for inside, _ in found]
        self.dual_coef_ = np.zeros((len(found), self._count))
        self.slacks_ = np.full((len(found), self._count), np.nan)
        for k, (_, solution) in enumerate(found):
            self.dual_coef_[k, rows[k]] = solution.weights
            self.slacks_[k, rows[k]] = solution.slacks
        self._weights = self.dual_coef_[:, self._used]
        self._intercepts = np.array([s.intercept for _, s in found])
        none = np.zeros((1, len(found)))
        moved = self._origin.null_weights(none, self.kernel_, self._weights.T, self._points)[0]
        solutions = [
            (s if self._is_convex else replace(s, gap=np.inf)).moved(float(b))
            for (_, s), b in zip(found, moved, strict=True)
        ]
        self.support_ = np.flatnonzero(np.any(self.dual_coef_ != 0, axis=0))
        self.intercept_ = np.array([s.intercept for s in solutions])
        self.intercept_intervals_ = np.array([s.interval for s in solutions])
        self.objective_ = float(sum(s.objective for s in solutions))
        self.gap_ = float(sum(s.gap for s in solutions))
        self.rounding_ = float(sum(s.rounding for s in solutions))
        self.n_iter_ = max(s.steps for s in solutions)
        doubt = self._doubt(solutions)
        if doubt:
            warn(doubt, ConvergenceWarning)
        return solutions

    def _doubt(self, solutions: Sequence[Expansion]) -> str:
        """Return why the optimum is not known well, empty if it is."""
        if any(s.rounding > LOST * abs(s.objective) for s in solutions) and self._is_convex:
            return (
                "rounding of the kernel's values can have changed the objective "
                f"{self.objective_:.6g} by {self.gap_:.2g}: give points nearer to the origin, or a "
                "smaller C"
            )
        # Both sides of a gap are known up to rounding, which a smaller difference says nothing of.
        if not any(s.gap > MOST_GAP * abs(s.objective) + 2.0 * s.rounding for s in solutions):
            return ""
        if self._is_convex:
            return (
                f"the optimum is proved only to within {self.gap_:.2g} of {self.objective_:.6g}; "
                "C is too large for the condition of the kernel"
            )
        return (
            "the kernel is not positive definite on these points: the conditions of an optimum "
            "hold, and other separators may be better"
        )

    @on_engine
    def _values(self, X: Any) -> Array:
        """Return f at points, a column for each solution."""
        points = self._read(X, reset=False)
        if self._is_precomputed:
            product = np.asarray(points)[:, self._used] @ self._weights.T
        else:
            seen = self._origin.points(points)
            product = Gram(self.kernel_, seen, self._points).product(self._weights.T)
        return np.asarray(product + self._intercepts)

    @property
    def support_vectors_(self) -> Points:
        """The points that carry weight; a model of a precomputed matrix has none."""
        points: Points | None = vars(self).get("X_fit_")
        if points is None:
            raise AttributeError(
                f"{type(self).__name__} has support_vectors_ once it is fitted to points; of a "
                "precomputed matrix support_ gives their rows"
            )
        return take(points, np.searchsorted(self._used, self.support_))


def share(nu: Any) -> float:
    """Return ν, a share of the points."""
    value = number(nu, "nu", above=0.0)
    if value > 1.0:
        raise InvalidParameter(f"nu is a share of the points, at most 1; found {nu!r}")
    return value
