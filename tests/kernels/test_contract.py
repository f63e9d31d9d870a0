from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import array_api_strict
import numpy as np
import pytest
from hypothesis import assume, given

from mercer.check import Array, Points
from mercer.errors import InvalidInput
from mercer.kernels import FeatureMap, Series
from mercer.kernels.algebra import Constant, Product, Sum
from mercer.kernels.base import Domain, Kernel, value
from mercer.kernels.contract import KernelCheck, check_kernel
from mercer.kernels.definite import positive_definite
from mercer.kernels.given import Delta, FromFunction, Precomputed
from mercer.kernels.groups import Group, Permutations
from mercer.kernels.laplacian_matern import Laplacian, Matern, NegativeDistance, RationalQuadratic
from mercer.kernels.metric import Normalised
from mercer.kernels.pairs import Pairs
from mercer.kernels.radial import Gaussian, positive
from mercer.kernels.sets import Agreement, AllSubsets, Intersection, UnionComplement
from mercer.kernels.spectral import (
    LAWS,
    Characteristic,
    Periodic,
    Sinc,
    Sobolev,
)
from mercer.kernels.splines import Brownian, CubicSpline
from mercer.kernels.statements import Arithmetic, Bound
from mercer.kernels.tensor import tensor_product, tensor_sum
from mercer.kernels.vectors import Bilinear, Linear, Polynomial, Sigmoid
from mercer.points import Paired
from tests.strategies import distinct_points, smooth_kernels
from tests.test_check import FRAME

RNG = np.random.default_rng(0)
PLANE = RNG.normal(size=(13, 2))
MANY = RNG.normal(size=(9, 6))
LINE = RNG.uniform(0.1, 2.0, size=8)
SETS = [{1, 2}, {2, 3}, {1, 2, 3}, {4}, set()]
UNIVERSE = frozenset({1, 2, 3, 4, 5})


def squash(x: Any) -> Array:
    return np.asarray(np.tanh(x))


def wave(x: Any, phase: float = 0.0) -> Array:
    return np.asarray(np.sin(np.asarray(x) + phase))


ON_THE_PLANE: list[Kernel] = [
    *(
        Linear(),
        Polynomial(3),
        Polynomial(2, 0.0, 0.5),
        Polynomial(0),
        Constant(2.0),
        Constant(0.0),
    ),
    *(Gaussian(0.7), Gaussian((0.5, 2.0)), Gaussian("median"), Gaussian(0.01), Gaussian(1e6)),
    *(Laplacian(1.3), Laplacian((1.0, 2.0), norm=1.5), Laplacian(0.5, norm=2.0)),
    *(Matern(nu, 1.2) for nu in (0.5, 0.8, 1.5, 2.5, 3.3, 30.0, np.inf)),
    *(RationalQuadratic(0.7, 1.1), RationalQuadratic(2.0, (1.0, 3.0))),
    *(Periodic(2.0, 0.8), Periodic((1.0, 3.0)), Sinc(0.7), Sobolev(2.0, 1.4), Sobolev(3.5)),
    *(Characteristic(law, 1.5) for law in LAWS),
    *(NegativeDistance(1.0), NegativeDistance(1.7, (1.0, 2.0)), NegativeDistance(2.0), Sigmoid()),
    *(Bilinear([[2.0, 1.0], [1.0, 3.0]]), Delta(), FeatureMap(lambda x: np.asarray(x) ** 2)),
    Gaussian(0.5) + 0.1 * Linear() + 3.0,
    Gaussian(0.5) * Laplacian(2.0) * Linear() ** 2,
    0.0 * Gaussian(),
    (Gaussian() + Linear()).polynomial([0.0, 1.0, 0.5]),
    Linear().normalised().exp(),
    (Linear() + 1.0).normalised(),
    Matern(1.5).gaussian(0.8),
    Polynomial(2).centred(PLANE[:4]),
    NegativeDistance(1.0).centred(PLANE[:3], [2.0, -1.5, 0.5]),
    NegativeDistance(0.5).exp(),
    Gaussian().on(lambda x: squash(x), lambda x: np.eye(2) * (1.0 - squash(x)[:, :, None] ** 2)),
    Gaussian().weighted(lambda x: wave(x)[:, 0], lambda x: wave(x, np.pi / 2) * [1.0, 0.0]),
    Laplacian().weighted(lambda x: np.exp(1j * x[:, 1])),
]


def explain(result: KernelCheck) -> str:
    return f"\n{result}"


def names(result: KernelCheck) -> set[str]:
    return {line.name for line in result.failed}


def outcomes(result: KernelCheck) -> dict[str, str]:
    return {line.name: line.outcome for line in result.checks}


@pytest.mark.parametrize("k", ON_THE_PLANE, ids=str)
def test_kernels_on_vectors_keep_the_contract(k: Kernel) -> None:
    result = check_kernel(k, PLANE)
    assert result, explain(result)


@pytest.mark.parametrize(
    ("k", "x"),
    [
        (Gaussian(1.5), MANY),
        (Gaussian(1.5), MANY.astype(np.float32)),
        (Gaussian(1.5), 1e6 + MANY),
        (Laplacian(1.5), np.round(MANY)),
        (Linear(), MANY + 1j * MANY[::-1]),
        (Polynomial(2), MANY + 1j * MANY[::-1]),
        (Gaussian(), MANY.tolist()),
        (Gaussian(), PLANE[:1]),
        (Gaussian(), RNG.normal(size=(1100, 2))),
        (Brownian(), LINE),
        (CubicSpline(), LINE),
        (CubicSpline(), np.array([0.0, 0.5, 1.0])),
        (Series([squash, wave], [1.0, 0.5]), LINE),
        (Gaussian() * CubicSpline() + Brownian(), LINE),
        (Intersection(UNIVERSE), SETS),
        (Intersection(), SETS),
        (UnionComplement(UNIVERSE), SETS),
        (Agreement(UNIVERSE), SETS),
        (AllSubsets(UNIVERSE).normalised(), SETS),
        (Agreement(UNIVERSE).gaussian(2.0), SETS),
        (Delta(), ["a", "b", "a"]),
        (FromFunction(lambda a, b: float(len(set(a) & set(b)))), ["gene", "protein", "dna"]),
        (Precomputed(np.array([[2.0, 1.0], [1.0, 2.0]])), [0, 1, 1]),
        (Precomputed(np.array([[2.0, 1j], [-1j, 2.0]])), [0, 1]),
        (Group([2.0, 1.0, 0.5, 1.0]), [0, 1, 2, 3]),
        (Group([1.0, 1j, -1.0, -1j]), [0, 3, 2]),
        (Group(lambda s: float(s == (0, 1, 2)), Permutations(3)), Permutations(3).elements()),
        (tensor_sum(Gaussian(), Delta()), Paired(LINE, list("abcabcab"))),
        (tensor_product(Gaussian(), Linear()), [(1.0, 2.0), (2.0, -1.0), (0.5, 0.5)]),
    ],
    ids=lambda v: str(v) if isinstance(v, Kernel) else type(v).__name__,
)
def test_kernels_on_points_of_all_kinds_keep_the_contract(k: Kernel, x: Any) -> None:
    result = check_kernel(k, x)
    assert result, explain(result)


@given(smooth_kernels(), distinct_points(least=3))
def test_random_expressions_keep_the_contract(k: Kernel, x: Array) -> None:
    assume(is_moderate(k, x) and not is_broken_off(k, x))
    result = check_kernel(k, x)
    assert result, explain(result)


def is_moderate(k: Kernel, x: Array) -> bool:
    """Whether the values are of a size at which differences mean anything."""
    try:
        return bool(np.max(np.abs(k(x))) < 1e6)
    except InvalidInput:
        return False


def is_broken_off(k: Kernel, x: Array) -> bool:
    """Whether a normalised kernel meets a point of norm zero, where it jumps."""
    is_zero = isinstance(k, Normalised) and bool(np.any(k.kernel.diag(x) == 0.0))
    return is_zero or any(is_broken_off(child, x) for child in k.children().values())


@pytest.mark.parametrize("n", [7, 300])
def test_arrays_that_only_follow_the_standard_are_points(n: int) -> None:
    x: Any = array_api_strict.asarray(RNG.normal(size=(n, 2)))
    for k in (Gaussian(0.7) + 0.1 * Linear(), Laplacian().normalised(), Polynomial(2)):
        result = check_kernel(k, x)
        assert result, explain(result)
    verdict = positive_definite(Sigmoid(), x)
    assert verdict.witness is not None
    assert verdict.witness.points is not None


def test_what_a_kernel_has_is_checked_and_what_it_lacks_is_skipped() -> None:
    assert set(outcomes(check_kernel(Polynomial(2), PLANE)).values()) == {"passed"}
    found = outcomes(check_kernel(FromFunction(lambda a, b: float(a @ b)), PLANE))
    skipped = {name for name, outcome in found.items() if outcome == "skipped"}
    assert skipped == {"slopes", "features", "rounding", "written form"}
    assert outcomes(check_kernel(Sigmoid(), PLANE))["positive definite"] == "skipped"
    conditional = check_kernel(NegativeDistance(), PLANE)
    detail = next(c.detail for c in conditional.checks if c.name == "positive definite")
    assert detail.startswith("-k is conditionally negative definite")


def test_the_table_has_a_line_for_each_check() -> None:
    result = check_kernel(Gaussian(0.5), PLANE)
    lines = str(result).splitlines()
    assert lines[0] == "Gaussian(bandwidth=0.5)"
    assert len(lines) == 1 + len(result.checks)
    assert (
        len({line.index(c.outcome) for line, c in zip(lines[1:], result.checks, strict=True)}) == 1
    )


def test_a_sample_of_many_points_is_drawn_by_the_random_state() -> None:
    x = RNG.normal(size=(400, 1))
    first, second = (check_kernel(Gaussian(), x, random_state=seed) for seed in (0, 0))
    assert first == second
    assert first.checks[0].detail == "200 x 200 numbers"
    assert check_kernel(Gaussian(), x, random_state=1) != first


def test_what_is_no_kernel_or_no_data_is_refused() -> None:
    with pytest.raises(InvalidInput, match="FromFunction"):
        check_kernel(lambda x, y: 1.0, PLANE)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no points"):
        check_kernel(Gaussian(), [])


@pytest.fixture(scope="module", autouse=True)
def _leave_no_planted_names() -> Iterator[None]:
    """The mistakes below are kernels while they are tested, and unknown to other tests."""
    yield
    for name in [n for n, cls in Kernel.known.items() if cls.__module__ == __name__]:
        del Kernel.known[name]


@value
class WrongDiagonal(Gaussian):
    def diag(self, x: Points) -> Array:
        return np.full(len(x), 0.5)


@value
class WrongPartials(Gaussian):
    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        return {"bandwidth": 1.001 * Gaussian.evaluate_partials(self, pairs)["bandwidth"]}


@value
class MissingPartials(Gaussian):
    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        return {}


@value
class FailingPartials(Gaussian):
    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        raise KeyError("bandwidth")


@value
class WrongSlopes(Gaussian):
    def evaluate_slopes(self, pairs: Pairs) -> Array:
        return -Gaussian.evaluate_slopes(self, pairs)


@value
class WrongShapeOfSlopes(Gaussian):
    def evaluate_slopes(self, pairs: Pairs) -> Array:
        return Gaussian.evaluate_slopes(self, pairs)[:1]


@value
class WrongFeatures(Linear):
    def features(self, x: Points) -> Array:
        return 2.0 * Linear.features(self, x)


@value
class SumAsProduct(Sum):
    def evaluate(self, pairs: Pairs) -> Array:
        return Product(self.terms).evaluate(pairs)


@value
class CentredOnWhateverComes(Kernel):
    theorem: ClassVar[str] = "none"

    def evaluate(self, pairs: Pairs) -> Array:
        x, y = pairs.vectors
        return (x - x.mean(axis=0)) @ (y - y.mean(axis=0)).T if pairs.shape[1:] else x[:, 0]


@value
class WritesOnItsPoints(Linear):
    def evaluate(self, pairs: Pairs) -> Array:
        pairs.vectors[0][0, 0] = 0.0
        return Linear.evaluate(self, pairs)


@value
class NeverEqual(Gaussian):
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


@value
class SaysSomethingElse(Gaussian):
    def __repr__(self) -> str:
        return "Gaussian(bandwidth=9.0)"

    __str__ = __repr__


@value
class Unspeakable(Gaussian):
    def __repr__(self) -> str:
        raise RuntimeError("speechless")

    __str__ = __repr__


@value
class MixedNorms(Kernel):
    """The exponential of the sum of differences, with the slopes of the Euclidean distance."""

    bandwidth: float = 1.0
    domain: ClassVar[Domain] = {"bandwidth": positive}
    theorem: ClassVar[str] = "claimed"

    def evaluate(self, pairs: Pairs) -> Array:
        return Laplacian(self.bandwidth, 1.0).evaluate(pairs)

    def evaluate_partials(self, pairs: Pairs) -> dict[str, Array]:
        return Laplacian(self.bandwidth, 2.0).evaluate_partials(pairs)

    def evaluate_slopes(self, pairs: Pairs) -> Array:
        return Laplacian(self.bandwidth, 2.0).evaluate_slopes(pairs)


@value
class LosesDigits(Gaussian):
    def profile(self, s: Array) -> Array:
        return (Gaussian.profile(self, s) + 1e3) - 1e3  # of single, ten bits


@value
class BoundsTooLow(Gaussian):
    def evaluate_bounds(self, arithmetic: Arithmetic) -> Bound | None:
        found = Gaussian.evaluate_bounds(self, arithmetic)
        return None if found is None else found._replace(value=0.25)


@pytest.mark.parametrize(
    ("k", "broken"),
    [
        (FromFunction(lambda x, y: float(x @ y + x[0])), {"Hermitian", "positive definite"}),
        (FromFunction(lambda x, y: 0.5 * (abs(x[0] - y[0]) <= 1.0)), {"positive definite"}),
        (Characteristic(lambda t: 1.0 * (np.abs(t) <= 1.0)), {"positive definite"}),
        (Characteristic(lambda t: 0.5 * (np.abs(t) <= 1.0)), {"finite values"}),
        (Characteristic(lambda t: np.exp(-(t**4))), {"positive definite"}),
        (WrongDiagonal(), {"diagonal"}),
        (WrongPartials(), {"partials"}),
        (MissingPartials(), {"partials"}),
        (FailingPartials(), {"partials"}),
        (WrongSlopes(), {"slopes"}),
        (WrongShapeOfSlopes(), {"slopes"}),
        (WrongFeatures(), {"features"}),
        (LosesDigits(), {"rounding"}),
        (BoundsTooLow(), {"rounding"}),
        (SumAsProduct((Gaussian(0.7), Gaussian(2.0))), {"partials", "slopes", "written form"}),
        (
            SumAsProduct((Linear(), Linear())),
            {"slopes", "features", "rounding", "written form"},
        ),
        (MixedNorms(), {"partials", "slopes"}),
        (NeverEqual(), {"value", "written form"}),
        (SaysSomethingElse(), {"written form"}),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Kernel) else "",
)
def test_planted_mistakes_are_found(k: Kernel, broken: set[str]) -> None:
    result = check_kernel(k, RNG.uniform(-2.0, 2.0, size=(40, 2)))
    assert not result
    assert names(result) == broken, explain(result)


def test_a_kernel_that_depends_on_its_batch_is_found_out() -> None:
    assert "slices" in names(check_kernel(CentredOnWhateverComes(), PLANE))


def test_a_kernel_that_writes_on_its_points_leaves_the_callers_alone() -> None:
    x = PLANE.copy()
    assert "points untouched" in names(check_kernel(WritesOnItsPoints(), x))
    assert np.array_equal(x, PLANE)


def test_chance_is_found_out() -> None:
    rng = np.random.default_rng(0)
    result = check_kernel(FromFunction(lambda x, y: float(rng.uniform())), PLANE)
    assert "repeatable" in names(result)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: 1 / 0, "ZeroDivisionError"),
        (lambda x, y: float("nan"), "not a finite number"),
        (lambda x, y: "one", "one"),
    ],
)
def test_functions_that_fail_are_reported_and_not_raised(function: Any, expected: str) -> None:
    result = check_kernel(FromFunction(function), PLANE)
    assert names(result) == {"finite values"}
    assert expected in result.failed[0].detail
    assert {c.outcome for c in result.checks[1:]} == {"skipped"}


def test_a_kernel_that_cannot_be_printed_is_reported() -> None:
    result = check_kernel(Unspeakable(), PLANE)
    assert result.kernel == "Unspeakable"
    assert "speechless" in result.failed[0].detail


def test_points_that_cannot_be_copied_are_still_points() -> None:
    class Handle:
        def __init__(self, number: float) -> None:
            self.number = number

        def __deepcopy__(self, memo: dict[int, Any]) -> Handle:
            raise TypeError("not copied")

    k = FromFunction(lambda a, b: a.number * b.number)
    result = check_kernel(k, [Handle(1.0), Handle(2.0)])
    assert result, explain(result)
    assert outcomes(result)["points untouched"] == "skipped"


def test_a_text_and_a_data_frame_are_put_through_the_contract() -> None:
    result = check_kernel("gaussian(bandwidth=2)", FRAME)
    assert result, explain(result)
    assert result.kernel == "Gaussian(bandwidth=2.0)"
    by_column = check_kernel(Gaussian().on(lambda d: d["a"]), FRAME)
    assert by_column.checks[0].outcome == "passed", explain(by_column)
    with pytest.raises(InvalidInput, match="expected a kernel"):
        check_kernel("gaussain()", FRAME)
