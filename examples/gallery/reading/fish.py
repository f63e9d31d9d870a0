"""The same body seen on the plane of its first two axes, and on that of the last two."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(12)
t, s = np.linspace(0.0, 2.0 * np.pi, 160), rng.uniform(0.0, 1.0, 80)
body = np.column_stack([3.0 * np.cos(t), 1.1 * np.sin(t), 0.25 * rng.standard_normal(160)])
sides = 1.1 * s * rng.choice((-1.0, 1.0), 80)
tail = np.column_stack([-3.0 - 1.5 * s, sides, 0.2 * rng.standard_normal(80)])
turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
model = mc.PCA().fit(np.vstack([body, tail]) @ turn)
part = np.array(["body"] * 160 + ["tail"] * 80, object)
panels = [
    pictures.individuals.describe(model, axes=axes, colour=part, labels=0, title=title)
    for axes, title in (((1, 2), "the plane of most inertia"), ((2, 3), "the plane of least"))
]
picture = pictures.sheet(*panels, title="A fish, and the choice of a plane")
picture.save("fish.png")
