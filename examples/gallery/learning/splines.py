"""Five points and their smoothing splines, from a line to an interpolation."""

import numpy as np

import mercer as mc
from mercer import pictures

points = np.array([(0.05, 0.4), (0.2, 0.2), (0.5, 0.6), (0.75, 0.7), (1.0, 1.0)])
at = np.linspace(0.0, 1.05, 200)
fits = {}
for r in (0.8, 0.99, 0.999, 0.999999):
    model = mc.SmoothingSpline(penalty=(1.0 - r) / r).fit(points[:, 0], points[:, 1])
    fits[f"r = {r:g}"] = model.predict(at)
picture = pictures.curves.describe(at, fits, points=points, title="Smoothing splines")
picture.save("splines.png")
