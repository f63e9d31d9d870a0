"""What a kernel PCA refuses: Gram matrices of no points in any space."""

from __future__ import annotations

import numpy as np

from mercer.check import Array
from mercer.errors import NotPositiveDefinite
from mercer.gram import Centred
from mercer.spectrum import Spectrum

MOST_NEGATIVE = 1e-8
"""The share of negative eigenvalues in Σ|λ| above which a Gram matrix is not one by rounding."""

MOST_NEGATIVE_SINGLE = 1e-5
"""The same for a Gram matrix given in single precision."""

EXCESS = 1e-6
"""The share of the largest inertia by which axes may show more of an individual than there is."""

REMEDY = (
    "Choose a positive definite kernel; from distances, raise them to "
    "mercer.kernels.largest_euclidean_power first; similarities of your own are made positive by "
    "correction='clip', or mercer.kernels.correct_similarities(K)"
)


def refuse_negative_diagonal(K: Array) -> None:
    """Refuse a matrix with a squared norm below zero, by its entry."""
    diagonal = np.diag(K).real
    if np.any(diagonal < -MOST_NEGATIVE * np.abs(K).max()):
        i = int(np.argmin(diagonal))
        raise NotPositiveDefinite(
            f"entry ({i}, {i}) of the Gram matrix is {diagonal[i]:.6g}: k(x, x) is a squared norm "
            "and not negative. From distances, give mercer.kernels.gram_of of their squares"
        )


def refuse_negative(spectrum: Spectrum, *, is_single: bool) -> None:
    """Refuse a centred matrix with more negative eigenvalues than rounding makes, by their mass."""
    mass = spectrum.negative_mass
    if mass is not None and mass > (MOST_NEGATIVE_SINGLE if is_single else MOST_NEGATIVE):
        raise NotPositiveDefinite(
            f"the centred Gram matrix is not positive semidefinite: {100 * mass:.3g} % of its "
            f"eigenvalues, by modulus, are negative. {REMEDY}"
        )


def refuse_contradiction(spectrum: Spectrum, centred: Centred, tol: float) -> None:
    r"""Refuse leading axes that show more of an individual than there is of it.

    .. math:: \sum_k \lambda_k |u_{ik}|^2 \le w_i \|\varphi_i - \mu\|^2

    wherever no eigenvalue is negative; so that some are can be known without computing them.
    """
    if spectrum.negative_mass is not None or spectrum.is_approximate:
        return
    shown = np.abs(spectrum.vectors) ** 2 @ np.maximum(spectrum.values, 0.0)
    there = centred.diag()
    i = int(np.argmax(shown - there))
    allowed = max(EXCESS, 10.0 * tol) * np.max(np.abs(there)) + spectrum.threshold
    if shown[i] - there[i] > allowed:
        raise NotPositiveDefinite(
            f"the centred Gram matrix is not positive semidefinite: the axes show {shown[i]:.3g} "
            f"of the inertia of individual {i}, which has {there[i]:.3g}. {REMEDY}"
        )
