"""Rows of data on the workers of a cluster: sent there, read there, or there already."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import accumulate
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from mercer.check import Array, Points, chunks, plain_array
from mercer.data.ondisk import InArray, OnDisk, open_points
from mercer.engines.cluster_cost import FAN, PIECE, Pairs, home_of
from mercer.errors import ClusterFailed, InvalidInput, MercerError, NotStorable, extra
from mercer.progress import Progress

T = TypeVar("T")

BEAT = 0.1
"""Seconds between two looks at what the cluster has done, and at Ctrl-C."""

LOOK = 0.5
"""Seconds between two questions whether there are workers."""

PATIENCE = 30.0
"""Seconds that a cluster may be without workers, or without its scheduler, before that is told."""

TRIES = 3
"""How often a task is tried that fails."""

MOST_HELD = 2**29
"""Bytes of points that a worker holds as one value, which cannot be spilled in parts."""

GONE = ("cancelled", "lost", "error")
"""What Dask says of values that do not come any more."""

Maker = Callable[[list[int]], list[Any]]
"""What makes blocks by their numbers, as futures."""


def distributed_library() -> Any:
    """Return Dask's library of clusters, or say which extra brings it."""
    return extra("distributed", "dask", "a cluster of machines")


def task(client: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Return the future of a function's value, tried a few times."""
    try:
        return client.submit(function, *args, pure=False, retries=TRIES - 1)
    except Exception as error:
        raise failure(client, error, distributed_library()) from error


def tasks(
    client: Any, function: Callable[..., Any], *columns: Iterable[Any], home: str | None = None
) -> list[Any]:
    """Return the futures of a function's values on the rows of some columns, sent together.

    A message for each would take the client and the scheduler some milliseconds. They are meant for
    the worker at ``home``; others take them where it is gone, or has too much to do.
    """
    rows = [list(column) for column in columns]
    if not rows[0]:
        return []
    place = {} if home is None else {"workers": [home], "allow_other_workers": True}
    try:
        return list(client.map(function, *rows, pure=False, retries=TRIES - 1, **place))
    except Exception as error:
        raise failure(client, error, distributed_library()) from error


def send(client: Any, value: Any) -> Any:
    """Return a value of this process as a future."""
    return send_each(client, [value])[0]


def send_each(client: Any, values: Iterable[Any]) -> list[Any]:
    """Return values of this process as futures.

    Each is a task of its own, so that Dask makes it again where a worker dies that has it; values
    that are scattered would be lost.
    """
    made: list[Any] = []
    together: list[Any] = []
    size = 0
    for text in map(_written, values):
        is_one = len(text) <= PIECE
        pieces = (
            [text] if is_one else [task(client, _same, text[p]) for p in chunks(len(text), PIECE)]
        )
        if size + len(text) > PIECE:
            made += tasks(client, _loaded, together)
            together, size = [], 0
        together.append(pieces)
        size += len(text) if is_one else 0
    return made + tasks(client, _loaded, together)


def _written(value: Any) -> bytes:
    """Return a value of this process as bytes, or say that it cannot leave it."""
    pickle_there = distributed_library().protocol.pickle
    talk = logging.getLogger(pickle_there.__name__)
    before, talk.disabled = talk.disabled, True  # it would print a traceback: the error says it all
    try:
        return bytes(pickle_there.dumps(value))
    except Exception as error:
        raise ClusterFailed(
            f"the task cannot be sent to the workers: {type(error).__name__}: {error}. Everything "
            "that a kernel or a function holds must be picklable; without a cluster the task "
            "runs in this process"
        ) from error
    finally:
        talk.disabled = before


def _same(piece: bytes) -> bytes:
    return piece


def _loaded(pieces: list[bytes]) -> Any:
    return pickle.loads(b"".join(pieces))


def results_of(
    client: Any,
    futures: list[Any],
    steps: list[Any] | None = None,
    progress: Progress | None = None,
) -> list[Any]:
    """Return the values of futures, and refuse to wait where nobody works on them.

    ``progress`` is told how many of the steps are done, which are forgotten as soon as they are
    not needed.
    """
    library = distributed_library()
    try:
        _await(client, futures, steps or [], progress)
        return list(client.gather(futures))
    except MercerError:
        raise
    except Exception as error:
        raise failure(client, error, library) from error
    except BaseException:  # Ctrl-C
        client.cancel(futures, force=True)
        raise


def _await(client: Any, futures: list[Any], steps: list[Any], progress: Progress | None) -> None:
    total, done, left, lock, ended = len(steps), [0], [len(futures)], Lock(), Event()

    def count(_: Any) -> None:
        with lock:
            done[0] += 1

    def end(_: Any) -> None:
        with lock:
            left[0] -= 1
        if not left[0]:
            ended.set()

    if progress is not None:
        for step in steps:
            step.add_done_callback(count)
    steps.clear()
    for future in futures:
        future.add_done_callback(end)
    told, alive, looked = 0, monotonic(), monotonic()
    while not ended.wait(BEAT) and not all(future.done() for future in futures):
        if progress is not None and told < min(done[0], total):
            told = min(done[0], total)
            progress(told, total)
        if monotonic() - looked < LOOK:
            continue
        if is_up(client) and client.scheduler_info(n_workers=1)["workers"]:
            alive = monotonic()  # when it answered, which a busy machine may take long for
        refuse_waiting(client, alive)
        looked = monotonic()
    if progress is not None and told < total:
        progress(total, total)


def is_up(client: Any) -> bool:
    """Whether the scheduler of a cluster answers."""
    return str(client.status) == "running"


def refuse_closed(client: Any) -> Any:
    """Return a client that was not closed; what is closed does not come back."""
    if str(client.status) in ("closed", "closing"):
        raise ClusterFailed(
            "the client of the cluster is closed: make another, or leave engine= out"
        )
    return client


def refuse_waiting(client: Any, since: float) -> None:
    """Refuse to wait any longer for workers that do not come back."""
    if monotonic() - since > PATIENCE:
        what = "has no workers" if is_up(client) else "has lost its scheduler"
        raise ClusterFailed(
            f"the cluster {what} for {PATIENCE:.0f} s now: restart it and repeat the call; a "
            "checkpoint keeps its state"
        )


def failure(client: Any, error: Exception, library: Any) -> ClusterFailed:
    """Return the error that says what became of a computation on a cluster."""
    if not is_up(client) or isinstance(error, library.client.FutureCancelledError):
        return ClusterFailed(
            "the cluster has lost its scheduler, or the work was cancelled: restart it and repeat "
            "the call; a checkpoint keeps its state"
        )
    if isinstance(error, library.KilledWorker):
        return ClusterFailed(
            "workers died repeatedly while they computed one part of the matrix, probably for lack "
            "of memory: give them more, or smaller blocks by engine=Cluster(client, rows=...) "
            f"({error.args[0]})"
        )
    return ClusterFailed(
        f"a task failed {TRIES} times on the cluster: {type(error).__name__}: {error}"
    )


class Blocks:
    """Consecutive rows of points on the workers, and how to bring there again what is lost.

    ``shares`` are the pairs of blocks that each task of a pass computes, and ``homes`` the workers
    that the first and the next of them are meant for, as they were when the points were cut: sums
    are then formed in the same order whoever is there later. Threads may multiply with the same
    points.
    """

    def __init__(self, bounds: list[slice], make: Maker) -> None:
        self.bounds, self._make = bounds, make
        self.shares: list[Pairs] = []
        self.homes: list[str] = []
        self.row_bytes = 0
        self._held: list[tuple[str, list[Pairs], Any]] = []
        self._lock = Lock()
        self.futures = make(list(range(len(bounds))))

    def at_homes(self, client: Any) -> list[tuple[str, list[Pairs], Any]]:
        """Return each home, the shares that it computes, and what it holds for them as one value.

        Dask drops the copies of a block that no task waits for: they would move with every pass.
        Points that are too many to be held so do, block by block, and None stands for them.
        """
        with self._lock:
            if not self._held:
                self._held = self._at_homes(client)  # all of it, or nothing where that fails
            return list(self._held)

    def _at_homes(self, client: Any) -> list[tuple[str, list[Pairs], Any]]:
        found: list[tuple[str, list[Pairs], Any]] = []
        meant = [home_of(i, len(self.shares), len(self.homes)) for i in range(len(self.shares))]
        for place in sorted(set(meant)):
            mine = [s for s, h in zip(self.shares, meant, strict=True) if h == place]
            numbers = sorted({i for share in mine for pair in share for i in pair})
            blocks = [self.futures[i] for i in numbers]
            home, held = self.homes[place], None
            rows = sum(self.bounds[i].stop - self.bounds[i].start for i in numbers)
            if rows * self.row_bytes <= MOST_HELD:
                (held,) = tasks(client, _by_number, [numbers], [blocks], home=home)
            found.append((home, mine, held))
        return found

    def restore(self) -> None:
        """Bring blocks again that died with the workers that had them."""
        with self._lock:
            if any(held is not None and held.status in GONE for _, _, held in self._held):
                self._held = []
            lost = [i for i, f in enumerate(self.futures) if f.status in ("cancelled", "lost")]
            for i, future in zip(lost, self._make(lost) if lost else [], strict=True):
                self.futures[i] = future


def _by_number(numbers: list[int], blocks: list[Points]) -> dict[int, Points]:
    return dict(zip(numbers, blocks, strict=True))


def blocks_of(client: Any, points: Points, rows: int) -> Blocks:
    """Return the blocks of any points: tasks that read a file that all see, or what is sent."""
    bounds = list(chunks(len(points), rows))
    if isinstance(points, Partitioned):
        return Blocks(bounds, lambda places: [points.future(bounds[i]) for i in places])
    reader = _reader(client, points)
    if reader is not None:
        function, file = reader
        return Blocks(
            bounds,
            lambda places: tasks(
                client, function, [file] * len(places), [bounds[i] for i in places]
            ),
        )

    def send(places: list[int]) -> list[Any]:
        parts = (points[bounds[i]] for i in places)
        return send_each(client, (np.asarray(p) if isinstance(p, np.ndarray) else p for p in parts))

    return Blocks(bounds, send)


def _reader(client: Any, points: Points) -> tuple[Callable[..., Array], Any] | None:
    """Return how workers read a file on their own, None where one of them does not see it."""
    known = points.values if isinstance(points, InArray) else points
    if isinstance(known, np.memmap) and known.filename is not None and known.ndim == 2:
        place = Path(os.fspath(known.filename))
        chosen = tuple(points.chosen) if isinstance(points, InArray) else None
        order = "C" if known.flags.c_contiguous else "F"
        whole = known.flags.c_contiguous or known.flags.f_contiguous
        file: tuple[Any, ...] = (
            str(place.resolve()),
            known.dtype.str,
            known.offset,
            known.shape,
            order,
            chosen,
        )
        function: Callable[..., Array] = _mapped_rows
        if not whole or isinstance(known.base, np.memmap):
            return None
        places: tuple[Path, ...] = (place,)
    elif isinstance(points, OnDisk):
        places, function = points.files, _rows_on_disk
        files = tuple(str(path.resolve()) for path in places)
        file = (files, points.first_rows, points.names, points.layer, points.dtype)
    else:
        return None
    marks = [str(path.resolve()) for path in places]
    seen = client.run(_stamps, marks)
    return (function, file) if seen and set(seen.values()) == {_stamps(marks)} else None


def _stamps(paths: list[str]) -> tuple[tuple[int, int] | None, ...]:
    return tuple(_stamp(path) for path in paths)


def _stamp(path: str) -> tuple[int, int] | None:
    """Return the size and the time of a file, by which two machines know it for the same."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _mapped_rows(file: tuple[Any, ...], rows: slice) -> Array:
    path, dtype, offset, shape, order, chosen = file
    part = np.memmap(path, dtype, "r", offset, shape, order)[rows]
    return np.array(part if chosen is None else part[:, list(chosen)])


def _rows_on_disk(file: tuple[Any, ...], rows: slice) -> Array:
    """Return consecutive rows of some files, of which those are opened that hold them.

    The client says which files there are: others may have come into their folder since.
    """
    paths, starts, names, layer, dtype = file
    parts = []
    for path, start, stop in zip(paths, starts, starts[1:], strict=False):
        low, high = max(rows.start, start), min(rows.stop, stop)
        if low < high:
            part = open_points(path, columns=names, layer=layer)
            parts.append(part[low - start : high - start])
    return np.concatenate(parts).astype(dtype, copy=False)


class Partitioned:
    """Rows of numbers in the partitions of a cluster, where they stay.

    Points as any others: a slice is fetched from the workers that have it, and what is asked of all
    rows is computed by them.
    """

    lies_on_disk = True

    def __init__(
        self,
        client: Any,
        futures: list[Any],
        lengths: list[int],
        width: int,
        dtype: Any,
        *,
        names: tuple[str, ...] | None = None,
        labels: list[Any] | None = None,
    ) -> None:
        self.client, self.futures, self.lengths = client, futures, lengths
        self._labels = labels or []
        self.starts = [0, *accumulate(lengths)]
        self.shape, self.dtype, self.names = (self.starts[-1], width), np.dtype(dtype), names

    @staticmethod
    def of(client: Any, data: Any) -> Partitioned:
        """Return the rows of a `dask.array` or a `dask.dataframe`, computed and kept there."""
        names = getattr(data, "columns", None)
        if names is None and data.ndim == 1:
            data = data[:, None]
        if data.ndim != 2 and names is None:
            raise InvalidInput(f"X must be a table of two dimensions, found {data.ndim}")
        if names is None:
            data = data.rechunk({1: -1})
        parts = np.ravel(np.asarray(data.to_delayed(), dtype=object)).tolist()
        texts = None if names is None else tuple(map(str, names))
        computed = client.compute(parts)
        futures = client.map(_numbers, computed, pure=False)
        labels = [] if names is None else client.map(_labels, computed, pure=False)
        about = results_of(client, client.map(_about, futures, pure=False))
        kept = [(f, a) for f, a in zip(futures, about, strict=True) if a[0]]
        if not kept:
            raise InvalidInput("X has 0 sample(s) while a minimum of 1 is required.")
        dtypes = {dtype for _, (_, _, dtype) in kept}
        return Partitioned(
            client,
            [future for future, _ in kept],
            [length for _, (length, _, _) in kept],
            kept[0][1][1],
            np.float32 if dtypes == {"float32"} else np.float64,
            names=texts,
            labels=labels,
        )

    def labels(self) -> tuple[str, ...] | None:
        """Return the index of a data frame, fetched from the workers; None where it only counts."""
        labels = results_of(self.client, self._labels)
        if all(isinstance(part, range) for part in labels):
            return None
        return tuple(str(label) for part in labels for label in part)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any, /) -> Array:
        if not isinstance(index, slice):
            place = int(index) + (len(self) if index < 0 else 0)
            if not 0 <= place < len(self):
                raise IndexError(f"there is no point {index} among {len(self)}")
            return np.asarray(self[place : place + 1][0])
        start, stop, step = index.indices(len(self))
        if step <= 0:
            raise InvalidInput("points on other machines are read forwards: a slice has a step > 0")
        if stop <= start:
            return np.empty((0, self.shape[1]), self.dtype)
        part: Array = results_of(self.client, [self.future(slice(start, stop))])[0]
        return part if step == 1 else part[::step]

    def future(self, rows: slice) -> Any:
        """Return consecutive rows as one block of the cluster."""
        parts, cuts = [], []
        for future, start, stop in zip(self.futures, self.starts, self.starts[1:], strict=False):
            low, high = max(rows.start, start), min(rows.stop, stop)
            if low < high:
                parts.append(future)
                cuts.append((low - start, high - start))
        return task(self.client, _assembled, parts, cuts, self.dtype.str)

    def picked(self, indices: Array) -> Array:
        """Return some of the rows by their numbers; only these are fetched."""
        chosen = np.asarray(indices)
        home = np.searchsorted(self.starts, chosen, side="right") - 1
        result = np.empty((len(chosen), self.shape[1]), self.dtype)
        asked = {int(h): chosen[home == h] - self.starts[h] for h in np.unique(home)}
        found = tasks(self.client, _rows, [self.futures[h] for h in asked], asked.values())
        for h, part in zip(asked, results_of(self.client, found), strict=True):
            result[home == h] = part
        return result

    def over_parts(self, work: Callable[[Points, slice], T]) -> Iterator[tuple[slice, T]]:
        """Yield what a function makes of each partition, which is done there."""
        places = [slice(a, b) for a, b in zip(self.starts, self.starts[1:], strict=False)]
        sent = [send(self.client, work)] * len(places)
        found = tasks(self.client, _worked, sent, self.futures, places)
        yield from zip(places, results_of(self.client, found), strict=True)

    def summed(self, work: Callable[[Points, slice], T], add: Callable[[T, T], T]) -> T:
        """Return the sum of what a function makes of each partition, added up there in a tree."""
        places = [slice(a, b) for a, b in zip(self.starts, self.starts[1:], strict=False)]
        sent, sum_of = send_each(self.client, [work, add])
        parts = tasks(self.client, _worked, [sent] * len(places), self.futures, places)
        while len(parts) > 1:
            few = [parts[part] for part in chunks(len(parts), FAN)]
            parts = tasks(self.client, _folded, [sum_of] * len(few), few)
        found: T = results_of(self.client, parts)[0]
        return found

    def moved(self, move: Callable[[Array], Array]) -> Partitioned:
        """Return the rows as a function makes them, on the same machines."""
        futures = self.client.map(move, self.futures, pure=False)
        return Partitioned(
            self.client, futures, self.lengths, self.shape[1], np.float64, names=self.names
        )

    def __reduce__(self) -> Any:
        raise NotStorable(
            "points that lie on a cluster cannot be stored or sent with a model: fit a file that "
            "the workers see (mercer.open_points), or data of this machine"
        )

    def __repr__(self) -> str:
        n, d = self.shape
        return f"Partitioned({n} points of {d} {self.dtype} in {len(self.futures)} partitions)"


def _numbers(part: Any) -> Array:
    a = plain_array(part, "X")
    if a.dtype.kind not in "biuf":
        raise InvalidInput(f"X must hold numbers, found a partition of type {a.dtype}")
    a = a[:, None] if a.ndim == 1 else a
    return np.ascontiguousarray(a, np.float32 if a.dtype == np.float32 else np.float64)


def _labels(part: Any) -> range | list[str]:
    """Return the index of a partition, a range where it only counts."""
    index = part.index
    is_range = type(index).__name__ == "RangeIndex"
    return range(index.start, index.stop, index.step) if is_range else list(map(str, index))


def _about(part: Array) -> tuple[int, int, str]:
    return part.shape[0], part.shape[1], part.dtype.name


def _assembled(parts: list[Array], cuts: list[tuple[int, int]], dtype: str) -> Array:
    slices = [part[low:high] for part, (low, high) in zip(parts, cuts, strict=True)]
    return np.concatenate(slices).astype(dtype, copy=False)


def _rows(part: Array, rows: Array) -> Array:
    return part[rows]


def _folded(add: Callable[[T, T], T], parts: list[T]) -> T:
    return reduce(add, parts)


def _worked(work: Callable[[Any, slice], T], part: Array, rows: slice) -> T:
    return work(part, rows)
