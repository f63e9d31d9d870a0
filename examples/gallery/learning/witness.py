"""Two samples of equal mean and variance, and the function that tells them apart best."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(0)
x, y = rng.standard_normal(200), rng.choice((-1.0, 1.0), 200) * rng.normal(0.95, 0.3, 200)
kernel, at = mc.Gaussian(0.4), np.linspace(-3.5, 3.5, 300)
found = mc.mean_discrepancy(kernel, x[:, None], y[:, None], random_state=0)
means = {name: kernel(at, sample).mean(axis=1) for name, sample in (("one hump", x), ("two", y))}
lines = means | {"difference": means["one hump"] - means["two"]}
picture = pictures.curves.describe(
    at, lines, names=("x", "mean of k(x, ·)"), title=f"Two samples, p = {found.p_value:.3f}"
)
picture.save("witness.png")
