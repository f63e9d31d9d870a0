"""What a matrix is called: each kind by examples, and by what it implies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.kernels import definiteness

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((6, 9))
LINE = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))


@pytest.mark.parametrize(
    ("matrix", "name"),
    [
        (TALL @ TALL.T, "strictly positive definite"),
        (TALL.T @ TALL, "positive semidefinite"),
        (np.zeros((3, 3)), "positive semidefinite"),
        (-LINE, "conditionally positive definite"),
        (-TALL @ TALL.T, "negative semidefinite"),
        (LINE, "indefinite"),
        ([[1.0, 2.0], [0.0, 1.0]], "indefinite"),
        (np.array([[2.0, 1j], [-1j, 2.0]]), "strictly positive definite"),
        (np.array([[1.0, 2j], [-2j, 1.0]]), "indefinite"),
    ],
)
def test_every_kind_has_its_name(matrix: Any, name: str) -> None:
    assert definiteness(matrix) == name


def test_kernels_are_named_at_points() -> None:
    x = RNG.standard_normal((8, 2))
    assert definiteness(mc.Gaussian(1.0), x) == "strictly positive definite"
    assert definiteness("linear()", x) == "positive semidefinite"
    assert definiteness(mc.kernels.NegativeDistance(), x) == "conditionally positive definite"
    with pytest.raises(mc.errors.InvalidInput, match="give x"):
        definiteness(mc.Gaussian(1.0))


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10.0))
def test_adding_to_the_diagonal_makes_strict_and_constants_keep_conditional(
    seed: int, shift: float
) -> None:
    a = np.random.default_rng(seed).standard_normal((5, 3))
    assert definiteness(a @ a.T) == "positive semidefinite"
    assert definiteness(a @ a.T + shift * np.eye(5)) == "strictly positive definite"
    squared = np.sum((a[:, None] - a) ** 2, axis=2)
    assert definiteness(-squared - shift) == "conditionally positive definite"
