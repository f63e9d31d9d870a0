"""A soft margin between two moons: the decision is white at zero and deeper away from it."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(3)
angles, side = rng.uniform(0.0, np.pi, 80), np.repeat([1.0, -1.0], 40)
moons = np.column_stack([side * np.cos(angles) + 0.5 * (side < 0), side * np.sin(angles)])
x = moons + np.column_stack([np.zeros(80), 0.4 * (side < 0)]) + 0.15 * rng.standard_normal((80, 2))
model = mc.SVC(mc.Gaussian(0.6), C=5.0).fit(x, side)
a, b = np.linspace(-1.6, 2.1, 90), np.linspace(-1.2, 1.5, 90)
u, v = np.meshgrid(a, b)
values = model.decision_function(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
picture = pictures.contours.describe(
    a, b, values, points=x, is_signed=True, what="decision", title="Two moons, and where they part"
)
picture.save("soft_margin.png")
