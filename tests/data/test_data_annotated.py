"""Annotated matrices of single-cell biology."""

from __future__ import annotations

import tracemalloc
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import mercer as mc
from mercer.data import Role, annotate, from_anndata, read
from mercer.data.frames import READING
from mercer.errors import InvalidInput, InvalidParameter
from mercer.estimator import Model
from tests.fitted import public_estimators
from tests.oracles import assert_near

COUNTS = np.random.default_rng(2).poisson(1.0, (8, 5)).astype(np.float32)


class Annotated(SimpleNamespace):
    """What AnnData shows of itself."""

    def copy(self) -> Any:
        return deepcopy(self)


def cells(matrix: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    names = [f"cell {i}" for i in range(matrix.shape[0])]
    kind = pandas.Categorical(["T", "B"] * (matrix.shape[0] // 2))
    return Annotated(
        X=matrix,
        obs=pandas.DataFrame({"kind": kind, "depth": np.arange(len(names))}, index=names),
        obs_names=names,
        var_names=[f"gene {j}" for j in range(matrix.shape[1])],
        obsm={"X_pca": COUNTS[:, :2].copy()},
        layers={},
        uns={},
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_observations_keep_their_names_and_factors(form: Any) -> None:
    table = read(cells(form(COUNTS)), "table", supplementary=["depth"])
    assert np.array_equal(table.matrix(), COUNTS)
    assert table.active[0] == "gene 0"
    assert table.row_names is not None
    assert table.row_names[3] == "cell 3"
    assert table.column("kind").role is Role.FACTOR
    embedding = read(cells(COUNTS), "table", layer="obsm/X_pca", supplementary=["depth"])
    assert embedding.active == ("X_pca 1", "X_pca 2")
    with pytest.raises(InvalidParameter, match="no layer 'obsm/X_umap'; there are \"X\""):
        read(cells(COUNTS), layer="obsm/X_umap")


def test_a_sparse_matrix_whose_zeros_do_not_fit_is_not_written_out() -> None:
    huge = cells(COUNTS)
    shape: Any = (10**6, 30_000)
    huge.X = sparse.csr_matrix(shape, dtype=np.float32)
    with pytest.raises(mc.errors.TooLarge, match="written out with its zeros"):
        read(huge)


def test_results_stand_where_scanpy_puts_them() -> None:
    data = cells(COUNTS)
    model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0))
    scores = model.fit_transform(data.X)
    assert annotate(data, scores, model) is None
    assert np.array_equal(data.obsm["X_kpca"], scores)
    assert set(data.uns["kpca"]) == {"variance", "variance_ratio", "params"}
    assert np.array_equal(data.uns["kpca"]["variance"], model.explained_variance_)
    assert data.uns["kpca"]["params"]["kernel"] == "Gaussian(bandwidth=2.0)"
    assert "random_state" not in data.uns["kpca"]["params"]  # None has no place in a file
    before = set(data.obsm)
    other = annotate(data, scores, key_added="mine", copy=True)
    assert "mine" in other.obsm  # scanpy takes the key as it is
    assert set(data.obsm) == before
    with pytest.raises(mc.errors.InvalidInput, match="do not fit 8 observations"):
        annotate(data, scores[:3])
    with pytest.raises(mc.errors.InvalidInput, match="found ndarray"):
        annotate(COUNTS, scores)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize(
    "make", [lambda: mc.KernelPCA(2, kernel=mc.Gaussian(2.0)), lambda: mc.PCA(2)], ids=["k", "pca"]
)
def test_a_model_takes_an_annotated_matrix(make: Any, form: Any) -> None:
    data, expected = cells(form(COUNTS)), make().fit(form(COUNTS))
    model = make().fit(data)
    assert np.array_equal(model.inertias_, expected.inertias_)
    assert model.individuals_.names == tuple(data.obs_names)
    assert model.variables_.names == tuple(data.var_names)
    assert model.feature_names_in_.tolist() == data.var_names
    assert model.transform(data).dtype == np.float32
    assert np.array_equal(model.transform(data), expected.transform(form(COUNTS)))
    assert np.array_equal(make().fit_transform(data), expected.fit_transform(form(COUNTS)))


def test_cells_are_coloured_by_what_is_known_of_them() -> None:
    data = cells(COUNTS)
    model = mc.PCA(2).fit(data)
    panel: Any = mc.pictures.individuals.describe(model, colour=data.obs["kind"])
    groups = {mark.name: mark.x for mark in panel.marks if getattr(mark, "name", "") in {"T", "B"}}
    expected = model.individuals_.coordinates[:, 0]
    assert_near(groups["T"], expected[0::2], 1e-12)
    assert_near(groups["B"], expected[1::2], 1e-12)


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
def test_a_sparse_annotated_matrix_is_not_filled() -> None:
    n, p = 2_000, 30_000
    rng = np.random.default_rng(0)
    entries = rng.integers(0, n, 20_000), rng.integers(0, p, 20_000)
    data = cells(COUNTS)
    data.X = sparse.csr_matrix((np.ones(20_000, np.float32), entries), shape=(n, p))
    data.obs_names = [str(i) for i in range(n)]
    data.var_names = [str(j) for j in range(p)]
    tracemalloc.start()
    try:
        mc.KernelPCA(2, kernel=mc.Gaussian(3.0), method="nystrom", landmarks=20).fit(data)
        assert tracemalloc.get_traced_memory()[1] < 1e8 < 4 * n * p
    finally:
        tracemalloc.stop()


def test_a_layer_is_asked_for_by_its_path() -> None:
    data = cells(COUNTS)
    data.layers["log"] = sparse.csr_matrix(np.log1p(COUNTS))
    logs = from_anndata(data, layer="layers/log")
    assert (logs.shape, logs.columns) == ((8, 5), tuple(data.var_names))
    model = mc.PCA(2).fit(logs)
    assert model.individuals_.names == tuple(data.obs_names)
    assert_near(model.inertias_, mc.PCA(2).fit(np.log1p(COUNTS)).inertias_, 1e-6)
    embedding = from_anndata(data, layer="obsm/X_pca")
    assert embedding.columns == ("X_pca 1", "X_pca 2")
    assert mc.Gaussian()(embedding).tolist() == mc.Gaussian()(data.obsm["X_pca"]).tolist()
    with pytest.raises(InvalidParameter, match="no layer 'layers/raw'"):
        from_anndata(data, layer="layers/raw")
    with pytest.raises(mc.errors.InvalidInput, match="found ndarray"):
        from_anndata(COUNTS)
    data.X = None
    with pytest.raises(mc.errors.InvalidInput, match="has no X: ask for a layer"):
        mc.PCA().fit(data)


LAYERED: dict[str, Any] = {
    "PCA": mc.PCA(2),
    "KernelPCA": mc.KernelPCA(2, kernel=mc.Gaussian(2.0)),
    "CA": mc.CA(1),
    "ClassicalMDS": mc.ClassicalMDS(2, metric="euclidean"),
    "StressMDS": mc.StressMDS(2, metric="euclidean", random_state=0),
    "KernelRegression": mc.KernelRegression(mc.Gaussian(2.0), 0.1),
    "GaussianProcess": mc.GaussianProcess(mc.Gaussian(2.0), noise_variance=0.1, optimise=False),
    "SVC": mc.SVC(mc.Gaussian(2.0), probability=True),
    "SVR": mc.SVR(mc.Gaussian(2.0)),
    "OneClassSVM": mc.OneClassSVM(mc.Gaussian(2.0), nu=0.5),
    "NystromFeatures": mc.NystromFeatures(3, kernel=mc.Gaussian(2.0), random_state=0),
    "RandomFourierFeatures": mc.RandomFourierFeatures(3, kernel=mc.Gaussian(2.0), random_state=0),
}
HAVING_NO_LAYERS = {"KernelCCA", "SmoothingSpline", "FAMD", "MCA", "MFA"}
"""Two tables, one variable, or columns of several types: no matrix of cells and genes."""


def layered() -> Any:
    data = cells(np.full(COUNTS.shape, 7.0))  # what must not be read
    data.layers["counts"] = COUNTS + 1.0
    data.layers["halves"] = ((COUNTS + 1.0) / 2).astype(np.float32)
    return data


def test_every_model_of_a_matrix_has_layers() -> None:
    kinds = {kind.__name__ for kind in public_estimators() if issubclass(kind, Model)}
    assert set(LAYERED) == kinds - HAVING_NO_LAYERS


@pytest.mark.filterwarnings("ignore::mercer.errors.ReadingWarning")
@pytest.mark.parametrize("name", LAYERED)
def test_a_model_is_fitted_to_the_layer_asked_for_and_reads_it_from_then_on(name: str) -> None:
    data, y = layered(), np.arange(8) % 2
    matrix, others = data.layers["counts"], layered()
    model, plain = clone(LAYERED[name]), clone(LAYERED[name])
    model.fit(data, y, layer="counts")
    plain.fit(matrix, y)
    assert model.layer_ == "counts"
    asked = 0
    for method in set(READING) - {"fit", "fit_transform", "partial_fit", "sample", "probability"}:
        if hasattr(model, method):
            asked += 1
            found, expected = getattr(model, method)(others), getattr(plain, method)(matrix)
            if isinstance(expected, np.ndarray):
                assert np.array_equal(found, expected), method
    assert asked
    if hasattr(model, "fit_transform"):
        again = clone(LAYERED[name])
        scores = again.fit_transform(data, layer="counts")
        assert np.array_equal(scores, plain.fit_transform(matrix))
        assert again.layer_ == "counts"
    assert not hasattr(model.fit(matrix, y), "layer_")
    with pytest.raises(InvalidParameter, match="layer='counts' is asked of an annotated matrix"):
        model.fit(matrix, y, layer="counts")
    with pytest.raises(InvalidParameter, match="no layer 'raw'; there are"):
        model.fit(data, y, layer="raw")


@pytest.mark.parametrize("model", [mc.FAMD(), mc.MCA(), mc.MFA(groups={"a": ["gene 0"]})])
def test_models_of_tables_say_what_to_do_with_an_annotated_matrix(model: Any) -> None:
    for asked in ({"layer": "counts"}, {}):
        with pytest.raises(InvalidInput, match="numbers alone.*PCA or KernelPCA, or give a data"):
            model.fit(layered(), **asked)


def test_layers_keep_their_precision_names_and_place_in_what_is_written(tmp_path: Path) -> None:
    data = layered()
    model = mc.PCA(2).fit(data, layer="halves")
    assert model.transform(data).dtype == np.float32
    assert model.individuals_.names == tuple(data.obs_names)
    passive = model.supplementary(data).individuals
    assert passive is not None
    assert passive.names == tuple(data.obs_names)
    assert_near(passive.coordinates, model.individuals_.coordinates, 1e-6)
    data.varm = {}
    annotate(data, model)
    assert data.obsm["X_pca"].dtype == np.float32
    assert data.uns["pca"]["params"]["layer"] == "halves"
    assert data.varm["PCs"].shape == (5, 2)
    model.save(tmp_path / "model.mercer")
    assert np.array_equal(mc.load(tmp_path / "model.mercer").transform(data), model.transform(data))
    batches = mc.PCA(2).partial_fit(data, layer="counts").partial_fit(data)
    assert_near(batches.inertias_, mc.PCA(2).fit(data, layer="counts").inertias_, 1e-9)
    curved = mc.KernelPCA(2, kernel=mc.Gaussian(2.0), method="nystrom", landmarks=5, random_state=0)
    curved.partial_fit(data, layer="counts").partial_fit(data)
    assert curved.layer_ == "counts"
    steps = make_pipeline(mc.KernelPCA(2, kernel=mc.Gaussian(2.0)))
    scores = steps.fit_transform(data, kernelpca__layer="counts")
    assert np.array_equal(steps.transform(data), steps[0].transform(from_anndata(data, "counts")))
    assert scores.shape == (8, 2)
    embedding = mc.KernelPCA(1).fit(data, layer="X_pca")
    assert embedding.feature_names_in_.tolist() == ["X_pca 1", "X_pca 2"]


def test_anndata_itself_is_read_and_written() -> None:
    anndata = pytest.importorskip("anndata")
    stand_in = layered()
    for form in (np.asarray, sparse.csr_matrix):
        layers = {"counts": form(stand_in.layers["counts"])}
        data = anndata.AnnData(form(COUNTS), obs=stand_in.obs, layers=layers)
        data.var_names = stand_in.var_names
        for model in (mc.PCA(2), mc.KernelPCA(2, kernel=mc.Gaussian(2.0))):
            model.fit(data, layer="counts")
            assert_near(
                model.inertias_, clone(model).fit(stand_in.layers["counts"]).inertias_, 1e-9
            )
            assert model.individuals_.names == tuple(data.obs_names)
            annotate(data, model)
            part = data[:4]  # a view
            assert_near(model.transform(part), model.transform(data)[:4], 1e-9)
        assert data.obsm["X_pca"].shape == data.obsm["X_kpca"].shape == (8, 2)
        assert data.varm["PCs"].shape == (5, 2)
        assert data.uns["kpca"]["params"]["layer"] == "counts"
        whole = mc.PCA(2).fit(data)
        assert_near(whole.inertias_, mc.PCA(2).fit(COUNTS).inertias_, 1e-6)


def test_genes_in_another_order_are_refused() -> None:
    data = cells(COUNTS)
    model = mc.PCA(2).fit(data)
    data.var_names = data.var_names[::-1]
    with pytest.raises(
        mc.errors.InvalidInput, match="column 0 of X is 'gene 4', and was 'gene 0' at fit"
    ):
        model.transform(data)


def test_kernels_and_predictions_read_annotated_matrices() -> None:
    data = cells(sparse.csr_matrix(COUNTS))
    assert np.array_equal(mc.Gaussian()(data), mc.Gaussian()(data.X))
    y = np.arange(8.0)
    model = mc.KernelRegression(mc.Gaussian(2.0), 1e-2)
    assert np.array_equal(model.fit(data, y).predict(data), model.fit(data.X, y).predict(data.X))
    scaling = mc.ClassicalMDS(2, metric="euclidean")
    assert scaling.fit_transform(cells(COUNTS)).shape == (8, 2)


def test_a_fitted_model_is_written_back_with_one_call() -> None:
    data = cells(COUNTS)
    data.varm = {}
    model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(data)
    annotate(data, model)
    assert data.obsm["X_kpca"].dtype == np.float32
    assert_near(data.obsm["X_kpca"], model.individuals_.coordinates, 1e-6)
    assert data.uns["kpca"]["params"]["n_components"] == 2
    assert data.varm == {}
    linear = mc.PCA(2).fit(data)
    assert annotate(data, linear, copy=True).varm["PCs"].shape == (5, 2)
    annotate(data, linear)
    assert np.array_equal(data.varm["PCs"], linear.components_.T)
    assert set(data.uns["pca"]) == {"variance", "variance_ratio", "params"}
    annotate(data, linear, key_added="mine")
    assert {"X_pca", "mine"} <= set(data.obsm)
    assert "mine" in data.varm
    assert "mine" in data.uns
    others = cells(COUNTS[:4])
    annotate(others, model)  # of other observations the coordinates are those of `transform`
    assert np.array_equal(others.obsm["X_kpca"], model.transform(others))


def h5ad(path: Path, matrix: Any) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        if hasattr(matrix, "format"):
            group = file.create_group("X")
            group.attrs["shape"] = matrix.shape
            group.attrs["encoding-type"] = f"{matrix.format}_matrix"
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)
        else:
            file["X"] = matrix
        obs, var = file.create_group("obs"), file.create_group("var")
        obs.attrs["_index"] = var.attrs["_index"] = "_index"
        obs["_index"] = [f"cell {i}" for i in range(matrix.shape[0])]
        var["_index"] = [f"gene {j}" for j in range(matrix.shape[1])]
        kind = obs.create_group("kind")
        kind["categories"], kind["codes"] = ["B", "T"], np.array([0, 1, -1, 0, 1, 1, 0, 0])
    return path


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_h5ad_files_are_tables(tmp_path: Path, form: Any) -> None:
    table = read(h5ad(tmp_path / "cells.h5ad", form(COUNTS)), "table")
    assert np.array_equal(table.matrix(), COUNTS)
    assert table.row_names is not None
    assert table.row_names[7] == "cell 7"
    assert table.active[4] == "gene 4"
    assert table.column("kind").values.tolist() == ["B", "T", None, "B", "T", "T", "B", "B"]


def test_nullable_columns_are_read_as_anndata_writes_them(tmp_path: Path) -> None:
    """The layout is that of anndata 0.12: values beside a mask, columns in their own order."""
    h5py = pytest.importorskip("h5py")
    path = h5ad(tmp_path / "cells.h5ad", COUNTS[:5])
    mask = np.array([False, True, False, False, False])
    columns: dict[str, tuple[str, Any]] = {
        "word": ("nullable-string-array", ["a", "", "b", "a", "b"]),
        "count": ("nullable-integer", np.array([1, 1, 3, 4, 5])),
        "flag": ("nullable-boolean", np.array([True, True, False, True, True])),
    }
    with h5py.File(path, "r+") as file:
        obs = file["obs"]
        del obs["_index"], obs["kind"]["codes"], obs["kind"]["categories"]
        for name, (kind, values) in {
            **columns,
            "_index": ("nullable-string-array", [f"cell {i}" for i in range(5)]),
            "kind/categories": ("nullable-string-array", ["B", "T"]),
        }.items():
            group = obs.create_group(name)
            group.attrs["encoding-type"], group.attrs["encoding-version"] = kind, "0.1.0"
            group["values"] = values
            group["mask"] = mask if name in columns else np.zeros(len(values), bool)
        obs["kind"]["codes"] = np.array([0, -1, 1, 1, 0], np.int8)
        obs.attrs["column-order"] = ["word", "count", "flag", "kind"]
    table = read(path, "table", missing="keep")
    assert table.names[5:] == ("word", "count", "flag", "kind")
    assert table.row_names == tuple(f"cell {i}" for i in range(5))
    assert table.column("word").values.tolist() == ["a", None, "b", "a", "b"]
    assert table.column("flag").values.tolist() == ["True", None, "False", "True", "True"]
    assert table.column("kind").values.tolist() == ["B", None, "T", "T", "B"]
    assert table.column("count").role is Role.NUMBER
    np.testing.assert_array_equal(table.column("count").values, [1, np.nan, 3, 4, 5])


def test_nullable_columns_in_memory_are_read_alike() -> None:
    pandas = pytest.importorskip("pandas")
    data = cells(COUNTS)
    data.obs["word"] = pandas.array(["a", None, *"abab", "a", "b"], dtype="string")
    data.obs["count"] = pandas.array([1, None, *range(6)], dtype="Int64")
    table = read(data, "table", missing="keep")
    assert table.column("word").values.tolist()[:3] == ["a", None, "a"]
    assert np.isnan(table.column("count").values[1])


def test_entries_of_one_place_are_added_as_sparse_matrices_say(tmp_path: Path) -> None:
    matrix = sparse.csr_matrix(COUNTS)
    matrix.indices[:2] = 0
    first = int(matrix.indptr[1])
    assert first >= 2
    table = read(h5ad(tmp_path / "cells.h5ad", matrix), "table")
    assert table.matrix()[0, 0] == matrix.data[:2].sum()


def test_columns_that_are_no_columns_are_left_out_with_a_warning(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = h5ad(tmp_path / "cells.h5ad", COUNTS)
    with h5py.File(path, "r+") as file:
        file["obs"]["pairs"] = np.zeros(8, np.dtype([("a", "f8"), ("b", "i4")]))
    with pytest.warns(mc.errors.DataWarning, match='obs "pairs" holds neither numbers nor labels'):
        table = read(path, "table")
    assert "pairs" not in table.names


def test_damaged_and_foreign_hdf5_files_are_named(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = h5ad(tmp_path / "cells.h5ad", COUNTS)
    whole = path.read_bytes()
    (tmp_path / "cut.h5ad").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(mc.errors.UnreadableFile, match="damaged or incomplete HDF5"):
        read(tmp_path / "cut.h5ad")
    with pytest.raises(mc.errors.UnreadableFile, match=r"no|not an .h5ad file with a layer 'raw'"):
        read(path, layer="raw")
    with h5py.File(tmp_path / "huge.h5ad", "w") as file:
        file.create_dataset("X", (10**6, 10**6), np.float64)  # chunks that were never written
        file.create_group("obs")
    with pytest.raises(mc.errors.TooLarge):
        read(tmp_path / "huge.h5ad")


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    path = tmp_path / "x.h5ad"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(mc.errors.MissingExtra, match=r"mercer\[io\]"):
        read(path)


class View(np.ndarray[Any, Any]):
    """What AnnData gives for the dense X of a subset: an array that says it can be made one."""

    def toarray(self) -> Any:
        return self.copy()


@pytest.mark.parametrize("model", [mc.KernelPCA(2), mc.PCA(2), mc.SVC()], ids=str)
def test_a_dense_subset_is_not_taken_for_a_sparse_matrix(model: Any) -> None:
    whole, part, y = cells(COUNTS), cells(COUNTS), [0, 1] * 4
    part.X = COUNTS.view(View)
    read_by = "predict" if hasattr(model, "predict") else "transform"
    expected = getattr(model.fit(whole, y), read_by)(whole)
    for given in (part, part.X):
        np.testing.assert_array_equal(getattr(model.fit(given, y), read_by)(part), expected)
    np.testing.assert_array_equal(mc.Linear()(part.X), mc.Linear()(COUNTS))


def test_a_layer_of_a_file_is_known_by_its_last_name(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = h5ad(tmp_path / "cells.h5ad", COUNTS)
    with h5py.File(path, "a") as file:
        file["layers/log"] = np.log1p(COUNTS)
    assert_near(read(path, "table", layer="log").matrix(), np.log1p(COUNTS), 1e-15)


def test_a_layer_is_known_by_its_last_name_before_an_embedding_is() -> None:
    data = cells(COUNTS)
    data.layers["log"] = np.log1p(COUNTS)
    np.testing.assert_array_equal(from_anndata(data, "log").matrix, np.log1p(COUNTS))
    assert from_anndata(data, "X_pca").columns == ("X_pca 1", "X_pca 2")
    data.obsm["log"] = COUNTS[:, :2]
    np.testing.assert_array_equal(from_anndata(data, "log").matrix, np.log1p(COUNTS))
    np.testing.assert_array_equal(from_anndata(data, "obsm/log").matrix, COUNTS[:, :2])


@pytest.mark.parametrize("model", [mc.ClassicalMDS(2), mc.StressMDS(2)], ids=str)
def test_maps_of_distances_say_how_cells_are_given(model: Any) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="give points with metric='euclidean'"):
        model.fit(cells(COUNTS))


@pytest.mark.parametrize("model", [mc.KernelPCA(2), mc.PCA(2)], ids=str)
def test_a_model_without_some_rows_reads_the_same_layer(model: Any) -> None:
    data = cells(COUNTS)
    data.layers["log"] = np.log1p(COUNTS)
    fitted = model.fit(data, layer="log").without(0)
    assert fitted.layer_ == "log"
    only = cells(np.log1p(COUNTS))
    np.testing.assert_array_equal(
        fitted.transform(data), fitted.transform(from_anndata(data, "log"))
    )
    assert_near(
        np.abs(fitted.transform(data)),
        np.abs(clone(model).fit(only).without(0).transform(only)),
        1e-5,
    )
