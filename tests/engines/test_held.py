"""Matrices on a device, which answer numpy's functions there; the device is the processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mercer.engines.cpu import Threads
from mercer.engines.engine import combinations, inner_products, outside
from mercer.engines.held import Held, inverse_of_root, to_host
from mercer.kernels import Gaussian
from mercer.lowrank import inverse_root
from mercer.operators import column_sums
from mercer.woodbury import LowRankInverse

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
A, B, SMALL = RNG.standard_normal((50, 3)), RNG.standard_normal((50, 4)), np.ones((3, 2))
WEIGHTS = RNG.dirichlet(np.ones(50))
STAYS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + 2.0 * a,
    "quotient": lambda a, b: a / np.array([1.0, 2.0, 3.0]),
    "rows": lambda a, b: a[5:9] - 1.0,
    "mask": lambda a, b: a[:, np.array([True, False, True])],
    "numbers": lambda a, b: a[:, np.array([2, 0])],
    "weights": lambda a, b: WEIGHTS[:, None] * a,
    "small": lambda a, b: a @ SMALL,
    "stack": lambda a, b: np.hstack([a, b]),
    "columns": lambda a, b: np.column_stack([a, WEIGHTS]),
    "einsum": lambda a, b: np.einsum("ij,ij->i", a.conj(), a),
    "squares": lambda a, b: np.abs(a) ** 2 @ np.array([1.0, 2.0, 3.0]),
    "zeros": lambda a, b: np.zeros_like(a),
    "combinations": lambda a, b: combinations(a, SMALL, Threads(1)),
    "outside": lambda a, b: outside(a / 9.0, b, Threads(1)),
    "column sums": lambda a, b: column_sums(a).reshape(1, -1) if a is A else column_sums(a),
}
COMES: dict[str, Callable[[Any, Any], Any]] = {
    "norms": lambda a, b: np.linalg.norm(a, axis=0),
    "norm": lambda a, b: np.linalg.norm(a),
    "total": lambda a, b: np.sum(a * a),
    "sums": lambda a, b: np.sum(a.conj() * a, axis=0),
    "products": lambda a, b: a.conj().T @ b,
    "means": lambda a, b: WEIGHTS @ a,
    "finite": lambda a, b: np.all(np.isfinite(a)),
    "inner products": lambda a, b: inner_products(a, b, Threads(1)),
    "type": lambda a, b: np.result_type(np.float32, a),
}


def held(a: Any) -> Any:
    return Held(torch.as_tensor(a.copy()))


@pytest.mark.parametrize("name", STAYS)
def test_what_is_tall_stays(name: str) -> None:
    found = STAYS[name](held(A), held(B))
    assert isinstance(found, Held)
    np.testing.assert_allclose(to_host(found), STAYS[name](A, B), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", COMES)
def test_what_is_small_comes_to_the_host(name: str) -> None:
    found = COMES[name](held(A), held(B))
    assert not isinstance(found, Held)
    expected = COMES[name](A, B)
    if name == "type":
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_operations_in_place_change_the_matrix() -> None:
    a, b = held(A), A.copy()
    for one in (a, b):
        one -= np.array([1.0, 2.0, 3.0])
        one *= WEIGHTS[:, None]
        one[:, :2] += 1.0
        one[:, np.array([False, False, True])] = one[:, :1]
    np.testing.assert_allclose(to_host(a), b, rtol=1e-14)
    out = np.zeros_like(a)
    assert np.subtract(a, a, out=out) is out


def test_nothing_else_copies_to_the_host() -> None:
    with pytest.raises(TypeError, match="copied by to_host, and by nothing else"):
        np.asarray(held(A))
    with pytest.raises(TypeError, match="no implementation found"):
        np.median(held(A))
    with pytest.raises(TypeError):
        np.sin(held(A))


def test_a_low_rank_matrix_is_the_same_on_a_device() -> None:
    factor = A.astype(np.float32)
    one, other = LowRankInverse(factor, Threads(1)), LowRankInverse(held(factor), Threads(1))
    np.testing.assert_allclose(other.values, one.values, rtol=1e-12)
    np.testing.assert_allclose(to_host(other.product(held(B))), one.product(B), rtol=1e-12)
    turn = np.sign(np.sum(to_host(other.start(2)) * one.start(2), axis=0))
    np.testing.assert_allclose(to_host(other.start(2)) * turn, one.start(2), atol=1e-6)
    Q, _ = np.linalg.qr(B)
    assert other.outside(held(Q)) == pytest.approx(one.outside(Q), rel=1e-12)
    theta = np.array([3.0, 2.0, 1.5, 1.2])
    found = to_host(other.correct(held(Q), held(B), theta))
    np.testing.assert_allclose(found, one.correct(Q, B, theta), rtol=1e-4, atol=1e-4)
    random = other.random_vectors(3, [1, 2])
    np.testing.assert_array_equal(to_host(random), to_host(other.random_vectors(3, [1, 2])))
    assert abs(float(to_host(random).std()) - 1.0) < 0.3


def test_the_inverse_of_a_root_is_the_hosts() -> None:
    """Landmarks' matrices are inverted on the device, with the same bound for what rounding did."""
    landmarks = RNG.standard_normal((300, 3))
    K = Gaussian(1.0)(landmarks)
    root, excess = inverse_root(Gaussian(1.0), landmarks, single=True)
    shift = float(np.finfo(np.float32).eps) * float(np.trace(K))
    found = inverse_of_root(torch.as_tensor(K), shift)
    assert found is not None
    inverse, gap = found
    np.testing.assert_allclose(inverse.T, root, rtol=1e-7, atol=1e-7 * np.abs(root).max())
    assert 0.1 * excess < gap * (2.0 + gap) < 10.0 * excess
    true = np.linalg.norm(inverse @ np.linalg.cholesky(K + shift * np.eye(300)) - np.eye(300), 2)
    assert true <= 2.0 * gap
    assert inverse_of_root(torch.as_tensor(-K), 0.0) is None


def test_tall_matrices_are_made_double_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    F, V = held(A.astype(np.float32)), held(B)
    whole = F.adjoint_times(V, is_double=True), to_host(F.row_squares())
    monkeypatch.setattr("mercer.engines.held.NUMBERS", 20)
    assert len(F._parts()) == 9
    np.testing.assert_allclose(F.adjoint_times(V, is_double=True), whole[0], rtol=1e-13)
    np.testing.assert_allclose(to_host(F.row_squares()), whole[1], rtol=1e-13)
