from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

import mercer as mc
from mercer.kernels.limits import Limits
from tests.references import FOLDER
from tests.structures import obeys_the_laws, words, works_in_models

REFERENCE = json.loads((FOLDER / "strings_spectrum.json").read_text())
STRINGS = REFERENCE["strings"]
KERNELS: list[mc.Kernel] = [
    mc.kernels.StringSpectrum(2),
    mc.kernels.StringSpectrum(3, alphabet="abc"),
    mc.kernels.StringBoundedRange(3),
    mc.kernels.MismatchSpectrum(3, 1, "abc"),
    mc.kernels.MismatchSpectrum(2, 2, "abcd"),
    mc.kernels.GappySpectrum(2, 1),
    mc.kernels.GappySpectrum(2, 2, "abc"),
]


def windows(s: str, length: int) -> list[str]:
    return [s[i : i + length] for i in range(len(s) - length + 1)]


def near(u: str, v: str) -> int:
    return sum(a != b for a, b in zip(u, v, strict=True))


def inner(p: Counter[str], q: Counter[str]) -> float:
    return float(sum(p[u] * q[u] for u in p))


def recounted(k: Any) -> Callable[[str, str], float]:
    """Return the kernel as its definition reads, counted in dictionaries."""
    if isinstance(k, mc.kernels.StringSpectrum):
        return lambda s, t: inner(Counter(windows(s, k.length)), Counter(windows(t, k.length)))
    if isinstance(k, mc.kernels.StringBoundedRange):
        lengths = range(1, k.length + 1)
        return lambda s, t: sum(recounted(mc.kernels.StringSpectrum(n))(s, t) for n in lengths)
    if isinstance(k, mc.kernels.MismatchSpectrum):
        every = ["".join(u) for u in product(k.alphabet, repeat=k.length)]

        def held(s: str) -> Counter[str]:
            return Counter(
                u for v in windows(s, k.length) for u in every if near(u, v) <= k.mismatches
            )
    else:

        def held(s: str) -> Counter[str]:
            found: Counter[str] = Counter()
            for window in windows(s, k.length + k.gaps):
                found.update({"".join(u) for u in combinations(window, k.length)})
            return found

    return lambda s, t: inner(held(s), held(t))


@pytest.mark.parametrize("entry", REFERENCE["kernels"])
def test_the_spectrum_is_the_plain_recount_of_the_reference(entry: dict[str, Any]) -> None:
    k: mc.Kernel = mc.kernels.StringSpectrum(entry["length"])
    K = (k.normalised() if entry["normalized"] else k)(STRINGS)
    np.testing.assert_allclose(K, entry["plain_recount"], rtol=1e-15)
    # kernlab appends a newline to each string and counts it; nobody's strings end with one.
    assert not np.allclose(K, entry["gram"])
    K = (k.normalised() if entry["normalized"] else k)([f"{s}\n" for s in STRINGS])
    np.testing.assert_allclose(K, entry["gram"], rtol=1e-15)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(data=st.data())
@settings(max_examples=15)
def test_kernels_count_what_they_say(k: mc.Kernel, data: st.DataObject) -> None:
    x, y = data.draw(words()), data.draw(words())
    count = recounted(k)
    assert k(x, y).tolist() == [[count(s, t) for t in y] for s in x]
    assert k(x).tolist() == [[count(s, t) for t in x] for s in x]
    assert k.diag(x).tolist() == [count(s, s) for s in x]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(x=words())
@settings(max_examples=8)
def test_kernels_on_strings_obey_the_laws(k: mc.Kernel, x: list[str]) -> None:
    obeys_the_laws(k, x)


@pytest.mark.filterwarnings("ignore::mercer.errors.FewerAxes")
@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_strings_go_through_operators_and_models(k: mc.Kernel) -> None:
    works_in_models(k, ["abcab", "", "cab", "aabbcc", "bca"], ["abc", "", "ccca"])


@pytest.mark.parametrize("k", [k for k in KERNELS if getattr(k, "alphabet", None)], ids=repr)
@given(x=words(), y=words())
@settings(max_examples=10)
def test_features_have_columns_of_their_own(k: mc.Kernel, x: list[str], y: list[str]) -> None:
    phi: Any = k.features(x)
    psi: Any = k.features(y)
    assert issparse(phi)
    assert phi.shape[1] == psi.shape[1] == len(k.alphabet) ** k.length  # type: ignore[attr-defined]
    assert (phi @ psi.T).toarray().tolist() == k(x, y).tolist()


def test_features_of_all_lengths_stand_side_by_side() -> None:
    phi: Any = mc.kernels.StringBoundedRange(2, alphabet="ab").features(["aab"])
    assert phi.toarray().tolist() == [[2.0, 1.0, 1.0, 1.0, 0.0, 0.0]]
    phi = mc.kernels.StringSpectrum(12, alphabet="protein").features(["ACDEFGHIKLMNP"])
    assert phi.shape == (1, 20**12)
    assert phi.data.sum() == 2.0


@pytest.mark.parametrize("k", [mc.kernels.StringSpectrum(2), mc.kernels.GappySpectrum(2, 1)])
def test_features_need_an_alphabet(k: mc.Kernel) -> None:
    with pytest.raises(mc.errors.NoFeatureMap, match=r"need an alphabet: \w+\(\.\.\., alphabet="):
        k.features(["ab"])


def test_too_many_words_have_no_features_but_are_counted() -> None:
    k = mc.kernels.StringSpectrum(40, alphabet="dna")
    x = ["ACGT" * 11, "ACGT" * 10 + "A"]
    assert k(x).tolist() == [[7.0, 3.0], [3.0, 2.0]]
    with pytest.raises(mc.errors.NoFeatureMap, match="too many words"):
        k.features(x)


@pytest.mark.parametrize(
    "k", [k for k in KERNELS if not isinstance(k, mc.kernels.MismatchSpectrum)], ids=repr
)
def test_words_too_long_for_a_number_are_counted_exactly(
    k: mc.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ["abcabcacb", "bbaccab", "", "cabcab"]
    expected = k(x).tolist()
    monkeypatch.setattr(Limits, "word_code", 3)
    assert k(x).tolist() == expected


def test_without_mismatches_or_gaps_it_is_the_spectrum() -> None:
    expected = mc.kernels.StringSpectrum(3)(STRINGS).tolist()
    assert mc.kernels.MismatchSpectrum(3, 0, "dna")(STRINGS).tolist() == expected
    assert mc.kernels.GappySpectrum(3, 0)(STRINGS).tolist() == expected


def test_mismatches_in_every_letter_make_all_words_alike() -> None:
    K = mc.kernels.MismatchSpectrum(2, 2, "dna")(STRINGS)
    sizes = np.array([len(s) - 1 for s in STRINGS])
    assert K.tolist() == (16.0 * np.outer(sizes, sizes)).tolist()


def test_letters_are_those_of_unicode() -> None:
    x = ["naïve ÅÅ", "ÅÅ\n𝔾𝔾", "\ud800\x00", np.str_("ÅÅ")]
    assert mc.kernels.StringSpectrum(2)(x).tolist() == [
        [7.0, 1.0, 0.0, 1.0],
        [1.0, 4.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 1.0, 0.0, 1.0],
    ]
    assert mc.kernels.StringSpectrum(1)(np.array(["ab", "b"])).tolist() == [[2.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_strings_without_words_share_one_unit_vector(k: mc.Kernel) -> None:
    K = k.normalised()(["", "abcab", ""])
    assert K.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    assert k.normalised()([""], ["abcab", ""]).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_no_string_one_string_and_two_strings(k: mc.Kernel, n: int) -> None:
    x = ["abca", "cab", "bca"]
    assert k(x[:n]).shape == (n, n)
    assert k(x[:n], x).tolist() == k(x)[:n].tolist()
    assert k(x, x[:n]).shape == (3, n)
    assert k.diag(x[:n]).shape == (n,)


@pytest.mark.parametrize(
    ("name", "letters"),
    [("dna", "ACGT"), ("rna", "ACGU"), ("protein", "ACDEFGHIKLMNPQRSTVWY"), ("xyz", "xyz")],
)
def test_alphabets_have_names(name: str, letters: str) -> None:
    k = mc.kernels.StringSpectrum(2, alphabet=name)
    assert k.alphabet == letters
    assert k == mc.kernels.StringSpectrum(2, letters)
    assert mc.kernel(f'string_spectrum(2, alphabet="{name}")') == k


@pytest.mark.parametrize(
    "k", [mc.kernels.StringSpectrum(2, "dna"), mc.kernels.MismatchSpectrum(2, 1, "dna")]
)
def test_letters_outside_the_alphabet_are_named(k: mc.Kernel) -> None:
    for call in (k, k.diag, k.features):
        with pytest.raises(
            mc.errors.InvalidInput, match=r"point 2 holds 'N' at place 3, .* 'ACGT'"
        ):
            call(["ACGT", "", "ACGNTN"])


@pytest.mark.parametrize("alphabet", ["", "aba", 3, ["a", "b"]])
def test_alphabets_that_are_none_are_refused(alphabet: Any) -> None:
    with pytest.raises(
        mc.errors.InvalidParameter, match="alphabet must be a text of different letters"
    ):
        mc.kernels.StringSpectrum(2, alphabet=alphabet)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (["a", 3], "point 1 is 3, not a string"),
        ([b"ab"], "point 0 is b'ab', not a string"),
        ([["a", "b"]], "not a string"),
        (np.array([[1.0]]), "not a string"),
        ("abc", "x must be a sequence of points, found str"),
    ],
)
def test_points_that_are_not_strings_are_refused(points: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message):
        mc.kernels.StringSpectrum(2)(points)


@pytest.mark.parametrize(
    "make",
    [
        lambda: mc.kernels.StringSpectrum(0),
        lambda: mc.kernels.StringBoundedRange(2.5),  # type: ignore[arg-type]
        lambda: mc.kernels.MismatchSpectrum(2, -1, "dna"),
        lambda: mc.kernels.MismatchSpectrum(2, 3, "dna"),
        lambda: mc.kernels.MismatchSpectrum(2, 1, None),  # type: ignore[arg-type]
        lambda: mc.kernels.MismatchSpectrum(40, 1, "dna"),
        lambda: mc.kernels.GappySpectrum(2, -1),
    ],
)
def test_parameters_outside_their_domain_are_refused(make: Callable[[], mc.Kernel]) -> None:
    with pytest.raises(mc.errors.InvalidParameter):
        make()


def test_too_many_neighbours_are_refused_before_they_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Limits, "neighbours", 10)
    with pytest.raises(mc.errors.InvalidInput, match="allow fewer mismatches"):
        mc.kernels.MismatchSpectrum(3, 1, "dna")(STRINGS)
    with pytest.raises(mc.errors.InvalidInput, match="allow fewer gaps"):
        mc.kernels.GappySpectrum(3, 1)(STRINGS)


def test_kernels_on_strings_have_no_derivatives() -> None:
    for k in KERNELS:
        assert k.partials(["ab"]) == {}
        with pytest.raises(mc.errors.NotDifferentiable, match="has no slopes"):
            k.slopes(["ab"])
