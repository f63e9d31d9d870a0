"""Individuals on axes as tests of links see them: coordinates, weights, and what these prove."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.estimator import require_fit
from mercer.reading.axis_values import Categories, correlations, scatters


@dataclass(frozen=True)
class Space:
    """Axes that are read together, counted from 0; not whole where one of them is not known."""

    axes: tuple[int, ...]
    share: float | None
    is_whole: bool = True


@dataclass(frozen=True, eq=False)
class Scores:
    """The coordinates of individuals on axes, with what is needed to test links with them."""

    coordinates: Array
    weights: Array
    inertias: Array
    unit: float
    shares: Array | None
    clusters: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, model: Any) -> Scores:
        """Read a fitted model with axes, or the map of one without inertias."""
        clusters = getattr(getattr(model, "spectrum_", None), "clusters", ())
        if not hasattr(model, "embedding_") and hasattr(model, "individuals_"):
            found = model.individuals_
            shares = np.asarray(model.explained_variance_ratio_)
            scores = cls(
                found.coordinates, found.weights, found.inertias, found.unit, shares, clusters
            )
        elif hasattr(model, "embedding_"):
            F = np.asarray(model.embedding_, dtype=np.float64)
            weights = np.asarray(getattr(model, "_weights", np.full(len(F), 1.0 / len(F))))
            unit = float(np.abs(F).max(initial=0.0)) or 1.0
            F = F - weights @ F
            scores = cls(F, weights, weights @ (F / unit) ** 2, unit, None, clusters)
        else:
            if hasattr(model, "fit"):
                require_fit(model)
            raise InvalidInput(f"{type(model).__name__} has no individuals on axes to describe")
        if np.iscomplexobj(scores.coordinates):
            raise InvalidInput(
                "the coordinates are complex and have no order; the real part of the kernel is a "
                "kernel too, with real ones"
            )
        return scores

    def spaces(self, count: int) -> list[Space]:
        """Return the first axes, those of one inertia together."""
        kept = self.coordinates.shape[1]
        together = {k: tuple(i for i in c if i < kept) for c in self.clusters for k in c}
        found: list[Space] = []
        for k in range(min(count, kept)):
            axes = together.get(k, (k,))
            if not any(k in space.axes for space in found):
                share = None if self.shares is None else float(np.sum(self.shares[list(axes)]))
                found.append(Space(axes, share, is_whole=k not in together or len(axes) > 1))
        return found

    @property
    def count(self) -> int:
        """How many individuals have a weight."""
        return int(np.sum(self.weights > 0))

    def shuffled(self, rng: np.random.Generator) -> Scores:
        """Return the same individuals in another order, those without weight in their places."""
        active = np.flatnonzero(self.weights > 0)
        order = np.arange(len(self.weights))
        order[active] = rng.permutation(active)
        return replace(self, coordinates=self.coordinates[order], weights=self.weights[order])

    def effective(self, axes: list[int], known: Array | None = None) -> float:
        r"""Return how many individuals of equal weight say as much of q axes as these do.

        .. math:: M = q \Big/ \sum_k \frac{\sum_i w_i^2 F_{ik}^2}{\sum_i w_i F_{ik}^2}

        1/M is the variance of the correlation of an axis with what is drawn independently of it:
        of equal weights 1/N.

        >>> F = np.array([[1.0], [-1.0], [1.0], [-1.0]])
        >>> few = Scores(F, np.array([0.4, 0.4, 0.1, 0.1]), np.ones(1), 1.0, None, ())
        >>> round(few.effective([0]), 3)
        2.941
        """
        some = slice(None) if known is None else known
        w, F = self.weights[some], self.coordinates[some][:, axes] / self.unit
        F = F - w @ F / w.sum()
        squares = w @ F**2
        ratios = (w**2 @ F**2) / np.where(squares > 0, squares, 1.0)
        total = float(np.sum(ratios)) / float(w.sum())
        return len(axes) / total if total > 0 else 0.0

    def correlations(self, values: Array, known: Array) -> Array:
        """Return the correlations of columns, over the individuals whose values are known."""
        weights = self.weights[known]
        r, _ = correlations(values[known], self.coordinates[known], weights / weights.sum())
        return r

    def categories(self, name: str, labels: Array) -> Categories:
        """Return the categories of a factor that individuals with a weight have."""
        levels = sorted({str(v) for v in labels[self.weights > 0]})
        members = np.column_stack([labels == level for level in levels]).astype(np.float64)
        weights = self.weights @ members
        return Categories(
            coordinates=(self.weights[:, None] * members / weights).T @ self.coordinates,
            squared_distances=np.zeros(len(levels)),
            levels=tuple(levels),
            variables_of=(name,) * len(levels),
            counts=members[self.weights > 0].sum(axis=0).astype(int),
            weights=weights,
            inertias=self.inertias,
            total=self.count,
            unit=self.unit,
            scatters=scatters(self.coordinates, self.weights, self.unit),
        )
