"""Tables, roles, missing values and text files."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer as mc
from mercer.check import Array
from mercer.data import Edges, Role, SquareMatrix, Table, read, settled
from mercer.data import numeric as numeric_path
from mercer.data.dialect import sniff_dialect
from mercer.data.raw_files import Limits
from mercer.errors import InvalidInput, InvalidParameter, extra

PEOPLE = "name;height;born;sex;note\nAda;1,65;1815-12-10;f;x\nAlan;1,80;1912-06-23;m;y\n"


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """Return a function that writes a file and names it."""

    def write(data: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


def test_spaces_at_the_ends_of_row_names_are_no_part_of_them(file: Any) -> None:
    assert mc.read(file("name,x\nT1 ,1.5\n T2,2.5\n")).row_names == ("T1", "T2")
    kept = mc.read(file("name,x\nT1,1.5\nT1 ,2.5\n"))  # which tell these two apart
    assert kept.row_names == ("T1", "T1 ")


def test_delimiter_decimal_mark_roles_and_row_names_are_guessed_and_told(file: Any) -> None:
    table = read(file(PEOPLE + "Emmy;1,70;1882-03-23;f;z\n"), "table")
    roles = dict(zip(table.names, (role.value for role in table.roles), strict=True))
    assert roles == {
        "name": "identifier",
        "height": "number",
        "born": "date",
        "sex": "factor",
        "note": "text",
    }
    assert table.row_names == ("Ada", "Alan", "Emmy")
    assert table.matrix().tolist() == [[1.65], [1.8], [1.7]]
    assert table.column("born").values[0] == np.datetime64("1815-12-10")
    assert table.colour is not None
    assert table.colour.levels == ("f", "m")
    assert "delimiter ';'" in table.notes
    assert "decimal comma" in table.notes


def test_codes_that_begin_with_a_zero_are_labels(file: Any) -> None:
    table = read(file("plant,site,height\np1,00,1.5\np2,01,0.5\np3,01,2\np4,00,0.25\n"), "table")
    assert table.column("site").values.tolist() == ["00", "01", "01", "00"]
    assert table.active == ("height",)


def test_guesses_can_be_overruled(file: Any) -> None:
    path = file("a,b\n1,2\n3,4\n")
    table = read(path, "table", roles={"b": "factor"}, header=True)
    assert table.active == ("a",)
    assert table.column("b").values.tolist() == ["2", "4"]
    assert read(path, "table", header=False, roles={"column 1": "text", "column 2": Role.TEXT})[
        :1
    ].column("column 1").values.tolist() == ["a"]
    assert read(path, "table", supplementary=["b"]).active == ("a",)
    with pytest.raises(mc.errors.InvalidInput, match='no column "z"'):
        read(path, roles={"z": "factor"})
    with pytest.raises(InvalidParameter, match="a role is one of number, factor"):
        read(path, roles={"a": "colour"})
    with pytest.raises(InvalidParameter, match="no option 'sep'"):
        read(path, sep=";")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_dialect_gives_the_same_table(file: Any, mark: str, decimal: str, ends: str) -> None:
    if mark == "," and decimal == ",":
        pytest.skip("a comma cannot be both")
    rows = [("x", "y", "z"), ("1.5", "-2.25", "3e2"), ("0.125", "4.5", "-1e-3")]
    text = ends.join(mark.join(row) for row in rows).replace(".", decimal) + ends
    table = read(file(text), "table")
    assert table.names == ("x", "y", "z")
    assert table.matrix().tolist() == [[1.5, -2.25, 300.0], [0.125, 4.5, -0.001]]


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 5)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    mark=st.sampled_from([",", ";", "\t"]),
    has_names=st.booleans(),
)
def test_numbers_written_by_repr_are_read_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, X: Array, mark: str, has_names: bool
) -> None:
    """Both paths: with names the file goes cell by cell, without it goes block by block."""
    path = tmp_path_factory.mktemp("numbers") / "x.csv"
    rows = [[f"r{i}"] * has_names + [repr(v) for v in row] for i, row in enumerate(X.tolist())]
    header = ["name"] * has_names + [f"v{j}" for j in range(X.shape[1])]
    path.write_text("\n".join(mark.join(row) for row in [header, *rows]) + "\n")
    table = read(path, "table", delimiter=mark)
    assert np.array_equal(table.matrix(), X)
    assert (table.row_names is not None) == has_names


@pytest.mark.parametrize("decimal", [".", ","])
def test_arrow_numpy_and_the_csv_module_read_the_same_bits(
    file: Any, monkeypatch: pytest.MonkeyPatch, decimal: str
) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 7)) * 10.0 ** rng.integers(-300, 300, (400, 7))
    text = "\n".join(";".join(map(repr, row)) for row in X.tolist()).replace(".", decimal)
    path = file(text)
    monkeypatch.setattr(numeric_path, "BLOCK", 1000)
    by_numpy = read(path, "table", header=False).matrix()
    monkeypatch.setattr(numeric_path, "_numbers", lambda *_: None)
    by_cells = read(path, "table", header=False).matrix()
    monkeypatch.undo()
    assert np.array_equal(by_numpy, X)
    assert np.array_equal(by_cells, X)
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(numeric_path, "ARROW_PAYS", 0)
    seen: list[Any] = []
    by_arrow = numeric_path._by_arrow

    def noted(*given: Any) -> Any:
        seen.append(by_arrow(*given))
        return seen[-1]

    monkeypatch.setattr(numeric_path, "_by_arrow", noted)
    assert np.array_equal(read(path, "table", header=False).matrix(), X)
    assert seen
    assert all(block is not None for block in seen)


@pytest.mark.parametrize("bad", ["3x", "", "1 2", "1_0", "0x10", '"1"', "1,5", "--1"])
@pytest.mark.parametrize("arrow_pays", [0, 2**60])
def test_the_fast_path_takes_no_block_that_is_not_clean(
    monkeypatch: pytest.MonkeyPatch, bad: str, arrow_pays: int
) -> None:
    dialect = sniff_dialect("x,y\n1,2\n")
    for line in (f"1,{bad}\n", f"{bad},1\n"):
        block = f"1,2\n{line}3,4\n".encode()
        assert numeric_path._numbers(block, 2, dialect, arrow_pays == 0) is None
    assert numeric_path._numbers(b"1,2\n3,4\n", 2, dialect, arrow_pays == 0) is not None


def test_numbers_are_counted_before_memory_is_taken(file: Any) -> None:
    path = file("x,y\n" + "1,2\n" * 1000)
    with pytest.raises(mc.errors.TooLarge, match=r"the table in data.csv takes 16,\d\d\d bytes"):
        read(path, memory=10_000)
    assert len(read(path, "table", memory=20_000)) == 1000
    mixed = file("g,x\n" + "a,2\n" * 1000, "mixed.csv")
    with pytest.raises(mc.errors.TooLarge, match="raise the limit with memory="):
        read(mixed, memory=20_000)


def test_row_names_as_r_writes_them(file: Any) -> None:
    table = read(file('"a" "b"\n"first" 1 2\n"second" 3 4\n'), "table")
    assert table.row_names == ("first", "second")
    assert table.active == ("a", "b")


def test_a_first_column_that_counts_names_the_rows_and_any_other_is_a_number(file: Any) -> None:
    assert read(file("id,x\n1,5\n2,6\n"), "table").row_names == ("1", "2")
    repeated = read(file("id,x\n1,5\n1,6\n"), "table")
    assert repeated.row_names is None
    assert repeated.active == ("id", "x")
    assert read(file("year,x\n1990,5\n1991,6\n"), "table").active == ("year", "x")


def test_missing_numbers_are_an_error_that_counts_them_and_names_their_columns(file: Any) -> None:
    path = file("name,x,y\na,1,NA\nb,,2\nc,3,4\nd,5,\n")
    expected = r'3 numbers are missing, in columns "y" \(2\), "x" \(1\), the first in row 1 \("a"\)'
    with pytest.raises(mc.errors.InvalidInput, match=expected):
        read(path)
    dropped = read(path, "table", missing="drop")
    assert dropped.row_names == ("c",)
    assert dropped.matrix().tolist() == [[3.0, 4.0]]
    assert "3 of 4 rows left out: 3 without a number" in dropped.notes
    imputed = read(path, "table", missing="mean")
    assert imputed.matrix().tolist() == [[1, 3], [3, 2], [3, 4], [5, 3]]
    kept = read(path, "table", missing="keep").matrix()
    assert np.isnan(kept).sum() == 3
    with pytest.raises(
        InvalidParameter, match="missing must be one of error, drop, mean, pca, mode"
    ):
        read(path, missing="zero")


def test_a_column_that_begins_with_missing_cells_is_still_one_of_numbers(file: Any) -> None:
    text = "g;x\n" + "a;\n" * 150 + "b;2,5\n"
    table = read(file(text), "table", missing="keep", decimal=",")
    assert table.active == ("x",)
    assert table.matrix()[-1, 0] == 2.5
    assert np.isnan(table.matrix()[:-1]).all()
    labels = read(file(text.replace("2,5", "red")), "table")
    assert labels.column("x").values[-1] == "red"
    assert read(file("g;x\na;\nb;NA\n"), "table").active == ()


def test_a_policy_never_puts_zero_nor_leaves_nothing() -> None:
    empty = Table.of({"x": [np.nan, np.nan], "y": [1.0, 2.0]})
    with pytest.raises(mc.errors.InvalidInput, match='column "x" has no number at all'):
        settled(empty, "mean")
    with pytest.raises(mc.errors.InvalidInput, match="every row lacks a number"):
        settled(empty, "drop")
    with pytest.raises(mc.errors.InvalidInput, match='row 2, column "x" is inf'):
        settled(Table.of({"x": [1.0, np.inf]}), "keep")


def test_missing_categories_are_dropped_filled_or_a_level_as_asked(file: Any) -> None:
    path = file("name,x,kind,empty\na,1,u,\nb,,v,\nc,3,NA,\nd,5,v,\ne,7,w,\nf,8,w,\ng,9,u,\n")
    with pytest.raises(mc.errors.InvalidInput, match='1 number is missing, in column "x"'):
        read(path, "table", missing="level")
    both = read(path, "table", missing={"number": "mean", "factor": "level"})
    assert both.column("kind").values.tolist() == ["u", "v", "(missing)", "v", "w", "w", "u"]
    assert both.matrix()[1, 0] == np.mean([1, 3, 5, 7, 8, 9])
    assert '1 missing category made a level "(missing)" of its column' in both.notes
    dropped = read(path, "table", missing="drop")  # "empty" is known of nobody and costs no row
    assert dropped.row_names == ("a", "d", "e", "f", "g")
    assert "2 of 7 rows left out: 1 without a number, 1 without a category" in dropped.notes
    filled = read(path, "table", missing={"factor": "mode", "number": "drop"})
    assert filled.column("kind").values.tolist() == ["u", "u", "v", "w", "w", "u"]
    counted = r'1 category is missing, in column "kind" \(1\), the first in row 3 \("c"\)'
    with pytest.raises(mc.errors.InvalidInput, match=counted):
        read(path, "table", missing={"factor": "error", "number": "keep"})
    kept = read(path, "table", missing="mean")  # a category has no mean
    assert kept.column("kind").values[2] is None
    with pytest.warns(mc.errors.DataWarning, match="'empty' holds the same"):
        assert mc.KernelPCA(1, kernel=mc.Columns()).fit(both).inertias_.shape == (1,)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("zero", "missing must be one of error, drop, mean, pca, mode, level, keep"),
        (5, "missing must be one of"),
        ({"number": "level"}, "missing: 'number' cannot be 'level'"),
        ({"factor": "mean"}, "missing: 'factor' cannot be 'mean'"),
        ({"x": "mean"}, "missing: 'x' is not a kind of column: .*'number': 'mean'"),
    ],
)
def test_policies_that_are_none_are_refused(missing: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        settled(Table.of({"x": [1.0]}), missing)


def test_a_cell_that_is_no_number_is_named_with_its_line_and_a_remedy(file: Any) -> None:
    path = file("x,geneX\n1,2\n3,NA?\n5,6\n")
    expected = r"""data.csv, line 3, column "geneX": 'NA\?' is not a number. Declare it missing"""
    with pytest.raises(mc.errors.UnreadableFile, match=expected):
        read(path)
    assert np.isnan(read(path, "table", na=["NA?"], missing="keep").matrix()[1, 1])
    assert read(path, "table", roles={"geneX": "factor"}).active == ("x",)
    late = file("x\n" + "1\n" * 500 + "oops\n")
    with pytest.raises(mc.errors.UnreadableFile, match='line 502, column "x"'):
        read(late)


def test_a_word_among_numbers_is_missing_or_a_label_where_gaps_are_filled(file: Any) -> None:
    rows = "".join(f"{4 + 2 * (i % 3)},{i}.5\n" for i in range(30))
    path = file("doors,kg\n" + rows + "rotary,1\n4,heavy\n")
    with pytest.warns(mc.errors.DataWarning) as told:
        table = read(path, "table", missing="mean")
    said = [str(warning.message) for warning in told]
    assert said[0].startswith(
        """data.csv, line 32, column "doors": beside numbers stands 'rotary'"""
    )
    assert said[1].startswith(
        """data.csv, line 33, column "kg": 1 cell holds no number but 'heavy'"""
    )
    assert table.column("doors").role.value == "factor"
    assert table.column("doors").levels == ("4", "6", "8", "rotary")
    assert table.active == ("kg",)
    assert table.imputed["kg"].tolist() == [False] * 31 + [True]
    assert any("taken for missing" in note for note in table.notes)
    with pytest.warns(mc.errors.DataWarning, match="'rotary', taken for missing"):
        both = read(path, "table", roles={"doors": "number"}, na=["heavy"], missing="keep")
    assert np.isnan(both.matrix()).sum() == 2
    with pytest.raises(mc.errors.UnreadableFile, match="line 32.*'rotary' is not a number"):
        read(path)  # nothing is put anywhere unasked


def test_a_table_is_a_sequence_of_points_that_nothing_changes() -> None:
    X = np.arange(12.0).reshape(6, 2)
    table = Table.of({"a": X[:, 0], "b": X[:, 1], "g": list("uvuvuv")}, supplementary=["b"])
    assert isinstance(table, mc.check.Points)
    assert len(table) == 6
    assert np.array_equal(np.asarray(table), X[:, :1])
    assert np.array_equal(table[2:4].matrix(), X[2:4, :1])
    assert table[1].tolist() == [2.0]
    assert table[2:4].column("g").values.tolist() == ["u", "v"]
    for array in (table.matrix(), table.numbers, table.column("g").values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        table.names = ()  # type: ignore[misc]
    X[0, 0] = 99.0
    assert table.matrix()[0, 0] == 0.0
    k = mc.Gaussian(1.0)
    assert np.array_equal(k(table), k(table.matrix()))
    with pytest.raises(InvalidParameter, match='no column "c"; the columns are "a", "b", "g"'):
        table.column("c")
    with pytest.raises(mc.errors.InvalidInput, match="equal lengths"):
        Table.of({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(mc.errors.InvalidInput, match="1 row names were given for 2 rows"):
        Table.of({"a": [1.0, 2.0]}, row_names=["x"])
    assert "supplementary number" in repr(table)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library_give_the_same_table_and_come_back(backend: str) -> None:
    pytest.importorskip(backend)
    given = Table.of({"x": [1.5, 2.5, 3.5], "n": [1, 2, 3], "g": ["a", "b", "a"]})
    frame = given.frame(backend)
    assert type(frame).__module__.partition(".")[0] == backend
    table = read(frame, "table")
    assert table.names == given.names
    assert table.roles == (Role.NUMBER, Role.NUMBER, Role.FACTOR)
    assert np.array_equal(table.matrix(), given.matrix())
    assert table.column("g").values.tolist() == ["a", "b", "a"]


def test_the_index_of_a_pandas_frame_names_the_rows() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "x": [1.0, 2.0, None],
            "when": pandas.to_datetime(["2020-01-01", None, "2020-01-03"]),
            "kind": pandas.Categorical(["a", None, "a"]),
            "flag": [True, False, True],
        },
        index=["r", "s", "t"],
    )
    table = read(frame, "table", missing="keep")
    assert table.row_names == ("r", "s", "t")
    assert table.column("when").role is Role.DATE
    assert np.isnat(table.column("when").values[1])
    assert table.column("kind").values.tolist() == ["a", None, "a"]
    assert table.column("flag").role is Role.FACTOR
    with pytest.raises(mc.errors.InvalidInput, match='1 number is missing, in column "x"'):
        read(frame)
    assert table.frame().index.tolist() == ["r", "s", "t"]
    twice = pandas.DataFrame(np.zeros((2, 2)), columns=["a", "a"])
    with pytest.raises(mc.errors.InvalidInput, match="several columns named 'a'"):
        read(twice)
    with pytest.raises(mc.errors.InvalidInput, match="no rows"):
        read(frame.iloc[:0])


def test_the_index_of_a_series_names_the_individuals() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    series = pandas.Series([1.0, 2.0, 4.0], index=["r", "s", "t"], name="x")
    table = read(series, "table")
    assert (table.row_names, table.active) == (("r", "s", "t"), ("x",))
    assert read(series.rename(None), "table").active == ("value",)
    assert read(series.reset_index(drop=True), "table").row_names is None
    assert read(polars.Series("x", [1.0, 2.0]), "table").matrix().tolist() == [[1.0], [2.0]]
    words = pandas.Series(["ab", "abc", "bcd"], index=["r", "s", "t"])
    model = mc.KernelPCA(1, kernel=mc.kernels.StringSpectrum(2)).fit(words)
    assert model.individuals_.names == ("r", "s", "t")
    placed = model.supplementary(individuals=words[:2]).individuals
    assert placed is not None
    assert placed.names == ("r", "s")


def test_the_index_of_targets_is_ignored_as_scikit_learn_ignores_it() -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"x": [0.0, 1.0, 3.0]}, index=["r", "s", "t"])
    y = pandas.Series([1.0, 2.0, 5.0], index=["t", "s", "r"])
    fits = [mc.KernelRegression(mc.Gaussian(1.0)).fit(X, t) for t in (y, y.to_numpy())]
    assert np.array_equal(fits[0].predict(X), fits[1].predict(X))


def test_a_model_takes_a_table_as_it_takes_its_matrix() -> None:
    rng = np.random.default_rng(1)
    columns = {"a": rng.random(20), "b": rng.random(20), "g": list("xy" * 10)}
    table = Table.of(columns)
    for kernel in (mc.Gaussian(0.5), mc.Linear()):
        model = mc.KernelPCA(2, kernel=kernel).fit(table)
        expected = mc.KernelPCA(2, kernel=kernel).fit(table.matrix())
        assert np.array_equal(model.transform(table), expected.transform(table.matrix()))


def test_reading_text_imports_no_data_frame_library(file: Any) -> None:
    code = (
        f"import sys; from mercer.data import read; read({str(file(PEOPLE))!r}); "
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'sklearn', 'h5py') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parquet_and_arrow_files_are_tables(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = arrow.table({"x": [1.0, None], "i": [1, 2], "g": ["a", "b"]})
    parquet.write_table(columns, tmp_path / "t.parquet")
    with arrow.ipc.new_file(str(tmp_path / "t.arrow"), columns.schema) as writer:
        writer.write_table(columns)
    for name in ("t.parquet", "t.arrow"):
        table = read(tmp_path / name, "table", missing="mean")
        assert table.matrix().tolist() == [[1.0, 1.0], [1.0, 2.0]]
    with pytest.raises(mc.errors.TooLarge):
        read(tmp_path / "t.parquet", memory=10)


def test_the_index_of_a_frame_in_a_file_is_no_variable(tmp_path: Path) -> None:
    """It names rows, as that of the frame does; numbers without a name, where no column does."""
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = pandas.DataFrame({"x": [3.0, 1.0, 2.0], "y": [1.5, 5.0, 2.0]}, index=[4, 7, 9])
    kinds: dict[str, Any] = {
        "of counts": frame,
        "beside names": frame.assign(name=["Ada", "Alan", "Emmy"]),
        "named": frame.rename_axis("year"),
        "of fractions": frame.set_index("y"),
        "of text": frame.set_axis(["a", "b", "c"]),
        "none": frame.reset_index(drop=True),
    }
    for kind, known in kinds.items():
        table, here = arrow.Table.from_pandas(known), read(known, "table")
        parquet.write_table(table, tmp_path / f"{kind}.parquet")
        with arrow.ipc.new_file(str(tmp_path / f"{kind}.arrow"), table.schema) as writer:
            writer.write_table(table)
        for ending in ("parquet", "arrow"):
            there = read(tmp_path / f"{kind}.{ending}", "table")
            assert (there.active, there.row_names) == (here.active, here.row_names), kind
            np.testing.assert_array_equal(there.matrix(), here.matrix())
    year = read(tmp_path / "named.parquet", "table", roles={"year": "number"})
    assert year.active == ("x", "y", "year")
    frame[[]].to_parquet(tmp_path / "alone.parquet")
    assert read(tmp_path / "alone.parquet", "table").row_names == ("4", "7", "9")


@pytest.mark.parametrize("about", [b"", b"[" * 10**5, b"[]", b'{"index_columns": 3}', b"\xff"])
def test_what_a_file_says_of_its_index_may_be_anything(about: bytes, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"x": [1.0, 2.0], "year": [7, 8]}).replace_schema_metadata(
        {b"pandas": about}
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", "table").active == ("x", "year")


def test_arrays_are_tables_without_names(tmp_path: Path) -> None:
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "x.npy", X)
    np.savez_compressed(tmp_path / "x.npz", np.asfortranarray(X))
    np.savez(tmp_path / "columns.npz", a=X[:, 0], b=X[:, 1])
    assert np.array_equal(read(tmp_path / "x.npy", "table").matrix(), X)
    assert np.array_equal(read(tmp_path / "x.npz", "table").matrix(), X)
    assert read(tmp_path / "columns.npz", "table").active == ("a", "b")
    assert np.array_equal(read(X, "table").matrix(), X)
    np.savez(tmp_path / "odd.npz", a=X, b=X[:1])
    with pytest.raises(mc.errors.InvalidInput, match="one array, or columns of equal length"):
        read(tmp_path / "odd.npz")
    with pytest.raises(mc.errors.InvalidInput, match="read takes a path, a data frame.*float$"):
        read(3.0)
    with pytest.raises(mc.errors.InvalidInput, match="found dict; mercer.Table.of makes a table"):
        read({"a": [1.0, 2.0]})


def test_gzip_is_read_through(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n1,2\n3,4\n"))
    assert read(path, "table").matrix().tolist() == [[1, 2], [3, 4]]


def test_a_square_table_with_equal_names_is_a_matrix_of_pairs(file: Any) -> None:
    path = file(",a,b\na,0,2.5\nb,2.5,0\n")
    square = read(path)
    assert isinstance(square, SquareMatrix)
    assert square.is_distance
    assert square.names == ("a", "b")
    assert np.asarray(square).tolist() == [[0, 2.5], [2.5, 0]]
    assert isinstance(read(path, "table"), Table)
    gram = read(file(",a,b\na,2,1\nb,1,2\n"))
    assert not gram.is_distance
    asymmetric = file(",a,b\na,0,1\nb,2,0\n")
    assert isinstance(read(asymmetric), Table)
    with pytest.raises(mc.errors.InvalidInput, match=r'\("a", "b"\) is 1 and \("b", "a"\) is 2'):
        read(asymmetric, "matrix")
    with pytest.raises(mc.errors.InvalidInput, match='row 1 is "a" and column 1 is "b"'):
        read(file(",b,a\na,0,1\nb,1,0\n"), "matrix")
    with pytest.raises(mc.errors.InvalidInput, match="must be square"):
        read(file("a,b\n1,2\n"), "matrix")


def test_graph_files_are_plain_edges(file: Any) -> None:
    text = "# friends\nAda Alan 0.5\nAlan Emmy 2\nZoe\n"
    assert read(file(text, "g.edges")) == Edges(
        ((0, 1), (1, 2)), 4, (0.5, 2.0), None, ("Ada", "Alan", "Emmy", "Zoe")
    )
    xml = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
      <key id="d0" for="node" attr.name="label" attr.type="string"/>
      <key id="d1" for="edge" attr.name="weight" attr.type="double"/>
      <graph edgedefault="undirected">
        <node id="n0"><data key="d0">C</data></node><node id="n1"><data key="d0">O</data></node>
        <edge source="n0" target="n1"><data key="d1">0.0</data></edge>
      </graph></graphml>"""
    graph = read(file(xml, "g.graphml"))
    assert graph == Edges(((0, 1),), 2, (0.0,), ("C", "O"), ("n0", "n1"))
    other = file(xml.replace('"label"', '"element"'), "h.graphml")
    assert read(other, label="element").labels == ("C", "O")
    with pytest.warns(mc.errors.DataWarning, match="attributes 'element', and none is named label"):
        assert read(other).labels is None
    with pytest.raises(
        mc.errors.UnreadableFile, match="no node has the attribute 'atom'; there are 'ele"
    ):
        read(other, label="atom")
    with pytest.raises(mc.errors.InvalidParameter, match="is a list of edges"):
        read(file(text, "g.edges"), label="element")
    for bad, message in (
        (xml.replace('target="n1"', 'target="n9"'), "an edge to node 'n9'"),
        (xml.replace(">0.0<", ">heavy<"), "weight 'heavy'"),
        (xml[:200], "is not XML"),
        ("<svg/>", "has no <graph>"),
        ('<!DOCTYPE g [<!ENTITY a "b">]><graphml/>', "declares entities"),
    ):
        with pytest.raises(mc.errors.UnreadableFile, match=message):
            read(file(bad, "bad.graphml"))
    with pytest.raises(mc.errors.UnreadableFile, match="line 2: an edge is two names"):
        read(file("a b\na b c d\n", "bad.edges"))
    with pytest.raises(mc.errors.UnreadableFile, match="has no edges"):
        read(file("# nothing\n", "none.edges"))


def test_lines_are_strings_or_sets(file: Any) -> None:
    assert read(file("ACGT\n\nAC GT\n"), "strings") == ("ACGT", "", "AC GT")
    assert read(file("a b,c\n\nb\n"), "sets") == (
        frozenset("abc"),
        frozenset(),
        frozenset("b"),
    )
    assert read(file("a b|c\n"), "sets", delimiter="|") == (frozenset({"a b", "c"}),)
    points = read(file("a b\nb c\n"), "sets")
    assert mc.kernels.Intersection()(points).tolist() == [[2.0, 1.0], [1.0, 2.0]]


def test_a_missing_library_is_named_with_its_extra() -> None:
    with pytest.raises(mc.errors.MissingExtra, match=r'pip install "mercer\[io\]"'):
        extra("no_such_library.part", "io", "reading")


def test_random_bytes_end_in_a_table_or_a_named_error(file: Any) -> None:
    rng = random.Random(5)
    alphabets = [bytes(range(256)), b'0123456789,;\n. \t"-eNA', b'ab"\n,\r']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        for i in range(400):
            data = bytes(rng.choices(alphabets[i % 3], k=rng.randrange(1, 60)))
            with suppress(mc.errors.InvalidInput):
                assert len(read(file(data), "table", missing="keep")) > 0


def test_limits_say_what_to_raise() -> None:
    with pytest.raises(mc.errors.TooLarge, match="memory="):
        Limits(memory=10).check(11, None, "x")
    with pytest.raises(mc.errors.TooLarge, match="ratio="):
        Limits(ratio=2.0).check(2**21, 1000, "x")
    Limits(ratio=2.0).check(1000, 1, "x")


# What a file of a stranger holds


def test_a_first_column_that_counts_names_the_rows_of_a_frame_too() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [7, 8, 9], "x": [1.0, 2.0, 4.0]})
    table = mc.read(frame)
    assert table.row_names == ("7", "8", "9")
    assert table.active == ("x",)
    twice = mc.read(pandas.DataFrame({"id": [7, 7, 9], "x": [1.0, 2.0, 4.0]}))
    assert twice.active == ("id", "x")
    elsewhere = mc.read(pandas.DataFrame({"x": [1.0, 2.0, 4.0], "id": [7, 8, 9]}))
    assert elsewhere.active == ("x", "id")


@pytest.mark.parametrize("cell", ["1,234,567", "2.5%", "2.5 %", "$12", "12 €", "8 mg", "1 234"])
def test_numbers_in_disguise_are_told(cell: str, file: Any) -> None:
    path = file("name;x;v\n" + "".join(f"r{i};{i};{cell}\n" for i in range(5)))
    with pytest.warns(mc.errors.DataWarning, match='column "v" holds values such as') as caught:
        table = mc.read(path, delimiter=";", decimal=".")
    assert len(caught) == 1
    assert table.active == ("x",)
    assert any("were read as labels" in note for note in table.notes)


@pytest.mark.parametrize("cell", ["A12", "P-001", "13/03/2024", "yes", "low dose", "2024-01-31"])
def test_labels_are_not_taken_for_numbers_in_disguise(cell: str, file: Any) -> None:
    path = file("name,x,v\n" + "".join(f"r{i},{i},{cell}\n" for i in range(5)))
    assert not any("were read as labels" in note for note in mc.read(path).notes)


def test_columns_named_source_and_target_are_a_graph(file: Any) -> None:
    text = "source,target,weight\na,b,2\nb,c,1.5\n"
    found = mc.read(file(text))
    assert found == Edges(((0, 1), (1, 2)), 3, (2.0, 1.5), None, ("a", "b", "c"))
    assert isinstance(mc.read(file(text), "table"), Table)
    numbers = mc.read(file("from,to\n1,2\n2,3\n"))
    assert numbers.names == ("1", "2", "3")
    other = mc.read(file("source,target,size,more\na,b,2,1\nb,c,1,1\n"))
    assert isinstance(other, Table)


def test_a_label_keeps_a_nul_at_its_end() -> None:
    table = Table.of({"x": [1.0, 2.0, 3.0, 4.0], "k": ["a\0", "a", "a\0", "a"]})
    assert table.column("k").levels == ("a", "a\0")
    model = mc.PCA(1).fit([[0.0, 1.0], [2.0, 0.0], [1.0, 5.0], [4.0, 3.0]])
    found = model.supplementary(categories={"k": ["a\0", "a", "a\0", "a"]}).categories
    assert found is not None
    assert found.levels == ("a", "a\0")


def test_a_column_is_one_column() -> None:
    with pytest.raises(InvalidInput, match=r"column 'genes' is an array of shape \(3, 2\)"):
        Table.of({"age": [1.0, 2.0, 3.0], "genes": np.zeros((3, 2))})


def test_numbers_of_rows_that_were_chosen_name_nobody_where_a_column_does() -> None:
    pandas = pytest.importorskip("pandas")
    people = {"who": list("abcdef"), "x": [1.0, 5.0, 2.0, 6.0, 3.0, 7.0], "y": [1.0, 2.0] * 3}
    frame = pandas.DataFrame(people)
    chosen = frame[frame.x > 2.5]
    assert mc.read(chosen).row_names == ("b", "d", "e", "f")
    assert mc.read(chosen[["x", "y"]]).row_names == ("1", "3", "4", "5")
    assert mc.read(frame.set_index("who")).row_names == tuple("abcdef")
    assert mc.read(frame.set_index(pandas.Index([5, 3, 1, 9, 8, 7]))).row_names[0] == "5"


def test_a_header_that_counts_is_one_above_numbers_that_are_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "years.csv"
    path.write_text("2001,2002,2003\n1.5,2.25,0.5\n3.5,1.75,8.125\n")
    assert mc.read(path).names == ("2001", "2002", "2003")
    path.write_text("1,2,3\n4,5,6\n7,8,9\n")
    assert len(mc.read(path, "table")) == 3


def test_a_web_page_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("<!DOCTYPE html>\n<html><body>Not found</body></html>\n")
    with pytest.raises(mc.errors.UnreadableFile, match="a web page"):
        mc.read(path)


def test_messages_about_tables_count_rows_from_1_and_name_them() -> None:
    counts = mc.Table.of({"a": [1.0, 2.0], "b": [3.0, -4.0]}, row_names=["north", "south"])
    with pytest.raises(mc.errors.InvalidInput, match=r'row 2 \("south"\), column "b" holds -4'):
        mc.CA().fit(counts)
    with pytest.raises(mc.errors.InvalidInput, match=r'row 2 \("south"\), column "b": -4 is not'):
        mc.ClassicalMDS(metric="bray-curtis").fit(counts)
    with pytest.raises(mc.errors.InvalidInput, match="row 1, column 1 holds -4"):
        mc.CA().fit(np.array(counts))


def test_columns_of_words_take_time_in_proportion_to_their_number(tmp_path: Path) -> None:
    """Each column asked all before it whether one names the rows: minutes for 300 000."""
    taken = []
    for count in (3000, 30_000):
        row = ",".join(["w"] * count)
        names = ",".join(f"c{j}" for j in range(count))
        (tmp_path / "wide.csv").write_text(f"{names}\n{row}\n{row}\n")
        started = process_time()
        assert len(read(tmp_path / "wide.csv", "table").names) == count
        taken.append(process_time() - started)
    assert taken[1] < 25 * taken[0]


@pytest.mark.parametrize("head", ["id", "", "name"])
def test_words_name_rows_before_the_numbers_that_count_them(tmp_path: Path, head: str) -> None:
    path = tmp_path / "people.csv"
    rows = "".join(f"{i + 1},Person {i},{i * i % 7}\n" for i in range(12))
    path.write_text(f"{head},who,x\n{rows}")
    table = mc.read(path)
    assert table.row_names == tuple(f"Person {i}" for i in range(12))
    assert table.active == ("x",)
    (counted,) = (fate for fate in mc.analyse(table, method="pca").fates if fate.name == head)
    assert counted.use == "ignored"
    assert "numbers the rows" in counted.reason


@pytest.mark.parametrize(
    "said",
    ["a sentence of what was seen in row {0}, with many words " + "and more " * 4, "{1}", "00{0}"],
)
def test_numbers_name_rows_beside_sentences_groups_and_codes(tmp_path: Path, said: str) -> None:
    path = tmp_path / "people.csv"
    rows = "".join(f'{i + 1},"{said.format(i, "ab"[i % 2])}",{i * i % 7}\n' for i in range(12))
    path.write_text(f"id,said,x\n{rows}")
    assert mc.read(path).row_names == tuple(str(i + 1) for i in range(12))


def test_sentences_name_no_rows_and_numbers_beside_them_do(tmp_path: Path) -> None:
    texts = [f"On day {i} the soup was cold and the bread was warm" for i in range(12)]
    rows = "\n".join(f'{100 + i},"{text}",{i % 5}' for i, text in enumerate(texts))
    file = tmp_path / "reviews.csv"
    file.write_text(f"id,review,stars\n{rows}\n")
    table = mc.read(file)
    assert table.row_names == tuple(str(100 + i) for i in range(12))
    assert {c.name: c.role.value for c in table.columns()} == {
        "id": "identifier",
        "review": "text",
        "stars": "number",
    }
