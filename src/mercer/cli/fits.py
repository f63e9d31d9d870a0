"""Models as the arguments ask for them: which, what they will cost, and the fit itself."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mercer.analysis import Analysis, Doubt, Evidence, Proposal, propose
from mercer.analysis.analysis import complete_analysis
from mercer.analysis.choice import NAMES, standardise_kernel
from mercer.analysis.columns import Fate
from mercer.analysis.copies import classes_of_numbers
from mercer.analysis.doubts import curved_briefs
from mercer.analysis.guesses import counted_by
from mercer.analysis.proposal import AXES
from mercer.cli.errors import NOT_CONVERGED, OK, Misused, in_flags
from mercer.cli.inputs import USUAL, Data, data_of, missing_of, refuse_other_levels
from mercer.cli.output import Talk
from mercer.cli.progress import carry_out
from mercer.data.matrices import SquareMatrix
from mercer.data.table import Role, Table, quote_names
from mercer.dimension.choose import RISK, Rule, choose_dimension
from mercer.dimension.rules import Choice
from mercer.errors import FewerAxes, Misleading
from mercer.estimator import as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.radial import USUAL_KERNEL, Gaussian
from mercer.mds import ClassicalMDS, StressMDS
from mercer.pca import PCA, KernelPCA
from mercer.progress import Line
from mercer.spectrum import Limits

WEIGHED = ("kpca", "pca", "mca", "famd", "ca", "mds")
"""Methods whose individuals have weights, and supplementary ones beside them."""

CURVED = ("pca", "mca", "famd", "ca")
"""Straight methods, beside whose map a curved one is drawn."""

HEEDED: Mapping[str, tuple[str, ...]] = {
    "kernel": ("kpca",),
    "scale": ("kpca", "pca", "famd"),
    "nystrom": ("kpca",),
    "exact": ("kpca", "mds"),
    "curved": CURVED,
    "curved_exact": CURVED,
    "tol": ("kpca", "mds"),
    "correction": ("mds",),
    "distance": ("mds", "stress"),
    "loss": ("stress",),
    "weights": WEIGHED,
    "sup_rows": WEIGHED,
}
"""Flags that only some methods heed."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and the exit code it makes: a map may not have converged."""

    model: Any
    code: int = OK


@dataclass(frozen=True, eq=False)
class Asked:
    """Data, the model that is to be fitted to them, and why; strings and sets need no reason."""

    data: Any
    model: Any
    proposal: Proposal | None = None

    @property
    def is_scaled(self) -> bool:
        return self.proposal is not None and self.proposal.scaled

    @property
    def analysis(self) -> str:
        return "kpca" if self.proposal is None else self.proposal.analysis

    def tell(self, talk: Talk) -> None:
        """Tell what was read, what becomes of its columns, and why this model is taken."""
        data, proposal = self.data, self.proposal
        talk.say(f"{data.name}: {data.told()}")
        if proposal is None:
            return
        doubted = {n for d in proposal.doubts for n in _made_active(d)}  # which tell of them
        told: dict[str, list[str]] = {}
        for fate in proposal.fates:
            is_guessed = fate.use == "supplementary" and fate.advice is not None
            is_gone = fate.use in ("ignored", "name") and fate.name not in _known_roles(data)
            if (is_guessed or is_gone) and fate.name not in doubted:
                told.setdefault(f"{USES[fate.use]}: {reason_of(fate)}", []).append(fate.name)
        for what, names in told.items():
            verb = "is" if len(names) == 1 else "are"
            talk.say(f"{data.name}: {quote_names(names)} {verb} {what}")
        talk.say(in_flags(proposal.sentence, proposal.advice))


USES = {
    "ignored": "left out",
    "name": "taken for the names of rows",
    "supplementary": "set aside",
}


def reason_of(fate: Fate) -> str:
    """Return why a column is used as it is, in the words of the command line."""
    return in_flags(fate.reason, () if fate.advice is None else (fate.advice,))


def _made_active(doubt: Doubt) -> Sequence[str]:
    """Return the columns that a doubt offers to make active."""
    is_of_columns = doubt.advice is not None and doubt.advice.parameter == "active"
    return doubt.advice.value if doubt.advice is not None and is_of_columns else ()


def _known_roles(data: Data) -> set[str]:
    """Return the columns of which `Data.told` has told."""
    roles = (Role.IDENTIFIER, Role.DATE, Role.TEXT)
    table = data.table
    pairs = () if table is None else zip(table.names, table.roles, strict=True)
    return {name for name, role in pairs if role in roles}


def asked_analysis(args: Namespace, data: Data) -> Asked:
    """Return the analysis that the arguments describe, or the one that fits the data."""
    is_square = isinstance(data.points, SquareMatrix)
    if args.distance is not None and data.table is None:
        raise Misused(f"--distance is of the rows of a table, and {data.name} holds {data}")
    method = args.method or ("mds" if args.distance else None)
    if not is_square and data.table is None:
        if method not in (None, "kpca"):
            raise Misused(f"--method {method} needs a table, and {data.name} holds {data}")
        _refuse_unused(args, "kpca")
        kernel = kernel_of(args, data)
        rank = min(AXES, len(data) - 1 or 1) if args.rank is None else args.rank
        return Asked(data, KernelPCA(rank, kernel=kernel, **_options(args, "kpca")))
    if is_square and args.kernel:
        raise Misused(f"{data.name} is a matrix of pairs already: --kernel is for data")
    if is_square and data.points.is_distance and method not in (None, "mds", "stress"):
        raise Misused(f"{data.name} holds distances: give --method mds or stress")
    if args.kernel:
        kernel_of(args, data)  # which refuses what it cannot read
    elif method is None and not is_square and _is_of_kernels(args):
        method = "kpca"
    if method is not None:
        _refuse_unused(args, method)
    if data.table is not None:
        _refuse_labels(getattr(args, "active", ()), data.table)
    data = _counted_by_itself(args, data)
    is_map = method in ("mds", "stress")
    scale = None if is_map or is_square else args.scale
    proposal = propose(
        data.points,
        method=method,
        kernel=args.kernel,
        scale=scale,
        active=[*getattr(args, "active", ()), *getattr(args, "wanted", ())],
        weights=data.weights,
    )
    _refuse_unused(args, proposal.analysis)
    proposal = _with_weights(proposal, data.weighted_by)
    model = proposal.model(args.rank, **_options(args, proposal.analysis))
    passive = None if data.passive is None else proposal.placed(data.passive)
    if passive is not None and proposal.reads_rows:
        table = proposal.points
        known = {c.name: c for c in table.columns() if c.name in proposal.active}
        otherwise = "make the row active; or leave the column out with --drop"
        refuse_other_levels(passive, known, data.name, otherwise, data.passive_rows)
    used = proposal.active if proposal.reads_rows else None
    weights = proposal.weights if data.weights is None else data.weights
    data = replace(data, points=proposal.points, passive=passive, used=used, weights=weights)
    if proposal.analysis == "ca" or proposal.counted is not None:
        data = replace(data, one="row")
    return Asked(data, model, proposal)


def _counted_by_itself(args: Namespace, data: Data) -> Data:
    """Return data whose weights are left to the analysis, if it would weigh by this column anyway.

    It then knows that they say how often each row was seen, and counts individuals, not rows.
    """
    method = args.method or ("mds" if args.distance else None)
    is_free = method in (None, "mca") and args.kernel is None
    if data.weighted_by is None or data.table is None or not is_free:
        return data
    if counted_by(data.table, getattr(args, "active", ())) != data.weighted_by:
        return data
    args.weights = None
    return replace(data, weights=None, weighted_by=None)


def _with_weights(proposal: Proposal, column: str | None) -> Proposal:
    """Return a proposal that says which of its columns holds the weights of the rows."""
    why = "it holds the weights of the rows"
    fates = tuple(f._replace(reason=why) if f.name == column else f for f in proposal.fates)
    return replace(proposal, fates=fates)


def _refuse_labels(active: Iterable[str], table: Table) -> None:
    """Refuse to make variables of columns that hold no numbers by ``--active``.

    Classes of a number, which are set aside beside it, are made active by their names too.
    """
    cut = classes_of_numbers(table) if active else {}
    for name in active:
        role = table.column(name).role
        if role is not Role.NUMBER and name not in cut:
            raise Misused(
                f"--active is for columns of numbers, and {name!r} is a {role.value}; "
                "--method famd makes factors active"
            )


def _is_of_kernels(args: Namespace) -> bool:
    """Whether a flag has a meaning for a kernel PCA alone, and so asks for one."""
    flags = (args.nystrom, args.tol, getattr(args, "path", None))
    return args.exact or any(flag is not None for flag in flags)


def _options(args: Namespace, method: str) -> dict[str, Any]:
    """Return how a model is computed, in the words of its class."""
    tol = {} if args.tol is None else {"tol": args.tol}
    distance = {} if args.distance is None else {"metric": args.distance}
    if method == "kpca":
        how = "exact" if args.exact else "auto" if args.nystrom is None else "nystrom"
        more = {"method": how, "landmarks": args.nystrom, "memory": args.memory}
        return {**more, "random_state": args.seed, **tol}
    if method == "mds":
        how = "exact" if args.exact else "auto"
        more = {"correction": args.correction, "method": how, **distance}
        return {**more, "random_state": args.seed, **tol}
    if method == "stress":
        return {"loss": args.loss or "stress", "random_state": args.seed, **distance}
    return {}


def begin_fit(args: Namespace, talk: Talk) -> Asked:
    """Return the data that the arguments name and the model they describe, and tell of both."""
    args.reads_rows = True  # factors alone are a table too
    data = data_of(args, talk)
    found = carry_out(lambda: asked_analysis(args, data), talk, Line("choosing"))
    args.counted = None if found.proposal is None else found.proposal.counted  # for studies
    if not args.dry_run:
        found.tell(talk)
    return found


def _refuse_unused(args: Namespace, method: str) -> None:
    """Refuse flags that this method would not heed."""
    for flag, methods in HEEDED.items():
        value = getattr(args, flag, None)
        is_left_out = value is None or value is False or value == []
        if not is_left_out and method not in methods:
            raise Misused(
                f"--{flag.replace('_', '-')} has no meaning with --method {method}; it is for "
                f"{' and '.join(methods)}"
            )


def analyse_data(found: Asked, args: Namespace, talk: Talk) -> Analysis | None:
    """Return the whole analysis of a fitted model, and tell what misleads; None without a table."""
    if found.proposal is None:
        return None
    proposal, data = found.proposal, found.data
    asked_for = getattr(args, "curved", None)
    kernel = None if asked_for is None else as_kernel(asked_for)
    whole = carry_out(
        lambda: complete_analysis(
            proposal,
            found.model,
            weights=data.weights,
            random_state=args.seed,
            kernel=kernel,
            is_exact=getattr(args, "curved_exact", False),
        ),
        talk,
        Line("comparing"),
    )
    there = [d for d in whole.doubts if d.map == "curved" and whole.curved is not None]
    for doubt in whole.doubts:
        text = in_flags(doubt.text, () if doubt.advice is None else (doubt.advice,))
        of_file = doubt.kind == "missing" and missing_of(args) == USUAL
        is_told = of_file or doubt.kind in ("words", "samples")  # as the file was read
        if is_told:
            continue
        if doubt in there:
            talk.detail(f"doubt: {text}")
        elif doubt.is_misleading:
            talk.warn(text)
        else:
            talk.say(f"doubt: {text}")
    if there:
        talk.say(f"doubt: {curved_briefs(there)}")
    return whole


def analysis_value(found: Asked, whole: Analysis | None) -> dict[str, Any]:
    """Return the choice of an analysis as programs read it."""
    if found.proposal is None:  # strings and sets: one kernel, and columns only beside them
        about = getattr(found.data.points, "about", None)
        nothing: dict[str, Any] = {"active": [], "ignored": [], "columns": [], "doubts": []}
        beside = [] if about is None else list(about.names)
        named = {"analysis": found.analysis, "weights": None, "scaled": False, "named_by": None}
        return {**named, **nothing, "supplementary": beside}
    proposal = found.proposal
    value: dict[str, Any] = {
        "analysis": proposal.analysis,
        "weights": found.data.weighted_by or proposal.weighted_by,
        "scaled": proposal.scaled,
        "sentence": in_flags(proposal.sentence, proposal.advice),
        "active": list(proposal.active),
        "supplementary": proposal.used_as("supplementary"),
        "ignored": proposal.used_as("ignored"),
        "named_by": proposal.named_by,
        "columns": [
            {"name": fate.name, "use": fate.use, "reason": reason_of(fate)}
            for fate in proposal.fates
        ],
    }
    if whole is None:
        return value
    value["doubts"] = [_doubt_value(doubt) for doubt in whole.doubts]
    value["parted"] = whole.parted or None
    value["evidence"] = None if whole.evidence is None else _evidence_value(whole.evidence)
    return value


def heading(value: Mapping[str, Any]) -> str:
    """Return what was computed of what, from the object of an answer.

    >>> found = {"analysis": "pca", "scaled": True, "kernel": None, "weights": "w"}
    >>> heading(found)
    'Principal component analysis of standardised columns, rows weighted by "w"'
    """
    name, text = NAMES[value["analysis"]], value["kernel"] or ""
    kernel = f" with {text if len(text) <= 72 else f'{text[:69]}...'}" if text else ""
    scaled = " of standardised columns" if value["scaled"] and not kernel else ""
    weighted = f", rows weighted by {quote_names([value['weights']])}" if value["weights"] else ""
    return f"{name[0].upper()}{name[1:]}{kernel}{scaled}{weighted}"


def _doubt_value(doubt: Doubt) -> dict[str, Any]:
    advice = () if doubt.advice is None else (doubt.advice,)
    return {
        "kind": doubt.kind,
        "text": in_flags(doubt.text, advice),
        "where": doubt.where,
        "map": doubt.map or None,
        "advice": in_flags(doubt.advice, advice) if doubt.advice is not None else None,
    }


def _evidence_value(evidence: Evidence) -> dict[str, Any]:
    return {
        "verdict": evidence.verdict,
        "adds": evidence.adds,
        "alignment": evidence.alignment,
        "p_value": evidence.p_value,
        "individuals": evidence.individuals,
        "separations": [asdict(separation) for separation in evidence.separations],
        "clusters": None if evidence.clusters is None else [*map(asdict, evidence.clusters)],
    }


def kernel_of(args: Namespace, data: Data) -> Kernel:
    """Return the kernel of the arguments, with the deviations of columns in it if so asked."""
    if args.kernel is None and data.table is None:
        raise Misused(
            f"{data.name} holds {data}: name a kernel for them, such as "
            '--kernel "string_spectrum(length=3)" or --kernel "intersection()"'
        )
    kernel = as_kernel(args.kernel) if args.kernel else USUAL_KERNEL
    if data.table is None or not kernel.reads_vectors:
        if (data.table is None) == (kernel.reads_vectors or kernel.reads_rows):
            raise Misused(f"--kernel: {kernel} cannot read what {data.name} holds: {data}")
        return kernel
    return standardise_kernel(kernel, data.table.matrix(), data.weights, scaled=bool(args.scale))


def fit_model(
    model: Any,
    data: Data,
    talk: Talk,
    *,
    is_rank_asked: bool = True,
    is_analysed: bool = False,
    checkpoint: str | None = None,
) -> Fitted:
    """Fit a model to data; it keeps the table, by whose names new data are read.

    What misleads is told here unless `analyse_data` follows, whose doubts say it.
    """
    progress = Line("fitting")
    named: dict[str, Any] = {"sample_weight": data.weights} if data.weights is not None else {}
    if isinstance(model, KernelPCA | ClassicalMDS | StressMDS):
        progress.what = "steps" if isinstance(model, StressMDS) else "tiles"
        named["progress"] = progress
    if checkpoint is not None:
        if not isinstance(model, KernelPCA):
            raise Misused("--checkpoint is for an iteration, such as --method kpca --exact")
        named["checkpoint"] = checkpoint
        if Path(checkpoint).exists():
            talk.say(f"the fit goes on from {checkpoint}")
    talk.detail(f"fitting {data}")
    with warnings.catch_warnings():
        if is_analysed:
            warnings.simplefilter("ignore", Misleading)
        if not is_rank_asked:
            warnings.simplefilter("ignore", FewerAxes)
        carry_out(lambda: model.fit(data.points, **named), talk, progress)
    keep_table(model, data)
    return Fitted(model, OK if getattr(model, "has_converged_", True) else NOT_CONVERGED)


def keep_table(model: Any, data: Data) -> None:
    """Let a model remember the names, roles and labels of its data, dates left out."""
    points = data.points
    if isinstance(points, Table):
        pairs = zip(points.names, points.roles, strict=True)
        model.table_ = points.without(name for name, role in pairs if role is Role.DATE)
    elif isinstance(points, SquareMatrix):
        model.table_ = points


def with_all_axes(args: Namespace, found: Asked) -> Any:
    """Return the model with as many axes as a choice among them needs."""
    model, data = found.model, found.data
    if isinstance(model, ClassicalMDS | StressMDS):
        raise Misused(
            "the rules for the number of axes read inertias, which maps of distances do not have; "
            "give a table, or a matrix of similarities"
        )
    if args.rank is None:
        is_small = isinstance(model, PCA) or len(data) <= Limits.stored
        model.n_components = None if is_small else AXES
    return model


def kernel_text(found: Asked, args: Namespace) -> str | None:
    """Return the kernel of a model as it was written, or as it became at the fit."""
    model = found.model
    if not isinstance(model, KernelPCA):
        return None
    if found.is_scaled:
        return f"{args.kernel or Gaussian('median')}, of scaled columns"
    is_given = isinstance(model.kernel, str)
    return str(model.kernel if is_given else getattr(model, "kernel_", model.kernel))


def choices_of(model: Any, args: Namespace, talk: Talk, permutations: int) -> dict[str, Choice]:
    """Return the choice of every rule; without permutations Horn's is left out."""
    progress = Line("permutations")
    more = {name: getattr(args, name) for name in ("level", "share") if hasattr(args, name)}
    if permutations == 0:
        quick: tuple[Rule, ...] = ("inertia", "kaiser", "scree")
        return {rule: choose_dimension(model, rule, **more) for rule in quick}
    return carry_out(
        lambda: choose_dimension(
            model,
            "all",
            permutations=permutations,
            risk=RISK,
            counted=getattr(args, "counted", None),
            random_state=args.seed,
            progress=progress,
            **more,
        ),
        talk,
        progress,
    )
