"""Shares that sum to one: Aitchison's kernel sees ratios, and straightens what shares bend."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

rng = np.random.default_rng(6)
t = np.linspace(-2.5, 2.5, 120)
logs = np.column_stack([2.0 * t, -t, np.zeros(120)]) + 0.25 * rng.standard_normal((120, 3))
shares = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
panels = [
    pictures.individuals.describe(
        mc.KernelPCA(2, kernel=k).fit(shares), colour=t, labels=0, title=name
    )
    for name, k in (("shares as numbers", mc.Linear()), ("ratios", kernels.Aitchison()))
]
picture = pictures.sheet(*panels, title="Three shares along a gradient")
picture.save("compositions.png")
