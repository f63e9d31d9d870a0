from __future__ import annotations

import ast
import copy
import doctest
import inspect
import pickle
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import (
    FromFunction,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from mercer.check import Array, Points
from mercer.data import Paired
from mercer.engines.tiles import Tiles, rounding
from mercer.errors import (
    InvalidInput,
    InvalidParameter,
    NoFeatureMap,
    NotDifferentiable,
    NotPositiveDefinite,
)
from mercer.fourier import fourier_features
from mercer.kernels import (
    Agreement,
    Bilinear,
    Brownian,
    Constant,
    Delta,
    Kind,
    NegativeDistance,
    Sigmoid,
    parameters,
    tensor_product,
    tensor_sum,
    value,
    with_parameters,
)
from mercer.kernels.base import all_kernels
from mercer.kernels.pairs import Pairs
from mercer.kernels.written import LONGEST_TEXT
from mercer.page.safe_text import mathml
from mercer.page.sentences import in_words
from mercer.points import FrozenArray
from mercer.settings import nonnegative

X = np.random.default_rng(0).normal(size=(6, 2))


def first_column(points: Points) -> Array:
    return np.asarray(points)[:, 0]


def doubled(points: Points) -> Array:
    return 2.0 * np.asarray(points)


def product_of_numbers(a: float, b: float) -> float:
    return float(a * b)


WRITTEN = [
    Linear(),
    Gaussian(0.5),
    Gaussian((1.0, 2.0)),
    Gaussian("median"),
    Matern(nu=2.2, bandwidth=0.3),
    Constant(2.0),
    Delta(),
    Agreement(frozenset("ab")),
    Bilinear([[2.0, 1.0], [1.0, 3.0]]),
    Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]])),
    Precomputed(np.array([[2.0, 1j], [-1j, 3.0]])),
    Gaussian() + 0.1 * Linear() + 2.0,
    (Gaussian() + Linear()) * Linear() ** 2,
    0.5 * (Gaussian() * Linear()),
    (2.0 * Gaussian()) ** 3,
    (Linear() + 1.0).polynomial([1.0, 0.0, 2.0]),
    (Gaussian() + Linear()).exp(),
    (Linear() * Linear()).normalised(),
    (2.0 * Linear()).gaussian(bandwidth=0.7),
    NegativeDistance(1.5).centred([[0.0, 1.0], [1.0, 0.0]]),
    Linear().centred([0.0, 1.0, 5.0], [0.5, -0.5, 1.0]),
    Delta().centred(["a", "b"]),
    tensor_sum(Gaussian(), Delta()),
    tensor_product(Gaussian() + 1.0, tensor_sum(Delta(), Linear())),
]
UNWRITTEN = [
    Agreement(frozenset({1, 2})).centred([{1}, {1, 2}]),
    Gaussian().weighted(first_column),
    Linear().on(doubled),
    FromFunction(product_of_numbers) + 1.0,
]
WAYS: dict[str, Callable[[Kernel], Kernel]] = {
    "pickle": lambda k: pickle.loads(pickle.dumps(k)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "clone": lambda k: clone(Model(k)).kernel,
}


class Model(BaseEstimator):  # type: ignore[misc]
    def __init__(self, kernel: Kernel = Gaussian()) -> None:  # noqa: B008  (a frozen value)
        self.kernel = kernel

    def fit(self, x: Array, y: Array) -> Model:
        return self

    def score(self, x: Array, y: Array) -> float:
        return float(self.kernel == Linear())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kernel", [*WRITTEN, *UNWRITTEN], ids=str)
def test_a_copy_of_a_kernel_is_equal_and_hashes_alike(kernel: Kernel, way: str) -> None:
    other = WAYS[way](kernel)
    assert type(other) is type(kernel)
    assert other == kernel
    assert hash(other) == hash(kernel)


def test_an_estimator_shows_its_kernel_as_one_parameter() -> None:
    k = Gaussian(0.5) + Linear()
    assert clone(Model(k)).get_params() == {"kernel": k}


def test_a_grid_search_chooses_among_kernels() -> None:
    grid = [Gaussian(0.1), Linear(), Gaussian(1.0) + Linear()]
    search = GridSearchCV(Model(), {"kernel": grid}, cv=2).fit(X, X[:, 0])
    assert search.best_params_ == {"kernel": Linear()}
    assert search.cv_results_["param_kernel"].tolist() == grid


def test_different_kernels_differ() -> None:
    k, m = Gaussian(), Linear()
    different = [
        *(k, m, k + m, k * m, k + k, 2 * k, 3 * k, k**2, k**3, k + 1.0, k * m * m, (k + m) * m),
        *(k.exp(), k.normalised(), k.gaussian(), k.gaussian(2.0), k.polynomial([1.0, 2.0])),
        *(k.centred([0.0]), k.centred([1.0]), k.centred([[0.0]]), m.centred([0.0])),
        *(k.centred([0.0, 1.0]), k.centred([0.0, 1.0], [0.25, 0.75]), Gaussian(2.0), Laplacian()),
        *(k.on(doubled), k.weighted(first_column), tensor_sum(k, m), tensor_product(k, m)),
    ]
    for i, left in enumerate(different):
        for right in different[i + 1 :]:
            assert left != right
    assert len(set(different)) == len(different)


@pytest.mark.parametrize(
    "kernels",
    [
        [Gaussian(2), Gaussian(2.0), Gaussian(np.float64(2)), Gaussian(np.int8(2))],  # type: ignore[arg-type]
        [Gaussian([1, 2]), Gaussian((1.0, 2.0)), Gaussian(np.array([1.0, 2.0]))],  # type: ignore[arg-type]
        [Linear() ** 2, Linear() ** 2.0, Linear() ** np.int64(2)],  # type: ignore[operator]
        [Linear().centred([[0], [1]]), Linear().centred(np.array([[0.0], [1.0]]))],
        [Linear().centred([[-0.0]]), Linear().centred([[0.0]])],
        [Agreement({1, 2}), Agreement([2, 1]), Agreement(frozenset({1, 2}))],
        [Precomputed(np.eye(2, dtype=int)), Precomputed([[1.0, -0.0], [0.0, 1.0]])],  # type: ignore[arg-type]
    ],
    ids=lambda kernels: type(kernels[0]).__name__,
)
def test_equal_numbers_of_other_types_make_equal_kernels(kernels: list[Kernel]) -> None:
    assert all(k == kernels[0] for k in kernels)
    assert {hash(k) for k in kernels} == {hash(kernels[0])}


@pytest.mark.parametrize("name", ["bandwidth", "width", "new"])
def test_a_kernel_cannot_be_changed(name: str) -> None:
    k = Gaussian(0.5)
    with pytest.raises(FrozenInstanceError, match=f"{name} cannot be changed"):
        setattr(k, name, 2.0)
    with pytest.raises(FrozenInstanceError, match=f"{name} cannot be changed"):
        delattr(k, name)
    assert k == Gaussian(0.5)


def test_a_kernel_keeps_nothing_of_the_callers_arrays() -> None:
    bandwidths, sample, gram = np.array([1.0, 2.0]), X.copy(), np.eye(2)
    sets = [{1}, {1, 2}]
    kernels = [
        Gaussian(bandwidths),  # type: ignore[arg-type]
        Linear().centred(sample),
        Precomputed(gram),
        Agreement(frozenset({1, 2, 3})).centred(sets),
    ]
    before = [hash(k) for k in kernels]
    for mine in (bandwidths, sample, gram):
        mine += 1.0
    sets[0].add(3)
    assert [hash(k) for k in kernels] == before


@pytest.mark.parametrize("kernel", WRITTEN, ids=str)
def test_repr_is_code_that_makes_the_kernel(kernel: Kernel) -> None:
    names = {name: getattr(mercer.kernels, name) for name in ("tensor_sum", "tensor_product")}
    classes = {cls.__name__: cls for cls in all_kernels().values()}
    assert eval(repr(kernel), {**names, **classes}) == kernel


k, m = Linear(), Delta()


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Gaussian(0.5) + 0.1 * k, "gaussian(bandwidth=0.5) + 0.1 * linear()"),
        ((k + m) * k, "(linear() + delta()) * linear()"),
        (k * (k + m), "linear() * (linear() + delta())"),
        (k + m * k, "linear() + delta() * linear()"),
        (2 * (k + m), "2.0 * (linear() + delta())"),
        (2 * (k * m), "2.0 * (linear() * delta())"),
        ((2 * k) * m, "2.0 * linear() * delta()"),
        (k * (2 * m), "linear() * (2.0 * delta())"),
        ((2 * k) ** 2, "(2.0 * linear())**2"),
        (2 * k**2, "2.0 * linear()**2"),
        ((k**2) ** 3, "(linear()**2)**3"),
        ((k + m) ** 2, "(linear() + delta())**2"),
        ((k * m).exp(), "(linear() * delta()).exp()"),
        ((k**2).normalised(), "(linear()**2).normalised()"),
        (k.exp() ** 2, "linear().exp()**2"),
        (Gaussian("median"), 'gaussian(bandwidth="median")'),
        (tensor_sum(k + m, k), "tensor_sum(linear() + delta(), linear())"),
    ],
    ids=str,
)
def test_str_is_the_formula_with_the_brackets_it_needs(kernel: Kernel, text: str) -> None:
    assert str(kernel) == text


def test_repr_says_that_a_function_has_no_written_form() -> None:
    assert repr(Linear().on(doubled)) == "Linear().on(<function doubled: no written form>)"


@pytest.mark.parametrize(
    "kernel",
    [Precomputed(np.eye(101)), sum([Gaussian(1.0 + i) for i in range(500)]), Linear().centred(X)],
    ids=lambda k: type(k).__name__,
)
def test_a_written_form_is_never_longer_than_can_be_read(kernel: Any) -> None:
    assert len(repr(kernel)) <= LONGEST_TEXT
    assert len(str(kernel)) <= LONGEST_TEXT


def test_a_formula_too_long_to_read_is_named_instead_of_printed() -> None:
    long = sum([Gaussian(1.0 + i) for i in range(500)], start=Linear())
    assert repr(long) == "<Sum: longer than 10000 characters>"


def test_parameters_are_named_by_their_path() -> None:
    kernel = (2.0 * Gaussian((1.0, 3.0)) + Matern(1.5, 0.5)).exp() * Polynomial(2) ** 3
    assert parameters(kernel) == {
        "0__kernel__0__weight": 2.0,
        "0__kernel__0__kernel__bandwidth": (1.0, 3.0),
        "0__kernel__1__nu": 1.5,
        "0__kernel__1__bandwidth": 0.5,
        "1__power": 3,
        "1__kernel__degree": 2,
        "1__kernel__offset": 1.0,
        "1__kernel__scale": 1.0,
    }


@pytest.mark.parametrize("kernel", [*WRITTEN, *UNWRITTEN], ids=str)
def test_a_kernel_with_its_own_parameters_is_itself(kernel: Kernel) -> None:
    assert with_parameters(kernel, parameters(kernel)) == kernel


@pytest.mark.parametrize("kernel", WRITTEN, ids=str)
def test_one_parameter_changes_and_the_others_stay(kernel: Kernel) -> None:
    flat = parameters(kernel)
    for name, old in flat.items():
        if isinstance(old, float):
            changed = with_parameters(kernel, {name: old + 0.5})
            assert changed != kernel
            assert parameters(changed) == {**flat, name: old + 0.5}
    assert parameters(kernel) == flat


def test_parameters_can_be_given_by_keyword() -> None:
    kernel = 2.0 * Gaussian(1.0)
    assert with_parameters(kernel, kernel__bandwidth=3.0, weight=4.0) == 4.0 * Gaussian(3.0)


def test_an_unknown_parameter_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidParameter, match="no parameter length; it has 0__bandwidth"):
        with_parameters(Gaussian() + Linear(), length=1.0)
    with pytest.raises(InvalidParameter, match="linear.. has no parameter bandwidth; it has none"):
        with_parameters(Gaussian() + Linear(), {"1__bandwidth": 1.0})


@pytest.mark.parametrize(
    ("kernel", "changes", "error"),
    [
        (Gaussian() + 1.0, {"0__bandwidth": -1.0}, InvalidParameter),
        (2.0 * Gaussian(), {"weight": -1.0}, NotPositiveDefinite),
        (Gaussian() ** 2, {"power": 0.5}, NotPositiveDefinite),
        (Gaussian() + 1.0, {"1__constant": -1.0}, NotPositiveDefinite),
        (Linear().polynomial([1.0]), {"coefficients": [1.0, -1.0]}, NotPositiveDefinite),
        (NegativeDistance() ** 1, {"power": 2}, NotPositiveDefinite),
        (Linear().gaussian(), {"bandwidth": "mean"}, InvalidParameter),
    ],
    ids=str,
)
def test_changed_parameters_stay_in_their_domain(
    kernel: Kernel, changes: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        with_parameters(kernel, changes)


def median_distance(x: Array) -> float:
    gaps = [float(np.linalg.norm(a - b)) for i, a in enumerate(x) for b in x[i + 1 :]]
    return float(np.median(gaps))


def test_rules_are_resolved_once_wherever_they_stand() -> None:
    rule = Gaussian("median")
    kernel = (2.0 * rule + Linear().gaussian("median") * Gaussian(3.0)).exp().normalised()
    bandwidth = median_distance(X)
    flat = parameters(kernel.resolve(X))
    assert flat["kernel__kernel__0__kernel__bandwidth"] == pytest.approx(bandwidth, rel=1e-14)
    assert flat["kernel__kernel__1__0__bandwidth"] == pytest.approx(bandwidth, rel=1e-12)
    assert flat["kernel__kernel__1__1__bandwidth"] == 3.0
    assert parameters(kernel)["kernel__kernel__0__kernel__bandwidth"] == "median"
    resolved = kernel.resolve(X)
    assert resolved.resolve(10.0 * X) == resolved


def test_a_kernel_of_mapped_points_resolves_on_the_mapped_points() -> None:
    resolved = Gaussian("median").on(doubled).resolve(X)
    assert parameters(resolved)["kernel__bandwidth"] == pytest.approx(2.0 * median_distance(X))


@pytest.mark.parametrize("as_pairs", [True, False])
def test_each_part_of_a_tensor_kernel_resolves_on_its_own_part(as_pairs: bool) -> None:
    other = 5.0 * X[:, :1]
    points: Points = Paired(X, other) if as_pairs else list(zip(X, other, strict=True))
    resolved = tensor_sum(Gaussian("median"), Gaussian("median")).resolve(points)
    expected = [median_distance(X), median_distance(other)]
    assert list(parameters(resolved).values()) == pytest.approx(expected)


@pytest.mark.parametrize("kernel", [Gaussian("median"), Linear().gaussian("median") + 1.0])
def test_an_unresolved_rule_says_how_to_resolve_it(kernel: Kernel) -> None:
    with pytest.raises(InvalidParameter, match=r"depends on data: call k\.resolve\(x\) first"):
        kernel(X)


def test_a_kernel_without_rules_resolves_to_itself() -> None:
    for kernel in (*UNWRITTEN[:3], Linear() + Constant(), Linear().centred(X)):
        assert kernel.resolve(X) == kernel


def test_a_frozen_array_is_equal_by_its_contents() -> None:
    same = [FrozenArray(a) for a in ([[1, 0]], [[1.0, 0.0]], [[1.0, -0.0]], [[1.0 + 0j, -0j]])]
    assert all(a == same[0] for a in same)
    assert {hash(a) for a in same} == {hash(same[0])}
    for other in (FrozenArray([[1.0, 1.0]]), FrozenArray([1.0, 0.0]), np.array([[1.0, 0.0]]), None):
        assert same[0] != other


def test_a_frozen_array_can_neither_be_written_nor_replaced() -> None:
    mine = np.ones(3)
    frozen = FrozenArray(mine)
    mine[0] = 7.0
    assert frozen.array.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        frozen.array[0] = 7.0
    with pytest.raises(AttributeError, match="cannot be changed"):
        frozen.array = mine
    with pytest.raises(AttributeError, match="cannot be changed"):
        del frozen.array
    assert not FrozenArray(frozen).array.flags.writeable
    assert not pickle.loads(pickle.dumps(frozen)).array.flags.writeable


@value
class Ripple(Kernel):
    """The cosine of the difference of two numbers, times a height."""

    height: float = 1.0
    domain: ClassVar = {"height": nonnegative}
    theorem: ClassVar[str] = "cos(x - y) = cos x cos y + sin x sin y"

    def evaluate(self, pairs: Pairs) -> Array:
        x, y = (v[:, 0] for v in pairs.vectors)
        return self.height * pairs.xp.cos(pairs.of_x(x) - pairs.of_y(y))


def test_a_kernel_of_ones_own_takes_a_dozen_lines() -> None:
    lines = [line for line in inspect.getsource(Ripple).splitlines() if line.strip()]
    assert len(lines) <= 12


def test_a_kernel_of_ones_own_has_the_whole_algebra() -> None:
    t = np.array([0.0, 1.0, 2.5])
    cosines = np.cos(t[:, None] - t[None, :])
    kernel = 0.5 * Ripple(2.0) ** 2 + Ripple()
    np.testing.assert_allclose(kernel(t), 2.0 * cosines**2 + cosines, rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(t), [3.0, 3.0, 3.0], rtol=1e-14)
    np.testing.assert_allclose(kernel(t, t[:2]), kernel(t)[:, :2], rtol=1e-14)
    assert repr(kernel) == "0.5 * Ripple(height=2.0)**2 + Ripple(height=1.0)"
    assert parameters(kernel)["1__height"] == 1.0
    assert Kernel.known["ripple"] is Ripple
    assert kernel.kind is Kind.POSITIVE
    assert "Ripple: cos(x - y)" in kernel.proof
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_a_kernel_of_ones_own_keeps_its_domain() -> None:
    with pytest.raises(InvalidParameter, match="height must be"):
        Ripple(-1.0)


def test_what_a_kernel_does_not_state_is_refused_by_name() -> None:
    kernel = Ripple() + Linear()
    with pytest.raises(NotDifferentiable, match="Ripple does not state its partial derivatives"):
        kernel.partials([0.0, 1.0])
    with pytest.raises(NotDifferentiable, match="Ripple has no slopes"):
        kernel.slopes([0.0, 1.0])
    with pytest.raises(NoFeatureMap, match="Ripple has no finite feature map"):
        kernel.features([0.0, 1.0])


def test_a_namesake_of_a_known_kernel_does_not_take_its_place() -> None:
    @value
    class Gaussian(Kernel):
        def evaluate(self, pairs: Pairs) -> Array:
            return pairs.inner()

    assert Kernel.known["gaussian"] is mercer.Gaussian
    assert type(Gaussian() + 1.0) is type(mercer.Gaussian() + 1.0)
    assert Gaussian() + 1.0 != mercer.Gaussian() + 1.0


MIXED = [
    Gaussian() + 0.1 * Linear(),
    Linear().normalised() * Laplacian(),
    Linear().gaussian(),
    NegativeDistance().centred(X),
    Linear().weighted(first_column),
    Matern(2.2),
]


@pytest.mark.parametrize("kernel", MIXED, ids=str)
def test_single_precision_in_is_single_precision_out(kernel: Kernel) -> None:
    x = X.astype(np.float32)
    K = kernel(x.astype(np.float64))
    for values, expected in ((kernel(x), K), (kernel.diag(x), np.diag(K)), (kernel(x, x[:2]), K)):
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, expected[..., : values.shape[-1]], rtol=1e-6, atol=1e-6)
    for values in kernel.partials(x).values():
        assert values.dtype == np.float32


@pytest.mark.parametrize("kernel", MIXED, ids=str)
def test_mixed_precision_is_double_precision_out(kernel: Kernel) -> None:
    single = X.astype(np.float32)
    assert kernel(single, X).dtype == np.float64
    assert kernel(X, single).dtype == np.float64
    assert kernel(single, single.tolist()).dtype == np.float64
    assert kernel(single.astype(np.float16)).dtype == np.float64


def test_slopes_keep_single_precision() -> None:
    assert Gaussian().slopes(X.astype(np.float32)).dtype == np.float32


def test_single_precision_complex_points_stay_single() -> None:
    z = (X + 1j * X[::-1]).astype(np.complex64)
    assert Linear()(z).dtype == np.complex64
    assert Linear().diag(z).dtype == np.float32
    assert Gaussian()(z).dtype == np.float32


@pytest.mark.parametrize(
    ("kernel", "x", "named"),
    [
        (Linear() * 1e300, [[1e10]], r"1e\+300 \* linear\(\)"),
        (Linear().exp(), [[1e4]], r"linear\(\)\.exp\(\)"),
        ((Linear() + 1.0) ** 400, [[9.0]], r"\*\*400"),
        (Linear(), [[1e200]], r"linear\(\)"),
        (Linear().polynomial([0.0, 0.0, 1.0]), [[1e100]], "polynomial"),
        (Linear().normalised(), [[1e200]], r"linear\(\)"),
        (Linear() * Linear(), [[1e100]], r"linear\(\) \* linear\(\)"),
        (1e30 * Linear(), np.array([[1e10]], np.float32), "too large for float32"),
    ],
)
def test_overflow_is_an_error_that_names_the_kernel(kernel: Kernel, x: Points, named: str) -> None:
    calls: list[Callable[[], Any]] = [lambda: kernel(x), lambda: kernel.diag(x)]
    for call in calls:
        with pytest.raises(InvalidInput, match=named):
            call()


@pytest.mark.parametrize(
    ("kernel", "x"),
    [(1e300 * Linear(), [[1e10]]), (1e30 * Linear() ** 2, np.array([[1e15]], np.float32))],
)
def test_overflow_of_a_derivative_is_an_error_too(kernel: Kernel, x: Points) -> None:
    with pytest.raises(InvalidInput, match="not a finite number"):
        kernel.exp().partials(x)
    with pytest.raises(InvalidInput, match="not a finite number"):
        (kernel * kernel).slopes(x)


def test_what_is_not_a_number_is_named_with_its_place() -> None:
    kernel = FromFunction(lambda a, b: float("nan") if a == b == 2.0 else 1.0)
    with pytest.raises(InvalidInput, match=r"not a finite number at \(1, 1\) but nan"):
        kernel([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("kernel", "x"),
    [(k, X) for k in MIXED]
    + [(Linear() + Gaussian() ** 2, X + 1j * X[::-1]), (Brownian().exp(), np.abs(X[:, 0]))],
    ids=str,
)
def test_the_diagonal_and_blocks_are_those_of_the_matrix(kernel: Kernel, x: Array) -> None:
    K = kernel(x)
    np.testing.assert_allclose(kernel.diag(x), np.diag(K), rtol=1e-13, atol=1e-14)
    assert kernel.diag(x).dtype == np.float64
    np.testing.assert_allclose(kernel(x[:2], x[1:]), K[:2, 1:], rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(kernel(x, None), K)


def test_kernels_do_not_write_into_the_callers_points() -> None:
    x = X.copy()
    x.flags.writeable = False
    for kernel in (*MIXED, Sigmoid(), Delta(), Linear() + 1.0, Linear().exp(), Linear() ** 2):
        kernel(x)
        kernel.diag(x)
        kernel(x, x[:3])
    np.testing.assert_array_equal(x, X)


def test_what_cannot_be_written_says_so() -> None:
    deep: Kernel = Linear()
    for _ in range(60):
        deep = deep.normalised()
    for kernel in (
        deep,
        Gaussian() ** 2000,
        mercer.kernels.Intersection({b"bytes"}),
        mercer.kernels.Intersection({10**50}),
    ):
        assert "<" in repr(kernel)
        with pytest.raises(mercer.errors.WrittenFormError):
            mercer.kernel(repr(kernel))


def test_a_class_with_the_name_of_another_does_not_print_as_that_one() -> None:
    namespace = {"__module__": "elsewhere", "evaluate": lambda self, pairs: pairs.inner()}
    other: Any = mercer.kernels.value(type("Gaussian", (Kernel,), namespace))
    assert "elsewhere.Gaussian" in repr(other())
    assert type(mercer.kernel("gaussian()")) is Gaussian


def test_a_class_that_is_no_value_says_what_to_do() -> None:
    class Plain(Kernel):
        def evaluate(self, pairs: Any) -> Array:
            return np.asarray(pairs.inner())

    with pytest.raises(mercer.errors.InvalidParameter, match="@mercer.kernels.value"):
        repr(Plain())


def test_numbers_without_axes_are_numbers() -> None:
    assert np.array(2.0) * Linear() == 2.0 * Linear()
    assert Linear() + np.array(1.0) == Linear() + 1.0


@pytest.fixture(scope="module")
def cauchy() -> Iterator[Any]:
    """The class of kernels that CONTRIBUTING gives to be copied, made from its text."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    known: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(compile(example.source, "CONTRIBUTING.md", "single"), known)  # noqa: S102  (ours)
    yield known["Cauchy"]
    del Kernel.known["cauchy"]


def test_the_kernel_to_copy_is_a_rational_quadratic(cauchy: Any) -> None:
    x = np.random.default_rng(1).standard_normal((50, 3))
    same = mercer.kernels.RationalQuadratic(1.0, 1.7 / np.sqrt(2.0))
    np.testing.assert_allclose(cauchy(1.7)(x), same(x), atol=2e-16)
    assert mercer.check_kernel(cauchy(1.7), x)


@pytest.mark.parametrize("single", [False, True])
def test_the_kernel_to_copy_has_fast_tiles_and_proved_rounding(cauchy: Any, single: bool) -> None:
    x = np.random.default_rng(2).standard_normal((300, 4))
    kernel = 0.5 * cauchy(1.3) + Linear()
    tiles = Tiles(kernel, x, single=single)
    assert tiles.prepared is not None
    assert set(tiles.prepared.uses) == {1.3, "inner"}
    found = rounding(tiles, np.nan)
    assert found.is_proved
    values = np.array(tiles.tile(tiles.blocks()[0]), np.longdouble)
    assert np.max(np.abs(values - kernel(x))) <= found.entry
    same = Tiles(
        0.5 * mercer.kernels.RationalQuadratic(1.0, 1.3 / np.sqrt(2.0)) + Linear(), x, single=single
    )
    assert found.entry == pytest.approx(rounding(same, np.nan).entry, rel=0.01)


def test_the_kernel_to_copy_has_fourier_features_and_takes_a_scale(cauchy: Any) -> None:
    x = np.random.default_rng(3).standard_normal((40, 3))
    phi = fourier_features(cauchy(1.7), 3, 40_000, np.random.default_rng(0))(x)
    np.testing.assert_allclose(phi @ phi.T, cauchy(1.7)(x), atol=0.04)
    assert cauchy(1.7).stretched([1.0, 2.0, 4.0]) == cauchy((1.7, 3.4, 6.8))


def test_the_kernel_to_copy_has_its_formula_on_the_page(cauchy: Any) -> None:
    found = mathml(2.0 * cauchy(0.5))
    assert found is not None
    text = "".join(ElementTree.fromstring(found).itertext())
    assert text == "k(x,y)=2·11+‖x−y‖20.52"


def test_the_kernel_to_copy_is_told_in_words_and_warned_of_units(cauchy: Any) -> None:
    x = np.random.default_rng(4).standard_normal((40, 2)) * [1.0, 1000.0]
    with pytest.warns(mercer.errors.Misleading, match="Cauchy with one bandwidth sees little"):
        mercer.KernelPCA(1, kernel=cauchy(1.0)).fit(x)
    assert in_words(cauchy(2.0).normalised(), None) == "normalised cauchy kernel (bandwidth 2)"


@pytest.fixture
def repeated() -> Iterator[Any]:
    """An operation on a kernel that somebody else wrote, with words of its own."""

    @mercer.kernels.value
    class Repeated(Kernel):
        kernel: Kernel
        times: float = 2.0
        phrase = "{times} times the {kernel}, by {distance}"

        def evaluate(self, pairs: Any) -> Any:
            return self.times * self.kernel.evaluate(pairs)

    yield Repeated
    del Kernel.known["repeated"]


def test_an_operation_states_its_words_and_a_gaussian_takes_features(repeated: Any) -> None:
    assert in_words(repeated(Gaussian(3.0)), None) == (
        "2 times the Gaussian kernel (bandwidth 3), by the distance of Gaussian(bandwidth=3.0)"
    )
    assert Gaussian(3.0).of_features(Linear()) == Linear().gaussian(3.0)
    assert mercer.Laplacian(3.0).of_features(Linear()) is None


def test_nobody_outside_kernels_asks_for_the_class_of_a_kernel() -> None:
    named = {c.__name__ for c in all_kernels().values()} | {"Radial", "Metric", "Composite"}
    source = Path(mercer.__file__).parent
    found = [
        f"{path.relative_to(source)}: {ast.unparse(node)}"
        for path in sorted(source.rglob("*.py"))
        if path.parent.name != "kernels"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("isinstance", "issubclass")
        and named & {part.removeprefix("mc.") for part in ast.unparse(node.args[1]).split(" | ")}
    ]
    assert found == []
