"""Three columns, one of which depends on the others, and what two axes rebuild of them."""

import numpy as np

import mercer as mc
from mercer import pictures

x = np.random.default_rng(12).standard_normal((60, 3))
x[:, 0] = 0.3 * x[:, 0] + 0.9 * x[:, 1] + 0.6 * x[:, 2]
model = mc.PCA(2).fit(x)
rebuilt = model.inverse_transform(model.transform(x))
picture = pictures.four_panels.describe(
    {"data": x, "rebuilt from 2 axes": rebuilt}, names=("x1", "x2", "x3"), title="Two axes of three"
)
picture.save("reconstruction.png")
