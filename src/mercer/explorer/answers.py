"""What the explorer answers: the analysis of a state, a map that slides, neighbours, verdicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mercer.analysis import Analysis, Fate, Proposal, completed, curved_model, propose
from mercer.check import Array
from mercer.data import rows
from mercer.data.matrices import SquareMatrix
from mercer.data.missing import settled
from mercer.data.table import Table
from mercer.errors import Advice, InvalidInput, InvalidParameter, MercerError, WrittenFormError
from mercer.explorer.source import Source, holds
from mercer.explorer.state import AXES, USUAL, State, arranged, code_of, command_of, kernel_of
from mercer.kernels.base import Kernel, Kind, parameters
from mercer.kernels.definite import positive_definite
from mercer.kernels.radial import Gaussian
from mercer.page.data import clean_remark, describe, space_value
from mercer.page.panels import rows_to_show
from mercer.page.subject import Subject, subject_of
from mercer.page.text import clean, count_of
from mercer.page.write import for_scripts, report
from mercer.pca import KernelPCA
from mercer.planning import plan
from mercer.points import take
from mercer.progress import Progress, clock
from mercer.spectrum import STORED

MOST_POINTS = 200_000
"""Individuals drawn one by one; of more, the density and a sample are shown."""

SLIDES = 20_000
"""Individuals up to which a preview of the map follows the slider."""

NEAREST = 5
"""Neighbours that the card of an individual names."""

WITNESSES = 60
"""Individuals on which a kernel without a proof is tested."""

OFFERED = 5
"""Columns that are offered where none is active."""

MISSING = {
    "drop": "leave out rows",
    "mean": "put the mean",
    "pca": "put what other columns say",
}
"""What can be done where numbers are missing, in the words of the page."""

SAYS: dict[str, Any] = {
    "missing": lambda value: f"“{MISSING.get(value, value)}”",
    "scale": lambda value: f"“standardise” {'on' if value else 'off'}",
    "method": lambda value: f"the method {value}",
    "supplementary": lambda value: "moving it to “supplementary”",
    "kernel": lambda value: "the usual kernel",
}
"""Parameters of an analysis in the words of the page."""


@dataclass(frozen=True, eq=False)
class Straight:
    """The part of an analysis that no kernel changes."""

    proposal: Proposal
    model: Any

    @cached_property
    def usual(self) -> float | None:
        """The median distance in the units of the straight map, None where no map is curved."""
        proposal = self.proposal
        kernel = proposal.curved_kernel(self.model, None, Gaussian("median"))
        if kernel is None:
            return None
        points = proposal.points
        if proposal.analysis == "pca":
            x = points.matrix()
            spreads = np.std(x, axis=0) if proposal.scaled else np.ones(x.shape[1])
            kernel = Gaussian("median").resolve(x / np.where(spreads > 0, spreads, 1.0))
        else:
            kernel = kernel.resolve(points.matrix() if proposal.analysis == "ca" else rows(points))
        return bandwidth_in(kernel)


def straight_of(source: Source, state: State, tell: Progress | None = None) -> Straight:
    """Return the straight map of a state, fitted."""
    if isinstance(source.data, SquareMatrix):
        proposal = propose(source.data, method=state.method)
    else:
        table, asked = arranged(source.data, state, source.usual)
        if state.missing == "error":
            _refuse_missing(table, asked["supplementary"])
        proposal = propose(table, **asked)
    options = {"random_state": 0} if proposal.analysis in ("kpca", "mds", "stress") else {}
    count = AXES if state.axes is None and proposal.analysis == "mds" else state.axes
    axes = None if count is None else min(count, proposal.most_axes)
    model = proposal.model(axes, **options)
    follows = {"progress": tell} if proposal.analysis in ("pca", "kpca") else {}
    model.fit(proposal.points, **follows)
    return Straight(proposal, model)


def _refuse_missing(table: Table, beside: Sequence[str]) -> None:
    """Ask what to do where numbers are missing; what is beside the axes may have gaps.

    What is counted is what the ways that are offered would do to the whole table.
    """
    try:
        settled(table.with_columns(n for n in table.names if n not in beside))
    except InvalidInput:
        settled(table)
        raise


def analysis_of(straight: Straight, state: State, tell: Progress | None = None) -> Analysis:
    """Return the analysis of a state whose straight map is there."""
    kernel = kernel_of(state.kernel, state.bandwidth)
    if not _is_usable(kernel):
        raise InvalidParameter(f"{kernel} is no positive definite kernel, so it has no map")
    return completed(
        straight.proposal,
        straight.model,
        random_state=0,
        kernel=kernel,
        is_exact=state.exact,
        tell=tell,
    )


def _is_usable(kernel: Kernel) -> bool:
    return kernel.kind is not Kind.SIMILARITY


def answer(
    source: Source, state: State, straight: Straight, tell: Progress | None = None
) -> tuple[dict[str, Any], Subject]:
    """Return everything the page shows of a state, as its scripts read it.

    Beside it stands the map in whose features neighbours are sought: the curved one if there is.
    """
    proposal = straight.proposal
    made = analysis_of(straight, state, tell)
    if state.against is not None and made.curved is not None:
        other = curved_model(
            proposal,
            straight.model,
            random_state=0,
            kernel=kernel_of(state.against),
            is_exact=state.exact,
            tell=tell,
        )
        kept = tuple(d for d in made.doubts if d.map != "straight")
        made = replace(made, model=other or made.model, doubts=kept)
    spoken = _spoken(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = describe(
            spoken,
            title=source.name,
            choices=None if len(proposal.points) <= STORED else {},
            most_points=MOST_POINTS,
            tell=tell,
            is_live=True,
        )
    seen = [
        (d, clean_remark(text.text)) for d, text in zip(made.doubts, spoken.doubts, strict=True)
    ]
    doubts = [
        {"text": text, "ways": ways(() if d.advice is None else (d.advice,))}
        for d, text in seen
        if d.map != "curved" or d.is_misleading  # of others its caption says it
    ]
    doubts += _landmarks(made)
    known = {text for _, text in seen}
    columns = columns_of(source.data, made, state)
    refused: list[dict[str, Any]] = [{"text": t, "ways": []} for t in refused_uses(columns, state)]
    doubts = [*refused, *doubts]
    doubts += [{"text": t, "ways": []} for t in value["remarks"] if t not in known]
    shown: dict[str, Any] = {
        **for_scripts(value),
        "explorer": {
            "sentence": spoken.sentence,
            "adds": made.adds,
            "doubts": doubts,
            "columns": columns,
            "analysis": made.analysis,
            "scaled": made.scaled,
            "usual": straight.usual,
            "bandwidth": bandwidth_in(kernel_of(state.kernel, state.bandwidth)) or straight.usual,
            "most_axes": proposal.most_axes,
            "code": code_of(source, state),
            "command": command_of(source, state),
            "slides": len(proposal.points) <= SLIDES,
        },
    }
    if state.against is not None:
        titles = shown["titles"]
        for name in [n for n in titles if n.startswith("plane-")]:
            titles[name] = titles[name].replace("Straight map: ", "Map to compare: ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shown, subject_of(made.curved or made.model, made.table)


def _landmarks(made: Analysis) -> list[dict[str, Any]]:
    """Return the doubt of a curved map on landmarks, and how long the exact one would take."""
    model = made.curved
    if model is None or not model.spectrum_.is_approximate:
        return []
    points = model.X_fit_
    columns = int(points.shape[1]) if isinstance(points, np.ndarray) and points.ndim == 2 else 10
    exact = KernelPCA(model.n_components, kernel=model.kernel_)
    seconds = plan(exact, len(made.table), columns).seconds
    time = "less than a second" if seconds < 1 else f"about {clock(seconds)} (min:s)"
    said = (
        f"The curved map of {count_of(len(made.table), 'individual')} is made on "
        f"{model.landmarks} landmarks, so that small axes may be missing."
    )
    return [{"text": said, "ways": [{"label": f"Compute exactly, {time}", "set": {"exact": True}}]}]


def bandwidth_in(kernel: Kernel) -> float | None:
    """Return the first bandwidth of a kernel, None where it has none or a rule finds it.

    >>> bandwidth_in(kernel_of("2 * gaussian(3.0)")), bandwidth_in(kernel_of("linear()"))
    (3.0, None)
    """
    found = parameters(kernel).items()
    widths = [value for name, value in found if name.split("__")[-1] == "bandwidth"]
    return float(np.max(widths[0])) if widths and not isinstance(widths[0], str) else None


def slide(straight: Straight, state: State, tell: Progress | None = None) -> Any:
    """Return the curved map of another bandwidth: exact, or of a sample that carries the others.

    The individuals are those of `answer`; ``exact`` says whether all of them made the axes.
    """
    proposal, points = straight.proposal, straight.proposal.points
    kernel = kernel_of(state.kernel, state.bandwidth)
    is_exact = len(points) <= STORED
    model = curved_model(proposal, straight.model, random_state=0, kernel=kernel, tell=tell)
    if model is None:
        raise InvalidInput("the kernel sees no difference between the individuals")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject = subject_of(model, points)
        space = space_value(subject, rows_to_show(subject, MOST_POINTS))
    shares = np.zeros(0) if subject.shares is None else subject.shares
    return {"space": space, "shares": shares.tolist(), "exact": is_exact}


def card(made: Subject, row: int) -> dict[str, Any]:
    """Return who stands nearest to an individual in the distance of the curved map's features."""
    n = len(made)
    if not 0 <= row < n:
        raise InvalidParameter(f"there is no individual {row}: they are counted from 0 to {n - 1}")
    distances = feature_distances(made, row)
    order = np.argsort(distances, kind="stable")
    near = [int(i) for i in order if i != row][:NEAREST]
    return {
        "row": row,
        "nearest": [
            {"row": i, "name": clean(made.names[i]), "distance": float(distances[i])} for i in near
        ],
    }


def feature_distances(made: Subject, row: int) -> Array:
    """Return the distances of all individuals to one in feature space.

    >>> from mercer import KernelPCA, Gaussian
    >>> model = KernelPCA(1, kernel=Gaussian(1.0)).fit([[0.0], [1.0], [5.0]])
    >>> bool(np.isclose(feature_distances(subject_of(model), 0)[1] ** 2, 2 - 2 * np.exp(-0.5)))
    True
    """
    points, kernel = getattr(made.model, "X_fit_", None), made.kernel
    if kernel is None or points is None or made.is_precomputed:
        found: Array = np.linalg.norm(made.coordinates - made.coordinates[row], axis=1)
        return found
    one = take(points, np.array([row]))
    cross = np.real(np.asarray(kernel(one, points)))[0]
    own = np.real(np.asarray(kernel.diag(points)))
    squares: Array = own + own[row] - 2.0 * cross
    return np.sqrt(np.maximum(squares, 0.0))


def verdict(text: str, source: Source | None) -> dict[str, Any]:
    """Return what can be said of a written kernel: its verdict and its proof, or its error.

    >>> found = verdict("gaussian(1.0) - linear()", None)
    >>> found["ok"], found["at"]
    (False, 14)
    >>> verdict("2 * gaussian(3)", None)["written"]
    '2.0 * gaussian(bandwidth=3.0)'
    """
    try:
        kernel = kernel_of(text)
    except (WrittenFormError, MercerError) as error:
        lines = str(error).splitlines() or [""]
        where = lines[-1].find("^") if len(lines) > 2 else -1
        at = max(where - 4, 0) if where >= 0 else None
        return {"ok": False, "said": clean(lines[0], 500), "at": at, "proof": []}
    proof = [clean(rule, 300) for rule in kernel.proof.split("; ") if rule]
    found = {"ok": True, "written": clean(str(kernel), 2_000), "proof": proof, "at": None}
    has_width = any(k.split("__")[-1] == "bandwidth" for k in parameters(kernel))
    found["has_bandwidth"] = has_width
    if kernel.kind is Kind.SIMILARITY:
        return {**found, **_witness(kernel, source)}
    said = f"{kernel.kind.value}, by rule"
    return {**found, "said": said[:1].upper() + said[1:]}


def _witness(kernel: Kernel, source: Source | None) -> dict[str, Any]:
    """Return whether some of the individuals refute that a similarity is a kernel."""
    said = "A similarity, of which nothing is proved: it has no map"
    table = None if source is None else source.data
    if not isinstance(table, Table) or not table.active:
        return {"ok": False, "said": said}
    x = table.matrix()
    x = x[np.all(np.isfinite(x), axis=1)][:WITNESSES]
    try:
        tested = positive_definite(kernel, x)
    except MercerError as error:
        return {"ok": False, "said": f"{said}. {clean(error, 300)}"}
    return {"ok": False, "said": f"{said}. On {len(x)} individuals: {clean(tested, 400)}"}


def columns_of(data: Table | SquareMatrix, made: Analysis, state: State) -> list[dict[str, Any]]:
    """Return the columns of a table: what they hold, what became of them, and why."""
    if isinstance(data, SquareMatrix):
        return []
    fates = {fate.name: fate for fate in made.fates}
    fates |= {n: Fate(n, "name", "it names the rows") for n in state.chosen("name")[:1]}
    colour = made.table.colour if isinstance(made.table, Table) else None
    chosen = state.chosen("colour") or ([] if colour is None else [colour.name])
    found = []
    for column in data.columns():
        name, fate = column.name, fates.get(column.name)
        use = "ignored" if fate is None else fate.use
        reason = "" if fate is None else fate.reason
        if name in chosen[:1] and use == "supplementary" and state.uses.get(name) != use:
            use = "colour"
        found.append({"name": name, "use": use, "why": reason, **holds(column)})
    return found


def refused_uses(columns: Sequence[dict[str, Any]], state: State) -> list[str]:
    """Return, in sentences, the uses that were asked for and could not be, and what is so instead.

    >>> columns = [{"name": "x", "use": "ignored", "kind": "number", "why": "all are the same"}]
    >>> refused_uses(columns, State(uses={"x": "active"}))
    ['“x” cannot be active and is ignored: all are the same.']
    """
    said = []
    for column in columns:
        name, use, asked = column["name"], column["use"], state.uses.get(column["name"])
        if asked == "colour" and column["kind"] == "number" and use == "colour":
            said.append(
                f"“{clean(name)}” is a number: it shades the individuals, and stands beside the "
                "axes; only labels make groups with outlines."
            )
        elif asked is not None and asked != use:
            verb = {"name": "name rows", "colour": "colour"}.get(asked, f"be {asked}")
            why = f": {column['why']}" if column["why"] else ""
            now = {"name": "names the rows", "colour": "is the colour"}.get(use, f"is {use}")
            said.append(f"“{clean(name)}” cannot {verb} and {now}{why}.")
    return said


def in_words(text: str, advice: Iterable[Advice]) -> str:
    """Return a message with parameters in the words of the page.

    >>> in_words("try missing='drop'", [Advice("missing", "drop")])
    'try “leave out rows”'
    """
    for one in advice:
        if one.parameter in SAYS and one.value is not ...:
            text = text.replace(str(one), SAYS[one.parameter](one.value))
    return text


def ways(advice: Sequence[Advice]) -> list[dict[str, Any]]:
    """Return what a visitor can press to follow an advice: a label and the part of the state."""
    found = []
    for one in advice:
        if one.value is ...:
            continue
        if one.parameter == "missing" and one.value in MISSING:
            label = MISSING[one.value]
            found.append({"label": label[:1].upper() + label[1:], "set": {"missing": one.value}})
        elif one.parameter == "scale" and isinstance(one.value, bool):
            label = "Standardise the columns" if one.value else "Keep the units"
            found.append({"label": label, "set": {"scale": one.value}})
        elif one.parameter == "method" and isinstance(one.value, str):
            found.append({"label": f"Use {one.value.upper()}", "set": {"method": one.value}})
        elif one.parameter == "supplementary" and isinstance(one.value, list | tuple):
            uses = dict.fromkeys(map(str, one.value), "supplementary")
            found.append({"label": "Set it beside the axes", "set": {"uses": uses}})
        elif one.parameter == "active" and isinstance(one.value, list | tuple):
            for name in map(str, one.value[:OFFERED]):
                label = f"Make “{clean(name)}” active"
                found.append({"label": label, "set": {"uses": {name: "active"}}})
        elif one.parameter == "kernel":
            usual = {"kernel": USUAL, "bandwidth": None}
            found.append({"label": "Take the median distance", "set": usual})
    return found


def page_of(
    source: Source, state: State, straight: Straight, tell: Progress | None = None
) -> bytes:
    """Return the report of a state, the page with its data frozen in."""
    made = _spoken(analysis_of(straight, state, tell))
    with TemporaryDirectory(prefix="mercer-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = Path(folder, "report.html")
        title = source.name.partition(".")[0]
        command = command_of(source, state)
        return report(made, target, title=title, command=command, progress=tell).read_bytes()


def _spoken(made: Analysis) -> Analysis:
    """Return an analysis whose words are those of the page."""
    doubts = tuple(
        replace(d, text=in_words(d.text, () if d.advice is None else (d.advice,)))
        for d in made.doubts
    )
    return replace(made, sentence=in_words(made.sentence, made.advice), doubts=doubts)
