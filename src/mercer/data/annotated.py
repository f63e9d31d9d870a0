"""Annotated matrices of single-cell biology, known by their parts: no library is imported.

Results are written where scanpy's users look for them: ``obsm["X_kpca"]`` and ``uns["kpca"]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, InvalidParameter, UnreadableFile
from mercer.data.extras import extra
from mercer.data.source import Limits
from mercer.data.table import as_labels, listed

Parts = tuple[list[str], list[Array], list[str]]


def is_annotated(values: Any) -> bool:
    """Return whether the values are an annotated matrix, as AnnData is."""
    return all(hasattr(values, part) for part in ("X", "obs", "obsm", "uns", "obs_names"))


def columns_of_annotated(data: Any, layer: str, limits: Limits) -> Parts:
    """Return the columns of a layer and of ``obs``, and the names of the observations."""
    matrix = _layer(data, layer)
    numbers = _dense(matrix, limits, layer)
    names = _feature_names(layer, numbers.shape[1], getattr(data, "var_names", None))
    columns: list[Array] = list(numbers.T)
    for name in getattr(data.obs, "columns", ()):
        names.append(str(name))
        columns.append(_labels(np.asarray(data.obs[name])))
    return names, columns, [str(name) for name in data.obs_names]


def _layer(data: Any, layer: str) -> Any:
    group, _, key = layer.partition("/")
    if layer == "X":
        return data.X
    holder = {"obsm": getattr(data, "obsm", {}), "layers": getattr(data, "layers", {})}.get(group)
    if holder is None or key not in holder:
        known = ["X", *(f"{g}/{k}" for g in ("obsm", "layers") for k in getattr(data, g, {}))]
        raise InvalidParameter(f"there is no layer {layer!r}; there are {listed(known)}")
    return holder[key]


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


def _feature_names(layer: str, count: int, names: Any) -> list[str]:
    if layer.startswith("obsm/") or names is None or len(names) != count:
        stem = layer.partition("/")[2] or layer
        return [f"{stem} {j + 1}" for j in range(count)]
    return [str(name) for name in names]


def _labels(values: Array) -> Array:
    if values.dtype.kind in "iuf":
        return values
    return as_labels(values.tolist(), _text)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def annotate(
    data: Any, scores: Any, model: Any = None, *, key_added: str = "kpca", copy: bool = False
) -> Any:
    """Write scores into an annotated matrix as scanpy does, in place unless a copy is asked for.

    ``obsm["X_kpca"]`` gets the scores and, with a fitted model, ``uns["kpca"]`` its ``variance``,
    ``variance_ratio`` and ``params``. Returns the copy, or None.
    """
    if not is_annotated(data):
        raise InvalidInput(
            f"annotate writes into an annotated matrix (obsm, uns), found {type(data).__name__}"
        )
    coordinates = np.asarray(scores)
    count = len(data.obs_names)
    if coordinates.ndim != 2 or len(coordinates) != count:
        raise InvalidInput(f"scores of shape {coordinates.shape} do not fit {count} observations")
    target = data.copy() if copy else data
    target.obsm[f"X_{key_added}"] = coordinates.copy()
    if model is not None:
        given = model.get_params(deep=False)
        target.uns[key_added] = {
            "variance": np.asarray(model.explained_variance_).copy(),
            "variance_ratio": np.asarray(model.explained_variance_ratio_).copy(),
            "params": {name: _plain(v) for name, v in given.items() if v is not None},
        }
    return target if copy else None


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else repr(value)


def read_h5ad(path: Path, layer: str, limits: Limits) -> Parts:
    """Return the columns of a layer and of ``obs`` of an .h5ad file, and the row names."""
    h5py = extra("h5py", "io", "reading HDF5")
    limits.check(path.stat().st_size, None, path.name)
    try:
        with h5py.File(path, "r") as file:
            if layer not in file or "obs" not in file:
                known = [k for k in ("X", *_members(file, "obsm"), *_members(file, "layers"))]
                raise UnreadableFile(
                    f"{path.name} is not an .h5ad file with a layer {layer!r}: it may have "
                    f"{listed(known)}"
                )
            numbers = _h5_matrix(file[layer], limits, f"{path.name}, {layer}")
            variables = _h5_index(file["var"]) if "var" in file else None
            names = _feature_names(layer, numbers.shape[1], variables)
            columns: list[Array] = list(numbers.T)
            for name, values in _h5_columns(file["obs"]).items():
                names.append(name)
                columns.append(values)
            return names, columns, _h5_index(file["obs"])
    except (OSError, RuntimeError, KeyError) as error:
        raise UnreadableFile(
            f"{path.name} is a damaged or incomplete HDF5 file: {error}"
        ) from error


def _members(file: Any, group: str) -> list[str]:
    return [f"{group}/{key}" for key in file[group]] if group in file else []


def _h5_matrix(node: Any, limits: Limits, name: str) -> Array:
    if hasattr(node, "shape"):
        limits.check(8 * prod(node.shape), None, name)
        return np.asarray(node[...])
    n, p = (int(k) for k in node.attrs["shape"])
    limits.check(8 * n * p, 16 * int(node["data"].shape[0]), f"{name}, written out with its zeros")
    data, indices, starts = (np.asarray(node[k][...]) for k in ("data", "indices", "indptr"))
    is_by_row = "csr" in str(node.attrs.get("encoding-type", "csr_matrix"))
    dense = np.zeros((n, p) if is_by_row else (p, n), data.dtype)
    majors = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    dense[majors, indices] = data
    return dense if is_by_row else np.ascontiguousarray(dense.T)


def _h5_index(group: Any) -> list[str]:
    key = _text(group.attrs.get("_index", "_index"))
    return [_text(v) for v in group[key][...]]


def _h5_columns(group: Any) -> Mapping[str, Array]:
    index = _text(group.attrs.get("_index", "_index"))
    found = {}
    for name in group:
        node = group[name]
        if name == index:
            continue
        if hasattr(node, "shape"):
            found[name] = _labels(np.asarray(node[...]))
        elif "categories" in node:
            categories = [_text(v) for v in node["categories"][...]]
            codes = node["codes"][...]
            found[name] = as_labels(None if c < 0 else categories[c] for c in codes)
    return found
