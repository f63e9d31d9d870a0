"""The studies of the axes of a fit that flags ask for, one after another.

A new study takes a class (``cli/study.py``), a line in `STUDIES` and its flag in
``cli/arguments.py``; `mercer fit` then tells it and `mercer report` shows it.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, replace
from typing import Any

from mercer.cli.clusters import ClusterStudy
from mercer.cli.importance import ImportanceStudy
from mercer.cli.preimages import PreimageStudy
from mercer.cli.running import finished
from mercer.cli.stability import BootstrapStudy, JackknifeStudy, PathStudy
from mercer.cli.study import Study
from mercer.cli.talk import Talk
from mercer.progress import Line

STUDIES: tuple[Study[Any], ...] = (
    BootstrapStudy(),
    JackknifeStudy(),
    PathStudy(),
    ImportanceStudy(),
    PreimageStudy(),
    ClusterStudy(),
)
"""In the order in which they are told."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A study and what it found."""

    study: Study[Any]
    found: Any

    @property
    def text(self) -> str:
        return self.study.text(self.found)

    @property
    def value(self) -> dict[str, Any]:
        return self.study.value(self.found)


def asked(args: Namespace) -> list[Study[Any]]:
    """Return the studies that the flags ask for."""
    return [study for study in STUDIES if study.asked(args) is not None]


def refuse_studies(args: Namespace, model: Any) -> None:
    """Refuse studies that have no meaning for a model, before it is fitted."""
    for study in asked(args):
        study.refuse(args, model)


def answered(args: Namespace, model: Any, talk: Talk) -> list[Answer]:
    """Return what the studies find of a fitted model."""
    found = []
    for study in asked(args):
        progress = Line(study.counted)
        found.append(Answer(study, finished(_work(study, args, model, progress), talk, progress)))
    return found


def _work(study: Study[Any], args: Namespace, model: Any, progress: Line) -> Any:
    return lambda: study.answer(args, model, progress)


def sections(args: Namespace, model: Any, table: Any, talk: Talk, *, where: str) -> list[Any]:
    """Return the sections of a page that the flags ask for, each with its code.

    ``where`` is what the table is called in the code of the page.
    """
    colour = getattr(table, "colour", None)
    written = "None" if colour is None else f"{where}.colour"
    return [
        replace(
            answer.study.section(answer.found, model, colour),
            code=answer.study.code(args, model, written),
        )
        for answer in answered(args, model, talk)
    ]
