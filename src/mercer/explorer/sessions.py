"""Who visits: each with their data, what was computed of it, and the work that waits for them."""

from __future__ import annotations

import secrets
import warnings
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from mercer.errors import MercerError, TooLarge
from mercer.explorer.limits import Limits
from mercer.progress import Progress

if TYPE_CHECKING:
    from mercer.check import Array
    from mercer.explorer.answers import Straight
    from mercer.explorer.source import Source
    from mercer.explorer.state import State
    from mercer.page.subject import Subject
    from mercer.pca import KernelPCA

T = TypeVar("T")

ENDS_REFINEMENT = ("upload", "analysis", "slide")
"""Questions after which nobody waits for the refinement of the last map."""


class quiet(warnings.catch_warnings):  # noqa: N801  (reads as a word)
    """No warnings on the console of the server: what misleads is said on the page."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")


class Superseded(Exception):  # noqa: N818  (says what is so)
    """Nobody waits for this work any more."""


class Job:
    """A piece of work that can be told to stop, and tells how far it is."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self.done = self.total = 0
        self.residuals: list[float] = []

    def tell(self, done: int, total: int) -> None:
        """Note how far the work is, and end it if nobody waits any more."""
        self.done, self.total = done, total
        if self.is_cancelled:
            raise Superseded("nobody waits for this any more")


class Worker:
    """A thread that does one piece of work after another, and for which no end of a program waits.

    The threads of a pool would be waited for: Ctrl-C would then hang until an analysis is over.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self.thread: Thread | None = None
        self.is_closed, self.lock = False, Lock()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Have work done after what waits already; what comes after the end is cancelled."""
        future: Future[T] = Future()
        with self.lock:
            if self.is_closed:
                future.cancel()
                return future
            if self.thread is None:
                self.thread = Thread(target=self._work, name=self.name, daemon=True)
                self.thread.start()
            self.queue.put((future, work))
        return future

    def _work(self) -> None:
        while (one := self.queue.get()) is not None:
            future, work = one
            if not future.set_running_or_notify_cancel():
                continue
            try:
                found = work()
            except BaseException as error:  # raised where it is waited for
                future.set_exception(error)
            else:
                future.set_result(found)
                del found
            del one, future, work  # nothing is kept alive while it waits

    def close(self) -> None:
        """Do no more work, and cancel what waits."""
        with self.lock:
            self.is_closed = True
        with suppress(Empty):
            while True:
                one = self.queue.get_nowait()
                if one is not None:
                    one[0].cancel()
        self.queue.put(None)


@dataclass(eq=False)
class Study:
    """Data with what was made of them: work on others that are explored later leaves it alone."""

    source: Source | None = None
    is_own: bool = False
    straight: OrderedDict[str, Straight] = field(default_factory=OrderedDict)
    subject: Subject | None = None
    drawn: Array | None = None
    refined: tuple[str, KernelPCA] | None = None
    read: tuple[Any, Source] | None = None

    @property
    def bytes(self) -> int:
        """About how much memory the data of a visitor take, 0 where they share them."""
        own = self.source.bytes if self.source is not None and self.is_own else 0
        is_other = self.read is not None and self.read[1] is not self.source
        return own + (self.read[1].bytes if self.read is not None and is_other else 0)

    @property
    def data(self) -> Source:
        """The data, which there must be."""
        if self.source is None:
            raise MercerError("there are no data yet: open a file first")
        return self.source

    @property
    def shown(self) -> Source | None:
        """The data as they were read last."""
        return self.source if self.read is None else self.read[1]

    def read_as(self, state: State) -> Source:
        """Return the data as a state reads them, read so once."""
        known = self.read
        if known is None or known[0] != state.reading:
            known = self.read = state.reading, self.data.read_as(state)
        return known[1]

    def straight_map(self, state: State, tell: Progress | None = None) -> Straight:
        """Return the straight map of a state, made once."""
        from mercer.explorer.answers import straight_of

        key = self.data.straight(state).key
        found = self.straight.pop(key, None)
        if found is None:
            found = straight_of(self.read_as(state), state, tell)
        self.straight[key] = found  # the last that was asked for
        while len(self.straight) > Limits.kept_maps:
            self.straight.popitem(last=False)
        return found

    def exact_map(self, state: State) -> KernelPCA | None:
        """Return the curved map of all individuals, where a refinement has made it."""
        known = self.refined
        return known[1] if known is not None and known[0] == refined_key(state) else None


@dataclass(eq=False)
class Visitor:
    """One open page: the data that it explores, and the work under way."""

    name: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    study: Study = field(default_factory=Study)
    seen: float = field(default_factory=monotonic)
    jobs: dict[str, Job] = field(default_factory=dict)

    def bring(self, source: Source, *, is_own: bool) -> None:
        """Explore other data: nobody waits for work on the last but who saves a page of them."""
        self.study = Study(source, is_own)
        for kind, job in self.jobs.items():
            if kind != "report":
                job.is_cancelled = True


def refined_key(state: State) -> str:
    """Return what decides the exact curved map of a state."""
    return replace(state, exact=True, against=None, classes=None).key


class House:
    """All visitors, the data they found here, and the threads in which their work is done.

    One piece of work is done after another, each with all cores, but for refinements, which take
    long and have a thread of their own. A newer question of a visitor cancels the older one of the
    same kind, and a refinement of what is not asked for any more.
    """

    limits: ClassVar[Limits] = Limits()

    def __init__(
        self,
        source: Source | None = None,
        *,
        idle: float = Limits.idle_seconds,
        read: Callable[[], Source] | None = None,
    ) -> None:
        self.source, self.idle = source, idle
        self.visitors: OrderedDict[str, Visitor] = OrderedDict()
        self.worker, self.patient = Worker("mercer-explorer"), Worker("mercer-refinement")
        self.waiting = 0
        self.is_ending: Callable[[], bool] = lambda: False  # a server says when it is
        self.reading: Future[Source] | None = None
        if read is not None:  # pages are handed out meanwhile, and visitors wait for it
            self.reading = Future()
            # Whoever ends the server does not wait for it, as for the threads of a pool.
            Thread(target=self._read, args=(read, self.reading), daemon=True).start()

    def _read(self, read: Callable[[], Source], reading: Future[Source]) -> None:
        try:
            self.source = read()
            reading.set_result(self.source)
        except BaseException as error:  # told by those who wait
            reading.set_exception(error)

    def arrive(self) -> Visitor:
        """Return a new visitor, who finds the data that are here."""
        self.release()
        visitor = Visitor(study=Study(self.source))
        self.visitors[visitor.name] = visitor
        while len(self.visitors) > self.limits.visitors:
            self._let_go(next(iter(self.visitors)))
        return visitor

    def visitor(self, name: str) -> Visitor | None:
        """Return a visitor by name, None where they were let go."""
        self.release()
        found = self.visitors.get(name)
        if found is not None:
            found.seen = monotonic()
            self.visitors.move_to_end(name)
        return found

    def release(self) -> None:
        """Let go of those who have been idle."""
        now = monotonic()
        for name, visitor in list(self.visitors.items()):
            if now - visitor.seen > self.idle:
                self._let_go(name)

    def room_for(self, size: int, visitor: Visitor) -> None:
        """Make room for data, letting go of the idlest others; refuse what never fits."""
        most = self.limits.all_bytes
        if size > most:
            raise TooLarge(f"the data take {size:,} bytes, more than the {most:,} allowed")
        others = [v for v in self.visitors.values() if v is not visitor]
        used = sum(v.study.bytes for v in others)
        for other in others:
            if used + size <= most:
                break
            if other.study.bytes:
                used -= other.study.bytes
                self._let_go(other.name)

    def _let_go(self, name: str) -> None:
        for job in self.visitors.pop(name).jobs.values():
            job.is_cancelled = True

    def begin(self, visitor: Visitor, kind: str, work: Callable[[Progress], T]) -> tuple[Job, Any]:
        """Give work to the thread; return the job and its future."""
        if self.waiting >= self.limits.waiting:
            raise TooLarge("too many people ask at once: try again in a moment")
        for older in (kind, *(("refine",) if kind in ENDS_REFINEMENT else ())):
            if older in visitor.jobs:
                visitor.jobs[older].is_cancelled = True
        job = visitor.jobs[kind] = Job()

        def run() -> T:
            job.tell(0, 0)
            return work(job.tell)

        def finished(_: Future[T]) -> None:
            self.waiting -= 1

        self.waiting += 1
        future = (self.patient if kind == "refine" else self.worker).submit(run)
        future.add_done_callback(finished)
        return job, future

    def close(self) -> None:
        """End all work, and wait for none of it."""
        for name in list(self.visitors):
            self._let_go(name)
        self.worker.close()
        self.patient.close()
