from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

import mercer as mc
from mercer.check import members
from mercer.kernels.counts import Counted, Counts, remember_counts
from mercer.kernels.limits import Limits
from mercer.kernels.pairs import Aligned, AllPairs

WORDS = ["abcab", "", "cab", "aabbcc", "bca", "c"]
CALLS: list[int] = []


@mc.kernels.value
class Lengths(Counted):
    """The product of lengths, which notes how many points it is asked to count."""

    theorem: ClassVar[str] = "a product of numbers"

    def counts(self, points: list[Any]) -> Counts:
        CALLS.append(len(points))
        return Counts.of(csr_array(np.array([[float(len(p))] for p in points]).reshape(-1, 1)))


def test_points_that_are_remembered_are_a_sequence_of_points() -> None:
    x, y = remember_counts(WORDS, ["a", "b"])
    assert list(members(x)) == WORDS
    assert list(members(y)) == ["a", "b"]
    assert (len(x[1:4]), x[1:4][0], x[-1]) == (3, "", "c")
    assert list(x[1:5][::2]) == ["", "aabbcc"]
    assert remember_counts(WORDS)[0] is not remember_counts(WORDS)[1]
    with pytest.raises(IndexError):
        x[6]


@pytest.mark.parametrize(
    "k",
    [
        mc.kernels.StringSpectrum(2),
        mc.kernels.StringBoundedRange(3).normalised(),
        mc.kernels.StringSpectrum(1).gaussian(2.0) + 0.5 * mc.kernels.StringSpectrum(2) ** 2,
    ],
    ids=repr,
)
def test_remembered_points_have_the_same_kernel(k: mc.Kernel) -> None:
    x, y = remember_counts(WORDS[:4], WORDS[4:])
    assert k(x, y).tolist() == k(WORDS[:4], WORDS[4:]).tolist()
    assert k(x).tolist() == k(WORDS[:4]).tolist()
    assert k.diag(x[1:3]).tolist() == k.diag(WORDS[1:3]).tolist()
    for chosen in (slice(None, None, -1), slice(3, 0, -2), slice(2, 2), slice(0, 4, 2)):
        assert k(x[chosen], x).tolist() == k(WORDS[:4][chosen], WORDS[:4]).tolist()
    gram = mc.Gram(k, remember_counts(WORDS)[0], tile=2)
    np.testing.assert_allclose(gram.dense(), k(WORDS), rtol=1e-15)
    # Of different memories, or of one memory and a list: counted together, as ever.
    assert k(x, remember_counts(WORDS)[0]).tolist() == k(WORDS[:4], WORDS).tolist()
    assert k(WORDS, x).tolist() == k(WORDS, WORDS[:4]).tolist()


def test_remembered_points_are_counted_once() -> None:
    CALLS.clear()
    x, y = remember_counts(WORDS, WORDS[:2])
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda i: Lengths()(x[i : i + 1], y), range(6)))
    assert CALLS == [8]
    assert np.vstack(parts).tolist() == Lengths()(WORDS, WORDS[:2]).tolist()
    assert CALLS == [8, 8]


def test_an_expression_counts_the_parts_of_points_once() -> None:
    CALLS.clear()
    k = Lengths()
    K = (k.normalised() + k.gaussian(2.0) + k)(WORDS)
    assert CALLS == [6]
    assert K.tolist() == (k.normalised()(WORDS) + k.gaussian(2.0)(WORDS) + k(WORDS)).tolist()


def test_what_may_be_remembered() -> None:
    k = mc.kernels.StringSpectrum(2)
    assert k.is_counted
    assert ((k + k.normalised()) * k.gaussian(1.0)).is_counted
    assert not (k + mc.kernels.Delta()).is_counted
    assert not k.on(lambda x: x).is_counted  # a map is given the points as they are passed
    assert not mc.Gaussian().is_counted


@pytest.mark.parametrize("share", [-1.0, 0.2, 2.0])
@pytest.mark.parametrize("rows", [1, 2, 512])
def test_how_products_are_formed_does_not_change_them(
    share: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (7, 9)).astype(float)
    weights = rng.integers(1, 4, 9).astype(float)
    monkeypatch.setattr(Limits, "common_share", share)
    monkeypatch.setattr(Limits, "count_rows", rows)
    found = Counts.of(csr_array(table), weights)
    expected = (table * weights) @ table.T
    x = [*WORDS, ""]
    assert found.dot(found, AllPairs(x)).tolist() == expected.tolist()
    assert found.dot(found, Aligned(x)).tolist() == np.diag(expected).tolist()
    across = found.rows(slice(0, 3)).dot(found.rows(slice(3, 7)), AllPairs(x[:3], x[3:]))
    assert across.tolist() == expected[:3, 3:].tolist()


def test_a_kernel_that_counts_takes_few_lines() -> None:
    assert Lengths()(["ab"], ["abc", ""]).tolist() == [[6.0, 0.0]]
    assert Lengths().partials(["ab"]) == {}
    with pytest.raises(mc.errors.NoFeatureMap, match="no fixed columns"):
        Lengths().features(["ab"])
