"""How much the laws are tried, few examples or many, one way to run a command, and one browser."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from mercer.cli import main
from tests.browser import started

settings.register_profile("every-run", deadline=None, derandomize=True, max_examples=200)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "every-run"))


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
