from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from contextvars import ContextVar
from time import perf_counter
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from mercer.check import Array
from mercer.engines import lapack
from mercer.engines.cpu import Threads
from mercer.engines.lapack import factor_in_place, invert_in_place, invert_triangle_in_place, whiten

TYPES = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.fixture(params=["here", "in a thread of its own"])
def where(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack, "LONG", 1000 if request.param == "here" else 0)


def positive(n: int, dtype: Any) -> Array:
    """Return a well-conditioned Hermitian matrix in LAPACK's order."""
    rng = np.random.default_rng(n)
    B = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    A = B @ B.conj().T / max(n, 1) + np.eye(n)
    return np.asfortranarray((A if np.issubdtype(dtype, np.complexfloating) else A.real), dtype)


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 33])
def test_triangles_are_those_of_scipy(n: int, dtype: Any) -> None:
    A = positive(n, dtype)
    factor, error = A.copy(order="F"), 200 * np.finfo(dtype).eps
    assert factor_in_place(factor)
    L = np.tril(factor)
    np.testing.assert_allclose(L @ L.conj().T, A, atol=error)
    assert np.array_equal(np.triu(factor, 1), np.triu(A, 1))
    inverse = factor.copy(order="F")
    assert invert_triangle_in_place(inverse)
    np.testing.assert_allclose(np.tril(inverse) @ L, np.eye(n), atol=error)
    assert invert_in_place(factor)
    whole = np.tril(factor) + np.tril(factor, -1).conj().T
    np.testing.assert_allclose(whole @ A, np.eye(n), atol=error)


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("columns", [0, 1, 5])
def test_columns_are_whitened_whatever_their_order_and_left_as_they_were(
    columns: int, dtype: Any
) -> None:
    L = np.asfortranarray(np.linalg.cholesky(positive(20, dtype)))
    given = np.random.default_rng(0).standard_normal((20, 2 * columns)).astype(dtype)[:, ::2]
    before, error = given.copy(), 100 * np.finfo(dtype).eps
    found, turned = whiten(L, given), whiten(L, given, is_transposed=True)
    assert found.dtype == dtype
    np.testing.assert_allclose(L @ found, given, atol=error)
    np.testing.assert_allclose(L.T @ turned, given, atol=error)
    columnwise = np.asfortranarray(given)
    assert np.array_equal(whiten(L, columnwise), found)
    assert np.array_equal(columnwise, before)
    assert np.array_equal(given, before)


@pytest.mark.usefixtures("where")
def test_matrices_without_a_factor_or_an_inverse_are_said_to_have_none() -> None:
    assert not factor_in_place(np.asfortranarray(np.diag([1.0, -1.0, 1.0])))
    assert not invert_in_place(np.asfortranarray(np.diag([1.0, 0.0])))
    assert not invert_triangle_in_place(np.asfortranarray(np.diag([0.0, 1.0])))


def test_rows_that_lie_one_after_the_other_are_not_taken_for_columns() -> None:
    with pytest.raises(AssertionError):
        factor_in_place(np.ones((2, 2)) + np.eye(2))


def test_other_threads_run_while_lapack_works() -> None:
    L = np.asfortranarray(np.eye(1800))
    moments: list[float] = []
    over = threading.Event()

    def listen() -> None:
        while not over.wait(0.001):
            moments.append(perf_counter())

    listener = threading.Thread(target=listen)
    listener.start()
    with Threads(1).session():
        begun = perf_counter()
        assert invert_in_place(L)
        ended = perf_counter()
    over.set()
    listener.join()
    assert sum(begun < moment < ended for moment in moments) > 3
    np.testing.assert_array_equal(np.diag(L), 1.0)


def test_what_is_factored_rebuilds_the_matrix_as_closely_as_the_theorem_says() -> None:
    """Higham (2002), Theorem 10.3: |A - LLᵀ| ≤ γ |L||Lᵀ| with γ = (n+1)u/(1 - (n+1)u)."""
    n = 300
    A = positive(n, np.float64)
    factor = A.copy(order="F")
    assert factor_in_place(factor)
    L, u = np.tril(factor), np.finfo(float).eps / 2
    gamma = (n + 1) * u / (1 - (n + 1) * u)
    product = gamma * np.abs(L) @ np.abs(L.T)  # what the check itself rounds, once more
    assert np.all(np.abs(A - L @ L.T) <= 2 * product)
    assert np.all(np.diag(L) > 0)
    np.testing.assert_allclose(L, scipy.linalg.cholesky(A, lower=True), rtol=0, atol=1e-13)


INTERRUPTED = """
    import os, signal, time
    from mercer.engines.lapack import run_interruptibly
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
            run_interruptibly(work, 2000)
        except KeyboardInterrupt:
            print("heard", flush=True)
        raise SystemExit(3)
        """,
        seconds=0.3,
    )
    assert (found.returncode, found.stdout.split()) == (3, ["heard", "done"])


def test_a_program_that_ctrl_c_ends_waits_for_nothing() -> None:
    found = ended("run_interruptibly(work, 2000)", seconds=100.0)
    assert found.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in found.stderr
    assert found.stdout == ""


@pytest.mark.parametrize("long", [10, 10_000])
def test_what_goes_wrong_in_a_thread_of_its_own_is_raised_in_ours(
    long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lapack, "LONG", long)
    with pytest.raises(ZeroDivisionError):
        lapack.run_interruptibly(lambda: 1 / 0, rows=20)


@pytest.mark.parametrize("long", [10, 10_000])
def test_a_thread_of_its_own_sees_our_context(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack, "LONG", long)
    variable: ContextVar[int] = ContextVar("variable", default=0)
    variable.set(3)
    assert lapack.run_interruptibly(variable.get, rows=20) == 3
