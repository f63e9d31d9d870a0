from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.kernels.counts import factors, is_worthwhile, remember_counts

RNG = np.random.default_rng(0)
WORDS = ["abcab", "", "cab", "aabbcc", "bca", "c", "abab"]
NUMBERS = RNG.normal(size=7)
TABLE: dict[str, Any] = {"word": WORDS, "x": NUMBERS}
SPECTRUM = mc.kernels.StringSpectrum(2)


@pytest.mark.parametrize(
    ("k", "x"),
    [
        (SPECTRUM, WORDS),
        (mc.kernels.Intersection().normalised(), [set(word) for word in WORDS]),
        (SPECTRUM.normalised(), WORDS),
        ((2.0 * SPECTRUM + mc.kernels.StringBoundedRange(3)).normalised() + SPECTRUM, WORDS),
        (mc.kernels.tensor_sum(SPECTRUM, mc.Linear()), mc.data.Paired(WORDS, NUMBERS)),
        (
            mc.Columns({"word": SPECTRUM.normalised(), "x": mc.Linear()}, [2.0, 0.5]),
            mc.data.Rows(TABLE),
        ),
        (
            mc.Columns({"word": SPECTRUM, "x": mc.kernels.Standardised()}).normalised(),
            mc.data.Rows(TABLE),
        ),
        (
            mc.Columns(),
            mc.data.Rows(
                {**TABLE, "kind": list("abcabca"), "grade": np.arange(7) % 3 + 0.0},
                {"grade": "ordinal"},
            ),
        ),
        (mc.kernels.AlignedLaplacian(), [mc.Graph([(i % 3, 3)], n=4) for i in range(7)]),
    ],
    ids=lambda v: repr(v)[:60] if isinstance(v, mc.Kernel) else "",
)
def test_products_by_factors_are_products_with_the_matrix(k: mc.Kernel, x: Any) -> None:
    k = k.resolve(x)
    V = RNG.normal(size=(7, 3))
    found = factors(k, x, None)
    assert found is not None
    np.testing.assert_allclose(found.product(V), k(x) @ V, rtol=1e-13, atol=1e-13)
    left, right = remember_counts(x, x[2:5])
    across = factors(k, left, right)
    assert across is not None
    np.testing.assert_allclose(across.product(V[:3]), k(x, x[2:5]) @ V[:3], rtol=1e-13, atol=1e-13)
    assert 0 < found.width <= found.size


@pytest.mark.parametrize(
    "k",
    [
        SPECTRUM**2,
        SPECTRUM.gaussian(1.0),
        mc.kernels.AllSubsets(),
        mc.kernels.Agreement(set("abc")).normalised(),
        mc.Gaussian(1.0),
        mc.Columns({"word": SPECTRUM, "x": mc.Gaussian(1.0)}),
        mc.Columns({"word": SPECTRUM}, product=True),
        mc.Columns(),
    ],
    ids=repr,
)
def test_other_kernels_have_no_factors(k: mc.Kernel) -> None:
    assert factors(k, WORDS, None) is None


def test_factors_are_worthwhile_where_they_are_small() -> None:
    found = factors(SPECTRUM, WORDS, None)
    assert found is not None
    assert is_worthwhile(found, (1000, 1000))
    assert not is_worthwhile(found, (2, 2))


def drawn(count: int) -> list[str]:
    return ["".join(RNG.choice(list("abcd"), 6)) for _ in range(count)]


@pytest.mark.parametrize("k", [SPECTRUM, SPECTRUM.normalised(), 2.0 * SPECTRUM + 1.0], ids=repr)
def test_gram_matrices_multiply_by_factors_where_these_are_small(k: mc.Kernel) -> None:
    x, new = drawn(300), drawn(200)
    V = RNG.normal(size=(300, 3))
    gram = mc.Gram(k, x, tile=64)
    has_factors = "Constant" not in repr(k)
    assert (gram.cut().factors is not None) == has_factors
    assert (gram.against(new).cut().factors is not None) == has_factors
    np.testing.assert_allclose(gram @ V, k(x) @ V, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(mc.Gram(k, new, x) @ V, k(new, x) @ V, rtol=1e-12, atol=1e-10)
    assert np.array_equal(gram.rows([5, 2]), k([x[5], x[2]], x))


def test_axes_found_by_factors_are_those_of_the_whole_matrix() -> None:
    x = drawn(400)
    for k in (SPECTRUM.normalised(), mc.kernels.StringSpectrum(3)):
        exact = mc.leading(mc.Gram(k, x).centred(), 3, method="exact", random_state=0)
        dense = mc.leading(mc.Gram(k, x).centred(), 3, method="dense", random_state=0)
        gaps = np.abs(exact.values - dense.values)
        assert np.all(gaps <= exact.errors + dense.errors)


def test_the_bound_for_rounding_covers_products_by_factors() -> None:
    """Counts are whole numbers, so that products with whole vectors are exact to compare with."""
    x = drawn(500)
    gram = mc.Gram(SPECTRUM.normalised(), x)
    V = RNG.normal(size=(500, 4))
    V /= np.linalg.norm(V, axis=0)
    precise = gram.dense().astype(np.longdouble) @ V.astype(np.longdouble)
    error = np.linalg.norm((gram @ V - precise).astype(np.float64), axis=0)
    assert np.all(error <= gram.rounding())


def test_complex_numbers_beside_counts_have_no_factors() -> None:
    rng = np.random.default_rng(3)
    table: dict[str, Any] = {"z": rng.normal(size=40) + 1j * rng.normal(size=40), "s": ["ab"] * 40}
    k = mc.Columns({"z": mc.Linear(), "s": mc.kernels.StringSpectrum(1)})
    assert factors(k, mc.data.Rows(table), None) is None
    v = rng.normal(size=(40, 2))
    np.testing.assert_allclose(mc.Gram(k, table) @ v, k(table) @ v, rtol=1e-12)
