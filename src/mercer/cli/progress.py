"""Work that can be watched and interrupted: it runs in a thread of its own.

Work may not return to Python for minutes, and a signal is heard only in Python's main thread. So
that thread only waits, draws the progress line and answers Ctrl-C. It is held up itself by one call
of scipy's LAPACK, which keeps the interpreter's lock until it returns; numpy's does not.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from types import FrameType
from typing import Any, NoReturn, TypeVar

from mercer.cli.errors import INTERRUPTED, OK, TERMINATED
from mercer.cli.output import Talk
from mercer.progress import Line

T = TypeVar("T")

PATIENCE = 0.5
"""Seconds before a progress line appears: what is faster needs none."""

BEAT = 0.2
"""Seconds between two drawings of it."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

GRACE = 1.0
"""Seconds that an interruption has to be heard, and that words have to reach their reader."""

_threads: list[threading.Thread] = []
_is_program = threading.Event()
_ending = threading.Lock()
_told = threading.Semaphore(0)
_asked: list[Interrupted] = []


class Interrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C, or the system asked for an end: ``code`` is the exit code."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = TERMINATED if number == signal.SIGTERM else INTERRUPTED

    def __str__(self) -> str:
        what = "stopped by a signal" if self.code == TERMINATED else "interrupted"
        return f"{what}; no file was left half written"


@contextmanager
def signals_heard(end: Callable[[Interrupted], object] | None = None) -> Iterator[None]:
    """Raise `Interrupted` where Ctrl-C or SIGTERM asks for an end, so that files are tidied up.

    Whose process it is gives ``end``, by which it is ended where the exception gets lost: in a
    destructor, or in an import that goes on without what it did not find. A second signal, and one
    that comes when there is nothing left to tidy up, ends the process as the system does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if end is not None:
        _is_program.set()
    _asked.clear()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heard = [number for number in SIGNALS if before[number] is not signal.SIG_IGN]

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        found = Interrupted(number)
        _asked.append(found)
        if end is not None:  # not a Thread, which would wait for a lock that may be ours
            _thread.start_new_thread(_end_late, (end, found))
        raise found

    for number in heard:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number] if end is None else signal.SIG_DFL)


def interruption() -> Interrupted | None:
    """Return the signal that asked this command to end, if one did.

    What is raised after it is its consequence: an extension whose loading it cuts short says
    ``ImportError: initialization failed``.
    """
    return _asked[0] if _asked else None


@contextmanager
def server_signals() -> Iterator[None]:
    """Leave Ctrl-C and SIGTERM to a server, which answers whom it still can and returns.

    Then the process ends with 0, where it is ours: nothing cuts the server short, and threads that
    compute what nobody waits for any more do not hold it up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    except KeyboardInterrupt:  # which is how it is ended
        if _is_program.is_set():
            _tidy_up()
            os._exit(OK)
    finally:
        for number in SIGNALS:
            signal.signal(number, before[number])


def _end_late(end: Callable[[Interrupted], object], found: Interrupted) -> None:
    sleep(GRACE)
    end(found)


def carry_out(work: Callable[[], T], talk: Talk, progress: Line) -> T:
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


def end_process(talk: Talk, found: Interrupted) -> NoReturn:
    """End now, whatever libraries would still do: some wait for threads that never end.

    Nothing is left behind: unfinished files are removed, and what was written is handed over.
    """
    if not _ending.acquire(blocking=False):  # a second thread waits for the first to end us both
        sleep(10 * GRACE)
    _tidy_up()
    _thread.start_new_thread(_tell, (talk, found))
    _told.acquire(timeout=GRACE)
    os._exit(found.code)


def _tidy_up() -> None:
    files = sys.modules.get("mercer.store.file")  # without it nothing was written
    if files is not None:
        files.remove_unfinished()


def _tell(talk: Talk, found: Interrupted) -> None:
    try:
        talk.failed(str(found), found.code)
    finally:
        _told.release()


def _wait(thread: threading.Thread, talk: Talk, progress: Line) -> None:
    if not talk.is_terminal or talk.is_quiet:
        thread.join()
        return
    thread.join(PATIENCE)
    is_drawn = False
    try:
        while thread.is_alive():
            sys.stderr.write(f"\r\033[K{progress.line()}  Ctrl-C stops")
            sys.stderr.flush()
            is_drawn = True
            thread.join(BEAT)
    finally:
        if is_drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
