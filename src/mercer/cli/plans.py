"""What a command will cost, told where ``--dry-run`` asks for it and nothing is to be computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mercer.analysis.analysis import LANDMARKS
from mercer.analysis.evidence import SAMPLE
from mercer.analysis.proposal import AXES, STRAIGHT
from mercer.cli.errors import OK, RESOURCE, in_flags
from mercer.cli.fits import Asked
from mercer.cli.inputs import Data
from mercer.cli.output import Talk
from mercer.data.table import Role
from mercer.dimension.choose import DECIDED, PATIENCE, seconds_of_permutations
from mercer.engines.cpu import Threads
from mercer.kernels.radial import Gaussian
from mercer.mds import ClassicalMDS, StressMDS
from mercer.mds.stress import FEW_POINTS, MANY_STARTS
from mercer.pca import PCA, KernelPCA
from mercer.pictures.limits import LIMITS
from mercer.planning import Plan, flops, plan
from mercer.resampling import PERMUTATIONS_UNASKED
from mercer.settings import machine_bytes, readable
from mercer.spectrum import Limits
from mercer.spectrum.dense import dense_bytes
from mercer.spectrum.leading import chosen_method

PANEL = 2**20
"""Numbers of a table that a pass over it copies at one time."""

START, DRAWN = 0.7, 0.4
"""Seconds of CPU until libraries are loaded and a small file is read, and those of a small page.

Measured on one core of a server, as are those below: iris takes 0.7 to fit and 1.0 to report.
"""

READ_COLUMN, READ_CELL = 1.5e-4, 1e-6
"""Seconds for each column and each cell of a file that is read."""

COMPARED, OF_ROWS = 2e-4, 3e-5
"""Seconds for each individual that is compared on two maps, and each cell that is no vector's."""

SHOWN, LISTED = 2e-4, 3e-4
"""Seconds for each individual that a page draws, and each of its columns."""

BASIS = 30
"""Blocks of vectors that the axes of a matrix of distances take as a rule."""


def tell_cost(talk: Talk, value: dict[str, Any], head: str) -> int:
    """Answer with a plan: its bytes of memory, its seconds and its error where they are known.

    The code says whether this machine has the memory.
    """
    fits = value["memory_bytes"] <= machine_bytes()
    parts = [f"memory {readable(value['memory_bytes'])}"]
    if "seconds" in value:
        parts.append(f"about {value['seconds']:.2g} s")
    lines = [head, ", ".join(parts)]
    if "error" in value:
        lines.append(f"error: {value['error']}")
    talk.answer(value | {"is_possible": fits}, "\n".join(lines))
    return OK if fits else RESOURCE


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
    if chosen_method(n, count, model.method) == "dense":
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


def seconds_beside(found: Asked, *, is_exact: bool = False) -> float:
    """Return about how long the curved map beside a straight one takes, and the comparison."""
    proposal, n = found.proposal, len(found.data)
    if proposal is None or proposal.is_alone or proposal.analysis not in STRAIGHT:
        return 0.0
    is_large = n > Limits.stored and not is_exact
    curved = KernelPCA(
        min(AXES, n - 1 or 1),
        kernel=Gaussian(1.0),
        method="nystrom" if is_large else "auto",
        landmarks=LANDMARKS if is_large else None,
    )
    d = found.data.variables or 1
    by_rows = OF_ROWS * min(n, Limits.stored) * d if proposal.reads_rows else 0.0
    return plan(curved, n, d).seconds + COMPARED * min(n, SAMPLE) + by_rows


def features_of(found: Asked) -> int:
    """Return of how many columns the axes are made: one for each number and each category."""
    proposal = found.proposal
    if proposal is None or not proposal.reads_rows:
        return found.data.variables or 1
    columns = {column.name: column for column in proposal.points.columns()}
    factors = {name for name in proposal.active if columns[name].role is Role.FACTOR}
    return sum(len(columns[name].levels) if name in factors else 1 for name in proposal.active)


def seconds_of_page(found: Asked, permutations: int | None) -> float:
    """Return about how long a page takes beside its models: Horn's test, tables and pictures."""
    n, d = len(found.data), found.data.variables or 1
    horn = 0.0
    if found.analysis in ("pca", "mca", "famd", "kpca"):
        draws = PERMUTATIONS_UNASKED if permutations is None else min(permutations, DECIDED)
        horn = seconds_of_permutations(found.model, n, features_of(found), draws)
        horn = 0.0 if permutations is None and horn > PATIENCE else horn
    return DRAWN + horn + SHOWN * min(n, LIMITS.sample) + LISTED * d


def tell_plan(
    talk: Talk, model: Any, data: Data, *, times: int = 1, draws: int = 0, later: float = 0.0
) -> int:
    """Answer with the plan of a command that fits a model so many times; nothing is computed.

    ``later`` are the seconds of what comes after it, as many ``draws`` among it.
    """
    n, d = len(data), data.variables or 0
    cost = planned(model, n, d)
    read = START + d * (READ_COLUMN + n * READ_CELL)
    cost = replace(cost, seconds=read + times * cost.seconds + later)
    error = error_of(model, cost.method)
    value = {
        "plan": cost.method,
        "reason": cost.reason,
        "individuals": len(data),
        "variables": data.variables,
        "fits_computed": times,
        "memory_bytes": cost.memory,
        "disk_bytes": cost.disk,
        "passes": cost.passes,
        "seconds": cost.seconds,
        "error": error,
        "is_possible": cost.fits,
        "alternative": in_flags(cost.alternative, cost.advice),
    }
    times_text = f", {times} times" if times > 1 else ""
    times_text += f", then up to {draws} permutations" if draws else ""
    talk.answer(value, f"{data}{times_text}\n{in_flags(cost, cost.advice)}\nerror: {error}")
    return OK if cost.fits else RESOURCE
