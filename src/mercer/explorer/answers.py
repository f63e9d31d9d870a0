"""What the explorer answers: the analysis of a state, an axis as a function, columns, reports."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.analysis import Analysis, Fate, Proposal, complete_analysis, curved_model, propose
from mercer.analysis.choice import NAMES
from mercer.analysis.doubts import NAMED, Doubt
from mercer.analysis.evidence import SAME, evidence_of
from mercer.data import rows
from mercer.data.missing import settled
from mercer.data.sequences import Sequences
from mercer.data.table import Table
from mercer.display import listing
from mercer.errors import Advice, InvalidInput, InvalidParameter
from mercer.explorer.code_of_state import code_of, command_of, own_kernel
from mercer.explorer.limits import Limits
from mercer.explorer.networks import KERNEL, Networks
from mercer.explorer.source import Source, holds
from mercer.explorer.state import AXES, State, arrange_table, bandwidth_in, kernel_of
from mercer.explorer.words import in_words, refused_uses, ways
from mercer.kernels.base import Kernel, Kind
from mercer.kernels.radial import Gaussian
from mercer.page.data import clean_remark, describe
from mercer.page.panels import map_sections, rows_to_show
from mercer.page.safe_text import PAGE, clean, count_of
from mercer.page.sections import with_sections
from mercer.page.sentences import analysis as kernel_in_words
from mercer.page.subject import Subject, face_axes, subject_of
from mercer.page.write import for_scripts, picture_value, render_page
from mercer.pca import KernelPCA
from mercer.pictures.limits import LIMITS
from mercer.pictures.surfaces import eigenfunctions
from mercer.planning import plan
from mercer.progress import Progress

FUNCTION = 45
"""Places on each side of the grid on which an axis is drawn as a function of two variables."""


@dataclass(frozen=True, eq=False)
class Straight:
    """The part of an analysis that no kernel changes."""

    proposal: Proposal
    model: Any

    @property
    def is_whole(self) -> bool:
        """Whether a kernel makes the only map, as of sequences and networks."""
        return isinstance(self.proposal.points, Sequences | Networks)

    @property
    def about(self) -> Table | None:
        """What is known of networks beside their edges."""
        points = self.proposal.points
        return points.about() if isinstance(points, Networks) else None

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
    proposal = proposal_of(source, state)
    options = {"random_state": 0} if proposal.analysis in ("kpca", "mds", "stress") else {}
    count = AXES if state.axes is None and proposal.analysis == "mds" else state.axes
    axes = None if count is None else min(count, proposal.most_axes)
    _refuse_alike(proposal)
    model = proposal.model(axes, **options)
    follows: dict[str, Any] = {"progress": tell} if proposal.analysis in ("pca", "kpca") else {}
    if proposal.weights is not None:
        follows["sample_weight"] = proposal.weights
    model.fit(proposal.points, **follows)
    return Straight(proposal, model)


def _refuse_alike(proposal: Proposal) -> None:
    """Refuse numbers that are the same in every row, of which there is nothing to map."""
    if proposal.analysis != "pca":
        return
    x = proposal.points.matrix()
    if not np.any(np.ptp(x, axis=0) > 0):
        raise InvalidInput(
            f"all individuals are alike: {listing(proposal.active)} "
            f"{'hold' if len(proposal.active) > 1 else 'holds'} one value only, so that there is "
            "nothing to map. Make a column active whose values differ, or open another file"
        )


def proposal_of(source: Source, state: State) -> Proposal:
    """Return the analysis that fits data in a state, not yet made."""
    data = source.data
    if isinstance(data, Networks):
        kernel = kernel_of(own_kernel(state) or KERNEL)
        refuse_other_points(kernel, source)
        said = f"{count_of(len(data), 'network')}: {NAMES['kpca']} with {kernel}."
        doubts = tuple(Doubt("edges", note, "networks") for note in data.notes)
        return Proposal("kpca", data, False, (), doubts, said, (), kernel, True)
    if isinstance(data, Sequences):
        chosen = own_kernel(state)
        if chosen is not None:
            refuse_other_points(kernel_of(chosen), source)
        return propose(data, kernel=chosen)
    if not isinstance(data, Table):
        return propose(data, method=state.method)
    table, asked = arrange_table(data, state, source.usual)
    if state.missing == "error":
        _refuse_missing(table, asked["supplementary"])
    return propose(table, **asked)


def refuse_other_points(kernel: Kernel, source: Source) -> None:
    """Refuse a kernel of numbers for sequences and networks."""
    if kernel.reads_vectors or kernel.reads_rows:
        raise InvalidParameter(
            f"{kernel} compares rows of numbers, and these are {source.kind}",
            Advice("kernel", ...),
        )


def _refuse_missing(table: Table, beside: Sequence[str]) -> None:
    """Ask what to do where numbers are missing; what is beside the axes may have gaps.

    What is counted is what the ways that are offered would do to the whole table.
    """
    try:
        settled(table.with_columns(n for n in table.names if n not in beside))
    except InvalidInput:
        settled(table)
        raise


def analysis_of(
    straight: Straight,
    state: State,
    tell: Progress | None = None,
    curved: KernelPCA | None = None,
) -> Analysis:
    """Return the analysis of a state whose straight map is there, and perhaps its curved one."""
    if straight.is_whole:
        return complete_analysis(straight.proposal, straight.model, random_state=0, tell=tell)
    kernel = kernel_of(state.kernel, state.bandwidth)
    if not _is_usable(kernel):
        raise InvalidParameter(f"{kernel} is no positive definite kernel, so it has no map")
    return complete_analysis(
        straight.proposal,
        straight.model,
        random_state=0,
        kernel=kernel,
        is_exact=state.exact,
        curved=curved,
        tell=tell,
    )


def exact_map(straight: Straight, state: State, tell: Progress | None = None) -> KernelPCA | None:
    """Return the curved map of all individuals, however long it takes."""
    kernel = kernel_of(state.kernel, state.bandwidth)
    return curved_model(
        straight.proposal,
        straight.model,
        random_state=0,
        kernel=kernel,
        is_exact=True,
        tell=tell,
    )


def _is_usable(kernel: Kernel) -> bool:
    return kernel.kind is not Kind.SIMILARITY


def answer(
    source: Source,
    state: State,
    straight: Straight,
    tell: Progress | None = None,
    curved: KernelPCA | None = None,
) -> tuple[dict[str, Any], Subject]:
    """Return everything the page shows of a state, as its scripts read it.

    Beside it stands the map in whose features neighbours are sought: the curved one if there is.
    """
    proposal = straight.proposal
    made = analysis_of(straight, state, tell, curved)
    if state.against is not None:
        made = _compared(straight, state, made, tell)
    spoken = _spoken(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = describe(
            spoken,
            table=straight.about,
            title=source.name,
            choices=None if len(proposal.points) <= KernelPCA.limits.stored else {},
            most_points=Limits.points,
            clusters=state.classes,
            tell=tell,
            is_live=True,
        )
    shown: dict[str, Any] = {
        **for_scripts(_with_titles(value, made, state, straight)),
        "explorer": {
            "sentence": spoken.sentence,
            "adds": made.adds,
            "doubts": _doubts(source, state, made, spoken, value),
            "columns": columns_of(source.data, made, state),
            "analysis": made.analysis,
            "kind": source.kind,
            "kernel": str(proposal.kernel) if straight.is_whole else state.kernel,
            "scaled": made.scaled,
            "usual": None if straight.is_whole else straight.usual,
            "bandwidth": bandwidth_in(kernel_of(state.kernel, state.bandwidth)) or straight.usual,
            "most_axes": proposal.most_axes,
            "shares": _shares(made.model),
            "code": code_of(source, state),
            "command": command_of(source, state),
            "slides": len(proposal.points) <= Limits.sliding,
            "refines": _is_preview(made.curved) and len(proposal.points) <= Limits.refined,
        },
    }
    people = shown["individuals"]
    if not people["has_names"] and len(people["names"]) > Limits.named_rows:
        shown["individuals"] = {**people, "names": len(people["names"])}
    shown["explorer"]["functions"] = _functions_of(made, straight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        has_curved = made.curved is not None and not straight.is_whole
        nearest = face_axes(made.curved, made.model) if has_curved else made.model
        return shown, subject_of(nearest, straight.about or made.table)


def _with_titles(
    value: dict[str, Any], made: Analysis, state: State, straight: Straight
) -> dict[str, Any]:
    """Return the value of a page whose pictures say which map stands there to compare."""
    panels = dict(value["panels"])
    if state.against is None or "curved" not in panels:
        return value
    first = next(name for name in panels if name.startswith("plane-"))
    if straight.is_whole:
        kernels = [kernel_in_words(subject_of(model)) for model in (made.model, made.curved)]
        titles = {first: f"Map: {kernels[0]}", "curved": f"Map to compare: {kernels[1]}"}
    else:
        of = panels[first].title.partition(": ")[2]
        titles = {first: f"Map to compare: {of}", "scree": "Inertia to compare"}
    told = {n: replace(panels[n], title=title) for n, title in titles.items() if n in panels}
    return {**value, "panels": panels | told}


def _shares(model: Any) -> list[float]:
    """Return what each axis of the first map shows of the differences, where that is known."""
    shares = subject_of(model).shares
    return [] if shares is None else [float(share) for share in shares]


def _functions_of(made: Analysis, straight: Straight) -> list[str]:
    """Return the variables of which the axes of the curved map are functions, if any."""
    model = made.curved
    if model is None or straight.is_whole or not model.kernel_.reads_vectors:
        return []
    return [clean(name) for name in model.variables_.names]


def _compared(straight: Straight, state: State, made: Analysis, tell: Progress | None) -> Analysis:
    """Return an analysis with the map of a second kernel: in the place of the straight one.

    Of sequences and networks, whose only map a kernel makes, it stands beside that.
    """
    assert state.against is not None
    kernel = kernel_of(state.against)
    if straight.is_whole:
        other = KernelPCA(straight.model.n_components, kernel=kernel, random_state=0)
        other.fit(straight.proposal.points, progress=tell)
        return replace(made, curved=other, adds=_agreement(made.model, other))
    if made.curved is None:
        return made
    beside = curved_model(
        straight.proposal,
        straight.model,
        random_state=0,
        kernel=kernel,
        is_exact=state.exact,
        tell=tell,
    )
    if beside is None:
        return made
    kept = tuple(d for d in made.doubts if d.map != "straight")
    adds = _agreement(beside, made.curved)
    return replace(made, model=beside, doubts=kept, evidence=None, parted="", adds=adds)


def _agreement(one: Any, other: Any) -> str:
    """Return whether the maps of two kernels show the same, in one sentence."""
    found = evidence_of(one, other, (), random_state=0, seeks_clusters=False)
    if found is None:
        return ""
    shows = "show the same" if found.alignment >= SAME else "differ"
    return f"The two maps {shows} (alignment {found.alignment:.2f}, 1 where they are alike)."


def _doubts(
    source: Source, state: State, made: Analysis, spoken: Analysis, value: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return what may mislead, each with what can be pressed."""
    columns = columns_of(source.data, made, state)
    found: list[dict[str, Any]] = [{"text": t, "ways": []} for t in refused_uses(columns, state)]
    seen = [
        (d, clean_remark(text.text)) for d, text in zip(made.doubts, spoken.doubts, strict=True)
    ]
    found += [
        {
            "text": text,
            "ways": ways(() if d.advice is None else (d.advice,)),
            "listed": [clean(name) for name in d.listed[NAMED:]],
        }
        for d, text in seen
        if d.map != "curved" or d.is_misleading  # of others its caption says it
    ]
    found += _landmarks(made)
    known = {text for _, text in seen}
    return [*found, *({"text": t, "ways": []} for t in value["remarks"] if t not in known)]


def _is_preview(curved: KernelPCA | None) -> bool:
    return curved is not None and bool(curved.spectrum_.is_approximate)


SOON = 90.0
"""Seconds from which on a time is told in minutes."""


def _landmarks(made: Analysis) -> list[dict[str, Any]]:
    """Return the doubt of a curved map on landmarks, and how long the exact one would take."""
    model = made.curved
    if model is None or not _is_preview(model):
        return []
    points = model.X_fit_
    columns = int(points.shape[1]) if isinstance(points, np.ndarray) and points.ndim == 2 else 10
    exact = KernelPCA(model.n_components, kernel=model.kernel_)
    seconds = plan(exact, len(made.table), columns).seconds
    minutes = f"about {seconds / 60:.0f} min"
    time = "less than a second" if seconds < 1 else f"about {seconds:.0f} s"
    time = minutes if seconds >= SOON else time
    said = (
        f"The curved map of {count_of(len(made.table), 'individual')} is made on "
        f"{model.landmarks} landmarks, so that small axes may be missing."
    )
    return [{"text": said, "ways": [{"label": f"Compute exactly, {time}", "set": {"exact": True}}]}]


def function(made: Subject, axis: int, on: Sequence[str] | None) -> dict[str, Any]:
    """Return an axis of the curved map as a function of two variables, to be drawn as contours.

    ``on`` names the variables; by default the two that follow the first axes best.
    """
    variables = made.variables
    points = getattr(made.model, "X_fit_", None)
    if made.kernel is None or variables is None or points is None or made.is_precomputed:
        raise InvalidInput("the axes of this map are no functions of variables")
    if not 1 <= axis <= made.axes:
        raise InvalidParameter(f"axis must be from 1 to {made.axes}, found {axis}")
    names = [str(name) for name in variables.names]
    lost = [name for name in on or () if name not in names]
    if lost:
        raise InvalidParameter(f"{lost[0]!r:.80} is no variable of this map")
    places = None if on is None else tuple(dict.fromkeys(names.index(name) for name in on))
    shown, listed = rows_to_show(made, LIMITS.sample), rows_to_show(made, Limits.points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sheet = eigenfunctions.describe(
                made.model,
                axes=(axis,),
                on=places,
                labels=made.names,
                rows=shown,
                grid=FUNCTION,
                colour=None if made.table is None else made.table.colour,
            )
        except InvalidInput as error:  # as of a row of zeros, which has no profile
            over = "the variables that follow it best" if on is None else listing(list(on))
            raise InvalidInput(
                f"Dim {axis} cannot be drawn over {over}: with the other variables at their "
                "medians, some values are outside the domain of this kernel"
            ) from error
    panel = sheet.panels[0]
    held = ["The other variables are at their medians."] if sheet.notes[:1] else []
    return {
        "panel": picture_value(panel, [clean(made.names[i]) for i in listed], listed),
        "axis": axis,
        "on": [clean(n) for n in (panel.x.title, panel.y.title) if n in names],
        "variables": [clean(name) for name in names],
        "notes": ["Coordinate on the axis of an individual with these values.", *held],
    }


def columns_of(data: Any, made: Analysis, state: State) -> list[dict[str, Any]]:
    """Return the columns of a table: what they hold, what became of them, and why."""
    if not isinstance(data, Table):
        return []
    fates = {fate.name: fate for fate in made.fates}
    for name in state.chosen("name")[:1]:
        others = (fate.name for fate in made.fates if fate.use == "name")
        fates |= {n: Fate(n, "ignored", f'"{name:.80}" names the rows') for n in others}
        fates[name] = Fate(name, "name", "it names the rows")
    colour = made.table.colour if isinstance(made.table, Table) else None
    chosen = state.chosen("colour") or ([] if colour is None else [colour.name])
    found = []
    for column in data.columns():
        name, fate = column.name, fates.get(column.name)
        use = "ignored" if fate is None else fate.use
        reason = "" if fate is None else _reason(fate)
        if name in chosen[:1] and use == "supplementary" and state.uses.get(name) != use:
            use = "colour"
        found.append({"name": name, "use": use, "why": reason, **holds(column)})
    return found


def _reason(fate: Fate) -> str:
    return in_words(fate.reason, () if fate.advice is None else (fate.advice,))


def page_of(
    source: Source,
    state: State,
    straight: Straight,
    tell: Progress | None = None,
    view: Any = None,
    curved: KernelPCA | None = None,
) -> bytes:
    """Return the report of a state, the page with its data frozen in and the view of the reader."""
    made = analysis_of(straight, state, tell, curved)
    if state.against is not None:
        made = _compared(straight, state, made, tell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for most in (LIMITS.points, LIMITS.sample, PAGE.fewest_points):
            value = describe(
                _spoken(made),
                table=straight.about,
                title=source.name.partition(".")[0],
                command=command_of(source, state),
                most_points=most,
                clusters=state.classes,
                tell=tell,
            )
            value = with_sections(
                _with_titles(value, made, state, straight), map_sections(made.model, value)
            )
            value |= {"view": view, "source": clean(source.name)}
            page = render_page(value, tell).encode()
            if len(page) <= PAGE.bytes:
                return page
    raise InvalidInput("the page would take too many bytes: leave out columns of long labels")


def _spoken(made: Analysis) -> Analysis:
    """Return an analysis whose words are those of the page."""
    is_only = isinstance(made.table, Sequences | Networks)

    def said(doubt: Doubt) -> str:
        text = in_words(doubt.text, () if doubt.advice is None else (doubt.advice,))
        return text.replace("the curved map", "the map") if is_only else text

    doubts = tuple(replace(d, text=said(d)) for d in made.doubts)
    fates = tuple(fate._replace(reason=_reason(fate)) for fate in made.fates)
    sentence = in_words(made.sentence, made.advice)
    return replace(made, sentence=sentence, doubts=doubts, fates=fates)
