"""Work that can be watched and interrupted: it runs in a thread of its own.

Work may not return to Python for minutes, and a signal is heard only in Python's main thread. So
that thread only waits, draws the progress line and answers Ctrl-C. It is held up itself by one call
of scipy's LAPACK, which keeps the interpreter's lock until it returns; numpy's does not.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Any, TypeVar

from mercer.cli.talk import Talk

T = TypeVar("T")

PATIENCE = 0.5
"""Seconds before a progress line appears: what is faster needs none."""

BEAT = 0.2
"""Seconds between two drawings of it."""

_threads: list[threading.Thread] = []


class Terminated(KeyboardInterrupt):
    """The system asked for an end (SIGTERM)."""


@contextmanager
def termination_heard() -> Iterator[None]:
    """Raise `Terminated` where the system asks for an end, so that files are tidied up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Progress:
    """How far some work is: parts done and parts there are; a new round begins at 1 again."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.done = self.total = self.rounds = 0
        self.begun = self.round_begun = monotonic()

    def __call__(self, done: int, total: int) -> None:
        if done < self.done or not self.rounds:
            self.rounds, self.round_begun = self.rounds + 1, monotonic()
        self.done, self.total = done, total

    def line(self) -> str:
        """Return the state in one line.

        >>> progress = Progress("tiles")
        >>> progress(1, 4)
        >>> progress.line().startswith("tiles 1/4  25 %")
        True
        """
        now = monotonic()
        if not self.total:
            return f"{self.what} {clock(now - self.begun)}"
        share = self.done / self.total
        left = (now - self.round_begun) * (1.0 - share) / share if share else 0.0
        pass_number = f"  pass {self.rounds}" if self.rounds > 1 else ""
        counted = f"{self.what} {self.done:,}/{self.total:,}".replace(",", " ")
        return f"{counted}  {share:.0%}".replace("%", " %") + f"{pass_number}  ETA {clock(left)}"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    >>> clock(41.2), clock(3700.0)
    ('0:41', '1:01:40')
    """
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def finished(work: Callable[[], T], talk: Talk, progress: Progress) -> T:
    """Return what some work returns, or raise what it raises; the line is drawn meanwhile."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = work()
        except BaseException as error:  # told by the thread that waits
            outcome["error"] = error

    thread = threading.Thread(target=run, name="mercer-work", daemon=True)
    _threads.append(thread)
    thread.start()
    _wait(thread, talk, progress)
    _threads.remove(thread)
    if "error" in outcome:
        raise outcome["error"]
    value: T = outcome["value"]
    return value


def is_running() -> bool:
    """Whether work that was interrupted goes on in its thread."""
    return any(thread.is_alive() for thread in _threads)


def _wait(thread: threading.Thread, talk: Talk, progress: Progress) -> None:
    if not talk.is_terminal or talk.is_quiet:
        thread.join()
        return
    thread.join(PATIENCE)
    is_drawn = False
    try:
        while thread.is_alive():
            sys.stderr.write(f"\r\033[K{progress.line()}")
            sys.stderr.flush()
            is_drawn = True
            thread.join(BEAT)
    finally:
        if is_drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
