"""Kernel methods for exploratory analysis.

The public names are loaded when they are first used, so that ``import mercer`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "mercer.check": (
        "InvalidInput",
        "InvalidParameter",
        "MercerError",
        "NoFeatureMap",
        "NotDifferentiable",
        "NotPositiveDefinite",
        "Paired",
        "WrittenFormError",
    ),
    "mercer.kernels.algebra": ("Constant",),
    "mercer.kernels.base": ("Kernel", "Kind", "parameters", "value", "with_parameters"),
    "mercer.kernels.definite": (
        "check_kernel",
        "euclidean",
        "negative_definite",
        "positive_definite",
    ),
    "mercer.kernels.functions": ("Delta", "FromFunction", "Precomputed"),
    "mercer.kernels.groups": ("Cyclic", "Group", "Permutations"),
    "mercer.kernels.radial": (
        "Gaussian",
        "Laplacian",
        "Matern",
        "NegativeDistance",
        "Radial",
        "RationalQuadratic",
    ),
    "mercer.kernels.sets": ("Agreement", "AllSubsets", "Intersection", "UnionComplement"),
    "mercer.kernels.spectral": (
        "Characteristic",
        "FeatureMap",
        "Periodic",
        "Series",
        "Sinc",
        "Sobolev",
    ),
    "mercer.kernels.splines": ("Brownian", "CubicSpline"),
    "mercer.kernels.tensor": ("tensor_product", "tensor_sum"),
    "mercer.kernels.text": ("kernel",),
    "mercer.kernels.vectors": ("Bilinear", "Linear", "Polynomial", "Sigmoid"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
