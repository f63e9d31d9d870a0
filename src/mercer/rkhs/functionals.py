"""Linear functionals of the space of a kernel: values at points, and weighted sums of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Complex
from typing import Any, ClassVar

from mercer.check import Array, Points
from mercer.display import Shown
from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.rkhs.functions import Function


class Functional(Shown):
    r"""A continuous linear functional of the space of a kernel: a weighted sum of values.

    .. math:: L f = \sum_i c_i f(x_i) = \langle f, \ell \rangle, \quad
        \ell = \sum_i \overline{c_i}\, k(\cdot, x_i), \quad
        \|L\| = \sup_{f \ne 0} \frac{|Lf|}{\|f\|} = \|\ell\|

    The value at one point, with norm :math:`\sqrt{k(x, x)}`, is `Functional.at`: a space of
    functions in which all these are continuous is one with a reproducing kernel, and no other is
    (Riesz). L² is none: as a series of orthonormal functions grows, so do the norms. The norm of a
    difference of two functionals is the largest error of one rule in place of another, for
    functions of norm 1: of a quadrature, of a prediction. Functionals are added, and multiplied and
    divided by numbers: cL has the representer :math:`\overline{c}\, \ell`.

    >>> from mercer import Gaussian, Function
    >>> f = Function(Gaussian(1.0), [[0.0], [1.0]], [2.0, -1.0])
    >>> at = Functional.at(Gaussian(1.0), [0.5])
    >>> bool(at(f) == f([[0.5]])[0]), at.norm
    (True, 1.0)
    >>> middle = Functional(Gaussian(1.0), [[0.0], [1.0]], [0.5, 0.5])
    >>> abs((at - middle)(f)) <= (at - middle).norm * f.norm
    True
    >>> bool((sum([at, middle]) / 2)(f) == (at(f) + middle(f)) / 2), (2j * at).norm
    (True, 2.0)

    Kroese et al., Theorem 6.1; Martin, Theorem 1.
    """

    __slots__ = ("representer",)
    facts: ClassVar[Mapping[str, str]] = {
        "norm": "the largest value at functions of norm 1",
        "representer": "the function with which it is an inner product",
    }

    representer: Function
    """The function ℓ with Lf = ⟨f, ℓ⟩."""

    def __init__(
        self, kernel: Kernel | str, points: Points, weights: Sequence[complex] | Array
    ) -> None:
        given = Function(kernel, points, weights)
        self.representer = Function(given.kernel, given.points, given.weights.conj())

    @classmethod
    def at(cls, kernel: Kernel | str, point: Any) -> Functional:
        """Return the evaluation f ↦ f(x)."""
        return cls(kernel, (point,), [1.0])

    @classmethod
    def of(cls, representer: Function) -> Functional:
        """Return f ↦ ⟨f, ℓ⟩."""
        if not isinstance(representer, Function):
            raise InvalidParameter(f"expected a Function, found {type(representer).__name__}")
        return cls(representer.kernel, representer.points, representer.weights.conj())

    def _title(self) -> str:
        of, count = self.representer, len(self.representer.weights)
        return f"Functional: values at {count} point{'' if count == 1 else 's'}, {of.kernel!r}"

    def __call__(self, f: Function) -> Any:
        """Return Lf, a float or a complex number."""
        if not isinstance(f, Function):
            raise InvalidParameter(
                f"a functional is of a Function, found {type(f).__name__}; the value at a point is "
                "Functional.at(kernel, point)"
            )
        return f.inner(self.representer)

    @property
    def norm(self) -> float:
        """‖L‖, the largest |Lf| at functions of norm 1."""
        return self.representer.norm

    def __add__(self, other: Functional) -> Functional:
        if not isinstance(other, Functional):
            return NotImplemented
        return Functional.of(self.representer + other.representer)

    def __radd__(self, other: object) -> Functional:
        """Return L for 0 + L, with which `sum` begins."""
        return self if isinstance(other, Complex) and other == 0 else NotImplemented

    def __mul__(self, factor: complex) -> Functional:
        """Return f ↦ c·Lf, whose representer is that of L times the conjugate of c."""
        if not isinstance(factor, Complex):
            return NotImplemented
        return Functional.of(factor.conjugate() * self.representer)

    __rmul__ = __mul__

    def __truediv__(self, divisor: complex) -> Functional:
        if not isinstance(divisor, Complex):
            return NotImplemented
        if divisor == 0:
            raise InvalidParameter("a functional cannot be divided by 0")
        return Functional.of(self.representer / divisor.conjugate())

    def __neg__(self) -> Functional:
        return -1.0 * self

    def __sub__(self, other: Functional) -> Functional:
        return self + -other if isinstance(other, Functional) else NotImplemented
