"""Data as people bring them, 40 cases: each ends in a right result, a warning or a named error."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import mercer as mc
from mercer.check import Array
from mercer.errors import ConstantColumns, FewerAxes, NoInertia
from tests.references import near

RNG = np.random.default_rng(23)
X = RNG.standard_normal((12, 3)) * [3.0, 2.0, 1.0]
WHOLE = np.round(40.0 * X)


def scores(model: Any) -> Callable[[Any], Array]:
    return lambda x: np.asarray(model.fit_transform(x))


MODELS: dict[str, Callable[[Any], Array]] = {
    "PCA": scores(mc.PCA()),
    "standardised": scores(mc.PCA(standardize=True)),
    "linear": scores(mc.KernelPCA()),
    "gaussian": scores(mc.KernelPCA(1, kernel=mc.Gaussian("median"))),
    "classical": scores(mc.ClassicalMDS(None, metric="euclidean")),
    "stress": scores(mc.StressMDS(2, metric="euclidean", n_starts=1, random_state=0)),
    "Horn": lambda x: mc.parallel_analysis(x, 9, random_state=0).observed,
}
"""Every way from a table to numbers, of which none may be NaN."""


@contextmanager
def left_alone(data: Any) -> Iterator[None]:
    """Assert that the caller's data are, in the end, what they were."""
    before = deepcopy(data)
    yield
    is_same = data.equals(before) if hasattr(data, "equals") else None
    assert pickle.dumps(data) == pickle.dumps(before) if is_same is None else is_same


def changed(value: Any, dtype: Any = float) -> Array:
    """Return the table with another value in row 4, column 2."""
    x = X.astype(dtype)
    x[4, 2] = value
    return np.asarray(x)


def masked() -> Any:
    mask = np.zeros(X.shape, bool)
    mask[4, 2] = True
    return np.ma.array(X, mask=mask)


def frame(**columns: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def nullable() -> Any:
    pandas = pytest.importorskip("pandas")
    return frame(x=pandas.array([1.5, None, 3.0], dtype="Float64"), y=[1.0, 2.0, 4.0])


def polars() -> Any:
    return pytest.importorskip("polars").DataFrame({"x": [1.5, None, 3.0], "y": [1.0, 2.0, 4.0]})


def category() -> Any:
    pandas = pytest.importorskip("pandas")
    return frame(x=X[:, 0], group=pandas.Categorical(["a", "b"] * 6))


def dated() -> Any:
    return frame(x=X[:, 0], day=pytest.importorskip("pandas").date_range("2020-01-01", periods=12))


def twice_named() -> Any:
    return pytest.importorskip("pandas").DataFrame(X[:, :2], columns=["a", "a"])


class Refused(NamedTuple):
    """Data, what the message must say, and who can do without what is wrong with them."""

    data: Callable[[], Any]
    message: str
    except_for: str = ""


REFUSED = {
    "no rows": Refused(lambda: X[:0], r"0 sample|found 0"),
    "no columns": Refused(lambda: X[:, :0], r"0 feature|at least one number"),
    "NaN": Refused(lambda: changed(np.nan), r"row 4, column 2.*(NaN|nan).*[Ii]mpute"),
    "infinity": Refused(lambda: changed(np.inf), r"row 4, column 2.*inf.*[Ii]mpute"),
    "minus infinity": Refused(lambda: changed(-np.inf), r"row 4, column 2.*inf.*[Ii]mpute"),
    "None": Refused(lambda: changed(None, object), r"row 4, column 2.*(NaN|nan).*[Ii]mpute"),
    "a mask": Refused(masked, r"masked.*row 4, column 2.*fill"),
    "complex numbers": Refused(lambda: X + 1j, r"[Cc]omplex"),
    "text": Refused(lambda: changed("four", object), r"row 4, column 2: 'four'.*encode"),
    "a categorical column": Refused(category, r"row 0, column 1.*'a' is not a number.*encode"),
    "dates": Refused(lambda: np.arange(6).astype("M8[D]").reshape(3, 2), r"datetime64.*convert"),
    "a column of dates": Refused(dated, r"row 0, column 1.*Timestamp.*encode"),
    "a missing nullable number": Refused(nullable, r"row 1, column 0.*NaN"),
    "a null of polars": Refused(polars, r"row 1, column 0.*(NaN|nan)"),
    "numbers beyond doubles": Refused(lambda: [[10**400, 1], [2, 3]], r"too large to convert"),
    "rows of two lengths": Refused(lambda: [[1.0, 2.0], [3.0]], r"row 1 .*1 coordinates.*row 0"),
    "three dimensions": Refused(lambda: np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
    "equal names": Refused(twice_named, r"named 'a'; rename", except_for="Horn"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_table_is_refused_by_its_place(case: str) -> None:
    data, (_, message, exception) = REFUSED[case].data(), REFUSED[case]
    with left_alone(data):
        for name, model in MODELS.items():
            if name == exception:
                assert np.all(np.isfinite(model(data)))
                continue
            with pytest.raises(mc.errors.InvalidInput, match=message) as caught:
                model(data)
            assert "\n" not in str(caught.value), name


def read_only() -> Array:
    x = X.copy()
    x.flags.writeable = False
    return x


def nullable_whole() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({str(j): pandas.array(WHOLE[:, j], dtype="Int64") for j in range(3)})


class Answered(NamedTuple):
    """Data, the table of doubles they stand for, and how near the results are."""

    data: Callable[[], Any]
    plain: Callable[[], Array]
    tolerance: float = 1e-12


ANSWERED = {
    "booleans": Answered(lambda: X > 0, lambda: (X > 0).astype(float)),
    "int8, whose sums overflow": Answered(
        lambda: np.clip(WHOLE, -127, 127).astype(np.int8), lambda: np.clip(WHOLE, -127, 127)
    ),
    "uint8, whose differences wrap": Answered(
        lambda: np.clip(np.abs(WHOLE), 0, 255).astype(np.uint8),
        lambda: np.clip(np.abs(WHOLE), 0, 255),
    ),
    "numbers as objects": Answered(lambda: X.astype(object), lambda: X),
    "single precision": Answered(lambda: X.astype(np.float32), lambda: X, 1e-6),
    "half precision": Answered(
        lambda: X.astype(np.float16), lambda: X.astype(np.float16).astype(float)
    ),
    "the other byte order": Answered(lambda: X.astype(X.dtype.newbyteorder()), lambda: X),
    "read only": Answered(read_only, lambda: X),
    "columns first": Answered(lambda: np.asfortranarray(X), lambda: X),
    "every other row, backwards": Answered(
        lambda: np.repeat(X, 2, axis=0)[::-2, ::-1], lambda: X[::-1, ::-1].copy()
    ),
    "an empty mask": Answered(lambda: np.ma.array(X), lambda: X),
    "nullable whole numbers": Answered(nullable_whole, lambda: WHOLE),
}


@pytest.mark.parametrize("case", ANSWERED)
def test_the_table_is_read_as_the_numbers_it_stands_for(case: str) -> None:
    data, plain, tolerance = ANSWERED[case].data(), ANSWERED[case].plain(), ANSWERED[case].tolerance
    with left_alone(data):
        for model in MODELS.values():
            near(model(data), model(plain), tolerance)


def test_a_memory_map_is_read_as_the_numbers_it_holds(tmp_path: Path) -> None:
    data = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=X.shape)
    data[:] = X
    data.flush()
    for mode in ("r", "c"):
        mapped: Any = np.memmap(tmp_path / "x", dtype=float, mode=mode, shape=X.shape)
        for model in MODELS.values():
            near(model(mapped), model(X), 1e-12)
    assert np.array_equal(np.fromfile(tmp_path / "x").reshape(X.shape), X)


def test_a_sparse_table_is_taken_as_it_is_or_refused_by_name() -> None:
    dense = np.where(X > 0.5, X, 0.0)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        data = kind(dense)
        for name, model in MODELS.items():
            if name in ("PCA", "standardised", "linear", "gaussian"):
                near(model(data), model(dense), 1e-12)
            else:
                instead = r"X\.toarray\(\)" if name == "Horn" else r"PCA\(n_components\) of sparse"
                with pytest.raises(mc.errors.InvalidInput, match=f"sparse.*{instead}"):
                    model(data)


def assert_no_axes(x: Array) -> None:
    """Assert that data in one place have no axes, and that this is said."""
    for name in ("PCA", "standardised", "linear", "classical"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert MODELS[name](x).shape == (len(x), 0), name
        assert {warning.category for warning in said} - {ConstantColumns} == {NoInertia}
    with pytest.warns(NoInertia):
        assert mc.KernelPCA(kernel=mc.Gaussian(2.0)).fit_transform(x).shape == (len(x), 0)
    with pytest.raises(mc.errors.InvalidInput, match="'median' is undefined: all points are equal"):
        MODELS["gaussian"](x)


def test_one_row_has_a_place_and_no_axes() -> None:
    assert_no_axes(X[:1])
    with pytest.warns(NoInertia, match="one individual"):
        assert np.array_equal(MODELS["stress"](X[:1]), np.zeros((1, 2)))
    with pytest.raises(mc.errors.InvalidInput, match="at least two individuals, found 1"):
        MODELS["Horn"](X[:1])


def test_two_rows_have_their_distance() -> None:
    length = np.linalg.norm(X[1] - X[0])
    with pytest.warns(FewerAxes, match="there is 1 axis, fewer than the 2"):
        found = [MODELS["stress"](X[:2])]
    found += [MODELS[name](X[:2]) for name in ("PCA", "linear", "classical")]
    for first, second in found:
        assert np.linalg.norm(second - first) == pytest.approx(length, rel=1e-7)
    assert MODELS["standardised"](X[:2]).shape == (2, 1)
    assert MODELS["gaussian"](X[:2]).shape == (2, 1)
    assert MODELS["Horn"](X[:2]).shape == (1,)


def test_one_column_is_its_own_axis() -> None:
    column = X[:, :1] - X[:, :1].mean()
    for name in ("PCA", "linear", "classical"):
        near(np.abs(MODELS[name](X[:, :1])), np.abs(column), 1e-12)
    near(np.abs(MODELS["stress"](X[:, :1])[:, :1]), np.abs(column), 1e-4)
    assert MODELS["gaussian"](X[:, :1]).shape == (12, 1)
    with pytest.raises(mc.errors.InvalidInput, match="at least two columns, found 1"):
        MODELS["Horn"](X[:, :1])


def test_many_more_columns_than_rows() -> None:
    wide = np.random.default_rng(0).standard_normal((24, 20_000))
    centred = wide - wide.mean(axis=0)
    expected = np.linalg.eigvalsh(centred @ centred.T)[::-1][:23] / 24
    model = mc.PCA().fit(wide)
    near(model.inertias_, expected, 1e-12)
    near(mc.KernelPCA().fit(wide).inertias_, expected, 1e-12)
    near(mc.ClassicalMDS(23, metric="euclidean").fit(wide).eigenvalues_[:23], 24 * expected, 1e-12)
    near(mc.parallel_analysis(wide, 1, standardize=False).observed, expected, 1e-12)
    near(model.transform(wide), model.individuals_.coordinates, 1e-8)
    for name in ("standardised", "gaussian", "stress"):
        assert np.all(np.isfinite(MODELS[name](wide)))


def test_a_constant_column_adds_nothing_and_is_named_where_it_matters() -> None:
    x = np.column_stack([X[:, 0], np.full(12, 7.3), X[:, 1]])
    for name, model in MODELS.items():
        if name == "standardised":
            with pytest.warns(ConstantColumns, match="cannot be standardised: x1"):
                found = model(x)
        elif name == "Horn":
            with pytest.raises(mc.errors.InvalidInput, match="column 1 is constant"):
                model(x)
            continue
        else:
            found = model(x)
        near(found, model(X[:, :2]), 1e-7 if name == "stress" else 1e-12)


def test_a_constant_table_has_no_axes() -> None:
    x = np.full((6, 3), 0.1)
    assert_no_axes(x)
    with pytest.warns(NoInertia, match="all 6 individuals coincide"):
        assert np.all(MODELS["stress"](x) == 0.0)
    with pytest.raises(mc.errors.InvalidInput, match="all individuals are equal"):
        MODELS["Horn"](x)


def test_a_column_given_twice_counts_twice() -> None:
    twice, weighted = X[:, [0, 0, 1]], X[:, :2] * np.sqrt([2.0, 1.0])
    for name in ("PCA", "linear", "classical", "gaussian"):
        near(MODELS[name](twice), MODELS[name](weighted), 1e-12)
    model = mc.PCA(standardize=True).fit(twice)
    assert model.spectrum_.rank == model.n_components_ == 2
    assert np.all(np.isfinite(MODELS["Horn"](twice)))


def test_rows_given_several_times_are_one_row_with_more_weight() -> None:
    counts = np.array([3, 1, 2, 1, 1, 2])
    rows = np.repeat(X[:6], counts, axis=0)
    kernel = mc.Gaussian(2.0)
    models: list[Any] = [mc.PCA(), mc.KernelPCA(2), mc.KernelPCA(2, kernel=kernel)]
    for model in (*models, mc.ClassicalMDS(2, metric="euclidean")):
        weighted = model.fit_transform(X[:6], sample_weight=counts)
        near(model.fit_transform(rows), np.repeat(weighted, counts, axis=0), 1e-10)
    found = MODELS["stress"](rows)
    near(found[0], found[2], 1e-5)
    assert np.all(np.isfinite(MODELS["Horn"](rows)))
