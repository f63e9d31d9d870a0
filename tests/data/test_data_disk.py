"""Points that stay on disk."""

from __future__ import annotations

import re
import sys
import tracemalloc
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.check import Array, Points
from mercer.data import OnDisk, chunked, open_points
from mercer.data.chunked import InChunks
from mercer.data.ondisk import MOST_OPEN, InFiles, InGroups
from mercer.errors import InvalidParameter, UnreadableFile

X = np.random.default_rng(4).standard_normal((1000, 3)).astype(np.float32)


def as_npy(folder: Path, values: Array) -> Path:
    np.save(folder / "x.npy", values)
    return folder / "x.npy"


def as_parquet(folder: Path, values: Array) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({f"column {j + 1}": values[:, j] for j in range(values.shape[1])})
    parquet.write_table(table, folder / "x.parquet", row_group_size=130)
    return folder / "x.parquet"


def as_arrow(folder: Path, values: Array) -> Path:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({f"column {j + 1}": values[:, j] for j in range(values.shape[1])})
    with arrow.ipc.new_file(str(folder / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=130)
    return folder / "x.arrow"


def as_hdf5(folder: Path, values: Array) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("group/rows", data=values, chunks=(130, 2), compression="gzip")
    return folder / "x.h5"


def as_zarr(folder: Path, values: Array) -> Path:
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(folder / "x.zarr", shape=values.shape, chunks=(130, 2), dtype="f4")
    made[:] = values
    return folder / "x.zarr"


def as_folder(folder: Path, values: Array) -> Path:
    """Write twelve files, whose numbers are not in the order of the alphabet, and a note."""
    place = folder / "rows"
    place.mkdir()
    for i, part in enumerate(np.array_split(values, 12)):
        as_parquet(place, part).rename(place / f"part.{i}.parquet")
    (place / "_SUCCESS").write_text("")
    return place


@pytest.fixture(params=[as_npy, as_parquet, as_arrow, as_hdf5, as_zarr, as_folder])
def path(request: Any, tmp_path: Path) -> Path:
    made: Path = request.param(tmp_path, X)
    return made


def test_slices_are_the_rows_whatever_the_format(path: Path) -> None:
    points = open_points(path)
    assert isinstance(points, OnDisk)
    assert isinstance(points, Points)
    assert len(points) == 1000
    assert points.shape == (1000, 3)
    assert points.dtype == np.float32
    for part in (slice(0, 1), slice(100, 400), slice(129, 131), slice(990, 2000), slice(-5, None)):
        assert np.array_equal(points[part], X[part])
        assert points[part].dtype == np.float32
    assert np.array_equal(points[10:500:7], X[10:500:7])
    assert points[5:5].shape == (0, 3)
    assert np.array_equal(points[-1], X[-1])
    assert np.array_equal(np.vstack(list(points.blocks(170))), X)
    assert np.array_equal(np.vstack(list(points)), X)
    with pytest.raises(IndexError, match="no point 1000 among 1000"):
        points[1000]
    with pytest.raises(mc.errors.InvalidInput, match="step > 0"):
        points[::-1]


def test_columns_are_chosen_by_name_or_number(path: Path) -> None:
    points = open_points(path, columns=["column 3", 0])
    assert points.names == ("column 3", "column 1")
    assert np.array_equal(points[200:300], X[200:300][:, [2, 0]])
    with pytest.raises(InvalidParameter, match="no column 'z'; there are"):
        open_points(path, columns=["z"])
    with pytest.raises(InvalidParameter, match="no column 3"):
        open_points(path, columns=[3])
    with pytest.raises(InvalidParameter, match="at least one"):
        open_points(path, columns=[])


@pytest.mark.parametrize("kernel", [mc.Gaussian(1.0), mc.Laplacian(2.0, norm=1)], ids=str)
def test_a_gram_operator_walks_over_a_file(path: Path, kernel: mc.Kernel) -> None:
    points = open_points(path)
    found = mc.Gram(kernel, points) @ np.ones(1000)
    expected = mc.Gram(kernel, X) @ np.ones(1000)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_slice_takes_the_memory_of_its_rows_only(tmp_path: Path) -> None:
    path = tmp_path / "wide.npy"
    mapped = np.lib.format.open_memmap(path, "w+", np.float64, (2_000_000, 100))  # 1.6 GB, sparse
    mapped[1_500_000] = 7.0
    del mapped
    tracemalloc.start()
    try:
        points = open_points(path, columns=[5, 50])
        block = points[1_499_990:1_500_010]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert block[10].tolist() == [7.0, 7.0]
    assert peak < 2**20


def test_chunks_are_read_once_by_those_who_walk_over_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[slice] = []

    class Noted:
        """An array in chunks that says what is read of it."""

        shape, chunks, dtype, nbytes_stored = X.shape, (130, 2), X.dtype, X.nbytes

        def __getitem__(self, index: slice) -> Array:
            asked.append(index)
            return X[index]

    points = InChunks(tmp_path / "x.zarr", Noted(), None, None)
    found = [points[start : start + 64] for start in range(0, len(X), 64)]
    np.testing.assert_array_equal(np.vstack(found), X)
    assert asked == [slice(0, len(X))]
    asked.clear()
    monkeypatch.setattr(chunked, "MOST_KEPT", 0)  # rows of chunks that are too large to be kept
    wide = InChunks(tmp_path / "x.zarr", Noted(), None, None)
    np.testing.assert_array_equal(wide[100:300], X[100:300])
    assert asked == [slice(100, 300)]


def test_only_the_row_groups_of_a_slice_are_read(tmp_path: Path) -> None:
    points = open_points(as_parquet(tmp_path, X))
    assert isinstance(points, InGroups)
    read, seen = points.read, []

    def noted(group: int) -> Any:
        seen.append(group)
        return read(group)

    points.read = noted
    points[0:100], points[100:130], points[250:400]
    assert seen == [0, 1, 2, 3]  # rows 250 to 399 lie in the groups from 130, 260 and 390


def test_files_that_cannot_be_read_in_parts_say_so(tmp_path: Path) -> None:
    text = tmp_path / "x.csv"
    text.write_text("1,2\n3,4\n")
    with pytest.raises(mc.errors.UnreadableFile, match=r"convert it to .npy, Parquet or Arrow"):
        open_points(text)
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(mc.errors.InvalidInput, match="not a table of numbers"):
        open_points(tmp_path / "cube.npy")
    np.save(tmp_path / "line.npy", np.arange(5.0))
    assert open_points(tmp_path / "line.npy").shape == (5, 1)


def test_columns_that_hold_no_numbers_or_lack_some_are_named(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "mixed.parquet"
    parquet.write_table(arrow.table({"g": ["a", "b"], "i": [1, 2], "x": [1.0, None]}), path)
    points = open_points(path)
    assert points.names == ("i", "x")
    with pytest.raises(mc.errors.InvalidInput, match='column "x" lacks 1 numbers in rows 0 to 1'):
        points[0:2]
    assert open_points(path, columns=["i"])[0:2].tolist() == [[1.0], [2.0]]
    with pytest.raises(mc.errors.InvalidInput, match='column "g" holds no numbers'):
        open_points(path, columns=["g"])


def test_the_index_of_a_frame_is_read_only_where_it_is_chosen(tmp_path: Path) -> None:
    """pandas and Dask write it as a column, under names of theirs where it has none."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X[:, :3], columns=list("abc"))
    (tmp_path / "parts").mkdir()
    for i in range(3):
        part = frame[frame.index % 3 == i]
        part.rename_axis("__null_dask_index__").to_parquet(tmp_path / f"parts/part.{i}.parquet")
    points = open_points(tmp_path / "parts")
    assert points.names == ("a", "b", "c")
    np.testing.assert_array_equal(points[:][: len(X[::3])], X[::3, :3])
    frame[frame.a > 0.0].rename_axis("year").to_parquet(tmp_path / "one.parquet")
    assert open_points(tmp_path / "one.parquet").names == ("a", "b", "c")
    years = open_points(tmp_path / "one.parquet", columns=["year"])
    np.testing.assert_array_equal(years[:][:, 0], np.flatnonzero(X[:, 0] > 0.0))


def test_few_files_of_a_folder_are_open(tmp_path: Path) -> None:
    points = open_points(as_folder(tmp_path, X))
    assert isinstance(points, InFiles)
    assert len(points.files) == 12
    assert [len(block) for block in points.blocks(500)] == [500, 500]
    assert len(points._opened) <= MOST_OPEN


def test_files_of_a_folder_have_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    with pytest.raises(mc.errors.UnreadableFile, match="holds no files of numbers"):
        open_points(tmp_path / "rows")
    as_npy(tmp_path / "rows", X)
    as_parquet(tmp_path / "rows", X[:, :2])
    with pytest.raises(mc.errors.InvalidInput, match="x.parquet has the columns .* x.npy before"):
        open_points(tmp_path / "rows")
    points = open_points(tmp_path / "rows", columns=["column 2"])
    assert np.array_equal(points[998:1002], X[[998, 999, 0, 1], 1:2])


def test_arrays_of_a_file_are_chosen_by_name(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "several.h5"
    with h5py.File(path, "w") as file:
        file["a"], file["b/c"], file["words"] = X, X[:5], np.array([b"x"])
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/a")
    assert open_points(path, layer="/b/c").shape == (5, 3)
    for layer, message in (
        (None, 'several arrays, "a", "b/c": say which by layer='),
        ("d", "no array 'd'"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            open_points(path, layer=layer)
    with pytest.raises(InvalidParameter, match="no array 'elsewhere'"):
        open_points(path, layer="elsewhere")
    with h5py.File(path, "a") as file:
        file["X"] = X[:7]
    assert open_points(path).shape == (7, 3)
    with pytest.raises(InvalidParameter, match="layer is for HDF5"):
        open_points(as_npy(tmp_path, X), layer="a")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(mc.errors.UnreadableFile, match="damaged or incomplete HDF5"):
        open_points(path)


@pytest.mark.parametrize("library", ["h5py", "zarr"])
def test_a_library_that_is_missing_is_named(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = as_hdf5(tmp_path, X) if library == "h5py" else tmp_path / "x.zarr"
    if library == "zarr":
        path.mkdir()
        (path / ".zarray").write_text("{}")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(mc.errors.MissingExtra, match=f"{library}.* not installed"):
        open_points(path)


def test_a_model_is_fitted_to_any_of_them(path: Path) -> None:
    found, known = mc.PCA(2).fit(open_points(path)), mc.PCA(2).fit(X)
    np.testing.assert_allclose(found.inertias_, known.inertias_, rtol=1e-5)


def test_arrays_are_chosen_by_name_in_each_file_of_a_folder(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    folder = tmp_path / "rows"
    folder.mkdir()
    for i in range(2):
        with h5py.File(folder / f"{i}.h5", "w") as file:
            file["a"], file["b"] = X, X[: 5 + i]
    with pytest.raises(InvalidParameter, match="say which by layer="):
        open_points(folder)
    assert open_points(folder, layer="b").shape == (11, 3)
    (tmp_path / "plain").mkdir()
    as_npy(tmp_path / "plain", X)
    with pytest.raises(InvalidParameter, match=r"layer is for HDF5 .* x.npy is none"):
        open_points(tmp_path / "plain", layer="nope")


def test_a_layer_that_names_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidParameter, match="layer must be the name of an array, found 3"):
        open_points(as_npy(tmp_path, X), layer=3)  # type: ignore[arg-type]
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "zarr.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "zarr", SimpleNamespace(open=lambda *_, **__: X))
    with pytest.raises(InvalidParameter, match="leave it out"):
        open_points(tmp_path / "x.zarr", layer="a")


def test_a_folder_is_read_without_what_holds_no_rows(tmp_path: Path) -> None:
    for year, count in ((1, 2), (2, 0), (3, 3)):
        (tmp_path / f"year={year}").mkdir()
        as_parquet(tmp_path / f"year={year}", X[:count])
    (tmp_path / "readme.txt").write_text("how the numbers were measured")
    with pytest.warns(mc.errors.DataWarning) as said:
        points = open_points(tmp_path)
    assert np.array_equal(points[:5], X[[0, 1, 0, 1, 2]])
    texts = [str(warning.message) for warning in said]
    assert any('not files of numbers and were not read: "readme.txt"' in text for text in texts)
    assert any('only folder names hold were not read: "year"' in text for text in texts)
    (tmp_path / "cut.npy").write_bytes(b"")
    with pytest.raises(mc.errors.UnreadableFile, match="cut.npy cannot be read in parts"):
        open_points(tmp_path)
    with pytest.raises(mc.errors.UnreadableFile, match="columns but no rows"):
        open_points(tmp_path / "year=2" / "x.parquet")
    with pytest.raises(mc.errors.UnreadableFile, match="holds no files of numbers with rows"):
        open_points(tmp_path / "year=2")


def test_groups_far_inside_one_another_are_refused_at_once(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "deep.h5", "w") as file:
        group = file
        for _ in range(1000):
            group = group.create_group("g")
        group["X"] = X
    started = process_time()
    with pytest.raises(UnreadableFile, match="more than 100 deep in one another"):
        open_points(tmp_path / "deep.h5")
    assert process_time() - started < 1.0


def test_an_array_of_two_names_and_a_group_in_itself_are_looked_into_once(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "circle.h5", "w") as file:
        file["a/b"] = X[:7]
        file["a/c"] = file["a/b"]
        file["a/again"], file["a/root"] = file["a"], file["/"]
        file["z"], file["y"] = h5py.SoftLink("/a/b"), h5py.ExternalLink("none.h5", "/X")
    points = open_points(tmp_path / "circle.h5")
    assert (points.layer, points.shape) == ("a/b", (7, 3))


@pytest.mark.parametrize("library", ["h5py", "zarr"])
def test_chunks_that_unfold_from_next_to_nothing_are_refused(library: str, tmp_path: Path) -> None:
    """A few hundred kB of zeros took 1 GB, at the first row."""
    made = pytest.importorskip(library)
    how: dict[str, Any] = {"shape": (2**23, 2), "chunks": (2**23, 2), "dtype": "f8"}
    if library == "h5py":
        path = tmp_path / "x.h5"
        with made.File(path, "w") as file:
            file.create_dataset("X", **how, compression="gzip")[:8] = 1.0
    else:
        path = tmp_path / "x.zarr"
        made.create_array(path, **how)[:8] = 1.0
    with pytest.raises(
        mc.errors.TooLarge, match="chunks of 134,217,728 bytes, more than 100 times"
    ):
        open_points(path)


def test_chunks_without_numbers_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    path = as_zarr(tmp_path, X)
    about = path / "zarr.json"
    about.write_text(re.sub(r"\b130\b", "0", about.read_text()))
    with pytest.raises(UnreadableFile, match="chunks|chunk"):
        open_points(path)[:3]
