"""A small Dask cluster of processes for tests, whose workers may be killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from types import FrameType
from typing import Any

import pytest

distributed: Any = pytest.importorskip("distributed")

COUNT = 2
"""Workers of the cluster."""

RETURN = 20.0
"""Seconds in which a worker that was killed should be there again."""

LONGEST = 300
"""Seconds after which a test has stalled, on a machine that is busy too."""


def started(count: int = COUNT, **options: Any) -> Any:
    return distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        **options,
    )


class Machines:
    """A cluster that is made when it is asked for, and made anew where it is no longer whole.

    Dask starts a worker again that was killed, but not one that was killed while its nanny had not
    heard yet that it was there. So nobody waits for it without an end.
    """

    def __init__(self, count: int = COUNT, *, is_default: bool = True) -> None:
        self.count, self.is_default = count, is_default
        self._open: tuple[Any, Any] | None = None

    def client(self) -> Any:
        """Return the client of a cluster with all of its workers."""
        if self._open is not None and not self._is_whole():
            self.close()
        if self._open is None:
            cluster = started(self.count)
            client = distributed.Client(cluster, set_as_default=self.is_default)
            self._open = cluster, client
        return self._open[1]

    def close(self) -> None:
        if self._open is not None:
            cluster, client = self._open
            self._open = None
            with suppress(TimeoutError):  # of nannies that have lost count
                client.close(timeout=RETURN)
                cluster.close(timeout=RETURN)

    def _is_whole(self) -> bool:
        assert self._open is not None
        cluster, client = self._open
        if client.status != "running":
            return False
        begun = monotonic()
        while not all(str(n.status) == "Status.running" for n in cluster.workers.values()) or (
            len(client.nthreads()) < self.count
        ):
            if monotonic() - begun > RETURN:
                return False
            sleep(0.05)
        return len(cluster.workers) == self.count


def kill_one(client: Any) -> None:
    """Kill a worker, as a machine that breaks would."""
    os.kill(next(iter(client.cluster.workers.values())).pid, signal.SIGKILL)


def kill_all(client: Any) -> None:
    """Kill all workers and those who would start them again."""
    for nanny in client.cluster.workers.values():
        nanny.status = distributed.core.Status.failed  # which does not start it again
        os.kill(nanny.pid, signal.SIGKILL)


@contextmanager
def no_longer_than(seconds: int = LONGEST) -> Iterator[None]:
    """Fail rather than wait for ever."""

    def stop(_: int, frame: FrameType | None) -> None:
        pytest.fail(f"stalled for {seconds} s in {frame and frame.f_code.co_qualname}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
