"""Errors as the user of a command reads them: one line, in the words of the command line."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

from mercer.check import (
    InvalidInput,
    InvalidParameter,
    MercerError,
    MissingExtra,
    NoFeatureMap,
    NotDifferentiable,
    NotPositiveDefinite,
    NotSaved,
    NotStorable,
    TooLarge,
    WrittenFormError,
)
from mercer.cli.codes import BUG, INPUT, NOT_CONVERGED, REFUSED, RESOURCE, USAGE
from mercer.cli.parser import Misused

if TYPE_CHECKING:
    from argparse import Namespace

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
"""What the system says where disks, quotas or open files are used up."""

WORDS: tuple[tuple[str, str], ...] = (
    (r'missing="drop"', "--drop-na"),
    (r'(?:Columns|Category)\(missing="level"\)', "--impute level"),
    (r'missing="(mean|mode|level)"', r"--impute \1"),
    (r"\bna=\[(.*?)\]", r"--na \1"),
    (r"\bna=", "--na"),
    (r"a factor with roles=", "a factor with --factor"),
    (r"\b(delimiter|decimal|encoding)=", r"--\1"),
    (r"n_components=None keeps every axis, which takes", "all axes take"),
    (r"\bn_components=(\d+)", r"--rank \1"),
    (r"\bn_components\b", "--rank"),
    (r"method='nystrom' with landmarks=(\d+)", r"--nystrom \1"),
    (r"method='exact'", "--exact"),
    (r"raise the limit with memory=, or walk .*$", "raise the limit with --memory"),
    (r"raise the limit with ratio=", "unpack it first"),
    (r"read it with mercer\.load", "give it to mercer project or mercer report"),
    (r"sample_weight", "--weights"),
    (r"^replicates must be", "--bootstrap must be"),
    (r"; raise max_iter = \d+ or tol = \S+", "; try --seed with other numbers"),
    (r"\[Errno \d+\] No such file or directory(: .*)?$", "there is no such file. Check the name"),
    (r"\[Errno \d+\] (Permission denied)(: .*)?$", r"\1. Ask its owner, or choose another"),
    (r"\[Errno \d+\] ", ""),
)
"""The library's advice, and the same advice in flags."""


def in_flags(message: str) -> str:
    """Return a message of the library with its advice in the words of the command line.

    >>> in_flags('Say what to do: missing="drop" leaves out 1 of 3 rows')
    'Say what to do: --drop-na leaves out 1 of 3 rows'
    >>> in_flags("Declare it missing with na=['NA?'], or the column a factor with roles=")
    "Declare it missing with --na 'NA?', or the column a factor with --factor"
    """
    for pattern, flag in WORDS:
        message = re.sub(pattern, flag, message)
    return message


def refusal(error: Exception, args: Namespace | None = None) -> tuple[str, int]:
    """Return what to tell of an error, and the exit code."""
    code = code_of(error)
    if code == BUG:
        text = " ".join(str(error).split()) or "no message"
        return (
            f"this is a bug in mercer, not a mistake of yours ({type(error).__name__}: {text}). "
            "Please report it to the authors, with the command and what --debug adds to it",
            code,
        )
    if isinstance(error, MemoryError) and not isinstance(error, MercerError):
        return (
            "there is not enough memory. --dry-run says how much is needed; --exact or --nystrom "
            "need less",
            code,
        )
    # A kernel's text is shown below its message, with a mark under the place; one line is left.
    first = str(error).splitlines()[0] if isinstance(error, WrittenFormError) else str(error)
    message = in_flags(" ".join(first.split()))
    return _with_place(message, error, args), code


def code_of(error: BaseException) -> int:
    """Return the exit code of an error.

    >>> code_of(InvalidInput("row 3")), code_of(InvalidParameter("rank")), code_of(KeyError())
    (3, 2, 1)
    """
    from mercer.solve.steps import SingularSystem
    from mercer.spectrum.values import NotConverged

    kinds: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], int], ...] = (
        (Misused, USAGE),
        ((TooLarge, MissingExtra, MemoryError), RESOURCE),
        ((InvalidParameter, WrittenFormError, NotStorable), USAGE),
        ((NotPositiveDefinite, NoFeatureMap, NotDifferentiable, SingularSystem), REFUSED),
        (NotConverged, NOT_CONVERGED),
        (InvalidInput, INPUT),
        (NotSaved, RESOURCE if _is_full(error) else INPUT),
        (OSError, RESOURCE if _is_full(error) else INPUT),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), BUG)


def _is_full(error: BaseException | None) -> bool:
    """Whether a disk, a quota or the number of open files is used up."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        error = error.__cause__
    return False


def _with_place(message: str, error: Exception, args: Namespace | None) -> str:
    """Name the file, or the flag, where the message does not."""
    if isinstance(error, WrittenFormError):
        return f"--kernel: {message}"
    name = getattr(args, "data", None)
    is_of_data = isinstance(error, InvalidInput) and not isinstance(error, NotSaved)
    files = [f for f in (name, getattr(args, "model", None)) if f]
    is_named = any(f.rpartition("/")[2] in message for f in files)
    if is_of_data and name and not is_named:
        return f"{'the standard input' if name == '-' else name}: {message}"
    return message
