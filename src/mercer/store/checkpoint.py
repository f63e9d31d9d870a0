"""The state of a long run in a file that is whole at any moment, and whose run is known."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from mercer.check import Points
from mercer.display import warn
from mercer.errors import (
    CorruptFile,
    DataWarning,
    InvalidInput,
    InvalidParameter,
    NotSaved,
    NotStorable,
)
from mercer.kernels.base import Kernel
from mercer.points import over_parts
from mercer.store.file import (
    load_tree,
    not_saved,
    remove_abandoned,
    remove_at_end,
    save_tree,
)
from mercer.store.packing import contents_digest, has_written_form

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

RUN, STATE = "run", "state"

HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""What systems say of a lock that somebody else has."""


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
        self._second = f".mercer-{self.previous.name}-"
        self._is_doubted = False

    @contextmanager
    def alone(self) -> Iterator[CheckpointFile]:
        """Be the only run that writes this file, until the end of the context or of the process.

        Where nothing can be written and no state is there to go on from, that is told at once.
        """
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            handle = _locked(lock)
        except OSError as error:
            if not os.path.exists(self.path) and not os.path.exists(self.previous):
                raise not_saved(self.path, error) from error
            handle = None
        if handle is None:
            yield self
            return
        try:
            with remove_at_end(lock):
                self._remove_abandoned()
                yield self
        finally:
            os.close(handle)

    def _remove_abandoned(self) -> None:
        """Remove what runs before this one were writing when they were killed.

        No other run has this file now: a second name that `save` gave it is nobody's.
        """
        remove_abandoned(self.path.parent)
        ours = re.compile(rf"{re.escape(self._second)}[0-9a-f]{{16}}\.part")
        with suppress(OSError):
            for place in list(self.path.parent.iterdir()):
                if ours.fullmatch(place.name):
                    place.unlink()

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
        """Keep a state, in the place of the one before.

        A disk that is full does not end a run that has a state to go on from: it is told once.
        """
        beside = self.path.with_name(f"{self._second}{token_hex(8)}.part")

        def keep_the_last() -> None:
            with suppress(OSError):
                os.link(self.path, beside)

        with remove_at_end(beside, keep_the_last):
            try:
                save_tree({RUN: self.run, STATE: dict(state)}, self.path, {"class": "checkpoint"})
            except NotSaved as error:
                self._go_on(error)
                return
            with suppress(OSError):
                os.replace(beside, self.previous)

    def _go_on(self, error: NotSaved) -> None:
        """Tell once that a state was not kept, where there is one to go on from."""
        if not self.path.exists():
            raise error
        if not self._is_doubted:
            warn(
                f"{error}. The run continues; if it ends early, it resumes from the pass that "
                "was kept",
                DataWarning,
            )
        self._is_doubted = True


def _locked(path: Path) -> int | None:
    """Return a file that this process has locked, None where there are no locks; refuse others'.

    A process that ends, in whatever way, leaves no lock behind.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if sys.platform == "win32":
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno not in HELD:
                return None
            raise InvalidInput(
                f"{path.with_suffix('')} is the checkpoint of a running fit. Wait for its end, or "
                "name another file"
            ) from error
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # of a run that has removed it since


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
