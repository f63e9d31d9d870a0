"""Claim: a kernel regression on landmarks takes less time than the exact one.

Of 20 000 points, that is: up to 3 000 a matrix is stored and factored, which is faster. Both are
fitted in turn in one process; the shortest CPU times are compared, to which what else the machine
does only adds.

    python benchmarks/landmark_regression.py              # 20 000 points, 500 landmarks
    python benchmarks/landmark_regression.py --points 40000 --repeat 1
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
    parser.add_argument("--landmarks", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((args.points, 5))
    truth = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    y = truth + 0.1 * rng.standard_normal(len(x))
    seconds: dict[str, list[float]] = {"exact": [], "landmarks": []}
    errors: dict[str, float] = {}
    for _ in range(args.repeat):
        for name, chosen in (("exact", None), ("landmarks", args.landmarks)):
            model = mc.KernelRegression(mc.Gaussian(2.0), penalty=1e-3, landmarks=chosen)
            begun = time.process_time()
            model.fit(x, y)
            seconds[name].append(time.process_time() - begun)
            errors[name] = float(np.sqrt(np.mean((model.predict(x[:2_000]) - truth[:2_000]) ** 2)))
    exact, short = min(seconds["exact"]), min(seconds["landmarks"])
    print(
        f"{args.points} points: {short:.2f} s of CPU on {args.landmarks} landmarks, {exact:.2f} s "
        f"exact, {exact / short:.1f} times as long; errors {errors['landmarks']:.4f} and "
        f"{errors['exact']:.4f}"
    )
    print(json.dumps({"seconds": {"landmarks": short, "exact": exact}, "errors": errors}))
    assert short < exact, "landmarks do not pay"


if __name__ == "__main__":
    main()
