"""Models saved and loaded: what they are stays readable, and nothing in a file is code."""

from __future__ import annotations

import json
import os
from importlib import import_module
from math import isfinite
from typing import Any

import numpy as np

from mercer.data.source import in_one_line, regular
from mercer.errors import CorruptFile, NotStorable
from mercer.store.file import array_of, checked, parts_of, written
from mercer.store.packing import Arrays, Taken, unpacked

WRONG = (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
"""What contents that make no sense raise, where they are put together."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which holds the old model or the new one at any moment.

    Parameters are what ``get_params`` returns, the rest of the model's attributes is its state.
    Kernels are kept in their written form. A model that holds a Python function is refused by
    the name of what holds it.
    """
    arrays = Arrays()
    try:
        tree = arrays.packed(model, type(model).__name__)
    except RecursionError:
        raise NotStorable(
            f"{type(model).__name__} is nested too deeply to be written as data"
        ) from None
    header = json.dumps(
        {
            "about": _about(model),
            "versions": {"mercer": import_module("mercer").__version__, "numpy": np.__version__},
            "model": tree,
            "arrays": arrays.described,
        },
        allow_nan=False,
    ).encode()
    written(path, parts_of(header, arrays.kept))


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file, after its sizes and its sum were found to be right.

    >>> from tempfile import TemporaryDirectory
    >>> import mercer as mc
    >>> model = mc.KernelPCA(1, kernel=mc.Gaussian(0.5)).fit([[0.0], [1.0], [3.0]])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.mercer")
    ...     again = load(f"{folder}/model.mercer")
    >>> np.array_equal(again.transform([[2.0]]), model.transform([[2.0]]))
    True
    """
    place = regular(path)
    with place.open("rb") as file:
        header, start = checked(file, place.name)
        arrays = [array_of(file, about, start, place.name) for about in header["arrays"]]
    try:
        return unpacked(header["model"], Taken(arrays))
    except CorruptFile as error:
        raise CorruptFile(f"{place.name}: {error}") from error
    except WRONG as error:
        raise CorruptFile(
            f"{place.name} is whole but cannot be understood ({in_one_line(error)}); it was "
            f"written by mercer {header['versions'].get('mercer')}: load it with that version"
        ) from error


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file says of its model: class, kernel, inertias and their errors, versions."""
    place = regular(path)
    with place.open("rb") as file:
        header, _ = checked(file, place.name)
    return {**header["about"], "versions": header["versions"]}


def _about(model: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"class": type(model).__name__}
    kernel = getattr(model, "kernel_", getattr(model, "kernel", None))
    if kernel is not None:
        facts["kernel"] = str(kernel)
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is not None:
        facts["values"] = np.asarray(spectrum.values).tolist()
        facts["errors"] = [e if isfinite(e) else None for e in np.asarray(spectrum.errors).tolist()]
        facts["individuals"] = len(spectrum.vectors)
        facts["psd"], facts["method"] = spectrum.psd, spectrum.how.method
    return facts
