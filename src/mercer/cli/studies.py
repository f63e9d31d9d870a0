"""The studies of the axes of a fit that flags ask for, all in one shape.

A new study takes a class, a line in `STUDIES` and its flag in ``cli/arguments.py``; `mercer fit`
then tells it and `mercer report` shows it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from mercer.cli.errors import Misused
from mercer.cli.output import Talk
from mercer.cli.path_range import range_of
from mercer.cli.progress import carry_out
from mercer.clusters.finding import deciding_axes
from mercer.data.table import Role, Table
from mercer.dimension.choose import RISK, affordable_permutations, choose_dimension
from mercer.dimension.rules import Choice
from mercer.display import percent
from mercer.errors import MercerError
from mercer.estimator import PRECOMPUTED, as_kernel
from mercer.page.safe_text import count_of
from mercer.pca import PCA, KernelPCA
from mercer.progress import Line
from mercer.reading.links import Scores

if TYPE_CHECKING:
    from mercer.clusters import Clusters
    from mercer.importance import Importance
    from mercer.results import AxisPoints, Bootstrap, Jackknife, ParameterPath, Rebuilt

Calls = Mapping[str, Mapping[str, Any]]
"""Functions of mercer and their keyword arguments, in the order of the call."""


class AxesStudy(ABC):
    """A question about fitted axes: when it has no answer, the answer, and how it is told.

    It is answered by public functions of mercer, so that the code of a page is the call that was
    made. ``flag`` names it on the command line and in the object of ``--json``, ``counted`` is what
    its progress line counts, ``unfit`` says why a model without axes of individuals has no answer,
    ``least`` is the smallest number that the flag takes, ``shown`` the function of `mercer.page`
    that makes a section, and ``needs`` what that asks for beside the answer.
    """

    flag: ClassVar[str]
    counted: ClassVar[str]
    unfit: ClassVar[str]
    least: ClassVar[int | None] = None
    shown: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()

    def asked(self, args: Namespace) -> Any:
        """Return what the flag was given, None where it was not."""
        given = getattr(args, self.flag, None)
        return None if given is False else given

    def refuse(self, args: Namespace, model: Any) -> None:
        """Refuse what has no meaning, before the model is fitted."""
        if not isinstance(model, PCA | KernelPCA):
            raise Misused(f"--{self.flag} {self.unfit}")
        given = self.asked(args)
        if self.least is not None and given < self.least:
            raise Misused(f"--{self.flag} must be a whole number >= {self.least}, found {given}")

    @abstractmethod
    def calls(self, args: Namespace, model: Any) -> Calls:
        """Return what is called with a fitted model."""

    def answer(self, args: Namespace, model: Any, progress: Line) -> tuple[Any, ...]:
        """Return what each call returns."""
        mercer = import_module("mercer")
        return tuple(
            getattr(mercer, name)(model, **options, progress=progress)
            for name, options in self.calls(args, model).items()
        )

    def text(self, *found: Any) -> str:
        """Return the answer as a person reads it."""
        return "\n".join(map(str, found))

    @abstractmethod
    def value(self, *found: Any) -> dict[str, Any]:
        """Return the answer as an object of JSON."""

    def section(self, found: tuple[Any, ...], model: Any, colour: Any) -> Any:
        """Return the answer as a section of a page."""
        known = {"colour": colour, "model": model, "spectrum": model.spectrum_}
        shown = getattr(import_module("mercer.page"), self.shown)
        return shown(*found, **{name: known[name] for name in self.needs})

    def code(self, args: Namespace, model: Any, colour: str) -> str:
        """Return the Python expression of that section; ``colour`` is the code of the colours."""
        known = {"colour": colour, "model": "model", "spectrum": "model.spectrum_"}
        made = [
            f"mc.{name}({', '.join(['model', *(f'{key}={v!r}' for key, v in options.items())])})"
            for name, options in self.calls(args, model).items()
        ]
        return f"page.{self.shown}({', '.join([*made, *(f'{n}={known[n]}' for n in self.needs)])})"


def records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns as one object for each row.

    >>> records({"axis": np.array([1, 2]), "share": np.array([0.5, 0.25])})
    [{'axis': 1, 'share': 0.5}, {'axis': 2, 'share': 0.25}]
    """
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def axis_records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns with a row for each axis as one object for each, counted from 1."""
    return [{"axis": k + 1, **row} for k, row in enumerate(records(columns))]


class BootstrapStudy(AxesStudy):
    """How far the axes would move with other individuals."""

    flag = "bootstrap"
    counted = "replicates"
    unfit = "draws the individuals of a table again; distances have no such replicates"
    least = 20
    shown = "stability_section"
    needs = ("colour", "spectrum")

    def calls(self, args: Namespace, model: Any) -> Calls:
        return {"bootstrap": {"replicates": args.bootstrap, "random_state": args.seed}}

    def value(self, *found: Bootstrap) -> dict[str, Any]:
        (one,) = found
        axes = {
            "lower": one.intervals[:, 0],
            "upper": one.intervals[:, 1],
            "cos2": one.cos2,
            "space_cos2": one.spaces,
            "tie_p": one.ties,  # NaN, which JSON has not, is null
        }
        return {"replicates": one.replicates, "planes": one.planes, "axes": axis_records(axes)}


class JackknifeStudy(AxesStudy):
    """Which individuals move the axes."""

    flag = "jackknife"
    counted = "individuals"
    unfit = "leaves out individuals of a table; distances have no axes to turn"
    shown = "jackknife_section"
    needs = ("spectrum",)

    def calls(self, args: Namespace, model: Any) -> Calls:
        return {"jackknife": {}}

    def value(self, *found: Jackknife) -> dict[str, Any]:
        (one,) = found
        inertias = one.model_inertias[: len(one.errors)]
        axes = {"inertia": inertias, "error": one.errors, "bias": one.biases}
        columns = {name: values[one.order] for name, values in one.columns().items()}
        # the most influential first
        return {"axes": axis_records(axes), "individuals": records(columns)}


class PathStudy(AxesStudy):
    """The axes along a parameter of the kernel."""

    flag = "path"
    counted = "values"
    unfit = "follows axes along a parameter of a kernel; a map of distances has none"
    shown = "path_section"

    def refuse(self, args: Namespace, model: Any) -> None:
        super().refuse(args, model)
        if isinstance(model, PCA):
            raise Misused(
                "--path follows axes along a parameter of a kernel, and --method pca has no kernel"
            )
        if model.kernel == PRECOMPUTED:
            raise Misused(
                "--path follows axes along a parameter of a kernel, and a matrix of similarities "
                "has no kernel: give the data, with --kernel"
            )
        range_of(args.path, as_kernel(model.kernel))

    def calls(self, args: Namespace, model: Any) -> Calls:
        asked = range_of(args.path, model.kernel_)
        values = asked.values.tolist()
        return {"parameter_path": {"X": None, "parameter": asked.parameter, "values": values}}

    def value(self, *found: ParameterPath) -> dict[str, Any]:
        (one,) = found
        crossings = [
            {"axes": c.axes, "between": c.between, "at": c.at, "is_clear": c.is_clear}
            for c in one.crossings
        ]
        columns = one.columns()
        return {
            "parameter": one.parameter.removeprefix("kernel__"),
            "own": one.own,
            "is_factor": one.is_factor,
            "crossings": crossings,
            "unclear": one.unclear,
            "values": records({"value": columns.pop(one.parameter), **columns}),
        }


class ImportanceStudy(AxesStudy):
    """The importance of each variable: each is shuffled among the individuals."""

    flag = "importance"
    counted = "permutations"
    unfit = "permutes the variables of a table; distances have none"
    least = 1
    shown = "importance_section"
    needs = ("model",)

    def refuse(self, args: Namespace, model: Any) -> None:
        super().refuse(args, model)
        if getattr(model, "kernel", None) == PRECOMPUTED:
            raise Misused(f"--{self.flag} {self.unfit}")

    def calls(self, args: Namespace, model: Any) -> Calls:
        how = {"permutations": args.importance, "random_state": args.seed}
        return {"permutation_importance": how}

    def value(self, *found: Importance) -> dict[str, Any]:
        (one,) = found
        return {
            "axes": one.axes,
            "share": one.share,
            "permutations": one.shares.shape[1],
            "landmarks": one.landmarks,
            "approximation": one.approximation,
            "variables": records(one.columns()),  # the most important first
        }


class PreimageStudy(AxesStudy):
    """Points at the ends, halfway and in the middle of each axis, and what axes bring back."""

    flag = "preimages"
    counted = "looking for points"
    unfit = "leads from axes back to the columns of a table; a map of distances has none"
    least = 1
    shown = "preimage_section"
    needs = ("spectrum",)

    def refuse(self, args: Namespace, model: Any) -> None:
        super().refuse(args, model)
        if getattr(model, "kernel", None) == PRECOMPUTED:
            raise Misused(
                "--preimages shows points as rows of numbers, and a matrix of similarities never "
                "saw the points: give the table, with --kernel"
            )
        if not isinstance(model, PCA) and not as_kernel(model.kernel).reads_vectors:
            raise Misused(
                f"--preimages shows points as rows of numbers, and {model.kernel} does not read "
                "such rows. Kernels on columns of numbers have pre-images: linear ones exactly, "
                "gaussian, laplacian, matern, polynomial and all others the nearest point"
            )

    def calls(self, args: Namespace, model: Any) -> Calls:
        axes = {"axes": args.preimages}
        return {"axis_points": axes, "rebuilt": {**axes, "random_state": args.seed}}

    def answer(self, args: Namespace, model: Any, progress: Line) -> tuple[Any, ...]:
        mercer = import_module("mercer")
        calls = self.calls(args, model).items()
        return tuple(getattr(mercer, name)(model, **options) for name, options in calls)

    def value(self, *found: Any) -> dict[str, Any]:
        points: AxisPoints = found[0]
        back: Rebuilt = found[1]
        return {
            "method": points.method,
            "spread": points.spread,
            "axes": [{"axis": k + 1, "points": _points_of(points, k)} for k in range(len(points))],
            "rebuilt": {
                "axes": back.axes,
                "individuals": len(back),
                "variables": records(back.columns()),  # the best rebuilt first
            },
        }


def _points_of(points: AxisPoints, axis: int) -> list[dict[str, Any]]:
    """Return the points along one axis, each with its values by name."""
    from mercer.pca.axis_points import PLACES

    columns = {
        "place": PLACES,
        "coordinate": points.coordinates[axis],
        "error": points.errors[axis],
        "share": points.shares[axis],
        "has_converged": points.converged[axis],
    }
    values = points.points[axis].tolist()
    return [
        {**row, "values": dict(zip(points.names, values[i], strict=True))}
        for i, row in enumerate(records(columns))
    ]


NAMED = 3
"""Columns, and members, that a sentence names."""

BEYOND = 1.96
"""The v-test from which on a column sets a class apart."""


class Described(NamedTuple):
    """Classes and, of a table, the columns that set each apart, the strongest first."""

    classes: Clusters
    links: tuple[dict[str, Any], ...]
    names: tuple[str, ...]

    def of_class(self, label: int) -> list[dict[str, Any]]:
        return [row for row in self.links if row["class"] == label]


class ClusterStudy(AxesStudy):
    """Individuals in classes by Ward's tree and k-means; a page shows them by itself."""

    flag = "clusters"
    counted = "classes"
    unfit = "needs individuals on axes"

    def refuse(self, args: Namespace, model: Any) -> None:
        if args.clusters < 0:
            raise Misused(f"--clusters must be a whole number >= 1, found {args.clusters}")

    def calls(self, args: Namespace, model: Any) -> Calls:
        counted = getattr(args, "counted", None)
        found = _horn(model, args)
        axes = deciding_axes(found, Scores.of(model).coordinates.shape[1])
        how = {"count": args.clusters or None, "axes": axes or None, "random_state": args.seed}
        return {"cluster": how if counted is None else {**how, "counted": counted}}

    def answer(self, args: Namespace, model: Any, progress: Line) -> tuple[Any, ...]:
        (found,) = super().answer(args, model, progress)
        table = getattr(model, "table_", None)
        names = table.row_names if isinstance(table, Table) else getattr(table, "names", None)
        columns = _describing_columns(table)
        rows = records(found.describe(columns)) if columns else []
        links = tuple(row for row in rows if abs(row["v_test"]) >= BEYOND)
        count = len(found.labels)
        return (Described(found, links, tuple(names or (str(i + 1) for i in range(count)))),)

    def text(self, *found: Described) -> str:
        (one,) = found
        classes = one.classes
        axes = classes.centres.shape[1]
        lines = [
            f"{count_of(classes.count, 'class')} on the first {count_of(axes, 'axis')} "
            f"{'explains' if classes.count == 1 else 'explain'} {percent(classes.share)} of the "
            f"differences there; the tree suggests {classes.suggested}"
        ]
        for label in range(1, classes.count + 1):
            size = int(classes.sizes[label - 1])
            typical = ", ".join(one.names[i] for i in classes.members(label)[:NAMED])
            apart = ", ".join(map(_said, one.of_class(label)[:NAMED])) or "no column"
            members = count_of(size, "member")
            if classes.counted is not None:
                members += f" in {count_of(int(classes.rows[label - 1]), 'row')}"
            lines.append(f"class {label}: {members}, such as {typical}; set apart by {apart}")
        return "\n".join(lines)

    def value(self, *found: Described) -> dict[str, Any]:
        (one,) = found
        classes = one.classes
        return {
            "count": classes.count,
            "axes": classes.centres.shape[1],
            "suggested": classes.suggested,
            "share": classes.share,
            "labels": classes.labels,
            "classes": [
                {
                    "class": label,
                    "size": int(classes.sizes[label - 1]),
                    "rows": int(classes.rows[label - 1]),
                    "typical": [one.names[i] for i in classes.members(label)[:NAMED]],
                    "distant": [one.names[i] for i in classes.remote(label)[:NAMED]],
                    "description": one.of_class(label),
                }
                for label in range(1, classes.count + 1)
            ],
        }


def _horn(model: Any, args: Namespace) -> dict[str, Choice]:
    """Return what Horn's test says of the axes, as on a page: where it is quick, or asked for."""
    if not hasattr(model, "inertias_"):
        return {}
    counted, asked = getattr(args, "counted", None), getattr(args, "permutations", None)
    count = affordable_permutations(model, counted)[0] if asked is None else asked
    if count == 0:
        return {}
    try:
        found = choose_dimension(
            model, "horn", permutations=count, risk=RISK, counted=counted, random_state=args.seed
        )
    except MercerError:
        return {}
    return {"horn": found}


def _describing_columns(table: Any) -> dict[str, Any]:
    """Return the columns by which classes are described, a level for labels that are missing."""
    if not isinstance(table, Table):
        return {}
    found: dict[str, Any] = {}
    for column in table.columns():
        if column.role is Role.NUMBER:
            found[column.name] = column.values
        elif column.role is Role.FACTOR:
            labels = ["(missing)" if v is None else str(v) for v in column.values.tolist()]
            found[column.name] = np.array(labels, dtype=object)
    return found


def _said(row: dict[str, Any]) -> str:
    name = f"{row['column']} = {row['level']}" if row["level"] else f"{row['column']}"
    way = "more" if row["v_test"] > 0 else "less"
    kind = f"{way} often " if row["level"] else f"{way} "
    return f"{kind}{name} (v = {row['v_test']:.1f})"


STUDIES: tuple[AxesStudy, ...] = (
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

    study: AxesStudy
    found: tuple[Any, ...]

    @property
    def text(self) -> str:
        return self.study.text(*self.found)

    @property
    def value(self) -> dict[str, Any]:
        return self.study.value(*self.found)


def refuse_studies(args: Namespace, model: Any) -> None:
    """Refuse studies that have no meaning for a model, before it is fitted."""
    for study in STUDIES:
        if study.asked(args) is not None:
            study.refuse(args, model)


def answers_of(args: Namespace, model: Any, talk: Talk) -> list[Answer]:
    """Return what the studies that the flags ask for find of a fitted model."""
    found = []
    for study in STUDIES:
        if study.asked(args) is not None:
            progress = Line(study.counted)
            work = partial(study.answer, args, model, progress)
            found.append(Answer(study, carry_out(work, talk, progress)))
    return found


def sections_of(args: Namespace, model: Any, table: Any, talk: Talk, *, where: str) -> list[Any]:
    """Return the sections of a page that the flags ask for, each with its code.

    ``where`` is what the table is called in the code of the page, which has classes by itself.
    """
    colour = getattr(table, "colour", None)
    written = "None" if colour is None else f"{where}.colour"
    args = Namespace(**{**vars(args), ClusterStudy.flag: None})
    return [
        replace(
            answer.study.section(answer.found, model, colour),
            code=answer.study.code(args, model, written),
        )
        for answer in answers_of(args, model, talk)
    ]
