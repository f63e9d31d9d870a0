"""How much the laws are tried, few examples or many, one way to run a command, and one browser."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis.errors import InvalidArgument

from mercer.cli import main
from tests.browser import started
from tests.strategies import EXAMPLES

settings.register_profile("every-run", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "every-run"))

YOUNG = 10_000
"""Objects made before the collector of garbage looks at them; Python's 700 are for less memory."""

gc.set_threshold(YOUNG)

FEWEST = 25
"""Examples of each parametrisation of a law, however many there are."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Share the examples of a law among its parametrisations, unless it states their number."""
    laws = [getattr(item, "obj", None) for item in items]
    counts = Counter(law for law in laws if hasattr(law, "hypothesis"))
    for law, count in counts.items():
        with suppress(InvalidArgument):  # it states its number
            settings(max_examples=max(FEWEST, settings().max_examples // count))(law)


def pytest_collection_finish() -> None:
    """Have the collector of garbage pass over what was imported and collected, which stays."""
    gc.collect()
    gc.freeze()


class Answer(NamedTuple):
    """What a command left: its code, and its two streams."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """The one object that ``--json`` prints."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of a CSV."""
        return list(csv.DictReader(io.StringIO(self.out)))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command in this process, its arguments of any type."""

    def runs(*argv: object) -> Answer:
        capsys.readouterr()
        code = main([str(word) for word in argv])
        return Answer(code, *capsys.readouterr())

    return runs


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window, for the tests of one file."""
    with started() as found:
        yield found
