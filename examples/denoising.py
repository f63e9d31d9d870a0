"""Noisy digits brought back to the digits they were: the pre-images of their projections.

Run with ``python examples/denoising.py``; ``figure()`` returns the picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import mercer as mc
from mercer import pictures

NOISE = 6.0
"""The standard deviation of the noise; pixels are 0 to 16."""

FITTED, SHOWN = 800, 12
"""Digits that the axes are found from, and others that are denoised."""


def denoised() -> dict[str, Any]:
    """Return digits, the same with noise, and what PCA and kernel PCA make of those."""
    digits = load_digits().data
    noisy = digits + NOISE * np.random.default_rng(0).standard_normal(digits.shape)
    train, new = digits[:FITTED], noisy[FITTED : FITTED + SHOWN]
    linear = mc.PCA(12).fit(train)  # the number of axes that does best here
    model = mc.KernelPCA(120, kernel=mc.Gaussian(bandwidth=40.0)).fit(train)
    found = mc.preimage(model, model.transform(new))
    return {
        "the digits": digits[FITTED : FITTED + SHOWN],
        "with noise": new,
        "PCA": linear.inverse_transform(linear.transform(new)),
        "kernel PCA": found.points,
    }


def figure() -> Any:
    """Return the four as rows of images."""
    return pictures.images.describe(np.vstack(list(denoised().values())), (8, 8), columns=SHOWN)


if __name__ == "__main__":
    rows = denoised()
    for name, images in rows.items():
        error = np.sqrt(np.mean((images - rows["the digits"]) ** 2))
        print(f"{name:>12}: root mean squared error {error:.2f} per pixel")
