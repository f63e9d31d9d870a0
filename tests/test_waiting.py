from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from contextvars import ContextVar

import pytest

from mercer.engines import waiting

INTERRUPTED = """
    import os, signal, time
    from mercer.engines.waiting import answered
    signal.signal(signal.SIGINT, signal.default_int_handler)
    def work():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep({seconds})
        print("done", flush=True)
"""


def ended(script: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Return how a script ended whose work is interrupted and goes on for some time."""
    text = textwrap.dedent(INTERRUPTED.format(seconds=seconds)) + textwrap.dedent(script)
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=60
    )


def test_a_program_that_catches_ctrl_c_waits_for_what_goes_on_when_it_ends() -> None:
    found = ended(
        """
        try:
            answered(work, 2000)
        except KeyboardInterrupt:
            print("heard", flush=True)
        raise SystemExit(3)
        """,
        seconds=0.3,
    )
    assert (found.returncode, found.stdout.split()) == (3, ["heard", "done"])


def test_a_program_that_ctrl_c_ends_waits_for_nothing() -> None:
    found = ended("answered(work, 2000)", seconds=100.0)
    assert found.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in found.stderr
    assert found.stdout == ""


@pytest.mark.parametrize("long", [10, 10_000])
def test_what_goes_wrong_in_a_thread_of_its_own_is_raised_in_ours(
    long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LONG", long)
    with pytest.raises(ZeroDivisionError):
        waiting.answered(lambda: 1 / 0, rows=20)


@pytest.mark.parametrize("long", [10, 10_000])
def test_a_thread_of_its_own_sees_our_context(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LONG", long)
    variable: ContextVar[int] = ContextVar("variable", default=0)
    variable.set(3)
    assert waiting.answered(variable.get, rows=20) == 3
