"""``mercer graphs``: a folder of graph files, compared by a kernel and placed on axes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.analysis.proposal import AXES
from mercer.check import Array
from mercer.cli.errors import Misused
from mercer.cli.fit_command import coordinates, summary, text_of
from mercer.cli.fits import Asked, Fitted, choices_of, fit_model
from mercer.cli.inputs import Data
from mercer.cli.output import Talk, csv_bytes, refuse_existing, write
from mercer.cli.pages import command_line, own_page, page_writer, show_page, write_page
from mercer.cli.plans import tell_plan
from mercer.data.files import read
from mercer.data.graphs import GRAPHS, Edges, graph_files, named_files, simplify_graph
from mercer.data.table import Table, quote_names
from mercer.datasets.examples import networks_folder
from mercer.errors import InvalidInput, MercerError
from mercer.estimator import as_kernel
from mercer.explorer.networks import KERNEL
from mercer.kernels.base import Kernel
from mercer.kernels.graph import Graph
from mercer.pca import KernelPCA
from mercer.store import save

MOST_COMPARED = 2000
"""Graphs up to which all distances between them are found for the page."""


ROUNDING = 1e-13
"""Squared distances below this share of the squared norms are what rounding leaves of 0."""


@dataclass(frozen=True, eq=False)
class Graphs(Data):
    """Graphs of a folder, their names, and the subfolders they are in."""

    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def labels(self) -> list[str]:
        return list(self.names)

    def __str__(self) -> str:
        graphs: Sequence[Graph] = self.points
        kinds = f", in {len(set(self.groups))} groups" if self.groups else ""
        return (
            f"{len(graphs)} graphs{kinds}; nodes {_range([g.n for g in graphs])}, edges "
            f"{_range([len(g.edges) for g in graphs])}"
        )

    def about(self) -> Table:
        """Return what is known of each graph besides its edges, nothing of which makes points."""
        columns: dict[str, Any] = {"group": list(self.groups)} if self.groups else {}
        columns["nodes"] = np.array([float(g.n) for g in self.points])
        columns["edges"] = np.array([float(len(g.edges)) for g in self.points])
        return Table.of(columns, row_names=self.names, supplementary=("nodes", "edges"))


def _range(numbers: Sequence[int]) -> str:
    return (
        f"{min(numbers)}" if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"
    )


def run(args: Namespace, talk: Talk) -> int:
    """Read the graphs, find their axes, write what is to be written, and answer with the axes."""
    out = own_page(args, "graphs")
    refuse_existing(args, talk, args.out, args.coords, page=out)
    page = None if out is None or args.dry_run else page_writer(without="--no-page")
    kernel = as_kernel(args.kernel or KERNEL)
    if kernel.reads_vectors or kernel.reads_rows:
        raise Misused(f"--kernel: {kernel} cannot read graphs; name one such as {KERNEL}")
    data = graphs_of(args, talk, is_aligned=kernel.reads_aligned)
    rank = min(AXES, len(data) - 1) if args.rank is None else args.rank
    model = KernelPCA(rank, kernel=kernel, random_state=args.seed)
    if args.dry_run:
        return tell_plan(talk, model, data)
    talk.say(f"{args.data}: {data}")
    result = fit_model(model, data, talk, is_rank_asked=args.rank is not None)
    model.table_ = data.about()
    found = summary(result, Asked(data, model), args)
    value = {**found, "command": "graphs", "graphs": list(data.names)}
    if data.groups:
        value["groups"] = list(data.groups)
    _write(args, talk, result, data)
    if page is not None and out is not None:
        value["page"] = out
        write_page(out, lambda: _page(args, page, model, data, out, talk), talk)
    talk.answer(value, text_of(value))
    if out is not None and args.open:
        show_page(out)
    return result.code


def _write(args: Namespace, talk: Talk, result: Fitted, data: Graphs) -> None:
    if args.out:
        save(result.model, args.out)
        talk.say(f"the model is in {args.out}")
    if args.coords:
        columns = coordinates(result.model, data)
        write(args.coords, csv_bytes(columns, is_raw=args.raw))
        talk.say(f"the coordinates are in {args.coords}")


def graphs_of(args: Namespace, talk: Talk, *, is_aligned: bool) -> Graphs:
    """Read all graphs of a folder and of the folders in it, which are groups."""
    folder = networks_folder(args.data)
    paths, skipped = graph_files(folder, args.pattern)
    if skipped:
        told = quote_names(path.relative_to(folder).as_posix() for path in skipped)
        known = args.pattern or f"*{', *'.join(GRAPHS)}"
        talk.warn(
            f"{args.data}: {len(skipped)} of {len(skipped) + len(paths)} files are not named "
            f"{known} and were skipped: {told}. --pattern names others"
        )
    options = {} if args.label is None else {"label": args.label}
    read_ones = [(path, read(path, "graph", **options)) for path in paths]
    every = sorted({name for _, edges in read_ones for name in edges.names})
    graphs = []
    for path, edges in read_ones:
        try:
            given = simplify_graph(edges) if args.simplify else edges
            graphs.append(_graph(given, args.labels, every if is_aligned else None))
        except MercerError as error:
            hint = "; --simplify leaves out loops and joins repeated edges"
            more = "" if args.simplify or "edge" not in str(error) else hint
            raise InvalidInput(f"{path.relative_to(folder)}: {error}{more}") from error
    names, groups = named_files(folder, paths)
    return Graphs(args.data, graphs, names=names, groups=groups)


def _graph(edges: Edges, labels: str, every: Sequence[str] | None) -> Graph:
    """Return a graph, on the nodes of all graphs where these are the same individuals."""
    given = Graph.read(edges)
    names = {"own": given.labels, "names": edges.names, "none": None}[labels]
    if every is None:
        return Graph(given.edges, names, given.weights, given.n, given.directed)
    places = {name: i for i, name in enumerate(every)}
    order = np.array([places[name] for name in edges.names], np.int64)
    return Graph(order[given.edges], None, given.weights, len(every), given.directed)


def _page(  # noqa: PLR0913  (what is written, where, and how it is told)
    args: Namespace, page: Any, model: Any, data: Graphs, out: str, talk: Talk
) -> None:
    page(
        model,
        out,
        table=data.about(),
        title=args.title or f"{Path(args.data).resolve().name}: {len(data)} graphs",
        command=command_line(args, out, "page"),
        sections=[_section(model, data)],
        choices=choices_of(model, args, talk, 0),
        clusters=args.clusters,
    )


def _section(model: Any, data: Graphs) -> Any:
    """Return what the page says of the graphs themselves."""
    from mercer.page import Section

    columns = {column.name: column.values.tolist() for column in data.about().columns()}
    table: dict[str, Any] = {"graph": list(data.names), **columns}
    sentences = [f"{data}. Two graphs are compared by {model.kernel_}."]
    if len(data) <= MOST_COMPARED:
        distances = distances_of(model.kernel_, data.points)
        nearest = np.argmin(distances + np.diag(np.full(len(data), np.inf)), axis=1)
        table["nearest"] = [data.names[i] for i in nearest]
        table["distance"] = distances[np.arange(len(data)), nearest].tolist()
        if data.groups:
            sentences.append(_apart(distances, np.array(data.groups)))
    return Section("The graphs", sentences, (), {"Graphs": table})


def distances_of(kernel: Kernel, graphs: Sequence[Graph]) -> Array:
    """Return the distances between graphs in the space of a kernel."""
    K = np.asarray(kernel(graphs))
    own = np.diag(K)
    sizes = own[:, None] + own[None, :]
    squares = sizes - 2.0 * K
    distances: Array = np.sqrt(np.where(squares > ROUNDING * sizes, squares, 0.0))
    return distances


def _apart(distances: Array, groups: Array) -> str:
    """Return in words how far graphs of a group, and of different groups, are apart."""
    i, j = np.triu_indices(len(groups), 1)
    is_within = groups[i] == groups[j]
    between = f"Graphs of different groups are {_mean(distances[i, j][~is_within])} apart"
    if not np.any(is_within):
        return f"{between} on average."
    return f"{between} on average, those of one group {_mean(distances[i, j][is_within])}."


def _mean(distances: Array) -> str:
    return f"{float(np.mean(distances)):.3g}"
