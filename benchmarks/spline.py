"""Claim: a smoothing spline of a given penalty in linear time, far faster than scipy's."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from measure import child, compare, peak_megabytes, run, timed

PENALTY = 1e-3
SIZES = (10_000, 100_000, 1_000_000)


def observations(n: int) -> tuple[Any, Any]:
    """A wave and a peak with noise, on an even grid, where scipy can follow."""
    x = np.linspace(0.0, 1.0, n)
    noise = 0.3 * np.random.default_rng(0).standard_normal(n)
    return x, np.sin(12.0 * x) + np.exp(-50.0 * (x - 0.5) ** 2) + noise


def peer(n: int) -> dict[str, Any]:
    """The make_smoothing_spline of scipy."""
    from scipy.interpolate import make_smoothing_spline

    x, y = observations(n)
    make_smoothing_spline(x[:20], y[:20], lam=PENALTY)
    base = peak_megabytes()
    spline, seconds = timed(lambda: make_smoothing_spline(x, y, lam=PENALTY))
    values = spline(x[:: n // 1000])
    return {"seconds": seconds, "memory": peak_megabytes() - base, "values": values.tolist()}


def plain(n: int) -> dict[str, Any]:
    """The information filter by numpy alone, as where numba is not installed."""
    from mercer.regression import curve

    curve.is_compiled = lambda: False  # type: ignore[assignment]
    return mercer(n)


def mercer(n: int) -> dict[str, Any]:
    """The information filter, compiled."""
    import mercer as mc

    x, y = observations(n)
    mc.SmoothingSpline(PENALTY).fit(x[:20], y[:20])
    base = peak_megabytes()
    spline, seconds = timed(lambda: mc.SmoothingSpline(PENALTY).fit(x, y))
    values = spline.predict(x[:: n // 1000])
    return {"seconds": seconds, "memory": peak_megabytes() - base, "values": values.tolist()}


def main(n: int, repetitions: int) -> None:
    names = ["peer", "mercer", "plain"]
    medians = compare(__file__, names, repetitions, n=n)
    values = {name: np.array(run(__file__, name, n=n)["values"]) for name in names}
    differences = [float(np.max(np.abs(values[k] - values["peer"]))) for k in names[1:]]
    if max(differences) > 1e-6:
        raise SystemExit(f"not the same curve: fits differ by {max(differences):.1e}")
    seconds = {name: medians[name]["seconds"] for name in names}
    ratio, plainly = (seconds["peer"] / seconds[name] for name in names[1:])
    times = {
        name: [compare(__file__, [name], 3, n=size)[name]["seconds"] for size in SIZES]
        for name in names[1:]
    }
    exponents = {k: float(np.polyfit(np.log(SIZES), np.log(t), 1)[0]) for k, t in times.items()}
    print(
        f"n = {n}: {1000 * seconds['mercer']:.1f} ms against {1000 * seconds['peer']:.0f} ms of "
        f"scipy: {ratio:.0f} times faster, {plainly:.0f} times without numba; fits agree to "
        f"{max(differences):.1e}; from {SIZES[0]} to {SIZES[-1]} time grows like "
        f"n^{exponents['mercer']:.2f}, and n^{exponents['plain']:.2f} without numba."
    )
    figures = {"n": n, "ratio": ratio, "ratio_without_numba": plainly, "differences": differences}
    print(json.dumps({**figures, "seconds": seconds, "sizes": SIZES, "times": times}))


CONTENDERS = {"peer": peer, "mercer": mercer, "plain": plain}

if __name__ == "__main__" and not child(CONTENDERS):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, 5)
