"""``--clusters``: classes of individuals on the axes of a fit, and what sets each apart."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer.cli.parser import Misused
from mercer.cli.study import Study, records
from mercer.cli.tables import percent
from mercer.data.table import Role, Table
from mercer.progress import Line
from mercer.reading.scores import Scores

if TYPE_CHECKING:
    from mercer.clusters import Clusters

AXES = 5
"""Axes on which individuals are near each other, the first ones."""

SHOWN = 3
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


class ClusterStudy(Study[Described]):
    """Individuals in classes by Ward's tree, consolidated by k-means."""

    flag = "clusters"
    counted = "classes"
    unfit = "needs individuals on axes"

    def refuse(self, args: Namespace, model: Any) -> None:
        if args.clusters < 0:
            raise Misused(f"--clusters must be a whole number >= 1, found {args.clusters}")

    def answer(self, args: Namespace, model: Any, progress: Line) -> Described:
        from mercer.clusters import cluster  # only now: scikit-learn's k-means takes a second

        kept = Scores.of(model).coordinates.shape[1]
        axes = min(AXES, kept) or None
        found = cluster(model, args.clusters or None, axes=axes, random_state=args.seed)
        table = getattr(model, "table_", None)
        names = getattr(table, "row_names", None) or getattr(table, "names", None)
        if isinstance(table, Table):
            names = table.row_names
        columns = _columns(table)
        links: tuple[dict[str, Any], ...] = ()
        if columns:
            rows = records(dict(found.describe(columns)))
            links = tuple(row for row in rows if abs(row["v_test"]) >= BEYOND)
        count = len(found.labels)
        return Described(found, links, tuple(names or (str(i + 1) for i in range(count))))

    def text(self, found: Described) -> str:
        classes = found.classes
        lines = [
            f"{classes.count} classes hold {percent(classes.share)} of the inertia of the axes "
            f"between them; the tree suggests {classes.suggested}"
        ]
        for label in range(1, classes.count + 1):
            size = int(classes.sizes[label - 1])
            typical = ", ".join(found.names[i] for i in classes.members(label)[:SHOWN])
            apart = ", ".join(map(_said, found.of_class(label)[:SHOWN])) or "no column"
            members = "1 member" if size == 1 else f"{size} members"
            lines.append(f"class {label}: {members}, such as {typical}; set apart by {apart}")
        return "\n".join(lines)

    def value(self, found: Described) -> dict[str, Any]:
        classes = found.classes
        return {
            "count": classes.count,
            "suggested": classes.suggested,
            "share": classes.share,
            "labels": classes.labels,
            "classes": [
                {
                    "class": label,
                    "size": int(classes.sizes[label - 1]),
                    "typical": [found.names[i] for i in classes.members(label)[:SHOWN]],
                    "distant": [found.names[i] for i in classes.remote(label)[:SHOWN]],
                    "description": found.of_class(label),
                }
                for label in range(1, classes.count + 1)
            ],
        }

    def section(self, found: Described, model: Any, colour: Any) -> Any:
        from mercer.page import Section

        kept = ("class", "column", "level", "v_test", "in_class", "overall")
        columns = {key: [row[key] for row in found.links] for key in kept}
        tables = {"What sets each class apart": columns} if found.links else {}
        return Section("Which groups are there?", tuple(self.text(found).splitlines()), (), tables)

    def code(self, args: Namespace, model: Any, colour: str) -> str:
        return ""


def _columns(table: Any) -> dict[str, Any]:
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
