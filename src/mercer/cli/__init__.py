"""The command line: data on the standard output, talk on the standard error, one code at the end.

Nothing heavy is imported before a command is known, so that ``mercer --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from signal import SIGINT
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mercer.cli.errors import BROKEN_PIPE, OK
from mercer.cli.output import Talk
from mercer.cli.progress import (
    Interrupted,
    end_process,
    interruption,
    is_running,
    signals_heard,
)

if TYPE_CHECKING:
    from argparse import Namespace

EXAMPLES = """\
mercer demo                                       a whole analysis of embedded data: no file needed
mercer fit data.csv --out model.mercer            axes and their inertia, and the model in a file
mercer project model.mercer new.csv               where new individuals lie on these axes
mercer dim data.csv                               how many axes to keep, with p-values
mercer check gram.npy                             is this matrix positive semidefinite?
mercer data.csv --open                            one page with everything; more: mercer --help
"""


class Later(ModuleType):
    """A module that is loaded when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


LATER = (
    "asyncio",
    "numpy.f2py",
    "numpy.testing",
    "scipy.optimize",
    "scipy.spatial.transform",
    "scipy.stats",
)
"""Modules that most commands load and do not use."""


PATIENCE = ("OPENBLAS_THREAD_TIMEOUT", "20")
"""Threads of OpenBLAS wait for more work for 2^20 cycles, a third of a millisecond.

Their own 2^26 took a quarter of the processor's time for a small page.
"""

PARSING = "_parse"
"""What scipy does with the text of each of its functions when it is loaded."""


def load_lightly() -> None:
    """Load scikit-learn's base class, in a process that is ours alone, without what it may need.

    With it come scipy's laws and pandas, which take two thirds of the time until a small page is
    written. So some modules wait until something of them is asked for, pandas is not found, since a
    command has no data frames, and scipy does not rewrite the texts that explain its functions.
    """
    for name in LATER:
        if name not in sys.modules:
            waiting = sys.modules[name] = Later(name)
            waiting.__spec__ = ModuleSpec(name, None)
    numpy: Any = import_module("numpy")  # which loads what it lacks where its names are copied
    numpy.f2py, numpy.testing = sys.modules["numpy.f2py"], sys.modules["numpy.testing"]
    with suppress(ImportError):
        texts = import_module("scipy._lib._docscrape").NumpyDocString
        setattr(texts, PARSING, lambda _: None)
    modules: dict[str, Any] = sys.modules
    modules.setdefault("pandas", None)  # how an import is refused
    try:
        import_module("sklearn.base")
    finally:
        if modules["pandas"] is None:
            del modules["pandas"]


def _told_unless_interrupted(ignored: Any) -> None:
    """Say nothing of a signal that arrives where Python can raise nothing, as in its callbacks."""
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no traceback reaches the user."""
    talk = Talk()
    is_program = argv is None  # then the process is ours, to load modules in and to end
    if is_program:
        os.environ.setdefault(*PATIENCE)
        sys.unraisablehook = _told_unless_interrupted
    end = partial(end_process, talk)
    try:
        with signals_heard(end if is_program else None):
            words = list(sys.argv[1:] if argv is None else argv)
            return _answered(words, talk, is_program=is_program)
    except BrokenPipeError:
        talk.forget_output()
        return BROKEN_PIPE
    except KeyboardInterrupt as stop:
        found = stop if isinstance(stop, Interrupted) else Interrupted(SIGINT)
        if is_program or is_running():  # the work does not hear of signals, and is not waited for
            end(found)
        talk.failed(str(found), found.code)
        return found.code


def _answered(argv: list[str], talk: Talk, *, is_program: bool) -> int:
    """Return the code of a command; what it raises becomes a message and a code."""
    talk.expect(argv)
    args = None
    try:
        args = _arguments(argv, talk)
        if args is not None and is_program:
            load_lightly()
        code = OK if args is None else command(args, talk)
        talk.flush()  # a full disk is told like every other error
        return code
    except BrokenPipeError:
        raise
    except Exception as error:
        if (found := interruption()) is not None:
            raise found from error
        from mercer.cli.errors import refusal

        message, code = refusal(error, args)
        talk.failed(message, code, error)
        return code


def _arguments(argv: list[str], talk: Talk) -> Namespace | None:
    """Return what is asked for, None where the answer is examples, help or the version."""
    if not argv:
        talk.output(EXAMPLES)
        return None
    from mercer.cli.commands import parser, with_command

    try:
        args: Namespace = parser().parse_args(with_command(argv))
    except SystemExit:  # argparse has printed help, or the version
        return None
    talk.heed(args)
    return args


def command(args: Namespace, talk: Talk) -> int:
    """Run the command that was named, whose module is imported only now."""
    module = import_module(f"mercer.cli.{args.command}_command")
    with warnings_told(talk):
        code: int = module.run(args, talk)
    return code


@contextmanager
def warnings_told(talk: Talk) -> Iterator[None]:
    """Tell warnings of the library in the words of the command line, each once."""
    from mercer.cli.errors import in_flags

    def tell(message: Warning | str, *_: object, **__: object) -> None:
        said = in_flags(message, getattr(message, "advice", ()))
        talk.warn(" ".join(said.split()))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = tell
        yield
