"""The state of a long run in a file that is whole at any moment, and whose run is known."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mercer.check import Points
from mercer.display import warn
from mercer.errors import CorruptFile, DataWarning, InvalidInput, InvalidParameter, NotStorable
from mercer.kernels.base import Kernel
from mercer.points import over_parts
from mercer.store.file import load_tree, save_tree
from mercer.store.packing import contents_digest, has_written_form

RUN, STATE = "run", "state"


class CheckpointFile:
    """The state of one run, which is what ``run`` says of it: a file of another run is refused.

    The file before the last is kept beside it, under the name ``FILE.previous``; it is taken where
    the last is damaged.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     CheckpointFile(f"{folder}/run", {"kernel": "linear()"}).save({"passes": 3})
    ...     CheckpointFile(f"{folder}/run", {"kernel": "linear()"}).load()
    {'passes': 3}
    """

    def __init__(self, path: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        self.path, self.run = Path(path), dict(run)
        self.previous = self.path.with_name(f"{self.path.name}.previous")

    def load(self) -> Mapping[str, Any] | None:
        """Return the state that was kept last, None where there is none."""
        found = read_run(self.path)
        if found is None:
            return None
        run, state = found
        for name in self.run:
            if not _is_same(run.get(name), self.run[name]):
                there, here = _shown(run.get(name)), _shown(self.run[name])
                values = "" if there == here else f": {there} there, {here} here"
                raise InvalidInput(
                    f"{self.path} is the checkpoint of another run, by its {name}{values}. "
                    "Name another file, or remove this one"
                )
        return state

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep a state, in the place of the one before."""
        if self.path.exists():
            beside = self.previous.with_name(f"{self.previous.name}.{os.getpid()}")
            with suppress(OSError):
                os.link(self.path, beside)
                os.replace(beside, self.previous)
        save_tree({RUN: self.run, STATE: dict(state)}, self.path, {"class": "checkpoint"})


def read_run(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return what a checkpoint says of its run, and its state; None where there is no file."""
    last = Path(path)
    previous = last.with_name(f"{last.name}.previous")
    if not last.exists() and not previous.exists():
        return None
    try:
        tree = load_tree(last)
    except (CorruptFile, OSError, InvalidInput) as error:
        if not previous.exists():
            raise
        warn(f"{error}: the state before it is taken, from {previous.name}", DataWarning)
        tree = load_tree(previous)
    if not isinstance(tree, dict) or set(tree) != {RUN, STATE}:
        raise CorruptFile(f"{last.name} is a stored model, and no checkpoint of a run")
    return tree[RUN], tree[STATE]


def fingerprint(points: Points) -> str:
    """Return what tells points from others: the sum of the bytes of an array, or of every item.

    Points on disk or on a cluster are read once, where they lie.

    >>> fingerprint(np.zeros((2, 1))) == fingerprint(np.ones((2, 1)))
    False
    >>> fingerprint(["a", "b", "c", "d"]) == fingerprint(["a", "x", "c", "d"])
    False
    """
    dtype = getattr(points, "dtype", None)
    is_table = dtype is not None and hasattr(points, "shape") and not hasattr(points, "matrix")
    if not is_table or getattr(dtype, "kind", "") == "O":
        return _digest(points, "data", "Data that are arrays, texts, graphs or lists of them are")

    def digest(part: Any, rows: slice) -> str:
        return hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()

    table: Any = points
    total = hashlib.sha256(repr((tuple(table.shape), str(dtype))).encode())
    for _, part in over_parts(table, digest):
        total.update(part.encode())
    return total.hexdigest()


def kernel_identity(kernel: Kernel) -> str:
    """Return what tells a kernel from others: its written form, or the sum of what it holds.

    A Python function is refused: what it computes cannot be told from its name.
    """
    if has_written_form(kernel):
        return str(kernel)
    return _digest(kernel, "kernel", "Kernels of mercer's own and their expressions are")


def _digest(value: Any, place: str, known: str) -> str:
    try:
        return contents_digest(value, place)
    except NotStorable as error:
        why = re.split(r"[;.] ", str(error))[0]
        raise InvalidParameter(
            f"checkpoint= cannot tell this run from another: {why}. {known} told apart; leave "
            "checkpoint= out for others"
        ) from error


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _shown(value: Any) -> str:
    text = str(value)
    return "" if len(text) == 2 * hashlib.sha256().digest_size else text
