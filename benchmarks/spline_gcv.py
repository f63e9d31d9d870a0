"""Claim: a smoothing spline whose penalty is chosen, right on even and random places alike."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from decimals import smoothed
from measure import child, compare, run, timed

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CHECKED = (1_000, 10_000)
RIGHT = 1e-8
DRAWS = 5


def observations(n: int, is_even: bool, seed: int) -> tuple[Any, Any, Any]:
    """Places in order with a wave and a peak there, without and with noise."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, n) if is_even else np.sort(rng.uniform(size=n))
    truth = np.sin(12.0 * x) + np.exp(-50.0 * (x - 0.5) ** 2)
    return x, truth, truth + 0.3 * rng.standard_normal(n)


def grid(n: int) -> tuple[Any, Any, Any]:
    """The same at 0, 1, 2, …: on such places scipy's equations are at their best."""
    _, truth, y = observations(n, True, 0)
    return np.arange(float(n)), truth, y


def distance(values: Any, truth: Any) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))


def peer(n: int) -> dict[str, Any]:
    """The make_smoothing_spline of scipy, with its own cross-validation, on an even grid.

    It tries no penalty above n, which is too small here. It has no time where it raises, as it does
    on random places and, from 10 000 on, on an even grid between 0 and 1.
    """
    from scipy.interpolate import make_smoothing_spline

    x, truth, y = grid(n)
    try:
        spline, seconds = timed(lambda: make_smoothing_spline(x, y))
    except ValueError as error:
        return {"seconds": np.nan, "error": np.nan, "raises": str(error)}
    return {"seconds": seconds, "error": distance(spline(x), truth)}


def plain(n: int) -> dict[str, Any]:
    """The same in plain loops, as where numba is not installed."""
    from mercer.regression import spline_filter

    spline_filter.is_compiled = lambda: False  # type: ignore[assignment]
    return mercer(n)


def mercer(n: int) -> dict[str, Any]:
    """Generalised cross-validation over all powers of ten."""
    import mercer as mc

    x, truth, y = grid(n)
    mc.SmoothingSpline().fit(x[:50], y[:50])
    spline, seconds = timed(lambda: mc.SmoothingSpline().fit(x, y))
    error = distance(spline.fitted_values_, truth)
    return {"seconds": seconds, "error": error, "penalty": spline.penalty_}


def quality(n: int, is_even: bool) -> dict[str, Any]:
    """How near to the best penalty the chosen one is, and to fifty digits its curve and freedom."""
    import mercer as mc

    ratios, off = [], 0.0
    for seed in range(DRAWS):
        x, truth, y = observations(n, is_even, seed)
        spline = mc.SmoothingSpline().fit(x, y)
        others = (
            mc.SmoothingSpline(spline.penalty_ * f).fit(x, y) for f in np.logspace(-1.5, 1.5, 13)
        )
        best = min(distance(other.fitted_values_, truth) for other in others)
        ratios.append(distance(spline.fitted_values_, truth) / best)
        if n in CHECKED and seed == 0:
            fits, freedom = smoothed(x, y, spline.penalty_)
            off = max(
                float(np.max(np.abs(spline.fitted_values_ - fits))),
                abs(spline.degrees_of_freedom_ / freedom - 1.0),
            )
    return {"to_best": float(np.median(ratios)), "off": off}


CONTENDERS = {"peer": peer, "mercer": mercer, "plain": plain}


def compared(n: int, repetitions: int) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the largest of a few sizes that scipy can do, and the medians there."""
    for size in (n, n // 3, n // 10, n // 100):
        medians = compare(__file__, list(CONTENDERS), repetitions, n=size)
        if np.isfinite(medians["peer"]["seconds"]):
            break
        print(f"scipy raises on an even grid of {size}: {run(__file__, 'peer', n=size)['raises']}")
    return size, medians


def main(n: int, repetitions: int) -> None:
    size, medians = compared(n, repetitions)
    ratio, plainly = (
        medians["peer"]["seconds"] / medians[name]["seconds"] for name in ("mercer", "plain")
    )
    apart = abs(np.log(medians["plain"]["penalty"] / medians["mercer"]["penalty"]))
    if apart > 1e-3:
        raise SystemExit(f"plain and compiled loops choose penalties {apart:.1e} apart, relatively")
    found = {
        f"{'even' if is_even else 'random'} {count}": run(
            __file__, "quality", n=count, is_even=is_even
        )
        for count in SIZES
        for is_even in (True, False)
    }
    off = max(of["off"] for of in found.values())
    if off > RIGHT:
        raise SystemExit(f"not the curve of fifty digits: curve or degrees of freedom off {off:g}")
    to_best = {name: of["to_best"] for name, of in found.items()}
    print(
        f"n = {size}: {medians['mercer']['seconds']:.3f} s against {medians['peer']['seconds']:.1f}"
        f" s of scipy on an even grid: {ratio:.0f} times faster ({plainly:.0f} without numba); "
        f"error {medians['mercer']['error']:.4f} against {medians['peer']['error']:.4f}; in the "
        f"median of {DRAWS} draws within {100 * (max(to_best.values()) - 1):.1f} % of the best "
        f"penalty's for n from {SIZES[0]} to {SIZES[-1]}, even and random; for n up to "
        f"{CHECKED[-1]} curve and degrees of freedom within {off:.1e} of fifty digits."
    )
    figures = {"n": size, "ratio": ratio, "ratio_without_numba": plainly, "off": off}
    print(json.dumps({**figures, "to_best": to_best, "medians": medians}))


if __name__ == "__main__" and not child({**CONTENDERS, "quality": quality}):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, 3)
