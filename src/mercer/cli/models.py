"""Models as the arguments ask for them: which, what they will cost, and the fit itself."""

from __future__ import annotations

import warnings
from argparse import Namespace
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.cli.codes import NOT_CONVERGED, OK, RESOURCE
from mercer.cli.errors import in_flags
from mercer.cli.parser import Misused
from mercer.cli.running import finished
from mercer.cli.sources import Data, data_of, without
from mercer.cli.talk import Talk
from mercer.data.matrices import SquareMatrix
from mercer.data.table import Role, Table
from mercer.engines.cpu import Threads
from mercer.errors import FewerAxes
from mercer.estimator import PRECOMPUTED, as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.mds import ClassicalMDS, StressMDS
from mercer.mds.classical import FEW as FEW_AXES
from mercer.mds.distances import WHOLE
from mercer.mds.stress import FEW_POINTS, MANY_STARTS
from mercer.pca import PCA, KernelPCA
from mercer.planning import Plan, flops, plan
from mercer.progress import Line
from mercer.spectrum import STORED
from mercer.spectrum.budget import machine_bytes
from mercer.spectrum.dense import dense_bytes

AXES, MAP = 10, 2
"""Axes that are computed, and the dimension of a map, where nothing is asked for."""

PANEL = 2**20
"""Numbers of a table that a pass over it copies at one time."""

BASIS = 30
"""Blocks of vectors that the axes of a matrix of distances take as a rule."""

UNLIKE = 10.0
"""Beyond this ratio of standard deviations one column drowns another."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and the exit code it makes: a map may not have converged."""

    model: Any
    code: int = OK


def method_of(args: Namespace, data: Data) -> str:
    """Return the method asked for, or the one that fits the data."""
    is_square = isinstance(data.points, SquareMatrix)
    if args.distance is not None and data.table is None:
        raise Misused(f"--distance is of the rows of a table, and {data.name} holds {data}")
    if args.method is None and args.distance is not None:
        return "mds"
    if args.method is None:
        return "mds" if is_square and data.points.is_distance else "kpca"
    method: str = args.method
    if method == "pca" and data.table is None:
        raise Misused(f"--method pca needs a table, and {data.name} holds {data}")
    if method == "kpca" and is_square and data.points.is_distance:
        raise Misused(f"{data.name} holds distances: give --method mds or stress")
    return method


def asked(args: Namespace, data: Data) -> Any:
    """Return the model that the arguments describe, not yet fitted."""
    method = method_of(args, data)
    _refuse_unused(args, method)
    if method == "pca":
        rank = _rank(args, min(AXES, len(data) - 1 or 1, data.variables))
        return PCA(rank, standardize=bool(args.scale))
    if method == "kpca":
        return _kernel_pca(args, data)
    is_square = isinstance(data.points, SquareMatrix)
    if not is_square and data.table is None:
        raise Misused(f"--method {method} needs distances or a table; {data.name} holds {data}")
    metric, rank = ("precomputed" if is_square else args.distance or "euclidean"), _rank(args, MAP)
    if method == "mds":
        tol = {} if args.tol is None else {"tol": args.tol}
        how = "exact" if args.exact else "auto"
        return ClassicalMDS(
            rank,
            metric=metric,
            correction=args.correction,
            method=how,
            random_state=args.seed,
            **tol,
        )
    return StressMDS(rank, metric=metric, loss=args.loss or "stress", random_state=args.seed)


def begun(args: Namespace, talk: Talk) -> tuple[Data, Any]:
    """Return the data that the arguments name and the model they describe, and tell of both."""
    data = data_of(args, talk)
    model = asked(args, data)
    if not args.dry_run:
        talk.say(f"{args.data}: {data.told()}")
        _tell_units(args, data, model, talk)
    return data, model


def _tell_units(args: Namespace, data: Data, model: Any, talk: Talk) -> None:
    """Tell of columns so unlike in spread that one of them would be the whole result."""
    if args.scale is not None or data.table is None or not isinstance(model, PCA | KernelPCA):
        return
    if isinstance(model, KernelPCA) and not getattr(model.kernel, "reads_vectors", False):
        return
    spreads = dict(zip(data.table.active, np.std(data.table.matrix(), axis=0), strict=True))
    known = sorted((s, name) for name, s in spreads.items() if s > 0)
    if len(known) > 1 and known[-1][0] > UNLIKE * known[0][0]:
        (least, small), (most, large) = known[0], known[-1]
        talk.warn(
            f'{data.name}: standard deviations of columns run from {least:.3g} ("{small}") to '
            f'{most:.3g} ("{large}"), so that columns of large spread decide the result. --scale '
            "gives all columns the same weight, --no-scale keeps their units"
        )


def _rank(args: Namespace, otherwise: int) -> int:
    return otherwise if args.rank is None else int(args.rank)


def _refuse_unused(args: Namespace, method: str) -> None:
    """Refuse flags that this method would not heed."""
    heeded = {
        "kernel": ("kpca",),
        "scale": ("kpca", "pca"),
        "nystrom": ("kpca",),
        "exact": ("kpca", "mds"),
        "tol": ("kpca", "mds"),
        "correction": ("mds",),
        "distance": ("mds", "stress"),
        "loss": ("stress",),
        "weights": ("kpca", "pca", "mds"),
        "sup_rows": ("kpca", "pca", "mds"),
    }
    for flag, methods in heeded.items():
        value = getattr(args, flag)
        is_left_out = value is None or value is False or value == []
        if not is_left_out and method not in methods:
            raise Misused(
                f"--{flag.replace('_', '-')} has no meaning with --method {method}; it is for "
                f"{' and '.join(methods)}"
            )


def _kernel_pca(args: Namespace, data: Data) -> KernelPCA:
    if isinstance(data.points, SquareMatrix):
        if args.kernel:
            raise Misused(f"{data.name} is a matrix of similarities already: --kernel is for data")
        kernel: Kernel | str = PRECOMPUTED
    else:
        kernel = kernel_of(args, data)
        if args.scale and not kernel.reads_vectors:
            raise Misused(
                f"--scale divides columns of numbers, and {kernel} does not look at them as "
                "vectors: leave --scale out"
            )
    return KernelPCA(
        _rank(args, min(AXES, len(data) - 1 or 1)),
        kernel=kernel,
        method="exact" if args.exact else "auto" if args.nystrom is None else "nystrom",
        landmarks=args.nystrom,
        memory=args.memory,
        random_state=args.seed,
        **({} if args.tol is None else {"tol": args.tol}),
    )


def kernel_of(args: Namespace, data: Data) -> Kernel:
    """Return the kernel of the arguments, with the deviations of columns in it if so asked."""
    if args.kernel is None and data.table is None:
        raise Misused(
            f"{data.name} holds {data}: name a kernel for them, such as "
            '--kernel "string_spectrum(length=3)" or --kernel "intersection()"'
        )
    kernel = as_kernel(args.kernel) if args.kernel else Gaussian("median")
    if data.table is None or not kernel.reads_vectors:
        if (data.table is None) == (kernel.reads_vectors or kernel.reads_rows):
            raise Misused(f"--kernel: {kernel} cannot read what {data.name} holds: {data}")
        return kernel
    if not args.scale:
        return kernel
    x = data.table.matrix()
    weights = np.ones(len(x)) if data.weights is None else data.weights
    mean = np.average(x, axis=0, weights=weights)
    deviations = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weights))
    deviations = np.where(deviations > 0, deviations, 1.0)  # a constant column makes no distance
    return kernel.resolve(x / deviations).stretched(deviations)


def planned(model: Any, n: int, d: int) -> Plan:
    """Return what a fit will cost, for every kind of model."""
    if isinstance(model, KernelPCA):
        return plan(model, n, d)
    cores = Threads().count
    if isinstance(model, PCA):
        side = min(n, d)
        memory = max(8 * min(n * d, PANEL), 24 * side * side) + 16 * n
        work = 2.0 * n * d * side + 9.0 * side**3
        made = ("table", "the inner products of the shorter side are decomposed", memory, 2, work)
    elif isinstance(model, ClassicalMDS):
        made = _scaling(model, n, d)
    else:
        starts = model.n_starts or (MANY_STARTS if n <= FEW_POINTS else 1)
        steps = 100
        memory, work = int(8 * 6.6 * n * n), 30.0 * starts * steps * n * n
        why = f"about {steps} steps from each of {starts} starts"
        made = ("stress", why, memory, starts * steps, work)
    method, reason, memory, passes, work = made
    fits = memory <= machine_bytes()
    option = "" if fits else "use fewer individuals"
    return Plan(method, reason, memory, passes, work / (flops() * cores), fits, option)


def _scaling(model: ClassicalMDS, n: int, d: int) -> tuple[str, str, int, int, float]:
    """Return the cost of classical scaling: of points, of all distances, or of the leading axes."""
    if model.metric == "euclidean":
        why = "the whole table of points is decomposed"
        return "classical scaling", why, 8 * n * (3 * d + 10), 1, 4.0 * n * d * min(n, d)
    count = n if model.n_components is None else model.n_components
    is_whole = model.method == "dense" or (
        model.method == "auto" and (n <= WHOLE or FEW_AXES * count > n)
    )
    if is_whole:
        why = "the whole matrix of distances is decomposed"
        return "classical scaling", why, dense_bytes(n), 1, 9.0 * float(n) ** 3
    why = "few axes of many individuals: a matrix beside the distances is never made"
    vectors = BASIS * (count + 2)
    return "classical scaling", why, 16 * n * vectors, BASIS, 4.0 * float(n) ** 2 * vectors


def error_of(model: Any, method: str) -> str:
    """Return in words what error the result may have."""
    if isinstance(model, StressMDS):
        return "a local minimum of the loss, the best of all starts"
    if method == "nystrom":
        return "that of the approximation, within the interval of each eigenvalue"
    if method == "exact" or (isinstance(model, ClassicalMDS) and model.method == "exact"):
        return f"residuals up to {model.tol:g} of the largest eigenvalue, each with its bound"
    return "rounding, with a bound for each eigenvalue"


def tell_plan(talk: Talk, model: Any, data: Data, *, times: int = 1) -> int:
    """Answer with the plan of a fit, done so many times; nothing is computed."""
    cost = planned(model, len(data), data.variables)
    cost = replace(cost, seconds=times * cost.seconds)
    error = error_of(model, cost.method)
    value = {
        "plan": cost.method,
        "reason": cost.reason,
        "individuals": len(data),
        "variables": data.variables,
        "fits_computed": times,
        "memory_bytes": cost.memory,
        "passes": cost.passes,
        "seconds": cost.seconds,
        "error": error,
        "is_possible": cost.fits,
        "alternative": in_flags(cost.alternative, cost.advice),
    }
    times_text = f", {times} times" if times > 1 else ""
    talk.answer(value, f"{data}{times_text}\n{in_flags(cost, cost.advice)}\nerror: {error}")
    return OK if cost.fits else RESOURCE


def fitted(model: Any, data: Data, talk: Talk, *, is_rank_asked: bool = True) -> Fitted:
    """Fit a model to data; it keeps the table, by whose names new data are read."""
    progress = Line("fitting")
    named: dict[str, Any] = {"sample_weight": data.weights} if data.weights is not None else {}
    if isinstance(model, KernelPCA | ClassicalMDS | StressMDS):
        progress.what = "steps" if isinstance(model, StressMDS) else "tiles"
        named["progress"] = progress
    talk.detail(f"fitting {data}")
    with warnings.catch_warnings():
        if not is_rank_asked:
            warnings.simplefilter("ignore", FewerAxes)
        finished(lambda: model.fit(data.points, **named), talk, progress)
    keep_table(model, data)
    return Fitted(model, OK if getattr(model, "has_converged_", True) else NOT_CONVERGED)


def keep_table(model: Any, data: Data) -> None:
    """Let a model remember the names, roles and labels of its data, dates left out."""
    points = data.points
    if isinstance(points, Table):
        pairs = zip(points.names, points.roles, strict=True)
        model.table_ = without(points, [name for name, role in pairs if role is Role.DATE])
    elif isinstance(points, SquareMatrix):
        model.table_ = points


def all_axes(args: Namespace, data: Data, model: Any) -> Any:
    """Return the model with as many axes as a choice among them needs."""
    if isinstance(model, ClassicalMDS | StressMDS):
        raise Misused(
            "the rules for the number of axes read inertias, which maps of distances have not; "
            "give a table, or a matrix of similarities"
        )
    if args.rank is None:
        is_small = isinstance(model, PCA) or len(data) <= STORED
        model.n_components = None if is_small else AXES
    return model


def kernel_text(model: Any, args: Namespace) -> str | None:
    """Return the kernel of a model as it was written, or as it became at the fit."""
    if not isinstance(model, KernelPCA):
        return None
    if getattr(args, "scale", None):
        return f"{args.kernel or Gaussian('median')}, of scaled columns"
    is_given = isinstance(model.kernel, str)
    return str(model.kernel if is_given else getattr(model, "kernel_", model.kernel))
