"""Gram matrices and kernels that are none, or almost, 28 cases: what is wrong is named."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.check import Array
from mercer.errors import DegenerateAxes, NoInertia
from tests.references import near, reference

RNG = np.random.default_rng(29)
X = RNG.standard_normal((30, 3))
G = mc.Gaussian(1.0)(X)
LINE = X[:, 0] - X[:, 0].mean()


def fitted(K: Any, n_components: int | None = 2, **settings: Any) -> mc.KernelPCA:
    return mc.KernelPCA(n_components, kernel="precomputed", **settings).fit(K)


def changed(i: int, j: int, by: complex, K: Array = G) -> Array:
    """Return a matrix with one entry moved."""
    moved = K + np.zeros_like(K, dtype=np.result_type(K, type(by)))
    moved[i, j] += by
    return np.asarray(moved)


def hermitian() -> Array:
    z = np.random.default_rng(1).standard_normal((30, 4, 2)) @ [1.0, 1.0j]
    return np.asarray(z @ z.conj().T)


MATRICES: dict[str, tuple[Array, type[mc.errors.MercerError], str]] = {
    "one entry changed": (changed(2, 7, 5.0), mc.errors.InvalidInput, r"\(2, 7\) is .*\(7, 2\) is"),
    "no symmetry at all": (
        RNG.standard_normal((30, 30)),
        mc.errors.InvalidInput,
        r"entry \(\d+, \d+\)",
    ),
    "asymmetry above 1e-8": (changed(2, 7, 2e-8), mc.errors.InvalidInput, r"\(2, 7\)|\(7, 2\)"),
    "complex, not Hermitian": (changed(1, 2, 0.1j), mc.errors.InvalidInput, r"\(1, 2\)|\(2, 1\)"),
    "a NaN": (changed(3, 4, np.nan), mc.errors.InvalidInput, r"row 3, column 4 .*NaN"),
    "an infinity": (changed(3, 4, np.inf), mc.errors.InvalidInput, r"row 3, column 4 .*inf"),
    "a negative diagonal": (changed(5, 5, -2.0), mc.errors.NotPositiveDefinite, r"\(5, 5\).*-1"),
    "not square": (G[:, :-1], mc.errors.InvalidInput, r"square.*\(30, 29\)"),
    "strongly indefinite": (
        X @ X.T - 3 * np.eye(30) + 20,
        mc.errors.NotPositiveDefinite,
        r"\d % of",
    ),
    "mildly indefinite": (
        X @ X.T - 1e-6 * np.eye(30) + 20,
        mc.errors.NotPositiveDefinite,
        r"% of its",
    ),
    "minus one axis": (20 - np.outer(LINE, LINE), mc.errors.NotPositiveDefinite, r"100 % of its"),
}


@pytest.mark.parametrize("case", MATRICES)
def test_the_matrix_is_refused_by_what_is_wrong_with_it(case: str) -> None:
    K, kind, message = MATRICES[case]
    before = K.copy()
    with pytest.raises(kind, match=message) as caught:
        fitted(K)
    assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(K, before)


def symmetrised(K: Array) -> Array:
    return np.asarray(K + K.conj().T) / 2


ROUNDED = {
    "asymmetry below 1e-8": changed(2, 7, 5e-9),
    "negative eigenvalues of rounding": X @ X.T + 20 - 1e-14 * np.eye(30),
}


@pytest.mark.parametrize("case", ROUNDED)
def test_what_rounding_does_to_a_matrix_is_accepted(case: str) -> None:
    K = ROUNDED[case]
    model = fitted(K)
    H = np.eye(30) - 1 / 30
    near(model.eigenvalues_, np.linalg.eigvalsh(H @ symmetrised(K) @ H)[::-1][:2], 1e-8)
    assert model.spectrum_.negative_mass is not None
    assert model.spectrum_.negative_mass <= 1e-12


@pytest.mark.parametrize(
    "K",
    [
        pytest.param(np.zeros((30, 30)), id="zero"),
        pytest.param(np.ones((30, 30)), id="ones"),
    ],
)
def test_individuals_in_one_place_have_no_axes(K: Array) -> None:
    for method in ("dense", "exact", "nystrom"):
        with pytest.warns(NoInertia, match="all 30 individuals coincide"):
            model = fitted(K, method=method, random_state=0)
        assert model.inertia_ == 0.0
        assert model.transform(K).shape == (30, 0)


def test_individuals_at_equal_distances_have_arbitrary_axes() -> None:
    with pytest.warns(DegenerateAxes, match="1 and 2"):
        model = fitted(np.eye(30))
    np.testing.assert_allclose(model.eigenvalues_, 1.0)
    assert model.explained_variance_ratio_.sum() == pytest.approx(2 / 29)


def test_hilberts_matrix_is_not_called_indefinite() -> None:
    content = reference("hilbert12_psd")
    H = 1.0 / (np.arange(12)[:, None] + np.arange(12) + 1.0)
    verdict = mc.positive_definite(H)
    assert verdict
    assert verdict.smallest == pytest.approx(0.0, abs=1e-15)  # as near to singular as doubles show
    assert fitted(H, None).spectrum_.psd == "verified"
    np.testing.assert_allclose(
        np.linalg.eigvalsh(H)[::-1][:8], content["eigenvalues"][:8], rtol=1e-6
    )
    assert not mc.positive_definite(H - 1e-6 * np.eye(12))


def test_a_uniform_density_is_found_not_to_be_a_kernel() -> None:
    content = reference("kroese_ex6_8")
    points = np.array(content["points"])[:, None]
    uniform = mc.FromFunction(lambda a, b: 0.5 * float(abs(a[0] - b[0]) <= 1.0))
    np.testing.assert_array_equal(uniform(points), content["A"])
    verdict = mc.positive_definite(uniform, points)
    assert not verdict
    assert verdict.smallest == pytest.approx(content["eigenvalues"][0], rel=1e-12)
    with pytest.raises(mc.errors.NotPositiveDefinite, match="% of its eigenvalues"):
        mc.KernelPCA(2, kernel=uniform).fit(np.linspace(0.0, 3.0, 13)[:, None])


def test_few_axes_that_show_more_than_there_is_are_refused() -> None:
    x = np.random.default_rng(4).standard_normal((1_200, 3))
    with pytest.raises(mc.errors.NotPositiveDefinite, match="the axes show"):
        fitted(x @ x.T - 3 * np.eye(1_200) + 200, random_state=0)


def test_a_spectrum_of_few_axes_says_that_nothing_was_verified() -> None:
    x = np.random.default_rng(4).standard_normal((1_200, 4))
    hidden = x[:, 3:] / np.linalg.norm(x[:, 3])
    K = x[:, :3] @ x[:, :3].T + np.eye(1_200) - 2.0 * hidden @ hidden.T
    spectrum = fitted(K, random_state=0).spectrum_
    assert "Davidson" in spectrum.how.method
    assert (spectrum.psd, spectrum.negative_mass, spectrum.rank) == ("not verified", None, None)


@pytest.mark.parametrize("method", ["dense", "exact"])
def test_a_hermitian_matrix_is_a_gram_matrix(method: str) -> None:
    K, H = hermitian(), np.eye(30) - 1 / 30
    model = fitted(K, method=method, random_state=0)
    near(model.eigenvalues_, np.linalg.eigvalsh(H @ K @ H)[::-1][:2], 1e-9)
    scores = np.asarray(model.individuals_.coordinates)
    near(model.transform(K), scores, 1e-8)
    largest = scores[np.argmax(np.abs(scores), axis=0), [0, 1]]
    assert np.all(largest.real > 0)
    np.testing.assert_allclose(largest.imag, 0.0, atol=1e-12)


def test_new_rows_are_those_of_the_fitted_matrix() -> None:
    model = fitted(G)
    with pytest.raises(mc.errors.InvalidInput, match="5 features.*expecting 30"):
        model.transform(G[:, :5])
    with pytest.raises(mc.errors.InvalidInput, match=r"row 3, column 4 .*NaN"):
        model.transform(changed(3, 4, np.nan))


def raising(a: Array, b: Array) -> float:
    raise ZeroDivisionError("a fault of the user's own")


def noisy() -> Callable[[Array, Array], float]:
    counter = itertools.count()
    return lambda a, b: float(a @ b) + 0.1 * (next(counter) % 7)


FUNCTIONS: list[Any] = [
    pytest.param(raising, r"row|point|pair", id="that raises"),
    pytest.param(lambda a, b: float("nan"), r"not a finite number.*nan", id="of NaN"),
    pytest.param(lambda a, b: 1e308 * 10.0, r"not a finite number.*inf", id="of infinity"),
    pytest.param(lambda a, b: None, r"returned None", id="of nothing"),
    pytest.param(lambda a, b: float(a[0] * b[1]), r"symmetric|\(\d+, \d+\)", id="not symmetric"),
    pytest.param(noisy(), r"symmetric|\(\d+, \d+\)|same", id="never the same"),
]


@pytest.mark.parametrize(("function", "message"), FUNCTIONS)
def test_the_function_is_refused_by_what_it_does(function: Any, message: str) -> None:
    with pytest.raises(mc.errors.MercerError, match=message) as caught:
        mc.KernelPCA(2, kernel=function).fit(X)
    assert "linear algebra library" not in str(caught.value)
