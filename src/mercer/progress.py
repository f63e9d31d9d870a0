"""How far long work is: a function of what is done and what there is, or a line of text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from time import monotonic
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""A function of how many parts are done and how many there are."""

_HEARD: ContextVar[Callable[[float], None] | None] = ContextVar("mercer_residuals", default=None)

BEAT = 0.1
"""Seconds between two states of a line that are written."""

PATIENCE = 2.0
"""Seconds that whoever sits at a prompt waits before they are told unasked how far work is."""


class Line:
    """How far some work is: parts done and parts there are.

    A new round has another number of parts, or begins at 1 again.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.done = self.total = self.rounds = 0
        self.begun = self.round_begun = monotonic()

    def __call__(self, done: int, total: int) -> None:
        if done < self.done or total != self.total:
            self.rounds, self.round_begun = self.rounds + 1, monotonic()
        self.done, self.total = done, total

    def line(self) -> str:
        """Return the state in one line.

        >>> progress = Line("tiles")
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


class WrittenLine(Line):
    """A line that writes itself to the standard error, over what it was before."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._next, self._width = 0.0, 0

    def __call__(self, done: int, total: int) -> None:
        super().__call__(done, total)
        now = monotonic()
        if now >= self._next:
            self._next = now + BEAT
            self._write()

    def close(self) -> None:
        """Write the last state, and end the line."""
        if self.total:
            self._write(end="\n")

    def _write(self, end: str = "") -> None:
        text = self.line()
        if sys.stderr is not None:
            with suppress(OSError, ValueError):  # nobody hears it: no reason to stop
                sys.stderr.write(f"\r{text:{self._width}}{end}")
                sys.stderr.flush()
        self._width = len(text)


class LateLine(WrittenLine):
    """A line for work that takes longer than expected, which also says how to stop it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._next = self.begun + PATIENCE

    def line(self) -> str:
        stop = "interrupting the kernel" if "ipykernel" in sys.modules else "Ctrl-C"
        return f"{super().line()}  {stop} stops"

    def close(self) -> None:
        if self._width:
            super().close()


_seen = Lock()
"""Held by the one line that is written unasked: work is made of work."""


def is_session() -> bool:
    """Whether somebody waits at a prompt, Python's own or that of a notebook."""
    return hasattr(sys, "ps1")


@contextmanager
def follow_work(progress: bool | Progress | None, what: str) -> Iterator[Progress | None]:
    """Return the function to call with parts done and parts there are, None where nobody asked.

    True writes a line to the standard error, which ends with the work; ``what`` names the parts.
    None writes it too, where somebody waits at a prompt for longer than `PATIENCE`; False does not.

    >>> seen = []
    >>> with follow_work(lambda done, total: seen.append((done, total)), "draws") as tell:
    ...     tell(1, 2)
    >>> seen
    [(1, 2)]
    >>> with follow_work(None, "draws") as tell:
    ...     print(tell)
    None
    """
    if progress is None and is_session() and _seen.acquire(blocking=False):
        late = LateLine(what)
        try:
            yield late
        finally:
            _seen.release()
            late.close()
    elif progress is None or progress is False:
        yield None
    elif progress is True:
        line = WrittenLine(what)
        try:
            yield line
        finally:
            line.close()
    elif callable(progress):
        yield progress
    else:
        # The command line starts with this module, and numpy takes its time.
        from mercer.errors import InvalidParameter

        raise InvalidParameter(
            "progress must be True, None or a function of the parts done and the parts there are, "
            f"found {progress!r}"
        )


@contextmanager
def hear_residuals(act: Callable[[float], None]) -> Iterator[None]:
    """Have a function told of every residual that an iteration of this thread reaches.

    >>> seen = []
    >>> with hear_residuals(seen.append):
    ...     tell_residual(0.5)
    >>> tell_residual(0.25)
    >>> seen
    [0.5]
    """
    before = _HEARD.set(act)
    try:
        yield
    finally:
        _HEARD.reset(before)


def tell_residual(size: float) -> None:
    """Tell who listens the residual after a pass, relative to the largest eigenvalue."""
    act = _HEARD.get()
    if act is not None:
        act(size)


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    >>> clock(41.2), clock(3700.0)
    ('0:41', '1:01:40')
    """
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
