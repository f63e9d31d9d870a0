"""Long calls of linear algebra that Ctrl-C need not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

LONG = 1000
"""Matrices of fewer rows are decomposed before anybody could wish to stop it."""


def answered(work: Callable[[], T], rows: int) -> T:
    """Return what some work on so many rows returns, long work in a thread of its own.

    There Ctrl-C does not wait for it. Nothing stops LAPACK: what was interrupted goes on unseen, at
    the longest until Python ends.

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

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    return found.result()
