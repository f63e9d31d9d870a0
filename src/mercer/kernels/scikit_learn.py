"""Kernels by scikit-learn's names and parameters, whose usual γ is one over the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, ClassVar

from mercer.check import Array, Points
from mercer.errors import InvalidParameter
from mercer.kernels.base import ATOM, Domain, Kernel, Kind, Name, literal, value
from mercer.kernels.laplacian_matern import Laplacian
from mercer.kernels.pairs import AllPairs, Pairs
from mercer.kernels.radial import Gaussian
from mercer.kernels.vectors import Linear, Polynomial, Sigmoid
from mercer.settings import number, whole

ABSENT = ("chi2", "additive_chi2")
"""Kernels of scikit-learn's that mercer does not have."""


def rbf(gamma: float | str | None = None) -> Kernel:
    r"""Return :math:`e^{-\gamma\|x-y\|^2}`, the Gaussian with γ = 1/(2·bandwidth²).

    >>> rbf(0.5)
    Gaussian(bandwidth=1.0)
    >>> rbf()([[0.0, 0.0]], [[1.0, 1.0]]) == Gaussian(1.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[ True]])
    """
    if isinstance(gamma, str) and gamma == "scale":
        return Gaussian("scale")
    if _is_usual(gamma):
        return PerCoordinate("rbf")
    return Gaussian(sqrt(0.5) / sqrt(_positive(gamma)))


def laplacian(gamma: float | str | None = None) -> Kernel:
    """Return exp(-γ‖x-y‖₁), the Laplacian with γ = 1/bandwidth."""
    if _is_usual(gamma):
        return PerCoordinate("laplacian")
    return Laplacian(1.0 / _positive(gamma), norm=1.0)


def poly(degree: int = 3, gamma: float | str | None = None, coef0: float = 1.0) -> Kernel:
    """Return (γ⟨x, y⟩ + coef0)^degree."""
    if _is_usual(gamma):
        return PerCoordinate("poly", degree, coef0)
    return Polynomial(degree, coef0, _positive(gamma))


def sigmoid(gamma: float | str | None = None, coef0: float = 1.0) -> Kernel:
    """Return tanh(γ⟨x, y⟩ + coef0), which is a similarity."""
    if _is_usual(gamma):
        return PerCoordinate("sigmoid", offset=coef0)
    return Sigmoid(_positive(gamma), coef0)


def cosine() -> Kernel:
    """Return the cosine of the angle between two vectors."""
    return Linear().normalised()


def _is_usual(gamma: float | str | None) -> bool:
    return gamma is None or (isinstance(gamma, str) and gamma == "auto")


def _positive(gamma: Any) -> float:
    if isinstance(gamma, str):
        raise InvalidParameter(
            f"gamma is a number, 'auto' (one over the number of columns) or, of rbf, 'scale'; "
            f"found {gamma!r}"
        )
    return number(gamma, "gamma", above=0.0)


NAMES: dict[str, Callable[..., Kernel]] = {
    "rbf": rbf,
    "laplacian": laplacian,
    "poly": poly,
    "polynomial": poly,
    "sigmoid": sigmoid,
    "cosine": cosine,
}
"""What makes each kernel; of ``laplacian`` and ``sigmoid`` the names are mercer's too."""


SPELT = {"offset": "coef0"}
"""Parameters of `PerCoordinate` that are written by scikit-learn's names."""


def _name(given: Any, name: str) -> str:
    if given not in ("rbf", "laplacian", "poly", "sigmoid"):
        raise InvalidParameter(f"{name} must be rbf, laplacian, poly or sigmoid, found {given!r}")
    return str(given)


@value
class PerCoordinate(Kernel):
    r"""scikit-learn's kernel of a name, with its usual :math:`\gamma = 1/p` for p coordinates.

    `resolve` returns the kernel with γ as a number.

    >>> PerCoordinate("rbf")
    rbf(gamma="auto")
    >>> PerCoordinate("rbf").resolve([[0.0, 1.0], [1.0, 0.0]])
    Gaussian(bandwidth=1.0)
    """

    name: str = "rbf"
    degree: int = 3
    offset: float = 1.0
    domain: ClassVar[Domain] = {"name": _name, "degree": whole, "offset": number}
    is_vectorial: ClassVar[bool] = True
    equivalents: ClassVar[Mapping[str, str]] = {
        "gamma": "part of the written name, such as kernel='rbf(gamma=0.5)'",
        "coef0": "offset",
        "bandwidth": "a parameter of Gaussian and Laplacian, such as kernel=Gaussian(0.5)",
    }

    def __post_init__(self) -> None:
        Kernel.__post_init__(self)
        self.of(1)  # which refuses what is no kernel for any γ
        for name, usual in (("degree", 3), ("offset", 1.0)):
            if name not in self.own_parameters():  # which changes nothing, so that equals are equal
                object.__setattr__(self, name, usual)

    def of(self, columns: int) -> Kernel:
        """Return the kernel of points with so many coordinates."""
        options = {"poly": {"degree": self.degree}, "sigmoid": {}}.get(self.name)
        if options is None:
            return NAMES[self.name](1.0 / columns)
        return NAMES[self.name](gamma=1.0 / columns, coef0=self.offset, **options)

    def resolve_own(self, x: Points) -> Kernel:
        return self.of(AllPairs(x).columns)

    def evaluate(self, pairs: Pairs) -> Array:
        return self.of(pairs.columns).evaluate(pairs)

    def evaluate_squares(self, pairs: Pairs) -> Array:
        return self.of(pairs.columns).evaluate_squares(pairs)

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        return self.of(pairs.columns).evaluate_slopes(pairs)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        partials = self.of(pairs.columns).evaluate_partials(pairs)
        return {name: d for name, d in partials.items() if name in self.own_parameters()}

    def own_parameters(self) -> dict[str, Any]:
        named = {"poly": ("degree", "offset"), "sigmoid": ("offset",)}.get(self.name, ())
        return {name: getattr(self, name) for name in named}

    @property
    def kind(self) -> Kind:
        return self.of(1).kind

    @property
    def reads_sparse(self) -> bool:
        return self.of(1).reads_sparse

    @property
    def proof(self) -> str:
        return self.of(1).proof

    def features(self, x: Points) -> Array:
        return self.resolve_own(x).features(x)

    def text(self, name: Name) -> tuple[str, int]:
        parts = {"gamma": "auto"} | self.own_parameters()
        text = ", ".join(f"{SPELT.get(n, n)}={literal(v, name)}" for n, v in parts.items())
        return f"{self.name}({text})", ATOM
