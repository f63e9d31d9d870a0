from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import chi2, kstest
from sklearn.base import clone
from sklearn.datasets import load_digits

import mercer as mc
from mercer.check import Array
from mercer.dimension import column_permutations
from mercer.dimension.column_permutations import Drawn, _compiled_shuffle, has_shuffled
from mercer.dimension.horn import Measure, first_failure
from mercer.dimension.limits import Limits
from mercer.dimension.permuted_data import linear_subject
from mercer.dimension.rules import (
    CrossValidationChoice,
    KaiserChoice,
    ScreeChoice,
    by_kaiser,
    by_scree,
    by_share,
)
from mercer.errors import InvalidInput
from tests.oracles import untouched
from tests.references import FOLDER

SWISS = json.loads((FOLDER / "parallel_swiss.json").read_text())
X = np.array(SWISS["X"])
ROWS = np.array(SWISS["perms"]) - 1  # R counts from 1
RNG = np.random.default_rng(5)
ONE_FACTOR = RNG.standard_normal((40, 1)) + 0.7 * RNG.standard_normal((40, 5))

NOISE = np.random.default_rng(0).standard_normal((30, 4))


def close(found: Array, expected: Any, tolerance: float = 1e-10) -> None:
    largest = np.max(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * largest)


class Columns:
    """A fitted model of a table, as far as the rules read one."""

    standardize = True

    def __init__(self, X: Array, count: int | None = None) -> None:
        Z = X[:, X.std(axis=0) > 1e-12]
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        values = np.linalg.eigvalsh(Z.T @ Z / len(Z))[::-1]
        self.inertias_, self.inertia_ = values[:count], float(values.sum())
        self.X_fit_, self.n_features_in_ = X, X.shape[1]

    def fit(self) -> None: ...


class Frame:
    """A table with names, as far as it is read."""

    def __init__(self, values: Array, columns: list[str]) -> None:
        self.values, self.columns = values, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.values


# Horn


def test_horn_on_given_permutations_is_what_r_computes() -> None:
    with untouched(X, ROWS):
        horn = mc.parallel_analysis(X, ROWS)
    close(horn.observed, SWISS["observed"])
    close(horn.observed, SWISS["psych_pc_values"])
    close(horn.null, SWISS["permuted_eigenvalues"])
    close(horn.raw_p_values, SWISS["pvalue_Yao, lecture 1"])
    close(horn.p_values, SWISS["pvalue_add_one"])
    close(horn.quantiles(0.95), SWISS["q95_type7"])
    close(horn.null.mean(axis=0), SWISS["mean"])
    assert horn.n_components == SWISS["n_keep_pval05"] == SWISS["psych_ncomp"]
    assert horn.is_decided
    assert (horn.seed, horn.asked, horn.statistic) == (None, 40, "eigenvalue")


def test_the_text_says_of_what_the_test_speaks() -> None:
    horn = mc.parallel_analysis(X, ROWS)
    assert str(horn) == horn.evidence
    assert horn.evidence == (
        "1 axis: the largest p is 0.0244, axis 2 has p = 0.902 (40 permutations, by eigenvalue, "
        "level 0.05); from the second axis on the test speaks only of the independence of all "
        "columns"
    )


def test_the_raw_p_value_does_not_decide() -> None:
    """Where 1/(R + 1) exceeds the level nothing can be significant, though the raw p is 0."""
    horn = mc.parallel_analysis(X, ROWS[:10])
    assert horn.raw_p_values[0] == 0.0
    assert horn.p_values[0] == pytest.approx(1 / 11)
    assert horn.n_components == 0
    assert not horn.is_decided
    assert "at least 19 are needed" in horn.evidence


def test_p_values_are_uniform_under_independence_and_raw_ones_promise_too_much() -> None:
    """1000 independent tables, 20 permutations: p is uniform on 1/21 ... 1.

    A sample of 1000 is farther than 0.062 from uniform once in a thousand seeds, and a frequency of
    1/21 off by 0.022 likewise. The raw p-value is at most 0.05 on 2/21 of all tables.
    """
    rng = np.random.default_rng(17)
    p, raw = [], []
    for seed in range(1000):
        table = rng.exponential(size=(12, 3))
        horn = mc.parallel_analysis(table, 20, random_state=seed, threads=1)
        p.append(horn.p_values[0])
        raw.append(horn.raw_p_values[0])
    smoothed = np.array(p) - rng.uniform(size=len(p)) / 21
    assert kstest(smoothed, "uniform").statistic < 0.062
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(1 / 21, abs=0.022)
    assert np.mean(np.array(raw) <= 0.05) > 0.07


def test_axes_after_the_first_failure_are_not_kept() -> None:
    assert first_failure(np.array([0.01, 0.2, 0.001]), 0.05) == 1
    assert first_failure(np.array([0.06, 0.01]), 0.05) == 0
    assert first_failure(np.array([0.05, 0.05]), 0.05) == 2


def test_the_null_is_that_of_permuting_and_then_standardising() -> None:
    sample = Drawn(7, seed=3)
    horn = mc.parallel_analysis(ONE_FACTOR, 7, random_state=3)
    for r, rows in enumerate(sample.indices(*ONE_FACTOR.shape)):
        permuted = np.take_along_axis(ONE_FACTOR, rows, axis=0)
        close(horn.null[r], np.linalg.eigvalsh(np.corrcoef(permuted.T))[::-1])
        assert not np.array_equal(rows[:, 0], rows[:, 1])  # each column by itself


@pytest.mark.parametrize("shape", [(40, 5), (6, 30), (9, 9)])
@pytest.mark.parametrize("standardize", [True, False])
def test_drawn_permutations_given_as_rows_give_the_same(
    shape: tuple[int, int], standardize: bool
) -> None:
    table = RNG.standard_normal(shape) * np.arange(1.0, shape[1] + 1)
    rows = Drawn(25, seed=8).indices(*shape)
    given = mc.parallel_analysis(table, rows, standardize=standardize)
    drawn = mc.parallel_analysis(table, 25, standardize=standardize, random_state=8)
    assert np.array_equal(drawn.null, given.null)
    assert drawn.observed.shape == (min(shape[0] - 1, shape[1]),)
    covariance = np.atleast_2d(np.cov(table.T, bias=True))
    expected = np.corrcoef(table.T) if standardize else covariance
    close(drawn.observed, np.linalg.eigvalsh(expected)[::-1][: len(drawn.observed)])


@pytest.mark.parametrize("shape", [(40, 5), (6, 30)])
def test_the_smaller_side_is_decomposed(shape: tuple[int, int]) -> None:
    subject = linear_subject(RNG.standard_normal(shape), standardize=True)
    assert subject.matrix(subject.columns)[0].shape == (min(shape), min(shape))


@pytest.mark.parametrize("kernel", [None, mc.Gaussian("median")], ids=str)
def test_neither_threads_nor_batches_change_a_bit(
    kernel: mc.Kernel | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def null(threads: int) -> Array:
        options: dict[str, Any] = {"kernel": kernel, "random_state": 1, "threads": threads}
        return mc.parallel_analysis(ONE_FACTOR, 45, **options).null

    expected = null(1)
    for threads in (2, 3):
        assert np.array_equal(null(threads), expected)
    for size in (1, 7, 100):
        monkeypatch.setattr(Measure, "limits", Limits(batch=size))
        assert np.array_equal(null(2), expected)
    fewer = mc.parallel_analysis(ONE_FACTOR, 20, kernel=kernel, random_state=1)
    assert np.array_equal(fewer.null, expected[:20])


@pytest.mark.parametrize("n", [2, 3, 4, 129])
def test_every_permutation_of_a_column_is_as_likely(n: int) -> None:
    """60 000 columns: where the first rows go has a χ² below the 0.999 quantile."""
    p, m = 60_000, min(n, 4)
    rows = Drawn(1, seed=0).indices(n, p)[0][:m]
    codes = np.ravel_multi_index(tuple(rows), (n,) * m) if n <= 4 else rows[0]
    counts = np.unique(codes, return_counts=True)[1]
    kinds = math.factorial(n) if n <= 4 else n
    assert len(counts) == kinds
    assert np.sum((counts - p / kinds) ** 2) / (p / kinds) < chi2(kinds - 1).ppf(0.999)


@pytest.mark.parametrize("n", [24, 129])
def test_row_numbers_and_values_are_permuted_alike(n: int) -> None:
    table = np.arange(3.0 * n).reshape(3, n)
    out = Drawn(5, seed=1).apply(4, table, np.empty_like(table))
    assert np.array_equal(np.sort(out, axis=1), table)
    assert np.array_equal(out[1] - n, table[0][Drawn(5, seed=1).indices(n, 3)[4, :, 1]])
    assert np.all(np.any(out != table, axis=1))


def test_without_a_seed_the_draws_can_still_be_repeated() -> None:
    first = mc.parallel_analysis(ONE_FACTOR, 20)
    assert not np.array_equal(first.null, mc.parallel_analysis(ONE_FACTOR, 20).null)
    assert np.array_equal(
        first.null, mc.parallel_analysis(ONE_FACTOR, 20, random_state=first.seed).null
    )


def test_one_factor_is_found_and_no_more() -> None:
    horn = mc.parallel_analysis(ONE_FACTOR, random_state=0)
    assert horn.n_components == 1
    assert horn.p_values[0] == 1 / 1000


def test_ties_count_against_an_axis() -> None:
    """Two individuals standardise to -1 and 1: every table has one axis of inertia p."""
    horn = mc.parallel_analysis(np.array([[0.0, 1.0, 2.0], [1.0, 5.0, 2.5]]), 49, random_state=0)
    assert horn.p_values.tolist() == [1.0]
    assert horn.raw_p_values.tolist() == [0.0]
    assert horn.n_components == 0


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_scale_of_the_data_does_not_matter(scale: float) -> None:
    expected = mc.parallel_analysis(ONE_FACTOR, 39, random_state=0)
    horn = mc.parallel_analysis(scale * ONE_FACTOR + 0.0, 39, random_state=0)
    close(horn.null, expected.null)
    shifted = mc.parallel_analysis(ONE_FACTOR + 1e6, 39, random_state=0)
    close(shifted.null, expected.null, 1e-8)


# Besag and Clifford


@pytest.mark.parametrize("table", [ONE_FACTOR, NOISE], ids=["one factor", "noise"])
def test_early_stopping_divides_exceedances_by_draws(table: Array) -> None:
    full = mc.parallel_analysis(table, 199, random_state=2)
    early = mc.parallel_analysis(table, 199, random_state=2, stop_after=5)
    for k, observed in enumerate(full.observed):
        exceeding = np.flatnonzero(full.null[:, k] >= observed)
        if len(exceeding) >= 5:
            assert early.draws[k] == exceeding[4] + 1
            assert early.p_values[k] == 5 / early.draws[k]
        else:
            assert early.draws[k] == 199
            assert early.p_values[k] == full.p_values[k]
    assert len(early.null) == early.draws.max()


def test_early_stopping_settles_some_axes_and_not_others() -> None:
    factor, noise = (
        mc.parallel_analysis(table, 199, random_state=2, stop_after=5)
        for table in (ONE_FACTOR, NOISE)
    )
    assert factor.draws[0] == 199 > factor.draws[1]
    assert np.all(noise.draws < 199)
    assert np.any(noise.p_values < 1.0)


def test_early_stopping_ends_all_sampling_and_says_so() -> None:
    seen: list[tuple[int, int]] = []
    horn = mc.parallel_analysis(
        NOISE, 10_000, random_state=0, stop_after=4, progress=lambda *done: seen.append(done)
    )
    assert len(horn.null) == horn.draws.max() < 1000
    assert (
        f"{len(horn.null)} permutations of 10000, stopped early by Besag and Clifford"
        in horn.evidence
    )
    assert seen[-1][0] < 1100
    again = mc.parallel_analysis(NOISE, 10_000, random_state=0, stop_after=4, threads=1)
    assert np.array_equal(again.null, horn.null)


# Kernels


@pytest.mark.parametrize("statistic", ["share", "eigenvalue"])
def test_an_inner_product_is_the_table_itself(statistic: str) -> None:
    """A polynomial of degree one takes the way of kernels, the linear kernel that of tables."""
    options: dict[str, Any] = {"random_state": 4, "statistic": statistic, "axes": 5}
    table = mc.parallel_analysis(ONE_FACTOR, 30, standardize=False, **options)
    linear = mc.parallel_analysis(ONE_FACTOR, 30, kernel=mc.Linear(), **options)
    kernel = mc.parallel_analysis(ONE_FACTOR, 30, kernel=mc.Polynomial(1, 0.0, 1.0), **options)
    assert np.array_equal(linear.null, table.null)
    close(kernel.observed, table.observed)
    close(kernel.null, table.null)
    np.testing.assert_array_equal(kernel.p_values, table.p_values)


def test_a_kernel_is_tested_by_shares_and_its_rule_applied_to_every_table() -> None:
    kernel = mc.Gaussian("median")
    horn = mc.parallel_analysis(ONE_FACTOR, 19, kernel=kernel, random_state=6)
    assert horn.statistic == "share"
    assert "by share" in horn.evidence
    for r, rows in enumerate(Drawn(19, seed=6).indices(*ONE_FACTOR.shape)):
        permuted = np.take_along_axis(ONE_FACTOR, rows, axis=0)
        model = mc.KernelPCA(3, kernel=kernel).fit(permuted)
        close(horn.null[r, :3], model.explained_variance_ratio_)
    values = mc.parallel_analysis(
        ONE_FACTOR, 19, kernel=kernel, random_state=6, statistic="eigenvalue"
    )
    close(values.observed[:3], mc.KernelPCA(3, kernel=kernel).fit(ONE_FACTOR).inertias_)
    assert not np.allclose(values.null[:, 0] / values.observed[0], horn.null[:, 0])


def test_a_model_is_tested_on_the_axes_it_has() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian(3.0)).fit(ONE_FACTOR)
    horn = mc.parallel_analysis(model, 39, random_state=0)
    close(horn.observed, model.explained_variance_ratio_)
    direct = mc.parallel_analysis(ONE_FACTOR, 39, kernel=mc.Gaussian(3.0), random_state=0)
    np.testing.assert_array_equal(horn.null, direct.null[:, :2])
    table = mc.parallel_analysis(Columns(ONE_FACTOR), 39, random_state=0)
    np.testing.assert_array_equal(
        table.null, mc.parallel_analysis(ONE_FACTOR, 39, random_state=0).null
    )


def test_all_axes_that_were_tested_are_at_least_so_many() -> None:
    horn = mc.parallel_analysis(ONE_FACTOR, 39, axes=1, random_state=0)
    assert horn.n_components == 1
    assert not horn.is_decided
    assert horn.evidence.startswith("at least 1 axis, all that were tested")


@pytest.mark.parametrize("kernel", [None, mc.Gaussian(3.0)], ids=str)
def test_a_large_matrix_is_not_decomposed_whole(
    kernel: mc.Kernel | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = RNG.standard_normal((60, 2)) @ RNG.standard_normal((2, 60)) + RNG.standard_normal(
        (60, 60)
    )
    options: dict[str, Any] = {"kernel": kernel, "axes": 3, "random_state": 0}
    whole = mc.parallel_analysis(table, 19, **options)
    monkeypatch.setattr(Measure, "limits", Limits(dense=50))
    assert mc.parallel_analysis(table, 1, kernel=kernel, random_state=0).observed.shape == (10,)
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda stack: pytest.fail("decomposed whole"))
    large = mc.parallel_analysis(table, 19, **options)
    close(large.null, whole.null)
    close(large.observed, whole.observed)


def test_sets_are_permuted_element_by_element() -> None:
    rng = np.random.default_rng(0)
    together = rng.random((30, 1)) < 0.5
    table = np.hstack([together ^ (rng.random((30, 3)) < 0.1), rng.random((30, 3)) < 0.5])
    names = "abcdef"
    sets = [{names[j] for j in np.flatnonzero(row)} for row in table]
    horn = mc.parallel_analysis(sets, 99, kernel=mc.kernels.Intersection(), random_state=0)
    numbers = mc.parallel_analysis(
        table.astype(float), 99, kernel=mc.Polynomial(1, 0.0, 1.0), random_state=0
    )
    close(horn.null, numbers.null)  # |A ∩ B| is the inner product of indicators
    assert horn.n_components == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: mc.parallel_analysis(["ab", "c"], kernel=mc.FromFunction(lambda a, b: 1.0)),
            "type str have",
        ),
        (
            lambda: mc.parallel_analysis(
                mc.KernelPCA(2, kernel="precomputed").fit(mc.Gaussian(1.0)(ONE_FACTOR))
            ),
            "a precomputed matrix has no columns",
        ),
    ],
)
def test_data_without_columns_are_told_which_nulls_exist(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(mc.errors.InvalidInput, match=message) as caught:
        call()
    assert "each column of a table, or each element's presences" in str(caught.value)


# What is refused


def with_entry(value: Any, i: int = 3, j: int = 1) -> Array:
    table = ONE_FACTOR.copy()
    table[i, j] = value
    return table


CONSTANT_COLUMN = np.column_stack([ONE_FACTOR, np.full(40, 0.1)])


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (ONE_FACTOR[:1], {}, "at least two individuals, found 1"),
        (ONE_FACTOR[:0], {}, "at least two individuals, found 0"),
        (ONE_FACTOR[:, :1], {}, "at least two columns, found 1"),
        (ONE_FACTOR[:, 0], {}, "at least two columns, found 1"),
        (ONE_FACTOR[:, :1], {"kernel": "gaussian()"}, "at least two columns, found 1"),
        ([{1}, {1, 2}][:1], {"kernel": mc.kernels.Intersection()}, "at least two individuals"),
        ([{1}, set()], {"kernel": mc.kernels.Intersection()}, "at least two elements, found 1"),
        (
            [{1}, {2}],
            {"kernel": mc.kernels.Intersection(), "standardize": True},
            "these have no columns",
        ),
        (with_entry(np.nan), {}, "row 3, column 1"),
        (with_entry(np.inf), {"kernel": "gaussian()"}, "row 3, column 1"),
        (ONE_FACTOR.astype(complex) + 1j, {}, "real numbers"),
        (CONSTANT_COLUMN, {}, "column 5 is constant"),
        (CONSTANT_COLUMN, {"kernel": "gaussian()", "standardize": True}, "column 5 is constant"),
        (np.ones((5, 3)), {"standardize": False}, "all individuals are equal"),
        (1e-200 * ONE_FACTOR, {"standardize": False}, "rescale X"),
        (1e200 * ONE_FACTOR, {"standardize": False}, "rescale X"),
        (ONE_FACTOR, {"permutations": 0}, "permutations must be a whole number >= 1"),
        (ONE_FACTOR, {"permutations": -3}, "permutations must be a whole number >= 1"),
        (ONE_FACTOR, {"permutations": "many"}, "permutations must be a whole number >= 1"),
        (X, {"permutations": ROWS[:, :, :5]}, r"R x 47 x 6 .* found shape \(40, 47, 5\)"),
        (X, {"permutations": ROWS[0]}, r"found shape \(47, 6\)"),
        (X, {"permutations": ROWS[:0]}, r"found shape \(0, 47, 6\)"),
        (X, {"permutations": ROWS + 1}, r"permutations\[0, 8, 1\] is 47; .* from 0 to 46"),
        (X, {"permutations": ROWS - 1}, "is -1; .* from 0 to 46"),
        (X, {"permutations": 0 * ROWS}, r"permutations\[0, :, 0\] is not a permutation"),
        (X, {"permutations": [[1], [1, 2]]}, "row 1 of permutations has 2"),
        (X, {"permutations": ROWS + 0.0}, "whole row numbers, found float64"),
        (ONE_FACTOR, {"level": 0.0}, "level"),
        (ONE_FACTOR, {"level": 1.0}, "significance level"),
        (ONE_FACTOR, {"statistic": "trace"}, "statistic must be 'eigenvalue' or 'share'"),
        (ONE_FACTOR, {"axes": 0}, "axes"),
        (ONE_FACTOR, {"stop_after": 0}, "stop_after"),
        (ONE_FACTOR, {"threads": 0}, "threads"),
        (ONE_FACTOR, {"random_state": -1}, "random_state"),
        (ONE_FACTOR, {"random_state": "seed"}, "random_state"),
        (ONE_FACTOR, {"standardize": "yes"}, "standardize"),
        (ONE_FACTOR, {"kernel": 3}, "kernel must be a kernel"),
        (mc.KernelPCA(2), {}, "has no inertias_: fit it first"),
        (Columns(X), {"standardize": True}, "its own kernel and standardisation"),
        (Columns(X), {"kernel": "linear()"}, "its own kernel and standardisation"),
    ],
)
def test_what_cannot_be_tested_is_refused_by_name(
    table: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(mc.errors.MercerError, match=message):
        mc.parallel_analysis(table, **options)


def test_a_constant_column_of_a_frame_is_refused_by_its_name() -> None:
    frame = Frame(CONSTANT_COLUMN, [*"abcdef"])
    with pytest.raises(mc.errors.InvalidInput, match="column 'f' is constant"):
        mc.parallel_analysis(frame)


def test_a_model_with_weights_is_refused() -> None:
    weights = np.linspace(1.0, 2.0, 40)
    model = mc.KernelPCA(3, kernel=mc.Gaussian("median")).fit(ONE_FACTOR, sample_weight=weights)
    with pytest.raises(mc.errors.InvalidInput, match="fit without weights"):
        mc.parallel_analysis(model, 19)
    equal = mc.KernelPCA(3, kernel=mc.Gaussian("median")).fit(
        ONE_FACTOR, sample_weight=np.full(40, 2.0)
    )
    assert mc.parallel_analysis(equal, 19, random_state=0).observed.shape == (3,)


def test_a_pca_that_kept_all_axes_is_tested_as_its_data_are() -> None:
    for standardize in (True, False):
        model = mc.PCA(standardize=standardize).fit(X)
        horn = mc.parallel_analysis(model, ROWS)
        expected = mc.parallel_analysis(X, ROWS, standardize=standardize)
        close(horn.null, expected.null)
        assert horn.evidence == expected.evidence


def test_every_rule_reads_a_pca() -> None:
    choices = mc.choose_dimension(mc.PCA(standardize=True).fit(X), "all", permutations=ROWS)
    assert [c.n_components for c in choices.values()] == [5, SWISS["kaiser_keep"], 2, 1]
    short = mc.choose_dimension(mc.PCA(2, standardize=True).fit(X), "all", permutations=ROWS)
    assert "reach only 73.1 %" in short["inertia"].evidence
    with pytest.raises(mc.errors.InvalidInput, match="fit without weights"):
        mc.choose_dimension(mc.PCA(column_weight=[1, 2, 3, 4, 5, 6]).fit(X), "horn")


def test_a_model_of_a_few_axes_is_tested_on_its_data() -> None:
    few, horn = mc.PCA(2).fit(X), mc.choose_dimension(mc.PCA(2).fit(X), "horn", random_state=0)
    assert few.X_fit_ is X
    whole = mc.parallel_analysis(X, standardize=False, random_state=0, axes=2)
    assert mc.parallel_analysis(few, random_state=0).evidence == whole.evidence == horn.evidence


def test_a_model_that_keeps_no_data_is_refused() -> None:
    model = Columns(X)
    del model.X_fit_
    with pytest.raises(mc.errors.InvalidInput, match="pass the data themselves"):
        mc.parallel_analysis(model)


def test_a_constant_column_has_no_inertia_and_may_stay_when_nothing_is_divided() -> None:
    kept = mc.parallel_analysis(CONSTANT_COLUMN, 30, standardize=False, random_state=0)
    assert abs(kept.observed[-1]) < 1e-12


def test_an_interruption_ends_the_threads() -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mc.parallel_analysis(ONE_FACTOR, 10_000, random_state=0, progress=interrupt)


def test_progress_is_told_in_order() -> None:
    seen: list[tuple[int, int]] = []
    mc.parallel_analysis(ONE_FACTOR, 80, random_state=0, progress=lambda *d: seen.append(d))
    assert seen == [(32, 80), (64, 80), (80, 80)]


# The other rules


def test_the_share_is_that_of_the_fewest_axes_that_reach_it() -> None:
    inertias = np.array([4.0, 3.0, 2.0, 1.0])
    assert [by_share(inertias, 10.0, q).n_components for q in (0.3, 0.4, 0.41, 0.7, 0.9, 1.0)] == [
        *(1, 1, 2, 2, 3, 4)
    ]
    choice = by_share(inertias, 10.0, 0.7)
    np.testing.assert_allclose(choice.cumulated, [0.4, 0.7, 0.9, 1.0])
    assert choice.is_decided


def test_axes_that_do_not_reach_the_share_give_the_least_number() -> None:
    choice = by_share(np.array([6.0, 1.1]), 10.0, 0.95)
    assert not choice.is_decided
    assert choice.n_components == 5  # 2.4 are missing, and later axes carry at most 1.1 each
    assert "the 2 axes computed reach only 71 % of the inertia" in choice.evidence


def test_kaiser_keeps_what_exceeds_the_mean() -> None:
    choice = by_kaiser(np.array([2.5, 1.0, 0.4, 0.1]), 4.0, 4)
    assert (choice.n_components, choice.mean) == (1, 1.0)  # an axis equal to the mean is not kept
    assert by_kaiser(np.ones(3) * (1 + 1e-15), 3.0, 3).n_components == 0
    short = by_kaiser(np.array([2.5, 1.2]), 4.0, 4)
    assert (short.n_components, short.is_decided) == (2, False)
    assert "at least 2 axes: all that were computed exceed" in short.evidence


def test_kaiser_on_swiss_is_what_r_counts() -> None:
    choice = mc.choose_dimension(Columns(X), "kaiser")
    assert isinstance(choice, KaiserChoice)
    assert choice.n_components == SWISS["kaiser_keep"]
    assert choice.mean == pytest.approx(1.0)


def test_constant_columns_that_a_model_left_out_do_not_count() -> None:
    model = Columns(CONSTANT_COLUMN)
    assert model.n_features_in_ == 6
    choice = mc.choose_dimension(model, "kaiser")
    assert isinstance(choice, KaiserChoice)
    assert choice.mean == pytest.approx(1.0)
    horn = mc.parallel_analysis(model, 30, random_state=0)
    close(horn.observed, model.inertias_)


def test_kaiser_without_standardising_is_the_mean_over_columns() -> None:
    raw = SimpleNamespace(
        inertias_=np.array([5.0, 2.0]), inertia_=8.0, n_features_in_=4, standardize=False
    )
    choice = mc.choose_dimension(raw, "kaiser")
    assert isinstance(choice, KaiserChoice)
    assert (choice.mean, choice.n_components, choice.is_decided) == (2.0, 1, True)


def test_kaiser_of_a_kernel_is_the_mean_over_individuals_less_one() -> None:
    model = mc.KernelPCA(kernel=mc.Gaussian(2.0)).fit(ONE_FACTOR)
    choice = mc.choose_dimension(model, "kaiser")
    assert isinstance(choice, KaiserChoice)
    assert choice.mean == pytest.approx(model.inertia_ / 39)
    assert choice.n_components == int(np.sum(model.inertias_ > model.inertia_ / 39))


def test_scree_stops_at_the_first_second_difference_that_is_not_positive() -> None:
    """Differences 4, 3, 0.5, 1.5, 0.6, 0.3: of the second ones, the third is negative."""
    inertias = np.array([10.0, 6.0, 3.0, 2.5, 1.0, 0.4, 0.1])
    choice = by_scree(inertias, float(inertias.sum()))
    np.testing.assert_allclose(choice.first_differences, [4.0, 3.0, 0.5, 1.5, 0.6, 0.3])
    np.testing.assert_allclose(choice.second_differences, [1.0, 2.5, -1.0, 0.9, 0.3])
    assert choice.n_components == 3
    as_printed = 1 + int(np.sum(choice.second_differences > 0))  # all positive ones
    assert as_printed == 5


@pytest.mark.parametrize(
    ("inertias", "total", "kept", "is_decided"),
    [
        ([4.0, 3.0, 1.0], 8.0, 1, True),  # δ₁ = -1
        ([5.0, 2.0, 1.0], 8.0, 2, True),  # δ₁ = 2, and there are no more axes
        ([5.0, 2.0, 1.0], 20.0, 2, False),
        ([3.0, 2.0, 1.0], 6.0, 1, True),  # δ₁ = 0
        ([1.0, 1.0, 1.0], 3.0, 1, True),
        ([3.0, 1.0], 4.0, 1, True),
        ([3.0, 1.0], 9.0, 1, False),
        ([3.0], 3.0, 1, True),
        ([], 0.0, 0, True),
    ],
)
def test_scree_of_short_lists(
    inertias: list[float], total: float, kept: int, is_decided: bool
) -> None:
    choice = by_scree(np.array(inertias), total)
    assert (choice.n_components, choice.is_decided) == (kept, is_decided)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12), st.floats(0.05, 1.0))
@example([48.0, 1000.0, 1000.0, 0.001, 0.001], 1.0)
def test_what_few_axes_leave_open_all_axes_confirm(numbers: list[float], share: float) -> None:
    inertias = np.sort(np.array(numbers))[::-1]
    total = float(inertias.sum())
    rules: list[Callable[[Array], Any]] = [
        lambda values: by_share(values, total, share),
        lambda values: by_kaiser(values, total, len(inertias)),
        lambda values: by_scree(values, total),
    ]
    for rule in rules:
        full = rule(inertias)
        assert full.is_decided
        for m in range(1, len(inertias)):
            part = rule(inertias[:m])
            if part.is_decided:
                assert part.n_components == full.n_components
            else:
                assert part.n_components <= full.n_components
                assert part.evidence.startswith("at least")


def test_all_rules_come_in_one_mapping() -> None:
    choices = mc.choose_dimension(Columns(X), "all", permutations=ROWS)
    assert {name: choice.n_components for name, choice in choices.items()} == {
        "inertia": 5,
        "kaiser": 2,
        "scree": 2,
        "horn": 1,
    }
    assert all(choice.is_decided and choice.rule == name for name, choice in choices.items())
    assert isinstance(choices["scree"], ScreeChoice)
    for name in ("inertia", "kaiser", "scree", "horn"):
        one = mc.choose_dimension(Columns(X), name, permutations=ROWS)
        assert one.evidence == choices[name].evidence


def test_a_rule_that_the_data_do_not_allow_says_so_among_all() -> None:
    model = mc.KernelPCA(kernel="precomputed").fit(mc.Gaussian(1.0)(ONE_FACTOR))
    choice = mc.choose_dimension(model, "all")["horn"]
    assert (choice.n_components, choice.is_decided) == (0, False)
    assert "a precomputed matrix has no columns" in choice.evidence
    with pytest.raises(mc.errors.InvalidInput, match="precomputed"):
        mc.choose_dimension(model, "horn")


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            Columns(X),
            {"rule": "elbow"},
            "horn, cross-validation or all, found 'elbow'",
        ),
        (Columns(X), {"share": 1.5}, r"share must be a number in \(0, 1\]"),
        (Columns(X), {"share": 0}, "share"),
        (mc.KernelPCA(2), {}, "pass a fitted PCA or KernelPCA"),
        (X, {}, "ndarray has no inertias_"),
        (
            SimpleNamespace(inertias_=np.ones(2), inertia_=2.0),
            {"rule": "kaiser"},
            "needs n_features_in_ or kernel_",
        ),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused_by_name(
    model: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(mc.errors.MercerError, match=message):
        mc.choose_dimension(model, **options)


def test_the_procedure_runs_on_handwritten_threes() -> None:
    """Yao's procedure on data that are available: several axes, far fewer than the pixels."""
    digits = load_digits()
    threes = digits.data[digits.target == 3]
    threes = threes[:, threes.std(axis=0) > 0]
    horn = mc.parallel_analysis(threes, 99, random_state=0)
    assert 3 <= horn.n_components <= threes.shape[1] // 3
    assert np.all(horn.p_values[: horn.n_components] == 0.01)
    assert horn.is_decided


# Individuals without weight, tables of several types


WITHOUT = np.r_[np.zeros(3), np.ones(37)]


@pytest.mark.parametrize(
    "model",
    [
        mc.PCA(),
        mc.PCA(standardize=True),
        mc.KernelPCA(3),
        mc.KernelPCA(3, kernel=mc.Gaussian("median")),
    ],
    ids=["pca", "standardised", "linear", "gaussian"],
)
def test_individuals_without_weight_are_not_there(model: Any) -> None:
    found = clone(model).fit(ONE_FACTOR, sample_weight=WITHOUT)
    expected = clone(model).fit(ONE_FACTOR[3:])
    horns = [mc.parallel_analysis(m, 19, random_state=0) for m in (found, expected)]
    close(horns[0].observed, horns[1].observed)
    close(horns[0].null, horns[1].null)
    close(horns[0].p_values, horns[1].p_values)
    choices = [mc.choose_dimension(m, "kaiser") for m in (found, expected)]
    assert all(isinstance(choice, KaiserChoice) for choice in choices)
    assert choices[0].mean == pytest.approx(choices[1].mean, rel=1e-12)  # type: ignore[attr-defined]
    assert choices[0].n_components == choices[1].n_components


def mixed(n: int = 40) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    z = rng.standard_normal(n)
    return {
        "one": z + 0.4 * rng.standard_normal(n),
        "two": z + 0.4 * rng.standard_normal(n),
        "sign": np.where(z > 0, "plus", "minus").tolist(),
    }


def test_a_table_of_several_types_is_permuted_column_by_column() -> None:
    table = mixed()
    model = mc.KernelPCA(2, kernel=mc.Columns()).fit(table)
    rows = Drawn(19, seed=1).indices(40, 3)
    horn = mc.parallel_analysis(model, rows)
    close(horn.observed, model.explained_variance_ratio_)
    moved = {name: [table[name][i] for i in rows[4, :, j]] for j, name in enumerate(table)}
    again = mc.KernelPCA(2, kernel=mc.Columns()).fit(moved)
    close(horn.null[4], again.explained_variance_ratio_)
    assert horn.n_components == 1
    without = mc.parallel_analysis(model.without([0]), 19, random_state=0)
    fresh = mc.KernelPCA(2, kernel=mc.Columns()).fit({n: list(c)[1:] for n, c in table.items()})
    close(without.observed, fresh.explained_variance_ratio_)
    with pytest.raises(mc.errors.InvalidParameter, match="no columns of numbers"):
        mc.parallel_analysis(table, 19, kernel=mc.Columns(), standardize=True)


def test_a_kernel_that_sees_no_difference_has_no_axes() -> None:
    with pytest.raises(mc.errors.InvalidInput, match="no inertia"):
        mc.parallel_analysis(ONE_FACTOR, 19, kernel=mc.kernels.Constant(2.0))


def test_a_scree_says_in_words_where_it_stops_and_what_it_misses() -> None:
    found = by_scree(np.array([3.69, 2.23, 0.56, 0.51, 0.35]), 7.34)  # an elbow after two steps
    assert found.n_components == 1
    assert found.evidence == (
        "1 axis: the step from axis 2 to 3 is larger than that from 1 to 2; a bend further on is "
        "not looked for"
    )
    later = by_scree(np.array([10.0, 6.0, 3.0, 2.5, 1.0]), 22.5).evidence
    assert later.startswith(
        "3 axes: up to axis 3 each step down is smaller than the one before, and the step from "
        "axis 4 to 5 is larger than that from 3 to 4"
    )
    even = by_scree(np.array([3.0, 2.0, 1.0, 0.5]), 6.5).evidence
    assert even.startswith("1 axis: the step from axis 2 to 3 is as large as that from 1 to 2")


def test_two_steps_are_spoken_of_as_two() -> None:
    found = by_scree(np.array([4.0, 2.0, 1.0]), 9.0)
    assert "the second step down is smaller than the first" in found.evidence


def test_shuffles_are_compiled_where_a_process_makes_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, compiled = np.arange(12.0).reshape(3, 4), []

    def note(bits: Any, columns: Any, out: Any) -> bool:
        compiled.append(columns.size)
        return False

    monkeypatch.setattr(column_permutations, "has_shuffled", note)
    monkeypatch.setattr(column_permutations, "LOADING_PAYS", 8 * table.size)
    monkeypatch.setattr(column_permutations.Shuffled, "entries", 0)
    _compiled_shuffle.cache_clear()  # of tests before this one
    for _ in range(2):  # five tables are few, ten are not
        for r in range(5):
            Drawn(5, seed=0).apply(r, table, np.empty_like(table))
    assert len(compiled) == 5


@pytest.mark.parametrize("shape", [(4, 1), (3, 2), (50, 24), (7, 33), (3, 2000)])
def test_the_compiled_shuffle_is_that_of_numpy(shape: tuple[int, int]) -> None:
    columns = np.random.default_rng(0).standard_normal(shape)
    drawn, out = Drawn(9, seed=5), np.empty(shape)
    for r in range(9):
        expected = np.random.Generator(drawn.bits(r)).permuted(columns, axis=1)
        assert has_shuffled(drawn.bits(r), columns, out) or find_spec("numba") is None
        np.testing.assert_array_equal(drawn.apply(r, columns, out), expected)


# -- cross-validation of cells


def _planted(seed: int, rank: int, noise: float, n: int = 60, p: int = 8) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(
        rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + noise * rng.normal(size=(n, p))
    )


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_cross_validation_finds_the_rank_that_was_planted(rank: int) -> None:
    found = [
        mc.choose_dimension(mc.PCA().fit(_planted(seed, rank, 0.3)), "cross-validation")
        for seed in range(20)
    ]
    assert np.mean([choice.n_components == rank for choice in found]) >= 0.9
    assert all(choice.is_decided for choice in found)


def test_the_criterion_is_the_error_of_cells_left_out_one_at_a_time() -> None:
    """Each cell is taken out, put in by as many axes, and compared with what it was."""
    x = _planted(3, 2, 0.5, n=14, p=5)
    found = mc.choose_dimension(mc.PCA().fit(x), "cross-validation")
    assert isinstance(found, CrossValidationChoice)
    errors = []
    for count in range(4):
        squares = []
        for i, j in np.ndindex(x.shape):
            holed = x.copy()
            holed[i, j] = np.nan
            filled = mc.data.impute(
                holed, count, standardize=False, regularised=False, tol=1e-5
            ).values
            squares.append((filled[i, j] - x[i, j]) ** 2)
        errors.append(np.mean(squares))
    assert int(np.argmin(errors)) == found.n_components == 2
    np.testing.assert_allclose(found.errors[:3], errors[:3], rtol=0.35)


def test_cross_validation_says_when_more_axes_are_needed_or_there_are_no_cells() -> None:
    x = _planted(0, 3, 0.3)
    few = mc.choose_dimension(mc.PCA(2).fit(x), "cross-validation")
    assert not few.is_decided
    assert "at least 2 axes" in few.evidence
    with pytest.raises(InvalidInput, match="cells of a table"):
        mc.choose_dimension(mc.KernelPCA(2).fit(x), "cross-validation")
    with pytest.raises(InvalidInput, match="3 individuals and 2 columns"):
        mc.choose_dimension(mc.PCA().fit(x[:, :1]), "cross-validation")
    scaled = mc.choose_dimension(mc.PCA(standardize=True).fit(x), "cross-validation")
    moved = mc.choose_dimension(mc.PCA(standardize=True).fit(x * 2.0**40 + 1.0), "cross-validation")
    assert scaled.n_components == moved.n_components


def test_landmarks_are_the_whole_matrix_when_there_are_as_many_as_individuals() -> None:
    one = np.random.default_rng(2).standard_normal((60, 3))
    one[:, 1] += one[:, 0]
    given: dict[str, Any] = {"kernel": mc.Gaussian(2.0), "random_state": 4, "axes": 5}
    whole = mc.parallel_analysis(one, 19, **given)
    same = mc.parallel_analysis(one, 19, **given, landmarks=60)
    assert np.array_equal(whole.null, same.null)
    near = mc.parallel_analysis(one, 19, **given, landmarks=59)
    close(near.null, whole.null, 0.02)
    assert np.max(np.abs(near.null - whole.null)) > 0
    assert "axes of 59 landmarks" in near.evidence
    assert "landmarks" not in whole.evidence


def test_the_evidence_says_how_far_the_axes_of_landmarks_are_from_those_of_the_model() -> None:
    curve = np.random.default_rng(3).uniform(-2, 2, 600)
    data = np.column_stack([curve, curve**2]) + 0.1 * np.random.default_rng(4).normal(size=(600, 2))
    model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(data)
    found = mc.parallel_analysis(model, 39, random_state=0)
    said = float(found.evidence.split("within ")[1].split(" %")[0])
    share = model.inertias_ / model.inertia_
    assert said == pytest.approx(100 * np.max(np.abs(found.observed - share)) / share[0], rel=0.05)
    assert said < 5.0
    assert found.n_components >= 1


def test_p_values_on_landmarks_are_uniform_where_columns_are_independent() -> None:
    found = [
        mc.parallel_analysis(
            np.random.default_rng(seed).standard_normal((40, 2)),
            19,
            kernel=mc.Gaussian("median"),
            landmarks=8,
            axes=1,
            random_state=seed,
            threads=1,
        ).p_values[0]
        for seed in range(200)
    ]
    counts = np.bincount(np.round(np.array(found) * 20).astype(int) - 1, minlength=20)
    assert chi2.sf(np.sum((counts - 10) ** 2 / 10), 19) > 1e-4


def test_columns_with_features_of_their_own_are_permuted_as_the_rows_of_their_kernel() -> None:
    rng = np.random.default_rng(6)
    table: dict[str, Any] = {"a": rng.choice(["x", "y", "z"], 30), "b": rng.choice(["u", "v"], 30)}
    table["c"] = rng.standard_normal(30)
    model = mc.FAMD().fit(table)
    rows = Drawn(15, seed=3).indices(30, 3)
    quick = mc.parallel_analysis(model, rows)
    slow = mc.parallel_analysis(model.X_fit_, rows, kernel=model.kernel_, axes=len(quick.observed))
    close(quick.null, slow.null, 1e-12)
    close(quick.observed, slow.observed, 1e-12)


def test_sampling_ends_when_it_is_decided_which_axes_are_kept() -> None:
    whole = mc.parallel_analysis(ONE_FACTOR, 999, random_state=2)
    early = mc.parallel_analysis(ONE_FACTOR, 999, random_state=2, risk=0.001)
    made = int(early.draws.max())
    assert made < 300
    assert early.n_components == whole.n_components == 1
    assert np.array_equal(early.null, whole.null[:made])
    assert f"{made} permutations of 999, which decided" in early.evidence
    assert early.p_values[0] == 1 / (made + 1)
    with pytest.raises(mc.errors.InvalidParameter, match="risk must be a number in"):
        mc.parallel_analysis(ONE_FACTOR, 99, risk=1.0)


def test_landmarks_of_a_matrix_with_negative_eigenvalues_are_refused() -> None:
    x = np.random.default_rng(0).standard_normal((560, 4))
    kernel = mc.kernels.FromFunction(lambda x, y: float(np.tanh(x @ y - 1.0)))
    with pytest.raises(mc.errors.NotPositiveDefinite, match="landmarks cannot represent"):
        mc.parallel_analysis(x, 2, kernel=kernel, axes=2, landmarks=40, random_state=0)
