from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mercer import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial, Precomputed
from mercer.check import (
    Array,
    Checked,
    as_numpy,
    chunks,
    finite,
    how_many,
    members,
    namespace,
    part_of,
    real_array,
    rows_of,
    square_matrix,
    vectors,
    worst_asymmetry,
)
from mercer.data import Paired
from mercer.errors import InvalidInput, InvalidParameter, MercerError
from mercer.kernels import Bilinear, Constant, Delta, NegativeDistance
from mercer.points import as_points
from mercer.settings import nonnegative, number, numbers, whole

X = np.random.default_rng(0).normal(size=(6, 4)).round(3)
WHOLE = np.random.default_rng(1).integers(-9, 10, size=(6, 4)).astype(np.float64)
KERNELS: list[Kernel] = [
    Linear(),
    Polynomial(2),
    Gaussian(2.0),
    Laplacian(2.0),
    Matern(1.5, 3.0),
    NegativeDistance(),
    Linear().normalised(),
    Linear().gaussian(3.0),
    0.5 * Gaussian(2.0) + Linear() * Constant(2.0),
    Gaussian().centred(X),
]
for_every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def readonly(a: Array) -> Array:
    copy = a.copy()
    copy.flags.writeable = False
    return copy


def foreign(a: Any) -> Any:
    """Return an array that follows the array API standard and does nothing beyond it."""
    return strict.asarray(a)


class Frame:
    """What kernels see of a data frame: columns by name, rows by slices, an array on demand."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Frame(self.rows[index])
        raise KeyError(index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.rows, dtype=dtype)


class Indexed:
    """Points with a length and an index, and nothing else."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]


FORMS: dict[str, Callable[[Array], Any]] = {
    "Fortran order": np.asfortranarray,
    "read-only": readonly,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "every second column": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "rows backwards": lambda a: a[::-1].copy()[::-1],
    "columns backwards": lambda a: a[:, ::-1].copy()[:, ::-1],
    "transposed twice": lambda a: a.T.copy().T,
    "big endian": lambda a: a.astype(">f8"),
    "extended precision": lambda a: a.astype(np.longdouble),
    "matrix": lambda a: a.view(np.matrix),
    "masked array without a mask": np.ma.array,
    "objects": lambda a: a.astype(object),
    "list of lists": lambda a: a.tolist(),
    "tuple of arrays": tuple,
    "list of tuples": lambda a: [tuple(row) for row in a],
    "fractions": lambda a: [[Fraction(float(v)) for v in row] for row in a],
    "decimals": lambda a: [[Decimal(float(v)) for v in row] for row in a],
    "frame": Frame,
    "index only": lambda a: Indexed(list(a)),
}


@pytest.mark.parametrize("form", FORMS)
@for_every_kernel
def test_the_form_of_the_points_does_not_change_the_kernel(kernel: Kernel, form: str) -> None:
    x = FORMS[form](X)
    np.testing.assert_allclose(kernel(x), kernel(X), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(kernel.diag(x), kernel.diag(X), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(kernel(x, X[:2]), kernel(X, X[:2]), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(kernel(X[:2], x), kernel(X[:2], X), rtol=1e-13, atol=1e-13)


def test_a_memory_map_is_read_and_not_written(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    x = np.load(tmp_path / "x.npy", mmap_mode="r+")
    for kernel in KERNELS:
        np.testing.assert_array_equal(kernel(x), kernel(X))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float16, object])
@for_every_kernel
def test_whole_numbers_of_any_type_are_numbers(kernel: Kernel, dtype: Any) -> None:
    np.testing.assert_allclose(kernel(WHOLE.astype(dtype)), kernel(WHOLE), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_])
@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=str)
def test_small_types_neither_wrap_nor_saturate(kernel: Kernel, dtype: Any) -> None:
    largest = 1 if dtype is np.bool_ else np.iinfo(dtype).max
    x = np.array([[0, largest], [largest, 0], [largest, largest]], dtype)
    np.testing.assert_array_equal(kernel(x), kernel(x.astype(np.float64)))


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_data_frame_is_read_by_its_rows(name: str) -> None:
    library = pytest.importorskip(name)
    frame = library.DataFrame({f"v{j}": X[:, j] for j in range(4)})
    for kernel in KERNELS:
        np.testing.assert_allclose(kernel(frame), kernel(X), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("p", [1, 4, 5])
def test_few_points_have_small_matrices(n: int, p: int) -> None:
    x = np.arange(1.0, n * p + 1).reshape(n, p)
    y = np.ones((3, p))
    for kernel in KERNELS[:-1]:
        assert kernel(x).shape == (n, n)
        assert kernel(x, y).shape == (n, 3)
        assert kernel(y, x).shape == (3, n)
        assert kernel.diag(x).shape == (n,)
        np.testing.assert_allclose(kernel(y, x), kernel(x, y).T, rtol=1e-14)
        np.testing.assert_allclose(np.diag(kernel(x)), kernel.diag(x), rtol=1e-14)


def test_no_points_at_all_are_points_too() -> None:
    assert Gaussian()([]).shape == (0, 0)
    assert Delta()([]).shape == (0, 0)
    assert Linear().diag([]).shape == (0,)
    assert Gaussian().partials(X[:0])["bandwidth"].shape == (0, 0)
    assert Gaussian().slopes(X[:0], X).shape == (0, 6, 4)


def test_a_one_dimensional_array_holds_points_of_the_line() -> None:
    t = np.array([0.0, 1.0, 3.0])
    for kernel in KERNELS[:-1]:
        np.testing.assert_array_equal(kernel(t), kernel(t[:, None]))
    np.testing.assert_array_equal(Linear()(t), np.outer(t, t))


def test_many_more_columns_than_rows_keep_their_accuracy() -> None:
    x = np.random.default_rng(2).normal(size=(24, 20_000)) + 5.0
    exact = np.array([[np.sum((a - b) ** 2) for b in x] for a in x])
    K = Gaussian(100.0)(x)
    np.testing.assert_allclose(K, np.exp(-exact / 2e4), rtol=1e-12)
    np.testing.assert_array_equal(K, K.T)


def test_constant_and_duplicate_rows_and_columns_are_ordinary_points() -> None:
    x = np.hstack([X, X[:, :1], np.full((6, 1), 7.0)])
    x = np.vstack([x, x[:2]])
    for kernel in (Gaussian(), Laplacian(), Linear(), Linear().normalised(), Delta()):
        K = kernel(x)
        np.testing.assert_array_equal(K[6:], K[:2])
        assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.max(K)


REFUSED: list[tuple[str, Any, str]] = [
    ("nan", [[1.0, 2.0], [3.0, np.nan]], "x, row 1, column 1 holds NaN. Remove"),
    ("+inf", np.array([[np.inf, 1.0]]), "x, row 0, column 0 holds inf. Remove"),
    ("-inf", [[1.0], [2.0], [-np.inf], [np.nan]], "row 2, column 0 holds -inf, and 1 more"),
    ("complex nan", [[1j], [complex(0, np.nan)]], "row 1, column 0"),
    ("None", [[1.0, None]], "row 0, column 1 holds NaN"),
    ("single inf", np.array([[1.0], [np.inf]], np.float32), "row 1, column 0 holds inf"),
    ("too large", [[10**400]], "x cannot be read as numbers"),
    ("too large for double", np.array([[np.longdouble(10) ** 400]]), "row 0, column 0 holds inf"),
    ("masked", np.ma.array(X[:2], mask=np.eye(2, 4) > 0), "masked.*row 0, column 0"),
    ("masked later", np.ma.array([1.0, 2.0], mask=[False, True]), "masked.*row 1"),
    ("text", [["a"], ["b"]], "x, row 0, column 0: 'a' is not a number"),
    ("text beside numbers", [[1.0, 2.0], [3.0, "b"]], "x, row 1, column 1: 'b' is not a number"),
    ("text that looks like a number", np.array([["1.5"]]), "x, row 0, column 0: '1.5'"),
    ("bytes", [b"1"], "x, row 0, column 0: b'1'"),
    ("objects", np.array([[1.0, {"a"}]], object), r"x, row 0, column 1: \{'a'\} is not a number"),
    ("sets", [{1, 2}, {3}], r"x, row 0, column 0: \{1, 2\}"),
    ("dates", np.array(["2024-01-01"], "M8[D]"), "dtype datetime64.* not numeric"),
    ("durations", np.array([1, 2], "m8[s]"), "dtype timedelta64.* not numeric"),
    ("records", np.zeros(2, [("a", float)]), "which is not numeric"),
    ("ragged", [[1.0, 2.0], [3.0, 4.0], [5.0]], "row 2 of x has 1 coordinates and row 0 has 2"),
    ("ragged arrays", [X[0], X[0, :3]], "row 1 of x has 3 coordinates and row 0 has 4"),
    ("a number among rows", [[1.0, 2.0], 3.0], "row 1 of x has 1 coordinates"),
    ("ragged inside", [[[1.0, 2.0]], [[1.0], [2.0]]], "row 1 of x has 2 coordinates"),
    ("ragged deep inside", [[[1.0, 2.0], 3.0]], "rows of x cannot be read as vectors"),
    ("no columns", np.empty((3, 0)), r"at least one number, found shape \(3, 0\)"),
    ("neither rows nor columns", np.empty((0, 0)), "at least one coordinate"),
    ("three axes", np.zeros((2, 2, 2)), r"found shape \(2, 2, 2\)"),
    ("no axes", np.array(1.0), "x must be a sequence of points, found ndarray"),
    ("a number", 3.0, "x must be a sequence of points, found float"),
    ("None alone", None, "x must be a sequence of points, found NoneType"),
    ("a set", {1.0, 2.0}, "x must be a sequence of points, found set"),
    ("a generator", (v for v in [1.0]), "x must be a sequence of points, found generator"),
    ("one text", "abc", "x must be a sequence of points, found str"),
]


@pytest.mark.parametrize(("x", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_is_not_a_table_of_numbers_is_refused_with_its_place(x: Any, message: str) -> None:
    for kernel in (Linear(), Gaussian(), Linear().normalised() + 1.0):
        with pytest.raises(InvalidInput, match=message):
            kernel(x)
        with pytest.raises(InvalidInput, match=message):
            kernel.diag(x)


@pytest.mark.parametrize(
    ("x", "message"),
    [r[1:] for r in REFUSED if r[1] is not None],
    ids=[r[0] for r in REFUSED if r[1] is not None],
)
def test_bad_points_on_the_right_are_called_y(x: Any, message: str) -> None:
    on_the_right = message.replace("x must be", "y must be").replace("of x", "of y")
    on_the_right = on_the_right.replace("x, row", "y, row").replace("x is a", "y is a")
    on_the_right = on_the_right.replace("x cannot", "y cannot").replace(r"*x\.to", r"*y\.to")
    with pytest.raises(InvalidInput, match=on_the_right):
        Gaussian()(np.empty((0, 1)), x)


def test_points_of_two_spaces_are_not_compared() -> None:
    with pytest.raises(InvalidInput, match="x has points of 4 coordinates and y of 2"):
        Gaussian()(X, X[:, :2])


@given(
    n=st.integers(1, 6),
    p=st.integers(1, 7),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    data=st.data(),
)
def test_a_value_that_is_not_finite_is_found_wherever_it_is(
    n: int, p: int, bad: float, data: st.DataObject
) -> None:
    row, column = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, p - 1))
    x = np.ones((n, p))
    x[row, column] = bad
    before, word = x.copy(), "NaN" if np.isnan(bad) else bad
    with pytest.raises(InvalidInput, match=f"row {row}, column {column} holds {word}. Remove"):
        Gaussian()(x)
    np.testing.assert_array_equal(x, before)


def test_vectors_keep_the_callers_memory_and_never_write_to_it() -> None:
    assert np.shares_memory(vectors(X), X)
    assert vectors(X.astype(np.complex64)).dtype == np.complex128
    assert vectors([1, 2, 3]).tolist() == [[1.0], [2.0], [3.0]]
    assert type(vectors(X.view(np.matrix))) is np.ndarray


def test_checked_rows_stay_checked_and_what_is_made_of_them_does_not() -> None:
    x = Checked.of(X, "X", column_names=("a", "b", "c", "d"))
    assert np.shares_memory(x, X)
    for part in (x[1:3], x[[2, 0]], x[:, :2], x[X[:, 0] > 0.0]):
        assert isinstance(part, Checked)
        assert part.is_known
    for made in (2.0 * x, x - x.mean(axis=0), x @ x.T, np.exp(x), x.sum(axis=0), x[0], x[:, 0]):
        assert type(made) is np.ndarray
    stored = pickle.loads(pickle.dumps(x))
    for made in (x.copy(), x.astype(np.float32), x.dot(x.T), x.cumsum(axis=0), stored):
        assert not getattr(made, "is_known", False)
    assert type(vectors(x)) is np.ndarray
    assert x.copied().is_known
    assert not np.shares_memory(x.copied(), X)
    assert repr(x) == repr(X)


def test_lines_and_masks_are_read_before_they_are_checked() -> None:
    line = Checked.of(np.array([1.0, 2.0]), "x")
    assert line.shape == (2, 1)
    assert Gaussian()(line).shape == (2, 2)
    with pytest.raises(InvalidInput, match="masked entries, the first at row 0, column 1"):
        Checked.of(np.ma.array([[1.0, 2.0]], mask=[[False, True]]), "x")


def test_a_false_claim_does_not_pass_through_a_copy() -> None:
    copy = Checked.of(X, "X").copy()
    copy[1, 2] = np.nan
    with pytest.raises(InvalidInput, match="x, row 1, column 2 holds NaN"):
        Gaussian()(copy)


def test_the_refusal_names_the_column_and_the_unit_is_a_power_of_two() -> None:
    bad = X.copy()
    bad[2, 1] = -np.inf
    with pytest.raises(InvalidInput, match=r"X, row 2, column 1 \('b'\) holds -inf. Remove"):
        Checked.of(bad, "X", column_names=("a", "b", "c", "d"))
    unit = Checked.of(1e200 * X, "X").unit
    assert 1.0 <= np.abs(1e200 * X).max() / unit < 2.0
    assert np.frexp(unit)[0] == 0.5


def test_complex_objects_are_complex_numbers() -> None:
    x = np.array([[1j, 2.0], [Fraction(1, 2), 1]], object)
    np.testing.assert_array_equal(vectors(x), [[1j, 2.0], [0.5, 1.0]])
    with pytest.raises(InvalidInput, match="row 0, column 1"):
        vectors(np.array([[1j, None]], object))


def test_numbers_beyond_double_precision_are_refused_without_a_warning() -> None:
    with pytest.raises(InvalidInput, match="row 0, column 0 holds inf"):
        vectors(np.array([[np.longdouble(10) ** 400]]))


def test_arrays_of_two_libraries_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="arrays of one library.*strict.*numpy.ndarray"):
        Gaussian()(foreign(X), X)


def test_the_namespace_of_what_is_no_array_is_numpys() -> None:
    assert namespace([1.0], "a").zeros((2,)).tolist() == [0.0, 0.0]
    assert isinstance(namespace(foreign([1.0])).zeros((2,)), type(foreign([1.0])))


def test_points_are_counted_and_iterated_whatever_they_are() -> None:
    assert how_many(foreign(X)) == how_many(X) == how_many(X.tolist()) == 6
    assert list(members(Indexed(["a", "b"]))) == ["a", "b"]
    assert list(members({"a": 1})) == ["a"]
    assert as_points(range(3), "x") == range(3)


def test_an_array_of_another_library_becomes_numpys() -> None:
    assert type(as_numpy(foreign(X))) is np.ndarray
    np.testing.assert_array_equal(as_numpy(foreign(X)), X)
    assert as_numpy(X) is X


def test_paired_points_are_sliced_like_their_parts() -> None:
    points = Paired(X, ["a", "b", "c", "d", "e", "f"])
    assert len(points) == 6
    assert points[-1][1] == "f"
    np.testing.assert_array_equal(points[1][0], X[1])
    part = points[2:4]
    assert isinstance(part, Paired)
    assert part.parts[1] == ["c", "d"]
    np.testing.assert_array_equal(part.parts[0], X[2:4])
    assert len(Paired(foreign(X))) == 6


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((X, X[:2]), r"equal lengths, found \[2, 6\]"),
        ((), r"equal lengths, found \[\]"),
        ((X, 3.0), "must be a sequence of points, found float"),
        ((X, "abcdef"), "must be a sequence of points, found str"),
    ],
)
def test_paired_points_need_parts_of_one_length(parts: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Paired(*parts)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), Fraction(2)])
def test_every_real_number_is_a_number(value: Any) -> None:
    assert number(value, "v") == 2.0
    assert type(number(value, "v")) is float


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        "2",
        None,
        2j,
        np.nan,
        np.inf,
        -np.inf,
        10**400,
        Decimal(2),
        [2.0],
        np.ones(1),
    ],
    ids=repr,
)
def test_what_is_no_finite_real_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="^v must be a number, found"):
        number(value, "v")


def test_the_limits_of_a_number_are_part_of_the_message() -> None:
    assert number(np.inf, "nu", above=0.0, allowed=np.inf) == np.inf
    assert nonnegative(0, "c") == 0.0
    with pytest.raises(InvalidParameter, match="v must be a number > 0, found 0"):
        number(0, "v", above=0.0)
    with pytest.raises(
        InvalidParameter, match="c must be a number > 0 or equal to 0, found -1e-300"
    ):
        nonnegative(-1e-300, "c")


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), (3.0, 3), (np.int8(3), 3), (np.uint8(3), 3)]
)
def test_a_whole_number_may_come_as_any_type(value: Any, expected: int) -> None:
    assert whole(value, "m") == expected
    assert type(whole(value, "m")) is int


@pytest.mark.parametrize("value", [-1, 2.5, np.inf, np.nan, True, "3", None, 3j, Fraction(1, 2)])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="m must be a whole number >= 0"):
        whole(value, "m")


def test_numbers_come_in_sequences() -> None:
    assert numbers(np.array([1, 2]), "w") == (1.0, 2.0)
    assert numbers((v for v in (1, 2)), "w") == (1.0, 2.0)
    with pytest.raises(InvalidParameter, match=r"w\[1\] must be a number > 0"):
        numbers([1.0, -2.0], "w", nonnegative)
    for bad in ("12", 3.0, None, np.array(3.0)):
        with pytest.raises(InvalidParameter, match="w must be a sequence of numbers"):
            numbers(bad, "w")
    with pytest.raises(InvalidParameter, match="at least one"):
        numbers([], "w")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0]], r"must be a square matrix, found shape \(1, 2\)"),
        ([1.0], r"must be a square matrix, found shape \(1,\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], "row 0, column 1"),
        ([[1.0, 0.0], [0.0]], "row 1 of"),
        (scipy.sparse.eye_array(2), "sparse"),
    ],
)
def test_a_square_matrix_is_square_and_finite(values: Any, message: str) -> None:
    makers: list[Callable[[], Any]] = [
        lambda: square_matrix(values, "B"),
        lambda: Bilinear(values),
        lambda: Precomputed(values),
    ]
    for make in makers:
        with pytest.raises(InvalidInput, match=message):
            make()


def test_an_empty_matrix_and_one_of_another_library_are_matrices() -> None:
    assert square_matrix(np.empty((0, 0)), "K").shape == (0, 0)
    np.testing.assert_array_equal(square_matrix(strict.eye(2), "K"), np.eye(2))


def test_the_worst_asymmetry_is_relative_and_has_a_place() -> None:
    K = np.array([[10.0, 1.0, 0.0], [1.0, 1.0, 2.0], [0.0, 2.5, 1.0]])
    size, place = worst_asymmetry(K)
    assert size == pytest.approx(0.05, rel=1e-14)
    assert place == (1, 2)
    assert worst_asymmetry(1e308 * np.array([[1.0, 1.0], [-1.0, 1.0]])) == (2.0, (0, 1))
    assert worst_asymmetry(np.array([[1.0, 1j], [-1j, 1.0]])) == (0.0, (0, 0))
    assert worst_asymmetry(np.zeros((2, 2))) == (0.0, (0, 0))
    assert worst_asymmetry(np.empty((0, 0))) == (0.0, (0, 0))


@given(count=st.integers(0, 50), size=st.integers(1, 20))
def test_chunks_cover_everything_once(count: int, size: int) -> None:
    parts: Iterator[slice] = chunks(count, size)
    covered = [i for s in parts for i in range(s.start, s.stop)]
    assert covered == list(range(count))
    assert all(s.stop - s.start <= size for s in chunks(count, size))


def test_the_first_entry_that_is_not_finite_is_named() -> None:
    K = np.ones((2, 3))
    assert finite(K, "k") is K
    K[1, 2] = -np.inf
    with pytest.raises(InvalidInput, match=r"^k is not a finite number at \(1, 2\) but -inf"):
        finite(K, "k")
    with pytest.raises(InvalidInput, match=r"at \(1,\) but inf"):
        finite(foreign([1.0, np.inf]), "k")


def test_every_error_can_be_caught_as_one() -> None:
    for error in (InvalidInput, InvalidParameter):
        assert issubclass(error, MercerError)
        assert issubclass(error, ValueError)


class Labelled:
    """As much of a data frame as matters here: its rows are an array, the rest goes by label."""

    def __init__(self, **columns: list[float]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, label: Any, /) -> Any:
        return np.array(self.columns[label])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(list(self.columns.values()), dtype=dtype).T


FRAME = Labelled(a=[0.0, 1.0, 3.0], b=[2.0, 2.5, -1.0])
ROWS = np.asarray(FRAME)


def test_a_data_frame_has_rows_not_labels() -> None:
    np.testing.assert_array_equal(list(members(FRAME)), ROWS)
    np.testing.assert_array_equal(vectors(FRAME), ROWS)
    assert rows_of(["a"]) == ["a"]
    pairs = Paired(FRAME, ["u", "v", "w"])
    np.testing.assert_array_equal(pairs[1][0], ROWS[1])
    np.testing.assert_array_equal(pairs[1:].parts[0], ROWS[1:])


def test_parts_of_a_data_frame_keep_its_columns_where_it_has_places() -> None:
    class Placed(Labelled):
        @property
        def iloc(self) -> Any:
            class Places:
                def __getitem__(_, rows: slice) -> Placed:  # noqa: N805
                    return Placed(**{name: c[rows] for name, c in self.columns.items()})

            return Places()

    assert part_of(FRAME, slice(0, 3)) is FRAME
    np.testing.assert_array_equal(part_of(FRAME, slice(1, 2)), ROWS[1:2])
    np.testing.assert_array_equal(part_of(Placed(**FRAME.columns), slice(1, 2))["b"], [2.5])
    assert part_of("abc", slice(1, 2)) == "b"


def test_pandas_frames_are_read_by_rows() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FRAME.columns, index=["u", "v", "w"])
    np.testing.assert_array_equal(list(members(frame)), ROWS)
    assert list(part_of(frame, slice(1, 3))["a"]) == [1.0, 3.0]


def test_arrays_of_any_shape_are_real_numbers_or_refused() -> None:
    np.testing.assert_array_equal(real_array([[[1]]], "t"), np.ones((1, 1, 1)))
    with pytest.raises(InvalidInput, match="t must hold real numbers, found complex"):
        real_array([1j], "t")
    with pytest.raises(InvalidInput, match=r"^t holds inf. Remove"):
        real_array(np.inf, "t")


def test_arrays_of_cupy_are_asked_for_their_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy takes no memory of a device by DLPack: "Unsupported device in DLTensor"."""

    class OnDevice:
        def get(self) -> Array:
            return np.arange(3.0)

        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("Unsupported device in DLTensor.")

    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=OnDevice))
    assert as_numpy(OnDevice()).tolist() == [0.0, 1.0, 2.0]
