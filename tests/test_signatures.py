"""One meaning per word: the names, defaults and order of what all public signatures share."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import mercer as mc
from mercer import gp, pictures
from mercer.engines.cpu import Threads
from mercer.estimator import Computing
from mercer.kernels.base import Kernel

NOTHING = inspect.Parameter.empty

DEFAULTS: dict[str, tuple[Any, ...]] = {
    "level": (0.05,),
    "confidence": (0.95,),
    "random_state": (None,),
    "progress": (None,),
    "threads": (None,),
    "memory": (None,),
    "engine": ("auto", None),
    "stop_after": (None,),
    "sample_weight": (None,),
}
"""The one default of each word, in every call."""

BY_NAME = ("level", "confidence", "random_state", "progress", "threads", "memory", "engine")
"""Words that are never given by their place."""

FORBIDDEN = {
    "jobs": "threads",
    "n_jobs": "threads",
    "rng": "random_state",
    "verbose": "progress",
    "callback": "progress",
    "alpha": "level or penalty",
    "n_permutations": "permutations",
    "ndim": "axes",
    "n_axes": "axes",
    "components": "axes",
}
"""Words of others for what has a name here."""

ORDER = ("random_state", "threads", "progress")
"""Of a function these come last, in this order."""

SELF = {"Posterior.band", "KernelRegression.confidence_band", "SmoothingSpline.confidence_band"}
"""Methods of which the confidence is the question itself, and may be given by its place."""

PLACED = {"Simulation.draw", "Simulation.table"}
"""Methods that draw data, whose generator may be given by its place."""

READERS = {"read": {"memory"}, "data.read": {"memory"}}
"""A reader refuses a file above its budget, which is never without a limit."""

SHORT = {
    "axis_slopes": "0.02 s at 20 000 individuals: one product",
    "centred_log_ratio": "0.01 s for 20 000 rows",
    "completely_monotone": "0.01 s: some thousand values of a function",
    "column_contributions": "read from a fitted model",
    "correct_similarities": "0.6 s at 1 000 points: one decomposition, which has no parts",
    "distance": "a matrix that is returned whole",
    "distances": "0.7 s for 1 000 rows of 30 columns, a matrix that is returned whole",
    "euclidean": "0.2 s at 1 000 points: one decomposition, which has no parts",
    "factor": "0.4 s at 1 000 points: one decomposition, which has no parts",
    "form": "one product",
    "gram_of": "a matrix that is given whole",
    "infer_networks": "takes progress among what it hands to infer_network",
    "kernel": "reads a text",
    "largest_euclidean_power": "0.2 s at 1 000 points",
    "leading": "its operator tells: Gram(kernel, x, progress=...)",
    "load": "reads one file",
    "mercer_decomposition": "0.3 s for 20 functions",
    "negative_definite": "0.2 s at 1 000 points: one decomposition, which has no parts",
    "open_points": "opens a file and reads none of it",
    "parameters": "reads a kernel",
    "plan": "predicts, and computes nothing",
    "principal_functions": "2.7 s at 2 000 points: two decompositions, which have no parts",
    "schoenberg": "a matrix that is given whole",
    "simulate_expression": "0.03 s for 100 genes",
    "squared_distances_of": "a matrix that is given whole",
    "tensor_product": "makes a kernel",
    "tensor_sum": "makes a kernel",
    "value": "makes a class",
    "with_parameters": "makes a kernel",
}
"""Functions without ``progress``, and why: measured, in seconds of one core."""

LONG = {
    "analyse",
    "axis_points",
    "check_kernel",
    "cluster",
    "consensus",
    "distance_to_set",
    "positive_definite",
    "preimage",
    "read",
    "rebuilt",
    "report",
    "GaussianProcess.posterior",
    "GaussianProcess.predict",
    "GaussianProcess.sample",
    "KernelPCA.inverse_transform",
    "KernelCCA.p_value",
    "PCA.fit",
    "PCA.fit_transform",
    "CA.fit",
    "MFA.fit",
}
"""Functions and methods that can last, beside permutations and fits of Gram matrices."""

SEEDS = {"Propagation", "datasets.disc_and_ring", "datasets.plants"}
"""Values that are the same every time: their seed is a whole number."""


def _public() -> Iterator[tuple[str, Any]]:
    """Yield every public function, constructor and method with its name."""
    modules = [
        *(("", module) for module in (mc, mc.kernels, mc.networks, mc.results)),
        *(("pictures.", pictures), ("datasets.", mc.datasets), ("gp.", gp), ("data.", mc.data)),
    ]
    seen: set[int] = set()
    for prefix, module in modules:
        for name in getattr(module, "__all__", [n for n in dir(module) if not n.startswith("_")]):
            found = getattr(module, name)
            if inspect.ismodule(found) or id(found) in seen:
                continue
            seen.add(id(found))
            if inspect.isclass(found):
                yield from _of_class(prefix + name, found)
            elif callable(found) and _is_ours(found):
                yield prefix + name, getattr(found, "describe", found)


def _of_class(name: str, found: type) -> Iterator[tuple[str, Any]]:
    if not _is_ours(found) or issubclass(found, BaseException):
        return
    if not is_dataclass(found):
        yield name, found.__init__
    if issubclass(found, Kernel):  # whose methods are a protocol with engines, not calls of users
        return
    for method, value in inspect.getmembers(found, callable):
        if not method.startswith("_") and _is_ours(value) and method not in ("get_params",):
            yield f"{name}.{method}", value


def _is_ours(found: Any) -> bool:
    return (getattr(found, "__module__", None) or "").startswith("mercer")


def _mistakes(name: str, function: Any) -> Iterator[str]:
    """Yield what a signature does not do as all others do."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    is_method = "." in name and name.split(".")[-2][:1].isupper()
    for p in parameters.values():
        allowed = DEFAULTS.get(p.name)
        is_required_weight = p.name == "sample_weight" and p.default is NOTHING
        if allowed is not None and p.name not in READERS.get(name, ()) and not is_required_weight:
            is_same = any(p.default is one or p.default == one for one in allowed)
            if not is_same:
                yield f"{name}: {p.name}={p.default!r}, not {allowed[0]!r}"
        is_placed = p.kind is not inspect.Parameter.KEYWORD_ONLY
        is_free = name in SELF | PLACED
        if p.name in BY_NAME and is_placed and not is_free:
            yield f"{name}: {p.name} can be given by its place"
        if p.name in FORBIDDEN:
            yield f"{name}: {p.name} is {FORBIDDEN[p.name]} here"
        if p.name == "seed" and name not in SEEDS and not is_method:
            yield f"{name}: seed is random_state here"
    if not name[0].isupper():  # of models scikit-learn's order is another
        last = [p for p in parameters if p in ORDER]
        if last != [p for p in ORDER if p in last]:
            yield f"{name}: {last} are not in the order {ORDER}"
    if "stop_after" in parameters and "permutations" not in parameters:
        yield f"{name}: stop_after without permutations"
    if "permutations" in parameters and not {"random_state", "progress"} <= set(parameters):
        yield f"{name}: permutations without random_state and progress"


EVERY = dict(_public())

NAMES: list[str] = getattr(mc, "__all__")  # noqa: B009  (made when it is asked for)


def test_the_walk_sees_functions_constructors_methods_and_pictures() -> None:
    assert len(EVERY) > 250
    for name in (
        "bootstrap",
        "hsic",
        "KernelPCA",
        "KernelPCA.fit",
        "GaussianProcess.sample",
        "KernelRegression.confidence_band",
        "ParallelAnalysis.table",
        "pictures.individuals",
        "gp.log_likelihood_interval",
        "read",
    ):
        assert name in EVERY, name


@pytest.mark.parametrize("name", sorted(EVERY))
def test_a_word_means_the_same_in_every_signature(name: str) -> None:
    assert list(_mistakes(name, EVERY[name])) == []


def test_long_calls_tell_how_far_they_are_and_others_are_known_to_be_short() -> None:
    for name in LONG:
        assert "progress" in inspect.signature(EVERY[name]).parameters, name
    for name in SHORT:
        assert "progress" not in inspect.signature(EVERY[name]).parameters, name


def _planted(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(f"def planted({text}): ...", names)
    return names["planted"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x, *, level=0.95", "level=0.95"),
        ("x, *, confidence=0.05", "confidence=0.05"),
        ("x, *, random_state=0", "random_state=0"),
        ("x, random_state=None", "by its place"),
        ("x, *, jobs=2", "jobs is threads"),
        ("x, *, seed=0", "seed is random_state"),
        ("x, *, progress=None, random_state=None", "not in the order"),
        ("x, *, stop_after=None, random_state=None, progress=None", "without permutations"),
        ("x, permutations=9, *, random_state=None", "without random_state and progress"),
        ("x, *, threads=1", "threads=1"),
        ("x, *, verbose=False", "verbose is progress"),
    ],
)
def test_a_planted_mistake_is_found(text: str, said: str) -> None:
    assert any(said in mistake for mistake in _mistakes("planted", _planted(text)))


def _models() -> dict[str, type]:
    found = {name: getattr(mc, name) for name in NAMES}
    return {n: m for n, m in found.items() if inspect.isclass(m) and hasattr(m, "fit")}


@pytest.mark.parametrize("name", sorted(_models()))
def test_models_share_their_settings(name: str) -> None:
    model = _models()[name]
    parameters = inspect.signature(model.__init__).parameters  # type: ignore[misc]
    if issubclass(model, Computing):
        assert {"engine", "threads", "memory"} <= set(parameters)
    if "n_components" in parameters:
        assert list(parameters)[1] == "n_components"  # after self, as in scikit-learn
    assert not {"progress", "count", "axes"} & set(parameters)
    fit = inspect.signature(model.fit).parameters  # type: ignore[attr-defined]
    if issubclass(model, Computing):
        assert "progress" in fit


@pytest.mark.parametrize("name", sorted(_models()))
def test_weights_of_rows_are_kept_by_the_models_that_take_them(name: str) -> None:
    """Also where none were given, and of those only that have some: nothing else has the name."""
    model = _models()[name]
    takes = "sample_weight" in inspect.signature(model.fit).parameters  # type: ignore[attr-defined]
    line = np.linspace(0.0, 1.0, 12)
    x, y = np.column_stack([line, line**2, np.cos(9.0 * line)]), np.sin(6.0 * line)
    if not takes:
        assert name in {
            "GaussianProcess",
            "KernelCCA",
            "NystromFeatures",
            "RandomFourierFeatures",
            "StressMDS",
        }
        return
    if name in ("CA", "MCA", "MFA", "FAMD"):  # whose tables are others; they share the property
        assert model.weights_ is mc.PCA.weights_  # type: ignore[attr-defined]
        return
    given = np.arange(1.0, 13.0)
    more = {"metric": "euclidean"} if name == "ClassicalMDS" else {}
    labels = np.repeat(["a", "b"], 6)
    target = {"SVC": (labels,), "SVR": (y,), "KernelRegression": (y,), "SmoothingSpline": (y,)}
    data = line if name == "SmoothingSpline" else x
    for weights, expected in ((None, np.full(12, 1 / 12)), (given, given / given.sum())):
        fitted = model(**more).fit(data, *target.get(name, ()), sample_weight=weights)
        np.testing.assert_allclose(fitted.weights_, expected, rtol=1e-12)


def test_results_name_their_settings_as_functions_do() -> None:
    for name in dir(mc.results):
        found = getattr(mc.results, name)
        if inspect.isclass(found) and is_dataclass(found) and not issubclass(found, Kernel):
            named = {f.name for f in fields(found)}
            assert not named & {"random_state", "rng", "jobs", "n_jobs"}, name


class Counting(Threads):
    """Threads that count how often they were asked for parts of work."""

    parts = 0

    def share(self, *given: Any, **named: Any) -> Any:
        self.parts += 1
        return super().share(*given, **named)

    def __deepcopy__(self, memo: Any) -> Counting:
        return self


COUNTS = np.random.default_rng(0).gamma(2.0, size=(400, 3))
BUDGETED: dict[str, tuple[Any, str]] = {
    "KernelPCA": (mc.KernelPCA(2, random_state=0), "300KB"),
    "ClassicalMDS": (mc.ClassicalMDS(2, metric="manhattan", random_state=0), "1MB"),
    "KernelRegression": (mc.KernelRegression(penalty=0.1), "1MB"),
    "GaussianProcess": (mc.GaussianProcess(noise_variance=0.1, optimise=False), "1MB"),
    "KernelCCA": (mc.KernelCCA(1), "1MB"),
    "SVC": (mc.SVC(), "1MB"),
    "SVR": (mc.SVR(), "1MB"),
    "OneClassSVM": (mc.OneClassSVM(), "1MB"),
    "NystromFeatures": (mc.NystromFeatures(50, random_state=0), "100KB"),
    "RandomFourierFeatures": (mc.RandomFourierFeatures(50, random_state=0), "100KB"),
    "landmarks": (mc.KernelRegression(penalty=0.1, landmarks=50), "100KB"),
}
"""Every model that computes matrices, and a budget that the one of 400 points exceeds."""


def _answer(model: Any) -> Any:
    """Return what a model says of its points."""
    target = COUNTS[:, :1] > 1.0 if isinstance(model, mc.SVC) else COUNTS[:, :1]
    model.fit(COUNTS, target if isinstance(model, mc.KernelCCA) else target.ravel())
    answer = next(w for w in ("transform", "decision_function", "predict") if hasattr(model, w))
    return np.abs(getattr(model, answer)(COUNTS))


def test_every_model_that_computes_has_a_budget_to_try() -> None:
    computing = {name for name, model in _models().items() if issubclass(model, Computing)}
    assert computing == set(BUDGETED) - {"landmarks"}


@pytest.mark.parametrize("name", BUDGETED)
def test_memory_is_a_budget_and_threads_and_engines_compute_the_same(name: str) -> None:
    """Features, and distances of points, took what they needed whatever ``memory`` said."""
    model, budget = BUDGETED[name]
    with pytest.raises(mc.errors.NotEnoughMemory, match="memory=|may be used"):
        _answer(clone(model).set_params(memory=budget))
    expected = _answer(clone(model).set_params(threads=1))
    worked = Counting(2)
    for settings in ({"threads": 2}, {"memory": "1GB"}, {"engine": worked}):
        found = _answer(clone(model).set_params(**settings))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert worked.parts > 0 or name in ("ClassicalMDS", "RandomFourierFeatures")
