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


def mercer(n: int) -> dict[str, Any]:
    """The information filter."""
    import mercer as mc

    x, y = observations(n)
    mc.SmoothingSpline(PENALTY).fit(x[:20], y[:20])
    base = peak_megabytes()
    spline, seconds = timed(lambda: mc.SmoothingSpline(PENALTY).fit(x, y))
    values = spline.predict(x[:: n // 1000])
    return {"seconds": seconds, "memory": peak_megabytes() - base, "values": values.tolist()}


def main(n: int, repetitions: int) -> None:
    medians = compare(__file__, ["peer", "mercer"], repetitions, n=n)
    ours, theirs = (np.array(run(__file__, name, n=n)["values"]) for name in ("mercer", "peer"))
    difference = float(np.max(np.abs(ours - theirs)))
    ratio = medians["peer"]["seconds"] / medians["mercer"]["seconds"]
    times = [compare(__file__, ["mercer"], 3, n=size)["mercer"]["seconds"] for size in SIZES]
    exponent = float(np.polyfit(np.log(SIZES), np.log(times), 1)[0])
    print(
        f"n = {n}: {1000 * medians['mercer']['seconds']:.1f} ms against "
        f"{1000 * medians['peer']['seconds']:.0f} ms of scipy: {ratio:.0f} times faster; fits "
        f"agree to {difference:.1e}; time grows like n^{exponent:.2f}."
    )
    seconds = {f"{name}_seconds": medians[name]["seconds"] for name in medians}
    print(json.dumps({"n": n, "ratio": ratio, "difference": difference, **seconds}))


if __name__ == "__main__" and not child({"peer": peer, "mercer": mercer}):
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, 5)
