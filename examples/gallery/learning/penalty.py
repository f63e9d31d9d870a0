"""How the smoothing spline of a noisy sine finds its penalty, by cross-validation."""

import numpy as np

import mercer as mc
from mercer import pictures
from mercer.regression import penalty_path

rng = np.random.default_rng(12)
x = np.sort(rng.uniform(0.0, 1.0, 30))
y = 2.0 * np.sin(2.0 * np.pi * x) + 0.5 * rng.standard_normal(30)
model = mc.SmoothingSpline().fit(x, y)
picture = pictures.penalty_path.describe(penalty_path(model), chosen=model.penalty_)
picture.save("penalty.png")
