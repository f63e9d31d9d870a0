"""Hostile files opened one by one, each in a process of its own with limits on time and memory.

``python -m tests.files.sweep [SOURCE,...] [PART OF A NAME]`` tells of all that did not end well.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.files import SOURCES, Case

SECONDS = 20.0
"""What one opening may take: a tenth of it is usual, and the machine may be busy."""

ALLOWED = 2**28
"""Bytes that a file is allowed to unfold to."""

MEGABYTES = 900
"""What may be taken for that: cells as text, as the columns of a library, and as numbers."""

ADDRESSES = 6 * 2**30
CODES = (0, 2, 3, 4, 5, 6)
"""How a command may end; 1 is a mistake of its own."""

NEEDED = (
    *("h5py", "pandas", "pyarrow.csv", "pyarrow.ipc", "pyarrow.parquet", "pyarrow.compute"),
    *(
        "mercer.cli.fit_command",
        "mercer.cli.graphs_command",
        "mercer.cli.project_command",
        "mercer.cli.errors",
    ),
)
"""What is imported once, before the processes part."""


@dataclass(frozen=True)
class Outcome:
    """How a file ended: in an answer, a named error, or something that must not be."""

    case: str
    door: str
    ending: str
    seconds: float
    megabytes: float

    @property
    def is_right(self) -> bool:
        is_named = self.ending.startswith(("read", "named"))
        return is_named and self.seconds < SECONDS and self.megabytes < MEGABYTES

    def __str__(self) -> str:
        cost = f"{self.seconds:.1f} s, {self.megabytes:.0f} MB"
        return f"{self.case} | {self.door} | {cost} | {self.ending}"


def doors(case: Case) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield the ways in: the readers of the library, and the commands."""
    import mercer as mc
    from mercer.store import about

    given = {"memory": ALLOWED, **case.options}
    yield "read", lambda path: mc.read(path, case.what, **given)
    if not case.options:
        yield "open_points", lambda path: mc.open_points(path)[:10]
        if case.suffix == ".mercer":
            yield "load", mc.load
            yield "about", about
    flags = _flags(case)
    if flags is None:
        return
    if case.suffix.startswith((".graphml", ".edges")) or case.what == "graph":
        yield "mercer graphs", lambda path: _command("graphs", os.path.dirname(path), "--no-page")
    elif case.suffix == ".mercer":
        yield "mercer project", lambda path: _command("project", path, path)
    else:
        flags += ["--rank", "1", "--memory", "256MB"]
        yield "mercer fit", lambda path: _command("fit", path, *flags)


def _command(*words: str) -> None:
    from mercer.cli import main

    code = main(words)
    if code not in CODES:
        raise RuntimeError(f"exit code {code}")


def _flags(case: Case) -> list[str] | None:
    """Return the options of a case as flags, None where the command line cannot say them."""
    flags = [] if case.what in ("auto", "graph") else ["--as", str(case.what)]
    for key, value in case.options.items():
        is_flag = key in ("delimiter", "encoding", "na", "decimal")
        if not is_flag or not isinstance(value, str) or "\0" in value:
            return None
        flags.append(f"--{key}={value}")
    return flags


def opened(case: Case, door: str, enter: Callable[[str], Any], folder: str) -> Outcome:
    """Return how a file ended, in a child of this process."""
    path = os.path.join(folder, f"file{case.suffix}")
    Path(path).write_bytes(case.data)
    answers, told = os.pipe()
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(answers)
        os.write(told, _ending(enter, path).encode()[:4000])
        os._exit(0)
    os.close(told)
    ready, _, _ = select.select([answers], [], [], SECONDS)
    if not ready:
        os.kill(child, signal.SIGKILL)
    text = os.read(answers, 4096).decode("utf-8", "replace") if ready else ""
    os.close(answers)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - begun
    os.unlink(path)
    megabytes, _, ending = text.partition("|")
    if not text:
        ending = f"died of status {status}" if ready else "hangs"
    return Outcome(case.name, door, ending, seconds, float(megabytes or 0))


def _ending(enter: Callable[[str], Any], path: str) -> str:
    from mercer.errors import MercerError

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(os.path.dirname(path))
    before = _resident("VmRSS:")
    talk = io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(talk),
            contextlib.redirect_stderr(talk),
        ):
            warnings.simplefilter("ignore")
            enter(path)
        ending = "read"
    except MercerError as error:
        is_line = "\n" not in str(error) and 0 < len(str(error)) < 1000
        ending = f"{'named' if is_line else 'UNREADABLE'} {type(error).__name__}: {error!s:.300}"
    except BaseException as error:
        said = " ".join(talk.getvalue()[-300:].split())
        ending = f"RAW {type(error).__name__}: {error!s:.200} at {_place(error)} {said}"
    return f"{_resident('VmHWM:') - before:.0f}|{ending}"


def _place(error: BaseException) -> str:
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    if where is None:
        return "no place"
    return f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}"


def _resident(what: str) -> float:
    return int(Path("/proc/self/status").read_text().split(what)[1].split()[0]) / 1024


def swept(cases: Iterable[Case]) -> Iterator[Outcome]:
    """Yield how every file ended, by every door."""
    for name in NEEDED:
        import_module(name)
    with TemporaryDirectory() as folder:
        for case in cases:
            for door, enter in doors(case):
                yield opened(case, door, enter, folder)


def chosen(only: str = "", part: str = "", step: int = 1) -> Iterator[Case]:
    """Yield the cases of some sources, or of all, that have a part of a name; one in ``step``."""
    for source in SOURCES:
        if not only or source.__name__ in only.split(","):
            yield from islice((case for case in source() if part in case.name), 0, None, step)


def main(only: str = "", part: str = "", step: str = "1") -> int:
    """Sweep, and tell of what must not be."""
    counts = {"read": 0, "named": 0, "wrong": 0}
    for outcome in swept(chosen(only, part, int(step))):
        kind = outcome.ending.split()[0] if outcome.is_right else "wrong"
        counts[kind] += 1
        if kind == "wrong":
            sys.stdout.write(f"{outcome}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{counts}\n")
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
