from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.linalg import hilbert

from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.kernels import FeatureMap
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Verdict, factor, form, positive_definite
from mercer.kernels.given import FromFunction, Precomputed
from mercer.kernels.laplacian_matern import Laplacian, Matern, NegativeDistance
from mercer.kernels.limits import Limits
from mercer.kernels.probing import subsets_of
from mercer.kernels.radial import Gaussian
from mercer.kernels.spectral import Characteristic
from mercer.kernels.tensor import tensor_product
from mercer.kernels.vectors import Linear, Polynomial, Sigmoid
from mercer.points import Paired
from tests.references import FOLDER
from tests.test_check import FRAME, ROWS, Labelled

REFERENCE = FOLDER


def reference(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((REFERENCE / name).read_text())
    return content


@pytest.fixture
def small_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decompose 60 points where 1000 would be, so that a test of the probing takes no time."""
    monkeypatch.setattr(Limits, "direct_points", 60)
    monkeypatch.setattr(Limits, "fewest_probed", 20)


def real_matrices(rows: int | None = None) -> st.SearchStrategy[Array]:
    side = st.integers(1, 6) if rows is None else st.just(rows)
    return side.flatmap(
        lambda n: hnp.arrays(np.float64, (n, n), elements=st.integers(-8, 8).map(lambda i: i / 4))
    )


def recomputed(verdict: Verdict, K: Array) -> float:
    assert verdict.witness is not None
    c = np.zeros(len(K), dtype=complex)
    c[list(verdict.witness.indices)] = verdict.witness.coefficients
    value = c.conj() @ K @ c
    assert abs(value.imag) < 1e-9 * np.max(np.abs(K))
    return float(value.real)


def assert_consistent(verdict: Verdict) -> None:
    assert bool(verdict) is verdict.holds
    assert str(verdict) == verdict.reason
    if verdict.margin is not None and verdict.smallest is not None:
        assert verdict.margin == verdict.smallest + verdict.tolerance
        assert (verdict.margin >= 0) is verdict.holds
    if verdict.holds:
        assert verdict.witness is None


def test_the_uniform_density_is_not_a_kernel() -> None:
    example = reference("kroese_ex6_8.json")
    A = np.array(example["A"])
    verdict = positive_definite(A)
    assert_consistent(verdict)
    assert not verdict
    assert verdict.smallest == pytest.approx(example["eigenvalues"][0], abs=1e-12)
    assert verdict.smallest == pytest.approx(-0.2071, abs=5e-5)
    np.testing.assert_allclose(np.linalg.eigvalsh(A), [-0.2071, 0.5, 1.2071], atol=5e-5)
    assert recomputed(verdict, A) == pytest.approx(-0.20710678118654752)
    assert "not positive definite: c*Kc = -0.207107" in verdict.reason


def test_the_uniform_density_is_found_out_from_its_function_and_points() -> None:
    points = np.array(reference("kroese_ex6_8.json")["points"])
    k = FromFunction(lambda x, y: 0.5 * float(abs(x - y) <= 1.0))
    verdict = positive_definite(k, points)
    assert not verdict
    assert verdict.witness is not None
    assert verdict.witness.points == (0.0, 0.75, 1.5)
    assert recomputed(verdict, k(points)) == pytest.approx(verdict.witness.value)
    assert verdict.witness.value < -0.2


@pytest.mark.usefixtures("small_probes")
def test_a_witness_is_found_among_too_many_points_to_decompose() -> None:
    x = np.random.default_rng(0).uniform(0.0, 10.0, size=(300, 1))
    k = Characteristic(lambda t: 1.0 * (np.abs(t) <= 1.0))
    verdict = positive_definite(k, x, subsets=3, random_state=0)
    assert not verdict
    assert verdict.witness is not None
    chosen = list(verdict.witness.indices)
    assert 20 <= len(chosen) <= 60
    assert "on 1 random subset of 20 to 60 of the 300 points" in verdict.reason
    value = form(k(x[chosen]), verdict.witness.coefficients)
    assert value == pytest.approx(verdict.witness.value)
    assert verdict.witness.value < 0
    np.testing.assert_array_equal(np.array(verdict.witness.points), x[chosen])


def test_all_points_are_looked_at_up_to_a_thousand_and_subsets_of_more() -> None:
    generator = np.random.default_rng(0)
    assert [len(chosen) for chosen in subsets_of(1000, 20, generator)] == [1000]
    probes = list(subsets_of(1001, 20, generator))
    assert len(probes) == 20
    assert all(200 <= len(chosen) <= 1000 for chosen in probes)
    assert all(len(set(chosen.tolist())) == len(chosen) for chosen in probes)
    assert len({len(chosen) for chosen in probes}) > 10


@pytest.mark.usefixtures("small_probes")
def test_probed_subsets_are_no_proof_unless_the_rules_are_one() -> None:
    x = np.random.default_rng(1).normal(size=(100, 2))
    unproved = positive_definite(Characteristic(lambda t: np.exp(-t * t)), x, subsets=2)
    assert unproved
    assert "on 2 random subsets" in unproved.reason
    assert unproved.reason.endswith("a test, no proof")
    assert unproved.proof == ""
    proved = positive_definite(Gaussian(), x, subsets=2, random_state=np.random.default_rng(0))
    assert "by rule: Gaussian" in proved.reason
    assert proved.proof == Gaussian().proof
    again = positive_definite(Gaussian(), x, subsets=2, random_state=proved.seed)
    assert again.smallest == proved.smallest


def test_hilbert_twelve_is_positive_up_to_rounding() -> None:
    values = reference("hilbert12_psd.json")["eigenvalues"]
    verdict = positive_definite(hilbert(12))
    assert_consistent(verdict)
    assert verdict
    assert "up to rounding" in verdict.reason
    assert verdict.smallest == pytest.approx(values[-1], abs=verdict.tolerance)
    np.testing.assert_allclose(verdict.tolerance, 10 * 12 * 2.0**-53 * values[0], rtol=1e-12)


def test_a_matrix_in_single_precision_has_the_tolerance_of_single_precision() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3))
    K = rows @ rows.T
    single = positive_definite(K.astype(np.float32))
    assert single
    assert single.tolerance == pytest.approx(10 * 30 * 2.0**-24 * np.linalg.norm(K, 2), rel=1e-6)
    assert not positive_definite(K.astype(np.float32).astype(np.float64))


@pytest.mark.parametrize("offset", [-1e-12, 0.0])
def test_asymmetry_by_rounding_is_forgiven(offset: float) -> None:
    assert positive_definite([[2.0, 1.0], [1.0 + offset, 2.0]])


MILD = np.diag([1.0, 1.0, -1e-12])
STRONG = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
RANK_ONE = -np.ones((4, 4))
HERMITIAN = np.array([[2.0, 1.0 - 1.0j], [1.0 + 1.0j, 2.0]])


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (MILD, "not positive definite: c*Kc = -1e-12"),
        (STRONG, "not positive definite: c*Kc = -0.8 "),
        (RANK_ONE, "the diagonal entry of point 0 is negative"),
        ([[1.0, 0.0], [0.0, -3.0]], "the diagonal entry of point 1 is negative"),
        ([[1.0, 5.0], [4.0, 1.0]], "not symmetric: entry (0, 1) is 5 and entry (1, 0) is 4"),
        ([[0.0, 1.0], [1.0, 0.0]], "points 0 and 1 break"),
        ([[1.0, 1.0j], [1.0j, 1.0]], "not Hermitian: entry (0, 1)"),
        ([[1.0, 0.0], [0.0, 1.0 + 1.0j]], "not Hermitian: entry (1, 1)"),
        (HERMITIAN - 2.0 * np.eye(2), "points 0 and 1 break"),
        (1e-300 * STRONG, "not positive definite"),
        (1e300 * STRONG, "not positive definite"),
    ],
)
def test_matrices_that_are_not_positive_definite(matrix: Any, expected: str) -> None:
    verdict = positive_definite(matrix)
    assert_consistent(verdict)
    assert not verdict
    assert expected in verdict.reason
    if verdict.witness is not None:
        K = np.asarray(matrix)
        assert recomputed(verdict, K) == pytest.approx(verdict.witness.value)
        assert verdict.witness.value < 0
        assert np.linalg.norm(verdict.witness.coefficients) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (np.zeros((3, 3)), "up to rounding"),
        (np.zeros((0, 0)), "empty"),
        ([[4.0]], "exceeds"),
        ([[0]], "up to rounding"),
        (np.ones((5, 5), dtype=np.int8), "up to rounding"),
        (HERMITIAN, "exceeds"),
        (1e300 * HERMITIAN, "exceeds"),
        (5e-324 * np.ones((2, 2)), "up to rounding"),
    ],
)
def test_matrices_that_are_positive_definite(matrix: Any, expected: str) -> None:
    verdict = positive_definite(matrix)
    assert_consistent(verdict)
    assert verdict
    assert expected in verdict.reason


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (np.ones((2, 3)), "square matrix, found shape (2, 3)"),
        (np.ones(4), "square matrix, found shape (4,)"),
        ([[1.0, np.nan], [np.nan, 1.0]], "row 0, column 1 holds NaN"),
        ([[1.0, 0.0], [0.0, np.inf]], "row 1, column 1 holds inf"),
        ([["a", "b"], ["b", "a"]], "'a' is not a number"),
        (lambda x, y: 1.0, "FromFunction"),
        (np.broadcast_to(1.0, (32_767, 32_767)), "32767 rows, too many to decompose"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: Any, expected: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        positive_definite(matrix)
    assert expected in str(refusal.value)


def test_a_matrix_takes_its_points_for_the_witness() -> None:
    verdict = positive_definite([[0.0, 1.0], [1.0, 0.0]], x=["gene", "protein"])
    assert verdict.witness is not None
    assert verdict.witness.points == ("gene", "protein")
    with pytest.raises(InvalidInput, match="2 rows but there are 3 points"):
        positive_definite(np.eye(2), x=[1, 2, 3])


@given(real_matrices(), real_matrices())
def test_gram_matrices_are_positive_and_their_witnesses_true(a: Array, b: Array) -> None:
    assert positive_definite(a @ a.T)
    verdict = positive_definite(b + b.T)
    assert_consistent(verdict)
    smallest = np.linalg.eigvalsh(b + b.T)[0]
    assert verdict.holds == (smallest >= -1e-12)
    if not verdict:
        assert recomputed(verdict, b + b.T) < 0


@given(real_matrices(4), real_matrices(4))
def test_complex_gram_matrices_are_positive_with_real_eigenvalues(a: Array, b: Array) -> None:
    z = a + 1j * b
    verdict = positive_definite(z @ z.conj().T)
    assert verdict
    assert isinstance(verdict.smallest, float)


@given(real_matrices(4), real_matrices(4))
def test_schur_products_stay_positive(a: Array, b: Array) -> None:
    assert positive_definite((a @ a.T) * (b @ b.T))


def test_matrix_products_need_not_stay_positive() -> None:
    A, B = np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones((2, 2))
    assert positive_definite(A)
    assert positive_definite(B)
    assert not positive_definite(A @ B)
    assert not positive_definite(A @ B + B @ A)
    assert positive_definite(A * B)


@given(hnp.arrays(np.float64, (5, 2), elements=st.integers(-8, 8).map(lambda i: i / 8)))
def test_a_pointwise_limit_of_kernels_is_a_kernel(x: Array) -> None:
    limit = Linear().exp()
    gaps = [
        float(np.max(np.abs(Polynomial(m, 1.0, 1.0 / m)(x) - limit(x)))) for m in (10, 100, 1000)
    ]
    assert gaps[2] <= gaps[1] <= gaps[0] < 5.0
    assert gaps[2] < 0.02
    assert all(positive_definite(Polynomial(m, 1.0, 1.0 / m), x) for m in (10, 100, 1000))
    assert positive_definite(limit(x))
    assert positive_definite(Matern(np.inf), x)


@given(real_matrices(3), st.lists(st.integers(-4, 4), min_size=9, max_size=9))
def test_the_form_of_a_matrix_is_symmetric_and_bilinear(a: Array, numbers: list[int]) -> None:
    K = a + a.T
    u, v, w = np.array(numbers, dtype=float).reshape(3, 3)
    assert form(K, v, w) == pytest.approx(form(K, w, v), abs=1e-9)
    assert form(K, 2 * u + v, w) == pytest.approx(2 * form(K, u, w) + form(K, v, w), abs=1e-9)


def test_the_form_of_an_indefinite_matrix_takes_both_signs() -> None:
    K = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert form(K, [1.0, 1.0]) == 2.0
    assert form(K, [1.0, -1.0]) == -2.0
    assert form(HERMITIAN, [1.0, 1.0j]).imag == 0.0


@given(real_matrices(5), real_matrices(5))
def test_a_factor_reproduces_the_gram_matrix(a: Array, b: Array) -> None:
    for rows in (a[:, :2], a[:, :2] + 1j * b[:, :2]):
        G = rows @ rows.conj().T
        B = factor(G)
        assert B.shape == (np.linalg.matrix_rank(G, hermitian=True, tol=1e-9), 5)
        np.testing.assert_allclose(B.conj().T @ B, G, atol=1e-12 * max(1.0, np.max(np.abs(G))))


def test_what_is_not_positive_has_no_factor() -> None:
    with pytest.raises(NotPositiveDefinite, match="there is no factor"):
        factor([[0.0, 1.0], [1.0, 0.0]])
    assert factor(np.zeros((0, 0))).shape == (0, 0)


def test_rules_decide_about_expressions_without_points() -> None:
    verdict = positive_definite(2.0 * Gaussian() + Linear() ** 2)
    assert verdict
    assert verdict.smallest is None
    assert verdict.margin is None
    assert verdict.proof in verdict.reason
    assert "Gaussian: the Gaussian is positive definite" in verdict.proof


def test_conditionally_positive_definite_kernels_say_where_they_are_valid() -> None:
    k = NegativeDistance(exponent=1.5)
    x = np.random.default_rng(0).normal(size=(12, 2))
    for verdict in (positive_definite(k), positive_definite(k, x)):
        assert not verdict
        assert "conditionally positive definite" in verdict.reason
        assert "k.centred(x)" in verdict.reason
        assert verdict.proof == k.proof


def test_centred_kernels_and_exponentials_of_conditional_ones_are_kernels() -> None:
    rng = np.random.default_rng(0)
    x, sample = rng.normal(size=(12, 2)), rng.normal(size=(4, 2))
    signed = [2.0, -1.5, 1.0, -0.5]
    for inner in (Linear(), Gaussian(), NegativeDistance(1.0), NegativeDistance(1.5)):
        for k in (inner.centred(sample), inner.centred(sample, signed), inner.exp()):
            assert positive_definite(k), k
            assert positive_definite(k, x), k


@pytest.mark.parametrize("k", [Sigmoid(), FromFunction(lambda x, y: 1.0), Precomputed(np.eye(2))])
def test_what_has_no_proof_asks_for_points(k: Kernel) -> None:
    with pytest.raises(InvalidInput, match=r"positive_definite\(k, x\)"):
        positive_definite(k)


def test_similarities_are_judged_on_points() -> None:
    x = np.random.default_rng(0).normal(size=(20, 3))
    verdict = positive_definite(Sigmoid(), x)
    assert not verdict
    assert recomputed(verdict, Sigmoid()(x)) < 0


def test_the_tolerance_of_a_kernel_counts_its_evaluation() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    K = Polynomial(2)(x)
    expected = 10 * 40 * 2.0**-53 * (np.linalg.norm(K, 2) + np.max(np.diag(K)))
    assert positive_definite(Polynomial(2), x).tolerance == pytest.approx(expected)
    expected = 10 * 40 * 2.0**-24 * (np.linalg.norm(K, 2) + np.max(np.diag(K)))
    single = positive_definite(Polynomial(2), x.astype(np.float32))
    assert single
    assert single.tolerance == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "k",
    [
        *(Gaussian(0.01), Gaussian(1e5), Gaussian("median"), Laplacian(2.0), Matern(7.3, 100.0)),
        *(Polynomial(5), Linear().normalised(), Linear().gaussian(3.0)),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 60])
def test_degenerate_data_do_not_make_kernels_indefinite(k: Kernel, n: int) -> None:
    rng = np.random.default_rng(n)
    on_a_line = rng.normal(size=(n, 1)) * rng.normal(size=6)
    assert n < 3 or positive_definite(k, on_a_line)
    if not (k == Gaussian("median") and n == 1):
        assert positive_definite(k, 1e3 + np.repeat(rng.normal(size=(n, 6)), 2, axis=0) / 8)


def test_a_test_that_contradicts_the_rules_says_so() -> None:
    # Points whose norms dwarf their distances: K(x, x) + K(y, y) - 2K(x, y) has no digits left.
    cluster = np.random.default_rng(0).normal(size=(25, 1)) * np.ones(10)
    x = np.vstack([cluster, 1e6 + cluster])
    cancelling = Polynomial(degree=1, offset=0.0).gaussian(1.0)
    verdict = positive_definite(cancelling, x)
    assert not verdict
    assert "the rules say otherwise" in verdict.reason
    assert verdict.proof
    assert recomputed(verdict, cancelling(x)) < 0
    assert positive_definite(Linear().gaussian(1.0), x)
    assert positive_definite(Gaussian(1.0), x)


@pytest.mark.usefixtures("small_probes")
def test_points_of_any_kind_are_probed() -> None:
    words = ["gene", "protein", "genome"]
    k = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    assert positive_definite(k, words)
    pairs = Paired(np.arange(150.0), np.arange(150.0) % 7)
    assert positive_definite(tensor_product(Gaussian(50.0), Linear()), pairs, subsets=2)


def test_a_function_that_raises_is_refused_with_its_pair() -> None:
    def fails(x: float, y: float) -> float:
        if x == 3.0 and y == 5.0:
            raise ZeroDivisionError("the fifth is missing")
        return 1.0

    with pytest.raises(InvalidInput, match="points 3 and 5 .*ZeroDivisionError: the fifth"):
        positive_definite(FromFunction(fails), np.arange(10.0))

    def sometimes(x: float, y: float, calls: list[int] = []) -> float:  # noqa: B006
        calls.append(1)
        if len(calls) == 7:
            raise OSError("the disk is away")
        return 1.0

    with pytest.raises(InvalidInput, match="OSError: the disk is away"):
        positive_definite(FromFunction(sometimes), np.arange(3.0))


def test_a_failing_pair_has_its_number_in_the_data() -> None:
    x = np.arange(1500.0)[:, None]

    def late(x: Any) -> Any:
        if len(x) > 60 or np.max(x) > 60:
            raise KeyError("late")
        return x / 1500.0

    k = FeatureMap(late)
    with pytest.raises(InvalidInput, match=r"KeyError for points \d+ and \d+") as refusal:
        positive_definite(k, x)
    numbers = [int(w) for w in str(refusal.value).replace(":", " ").split() if w.isdigit()]
    assert max(numbers) > 60


def test_chance_in_a_kernel_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match=r"not deterministic: the value for points \d and \d"):
        positive_definite(FromFunction(lambda x, y: float(rng.uniform())), np.arange(5.0))


@pytest.mark.parametrize("result", [float("nan"), "one", None, [1.0, 2.0]])
def test_functions_that_give_no_numbers_are_refused(result: Any) -> None:
    with pytest.raises(InvalidInput):
        positive_definite(FromFunction(lambda x, y: result), np.arange(3.0))


def test_an_asymmetric_function_is_not_a_kernel() -> None:
    verdict = positive_definite(FromFunction(lambda x, y: float(x - y + 10.0)), [0.0, 1.0, 3.0])
    assert not verdict
    assert "not symmetric: entry (0, 2) is 7 and entry (2, 0) is 13" in verdict.reason
    assert verdict.margin is None


def test_parameters_of_the_probe_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="subsets"):
        positive_definite(Gaussian(), np.zeros((3, 1)), subsets=0)
    with pytest.raises(InvalidInput, match="sequence of points"):
        positive_definite(Gaussian(), 3.0)  # type: ignore[arg-type]


def test_data_frames_are_judged_by_their_rows(small_probes: None) -> None:
    assert positive_definite(Gaussian(), FRAME) == positive_definite(Gaussian(), ROWS)
    assert positive_definite(Gaussian().on(lambda d: d["a"]), FRAME)
    verdict = positive_definite(NegativeDistance(), FRAME)
    assert verdict.witness is not None
    assert verdict.witness.points == tuple(tuple(ROWS[i]) for i in verdict.witness.indices)
    many = Labelled(a=np.linspace(0.0, 1.0, 70).tolist())
    assert positive_definite(Gaussian(), many, subsets=2)


def test_pandas_frames_are_judged_whatever_their_index(small_probes: None) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.linspace(0.0, 1.0, 70)}, index=np.arange(70)[::-1] * 3)
    assert positive_definite(Gaussian(), frame, subsets=2)
    assert positive_definite(Gaussian().on(lambda d: d["a"]), frame, subsets=2)


def test_the_smallest_eigenvalue_is_that_of_the_whole_matrix(small_probes: None) -> None:
    K = np.full((4, 4), 2.0)
    np.fill_diagonal(K, [1.0, 1.0, 1.0, -1.0])
    for matrix in (K, K[:3, :3]):
        verdict = positive_definite(matrix)
        assert verdict.witness is not None
        assert len(verdict.witness.indices) < len(matrix)
        assert verdict.smallest == pytest.approx(np.linalg.eigvalsh(matrix)[0])
        assert verdict.margin is not None
        assert verdict.margin < 0
    many = np.full((61, 61), 2.0)
    np.fill_diagonal(many, 1.0)
    assert positive_definite(many).smallest == pytest.approx(-1.0)


@pytest.mark.parametrize("k", [NegativeDistance(), 2.0 * (3.0 * NegativeDistance(2.0))])
def test_negative_distances_are_refused_by_two_points(k: Kernel) -> None:
    verdict = positive_definite(k)
    assert not verdict
    assert "k(x, x) = 0 > k(x, y)" in verdict.reason
    assert "k.centred(x)" in verdict.reason


@pytest.mark.parametrize(
    "k",
    [NegativeDistance(2.0) + Polynomial(degree=2, offset=1.0), 0.0 * NegativeDistance()],
)
def test_conditional_kernels_that_may_be_positive_definite_need_points(k: Kernel) -> None:
    with pytest.raises(
        InvalidInput, match=r"positive_definite\(k, x\); .*conditionally"
    ) as refusal:
        positive_definite(k)
    assert "no proof by rule" in str(refusal.value)
    # -(x - y)² + (1 + xy)² = (1 - x²)(1 - y²) + 4xy is positive definite on the line.
    assert positive_definite(k, np.linspace(-2.0, 3.0, 7))


def test_matrices_and_vectors_that_are_none_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="row 1 of the matrix has 2 coordinates"):
        positive_definite([[1.0], [1.0, 2.0]])
    masked = np.ma.masked_equal(np.eye(2), 0.0)
    with pytest.raises(InvalidInput, match="the matrix has masked entries"):
        positive_definite(masked)
    with pytest.raises(InvalidInput, match=r"found shapes \(2, 2\), \(3,\) and \(3,\)"):
        form(np.eye(2), [1, 2, 3])
    with pytest.raises(InvalidInput, match="'a' is not a number"):
        form(np.eye(2), ["a", "b"])


def test_a_text_is_judged_as_the_kernel_it_describes() -> None:
    assert positive_definite("linear()") == positive_definite(Linear())
    assert positive_definite("gaussian(bandwidth=2)", [0.0, 1.0])
    with pytest.raises(InvalidInput, match="expected a kernel"):
        positive_definite("gaussain()")
