"""What a page says of a fitted function of numbers: its curve and band, residuals, its penalty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import MercerError
from mercer.gp import GaussianProcess, SampledOptimum
from mercer.kernels.base import parameters
from mercer.page.safe_text import count_of, percent, short
from mercer.page.sections import Picture, Section
from mercer.pictures.curves import against_observed, curves, penalty_path, residuals, thin_points
from mercer.pictures.surfaces import contours
from mercer.regression.criterion_path import penalty_path as path_of
from mercer.regression.kernel_regression import KernelRegression
from mercer.regression.spline import SmoothingSpline, leave_one_out
from mercer.settings import CONFIDENCE
from mercer.solve import Saddle

PLACES = 400
"""Places at which a curve is drawn."""

LARGEST = 20
"""Observations with the largest residuals that a page lists."""

TABLED = 21
"""Places at which its values are listed."""

SURFACE = 300
"""Up to this many observations the likelihood is drawn over two parameters."""

GRID = 24
"""Values of each of them."""

NAMED = 4
"""Variables up to this many are named in a sentence."""

DIGITS = re.compile(r"\d+\.\d+(?:e[+-]?\d+)?")

NAMES = {
    "SmoothingSpline": "smoothing spline",
    "KernelRegression": "kernel ridge regression",
    "GaussianProcess": "Gaussian process",
}


@dataclass(frozen=True)
class Fit:
    """A fitted model of y given the columns x, with names for what is shown."""

    model: SmoothingSpline | KernelRegression | GaussianProcess
    x: Array
    y: Array
    variables: tuple[str, ...]
    target: str
    labels: tuple[str, ...]
    confidence: float = CONFIDENCE
    weights: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def kind(self) -> str:
        return NAMES[type(self.model).__name__]

    @property
    def is_curve(self) -> bool:
        return bool(self.x.shape[1] == 1)

    def at(self, x: Array) -> Array:
        """Return the function at rows of numbers."""
        return np.asarray(self.model.predict(x))

    @cached_property
    def fitted(self) -> Array:
        return self.at(self.x)

    @cached_property
    def residuals(self) -> Array:
        return np.asarray(self.y - self.fitted)

    @cached_property
    def noise(self) -> float | None:
        """The variance of the noise, None where it is not known."""
        try:
            return float(self.model.noise_variance_)
        except (AttributeError, MercerError):
            return None

    @cached_property
    def degrees_of_freedom(self) -> float | None:
        try:
            return float(self.model.degrees_of_freedom_)
        except (AttributeError, MercerError):
            return None

    def band(self, x: Array, *, observation: bool = False) -> tuple[Array, Array] | None:
        """Return intervals of the function or of new observations, None where there are none."""
        try:
            if isinstance(self.model, GaussianProcess):
                return self.model.posterior(x).band(self.confidence, observation=observation)
            return self.model.confidence_band(x, self.confidence, observation=observation)
        except (AttributeError, MercerError):
            return None

    @cached_property
    def explained(self) -> float:
        """The share of the variance of y that the fitted values explain."""
        return self._share(float(np.average(self.residuals**2, weights=self.weights)))

    @cached_property
    def predicted(self) -> float | None:
        """The same share where each observation is predicted from all others."""
        model = self.model
        if isinstance(model, SmoothingSpline):
            if model.penalty_ == 0 or model.degrees_of_freedom_ >= len(self):
                return None
            return self._share(leave_one_out(model.curve))
        try:
            if isinstance(model, GaussianProcess):
                return self._share(float(np.mean((self.y - model.leave_one_out().mean) ** 2)))
            return self._share(model.decomposition().loo(model.penalty_))
        except MercerError:
            return None

    def _share(self, error: float) -> float:
        """Return what a mean square of errors leaves of the variance, weighted as they are."""
        mean = np.average(self.y, weights=self.weights)
        spread = float(np.average((self.y - mean) ** 2, weights=self.weights))
        return 1.0 - error / spread if spread > 0 else 0.0


def result(fit: Fit) -> list[str]:
    """Return what was found, in sentences."""
    seen = count_of(len(fit), "observation")
    said = [f"{seen}: {fit.target} as a function of {named_variables(fit)}."]
    said.append(f"A {fit.kind}{_size(fit)}{_penalty(fit)}.")
    quality = f"It explains {percent(max(fit.explained, 0.0))} of the variance of {fit.target}"
    if fit.predicted is not None and np.isfinite(fit.predicted):
        quality += f", and {percent(max(fit.predicted, 0.0))} of it from all other observations"
    said.append(f"{quality}.")
    if fit.noise is not None:
        said.append(f"The standard deviation of the noise is {short(np.sqrt(fit.noise))}.")
    return said


def named_variables(fit: Fit) -> str:
    """Return the names of the variables, or how many there are."""
    names = fit.variables
    return ", ".join(names) if len(names) <= NAMED else f"{len(names)} variables"


def _size(fit: Fit) -> str:
    if fit.degrees_of_freedom is not None:
        return f" of {fit.degrees_of_freedom:.1f} degrees of freedom"
    return f" with the covariance {round_numbers(str(fit.model.kernel_))}"


def round_numbers(written: str) -> str:
    """Return a kernel as prose shows it, its numbers with four digits.

    >>> round_numbers("2.450387108005022 * gaussian(bandwidth=0.30000000000000004)")
    '2.45 * gaussian(bandwidth=0.3)'
    """
    return DIGITS.sub(lambda found: f"{float(found[0]):.4g}", written)


def _penalty(fit: Fit) -> str:
    model = fit.model
    if isinstance(model, GaussianProcess):
        return ", of the largest likelihood" if model.optimum_ is not None else ""
    words = {"gcv": "generalised cross-validation", "loo": "leave-one-out", "cv": "five folds"}
    words |= {"reml": "restricted likelihood", "auto": "generalised cross-validation"}
    if model.criterion == "auto" and len(fit) > Saddle.limits.direct:
        words["auto"] = words["cv"]
    how = f", chosen by {words[model.criterion]}" if model.penalty is None else ", as given"
    freedom = getattr(model, "df", None)
    if freedom is not None:
        how = f", of the {short(freedom)} degrees of freedom given"
    if np.isinf(model.penalty_):
        return f"; a straight line, for the penalty is without bound{how}"
    return f"; penalty {short(model.penalty_)}{how}"


def sections(fit: Fit) -> list[Section]:
    """Return the parts of the page."""
    made = [_curve(fit)] if fit.is_curve else [_values(fit)]
    made.append(_residuals(fit))
    if isinstance(fit.model, GaussianProcess):
        made.append(_likelihood(fit.model, len(fit)))
    else:
        made += _choice(fit.model)
    return made


def _curve(fit: Fit) -> Section:
    low, high = float(fit.x.min()), float(fit.x.max())
    room = 0.02 * (high - low)
    at = np.linspace(low - room, high + room, PLACES)
    rows, notes = thin_points(len(fit))
    band = fit.band(at[:, None])
    wide = fit.band(at[:, None], observation=True)
    share = f"{100 * fit.confidence:g} % of"
    each = {f"{share} new observations": wide, f"{share} the curve": band}
    bands = {name: ends for name, ends in each.items() if ends is not None}
    picture = curves.describe(
        at,
        {fit.kind: fit.at(at[:, None])},
        points=np.column_stack([fit.x[rows, 0], fit.y[rows]]),
        bands=bands,
        names=(fit.variables[0], fit.target),
        title=f"{fit.target} given {fit.variables[0]}",
        notes=notes,
    )
    few = np.linspace(low, high, TABLED)[:, None]
    table = {fit.variables[0]: few[:, 0], fit.target: fit.at(few)}
    if band is None:
        said = "This model knows no intervals at its penalty and size."
    else:
        table["lower"], table["upper"] = fit.band(few) or (table[fit.target],) * 2
        said = (
            f"{_of_band(fit)}; the wide one is where a new observation lies, whose noise comes on "
            "top."
        )
    return Section("Curve", [said], [picture], {"The curve": table})


def _of_band(fit: Fit) -> str:
    if isinstance(fit.model, GaussianProcess):
        return (
            "The narrow band is where the function lies at each place, given the observations and "
            "the parameters as they were found"
        )
    return "The narrow band is where the curve lies, right on average over its length"


def _values(fit: Fit) -> Section:
    picture = against_observed.describe(
        fit.fitted, fit.y, names=fit.labels, title=f"{fit.target}, fitted and observed"
    )
    said = (
        "Each dot is an observation: across what the function says, up what was observed. The "
        "farther from the dashed line, the larger the residual."
    )
    rows, _ = thin_points(len(fit))
    columns: dict[str, Any] = {"observation": list(fit.labels[rows])}
    columns |= {fit.target: fit.y[rows], "fitted": fit.fitted[rows]}
    band = fit.band(fit.x[rows])
    if band is not None:
        columns |= {"lower": band[0], "upper": band[1]}
    name = "Observations" if len(columns["observation"]) == len(fit) else "Some observations"
    return Section("Values", [said], [picture], {name: columns})


def _residuals(fit: Fit) -> Section:
    deviation = None if fit.noise is None else float(np.sqrt(fit.noise))
    name = fit.variables[0] if fit.is_curve else "fitted value"
    at = fit.x[:, 0] if fit.is_curve else fit.fitted
    picture = residuals.describe(
        at, fit.residuals, deviation=deviation, name=name, names=fit.labels, title="Residuals"
    )
    worst = np.argsort(-np.abs(fit.residuals), kind="stable")[:LARGEST]
    columns: dict[str, Any] = {"observation": [fit.labels[i] for i in worst]}
    if fit.is_curve:
        columns[fit.variables[0]] = fit.x[worst, 0]
    columns |= {fit.target: fit.y[worst], "fitted": fit.fitted[worst]}
    columns["residual"] = fit.residuals[worst]
    if deviation:
        columns["in deviations"] = fit.residuals[worst] / deviation
    return Section("Residuals", [], [picture], {"The largest residuals": columns})


def _choice(model: SmoothingSpline | KernelRegression) -> list[Section]:
    try:
        picture = penalty_path.describe(path_of(model), chosen=model.penalty_)
    except MercerError:
        return []
    said = "Where the curve of the criterion is flat, many penalties serve as well."
    return [Section("Penalty", [said], [picture])]


def _likelihood(model: GaussianProcess, n: int) -> Section:
    optimum = model.optimum_
    said = [f"The log likelihood is {short(likelihood_of(model))}."]
    if isinstance(optimum, SampledOptimum):
        half = optimum.likelihood.upper - optimum.likelihood.value
        said[0] = f"{said[0][:-1]}, known to ±{short(half)} (95 % confidence)."
    if optimum is not None:
        said.append(
            f"The search {'converged' if optimum.is_converged else 'did not converge'}: the "
            f"largest derivative left is {optimum.gradient_norm:.1e} for one observation."
        )
        if optimum.at_bounds:
            said.append(f"At their bounds: {', '.join(optimum.at_bounds)}.")
    if model.jitter_ > 0:
        said.append(f"The matrix was singular: {model.jitter_:.1e} was added to its diagonal.")
    known = {**_numbers(model), "noise_variance": model.noise_variance_}
    table = {"parameter": list(known), "value": np.array(list(known.values()))}
    pictures = [] if n > SURFACE else _surface(model)
    return Section("Likelihood", said, pictures, {"Parameters": table})


def likelihood_of(model: GaussianProcess) -> float:
    """Return the log likelihood, or the middle of its interval where there are many points."""
    optimum = model.optimum_
    if isinstance(optimum, SampledOptimum):
        return optimum.likelihood.value
    return model.log_likelihood()


def _numbers(model: GaussianProcess) -> dict[str, float]:
    """Return the parameters of the kernel, one number each."""
    found: dict[str, float] = {}
    for name, value in parameters(model.kernel_).items():
        if isinstance(value, tuple):
            found |= {f"{name}[{i}]": float(v) for i, v in enumerate(value)}
        elif isinstance(value, int | float):
            found[name] = float(value)
    return found


def _surface(model: GaussianProcess) -> list[Picture]:
    """Return the log likelihood over the first bandwidth and the noise, around the best."""
    known: Mapping[str, Any] = parameters(model.kernel_)
    name = next((n for n in known if n.endswith("bandwidth")), None)
    if name is None or not isinstance(known[name], float) or not model.noise_variance_ > 0:
        return []
    widths = known[name] * np.geomspace(0.3, 3.0, GRID)
    noises = model.noise_variance_ * np.geomspace(0.25, 4.0, GRID)
    values = model.likelihood_surface({name: widths.tolist(), "noise_variance": noises.tolist()})
    best = model.log_likelihood()
    picture = contours.describe(
        widths,
        np.sqrt(noises),
        np.maximum(values.T, best - 20.0),
        points=[[known[name], np.sqrt(model.noise_variance_)]],
        names=("bandwidth", "standard deviation of the noise"),
        is_log=True,
        what="log likelihood (below the best by 20 at most)",
        title="Log likelihood, the best marked",
    )
    return [picture]
