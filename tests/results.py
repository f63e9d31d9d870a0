"""One example of every public result, for laws that hold for all of them."""

from __future__ import annotations

import dataclasses
import inspect
import typing
import warnings
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import mercer as mc
from mercer.analysis import Doubt
from mercer.analysis.evidence import Clustering, evidence_of
from mercer.check import Points
from mercer.data.ondisk import OnDisk
from mercer.data.table import Role
from mercer.engines.cluster_cost import Workers
from mercer.engines.tiles import Block, Rounding, Tiles
from mercer.kernels.contract import Check
from mercer.kernels.counts import Factors
from mercer.mds.classical import Goodness
from mercer.preimages.feature_targets import Sections
from mercer.reading import Tidy
from mercer.reading.links import Link
from mercer.reading.model import DataNames
from mercer.regression.criterion_path import penalty_path
from mercer.regression.spline_curve import Curve, Places
from mercer.regression.spline_filter import Swept
from mercer.regression.squared_loss import Decomposition
from mercer.rkhs.decompositions import Eigenfunction
from tests.fitted import FRAME, LABELS, MODELS, NUMBERS, SIMILARITIES, TABLE, N, fitted

SHORT = (
    mc.Graph,  # written as its formula, which is cut
    mc.networks.Inference,
    mc.Interval,
    mc.Normal,
    mc.kernels.FiniteGroup,
    mc.kernels.Kind,
    mc.data.Paired,
    mc.data.Rows,
    Check,
    Link,
    Goodness,
    Role,
    Points,
    OnDisk,
    Tidy,
    Eigenfunction,
)
"""Settings, inputs and single rows: they hold no arrays, or show themselves as tables do."""

INNER = (Rounding, Tiles, Block, Factors, Curve, Places, Swept, Decomposition, Sections, DataNames)
"""What only engines, and those who read models, handle."""


def _classes(kind: Any) -> Iterator[type]:
    if inspect.isclass(kind) and kind.__module__.startswith("mercer"):
        yield kind
    for part in typing.get_args(kind):
        yield from _classes(part)


def _hints(of: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(of)
    except NameError:  # a name that only a type checker sees
        return {}


def _asked_of(kind: type) -> Iterator[Any]:
    """Yield what the public methods, properties and fields of a class return."""
    for name, member in inspect.getmembers(kind):
        found = getattr(member, "fget", None) or (
            member.func if isinstance(member, cached_property) else member
        )
        if not name.startswith("_") and inspect.isfunction(found):
            yield _hints(found).get("return")
    if dataclasses.is_dataclass(kind):
        yield from (_hints(kind).get(f.name) for f in dataclasses.fields(kind))


@cache
def public_results() -> tuple[type, ...]:
    """Return the classes of what public functions return, and of what can be asked of that."""
    seen: list[type] = []
    todo: list[Any] = []
    names = [(place, name) for place in (mc, mc.networks, mc.results) for name in dir(place)]
    for module, name in names:
        value = getattr(module, name)
        todo.append(_hints(value).get("return") if inspect.isfunction(value) else value)
    while todo:
        for kind in _classes(todo.pop()):
            if kind not in seen and not issubclass(kind, (mc.Kernel, BaseException)):
                seen.append(kind)
                todo += _asked_of(kind)
    return tuple(k for k in seen if not issubclass(k, (BaseEstimator, *INNER, *SHORT)))


def _examples() -> dict[str, Any]:
    pca, curved = fitted("PCA of a data frame"), fitted("KernelPCA of a data frame")
    process = fitted("GaussianProcess with a mean")
    kernels = {"wide": mc.Gaussian(5.0), "narrow": mc.Gaussian(0.5), "<i>": mc.Linear()}
    passive = pca.supplementary(FRAME[:3], {"a": range(N)}, {"<b>side</b>": LABELS})
    simulated = mc.networks.simulate_expression(12, 2, random_state=0)
    expression = np.random.default_rng(0).standard_normal((10, 6))
    described = mc.describe_axes(pca, {"side": LABELS})
    refuted = mc.positive_definite([[1.0, 2.0], [2.0, 1.0]])
    gram = mc.Gram(mc.Gaussian(1.0), NUMBERS)
    spectrum = mc.leading(gram.centred(), 3, random_state=0)
    read = mc.read(TABLE)
    decomposition = mc.mercer_decomposition(mc.Gaussian(0.5), mc.Interval(0.0, 1.0), 5)
    both = mc.analyse(FRAME.assign(side=LABELS), random_state=0)
    evidence = evidence_of(both.model, curved, [read.column("colour")], random_state=0)
    assert evidence is not None
    return {
        "analysis": both,
        "doubt": Doubt("time", "the column <b>side</b> holds times", "side"),
        "evidence": evidence,
        "separation": evidence.separations[0],
        "clustering": Clustering(0.62, 3, 8),
        "alignment": mc.alignment("gaussian(2.0)", "linear()", NUMBERS, permutations=99),
        "axis_points": mc.axis_points(curved),
        "axis_slopes": mc.axis_slopes(curved),
        "bootstrap": mc.bootstrap(pca, replicates=30, random_state=0),
        "categories": passive.categories,
        "active categories": fitted("MCA").categories_,
        "clusters": mc.cluster(pca, 3),
        "groups": fitted("MFA").groups_,
        "links": fitted("FAMD").links_,
        "profiles": fitted("CA").columns_,
        "certificate": spectrum.certificate,
        "centred": gram.centred(),
        "check": mc.check_kernel(mc.Gaussian(1.0), NUMBERS),
        "choice": mc.choose_dimension(pca, "inertia"),
        "cluster cost": mc.plan(
            mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), 10**6, 9, workers=4
        ).cluster,
        "workers": Workers(4, cores=2),
        "column": read.column("colour"),
        "column_contributions": mc.column_contributions(fitted("KernelPCA of a table")),
        "comparison": mc.compare_kernels(kernels, NUMBERS, permutations=99),
        "consensus": mc.consensus(kernels, NUMBERS),
        "corrected similarities": mc.kernels.correct_similarities(SIMILARITIES - 5.0),
        "crossing": mc.results.Crossing((1, 2), (0.5, 1.0), 0.7, True),
        "description": described,
        "description of an axis": described.axes[0],
        "dispersion": mc.dispersion(pca, LABELS, permutations=9),
        "discrepancy": mc.mean_discrepancy(
            mc.Gaussian(1.0), NUMBERS[:8], NUMBERS[8:], random_state=0
        ),
        "drift": mc.PCA(1).partial_fit(NUMBERS).partial_fit(NUMBERS[:5]).drift_[0],
        "edges": mc.data.graphs.Edges(((0, 1), (1, 2)), 3),
        "fitted variables": mc.fit_variables(pca, {"<b>side</b>": LABELS}, permutations=9),
        "function": fitted("KernelRegression of numbers").function_,
        "gram": gram,
        "how": spectrum.how,
        "how of a decomposition": decomposition.how,
        "importance": mc.permutation_importance(pca, permutations=9, random_state=0),
        "imputation": mc.data.impute(np.where(NUMBERS > 6.0, np.nan, NUMBERS), 1, tables=3),
        "individuals": pca.individuals_,
        "jackknife": mc.jackknife(pca),
        "leave_one_out": process.leave_one_out(),
        "matrix": mc.datasets.eurodist(),
        "decomposition": decomposition,
        "network": mc.networks.infer_network(expression, draws=20, random_state=0),
        "outliers": pca.outliers(level=0.5),
        "parallel_analysis": mc.parallel_analysis(NUMBERS, 19, random_state=0),
        "parameter_path": mc.parameter_path(curved, FRAME, "kernel__bandwidth", [1.0, 2.0, 4.0]),
        "penalty_path": penalty_path(fitted("SmoothingSpline")),
        "permanova": mc.permanova(pca, {"<b>side</b>": LABELS}, permutations=9),
        "plan": mc.plan(curved, 1000, 3),
        "posterior": process.posterior(FRAME),
        "preimages": mc.preimage(curved, curved.individuals_.coordinates[:2]),
        "principal_functions": mc.principal_functions(mc.Gaussian(1.0), NUMBERS, 2),
        "procrustes": mc.procrustes(pca, curved, axes=1, permutations=9),
        "rebuilt": mc.rebuilt(curved, random_state=0),
        "refuted": refuted,
        "simulation": simulated,
        "spectrum": spectrum,
        "supplementary": passive,
        "table": read,
        "variables": pca.variables_,
        "verdict": mc.positive_definite(mc.Gaussian(1.0)),
        "witness": refuted.witness,
    }


@cache
def results() -> dict[str, Any]:
    """Return examples by name, those of a study and those that models keep among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _examples() | _study()
        models = {name: fitted(name) for name in MODELS}
    for name, model in models.items():
        for attribute, value in vars(model).items():
            one = value[0] if isinstance(value, list | tuple) and value else value
            is_ours = type(one).__module__.startswith("mercer")
            if is_ours and attribute.endswith("_") and not isinstance(one, (mc.Kernel, *SHORT)):
                found[f"{attribute} of {name}"] = one
    return found


def _study() -> dict[str, Any]:
    genes = mc.networks.simulate_expression(8, 2, effect=0.8, random_state=1)
    table = genes.table(6, np.random.default_rng(1))
    study = mc.replicate_study(
        table, "condition", draws=10, samples=20, permutations=39, random_state=0
    )
    return {
        "study": study,
        "curve": study.curve,
        "answer": study.answer,
        "map": study.map,
    }
