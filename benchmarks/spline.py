"""Claim: a smoothing spline of a given penalty in linear time, far faster than scipy's, and right.

All curves are compared with one of fifty digits; that of scipy is printed, and not asked for, since
its equations are as ill-conditioned as n³.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from decimals import smoothed
from measure import child, compare, exponent, peak_megabytes, run, timed

PENALTY = 1e-3
SIZES = [10_000, 100_000, 1_000_000]
RIGHT = 1e-8


def observations(n: int) -> tuple[Any, Any]:
    """A wave and a peak with noise, on an even grid, where scipy can follow."""
    x = np.linspace(0.0, 1.0, n)
    noise = 0.3 * np.random.default_rng(0).standard_normal(n)
    return x, np.sin(12.0 * x) + np.exp(-50.0 * (x - 0.5) ** 2) + noise


def some(values: Any) -> Any:
    """Return about a thousand of many values."""
    return values[:: max(1, len(values) // 1000)]


def peer(n: int) -> dict[str, Any]:
    """The make_smoothing_spline of scipy; it has no time where it raises."""
    from scipy.interpolate import make_smoothing_spline

    x, y = observations(n)
    make_smoothing_spline(x[:20], y[:20], lam=PENALTY)
    base = peak_megabytes()
    try:
        spline, seconds = timed(lambda: make_smoothing_spline(x, y, lam=PENALTY))
    except ValueError as error:
        return {"seconds": np.nan, "raises": str(error)}
    memory = peak_megabytes() - base
    return {"seconds": seconds, "memory": memory, "values": spline(some(x)).tolist()}


def plain(n: int) -> dict[str, Any]:
    """The information filter in plain loops, as where numba is not installed."""
    from mercer.regression import spline_filter

    spline_filter.is_compiled = lambda: False  # type: ignore[assignment]
    return mercer(n)


def mercer(n: int) -> dict[str, Any]:
    """The information filter, compiled."""
    import mercer as mc

    x, y = observations(n)
    mc.SmoothingSpline(PENALTY).fit(x[:20], y[:20])
    base = peak_megabytes()
    spline, seconds = timed(lambda: mc.SmoothingSpline(PENALTY).fit(x, y))
    memory = peak_megabytes() - base
    return {"seconds": seconds, "memory": memory, "values": spline.predict(some(x)).tolist()}


CONTENDERS = {"peer": peer, "mercer": mercer, "plain": plain}


def errors(n: int) -> dict[str, float]:
    """Return the largest error of each contender, infinite for one that raises."""
    exact = some(smoothed(*observations(n), PENALTY)[0])
    found = {name: run(__file__, name, n=n).get("values", np.inf) for name in CONTENDERS}
    of = {name: float(np.max(np.abs(np.array(v) - exact))) for name, v in found.items()}
    if max(of["mercer"], of["plain"]) > RIGHT:
        raise SystemExit(f"not the curve of fifty digits: errors {of}")
    return of


def main(n: int, repetitions: int) -> None:
    medians = compare(__file__, list(CONTENDERS), repetitions, n=n)
    seconds = {name: medians[name]["seconds"] for name in CONTENDERS}
    off = {size: errors(size) for size in (n // 50, n)}
    ratio, plainly = (seconds["peer"] / seconds[name] for name in ("mercer", "plain"))
    times = {
        name: [compare(__file__, [name], 3, n=size)[name]["seconds"] for size in SIZES]
        for name in ("mercer", "plain")
    }
    powers = {name: exponent(SIZES, of) for name, of in times.items()}
    against = (
        f"{1000 * seconds['peer']:.0f} ms of scipy: {ratio:.0f} times faster, {plainly:.0f} times "
        f"without numba; against fifty digits the error is {off[n]['mercer']:.1e}, scipy's "
        f"{off[n]['peer']:.1e}"
        if np.isfinite(ratio)
        else f"scipy, which raises; the error is {off[n]['mercer']:.1e} against fifty digits"
    )
    print(
        f"n = {n}: {1000 * seconds['mercer']:.1f} ms against {against}; from {SIZES[0]} to "
        f"{SIZES[-1]} time grows like n^{powers['mercer']:.2f}, and n^{powers['plain']:.2f} "
        "without numba."
    )
    figures = {"n": n, "ratio": ratio, "ratio_without_numba": plainly, "errors": off}
    print(json.dumps({**figures, "seconds": seconds, "sizes": SIZES, "times": times}))


if __name__ == "__main__" and not child(CONTENDERS):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, 5)
