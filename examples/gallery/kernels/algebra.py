"""Sums and products of kernels are kernels: functions that a trend and a season make likely."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

at = np.linspace(0.0, 4.0, 240)
trend, season = 4.0 * mc.Gaussian(2.0), kernels.Periodic(1.0, 0.8)
families = {
    "trend": trend,
    "season": season,
    "trend + season": trend + season,
    "trend * season": trend * season,
}
panels = []
for name, k in families.items():
    process = mc.GaussianProcess(k, noise_variance=1e-6, optimise=False)
    draws = process.sample(at[:, None], 3, prior=True, random_state=4)
    lines = {f"draw {i + 1}": draw for i, draw in enumerate(draws.T)}
    panels.append(pictures.curves.describe(at, lines, title=name))
picture = pictures.sheet(*panels, title="The algebra of kernels", cell=(4.8, 3.2))
picture.save("algebra.png")
