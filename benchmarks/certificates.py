"""Claim: what is called bounded is bounded, and what has a confidence holds at its rate.

Each claim is one function of a seed that makes one adversarial case, checks all that is promised
of it against extended precision and returns how many promises there were and how many did not
hold. A claim of rate 0 may never be violated; one of rate 0.05 in a twentieth of the cases, up to
chance. Named refusals are no violations.

    python benchmarks/certificates.py                      # all claims
    python benchmarks/certificates.py solve gaps           # those whose name begins so
    python benchmarks/certificates.py solve --cases 9999 --first 17

To add a claim, write a function of a seed that returns a `Tally` and put ``@claim(rate)`` above it.
"""

from __future__ import annotations

import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.stats import binomtest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mercer as mc
from benchmarks.adversary import LONG, case, eigenpairs, expressions, kernels, values
from mercer.determinant import log_determinant
from mercer.gp import log_likelihood_gradient_interval
from mercer.gp.likelihood import NoisyObservations, condition, gradient
from mercer.kernels.algebra import Constant
from mercer.regression.loss_functions import loss_named
from mercer.solve import solve as solved

SURE = 1e-6
"""A rate is refuted where it would give as many violations with less probability than this."""


class Tally(NamedTuple):
    """How many promises were checked, and how many did not hold."""

    trials: int
    violations: int

    @staticmethod
    def of(*holds: bool) -> Tally:
        return Tally(len(holds), sum(not hold for hold in holds))


class Claim(NamedTuple):
    """A function of a seed that checks one case, how many cases are usual, and the rate allowed."""

    check: Callable[[int], Tally]
    cases: int
    rate: float

    def is_refuted(self, tally: Tally) -> bool:
        """Whether there are more violations than the rate allows."""
        if self.rate == 0.0 or tally.trials == 0:
            return tally.violations > 0
        found = binomtest(tally.violations, tally.trials, self.rate, alternative="greater")
        return bool(found.pvalue < SURE)


CLAIMS: dict[str, Claim] = {}


def claim(
    rate: float = 0.0, cases: int = 1000
) -> Callable[[Callable[[int], Tally]], Callable[[int], Tally]]:
    """Register a claim under the name of its function."""

    def registered(check: Callable[[int], Tally]) -> Callable[[int], Tally]:
        CLAIMS[check.__name__] = Claim(check, cases, rate)
        return check

    return registered


def run(name: str, cases: int, first: int = 0) -> tuple[Tally, list[int]]:
    """Return the tally of a claim over consecutive seeds, and the seeds of what did not hold."""
    trials, violations, seeds = 0, 0, []
    for seed in range(first, first + cases):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = CLAIMS[name].check(seed)
        except mc.errors.MercerError:
            continue
        trials, violations = trials + found.trials, violations + found.violations
        if found.violations:
            seeds.append(seed)
    return Tally(trials, violations), seeds


# ---------------------------------------------------------------------------------------- solve


@claim(cases=2000)
def solve(seed: int) -> Tally:
    """The backward error of a system is at most what is said, in both of its rows."""
    rng = np.random.default_rng(seed)
    given = case(rng)
    n = len(given.K)
    shift = given.size * 10.0 ** rng.uniform(-14.0, 0.0) if rng.random() < 0.8 else 0.0
    b = rng.standard_normal((n, int(rng.integers(1, 3)))) * 10.0 ** float(rng.choice([0, 8, -8]))
    Q = np.ones((n, 1)) if n > 1 and rng.random() < 0.5 else None
    how = "iterative" if shift > 0.0 and rng.random() < 0.3 else "direct"
    found = solved(mc.Gram(given.kernel, given.points), b, shift, null_space=Q, method=how)
    alpha, eta = found.weights.astype(LONG), found.null_weights.astype(LONG)
    free = np.zeros((n, 0)) if Q is None else Q
    left = b - given.K @ alpha - LONG(shift) * alpha - free @ eta
    norm = _norm(given.K)
    sizes = (norm + LONG(shift)) * _lengths(alpha) + _lengths(b)
    first = _lengths(left) <= found.backward_error * (1.0 + 1e-9) * sizes
    second = _lengths(free.T @ alpha) <= found.backward_error * _lengths(alpha) * (
        float(np.sqrt(n)) * (1.0 + 1e-9)
    )
    return Tally.of(bool(np.all(first)), bool(np.all(second)))


def _norm(matrix: Any) -> Any:
    size = np.max(np.abs(matrix))
    return size * LONG(np.linalg.norm((matrix / size).astype(float), 2)) if size > 0 else LONG(0)


def _lengths(columns: Any) -> Any:
    columns = np.asarray(columns, dtype=LONG)
    return np.sqrt(np.sum(columns * columns, axis=0))


# ---------------------------------------------------------------------------------- determinants


def _spectral(seed: int) -> tuple[mc.Kernel, Any, float, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 150)), int(rng.integers(1, 5))
    x = rng.standard_normal((n, d))
    width = 10.0 ** float(rng.uniform(-1.0, 1.5))
    made = [
        mc.Gaussian(width),
        mc.Laplacian(width, norm=2.0),
        mc.Linear(),
        mc.Polynomial(2),
        mc.Linear() + mc.Gaussian(width),
        Constant(1.0) + mc.Gaussian(width),
        Constant(1e3) + 1e-2 * mc.Gaussian(width),
    ]
    kernel = made[int(rng.integers(len(made)))]
    shift = 10.0 ** float(rng.uniform(-3.0, 1.0))
    return kernel, x, shift, rng


def _determinant(kernel: mc.Kernel, x: Any, shift: float, probes: int, seed: int) -> Tally:
    K = values(kernel, x).astype(float)
    eigenvalues = np.maximum(np.linalg.eigvalsh(K), 0.0)
    truth = float(np.sum(np.log(eigenvalues + shift)))
    found = log_determinant(
        mc.Gram(kernel, x), shift, method="lanczos", probes=probes, random_state=seed
    )
    slack = 1e-9 * abs(truth) + 1e-9
    return Tally.of(found.lower - slack <= truth <= found.upper + slack)


@claim(rate=0.05, cases=1500)
def log_determinant_of_any_kernel(seed: int) -> Tally:
    """A sampled determinant is in its interval of 95 per cent, for 5 to 20 probes."""
    kernel, x, shift, rng = _spectral(seed)
    return _determinant(kernel, x, shift, int(rng.choice([5, 10, 20])), seed)


@claim(rate=0.05, cases=1500)
def log_determinant_of_a_constant(seed: int) -> Tally:
    """The same of one direction alone, the worst law there is."""
    rng = np.random.default_rng(seed)
    x, kernel = rng.standard_normal((60, 1)), Constant(10.0 ** float(rng.uniform(-2.0, 3.0)))
    return _determinant(kernel, x, 0.1, int(rng.choice([5, 20])), seed)


@claim(rate=0.05, cases=1000)
def log_determinant_of_few_directions(seed: int) -> Tally:
    """The same of as many equal directions as there are probes, and a few more."""
    rng = np.random.default_rng(seed)
    probes = int(rng.choice([5, 20]))
    x = np.linalg.qr(rng.standard_normal((120, probes + int(rng.integers(0, 4)))))[0]
    return _determinant(mc.Linear(), x, 1e-3, probes, seed)


# -------------------------------------------------------------------------------------- gradients


def _gradient(kernel: mc.Kernel, x: Any, noise: float, rng: np.random.Generator) -> Tally:
    y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(len(x))
    data = NoisyObservations(x, y[:, None], np.zeros((len(x), 0)))
    truth = gradient(data.gram(kernel), condition(data.gram(kernel), noise, data))
    probes = int(rng.choice([5, 10, 20]))
    found = log_likelihood_gradient_interval(
        kernel, x, y, noise, probes=probes, random_state=int(rng.integers(2**31))
    )
    holds = []
    for name, of in found.items():
        slack = 1e-7 * (np.abs(truth[name]) + len(x))
        inside = (of.lower - slack <= truth[name]) & (truth[name] <= of.upper + slack)
        holds += np.atleast_1d(inside).tolist()
    return Tally.of(*holds)


@claim(rate=0.05, cases=600)
def gradient_of_any_kernel(seed: int) -> Tally:
    """Sampled derivatives of a likelihood are in their intervals of 95 per cent each."""
    kernel, x, shift, rng = _spectral(seed)
    return _gradient(kernel, x, shift, rng)


@claim(rate=0.05, cases=600)
def gradient_of_a_constant(seed: int) -> Tally:
    """The same where a Constant is among the parameters."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((100, 2))
    weight = 10.0 ** float(rng.uniform(-2.0, 2.0))
    made = [Constant(weight) + mc.Gaussian(0.3), Constant(weight) + mc.Laplacian(0.3, norm=2.0)]
    kernel = [Constant(weight), *made][int(rng.integers(3))]
    return _gradient(kernel, x, 0.1, rng)


# ---------------------------------------------------------------------------------------- spectra


def _operator(
    rng: np.random.Generator,
    made: Callable[..., mc.Kernel] = kernels,
    *,
    least: int = 2,
    most: int = 40,
) -> tuple[Any, Any]:
    """Return an operator, centred and weighted or not, and its matrix."""
    given = case(rng, least=least, most=most, extreme=rng.random() < 0.3, made=made)
    gram, n = mc.Gram(given.kernel, given.points), len(given.K)
    if rng.random() < 0.4:
        return gram, given.K
    operator = gram.centred(_weights(rng, n))
    w = operator.weights.astype(LONG)
    w = w / w.sum()
    means = given.K @ w
    K = given.K - means[:, None] - means[None, :] + w @ means
    roots = np.sqrt(w)
    return operator, roots[:, None] * K * roots


def _weights(rng: np.random.Generator, n: int) -> Any:
    """Return weights that are equal, alike, of all sizes, or zero for some points."""
    kind = int(rng.integers(0, 5))
    if kind < 2:
        return None
    if kind == 2:
        return rng.uniform(0.01, 1.0, n)
    if kind == 3:
        return 10.0 ** rng.uniform(-12.0, 0.0, n)
    weights = rng.uniform(0.0, 1.0, n) * (rng.random(n) < 0.7)
    weights[int(rng.integers(n))] = 1.0
    return weights


def _proved(spectrum: Any, K: Any) -> list[bool]:
    """Check every interval, the value above which nothing is missing, and the angles."""
    truth, axes = eigenpairs(K)
    proof, count = spectrum.certificate, len(spectrum.values)
    slack = LONG(1e-17) * np.max(np.abs(truth), initial=LONG(0))  # of the truth itself
    low, high = proof.lower - slack, proof.upper + slack
    holds = [bool(np.all(np.isfinite(low)) and np.all(np.isfinite(high)))]
    for k in range(count):
        inside = (low[k] <= truth) & (truth <= high[k])
        holds.append(bool(inside[k] if proof.is_ordered[k] else np.any(inside)))
        if proof.sines[k] < 1.0:
            Q, V = spectrum.vectors[:, : k + 1].astype(LONG), axes[:, : k + 1]
            outside = (Q - V @ (V.T @ Q)).astype(float)
            holds.append(bool(np.linalg.norm(outside, 2) <= proof.sines[k] + 1e-14 * len(K)))
    holds.append(bool(np.sum(truth > proof.complete_above + slack) <= count))
    return holds


def _iterated(seed: int, tol: float, standing: str) -> Tally:
    rng = np.random.default_rng(seed)
    operator, K = _operator(rng)
    count = int(rng.integers(1, 5))
    found = mc.leading(operator, count, method="exact", tol=tol, random_state=seed)
    if not found.certificate.rounding.startswith(standing):
        return Tally(0, 0)
    return Tally.of(*_proved(found, K))


@claim(cases=2000)
def dense(seed: int) -> Tally:
    """The same of all of a stored matrix, of sums, products, powers and exponentials too."""
    return _decomposed(np.random.default_rng(seed), 2, 40)


@claim(cases=300)
def dense_of_more_points(seed: int) -> Tally:
    """The same where all axes are checked by random probes, and a few by Cholesky's factors."""
    return _decomposed(np.random.default_rng(seed), 100, 130)


def _decomposed(rng: np.random.Generator, least: int, most: int) -> Tally:
    operator, K = _operator(rng, expressions, least=least, most=most)
    count = len(K) if rng.random() < 0.2 else int(rng.integers(1, 7))
    found = mc.leading(operator, count, method="dense", random_state=0)
    if found.certificate.rounding != "bounded":
        return Tally(0, 0)
    return Tally.of(*_proved(found, K))


@claim(cases=1000)
def exact(seed: int) -> Tally:
    """Eigenvalues, angles and what is missing, where rounding is bounded."""
    return _iterated(
        seed, 10.0 ** float(np.random.default_rng([seed, 1]).uniform(-12, -5)), "bound"
    )


@claim(rate=1e-3, cases=1000)
def exact_with_estimated_rounding(seed: int) -> Tally:
    """The same in single precision, or of kernels without a bound."""
    return _iterated(seed, 10.0 ** float(np.random.default_rng([seed, 1]).uniform(-4, -2)), "estim")


@claim(cases=1500)
def nystrom(seed: int) -> Tally:
    """Intervals, trace and sign of an approximation on landmarks."""
    rng = np.random.default_rng(seed)
    operator, K = _operator(rng)
    landmarks = [None, 3, 10][int(rng.integers(3))]
    count = int(rng.integers(1, 5))
    found = mc.leading(operator, count, method="nystrom", landmarks=landmarks, random_state=seed)
    truth, rounding = LONG(np.trace(K)), LONG(operator.rounding()) * len(K)
    whole = truth <= LONG(found.trace) + LONG(found.trace_error) + rounding
    return Tally.of(
        *_proved(found, K),
        bool(np.isfinite(found.trace) and np.isfinite(found.trace_error)),
        bool(whole),
        bool(np.all(found.values >= 0.0)),
    )


@claim(rate=0.05, cases=600)
def nystrom_of_a_sample(seed: int) -> Tally:
    """The same from half of the points, with intervals that may be wrong in a case of twenty."""
    rng = np.random.default_rng(seed)
    operator, K = _operator(rng, least=50, most=70)
    count, landmarks = int(rng.integers(1, 5)), int(rng.integers(2, 8))
    few: dict[str, Any] = {"FAILURE": 0.05, "FEWEST_POINTS": 10, "SHORT": 30, "FEWEST_STORED": 30}
    with patch.multiple("mercer.spectrum.shortfall", **few):
        found = mc.leading(
            operator, count, method="nystrom", landmarks=landmarks, random_state=seed
        )
    return Tally.of(all(_proved(found, K)))


# ------------------------------------------------------------------------------------------- gaps


@claim(cases=1500)
def gaps_of_regression(seed: int) -> Tally:
    """The least objective is within the gap of what is reported, whatever the loss and the mean."""
    rng = np.random.default_rng(seed)
    loss = str(rng.choice(["squared", "logistic", "absolute", "huber", "hinge", "quantile"]))
    x, y = _observed(rng, loss in ("logistic", "hinge"))
    kernel = _for_losses(rng)
    free = "constant" if rng.random() < 0.7 else None
    penalty = 10.0 ** float(rng.uniform(-8.0, 1.0))
    model = mc.KernelRegression(kernel, penalty, free, loss).fit(x, y)
    lower, upper = _bracket(model, x, y, free is not None)
    return Tally.of(
        model.objective_ - model.gap_ <= upper and lower <= model.objective_ + model.gap_
    )


@claim(cases=800)
def gaps_of_margins(seed: int) -> Tally:
    """The same of a support vector machine."""
    rng = np.random.default_rng(seed)
    x, y = _observed(rng, True)
    model = mc.SVC(_for_losses(rng), C=10.0 ** float(rng.uniform(-2.0, 4.0))).fit(x, y)
    lower, upper = _margin_bracket(model, x, y)
    return Tally.of(
        model.objective_ - model.gap_ <= upper and lower <= model.objective_ + model.gap_
    )


def _observed(rng: np.random.Generator, is_of_labels: bool) -> tuple[Any, Any]:
    n, d = int(rng.integers(6, 40)), int(rng.integers(1, 4))
    x = rng.standard_normal((n, d))
    f = x[:, 0] + 0.5 * rng.standard_normal(n)
    if rng.random() < 0.3:
        x = x[rng.integers(0, n, n)]
    x = x + float(rng.choice([0.0, 0.0, 1e2, 1e4, 1e6]))
    y = np.where(f > np.median(f), 1.0, -1.0) if is_of_labels else f + float(rng.choice([0, 1e4]))
    return x, y


def _for_losses(rng: np.random.Generator) -> mc.Kernel:
    width = 10.0 ** float(rng.uniform(-1.0, 1.0))
    made = [
        mc.Gaussian(width),
        mc.Laplacian(width, norm=2.0),
        mc.Linear(),
        mc.Linear() + mc.Gaussian(width),
        mc.Polynomial(2),
    ]
    return made[int(rng.integers(len(made)))]


def _bracket(model: Any, x: Any, y: Any, is_free: bool) -> tuple[float, float]:
    """Enclose the least objective by duality, in extended precision."""
    K = _seen(model.kernel_, x, is_free)
    loss = loss_named(model.loss)
    p = np.full(len(y), LONG(1) / len(y))
    gamma = LONG(model.penalty_)
    alpha = model.dual_coef_.astype(LONG)
    low, high = loss.box(y)
    low, high = -p * high / (2 * gamma), -p * low / (2 * gamma)
    alpha = _feasible(alpha, low, high, is_free)
    image = K @ alpha
    f = image + (_best_constant(model, image, y) if is_free else LONG(0))
    rough = gamma * (alpha @ image)
    s = -2 * gamma * alpha / p
    upper = p @ _value(loss, y, f) + rough
    lower = -(p @ _conjugate(loss, y, s)) - rough
    return float(lower), float(upper)


def _seen(kernel: mc.Kernel, x: Any, is_free: bool) -> Any:
    """Return the matrix, seen from the mean where constants make up for it."""
    return (
        values(kernel, x - np.round(x.mean(axis=0)))
        if is_free and _moves(kernel)
        else (values(kernel, x))
    )


def _moves(kernel: mc.Kernel) -> bool:
    return not isinstance(kernel, mc.Polynomial)


def _feasible(alpha: Any, low: Any, high: Any, is_free: bool) -> Any:
    """Return weights within their box, with the sum zero where constants are free."""
    alpha = np.clip(alpha, low, high)
    for _ in range(4 if is_free else 0):
        excess = alpha.sum()
        room = alpha - low if excess > 0 else high - alpha
        room = np.where(np.isfinite(room), room, np.abs(alpha) + np.abs(excess))
        total = room.sum()
        if total > 0:
            alpha = alpha - np.sign(excess) * room * min(LONG(1), abs(excess) / total)
    return alpha


def _best_constant(model: Any, image: Any, y: Any) -> Any:
    """Return the model's constant for the matrix as it is seen here: the median of what it does."""
    if model.loss == "squared":
        return np.mean(y - image)
    start = np.median(np.asarray(model.predict(model.X_fit_), dtype=LONG) - image)
    return LONG(start)


def _value(loss: Any, y: Any, f: Any) -> Any:
    y = y.astype(LONG)
    if loss.name == "logistic":
        return np.logaddexp(LONG(0), -y * f)
    return loss.value(y, f)


def _conjugate(loss: Any, y: Any, s: Any) -> Any:
    y = y.astype(LONG)
    if loss.name != "logistic":
        return loss.conjugate(y, s)
    t = np.clip(-y * s, LONG(0), LONG(1))
    terms = [np.where(u > 0, u * np.log(np.where(u > 0, u, LONG(1))), LONG(0)) for u in (t, 1 - t)]
    return terms[0] + terms[1]


def _margin_bracket(model: Any, x: Any, y: Any) -> tuple[float, float]:
    K = _seen(model.kernel_, x, True)
    C = LONG(model.C)
    beta = model.dual_coef_[0].astype(LONG)
    low, high = np.where(y > 0, LONG(0), -C), np.where(y > 0, C, LONG(0))
    beta = _feasible(beta, low, high, True)
    image = K @ beta
    b = LONG(np.median(model.decision_function(x).astype(LONG) - image))
    half = beta @ image / 2
    upper = half + C * np.sum(np.maximum(LONG(0), 1 - y * (image + b)))
    return float(y @ beta - half), float(upper)


def main() -> None:
    """Run the claims that are named, and say which are refuted."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("claims", nargs="*", help="beginnings of names; all without any")
    parser.add_argument("--cases", type=int, help="how many seeds of each claim")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    names = [n for n in CLAIMS if not given.claims or n.startswith(tuple(given.claims))]
    refuted = 0
    for name in names:
        of, begun = CLAIMS[name], time.perf_counter()
        cases = given.cases or of.cases
        tally, seeds = run(name, cases, given.first)
        verdict = "REFUTED" if of.is_refuted(tally) else "holds"
        refuted += verdict == "REFUTED"
        print(
            f"{name}: {tally.violations} of {tally.trials} violated (rate {of.rate:g} allowed), "
            f"seeds {given.first} to {given.first + cases - 1}, "
            f"{time.perf_counter() - begun:.0f} s: {verdict}",
            flush=True,
        )
        if seeds and of.rate == 0.0:
            print(f"    seeds {', '.join(map(str, seeds[:20]))}", flush=True)
    sys.exit(1 if refuted else 0)


if __name__ == "__main__":
    main()
