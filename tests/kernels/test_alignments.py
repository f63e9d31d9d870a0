from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer as mc
from mercer.kernels.alignments import matrix_of
from mercer.kernels.limits import Limits
from tests.structures import obeys_the_laws, words, works_in_models

KERNELS: list[mc.Kernel] = [
    mc.kernels.Subsequence(1, decay=0.7),
    mc.kernels.Subsequence(3, decay=0.5),
    mc.kernels.Subsequence(2, decay=1.0, alphabet="abc"),
    mc.kernels.LocalAlignment(),
    mc.kernels.LocalAlignment(2.0, 0.5, opening=0.0, extension=0.0, scale=0.3, alphabet="abc"),
    mc.kernels.LocalAlignment(1.0, 1.0, opening=3.0, extension=0.1, scale=0.2),
]


def subsequences(k: mc.kernels.Subsequence, s: str, t: str) -> float:
    """Sum over all choices of letters of both strings."""
    total = 0.0
    for i in combinations(range(len(s)), k.length):
        for j in combinations(range(len(t)), k.length):
            if [s[p] for p in i] == [t[p] for p in j]:
                total += k.decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


def alignments_of(k: mc.kernels.LocalAlignment, s: str, t: str) -> float:
    """Sum over all ways to pair letters of both strings in order."""
    total = 0.0
    for size in range(min(len(s), len(t)) + 1):
        for i in combinations(range(len(s)), size):
            for j in combinations(range(len(t)), size):
                pairs = zip(i, j, strict=True)
                score = sum(k.match if s[p] == t[q] else k.mismatch for p, q in pairs)
                for places in (i, j):
                    gaps = [b - a - 1 for a, b in zip(places, places[1:], strict=False)]
                    score -= sum(k.opening + k.extension * (g - 1) for g in gaps if g)
                total += exp(k.scale * score)
    return total


def by_definition(k: mc.Kernel) -> Callable[[str, str], float]:
    if isinstance(k, mc.kernels.Subsequence):
        return lambda s, t: subsequences(k, s, t)
    assert isinstance(k, mc.kernels.LocalAlignment)
    return lambda s, t: alignments_of(k, s, t)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(data=st.data())
@settings(max_examples=10)
def test_kernels_sum_what_they_say(k: mc.Kernel, data: st.DataObject) -> None:
    x, y = data.draw(words(most=4)), data.draw(words(most=4))
    value = by_definition(k)
    expected = np.array([[value(s, t) for t in y] for s in x])
    np.testing.assert_allclose(k(x, y), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(k.diag(x), [value(s, s) for s in x], rtol=1e-12, atol=1e-15)


def test_the_words_of_lodhi_and_others() -> None:
    k = mc.kernels.Subsequence(2, decay=0.5)
    K = k(["cat", "car", "bat", "bar"])
    decay = 0.5
    assert K[0, 1] == decay**4
    assert K[0, 0] == 2 * decay**4 + decay**6
    assert K[0, 3] == 0.0
    normalised = k.normalised()(["cat"], ["car"])[0, 0]
    assert normalised == pytest.approx(1 / (2 + decay**2), rel=1e-15)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(x=words(most=5))
@settings(max_examples=8)
def test_kernels_by_alignment_obey_the_laws(k: mc.Kernel, x: list[str]) -> None:
    obeys_the_laws(k, x)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_strings_go_through_operators_and_models(k: mc.Kernel) -> None:
    works_in_models(k, ["abcab", "", "cab", "aabbcc", "bca"], ["abc", "", "ccca"])


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_blocks_of_strings_do_not_change_the_values(
    k: mc.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ["abcabbca", "", "b", "cabca", "aabbccaabbcc", "bca"]
    K = k(x)
    monkeypatch.setattr(Limits, "alignment_cells", 1)
    np.testing.assert_allclose(k(x), K, rtol=1e-14)


def test_alignments_are_positive_definite_on_longer_strings() -> None:
    rng = np.random.default_rng(0)
    x = ["".join(rng.choice(list("ACGT"), size)) for size in rng.integers(5, 40, 20)]
    for k in (mc.kernels.LocalAlignment(scale=0.2), mc.kernels.Subsequence(4, 0.8)):
        assert mc.positive_definite(k.normalised(), x)


def test_the_logarithm_tends_to_the_smith_waterman_score() -> None:
    # GATTACA against GCATTA: ATTA with ATTA scores 4, and no alignment scores more.
    k = mc.kernels.LocalAlignment(1.0, -1.0, opening=2.0, extension=1.0, scale=40.0)
    assert np.log(k(["GATTACA"], ["GCATTA"])[0, 0]) / 40.0 == pytest.approx(4.0, abs=0.05)


def test_strings_without_subsequences_share_one_unit_vector() -> None:
    K = mc.kernels.Subsequence(2).normalised()(["", "abcab", "a"])
    assert K.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    assert mc.kernels.LocalAlignment()(["", "ab"])[0].tolist() == [1.0, 1.0]  # the empty alignment


def test_values_that_overflow_are_refused_by_name() -> None:
    k = mc.kernels.LocalAlignment(match=10.0, scale=10.0)
    with pytest.raises(mc.errors.InvalidInput, match="LocalAlignment|local_alignment"):
        k(["a" * 40])


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_letters_are_refused_by_name(k: Any) -> None:
    if k.alphabet:
        with pytest.raises(mc.errors.InvalidInput, match="point 1 holds 'z' at place 1"):
            k(["abc", "az"])
    with pytest.raises(mc.errors.InvalidInput, match="point 1 is 2, not a string"):
        k(["abc", 2])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: mc.kernels.Subsequence(0), mc.errors.InvalidParameter),
        (lambda: mc.kernels.Subsequence(2, decay=0.0), mc.errors.InvalidParameter),
        (lambda: mc.kernels.Subsequence(2, decay=1.1), mc.errors.InvalidParameter),
        (lambda: mc.kernels.LocalAlignment(opening=-1.0), mc.errors.InvalidParameter),
        (lambda: mc.kernels.LocalAlignment(scale=0.0), mc.errors.InvalidParameter),
        (
            lambda: mc.kernels.LocalAlignment(match=-1.0, mismatch=0.0),
            mc.errors.NotPositiveDefinite,
        ),
    ],
)
def test_parameters_outside_their_domain_are_refused(
    make: Callable[[], mc.Kernel], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make()


def test_more_for_mismatches_than_for_matches_would_not_be_positive() -> None:
    # The control of the refusal: with S(a, a) < S(a, b) one letter alone breaks Cauchy–Schwarz.
    match, mismatch = np.exp(-1.0), np.exp(1.0)
    K = np.array([[1 + match, 1 + mismatch], [1 + mismatch, 1 + match]])
    assert not mc.positive_definite(K)


@given(x=words("ab", most=5))
@settings(max_examples=20)
def test_a_matrix_of_matches_and_mismatches_is_no_other_kernel(x: list[str]) -> None:
    plain = mc.kernels.LocalAlignment(1.5, -0.5, alphabet="ab")
    scored = mc.kernels.LocalAlignment(scores=[[1.5, -0.5], [-0.5, 1.5]], alphabet="ab")
    np.testing.assert_allclose(scored(x), plain(x), rtol=1e-13)


def test_scores_of_letters_are_those_of_the_matrix() -> None:
    k = mc.kernels.LocalAlignment(scores="blosum62", scale=0.5)
    # One letter with one letter: the empty alignment, and theirs.
    assert k(["W"], ["W"])[0, 0] == pytest.approx(1.0 + np.exp(0.5 * 11.0))
    assert k(["A"], ["C"])[0, 0] == pytest.approx(1.0 + np.exp(0.0))
    assert k(["I"], ["V"])[0, 0] == pytest.approx(1.0 + np.exp(0.5 * 3.0))


def test_blosum62_is_conditionally_positive_definite_and_so_its_exponentials_are_kernels() -> None:
    S = matrix_of("blosum62", "ACDEFGHIKLMNPQRSTVWY")
    assert mc.negative_definite(-S)
    assert S.sum() == -426.0
    for scale in (0.01, 0.1, 1.0, 3.0):
        assert np.linalg.eigvalsh(np.exp(scale * S))[0] > 0
    rng = np.random.default_rng(0)
    x = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), n)) for n in rng.integers(4, 12, 8)]
    obeys_the_laws(
        mc.kernels.LocalAlignment(opening=11.0, extension=1.0, scale=0.2, scores="blosum62"), x
    )


def test_scores_that_are_no_kernel_are_refused() -> None:
    wrong = [[0.0, 2.0], [2.0, 0.0]]
    with pytest.raises(mc.errors.NotPositiveDefinite, match="negative eigenvalue"):
        mc.kernels.LocalAlignment(scores=wrong, alphabet="ab")
    with pytest.raises(mc.errors.InvalidParameter, match="symmetric"):
        mc.kernels.LocalAlignment(scores=[[1.0, 0.0], [0.5, 1.0]], alphabet="ab")
    with pytest.raises(mc.errors.InvalidParameter, match="2 letters and the alphabet has 3"):
        mc.kernels.LocalAlignment(scores=[[1.0, 0.0], [0.0, 1.0]], alphabet="abc")
    with pytest.raises(mc.errors.InvalidParameter, match="knows blosum62"):
        mc.kernels.LocalAlignment(scores="pam250")
    with pytest.raises(mc.errors.InvalidParameter, match="too large"):
        mc.kernels.LocalAlignment(scores="blosum62", scale=100.0)


def test_scores_with_a_name_follow_the_letters_of_the_alphabet() -> None:
    x = ["WARD", "KWAR", "DAWK", ""]
    expected = mc.kernels.LocalAlignment(scale=0.2, scores="blosum62")(x)
    for alphabet in ("ARNDCQEGHILKMFPSTWYV", "WARDK"):
        k = mc.kernels.LocalAlignment(scale=0.2, scores="blosum62", alphabet=alphabet)
        np.testing.assert_allclose(k(x), expected, rtol=1e-14)
        assert mc.kernel(repr(k)) == k
    with pytest.raises(mc.errors.InvalidParameter, match="no score of 'B'"):
        mc.kernels.LocalAlignment(scores="blosum62", alphabet="AB")
