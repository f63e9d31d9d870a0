"""The contract that every kernel keeps, as checks that a new kernel can be put through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.check import Array, Points, as_numpy, how_many, namespace, vectors
from mercer.display import Shown
from mercer.errors import InvalidInput, MercerError, NoFeatureMap, NotDifferentiable
from mercer.kernels.base import STRUCTURAL, Kernel, Kind, with_parameters
from mercer.kernels.definite import positive_definite
from mercer.kernels.features import coordinates, step_coordinate
from mercer.kernels.geometry import negative_definite
from mercer.kernels.pairs import AllPairs, Scale
from mercer.kernels.probing import (
    Disagreement,
    NoRoom,
    chance,
    compare_slope,
    gram_matrix,
    part_of_points,
    take,
    unit_roundoff,
)
from mercer.kernels.statements import Arithmetic
from mercer.kernels.text import kernel as read
from mercer.points import (
    Paired,
    Rows,
    SparseRows,
    as_points,
)
from mercer.progress import Progress, follow_work
from mercer.settings import RandomState, seed_of, spelled

MOST_POINTS = 200
"""Enough to see most mistakes; a Python function is called 40 000 times for a matrix of them."""

MOVED_POINTS = 20
"""Derivatives are compared with differences on the pairs of this many points."""

AGREEMENT = 1e-8
"""Relative to the largest entry, above the 1e-10 to which squared distances are computed."""

SINGLE_AGREEMENT = 100.0
"""In single precision, values that should be equal may differ by this many roundings."""


ORDER = ("failed", "skipped", "passed")
"""In which outcomes are shown, the grave ones first."""


@dataclass(frozen=True)
class Check:
    """One line of the contract: ``outcome`` is "passed", "failed" or "skipped"."""

    name: str
    outcome: str
    detail: str


@dataclass(frozen=True, repr=False)
class KernelCheck(Shown):
    """The result of each line of the contract; true when none failed.

    >>> from mercer import Linear
    >>> print(check_kernel(Linear(), [[1.0], [2.0], [4.0]]))  # doctest: +ELLIPSIS
    Linear()
      finite values      passed   3 x 3 numbers
      Hermitian          passed   ...
    """

    kernel: str
    checks: tuple[Check, ...]
    seed: int | None = None

    def _title(self) -> str:
        return f"KernelCheck {'passed' if self else 'failed'}: {self.kernel}"

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        for c in sorted(self.checks, key=lambda c: ORDER.index(c.outcome)):
            yield c.name, c.outcome, c.detail

    @property
    def failed(self) -> tuple[Check, ...]:
        """The lines of the contract that the kernel breaks."""
        return tuple(c for c in self.checks if c.outcome == "failed")

    def __bool__(self) -> bool:
        return not self.failed

    def __str__(self) -> str:
        width = max(len(c.name) for c in self.checks)
        lines = [f"  {c.name:<{width}}  {c.outcome:<7}  {c.detail}" for c in self.checks]
        return "\n".join([self.kernel, *lines])


@dataclass(frozen=True, eq=False)
class _Subject:
    """A kernel, its points, and its matrix; ``original`` was never shown to the kernel."""

    kernel: Kernel
    x: Points
    original: Points
    K: Array

    def allowed(self) -> float:
        relative = max(AGREEMENT, SINGLE_AGREEMENT * unit_roundoff(self.K))
        return relative * float(np.max(np.abs(self.K)))


class _Failed(Exception):
    """The kernel breaks the contract here."""


class _Skipped(Exception):
    """The line of the contract does not apply."""


@spelled
def check_kernel(
    k: Kernel | str,
    x: Points,
    *,
    random_state: RandomState = None,
    progress: bool | Progress | None = None,
) -> KernelCheck:
    """Put a kernel, or its text, through the contract that all kernels keep, on some points.

    Its values are finite, Hermitian, repeatable, the same in slices and on the diagonal, and
    positive definite on the points (conditionally where it says so); it leaves the points alone;
    partials and slopes agree with differences, features with the kernel, single precision with
    double to within the bounds it states; it is a value that equals its copies and returns from
    its written form. What fails is reported, never raised;
    what a kernel does not have is skipped. Of many points, 200 are drawn. ``progress`` counts the
    lines of the contract.

    >>> from mercer import FromFunction, Gaussian
    >>> bool(check_kernel(Gaussian(0.5), [[0.0, 1.0], [1.0, 0.5], [0.2, 0.3]]))
    True
    >>> uniform = FromFunction(lambda x, y: 0.5 * (abs(x - y) <= 1.0))
    >>> [line.name for line in check_kernel(uniform, [0.0, 0.75, 1.5]).failed]
    ['positive definite']

    The last is not a kernel: Kroese et al., Example 6.8.
    """
    if not isinstance(k, Kernel | str):
        raise InvalidInput(
            f"{k!r} is not a kernel; a function of two points becomes one through FromFunction"
        )
    kernel = read(k)
    x = as_points(x, "x")
    n = how_many(x)
    if n == 0:
        raise InvalidInput("a kernel cannot be checked on no points")
    seed = seed_of(random_state)
    chosen = np.random.default_rng(seed).permutation(n)[:MOST_POINTS]
    original = take(x, np.sort(chosen))
    subjects: list[_Subject] = []

    def evaluate() -> str:
        subjects.append(_subject(kernel, original))
        return " x ".join(str(size) for size in subjects[0].K.shape) + " numbers"

    with follow_work(progress, "lines") as tell:
        lines = [_line("finite values", evaluate)]
        for name, examine in _CONTRACT.items():
            if tell is not None:
                tell(len(lines), 1 + len(_CONTRACT))
            if subjects:
                lines.append(_line(name, partial(examine, subjects[0])))
            else:
                lines.append(Check(name, "skipped", "the kernel could not be evaluated"))
        if tell is not None:
            tell(len(lines), len(lines))
    return KernelCheck(_name(kernel), tuple(lines), seed if n > MOST_POINTS else None)


def _line(name: str, examine: Callable[[], str]) -> Check:
    try:
        return Check(name, "passed", examine())
    except (_Skipped, NoRoom) as reason:
        return Check(name, "skipped", str(reason))
    except (_Failed, Disagreement, MercerError) as reason:
        return Check(name, "failed", str(reason))
    except Exception as error:
        return Check(name, "failed", f"{type(error).__name__}: {error}")


def _name(k: Kernel) -> str:
    try:
        return repr(k)
    except Exception:
        return type(k).__name__


def _subject(k: Kernel, original: Points) -> _Subject:
    try:
        x = deepcopy(original)
    except Exception:  # points that cannot be copied are still points
        x = original
    resolved = k.resolve(x)
    return _Subject(resolved, x, original, gram_matrix(resolved, x))


def _compare(found: Array, expected: Array, allowed: float, what: str) -> str:
    if found.shape != expected.shape:
        raise _Failed(f"{what}: shape {found.shape} instead of {expected.shape}")
    if found.size == 0:
        return "nothing to compare"
    gap = np.abs(found - expected)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(gap)), gap.shape))
    if not gap[place] <= allowed:
        raise _Failed(f"{what} at {place}: {found[place]:.6g} and {expected[place]:.6g}")
    return f"largest difference {gap[place]:.2g}"


def _hermitian(s: _Subject) -> str:
    _compare(s.K, s.K.conj().T, s.allowed(), "k(x, y) is not conj k(y, x)")
    a, b = _halves(s.x)
    across, back = as_numpy(s.kernel(a, b)), as_numpy(s.kernel(b, a))
    return _compare(across, back.conj().T, s.allowed(), "k(x, y) is not conj k(y, x)")


def _halves(x: Points) -> tuple[Points, Points]:
    n = how_many(x)
    return part_of_points(x, 0, (n + 1) // 2), part_of_points(x, (n + 1) // 2, n)


def _repeatable(s: _Subject) -> str:
    found = chance(s.kernel, s.x)
    if found:
        raise _Failed(found)
    return "two calls agree"


def _diagonal(s: _Subject) -> str:
    diagonal = as_numpy(s.kernel.diag(s.x))
    return _compare(diagonal, np.real(np.diag(s.K)), s.allowed(), "diag(x) is not that of k(x)")


def _slices(s: _Subject) -> str:
    a, b = _halves(s.x)
    _compare(
        as_numpy(s.kernel(part_of_points(s.x, 0, 1), s.x)),
        s.K[:1],
        s.allowed(),
        "one point alone differs",
    )
    block = s.K[: how_many(a), how_many(a) :]
    return _compare(as_numpy(s.kernel(a, b)), block, s.allowed(), "a slice is not a block")


def _positive(s: _Subject) -> str:
    if s.kernel.kind is Kind.CONDITIONAL:
        verdict = negative_definite(-s.K)
    else:
        verdict = positive_definite(s.kernel, s.x, random_state=0)
    if s.kernel.kind is Kind.SIMILARITY:
        raise _Skipped(f"{s.kernel.kind.value}: {verdict.reason}")
    if not verdict:
        raise _Failed(verdict.reason)
    if s.kernel.kind is Kind.CONDITIONAL:
        return f"-k is {verdict.reason}"
    return verdict.reason.split("; by rule", maxsplit=1)[0]


def _untouched(s: _Subject) -> str:
    if s.x is s.original or not _same(deepcopy(s.original), s.original):
        raise _Skipped("these points cannot be copied and compared")
    if not _same(s.x, s.original):
        raise _Failed("evaluating the kernel changed the points")
    return "the points are as they were"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Paired):
        return _same(a.parts, b.parts)
    if isinstance(a, SparseRows):
        return a.shape == b.shape and not (a.matrix != b.matrix).nnz
    if hasattr(a, "shape"):
        return bool(np.array_equal(as_numpy(a), as_numpy(b)))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(_same(p, q) for p, q in zip(a, b, strict=True))
    return bool(a == b)


def _partials(s: _Subject) -> str:
    x = _doubles(s.x)
    try:
        partials = s.kernel.partials(x)
    except NotDifferentiable as error:
        raise _Skipped(str(error)) from None
    values = s.kernel.parameters()
    _same_names(set(partials), {n for n, v in values.items() if _is_tunable(n, v)})
    worst = 0.0
    for name, derivative in partials.items():
        is_scalar = isinstance(values[name], float)
        given = as_numpy(derivative)[..., None] if is_scalar else as_numpy(derivative)
        at = (values[name],) if is_scalar else values[name]
        for i, v in enumerate(at):
            moved = partial(_after_step, s.kernel, x, name, i)
            worst = max(worst, compare_slope(given[..., i], moved, abs(v) or 1.0, name))
    return f"largest difference {worst:.2g}" if partials else "no parameters"


def _after_step(kernel: Kernel, x: Points, name: str, i: int, step: float) -> Array:
    """Return the matrix after a step in the i-th number of a parameter."""
    v = kernel.parameters()[name]
    changed = v + step if isinstance(v, float) else (*v[:i], v[i] + step, *v[i + 1 :])
    return as_numpy(with_parameters(kernel, {name: changed})(x))


def _same_names(found: set[str], expected: set[str]) -> None:
    if found != expected:
        raise _Failed(
            f"partials are given in {', '.join(sorted(found)) or 'nothing'}, and the parameters "
            f"are {', '.join(sorted(expected)) or 'none'}"
        )


def _is_tunable(name: str, v: Any) -> bool:
    numbers = v if isinstance(v, tuple) else (v,)
    is_real = bool(numbers) and all(isinstance(part, float) for part in numbers)
    return is_real and name.rsplit("__", 1)[-1] not in STRUCTURAL


def _doubles(x: Points) -> Points:
    """Return a few points, those in single precision in double: differences need the digits."""
    some = part_of_points(x, 0, MOVED_POINTS)
    is_single = getattr(some, "dtype", None) == namespace(some).float32
    return vectors(some) if is_single else some


def _slopes(s: _Subject) -> str:
    if isinstance(s.x, SparseRows):
        raise _Skipped("slopes are those of every coordinate, and these points are sparse")
    x = _doubles(s.x)
    try:
        given = as_numpy(s.kernel.slopes(x))
    except NotDifferentiable as error:
        raise _Skipped(str(error)) from None
    points = x if isinstance(x, Rows) else np.asarray(as_numpy(x), dtype=np.float64)
    X = coordinates(points)[0] if isinstance(points, Rows) else points.reshape(len(points), -1)
    worst = 0.0
    for j, column in enumerate(X.T):

        def moved(step: float, j: int = j) -> Array:
            return as_numpy(s.kernel(step_coordinate(points, j, step), points))

        spread = float(np.ptp(column)) or float(np.max(np.abs(column))) or 1.0
        worst = max(worst, compare_slope(given[..., j], moved, spread, f"coordinate {j}"))
    return f"largest difference {worst:.2g}"


def _features(s: _Subject) -> str:
    try:
        phi = s.kernel.features(s.x)
    except NoFeatureMap as error:
        raise _Skipped(str(error)) from None
    rows = phi.toarray() if hasattr(phi, "toarray") else as_numpy(phi)
    return _compare(rows @ rows.conj().T, s.K, s.allowed(), "the features do not give the kernel")


class InSingle(AllPairs):
    """All pairs of points, of which inner products and distances are in single precision."""

    def inner(self) -> Array:
        a, b = (as_numpy(side).astype(np.float32) for side in self.vectors)
        return self.dot(a, b)

    def squared_distance(self, scale: Scale = 1.0) -> Array:
        return AllPairs.squared_distance(self, scale).astype(np.float32)

    def distance(self, norm: float, scale: Scale = 1.0) -> Array:
        return AllPairs.distance(self, norm, scale).astype(np.float32)


def _rounding(s: _Subject) -> str:
    is_table = s.kernel.reads_vectors and not isinstance(s.x, Rows | SparseRows)
    x = as_numpy(vectors(s.x)) if is_table else np.empty((0, 0))
    asked = s.kernel.asks(x.shape[1])
    if np.iscomplexobj(x) or not is_table or asked is None or not s.kernel.is_fast(x.shape[1]):
        raise _Skipped("no bounds are known of its rounding on these points")
    scales = {a: np.asarray(1.0 if isinstance(a, str) else a) for a in asked}
    norms = {a: float(np.max(np.sum((x / scale) ** 2, axis=1))) for a, scale in scales.items()}
    bound = s.kernel.bounds(Arithmetic(np.float32, x.shape[1], norms, is_recomputed=True))
    if bound is None or not bound.error < np.inf:
        raise _Skipped("values leave the range of single precision")
    single, double = (as_numpy(s.kernel.evaluate(pairs)) for pairs in (InSingle(x), AllPairs(x)))
    _compare(single, double, bound.error, "single precision is farther off than its bound")
    largest = float(np.max(np.abs(double)))
    if not largest <= bound.value * (1.0 + AGREEMENT):
        raise _Failed(f"a value of {largest:.6g} is above its bound {bound.value:.6g}")
    return f"single precision within {bound.error:.2g}"


def _value(s: _Subject) -> str:
    twin = deepcopy(s.kernel)
    if twin != s.kernel or hash(twin) != hash(s.kernel):
        raise _Failed("a copy of the kernel is not equal to it, or has another hash")
    if with_parameters(s.kernel, s.kernel.parameters()) != s.kernel:
        raise _Failed("the kernel with its own parameters is not equal to it")
    if repr(twin) != repr(s.kernel):
        raise _Failed("a copy of the kernel is written differently")
    return "copies are equal"


NO_FORM = ("no written form", "written form is longer", "too long to write")
"""What a kernel prints in place of a function, or of a text longer than the grammar's limit."""


def _written(s: _Subject) -> str:
    for text in (repr(s.kernel), str(s.kernel)):
        if any(phrase in text for phrase in NO_FORM):
            raise _Skipped("holds a Python function, or its text is too long")
        returned = read(text)
        if returned != s.kernel:
            raise _Failed(f"{text} is read as {returned!r}")
    return repr(s.kernel)


_CONTRACT: dict[str, Callable[[_Subject], str]] = {
    "Hermitian": _hermitian,
    "repeatable": _repeatable,
    "diagonal": _diagonal,
    "slices": _slices,
    "positive definite": _positive,
    "points untouched": _untouched,
    "partials": _partials,
    "slopes": _slopes,
    "features": _features,
    "rounding": _rounding,
    "value": _value,
    "written form": _written,
}
