"""Similarities made positive definite: negative eigenvalues clipped, flipped or shifted away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from mercer.check import Array, real_array
from mercer.display import Shown
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.definite import EIGENVALUE_ROUNDING, checked_matrix, not_symmetric

CORRECTIONS = ("clip", "flip", "shift")


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedSimilarities(Shown):
    r"""A matrix of similarities that a correction made a Gram matrix, and what it changed.

    As an array it is ``matrix``, which ``KernelPCA(kernel="precomputed").fit`` takes; rows of new
    individuals go through `transform` first. ``negative_mass`` is the share of negative
    eigenvalues in :math:`\sum |\lambda|` before, ``change`` is
    :math:`\|K' - K\|_F / \|K\|_F`, and ``shift`` what was added to the diagonal. ``eigenvalues``
    are those before, decreasing.

    >>> import mercer as mc
    >>> found = mc.kernels.correct_similarities([[1.0, 0.9], [0.9, 0.5]])
    >>> found.correction, round(found.negative_mass, 4)
    ('clip', 0.0985)
    """

    facts: ClassVar[Mapping[str, str]] = {
        "correction": "of negative eigenvalues",
        "negative_mass": "their share in the sum of moduli, before",
        "change": "of the matrix, as a share of its norm",
        "shift": "added to the diagonal",
    }

    matrix: Array
    correction: str
    eigenvalues: Array
    negative_mass: float
    change: float
    shift: float
    map: Array | None

    def _title(self) -> str:
        return f"CorrectedSimilarities of {len(self.matrix)} individuals"

    def __len__(self) -> int:
        return len(self.matrix)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.matrix, dtype=dtype or np.float64, copy=bool(copy))

    def transform(self, similarities: Any) -> Array:
        r"""Return the rows of new individuals, corrected as those of the fit were.

        .. math:: k_x' = k_x\, V f(\Lambda) \Lambda^{+} V^\top

        with f(λ) = max(λ, 0) or \|λ\|; a shift adds only to the similarity of an individual with
        itself, so that new rows stay as they are.
        """
        rows = np.atleast_2d(real_array(similarities, "similarities"))
        if rows.shape[1] != len(self.matrix):
            raise InvalidInput(
                f"similarities to {len(self.matrix)} individuals are needed, found shape "
                f"{rows.shape}"
            )
        return rows if self.map is None else np.asarray(rows @ self.map)


def correct_similarities(similarities: Any, correction: str = "clip") -> CorrectedSimilarities:
    r"""Return the Gram matrix nearest in some sense to a symmetric matrix of similarities.

    .. math:: K = V \Lambda V^\top, \quad K' = V f(\Lambda) V^\top, \quad
        f(\lambda) = \max(\lambda, 0), \quad |\lambda|, \quad \lambda - \lambda_{\min}

    "clip" drops negative eigenvalues as noise, and is the positive semidefinite matrix nearest to
    K (Higham); "flip" keeps their size, for similarities whose negative part says something;
    "shift" raises all by as much as the lowest needs, :math:`K' = K - \min(\lambda_{\min}, 0) I`,
    and keeps all similarities between different individuals. A matrix that is positive
    semidefinite up to rounding stays as it is.

    >>> found = correct_similarities([[0.0, 1.0], [1.0, 0.0]], "flip")
    >>> found.matrix.round(12), found.negative_mass, round(found.change, 6)
    (array([[1., 0.],
           [0., 1.]]), 0.5, 1.414214)
    >>> correct_similarities([[0.0, 1.0], [1.0, 0.0]], "shift").matrix
    array([[1., 1.],
           [1., 1.]])

    Chen, Garcia, Gupta, Rahimi & Cazzanti, Journal of Machine Learning Research 10 (2009) 747-776;
    Higham, Linear Algebra and its Applications 103 (1988) 103-118.
    """
    if correction not in CORRECTIONS:
        raise InvalidParameter(
            f"correction must be one of {', '.join(CORRECTIONS)}, found {correction!r}"
        )
    K, roundoff = checked_matrix(similarities, "the matrix of similarities")
    if np.iscomplexobj(K):
        raise InvalidInput("the matrix of similarities is complex; take its real part")
    broken = not_symmetric(K, roundoff)
    if broken:
        raise InvalidInput(
            f"the matrix of similarities is {broken}. Average them, (K + K.T) / 2, if either is "
            "as good as the other"
        )
    K = 0.5 * K + 0.5 * K.T
    values, vectors = eigh(K, driver="evd", check_finite=False)
    size = float(np.max(np.abs(values), initial=0.0))
    noise = EIGENVALUE_ROUNDING * len(K) * roundoff * size
    total, below = float(np.sum(np.abs(values))), values < -noise
    mass = float(np.sum(np.abs(values[below]))) / total if total > 0 else 0.0
    shift, project = 0.0, None
    if not np.any(below):
        matrix = K
    elif correction == "shift":
        shift = -float(values[0])
        matrix = K + shift * np.eye(len(K))
    else:
        kept = np.where(below, 0.0 if correction == "clip" else -values, np.maximum(values, 0.0))
        signs = np.where(below, 0.0 if correction == "clip" else -1.0, 1.0)
        matrix = (vectors * kept) @ vectors.T
        matrix = 0.5 * matrix + 0.5 * matrix.T
        project = (vectors * signs) @ vectors.T
    norm = float(np.linalg.norm(K / (size or 1.0)))
    change = float(np.linalg.norm((matrix - K) / (size or 1.0))) / norm if norm > 0 else 0.0
    matrix.flags.writeable = False
    return CorrectedSimilarities(matrix, correction, values[::-1], mass, change, shift, project)
