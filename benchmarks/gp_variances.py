"""Claim: variances of a Gaussian process at many places share their solves.

At 500 places together and at as many of them as fit a tenth of it, alone: the time grows by less
than the number of places. Shortest CPU times, in one process.

    python benchmarks/gp_variances.py              # 20 000 points
    python benchmarks/gp_variances.py --points 13000 --places 100
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser

import numpy as np

import mercer as mc


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--places", type=int, default=500)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((args.points, 5))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(len(x))
    model = mc.GaussianProcess(mc.Gaussian(2.0), noise_variance=0.01, optimise=False).fit(x, y)
    places = rng.standard_normal((args.places, 5))
    seconds: list[float] = []
    for count in (args.places // 10, args.places):
        begun = time.process_time()
        model.predict(places[:count], return_std=True)
        seconds.append(time.process_time() - begun)
    few, many = seconds
    print(
        f"{args.points} points: {many:.1f} s of CPU for the variances at {args.places} places, "
        f"{few:.1f} s at {args.places // 10}"
    )
    print(json.dumps({"few": few, "many": many, "ratio": many / few}))
    assert many < 10.0 * few, "places do not share their solves"


if __name__ == "__main__":
    main()
