"""What a Gaussian process knows of a noisy sine, with a wide and with a narrow bandwidth."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(12)
x, at = np.sort(rng.uniform(0.0, 1.0, 30)), np.linspace(0.0, 1.0, 150)
y = 2.0 * np.sin(2.0 * np.pi * x) + 0.5 * rng.standard_normal(30)
panels = []
for width in (0.2, 0.02):
    model = mc.GaussianProcess(mc.Gaussian(width), noise_variance=0.25, optimise=False)
    given = model.fit(x[:, None], y).posterior(at[:, None])
    bands = {
        "95 % of observations": given.band(observation=True),
        "95 % of g(x)": given.band(),
    }
    lines = {"mean": given.mean, "truth": 2.0 * np.sin(2.0 * np.pi * at)}
    title, points = f"bandwidth {width}", np.column_stack([x, y])
    panels.append(pictures.curves.describe(at, lines, points=points, bands=bands, title=title))
picture = pictures.sheet(*panels, title="A sine from thirty noisy points", cell=(5.2, 4.4))
picture.save("gaussian_process.png")
