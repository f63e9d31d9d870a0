"""The log likelihood of the bandwidth and the noise of a Gaussian process, and its maximum."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(12)
x = np.sort(rng.uniform(0.0, 1.0, 30))
y = 2.0 * np.sin(2.0 * np.pi * x) + 0.5 * rng.standard_normal(30)
model = mc.GaussianProcess(mc.Gaussian(0.2), noise_variance=0.25, random_state=0).fit(x[:, None], y)
widths, noises = np.geomspace(0.05, 0.6, 40), np.geomspace(0.2, 1.2, 40)
values = model.likelihood_surface({"bandwidth": widths, "noise_variance": noises**2}).T
best = [mc.kernels.parameters(model.kernel_)["bandwidth"], np.sqrt(model.noise_variance_)]
picture = pictures.contours.describe(
    widths,
    noises,
    np.maximum(values, model.log_likelihood() - 20.0),
    points=[best],
    names=("bandwidth", "standard deviation of the noise"),
    is_log=True,
    what="log likelihood (below the best by 20 at most)",
    title="The maximum of the likelihood is marked",
)
picture.save("likelihood.png")
