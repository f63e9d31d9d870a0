"""Metric scaling under scikit-learn's signature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn import manifold

from mercer.check import Array
from mercer.mds.descent import Pairs, descended
from mercer.mds.losses import loss_of

STEPS = 1000
"""Of L-BFGS, from where scikit-learn's majorisation stopped."""

TOL = 1e-6
"""The derivative at which the descent ends, as in `mercer.StressMDS`."""


class MDS(manifold.MDS):
    r"""scikit-learn's `MDS`, whose map is a minimum of the stress and not where its steps ended.

    .. math:: \sum_{i<j} (d_{ij} - \delta_{ij})^2, \quad\text{normalised}\quad
        \sqrt{\textstyle\sum_{i<j} (d_{ij} - \delta_{ij})^2 / \sum_{i<j} \delta_{ij}^2}

    Parameters, attributes and methods are those of scikit-learn's class, from which it inherits,
    and so are starts and majorisation, which stops at ``eps``. L-BFGS then descends from the best
    map to a derivative of 1e-6, and ``stress_`` is that of the map it ends at. Ordinal maps are
    scikit-learn's; `mercer.StressMDS` has others, with weights and missing dissimilarities.

    Examples
    --------
    >>> ring = np.array([[0.0, 1, 3, 2], [1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]])
    >>> options = {"init": "random", "n_init": 1, "random_state": 0}
    >>> ours = MDS(metric="precomputed", **options).fit(ring)
    >>> theirs = manifold.MDS(metric="precomputed", **options).fit(ring)
    >>> bool(ours.stress_ < theirs.stress_)
    True
    """

    embedding_: Array
    stress_: float

    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> Array:
        """Fit, and return the map."""
        super().fit_transform(X, init=init)
        if self._is_metric() and np.any(self.dissimilarity_matrix_ > 0):
            self._descend()
        return np.asarray(self.embedding_)

    def _is_metric(self) -> bool:
        given = vars(self).get("metric_mds", vars(self).get("metric"))
        return given is True

    def _descend(self) -> None:
        delta = np.asarray(self.dissimilarity_matrix_, np.float64)
        delta = 0.5 * (delta + delta.T)
        pairs = Pairs(delta, None)
        loss = loss_of("stress", pairs.target, pairs.weights, "primary")
        start = np.asarray(self.embedding_, np.float64) / pairs.unit
        end = descended(pairs, loss, start, STEPS, TOL, lambda _: None)
        size = loss.scale(pairs.distances(end.coordinates))
        best = pairs.unit * size * end.coordinates
        stress = 0.5 * float(np.sum((squareform(pdist(best)) - delta) ** 2))
        if self.normalized_stress is True:
            stress = float(np.sqrt(stress / (0.5 * float(np.sum(delta**2)))))
        if stress < self.stress_:
            self.embedding_, self.stress_ = best, stress
