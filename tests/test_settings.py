"""A level, a confidence and a random state mean the same in every call."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import (
    cluster,
    cross_decomposition,
    decomposition,
    gaussian_process,
    kernel_approximation,
    kernel_ridge,
    manifold,
    svm,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as theirs
from sklearn.metrics import pairwise

import mercer as mc
from mercer import pictures, settings
from mercer import sklearn as doors
from mercer.determinant import log_determinant
from mercer.fourier import random_fourier
from mercer.kernels.base import all_kernels
from mercer.lowrank import nystrom, pivoted_cholesky
from mercer.settings import EQUIVALENTS, FIXED, REPLACED, confidence_of, level_of, seed_of
from mercer.solve import Saddle, solve

X = np.random.default_rng(0).standard_normal((30, 3)) * [3.0, 2.0, 1.0]
GRAM = mc.Gram(mc.Gaussian(1.0), X)


@pytest.mark.parametrize("level", [0.95, 95, 0.51, 1.0])
def test_a_level_that_is_a_confidence_is_refused(level: float) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="significance level"):
        level_of(level)


@pytest.mark.parametrize(("given", "meant"), [(0.95, "0.05"), (95, "0.05"), (5, "0.05")])
def test_the_level_that_was_meant_is_named(given: float, meant: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=f"did you mean level={meant}"):
        mc.parallel_analysis(X, 19, level=given, random_state=0)
    with pytest.raises(mc.errors.InvalidParameter, match=f"did you mean level={meant}"):
        mc.describe_axes(mc.PCA(2).fit(X), {"u": X[:, 0]}, level=given)


@pytest.mark.parametrize(("given", "meant"), [(0.05, "0.95"), (95, "0.95"), (0.1, "0.9")])
def test_the_confidence_that_was_meant_is_named(given: float, meant: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=f"did you mean confidence={meant}"):
        confidence_of(given)


def _bands() -> list[Any]:
    line = np.linspace(0.0, 1.0, 12)
    y = np.sin(6.0 * line)
    process = mc.GaussianProcess(
        mc.Gaussian(0.3), noise_variance=0.1, optimise=False, random_state=0
    )
    return [
        lambda **more: mc.bootstrap(mc.PCA(2), X, 20, **more),
        lambda **more: mc.networks.infer_network(X, **more),
        lambda **more: mc.networks.infer_networks(X, ["a", "b"] * 15, **more),
        lambda **more: mc.replicate_study(X, ["a", "b"] * 15, **more),
        lambda **more: mc.SmoothingSpline(1.0).fit(line, y).confidence_band(line, **more),
        lambda **more: mc.KernelRegression(penalty=0.1).fit(X, X[:, 0]).confidence_band(X, **more),
        lambda **more: process.fit(line[:, None], y).posterior(line[:, None]).band(**more),
        lambda **more: pictures.individuals.describe(mc.PCA(2).fit(X), **more),
        lambda **more: pictures.bootstrap.describe(X[:, :2], X[None, :, :2], **more),
    ]


@pytest.mark.parametrize("call", _bands())
def test_the_rate_of_an_interval_is_no_level(call: Any) -> None:
    """A keyword that meant 0.95 here once is refused, and the message names the other one."""
    with pytest.raises(mc.errors.InvalidParameter, match="that of an interval is confidence"):
        call(level=0.95)


def test_the_result_of_a_bootstrap_has_its_confidence() -> None:
    found = mc.bootstrap(mc.PCA(2), X, 20, confidence=0.9, random_state=0)
    assert found.confidence == 0.9
    wide = mc.bootstrap(mc.PCA(2), X, 20, confidence=0.99, random_state=0)
    assert np.all(np.diff(wide.intervals) > np.diff(found.intervals))


def test_a_seed_is_a_whole_number_that_repeats_what_is_drawn() -> None:
    assert seed_of(11) == seed_of(np.int64(11)) == 11
    assert len({seed_of(None) for _ in range(10)}) == 10
    assert all(0 <= seed_of(None) < 2**32 for _ in range(10))


@pytest.mark.parametrize(
    "made", [np.random.default_rng, np.random.RandomState, np.random.PCG64, np.random.MT19937]
)
def test_a_generator_gives_one_seed_after_another(made: Any) -> None:
    first, second = made(3), made(3)
    seeds = [seed_of(first) for _ in range(3)]
    assert seeds == [seed_of(second) for _ in range(3)]
    assert len(set(seeds)) == 3


def test_a_sequence_of_seeds_has_one() -> None:
    sequence = np.random.SeedSequence(5)
    assert seed_of(sequence) == seed_of(np.random.SeedSequence(5)) == seed_of(sequence)


@pytest.mark.parametrize("wrong", ["zero", 1.5, -1, [1, 2]])
def test_what_is_no_random_state_is_refused(wrong: Any) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=r"random_state.*None, which draws afresh"):
        seed_of(wrong)


def _chances() -> dict[str, Any]:
    """Return every call that draws something, as a function of its random state."""
    line = np.linspace(0.0, 1.0, 20)[:, None]
    y = np.sin(6.0 * line[:, 0])
    pairs = X[:, :1], X[:, 1:]
    sets = ["a", "b"] * 15
    model = mc.PCA(2).fit(X)
    # The gaps that PCA has on 30 rows are known; kernel models of more points are iterated.
    many = np.random.default_rng(1).standard_normal((400, 3))
    return {
        "bootstrap": lambda r: mc.bootstrap(mc.PCA(2), X, 20, random_state=r).means,
        "parallel_analysis": lambda r: mc.parallel_analysis(X, 19, random_state=r).null,
        "choose_dimension": lambda r: mc.choose_dimension(
            model, "horn", permutations=19, random_state=r
        ),
        "hsic": lambda r: mc.hsic("linear()", "linear()", *pairs, permutations=9, random_state=r),
        "rv": lambda r: mc.rv(*pairs, permutations=9, random_state=r),
        "alignment": lambda r: mc.alignment(
            "linear()", "linear()", *pairs, permutations=9, random_state=r
        ),
        "compare_kernels": lambda r: mc.compare_kernels(
            ["linear()", "gaussian(bandwidth=1.0)"], X, permutations=9, random_state=r
        ).pairs[0],
        "mean_discrepancy": lambda r: mc.mean_discrepancy(
            mc.Linear(), X[:9], X[9:], permutations=9, random_state=r
        ),
        "permutation_importance": lambda r: mc.permutation_importance(
            model, permutations=3, random_state=r
        ),
        "describe_axes": lambda r: mc.describe_axes(
            model, {"u": X[:, 0] + X[:, 2]}, permutations=9, random_state=r
        ),
        "infer_network": lambda r: mc.networks.infer_network(
            X, "partial", draws=10, random_state=r
        ),
        "replicate_study": lambda r: mc.replicate_study(
            X, sets, sizes=[2], draws=2, samples=20, random_state=r
        ),
        "simulate_expression": lambda r: mc.networks.simulate_expression(8, 2, random_state=r),
        "rebuilt": lambda r: mc.rebuilt(model, axes=1, most=5, random_state=r),
        "positive_definite": lambda r: mc.positive_definite(
            mc.Gaussian(), np.linspace(0.0, 90.0, 1100), subsets=1, random_state=r
        ),
        "check_kernel": lambda r: mc.check_kernel(mc.Linear(), many, random_state=r),
        "leading": lambda r: (
            mc.leading(
                mc.Gram(mc.Gaussian(1.0), many).centred(), 2, method="exact", random_state=r
            ).how
        ),
        "KernelPCA": lambda r: mc.KernelPCA(
            2, kernel=mc.Gaussian(9.0), method="nystrom", landmarks=20, random_state=r
        ).fit(X),
        "ClassicalMDS": lambda r: mc.ClassicalMDS(
            2, metric="euclidean", method="exact", random_state=r
        ).fit(X),
        "StressMDS": lambda r: mc.StressMDS(2, metric="euclidean", n_starts=2, random_state=r).fit(
            X
        ),
        "NystromFeatures": lambda r: mc.NystromFeatures(5, random_state=r).fit(X),
        "RandomFourierFeatures": lambda r: mc.RandomFourierFeatures(5, random_state=r).fit(X),
        "GaussianProcess": lambda r: mc.GaussianProcess(
            1.0 * mc.Gaussian(0.3), optimise=False, random_state=r
        ).fit(line, y),
    }


def _seed(found: Any) -> int | None:
    names = ("seed_", "seed", "random_state") if not hasattr(found, "fit") else ("seed_",)
    return next((getattr(found, name) for name in names if hasattr(found, name)), None)


@pytest.mark.parametrize("name", sorted(set(_chances()) - {"bootstrap", "parallel_analysis"}))
def test_the_seed_that_was_used_is_known_also_where_none_was_given(name: str) -> None:
    call = _chances()[name]
    assert _seed(call(5)) == 5
    assert _seed(call(np.random.default_rng(5))) == seed_of(np.random.default_rng(5))
    assert _seed(call(np.random.RandomState(5))) == seed_of(np.random.RandomState(5))
    first, second = _seed(call(None)), _seed(call(None))
    assert isinstance(first, int)
    assert first != second  # fresh each time, but for one time in 2³²


@pytest.mark.parametrize("name", ["bootstrap", "parallel_analysis"])
def test_the_seed_repeats_what_was_drawn(name: str) -> None:
    call = _chances()[name]
    once, again = call(np.random.default_rng(3)), call(seed_of(np.random.default_rng(3)))
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(call(None), call(None))


@pytest.mark.parametrize(
    "call",
    [
        lambda **more: nystrom(GRAM, 5, **more).factor,
        lambda **more: pivoted_cholesky(GRAM, 5, **more).factor,
        lambda **more: random_fourier(GRAM, 5, **more).factor,
        lambda **more: (
            log_determinant(GRAM, 0.1, method="lanczos", probes=2, steps=2, **more).value
        ),
    ],
)
def test_chance_below_models_has_one_default_too(call: Any) -> None:
    """Fresh draws, unless a seed or a generator is given."""
    assert not np.array_equal(call(), call())
    np.testing.assert_array_equal(call(random_state=3), call(random_state=3))
    rng = np.random.default_rng(3)
    assert not np.array_equal(call(random_state=rng), call(random_state=rng))
    with pytest.raises(mc.errors.InvalidParameter, match="random_state"):
        call(random_state="seven")


def test_what_is_solved_by_random_preconditioners_does_not_vary() -> None:
    """A model without random_state answers the same to the last bit."""
    assert inspect.signature(solve).parameters["random_state"].default is None
    assert Saddle(GRAM, np.zeros((30, 0)), method="low-rank").seed == FIXED


MODELS = [
    mc.PCA,
    mc.KernelPCA,
    mc.ClassicalMDS,
    mc.StressMDS,
    mc.KernelRegression,
    mc.SmoothingSpline,
    mc.GaussianProcess,
    mc.SVC,
]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Gausian", "did you mean Gaussian?"),
        ("gaussian", "did you mean Gaussian?"),
        ("KernelPca", "did you mean KernelPCA?"),
        ("RBF", "Gaussian(bandwidth), with bandwidth = length_scale, or gamma = 1/(2·bandwidth²)"),
        ("KernelRidge", "KernelRegression(kernel, penalty), with alpha = n·penalty"),
        ("KernelRigde", "did you mean KernelRidge? KernelRidge is KernelRegression"),
    ],
)
def test_an_unknown_attribute_is_told_what_was_meant(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)) as caught:
        getattr(mc, name)
    assert str(caught.value).startswith(f"module 'mercer' has no attribute {name!r}; ")
    assert not hasattr(mc, name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("eigenvals_", "; did you mean eigenvalues_?"),
        ("individual_", "; did you mean individuals_?"),
        ("lambdas_", "; lambdas_ is eigenvalues_"),
        ("scores_", "; scores_ is individuals_.coordinates"),
        ("zzyzx", ""),
    ],
)
def test_an_unknown_attribute_of_a_model_is_told_what_was_meant(name: str, hint: str) -> None:
    model = mc.KernelPCA(2).fit(X)
    with pytest.raises(AttributeError) as caught:
        getattr(model, name)
    assert str(caught.value) == f"'KernelPCA' object has no attribute {name!r}{hint}"
    assert not hasattr(model, name)
    assert caught.value.obj is None  # else Python's own hint stood behind it in a traceback


def test_a_value_that_does_not_exist_here_says_why_and_not_what_else_there_is() -> None:
    model = mc.KernelPCA(2, kernel="precomputed").fit(X @ X.T)
    with pytest.raises(mc.errors.NotAvailable, match="not rows of variables"):
        model.variables_  # noqa: B018  (it is asked for)
    with pytest.raises(NotFittedError):
        mc.KernelPCA(2).individuals_  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean coordinates"):
        mc.PCA(2).fit(X).individuals_.coords  # type: ignore[attr-defined]  # noqa: B018
    again = pickle.loads(pickle.dumps(model))  # which asks for names before there are any
    assert again.n_components_ == copy.deepcopy(model).n_components_ == 2


def test_what_is_like_nothing_gets_no_hint() -> None:
    with pytest.raises(AttributeError, match="^module 'mercer' has no attribute 'Zzyzx'$"):
        getattr(mc, "Zzyzx")  # noqa: B009  (a name that no type checker would let pass)
    with pytest.raises(AttributeError, match="^module 'mercer' has no attribute '__wrapped__'$"):
        getattr(mc, "__wrapped__")  # noqa: B009  (asked for by inspect, never misspelt)


def test_names_with_an_equivalent_are_scikit_learns_and_not_ours() -> None:
    modules = (
        cluster,
        cross_decomposition,
        decomposition,
        gaussian_process,
        kernel_approximation,
        kernel_ridge,
        manifold,
        svm,
        theirs,
        pairwise,
    )
    for name, equivalent in EQUIVALENTS.items():
        assert not hasattr(mc, name)
        for word in re.findall(r"\b[A-Z]\w+", equivalent):
            assert hasattr(mc.kernels, word) or hasattr(mc, word), name
        assert any(hasattr(module, name) for module in modules), name
    for name in REPLACED:
        assert name in EQUIVALENTS
        assert hasattr(doors, name)
        with pytest.raises(AttributeError, match=f"mercer.sklearn.{name} takes"):
            getattr(mc, name)


KEYWORDS: list[tuple[Any, str, str]] = [
    (mc.Gaussian, "gamma", "gamma is 1/(2·bandwidth²)"),
    (mc.Gaussian, "length_scale", "length_scale is bandwidth"),
    (mc.Gaussian, "bandwith", "did you mean bandwidth?"),
    (mc.Laplacian, "gamma", "gamma is 1/bandwidth, for norm=1"),
    (mc.Polynomial, "coef0", "coef0 is offset"),
    (mc.kernels.RationalQuadratic, "alpha", "alpha is shape"),
    (mc.kernels.Periodic, "periodicity", "periodicity is period"),
    (mc.KernelRegression, "alpha", "alpha is n·penalty for n points"),
    (mc.KernelPCA, "n_component", "did you mean n_components?"),
    (mc.KernelPCA, "gamma", "kernel='rbf(gamma=…)'"),
    (mc.GaussianProcess, "alpha", "alpha is noise_variance"),
    (mc.StressMDS, "n_init", "n_init is n_starts"),
    (mc.SVC, "degre", "did you mean degree? degree is a parameter of the kernel"),
]


@pytest.mark.parametrize(("made", "keyword", "hint"), KEYWORDS)
def test_an_unknown_keyword_is_told_what_was_meant(made: Any, keyword: str, hint: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=re.escape(hint)) as caught:
        made(**{keyword: 1.0})
    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith(f"{made.__name__} has no parameter {keyword!r}, only ")


def test_the_same_is_told_of_the_written_form() -> None:
    with pytest.raises(mc.errors.WrittenFormError, match=re.escape("(gamma is 1/(2·bandwidth²))")):
        mc.kernel("gaussian(gamma=2)")
    with pytest.raises(mc.errors.WrittenFormError, match=re.escape("(did you mean bandwidth?)")):
        mc.kernel("gaussian(bandwith=2)")


@pytest.mark.parametrize("made", [*MODELS, *all_kernels().values()], ids=lambda c: c.__name__)
def test_equivalents_are_no_parameters_of_the_class(made: Any) -> None:
    takes = set(inspect.signature(made).parameters)
    assert not takes & set(made.equivalents)
    if made.equivalents and made.__module__.startswith("mercer.kernels") and takes:
        named = {word for text in made.equivalents.values() for word in re.findall(r"\w+", text)}
        assert named & takes


@pytest.mark.parametrize("model", MODELS)
def test_models_are_still_estimators(model: Any) -> None:
    made = model()
    assert set(made.get_params(deep=False)) == set(inspect.signature(model).parameters)
    assert repr(clone(made)) == repr(made)
    assert pickle.loads(pickle.dumps(mc.Gaussian(2.0))) == mc.Gaussian(2.0)


def _functions() -> list[Any]:
    """Every public function that takes something by its name."""
    found = [getattr(mc, name) for name in getattr(mc, "__all__")]  # noqa: B009  (made when asked)
    kinds = inspect.Parameter
    return [
        f
        for f in found
        if inspect.isfunction(f)
        and any(p.kind is kinds.KEYWORD_ONLY for p in inspect.signature(f).parameters.values())
        and not any(p.kind is kinds.VAR_KEYWORD for p in inspect.signature(f).parameters.values())
    ]


@pytest.mark.parametrize("function", _functions(), ids=lambda f: f.__name__)
def test_a_function_tells_what_an_unknown_keyword_is_called_here(function: Any) -> None:
    with pytest.raises(mc.errors.UnknownParameter, match="verbose is progress"):
        function(verbose=True)


@pytest.mark.parametrize(
    ("call", "keyword", "hint"),
    [
        (mc.PCA().fit, "weights", "did you mean sample_weight?"),
        (mc.SVC().fit, "sample_weights", "did you mean sample_weight?"),
        (mc.KernelPCA().fit, "verbose", "verbose is progress"),
        (mc.GaussianProcess().predict, "returnstd", "did you mean return_std?"),
    ],
)
def test_methods_tell_what_an_unknown_keyword_is_called_here(
    call: Any, keyword: str, hint: str
) -> None:
    said = f"{call.__name__} has no parameter {keyword!r}, only X, .*; {re.escape(hint)}"
    with pytest.raises(mc.errors.UnknownParameter, match=said):
        call(np.eye(3), **{keyword: True})


def test_a_name_that_only_shares_letters_is_not_suggested() -> None:
    with pytest.raises(AttributeError, match="no attribute 'predict'$"):
        getattr(mc.PCA(2), "predict")  # noqa: B009  (mypy knows that there is none)
    with pytest.raises(AttributeError, match="KPCA is KernelPCA"):
        getattr(mc, "KPCA")  # noqa: B009  (as above)


def test_what_clusters_elsewhere_is_told() -> None:
    with pytest.raises(mc.errors.UnknownParameter, match="n_clusters is count"):
        mc.cluster(None, **{"n_clusters": 3})  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="scikit-learn's KMeans is cluster"):
        getattr(mc, "KMeans")  # noqa: B009  (mypy knows that there is none)


@pytest.mark.parametrize(
    ("groups", "file", "most"),
    [
        ("0::/\n", "memory.max", 3000),
        ("0::/job/step\n", "job/memory.max", 2000),
        ("4:memory:/job/step\n0::/\n", "memory/job/step/memory.limit_in_bytes", 1000),
        ("4:cpu,memory:/elsewhere\n", "memory/memory.limit_in_bytes", 500),
        ("0::/../..\n", "memory.max", 400),
        (None, "memory.max", 300),
    ],
)
def test_memory_is_that_of_the_group_of_processes(
    groups: str | None, file: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a batch system or a container sets it; "max" is no limit."""
    whole = settings.machine_bytes()
    own, root = tmp_path / "own", tmp_path / "groups"
    monkeypatch.setattr(settings, "OWN_GROUPS", own)
    monkeypatch.setattr(settings, "GROUPS", root)
    if groups is not None:
        own.write_text(groups)
    assert settings.machine_bytes() >= whole
    (root / file).parent.mkdir(parents=True)
    (root / file).write_text("max\n")
    assert settings.machine_bytes() >= whole
    (root / file).write_text(f"{most}\n")
    assert settings.machine_bytes() == most
    (root.parent / "memory.max").write_text("1")  # which is of nobody
    assert settings.machine_bytes() == most


@pytest.mark.parametrize(
    ("package", "name", "hint"),
    [
        ("pictures", "scre", "; did you mean scree?"),
        ("datasets", "load_iris", "; did you mean iris?"),
        ("data", "Tble", "; did you mean Table?"),
        ("networks", "Netwrk", "; did you mean Network?"),
        ("sklearn", "KernelPC", "; did you mean KernelPCA?"),
        ("errors", "InvalidData", "; did you mean InvalidInput?"),
        ("errors", "import_modul", ""),
        ("data", "zzyzx", ""),
    ],
)
def test_an_unknown_name_of_a_package_is_told_what_was_meant(
    package: str, name: str, hint: str
) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(getattr(mc, package), name)
    assert str(caught.value) == f"module 'mercer.{package}' has no attribute {name!r}{hint}"


def test_scikit_learns_signatures_are_found_without_another_import() -> None:
    """``mercer.sklearn`` was unknown, with the hint scikit_learn, unless it had been imported."""
    code = "import mercer as mc; print(mc.sklearn.KernelRidge.__module__)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.stdout == "mercer.sklearn.regressors\n", told.stderr
    assert "sklearn" in dir(mc)


@pytest.mark.parametrize(
    ("model", "parameter", "hint"),
    [
        (mc.SVC(mc.Gaussian(1.0)), "kernel__gamma", "gamma is 1/(2·bandwidth²)"),
        (mc.SVC(mc.Gaussian(1.0)), "kernel__bandwith", "did you mean bandwidth?"),
        (mc.SVC("rbf"), "kernel__gamma", "kernel='rbf(gamma=0.5)'"),
        (mc.SVC("rbf"), "kernel__bandwidth", "kernel=Gaussian(0.5)"),
    ],
)
def test_an_unknown_parameter_of_a_kernel_in_a_grid_is_told_what_was_meant(
    model: Any, parameter: str, hint: str
) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=re.escape(hint)):
        model.set_params(**{parameter: 2.0})
