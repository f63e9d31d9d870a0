"""What a symmetric matrix is: strictly positive, positive, conditionally positive, or neither."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mercer.check import Points
from mercer.errors import InvalidInput
from mercer.kernels.base import Kernel
from mercer.kernels.definite import checked_matrix, positive_definite
from mercer.kernels.geometry import negative_definite
from mercer.kernels.text import kernel as read
from mercer.points import as_points
from mercer.settings import spelled

Definiteness = Literal[
    "strictly positive definite",
    "positive semidefinite",
    "conditionally positive definite",
    "negative semidefinite",
    "indefinite",
]


@spelled
def definiteness(kernel_or_matrix: Any, x: Points | None = None) -> Definiteness:
    r"""Name what a matrix is, or the Gram matrix of a kernel at points.

    .. math:: c^* K c > 0 \;\;(c \ne 0), \qquad c^* K c \ge 0, \qquad
        c^* K c \ge 0 \;\text{ whenever } \textstyle\sum_i c_i = 0

    are strict, plain and conditional definiteness, each of which implies the next; the first that
    holds is the answer. An eigenvalue counts as zero within what rounding may have done to it, so
    that what is called strict has none there. A matrix that is not symmetric is indefinite.

    >>> definiteness([[2.0, 1.0], [1.0, 2.0]]), definiteness([[1.0, 1.0], [1.0, 1.0]])
    ('strictly positive definite', 'positive semidefinite')
    >>> definiteness([[0.0, -1.0], [-1.0, 0.0]]), definiteness([[1.0, 2.0], [2.0, 0.0]])
    ('conditionally positive definite', 'indefinite')
    >>> from mercer import Gaussian
    >>> definiteness(Gaussian(1.0), [[0.0], [1.0], [0.0]])
    'positive semidefinite'

    Gallier and Quaintance, Definition 53.3; Yao, on conditionally negative definite matrices.
    """
    given = kernel_or_matrix
    if isinstance(given, Kernel | str):
        if x is None:
            raise InvalidInput(
                "the definiteness of a kernel is that of its matrix at points: give x"
            )
        given = read(given)(as_points(x, "x"))
    verdict = positive_definite(given)
    if verdict:
        smallest = verdict.smallest
        is_strict = smallest is not None and smallest > verdict.tolerance
        return "strictly positive definite" if is_strict else "positive semidefinite"
    matrix, _ = checked_matrix(given, "the matrix")
    if not np.iscomplexobj(matrix) and negative_definite(-matrix):
        return "conditionally positive definite"
    return "negative semidefinite" if positive_definite(-matrix) else "indefinite"
