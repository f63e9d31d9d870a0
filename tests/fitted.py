"""Every estimator with every kind of data it takes, for laws that hold for all of them."""

from __future__ import annotations

import inspect
import pkgutil
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import manifold
from sklearn.base import BaseEstimator, clone

import mercer as mc
import mercer.sklearn

N = 16
RNG = np.random.default_rng(20)
NUMBERS = RNG.standard_normal((N, 3)) * [3.0, 2.0, 1.0] + [0.0, 5.0, 1.0]
FRAME = pd.DataFrame(NUMBERS, columns=["length", "width", "depth"], index=list("abcdefghijklmnop"))
STRINGS = ["".join(RNG.choice(list("acgt"), 12)) for _ in range(N)]
GRAPHS = [
    mc.Graph([(i, i + 1) for i in range(3 + k % 5)] + [(0, 2)] * (k % 2), n=9 + k) for k in range(N)
]
TABLE = pd.DataFrame(
    {"length": NUMBERS[:, 0], "colour": RNG.choice(["red", "<b>blue</b>"], N), "n": range(N)}
)
COUNTS = pd.DataFrame(RNG.poisson(5.0, (N, 4)) + 1, index=FRAME.index, columns=list("wxyz"))
ANSWERS = pd.DataFrame({q: RNG.choice(list("abc"), N) for q in ("<q>", "r", "s")})
SIMILARITIES = NUMBERS @ NUMBERS.T + np.eye(N)
DISTANCES = np.sqrt(((NUMBERS[:, None] - NUMBERS[None]) ** 2).sum(-1))
LINE = np.linspace(0.0, 1.0, N)
Y = np.sin(5.0 * LINE) + 0.1 * RNG.standard_normal(N)
LABELS = np.where(NUMBERS[:, 0] > 0, "high", "low")

POINTS: dict[str, tuple[Any, Any]] = {
    "numbers": (mc.Gaussian(2.0), NUMBERS),
    "a data frame": (mc.Gaussian("median"), FRAME),
    "strings": (mc.kernels.StringSpectrum(2), STRINGS),
    "graphs": (mc.kernels.WeisfeilerLehman(2), GRAPHS),
    "a table": (mc.Columns(), TABLE),
    "a matrix": ("precomputed", SIMILARITIES),
    "a function": (lambda x, y: float(x @ y), NUMBERS),
}

WIDE = mc.Gaussian(2.0)
MODELS: dict[str, tuple[Any, ...]] = {
    "PCA of numbers": (mc.PCA(), NUMBERS),
    "PCA of a data frame": (mc.PCA(2, standardize=True), FRAME),
    "PCA of huge numbers": (mc.PCA(2), 1e200 * NUMBERS),
    "PCA of few axes": (mc.PCA(1), NUMBERS),
    "CA": (mc.CA(2), COUNTS),
    "MCA": (mc.MCA(2), ANSWERS),
    "FAMD": (mc.FAMD(2), TABLE),
    "MFA": (mc.MFA(2, groups={"sizes": ["length", "n"], "looks": ["colour"]}), TABLE),
    "linear KernelPCA": (mc.KernelPCA(2), FRAME),
    "KernelPCA with landmarks": (
        mc.KernelPCA(2, kernel=WIDE, method="nystrom", landmarks=8, random_state=0),
        NUMBERS,
    ),
    "scikit-learn's KernelPCA": (mercer.sklearn.KernelPCA(2, kernel="rbf"), NUMBERS),
    "scikit-learn's PCA": (mercer.sklearn.PCA(2), NUMBERS),
    "scikit-learn's MDS": (
        mercer.sklearn.MDS(2, init="random", n_init=1, random_state=0),
        NUMBERS,
    ),
    "scikit-learn's Nystroem": (mercer.sklearn.Nystroem(n_components=5, random_state=0), NUMBERS),
    "scikit-learn's RBFSampler": (
        mercer.sklearn.RBFSampler(n_components=5, random_state=0),
        NUMBERS,
    ),
    "scikit-learn's KernelRidge": (mercer.sklearn.KernelRidge(kernel="rbf"), NUMBERS, Y),
    "scikit-learn's GaussianProcessRegressor": (
        mercer.sklearn.GaussianProcessRegressor(alpha=0.1),
        NUMBERS,
        Y,
    ),
    "scikit-learn's SVC": (mercer.sklearn.SVC(), NUMBERS, LABELS),
    "scikit-learn's SVR": (mercer.sklearn.SVR(), NUMBERS, Y),
    "scikit-learn's OneClassSVM": (mercer.sklearn.OneClassSVM(), NUMBERS),
    "ClassicalMDS of distances": (mc.ClassicalMDS(2), DISTANCES),
    "ClassicalMDS of points": (mc.ClassicalMDS(2, metric="euclidean"), NUMBERS),
    "ClassicalMDS of a data frame": (mc.ClassicalMDS(2, metric="euclidean"), FRAME),
    "corrected ClassicalMDS": (mc.ClassicalMDS(2, correction="lingoes"), DISTANCES**1.5),
    "ClassicalMDS of huge distances": (mc.ClassicalMDS(2), 1e200 * DISTANCES),
    "StressMDS of distances": (mc.StressMDS(2, random_state=0), DISTANCES),
    "StressMDS of points": (mc.StressMDS(2, metric="euclidean", random_state=0), NUMBERS),
    "SmoothingSpline": (mc.SmoothingSpline(), LINE, Y),
    "straight SmoothingSpline": (mc.SmoothingSpline(penalty=np.inf), LINE, Y),
    "KernelRegression of two outputs": (
        mc.KernelRegression(WIDE, 0.1),
        NUMBERS,
        np.column_stack([Y, Y]),
    ),
    "KernelRegression of absolute loss": (
        mc.KernelRegression(WIDE, 0.1, loss="absolute"),
        NUMBERS,
        Y,
    ),
    "KernelRegression with landmarks": (mc.KernelRegression(WIDE, 0.1, landmarks=8), NUMBERS, Y),
    "GaussianProcess with a mean": (
        mc.GaussianProcess(WIDE, mean="linear", random_state=0),
        FRAME,
        Y,
    ),
    "SVR": (mc.SVR(WIDE), NUMBERS, Y),
    "OneClassSVM": (mc.OneClassSVM(WIDE, nu=0.2), NUMBERS),
    "NystromFeatures": (mc.NystromFeatures(5, kernel=WIDE, random_state=0), NUMBERS),
    "RandomFourierFeatures": (mc.RandomFourierFeatures(5, kernel=WIDE, random_state=0), NUMBERS),
    "KernelCCA": (mc.KernelCCA(1, kernels=(WIDE, "linear")), NUMBERS, FRAME),
    "SVC with probabilities": (mc.SVC(WIDE, probability=True), NUMBERS, LABELS),
    **{f"KernelPCA of {what}": (mc.KernelPCA(2, kernel=k), x) for what, (k, x) in POINTS.items()},
    **{
        f"KernelRegression of {what}": (mc.KernelRegression(k, 0.1), x, Y)
        for what, (k, x) in POINTS.items()
    },
    **{
        f"GaussianProcess of {what}": (
            mc.GaussianProcess(k, noise_variance=0.1, optimise=False, random_state=0),
            x,
            Y,
        )
        for what, (k, x) in POINTS.items()
    },
    **{f"SVC of {what}": (mc.SVC(k), x, LABELS) for what, (k, x) in POINTS.items()},
}
"""An estimator that is not fitted, and what to fit it to."""


def skip_where_scikit_learn_breaks(name: str) -> None:
    """Skip the display of its MDS where its own has none: a number beside "warn", numpy < 2.3."""
    if name == "scikit-learn's MDS":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                manifold.MDS(n_init=1)._repr_html_()
            except AttributeError as error:
                pytest.skip(f"scikit-learn's own MDS cannot be shown here: {error}")


def public_estimators() -> set[type]:
    """Return the estimators that some package of mercer offers by name."""
    packages = [m.name for m in pkgutil.walk_packages(mc.__path__, "mercer.") if m.ispkg]
    offered = [
        getattr(module, name)
        for module in map(import_module, ["mercer", *packages])
        for name in dir(module)
        if not name.startswith("_")
    ]
    return {
        value
        for value in offered
        if inspect.isclass(value)
        and issubclass(value, BaseEstimator)
        and value.__module__.startswith("mercer.")
    }


def fitted(name: str) -> Any:
    """Return a model that was fitted just now, without the warnings that its data deserve."""
    estimator, *data = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(*data)
