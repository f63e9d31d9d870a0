"""Two tables of the same individuals: the pair of functions of them that agree best."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(2)
t = rng.uniform(0.0, 2.0 * np.pi, 200)
first = np.column_stack([np.cos(t), np.sin(t)]) + 0.1 * rng.standard_normal((200, 2))
second = np.column_stack([np.cos(2.0 * t), t / 3.0]) + 0.1 * rng.standard_normal((200, 2))
model = mc.KernelCCA(1, kernels=(mc.Gaussian(0.7), mc.Gaussian(0.7)))
left, right = model.fit_transform(first, second)
picture = pictures.individuals.describe(
    np.column_stack([left, right]),
    colour=t,
    labels=0,
    spectrum=("first", "second"),
    title="One circle, two tables",
)
picture.save("two_views.png")
