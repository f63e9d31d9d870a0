"""Annotated matrices of single-cell biology, known by their parts: no library is imported.

Results are written where scanpy's users look for them: ``obsm["X_kpca"]`` and ``uns["kpca"]``.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mercer.check import Array, InvalidInput, InvalidParameter
from mercer.data.frames import columns_of, is_frame
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
