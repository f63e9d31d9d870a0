from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from math import comb, e
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from mercer import FromFunction, Gaussian, Kernel, Linear, Matern, Polynomial, Precomputed
from mercer.check import Array, as_numpy
from mercer.errors import (
    InvalidInput,
    InvalidParameter,
    NoFeatureMap,
    NotDifferentiable,
    NotPositiveDefinite,
)
from mercer.kernels import (
    Constant,
    Delta,
    Kind,
    NegativeDistance,
    RationalQuadratic,
    Sigmoid,
    tensor_sum,
)
from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.powers import PolynomialOf, Power
from tests.derivatives import assert_partials, assert_slopes

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))
Z = X + 1j * RNG.normal(size=(6, 3))
k, m = Gaussian(1.3), Linear()
K, M = k(X), m(X)
conditional = NegativeDistance(1.5)


def smallest(matrix: Array) -> float:
    return float(np.linalg.eigvalsh(matrix)[0] / (np.max(np.abs(matrix)) or 1.0))


LEAVING: list[tuple[str, Callable[[], Any], str]] = [
    ("-1*k", lambda: -1 * k, "weight = -1 is negative.*nonnegative weights only"),
    ("k*-0.5", lambda: k * -0.5, "weight = -0.5 is negative"),
    ("np*k", lambda: np.float64(-2) * k, "weight = -2.0 is negative"),
    ("-k", lambda: -k, "weight = -1.0 is negative"),
    ("k-k", lambda: k - k, "cannot be subtracted.*not under differences"),
    ("1-k", lambda: 1 - k, r"found 1 - gaussian\(bandwidth=1.3\): positive"),
    ("k-1", lambda: k - 1, r"found gaussian\(bandwidth=1.3\) - 1: positive"),
    ("np-k", lambda: np.float64(1) - k, "cannot be subtracted"),
    ("k-0", lambda: k - 0, "cannot be subtracted"),
    ("k+-1", lambda: k + -1, "weight = -1 is negative"),
    ("-1e-300+k", lambda: -1e-300 + k, "weight = -1e-300 is negative"),
    ("k+-inf", lambda: k + -np.inf, "weight = -inf is negative"),
    (
        "k**0.5",
        lambda: operator.pow(k, 0.5),
        "power 0.5 is not a whole number.*fractional and negative",
    ),
    ("k**-1", lambda: k**-1, "power -1 is not a whole number"),
    ("k**True", lambda: k**True, "power True is not a whole number"),
    ("k**k", lambda: operator.pow(k, k), "is not a whole number"),
    ("k/k", lambda: operator.truediv(k, k), "divided by a positive number only: quotients"),
    ("1/k", lambda: 1 / k, "divided by a positive number only"),
    ("np/k", lambda: np.float64(1) / k, "divided by a positive number only"),
    ("k/-2", lambda: k / -2, "divided by a positive number only"),
    ("k/0", lambda: k / 0, "divided by a positive number only"),
    ("k/True", lambda: k / True, "divided by a positive number only"),
    ("k/nan", lambda: k / np.nan, "divided by a positive number only"),
    ("polynomial", lambda: k.polynomial([1, -2]), r"coefficients\[1\] = -2 is negative"),
    ("constant", lambda: Constant(-1.0), "constant = -1.0 is negative"),
    ("scaled", lambda: Scaled(-1.0, k), "weight = -1.0 is negative"),
    ("c*k", lambda: conditional * k, "product with a conditionally positive definite kernel"),
    ("k*c", lambda: k * conditional, "product with a conditionally positive definite kernel"),
    ("c**2", lambda: conditional**2, "power of a conditionally positive definite kernel"),
    ("c poly", lambda: conditional.polynomial([0, 0, 1]), "power of a conditionally positive"),
    ("c normalised", lambda: conditional.normalised(), "normalised conditionally positive"),
    ("c weighted", lambda: conditional.weighted(len), "weighted conditionally positive"),
    ("(c+k)*k", lambda: (conditional + k) * k, r"k\.centred\(x\).*k\.exp\(\)"),
    ("(2c)**2", lambda: (2 * conditional) ** 2, "power of a conditionally positive"),
    ("c on", lambda: conditional.on(len) * k, "product with a conditionally"),
]


@pytest.mark.parametrize(("make", "rule"), [c[1:] for c in LEAVING], ids=[c[0] for c in LEAVING])
def test_what_leaves_the_cone_is_refused_by_the_rule_it_breaks(
    make: Callable[[], Any], rule: str
) -> None:
    with pytest.raises(NotPositiveDefinite, match=rule):
        make()


@pytest.mark.parametrize("operation", [operator.add, operator.mul], ids=["+", "*"])
@pytest.mark.parametrize(
    "operand",
    [
        True,
        False,
        np.True_,
        np.False_,
        "2",
        None,
        2j,
        [1.0],
        np.array([0.0, 0.0]),
        np.array([1, 2]),
    ],
    ids=repr,
)
def test_what_is_neither_a_kernel_nor_a_number_is_refused_on_both_sides(
    operand: Any, operation: Callable[[Any, Any], Any]
) -> None:
    with pytest.raises(InvalidParameter, match="cannot be combined with"):
        operation(k, operand)
    with pytest.raises(InvalidParameter, match="cannot be combined with"):
        operation(operand, k)


@pytest.mark.parametrize("operation", [operator.add, operator.mul], ids=["+", "*"])
@pytest.mark.parametrize("operand", [np.nan, np.inf, 10**400], ids=["nan", "inf", "10**400"])
def test_numbers_that_are_not_finite_are_refused_on_both_sides(
    operand: Any, operation: Callable[[Any, Any], Any]
) -> None:
    for pair in ((k, operand), (operand, k)):
        with pytest.raises(InvalidParameter, match="weight must be a number > 0 or equal to 0"):
            operation(*pair)


def test_weights_that_overflow_when_multiplied_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="weight must be a number"):
        1e300 * (1e300 * k)
    with pytest.raises(InvalidParameter, match="weight must be a number"):
        k / 5e-324
    with pytest.raises(InvalidParameter, match="divisor must be a number"):
        k / np.inf


NUMBERS = [
    2,
    2.0,
    Fraction(2),
    *(t(2) for t in (np.float64, np.float32, np.int64, np.int8, np.uint8)),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda v: type(v).__name__)
def test_numbers_of_every_type_combine_with_kernels_on_both_sides(number: Any) -> None:
    for made in (k + number, number + k):
        assert type(made) is Sum
        np.testing.assert_array_equal(made(X), K + 2.0)
    for made in (k * number, number * k):
        assert made == Scaled(2.0, k)
        np.testing.assert_array_equal(made(X), 2.0 * K)
    np.testing.assert_array_equal((k / number)(X), K / 2.0)
    if number == int(number):
        np.testing.assert_array_equal((k**number)(X), K**2)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, np.float64(0), np.int8(0), Fraction(0)], ids=repr)
def test_adding_nothing_changes_nothing(zero: Any) -> None:
    assert k + zero == k
    assert zero + k == k
    np.testing.assert_array_equal((k * zero)(X), np.zeros((6, 6)))


def test_sum_builtin_adds_kernels() -> None:
    assert sum([k, m]) == k + m
    assert sum([k, m], start=Delta()) == Delta() + k + m


def test_a_division_by_a_tiny_weight_and_back_is_harmless() -> None:
    np.testing.assert_allclose((k / 3.0 * 3.0)(X), K, rtol=1e-15)


def test_sums_and_products_are_flat_but_never_mixed() -> None:
    assert (k + m) + Delta() == k + (m + Delta()) == Sum((k, m, Delta()))
    assert (k * m) * Delta() == k * (m * Delta()) == Product((k, m, Delta()))
    assert (k + m) * Delta() == Product((Sum((k, m)), Delta()))
    assert (k * m) + Delta() == Sum((Product((k, m)), Delta()))
    assert 2 * (3 * k) == (3 * k) * 2 == Scaled(6.0, k)
    assert (2 * k) * m == Product((Scaled(2.0, k), m))


VALUES: list[tuple[str, Kernel, Array]] = [
    ("sum", k + m + Delta(), K + M + np.eye(6)),
    ("product", k * m * m, K * M * M),
    ("brackets", (k + m) * m, (K + M) * M),
    ("difference of precedence", k + m * m, K + M * M),
    ("weights", 0.5 * k + 2.0 * m, 0.5 * K + 2.0 * M),
    ("power", (k + m) ** 3, (K + M) ** 3),
    ("power 0", m**0, np.ones((6, 6))),
    ("power 1", m**1, M),
    ("polynomial", m.polynomial([1.0, 0.0, 2.0, 0.5]), 1.0 + 2.0 * M**2 + 0.5 * M**3),
    ("constant polynomial", m.polynomial([3.0]), np.full((6, 6), 3.0)),
    ("zero polynomial", m.polynomial([0.0]), np.zeros((6, 6))),
    ("exponential", (k + m).exp(), np.exp(K + M)),
    ("constant", Constant(2.5), np.full((6, 6), 2.5)),
    ("number", k + 2.5, K + 2.5),
]


@pytest.mark.parametrize(
    ("kernel", "expected"), [v[1:] for v in VALUES], ids=[v[0] for v in VALUES]
)
def test_operations_are_those_of_the_numbers(kernel: Kernel, expected: Array) -> None:
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), np.diag(expected), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(kernel(X, X[:2]), expected[:, :2], rtol=1e-14, atol=1e-14)
    assert smallest(kernel(X)) > -1e-13
    assert kernel.kind is Kind.POSITIVE


def test_the_exponential_is_entrywise_and_may_be_singular() -> None:
    ones = Precomputed(np.ones((2, 2)))
    values = np.linalg.eigvalsh(ones.exp()([0, 1]))
    np.testing.assert_allclose(values, [0.0, 2.0 * e], atol=1e-14)
    assert round(values[1], 2) == 5.44
    matrix_exponential = np.linalg.eigvalsh(scipy.linalg.expm(np.ones((2, 2))))
    np.testing.assert_allclose(matrix_exponential, [1.0, e**2])


def test_the_exponential_leaves_its_kernel_alone() -> None:
    kernel = m.exp() + m
    np.testing.assert_allclose(kernel(X), np.exp(M) + M, rtol=1e-14)
    np.testing.assert_allclose((m + m.exp() * m)(X), M + np.exp(M) * M, rtol=1e-14)


@given(
    weights=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
)
def test_polynomials_with_nonnegative_coefficients_are_positive_definite(
    weights: list[float], seed: int
) -> None:
    x = np.random.default_rng(seed).normal(size=(5, 2))
    matrix = Linear().polynomial(weights)(x)
    L = x @ x.T
    expected = sum((w * L**i for i, w in enumerate(weights)), start=np.zeros((5, 5)))
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-12 * max(1.0, float(np.max(np.abs(matrix))))


COMPLEX: list[Kernel] = [
    Linear(),
    Linear() + k,
    Linear() * k * Linear(),
    2.0 * Linear(),
    Linear() ** 3,
    Linear() ** 0,
    Linear().polynomial([1.0, 2.0, 3.0]),
    (0.1 * Linear()).exp(),
    Linear() + Constant(2.0),
    Polynomial(2) * Linear(),
]


@pytest.mark.parametrize("kernel", COMPLEX, ids=str)
def test_complex_kernels_stay_hermitian_and_positive_definite(kernel: Kernel) -> None:
    matrix = kernel(Z)
    np.testing.assert_allclose(matrix, matrix.conj().T, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(kernel(Z[:2], Z), kernel(Z, Z[:2]).conj().T, rtol=1e-13, atol=1e-13)
    assert kernel.diag(Z).dtype == np.float64
    np.testing.assert_allclose(kernel.diag(Z), np.diag(matrix), rtol=1e-13)
    assert smallest(matrix) > -1e-13
    assert np.max(np.abs(matrix.imag)) > 0.1 or isinstance(kernel, Power)


def test_complex_powers_are_powers_of_complex_numbers() -> None:
    L = Z @ Z.conj().T
    np.testing.assert_allclose((Linear() ** 3)(Z), L**3, rtol=1e-13)
    np.testing.assert_allclose(Linear().polynomial([1.0, 2.0])(Z), 1.0 + 2.0 * L, rtol=1e-13)
    np.testing.assert_allclose((0.1 * Linear()).exp()(Z), np.exp(0.1 * L), rtol=1e-13)


CONDITIONAL: list[Kernel] = [
    conditional,
    conditional + k,
    k + conditional,
    conditional + 2.0,
    2.0 * conditional,
    conditional / 3.0,
    conditional**1,
    conditional**0,
    conditional.polynomial([1.0, 2.0]),
    conditional.polynomial([1.0, 2.0, 0.0]),
    conditional + NegativeDistance(0.5),
    conditional.on(np.asarray),
    tensor_sum(conditional, k),
]


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=str)
def test_sums_and_multiples_of_conditional_kernels_are_conditional(kernel: Kernel) -> None:
    assert kernel.kind is Kind.CONDITIONAL
    x: Any = list(zip(X, X, strict=True)) if "tensor" in str(kernel) else X
    matrix = kernel(x)
    H = np.eye(6) - 1.0 / 6.0
    assert np.linalg.eigvalsh(H @ matrix @ H)[0] > -1e-13
    assert "conditionally" in kernel.proof


@pytest.mark.parametrize("kernel", CONDITIONAL[:8], ids=str)
def test_exponential_centring_and_gaussian_make_them_positive_definite(kernel: Kernel) -> None:
    for made in (kernel.exp(), kernel.centred(Y), kernel.gaussian(0.8)):
        assert made.kind is Kind.POSITIVE
        assert made.proof != ""
        assert smallest(made(X)) > -1e-13
        assert made.normalised().kind is Kind.POSITIVE


def test_a_conditional_kernel_is_not_positive_definite_itself() -> None:
    assert smallest(conditional(X)) < -0.5
    assert smallest((conditional + k)(X)) < -0.1


similarity = Sigmoid(0.5, -1.0)


@pytest.mark.parametrize(
    "kernel",
    [
        *(similarity, similarity + k, k * similarity, 2 * similarity, similarity**2),
        *(similarity.polynomial([1.0, 1.0]), similarity.exp(), similarity.normalised()),
        *(similarity.gaussian(), similarity.centred(X), similarity.weighted(np.asarray)),
        *(similarity.on(np.asarray), tensor_sum(similarity, k), similarity + conditional),
        *((similarity + conditional).exp(), conditional.exp() * similarity),
    ],
    ids=str,
)
def test_a_similarity_stays_one_in_every_operation(kernel: Kernel) -> None:
    assert kernel.kind is Kind.SIMILARITY
    assert kernel.proof == ""


def test_a_similarity_beside_a_conditional_kernel_is_still_refused() -> None:
    with pytest.raises(NotPositiveDefinite):
        similarity * conditional


PROOFS: list[tuple[Kernel, list[str]]] = [
    (k, ["Gaussian: the Gaussian is positive definite on every Hilbert space"]),
    (k + k, ["a sum of", "Gaussian:"]),
    (k * m, ["a product of", "Gaussian:", "Linear:"]),
    ((k * m + k) * k, ["a product of", "a sum of", "Gaussian:", "Linear:"]),
    (2 * k**2, ["a nonnegative multiple", "a whole power", "Gaussian:"]),
    (conditional.exp() + conditional, ["a sum of", "the entrywise exponential", "Negative"]),
    (k.polynomial([1.0]).exp().normalised(), ["divided by their norm", "exponential", "polynom"]),
]


@pytest.mark.parametrize(("kernel", "rules"), PROOFS, ids=[str(p[0]) for p in PROOFS])
def test_a_proof_names_every_rule_once(kernel: Kernel, rules: list[str]) -> None:
    for rule in rules:
        assert kernel.proof.count(rule) == 1
    parts = kernel.proof.split("; ")
    assert len(parts) == len(set(parts))


def test_a_part_without_proof_leaves_the_whole_without() -> None:
    taken_at_its_word = FromFunction(lambda a, b: 1.0)
    for kernel in (taken_at_its_word + k, taken_at_its_word.exp(), 2 * taken_at_its_word * k):
        assert kernel.proof == ""
        assert kernel.kind is Kind.POSITIVE


def features_agree(kernel: Kernel, x: Array) -> Array:
    phi = kernel.features(x)
    assert len(phi) == len(x)
    np.testing.assert_allclose(phi @ phi.conj().T, kernel(x), rtol=1e-12, atol=1e-12)
    return phi


@pytest.mark.parametrize("x", [X, Z, X[:1], X[:0]], ids=["real", "complex", "one", "none"])
def test_features_of_operations_give_their_kernel(x: Array) -> None:
    L = Linear()
    assert features_agree(L + 2.0, x).shape[1] == 4
    assert features_agree(3.0 * L + L, x).shape[1] == 6
    assert features_agree(L * L * Constant(2.0), x).shape[1] == 9
    assert features_agree(L**0, x).shape[1] == 1
    assert features_agree((L + 1.0) ** 2, x).shape[1] == comb(5, 2)
    assert features_agree(L.polynomial([1.0, 2.0, 3.0]), x).shape[1] == 1 + 3 + 6
    assert features_agree(L.polynomial([0.0, 0.0, 3.0]), x).shape[1] == 1 + 6
    assert features_agree(L.polynomial([0.0]), x).shape[1] == 1
    assert features_agree(0.0 * L, x).shape[1] == 3


@pytest.mark.parametrize("power", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("p", [1, 2, 4])
def test_a_power_has_as_many_features_as_monomials(p: int, power: int) -> None:
    phi = features_agree(Linear() ** power, X[:, :1] * np.ones(p) + np.arange(p))
    assert phi.shape == (6, comb(p + power - 1, power))


def test_the_quadratic_kernel_of_the_plane_has_its_six_features() -> None:
    x = X[:, :2]
    phi = features_agree((Linear() + 1.0) ** 2, x)
    a, b = x.T
    root = np.sqrt(2.0)
    expected = np.stack([a * a, root * a * b, root * a, b * b, root * b, np.ones(6)], axis=1)
    np.testing.assert_allclose(phi, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [k + m, m * k, k**2, 2 * k, k.polynomial([1.0, 2.0]), m.exp()],
    ids=str,
)
def test_a_kernel_without_finite_features_says_so(kernel: Kernel) -> None:
    with pytest.raises(NoFeatureMap, match="no finite feature map"):
        kernel.features(X)


WIDE = (Gaussian((0.8, 1.1, 1.9)), {"bandwidth"})
SMOOTH: list[tuple[Kernel, set[str]]] = [
    (k + WIDE[0] + m, {"0__bandwidth", "1__bandwidth"}),
    (k * WIDE[0] * m, {"0__bandwidth", "1__bandwidth"}),
    (2.0 * WIDE[0], {"weight", "kernel__bandwidth"}),
    ((k + m) ** 3, {"kernel__0__bandwidth"}),
    (k**0 + k, {"0__kernel__bandwidth", "1__bandwidth"}),
    (k**1, {"kernel__bandwidth"}),
    (WIDE[0].polynomial([0.5, 1.0, 2.0]), {"coefficients", "kernel__bandwidth"}),
    (k.polynomial([0.5]), {"coefficients", "kernel__bandwidth"}),
    (
        (WIDE[0] * RationalQuadratic(0.7, 1.2)).exp(),
        {"kernel__0__bandwidth"} | {f"kernel__1__{n}" for n in ("shape", "bandwidth")},
    ),
    (m + Constant(2.0), {"1__constant"}),
    (
        0.5 * (k + 2.0 * k) * m,
        {
            "0__weight",
            "0__kernel__0__bandwidth",
            "0__kernel__1__weight",
            "0__kernel__1__kernel__bandwidth",
        },
    ),
    (
        k.polynomial([0.5, 1.0]) * WIDE[0] + Constant(1.5) * k.polynomial([0.2, 0.1, 0.3]),
        {
            "0__0__coefficients",
            "0__0__kernel__bandwidth",
            "0__1__bandwidth",
            "1__0__constant",
            "1__1__coefficients",
            "1__1__kernel__bandwidth",
        },
    ),
    (
        conditional + conditional.exp(),
        {"0__exponent", "0__bandwidth", "1__kernel__exponent", "1__kernel__bandwidth"},
    ),
    (similarity * k, {"0__scale", "0__offset", "1__bandwidth"}),
]


@pytest.mark.parametrize(("kernel", "names"), SMOOTH, ids=[str(s[0]) for s in SMOOTH])
def test_derivatives_of_operations_are_those_of_differences(
    kernel: Kernel, names: set[str]
) -> None:
    numeric = {n for n, v in kernel.parameters().items() if not n.endswith("power")}
    assert names == numeric
    assert_partials(kernel, X, Y, names)
    assert_slopes(kernel, X, Y)


def test_a_weight_of_zero_still_has_a_derivative() -> None:
    kernel = 0.0 * k + Constant(0.0)
    partials = kernel.partials(X)
    np.testing.assert_array_equal(partials["0__weight"], K)
    np.testing.assert_array_equal(partials["0__kernel__bandwidth"], np.zeros((6, 6)))
    np.testing.assert_array_equal(partials["1__constant"], np.ones((6, 6)))


def test_partials_of_complex_kernels_are_complex() -> None:
    kernel = (2.0 * Linear()) ** 2
    L = Z @ Z.conj().T
    np.testing.assert_allclose(kernel.partials(Z)["kernel__weight"], 4.0 * L**2, rtol=1e-13)


@pytest.mark.parametrize(
    "kernel", [k + Delta(), Delta() * m, 2 * Delta(), Delta() ** 2, Delta().exp()], ids=str
)
def test_slopes_of_what_is_not_differentiable_are_refused(kernel: Kernel) -> None:
    with pytest.raises(NotDifferentiable, match="Delta has no slopes"):
        kernel.slopes(X)


STANDARD: list[Kernel] = [
    k + m,
    k * m * Constant(2.0),
    2.0 * m,
    (k + m) ** 2,
    m.polynomial([1.0, 2.0, 3.0]),
    (0.1 * m).exp(),
    Constant(2.0),
    RationalQuadratic() + Matern(1.5),
]


@pytest.mark.parametrize("imaginary", [0.0, 1j], ids=["real", "complex"])
@pytest.mark.parametrize("kernel", STANDARD, ids=str)
def test_standard_arrays_stay_in_their_library(kernel: Kernel, imaginary: complex) -> None:
    x = X + imaginary * X[::-1]
    theirs: Any = strict.asarray(x)
    for values, expected in (
        (kernel(theirs), kernel(x)),
        (kernel(theirs, theirs[:2, :]), kernel(x, x[:2])),
        (kernel.diag(theirs), kernel.diag(x)),
    ):
        assert isinstance(values, type(theirs))
        np.testing.assert_allclose(as_numpy(values), expected, rtol=1e-13, atol=1e-13)
    for name, values in kernel.partials(theirs).items():
        assert isinstance(values, type(theirs))
        np.testing.assert_allclose(
            as_numpy(values), kernel.partials(x)[name], rtol=1e-13, atol=1e-13
        )
    if not imaginary:
        slopes = kernel.slopes(theirs)
        assert isinstance(slopes, type(theirs))
        np.testing.assert_allclose(as_numpy(slopes), kernel.slopes(x), rtol=1e-13, atol=1e-13)


def test_standard_arrays_of_single_precision_stay_single() -> None:
    x: Any = strict.asarray(X, dtype=strict.float32)
    assert (k + m)(x).dtype == strict.float32
    assert (k + m)(x, strict.asarray(X)).dtype == strict.float64  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", STANDARD, ids=str)
def test_torch_tensors_stay_tensors(kernel: Kernel) -> None:
    torch = pytest.importorskip("torch")
    values = kernel(torch.asarray(X))
    assert isinstance(values, torch.Tensor)
    np.testing.assert_allclose(values.numpy(), kernel(X), rtol=1e-12)


def test_a_constant_reads_points_of_any_kind() -> None:
    np.testing.assert_array_equal(Constant(2.0)(["a", {1}], [None]), [[2.0], [2.0]])
    np.testing.assert_array_equal(Constant(2.0).diag(["a", {1}]), [2.0, 2.0])
    assert Constant().constant == 1.0
    with pytest.raises(InvalidInput):
        Constant(2.0)(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("coefficients", [[], "12", None, [np.nan], [1.0, np.inf], [True], [[1.0]]])
def test_coefficients_are_a_sequence_of_numbers(coefficients: Any) -> None:
    with pytest.raises(InvalidParameter, match="coefficients"):
        PolynomialOf(k, coefficients)
