"""Processes that are interrupted: what they say, and how long they compute before they end.

Seconds of the clock would measure what else the machine does; seconds of the processor do not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from time import monotonic, sleep
from typing import Any

PATIENCE = 600
"""Seconds after which a process is given up, on a machine that does other things too."""


def hear() -> None:
    """Let a process that is to be started hear Ctrl-C: in the background it would not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(words: list[str], **more: Any) -> subprocess.Popen[str]:
    """Start a process that hears Ctrl-C."""
    more = {"stdout": subprocess.PIPE, **more}
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=hear, **more)


def start_script(text: str) -> subprocess.Popen[str]:
    """Start a script, and return when it has said that it is ready."""
    process = start([sys.executable, "-c", textwrap.dedent(text)])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def computed(pid: int) -> float:
    """Return the seconds that all threads of a process have computed so far."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def is_over(pid: int) -> bool:
    """Whether a process has ended; its figures are still there."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def interrupt(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[str, float]:
    """Interrupt a process; return its last words, and the seconds that it still computed."""
    with process:
        try:
            before = computed(process.pid)
            os.kill(process.pid, number)
            begun = monotonic()
            while not is_over(process.pid):
                assert monotonic() < begun + PATIENCE, "the process did not end"
                sleep(0.005)
            spent = computed(process.pid) - before
            return process.communicate()[1], spent
        finally:
            process.kill()
