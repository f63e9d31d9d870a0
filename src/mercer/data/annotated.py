"""Annotated matrices of single-cell biology: in memory, known by their parts, and in .h5ad files.

Results are written where scanpy's users look for them: ``obsm["X_kpca"]`` and ``uns["kpca"]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from mercer.check import Array, in_dtype_of, is_annotated
from mercer.data.frames import frame_columns, is_frame
from mercer.data.raw_files import Limits, in_one_line
from mercer.data.table import LABEL, as_labels, quote_names
from mercer.display import warn
from mercer.errors import (
    DataWarning,
    InvalidInput,
    InvalidParameter,
    MercerError,
    UnreadableFile,
    extra,
)
from mercer.points import NamedRows, matrix_of

Parts = tuple[list[str], list[Array], list[str]]


def from_anndata(data: Any, layer: str = "X") -> NamedRows:
    """Return a layer of an annotated matrix as rows for a model, with the names of both sides.

    A model takes an annotated matrix itself, ``fit(data, layer="log1p")``; kernels and functions
    take what is returned here. A layer is ``"X"``, ``"layers/log1p"``, or ``"obsm/X_pca"`` for an
    embedding, or the last part of such a name. Sparse layers stay sparse.

    >>> from types import SimpleNamespace
    >>> cells = SimpleNamespace(
    ...     X=np.eye(2), layers={"log1p": np.log1p(np.eye(2))}, obsm={}, uns={}, obs=None,
    ...     obs_names=["cell 1", "cell 2"], var_names=["gene a", "gene b"],
    ... )
    >>> from_anndata(cells, layer="layers/log1p").columns
    ('gene a', 'gene b')
    """
    if not is_annotated(data):
        raise InvalidInput(
            "from_anndata reads an annotated matrix (X, obs, obsm, uns), found "
            f"{type(data).__name__}"
        )
    layers = _layers(data)
    layer = whole_name(layer, list(layers))
    matrix = matrix_of(data) if layer == "X" else _layer(layers, layer)
    if len(getattr(matrix, "shape", ())) != 2:  # obsm may hold data frames
        matrix = np.asarray(matrix)
    if matrix.ndim != 2:
        raise InvalidInput(f"{layer} has shape {matrix.shape}, which is not a table of numbers")
    matrix = matrix.to_numpy() if hasattr(matrix, "to_numpy") else matrix
    names = feature_names(layer, matrix.shape[1], getattr(data, "var_names", None))
    return NamedRows(matrix, tuple(str(name) for name in data.obs_names), tuple(names))


def columns_of_annotated(data: Any, layer: str, limits: Limits) -> Parts:
    """Return the columns of a layer and of ``obs``, and the names of the observations."""
    layers = _layers(data)
    layer = whole_name(layer, list(layers))
    matrix = _layer(layers, layer)
    numbers = _dense(matrix, limits, layer)
    names = feature_names(layer, numbers.shape[1], getattr(data, "var_names", None))
    columns: list[Array] = list(numbers.T)
    if is_frame(data.obs):
        held, values, _ = frame_columns(data.obs)
        names += held
        columns += values
    return names, columns, [str(name) for name in data.obs_names]


def whole_name(layer: str, known: Sequence[str]) -> str:
    """Return the name of a layer that is given by its last part: of ``layers``, else of ``obsm``.

    >>> whole_name("log1p", ["X", "obsm/X_pca", "layers/log1p"])
    'layers/log1p'
    """
    meant = sorted(name for name in known if name.partition("/")[2] == layer)
    return meant[0] if layer not in known and meant else layer


def _layers(data: Any) -> dict[str, Any]:
    """Return the layers and embeddings by their names."""
    held = {f"{g}/{k}": v for g in ("obsm", "layers") for k, v in getattr(data, g, {}).items()}
    return {"X": data.X, **held}


def _layer(layers: dict[str, Any], layer: str) -> Any:
    if layer not in layers:
        raise InvalidParameter(f"there is no layer {layer!r}; there are {quote_names(layers)}")
    return layers[layer]


def _dense(matrix: Any, limits: Limits, layer: str) -> Array:
    """Return a matrix as an array; a sparse one only if its zeros fit in memory too."""
    if hasattr(matrix, "toarray"):
        stored = int(getattr(matrix, "nnz", 0)) * 16
        limits.check(8 * prod(matrix.shape), max(stored, 1), f"{layer}, written out with its zeros")
        matrix = matrix.toarray()
    numbers = np.asarray(matrix)
    if numbers.ndim != 2:
        raise InvalidInput(f"{layer} has shape {numbers.shape}, which is not a table of numbers")
    return numbers


def feature_names(layer: str, count: int, names: Any) -> list[str]:
    """Return the names of the columns of a layer: those of ``var`` if they are its columns."""
    if layer.startswith("obsm/") or names is None or len(names) != count:
        stem = layer.partition("/")[2] or layer
        return [f"{stem} {j + 1}" for j in range(count)]
    return [str(name) for name in names]


def labels_of(values: Array) -> Array:
    """Return numbers as they are, and anything else as labels."""
    if values.dtype.kind in "iuf":
        return values
    return as_labels(values.tolist(), as_text)


def as_text(value: Any) -> str:
    """Return a value as text, which files keep as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def annotate(
    data: Any,
    scores: Any,
    model: Any = None,
    *,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Write a fitted model, or scores, into an annotated matrix as scanpy does.

    ``annotate(data, model)`` writes the coordinates of the observations of ``data`` on the axes of
    the model to ``obsm["X_kpca"]``, and ``variance``, ``variance_ratio`` and ``params`` to
    ``uns["kpca"]``; of a `PCA` to ``obsm["X_pca"]`` and ``uns["pca"]``, with its loadings in
    ``varm["PCs"]``. ``key_added`` names all of them: ``obsm[key_added]``, ``uns[key_added]``,
    ``varm[key_added]``. It writes in place and returns None, or returns the copy asked for.

    >>> from anndata import AnnData  # doctest: +SKIP
    >>> cells = AnnData(np.random.default_rng(0).normal(size=(30, 5)))  # doctest: +SKIP
    >>> annotate(cells, mercer.KernelPCA(2).fit(cells))  # doctest: +SKIP
    >>> cells.obsm["X_kpca"].shape  # doctest: +SKIP
    (30, 2)
    """
    if not is_annotated(data):
        raise InvalidInput(
            f"annotate writes into an annotated matrix (obsm, uns), found {type(data).__name__}"
        )
    if model is None and hasattr(scores, "get_params"):
        model, scores = scores, _coordinates(data, scores)
    coordinates = np.asarray(scores)
    count = len(data.obs_names)
    if coordinates.ndim != 2 or len(coordinates) != count:
        raise InvalidInput(f"scores of shape {coordinates.shape} do not fit {count} observations")
    target = data.copy() if copy else data
    is_linear = hasattr(model, "components_")
    stem = "pca" if is_linear else "kpca"
    target.obsm[key_added or f"X_{stem}"] = coordinates.copy()
    if is_linear and hasattr(target, "varm") and model.components_.shape[1] == len(data.var_names):
        target.varm[key_added or "PCs"] = np.asarray(model.components_).T.copy()
    if model is not None:
        given = {**model.get_params(deep=False), "layer": getattr(model, "layer_", None)}
        target.uns[key_added or stem] = {
            "variance": np.asarray(model.explained_variance_).copy(),
            "variance_ratio": np.asarray(model.explained_variance_ratio_).copy(),
            "params": {name: _plain(v) for name, v in given.items() if v is not None},
        }
    return target if copy else None


def _coordinates(data: Any, model: Any) -> Array:
    """Return the coordinates of observations: those of the fit where they are the same ones."""
    names = tuple(str(name) for name in data.obs_names)
    individuals = model.individuals_
    if getattr(individuals, "names", None) == names:
        layer = getattr(model, "layer_", None)
        read = data if layer is None else from_anndata(data, layer)
        return in_dtype_of(read, individuals.coordinates)
    return np.asarray(model.transform(data))


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else repr(value)


TEXTS = "OSU"

DAMAGE = (OSError, RuntimeError, LookupError, TypeError, ValueError, OverflowError)
"""What the library raises of damaged files: it has no error of its own."""


def read_h5ad(path: Path, layer: str, limits: Limits) -> Parts:
    """Return the columns of a layer and of ``obs`` of an .h5ad file, and the row names."""
    h5py = extra("h5py", "io", "reading HDF5")
    limits.check(path.stat().st_size, None, path.name)
    try:
        with h5py.File(path, "r") as file:
            return Reader(file, path.name, limits).parts(layer)
    except MercerError:
        raise
    except DAMAGE as error:
        raise UnreadableFile(
            f"{path.name} is a damaged or incomplete HDF5 file: {in_one_line(error)}"
        ) from error


class Reader:
    """One open file, and how much of it was read."""

    def __init__(self, file: Any, name: str, limits: Limits) -> None:
        self.file, self.name, self.limits = file, name, limits
        self.taken = 0

    def parts(self, layer: str) -> Parts:
        """Return names and columns of a layer and of ``obs``, and the names of the rows."""
        known = ["X", *self._members("obsm"), *self._members("layers")]
        layer = whole_name(layer, known)
        found = self._node(self.file, layer)
        observations = self._node(self.file, "obs")
        if observations is None:
            raise UnreadableFile(
                f"{self.name} is an HDF5 file without the observations of an .h5ad file, obs; "
                "mercer.open_points reads the rows of one of its arrays"
            )
        if found is None:
            raise UnreadableFile(
                f"{self.name} is not an .h5ad file with a layer {layer[:80]!r}: it may have "
                f"{quote_names(known)}"
            )
        if _is_array(observations):
            raise self._wrong("obs", "is one array, as old versions wrote it; write it again")
        numbers = self._matrix(found, layer)
        names = feature_names(layer, numbers.shape[1], self._genes(layer, numbers.shape[1]))
        columns: list[Array] = list(numbers.T)
        skipped = []
        for name in self._order(observations):
            values = self._column(observations, name, len(numbers))
            if values is None:
                skipped.append(name)
            else:
                names.append(name)
                columns.append(values)
        if skipped:
            warn(
                f"{self.name}: obs {quote_names(skipped)} holds neither numbers nor labels, and is "
                "left out",
                DataWarning,
            )
        return names, columns, self._index(observations, "obs", len(numbers))

    def _wrong(self, place: str, what: str) -> UnreadableFile:
        return UnreadableFile(f"{self.name}, {place} {what}")

    def _members(self, group: str) -> list[str]:
        node = self._node(self.file, group)
        return [] if node is None or _is_array(node) else [f"{group}/{key}" for key in node]

    def _node(self, group: Any, path: str) -> Any:
        """Return what a path leads to within this file, None where it leads nowhere."""
        for name in path.split("/"):
            if not name or name == "." or "\0" in name or _is_array(group) or name not in group:
                return None
            link = group.get(name, getlink=True)
            group = group[name]
            is_elsewhere = hasattr(link, "filename") or (
                _is_array(group) and (group.external or group.is_virtual)
            )
            if is_elsewhere:
                raise self._wrong(path, "lies in another file, which is not read; copy it into one")
        return group

    def _values(self, group: Any, path: str, count: int | None, kinds: str, place: str) -> Array:
        """Return an array of one dimension, once its size and its type are right."""
        node = self._node(group, path)
        if node is None or not _is_array(node) or node.shape is None or len(node.shape) != 1:
            raise self._wrong(place, "is no column of values")
        if count is not None and node.shape != (count,):
            raise self._wrong(place, f"has {node.shape[0]:,} values, where {count:,} belong")
        if node.dtype.kind not in kinds:
            raise self._wrong(place, f"has type {node.dtype}, which does not belong there")
        self._check(node, place)
        return np.asarray(node[...])

    def _check(self, node: Any, place: str) -> None:
        each = LABEL + node.dtype.itemsize if node.dtype.kind in TEXTS else node.dtype.itemsize
        size = each * prod(node.shape)
        self.limits.check(size, node.id.get_storage_size(), f"{self.name}, {place}")
        self.taken += size
        self.limits.check(self.taken, None, self.name)

    def _matrix(self, node: Any, layer: str) -> Array:
        if not _is_array(node):
            return self._sparse(node, layer)
        if node.shape is None or len(node.shape) != 2 or 0 in node.shape:
            raise self._wrong(layer, f"has shape {node.shape}, which is not a table of numbers")
        if node.dtype.kind not in "biuf":
            raise self._wrong(layer, f"has type {node.dtype}, and only real numbers are read")
        self._check(node, layer)
        self.limits.check(8 * prod(node.shape), None, f"{self.name}, {layer}")
        return np.asarray(node[...])

    def _sparse(self, node: Any, layer: str) -> Array:
        shape = np.atleast_1d(node.attrs.get("shape", ()))
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 1:
            raise self._wrong(
                layer, f"has shape {quote_names(shape)}, which is not a table of numbers"
            )
        n, p = (int(k) for k in shape)
        is_by_row = "csc" not in as_text(node.attrs.get("encoding-type", "csr_matrix"))
        data = self._values(node, "data", None, "biuf", f"{layer}/data")
        name = f"{self.name}, {layer}, written out with its zeros"
        self.limits.check(8 * n * p, 16 * max(len(data), 1), name)
        indices = self._values(node, "indices", len(data), "iu", f"{layer}/indices")
        majors, minors = (n, p) if is_by_row else (p, n)
        starts = self._values(node, "indptr", majors + 1, "iu", f"{layer}/indptr")
        ends = starts.astype(np.int64)
        if ends[0] != 0 or ends[-1] != len(data) or np.any(np.diff(ends) < 0):
            raise self._wrong(f"{layer}/indptr", f"does not cut {len(data):,} entries into rows")
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < minors:
            raise self._wrong(f"{layer}/indices", f"points outside of {minors:,} places")
        form = csr_array if is_by_row else csc_array
        return np.asarray(form((data, indices.astype(np.int64), ends), shape=(n, p)).toarray())

    def _genes(self, layer: str, count: int) -> list[str] | None:
        variables = self._node(self.file, "var")
        if variables is None or layer.startswith("obsm/"):
            return None
        return self._index(variables, "var", count)

    def _index(self, group: Any, place: str, count: int) -> list[str]:
        key = as_text(group.attrs.get("_index", "_index"))
        labels = self._column(group, key, count)
        if labels is None:
            raise self._wrong(f"{place}/{key}", "names nobody: it holds no labels")
        return [str(label) for label in labels]

    def _order(self, group: Any) -> list[str]:
        """Return the names of columns in the order of the data frame they come from."""
        index = as_text(group.attrs.get("_index", "_index"))
        told = [as_text(name) for name in np.atleast_1d(group.attrs.get("column-order", ()))]
        known = [name for name in group if name not in (index, "__categories")]
        return known if sorted(told) != sorted(known) else told

    def _column(self, group: Any, name: str, count: int | None) -> Array | None:
        """Return a column as numbers or labels, None if it holds neither."""
        place = f"{group.name.strip('/')}/{name}"
        node = self._node(group, name)
        if node is None:
            raise self._wrong(place, "is missing")
        if _is_array(node):
            if "categories" in node.attrs:  # as versions before 0.7 wrote it
                return self._categories(node.name, self.file[node.attrs["categories"]].name, count)
            if node.dtype.kind not in "biufSU" and not _is_text(node):
                return None
            return labels_of(self._values(group, name, count, "biufSUO", place))
        if "categories" in node:
            return self._categories(f"{node.name}/codes", f"{node.name}/categories", count)
        if "values" in node and "mask" in node:
            held = self._column(node, "values", count)
            mask = self._values(node, "mask", count, "b", f"{place}/mask")
            return None if held is None else _masked(held, mask)
        return None

    def _categories(self, codes: str, categories: str, count: int | None) -> Array:
        codes, categories = codes.strip("/"), categories.strip("/")
        places = self._values(self.file, codes, count, "iu", codes)
        group, _, name = categories.rpartition("/")
        levels = self._column(self._node(self.file, group), name, None)
        if levels is None:
            raise self._wrong(categories, "holds no labels")
        words = as_labels(levels.tolist())
        if len(places) and not -1 <= int(places.min()) <= int(places.max()) < len(words):
            raise self._wrong(codes, f"points outside of {len(words):,} categories")
        return _chosen(words, places)


def _is_array(node: Any) -> bool:
    return hasattr(node, "dtype")


def _is_text(node: Any) -> bool:
    """Whether an array of objects holds texts, rather than references or lists."""
    return extra("h5py", "io", "reading HDF5").check_string_dtype(node.dtype) is not None


def _chosen(words: Array, places: Array) -> Array:
    labels = np.empty(len(places), object)
    labels[:] = None
    is_there = places >= 0
    labels[is_there] = words[places[is_there]]
    return labels


def _masked(values: Array, mask: Array) -> Array:
    """Return values, NaN or None where the mask says that one is missing."""
    if values.dtype.kind in "iuf":
        return np.where(mask, np.nan, values.astype(np.float64)) if mask.any() else values
    labels = values.copy()
    labels[mask] = None
    return labels
