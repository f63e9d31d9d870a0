"""What a command ends with where it fails: one line in its own words, and a code."""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mercer.errors import (
    Advice,
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

if TYPE_CHECKING:
    from argparse import Namespace


OK = 0
BUG = 1
USAGE = 2
INPUT = 3
REFUSED = 4
NOT_CONVERGED = 5
RESOURCE = 6
INTERRUPTED = 130
TERMINATED = 143

BROKEN_PIPE = OK
"""Whoever reads our output has read enough."""


class Misused(Exception):
    """Arguments that make no sense; the message says which."""


SYSTEM = {
    errno.ENOENT: "there is no such file. Check the name",
    errno.EACCES: "Permission denied. Ask its owner, or choose another",
}
"""What the system says of files, and what to do."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)
"""What the system says where disks, quotas or open files are used up."""

FLAGS: Mapping[str, str] = {
    "n_components": "--rank",
    "landmarks": "--nystrom",
    "sample_weight": "--weights",
    "replicates": "--bootstrap",
    "random_state": "--seed",
    "roles": "--factor",
    "method": "--method",
    "kernel": "--kernel",
    "active": "--active",
    "supplementary": "--sup-cols",
    "supplementary_rows": "--sup-rows",
    **{n: f"--{n}" for n in ("na", "delimiter", "decimal", "encoding", "memory", "skip", "sheet")},
}
"""What parameters are called on the command line; a value follows."""

WORDS: Mapping[tuple[str, Any], str] = {
    ("missing", "drop"): "--drop-na",
    **{("missing", way): f"--impute {way}" for way in ("mean", "pca", "mode", "level")},
    ("transpose", True): "--transpose",
    ("method", "exact"): "--exact",
    ("scale", True): "--scale",
    ("scale", False): "--no-scale",
    ("n_components", None): "all axes",
    ("ratio", ...): "unpack it first",
    ("load", ...): "give it to mercer project or mercer report",
    ("open_points", ...): "",
}
"""Advice that is no flag and its value."""

MORE_STARTS = "try --seed with other numbers"
"""Instead of more iterations, for which there is no flag."""


def in_flags(message: object, advice: Iterable[Advice] = ()) -> str:
    """Return a message with its advice in the words of the command line.

    >>> drop = Advice("missing", "drop")
    >>> in_flags(f"Say what to do: {drop} leaves out 1 of 3 rows", [drop])
    'Say what to do: --drop-na leaves out 1 of 3 rows'
    >>> in_flags("for example n_components=10", [Advice("n_components", 10)])
    'for example --rank 10'
    >>> median = Advice("kernel", "gaussian(bandwidth='median')")
    >>> print(in_flags(median, [median]))
    --kernel "gaussian(bandwidth='median')"
    """
    text = str(message)
    for part in advice:
        text = text.replace(str(part), _flag(part))
    return text


def _flag(advice: Advice) -> str:
    """Return one advice as a flag, as other words, or as it is where there are none."""
    name, value, text = advice
    is_listed = isinstance(value, list)
    if not is_listed and (name, value) in WORDS:
        return WORDS[name, value]
    if name == "max_iter":
        return MORE_STARTS
    if name not in FLAGS:
        return str(advice)
    if value is ... or text == name:  # which speaks of the parameter alone
        return FLAGS[name]
    words = [str(word) for word in (value if is_listed else [value])]
    if any(word.startswith("-") for word in words):  # which would be taken for another flag
        return " ".join(quote(f"{FLAGS[name]}={word}") for word in words)
    return " ".join([FLAGS[name], *map(quote, words)])


def quote(word: str) -> str:
    """Return a word as a shell reads it, in the quotes that are easier to read.

    >>> print(quote("Long jump"), quote("gaussian(bandwidth='median')"), quote("Rank"))
    'Long jump' "gaussian(bandwidth='median')" Rank
    """
    found = shlex.quote(word)
    is_plain = not set(word) & set('"$`\\!')
    return f'"{word}"' if "'" in word and is_plain else found


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
    said = in_flags(_without_number(first, error), _advice_of(error))
    said = _counted_from_one(said, error, args)
    message = " ".join(said.split())
    return _with_place(message, error, args), code


def _advice_of(error: BaseException | None) -> Iterator[Advice]:
    """Yield what an error advises, and what those do of which it tells."""
    while error is not None:
        yield from getattr(error, "advice", ())
        error = error.__cause__


def _counted_from_one(message: str, error: Exception, args: Namespace | None) -> str:
    """Return a message with rows as spreadsheets count them, and their names where they have some.

    >>> from argparse import Namespace
    >>> from mercer.errors import Row
    >>> error = InvalidInput("row 1 holds no counts", Row(1))
    >>> class Data:
    ...     places = {"row": ["1", '3 ("Ada")']}
    >>> _counted_from_one(str(error), error, None)
    'row 2 holds no counts'
    >>> _counted_from_one(str(error), error, Namespace(read=Data))
    'row 3 ("Ada") holds no counts'
    """
    found: dict[str, str] = {}
    cause: BaseException | None = error
    while cause is not None:
        for row in getattr(cause, "rows", ()):
            known = getattr(getattr(args, "read", None), "places", {}).get(row.what, ())
            place = known[row.at] if row.at < len(known) else str(row.at + 1)
            found[str(row)] = f"{row.what} {place}"
        cause = cause.__cause__
    pattern = "|".join(rf"\b{text}\b" for text in found)
    return re.sub(pattern, lambda match: found[match[0]], message) if found else message


def _without_number(message: str, error: BaseException) -> str:
    """Return what is said of a file with the system's reason in words, without its number."""
    cause = error if isinstance(error, OSError) and error.errno else error.__cause__
    if not isinstance(cause, OSError) or not cause.errno:
        return message
    reason = SYSTEM.get(cause.errno, f"{cause.strerror}")
    if "did you mean" in message:
        reason = reason.partition(".")[0]
    return message.replace(str(cause), reason)


def code_of(error: BaseException) -> int:
    """Return the exit code of an error.

    >>> code_of(InvalidInput("row 3")), code_of(InvalidParameter("rank")), code_of(KeyError())
    (3, 2, 1)
    """
    from mercer.errors import NotConverged, SingularSystem

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
