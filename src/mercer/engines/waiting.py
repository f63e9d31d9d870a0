"""Long calls of linear algebra that Ctrl-C need not wait for."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import TypeVar
from weakref import WeakSet

T = TypeVar("T")

LONG = 1000
"""Matrices of fewer rows are decomposed before anybody could wish to stop it."""

_working: WeakSet[Thread] = WeakSet()
"""The threads of long work; those that have ended fall out."""


def answered(work: Callable[[], T], rows: int) -> T:
    """Return what some work on so many rows returns, long work in a thread of its own.

    There Ctrl-C does not wait for it. Nothing stops LAPACK: what was interrupted goes on unseen, at
    the longest until Ctrl-C ends Python. A program that catches it and ends by itself waits.

    >>> answered(lambda: 6 * 7, rows=2000)
    42
    """
    if rows < LONG:
        return work()
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # to be raised where the result is waited for
            found.set_exception(error)

    thread = Thread(target=copy_context().run, args=(run,), daemon=True)
    _working.add(thread)
    thread.start()
    return found.result()


@atexit.register
def _wait_for_the_rest() -> None:
    """Wait for interrupted work, lest the process hang: OpenBLAS cannot shut down while it runs.

    After Ctrl-C the signal ends the process, and nothing is waited for.
    """
    is_ended_by_signal = getattr(sys, "last_type", None) is KeyboardInterrupt
    if is_ended_by_signal and not hasattr(sys, "ps1"):
        return
    for thread in list(_working):
        thread.join()
