"""What a kernel is: an immutable value with a formula, its derivatives and its parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from mercer.check import Array, Points, finite, in_single, is_single, namespace
from mercer.display import advice
from mercer.errors import InvalidParameter, NoFeatureMap, NotDifferentiable
from mercer.kernels.pairs import Aligned, AllPairs, Pairs, Scale, checked_scale, real
from mercer.kernels.statements import Kind as Kind
from mercer.kernels.statements import Statements
from mercer.kernels.statements import weakest as weakest
from mercer.kernels.written import ATOM as ATOM
from mercer.kernels.written import DEEPEST, LONGEST_TEXT
from mercer.kernels.written import Name as Name
from mercer.kernels.written import literal as literal
from mercer.kernels.written import snake as snake
from mercer.kernels.written import wrap as wrap
from mercer.points import as_points
from mercer.settings import advised

Domain: TypeAlias = Mapping[str, Callable[[Any, str], Any]]

ZERO_SQUARE = 8 * float(np.finfo(np.float64).eps)
"""A squared distance below this share of k(x, x) + k(y, y) is what rounding leaves of zero."""


C = TypeVar("C")


def parameters(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of a kernel expression as a flat mapping from path to value.

    >>> from mercer import Gaussian, Linear
    >>> parameters(Gaussian(bandwidth=0.5) + 0.1 * Linear())
    {'0__bandwidth': 0.5, '1__weight': 0.1}
    """
    return kernel.parameters()


def with_parameters(
    kernel: Kernel, values: Mapping[str, Any] | None = None, /, **more: Any
) -> Kernel:
    """Return the kernel with some parameters changed, named as in `parameters`.

    >>> from mercer import Gaussian, Linear
    >>> with_parameters(Gaussian(bandwidth=0.5) + 0.1 * Linear(), {"0__bandwidth": 2.0})
    Gaussian(bandwidth=2.0) + 0.1 * Linear()
    """
    changes = {**(values or {}), **more}
    own = {n: changes.pop(n) for n in list(changes) if n in kernel.own_parameters()}
    children = kernel.children()
    for name, child in children.items():
        prefix = f"{name}__"
        part = {n[len(prefix) :]: changes.pop(n) for n in list(changes) if n.startswith(prefix)}
        if part:
            children[name] = with_parameters(child, part)
    if changes:
        unknown = sorted(changes)
        hint = advice(unknown[0], kernel.parameters(), type(kernel).equivalents)
        raise InvalidParameter(
            f"{kernel} has no parameter {', '.join(unknown)}; it has "
            f"{', '.join(kernel.parameters()) or 'none'}{'; ' if hint else ''}{hint}"
        )
    changed = kernel.with_children(children)
    return replace(changed, **own) if own else changed  # type: ignore[type-var]


@dataclass_transform(frozen_default=True)
def value(cls: type[C]) -> type[C]:
    """Make a class of kernels a frozen dataclass that prints itself as a formula.

    >>> from mercer.kernels import Gaussian  # which is such a class
    >>> Gaussian(2.0) == Gaussian(2.0), str(Gaussian(2.0))
    (True, 'gaussian(bandwidth=2.0)')
    """
    made = dataclass(frozen=True, slots=True, repr=False)(cls)
    made.__init__ = advised(made.__init__)  # type: ignore[method-assign]
    # What dataclass makes refuses only fields: its super() looks for the class without slots.
    made.__setattr__ = made.__delattr__ = _refuse_change  # type: ignore[method-assign]
    return made


def _refuse_change(kernel: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(
        f"{name} cannot be changed: a kernel is a value; "
        "mercer.kernels.with_parameters makes another"
    )


class Kernel(Statements):
    r"""A Hermitian function of two points, all of whose Gram matrices are positive semidefinite.

    Subclasses state their formula in `evaluate`; matrices, diagonals, tiles, derivatives of
    expressions and the written form follow from it. The class attribute ``domain`` maps a
    parameter to the function that checks it.

    >>> from mercer import Gaussian, Linear
    >>> k = Gaussian(bandwidth=0.5) + 0.1 * Linear()
    >>> k
    Gaussian(bandwidth=0.5) + 0.1 * Linear()
    >>> k([[0.0], [1.0]])
    array([[1.        , 0.13533528],
           [0.13533528, 1.1       ]])
    """

    __slots__ = ()
    __array_ufunc__ = None  # numpy's numbers leave arithmetic with kernels to the kernels

    domain: ClassVar[Domain] = {}
    known: ClassVar[dict[str, type[Kernel]]] = {}
    """The classes of kernels that are loaded, by the names that they have in the written form."""

    def __init_subclass__(cls) -> None:
        present = Kernel.known.get(snake(cls.__name__))
        is_ours = cls.__module__.startswith("mercer.")  # loaded after a namesake of a user's
        if present is None or present.__module__ == cls.__module__ or is_ours:
            Kernel.known[snake(cls.__name__)] = cls

    def __post_init__(self) -> None:
        for name, check in self.domain.items():
            object.__setattr__(self, name, check(getattr(self, name), name))

    @abstractmethod
    def evaluate(self, pairs: Pairs) -> Array:
        """Return the kernel's value on each pair: the formula."""

    def __call__(self, x: Points, y: Points | None = None) -> Array:
        """Return the matrix of k(x[i], y[j]); ``y`` is ``x`` when left out."""
        return self._finished(self.evaluate, self._table(x, y))

    def diag(self, x: Points) -> Array:
        """Return the vector of k(x[i], x[i])."""
        x = as_points(x, "x", are_vectors=self.reads_vectors)
        return real(self._finished(self.evaluate, Aligned(x)))

    def _table(self, x: Points, y: Points | None) -> AllPairs:
        """Return all pairs of points that users bring, examined here and by no formula."""
        are_vectors = self.reads_vectors
        left = as_points(x, "x", are_vectors=are_vectors)
        is_one = y is None or y is x
        return AllPairs(left, None if is_one else as_points(y, "y", are_vectors=are_vectors))

    def _finished(self, evaluate: Callable[[Pairs], Array], pairs: Pairs) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._checked(evaluate(pairs), pairs)

    def _checked(self, values: Array, pairs: Pairs) -> Array:
        """Refuse overflow by name, and return float32 to those who brought float32."""
        return finite(in_single(values) if is_single(pairs.x, pairs.y) else values, self)

    def evaluate_squares(self, pairs: Pairs) -> Array:
        r"""Return the squared distance between the features of each pair.

        .. math:: d^2(x, y) = k(x, x) + k(y, y) - 2\,\Re k(x, y)

        The difference is off by about u·k(x, x); kernels whose distance has a formula of its own
        override this. What cannot be told from zero is zero.
        """
        xx = pairs.of_x(self.evaluate_own(pairs.left()))
        yy = pairs.of_y(self.evaluate_own(pairs.right()))
        if pairs.left() is pairs:  # each point with itself
            return 0.0 * xx
        across = real(finite(self.evaluate(pairs), self))
        xp = namespace(across)
        squares = xx + yy - 2.0 * across
        noise = ZERO_SQUARE * (xp.abs(xx) + xp.abs(yy))
        if pairs.same:
            squares = xp.where(xp.eye(across.shape[0], dtype=xp.bool, **pairs.place), 0.0, squares)
        return xp.where(xp.abs(squares) > noise, squares, 0.0)

    def scaled_squares(self, pairs: Pairs, scale: float) -> Array:
        """Return d²/scale², in which neither square need be a double where d itself can be told."""
        return finite(self.evaluate_squares(pairs), self) / scale / scale

    def evaluate_own(self, pairs: Aligned) -> Array:
        """Return k(x, x), found once for a whole expression, and refused if it overflows."""
        return pairs.value_of(self, lambda: finite(real(self.evaluate(pairs)), self))

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        """Return the derivative in each parameter on each pair; override where there are any."""
        if set(self.parameters()) - STRUCTURAL:
            raise NotDifferentiable(f"{type(self).__name__} does not state its partial derivatives")
        return {}

    def partials(self, x: Points, y: Points | None = None) -> dict[str, Array]:
        """Return ∂k/∂θ for every real parameter θ, by its name in `parameters`.

        A parameter that is a sequence has its derivatives on a last axis.
        """
        pairs = self._table(x, y)
        with np.errstate(over="ignore", invalid="ignore"):
            partials = self.evaluate_partials(pairs)
            return {name: self._checked(d, pairs) for name, d in partials.items()}

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        """Return the gradient in x on each pair, coordinates last; override where it exists."""
        raise NotDifferentiable(
            f"{type(self).__name__} has no slopes: it is not a differentiable function of vectors, "
            "or its derivative was not given"
        )

    def slopes(self, x: Points, y: Points | None = None) -> Array:
        """Return ∂k(x[i], y[j])/∂x[i] with the coordinates on a last axis.

        Where k has a kink at x = y (Laplacian, Matérn with ν ≤ 1/2) the slope there is 0 by
        convention.
        """
        return self._finished(self.evaluate_slopes, self._table(x, y))

    def stretched(self, scale: float | Sequence[float] | Array) -> Kernel:
        r"""Return the kernel of points in units of a scale, one or one for each coordinate.

        .. math:: k_s(x, y) = k(x / s, y / s), \quad s > 0

        It is a kernel of the points as they are, so that new ones come in units of their own.

        >>> from mercer import Gaussian, Linear
        >>> s, x = np.array([2.0, 5.0]), np.array([[1.0, 2.0], [3.0, -4.0]])
        >>> k = Gaussian(1.0) + 0.5 * Linear()
        >>> k.stretched(s)
        Gaussian(bandwidth=[2.0, 5.0]) + 0.5 * Bilinear(B=[[0.25, 0.0], [0.0, 0.04]])
        >>> bool(np.allclose(k.stretched(s)(x), k(x / s)))
        True
        """
        return self.stretch(checked_scale(scale))

    def stretch(self, scale: Scale) -> Kernel:
        """Return the same for a scale that was checked; override where a parameter can take it."""
        if not self.reads_vectors:
            raise InvalidParameter(
                f"{self} does not read points as vectors, whose coordinates a scale divides"
            )
        return transforms.Stretched(self, scale)

    def features(self, x: Points) -> Array:
        """Return φ(x) with k(x, y) = ⟨φ(x), φ(y)⟩, one row per point, where φ is finite."""
        raise NoFeatureMap(
            f"{type(self).__name__} has no finite feature map; use a low-rank approximation instead"
        )

    def children(self) -> dict[str, Kernel]:
        """Return the kernels this one is made of, by name."""
        found: dict[str, Kernel] = {}
        for name, v in self.fields().items():
            if isinstance(v, Kernel):
                found[name] = v
            elif _are_kernels(v):
                found.update({str(i): k for i, k in enumerate(v)})
        return found

    def with_children(self, children: Mapping[str, Kernel]) -> Kernel:
        """Return the same operation applied to other kernels."""
        changes: dict[str, Any] = {}
        for name, v in self.fields().items():
            if isinstance(v, Kernel):
                changes[name] = children[name]
            elif _are_kernels(v):
                changes[name] = tuple(children[str(i)] for i in range(len(v)))
        return replace(self, **changes) if changes else self  # type: ignore[type-var]

    def fields(self) -> dict[str, Any]:
        """Return what the kernel was made of, by name."""
        return {name: getattr(self, name) for name in _field_names(type(self))}

    def own_parameters(self) -> dict[str, Any]:
        """Return this kernel's own parameters, those of its children and functions left out."""
        return {n: v for n, v in self.fields().items() if _is_parameter(v)}

    def parameters(self) -> dict[str, Any]:
        """Return all parameters of the expression by their path, as `parameters` does."""
        flat = self.own_parameters()
        for name, child in self.children().items():
            flat.update({f"{name}__{n}": v for n, v in child.parameters().items()})
        return flat

    def seen_by(self, child: str, x: Points) -> Points:
        """Return the points that a child is evaluated on when this kernel is on ``x``."""
        return x

    def resolve(self, x: Points, weights: Array | None = None) -> Kernel:
        """Return the kernel with every rule such as ``"median"`` replaced by its value on x.

        ``weights`` say how often each point counts: means, deviations and shares are theirs.
        """
        children = {n: k.resolve(self.seen_by(n, x), weights) for n, k in self.children().items()}
        return self.with_children(children).resolve_rules(x, weights)

    def resolve_rules(self, x: Points, weights: Array | None) -> Kernel:
        """Return the kernel with its own rules replaced; override where weights matter to them."""
        return self.resolve_own(x)

    def resolve_own(self, x: Points) -> Kernel:
        """Return the kernel with its own rules replaced; override where there are rules."""
        return self

    def text(self, name: Name) -> tuple[str, int]:
        """Return the written form and how tightly it binds."""
        own = type(self).__name__
        if Kernel.known.get(snake(own)) is not type(self):
            return f"<{type(self).__module__}.{own}: another kernel has this name>", ATOM
        optional = {f.name for f in fields(self) if f.default is None}  # type: ignore[arg-type]
        told = {n: v for n, v in self.fields().items() if v is not None or n not in optional}
        arguments = ", ".join(f"{n}={literal(v, name)}" for n, v in told.items())
        return f"{name(own)}({arguments})", ATOM

    def __repr__(self) -> str:
        """The formula as code, which `mercer.kernel` reads too."""
        return self._written(lambda name: name)

    def __str__(self) -> str:
        """The formula in the written form's lower case."""
        return self._written(snake)

    def _written(self, name: Name) -> str:
        if self.nesting() > DEEPEST:
            return f"<{type(self).__name__}: more than {DEEPEST} operations inside each other>"
        text = self.text(name)[0]
        if len(text) > LONGEST_TEXT:
            return f"<{type(self).__name__}: longer than {LONGEST_TEXT} characters>"
        return text

    def nesting(self) -> int:
        """Return how many operations stand inside each other, the kernel itself included."""
        return 1 + max((k.nesting() for k in self.children().values()), default=0)

    def __add__(self, other: Kernel | float) -> Kernel:
        return algebra.add(self, other)

    __radd__ = __add__  # k + c and c + k are the same function

    def __mul__(self, other: Kernel | float) -> Kernel:
        return algebra.multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> Kernel:
        return algebra.divide(self, other)

    def __rtruediv__(self, other: object) -> Kernel:
        return algebra.divide(other, self)

    def __pow__(self, power: int) -> Kernel:
        return powers.Power(self, power)

    def __sub__(self, other: object) -> Kernel:
        return algebra.subtract(self, other)

    def __rsub__(self, other: object) -> Kernel:
        return algebra.subtract(other, self)

    def __neg__(self) -> Kernel:
        return algebra.multiply(self, -1.0)

    def exp(self) -> Kernel:
        """Return exp(k), entrywise."""
        return powers.Exponential(self)

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        """Return Σ cᵢ kⁱ with coefficients cᵢ ≥ 0, the constant first."""
        return powers.PolynomialOf(self, coefficients)

    def weighted(
        self,
        function: Callable[[Any], Any],
        slope: Callable[[Any], Any] | None = None,
    ) -> Kernel:
        """Return f(x) k(x, y) conj f(y); ``slope`` gives the gradient of f for `slopes`."""
        return transforms.Weighted(self, function, slope)

    def on(
        self,
        function: Callable[[Any], Any],
        jacobian: Callable[[Any], Any] | None = None,
    ) -> Kernel:
        """Return k(ψ(x), ψ(y)); ``jacobian`` gives ψ' (n, out, in) for `slopes`."""
        return transforms.PullBack(self, function, jacobian)

    def normalised(self) -> Kernel:
        """Return k(x, y)/√(k(x, x) k(y, y)), with diagonal exactly 1."""
        return metric.Normalised(self)

    def gaussian(self, bandwidth: float | str = 1.0) -> Kernel:
        """Return the Gaussian of the distance this kernel defines between points."""
        return metric.GaussianOf(self, bandwidth)

    def centred(self, sample: Points, weights: Sequence[float] | None = None) -> Kernel:
        """Return the kernel of the features minus their mean over a sample."""
        return transforms.CentredOn(self, sample, weights)


def class_of(name: str) -> type[Kernel] | None:
    """Return the class of kernels of a written name, loaded when it is first asked for.

    >>> class_of("rational_quadratic").__name__, class_of("gaussain")
    ('RationalQuadratic', None)
    """
    written = snake(name)
    if written in _class_names():
        getattr(import_module("mercer.kernels"), _class_names()[written])
    return Kernel.known.get(written)


def all_kernels() -> Mapping[str, type[Kernel]]:
    """Return the classes of kernels by their written names: mercer's, all loaded, and users' own.

    >>> {"rational_quadratic", "matern"} <= set(all_kernels())
    True
    """
    for written in _class_names():
        class_of(written)
    return Kernel.known


@cache
def _class_names() -> dict[str, str]:
    """Return the classes that `mercer.kernels` names, by their names in the written form."""
    return {snake(name): name for name in dir(import_module("mercer.kernels")) if name[0].isupper()}


STRUCTURAL = frozenset(
    {"nu", "order", "degree", "power", "norm", "universe", "law", "group", "s", "levels"}
)
"""Parameters that choose a formula rather than tune it: no derivative is taken in them."""


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    if not is_dataclass(kind):
        raise InvalidParameter(
            f"the class {kind.__name__} is not a value: decorate it with @mercer.kernels.value"
        )
    return tuple(f.name for f in fields(kind))


def _are_kernels(v: Any) -> bool:
    return isinstance(v, tuple) and bool(v) and isinstance(v[0], Kernel)


def _is_parameter(v: Any) -> bool:
    return not (isinstance(v, Kernel) or _are_kernels(v) or callable(v) or v is None)


# The operators of a kernel build nodes that are kernels themselves: the one cycle of this package.
from mercer.kernels import algebra, metric, powers, transforms  # noqa: E402
