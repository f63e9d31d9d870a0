"""LAPACK's work on square matrices, called so that Ctrl-C does not wait for it, and BLAS by strips.

scipy's own wrappers hold the interpreter's lock until LAPACK returns, so that nothing else is heard
meanwhile. numpy's let go of it, and so does `ctypes`, by which the other routines are called here.
Where they take long they have a thread of their own.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from ctypes import CFUNCTYPE, PYFUNCTYPE, byref, c_char_p, c_int, c_void_p, py_object, pythonapi
from functools import cache
from threading import Lock, Thread
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from scipy.linalg import cython_lapack
from threadpoolctl import ThreadpoolController

from mercer.check import Array, chunks

T = TypeVar("T")

IN_PLACE, SHORTEST_STRIP = 10**6, 32
"""Multiplications of a product up to which some BLAS read a matrix where it lies; a larger one
copies it first, which takes as long as to multiply it by a dozen columns. Strips of a tile that are
shorter than so many rows gain nothing."""

READERS_IN_PLACE = ("SkylakeX", "Cooperlake", "SapphireRapids")
"""Kernels of OpenBLAS, all for AVX-512, that do so."""

LONG = 1000
"""Matrices of fewer rows are decomposed before anybody could wish to stop it."""

_working: WeakSet[Thread] = WeakSet()
"""The threads of long work; those that have ended fall out."""


def run_interruptibly(work: Callable[[], T], rows: int) -> T:
    """Return what some work on so many rows returns, long work in a thread of its own.

    There Ctrl-C does not wait for it. Nothing stops LAPACK: what was interrupted goes on unseen, at
    the longest until Ctrl-C ends Python. A program that catches it and ends by itself waits.

    >>> run_interruptibly(lambda: 6 * 7, rows=2000)
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


LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
"""What the names of LAPACK begin with."""


def eigenpairs(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a Hermitian matrix, smallest first, and its eigenvectors.

    >>> eigenpairs(np.diag([2.0, 1.0]))[0]
    array([1., 2.])
    """
    values, vectors = run_interruptibly(lambda: np.linalg.eigh(A), len(A))
    return values, vectors


def factor_in_place(A: Array) -> bool:
    """Replace the lower triangle of A by Cholesky's factor, and say whether there is one.

    A lies in LAPACK's order, column after column, as all matrices do that are worked on in place.
    What is above the diagonal is not read and stays as it is.

    >>> A = np.array([[4.0, 0.0], [2.0, 5.0]], order="F")
    >>> factor_in_place(A), A.tolist()
    (True, [[2.0, 0.0], [1.0, 2.0]])
    """
    return _called("potrf", b"L", len(A), A) == 0


def invert_in_place(factor: Array) -> bool:
    """Replace Cholesky's factor of A by the lower triangle of A⁻¹, and say whether there is one.

    >>> L = np.array([[2.0, 0.0], [1.0, 2.0]], order="F")
    >>> invert_in_place(L), (16 * L).tolist()
    (True, [[5.0, 0.0], [-2.0, 4.0]])
    """
    return _called("potri", b"L", len(factor), factor) == 0


def invert_triangle_in_place(L: Array) -> bool:
    """Replace a lower triangle by its inverse, and say whether there is one.

    >>> L = np.array([[2.0, 0.0], [1.0, 2.0]], order="F")
    >>> invert_triangle_in_place(L), (4 * L).tolist()
    (True, [[2.0, 0.0], [-1.0, 2.0]])
    """
    return _called("trtri", b"L", b"N", len(L), L) == 0


def whiten(L: Array, columns: Array, *, is_transposed: bool = False) -> Array:
    """Return L⁻¹ times columns, or L⁻ᵀ times them, for a lower triangle L without zeros.

    >>> L = np.array([[2.0, 0.0], [1.0, 2.0]], order="F")
    >>> whiten(L, np.array([[2.0], [5.0]])).tolist()
    [[1.0], [2.0]]
    """
    result = np.array(columns, L.dtype, order="F")
    how = b"T" if is_transposed else b"N"
    _called("trtrs", b"L", how, b"N", len(L), result.shape[1], L, result)
    return result


def _called(name: str, *arguments: bytes | int | Array) -> int:
    """Call a routine in the precision of its matrices, and return what it says of its success."""
    matrices = [a for a in arguments if isinstance(a, np.ndarray)]
    assert all(a.flags.f_contiguous and a.dtype == matrices[0].dtype for a in matrices)
    routine = _routine(LETTERS[matrices[0].dtype.name] + name)

    def call() -> int:
        # An interrupt leaves this running: it holds all that the routine reads and writes.
        success = c_int(0)
        routine(*(address for a in arguments for address in _addresses(a)), byref(success))
        return success.value

    return run_interruptibly(call, len(matrices[0]))


def _addresses(argument: bytes | int | Array) -> list[Any]:
    """Return what Fortran is given for an argument: where it is, and a matrix' leading side."""
    if isinstance(argument, bytes):
        return [c_char_p(argument)]
    if isinstance(argument, int):
        return [byref(c_int(argument))]
    return [c_void_p(argument.ctypes.data), byref(c_int(max(1, len(argument))))]


@cache
def _routine(name: str) -> Callable[..., None]:
    """Return a routine of the LAPACK that scipy has brought along."""
    capsule = vars(cython_lapack)["__pyx_capi__"][name]
    signature = PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", pythonapi))
    pointer = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
    return CFUNCTYPE(None)(pointer(capsule, signature(capsule)))


def norm_bound(A: Array) -> float:
    r"""Return an upper bound for the spectral norm: :math:`\sqrt{\|A\|_1 \|A\|_\infty}`.

    >>> norm_bound(np.array([[3.0, 0.0], [0.0, -4.0]]))
    4.0
    """
    return float(np.sqrt(np.linalg.norm(A, 1)) * np.sqrt(np.linalg.norm(A, np.inf)))


@cache
def _blas() -> ThreadpoolController:
    """Return the handle of the linear algebra libraries, found once."""
    return ThreadpoolController()


@cache
def _reads_in_place() -> bool:
    """Whether the BLAS of this machine multiplies small matrices without a copy of them."""
    return any(library.get("architecture") in READERS_IN_PLACE for library in _blas().info())


def strips_of(shape: tuple[int, ...], columns: int) -> list[slice]:
    """Cut the rows of a tile so that each strip is multiplied by the columns where it lies.

    >>> sum(strip.stop - strip.start for strip in strips_of((640, 640), 12))
    640
    """
    length, inner = shape
    rows = IN_PLACE // max(inner * columns, 1) // 8 * 8
    if rows < SHORTEST_STRIP or not _reads_in_place():
        return [slice(0, length)]
    return list(chunks(length, rows))


class _Limit:
    """How many computations want BLAS to have one thread, in all threads of this process."""

    lock = Lock()
    count = 0
    limiter: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread until the last of those that asked for it has ended."""
    with _Limit.lock:
        if _Limit.count == 0:
            _Limit.limiter = _blas().limit(limits=1, user_api="blas")
        _Limit.count += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.count -= 1
            if _Limit.count == 0:
                _Limit.limiter.restore_original_limits()


def pad_columns(vectors: Array, dtype: Any) -> Array:
    """Return the vectors with columns of zeros up to a multiple of four, which BLAS prefers."""
    n, columns = vectors.shape
    result = np.zeros((n, columns + -columns % 4), dtype)
    result[:, :columns] = vectors
    return result
