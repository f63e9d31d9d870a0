"""Claim: the seconds that a plan names are within a factor of 3 of those that the fit takes."""

from __future__ import annotations

import json
import statistics
import sys
from typing import Any

from measure import BANDWIDTH, child, latent, run, timed

AXES, WITHIN = 10, 3.0


def exact(n: int) -> dict[str, Any]:
    """Plan an exact fit, then do it, in one process: the machine is as busy for both."""
    import mercer as mc
    from mercer.planning import plan

    X = latent(n)
    model = mc.KernelPCA(AXES, kernel=mc.Gaussian(BANDWIDTH), method="exact", random_state=0)
    cost, planning = timed(lambda: plan(model, *X.shape))
    model.fit(X[:1_000])  # what is loaded, or compiled, once
    _, seconds = timed(lambda: model.fit(X))
    how = model.spectrum_.how
    return {
        "planned": cost.seconds,
        "seconds": seconds,
        "planning": planning,
        "passes": how.single_passes + how.double_passes,
    }


def main(sizes: list[int], repetitions: int) -> None:
    figures: dict[str, Any] = {}
    for n in sizes:
        runs = [run(__file__, "exact", n=n) for _ in range(repetitions)]
        ratios = [one["planned"] / one["seconds"] for one in runs]
        medians = {key: statistics.median(one[key] for one in runs) for key in runs[0]}
        ratio = statistics.median(ratios)
        print(
            f"n = {n}: planned {medians['planned']:.2f} s, took {medians['seconds']:.2f} s, "
            f"{ratio:.2f} of it (from {min(ratios):.2f} to {max(ratios):.2f}); planning took "
            f"{1e3 * medians['planning']:.0f} ms."
        )
        assert 1 / WITHIN <= ratio <= WITHIN, f"the plan is off by a factor of {ratio:.2f}"
        figures[str(n)] = {"ratio": ratio, "ratios": ratios, **medians}
    print(json.dumps(figures))


if __name__ == "__main__" and not child({"exact": exact}):
    main([int(n) for n in sys.argv[1:]] or [5_000, 10_000], 3)
