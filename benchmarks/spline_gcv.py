"""Claim: a smoothing spline whose penalty is chosen, right on even and random places alike."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from measure import child, compare, run, timed

SIZES = (1_000, 10_000, 100_000, 1_000_000)


def observations(n: int, is_even: bool, seed: int) -> tuple[Any, Any, Any]:
    """A wave and a peak, without and with noise."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, n) if is_even else rng.uniform(size=n)
    truth = np.sin(12.0 * x) + np.exp(-50.0 * (x - 0.5) ** 2)
    return x, truth, truth + 0.3 * rng.standard_normal(n)


def peer(n: int, is_even: bool = True, seed: int = 0) -> dict[str, Any]:
    """The make_smoothing_spline of scipy, with its own cross-validation."""
    from scipy.interpolate import make_smoothing_spline

    x, truth, y = observations(n, is_even, seed)
    order = np.argsort(x)
    spline, seconds = timed(lambda: make_smoothing_spline(x[order], y[order]))
    return {"seconds": seconds, "error": float(np.sqrt(np.mean((spline(x) - truth) ** 2)))}


def plain(n: int, is_even: bool = True, seed: int = 0) -> dict[str, Any]:
    """The same by numpy alone, as where numba is not installed."""
    import mercer as mc
    from mercer.regression import curve

    curve.is_compiled = lambda: False  # type: ignore[assignment]
    x, truth, y = observations(n, is_even, seed)
    mc.SmoothingSpline().fit(x[:50], y[:50])
    spline, seconds = timed(lambda: mc.SmoothingSpline().fit(x, y))
    error = float(np.sqrt(np.mean((spline.fitted_values_ - truth) ** 2)))
    return {"seconds": seconds, "error": error, "penalty": spline.penalty_}


def mercer(n: int, is_even: bool = True, seed: int = 0) -> dict[str, Any]:
    """Generalised cross-validation over all powers of ten, and the error of the best penalty."""
    import mercer as mc

    x, truth, y = observations(n, is_even, seed)
    mc.SmoothingSpline().fit(x[:50], y[:50])
    spline, seconds = timed(lambda: mc.SmoothingSpline().fit(x, y))

    def error(fit: Any) -> float:
        return float(np.sqrt(np.mean((fit.fitted_values_ - truth) ** 2)))

    factors = np.logspace(-1.5, 1.5, 13)
    best = min(error(mc.SmoothingSpline(spline.penalty_ * f).fit(x, y)) for f in factors)
    return {
        "seconds": seconds,
        "error": error(spline),
        "to_best": error(spline) / best,
        "degrees_of_freedom": spline.degrees_of_freedom_,
        "penalty": spline.penalty_,
    }


def main(n: int, repetitions: int) -> None:
    medians = compare(__file__, ["peer", "mercer", "plain"], repetitions, n=n)
    ours = "mercer", "plain"
    ratio, plainly = (medians["peer"]["seconds"] / medians[name]["seconds"] for name in ours)
    apart = abs(np.log(medians["plain"]["penalty"] / medians["mercer"]["penalty"]))
    if apart > 1e-3:
        raise SystemExit(f"numpy and numba choose penalties {apart:.1e} apart, relatively")
    to_best = {}
    for size in SIZES:
        for is_even in (True, False):
            draws = [run(__file__, "mercer", n=size, is_even=is_even, seed=s) for s in range(5)]
            place = "even" if is_even else "random"
            to_best[f"{place} {size}"] = float(np.median([draw["to_best"] for draw in draws]))
    print(
        f"n = {n}: {medians['mercer']['seconds']:.3f} s against {medians['peer']['seconds']:.1f} s "
        f"of scipy on an even grid: {ratio:.0f} times faster ({plainly:.0f} without numba); error "
        f"{medians['mercer']['error']:.4f} against {medians['peer']['error']:.4f}; in the "
        f"median of five draws within "
        f"{100 * (max(to_best.values()) - 1):.1f} % of the best penalty's for n from "
        f"{SIZES[0]} to {SIZES[-1]}, even and random."
    )
    ratios = {"ratio": ratio, "ratio_without_numba": plainly}
    print(json.dumps({"n": n, **ratios, "to_best": to_best, "medians": medians}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer, "plain": plain}):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, 1)
