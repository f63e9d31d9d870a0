"""Values computed by other systems, stored beside the tests, and how they are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array

FOLDER = Path(__file__).parent / "reference"


def reference(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return content


def aligned(found: Array, expected: Array) -> Array:
    """Return scores with the signs of others: each axis is defined up to one."""
    signs = np.sign(np.sum(found * np.asarray(expected), axis=0))
    return np.asarray(found * np.where(signs == 0, 1.0, signs))


def near(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Assert that a block of numbers agrees, relative to the largest of them."""
    expected = np.asarray(expected)
    size = float(np.max(np.abs(expected), initial=0.0)) or 1.0
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=tolerance * size)
