from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

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
from sklearn.gaussian_process import kernels as theirs
from sklearn.metrics import pairwise

import mercer as mc
from mercer import sklearn as doors
from mercer.kernels.base import Kernel
from mercer.spelling import EQUIVALENTS, REPLACED

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


@pytest.mark.parametrize("made", [*MODELS, *Kernel.known.values()], ids=lambda c: c.__name__)
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


def test_what_clusters_elsewhere_is_told() -> None:
    with pytest.raises(mc.errors.UnknownParameter, match="n_clusters is count"):
        mc.cluster(None, **{"n_clusters": 3})  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="scikit-learn's KMeans is cluster"):
        getattr(mc, "KMeans")  # noqa: B009  (mypy knows that there is none)
