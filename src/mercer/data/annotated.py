"""Annotated matrices of single-cell biology, known by their parts: no library is imported.

Results are written where scanpy's users look for them: ``obsm["X_kpca"]`` and ``uns["kpca"]``.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mercer.check import Array, in_dtype_of, is_annotated
from mercer.data.frames import columns_of, is_frame
from mercer.data.source import Limits
from mercer.data.table import as_labels, listed
from mercer.errors import InvalidInput, InvalidParameter
from mercer.points import NamedRows, matrix_of

Parts = tuple[list[str], list[Array], list[str]]


def from_anndata(data: Any, layer: str = "X") -> NamedRows:
    """Return a layer of an annotated matrix as rows for a model, with the names of both sides.

    A model takes an annotated matrix itself and uses its ``X``. Another layer is asked for here:
    ``"layers/log1p"``, or ``"obsm/X_pca"`` for an embedding. Sparse layers stay sparse.

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
    matrix = matrix_of(data) if layer == "X" else _layer(data, layer)
    if len(getattr(matrix, "shape", ())) != 2:  # obsm may hold data frames
        matrix = np.asarray(matrix)
    if matrix.ndim != 2:
        raise InvalidInput(f"{layer} has shape {matrix.shape}, which is not a table of numbers")
    matrix = matrix.to_numpy() if hasattr(matrix, "to_numpy") else matrix
    names = feature_names(layer, matrix.shape[1], getattr(data, "var_names", None))
    return NamedRows(matrix, tuple(str(name) for name in data.obs_names), tuple(names))


def columns_of_annotated(data: Any, layer: str, limits: Limits) -> Parts:
    """Return the columns of a layer and of ``obs``, and the names of the observations."""
    matrix = _layer(data, layer)
    numbers = _dense(matrix, limits, layer)
    names = feature_names(layer, numbers.shape[1], getattr(data, "var_names", None))
    columns: list[Array] = list(numbers.T)
    if is_frame(data.obs):
        held, values, _ = columns_of(data.obs)
        names += held
        columns += values
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
        given = model.get_params(deep=False)
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
        return in_dtype_of(data, individuals.coordinates)
    return np.asarray(model.transform(data))


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else repr(value)
